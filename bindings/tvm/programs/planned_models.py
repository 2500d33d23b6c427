"""Compiles nine models with TVM's plan and with allot's, and compares results, bytes and device calls on the CPU.

Both plans run with TVM's own pool as the allocator, with a count of its calls to the device. Only the pass differs. The
program fails if an output differs in one bit, or if allot's plan takes more bytes.

    planned   the sum of the storages that the function allocates: with TVM's plan, with allot's, and the lower bound of
              every plan. For a symbolic shape it is the sum for the largest input.
    held      the most bytes that the pool held, with the results and the small heap of shapes
"""

import gc
import sys
from itertools import count
from pathlib import Path

import numpy as np
import tvm
from tvm import relax, sym, tirx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import allot_tvm  # noqa: E402
from allot_tvm.plan_memory import Memory, PlanMemory, pipeline_with  # noqa: E402
import models  # noqa: E402

BATCHES = [1, 4, 2, 8, 3, 6]
LENGTHS = [5, 48, 17, 64, 33, 1, 64, 21]
numbers = count(1)  # device numbers: each virtual machine has an allocator of its own
failures = []
expected_of = {}  # the outputs with TVM's plan, by title


def check(holds, text):
    if not holds:
        failures.append(text)
        print(f"FAILED: {text}")


def bounded(made, bound):
    module, weights = made
    module["forward"] = module["forward"].with_attr("tir_var_upper_bound", bound)
    return module, weights


def images(batches, size):
    random = np.random.default_rng(1)
    return [random.standard_normal((batch, 3, size, size)).astype("float32") for batch in batches]


def tokens(lengths):
    random = np.random.default_rng(1)
    return [random.integers(0, 256, length, dtype="int32") for length in lengths]


def cases():
    steps = np.random.default_rng(1).standard_normal((models.Lstm.steps, models.Lstm.inputs)).astype("float32")
    yield "SqueezeNet 1.1, 64 x 64", models.squeezenet(1), images([1] * 3, 64)
    yield "ResNet-18, 112 x 112", models.resnet18(1), images([1] * 3, 112)
    yield "U-Net, 64 x 64", models.unet(1), images([1] * 3, 64)
    yield "LSTM, 24 steps", models.lstm(), [steps] * 3
    yield "decoder, 64 tokens", models.decoder(64), tokens([64] * 3)
    yield "SqueezeNet, batch to 8", bounded(models.squeezenet("n"), {"n": 8}), images(BATCHES, 64)
    yield "decoder, to 64 tokens", bounded(models.decoder("n"), {"n": 64}), tokens(LENGTHS)
    yield "SqueezeNet, any batch", models.squeezenet("n"), images(BATCHES, 64)
    yield "decoder, any length", models.decoder("n"), tokens(LENGTHS)


def storages_of(module, largest):
    """Returns the bytes of all storages of the function. Symbolic dimensions have the value `largest`."""
    sizes = []

    def visit(expression):
        if isinstance(expression, relax.Call) and getattr(expression.op, "name", "") == "relax.memory.alloc_storage":
            sizes.append(expression.args[0].values[0])

    function = module["forward"]
    relax.analysis.post_order_visit(function, visit)
    analyzer = sym.Analyzer()
    for var in relax.analysis.defined_symbolic_vars(function):
        analyzer.bind(var, tirx.IntImm("int64", largest))
    return sum(int(analyzer.simplify(size)) for size in sizes)


def compiled(module, planning, largest=1):
    """Returns the executable, and the bytes of its plan."""
    found = []

    @tvm.transform.module_pass(opt_level=0)
    def look(planned, _):
        found.append(storages_of(planned, largest))
        return planned

    executable = tvm.compile(module, "llvm", relax_pipeline=pipeline_with([planning, look]))
    return executable, found[0]


def flat(value):
    return [value.numpy()] if isinstance(value, tvm.runtime.Tensor) else [a for item in value for a in flat(item)]


def serve(executable, weights, inputs, **scopes):
    """Runs all inputs on a device of its own. Returns the bytes of the outputs, and the counts of the allocator."""
    device = tvm.cpu(next(numbers))
    for scope, (allocator, capacity) in (scopes or {"global": ("pool", 0)}).items():
        allot_tvm.use(device, scope, allocator, capacity)
    machine = relax.VirtualMachine(executable, device)
    parameters = [tvm.runtime.tensor(weight, device) for weight in weights]
    results = []
    for value in inputs:
        outputs = flat(machine["forward"](tvm.runtime.tensor(value, device), *parameters))
        results.append(b"".join(output.tobytes() for output in outputs))
    found = allot_tvm.counts(device)
    del machine
    gc.collect()
    return results, found


def kib(size):
    return f"{size / 1024:.1f}"


def compare(title, made, inputs):
    module, weights = made
    report = []
    largest = max(len(value) for value in inputs)
    theirs, their_bytes = compiled(module, relax.transform.StaticPlanBlockMemory(), largest)
    ours, our_bytes = compiled(module, PlanMemory(report=report), largest)
    expected, (their_calls, their_held, *_) = serve(theirs, weights, inputs)
    expected_of[title] = expected
    results, (our_calls, our_held, *_) = serve(ours, weights, inputs)
    plan, = (each for each in report if each.function == "forward")
    bound = kib(plan.bound) if all(storage.factor is None for storage in plan.storages) else ""
    cells = [title, f"{len(plan.tensors)} of {len(plan.tensors) + len(plan.left)}", kib(their_bytes), kib(our_bytes),
             bound, their_calls, our_calls, kib(their_held), kib(our_held),
             "equal" if results == expected else "differ"]
    print("|", " | ".join(map(str, cells)), "|", flush=True)
    check(results == expected, f"{title}: an output differs from that of TVM's plan")
    check(plan.bound <= our_bytes < their_bytes, f"{title}: allot's plan does not take fewer bytes")
    check(our_calls < their_calls, f"{title}: allot's plan does not make fewer device calls")


def spilled(title, made, inputs, fast):
    """Plans two memories, the first of them a window of `fast` bytes, which allot's functions serve."""
    module, weights = made
    report = []
    ours, _ = compiled(module, PlanMemory([Memory("global.vtcm", fast), Memory()], "library", report=report))
    results, _ = serve(ours, weights, inputs, **{"global.vtcm": ("window", fast), "global": ("geometric", 0)})
    plan, = (each for each in report if each.function == "forward")
    sizes = {storage.scope: storage.size for storage in plan.storages}
    inside = [t for t in plan.tensors if plan.storages[t.storage].scope == "global.vtcm"]
    print(f"| {title} | {kib(fast)} | {kib(sizes['global.vtcm'])} | {len(inside)} of {len(plan.tensors)} | "
          f"{kib(sizes.get('global', 0))} | {'equal' if results == expected_of[title] else 'differ'} |", flush=True)
    check(results == expected_of[title], f"{title}: an output in two memories differs")
    check(0 < sizes["global.vtcm"] <= fast and inside, f"{title}: the window is not used")


def main():
    allot_tvm.load()
    print("| model | planned tensors | planned KiB, TVM | allot | bound | device calls, TVM | allot | held KiB, TVM | "
          "allot | outputs |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|---|", flush=True)
    for case in cases():
        compare(*case)
    print("\n| model in two memories | window KiB | used | tensors in it | other memory, KiB | outputs |")
    print("|---|--:|--:|--:|--:|---|", flush=True)
    spilled("SqueezeNet 1.1, 64 x 64", models.squeezenet(1), images([1] * 3, 64), 48 << 10)
    spilled("decoder, 64 tokens", models.decoder(64), tokens([64] * 3), 48 << 10)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
