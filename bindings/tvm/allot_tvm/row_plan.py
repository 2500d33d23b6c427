"""The part of plan_memory.py that chooses tensors for rows, if not all tensors fit contiguously.

A tensor in rows is a buffer of the planner for each row, and one for its table. All buffers are planned together, with
one more memory, which costs most and has no limit. It holds what does not fit:

    plan ──► all fit ──► done
     ▲   └─► what is in the additional memory ──► in rows;  if it is in rows already: the largest tensors that live at
     │                                            the same time, and at last smaller rows
     └──────────────────────────────────────────────┘

At the end, tensors that could fit contiguously leave the rows again, in groups, if all still fit.
Rows therefore lie in any memory, and tensors with the fewest uses for each byte are in rows first.
"""

from math import inf

from . import rows

DEAREST = 1000  # the cost of the additional memory for each other memory
TRIALS = 32  # the most plans with fewer tensors in rows


class RowPlan:
    """The choice for one function: the tensors in rows, and the sizes of their rows."""

    def __init__(self, tensors, allowed):
        self.tensors, self.allowed = tensors, allowed
        self.splits = [[] for _ in tensors]  # the numbers of elements that a row of each tensor can have
        self.chosen = {}  # the index in the list of splits, by the number of the tensor
        self.step = 1  # tensors that join at once

    def plan(self, run, memories, kernels, least):
        """Returns the places of the buffers and the peaks of the memories. `run` is the planner.

        A row has `least` bytes or more. Raises a MemoryError if the tensors do not fit in rows either.
        """
        self.splits = [splits_of(tensor, kernels, least) for tensor in self.tensors]
        while True:
            out, *found = self.attempt(run, memories)
            if not out:
                return self.fewer(run, memories) or found
            if not self.grow(out):
                raise MemoryError(self.reason(least))

    def attempt(self, run, memories):
        """Returns the tensors that have no place, the places of the buffers and the peaks of the memories."""
        more = len(memories)
        buffers, owners = self.buffers(1 << more)
        try:
            places, peaks = run(buffers, memories, more * DEAREST)
        except MemoryError:
            return set(range(len(self.tensors))), [], []  # a tensor that stays contiguous has no place
        return {owner for owner, (memory, _) in zip(owners, places) if memory == more}, places, peaks[:-1]

    def fewer(self, run, memories):
        """Tries to keep groups of tensors contiguous after all, and halves of them. Returns the best plan, if any."""
        best, widest = None, max(inf if memory.capacity is None else memory.capacity for memory in memories)
        able = [number for number in self.chosen if self.tensors[number].size <= widest]
        groups = [sorted(able, key=lambda number: -self.tensors[number].size)]
        for _ in range(TRIALS):
            if not (group := groups.pop() if groups else []):
                break
            taken = {number: self.chosen.pop(number) for number in group}
            out, *found = self.attempt(run, memories)
            if not out:
                best = found
                continue
            self.chosen.update(taken)
            half = len(group) // 2
            groups += [group[:half], group[half:]] if half else []
        return best

    def buffers(self, more):
        """Returns the planner's buffers, and the number of the tensor of each. `more` is the additional memory."""
        made, owners = [], []
        for number, tensor in enumerate(self.tensors):
            mask = self.allowed[number] | (more if self.splits[number] else 0)
            sizes = [tensor.size]
            if number in self.chosen:
                count = self.count(number)
                sizes = [tensor.size // count] * count + [rows.POINTER * count]
            made += [tensor.buffer(size, mask) for size in sizes]
            owners += [number] * len(sizes)
        return made, owners

    def row(self, number):
        return self.splits[number][self.chosen[number]]

    def count(self, number):
        tensor = self.tensors[number]
        return tensor.size // (self.row(number) * tensor.item)

    def grow(self, out):
        """Puts more tensors in rows, or in smaller rows. Returns whether there were any."""
        fresh = [number for number in out if self.splits[number] and number not in self.chosen]
        if len(out) == len(self.tensors) or not fresh:
            fresh = [number for number, splits in enumerate(self.splits) if splits and number not in self.chosen
                     and any(meet(self.tensors[number], self.tensors[other]) for other in out)]
            fresh = sorted(fresh, key=lambda number: -self.tensors[number].size)[:self.step]
            self.step *= 2
        smaller = [number for number in out & self.chosen.keys()
                   if self.chosen[number] + 1 < len(self.splits[number])]
        for number in fresh or smaller:
            self.chosen[number] = self.chosen.get(number, -1) + 1
        return bool(fresh or smaller)

    def reason(self, least):
        text = (f"allot: no plan: {len(self.chosen)} of {len(self.tensors)} tensors are in rows of {least} bytes or "
                "more, and not all have room")
        whole = [tensor for number, tensor in enumerate(self.tensors) if number not in self.chosen]
        if whole:
            largest = max(whole, key=lambda tensor: tensor.size)
            text += f"; the largest that stays contiguous is {largest.var.name} with {largest.size} bytes"
        return text

    def set_places(self, places, index):
        """Sets the places of all tensors. `index` has the storage of each memory."""
        left = iter((index[memory], offset) for memory, offset in places)
        for number, tensor in enumerate(self.tensors):
            if number in self.chosen:
                tensor.row = self.row(number)
                tensor.rows = [next(left) for _ in range(self.count(number))]
                tensor.table = next(left)
            else:
                tensor.storage, tensor.offset = next(left)


def meet(first, second):
    return any(a < d and c < b for a, b in first.lives for c, d in second.lives)


def splits_of(tensor, kernels, least):
    """Returns the numbers of elements of a row with which all kernels of the tensor can take a table."""
    if tensor.opaque or tensor.bounded:
        return []
    return [row for row in rows.splits([int(extent) for extent in tensor.shape], tensor.item, least)
            if all(kernels[name].takes_table(number, shape, tensor.dtype, rows.axes_before(shape, row))
                   for name, number, shape in tensor.kernels)]
