"""Tests of allot.OffsetAllocator against a model."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

import allot

SIZE = 1003


class Model(RuleBasedStateMachine):
    """Blocks in a dictionary from offset to size."""

    blocks = Bundle("blocks")

    def __init__(self):
        super().__init__()
        self.memory = allot.OffsetAllocator(SIZE)
        self.live = {}
        self.peak = 0

    def holes(self):
        at, found = 0, []
        for offset, size in [*sorted(self.live.items()), (SIZE, 0)]:
            if at < offset:
                found.append((at, offset - at))
            at = offset + size
        return found

    def keep(self, offset, size):
        assert all(offset + size <= other or other + length <= offset for other, length in self.live.items())
        assert offset + size <= SIZE
        self.live[offset] = size
        self.peak = max(self.peak, sum(self.live.values()))
        return offset

    @rule(target=blocks, size=st.integers(1, 400), log2=st.integers(0, 8))
    def allocate(self, size, log2):
        align = 2**log2
        fits = any(-offset % align + size <= length for offset, length in self.holes())
        try:
            offset = self.memory.allocate(size, alignment=align)
        except allot.OutOfMemory as reason:
            assert not fits
            assert str(max((length for _, length in self.holes()), default=0)) in str(reason)
            return None
        assert fits and offset % align == 0
        return self.keep(offset, size)

    @rule(target=blocks, offset=st.integers(0, SIZE), size=st.integers(1, 100))
    def allocate_at(self, offset, size):
        fits = any(hole <= offset and offset + size <= hole + length for hole, length in self.holes())
        try:
            self.memory.allocate_at(offset, size)
        except allot.OutOfMemory:
            assert not fits
            return None
        assert fits
        return self.keep(offset, size)

    @rule(offset=consumes(blocks))
    def free(self, offset):
        if offset in self.live:
            self.memory.free(offset)
            del self.live[offset]
        elif offset is not None:
            with pytest.raises(ValueError, match=f"no block starts at offset {offset}"):
                self.memory.free(offset)

    @rule(offset=blocks, size=st.integers(1, 400))
    def resize(self, offset, size):
        if offset not in self.live:
            return
        room = self.live[offset] + next((length for hole, length in self.holes() if hole == offset + self.live[offset]), 0)
        if size <= room:
            self.memory.resize(offset, size)
            self.live[offset] = size
            self.peak = max(self.peak, sum(self.live.values()))
        else:
            with pytest.raises(allot.OutOfMemory):
                self.memory.resize(offset, size)

    @rule()
    def clear(self):
        self.memory.clear()
        self.live = {}

    @invariant()
    def agrees(self):
        assert self.memory.blocks == sorted(self.live.items())
        assert self.memory.holes == self.holes()
        assert self.memory.used == sum(self.live.values()) and len(self.memory) == len(self.live)
        assert self.memory.peak == self.peak
        assert self.memory.largest_hole == max((length for _, length in self.holes()), default=0)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_wrong_arguments_are_refused():
    memory = allot.OffsetAllocator(100)
    for size, alignment in ((0, 1), (1, 3), (1, 0)):
        with pytest.raises(ValueError):
            memory.allocate(size, alignment)
    calls = (memory.allocate, memory.free, memory.size_of, lambda value: memory.allocate_at(0, value),
             lambda value: memory.resize(value, 1), lambda value: memory.allocate(1, alignment=value), allot.OffsetAllocator)
    for call in calls:
        for value in (-1, 2**64, 2**70):
            with pytest.raises(ValueError, match=rf"^{value} is not from 0 to 2\*\*64 - 1$"):
                call(value)
        for value in (1.5, "1"):
            with pytest.raises(TypeError, match=f"^{value!r} is not an integer$"):
                call(value)
        with pytest.raises(TypeError):
            call(None)
    with pytest.raises(ValueError, match="the size is 0"):
        memory.resize(memory.allocate(1), 0)
    with pytest.raises(ValueError):
        memory.size_of(50)
    with pytest.raises(ValueError, match="the size is 0"):
        allot.OffsetAllocator(0)
    for offset, size in ((2**64 - 1, 10), (0, 2**64 - 1), (100, 1)):
        with pytest.raises(allot.OutOfMemory, match="the requested bytes are not free$"):
            memory.allocate_at(offset, size)


def test_its_text_states_its_use():
    memory = allot.OffsetAllocator(1000)
    memory.allocate(100)
    assert repr(memory) == "<OffsetAllocator of 1000: 1 blocks, 100 used, largest hole 900>"


def test_large_offsets():
    memory = allot.OffsetAllocator(2**62)
    first, second = memory.allocate(2**61), memory.allocate(1, alignment=2**40)
    assert second % 2**40 == 0 and first != second and second in memory and memory.size_of(second) == 1
