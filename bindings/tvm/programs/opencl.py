"""OpenCL inside TVM's wheel: tensors are a cl_mem and an offset, and one storage has all tensors of a model.

The first part is the program of the proposal, with its offsets written by hand. The second part runs SqueezeNet with a
buffer for each tensor, with TVM's plan, in an arena, and with allot's plan in one region. It compares the results bit
for bit, with one another and with TVM's target llvm.
"""

import gc
import sys
from pathlib import Path

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.s_tir import dlight
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/tvm"))
from allot_tvm import opencl  # noqa: E402
from squeezenet import squeezenet  # noqa: E402

SIZE = 64  # the image is SIZE × SIZE
# One kernel for each operator, with the simplest of TVM's schedules. Sums then have the same order as on the CPU.
PLAIN = [relax.transform.LegalizeOps(), relax.transform.FoldConstant(),
         dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())]


@I.ir_module
class Proposal:
    """The program of the proposal: tensors in one storage of 4096 bytes, where d and e have the bytes of a and b."""

    @T.prim_func(s_tir=True)
    def add(a: T.Buffer((4, 64), "int32"), b: T.Buffer((4, 64), "int32"), c: T.Buffer((4, 64), "int32")):
        for i, j in T.grid(4, 64):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] + b[vi, vj]

    @T.prim_func(s_tir=True)
    def multiply(a: T.Buffer((4, 64), "int32"), b: T.Buffer((4, 64), "int32"), c: T.Buffer((4, 64), "int32")):
        for i, j in T.grid(4, 64):
            with T.sblock("multiply"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] * b[vi, vj]

    @R.function
    def main(x: R.Tensor((4, 64), "int32"), y: R.Tensor((4, 64), "int32"),
             z: R.Tensor((4, 64), "int32")) -> R.Tensor((4, 64), "int32"):
        R.func_attr({"relax.force_pure": True})
        cls = Proposal
        memory: R.Object = R.vm.alloc_storage(R.shape([4096]), runtime_device_index=0, dtype="uint8")
        a: R.Tensor((4, 64), "int32") = R.vm.alloc_tensor(memory, offset=0, shape=R.shape([4, 64]), dtype="int32")
        _a = R.call_packed("allot.opencl.copy_tensor", x, a, ty_args=[R.Tuple])
        b: R.Tensor((4, 64), "int32") = R.vm.alloc_tensor(memory, offset=1024, shape=R.shape([4, 64]), dtype="int32")
        _b = R.call_packed("allot.opencl.copy_tensor", y, b, ty_args=[R.Tuple])
        c: R.Tensor((4, 64), "int32") = R.vm.alloc_tensor(memory, offset=2048, shape=R.shape([4, 64]), dtype="int32")
        _c = cls.add(a, b, c)
        _k = R.vm.kill_object(a)
        _l = R.vm.kill_object(b)
        d: R.Tensor((4, 64), "int32") = R.vm.alloc_tensor(memory, offset=0, shape=R.shape([4, 64]), dtype="int32")
        _d = R.call_packed("allot.opencl.copy_tensor", z, d, ty_args=[R.Tuple])
        e: R.Tensor((4, 64), "int32") = R.vm.alloc_tensor(memory, offset=1024, shape=R.shape([4, 64]), dtype="int32")
        _e = cls.multiply(c, d, e)
        return e


def loaded():
    """Loads the libraries. Returns the first OpenCL device, or None after a line that says why there is none."""
    if not opencl.LIBRARY.exists():
        print("skipped: OpenCL's headers or its ICD loader are missing; on Debian, ocl-icd-opencl-dev and "
              "opencl-clhpp-headers have them")
        return None
    opencl.load()
    device = tvm.device("opencl", 0)
    if not device.exist:
        print("skipped: there is no OpenCL device; on Debian, pocl-opencl-icd has one for the CPU")
        return None
    opencl.contract(False)  # so that the results can equal those of TVM's target llvm
    return device


def run_proposal(device):
    """Runs the program of the proposal, and compares it with NumPy.

    Returns the calls of clCreateBuffer: for separate buffers, and for the arena.
    """
    executable = tvm.compile(Proposal, target=opencl.TARGET, relax_pipeline=opencl.pipeline(legalize=PLAIN))
    machine = relax.VirtualMachine(executable, device)
    random = np.random.default_rng(3)
    x, y, z = (random.integers(-2**31, 2**31, (4, 64), dtype="int32") for _ in range(3))
    given = [tvm.runtime.tensor(each, device) for each in (x, y, z)]
    before = opencl.counts(device)
    opencl.use_arena(device)
    result = machine["main"](*given)
    assert np.array_equal(result.numpy(), (x + y) * z), "the result differs from NumPy's"
    after = opencl.counts(device)
    return [after[name][0] - before[name][0] for name in ("alone", "arena")]


class Run:
    """The results of a run of the model, the calls of clCreateBuffer, and the most bytes of tensors and regions.

    `weights_in_arena` places the weights and the image in one storage of the arena.
    """

    def __init__(self, executable, arrays, device, capacity=0, weights_in_arena=False, **options):
        gc.collect()
        tvm_ffi.get_global_func("vm.builtin.memory_manager.clear")()
        opencl.use_arena(device)  # releases the memory of the run before
        before = opencl.counts(device)
        opencl.use_arena(device, capacity)
        machine = relax.VirtualMachine(executable, device, **options)
        given = placed(arrays, device) if weights_in_arena else [tvm.runtime.tensor(each, device) for each in arrays]
        outputs = machine["main"](*given)
        self.logits, self.probabilities = (each.numpy() for each in outputs)
        after = opencl.counts(device)
        self.alone, self.arena = (after[name][0] - before[name][0] for name in ("alone", "arena"))
        self.bytes = after["alone"][2] - before["alone"][1] + after["arena"][2]


def bytes_of(arrays, device):
    """Returns the bytes of a region that has each array at the alignment of storages."""
    align = opencl.alignment(device)
    return sum(-(-each.nbytes // align) * align for each in arrays)


def placed(arrays, device):
    """Returns tensors with these values in one storage."""
    storage = opencl.storage(device, bytes_of(arrays, device))
    tensors, offset = [], 0
    for each in arrays:
        tensors.append(opencl.tensor(storage, offset, each.shape, str(each.dtype)))
        tensors[-1].copyfrom(each)
        offset += bytes_of([each], device)
    return tensors


def run_model(device):
    """Runs SqueezeNet in each way. Returns the results of the CPU, {name: Run}, and the report of allot's plan."""
    module, weights = squeezenet(1, SIZE, with_logits=True)
    arrays = [np.random.default_rng(1).standard_normal((1, 3, SIZE, SIZE)).astype("float32"), *weights]
    cpu = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    oracle = [each.numpy() for each in cpu["main"](*map(tvm.runtime.tensor, arrays))]
    with opencl.TARGET:
        kernels = tvm.transform.Sequential(PLAIN)(module)
    report, nothing = [], tvm.transform.Sequential([])

    def compiled(**options):
        return tvm.compile(kernels, target=opencl.TARGET, relax_pipeline=opencl.pipeline(legalize=[], **options))

    unplanned, planned = compiled(plan=nothing), compiled(plan=opencl.plan(report))
    # The results leave the function, so they are not in the plan and have storages of their own.
    region = bytes_of([np.zeros(report[0].storages[0].size, "uint8"), *oracle], device)
    runs = {"a buffer for each tensor": Run(compiled(plan=nothing, arena=False), arrays, device, memory_cfg="naive"),
            "TVM's plan, TVM's pool": Run(compiled(arena=False), arrays, device),
            "no plan, an arena that grows": Run(unplanned, arrays, device),
            "allot's plan, one region": Run(planned, arrays, device, region),
            "the same, with the weights": Run(planned, arrays, device, region + bytes_of(arrays, device),
                                              weights_in_arena=True)}
    return oracle, runs, report[0]


def check_memory_error(device):
    """Checks that a region that is too small is refused with allot's reason, and returns the reason."""
    opencl.use_arena(device, 4096)
    try:
        opencl.storage(device, 8192)
    except MemoryError as error:
        return str(error).splitlines()[0]
    finally:
        opencl.use_arena(device)
    raise AssertionError("a storage of 8192 bytes is in a region of 4096 bytes")


def main():
    device = loaded()
    if device is None:
        return
    print(f"OpenCL device: {device.device_name}")
    alone, arena = run_proposal(device)
    print(f"the proposal's program, offsets in 4096 bytes: equals NumPy; clCreateBuffer: {arena} for the arena, "
          f"{alone} for tensors")
    assert (alone, arena) == (0, 1)
    (logits, probabilities), runs, report = run_model(device)
    print(f"\nSqueezeNet, {SIZE} x {SIZE}: allot plans {len(report.tensors)} tensors in {report.storages[0].size} "
          f"bytes; the plan is {report.status}\n")
    print("| storage | clCreateBuffer for tensors | for the arena | most bytes |\n|---|--:|--:|--:|")
    first = next(iter(runs.values()))
    for name, each in runs.items():
        print(f"| {name} | {each.alone} | {each.arena} | {each.bytes} |")
        assert np.array_equal(each.logits, logits), f"{name}: the logits differ from those of TVM's target llvm"
        assert np.array_equal(each.probabilities, first.probabilities), f"{name}: the probabilities differ"
    assert runs["the same, with the weights"].alone == 0 and runs["the same, with the weights"].arena == 1
    difference = np.abs(first.probabilities - probabilities).max()
    print(f"\nThe logits of all runs equal those of TVM's target llvm, bit for bit. The probabilities of all runs are "
          f"equal; those of llvm differ by at most {difference:.1e}, because its exp differs.")
    print(f"8192 bytes in a region of 4096: MemoryError: {check_memory_error(device)}")


if __name__ == "__main__":
    main()
