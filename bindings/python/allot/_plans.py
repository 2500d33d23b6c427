# SPDX-License-Identifier: BSL-1.0
"""The results of the planners."""

from __future__ import annotations

from typing import NamedTuple

from allot import _allot


class Piece(NamedTuple):
    """A buffer at one place for one interval of steps. An unplaced buffer has no memory and no offset."""

    buffer: int
    lower: int
    upper: int
    memory: int | None
    offset: int | None


class Part(NamedTuple):
    """The rows of a buffer from `begin` up to, but not including, `end`, in one memory.

    An unplaced buffer has one part without a memory and an offset.
    """

    buffer: int
    begin: int
    end: int
    memory: int | None
    offset: int | None
    size: int


class Copy(NamedTuple):
    """A copy of a whole buffer between two of its pieces, before or after the accesses of its step."""

    buffer: int
    step: int
    after: bool
    source: int
    target: int
    size: int


class TimedCopy(NamedTuple):
    """A copy of a whole buffer between two of its pieces, which runs beside the steps from `begin` up to `end`.

    It is submitted when step `begin` could begin. Step `end` waits for it.
    """

    buffer: int
    begin: int
    end: int
    source: int
    target: int


class _Made:
    """The results of all planners."""

    _made: (_allot.PlanOfOne | _allot.UpdatedPlan | _allot.PlanInPages | _allot.PlanOfSeveral | _allot.PlanInRows
            | _allot.PlanWithMoves | _allot.PlanInTime)

    @property
    def status(self) -> str:
        """The quality: 'optimal', 'feasible', 'infeasible' or 'out of budget'; 'out of moves' after `replan`."""
        return self._made.status

    @property
    def fits(self) -> bool:
        """Whether the peak is at most the capacity, or whether each buffer has a place in one of several memories."""
        return self._made.fits

    @property
    def seconds(self) -> float:
        """The time that the planner took."""
        return self._made.seconds


class _OneMemory(_Made):
    _made: _allot.PlanOfOne | _allot.UpdatedPlan | _allot.PlanInPages

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
    def step(self) -> int:
        """The step at which the most bytes are live."""
        return self._made.step

    def svg(self) -> str:
        """Returns a picture: time across, addresses up, a shape for each buffer."""
        return self._made.svg()

    def _repr_svg_(self) -> str:
        return self.svg()


class Plan(_OneMemory):
    """The offsets of buffers in one memory."""

    _made: _allot.PlanOfOne | _allot.UpdatedPlan

    def __init__(self, made: _allot.PlanOfOne | _allot.UpdatedPlan) -> None:
        self._made = made

    @property
    def offsets(self) -> list[int]:
        """The offset of each buffer."""
        return self._made.offsets

    @property
    def places(self) -> list[tuple[int, int]]:
        """The offset and the size of each buffer, for `replan`."""
        return self._made.places

    def __repr__(self) -> str:
        return (f"<{type(self).__name__} of {len(self.offsets)} buffers in {self.peak} bytes: {self.status}, "
                f"lower bound {self.bound}>")


class UpdatedPlan(Plan):
    """A plan that `replan` or `replan_at` made of another one."""

    _made: _allot.UpdatedPlan

    def __init__(self, made: _allot.UpdatedPlan) -> None:
        super().__init__(made)

    @property
    def moved(self) -> int:
        """The number of unchanged buffers with another offset than before."""
        return self._made.moved


class PagesPlan(_OneMemory):
    """The pages of some buffers and the offsets of the others, in one memory."""

    _made: _allot.PlanInPages

    def __init__(self, made: _allot.PlanInPages, page_size: int) -> None:
        self._made = made
        self._page_size = page_size

    @property
    def page_size(self) -> int:
        """The bytes of a page. Page p begins at byte p * page_size."""
        return self._page_size

    @property
    def offsets(self) -> list[int | None]:
        """The offset of each contiguous buffer, or None for a buffer in pages."""
        return self._made.offsets

    @property
    def pages(self) -> list[list[int]]:
        """The pages of each buffer in the order of its bytes. A contiguous buffer has none."""
        return self._made.pages

    def __repr__(self) -> str:
        return (f"<PagesPlan of {len(self.offsets)} buffers in {self.peak} bytes, pages of {self.page_size}: "
                f"{self.status}, lower bound {self.bound}>")


class _SeveralMemories(_Made):
    _made: _allot.PlanOfSeveral | _allot.PlanInRows | _allot.PlanWithMoves | _allot.PlanInTime

    @property
    def peaks(self) -> list[int]:
        """The bytes that each memory needs."""
        return self._made.peaks

    @property
    def alignments(self) -> list[int]:
        """The required alignment of the first byte of each memory."""
        return self._made.alignments

    @property
    def bound(self) -> int:
        """A lower bound on the cost of every plan that places all buffers; if infeasible, that places the same ones."""
        return self._made.bound

    @property
    def unplaced(self) -> int:
        """The number of buffers without a place."""
        return self._made.unplaced

    def svg(self) -> str:
        """Returns a picture with the memories side by side. Raises ValueError if a buffer is unplaced."""
        return self._made.svg()

    def _repr_svg_(self) -> str | None:
        return self.svg() if self.fits else None


class _WithoutMoves(_SeveralMemories):
    """What plans in several memories have in common if no bytes move."""

    _made: _allot.PlanOfSeveral | _allot.PlanInRows

    @property
    def step(self) -> int:
        """The step at which the most bytes are live."""
        return self._made.step

    @property
    def spilled(self) -> int:
        """The bytes in memories other than the first."""
        return self._made.spilled


class MemoriesPlan(_WithoutMoves):
    """The memory and the offset of each buffer."""

    _made: _allot.PlanOfSeveral

    def __init__(self, made: _allot.PlanOfSeveral) -> None:
        self._made = made

    @property
    def offsets(self) -> list[int | None]:
        """The offset of each buffer in its memory, or None for an unplaced buffer."""
        return self._made.offsets

    @property
    def memories(self) -> list[int | None]:
        """The index of the memory of each buffer, or None for an unplaced buffer."""
        return self._made.memories

    @property
    def cost(self) -> int:
        """The sum over all placed buffers of size times uses times the cost of the memory."""
        return self._made.cost

    def __repr__(self) -> str:
        unplaced = f", {self.unplaced} unplaced" if self.unplaced else ""
        return (f"<MemoriesPlan of {len(self.offsets)} buffers{unplaced}, {self.spilled} bytes spilled: {self.status}, "
                f"cost {self.cost}, lower bound {self.bound}>")


class RowsPlan(_WithoutMoves):
    """The places of buffers that are divided by rows."""

    _made: _allot.PlanInRows

    def __init__(self, made: _allot.PlanInRows, rows: list[int]) -> None:
        self._made = made
        self._rows = rows

    @property
    def parts(self) -> list[Part]:
        """The parts of all buffers, ordered by buffer and row. A divided buffer has two, the others one."""
        return [Part(*each) for each in self._made.parts(self._rows)]

    @property
    def divided(self) -> int:
        """The number of divided buffers."""
        return self._made.divided

    @property
    def cost(self) -> int:
        """The sum over all parts of size times uses times the cost of the memory."""
        return self._made.cost

    @property
    def whole_cost(self) -> int | None:
        """The cost of the plan in which no buffer is divided, or None if it has unplaced buffers."""
        return self._made.whole_cost

    def __repr__(self) -> str:
        return (f"<RowsPlan with {self.divided} divided buffers, {self.spilled} bytes spilled: {self.status}, "
                f"cost {self.cost}, lower bound {self.bound}>")


class MovesPlan(_SeveralMemories):
    """The places of buffers that move between memories, and the copies."""

    _made: _allot.PlanWithMoves

    def __init__(self, made: _allot.PlanWithMoves) -> None:
        self._made = made

    @property
    def pieces(self) -> list[Piece]:
        """The pieces of all buffers, ordered by buffer. The first piece of a buffer holds its first contents."""
        return [Piece(*each) for each in self._made.pieces]

    @property
    def copies(self) -> list[Copy]:
        """The copies in the order of time. Their sources and targets are indices of pieces."""
        return [Copy(*each) for each in self._made.copies]

    @property
    def piece_of(self) -> list[int]:
        """The index of the piece that each access uses."""
        return self._made.piece_of

    @property
    def cost(self) -> int:
        """The sum of the costs of all accesses and copies."""
        return self._made.cost

    @property
    def whole_cost(self) -> int:
        """The cost of the plan without moves."""
        return self._made.whole_cost

    @property
    def copied(self) -> int:
        """The bytes of all copies."""
        return self._made.copied

    @property
    def spilled(self) -> int:
        """The bytes of buffers that are in a memory other than the first at some time."""
        return self._made.spilled

    def __repr__(self) -> str:
        return (f"<MovesPlan of {len(self._made.pieces)} pieces and {len(self._made.copies)} copies: {self.status}, "
                f"cost {self.cost}, {self.whole_cost} without moves, lower bound {self.bound}>")


class TimedPlan(_SeveralMemories):
    """The places of buffers that move between memories while steps run, and the copies."""

    _made: _allot.PlanInTime

    def __init__(self, made: _allot.PlanInTime) -> None:
        self._made = made

    @property
    def pieces(self) -> list[Piece]:
        """The pieces of all buffers, ordered by buffer. The first piece of a buffer holds its first contents."""
        return [Piece(*each) for each in self._made.pieces]

    @property
    def copies(self) -> list[TimedCopy]:
        """The copies in the order of their queue. Their sources and targets are indices of pieces."""
        return [TimedCopy(*each) for each in self._made.copies]

    @property
    def piece_of(self) -> list[int]:
        """The index of the piece that each access uses."""
        return self._made.piece_of

    @property
    def elapsed(self) -> int:
        """The time from the first step to the end of the last step and copy, in ticks. `bound` is a lower bound of it."""
        return self._made.cost

    @property
    def whole_elapsed(self) -> int:
        """The elapsed time of the plan without copies."""
        return self._made.whole_elapsed

    @property
    def waited(self) -> int:
        """The time that steps wait for copies."""
        return self._made.waited

    @property
    def copied(self) -> int:
        """The bytes of all copies."""
        return self._made.copied

    def __repr__(self) -> str:
        return (f"<TimedPlan of {len(self._made.pieces)} pieces and {len(self._made.copies)} copies: {self.status}, "
                f"elapsed {self.elapsed}, {self.whole_elapsed} without copies, lower bound {self.bound}>")
