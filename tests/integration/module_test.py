#!/usr/bin/python3
"""The module exports the public names of the headers, and write.py notices when it does not. `./dev module --test`
compiles the module and runs tests that import it."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "build" / "tools" / "bin" / "python"  # ./dev installs libclang there
PYTHON = str(TOOLS if TOOLS.exists() else sys.executable)
MODULE = (ROOT / "bindings" / "module" / "allot.cppm").read_text(encoding="utf-8")
PUBLIC = """
import sys
sys.path.insert(0, sys.argv[1])
import names
for name, place in names.public_names().items(): print(name, place)
"""


def has_libclang():
    if subprocess.run([PYTHON, "-c", "import clang"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
        return True
    print("skipped: the names of the module are not compared: libclang for Python is not installed (PyPI: libclang)")
    return False


@unittest.skipUnless(has_libclang(), "no libclang")
class Names(unittest.TestCase):
    def check(self, root):
        return subprocess.run([PYTHON, root / "bindings" / "module" / "write.py", "--check"], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_module_is_that_of_the_headers(self):
        done = self.check(ROOT)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_missing_and_left_names_are_reported(self):
        with tempfile.TemporaryDirectory() as scratch:
            copy = pathlib.Path(scratch)
            for folder in ("include", "bindings/module", "bindings/single_header", "docs/site"):
                shutil.copytree(ROOT / folder, copy / folder)
            header = copy / "include" / "allot" / "core" / "layout.hpp"
            text = header.read_text(encoding="utf-8")
            header.write_text(text.replace("layout_of{", "layout_that_is_new{"), encoding="utf-8")
            done = self.check(copy)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("+using allot::layout_that_is_new;", done.stdout)
        self.assertIn("-using allot::layout_of;", done.stdout)

    def test_every_documented_name_of_a_namespace_is_exported(self):
        """The names of the reference, whose place is found by another walk (docs/site/names.py)."""
        done = subprocess.run([PYTHON, "-c", PUBLIC, ROOT / "docs" / "site"], check=True, text=True,
                              stdout=subprocess.PIPE)
        exported = {f"allot::{name}" for name in re.findall(r"using allot::(.+);", MODULE)}
        namespaces = {"allot"} | {name.rpartition("::")[0] for name in exported}
        without = re.compile(r"allot/((cuda|gpu|hip|mpi|opencl|shmem|vulkan)/|arena/hardening|compose/recorded|"
                             r"adapt/boost_)")
        places = dict(line.rpartition(" ")[::2] for line in done.stdout.splitlines() if " allot/" in line)
        names = {name: place for name, place in places.items() if name.rpartition("::")[0] in namespaces and
                 name not in namespaces and not without.match(place)}
        self.assertGreater(len(names), 500)
        self.assertEqual({name: place for name, place in names.items() if name not in exported}, {})


class Headers(unittest.TestCase):
    def test_module_includes_every_header_that_needs_nothing(self):
        """Directly, or through another header."""
        reached, waiting = set(), re.findall(r"^#include <allot/(.+)>", MODULE, re.M)
        while waiting:
            path = waiting.pop()
            if path not in reached:
                reached.add(path)
                text = (ROOT / "include" / "allot" / path).read_text(encoding="utf-8")
                waiting += re.findall(r"^#include <allot/(.+)>", text, re.M)
        left_out = re.compile(r"(cuda|gpu|hip|mpi|opencl|shmem|vulkan)[/.]|arena/hardening|compose/recorded|"
                              r"adapt/boost_|inspect/gdb_printers|(\w+/)?detail/|\w+/detail/")
        for path in (ROOT / "include" / "allot").rglob("*.hpp"):
            name = path.relative_to(ROOT / "include" / "allot").as_posix()
            with self.subTest(header=name):
                if not left_out.match(name):
                    self.assertIn(name, reached)
        foreign = re.compile(r"(cuda|hip|mpi|opencl|shmem|vulkan)[/.]|arena/hardening")
        self.assertFalse([name for name in reached if foreign.match(name)])


if __name__ == "__main__":
    unittest.main()
