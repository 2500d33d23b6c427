#!/usr/bin/python3
"""Tests of the command line of ./dev, with replacements for cmake, apt and the programs that it builds.

Also compares pixi.toml and .devcontainer/devcontainer.json with ./dev: their tools, pixi and Docker, are not run here.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

DEV = Path(__file__).resolve().parent.parent.parent / "dev"
PACKAGES = DEV.parent / ".ci" / "packages"
ECHO = '#!/bin/bash\necho "$(basename "$0")" "$@"\n'
NETWORK = "build/networks/tiny.network"


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve() / "tree"
        self.elsewhere = self.root.parent / "elsewhere"
        self.elsewhere.mkdir()
        self.script("dev", DEV.read_text())
        self.script(".ci/packages", PACKAGES.read_text())
        self.script("bin/dpkg-query", "#!/bin/bash\nprintf installed\n")
        self.script("bin/apt-get", "#!/bin/bash\nexit 1\n")
        self.script("bin/cmake", '#!/bin/bash\necho "[1/2] $*"\nexit "${CMAKE_FAILS:-0}"\n')
        self.script("examples/apps/network_demo/onnx_to_network.py", ECHO)
        self.script("examples/apps/network_demo/tflite_to_network.py", ECHO)
        self.script("examples/apps/memory_planner/pte_to_plan.py", ECHO)
        self.script("build/tools/executorch/installed", "")
        self.script("examples/apps/malloc_recorder/convert.py", ECHO)
        self.script("examples/apps/malloc_recorder/record.py", f"{ECHO}pwd\n")
        for script in ("pack.py", "run.py"):
            self.script(f"benchmarks/gpu/{script}", ECHO)
        for script in ("fuzz/run.sh", "targets/vm/run.sh", "integration/documentation/bare_root.sh",
                       "integration/c/library_test.py", "integration/module/check.py"):
            self.script(f"tests/{script}", ECHO)
        self.script("bindings/tvm/run", ECHO)
        self.script("bindings/tflite_micro/run", ECHO)
        self.script("bindings/python/run", ECHO)
        self.script("bindings/pytorch/run", ECHO)
        self.script("tests/targets/systems/systems.py", ECHO)
        for tool in ("ziglang/installed", "libcxx-16/installed", "libcxx-19/installed"):
            self.script(f"build/tools/{tool}", "")
        for tool in ("pip", "python", "conan"):
            self.script(f"build/tools/bin/{tool}", ECHO)
        for program in ("gcc/examples/apps/memory_planner/memory_planner", "gcc/examples/apps/network_demo/network_demo",
                        "gcc-release/examples/apps/memory_advisor/memory_advisor", "gcc-release/benchmarks/replay",
                        "gcc-release/examples/apps/memory_viewer/memory_viewer"):
            self.script(f"build/{program}", ECHO)
        for name in ("tiny.onnx", "tiny.tflite", "a.csv", "b.csv", "some.trace", "x.network"):
            (self.elsewhere / name).write_text("")
        (self.elsewhere / "folder").mkdir()

    def script(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def dev(self, *arguments, exits_with=0, **environment):
        done = subprocess.run([str(self.root / "dev"), *arguments], capture_output=True, text=True, cwd=self.elsewhere, timeout=60,
                              env={**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", **environment})
        self.assertEqual(done.returncode, exits_with, done.stdout + done.stderr)
        return done

    def test_errors_are_reported_before_a_build(self):
        for arguments, reason in [
            (["nonsense"], "unknown command nonsense"),
            (["plan"], "./dev plan needs a file"),
            (["plan", "--json"], "./dev plan needs a file"),
            (["plan", "a.csv", "--nonsense"], "unknown option --nonsense"),
            (["plan", "nowhere.csv"], "file not found: nowhere.csv"),
            (["plan", "a.csv", "b.csv"], "two files are given"),
            (["plan", "a.csv", "--out"], "--out needs a value"),
            (["plan", "tiny.onnx", "--dim"], "--dim needs a value"),
            (["plan", "a.csv", "--dim", "n=1"], "--dim requires an ONNX file"),
            (["advise"], "./dev advise needs a file"),
            (["advise", "--json"], "./dev advise needs a file"),
            (["advise", "a.csv", "--nonsense"], "unknown option --nonsense"),
            (["advise", "nowhere.tflite"], "file not found: nowhere.tflite"),
            (["advise", "a.csv", "b.csv"], "two files are given"),
            (["advise", "a.csv", "--fast"], "--fast needs a value"),
            (["advise", "tiny.tflite", "--dim", "n=1"], "--dim requires an ONNX file"),
            (["demo", "--nonsense"], "unknown option --nonsense"),
            (["demo", "nowhere.onnx"], "file not found: nowhere.onnx"),
            (["demo", "--memory"], "--memory needs a value"),
            (["demo", "--dim", "n=1"], "--dim requires an ONNX file"),
            (["advise", "tiny.tflite", "--shape", "x=1x2"], "--shape requires an ONNX file"),
            (["record"], "./dev record needs a program"),
            (["record", "--out"], "--out needs a file"),
            (["record", "--nonsense", "true"], "unknown option --nonsense"),
            (["record", "--convert"], "--convert needs a file"),
            (["record", "--convert", "nowhere.csv"], "file not found: nowhere.csv"),
            (["record", "--convert", "a.csv", "b.csv"], "--convert records no program"),
            (["malloc"], "./dev malloc needs a program"),
            (["malloc", "nowhere", "x"], "nowhere: no such program"),
            (["malloc", "./a.csv"], "./a.csv: no such program"),
            (["malloc", "./folder"], "./folder: no such program"),
            (["replay"], "./dev replay needs a trace"),
            (["replay", "--nonsense"], "unknown option --nonsense"),
            (["replay", "nowhere.altr"], "file not found: nowhere.altr"),
            (["replay", "some.trace", "--allocator"], "--allocator needs a name"),
            (["view"], "./dev view needs a file"),
            (["view", "--nonsense"], "unknown option --nonsense"),
            (["view", "nowhere.altr"], "file not found: nowhere.altr"),
            (["view", "a.csv", "b.csv"], "two files are given"),
            (["view", "a.csv", "--json"], "--json needs a value"),
            (["bench", "nonsense"], "unknown benchmark 'nonsense'; the benchmarks are: instructions"),
            (["bench", "bump", "pool"], "unknown benchmark 'pool'; the benchmarks are: instructions"),
            (["bench", "bump", "--json"], "--json needs a file"),
            (["test", "--nonsense"], "./dev test accepts --wide, --all or no argument"),
            (["test", "--wide", "--all"], "./dev test accepts --wide, --all or no argument"),
            (["fuzz", "nonsense"], "unknown fuzzer nonsense"),
            (["fuzz", "--minutes"], "--minutes needs a number"),
            (["fuzz", "--minutes=soon"], "--minutes needs a number"),
            (["fuzz", "--nonsense"], "unknown option --nonsense"),
            (["docs", "--nonsense"], "./dev docs accepts --check, --versions or no argument"),
            (["size", "nonsense"], "./dev size accepts no arguments"),
            (["c", "nonsense"], "./dev c accepts no arguments"),
            (["module", "nonsense"], "./dev module accepts --test or no argument"),
            (["devices", "nonsense"], "./dev devices accepts no arguments"),
            (["gpu", "--nonsense"], "unknown option --nonsense"),
            (["gpu", "a.csv"], "only --pack takes traces"),
            (["gpu", "--wheels"], "--wheels needs a folder"),
            (["gpu", "--pack", "--out", "x"], "--pack takes only traces"),
            (["gpu", "--pack", "--rehearse"], "--rehearse and --pack exclude each other"),
            (["tvm", "nonsense"], "unknown program or test 'nonsense' of bindings/tvm"),
            (["single", "--link"], "./dev single accepts no argument, --pages, or --link PROGRAM.cpp [ADDRESS]"),
            (["single", "--link", "nowhere.cpp", "https://example.org"], "file not found: nowhere.cpp"),
            (["install", "--nonsense"], "./dev install accepts --wide, --all or no argument"),
            (["release", "--nonsense"], "unknown option --nonsense"),
            (["release", "1.0.0", "1.0.1"], "two versions are given"),
            (["release", "--url"], "--url needs an address"),
            (["wheel", "--fast"], "./dev wheel accepts --test or no argument"),
            (["tflite_micro", "a.csv"], "./dev tflite_micro takes models (.tflite), not a.csv"),
            (["tflite_micro", "nowhere.tflite"], "file not found: nowhere.tflite"),
            (["pytorch", "nowhere/python"], "there is no Python nowhere/python"),
            (["pytorch", "python3", "python3"], "./dev pytorch takes at most one Python"),
            (["tvm", "--nonsense"], "unknown program or test '--nonsense' of bindings/tvm"),
            (["nonsense", "--help"], "unknown command nonsense"),
        ]:
            with self.subTest(arguments=arguments):
                done = self.dev(*arguments, exits_with=2)
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, rf"^dev: [^\n]+; see ./dev help\n$")
                self.assertIn(reason, done.stderr)

    def test_the_converter_receives_the_dimensions(self):
        for form in (["--dim", "batch=4", "--dim", "n=2"], ["--dim=batch=4", "--dim=n=2"]):
            done = self.dev("plan", "tiny.onnx", *form, "--capacity", "4KiB")
            self.assertEqual((self.root / NETWORK).read_text(),
                             f"onnx_to_network.py --dim=batch=4 --dim=n=2 {self.elsewhere}/tiny.onnx\n")
            self.assertEqual(done.stdout, f"memory_planner --capacity=4KiB {NETWORK}\n")
            (self.root / NETWORK).unlink()
            done = self.dev("demo", *form, "tiny.onnx")
            self.assertIn("--dim=batch=4 --dim=n=2", (self.root / NETWORK).read_text())
            self.assertIn(f"network_demo --svg {self.root}/build/networks {NETWORK}\n", done.stdout)

    def test_a_file_that_the_converter_rejects(self):
        for kind in ("onnx", "tflite"):
            self.script(f"examples/apps/network_demo/{kind}_to_network.py", "#!/bin/bash\necho why >&2\nexit 1\n")
        for command, name in (("plan", "tiny.onnx"), ("demo", "tiny.onnx"), ("advise", "tiny.onnx"), ("advise", "tiny.tflite")):
            self.assertTrue(self.dev(command, name, exits_with=2).stderr.endswith("why\n"))

    def test_advice_on_models_and_recordings(self):
        done = self.dev("advise", "tiny.onnx", "--dim", "n=2", "--shape", "x=1x2", "--fast", "4KiB", "--json")
        self.assertEqual((self.root / NETWORK).read_text(),
                         f"onnx_to_network.py --dim=n=2 --shape=x=1x2 {self.elsewhere}/tiny.onnx\n")
        self.assertEqual(done.stdout, f"memory_advisor --fast=4KiB --json --svg build/advice/tiny.network.svg {NETWORK}\n")
        self.assertIn(f"picture: {self.root}/build/advice/tiny.network.svg\n", done.stderr)
        done = self.dev("advise", "--svg=o.svg", "tiny.tflite")
        self.assertEqual((self.root / NETWORK).read_text(), f"tflite_to_network.py {self.elsewhere}/tiny.tflite\n")
        self.assertEqual(done.stdout, f"memory_advisor --svg {self.elsewhere}/o.svg {NETWORK}\n")
        (self.elsewhere / "some.pickle").write_text("")
        self.script("examples/apps/malloc_recorder/convert.py", "#!/bin/bash\necho one.altr\necho two.altr\n")
        done = self.dev("advise", "some.pickle")
        self.assertEqual(done.stdout, "memory_advisor --svg build/advice/one.altr.svg one.altr\n"
                                      "memory_advisor --svg build/advice/two.altr.svg two.altr\n")

    def test_view_converts_the_records_of_other_tools(self):
        (self.elsewhere / "some.pickle").write_text("")
        self.script("examples/apps/malloc_recorder/convert.py", "#!/bin/bash\necho one.altr\n")
        done = self.dev("view", "some.pickle", "--json=o.json")
        self.assertEqual(done.stdout, f"memory_viewer --json={self.elsewhere}/o.json one.altr\n{self.elsewhere}/o.json\n")
        self.script("examples/apps/malloc_recorder/convert.py", "#!/bin/bash\necho one.altr\necho two.altr\n")
        done = self.dev("view", "some.pickle", "--json=o.json", exits_with=2)
        self.assertIn("has the traces of several devices; view one of them: one.altr two.altr", done.stderr)
        self.script("examples/apps/malloc_recorder/convert.py", "#!/bin/bash\necho why >&2\nexit 1\n")
        self.assertEqual(self.dev("view", "some.pickle", exits_with=2).stderr.splitlines()[-1], "why")

    def test_files_that_a_script_converts(self):
        for mark, script, made in [(b"\x1c\0\0\0TFL3", "network_demo/tflite_to_network.py", "networks/model.network"),
                                   (b"\x1c\0\0\0ET12", "memory_planner/pte_to_plan.py", "networks/model.json"),
                                   (b"\x08\x07\x12\x02", "network_demo/onnx_to_network.py", "networks/model.network")]:
            path = self.elsewhere / "model.bin"
            path.write_bytes(mark)
            for command, program in (("plan", "memory_planner"), ("advise", "memory_advisor")):
                done = self.dev(command, "model.bin")
                self.assertTrue(done.stdout.endswith(f" build/{made}\n") and done.stdout.startswith(program), done.stdout)
                self.assertEqual((self.root / "build" / made).read_text(), f"{Path(script).name} {path}\n")
        self.script("examples/apps/malloc_recorder/convert.py", "#!/bin/bash\necho one.altr\n")
        (self.elsewhere / "model.bin").write_bytes(b"\x80\x04\x95")
        self.assertEqual(self.dev("plan", "model.bin").stdout, "memory_planner one.altr\n")

    def test_a_folder_is_planned_file_by_file(self):
        folder = self.elsewhere / "models"
        (folder / "deeper").mkdir(parents=True)
        (folder / "b.csv").write_text("")
        (folder / "deeper" / "a.onnx").write_text("")
        (folder / "c.tflite").write_text("")
        self.script("examples/apps/network_demo/tflite_to_network.py", "#!/bin/bash\necho why >&2\nexit 1\n")
        done = self.dev("plan", "models", "--dim", "n=2", "--capacity=4")
        self.assertEqual(done.stdout, f"memory_planner --capacity=4 {folder}/b.csv build/networks/deeper__a.onnx.network\n")
        self.assertIn("why\n", done.stderr)
        self.assertIn("--dim=n=2", (self.root / "build" / "networks" / "deeper__a.onnx.network").read_text())

    def test_paths_are_relative_to_the_caller(self):
        here = self.elsewhere
        done = self.dev("plan", "--svg=p.svg", "--out", "o.csv", "a.csv", "--moves", "--memory", "fast:8")
        self.assertEqual(done.stdout, f"memory_planner --svg {here}/p.svg --out {here}/o.csv --moves --memory=fast:8 {here}/a.csv\n")
        done = self.dev("demo", "--json=d.json", "--svg", "pictures", "--memory=host", "x.network")
        self.assertIn(f"network_demo --json {here}/d.json --svg {here}/pictures --memory=host {here}/x.network\n", done.stdout)
        done = self.dev("record", "--out", "o.altr", "sort", "-r", "a.csv")
        self.assertEqual(done.stdout, f"record.py --out=o.altr sort -r a.csv\n{here}\n")  # in the folder of the caller
        done = self.dev("record", "--out", "o.altr", "--convert", "a.csv")
        self.assertEqual(done.stdout, "convert.py --out=o.altr a.csv\n")
        done = self.dev("replay", "a.csv", "some.trace")
        self.assertEqual(done.stdout, f"replay convert.py --out build/traces/a.altr {here}/a.csv {here}/some.trace\n")
        done = self.dev("view", "some.trace", "--json", "o.json", "--allocator=bump")
        self.assertEqual(done.stdout, f"memory_viewer --allocator=bump --json={here}/o.json {here}/some.trace\n{here}/o.json\n")
        self.script("build/tools/plotly/plotly/package_data/plotly.min.js", "")
        page = "build/view/some.trace.html"
        done = self.dev("view", "some.trace")
        self.assertEqual(done.stdout, "memory_viewer --library build/tools/plotly/plotly/package_data/plotly.min.js "
                                      f"--html={page} {here}/some.trace\n{self.root}/{page}\n")
        done = self.dev("replay", "--allocator", "mimalloc", "some.trace", "logn1k:7", "folder")
        self.assertEqual(done.stdout, f"replay --allocator mimalloc {here}/some.trace logn1k:7 {here}/folder\n")

    def test_a_file_whose_name_begins_with_a_dash(self):
        (self.root / "-x.csv").write_text("")
        (self.elsewhere / "-x.csv").write_text("")
        self.assertEqual(self.dev("plan", "../tree/-x.csv").stdout, "memory_planner ./-x.csv\n")
        self.assertEqual(self.dev("plan", "./-x.csv").stdout, f"memory_planner {self.elsewhere}/-x.csv\n")
        self.assertEqual(self.dev("plan", "a.csv", "--out", "../tree/-o").stdout, f"memory_planner --out ./-o {self.elsewhere}/a.csv\n")

    def test_a_checkout_that_cannot_be_written(self):
        shutil.rmtree(self.root / "build")
        (self.root / "build").write_text("")  # like a read-only folder, which root may write
        for arguments in (["plan", "a.csv"], ["record", "true"], ["single"], ["malloc", "true"]):
            done = self.dev(*arguments, exits_with=2)
            self.assertEqual(done.stderr.splitlines()[-1], f"dev: the folder {self.root}/build cannot be written; see ./dev help")

    def test_help_of_a_command(self):
        names = set(re.findall(r"^\./dev (\w+)", self.dev("help").stdout, re.M))
        for name in names - {"plan", "demo"}:
            for option in ("--help", "-h"):
                done = self.dev(name, option)
                self.assertTrue(done.stdout.startswith(f"./dev {name}"), done.stdout)
                self.assertEqual(set(re.findall(r"^\./dev (\w+)", done.stdout, re.M)), {name})
                self.assertIn(done.stdout.splitlines()[-1], self.dev("help").stdout.splitlines())
        self.assertEqual(self.dev("plan", "--help").stdout, "memory_planner --help\n")
        self.assertIn("network_demo", self.dev("demo", "--help").stdout)
        self.assertEqual(self.dev("record", "sort", "--help").stdout, f"record.py sort --help\n{self.elsewhere}\n")

    def test_each_option_runs_its_workflows(self):
        def workflows(*arguments):
            done = self.dev("test", *arguments)
            self.assertIn("all passed", done.stdout)
            return [line.split()[-1] for line in done.stdout.splitlines() if "--workflow" in line]

        unit, wide, everything = workflows(), workflows("--wide"), workflows("--all")
        self.assertEqual(unit, ["unit"])
        self.assertEqual(wide, ["rest", "gcc"])
        self.assertEqual(set(everything[:3]), {*unit, *wide})  # no step is missing or repeated
        self.assertEqual(len(everything), len(set(everything)))

    def test_all_resumes_after_an_interruption(self):
        def git(*arguments):
            subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=self.root, check=True, capture_output=True)

        self.script("tests/targets/vm/run.sh", "#!/bin/bash\nexit 1\n")
        (self.root / ".gitignore").write_text("build\nbin\n")
        for step in (["init"], ["add", "."], ["commit", "-m", "x"]):
            git(*step)
        self.assertIn("FAILED: vm (of: ", self.dev("test", "--all", exits_with=1).stdout)
        again = self.dev("test", "--all", exits_with=1).stdout
        self.assertIn("unit: already passed on this commit", again)
        self.assertNotIn("--workflow", again)
        self.assertIn("FAILED: vm (of: ", again)
        self.assertIn("--workflow", self.dev("test").stdout)  # only --all resumes
        self.script("tests/targets/vm/run.sh", ECHO)
        self.assertIn("--workflow", self.dev("test", "--all").stdout)  # the tree differs from the commit
        git("commit", "-am", "y")
        self.assertIn("--workflow", self.dev("test", "--all").stdout)

    def test_a_test_beside_a_build_is_reported_when_it_fails(self):
        self.script("bindings/tvm/run", "#!/bin/bash\n[[ $* == --install ]] || { echo wrong answer; exit 3; }\n")
        done = self.dev("test", "--wide", exits_with=1)
        self.assertIn("wrong answer\n", done.stdout)
        self.assertIn("FAILED: tvm (of: rest gcc tvm tflite_micro python)", done.stdout)

    def test_a_failed_test_is_reported(self):
        done = self.dev("test", exits_with=1, CMAKE_FAILS="1")
        self.assertIn("FAILED: unit (of: unit)", done.stdout)

    def test_fuzzers_receive_their_time(self):
        for name in ("table", "trace"):
            self.script(f"tests/fuzz/{name}_fuzz.cpp", "")
        for arguments, given in [([], "10"), (["table", "--minutes", "3"], "3 table"),
                                 (["--minutes=2", "table", "--keep", "trace"], "2 --keep table trace")]:
            self.assertIn(f"run.sh build/clang-asan/tests/fuzz {given}\n", self.dev("fuzz", *arguments).stdout)

    def test_systems_are_run_and_their_table_is_written(self):
        self.assertEqual(self.dev("systems", "--headers", "gcc-11").stdout,
                         "systems.py build/systems build/tools --headers gcc-11\n"
                         "systems.py --table README.md build/systems\n")

    def test_the_site_is_built_or_checked(self):
        self.script("docs/site/build.py", ECHO)
        self.script("docs/site/versions.py", ECHO)
        self.script("docs/site/planner/compile.sh", ECHO)
        plotly = "build/tools/plotly/plotly/package_data/plotly.min.js"
        self.script(plotly, "")
        compiled = "== compiling the planner to WebAssembly\n"
        built = f"{compiled}build.py build/site --planner build/site/planner.wasm --plotly {plotly}\n"
        self.assertEqual(self.dev("docs").stdout, built)
        self.assertEqual(self.dev("docs", "--check").stdout, built.replace("site --p", "site --check --p"))
        self.assertEqual(self.dev("docs", "--versions").stdout, built + "versions.py build/site\n")
        self.script("docs/site/planner/compile.sh", "#!/bin/bash\necho reason\nexit 1\n")  # the site is built without it
        self.assertEqual(self.dev("docs").stdout, f"{compiled}reason\n== the command failed; the full output is in "
                                                  f"build/planner.log\nbuild.py build/site --plotly {plotly}\n")

    def test_a_benchmark_is_stored_in_the_folder_of_the_caller(self):
        self.script("build/gcc-release/benchmarks/plan_benchmark", ECHO)
        self.script("benchmarks/results.py", f"{ECHO}cat\n")
        self.assertIn("== plan\nplan_benchmark\n", self.dev("bench", "plan").stdout)
        for option in (["--json", "../new.json"], ["--json=../new.json"]):
            self.assertIn(f"== plan\nresults.py {self.root.parent}/new.json plan\nplan_benchmark\n",
                          self.dev("bench", *option, "plan").stdout)
        self.script("build/gcc-release/benchmarks/plan_benchmark", "#!/bin/bash\nexit 3\n")
        self.dev("bench", "plan", "--json", "new.json", exits_with=3)

    def test_a_benchmark_without_programs_of_the_build_starts_at_once(self):
        self.script("benchmarks/include_cost.sh", ECHO)
        self.script("benchmarks/malloc.py", ECHO)
        self.script("bin/g++", "#!/bin/bash\n")
        self.assertEqual(self.dev("bench", "include").stdout, "== include\ninclude_cost.sh\n")
        self.assertEqual(self.dev("bench", "malloc").stdout.splitlines()[0], "== malloc")
        self.script("build/gcc-release/benchmarks/plan_benchmark", ECHO)
        self.assertEqual(self.dev("bench", "plan").stdout.splitlines()[0], "== building the benchmarks")

    def test_a_gpu_or_a_rehearsal(self):
        here = self.elsewhere
        self.script("bin/nvcc", ECHO)
        self.script("bin/dpkg-query", "#!/bin/bash\nexit 1\n")
        self.assertIn("installing", self.dev("gpu", "--rehearse").stdout)  # and on hardware, nothing is installed:
        self.assertEqual(self.dev("gpu", "--wheels", "w", "--out=o").stdout, f"run.py --wheels {here}/w --out {here}/o\n")
        self.script("bin/dpkg-query", "#!/bin/bash\nprintf installed\n")
        self.assertEqual(self.dev("gpu", "--rehearse", "--out", "o").stdout, f"run.py --out {here}/o --rehearse\n")
        self.assertEqual(self.dev("gpu", "--pack", "some.trace").stdout, f"pack.py build/gpu-carry {here}/some.trace\n")

    def test_programs_inside_tvm_are_chosen_by_name(self):
        for name in ("bindings/tvm/programs/offsets.py", "tests/integration/tvm/storage_test.py"):
            self.script(name, "")
        self.assertEqual(self.dev("tvm").stdout, "run\n")
        self.assertEqual(self.dev("tvm", "offsets", "storage_test").stdout, "run offsets storage_test\n")

    def test_single_headers(self):
        self.script("bindings/single_header/join.py", ECHO)
        self.script("bindings/single_header/explore.py", ECHO)
        self.assertEqual(self.dev("single").stdout, "join.py build/single\n")
        self.assertEqual(self.dev("single", "--pages").stdout, "explore.py --pages\n")
        for address in ([], ["https://example.org"]):
            self.assertEqual(self.dev("single", "--link", "a.csv", *address).stdout,
                             " ".join(["explore.py --link", f"{self.elsewhere}/a.csv", *address]) + "\n")

    def test_release(self):
        self.script(".release/make.py", ECHO)
        self.assertEqual(self.dev("release").stdout, "make.py build/release\n")
        self.assertEqual(self.dev("release", "--sources", "1.0.0", "--url", "https://example.org").stdout,
                         "make.py build/release 1.0.0 --sources --url=https://example.org\n")

    def test_an_installation_is_announced(self):
        self.script("bin/dpkg-query", "#!/bin/bash\nexit 1\n")
        self.script("bin/apt-get", """#!/bin/bash
            if [[ $* == *--print-uris* ]]; then printf "'http://x/%s' %s 300000000 SHA256:0\\n" a a b b; exit; fi
            echo "$*" >>"$(dirname "$0")/calls"
            """)
        self.script("bin/sudo", '#!/bin/bash\n"$@"\n')
        done = self.dev("install")
        self.assertRegex(done.stdout, r"\A== installing g\+\+ cmake [^\n]*: with dependencies 2 packages, 600 MB, about 4 min\n\Z")
        calls = (self.root / "bin/calls").read_text().splitlines()
        self.assertEqual(len(calls), 2)
        self.assertRegex(calls[1], r"^-qq install -y --no-install-recommends g\+\+ cmake ")
        (self.root / "build/tools/bin/conan").unlink()
        self.assertRegex(self.dev("install", "--wide").stdout, r"\A== after Debian's packages: up to 750 MB [^\n]*\n== installing ")

    def without_apt(self, *arguments, **environment):
        """Runs ./dev with a PATH of few programs, and of those in bin."""
        (self.root / "bin/apt-get").unlink()
        for tool in ("bash", "dirname", "basename", "awk", "mkdir", "tail", "cat", "git", "realpath", "nproc", "env"):
            found = shutil.which(tool)
            if found and not (self.root / "bin" / tool).exists():
                (self.root / "bin" / tool).symlink_to(found)
        return self.dev(*arguments, PATH=str(self.root / "bin"), **environment).stdout

    def test_dnf(self):
        self.script("bin/dnf", ECHO)
        self.script("bin/rpm", '#!/bin/bash\n[[ $* == *" cmake" ]]\n')
        self.assertEqual(self.without_apt("install").splitlines(), [
            "== continuing without gcc-c++ ninja-build boost-devel clang compiler-rt lld doctest-devel; to install: "
            "sudo dnf install gcc-c++ ninja-build boost-devel clang compiler-rt lld doctest-devel",
            "== dnf does not have these packages, if they are not installed: relacy-dev"])

    def test_brew(self):
        self.script("bin/brew", '#!/bin/bash\n[[ $* == "list --versions boost" ]]\n')
        self.assertIn("to install: brew install gcc cmake ninja llvm lld doctest\n", self.without_apt("install"))

    def test_conda_and_pixi(self):
        environment = self.elsewhere / "environment"
        (environment / "conda-meta").mkdir(parents=True)
        for name in ("cmake-4.1.0-h0", "gxx-14.2.0-h0", "clangxx-extra-1.0-h0"):
            (environment / "conda-meta" / f"{name}.json").write_text("")
        missing = "ninja libboost-devel clangxx compiler-rt lld doctest\n"
        with self.subTest("pixi"):  # also where apt is there
            self.assertIn(f"to install: pixi add {missing}",
                          self.dev("install", CONDA_PREFIX=str(environment), PIXI_PROJECT_ROOT=str(self.root)).stdout)
        with self.subTest("conda"):
            self.assertIn(f"to install: conda install -c conda-forge {missing}",
                          self.without_apt("install", CONDA_PREFIX=str(environment)))

    def test_no_known_system(self):
        self.assertIn("assuming that these packages are installed (Debian names): g++ cmake", self.without_apt("install", CONDA_PREFIX=""))

    def test_other_systems_have_a_name_for_each_package(self):
        rows = {line.split()[0]: line.split() for line in PACKAGES.read_text().splitlines() if not line.startswith("#")}
        self.assertEqual({len(row) for row in rows.values()}, {4})
        text = re.sub(r" #.*", "", DEV.read_text())
        lists = re.findall(r"^(\w+)_packages=\(([^)]*)\)", text, re.MULTILINE)
        lists = [names for name, names in lists if name not in ("module", "systems")]  # only Debian has these compilers side by side
        needs = re.findall(r"\bneed ([^;&>|\n]*)", text.split("END\n}", 1)[1])
        words = re.sub(r"\$\{[^}]*\}", "", " ".join(lists + needs))
        names = set(re.findall(r"(?<![\w${\"])[a-z][\w.+-]*(?![\w\[])", words))
        self.assertGreater(len(names), 50)
        self.assertEqual(names - set(rows), set())

    def test_pixi_has_the_packages_of_the_tests(self):
        rows = [line.split() for line in PACKAGES.read_text().splitlines() if not line.startswith("#")]
        text = (DEV.parent / "pixi.toml").read_text()
        packages = set(re.findall(r'^([\w-]+) = "\*"$', text.split("[dependencies]", 1)[1], re.MULTILINE))
        known = {name for row in rows for name in row[3].split(",")}
        self.assertEqual(packages - known, set())
        unit = re.search(r"^unit_packages=\(([^)]*)\)", DEV.read_text(), re.MULTILINE).group(1).split()
        conda = {row[0]: row[3].split(",") for row in rows}
        self.assertLessEqual({name for package in unit for name in conda[package]} - {"-"}, packages)
        for command in re.findall(r'"./dev (\w+)"', text):
            self.assertRegex(DEV.read_text(), rf"(?m)^{command}\) ")

    def test_the_container_installs_the_packages(self):
        container = json.loads((DEV.parent / ".devcontainer" / "devcontainer.json").read_text())
        self.assertLessEqual(set(container), {"name", "image", "postCreateCommand", "customizations"})
        self.assertEqual(container["image"], "debian:12")
        self.assertRegex(DEV.read_text(), rf"(?m)^{re.fullmatch(r'./dev (.+)', container['postCreateCommand']).group(1)}\) ")

    def test_wheel(self):
        self.assertEqual(self.dev("wheel").stdout, "run --wheel\n")
        self.assertEqual(self.dev("wheel", "--test").stdout, "run\n")

    def test_module(self):
        self.assertEqual(self.dev("module").stdout, "python bindings/module/write.py\n")
        lines = self.dev("module", "--test").stdout.splitlines()
        self.assertEqual(lines[0], "python bindings/module/write.py --check")
        self.assertEqual([line for line in lines if line.startswith("check.py")], [
            "check.py build/module/clang-16 clang++-16",
            f"check.py build/module/clang-16-libcxx clang++-16 {self.root}/build/tools/libcxx-16",
            "check.py build/module/clang-19 clang++-19",
            f"check.py build/module/clang-19-libcxx clang++-19 {self.root}/build/tools/libcxx-19"])
        self.script("tests/integration/module/check.py", "#!/bin/bash\nexit 77\n")
        self.dev("module", "--test")
        self.script("tests/integration/module/check.py", "#!/bin/bash\nexit 1\n")
        self.dev("module", "--test", exits_with=1)

    def test_models_in_tflite_micro(self):
        planner = "build/gcc/examples/apps/memory_planner/memory_planner"
        self.assertEqual(self.dev("tflite_micro").stdout, f"run {planner}\n")
        self.assertEqual(self.dev("tflite_micro", "tiny.tflite").stdout, f"run {planner} {self.elsewhere}/tiny.tflite\n")

    def test_a_failed_build_is_shown(self):
        done = self.dev("plan", "a.csv", exits_with=1, CMAKE_FAILS="1")
        self.assertIn("failed; the full output is in build/", done.stderr)
        self.assertIn("building", self.dev("demo", "x.network").stdout)


if __name__ == "__main__":
    unittest.main()
