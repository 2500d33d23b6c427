#!/usr/bin/python3
"""Compiles mistakes.cpp for each memory checker, runs every mistake, and compares the reports with the list.

usage: check.py TOOL COMPILER [INCLUDE]     TOOL: asan, msan, valgrind
Each mistake that the tool is expected to find ends with a report that names allot. The correct program ends without one.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = {
    # letter in the list, flags of the compiler, report, the words of allot in it
    "asan": ("a", ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
             r"AddressSanitizer: (use-after-poison|unknown-crash)", r"^(allot: misuse: |the address is )"),
    "msan": ("m", ["-fsanitize=memory", "-fsanitize-memory-track-origins", "-fno-omit-frame-pointer"],
             r"MemorySanitizer: use-of-uninitialized-value", r"allot::"),
    "valgrind": ("v", ["-DALLOT_VALGRIND=1"],
                 r"Invalid (read|write|free)|depends on uninitialised", r""),
}


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in TOOLS:
        sys.exit(__doc__)
    tool, compiler = sys.argv[1:3]
    include = sys.argv[3] if len(sys.argv) == 4 else HERE.parents[2] / "include"
    letter, flags, report, word = TOOLS[tool]
    if not shutil.which(compiler):
        skip(f"no {compiler}")
    if tool == "valgrind" and not shutil.which("valgrind"):
        skip("no valgrind")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "mistakes"
        command = [*os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split(), compiler, "-std=c++20", "-O1", "-g1",
                   *flags, f"-I{include}", HERE / "mistakes.cpp", "-o", program]
        subprocess.run(command, check=True)
        runner = ["valgrind", "-q", "--exit-on-first-error=yes", "--error-exitcode=99",
                  "--track-origins=yes"] if tool == "valgrind" else []

        def play(name):
            # Without a limit, a mistake that a tool cannot see may loop in damaged records.
            try:
                return subprocess.run([*runner, program, name], capture_output=True, text=True, errors="replace",
                                      timeout=120, check=False)
            except subprocess.TimeoutExpired:
                return None

        lines = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
        expected = [name for name, *tools in map(str.split, lines) if name == "correct" or letter in "".join(tools)]
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(play, expected))
    failed = 0
    for name, result in zip(expected, results):
        text = "" if result is None else result.stderr
        if name == "correct":
            good = result is not None and result.returncode == 0 and not text
        else:
            good = result is not None and result.returncode != 0 and re.search(report, text) and \
                re.search(word, text, re.M)
        if not good:
            failed += 1
            print(f"{name}: {'no end' if result is None else result.returncode}\n{text[:3000]}")
    print(f"{tool}: {len(expected) - 1 - failed} of {len(expected) - 1} mistakes are reported")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
