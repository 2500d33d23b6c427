#!/usr/bin/python3
"""Tests memory_viewer: input, output, messages, exit status, and the page in headless Chromium.

    check.py PROGRAM TOOLS      TOOLS: the folder in which ./dev installs Plotly and Perfetto's Python package

The files are written by an encoder of this test, which follows the comments of event_log.hpp and snapshot.hpp.
"""

import base64
import importlib.util
import json
import pickle
import pickletools
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

try:
    import jsonschema
except ImportError:
    jsonschema = None
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
except ImportError:
    webdriver = None

HERE = Path(__file__).resolve().parent
TRACES = HERE.parents[2] / "benchmarks" / "traces"
PROGRAM = TOOLS = ""
ACTIONS = ["", "allocate", "deallocate", "resize", "refuse", "acquire_region", "release_region", "reset"]


def varint(value):
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def text(value):
    encoded = value if isinstance(value, bytes) else value.encode()
    return varint(len(encoded)) + encoded


def event_log(events, tags=(), unit=1):
    """Returns the bytes of a log. An event is (time, action, address, size, tag)."""
    made = b"ALEV1\n" + varint(unit) + b"".join(b"\x08" + text(tag) for tag in tags)
    before, at = 0, 0
    for when, action, address, size, tag in events:
        moved = (address - at + 2 ** 63) % 2 ** 64 - 2 ** 63
        made += bytes([ACTIONS.index(action) | (16 if tag else 0)]) + varint(when - before)
        made += varint(2 * moved if moved >= 0 else -2 * moved - 1) + varint(size) + (varint(tag) if tag else b"")
        before, at = when, address
    return made + b"\0" + varint(len(events))


def snapshot(name, tags, statistics, regions, blocks, holes):
    made = b"ALSN1\n" + text(name) + varint(len(tags)) + b"".join(map(text, tags)) + b"".join(map(varint, statistics))
    for ranges in regions, blocks, holes:
        made += varint(len(ranges))
        end = 0
        for address, size, *tag in ranges:
            made += varint(address - end) + varint(size) + b"".join(map(varint, tag))
            end = address + size
    return made


def random_events(seed, count, tags):
    """Returns events of an allocator with fixed slots of 1000 bytes from address 4096."""
    chance = random.Random(seed)
    events, live, when = [(100, "acquire_region", 4096, 64_000, 0)], {}, 100
    for _ in range(count):
        when += chance.randrange(1000)
        free = [slot for slot in range(64) if slot not in live]
        if free and (not live or chance.random() < 0.6):
            slot, size, tag = chance.choice(free), 1 + chance.randrange(1000), chance.randrange(tags + 1)
            live[slot] = size
            events.append((when, "allocate", 4096 + 1000 * slot, size, tag))
        elif chance.random() < 0.1:
            slot = chance.choice(list(live))
            live[slot] = 1 + chance.randrange(1000)
            events.append((when, "resize", 4096 + 1000 * slot, live[slot], 0))
        else:
            slot = chance.choice(list(live))
            events.append((when, "deallocate", 4096 + 1000 * slot, live.pop(slot), 0))
    return events


def as_objects(events):
    """Returns the events as export_json.hpp documents them."""
    for when, action, address, size, tag in events:
        yield {"time": when, "action": action, **{name: value for name, value in
               (("address", address), ("size", size), ("tag", tag)) if value}}


class Viewer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def run_it(self, *arguments, exits_with=0):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, exits_with, done.stdout + done.stderr)
        return done

    def refused(self, message, *arguments):
        self.assertEqual(self.run_it(*arguments, exits_with=2).stderr, f"memory_viewer: {message}\n")

    def written(self, path, *arguments, exits_with=0):
        """Returns the JSON of a file."""
        out = self.folder / "out.json"
        self.run_it(path, "--json", str(out), *arguments, exits_with=exits_with)
        made = json.loads(out.read_text(encoding="utf-8"))
        if jsonschema:
            schema = json.loads((HERE / "memory.schema.json").read_text(encoding="utf-8"))
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.validate(made, schema, cls=jsonschema.Draft202012Validator)
        else:
            print("skipped: jsonschema is not installed, so the schema is not checked")
        return made

    def page(self, path):
        """Returns the data of the page of a file."""
        library = self.file("library.js", b"/* library */")
        self.run_it(path, "--html", str(self.folder / "page.html"), "--library", library)
        page = (self.folder / "page.html").read_text(encoding="utf-8")
        self.assertIn("<script>/* library */</script>", page)
        return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])


class Conversion(Viewer):
    def test_an_event_log_becomes_json_and_the_same_event_log(self):
        tags = ["weights", 'a "quoted" <tag>\n', "ü"]
        events = random_events(1, 300, len(tags))
        log = event_log(events, tags)
        path = self.file("a.alev", log)
        made = self.written(path)
        self.assertEqual(made["tags"], tags)
        self.assertEqual(made["time_unit"], "ns")
        self.assertEqual(made["events"], list(as_objects(events)))
        self.run_it(path, f"--log={self.folder / 'b.alev'}")
        self.assertEqual((self.folder / "b.alev").read_bytes(), log)

    def test_a_name_that_is_not_utf8_is_replaced(self):
        made = self.written(self.file("a.alev", event_log([], [b"a\xff\xc0b", b"\xed\xa0\x80", "€".encode()])))
        self.assertEqual(made["tags"], ["a\ufffd\ufffdb", "\ufffd\ufffd\ufffd", "€"])

    def test_a_snapshot_becomes_json(self):
        made = self.written(self.file("a.alsn", snapshot("two", ["w"], range(8), [(4096, 1000), (9000, 8)],
                                                         [(4096, 100, 1), (4500, 10, 0)], [(4196, 304)])))
        self.assertEqual(made["allocator"], "two")
        self.assertEqual(list(made["statistics"].values()), list(range(8)))
        self.assertEqual(made["regions"], [{"address": 4096, "size": 1000}, {"address": 9000, "size": 8}])
        self.assertEqual(made["blocks"], [{"address": 4096, "size": 100, "tag": 1}, {"address": 4500, "size": 10}])
        self.assertEqual(made["holes"], [{"address": 4196, "size": 304}])

    def test_a_trace_is_replayed_on_each_allocator_without_overlaps(self):
        for allocator in ("best_fit", "best_fit_side_table", "deferred"):
            with self.subTest(allocator=allocator):
                made = self.written(str(TRACES / "logn100.altr"), "--allocator", allocator)
                region, live, allocations = made["events"][0], {}, 0
                self.assertEqual(region["action"], "acquire_region")
                for each in made["events"][1:]:
                    address = each.get("address", 0)
                    if each["action"] == "allocate":
                        allocations += 1
                        end = address + each["size"]
                        self.assertEqual(address % 2 ** each["align_log2"], 0)
                        self.assertLessEqual(end, region["size"])
                        self.assertFalse([at for at, size in live.items() if at < end and address < at + size])
                        live[address] = each["size"]
                    else:
                        self.assertEqual(live.pop(address), each["size"])
                self.assertGreater(allocations, 1000)
        self.refused("the trace does not fit bump in eight times the peak of its live bytes; choose another allocator",
                     str(TRACES / "logn100.altr"), "--allocator=bump")
        self.refused("unknown allocator first_fit; the allocators are: best_fit best_fit_side_table deferred bump",
                     str(TRACES / "logn100.altr"), "--allocator=first_fit")

    def test_a_file_that_is_cut_off_is_used_up_to_the_cut(self):
        events = random_events(2, 40, 1)
        log = event_log(events, ["t"])
        expected = list(as_objects(events))
        most = 0
        for length in range(7, len(log)):
            path = self.file("a.alev", log[:length])
            done = subprocess.run([PROGRAM, path, "--json", str(self.folder / "a.json")], capture_output=True, text=True)
            said = re.fullmatch(r".*: the bytes end before the last record, at byte (\d+)"
                                r"(; continuing with the (\d+) events before it)?\n", done.stderr)
            self.assertTrue(said, done.stderr)
            self.assertLessEqual(int(said[1]), length)
            count = int(said[3] or 0)
            self.assertEqual(done.returncode, 1 if count else 2)
            self.assertGreaterEqual(count, most)
            most = count
            if count:
                found = json.loads((self.folder / "a.json").read_text(encoding="utf-8"))["events"]
                self.assertEqual(found, expected[:count])
        self.assertEqual(most, len(events))

    def test_a_trace_that_is_cut_off_is_replayed_up_to_the_cut(self):
        trace = (TRACES / "logn100.altr").read_bytes()
        path = self.file("a.altr", trace[:len(trace) // 2])
        whole = self.written(str(TRACES / "logn100.altr"), "--allocator=best_fit_side_table")["events"]
        half = self.written(path, "--allocator=best_fit_side_table", exits_with=1)["events"]
        self.assertIn(len(half), range(len(whole) // 3, len(whole) * 2 // 3))
        sizes = [(each["action"], each["size"]) for each in whole[1:]]
        self.assertEqual([(each["action"], each["size"]) for each in half[1:]], sizes[:len(half) - 1])
        done = self.run_it(path, exits_with=1)
        self.assertRegex(done.stderr, r"the bytes end before the last record, at byte \d+; "
                                      r"continuing with the \d+ operations before it\n$")

    def test_files_of_other_kinds_are_refused_with_reason_and_offset(self):
        for name, content, message in (
                ("a", b"", "the bytes are of another format, at byte 0"),
                ("b", b"hello, world", "the bytes are of another format, at byte 0"),
                ("c", b"ALEV2\n\0\0\0", "the format has an unknown version, at byte 0"),
                ("d", b"ALSN9\n\0\0\0", "the format has an unknown version, at byte 0"),
                ("e", b"ALTR1\n\x05", "the bytes end before the last record, at byte 7"),
                ("f", b"ALEV1\n\1\x09", "a record has an unknown kind or flag, at byte 7"),
                ("g", b"ALSN1\n\0\xff\xff\xff\xff\xff\xff", "the bytes end before the last record, at byte 7")):
            path = self.file(name, content)
            self.refused(f"{path}: {message}", path, "--json", str(self.folder / "out"))
        self.refused(f"{self.folder}: is a directory", str(self.folder))
        self.refused("/nowhere: cannot be opened", "/nowhere")
        self.refused("/nowhere/x: cannot be written", self.file("h", event_log([])), "--json=/nowhere/x")

    def test_wrong_usage_is_refused(self):
        for message, arguments in (
                ("no file is given", []), ("unknown option --tree", ["--tree", "a"]),
                ("--json needs a value", ["a", "--json"]), ("more than one file is given: a and b", ["a", "b"]),
                ("--at needs peak or end", ["a", "--at", "start"]),
                ("--html and --library need each other", ["a", "--html", "b"])):
            self.refused(f"{message}; see memory_viewer --help", *arguments)
        self.assertIn("usage: memory_viewer", self.run_it("--help").stdout)


class Exports(Viewer):
    """The files for other tools, compared with states that this test computes from the events."""

    def exported(self, option, content, *arguments):
        out = self.folder / "out"
        self.run_it(self.file("a.alev", content), f"{option}={out}", *arguments)
        return out.read_bytes()

    @staticmethod
    def states(events):
        """Yields the time, the live blocks as {address: (size, tag)}, and the size of the region, after each event."""
        live, held = {}, 0
        for when, action, address, size, tag in events:
            if action == "acquire_region":
                held = size
            elif action == "allocate":
                live[address] = (size, tag)
            elif action == "resize":
                live[address] = (size, live[address][1])
            elif action == "deallocate":
                del live[address]
            elif action == "reset":
                live.clear()
            yield when, dict(live), held

    def with_all_actions(self, seed):
        events = random_events(seed, 300, 2)
        end = events[-1][0]
        return [*events, (end + 5, "refuse", 0, 70_000, 1), (end + 6, "reset", 0, 0, 0),
                (end + 9, "allocate", 4096, 10, 2), (end + 9, "allocate", 5096, 20, 0), (end + 9, "resize", 5096, 30, 0)]

    def test_pytorch(self):
        tags = ["weights", "ü"]
        events = self.with_all_actions(5)
        content = self.exported("--pytorch", event_log(events, tags))
        read_by_memory_viz = {"PROTO", "EMPTY_DICT", "MARK", "SETITEMS", "EMPTY_LIST", "APPENDS", "BINUNICODE", "BINPUT",
                              "LONG_BINPUT", "BINGET", "LONG_BINGET", "BININT", "BININT1", "BININT2", "LONG1", "STOP"}
        self.assertLessEqual({code.name for code, _, _ in pickletools.genops(content)}, read_by_memory_viz)
        made = pickle.loads(content)
        self.assertEqual(list(made), ["segments", "device_traces"])

        def tag_of(entry):
            return tags.index(entry["frames"][0]["name"]) + 1 if entry["frames"] else 0

        live, after = {}, []
        segments, oom = [], []
        for entry in made["device_traces"][0]:
            self.assertEqual(entry["stream"], 0)
            if entry["action"] == "alloc":
                self.assertNotIn(entry["addr"], live)
                live[entry["addr"]] = (entry["size"], tag_of(entry))
            elif entry["action"] == "free_completed":
                self.assertEqual(live.pop(entry["addr"]), (entry["size"], tag_of(entry)))
            elif entry["action"] == "segment_alloc":
                segments.append((entry["addr"], entry["size"]))
            elif entry["action"] == "oom":
                oom.append((entry["size"], entry["device_free"], tag_of(entry)))
            if entry["action"] != "free_requested":
                after.append((entry["time_us"], dict(live)))
        self.assertEqual(segments, [(4096, 64_000)])
        for when, blocks, _ in self.states(events):
            self.assertIn((when // 1000, blocks), after)
        used = sum(size for size, _ in list(self.states(events))[-6][1].values())
        self.assertEqual(oom, [(70_000, 64_000 - used, 1)])

        segment, = made["segments"]
        self.assertEqual((segment["address"], segment["total_size"]), (4096, 64_000))
        blocks = segment["blocks"]
        self.assertEqual(sum(block["size"] for block in blocks), 64_000)
        self.assertEqual([(block["address"], block["requested_size"], block["state"], tag_of(block)) for block in blocks],
                         [(4096, 10, "active_allocated", 2), (4106, 0, "inactive", 0), (5096, 30, "active_allocated", 0),
                          (5126, 0, "inactive", 0)])
        self.check_with_torch(made)

    def check_with_torch(self, made):
        found = importlib.util.find_spec("torch")
        path = found and Path(found.origin).parent / "cuda" / "_memory_viz.py"
        if not path or not path.exists():
            print("skipped: torch is not installed, so its reader of snapshots is not tried")
            return
        spec = importlib.util.spec_from_file_location("memory_viz", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if hasattr(module, "stats"):  # torch 1.13, whose snapshots were the list of segments
            self.assertEqual(repr(module.stats(made["segments"])["active_allocated"]), "40.0B")
        else:
            self.assertIn("segments: 1", module.segsum(made))
            self.assertIn("OutOfMemoryError", module.trace(made))

    def test_perfetto(self):
        sys.path.insert(0, str(Path(TOOLS) / "perfetto"))
        try:
            from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        except ImportError:
            print("skipped: the package perfetto is not installed")
            return
        tags = ["weights", "ü"]
        events = self.with_all_actions(6)
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString(self.exported("--perfetto", event_log(events, tags)))
        names, counters, instants = {}, {}, []
        changes = {}  # the values after the last packet of a time
        for packet in trace.packet:
            self.assertEqual(packet.trusted_packet_sequence_id, 1)
            if packet.HasField("track_descriptor"):
                descriptor = packet.track_descriptor
                self.assertNotIn(descriptor.uuid, names)
                names[descriptor.uuid] = descriptor.name
                if descriptor.HasField("parent_uuid"):
                    self.assertIn(descriptor.parent_uuid, names)
                if descriptor.HasField("counter"):
                    counters[descriptor.name] = 0
                    self.assertEqual(descriptor.counter.unit, 2 if descriptor.name == "live blocks" else 3)
                continue
            event = packet.track_event
            name = names[event.track_uuid]
            if event.type == event.TYPE_COUNTER:
                counters[name] = event.counter_value
            else:
                self.assertEqual((event.type, name), (event.TYPE_INSTANT, "events"))
                instants.append((packet.timestamp, event.name,
                                 {each.name: each.uint_value or each.pointer_value for each in event.debug_annotations}))
            changes[packet.timestamp] = dict(counters)
        last = {}
        for when, live, held in self.states(events):
            last[when] = {"live bytes": sum(size for size, _ in live.values()), "live blocks": len(live), "held bytes": held,
                          **{name: sum(size for size, tag in live.values() if tag == number)
                             for number, name in enumerate(["no tag", *tags])}}
        seen = {}
        for when, expected in last.items():
            seen = changes.get(when, seen)
            self.assertEqual(seen, expected)
        end = events[-1][0]
        self.assertEqual(instants, [(100, "acquire_region", {"size": 64_000, "address": 4096}),
                                    (end - 4, "refuse", {"size": 70_000}), (end - 3, "reset", {})])

    def test_vma(self):
        tags = ["weights", 'ü"']
        events = random_events(7, 300, 2)
        states = [live for _, live, _ in self.states(events)]
        sums = [sum(size for size, _ in live.values()) for live in states]
        for at, live in (("peak", states[sums.index(max(sums))]), ("end", states[-1])):
            made = json.loads(self.exported("--vma", event_log(events, tags), f"--at={at}"))
            self.assertEqual(made["General"]["API"], "Vulkan")
            block, = made["DefaultPools"]["Type 0"]["Blocks"].values()
            self.assertEqual(block["TotalBytes"], 64_000)
            reached, found, holes = 0, {}, []
            for piece in block["Suballocations"]:
                self.assertEqual(piece["Offset"], reached)
                reached += piece["Size"]
                if piece["Type"] == "FREE":
                    holes.append(piece["Size"])
                else:
                    self.assertEqual((piece["Type"], piece["Usage"]), ("UNKNOWN", 0))
                    name = piece.get("Name")
                    found[4096 + piece["Offset"]] = (piece["Size"], tags.index(name) + 1 if name else 0)
            self.assertEqual(reached, 64_000)
            self.assertEqual(set(found), set(live))
            for address, (size, tag) in live.items():
                self.assertEqual(found[address][1], tag)
                self.assertIn(found[address][0] - size, range(32))  # a gap of less than 32 bytes is not a hole
            sizes = [size for size, _ in found.values()]
            stats = {"BlockCount": 1, "BlockBytes": 64_000, "AllocationCount": len(live), "AllocationBytes": sum(sizes),
                     "UnusedRangeCount": len(holes), "AllocationSizeMin": min(sizes), "AllocationSizeMax": max(sizes),
                     "UnusedRangeSizeMin": min(holes), "UnusedRangeSizeMax": max(holes)}
            self.assertEqual(made["Total"], stats)
            heap = made["MemoryInfo"]["Heap 0"]
            self.assertEqual((heap["Stats"], heap["MemoryPools"]["Type 0"]["Stats"]), (stats, stats))
            self.assertEqual((block["Allocations"], block["UnusedRanges"], block["UnusedBytes"]),
                             (len(live), len(holes), sum(holes)))

    def test_a_snapshot_is_exported_too(self):
        content = snapshot("two", ["w"], [0] * 8, [(4096, 1000)], [(4104, 100, 1), (4212, 10, 0)], [(4300, 700)])
        segment, = pickle.loads(self.exported("--pytorch", content))["segments"]
        self.assertEqual([(block["address"], block["size"], block["requested_size"]) for block in segment["blocks"]],
                         [(4096, 8, 0), (4104, 108, 100), (4212, 10, 10), (4222, 874, 0)])
        made = json.loads(self.exported("--vma", content))
        self.assertEqual(made["General"]["GPU"], "two")
        self.assertEqual([(piece["Offset"], piece["Size"]) for piece in
                          made["DefaultPools"]["Type 0"]["Blocks"]["0"]["Suballocations"]],
                         [(0, 8), (8, 108), (116, 10), (126, 874)])


class Page(Viewer):
    def test_the_data_has_each_block_and_the_bytes_over_time(self):
        tags = ["weights", "</script><b>"]
        events = random_events(3, 500, len(tags))
        data = self.page(self.file("a.alev", event_log(events, tags)))
        lives, live, peak, used = [], {}, 0, 0
        for when, action, address, size, tag in events:
            if action in ("deallocate", "resize"):
                start, before, old_tag = live.pop(address)
                lives.append((start, when, address, before, old_tag))
                used -= before
                tag = old_tag
            if action in ("allocate", "resize"):
                live[address] = (when, size, tag)
                used += size
            peak = max(peak, used)
        end = events[-1][0]
        lives += [(start, end, address, size, tag) for address, (start, size, tag) in live.items()]

        def numbers(name, code):
            raw = base64.b64decode(data[name])
            return struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw)

        names = ["", *tags]
        columns = zip(numbers("starts", "I"), numbers("ends", "I"), numbers("positions", "I"), numbers("sizes", "I"),
                      numbers("blockTags", "B"))
        found = [(100 + start, 100 + stop, 4096 + at, size, data["tags"][tag]) for start, stop, at, size, tag in columns]
        self.assertEqual(sorted(found), sorted((*each[:4], names[each[4]] or "no tag") for each in lives))
        self.assertEqual(data["axis"], [[4096, 64_000, 0]])
        self.assertEqual(data["peak"], peak)
        self.assertEqual(max(data["live"]), peak)
        self.assertEqual(sum(series[-1] for series in data["byTag"]), used)
        at = random.Random(4).randrange(len(data["sampleTimes"]))
        then = data["sampleTimes"][at]
        taken = sorted((address, size) for start, stop, address, size, _ in lives if start <= then < stop)
        gaps = [b - a for a, b in zip([4096, *(a + s for a, s in taken)], [*(a for a, _ in taken), 68_096])]
        gaps = [gap for gap in gaps if gap >= 32]
        self.assertEqual((data["free"][at], data["largestHole"][at], data["holes"][at]),
                         (sum(gaps), max(gaps, default=0), len(gaps)))

    def test_distant_regions_are_close_on_the_axis(self):
        regions = [(0, "acquire_region", 1 << 20, 1 << 20, 0), (0, "acquire_region", 1 << 46, 1 << 16, 0)]
        data = self.page(self.file("a.alev", event_log([*regions, (5, "allocate", (1 << 46) + 16, 99, 0)])))
        self.assertEqual(data["axis"], [[1 << 20, 1 << 20, 0], [1 << 46, 1 << 16, 1 << 20]])
        self.assertEqual(struct.unpack("<I", base64.b64decode(data["positions"])), ((1 << 20) + 16,))

    def test_empty_and_odd_logs_have_a_page(self):
        for events in ([], [(0, "reset", 0, 0, 0)], [(7, "deallocate", 5, 5, 0)], [(7, "allocate", 5, 0, 0)],
                       [(5, "allocate", 16, 8, 0), ((1 << 64) - 1, "deallocate", 16, 8, 0)],
                       [(0, "allocate", (1 << 64) - 9, 8, 0), (0, "acquire_region", 0, (1 << 64) - 1, 0)]):
            data = self.page(self.file("a.alev", event_log(events)))
            self.assertEqual(data["events"], len(events))

    def test_a_log_in_chromium(self):
        events = [(0, "acquire_region", 4096, 8000, 0), (0, "allocate", 4096, 3000, 1), (500, "allocate", 8096, 3000, 2),
                  (1000, "deallocate", 4096, 3000, 0)]
        shown = self.shown("two blocks.alev", event_log(events, ["first", "second"], unit=0))
        if not shown:
            return
        self.assertEqual(shown.browser.title, "two blocks.alev")
        self.assertTrue(shown.summary().startswith("4 events, 2 blocks, peak 5.859 KiB."))
        first, early, second, hole = shown.colors((0.25, 0.2), (0.25, 0.7), (0.75, 0.7), (0.25, 0.45))
        self.assertEqual({early.split(",")[3], hole.split(",")[3]}, {"0"})  # transparent: no block is live there
        self.assertNotEqual(first, second)
        self.assertEqual(shown.pointed(0.25, 0.2), "0x1000: 2.930 KiB\ntag: first\nlive from 0 to 1000 (1000)")
        self.assertEqual(shown.pointed(0.75, 0.7), "0x1fa0: 2.930 KiB\ntag: second\nlive from 500 to 1000 (500)")
        self.assertRegex(shown.pointed(0.25, 0.7), "0x.*: no block")

        drawn = shown.browser.execute_script("return window.redraws")
        shown.drag((0.1, 0.1), (0.3, 0.3))  # zooms in
        shown.wait_for(f"window.redraws > {drawn}")
        self.assertEqual(shown.colors((0.02, 0.05), (0.98, 0.9)), [first, first])  # only this block is visible
        shown.browser.find_element(By.ID, "all").click()
        shown.wait_for(f"window.redraws > {drawn} + 1 && visible().x[0] === 0")
        self.assertEqual(shown.colors((0.25, 0.2), (0.75, 0.7)), [first, second])
        shown.check_log()

    def test_a_snapshot_in_chromium(self):
        size = 96 * 64  # 96 rows of 64 bytes
        shown = self.shown("a.alsn", snapshot("one", ["w"], [0] * 8, [(4096, size)],
                                              [(4096, size // 2, 0), (4096 + size // 2 + 32, 8, 1)],
                                              [(4096 + size // 2, 32), (4096 + size // 2 + 40, size // 2 - 40)]))
        if not shown:
            return
        self.assertTrue(shown.summary().startswith(
            "2 blocks of 3.008 KiB, 2 holes of 2.992 KiB, the largest of 2.961 KiB, fragmentation 0.01."), shown.summary())
        row = 1 / 96
        low, tagged, hole, high = shown.colors((0.5, 0.25), (0.56, 0.5 + row / 2), (0.25, 0.5 + row / 2), (0.5, 0.75))
        self.assertEqual([color.split(",")[3] for color in (low, tagged, hole, high)], ["255", "255", "0", "0"])
        self.assertNotEqual(low, tagged)
        self.assertEqual(shown.pointed(0.5, 0.25), "0x1000: 3 KiB\ntag: no tag")
        self.assertRegex(shown.pointed(0.5, 0.75), "0x2.*: no block")
        shown.check_log()

    def shown(self, name, content):
        """Opens the page of a file in Chromium. Returns None if a program is missing."""
        missing = [tool for tool in ("chromium", "chromedriver") if not shutil.which(tool)]
        missing += [] if webdriver else ["selenium"]
        library = Path(TOOLS) / "plotly" / "plotly" / "package_data" / "plotly.min.js"
        missing += [] if library.exists() else ["plotly"]
        if missing:
            print(f"skipped: {', '.join(missing)} not installed")
            return None
        self.run_it(self.file(name, content), "--html", str(self.folder / "page.html"), "--library", str(library))
        return Shown(self, self.folder / "page.html")


class Shown:
    """A page in headless Chromium."""

    def __init__(self, test, page):
        self.test = test
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--window-size=1400,1000"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        test.addCleanup(self.browser.quit)
        self.browser.get(page.as_uri())
        self.wait_for("window.ready")
        self.area = self.browser.find_element(By.CSS_SELECTOR, "#chart .xy .nsewdrag")

    def wait_for(self, script):
        end = time.monotonic() + 60
        while not (answer := self.browser.execute_script(f"return {script}")):
            self.test.assertLess(time.monotonic(), end, script)
            time.sleep(0.02)
        return answer

    def summary(self):
        return self.browser.find_element(By.ID, "summary").text

    def colors(self, *points):
        """Returns the colors of the map at fractions of its width and height from the lower left, as drawn."""
        image = self.wait_for("document.querySelector('#chart .hm image')?.getAttribute('href')")
        self.test.assertTrue(image.startswith("data:image/png"))
        return self.browser.execute_async_script("""
            const [source, points, done] = arguments, image = new Image();
            image.onload = () => {
              const canvas = document.createElement('canvas');
              canvas.width = image.width, canvas.height = image.height;
              const context = canvas.getContext('2d');
              context.drawImage(image, 0, 0);
              done(points.map(([x, y]) => [...context.getImageData(
                Math.floor(x * image.width), Math.floor((1 - y) * image.height), 1, 1).data].join()));
            };
            image.src = source;""", image, points)

    def moved_to(self, x, y):
        """Returns actions that move the pointer to fractions of the map from the lower left."""
        size = self.area.size
        return ActionChains(self.browser).move_to_element_with_offset(
            self.area, int((x - 0.5) * size["width"]), int((0.5 - y) * size["height"]))

    def pointed(self, x, y):
        """Returns the text for a point."""
        self.moved_to(x, y).move_by_offset(3, 0).pause(0.2).move_by_offset(-3, 0).perform()
        return self.wait_for("document.getElementById('tip').style.display === 'block' &&"
                             " document.getElementById('tip').textContent")

    def drag(self, start, end):
        size = self.area.size
        self.moved_to(*start).click_and_hold().move_by_offset(
            int((end[0] - start[0]) * size["width"]), int((start[1] - end[1]) * size["height"])).release().perform()

    def check_log(self):
        errors = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.test.assertEqual(errors, [])


if __name__ == "__main__":
    PROGRAM, TOOLS = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
