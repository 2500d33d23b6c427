"""allot's memories inside Apache TVM: scopes, storages, tensors at offsets, and tensors whose rows are scattered.

    import allot_tvm
    allot_tvm.load()                                         # after `import tvm`, before the first VirtualMachine
    allot_tvm.use(tvm.cpu(0), "global.vtcm", "window", 4096)  # optional: an allocator and a size for a scope

The functions `alloc_storage`, `alloc_tensor`, `alloc_discontiguous_tensor` and `copy_tensor` return calls of Relax, for
TVMScript and for a BlockBuilder. The library answers these calls while the program runs.
"""

import ctypes
import os
from importlib import metadata
from pathlib import Path

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GenericConst, StringImm

VERSIONS = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.15.post2"}
LIBRARY = Path(__file__).resolve().parents[3] / "build" / "tvm" / "liballot_tvm.so"

_loaded = None


def _check_versions(installed=metadata.version):
    """Refuses other releases of TVM, because the library relies on the layouts of these."""
    for package, needed in VERSIONS.items():
        found = installed(package)
        if found != needed:
            raise ImportError(f"allot_tvm works with {package} {needed} and not with {found}; "
                              f"install it with pip install {package}=={needed}.")


def _check_ffi(*numbers):
    """Refuses a library that was built for another tvm-ffi than the one in this process."""
    built, found = (".".join(map(str, each)) for each in (numbers[:3], numbers[3:]))
    if built != found:
        raise ImportError(f"the library was built for tvm-ffi {built}, and this process has {found}; "
                          "build it with bindings/tvm/run.")


def load(library=None):
    """Loads the library, once. `library` is a path; the default is $ALLOT_TVM_LIBRARY, or the one that `run` builds."""
    global _loaded
    if _loaded is not None:
        return
    _check_versions()
    path = Path(library or os.environ.get("ALLOT_TVM_LIBRARY", LIBRARY))
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; build it with bindings/tvm/run.")
    loaded = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)  # global, because code that TVM compiles calls its symbols
    _check_ffi(*_function("ffi_versions")())
    _require_no_machine("load")
    _loaded = loaded


def _require_no_machine(caller):
    """Refuses a call that comes after a VirtualMachine of one of the first sixteen CPU numbers."""
    for number in range(16):
        if _function("has_allocator")(tvm.cpu(number)):
            raise RuntimeError(f"a VirtualMachine of cpu:{number} exists, and TVM keeps its allocators and functions "
                               f"until the process ends; call allot_tvm.{caller}() before the first VirtualMachine.")


def replace_builtins():
    """Replaces functions of TVM's virtual machine, for programs with R.vm.alloc_storage and R.vm.alloc_tensor.

    The functions are vm.builtin.alloc_storage, vm.builtin.alloc_tensor, vm.builtin.to_device for scopes of the CPU, and
    vm.builtin.copy_tensor, which TVM lacks. They apply to every virtual machine of the process.
    """
    _require_no_machine("replace_builtins")
    _function("replace_builtins")()


def _function(name):
    return tvm_ffi.get_global_func(f"allot.{name}")


def use(device, scope="global", allocator="geometric", capacity=0):
    """Chooses the memory of a scope of a device, before its first use.

    allocator: "geometric" and "fixed" are arenas that grow, "one region" has `capacity` bytes, "window" is a tightly
    coupled memory of `capacity` bytes, "images" serves the texture scopes, "separate" gives each tensor a buffer of its
    own, and "pool" is TVM's pool with counters. The virtual machines of the device then use these memories.
    """
    _function("use")(device, scope, allocator, capacity)


def counts(device, scope="global"):
    """Returns the counts of a memory: to its device (calls, most bytes held, bytes held), then of its storages and
    buffers (requests, most bytes live, bytes live).
    """
    return tuple(_function("counts")(device, scope))


def copy_counts():
    """Returns (calls, bytes) of allot.copy_tensor since the last reset."""
    return tuple(_function("copy_counts")())


def reset_copy_counts():
    """Sets the counts of allot.copy_tensor to 0."""
    _function("reset_copy_counts")()


def _expression(value):
    if isinstance(value, int):
        return relax.prim_value(value)
    return relax.ShapeExpr(value) if isinstance(value, list | tuple) else value


def _call(name, arguments, type_of_result):
    return relax.Call(relax.ExternFunc(f"allot.{name}"), [_expression(each) for each in arguments],
                      ty_args=[type_of_result])


def _dtype(name):
    return GenericConst(tvm.DataType(name), relax.AnyType()) if isinstance(name, str) else name


def alloc_storage(shape, device_index=0, dtype="uint8", scope="global"):
    """Allocates a storage in a scope: R.vm.alloc_storage over the memories of allot."""
    return relax.op.call_builtin_with_ctx(
        "allot.alloc_storage",
        relax.Tuple([_expression(shape), _expression(device_index), _dtype(dtype), StringImm(scope)]),
        ty_args=relax.AnyType())


def alloc_tensor(storage, offset, shape, dtype):
    """Allocates a tensor at an offset in bytes, a multiple of 64. R.vm.kill_object ends its life."""
    return _call("alloc_tensor", [storage, offset, shape, _dtype(dtype)], relax.TensorType(_expression(shape), dtype))


def alloc_discontiguous_tensor(table_storage, table_offset, data_storage, data_offsets, shape, dtype):
    """Allocates a tensor whose rows are at `data_offsets` of one storage, with a table of pointers in another.

    The result is the table: a tensor of shape (rows,) and dtype uint64, one pointer of 8 bytes for each row.
    """
    rows = relax.TensorType(relax.ShapeExpr([_expression(shape).values[0]]), "uint64")
    return _call("alloc_discontiguous_tensor",
                 [table_storage, table_offset, data_storage, data_offsets, shape, _dtype(dtype)], rows)


def copy_tensor(source, target):
    """Copies the elements of a tensor, contiguous or with rows, and counts the call and its bytes."""
    return _call("copy_tensor", [source, target], relax.TupleType([]))
