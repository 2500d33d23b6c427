#!/usr/bin/python3
"""Checks a certificate of ./dev plan: check_certificate.py CERTIFICATE [TABLE]

Shares no code with the planner. Verifies the places of the plan, and computes the bound of each section anew. If a section
does not prove a claim, the status or a bound, it tries all lower plans, or all that fit. With the TABLE that was planned, it
also verifies that the certificate has its buffers, with ids, sizes, lifetimes with gaps, alignments and offsets, and no other
constraints.

Exit status: 0 if each claim is proved; 1 if the certificate is wrong; 3 if the plan is correct and the search for a better one
is too long.
"""

import collections
import csv
import itertools
import json
import re
import sys
from typing import NamedTuple


class Wrong(Exception):
    """The certificate states something that is false."""


def require(condition, sentence):
    if not condition:
        raise Wrong(sentence)


def meet(one, other):
    return any(a < d and c < b for a, b in one["lives"] for c, d in other["lives"])


class Row(NamedTuple):
    """A buffer of a table, or a window of a gap, which belongs to the buffer `whole`."""
    name: str
    size: int
    lives: list
    align: int
    offset: str  # or None
    whole: str = None


def read_table(path):
    """Yields the buffers of a table, and the windows of their gaps."""
    with open(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        # Each byte that is not UTF-8 is a question mark in a certificate.
        table, names = csv.DictReader(re.sub("[\udc80-\udcff]", "?", line) for line in file), set()
        for row in table:
            def value(*names, otherwise=None, row=row):
                return next((row[name] for name in names if row.get(name)), otherwise)
            after = 0 if "upper" in row else 1  # the last step is included
            name, size = value("id", "buffer", "buffer_id"), value("size")
            begin, end = value("lower", "begin", "start"), value("upper", "end")
            require(None not in (name, size, begin, end), f"{path}: a buffer has no id, no size or no lifetime")
            require(name not in names, f"{path}:{table.line_num}: the id {name} is that of an earlier buffer, too; a byte that is not "
                    "UTF-8 is a question mark in a certificate")
            names.add(name)
            rules = int(value("alignment", otherwise="1")), value("offset")
            now, lives = int(begin), []
            gaps = [re.fullmatch(r"(-?\d+)-(-?\d+)(?:@0:(\d+))?", each) for each in value("gaps", otherwise="").split()]
            require(None not in gaps, f"{path}: {name}: the gaps are not readable")
            for lower, upper, window in sorted((int(each[1]), int(each[2]) + after, int(each[3] or 0)) for each in gaps):
                lives.append((now, lower))
                now = upper
                if window:
                    yield Row(name + " (window)", window, [(lower, upper)], *rules, name)
            lives.append((now, int(end) + after))
            yield Row(name, int(size), [life for life in lives if life[0] != life[1]], *rules)


class TooLong(Exception):
    """The search has no result within its limit."""


class Search:
    """A search for a plan of at most `height` bytes. Buffers that are together form a group, which has one offset.

    If there is a plan, there is one in which no group can move down. So groups are placed in the order of their offsets, and
    each one is directly above a placed one, a fixed one or reserved bytes."""

    LIMIT = 600_000  # computed offsets and compared groups
    CLIQUES = 20_000  # sets of groups that are tried

    def __init__(self, certificate, m, height):
        self.height, self.left = height, self.LIMIT
        self.has_contradiction = bool(certificate.contradictions())
        buffers, members = certificate.buffers, collections.defaultdict(list)
        for i, buffer in enumerate(buffers):
            if buffer["memory"] == m:
                members[certificate.leader[i]].append(i)
        self.spend(len(members) ** 2)
        self.fixed = [(certificate.leader[i], offset) for i, offset in certificate.fixed if buffers[i]["memory"] == m]
        self.groups = members.keys() - dict(self.fixed).keys()
        self.size = {g: max(buffers[i]["size"] for i in members[g]) for g in members}
        self.align = {g: max(buffers[i]["align"] for i in members[g]) for g in members}
        # The least distance of two groups if the first one is above the other.
        self.above = {(g, other): max([buffers[j]["size"] for i in members[g] for j in members[other]
                                       if buffers[i]["size"] != 0 and certificate.conflict(i, j)], default=0)
                      for g in members for other in members}
        # Ranges that are taken: the end for a group above, the begin for one below, and the bytes of that one.
        self.taken = {g: [(offset + self.above[g, f], offset, self.above[f, g]) for f, offset in self.fixed if self.above[g, f]] +
                         [(offset + size, offset, self.size[g]) for offset, size in certificate.memories[m]["reserved"]
                          if size != 0 and self.size[g] != 0] for g in members}
        steps = {begin for g in self.groups for i in members[g] for begin, _ in buffers[i]["lives"]}
        self.by_size = sorted((g for g in self.groups if self.size[g] != 0), key=lambda g: (-self.size[g], g))
        self.cliques, joined = [], set()
        for step in sorted(steps):
            self.add_clique([g for g in self.by_size if any(
                a <= step < b for i in members[g] if buffers[i]["size"] != 0 for a, b in buffers[i]["lives"])], joined)
        for g, other in itertools.combinations(self.by_size, 2):
            if self.above[g, other] and (g, other) not in joined:
                self.add_clique([g, other], joined)
        self.seen = set()

    def add_clique(self, clique, joined):
        """Adds the bytes of groups that share none, after the largest further ones are added to them."""
        self.spend(len(self.groups))
        for g in self.by_size:
            if g not in clique and all(self.above[g, x] for x in clique):
                clique.append(g)
        joined.update(itertools.permutations(clique, 2))
        self.cliques.append({g: min([self.above[x, g] for x in clique if x != g], default=self.size[g]) for g in clique})

    def has_high_clique(self):
        """Returns whether some groups that share no byte are found to need more bytes than the height."""
        bytes_of = {g: min([self.above[x, g] for x in self.by_size if self.above[x, g]], default=self.size[g])
                    for g in self.by_size}
        sets = [(0, self.by_size)]
        for _ in range(self.CLIQUES):
            if not sets:
                return False
            needed, others = sets.pop()
            if needed > self.height:
                return True
            if needed + sum(bytes_of[g] for g in others) > self.height:
                g, *others = others
                sets += [(needed, others), (needed + bytes_of[g], [x for x in others if self.above[x, g]])]
        return False

    def spend(self, count):
        self.left -= count
        if self.left < 0:
            raise TooLong

    def finds_plan(self):
        if self.has_contradiction or self.has_high_clique():
            return False
        if len(dict(self.fixed)) != len(set(self.fixed)) or not all(self.fits(g, offset) for g, offset in self.fixed):
            return False
        return self.finds(dict.fromkeys(sorted(self.groups), 0), 0)

    def fits(self, g, at):
        return (at % self.align[g] == 0 and (at + self.size[g] <= self.height or self.size[g] == 0) and
                all(at >= end or at + size <= begin for end, begin, size in self.taken[g]))

    def offsets(self, g, floor):
        """Returns the offsets at which a group is directly above something, in ascending order. `floor` is above all groups
        that are placed."""
        self.spend(1)
        stops = {-(-stop // self.align[g]) * self.align[g] for stop in (floor, *(end for end, _, _ in self.taken[g]))}
        return sorted(at for at in stops if at >= floor and self.fits(g, at))

    def finds(self, floors, last):
        """Returns whether there is a plan with the other groups at `last` or above it. `floors` has a floor of each."""
        if not floors:
            return True
        for clique in self.cliques:
            left = [g for g in clique if g in floors]
            if left and max(last, min(floors[g] for g in left)) + sum(clique[g] for g in left) > self.height:
                return False
        key = last, tuple(floors.items())
        if key in self.seen:
            return False
        self.seen.add(key)
        places = {g: self.offsets(g, floor) for g, floor in floors.items()}
        if not all(places.values()):
            return False
        # A group that is placed at this end or above it could move down.
        end = min(min(at) + max(self.size[g], 1) for g, at in places.items())
        for at, g in sorted((at, g) for g, all_places in places.items() for at in all_places if last <= at < end):
            rest = {other: max(floor, at + self.above[other, g]) if self.above[other, g] else floor
                    for other, floor in floors.items() if other != g}
            if self.finds(rest, at):
                return True
        return False


class Certificate:
    def __init__(self, data):
        require(data.get("certificate") == 1, "this is no certificate of version 1")
        self.status = data["status"]
        require(self.status in ("optimal", "feasible", "infeasible", "out_of_budget"), f"the status {self.status} is unknown")
        self.memories, self.buffers = data["memories"], data["buffers"]
        pairs = [pair for key in ("fixed", "together", "apart") for pair in data[key]]
        ranges = [pair for memory in self.memories for pair in memory["reserved"]]
        require(all(len(pair) == 2 for pair in pairs + ranges), "a list of pairs has another element")
        require(all(offset >= 0 and size >= 0 for offset, size in ranges), "reserved bytes have no offset or size")
        named = [*(i for i, _ in data["fixed"]), *itertools.chain(*data["together"], *data["apart"]),
                 *itertools.chain(*(memory["section"]["buffers"] for memory in self.memories))]
        require(all(0 <= i < len(self.buffers) for i in named), "a position is that of no buffer")
        self.fixed = [tuple(pair) for pair in data["fixed"]]
        self.apart = {tuple(sorted(pair)) for pair in data["apart"]}
        self.leader = list(range(len(self.buffers)))
        for one, other in data["together"]:
            gone, stays = self.leader[one], self.leader[other]
            self.leader = [stays if each == gone else each for each in self.leader]
        for buffer in self.buffers:
            align = buffer["align"]
            require(buffer["size"] >= 0 and align > 0 and align & (align - 1) == 0, f"{buffer['name']}: no size or alignment")
            require(buffer["lives"] and all(a < b for a, b in buffer["lives"]), f"{buffer['name']}: an empty lifetime")
            require(0 <= buffer["memory"] < len(self.memories), f"{buffer['name']}: no such memory")

    def conflict(self, one, other):
        """Returns whether two buffers must not share a byte."""
        if self.leader[one] == self.leader[other]:
            return False
        return meet(self.buffers[one], self.buffers[other]) or tuple(sorted((one, other))) in self.apart

    def contradictions(self):
        """Returns the pairs that are apart and share an offset."""
        return [(one, other) for one, other in self.apart if self.leader[one] == self.leader[other]
                and self.buffers[one]["size"] != 0 and self.buffers[other]["size"] != 0]

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
        for one, other in self.contradictions():
            require(False, f"{self.buffers[one]['name']} and {self.buffers[other]['name']} are together and apart")
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
            require(memory["bound"] <= memory["peak"], f"{memory['name']}: the bound exceeds the peak")
            sentences.append(f"{memory['name']}: peak {memory['peak']}, section at step {memory['section']['step']}: {bound}")
        if self.status in ("optimal", "infeasible"):
            sentence, proved = self.check_status(bounds)
            sentences.append(sentence)
            if self.status == "optimal" or not proved:  # a peak that is proved to be the lowest proves each bound
                return sentences, proved
        for m, memory in enumerate(self.memories):
            if memory["bound"] <= bounds[m]:
                continue
            found = self.has_plan(m, memory["bound"] - 1)
            require(not found, f"{memory['name']}: another plan needs fewer bytes than the bound")
            if found is None:
                return [*sentences, f"{memory['name']}: the bound is not proved by a section, and the search is too long"], False
        return sentences if self.status == "infeasible" else [*sentences, f"{self.status}: proved"], True

    def check_status(self, bounds):
        """Returns a sentence, and whether the status, optimal or infeasible, is proved."""
        optimal = self.status == "optimal"
        rooms = [memory["peak"] - 1 if optimal else memory["capacity"] for memory in self.memories]
        needed = [m for m, room in enumerate(rooms) if room is not None]
        if (all if optimal else any)(bounds[m] > rooms[m] for m in needed):
            return f"{self.status}: proved", True
        found = [bounds[m] <= rooms[m] and self.has_plan(m, rooms[m]) for m in needed]
        require(not (any if optimal else all)(each is True for each in found), f"{self.status}: another plan needs fewer bytes")
        if (all if optimal else any)(each is False for each in found):
            return f"{self.status}: proved by a search", True
        return f"{self.status}: not proved by a section, and the search is too long", False

    def has_plan(self, m, room):
        """Returns whether a memory has a plan in so many bytes; None if the search is too long."""
        try:
            return Search(self, m, room).finds_plan()
        except TooLong:
            return None

    def check_table(self, path):
        rows = {}
        given, own = collections.Counter(), collections.Counter(each["name"] for each in self.buffers)
        try:
            for row in read_table(path):
                given.update((row.name, *life, row.size) for life in row.lives)
                rows[row.name] = row
        except csv.Error as error:
            raise Wrong(f"{path}: {error}") from error
        require(all(own[name] == 1 for name, row in rows.items() if row.whole is None and name in own),
                f"{path}: the certificate has a buffer twice")
        own = collections.Counter((each["name"], *life, each["size"]) for each in self.buffers for life in each["lives"])
        require(given == own, f"{path}: has other buffers than the certificate")
        fixed = {self.buffers[i]["name"] for i, _ in self.fixed}
        positions = {each["name"]: i for i, each in enumerate(self.buffers)}
        groups = {}
        least = min((each["align"] for each in self.buffers), default=1)  # of all buffers, by --align
        for i, buffer in enumerate(self.buffers):
            row, name = rows[buffer["name"]], buffer["name"]
            require(buffer["align"] == max(row.align, least), f"{path}: {name} has another alignment than in the certificate")
            require(row.offset is None or buffer["offset"] == int(row.offset), f"{path}: {name} has another offset than in the certificate")
            require(row.offset is not None or name not in fixed, f"{path}: {name} has no required offset")
            whole = i if row.whole is None else positions[row.whole]
            require(row.whole is None or self.leader[i] == self.leader[whole], f"{path}: {name} is not at the offset of {row.whole}")
            other = groups.setdefault(self.leader[i], whole)
            require(other == whole, f"{path}: {name} and {self.buffers[other]['name']} are not together")
        require(not self.apart, f"{path}: no buffers of a table are apart")
        require(len(self.memories) == 1 and not self.memories[0]["reserved"], f"{path}: a table has one memory without reserved bytes")


def main(path, table=None):
    try:
        with open(path, encoding="utf-8") as file:
            certificate = Certificate(json.load(file, parse_float=int, parse_constant=int))  # fails if it has such numbers
        sentences, proved = certificate.check()
        if table:
            certificate.check_table(table)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, OSError) as error:
        print(f"{path}: not readable as a certificate: {type(error).__name__}: {error}")
        return 1
    except Wrong as error:
        print(f"{path}: wrong: {error}")
        return 1
    print(f"{path}: " + "; ".join(sentences))
    return 0 if proved else 3


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
