#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Tests the malloc of allot: its functions, and Debian's programs with the library preloaded.

    check.py FOLDER      the folder of liballot_malloc.so, malloc_api_preloaded and malloc_api_linked
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILT = Path()


def run(*command, preload=True, **options):
    environment = {**os.environ, "LC_ALL": "C"}
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = str(BUILT / "liballot_malloc.so")
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=240, env=environment, **options)


class Functions(unittest.TestCase):
    def passes(self, program, preload):
        done = run(BUILT / program, preload=preload)
        self.assertEqual((done.returncode, done.stdout), (0, "0 failures\n"), done.stderr)
        self.assertRegex(done.stderr, r"^allot: \d+ bytes of \d+ arenas, \d+ in use")  # malloc_stats of this library

    def test_preloaded(self):
        self.passes("malloc_api_preloaded", True)

    def test_linked(self):
        self.passes("malloc_api_linked", False)

    def test_misuses(self):
        names = [f"{size}_twice{when}" for size in ("small", "medium") for when in ("", "_later", "_in_threads")]
        names += ["large_twice", "inside", "overwritten"]
        for name, words in {**dict.fromkeys(names, "not live"), "foreign": "did not allocate"}.items():
            done = run(BUILT / "malloc_api_preloaded", name)
            self.assertEqual(done.returncode, -6, name)
            self.assertRegex(done.stderr, f"^allot: misuse: a block that .*{words}", name)


class Programs(unittest.TestCase):
    """Each program has the same output as with the malloc of the C library."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def same(self, *command, **options):
        if not shutil.which(command[0]):
            print(f"skipped: {command[0]} is not installed", flush=True)
            self.skipTest(f"skipped: {command[0]} is not installed")
        plain = run(*command, preload=False, cwd=self.folder, **options)
        ours = run(*command, cwd=self.folder, **options)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual((ours.returncode, ours.stdout), (0, plain.stdout), ours.stderr)

    def lines(self, count):
        path = self.folder / "lines"
        path.write_text("".join(f"{i * 7919 % 100003} {i}\n" for i in range(count)))
        return path

    def source(self):
        (self.folder / "one.cpp").write_text("#include <map>\n#include <string>\nstd::map<std::string, int> all;\n"
                                             "int& of(const char* name) { return all[name]; }\n")

    def test_gcc(self):
        self.source()
        self.same("g++", "-O1", "-S", "-o", "-", "one.cpp")

    def test_clang(self):
        self.source()
        self.same("clang++", "-O1", "-S", "-o", "-", "one.cpp")

    def test_python(self):
        self.same("/usr/bin/python3", "-c", "import json, subprocess, threading\n"
                  "found = []\n"
                  "def work(n): found.append(len(json.dumps([str(i) * 9 for i in range(n)])))\n"
                  "threads = [threading.Thread(target=work, args=(3000,)) for i in range(8)]\n"
                  "[t.start() for t in threads]; [t.join() for t in threads]\n"
                  "print(found, subprocess.run(['echo', 'child'], capture_output=True).stdout)")

    def test_sort(self):
        self.same("sort", "--parallel=4", "-S", "1M", self.lines(60_000))

    def test_perl(self):
        self.same("perl", "-e", "my %h; $h{$_ % 5003} .= $_ for 1..50000; print join ',', map { length $h{$_} } sort keys %h")

    def test_sqlite(self):
        self.same("sqlite3", ":memory:", "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where "
                  "i < 20000) insert into t select i, 'text' || (i * 7919 % 10007) from n; create index x on t(b); "
                  "select count(distinct b), sum(a) from t;")

    def test_xz(self):
        self.same("sh", "-c", f"xz -T2 -1 --block-size=100000 -c {self.lines(40_000)} | xz -d -T2 | sha256sum")

    def test_git(self):
        self.same("git", "init", "-q", "repository")
        self.lines(3000)
        self.same("sh", "-c", "rm -rf one && mkdir one && cd one && git init -q && cp ../lines . && git add lines && "
                  "git -c user.name=n -c user.email=e commit -q -m one --date 2026-01-01T00:00:00 && git gc -q && git fsck && git log -p "
                  "--format=%s | sha256sum")

    def test_cmake(self):
        (self.folder / "script.cmake").write_text("foreach(i RANGE 2000)\nlist(APPEND l \"item ${i}\")\nendforeach()\n"
                                                  "list(SORT l)\nmessage(STATUS \"${l}\")\n")
        self.same("cmake", "-P", "script.cmake")


if __name__ == "__main__":
    BUILT = Path(sys.argv.pop(1)).resolve()
    unittest.main()
