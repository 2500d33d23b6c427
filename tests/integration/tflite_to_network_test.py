#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Tests of examples/apps/network_demo/tflite_to_network.py on tiny models. Exits with 77 (skipped) without its packages."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "tflite_micro"))
from models import Value, model, tflite  # noqa: E402

import tflite_to_network  # noqa: E402

ABS, ADD, CUSTOM = tflite.BuiltinOperator.ABS, tflite.BuiltinOperator.ADD, tflite.BuiltinOperator.CUSTOM
IF, WHILE, ONCE = tflite.BuiltinOperator.IF, tflite.BuiltinOperator.WHILE, tflite.BuiltinOperator.CALL_ONCE
SLICE, STRIDED = tflite.BuiltinOperator.SLICE, tflite.BuiltinOperator.STRIDED_SLICE
BOOL = tflite.TensorType.BOOL
INT32, INT64 = tflite.TensorType.INT32, tflite.TensorType.INT64
INT8, INT4, STRING = tflite.TensorType.INT8, tflite.TensorType.INT4, tflite.TensorType.STRING


class TfliteToNetwork(unittest.TestCase):
    def convert(self, data):
        """Returns the exit status, standard output and standard error of the script."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tiny.tflite"
            path.write_bytes(data)
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = tflite_to_network.main([str(path)])
        return status, out.getvalue(), err.getvalue()

    def check(self, data, expected):
        status, text, errors = self.convert(data)
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(text.splitlines()[1:], expected)

    def check_refused(self, data, reason):
        status, text, errors = self.convert(data)
        self.assertEqual((status, text, errors.count("\n")), (1, "", 1))
        self.assertIn(reason, errors)

    def test_constants_and_variables_are_dropped(self):
        values = [Value("w", [2], data=bytes(8)), Value("y", [2, 3]), Value("x", [2, 3]), Value("state", [9], variable=True),
                  Value("a \0b", [2, 3])]
        self.check(
            model(values, [(ADD, [2, 0], [4]), (ABS, [4], [3]), (ABS, [4, -1], [1])], [2], [1]),
            ["network tiny", "tensor 0 24 float32 2x3 y", "tensor 1 24 float32 2x3 x", "tensor 2 24 float32 2x3 a_b", "input 1",
             "output 0", "step 0 ADD 1 -> 2", "step 1 ABS 2 ->", "step 2 ABS 2 -> 0"])

    def test_types_and_scalars(self):
        values = [Value("x", [3], INT8), Value("y", [3], INT4), Value("z", []), Value("none", [0])]
        self.check(
            model(values, [(ABS, [0], [1]), (ABS, [1, 3], [2])], [0, 3], [2]),
            ["network tiny", "tensor 0 3 int8 3 x", "tensor 1 2 int4 3 y", "tensor 2 4 float32 scalar z", "input 0", "output 2",
             "step 0 ABS 0 -> 1", "step 1 ABS 1 -> 2"])

    def begins_of(self, code, given, shape, width=4, options=(), x=(4, 6)):
        """Returns the first index of a slice of a tensor x, or an empty string. `given` are the other inputs."""
        lists = [Value(f"list {i}", [len(each)], {4: INT32, 8: INT64}[width],
                       b"".join(number.to_bytes(width, "little", signed=True) for number in each))
                 for i, each in enumerate(given)]
        values = [Value("x", list(x)), Value("y", shape), *lists]
        reads = [0, *range(2, len(values))]
        status, text, errors = self.convert(model(values, [(code, reads, [1], *([options] if options else []))], [0], [1]))
        self.assertEqual((status, errors), (0, ""))
        return text.splitlines()[-1].partition(" from ")[2]

    def test_slices(self):
        self.assertEqual(self.begins_of(SLICE, [(1, 2), (2, -1)], [2, 4]), "1x2")
        self.assertEqual(self.begins_of(SLICE, [(1, 2), (2, 4)], [2, 4], 8), "1x2")
        self.assertEqual(self.begins_of(SLICE, [(3, 2), (2, 4)], [2, 4]), "")  # past the end of x
        self.assertEqual(self.begins_of(SLICE, [(-1, 2), (1, 4)], [1, 4]), "")
        self.assertEqual(self.begins_of(STRIDED, [(1, -2), (3, 6), (1, 1)], [2, 2], 4, [0, 0, 0, 0, 0]), "1x4")
        self.assertEqual(self.begins_of(STRIDED, [(1, 2), (3, 6), (1, 1)], [2, 4], 4, [0, 0, 0, 0, 0]), "1x2")
        self.assertEqual(self.begins_of(STRIDED, [(1, 2), (3, 6), (1, 1)], [2, 6], 4, [0b10, 0, 0, 0, 0]), "1x0")
        self.assertEqual(self.begins_of(STRIDED, [(1, 2), (3, 6), (1, 2)], [2, 2], 4, [0, 0, 0, 0, 0]), "")
        self.assertEqual(self.begins_of(STRIDED, [(1, 2), (3, 6), (1, 1)], [2, 4]), "")  # without options
        self.assertEqual(self.begins_of(STRIDED, [(1, 2), (2, 6), (1, 1)], [4], 4, [0, 0, 0, 0, 0b01]), "")
        self.assertEqual(self.begins_of(STRIDED, [(2,), (6,), (1,)], [4, 4], 4, [0, 0, 0b10, 0, 0]), "")

    def test_slices_at_indexes_that_are_computed(self):
        values = [Value("x", [4, 6]), Value("at", [2], INT32), Value("y", [2, 4]),
                  Value("sizes", [2], INT32, (2).to_bytes(4, "little") + (4).to_bytes(4, "little"))]
        _, text, _ = self.convert(model(values, [(SLICE, [0, 1, 3], [2])], [0, 1], [2]))
        self.assertEqual(text.splitlines()[-1], "step 0 SLICE 0 1 -> 2")
        # A slice of a constant has no tensor in the arena.
        constant = [Value("x", [2], data=bytes(8)), Value("y", [1]), *(Value(name, [1], INT32, bytes(4)) for name in "bs")]
        _, text, _ = self.convert(model(constant, [(SLICE, [0, 2, 3], [1])], [], [1]))
        self.assertEqual(text.splitlines()[-1], "step 0 SLICE -> 0")

    def test_a_loop(self):
        # The condition and the body have their own tensors, which live between the two steps of WHILE.
        values = [Value("x", [2]), Value("y", [2]), Value("z", [2])]
        condition = ([Value("a", [2]), Value("less", [], BOOL)], [(ABS, [0], [1])], [0], [1], "cond")
        body = ([Value("b", [2]), Value("c", [2])], [(ABS, [0], [1])], [0], [1], "body")
        self.check(
            model(values, [(ABS, [0], [1]), (WHILE, [1], [2], [1, 2])], [0], [2], others=[condition, body]),
            ["network tiny", "tensor 0 8 float32 2 x", "tensor 1 8 float32 2 y", "tensor 2 8 float32 2 z",
             "tensor 3 8 float32 2 a", "tensor 4 1 bool scalar less", "tensor 5 8 float32 2 b", "tensor 6 8 float32 2 c",
             "input 0", "output 2", "step 0 ABS 0 -> 1", "step 1 WHILE 1 -> 2", "step 2 WHILE.cond -> 3", "step 3 ABS 3 -> 4",
             "step 4 WHILE.cond 4 ->", "step 5 WHILE.body -> 5", "step 6 ABS 5 -> 6", "step 7 WHILE.body 6 ->",
             "step 8 WHILE 1 2 ->"])

    def test_branches_inside_of_a_branch(self):
        values = [Value("x", [2]), Value("y", [2])]
        same = ([Value("v", [2])], [], [0], [0])
        outer = ([Value("p", [2]), Value("q", [2])], [(IF, [0], [1], [2, 3])], [0], [1])
        status, text, errors = self.convert(model(values, [(IF, [0], [1], [1, 4])], [0], [1], others=[outer, same, same, same]))
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual([line for line in text.splitlines() if line.startswith("step")],
                         ["step 0 IF 0 -> 1", "step 1 IF.then -> 2", "step 2 IF 2 -> 3", "step 3 IF.then -> 4", "step 4 IF.then 4 ->",
                          "step 5 IF.else -> 5", "step 6 IF.else 5 ->", "step 7 IF 2 3 ->", "step 8 IF.then 3 ->",
                          "step 9 IF.else -> 6", "step 10 IF.else 6 ->", "step 11 IF 0 1 ->"])

    def test_other_entry_points_are_left_out(self):
        values, step = [Value("x", [2]), Value("y", [2])], [(ABS, [0], [1])]
        status, text, errors = self.convert(model(values, step, [0], [1], others=[(values, step, [0], [1], "decode"),
                                                                                   (values, step, [0], [1])]))
        self.assertEqual((status, len(text.splitlines()), errors.count("\n")), (0, 7, 1))
        self.assertIn("left out, because no operator calls it: decode, subgraph 2", errors)

    def test_wrong_calls(self):
        values = [Value("x", [2]), Value("y", [2])]
        same = ([Value("v", [2])], [], [0], [0])
        self.check_refused(model(values, [(IF, [0], [1], [1, 1])], [0], [1], others=[same]), "subgraph 1 is called more than once")
        self.check_refused(model(values, [(IF, [0], [1], [1, 2])], [0], [1], others=[same]), "IF.else calls subgraph 2, which does not")
        self.check_refused(model(values, [(ONCE, [0], [1], [0])], [0], [1]), "subgraph 0 is called more than once")

    def test_errors(self):
        good = [Value("x", [2]), Value("y", [2])]
        step = [(ABS, [0], [1])]
        self.check_refused(b"", "this is not a TensorFlow Lite file")
        self.check_refused(b"nonsense, and more of it", "this is not a TensorFlow Lite file")
        self.check_refused(model([Value("x", [2, -1]), good[1]], step, [0], [1]), "'x' has a dimension that the model does not state")
        self.check_refused(model([Value("x", [2], STRING), good[1]], step, [0], [1]), "'x' is of type string")
        self.check_refused(model(good, step, [], [1]), "ABS reads tensor 0 before any operator has written it")
        self.check_refused(model(good, [], [0], [1]), "the model returns tensor 1, which no operator writes")

    def test_damaged_files_have_an_answer(self):
        data = model([Value("x", [2]), Value("y", [2])], [(ABS, [0], [1])], [0], [1])
        for end in range(8, len(data), 7):
            status, _, errors = self.convert(data[:end])
            self.assertIn((status, errors.count("\n")), [(0, 0), (1, 1)])
        for at in range(8, len(data)):
            damaged = bytearray(data)
            damaged[at] ^= 0xFF
            status, _, errors = self.convert(bytes(damaged))
            self.assertIn((status, errors.count("\n")), [(0, 0), (1, 1)])


if __name__ == "__main__":
    unittest.main()
