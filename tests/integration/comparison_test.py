#!/usr/bin/python3
"""docs/comparison.md has five tasks, each with a program of allot that is no longer than those of the other libraries.

A program of allot is a block fenced as ```cpp, which samples.py compiles. A program of another library is fenced as
```cpp title="NAME". Blank lines and lines with only a comment are not counted.
"""

import re
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "comparison.md"
PEERS = {
    "1. Frame scratch": ["Pigweed", "foonathan/memory"],
    "2. Packet pool": ["Pigweed"],
    "3. Containers": ["std::pmr", "Boost.Container"],
    "4. GPU buffers: Vulkan": ["Vulkan Memory Allocator"],
    "4. GPU buffers: CUDA": ["RMM"],
    "5. Static planning": ["MiniMalloc"],
}
PART = re.compile(r'^(##+) ([^\n]*)$|^```cpp(?: title="([^"]*)")?\n(.*?)^```$', re.S | re.M)


def code_lines(program):
    """The lines of a program without blank lines, comments and indentation."""
    lines = (re.sub(r"\s*//.*", "", line).strip() for line in program.splitlines())
    return [line for line in lines if line]


def statements(line):
    """The number of statements that start or end on a line. Semicolons in parentheses and in braces belong to one."""
    while (shorter := re.sub(r"\([^()]*\)|\{[^{}]*\}|\"[^\"]*\"", "", line)) != line:
        line = shorter
    return len([part for part in line.split(";") if part.strip()])


def tasks(text):
    """{task: [(library or None for allot, program), ...]} of a page."""
    found, chapter, heading = {}, "", ""
    for level, title, library, program in (match.groups() for match in PART.finditer(text)):
        if level:
            chapter = title if level == "##" else chapter
            heading = title if level == "##" else f"{chapter}: {title}"
        else:
            found.setdefault(heading, []).append((library, program))
    return found


def too_long(programs):
    """The libraries whose program is shorter than that of allot."""
    ours = max(len(code_lines(program)) for library, program in programs if library is None)
    return [library for library, program in programs if library is not None and len(code_lines(program)) < ours]


class Comparison(unittest.TestCase):
    def setUp(self):
        self.text = PAGE.read_text(encoding="utf-8")
        self.tasks = tasks(self.text)

    def test_each_task_has_the_programs_of_both(self):
        self.assertEqual(list(self.tasks), list(PEERS))
        for task, programs in self.tasks.items():
            with self.subTest(task=task):
                self.assertEqual([library for library, _ in programs], [None, *PEERS[task]])
                self.assertTrue(all(code_lines(program) for _, program in programs))

    def test_a_program_of_allot_is_no_longer(self):
        for task, programs in self.tasks.items():
            with self.subTest(task=task):
                self.assertEqual(too_long(programs), [])

    def test_lines_of_allot_are_not_crowded(self):
        for task, programs in self.tasks.items():
            for line in code_lines(programs[0][1]):
                with self.subTest(task=task, line=line):
                    self.assertLessEqual(statements(line), 1)
                    self.assertLessEqual(len(line), 120)

    def test_the_first_table_has_the_counted_lines(self):
        rows = re.findall(r"^\| \[[^\]]+\]\(#[^)]+\) \| (\d+) \| ([^|]+) \|$", self.text, re.M)
        self.assertEqual(len(rows), len(PEERS))
        for (ours, others), (task, programs) in zip(rows, self.tasks.items()):
            counted = [len(code_lines(program)) for _, program in programs]
            with self.subTest(task=task):
                self.assertEqual(int(ours), counted[0])
                expected = [f"{count} {library}" for count, library in zip(counted[1:], PEERS[task])]
                self.assertEqual(others, ", ".join(expected))

    def test_each_task_has_a_table_of_facts(self):
        for task in PEERS:
            part = task.split(": ")[-1]
            with self.subTest(task=task):
                body = re.split(rf"^##+ {re.escape(part)}$", self.text, flags=re.M)[1]
                body = re.split(r"^##", body, flags=re.M)[0]
                self.assertRegex(body, r"(?m)^\| \| allot \| ")

    def test_each_library_has_a_version_and_a_source(self):
        for library in {name for names in PEERS.values() for name in names}:
            with self.subTest(library=library):
                self.assertRegex(self.text, rf"(?m)^\| \[?{re.escape(library)}[^|]*\| [^|]*\d[^|]*\| `?[^|]+ \|$")

    def test_a_longer_program_is_detected(self):
        page = '## 1. Task\n```cpp\nint a;\n\n// comment\nint b;\n```\n```cpp title="Other"\nint c;\n```\n'
        self.assertEqual(tasks(page), {"1. Task": [(None, "int a;\n\n// comment\nint b;\n"), ("Other", "int c;\n")]})
        self.assertEqual(too_long(tasks(page)["1. Task"]), ["Other"])
        self.assertEqual(too_long([(None, "int a;"), ("Other", "int c;\n// two\n")]), [])

    def test_statements_on_a_line_are_counted(self):
        self.assertEqual(statements("int a; int b;"), 2)
        self.assertEqual(statements("for (int i = 0; i != 2; ++i) {"), 1)
        self.assertEqual(statements("struct packet { int length; char bytes[120]; };"), 1)


if __name__ == "__main__":
    unittest.main()
