#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Runs models in TensorFlow Lite Micro, as they are and with an offline plan of allot, and compares arenas and outputs.

    compare.py PLANNER FOLDER MODEL.tflite...

PLANNER is the program memory_planner. The models with plans are written into FOLDER. Requires the packages of
requirements.txt: bindings/tflite_micro/run installs them. The exit status is 1 if outputs differ.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import offline_plan

ROOM = 64 << 20 # bytes for an arena; the interpreter reports those it uses


class Arena(NamedTuple):
    head: int  # bytes that the planner decides: tensors and scratch buffers
    tail: int
    outputs: list  # each as text of its bytes


class Comparison(NamedTuple):
    before: Arena
    after: Arena
    plan: str  # the line of offline_plan.py
    equal: bool


# In a process of its own, whose standard error has the sizes: the interpreter prints them, and does not return them.
PROGRAM = """
import json, sys
import numpy
from tflite_micro import runtime
interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=int(sys.argv[2]))
random = numpy.random.default_rng(1)
count = 0
outputs = []
for turn in range(2):
    for each in range(64):
        try:
            details = interpreter.get_input_details(each)
        except (IndexError, ValueError, RuntimeError):
            break
        interpreter.set_input(random.integers(-100, 100, size=details["shape"]).astype(details["dtype"]), each)
    interpreter.invoke()
    for each in range(64):
        try:
            outputs.append(interpreter.get_output(each).tobytes().hex())
        except (IndexError, ValueError, RuntimeError):
            break
print(json.dumps(outputs))
sys.stdout.flush()
interpreter.print_allocations()
"""


def run(path):
    """Runs a model twice, with known inputs, and returns its arena and outputs."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path), str(ROOM)], capture_output=True, text=True, check=False)
    sizes = {}
    for line in (done.stdout + done.stderr).splitlines():
        words = line.split()
        if line.startswith("[RecordingMicroAllocator] Arena allocation"):
            sizes[words[3]] = int(words[4])
    if done.returncode or not sizes:
        raise offline_plan.Refused(f"TensorFlow Lite Micro does not run {path}: {done.stderr.strip().splitlines()[-1:]}")
    return Arena(sizes["head"], sizes["tail"], json.loads(done.stdout.splitlines()[0]))


def compare(path, out, planner):
    """Writes the model with a plan to `out`, and runs both."""
    wrote = subprocess.run([sys.executable, offline_plan.__file__, "--planner", str(planner), str(path), str(out)],
                           capture_output=True, text=True, check=False)
    if wrote.returncode:
        raise offline_plan.Refused(wrote.stderr.strip())
    before, after = run(path), run(out)
    return Comparison(before, after, wrote.stdout.strip(), before.outputs == after.outputs)


def main(planner, folder, *models):
    failed = False
    print("| model | arena of its planner | with allot's plan | of it: planned tensors and scratch buffers | outputs |")
    print("|---|--:|--:|--:|---|")
    for name in models:
        path = Path(name)
        try:
            found = compare(path, Path(folder) / path.name, planner)
        except offline_plan.Refused as error:
            print(f"compare.py: {error}", file=sys.stderr)
            failed = True
            continue
        before, after = found.before, found.after
        print(f"| {path.stem} | {before.head + before.tail:,} | {after.head + after.tail:,} | {before.head:,} → {after.head:,} "
              f"| {'equal' if found.equal else 'DIFFERENT'} |")
        failed |= not found.equal
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
