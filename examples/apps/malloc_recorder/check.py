#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Tests the recorder: traces have exactly the calls of a program, also with threads, fork and a sudden end.

    check.py FOLDER      the folder of churn, libmalloc_recorder.so and recording_to_trace

The reader of traces is code of this test. It checks that each deallocated block is live.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = Path()
SIZES = range(10_007, 10_007 + 256 * 16, 16)  # those of churn


class Trace:
    """The calls of an ALTR1 file."""

    def __init__(self, path):
        self.bytes, self.at = Path(path).read_bytes(), 6
        assert self.bytes[:6] == b"ALTR1\n", path
        events, allocations = self.number(), self.number()
        self.sizes, self.aligns, self.live, self.calls = [], [], set(), []
        for _ in range(events):
            self.event()
        assert self.at == len(self.bytes) and len(self.sizes) == allocations

    def number(self):
        value = shift = 0
        while True:
            digit = self.bytes[self.at]
            self.at += 1
            value |= (digit & 127) << shift
            shift += 7
            if digit < 128:
                return value

    def allocate(self, size, align=16):
        self.live.add(len(self.sizes))
        self.sizes.append(size)
        self.aligns.append(align)

    def event(self):
        head = self.number()
        kind, value, newest = head & 3, head >> 2, len(self.sizes)
        if kind == 1:
            self.at += 1
            self.calls.append(("allocate", newest))
            self.allocate(value, 1 << self.bytes[self.at - 1])
        elif kind == 2:
            self.calls.append(("deallocate", newest - 1 - value))
            self.live.remove(newest - 1 - value)  # fails if it is not live
        elif kind == 3:
            self.calls.append(("resize", newest))
            age = self.number()
            self.live.remove(newest - 1 - age)
            self.allocate(value)
        else:
            self.calls.append(("allocate", newest))
            self.allocate(value)

    def counts(self):
        """Returns what churn prints: its allocations, deallocations, resizes and bytes."""
        own = [(call, self.sizes[block]) for call, block in self.calls if self.sizes[block] in SIZES]
        return [sum(call == each for call, _ in own) for each in ("allocate", "deallocate", "resize")] + [
            sum(size for call, size in own if call != "deallocate")]


class Recorder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def record(self, *arguments, exits_with=0, **options):
        done = subprocess.run([HERE / "record.py", *arguments], capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env={**os.environ, "ALLOT_RECORDER": str(BUILT), **options.pop("environment", {})}, **options)
        self.assertEqual(done.returncode, exits_with, done.stdout + done.stderr)
        self.assertFalse(list(self.folder.glob(".recording-*")), "the scratch folder is removed")
        return done

    def churn(self, *arguments, **options):
        """Returns the output of a recorded churn and what churn itself counted, by process."""
        done = self.record(str(BUILT / "churn"), *arguments, **options)
        lines = [line.split() for line in done.stdout.splitlines()]
        return done, {line[0]: [int(number) for number in line[1:]] for line in lines}

    def test_one_thread(self):
        done, counted = self.churn("1", "20000")
        self.assertEqual(Trace(self.folder / "churn.altr").counts(), counted["parent"])
        self.assertIn("by 1 thread of churn", done.stderr)

    def test_threads_that_free_the_blocks_of_each_other(self):
        done, counted = self.churn("8", "200000")
        self.assertEqual(Trace(self.folder / "churn.altr").counts(), counted["parent"])
        self.assertIn("by 8 threads of churn", done.stderr)
        self.assertNotRegex(done.stderr, "not in the trace|without a call of free")

    def test_alignments(self):
        self.churn("2", "20000")
        trace = Trace(self.folder / "churn.altr")
        aligned = sum(align == 64 and size in SIZES for size, align in zip(trace.sizes, trace.aligns))
        self.assertGreater(aligned, len(trace.sizes) // 40)
        self.assertLess(aligned, len(trace.sizes) // 10)

    def test_a_child_of_fork_starts_with_the_blocks_of_its_parent(self):
        done, counted = self.churn("4", "20000", "fork")
        parent = Trace(self.folder / "churn.altr")
        self.assertEqual(parent.counts(), counted["parent"])
        child, = (self.folder / "churn.altr.children").iterdir()
        child = Trace(child)
        inherited = int(re.search(r"(\d+) blocks of the parent", done.stderr)[1])
        counts = child.counts()
        own = [self_counts - others for self_counts, others in zip(
            counts, [sum(size in SIZES for size in child.sizes[:inherited]), 0, 0,
                     sum(size for size in child.sizes[:inherited] if size in SIZES)])]
        self.assertEqual(own, counted["child"])
        self.assertNotRegex(done.stderr, "not in the trace|without a call of free")

    def test_a_killed_process_keeps_its_events(self):
        done, counted = self.churn("4", "100000", "killed", exits_with=137)
        self.assertEqual(Trace(self.folder / "churn.altr").counts(), counted["parent"])
        self.assertIn("was ended by SIGKILL", done.stderr)

    def test_programs_that_were_not_rebuilt(self):
        (self.folder / "lines").write_text("".join(f"{i * 7919 % 1000}\n" for i in range(1000)))
        plain = subprocess.run(["sort", "lines"], capture_output=True, text=True, cwd=self.folder).stdout
        self.assertEqual(self.record("sort", "lines").stdout, plain)
        self.assertIn("./dev replay 'a trace.altr'\n", self.record("--out", "a trace.altr", "sort", "lines").stderr)
        self.assertGreater(len(Trace(self.folder / "sort.altr").sizes), 20)
        code = "import ctypes; libc = ctypes.CDLL(None); [libc.free(libc.calloc(3, 20021)) for i in range(100)]"
        self.record("--out", "python.altr", "/usr/bin/python3", "-c",
                    code.replace("libc.free", "free").replace("; [", "; libc.calloc.restype = ctypes.c_void_p; free = libc.free; "
                                                                 "free.argtypes = [ctypes.c_void_p]; ["))
        self.assertEqual(Trace(self.folder / "python.altr").sizes.count(60_063), 100)

    def test_every_function(self):
        code = """
import ctypes
libc = ctypes.CDLL(None)
size, pointer = ctypes.c_size_t, ctypes.c_void_p
def call(name, *arguments):
    function = getattr(libc, name)
    function.restype = pointer
    return pointer(function(*(each if isinstance(each, pointer) else size(each) for each in arguments)))
kept = [call("malloc", 21001), call("calloc", 3, 7001), call("memalign", 128, 21005), call("aligned_alloc", 256, 21504),
        call("valloc", 21007), call("pvalloc", 20481), call("reallocarray", pointer(), 3, 7003)]
other = pointer()
assert libc.posix_memalign(ctypes.byref(other), size(512), size(21011)) == 0
assert libc.posix_memalign(ctypes.byref(pointer()), size(3), size(21011)) != 0
assert call("malloc", 1 << 62).value is None
assert call("reallocarray", kept[0], 1 << 40, 1 << 40).value is None
kept[0] = call("reallocarray", kept[0], 3, 7011)
assert call("realloc", kept[0], 1 << 62).value is None
assert libc.malloc_usable_size(kept[0]) >= 21033
for each in kept + [other]:
    libc.free(each)
"""
        done = self.record("--out", "python.altr", "/usr/bin/python3", "-c", code)
        trace = Trace(self.folder / "python.altr")
        found = {size: align for size, align in zip(trace.sizes, trace.aligns) if size in range(21000, 24577)}
        self.assertEqual(found, {21001: 16, 21003: 16, 21005: 128, 21504: 256, 21007: 4096, 24576: 4096, 21009: 16, 21011: 512,
                                 21033: 16})
        self.assertFalse([block for block in trace.live if trace.sizes[block] in found], "all are freed")
        self.assertIn("    3 allocations failed", done.stderr)
        self.assertNotIn("damaged", done.stderr)

    def test_replay_takes_the_trace(self):
        replay = BUILT / "../../../benchmarks/replay"
        if not replay.exists():
            self.skipTest("skipped: replay is not built")
        self.churn("2", "2000")
        done = subprocess.run([replay, "--allocator", "allot_in_band", self.folder / "churn.altr"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Advice for churn:", done.stdout)

    def test_every_process_has_a_trace(self):
        done = self.record("--out", "shell.altr", "/bin/sh", "-c", "sort /dev/null; ls / >/dev/null; exit 3", exits_with=3)
        names = {path.name.split("-", 2)[2] for path in (self.folder / "shell.altr.children").iterdir()}
        self.assertLessEqual({"sort.altr", "ls.altr"}, names)
        for path in (self.folder / "shell.altr.children").iterdir():
            Trace(path)
        self.assertIn("exited with 3", done.stderr)

    def test_an_executed_program_replaces_the_first_one(self):
        self.record("--out", "shell.altr", "/bin/sh", "-c", f"exec {BUILT}/churn 1 1000")
        self.assertGreater(sum(size in SIZES for size in Trace(self.folder / "shell.altr").sizes), 100)

    def test_input_output_and_environment_are_those_of_the_program(self):
        done = self.record("--out", "cat.altr", "/bin/sh", "-c", "cat; echo $HOME", input="text\n")
        self.assertEqual(done.stdout, f"text\n{os.environ['HOME']}\n")

    def test_programs_that_cannot_be_recorded(self):
        program = self.folder / "program"
        elf = bytearray(Path("/bin/true").read_bytes())
        for name, offset, value, reason in [("is for another processor", 18, b"\xb7\x00", "is for another processor"),
                                            ("no program headers", 56, b"\0\0", "is a static program")]:
            changed = elf.copy()
            changed[offset:offset + len(value)] = value
            program.write_bytes(changed)
            program.chmod(0o755)
            with self.subTest(name):
                self.assertIn(reason, self.record("./program", exits_with=2).stderr)
        program.write_text("neither")
        self.assertIn("is neither a program for Linux nor a script", self.record("./program", exits_with=2).stderr)
        self.assertIn("no such program", self.record("nowhere", exits_with=2).stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["program"])


class Converter(unittest.TestCase):
    """recording_to_trace with damaged recordings: it keeps what it can read."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        subprocess.run([BUILT / "churn", "3", "60000"], check=True, capture_output=True, env={
            **os.environ, "LD_PRELOAD": str(BUILT / "libmalloc_recorder.so"), "ALLOT_RECORD": str(cls.folder / "r")})
        cls.recording, = cls.folder.glob("r.*")

    def convert(self, content, exits_with):
        path, trace = self.folder / "changed", self.folder / "trace.altr"
        path.write_bytes(content)
        trace.unlink(missing_ok=True)
        done = subprocess.run([BUILT / "recording_to_trace", path, trace], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, exits_with, done.stdout + done.stderr)
        return done, Trace(trace) if trace.exists() else None

    def test_refused(self):
        whole = self.recording.read_bytes()
        for content, reason in [(b"", "byte 0: the header is cut off"), (whole[:1000], "byte 0: the header is cut off"),
                                (b"\0" * 65536, "byte 0: not a recording"),
                                (whole[:8] + b"\7" + whole[9:], "byte 8: a recording of version 7; this converter reads version 1")]:
            done, trace = self.convert(content, 2)
            self.assertIn(reason, done.stderr)
            self.assertIsNone(trace)

    def test_a_child_without_the_recording_of_its_parent(self):
        whole = bytearray(self.recording.read_bytes())
        whole[24] = 1  # a child of fork
        for parent in b"", b"nowhere", b"../changed", b"changed":
            whole[72:72 + 20] = parent.ljust(20, b"\0")
            done, trace = self.convert(whole, 1)
            self.assertIn("byte 72 names no whole recording of a parent process", done.stdout)
            self.assertGreater(len(trace.sizes), 1000)

    def test_cut_off(self):
        whole = self.recording.read_bytes()
        _, all_of_it = self.convert(whole, 0)
        done, trace = self.convert(whole[:-20_000], 1)
        self.assertIn(f"byte {len(whole) - 65536} is a unit that is cut off", done.stdout)
        self.assertGreater(len(trace.sizes), 1000)
        self.assertLess(len(trace.sizes), len(all_of_it.sizes))

    def test_invalid_events(self):
        whole = bytearray(self.recording.read_bytes())
        first = 65536 + 48  # the first event of a window
        whole[first:first + 8] = b"\xfc" + b"\xff" * 7
        done, trace = self.convert(whole, 1)
        self.assertIn(f"byte {first} is not an event", done.stdout)
        self.assertGreater(len(trace.sizes), 1000)
        whole[131072] ^= 1
        self.convert(whole, 1)

    def test_any_byte_may_be_wrong(self):
        whole = self.recording.read_bytes()
        for seed in range(200):
            changed = bytearray(whole)
            for i in range(20):
                position = 65536 + (seed * 7919 + i * 104729 + i * i * 31) % (len(whole) - 65536)
                changed[position] ^= 1 << (seed + i) % 8
            path = self.folder / "changed"
            path.write_bytes(changed)
            done = subprocess.run([BUILT / "recording_to_trace", path, self.folder / "trace.altr"], capture_output=True, timeout=60)
            self.assertIn(done.returncode, (0, 1))
            if seed % 20 == 0:
                Trace(self.folder / "trace.altr")


if __name__ == "__main__":
    BUILT = Path(sys.argv.pop(1)).resolve()
    unittest.main()
