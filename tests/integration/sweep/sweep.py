#!/usr/bin/env python3
"""Option sweep: covers every pair of option values of arenas, and of best_fit without an arena, at least once. With
ALLOT_LONG=1, it covers every triple.

    sweep.py COMPILER [-I… flags]        compiles and runs all; exits with 0 if every combination passes
    sweep.py --list                      lists the combinations

Pairs take about 280 rows, which clang++ compiles in two and a half minutes on one core. Triples take about 1,360 rows
and twelve minutes, and each row is run once instead of three times. SWEEP_JOBS is the number of concurrent compilers.

A combination passes in two cases. Either it does not compile, and the first error is a sentence of allot ("allot: …").
Or it compiles and passes the oracle (fuzz.cpp) under AddressSanitizer and UndefinedBehaviorSanitizer.

`refused` models the documented restrictions of combinations. It only saves time: the script compiles combinations that
should fail separately, so that the others need no second attempt. The compiler decides.
"""
import concurrent.futures
import itertools
import math
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LONG = os.environ.get("ALLOT_LONG") == "1"
CANDIDATES = 2 if LONG else 8  # candidates for a row; the one with the most new combinations wins
JOBS = int(os.environ.get("SWEEP_JOBS", "1"))

OFFSET = {"8": "std::uint8_t", "16": "std::uint16_t", "32": "std::uint32_t", "64": "std::uint64_t"}
DEVICE = {
    "heap": "host::heap", "static": "host::static_storage<{size}>", "static1": "host::static_storage<{size}, 1>",
    "buffer": "host::buffer", "pages": "host::pages<>", "virtual": "host::virtual_memory", "tight": "host::tightly_coupled",
    "handles": "handles", "untouchable": "untouchable",
}
WINDOWS = {"static", "static1", "buffer", "tight"}
GROWTH = {
    "none": "growth::none<>",
    "fixed": "growth::fixed<growth_options{.step = 1000, .regions = 4}>",
    "fixed_limit": "growth::fixed<growth_options{.step = 4097, .limit = 20'011, .regions = 8}>",
    "fixed_3": "growth::fixed<growth_options{.step = 1000, .regions = 3}>",
    "geometric": "growth::geometric<growth_options{.step = 777, .regions = 16}>",
    "geometric_limit": "growth::geometric<growth_options{.step = 1, .limit = 50'021, .regions = 4}>",
    "contiguous": "growth::contiguous<growth_options{.step = 4097, .regions = 1}>",
    "contiguous_limit": "growth::contiguous<growth_options{.step = 1, .limit = 70'001, .regions = 1}>",
}
LIMIT = {"fixed_limit": 20011, "geometric_limit": 50021, "contiguous_limit": 70001}
COMMON = {
    "offset": list(OFFSET), "device": list(DEVICE), "size": [1000, 4097, 100003], "growth": list(GROWTH),
    "hardening": ["none", "checked", "debug"], "made": ["alone", "fallback", "synchronized", "paged"],
}
BEST_FIT = {
    "store": ["automatic", "in_band", "side_table"], "records": [0, 5, 70], "granule": [1, 3, 16, 64],
    "candidates": [0, 1, 4], "probes": [None, 2], "large": [0, 300, 5000], "largest_extent": [None, 1000, 100000],
    "largest_offset": [None, 5000], "offset_index": ["false", "true"], "prefer_size": ["false", "true"],
}
FAMILIES = {
    "bump": {"direction": ["up", "down"], "limit_align": [1, 3, 64, 4096], "prefer_size": ["false", "true"]},
    "stack": {"large": [0, 100, 5000]},
    "ring": {},
    "pool": {"slot": [0, 1, 40, 1000], "count": [0, 7, 65], "align": [1, 3, 16, 64],
             "store": ["automatic", "in_band", "bitmap", "index_stack", "atomic_bitmap"], "recent": [1, 0, 3]},
    "best_fit": BEST_FIT,
    "deferred": {"largest": [1024, 40, 1], "share": [32, 0, 1], "spare": [None, 0, 1], "joins": [None, 1]} | {k: BEST_FIT[k] for k in ("store", "records", "probes", "large", "prefer_size")},
    "bare": BEST_FIT | {"store": ["automatic", "side_table"], "largest_offset": [None, 5000, 2 ** 32 - 1, 2 ** 38]},
}
# best_fit without an arena has no device.
BARE = {"device": "handles", "growth": "none", "hardening": "none", "made": "bare"}


def factors_of(family):
    common = {n: v for n, v in COMMON.items() if n not in BARE} if family == "bare" else COMMON
    return common | FAMILIES[family]


def row_of(family, values):
    return {"family": family} | (BARE if family == "bare" else {}) | values


def refused(row):
    """Returns the set of documented reasons why a combination is not a valid arena."""
    why = set()
    family, device, growth = row["family"], row["device"], row["growth"]
    pointers = device not in ("handles", "untouchable")
    grows, in_place = growth not in ("none", "contiguous", "contiguous_limit"), growth.startswith("contiguous")
    last = 2 ** int(row["offset"]) - 1
    if device != "handles" and row["offset"] != "64":
        why.add("offsets are addresses")
    if growth == "fixed_3":
        why.add("regions")
    if in_place and device != "virtual":
        why.add("device does not extend")
    if device in WINDOWS and growth != "none":
        why.add("growth of a window")
    if family in ("stack", "ring") and grows:
        why.add("one extent")
    if in_place and (family in ("stack", "ring", "pool") or family == "bump" and row["direction"] == "down"):
        why.add("strategy does not extend")
    if family == "stack" and row["large"] > last:
        why.add("large beyond the offsets")
    if family == "bump" and row["limit_align"] == 3:
        why.add("limit_align")
    elif family == "bump" and device in ("static", "static1") and row["limit_align"] > row["size"]:
        why.add("limit_align larger than the memory")
    if family == "pool":
        slot, align = row["slot"], row["align"]
        in_band = row["store"] == "in_band" or row["store"] == "automatic" and pointers and slot >= 8 and align >= 8
        rounded = -(-slot // align) * align
        if slot == 0:
            why.add("slot")
        if align == 3:
            why.add("align")
        if in_band and (rounded < 8 or align < 8):
            why.add("slot too small for a link")
        if in_band and not pointers:
            why.add("in band out of reach")
        if row["recent"] == 0:
            why.add("recent")
        elif row["recent"] != 1 and row["store"] != "bitmap":
            why.add("recent without a bitmap")
        if not in_band and row["count"] == 0:
            why.add("count")
        if not in_band and grows:
            why.add("one extent")
        if rounded > last:
            why.add("slot beyond the offsets")
        if row["store"] == "atomic_bitmap" and row["hardening"] != "none":
            why.add("concurrent and hardened")
    if family in ("best_fit", "deferred", "bare"):
        options = {"granule": 1, "candidates": 4, "largest_extent": None, "largest_offset": None,
                   "offset_index": "false"} | row
        bounds = [options["largest_extent"]]
        if device in ("static", "static1"):
            bounds.append(row["size"])
        bounds.append(LIMIT.get(growth))
        bound = min((b for b in bounds if b), default=None)
        in_band = options["store"] == "in_band" or (options["store"] == "automatic" and pointers
                                                   and options["records"] == 0 and options["granule"] == 1
                                                   and options["offset_index"] == "false")
        if in_band and not pointers:
            why.add("in band out of reach")
        if options["store"] == "in_band" and options["records"] != 0:
            why.add("records in band")
        if options["granule"] == 3 or options["store"] == "in_band" and options["granule"] != 1:
            why.add("granule")
        if options["store"] == "in_band" and options["offset_index"] == "true":
            why.add("index in band")
        if family != "bare" and options["largest_offset"] is not None:
            why.add("an arena chooses the offsets")
        if options["candidates"] == 0:
            why.add("candidates")
        if options["large"] > last:
            why.add("large beyond the offsets")
        if bound is not None and options["large"] > bound:
            why.add("large beyond the largest extent")
        if device in ("static", "static1") and growth == "none" and (options["largest_extent"] or row["size"]) < row["size"]:
            why.add("memory larger than the largest extent")
        if (grows or in_place) and options["largest_extent"] is not None and (
                growth not in LIMIT or options["largest_extent"] < LIMIT[growth]):
            why.add("growth beyond the largest extent")
        if family == "deferred":
            if not in_band:
                why.add("deferred beside")
            if row["largest"] > last // 2:
                why.add("largest beyond the offsets")
    return why


def strategy(row):
    offset, family = OFFSET[row["offset"]], row["family"]
    template = "best_fit" if family == "bare" else family
    own = ("largest", "share", "spare", "joins") if family == "deferred" else ()
    names = [n for n in FAMILIES[family] if n not in own]
    enums = {"direction": "direction::", "store": "pool_store::" if family == "pool" else "node_store::"}
    options = ", ".join(f".{n} = {enums.get(n, '')}{row[n]}" for n in names if row[n] is not None)
    if family == "ring":
        return f"ring<ring_options{{}}, {offset}>"
    if family == "deferred":
        inner = f"best_fit<best_fit_options{{{options}}}, {offset}>"
        waiting = ", ".join(f".{n} = {row[n]}" for n in own if row[n] is not None)
        return f"deferred<{inner}, deferred_options{{{waiting}}}>"
    return f"{template}<{template}_options{{{options}}}, {offset}>"


def spelled(row):
    device = DEVICE[row["device"]].format(size=row["size"])
    return (f"{device}, {strategy(row)}, {GROWTH[row['growth']]}, hardening::{row['hardening']}, "
            f"made::{row['made']}, {row['size']}")


# ── covering ─────────────────────────────────────────────────────────────────────────────────────────────────────────

class Cover:
    """Tracks the combinations of `strength` values that no row has yet. A row is a list of factor indices."""

    def __init__(self, counts, strength, shared, common):
        """Adds to `shared` the groups of the first `common` factors after the family, which all arenas have."""
        self.counts = counts
        self.groups = list(itertools.combinations(range(len(counts)), strength))
        self.missing = {group: bytearray(b"\1") * math.prod(counts[f] for f in group) for group in self.groups}
        for group in itertools.combinations(range(1, common + 1), strength):
            self.missing[group] = shared.setdefault(group, self.missing[group])
        self.has = [[group for group in self.groups if f in group] for f in range(len(counts))]

    def index(self, group, row):
        index = 0
        for f in group:
            index = index * self.counts[f] + row[f]
        return index

    def values(self, group, index):
        """Inverse of `index`."""
        found = {}
        for f in reversed(group):
            index, found[f] = divmod(index, self.counts[f])
        return found

    def new(self, row, groups):
        """Returns the number of missing combinations of these groups in a row. Ignores groups without a value yet."""
        count = 0
        for group in groups:
            if all(row[f] is not None for f in group):
                count += self.missing[group][self.index(group, row)]
        return count

    def take(self, row):
        count = 0
        for group in self.groups:
            index = self.index(group, row)
            count += self.missing[group][index]
            self.missing[group][index] = 0
        return count


def covering(strength):
    """Returns valid rows with every combination of `strength` values that a valid row can have."""
    all_rows, shared, all_covered, never_covered = [], {}, 0, 0
    for family in sorted(FAMILIES, key=lambda f: -len(FAMILIES[f])):
        dice = random.Random(f"{family} {strength}")
        factors = {"family": [family]} | factors_of(family)
        names = list(factors)

        def as_row(values):
            return row_of(family, {n: factors[n][v] for n, v in zip(names, values)})

        def mended(values, fixed):
            """Returns a valid variant of the row with the fixed values, or None."""
            free = [f for f in range(len(names)) if f not in fixed]
            for _ in range(60):
                if not refused(as_row(values)):
                    return values
                f = dice.choice(free)
                tried = [(len(refused(as_row(values[:f] + [v] + values[f + 1:]))), dice.random(), v)
                         for v in range(len(factors[names[f]]))]
                values = values[:f] + [min(tried)[2]] + values[f + 1:]
            return None

        def possible(fixed, tries):
            for _ in range(tries):
                values = mended([fixed.get(f, dice.randrange(len(factors[n]))) for f, n in enumerate(names)], fixed)
                if values:
                    return values
            return None

        counts = [len(factors[n]) for n in names]
        never = {(f, v) for f in range(len(names)) for v in range(counts[f]) if not possible({f: v}, 6)}
        apart = {(f, v, g, w) for f, g in itertools.combinations(range(len(names)), 2) for v in range(counts[f])
                 for w in range(counts[g])
                 if (f, v) in never or (g, w) in never or not possible({f: v, g: w}, 6)}
        cover = Cover(counts, strength, shared, 0 if family == "bare" else len(COMMON))
        wanted = [(group, index) for group in cover.groups for index in range(len(cover.missing[group]))]
        dice.shuffle(wanted)
        rows, covered = [], 0
        for group, index in wanted:
            if not cover.missing[group][index]:
                continue
            fixed = cover.values(group, index)
            if any((f, fixed[f], g, fixed[g]) in apart for f, g in itertools.combinations(group, 2)):
                continue
            best = None
            for _ in range(CANDIDATES):
                values = [fixed.get(f) for f in range(len(names))]
                free = [f for f in range(len(names)) if f not in fixed]
                dice.shuffle(free)
                for f in free:  # the value with the most missing combinations
                    gains = []
                    for v in range(counts[f]):
                        values[f] = v
                        gains.append((cover.new(values, cover.has[f]), dice.random(), v))
                    values[f] = max(gains)[2]
                values = mended(values, fixed)
                if values:
                    gain = cover.new(values, cover.groups)
                    best = max(best or (gain, values), (gain, values))
            values = best[1] if best else possible(fixed, 5)
            if values:
                covered += cover.take(values)
                rows.append(as_row(values))
        all_rows += rows
        all_covered += covered
        never_covered += sum(sum(left) for group, left in cover.missing.items() if left is not shared.get(group))
    never_covered += sum(sum(left) for left in shared.values())
    print(f"{len(all_rows)} rows have {all_covered} combinations of {strength} values; {never_covered} more are in no "
          "valid row")
    sys.stdout.flush()
    return all_rows


def refusals():
    """Returns invalid rows: each reason alone, in every family and with every device in which it occurs."""
    dice = random.Random("refusals")
    seen, rows = set(), []
    for family in FAMILIES:
        factors = factors_of(family)
        for _ in range(1500):
            row = row_of(family, {n: dice.choice(v) for n, v in factors.items()})
            why = refused(row)
            if len(why) != 1:
                continue
            reason = next(iter(why))
            marks = {(reason, family), (reason, "device", row["device"])}
            if marks - seen:
                seen |= marks
                rows.append(row | {"why": reason})
    return rows


# ── compiling ────────────────────────────────────────────────────────────────────────────────────────────────────────

class Compiler:
    def __init__(self, words, folder):
        self.words, self.folder = words, folder
        version = subprocess.run([words[0], "--version"], capture_output=True, text=True).stdout
        self.notes_follow = "clang" in version  # otherwise notes precede the error

    def run(self, name, text, flags):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w") as out:
                out.write(text)
        done = subprocess.run(self.words + ["-std=c++20", f"-I{HERE}"] + flags + [path], capture_output=True, text=True,
                              env=os.environ | {"LC_ALL": "C"})
        return done.returncode, done.stderr

    def first_errors(self, name, output):
        """Returns the first error for each line of the file that causes one."""
        found, line, error = {}, None, None
        here = re.compile(re.escape(name) + r":(\d+):")
        for text in output.splitlines():
            seen = here.search(text)
            if ": error: " in text or ": fatal error: " in text:
                if self.notes_follow:
                    if error is not None and line is not None:
                        found.setdefault(line, error)
                    error, line = text, int(seen.group(1)) if seen else None
                else:
                    if seen:
                        line = int(seen.group(1))
                    found.setdefault(line, text)
            elif seen and ("instantiation" in text or "required from" in text or "requested here" in text):
                line = int(seen.group(1))
        if self.notes_follow and error is not None:
            found.setdefault(line, error)
        return found


PROLOGUE = '#include "combination.hpp"\nusing namespace sweep;\n'


def precompiled(compiler, flags):
    """Returns the flags with which clang++ reads combination.hpp precompiled: the same text, parsed once."""
    header = os.path.join(compiler.folder, "combination.pch")
    if not compiler.notes_follow or compiler.run(os.path.join(HERE, "combination.hpp"), None,
                                                 [*flags, "-w", "-x", "c++-header", "-o", header])[0]:
        return []
    return ["-include-pch", header]


def source(rows):
    return PROLOGUE + "".join(
        f'const enlisted r{number}{{{number}, "{spelled(row)}", &make<{spelled(row)}>}};\n' for number, row in rows)


def compile_batch(compiler, name, rows, flags):
    """Compiles rows together. Returns the rows that compile, and the first error of each other row. The compiler
    reports an error that several rows share only for the first, and for the others an error that follows from it or
    none, so the others are compiled again."""
    errors = {}
    while rows:
        status, output = compiler.run(name, source(rows), flags)
        if status == 0:
            break
        found = compiler.first_errors(name, output)
        first = PROLOGUE.count("\n") + 1
        bad = {index: found[first + index] for index in range(len(rows)) if first + index in found}
        if not bad and len(rows) > 1:  # g++ states no row for an error in a function that another one instantiates
            halves = [compile_batch(compiler, name, part, flags) for part in batches(rows, (len(rows) + 1) // 2)]
            return [row for good, _ in halves for row in good], errors | halves[0][1] | halves[1][1]
        if not bad:
            bad = {0: next(text for text in output.splitlines() if ": error: " in text)}
        if any("allot: " in text for text in bad.values()):
            bad = {index: text for index, text in bad.items() if "allot: " in text}
        errors |= {rows[index][0]: text for index, text in bad.items()}
        rows = [row for index, row in enumerate(rows) if index not in bad]
    return rows, errors


def batches(rows, size):
    return [rows[at:at + size] for at in range(0, len(rows), size)]


def main():
    strength = 3 if LONG else 2
    fine = covering(strength)
    bad = refusals()
    numbered = list(enumerate(fine + bad, 1))
    fine, bad = numbered[:len(fine)], numbered[len(fine):]
    if sys.argv[1:] == ["--list"]:
        for number, row in numbered:
            print(number, spelled(row), "refused: " + row["why"] if "why" in row else "")
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.environ.get("SWEEP_FOLDER", temporary)
        compiler = Compiler(sys.argv[1:], folder)
        sanitized = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        sanitized += precompiled(compiler, sanitized)
        quiet = ["-ftemplate-backtrace-limit=0"] + (["-fno-caret-diagnostics", "-ferror-limit=0"] if compiler.notes_follow
                                                    else ["-fno-diagnostics-show-caret", "-fmax-errors=0"])
        wrong, unexpected, said = [], [], set()

        def judge(errors, expected):
            for number, text in errors.items():
                row = numbered[number - 1][1]
                sentence = re.search(r'allot: [^"]*', text)
                if not sentence:
                    wrong.append(f"row {number}: {spelled(row)}\n    fails without a sentence of allot: {text}")
                else:
                    said.add(sentence.group(0))
                if not expected:
                    unexpected.append(f"row {number}: {spelled(row)}: {sentence.group(0) if sentence else text}")

        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            refusing = list(pool.map(lambda job: compile_batch(compiler, f"refused{job[0]}.cpp", job[1],
                                                               sanitized + quiet + ["-fsyntax-only"]),
                                     enumerate(batches(bad, 12))))
            more = []
            for compiling, errors in refusing:
                judge(errors, True)
                more += compiling
            for number, row in more:
                unexpected.append(f"row {number}: {spelled(row)}: compiles")
            jobs = list(enumerate(batches(fine + more, 24)))
            built = list(pool.map(lambda job: compile_batch(
                compiler, f"fine{job[0]}.cpp", job[1],
                sanitized + quiet + ["-c", "-o", os.path.join(folder, f"fine{job[0]}.o")]), jobs))
        objects = []
        for (index, _), (rows, errors) in zip(jobs, built):
            judge(errors, False)
            if rows:
                objects.append(os.path.join(folder, f"fine{index}.o"))
        program, oracle = os.path.join(folder, "sweep"), os.path.join(folder, "fuzz.o")
        status, output = compiler.run(os.path.join(HERE, "fuzz.cpp"), None, ["-O2", "-c", "-o", oracle])
        if status != 0:
            sys.exit(output)
        if subprocess.run([compiler.words[0], "-fsanitize=address,undefined", oracle, *objects, "-o", program]).returncode:
            sys.exit("the sweep does not link")
        for text in unexpected:
            print("not as modeled:", text)  # costs time, but is not an error
        for text in wrong:
            print(text)
        print(f"{len(bad) - len(more)} combinations refused, with {len(said)} different sentences")
        sys.stdout.flush()
        ran = subprocess.run([program], env={"SWEEP_ROUNDS": "1" if LONG else "3"} | os.environ | {
            "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", "")})
        sys.exit(1 if wrong or ran.returncode != 0 else 0)


if __name__ == "__main__":
    main()
