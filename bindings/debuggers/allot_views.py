# SPDX-License-Identifier: BSL-1.0
"""What a debugger shows for the types of allot: a summary in one line, and children.

`view_of(value)` returns a view, or None for a type that has no view. A view has two functions, which never raise:

    summary()     one line of text
    children()    list of (name, text or value)

allot_memory.py describes values and walks over memory.
"""

import struct

import allot_memory as memory
from allot_memory import Damage, Place, place_of, short_name, split_name, template

ELEMENTS = 8  # elements of a tensor that are shown
ROWS = 64  # rows of a discontiguous tensor that are shown

# The texts of to_string(refusal), in core/diagnosis.hpp. A test compares them.
REFUSALS = {
    "none": "the request would be served",
    "empty_layout": "the size is 0",
    "bad_alignment": "the alignment is not a power of two",
    "misaligned": "the memory's base does not satisfy the alignment",
    "exhausted": "fewer bytes are free than were asked for",
    "fragmented": "enough bytes are free, but no hole fits the size and alignment",
    "not_free": "the requested bytes are not free",
    "out_of_records": "the side table has no free record",
    "over_limit": "the request exceeds a limit of this allocator",
    "device_refused": "the device refused to give memory",
    "pending": "the bytes that fit are free only after work that is not yet done",
}


def plural(count, noun):
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")


def words(enumerator):
    return enumerator.replace("_", " ")


class View:
    """Base class: turns every failure into text, because a printer must not stop the debugger."""

    def __init__(self, value):
        self.value = value

    def summary(self):
        try:
            return self.text()
        except Damage as damage:
            return "%s, not readable: %s" % (short_name(self.value.type), damage)
        except Exception as error:  # pylint: disable=broad-except
            return "%s, not readable: %s" % (short_name(self.value.type), error)

    def children(self):
        try:
            return self.parts()
        except Exception:  # pylint: disable=broad-except
            return []  # the summary has the reason

    def text(self):
        raise NotImplementedError

    def parts(self):
        return []


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Layout(View):
    def text(self):
        return "%s, align %d" % (plural(self.value.member("size").number, "byte"), self.value.member("align").number)


class Extent(View):
    def text(self):
        offset, size = memory.extent_of(self.value)
        return "[%d, %d), %s" % (offset, offset + size, plural(size, "byte")) if size else "empty extent"


class Allocation(View):
    def text(self):
        where = Extent(self.value.member("where")).text()
        return "empty allocation" if where == "empty extent" else where + metadata_text(self.value.find("metadata"))


def metadata_text(metadata):
    """What a block carries for its allocator, if it is of use to a reader."""
    text = ""
    for _ in range(6):  # tags, hardening, segments, strategy
        if metadata is None:
            break
        names = [name for name, _ in metadata.fields]
        if "number" in names and metadata.member("number").number:
            text += ", call %d" % metadata.member("number").number
        if "region" in names:
            text += ", region %d" % metadata.member("region").number
        if "record" in names:
            text += ", record %d" % metadata.member("record").number
        if short_name(metadata.type) == "naive_metadata":
            text += ", region of %s" % plural(metadata.member("size").number, "byte")
        metadata = metadata.find("of_strategy") or metadata.find("inner")
    return text


class Block(View):
    def text(self):
        size = self.value.member("size").number
        if size == 0:
            return "empty block"
        place = place_of(self.value.member("address"))
        return "%s at %s%s" % (plural(size, "byte"), place, metadata_text(self.value.find("metadata")))


class Region(View):
    def text(self):
        size = self.value.member("size").number
        if size == 0:
            return "empty region"
        place = place_of(self.value.member("base"))
        return "%s at %s, align %d" % (plural(size, "byte"), place, self.value.member("align").number)


class Address(View):
    def text(self):
        return str(place_of(self.value))


class UniqueBlock(View):
    def text(self):
        return "owner of %s" % Block(self.value.member("held_")).text()


class Diagnosis(View):
    def text(self):
        reason = self.value.member("reason").enumerator
        text = "%s: %s" % (words(reason), REFUSALS.get(reason, "unknown"))
        text += "; largest hole %s" % plural(self.value.member("largest_hole").number, "byte")
        error = self.value.member("device_error").number
        return text + ("; device error %d" % error if reason == "device_refused" else "")


class Error(View):
    """A reason with an index: tensor_error, table_error, plan_error."""

    def text(self):
        text = words(self.value.member("reason").enumerator)
        row, which, cause = (self.value.find(name) for name in ("row", "which", "memory"))
        if which is not None:
            text += ", index %d" % which.number
        if row is not None and row.number != (1 << 8 * row.size) - 1:
            text += ", row %d" % row.number
        if cause is not None and cause.member("reason").number:
            text += " (%s)" % Diagnosis(cause).text()
        return text


class Result(View):
    def text(self):
        flag = self.value.member("has_value_").number
        if flag not in (0, 1):
            raise Damage("the flag has the value %d" % flag)
        held = self.held(flag)
        view = view_of(held)
        inner = view.summary() if view is not None else plain_text(held)
        return "%s: %s" % ("value" if flag else "error", inner)

    def parts(self):
        flag = self.value.member("has_value_").number
        return [("value" if flag else "error", self.held(flag))]

    def held(self, flag):
        """The error is inside a class that may contain none."""
        return self.value.member("value_") if flag else self.value.member("error_").member("error_")


def plain_text(value):
    if value.kind == "enum":
        return words(value.enumerator)
    if value.kind == "pointer":
        return "%#x" % value.number
    return short_name(value.type) if value.kind in ("class", "array") else str(value.number)


# ── allocators ───────────────────────────────────────────────────────────────────────────────────────────────────────


def statistics(walk):
    """One line about a walk."""
    free = walk.of("hole")
    largest = max((hole.size for hole in free), default=0)
    parts = []
    if walk.counted:
        parts.append(plural(len(walk.of("block")), "block"))
    if walk.pieces:
        parts.append("%s used" % plural(walk.sizes("block", "used"), "byte"))
        parts.append("%d free in %s" % (walk.sizes("hole"), plural(len(free), "hole")))
        parts.append("largest %d" % largest)
    if walk.of("waiting"):
        parts.append("%d in %s" % (walk.sizes("waiting"), plural(len(walk.of("waiting")), "waiting block")))
    parts += [text for text in (walk.note, walk.problem) if text]
    return ", ".join(parts) or "no memory"


KINDS = {"used": "blocks"}


def piece_list(walk, place):
    """A child for every block and hole, in the order of their addresses."""
    listed = []
    counts = {}
    for piece in walk.pieces:
        kind = KINDS.get(piece.kind, piece.kind)
        index = counts[kind] = counts.get(kind, -1) + 1
        text = "%s at %s" % (plural(piece.size, "byte"), place(piece))
        listed.append(("%s %d" % (kind, index), text + (", " + piece.note if piece.note else "")))
    if walk.problem:
        listed.append(("problem", walk.problem))
    return listed


def store_text(strategy):
    """The name of a strategy with the place of its records."""
    kind = short_name(strategy.type)
    if kind == "deferred":
        return "deferred " + store_text(strategy.member("strategy_"))
    if kind in ("best_fit", "best_fit_beside_records"):
        return "best_fit with a side table" if memory.is_table(strategy) else "best_fit in band"
    if kind == "numbered_slots":
        slot = memory.number_in(split_name(strategy.member("records_").type)[1][0])
        return "pool of %s with a record for each slot" % plural(slot, "byte")
    if kind == "pool":
        store = strategy.member("store_")
        slot = memory.number_in(split_name(store.type)[1][1])
        stores = {"slot_free_list": "a free list", "slot_word": "a bitmap", "slot_bitmap": "a bitmap",
                  "slot_index_stack": "an index stack", "slot_atomic_bitmap": "an atomic bitmap"}
        return "pool of %s with %s" % (plural(slot, "byte"), stores.get(short_name(store.type), "unknown records"))
    return kind


class Arena(View):
    def __init__(self, value):
        super().__init__(value)
        self.read = None

    def arena(self):
        if self.read is None:
            self.read = memory.Arena(self.value)
        return self.read

    def text(self):
        arena = self.arena()
        device = short_name(split_name(self.value.type)[1][0])
        hold = "%s in %s" % (plural(arena.size(), "byte"), plural(len(arena.held), "region"))
        return "%s over %s, %s: %s" % (store_text(arena.strategy), device, hold, statistics(arena.walk))

    def parts(self):
        arena = self.arena()
        regions = [("region %d" % index, "%s at %s" % (plural(each.size, "byte"), each.place))
                   for index, each in enumerate(arena.regions) if each.size]
        return regions + piece_list(arena.walk, lambda piece: piece.place)


class Naive(View):
    def text(self):
        device = short_name(split_name(self.value.type)[1][0])
        blocks, problem = memory.live_blocks(self.value)
        if blocks is None:
            return "naive over %s" % device
        used = plural(sum(block.size for block in blocks), "byte")
        return "naive over %s: %s, %s used%s" % (device, plural(len(blocks), "block"), used,
                                                 ", " + problem if problem else "")

    def parts(self):
        walk = memory.Walk()
        walk.pieces, walk.problem = memory.live_blocks(self.value)
        return piece_list(walk, lambda piece: piece.place) if walk.pieces is not None else []


class Strategy(View):
    """A strategy without its arena: the extents of a strategy in band are not known."""

    def walk(self):
        return memory.walk_strategy(self.value, []).sort()

    def text(self):
        return "%s: %s" % (store_text(self.value), statistics(self.walk()))

    def parts(self):
        return piece_list(self.walk(), lambda piece: "offset %d" % piece.offset)


class Wrapper(View):
    """An allocator with other allocators as members or as references."""

    MEMBERS = ("allocator_", "inner_", "first_", "second_", "memory_")

    def inner(self):
        found = []
        for name in self.MEMBERS:
            member = self.value.find(name)
            if member is not None:
                found.append((name.rstrip("_"), member.target if member.kind == "pointer" else member))
        return found

    def text(self):
        return "%s of %s" % (short_name(self.value.type), self.inner_text())

    def inner_text(self):
        texts = []
        for _, member in self.inner():
            view = view_of(member)
            texts.append(view.summary() if view is not None else short_name(member.type))
        return " | ".join(texts)

    def parts(self):
        return self.inner()


class Counted(Wrapper):
    def text(self):
        used, peak, allocated, freed, refusals = (
            self.value.member("now_").member("value").member(name).number
            for name in ("used", "peak", "allocated", "freed", "refusals"))
        blocks = plural(allocated - freed, "block")
        counters = "%s, %s used, peak %d, %s, %d refused" % (blocks, plural(used, "byte"), peak,
                                                             plural(allocated + refusals, "request"), refusals)
        return "counted: %s | %s" % (counters, self.inner_text())


class Limited(Wrapper):
    def text(self):
        used, limit = self.value.member("used_").member("value").number, self.value.member("limit_").number
        return "limited: %d of %s used | %s" % (used, plural(limit, "byte"), self.inner_text())


class Tagged(Wrapper):
    def blocks(self):
        """(record, number) of every live block."""
        entries = memory.table_entries(self.value.member("records_").member("table_"))
        listed = [(each.member("record"), each.member("number").number) for each in entries]
        return [(record, number) for record, number in listed if number]

    def tags(self):
        return [(self.tag_text(each.member("tag")), each.member("counters"))
                for each in memory.table_entries(self.value.member("tags_").member("entries_"))]

    def tag_text(self, tag):
        name, line = memory.c_string(tag.member("name")), tag.member("line").number
        return name + (":%d" % line if line else "")

    def text(self):
        blocks = self.blocks()
        used = sum(record.member("size").number for record, _ in blocks)
        return "tagged: %s, %s used, %s | %s" % (plural(len(blocks), "block"), plural(used, "byte"),
                                                 plural(len(self.tags()), "tag"), self.inner_text())

    def parts(self):
        tags = self.tags()
        parts = []
        for index, (text, counters) in enumerate(tags):
            used, count, peak, requests, refusals = (
                counters.member(name).number for name in ("used", "count", "peak", "requests", "refusals"))
            parts.append(("tag %d" % index, "%s: %s, %s used, peak %d, %s, %d refused" % (
                text, plural(count, "block"), plural(used, "byte"), peak, plural(requests, "request"), refusals)))
        for index, (record, number) in enumerate(self.blocks()):
            tag, data = record.member("tag").number, record.member("user_data").number
            parts.append(("block %d" % index, "%s at %s, number %d, %s%s" % (
                plural(record.member("size").number, "byte"), place_of(record.member("address")), number,
                tags[tag][0] if tag < len(tags) else "damaged tag", ", user data %#x" % data if data else "")))
        return parts + self.inner()


# ── tensors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

DTYPES = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 5: "complex", 6: "bool"}


def dtype_of(value):
    """(code, bits, lanes)"""
    return tuple(value.member(name).number for name in ("code", "bits", "lanes"))


def dtype_text(dtype):
    code, bits, lanes = dtype
    name = DTYPES.get(code, "code%d " % code) + ("" if (code, bits) == (6, 8) else str(bits))
    return name + ("x%d" % lanes if lanes != 1 else "")


def shape_of(value):
    rank = value.member("rank_").number
    extents = value.member("extents_")
    if rank > extents.length:
        raise Damage("the shape has %d axes" % rank)
    return [extents.item(axis).number for axis in range(rank)]


def shape_text(shape):
    return "(%s)" % ", ".join(map(str, shape))


class Form:
    """The dtype, shape and strides of a tensor: the rules of tensor/detail/tensor_form.hpp."""

    UNITS = ("none", "word", "half", "packed")
    AROUND, BY_LEASE = 1, 2
    WIDTH = 6  # bits of the number of bits of an extent

    def __init__(self, tensor):
        form = tensor.member("form_")
        rest = form.member("rest_")
        self.dtype = dtype_of(form.member("dtype_"))
        self.rank, self.flags = rest.member("rank").number, rest.member("flags").number
        kind = rest.member("kind").number
        if self.rank > 8 or kind >= len(self.UNITS):
            raise Damage("the shape has %d axes" % self.rank)
        self.unit = self.UNITS[kind]
        words = form.member("words_")
        self.bits = sum(word << 32 * i for i, word in enumerate(memory.integers(words, words.length)))
        self.shape = self.extents(0)
        self.strides = self.strides_in(tensor) if self.flags & self.BY_LEASE else \
            compact(self.extents(1 if self.flags & self.AROUND else 0))

    def extents(self, which):
        """One of the two lists."""
        if self.unit == "none":
            return [0] * self.rank
        if self.unit != "packed":
            width = 32 if self.unit == "word" else 16
            return [self.at((which * self.rank + axis) * width, width) for axis in range(self.rank)]
        widths = [self.at(axis * self.WIDTH, self.WIDTH) for axis in range(self.rank)]
        first = self.rank * self.WIDTH + which * sum(widths)
        return [self.at(first + sum(widths[:axis]), widths[axis]) for axis in range(self.rank)]

    def at(self, bit, width):
        return self.bits >> bit & (1 << width) - 1

    @staticmethod
    def strides_in(tensor):
        """The strides of a tensor of another library, which its lease keeps."""
        owner = tensor.member("lease_").member("to_")
        owner = owner if owner.kind == "pointer" else owner.fields[0][1]
        return shape_of(owner.target.member("strides_"))


class Dtype(View):
    def text(self):
        return dtype_text(dtype_of(self.value))


class Shape(View):
    def text(self):
        return shape_text(shape_of(self.value))


def lane_text(data, dtype, order):
    """One number as text."""
    code, bits, _ = dtype
    end = "<" if order == "little" else ">"
    number = int.from_bytes(data, order)
    if code == 0:
        return str(number - (1 << bits) if number >> (bits - 1) else number)
    if code == 2 and bits in (16, 32, 64):
        return "%g" % struct.unpack(end + {16: "e", 32: "f", 64: "d"}[bits], data)[0]
    if code == 4 and bits == 16:
        return "%g" % struct.unpack(">f", number.to_bytes(2, "big") + b"\0\0")[0]
    if code == 5 and bits in (32, 64, 128):
        half = (2, bits // 2, 1)
        middle = len(data) // 2
        return "%s+%si" % (lane_text(data[:middle], half, order), lane_text(data[middle:], half, order))
    if code == 6:
        return "true" if number else "false"
    return "%#x" % number if code not in (1,) else str(number)


def element_text(reader, base, index, dtype, order):
    """The element at an index in elements from the base."""
    _, bits, lanes = dtype
    texts = []
    for lane in range(min(lanes, 16)):
        at = index * bits * lanes + lane * bits
        if bits % 8 == 0:
            data = reader.read(base + at // 8, bits // 8)
        elif 8 % bits == 0:  # the first element is in the lowest bits
            packed = reader.read(base + at // 8, 1)[0]
            data = bytes([packed >> at % 8 & ((1 << bits) - 1)])
        else:
            raise Damage("elements of %d bits are not shown" % bits)
        texts.append(lane_text(data, dtype, order))
    return texts[0] if lanes == 1 else "<%s>" % ", ".join(texts)


def elements_text(value, base, shape, strides, dtype):
    """The first elements in row-major order; `base` is a pointer."""
    reader = memory.Memory(value)
    total = 1
    for extent in shape:
        total *= extent
    if total <= 0 or not dtype[1] or not dtype[2]:
        return "{}"
    texts = []
    for number in range(min(total, ELEMENTS)):
        index, rest = 0, number
        for extent, stride in zip(reversed(shape), reversed(strides)):
            index += rest % extent * stride
            rest //= extent
        texts.append(element_text(reader, base, index, dtype, value.order))
    return "{%s%s}" % (", ".join(texts), ", ..." if total > ELEMENTS else "")


def compact(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return strides[::-1]


def body_in(value, depth=0):
    """The storage_body behind a storage or a lease, or None for one that was killed."""
    if template(value.type) == "allot::storage_body":
        return value
    if depth == 10 or value.kind not in ("class", "pointer"):
        return None
    if value.kind == "pointer":
        return body_in(value.target, depth + 1) if value.number else None
    for name in ("to_", "body", "storage", "storage_"):
        member = value.find(name)
        if member is not None:
            return body_in(member, depth + 1)
    return None


class StorageBody(View):
    def body(self):
        return self.value

    def walk(self, body):
        placement = body.find("placement_")
        if placement is None or short_name(placement.type) == "as_given":
            return None
        return memory.walk_strategy(placement, []).sort()

    def text(self):
        body = self.body()
        if body is None:
            return "killed storage"
        size, align = body.member("size_").number, body.member("below_align_").number + 1
        text = "storage of %s, align %d" % (plural(size, "byte"), align)
        if body.member("block_").member("size").number:
            text += ", at %s" % place_of(body.member("block_").member("address"))
        walk = self.walk(body)
        return text + ("; %s: %s" % (store_text(body.member("placement_")), statistics(walk)) if walk else "")

    def parts(self):
        body = self.body()
        walk = self.walk(body) if body is not None else None
        return piece_list(walk, lambda piece: "offset %d" % piece.offset) if walk else []


class Storage(StorageBody):
    def body(self):
        return body_in(self.value.member("to_"))


def storage_text(lease):
    body = body_in(lease)
    return StorageBody(body).summary() if body is not None else "none"


class Tensor(View):
    def text(self):
        if body_in(self.value.member("lease_")) is None and not self.is_adopted():
            return "killed tensor"
        form = Form(self.value)
        text = "tensor %s %s" % (dtype_text(form.dtype), shape_text(form.shape))
        if form.strides != compact(form.shape):
            text += ", strides %s" % shape_text(form.strides)
        return text + ", at %s" % place_of(self.value.member("address_"))

    def is_adopted(self):
        """A tensor of another library (dlpack.hpp) has no storage. Its address shows whether it was killed."""
        address = self.value.member("address_")
        return address.kind == "pointer" and address.number != 0

    def parts(self):
        value = self.value
        parts = []
        lease, place = value.member("lease_"), place_of(value.member("address_"))
        body = body_in(lease)
        if body is not None:
            if body.member("block_").member("size").number:
                base = place_of(body.member("block_").member("address"))
                parts.append(("offset", str(place.position - base.position)))
            parts.append(("storage", storage_text(lease)))
        if place.absolute and place.position:
            try:
                form = Form(value)
                parts.append(("elements", elements_text(value, place.position, form.shape, form.strides, form.dtype)))
            except Damage as damage:
                parts.append(("elements", "not readable: %s" % damage))
        return parts


class DiscontiguousTensor(View):
    def text(self):
        if body_in(self.value.member("data_lease_")) is None:
            return "killed discontiguous tensor"
        dtype, shape = dtype_of(self.value.member("dtype_")), shape_of(self.value.member("physical_"))
        text = "discontiguous tensor %s %s" % (dtype_text(dtype), shape_text(shape))
        logical = shape_of(self.value.member("logical_"))
        if logical != shape:
            text += ", logical shape %s" % shape_text(logical)
        return text + ", %s" % RowTable(self.value.member("rows_")).text()

    def parts(self):
        dtype, shape = dtype_of(self.value.member("dtype_")), shape_of(self.value.member("physical_"))
        parts = []
        for index, place in enumerate(RowTable(self.value.member("rows_")).places()):
            text = str(place)
            if place.absolute:
                try:
                    text += " " + elements_text(self.value, place.position, shape[1:], [1], dtype)
                except Damage as damage:
                    text += ", not readable: %s" % damage
            parts.append(("row %d" % index, text))
        parts.append(("table storage", storage_text(self.value.member("table_lease_"))))
        parts.append(("data storage", storage_text(self.value.member("data_lease_"))))
        return parts


class RowTable(View):
    def table_type(self):
        """The arguments of the pointer_table: bytes of a row, entry, model of the rows."""
        return split_name(split_name(self.value.type)[1][0])[1]

    def row_bytes(self):
        size = self.value.find("row")
        size = size.find("bytes_") if size is not None else None
        return size.number if size is not None else memory.number_in(self.table_type()[0])

    def text(self):
        return "%s of %s" % (plural(self.value.member("count").number, "row"), plural(self.row_bytes(), "byte"))

    def places(self):
        entries, count = self.value.member("entries"), self.value.member("count").number
        entry = short_name(self.table_type()[1])
        origin = None if entry == "row_pointer" else place_of(self.value.member("origin"))
        unit = self.row_bytes() if entry in ("row_index", "ranked_row") else 1
        places = []
        for index in range(min(count, ROWS)):
            each = entries.item(index)
            if entry == "row_pointer":
                places.append(place_of(each))
            elif entry == "ranked_row":
                places.append(Place("rank %d" % each.member("rank").number,
                                    origin.position + each.member("row").number * unit, False))
            else:
                places.append(origin.plus(each.number * unit))
        return places

    def parts(self):
        return [("row %d" % index, str(place)) for index, place in enumerate(self.places())]


# ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Plan(View):
    def text(self):
        value = self.value
        status = words(value.member("status").enumerator)
        peak, bound = value.member("peak").number, value.member("bound").number
        text = "%s plan, peak %s, align %d" % (status, plural(peak, "byte"), value.member("align").number)
        text += "" if bound == peak else ", bound %d" % bound
        count = len(self.places())
        return text + (", %s" % plural(count, "buffer") if count else "")

    def places(self):
        """The places of a std::vector or std::array of libstdc++ or libc++."""
        places = self.value.find("places")
        if places is None:
            return []
        for name in ("_M_elems", "__elems_"):
            array = places.find(name)
            if array is not None and array.kind == "array":
                return [array.item(index) for index in range(min(array.length, memory.MOST))]
        holder = places.find("_M_impl") or places
        first = holder.find("_M_start") or holder.find("__begin_")
        last = holder.find("_M_finish") or holder.find("__end_")
        if first is None or last is None:
            raise Damage("the printers do not know this standard library")
        if first.number == last.number:
            return []
        size = first.target.size
        count, rest = divmod(last.number - first.number, size)
        if count < 0 or rest or count > memory.MOST:
            raise Damage("the list of places is damaged")
        return [first.item(index) for index in range(count)]

    def parts(self):
        return [("buffer %d" % index, Extent(place).text()) for index, place in enumerate(self.places())]


VIEWS = {
    "allot::arena": Arena,
    "allot::naive": Naive,
    "allot::counted": Counted,
    "allot::limited": Limited,
    "allot::observed": Wrapper,
    "allot::tagged": Tagged,
    "allot::synchronized": Wrapper,
    "allot::fallback": Wrapper,
    "allot::typed_pool": Wrapper,
    "allot::bump": Strategy,
    "allot::stack": Strategy,
    "allot::ring": Strategy,
    "allot::pool": Strategy,
    "allot::best_fit": Strategy,
    "allot::deferred": Strategy,
    "allot::block": Block,
    "allot::region": Region,
    "allot::unique_block": UniqueBlock,
    "allot::basic_layout": Layout,
    "allot::basic_extent": Extent,
    "allot::basic_allocation": Allocation,
    "allot::handle_offset::address": Address,
    "allot::diagnosis": Diagnosis,
    "allot::tensor_error": Error,
    "allot::table_error": Error,
    "allot::plan_error": Error,
    "allot::result": Result,
    "allot::dtype": Dtype,
    "allot::shape": Shape,
    "allot::storage": Storage,
    "allot::storage_body": StorageBody,
    "allot::tensor": Tensor,
    "allot::discontiguous_tensor": DiscontiguousTensor,
    "allot::row_table": RowTable,
    "allot::plan_place": Extent,
    "allot::plan_summary": Plan,
    "allot::memory_plan": Plan,
    "allot::static_plan": Plan,
}


def key_of(name):
    """The name under which VIEWS has a type, from its full name; the name of a member class follows the template."""
    head = template(name)
    if head not in VIEWS and name.endswith("::address") and name.startswith("allot::"):
        head = template(name[: -len("::address")]) + "::address"
    return head


def view_of(value):
    view = VIEWS.get(key_of(value.type))
    return view(value) if view is not None else None


def lines_of(value, name="", depth=0):
    """The lines that the command `allot` prints: a value and its children."""
    view = view_of(value) if depth < 8 else None
    indent = "  " * depth + (name + ": " if name else "")
    if view is None:
        yield indent + (plain_text(value) if depth else "%s is not a type that allot's printers know" % value.type)
        return
    yield indent + view.summary()
    for each, part in view.children():
        if isinstance(part, str):
            yield "  " * (depth + 1) + each + ": " + part
        else:
            yield from lines_of(part, each, depth + 1)
