# SPDX-License-Identifier: BSL-1.0
"""PyTorch's CUDA memory from allot: loads liballot_pytorch.so and passes it to torch.cuda.memory.

    import allot_torch
    allot_torch.install()                 # before the first CUDA tensor
    …
    print(allot_torch.statistics())       # a dictionary of counters of device 0
    allot_torch.dump_snapshot("memory.pickle")   # for https://pytorch.org/memory_viz
"""

import ctypes
import os
import pathlib
import pickle

_OPTIONAL = {  # the method of PyTorch's allocator, and the function of the library
    "set_record_stream_fn": "allot_record_stream",
    "set_base_alloc_fn": "allot_base_allocation",
    "set_memory_fraction_fn": "allot_set_memory_fraction",
    "set_reset_fn": "allot_empty_cache",
    "set_begin_allocate_to_pool": "allot_begin_allocate_to_pool",
    "set_end_allocate_to_pool_fn": "allot_end_allocate_to_pool",
    "set_release_pool": "allot_release_pool",
}
_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_library = None


class _Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "allocated", "allocated_peak", "reserved", "reserved_peak", "blocks", "allocations", "refusals", "unfreed",
        "graph_pools", "graph_reserved")]


def load(path=None):
    """Loads the library: `path`, the file in ALLOT_PYTORCH_LIBRARY, or liballot_pytorch.so beside this file."""
    global _library
    path = path or os.environ.get("ALLOT_PYTORCH_LIBRARY") or pathlib.Path(__file__).with_name("liballot_pytorch.so")
    _library = ctypes.CDLL(str(path))
    _library.allot_write_snapshot.argtypes = [ctypes.c_int, ctypes.c_char_p, _WRITE, ctypes.c_void_p]
    _library.allot_get_statistics.argtypes = [ctypes.c_int, ctypes.POINTER(_Statistics)]
    return str(path)


def install(path=None, limit=None, first=None):
    """Makes allot the allocator of all CUDA tensors. Call it before the first one exists.

    limit: the maximum number of bytes on each device; by default its memory. first: the bytes to map at the first use.
    Returns PyTorch's allocator.
    """
    import torch
    for name, value in (("ALLOT_PYTORCH_LIMIT", limit), ("ALLOT_PYTORCH_FIRST", first)):
        if value is not None:
            os.environ[name] = str(value)
    allocator = torch.cuda.memory.CUDAPluggableAllocator(load(path), "allot_malloc", "allot_free")
    for method, function in _OPTIONAL.items():
        address = ctypes.cast(getattr(_library, function), ctypes.c_void_p).value
        getattr(allocator.allocator(), method)(address)
    torch.cuda.memory.change_current_allocator(allocator)
    return allocator


def _checked(found, device):
    if found != 0:
        raise ValueError(f"allot has no memory of CUDA device {device}")


def statistics(device=0):
    """Returns the counters of a device, in bytes and blocks (allot_pytorch.h)."""
    found = _Statistics()
    _checked(_library.allot_get_statistics(device, ctypes.byref(found)), device)
    return {name: getattr(found, name) for name, _ in _Statistics._fields_}


def reset_peak(device=0):
    """Starts the maxima of a device again."""
    _checked(_library.allot_reset_peak(device), device)


def snapshot_bytes(device=0, form="pytorch"):
    """Returns a snapshot of a device as a file of PyTorch ("pytorch") or of allot ("allot", for ./dev view)."""
    parts = []
    write = _WRITE(lambda _, data, count: parts.append(ctypes.string_at(data, count)))
    _checked(_library.allot_write_snapshot(device, form.encode(), write, None), device)
    return b"".join(parts)


def snapshot(device=0):
    """Returns a snapshot of a device, in the form of torch.cuda.memory._snapshot()."""
    return pickle.loads(snapshot_bytes(device))


def dump_snapshot(path, device=0):
    """Writes a snapshot of a device to a file for https://pytorch.org/memory_viz."""
    pathlib.Path(path).write_bytes(snapshot_bytes(device))
