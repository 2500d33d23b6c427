# SPDX-License-Identifier: BSL-1.0
"""The planner: offsets of buffers with known sizes and lifetimes."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, overload

from allot import _allot

UNLIMITED = 2**64 - 1
_COLUMNS = ("size", "lower", "upper", "alignment")


class Buffer(NamedTuple):
    """A buffer to place. It is live at the steps from lower up to, but not including, upper."""

    size: int
    lower: int
    upper: int
    alignment: int = 1


class Memory(NamedTuple):
    """A memory for buffers. A byte in it costs `cost` for each use of its buffer."""

    capacity: int | None = None
    cost: int = 0
    alignment: int = 1


#: A table of buffers: rows (tuples or mappings), columns (a mapping, or a DataFrame of pandas), or an array of NumPy with
#: three or four columns, or with named fields.
Buffers: TypeAlias = Iterable[Any] | Mapping[str, Any]


class _Made:
    """The results that both kinds of plans have."""

    _made: _allot.PlanOfOne | _allot.PlanOfSeveral
    _names: list[str]

    @property
    def step(self) -> int:
        """The step at which the most bytes are live."""
        return self._made.step

    @property
    def status(self) -> str:
        """The quality: 'optimal', 'feasible', 'infeasible' or 'out of budget'."""
        return self._made.status

    @property
    def seconds(self) -> float:
        """The time that the planner took."""
        return self._made.seconds


class Plan(_Made):
    """The offsets of buffers in one memory."""

    _made: _allot.PlanOfOne

    def __init__(self, made: _allot.PlanOfOne, names: list[str]) -> None:
        self._made = made
        self._names = names

    @property
    def offsets(self) -> list[int]:
        """The offset of each buffer."""
        return self._made.offsets

    @property
    def peak(self) -> int:
        """The bytes that the memory needs."""
        return self._made.peak

    @property
    def bound(self) -> int:
        """A lower bound on the peak of every plan."""
        return self._made.bound

    @property
    def alignment(self) -> int:
        """The required alignment of the memory's first byte."""
        return self._made.alignment

    @property
    def fits(self) -> bool:
        """Whether the peak is at most the capacity."""
        return self._made.fits

    def svg(self) -> str:
        """Returns a picture: time across, addresses up, a rectangle for each buffer."""
        return self._made.svg(self._names)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return (f"<Plan of {len(self.offsets)} buffers in {self.peak} bytes: {self.status}, "
                f"lower bound {self.bound}>")


class MemoriesPlan(_Made):
    """The memory and the offset of each buffer."""

    _made: _allot.PlanOfSeveral

    def __init__(self, made: _allot.PlanOfSeveral, names: list[str]) -> None:
        self._made = made
        self._names = names

    @property
    def offsets(self) -> list[int | None]:
        """The offset of each buffer in its memory, or None for an unplaced buffer."""
        return self._made.offsets

    @property
    def memories(self) -> list[int | None]:
        """The index of the memory of each buffer, or None for an unplaced buffer."""
        return self._made.memories

    @property
    def peaks(self) -> list[int]:
        """The bytes that each memory needs."""
        return self._made.peaks

    @property
    def alignments(self) -> list[int]:
        """The required alignment of the first byte of each memory."""
        return self._made.alignments

    @property
    def cost(self) -> int:
        """The sum over all placed buffers of size times uses times the cost of the memory."""
        return self._made.cost

    @property
    def bound(self) -> int:
        """A lower bound on the cost of every plan."""
        return self._made.bound

    @property
    def spilled(self) -> int:
        """The bytes of buffers in memories other than the first."""
        return self._made.spilled

    @property
    def unplaced(self) -> int:
        """The number of buffers without a place."""
        return self._made.unplaced

    @property
    def fits(self) -> bool:
        """Whether each buffer has a place."""
        return self._made.fits

    def svg(self) -> str:
        """Returns a picture with the memories side by side. Raises ValueError if a buffer is unplaced."""
        return self._made.svg(self._names)

    def _repr_svg_(self) -> str | None:
        return self.svg() if self.fits else None

    def __repr__(self) -> str:
        return (f"<MemoriesPlan of {len(self.offsets)} buffers, {self.spilled} bytes spilled: {self.status}, "
                f"cost {self.cost}, lower bound {self.bound}>")


class _Table(NamedTuple):
    sizes: Any
    lower: Any
    upper: Any
    alignments: Any
    names: list[str]


def _numbers(column: Any, signed: bool, name: str) -> Any:
    """Returns a column as an array of 64-bit integers that C++ reads without a copy."""
    code = "q" if signed else "Q"
    if hasattr(column, "to_numpy"):
        column = column.to_numpy()
    if hasattr(column, "astype"):
        kind = column.dtype.kind
        if kind not in "iu" and column.size:
            raise TypeError(f"column {name} has elements of {column.dtype}; integers are required")
        lowest, highest = (int(column.min()), int(column.max())) if column.size else (0, 0)
        if (highest >= 2**63) if signed else (lowest < 0):
            raise ValueError(f"column {name}: {highest if signed else lowest} is out of range")
        return column.astype("int64" if signed else "uint64", order="C")
    try:
        return array(code, column)
    except OverflowError:
        raise ValueError(f"column {name} has a number that is out of range") from None


def _table_of_columns(columns: Any, keys: Iterable[str]) -> _Table:
    keys = list(keys)
    for name in _COLUMNS[:3]:
        if name not in keys:
            raise ValueError(f"the table has no column {name}; its columns are: {', '.join(map(str, keys))}")
    sizes = _numbers(columns["size"], False, "size")
    given = columns["alignment"] if "alignment" in keys else [1] * len(sizes)
    names = [str(name) for name in columns["id"]] if "id" in keys else []
    made = _Table(sizes, _numbers(columns["lower"], True, "lower"), _numbers(columns["upper"], True, "upper"),
                  _numbers(given, False, "alignment"), names)
    if len({len(column) for column in made[:4]}) != 1:
        raise ValueError("the columns have different lengths")
    return made


def _table_of_rows(rows: Iterable[Any]) -> _Table:
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    names: list[str] = []
    for number, row in enumerate(rows):
        if isinstance(row, Mapping):
            missing = [name for name in _COLUMNS[:3] if name not in row]
            if missing:
                raise ValueError(f"buffer {number} has no {missing[0]}")
            values = [row.get(name, 1) for name in _COLUMNS]
            names.append(str(row.get("id", number)))
        else:
            values = list(row)
            if len(values) not in (3, 4):
                raise ValueError(f"buffer {number} has {len(values)} values instead of size, lower, upper and an "
                                 "optional alignment")
            values += [1] * (4 - len(values))
            names.append(str(number))
        for name, value in zip(_COLUMNS, values):
            columns[name].append(value)
    sizes, lower, upper, alignments = (_numbers(columns[name], name in ("lower", "upper"), name) for name in _COLUMNS)
    return _Table(sizes, lower, upper, alignments, names)


def _table(buffers: Any) -> _Table:
    if isinstance(buffers, Mapping):
        return _table_of_columns(buffers, buffers.keys())
    if hasattr(buffers, "columns"):  # pandas
        return _table_of_columns(buffers, buffers.columns)
    if hasattr(buffers, "dtype"):  # NumPy
        if buffers.dtype.names:
            return _table_of_columns(buffers, buffers.dtype.names)
        if buffers.ndim != 2 or buffers.shape[1] not in (3, 4):
            raise ValueError(f"the array has the shape {buffers.shape} instead of (buffers, 3) or (buffers, 4)")
        return _table_of_columns({name: buffers[:, i] for i, name in enumerate(_COLUMNS[: buffers.shape[1]])},
                                 _COLUMNS[: buffers.shape[1]])
    return _table_of_rows(buffers)


def _number(value: Any, name: str) -> int:
    """Returns an integer that fits 64 bits without a sign."""
    number = operator.index(value)
    if not 0 <= number <= UNLIMITED:
        raise ValueError(f"{name}: {number} is not from 0 to 2**64 - 1")
    return number


def _step(value: Any, name: str) -> int:
    """Returns an integer that fits 64 bits with a sign."""
    number = operator.index(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{name}: {number} is not from -2**63 to 2**63 - 1")
    return number


def _pairs(pairs: Iterable[tuple[int, int]], name: str) -> list[tuple[int, int]]:
    return [(_number(first, name), _number(second, name)) for first, second in pairs]


def _constraints(revivals: Iterable[tuple[int, int, int]], fixed: Mapping[int, int],
                 together: Iterable[tuple[int, int]], apart: Iterable[tuple[int, int]],
                 reserved: Iterable[tuple[int, int]]) -> _allot.Constraints:
    lives = [(_number(buffer, "revivals"), _step(lower, "revivals"), _step(upper, "revivals"))
             for buffer, lower, upper in revivals]
    return _allot.Constraints(lives, _pairs(fixed.items(), "fixed"), _pairs(together, "together"),
                              _pairs(apart, "apart"), _pairs(reserved, "reserved"))


@overload
def plan(buffers: Buffers, *, capacity: int | None = None, memories: None = None,
         revivals: Iterable[tuple[int, int, int]] = (), fixed: Mapping[int, int] = {},
         together: Iterable[tuple[int, int]] = (), apart: Iterable[tuple[int, int]] = (),
         reserved: Iterable[tuple[int, int]] = (), effort: int | None = None, seconds: float | None = None,
         progress: Callable[[int, int], object] | None = None) -> Plan: ...


@overload
def plan(buffers: Buffers, *, memories: Sequence[Memory | tuple[int | None, ...]], uses: Sequence[int] = (),
         allowed: Sequence[int] = (), revivals: Iterable[tuple[int, int, int]] = (), fixed: Mapping[int, int] = {},
         together: Iterable[tuple[int, int]] = (), apart: Iterable[tuple[int, int]] = (), effort: int | None = None,
         seconds: float | None = None, progress: Callable[[int, int], object] | None = None) -> MemoriesPlan: ...


def plan(buffers: Buffers, *, capacity: int | None = None,
         memories: Sequence[Memory | tuple[int | None, ...]] | None = None, uses: Sequence[int] = (),
         allowed: Sequence[int] = (), revivals: Iterable[tuple[int, int, int]] = (), fixed: Mapping[int, int] = {},
         together: Iterable[tuple[int, int]] = (), apart: Iterable[tuple[int, int]] = (),
         reserved: Iterable[tuple[int, int]] = (), effort: int | None = None, seconds: float | None = None,
         progress: Callable[[int, int], object] | None = None) -> Plan | MemoriesPlan:
    """Computes an offset for each buffer, so that buffers that are live at the same time share no byte.

    `buffers` is a table with the columns size, lower, upper and, optional, alignment and id: a list of tuples, of `Buffer`
    or of mappings; a mapping of columns; a DataFrame of pandas; or an array of NumPy with three or four columns or with
    these fields. A buffer is live at the steps from lower up to, but not including, upper.

    Without a capacity, the planner minimizes the peak. With one, it returns the first plan that fits, and `Plan.fits` is
    false if it found none. Without `seconds`, the same arguments give the same plan on every machine.

    >>> import allot
    >>> plan = allot.plan([(4, 0, 3), (8, 3, 9), {"size": 4, "lower": 0, "upper": 9, "alignment": 4}])
    >>> plan
    <Plan of 3 buffers in 12 bytes: optimal, lower bound 12>
    >>> allot.plan([(4, 0, 3), (8, 2, 9)], capacity=8).fits
    False

    With `memories`, fastest first, each buffer gets a memory and an offset. The sum of size times uses times the cost of
    the memory is low. A tuple in place of a `Memory` has its values in the same order.

    >>> two = allot.plan([(512, 0, 4), (768, 1, 2)], memories=[allot.Memory(1024), allot.Memory(cost=1)], uses=[10, 1])
    >>> two.memories, two.offsets, two.spilled
    ([0, 1], [0, 0], 768)

    Other arguments:

    - `revivals`: additional lifetimes (buffer, lower, upper)
    - `fixed`: prescribed offsets by buffer
    - `together`, `apart`: pairs of buffers that share one offset, or that never share a byte
    - `reserved`: ranges (offset, size) that no buffer may use; only for one memory
    - `uses`, `allowed`: for several memories: the number of uses of each buffer, and its allowed memories as bits
    - `effort`: a limit on the work; 0 makes one simple plan. `seconds`: a limit on the time, which the planner uses
    - `progress`: is called with the peak (or the cost) and its bound, at most 20 times a second. The planner returns its
      best plan so far when the function returns true

    Other threads run while the planner works. Ctrl-C raises KeyboardInterrupt. Raises PlanError for an invalid problem.
    """
    table = _table(buffers)
    with_ = _constraints(revivals, fixed, together, apart, reserved)
    if progress is not None and not callable(progress):
        raise TypeError("progress must be a function of two numbers")
    called = None if progress is None else (lambda reached, bound: bool(progress(reached, bound)))
    if seconds is not None and not seconds >= 0:
        raise ValueError("seconds must not be negative")
    work = None if effort is None else _number(effort, "effort")
    if memories is None:
        if len(uses) or len(allowed):
            raise ValueError("uses and allowed need memories")
        one = _allot.plan(table.sizes, table.lower, table.upper, table.alignments, with_,
                          UNLIMITED if capacity is None else _number(capacity, "capacity"),
                          500_000 if work is None else work, seconds, called)
        return Plan(one, table.names)
    if capacity is not None:
        raise ValueError("give the capacity of each memory in place of capacity")
    if len(memories) == 0:
        raise ValueError("memories is empty")
    named = [Memory(*memory) for memory in memories]
    several = _allot.plan_memories(
        table.sizes, table.lower, table.upper, table.alignments, with_,
        [(UNLIMITED if each.capacity is None else _number(each.capacity, "capacity"),
          _number(each.alignment, "alignment"), _number(each.cost, "cost")) for each in named],
        [_number(each, "uses") for each in uses], [_number(each, "allowed") for each in allowed],
        (2**60 if seconds is not None else 150_000) if work is None else work, seconds, called)
    return MemoriesPlan(several, table.names)


def validate(buffers: Buffers, offsets: Iterable[int], *, capacity: int | None = None,
             revivals: Iterable[tuple[int, int, int]] = (), fixed: Mapping[int, int] = {},
             together: Iterable[tuple[int, int]] = (), apart: Iterable[tuple[int, int]] = (),
             reserved: Iterable[tuple[int, int]] = ()) -> str | None:
    """Returns the first mistake in given offsets as a sentence, or None. It shares no code with the planner.

    >>> import allot
    >>> allot.validate([(4, 0, 3), (8, 2, 9)], [0, 4])
    >>> allot.validate([(4, 0, 3), (8, 2, 9)], [0, 3])
    'two buffers live at the same time and share bytes: 1 and 0'
    """
    table = _table(buffers)
    with_ = _constraints(revivals, fixed, together, apart, reserved)
    given = _numbers(offsets if hasattr(offsets, "dtype") else list(offsets), False, "offsets")
    return _allot.mistake_in(table.sizes, table.lower, table.upper, table.alignments, with_, given,
                             UNLIMITED if capacity is None else _number(capacity, "capacity"))
