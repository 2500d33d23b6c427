#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Records the CPU tensors of a PyTorch program as an event log with the operators as tags. ./dev record --pytorch runs it.

    record_torch_cpu.py [--out FILE] PROGRAM.py [ARGUMENT...]

The program is not changed. It may mark its steps, which has no effect without a recording:

    import record_torch_cpu                        # bindings/pytorch is in PYTHONPATH

    record_torch_cpu.step("decode")                # a step begins, of this phase

The time of an event is the number of its step, from 0. A tag is "PHASE:OPERATOR", such as "decode:aten.addmm". Blocks
outside of operators have the tag "PHASE:". The phase of step 0 is "start". `./dev view FILE` draws the log. The default
of FILE is PROGRAM.alev.
"""

import ctypes
import os
import pathlib
import runpy
import sys

_HERE = pathlib.Path(__file__).resolve().parent
_run = None


class _Run:
    def __init__(self, library):
        self.library, self.phase = library, "start"
        self.tag("")

    def tag(self, operator):
        self.library.allot_torch_record_tag(f"{self.phase}:{operator}".encode())


def step(phase):
    """Begins a step of a phase."""
    if _run is not None:
        _run.phase = phase
        _run.library.allot_torch_record_step()
        _run.tag("")


def _tags():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Tags(TorchDispatchMode):
        """Names the operator that runs on this thread. Backward passes of CPU tensors run on it too."""

        def __torch_dispatch__(self, function, types, arguments=(), named=None):
            _run.tag(".".join(str(function).split(".")[:2]))
            try:
                return function(*arguments, **(named or {}))
            finally:
                _run.tag("")
    return Tags()


def library():
    """Returns the path of the library for the PyTorch of this Python. Compiles it the first time."""
    import allot_torch_cpu
    import torch
    path = _HERE / f"liballot_torch_record-{torch.__version__}.so"
    return path if path.exists() else allot_torch_cpu.build(path, source=_HERE / "record_torch_cpu.cpp")


def main(arguments):
    global _run
    out = None
    if arguments[:1] == ["--out"] and len(arguments) > 1:
        out, arguments = arguments[1], arguments[2:]
    if not arguments:
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    out = out or f"{pathlib.Path(arguments[0]).stem}.alev"
    loaded = ctypes.CDLL(str(library()))
    loaded.allot_torch_record_install()
    sys.modules["record_torch_cpu"] = sys.modules[__name__]  # the program finds this recording
    sys.path.insert(0, str(pathlib.Path(arguments[0]).resolve().parent))
    _run, sys.argv = _Run(loaded), arguments
    try:
        with _tags():
            runpy.run_path(arguments[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    if loaded.allot_torch_record_write(os.fsencode(out)) != 0:
        print(f"{out} cannot be written", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
