# SPDX-License-Identifier: BSL-1.0
"""The arguments of the planners: tables of buffers and their constraints, as numbers for the extension module."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from allot import _allot

UNLIMITED = 2**64 - 1
_COLUMNS = ("size", "lower", "upper", "alignment")
_SIGNED = ("lower", "upper")


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


class Access(NamedTuple):
    """A use of a whole buffer at one step. A write replaces all contents. Otherwise the access reads them."""

    buffer: int
    step: int
    writes: bool = False


#: A table of buffers: rows (tuples or mappings), columns (a mapping, or a DataFrame of pandas), or an array of NumPy with
#: three or four columns, or with named fields.
Buffers: TypeAlias = Iterable[Any] | Mapping[str, Any]


def number(value: Any, name: str) -> int:
    """Returns an integer that fits 64 bits without a sign."""
    return _within(value, name, 0, UNLIMITED, "0 to 2**64 - 1")


def step(value: Any, name: str) -> int:
    """Returns an integer that fits 64 bits with a sign."""
    return _within(value, name, -(2**63), 2**63 - 1, "-2**63 to 2**63 - 1")


def index(value: Any, count: int, name: str) -> int:
    """Returns the index of a buffer."""
    made = number(value, name)
    if made >= count:
        raise ValueError(f"{name}: buffer {made} does not exist")
    return made


def _within(value: Any, name: str, lowest: int, highest: int, allowed: str) -> int:
    try:
        made = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r} is not an integer") from None
    if not lowest <= made <= highest:
        raise ValueError(f"{name}: {made} is not from {allowed}")
    return made


def iterable(values: Any, name: str, wanted: str) -> Iterator[Any]:
    """Returns the elements of an argument."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name} must be {wanted}, not {type(values).__name__}")
    try:
        return iter(values)
    except TypeError:
        raise TypeError(f"{name} must be {wanted}, not {type(values).__name__}") from None


def tuples(values: Any, name: str, wanted: str, least: int, most: int) -> Iterator[tuple[Any, ...]]:
    """Returns the elements of an argument, each with `least` to `most` members."""
    for element in iterable(values, name, "a list"):
        made = tuple(element) if isinstance(element, Iterable) and not isinstance(element, str) else None
        if made is None or not least <= len(made) <= most:
            raise TypeError(f"{name}: {element!r} is not {wanted}")
        yield made


def numbers(column: Any, name: str) -> Any:
    """Returns a column as an array of 64-bit integers that C++ reads without a copy."""
    if hasattr(column, "to_numpy"):
        column = column.to_numpy()
    if hasattr(column, "astype"):
        return _array(column, name)
    values = list(iterable(column, f"column {name}", "a list of integers"))
    try:
        return array("q" if name in _SIGNED else "Q", values)
    except (OverflowError, TypeError):
        for at, value in enumerate(values):  # the first wrong one
            (step if name in _SIGNED else number)(value, f"column {name}, buffer {at}")
        raise


def _array(column: Any, name: str) -> Any:
    """Returns an array of NumPy as one of 64-bit integers."""
    if column.ndim != 1:
        raise ValueError(f"column {name} has {column.ndim} dimensions; its name may occur twice")
    if column.dtype.kind == "O":  # a column of pandas with large or missing numbers
        return numbers(list(column), name)
    if column.dtype.kind not in "iu" and column.size:
        wrong = [at for at, value in enumerate(column.tolist()) if value != value]  # NaN differs from itself
        if wrong:
            raise TypeError(f"column {name}, buffer {wrong[0]}: {column[wrong[0]]} is not an integer")
        raise TypeError(f"column {name} has elements of {column.dtype}; integers are required")
    convert = step if name in _SIGNED else number
    if column.size:
        for at in {int(column.argmin()), int(column.argmax())}:
            convert(column[at], f"column {name}, buffer {at}")
    return column.astype("int64" if name in _SIGNED else "uint64", order="C")


class _Columns(NamedTuple):
    sizes: Any
    lower: Any
    upper: Any
    alignments: Any
    names: list[str]


def _from_columns(columns: Any, keys: Iterable[str]) -> _Columns:
    keys = list(keys)
    for name in _COLUMNS[:3]:
        if name not in keys:
            raise ValueError(f"the table has no column {name}; its columns are: {', '.join(map(str, keys))}")
    made = {name: numbers(columns[name], name) for name in _COLUMNS if name in keys}
    names = [str(name) for name in columns["id"]] if "id" in keys else []
    lengths = {name: len(column) for name, column in made.items()} | ({"id": len(names)} if "id" in keys else {})
    if len(set(lengths.values())) != 1:
        raise ValueError("the columns have different lengths: " + ", ".join(f"{name} {n}" for name, n in lengths.items()))
    made.setdefault("alignment", array("Q", [1]) * len(made["size"]))
    return _Columns(made["size"], made["lower"], made["upper"], made["alignment"], names)


def _from_rows(rows: Any) -> _Columns:
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    names: list[str] = []
    first: tuple[int, bool] | None = None  # the first mapping, and whether it has an id
    for at, row in enumerate(iterable(rows, "buffers", "a table of buffers")):
        if isinstance(row, Mapping):
            missing = [name for name in _COLUMNS[:3] if name not in row]
            if missing:
                raise ValueError(f"buffer {at} has no {missing[0]}")
            first = first or (at, "id" in row)
            if ("id" in row) != first[1]:
                raise ValueError(f"buffer {at} has {'no' if first[1] else 'an'} id, unlike buffer {first[0]}")
            values = [row.get(name, 1) for name in _COLUMNS]
            names.append(str(row.get("id", at)))
        else:
            values = list(iterable(row, f"buffer {at}", "a row with a size, lower and upper"))
            if len(values) not in (3, 4):
                raise ValueError(f"buffer {at} has {len(values)} values instead of size, lower, upper and an "
                                 "optional alignment")
            values += [1] * (4 - len(values))
            names.append(str(at))
        for name, value in zip(_COLUMNS, values):
            columns[name].append(value)
    sizes, lower, upper, alignments = (numbers(columns[name], name) for name in _COLUMNS)
    return _Columns(sizes, lower, upper, alignments, names)


def _columns_of(buffers: Any) -> _Columns:
    if isinstance(buffers, Mapping):
        return _from_columns(buffers, buffers.keys())
    if hasattr(buffers, "columns"):  # pandas
        return _from_columns(buffers, buffers.columns)
    if hasattr(buffers, "dtype"):  # NumPy
        if buffers.dtype.names:
            return _from_columns(buffers, buffers.dtype.names)
        if buffers.ndim != 2 or buffers.shape[1] not in (3, 4):
            raise ValueError(f"the array has the shape {buffers.shape} instead of (buffers, 3) or (buffers, 4)")
        return _from_columns({name: buffers[:, i] for i, name in enumerate(_COLUMNS[: buffers.shape[1]])},
                             _COLUMNS[: buffers.shape[1]])
    return _from_rows(buffers)


def _check_names(names: Sequence[str]) -> None:
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        at = next(at for at, name in enumerate(names) if any("\ud800" <= each <= "\udfff" for each in name))
        raise ValueError(f"column id, buffer {at}: {names[at]!r} is not valid Unicode") from None
    if len(set(names)) == len(names):
        return
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        if first.setdefault(name, at) != at:
            raise ValueError(f"buffers {first[name]} and {at} have the same id: {name}. "
                             "If they are one buffer with two lifetimes, use revivals")


def pairs(values: Any, name: str, wanted: str = "a pair of buffers") -> list[tuple[int, int]]:
    """Returns pairs of numbers. `wanted` names one in errors."""
    return [(number(first, name), number(second, name)) for first, second in tuples(values, name, wanted, 2, 2)]


def table(buffers: Any, revivals: Any = (), fixed: Any = (), together: Any = (), apart: Any = (),
          reserved: Any = ()) -> _allot.Table:
    """Returns a table and its constraints."""
    columns = _columns_of(buffers)
    _check_names(columns.names)
    if not isinstance(fixed, Mapping) and fixed != ():
        raise TypeError(f"fixed must be a mapping of buffers to offsets, not {type(fixed).__name__}")

    lives = [(number(buffer, "revivals"), step(lower, "revivals"), step(upper, "revivals"))
             for buffer, lower, upper in tuples(revivals, "revivals", "a tuple (buffer, lower, upper)", 3, 3)]
    return _allot.Table(columns.sizes, columns.lower, columns.upper, columns.alignments, lives,
                        pairs(dict(fixed).items(), "fixed", "an offset of a buffer"),
                        pairs(together, "together"), pairs(apart, "apart"),
                        pairs(reserved, "reserved", "a pair (offset, size)"), columns.names)


def memories_of(memories: Any) -> list[tuple[int, int, int]]:
    """Returns the capacity, the alignment and the cost of each memory."""
    made = [Memory(*each) for each in tuples(memories, "memories", "a Memory", 0, 3)]
    if not made:
        raise ValueError("memories is empty")
    return [(UNLIMITED if each.capacity is None else number(each.capacity, "capacity"),
             number(each.alignment, "alignment"), number(each.cost, "cost")) for each in made]


def each_number(values: Any, name: str, count: int) -> list[int]:
    """Returns a number for each buffer, or no numbers for None."""
    if values is None:
        return []
    made = [number(value, name) for value in iterable(values, name, "a list of integers")]
    if len(made) != count:
        raise _allot.PlanError(f"{name} has {len(made)} elements for {count} buffers")
    return made
