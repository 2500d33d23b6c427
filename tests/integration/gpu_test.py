#!/usr/bin/python3
"""Tests of ./dev gpu: time limits, failures, and the report, with replacements for the programs; and of the files that travel.

The rehearsal with the real programs on the fakes of CUDA is another test, gpu_rehearsal.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
GPU = HERE.parent.parent / "benchmarks" / "gpu"
CASES = "#!/bin/bash\necho '[doctest] test cases: 7 | 6 passed | 1 failed | 0 skipped'\n"
OURS = '{"allocator": "allot: indexed_ordered", "measured": "pair", "bytes": 512, "ns": 5.0}'
PAIR = '{"allocator": "one", "measured": "pair", "bytes": 512, "ns": 12.5}'
TRACE = '{"allocator": "one", "measured": "trace", "trace": "t", "operations": 9, "peak": 1000, "streams": "2 streams", "ns": 40.0}'
HELD = '{"allocator": "one", "measured": "memory", "trace": "t", "streams": "2 streams", "peak": 1000, "reserved": 1250, "overwritten": 3}'
DEMO = """#!/bin/bash
while (($#)); do [[ $1 == --json ]] && file=$2; shift; done
echo '[{"network": "a", "digest": 1}, {"network": "a", "digest": 1}, {"network": "b", "digest": 1}, {"network": "b", "digest": 2}]' >"$file"
"""


class Gpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.out = self.root / "out"
        self.script("tests/unit/cuda/test_cuda_gpu", CASES)
        self.script("tests/unit/cuda/test_cuda_virtual_memory_gpu", CASES)
        self.script("tests/unit/cuda/kernels_rehearsed", "#!/bin/bash\n")
        self.script("benchmarks/gpu_benchmark", f"#!/bin/bash\necho '{OURS}'\necho '{PAIR}'\necho '{TRACE}'\necho '{HELD}'\n")
        self.script("examples/apps/network_demo/network_demo", DEMO)
        for name in ("torch", "cupy"):
            (self.root / f"{name}.py").write_text(f"raise ImportError('this test has no {name}')\n")

    def script(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_it(self, *options, exits_with=0, **environment):
        done = subprocess.run([sys.executable, GPU / "run.py", *options, "--build", self.root, "--out", self.out,
                               "--carry", self.root / "carry"], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": str(self.root), **environment})
        self.assertEqual(done.returncode, exits_with, done.stdout + done.stderr)
        return done

    def steps(self):
        return {step["name"]: step for step in json.loads((self.out / "report.json").read_text())["steps"]}

    def test_a_report_has_all_results(self):
        done = self.run_it("--rehearse")
        steps = self.steps()
        self.assertEqual(steps["test_cuda_gpu"]["status"], "passed")
        self.assertEqual(steps["CuPy's pool"]["status"], "skipped")
        self.assertEqual(steps["training step, native"]["detail"], "PyTorch is not installed (this test has no torch)")
        text = (self.out / "report.md").read_text()
        self.assertIn("A rehearsal with fakes. The numbers state nothing about a GPU.", text)
        self.assertIn("| one | 12 |", text)
        self.assertIn("| one | 40 | **3 overwritten** 1.250 |", text)
        self.assertIn("| time over that of the fastest peer | at most 0.5 | 0.40 | 0.40 | 512 B, 1 stream |", text)
        row = (self.out / "verified.md").read_text()
        self.assertRegex(row, r"^\| \d{4}-\d\d-\d\d \| a fake GPU, [^|]* \| `./dev gpu` at [^|]* \| [^|]* \|\n$")
        self.assertIn("12 test cases passed; networks with equal digests: 1 of 2", row)
        self.assertIn(row, done.stdout)
        self.assertIn("test_cuda_gpu", (self.out / "log.txt").read_text())

    def test_a_planted_mistake_must_be_found(self):
        tool = GPU.parent.parent / "tests" / "fakes" / "gpu_tools" / "compute-sanitizer"
        found = subprocess.run([tool, "--error-exitcode", "99", "--nvtx", "yes", "true", "past-a-block"], capture_output=True)
        unknown = subprocess.run([tool, "--error-exitcode", "99", "true", "past-a-block"], capture_output=True)
        wrong = subprocess.run([tool, "--tool", "memchecker", "true"], capture_output=True)
        self.assertEqual([found.returncode, unknown.returncode, wrong.returncode], [99, 0, 1])
        self.run_it("--rehearse")
        self.assertEqual(self.steps()["memcheck with NVTX finds a planted write past a block"]["status"], "passed")

    def test_a_failed_step_is_reported_and_the_others_run(self):
        self.script("tests/unit/cuda/test_cuda_gpu", "#!/bin/bash\necho it is broken\nexit 3\n")
        self.run_it("--rehearse", exits_with=1)
        steps = self.steps()
        self.assertEqual(steps["test_cuda_gpu"]["status"], "failed")
        self.assertEqual(steps["test_cuda_gpu"]["detail"], "exit status 3; it is broken")
        self.assertEqual(steps["networks of the demo in device memory"]["status"], "passed")

    def test_a_step_is_stopped_and_later_ones_do_not_start(self):
        self.script("tests/unit/cuda/test_cuda_gpu", "#!/bin/bash\nsleep 1000 &\nsleep 1000\n")  # and a child process
        start = time.monotonic()
        self.run_it("--rehearse", "--seconds", "6", exits_with=1)
        self.assertLess(time.monotonic() - start, 60)
        steps = self.steps()
        self.assertEqual(steps["test_cuda_gpu"]["status"], "stopped")
        self.assertEqual(steps["test_cuda_virtual_memory_gpu"]["status"], "not started")
        self.assertIn("no time is left", (self.out / "report.md").read_text())

    def test_a_program_that_was_not_built(self):
        (self.root / "benchmarks" / "gpu_benchmark").unlink()
        self.run_it("--rehearse")  # the build, which is not a step here, has failed
        self.assertEqual(self.steps()["allocators, side by side"]["detail"], "gpu_benchmark is not built")

    def test_without_a_gpu(self):
        (self.root / "nothing").mkdir()
        done = self.run_it(exits_with=2, PATH=str(self.root / "nothing"))
        self.assertEqual(done.stderr, "run.py: nvidia-smi names no GPU; ./dev gpu --rehearse needs none\n")

    def test_wheels_are_a_folder(self):
        done = self.run_it("--rehearse", "--wheels", "/nowhere", exits_with=1)
        self.assertEqual(done.stderr, "run.py: --wheels /nowhere is not a folder\n")

    def test_the_pack_has_the_headers_and_is_small(self):
        tree = self.root / "tree"
        (tree / "benchmarks" / "gpu").mkdir(parents=True)
        pack = tree / "benchmarks" / "gpu" / "pack.py"
        pack.write_text((GPU / "pack.py").read_text())
        (tree / "include").mkdir()
        (tree / "include" / "a.hpp").write_text("#include <boost/intrusive/list.hpp>\n")
        (self.root / "x.altr").write_text("trace")
        subprocess.run(["git", "init", "--quiet", tree], check=True)
        command = [sys.executable, pack, self.root / "pack", self.root / "x.altr"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in ("include/doctest/doctest.h", "include/boost/intrusive/list.hpp", "include/boost/config/compiler/nvcc.hpp",
                     "lib/cmake/Boost/BoostConfig.cmake", "traces/x.altr"):
            self.assertTrue((self.root / "pack" / name).exists(), name)
        with (tree / "large").open("wb") as file:
            file.truncate(60 << 20)
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 1)


    def test_the_working_tree_travels(self):
        listed = subprocess.run(["git", "-C", GPU, "ls-files", "-z", "--full-name", "--", ":/"], capture_output=True, text=True)
        if listed.returncode != 0:
            self.skipTest("the tree is no git repository")
        sizes = [(GPU.parent.parent / name).lstat().st_size for name in listed.stdout.split("\0") if name]
        self.assertLess(sum(sizes), 40 << 20)  # 20 MiB are left for build/gpu-carry


if __name__ == "__main__":
    unittest.main()
