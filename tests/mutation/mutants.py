#!/usr/bin/env python3
"""Mutation testing: checks that a test fails if the library is wrong.

The script inserts small mistakes (a comparison off by one, a sum that becomes a difference, a statement left out) into
copies of the headers, all in one build. An environment variable activates one at a time. For each mutant, the test
cases that pass through it run, shortest first, until one fails. A mutant that no test case notices is a survivor.
Either it is equivalent to the original, and equivalent.txt lists it with the reason, or a test is missing.

    tests/mutation/mutants.py BUILD [--mutants N] [--seed N] [--only PART] [--tests NAMES] [--jobs N] [--compile]

BUILD is a folder for the mutated headers, the programs and the state of a run. An interrupted run continues where it
stopped. To run one mutant: MUTANT=NUMBER BUILD/PROGRAM --test-case=...
At run time, mutants are inactive in constant expressions. With --compile, the script also compiles the tests of a
survivor's part with the survivor active in constant expressions. If that fails, equivalent.txt has the reason
"compiling FILE notices it", and later runs compile only this file.
The exit status is 1 if a survivor is not in equivalent.txt, and 77 if a tool is missing.
Needs libclang for Python (PyPI: libclang), clang++, g++ and doctest.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]
parts = {  # mutated folders and headers of include/allot
    "core": ["core/"],
    "strategy": ["strategy/"],
    "arena": ["arena/", "compose/"],
    "plan": ["plan/"],
    "tensor": ["tensor/"],
}
left_out = re.compile(r"tensor/symmetric|compose/(adopted|cached|symmetric)|arena/shared_arena|"  # need drivers
                      r"core/literals|core/detail/compiler")  # constant expressions or builtin functions alone
programs = {  # the tests that have to notice
    "core": "tests/unit/core/*_test.cpp", "strategy": "tests/unit/strategy/*_test.cpp", "arena": "tests/unit/arena/*_test.cpp",
    "compose": "tests/unit/compose/*_test.cpp", "laws": "tests/laws/**/*_test.cpp",
    "plan": "tests/unit/plan/*_test.cpp", "tensor": "tests/unit/tensor/*_test.cpp", "address": "tests/unit/address/*_test.cpp",
    "device": "tests/unit/host/virtual_memory_test.cpp",
}
not_compiled = re.compile(r"opencl|vulkan|symmetric|constexpr_test|static_memories")  # drivers, constant expressions
own_tests = {part: ["arena", "compose"] if part == "arena" else [part] for part in parts}
operators = {
    "<": ["less_as_less_equal", "less_as_greater_equal"], "<=": ["less_equal_as_less", "less_equal_as_greater"],
    ">": ["greater_as_greater_equal", "greater_as_less_equal"],
    ">=": ["greater_equal_as_greater", "greater_equal_as_less"],
    "==": ["equal_as_unequal"], "!=": ["unequal_as_equal"], "+": ["plus_as_minus"], "-": ["minus_as_plus"],
    "*": ["times_as_plus"], "/": ["divided_as_times"], "&": ["and_as_or"], "|": ["or_as_and"],
}
capacity = 100_000  # same as in mutation.hpp
longest_case = 3  # seconds of processor time; longer test cases are skipped
optimised = {"plan", "laws"}  # these programs take longer to run than to compile
settings = {"ALLOT_PROBLEMS": "2000"}  # for tests with random problems


class Mutant:
    """One change: text to insert at offsets of a file, and text to replace."""

    def __init__(self, path, line, size, kind, edits, function, text):
        self.path, self.line, self.size, self.kind, self.edits = path, line, size, kind, edits
        self.function, self.text = function, text
        self.repeated = 0  # number of equal changes of equal text earlier in this function

    def place(self):
        return (str(self.path), self.edits[0][0], self.kind)

    def part(self):
        return mutated_part(self.path.relative_to(root / "include/allot"))

    def key(self, repeated=None):
        """Returns a name that does not depend on other lines of the file."""
        name = f"{self.path.relative_to(root / 'include/allot')}: {self.function}: {self.kind}"
        repeated = self.repeated if repeated is None else repeated
        if repeated:
            name += f" #{repeated + 1}"
        return name, self.text if len(self.text) <= 110 else self.text[:107] + "..."

    def hash(self):
        """Returns a hash for the choice. All repeats after the first have the same hash."""
        key = self.key(min(self.repeated, 1))
        return hashlib.sha256(f"{options.seed} {key}".encode()).digest()

    def __str__(self):
        name, text = self.key()
        return f"{name}, line {self.line}: {text}"


def mutated_part(relative):
    name = relative.as_posix()
    if left_out.search(name):
        return None
    return next((part for part, prefixes in parts.items() if any(name.startswith(p) for p in prefixes)), None)


def candidates(include):
    """Returns all possible mutants of the headers, from clang's syntax tree."""
    kinds = cindex.CursorKind
    names = {"STATIC_ASSERT", "TEMPLATE_NON_TYPE_PARAMETER", "CONCEPT_DECL", "REQUIRES_EXPR", "ENUM_CONSTANT_DECL",
             "TYPE_ALIAS_DECL", "TYPE_ALIAS_TEMPLATE_DECL"}
    compile_time = {getattr(kinds, name) for name in names if hasattr(kinds, name)}  # some versions of clang lack one
    functions = {kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE, kinds.CXX_METHOD, kinds.CONSTRUCTOR, kinds.DESTRUCTOR,
                 kinds.CONVERSION_FUNCTION}
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

    def add(cursor, kind, edits, function):
        path = pathlib.Path(cursor.extent.start.file.name)
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        body = text_of(str(path))[start:end]
        if b"\n" in body and kind == "left out" or b"[&" in body or b"[=" in body or b"[]" in body:
            return
        line, text = cursor.extent.start.line, " ".join(body.decode().split())
        mutant = Mutant(path, line, end - start, kind, edits, function, text)
        found[mutant.place()] = mutant

    def visit_operator(cursor, left, right, function):
        text = text_of(cursor.location.file.name)
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        middle = text[left.extent.end.offset:right.extent.start.offset]
        operator = re.sub(rb"\s|//[^\n]*\n|[()]", b"", middle).decode()
        inside = start <= left.extent.start.offset and right.extent.end.offset <= end
        if not inside or b"(" in middle or b")" in middle:
            return
        if operator in operators:
            at = left.extent.end.offset + middle.find(operator.encode())
            for name in operators[operator]:
                add(cursor, name, [(start, f"mutation::{name}(@, "), (at, operator, ","), (end, ")")], function)
        elif operator in ("&&", "||"):
            name = "yes" if operator == "&&" else "no"
            for side in (left, right):
                first, last = side.extent.start.offset, side.extent.end.offset
                add(side, name, [(first, f"mutation::{name}(@, static_cast<bool>("), (last, "))")], function)

    def visit(cursor, parent, function):
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
        if cursor.kind in functions:
            if b"consteval" in text_of(location.name)[start:start + 600].split(b"{")[0]:
                return
            function = cursor.spelling.split("<")[0] if "operator" not in cursor.spelling else cursor.spelling
        if cursor.kind is kinds.IF_STMT:
            if text_of(location.name)[start:start + 14].startswith(b"if constexpr"):
                children = children[1:]
            elif b"ALLOT_UNREACHABLE" in text_of(location.name)[start:end]:
                return  # only a hint for the optimizer
        if cursor.kind is kinds.BINARY_OPERATOR and len(children) == 2:
            visit_operator(cursor, *children, function)
        if cursor.kind is kinds.CXX_BOOL_LITERAL_EXPR and parent.kind is kinds.RETURN_STMT:
            add(cursor, "negated", [(start, "mutation::negated(@, "), (end, ")")], function)
        if parent is not None and parent.kind is kinds.COMPOUND_STMT:
            is_change = cursor.kind in (kinds.COMPOUND_ASSIGNMENT_OPERATOR, kinds.CALL_EXPR, kinds.UNARY_OPERATOR)
            if cursor.kind is kinds.BINARY_OPERATOR and len(children) == 2:
                middle = text_of(location.name)[children[0].extent.end.offset:children[1].extent.start.offset]
                is_change = middle.strip() == b"="
            if is_change:
                add(cursor, "left out", [(start, "if (!mutation::on(@)) "), (end, "")], function)
        for child in children:
            visit(child, cursor, function)

    visit(unit.cursor, None, "")
    times = collections.Counter()
    for mutant in sorted(found.values(), key=Mutant.place):
        name = mutant.key()
        mutant.repeated = times[name]
        times[name] += 1
    return list(found.values())


def one_for_each_place(mutants):
    """Removes mutants that change the same operator as another one."""
    seen, kept = set(), []
    for m in mutants:
        places = {(m.path, offset) for offset, *_ in m.edits[1:-1]} or {(m.path, m.edits[0][0], m.kind)}
        if not places & seen:
            seen |= places
            kept.append(m)
    return kept


def choose(include):
    """Chooses the same number of mutants of each part, independent of edits elsewhere."""
    everything = [m for m in candidates(include) if options.only in (None, m.part())]
    everything.sort(key=Mutant.hash)
    by_part = {part: [] for part in parts}
    for m in one_for_each_place(everything):
        by_part[m.part()].append(m)
    in_turn = [m for row in itertools.zip_longest(*by_part.values()) for m in row if m is not None]
    chosen = {}
    for m in in_turn[:options.mutants]:
        number = int.from_bytes(m.hash()[:4], "big") % capacity  # a hash: independent of edits elsewhere
        while number in chosen:
            number = (number + 1) % capacity
        chosen[number] = m
    print(f"{len(everything)} possible mutants, {len(chosen)} chosen", flush=True)
    return chosen, {m.key() for m in everything}


def write_headers(chosen, include, to):
    """Writes the headers with all mutants and unchanged line numbers. Does not touch unchanged files."""
    by_file = collections.defaultdict(list)
    for number, mutant in chosen.items():
        by_file[mutant.path].append((number, mutant))
    for path in sorted(include.glob("**/*")):
        if path.is_dir():
            continue
        inserts = []  # (offset, three orders at one offset, bytes replaced, text)
        for number, m in by_file[path]:
            first, *middle, last = m.edits
            outer = {"yes": 1, "no": 1, "left out": 2}.get(m.kind, 0)  # order of mutants around the same text
            inserts.append((first[0], 1, -m.size, -outer, 0, first[1].replace("@", str(number))))
            for offset, old, new in middle:
                inserts.append((offset, 1, 0, 0, len(old), new))
            inserts.append((last[0], 0, m.size, outer, 0, last[1]))
        data, out, at = path.read_bytes(), [], 0
        for offset, _, _, _, removed, text in sorted(inserts):
            out += [data[at:offset], text.encode()]
            at = offset + removed
        text = b"".join(out + [data[at:]])
        if inserts:
            line = text[:text.index(b"#pragma once")].count(b"\n") + 2
            included = f"#pragma once\n#include <mutation.hpp>\n#line {line}\n"
            text = text.replace(b"#pragma once\n", included.encode(), 1)
        target = to / path.relative_to(include)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != text:
            target.write_bytes(text)
    for target in to.glob("**/*.hpp"):
        if not (include / target.relative_to(to)).exists():
            target.unlink()


def up_to_date(target):
    listed = target.with_suffix(".d")
    if not target.exists() or not listed.exists():
        return False
    used = listed.read_text().replace("\\\n", " ").split(":", 1)[1].split()
    made = target.stat().st_mtime_ns
    return all(os.path.exists(name) and os.stat(name).st_mtime_ns < made for name in used)


def sources_of(program):
    found = sorted(root.glob(programs[program]))
    return [s for s in found if not not_compiled.search(str(s.relative_to(root)))]


def compile_command(include, program):
    return ["g++", "-std=c++20", "-O1" if program in optimised else "-O0", "-w", "-Wno-narrowing", "-fmax-errors=0",
            "-fconstexpr-ops-limit=4000000000", "-fconstexpr-loop-limit=100000000",
            f"-I{include}", f"-I{here}", f"-I{root / 'tests'}"]


def build(folder, include, wanted):
    """Compiles all test programs. Returns the lines of headers with compiler errors."""
    (folder / "objects").mkdir(exist_ok=True)
    launcher = ["ccache"] if shutil.which("ccache") else []
    sources = {name: sources_of(name) for name in wanted}
    sources[""] = [root / "tests/main.cpp", here / "mutation.cpp"]

    def object_of(source):
        return folder / "objects" / (source.relative_to(root).as_posix().replace("/", "_") + ".o")

    def compile_one(job):
        program, source = job
        target = object_of(source)
        if up_to_date(target):
            return ""
        command = [*launcher, *compile_command(include, program), "-MMD", "-MF", target.with_suffix(".d"),
                   "-c", source, "-o", target]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr if done.returncode else ""

    wrong, everything = set(), [(name, s) for name, of_one in sources.items() for s in of_one]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (_, source), errors in zip(everything, pool.map(compile_one, everything)):
            if errors:
                with open(folder / "errors.log", "a") as log:
                    log.write(errors)
                places = re.findall(rf"{re.escape(str(include))}/(\S+?):(\d+)", errors)
                if not places:
                    sys.exit(f"{source} does not compile:\n{errors[:4000]}")
                wrong |= {(path, int(line)) for path, line in places}
    for name in wanted if not wrong else ():
        objects = [object_of(s) for s in sources[name] + sources[""]]
        program = folder / name
        if not program.exists() or any(o.stat().st_mtime_ns >= program.stat().st_mtime_ns for o in objects):
            subprocess.run(["g++", *objects, "-lpthread", "-lrt", "-o", program], check=True)
    return wrong


def run_case(folder, case, seconds, **environment):
    """Returns the status, or None after a timeout, and the processor time."""
    name = case["case"].replace("\\", "\\\\").replace(",", "\\,")
    clean = {name: value for name, value in os.environ.items() if name != "ALLOT_LONG"}
    limited = ["sh", "-c", f'ulimit -t {seconds}; exec "$@"', "sh"]
    process = subprocess.Popen([*limited, folder / case["program"], "--abort-after=1", "--test-case=" + name],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**clean, **settings, **environment})
    stop = threading.Timer(30 + 20 * seconds, process.kill)  # a process that only waits uses no processor time
    stop.start()
    _, status, used = os.wait4(process.pid, 0)
    stop.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    too_long = process.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    return None if too_long else process.returncode, used.ru_utime + used.ru_stime


def cases_of(folder, names):
    """Returns the program, the time and the reached mutants of each test case, shortest first."""
    found = []
    for name in names:
        listed = subprocess.run([folder / name, "--list-test-cases", "--no-colors"], capture_output=True, text=True)
        for case in [line for line in listed.stdout.splitlines() if line and not line.startswith(("[doctest]", "="))]:
            found.append({"program": name, "case": case})

    def measure(entry):
        number, case = entry
        log = folder / f"reached_{number}"
        log.unlink(missing_ok=True)
        status, seconds = run_case(folder, case, longest_case, MUTANTS_REACHED=str(log))
        reached = [found.start() for found in re.finditer(rb"\x01", log.read_bytes())]
        log.unlink()
        if status != 0:
            why = f"it takes more than {longest_case} s" if status is None else "it fails without a mutant"
            print(f"skipped, {why}: {case['program']}: {case['case']}", flush=True)
            return None
        return {**case, "time": seconds, "reached": reached}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return sorted(filter(None, pool.map(measure, enumerate(found))), key=lambda c: c["time"])


def judge(folder, number, cases, earlier):
    """Returns the test case that notices this mutant, or None. Tries the one of an earlier run first."""
    def name(case):
        return f"{case['program']}: {case['case']}"

    for case in sorted(cases, key=lambda c: name(c) != earlier):
        status, _ = run_case(folder, case, int(3 * case["time"]) + 3, MUTANT=str(number))
        if status != 0:
            return name(case)
    return None


def noticed_by_the_compiler(include, number, sources):
    for source in sources:
        command = [*compile_command(include, ""), "-fsyntax-only", f"-DALLOT_MUTANT={number}", source]
        if subprocess.run(command, capture_output=True).returncode:
            return f"compiling {source.relative_to(root)}"
    return None


def read_equivalent():
    """Reads entries of three parts: the name of a mutant, its text, and the reason."""
    entries = {}
    for block in (here / "equivalent.txt").read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            if len(lines) < 3:
                sys.exit(f"equivalent.txt: this entry has no reason: {lines[0]}")
            entries[(lines[0].strip(), lines[1].strip())] = " ".join(line.strip() for line in lines[2:])
    return entries


class State:
    """The results of a run so far. They are valid while the programs do not change."""

    def __init__(self, path, folder, names):
        self.path = path
        digest = hashlib.sha256()
        for name in names:
            digest.update((folder / name).read_bytes())
        self.programs = digest.hexdigest()
        read = json.loads(path.read_text()) if path.exists() else {}
        same = read.get("programs") == self.programs
        self.cases = read["cases"] if same else None
        self.judged = read["judged"] if same else {}
        self.earlier = {**read.get("earlier", {}), **read.get("judged", {})}

    def write(self):
        text = json.dumps({"programs": self.programs, "cases": self.cases, "judged": self.judged,
                           "earlier": self.earlier})
        self.path.with_suffix(".new").write_text(text)
        self.path.with_suffix(".new").replace(self.path)


def report(judged, equivalent, known_texts):
    """Prints the survivors and the score. Returns whether equivalent.txt lists all survivors."""
    unknown = 0
    tally = collections.defaultdict(collections.Counter)
    for number, m, noticed in judged:
        of_part = tally[m.part()]
        of_part["mutants"] += 1
        if noticed:
            of_part["noticed"] += 1
            if m.key() in equivalent and not equivalent[m.key()].startswith(noticed):
                print(f"no longer needed in equivalent.txt, {noticed} notices it: {m}")
            elif noticed.startswith("compiling") and m.key() not in equivalent:
                unknown += 1
                print(f"not in equivalent.txt, {noticed} notices it:\n{m.key()[0]}\n    {m.key()[1]}")
        elif not equivalent.get(m.key(), "compiling").startswith("compiling"):
            of_part["equivalent"] += 1
        else:
            unknown += 1
            name, text = m.key()
            print(f"survived, number {number}, line {m.line}:\n{name}\n    {text}")
    for key in equivalent:
        if key not in known_texts and options.only is None:
            print(f"no longer needed in equivalent.txt, no mutant has this name: {key[0]}: {key[1]}")
    for part, count in [*tally.items(), ("all", sum(tally.values(), collections.Counter()))]:
        print(f"{part}: {count['mutants']} mutants, {count['noticed']} noticed, {count['equivalent']} equivalent, "
              f"{count['mutants'] - count['noticed'] - count['equivalent']} survived")
    return unknown == 0


def main():
    start = time.monotonic()
    include = root / "include"
    folder = pathlib.Path(options.build).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen, known_texts = choose(include)
    names = options.tests.split(",")
    for _ in range(8):
        write_headers(chosen, include, folder / "include")
        wrong = build(folder, folder / "include", names)
        if not wrong:
            break
        before = len(chosen)
        chosen = {n: m for n, m in chosen.items() if (m.path.relative_to(include).as_posix(), m.line) not in wrong}
        print(f"{before - len(chosen)} mutants do not compile", flush=True)
        if len(chosen) == before:
            sys.exit(f"errors that no mutant explains: {sorted(wrong)[:5]}")
    print(f"built after {time.monotonic() - start:.0f} s", flush=True)
    state = State(folder / "state.json", folder, names)
    if state.cases is None:
        state.cases = cases_of(folder, names)
        state.write()
    by_mutant = collections.defaultdict(list)
    for case in state.cases:
        for number in case["reached"]:
            by_mutant[number].append(case)
    print(f"{len(state.cases)} test cases; {len(by_mutant)} of {len(chosen)} mutants are reached; "
          f"after {time.monotonic() - start:.0f} s", flush=True)
    unreached = [m for number, m in chosen.items() if number not in by_mutant]
    (folder / "not_reached.txt").write_text("".join(f"{m}\n" for m in unreached))

    equivalent = read_equivalent()

    def run(number):
        m = chosen[number]
        key = ": ".join(m.key())
        if key not in state.judged:
            noticed = judge(folder, number, by_mutant[number], state.earlier.get(key))
            compiled = re.match(r"compiling (\S+) notices it", equivalent.get(m.key(), ""))
            if noticed is None and compiled:
                noticed = noticed_by_the_compiler(folder / "include", number, [root / compiled[1]])
            elif noticed is None and options.compile and m.key() not in equivalent:
                sources = [s for name in own_tests[m.part()] for s in sources_of(name)]
                noticed = noticed_by_the_compiler(folder / "include", number, sources)
            state.judged[key] = noticed
        return number, m, state.judged[key]

    judged = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in pool.map(run, sorted(by_mutant)):
            judged.append(done)
            if len(judged) % 10 == 0:
                state.write()
    state.write()
    fine = report(judged, equivalent, known_texts)
    print(f"after {time.monotonic() - start:.0f} s")
    return 0 if fine else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--mutants", type=int, default=400, help="number of mutants to compile")
    parser.add_argument("--tests", default=",".join(programs), help="folders of tests, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=parts)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--compile", action="store_true", help="see above")
    options = parser.parse_args()
    try:
        from clang import cindex
    except ImportError:
        print("skipped: mutation testing needs libclang for Python (PyPI: libclang)")
        sys.exit(77)
    for tool in ("clang++", "g++"):
        if shutil.which(tool) is None:
            print(f"skipped: mutation testing needs {tool}")
            sys.exit(77)
    sys.exit(main())
