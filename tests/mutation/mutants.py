#!/usr/bin/env python3
"""Mutation testing: does a test fail when the library is wrong?

Small mistakes (a comparison off by one, a sum that is a difference, a statement left out) are put into copies of the headers,
all into one build; an environment variable switches one on at a time. For each mutant, the test cases that pass through it
run, shortest first, until one fails. A mutant that no test case notices is a survivor: it is equivalent to the original,
or a test is missing.

    tests/mutation/mutants.py BUILD [--mutants N] [--seed N] [--only PART] [--tests NAMES] [--jobs N]

BUILD is a folder for the mutated headers, the programs and the state of a run. A run that was stopped goes on where it was.
Needs libclang for Python (PyPI: libclang), g++ and doctest.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parents[2]
parts = {  # what is mutated, in the folders and headers of include/allot
    "core": ["core/"],
    "strategy": ["strategy/"],
    "arena": ["arena", "offset_space", "growth", "hardening", "naive", "compose/"],
    "plan": ["plan/"],
    "tensor": ["tensor/"],
}
left_out = re.compile(r"tensor/(opencl|vulkan|cuda|hip|metal|gpu_runtime|symmetric)|compose/symmetric")  # need a driver or ranks
programs = {  # the tests that have to notice
    "core": "tests/core/*_test.cpp", "strategy": "tests/strategy/*_test.cpp", "arena": "tests/arena/*_test.cpp",
    "compose": "tests/compose/*_test.cpp", "root": "tests/*_test.cpp", "laws": "tests/laws/*_test.cpp",
    "plan": "tests/plan/*_test.cpp", "tensor": "tests/tensor/*_test.cpp", "address": "tests/address/*_test.cpp",
}
not_compiled = re.compile(r"opencl|vulkan|symmetric|constexpr_test|static_memories")  # drivers, and constant expressions only
comparisons = {
    "<": ["less_as_less_equal", "less_as_greater_equal"], "<=": ["less_equal_as_less", "less_equal_as_greater"],
    ">": ["greater_as_greater_equal", "greater_as_less_equal"], ">=": ["greater_equal_as_greater", "greater_equal_as_less"],
    "==": ["equal_as_unequal"], "!=": ["unequal_as_equal"], "+": ["plus_as_minus"], "-": ["minus_as_plus"],
    "*": ["times_as_plus"], "/": ["divided_as_times"], "&": ["and_as_or"], "|": ["or_as_and"],
}


class Mutant:
    """One change: text inserted at offsets of a file, and what is replaced."""

    def __init__(self, path, line, size, kind, edits, text):
        self.path, self.line, self.size, self.kind, self.edits, self.text = path, line, size, kind, edits, text

    def key(self):
        return (str(self.path), self.edits[0][0], self.kind)

    def __str__(self):
        return f"{self.path.relative_to(root)}:{self.line}: {self.kind}: {self.text}"


def candidates(include):
    """All mutants that the headers have, found in clang's syntax tree."""
    from clang import cindex

    kinds = cindex.CursorKind
    names = {"STATIC_ASSERT", "TEMPLATE_NON_TYPE_PARAMETER", "CONCEPT_DECL", "REQUIRES_EXPR", "ENUM_CONSTANT_DECL",
             "TYPE_ALIAS_DECL", "TYPE_ALIAS_TEMPLATE_DECL"}
    compile_time = {getattr(kinds, name) for name in names if hasattr(kinds, name)}  # not all versions of clang have all
    headers = [str(p.relative_to(include)) for p in sorted(include.glob("allot/**/*.hpp"))
               if mutated_part(p.relative_to(include / "allot")) is not None]
    source = "".join(f"#include <{h}>\n" for h in headers)
    resource = subprocess.run(["clang++", "-print-resource-dir"], capture_output=True, text=True).stdout.strip()
    unit = cindex.Index.create().parse("all.cpp", ["-std=c++20", f"-I{include}", "-resource-dir", resource],
                                       unsaved_files=[("all.cpp", source)])
    errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    for d in errors[:5]:
        print(f"clang: {d.location.file}:{d.location.line}: {d.spelling}", file=sys.stderr)
    texts, found = {}, {}

    def text_of(path):
        if path not in texts:
            texts[path] = pathlib.Path(path).read_bytes()
        return texts[path]

    def add(cursor, kind, edits):
        path = pathlib.Path(cursor.extent.start.file.name)
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        body = text_of(str(path))[start:end]
        if b"\n" in body and kind == "left out" or b"[&" in body or b"[=" in body or b"[]" in body:
            return
        mutant = Mutant(path, cursor.extent.start.line, end - start, kind, edits, " ".join(body.decode().split()))
        found[mutant.key()] = mutant

    def visit(cursor, parent):
        location = cursor.location.file
        if cursor.kind in compile_time or cursor.kind.is_attribute():
            return
        if location is not None and cursor.kind is not kinds.TRANSLATION_UNIT:
            path = pathlib.Path(location.name)
            if not path.is_relative_to(include) or mutated_part(path.relative_to(include / "allot")) is None:
                return
        children = list(cursor.get_children())
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if cursor.kind is kinds.VAR_DECL or cursor.kind is kinds.FIELD_DECL:
            head = text_of(location.name)[start:start + 400].split(b"=")[0].split(b"{")[0]
            if b"constexpr" in head or b"[" in head:
                return  # a constant, or the bound of an array
        if cursor.kind in (kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE, kinds.CXX_METHOD):
            head = text_of(location.name)[start:start + 600].split(b"{")[0]
            if b"consteval" in head:
                return
        if cursor.kind is kinds.IF_STMT:
            if text_of(location.name)[start:start + 14].startswith(b"if constexpr"):
                children = children[1:]
        if cursor.kind is kinds.BINARY_OPERATOR and len(children) == 2:
            left, right = children
            middle = text_of(location.name)[left.extent.end.offset:right.extent.start.offset]
            operator = re.sub(rb"\s|//[^\n]*\n|[()]", b"", middle).decode()
            at = left.extent.end.offset + middle.find(operator.encode()) if operator else 0
            inside = start <= left.extent.start.offset and right.extent.end.offset <= end and b"(" not in middle and b")" not in middle
            if inside and operator in comparisons:
                for name in comparisons[operator]:
                    add(cursor, name, [(start, f"mutation::{name}(@, "), (at, operator, ","), (end, ")")])
            elif inside and operator in ("&&", "||"):
                name = "yes" if operator == "&&" else "no"
                for side in (left, right):
                    add(side, name, [(side.extent.start.offset, f"mutation::{name}(@, static_cast<bool>("), (side.extent.end.offset, "))")])
        if cursor.kind is kinds.CXX_BOOL_LITERAL_EXPR and parent.kind is kinds.RETURN_STMT:
            add(cursor, "negated", [(start, "mutation::negated(@, "), (end, ")")])
        if parent is not None and parent.kind is kinds.COMPOUND_STMT:
            is_change = cursor.kind is kinds.COMPOUND_ASSIGNMENT_OPERATOR or cursor.kind is kinds.CALL_EXPR or cursor.kind is kinds.UNARY_OPERATOR
            if cursor.kind is kinds.BINARY_OPERATOR and len(children) == 2:
                middle = text_of(location.name)[children[0].extent.end.offset:children[1].extent.start.offset]
                is_change = middle.strip() == b"="
            if is_change:
                add(cursor, "left out", [(start, "if (!mutation::on(@)) "), (end, "")])
        for child in children:
            visit(child, cursor)

    visit(unit.cursor, None)
    return list(found.values())


def mutated_part(relative):
    name = relative.as_posix()
    if left_out.search(name):
        return None
    return next((part for part, prefixes in parts.items() if any(name.startswith(p) for p in prefixes)), None)


def write_headers(chosen, include, to):
    """The headers with all mutants in them, lines kept."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(include, to)
    by_file = collections.defaultdict(list)
    for number, mutant in chosen.items():
        by_file[mutant.path].append((number, mutant))
    for path, mutants in by_file.items():
        inserts = []  # (offset, order, bytes replaced, text)
        for number, m in mutants:
            first, *middle, last = m.edits
            inserts.append((first[0], 1, -m.size, 0, first[1].replace("@", str(number))))
            for offset, old, new in middle:
                inserts.append((offset, 1, 0, len(old), new))
            inserts.append((last[0], 0, m.size, 0, last[1]))
        data, out, at = path.read_bytes(), [], 0
        for offset, _, _, removed, text in sorted(inserts):
            out += [data[at:offset], text.encode()]
            at = offset + removed
        out.append(data[at:])
        target = to / path.relative_to(include)
        target.write_bytes(b"".join(out))
        text = target.read_text()
        target.write_text(text.replace("#pragma once\n", "#pragma once\n#include <mutation.hpp>\n#line " +
                                       str(text[:text.index("#pragma once")].count("\n") + 2) + "\n", 1))


def nested_pairs_removed(mutants):
    """One mutant an expression: two that change the same operator cannot stand in one file."""
    seen, kept = set(), []
    for m in mutants:
        places = {(m.path, offset) for offset, *_ in m.edits[1:-1]} or {(m.path, m.edits[0][0], m.kind)}
        if places & seen:
            continue
        seen |= places
        kept.append(m)
    return kept


def build(folder, include, programs_wanted):
    """Compiles all test programs; returns the lines of headers at which the compiler found errors."""
    doctest = folder / "main.o"
    flags = ["-std=c++20", "-O1", "-w", "-fconstexpr-ops-limit=4000000000", "-fconstexpr-loop-limit=100000000",
             "-fmax-errors=0", f"-I{include}", f"-I{root / 'tests' / 'mutation'}", f"-I{root / 'tests'}"]
    if not doctest.exists():
        subprocess.run(["g++", "-std=c++20", "-c", root / "tests/main.cpp", "-o", doctest], check=True)
    objects, jobs = collections.defaultdict(list), []
    for name, pattern in programs_wanted.items():
        for source in sorted(root.glob(pattern)):
            if not_compiled.search(source.as_posix().removeprefix(str(root))):
                continue
            target = folder / "objects" / (source.relative_to(root).as_posix().replace("/", "_") + ".o")
            objects[name].append(target)
            jobs.append((source, target))
    (folder / "objects").mkdir(exist_ok=True)
    wrong = set()

    def compile_one(job):
        source, target = job
        if target.exists():
            return ""
        done = subprocess.run(["g++", *flags, "-c", source, "-o", target], capture_output=True, text=True)
        return done.stderr if done.returncode else ""

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (source, target), errors in zip(jobs, pool.map(compile_one, jobs)):
            if not errors:
                continue
            places = re.findall(rf"{re.escape(str(include))}/(\S+?):(\d+)", errors)
            if not places:
                sys.exit(f"{source} does not compile:\n{errors[:4000]}")
            wrong |= {(path, int(line)) for path, line in places}
    if not wrong:
        for name, files in objects.items():
            if not (folder / name).exists():
                subprocess.run(["g++", *files, doctest, "-lpthread", "-lrt", "-o", folder / name], check=True)
    return wrong


def cases_of(folder, names):
    """For each test case: its program, the time it takes, and the mutants that it reaches."""
    found = []
    for name in names:
        listed = subprocess.run([folder / name, "--list-test-cases", "--no-colors"], capture_output=True, text=True).stdout
        for case in [line for line in listed.splitlines() if line and not line.startswith(("[doctest]", "="))]:
            found.append((name, case))

    def measure(entry):
        name, case = entry
        log = folder / f"reached_{abs(hash(entry))}"
        log.unlink(missing_ok=True)
        start = time.monotonic()
        command = [folder / name, "--test-case=" + case.replace("\\", "\\\\").replace(",", "\\,")]
        try:
            done = subprocess.run(command, capture_output=True, timeout=300, env={**os.environ, "MUTANTS_REACHED": str(log)})
        except subprocess.TimeoutExpired:
            print(f"left out, it takes too long: {name}: {case}")
            return None
        if done.returncode:
            print(f"left out, it fails without a mutant: {name}: {case}")
            return None
        reached = [int(n) for n in log.read_text().split()] if log.exists() else []
        log.unlink(missing_ok=True)
        return {"program": name, "case": case, "time": time.monotonic() - start, "reached": reached}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return sorted(filter(None, pool.map(measure, found)), key=lambda c: c["time"])


def judge(folder, number, cases):
    """The test case that notices this mutant; None when none does."""
    for case in cases:
        command = [folder / case["program"], "--abort-after=1", "--test-case=" + case["case"].replace("\\", "\\\\").replace(",", "\\,")]
        try:
            done = subprocess.run(command, capture_output=True, timeout=3 * case["time"] + 5, env={**os.environ, "MUTANT": str(number)})
            if done.returncode:
                return case["program"] + ": " + case["case"]
        except subprocess.TimeoutExpired:
            return case["program"] + ": " + case["case"] + " (does not end)"
    return None


def main():
    include = root / "include"
    folder = pathlib.Path(options.build).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    everything = [m for m in candidates(include) if options.only in (None, mutated_part(m.path.relative_to(include / "allot")))]
    everything.sort(key=Mutant.key)
    random.Random(options.seed).shuffle(everything)
    by_part = collections.defaultdict(list)
    for m in nested_pairs_removed(everything):
        by_part[mutated_part(m.path.relative_to(include / "allot"))].append(m)
    in_turn = [m for row in itertools.zip_longest(*by_part.values()) for m in row if m is not None]  # as many of each part
    chosen = dict(enumerate(in_turn[:options.mutants]))
    print(f"{len(everything)} mutants are possible, {len(chosen)} are taken")
    for _ in range(8):
        write_headers(chosen, include, folder / "include")
        wrong = build(folder, folder / "include", {name: programs[name] for name in options.tests.split(",")})
        if not wrong:
            break
        before = len(chosen)
        chosen = {n: m for n, m in chosen.items() if (m.path.relative_to(include).as_posix(), m.line) not in wrong}
        print(f"{before - len(chosen)} do not compile", flush=True)
        if len(chosen) == before:
            sys.exit(f"errors that no mutant explains: {sorted(wrong)[:5]}")
        shutil.rmtree(folder / "objects")
    print("measuring the test cases", flush=True)
    cases = cases_of(folder, [n for n in programs if (folder / n).exists()])
    results_file = folder / "results.json"
    results = json.loads(results_file.read_text()) if results_file.exists() else {}
    by_mutant = collections.defaultdict(list)
    for case in cases:
        for number in case["reached"]:
            by_mutant[number].append(case)
    print(f"{len(cases)} test cases; {len(by_mutant)} of {len(chosen)} mutants are reached", flush=True)
    for number, m in chosen.items():
        if number not in by_mutant:
            print(f"not reached, or in constant expressions only: {m}")

    def run(number):
        m = chosen[number]
        key = ":".join(map(str, (m.path.relative_to(root), m.edits[0][0], m.kind)))
        if key not in results:
            results[key] = judge(folder, number, by_mutant[number])
            results_file.write_text(json.dumps(dict(results), indent=1))
        if results[key] is None:
            print(f"survived: {m}", flush=True)
        return m, results[key]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        judged = list(pool.map(run, sorted(by_mutant)))
    tally = collections.defaultdict(lambda: [0, 0])
    for m, noticed in judged:
        part = tally[mutated_part(m.path.relative_to(include / "allot"))]
        part[0] += 1
        part[1] += noticed is not None
    for part, (count, killed) in sorted(tally.items()):
        print(f"{part}: {killed} of {count} mutants are noticed")
    print(f"all: {sum(k for _, k in tally.values())} of {sum(c for c, _ in tally.values())}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--mutants", type=int, default=600)
    parser.add_argument("--tests", default=",".join(programs), help="of these folders of tests, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=parts)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    main()
