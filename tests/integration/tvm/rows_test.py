"""Tests of tensors in rows: the kernels that read tables of pointers, and the plans that scatter rows.

Run by bindings/tvm/run, or with PYTHONPATH=bindings/tvm after it has built the libraries.
"""

import ctypes
import itertools
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import allot_tvm
from allot_tvm import plan_memory, plans, row_plan, rows
from allot_tvm.plan_memory import Memory, PlanMemory, pipeline, pipeline_with
from plan_memory_test import PROGRAMS, ByteOracle, chain, flat, outputs, random

sys.path.insert(0, str(PROGRAMS))
import models  # noqa: E402


@I.ir_module
class Padded:
    """Zeros around the elements: the kernel reads rows outside of the tensor where a condition forbids it."""

    @T.prim_func(s_tir=True)
    def main(a: T.Buffer((3, 5, 7), "float32"), b: T.Buffer((5, 5, 11), "float32")):
        for i, j, k in T.grid(5, 5, 11):
            with T.sblock("pad"):
                x, y, z = T.axis.remap("SSS", [i, j, k])
                b[x, y, z] = T.if_then_else(1 <= x and x < 4 and 2 <= z and z < 9, a[x - 1, y, z - 2], T.float32(0))


@I.ir_module
class Product:
    """A product of matrices, with a reduction that begins in the loop."""

    @T.prim_func(s_tir=True)
    def main(a: T.Buffer((7, 13), "float32"), b: T.Buffer((13, 5), "float32"), c: T.Buffer((7, 5), "float32")):
        for i, j, k in T.grid(7, 5, 13):
            with T.sblock("product"):
                x, y, z = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    c[x, y] = T.float32(0)
                c[x, y] = c[x, y] + a[x, z] * b[z, y]


@I.ir_module
class Inside:
    """A tensor of the kernel's own between two of its loops, which read three rows for each row."""

    @T.prim_func(s_tir=True)
    def main(a: T.Buffer((9, 6, 2), "float32"), b: T.Buffer((7, 6, 2), "float32")):
        sums = T.sblock_alloc_buffer((7, 6, 2))
        for i, j, k, d in T.grid(7, 6, 2, 3):
            with T.sblock("sum"):
                x, y, z, w = T.axis.remap("SSSR", [i, j, k, d])
                with T.init():
                    sums[x, y, z] = T.float32(1)
                sums[x, y, z] = sums[x, y, z] * a[x + w, y, z]
        for i, j, k in T.grid(7, 6, 2):
            with T.sblock("last"):
                x, y, z = T.axis.remap("SSS", [i, j, k])
                b[x, y, z] = sums[x, y, z] + a[8 - x, 5 - y, z]


@I.ir_module
class Scheduled:
    """A parallel loop over the rows, and vectors inside."""

    @T.prim_func
    def main(a: T.Buffer((6, 4, 16), "float32"), b: T.Buffer((6, 4, 16), "float32")):
        for i in T.parallel(6):
            for j in T.unroll(4):
                for k in T.vectorized(16):
                    b[i, j, k] = a[5 - i, j, k] * T.float32(3)


@I.ir_module
class Branching:
    """Stores on both sides of a condition, in place, with a value in between."""

    @T.prim_func
    def main(a: T.Buffer((5, 3), "int8")):
        for i in range(5):
            for j in range(3):
                if i % 2 == 0:
                    a[i, j] = a[i, j] + T.int8(1)
                else:
                    a[i, j] = a[i - 1, j] - a[i, j]


@I.ir_module
class Twice:
    """A result that one loop begins and another continues."""

    @T.prim_func
    def main(a: T.Buffer((3, 4), "float32"), b: T.Buffer((3, 4), "float32")):
        for i, j in T.grid(3, 4):
            b[i, j] = T.float32(1)
        for i, j in T.grid(3, 4):
            b[i, j] = b[i, j] + a[2 - i, 3 - j]


def scattered(array, leading, choose):
    """Returns memory with the array's rows in random order with gaps, and the table of their addresses."""
    shape = array.shape
    count = int(np.prod(shape[:leading]))
    size = array.nbytes // count
    stride = -(-size // 64) * 64
    memory = np.zeros(stride * 3 * count + 64, "uint8")
    base = -(-memory.ctypes.data // 64) * 64
    table = np.array([base + stride * int(each) for each in choose.permutation(3 * count)[:count]], "uint64")
    for row, pointer in zip(np.ascontiguousarray(array).reshape(count, -1), table):
        ctypes.memmove(int(pointer), row.tobytes(), size)
    return memory, table


def gathered(table, size):
    return b"".join(ctypes.string_at(int(pointer), size) for pointer in table)


class Rewritten(unittest.TestCase):
    """Kernels with tables give the results of the kernels that they replace."""

    def arrays(self, function):
        choose = np.random.default_rng(3)
        made = []
        for parameter in function.params:
            shape, dtype = [int(each) for each in parameter.ty.shape], str(parameter.ty.dtype)
            made.append((choose.standard_normal(shape) * 20).astype(dtype))
        return made

    def run_kernel(self, function, arguments):
        tensors = [tvm.runtime.tensor(each) for each in arguments]
        tvm.compile(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}), "llvm")["main"](*tensors)
        return [tensor.numpy() for tensor in tensors]

    def check(self, module):
        """Compares all choices of parameters and of leading axes. Returns their number."""
        function, choose = module["main"], np.random.default_rng(5)
        given = self.arrays(function)
        expected = self.run_kernel(function, given)
        kernel = rows.Kernel(function)
        choices = [[0, *(leading for leading in range(1, a.ndim)
                         if kernel.takes_table(number, list(a.shape), str(a.dtype), leading))]
                   for number, a in enumerate(given)]
        tried = 0
        for leading in itertools.product(*choices):
            tables = {number: axes for number, axes in enumerate(leading) if axes}
            if not tables:
                continue
            arguments, kept = list(given), {}
            for number, axes in tables.items():
                kept[number], arguments[number] = scattered(given[number], axes, choose)
            found = self.run_kernel(rows.rewritten(kernel.function, tables), arguments)
            for number, (right, ours) in enumerate(zip(expected, found)):
                if number in tables:
                    ours = gathered(arguments[number], right.nbytes // len(arguments[number]))
                    self.assertEqual(ours, right.tobytes(), leading)
                else:
                    self.assertEqual(ours.tobytes(), right.tobytes(), leading)
            tried += 1
        return tried

    def test_a_guarded_access_reads_no_entry_outside_of_the_table(self):
        self.assertEqual(self.check(Padded), 8)
        kernel = rows.Kernel(Padded["main"])
        self.assertIn("T.max(T.min(", rows.rewritten(kernel.function, {0: 1}).script())
        self.assertNotIn("T.max(T.min(", rows.rewritten(kernel.function, {1: 2}).script())

    def test_reductions(self):
        self.assertEqual(self.check(Product), 7)

    def test_tensors_of_the_kernel(self):
        self.assertEqual(self.check(Inside), 8)

    def test_parallel_unrolled_and_vectorized_loops(self):
        self.assertEqual(self.check(Scheduled), 8)

    def test_stores_on_both_sides_of_a_condition(self):
        self.assertEqual(self.check(Branching), 1)

    def test_dtypes(self):
        for dtype in "float16", "bool", "float64", "uint8":
            a = tirx.decl_buffer([5, 3], dtype, "a")
            b = tirx.decl_buffer([5, 3], dtype, "b")
            i, j = tirx.Var("i", "int32"), tirx.Var("j", "int32")
            body = tirx.BufferStore(b, tirx.BufferLoad(a, [i, j]), [4 - i, j])
            for var, extent in (j, 3), (i, 5):
                body = tirx.For(var, 0, extent, tirx.ForKind.SERIAL, body)
            with self.subTest(dtype):
                self.assertEqual(self.check(tvm.IRModule({"main": tirx.PrimFunc([a, b], body)})), 3)

    def test_rows_that_may_be_the_same_may_share_bytes(self):
        """TVM's attribute says that two buffers share no byte. It stays where no row of a result has two names."""
        for module, tables, kept in (Branching, {0: 1}, False), (Padded, {0: 1, 1: 1}, True), (Twice, {1: 1}, False), (
                Twice, {0: 1}, True):
            function = rows.Kernel(module["main"]).function.with_attr("tirx.noalias", True)
            made = rows.rewritten(function, tables)
            self.assertEqual("tirx.noalias" in made.attrs, kept, made.script())

    def test_two_loops_over_a_result(self):
        self.assertEqual(self.check(Twice), 3)

    def test_tables(self):
        """A table has the address of each row, in order, whatever memory it is in."""
        choose = np.random.default_rng(9)
        memories = [np.zeros(4096, "uint8") for _ in range(3)]
        for count in 1, 2, 3, 17, 40:
            places = [(2 * int(choose.integers(2)), 64 * int(choose.integers(6))) for _ in range(count)]
            places += [(0, 64 * n) for n in range(3)] + [(0, 512), (0, 256), (0, 0)]
            tensors = [tvm.runtime.tensor(memories[number]) for number in (0, 2)]
            table = tvm.runtime.tensor(np.zeros(len(places), "uint64"))
            kernel = rows.filling([0, 2], places).with_attr("global_symbol", "main")
            tvm.compile(tvm.IRModule({"main": kernel}), "llvm")["main"](*tensors, table)
            address = {number: np.from_dlpack(tensor).ctypes.data for number, tensor in zip((0, 2), tensors)}
            self.assertEqual(table.numpy().tolist(), [address[number] + offset for number, offset in places])
            self.assertEqual(sum(run[2] for run in rows.runs(places)), len(places))

    def test_rows_are_declared_outside_of_the_loops_that_keep_them(self):
        text = rows.rewritten(rows.Kernel(Product["main"]).function, {0: 1, 2: 1}).script()
        lines = [line.strip() for line in text.splitlines()]
        at = {part: next(n for n, line in enumerate(lines) if line.startswith(part))
              for part in ("for i", "row_of_a =", "row_of_c =", "for j")}
        self.assertTrue(at["for i"] < min(at["row_of_a ="], at["row_of_c ="]) < at["for j"], text)


class Refused(unittest.TestCase):
    """Parameters that stay contiguous."""

    def accepts(self, function, number=0, leading=1, shape=(4, 8), dtype="float32"):
        return rows.Kernel(function).takes_table(number, list(shape), dtype, leading)

    def test_accepted(self):
        @T.prim_func
        def plain(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
            for i, j in T.grid(4, 8):
                b[i, j] = a[i, j]

        self.assertTrue(self.accepts(plain) and self.accepts(plain, 1))
        self.assertFalse(self.accepts(plain, shape=(8, 4)) or self.accepts(plain, shape=(32,)))
        self.assertFalse(self.accepts(plain, dtype="int32"))

    def test_external_functions(self):
        @T.prim_func
        def extern(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
            T.evaluate(T.call_extern("int32", "copy", a.data, 32))
            for i, j in T.grid(4, 8):
                b[i, j] = a[i, j]

        self.assertFalse(self.accepts(extern))
        self.assertTrue(self.accepts(extern, 1))

    def test_addresses_of_elements(self):
        @T.prim_func
        def address(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
            for i in range(4):
                b[i, 0] = T.call_extern("float32", "first", T.address_of(a[i, 0]))

        self.assertFalse(self.accepts(address))
        self.assertTrue(self.accepts(address, 1))

    def test_other_buffers_over_the_same_bytes(self):
        @T.prim_func
        def other(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
            flat_a = T.decl_buffer((32,), "float32", data=a.data)
            for i, j in T.grid(4, 8):
                b[i, j] = flat_a[i * 8 + j]

        self.assertFalse(self.accepts(other))

    def test_rows_that_depend_on_data(self):
        @T.prim_func
        def gather(a: T.Buffer((4, 8), "float32"), at: T.Buffer((4,), "int32"), b: T.Buffer((4, 8), "float32")):
            for i, j in T.grid(4, 8):
                b[i, j] = a[at[i], j]

        self.assertFalse(self.accepts(gather))
        self.assertTrue(self.accepts(gather, 2))

    def test_rows_inside_a_vector(self):
        @T.prim_func
        def vectors(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
            for j in range(8):
                for i in T.vectorized(4):
                    b[i, j] = a[0, j]

        self.assertFalse(self.accepts(vectors, 1))
        self.assertTrue(self.accepts(vectors, 0))

    def test_conditions_and_bounds_that_read_the_tensor(self):
        @T.prim_func
        def condition(a: T.Buffer((4, 8), "int32"), b: T.Buffer((4, 8), "int32")):
            for i, j in T.grid(4, 8):
                if a[i, j] > 0:
                    b[i, j] = 1

        self.assertFalse(self.accepts(condition, dtype="int32"))
        self.assertTrue(self.accepts(condition, 1, dtype="int32"))

    def test_symbolic_shapes_and_strides(self):
        @T.prim_func
        def symbolic(x: T.handle, b: T.Buffer((4, 8), "float32")):
            n = T.int32()
            a = T.match_buffer(x, (n, 8), "float32")
            for i, j in T.grid(4, 8):
                b[i, j] = a[i, j]

        @T.prim_func
        def strided(x: T.handle, b: T.Buffer((4, 8), "float32")):
            a = T.match_buffer(x, (4, 8), "float32", strides=[16, 1])
            for i, j in T.grid(4, 8):
                b[i, j] = a[i, j]

        for function in symbolic, strided:
            self.assertFalse(self.accepts(function))
            self.assertTrue(self.accepts(function, 1))

    def test_splits(self):
        self.assertEqual(rows.splits([1, 64, 31, 31], 4, 64), [961, 31])
        self.assertEqual(rows.splits([1, 64, 31, 31], 4, 125), [961])
        self.assertEqual(rows.splits([2, 1, 16], 4, 64), [16])
        self.assertEqual(rows.splits([4, 0], 4, 0), [])
        self.assertEqual([rows.axes_before([4, 6, 16], row) for row in (96, 16, 1, 384, 24)], [1, 2, 0, 0, 0])
        self.assertEqual(rows.splits([4096], 4, 4), [])
        self.assertEqual(rows.splits([1, 4096], 4, 4), [])


class RowOracle(ByteOracle):
    """A ByteOracle that also reads the rows of a table."""

    def __init__(self, in_rows):
        super().__init__()
        self.left = iter(in_rows)
        self.sizes = {}

    def __call__(self, function, name, before, result, *arguments):
        if name.startswith("fill_rows"):
            if not before:
                table, tensor = arguments[-1], next(self.left)
                self.sizes[table] = tensor.size // len(tensor.rows)
            return 0
        return super().__call__(function, name, before, result, *arguments)

    def bytes_of(self, tensor):
        if tensor in self.sizes:
            return gathered(tensor.numpy(), self.sizes[tensor])
        return ByteOracle.bytes_of(tensor)


def spans(report):
    """Returns (lives, storage, first byte, last byte) of all tensors, rows and tables."""
    found = [(t.lives, t.storage, t.offset, t.offset + t.size) for t in report.tensors]
    for tensor in report.in_rows:
        size = tensor.size // len(tensor.rows)
        found += [(tensor.lives, storage, offset, offset + size) for storage, offset in tensor.rows]
        found.append((tensor.lives, tensor.table[0], tensor.table[1], tensor.table[1] + 8 * len(tensor.rows)))
    return found


def check_bytes(case, report):
    """Marks the bytes of all live tensors at each step. No byte is marked twice, or outside of its storage."""
    marks = spans(report)
    for step in {begin for lives, *_ in marks for begin, _ in lives}:
        used = [np.zeros(storage.size, "uint8") for storage in report.storages]
        for lives, storage, first, last in marks:
            if any(begin <= step < end for begin, end in lives):
                case.assertEqual(first % 64, 0)
                case.assertLessEqual(last, len(used[storage]))
                case.assertFalse(used[storage][first:last].any(), "two live tensors share a byte")
                used[storage][first:last] = 1


def holes(size, number):
    return [Memory("global", size) for _ in range(number)]


class Planned(unittest.TestCase):
    reference = "default"

    def check(self, module, arguments, memories, least=64, oracle=True, function="main",
              modes=("bytecode", "compiled")):
        """Compares the results in rows with those of TVM's own plan, and returns the report."""
        expected = self.outputs(tvm.compile(module, "llvm", relax_pipeline=self.reference), arguments, function)
        for mode in modes:
            report = []
            executable = relax.build(module, "llvm", exec_mode=mode, relax_pipeline=pipeline(
                memories, report=report, rows=least))
            report, = (each for each in report if each.function == function)
            check_bytes(self, report)
            watch = RowOracle(report.in_rows) if oracle and mode == "bytecode" else None
            found = self.outputs(executable, arguments, function, watch)
            self.assertEqual([each.tobytes() for each in found], [each.tobytes() for each in expected])
            if watch:
                self.assertEqual(watch.errors, [])
                self.assertEqual(len(watch.sizes), len(report.in_rows))
        for storage, memory in zip(report.storages, memories):
            self.assertLessEqual(storage.size, memory.capacity)
        return report

    @staticmethod
    def outputs(executable, arguments, function, oracle=None):
        machine = relax.VirtualMachine(executable, tvm.cpu())
        if oracle:
            machine.set_instrument(oracle)
        return flat(machine[function](*(tvm.runtime.tensor(each) for each in arguments)))

    def refused(self, module, memories):
        with self.assertRaisesRegex(MemoryError, "allot: no plan"):
            tvm.compile(module, "llvm", relax_pipeline=pipeline(memories))

    def test_tensors_that_fit_in_no_hole(self):
        module = chain(16)
        self.refused(module, holes(960, 8))
        report = self.check(unreshaped(), [random(16, 16)], holes(960, 8))
        self.assertGreater(len(report.in_rows), 0)
        self.assertEqual(report.mode, "wheel")
        self.assertEqual(report.status, "feasible")

    def test_plans_that_fit_have_no_rows(self):
        for memories in None, [Memory()], holes(4096, 1):
            plain, ours = (tvm.compile(chain(16), "llvm", relax_pipeline=pipeline(memories, rows=least))
                           for least in (None, 64))
            self.assertEqual(ours.as_text(), plain.as_text())

    def test_one_memory_with_holes_in_time(self):
        """The best contiguous plan has 15 KiB. At no step are there more than 14 KiB live."""
        tall = [Memory("global", 14 * 1024 + 768)]
        module, arguments, report = fragmented(), [random(4, 64)], []
        tvm.compile(module, "llvm", relax_pipeline=pipeline(report=report))
        self.assertEqual((report[0].status, report[0].bound), ("optimal", 15 * 1024))
        self.refused(module, tall)
        report = self.check(module, arguments, tall)
        self.assertEqual(len(report.storages), 1)
        self.assertGreater(len(report.in_rows), 0)

    def test_branches(self):
        self.reference = pipeline_with([])
        self.enterContext(mock.patch.object(row_plan, "TRIALS", 0))  # all tensors that can be in rows stay there
        for choice in True, False:
            report = self.check(Branches, [random(4, 64), np.array(choice)],
                                [*holes(1024, 2), *holes(960, 4)], oracle=False)
            self.assertGreater(len(report.in_rows), 1)

    def test_rows_in_a_window_and_on_the_heap(self):
        device, module, report = tvm.cpu(7), unreshaped(), []
        allot_tvm.use(device, "global.vtcm", "window", 2048)
        allot_tvm.use(device, "global", "pool")
        memories = [Memory("global.vtcm", 960), Memory("global.vtcm", 960), *holes(960, 2)]
        executable = tvm.compile(module, "llvm", relax_pipeline=pipeline(memories, "library", report=report, rows=64))
        check_bytes(self, report[0])
        self.assertEqual({report[0].storages[storage].scope for t in report[0].in_rows for storage, _ in t.rows},
                         {"global.vtcm", "global"})
        machine = relax.VirtualMachine(executable, device)
        for seed in 1, 2, 3:
            x = tvm.runtime.tensor(random(16, 16, seed=seed), device)
            expected, = outputs(tvm.compile(module, "llvm"), [random(16, 16, seed=seed)])
            self.assertEqual(machine["main"](x).numpy().tobytes(), expected.tobytes())
        self.assertEqual(allot_tvm.counts(device, "global.vtcm")[3], 6)  # two storages in each run

    def test_reshapes(self):
        """Rows of 16 elements are slices of all shapes. Rows of 64 elements are not."""
        def make(emit, x):
            value = emit(relax.op.exp(emit(relax.op.tanh(x))))
            value = emit(relax.op.tanh(emit(relax.op.reshape(value, (6, 4, 16)))))
            value = emit(relax.op.exp(emit(relax.op.reshape(value, (24, 1, 16)))))
            return relax.op.negative(emit(relax.op.reshape(value, (4, 6, 16))))

        report = self.check(function_of([(6, 64)], make), [random(6, 64)], holes(960, 8))
        self.assertIn({24}, [{len(tensor.rows)} for tensor in report.in_rows])
        self.assertGreater(len(report.in_rows), 2)

        def unlike(emit, x):
            value = emit(relax.op.exp(emit(relax.op.tanh(x))))
            return relax.op.negative(emit(relax.op.exp(emit(relax.op.reshape(value, (10, 33))))))

        memories = [Memory("global", 1344), *holes(960, 4)]
        report = self.check(function_of([(6, 55)], unlike), [random(6, 55)], memories)
        self.assertEqual([tensor.shape for tensor in report.tensors], [[6, 55]])

    def test_in_place_kernels(self):
        report = self.check(InPlace, [random(4, 64)], holes(960, 4), oracle=False)
        self.assertEqual(len(report.in_rows), 3)

    def test_two_functions(self):
        report = self.check(TwoFunctions, [random(4, 64)], holes(960, 4), oracle=False)
        self.assertGreater(len(report.in_rows), 0)

    def test_tensors_that_stay_contiguous(self):
        """A packed function, a view, a tuple and a result see the tensor itself."""
        def add_one(source, target):
            target.copyfrom(source.numpy() + 1)

        tvm_ffi.register_global_func("allot.test.add_one", add_one, override=True)
        report = self.check(Mixed, [random(4, 64)], [Memory("global", 4096), *holes(960, 6)])
        self.assertEqual({tensor.var.name for tensor in report.tensors} & {t.var.name for t in report.in_rows}, set())
        kept = [tensor for tensor in report.tensors if tensor.opaque]
        self.assertEqual(len(kept), 5)
        self.assertTrue(all(not tensor.opaque for tensor in report.in_rows))
        with self.assertRaisesRegex(MemoryError, "allot: no plan: . of . tensors are in rows of 64 bytes or more, and "
                                    "not all have room; the largest that stays contiguous is .* with 1024 bytes "
                                    r"\(function main, memories global, "):
            tvm.compile(Mixed, "llvm", relax_pipeline=pipeline(holes(960, 8), rows=64))

    def test_memories_that_are_too_small(self):
        for memories in holes(960, 2), holes(2048, 1):
            with self.assertRaisesRegex(MemoryError, "allot: no plan"):
                tvm.compile(unreshaped(), "llvm", relax_pipeline=pipeline(memories, rows=64))

    def test_rows_are_as_large_as_possible_and_not_below_the_least(self):
        report = self.check(three_axes(), [random(4, 6, 16)], holes(960, 6))
        self.assertEqual({len(tensor.rows) for tensor in report.in_rows}, {4})
        report = self.check(three_axes(), [random(4, 6, 16)], holes(320, 18))
        self.assertEqual({len(tensor.rows) for tensor in report.in_rows}, {24})
        with self.assertRaisesRegex(MemoryError, "allot: no plan"):
            tvm.compile(three_axes(), "llvm", relax_pipeline=pipeline(holes(320, 18), rows=65))

    def test_random_graphs(self):
        """Chains of kernels of random shapes, in holes that the largest tensors do not fit."""
        scattered_tensors = 0
        for seed in range(4):
            module, size = random_kernels(seed)
            with self.subTest(seed=seed):
                report = self.check(module, [random(3, 5, 17, seed=seed)], holes(size, 24), modes=["bytecode"])
                scattered_tensors += len(report.in_rows)
        self.assertGreater(scattered_tensors, 4)

    def test_wrong_lifetimes_are_detected(self):
        right = plan_memory.Lifetimes.lives
        report = []
        with mock.patch.object(plan_memory.Lifetimes, "lives", lambda *given: [(a, a + 1) for a, _ in right(*given)]):
            executable = tvm.compile(unreshaped(), "llvm", relax_pipeline=pipeline(holes(960, 2), report=report,
                                                                                  rows=64))
        watch = RowOracle(report[0].in_rows)
        self.outputs(executable, [random(16, 16)], "main", watch)
        self.assertNotEqual(watch.errors, [])
        report[0].in_rows[0].lives = [(0, 100)]
        with self.assertRaisesRegex(AssertionError, "two live tensors share a byte"):
            check_bytes(self, report[0])

    def test_plans_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "plan.json")
            first, again = (tvm.compile(unreshaped(), "llvm", relax_pipeline=pipeline(holes(960, 8), plan=plan(path),
                                                                                     rows=64))
                            for plan in (plans.recording, plans.recorded))
            self.assertEqual(again.as_text(), first.as_text())
            with self.assertRaisesRegex(MemoryError, "allot: no plan: .* fits none of its memories"):
                tvm.compile(unreshaped(), "llvm", relax_pipeline=pipeline(holes(960, 8), plan=plans.recorded(path)))

    def test_the_input_of_the_pass_is_unchanged(self):
        module = tvm.transform.Sequential([
            relax.transform.LegalizeOps(), relax.transform.ToNonDataflow(), relax.transform.CallTIRRewrite()])(
                unreshaped())
        before = module.script()
        planned = PlanMemory(holes(960, 8), rows=64)(module)
        self.assertEqual(module.script(), before)
        self.assertIn("tanh_in_rows", planned.script())

    def test_wrong_options_are_refused(self):
        for error, message, options in (
                (TypeError, "the least number of bytes of a row is '64': it must be an integer", {"rows": "64"}),
                (TypeError, "the least number of bytes of a row is True: it must be an integer", {"rows": True}),
                (ValueError, "the least number of bytes of a row is -1: it must be from 0", {"rows": -1}),
                (ValueError, "rows need pointers, and the mode carried has handles", {"rows": 1, "mode": "carried"})):
            with self.subTest(message), self.assertRaisesRegex(error, f"^allot: {message}"):
                pipeline(**options)
        memories = [Memory(f"global.m{m}", 64) for m in range(62)]
        tvm.compile(unreshaped(), "llvm", relax_pipeline=pipeline([*memories[:61], Memory()], rows=64))
        with self.assertRaisesRegex(ValueError, "has 63 memories on device 0: a plan has at most 62 with rows"):
            tvm.compile(unreshaped(), "llvm", relax_pipeline=pipeline([*memories, Memory()], rows=64))

    def test_a_network(self):
        """The program rows.py compares the outputs of more networks, also as compiled code."""
        module, weights = models.unet(1)
        report = self.check(module, [random(1, 3, 64, 64), *weights], holes(100 << 10, 8), function="forward",
                            modes=["bytecode"])
        self.assertGreater(len(report.in_rows), 8)
        self.assertGreater(len({storage for tensor in report.in_rows for storage, _ in tensor.rows}), 4)


def unreshaped(n=16, length=4):
    """x + 1, then hyperbolic tangents of ever new tensors, each multiplied by the one before."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((n, 16), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = builder.emit(relax.op.add(x, relax.const(1, "float32")))
            for _ in range(length):
                value = builder.emit(relax.op.multiply(builder.emit(relax.op.tanh(value)), value))
            result = builder.emit_output(relax.op.negative(value))
        builder.emit_func_output(result)
    return builder.finalize()


def function_of(shapes, make):
    """Returns a module whose function has parameters of these shapes and the body `make(emit, *parameters)`."""
    builder = relax.BlockBuilder()
    given = [relax.Var(f"x{n}", relax.TensorType(shape, "float32")) for n, shape in enumerate(shapes)]
    with builder.function("main", given):
        with builder.dataflow():
            result = builder.emit_output(make(builder.emit, *given))
        builder.emit_func_output(result)
    return builder.finalize()


def fragmented():
    """Returns a graph of tensors of 1 to 4 KiB, found by a search: every contiguous plan has holes."""
    sizes = [2, 3, 2, 4, 2, 2, 2, 1, 1, 3, 1, 4, 4, 1]
    arguments = [(), (0,), (0,), (0, 1, 2), (1,), (2, 3), (3, 0), (4, 2), (5,), (4, 7), (6,), (7, 2, 3), (3, 6), (12,)]

    def mixed(rows_of, *given):
        return tvm.te.compute((rows_of, 64), lambda i, j: sum(x[i % x.shape[0], j] for x in given))

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 64), "float32"))
    with builder.function("main", [x]):
        values = []
        for size, of in zip(sizes, arguments):
            values.append(builder.emit_te(mixed, 4 * size, *([values[each] for each in of] or [x])))
        builder.emit_func_output(values[-1])
    return builder.finalize()


def three_axes():
    def make(emit, x):
        value = emit(relax.op.tanh(x))
        for _ in range(3):
            value = emit(relax.op.multiply(emit(relax.op.exp(value)), value))
        return relax.op.negative(value)

    return function_of([(4, 6, 16)], make)


def random_kernels(seed):
    """Returns a graph of kernels over tensors of random sizes, and the bytes of a hole."""
    choose = np.random.default_rng(seed)

    def make(emit, x):
        values = [emit(relax.op.tanh(x))]
        for _ in range(7):
            first, second = (values[-1 - int(choose.integers(min(3, len(values))))] for _ in range(2))
            kind = int(choose.integers(5))
            shape = [int(each) for each in first.ty.shape]
            if kind == 0:
                values.append(emit(relax.op.concat([first, emit(relax.op.exp(first))], axis=int(choose.integers(3)))))
            elif kind == 1:
                values.append(emit(relax.op.permute_dims(first, [1, 0, 2])))
            elif kind == 2 and min(shape) > 1:
                values.append(emit(relax.op.strided_slice(first, [0, 1], [1, 0], shape[:2])))
            elif kind == 3:
                values.append(emit(relax.op.add(first, emit(relax.op.sum(second, keepdims=True)))))
            else:
                values.append(emit(relax.op.nn.pad(first, [0, 0, 1, 1, 0, 0])))
        return relax.op.tanh(values[-1])

    return function_of([(3, 5, 17)], make), 1024


@I.ir_module
class Branches:
    @R.function
    def main(x: R.Tensor((4, 64), "float32"), choice: R.Tensor((), "bool")):
        first = R.exp(x)
        if choice:
            a = R.tanh(first)
            b = R.multiply(a, R.exp(a))
            z = R.tanh(R.add(b, first))
        else:
            c = R.tanh(first)
            d = R.add(c, R.exp(c))
            z = R.tanh(R.multiply(d, first))
        return R.add(z, x)


@I.ir_module
class InPlace:
    @T.prim_func(private=True, s_tir=True)
    def double(a: T.Buffer((4, 64), "float32")):
        for i, j in T.grid(4, 64):
            with T.sblock("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = a[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4, 64), "float32")):
        cls = InPlace
        with R.dataflow():
            a = R.tanh(x)
            b = R.call_tir_inplace(cls.double, (a,), inplace_indices=[0], out_ty=R.Tensor((4, 64), "float32"))
            c = R.exp(x)
            d = R.add(b, c)
            e = R.tanh(d)
            R.output(e)
        return e


@I.ir_module
class TwoFunctions:
    @R.function
    def inner(x: R.Tensor((4, 64), "float32")) -> R.Tensor((4, 64), "float32"):
        a = R.tanh(x)
        b = R.exp(a)
        return R.add(a, b)

    @R.function
    def main(x: R.Tensor((4, 64), "float32")) -> R.Tensor((4, 64), "float32"):
        cls = TwoFunctions
        b: R.Tensor((4, 64), "float32") = cls.inner(x)
        c = R.tanh(x)
        d = R.exp(c)
        return R.add(d, b)


@I.ir_module
class Mixed:
    @R.function
    def main(x: R.Tensor((4, 64), "float32")):
        with R.dataflow():
            a = R.tanh(x)
            b = R.call_dps_packed("allot.test.add_one", (a,), out_ty=R.Tensor((4, 64), "float32"))
            c = R.exp(b)
            d = R.memory.view(c, R.shape([8, 32]))
            e = R.tanh(d)
            f = R.exp(e)
            g = R.add(f, e)
            pair = (g, f)
            h = R.multiply(pair[0], e)
            R.output(h)
        return h


if __name__ == "__main__":
    unittest.main()
