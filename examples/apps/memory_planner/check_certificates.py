#!/usr/bin/python3
"""Tests certificates of memory_planner, and the program that checks them.

    check_certificates.py PROGRAM [json]      json: the program was built with a JSON library

For small tables, an enumeration of all plans decides which claims are true. Each kind of change makes a certificate wrong.
"""

import collections
import copy
import itertools
import json
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
NETWORKS = HERE.parent / "network_demo"
sys.dont_write_bytecode = True
import check_certificate  # noqa: E402


def lowest(rows):
    """Returns the least peak of all plans: in some order, each buffer is at the lowest free offset."""
    best = sum(size for _, _, size in rows)
    for order in itertools.permutations(rows):
        placed, peak = [], 0
        for lower, upper, size in order:
            taken = sorted((at, at + n) for at, n, a, b in placed if a < upper and lower < b)
            at = 0
            for begin, end in taken:
                if begin < at + size:
                    at = max(at, end)
            placed.append((at, size, lower, upper))
            peak = max(peak, at + size)
        best = min(best, peak)
    return best


class Certificates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def made(self, path, *options):
        """Returns the certificate of a plan."""
        target = self.folder / "certificate.json"
        done = subprocess.run([PROGRAM, *options, "--certificate", target, path], capture_output=True, text=True, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(target.read_text())

    def judged(self, data, table=None):
        """Returns the exit status of the checker and its sentence."""
        path = self.folder / "judged.json"
        path.write_text(json.dumps(data))
        return self.judged_file(path, table)

    def judged_file(self, path, table=None):
        command = [HERE / "check_certificate.py", path, *([table] if table else [])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def table(self, rows):
        path = self.folder / "table.csv"
        path.write_text("id,lower,upper,size\n" + "".join(f"b{i},{a},{b},{n}\n" for i, (a, b, n) in enumerate(rows)))
        return path

    def test_claims_agree_with_all_plans(self):
        dice = random.Random(24)
        counts = {"optimal": 0, "infeasible": 0}
        for _ in range(40):
            rows = []
            for _ in range(dice.randint(1, 6)):
                lower = dice.randint(0, 5)
                rows.append((lower, lower + dice.randint(1, 4), dice.randint(1, 9)))
            least, table = lowest(rows), self.table(rows)
            for options in ([], ["--capacity", str(max(least - 1, 0))], ["--capacity", str(least)]):
                data = self.made(table, *options)
                # The checker is a function here, because the start of a process takes longer.
                certificate = check_certificate.Certificate(data)
                certificate.check_table(table)
                sentences, proved = certificate.check()
                self.assertLessEqual(certificate.proved_bound(0), least, rows)
                if data["status"] == "optimal":
                    self.assertEqual(data["memories"][0]["peak"], least, rows)
                if data["status"] == "infeasible":
                    self.assertLess(data["memories"][0]["capacity"], least, rows)
                self.assertTrue(proved, rows)
                if data["status"] in counts:
                    counts[data["status"]] += 1
                self.assertEqual(sentences[0], "the plan is correct")
        self.assertGreater(min(counts.values()), 20, counts)

    def random_problem(self, dice):
        """Returns a certificate of a small memory, without a plan."""
        count, height = dice.randint(1, 4), dice.randint(4, 9)
        pairs = [(i, j) for i in range(count) for j in range(i)]

        def live():
            begin = dice.randint(0, 4)
            return [[begin, begin + dice.randint(1, 2)], *([[begin + 3, begin + 4]] if dice.random() < 0.3 else [])]

        return {"certificate": 1, "status": "infeasible",
                "memories": [{"name": "m", "capacity": height, "peak": height, "section": {"step": 0, "buffers": []},
                              "reserved": [[dice.randint(0, height), dice.randint(0, 2)]] if dice.random() < 0.3 else []}],
                "buffers": [{"name": f"b{i}", "size": dice.randint(0, 5), "align": dice.choice([1, 1, 2, 4]), "lives": live(),
                             "memory": 0, "offset": 0} for i in range(count)],
                "fixed": [[i, dice.randint(0, height)] for i in range(count) if dice.random() < 0.15],
                "together": [list(pair) for pair in pairs if dice.random() < 0.1],
                "apart": [list(pair) for pair in pairs if dice.random() < 0.1]}

    def test_searches_agree_with_all_offsets(self):
        dice = random.Random(7)
        counts = collections.Counter()
        for _ in range(1500):
            data = self.random_problem(dice)
            certificate = check_certificate.Certificate(data)
            height, exists = data["memories"][0]["capacity"], False
            for offsets in itertools.product(range(height + 1), repeat=len(data["buffers"])):
                for buffer, offset in zip(data["buffers"], offsets):
                    buffer["offset"] = offset
                try:
                    certificate.check_plan()
                    exists = True
                    break
                except check_certificate.Wrong:
                    pass
            bound = certificate.proved_bound(0)
            self.assertLessEqual(not exists or bound, height, data)
            found = bound <= height and check_certificate.Search(certificate, 0, height).finds_plan()
            self.assertEqual(found, exists, data)
            counts[exists, bound <= height] += 1
        self.assertGreater(counts[False, True], 50, counts)

    def test_networks_are_proved(self):
        for network in sorted(NETWORKS.glob("*.network")):
            status, text = self.judged(self.made(network))
            self.assertEqual(status, 0, text)
            self.assertIn("optimal: proved", text)

    def test_other_formats(self):
        gaps = self.folder / "gaps.csv"
        gaps.write_text("id,lower,upper,size,gaps\na,0,9,64,3-5 7-8@0:16\nb,3,5,64,\nc,7,8,40,\n")
        for path in (gaps, HERE / "five.csv", HERE / "aligned.csv", *([HERE / "kernel.json"] if JSON else [])):
            status, text = self.judged(self.made(path))
            self.assertIn(status, (0, 3), text)

    def test_all_columns_of_a_table(self):
        table, other = self.folder / "columns.csv", self.folder / "other.csv"
        for columns, row in (("id,lower,upper,size,gaps,alignment", "a,0,9,64,3-5 7-8@0:16,{}\nb,3,5,64,,\nc,7,8,40,,"),
                             ("buffer,start,end,size,gaps,offset", "a,-5,9,10,-3--2@0:4 3-3,{}\nb,3,3,10,,"),
                             ("buffer_id,size,end,begin,alignment", "a,5,9,0,\nb,5,4,1,{}")):
            with self.subTest(columns):
                table.write_text(f"{columns}\n{row.format(8)}\n")
                data = self.made(table)
                status, text = self.judged(data, table)
                self.assertEqual(status, 0, text)
                for change, sentence in ((row.format(16), "than in the certificate"), (row.replace("a,", "x,").format(8), "other buffers than")):
                    other.write_text(f"{columns}\n{change}\n")
                    status, text = self.judged(data, other)
                    self.assertEqual(status, 1, text)
                    self.assertIn(sentence, text)
        data["fixed"] = [[0, data["buffers"][0]["offset"]]]
        self.assertIn("no required offset", self.judged(data, table)[1])

    def test_a_table_has_no_other_constraints(self):
        table = self.folder / "table.csv"
        table.write_text("id,lower,upper,size,gaps\na,0,9,64,3-5@0:16\nb,9,12,64,\nc,3,5,32,\nd,9,10,8,\n")
        good = self.made(table, "--capacity", "96")
        self.assertEqual(self.judged(good, table)[0], 0)
        window = next(i for i, each in enumerate(good["buffers"]) if each["name"] == "a (window)")
        for sentence, change in {
                "a (window) is not at the offset of a": lambda d: d.update(together=[]),
                "are not together": lambda d: d["together"].append([0, 1]),
                "no buffers of a table are apart": lambda d: d.update(apart=[[2, 3]]),
                "without reserved bytes": lambda d: d["memories"][0].update(reserved=[[100, 8]]),
                "a table has one memory": lambda d: d["memories"].append({**d["memories"][0], "peak": 0, "bound": 0,
                                                                          "section": {"step": 0, "buffers": []}}),
                "a has another alignment": lambda d: [d["buffers"][i].update(align=2) for i in (0, window)],
                "has a buffer twice": lambda d: [d["buffers"].append({**d["buffers"][0], "lives": [[5, 9]]}),
                                                 d["buffers"][0].update(lives=[[0, 3]])]}.items():
            with self.subTest(sentence):
                data = copy.deepcopy(good)
                change(data)
                status, text = self.judged(data, table)
                self.assertEqual(status, 1, text)
                self.assertIn(sentence, text)

    def test_a_wrong_certificate_is_refused(self):
        rows = [(0, 2, 4096), (1, 3, 1024), (2, 4, 4096), (3, 5, 512)]
        table = self.table(rows)
        good = self.made(table)
        self.assertEqual(self.judged(good, table)[0], 0)

        def changed(change):
            data = copy.deepcopy(good)
            change(data["buffers"], data["memories"][0], data)
            return self.judged(data, table)

        first, second = sorted(range(2), key=lambda i: good["buffers"][i]["offset"])
        wrong = {
            "overlap": lambda b, m, d: b[second].update(offset=b[first]["offset"]),
            "above the peak": lambda b, m, d: m.update(peak=m["peak"] - 1),
            "is not aligned": lambda b, m, d: b[0].update(offset=b[0]["offset"] + 1, align=2),
            "does not live at the step": lambda b, m, d: m["section"]["buffers"].append(3),
            "other buffers than": lambda b, m, d: b[3].update(size=511),
            "exceeds the capacity": lambda b, m, d: m.update(capacity=100),
            "reserved bytes": lambda b, m, d: m.update(reserved=[[0, 1], [1, 5119]]),
            "not at its fixed offset": lambda b, m, d: d.update(fixed=[[0, 9999]]),
            "not at the offset of": lambda b, m, d: d.update(together=[[0, 1]]),
            "are together and apart": lambda b, m, d: [b[1].update(offset=b[0]["offset"]), d.update(together=[[0, 1]], apart=[[1, 0]])],
            "no certificate of version 1": lambda b, m, d: d.update(certificate=2),
            "not readable": lambda b, m, d: d.pop("buffers"),
            "not readable as a certificate: ValueError": lambda b, m, d: m.update(capacity=float("nan")),
            "the status good is unknown": lambda b, m, d: d.update(status="good"),
            "a position is that of no buffer": lambda b, m, d: d.update(apart=[[-1, 0]]),
            "an empty lifetime": lambda b, m, d: b[0].update(lives=[]),
            "a list of pairs has another element": lambda b, m, d: d.update(apart=[[0]]),
            "the bound exceeds the peak": lambda b, m, d: m.update(bound=m["peak"] + 1),
        }
        for sentence, change in wrong.items():
            with self.subTest(sentence):
                status, text = changed(change)
                self.assertEqual(status, 1, text)
                self.assertIn(sentence, text)

        deep, long = self.folder / "deep.json", self.folder / "long.csv"
        deep.write_text("[" * 50_000)
        long.write_text("id,lower,upper,size\n" + "b" * 200_000 + ",0,2,4096\n")
        for path in (deep, self.folder):
            self.assertRegex(self.judged_file(path)[1], f"^{path}: not readable as a certificate: .*\n$")
        status, text = self.judged(good, long)
        self.assertEqual(status, 1)
        self.assertRegex(text, r"^\S+judged.json: wrong: \S+long.csv: field larger than .*\n$")

        for bound, status in ((5120, 0), (5121, 1)):  # also of a plan that is not said to be optimal
            self.assertEqual(changed(lambda b, m, d: [m.update(peak=9999, bound=bound), d.update(status="feasible")])[0], status)  # noqa: B023
        # A claim that the section does not prove is searched.
        status, text = changed(lambda b, m, d: m["section"].update(buffers=[]))
        self.assertEqual(status, 0, text)
        self.assertIn("optimal: proved by a search", text)
        higher = {i: buffer["offset"] + 512 for i, buffer in enumerate(good["buffers"])}
        status, text = changed(lambda b, m, d: [m.update(peak=m["peak"] + 512),
                                                *(b[i].update(offset=offset) for i, offset in higher.items())])
        self.assertEqual(status, 1, text)
        self.assertIn("optimal: another plan needs fewer bytes", text)

    def test_a_search_that_is_too_long(self):
        # The graph of Groetzsch: no three of its vertices are neighbors of each other, and it needs four colors.
        ring = [(i, (i + 1) % 5) for i in range(5)]
        apart = [*ring, *((i + 5, j) for i, j in ring), *((j + 5, i) for i, j in ring), *((i + 5, 10) for i in range(5))]
        data = {"certificate": 1, "status": "infeasible", "fixed": [], "together": [], "apart": apart,
                "memories": [{"name": "m", "capacity": 3, "peak": 4, "bound": 0, "reserved": [], "section": {"step": 0, "buffers": [0]}}],
                "buffers": [{"name": f"b{i}", "size": 1, "align": 1, "lives": [[i, i + 1]], "memory": 0, "offset": offset}
                            for i, offset in enumerate([0, 1, 0, 1, 2, 0, 1, 0, 1, 2, 3])]}
        for limit, word in ((120, "too long"), (500, "too long"), (100_000, "proved by a search")):  # 121 pairs
            with unittest.mock.patch.object(check_certificate.Search, "LIMIT", limit):
                sentences, proved = check_certificate.Certificate(data).check()
            self.assertIn(word, sentences[-1])
            self.assertEqual(proved, word != "too long")
        # A memory for which the search is too long hides neither the proof nor the mistake of another one.
        data["memories"].append({**data["memories"][0], "name": "n", "capacity": 2, "peak": 3})
        ring = [{"name": f"c{i}", "size": 1, "align": 1, "lives": [[i, i + 1]], "memory": 1, "offset": at}
                for i, at in enumerate([0, 1, 0, 1, 2])]
        data["buffers"] += ring
        data["apart"] = [*apart, *((11 + i, 11 + (i + 1) % 5) for i in range(5))]
        data["memories"][1]["section"] = {"step": 0, "buffers": [11]}
        with unittest.mock.patch.object(check_certificate.Search, "LIMIT", 500):
            self.assertEqual(check_certificate.Certificate(data).check()[0][-1], "infeasible: proved by a search")
            for memory in data["memories"]:
                memory["capacity"] = None
            data["status"], data["memories"][1]["peak"] = "optimal", 4
            with self.assertRaisesRegex(check_certificate.Wrong, "optimal: another plan needs fewer bytes"):
                check_certificate.Certificate(data).check()
        del data["memories"][1], data["buffers"][11:]
        data["apart"], data["status"] = apart, "infeasible"
        data["memories"][0]["capacity"] = 4
        with self.assertRaisesRegex(check_certificate.Wrong, "infeasible: another plan needs fewer bytes"):
            check_certificate.Certificate(data).check()

    def test_a_clique_of_several_steps(self):
        # Buffers of different stages are apart. Two buffers of a stage live at the same time, and a larger one before them.
        stages = 8
        buffers = [{"name": f"b{i}", "size": 7 if i % 3 else 8, "align": 1, "memory": 0,
                    "lives": [[2 * (i // 3) + (i % 3 != 0), 2 * (i // 3) + (i % 3 != 0) + 1]],
                    "offset": 14 * (i // 3) + (7 if i % 3 == 2 else 0)} for i in range(3 * stages)]
        data = {"certificate": 1, "status": "optimal", "fixed": [], "together": [], "buffers": buffers,
                "apart": [(i, j) for i in range(3 * stages) for j in range(i) if i // 3 != j // 3],
                "memories": [{"name": "m", "capacity": None, "peak": 14 * stages, "bound": 14 * stages, "reserved": [],
                              "section": {"step": 1, "buffers": [1, 2]}}]}
        self.assertEqual(check_certificate.Certificate(data).check()[0][-1], "optimal: proved by a search")
        for pair in ((3, 0), (4, 1)):  # the larger buffers are not in the heaviest clique
            less = {**data, "apart": [each for each in data["apart"] if each != pair]}
            certificate = check_certificate.Certificate(less)
            self.assertEqual(check_certificate.Search(certificate, 0, 14 * stages - 1).has_high_clique(), pair == (3, 0))

    def test_plans_without_certificates(self):
        for options in (["--pages", "4"], ["--memory", "a:5", "--memory", "b:99"]):
            done = subprocess.run([PROGRAM, *options, "--certificate", self.folder / "none", HERE / "five.csv"],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("a certificate is of plans in which each buffer is contiguous", done.stderr)


if __name__ == "__main__":
    PROGRAM, JSON = Path(sys.argv[1]).resolve(), "json" in sys.argv[2:]
    if not JSON:
        print("skipped: the capture in JSON, because the program was built without a JSON library")
    unittest.main(argv=sys.argv[:1])
