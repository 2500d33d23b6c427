# SPDX-License-Identifier: BSL-1.0
"""Reads allot's arenas in the memory of a program that is stopped in a debugger.

This module and allot_views.py are shared by the printers of GDB and LLDB. They see the program through values:

    value.type                  name of the type, without qualifiers and typedefs
    value.size                  size in bytes
    value.address               address of the value, or None if the value is not in memory
    value.kind                  "class", "enum", "pointer", "array" or "scalar"
    value.number                integer of a scalar, an enumerator or a pointer
    value.enumerator            name of an enumerator without its type, or the number as text
    value.member(name)          member, also of a base class; raises Damage if there is none
    value.find(name)            member, or None
    value.fields                (name or None for a base class, value) of every non-static member
    value.item(index)           element of an array, or of the array that a pointer refers to
    value.length                number of elements of an array
    value.target                value that a pointer refers to
    value.argument(index)       type argument of a class template: a type for `at`
    value.at(type, address)     value of a type from `argument` at an address
    value.read(address, size)   bytes of the program
    value.order                 byte order, "little" or "big"

Every loop is bounded, and every chain is followed at most once, because the program may be damaged. A walk over damaged
records ends with a problem in the answer. It never raises an exception for them.
"""

import re

MOST = 100000  # records that a walk visits at most
PAGE = 4096


class Damage(Exception):
    """The memory of the program does not contain what the type promises."""


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def split_name(name):
    """The name of a template without its inline namespace, and its arguments as text."""
    name = re.sub(r"\ballot::v\d+::", "allot::", name)
    start = name.find("<")
    if start < 0 or not name.endswith(">"):
        return name, []
    arguments, depth, last = [], 0, start + 1
    for at in range(start + 1, len(name)):
        depth += (name[at] in "<({[") - (name[at] in ">)}]" and name[at - 1] != "-")
        if depth < 0 or (depth == 0 and name[at] == ","):
            arguments.append(name[last:at].strip())
            last = at + 1
    return name[:start], arguments


def template(name):
    return split_name(name)[0]


def number_in(text):
    """The integer of a template argument: 64, 64ul or (type)64."""
    found = re.fullmatch(r"(?:\([^()]*\))?(-?\d+)[uUlL]*", text)
    if not found:
        raise Damage("the template argument %s is not a number" % text)
    return int(found.group(1))


def short_name(name):
    """The name of a type without the namespace allot and without arguments."""
    return re.sub(r"^allot::(detail::)?", "", template(name))


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Memory:
    """The bytes of the program, read in pages, so that a remote target answers few requests."""

    def __init__(self, value):
        self.value = value
        self.pages = {}

    def read(self, address, size):
        """Bytes of the program. At most a page is missing from the cache for most calls."""
        if size > MOST * 16:
            raise Damage("%d bytes are more than a printer reads" % size)
        data = b""
        while size > 0:
            page = address - address % PAGE
            part = min(size, page + PAGE - address)
            if page not in self.pages:
                try:
                    self.pages[page] = self.value.read(page, PAGE)
                except Damage:  # the page is not readable as a whole
                    self.pages[page] = None
            if self.pages[page] is None:
                data += self.value.read(address, part)
            else:
                data += self.pages[page][address - page : address - page + part]
            address += part
            size -= part
        return data

    def word(self, address, size):
        return int.from_bytes(self.read(address, size), self.value.order)


def integers(array, count):
    """The first integers of an array, also of an array of std::atomic or of one that is not in memory."""
    if count < 0 or count > array.length:
        raise Damage("%d elements in an array of %d" % (count, array.length))
    if array.address is not None and array.length:
        each = array.size // array.length
        data = Memory(array).read(array.address, each * count)
        return [int.from_bytes(data[i * each : (i + 1) * each], array.order) for i in range(count)]
    return [array.item(i).number for i in range(count)]


def chain(first, next_of, none):
    """The nodes of a list. Raises Damage for a circle."""
    seen = []
    known = set()
    while first != none:
        if first in known:
            raise Damage("a list of free memory is a circle")
        if len(seen) == MOST:
            raise Damage("a list has more than %d nodes" % MOST)
        known.add(first)
        seen.append(first)
        first = next_of(first)
    return seen


def tree(header, memory):
    """The addresses of the nodes of a tree of Boost.Intrusive, in order."""
    word = header.member("parent_").size
    shifts = [header.member(name).address - header.address for name in ("parent_", "left_", "right_")]

    def pointer(node, index):
        return memory.word(node + shifts[index], word)

    nodes, stack, visits = [], [], 0
    node = pointer(header.address, 0) & ~3  # a compact node keeps its color in the low bits
    while node or stack:
        visits += 1
        if visits > 2 * MOST:
            raise Damage("a tree has a circle or more than %d nodes" % MOST)
        if node:
            stack.append(node)
            node = pointer(node, 1)
        else:
            node = stack.pop()
            nodes.append(node)
            node = pointer(node, 2)
    return nodes


# ── walks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Piece:
    """Bytes of an arena: a block, a hole, a waiting block of `deferred`, or several blocks with unknown bounds."""

    def __init__(self, kind, offset, size, note=""):
        self.kind, self.offset, self.size, self.note = kind, offset, size, note


class Walk:
    """Result of a walk. `counted` is false if the strategy does not record its blocks."""

    def __init__(self, counted=True):
        self.pieces = []
        self.counted = counted
        self.problem = ""
        self.note = ""

    def add(self, kind, offset, size, note=""):
        if size > 0:
            self.pieces.append(Piece(kind, offset, size, note))

    def of(self, *kinds):
        return [piece for piece in self.pieces if piece.kind in kinds]

    def sizes(self, *kinds):
        return sum(piece.size for piece in self.of(*kinds))

    def sort(self):
        self.pieces.sort(key=lambda piece: piece.offset)
        return self


def extent_of(value):
    return value.member("offset").number, value.member("size").number


def walk_bump(strategy, extents):
    walk = Walk(counted=False)
    limit, room, size = (strategy.member(name).number for name in ("limit_", "room_", "size_"))
    if room > size:
        raise Damage("the free bytes exceed the extent")
    inside = [extent for extent in extents if extent[0] <= limit <= extent[0] + extent[1]]
    if not inside:  # without the extent, the direction of allocation is unknown
        walk.note = "%d of %d bytes free" % (room, size)
        return walk
    start, length = inside[0]
    if limit - start > start + length - limit:  # the limit is the end: up
        walk.add("used", limit - size, size - room)
        walk.add("hole", limit - room, room)
    else:
        walk.add("hole", limit, room)
        walk.add("used", limit + room, size - room)
    return walk


def walk_stack(strategy, _extents):
    walk = Walk(counted=False)
    start, size = extent_of(strategy.member("whole_"))
    low, high = strategy.member("low_").number, strategy.member("high_").number
    if not start <= low <= high <= start + size:
        raise Damage("the ends of the stack are outside of its extent")
    walk.add("used", start, low - start)
    walk.add("hole", low, high - low)
    walk.add("used", high, start + size - high)
    return walk


def walk_ring(strategy, _extents):
    walk = Walk(counted=False)
    start, size = extent_of(strategy.member("whole_"))
    end = start + size
    oldest, newest = strategy.member("oldest_").number, strategy.member("newest_").number
    upper = strategy.member("upper_end_").number
    live, wrapped = strategy.member("live_").number, strategy.member("wrapped_").number
    note = "%d blocks" % live
    if wrapped:
        if not start <= newest <= oldest <= upper <= end:
            raise Damage("the positions of the ring are not in order")
        walk.add("used", start, newest - start)
        walk.add("hole", newest, oldest - newest)
        walk.add("used", oldest, upper - oldest)
        walk.add("skipped", upper, end - upper)
    else:
        if not start <= oldest <= newest <= end:
            raise Damage("the positions of the ring are not in order")
        walk.add("hole", start, oldest - start)
        walk.add("used", oldest, newest - oldest)
        walk.add("hole", newest, end - newest)
    walk.note = note
    return walk


def walk_pool(strategy, extents):
    store = strategy.member("store_")
    name, arguments = split_name(store.type)
    slot = number_in(arguments[1])
    if slot <= 0:
        raise Damage("the slots have no size")
    if name.endswith("slot_free_list"):
        return walk_slot_list(store, slot, number_in(arguments[2]), extents)
    start, size = extent_of(store.member("whole_"))
    count = size // slot
    free = set()
    if count > number_in(arguments[2]):
        raise Damage("the extent has more slots than the pool")
    if name.endswith("slot_index_stack"):
        places = integers(store.member("free_"), store.member("free_count_").number)
        free.update(place // slot for place in places)
    elif name.endswith("slot_word"):
        free.update(bit for bit in range(64) if store.member("free_").number >> bit & 1)
    else:
        words = store.member("words_")
        each = words.size // words.length
        bits = each * 8
        numbers = integers(words, words.length)
        # LLDB takes an array of std::atomic for one without elements if its class comes from g++.
        for index in range(words.length, -(-number_in(arguments[2]) // bits)):
            numbers.append(Memory(words).word(words.address + index * each, each))
        for index, word in enumerate(numbers):
            free.update(index * bits + bit for bit in range(bits) if word >> bit & 1)
        if name.endswith("slot_bitmap"):
            recent = store.member("recent_")
            if number_in(arguments[3]) == 1:
                lowest = recent.member("slot_")
                places = [lowest.number] if lowest.number != 256 ** lowest.size - 1 else []
            else:
                places = integers(recent.member("slots_"), recent.member("count_").number)
            free.update((place - start) // slot for place in places)
    if any(index >= count for index in free):
        raise Damage("a free slot is outside of the extent")
    walk = Walk()
    for index in range(min(count, MOST)):
        walk.add("hole" if index in free else "block", start + index * slot, slot)
    if count > MOST:
        walk.problem = "only the first %d of %d slots are listed" % (MOST, count)
    return walk


def walk_numbered_slots(strategy, _extents):
    """Slots of a pool in an arena with hardening::checked: each record has the size of a block, or a larger number."""
    table = strategy.member("records_")
    slot = number_in(split_name(table.type)[1][0])
    first, count = table.member("first_").number, table.member("count_").number
    most = strategy.member("most_").number
    if slot <= 0 or count > most:
        raise Damage("there are %d records of %d slots" % (count, most))
    if count > MOST:
        return unknown("the pool has records of %d slots" % count)
    fields = records_of(table.member("records_"), count) if count else []
    walk = Walk()
    for index in range(min(most, MOST)):
        is_used = index < count and fields[index]["size"] <= slot
        walk.add("block" if is_used else "hole", first + index * slot, slot)
    if most > MOST:
        walk.problem = "only the first %d of %d slots are listed" % (MOST, most)
    return walk


def walk_slot_list(store, slot, align, extents):
    memory = Memory(store)
    head = store.member("free_").member("next")
    word = head.size
    free = set(chain(head.number, lambda node: memory.word(node, word), 0))
    fresh, room = extent_of(store.member("fresh_"))
    fresh_end = fresh + room
    limit = 0  # pool_options::count, which shows in the extent that was added last
    slots = []
    for start, size in extents:
        first = start + -start % align
        count = max(0, start + size - first) // slot
        if start <= fresh_end <= start + size and fresh_end > first and (fresh_end - first) // slot < count:
            limit = count = (fresh_end - first) // slot
        slots.append((first, count))
    walk = Walk()
    for first, count in slots:
        for index in range(min(limit or count, count, MOST - min(MOST, len(walk.pieces)))):
            at = first + index * slot
            is_free = at in free or fresh <= at < fresh_end
            walk.add("hole" if is_free else "block", at, slot)
            free.discard(at)
    if len(walk.pieces) >= MOST:
        walk.problem = "only the first %d slots are listed" % MOST
    elif extents and free:
        walk.problem = "the list of free slots contains %d that are in no region" % len(free)
    if not extents:
        walk.counted = False
        for at in free:
            walk.add("hole", at, slot)
        walk.add("hole", fresh, room)
    return walk


def walk_best_fit(strategy, extents):
    holes = strategy.member("holes_")
    nodes = holes.member("nodes")
    name, arguments = split_name(nodes.type)
    if name.endswith("block_table_nodes"):
        return walk_table(nodes, add_block, int(re.match(r"\d+", arguments[2])[0]))
    if name.endswith("side_table_nodes"):
        return walk_table(nodes, add_node)
    if not arguments[1].endswith("addressed_memory"):
        return unknown("the records are in band in %s" % short_name(arguments[1]))
    heads = holes.member("bins").member("heads_")
    word = heads.size // heads.length
    if not extents:
        return walk_bins(heads, word)
    walk = Walk()
    memory = Memory(strategy)
    for start, size in extents:
        walk_in_band(walk, memory, start, size, word)
    return walk


def walk_bins(heads, word):
    """The holes of a best_fit in band whose extents are not known."""
    walk = Walk(counted=False)
    memory = Memory(heads)
    none, flags = (1 << 8 * word) - 1, 7 if word > 2 else 3
    for head in integers(heads, heads.length):
        for node in chain(head, lambda at: memory.word(at + word, word), none):
            walk.add("hole", node + word, (memory.word(node, word) & ~flags) - word)
    return walk


def walk_in_band(walk, memory, start, size, word):
    """Follows the boundary tags from the start of an extent to its end word, whose size is 0."""
    granule, flags = 2 * word, 7 if word > 2 else 3
    at = start + word + -(start + word) % granule - word
    last = (start + size) - (start + size) % granule - word
    below_in_use = True
    while True:
        if len(walk.pieces) == MOST:
            walk.problem = "only the first %d blocks and holes are listed" % MOST
            return
        if not start <= at <= last:
            break
        tag = memory.word(at, word)
        length = tag & ~flags
        if bool(tag & 2) != below_in_use:
            break
        if length == 0 and tag & 1:
            return
        if length < 2 * granule or at + length > last:
            break
        if not tag & 1 and memory.word(at + length - word, word) != length:
            break
        walk.add("block" if tag & 1 else "hole", at + word, length - word)
        below_in_use = bool(tag & 1)
        at += length
    walk.problem = "the record at %#x is damaged" % at


def walk_table(nodes, add, granule=1):
    """Visits every record of a side table that is not free. `add` adds what a record and its neighbor above describe."""
    table = nodes.member("records_")
    array = table.member("records_")
    capacity, records = array.find("capacity_"), array.member("records_")
    used = table.member("used_").number
    count = capacity.number if capacity else records.length
    if used > count:
        raise Damage("the table has %d records, and %d are in use" % (count, used))
    walk = Walk()
    if used == 0:
        return walk
    if used > MOST:
        return unknown("the side table has %d records" % used)
    fields = records_of(records, used)
    none = (1 << 8 * records.item(0).member("next").size) - 1
    free = chain(table.member("free_").number, lambda index: checked(fields, index)["next"], none)
    if len(free) != table.member("free_count_").number:
        raise Damage("the list of free records has %d instead of %d records" %
                     (len(free), table.member("free_count_").number))
    gone = set(free)
    for index in range(1 if add is add_block else 0, used):  # the first record of a block table is reserved
        if index in gone:
            continue
        record = fields[index]
        above = checked(fields, record["after"])
        if above["before"] != index or record["after"] in gone:
            walk.problem = "record %d of the side table is damaged" % index
        else:
            add(walk, record, above, granule)
    return walk


def add_node(walk, record, above, _granule):
    """A record of side_table.hpp is a block or a hole. The record of an extent is the end of its ring."""
    if above["offset"] > record["offset"]:
        kind = "block" if record["prev"] == 0xFFFFFFFE else "hole"
        walk.add(kind, record["offset"], above["offset"] - record["offset"])


def add_block(walk, record, above, granule):
    """A record of block_table.hpp is a block and the hole after it. That of an extent has only a hole."""
    end = record["low"] + record["hole"]
    if record["hole"]:
        walk.add("hole", record["low"] * granule, record["hole"] * granule)
    if above["low"] > end:
        walk.add("block", end * granule, (above["low"] - end) * granule)


def records_of(records, count):
    """The first records as dictionaries."""
    first = records.item(0)
    fields = [(name, field.address - first.address, field.size) for name, field in first.fields]
    data = Memory(records).read(first.address, first.size * count)
    order = records.order
    return [{name: int.from_bytes(data[at + shift : at + shift + size], order) for name, shift, size in fields}
            for at in range(0, first.size * count, first.size)]


def checked(records, index):
    if index >= len(records):
        raise Damage("there is no record %d" % index)
    return records[index]


def table_entries(table):
    """The entries of a record_table that were ever taken."""
    array = table.member("records_")
    capacity, records = array.find("capacity_"), array.member("records_")
    used = table.member("used_").number
    if used > (capacity.number if capacity else records.length) or used > MOST:
        raise Damage("the table has %d records" % used)
    return [records.item(index) for index in range(used)]


def c_string(pointer):
    """A text of at most 200 letters."""
    if pointer.number == 0:
        return "no name"
    memory = Memory(pointer)
    text = b""
    while len(text) < 200:
        letter = memory.read(pointer.number + len(text), 1)
        if letter == b"\0":
            break
        text += letter
    return text.decode("utf-8", "replace")


def walk_deferred(strategy, extents):
    inner = strategy.member("strategy_")
    walk = walk_strategy(inner, extents)
    heads = inner.member("holes_").member("bins").member("heads_")
    lists, word = strategy.member("waiting_"), heads.size // heads.length
    if lists.address is None:
        raise Damage("the lists of waiting blocks are not in memory")
    # The debugger may not know the length of the array of lists, but its class contains nothing else.
    data = Memory(lists).read(lists.address, lists.size)
    firsts = [int.from_bytes(data[at : at + word], lists.order) for at in range(0, len(data), word)]
    none = (1 << 8 * word) - 1
    memory = Memory(strategy)
    waiting = set()
    for head in firsts:
        waiting.update(chain(head, lambda at: memory.word(at, word), none))
    for piece in walk.pieces:
        if piece.kind == "block" and piece.offset in waiting:
            piece.kind = "waiting"
            waiting.discard(piece.offset)
    if waiting and walk.counted and not walk.problem:
        walk.problem = "%d waiting blocks are in no region" % len(waiting)
    return walk


def unknown(reason):
    walk = Walk(counted=False)
    walk.problem = reason
    return walk


STRATEGIES = {
    "bump": walk_bump,
    "stack": walk_stack,
    "ring": walk_ring,
    "pool": walk_pool,
    "numbered_slots": walk_numbered_slots,
    "best_fit": walk_best_fit,
    "best_fit_beside_records": walk_best_fit,
    "deferred": walk_deferred,
}


def walk_strategy(strategy, extents):
    """The blocks and holes of a strategy. `extents` are its inserted extents, or empty if these are not known."""
    kind = short_name(strategy.type)
    if kind not in STRATEGIES:
        return unknown("the printers do not know the strategy %s" % kind)
    try:
        return STRATEGIES[kind](strategy, extents)
    except Damage as damage:
        return unknown(str(damage))


# ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Place:
    """An address: a handle, which may be None, and a position. Pointers have no handle."""

    def __init__(self, handle, position, absolute):
        self.handle, self.position, self.absolute = handle, position, absolute

    def plus(self, distance):
        return Place(self.handle, self.position + distance, self.absolute)

    def __str__(self):
        if self.absolute:
            return "%#x" % self.position
        return "%s + %d" % (self.handle, self.position) if self.handle else "+%d" % self.position


def handle_text(value):
    """A short text for a handle of a device."""
    for _ in range(6):
        if value.kind == "pointer":
            return "%#x" % value.number
        if value.kind != "class":
            return str(value.number)
        if value.find("rank") is not None and value.find("memory") is not None:
            return "%s of rank %d" % (handle_text(value.member("memory")), value.member("rank").number)
        if not value.fields:
            break
        value = value.fields[0][1]
    return short_name(value.type)


def place_of(address):
    if address.kind == "pointer":
        return Place(None, address.number, True)
    handle, offset = address.find("handle"), address.find("offset")
    if handle is None or offset is None:
        raise Damage("the printers do not know the address %s" % short_name(address.type))
    return Place(handle_text(handle), offset.number, False)


# ── arenas ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Region:
    def __init__(self, place, size):
        self.place, self.size = place, size


def regions_of(space):
    """The regions of an offset_space, with an empty one for every region that is not held."""
    regions = space.member("regions")
    if regions.kind == "array":
        return [Region(place_of(each.member("base")), each.member("size").number)
                for each in (regions.item(i) for i in range(min(regions.length, MOST)))]
    device = regions.member("device")
    storage = device.find("bytes_")
    if storage is None or storage.address is None:
        return []
    return [Region(Place(None, storage.address, True), storage.size)]


def order_of(strategy, regions):
    """How the offsets of a strategy name bytes of regions: the rules of arena/detail/offset_space.hpp."""
    if len(regions) <= 1:
        return "one_region"
    kind = short_name(strategy.type)
    if kind == "deferred":
        return order_of(strategy.member("strategy_"), regions)
    if kind in ("best_fit", "best_fit_beside_records"):
        return "segments" if is_table(strategy) else "addresses"
    if kind == "pool" and short_name(strategy.member("store_").type) == "slot_free_list":
        return "addresses"
    return "one_by_one"


def is_table(best_fit):
    return short_name(best_fit.member("holes_").member("nodes").type) in ("block_table_nodes", "side_table_nodes")


class Segments:
    """The offsets of a strategy over several regions whose offsets are not addresses."""

    def __init__(self, strategy, regions):
        records = strategy.member("holes_").member("nodes").member("records_").member("records_").member("records_")
        record = records.item(0)
        digits = 8 * (record.find("low") or record.member("offset")).size  # of block_table.hpp, side_table.hpp
        bits = len(regions).bit_length() - 1
        self.shift = digits - bits
        self.largest = (1 << digits) - 1 >> (bits + 1)
        self.regions = regions

    def start(self, index):
        place = self.regions[index].place
        return (index << self.shift) | (place.position & self.largest if place.absolute else 0)

    def place(self, offset):
        index = offset >> self.shift
        if index >= len(self.regions):
            raise Damage("there is no region %d" % index)
        return self.regions[index].place.plus(offset - self.start(index))


class Arena:
    """The regions of an arena, its strategy, and a walk whose pieces have places."""

    def __init__(self, arena):
        members = arena.member("regions_")
        self.strategy = members.member("strategy_")
        self.regions = regions_of(members.member("space_"))
        self.held = [region for region in self.regions if region.size]
        self.order = order_of(self.strategy, self.regions)
        if self.regions and not self.held:
            self.walk = Walk()
            placed = None
        elif self.order == "segments":
            segments = Segments(self.strategy, self.regions)
            self.walk = walk_strategy(self.strategy, [])
            placed = segments.place
        else:
            region = self.region_in_use(members)
            absolute = all(each.place.absolute for each in self.held)
            inside = self.held if self.order != "one_by_one" else [region] if region else []
            extents = [(each.place.position if absolute else 0, each.size) for each in inside]
            self.walk = walk_strategy(self.strategy, extents)
            if self.order == "one_by_one":
                self.add_other_regions(region, absolute)
            base = region.place if region else Place(None, 0, True)
            placed = lambda offset: Place(None, offset, True) if absolute else base.plus(offset)  # noqa: E731
        self.walk.sort()
        try:
            for piece in self.walk.pieces:
                piece.place = placed(piece.offset)
        except Damage as damage:
            self.walk = unknown(str(damage))
        self.add_live(arena)

    def region_in_use(self, members):
        if self.order != "one_by_one":
            return self.held[0] if self.held else None
        current = members.member("growth_").member("current").number
        self.current = current
        return self.regions[current] if current < len(self.regions) and self.regions[current].size else None

    def add_other_regions(self, region, absolute):
        """Regions before the one in use hold blocks, and regions after it are free."""
        if not absolute:
            return
        for index, each in enumerate(self.regions):
            if each.size and each is not region:
                is_used = index < self.current < len(self.regions)
                self.walk.add("used" if is_used else "hole", each.place.position, each.size)
        if region is None and self.held:
            self.walk.problem = ""
            self.walk.note = ""

    def add_live(self, arena):
        """A hardened arena has a record of every live block, with its requested size."""
        records, problem = live_blocks(arena)
        if records is None:
            return
        self.walk.problem = problem or self.walk.problem
        self.walk.counted = not problem
        self.walk.pieces = self.walk.of("hole", "waiting", "skipped") + records
        self.walk.pieces.sort(key=lambda piece: piece.place.position)

    def size(self):
        return sum(region.size for region in self.held)


def find_node(value, depth=0):
    """The header node in a container of Boost.Intrusive."""
    if "rbtree_node" in value.type.split("<")[0]:
        return value
    if depth < 14 and value.kind == "class":
        for _, field in value.fields:
            found = find_node(field, depth + 1)
            if found is not None:
                return found
    return None


def live_blocks(allocator):
    """The live blocks of a hardened allocator and a problem; None for one that is not hardened."""
    live = allocator.find("live_")
    blocks = live.find("blocks_") if live is not None else None
    if blocks is None:
        return None, ""
    pieces = []
    try:
        header = find_node(blocks)
        if header is None or header.address is None:
            raise Damage("the records of live blocks are not in memory")
        record = blocks.argument(0)
        for node in tree(header, Memory(blocks)):
            known = blocks.at(record, node)
            held = known.member("held")
            piece = Piece("block", known.member("position").number, held.member("size").number,
                          "call %d" % known.member("allocated").number)
            piece.place = place_of(held.member("address"))
            pieces.append(piece)
    except Damage as damage:
        return pieces, "the records of live blocks: %s" % damage
    return pieces, ""
