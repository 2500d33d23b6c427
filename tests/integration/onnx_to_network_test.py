#!/usr/bin/python3
"""Tests of examples/apps/network_demo/onnx_to_network.py on tiny graphs. Exits with 77 (skipped) where Python has no onnx."""

import contextlib
import importlib.util
import io
import math
import random
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy
    import onnx
    import onnx.numpy_helper
    from onnx import TensorProto, helper
except ImportError:
    print("skipped: Python's onnx module is missing (Debian: python3-onnx)")
    sys.exit(77)

SCRIPT = Path(__file__).resolve().parent.parent.parent / "examples" / "apps" / "network_demo" / "onnx_to_network.py"
FLOAT = TensorProto.FLOAT


def load_script():
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("onnx_to_network", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


onnx_to_network = load_script()
node = helper.make_node


def value(name, *shape, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def weight(name, *values):
    return helper.make_tensor(name, FLOAT, [len(values)], values)


def constant(name, *values):
    return node("Constant", [], [name], value=weight(name, *values))


def model(nodes, inputs, outputs, weights=(), infos=(), opset=13):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights, value_info=infos)
    domains = [helper.make_opsetid("", opset), helper.make_opsetid("com.example", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)


class OnnxToNetwork(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def save(self, model, name="tiny"):
        path = self.directory / f"{name}.onnx"
        onnx.save(model, str(path))
        return str(path)

    def run_main(self, *arguments):
        """Returns the exit status, standard output and standard error of the script."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = onnx_to_network.main(list(arguments))
            except SystemExit as exit:
                status = exit.code
        return status, out.getvalue(), err.getvalue()

    def check(self, model, expected, *arguments):
        """Checks that the model is converted to these lines, apart from comments."""
        status, text, errors = self.run_main(self.save(model), *arguments)
        self.assertEqual((status, errors), (0, ""))
        self.assertTrue(text.endswith("\n"))
        self.assertEqual([line for line in text.splitlines() if not line.startswith("#")], expected)

    def lines_of(self, model):
        """Returns the lines of the network, with comments."""
        status, text, errors = self.run_main(self.save(model))
        self.assertEqual((status, errors), (0, ""))
        return text.splitlines()

    def check_refused(self, model, *words):
        """Checks that the model is rejected with one line that contains these words."""
        status, text, errors = self.run_main(self.save(model))
        self.assertEqual((status, text), (1, ""))
        self.assertEqual(errors.count("\n"), 1)
        for word in words:
            self.assertIn(word, errors)

    def test_weights_are_dropped_even_if_they_are_inputs(self):
        nodes = [node("Add", ["x", "w"], ["a"]), node("Mul", ["a", "v"], ["y"])]
        self.check(
            model(nodes, [value("x", 2, 3), value("w", 3)], [value("y", 2, 3)], [weight("w", 1, 2, 3), weight("v", 1)]),
            ["network tiny", "tensor 0 24 float32 2x3 x", "tensor 1 24 float32 2x3 a", "tensor 2 24 float32 2x3 y",
             "input 0", "output 2", "step 0 Add 0 -> 1", "step 1 Mul 1 -> 2"])

    def test_results_of_constants_are_weights(self):
        nodes = [constant("c", 1, 2), node("Neg", ["c"], ["d"]), node("Add", ["d", "w"], ["e"]),
                 node("Add", ["x", "e"], ["y"])]
        self.check(
            model(nodes, [value("x", 2)], [value("y", 2), value("e", 2)], [weight("w", 3)]),
            ["network tiny", "tensor 0 8 float32 2 x", "tensor 1 8 float32 2 y", "input 0", "output 1",
             "step 0 Add 0 -> 1"])

    def test_results_of_random_operators_are_not_weights(self):
        nodes = [node("RandomNormal", [], ["r"], shape=[2]), node("Add", ["x", "r"], ["y"])]
        self.check(
            model(nodes, [value("x", 2)], [value("y", 2)]),
            ["network tiny", "tensor 0 8 float32 2 x", "tensor 1 8 float32 2 r", "tensor 2 8 float32 2 y",
             "input 0", "output 2", "step 0 RandomNormal -> 1", "step 1 Add 0 1 -> 2"])

    def test_an_unread_output_is_kept_only_if_its_shape_is_known(self):
        def dropout(opset):
            nodes = [node("Dropout", ["x"], ["a", "mask"]), node("Relu", ["a"], ["y"])]
            return model(nodes, [value("x", 4)], [value("y", 4)], opset=opset)

        self.check(
            dropout(9),
            ["network tiny", "tensor 0 16 float32 4 x", "tensor 1 16 float32 4 a", "tensor 2 16 float32 4 y",
             "input 0", "output 2", "step 0 Dropout 0 -> 1", "step 1 Relu 1 -> 2"])
        self.check(
            dropout(13),
            ["network tiny", "tensor 0 16 float32 4 x", "tensor 1 16 float32 4 a", "tensor 2 4 bool 4 mask",
             "tensor 3 16 float32 4 y", "input 0", "output 3", "step 0 Dropout 0 -> 1 2", "step 1 Relu 1 -> 3"])

    def test_a_symbolic_dimension_needs_a_value(self):
        symbolic = model([node("Relu", ["x"], ["y"])], [value("x", "batch", 4)], [value("y", "batch", 4)])
        self.check_refused(symbolic, "'x'", "--dim batch=VALUE")
        self.check(
            symbolic,
            ["network tiny", "tensor 0 48 float32 3x4 x", "tensor 1 48 float32 3x4 y", "input 0", "output 1",
             "step 0 Relu 0 -> 1"],
            "--dim", "batch=3")

    def test_all_dimensions_of_a_tensor_are_reported_at_once(self):
        symbolic = model([node("Relu", ["x"], ["y"])], [value("x", "n", 4, "m", "n")], [value("y", "n", 4, "m", "n")])
        self.check_refused(symbolic, "'x' has the shape nx4xmxn; set its dimensions with --dim n=VALUE --dim m=VALUE or with "
                           "--shape x=VALUEx4xVALUExVALUE.")

    def test_a_shape_replaces_dimensions_without_names(self):
        # Exporters write -1, or the same name for different dimensions.
        unnamed = model([node("Relu", ["x"], ["y"])], [value("x", -1, "?", "?")], [value("y", -1, "?", "?")])
        self.check_refused(unnamed, "'x' has the shape ?x?x?", "--shape x=VALUExVALUExVALUE")
        self.check(
            unnamed,
            ["network tiny", "tensor 0 24 float32 1x2x3 x", "tensor 1 24 float32 1x2x3 y", "input 0", "output 1",
             "step 0 Relu 0 -> 1"],
            "--shape", "x=1x2x3")
        anything = [helper.make_tensor_value_info(name, FLOAT, None) for name in "xy"]
        scalar = model([node("Relu", ["x"], ["y"])], anything[:1], anything[1:])
        self.check_refused(scalar, "'x' is unknown", "set it with --shape x=VALUExVALUE")
        self.check(
            scalar,
            ["network tiny", "tensor 0 4 float32 scalar x", "tensor 1 4 float32 scalar y", "input 0", "output 1",
             "step 0 Relu 0 -> 1"],
            "--shape=x=scalar")

    def test_damaged_models(self):
        good = Path(self.save(model([node("Abs", ["x"], ["yy"])], [value("x", 2)], [value("yy", 2)]))).read_bytes()
        # Cut off, the end of a group, zeros in front, no UTF-8.
        for data in (good[:-1], good + b"\x0c", bytes(4) + good, good.replace(b"yy", b"\xff\xff")):
            path = self.directory / "damaged.onnx"
            path.write_bytes(data)
            status, text, errors = self.run_main(str(path))
            self.assertEqual((status, text, errors.count("\n")), (1, "", 1), errors)
            self.assertRegex(errors, "damaged.onnx: (this is not an ONNX file|the model is damaged: .+)")
            self.assertNotIn("built-in", errors)  # the name of a function of Python or protobuf

    def test_a_text_that_is_not_utf8_is_refused_with_its_place(self):
        good = model([node("Abs", ["xx"], ["yy"], name="nn")], [value("xx", 2)], [value("yy", 2)])
        for name, place in ((b"nn", "graph.node[0].name"), (b"xx", "graph.node[0].input[0]"), (b"yy", "graph.node[0].output[0]")):
            path = self.directory / "text.onnx"
            path.write_bytes(good.SerializeToString().replace(name, b"\xff\xff"))
            status, text, errors = self.run_main(str(path))
            self.assertEqual((status, text), (1, ""))
            self.assertEqual(errors, f"onnx_to_network.py: {path}: the model is damaged: the text {place} is not UTF-8.\n")

    def test_a_shape_that_onnx_cannot_infer(self):
        nodes = [node("Reshape", ["x", "s"], ["a"]), node("Relu", ["a"], ["y"])]
        inputs = [value("x", 6), value("s", 2, dtype=onnx.TensorProto.INT64)]
        unknown = model(nodes, inputs, [helper.make_tensor_value_info("y", FLOAT, None)])
        self.check_refused(unknown, "'a' is unknown", "--shape a=VALUExVALUE")
        status, text, errors = self.run_main(self.save(unknown), "--shape", "a=2x3")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("tensor 2 24 float32 2x3 a", text)
        self.assertIn("tensor 3 24 float32 2x3 y", text)

    def test_wrong_shapes(self):
        path = self.save(model([node("Relu", ["x"], ["y"])], [value("x", 4)], [value("y", 4)]))
        self.assertIn("--shape names 'q', which is no tensor", self.run_main(path, "--shape", "q=4")[2])
        self.assertIn("onnx cannot infer the shapes", self.run_main(path, "--shape", "x=5")[2])
        for wrong in ("x", "=3", "x=", "x=-1", "x=3x", "x=AxB"):
            self.assertEqual(self.run_main(path, "--shape", wrong)[0], 2)

    def test_an_invalid_dim_argument_is_a_usage_error(self):
        path = self.save(model([node("Relu", ["x"], ["y"])], [value("x", 4)], [value("y", 4)]))
        for wrong in ("batch", "=3", "batch=", "batch=-1"):
            self.assertEqual(self.run_main(path, "--dim", wrong)[0], 2)

    def test_an_unknown_size_is_rejected(self):
        nodes = [node("Mystery", ["x"], ["a"], domain="com.example"), node("Relu", ["a"], ["y"])]
        self.check_refused(model(nodes, [value("x", 4)], [value("y", None)]), "'a'", "unknown")

    def test_contradictory_shapes_are_rejected(self):
        self.check_refused(model([node("Relu", ["x"], ["y"])], [value("x", 4)], [value("y", 5)]), "infer")

    def test_shape_preserving_operators_unknown_to_onnx(self):
        nodes = [node("FastGelu", ["x"], ["a"], domain="com.example"), node("Relu", ["a"], ["b"]),
                 node("QuickGelu", ["b"], ["y"], domain="com.example")]
        self.check(
            model(nodes, [value("x", 4)], [value("y", None)]),
            ["network tiny", "tensor 0 16 float32 4 x", "tensor 1 16 float32 4 a", "tensor 2 16 float32 4 b",
             "tensor 3 16 float32 4 y", "input 0", "output 3", "step 0 FastGelu 0 -> 1", "step 1 Relu 1 -> 2",
             "step 2 QuickGelu 2 -> 3"])

    def test_a_shape_that_the_graph_computes(self):
        nodes = [node("Shape", ["x"], ["s"]), node("Reshape", ["a", "s"], ["y"])]
        self.check(
            model(nodes, [value("x", 2, 3), value("a", 6)], [value("y", None, None)], opset=14),
            ["network tiny", "tensor 0 24 float32 2x3 x", "tensor 1 24 float32 6 a", "tensor 2 16 int64 2 s",
             "tensor 3 24 float32 2x3 y", "input 0", "input 1", "output 3", "step 0 Shape 0 -> 2",
             "step 1 Reshape 1 2 -> 3"])

    def test_repeated_and_omitted_inputs(self):
        nodes = [node("Add", ["x", "x"], ["a"]), node("Clip", ["a", "", "m"], ["y"])]
        self.check(
            model(nodes, [value("x", 2), value("m")], [value("y", 2)]),
            ["network tiny", "tensor 0 8 float32 2 x", "tensor 1 4 float32 scalar m", "tensor 2 8 float32 2 a",
             "tensor 3 8 float32 2 y", "input 0", "input 1", "output 3", "step 0 Add 0 0 -> 2",
             "step 1 Clip 2 1 -> 3"])

    def test_white_space_and_small_types(self):
        int4 = 22  # the code of INT4, for which an older onnx has no name
        nodes = [node("Mystery", ["my\0 input"], ["y"], domain="com.example")]
        self.check(
            model(nodes, [value("my\0 input", 3, dtype=TensorProto.BOOL)], [value("y", 3, dtype=int4)]),
            ["network tiny", "tensor 0 3 bool 3 my_input", "tensor 1 2 int4 3 y", "input 0", "output 1",
             "step 0 Mystery 0 -> 1"])

    def test_the_branches_of_if(self):
        then = helper.make_graph([node("Relu", ["x"], ["t"]), node("Neg", ["t"], ["r"])], "then", [], [value("r", 4)])
        other = helper.make_graph([node("Add", ["x", "w"], ["r"])], "else", [], [value("r", 4)])
        nodes = [node("Abs", ["x"], ["w"]), node("If", ["c"], ["y"], then_branch=then, else_branch=other),
                 node("Exp", ["y"], ["z"])]
        self.check(
            model(nodes, [value("x", 4), value("c", dtype=TensorProto.BOOL)], [value("z", 4)]),
            ["network tiny", "tensor 0 16 float32 4 x", "tensor 1 1 bool scalar c", "tensor 2 16 float32 4 w",
             "tensor 3 16 float32 4 y", "tensor 4 16 float32 4 t", "tensor 5 16 float32 4 z", "input 0", "input 1", "output 5",
             "step 0 Abs 0 -> 2", "step 1 If 1 -> next 2 4", "step 2 Relu 0 -> 4", "step 3 Neg 4 -> 3 next 5",
             "step 4 Add 0 2 -> 3", "step 5 Exp 3 -> 5"])

    def test_a_branch_that_returns_a_tensor_from_outside_or_a_weight(self):
        then = helper.make_graph([], "then", [], [value("x", 2)])
        other = helper.make_graph([constant("k", 1, 2)], "else", [], [value("k", 2)])
        self.check(
            model([node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                  [value("x", 2), value("c", dtype=TensorProto.BOOL)], [value("y", 2)]),
            ["network tiny", "tensor 0 8 float32 2 x", "tensor 1 1 bool scalar c", "tensor 2 8 float32 2 y", "input 0",
             "input 1", "output 2", "step 0 If 1 -> next 1 2", "step 1 Identity 0 -> 2 next 3", "step 2 Identity -> 2"])

    def begin_of(self, made):
        """Returns the index after "from" of the step of a slice; None if there is none."""
        steps = [line for line in self.lines_of(made) if line.startswith("step")]
        words = next(line for line in steps if " Slice " in line).split(" from ")
        return tuple(map(int, words[1].split("x"))) if words[1:] else None

    def sliced(self, shape, starts, ends, axes=None, steps=None, opset=13, dtype="int64", style="initializer"):
        """Returns a model with a slice of x, whose indexes are given in a style, and a step that reads the slice."""
        given = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
        weights, before, attributes, names = [], [], {}, ["x"]
        for name, values in given.items():
            if opset < 10 and values is not None:
                attributes[name] = values
            elif opset >= 10:
                names.append(name if values is not None else "")
                if values is not None and style == "constant":
                    before.append(node("Constant", [], [name], value_ints=values))
                elif values is not None:
                    weights.append(onnx.numpy_helper.from_array(numpy.array(values, dtype), name))
        while names[-1] == "":
            names.pop()
        nodes = [*before, node("Slice", names, ["y"], **attributes), node("Relu", ["y"], ["z"])]
        return model(nodes, [value("x", *shape)], [helper.make_tensor_value_info("z", FLOAT, None)], weights, opset=opset)

    def test_the_begin_of_a_slice(self):
        chance = random.Random(2)
        far = [-2**63, 2**63 - 1, -2**31, 2**31 - 1]
        with_begin = 0
        for _ in range(200):
            shape = [chance.randrange(1, 6) for _ in range(chance.randrange(1, 5))]
            axes = chance.sample(range(len(shape)), chance.randrange(1, len(shape) + 1))
            starts, ends = ([chance.choice([*range(-7, 8), *far]) for _ in axes] for _ in range(2))
            opset, dtype, style = chance.choice([9, 11, 13]), "int64", chance.choice(["initializer", "constant"])
            if style == "initializer" and all(abs(each) < 2**31 for each in [*starts, *ends]):
                dtype = "int32"
            if opset == 11:
                style = "initializer"  # Constant has no value_ints before opset 12
            steps = [chance.choice([1, 1, 1, 2, 3]) for _ in axes] if opset > 9 and chance.random() < 0.5 else None
            named = [axis - len(shape) * (opset > 10 and chance.random() < 0.5) for axis in axes]
            index = [slice(None)] * len(shape)
            for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(axes)):
                index[axis] = slice(start, end, step)
            whole = numpy.arange(math.prod(shape)).reshape(shape)
            expected = whole[tuple(index)]
            if axes == list(range(len(axes))) and chance.random() < 0.5 and steps is None:
                named = None
            made = self.sliced(shape, starts, ends, named, steps, opset, dtype, style)
            made.graph.value_info.append(value("y", *expected.shape))  # onnx does not always infer it
            begin = self.begin_of(made)
            if steps and set(steps) != {1}:
                self.assertIsNone(begin)
                continue
            with_begin += expected.size != 0
            inside = tuple(slice(first, first + extent) for first, extent in zip(begin, expected.shape))
            self.assertEqual(whole[inside].tolist(), expected.tolist(), (shape, starts, ends, named))
        self.assertGreater(with_begin, 30)

    def test_slices_without_a_begin(self):
        made = self.sliced([4, 5], [1], [3], [0])
        self.assertEqual(self.begin_of(made), (1, 0))
        made.graph.input.append(value("starts", 1, dtype=TensorProto.INT64))  # a default, which the caller may replace
        made.graph.value_info.append(value("y", 2, 5))
        self.assertIsNone(self.begin_of(made))
        self.assertIsNone(self.begin_of(self.sliced([4, 5], [3], [0], [0], [-1])))
        made.ir_version = 3  # each initializer is an input
        self.assertEqual(self.begin_of(made), (1, 0))
        computed = self.sliced([4, 5], [1], [3], [0])
        del computed.graph.initializer[0]
        computed.graph.input.append(value("starts", 1, dtype=TensorProto.INT64))
        computed.graph.value_info.append(value("y", 2, 5))
        self.assertIsNone(self.begin_of(computed))
        weights = self.sliced([4, 5], [1], [3], [0])  # x is a weight
        del weights.graph.input[:]
        weights.graph.initializer.append(onnx.numpy_helper.from_array(numpy.zeros((4, 5), "float32"), "x"))
        weights.graph.node.append(node("Add", ["z", "in"], ["out"]))
        weights.graph.input.append(value("in", 2, 5))
        weights.graph.output.append(value("out", 2, 5))
        self.assertEqual([line for line in self.lines_of(weights) if line.startswith("step")], ["step 0 Add 0 -> 1"])

    def test_a_slice_in_a_branch(self):
        bounds = [helper.make_tensor(name, TensorProto.INT64, [1], [number]) for name, number in [("b", 1), ("e", 3)]]
        then = helper.make_graph([node("Slice", ["x", "b", "e"], ["r"])], "then", [], [value("r", 2)])
        other = helper.make_graph([node("Slice", ["x", "b", "f"], ["r"])], "else", [], [value("r", 2)],
                                  [helper.make_tensor("f", TensorProto.INT64, [1], [-1])])
        made = model([node("If", ["c"], ["y"], then_branch=then, else_branch=other), node("Abs", ["y"], ["z"])],
                     [value("x", 4), value("c", dtype=TensorProto.BOOL)], [value("z", 2)], bounds)
        steps = [line for line in self.lines_of(made) if line.startswith("step")]
        self.assertEqual(steps, ["step 0 If 1 -> next 1 2", "step 1 Slice 0 -> 2 from 1 next 3", "step 2 Slice 0 -> 2 from 1",
                                 "step 3 Abs 2 -> 3"])

    def loop_body(self, nodes, results, shape=(4,)):
        controls = [value("i", dtype=TensorProto.INT64), value("go", dtype=TensorProto.BOOL)]
        return helper.make_graph(nodes, "body", [*controls, value("v", *shape)], results)

    def loop(self, body, outputs, count=5):
        trips = helper.make_tensor("trips", TensorProto.INT64, [], [count])
        made = model([node("Loop", ["trips", "", "x"], outputs, body=body), node("Neg", [outputs[0]], ["z"])],
                     [value("x", 4), value("w", 4)], [value("z", 4), *([value("rows", 5, 4)] if outputs[1:] else [])])
        made.graph.initializer.append(trips)
        return made

    def test_a_loop(self):
        body = self.loop_body([node("Add", ["v", "w"], ["t"]), node("Relu", ["t"], ["u"])],
                              [value("go", dtype=TensorProto.BOOL), value("u", 4)])
        # The body's last node writes the variable: nothing reads the old one after it.
        self.check(
            self.loop(body, ["y"]),
            ["network tiny", "tensor 0 16 float32 4 x", "tensor 1 16 float32 4 w", "tensor 2 1 bool scalar go",
             "tensor 3 16 float32 4 v", "tensor 4 16 float32 4 t", "tensor 5 16 float32 4 z", "input 0", "input 1", "output 5",
             "step 0 Identity 0 -> 3", "step 1 Loop -> 2 next 2 5", "step 2 Add 3 1 -> 4", "step 3 Relu 4 -> 3",
             "step 4 Loop 2 -> 2 next 2 5", "step 5 Neg 3 -> 5"])

    def test_a_loop_that_reads_the_variable_with_its_result(self):
        body = self.loop_body([node("Add", ["v", "w"], ["u"]), node("Mul", ["u", "v"], ["row"])],
                              [value("go", dtype=TensorProto.BOOL), value("u", 4), value("row", 4)])
        self.check(
            self.loop(body, ["y", "rows"]),
            ["network tiny", "tensor 0 16 float32 4 x", "tensor 1 16 float32 4 w", "tensor 2 1 bool scalar go",
             "tensor 3 16 float32 4 v", "tensor 4 80 float32 5x4 rows", "tensor 5 16 float32 4 u", "tensor 6 16 float32 4 row",
             "tensor 7 16 float32 4 z", "input 0", "input 1", "output 7", "output 4", "step 0 Identity 0 -> 3",
             "step 1 Loop -> 2 4 next 2 6", "step 2 Add 3 1 -> 5", "step 3 Mul 5 3 -> 6", "step 4 Loop 2 6 4 -> 2 4",
             "step 5 Identity 5 -> 3 next 2 6", "step 6 Neg 3 -> 7"])

    def test_a_loop_that_exchanges_variables(self):
        go = value("go", dtype=TensorProto.BOOL)
        body = helper.make_graph(
            [node("Add", ["a", "b"], ["s"])], "body",
            [value("i", dtype=TensorProto.INT64), go, *(value(name, 4) for name in "abcde")],
            [go, value("b", 4), value("a", 4), value("s", 4), value("zero", 4), value("e", 4)])
        body.initializer.append(helper.make_tensor("zero", FLOAT, [4], [0.0] * 4))
        made = model([node("Loop", ["trips", "", "x", "y", "x", "y", "one"], list("ABCDE"), body=body),
                      node("Sum", list("ABCDE"), ["z"])], [value("x", 4), value("y", 4)], [value("z", 4)])
        made.graph.initializer.append(helper.make_tensor("trips", TensorProto.INT64, [], [3]))
        made.graph.initializer.append(helper.make_tensor("one", FLOAT, [4], [1.0] * 4))
        # 3 … 7 are a … e. The operator writes e, whose initial value is a constant; then a, b and d at the same time.
        steps = [line for line in self.lines_of(made) if line.startswith("step")]
        self.assertEqual(steps, ["step 0 Identity 0 -> 3", "step 1 Identity 1 -> 4", "step 2 Identity 0 -> 5",
                                 "step 3 Identity 1 -> 6", "step 4 Loop -> 2 7 next 5 7", "step 5 Add 3 4 -> 5",
                                 "step 6 Loop 2 4 3 -> 2 3 4 6 next 5 7", "step 7 Sum 3 4 5 6 7 -> 8"])

    def test_branches_at_the_end_of_a_loop(self):
        then = helper.make_graph([node("Relu", ["v"], ["r"])], "then", [], [value("r", 4)])
        other = helper.make_graph([node("Neg", ["v"], ["r"])], "else", [], [value("r", 4)])
        body = self.loop_body([node("If", ["go"], ["u"], then_branch=then, else_branch=other)],
                              [value("go", dtype=TensorProto.BOOL), value("u", 4)])
        steps = [line for line in self.lines_of(self.loop(body, ["y"])) if line.startswith("step")]
        self.assertEqual(steps, ["step 0 Identity 0 -> 3", "step 1 Loop -> 2 next 2 7", "step 2 If 2 -> next 3 4",
                                 "step 3 Relu 3 -> 4 next 5", "step 4 Neg 3 -> 4", "step 5 Loop 2 -> 2",
                                 "step 6 Identity 4 -> 3 next 2 7", "step 7 Neg 3 -> 5"])

    def test_a_loop_at_the_end_of_a_branch(self):
        body = self.loop_body([node("Relu", ["v"], ["u"])], [value("go", dtype=TensorProto.BOOL), value("u", 4)])
        inside = node("Loop", ["trips", "", "x"], ["r"], body=body)
        then = helper.make_graph([inside], "then", [], [value("r", 4)])
        other = helper.make_graph([node("Neg", ["x"], ["s"])], "else", [], [value("s", 4)])
        made = model([node("If", ["c"], ["y"], then_branch=then, else_branch=other), node("Abs", ["y"], ["z"])],
                     [value("x", 4), value("c", dtype=TensorProto.BOOL)], [value("z", 4)])
        made.graph.initializer.append(helper.make_tensor("trips", TensorProto.INT64, [], [3]))
        steps = [line for line in self.lines_of(made) if line.startswith("step")]
        self.assertEqual(steps, ["step 0 If 1 -> next 1 7", "step 1 Identity 0 -> 4", "step 2 Loop -> 3 next 3 6",
                                 "step 3 Relu 4 -> 5", "step 4 Loop 3 -> 3", "step 5 Identity 5 -> 4 next 3 6",
                                 "step 6 Identity 4 -> 2 next 8", "step 7 Neg 0 -> 2", "step 8 Abs 2 -> 6"])

    def test_a_scan(self):
        body = helper.make_graph([node("Add", ["v", "e"], ["u"]), node("Neg", ["u"], ["row"])], "body",
                                 [value("v", 4), value("e", 4)], [value("u", 4), value("row", 4)])
        self.check(
            model([node("Scan", ["x", "all"], ["y", "rows"], body=body, num_scan_inputs=1)],
                  [value("x", 4), value("all", 6, 4)], [value("y", 4), value("rows", 6, 4)]),
            ["network tiny", "tensor 0 16 float32 4 x", "tensor 1 96 float32 6x4 all", "tensor 2 16 float32 4 v",
             "tensor 3 96 float32 6x4 rows", "tensor 4 16 float32 4 e", "tensor 5 16 float32 4 u", "tensor 6 16 float32 4 row",
             "input 0", "input 1", "output 2", "output 3", "step 0 Identity 0 -> 2", "step 1 Scan 1 -> 3 next 2 7",
             "step 2 Scan 1 -> 4", "step 3 Add 2 4 -> 5", "step 4 Neg 5 -> 6", "step 5 Scan 1 6 3 -> 3",
             "step 6 Identity 5 -> 2 next 2 7"])

    def test_graphs_inside_operators_that_are_rejected(self):
        grown = self.loop_body([node("Concat", ["v", "w"], ["u"], axis=0)],
                               [value("go", dtype=TensorProto.BOOL), helper.make_tensor_value_info("u", FLOAT, None)])
        self.check_refused(self.loop(grown, ["y"]), "the size of 'v' changes in the loop")
        part = helper.make_graph([node("Neg", ["a"], ["b"])], "part", [value("a", 4)], [value("b", 4)])
        self.check_refused(model([node("Mystery", ["x"], ["y"], body=part, domain="com.example")], [value("x", 4)],
                                 [value("y", 4)]), "Mystery", "graph inside")
        rows = self.loop_body([node("Add", ["v", "w"], ["u"])], [value("go", dtype=TensorProto.BOOL), value("u", 4),
                                                                value("u", 4)])
        unknown = model([node("Loop", ["n", "", "x"], ["y", "rows"], body=rows)],
                        [value("x", 4), value("w", 4), value("n", dtype=TensorProto.INT64)], [value("y", 4),
                         helper.make_tensor_value_info("rows", FLOAT, None)])
        self.check_refused(unknown, "rows", "--shape rows=")

    def test_shape_of_a_tensor_inside_a_loop(self):
        body = self.loop_body([node("Mystery", ["v"], ["t"], domain="com.example"), node("Add", ["t", "w"], ["u"])],
                              [value("go", dtype=TensorProto.BOOL), value("u", 4)])
        body.value_info.add().CopyFrom(helper.make_tensor_value_info("t", FLOAT, None))
        made = self.loop(body, ["y"])
        self.check_refused(made, "'t'", "--shape t=")
        status, text, errors = self.run_main("--shape", "t=4", self.save(made))
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("16 float32 4 t\n", text)
        status, _, errors = self.run_main("--shape", "q=3x4", self.save(made))
        self.assertEqual(status, 1)
        self.assertIn("--shape names 'q', which is no tensor of the graph", errors)

    def test_the_summary_of_branches(self):
        then = helper.make_graph([node("Relu", ["x"], ["r"])], "then", [], [value("r", 4)])
        other = helper.make_graph([node("Neg", ["x"], ["r"])], "else", [], [value("r", 4)])
        made = model([node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                     [value("x", 4), value("c", dtype=TensorProto.BOOL)], [value("y", 4)])
        status, _, complaint = self.run_main("--summary", self.save(made))
        self.assertEqual((status, complaint),
                         (0, "tiny: 3 steps, 3 tensors, 33 bytes in total, at most 32 bytes live\n"))

    def with_functions(self, nodes, *functions):
        made = model(nodes, [value("x", 2, 3)], [value("y", 2, 3)])
        made.functions.extend(functions)
        return made

    def function(self, name, inputs, outputs, nodes, attributes=(), opset=13):
        domains = [helper.make_opsetid("", opset), helper.make_opsetid("com.example", 1)]
        return helper.make_function("com.example", name, inputs, outputs, nodes, domains, list(attributes))

    def test_functions_are_expanded(self):
        twice = self.function("Twice", ["x"], ["y"], [node("Relu", ["x"], ["t"]), node("Neg", ["t"], ["y"])])
        call = [node("Twice", ["x"], ["t"], domain="com.example"), node("Twice", ["t"], ["y"], domain="com.example")]
        self.check(
            self.with_functions(call, twice),
            ["network tiny", "tensor 0 24 float32 2x3 x", "tensor 1 24 float32 2x3 t_1", "tensor 2 24 float32 2x3 t",
             "tensor 3 24 float32 2x3 t_2", "tensor 4 24 float32 2x3 y", "input 0", "output 4", "step 0 Relu 0 -> 1",
             "step 1 Neg 1 -> 2", "step 2 Relu 2 -> 3", "step 3 Neg 3 -> 4"])

    def test_nested_functions_and_their_attributes(self):
        reference = onnx.AttributeProto(name="axis", ref_attr_name="along", type=onnx.AttributeProto.INT)
        joined = node("Concat", ["a", "b"], ["both"])
        joined.attribute.append(reference)
        outer_call = node("Join", ["p", "p"], ["q"], domain="com.example")
        outer_call.attribute.append(onnx.AttributeProto(name="along", ref_attr_name="outer", type=onnx.AttributeProto.INT))
        functions = [self.function("Join", ["a", "b"], ["both"], [joined], ["along"]),
                     self.function("Outer", ["p"], ["q"], [outer_call], ["outer"])]
        nodes = [node("Outer", ["x"], ["y"], domain="com.example", outer=1)]
        made = model(nodes, [value("x", 2, 3)], [value("y", 2, 6)])
        made.functions.extend(functions)
        self.check(made, ["network tiny", "tensor 0 24 float32 2x3 x", "tensor 1 48 float32 2x6 y", "input 0", "output 1",
                          "step 0 Concat 0 0 -> 1"])

    def test_a_function_with_omitted_inputs_and_outputs(self):
        clip = self.function("Bound", ["x", "low", "high"], ["y", "spare"],
                             [node("Clip", ["x", "low", "high"], ["y"]), node("Neg", ["x"], ["spare"])])
        self.check(
            self.with_functions([node("Bound", ["x"], ["y"], domain="com.example")], clip),
            ["network tiny", "tensor 0 24 float32 2x3 x", "tensor 1 24 float32 2x3 y", "tensor 2 24 float32 2x3 spare_1",
             "input 0", "output 1", "step 0 Clip 0 -> 1", "step 1 Neg 0 -> 2"])

    def test_a_function_that_returns_its_input(self):
        same = self.function("Same", ["x"], ["x"], [])
        self.check(
            self.with_functions([node("Same", ["x"], ["y"], domain="com.example")], same),
            ["network tiny", "tensor 0 24 float32 2x3 x", "tensor 1 24 float32 2x3 y", "input 0", "output 1",
             "step 0 Identity 0 -> 1"])

    def test_functions_that_cannot_be_expanded_are_rejected(self):
        call = [node("F", ["x"], ["y"], domain="com.example")]
        itself = self.function("F", ["x"], ["y"], [node("F", ["x"], ["y"], domain="com.example")])
        self.check_refused(self.with_functions(call, itself), "the function F calls itself")
        older = self.function("F", ["x"], ["y"], [node("Relu", ["x"], ["y"])], opset=9)
        self.check_refused(self.with_functions(call, older), "the function F uses version 9")
        branch = helper.make_graph([constant("b", 1)], "branch", [], [value("b", 1)])
        inside = self.function("F", ["x"], ["y"], [node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)])
        self.check_refused(self.with_functions(call, inside), "If", "graph inside")
        doubling = [self.function(f"F{i}", ["x"], ["y"], [node(f"F{i + 1}", ["x"], ["t"], domain="com.example"),
                                                          node(f"F{i + 1}", ["t"], ["y"], domain="com.example")])
                    for i in range(64)]
        first = [node("F0", ["x"], ["y"], domain="com.example")]
        onnx_to_network.Inliner.MOST_NODES, most = 100, onnx_to_network.Inliner.MOST_NODES
        self.check_refused(self.with_functions(first, *doubling), "more than 100 operators")
        onnx_to_network.Inliner.MOST_NODES = most

    def test_an_output_listed_twice(self):
        self.check(
            model([node("Relu", ["x"], ["y"])], [value("x", 2)], [value("y", 2), value("y", 2)]),
            ["network tiny", "tensor 0 8 float32 2 x", "tensor 1 8 float32 2 y", "input 0", "output 1", "step 0 Relu 0 -> 1"])

    def test_a_second_definition_of_a_name_is_rejected(self):
        body = self.loop_body([node("Add", ["v", "w"], ["u"])], [value("go", dtype=TensorProto.BOOL), value("u", 4)])
        for nodes in ([node("Relu", ["x"], ["a"]), constant("a", 1, 2, 3, 4), node("Neg", ["a"], ["y"])],
                      [constant("a", 1), constant("a", 1), node("Add", ["x", "a"], ["y"])],
                      [node("Relu", ["x"], ["a"]), node("Loop", ["n", "", "x"], ["a"], body=body), node("Neg", ["a"], ["y"])]):
            made = model(nodes, [value("x", 4), value("w", 4), value("n", dtype=TensorProto.INT64)], [value("y", 4)])
            self.check_refused(made, "'a' is written twice")

    def test_names_that_the_format_cannot_have_are_rejected(self):
        for operator in ("", "->"):
            nodes = [node(operator, ["x"], ["y"], name="nameless", domain="com.example")]
            self.check_refused(model(nodes, [value("x", 2)], [value("y", 2)]), "nameless", "name for a step")
        self.check_refused(model([node("Relu", ["x"], ["y"])], [value("x", 2), value("", 2)], [value("y", 2)]), "no name")
        relu = self.save(model([node("Relu", ["x"], ["y"])], [value("x", 2)], [value("y", 2)]), "light_")
        self.assertIn("\nnetwork light_\n", self.run_main(relu)[1])

    def test_an_operator_of_another_domain_is_not_that_of_onnx(self):
        nodes = [node("Relu", ["x"], ["a"], domain="com.example"),
                 node("Slice", ["a"], ["y"], starts=[0], ends=[1], domain="com.example")]
        self.check(model(nodes, [value("x", 2)], [value("y", 1)], infos=[value("a", 2)], opset=9),
                   ["network tiny", "tensor 0 8 float32 2 x", "tensor 1 8 float32 2 a", "tensor 2 4 float32 1 y", "input 0",
                    "output 2", "step 0 com.example.Relu 0 -> 1", "step 1 com.example.Slice 1 -> 2"])
        branch = helper.make_graph([node("Relu", ["x"], ["t"])], "branch", [], [value("t", 2)])
        own = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch, domain="com.example")
        inputs = [value("x", 2), value("c", dtype=TensorProto.BOOL)]
        self.check_refused(model([own], inputs, [value("y", 2)]), "If (y)", "graph inside")

    def test_control_flow_without_its_graphs_is_rejected(self):
        none, lost = helper.make_graph([], "none", [], []), helper.make_graph([], "lost", [], [value("lost", 2)])
        branch = helper.make_graph([node("Relu", ["x"], ["t"])], "branch", [], [value("t", 2)])
        for made, words in ((node("If", ["c"], ["y"], then_branch=branch), ("If (y)", "'else_branch'")),
                            (node("Loop", ["", "c", "x"], ["y"]), ("Loop (y)", "'body'")),
                            (node("Scan", ["x"], ["y"]), ("Scan (y)", "'body'")),
                            (node("Scan", ["x"], ["y"], body=branch, num_scan_inputs=1), ("Scan (y)", "1 inputs and 1")),
                            (node("Scan", [], ["y"], body=branch), ("Scan (y)", "0 are scanned")),
                            (node("If", ["c"], ["y"], then_branch=none, else_branch=branch), ("If (y)", "'then_branch'")),
                            (node("If", ["c"], ["y"], then_branch=branch, else_branch=lost), ("If (y) reads 'lost'",))):
            inputs = [value("x", 2), value("c", dtype=TensorProto.BOOL)]
            self.check_refused(model([made], inputs, [value("y", 2)]), *words)

    def test_a_refusal_has_the_place(self):
        inputs = [value("x", 2), value("c", dtype=TensorProto.BOOL)]
        branch = helper.make_graph([node("Relu", ["x"], ["t"])], "branch", [], [value("t", 2)])
        damaged = helper.make_tensor("first", TensorProto.INT64, [1], [0])
        damaged.int64_data.append(7)
        empty = onnx.TensorProto(name="first", data_type=TensorProto.INT32, dims=[1], int64_data=[0])
        last = helper.make_tensor("last", TensorProto.INT64, [1], [1])
        for nodes, weights, words in (
                ([node("Relu", ["x"], ["a"]), node("Relu", [], ["y"])], [], "the operator Relu (y): Input 0"),
                ([node("Neg", ["x"], ["a"]), node("Concat", ["a", "x"], ["y"])], [], "of the operator Concat (y): "),
                ([node("Abs", ["x"], ["y"], domain="other")], [], "of the operator Abs (y): "),
                ([node("If", [], ["y"], then_branch=branch, else_branch=branch)], [], "the operator If (y) is damaged."),
                ([node("Slice", ["x", "first", "last"], ["y"])], [damaged, last], "the constant 'first'"),
                ([node("Slice", ["x", "first", "last"], ["y"])], [empty, last], "the constant 'first'")):
            made = model(nodes, inputs, [helper.make_tensor_value_info("y", FLOAT, None)], weights)
            self.check_refused(made, words)
            errors = self.run_main(self.save(made))[2]
            self.assertRegex(errors, r"^onnx_to_network.py: \S*tiny.onnx: [^\n]*\.\n$")
            self.assertNotRegex(errors, r"Error|list index")

    def test_an_undefined_name_is_rejected_also_if_nothing_uses_it(self):
        same = self.function("First", ["a", "b"], ["y"], [node("Relu", ["a"], ["y"])])
        call = [node("First", ["x", "lost"], ["y"], domain="com.example")]
        self.check_refused(self.with_functions(call, same), "the operator First (y) reads 'lost' before")
        body = self.loop_body([node("Add", ["v", "w"], ["u"])],
                              [value("go", dtype=TensorProto.BOOL), value("u", 4), value("lost", 4)])
        self.check_refused(self.loop(body, ["y", ""]), "the operator Loop (y) reads 'lost' before")

    def test_the_rows_of_a_loop_give_later_tensors_their_size(self):
        body = self.loop_body([node("Add", ["v", "w"], ["u"]), node("Mul", ["u", "v"], ["row"])],
                              [value("go", dtype=TensorProto.BOOL), value("u", 4), value("row", 4)])
        trips = helper.make_tensor("trips", TensorProto.INT64, [], [5])
        nodes = [node("Loop", ["trips", "", "x"], ["y", "rows"], body=body), node("Neg", ["rows"], ["n"]),
                 node("Transpose", ["n"], ["z"])]
        lines = self.lines_of(model(nodes, [value("x", 4), value("w", 4)], [helper.make_tensor_value_info("z", FLOAT, None)],
                                    [trips]))
        tensors = [line.split(" ", 2)[2] for line in lines if line.startswith("tensor")]
        for wanted in ("80 float32 5x4 rows", "80 float32 5x4 n", "80 float32 4x5 z"):
            self.assertIn(wanted, tensors)

    def test_a_weight_of_unknown_size_is_rejected_where_a_tensor_gets_it(self):
        mystery = node("Mystery", ["w"], ["k"], domain="com.example")
        unknown = helper.make_tensor_value_info("k", FLOAT, None)
        then = helper.make_graph([node("Relu", ["x"], ["t"])], "then", [], [value("t", 4)])
        other = helper.make_graph([mystery], "else", [], [unknown])
        inputs = [value("x", 4), value("c", dtype=TensorProto.BOOL)]
        chosen = [node("If", ["c"], ["a"], then_branch=then, else_branch=other), node("Relu", ["a"], ["y"])]
        self.check_refused(model(chosen, inputs, [value("y", 4)], [weight("w", 1)]), "'k' is unknown")
        body = helper.make_graph(
            [node("Not", ["go_on"], ["go"]), mystery], "body",
            [value("i", dtype=TensorProto.INT64), value("go_on", dtype=TensorProto.BOOL), value("v", 4)],
            [value("go", dtype=TensorProto.BOOL), unknown])
        repeated = [node("Loop", ["", "c", "x"], ["y"], body=body)]
        self.check_refused(model(repeated, inputs, [value("y", 4)], [weight("w", 1)]), "'k' is unknown")

    def test_the_names_of_inner_graphs_hide_those_around_them(self):
        then = helper.make_graph([], "then", [], [value("a", 4)])
        other = helper.make_graph([node("Neg", ["x"], ["e"])], "else", [], [value("e", 4)])
        go, count = value("go", dtype=TensorProto.BOOL), [value("i", dtype=TensorProto.INT64), value("g", dtype=TensorProto.BOOL)]
        body = helper.make_graph(  # inside, a is the result of If, which reads the a around the loop
            [node("Not", ["g"], ["go"]), node("If", ["g"], ["a"], then_branch=then, else_branch=other)], "body",
            [*count, value("v", 4)], [go, value("a", 4)])
        steps = [line for line in self.lines_of(model(
            [node("Relu", ["x"], ["a"]), node("Loop", ["", "c", "x"], ["y"], body=body)],
            [value("x", 4), value("c", dtype=TensorProto.BOOL)], [value("y", 4)])) if line.startswith("step")]
        self.assertIn("step 5 Identity 2 -> 4 next 7", steps)
        index = dict(dtype=TensorProto.INT64)
        body = helper.make_graph(  # the first index is a variable of the loop
            [node("Not", ["g"], ["go"]), node("Slice", ["x", "first", "last"], ["s"]), node("Neg", ["first"], ["f"])], "body",
            [*count, value("first", 1, **index)], [go, value("f", 1, **index), value("s", 2)])
        weights = [onnx.numpy_helper.from_array(numpy.array(at), name) for at, name in (([0], "first"), ([2], "last"))]
        self.assertIsNone(self.begin_of(model(
            [node("Loop", ["n", "", "z"], ["y", "rows"], body=body)],
            [value("x", 4), value("z", 1, **index), value("n", **index)], [value("y", 1, **index), value("rows", 3, 2)], weights)))

    def test_a_variable_gets_the_number_of_the_iteration_that_ends(self):
        number = dict(dtype=TensorProto.INT64)
        body = helper.make_graph(
            [node("Not", ["g"], ["go"])], "body",
            [value("i", **number), value("g", dtype=TensorProto.BOOL), value("v", **number)],
            [value("go", dtype=TensorProto.BOOL), value("i", **number)])
        steps = [line for line in self.lines_of(model(
            [node("Loop", ["", "c", "x"], ["y"], body=body)],
            [value("x", **number), value("c", dtype=TensorProto.BOOL)], [value("y", **number)])) if line.startswith("step")]
        # Tensors: x, c, the number of the iteration, the condition, v, go. The step that counts also writes v.
        self.assertEqual(steps[-1], "step 3 Loop 1 2 3 5 -> 2 3 4 next 2 4")

    def test_strings_and_sequences_are_rejected(self):
        nodes = [node("Identity", ["x"], ["y"])]
        string = {"dtype": TensorProto.STRING}
        self.check_refused(model(nodes, [value("x", 2, **string)], [value("y", 2, **string)]), "'x'", "strings")
        sequence = helper.make_tensor_sequence_value_info
        self.check_refused(model(nodes, [sequence("x", FLOAT, [2])], [sequence("y", FLOAT, [2])]), "'x'", "sequence")

    def test_the_order_is_checked(self):
        nodes = [node("Relu", ["a"], ["y"]), node("Relu", ["x"], ["a"])]
        self.check_refused(model(nodes, [value("x", 2)], [value("y", 2)], infos=[value("a", 2)]), "'a'", "before")
        self.check_refused(model([], [value("x", 2)], [value("y", 2)]), "'y'", "before")

    def test_invalid_and_missing_files(self):
        path = self.directory / "tiny.onnx"
        for content in (b"", b"this is no protobuf"):
            path.write_bytes(content)
            self.assertEqual(self.run_main(str(path))[0], 1)
        self.assertEqual(self.run_main(str(self.directory / "absent.onnx"))[0], 1)

    def test_several_files_and_the_summary(self):
        nodes = [node("Relu", ["x"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])]
        chain = model(nodes, [value("x", 25)], [value("y", 25)])
        files = [self.save(chain, "light_bvlc_first"), self.save(chain, "second")]
        self.assertEqual(self.run_main(*files)[0], 2)
        results = self.directory / "new" / "results"
        options = ["--output", str(results), "--note", "Made\nby a test.", "--summary"]
        status, text, errors = self.run_main(*files, *options)
        self.assertEqual((status, text), (0, ""))
        sizes = "3 steps, 4 tensors, 400 bytes in total, at most 200 bytes live"
        self.assertEqual(errors.splitlines(), [f"first: {sizes}", f"second: {sizes}"])
        self.assertEqual(sorted(path.name for path in results.iterdir()), ["first.network", "second.network"])
        self.assertEqual(
            (results / "first.network").read_text(encoding="utf-8").splitlines()[:3],
            ["# allot network, version 1: written by onnx_to_network.py from light_bvlc_first.onnx",
             "# Made by a test.", "network first"])


if __name__ == "__main__":
    unittest.main()
