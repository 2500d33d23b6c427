# SPDX-License-Identifier: BSL-1.0
"""allot's planner as a memory-planning algorithm of ExecuTorch's export.

    config = ExecutorchBackendConfig(memory_planning_pass=allot_executorch.memory_planning_pass())
    program = to_edge(exported).to_executorch(config)

The algorithm gives every tensor an offset in the buffer of its mem_id. The runtime needs no part of allot.
"""

import collections
import ctypes
import dataclasses
import os
import pathlib

EFFORT = 500_000
"""The default limit of the search: the number of placements that the planner tries."""


_NO_LIMIT = (1 << 64) - 1


class _Buffer(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("first", ctypes.c_int64), ("until", ctypes.c_int64),
                ("align", ctypes.c_uint64)]


class _Result(ctypes.Structure):
    _fields_ = [("peak", ctypes.c_uint64), ("bound", ctypes.c_uint64), ("message", ctypes.c_char * 240)]


@dataclasses.dataclass
class Report:
    """The result of one plan: the bytes, the lower bound (0 in a memory with a capacity), and the sum of the sizes."""

    mem_id: int
    tensors: int
    peak: int
    bound: int
    sum: int


def _library(path):
    path = path or os.environ.get("ALLOT_PLANNER_LIBRARY")
    path = pathlib.Path(path or pathlib.Path(__file__).with_name("liballot_planner.so")).resolve()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: build it as bindings/executorch/README.md describes")
    return ctypes.CDLL(str(path))


def _given(buffers):
    return (_Buffer * len(buffers))(*(_Buffer(size, first, last + 1, align) for size, first, last, align in buffers))


def _check(status, result):
    if status != 0:
        raise ValueError(f"allot: {result.message.decode()}")


def _plan(library, buffers, effort):
    """Returns the offsets of (size, first step, last step, alignment), and the result with the peak and the bound."""
    offsets, result = (ctypes.c_uint64 * len(buffers))(), _Result()
    _check(library.allot_plan(_given(buffers), ctypes.c_size_t(len(buffers)), ctypes.c_uint64(effort), offsets,
                              ctypes.byref(result)), result)
    return list(offsets), result


def _plan_memories(library, buffers, allowed, capacities, effort):
    """Returns the memories and the offsets of the buffers. The capacity None is no limit."""
    limits = [_NO_LIMIT if each is None else each for each in capacities]
    chosen, offsets = (ctypes.c_uint32 * len(buffers))(), (ctypes.c_uint64 * len(buffers))()
    result = _Result()
    _check(library.allot_plan_memories(
        _given(buffers), ctypes.c_size_t(len(buffers)), (ctypes.c_uint64 * len(buffers))(*allowed),
        (ctypes.c_uint64 * len(limits))(*limits), ctypes.c_size_t(len(limits)), ctypes.c_uint64(effort), chosen,
        offsets, ctypes.byref(result)), result)
    return list(chosen), list(offsets)


def _root(spec):
    """Returns the tensor with a place of its own in whose bytes a tensor is, and the distance from its start."""
    distance = 0
    while spec.storage_base is not None:
        distance += spec.storage_base_offset
        spec = spec.storage_base
    return spec, distance


def _buffer(spec, alignment):
    return (spec.allocated_memory, *spec.lifetime, alignment)


def _choose(library, specs, taken, capacities, alignment, effort):
    """Returns the mem_id of each tensor, and its offset if that memory has a capacity. `taken` bytes are not free."""
    allowed = [(1 << len(capacities)) - 1 if spec.mem_id is None else 1 << (spec.mem_id - 1) for spec in specs]
    for spec in specs:
        if spec.mem_id is not None and not 1 <= spec.mem_id <= len(capacities):
            raise ValueError(f"allot: a tensor has the mem_id {spec.mem_id}: give one capacity for each memory")
    room = [None if each is None else max(each - used, 0) for each, used in zip(capacities, taken)]
    buffers = [_buffer(spec, alignment) for spec in specs]
    chosen, offsets = _plan_memories(library, buffers, allowed, room, effort)
    return {spec: (memory + 1, None if capacities[memory] is None else offset)
            for spec, memory, offset in zip(specs, chosen, offsets)}


def algorithm(effort=EFFORT, path=None, reports=None, capacities=None):
    """Returns an algorithm for MemoryPlanningAlgorithmSuite.

    `path` is the file of the library, by default ALLOT_PLANNER_LIBRARY, or liballot_planner.so beside this module. A
    Report of each plan is appended to the list `reports`.

    `capacities` are the bytes of the memories 1, 2 and so on, the fastest first, such as [256 << 10, None]. None is no
    limit. The algorithm then chooses the memory of each tensor without a mem_id. Without `capacities` it is memory 1.
    """
    library = _library(path)

    def allot(alignment, specs, graph_module, graph_signature, extra_padding=0):
        from executorch.exir.memory_planning import MemoryAlgoResult, SpecAllocResult

        for spec in specs:
            spec.realign(alignment)
        bases = [spec for spec in specs if spec.storage_base is None]
        full = [spec for spec in bases if spec.allocated_memory != 0]
        most = max([len(capacities or [None]), *(spec.mem_id or 1 for spec in bases)])
        taken = list(getattr(graph_module, "input_mem_buffer_sizes", None) or [])  # bytes of submodules, at the start
        starts = [each + -each % alignment for each in (taken + [0] * (most + 1))[:most + 1]]
        known = {}
        if capacities and full:
            used = [start + extra_padding for start in starts[1:]]
            known = _choose(library, full, used, capacities, alignment, effort)
        groups = collections.defaultdict(list)
        for spec in full:
            groups[known[spec][0] if spec in known else spec.mem_id or 1].append(spec)
        places = {spec: SpecAllocResult(spec.mem_id or 1, 0, starts[spec.mem_id or 1]) for spec in bases}
        sizes = list(starts)
        for mem_id, group in sorted(groups.items()):
            offsets = [known[spec][1] for spec in group] if known else [None]
            bound = 0
            if None in offsets:
                offsets, found = _plan(library, [_buffer(spec, alignment) for spec in group], effort)
                bound = found.bound
            for spec, offset in zip(group, offsets):
                places[spec] = SpecAllocResult(mem_id, 0, starts[mem_id] + offset)
            peak = max(offset + spec.allocated_memory for spec, offset in zip(group, offsets))
            sizes[mem_id] = starts[mem_id] + peak + extra_padding
            if reports is not None:
                total = sum(spec.allocated_memory for spec in group)
                reports.append(Report(mem_id, len(group), peak, bound, total))
        for spec in specs:
            if spec.storage_base is not None:
                base, distance = _root(spec)
                if base not in places:
                    raise ValueError(f"allot: the storage of {spec} is not planned: plan inputs and outputs too")
                places[spec] = SpecAllocResult(places[base].mem_id, 0, places[base].mem_offset + distance)
        return MemoryAlgoResult(places, sizes)

    return allot


def memory_planning_pass(effort=EFFORT, path=None, reports=None, capacities=None, **options):
    """Returns a MemoryPlanningPass with this algorithm. `options` are those of MemoryPlanningPass."""
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite
    from executorch.exir.passes import MemoryPlanningPass

    suite = MemoryPlanningAlgorithmSuite([algorithm(effort, path, reports, capacities)])
    return MemoryPlanningPass(memory_planning_algo=suite, **options)
