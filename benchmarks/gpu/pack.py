#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Collects the files that a machine for ./dev gpu may lack: ./dev gpu --pack runs it.

    pack.py FOLDER [TRACE...]

FOLDER gets the headers of doctest and of Boost that allot includes, with the files by which CMake finds them, the wheels of
RMM if `pip` of build/tools can download them, the traces, decompressed, and the name of the commit. It exits with 1 if the
working tree and the folder together exceed 60 MiB.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 60 << 20
WHEELS = ["librmm-cu13==26.6.0", "rapids-logger==0.3.0"]
BOOST = """set(Boost_FOUND TRUE)
if(NOT TARGET Boost::headers)
    add_library(Boost::headers INTERFACE IMPORTED)
    target_include_directories(Boost::headers INTERFACE ${CMAKE_CURRENT_LIST_DIR}/../../../include)
endif()
"""
DOCTEST = BOOST.replace("set(Boost_FOUND TRUE)\n", "").replace("Boost::headers", "doctest::doctest")
VERSION = """set(PACKAGE_VERSION 1.74.0)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
"""


def included(names):
    """Returns the headers of Boost and doctest that these includes read: pairs of a path and a name below include/."""
    text = "".join(f"#include <{name}>\n" for name in names)
    done = subprocess.run(["g++", "-std=c++20", "-M", "-x", "c++", "-"], input=text, capture_output=True, text=True, check=True)
    for word in done.stdout.replace("\\\n", " ").split():
        found = re.search(r".*/((boost|doctest)/.*)", word)
        if found:
            yield Path(word), found[1]


def pack_headers(folder):
    names = {"doctest/doctest.h"}
    for path in (ROOT / "include").rglob("*.hpp"):
        names.update(re.findall(r"#include <(boost/[^>]*)>", path.read_text(encoding="utf-8")))
    for path, name in included(sorted(names)):
        target = folder / "include" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        if name == "boost/config.hpp":  # it selects files by the compiler, which is another one there
            shutil.copytree(path.parent / "config", target.parent / "config", dirs_exist_ok=True)
    for name, text in (("Boost", BOOST), ("doctest", DOCTEST)):
        config = folder / "lib" / "cmake" / name
        config.mkdir(parents=True, exist_ok=True)
        (config / f"{name}Config.cmake").write_text(text, encoding="utf-8")
        (config / f"{name}ConfigVersion.cmake").write_text(VERSION, encoding="utf-8")


def pack_wheels(folder):
    pip = ROOT / "build" / "tools" / "bin" / "pip"
    command = [pip, "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.12", "--platform",
               "manylinux_2_28_x86_64", "--dest", folder / "wheels", *WHEELS]
    done = subprocess.run(command, capture_output=True, text=True) if pip.exists() else None
    if done is None or done.returncode != 0:
        print("skipped: the wheels of RMM cannot be downloaded")


def pack_traces(folder, traces):
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    for trace in traces:
        target = folder / "traces" / Path(trace).name.removesuffix(".xz")
        if trace.endswith(".xz"):
            with target.open("wb") as file:
                subprocess.run(["xz", "-dc", trace], stdout=file, check=True)
        else:
            shutil.copyfile(trace, target)


def size_of(paths):
    return sum(path.stat().st_size for path in paths if path.is_file() and not path.is_symlink())


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    pack_headers(folder)
    pack_wheels(folder)
    pack_traces(folder, sys.argv[2:])
    head = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    (folder / "commit").write_text(head.stdout, encoding="utf-8")  # the machine may have no repository
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True)
    tree = size_of(ROOT / name for name in listed.stdout.split("\0") if name)
    carried = size_of(folder.rglob("*"))
    print(f"{folder}: {carried / (1 << 20):.1f} MiB; with the working tree {(tree + carried) / (1 << 20):.1f} MiB of 60 MiB")
    sys.exit(1 if tree + carried > LIMIT else 0)


if __name__ == "__main__":
    main()
