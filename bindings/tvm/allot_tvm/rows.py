"""Kernels whose tensors have rows anywhere in memory: the part of plan_memory.py that rewrites functions of TIR.

    function = rewritten(kernel, {2: 1})    # parameter 2 is a table, with a pointer for each index of its first axis

A tensor in rows has a table: a tensor of shape (rows,) and dtype uint64 with a pointer to each row. A row holds the
elements that have the same indices of the leading axes. `rewritten` returns a kernel that takes the table in the place
of the tensor. It computes the same values in the same order.

    c[n, ch, y, x] = a[n, ch, y, x]  ──►  row = T.decl_buffer((Y, X), data=T.reinterpret("handle", c[n * CH + ch]))
                                          row[y, x] = a[n, ch, y, x]

A row is declared before the loops that do not change it, so the inner loops read no table.

A kernel can be rewritten for a parameter if the shape is static, all accesses are loads and stores of elements inside
BufferStore, and the row of an element depends on loop variables only. `Kernels` finds such parameters. A tensor that
any other kernel, a packed function, a tuple or a view uses stays contiguous. A reshape keeps the rows if a row is also a
slice of the last axes of the new shape.
"""

from math import prod

import tvm
import tvm_ffi
from tvm import s_tir, sym, tirx
from tvm.ir import Range, TensorLoad
from tvm.script import tirx as T

POINTER = 8  # bytes of an entry of a table
STATEMENTS = (tirx.For, tirx.SeqStmt, tirx.IfThenElse, tirx.BufferStore, tirx.Evaluate, tirx.Bind, tirx.AllocBuffer,
              tirx.DeclBuffer)


def lowered(function):
    """Returns the kernel without blocks: the first passes of TVM's pipeline for kernels."""
    passes = s_tir.transform
    return tvm.transform.Sequential([
        passes.CanonicalizeLoop(), passes.LowerInitBlock(), passes.PlanAndUpdateBufferAllocationLocation(),
        passes.ConvertBlocksToOpaque(), passes.CompactBufferAllocation(), passes.LowerMatchBuffer(),
        passes.LowerOpaqueBlock()])(tvm.IRModule({"kernel": function}))["kernel"]


def splits(shape, item, least):
    """Returns the numbers of elements that a row can have, from few large rows to many small ones.

    A row is a slice of the last axes. It has `least` bytes or more, and there are two rows or more.
    """
    sizes = dict.fromkeys(prod(shape[leading:]) for leading in range(1, len(shape)))
    return [size for size in sizes if size < prod(shape) and size * item >= max(least, 1)]


def axes_before(shape, row):
    """Returns the number of leading axes after which a slice has `row` elements, or 0.

    A tensor with another shape over the same elements then has the same rows.
    """
    return next((axes for axes in range(1, len(shape)) if prod(shape[axes:]) == row), 0)


class Kernels:
    """The kernels of a module: finds the parameters that can be tables, and keeps the lowered kernels."""

    def __init__(self, module):
        self.module = module
        self.known = {}

    def __getitem__(self, name):
        if name not in self.known:
            self.known[name] = Kernel(self.module[name])
        return self.known[name]


class Kernel:
    """A kernel without blocks, and its accesses to its parameters."""

    def __init__(self, function):
        self.function = lowered(function)
        self.counts, self.loads, self.stores = {}, {}, {}  # by buffer
        self.fixed = set()  # variables on which no row may depend
        self.plain = True
        walk = tvm_ffi.structural_walk
        walk(self.function.body, [(tvm.ir.Var, self.see_variable), (tirx.Stmt, self.see_statement)])

    def see_variable(self, var):
        self.counts[var] = self.counts.get(var, 0) + 1

    def see_statement(self, statement):
        self.plain = self.plain and isinstance(statement, STATEMENTS)
        if isinstance(statement, tirx.For) and statement.kind == tirx.ForKind.VECTORIZED:
            self.fixed.add(statement.loop_var)
        elif isinstance(statement, tirx.Bind):
            self.fixed.add(statement.var)
        elif isinstance(statement, tirx.BufferStore):
            self.accesses(self.stores, statement.buffer).append(statement.indices)
            tvm_ffi.structural_walk(statement, [(TensorLoad, self.see_load), (tvm.ir.Call, self.see_call)])

    def see_load(self, load):
        if tirx.buffer.is_buffer_var(load.source):
            self.accesses(self.loads, load.source).append(load.indices)

    def see_call(self, call):
        if getattr(call.op, "name", "") == "tirx.address_of" and isinstance(call.args[0], TensorLoad):
            self.see_variable(call.args[0].source)  # one more than its accesses

    @staticmethod
    def accesses(of, buffer):
        return of.setdefault(buffer, [])

    def takes_table(self, number, shape, dtype, leading):
        """Returns whether the parameter can be a table for a tensor of this shape, with rows after the leading axes."""
        buffer = self.function.params[number]
        if leading == 0 or not self.plain or not tirx.buffer.is_buffer_var(buffer):
            return False
        of = buffer.ty
        if (not all(isinstance(each, tirx.IntImm) for each in of.shape) or [int(each) for each in of.shape] != shape
                or str(of.dtype) != dtype or of.strides or not isinstance(of.elem_offset, tirx.IntImm)
                or int(of.elem_offset) != 0):
            return False
        found = self.loads.get(buffer, []) + self.stores.get(buffer, [])
        return (len(found) == self.counts.get(buffer, 0)
                and all(self.names_row(index) for indices in found for index in indices[:leading]))

    def names_row(self, index):
        parts = []
        tvm_ffi.structural_walk(index, [((TensorLoad, tvm.ir.Call, tirx.Ramp), parts.append),
                                        (tvm.ir.Var, lambda var: parts.append(var) if var in self.fixed else None)])
        return not parts


class _Rows:
    """Replaces the accesses to some parameters of a kernel by accesses to their rows."""

    def __init__(self, function, leading):
        self.tables = {}  # the table and the number of leading axes, by buffer
        self.parameters = list(function.params)
        for number, axes in leading.items():
            buffer = self.parameters[number]
            count = prod(int(each) for each in buffer.ty.shape[:axes])
            table = tirx.decl_buffer([count], "uint64", f"rows_of_{buffer.name}")
            self.tables[buffer], self.parameters[number] = (table, axes), table
        self.analyzer = sym.Analyzer()
        self.pending = []  # declarations that have no place yet: (row, buffer, variables, statement)
        self.stored, self.declared = set(), []  # the tables of stored buffers, and the table of each declaration

    def visit(self, statement):
        """Returns the statement. Declarations that may be before it are pending."""
        if isinstance(statement, tirx.For):
            return self.loop(statement)
        if isinstance(statement, tirx.SeqStmt):
            return sequence([self.visit(each) for each in statement.seq])
        if isinstance(statement, tirx.IfThenElse):
            other = statement.else_case
            return tirx.IfThenElse(statement.condition, self.visit(statement.then_case),
                                   None if other is None else self.visit(other))
        if isinstance(statement, tirx.BufferStore):
            return self.store(statement)
        return statement

    def loop(self, loop):
        self.analyzer.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))
        outer, self.pending = self.pending, []
        body = self.visit(loop.body)
        alone = loop.kind == tirx.ForKind.PARALLEL
        here = [each for each in self.pending if alone or loop.loop_var in each[2]]
        self.pending = outer + [each for each in self.pending if each not in here]
        return tirx.For(loop.loop_var, loop.min, loop.extent, loop.kind,
                        sequence([*(each[3] for each in here), body]), loop.thread_binding, loop.annotations,
                        loop.step, loop.span)

    def store(self, store):
        value, *indices = (tvm_ffi.structural_map(each, (TensorLoad, self.load))
                           for each in (store.value, *store.indices))
        if store.buffer in self.tables:
            self.stored.add(self.tables[store.buffer][0])
        buffer, indices = self.place(store.buffer, indices)
        return tirx.BufferStore(buffer, value, indices, store.span)

    def load(self, load):
        if load.source not in self.tables:
            return load
        return tirx.BufferLoad(*self.place(load.source, load.indices))

    def place(self, buffer, indices):
        """Returns the buffer of a row and the indices in it."""
        if buffer not in self.tables:
            return buffer, indices
        table, axes = self.tables[buffer]
        row = self.row_number(buffer.ty.shape[:axes], indices[:axes])
        for known, of, _, declared in self.pending:
            if of is table and tvm_ffi.structural_equal(known, row):
                return declared.buffer, indices[axes:]
        made = tirx.decl_buffer(buffer.ty.shape[axes:], buffer.ty.dtype, f"row_of_{buffer.name}",
                                scope=buffer.ty.storage_scope)
        declared = tirx.DeclBuffer(made, data=T.reinterpret("handle", tirx.BufferLoad(table, [row])))
        self.declared.append(table)
        self.pending.append((row, table, set(tirx.analysis.undefined_vars(tirx.Evaluate(row))), declared))
        return made, indices[axes:]

    def row_number(self, shape, indices):
        """Returns the number of the row. An access that a condition guards may name a row outside of the table."""
        number = tirx.IntImm("int64", 0)
        for extent, index in zip(shape, indices):
            number = number * extent + index
        number = self.analyzer.simplify(number)
        count = prod(int(each) for each in shape)
        if not self.analyzer.can_prove(tirx.all(number >= 0, number < count)):
            number = tirx.max(tirx.min(number, count - 1), 0)
        return number


def sequence(statements):
    """Returns one statement for several."""
    flat = []
    for each in statements:
        flat += each.seq if isinstance(each, tirx.SeqStmt) else [each]
    return flat[0] if len(flat) == 1 else tirx.SeqStmt(flat)


def rewritten(function, leading):
    """Returns the kernel with tables in the place of some parameters: `leading` has their leading axes by number."""
    rows = _Rows(function, leading)
    body = rows.visit(function.body)
    body = sequence([*(each[3] for each in rows.pending), body])
    made = tirx.PrimFunc(rows.parameters, body, function.ret_type, function.attrs, function.span)
    if any(rows.declared.count(table) > 1 for table in rows.stored):
        # With this attribute, TVM tells LLVM that two declared buffers share no byte. These may be the same row.
        made = made.without_attr("tirx.noalias")
    return made


def runs(rows):
    """Returns the rows as runs (memory, first row, count, offset, stride) with equal distances in one memory."""
    found = []
    for number, (memory, offset) in enumerate(rows):
        if found and found[-1][0] == memory:
            _, first, count, begin, stride = found[-1]
            if count == 1 or offset == begin + count * stride:
                found[-1] = memory, first, count + 1, begin, offset - begin if count == 1 else stride
                continue
        found.append((memory, number, 1, offset, 0))
    return found


def tensor_parameter():
    """Returns a parameter of a kernel that is the address of a DLTensor."""
    return tirx.Var("memory", tvm.ir.PointerType(tvm.ir.PrimType("void")))


def keeping(number):
    """Returns a kernel that takes tensors and does nothing, for a use of the tensors."""
    return tirx.PrimFunc([tensor_parameter() for _ in range(number)], tirx.Evaluate(0))


def filling(memories, rows):
    """Returns the kernel that fills a table. Its parameters are the tensors at the begin of `memories`, and the table.

    `rows` has the memory and the offset of each row.
    """
    tensors = {memory: tensor_parameter() for memory in memories}
    table = tirx.decl_buffer([len(rows)], "uint64", "table")
    statements, pointers = [], {}
    for memory, tensor in tensors.items():  # the first member of a DLTensor is the pointer to its data
        pointers[memory] = tirx.decl_buffer([1], "uint64", "pointer")
        statements.append(tirx.DeclBuffer(pointers[memory], data=tensor))
    for memory, first, count, offset, stride in runs(rows):
        row = tirx.Var("row", "int64")
        pointer = tirx.BufferLoad(pointers[memory], [0]) + tirx.Cast("uint64", row * stride + offset)
        statements.append(tirx.For(row, 0, count, tirx.ForKind.SERIAL,
                                   tirx.BufferStore(table, pointer, [row + first])))
    return tirx.PrimFunc([*tensors.values(), table], tirx.SeqStmt(statements))
