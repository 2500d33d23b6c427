#!/usr/bin/python3
"""The headers use no extension of GCC or Clang outside one header, and Clang compiles them with the options of MSVC."""

import re
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "allot"
DEFINITIONS = HEADERS / "core" / "detail" / "compiler.hpp"
EXTENSION = re.compile(r"__builtin_\w+|\b__atomic_\w+|\b(?:gnu|clang)::\w+|__attribute__|\[\[no_unique_address\]\]|__int128|__typeof")
# Of a vendor's SDK, or of an operating system that has no MSVC.
OTHER = {"cuda", "dma", "gpu", "hip", "mpi", "opencl", "shmem", "vulkan", "xrt"}
OPTIONS = ["-fms-extensions", "-fms-compatibility", "-fms-compatibility-version=19.40", "-fgnuc-version=4.2.1"]
OPTIONS += ["-D__STRICT_ANSI__"]  # which libstdc++ expects of GCC


def code(path):
    """The text of a header without comments."""
    return re.sub(r"//.*", "", path.read_text(encoding="utf-8"))


class Msvc(unittest.TestCase):
    def test_extensions_are_in_one_header(self):
        for path in sorted(HEADERS.rglob("*.hpp")):
            if path != DEFINITIONS:
                with self.subTest(header=str(path.relative_to(HEADERS))):
                    self.assertEqual(EXTENSION.findall(code(path)), [], f"define a macro in {DEFINITIONS.name}")

    def test_search_finds_extensions(self):
        found = set(EXTENSION.findall(code(DEFINITIONS)))
        self.assertLessEqual({"__builtin_trap", "gnu::noinline", "__attribute__", "[[no_unique_address]]"}, found)

    def test_each_macro_has_a_definition_for_msvc(self):
        text = DEFINITIONS.read_text(encoding="utf-8")
        ours, theirs = text.split("#elif defined(_MSC_VER)")
        theirs = theirs.split("#endif\n\n// Marks")[0]
        names = re.compile(r"#define (ALLOT_\w+)")
        elsewhere = {"ALLOT_THREAD_POINTER", "ALLOT_LOAD_ACQUIRE", "ALLOT_STORE_RELEASE"}
        self.assertEqual(set(names.findall(ours)) - set(names.findall(theirs)) - elsewhere, {"ALLOT_NO_UNIQUE_ADDRESS"})

    def test_clang_compiles_the_headers_with_the_options_of_msvc(self):
        if not shutil.which("clang++"):
            self.skipTest("skipped: clang++ is not installed")
        names = [path.relative_to(HEADERS) for path in sorted(HEADERS.rglob("*.hpp"))]
        names = [name for name in names if name.parts[0].removesuffix(".hpp") not in OTHER]
        text = "".join(f"#include <allot/{name.as_posix()}>\n" for name in names)
        command = ["clang++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *OPTIONS, f"-I{ROOT}/include"]
        done = subprocess.run([*command, "-x", "c++", "-"], input=text, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
