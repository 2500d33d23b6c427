"""allot's memories inside Apache TVM: scopes, storages, tensors at offsets, and tensors whose rows are scattered.

    import allot_tvm
    allot_tvm.load()                                         # after `import tvm`, before the first VirtualMachine
    allot_tvm.use(tvm.cpu(0), "global.vtcm", "window", 4096)  # optional: an allocator and a size for a scope

After `load`, the virtual machines of the CPU have the scopes `global.vtcm`, `global.texture`, `global.texture-weight`
and `global.texture-nhwc`. TVM's own pool serves `global` of a device until `use` chooses a memory of the device.

The functions `alloc_storage`, `alloc_tensor`, `alloc_discontiguous_tensor` and `copy_tensor` return calls of Relax, for
TVMScript and for a BlockBuilder. The library answers these calls while the program runs.
"""

import ctypes
import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import SupportsIndex

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


def _open(path, function):
    """Loads a library that registers the global function `function`."""
    try:
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)  # global, because code that TVM compiles calls its symbols
    except OSError as error:
        raise ImportError(f"{path} does not load: {error}; build it with bindings/tvm/run.") from None
    if tvm_ffi.get_global_func(function, allow_missing=True) is None:
        raise ImportError(f"{path} has no function {function}; build the library with bindings/tvm/run.")


def _require_same(loaded, library):
    """Refuses a library after another one."""
    if library is not None and Path(library).resolve() != loaded:
        raise RuntimeError(f"{loaded} is loaded, and a process has one library; load {library} in another process.")


def load(library=None):
    """Loads the library, once. `library` is a path; the default is $ALLOT_TVM_LIBRARY, or the one that `run` builds.

    Another path after the first call is refused.
    """
    global _loaded
    if _loaded is not None:
        return _require_same(_loaded, library)
    _check_versions()
    path = Path(library or os.environ.get("ALLOT_TVM_LIBRARY", LIBRARY))
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; build it with bindings/tvm/run.")
    _open(path, "allot.ffi_versions")
    _check_ffi(*_function("ffi_versions")())
    _require_no_machine("load")
    _loaded = path.resolve()


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


def _function(name, load="allot_tvm.load"):
    found = tvm_ffi.get_global_func(f"allot.{name}", allow_missing=True)
    if found is None:
        raise RuntimeError(f"the library of allot.{name} is not loaded; call {load}() first.")
    return found


def use(device, scope="global", allocator="geometric", capacity=0):
    """Chooses the memory of a scope of a device, before its first use.

    allocator: "geometric" and "fixed" are arenas that grow, "one region" has `capacity` bytes, "window" is a tightly
    coupled memory of `capacity` bytes, by default 256 KiB, "images" serves the texture scopes, "separate" gives each
    tensor a buffer of its own, and "pool" is TVM's pool with counters. Only "one region" and "window" have a capacity.

    The virtual machines of the device then use these memories. `global` is an arena of allot, unless it is chosen. A
    virtual machine keeps its last result until the next call ends, so a memory with a capacity needs space for the
    results of two calls.
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


def _refuse(name, needed, value):
    raise TypeError(f"{name} is {needed}, and not {value!r}.")


def _expression(name, value):
    return value if isinstance(value, relax.Expr) else _refuse(name, "an expression of Relax", value)


def _integer(name, value):
    if isinstance(value, SupportsIndex):
        return relax.prim_value(value.__index__())
    return value if isinstance(value, relax.Expr) else _refuse(name, "an integer or an expression of Relax", value)


def _shape(name, value):
    if isinstance(value, Sequence) and not isinstance(value, str):
        return relax.ShapeExpr([_integer(f"an element of {name}", each) for each in value])
    return value if isinstance(value, relax.Expr) else _refuse(name, "a list of integers, such as [4, 64]", value)


def _dtype(value):
    if isinstance(value, str):
        return GenericConst(tvm.DataType(value), relax.AnyType())
    return value if isinstance(value, relax.Expr) else _refuse("dtype", 'a name, such as "float32"', value)


def _call(name, arguments, type_of_result):
    return relax.Call(relax.ExternFunc(f"allot.{name}"), arguments, ty_args=[type_of_result])


def alloc_storage(shape, device_index=0, dtype="uint8", scope="global"):
    """Allocates a storage in a scope: R.vm.alloc_storage over the memories of allot."""
    if not isinstance(scope, str):
        _refuse("scope", 'a name, such as "global.vtcm"', scope)
    arguments = [_shape("shape", shape), _integer("device_index", device_index), _dtype(dtype), StringImm(scope)]
    return relax.op.call_builtin_with_ctx("allot.alloc_storage", relax.Tuple(arguments), ty_args=relax.AnyType())


def alloc_tensor(storage, offset, shape, dtype):
    """Allocates a tensor at an offset in bytes, a multiple of 64. R.vm.kill_object ends its life."""
    extents = _shape("shape", shape)
    arguments = [_expression("storage", storage), _integer("offset", offset), extents, _dtype(dtype)]
    return _call("alloc_tensor", arguments, relax.TensorType(extents, dtype))


def alloc_discontiguous_tensor(table_storage, table_offset, data_storage, data_offsets, shape, dtype):
    """Allocates a tensor whose rows are at `data_offsets` of one storage, with a table of pointers in another.

    The result is the table: a tensor of shape (rows,) and dtype uint64, one pointer of 8 bytes for each row.
    """
    extents = _shape("shape", shape)
    if not isinstance(extents, relax.ShapeExpr) or len(extents) != 2:
        raise ValueError(f"shape is a list of two axes, the rows and the elements of a row, and not {shape!r}.")
    arguments = [_expression("table_storage", table_storage), _integer("table_offset", table_offset),
                 _expression("data_storage", data_storage), _shape("data_offsets", data_offsets), extents,
                 _dtype(dtype)]
    return _call("alloc_discontiguous_tensor", arguments,
                 relax.TensorType(relax.ShapeExpr([extents.values[0]]), "uint64"))


def copy_tensor(source, target):
    """Copies the elements of a tensor, contiguous or with rows, and counts the call and its bytes."""
    return _call("copy_tensor", [_expression("source", source), _expression("target", target)], relax.TupleType([]))
