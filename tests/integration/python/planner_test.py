"""Tests of allot.plan and allot.validate."""

import math
import signal
import subprocess
import sys
import threading
import time
from xml.etree import ElementTree

import numpy
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allot

ROWS = [(4096, 0, 2, 64), (1000, 1, 3, 1), (4096, 2, 4, 128), (30, 0, 4, 8)]
NAMES = ("size", "lower", "upper", "alignment")


def hard(count=200, seed=1):
    """Returns buffers for which no plan is known to be optimal, so that a search without limits does not end."""
    random = numpy.random.default_rng(seed)
    lower = random.integers(0, 50, count)
    return numpy.stack([random.integers(1, 300, count), lower, lower + random.integers(1, 20, count),
                        2 ** random.integers(0, 7, count)], axis=1)


FORMS = {
    "tuples": ROWS,
    "buffers": [allot.Buffer(*row) for row in ROWS],
    "generator": None,
    "mappings": [dict(zip(NAMES, row)) for row in ROWS],
    "lists": [list(row) for row in ROWS],
    "columns": {name: list(column) for name, column in zip(NAMES, zip(*ROWS))},
    "array": numpy.array(ROWS),
    "array of 32 bits": numpy.array(ROWS, dtype="int32"),
    "array in Fortran's order": numpy.asfortranarray(ROWS),
    "fields": numpy.array(ROWS, dtype=[(name, "int64") for name in NAMES]),
    "pandas": pandas.DataFrame(ROWS, columns=NAMES),
    "pandas, other order": pandas.DataFrame(ROWS, columns=NAMES)[["upper", "alignment", "size", "lower"]],
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_tables_give_one_plan(form):
    table = iter(ROWS) if form == "generator" else FORMS[form]
    assert allot.plan(table).offsets == allot.plan(ROWS).offsets


def test_alignment_is_optional():
    for table in ([row[:3] for row in ROWS], numpy.array(ROWS)[:, :3], pandas.DataFrame(ROWS, columns=NAMES).drop(columns="alignment")):
        assert allot.plan(table).alignment == 1


@pytest.mark.parametrize("table, reason", [
    ([(1, 2)], "buffer 0 has 2 values"),
    ([(1, 0, 1), {"size": 1, "lower": 0}], "buffer 1 has no upper"),
    ({"size": [1], "lower": [0]}, "no column upper"),
    ({"size": [1], "lower": [0, 1], "upper": [1, 2]}, "different lengths"),
    (numpy.zeros((3, 2), int), r"the shape \(3, 2\)"),
    ([(-1, 0, 1)], "column size, buffer 0: -1 is not from 0"),
    ([(1, 0, 1), (2**64, 0, 1)], "column size, buffer 1: 18446744073709551616 is not from 0"),
    ([(1, -2**63 - 1, 1)], "column lower, buffer 0: -9223372036854775809 is not from -2"),
    (numpy.array([[1, 0, 1], [-1, 0, 1]]), "column size, buffer 1: -1 is not from 0"),
    (numpy.array([[1, 2**63, 2**63 + 1]], dtype="uint64"), "column lower, buffer 0: 9223372036854775808 is not from -2"),
    (pandas.DataFrame({"size": [1, 2**70], "lower": [0, 0], "upper": [1, 1]}), "column size, buffer 1: 1180591620717411303424"),
    (pandas.DataFrame([[1, 0, 1, 2]], columns=["size", "lower", "upper", "size"]), "column size has 2 dimensions"),
    ({"size": [1, 1], "lower": [0, 0], "upper": [1, 1], "id": ["a", "a"]}, "buffers 0 and 1 have the same id: a"),
    ([{"size": 1, "lower": 0, "upper": 1, "id": 1}, (1, 0, 1)], "buffers 0 and 1 have the same id: 1"),
    ({"size": [1, 1], "lower": [0, 0], "upper": [1, 1], "id": ["a", "\ud800"]}, r"column id, buffer 1: '\\ud800' is not valid Unicode"),
    ([(1, 0, 1), {"size": 1, "lower": 0, "upper": 1, "id": "a"}, {"size": 1, "lower": 0, "upper": 1}],
     "buffer 2 has no id, unlike buffer 1"),
    ([{"size": 1, "lower": 0, "upper": 1}, {"size": 1, "lower": 0, "upper": 1, "id": "a"}],
     "buffer 1 has an id, unlike buffer 0"),
    ({"size": [1], "lower": [0], "upper": [1], "id": []}, "different lengths: size 1, lower 1, upper 1, id 0$"),
    ([(1, 3, 3)], "buffer 0: a lifetime ends before or at the step at which it begins"),
    ([(1, 0, 1), (1, 0, 1, 3)], "buffer 1: the alignment of a buffer is not a power of two"),
])
def test_a_wrong_table_is_refused_with_the_reason(table, reason):
    with pytest.raises(ValueError, match=reason):
        allot.plan(table)


def frame(size):
    return pandas.DataFrame({"size": size, "lower": 0, "upper": 1})


@pytest.mark.parametrize("table, reason", [
    ([(1.5, 0, 1)], "column size, buffer 0: 1.5 is not an integer"),
    ([(1, 0, 1), ("1", 0, 1)], "column size, buffer 1: '1' is not an integer"),
    ([(None, 0, 1)], "column size, buffer 0: None is not an integer"),
    ([(1, math.nan, 1)], "column lower, buffer 0: nan is not an integer"),
    (numpy.array([[1.0, 0, 1]]), "column size has elements of float64; integers are required"),
    (numpy.array([[1, 0, 1], [math.nan, 0, 1]]), "column size, buffer 1: nan is not an integer"),
    (frame([1, None]), "column size, buffer 1: nan is not an integer"),
    (frame(pandas.array([1, None], dtype="Int64")), "column size, buffer 1: (nan|<NA>) is not an integer"),
    (frame(["a", "b"]), "column size, buffer 0: 'a' is not an integer"),
    (frame([True]), "column size has elements of bool"),
    (frame(pandas.to_datetime(["2026-11-23"])), "column size has elements of datetime64"),
    ({"size": 1, "lower": 0, "upper": 1}, "column size must be a list of integers, not int"),
    ({"size": "1", "lower": [0], "upper": [1]}, "column size must be a list of integers, not str"),
    ((4096, 0, 2), "buffer 0 must be a row with a size, lower and upper, not int"),
    (4096, "buffers must be a table of buffers, not int"),
    ("buffers.csv", "buffers must be a table of buffers, not str"),
    (None, "buffers must be a table of buffers, not NoneType"),
])
def test_a_table_of_wrong_types_is_refused_with_the_reason(table, reason):
    with pytest.raises(TypeError, match=reason):
        allot.plan(table)


def test_columns_of_pandas_with_optional_integers():
    assert allot.plan(frame(pandas.array([1, 2], dtype="Int64"))).peak == 3
    assert allot.plan(frame([]).astype("int64")).offsets == [] == allot.plan(frame([])).offsets


def test_the_largest_numbers():
    plan = allot.plan([(2**63, -2**63, 2**63 - 1)])
    assert plan.peak == 2**63 and plan.fits
    with pytest.raises(allot.PlanError, match="exceed 64 bits"):
        allot.plan([(2**63, 0, 1), (2**63, 0, 1), (2**63, 0, 1)])


@pytest.mark.parametrize("make, reason", [
    (lambda: allot.plan([(2**64 - 1, 0, 1), (1, 0, 1)]), "offsets exceed 64 bits"),
    (lambda: allot.replan([(2**64 - 1, 0, 1), (1, 0, 1)], [None, None]), "offsets exceed 64 bits"),
    (lambda: allot.plan([(2**60, 0, 1)], memories=[allot.Memory(10)]),
     "the sum of the sizes or of the costs exceeds 58 bits"),
    (lambda: allot.plan_moves([(2**60, 0, 1)], [(0, 0)], memories=[allot.Memory(10)]),
     "the sum of the sizes or of the costs exceeds 58 bits"),
    (lambda: allot.plan_pages([(8, 0, 1), (2**40, 0, 1)], 1), r"buffer 1: it has more than 2\*\*32 - 1 pages"),
    (lambda: allot.plan_pages([(2**32, 0, 1)], 1), r"buffer 0: it has more than 2\*\*32 - 1 pages"),
    (lambda: allot.plan_pages([(2**31, 0, 1)] * 3, 1),
     r"offsets exceed 64 bits, or the buffers in pages have more than 2\*\*32 - 1 pages"),
])
def test_numbers_that_are_too_large(make, reason):
    with pytest.raises(allot.PlanError, match=f"^{reason}$"):
        make()


def test_an_empty_table_has_an_empty_plan():
    assert allot.plan([]).offsets == [] and allot.plan([]).peak == 0
    memories = [(None,), (None, 1)]
    for plan in (allot.plan([]), allot.plan([], capacity=5, reserved=[(0, 2)]), allot.plan([], memories=memories),
                 allot.plan([], memories=memories, uses=[], allowed=[]), allot.plan_moves([], [], memories=memories),
                 allot.plan_pages([], 16), allot.replan([], [])):
        picture = ElementTree.fromstring(plan._repr_svg_())
        assert "0 buffers" in "".join(picture.itertext()) and "nan" not in plan.svg() and "inf" not in plan.svg()


def test_capacity():
    assert allot.plan(ROWS, capacity=10_000).fits
    tight = allot.plan(ROWS, capacity=5000)
    assert not tight.fits and tight.status == "infeasible" and tight.bound > 5000


def test_constraints():
    fixed = allot.plan(ROWS, fixed={1: 4096}, reserved=[(0, 64)])
    assert fixed.offsets[1] == 4096 and min(fixed.offsets) >= 64
    assert allot.validate(ROWS, fixed.offsets, fixed={1: 4096}, reserved=[(0, 64)]) is None
    together = allot.plan(ROWS, together=[(0, 1)]).offsets
    assert together[0] == together[1]
    apart = allot.plan(ROWS, apart=[(0, 2)]).offsets
    assert abs(apart[0] - apart[2]) >= 4096
    revived = allot.plan(ROWS, revivals=[(0, 3, 4)])
    assert abs(revived.offsets[0] - revived.offsets[2]) >= 4096
    with pytest.raises(allot.PlanError, match="names a buffer that does not exist"):
        allot.plan(ROWS, fixed={9: 0})


def test_memories():
    made = allot.plan(ROWS, memories=[allot.Memory(4200, alignment=64), (None, 1)], uses=[9, 1, 9, 1])
    assert made.fits and made.memories[0] == made.memories[2] == 0 and made.memories[1] == 1
    assert made.spilled == sum(row[0] for row, memory in zip(ROWS, made.memories) if memory)
    assert made.peaks[0] <= 4200 and made.alignments[0] == 128
    full = allot.plan(ROWS, memories=[(4200,)])
    assert not full.fits and full.unplaced == full.offsets.count(None) == full.memories.count(None) > 0
    assert f"buffers, {full.unplaced} unplaced, " in repr(full) and "unplaced" not in repr(made)
    only = allot.plan(ROWS, memories=[(None,), (None, 1)], allowed=[1, 2, 1, 2])
    assert only.memories == [0, 1, 0, 1]
    banks = allot.plan(ROWS, memories=[(None,), (None,), (None, 1)], separate=[(0, 1), (1, 2)])
    assert banks.status == "optimal" and banks.cost == 0
    assert banks.memories[0] == banks.memories[2] != banks.memories[1]
    three = allot.plan(ROWS, memories=[(None,), (None, 1)], separate=[(0, 1), (1, 2), (2, 0)])
    assert three.status == "infeasible" and three.unplaced == 1
    with pytest.raises(allot.PlanError, match="names a buffer that does not exist"):
        allot.plan(ROWS, memories=[(None,)], separate=[(0, 4)])
    with pytest.raises(allot.PlanError, match="memory 1: a memory is invalid"):
        allot.plan(ROWS, memories=[(None, 2), (None, 1)])


def test_arguments_that_exclude_each_other():
    for arguments in ({"uses": [1]}, {"uses": []}, {"allowed": []}, {"separate": [(0, 1)]}, {"capacity": 1, "memories": [(None,)]}, {"seconds": -1}, {"seconds": math.nan}):
        with pytest.raises(ValueError):
            allot.plan(ROWS, **arguments)


@pytest.mark.parametrize("arguments, reason", [
    ({"capacity": -1}, "capacity: -1 is not from 0"),
    ({"capacity": 2**64}, "capacity: 18446744073709551616 is not from 0"),
    ({"effort": -1}, "effort: -1"),
    ({"seconds": -1}, "^seconds: -1 is not 0 or more$"),
    ({"seconds": float("nan")}, "^seconds: nan is not 0 or more$"),
    ({"fixed": {-1: 0}}, "fixed: -1"),
    ({"revivals": [(0, 2**63, 2**63)]}, "revivals: 9223372036854775808 is not from -2"),
    ({"memories": []}, "memories is empty"),
    ({"memories": [(-5,)]}, "capacity: -5"),
    ({"memories": [(None,)], "uses": [-1]}, "uses: -1"),
    ({"memories": [(None,)], "uses": []}, "^uses has 0 elements for 4 buffers$"),
    ({"memories": [(None,)], "allowed": []}, "^allowed has 0 elements for 4 buffers$"),
    ({"memories": [(None,)], "uses": [1, 2, 3, 4, 5]}, "^uses has 5 elements for 4 buffers$"),
])
def test_numbers_that_are_out_of_range(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        allot.plan(ROWS, **arguments)


@pytest.mark.parametrize("arguments, reason", [
    ({"capacity": 1.5}, "capacity: 1.5 is not an integer"),
    ({"effort": 1e6}, "effort: 1000000.0 is not an integer"),
    ({"seconds": "1"}, "seconds must be a number, not str"),
    ({"progress": 5}, "progress must be a function"),
    ({"together": [("a", "b")]}, "together: 'a' is not an integer"),
    ({"together": (0, 1)}, "together: 0 is not a pair of buffers"),
    ({"apart": [(0, 1, 2)]}, r"apart: \(0, 1, 2\) is not a pair of buffers"),
    ({"memories": [(None,)], "separate": [(0,)]}, r"separate: \(0,\) is not a pair of buffers"),
    ({"apart": ["01"]}, "apart: '01' is not a pair of buffers"),
    ({"reserved": 5}, "reserved must be a list, not int"),
    ({"revivals": [(0, 1)]}, r"revivals: \(0, 1\) is not a tuple"),
    ({"fixed": [(0, 1)]}, "fixed must be a mapping of buffers to offsets, not list"),
    ({"memories": [(1, 2, 3, 4)]}, r"memories: \(1, 2, 3, 4\) is not a Memory"),
    ({"memories": (1024,)}, "memories: 1024 is not a Memory"),
    ({"memories": 1024}, "memories must be a list, not int"),
    ({"memories": [(None,)], "uses": 1}, "uses must be a list of integers, not int"),
])
def test_arguments_of_wrong_types(arguments, reason):
    with pytest.raises(TypeError, match=reason):
        allot.plan(ROWS, **arguments)


def test_pictures():
    assert allot.plan(ROWS)._repr_svg_().startswith("<svg")
    assert "conv &lt;1&gt;" in allot.plan({"id": ["conv <1>"], "size": [1], "lower": [0], "upper": [1]}).svg()
    assert allot.plan(ROWS, memories=[(4200,), (None, 1)])._repr_svg_().startswith("<svg")
    assert allot.plan(ROWS, memories=[(4200,)])._repr_svg_() is None


def test_progress_is_called_and_ends_the_search():
    seen = []

    def progress(peak, bound):
        seen.append((peak, bound))
        return True

    plan = allot.plan(hard(), progress=progress, effort=2**60)
    assert len(seen) == 1 and plan.peak == seen[0][0] >= plan.bound == seen[0][1]
    assert allot.plan(hard(50), memories=[(9000,), (None, 1)], progress=lambda cost, bound: True).fits


def test_an_exception_of_progress_ends_the_search():
    def progress(peak, bound):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        allot.plan(hard(), progress=progress, effort=2**60)


def test_seconds_end_the_search():
    plan = allot.plan(hard(), seconds=0.3)
    assert plan.fits and allot.validate(hard(), plan.offsets, capacity=plan.peak) is None
    assert allot.plan(hard(), memories=[(9000,), (None, 1)], seconds=0.1).fits
    assert allot.plan(hard(), seconds=0).fits and allot.plan(ROWS, seconds=math.inf).fits


def test_ctrl_c_interrupts_the_planner():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            allot.plan(hard(), effort=2**60)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def test_other_threads_run_while_the_planner_works():
    """A planner that kept the interpreter's lock would wait forever for a stop that another thread requests."""
    stop = threading.Event()
    made = []
    worker = threading.Thread(target=lambda: made.append(allot.plan(hard(), effort=2**60, progress=lambda *_: stop.is_set())))
    worker.start()
    time.sleep(0.1)
    assert not made
    stop.set()
    worker.join()
    assert made[0].fits


@pytest.mark.parametrize("work", [
    "allot.plan(rows, effort=2**60)", "allot.plan(rows, seconds=0.01)", "allot.plan(rows[:9])",
    "allot.plan(rows, effort=2**60, progress=lambda *_: sum(range(10**6)) < 0)",  # other threads run during the callback
    "allot.validate(rows[:9], numpy.zeros(9, numpy.uint64))"])
def test_daemon_threads_do_not_end_the_process_when_the_interpreter_ends(work):
    program = f"""
import threading, time
import allot, numpy

rows = numpy.array({hard().tolist()}, numpy.uint64)

def work():
    while True:
        {work}

class Slow:
    def __del__(self):
        time.sleep(0.1)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
slow = Slow()  # is deleted while the interpreter ends
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@st.composite
def problems(draw):
    def buffer():
        lower = draw(st.integers(-5, 20))
        return (draw(st.integers(0, 1000)), lower, lower + draw(st.integers(1, 9)), 2 ** draw(st.integers(0, 7)))

    return [buffer() for _ in range(draw(st.integers(1, 14)))]


def live_bytes(rows):
    steps = {row[1] for row in rows}
    return max(sum(size for size, lower, upper, _ in rows if lower <= step < upper) for step in steps)


def overlapping(rows, offsets):
    return [(i, j) for i, a in enumerate(rows) for j, b in enumerate(rows[:i])
            if a[1] < b[2] and b[1] < a[2] and offsets[i] < offsets[j] + b[0] and offsets[j] < offsets[i] + a[0]]


@settings(max_examples=150, deadline=None)
@given(problems())
def test_plans_are_valid_and_not_below_their_bound(rows):
    plan = allot.plan(rows, effort=2000)
    assert not overlapping(rows, plan.offsets)
    assert all(offset % row[3] == 0 for offset, row in zip(plan.offsets, rows))
    assert plan.peak == max((offset + row[0] for offset, row in zip(plan.offsets, rows) if row[0]), default=0)
    assert live_bytes(rows) <= plan.bound <= plan.peak
    assert (plan.status == "optimal") == (plan.peak == plan.bound)
    assert plan.offsets == allot.plan(numpy.array(rows), effort=2000).offsets


@pytest.mark.parametrize("rows, offsets, arguments, mistake", [
    ([(1, 0, 1)], [2**64 - 1], {}, "the end of a buffer exceeds 64 bits: 0"),
    ([(1, 0, 1), (4, 0, 1)], [9, 2], {"capacity": 6}, "the end of a buffer exceeds the capacity: 0"),
    ([(1, 0, 1), (4, 0, 1, 4)], [9, 3], {}, "the offset of a buffer is not a multiple of its alignment: 1"),
    ([(1, 0, 1), (4, 0, 1)], [9, 3], {"fixed": {1: 2}}, "a buffer is not at its fixed offset: 1"),
    ([(1, 0, 1), (4, 0, 1)], [9, 3], {"reserved": [(50, 1), (6, 1)]}, "a buffer overlaps a reserved range: buffer 1, range 1"),
    ([(1, 0, 1), (4, 0, 1)], [4, 3], {}, "two buffers live at the same time and share bytes: "),
    ([(1, 0, 1), (4, 1, 2)], [9, 3], {"together": [(0, 1)]}, "two buffers are together and have different offsets: 0 and 1"),
    ([(1, 0, 1), (4, 1, 2)], [4, 3], {"apart": [(0, 1)]}, "two buffers are apart and share bytes: 0 and 1"),
    ([(1, 0, 1), (4, 2, 1)], [4, 3], {},
     "the planning problem is invalid: buffer 1: a lifetime ends before or at the step at which it begins"),
])
def test_validate_names_the_buffers_of_a_mistake(rows, offsets, arguments, mistake):
    found = allot.validate(rows, offsets, **arguments)
    assert found in [mistake, mistake + "0 and 1", mistake + "1 and 0"]


@settings(max_examples=100, deadline=None)
@given(problems(), st.data())
def test_validate_agrees_with_the_definition(rows, data):
    offsets = [row[3] * data.draw(st.integers(0, 20)) for row in rows]
    wrong = overlapping([row for row in rows if row[0]], [offset for offset, row in zip(offsets, rows) if row[0]])
    assert (allot.validate(rows, offsets) is not None) == bool(wrong)
