#!/usr/bin/python3
"""Tests plans of memory_planner for all values of symbols.

    check_ranges.py PROGRAM [json]      json: the program was built with a JSON library

The offsets in the output are expressions. Python computes them, and compares all pairs of buffers for each value.
"""

import itertools
import json
import random
import sys
import unittest
from pathlib import Path

import check
import check_formats

HERE = Path(__file__).resolve().parent
HEAD = "id,lower,upper,size,alignment\n"


def sizes_at(plan, values):
    return {each["id"]: eval(each["size"], {}, values) for each in plan["buffers"]}


def offsets_at(offsets, sizes, values):
    """The offsets of a range for these values. `end(id)` is the end of an earlier buffer."""
    placed = {}
    names = {**values, "max": max, "align": lambda value, to: -(-value // to) * to,
             "end": lambda name: placed[name] + sizes[name], **{name: name for name in sizes}}
    for name, text in offsets.items():
        placed[name] = eval(text, {}, names)
    return placed


def load_at(plan, sizes):
    lives = [(step, each["id"]) for each in plan["buffers"] for step in each["live"]]
    return max(sum(sizes[name] for (begin, end), name in lives if begin <= step < end) for (step, _), _ in lives)


class Ranges(check.Planner):
    def ranged(self, path, *arguments):
        out = self.folder / "plan.json"
        done = self.run_it("--json", "--out", str(out), *arguments, str(path))
        return json.loads(done.stdout), json.loads(out.read_text())

    def judge_at(self, plan, found, values):
        """Checks the plan for these values. Returns its peak and the most live bytes."""
        sizes = sizes_at(plan, values)
        at = offsets_at(found["offsets"], sizes, values)
        self.assertEqual(set(at), set(sizes))
        buffers = {each["id"]: each for each in plan["buffers"]}
        apart = {frozenset(pair) for pair in plan.get("apart", [])}
        for name, each in buffers.items():
            self.assertEqual(at[name] % each["alignment"], 0)
        for a, b in itertools.combinations(buffers, 2):
            together = any(x[0] < y[1] and y[0] < x[1] for x in buffers[a]["live"] for y in buffers[b]["live"])
            if together or frozenset((a, b)) in apart:
                self.assertTrue(at[a] + sizes[a] <= at[b] or at[b] + sizes[b] <= at[a], (values, a, b))
        peak = max((at[name] + size for name, size in sizes.items() if size), default=0)
        self.assertLessEqual(peak, found["peak"])
        return peak, load_at(plan, sizes)

    def judge_all(self, told, plan, choose=None):
        """Checks the plan for all values, or for some random ones."""
        symbols = plan["symbols"]
        every = itertools.product(*(range(least, most + 1) for least, most in symbols.values()))
        if choose:
            every = [[choose.randint(*each) for each in symbols.values()] for _ in range(60)]
        for each in every:
            values = dict(zip(symbols, each))
            held = [i for i, found in enumerate(plan["ranges"])
                    if all(found["symbols"][name][0] <= value <= found["symbols"][name][1] for name, value in values.items())]
            self.assertEqual(len(held), 1, values)
            peak, load = self.judge_at(plan, plan["ranges"][held[0]], values)
            self.assertLessEqual(peak, told["peak"])
            if (excess := told["ranges"][held[0]]["excess"]) is not None and all(b["alignment"] == 1 for b in plan["buffers"]):
                self.assertLessEqual(1000 * peak, (1000 + round(1000 * excess)) * load, values)

    def test_random_problems(self):
        for seed in range(6):
            chance = random.Random(seed)
            forms = ["8", "4*n", "n*m", "2*(n + 1)*m + 3", "m*m", "(2*m)*(3 + n)", "n*m + 5*m + 7"]
            rows = "".join(f"b{i},{begin},{begin + chance.randint(1, 5)},{chance.choice(forms)},{chance.choice([1, 1, 4]) if seed % 2 else 1}\n"
                           for i, begin in enumerate(chance.choices(range(8), k=12)))
            told, plan = self.ranged(self.table(HEAD + rows), "--symbol", "m:0:9", "--symbol", "n:1:6")
            self.judge_all(told, plan)
            check_formats.Json.validate(self, plan)
            again, same = self.ranged(self.folder / "plan.json")
            self.assertEqual((again["ranges"], same), (told["ranges"], plan))  # a plan can be read again

    def test_a_size_of_eight_factors_can_be_read_again(self):
        sizes = "(n + 1)*(2*n + 3)*(m + 1)*(m + 2)*n*m*3*4", "(n + 1)*(n + 2)*(m + 3)*(m + 4) + 5*n + 6*(m + 7) + 2"
        rows = "".join(f"b{i},0,2,{size},4\n" for i, size in enumerate(sizes))
        told, plan = self.ranged(self.table(HEAD + rows), "--symbol", "m:0:4", "--symbol", "n:0:3")
        self.judge_all(told, plan)
        for values in itertools.product(range(4), range(5)):
            values = dict(zip("nm", values))
            self.assertEqual([*sizes_at(plan, values).values()], [eval(size, {}, values) for size in sizes])
        again, same = self.ranged(self.folder / "plan.json")
        self.assertEqual((again["ranges"], same), (told["ranges"], plan))

    def test_gaps_and_pairs_that_are_apart(self):
        text = "id,lower,upper,size,gaps\na,0,9,4*n,2-4\nb,2,4,5*n,\nc,4,6,n*n,\n"
        self.judge_all(*self.ranged(self.table(text), "--symbol", "n:1:9"))
        whole = {"symbols": {"n": [1, 7]}, "apart": [["a", "b"]],
                 "buffers": [{"id": "a", "size": "3*n", "live": [[0, 1], [2, 3]]}, {"id": "b", "size": 9, "live": [[1, 2]]}]}
        told, plan = self.ranged(self.file("problem.json", json.dumps(whole)))
        self.assertEqual(told["peak"], 30)
        self.judge_all(told, plan)

    def test_the_sample_is_within_the_tolerance(self):
        told, plan = self.ranged(HERE / "samples" / "encoder.json")
        self.judge_all(told, plan, random.Random(1))
        self.assertLessEqual(told["excess"], 0.05)
        self.assertEqual(told["status"], "feasible")
        text = self.run_it(str(HERE / "samples" / "encoder.json")).stdout.splitlines()
        self.assertEqual(len(text), 1 + len(told["ranges"]))
        self.assertIn("13 buffers for all values of 2 symbols", text[0])

    def test_capacity(self):
        table = self.table(HEAD + "a,0,2,4*n,1\nb,1,3,n*n,1\n")
        for capacity, status, code in [(60, "optimal", 0), (59, "infeasible", 1)]:
            done = self.run_it("--json", "--capacity", str(capacity), "--symbol", "n:0:6", table, exits_with=code)
            told = json.loads(done.stdout)
            self.assertEqual((told["peak"], told["lower_bound"], told["status"], told["excess"]), (60, 60, status, 0))

    def test_refusals_name_the_place(self):
        def size(text, reason):
            path = self.table(HEAD + f"a,0,2,{text},1\n")
            done = self.run_it("--symbol", "n:1:9", "--symbol", "m:1:9", path, exits_with=2)
            self.assertEqual(done.stderr, f'{path}:2: size, "{text}": {reason}\n')

        size("4*k", 'the symbol "k" has no range')
        size("4*", "a number or a symbol is missing")
        size("4 n", '"n" is not expected')
        size("n-1", '"-1" is not expected')
        size("(n", "a closing bracket is missing")
        size("(n + m)", "brackets with two symbols are not supported")
        size("(n*m)", "brackets with products of symbols are not supported")
        size("n*n*n*n*n*n*n*n*n", "more than eight factors are not supported")
        size("9999999999*9999999999*n", "a number exceeds 64 bits")
        big = self.table(HEAD + "a,0,2,18446744073709551615*n,1\n")
        done = self.run_it("--symbol", "n:1:9", big, exits_with=2)
        self.assertEqual(done.stderr, f"{big}:2: the size for the largest values exceeds 64 bits\n")

        table = self.table(HEAD + "a,0,2,4*n,1\n")
        for arguments, reason in [(["--symbol", "n"], "NAME:LEAST:MOST"), (["--symbol", "n:3:2"], "NAME:LEAST:MOST"),
                                  (["--symbol", "3:1:2"], "NAME:LEAST:MOST"),
                                  (["--symbol", "n:1:2", "--symbol", "n:1:3"], "given twice"),
                                  (["--symbol", "n:1:2", "--pages", "4"], "--pages"),
                                  (["--symbol", "n:1:2", "--svg", str(self.folder / "x.svg")], "--svg"),
                                  (["--symbol", "n:1:2", "--out", str(self.folder / "x.csv")], ".json")]:
            self.assertIn(reason, self.run_it(*arguments, table, exits_with=2).stderr)
        fixed = self.table("id,lower,upper,size,offset\na,0,2,4*n,8\n")
        self.assertIn("supports no offsets", self.run_it("--symbol", "n:1:2", fixed, exits_with=2).stderr)

        buffers = [{"id": "a", "size": 4, "live": [[0, 1]]}]
        for symbols, reason in [({}, '"symbols" is empty'), ({"n": [2, 1]}, "does not have the form [LEAST, MOST]"),
                                ({"n": 3}, "does not have the form"), ({"3": [1, 2]}, "is not a letter")]:
            path = self.file("problem.json", json.dumps({"symbols": symbols, "buffers": buffers}))
            self.assertIn(reason, self.run_it(path, exits_with=2).stderr)
        path = self.file("problem.json", json.dumps({"ranges": [], "buffers": buffers}))
        self.assertIn('"ranges" without "symbols"', self.run_it(path, exits_with=2).stderr)
        self.assertIn("--symbol is for tables", self.run_it("--symbol", "n:1:2", path, exits_with=2).stderr)


if __name__ == "__main__":
    check.PROGRAM = sys.argv[1]
    if "json" not in sys.argv[2:]:
        print("skipped: the program was built without a JSON library, so it writes no plans for ranges")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
