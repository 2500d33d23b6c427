"""Out of memory by scope: the reason names the scope, and killed storages are used again.

Three storages of 4000 bytes do not fit a window of 8192 bytes. The failure changes nothing: later programs use the
same window. The heap behind `global` is not concerned.
"""

import sys
from pathlib import Path

import numpy as np
import tvm
from tvm import relax
from tvm.relax.op.vm import kill_object

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import allot_tvm  # noqa: E402

allot_tvm.load()
DEVICE, VTCM = tvm.cpu(0), "global.vtcm"


def program(scope, storages, size, is_killed):
    """Returns a program that copies its argument to `storages` storages and then each of them to the result.

    A tensor is live until its last use. With `is_killed` its copy to the result comes before the next storage.
    """
    builder = relax.BlockBuilder()
    x, result = (relax.Var(name, relax.TensorType((4, 64), "int32")) for name in ("x", "result"))
    with builder.function("main", [x, result], pure=False):
        live = []
        for _ in range(storages):
            storage = builder.emit(allot_tvm.alloc_storage([size], 0, "uint8", scope))
            target = builder.emit(allot_tvm.alloc_tensor(storage, 0, [4, 64], "int32"))
            builder.emit(allot_tvm.copy_tensor(x, target))
            if is_killed:
                builder.emit(allot_tvm.copy_tensor(target, result))
                builder.emit(kill_object(target))
                builder.emit(kill_object(storage))
            else:
                live.append(target)
        for target in live:
            builder.emit(allot_tvm.copy_tensor(target, result))
        builder.emit_func_output(result)
    return builder.finalize()


def run(module, mode, x):
    machine = relax.VirtualMachine(relax.build(module, target="llvm", exec_mode=mode), DEVICE)
    return machine["main"](tvm.runtime.tensor(x, DEVICE), tvm.runtime.tensor(np.zeros_like(x), DEVICE)).numpy()


def reason_of(module, mode, x):
    try:
        run(module, mode, x)
    except MemoryError as error:
        return str(error)
    raise AssertionError("the program has enough memory")


def main():
    allot_tvm.use(DEVICE, VTCM, "window", 8192)
    allot_tvm.use(DEVICE, "global.small", "one region", 8192)
    x = np.random.default_rng(8).integers(-1000, 1000, (4, 64), dtype="int32")
    for mode in "bytecode", "compiled":
        for scope in VTCM, "global.small":
            text = reason_of(program(scope, 3, 4000, False), mode, x)
            assert scope in text and "fewer bytes are free than were asked for" in text, text
            print(f"{mode}: MemoryError: {text}")
            assert (run(program(scope, 2, 4000, False), mode, x) == x).all(), "two storages fit"
            assert (run(program(scope, 3, 4000, True), mode, x) == x).all(), "killed storages are used again"
        assert (run(program("global", 3, 4000, False), mode, x) == x).all(), "global is not concerned"
        print(f"{mode}: two storages fit, and three one after the other; results equal to NumPy")


if __name__ == "__main__":
    main()
