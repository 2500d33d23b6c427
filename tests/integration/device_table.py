#!/usr/bin/env python3
"""Writes the status column of the README's device table from what tests printed.

    tests/integration/device_table.py README.md LOG...

A test that has seen a device at work prints one of

    device: TYPE on the real driver: NAME AND VERSION
    device: TYPE on a fake driver

A row of the table has the status of the weakest of its types. Rows whose types are in no log stay as they are, and are
named. A type that has a header but was seen on no driver compiles, which the tests of the headers show.
"""

import datetime
import re
import sys
from pathlib import Path

SEEN = re.compile(r"^\s*device: (\S+) on (?:the real driver: (.+?)|a fake driver)\s*$", re.MULTILINE)
ROW = re.compile(r"^\| (?P<memory>[^|]+) \| (?P<types>[^|]*`[^|]*) \| (?P<address>[^|]*) \| (?P<status>[^|]*) \|$")


def read_logs(texts):
    """The real drivers on which each type was seen; none when it was seen on a fake one alone."""
    seen = {}
    for text in texts:
        for kind, driver in SEEN.findall(text):
            drivers = seen.setdefault(kind, set())
            if driver:
                drivers.add(driver)
    return seen


def types_of(cell):
    """The types in a cell, without template arguments; a namespace holds until the next."""
    found, namespace = [], ""
    for quoted in re.findall(r"`([^`]+)`", cell):
        name = re.sub(r"<.*>", "", quoted)
        namespace, separator, _ = name.rpartition("::") if "::" in name else (namespace, "::", "")
        bare = name.rpartition("::")[2]
        found.append(f"{namespace}::{bare}" if namespace else bare)
    return found


def status_of(types, seen, day):
    """What the logs say of a row; None when they have not all of its types."""
    if not types or any(kind not in seen for kind in types):
        return None
    drivers = set.intersection(*(seen[kind] for kind in types))
    if not drivers:
        return f"works on a fake driver ({day})"
    return f"works: {', '.join(sorted(drivers))} ({day})"


def rewrite(readme, seen, day):
    """The README with the table filled in, and the rows that no log spoke of."""
    lines, untouched = [], []
    for line in readme.split("\n"):
        row = ROW.match(line)
        if row and in_devices(lines):
            status = status_of(types_of(row["types"]), seen, day)
            if status is None:
                untouched.append(row["types"])
            else:
                line = f"| {row['memory']} | {row['types']} | {row['address']} | {status} |"
        lines.append(line)
    return "\n".join(lines), untouched


def in_devices(lines):
    headings = [line for line in lines if line.startswith("## ")]
    return bool(headings) and headings[-1] == "## Devices"


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    page, logs = Path(arguments[0]), [Path(each) for each in arguments[1:]]
    texts = [log.read_text(errors="replace") for log in logs]
    if any("Test Failed." in text or "Status: FAILURE" in text for text in texts):
        sys.exit("a test failed: no table is made of that")
    day = datetime.date.fromtimestamp(max(log.stat().st_mtime for log in logs))
    text, untouched = rewrite(page.read_text(), read_logs(texts), day)
    page.write_text(text)
    for types in untouched:
        print(f"left as it was, because no test here saw all of it at work: {types}")


if __name__ == "__main__":
    main(sys.argv[1:])
