#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Writes an offline memory plan into a TensorFlow Lite model, for TensorFlow Lite Micro (TFLM).

    offline_plan.py [--scratch STEP:BYTES]... [--planner PROGRAM] MODEL.tflite OUT.tflite

TFLM reads the offset of each tensor from the metadata "OfflineMemoryAllocation" of a model, if it has some, and plans only
the other tensors itself. This tool plans the tensors with allot's planner, and writes that metadata. The rest of the model
keeps its bytes. They move behind a new root table:

    MODEL    header   root table   …                          all offsets in a model point forward, so that a table at the
    OUT      header   root table'  plan   │ bytes of MODEL    front can refer to everything behind it

The program prints the bytes of the plan, the lower bound of every plan, and the sum of all tensors.

Kernels of TFLM request scratch buffers that the model does not state. TFLM places them itself, beside the planned tensors.
--scratch leaves room for one: so many bytes in the operator of that number, from 0. TFLM prints them if the planner of this
folder is used (allot_planner.hpp, PrintMemoryPlan).

A model that has a plan gets a new one. Models of several subgraphs, and constants outside the flatbuffer, are errors: one
sentence on standard error, exit status 1.
"""

import argparse
import csv
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "apps" / "network_demo"))
import tflite_to_network  # noqa: E402: the reader of models
from tflite_to_network import Refused, damage_is_refused  # noqa: E402

PLANNER = ROOT / "build" / "gcc" / "examples" / "apps" / "memory_planner" / "memory_planner"
NAME = "OfflineMemoryAllocation"
VERSION, SUBGRAPHS = 1, 1
ALIGN = 16  # of a buffer in the arena of TFLM
UNPLANNED = -1
# The fields of the table Model, in the order of the schema. All but the version refer to other objects.
FIELDS = ("version", "operator_codes", "subgraphs", "description", "buffers", "metadata_buffer", "metadata", "signature_defs")


def aligned(size, align):
    return -(-size // align) * align


def lifetimes_of(graph):
    """Returns the first and the last operator, both included, of each tensor in the arena, by its index in the model."""
    end = max(len(graph.steps) - 1, 0)
    first = dict.fromkeys(graph.inputs, 0)
    last = dict(first)
    for number, step in enumerate(graph.steps):
        for index in step.writes:
            first.setdefault(index, number)
        last.update(dict.fromkeys((*step.reads, *step.writes), number))
    last.update(dict.fromkeys(graph.outputs, end))
    return {tensor.index: (first[tensor.index], last[tensor.index]) for tensor in graph.tensors}


def plan(graph, scratch, planner):
    """Returns the offset of each tensor in the arena, by its index in the model, and the numbers of the planner."""
    lives = lifetimes_of(graph)
    rows = ["id,lower,upper,size,alignment"]
    rows += [f"{tensor.index},{lives[tensor.index][0]},{lives[tensor.index][1] + 1},{aligned(tensor.size, ALIGN)},{ALIGN}"
             for tensor in graph.tensors]
    rows += [f"scratch{number},{step},{step + 1},{aligned(size, ALIGN)},{ALIGN}" for number, (step, size) in enumerate(scratch)]
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "tensors.csv", Path(folder) / "plan.csv"
        table.write_text("\n".join(rows) + "\n", encoding="utf-8")
        done = subprocess.run([str(planner), "--json", "--out", str(out), str(table)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Refused(f"the planner failed: {done.stderr.strip()}")
        with open(out, newline="", encoding="utf-8") as file:
            offsets = {int(row["id"]): int(row["offset"]) for row in csv.DictReader(file) if row["id"].isdecimal()}
    return offsets, json.loads(done.stdout)


def metadata_of(graph, offsets):
    """Returns the contents of the metadata: three numbers, and an offset for each tensor of the model."""
    return struct.pack(f"<3i{graph.count}i", VERSION, SUBGRAPHS, graph.count,
                       *(offsets.get(index, UNPLANNED) for index in range(graph.count)))


class Front:
    """The bytes before those of a model: a root table, and the objects that are new. All of them refer to objects behind
    them."""

    def __init__(self, data):
        self.data = data
        self.bytes = bytearray()
        self.later = []  # position of a reference, and of its target: in this front, or in the model

    def number(self, format, value):
        self.bytes += struct.pack("<" + format, value)

    def pad(self, align, ahead=0):
        """Adds bytes until the position `ahead` bytes from here is aligned."""
        self.bytes += bytes(-(len(self.bytes) + ahead) % align)

    def reference(self, target, *, old):
        self.later.append((len(self.bytes), target, old))
        self.number("I", 0)

    def table(self, fields):
        """Writes the sizes and offsets of a table, and its head. The fields of 4 bytes follow: the caller writes them."""
        self.pad(4)
        vtable = len(self.bytes)
        offsets, at = [], 4
        for present in fields:
            offsets.append(at if present else 0)
            at += 4 if present else 0
        self.bytes += struct.pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), at, *offsets)
        self.pad(4)
        position = len(self.bytes)
        self.number("i", position - vtable)
        return position

    def finish(self):
        """Returns the front and the model behind it. The length of the front keeps the alignment of all objects."""
        self.pad(64)
        moved = len(self.bytes)
        for position, target, old in self.later:
            struct.pack_into("<I", self.bytes, position, (target + moved if old else target) - position)
        return bytes(self.bytes) + self.data


def position_in(data, format, at):
    return struct.unpack_from("<" + format, data, at)[0]


def fields_of(data, table):
    """Returns the position of each field of a table, by its number; 0 if it is absent."""
    vtable = table - position_in(data, "i", table)
    count = (position_in(data, "H", vtable) - 4) // 2
    offsets = struct.unpack_from(f"<{count}H", data, vtable + 4)
    return [table + offset if offset else 0 for offset in offsets]


def targets_of(data, field):
    """Returns the positions of the objects that a vector of references has."""
    vector = field + position_in(data, "I", field)
    count = position_in(data, "I", vector)
    at = [vector + 4 + 4 * i for i in range(count)]
    return [position + position_in(data, "I", position) for position in at]


def name_of(data, metadata):
    """Returns the name of a table Metadata."""
    field = fields_of(data, metadata)[0]
    if not field:
        return b""
    text = field + position_in(data, "I", field)
    return data[text + 4:text + 4 + position_in(data, "I", text)]


def with_metadata(data, content):
    """Returns a model with the metadata. Any other metadata of this name is removed."""
    root = position_in(data, "I", 0)
    fields = fields_of(data, root)
    if any(fields[len(FIELDS):]):
        raise Refused("the model has fields that this tool does not know.")
    fields = dict(zip(FIELDS, fields + [0] * (len(FIELDS) - len(fields))))
    buffers = targets_of(data, fields["buffers"])
    kept = [each for each in (targets_of(data, fields["metadata"]) if fields["metadata"] else [])
            if name_of(data, each) != NAME.encode()]

    front = Front(data)
    front.number("I", 0)  # the root table
    front.bytes += data[4:8]
    present = {name: bool(at) or name == "metadata" for name, at in fields.items()}
    table = front.table(present.values())
    struct.pack_into("<I", front.bytes, 0, table)
    places = {}
    for name in FIELDS:
        if not present[name]:
            continue
        if name == "version":
            front.number("I", position_in(data, "I", fields[name]))
        elif name in ("buffers", "metadata"):
            places[name] = len(front.bytes)
            front.number("I", 0)
        else:
            front.reference(fields[name] + position_in(data, "I", fields[name]), old=True)

    last = {}  # the positions of the last elements, which refer to new tables
    for name, old in (("buffers", buffers), ("metadata", kept)):
        struct.pack_into("<I", front.bytes, places[name], len(front.bytes) - places[name])
        front.number("I", len(old) + 1)
        for each in old:
            front.reference(each, old=True)
        last[name] = len(front.bytes)
        front.number("I", 0)

    # Table Metadata: its name, and the number of its buffer.
    struct.pack_into("<I", front.bytes, last["metadata"], front.table([True, True]) - last["metadata"])
    name_at = len(front.bytes)
    front.number("I", 0)
    front.number("I", len(buffers))
    struct.pack_into("<I", front.bytes, name_at, len(front.bytes) - name_at)
    front.number("I", len(NAME))
    front.bytes += NAME.encode() + b"\0"
    # Table Buffer: its data, which the schema aligns to 16 bytes.
    struct.pack_into("<I", front.bytes, last["buffers"], front.table([True]) - last["buffers"])
    data_at = len(front.bytes)
    front.number("I", 0)
    front.pad(16, ahead=4)
    struct.pack_into("<I", front.bytes, data_at, len(front.bytes) - data_at)
    front.number("I", len(content))
    front.bytes += content
    return front.finish()


def refuse_unsupported(data):
    """Refuses a model of several subgraphs, for which the metadata has no form. Refuses a model with data behind the
    flatbuffer, whose position in the file is a number in the model."""
    model = tflite_to_network.read_model(data)
    if model.SubgraphsLength() != 1:
        raise Refused(f"the model has {model.SubgraphsLength()} subgraphs; an offline plan is for models with one.")
    buffers = [model.Buffers(i) for i in range(model.BuffersLength())]
    operators = [model.Subgraphs(0).Operators(i) for i in range(model.Subgraphs(0).OperatorsLength())]
    if any(each.Offset() > 1 for each in buffers) or any(each.LargeCustomOptionsOffset() > 1 for each in operators):
        raise Refused("the model has data outside its flatbuffer.")


def run(options):
    graph = tflite_to_network.load(options.model)
    data = options.model.read_bytes()
    with damage_is_refused():
        refuse_unsupported(data)
    if not graph.tensors:
        raise Refused("the model has no tensors to plan.")
    for step, _ in options.scratch:
        if step >= len(graph.steps):
            raise Refused(f"the model has no operator {step}; the last one is {len(graph.steps) - 1}.")
    offsets, numbers = plan(graph, options.scratch, options.planner)
    if numbers["peak"] >= 2**31:
        raise Refused("the plan exceeds 2 GiB, the largest offset of TFLM.")
    with damage_is_refused():
        written = with_metadata(data, metadata_of(graph, offsets))
    options.out.write_bytes(written)
    total = sum(aligned(tensor.size, ALIGN) for tensor in graph.tensors)
    print(f"{options.out}: {len(offsets)} tensors in {numbers['peak']:,} bytes, lower bound {numbers['lower_bound']:,}; "
          f"their sum is {total:,}")


def scratch_of(text):
    step, colon, size = text.partition(":")
    if not (colon and step.isdecimal() and size.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is not STEP:BYTES with integers")
    return int(step), int(size)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Write an offline memory plan into a TensorFlow Lite model.")
    parser.add_argument("--scratch", action="append", default=[], type=scratch_of, metavar="STEP:BYTES",
                        help="leave room for a scratch buffer of an operator; may be repeated")
    parser.add_argument("--planner", type=Path, default=PLANNER, metavar="PROGRAM", help="allot's memory_planner")
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("out", type=Path, metavar="OUT")
    options = parser.parse_args(arguments)
    try:
        run(options)
    except (Refused, OSError) as error:
        print(f"offline_plan.py: {options.model}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
