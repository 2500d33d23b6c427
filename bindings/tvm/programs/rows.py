"""Compiles networks for memories in pieces: tensors that fit in no piece have their rows in several.

Each network has pieces of memory that together hold it, and that are all smaller than its largest tensors. A contiguous
plan does not exist. With the option `rows` of the pass, the rows of these tensors lie in any pieces, and their kernels
read a table of pointers. The program runs as bytecode and as compiled code. It fails if an output differs in one bit
from that of TVM's own plan, if two live tensors share a byte, or if a contiguous plan exists.
"""

import sys
from pathlib import Path

import numpy as np
import tvm
from tvm import relax

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from allot_tvm.plan_memory import Memory, pipeline  # noqa: E402
import models  # noqa: E402

LEAST = 64  # bytes of a row


def cases():
    random = np.random.default_rng(1)
    for title, made, size, piece, number in (
            ("SqueezeNet 1.1, 64 × 64", models.squeezenet(1), 64, 100 << 10, 5),
            ("ResNet-18, 112 × 112", models.resnet18(1), 112, 88 << 10, 6),
            ("U-Net, 64 × 64", models.unet(1), 64, 60 << 10, 14)):
        yield title, made, random.standard_normal((1, 3, size, size)).astype("float32"), piece, number
    yield "decoder, 64 tokens", models.decoder(64), random.integers(0, 256, 64, dtype="int32"), 44 << 10, 5


def outputs(module, weights, value, passes, mode="bytecode"):
    machine = relax.VirtualMachine(relax.build(module, "llvm", relax_pipeline=passes, exec_mode=mode), tvm.cpu())
    return machine["forward"](*(tvm.runtime.tensor(each) for each in (value, *weights))).numpy().tobytes()


def ranges(report):
    """Returns (lives, storage, first byte, last byte) of each tensor, row and table."""
    for tensor in report.tensors:
        yield tensor.lives, tensor.storage, tensor.offset, tensor.offset + tensor.size
    for tensor in report.in_rows:
        size = tensor.size // len(tensor.rows)
        for (storage, first), length in [*((row, size) for row in tensor.rows), (tensor.table, 8 * len(tensor.rows))]:
            yield tensor.lives, storage, first, first + length


def check_bytes(report):
    """Marks each byte of each live tensor, step by step."""
    taken = list(ranges(report))
    for step in {begin for lives, *_ in taken for begin, _ in lives}:
        marks = [np.zeros(storage.size, bool) for storage in report.storages]
        for lives, storage, first, last in taken:
            if any(begin <= step < end for begin, end in lives):
                assert 0 <= first < last <= len(marks[storage]), "a row is outside of its storage"
                assert not marks[storage][first:last].any(), "two live tensors share a byte"
                marks[storage][first:last] = True


def main():
    print("| model | contiguous plan, KiB | pieces, KiB | used, KiB | tensors in rows | rows | tables, KiB | outputs |")
    print("|---|--:|--:|--:|--:|--:|--:|---|", flush=True)
    for title, (module, weights), value, piece, number in cases():
        report, pieces = [], [Memory("global", piece)] * number
        expected = outputs(module, weights, value, "default")
        with tvm.target.Target("llvm"):
            pipeline(report=report)(module)
            whole = next(each for each in report if each.function == "forward").storages
            try:
                pipeline(pieces)(module)
                raise AssertionError(f"{title}: all tensors fit contiguously")
            except MemoryError:
                pass
        for mode in "bytecode", "compiled":
            del report[:]
            found = outputs(module, weights, value, pipeline(pieces, report=report, rows=LEAST), mode)
            assert found == expected, f"{title}: an output differs"
        plan, = (each for each in report if each.function == "forward")
        check_bytes(plan)
        assert all(storage.size <= piece for storage in plan.storages) and len(plan.storages) <= number
        rows = sum(len(tensor.rows) for tensor in plan.in_rows)
        used = sum(storage.size for storage in plan.storages)
        print(f"| {title} | {sum(each.size for each in whole) / 1024:.1f} | {number} × {piece >> 10} | "
              f"{used / 1024:.1f} | {len(plan.in_rows)} of {len(plan.in_rows) + len(plan.tensors)} | {rows} | "
              f"{rows * 8 / 1024:.1f} | equal |", flush=True)


if __name__ == "__main__":
    main()
