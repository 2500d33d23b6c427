#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Records the CPU tensors of a PyTorch program as an event log with the operators as tags.

    import record_torch_cpu                        # bindings/pytorch is in PYTHONPATH

    with record_torch_cpu.recording("run.alev") as run:    # before the first tensor
        ...
        run.step("decode")                         # a new step begins, of this phase

The time of an event is the number of its step, from 0. A tag is "PHASE:OPERATOR", such as "decode:aten.addmm". Blocks
outside of operators have the tag "PHASE:". `./dev view run.alev` draws the log.
"""

import contextlib
import ctypes
import os
import pathlib

import allot_torch_cpu
import torch
from torch.utils._python_dispatch import TorchDispatchMode

_HERE = pathlib.Path(__file__).resolve().parent


def library():
    """Returns the path of the library for the PyTorch of this Python."""
    return _HERE / f"liballot_torch_record-{torch.__version__}.so"


class _Tags(TorchDispatchMode):
    """Names the operator that runs on this thread. Backward passes of CPU tensors run on it too."""

    def __init__(self, run):
        super().__init__()
        self.run = run

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.run.tag(".".join(str(function).split(".")[:2]))
        try:
            return function(*arguments, **(named or {}))
        finally:
            self.run.tag("")


class _Run:
    def __init__(self, loaded, phase):
        self.loaded, self.phase = loaded, phase
        self.tag("")

    def tag(self, operator):
        self.loaded.allot_torch_record_tag(f"{self.phase}:{operator}".encode())

    def step(self, phase=None):
        """Begins the next step. Without a phase it has that of the previous step."""
        self.phase = phase or self.phase
        self.loaded.allot_torch_record_step()
        self.tag("")


@contextlib.contextmanager
def recording(path, phase="start", lib=None):
    """Records from now on, and writes the log at the end. One recording for each process."""
    lib = pathlib.Path(lib or library())
    if not lib.exists():
        allot_torch_cpu.build(lib, source=_HERE / "record_torch_cpu.cpp")
    loaded = ctypes.CDLL(str(lib))
    loaded.allot_torch_record_install()
    run = _Run(loaded, phase)
    with _Tags(run):
        yield run
    if loaded.allot_torch_record_write(os.fsencode(path)) != 0:
        raise OSError(f"{path} cannot be written")
