#!/usr/bin/python3
"""Checks a certificate of ./dev plan: check_certificate.py CERTIFICATE [TABLE]

Shares no code with the planner. Verifies the places of the plan, and computes the bound of each section anew. With the TABLE
that was planned (columns id, lower, upper, size), also verifies that the certificate has its buffers.

Exit status: 0 if each claim is proved; 1 if the certificate is wrong; 3 if the plan is correct and the certificate does not
prove that it is optimal, or that no plan fits.
"""

import collections
import csv
import json
import sys


class Wrong(Exception):
    """The certificate states something that is false."""


def require(condition, sentence):
    if not condition:
        raise Wrong(sentence)


def meet(one, other):
    return any(a < d and c < b for a, b in one["lives"] for c, d in other["lives"])


class Certificate:
    def __init__(self, data):
        require(data.get("certificate") == 1, "this is no certificate of version 1")
        self.status = data["status"]
        self.memories, self.buffers = data["memories"], data["buffers"]
        self.fixed = [tuple(pair) for pair in data["fixed"]]
        self.apart = {frozenset(pair) for pair in data["apart"]}
        self.leader = list(range(len(self.buffers)))
        for one, other in data["together"]:
            gone, stays = self.leader[one], self.leader[other]
            self.leader = [stays if each == gone else each for each in self.leader]
        for buffer in self.buffers:
            align = buffer["align"]
            require(buffer["size"] >= 0 and align > 0 and align & (align - 1) == 0, f"{buffer['name']}: no size or alignment")
            require(all(a < b for a, b in buffer["lives"]), f"{buffer['name']}: an empty lifetime")
            require(0 <= buffer["memory"] < len(self.memories), f"{buffer['name']}: no such memory")

    def conflict(self, one, other):
        """Returns whether two buffers must not share a byte."""
        if self.leader[one] == self.leader[other]:
            return False
        return meet(self.buffers[one], self.buffers[other]) or frozenset((one, other)) in self.apart

    def check_place(self, i):
        buffer = self.buffers[i]
        memory = self.memories[buffer["memory"]]
        begin, end, name = buffer["offset"], buffer["offset"] + buffer["size"], buffer["name"]
        require(begin >= 0 and begin % buffer["align"] == 0, f"{name}: the offset {begin} is not aligned")
        if buffer["size"] == 0:
            return
        require(end <= memory["peak"], f"{name}: the end {end} is above the peak")
        for offset, size in memory["reserved"]:
            require(end <= offset or offset + size <= begin or size == 0, f"{name}: reserved bytes")

    def check_plan(self):
        for i in range(len(self.buffers)):
            self.check_place(i)
        for i, offset in self.fixed:
            require(self.buffers[i]["offset"] == offset, f"{self.buffers[i]['name']}: not at its fixed offset")
        for i, leader in enumerate(self.leader):
            same = all(self.buffers[i][key] == self.buffers[leader][key] for key in ("memory", "offset"))
            require(same, f"{self.buffers[i]['name']}: not at the offset of {self.buffers[leader]['name']}")
        placed = collections.defaultdict(list)
        for i, buffer in enumerate(self.buffers):
            if buffer["size"] != 0:
                placed[buffer["memory"]].append(i)
        for among in placed.values():
            among.sort(key=lambda i: self.buffers[i]["offset"])
            below = []  # buffers that may reach the next offset
            for i in among:
                begin = self.buffers[i]["offset"]
                below = [j for j in below if self.buffers[j]["offset"] + self.buffers[j]["size"] > begin]
                for j in below:
                    require(not self.conflict(i, j), f"{self.buffers[j]['name']} and {self.buffers[i]['name']} overlap")
                below.append(i)

    def proved_bound(self, m):
        """Returns the bytes that the section of a memory proves to be necessary."""
        section = self.memories[m]["section"]
        largest = {}  # of buffers that are together
        for i in section["buffers"]:
            buffer = self.buffers[i]
            require(buffer["memory"] == m, f"{buffer['name']}: in the section of another memory")
            require(any(a <= section["step"] < b for a, b in buffer["lives"]), f"{buffer['name']}: does not live at the step")
            size, align = largest.get(self.leader[i], (0, 1))
            largest[self.leader[i]] = max(size, buffer["size"]), max(align, buffer["align"])
        best = 0
        for align in {each for _, each in largest.values()}:
            # Two such buffers are at least the rounded size of the lower one apart. The topmost needs no rounding.
            some = [size for size, own in largest.values() if own >= align and size != 0]
            padding = [-size % align for size in some]
            best = max(best, sum(some) + sum(padding) - max(padding, default=0))
        ends = [offset + self.buffers[i]["size"] for i, offset in self.fixed
                if self.buffers[i]["memory"] == m and self.buffers[i]["size"] != 0]
        return max([best, *ends])

    def check(self):
        """Returns sentences, and whether each claim is proved."""
        fits = self.status in ("optimal", "feasible")
        self.check_plan()
        sentences = ["the plan is correct"]
        bounds = [self.proved_bound(m) for m in range(len(self.memories))]
        for memory, bound in zip(self.memories, bounds):
            room = memory["capacity"]
            require(not fits or room is None or memory["peak"] <= room, f"{memory['name']}: the peak exceeds the capacity")
            require(bound <= memory["peak"], f"{memory['name']}: the peak is below the bytes of a section")
            sentences.append(f"{memory['name']}: peak {memory['peak']}, section at step {memory['section']['step']}: {bound}")
        exceeds = [m["capacity"] is not None and bound > m["capacity"] for m, bound in zip(self.memories, bounds)]
        claim = {"optimal": all(m["peak"] == bound for m, bound in zip(self.memories, bounds)),
                 "infeasible": any(exceeds)}.get(self.status, True)
        sentences.append(f"{self.status}: " + ("proved" if claim else "not proved by a section"))
        return sentences, claim

    def check_table(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        given = collections.Counter()
        for row in rows:
            require({"id", "lower", "upper", "size"} <= row.keys(), f"{path}: has no columns id, lower, upper, size")
            given[row["id"], int(row["lower"]), int(row["upper"]), int(row["size"])] += 1
        own = collections.Counter((buffer["name"], *live, buffer["size"]) for buffer in self.buffers for live in buffer["lives"])
        require(given == own, f"{path}: has other buffers than the certificate")


def main(path, table=None):
    try:
        with open(path, encoding="utf-8") as file:
            certificate = Certificate(json.load(file))
        if table:
            certificate.check_table(table)
        sentences, proved = certificate.check()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        print(f"{path}: not readable as a certificate: {type(error).__name__}: {error}")
        return 1
    except Wrong as error:
        print(f"{path}: wrong: {error}")
        return 1
    print(f"{path}: " + "; ".join(sentences))
    return 0 if proved else 3


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
