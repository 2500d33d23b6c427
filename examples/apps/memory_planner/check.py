#!/usr/bin/python3
"""Tests the interface of memory_planner: input, output, messages, errors and exit status.

    check.py PROGRAM [json]      json: the program was built with a JSON library

The tests check offsets by comparing every pair of buffers, without code of the library.
"""

import copy
import csv
import itertools
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

PROGRAM = ""
SVG = "{http://www.w3.org/2000/svg}"

CAPTURE = json.loads((Path(__file__).parent / "kernel.json").read_text(encoding="utf-8"))


def random_table(count, steps, seed, longest=40):
    """Returns a table of buffers with random sizes and lifetimes."""
    chance = random.Random(seed)
    rows = ["id,lower,upper,size"]
    for i in range(count):
        lower = chance.randrange(steps)
        rows.append(f"{i},{lower},{lower + 1 + chance.randrange(longest)},{1 + chance.randrange(5000)}")
    return "\n".join(rows) + "\n"


class Planner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def table(self, content):
        return self.file("table.csv", content)

    def run_it(self, *arguments, exits_with=0):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, exits_with, done.stdout + done.stderr)
        return done

    def refused(self, path, line, reason):
        done = self.run_it(path, exits_with=2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, f"{path}:{line}: {reason}\n")

    def rows(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def judge(self, rows, capacity):
        """Checks every pair of rows and every offset."""
        placed = [(r["id"], int(r["lower"]), int(r["upper"]), int(r["size"]), int(r["offset"]), r.get("memory")) for r in rows]
        for row, (_, _, _, size, offset, _) in zip(rows, placed):
            self.assertLessEqual(offset + size, capacity)
            self.assertEqual(offset % int(row.get("alignment", 1)), 0)
        for i, (one, begin, end, size, offset, memory) in enumerate(placed):
            for other, begin2, end2, size2, offset2, memory2 in placed[:i]:
                if begin < end2 and begin2 < end and memory == memory2:
                    self.assertTrue(offset + size <= offset2 or offset2 + size2 <= offset, f"{one} and {other}")


class Tables(Planner):
    def test_each_buffer_has_at_least_the_alignment_of_the_option(self):
        path = self.table("id,lower,upper,size,alignment\na,0,3,5,1\nb,0,3,5,32\nc,0,3,7,2\n")
        for align, peak in ((None, 17), (1, 17), (8, 21), (64, 133)):
            out = str(self.folder / "plan.csv")
            option = [] if align is None else [f"--align={align}"]
            found = json.loads(self.run_it(*option, "--out", out, "--json", path).stdout)
            self.assertEqual(found["peak"], peak, align)
            rows = self.rows(out)
            self.judge(rows, found["peak"])
            for row in rows:
                self.assertEqual(int(row["offset"]) % max(int(row["alignment"]), align or 1), 0, (align, rows))
        for value in ("3", "0", "much"):
            done = self.run_it("--align", value, path, exits_with=2)
            self.assertIn("not a power of two" if value != "much" else "is not a number of bytes", done.stderr)

    def test_a_plan_is_written_beside_the_rows(self):
        text = "id,lower,upper,size,alignment\na,0,3,4,1\nb,-3,9,4,8\nc,0,9,4,16\n"
        path, out = self.table(text), str(self.folder / "out.csv")
        self.run_it("--out", out, path)
        lines = Path(out).read_text().splitlines()
        self.assertEqual([line.rsplit(",", 1)[0] for line in lines], text.splitlines())
        self.judge(self.rows(out), 2 ** 64)

    def test_lines_of_windows_and_a_byte_order_mark(self):
        path, out = self.table(b"\xef\xbb\xbfid,lower,upper,size\r\na,0,3,4\r\n\r\nb,3,9,4"), str(self.folder / "out.csv")
        self.run_it("--out", out, path)
        self.assertEqual(Path(out).read_text(), "id,lower,upper,size,offset\na,0,3,4,0\nb,3,9,4,0\n")

    def test_random_tables(self):
        for seed in range(10):
            path, out = self.table(random_table(150, 200, seed)), str(self.folder / "out.csv")
            told = json.loads(self.run_it("--json", "--budget", "0.1", "--out", out, path).stdout)
            rows = self.rows(out)
            self.assertEqual(len(rows), 150)
            self.judge(rows, told["peak"])
            most = max(sum(int(r["size"]) for r in rows if int(r["lower"]) <= t < int(r["upper"])) for t in range(300))
            self.assertGreaterEqual(told["lower_bound"], most)
            self.assertGreaterEqual(told["peak"], told["lower_bound"])
            self.assertEqual(told["peak"], max(int(r["size"]) + int(r["offset"]) for r in rows))

    def test_what_is_no_table(self):
        head = "id,lower,upper,size,alignment\n"
        first = 'the column "{}" is unknown; a table begins with a line such as id,lower,upper,size'.format
        for text, line, reason in [
            ("", 1, "the file is empty"),
            ("\n\n", 2, "the file is empty"),
            ("id,lower,upper,size\n", 1, "the file contains no buffers"),
            ("name,from,to,size\na,0,1,1\n", 1, first("name")),
            ("id,lower,upper,size,colour\n", 1, first("colour")),
            (head + "a,0,1,1\n", 2, "the row has 4 columns instead of 5"),
            (head + "a,0,1,1,1\n\nb,0,1,1,1,1\n", 4, "the row has 6 columns instead of 5"),
            (head + ",0,1,1,1\n", 2, "the buffer has no id"),
            (head + '"a",0,1,1,1\n', 2, "the id contains a quote; ids must not contain quotes or commas"),
            (head + "a,0,1,1,1\nb,0,1,1,1\na,5,6,1,1\n", 4, "the id a is already used in line 2"),
            (head + "a,1,1,1,1\n", 2, "upper, 1, is not above lower, 1"),
            (head + "a,1,-1,1,1\n", 2, "upper, -1, is not above lower, 1"),
            (head + "a,x,1,1,1\n", 2, 'lower, "x", is not an integer'),
            (head + "a,0,1.5,1,1\n", 2, 'upper, "1.5", is not an integer'),
            (head + "a,0,99999999999999999999,1,1\n", 2, "upper, 99999999999999999999, exceeds 64 bits"),
            (head + "a,0,1,-1,1\n", 2, 'size, "-1", is not an integer of 0 or more'),
            (head + "a,0,1, 1,1\n", 2, 'size, " 1", is not an integer of 0 or more'),
            (head + "a,0,1,,1\n", 2, 'size, "", is not an integer of 0 or more'),
            ("id,lower,size\n", 1, 'the column "upper" is missing'),
            ("upper,lower,size\n", 1, 'the column "id" is missing'),
            ("id,upper,size\n", 1, 'the column "lower" is missing'),
            ("id,upper,lower\n", 1, 'the column "size" is missing'),
            ("id,lower,begin,upper,size\n", 1, 'the columns "lower" and "begin" have the same meaning'),
            ("id,lower,end,upper,size\n", 1, 'the columns "end" and "upper" have the same meaning'),
            (head + "a,0,1,18446744073709551616,1\n", 2, "size, 18446744073709551616, exceeds 64 bits"),
            (head + "a,0,1,18446744073709551615,1\nb,5,6,1,1\n", 3, "the sum of the sizes up to here exceeds 64 bits"),
            (head + "a,0,1,1,3\n", 2, "the alignment 3 is not a power of two"),
            (head + "a,0,1,1,0\n", 2, "the alignment 0 is not a power of two"),
        ]:
            with self.subTest(text=text):
                self.refused(self.table(text), line, reason)

    def test_a_network(self):
        text = "network n\ntensor 0 100 f 1 x,y\ntensor 1 50 f 1 z\ntensor 2 100 f 1 w\ninput 0\noutput 2\nstep 0 a 0 -> 1\nstep 1 b 1 -> 2\n"
        out = str(self.folder / "out.csv")
        told = json.loads(self.run_it("--json", "--out", out, self.file("n.network", text)).stdout)
        self.assertEqual((told["status"], told["peak"], told["lower_bound"]), ("optimal", 150, 150))
        self.judge(self.rows(out), 150)
        self.assertEqual([(r["id"], r["lower"], r["upper"]) for r in self.rows(out)], [("0", "0", "1"), ("1", "0", "2"), ("2", "1", "2")])
        self.refused(self.file("n.network", "network n\nno\n"), 2, '"no" is not a record of a network')


class Results(Planner):
    three = "id,lower,upper,size\na,0,2,6\nb,1,3,5\nc,2,4,6\n"

    def test_a_line_for_a_reader(self):
        path = self.table(self.three)
        self.assertRegex(self.run_it(path).stdout,
                         rf"^{re.escape(path)}: optimal: 3 buffers in 11 bytes, lower bound 11 \(gap 0.00 %\); \d+\.\d\d s\n$")

    def test_a_line_for_a_program(self):
        done = self.run_it("--json", "--capacity", "1KiB", self.table(self.three))
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertIn("optimal: 3 buffers", done.stderr)
        told = json.loads(done.stdout)
        self.assertLess(told.pop("seconds"), 100)
        mine = {"status": "optimal", "peak": 11, "lower_bound": 11, "gap": 0.0, "buffers": 3}
        where = {"name": "memory", "capacity": 1024, "step": 1}
        self.assertEqual(told, {"file": str(self.folder / "table.csv"), "format": "a table", "spilled": 0, "memories": [{**mine, **where}], **mine})

    def test_what_does_not_fit_has_no_table_but_a_picture(self):
        out, picture = self.folder / "out.csv", self.folder / "plan.svg"
        done = self.run_it("--capacity=10", "--json", "--out", str(out), "--svg", str(picture), self.table(self.three), exits_with=1)
        self.assertEqual(json.loads(done.stdout)["status"], "infeasible")
        self.assertIn("exceeds the capacity; the most bytes are live at step 1", done.stderr)
        self.assertFalse(out.exists())
        self.assertTrue(picture.exists())
        self.run_it("--capacity=11", "--out", str(out), self.table(self.three))
        self.judge(self.rows(out), 11)

    def test_bad_usage(self):
        path = self.table(self.three)
        for arguments, reason in [
            ([], "no file is given"),
            ([path, path, "--html", "x"], "several files are given; --out, --svg, --html and --certificate are for one file"),
            (["--colour", path], "unknown option --colour"),
            ([path, "--out"], "--out needs a value"),
            (["--capacity", "12kB", path], '"12kB" is not a number of bytes'),
            (["--capacity", "17179869184GiB", path], "is not a number of bytes"),
            (["--capacity", "-1", path], "is not a number of bytes"),
            (["--budget", "nan", path], '"nan" is not a number of seconds'),
            (["--budget", "1s", path], '"1s" is not a number of seconds'),
            (["--memory", "fast", path], "a memory needs the form NAME:BYTES"),
            (["--memory", "a:1", "--memory", "a:2", path], 'memory "a" is given twice'),
            ([*(f"--memory=m{i}:1" for i in range(65)), path], "more than 64 memories are given"),
            (["--memory", "a:1", "--capacity", "1", path], "--capacity cannot be given with --memory"),
            (["--memory", "a:1:many", path], '"many" is not a cost per byte'),
            (["--memory", "a:1:2", "--memory", "b:1:1", path], 'memory "b" costs less than the previous one'),
        ]:
            with self.subTest(arguments=arguments):
                done = self.run_it(*arguments, exits_with=2)
                self.assertEqual(done.stdout, "")
                self.assertIn(reason, done.stderr)
        self.assertIn("usage:", self.run_it("--help").stdout)

    def test_a_large_file(self):
        self.run_it(self.table("id,lower,upper,size\n" + "x" * (17 << 20) + ",0,1,1\n"))

    def test_files_that_are_not_there(self):
        self.assertIn("cannot be opened", self.run_it("nowhere/at.csv", exits_with=2).stderr)
        self.assertIn("cannot be read", self.run_it(str(self.folder), exits_with=2).stderr)
        path = self.table(self.three)
        for option in ("--out", "--svg"):
            self.assertIn("cannot be written", self.run_it(option, str(self.folder / "no" / "x"), path, exits_with=2).stderr)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, path], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("standard output cannot be written", done.stderr)

    def test_an_interrupt_gives_the_best_plan_so_far(self):
        path, out = self.table(random_table(800, 400, 1, longest=150)), str(self.folder / "out.csv")
        with subprocess.Popen([PROGRAM, "--json", "--budget", "1000", "--out", out, path], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as running:
            try:
                progress = running.stderr.readline()  # after a second
                self.assertRegex(progress, r"^[\d,]+ bytes, lower bound [\d,]+ \(gap [\d.]+ %\), 1 s; Ctrl-C")
                running.send_signal(signal.SIGINT)
                printed, _ = running.communicate(timeout=120)
            finally:
                running.kill()
        self.assertEqual(running.returncode, 0)
        told = json.loads(printed)
        self.assertEqual(told["status"], "feasible")
        self.assertLess(told["seconds"], 900)
        self.judge(self.rows(out), told["peak"])

    def test_a_budget_ends_the_search(self):
        told = json.loads(self.run_it("--json", "--budget", "1.5", self.table(random_table(800, 400, 1, longest=150))).stdout)
        self.assertEqual(told["status"], "feasible")
        self.assertGreaterEqual(told["seconds"], 1.5)
        self.assertLess(told["seconds"], 100)


class Pictures(Planner):
    def picture(self, path, *arguments, exits_with=0):
        out = self.folder / "plan.svg"
        self.run_it(*arguments, "--svg", str(out), path, exits_with=exits_with)
        return xml.etree.ElementTree.parse(out).getroot()

    @staticmethod
    def titles(picture):
        return [title.text for title in picture.iter(SVG + "title")]

    def test_five_thousand_buffers(self):
        picture = self.picture(self.table(random_table(5000, 2000, 3)), "--budget", "0")
        rectangles = [r for r in picture.iter(SVG + "rect") if r.get("class")]
        self.assertEqual(len(rectangles), 5000)
        width, height = float(picture.get("width")), float(picture.get("height"))
        for each in rectangles:
            x, y, wide, high = (float(each.get(key)) for key in ("x", "y", "width", "height"))
            self.assertTrue(x >= 0 and y >= 0 and wide > 0 and high >= 0 and x + wide <= width and y + high <= height)
        self.assertEqual(len(self.titles(picture)), 5000)

    def test_titles_and_lines(self):
        picture = self.picture(self.table("id,lower,upper,size\nconv & <1>,0,3,4096\n"), "--capacity", "5000")
        self.assertEqual(self.titles(picture), ["conv & <1>: 4,096 bytes at 0, steps 0 to 3"])
        kinds = [line.get("class") for line in picture.iter(SVG + "line")]
        for kind in ("bound", "peak", "capacity"):
            self.assertEqual(kinds.count(kind), 2, kind)  # in the legend, and in the memory

    def test_names_that_xml_has_not(self):
        picture = self.picture(self.table(b"id,lower,upper,size\n\xff\x01\xc0\xaf\xed\xa0\x80\xef\xbf\xbf,0,3,1\n\xc3\xa4\xf0\x9f\x98\x80,0,3,1\n"))
        self.assertEqual([title.split(":")[0] for title in self.titles(picture)], ["?" * 10, "ä😀"])

    def test_extremes(self):
        for row in ("a,-9223372036854775808,9223372036854775807,18446744073709551615", "a,0,1,0", "a,9223372036854775806,9223372036854775807,1"):
            picture = self.picture(self.table("id,lower,upper,size\n" + row + "\n"))
            for each in picture.iter():
                for key in ("x", "y", "x1", "y1", "width", "height"):
                    if each.get(key) and each.get(key) != "100%":
                        self.assertTrue(abs(float(each.get(key))) < 10000, (row, each.tag, each.attrib))
            self.assertLess(len(list(picture.iter())), 200)


class Pages(Planner):
    def pages(self, text):
        """Returns the pages of a column's ranges."""
        ends = [part.split("-") for part in text.split()]
        return [page for begin, *end in ends for page in range(int(begin), int((end or [begin])[0]) + 1)]

    def judge_pages(self, rows, size, count):
        taken = [set(self.pages(r["pages"])) for r in rows]
        for i, (row, mine) in enumerate(zip(rows, taken)):
            self.assertEqual(len(self.pages(row["pages"])), -(-int(row["size"]) // size))
            self.assertEqual(len(mine), len(self.pages(row["pages"])))
            self.assertTrue(mine <= set(range(count)))
            for other, theirs in zip(rows[:i], taken):
                if int(row["lower"]) < int(other["upper"]) and int(other["lower"]) < int(row["upper"]):
                    self.assertFalse(mine & theirs, (row, other))

    def test_random_tables_meet_the_bound(self):
        for seed in range(10):
            path, out = self.table(random_table(150, 200, seed)), str(self.folder / "out.csv")
            told = json.loads(self.run_it("--pages", "64", "--json", "--out", out, path).stdout)
            rows = self.rows(out)
            most = max(sum(-(-int(r["size"]) // 64) for r in rows if int(r["lower"]) <= t < int(r["upper"])) for t in range(300))
            self.assertEqual((told["pages"], told["page_size"], told["peak"], told["lower_bound"]), (most, 64, 64 * most, 64 * most))
            self.assertEqual((told["status"], told["gap"], len(rows)), ("optimal", 0, 150))
            self.judge_pages(rows, 64, most)

    def test_a_line_for_a_reader_and_a_table(self):
        path = self.table("id,lower,upper,size,alignment\na,0,2,9,4\nb,1,3,5,1\nc,2,4,8,1\nd,0,9,0,1\n")
        out = str(self.folder / "out.csv")
        self.assertRegex(self.run_it("--pages", "4", "--out", out, path).stdout,
                         rf"^{re.escape(path)}: optimal: 4 buffers in 20 bytes, lower bound 20 \(gap 0.00 %\); 5 pages of 4; \d+\.\d\d s\n$")
        rows = self.rows(out)
        self.assertEqual(list(rows[0]), ["id", "lower", "upper", "size", "alignment", "pages"])
        self.assertEqual(rows[0]["pages"], "0-2")
        self.assertEqual(rows[3]["pages"], "")
        self.judge_pages(rows, 4, 5)

    def test_whether_it_fits(self):
        path, out, picture = self.table(random_table(50, 60, 1)), self.folder / "out.csv", self.folder / "plan.svg"
        peak = json.loads(self.run_it("--pages", "512", "--json", path).stdout)["peak"]
        done = self.run_it("--pages", "512", "--capacity", str(peak - 1), "--out", str(out), "--svg", str(picture), path, exits_with=1)
        self.assertIn("infeasible", done.stdout)
        self.assertIn("exceeds the capacity; the most bytes are live at step", done.stdout)
        self.assertFalse(out.exists())
        self.assertTrue(picture.exists())
        self.assertIn(f" of {peak:,}", self.run_it("--pages", "512", "--capacity", str(peak), "--out", str(out), path).stdout)
        self.judge_pages(self.rows(out), 512, peak // 512)

    def test_a_picture_has_one_shape_for_each_buffer(self):
        path, out = self.table(random_table(3000, 2000, 3)), self.folder / "plan.svg"
        self.run_it("--pages", "256", "--svg", str(out), path)
        picture = xml.etree.ElementTree.parse(out).getroot()
        shapes = list(picture.iter(SVG + "path"))
        self.assertEqual(len(shapes), 3000)
        self.assertEqual(len({shape.find(SVG + "title").text for shape in shapes}), 3000)
        self.assertRegex(shapes[0].find(SVG + "title").text, r"^0: [\d,]+ bytes in \d+ pages?: \d[\d -]*…?, steps \d+ to \d+$")
        high = float(picture.get("height"))
        for shape in shapes:
            for y in re.findall(r"M\S+ (\S+?)h", shape.get("d")):
                self.assertTrue(0 < float(y) < high)

    def test_what_is_refused(self):
        path = self.table("id,lower,upper,size,alignment\na,0,3,100,64\n")
        for arguments, reason in [
            (["--pages", "0"], "a page must have at least one byte"),
            (["--pages", "4k"], '"4k" is not a number of bytes'),
            (["--pages", "-1"], '"-1" is not a number of bytes'),
            (["--pages", "64", "--memory", "a:1KiB", "--memory", "b:1KiB"], "--pages cannot be given with --memory"),
            (["--pages", "32"], f"{path}: buffer a: pages do not support the alignment 64, because 32 bytes are not a multiple of it"),
            (["--pages", "96"], "because 96 bytes are not a multiple of it"),
        ]:
            with self.subTest(arguments=arguments):
                done = self.run_it(*arguments, path, exits_with=2)
                self.assertEqual(done.stdout, "")
                self.assertIn(reason, done.stderr)
        huge = self.table("id,lower,upper,size\na,0,3,1000000000000\n")
        self.assertIn("more than 134217728 pages of 16 bytes", self.run_it("--pages", "16", huge, exits_with=2).stderr)
        self.run_it("--pages", "1MiB", huge)
        self.assertIn("exceed 64 bits", self.run_it("--pages", str(2 ** 63), self.table("id,lower,upper,size\na,0,3,1\nb,0,3,1\n"), exits_with=2).stderr)

    def test_a_column_says_which_buffers_may_lie_in_pages(self):
        chance = random.Random(5)
        for seed in range(4):
            lines = random_table(60, 80, seed).splitlines()
            text = "\n".join([lines[0] + ",alignment,paged",
                              *(f"{line},{1 << chance.randrange(4)},{chance.randrange(2)}" for line in lines[1:])])
            path, out, size = self.table(text), str(self.folder / "out.csv"), chance.choice([64, 256, 4096])
            told = json.loads(self.run_it("--pages", str(size), "--json", "--out", out, path).stdout)
            rows = self.rows(out)
            self.assertEqual(list(rows[0])[-3:], ["paged", "offset", "pages"])
            places = [self.bytes_of(row, size) for row in rows]
            self.assertEqual(told["peak"], max(end for place in places for _, end in place))
            self.assertTrue(told["lower_bound"] <= told["peak"] <= 1.01 * told["lower_bound"], told)
            for i, (row, mine) in enumerate(zip(rows, places)):
                for other, theirs in zip(rows[:i], places):
                    if int(row["lower"]) < int(other["upper"]) and int(other["lower"]) < int(row["upper"]):
                        self.assertFalse([1 for a, b in mine for c, d in theirs if a < d and c < b], (row, other))

    def bytes_of(self, row, size):
        """Returns the ranges of bytes of a row, after checks of the row alone."""
        mine = self.pages(row["pages"])
        if row["paged"] == "0":
            self.assertEqual(mine, [])
            self.assertEqual(int(row["offset"]) % int(row["alignment"]), 0)
            return [(int(row["offset"]), int(row["offset"]) + int(row["size"]))]
        self.assertEqual((row["offset"], len(mine)), ("", -(-int(row["size"]) // size)))
        self.assertEqual(len(set(mine)), len(mine))
        return [(page * size, (page + 1) * size) for page in mine]

    def test_the_column_without_and_with_pages(self):
        path, out = self.table("id,lower,upper,size,paged\na,0,4,10,0\nb,1,3,9,1\n"), str(self.folder / "out.csv")
        self.assertEqual(json.loads(self.run_it("--json", path).stdout)["peak"], 19)
        told = json.loads(self.run_it("--pages", "8", "--json", "--out", out, "--svg", str(self.folder / "plan.svg"), path).stdout)
        self.assertEqual((told["pages"], told["page_size"], told["peak"], told["status"]), (2, 8, 26, "optimal"))
        self.assertIn("infeasible", self.run_it("--pages", "8", "--capacity", "25", path, exits_with=1).stdout)
        self.run_it("--pages", "8", "--budget", "1", path)
        titles = [t.text for t in xml.etree.ElementTree.parse(self.folder / "plan.svg").getroot().iter(SVG + "title")]
        self.assertRegex(" ".join(titles), r"a: 10 bytes at 16.*b: 9 bytes in 2 pages: 0-1")
        self.refused(self.table("id,lower,upper,size,paged\na,0,4,10,yes\n"), 2, 'paged, "yes", is not 0 or 1')


class Memories(Planner):
    ROWS = "id,lower,upper,size\n" + "".join(f"b{i},{i},{i + 3},{64 + 16 * (i % 5)}\n" for i in range(40))

    def test_what_has_no_room_spills_to_the_next(self):
        path, out = self.table(self.ROWS), str(self.folder / "out.csv")
        told = json.loads(self.run_it("--memory", "fast:200", "--memory", "slow:100", "--memory", "far:1KiB", "--json", "--out", out,
                                      path).stdout)
        rows = self.rows(out)
        self.judge(rows, 1024)
        for name, capacity in [("fast", 200), ("slow", 100), ("far", 1024)]:
            there = [r for r in rows if r["memory"] == name]
            self.assertTrue(there)
            self.assertLessEqual(max(int(r["offset"]) + int(r["size"]) for r in there), capacity)
        self.assertEqual(told["spilled"], sum(int(r["size"]) for r in rows if r["memory"] != "fast"))
        self.assertIn("bytes spilled", self.run_it("--memory", "fast:200", "--memory", "slow:1KiB", path).stdout)

    def test_nothing_spills_where_there_is_room(self):
        out = str(self.folder / "out.csv")
        done = self.run_it("--memory", "fast:1MiB", "--memory", "slow:1MiB:9", "--json", "--out", out, self.table(self.ROWS))
        self.assertEqual({r["memory"] for r in self.rows(out)}, {"fast"})
        self.assertEqual(json.loads(done.stdout)["spilled"], 0)

    def test_the_gap_is_that_of_the_cost(self):
        # Buffers of 5 and 7 bytes live at the same time, and the fast memory fits one of them; the other one costs its bytes. No
        # plan costs less than 5; the bound may be lower. The gap is that of the cost, not of the peaks of the memories.
        path = self.table("id,lower,upper,size\na,0,2,5\nb,1,3,7\n")
        for moves in [[], ["--moves"]]:
            done = self.run_it("--memory", "fast:9", "--memory", "slow:1KiB", "--json", *moves, path)
            told = json.loads(done.stdout)
            self.assertEqual(told["cost"], 10 if moves else 5)  # its bytes; with accesses, once for a write and once for a read
            self.assertLessEqual(told["lower_bound_of_cost"], told["cost"])
            bound = told["lower_bound_of_cost"]
            self.assertEqual(told["gap"], None if bound == 0 else round((told["cost"] - bound) / bound, 6))
            self.assertNotIn("lower_bound", told)
            for memory in told["memories"]:
                self.assertNotIn("gap", memory)
                self.assertNotIn("lower_bound", memory)
            self.assertRegex(done.stderr, rf"fast: 7 bytes of 9; slow: 5 bytes of 1,024; .*cost {told['cost']}, lower bound {bound}")

    def test_progress_is_of_the_cost(self):
        path = self.table(random_table(400, 300, 7))
        done = self.run_it("--memory", "fast:20KiB", "--memory", "slow:1GiB", "--budget", "1.5", path)
        seconds = float(re.search(r"; (\S+) s\n$", done.stdout).group(1))
        self.assertTrue(done.stderr or seconds < 1.1)  # reported after the first second
        for line in done.stderr.splitlines():
            self.assertRegex(line, r"^cost [\d,]+, lower bound [\d,]+( \(gap [\d.]+ %\))?, \d+ s; Ctrl-C ends with this plan$")

    def test_no_room_in_all_of_them(self):
        out = self.folder / "out.csv"
        done = self.run_it("--memory", "fast:100", "--memory", "slow:100", "--out", str(out), self.table(self.ROWS), exits_with=1)
        self.assertRegex(done.stdout, r"infeasible: \d+ of 40 buffers do not fit these memories; the most bytes are live at step \d+")
        self.assertFalse(out.exists())


class Moves(Planner):
    # Tensor 0 is used at both ends; tensor 1 is used in between and does not fit at the same time.
    NETWORK = "network leaves\n" + "".join(f"tensor {i} {size} int8 {size} t{i}\n" for i, size in enumerate([60, 80, 1, 1, 1])) + \
        "".join(f"step {i} op {reads} -> {writes}\n" for i, (reads, writes) in
                enumerate([("", "0"), ("0", "2"), ("0", ""), ("", "1"), ("1", ""), ("1", "3"), ("0", "4"), ("0", ""), ("0", "")]))

    def test_a_tensor_leaves_and_comes_back(self):
        path, out, picture = self.file("leaves.network", self.NETWORK), str(self.folder / "out.csv"), self.folder / "plan.svg"
        done = self.run_it("--moves", "--memory", "fast:100", "--memory", "slow:1KiB", "--json", "--out", out, "--svg", str(picture), path)
        told, line = json.loads(done.stdout), done.stderr
        rows = self.rows(out)
        self.assertEqual([(r["lower"], r["upper"], r["memory"]) for r in rows if r["id"] == "0"],
                         [("0", "3", "fast"), ("2", "7", "slow"), ("6", "9", "fast")])
        self.assertEqual([(r["lower"], r["upper"], r["memory"]) for r in rows if r["id"] == "1"], [("3", "6", "fast")])
        for name, capacity in [("fast", 100), ("slow", 1024)]:
            self.judge([r for r in rows if r["memory"] == name], capacity)
        self.assertEqual(told["copies"], [{"step": 2, "after": True, "from": 0, "to": 1, "bytes": 60},
                                          {"step": 6, "after": False, "from": 1, "to": 2, "bytes": 60}])
        self.assertEqual((told["copied"], told["cost"], told["cost_without_moves"], told["buffers"], told["pieces"]), (120, 120, 240, 5, len(rows)))
        for memory in told["memories"]:
            here = [r["id"] for r in rows if r["memory"] == memory["name"]]
            self.assertEqual((memory["buffers"], memory["pieces"]), (len(set(here)), len(here)))
        self.assertIn(f"5 buffers in {len(rows)} pieces, ", picture.read_text())
        titles = Pictures.titles(xml.etree.ElementTree.parse(picture).getroot())
        self.assertEqual(len([title for title in titles if title.startswith("t0: ")]), 3)
        self.assertIn(f": 5 buffers in {len(rows)} pieces; fast: ", line)
        self.assertIn("; 2 copies of 120 bytes; cost 120, lower bound 41 (gap 192.68 %); without moves 240; ", line)

    def test_a_table(self):
        path, out = self.table(Memories.ROWS), str(self.folder / "out.csv")
        told = json.loads(self.run_it("--moves", "--memory", "fast:200", "--memory", "slow:10KiB", "--json", "--out", out, path).stdout)
        rows = self.rows(out)
        self.assertLessEqual(told["cost"], told["cost_without_moves"])
        self.assertEqual({r["id"] for r in rows}, {f"b{i}" for i in range(40)})
        for name, capacity in [("fast", 200), ("slow", 10240)]:
            self.judge([r for r in rows if r["memory"] == name], capacity)
        for each in told["copies"]:
            self.assertEqual(rows[each["from"]]["id"], rows[each["to"]]["id"])
            self.assertEqual(int(rows[each["from"]]["size"]), each["bytes"])

    def test_refusals(self):
        path = self.table(Memories.ROWS)
        for memories in [[], ["--memory", "fast:200"]]:
            self.assertIn("--moves needs several memories", self.run_it("--moves", *memories, path, exits_with=2).stderr)
        done = self.run_it("--moves", "--memory", "fast:100", "--memory", "slow:100", path, exits_with=1)
        self.assertRegex(done.stdout, r"\d+ of 40 buffers do not fit these memories, even with moves")


class Rows(Planner):
    """Buffers that are divided by rows."""

    MEMORIES = ("--memory", "fast:1KiB", "--memory", "slow:1MiB")
    TABLE = "id,lower,upper,size,rows\na,0,4,640,10\nb,1,2,768,12\n"

    def parts_of(self, rows, given):
        """Checks that the parts of each buffer are the whole buffer, and returns the bytes outside the first memory."""
        spilled = 0
        found = {}
        for row in rows:
            name, _, part = row["id"].partition("[")
            found.setdefault(name, []).append((part, row))
        for name, (lower, upper, size, count) in given.items():
            parts, at = found.pop(name), 0
            for part, row in parts:
                self.assertEqual((int(row["lower"]), int(row["upper"])), (lower, upper))
                self.assertEqual(int(row["size"]) * count, int(row["rows"]) * size)
                if len(parts) == 2:
                    self.assertEqual(part, f"{at}:{at + int(row['rows'])}]")
                at += int(row["rows"])
                spilled += int(row["size"]) * (row["memory"] != "fast")
            self.assertEqual((len(parts) in (1, 2), at), (True, count))
            if len(parts) == 2:
                self.assertEqual([row["memory"] for _, row in parts], ["fast", "slow"])
        self.assertEqual(found, {})
        return spilled

    def test_a_buffer_in_two_memories(self):
        out, picture = str(self.folder / "out.csv"), self.folder / "plan.svg"
        done = self.run_it(*self.MEMORIES, "--json", "--out", out, "--svg", str(picture), self.table(self.TABLE))
        told = json.loads(done.stdout)
        self.assertIn(": optimal: 2 buffers in 3 parts; fast: 1,024 bytes of 1,024; slow: 384 bytes of 1,048,576; 384 bytes spilled; "
                      "cost 384, lower bound 384 (gap 0.00 %); with whole buffers 640; ", done.stderr)
        self.assertEqual((told["buffers"], told["cost"], told["cost_of_whole_buffers"]), (2, 384, 640))
        rows = self.rows(out)
        self.assertEqual(self.parts_of(rows, {"a": (0, 4, 640, 10), "b": (1, 2, 768, 12)}), 384)
        divided, = told["divided"]
        parts = [row for row in rows if row["id"].startswith(divided["buffer"] + "[")]
        self.assertEqual([(str(p["rows"]), p["memory"], str(p["offset"]), str(p["bytes"])) for p in divided["parts"]],
                         [(row["rows"], row["memory"], row["offset"], row["size"]) for row in parts])
        titles = Pictures.titles(xml.etree.ElementTree.parse(picture).getroot())
        self.assertEqual(sorted(title.split(":")[0].split("[")[0] for title in titles), sorted(row["id"].split("[")[0] for row in rows))
        again = json.loads(self.run_it(*self.MEMORIES, "--json", out).stdout)  # the parts are now fixed
        self.assertEqual((again["cost"], again["divided"]), (384, []))

    def test_random_tables(self):
        divided = 0
        for seed in range(8):
            chance = random.Random(seed)
            given = {}
            for i in range(5):
                lower, count = chance.randrange(6), chance.choice([1, 2, 3, 4])
                given[f"b{i}"] = (lower, lower + 1 + chance.randrange(5), count * chance.choice([4, 8, 12]), count)
            text = "rows,buffer_id,size,start,alignment,gaps,upper\n" + "".join(
                f"{'' if count == 1 else count},{name},{size},{lower},4,,{upper}\n" for name, (lower, upper, size, count) in given.items())
            path, out = self.table(text), str(self.folder / "out.csv")
            told = json.loads(self.run_it("--memory", "fast:36", "--memory", "slow:1KiB", "--json", "--out", out, path).stdout)
            rows = [row | {"id": row["buffer_id"], "lower": row["start"], "rows": row["rows"] or "1"} for row in self.rows(out)]
            for name, capacity in [("fast", 36), ("slow", 1024)]:
                self.judge([row for row in rows if row["memory"] == name], capacity)
            self.assertEqual(self.parts_of(rows, given), told["cost"])
            self.assertLessEqual(told["cost"], told["cost_of_whole_buffers"])
            # No division of which the bytes of each step fit costs less.
            least = min(sum(size - size // count * rows for (_, _, size, count), rows in zip(given.values(), chosen))
                        for chosen in itertools.product(*[range(count + 1) for _, _, _, count in given.values()])
                        if all(sum(size // count * rows for (lower, upper, size, count), rows in zip(given.values(), chosen)
                                   if lower <= step < upper) <= 36 for step in range(12)))
            self.assertLessEqual(told["lower_bound_of_cost"], least)
            self.assertLessEqual(least, told["cost"])
            divided += len(told["divided"])
        self.assertGreater(divided, 0)

    def test_gaps_and_ids(self):
        # The gap of a is a lifetime of both of its parts, and the id of its first part is used already.
        path, out = self.table("id,lower,upper,size,rows,gaps\na,0,6,96,6,2-4\na[0:4],2,4,64,1,\n"), str(self.folder / "out.csv")
        page = self.folder / "page.html"
        self.run_it("--memory", "fast:64", "--memory", "slow:1KiB", "--out", out, "--html", str(page), path)
        rows = {row["id"]: row for row in self.rows(out)}
        self.assertEqual({name: (row["memory"], row["offset"], row["size"]) for name, row in rows.items()},
                         {"a[0:4]'": ("fast", "0", "64"), "a[4:6]": ("slow", "0", "32"), "a[0:4]": ("fast", "0", "64")})
        shapes = re.findall(r'class="(c\d)[^"]*" data-buffer="(\d+)"', page.read_text())
        self.assertEqual(sorted(shapes), [("c0", "0")] * 4 + [("c1", "1")])  # two lifetimes of each part

    def test_rows_of_one_size(self):
        path, out = self.table("id,lower,upper,size\na,0,4,640\nb,1,2,768\nc,2,3,100\n"), str(self.folder / "out.csv")
        told = json.loads(self.run_it(*self.MEMORIES, "--row", "64", "--json", "--out", out, path).stdout)
        self.assertEqual((told["cost"], told["cost_of_whole_buffers"], len(told["divided"])), (384, 640, 1))
        self.assertEqual(json.loads(self.run_it(*self.MEMORIES, "--row", "1GiB", "--json", path).stdout)["cost"], 640)
        self.assertIn("whole buffers do not fit", self.run_it("--memory", "a:600", "--memory", "b:900", "--row=4", path).stdout)
        self.assertIsNone(json.loads(self.run_it("--memory", "a:600", "--memory", "b:900", "--row=4", "--json", path).stdout)["cost_of_whole_buffers"])

    def test_a_budget(self):
        given = random_table(60, 40, 3).replace("size\n", "size,rows\n").replace("\n", "000,8\n").replace("rows000,8", "rows")
        path = self.table(given)
        done = json.loads(self.run_it("--memory", "fast:9MiB", "--memory", "slow:1GiB", "--budget", "0.5", "--json", path).stdout)
        self.assertLess(done["cost"], done["cost_of_whole_buffers"])

    def test_one_memory_and_pages_ignore_the_column(self):
        path = self.table(self.TABLE)
        self.assertEqual(json.loads(self.run_it("--json", path).stdout)["peak"], 1408)
        self.assertEqual(json.loads(self.run_it("--json", "--pages", "64", path).stdout)["peak"], 1408)

    def test_what_is_refused(self):
        for value, reason in [("0", "a buffer has 1 row or more, not 0"), ("7", "the size 640 is not a multiple of the 7 rows"),
                              ("-2", 'rows, "-2", is not an integer of 0 or more'), ("x", 'rows, "x", is not an integer of 0 or more'),
                              ("18446744073709551616", "rows, 18446744073709551616, exceeds 64 bits"),
                              ("641", "the size 640 is not a multiple of the 641 rows")]:
            self.refused(self.table(f"id,lower,upper,size,rows\nb,0,1,1,1\na,0,4,640,{value}\n"), 3, reason)
        path = self.table(self.TABLE)
        done = self.run_it("--symbol", "n:1:4", path, exits_with=2)
        self.assertIn('table.csv:1: the column "rows" cannot be used with symbols', done.stderr)
        plain = self.table(Memories.ROWS)
        for arguments, reason in [
                (["--row", "0", plain], "a row must have at least one byte"), (["--row", "x", plain], '"x" is not a number of bytes'),
                (["--row", "64", plain], "--row needs several memories"), ([*self.MEMORIES, "--row", "4", "--moves", plain], "--row cannot be given with"),
                (["--row", "4", "--pages", "4", plain], "--row cannot be given with")]:
            self.assertIn(reason, self.run_it(*arguments, exits_with=2).stderr)
        path = self.table(self.TABLE)
        self.assertIn("--moves does not divide buffers by rows", self.run_it(*self.MEMORIES, "--moves", path, exits_with=2).stderr)
        self.assertIn("states rows of buffers; --row is for files", self.run_it(*self.MEMORIES, "--row", "64", path, exits_with=2).stderr)
        done = self.run_it("--memory", "fast:500", "--memory", "slow:500", path, exits_with=1)
        self.assertIn("1 of 2 buffers do not fit these memories, even in parts; the most bytes are live at step 1", done.stdout)


class Captures(Planner):
    def capture(self, change=lambda problem: None):
        changed = copy.deepcopy(CAPTURE)
        change(changed["problem"])
        return self.file("capture.json", json.dumps(changed, indent=1))

    def test_constraints_are_kept(self):
        out, picture = str(self.folder / "out.csv"), self.folder / "plan.svg"
        told = json.loads(self.run_it("--json", "--out", out, "--svg", str(picture), self.capture()).stdout)
        rows = self.rows(out)
        self.assertEqual([m["name"] for m in told["memories"]], ["fast", "slow"])
        self.assertEqual([(r["id"], r["memory"]) for r in rows],
                         [("10", "fast"), ("11", "fast"), ("12", "slow"), ("12", "slow"), ("13", "slow"), ("14", "slow"), ("15", "slow")])
        offsets = {r["id"]: int(r["offset"]) for r in rows}
        self.assertEqual({offsets["10"], offsets["11"]}, {32, 64})  # above the reserved range, and apart although their lifetimes do not overlap
        self.assertEqual(offsets["13"], 100)
        self.assertEqual(offsets["14"], offsets["15"])
        self.judge([r for r in rows if r["id"] != "15"], 160)
        self.assertEqual([m["peak"] for m in told["memories"]], [80, 160])
        self.assertEqual((told["peak"], told["status"], told["spilled"]), (240, "feasible", 0))
        titles = Pictures.titles(xml.etree.ElementTree.parse(picture).getroot())
        self.assertEqual(len(titles), 8)  # c lives twice, and a range is reserved
        self.assertIn("reserved: 32 bytes at 0", titles)

    def test_memories_of_another_size(self):
        for size, budget, status, exits_with in [(47, ["--budget", "0"], "infeasible", 1), (79, ["--budget", "0"], "out_of_budget", 1),
                                                 (79, [], "infeasible", 1), (80, [], "feasible", 0)]:
            done = self.run_it("--memory", f"fast:{size}", *budget, "--json", self.capture(), exits_with=exits_with)
            self.assertEqual([m["status"] for m in json.loads(done.stdout)["memories"]], [status, "optimal"])
            self.assertEqual(json.loads(done.stdout)["status"], status)
        self.assertIn('has no memory "medium"', self.run_it("--memory", "medium:79", self.capture(), exits_with=2).stderr)
        self.assertIn("the file has several memories", self.run_it("--capacity", "79", self.capture(), exits_with=2).stderr)

    def test_pages_keep_constraints(self):
        def one_pool(problem, **constraints):
            problem["pools"] = [{**problem["pools"][0], "reserved_ranges": []}]
            del problem["buffers"][2:]
            problem["constraints"] = {kind: constraints.get(kind, []) for kind in problem["constraints"]}

        pair, pin = {"first": 10, "second": 11}, {"buffer": 10, "pool": 1, "offset": 32, "exclusive_for_all_time": False}
        self.assertIn("pages", self.run_it("--pages", "64", self.capture(one_pool)).stdout)
        out = str(self.folder / "out.csv")
        for change, is_kept in [
            (lambda problem: one_pool(problem, separations=[pair]), lambda a, b: not set(a) & set(b)),
            (lambda problem: one_pool(problem, colocations=[pair]), lambda a, b: a[:len(b)] == b[:len(a)]),
            (lambda problem: one_pool(problem, pinned_allocations=[pin]), lambda a, b: a[0] == 1),
            (lambda problem: (one_pool(problem), problem["pools"][0].update(reserved_ranges=[{"begin": 0, "end": 8}])),
             lambda a, b: 0 not in a + b),
        ]:
            self.run_it("--pages", "32", "--out", out, self.capture(change))
            rows = self.rows(out)
            self.assertTrue(is_kept(*(Pages.pages(self, row["pages"]) for row in rows[:2])), rows)
        done = self.run_it("--pages", "64", self.capture(lambda problem: None), exits_with=2)
        self.assertEqual(done.stdout, "")
        self.assertIn("pages require a single memory", done.stderr)
        done = self.run_it("--pages", "64", self.capture(lambda problem: one_pool(problem, pinned_allocations=[pin])),
                           exits_with=2)
        self.assertIn("buffer a: a fixed offset is not a multiple of the required alignment", done.stderr)

    def test_what_is_no_capture(self):
        def line_of(text, needle, occurrence=0):
            return [i + 1 for i, line in enumerate(text.split("\n")) if needle in line][occurrence]

        def buffer(index, **fields):
            return lambda problem: problem["buffers"][index].update(fields)

        def constraint(kind, *pairs):
            return lambda problem: problem["constraints"].update({kind: list(pairs)})

        second = ('"id": 1', 2, -1)  # where buffer 1 begins
        for change, where, reason in [
            (buffer(1, alignment=3), second, "the alignment 3 is not a power of two"),
            (buffer(1, id=10), second, "the buffer id 10 is already used"),
            (buffer(1, size=-1), second, '"size" is not an unsigned 64-bit integer'),
            (buffer(1, size=1.5), second, '"size" is not an unsigned 64-bit integer'),
            (buffer(1, size=2 ** 64), second, '"size" is not an unsigned 64-bit integer'),
            (buffer(1, size=2 ** 64 - 1), second, "the sum of the sizes up to here exceeds 64 bits"),
            (buffer(1, name=7), second, '"name" is not of type string'),
            (buffer(1, allowed_pools=[9]), second, "unknown pool 9"),
            (buffer(1, allowed_pools=[1, 2]), second, "the buffer must be allowed in exactly one pool"),
            (buffer(1, live_intervals=[]), second, "the buffer 11 has no lifetime"),
            (buffer(1, live_intervals=[{"lower": 4, "upper": 4}]), ('"lower"', 1, -1), "upper, 4, is not above lower, 4"),
            (buffer(1, live_intervals=[{"lower": 4, "upper": 6}, {"lower": 5, "upper": 7}]), ('"lower"', 2, -1), "two lifetimes of the buffer 11 overlap"),
            (buffer(1, live_intervals=[{"lower": 4, "upper": 2 ** 63}]), ('"lower"', 1, -1), '"upper" is not a 64-bit integer'),
            (lambda problem: problem["buffers"][1].pop("size"), second, '"size" is missing'),
            (lambda problem: problem["pools"][1].update(name="fast"), ('"pools"', 0, 12), 'the pool name "fast" is already used'),
            (lambda problem: problem["pools"][0]["reserved_ranges"][0].update(begin=33), ('"begin"', 0, -1), "the reserved range ends before it begins"),
            (constraint("separations", {"first": 10, "second": 99}), ('"first"', 0, -1), "unknown buffer 99"),
            (constraint("separations", {"first": 10, "second": 10}), ('"first"', 0, -1), "both buffers of the pair are the same"),
            (constraint("colocations", {"first": 10, "second": 12}), ('"first"', 2, -1), "buffers of different pools cannot share an offset"),
            (constraint("temporal_exclusions", {"first": 10, "second": 11}), ('"first"', 3, -1), "temporal_exclusions are not supported"),
            (lambda problem: problem["constraints"]["pinned_allocations"][0].update(pool=1), ('"buffer"', 0, -1), "the buffer is not allowed in that pool"),
            (lambda problem: problem["constraints"]["pinned_allocations"][0].update(exclusive_for_all_time=True), ('"buffer"', 0, -1), "exclusive pins are not supported"),
            (lambda problem: problem.update(buffers=[7]), ('"problem"', 0, 0), None),
            (lambda problem: problem.update(buffers=[]), ('"problem"', 0, 0), None),
        ]:
            path = self.capture(change)
            text = Path(path).read_text()
            with self.subTest(reason=reason):
                if reason is None:
                    self.assertRegex(self.run_it(path, exits_with=2).stderr, r"^\S+:\d+: .+\n$")
                else:
                    self.refused(path, line_of(text, where[0], where[1]) + where[2], reason)

    def test_a_key_that_is_given_twice(self):
        text = json.dumps(CAPTURE, indent=1)
        for key in ['"size": ', '"id": ', '"problem": ']:
            at = text.index("\n", text.index(key) if key != '"problem": ' else text.index("{")) + 1
            with self.subTest(key=key):
                path = self.file("twice.json", text[:at] + f'{key}1,\n{key}2,\n' + text[at:])
                self.assertRegex(self.run_it(path, exits_with=2).stderr, rf"^\S+:\d+: {key[:-2]} is given twice\n$")

    def test_what_is_no_json(self):
        for text, line in [("", 1), ("{\n\n nonsense", 3), ("[" * 100000, 1), ("7", 1), ("[]", 1), ("{\n}", 1), ('{\n"problem": 1}', 1)]:
            with self.subTest(text=text[:20]):
                self.assertRegex(self.run_it(self.file("x.json", text), exits_with=2).stderr, rf"^\S+x\.json:{line}: [^\n]+\n$")

    def test_pins_that_collide(self):
        def collide(problem):
            problem["constraints"]["pinned_allocations"] = [{"buffer": b, "pool": 2, "offset": 0, "exclusive_for_all_time": False} for b in (13, 14)]
        self.assertIn("buffer", self.run_it(self.capture(collide), exits_with=2).stderr)


class WithoutJson(Planner):
    def test_a_capture_is_refused(self):
        self.assertIn("built without nlohmann's JSON library", self.run_it(self.file("x.json", "{}"), exits_with=2).stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    if "json" in sys.argv[2:]:
        del WithoutJson
    else:
        del Captures
    unittest.main(argv=sys.argv[:1])
