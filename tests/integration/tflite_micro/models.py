# SPDX-License-Identifier: BSL-1.0
"""Builds small TensorFlow Lite models, with the Python packages tflite and flatbuffers."""

import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "build" / "tools" / "tflite"))
sys.path += [str(ROOT / "examples" / "apps" / "network_demo"), str(ROOT / "bindings" / "tflite_micro")]
try:
    import flatbuffers
    import tflite
except ImportError:
    print("skipped: the Python packages tflite and flatbuffers are missing (./dev installs them into build/tools/tflite)")
    sys.exit(77)


class Value(NamedTuple):
    """A tensor of a model."""

    name: str
    shape: list
    type: int = tflite.TensorType.FLOAT32
    data: bytes = b""  # of a constant
    variable: bool = False


def vector(builder, start, offsets):
    """Writes a vector of references."""
    start(builder, len(offsets))
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def integers(builder, start, numbers):
    start(builder, len(numbers))
    for number in reversed(numbers):
        builder.PrependInt32(number)
    return builder.EndVector()


def buffer(builder, data):
    content = builder.CreateByteVector(data) if data else None
    tflite.BufferStart(builder)
    if data:
        tflite.BufferAddData(builder, content)
    return tflite.BufferEnd(builder)


def tensor(builder, value, number):
    name = builder.CreateString(value.name)
    shape = integers(builder, tflite.TensorStartShapeVector, value.shape)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, value.type)
    tflite.TensorAddBuffer(builder, number)
    tflite.TensorAddName(builder, name)
    tflite.TensorAddIsVariable(builder, value.variable)
    return tflite.TensorEnd(builder)


FIELDS = {"If": ["ThenSubgraphIndex", "ElseSubgraphIndex"], "While": ["CondSubgraphIndex", "BodySubgraphIndex"],
          "CallOnce": ["InitSubgraphIndex"],
          "StridedSlice": ["BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask"]}
KINDS = {tflite.BuiltinOperator.IF: "If", tflite.BuiltinOperator.WHILE: "While", tflite.BuiltinOperator.CALL_ONCE: "CallOnce",
         tflite.BuiltinOperator.STRIDED_SLICE: "StridedSlice"}


def options_of(builder, kind, numbers):
    """Writes the options of an operator: the subgraphs that it calls, or the masks of a slice."""
    getattr(tflite, f"{kind}OptionsStart")(builder)
    for field, number in zip(FIELDS[kind], numbers):
        getattr(tflite, f"{kind}OptionsAdd{field}")(builder, number)
    return getattr(tflite, f"{kind}OptionsEnd")(builder)


def operator(builder, index, code, reads, writes, numbers=()):
    reads = integers(builder, tflite.OperatorStartInputsVector, reads)
    writes = integers(builder, tflite.OperatorStartOutputsVector, writes)
    options = options_of(builder, KINDS[code], numbers) if numbers else None
    tflite.OperatorStart(builder)
    if numbers:
        tflite.OperatorAddBuiltinOptionsType(builder, getattr(tflite.BuiltinOptions, f"{KINDS[code]}Options"))
        tflite.OperatorAddBuiltinOptions(builder, options)
    tflite.OperatorAddOpcodeIndex(builder, index)
    tflite.OperatorAddInputs(builder, reads)
    tflite.OperatorAddOutputs(builder, writes)
    return tflite.OperatorEnd(builder)


def operator_code(builder, number):
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, 127))
    tflite.OperatorCodeAddVersion(builder, 1)
    tflite.OperatorCodeAddBuiltinCode(builder, number)
    return tflite.OperatorCodeEnd(builder)


def subgraph(builder, codes, values, steps, inputs, outputs, name=""):
    name = builder.CreateString(name) if name else None
    tensors = [tensor(builder, value, 1 + i if value.data else 0) for i, value in enumerate(values)]
    operators = [operator(builder, codes.index(step[0]), *step) for step in steps]
    tensors = vector(builder, tflite.SubGraphStartTensorsVector, tensors)
    operators = vector(builder, tflite.SubGraphStartOperatorsVector, operators)
    inputs = integers(builder, tflite.SubGraphStartInputsVector, inputs)
    outputs = integers(builder, tflite.SubGraphStartOutputsVector, outputs)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddInputs(builder, inputs)
    tflite.SubGraphAddOutputs(builder, outputs)
    tflite.SubGraphAddOperators(builder, operators)
    if name:
        tflite.SubGraphAddName(builder, name)
    return tflite.SubGraphEnd(builder)


def model(values, steps, inputs, outputs, metadata=(), others=()):
    """Returns a model. steps: an operator's number, its inputs, its outputs, and its options. metadata:
    names and contents. others: values, steps, inputs, outputs and name of each further subgraph, without constants."""
    builder = flatbuffers.Builder(1024)
    graphs = [(values, steps, inputs, outputs), *others]
    codes = sorted({step[0] for graph in graphs for step in graph[1]})
    graphs = [subgraph(builder, codes, *graph) for graph in graphs]
    contents = [b"", *(value.data for value in values), *(content for _, content in metadata)]
    buffers = vector(builder, tflite.ModelStartBuffersVector, [buffer(builder, content) for content in contents])
    entries = []
    for number, (name, _) in enumerate(metadata):
        name = builder.CreateString(name)
        tflite.MetadataStart(builder)
        tflite.MetadataAddName(builder, name)
        tflite.MetadataAddBuffer(builder, 1 + len(values) + number)
        entries.append(tflite.MetadataEnd(builder))
    entries = vector(builder, tflite.ModelStartMetadataVector, entries) if metadata else None
    operator_codes = vector(builder, tflite.ModelStartOperatorCodesVector, [operator_code(builder, code) for code in codes])
    graphs = vector(builder, tflite.ModelStartSubgraphsVector, graphs)
    description = builder.CreateString("a small model")
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, operator_codes)
    tflite.ModelAddSubgraphs(builder, graphs)
    tflite.ModelAddDescription(builder, description)
    tflite.ModelAddBuffers(builder, buffers)
    if metadata:
        tflite.ModelAddMetadata(builder, entries)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())
