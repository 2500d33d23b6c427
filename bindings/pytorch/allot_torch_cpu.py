#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""PyTorch's CPU tensors in memory of allot.

    python allot_torch_cpu.py                # once: builds the library for the PyTorch of this Python

    import allot_torch_cpu
    allot_torch_cpu.install()                # before the first tensor
    ...
    print(allot_torch_cpu.statistics())      # {'used': 1234, 'peak': 5678, ...}
"""

import ctypes
import os
import pathlib
import subprocess

_FIELDS = ("used", "peak", "held", "blocks", "requests", "refusals")
_HERE = pathlib.Path(__file__).resolve().parent
_library = None


def library():
    """Returns the path of the library for the PyTorch of this Python."""
    import torch
    return _HERE / f"liballot_torch_cpu-{torch.__version__}.so"


def build(path=None, options=("-O2",), source=_HERE / "allot_torch_cpu.cpp"):
    """Compiles the library, by default beside this file, with the compiler of CXX or g++. Returns its path."""
    import torch
    path, pytorch = pathlib.Path(path or library()), pathlib.Path(torch.__file__).parent
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", *options, "-shared", "-fPIC",
                    f"-I{_HERE.parents[1] / 'include'}", "-isystem", str(pytorch / "include"),
                    str(source), "-o", str(path), f"-L{pytorch / 'lib'}", "-lc10"], check=True)
    return path


def _bytes(text):
    """Returns a number of bytes such as 512M."""
    units = {"K": 10, "M": 20, "G": 30}
    digits, shift = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 0)
    if not digits.isdecimal() or int(digits) == 0 or int(digits) << shift >= 1 << 63:
        raise ValueError(f"a limit is a number of bytes such as 512M, with K, M or G at its end, not '{text}'")
    return int(digits) << shift


def install(limit=None, path=None):
    """Makes allot the allocator of the tensors that are created from now on. Each other one stays in its memory.

    `limit` is the maximum number of bytes that the arena holds, such as "512M", rounded up to 64 KiB. `path` is the file of the library, by
    default the one that `build` makes.
    """
    global _library
    path = pathlib.Path(path or library())
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: build it with `python {_HERE / 'allot_torch_cpu.py'}`")
    loaded = ctypes.CDLL(str(path))
    if loaded.allot_torch_cpu_install(ctypes.c_size_t(0 if limit is None else _bytes(str(limit)))) != 0:
        raise RuntimeError("the allocator is installed: call install once")
    _library = loaded


def _installed():
    if _library is None:
        raise RuntimeError("the allocator is not installed: call install() first")
    return _library


def statistics():
    """Returns the counters of the arena as a dictionary; allot_torch_cpu.h describes them."""
    found = (ctypes.c_uint64 * len(_FIELDS))()
    _installed().allot_torch_cpu_get_statistics(found)
    return dict(zip(_FIELDS, found))


def reset_peak():
    """Starts the maximum of live bytes again."""
    _installed().allot_torch_cpu_reset_peak()


def trim():
    """Returns the free memory at the end of the arena to the system. Returns the number of bytes."""
    released = ctypes.c_size_t()
    _installed().allot_torch_cpu_trim(ctypes.byref(released))
    return released.value


if __name__ == "__main__":
    print(build())
