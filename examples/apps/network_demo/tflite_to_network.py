#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Converts a TensorFlow Lite model to one of allot's network files (onnx_to_network.py describes the format).

    tflite_to_network.py model.tflite            the network, on standard output

The tensors of the network are those that an interpreter places in its arena, in the order of the model: neither constants,
nor variables, nor tensors of size 0. The steps are the operators. Buffers that a kernel requests for itself (scratch
buffers) are not in the file: only the kernel knows them.

The operators of a subgraph that IF, WHILE or CALL_ONCE calls are between two steps of the caller, as in TensorFlow Lite Micro:

    WHILE          reads its inputs, writes its outputs      both live until the last step
    WHILE.cond     writes the inputs of the condition
    …              the operators of the condition
    WHILE.cond     reads the outputs of the condition
    WHILE.body     …                                         in the same way
    WHILE          reads its inputs and outputs

Other subgraphs are entry points of their own. They are left out, which a line on standard error states.

A tensor of unknown size, a subgraph that is called twice and a damaged file are errors: one sentence on standard error, exit
status 1. Requires the Python packages tflite and flatbuffers, which ./dev installs into build/tools/tflite.
"""

import argparse
import bisect
import contextlib
import math
import re
import sys
from pathlib import Path
from typing import List, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[3] / "build" / "tools" / "tflite"))
try:
    import tflite
except ImportError:
    sys.exit("tflite_to_network.py: the Python packages tflite and flatbuffers are missing (PyPI: tflite==2.18.0, "
             "flatbuffers==25.12.19).")

# Bits of each element type, by TensorFlow Lite's number.
ELEMENT_BITS = {0: 32, 1: 16, 2: 32, 3: 8, 4: 64, 6: 8, 7: 16, 8: 64, 9: 8, 10: 64, 11: 128, 12: 64, 13: 32, 15: 32, 16: 16,
                17: 4, 18: 16, 19: 2}
NAMES = {number: name.lower() for name, number in vars(tflite.TensorType).items() if isinstance(number, int)}
OPERATORS = {number: name for name, number in vars(tflite.BuiltinOperator).items() if isinstance(number, int)}


class Refused(Exception):
    """The reason why a model cannot be converted, as one sentence."""


class Tensor(NamedTuple):
    index: int  # in the model: those of subgraph 0 come first
    size: int   # in bytes
    dtype: str
    shape: List[int]
    name: str


class Step(NamedTuple):
    operator: str
    reads: List[int]  # indexes in the model
    writes: List[int]
    begin: List[int] = ()  # of a slice: the index of its first element in the first tensor that it reads


class Graph(NamedTuple):
    tensors: List[Tensor]  # in the arena
    inputs: List[int]
    outputs: List[int]
    steps: List[Step]
    count: int  # of all tensors of the model
    left_out: List[str]  # the names of the subgraphs that no operator calls


def read_model(data):
    if len(data) < 8 or not tflite.Model.ModelBufferHasIdentifier(data, 0):
        raise Refused("this is not a TensorFlow Lite file.")
    return tflite.Model.GetRootAs(data)


def code_of(model, operator):
    """Returns the number of an operator, and its name."""
    code = model.OperatorCodes(operator.OpcodeIndex())
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    if number == tflite.BuiltinOperator.CUSTOM and code.CustomCode():
        return number, code.CustomCode().decode(errors="replace")
    return number, OPERATORS.get(number, f"operator_{number}")


def calls_of(number, operator):
    """Returns the names of the parts of an operator that calls subgraphs, and the numbers of these subgraphs."""
    kinds = {tflite.BuiltinOperator.IF: (tflite.IfOptions, ["Then", "Else"]),
             tflite.BuiltinOperator.WHILE: (tflite.WhileOptions, ["Cond", "Body"]),
             tflite.BuiltinOperator.CALL_ONCE: (tflite.CallOnceOptions, ["Init"])}
    if number not in kinds or operator.BuiltinOptions() is None:
        return []
    kind, parts = kinds[number]
    options = kind()
    options.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
    return [(part.lower(), getattr(options, part + "SubgraphIndex")()) for part in parts]


def shape_of(tensor):
    return [tensor.Shape(i) for i in range(tensor.ShapeLength())]


def tensor_of(tensor, index):
    name = (tensor.Name() or b"").decode(errors="replace") or f"tensor_{index}"
    shape = shape_of(tensor)
    if tensor.Type() not in ELEMENT_BITS:
        raise Refused(f"the tensor '{name}' is of type {NAMES.get(tensor.Type(), tensor.Type())}, which has no fixed size.")
    if any(extent < 0 for extent in shape):
        raise Refused(f"the tensor '{name}' has a dimension that the model does not state; convert the model again with "
                      "fixed shapes.")
    return Tensor(index, (math.prod(shape) * ELEMENT_BITS[tensor.Type()] + 7) // 8, NAMES[tensor.Type()], shape, name)


def is_constant(model, tensor):
    buffer = model.Buffers(tensor.Buffer())
    return buffer.DataLength() != 0 or buffer.Offset() > 1  # 1: a placeholder of the converter


def integers_of(model, tensor):
    """Returns the elements of a constant tensor; None if they are not integers inside the model."""
    buffer = model.Buffers(tensor.Buffer())
    width = {tflite.TensorType.INT32: 4, tflite.TensorType.INT64: 8}.get(tensor.Type())
    if width is None or buffer.DataLength() == 0:
        return None
    data = bytes(buffer.Data(i) for i in range(buffer.DataLength()))
    return [int.from_bytes(data[i:i + width], "little", signed=True) for i in range(0, len(data), width)]


def begin_of(model, operator, code, tensors):
    """Returns the index of the first element of a slice; empty if its indexes are not constants, a step is not 1, or the
    slice has fewer dimensions than its tensor. `tensors` are those of the operator's subgraph."""
    if code not in (tflite.BuiltinOperator.SLICE, tflite.BuiltinOperator.STRIDED_SLICE):
        return []
    indexes = [operator.Inputs(i) for i in range(operator.InputsLength())] + [operator.Outputs(0)]
    whole, *given, part = (tensors(index) for index in indexes)
    extents, wanted = shape_of(whole), shape_of(part)
    values = [integers_of(model, tensor) for tensor in given]
    if any(value is None or len(value) != len(extents) for value in values) or len(wanted) != len(extents):
        return []
    begins = values[0]
    if code == tflite.BuiltinOperator.STRIDED_SLICE:
        if operator.BuiltinOptions() is None:
            return []
        options = tflite.StridedSliceOptions()
        options.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
        if options.EllipsisMask() or options.NewAxisMask() or options.ShrinkAxisMask() or set(values[2]) - {1}:
            return []
        begins = [begin + extent if begin < 0 else begin for begin, extent in zip(begins, extents)]
        begins = [0 if options.BeginMask() >> axis & 1 else begin for axis, begin in enumerate(begins)]
    inside = all(0 <= begin <= extent - size for begin, extent, size in zip(begins, extents, wanted))
    return begins if inside else []


class Program:
    """The operators of a model in the order in which they run, with those of the subgraphs that they call."""

    def __init__(self, model):
        self.model = model
        self.starts = [0]  # of the tensors of each subgraph
        for number in range(model.SubgraphsLength()):
            self.starts.append(self.starts[-1] + model.Subgraphs(number).TensorsLength())
        self.steps = []
        self.called = set()
        self.inputs, self.outputs = self.add(0)

    def add(self, number, caller=""):
        """Adds the operators of a subgraph. Returns its inputs and outputs."""
        if not 0 <= number < self.model.SubgraphsLength():
            raise Refused(f"the operator {caller} calls subgraph {number}, which does not exist.")
        if number in self.called:
            raise Refused(f"subgraph {number} is called more than once; each call would need its own buffers.")
        self.called.add(number)
        subgraph, start = self.model.Subgraphs(number), self.starts[number]
        indexes = lambda length, get: [start + get(i) for i in range(length) if get(i) >= 0]  # noqa: E731; -1: omitted
        inputs = indexes(subgraph.InputsLength(), subgraph.Inputs)
        outputs = list(dict.fromkeys(indexes(subgraph.OutputsLength(), subgraph.Outputs)))
        if caller:
            self.steps.append(Step(caller, [], inputs))
        for i in range(subgraph.OperatorsLength()):
            operator = subgraph.Operators(i)
            code, name = code_of(self.model, operator)
            reads = indexes(operator.InputsLength(), operator.Inputs)
            writes = indexes(operator.OutputsLength(), operator.Outputs)
            begin = begin_of(self.model, operator, code, subgraph.Tensors)
            self.steps.append(Step(name, reads, writes, begin))
            if calls := calls_of(code, operator):
                for part, called in calls:
                    self.add(called, f"{name}.{part}")
                self.steps.append(Step(name, [*reads, *writes], []))
        if caller:
            self.steps.append(Step(caller, outputs, []))
        return inputs, outputs

    def tensor(self, index):
        """Returns the tensor, and its index in its subgraph."""
        number = bisect.bisect_right(self.starts, index) - 1
        return self.model.Subgraphs(number).Tensors(index - self.starts[number]), index - self.starts[number]

    def left_out(self):
        names = [self.model.Subgraphs(number).Name() or f"subgraph {number}".encode()
                 for number in range(self.model.SubgraphsLength()) if number not in self.called]
        return [name.decode(errors="replace") for name in names]


def refuse_unwritten(program, kept):
    """Refuses a model in which a tensor of the arena has no contents."""
    written = set(program.inputs)
    for step in program.steps:
        for index in step.reads:
            if index in kept and index not in written:
                raise Refused(f"the operator {step.operator} reads tensor {index} before any operator has written it.")
        written |= set(step.writes)
    if missing := kept - written:
        raise Refused(f"the model returns tensor {min(missing)}, which no operator writes.")


def graph_of(data):
    """Returns the tensors in the arena and the operators of a model."""
    model = read_model(data)
    if model.SubgraphsLength() == 0:
        raise Refused("the model has no subgraphs.")
    program = Program(model)
    used = {index for step in program.steps for index in (*step.reads, *step.writes)} | {*program.inputs, *program.outputs}
    placed = []
    for index in sorted(used):
        tensor, number = program.tensor(index)
        if tensor.IsVariable() or is_constant(model, tensor):
            continue
        if (found := tensor_of(tensor, number)._replace(index=index)).size != 0:
            placed.append(found)
    kept = {tensor.index for tensor in placed}
    refuse_unwritten(program, kept)
    return Graph(placed, [i for i in program.inputs if i in kept], [i for i in program.outputs if i in kept],
                 [Step(step.operator, [i for i in step.reads if i in kept], [i for i in step.writes if i in kept],
                       step.begin if kept.issuperset((*step.reads[:1], *step.writes)) else [])
                  for step in program.steps], program.starts[-1], program.left_out())


def one_word(text):
    return re.sub(r"[\s\0]+", "_", text)  # a zero is the mark of a binary file


def text_of(graph, name, source):
    """Returns the network in the file format."""
    ids = {tensor.index: id for id, tensor in enumerate(graph.tensors)}
    lines = [f"# allot network, version 1: written by tflite_to_network.py from {source}", f"network {one_word(name)}"]
    for id, tensor in enumerate(graph.tensors):
        shape = "x".join(map(str, tensor.shape)) or "scalar"
        lines.append(f"tensor {id} {tensor.size} {tensor.dtype} {shape} {one_word(tensor.name)}")
    lines += [f"input {ids[index]}" for index in graph.inputs] + [f"output {ids[index]}" for index in graph.outputs]
    for number, step in enumerate(graph.steps):
        reads, writes = ([ids[index] for index in indexes] for indexes in (step.reads, step.writes))
        begin = ["from", "x".join(map(str, step.begin))] if step.begin else []
        lines.append(" ".join(map(str, ["step", number, one_word(step.operator), *reads, "->", *writes, *begin])))
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def damage_is_refused():
    """Turns the errors of the readers into the error of a damaged file. They have no common class."""
    try:
        yield
    except (Refused, OSError):
        raise
    except Exception as error:
        raise Refused(f"the file is damaged: {error}") from error


def load(path):
    """Returns the graph of a file. Raises Refused for any other content."""
    with damage_is_refused():
        return graph_of(path.read_bytes())


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Convert a TensorFlow Lite model to a network file.")
    parser.add_argument("file", type=Path, metavar="FILE", help="a TensorFlow Lite model")
    path = parser.parse_args(arguments).file
    try:
        graph = load(path)
        if graph.left_out:
            print(f"tflite_to_network.py: {path}: left out, because no operator calls it: {', '.join(graph.left_out)}",
                  file=sys.stderr)
        sys.stdout.write(text_of(graph, path.stem, path.name))
    except (Refused, OSError) as error:
        print(f"tflite_to_network.py: {path}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
