#!/usr/bin/python3
"""Tests examples/apps/malloc_recorder/convert.py: snapshots of PyTorch, files of heaptrack and logs of RMM become traces.

The snapshots have the documented format. A file of heaptrack is recorded if heaptrack is installed.
"""

import contextlib
import gzip
import io
import pickle
import pickletools
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/apps/malloc_recorder"))
import convert  # noqa: E402
from check import Trace  # noqa: E402

CONVERT = convert.__file__


def event(action, address, size):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": 17, "frames": [
        {"filename": "model.py", "line": 3, "name": "forward"}], "compile_context": "N/A", "user_metadata": ""}


def block(address, size, state, asked=None):
    return {"address": address, "size": size, "requested_size": asked or size, "state": state, "frames": []}


def segment(device, address, blocks):
    return {"device": device, "address": address, "total_size": sum(each["size"] for each in blocks), "stream": 0,
            "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "blocks": blocks, "frames": []}


def snapshot():
    """Two blocks are live before the history: 4096 is freed in it, and 5632 is live at its end."""
    return {"segments": [segment(0, 4096, [block(4096, 512, "inactive"), block(4608, 1024, "active_allocated", 700),
                                           block(5632, 512, "active_pending_free", 400), block(6144, 2048, "inactive")])],
            "device_traces": [[event("segment_alloc", 4096, 4096), event("alloc", 4608, 900), event("free_requested", 4096, 500),
                               event("free_completed", 4096, 500), event("free_requested", 4608, 900),
                               event("oom", 0, 1 << 40), event("free_completed", 4608, 900), event("alloc", 4608, 700),
                               event("free_requested", 5632, 400), event("snapshot", 0, 0)]],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0},
            "external_annotations": []}


EXPECTED = [("allocate", 0), ("allocate", 1), ("allocate", 2), ("deallocate", 0), ("deallocate", 2), ("allocate", 3)]


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, content):
        """Returns what the converter reads, or the reason for which it reads nothing."""
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                return convert.read(self.file("record", content))
            except convert.Refused as refused:
                return str(refused)

    def trace(self, content, number=0):
        self.read(content).traces[number].write(self.folder / "trace")
        return Trace(self.folder / "trace")

    def refused(self, content, reason):
        read = self.read(content)
        self.assertIn(reason, read if isinstance(read, str) else str(read.error))
        return read

    def run_it(self, *arguments, exits_with=0):
        done = subprocess.run([CONVERT, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=100)
        self.assertEqual(done.returncode, exits_with, done.stdout + done.stderr)
        return done


class PyTorch(Records):
    def test_history_and_blocks_before_it(self):
        for protocol in range(2, 6):
            for content in (pickle.dumps(snapshot(), protocol), pickletools.optimize(pickle.dumps(snapshot(), protocol))):
                trace = self.trace(content)
                self.assertEqual(trace.calls, EXPECTED)
                self.assertEqual(trace.sizes, [500, 400, 900, 700])
                self.assertEqual(set(trace.aligns), {512})
                self.assertIsNone(self.read(content).error)

    def test_compressed(self):
        self.assertEqual(self.trace(gzip.compress(pickle.dumps(snapshot()))).calls, EXPECTED)

    def test_a_trace_per_device(self):
        value = snapshot()
        value["device_traces"] += [[], [event("alloc", 512, 7)]]
        self.file("two.pickle", pickle.dumps(value))
        self.assertEqual(self.run_it("two.pickle").stdout, "two.pickle.0.altr\ntwo.pickle.2.altr\n")
        self.assertEqual(Trace(self.folder / "two.pickle.0.altr").calls, EXPECTED)
        self.assertEqual(Trace(self.folder / "two.pickle.2.altr").sizes, [7])

    def test_without_a_history(self):
        value = snapshot()
        for content in ({**value, "device_traces": [[]]}, {"segments": value["segments"]}, value["segments"]):
            self.assertEqual(self.trace(pickle.dumps(content)).sizes, [700, 400])
        self.file("blocks.pickle", pickle.dumps(value["segments"]))
        self.assertIn("has no history", self.run_it("blocks.pickle").stderr)

    def test_addresses_of_old_snapshots(self):
        value = snapshot()
        for each in value["segments"][0]["blocks"]:
            del each["address"]
        self.assertEqual(self.trace(pickle.dumps(value)).calls, EXPECTED)

    def test_code_is_not_executed(self):
        class Harmful:
            def __reduce__(self):
                return Path.touch, (Path("/tmp/allot_harm"),)
        for value in ({"segments": [], "device_traces": Harmful()}, Harmful()):
            for protocol in range(2, 6):
                read = self.refused(pickle.dumps(value, protocol), "makes an object")
                self.assertRegex(read if isinstance(read, str) else str(read.error), r"^byte \d+: opcode 0x")
        self.assertFalse(Path("/tmp/allot_harm").exists())

    def test_hostile_pickles(self):
        start = b"\x80\x04"
        many = pickle.dumps({"device_traces": [[event("alloc", i, 1) for i in range(1000)]] * 1000, "segments": []})
        for content, reason in [
                (start + b"\x8d" + b"\xff" * 8 + b"text", "byte 2: the pickle ends inside a value"),
                (start + b"\x8b\xff\xff\xff\x7f", "byte 2: the pickle ends inside a value"),
                (start + b"r\xff\xff\xff\xff.", "byte 2: a value is missing"),
                (start + b"}h\x07.", "byte 3: a reference to a value that does not exist"),
                (start + b"e.", "byte 2: a mark is missing"), (start + b"}]K\1s.", "byte 6: a key is a list"),
                (start + b"(e.", "byte 3: values without a list"), (start + b"(u.", "byte 3: pairs without a dictionary"),
                (start + b".", "byte 2: a value is missing"), (b"\x80\x06}.", "byte 0: the pickle has version 6"),
                (start + b"\x8c\1\xff.", "byte 2: a text is not UTF-8"), (start + b"K\7.", "is not a memory snapshot"),
                (start + b"(" * 100_000 + b"]" * 100_000, "the pickle ends inside a value"), (many, "refer to each other")]:
            self.refused(content, reason)

    def test_invalid_entries(self):
        for change in ({"addr": None}, {"addr": -1}, {"addr": 1 << 64}, {"size": 1 << 62}, {"size": True}, {"size": "7"}):
            value = snapshot()
            value["device_traces"][0][7].update(change)
            read = self.refused(pickle.dumps(value), "has no valid")
            self.assertEqual(read.traces[0].count, 5)  # those before it
        value = snapshot()
        value["device_traces"][0].insert(2, 5)
        self.refused(pickle.dumps(value), "is not a dictionary")
        for broken in ({"segments": 5}, {"segments": [5]}, {"segments": [{"address": 0, "device": 1 << 20, "blocks": [
                block(0, 1, "active_allocated")]}]}, {"device_traces": 7}, {"device_traces": [7, [7]]}):
            self.read(pickle.dumps(broken))

    def test_cut_off_at_any_byte(self):
        value = snapshot()
        value["device_traces"][0] += [event("alloc", 8192 + i * 512, i + 1) for i in range(12)]
        content = pickle.dumps(value)
        kept = []
        for size in range(2, len(content)):
            read = self.read(content[:size])
            if not isinstance(read, str):
                self.assertRegex(str(read.error), r"^byte \d+: the pickle ends inside a value$")
                kept.append(sum(trace.blocks for trace in read.traces.values()))
                for number in read.traces:
                    self.trace(content[:size], number)
        self.assertGreater(len(set(kept)), 5)
        self.assertGreaterEqual(kept[-1], 8)

    def test_any_byte_may_be_wrong(self):
        chance = random.Random(1)
        content = pickle.dumps(snapshot())
        for _ in range(3000):
            changed = bytearray(content)
            for _ in range(chance.randrange(1, 8)):
                changed[chance.randrange(2, len(changed))] = chance.randrange(256)
            read = self.read(bytes(changed))
            for number in [] if isinstance(read, str) else read.traces:
                self.trace(bytes(changed), number)


HEAPTRACK = """v 10400 3
X ./program
I 1000 5e298f
s 5 names
t 1 0
a 64 1
a 100 1
+ 0
+ 0
+ 1
c 10
- 0
+ 1
- 1
- 0
R 5

# strings: 1
"""


class HeaptrackFiles(Records):
    def test_the_newest_block_of_the_same_size_and_stack_is_freed(self):
        trace = self.trace(HEAPTRACK)
        self.assertEqual(trace.sizes, [0x64, 0x64, 0x100, 0x100])
        self.assertEqual(trace.calls, [("allocate", 0), ("allocate", 1), ("allocate", 2), ("deallocate", 1), ("allocate", 3),
                                       ("deallocate", 3), ("deallocate", 0)])

    def test_files_before_the_interpretation_have_addresses(self):
        read = self.read("v 10400 3\nx 7 program\nt 1 0\n+ 40 1 7f00\n+ 50 1 7f40\n- 7f00\n- 99\n+ 60 1 7f40\n")
        self.assertEqual((read.traces[0].unknown, read.traces[0].conflicts), (1, 1))
        read.traces[0].write(self.folder / "trace")
        self.assertEqual(Trace(self.folder / "trace").sizes, [0x40, 0x50, 0x60])

    def test_invalid_files(self):
        for content, reason in [
                ("v 10400 9\n", "byte 0: heaptrack's format 9 is unknown"), ("v 10400\n", "byte 0: heaptrack's format 0"),
                ("v x y\n", "byte 0: 'y' is not a number"), (HEAPTRACK.replace("- 1", "- 7"), "allocation 7 is not defined"),
                (HEAPTRACK.replace("- 1", "- "), "'' is not a number"), (HEAPTRACK.replace("R 5", "Q 5"), "'Q 5' is not a line"),
                (HEAPTRACK.replace("a 100", "a -100"), "byte 59: the size -256 is not below 2^62"),
                (HEAPTRACK.replace("a 100", "a " + "f" * 16), "byte 59: the size"), (HEAPTRACK[:-3], "the last line is cut off"),
                (HEAPTRACK + "s " + "x" * (1 << 21), "a line has more than 1 MiB")]:
            self.refused(content, reason)
        self.assertEqual(self.read(HEAPTRACK.replace("- 1", "- 7")).traces[0].blocks, 4)  # those before the error are kept

    def test_compressed_data_that_is_cut_off(self):
        lines = HEAPTRACK.split("c 10")[0] + "".join(f"+ {i % 2}\nc {i * 7919 % 65537:x}\n" for i in range(20_000))
        whole = {"gz": gzip.compress(lines.encode())}
        if shutil.which("zstd"):
            whole["zst"] = subprocess.run(["zstd", "-cq"], input=lines.encode(), capture_output=True).stdout
        else:
            print("skipped: zstd is not installed")
        for name, content in whole.items():
            with self.subTest(name):
                self.assertEqual(self.read(content).traces[0].blocks, 20_003)
                self.assertIsNone(self.read(content).error)
                cut = self.refused(content[:len(content) * 3 // 4], "cut off")
                if name == "gz":  # zstd writes no part of a block
                    self.assertGreater(cut.traces[0].blocks, 1000)

    def test_a_file_of_heaptrack(self):
        if not shutil.which("heaptrack"):
            self.skipTest("skipped: heaptrack is not installed")
        subprocess.run(["heaptrack", "-o", self.folder / "sort", "sort", __file__], check=True, capture_output=True)
        path, = self.folder.glob("sort.*")
        printed = subprocess.run(["heaptrack_print", path], capture_output=True, text=True).stdout
        calls = int(printed.split("calls to allocation functions: ")[1].split()[0])
        trace = self.trace(path.read_bytes())
        self.assertEqual(len(trace.sizes), calls)
        self.assertGreater(len(trace.calls), calls)


class RmmLogs(Records):
    HEAD = "Thread,Time,Action,Pointer,Size,Stream\n"

    def test_calls(self):
        read = self.read(self.HEAD + "1,10:00:00:1,allocate,0x7f00,100,0x0\n2,1634567890.1,allocate,0x7f80,200,0x0\n"
                         "1,t,allocate failure,(nil),9999,0x0\n1,t,free,0x7f00,100,0x0\r\n1,t,deallocate,0x7f80,200,0x0\n"
                         "1,t,deallocate,0x9,1,0x0\n1,t,free,(nil),0,0x0\n")
        trace = read.traces[0]
        self.assertEqual((read.error, trace.failed, trace.unknown), (None, 1, 1))
        trace.write(self.folder / "trace")
        self.assertEqual(Trace(self.folder / "trace").calls, [("allocate", 0), ("allocate", 1), ("deallocate", 0), ("deallocate", 1)])
        self.assertEqual(Trace(self.folder / "trace").aligns, [256, 256])

    def test_invalid_logs(self):
        line = "1,t,allocate,0x7f00,100,0x0\n"
        for content, reason in [(line + "1,t,grow,0x7f00,100,0x0\n", "byte 67: 'grow' is not an action"),
                                (line + "1,t\n", "byte 67: a line needs six fields, and has 2"),
                                (line + "1,t,free,zero,100,0x0\n", "byte 67: 'zero' is not a number"),
                                (line + line[:-5], "byte 67: the last line is cut off")]:
            self.assertEqual(self.refused(self.HEAD + content, reason).traces[0].blocks, 1)
        self.file("log.csv", self.HEAD + line + "1,t,free")
        done = self.run_it("--out", "log.altr", "log.csv", exits_with=1)
        self.assertIn("log.csv: byte 67: the last line is cut off; the events before it are in the trace", done.stderr)
        self.assertEqual(Trace(self.folder / "log.altr").sizes, [100])


class Files(Records):
    def test_other_files_are_refused(self):
        for content, reason in [("ALTR1\n", "is a trace already"), ("", "is none of these"), ("text", "is none of these"),
                                (b"\x1f\x8b", "the compressed data is cut off"), (b"\x1f\x8b" + b"x" * 50, "the compressed data is invalid"),
                                ("v 10400 3\n", "has no allocations")]:
            self.file("record", content)
            done = self.run_it("record", exits_with=2)
            self.assertRegex(done.stderr, r"^dev: record: byte \d+: ")
            self.assertIn(reason, done.stderr)
        self.assertIn("No such file", self.run_it("nowhere", exits_with=2).stderr)


if __name__ == "__main__":
    unittest.main()
