#!/usr/bin/python3
"""The printers of bindings/debuggers show what the program itself says through the public interface.

program.cpp is compiled by each compiler, with and without optimization, and stopped in each debugger. The program
prints the expected blocks, holes and texts: see the comment there. Environment: ALLOT_KEEP is a folder for the
programs and logs.
"""

import glob
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PRINTERS = ROOT / "bindings" / "debuggers"
BUILDS = [(compiler, level) for compiler in ("g++", "clang++") for level in ("-O0", "-O2")]
STOPS = 4  # calls of stop_here, each with other bytes in the uninitialized objects
SKIPPED = []

sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # for the debuggers
sys.path.insert(0, str(PRINTERS))
allot_views = importlib.import_module("allot_views")


def run(command, seconds=120, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False,
                          encoding="utf-8", errors="replace", **options)
    return done.returncode, done.stdout


def lldb_environment():
    """Debian's lldb 14 searches its module in a wrong folder, and the standard library beside the first python3."""
    environment = dict(os.environ, PATH="/usr/bin:" + os.environ["PATH"])
    version = re.search(r"version (\d+)", run(["lldb", "--version"])[1])
    modules = glob.glob("/usr/lib/llvm-%s/lib/python3.*/*-packages/lldb/embedded_interpreter.py" % version.group(1))
    environment["PYTHONPATH"] = ":".join(str(Path(module).parents[1]) for module in modules)
    return environment


def expectations(text):
    """What the program prints: {name: {kind: [values]}}"""
    expected = {}
    for line in text.splitlines():
        found = re.match(r"(\w+) (block|live|hole|waiting|region|says|part|text) (.*)", line)
        if found:
            expected.setdefault(found.group(1), {}).setdefault(found.group(2), []).append(found.group(3))
    return expected


class Program:
    """A build of program.cpp and what it expects."""

    def __init__(self, folder, compiler, level):
        self.path = folder / ("program_%s%s" % (compiler.replace("+", "p"), level))
        command = [compiler, "-std=c++20", "-g", level, "-I", str(ROOT / "include"), str(HERE / "program.cpp"), "-o"]
        status, self.output = run(command + [str(self.path)], 600)
        self.built = status == 0
        status, text = run([str(self.path)]) if self.built else (0, "")
        assert status == 0, text
        self.names = [name for name in expectations(text) if name != "refusal"]

    def output_of(self, debugger):
        """The file for what the program prints in a debugger, which prints messages of its own at any time."""
        return self.path.with_name("%s.%s.txt" % (self.path.name, debugger))


def sections(text, names):
    """What follows the line `== NAME` of each name."""
    parts = re.split(r"^(?:\(lldb\) script print\(.*\)\n)?== (\w+)$", text, flags=re.M)
    return {name: body for name, body in zip(parts[1::2], parts[2::2]) if name in names}


def garbage_names():
    """The uninitialized objects of program.cpp."""
    return re.findall(r"^GARBAGE\((\w+)\)", (HERE / "program.cpp").read_text(encoding="utf-8"), re.M)


def answer(text):
    """The lines of an answer without the commands and without complaints of LLDB about debug information."""
    return [line for line in text.splitlines()
            if line.strip() and not re.match(r"\(lldb\)|error: program_\S+ 0x\w+: DW_TAG", line)]


def gdb_session(program, commands, stops):
    script = ["set pagination off", "set print elements 0", "set print pretty on", "break stop_here", "run"]
    for stop in range(stops):
        script += ["echo == stop_%d\\n" % stop] + commands[stop] + ["continue"]
    arguments = ["gdb", "-nx", "-q", "--batch", "-iex", "add-auto-load-safe-path " + str(program.path.parent)]
    for each in script:
        arguments += ["-ex", each]
    return run(arguments + ["--args", str(program.path), str(program.output_of("gdb"))])


def lldb_session(program, commands, stops):
    script = ["settings set target.disable-aslr false", "command script import " + str(PRINTERS / "allot_lldb.py"), "break set -n stop_here", "run"]
    for stop in range(stops):
        script += ["script print('== stop_%d')" % stop] + commands[stop] + ["continue"]
    arguments = ["lldb", "-x", "--batch"]
    for each in script:
        arguments += ["-o", each]
    return run(arguments + ["--", str(program.path), str(program.output_of("lldb"))], env=lldb_environment())


class Shown(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(os.environ.get("ALLOT_KEEP", cls.temporary.name))
        cls.programs = []
        started = []
        for compiler, level in BUILDS:
            if shutil.which(compiler):
                started.append((compiler, level))
            else:
                SKIPPED.append("%s is not installed" % compiler)
        with ThreadPoolExecutor(2) as workers:
            cls.programs = list(workers.map(lambda build: Program(cls.folder, *build), started))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    # ── comparison ──

    def check_pieces(self, name, expected, lines):
        """Every block and hole that the program expects is shown, and no other."""
        shown = {}
        for line in lines:
            found = re.match(r"\s+(\w+) \d+ ?[:=] \"?(\d+) bytes? at (?:offset )?(?:[\w ]+ \+ )?(0x[0-9a-f]+|\d+)"
                             r"(?:, call (\d+))?", line)
            if found:
                kind, size, at, call = found.groups()
                shown.setdefault(kind, set()).add((int(at, 0), int(size), int(call or 0)))
        for kind, key in (("block", "block"), ("live", "block"), ("hole", "hole"), ("waiting", "waiting"),
                          ("region", "region")):
            if kind not in expected:
                continue
            numbers = [list(map(int, each.split())) for each in expected[kind]]
            want = {(at, size, call) for at, size, call in ((each + [0])[:3] for each in numbers)}
            self.assertEqual(shown.get(key, set()), want, "%s: %s" % (name, kind))

    def check_texts(self, name, expected, lines):
        for text in expected.get("says", []):
            for word in split_words(text):
                self.assertIn(word, lines[0], "%s says %s" % (name, text))
        for text in expected.get("part", []):
            child, rest = re.match(r"((?:row|buffer|block|tag) \d+|\w+) (.*)", text).groups()
            line = next((each for each in lines if re.match(r"\s+%s ?[:=]" % child, each)), None)
            self.assertIsNotNone(line, "%s has no child %s in %s" % (name, child, lines))
            for word in split_words(rest):
                self.assertIn(word, line, "%s part %s" % (name, text))

    def check_printed(self, lines, printed):
        """`print` and `target variable` show the summary and the children of the command `allot`."""
        if "max-value-size" in printed[0]:
            self.assertIn("requires 100", printed[0])  # bump_down has 100,003 bytes
            return
        self.assertIn(lines[0], printed[0])
        children = [line.strip().split(": ", 1) for line in lines[1:] if re.match(r"  \w", line)]
        shown = [line for line in printed[1:] if re.match(r"  \w", line)]
        self.assertEqual(len(children), len(shown), printed)
        for (name, text), line in zip(children, shown):
            self.assertRegex(line, r"^  %s = " % re.escape(name))
            if '"' not in text:
                self.assertIn(text.split(" | ")[0], line)

    def check_session(self, program, debugger, status, text):
        (self.folder / (program.path.name + ".log")).write_text(text, encoding="utf-8")
        self.assertEqual(status, 0, text[-2000:])
        self.assertNotIn("Traceback", text)
        expected = expectations(program.output_of(debugger).read_text(encoding="utf-8"))
        self.assertGreater(len(expected), 40, text[:2000])
        shown = sections(text, expected)
        for name, each in expected.items():
            if name in ("refusal",):
                continue
            with self.subTest(name=name):
                self.assertIn(name, shown, "nothing is shown")
                lines = answer(shown[name])
                self.assertTrue(lines)
                self.check_pieces(name, each, lines)
                self.check_texts(name, each, lines)
                self.check_printed(lines, answer(text.split("== print_%s\n" % name)[1].split("\n== ")[0]))
        self.assertEqual(expected["refusal"]["text"], list(allot_views.REFUSALS.values()))
        for stop in range(STOPS):  # uninitialized objects
            part = text.split("== stop_%d\n" % stop)[1].split("== stop_%d\n" % (stop + 1))[0]
            for name in garbage_names():
                body = sections(part, ["garbage_" + name]).get("garbage_" + name)
                self.assertTrue(body and body.strip(), "garbage_%s: nothing is shown\n%s" % (name, part[-500:]))

    def sessions(self, debugger, session):
        if not shutil.which(debugger):
            SKIPPED.append("%s is not installed" % debugger)
            self.skipTest(SKIPPED[-1])
        mark = "echo == %s\\n" if debugger == "gdb" else "script print('== %s')"
        show = "print %s" if debugger == "gdb" else "target variable %s"
        jobs = []
        for program in self.programs:
            with self.subTest(program=program.path.name):
                self.assertTrue(program.built, program.output)
                commands = []
                for stop in range(STOPS):
                    names = (program.names if stop == 0 else []) + ["garbage_" + each for each in garbage_names()]
                    commands.append([line for name in names for line in (mark % name, "allot " + name)])
                    commands[-1] += [line for name in names for line in (mark % ("print_" + name), show % name)]
                jobs.append((program, commands))
        with ThreadPoolExecutor(2) as workers:
            answers = list(workers.map(lambda job: session(*job, STOPS), jobs))
        for (program, _), (status, text) in zip(jobs, answers):
            with self.subTest(program=program.path.name):
                if re.search(r"ptrace: Operation not permitted|packet returned an error", text):
                    SKIPPED.append("%s may not trace programs on this machine" % debugger)
                    self.skipTest(SKIPPED[-1])
                self.check_session(program, debugger, status, text)

    def test_gdb_shows_what_the_program_says(self):
        self.sessions("gdb", gdb_session)

    def test_an_installed_header_loads_the_printers(self):
        """The header finds the printers beside itself, in the layout of an installation."""
        compiler = next((each for each, _ in BUILDS if shutil.which(each)), None)
        if not shutil.which("gdb") or not compiler:
            self.skipTest("gdb or the compiler is not installed")
        prefix = Path(self.temporary.name) / "prefix"
        shutil.copytree(ROOT / "include", prefix / "include")
        shutil.copytree(PRINTERS, prefix / "share" / "allot" / "debuggers")
        source, program = prefix / "main.cpp", prefix / "program"
        source.write_text("#include <allot/core/layout.hpp>\n#include <allot/inspect/gdb_printers.hpp>\n"
                          "allot::layout wanted{77, 32};\nint main() { return wanted.size == 0; }\n", encoding="utf-8")
        status, text = run([compiler, "-std=c++20", "-g", "-I", str(prefix / "include"), str(source), "-o", str(program)])
        self.assertEqual(status, 0, text)
        for trusted, expected in ((True, "$1 = 77 bytes, align 32"), (False, "$1 = {size = 77, align = 32}")):
            allow = ["-iex", "add-auto-load-safe-path %s" % prefix] if trusted else []
            text = run(["gdb", "-nx", "-q", "--batch"] + allow + ["-ex", "print wanted", str(program)])[1]
            self.assertIn(expected, text)
        shutil.rmtree(prefix / "share")
        text = run(["gdb", "-nx", "-q", "--batch"] + ["-iex", "add-auto-load-safe-path %s" % prefix, str(program)])[1]
        self.assertIn("allot: the printers are not loaded", text)

    def test_natvis_names_members_that_exist(self):
        ElementTree.parse(PRINTERS / "allot.natvis")
        if not shutil.which("gdb"):
            self.skipTest("gdb is not installed")
        for program in self.programs:
            with self.subTest(program=program.path.name):
                status, text = run(["gdb", "-nx", "-q", "--batch", "-ex",
                                    "python ALLOT_NATVIS = %r" % str(PRINTERS / "allot.natvis"),
                                    "-x", str(HERE / "natvis_check.py"), str(program.path)])
                self.assertEqual(status, 0, text)
                self.assertRegex(text, r"natvis: \d{2,} expressions checked")
                self.assertNotRegex(text, r"natvis: (no type|.* has no member)|Error")

    def test_lldb_shows_what_the_program_says(self):
        self.sessions("lldb", lldb_session)


def split_words(text):
    """Numbers, addresses and words in quotes of an expectation, which all must appear."""
    return re.findall(r"\([^)]*\)|\[[^)\]]*\)|-?[\w.+]+(?:, -?[\w.]+)+|[^\s]+", text)


def tearDownModule():
    for reason in sorted(set(SKIPPED)):
        print("skipped: " + reason)


if __name__ == "__main__":
    unittest.main()
