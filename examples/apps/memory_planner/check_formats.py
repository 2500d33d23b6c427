#!/usr/bin/python3
"""Tests the formats that memory_planner reads and writes.

    check_formats.py PROGRAM [json]      json: the program was built with a JSON library

Expected lifetimes and sizes are written by hand from the documentation of each format (docs/plan-files.md).
"""

import copy
import itertools
import json
import math
import pickle
import random
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import check
import pte_to_plan

try:
    import jsonschema
except ImportError:
    jsonschema = None

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
HEAD = "id,lower,upper,size"
WITH_JSON = "json" in sys.argv[2:]


class Formats(check.Planner):
    def plan(self, path, *arguments):
        """Returns the output as JSON, and the rows of the plan."""
        out = self.folder / "out.csv"
        done = self.run_it("--json", "--out", str(out), *arguments, str(path))
        return json.loads(done.stdout), self.rows(out)

    def lives(self, path, *arguments):
        return {row["id"]: (int(row["lower"]), int(row["upper"]), int(row["size"])) for row in self.plan(path, *arguments)[1]}


class Columns(Formats):
    def test_any_order_and_all_names(self):
        for first, begin in (("id", "lower"), ("buffer", "begin"), ("buffer_id", "start")):
            names = [("size", "8"), (first, "a"), ("upper", "4"), ("alignment", "16"), (begin, "2")]
            for chance in range(5):
                random.Random(chance).shuffle(names)
                text = ",".join(name for name, _ in names) + "\n" + ",".join(value for _, value in names) + "\n"
                told, rows = self.plan(self.table(text))
                self.assertEqual((told["peak"], told["status"], told["format"]), (8, "optimal", "a table"))
                self.assertEqual(rows, [{**dict(names), "offset": "0"}])

    def test_the_last_step_of_end_is_included(self):
        rows = ["a,0,2,5", "b,3,4,5", "c,2,3,5"]  # c meets both of the others
        self.assertEqual(self.plan(self.table("\n".join(["id,begin,end,size", *rows])))[0]["peak"], 10)
        self.assertEqual(self.plan(self.table("\n".join(["id,begin,upper,size", *rows[:2]])))[0]["peak"], 5)
        self.refused(self.table("id,lower,end,size\na,0,9223372036854775807,1\n"), 2, "end is too large")

    def test_other_buffers_use_the_bytes_in_a_gap(self):
        text = HEAD + ",gaps\na,0,9,100,2-4 6-7\nb,2,4,80,\nc,6,7,100,\n"
        self.assertEqual(self.plan(self.table(text))[0]["peak"], 100)
        self.assertEqual(self.plan(self.table(text.replace("b,2,4", "b,2,5")))[0]["peak"], 180)
        inclusive = "id,lower,end,size,gaps\na,0,8,100,2-3 6-6\nb,2,3,80,\nc,6,6,100,\n"
        self.assertEqual(self.plan(self.table(inclusive))[0]["peak"], 100)

    def test_a_window_stays_in_use_during_its_gap(self):
        for window, peak in [("", 100), ("@0:20", 100), ("@0:30", 110), ("@40:40", 100)]:
            text = f"{HEAD},gaps\na,0,9,100,2-4{window}\nb,2,4,80,\n"
            told, rows = self.plan(self.table(text))
            self.assertEqual((told["peak"], told["buffers"], len(rows)), (peak, 2, 2), window)
        rows = {row["id"]: int(row["offset"]) for row in self.plan(self.table(HEAD + ",gaps\na,0,9,100,2-4@0:20\nb,2,4,80,\n"))[1]}
        self.assertTrue(rows["b"] >= rows["a"] + 20 or rows["b"] + 80 <= rows["a"])

    def test_random_gaps(self):
        chance = random.Random(11)
        for _ in range(4):
            lines, lives = [], {}
            for i in range(40):
                lower = chance.randrange(30)
                begin, end, upper = sorted(chance.sample(range(lower + 1, lower + 20), 3))
                size, window = chance.randrange(1, 500), None
                if chance.random() < 0.4:
                    window = chance.randrange(1, size + 1)
                lines.append(f"b{i},{size},{lower},{upper},{begin}-{end}" + (f"@0:{window}" if window else ""))
                lives[f"b{i}"] = [(lower, begin, size), (end, upper, size)] + ([(begin, end, window)] if window else [])
            told, rows = self.plan(self.table("\n".join(["id,size,lower,upper,gaps", *lines])))
            places = {row["id"]: int(row["offset"]) for row in rows}
            pieces = [(name, *life) for name, parts in lives.items() for life in parts]
            for i, (one, begin, end, size) in enumerate(pieces):
                self.assertLessEqual(places[one] + size, told["peak"])
                for other, begin2, end2, size2 in pieces[:i]:
                    if one != other and begin < end2 and begin2 < end:
                        self.assertTrue(places[one] + size <= places[other] or places[other] + size2 <= places[one], (one, other))

    def test_offsets_are_kept_and_a_plan_can_be_read_again(self):
        told, rows = self.plan(self.table("offset,id,lower,upper,size\n96,a,0,3,10\n,b,0,3,50\n7,c,3,5,60\n"))
        self.assertEqual({row["id"]: row["offset"] for row in rows if row["id"] != "b"}, {"a": "96", "c": "7"})
        self.assertEqual(told["peak"], 106)
        again = self.folder / "again.csv"
        shutil.copy(self.folder / "out.csv", again)
        self.assertEqual(self.plan(again)[1], rows)
        self.assertIn("buffer b", self.run_it(self.table(HEAD + ",offset\na,0,3,10,0\nb,0,3,10,4\n"), exits_with=2).stderr)

    @unittest.skipUnless(WITH_JSON, "built without a JSON library")
    def test_lifetimes_and_pairs_of_json_can_be_read_again(self):
        live = self.file("lives.json", json.dumps({"buffers": [{"id": "a", "size": 4, "live": [[1, 2], [2, 3], [5, 6]]},
                                                               {"id": "b", "size": 4, "live": [[3, 5]]}]}))
        rows = self.plan(live)[1]
        self.assertEqual([(row["id"], row["upper"], row["gaps"]) for row in rows], [("a", "6", "3-5"), ("b", "5", "")])
        again = self.folder / "again.csv"
        shutil.copy(self.folder / "out.csv", again)
        told, reread = self.plan(again)
        self.assertEqual((told["peak"], reread), (4, rows))
        pair = {"memories": [{"name": "m0", "capacity": 64}, {"name": "m1", "cost": 1}],
                "buffers": [{"id": "a", "size": 8, "live": [[1, 2]]}, {"id": "b", "size": 0, "live": [[1, 2]]}],
                "separate": [["a", "b"]]}
        empty = self.file("empty.json", json.dumps(pair))
        out = self.folder / "out.json"
        self.run_it("--out", str(out), str(empty))
        self.run_it(str(out))

    def test_memories_of_buffers(self):
        text = HEAD + ",memories,uses,cost\na,0,9,60,,,\nb,0,9,60,slow,,\nc,0,9,50,fast slow,2,1\nd,0,9,50,,1,9\ne,0,9,20,fast,,\n"
        both = ("--memory", "fast:70", "--memory", "slow:1KiB")
        told, rows = self.plan(self.table(text), *both)
        self.assertEqual({row["id"]: row["memory"] for row in rows}, {"a": "slow", "b": "slow", "c": "slow", "d": "fast", "e": "fast"})
        self.assertEqual(told["cost"], 60 + 60 + 100)
        shutil.copy(self.folder / "out.csv", self.folder / "again.csv")
        self.assertEqual(self.plan(self.folder / "again.csv", *both)[1], rows)  # with memory and offset
        self.assertIn('restricts buffers to the memory "slow"; give --memory slow:BYTES',
                      self.run_it("--memory", "fast:70", self.table(text), exits_with=2).stderr)
        self.run_it("--memory", "fast:1KiB", self.table(HEAD + ",memory\na,0,9,60,fast\n"))
        done = self.run_it(*both, self.table(HEAD + ",memory\na,0,9,71,fast\nb,0,9,9,slow\n"), exits_with=1)
        self.assertIn("infeasible: 1 of 2 buffers", done.stdout)

    def test_buffers_in_different_memories(self):
        banks = ("--memory", "left:100:0", "--memory", "right:100:0", "--memory", "outside:1KiB:3")
        text = HEAD + ",separate\na,0,9,40,c\nb,0,9,50,a\nc,0,9,10,\nd,0,9,20,b  c\n"
        told, rows = self.plan(self.table(text), *banks)
        memory = {row["id"]: row["memory"] for row in rows}
        self.assertEqual((told["status"], told["cost"]), ("optimal", 0))
        for one, other in ("ac", "ba", "db", "dc"):
            self.assertNotEqual(memory[one], memory[other])
        shutil.copy(self.folder / "out.csv", self.folder / "again.csv")
        self.assertEqual(self.plan(self.folder / "again.csv", *banks)[1], rows)
        self.assertIn("give --memory for each", self.run_it(self.table(text), exits_with=2).stderr)
        done = self.run_it(*banks[:2], *banks[4:], self.table(text + "e,0,9,1,a c\n"), exits_with=1)
        self.assertIn("infeasible", done.stdout)

    def test_weights_decide_what_spills(self):
        for weights, spilled in [("uses,cost\na,0,9,60,1,5\nb,0,9,60,4,1", "b"), ("uses,cost\na,0,9,60,1,3\nb,0,9,60,4,1", "a")]:
            rows = self.plan(self.table(f"{HEAD},{weights}\n"), "--memory", "fast:100", "--memory", "slow:100")[1]
            self.assertEqual([row["id"] for row in rows if row["memory"] == "slow"], [spilled])

    def test_what_is_refused(self):
        form = 'the gap "{}" does not have the form LOWER-UPPER'.format
        for columns, row, reason in [
            ("gaps", "a,0,9,8,3", form("3") + " or LOWER-UPPER@BEGIN:END"),
            ("gaps", "a,0,9,8,3-5@1", form("3-5@1") + "@BEGIN:END"),
            ("gaps", "a,0,9,8,x-5", 'the begin of a gap, "x", is not an integer'),
            ("gaps", "a,0,9,8,5-5", 'the gap "5-5" has no steps'),
            ("gaps", "a,0,9,8,5-10", "the gap from 5 up to 10 is outside the lifetime, or overlaps another gap"),
            ("gaps", "a,0,9,8,3-5 4-6", "the gap from 4 up to 6 is outside the lifetime, or overlaps another gap"),
            ("gaps", "a,0,9,8,0-9", "the gaps leave no lifetime"),
            ("gaps", "a,0,9,8,3-5@0:9", 'the window of the gap "3-5@0:9" is not a part of the buffer'),
            ("gaps", "a,0,9,8,3-5@2:4", 'the window of the gap "3-5@2:4" begins at byte 2; plans support only windows that '
             "begin at byte 0"),
            ("offset", "a,0,9,8,-1", 'offset, "-1", is not an integer of 0 or more'),
            ("uses", "a,0,9,8,x", 'uses, "x", is not an integer of 0 or more'),
            ("uses,cost", "a,0,9,8,9999999999,9999999999", "uses times cost exceeds 64 bits"),
            ("separate", "a,0,9,8,b", '"separate" contains b, which is no buffer'),
            ("separate", "a,0,9,8,a", "buffer a cannot be in another memory than itself"),
            ("memories", "a,0,9,8," + " ".join(f"m{i}" for i in range(65)), "the table names more than 64 memories"),
        ]:
            with self.subTest(row=row):
                self.refused(self.table(f"{HEAD},{columns}\n{row}\n"), 2, reason)

    def test_gaps_do_not_move(self):
        path = self.table(HEAD + ",gaps\na,0,9,60,3-5\n")
        done = self.run_it("--moves", "--memory", "fast:100", "--memory", "slow:1KiB", path, exits_with=2)
        self.assertIn("--moves does not support gaps", done.stderr)


class Xla(Formats):
    SAMPLE = HERE / "samples" / "loop-xla.txt"

    def test_values_of_temporary_allocations(self):
        told, rows = self.plan(self.SAMPLE)
        self.assertEqual((told["format"], told["peak"], told["own_peak"]), ("a buffer assignment of XLA", 2052, 2112))
        self.assertEqual({row["id"]: (row["lower"], row["upper"]) for row in rows},
                         {"start{}": ("1", "5"), "state{1}": ("4", "8"), "counter{}": ("2", "10"), "product{}": ("6", "9"),
                          "next{}": ("7", "12")})
        places = {row["id"]: row["offset"] for row in rows}
        self.assertEqual(len({places["start{}"], places["state{1}"], places["next{}"]}), 1)  # the state of the loop
        self.judge([row for row in rows if row["id"] not in ("start{}", "state{1}")], 2052)

    def test_the_state_of_a_loop_stays_in_place_between_its_values(self):
        text = self.SAMPLE.read_text().replace("start{}:1-4", "start{}:1-2").replace("next{}:7-11", "next{}:9-11")
        text = text.replace("counter{}:2-9", "counter{}:0-1")  # below the state, if the state could move
        places = {row["id"]: row["offset"] for row in self.plan(self.file("x.txt", text))[1]}
        self.assertEqual(len({places["start{}"], places["state{1}"], places["next{}"]}), 1)
        places = {row["id"]: row["offset"] for row in self.plan(self.file("x.txt", text.replace(" (phi)", "")))[1]}
        self.assertEqual(len(places), 5)

    def test_two_files(self):
        whole = self.SAMPLE.read_text()
        cut = whole.index("HloLiveRange")
        first, second = self.file("m-buffer-assignment.txt", whole[:cut]), self.file("m-live-range.txt", whole[cut:])
        for path in (first, second):
            self.assertEqual(self.plan(path)[0]["peak"], 2052)
        Path(second).unlink()
        self.assertRegex(self.run_it(first, exits_with=2).stderr, r"-assignment.txt:\d+: the live ranges .* in the file NAME-live-range.txt")
        done = self.run_it(self.file("n-live-range.txt", whole[cut:]), exits_with=2)
        self.assertRegex(done.stderr, r"n-live-range.txt:\d+: the buffer assignment is missing")

    def test_memory_spaces_are_planned_separately(self):
        text = self.SAMPLE.read_text().replace("size 1024, output shape is |f32[16,16]|, maybe-live-out",
                                               "size 1024, color 1, preallocated-temp")
        told = self.plan(self.file("x.txt", text))[0]
        self.assertEqual([(m["name"], m["peak"]) for m in told["memories"]], [("color 1", 1024), ("temporary", 2052)])

    def test_values_of_several_sizes_at_an_offset(self):
        text = """BufferAssignment:
allocation 0: size 64, preallocated-temp:
 value: <1 long @0> (size=64,offset=0): f32[16]
 value: <2 short @0> (size=16,offset=0): f32[4]
 value: <3 other @0> (size=16,offset=32): f32[4]
BufferLiveRange:
    long{}:0-5
    short{}:2-9
    other{}:%s
"""
        self.refused(self.file("x.txt", text % "5-7"), 5,
                     "the value other{} shares bytes with long{} at another offset, which plans do not support")
        self.assertEqual(self.plan(self.file("x.txt", text % "6-7"))[0]["peak"], 64)
        last = text.replace("long{}:0-5", "long{}:3-5") % "1-3"
        self.refused(self.file("x.txt", last), 3, "the value long{} shares bytes with other{} at another offset, which plans do not support")

    def test_what_is_refused(self):
        whole = self.SAMPLE.read_text()
        for old, new, line, reason in [
            ("product{}:6-8\n", "", 10, "the value product{} has no live range"),
            ("product{}:6-8\n", "product{}:6-8\n    product{}:1-2\n", 25, "the value product{} has two live ranges"),
            ("product{}:6-8", "product{}:6-5", 24, "the last step, 5, is not one of 6 and later"),
            ("product{}:6-8", "product{}:6", 24, "the live range does not have the form NAME{INDEX}:FIRST-LAST"),
            ("<7 product @0>", "<7 next @0>", 11, "the value next{} is assigned twice"),
            ("(size=4,offset=2048)", "(size=4,offset=)", 9, 'the number after "offset=", "", is not an integer of 0 or more'),
            ("(size=4,offset=2048)", "(size=4,offset=8)", 9, "the value counter{} shares bytes with start{} at another offset, "
             "which plans do not support"),
            ("size 2112, preallocated-temp", "size 2112", 29, 'no allocation is "preallocated-temp", so there is nothing to plan'),
            ("allocation 2: size 2112", "allocation 2: 2112", 6, 'the line has no ": size NUMBER"'),
        ]:
            with self.subTest(new=new):
                self.assertIn(old, whole)
                path = self.file("x.txt", whole.replace(old, new))
                text = self.run_it(path, exits_with=2).stderr
                self.assertRegex(text, r"x\.txt:\d+: " + re.escape(reason) + r"\n$")
                if line < 25:
                    self.assertIn(f"x.txt:{line}: ", text)


class Mlir(Formats):
    def function(self, *lines):
        return self.file("f.mlir", "\n".join(["func.func @f(%in: memref<8xf32>, %n: index) {", *lines, "return", "}"]) + "\n")

    def test_the_samples(self):
        told, rows = self.plan(HERE / "samples" / "two_layers.mlir")
        self.assertEqual(told["format"], "MLIR")
        # The steps are the lines with an operation; constants are steps too.
        self.assertEqual([(r["id"], r["lower"], r["upper"], r["size"], r["alignment"], r["memory"]) for r in rows],
                         [("%first", "4", "9", "512", "64", "@layers"), ("%second", "7", "15", "512", "64", "@layers"),
                          ("%part", "12", "15", "32", "1", "@layers"), ("%shared", "15", "16", "16", "1", "@layers 3")])
        self.assertEqual(self.lives(HERE / "samples" / "iree_slices.mlir"),
                         {"%0#1": (0, 2, 512), "%0#2": (1, 4, 100), "%0#3": (2, 5, 512)})
        self.assertEqual(self.plan(HERE / "samples" / "iree_slices.mlir")[0]["peak"], 612)

    def test_lifetimes(self):
        alloc, use, free = "%a = memref.alloc() : memref<4xi8>", '"t.use"(%a) : (memref<4xi8>) -> ()', "memref.dealloc %a : memref<4xi8>"
        other = '"t.other"() : () -> ()'
        for lines, expected in [
            ([alloc], (0, 1)),
            ([alloc, other, use, other], (0, 3)),
            ([other, alloc, other, use, other, free], (1, 5)),          # up to the deallocation
            ([alloc, "%b = memref.cast %a : memref<4xi8> to memref<?xi8>", other, '"t.use"(%b) : (memref<?xi8>) -> ()'], (0, 4)),
            ([alloc, "%b = memref.load %a[%n] : memref<4xi8>", other, '"t.use"(%b) : (i8) -> ()'], (0, 2)),  # a number
            ([alloc, "scf.for %i = %n to %n step %n {", use, other, "}", other], (0, 4)),  # up to the end of the loop
            ([alloc, "scf.if %c {", use, "} else {", other, "}", other], (0, 3)),
            ([alloc, "%r = scf.for %i = %n to %n step %n iter_args(%x = %a) -> (memref<4xi8>) {", other, "scf.yield %x : memref<4xi8>",
              "}", other, '"t.use"(%r) : (memref<4xi8>) -> ()'], (0, 6)),
            (["%r = scf.if %c -> (memref<4xi8>) {", alloc, "scf.yield %a : memref<4xi8>", "} else {", "scf.yield %in : memref<8xf32>", "}",
              "scf.for %i = %n to %n step %n {", "scf.if %c {", '"t.use"(%r) : (memref<4xi8>) -> ()', "}", other, "}", other], (1, 9)),
            ([alloc, '"t.text"() {s = "%a }{ \\" ( // no"} : () -> ()  // %a', other], (0, 2)),
        ]:
            with self.subTest(lines=lines):
                self.assertEqual(self.lives(self.function(*lines)), {"%a": (*expected, 4)})
        for lines, expected in [  # both regions of scf.while are one loop, and operands of scf.condition are arguments of the second one
            ([alloc, "scf.while : () -> () {", "%l = memref.load %a[%n] : memref<4xi8>", "scf.condition(%c)", "} do {", other, "scf.yield", "}",
              other], (0, 7)),
            ([alloc, "%b = memref.cast %a : memref<4xi8> to memref<?xi8>", "scf.while (%x = %n) : (index) -> memref<?xi8> {",
              "scf.condition(%c) %b : memref<?xi8>", "} do {", "^bb0(%y: memref<?xi8>):", other, "scf.if %c {", '"t.use"(%y) : (memref<?xi8>) -> ()', "}",
              "scf.yield %n : index", "}", other], (0, 9)),
            (["%r = scf.index_switch %n -> memref<4xi8>", "case 2 {", alloc, "scf.yield %a : memref<4xi8>", "}", "default {", "scf.if %c {", "}",
              "scf.yield %in : memref<8xf32>", "}", other, '"t.use"(%r) : (memref<4xi8>) -> ()', other], (2, 9)),
            (["%r = memref.alloca_scope -> (memref<4xi8>) {", alloc, "memref.alloca_scope.return %a : memref<4xi8>", "}", other,
              '"t.use"(%r) : (memref<4xi8>) -> ()'], (1, 5)),
        ]:
            with self.subTest(lines=lines):
                self.assertEqual(self.lives(self.function(*lines)), {"%a": (*expected, 4)})
        returned = self.file("f.mlir", f"func.func @f() -> memref<4xi8> {{\n{alloc}\n{other}\n{other}\nreturn %a : memref<4xi8>\n}}\n")
        self.assertEqual(self.lives(returned), {"%a": (0, 4, 4)})

    def test_sizes_of_types(self):
        for kind, size in [("memref<f64>", 8), ("memref<3x5xi8>", 15), ("memref<7xi1>", 7), ("memref<2xi24>", 8), ("memref<3xi33>", 24),
                           ("memref<2xindex>", 16), ("memref<5xbf16>", 10), ("memref<2xcomplex<f32>>", 16), ("memref<2xvector<3xf32>>", 32),
                           ("memref<2xvector<2x3xi8>>", 16), ("memref<0x5xf32>", 0), ("memref<4xf8E4M3FN>", 4)]:
            with self.subTest(kind=kind):
                self.assertEqual(self.lives(self.function(f"%a = memref.alloc() : {kind}"))["%a"][2], size)
        told = self.plan(self.function("%c = arith.constant 6 : index", "%a = memref.alloc(%c, %c) : memref<?x2x?xf16, #gpu.address_space<workgroup>>"))[0]
        self.assertEqual([(m["name"], m["peak"]) for m in told["memories"]], [("@f #gpu.address_space<workgroup>", 144)])

    def test_functions_are_planned_separately(self):
        text = "".join(f"func.func @{name}() {{\n%a = memref.alloc() : memref<{size}xi8>\nreturn\n}}\n" for name, size in (("f", 5), ("g", 7)))
        told = self.plan(self.file("x.mlir", "module {\n" + text + "}\n"))[0]
        self.assertEqual([(m["name"], m["peak"]) for m in told["memories"]], [("@f", 5), ("@g", 7)])

    def test_what_is_refused(self):
        alloc = "%a = memref.alloc() : memref<4xi8>"
        for lines, line, reason in [
            (["%a = memref.alloc(%n) : memref<?xi8>"], 2, "the size %n is not a constant (arith.constant) of this function"),
            (["%a = memref.alloc() : memref<?xi8>"], 2, 'the number of sizes is not that of the dimensions "?"'),
            (["%a = memref.alloc() : memref<4x!tensor>"], 2, 'the element type "!tensor" has an unknown size'),
            (["%a = memref.alloc() : memref<4xi8, strided<[2]>>"], 2,
             "the layout strided<[2]> of an allocation is not supported; use the identity layout"),
            (["%a = memref.alloc() : memref<9999999999x9999999999xi8>"], 2, "the size of the buffer exceeds 64 bits"),
            (["%a = memref.alloc() {alignment = 3 : i64} : memref<4xi8>"], 2, "the alignment 3 is not a power of two"),
            ([alloc, "memref.dealloc %a : memref<4xi8>", "memref.dealloc %a : memref<4xi8>"], 4, "the buffer %a is deallocated twice"),
            ([alloc, "memref.dealloc %a : memref<4xi8>", "t.use %a : memref<4xi8>"], 4, "the buffer %a is used after its memref.dealloc"),
            ([alloc, "cf.br ^bb1", "^bb1:"], 4, "the function has several blocks, whose order of execution is unknown; structured control "
             "flow (scf) is supported"),
            (["%r = scf.for %i = %n to %n step %n iter_args(%x = %in) -> (memref<4xi8>) {", alloc, "scf.yield %a : memref<4xi8>", "}"], 4,
             "the buffer %a leaves an iteration of its loop, so that one place is not sufficient"),
            (["scf.parallel (%i) = (%n) to (%n) step (%n) {", alloc, "}"], 3,
             "an allocation inside scf.parallel needs one buffer for each of its iterations"),
            ([alloc, "%t = async.execute {", "t.use %a : memref<4xi8>", "}", "async.await %a"], 6,
             "an asynchronous operation uses a buffer, and its end is unknown"),
            ([alloc, "memref.store %a, %in[%n] : memref<1xmemref<4xi8>>"], 3, "a buffer is stored in another one, so that its uses are unknown"),
            ([alloc, "%b = memref.realloc %a : memref<4xi8> to memref<8xi8>"], 3,
             "memref.realloc replaces a buffer by one that is not planned"),
            (['"t.op"() ({', '"memref.alloc"() : () -> memref<4xi8>', "}) : () -> ()"], 2,
             "an allocation is inside the text of another operation; print the file without --mlir-print-op-generic"),
            (["%0:2 = stream.resource.pack slices({", "[0, 1] = %n", "}) : index"], 2, "the size %n is not a constant (arith.constant) of this function"),
            (["%0:2 = stream.resource.pack slices({", "[0 1] = %n", "}) : index"], 2, "slice 1 does not have the form [FIRST, LAST] = %BYTES"),
            (["t.op {"], 4, "a brace is never closed"),
            (["t.op ("], 4, "a parenthesis is never closed"),
            (["}", "}"], 3, "a brace closes nothing"),
            (["t.op"], 4, "the file has neither memref.alloc nor stream.resource.pack"),
        ]:
            with self.subTest(lines=lines):
                self.refused(self.function(*lines), line, reason)


class Recordings(Formats):
    def test_blocks_of_a_trace_are_buffers(self):
        told, rows = self.plan(ROOT / "benchmarks" / "traces" / "gpu50.altr", "--budget", "0")
        self.assertEqual(told["format"], "a trace")
        self.judge(rows, told["peak"])
        most = max(sum(int(r["size"]) for r in rows if int(r["lower"]) <= int(t["lower"]) < int(r["upper"])) for t in rows)
        self.assertGreaterEqual(told["lower_bound"], most)


    def test_a_snapshot_of_pytorch(self):
        history = [("alloc", 512, 100), ("alloc", 1024, 300), ("free_requested", 512, 100), ("free_completed", 512, 100), ("alloc", 4096, 100)]
        events = [{"action": action, "addr": address, "size": size, "stream": 0, "frames": []} for action, address, size in history]
        path = self.file("snapshot.pickle", pickle.dumps({"segments": [], "device_traces": [events]}))
        done = subprocess.run([sys.executable, str(ROOT / "examples" / "apps" / "malloc_recorder" / "convert.py"), "--out",
                               str(self.folder / "s.altr"), path], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, f"{self.folder}/s.altr\n", done.stderr)
        told, rows = self.plan(self.folder / "s.altr")
        self.assertEqual([(r["lower"], r["upper"], r["size"], r["alignment"]) for r in rows],
                         [("0", "2", "100", "512"), ("1", "4", "300", "512"), ("3", "4", "100", "512")])
        self.assertEqual((told["peak"], told["status"]), (612, "optimal"))


class Odd(Formats):
    """Files that are nearly right."""

    def test_a_byte_order_mark_precedes_any_text(self):
        samples = [HERE / "five.csv", HERE / "samples" / "two_layers.mlir", HERE / "samples" / "loop-xla.txt",
                   ROOT / "examples" / "apps" / "network_demo" / "alexnet.network"]
        samples += [HERE / "samples" / "problem.json"] if WITH_JSON else []
        for sample in samples:
            expected = json.loads(self.run_it("--json", "--budget", "0", str(sample)).stdout)
            marked = self.folder / "marked.txt"
            marked.write_bytes(b"\xEF\xBB\xBF" + sample.read_bytes())
            told = json.loads(self.run_it("--json", "--budget", "0", str(marked)).stdout)
            self.assertEqual((told["format"], told["peak"]), (expected["format"], expected["peak"]), sample)

    def test_utf_16_is_refused_as_such(self):
        path = self.folder / "wide.csv"
        path.write_bytes((HEAD + "\na,0,3,4\n").encode("utf-16"))
        self.refused(str(path), 1, "the text is in UTF-16; UTF-8 is supported")

    def test_a_file_that_needs_other_options_does_not_end_a_table(self):
        one, other = self.table(HEAD + "\na,0,3,4\n"), self.file("m.csv", HEAD + ",memory\na,0,3,4,fast\n")
        for files in ((one, other), (other, one)):
            done = self.run_it(*files)
            self.assertIn(one, done.stdout)
            self.assertEqual(done.stderr, f'{other} restricts buffers to the memory "fast"; give --memory fast:BYTES\n')

    def test_a_message_is_one_line(self):
        path = self.folder / "mac.csv"
        path.write_bytes(b"id,lower,upper,size\ra,0,3,4\r")
        done = self.run_it(str(path), exits_with=2)
        self.assertNotIn("\r", done.stderr[:-1])
        self.assertRegex(done.stderr, r"mac\.csv:1: the column \"size a\" is unknown")

    def test_fixed_offsets_are_checked_at_their_line(self):
        head = HEAD + ",alignment,offset"
        self.refused(self.table(f"{head}\na,0,3,8,16,32\nb,0,3,8,16,40\n"), 3, "the offset 40 is not a multiple of the alignment 16")
        self.refused(self.table(f"{head}\na,0,3,8,1,18446744073709551608\n"), 2, "the end of the buffer exceeds 64 bits")

    def test_values_of_xla_are_within_their_allocation(self):
        text = Xla.SAMPLE.read_text()
        for offset in ("2109", "18446744073709551615"):
            path = self.file("x.txt", text.replace("(size=4,offset=2048)", f"(size=4,offset={offset})"))
            self.refused(path, 9, "the value counter{} is not within the 2112 bytes of its allocation")

    @unittest.skipUnless(WITH_JSON, "the program has no JSON library")
    def test_reserved_ranges_in_json(self):
        buffer = '"buffers": [{"id": "a", "size": 4'
        unknown = '{"memories": [{"name": "m",\n"reserved": [\n{"offset": 0, "size": 8, "end": 8}]}],\n' + buffer + ', "live": [[0, 3]]}]}'
        self.refused(self.file("x.json", unknown), 3, '"end" is unknown')
        queues = ('{"memories": [{"name": "m", "reserved": [{"offset": 0, "size": 8}]}],\n' + buffer
                  + '}],\n"operators": [{"queue": "q", "uses": ["a"]}]}')
        self.refused(self.file("x.json", queues), 1, '"operators" cannot be used with "reserved"')


class Content(Formats):
    def test_the_content_decides(self):
        samples = [HERE / "five.csv", HERE / "samples" / "two_layers.mlir", HERE / "samples" / "loop-xla.txt",
                   ROOT / "examples" / "apps" / "network_demo" / "alexnet.network", ROOT / "benchmarks" / "traces" / "gpu50.altr"]
        for sample in samples:
            expected = json.loads(self.run_it("--json", "--budget", "0", str(sample)).stdout)
            for name in ("x", "x.json", "x.csv"):
                shutil.copy(sample, self.folder / name)
                told = json.loads(self.run_it("--json", "--budget", "0", str(self.folder / name)).stdout)
                self.assertEqual((told["format"], told["peak"]), (expected["format"], expected["peak"]), name)

    def test_binary_files(self):
        for content, what in [(b"\x1c\0\0\0TFL3", "a TensorFlow Lite model"), (b"\x1c\0\0\0ET12", "an ExecuTorch program"),
                              (b"\x80\x04\x95\0", "a Python pickle"), (b"\x08\x07\x12\0", "a binary file, perhaps ONNX,"),
                              (b"\0", "a binary file, perhaps ONNX,")]:
            done = self.run_it(self.file("x", content), exits_with=2)
            self.assertEqual(done.stderr, f"{self.folder}/x: {what} is not supported here; ./dev plan converts models and snapshots first\n")
        self.assertIn("a snapshot of allot has no lifetimes", self.run_it(self.file("x", b"ALSN1\0"), exits_with=2).stderr)


class Names(Formats):
    """Names that are not UTF-8: each byte that is not part of a character is a question mark in JSON."""

    def made(self, *arguments, status=0):
        table = self.table(HEAD.encode() + b"\n\xffa,0,3,4\n\xfea,1,4,4\n\xc3\xa4\x7f,0,3,2\n")
        done = subprocess.run([check.PROGRAM, *arguments, table], capture_output=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def test_a_certificate(self):
        path = self.folder / "c.json"
        self.made("--certificate", str(path))
        names = [each["name"] for each in json.loads(path.read_text(encoding="utf-8"))["buffers"]]
        self.assertEqual(names, ["?a", "?a", "ä\x7f"])

    def test_a_certificate_agrees_with_its_table(self):
        table = self.table(HEAD.encode() + b"\na\xff\xed\xa0\x80,0,3,4\n\xc3\xa4,0,3,2\n")
        path = str(self.folder / "c.json")
        self.run_it("--certificate", path, table)
        done = subprocess.run([HERE / "check_certificate.py", path, table], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_certificate_does_not_tell_names_apart_that_are_equal_in_it(self):
        path = self.folder / "c.json"
        self.made("--certificate", str(path))
        done = subprocess.run([HERE / "check_certificate.py", path, self.folder / "table.csv"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.folder}/table.csv:3: the id ?a is that of an earlier buffer, too; a byte that is not UTF-8 is a question mark",
                      done.stdout)

    def test_the_explanation(self):
        told = json.loads(self.made("--json", "--capacity", "9", status=1).decode("utf-8"))
        self.assertEqual(told["status"], "infeasible")

    @unittest.skipUnless(WITH_JSON, "built without a JSON library")
    def test_a_plan_in_json_can_be_read_again(self):
        path = self.folder / "x.json"
        self.made("--out", str(path))
        self.assertEqual([each["id"] for each in json.loads(path.read_text(encoding="utf-8"))["buffers"]],
                         ["?a", "?a #1", "ä\x7f"])
        self.assertEqual(json.loads(self.run_it("--json", str(path)).stdout)["peak"], 10)


class Json(Formats):
    SAMPLE = HERE / "samples" / "problem.json"

    def validate(self, made, by="plan.schema.json"):
        if jsonschema is None:
            return print("skipped: jsonschema is not installed, so the schema is not checked")
        schema = json.loads((HERE / by).read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.validate(made, schema, cls=jsonschema.Draft202012Validator)

    def problem(self, change):
        whole = copy.deepcopy(json.loads(self.SAMPLE.read_text()))
        change(whole)
        return self.file("problem.json", json.dumps(whole, indent=1))

    def test_a_problem_and_its_plan(self):
        self.validate(json.loads(self.SAMPLE.read_text()))
        out = self.folder / "plan.json"
        told = json.loads(self.run_it("--json", "--out", str(out), str(self.SAMPLE)).stdout)
        self.assertEqual((told["format"], told["own_peak"], told["cost"]), ("a problem in JSON", 16384, 3 * 4096))
        plan = json.loads(out.read_text())
        self.validate(plan)
        placed = {each["id"]: (each["memories"], each["offset"]) for each in plan["buffers"]}
        self.assertEqual(placed["weights"], (["slow"], 0))
        self.assertEqual(placed["input"], placed["output"])
        self.assertNotEqual(placed["state"], placed["copy"])
        self.run_it("--out", str(self.folder / "again.json"), str(out))
        self.assertEqual(json.loads((self.folder / "again.json").read_text()), plan)

    def elapsed(self, problem, rows, copies):
        """The time of a plan: steps one after the other, and copies in a queue beside them."""
        costs = {each["name"]: each.get("cost", at) for at, each in enumerate(problem["memories"])}
        sizes = {each["id"]: each["size"] for each in problem["buffers"]}
        moved = {copy[end] for copy in copies for end in ("from", "to")}
        now = queue = 0
        for step, duration in enumerate(problem["durations"]):
            for copy in [copy for copy in copies if copy["begin"] == step]:
                queue = copy["done"] = max(queue, now) + problem["copy"].get("latency", 0) + problem["copy"]["cost"] * copy["bytes"]
            now = max([now] + [copy["done"] for copy in copies if copy["end"] == step])
            accesses = 0
            for access in [access for access in problem["accesses"] if access["step"] == step]:
                here = [at for at, row in enumerate(rows) if row["id"] == access["buffer"]
                        and int(row["lower"]) <= step < int(row["upper"])]
                filled = [at for at in here if not any(copy["to"] == at and step < copy["end"] for copy in copies)]
                # A piece that is copied elsewhere may live longer than its last access: the copy reads it.
                accesses += sizes[access["buffer"]] * min(costs[rows[at]["memory"]] for at in filled)
            now += max(duration, accesses)
        self.assertLessEqual(moved, set(range(len(rows))))
        return max(now, queue)

    def test_copies_beside_the_steps(self):
        path, out = HERE / "samples" / "prefetch.json", str(self.folder / "out.csv")
        problem = json.loads(path.read_text(encoding="utf-8"))
        done = self.run_it("--moves", "--json", "--out", out, str(path))
        told, rows = json.loads(done.stdout), self.rows(out)
        self.validate(problem)
        self.validate(told, "report.schema.json")
        # The weights leave the chip during step 2, which takes 9,000 ticks, and return during step 7. Each copy takes 6,050.
        self.assertEqual([(r["lower"], r["upper"], r["memory"]) for r in rows if r["id"] == "activations"], [("3", "7", "chip")])
        self.assertEqual([r["memory"] for r in rows if r["id"] == "weights"], ["chip", "outside", "chip"])
        self.assertEqual((told["copied"], told["waited"], len(told["copies"])), (1200, 0, 2))
        steps = 600 + 600 + 9000 + 800 + 100 + 100 + 800 + 7000 + 900 + 600
        self.assertEqual((told["cost"], told["lower_bound_of_cost"], told["status"]), (steps, steps, "optimal"))
        self.assertEqual(told["cost_without_moves"], steps + 800 * 9 * 2)  # the activations are outside
        self.assertEqual(self.elapsed(problem, rows, told["copies"]), steps)
        self.assertIn(f"; 2 copies of 1,200 bytes, for which steps wait 0 ticks; ticks {steps:,}, lower bound {steps:,} ", done.stderr)

        problem["copy"] = {"cost": 20}  # a copy takes 12,000 ticks, longer than the step
        changed = self.folder / "changed.json"
        changed.write_text(json.dumps(problem), encoding="utf-8")
        told = json.loads(self.run_it("--moves", "--json", "--out", out, str(changed)).stdout)
        self.assertEqual(self.elapsed(problem, self.rows(out), told["copies"]), told["cost"])
        self.assertLess(told["cost"], told["cost_without_moves"])
        self.assertLessEqual(told["lower_bound_of_cost"], told["cost"])

        for key, value, mistake in [("durations", [1, -1], "not an integer of 0 or more"), ("durations", [1], "buffer"),
                                    ("copy", {"latency": 1}, '"cost" is missing'), ("copy", {"cost": 1, "speed": 1}, '"speed" is unknown')]:
            changed.write_text(json.dumps(problem | {key: value}), encoding="utf-8")
            self.assertIn(mistake, self.run_it("--moves", str(changed), exits_with=2).stderr)
        del problem["durations"]
        changed.write_text(json.dumps(problem), encoding="utf-8")
        self.assertIn('"copy" without "durations"', self.run_it("--moves", str(changed), exits_with=2).stderr)

    def test_operands_in_different_banks(self):
        path, out = HERE / "samples" / "banks.json", self.folder / "plan.json"
        problem = json.loads(path.read_text(encoding="utf-8"))
        self.validate(problem)
        for options in ((), ("--moves",)):
            wanted = out if not options else self.folder / "out.csv"
            told = json.loads(self.run_it(*options, "--json", "--out", str(wanted), str(path)).stdout)
            self.assertIn(told["status"], ("optimal", "feasible"))
            rows = json.loads(out.read_text())["buffers"] if not options else self.rows(str(wanted))
            memory = {row["id"]: row["memories"][0] if not options else row["memory"] for row in rows}
            for one, other in problem["separate"]:
                self.assertNotEqual(memory[one], memory[other], (options, one, other))
        self.validate(json.loads(out.read_text()))
        self.assertEqual(json.loads(out.read_text())["separate"], problem["separate"])
        told = json.loads(self.run_it("--json", "--out", str(self.folder / "again.json"), str(out)).stdout)
        self.assertIn(told["status"], ("optimal", "feasible"))

        changed = self.folder / "changed.json"
        problem["separate"] += [["samples", "filtered"]]  # three buffers, of which each pair is separate
        for memories, code, sentence in [(3, 0, ""), (1, 2, "give --memory for each"),
                                         (2, 1, "\nall buffers fit, except that those of 4 pairs must be in different memories\n")]:
            changed.write_text(json.dumps(problem | {"memories": problem["memories"][3 - memories:]}), encoding="utf-8")
            done = self.run_it(str(changed), exits_with=code)
            self.assertIn(sentence, done.stdout + done.stderr)
        for buffer in problem["buffers"]:
            buffer["memories"] = ["outside"]
        changed.write_text(json.dumps(problem), encoding="utf-8")
        self.assertIn("permitted in the same memory only", self.run_it(str(changed), exits_with=2).stderr)

    def test_buffers_in_rows(self):
        path, out = HERE / "samples" / "rows.json", self.folder / "plan.json"
        problem = json.loads(path.read_text(encoding="utf-8"))
        self.validate(problem)
        done = self.run_it("--json", "--out", str(out), str(path))
        told, plan = json.loads(done.stdout), json.loads(out.read_text())
        self.validate(told, "report.schema.json")
        self.validate(plan)
        self.assertLess(told["cost"], told["cost_of_whole_buffers"])
        self.assertEqual(sum(each["size"] for each in plan["buffers"]), sum(each["size"] for each in problem["buffers"]))
        cost, rows = 0, {each["id"]: each for each in problem["buffers"]}
        for each in plan["buffers"]:
            whole = rows[each["id"].split("[")[0]]
            self.assertEqual((each["live"], each["uses"], each["size"] % (whole["size"] // whole.get("rows", 1))), (whole["live"], whole["uses"], 0))
            cost += each["size"] * each["uses"] * {"VTCM": 1, "DDR": 10}[each["memories"][0]]
        self.assertEqual(cost, told["cost"])
        self.assertIn(f"4 buffers in {len(plan['buffers'])} parts", done.stderr)
        again = json.loads(self.run_it("--json", str(out)).stdout)
        self.assertEqual((again["buffers"], again["status"]), (len(plan["buffers"]), "optimal"))
        for change, reason in [({"rows": 0}, "a buffer has 1 row or more, not 0"), ({"rows": 55}, "the size 150528 is not a multiple of the 55 rows"),
                               ({"rows": -1}, '"rows" is not an unsigned 64-bit integer'), ({"rows": 1.5}, '"rows" is not an unsigned'),
                               ({"rows": "4"}, '"rows" is not an unsigned'), ({"row": 4}, '"row" is unknown')]:
            changed = self.file("changed.json", json.dumps(problem | {"buffers": [problem["buffers"][0] | change]}))
            self.refused(changed, 1, reason if "unsigned" not in reason else '"rows" is not an unsigned 64-bit integer')
        changed = self.file("changed.json", json.dumps(problem | {"symbols": {"n": [1, 2]}}))
        self.refused(changed, 1, '"rows" cannot be used with "symbols"')
        changed = self.file("changed.json", json.dumps(problem | {"buffers": [each | {"memories": ["DDR"]} for each in problem["buffers"]]}))
        self.assertNotIn("divided", json.loads(self.run_it("--json", changed).stdout))  # there is no choice of memories
        self.assertIn("--row cannot be used with it", self.run_it("--row", "4", str(out), exits_with=2).stderr)

    def test_every_format_becomes_json(self):
        out = self.folder / "plan.json"
        network = str(ROOT / "examples" / "apps" / "network_demo" / "alexnet.network")
        for sample in (str(HERE / "five.csv"), network, str(HERE / "samples" / "two_layers.mlir"), str(Xla.SAMPLE), str(HERE / "kernel.json")):
            told = json.loads(self.run_it("--json", "--out", str(out), sample).stdout)
            self.validate(json.loads(out.read_text()))
            again = json.loads(self.run_it("--json", str(out)).stdout)
            self.assertEqual((again["peak"], again["buffers"]), (told["peak"], told["buffers"]), sample)
        both = ("--moves", "--memory", "fast:1MiB", "--memory", "slow:1GiB")
        self.assertIn("write a table", self.run_it(*both, "--out", str(out), network, exits_with=2).stderr)

    def test_what_is_refused(self):
        def buffer(**fields):
            return lambda whole: whole["buffers"][1].update(fields)

        for change, needle, reason in [
            (buffer(colour=1), '"id": "state"', '"colour" is unknown'),
            (buffer(id="a,b"), '"id": "a,b"', '"id" is empty, or contains a quote, a comma or a line break'),
            (buffer(id="input"), '"id": "input"', 'the buffer "input" is given twice'),
            (buffer(live=[]), '"id": "state"', "the buffer has no lifetime"),
            (buffer(live=[[3]]), '"id": "state"', "a lifetime does not have the form [FIRST, END] with two integers"),
            (buffer(live=[[3, 3]]), '"id": "state"', "a lifetime ends before it begins"),
            (buffer(live=[[0, 2 ** 63]]), '"id": "state"', "a step exceeds 63 bits"),
            (buffer(live=[[0, 3], [2, 4]]), '"id": "state"', "two lifetimes of the buffer overlap"),
            (buffer(alignment=24), '"id": "state"', "the alignment 24 is not a power of two"),
            (buffer(size=2 ** 64 - 9), '"id": "state"', "the sum of the sizes up to here exceeds 64 bits"),
            (buffer(memories=[]), '"id": "state"', '"memories" is empty'),
            (buffer(memories=["far"]), '"id": "state"', '"memories" contains "far", which is no memory'),
            (buffer(paged=1), '"id": "state"', '"paged" is not of type boolean'),
            (lambda whole: whole["memories"][1].update(name="fast"), '"name": "fast",\n   "cost"', 'the memory "fast" is given twice'),
            (lambda whole: whole["memories"][0].update(cost=4), '"name": "slow"', 'the memory "slow" costs less than the previous one'),
            (lambda whole: whole.update(memories=[]), "{", "there are not 1 to 64 memories"),
            (lambda whole: whole.update(buffers=[]), "{", "the file contains no buffers"),
            (lambda whole: whole.update(together=[["input", "x"]]), None, 'unknown buffer "x"'),
            (lambda whole: whole.update(separate=[["input", "x"]]), None, 'unknown buffer "x"'),
            (lambda whole: whole.update(apart=[["input"]]), None, '"apart" contains ["input"], not a pair'),
            (lambda whole: whole.update(apart=[["input", "input"]]), None, 'both buffers of the pair ["input","input"] are the same'),
            (lambda whole: whole.update(accesses=[{"buffer": "x", "step": 1}]), '"buffer": "x"', 'unknown buffer "x"'),
            (lambda whole: whole["memories"][0].update(reserved=[{"offset": 0, "size": 8}]), None,
             "reserved bytes need each buffer to be permitted in one memory; use a fixed buffer instead"),
            (lambda whole: whole.update(extra=1), "{", '"extra" is unknown'),
        ]:
            with self.subTest(reason=reason):
                path = self.problem(change)
                text = self.run_it(path, exits_with=2).stderr
                self.assertRegex(text, r"problem\.json:\d+: " + re.escape(reason) + r"\n$")
                if needle:
                    before = Path(path).read_text().rindex(needle)
                    line = Path(path).read_text()[:before].count("\n") + (1 if needle == "{" else 0)
                    self.assertIn(f":{line if needle != '{' else 1}: ", text)

    def test_a_member_whose_name_is_a_line_break_is_refused(self):
        buffer = '{"id": "a", "size": 4, "live": [[0, 3]]'
        for line, text in ((2, '{\n"\\n": 1, "buffers": [' + buffer + "}]}"), (2, '{"buffers": [\n' + buffer + ', "\\n": 1}]}')):
            self.refused(self.file("x.json", text), line, r'"\n" is unknown')

    def test_programs_of_executorch(self):
        wheel = ROOT / "build" / "tools" / "executorch"
        programs = ROOT / "tests" / "integration" / "executorch"
        if not wheel.exists():
            self.skipTest("the wheel of executorch is not in build/tools")
        def convert(path, *options):
            return subprocess.run([sys.executable, str(HERE / "pte_to_plan.py"), *options, str(path)], capture_output=True, text=True,
                                  check=False)
        for name, own in (("greedy", 96000), ("allot", 84000)):  # as export.py prints them
            done = convert(programs / f"keywords_{name}.pte")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.validate(json.loads(done.stdout))
            told = json.loads(self.run_it("--json", self.file("p.json", done.stdout)).stdout)
            self.assertEqual((told["peak"], told["own_peak"], told["status"]), (84000, own, "optimal"))
        self.assertIn("select one with --method", convert(programs / "keywords_allot.pte", "--method", "none").stderr)
        content = (programs / "keywords_allot.pte").read_bytes()
        for text in (b"", content[:1000], content[:8] + bytes(1000)):
            done = convert(self.file("damaged.pte", text))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"^\S+damaged.pte: [^\n]+\n$")

    def test_damaged_programs_of_executorch(self):
        def tensor(*sizes):
            place = {"memory_id": 1, "memory_offset_low": 0, "memory_offset_high": 0}
            return {"val_type": "Tensor", "val": {"scalar_type": "FLOAT", "sizes": sizes, "allocation_info": place}}

        def problem(*values, plans=1):
            call = {"instr_args_type": "KernelCall", "instr_args": {"args": list(range(len(values)))}}
            plan = {"name": "forward", "values": values, "chains": [{"instructions": [call]}],
                    "non_const_buffer_sizes": [0, 64]}
            return pte_to_plan.problem_of(pte_to_plan.method_of({"execution_plan": [plan] * plans}, None))

        def items(kind, *indexes):
            return {"val_type": kind, "val": {"items": indexes}}

        made = problem(tensor(2, 3), items("TensorList", 0), items("OptionalTensorList", 0, -1, 9), {"val_type": "Null"})
        self.assertEqual([(each["size"], each["live"]) for each in made["buffers"]], [(24, [[0, 1]])])
        for values, plans, reason in [
            ([tensor(4), items("TensorList", 0, 1)], 1, "value 1 is a list that contains the list 1"),
            ([items("TensorList", 1), items("OptionalTensorList", 0)], 1, "value 0 is a list that contains the list 1"),
            ([tensor(2, -3)], 1, "tensor 0 has -24 bytes"),
            ([tensor(2 ** 31, 2 ** 31)], 1, "tensor 0 has 18446744073709551616 bytes"),
            ([], 1, "the program plans no tensors"),
            ([], 0, "the program has no method."),
        ]:
            with self.subTest(reason=reason), self.assertRaisesRegex(pte_to_plan.Refused, re.escape(reason)):
                problem(*values, plans=plans)


class Queues(Formats):
    """Problems in JSON whose operators run on several queues."""

    TWO = {"buffers": [{"id": "a", "size": 512}, {"id": "b", "size": 512}, {"id": "c", "size": 256, "alignment": 64}],
           "operators": [{"queue": "copy", "uses": ["a"]}, {"queue": "compute", "uses": ["b"]}, {"queue": "copy", "uses": ["a"]},
                         {"queue": "compute", "uses": ["c"], "after": [0]}]}

    def problem(self, change=lambda whole: None):
        whole = copy.deepcopy(self.TWO)
        change(whole)
        return self.file("queues.json", json.dumps(whole, indent=1))

    def test_buffers_share_bytes_only_if_their_uses_are_ordered(self):
        Json.validate(self, self.TWO)
        told, rows = self.plan(self.problem())
        self.assertEqual((told["peak"], told["status"]), (1024, "optimal"))  # c has bytes of b: their queue orders them
        self.assertEqual([(row["id"], row["lower"], row["upper"]) for row in rows], [("a", "0", "3"), ("b", "1", "2"), ("c", "3", "4")])
        last = lambda whole: whole["operators"][3].update(after=[2])  # noqa: E731
        self.assertEqual(self.plan(self.problem(last))[0]["peak"], 1024)
        alone = lambda whole: whole["operators"][3].update(queue="third", after=[])  # noqa: E731
        self.assertEqual(self.plan(self.problem(alone))[0]["peak"], 1280)

    def test_why_no_plan_fits(self):
        done = self.run_it("--capacity", "1000", self.problem(), exits_with=1)
        self.assertIn("these buffers can be in use at the same time, and have 24 bytes more than the capacity of 1,000: "
                      "a (512 bytes), b (512 bytes)\n", done.stdout)

    def test_random_operators(self):
        chance = random.Random(3)
        for _ in range(20):
            count = chance.randrange(4, 30)
            operators = [{"queue": f"q{chance.randrange(3)}", "uses": [],
                          "after": chance.sample(range(now), min(now, chance.randrange(3)))} for now in range(count)]
            buffers = [{"id": f"b{i}", "size": chance.randrange(1, 500)} for i in range(chance.randrange(2, 25))]
            for each in buffers:
                for now in chance.sample(range(count), min(count, chance.randrange(1, 3))):
                    operators[now]["uses"].append(each["id"])
            told, rows = self.plan(self.file("q.json", json.dumps({"buffers": buffers, "operators": operators})))
            before = []  # of each operator: those that have surely ended
            for now, each in enumerate(operators):
                direct = set(each["after"]) | {i for i in range(now) if operators[i]["queue"] == each["queue"]}
                before.append(direct.union(*(before[i] for i in direct)))
            uses = {b["id"]: [now for now, each in enumerate(operators) if b["id"] in each["uses"]] for b in buffers}
            ordered = lambda a, b: all(x in before[y] for x in uses[a] for y in uses[b])  # noqa: E731
            for one in rows:
                self.assertLessEqual(int(one["offset"]) + int(one["size"]), told["peak"])
                for other in rows:
                    apart = (int(one["offset"]) >= int(other["offset"]) + int(other["size"])
                             or int(other["offset"]) >= int(one["offset"]) + int(one["size"]))
                    self.assertTrue(one is other or apart or ordered(one["id"], other["id"]) or ordered(other["id"], one["id"]))

    def test_what_is_refused(self):
        def operator(**fields):
            return lambda whole: whole["operators"][1].update(fields)

        for change, reason in [
            (operator(after=[1]), '"after" contains 1, which is not the position of an earlier operator'),
            (operator(after=["a"]), '"after" contains "a", which is not the position of an earlier operator'),
            (operator(uses=["x"]), 'unknown buffer "x"'),
            (operator(uses=[]), 'no operator uses the buffer "b"'),
            (operator(colour=1), '"colour" is unknown'),
            (lambda whole: whole["buffers"][0].update(live=[[0, 1]]), '"live" is unknown'),
            (lambda whole: whole.update(apart=[["a", "b"]]), '"operators" cannot be used with "apart"'),
            (lambda whole: whole.update(separate=[["a", "b"]]), '"operators" cannot be used with "separate"'),
            (lambda whole: whole.update(operators=[{"queue": f"q{i}", "uses": ["a", "b", "c"]} for i in range(65)]),
             "the file has more than 64 queues")]:
            self.assertRegex(self.run_it(self.problem(change), exits_with=2).stderr, r"queues\.json:\d+: " + re.escape(reason) + r"\n$")
        for option in (["--pages", "64"], ["--memory", "a:1000", "--memory", "b:1000"], ["--out", str(self.folder / "plan.json")],
                       ["--certificate", str(self.folder / "proof.json")]):
            self.assertIn("has several queues", self.run_it(*option, self.problem(), exits_with=2).stderr)


@unittest.skipUnless(WITH_JSON, "built without a JSON library")
class Refusals(Formats):
    PROBLEM = {"memories": [{"name": "fast"}, {"name": "slow"}], "buffers": [{"id": "a", "size": 4, "live": [[0, 1]]}]}

    def test_a_message_is_one_line(self):
        path = self.file("p.json", json.dumps({**self.PROBLEM, "x\ny": 1}))
        self.refused(path, 1, '"x y" is unknown')

    def test_no_file_is_left(self):
        path, names = self.file("p.json", json.dumps(self.PROBLEM)), ("p.svg", "p.html", "c.json", "o.csv")
        files = [str(self.folder / name) for name in names]
        options = zip(("--svg", "--html", "--certificate", "--out"), files)
        done = self.run_it(*itertools.chain(*options), path, exits_with=2)
        self.assertIn("for which no certificate exists", done.stderr)
        self.assertEqual([each.name for each in self.folder.iterdir()], ["p.json"])


class Graphs(Formats):
    """Two branches, and a concatenation of their results."""

    NETWORK = """network two
tensor 0 100 float32 1x1x5x5 x
tensor 1 900 float32 1x9x5x5 a
tensor 2 900 float32 1x9x5x5 b
tensor 3 900 float32 1x9x5x5 c
tensor 4 100 float32 1x1x5x5 d
tensor 5 100 float32 1x1x5x5 e
tensor 6 200 float32 1x2x5x5 y
tensor 7 200 float32 1x50 z
input 0
output 7
step 0 Conv 0 -> 1
step 1 Conv 0 -> 3
step 2 Relu 1 -> 2
step 3 Conv 2 -> 4
step 4 Conv 3 -> 5
step 5 Concat 4 5 -> 6
step 6 Flatten 6 -> 7
"""

    def peaks(self, text, *arguments):
        return json.loads(self.run_it("--json", *arguments, self.file("two.network", text)).stdout)["peak"]

    def places(self, text):
        path = self.file("two.network", text)
        return {row["id"]: int(row["offset"]) for row in self.plan(path, "--order", "--in-place")[1]}

    def test_peaks(self):
        self.assertEqual(self.peaks(self.NETWORK), 900 * 3)                      # a, b and c
        self.assertEqual(self.peaks(self.NETWORK, "--in-place"), 900 * 2 + 100)  # x, a and c
        self.assertEqual(self.peaks(self.NETWORK, "--order"), 900 * 2 + 100)     # x, a and b
        self.assertEqual(self.peaks(self.NETWORK, "--order", "--in-place"), 900 + 100 + 100)

    def test_parts_of_a_concatenation_lie_in_it(self):
        places = self.places(self.NETWORK)
        self.assertEqual((places["4"] - places["6"], places["5"] - places["6"], places["7"] - places["6"]), (0, 100, 0))
        self.assertEqual(places["1"], places["2"])

    # The tensors of a group have one offset. With views, each plan needs more bytes than the lowest one without views.
    HIGHER = {
        (10, "0 1 2 3 4 5"): """network higher
tensor 0 2 u8 2 a
tensor 1 1 u8 1 b
tensor 2 3 u8 3 c
tensor 3 2 u8 2 d
tensor 4 1 u8 1 e
tensor 5 6 u8 6 f
input 0
output 3
output 4
output 5
step 0 Slice 0 -> 1 from 0
step 1 Concat 1 0 -> 2
step 2 Conv 0 -> 3
step 3 Slice 2 -> 4 from 0
step 4 Conv 1 -> 5
""",
        (13, "0 1 2 3 4 5 6"): """network higher
tensor 0 6 u8 6 a
tensor 1 3 u8 3 b
tensor 2 3 u8 3 c
tensor 3 4 u8 4 d
tensor 4 3 u8 3 e
tensor 5 1 u8 1 f
tensor 6 5 u8 5 g
input 0
output 1
output 6
step 0 Split 0 -> 1 2
step 1 Conv 2 -> 3 4
step 2 Slice 4 -> 5 from 2
step 3 Concat 3 5 -> 6
"""}

    # The order with the fewest live bytes if all parts are views needs 31 bytes: parts in use at once lie apart.
    PARTS = """network parts
tensor 0 3 u8 1x3 a
tensor 1 3 u8 1x3 b
tensor 2 1 u8 1x1 c
tensor 3 4 u8 1x4 d
tensor 4 6 u8 1x6 e
tensor 5 10 u8 1x10 f
tensor 6 9 u8 1x9 g
tensor 7 10 u8 1x10 h
tensor 8 6 u8 1x6 i
input 0
input 1
output 6
output 7
output 8
step 0 Conv 1 -> 2
step 1 Concat 1 2 -> 3
step 2 Conv 2 -> 4
step 3 Concat 1 0 3 -> 5
step 4 Concat 1 4 -> 6
step 5 Relu 5 -> 7
step 6 Conv 1 -> 8
"""

    def test_orders_for_fewer_shared_bytes_are_planned(self):
        self.assertEqual(self.peaks(self.PARTS, "--order"), 28)
        told = self.plan(self.file("parts.network", self.PARTS), "--order", "--in-place")[0]
        self.assertEqual((told["peak"], told["order_bound"]), (25, 25))

    def test_shared_bytes_never_make_an_order_higher(self):
        for seed in range(60):
            chance, sizes, steps = random.Random(seed), [], []
            for _ in range(chance.randint(1, 2)):
                sizes.append(chance.randint(1, 4))
            inputs = len(sizes)
            for _ in range(chance.randint(4, 7)):
                name = chance.choice(["Conv", "Relu", "Concat"])
                reads = chance.sample(range(len(sizes)), min(len(sizes), chance.randint(2, 3) if name == "Concat" else 1))
                steps.append((name, reads, len(sizes)))
                sizes.append(chance.randint(1, 6) if name == "Conv" else sum(sizes[each] for each in reads))
            read = {each for _, reads, _ in steps for each in reads}
            text = "network random\n"
            text += "".join(f"tensor {i} {size} u8 1x{size} t{i}\n" for i, size in enumerate(sizes))
            text += "".join(f"input {i}\n" for i in range(inputs))
            text += "".join(f"output {i}\n" for i in range(inputs, len(sizes)) if i not in read)
            text += "".join(f"step {i} {name} {' '.join(map(str, reads))} -> {made}\n"
                            for i, (name, reads, made) in enumerate(steps))
            self.assertLessEqual(self.peaks(text, "--order", "--in-place"), self.peaks(text, "--order"), text)

    def test_views_that_make_each_plan_higher_are_not_used(self):
        for (peak, ids), text in self.HIGHER.items():
            path = self.file("higher.network", text)
            self.assertEqual(self.peaks(text), peak)
            told, rows = self.plan(path, "--in-place")
            self.assertEqual((told["peak"], told["status"]), (peak, "optimal"))
            self.assertEqual(" ".join(row["id"] for row in rows), ids)
            self.judge(rows, peak)
            told = self.plan(path, "--in-place", "--capacity", str(peak))[0]  # fits only without views
            self.assertEqual((told["peak"], told["status"]), (peak, "optimal"))

    def test_several_memories_without_views_that_make_each_plan_worse(self):
        path = self.file("higher.network", self.HIGHER[13, "0 1 2 3 4 5 6"])
        for slow in (1, 100):  # with views, a buffer of 3 bytes is in the slow memory
            memories = ("--memory", "fast:13", "--memory", f"slow:{slow}")
            for options in ((), ("--in-place",), ("--order", "--in-place")):
                told, rows = self.plan(path, *options, *memories)
                self.assertEqual((told["cost"], told["status"]), (0, "optimal"))
                self.assertEqual([row["memory"] for row in rows], ["fast"] * 7)
        memories = ("--memory", "fast:1", "--memory", "slow:1")
        self.assertIn("fit these memories", self.run_it("--in-place", *memories, path, exits_with=1).stdout)

    def test_several_memories_with_shared_bytes_that_make_a_plan_cheaper(self):
        path, memories = self.file("x.network", self.NETWORK), ("--memory", "fast:1000", "--memory", "slow:2000")
        self.assertLess(self.plan(path, "--in-place", *memories)[0]["cost"], self.plan(path, *memories)[0]["cost"])

    def test_parts_that_are_not_consecutive_are_copied(self):
        rows = self.NETWORK.replace("1x2x5x5", "5x2x5x1").replace("1x1x5x5", "5x1x5x1")
        places = self.places(rows)
        for part in "45":
            self.assertFalse(places["6"] < places[part] + 100 and places[part] < places["6"] + 200)

    COLUMNS = """network columns
tensor 0 40 float32 10 x
tensor 1 100 float32 5x1x5x1 a
tensor 2 200 float32 5x2x5x1 b
tensor 3 300 float32 5x3x5x1 c
tensor 4 40 float32 10 y
input 0
output 4
step 0 Conv 0 -> 1
step 1 Conv 0 -> 2
step 2 Concat 1 2 -> 3
step 3 Gemm 3 -> 4
"""

    def test_parts_in_rows_lie_in_their_concatenation(self):
        path = self.file("columns.network", self.COLUMNS)
        for strided, peak in (("conv", 340), ("Gemm", 600), ("Relu,Concat", 600)):
            told, table = self.plan(path, "--in-place", "--strided", strided)
            self.assertEqual(told["peak"], peak)
            places = {row["id"]: (int(row["offset"]), row["row"], row["stride"]) for row in table}
            begin = places["3"][0]
            if peak == 340:
                self.assertEqual([places["1"], places["2"]], [(begin, "20", "60"), (begin + 20, "40", "60")])
            else:
                self.assertEqual([places["1"][1:], places["2"][1:]], [("", "")] * 2)
            self.assertEqual(places["3"][1:], ("", ""))
        self.assertEqual(self.peaks(self.COLUMNS, "--in-place"), 600)

    def sliced(self, shape, begin, part, *arguments):
        """Returns the addresses of the elements of a slice, in bytes from its tensor; None if the slice is a copy."""
        sizes = [1, 4 * math.prod(shape), 4 * math.prod(part), 1]
        shapes = ["1", "x".join(map(str, shape)), "x".join(map(str, part)), "1"]
        lines = [f"tensor {id} {sizes[id]} float32 {shapes[id]} t{id}" for id in range(4)]
        steps = ["step 0 Conv 0 -> 1", "step 1 Slice 1 -> 2 from " + "x".join(map(str, begin)), "step 2 Gemm 2 -> 3"]
        path = self.file("slice.network", "\n".join(["network s", *lines, "input 0", "output 3", *steps, ""]))
        rows = {row["id"]: row for row in self.plan(path, "--in-place", *arguments)[1]}
        start = int(rows["2"]["offset"]) - int(rows["1"]["offset"])
        if not 0 <= start < sizes[1]:
            return None
        row, stride = (int(rows["2"].get(column) or 0) for column in ("row", "stride"))
        return [start + (byte // row * stride + byte % row if row else byte) for byte in range(0, sizes[2], 4)]

    def test_slices_are_views(self):
        chance = random.Random(3)
        found = {"consecutive": 0, "rows": 0, "copied": 0}
        for _ in range(40):
            shape = [chance.randrange(1, 4) for _ in range(chance.randrange(2, 6))]
            part = [extent if chance.random() < 0.5 else chance.randrange(1, extent + 1) for extent in shape]
            begin = [chance.randrange(0, extent - each + 1) for extent, each in zip(shape, part)]
            indexes = itertools.product(*(range(first, first + each) for first, each in zip(begin, part)))
            addresses = []
            for index in indexes:
                position = 0
                for extent, each in zip(shape, index):
                    position = position * extent + each
                addresses.append(4 * position)
            layouts = [(row, stride) for row in range(1, math.prod(part) + 1) for stride in range(4, 4 * math.prod(shape) + 1, 4)
                       if addresses == [addresses[0] + i // row * stride + i % row * 4 for i in range(len(addresses))]]
            is_consecutive = any(row == math.prod(part) for row, _ in layouts)
            found["consecutive" if is_consecutive else "rows" if layouts else "copied"] += 1
            place = self.sliced(shape, begin, part)
            self.assertEqual(place, addresses if is_consecutive else None, (shape, begin, part))
            place = self.sliced(shape, begin, part, "--strided", "Gemm")
            self.assertEqual(place, addresses if layouts else None, (shape, begin, part))
        self.assertGreater(min(found.values()), 1, found)

    def test_wrong_slices(self):
        head = "network s\ntensor 0 12 u8 3x4 x\ntensor 1 4 u8 2x2 y\ninput 0\noutput 1\nstep 0 Slice "
        for step, reason in (("0 -> 1 from 2x0", "the slice is not inside tensor 0"), ("0 -> 1 from 0", "the slice is not inside tensor 0"),
                             ("0 -> 1 from 0xa", "the slice is not inside tensor 0"),
                             ("0 -> 1 from", 'one list of numbers follows the word "from"'),
                             ("0 -> 1 from 0x0 1", 'one list of numbers follows the word "from"'),
                             ("-> 1 from 0x0", 'a step with "from" reads one or more tensors and writes one')):
            self.refused(self.file("s.network", head + step + "\n"), 6, reason)

    def test_a_slice_in_the_new_order(self):
        text = ("network s\ntensor 0 12 u8 3x4 x\ntensor 1 4 u8 2x2 y\ninput 0\noutput 1\n"
                "step 0 Slice 0 -> 1 from 1x2\n")
        out = self.folder / "out.network"
        self.run_it("--order", "--out", str(out), self.file("s.network", text))
        self.assertEqual(out.read_text(), text)

    def test_the_network_in_the_new_order(self):
        out = self.folder / "out.network"
        path = self.file("two.network", self.NETWORK)
        first = json.loads(self.run_it("--json", "--order", "--out", str(out), path).stdout)
        again = json.loads(self.run_it("--json", str(out)).stdout)
        self.assertEqual((first["peak"], first["given_bound"]), (again["peak"], 2700))
        self.assertEqual((first["order_bound"], "order_bound" in again), (first["peak"], False))
        self.assertIn(f"; every order needs {first['peak']:,} bytes or more; ", self.run_it("--order", path).stdout)
        steps = [[line.split(" ", 2)[2] for line in text.splitlines() if line.startswith("step")]
                 for text in (out.read_text(), self.NETWORK)]
        self.assertNotEqual(*steps)
        self.assertEqual(sorted(steps[0]), sorted(steps[1]))

    def test_the_bound_of_all_orders_counts_shared_bytes_once(self):
        # y is a part of x, and z of x and of c.
        text = ("network s\ntensor 0 12 u8 12 x\ntensor 1 8 u8 8 y\ntensor 2 4 u8 4 z\ntensor 3 12 u8 12 c\ninput 0\noutput 0\noutput 1\n"
                "output 3\nstep 0 Slice 0 -> 1 from 0\nstep 1 Slice 0 -> 2 from 8\nstep 2 Concat 2 1 -> 3\n")
        path = self.file("s.network", text)
        self.assertEqual(json.loads(self.run_it("--json", "--order", path).stdout)["order_bound"], 12 + 8 + 4 + 12)
        told = json.loads(self.run_it("--json", "--order", "--in-place", path).stdout)
        self.assertEqual(told["order_bound"], 12)
        self.assertLessEqual(told["peak"], 24)
        part = self.file("t.network", text.split("tensor 2")[0] + "input 0\noutput 0\noutput 1\nstep 0 Slice 0 -> 1 from 0\n")
        told = json.loads(self.run_it("--json", "--order", "--in-place", part).stdout)
        self.assertEqual((told["peak"], told["order_bound"]), (12, 12))

    # b is live beside the large tensor only because step 3 reads it again. Step 0 reads and writes 510 of 2,795 bytes.
    TWICE = """network twice
tensor 0 10 u8 10 x
tensor 1 500 u8 500 b
tensor 2 20 u8 20 c
tensor 3 600 u8 600 large
tensor 4 20 u8 20 d
tensor 5 5 u8 5 y
input 0
output 5
step 0 Conv 0 -> 1
step 1 Conv 1 -> 2
step 2 Conv 2 -> 3
step 3 Conv 3 -> 4
step 4 Conv 1 4 -> 5
"""

    def test_a_repeated_operator(self):
        self.assertEqual(self.peaks(self.TWICE), 500 + 20 + 600)
        self.assertEqual(self.peaks(self.TWICE, "--recompute", "10"), 500 + 20 + 600)  # 510 bytes are above 10 %
        out = self.folder / "out.network"
        path = self.file("two.network", self.TWICE)
        told = json.loads(self.run_it("--json", "--order", "--recompute", "30", "--out", str(out), path).stdout)
        self.assertNotIn("order_bound", told)  # with repeated operators, fewer bytes may suffice
        self.assertEqual((told["peak"], told["given_bound"], told["buffers"]), (10 + 20 + 600, 1120, 7))
        again = json.loads(self.run_it("--json", str(out)).stdout)
        self.assertEqual(again["peak"], told["peak"])
        steps = [line.split(" ", 2)[2] for line in out.read_text().splitlines() if line.startswith("step")]
        self.assertEqual(steps, ["Conv 0 -> 1", "Conv 1 -> 2", "Conv 2 -> 3", "Conv 3 -> 4", "Conv 0 -> 6", "Conv 6 4 -> 5"])

    def test_operators_with_random_results_are_not_repeated(self):
        random_first = self.TWICE.replace("step 0 Conv", "step 0 RandomNormalLike")
        self.assertEqual(self.peaks(random_first, "--recompute", "100"), 1120)

    def test_wrong_options(self):
        table = self.table(HEAD + "\na,0,1,8\n")
        network = self.file("two.network", self.NETWORK)
        for arguments, reason in (
                (("--order", table), "states no operators"),
                (("--in-place", "--pages", "4", network), "cannot be given with --pages or --moves"),
                (("--strided", "Conv", network), "--strided needs --in-place"),
                (("--in-place", "--strided", "Conv,", network), '"Conv," is not a list of operators'),
                (("--recompute", "x", network), '"x" is not a percentage from 0 to 1000'),
                (("--recompute", "10", table), "states no operators"),
                (("--out", "x.network", network), "give --order")):
            self.assertIn(reason, self.run_it(*arguments, exits_with=2).stderr)


class Branches(Formats):
    """Networks with branches and loops. The plan is executed along random paths."""

    TEXT = ("network n\ntensor 0 100 u8 100 x\ntensor 1 400 u8 400 a\ntensor 2 300 u8 300 b\ntensor 3 50 u8 50 y\n"
            "tensor 4 70 u8 70 e\ninput 0\noutput 3\nstep 0 Prepare 0 -> 4\nstep 1 If 0 -> next 2 4\nstep 2 Then 0 -> 1\n"
            "step 3 Then 1 -> 3 next 6\nstep 4 Else 0 4 -> 2\nstep 5 Else 2 -> 3\nstep 6 Last 3 ->\n")

    def test_the_branches_of_if(self):
        path = self.file("n.network", self.TEXT)
        told, rows = self.plan(path)
        self.assertEqual((told["peak"], told["status"]), (500, "optimal"))  # x and a; in the other branch x, e and b
        self.assertEqual([(row["lower"], row["upper"], row["gaps"]) for row in rows],
                         [("0", "5", "3-4"), ("2", "4", ""), ("4", "6", ""), ("3", "7", "4-5"), ("0", "5", "2-4")])
        again = self.file("plan.csv", (self.folder / "out.csv").read_text())
        self.assertEqual(self.plan(again)[0]["peak"], 500)

    def test_mistakes(self):
        end = "tensor 0 8 u8 8 x\ntensor 1 8 u8 8 y\n"
        for steps, line, reason in [
                ("step 0 A -> 0\nstep 1 B 0 -> 1 next\n", 5, 'no step follows the word "next"'),
                ("step 0 A -> 0 next 3\nstep 1 B 0 -> 1\n", 4, "a step is followed by a step that does not exist"),
                ("step 0 A -> 0 next 2\nstep 1 B 0 -> 1\n", 5, "no path leads to a step"),
                ("step 0 A -> 0 next x\n", 4, '"x" is not an integer of 0 or more'),
                ("step 0 A -> 0 1\nstep 1 B 0 -> 1\n", 5, "the step writes tensor 1, which is an input or already written")]:
            self.refused(self.file("n.network", "network n\n" + end + steps), line, reason)
        path = self.file("n.network", "network n\n" + end + "step 0 A -> next 1 2\nstep 1 B -> 0 1\nstep 2 C 0 ->\n")
        self.refused(path, 2, "a path leads to a read of tensor 0 before a step writes it")
        path = self.file("n.network", "network n\n# a comment\ntensor 0 4 u8 4 x\ntensor 1 4 u8 4 y\ninput 0\n")
        self.refused(path, 4, "tensor 1 is not an input, and no step writes it")
        path = self.file("n.network", self.TEXT)
        for options in (["--recompute", "9"], ["--moves", "--memory", "a:300", "--memory", "b:1MiB:3"]):
            self.assertIn("not support branches and loops", self.run_it(*options, path, exits_with=2).stderr)

    def program(self, chance):
        """Returns the sizes of tensors, and steps [reads, writes, next] of random branches and loops."""
        sizes, steps = [chance.randrange(1, 90)], []

        def fresh():
            sizes.append(chance.randrange(1, 90))
            return len(sizes) - 1

        def some(known):
            return chance.sample(sorted(known), min(len(known), chance.randrange(3)))

        def block(known, depth):
            """Adds steps that read the known tensors. Returns the tensors known afterwards."""
            for _ in range(chance.randrange(1, 5)):
                kind = chance.choice(["step", "step", "if", "loop"]) if depth else "step"
                if kind == "if":
                    steps.append([some(known), [], []])
                    choice, result = steps[-1], fresh()
                    choice[2].append(len(steps))
                    inside = block(set(known), depth - 1)
                    steps.append([some(inside), [result], []])
                    last = steps[-1]
                    choice[2].append(len(steps))
                    inside = block(set(known), depth - 1)
                    steps.append([some(inside), [result], []])
                    last[2].append(len(steps))
                    known.add(result)
                elif kind == "loop":
                    variable = fresh()
                    steps.append([some(known), [variable], []])
                    begin, start = steps[-1], len(steps)
                    inside = block(known | {variable}, depth - 1)
                    steps.append([some(inside), [variable], [start, len(steps) + 1]])
                    begin[2].extend([start, len(steps)])
                    known.add(variable)
                else:
                    written = chance.choice(sorted(known)) if chance.random() < 0.2 else fresh()
                    steps.append([[id for id in some(known) if id != written], [written], []])
                    known.add(written)
            return known

        known = block({0}, 3)
        return sizes, steps, chance.sample(sorted(known), min(2, len(known)))

    def walk(self, chance, places, steps, outputs):
        """Executes up to 200 steps of a path. Each byte of memory has the tensor that was written to it last."""
        memory, versions = {}, {}

        def write(id):
            versions[id] = versions.get(id, 0) + 1
            memory.update(dict.fromkeys(places[id], (id, versions[id])))

        def read(id, now):
            for byte in places[id]:
                self.assertEqual(memory[byte], (id, versions[id]), (id, now))

        write(0)
        now = 0
        for _ in range(200):
            if now == len(steps):
                for id in outputs:
                    read(id, now)
                return
            for id in steps[now][0]:
                read(id, now)
            for id in steps[now][1]:
                write(id)
            now = chance.choice(steps[now][2] or [now + 1])

    def test_random_programs_along_random_paths(self):
        chance = random.Random(5)
        gaps = 0
        for _ in range(15):
            sizes, steps, outputs = self.program(chance)
            text = "network n\n" + "".join(f"tensor {id} {size} u8 {size} t{id}\n" for id, size in enumerate(sizes))
            text += "input 0\n" + "".join(f"output {id}\n" for id in outputs)
            for i, (reads, writes, following) in enumerate(steps):
                words = ["step", i, "S", *reads, "->", *writes, *(["next", *following] if following else [])]
                text += " ".join(map(str, words)) + "\n"
            rows = self.plan(self.file("n.network", text))[1]
            gaps += sum(bool(row.get("gaps")) for row in rows)
            places = {int(row["id"]): range(int(row["offset"]), int(row["offset"]) + int(row["size"])) for row in rows}
            for _ in range(100):
                self.walk(chance, places, steps, outputs)
        self.assertGreater(gaps, 20)


class SharedBranches(Formats):
    """Networks with branches and loops whose tensors share bytes. The plan is executed along random paths."""

    class Maker:
        """A random network of matrices with `rows` rows. Columns of tensors, and steps [operator, reads, writes, begin, next]."""

        def __init__(self, chance):
            self.chance, self.rows = chance, chance.choice([1, 2])
            self.columns, self.steps = [2, 3], []
            known = self.block([0, 1], 2)
            self.outputs = sorted({known[-1], *chance.sample(known, min(2, len(known)))})

        def tensor(self, columns):
            self.columns.append(columns)
            return len(self.columns) - 1

        def add(self, name, reads, writes, begin=None):
            self.steps.append([name, reads, writes, begin, []])

        def write(self, known, out):
            """Adds a step that writes a given tensor."""
            source = self.chance.choice(known)
            same = self.columns[source] == self.columns[out] and source != out
            self.add(self.chance.choice(["Relu", "Identity", "Conv"]) if same else "Conv", [source], [out])

        def step(self, known):
            one, other = self.chance.choice(known), self.chance.choice(known)
            columns, kind = self.columns[one], self.chance.randrange(7)
            if kind == 0 and columns > 1:
                parts = [self.tensor(1), self.tensor(columns - 1)]
                self.add("Split", [one], parts)
                known += parts
            elif kind == 1 and columns > 1:
                part, first = self.chance.randrange(1, columns), self.chance.randrange(2)
                known.append(self.tensor(part))
                self.add("Slice", [one], [known[-1]], min(first, columns - part))
            elif kind == 2 and columns < 4 and one != other:
                known.append(self.tensor(columns + self.columns[other]))
                self.add("Concat", [one, other], [known[-1]])
            elif kind == 3:
                if one > 1:  # not an input
                    self.write(known, one)
            else:
                known.append(self.tensor(columns if kind < 6 else self.chance.randrange(1, 5)))
                self.write([one], known[-1])

        def block(self, known, depth):
            for _ in range(self.chance.randrange(2, 7)):
                kind = self.chance.choice(["step", "step", "if", "loop"]) if depth else "step"
                if kind == "if":
                    self.add("If", [], [])
                    choice, result = self.steps[-1], self.tensor(self.chance.randrange(1, 4))
                    for name in ("then", "else"):
                        choice[4].append(len(self.steps))
                        self.write(self.block(list(known), depth - 1), result)
                        if name == "then":
                            last = self.steps[-1]
                    last[4].append(len(self.steps))
                    known.append(result)
                elif kind == "loop":
                    known.append(self.tensor(self.chance.randrange(1, 4)))
                    self.write(known[:-1], known[-1])
                    start = len(self.steps)
                    self.block(list(known), depth - 1)
                    self.add("Loop", [], [])
                    self.steps[-1][4] += [start, len(self.steps)]
                else:
                    self.step(known)
            return known

        def text(self):
            lines = ["network n"]
            lines += [f"tensor {i} {self.rows * each} u8 {self.rows}x{each} t{i}" for i, each in enumerate(self.columns)]
            lines += ["input 0", "input 1", *(f"output {id}" for id in self.outputs)]
            for i, (name, reads, writes, begin, following) in enumerate(self.steps):
                words = ["step", i, name, *reads, "->", *writes, *([] if begin is None else ["from", f"0x{begin}"])]
                lines.append(" ".join(map(str, [*words, *(["next", *following] if following else [])])))
            return "\n".join(lines) + "\n"

    @staticmethod
    def steps_of(text):
        """Returns the steps of a network file."""
        steps = []
        for line in text.splitlines():
            if line.startswith("step"):
                words, _, following = line.partition(" next ")
                words, _, begin = words.partition(" from ")
                reads, writes = words.split(" ", 3)[3].split("->")
                steps.append([words.split()[2], list(map(int, reads.split())), list(map(int, writes.split())),
                              int(begin.split("x")[1]) if begin else None, list(map(int, following.split()))])
        return steps

    @staticmethod
    def values(made, step, contents):
        """Returns the contents that a step gives to the tensors that it writes: a list of columns for each row."""
        name, reads, writes, begin, _ = step
        whole = [contents[id] for id in reads]
        if name == "Identity":
            return whole
        if name == "Relu":
            return [[[hash(("Relu", each)) for each in row] for row in whole[0]]]
        if name == "Concat":
            return [[one + other for one, other in zip(*whole)]]
        if name == "Slice":
            return [[row[begin:begin + made.columns[writes[0]]] for row in whole[0]]]
        if name == "Split":
            return [[row[:1] for row in whole[0]], [row[1:] for row in whole[0]]]
        return [[[hash((name, str(whole), made.columns[id], row, column)) for column in range(made.columns[id])]
                 for row in range(made.rows)] for id in writes]

    def run_path(self, made, steps, choices, places=None):
        """Executes a path. Returns the outputs, or None if the path does not end. With places, memory must contain them."""
        contents, memory, choices, now = {}, {}, iter(choices), 0

        def check(id):
            for row, values in zip(places[id], contents[id]):
                self.assertEqual([memory[address] for address in row], values)

        def bytes_of(id):
            return [address for row in places[id] for address in row]

        def store(id, values):
            contents[id] = values
            for row, each in zip(places[id] if places else (), values):
                memory.update(zip(row, each))

        for id in (0, 1):
            store(id, [[hash((id, row, column)) for column in range(made.columns[id])] for row in range(made.rows)])
        for _ in range(300):
            if now == len(steps):
                for id in made.outputs if places else ():
                    check(id)
                return [contents[id] for id in made.outputs]
            name, reads, writes, _, following = steps[now]
            for id in reads if places else ():
                check(id)
            results = self.values(made, steps[now], contents)
            before = {id: contents[id] for id in reads}
            for id, values in zip(writes, results):
                store(id, values)
            for id in writes if places else ():
                check(id)
            for id in (each for each in reads if places and each not in writes):  # changed while the step reads it
                if [memory[address] for address in bytes_of(id)] != [value for row in before[id] for value in row]:
                    self.assertEqual((name, places[id]), ("Relu", places[writes[0]]))
            now = following[next(choices) % len(following)] if following else now + 1
        return None

    def places_of(self, made, rows):
        """Returns the addresses of the bytes of all tensors, by row of the matrix."""
        places = {}
        for each in rows:
            columns, offset = made.columns[int(each["id"])], int(each["offset"])
            row, stride = (int(each.get(name) or 0) for name in ("row", "stride"))
            addresses = [offset + (byte // row * stride + byte % row if row else byte) for byte in range(columns * made.rows)]
            places[int(each["id"])] = [addresses[i:i + columns] for i in range(0, len(addresses), columns)]
        return places

    def test_random_networks_along_random_paths(self):
        chance = random.Random(4)
        lower = dict.fromkeys(["--order", "--in-place", "--strided"], 0)
        for _ in range(12):
            made = self.Maker(chance)
            while not any(following for *_, following in made.steps):
                made = self.Maker(chance)
            path = self.file("n.network", made.text())
            given = json.loads(self.run_it("--json", path).stdout)
            peaks = [given["peak"]]
            for options in (["--order"], ["--order", "--in-place"], ["--order", "--in-place", "--strided", "Conv,Relu"]):
                told, rows = self.plan(path, *options)
                self.assertLessEqual(told["given_bound"], given["lower_bound"])
                lower[next(each for each in reversed(options) if each in lower)] += told["peak"] < peaks[-1]
                peaks.append(told["peak"])
                out = self.folder / "ordered.network"
                self.run_it(*options, "--out", str(out), path)
                ordered = self.steps_of(out.read_text())
                self.assertEqual(sorted(map(str, ordered)), sorted(map(str, made.steps)))
                places = self.places_of(made, rows)
                for _ in range(20):
                    choices = [chance.randrange(2) for _ in range(300)]
                    self.assertEqual(self.run_path(made, ordered, choices, places), self.run_path(made, made.steps, choices))
        self.assertGreater(min(lower.values()), 0, lower)


if __name__ == "__main__":
    check.PROGRAM = sys.argv[1]
    if "json" not in sys.argv[2:]:
        print("skipped: the program was built without a JSON library")
        del Json, Queues
    unittest.main(argv=sys.argv[:1])
