"""OpenCL inside Apache TVM's wheel, with memory from allot.

    from allot_tvm import opencl
    opencl.load()                                                 # after `import tvm`
    executable = tvm.compile(module, target=opencl.TARGET, relax_pipeline=opencl.pipeline())
    machine = relax.VirtualMachine(executable, tvm.device("opencl", 0))

TVM's wheel generates OpenCL code and cannot run it. The library that `load` loads adds the device. The pipeline is
TVM's own for GPUs with two more passes: `offset_arguments` gives each kernel an argument for the offset of each buffer,
and `arena_storages` takes the storages of the program from an arena of OpenCL buffers. A tensor is then a cl_mem and an
offset. With `plan=opencl.plan()`, allot also plans the offsets of all tensors in one storage.
"""

import os
from pathlib import Path

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.backend import gpu_generic

import allot_tvm
from allot_tvm import plan_memory

LIBRARY = Path(__file__).resolve().parents[3] / "build" / "tvm" / "liballot_tvm_opencl.so"
TARGET = tvm.target.Target("opencl", host="llvm")
ALIGNMENT = plan_memory.ALIGNMENT  # bytes; each offset is a multiple, so that kernels keep their vector loads

_loaded = None


def load(library=None):
    """Loads the library, once. `library` is a path; the default is $ALLOT_TVM_OPENCL, or the one that `run` builds."""
    global _loaded
    if _loaded is not None:
        return allot_tvm._require_same(_loaded, library)
    allot_tvm._check_versions()
    path = Path(library or os.environ.get("ALLOT_TVM_OPENCL", LIBRARY))
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; install OpenCL's headers and an ICD loader, and build it "
                                "with bindings/tvm/run.")
    allot_tvm._open(path, "allot.opencl.alloc_storage")
    _loaded = path.resolve()


def _function(name):
    return allot_tvm._function(f"opencl.{name}", "allot_tvm.opencl.load")


def use_arena(device, capacity=0):
    """Selects one region of `capacity` bytes for the storages of a device, or an arena that grows for 0."""
    _function("use_arena")(device, capacity)


def alignment(device):
    """Returns the alignment of storages in bytes: that of the buffers of the device."""
    return _function("alignment")(device)


def contract(allowed):
    """Chooses whether OpenCL's compiler may join a multiplication and an addition, for kernels that it compiles later.

    It may by default, and the results then differ in the last bits from those of TVM's target llvm.
    """
    _function("contract")(allowed)


def counts(device):
    """Returns {"alone" | "workspace" | "arena" | "images": (calls, bytes held, most bytes since the last call)}.

    "alone" counts the buffers that TVM requests from the device, for one tensor or one storage each. "workspace" counts
    the memory that kernels use while they run. "arena" counts the regions of the arena. These are calls of
    clCreateBuffer. "images" counts the calls of clCreateImage, for tensors in the texture scopes.
    """
    numbers = list(_function("counts")(device))
    names = ("alone", "workspace", "arena", "images")
    return {name: tuple(numbers[3 * i:3 * i + 3]) for i, name in enumerate(names)}


def storage(device, size):
    """Allocates a storage of `size` bytes in the arena of a device."""
    return _function("storage")(device, size)


def tensor(in_storage, offset, shape, dtype, factor=None):
    """Allocates a tensor at an offset in bytes, a multiple of `factor` elements; the default is that of `pipeline`."""
    return _function("alloc_tensor")(in_storage, offset, shape, dtype, factor or factor_of(dtype))


def factor_of(dtype):
    """Returns the offset factor of a buffer: the elements of ALIGNMENT bytes, 16 for float32."""
    return max(1, ALIGNMENT * 8 // (tvm.DataType(dtype).bits * tvm.DataType(dtype).lanes))


def _may_begin_anywhere(parameter):
    """Returns whether a parameter is a buffer without an offset of its own. An image has no offset."""
    return (tirx.buffer.is_buffer_var(parameter) and isinstance(parameter.ty.elem_offset, tirx.IntImm)
            and not parameter.ty.storage_scope.startswith("global.texture"))


def _with_offsets(function):
    replaced = {}
    for parameter in function.params:
        if _may_begin_anywhere(parameter):
            of = parameter.ty
            replaced[parameter] = tirx.decl_buffer(
                of.shape, of.dtype, parameter.name, strides=of.strides, scope=of.storage_scope,
                elem_offset=tirx.Var(f"{parameter.name}_offset", "int32"), data_alignment=of.data_alignment,
                offset_factor=factor_of(str(of.dtype)), layout=of.layout)
    body = tvm_ffi.structural_map(function.body, (tvm.ir.Var, lambda each: replaced.get(each, each)))
    parameters = [replaced.get(each, each) for each in function.params]
    return tirx.PrimFunc(parameters, body, function.ret_type, function.attrs, function.span)


@tvm.transform.module_pass(opt_level=0)
class offset_arguments:
    """A pass: each buffer that a kernel receives begins at an offset in elements, an argument of the kernel."""

    def transform_module(self, module, _):
        for name, function in module.functions_items():
            if isinstance(function, tirx.PrimFunc):
                module[name] = _with_offsets(function)
        return module


@relax.expr_functor.mutator
class _ArenaStorages(relax.PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        name = getattr(call.op, "name", "")
        if name == "relax.vm.alloc_storage" and call.args[1].value == 0:
            return relax.op.call_builtin_with_ctx("allot.opencl.alloc_storage", relax.Tuple(call.args),
                                                  ty_args=relax.AnyType())
        if name == "relax.vm.alloc_tensor" and call.args[4].value == 0:
            factor = relax.prim_value(factor_of(str(call.args[3].value)))
            return relax.Call(relax.ExternFunc("allot.opencl.alloc_tensor"), [*call.args[:4], factor],
                              ty_args=[call.ty])
        return call


@tvm.transform.module_pass(opt_level=0)
class arena_storages:
    """A pass: the storages of the first device are in the arena. It follows LowerRuntimeBuiltin."""

    def transform_module(self, module, _):
        for name, function in module.functions_items():
            if isinstance(function, relax.Function):
                module[name] = _ArenaStorages().visit_expr(function)
        return module


def plan(report=None):
    """Returns the pass that plans all memory of a function in one storage."""
    return plan_memory.PlanMemory(mode="carried", report=report)


def pipeline(plan=None, legalize=None, arena=True):
    """Returns TVM's pipeline for GPUs, with offsets.

    `plan` is a pass in the place of StaticPlanBlockMemory. `legalize` is a list of passes in the place of those that
    make and schedule the kernels. With arena=False, TVM's own allocators provide the storages, each a cl_mem.
    """
    planning, *finalize = gpu_generic.finalize_passes(TARGET)
    at = [each.info.name for each in finalize].index("LowerRuntimeBuiltin") + 1
    legalize = gpu_generic.legalize_passes(TARGET) if legalize is None else legalize
    passes = [*gpu_generic.library_dispatch_passes(TARGET), *legalize,
              *gpu_generic.dataflow_lower_passes(TARGET), plan or planning, *finalize[:at],
              *([arena_storages()] if arena else []), *finalize[at:], offset_arguments()]

    @tvm.transform.module_pass(opt_level=0, name="opencl_pipeline")
    def run(module, _):
        with TARGET:
            return tvm.transform.Sequential(passes)(module)
    return run
