#!/usr/bin/env python3
"""Writes the status column of the README's device table from the output of tests.

    tests/integration/device_table.py README.md LOG...

A test that used a device prints one of these lines:

    device: TYPE on the real driver: NAME AND VERSION
    device: TYPE on a fake driver

A row of the table has the status of the weakest of its types. Rows whose types are missing from the logs are unchanged and
are listed. The tests of the headers show that types without any driver compile.
"""

import datetime
import re
import sys
from pathlib import Path

SEEN = re.compile(r"^\s*device: (\S+) on (?:the real driver: (.+?)|a fake driver)\s*$", re.MULTILINE)
ROW = re.compile(r"^\| (?P<memory>[^|]+) \| (?P<types>[^|]*`[^|]*) \| (?P<address>[^|]*) \| (?P<status>[^|]*) \|$")


def read_logs(texts):
    """Returns the real drivers for each type. The set is empty for a type with a fake driver only."""
    seen = {}
    for text in texts:
        for kind, driver in SEEN.findall(text):
            drivers = seen.setdefault(kind, set())
            if driver:
                drivers.add(driver)
    return seen


def types_of(cell):
    """Returns the types in a cell, without template arguments. A namespace applies until the next one."""
    found, namespace = [], ""
    for quoted in re.findall(r"`([^`]+)`", cell):
        name = re.sub(r"<.*>", "", quoted)
        namespace, separator, _ = name.rpartition("::") if "::" in name else (namespace, "::", "")
        bare = name.rpartition("::")[2]
        found.append(f"{namespace}::{bare}" if namespace else bare)
    return found


def status_of(types, seen, day):
    """Returns the status of a row, or None when the logs lack one of its types."""
    if not types or any(kind not in seen for kind in types):
        return None
    drivers = set.intersection(*(seen[kind] for kind in types))
    if not drivers:
        return f"works on a fake driver ({day})"
    return f"works: {', '.join(sorted(drivers))} ({day})"


def rewrite(readme, seen, day):
    """Returns the README with the new table, and the rows that the logs do not cover."""
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
        sys.exit("a test failed: the table is not written")
    day = datetime.date.fromtimestamp(max(log.stat().st_mtime for log in logs))
    text, untouched = rewrite(page.read_text(), read_logs(texts), day)
    page.write_text(text)
    for types in untouched:
        print(f"unchanged, because the logs do not cover all types: {types}")


if __name__ == "__main__":
    main(sys.argv[1:])
