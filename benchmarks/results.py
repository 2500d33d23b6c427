#!/usr/bin/python3
"""Stores the tables that a benchmark prints, as JSON: results.py FILE NAME <OUTPUT

The output is also printed. It has Markdown tables, each below a line that describes it. FILE keeps the results of other
benchmarks; those of NAME are replaced:

    {"benchmarks": {NAME: {"date": …, "version": …, "commit": …, "processor": …, "processors": …, "load": …, "system": …,
                           "compiler": …, "tables": [{"title": …, "columns": […], "rows": [[…], …]}]}}}

A cell is a number, a text or null. Thousands separators, signs of ratios (x) and emphasis are removed. A unit that all
numbers of a column have is appended to the name of the column.
"""

import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RULE = re.compile(r"\|(:?-+:?\|)+$")
NUMBER = re.compile(r"([-+]?\d[\d,]*(?:\.\d+)?)(?: ?(x|ns|us|ms|s|%|B|KiB|MiB|GiB))?$")


def cells(line):
    return [re.sub(r"^\*\*(.*)\*\*$", r"\1", cell.strip()).replace("`", "") for cell in line.strip().strip("|").split("|")]


def tables(lines):
    """The tables of an output. A table without a line of its own has the title of the one before."""
    found, title, table = [], "", None
    for line in map(str.strip, lines):
        if not line.startswith("|"):
            table = None
            if line and not line.startswith("skipped: "):
                title = line
        elif RULE.match(line):
            continue
        elif table is None:
            table = {"title": title, "columns": cells(line), "rows": []}
            found.append(table)
        else:
            table["rows"].append(cells(line))
    for table in found:
        convert(table)
    return found


def convert(table):
    """Replaces texts by numbers, and moves a common unit to the name of the column."""
    for at in range(1, len(table["columns"])):
        column = [NUMBER.match(row[at]) for row in table["rows"]]
        units = {match[2] for match in column if match}
        same = len(units) == 1
        for row, match in zip(table["rows"], column):
            if match and (same or match[2] in (None, "x")):
                number = match[1].replace(",", "")
                row[at] = float(number) if "." in number else int(number)
            elif not row[at]:
                row[at] = None
        unit = units.pop() if same else None
        if unit and unit != "x":
            table["columns"][at] += f", {unit}"


def output_of(*command):
    """The output of a command without spaces around it; empty if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return done.stdout.strip() if done.returncode == 0 else ""


def circumstances():
    """When, of what and on which machine."""
    version = dict(re.findall(r"#define ALLOT_VERSION_(\w+) (\d+)", (ROOT / "include/allot/version.hpp").read_text()))
    information = pathlib.Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", information.read_text() if information.exists() else "")
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "version": ".".join(version[part] for part in ("MAJOR", "MINOR", "PATCH")),
            "commit": output_of("git", "rev-parse", "--short", "HEAD"),
            "processor": model[1] if model else platform.machine(), "processors": os.cpu_count(),
            "load": round(os.getloadavg()[0], 1), "system": f"{platform.system()} {platform.release().split('-')[0]}",
            "compiler": output_of("g++", "--version").partition("\n")[0]}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path, name = pathlib.Path(sys.argv[1]), sys.argv[2]
    described, lines = circumstances(), []
    for line in sys.stdin:
        print(line, end="", flush=True)
        lines.append(line)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"benchmarks": {}}
    made = tables(lines)
    if made:  # a benchmark that is skipped leaves the earlier results
        kept["benchmarks"][name] = {**described, "tables": made}
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\n\s+([^][{}]*?)\n\s+\]", lambda match: "[" + re.sub(r"\n\s+", " ", match[1]) + "]", text)  # a row a line
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
