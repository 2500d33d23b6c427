"""The application's own bytes as inputs and results of a Relax program, without a copy.

    python zero_copy.py                        a memfd, mapped twice
    python zero_copy.py --export FOLDER        writes the compiled program and its expected results to FOLDER
    python zero_copy.py --dma FOLDER HEAP...   buffers of /dev/dma_heap/HEAP, mapped twice, with the program in FOLDER;
                                               zero_copy_vm.py runs this in a virtual machine

The application fills the inputs through one mapping. TVM gets tensors in the other mapping, at offsets that allot
checks. The application reads the results through its own mapping. Copies are counted: each copy, allocation and
workspace that TVM asks of its CPU device. The addresses of all arguments of all kernels are compared with the offsets.
Ordinary tensors of TVM show that the counters count.
"""

import contextlib
import ctypes
import mmap
import os
import pathlib
import sys
from typing import NamedTuple

import numpy as np
import tvm
import tvm_ffi

SHAPES = {"x": (4, 64), "weight": (64, 64), "bias": (64,), "hidden": (4, 64), "share": (4, 64)}
INPUTS, RESULTS = ("x", "weight", "bias"), ("hidden", "share")
# The application chooses the offsets: here not in the order of the parameters, and with space between.
OFFSETS = {"weight": 0, "share": 16384, "x": 17408, "bias": 18432, "hidden": 20480}
SIZE = 24576
# Each kernel, and the names of its arguments; None is a tensor that the program keeps for itself.
KERNELS = {"matmul": ("x", "weight", None), "add": (None, "bias", None), "relu": (None, "hidden"),
           "softmax": ("hidden", "share")}
FACTORS = (1, -3)  # the second call has other inputs


class Calls(NamedTuple):
    """The calls to TVM's CPU device."""
    copies: int
    copied: int
    allocations: int
    allocated: int
    workspaces: int

    def __str__(self):
        return (f"{self.copies} copies ({self.copied} bytes), {self.allocations} allocations ({self.allocated} bytes), "
                f"{self.workspaces} workspaces")


def load():
    """Loads the library and starts to count. Call it right after `import tvm`: TVM asks for its CPU device once."""
    if os.environ.get("TVM_USE_RUNTIME_LIB") == "1":  # allot_tvm imports TVM's compiler
        ctypes.CDLL(os.environ["ALLOT_TVM_LIBRARY"], ctypes.RTLD_GLOBAL)
    else:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
        import allot_tvm

        allot_tvm.load()
    tvm.get_global_func("allot.count_device_calls")()


@contextlib.contextmanager
def counted():
    """Gives a list that holds the calls of the block after its end."""
    read, seen = tvm.get_global_func("allot.device_calls"), []
    before = read()
    yield seen
    seen.append(Calls(*(now - then for now, then in zip(read(), before))))


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def inputs(factor):
    random = np.random.default_rng(17)
    return {name: factor * random.standard_normal(SHAPES[name]).astype("float32") for name in INPUTS}


def views_of(mapping):
    """Returns the tensors in a mapping as NumPy arrays."""
    return {name: np.ndarray(SHAPES[name], "float32", mapping, OFFSETS[name]) for name in OFFSETS}


def tensors_in(memory):
    """Returns the tensors in a memory of allot."""
    place = tvm.get_global_func("allot.import_tensor")
    return {name: place(memory, OFFSETS[name], SHAPES[name], "float32") for name in OFFSETS}


def observe(machine, arguments):
    """Calls `main` of a virtual machine. Returns (calls, {kernel: addresses of its arguments})."""
    addresses = {}

    def instrument(_function, name, before, _result, *given):
        if before and name in KERNELS:
            addresses[name] = [each.data_ptr() for each in given]
        return 0

    machine.set_instrument(instrument)
    with counted() as seen:
        machine["main"](*arguments)
    return seen[0], addresses


def check_addresses(addresses, base):
    """Compares the addresses that the kernels see with those of the application's bytes."""
    for kernel, names in KERNELS.items():
        for number, (name, address) in enumerate(zip(names, addresses[kernel], strict=True)):
            inside = base <= address < base + SIZE
            if name is None:
                check(not inside, f"argument {number} of {kernel} is in the application's bytes")
            else:
                check(address == base + OFFSETS[name],
                      f"argument {number} of {kernel} is not {name} in place: {address:#x}")


def run_in_place(machine, memory, mapping, access=lambda use: contextlib.nullcontext()):
    """Calls the program for each factor, on tensors in a memory. Returns (calls, results) of each.

    `mapping` is another mapping of the same bytes. `access` begins and ends a period in which the CPU uses them.
    """
    tensors, views, made = tensors_in(memory), views_of(mapping), []
    base = tensors["weight"].data_ptr() - OFFSETS["weight"]
    check(base != views["weight"].ctypes.data, "both mappings are the same")
    for factor in FACTORS:
        with access("write"):
            for name, value in inputs(factor).items():
                views[name][:] = value
        with access("read_write"):
            calls, addresses = observe(machine, [tensors[name] for name in (*INPUTS, *RESULTS)])
        check_addresses(addresses, base)
        with access("read"):
            made.append((calls, [views[name].copy() for name in RESULTS]))
    return made


def run_ordinarily(machine):
    """Calls the program for each factor, on tensors of TVM. Returns (calls, results) of each."""
    made = []
    for factor in FACTORS:
        with counted() as seen:
            results = [each.numpy() for each in machine["main"](*map(tvm.runtime.tensor, inputs(factor).values()))]
        made.append((seen[0], results))
    return made


def compare(name, made, expected):
    """Prints the calls. Raises AssertionError unless nothing is copied and the results have the expected bits."""
    for number, ((calls, results), wanted) in enumerate(zip(made, expected, strict=True), 1):
        print(f"{name}, call {number}: {calls}")
        check(calls.copies == 0 and calls.copied == 0, "TVM copies bytes")
        check(number == 1 or calls.allocations == 0, "a later call allocates")
        for value, other in zip(results, wanted, strict=True):
            check(value.tobytes() == other.tobytes(), "the results differ from TVM's own")
    print(f"{name}: the second mapping has the results, bit for bit those in TVM's own storage")


def show_control():
    """Copies one tensor in and out, and raises AssertionError unless the counters show it."""
    value = inputs(1)["x"]
    with counted() as seen:
        tvm.runtime.tensor(value).numpy()
    print(f"control, one tensor of TVM written and read: {seen[0]}")
    check(seen[0][:4] == (2, 2 * value.nbytes, 1, value.nbytes), "the counters do not count")


def main_memfd():
    import zero_copy_model
    from tvm import relax

    descriptor = os.memfd_create("application")
    os.ftruncate(descriptor, SIZE)
    ours, theirs = mmap.mmap(descriptor, SIZE), mmap.mmap(descriptor, SIZE)
    memory = tvm.get_global_func("allot.import_bytes")(tvm_ffi.from_dlpack(np.frombuffer(theirs, "uint8")))
    machine = relax.VirtualMachine(zero_copy_model.compile_model(), tvm.cpu())
    made = run_in_place(machine, memory, ours)
    own = run_ordinarily(relax.VirtualMachine(zero_copy_model.compile_model(in_place=False), tvm.cpu()))
    show_control()
    print(f"control, the same program with tensors of TVM: {own[0][0]}")
    check(own[0][0].copies == len(INPUTS) + len(RESULTS), "the counters do not count")
    compare("memfd", made, [results for _, results in own])


def export(folder):
    import zero_copy_model
    from tvm import relax

    folder.mkdir(parents=True, exist_ok=True)
    zero_copy_model.compile_model().export_library(str(folder / "model.so"))
    own = run_ordinarily(relax.VirtualMachine(zero_copy_model.compile_model(in_place=False), tvm.cpu()))
    np.save(folder / "expected.npy", np.array([results for _, results in own]))


def main_dma(folder, heaps):
    from tvm.runtime.vm import VirtualMachine  # `tvm.relax` needs the compiler, which the virtual machine lacks

    call = tvm.get_global_func
    machine = VirtualMachine(tvm.runtime.load_module(str(folder / "model.so")), tvm.cpu())
    expected = np.load(folder / "expected.npy")
    show_control()
    for heap in heaps:
        memory = call("allot.import_dma_heap")(heap, SIZE)

        @contextlib.contextmanager
        def access(use, memory=memory):
            call("allot.import_begin_access")(memory, use)
            yield
            call("allot.import_end_access")(memory)

        ours = mmap.mmap(call("allot.import_descriptor")(memory), SIZE)
        made = run_in_place(machine, memory, ours, access)
        compare(f"/dev/dma_heap/{heap}", made, expected)


def main():
    load()
    if sys.argv[1:2] == ["--dma"]:
        main_dma(pathlib.Path(sys.argv[2]), sys.argv[3:])
    elif sys.argv[1:2] == ["--export"]:
        export(pathlib.Path(sys.argv[2]))
    else:
        main_memfd()


if __name__ == "__main__":
    main()
