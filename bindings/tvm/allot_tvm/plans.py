"""The planner for Python, and plans that a file keeps for machines that have neither the planner nor a compiler.

    plan = recording("model.json")     # plans, and writes each plan to the file
    plan = recorded("model.json")      # reads the plans; it needs only TVM's wheel

All are functions (buffers, memories, effort) -> (status, memories, offsets, peaks, bound, spilled): see planner.cpp.
A planner of your own is such a function too. PlanMemory checks the plan of every planner with `checked`.
"""

import ctypes
import json
import operator
import os
from bisect import bisect_left
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
    """Returns a function that plans, and writes all of its plans to the file, or the reason why there is none."""
    kept = []

    def run(buffers, memories, effort):
        try:
            status, *lists, bound, spilled = plan(buffers, memories, effort)
            found = [str(status), *map(list, lists), bound, spilled]
        except MemoryError as error:
            found = str(error).splitlines()[0]
        kept.append({"buffers": buffers, "memories": memories, "plan": found})
        Path(path).write_text(json.dumps(kept, separators=(",", ":")).replace('{"', '\n{"') + "\n")
        return plan_or_error(found)

    return run


def recorded(path):
    """Returns a function that finds plans in the file.

    Raises a ValueError if the file is not one of `recording`. The function raises a ValueError if the file has no plan
    for the buffers, or a wrong one: see `checked`. It raises a MemoryError if there was no plan when the file was made.
    """
    try:
        kept = [(each["buffers"], each["memories"], each["plan"]) for each in json.loads(Path(path).read_text())]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"allot: {path} is not a file of recorded plans: record it again") from None

    def run(buffers, memories, _):
        problem = [[list(row) for row in rows] for rows in (buffers, memories)]
        for *given, found in kept:
            if given == problem:
                try:
                    return checked(plan_or_error(found), buffers, memories)
                except ValueError as error:
                    raise ValueError(f"{error} in {path}: record it again") from None
        raise ValueError(f"allot: {path} has no plan for these {len(buffers)} tensors: record it again")

    return run


def plan_or_error(found):
    if isinstance(found, str):
        raise MemoryError(found)
    return found


def checked(found, buffers, memories):
    """Returns the plan as lists of integers.

    Raises a ValueError if the plan has another form, a buffer outside its memory, a peak over the capacity of its
    memory, or two buffers that live at the same time and share bytes.
    """
    try:
        status, *lists, bound, spilled = found
        memory, offset, peak = ([operator.index(number) for number in each] for each in lists)
        bound, spilled = operator.index(bound), operator.index(spilled)
    except (TypeError, ValueError):
        raise ValueError("allot: the plan is not (status, memories, offsets, peaks, bound, spilled)") from None
    if [len(memory), len(offset), len(peak)] != [len(buffers), len(buffers), len(memories)]:
        raise ValueError(f"allot: the plan has {len(memory)} memories, {len(offset)} offsets and {len(peak)} peaks for "
                         f"{len(buffers)} buffers and {len(memories)} memories")
    for m, (capacity, *_) in enumerate(memories):
        most = 2**63 - 1 if capacity < 0 else capacity
        if not 0 <= peak[m] <= most:
            raise ValueError(f"allot: the peak of memory {m} is {peak[m]}, and its capacity is {most} bytes")
    for b, buffer in enumerate(buffers):
        if not (0 <= memory[b] < len(memories) and buffer[3] >> memory[b] & 1):
            raise ValueError(f"allot: buffer {b} is in memory {memory[b]}, which is not one of its memories")
        if offset[b] < 0 or offset[b] % max(buffer[1], memories[memory[b]][1]):
            raise ValueError(f"allot: the offset {offset[b]} of buffer {b} is not a multiple of its alignment")
        if offset[b] + buffer[0] > peak[memory[b]]:
            raise ValueError(f"allot: buffer {b} ends at {offset[b] + buffer[0]}, after the peak of its memory")
    if shared := live_and_shared(buffers, memory, offset):
        raise ValueError("allot: buffers {} and {} live at the same time and share bytes".format(*shared))
    return [str(status), memory, offset, peak, bound, spilled]


def live_and_shared(buffers, memory, offset):
    """Returns two buffers that live at the same time and share bytes, or None.

    The live buffers of a memory are in the order of their offsets, so a new buffer is compared with its neighbors only.
    """
    live = [[] for _ in range(max(memory, default=-1) + 1)]
    events = [(step, begins, b) for b, buffer in enumerate(buffers) if buffer[0]
              for begins, steps in ((True, buffer[4::2]), (False, buffer[5::2])) for step in steps]
    for _, begins, b in sorted(events):  # at one step the ends come first
        places, place = live[memory[b]], (offset[b], offset[b] + buffers[b][0], b)
        index = bisect_left(places, place)
        if not begins:
            del places[index]
            continue
        for first, last, other in places[max(index - 1, 0):index + 1]:
            if first < place[1] and place[0] < last:
                return sorted((other, b))
        places.insert(index, place)
    return None
