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


class _Buffer(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("first", ctypes.c_int64), ("until", ctypes.c_int64),
                ("align", ctypes.c_uint64)]


class _Result(ctypes.Structure):
    _fields_ = [("peak", ctypes.c_uint64), ("bound", ctypes.c_uint64), ("message", ctypes.c_char * 240)]


@dataclasses.dataclass
class Report:
    """The result of one plan: the bytes, the lower bound, and the sum of the tensors' sizes."""

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


def _plan(library, buffers, effort):
    """Returns the offsets of (size, first step, last step, alignment), and the result with the peak and the bound."""
    given = (_Buffer * len(buffers))(*(_Buffer(size, first, last + 1, align) for size, first, last, align in buffers))
    offsets, result = (ctypes.c_uint64 * len(buffers))(), _Result()
    if library.allot_plan(given, ctypes.c_size_t(len(buffers)), ctypes.c_uint64(effort), offsets,
                          ctypes.byref(result)) != 0:
        raise ValueError(f"allot: {result.message.decode()}")
    return list(offsets), result


def _root(spec):
    """Returns the tensor with a place of its own in whose bytes a tensor is, and the distance from its start."""
    distance = 0
    while spec.storage_base is not None:
        distance += spec.storage_base_offset
        spec = spec.storage_base
    return spec, distance


def algorithm(effort=EFFORT, path=None, reports=None):
    """Returns an algorithm for MemoryPlanningAlgorithmSuite.

    `path` is the file of the library, by default ALLOT_PLANNER_LIBRARY, or liballot_planner.so beside this module. A
    Report of each plan is appended to the list `reports`.
    """
    library = _library(path)

    def allot(alignment, specs, graph_module, graph_signature, extra_padding=0):
        from executorch.exir.memory_planning import MemoryAlgoResult, SpecAllocResult

        taken = getattr(graph_module, "input_mem_buffer_sizes", None) or []  # bytes of submodules, at the start
        groups = collections.defaultdict(list)
        for spec in specs:
            spec.realign(alignment)
            if spec.storage_base is None:
                groups[1 if spec.mem_id is None else spec.mem_id].append(spec)
        places, sizes = {}, [0] * (max(groups, default=1) + 1)
        for mem_id, group in sorted(groups.items()):
            buffers = [(spec.allocated_memory, *spec.lifetime, alignment) for spec in group]
            full = [index for index, buffer in enumerate(buffers) if buffer[0] != 0]
            offsets, found = _plan(library, [buffers[index] for index in full], effort)
            start = taken[mem_id] if mem_id < len(taken) else 0
            start += -start % alignment
            places.update({spec: SpecAllocResult(mem_id, 0, start) for spec in group})
            for index, offset in zip(full, offsets):
                places[group[index]].mem_offset = start + offset
            sizes[mem_id] = start + found.peak + extra_padding
            if reports is not None:
                total = sum(buffer[0] for buffer in buffers)
                reports.append(Report(mem_id, len(group), found.peak, found.bound, total))
        for spec in specs:
            if spec.storage_base is not None:
                base, distance = _root(spec)
                if base not in places:
                    raise ValueError(f"allot: the storage of {spec} is not planned: plan inputs and outputs too")
                places[spec] = SpecAllocResult(places[base].mem_id, 0, places[base].mem_offset + distance)
        return MemoryAlgoResult(places, sizes if groups else [0, 0])

    return allot


def memory_planning_pass(effort=EFFORT, path=None, reports=None, **options):
    """Returns a MemoryPlanningPass with this algorithm. `options` are those of MemoryPlanningPass."""
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite
    from executorch.exir.passes import MemoryPlanningPass

    suite = MemoryPlanningAlgorithmSuite([algorithm(effort, path, reports)])
    return MemoryPlanningPass(memory_planning_algo=suite, **options)
