"""A Relax pass in the place of StaticPlanBlockMemory: allot plans all memory of a function, and tensors have offsets.

    import allot_tvm, tvm
    from allot_tvm.plan_memory import Memory, pipeline

    executable = tvm.compile(module, target="llvm", relax_pipeline=pipeline())

    allot_tvm.load()  # TVM's wheel alone has no memory for "global.vtcm"
    allot_tvm.use(tvm.cpu(), "global.vtcm", "window", 48 << 10)
    executable = tvm.compile(module, "llvm", relax_pipeline=pipeline([Memory("global.vtcm", 48 << 10), Memory()]))

    Relax function ──► lifetimes ──► allot.plan_memory ──► one storage for each memory, one offset for each tensor

The planner is a small shared library that runs at compile time. plans.py also reads plans from a file.

In the mode "wheel" the compiled program contains only instructions of TVM, so it runs where only TVM's wheel is. In the
mode "library" it calls allot.alloc_storage and allot.alloc_tensor, which check at run time that no two live tensors
share a byte. TVM keeps some tensors after their last use: where a function has branches, holds a tensor in a tuple, or
calls a function of Relax that may return it. Such functions contain the instructions of the mode "wheel" in both modes.
A Report has the mode that its function really has. The mode "carried" is for a device whose kernels take offsets as
arguments (opencl.py).

A tensor with a static shape is planned. So is a tensor with a bounded shape (`tir_var_upper_bound`), with the size of
its bound, which the program checks when it runs. A tensor with a symbolic shape is planned together with the tensors
whose sizes are multiples of the same expression, in units of this expression. Tensors that leave the function, textures
and other symbolic tensors stay with the run-time allocator, as do those that an unknown operator receives.

If the tensors do not fit contiguously, the option `rows` splits some of them into rows, which lie anywhere in the
memories (row_plan.py).

An external function must not keep its arguments after it returns, because the next tensor takes their bytes. It may
return them. If a function returns a tensor in a window, the window needs room for two results: the virtual machine
keeps the last result until the next call ends.
"""

from collections import namedtuple
from dataclasses import dataclass, field
from itertools import accumulate

import tvm
import tvm_ffi
from tvm import relax, sym, tirx
from tvm.ir import GlobalVar, Op, Range
from tvm.relax import transform
from tvm.relax.op.vm import kill_object

from . import alloc_storage, alloc_tensor, plans
from .row_plan import RowPlan
from .rows import Kernels, axes_before, filling, keeping, rewritten

ALIGNMENT = 64  # TVM's kernels and ensure_zero_offset require this alignment
EFFORT = 150_000  # the planner's limit on its search; see allot::memories_options
MEMORIES = 63  # the most memories of a plan: the planner receives a set of memories as a positive number of 64 bits
NOTHING = frozenset()
ALIASING = ("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset")

# The steps [then, otherwise) are the first branch of an If, and [otherwise, end) are the second.
Branch = namedtuple("Branch", "then otherwise end")


@dataclass(frozen=True)
class Memory:
    """A memory for tensors: its scope, its capacity in bytes (None is no limit), and the device that it belongs to.

    The order of a list of memories is the order of their costs: a tensor is in the first memory that has room, and the
    tensors with the most uses for each byte have precedence. `storage_scope` is the scope that the program asks for, if
    it differs: a run on the wheel alone has only "global".
    """

    scope: str = "global"
    capacity: int | None = None
    device: int = 0
    storage_scope: str | None = None

    def __post_init__(self):
        for name in "scope", "storage_scope":
            given = getattr(self, name)
            if not isinstance(given, str) and (name == "scope" or given is not None):
                raise TypeError(f"allot: the {name} of a Memory is {given!r}: it must be text, such as 'global.vtcm'")
        if self.scope.startswith("global.texture"):
            raise ValueError(f"allot: {self.scope} is not flat memory: leave textures to the run-time allocator")
        if self.capacity is not None:
            check_number(self.capacity, f"the capacity of {self.scope} (None is no limit)")
        check_number(self.device, f"the device of {self.scope}")


def check_number(value, name):
    """Refuses a value that the planner cannot have."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"allot: {name} is {value!r}: it must be an integer")
    if not 0 <= value < 2**63:
        raise ValueError(f"allot: {name} is {value}: it must be from 0 to 2**63 - 1")


@dataclass
class Planned:
    """A tensor of a function: its binding, its uses as steps, and later its place."""

    var: relax.Var
    step: int
    shape: list
    dtype: str
    scope: str
    device: int
    uses: list = field(default_factory=list)
    escapes: bool = False
    size: int = 0  # bytes, or bytes for each unit of `factor`
    factor: object = None  # the symbolic factor of the size
    bounded: bool = False  # the size is that of the bound of a symbolic shape
    lives: list = field(default_factory=list)
    storage: int | None = None
    offset: int = 0
    kernels: list = field(default_factory=list)  # the kernels that use it: name, number of the parameter, shape
    opaque: bool = False  # another use than that of a kernel or a reshape
    row: int = 0  # the number of elements in a row, if it is in rows
    table: tuple | None = None  # storage and offset of its table, if it is in rows
    rows: list = field(default_factory=list)  # storage and offset of each row

    @property
    def item(self):
        """Bytes of an element."""
        element = tvm.DataType(self.dtype)
        return (element.bits * element.lanes + 7) // 8

    def buffer(self, size, allowed):
        """Returns a buffer of the planner that lives as long as the tensor. `allowed` is a set of memories."""
        return size, ALIGNMENT, max(len(self.uses), 1), allowed, *(step for life in self.lives for step in life)


@dataclass
class Storage:
    """A storage that a function allocates when it begins."""

    scope: str
    device: int
    size: int
    factor: object = None


@dataclass
class Report:
    """The plan of one function: its tensors and storages, and the lower bound of the storages' bytes if it is known.

    `mode` is the mode of the function's instructions: "wheel" instead of "library" if TVM keeps dead tensors, or if
    tensors are in rows.
    """

    function: str
    tensors: list
    in_rows: list  # the tensors in rows: the option `rows` of the pass
    left: list  # the tensors that stay with the run-time allocator
    storages: list
    bound: int
    status: str
    mode: str


class Lifetimes:
    """Finds the tensors that a function allocates, and the steps at which each is used.

    Steps are numbered in the order of the program. The branches of an If come one after the other. A variable stands
    for a set of tensors, or for a list of such values if it is a tuple. A use of the variable is a use of all of them.
    """

    def __init__(self, module, function):
        self.module = module
        self.step = 0
        self.values = {}
        self.seen = {}  # the last step at which the program names a variable
        self.tensors = {}
        self.names = {}  # the tensor by each variable that is another name of it
        self.branches = []
        self.kept = set()  # tensors that the virtual machine holds in a register without a name
        self.escape(self.sequence(function.body))
        for var, value in self.values.items():
            if var not in self.names:
                self.close(value)
        for tensor in self.tensors.values():
            tensor.lives = self.lives(tensor)

    def sequence(self, sequence):
        if not isinstance(sequence, relax.SeqExpr):
            return self.value(sequence)
        for block in sequence.blocks:
            for binding in block.bindings:
                self.step += 1
                self.values[binding.var] = self.bound_value(binding)
        return self.value(sequence.body)

    def bound_value(self, binding):
        value = binding.value
        if (of := renamed(binding)) in self.names:
            self.names[binding.var] = self.names[of]
        if isinstance(value, relax.If):
            return self.branch(value)
        if isinstance(value, relax.SeqExpr):
            return self.sequence(value)
        if isinstance(value, relax.Call):
            return self.call(binding.var, value)
        return self.value(value)

    def value(self, expression):
        if isinstance(expression, relax.Tuple):
            return [self.part(item) for item in expression.fields]
        if isinstance(expression, relax.TupleGetItem):
            whole = self.part(expression.tuple_value)
            return whole[expression.index] if isinstance(whole, list) else whole
        if isinstance(expression, relax.Var):
            self.seen[expression] = self.step
            return self.values.get(expression, NOTHING)
        self.escape([self.values.get(var, NOTHING) for var in relax.analysis.free_vars(expression)])
        return NOTHING

    def part(self, expression):
        """Returns the value of an expression inside another. TVM never kills a tuple there, because it has no name."""
        value = self.value(expression)
        if isinstance(expression, relax.Tuple):
            self.kept.update(flat(value))
        return value

    def branch(self, value):
        condition = self.value(value.cond)
        self.use(condition)
        self.close(condition)
        then = self.step + 1
        first = self.sequence(value.true_branch)
        self.step += 1
        otherwise = self.step
        second = self.sequence(value.false_branch)
        self.step += 1
        self.branches.append(Branch(then, otherwise, self.step))
        return merged(first, second)

    def call(self, var, call):
        arguments = list(call.args)
        if isinstance(call.op, Op):
            name = call.op.name
            if name == "relax.builtin.alloc_tensor":
                return self.allocated(var, call)
            if name in ALIASING:
                return self.value(arguments[0])
            self.escape([self.part(argument) for argument in arguments])
            return NOTHING
        given = [self.part(argument) for argument in arguments]
        self.use(given)
        if isinstance(call.op, GlobalVar) and isinstance(self.module[call.op], tirx.PrimFunc):
            for number, argument in enumerate(arguments):
                if isinstance(argument, relax.Var) and argument in self.names:
                    self.tensors[self.names[argument]].kernels.append((call.op, number, shape_of(argument)))
                else:
                    self.close(given[number])
            return NOTHING
        self.close(given)
        if isinstance(call.op, (GlobalVar, relax.ExternFunc)):  # either may return one of its arguments
            result = frozenset(flat(given)) if may_be_tensor(var.ty) else NOTHING
            if isinstance(call.op, GlobalVar):  # the machine keeps the result until the next call
                self.kept.update(result)
            return result
        self.escape(given)
        return NOTHING

    def allocated(self, var, call):
        tensor = Planned(var, self.step, list(call.args[0].values), str(var.ty.dtype), str(call.args[3].value),
                         int(call.args[2]))
        self.tensors[var], self.names[var] = tensor, var
        return frozenset([var])

    def use(self, value):
        for var in flat(value):
            self.tensors[var].uses.append(self.step)

    def close(self, value):
        """Notes tensors that must stay contiguous."""
        for var in flat(value):
            self.tensors[var].opaque = True

    def escape(self, value):
        for var in flat(value):
            self.tensors[var].escapes = True

    def lives(self, tensor):
        """Returns the intervals of steps during which the tensor's bytes are in use."""
        begin, end = tensor.step, max(tensor.uses, default=tensor.step) + 1
        unused = []  # intervals in which the tensor is not live, because the other branch is taken
        for then, otherwise, after in self.branches:
            if then <= begin < otherwise:
                unused.append((otherwise, after))
            elif begin < then and end <= after:
                last = max((use for use in tensor.uses if then <= use < otherwise), default=then - 1)
                unused.append((last + 1, otherwise))
        return without([(begin, end)], unused)


def without(intervals, unused):
    for first, last in unused:
        intervals = [piece for begin, end in intervals
                     for piece in ((begin, min(end, first)), (max(begin, last), end)) if piece[0] < piece[1]]
    return intervals


def renamed(binding):
    """Returns the variable of which the binding is another name, also with another static shape, or None."""
    value = binding.value
    if isinstance(value, relax.Var):
        return value
    if isinstance(value, relax.Call) and getattr(value.op, "name", "") == "relax.reshape" and shape_of(binding.var):
        return value.args[0]
    return None


def shape_of(var):
    """Returns the extents of a tensor if all are known, or an empty list."""
    extents = getattr(getattr(var.ty, "shape", None), "values", [])
    return [int(each) for each in extents] if all(isinstance(each, tirx.IntImm) for each in extents) else []


def merged(first, second):
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [merged(*pair) for pair in zip(first, second)]
    return frozenset(flat(first)) | frozenset(flat(second))


def flat(value):
    if isinstance(value, list):
        return [var for item in value for var in flat(item)]
    return list(value)


def may_be_tensor(type_of):
    if isinstance(type_of, relax.TupleType):
        return any(may_be_tensor(item) for item in type_of.fields)
    return not isinstance(type_of, (relax.ShapeType, tvm.ir.PrimType))


class Sizes:
    """Computes the sizes of tensors: constants, bounds, or multiples of a symbolic factor."""

    def __init__(self, function):
        self.analyzer = sym.Analyzer()
        self.known = {var for parameter in function.params
                      for var in relax.analysis.definable_tir_vars_in_type(parameter.ty)}
        bounds = dict((function.attrs or {}).get("tir_var_upper_bound", {}))
        for var in self.known:
            if var.name in bounds:
                self.analyzer.bind(var, Range(0, int(bounds[var.name]) + 1))

    def set_size(self, tensor):
        """Sets the tensor's size, and returns whether the tensor can be planned."""
        if tensor.escapes or tensor.scope.startswith("global.texture"):
            return False
        symbolic = [d for d in tensor.shape if not isinstance(d, tirx.IntImm)]
        tensor.size = tensor.item
        for dimension in tensor.shape:
            if isinstance(dimension, tirx.IntImm):
                tensor.size *= int(dimension)
        bounds = [self.analyzer.const_int_bound(d) for d in symbolic]
        if all(bound.max_value < bound.POS_INF for bound in bounds):
            tensor.bounded = bool(symbolic)
            for bound in bounds:
                tensor.size *= max(bound.max_value, 0)
            return True
        return self.set_factor(tensor, symbolic)

    def set_factor(self, tensor, symbolic):
        atoms = []
        for dimension in symbolic:
            dimension = self.analyzer.canonical_simplify(dimension)
            while isinstance(dimension, tirx.Mul) and isinstance(dimension.b, tirx.IntImm):
                tensor.size *= int(dimension.b)
                dimension = dimension.a
            atoms.append(dimension)
        if any(var not in self.known for atom in atoms for var in tirx.analysis.undefined_vars(tirx.Evaluate(atom))):
            return False  # its value is computed only after the storages are allocated
        atoms.sort(key=str)
        tensor.factor = atoms[0]
        for atom in atoms[1:]:
            tensor.factor = tensor.factor * atom
        if aligned(tensor.size) > tensor.size + tensor.size // 8:  # the unit is a block of 64 bytes of this size
            tensor.factor = (tensor.factor * tirx.IntImm("int64", tensor.size) + (ALIGNMENT - 1)) // ALIGNMENT
            tensor.size = ALIGNMENT
        return True


def aligned(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


class FunctionPlan:
    """Plans one function: gives each tensor a storage and an offset."""

    def __init__(self, kernels, function, name, memories, effort, plan, rows):
        self.lifetimes = Lifetimes(kernels.module, function)
        tensors = list(self.lifetimes.tensors.values())
        sizes = Sizes(function)
        planned = [tensor for tensor in tensors if sizes.set_size(tensor)]
        self.memories, self.effort, self.plan, self.name = memories, effort, plan, name
        self.kernels, self.rows = kernels, rows
        self.storages, self.bound, self.status = [], 0, "optimal"
        for device in sorted({tensor.device for tensor in planned if tensor.factor is None}):
            self.plan_static([t for t in planned if t.device == device and t.factor is None], device)
        self.plan_symbolic([t for t in planned if t.factor is not None])
        self.tensors = [tensor for tensor in planned if tensor.storage is not None]
        self.in_rows = [tensor for tensor in planned if tensor.rows]
        self.left = [tensor for tensor in tensors if tensor.storage is None and not tensor.rows]

    def kills(self):
        """Returns the variables to kill before each tensor is allocated, or None if not all of them can be killed.

        A variable that holds a dead tensor keeps its bytes in use until the variable is killed.
        """
        if self.lifetimes.branches or self.in_rows:
            return None
        kept = [self.lifetimes.tensors[of] for of in self.lifetimes.kept]
        held = [(var, self.lifetimes.tensors[of]) for var, value in self.lifetimes.values.items() for of in flat(value)]
        kills, killed = {}, set()
        for tensor in self.tensors:
            dead = [var for var, other in held if other.step < tensor.step and share_bytes(other, tensor)]
            if (any(self.lifetimes.seen.get(var, 0) >= tensor.step for var in dead)
                    or any(other.step < tensor.step and share_bytes(other, tensor) for other in kept)):
                return None
            kills[tensor.var] = [var for var in dict.fromkeys(dead) if var not in killed]
            killed.update(dead)
        return kills

    def report(self, mode):
        return Report(self.name, self.tensors, self.in_rows, self.left, self.storages, self.bound, self.status, mode)

    def plan_static(self, tensors, device):
        memories = [memory for memory in self.memories if memory.device == device]
        for scope in dict.fromkeys(tensor.scope for tensor in tensors):
            given = scope == "global" and any(memory in self.memories for memory in memories)
            if not given and not any(scope == memory.scope for memory in memories):
                memories.append(Memory(scope, device=device))
        most, text = (MEMORIES, "") if self.rows is None else (MEMORIES - 1, " with rows")
        if len(memories) > most:
            raise ValueError(f"allot: function {self.name} has {len(memories)} memories on device {device}: "
                             f"a plan has at most {most}{text}")
        allowed = [sum(1 << m for m, memory in enumerate(memories) if self.may_hold(memory, tensor))
                   for tensor in tensors]
        places, peaks, chosen = self.placed(tensors, allowed, memories)
        index = {}
        for m, memory in enumerate(memories):
            if peaks[m] or any(memory_of == m for memory_of, _ in places):
                index[m] = len(self.storages)
                self.storages.append(Storage(memory.storage_scope or memory.scope, device, peaks[m]))
        chosen.set_places(places, index)

    def placed(self, tensors, allowed, memories):
        """Returns the places of the buffers, the peaks of the memories, and the choice of tensors in rows."""
        chosen = RowPlan(tensors, allowed)
        try:
            return *self.run(chosen.buffers(0)[0], memories), chosen
        except MemoryError:
            if self.rows is None or too_large(tensors, memories):
                raise
        try:
            places, peaks = chosen.plan(self.run, memories, self.kernels, self.rows)
        except MemoryError as error:
            raise self.named(error, memories) from None
        self.status = "feasible"
        return places, peaks, chosen

    def may_hold(self, memory, tensor):
        return tensor.scope == memory.scope or tensor.scope == "global" and memory in self.memories

    def plan_symbolic(self, tensors):
        groups = []
        for tensor in tensors:
            scope = self.symbolic_scope(tensor)
            if scope is None:
                continue
            for group in groups:
                if group[0] == (scope, tensor.device) and tvm_ffi.structural_equal(group[1].factor, tensor.factor):
                    group.append(tensor)
                    break
            else:
                groups.append([(scope, tensor.device), tensor])
        for (scope, device), *group in groups:
            places, peaks = self.run([t.buffer(aligned(t.size), 1) for t in group], [Memory()], symbolic=True)
            for tensor, (_, tensor.offset) in zip(group, places):
                tensor.storage = len(self.storages)
            self.storages.append(Storage(scope, device, peaks[0], group[0].factor))

    def symbolic_scope(self, tensor):
        """Returns the scope of a memory without a limit, or None."""
        memories = [memory for memory in self.memories if memory.device == tensor.device]
        if tensor.scope != "global" or not memories:
            return tensor.scope
        return next((m.storage_scope or m.scope for m in memories if m.capacity is None), None)

    def run(self, buffers, memories, overflow=None, symbolic=False):
        """Calls the planner. Returns the memory and the offset of each buffer, and the peak of each memory.

        `overflow` is the cost of one more memory without a limit.
        """
        rows = [(-1 if memory.capacity is None else memory.capacity, ALIGNMENT, cost)
                for cost, memory in enumerate(memories)]
        if overflow is not None:
            rows.append((-1, ALIGNMENT, overflow))
        try:
            status, memory, offset, peak, bound, _ = plans.checked(self.plan(buffers, rows, self.effort), buffers, rows)
        except (MemoryError, ValueError) as error:
            raise self.named(error, memories) from None
        if status != "optimal":
            self.status = status
        self.bound += bound if len(rows) == 1 and not symbolic else 0
        return list(zip(memory, offset)), peak

    def named(self, error, memories):
        """Returns the error with the names of the function and of the memories."""
        names = ", ".join(memory.scope for memory in memories)
        return type(error)(f"{str(error).splitlines()[0]} (function {self.name}, memories {names})")


def too_large(tensors, memories):
    """Returns whether more bytes live at one step than all memories have."""
    if any(memory.capacity is None for memory in memories):
        return False
    steps = sorted((step, size) for tensor in tensors for begin, end in tensor.lives
                   for step, size in ((begin, tensor.size), (end, -tensor.size)))
    most = max(accumulate(size for _, size in steps), default=0)
    return most > sum(memory.capacity for memory in memories)


def share_bytes(first, second):
    return (first.storage is not None and first.storage == second.storage
            and first.offset < second.offset + second.size and second.offset < first.offset + first.size)


@relax.expr_functor.mutator
class Rewriter(relax.PyExprMutator):
    """Replaces the allocations of a function by its plan."""

    def __init__(self, module, kernels, plan, emit):
        super().__init__(module)
        self.tensors = {tensor.var: tensor for tensor in plan.tensors}
        self.in_rows = {var: plan.lifetimes.tensors[of] for var, of in plan.lifetimes.names.items()
                        if plan.lifetimes.tensors[of].rows}
        self.given, self.kernels, self.plan, self.emit, self.storages = module, kernels, plan, emit, None
        self.bases = {}  # a tensor at the begin of each storage that has rows
        self.rewritten = {}  # kernels by the name of the given kernel and its tables

    def visit_binding_block_(self, block):
        if self.storages is not None:
            return super().visit_binding_block_(block)
        self.builder_._begin_binding_block()
        self.storages = [self.emit.storage(self.builder_, storage) for storage in self.plan.storages]
        for number in sorted({number for tensor in self.in_rows.values() for number, _ in tensor.rows}):
            storage = self.plan.storages[number]
            base = Planned(None, 0, [storage.size], "uint8", storage.scope, storage.device, storage=number)
            self.bases[number] = self.builder_.emit(self.placed(base), "base")
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_._end_block()

    def placed(self, tensor):
        return self.emit.tensor(self.builder_, self.storages[tensor.storage], self.plan.storages[tensor.storage],
                                tensor)

    def visit_var_binding_(self, binding):
        if binding.var in self.in_rows:
            of = renamed(binding)
            table = self.table(self.in_rows[binding.var]) if of is None else self.visit_expr(of)
            self.set_var_remap(binding.var, table)
            return
        tensor = self.tensors.get(binding.var)
        if tensor is None:
            super().visit_var_binding_(binding)
            return
        for dead in self.emit.kills.get(binding.var, ()):
            self.builder_.emit(kill_object(dead))
        value = self.placed(tensor)
        self.builder_.emit_normalized(relax.VarBinding(binding.var, self.builder_.normalize(value)))

    def table(self, tensor):
        """Allocates the table of a tensor in rows, and fills it."""
        storage, offset = tensor.table
        table = self.builder_.emit(self.placed(Planned(
            None, 0, [len(tensor.rows)], "uint64", tensor.scope, tensor.device, storage=storage, offset=offset)),
            tensor.var.name)
        memories = sorted({memory for memory, _ in tensor.rows})
        self.call(self.builder_.add_func(filling(memories, tensor.rows), "fill_rows"),
                  [*(self.bases[memory] for memory in memories), table])
        return table

    def call(self, kernel, arguments):
        self.builder_.emit(relax.Call(kernel, arguments, ty_args=[relax.TupleType([])]))

    def with_storages_kept(self, function):
        """Returns the function with a use of all storages that have rows at its end, because TVM does not see theirs."""
        if not self.bases:
            return function
        keep = self.builder_.add_func(keeping(len(self.bases)), "keep_rows")
        call = self.builder_.normalize(relax.Call(keep, [*self.bases.values()], ty_args=[relax.TupleType([])]))
        last = relax.BindingBlock([relax.VarBinding(relax.Var("_", relax.TupleType([])), call)])
        body = relax.SeqExpr([*function.body.blocks, last], function.body.body)
        return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)

    def kernels_in_rows(self):
        """Returns the kernels that the function calls and the given module lacks."""
        return {name: function for name, function in self.builder_.get().functions_items()
                if name.name_hint not in self.given}

    def visit_call_(self, call):
        tables = {number: axes_before(shape_of(argument), self.in_rows[argument].row)
                  for number, argument in enumerate(call.args)
                  if isinstance(argument, relax.Var) and argument in self.in_rows}
        if not tables:
            return super().visit_call_(call)
        key = (call.op, *tables.items())
        if key not in self.rewritten:
            self.rewritten[key] = self.builder_.add_func(rewritten(self.kernels[call.op].function, tables),
                                                         f"{call.op.name_hint}_in_rows")
        arguments = [self.visit_expr(argument) for argument in call.args]
        return relax.Call(self.rewritten[key], arguments, call.attrs, call.ty_args)


def scaled(number, factor):
    return relax.prim_value(number if factor is None else factor * tirx.IntImm("int64", number))


class Wheel:
    """Writes allocations with TVM's own operators. An offset is a view that ensure_zero_offset moves to its address."""

    mode = "wheel"
    kills = {}  # KillAfterLastUse kills the tensors

    def storage(self, builder, storage):
        return builder.emit(self.allocated(scaled_shape(storage), storage), "storage")

    def allocated(self, shape, storage):
        return relax.op.memory.alloc_storage(shape, storage.device, storage.scope, "uint8")

    def tensor(self, builder, variable, storage, tensor):
        offset = scaled(tensor.offset, storage.factor)
        shape = relax.ShapeExpr(tensor.shape)
        if not tensor.bounded:
            return self.placed(builder, variable, offset, shape, tensor.dtype, tensor)
        # The view fails at run time if the shape exceeds its bound.
        value = self.placed(builder, variable, offset, relax.ShapeExpr([tensor.size]), "uint8", tensor)
        return relax.op.memory.view(builder.emit(value, "reserved"), shape, tensor.dtype)

    def placed(self, builder, variable, offset, shape, dtype, tensor):
        value = relax.op.memory.alloc_tensor(variable, offset, shape, dtype, tensor.device)
        if tensor.offset == 0:
            return value
        return relax.op.memory.ensure_zero_offset(builder.emit(value, "placed"))


class Carried(Wheel):
    """Writes allocations for a device whose tensors carry their offsets, such as OpenCL."""

    mode = "carried"

    def placed(self, builder, variable, offset, shape, dtype, tensor):
        return relax.op.memory.alloc_tensor(variable, offset, shape, dtype, tensor.device)


class Library(Wheel):
    """Writes allocations with allot's functions."""

    mode = "library"

    def __init__(self, kills):
        self.kills = kills

    def allocated(self, shape, storage):
        return alloc_storage(shape, storage.device, "uint8", storage.scope)

    def placed(self, builder, variable, offset, shape, dtype, tensor):
        return alloc_tensor(variable, offset, shape, dtype)


def scaled_shape(storage):
    return relax.ShapeExpr([scaled(storage.size, storage.factor)])


def emitter(mode, plan):
    if mode == "carried":
        return Carried()
    kills = plan.kills() if mode == "library" else None
    return Wheel() if kills is None else Library(kills)


def PlanMemory(memories=None, mode="wheel", effort=EFFORT, report=None, plan=plans.plan, rows=None):
    """Returns the pass, whose name is like that of TVM's passes.

    `memories` is a list of Memory in the order of preference. None is one memory without a limit for each scope.

    `report` is a list to which the pass appends one Report for each function. `plan` is a planner of plans.py.

    `rows` is the least number of bytes of a row, for tensors that fit contiguously in no memory: their rows lie
    anywhere in the memories, and their kernels read a table of pointers (rows.py). None is no rows.

    Raises MemoryError with the planner's reason if the tensors do not fit.
    """
    memories = [] if memories is None else memories
    if not isinstance(memories, (list, tuple)) or not all(isinstance(memory, Memory) for memory in memories):
        raise TypeError(f"allot: memories is {memories!r}: it must be a list of Memory, or None")
    check_number(effort, "the effort")
    if mode not in ("wheel", "library", "carried"):
        raise ValueError(f"allot: there is no mode {mode!r}: use wheel, library or carried")
    if rows is not None:
        check_number(rows, "the least number of bytes of a row")
        if mode == "carried":
            raise ValueError("allot: rows need pointers, and the mode carried has handles: use wheel or library")

    @tvm.transform.module_pass(opt_level=0, name="AllotPlanMemory")
    def run(module, _):
        planned, kernels = module.clone(), Kernels(module)
        for name, function in module.functions_items():
            if isinstance(function, relax.Function):
                found = FunctionPlan(kernels, function, name.name_hint, memories, effort, plan, rows)
                emit = emitter(mode, found)
                if report is not None:
                    report.append(found.report(emit.mode))
                if found.tensors or found.in_rows:
                    rewriter = Rewriter(planned, kernels, found, emit)
                    planned[name] = rewriter.with_storages_kept(rewriter.visit_expr(function))
                    planned.update(rewriter.kernels_in_rows())
        return planned

    return run


def pipeline(memories=None, mode="wheel", effort=EFFORT, report=None, plan=plans.plan, rows=None):
    """Returns TVM's default pipeline of passes for the CPU, with PlanMemory in the place of StaticPlanBlockMemory."""
    return pipeline_with([PlanMemory(memories, mode, effort, report, plan, rows)])


def pipeline_with(planning):
    """Returns TVM's default pipeline with other passes in the place of StaticPlanBlockMemory. An empty list is no plan.

    Every tensor then has a storage of its own, which the run-time allocator allocates.
    """
    @tvm.transform.module_pass(opt_level=0, name="allot_pipeline")
    def run(module, _):
        return tvm.transform.Sequential([
            relax.backend.DispatchSampling(),
            relax.backend.DispatchSortScan(),
            transform.LegalizeOps(),
            transform.RewriteDataflowReshape(),
            transform.ToNonDataflow(),
            transform.RemovePurityChecking(),
            transform.CallTIRRewrite(),
            *planning,
            transform.RewriteCUDAGraph(),
            transform.LowerAllocTensor(),
            transform.KillAfterLastUse(),
            transform.LowerRuntimeBuiltin(),
            transform.ComputePrimValue(),
            transform.VMShapeLower(),
            transform.AttachGlobalSymbol(),
        ])(module)

    return run
