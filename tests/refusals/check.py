#!/usr/bin/env python3
"""Checks programs that compile, and that fail to compile with MISUSE defined.

usage: check.py COMPILER INCLUDES IMPLICIT_INCLUDES CASE.cpp...     the lists of directories have semicolons

The output for a case must contain the sentence after its '// refused: '. A line '// within: N' requires the sentence in the
first N lines of the output. A line '// alone' forbids any other sentence that begins with 'allot: ', and a line '// only'
any other error.

All cases are compiled together first, each in a namespace: a tenth of the time. A compiler may report an error that several
cases share only for the first, so that the cases without their sentence are compiled together again. Those that still fail
are compiled alone, which decides.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ERROR = re.compile(r": (?:fatal )?error: ")
# Lines that precede an error of g++ and state where it is.
CONTEXT = re.compile(r"In file included from |\S+: (?:In |At )")


class Case:
    def __init__(self, path):
        self.path, self.text = Path(path).resolve(), Path(path).read_text(encoding="utf-8")
        found = re.search(r"// refused: *(.*\S)", self.text)
        if not found or "#ifdef MISUSE" not in self.text:
            sys.exit(f"{path} needs a line '// refused: <sentence>' and a part under '#ifdef MISUSE'")
        self.sentence = found[1]
        self.alone, self.only = "// alone" in self.text, "// only" in self.text
        limit = re.search(r"// within: *(\d+)", self.text)
        self.within = int(limit[1]) if limit else None

    def includes(self):
        """The lines that include headers. A header beside the case has its whole path."""
        for line, name in re.findall(r'^(#include [<"]([^>"]+)[>"])', self.text, re.M):
            yield f'#include "{self.path.parent / name}"' if (self.path.parent / name).exists() else line

    def complaint(self, output):
        """The reason why the output of the compiler is wrong, or an empty string."""
        output = output.replace('\\"', '"')  # clang prints the message of a static_assert as a quoted literal
        at = output.find(self.sentence)
        if at < 0:
            return f"is rejected with MISUSE, but without the sentence: {self.sentence}"
        others = [said for said in re.findall(r"allot: [^\n]*", output) if not said.startswith(self.sentence)]
        if self.alone and others:
            return f"is rejected with MISUSE by the sentence, and by another one: {others[0]}"
        errors = [line for line in output.splitlines() if ERROR.search(line) and self.sentence not in line]
        if self.only and errors:
            return f"is rejected with MISUSE by the sentence, and by another error: {errors[0]}"
        lines = output.count("\n", 0, at)
        if self.within is not None and lines >= self.within:
            return f"is rejected with MISUSE by the sentence, but {lines} lines precede it"
        return ""


class Compiler:
    def __init__(self, program, includes, implicit):
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        # Without source text, so that the sentence can only come from a diagnostic.
        quiet = ["-fno-caret-diagnostics"] if "clang" in version else ["-fno-diagnostics-show-caret"]
        self.every = ["-ferror-limit=0"] if "clang" in version else ["-fmax-errors=0"]
        # An -I option for an implicit include directory would reorder the search and break #include_next.
        folders = dict.fromkeys(folder for folder in includes.split(";") if folder and folder not in implicit.split(";"))
        self.command = [program, "-std=c++20", "-fsyntax-only", *quiet, *(f"-I{folder}" for folder in folders)]

    def output(self, source, *flags):
        """Whether a file compiles, and the diagnostics."""
        done = subprocess.run([*self.command, *flags, source], stderr=subprocess.PIPE, text=True, check=False,
                              env=os.environ | {"LC_ALL": "C"})  # plain quotes
        return done.returncode == 0, done.stderr

    def together(self, cases, *flags):
        """The same for cases in one file."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "together.cpp"
            includes = dict.fromkeys(line for case in cases for line in case.includes())
            source.write_text("\n".join([*includes, *(
                f'namespace {case.path.stem} {{\n#include "{case.path}"\n}}' for case in cases), ""]), encoding="utf-8")
            return self.output(source, *flags)


def divided(output, cases):
    """The diagnostics of each case. An error without its own context continues that of the error before it."""
    parts, has_error = [[]], False
    for line in output.splitlines():
        if has_error and (CONTEXT.match(line) or ERROR.search(line)):
            parts.append([])
            has_error = False
        parts[-1].append(line)
        has_error = has_error or bool(ERROR.search(line))
    found, current = {case: "" for case in cases}, []
    for part in parts:
        text = "\n".join(part) + "\n"
        current = [case for case in cases if str(case.path) + ":" in text] or current
        for case in current:
            found[case] += text
    return found


def refused(compiler, cases):
    """The cases whose diagnostics are right when all cases are compiled together."""
    right, left = set(), cases
    while left:
        found = divided(compiler.together(left, "-DMISUSE", *compiler.every)[1], left)
        more = {case for case in left if not case.complaint(found[case])}
        if not more:
            break
        right |= more
        left = [case for case in left if case not in more]
    return right


def main(program, includes, implicit, *paths):
    compiler, cases, failed = Compiler(program, includes, implicit), [Case(path) for path in paths], 0

    def fail(case, reason, output):
        nonlocal failed
        failed += 1
        print(f"{output}{case.path} {reason}")

    several = len(cases) > 1
    compiles = several and compiler.together(cases)[0]
    right = refused(compiler, cases) if several else set()
    for case in cases:
        if not compiles:
            done, output = compiler.output(case.path)
            if not done:
                fail(case, "does not compile, even without MISUSE", output)
                continue
        if case not in right:
            done, output = compiler.output(case.path, "-DMISUSE")
            reason = f"compiles with MISUSE, but must be rejected with: {case.sentence}" if done else case.complaint(output)
            if reason:
                fail(case, reason, output)
    print(f"{len(cases)} cases, {len(right)} of them together; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
