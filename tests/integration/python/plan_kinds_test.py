"""Tests of allot.plan_moves, plan_pages, replan and replan_at against their definitions."""

import itertools
import math
import signal
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allot

UNLIMITED = 2**64 - 1


@st.composite
def tables(draw, most=9):
    def buffer():
        lower = draw(st.integers(-3, 9))
        return (draw(st.integers(1, 300)), lower, lower + draw(st.integers(1, 6)), 2 ** draw(st.integers(0, 5)))

    return [buffer() for _ in range(draw(st.integers(1, most)))]


@st.composite
def moving(draw):
    rows = draw(tables())
    accesses = [(buffer, step, draw(st.booleans())) for buffer, row in enumerate(rows)
                for step in range(row[1], row[2]) if draw(st.booleans())]
    return rows, accesses, draw(st.integers(200, 900))


def overlap(first, second):
    return first[0] < second[1] and second[0] < first[1]


def check_pieces(rows, made, capacities):
    for piece in made.pieces:
        size, lower, upper, alignment = rows[piece.buffer]
        assert lower <= piece.lower < piece.upper <= upper
        assert piece.offset % alignment == 0 and piece.offset + size <= capacities[piece.memory]
        assert piece.offset + size <= made.peaks[piece.memory]
    for at, a in enumerate(made.pieces):
        for b in made.pieces[:at]:
            if a.memory == b.memory and overlap(a[1:3], b[1:3]):
                assert not overlap((a.offset, a.offset + rows[a.buffer][0]), (b.offset, b.offset + rows[b.buffer][0]))


def follow_contents(rows, accesses, made):
    """Plays accesses and copies in the order of time. Each read must see the newest contents."""
    newest, held = {}, {}
    for at, piece in enumerate(made.pieces):
        held.setdefault(at, 0 if piece.buffer not in newest else None)
        newest.setdefault(piece.buffer, 0)  # what the caller puts into the first piece
    happen = [((copy.step, 3 if copy.after else 0), copy) for copy in made.copies]
    happen += [((step, 2 if writes else 1), (buffer, step, writes, piece))
               for (buffer, step, writes), piece in zip(accesses, made.piece_of)]
    for _, event in sorted(happen, key=lambda each: each[0]):
        if isinstance(event, allot.Copy):
            source, target = made.pieces[event.source], made.pieces[event.target]
            assert source.buffer == target.buffer == event.buffer and event.size == rows[event.buffer][0]
            assert all(piece.lower <= event.step < piece.upper for piece in (source, target))
            assert held[event.source] is not None
            held[event.target] = held[event.source]
            continue
        buffer, step, writes, at = event
        assert made.pieces[at].buffer == buffer and made.pieces[at].lower <= step < made.pieces[at].upper
        if writes:
            newest[buffer] += 1
            held[at] = newest[buffer]
        assert held[at] == newest[buffer]


def cost_of(rows, accesses, made, costs):
    memory = [piece.memory for piece in made.pieces]
    return (sum(rows[buffer][0] * costs[memory[at]] for (buffer, _, _), at in zip(accesses, made.piece_of))
            + sum(copy.size * (costs[memory[copy.source]] + costs[memory[copy.target]]) for copy in made.copies))


@settings(max_examples=100, deadline=None)
@given(moving())
def test_moves_keep_contents_and_cost_what_they_say(problem):
    rows, accesses, capacity = problem
    made = allot.plan_moves(rows, accesses, memories=[(capacity,), (None, 1)], effort=2000)
    assert made.fits and made.unplaced == 0
    check_pieces(rows, made, [capacity, UNLIMITED])
    follow_contents(rows, accesses, made)
    assert made.cost == cost_of(rows, accesses, made, [0, 1]) <= made.whole_cost
    assert made.bound <= made.cost and made.copied == sum(copy.size for copy in made.copies)
    assert (made.status == "optimal") == (made.cost == made.bound)


MOVING = ([(600, 0, 10), (800, 3, 7)],
          [(0, 0, True), (0, 1), (0, 1), (0, 2), (1, 3, True), (1, 4), (1, 5), (1, 6), (0, 7), (0, 8), (0, 9)])


def test_a_buffer_leaves_the_fast_memory_and_comes_back():
    made = allot.plan_moves(*MOVING, memories=[(1000,), (None, 1)])
    assert (made.cost, made.whole_cost, len(made.copies)) == (1200, 3200, 2)
    out, back = made.copies
    assert (out.step, out.after, back.step, back.after) == (2, True, 7, False)
    assert made.pieces[out.target].memory == 1 and made.pieces[back.target].memory == 0
    assert "MovesPlan of 4 pieces and 2 copies" in repr(made) and made._repr_svg_().startswith("<svg")
    stays = allot.plan_moves(*MOVING, memories=[(1000,), (None, 1)], fixed={0: 0}, allowed=[1, 3])
    assert not stays.copies and stays.whole_cost == stays.cost
    banks = [(1000,), (1000,), (None, 1)]
    for pairs in ([], [(0, 1)]):  # a buffer of a pair does not move
        both = allot.plan_moves(*MOVING, memories=banks, separate=pairs)
        assert not both.copies and both.cost == 0 and both.pieces[0].memory != both.pieces[1].memory
    parted = allot.plan_moves(*MOVING, memories=[(1000,), (None, 1)], separate=[(0, 1)])
    assert not parted.copies and parted.cost == parted.whole_cost == 3200
    full = allot.plan_moves(*MOVING, memories=[(100,)])
    assert not full.fits and full.unplaced == 2 and full.pieces[0].memory is None and full._repr_svg_() is None


@pytest.mark.parametrize("accesses, error, reason", [
    ([(0, 99)], allot.PlanError, "access 0: an access is outside of the lifetimes"),
    ([(7, 0)], ValueError, "accesses: buffer 7 does not exist"),
    ([(-1, 0)], ValueError, "accesses: -1 is not from 0"),
    ([(0,)], TypeError, r"accesses: \(0,\) is not an Access"),
    ([(0, "a")], TypeError, "accesses: 'a' is not an integer"),
    (5, TypeError, "accesses must be a list, not int"),
])
def test_wrong_accesses_are_refused(accesses, error, reason):
    with pytest.raises(error, match=reason):
        allot.plan_moves(MOVING[0], accesses, memories=[(None,)])


@settings(max_examples=60, deadline=None)
@given(moving(), st.lists(st.integers(0, 500), min_size=20, max_size=20), st.integers(0, 5), st.integers(0, 90))
def test_copies_run_beside_the_steps(problem, durations, copy_cost, latency):
    rows, accesses, capacity = problem
    first = min(row[1] for row in rows)  # steps are counted from 0 here
    rows = [(size, lower - first, upper - first, alignment) for size, lower, upper, alignment in rows]
    accesses = [(access[0], access[1] - first, *access[2:]) for access in accesses]
    costs = [1, 7]
    made = allot.plan_timed(rows, accesses, durations, memories=[(capacity, 1), (None, 7)], copy_cost=copy_cost,
                            latency=latency, effort=2000)
    assert made.fits and made.bound <= made.elapsed <= made.whole_elapsed
    assert (made.status == "optimal") == (made.elapsed == made.bound)
    assert made.copied == sum(rows[copy.buffer][0] for copy in made.copies)
    now = queue = waited = 0
    ends = [0] * len(durations)
    for step, duration in enumerate(durations):
        for copy in made.copies:
            if copy.begin == step:
                queue = max(queue, now) + latency + copy_cost * rows[copy.buffer][0]
                ends[copy.end] = max(ends[copy.end], queue)
        waited += max(ends[step] - now, 0)
        now = max(now, ends[step])
        now += max(duration, sum(rows[access[0]][0] * costs[made.pieces[made.piece_of[k]].memory]
                                 for k, access in enumerate(accesses) if access[1] == step))
    assert (made.elapsed, made.waited) == (max(now, queue), waited)


@st.composite
def in_rows(draw):
    """Returns buffers with few rows, their numbers of rows, their uses and the capacity of the fast memory."""
    rows, counts, uses = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        count, lower = draw(st.integers(0, 4)), draw(st.integers(-2, 4))
        rows.append((max(count, 1) * draw(st.integers(1, 6)), lower, lower + draw(st.integers(1, 4)), 2 ** draw(st.integers(0, 2))))
        counts.append(count)
        uses.append(draw(st.integers(1, 3)))
    return rows, counts, uses, draw(st.integers(4, 24))


@settings(max_examples=100, deadline=None)
@given(in_rows())
def test_rows_cost_no_more_than_whole_buffers_and_no_less_than_any_division(problem):
    rows, counts, uses, capacity = problem
    made = allot.plan_rows(rows, counts, memories=[(capacity,), (None, 3)], uses=uses)
    whole = allot.plan(rows, memories=[(capacity,), (None, 3)], uses=uses)
    assert made.fits and made.bound <= made.cost <= made.whole_cost == whole.cost
    for buffer, (size, _, _, alignment) in enumerate(rows):
        parts, count = [part for part in made.parts if part.buffer == buffer], max(counts[buffer], 1)
        assert [part.memory for part in parts] in ([0], [1], [0, 1])
        assert [part.begin for part in parts] + [count] == [0] + [part.end for part in parts]
        for part in parts:
            assert part.size * count == (part.end - part.begin) * size and part.offset % alignment == 0
            assert part.offset + part.size <= made.peaks[part.memory] and (part.memory or part.offset + part.size <= capacity)
    for at, a in enumerate(made.parts):
        for b in made.parts[:at]:
            if a.memory == b.memory and overlap(rows[a.buffer][1:3], rows[b.buffer][1:3]):
                assert not overlap((a.offset, a.offset + a.size), (b.offset, b.offset + b.size))
    slow = [part for part in made.parts if part.memory]
    assert (made.spilled, made.cost) == (sum(part.size for part in slow), sum(3 * uses[part.buffer] * part.size for part in slow))
    # No division of which the bytes of each step fit costs less than the bound.
    least = min(sum(3 * use * (row[0] - row[0] // max(count, 1) * fast) for row, count, use, fast in zip(rows, counts, uses, chosen))
                for chosen in itertools.product(*[range(max(count, 1) + 1) for count in counts])
                if all(sum(row[0] // max(count, 1) * fast for row, count, fast in zip(rows, counts, chosen) if row[1] <= step < row[2]) <= capacity
                       for step in range(-2, 8)))
    assert made.bound <= least <= made.cost


def test_rows():
    rows = [{"id": "a", "size": 640, "lower": 0, "upper": 4}, {"id": "b", "size": 768, "lower": 1, "upper": 2}]
    made = allot.plan_rows(rows, [10, 12], memories=[(1024,), (None, 1)])
    assert (made.cost, made.whole_cost, made.divided, made.status, made.step) == (384, 640, 1, "optimal", 1)
    assert made.svg().count("<title>") == 3 and made.svg().count("<title>a: ") == 2
    assert repr(made) == "<RowsPlan with 1 divided buffers, 384 bytes spilled: optimal, cost 384, lower bound 384>"
    large = allot.plan_rows([(100, 0, 1)], [10], memories=[(64,), (64, 2)], revivals=[(0, 3, 4)])
    assert large.fits and large.whole_cost is None and large.svg().count("<title>") == 4
    full = allot.plan_rows([(100, 0, 1)], [4], memories=[(49,), (64, 2)])
    assert (full.status, full.unplaced, full.bound) == ("infeasible", 1, 0)
    assert full.parts == [allot.Part(0, 0, 4, None, None, 100)]
    with pytest.raises(ValueError, match="unplaced"):
        full.svg()
    fixed = allot.plan_rows([(64, 0, 2), (64, 0, 2)], [8, 8], memories=[(96,), (None, 1)], fixed={0: 32}, allowed=[1, 3])
    assert [part[:5] for part in fixed.parts] == [(0, 0, 8, 0, 32), (1, 0, 4, 0, 0), (1, 4, 8, 1, 0)]
    assert allot.plan_rows([], [], memories=[(1,)]).parts == []


@pytest.mark.parametrize("rows, error, reason", [
    ([10], allot.PlanError, "^rows has 1 elements for 2 buffers$"),
    ([], allot.PlanError, "^rows has 0 elements for 2 buffers$"),
    ([10, 7], allot.PlanError, "^buffer 1: the number of rows of a buffer does not divide its size$"),
    ([10, 2**64 - 1], allot.PlanError, "^buffer 1: the number of rows"),
    ([10, 2**64], ValueError, "^rows: 18446744073709551616 is not from 0"),
    ([10, -1], ValueError, "^rows: -1 is not from 0"),
    ([10, 1.5], TypeError, "^rows: 1.5 is not an integer"),
    (10, TypeError, "^rows must be a list of integers, not int"),
    ("10", TypeError, "^rows must be a list of integers, not str"),
])
def test_wrong_rows_are_refused(rows, error, reason):
    with pytest.raises(error, match=reason):
        allot.plan_rows([(640, 0, 4), (768, 1, 2)], rows, memories=[(1024,), (None, 1)])


def test_a_pair_in_different_memories_does_not_move_in_time():
    memories = [(1000, 1), (None, 10)]
    assert allot.plan_timed(*MOVING, [4000] * 10, memories=memories, copy_cost=1).copies
    made = allot.plan_timed(*MOVING, [4000] * 10, memories=memories, copy_cost=1, separate=[(0, 1)])
    assert not made.copies and made.pieces[0].memory + made.pieces[1].memory == 1


def test_a_plan_in_time_refuses_mistakes():
    memories = [(1000, 1), (None, 10)]
    with pytest.raises(allot.PlanError, match="access 10"):
        allot.plan_timed(*MOVING, [1] * 9, memories=memories, copy_cost=1)
    with pytest.raises(TypeError, match="durations"):
        allot.plan_timed(*MOVING, 5, memories=memories, copy_cost=1)
    with pytest.raises(ValueError, match="copy_cost"):
        allot.plan_timed(*MOVING, [1] * 10, memories=memories, copy_cost=-1)


@st.composite
def paging(draw):
    rows = draw(tables())
    return rows, 2 ** draw(st.integers(5, 7)), [i for i in range(len(rows)) if draw(st.booleans())]


@settings(max_examples=100, deadline=None)
@given(paging())
def test_pages_and_contiguous_buffers_share_nothing(problem):
    rows, page_size, paged = problem
    made = allot.plan_pages(rows, page_size, paged=paged, effort=2000)
    taken = []
    for i, (size, lower, upper, alignment) in enumerate(rows):
        if i in paged:
            pages = made.pages[i]
            assert made.offsets[i] is None and len(set(pages)) == len(pages) == -(-size // page_size)
            taken.append([(page * page_size, (page + 1) * page_size) for page in pages])
        else:
            assert made.pages[i] == [] and made.offsets[i] % alignment == 0
            taken.append([(made.offsets[i], made.offsets[i] + size)])
    for i, a in enumerate(rows):
        for j, b in enumerate(rows[:i]):
            if overlap(a[1:3], b[1:3]):
                assert not any(overlap(one, other) for one in taken[i] for other in taken[j])
    assert made.peak == max(end for ranges in taken for _, end in ranges) >= made.bound
    bytes_at = [sum(sum(end - begin for begin, end in taken[i]) for i, row in enumerate(rows) if row[1] <= step < row[2])
                for step in {row[1] for row in rows}]
    assert made.bound >= max(bytes_at)
    if len(paged) == len(rows):
        assert made.status == "optimal" and made.peak == max(bytes_at)


def test_pages():
    rows = [(9000, 0, 2), (5000, 1, 3), (9000, 2, 4)]
    made = allot.plan_pages(rows, 4096)
    assert made.peak == 5 * 4096 and made.status == "optimal" and [len(pages) for pages in made.pages] == [3, 2, 3]
    assert made.page_size == 4096 and "pages of 4096: optimal" in repr(made) and made.svg().startswith("<svg")
    assert not allot.plan_pages(rows, 4096, capacity=4 * 4096).fits
    assert allot.plan_pages(rows, 4096, fixed={0: 8192}).pages[0] == [2, 3, 4]
    assert allot.plan_pages(rows, 4096, reserved=[(4096, 1)]).pages[0].count(1) == 0
    assert allot.plan_pages([], 4096).pages == []


@pytest.mark.parametrize("arguments, reason", [
    ({"page_size": 0}, "a page has no bytes"),
    ({"page_size": 24}, "buffer 0: the page size is not a multiple of its alignment"),
    ({"page_size": 32, "paged": [9]}, "paged: buffer 9 does not exist"),
    ({"page_size": 32, "fixed": {0: 16}}, "buffer 0: a fixed offset is not a multiple"),
])
def test_wrong_pages_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        allot.plan_pages([(100, 0, 1, 16)], **arguments)


ROWS = [(512, 0, 2), (256, 0, 4), (512, 2, 4)]


@settings(max_examples=100, deadline=None)
@given(tables(), st.data())
def test_an_update_moves_at_most_as_many_buffers_as_it_may(rows, data):
    before = allot.plan(rows, effort=1000)
    changed = [(size + data.draw(st.integers(0, 1)) * 64, *rest) for size, *rest in rows]
    at_most = data.draw(st.integers(0, len(rows)))
    made = allot.replan(changed, before, at_most=at_most, effort=1000)
    assert allot.validate(changed, made.offsets, capacity=made.peak) is None
    moved = [i for i, row in enumerate(rows) if row[0] == changed[i][0] and made.offsets[i] != before.offsets[i]]
    assert made.moved == len(moved) <= at_most
    assert made.places == [(offset, row[0]) for offset, row in zip(made.offsets, changed)]


def test_updates():
    before = allot.plan(ROWS)
    larger = [*ROWS[:2], (640, 2, 4)]
    stays, better = (allot.replan(larger, before, at_most=most) for most in (0, 1))
    assert stays.moved == 0 and better.moved <= 1 and better.peak == 896 <= stays.peak
    assert repr(better).startswith("<UpdatedPlan of 3 buffers in 896 bytes: optimal") and better.svg().startswith("<svg")
    assert allot.replan(ROWS, before).offsets == before.offsets
    assert allot.replan(ROWS, [None, *before.places[1:]]).moved == 0
    assert allot.replan([*ROWS, (8, 0, 4)], before).fits  # a new buffer
    assert allot.replan(larger, stays).offsets == stays.offsets
    tight = allot.replan([(4, 0, 2), (4, 0, 9), (8, 2, 9)], [(0, 4), (4, 4), None], capacity=12)
    assert not tight.fits and tight.status == "out of moves"
    assert allot.replan([(4, 0, 2), (4, 0, 9), (8, 2, 9)], [(0, 4), (4, 4), None], capacity=12, at_most=2).fits


@pytest.mark.parametrize("before, error, reason", [
    ([(0, 512)] * 4, ValueError, "before has 4 places for 3 buffers"),
    ([5], TypeError, "before: 5 is not a pair"),
    ([(0, -1)], ValueError, "before: -1 is not from 0"),
    (5, TypeError, "before must be a Plan, or a list of pairs"),
    ([(0, 512), (0, 256), (0, 512)], allot.PlanError, "buffer .: unchanged buffers collide"),
])
def test_wrong_places_are_refused(before, error, reason):
    with pytest.raises(error, match=reason):
        allot.replan(ROWS, before)


@settings(max_examples=100, deadline=None)
@given(tables(), st.data())
def test_an_update_at_a_step_keeps_living_buffers(rows, data):
    before = allot.plan(rows, effort=1000)
    step = data.draw(st.integers(-4, 16))
    now = [(data.draw(st.integers(0, row[0])) if row[1] >= step else row[0], *row[1:]) for row in rows]
    made = allot.replan_at(now, before, step, effort=1000)
    assert allot.validate(now, made.offsets) is None and made.peak <= before.peak
    later = [i for i, row in enumerate(rows) if row[2] > step]
    assert all(made.offsets[i] == before.offsets[i] for i, row in enumerate(rows) if row[1] < step)
    assert made.peak == max((made.offsets[i] + now[i][0] for i in later if now[i][0]), default=0)


def test_an_update_at_a_step_refuses_larger_buffers():
    before = allot.plan(ROWS)
    with pytest.raises(allot.PlanError, match="buffer 2: a size exceeds its bound, or the value of a symbol is out of range"):
        allot.replan_at([*ROWS[:2], (640, 2, 4)], before, 2)
    for places in (before.places[:2], [None, *before.places[1:]]):
        with pytest.raises(ValueError, match="before must have the place of each buffer"):
            allot.replan_at(ROWS, places, 2)
    with pytest.raises(TypeError, match="step: 1.5 is not an integer"):
        allot.replan_at(ROWS, before, 1.5)


def hard(count=60):
    """Returns buffers for which no plan is known to be optimal."""
    return [(7 * i % 293 + 1, i % 37, i % 37 + i % 11 + 2) for i in range(count)]


def used(rows):
    return [(i, step) for i, row in enumerate(rows) for step in range(row[1], row[2], 2)]


PLANNERS = {
    "rows": lambda rows, **limits: allot.plan_rows([(12 * size, *life) for size, *life in rows], [12] * len(rows),
                                                   memories=[(40000,), (None, 1)], **limits),
    "moves": lambda rows, **limits: allot.plan_moves(rows, used(rows), memories=[(4000,), (None, 1)], **limits),
    "pages": lambda rows, **limits: allot.plan_pages(rows, 16, paged=range(0, len(rows), 3), **limits),
}


@pytest.mark.parametrize("planner", PLANNERS)
def test_time_progress_and_ctrl_c_end_each_planner(planner):
    plan, rows = PLANNERS[planner], hard(400)
    seen = []
    assert plan(rows, seconds=0.2).fits and plan(rows, progress=lambda *now: seen.append(now) or True).fits
    assert len(seen) == 1 and seen[0][0] >= seen[0][1]
    with pytest.raises(LookupError):
        plan(rows, progress=lambda *_: {}["none"])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            plan(rows, seconds=math.inf)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def test_progress_ends_an_update():
    rows = hard(200)
    before = allot.plan(rows, effort=0)
    changed = [(row[0] + i % 5, *row[1:]) for i, row in enumerate(rows)]
    made = allot.replan(changed, before, at_most=50, effort=2**60, progress=lambda *_: True)
    assert allot.validate(changed, made.offsets) is None and made.moved <= 50


def test_parts_with_the_rows_of_other_buffers():
    made = allot.plan_rows([(640, 0, 4), (768, 1, 2)], [10, 12], memories=[allot.Memory(1024), allot.Memory(cost=1)])
    for rows in ([10], [10, 12, 4]):
        with pytest.raises(ValueError, match="^the plan has another number of buffers than rows$"):
            allot.RowsPlan(made._made, rows).parts
