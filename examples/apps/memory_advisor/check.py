#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Tests memory_advisor: the numbers of each rule on small inputs, which are computed by hand, and its interface.

    check.py PROGRAM
"""

import json
import random
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

PROGRAM = ""


def table(rows, columns="id,lower,upper,size"):
    """Returns the table of rows that are separated by spaces."""
    return "\n".join([columns, *rows.split()]) + "\n"


# step    0   1   2   3   4   5   6
# a, 4    ■   ■   ■
# b, 6            ■   ■   ■
# c, 4                    ■   ■   ■
# d, 3        ■
# e, 2                ■
# live    4   7  10   8  10   4   4     The lower bound is 10.
#
# Largest first, smallest or lowest gap: b at 0; a above b at 6 (both live in step 2); c at 6; d at 0, below a; e above b at 6.
# The result is 10 for every rule that uses gaps. In objects (ExecuTorch): b opens object 0 of 6 bytes. a and c (of equal
# size, c first) do not live together: c opens object 1 of 4 bytes, a joins it. d meets a only: it goes to object 0. e meets b:
# it goes to object 1. The sum of the objects is 10.
FIVE = table("a,0,3,4 b,2,5,6 c,4,7,4 d,1,2,3 e,3,4,2")


class Advisor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def run_it(self, *arguments, exits_with=0):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, exits_with, done.stdout + done.stderr)
        return done

    def advice(self, *arguments):
        """Returns the bytes of each planner, by the first word of its name, and the whole result."""
        told = json.loads(self.run_it("--json", *arguments).stdout)
        return {row["name"]: row["bytes"] for row in told["planners"]}, told

    def planners(self, text, *arguments):
        return self.advice(*arguments, self.file("table.csv", text))[0]


class Rules(Advisor):
    def test_five_buffers(self):
        found = self.planners(FIVE)
        self.assertEqual(found["no sharing: the sum of all buffers"], 19)
        self.assertEqual(found["lower bound of every plan"], 10)
        self.assertEqual(found["allot: optimal"], 10)
        self.assertEqual(found["greedy by size (TensorFlow Lite)"], 10)
        self.assertEqual(found["TFLite Micro: greedy"], 10)
        self.assertEqual(found["ExecuTorch: greedy"], 10)
        # In the order of the program: a at 0, d at 4, b at 4 (d is gone), e at 0 below b, c at 0 below b.
        self.assertEqual(found["ONNX Runtime: memory pattern"], 10)
        # Tokens: a 0 of 4, d 1 of 3; b takes token 1, which grows to 6; e takes token 0 of 4; c takes token 0.
        self.assertEqual(found["TVM Relax: reused blocks"], 10)
        # Above all live ones: b at 0, a at 6, c at 6, d above a at 10 (3 bytes), e above b at 6.
        self.assertEqual(found["TVM USMP: greedy by size"], 13)
        # Conflicts: b 3 (a, c, e), a 2 (b, d), c 1, d 1, e 1. The order is b, a, c, d, e: as by size.
        self.assertEqual(found["TVM USMP: greedy by conflicts"], 13)

    def test_the_smallest_gap_and_the_lowest_gap(self):
        # p of 20 [0, 2) at 0, q of 10 [0, 9) at 20, r of 8 [0, 2) at 30, s of 7 [0, 9) at 38. In [2, 9) the gaps are
        # [0, 20) and [30, 38). t of 6 takes the smallest gap, so that four buffers of 5 fill [0, 20): 45 bytes. In the lowest
        # gap, t leaves room for two of them. The third one goes to [30, 38), and the last one above s: 50 bytes.
        found = self.planners(table("p,0,2,20 q,0,9,10 r,0,2,8 s,0,9,7 t,2,9,6 u,2,9,5 v,2,9,5 w,2,9,5 x,2,9,5"))
        self.assertEqual(found["greedy by size (TensorFlow Lite)"], 45)
        self.assertEqual(found["TFLite Micro: greedy"], 50)
        self.assertEqual(found["lower bound of every plan"], 45)  # p, q, r and s live together

    def test_buffers_that_live_all_the_time_come_first(self):
        # s lives all the time: s at 0, c at 3, b at 3, a at 6: 8 bytes. Largest first: c at 0, s at 4, b at 0, and the gap between
        # b and s has 1 byte, so that a is at 7: 9 bytes. With a fast memory, the largest buffer is the first one: of 8 bytes
        # it holds all but a.
        rows = table("a,3,5,2 b,2,5,3 c,1,2,4 s,0,5,3")
        self.assertEqual(self.planners(rows)["greedy by size (TensorFlow Lite)"], 8)
        told = self.advice("--fast", "8", self.file("t.csv", rows))[1]
        self.assertEqual({row["name"]: row["bytes"] for row in told["outside"]}["greedy by size"], [2])

    def test_equal_sizes(self):
        # a [0, 1), b [1, 3), c [2, 5), d [4, 6), e [0, 6), all of one size. e lives with all of them.
        # TFLite Micro places the last one first: e 0, d 1, c 2, b 1, a 1: 3 units, and the bound is 3 units.
        # ExecuTorch has the same order: e object 0, d object 1, c object 2, b object 1, a object 1.
        rows = table("a,0,1,8 b,1,3,8 c,2,5,8 d,4,6,8 e,0,6,8")
        found = self.planners(rows)
        self.assertEqual((found["TFLite Micro: greedy"], found["ExecuTorch: greedy"]), (24, 24))
        self.assertEqual(found["lower bound of every plan"], 24)

    def test_an_object_holds_two_live_buffers(self):
        # a of 10 [0, 2), b of 6 and c of 4 [2, 4): b joins the object of a at 0, and c goes above b in the same object.
        found = self.planners(table("a,0,2,10 b,2,4,6 c,2,4,4"))
        self.assertEqual(found["ExecuTorch: greedy"], 10)
        # Without room above b: c of 5 becomes an object of its own.
        found = self.planners(table("a,0,2,10 b,2,4,6 c,2,4,5"))
        self.assertEqual(found["ExecuTorch: greedy"], 15)
        self.assertEqual(found["TFLite Micro: greedy"], 11)

    def test_tokens(self):
        # A token is reused for 1/16 (rounded down) to 16 times its size: 31 bytes take the token of 1 byte, 32 do not.
        self.assertEqual(self.planners(table("a,0,1,1 b,1,2,31"))["TVM Relax: reused blocks"], 31)
        self.assertEqual(self.planners(table("a,0,1,1 b,1,2,32"))["TVM Relax: reused blocks"], 33)
        self.assertEqual(self.planners(table("a,0,1,32 b,1,2,2"))["TVM Relax: reused blocks"], 32)
        self.assertEqual(self.planners(table("a,0,1,33 b,1,2,2"))["TVM Relax: reused blocks"], 35)
        # Of the free tokens 8, 12 and 5, a buffer of 10 takes 12; then one of 10 takes 8, which grows: 12 + 10 + 5.
        rows = table("a,0,1,8 b,0,1,12 c,0,1,5 d,1,2,10 e,1,2,10")
        self.assertEqual(self.planners(rows)["TVM Relax: reused blocks"], 27)

    def test_the_order_of_the_program(self):
        # a of 4 [0, 2), b of 4 [0, 9), c of 6 [2, 9): a 0, b 4, c does not fit below b: 8 to 14. Largest first: c 0, b 6, a 0.
        found = self.planners(table("a,0,2,4 b,0,9,4 c,2,9,6"))
        self.assertEqual(found["ONNX Runtime: memory pattern"], 14)
        self.assertEqual(found["greedy by size (TensorFlow Lite)"], 10)

    def test_alignment(self):
        # Sizes 5 and 3 become 16 and 16.
        self.assertEqual(set(self.planners(table("a,0,2,5 b,1,3,3"), "--align", "16").values()), {32})
        # Without the option, sizes stay, and b is at a multiple of 32.
        rows = table("a,0,2,5,1 b,1,3,3,32", "id,lower,upper,size,alignment")
        self.assertEqual(self.planners(rows)["no sharing: the sum of all buffers"], 35)

    def test_random_buffers(self):
        # The program checks each plan with the validator, and exits with 3 if it is wrong. No plan is below the bound.
        for seed in range(8):
            chance = random.Random(seed)
            rows = []
            for i in range(25):
                begin = chance.randrange(30)
                rows.append(f"b{i},{begin},{begin + 1 + chance.randrange(9)},{chance.randrange(300)},{1 << chance.randrange(7)}")
            found = self.planners(table(" ".join(rows), "id,lower,upper,size,alignment"))
            self.assertEqual(len(found), 10)
            self.assertGreaterEqual(min(found.values()), found["lower bound of every plan"])

    def test_sizes_of_0(self):
        found = self.planners(table("a,0,2,5 b,1,3,0 c,0,4,0"))
        self.assertEqual(set(found.values()), {5})


class FastMemories(Advisor):
    def test_bytes_outside(self):
        # FIVE with 6 fast bytes. By size: b, then d (it lives before b); a, c and e live with b: 4 + 4 + 2.
        # The bound of the planner is at least 4, because 10 bytes live at once; a, c and e are the least that a plan with b
        # spills, and without b: a, c, e fit (a [0, 3), e [3, 4), c [4, 7)), and b spills 6, d 3: at 4 above a it needs 7.
        told = self.advice("--fast", "6", "--fast=10", self.file("table.csv", FIVE))[1]
        self.assertEqual(told["fast"], [6, 10])
        outside = {row["name"]: row["bytes"] for row in told["outside"]}
        self.assertEqual(outside["greedy by size"], [10, 0])
        self.assertEqual(outside["allot"], [9, 0])
        self.assertLessEqual(outside["lower bound"][0], 9)
        self.assertGreaterEqual(outside["lower bound"][0], 4)
        # Above all: b at 0; a at 6 does not fit; c does not; d at 0, because a is in the slow memory; e does not.
        self.assertEqual(outside["TVM USMP: greedy by size"], [10, 3])

    def test_the_default_sizes(self):
        told = self.advice("--align", "4", self.file("table.csv", table("a,0,2,40 b,1,3,40")))[1]
        self.assertEqual(told["fast"], [60, 40, 20])


class Interface(Advisor):
    def test_a_network(self):
        text = ("network n\ntensor 0 100 f 1 x\ntensor 1 50 f 1 z\ntensor 2 100 f 1 w\ninput 0\noutput 2\n"
                "step 0 a 0 -> 1\nstep 1 b 1 -> 2\n")
        path = self.file("n.network", text)
        self.assertEqual(self.advice(path)[1]["lower_bound"], 112 + 64)  # multiples of 16
        self.assertEqual(self.advice("--align", "1", path)[1]["lower_bound"], 150)

    def test_a_trace(self):
        # allocate 100 (aligned to 16), allocate 20 aligned to 4, deallocate the first, allocate 90
        events = bytes([100 << 2 & 127 | 128, 100 << 2 >> 7, 20 << 2 | 1, 2, 1 << 2 | 2, 90 << 2 & 127 | 128, 90 << 2 >> 7])
        found, told = self.advice(self.file("t.altr", b"ALTR1\n" + bytes([4, 3]) + events))
        self.assertEqual((told["sum"], told["lower_bound"]), (128 + 90, 120))  # 100 at 0, 20 at 100, 90 at 128
        self.assertEqual(told["buffers"], 3)
        self.assertEqual(found["allot: optimal"], 120)
        self.assertEqual(found["allot::best_fit, without a plan"], 120)

    def test_an_event_log(self):
        def event(kind, moved, size):
            return bytes([kind, 1, moved, size])  # one step later; an address of an even number moves up
        # acquire 40 at 10, allocate 8 at 10, allocate 4 at 30, resize the block at 30 to 6, deallocate 10, allocate 9 at 10, reset
        events = (event(5, 20, 40) + event(1, 0, 8) + event(1, 40, 4) + event(3, 0, 6) + event(2, 39, 8) + event(1, 0, 9) +
                  event(7, 0, 0))
        found, told = self.advice(self.file("e.alev", b"ALEV1\n\0" + events + bytes([0, 7])))
        self.assertEqual((told["buffers"], told["sum"], told["lower_bound"]), (4, 27, 15))
        self.assertEqual(found["the recorded allocator: its regions"], 40)
        self.assertEqual(found["allot: optimal"], 15)

    def test_regions_come_and_go(self):
        def event(kind, moved, size):
            return bytes([kind, 1, moved, size])
        # regions of 40 at 10 and of 20 at 100; the first one is released; one of 30 at 10; 4 bytes at 10
        events = event(5, 20, 40) + event(5, 180, 20) + event(6, 179, 40) + event(5, 0, 30) + event(1, 0, 4)
        found, _ = self.advice(self.file("e.alev", b"ALEV1\n\0" + events.replace(bytes([1, 180, 20]), bytes([1, 180, 1, 20]))
                                         .replace(bytes([1, 179, 40]), bytes([1, 179, 1, 40])) + bytes([0, 5])))
        self.assertEqual(found["the recorded allocator: its regions"], 60)

    def test_bytes_held_now(self):
        found = self.planners(FIVE, "--held", "64")
        self.assertEqual((found["held now"], found["allot: optimal"]), (64, 10))

    def test_a_snapshot(self):
        # no name, no tags, 8 counters, one region of 100 bytes at 0, blocks of 30 at 0 and 20 at 60, holes of 30 and 20
        content = b"ALSN1\n" + bytes([0, 0] + [0] * 8 + [1, 0, 100] + [2, 0, 30, 0, 30, 20, 0] + [2, 30, 30, 20, 20])
        told = self.run_it(self.file("s.alsn", content)).stdout
        self.assertIn("2 blocks in 1 regions", told)
        self.assertRegex(told, r"live blocks: lower bound at this time +50 +50\.0 %")
        self.assertIn("holds 50 bytes that no block uses", told)

    def test_pages(self):
        found = self.planners(FIVE, "--pages", "4")
        self.assertEqual(found["allot, in pages of 4"], 12)  # b takes 2 pages, and a or c one

    def test_the_table_and_the_sentence(self):
        told = self.run_it(self.file("t.csv", FIVE)).stdout
        self.assertRegex(told, r"allot: optimal +10 +0\.0 % +47\.4 %")
        self.assertRegex(told, r"TVM USMP: greedy by size +13 +30\.0 % +31\.6 %")
        self.assertIn("allot needs 10 bytes, 47.4 % less than the sum of all buffers, as much as the best of the other rules",
                      told)
        self.assertIn("No plan needs less.", told)

    def test_the_picture(self):
        out = self.folder / "advice.svg"
        self.run_it("--svg", str(out), self.file("t.csv", FIVE))
        texts = [element.text for element in xml.etree.ElementTree.parse(out).iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("13 bytes", texts)
        self.assertIn("allot: optimal", texts)
        titles = [element.text for element in xml.etree.ElementTree.parse(out).iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(sum(title.startswith("b: 6 bytes at") for title in titles), 2)  # the best other plan and ours

    def test_errors(self):
        five = self.file("t.csv", FIVE)
        for arguments, reason in [
            ([], "no file is given"),
            ([five, five], "more than one file is given"),
            (["--fast", "0", five], '"0" is not a number of bytes above 0'),
            (["--fast"], "--fast needs a value"),
            (["--align", "3", five], "the alignment 3 is not a power of two"),
            (["--nonsense", five], "unknown option --nonsense"),
        ]:
            with self.subTest(arguments=arguments):
                done = self.run_it(*arguments, exits_with=2)
                self.assertEqual(done.stdout, "")
                self.assertIn(reason, done.stderr)
        for name, content, reason in [
            ("a.csv", "nonsense\n", 'the column "nonsense" is unknown'),
            ("a.safetensors", b"\1\0{}", "a binary file, perhaps ONNX, is not supported here"),
            ("a.json", "{}", '"problem" is missing'),
            ("a.csv", "id,lower,upper,size,gaps\na,0,9,4,3-5\n",
             "the file has several memories or constraints, which the other rules do not know; use ./dev plan"),
            ("a.altr", b"ALTR1\n\5\5", "at byte"),
            ("b.altr", b"ALTR1\n\0\0", "the recording contains no blocks"),
            ("a.csv", table("a,0,1,9223372036854775807"), "the sum of the aligned sizes exceeds 62 bits"),
        ]:
            with self.subTest(name=name, content=content):
                path = self.file(name, content)
                done = self.run_it(path, exits_with=2)
                self.assertIn(reason, done.stderr)
                self.assertIn(path, done.stderr)
        self.assertIn("cannot be opened", self.run_it(str(self.folder / "absent.csv"), exits_with=2).stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
