# SPDX-License-Identifier: BSL-1.0
"""Writes the results of run.py: report.json, report.md with tables, and verified.md with the entry of docs/verified.md."""

import json
import re

OURS = "allot: indexed_ordered"  # the allocator whose interface is that of the peers


def json_lines(text):
    """Returns the objects of all lines that are JSON."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                pass
    return found


def table(head, rows):
    """Returns the lines of a table. All columns after the first one are aligned to the right."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}"]
    return lines + [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows] + [""]


def unique(values):
    return list(dict.fromkeys(values))


def pairs(rows, names):
    """A table of the time of an allocation and a free of one size."""
    sizes = unique(row["bytes"] for row in rows if row["measured"] == "pair")
    times = {(row["allocator"], row["bytes"]): row["ns"] for row in rows if row["measured"] == "pair"}
    return table(["ns for an allocation and a free", *(f"{size} B" for size in sizes)],
                 [[name, *(shown(times.get((name, size))) for size in sizes)] for name in names])


def shown(nanoseconds):
    return "" if nanoseconds is None else "failed" if nanoseconds == 0 else f"{nanoseconds:.0f}"


def held(row):
    """The bytes that were held from the driver, divided by the peak of live bytes."""
    if row is None or row.get("failed"):
        return "failed" if row else ""
    wrong = f"**{row['overwritten']} overwritten** " if row.get("overwritten") else ""
    return wrong + (f"{row['reserved'] / row['peak']:.3f}" if row["reserved"] else "")


def replays(rows, names):
    """For each trace, a table of the times of an operation, and of the memory, for each use of streams."""
    lines = []
    for trace in unique(row["trace"] for row in rows if "trace" in row):
        mine = [row for row in rows if row.get("trace") == trace]
        uses = unique(row["streams"] for row in mine)
        found = {(row["allocator"], row["measured"], row["streams"]): row for row in mine}
        there = [name for name in names if any(row["allocator"] == name for row in mine)]
        head = [trace, *(f"ns an operation, {use}" for use in uses), *(f"held over peak, {use}" for use in uses)]
        lines += table(head, [[name, *(shown((found.get((name, "trace", use)) or {}).get("ns")) for use in uses),
                               *(held(found.get((name, "memory", use))) for use in uses)] for name in there])
    return lines


def place(row):
    """The place of a result: what was measured, on which trace or size, with which streams."""
    return row["measured"], row.get("trace") or f"{row['bytes']} B", row.get("streams", "1 stream")


def goals(rows, training):
    """A table of the goals: the ratio of allot to its peers in the worst case and in the median, and whether all reach it."""
    ours, theirs, torch = {}, {}, {}
    for row in rows:
        if row["measured"] == "memory":
            value = row.get("reserved", 0) / row["peak"]
        else:
            value = row["ns"]
        if not value:
            continue
        if row["allocator"].startswith(OURS):
            ours[place(row)] = value
        elif not row["allocator"].startswith("allot"):
            theirs[place(row)] = min(value, theirs.get(place(row), value))
            if row["allocator"].startswith("PyTorch"):
                torch[place(row)] = value
    lines = []
    for name, goal, peers, measured in (("time over that of the fastest peer", 0.5, theirs, ("pair", "trace")),
                                        ("memory over that of PyTorch", 1.0, torch, ("memory",))):
        ratios = sorted((value / peers[where], where) for where, value in ours.items()
                        if where in peers and where[0] in measured)
        if ratios:
            worst, (_, trace, streams) = ratios[-1]
            lines.append([name, f"at most {goal}", f"{ratios[len(ratios) // 2][0]:.2f}", f"{worst:.2f}", f"{trace}, {streams}"])
    peaks = {row["allocator"]: row["convolutions"]["peak"] for row in training}
    mine = next((peak for name, peak in peaks.items() if "/" in name), 0)
    if mine and peaks.get("native"):
        lines.append(["peak of the training over PyTorch's", "at most 1.0", "", f"{mine / peaks['native']:.2f}", ""])
    return table([f"goals, for {OURS}", "goal", "median", "worst", "where"], lines) if lines else []


def trained(rows):
    mib = 1 << 20
    return table(["training", "transformer, ms a step", "convolutions, ms a step", "peak, MiB", "losses"],
                 [[row["allocator"].rsplit("/", 1)[-1], row["transformer"]["step_ms"], row["convolutions"]["step_ms"],
                   f"{row['convolutions']['peak'] / mib:.0f}", f"{row['transformer']['loss']}, {row['convolutions']['loss']}"]
                  for row in rows])


def steps_of(steps):
    return table(["step", "result", "s", ""], [[step["name"], step["status"], step["seconds"], step["detail"].replace("|", "/")]
                                               for step in steps])


def summary(results):
    """The facts that a row of docs/verified.md states."""
    about = results["machine"]
    count = {status: sum(step["status"] == status for step in results["steps"])
             for status in ("passed", "failed", "stopped", "skipped", "not started")}
    cases = sum(int(number) for step in results["steps"] if step["name"].startswith("test_")
                for number in re.findall(r"test cases:\s*\d+ \|\s*(\d+) passed", step["output"]))
    digests = {}
    for row in results["demo"]:
        digests.setdefault(row.get("network"), set()).add(row.get("digest"))
    same = sum(len(each) == 1 for each in digests.values())
    said = ", ".join(f"{number} {status}" for status, number in count.items() if number)
    return {"device": about["gpu"], "tools": f"nvcc {about['nvcc'] or 'absent'}, g++ {about['compiler']}, PyTorch {about['torch'] or 'absent'}",
            "result": f"steps: {said}; {cases} test cases passed; networks with equal digests: {same} of {len(digests)}"}


def verified(results):
    about, told = results["machine"], summary(results)
    return [f"| {about['date']} | {told['device']}, {told['tools']} | `./dev gpu` at {about['commit'] or 'an unknown commit'} | {told['result']} |"]


def write(out, results):
    rows = [row for row in results["benchmarks"] if "measured" in row]
    names = unique(row["allocator"] for row in rows)
    about = results["machine"]
    lines = [f"# allot on {about['gpu']}", ""]
    if about["rehearsal"]:
        lines += ["A rehearsal with fakes. The numbers state nothing about a GPU.", ""]
    lines += [f"{key}: {value}  " for key, value in about.items()] + [""]
    lines += steps_of(results["steps"])
    if rows:
        lines += pairs(rows, names) + replays(rows, names)
    lines += goals(rows, results["training"])
    errors = [row for row in results["benchmarks"] if "error" in row]
    lines += [f"{row['allocator']} is not measured: {row['error']}  " for row in errors] + [""]
    if results["training"]:
        lines += trained(results["training"])
    kept = dict(results, steps=[{key: value for key, value in step.items() if key != "output"} for step in results["steps"]])
    (out / "report.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    (out / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "verified.md").write_text("\n".join(verified(results)) + "\n", encoding="utf-8")
    print("\n".join(lines[2:]))
    print("the entry for docs/verified.md:\n" + "\n".join(verified(results)))
