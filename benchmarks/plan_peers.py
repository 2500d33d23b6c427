#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Compares plans and times of allot with models for solvers of OR-Tools: plan_peers.py [SECONDS]

Requires the wheel of allot and the package ortools. SECONDS limits each solver (default: 20). Prints tables in Markdown. The
instances are generated here from seeds that no test and no tuning of the planner used.

    CP-SAT   one interval of addresses and one of steps for each buffer, no overlap of the rectangles, and a reservation of
             height in time (cumulative); alignment by counting offsets in units
    SCIP     a mixed-integer program with one binary for each pair of buffers that are live at the same time
"""

import math
import random
import sys
import time

import allot
from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model


def network(seed, layers):
    """Returns the activations of a network with branches and skip connections, sizes in units of 64 bytes."""
    draw = random.Random(f"network {seed}")
    buffers = []
    channels, side = 16, 64
    for step in range(layers):
        if draw.random() < 0.25 and side > 4:
            side //= 2
            channels *= 2
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            life = draw.choice((1, 1, 1, 2, 3, 8))
            share = draw.choice((1, 1, 0.5, 0.25, 2))
            size = max(1, int(channels * side * side * share / 64 * draw.uniform(0.8, 1.2)))
            buffers.append((size, step, min(step + 1 + life, layers + 1)))
    return buffers


def intervals(seed, count):
    """Returns buffers with independent sizes and lifetimes."""
    draw = random.Random(f"intervals {seed}")
    buffers = []
    for _ in range(count):
        lower = draw.randrange(count // 2)
        buffers.append((int(math.exp(draw.uniform(0, 7))), lower, lower + draw.randint(1, count // 4)))
    return buffers


INSTANCES = [(f"network {seed}", network(seed, layers)) for seed, layers in ((71, 20), (72, 40), (73, 80), (74, 160))]
INSTANCES += [(f"intervals {seed}", intervals(seed, count)) for seed, count in ((71, 20), (72, 40), (73, 80), (74, 160))]


def by_allot(buffers, seconds):
    plan = allot.plan(buffers, seconds=seconds)
    return plan.offsets, plan.status == "optimal"


def by_cp_sat(buffers, seconds):
    model = cp_model.CpModel()
    most = sum(size for size, _, _ in buffers)
    peak = model.new_int_var(0, most, "peak")
    offsets, addresses, lives = [], [], []
    for size, lower, upper in buffers:
        offset = model.new_int_var(0, most - size, "")
        model.add(offset + size <= peak)
        offsets.append(offset)
        addresses.append(model.new_fixed_size_interval_var(offset, size, ""))
        lives.append(model.new_fixed_size_interval_var(lower, upper - lower, ""))
    model.add_no_overlap_2d(addresses, lives)
    model.add_cumulative(lives, [size for size, _, _ in buffers], peak)
    model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, False
    return [solver.value(offset) for offset in offsets], status == cp_model.OPTIMAL


def by_scip(buffers, seconds):
    solver = pywraplp.Solver.CreateSolver("SCIP")
    most = sum(size for size, _, _ in buffers)
    peak = solver.NumVar(0, most, "")
    offsets = [solver.IntVar(0, most - size, "") for size, _, _ in buffers]
    for i, (size, lower, upper) in enumerate(buffers):
        solver.Add(offsets[i] + size <= peak)
        for j in range(i):
            if lower < buffers[j][2] and buffers[j][1] < upper:
                above = solver.BoolVar("")
                solver.Add(offsets[j] + buffers[j][0] <= offsets[i] + most * (1 - above))
                solver.Add(offsets[i] + size <= offsets[j] + most * above)
    for step in {lower for _, lower, _ in buffers}:
        solver.Add(peak >= sum(size for size, lower, upper in buffers if lower <= step < upper))
    solver.Minimize(peak)
    solver.SetTimeLimit(int(1000 * seconds))
    status = solver.Solve()
    if status not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
        return None, False
    return [round(offset.solution_value()) for offset in offsets], status == pywraplp.Solver.OPTIMAL


PLANNERS = {"allot": by_allot, "CP-SAT": by_cp_sat, "SCIP": by_scip}


def measured(planner, buffers, seconds):
    """Returns the peak, or None without a valid plan, whether it is proved optimal, and the time."""
    begin = time.perf_counter()
    offsets, is_proved = planner(buffers, seconds)
    took = time.perf_counter() - begin
    if offsets is None or allot.validate(buffers, offsets) is not None:
        return None, False, took
    return max(offset + size for offset, (size, _, _) in zip(offsets, buffers)), is_proved, took


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    print("| instance | buffers | most live bytes |" + "".join(f" {name} peak | time |" for name in PLANNERS))
    print("|---|--:|--:|" + "--:|--:|" * len(PLANNERS))
    ratios = {name: ([], []) for name in PLANNERS}
    for name, buffers in INSTANCES:
        live = max(sum(size for size, lower, upper in buffers if lower <= step < upper) for _, step, _ in buffers)
        found = {each: measured(planner, buffers, seconds) for each, planner in PLANNERS.items()}
        cells = [f"{'none' if peak is None else peak}{'' if is_proved else ' ?'} | {took * 1000:.1f} ms"
                 for peak, is_proved, took in found.values()]
        print(f"| {name} | {len(buffers)} | {live} | {' | '.join(cells)} |", flush=True)
        for each, (peak, _, took) in found.items():
            if peak is not None:
                ratios[each][0].append(peak / found["allot"][0])
                ratios[each][1].append(took / found["allot"][2])
    print("\nA question mark: the plan is not proved to be optimal.\n")
    print("| geometric mean, relative to allot | instances with a plan | peak | time |\n|---|--:|--:|--:|")
    for each, (peaks, times) in ratios.items():
        print(f"| {each} | {len(peaks)} of {len(INSTANCES)} | {geometric_mean(peaks):.4f} | {geometric_mean(times):.0f} |")


if __name__ == "__main__":
    main()
