#!/usr/bin/python3
"""The table of compilers and systems has the cells of tests/targets/systems, and each header is compiled in them."""

import importlib.util
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "targets" / "systems" / "systems.py"
SPEC = importlib.util.spec_from_file_location("systems", SCRIPT)
systems = importlib.util.module_from_spec(SPEC)
sys.modules["systems"] = systems
SPEC.loader.exec_module(systems)


def rows(text):
    part = text.split(systems.HEADING + "\n", 1)[1].split("\n## ", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| ")]


class Systems(unittest.TestCase):
    def test_table_has_every_cell(self):
        found = [row[:3] for row in rows((ROOT / "README.md").read_text(encoding="utf-8"))[1:-1]]
        self.assertEqual(found, [[each.compiler, each.library, each.system] for each in systems.CELLS])

    def test_table_has_only_results(self):
        for row in rows((ROOT / "README.md").read_text(encoding="utf-8"))[1:]:
            with self.subTest(row=row):
                self.assertEqual(len(row), 7)
                self.assertLessEqual(set(row[3:6]), {"compiles", "not run", "–"})
                self.assertRegex(row[6], r"^(hold( \(\w+\))?|compile and link|not run|–)$")
        self.assertEqual(row, ["MSVC", "Microsoft's", "Windows", *["not run"] * 4])

    def test_table_is_written_from_results(self):
        text = f"# a\n\n{systems.HEADING}\n\nText.\n\n| compiler | x |\n|---|---|\n| old | y |\n\nText.\n\n| other | table |\n"
        results = {"gcc-12": {"C++20": "compiles", "C++23": "compiles", "laws": "hold"}, "mingw": {"C++20": "compiles"}}
        written = systems.with_table(text, results)
        self.assertIn("| GCC 12 | libstdc++ 12 | x86-64 Linux | compiles | compiles | – | hold |\n", written)
        self.assertIn("| x86-64 Windows | compiles | not run | – | not run |\n", written)
        self.assertNotIn("| old |", written)
        self.assertTrue(written.endswith("| not run |\n\nText.\n\n| other | table |\n"))
        self.assertEqual(systems.with_table(written, results), written)
        self.assertEqual(systems.with_table(written, {}), written)  # cells without results keep their rows

    def test_every_header_without_an_sdk_is_compiled(self):
        all_headers = {path.relative_to(systems.HEADERS).as_posix() for path in systems.HEADERS.rglob("*.hpp")}
        linux, windows, wasi = (set(systems.headers_for(each)) for each in ("linux", "windows", "wasi"))
        left = {re.split(r"[/.]", each)[0] for each in all_headers - linux}
        self.assertEqual(left, systems.SDK)
        self.assertEqual({each.split("/")[0].removesuffix(".hpp") for each in linux - windows},
                         {"arena", "dma", "external", "host", "xrt"})
        self.assertIn("windows/pages.hpp", windows)
        self.assertIn("allot.hpp", wasi)
        self.assertEqual(windows - wasi, {"host/job_queue.hpp"})

    def test_missing_compilers_are_skipped_with_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(SCRIPT), folder, folder, "--headers", "zig-wasi"]
            done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 77)
        self.assertRegex(done.stdout, r"skipped: zig-wasi: \S+/ziglang/bin/python is not installed")

    def test_unknown_cells_are_refused(self):
        done = subprocess.run([sys.executable, str(SCRIPT), "build", "tools", "msvc"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "unknown cells: msvc; --list prints all\n"))


if __name__ == "__main__":
    unittest.main()
