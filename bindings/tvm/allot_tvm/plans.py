"""The planner for Python, and plans that a file keeps for machines that have neither the planner nor a compiler.

    plan = recording("model.json")     # plans, and writes each plan to the file
    plan = recorded("model.json")      # reads the plans; it needs only TVM's wheel

All are functions (buffers, memories, effort) -> (status, memories, offsets, peaks, bound, spilled): see planner.cpp.
"""

import ctypes
import json
import os
from itertools import combinations
from pathlib import Path

import tvm_ffi

from . import _check_versions

LIBRARY = Path(__file__).resolve().parents[3] / "build" / "tvm" / "liballot_planner.so"


def load_planner(library=None):
    """Loads the planner. `library` is a path; the default is $ALLOT_TVM_PLANNER, or the one that `run` builds.

    The first plan loads the default by itself.
    """
    _check_versions()
    path = Path(library or os.environ.get("ALLOT_TVM_PLANNER", LIBRARY))
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; build it with bindings/tvm/run.")
    ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


def plan(buffers, memories, effort):
    """Calls allot's planner."""
    if tvm_ffi.get_global_func("allot.plan_memory", allow_missing=True) is None:
        load_planner()
    return tvm_ffi.get_global_func("allot.plan_memory")(buffers, memories, effort)


def recording(path):
    """Returns a function that plans, and writes all of its plans to the file."""
    kept = []

    def run(buffers, memories, effort):
        status, *lists, bound, spilled = plan(buffers, memories, effort)
        kept.append({"buffers": buffers, "memories": memories,
                     "plan": [str(status), *map(list, lists), bound, spilled]})
        Path(path).write_text(json.dumps(kept, separators=(",", ":")).replace('{"', '\n{"') + "\n")
        return kept[-1]["plan"]

    return run


def recorded(path):
    """Returns a function that finds plans in the file.

    It raises a ValueError if the file has no plan for the buffers, or a plan in which live buffers share bytes.
    """
    kept = json.loads(Path(path).read_text())

    def run(buffers, memories, _):
        problem = [[list(row) for row in rows] for rows in (buffers, memories)]
        for each in kept:
            if [each["buffers"], each["memories"]] == problem:
                check(path, buffers, *each["plan"][1:3])
                return each["plan"]
        raise ValueError(f"allot: {path} has no plan for these {len(buffers)} tensors: record it again")

    return run


def check(path, buffers, memory, offset):
    """Refuses a plan in which two buffers live at the same time and share bytes."""
    for first, second in combinations(range(len(buffers)), 2):
        apart = (memory[first] != memory[second] or offset[first] + buffers[first][0] <= offset[second]
                 or offset[second] + buffers[second][0] <= offset[first])
        if not apart and any(a < d and c < b for a, b in lives(buffers[first]) for c, d in lives(buffers[second])):
            raise ValueError(f"allot: the plan in {path} is wrong: buffers {first} and {second} live at the same time "
                             "and share bytes: record it again")


def lives(buffer):
    return list(zip(buffer[4::2], buffer[5::2]))
