# SPDX-License-Identifier: BSL-1.0
"""The planners: offsets of buffers with known sizes and lifetimes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, overload

from allot import _allot
from allot._plans import MemoriesPlan, MovesPlan, PagesPlan, Plan, RowsPlan, TimedPlan, UpdatedPlan
from allot._tables import (
    UNLIMITED,
    Access,
    Buffers,
    Memory,
    each_number,
    index,
    iterable,
    memories_of,
    number,
    numbers,
    pairs,
    step as step_of,
    table,
    tuples,
)

#: Additional lifetimes (buffer, lower, upper).
Revivals: TypeAlias = Iterable[tuple[int, int, int]]
#: Pairs of buffers, or ranges (offset, size).
Pairs: TypeAlias = Iterable[tuple[int, int]]
#: Memories, fastest first. A tuple has the values of a `Memory` in the same order.
Memories: TypeAlias = Iterable[Memory | tuple[int | None, ...]]
#: Is called with the best result so far and its bound, and returns true to end the search.
Progress: TypeAlias = Callable[[int, int], object]


def _capacity(given: int | None) -> int:
    return UNLIMITED if given is None else number(given, "capacity")


def _seconds(given: float | None) -> float | None:
    if given is None:
        return None
    if not isinstance(given, (int, float)):
        raise TypeError(f"seconds must be a number, not {type(given).__name__}")
    if not given >= 0:
        raise ValueError(f"seconds: {given} is not 0 or more")
    return float(given)


def _watch(progress: Progress | None) -> Callable[[int, int], bool] | None:
    if progress is None:
        return None
    if not callable(progress):
        raise TypeError("progress must be a function of two numbers")
    return lambda reached, bound: bool(progress(reached, bound))


@overload
def plan(buffers: Buffers, *, capacity: int | None = None, memories: None = None, revivals: Revivals = (),
         fixed: Mapping[int, int] = {}, together: Pairs = (), apart: Pairs = (), reserved: Pairs = (),
         effort: int | None = None, seconds: float | None = None, progress: Progress | None = None) -> Plan: ...


@overload
def plan(buffers: Buffers, *, memories: Memories, uses: Sequence[int] | None = None, allowed: Sequence[int] | None = None,
         separate: Pairs = (), revivals: Revivals = (), fixed: Mapping[int, int] = {}, together: Pairs = (), apart: Pairs = (),
         effort: int | None = None, seconds: float | None = None, progress: Progress | None = None) -> MemoriesPlan: ...


def plan(buffers: Buffers, *, capacity: int | None = None, memories: Memories | None = None, uses: Sequence[int] | None = None,
         allowed: Sequence[int] | None = None, separate: Pairs = (), revivals: Revivals = (), fixed: Mapping[int, int] = {},
         together: Pairs = (), apart: Pairs = (), reserved: Pairs = (), effort: int | None = None, seconds: float | None = None,
         progress: Progress | None = None) -> Plan | MemoriesPlan:
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
    - `separate`: for several memories: pairs of buffers in different ones, such as operands in banks with one port each
    - `effort`: a limit on the work; 0 makes one simple plan. `seconds`: a limit on the time, which the planner uses
    - `progress`: is called with the peak (or the cost) and its bound, at most 20 times a second. The planner returns its
      best plan so far when the function returns true

    Other threads run while the planner works. Ctrl-C raises KeyboardInterrupt. Raises PlanError for an invalid problem.
    """
    given = table(buffers, revivals, fixed, together, apart, reserved)
    time, watch = _seconds(seconds), _watch(progress)
    work = None if effort is None else number(effort, "effort")
    if memories is None:
        if uses is not None or allowed is not None or pairs(separate, "separate"):
            raise ValueError("uses, allowed and separate need memories")
        return Plan(_allot.plan(given, _capacity(capacity), 500_000 if work is None else work, time, watch))
    if capacity is not None:
        raise ValueError("give the capacity of each memory in place of capacity")
    used, may = each_number(uses, "uses", len(given)), each_number(allowed, "allowed", len(given))
    limit = (2**60 if time is not None else 150_000) if work is None else work
    return MemoriesPlan(_allot.plan_memories(given, memories_of(memories), used, may, pairs(separate, "separate"), limit,
                                             time, watch))


def plan_rows(buffers: Buffers, rows: Sequence[int], *, memories: Memories, uses: Sequence[int] | None = None,
              allowed: Sequence[int] | None = None, separate: Pairs = (), revivals: Revivals = (),
              fixed: Mapping[int, int] = {}, together: Pairs = (), apart: Pairs = (), effort: int | None = None,
              seconds: float | None = None, progress: Progress | None = None) -> RowsPlan:
    """Plans several memories, fastest first, when a buffer may be divided by rows.

    `rows` has the number of rows of each buffer, which must divide its size. The first rows may lie in one memory, and the
    others in a later one. A buffer with 0 or 1 rows stays whole, and so do buffers that are fixed, together, apart or
    separate. The plan costs at most as much as one with whole buffers.

    >>> import allot
    >>> made = allot.plan_rows([(640, 0, 4), (768, 1, 2)], [10, 12], memories=[allot.Memory(1024), allot.Memory(cost=1)])
    >>> made
    <RowsPlan with 1 divided buffers, 384 bytes spilled: optimal, cost 384, lower bound 384>
    >>> for part in made.parts:
    ...     print(part)
    Part(buffer=0, begin=0, end=4, memory=0, offset=768, size=256)
    Part(buffer=0, begin=4, end=10, memory=1, offset=0, size=384)
    Part(buffer=1, begin=0, end=12, memory=0, offset=0, size=768)

    The other arguments are those of `plan`.
    """
    given = table(buffers, revivals, fixed, together, apart)
    counts = each_number(rows, "rows", len(given))
    return RowsPlan(_allot.plan_rows(given, counts, memories_of(memories), each_number(uses, "uses", len(given)),
                                     each_number(allowed, "allowed", len(given)), pairs(separate, "separate"),
                                     150_000 if effort is None else number(effort, "effort"), _seconds(seconds),
                                     _watch(progress)), counts)


def _accesses(accesses: Iterable[Access | tuple[Any, ...]], buffers: int) -> list[tuple[int, int, bool]]:
    used = [Access(*each) for each in tuples(accesses, "accesses", "an Access", 2, 3)]
    return [(index(each.buffer, buffers, "accesses"), step_of(each.step, "accesses"), bool(each.writes)) for each in used]


def plan_moves(buffers: Buffers, accesses: Iterable[Access | tuple[Any, ...]], *, memories: Memories,
               allowed: Sequence[int] | None = None, separate: Pairs = (), revivals: Revivals = (),
               fixed: Mapping[int, int] = {}, together: Pairs = (), apart: Pairs = (), effort: int | None = None,
               seconds: float | None = None, progress: Progress | None = None) -> MovesPlan:
    """Plans several memories, fastest first, when a buffer may leave the fast memory and come back.

    `accesses` lists the uses of buffers, in any order: `Access`, or tuples (buffer, step, writes). An access costs the
    size of the buffer times the cost of the memory where it happens, and a copy the size times the sum of both costs. The
    plan costs at most as much as one without moves.

    >>> import allot
    >>> made = allot.plan_moves(
    ...     [(600, 0, 10), (800, 3, 7)],
    ...     [(0, 0, True), (0, 1), (0, 1), (0, 2), (1, 3, True), (1, 4), (1, 5), (1, 6), (0, 7), (0, 8), (0, 9)],
    ...     memories=[allot.Memory(1000), allot.Memory(cost=1)])
    >>> made
    <MovesPlan of 4 pieces and 2 copies: feasible, cost 1200, 3200 without moves, lower bound 400>
    >>> made.copies[0]
    Copy(buffer=0, step=2, after=True, source=0, target=1, size=600)

    Buffers that are fixed, together, apart, separate or revived do not move, and neither do buffers without accesses. Read
    a buffer at its last step to keep its contents until then. The other arguments are those of `plan`.
    """
    given = table(buffers, revivals, fixed, together, apart)
    return MovesPlan(_allot.plan_moves(given, _accesses(accesses, len(given)), memories_of(memories), each_number(allowed, "allowed", len(given)),
                                       pairs(separate, "separate"), 150_000 if effort is None else number(effort, "effort"), _seconds(seconds),
                                       _watch(progress)))


def plan_timed(buffers: Buffers, accesses: Iterable[Access | tuple[Any, ...]], durations: Iterable[int], *,
               memories: Memories, copy_cost: int, latency: int = 0, allowed: Sequence[int] | None = None,
               separate: Pairs = (), revivals: Revivals = (), fixed: Mapping[int, int] = {}, together: Pairs = (), apart: Pairs = (),
               effort: int | None = None, seconds: float | None = None, progress: Progress | None = None) -> TimedPlan:
    """Plans several memories, fastest first, for the least time, with copies that run beside the steps.

    `durations` has the time of each step from step 0. A step takes it, or the time of its accesses if that is longer: the
    bytes times the cost of their memory. A copy takes `latency` and the bytes times `copy_cost`. The unit of all times is
    a tick of any length.

    >>> import allot
    >>> made = allot.plan_timed(
    ...     [(400, 0, 4), (400, 0, 4), (400, 0, 4), (400, 0, 4)],
    ...     [(0, 0), (0, 0), (1, 1), (1, 1), (2, 2), (2, 2), (3, 3), (3, 3)], [5000, 5000, 5000, 5000],
    ...     memories=[allot.Memory(1000, cost=1), allot.Memory(cost=10)], copy_cost=10)
    >>> made
    <TimedPlan of 6 pieces and 2 copies: optimal, elapsed 20000, 26000 without copies, lower bound 20000>

    The contents, and the buffers that do not move, are those of `plan_moves`. The other arguments are those of `plan`.
    """
    given = table(buffers, revivals, fixed, together, apart)
    times = [number(each, "durations") for each in iterable(durations, "durations", "a list of integers")]
    return TimedPlan(_allot.plan_timed(given, _accesses(accesses, len(given)), memories_of(memories), times,
                                       number(copy_cost, "copy_cost"), number(latency, "latency"),
                                       each_number(allowed, "allowed", len(given)), pairs(separate, "separate"),
                                       150_000 if effort is None else number(effort, "effort"), _seconds(seconds),
                                       _watch(progress)))


def plan_pages(buffers: Buffers, page_size: int, *, paged: Iterable[int] | None = None, capacity: int | None = None,
               revivals: Revivals = (), fixed: Mapping[int, int] = {}, together: Pairs = (), apart: Pairs = (),
               reserved: Pairs = (), effort: int | None = None, seconds: float | None = None,
               progress: Progress | None = None) -> PagesPlan:
    """Plans buffers in pages, whose positions are arbitrary, beside contiguous buffers in one memory.

    `paged` lists the buffers that lie in pages, by default all. Page p begins at byte p * page_size.

    >>> import allot
    >>> made = allot.plan_pages([(16384, 0, 8), (20000, 0, 3), (30000, 2, 6), (20000, 5, 8)], 4096, paged=[2])
    >>> made
    <PagesPlan of 4 buffers in 69152 bytes, pages of 4096: optimal, lower bound 69152>
    >>> len(made.pages[2]), made.pages[0], made.offsets[2]
    (8, [], None)

    Without contiguous buffers and constraints, the plan is always at the bound. `fixed` offsets of buffers in pages are
    multiples of the page size. The other arguments are those of `plan`.
    """
    given = table(buffers, revivals, fixed, together, apart, reserved)
    size = number(page_size, "page_size")
    chosen = [index(each, len(given), "paged")
              for each in (range(len(given)) if paged is None else iterable(paged, "paged", "a list of buffers"))]
    return PagesPlan(_allot.plan_pages(given, size, chosen, _capacity(capacity),
                                       500_000 if effort is None else number(effort, "effort"), _seconds(seconds),
                                       _watch(progress)), size)


def _places(before: Any, count: int) -> list[tuple[int, int] | None]:
    """Returns the places of a plan, or of a list of pairs and None."""
    made: list[tuple[int, int] | None] = []
    given = before.places if isinstance(before, Plan) else before
    for each in iterable(given, "before", "a Plan, or a list of pairs (offset, size) and None"):
        if each is None:
            made.append(None)
            continue
        [(offset, size)] = tuples([each], "before", "a pair (offset, size)", 2, 2)
        made.append((number(offset, "before"), number(size, "before")))
    if len(made) > count:
        raise ValueError(f"before has {len(made)} places for {count} buffers")
    return made


def replan(buffers: Buffers, before: Plan | Iterable[tuple[int, int] | None], *, at_most: int = 0,
           capacity: int | None = None, revivals: Revivals = (), fixed: Mapping[int, int] = {}, together: Pairs = (),
           apart: Pairs = (), reserved: Pairs = (), effort: int | None = None,
           progress: Progress | None = None) -> UpdatedPlan:
    """Updates a plan after a few buffers have changed, and moves at most `at_most` of the other buffers.

    `before` is the plan, or the place of each buffer: `Plan.places` with None for a buffer that may go anywhere, such as a
    new one or one with a longer lifetime. A buffer with another size than before has changed, and also goes anywhere.

    >>> import allot
    >>> made = allot.plan([(512, 0, 2), (256, 0, 4), (512, 2, 4)])
    >>> again = allot.replan([(512, 0, 2), (256, 0, 4), (640, 2, 4)], made, at_most=1)
    >>> again.peak, again.status, again.moved <= 1
    (896, 'optimal', True)

    The status is 'out of moves' if the buffers do not fit in the capacity with so few moves. Raises PlanError if unchanged
    buffers collide and no plan with so few moves was found. The other arguments are those of `plan`.
    """
    given = table(buffers, revivals, fixed, together, apart, reserved)
    return UpdatedPlan(_allot.replan(given, _places(before, len(given)), number(at_most, "at_most"), None, _capacity(capacity),
                                     500_000 if effort is None else number(effort, "effort"), _watch(progress)))


def replan_at(buffers: Buffers, before: Plan | Iterable[tuple[int, int]], step: int, *,
              capacity: int | None = None, revivals: Revivals = (), fixed: Mapping[int, int] = {}, together: Pairs = (),
              apart: Pairs = (), reserved: Pairs = (), effort: int | None = None,
              progress: Progress | None = None) -> UpdatedPlan:
    """Updates a plan while the program runs, when sizes become known, and moves no buffer that lives.

    The steps before `step` have run. `before` has the place of each buffer, and no size exceeds that of its place. The
    peak and the bound are those of the buffers that live at `step` or later. The peak is never higher than before.

    >>> import allot
    >>> made = allot.plan([(512, 0, 2), (256, 1, 4), (512, 3, 6), (512, 3, 6)])
    >>> made
    <Plan of 4 buffers in 1280 bytes: optimal, lower bound 1280>
    >>> allot.replan_at([(512, 0, 2), (256, 1, 4), (64, 3, 6), (32, 3, 6)], made, 3)
    <UpdatedPlan of 4 buffers in 768 bytes: optimal, lower bound 768>

    The other arguments are those of `plan`.
    """
    given = table(buffers, revivals, fixed, together, apart, reserved)
    places = _places(before, len(given))
    if len(places) != len(given) or None in places:
        raise ValueError("before must have the place of each buffer")
    return UpdatedPlan(_allot.replan(given, places, None, step_of(step, "step"), _capacity(capacity),
                                     500_000 if effort is None else number(effort, "effort"), _watch(progress)))


def validate(buffers: Buffers, offsets: Iterable[int], *, capacity: int | None = None, revivals: Revivals = (),
             fixed: Mapping[int, int] = {}, together: Pairs = (), apart: Pairs = (),
             reserved: Pairs = ()) -> str | None:
    """Returns the first mistake in given offsets as a sentence, or None. It shares no code with the planner.

    >>> import allot
    >>> allot.validate([(4, 0, 3), (8, 2, 9)], [0, 4])
    >>> allot.validate([(4, 0, 3), (8, 2, 9)], [0, 3])
    'two buffers live at the same time and share bytes: 1 and 0'
    """
    given = table(buffers, revivals, fixed, together, apart, reserved)
    return _allot.mistake_in(given, numbers(offsets, "offsets"), _capacity(capacity))
