#!/usr/bin/python3
"""Tests what memory_planner states about a plan that does not fit, its table of several files, and its page.

    check_explanations.py PROGRAM [json]      json: the program was built with a JSON library

Each reported change is applied to the file, and the changed file is planned. For few buffers, a search over all plans
decides whether the original file fits, and whether the changed one does.
"""

import itertools
import json
import random
import re
import shutil
import sys
import unittest
from pathlib import Path

import check

try:
    import jsonschema
except ImportError:
    jsonschema = None

HERE = Path(__file__).resolve().parent
NETWORKS = sorted((HERE.parent / "network_demo").glob("*.network"))


class Problem:
    """Buffers as (size, lifetimes), pairs at one offset, and a capacity."""

    def __init__(self, rows, capacity):
        self.buffers = {name: (size, [(lower, upper)]) for name, lower, upper, size in rows}
        self.pairs, self.capacity = [], capacity

    def text(self):
        buffers = [{"id": name, "size": size, "live": [list(life) for life in lives]} for name, (size, lives) in self.buffers.items()]
        return json.dumps({"buffers": buffers, "together": self.pairs})

    def changed(self, change):
        """Returns the problem after a change, and the options that it needs."""
        made, options = Problem([], self.capacity), []
        made.buffers, made.pairs = dict(self.buffers), list(self.pairs)
        for name in change["buffers"]:
            size, lives = made.buffers[name]
            if change["kind"] == "absent":
                begin, end = change["from"], change["until"]
                parts = [part for a, b in lives for part in ((a, min(b, begin)), (max(a, end), b)) if part[0] < part[1]]
                if parts:
                    made.buffers[name] = (size, parts)
                else:
                    del made.buffers[name]
            elif change["kind"] == "smaller":
                made.buffers[name] = (size - change["bytes"], lives)
            elif change["kind"] == "elsewhere":
                del made.buffers[name]
        if change["kind"] == "in_place":
            made.pairs.append(change["buffers"])
        if change["kind"] == "pages":
            options = ["--pages", str(change["bytes"])]
        if change["kind"] == "capacity":
            made.capacity = change["bytes"]
        return made, options

    def fits(self):
        """Tries all orders: some order gives each plan in which no buffer can be lower."""
        groups = {name: {name} for name in self.buffers}
        for one, other in self.pairs:
            union = groups[one] | groups[other]
            groups.update(dict.fromkeys(union, union))
        units = [sorted(unit) for unit in {frozenset(unit) for unit in groups.values()}]

        def meet(one, other):
            return any(a < d and c < b for a, b in self.buffers[one][1] for c, d in self.buffers[other][1])

        for order in itertools.permutations(units):
            placed = {}
            for unit in order:
                clashes = [(placed[o], placed[o] + self.buffers[o][0], self.buffers[m][0]) for m in unit for o in placed if meet(m, o)]
                offset = min(at for at in [0, *(end for _, end, _ in clashes)]
                             if all(at >= end or at + size <= begin for begin, end, size in clashes))
                placed.update(dict.fromkeys(unit, offset))
            if all(placed[name] + self.buffers[name][0] <= self.capacity for name in placed):
                return True
        return False


class Explanations(check.Planner):
    def explained(self, path, *options):
        done = self.run_it("--json", *options, str(path), exits_with=1)
        told = json.loads(done.stdout)["explanation"]
        for each in told:
            self.assertIn(each["why"] + "\n", done.stderr)
            self.assertLessEqual(len(each["fits_if"]), 3)
            for change in each["fits_if"]:
                self.assertIn(f"  it fits if {change['text']}\n", done.stderr)
        return told

    def test_the_critical_step(self):
        path = self.table("id,lower,upper,size\na,0,3,40\nb,2,6,30\nc,5,9,40\nd,1,8,20\n")
        told, = self.explained(path, "--capacity", "80")
        self.assertEqual(told["why"], "at step 2, 3 buffers of 90 bytes are live, 10 more than fit (the capacity is 80): a (40 bytes), "
                         "b (30 bytes), d (20 bytes)")
        # At step 5, b, c and d have 90 bytes too: only b and d can help alone, and not by an absence at step 2.
        self.assertEqual([(c["kind"], c["bytes"]) for c in told["fits_if"]], [("smaller", 10), ("elsewhere", 20), ("capacity", 90)])
        self.assertIn(told["fits_if"][0]["buffers"], (["b"], ["d"]))
        self.assertEqual(told["fits_if"][1]["buffers"], ["d"])
        self.assertEqual(told["fits_if"][2]["text"], "memory has 90 bytes (10 more)")

    def test_an_operator_in_place(self):
        rows = [("x", 0, 3, 50), ("y", 2, 5, 50), ("z", 4, 6, 50)]
        problem = Problem(rows, 60)
        told, = self.explained(self.file("p.json", problem.text()), "--capacity", "60")
        kinds = [change["kind"] for change in told["fits_if"]]
        self.assertNotIn("in_place", kinds)  # z still meets y
        problem = Problem(rows[:2], 60)
        told, = self.explained(self.file("p.json", problem.text()), "--capacity", "60")
        self.assertEqual(told["fits_if"][0]["text"], "y overwrites x in place at step 2 (50 bytes)")

    def test_buffers_that_are_together_count_once(self):
        problem = Problem([("a", 0, 4, 40), ("b", 0, 5, 35), ("c", 0, 4, 30)], 60)
        problem.pairs = [["a", "b"]]
        told, = self.explained(self.file("p.json", problem.text()), "--capacity", "60")
        self.assertEqual(told["why"], "at step 0, 3 buffers of 70 bytes are live, 10 more than fit (the capacity is 60): a (40 bytes), "
                         "b (35 bytes), c (30 bytes)")
        self.assertIn("c has 20 bytes or less instead of 30 (10 fewer)", [change["text"] for change in told["fits_if"]])
        out = self.folder / "plan.html"
        self.run_it("--html", str(out), "--capacity", "60", self.file("p.json", problem.text()), exits_with=1)
        self.assertIn("memory: 3 buffers of 70 bytes are live at step 0, the critical one", out.read_text())

    def test_each_change_suffices_by_exhaustive_search(self):
        chance, kinds = random.Random(3), set()
        for _ in range(25):
            rows = [(f"b{i}", lower, lower + chance.randrange(1, 5), chance.randrange(1, 30)) for i, lower in
                    enumerate(chance.randrange(6) for _ in range(chance.randrange(3, 7)))]
            most = max(sum(size for _, a, b, size in rows if a <= t < b) for t in range(12))
            problem = Problem(rows, max(1, most - chance.randrange(1, 12)))
            self.assertFalse(problem.fits())
            told, = self.explained(self.file("p.json", problem.text()), "--capacity", str(problem.capacity))
            self.assertTrue(told["fits_if"])
            for change in told["fits_if"]:
                kinds.add(change["kind"])
                changed, options = problem.changed(change)
                if not options:
                    self.assertTrue(changed.fits(), (rows, problem.capacity, change))
                if changed.buffers:
                    self.run_it("--capacity", str(changed.capacity), *options, self.file("changed.json", changed.text()))
                if change["kind"] == "smaller" and change["bytes"] > 1 and len(change["buffers"]) == 1:
                    change["bytes"] -= 1
                    if most - problem.capacity > change["bytes"]:
                        self.assertFalse(problem.changed(change)[0].fits(), change)
        self.assertLessEqual({"absent", "smaller"}, kinds)

    def test_each_change_suffices_for_larger_files(self):
        chance, kinds = random.Random(4), set()
        for count, share in ((40, 0.97), (40, 0.8), (200, 0.97), (200, 0.6)):
            rows = [(f"b{i}", lower, lower + chance.randrange(1, 9), chance.randrange(1, 5000)) for i, lower in
                    enumerate(chance.randrange(count // 4) for _ in range(count))]
            most = max(sum(size for _, a, b, size in rows if a <= t < b) for t in range(count))
            problem = Problem(rows, int(most * share))
            told, = self.explained(self.file("p.json", problem.text()), "--capacity", str(problem.capacity))
            self.assertTrue(told["fits_if"])
            for change in told["fits_if"]:
                kinds.add(change["kind"])
                changed, options = problem.changed(change)
                self.run_it("--capacity", str(changed.capacity), *options, self.file("changed.json", changed.text()))
        self.assertIn("elsewhere", kinds)

    def test_several_memories(self):
        path = self.table("id,lower,upper,size\na,0,3,40\nb,2,6,30\nc,5,9,40\nd,1,8,20\n")
        told, = self.explained(path, "--memory", "fast:50", "--memory", "slow:30")
        self.assertTrue(told["why"].startswith("at step 2, 3 buffers of 90 bytes are live, 10 more than fit (all memories together have 80)"))
        sizes = {change["kind"]: change for change in told["fits_if"]}
        self.run_it("--memory", "fast:50", "--memory", f"slow:{sizes['capacity']['bytes']}", path)
        done = self.run_it("--memory", "fast:50", "--memory", "slow:30", path, exits_with=1)
        self.assertIn("\n  it fits if slow has ", done.stdout)

    def test_rows_in_two_memories(self):
        both = ("--memory", "fast:100", "--memory", "slow:100")
        told, = self.explained(self.table("id,lower,upper,size\na,0,3,130\nb,0,3,60\n"), *both)
        self.assertEqual([(change["kind"], change["buffers"], change["bytes"]) for change in told["fits_if"] if change["kind"] == "rows"], [("rows", ["a"], 5)])
        self.run_it(*both, self.table("id,lower,upper,size,rows\na,0,3,130,26\nb,0,3,60,1\n"))
        # A divided buffer that is still too large becomes smaller by whole rows.
        told, = self.explained(self.table("id,lower,upper,size,rows\na,0,3,210,21\nb,0,3,5,1\n"), *both)
        self.assertEqual([(change["buffers"], change["bytes"]) for change in told["fits_if"] if change["kind"] == "smaller"], [(["a"], 20)])
        self.run_it(*both, self.table("id,lower,upper,size,rows\na,0,3,190,19\nb,0,3,5,1\n"))
        self.run_it(*both, self.table("id,lower,upper,size,rows\na,0,3,200,20\nb,0,3,5,1\n"), exits_with=1)

    def test_the_planner_finds_a_plan_for_the_stated_capacity(self):
        path = self.table("id,lower,upper,size,alignment,rows,gaps\na,0,4,32,8,4,\nb,0,6,15,,3,3-5\nc,4,8,16,,,\n")
        told, = self.explained(path, "--memory", "fast:8", "--memory", "slow:29")
        stated, = [change["bytes"] for change in told["fits_if"] if change["kind"] == "capacity"]
        self.run_it("--memory", "fast:8", "--memory", f"slow:{stated}", path)

    def test_a_plan_that_fits_has_no_explanation(self):
        self.assertNotIn("explanation", json.loads(self.run_it("--json", str(HERE / "five.csv")).stdout))

    def test_what_the_search_did_not_find(self):
        told, = self.explained(self.table(check.random_table(300, 100, 5)), "--capacity", "150000")
        self.assertRegex(told["why"], r"^at step \d+, \d+ buffers of [\d,]+ bytes are live, [\d,]+ more than fit")
        self.assertRegex(told["why"], r", and \d+ more$")


class Schema(check.Planner):
    def test_every_line_of_json(self):
        if jsonschema is None:
            self.skipTest("jsonschema is not installed")
        schema = json.loads((HERE / "report.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        network, table = str(NETWORKS[0]), str(HERE / "paged.csv")
        both = ("--memory", "fast:1MiB", "--memory", "slow:1GiB")
        for arguments, status in [([table], 0), (["--pages", "4096", table], 0), ([*both, network], 0), (["--moves", *both, network], 0),
                                  (["--capacity", "1000", table], 1), (["--capacity", "1000", "--pages", "4096", table], 1),
                                  (["--memory", "fast:1KiB", "--memory", "slow:1KiB", network], 1), ([*both, "--row", "1KiB", network], 0),
                                  (["--memory", "fast:128", "--memory", "slow:160", "--row", "64", str(HERE / "aligned.csv")], 1),
                                  (["--moves", "--memory", "fast:1KiB", "--memory", "slow:1KiB", network], 1), ([table, network], 0),
                                  ([str(HERE / "samples" / "loop-xla.txt")], 0), ([str(HERE / "samples" / "two_layers.mlir")], 0)]:
            for line in self.run_it("--json", *arguments, exits_with=status).stdout.splitlines():
                with self.subTest(arguments=arguments):
                    jsonschema.validate(json.loads(line), schema, cls=jsonschema.Draft202012Validator)


class Several(check.Planner):
    def test_a_table_of_files(self):
        files = [str(HERE / "five.csv"), *map(str, NETWORKS)]
        done = self.run_it(*files, self.file("no.csv", "no\n"), self.file("README.md", "# Networks\n"))
        self.assertEqual(done.stderr, f'{self.folder}/no.csv:1: the column "no" is unknown; a table begins with a line such as '
                         "id,lower,upper,size\n1 file is in no format of the planner\n")
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^file +format +buffers +bytes +lower bound +gap +status +seconds$")
        self.assertEqual([line.split()[0] for line in lines[2:]], files)
        self.assertRegex(lines[2], r"a table +5 +12 +12 +0\.00 % +optimal +\d+\.\d\d$")
        told = [json.loads(line) for line in self.run_it("--json", *files).stdout.splitlines()]
        self.assertEqual([each["file"] for each in told], files)
        self.assertIn("infeasible", self.run_it("--capacity", "1MiB", *files, exits_with=1).stdout)
        self.assertIn("no room", self.run_it("--memory", "a:5", "--memory", "b:5", *files, exits_with=1).stdout)
        bad = self.file("bad.csv", "no\n")
        self.assertEqual(self.run_it(bad, bad, exits_with=2).stdout, "")
        self.assertIn("--out, --svg, --html and --certificate are for one file", self.run_it("--out", "x", *files, exits_with=2).stderr)


class Pages(check.Planner):
    def page(self, *arguments, exits_with=0):
        out = self.folder / "plan.html"
        self.run_it("--html", str(out), *arguments, exits_with=exits_with)
        return out

    def test_the_buffers_of_the_critical_step(self):
        table = self.table("id,lower,upper,size\na<b,0,3,40\nb,2,6,30\nc,5,9,40\nd,1,8,20\n")
        text = self.page("--capacity", "80", table, exits_with=1).read_text()
        self.assertIn("memory: 3 buffers of 90 bytes are live at step 2, the critical one", text)
        rows = re.findall(r'<tr data-buffer="(\d+)"><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>', text)
        self.assertEqual(rows, [("0", "a&lt;b", "40", "44.4 %"), ("1", "b", "30", "33.3 %"), ("3", "d", "20", "22.2 %")])
        self.assertIn("it fits if", text)
        self.assertEqual(text.count('class="critical"'), 1)
        self.assertEqual(sorted(re.findall(r'<rect class="[^"]+" data-buffer="(\d+)"', text)), ["0", "1", "2", "3"])
        self.assertNotIn("data-buffer", self.picture(table))

    def picture(self, table):
        self.run_it("--svg", str(self.folder / "p.svg"), table)
        return (self.folder / "p.svg").read_text()

    def test_pages_and_several_memories(self):
        table = str(HERE / "paged.csv")
        text = self.page("--pages", "4096", table).read_text()
        self.assertRegex(text, r'<path class="[^"]+" data-buffer="2"')
        text = self.page("--memory", "fast:32KiB", "--memory", "slow:1MiB", table).read_text()
        self.assertEqual(len(re.findall("<h2>", text)), 2)

    def test_the_pointer_in_a_browser(self):
        try:
            from selenium import webdriver  # pylint: disable=import-outside-toplevel
            from selenium.webdriver.common.action_chains import ActionChains
            from selenium.webdriver.chrome.service import Service
        except ImportError:
            self.skipTest("selenium is not installed")
        driver, browser = shutil.which("chromedriver"), shutil.which("chromium")
        if not driver or not browser:
            self.skipTest("chromium is not installed")
        page = self.page(self.table("id,lower,upper,size\na,0,3,40\nb,2,6,30\nc,5,9,40\nd,1,8,20\n"))
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,1000"):
            options.add_argument(argument)
        with webdriver.Chrome(service=Service(driver), options=options) as shown:
            shown.get(page.as_uri())
            tip = shown.find_element("id", "tip")
            self.assertFalse(tip.is_displayed())
            shape = shown.find_element("css selector", 'rect[data-buffer="3"]')
            ActionChains(shown).move_to_element(shape).perform()
            self.assertTrue(tip.is_displayed())
            self.assertRegex(tip.text, r"^d: 20 bytes at \d+, steps 1 to 8\nstep 4: 2 buffers, 50 bytes$")
            self.assertIn("marked", shape.get_attribute("class"))
            row = shown.find_element("css selector", 'tr[data-buffer="0"]')
            ActionChains(shown).move_to_element(row).perform()
            self.assertIn("marked", shown.find_element("css selector", 'rect[data-buffer="0"]').get_attribute("class"))
            self.assertNotIn("marked", shape.get_attribute("class"))


if __name__ == "__main__":
    check.PROGRAM = sys.argv[1]
    if "json" not in sys.argv[2:]:
        print("skipped: without a JSON library, changes of pairs are not checked")
        for name in ("test_an_operator_in_place", "test_buffers_that_are_together_count_once",
                     "test_each_change_suffices_by_exhaustive_search", "test_each_change_suffices_for_larger_files"):
            delattr(Explanations, name)
    unittest.main(argv=sys.argv[:1])
