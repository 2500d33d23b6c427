"""Tests of allot.PageCache against a simulated memory of pages."""

import numpy
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

import allot

PAGES, EACH = 12, 3
POLICIES = ("lru", "reuse", "priority", "s3_fifo", "leaf_first_priority", "leaf_first_s3_fifo")


class Memory(RuleBasedStateMachine):
    """Writes each token of a sequence to its page, and reads all of them back."""

    sequences = Bundle("sequences")
    prompts = st.lists(st.integers(0, 1), max_size=10)

    def __init__(self):
        super().__init__()
        self.live = []

    @initialize(eviction=st.sampled_from(POLICIES))
    def open(self, eviction):
        self.cache = allot.PageCache(PAGES, page_tokens=EACH, sequences=4, sequence_pages=6, eviction=eviction)
        self.memory = {}
        assert self.cache.eviction == eviction

    def write(self, sequence, first):
        for at in range(first, len(sequence)):
            self.memory[sequence.pages[at // EACH], at % EACH] = sequence.tokens[at]

    def append(self, sequence, more):
        before = len(sequence)
        copy = sequence.append(more)
        if copy:
            for at in range(EACH):
                if (copy[0], at) in self.memory:
                    self.memory[copy[1], at] = self.memory[copy[0], at]
        self.write(sequence, before)

    @rule(target=sequences, prompt=prompts, salt=st.integers(0, 1), priority=st.integers(0, 15))
    def start(self, prompt, salt, priority):
        found = self.cache.match(prompt, salt=salt)
        try:
            sequence = self.cache.start(prompt, salt=salt, priority=priority)
        except allot.PageCacheError as reason:
            assert len(self.live) == 4 and "too many sequences" in str(reason)
            return None
        assert sequence.cached == found == len(sequence) and found % EACH == 0
        self.live.append(sequence)
        try:
            self.append(sequence, prompt[found:])
        except allot.PageCacheError:
            assert len(sequence) == found
        return sequence

    @rule(sequence=sequences, more=prompts)
    def grow(self, sequence, more):
        if sequence not in self.live:
            return
        before = sequence.tokens
        try:
            self.append(sequence, more)
        except allot.PageCacheError:
            assert sequence.tokens == before
        else:
            assert sequence.tokens == before + more

    @rule(sequence=sequences)
    def commit(self, sequence):
        if sequence in self.live:
            sequence.commit()

    @rule(target=sequences, sequence=sequences)
    def fork(self, sequence):
        if sequence not in self.live or len(self.live) == 4:
            return None
        self.live.append(sequence.fork())
        assert self.live[-1].tokens == sequence.tokens and self.live[-1].pages == sequence.pages
        return self.live[-1]

    @rule(sequence=sequences, data=st.data())
    def truncate(self, sequence, data):
        if sequence in self.live:
            kept = sequence.tokens[: data.draw(st.integers(0, len(sequence)))]
            sequence.truncate(len(kept))
            assert sequence.tokens == kept

    @rule(sequence=consumes(sequences))
    def release(self, sequence):
        if sequence in self.live:
            sequence.release()
            self.live.remove(sequence)
            for call in (sequence.commit, sequence.fork, sequence.pin, lambda: sequence.append([1])):
                with pytest.raises(allot.PageCacheError, match="was released"):
                    call()

    @rule()
    def clear(self):
        self.cache.clear()
        assert self.cache.counts[1] == 0

    @invariant()
    def pages_have_the_tokens(self):
        assert self.cache.check() is None
        assert sum(self.cache.counts) == PAGES
        assert self.cache.counts[2] == len({page for sequence in self.live for page in sequence.pages})
        for sequence in self.live:
            assert len(sequence.pages) == -(-len(sequence) // EACH)
            read = [self.memory[sequence.pages[at // EACH], at % EACH] for at in range(len(sequence))]
            assert read == sequence.tokens


TestMemory = Memory.TestCase
TestMemory.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)


def test_limits():
    for wrong in ({"pages": 0}, {"pages": 9, "page_tokens": 0}, {"pages": 9, "sequences": 0}):
        with pytest.raises(ValueError, match="the limits are invalid"):
            allot.PageCache(**wrong)
    for value in (-1, 2**32):
        for wrong in ({"pages": value}, {"pages": 9, "page_tokens": value}, {"pages": 9, "sequences": value}):
            with pytest.raises(ValueError, match=rf"^{value} is not from 0 to 2\*\*32 - 1$"):
                allot.PageCache(**wrong)
    cache = allot.PageCache(2, page_tokens=4, sequence_pages=1)
    with pytest.raises(allot.PageCacheError, match="too many pages"):
        cache.start([]).append(range(5))


def evicted(eviction, uses, priorities=(0, 0, 0)):
    """Returns which of three prompts are evicted after some uses, when a fourth one takes a page."""
    cache = allot.PageCache(3, page_tokens=2, eviction=eviction)
    prompts = [[i, i] for i in range(3)]
    for i in [0, 1, 2, *uses]:
        with cache.start(prompts[i], priority=priorities[i]) as sequence:
            sequence.append(prompts[i][sequence.cached:])
            sequence.commit()
    with cache.start([9, 9]) as sequence:
        sequence.append([9, 9])
        assert cache.evictions == 1
        return [i for i in range(3) if not cache.match(prompts[i])]


def test_policies_of_eviction():
    for eviction in POLICIES:
        assert evicted(eviction, []) == [0]  # the page that was released first
    assert evicted("lru", [0]) == [1]
    assert evicted("lru", [0, 0, 1, 2]) == [0]
    assert evicted("reuse", [0, 0, 0, 1, 2]) == [1]  # others released it before, but three sequences found 0
    assert evicted("s3_fifo", [0, 1]) == [2]
    for eviction in ("priority", "leaf_first_priority"):
        assert evicted(eviction, [], (3, 15, 2)) == [2]
    assert evicted("lru", [], (3, 15, 2)) == [0]


def test_a_leaf_goes_first():
    for eviction, kept in (("priority", 0), ("leaf_first_priority", 2)):
        cache = allot.PageCache(3, page_tokens=2, eviction=eviction)
        with cache.start([], priority=1) as first:
            first.append([1, 2, 3, 4])
            first.commit()
        with cache.start([1, 2], priority=0) as second:  # its page now has a lower priority than the page after it
            assert second.cached == 2
        with cache.start([]) as other:
            other.append([5] * 4)
        assert cache.match([1, 2, 3, 4]) == kept


def test_wrong_policies_and_priorities_are_refused():
    with pytest.raises(ValueError, match="eviction: 'random' is not lru, reuse, priority, s3_fifo"):
        allot.PageCache(3, eviction="random")
    with pytest.raises(ValueError, match="priority: 16 is not from 0 to 15"):
        allot.PageCache(3).start([1], priority=16)


def test_a_sequence_is_released_with_its_object():
    cache = allot.PageCache(4, page_tokens=2)
    sequence = cache.start([])
    sequence.append([1, 2, 3])
    sequence.commit()
    assert cache.counts == (2, 0, 2)
    del sequence
    assert cache.counts == (3, 1, 0) and cache.match([1, 2, 3]) == 2
    with cache.start([1, 2]) as found:
        assert found.cached == 2 and cache.counts == (3, 0, 1)
    assert cache.counts == (3, 1, 0)
    assert len(found) == 0 and found.pages == []


def test_a_sequence_keeps_its_cache():
    sequence = allot.PageCache(4, page_tokens=2).start([])
    sequence.append([1, 2, 3])
    assert len(sequence.fork().pages) == 2


def test_pinned_pages_are_not_evicted():
    cache = allot.PageCache(3, page_tokens=2)
    with cache.start([]) as kept:
        kept.append([1, 2])
        kept.commit()
        kept.pin()
    with cache.start([]) as other:
        other.append([3] * 4)
        with pytest.raises(allot.PageCacheError, match="too many pages are in use or pinned"):
            other.append([3])
    with cache.start([1, 2]) as found:
        assert found.cached == 2
        found.unpin()
        with pytest.raises(allot.PageCacheError, match="no pin"):
            found.unpin()
    with cache.start([]) as other:
        other.append([3] * 6)
        assert cache.evictions == 1


def test_tokens_of_a_wrong_type_are_refused():
    cache = allot.PageCache(3)
    sequence = cache.start([])
    for tokens, error, reason in (([-1], ValueError, r"-1 is not from 0 to 2\*\*32 - 1"),
                                  ([7, 2**32], ValueError, r"4294967296 is not from 0 to 2\*\*32 - 1"),
                                  (["a"], TypeError, "'a' is not an integer"),
                                  ([1.5], TypeError, "1.5 is not an integer"), (5, TypeError, "'int' object is not iterable")):
        for call in (cache.start, cache.match, sequence.append):
            with pytest.raises(error, match=f"^{reason}$"):
                call(tokens)
    for call in (cache.start, cache.match):
        with pytest.raises(ValueError, match=r"^18446744073709551616 is not from 0 to 2\*\*64 - 1$"):
            call([1], salt=2**64)
    with pytest.raises(ValueError, match=r"^-1 is not from 0 to 2\*\*32 - 1$"):
        cache.start([1], priority=-1)
    with pytest.raises(ValueError, match=r"^-1 is not from 0 to 2\*\*32 - 1$"):
        sequence.truncate(-1)
    assert cache.counts == (3, 0, 0)


def test_tokens_that_change_their_list():
    class Token:
        def __index__(self):
            tokens.clear()
            return 3

    for call in ("start", "append"):
        cache = allot.PageCache(9, page_tokens=1)
        tokens = [1, 2, Token(), 4, 5]
        sequence = cache.start([])
        if call == "append":
            sequence.append(tokens)
            assert sequence.tokens == [1, 2, 3]
        else:
            assert cache.start(tokens).cached == 0
        assert tokens == []


def test_forms_of_tokens():
    cache = allot.PageCache(9, page_tokens=2)
    for tokens in ([1, 2, 3], (1, 2, 3), range(1, 4), iter([1, 2, 3]), numpy.array([1, 2, 3])):
        with cache.start([]) as sequence:
            sequence.append(tokens)
            assert sequence.tokens == [1, 2, 3]
