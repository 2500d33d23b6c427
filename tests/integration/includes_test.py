#!/usr/bin/python3
"""The headers include what docs/layers.md allows, without circles, and no header in a folder includes an umbrella. The
public headers that need Boost are those that docs/layers.md names."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "allot"
SDK = re.compile(r"(CL|cuda|hip|nvtx3|vulkan)/|(cuda\w+|mpi|shmem)\.h$")


def allowed():
    """The table of docs/layers.md: a set of folders for each folder."""
    table = {}
    for line in (ROOT / "docs" / "layers.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`\w+`", cells[0]):
            table[cells[0].strip("`")] = set(re.findall(r"`(\w+)`", cells[2]))
    return table


def includes():
    """(path, included path) of every include of one header in another, relative to include/allot."""
    for path in sorted(HEADERS.rglob("*.hpp")):
        for included in re.findall(r"^#include <allot/([^>]+)>", path.read_text(encoding="utf-8"), re.M):
            yield path.relative_to(HEADERS), Path(included)


def needed():
    """The headers of other projects that each header includes, directly or through headers of allot."""
    direct = {path.relative_to(HEADERS): path.read_text(encoding="utf-8") for path in HEADERS.rglob("*.hpp")}
    closure = {}

    def of(path):
        if path not in closure:
            closure[path] = set(re.findall(r"^ *# *include *[<\"]((?!allot/)[^>\"]+)", direct[path], re.M))
            for included in re.findall(r"^#include <allot/([^>]+)>", direct[path], re.M):
                closure[path] |= of(Path(included))
        return closure[path]

    return {path: of(path) for path in direct}


class Includes(unittest.TestCase):
    def test_table_lists_every_folder(self):
        self.assertEqual(set(allowed()), {path.name for path in HEADERS.iterdir() if path.is_dir()})

    def test_table_has_no_circle(self):
        table, done = allowed(), set()
        while len(done) != len(table):
            ready = {folder for folder, needs in table.items() if folder not in done and needs <= done}
            self.assertTrue(ready, f"these folders need each other: {set(table) - done}")
            done |= ready

    def test_headers_keep_to_the_table(self):
        table = allowed()
        for path, included in includes():
            if len(path.parts) == 1:  # an umbrella
                continue
            with self.subTest(header=str(path), included=str(included)):
                self.assertGreater(len(included.parts), 1, "a header in a folder includes an umbrella")
                self.assertIn(included.parts[0], table[path.parts[0]] | {path.parts[0]})

    def test_table_allows_nothing_unused(self):
        used = {(path.parts[0], included.parts[0]) for path, included in includes() if len(path.parts) > 1}
        for folder, needs in allowed().items():
            for need in needs:
                with self.subTest(folder=folder, need=need):
                    self.assertIn((folder, need), used)

    def test_a_missing_boost_is_named(self):
        compiler = shutil.which("arm-none-eabi-g++")  # does not look for headers where those of Boost are installed
        if not compiler:
            print("skipped: the messages about a missing Boost are not tested: no arm-none-eabi-g++")
            return
        for header, library in {"arena/hardening": "Intrusive", "compose/recorded": "Intrusive",
                                "adapt/boost_allocator": "Container", "adapt/boost_memory_resource": "Container"}.items():
            done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT}/include", "-x", "c++", "-"], text=True,
                                  input=f"#include <allot/{header}.hpp>\n", stderr=subprocess.PIPE, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"allot: <allot/{header}.hpp> needs headers of Boost.{library}; in CMake, link allot::boost", done.stderr)

    def test_an_older_standard_is_refused_at_once(self):
        for header in sorted(path.stem for path in HEADERS.glob("*.hpp")):
            with self.subTest(header=header):
                done = subprocess.run(["g++", "-std=c++17", "-fsyntax-only", f"-I{ROOT}/include", "-x", "c++", "-"], text=True,
                                      input=f"#include <allot/{header}.hpp>\n", stderr=subprocess.PIPE, check=False)
                self.assertIn("allot needs C++20: compile with -std=c++20", done.stderr)
                self.assertEqual(len(re.findall(r" error: ", done.stderr)), 2)  # the sentence, and the end

    def test_first_line_is_the_license(self):
        for path in HEADERS.rglob("*.hpp"):
            with self.subTest(header=str(path)):
                self.assertTrue(path.read_text(encoding="utf-8").startswith("// SPDX-License-Identifier: BSL-1.0\n// "))

    def test_every_include_exists(self):
        for path, included in includes():
            with self.subTest(header=str(path)):
                self.assertTrue((HEADERS / included).exists(), f"{included} does not exist")

    def test_comments_name_headers_that_exist(self):
        """A renamed header keeps no old name in the comment of another one."""
        known = {"/" + str(path.relative_to(HEADERS.parent)) for path in HEADERS.rglob("*.hpp")}
        for path in sorted(HEADERS.rglob("*.hpp")):
            comments = re.findall(r"//(.*)$", path.read_text(encoding="utf-8"), re.M)
            for name in re.findall(r"(?<![\w/])(?!boost/)[a-z_0-9]+(?:/[a-z_0-9]+)*\.hpp\b", "\n".join(comments)):
                with self.subTest(header=str(path), name=name):
                    self.assertTrue(any(each.endswith("/" + name) for each in known), "no header of allot has this name")

    def test_documented_headers_need_boost(self):
        found = {str(path) for path, names in needed().items() if any(name.startswith("boost/") for name in names)}
        line = re.search(r"^\| Boost \|(.*)\|", (ROOT / "docs" / "layers.md").read_text(encoding="utf-8"), re.M)
        self.assertEqual({name for name in found if "detail/" not in name}, set(re.findall(r"`allot/([^`]+)`", line[1])))

    def test_other_headers_compile_without_boost(self):
        """One program includes each header that needs neither Boost nor the SDK of a vendor. No file of Boost is found."""
        names = needed()
        boost = {name for includes in names.values() for name in includes if name.startswith("boost/")}
        chosen = [path for path, includes in sorted(names.items()) if not includes & boost
                  and not any(SDK.match(name) for name in includes)]
        self.assertIn(Path("allot.hpp"), chosen)
        self.assertIn(Path("tensor.hpp"), chosen)
        self.assertIn(Path("plan.hpp"), chosen)
        with tempfile.TemporaryDirectory() as folder:
            for name in boost:
                missing = Path(folder, name)
                missing.parent.mkdir(parents=True, exist_ok=True)
                missing.write_text("#error a file of Boost is included\n", encoding="utf-8")
            text = "".join(f"#include <allot/{path}>\n" for path in chosen)
            subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-I", folder, "-I", ROOT / "include", "-x", "c++", "-"],
                           input=text, text=True, check=True)

    def test_detail_is_private(self):
        """Headers in detail/ declare their names in a namespace detail."""
        for path in sorted(HEADERS.rglob("detail/*.hpp")):
            with self.subTest(header=str(path)):
                self.assertRegex(path.read_text(encoding="utf-8"), r"namespace detail \{")


if __name__ == "__main__":
    unittest.main()
