#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Tests and measures allot on a machine with an NVIDIA GPU, or rehearses that with fakes: ./dev gpu runs it.

    run.py [--rehearse] [--out DIR] [--wheels DIR] [--build DIR] [--carry DIR] [--seconds N]

It needs nvcc, a C++ compiler, CMake and python3, and neither a network nor packages: `pack.py` collects the headers that such
a machine lacks. Each step has a time limit, and the most important ones come first. A step that does not end in its time is
stopped and reported, and one that cannot start in time as well. DIR receives report.md, report.json, verified.md (the
entry for docs/verified.md) and log.txt. The exit status is 1 if a step failed or was stopped.

In a rehearsal, all programs are the same. The runtime and the driver of CUDA, nvidia-smi and compute-sanitizer are fakes.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
import report

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TRACES = ["gpu500", "kvblk"]
ALLOCATORS = ["native", "expandable", "async"]
SKIPPED = 77
ENOUGH = 5  # seconds: a step does not start with less
PLANTED = 99  # the exit status of compute-sanitizer after an error


class Run:
    """The steps that were run, the log, and the time that is left."""

    def __init__(self, chosen):
        self.chosen, self.steps = chosen, []
        self.patience = 8 if chosen.rehearse else 1  # a machine for rehearsals has fewer processors, and other work
        self.end = time.monotonic() + chosen.seconds
        self.out = Path(chosen.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.log = (self.out / "log.txt").open("w", encoding="utf-8")
        self.environment = dict(os.environ)
        beside = [os.environ.get("PATH", ""), str(Path(sys.executable).parent), "/usr/local/cuda/bin"]  # CMake, nvcc
        self.environment["PATH"] = os.pathsep.join(filter(None, beside))

    def left(self):
        return self.end - time.monotonic()

    def step(self, name, limit, command, accepted=(0,), text=None):
        """Runs a command for at most `limit` seconds. Returns the step; `output` is empty unless it ended."""
        made = {"name": name, "status": "passed", "seconds": 0.0, "detail": "", "output": ""}
        self.steps.append(made)
        allowed = min(limit * self.patience, self.left())
        if allowed < ENOUGH:
            made.update(status="not started", detail="no time is left")
        else:
            start = time.monotonic()
            self.execute(made, allowed, [str(word) for word in command], accepted, text)
            made["seconds"] = round(time.monotonic() - start, 1)
        print(f"{made['status']}: {name}{': ' if made['detail'] else ''}{made['detail']} ({made['seconds']} s)", flush=True)
        return made

    def execute(self, made, allowed, command, accepted, text):
        try:
            process = subprocess.Popen(command, cwd=ROOT, env=self.environment, text=True, errors="replace",
                                       stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        except FileNotFoundError:
            made.update(status="not started", detail=f"{Path(command[0]).name} is not built")
            return
        try:
            made["output"], _ = process.communicate(text, timeout=allowed)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            made["output"], _ = process.communicate()
            made.update(status="stopped", detail=f"after {allowed:.0f} s")
        self.log.write(f"\n==== {made['name']}: {' '.join(command)}\n{made['output']}==== exit status {process.returncode}\n")
        self.log.flush()
        if made["status"] == "stopped":
            return
        skipped = re.search(r"^(?:\d+: )?skipped: (.*)", made["output"], re.MULTILINE)  # the number is CTest's
        if process.returncode == SKIPPED or skipped and process.returncode == 0:
            made.update(status="skipped", detail=skipped[1] if skipped else "")
        elif process.returncode not in accepted:
            last = made["output"].strip().splitlines()[-1:]
            made.update(status="failed", detail=f"exit status {process.returncode}; {' '.join(last)[:200]}")

    def skip(self, name, reason):
        self.steps.append({"name": name, "status": "skipped", "seconds": 0.0, "detail": reason, "output": ""})
        print(f"skipped: {name}: {reason}", flush=True)


def first_line(run, command):
    """Returns the last line that a command prints, or an empty text."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=run.environment)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.strip().splitlines() if done.returncode == 0 else []
    return lines[-1].strip() if lines else ""


def machine(run):
    """Returns the facts about the machine that a result states."""
    gpu = first_line(run, ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"])
    carried = run.chosen.carry / "commit"
    return {
        "date": datetime.date.today().isoformat(),
        "commit": first_line(run, ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]) or
                  (carried.read_text(encoding="utf-8").strip() if carried.exists() else ""),
        "gpu": gpu,
        "nvcc": re.sub(r"^Build ", "", first_line(run, ["nvcc", "--version"])),
        "compiler": first_line(run, ["g++", "-dumpfullversion"]),
        "torch": first_line(run, [sys.executable, "-c", "import torch; print(torch.__version__)"]),
        "processors": os.cpu_count(),
        "rehearsal": run.chosen.rehearse,
    }


def build(run):
    """Builds all programs. Peers and the program of nvcc are compiled at the same time."""
    folder = run.chosen.build
    if run.chosen.built:
        return
    ninja = ["-G", "Ninja"] if shutil.which("ninja", path=run.environment["PATH"]) else []
    configured = run.step("configure", 60, [
        "cmake", "-S", ROOT, "-B", folder, *ninja, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1", "-DALLOT_BENCHMARKS=ON", f"-DCMAKE_PREFIX_PATH={run.chosen.carry}"])
    if "allot::cuda does not exist" in configured["output"]:
        configured.update(status="failed", detail="CMake finds no CUDA toolkit")
    if configured["status"] != "passed":
        return
    targets = ["gpu_tests", "gpu_benchmark", "network_demo", *(["gpu_fakes"] if run.chosen.rehearse else [])]
    with ThreadPoolExecutor() as together:
        together.submit(run.step, "build", 200, ["cmake", "--build", folder, "--parallel", os.cpu_count(), "--target", *targets])
        together.submit(run.step, "kernels compiled by nvcc, and run", 200,
                        ["ctest", "--test-dir", folder, "-R", "^cuda_nvcc$", "--verbose", "--no-tests=error"])
        together.submit(build_pytorch_peer, run)
        together.submit(build_rmm_peer, run)


PYTORCH = """
import sys, pathlib
try:
    import torch
except ImportError as reason:
    sys.exit(print('skipped:', reason) or 77)
root = pathlib.Path(torch.__file__).parent
if not (root / 'lib' / 'libc10_cuda.so').exists():
    sys.exit(print(f'skipped: PyTorch {torch.__version__} is built without CUDA') or 77)
print(root)
"""


def peer_command(run, name, includes, libraries, links):
    nvcc = shutil.which("nvcc", path=run.environment["PATH"])
    cuda = Path(nvcc or "/usr/local/cuda/bin/nvcc").resolve().parent.parent / "include"
    command = ["g++", "-std=c++20", "-O2", "-fPIC", "-shared", HERE / f"{name}.cpp", "-o", run.chosen.build / f"lib{name}.so"]
    command += [word for path in [*includes, cuda] for word in ("-isystem", path)]
    for path in libraries:
        command += [f"-L{path}", f"-Wl,-rpath,{path}"]
    return command + [f"-l{each}" for each in links]


def build_pytorch_peer(run):
    name = "build of PyTorch's allocator as a peer"
    found = subprocess.run([sys.executable, "-c", PYTORCH], capture_output=True, text=True, env=run.environment)
    if found.returncode != 0:
        run.skip(name, found.stdout.strip().removeprefix("skipped: "))
        return
    torch = Path(found.stdout.strip().splitlines()[-1])
    run.step(name, 120, peer_command(run, "pytorch_peer", [torch / "include"], [torch / "lib"], ["c10_cuda", "c10"]))


def build_rmm_peer(run):
    name = "build of RMM's pool as a peer"
    site = run.chosen.build / "wheels"
    rmm, logger = site / "librmm", site / "rapids_logger"
    if not rmm.exists():
        run.skip(name, "no wheel of librmm is given")
        return
    run.step(name, 120, peer_command(run, "rmm_peer", [rmm / "include", rmm / "include" / "rapids", logger / "include"],
                                     [rmm / "lib64", logger / "lib64"], ["rmm", "rapids_logger"]))


def unpack_wheels(run):
    """Unpacks the wheels that are given to a folder from which Python and the compiler read them."""
    site = run.chosen.build / "wheels"
    shutil.rmtree(site, ignore_errors=True)
    for wheel in sorted(Path(run.chosen.wheels or run.chosen.carry / "wheels").glob("*.whl")):
        shutil.unpack_archive(wheel, site, "zip")
    run.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(site), run.environment.get("PYTHONPATH")]))


def kernels_of(run):
    return run.chosen.build / "tests" / "unit" / "cuda" / ("kernels_rehearsed" if run.chosen.rehearse else "kernels")


def test(run):
    cuda = run.chosen.build / "tests" / "unit" / "cuda"
    for name in ("test_cuda_gpu", "test_cuda_virtual_memory_gpu"):
        run.step(name, 60, [cuda / name])
    if run.chosen.rehearse and kernels_of(run).exists():
        run.step("kernels, replaced by fills", 60, [kernels_of(run)])


def traces(run):
    return [*TRACES, *sorted(str(path) for path in (run.chosen.carry / "traces").glob("*.altr"))]


def small(run):
    """The options that shorten the benchmark in a rehearsal."""
    return ["--scale", "256", "--operations", "600"] if run.chosen.rehearse else ["--operations", "40000"]


def benchmark(run):
    program = run.chosen.build / "benchmarks" / "gpu_benchmark"
    libraries = [*program.parent.glob("lib*_peer.so"), *sorted(run.chosen.build.glob("lib*_peer.so"))]
    peers = [word for path in libraries for word in ("--peer", path)]
    step = run.step("allocators, side by side", 120, [program, *small(run), *peers, *traces(run)])
    rows = report.json_lines(step["output"])
    for name in TRACES[:1]:
        listed = subprocess.run([program, "--list", *small(run), name], capture_output=True, text=True, cwd=ROOT,
                                env=run.environment, timeout=60) if program.exists() else None
        if listed is not None and listed.returncode == 0:
            cupy = run.step("CuPy's pool", 30, [sys.executable, HERE / "cupy_pool.py", name], text=listed.stdout)
            rows += report.json_lines(cupy["output"])
    return rows


def training(run):
    """Trains the same models under each allocator of PyTorch and, if it is built, under allot's."""
    rows = []
    small_steps = ["--device", "cpu", "--small", "--steps", "4"] if run.chosen.rehearse else []
    ours = list(run.chosen.build.rglob("liballot_pytorch.so"))[:1]
    for name in [*ALLOCATORS[:1], *ours, *ALLOCATORS[1:]]:
        step = run.step(f"training step, {Path(name).name}", 60,
                        [sys.executable, HERE / "training_step.py", *small_steps, name])
        rows += report.json_lines(step["output"])
    return rows


def sanitize(run):
    cuda = run.chosen.build / "tests" / "unit" / "cuda"
    tool = ["compute-sanitizer", "--error-exitcode", PLANTED]
    if not shutil.which("compute-sanitizer", path=run.environment["PATH"]):
        run.skip("compute-sanitizer", "it is not found")
        return
    for name in ("test_cuda_gpu", "test_cuda_virtual_memory_gpu"):
        # The tests cause errors of calls on purpose, which are no wrong accesses.
        run.step(f"memcheck, {name}", 90, [*tool, "--tool", "memcheck", "--report-api-errors", "no", cuda / name])
    kernels = kernels_of(run)
    if not kernels.exists():
        run.skip("compute-sanitizer over kernels", "the program is not built")
        return
    run.step("memcheck with NVTX, kernels", 60, [*tool, "--tool", "memcheck", "--nvtx", "yes", kernels, "under-a-tool"])
    run.step("memcheck with NVTX finds a planted write past a block", 60,
             [*tool, "--tool", "memcheck", "--nvtx", "yes", kernels, "past-a-block"], accepted=(PLANTED,))
    for name in ("initcheck", "racecheck"):
        run.step(f"{name}, kernels", 45, [*tool, "--tool", name, kernels, "under-a-tool"])


def demo(run):
    networks = sorted((ROOT / "examples" / "apps" / "network_demo").glob("*.network"))
    file = run.out / "demo.json"
    if run.chosen.rehearse:
        networks = networks[:1]
    run.step("networks of the demo in device memory", 60,
             [run.chosen.build / "examples" / "apps" / "network_demo" / "network_demo",
              "--memory", "cuda", "--memory", "separate", "--json", file, *networks])
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    file.unlink()
    return rows


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--wheels")
    parser.add_argument("--build", help="a build folder whose programs are used as they are")
    parser.add_argument("--carry", default=ROOT / "build" / "gpu-carry", type=Path)
    parser.add_argument("--seconds", type=float, help="the time for all steps (default: 465, and 1800 for a rehearsal)")
    chosen = parser.parse_args()
    chosen.seconds = chosen.seconds or (1800 if chosen.rehearse else 465)
    kind = "gpu-rehearsal" if chosen.rehearse else "gpu"
    chosen.built = chosen.build is not None
    chosen.build = Path(chosen.build or ROOT / "build" / kind).resolve()
    chosen.out = chosen.out or ROOT / "build" / f"{kind}-report"
    return chosen


def main():
    chosen = arguments()
    if chosen.wheels and not Path(chosen.wheels).is_dir():
        sys.exit(f"run.py: --wheels {chosen.wheels} is not a folder")
    run = Run(chosen)
    if chosen.rehearse:
        run.environment["PATH"] = f"{ROOT / 'tests' / 'fakes' / 'gpu_tools'}{os.pathsep}{run.environment['PATH']}"
        run.environment["LD_LIBRARY_PATH"] = str(chosen.build / "tests" / "unit" / "cuda" / "fake_libcuda")
    about = machine(run)
    if not about["gpu"]:
        print("run.py: nvidia-smi names no GPU; ./dev gpu --rehearse needs none", file=sys.stderr)
        sys.exit(2)
    unpack_wheels(run)
    results = {"machine": about}
    build(run)
    test(run)
    for name, measure in (("benchmarks", benchmark), ("training", training), ("sanitizer", sanitize), ("demo", demo)):
        results[name] = measure(run) or []
    results["steps"] = run.steps
    report.write(run.out, results)
    print(f"results: {run.out}")
    sys.exit(1 if any(step["status"] in ("failed", "stopped") for step in run.steps) else 0)


if __name__ == "__main__":
    main()
