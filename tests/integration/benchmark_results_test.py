#!/usr/bin/python3
"""benchmarks/results.py, which stores the tables of ./dev bench as JSON, and the results in docs/benchmarks.json."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = """load average before the run: 1.00

trace one: 5 operations

| kind | alignment | ns, least | to the first | share |
|---|--:|--:|--:|--:|
| `mine` | 8 | 1,234.50 | 1.00x | **50.0 %** |
| theirs; **not for 3 blocks** | 16 | failed | | 12.5 % |

| second kind | time |
|---|--:|
| a | 1.5 ms |
| b | 2 s |
skipped: nothing
another
| | whole numbers |
|:--|--:|
| c | -3 |
"""


class Results(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "new" / "results.json"

    def store(self, name, output):
        done = subprocess.run([sys.executable, "-B", ROOT / "benchmarks/results.py", self.file, name], input=output, check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout, output)
        return json.loads(self.file.read_text(encoding="utf-8"))["benchmarks"]

    def test_tables_become_numbers_and_units(self):
        tables = self.store("pool", OUTPUT)["pool"]["tables"]
        self.assertEqual(tables, [
            {"title": "trace one: 5 operations", "columns": ["kind", "alignment", "ns, least", "to the first", "share, %"],
             "rows": [["mine", 8, 1234.5, 1.0, 50.0], ["theirs; **not for 3 blocks**", 16, "failed", None, 12.5]]},
            {"title": "trace one: 5 operations", "columns": ["second kind", "time"], "rows": [["a", "1.5 ms"], ["b", "2 s"]]},
            {"title": "another", "columns": ["", "whole numbers"], "rows": [["c", -3]]}])

    def test_other_results_are_kept_and_a_skipped_benchmark_keeps_its_own(self):
        self.store("pool", OUTPUT)
        before = self.store("bump", OUTPUT.replace("trace one", "trace two"))
        self.assertEqual(sorted(before), ["bump", "pool"])
        self.assertEqual(self.store("bump", "skipped: needs two processors\n"), before)
        self.assertEqual(self.store("pool", "| a | b |\n|---|--:|\n| c | 1 |\n")["pool"]["tables"],
                         [{"title": "", "columns": ["a", "b"], "rows": [["c", 1]]}])

    def test_the_circumstances_are_stored(self):
        made = self.store("pool", OUTPUT)["pool"]
        self.assertRegex(made["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertRegex(made["version"], r"^\d+\.\d+\.\d+$")
        self.assertGreater(made["processors"], 0)
        self.assertTrue(made["processor"] and made["system"])

    def test_the_stored_results_are_tables_of_benchmarks_with_numbers(self):
        stored = json.loads((ROOT / "docs/benchmarks.json").read_text(encoding="utf-8"))["benchmarks"]
        names = re.search(r"names=\((instructions [^)]*)\)", (ROOT / "dev").read_text(encoding="utf-8"))[1].split()
        self.assertLessEqual(set(stored), set(names))
        self.assertGreaterEqual(len(stored), 10)
        for name, made in stored.items():
            for table in made["tables"]:
                self.assertTrue(table["rows"], (name, table))
                for row in table["rows"]:
                    self.assertEqual(len(row), len(table["columns"]), (name, table["title"], row))
            self.assertTrue(any(isinstance(cell, float) for table in made["tables"] for row in table["rows"] for cell in row))


if __name__ == "__main__":
    unittest.main()
