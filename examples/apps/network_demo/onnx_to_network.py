#!/usr/bin/python3
"""Converts ONNX graphs to allot's network files.

A network file lists the tensors of a network with their sizes, and the tensors that each step reads and writes. This
is sufficient to place the tensors in one arena.

    onnx_to_network.py model.onnx                            one network, on standard output
    onnx_to_network.py --output DIR a.onnx b.onnx            DIR/a.network and DIR/b.network
    onnx_to_network.py --dim batch=8 --summary model.onnx    sets a symbolic dimension; sizes on standard error
    onnx_to_network.py --shape x=1x3x48x192 model.onnx       sets the shape of a tensor

The format (one record per line, fields separated by a space; a line that starts with '#' is a comment):

    network NAME
    tensor ID BYTES DTYPE SHAPE NAME           IDs count from 0; SHAPE is 1x3x224x224, or "scalar" for rank 0
    input ID                                   a tensor that the caller writes before step 0
    output ID                                  a tensor that the caller reads after the last step
    step INDEX OPERATOR [ID...] -> [ID...] [from BEGIN] [next INDEX...]
                                               the tensors it reads -> the tensors it writes; the steps that can follow

BEGIN is the index of the first element of a slice in the first tensor that the step reads, such as 0x16x0x0. The shape of
the written tensor is the shape of the slice. Slices with a step other than 1, or with indexes that are not constants, do
not have it.

An operator of another domain that has the name of one of ONNX's has the domain in front, such as com.example.Relu.

The operators of If, Loop and Scan become steps too:

    If      reads the condition                 next THEN ELSE     Identity   an initial value -> its variable
    THEN    …                                                      Loop       writes the iteration     next BODY END
            writes the outputs                  next END           BODY       …
    ELSE    …                                                      Loop       reads the condition, adds rows
    END                                                            Identity   a result -> its variable next BODY END

The network file does not contain:
  * weights, which are not in the arena: initializers, and values computed from constants alone, even if they are
    outputs of the graph;
  * outputs of unknown size that no operator reads, such as the mask of an old Dropout.

The functions of a model are expanded, so that each step is a primitive operator.

A required size that is unknown or changes in a loop, a string, a sequence, another operator with a graph inside it, or a
damaged model is an error: one sentence on standard error, exit status 1. Requires Python's onnx module (Debian: python3-onnx).
"""

import argparse
import bisect
import contextlib
import math
import re
import sys
import warnings
from pathlib import Path
from typing import List, NamedTuple

try:
    import onnx
    import onnx.defs
    import onnx.helper
    import onnx.numpy_helper
    import onnx.shape_inference
    from google.protobuf.message import DecodeError, Message
except ImportError:
    sys.exit("onnx_to_network.py: Python's onnx module is missing (Debian: python3-onnx).")

STRING = onnx.TensorProto.STRING

# Name and bits of each element type, by ONNX's number, because an older onnx module lacks the later names.
ELEMENT_TYPES = {
    1: ("float32", 32), 2: ("uint8", 8), 3: ("int8", 8), 4: ("uint16", 16), 5: ("int16", 16), 6: ("int32", 32),
    7: ("int64", 64), 9: ("bool", 8), 10: ("float16", 16), 11: ("float64", 64), 12: ("uint32", 32),
    13: ("uint64", 64), 14: ("complex64", 64), 15: ("complex128", 128), 16: ("bfloat16", 16),
    17: ("float8e4m3fn", 8), 18: ("float8e4m3fnuz", 8), 19: ("float8e5m2", 8), 20: ("float8e5m2fnuz", 8),
    21: ("uint4", 4), 22: ("int4", 4), 23: ("float4e2m1", 4), 24: ("float8e8m0", 8), 25: ("uint2", 2), 26: ("int2", 2),
}

# Operators that the installed onnx may not support; their first output has the shape and type of their first input.
SHAPE_PRESERVING = {
    "BiasGelu", "Dropout", "FastGelu", "Gelu", "GroupNormalization", "HardSwish", "LayerNormalization", "Mish",
    "QuickGelu", "RMSNormalization", "SimplifiedLayerNormalization", "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization", "Swish",
}

# Graphs inside the operators of control flow, by operator.
CONTROL_FLOW = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}

# Operators whose results differ in each run, even for constants.
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


class Refused(Exception):
    """The reason why a graph cannot be converted, as one sentence."""


class Tensor(NamedTuple):
    size: int  # in bytes
    dtype: str
    shape: List[int]
    name: str


class Step(NamedTuple):
    operator: str
    reads: List[int]
    writes: List[int]
    next: List[int] = ()  # the steps that can follow; empty: the step after this one
    begin: List[int] = ()  # of a slice: the index of its first element in the first tensor that it reads


class Network(NamedTuple):
    name: str
    tensors: List[Tensor]
    inputs: List[int]
    outputs: List[int]
    steps: List[Step]


def values_of(graph):
    """Returns every value with a type in the graph."""
    return [*graph.value_info, *graph.input, *graph.output]


def symbol_of(dimension):
    """Returns the name of a symbolic dimension; empty for any other dimension."""
    return dimension.dim_param if dimension.HasField("dim_param") else ""


def shape_of(value):
    """Returns the shape of a value; None if it is not completely known."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    known = all(d.HasField("dim_value") and d.dim_value >= 0 for d in tensor.shape.dim)
    return [d.dim_value for d in tensor.shape.dim] if known else None


def set_dimensions(graph, dimensions):
    """Sets the values of symbolic dimensions. A dimension of -1 is unknown."""
    for value in values_of(graph):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_value < 0:
                dimension.Clear()
            if symbol_of(dimension) in dimensions:
                dimension.dim_value = dimensions[symbol_of(dimension)]


def set_shapes(graph, shapes):
    """Sets the shapes of values, by their names. Returns the shapes of names that the graph does not have."""
    missing = dict(shapes)
    for value in values_of(graph):
        if value.name not in shapes:
            continue
        missing.pop(value.name, None)
        del value.type.tensor_type.shape.dim[:]
        value.type.tensor_type.shape.SetInParent()  # of a scalar, too
        for extent in shapes[value.name]:
            value.type.tensor_type.shape.dim.add().dim_value = extent
    return missing


def infer_shapes(model):
    """Returns the model with all shapes that onnx infers. Handles operators that onnx may not support."""
    helped = True
    while helped:
        try:
            model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        except (onnx.shape_inference.InferenceError, RuntimeError) as error:
            raise Refused(f"onnx cannot infer the shapes of {place_of(model)}: {reason_of(error)}.") from error
        helped = help_inference(model.graph)
    return model


def place_of(model):
    """Returns the label of the first operator whose shapes onnx cannot infer."""
    nodes = list(model.graph.node)

    def fails(count):
        del model.graph.node[:]
        model.graph.node.extend(nodes[:count])
        try:
            onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        except (onnx.shape_inference.InferenceError, RuntimeError):
            return True
        return False

    first = bisect.bisect_left(range(len(nodes) + 1), True, key=fails)
    return label_of(nodes[first - 1]) if first != 0 else f"the graph '{model.graph.name}'"


def reason_of(error):
    """Returns the text of an error of onnx without its prefixes."""
    text = re.sub(r"\[\w+Error\] ?|Shape inference error\(s\): |\(op_type:\w+\)[:,] ?", "", str(error))
    return " ".join(text.split()).rstrip(".") or "it gives no reason"


def help_inference(graph):
    """Sets the unknown output shapes of shape-preserving operators. Returns whether there were any."""
    values = {value.name: value for value in values_of(graph)}
    known = {name for name, value in values.items() if shape_of(value) is not None}
    helped = False
    for node in graph.node:
        if node.op_type not in SHAPE_PRESERVING or not node.input or not node.output:
            continue
        name = node.output[0]
        if node.input[0] in known and name not in known:
            if name not in values:
                values[name] = graph.value_info.add(name=name)
            values[name].type.CopyFrom(values[node.input[0]].type)
            known.add(name)
            helped = True
    return helped


def key_of(operator):
    """Returns the key of a node's operator or of a function. ONNX's default domain has two names."""
    name = operator.op_type if isinstance(operator, onnx.NodeProto) else operator.name
    return ("" if operator.domain == "ai.onnx" else operator.domain, name, getattr(operator, "overload", ""))


class Inliner:
    """Replaces calls of a model's functions by the nodes of the functions."""

    MOST_NODES = 1_000_000  # nested functions that call others twice double their nodes at each level

    def __init__(self, model):
        self.model = model
        self.functions = {key_of(function): function for function in model.functions}
        graph = model.graph
        self.names = {name for node in graph.node for name in (*node.input, *node.output)}
        self.names |= {value.name for value in (*values_of(graph), *graph.initializer)}
        self.calls = 0
        self.nodes = []
        self.versions = {domain.domain: domain.version for domain in model.opset_import}

    def inline(self):
        for node in self.model.graph.node:
            self.add(node, ())
        del self.model.graph.node[:]
        self.model.graph.node.extend(self.nodes)
        del self.model.functions[:]

    def add(self, node, callers):
        """Appends a node, or the nodes of the function that it calls."""
        function = self.functions.get(key_of(node))
        if function is None:
            self.nodes.append(node)
            if len(self.nodes) > self.MOST_NODES:
                raise Refused(f"the functions of the model expand to more than {self.MOST_NODES} operators.")
            return
        if key_of(node) in callers:
            raise Refused(f"the function {function.name} calls itself.")
        self.check_versions(function)
        self.calls += 1
        if len(node.input) > len(function.input) or len(node.output) > len(function.output):
            raise Refused(f"a call of the function {function.name} has more inputs or outputs than the function.")
        actual = dict.fromkeys(function.input, "")
        actual.update(zip(function.input, node.input))
        written = {name: given or self.fresh(name) for name, given in zip(function.output, node.output)}
        copies = [name for name in written if name in actual]  # outputs that are unchanged inputs
        names = {**written, **actual, "": ""}
        attributes = {attribute.name: attribute for attribute in getattr(function, "attribute_proto", ())}
        attributes.update((attribute.name, attribute) for attribute in node.attribute)
        for inner in function.node:
            self.add(self.renamed(inner, names, attributes), (*callers, key_of(node)))
        for name in copies:
            self.nodes.append(onnx.helper.make_node("Identity", [actual[name]], [written[name]]))

    def renamed(self, inner, names, attributes):
        """Returns a node of a function with the names and the attributes of a call."""
        made = onnx.NodeProto()
        made.CopyFrom(inner)
        for values in (made.input, made.output):
            for i, name in enumerate(values):
                if name not in names:
                    names[name] = self.fresh(name)
                values[i] = names[name]
        del made.attribute[:]
        if any(attribute.HasField("g") or attribute.graphs for attribute in inner.attribute):
            raise Refused(f"the operator {inner.op_type} of a function has a graph inside it.")
        for attribute in inner.attribute:
            if attribute.ref_attr_name and attribute.ref_attr_name not in attributes:
                continue  # omitted by the caller
            added = made.attribute.add()
            added.CopyFrom(attributes[attribute.ref_attr_name] if attribute.ref_attr_name else attribute)
            added.name = attribute.name
        return made

    def fresh(self, name):
        """Returns an unused name."""
        wanted = f"{name}_{self.calls}"
        while wanted in self.names:
            wanted += "_"
        self.names.add(wanted)
        return wanted

    def check_versions(self, function):
        for domain in function.opset_import:
            if self.versions.setdefault(domain.domain, domain.version) != domain.version:
                raise Refused(f"the function {function.name} uses version {domain.version} of the operators of "
                              f"'{domain.domain or 'ai.onnx'}', and the model version {self.versions[domain.domain]}.")
        missing = {domain.domain for domain in function.opset_import} - {d.domain for d in self.model.opset_import}
        self.model.opset_import.extend(domain for domain in function.opset_import if domain.domain in missing)


def graphs_of(node):
    """Returns the graphs inside a node, by the name of their attribute."""
    return {attribute.name: attribute.g for attribute in node.attribute if attribute.HasField("g")}


def step_name_of(node):
    """Returns the name of a step. An operator of another domain with the name of one of ONNX's has the domain in front."""
    domain, kind, _ = key_of(node)
    is_own = domain not in ("", "com.microsoft") and onnx.defs.has(kind)
    return f"{domain}.{kind}" if is_own else kind


def label_of(node):
    """Returns the operator of a node, and a name by which the node is found."""
    return f"the operator {node.op_type} ({node.name or next(filter(None, node.output), '')})"


def integers_of(weight):
    """Returns the values of an integer tensor as a list."""
    try:
        return [int(each) for each in onnx.numpy_helper.to_array(weight).reshape(-1)]
    except (TypeError, ValueError) as error:
        raise Refused(f"the values of the constant '{weight.name}' do not match its type and shape.") from error


def check_integers(graph):
    """Refuses an initializer without the values that its shape needs. The shape inference of onnx 1.12 crashes on these."""
    for weight in graph.initializer:
        if weight.data_type in (onnx.TensorProto.INT32, onnx.TensorProto.INT64) and not weight.external_data:
            integers_of(weight)
    for node in graph.node:
        for inner in graphs_of(node).values():
            check_integers(inner)


def check_names(graph, reader, around=frozenset()):
    """Refuses a name that is read before it is written. `reader` reads the outputs of the graph."""
    names = {*around, *(value.name for value in graph.input), *(weight.name for weight in graph.initializer),
             *(weight.values.name for weight in graph.sparse_initializer)}
    for node in graph.node:
        for inner in graphs_of(node).values():
            check_names(inner, label_of(node), names)
        for name in node.input:
            require_written(name, names, label_of(node))
        names.update(node.output)
    for value in graph.output:
        require_written(value.name, names, reader)


def require_written(name, names, reader):
    if name and name not in names:
        raise Refused(f"{reader} reads '{name}' before any step has written it.")


def check_control_flow(graph, opset):
    """Refuses an If, Loop or Scan that does not match its graphs. The shape inference of onnx 1.12 can crash on these."""
    for node in graph.node:
        inside = graphs_of(node)
        for inner in inside.values():
            check_control_flow(inner, opset)
        domain, kind, _ = key_of(node)
        if domain != "" or kind not in CONTROL_FLOW:
            continue
        if kind == "Scan" and opset < 9:
            raise Refused("the operator Scan of opset 8 is not supported; convert the model to opset 9 or later.")
        inputs, outputs = {"If": (0, len(node.output)), "Loop": (max(2, len(node.input)), len(node.output) + 1),
                           "Scan": (len(node.input), len(node.output))}[kind]
        for name in CONTROL_FLOW[kind]:
            if name not in inside:
                raise Refused(f"{label_of(node)} has no graph '{name}'.")
            if (len(inside[name].input), len(inside[name].output)) != (inputs, outputs):
                raise Refused(f"the graph '{name}' of {label_of(node)} does not have {inputs} inputs and {outputs} outputs.")
        scanned = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
        if kind == "Scan" and not 0 < scanned <= inputs:
            raise Refused(f"{label_of(node)} has {inputs} inputs, of which {scanned} are scanned.")


def free_names(graph):
    """Returns the names that a graph takes from the graphs around it."""
    names = set()
    for node in graph.node:
        names |= names_read(node)
    names |= {value.name for value in graph.output}
    inside = {name for node in graph.node for name in node.output} | {value.name for value in graph.input}
    return names - inside - {weight.name for weight in graph.initializer} - {""}


def names_inside(graph):
    """Returns the names that the graphs inside the operators of a graph define."""
    names = set()
    for inner in [inner for node in graph.node for inner in graphs_of(node).values()]:
        names |= {value.name for value in inner.input} | {name for node in inner.node for name in node.output}
        names |= names_inside(inner)
    return names


def names_read(node):
    """Returns the names that a node reads, also in the graphs inside it."""
    names = set(node.input)
    for graph in graphs_of(node).values():
        names |= free_names(graph)
    return names


def slice_of(value, axis):
    """Returns the type of one slice of a value; None if the shape of the value is unknown."""
    shape = shape_of(value) if value else None
    if not shape:
        return None
    shape.pop(axis)
    return onnx.helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, shape)


class Scope:
    """The names of one graph. A graph inside another one also has the names of that one."""

    def __init__(self, graph, outer=None):
        self.graph = graph
        self.outer = outer
        self.values = {weight.name: onnx.helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims)
                       for weight in graph.initializer}
        self.values.update((value.name, value) for value in values_of(graph))
        self.weights = {weight.name for weight in graph.initializer}
        self.weights |= {weight.values.name for weight in graph.sparse_initializer}
        self.needed = {name for node in graph.node for name in names_read(node)} | {v.name for v in graph.output}
        self.ids = {}  # by name of the tensor
        self.given = {}  # ids of tensors that the graph writes for the one around it

    def find(self, name):
        """Returns the scope that has the name; None if there is none."""
        if name in self.ids or name in self.weights:
            return self
        return self.outer.find(name) if self.outer else None

    def require_unwritten(self, name):
        """Refuses a second definition of a name of the graph."""
        if name in self.ids or name in self.weights:
            raise Refused(f"the tensor '{name}' is written twice.")

    def withdraw(self, names):
        """Removes names, which an operator defines only when the graphs inside it have run. Returns them with their ids."""
        return {name: self.ids.pop(name) for name in names if name in self.ids}

    def value(self, name):
        """Returns the type of a name; None if it is unknown."""
        if name in self.values or not self.outer:
            return self.values.get(name)
        return self.outer.value(name)


class Converter:
    """Converts one graph, and numbers its tensors and steps."""

    def __init__(self, model, dimensions, shapes):
        check_names(model.graph, "the caller")  # also those that only a call of a function reads, which is expanded
        check_integers(model.graph)
        inliner = Inliner(model)
        inliner.inline()
        opset = max([each.version for each in model.opset_import if each.domain in ("", "ai.onnx")], default=1)
        check_control_flow(model.graph, opset)
        self.functions = inliner.functions
        self.dimensions = dimensions
        self.shapes = shapes
        set_dimensions(model.graph, dimensions)
        missing = set_shapes(model.graph, shapes)
        self.symbols = {symbol_of(d) for v in values_of(model.graph) for d in v.type.tensor_type.shape.dim} - {""}
        model = infer_shapes(model)
        if missing:
            if missing := set_shapes(model.graph, missing).keys() - names_inside(model.graph):
                raise Refused(f"--shape names '{min(missing)}', which is no tensor of the graph.")
            model = infer_shapes(model)
        self.graph = model.graph
        self.shell = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
        # Initializers that the caller may replace. Before version 4, each initializer is also an input.
        self.replaceable = {v.name for v in model.graph.input} if model.ir_version >= 4 else set()
        self.scope = Scope(model.graph)
        self.tensors = []
        self.steps = []

    def network(self, name):
        inputs = [self.add_tensor(self.scope, v.name) for v in self.graph.input if v.name not in self.scope.weights]
        self.add_nodes(self.scope)
        outputs = [self.id_of(self.scope, v.name, "the caller") for v in self.graph.output]
        once = dict.fromkeys(id for id in outputs if id is not None)  # a tensor may be listed twice
        return Network(name, self.tensors, inputs, list(once), self.steps)

    def add_nodes(self, scope):
        controls = {"If": self.add_if, "Loop": self.add_loop, "Scan": self.add_scan}
        for node in scope.graph.node:
            domain, kind, _ = key_of(node)
            with damage_is_refused(label_of(node)):
                if not any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
                    self.add_step(scope, node)
                elif domain == "" and kind in controls:
                    controls[kind](scope, node)
                else:
                    raise Refused(f"{label_of(node)} has a graph inside it.")

    def add_step(self, scope, node):
        """Adds the step of a node, unless it computes weights."""
        if node.op_type in ("", "->"):
            raise Refused(f"{label_of(node)} has no name for a step: '{node.op_type}'.")
        reads = [self.id_of(scope, name, label_of(node)) for name in node.input if name]
        written = [name for name in node.output if name]
        if node.op_type not in RANDOM and all(id is None for id in reads):
            for name in written:
                scope.require_unwritten(name)
                scope.weights.add(name)
            return
        writes = [self.add_tensor(scope, name) for name in written if name in scope.needed or self.has_size(scope, name)]
        operator = step_name_of(node)
        begin = self.begin_of(scope, node) if operator == "Slice" and reads[0] is not None and writes else ()
        self.steps.append(Step(operator, self.tensors_of(reads), writes, begin=begin))

    def begin_of(self, scope, node):
        """Returns the index of the first element of a slice; empty if its indexes or shapes are unknown or a step is not 1."""
        fields = ("starts", "ends", "axes", "steps")
        given = {attribute.name: list(attribute.ints) for attribute in node.attribute}  # before opset 10
        given.update((field, self.constant(scope, name)) for field, name in zip(fields, node.input[1:]) if name)
        if None in given.values() or not {"starts", "ends"} <= given.keys():
            return ()
        if not all(self.has_size(scope, name) for name in (node.input[0], node.output[0])):
            return ()
        whole, part = (shape_of(scope.value(name)) for name in (node.input[0], node.output[0]))
        starts, ends = given["starts"], given["ends"]
        axes = [axis % len(whole) for axis in given.get("axes", range(len(starts)))]
        if any(step != 1 for step in given.get("steps", ())) or len(set(axes)) != len(axes):
            return ()
        bounds = {axis: slice(start, end).indices(whole[axis]) for start, end, axis in zip(starts, ends, axes)}
        begins, ends, _ = zip(*(bounds.get(axis, (0, extent, 1)) for axis, extent in enumerate(whole)))
        return list(begins) if [max(end - begin, 0) for begin, end in zip(begins, ends)] == part else ()

    def add_if(self, scope, node):
        condition = self.id_of(scope, node.input[0], label_of(node))
        branches = [self.inner(scope, graphs_of(node)[name], {}) for name in ("then_branch", "else_branch")]
        results = {}  # by position
        for i, name in enumerate(node.output):
            if name in scope.needed:
                results[i] = self.add_tensor(scope, name, *(each.value(each.graph.output[i].name) for each in branches))
        outputs = scope.withdraw(node.output)
        self.steps.append(Step("If", self.tensors_of([condition]), [], []))
        choice = self.steps[-1]
        starts = []
        for name, branch in zip(("Then", "Else"), branches):
            starts.append(len(self.steps))
            choice.next.append(len(self.steps))
            produced = {name for inner in branch.graph.node for name in inner.output}
            for i, id in results.items():
                if (result := branch.graph.output[i].name) in produced:
                    branch.given.setdefault(result, id)
            self.add_nodes(branch)
            sources = [self.id_of(branch, value.name, label_of(node)) for value in branch.graph.output]
            for i, id in results.items():
                result = branch.graph.output[i].name
                if branch.ids.get(result) != id:
                    reads = self.tensors_of([sources[i]])
                    if not (reads or self.has_size(scope, node.output[i])):
                        self.size_of(branch, result)  # refuses a weight of unknown size
                    self.steps.append(Step("Identity", reads, [id]))
            if len(self.steps) == starts[-1]:
                self.steps.append(Step(name, [], []))
        scope.ids.update(outputs)
        self.skip(starts[0], starts[1])

    def skip(self, start, end):
        """Lets the steps from start to end continue with the last step so far, instead of step end."""
        after = len(self.steps)
        for i in range(start, end):
            step = self.steps[i]
            following = list(step.next) or [i + 1]
            if end in following:
                self.steps[i] = step._replace(next=[after if each == end else each for each in following])

    def add_loop(self, scope, node):
        graph = graphs_of(node)["body"]
        count = len(graph.input) - 2
        types = {graph.input[2 + i].name: scope.value(node.input[2 + i]) for i in range(count)}
        body = self.inner(scope, graph, types)
        controls = self.tensors_of(self.id_of(scope, name, label_of(node)) for name in node.input[:2] if name)
        used = [value.name for value in graph.input[:2] if value.name in body.needed]
        counters = [self.add_tensor(body, name) for name in used]
        self.set_rows(scope, node, body, graph.output[1 + count:])
        self.repeat(scope, node, body, controls, counters, graph.input[2:], node.input[2:],
                    graph.output[1:1 + count], graph.output[1 + count:], graph.output[:1], [])

    def set_rows(self, scope, node, body, rows):
        """Sets the unknown shapes of the stacked outputs of a loop whose number of iterations has a constant bound, and
        of the tensors that later operators compute from these."""
        count = (self.constant(scope, node.input[0]) or [None])[0]
        sized = []
        for name, row in zip(node.output[len(node.output) - len(rows):], rows):
            if count is None or not self.has_size(body, row.name) or self.has_size(scope, name):
                continue
            tensor = body.value(row.name).type.tensor_type
            scope.values[name] = onnx.helper.make_tensor_value_info(
                name, tensor.elem_type, [max(count, 0), *shape_of(body.value(row.name))])
            sized.append(name)
        if not sized:
            return
        made = onnx.ModelProto()
        made.CopyFrom(self.shell)
        made.graph.CopyFrom(scope.graph)
        for name in sized:
            for value in [v for v in values_of(made.graph) if v.name == name] or [made.graph.value_info.add(name=name)]:
                value.type.CopyFrom(scope.values[name].type)
        with contextlib.suppress(Refused):  # a loop can end before the bound, so that other sizes are given
            scope.values.update((value.name, value) for value in values_of(infer_shapes(made).graph))

    def constant(self, scope, name):
        """Returns the values of a constant integer tensor as a list; None if they are unknown."""
        scope = scope.find(name)  # the innermost graph that has the name
        if scope is None or name in scope.ids or name in self.replaceable:
            return None
        tensors = [weight for weight in scope.graph.initializer if weight.name == name]
        for node in scope.graph.node:
            if node.op_type == "Constant" and name in node.output:
                given = onnx.helper.get_attribute_value(node.attribute[0])
                if node.attribute[0].name in ("value_int", "value_ints"):
                    return [given] if isinstance(given, int) else list(given)
                tensors += [given] if node.attribute[0].name == "value" else []
        return integers_of(tensors[0]) if tensors else None

    def add_scan(self, scope, node):
        graph = graphs_of(node)["body"]
        scanned = onnx.helper.get_attribute_value(next(a for a in node.attribute if a.name == "num_scan_inputs"))
        count = len(graph.input) - scanned
        types = {value.name: scope.value(name) for value, name in zip(graph.input[:count], node.input)}
        axes = next((a.ints for a in node.attribute if a.name == "scan_input_axes"), [0] * scanned)
        for value, name, axis in zip(graph.input[count:], node.input[count:], axes):
            types[value.name] = slice_of(scope.value(name), axis)
        body = self.inner(scope, graph, types)
        sources = self.tensors_of(self.id_of(scope, name, label_of(node)) for name in node.input[count:])
        self.repeat(scope, node, body, sources, [], graph.input[:count], node.input[:count],
                    graph.output[:count], graph.output[count:], [], graph.input[count:])

    def repeat(self, scope, node, body, controls, counters, variables, initial, results, rows, conditions, slices):
        """Adds the steps of a loop. The variables are live from one iteration to the next, and each iteration adds a row
        to the stacked outputs."""
        kind = node.op_type
        states = []
        for value, result, name in zip(variables, results, node.output):
            if self.has_size(body, result.name) and self.size_of(body, value.name) != self.size_of(body, result.name):
                raise Refused(f"the size of '{value.name}' changes in the loop of {label_of(node)}.")
            states.append(self.add_tensor(body, value.name))
            if name:
                scope.require_unwritten(name)
                scope.ids[name] = states[-1]
        stacked = [self.add_tensor(scope, name) if name in scope.needed else None for name in node.output[len(results):]]
        stacks = self.tensors_of(stacked)
        outputs = scope.withdraw(node.output)
        sources = [self.id_of(scope, name, label_of(node)) for name in initial]
        self.copy(sources, states)
        constant = [state for source, state in zip(sources, states) if source is None]
        self.steps.append(Step(kind, controls, [*counters, *constant, *stacks], []))
        begin = self.steps[-1]
        start = len(self.steps)
        cuts = [self.add_tensor(body, value.name) for value in slices if value.name in body.needed]
        if cuts:
            self.steps.append(Step(kind, controls, cuts))
        for value, result, state in zip(variables, results, states):
            if self.may_overwrite(body, value.name, result.name):
                body.given[result.name] = state
        self.add_nodes(body)
        read = [value.name for value in conditions]
        read += [row.name for row, id in zip(rows, stacked) if id is not None]
        ids = self.tensors_of(self.id_of(body, name, label_of(node)) for name in read)
        # A variable that gets a constant, or what this step overwrites, changes together with the others.
        changing = [*states, *counters]
        sources = [self.id_of(body, result.name, label_of(node)) for result in results]
        for result in results:
            self.size_of(body, result.name)  # refuses a weight of unknown size
        moved = [(source, state) for source, state in zip(sources, states)
                 if source != state and (source is None or source in changing)]
        ids += self.tensors_of(source for source, _ in moved)
        self.steps.append(Step(kind, list(dict.fromkeys([*controls, *counters, *ids, *stacks])),
                               [*counters, *(state for _, state in moved), *stacks]))
        self.copy([None if source in changing else source for source in sources], states)
        scope.ids.update(outputs)
        after = len(self.steps)
        self.steps[-1] = self.steps[-1]._replace(next=[start, after])
        begin.next.extend([start, after])

    def copy(self, sources, states):
        """Adds a step for each variable of a loop that gets the value of a tensor."""
        for source, state in zip(sources, states):
            if source is not None:
                self.steps.append(Step("Identity", [source], [state]))

    def may_overwrite(self, body, variable, result):
        """Returns whether the node that writes the result and the nodes after it do not read the variable."""
        nodes = list(body.graph.node)
        writers = [i for i, node in enumerate(nodes) if result in node.output]
        listed = [value.name for value in body.graph.output]
        return (bool(writers) and variable not in listed and listed.count(result) == 1 and
                not any(variable in names_read(node) for node in nodes[writers[0]:]))

    def inner(self, scope, graph, types):
        """Returns the scope of a graph inside another one, with inferred shapes. `types` are those of its inputs."""
        if any(key_of(node) in self.functions for node in graph.node):
            raise Refused("a function is called in a graph inside an operator.")
        made = onnx.ModelProto()
        made.CopyFrom(self.shell)
        made.graph.CopyFrom(graph)
        set_dimensions(made.graph, self.dimensions)
        for value in made.graph.input:
            if types.get(value.name) is not None:
                value.type.CopyFrom(types[value.name].type)
        for name in sorted(free_names(graph)):
            self.capture(scope, made.graph, name)
        set_shapes(made.graph, self.shapes)
        made = infer_shapes(made)
        if set_shapes(made.graph, self.shapes).keys() != self.shapes.keys():
            made = infer_shapes(made)
        return Scope(made.graph, scope)

    def capture(self, scope, graph, name):
        """Adds a name of the graphs around a graph to its inputs or weights, for the inference of shapes."""
        found = scope
        while found:
            for weight in found.graph.initializer:
                if weight.name == name:
                    graph.initializer.add().CopyFrom(weight)
                    return
            if name in found.values:
                graph.input.add().CopyFrom(found.values[name])
                return
            found = found.outer

    @staticmethod
    def tensors_of(ids):
        """Returns the ids without those of weights."""
        return [id for id in ids if id is not None]

    def id_of(self, scope, name, reader):
        """Returns the id of a tensor; None for a weight."""
        found = scope.find(name)
        if found is None:
            raise Refused(f"{reader} reads '{name}' before any step has written it.")  # in a function
        return found.ids.get(name)

    def has_size(self, scope, name):
        value = scope.value(name)
        return value is not None and value.type.tensor_type.elem_type != 0 and shape_of(value) is not None

    def size_of(self, scope, name):
        """Returns the bytes of a tensor."""
        value = scope.value(name)
        return self.described(name, value).size

    def add_tensor(self, scope, name, *others):
        """Adds a tensor. `others` are values that it may have too, from the branches that write it."""
        scope.require_unwritten(name)
        if not name:
            raise Refused(f"an input of the graph '{scope.graph.name}' has no name.")
        known = [value for value in (scope.value(name), *others) if value is not None and shape_of(value) is not None]
        tensors = [self.described(name, value) for value in known] or [self.described(name, scope.value(name))]
        largest = max(tensors, key=lambda each: each.size)
        if name in scope.given:
            scope.ids[name] = scope.given[name]
        else:
            scope.ids[name] = len(self.tensors)
            self.tensors.append(largest)
        return scope.ids[name]

    def described(self, name, value):
        """Returns the tensor of a value."""
        element_type = value.type.tensor_type.elem_type if value else 0
        if element_type == STRING:
            raise Refused(f"the tensor '{name}' contains strings.")
        if element_type == 0 or shape_of(value) is None:
            raise Refused(self.unknown_size(name, value))
        if element_type not in ELEMENT_TYPES:
            raise Refused(f"the tensor '{name}' is of an unknown type (ONNX's number {element_type}).")
        dtype, bits = ELEMENT_TYPES[element_type]
        shape = shape_of(value)
        return Tensor((math.prod(shape) * bits + 7) // 8, dtype, shape, name)

    def unknown_size(self, name, value):
        if value and value.type.WhichOneof("value") not in (None, "tensor_type"):
            return f"'{name}' is a {value.type.WhichOneof('value')[:-len('_type')]}, not a tensor."
        tensor = value.type.tensor_type if value else None
        known = [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else symbol_of(d) or "?"
                 for d in tensor.shape.dim] if tensor else []
        ways = [f"--dim {symbol}=VALUE" for symbol in dict.fromkeys(known) if symbol in self.symbols - {"?"}]
        wanted = "x".join(str(extent) if isinstance(extent, int) else "VALUE" for extent in known)
        way = f"--shape {name}={wanted or 'VALUExVALUE'}"
        if known:
            return (f"the tensor '{name}' has the shape {'x'.join(map(str, known))}; set its dimensions with "
                    f"{' '.join(ways)}{' or with ' if ways else ''}{way}.")
        help = f"; set it with {way}" if tensor and tensor.elem_type != 0 else ""
        return f"the size of the tensor '{name}' is unknown: it is neither in the graph nor can it be inferred{help}."


def one_word(text):
    return re.sub(r"[\s\0]+", "_", text)  # a zero is the mark of a binary file


def text_of(network, comments):
    """Returns the network in the file format."""
    lines = ["# " + " ".join(comment.split()) for comment in comments]
    lines.append(f"network {one_word(network.name)}")
    for id, tensor in enumerate(network.tensors):
        shape = "x".join(map(str, tensor.shape)) or "scalar"
        lines.append(f"tensor {id} {tensor.size} {tensor.dtype} {shape} {one_word(tensor.name)}")
    lines += [f"input {id}" for id in network.inputs]
    lines += [f"output {id}" for id in network.outputs]
    for index, step in enumerate(network.steps):
        following = ["next", *step.next] if step.next else []
        begin = ["from", "x".join(map(str, step.begin))] if step.begin else []
        words = ["step", index, one_word(step.operator), *step.reads, "->", *step.writes, *begin, *following]
        lines.append(" ".join(map(str, words)))
    return "\n".join(lines) + "\n"


def most_live(network):
    """Returns the most bytes live at one step. A tensor is live on each path from a step that writes it to a read."""
    count = len(network.steps)
    before = [[] for _ in range(count + 1)]
    readers = [[] for _ in network.tensors]
    writers = [[] for _ in network.tensors]
    for index, step in enumerate(network.steps):
        for following in step.next or [index + 1]:
            before[following].append(index)
        for id in step.reads:
            readers[id].append(index)
        for id in step.writes:
            writers[id].append(index)
    for id in network.outputs:
        readers[id].append(count)
    live = [0] * (count + 1)
    for id, tensor in enumerate(network.tensors):
        needed, work = set(readers[id]), list(readers[id])
        steps = needed | set(writers[id]) | ({0} if id in network.inputs else set())
        while work:
            for index in before[work.pop()]:
                steps.add(index)
                if index not in needed and index not in writers[id]:
                    needed.add(index)
                    work.append(index)
        for index in steps - ({count} if count else set()):
            live[index] += tensor.size
    return max(live)


def summary_of(network):
    total = sum(tensor.size for tensor in network.tensors)
    return (f"{network.name}: {len(network.steps)} steps, {len(network.tensors)} tensors, "
            f"{total:,} bytes in total, at most {most_live(network):,} bytes live")


def name_of(path):
    """Returns the name of the file, without the prefixes of the ONNX project's light models."""
    return one_word(re.sub("^light_(bvlc_)?(?=.)", "", path.stem))


@contextlib.contextmanager
def damage_is_refused(place=None):
    """Turns the errors of a damaged model into one error. They have no common class. `place` is the operator that is
    read, by which a user finds the damage."""
    try:
        yield
    except (Refused, OSError):
        raise
    except DecodeError as error:
        raise Refused("this is not an ONNX file.") from error
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise Refused(f"{place} is damaged." if place else f"the model is damaged: {reason}.") from error


def check_texts(message, place=""):
    """Refuses a text of a model that is not UTF-8. Protobuf returns such a text as bytes."""
    for field, value in message.ListFields():
        if field.type not in (field.TYPE_STRING, field.TYPE_MESSAGE):
            continue
        repeated = not isinstance(value, (str, bytes, Message))  # new versions of protobuf have no `label`
        for index, each in enumerate(value if repeated else [value]):
            inner = f"{place}{field.name}[{index}]" if repeated else f"{place}{field.name}"
            if field.type == field.TYPE_MESSAGE:
                check_texts(each, inner + ".")
            elif isinstance(each, bytes):
                raise Refused(f"the model is damaged: the text {inner} is not UTF-8.")


def load(path):
    """Returns the model of a file. Raises an exception for bytes that are no field of a model."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = onnx.load(str(path), load_external_data=False)
    except SystemError as error:  # protobuf in C has decoded only the first bytes, and warned
        raise DecodeError from error
    check_texts(model)
    return model


def convert(path, dimensions, shapes):
    model = load(path)
    if not model.HasField("graph"):
        raise Refused("the file contains no graph.")
    return Converter(model, dimensions, shapes).network(name_of(path))


def dimension(text):
    name, equals, value = text.rpartition("=")
    if not (name and value.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE with an integer")
    return name, int(value)


def shape(text):
    name, equals, value = text.rpartition("=")
    if not (name and re.fullmatch(r"[0-9]+(x[0-9]+)*|scalar", value)):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=SHAPE with a shape such as 1x3x224x224")
    return name, [int(extent) for extent in value.split("x")] if value != "scalar" else []


def parse(arguments):
    parser = argparse.ArgumentParser(description="Convert ONNX graphs to allot's network files.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="an ONNX file")
    parser.add_argument("--output", type=Path, metavar="DIR",
                        help="write DIR/NAME.network for each file (default for a single file: standard output)")
    parser.add_argument("--dim", action="append", default=[], type=dimension, metavar="NAME=VALUE",
                        help="set the value of a symbolic dimension; may be repeated")
    parser.add_argument("--shape", action="append", default=[], type=shape, metavar="NAME=SHAPE",
                        help="set the shape of a tensor, such as 1x3x224x224; may be repeated")
    parser.add_argument("--note", action="append", default=[], metavar="TEXT",
                        help="a comment at the start of each result, such as the model's license; may be repeated")
    parser.add_argument("--summary", action="store_true", help="print each network's sizes on standard error")
    options = parser.parse_args(arguments)
    if len(options.files) > 1 and not options.output:
        parser.error("several files need --output DIR")
    if len({name_of(path) for path in options.files}) < len(options.files):
        parser.error("two of the files have the same network name")
    return options


def write(network, source, options):
    head = f"allot network, version 1: written by onnx_to_network.py from {source.name}"
    text = text_of(network, [head, *options.note])
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / f"{network.name}.network").write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


def main(arguments=None):
    options = parse(arguments)
    for path in options.files:
        try:
            with damage_is_refused():
                network = convert(path, dict(options.dim), dict(options.shape))
                write(network, path, options)
        except (Refused, OSError) as error:
            print(f"onnx_to_network.py: {path}: {error}", file=sys.stderr)
            return 1
        if options.summary:
            print(summary_of(network), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
