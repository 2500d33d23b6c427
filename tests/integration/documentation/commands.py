#!/usr/bin/python3
"""Runs or prints the command blocks of Markdown files, unchanged. A block is fenced as ```sh and runs in the project's root.

    commands.py run SCRATCH BUILD FILE.md...
                                runs the short blocks that install nothing, in a copy of the tree in SCRATCH, and
                                builds a project with each ```cmake block; exits with 1 when a block fails
    commands.py print FILE.md   prints all blocks of a page as one script, for bare_root.sh

A block that builds with CMake takes the objects of the same files from BUILD, a build of the same tree. bare_root.sh
compiles them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# What installs packages or takes minutes is for bare_root.sh. The examples' targets are built and run by tests of their own,
# and ./dev test --wide runs ./dev tflite_micro.
LONG = re.compile(r"apt-get|\./dev (?:c|test|bench|advise|gpu|size|replay|view|demo|pytorch|tvm|tflite_micro|module|wheel)\b|bindings/(?:tvm/run|ggml/(?:install|run))|"
                  r"cmake --preset")
NOT_COPIED = re.compile(r"build|\.git$|\.cache$")


def blocks(page, language):
    """Yields the line and the text of each block."""
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.S | re.M):
        yield text.count("\n", 0, match.start()) + 2, match.group(1)


def copy_of_tree(scratch):
    """Copies the tree into a separate directory, because blocks may write to siblings such as ../mine."""
    shutil.rmtree(scratch, ignore_errors=True)
    tree = scratch / "allot"

    def ignored(folder, names):
        return [name for name in names if Path(folder) == ROOT and NOT_COPIED.match(name)]

    shutil.copytree(ROOT, tree, symlinks=True, ignore=ignored)
    return tree


def succeeds(script, folder):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    if done.returncode:
        print(f"exit status {done.returncode}:\n{script}\n{done.stdout}")
    return done.returncode == 0


def consumer(block, tree):
    """Builds and runs a project whose CMakeLists.txt contains the block, with an installed allot."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(mine LANGUAGES CXX)\nadd_executable(mine mine.cpp)\n" + block)
        (Path(folder) / "mine.cpp").write_text(
            "#include <allot/allot.hpp>\nallot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};\n"
            "int main() { return memory.allocate({.size = 100}) ? 0 : 1; }\n")
        return succeeds(f"cmake -S {tree} -B {folder}/allot -DALLOT_TESTS=OFF -DALLOT_EXAMPLES=OFF\n"
                        f"cmake --install {folder}/allot --prefix {folder}/prefix\n"
                        f"cmake -S {folder} -B {folder}/build -DCMAKE_PREFIX_PATH={folder}/prefix\n"
                        f"cmake --build {folder}/build\n{folder}/build/mine", tree)


def run(scratch, built, pages):
    os.environ |= {"CMAKE_CXX_COMPILER_LAUNCHER": str(Path(__file__).with_name("reuse_object.sh").resolve()),
                   "ALLOT_BUILT": str(built.resolve())}
    missing = [tool for tool in ("arm-none-eabi-g++", "qemu-system-arm") if not shutil.which(tool)]
    tree, failed, ran, left = copy_of_tree(scratch), [], 0, []
    for page in pages:
        for line, block in blocks(page, "sh"):
            where = f"{page.resolve().relative_to(ROOT)}:{line}"
            if LONG.search(block) or (missing and "qemu-system-arm" in block):
                left.append(where)
                continue
            ran += 1
            if not succeeds(block, tree):
                failed.append(where)
        for line, block in blocks(page, "cmake"):
            ran += 1
            if not consumer(block, tree):
                failed.append(f"{page}:{line}")
    print(f"left to bare_root.sh: {' '.join(left)}")
    print(f"{len(failed)} of {ran} blocks failed: {' '.join(failed)}")
    return 1 if failed or not ran else 0


def script_of(page):
    """Returns all blocks of a page as one script."""
    parts = ["set -euo pipefail"]
    for line, block in blocks(page, "sh"):
        parts += [f"echo '== {page.name}:{line}'", block]
    return "\n".join(parts) if len(parts) > 1 else ""


if __name__ == "__main__":
    if sys.argv[1] == "run":
        sys.exit(run(Path(sys.argv[2]), Path(sys.argv[3]), [Path(page) for page in sys.argv[4:]]))
    print(script_of(Path(sys.argv[2])))
