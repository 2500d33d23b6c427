"""Tests of traces, event logs, snapshots and their pages."""

import html
import json
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allot

ROOT = Path(__file__).resolve().parents[3]
TRACE = (ROOT / "benchmarks/traces/logn100.altr").read_bytes()


def trace_of(sizes):
    writer = allot.TraceWriter()
    blocks = [writer.allocate(size, alignment=2 ** (size % 7)) for size in sizes]
    for block in blocks[::2]:
        writer.free(block)
    return writer.to_bytes()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 5000), max_size=30))
def test_a_trace_is_what_was_recorded(sizes):
    trace = allot.Trace.from_bytes(trace_of(sizes))
    assert len(trace) == len(sizes) + len(sizes[::2])
    assert trace.peak == sum(sizes) and trace.slots == len(sizes) and trace.largest == max(sizes, default=0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=30), st.sampled_from(["best_fit", "best_fit_side_table", "deferred"]))
def test_a_replay_places_blocks_without_overlap(sizes, allocator):
    log = allot.replay(allot.Trace.from_bytes(trace_of(sizes)), allocator)
    live = {}
    for time, kind, address, size in log.events:
        if kind == "allocate":
            assert all(address + size <= other or other + length <= address for other, length in live.items())
            assert address + size <= log.held
            live[address] = size
        elif kind == "deallocate":
            assert live.pop(address) == size
    assert sorted(live.values()) == sorted(sizes[1::2])


def test_wrong_calls_are_refused():
    writer = allot.TraceWriter()
    writer.free(writer.allocate(1))
    for wrong in (lambda: writer.free(0), lambda: writer.free(1), lambda: writer.allocate(1, 3), lambda: writer.allocate(2**62)):
        with pytest.raises(ValueError):
            wrong()
    for call in (writer.allocate, writer.free):
        with pytest.raises(ValueError, match=r"^-1 is not from 0 to 2\*\*64 - 1$"):
            call(-1)
    trace = allot.Trace.from_bytes(writer.to_bytes())
    with pytest.raises(ValueError, match="the allocators are: best_fit best_fit_side_table deferred bump"):
        allot.replay(trace, "slab")


@pytest.mark.parametrize("reader, data", [(allot.Trace, TRACE), (allot.EventLog, None), (allot.Snapshot, None)])
def test_damaged_bytes_are_refused_with_the_place(reader, data):
    log = allot.replay(allot.Trace.from_bytes(trace_of([100, 200, 300])))
    memory = allot.OffsetAllocator(100)
    memory.allocate(30)
    data = data or (log if reader is allot.EventLog else memory.snapshot()).to_bytes()
    reader.from_bytes(data)
    for wrong in (b"", b"x" + data, data[:-1], data + b"\0"):
        with pytest.raises(allot.FormatError, match="at byte"):
            reader.from_bytes(wrong)


def test_logs_are_exported():
    log = allot.replay(allot.Trace.from_bytes(trace_of([100, 200, 300])))
    again = allot.EventLog.from_bytes(log.to_bytes())
    assert again.events == log.events and len(log) == len(log.events) == 6
    assert len(json.loads(log.json())["events"]) == 6
    assert pickle.loads(log.pytorch())["device_traces"]
    assert log.perfetto()


def test_a_snapshot_is_the_state():
    memory = allot.OffsetAllocator(1000)
    blocks = [memory.allocate(100) for _ in range(5)]
    memory.free(blocks[1])
    now = memory.snapshot()
    assert now.regions == [(0, 1000)] and now.holes == memory.holes == [(100, 100), (500, 500)]
    assert now.blocks == [(offset, size, "") for offset, size in memory.blocks]
    assert (now.used, now.free) == (400, 600) and now.fragmentation == pytest.approx(1 / 6)
    assert allot.Snapshot.from_bytes(now.to_bytes()) == now != allot.OffsetAllocator(1000).snapshot()
    assert now != 5 and now != None  # noqa: E711
    assert json.loads(now.json())["blocks"]


def test_pages_have_the_data_and_the_library():
    for shown in (allot.OffsetAllocator(1000).snapshot(), allot.replay(allot.Trace.from_bytes(TRACE))):
        page = shown.html("My <title>")
        assert page.startswith("<!DOCTYPE html>") and "@@data@@" not in page and "My \\u003ctitle>" in page
        frame = shown._repr_html_()
        assert frame.startswith("<iframe srcdoc=") and frame.count("<") == 2
        assert type(shown).__name__ in html.unescape(frame)


def test_without_plotly_a_notebook_shows_a_line():
    program = ("import sys\nsys.modules['plotly'] = None\nimport allot\nshown = allot.OffsetAllocator(9).snapshot()\n"
               "print(shown._repr_html_())\ntry: shown.html()\nexcept ModuleNotFoundError as reason: print(reason)")
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "&lt;Snapshot of 0 blocks and 1 holes" in done.stdout and done.stdout.count("pip install") == 2


def test_other_threads_run_during_a_replay():
    """The main thread counts while another one replays. With the interpreter's lock held it could not."""
    writer = allot.TraceWriter()
    for _ in range(300_000):
        writer.free(writer.allocate(64))
    trace = allot.Trace.from_bytes(writer.to_bytes())
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        # On a busy machine the system may give the processor to the other thread alone, but not each time.
        assert any(counted_during(lambda: allot.replay(trace)) > 1000 for _ in range(50))
    finally:
        sys.setswitchinterval(before)


def counted_during(call):
    """Returns how far this thread counts while another one makes a call."""
    begun, done = threading.Event(), threading.Event()

    def work():
        begun.set()
        call()
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    begun.wait()
    counted = 0
    while not done.is_set():
        counted += 1
    worker.join()
    return counted
