#!/usr/bin/python3
"""Checks that the documents quote each program of examples/basic once, unchanged, and lines of programs for TVM:

    quotes.py [--write]

A quotation is a line with nothing but a link to the program, followed by a fenced block. With --write, the script
replaces each block of a program of examples/basic by the program's text.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
QUOTATION = re.compile(r"^(\[examples/basic/(\w+)\.cpp\]\(\.\./examples/basic/\2\.cpp\):\n\n```cpp\n)(.*?)^```$", re.S | re.M)

LINES = re.compile(r"^\[(bindings/tvm/programs/\w+\.py)\]\(\.\./\1\):\n\n```python\n(.*?)^```$", re.S | re.M)


def main(write):
    programs = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples/basic").glob("*.cpp"))}
    quoted, failures = [], []
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if write:
            text = QUOTATION.sub(lambda match: f"{match[1]}{programs.get(match[2], match[3])}```", text)
            page.write_text(text, encoding="utf-8")
        for program, block in LINES.findall(text):
            if block not in (ROOT / program).read_text(encoding="utf-8"):
                failures.append(f"{page.name} quotes lines that {program} does not have")
        for _, name, block in QUOTATION.findall(text):
            quoted.append(name)
            if name not in programs:
                failures.append(f"{page.name} quotes {name}.cpp, which does not exist")
            elif block != programs[name]:
                failures.append(f"{page.name} quotes another text than {name}.cpp: run quotes.py --write")
    for name in programs:
        if quoted.count(name) != 1:
            failures.append(f"{name}.cpp is quoted {quoted.count(name)} times")
    print("\n".join(failures) or f"the documents quote {len(quoted)} programs unchanged")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv[1:]))
