"""Compares SqueezeNet on TVM with storage from TVM's pool and from allot, on the CPU: results, device calls, peaks."""

import gc
import hashlib
import sys
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import allot_tvm  # noqa: E402
from squeezenet import squeezenet  # noqa: E402

NETWORK = Path(__file__).resolve().parents[3] / "examples" / "apps" / "network_demo" / "squeezenet.network"
SIZE = 112  # pixels of an image that runs; the graph is compared at 224
RUNS = {"static": [1] * 5, "dynamic": [1, 4, 2, 8, 3, 6, 5, 7, 1, 8]}  # the batches, one run each

allot_tvm.load()
counts_of, used_by = allot_tvm.counts, tvm_ffi.get_global_func("allot.used")
clear_all = tvm_ffi.get_global_func("vm.builtin.memory_manager.clear")
numbers = count(1)  # device numbers: each VirtualMachine gets a new CPU number, and so a separate allocator
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}")


def steps_of(module):
    """Returns (operator, input tensors, output shape) for every step.

    A tensor is the number of the step that writes it; the image is -1. A bias is part of its convolution, as in ONNX.
    """
    names = {"conv2d": "Conv", "relu": "Relu", "max_pool2d": "MaxPool", "concat": "Concat", "softmax": "Softmax",
             "adaptive_avg_pool2d": "GlobalAveragePool"}
    function = module["main"]
    writer, steps = {function.params[0]: -1}, []
    for binding in function.body.blocks[0].bindings:
        operator = binding.value.op.name.split(".")[-1]
        arguments = [a for argument in binding.value.args for a in getattr(argument, "fields", [argument])]
        reads = [writer[a] for a in arguments if a in writer]
        if operator == "add":
            writer[binding.var] = reads[0]
        else:
            writer[binding.var] = len(steps)
            steps.append((names[operator], reads, "x".join(str(int(d)) for d in binding.var.ty.shape)))
    return steps


def steps_in(file):
    """Returns the steps of a .network file. Dropout has no effect in inference, and TVM has no step for it."""
    shapes, writer, steps = {}, {"0": -1}, []
    for line in file.read_text().splitlines():
        kind, *fields = line.split()
        if kind == "tensor":
            shapes[fields[0]] = fields[3]
        elif kind == "step":
            *reads, _, written = fields[2:]
            if fields[1] == "Dropout":
                writer[written] = writer[reads[0]]
            else:
                writer[written] = len(steps)
                steps.append((fields[1], [writer[id] for id in reads], shapes[written]))
    return steps


class Row(NamedTuple):
    """The measurements of one allocator in one case."""
    digest: str = ""
    device_calls: int = 0
    most_held: int = 0
    held_at_last: int = 0
    requests: int = 0
    most_live: int = 0
    used: int = 0


def serve(executable, weights, images, allocator, capacity=0):
    device = tvm.cpu(next(numbers))
    if allocator:
        allot_tvm.use(device, "global", allocator, capacity)
    machine = relax.VirtualMachine(executable, device)
    parameters = [tvm.runtime.tensor(weight, device) for weight in weights]
    digest = hashlib.sha256()
    for image in images:
        digest.update(machine["main"](tvm.runtime.tensor(image, device), *parameters).numpy().tobytes())
    used = used_by(device)
    calls, most_held, _, requests, most_live, _ = counts_of(device)
    del machine, parameters
    gc.collect()
    clear_all()
    return Row(digest.hexdigest(), calls, most_held, counts_of(device)[2], requests, most_live, used)


def compare(title, module, weights, batches):
    random = np.random.default_rng(1)
    images = [random.standard_normal((batch, 3, SIZE, SIZE)).astype("float32") for batch in batches]
    executable = tvm.compile(module, target="llvm")
    print(f"\n{title}: {len(batches)} runs\n")
    print("| allocator | device calls | peak held, MB | requests | peak live, MB | results |")
    print("|---|--:|--:|--:|--:|---|", flush=True)

    def row(name, allocator, capacity=0):
        it = serve(executable, weights, images, allocator, capacity)
        known = [it.device_calls, f"{it.most_held / 1e6:.3f}", it.requests, f"{it.most_live / 1e6:.3f}"]
        if not allocator:  # only TVM counts in its own pool
            known = ["", f"{it.used / 1e6:.3f}", "", ""]
        elif allocator == "overlapping":
            known = [""] * 4
        print("|", " | ".join(map(str, [name, *known, it.digest[:12]])), "|", flush=True)
        return it

    own = row("TVM's pool", "")
    pool = row("TVM's pool, counted", "pool")
    check(pool.digest == own.digest and pool.most_held == own.used, f"{title}: counting changes TVM's pool")
    capacity = int(pool.most_live * 1.02)  # the peak of live bytes in the previous run, plus 2 % for holes
    for name, allocator in (("allot, geometric growth", "geometric"), ("allot, steps of 1 MiB", "fixed"),
                            ("allot, one region", "one region")):
        it, which = row(name, allocator, capacity if allocator == "one region" else 0), f"{title}: {name}"
        check(it.digest == own.digest, f"{which}: the results differ from those with TVM's pool")
        check(it.device_calls > 0 and it.requests == pool.requests > 0, f"{which}: not every storage came from allot")
        check(it.held_at_last == 0 or allocator == "one region", f"{which}: {it.held_at_last} bytes held after clear")
    broken = row("control: blocks that overlap", "overlapping")
    check(broken.digest != own.digest, f"{title}: wrong results are not detected")
    return executable


def main():
    static, weights = squeezenet(1)
    steps = steps_of(static)
    check(steps == steps_in(NETWORK), f"the graph differs from {NETWORK.name}")
    print(f"SqueezeNet on TVM {tvm.__version__}: {len(steps)} steps, compared with {NETWORK.name}")
    compare("batch 1", squeezenet(1, SIZE)[0], weights, RUNS["static"])

    dynamic, _ = squeezenet(tirx.Var("n", "int64"), SIZE)
    executable = compare("batch 1 to 8, unknown to the compiler", dynamic, weights, RUNS["dynamic"])

    bounded, _ = squeezenet(tirx.Var("n", "int64"), SIZE)
    bounded["main"] = bounded["main"].with_attr("tir_var_upper_bound", {"n": 8})
    compare("batch 1 to 8, with the maximum of 8 known to the compiler", bounded, weights, RUNS["dynamic"])

    try:
        serve(executable, weights, [np.zeros((8, 3, SIZE, SIZE), "float32")], "one region", 1 << 20)
        check(False, "one region of 1 MiB is enough for a batch of 8")
    except MemoryError as error:
        text = str(error).splitlines()[0]
        print(f"\nOne region of 1 MiB: MemoryError: {text}")
        check("fewer bytes are free than were asked for" in text, "the error does not contain the reason")

    print(f"\n{len(failures)} checks failed" if failures else "\nAll results are identical, bit for bit.")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
