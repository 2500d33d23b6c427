#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Tests of bindings/tflite_micro/offline_plan.py: models are written, and read again with the generated readers of their
schema. Exits with 77 (skipped) without the packages of the readers.

    offline_plan_test.py PLANNER          PLANNER: the program memory_planner
"""

import contextlib
import io
import struct
import sys
import tempfile
import unittest
from pathlib import Path

from models import Value, model, tflite

import offline_plan

PLANNER = ""
ABS, MAXIMUM = tflite.BuiltinOperator.ABS, tflite.BuiltinOperator.MAXIMUM
NAME = b"OfflineMemoryAllocation"

# The input x of 400 bytes feeds a (400) and b (100); c (300) reads b; y (100) reads a constant w, a and c.
#
#   operator   0   1   2   3        With sizes in multiples of 16: x and a 400, b 112, c 304, y 112.
#   x          ■   ■                Operator 1: x, a and b are live: 912 bytes. Operator 2: a, b and c: 816 bytes.
#   a          ■   ■   ■   ■        Operator 3: a, c and y: 816 bytes. The best plan has 912 bytes.
#   b              ■   ■
#   c                  ■   ■
#   y                      ■
VALUES = [Value("w", [25], data=bytes(range(100))), Value("c", [75]), Value("x", [100]), Value("state", [4], variable=True),
          Value("a", [100]), Value("y", [25]), Value("b", [25]), Value("unused", [50])]
STEPS = [(ABS, [2], [4]), (ABS, [2], [6]), (MAXIMUM, [6, 3], [1]), (MAXIMUM, [0, 4, 1], [5])]
LIVES = {1: (2, 3), 2: (0, 1), 4: (0, 3), 5: (3, 3), 6: (1, 2)}  # by tensor
SIZES = {1: 304, 2: 400, 4: 400, 5: 112, 6: 112}


def contents(data):
    """Returns all that a model has, apart from the plan, as Python's values."""
    read = tflite.Model.GetRootAs(data)
    graph = read.Subgraphs(0)
    each = lambda length, get: [get(i) for i in range(length)]  # noqa: E731
    return {
        "version": read.Version(), "description": read.Description(),
        "codes": [code.BuiltinCode() for code in each(read.OperatorCodesLength(), read.OperatorCodes)],
        "tensors": [(tensor.Name(), tensor.Type(), tensor.Buffer(), tensor.IsVariable(), each(tensor.ShapeLength(), tensor.Shape))
                    for tensor in each(graph.TensorsLength(), graph.Tensors)],
        "operators": [(step.OpcodeIndex(), each(step.InputsLength(), step.Inputs), each(step.OutputsLength(), step.Outputs))
                      for step in each(graph.OperatorsLength(), graph.Operators)],
        "ends": (each(graph.InputsLength(), graph.Inputs), each(graph.OutputsLength(), graph.Outputs)),
        "metadata": [(entry.Name(), data_of(read, entry.Buffer())) for entry in each(read.MetadataLength(), read.Metadata)
                     if entry.Name() != NAME],
        "constants": [data_of(read, tensor.Buffer()) for tensor in each(graph.TensorsLength(), graph.Tensors)],
    }


def data_of(read, number):
    buffer = read.Buffers(number)
    return bytes(buffer.Data(i) for i in range(buffer.DataLength()))


class OfflinePlan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_it(self, data, *options):
        """Returns the exit status, standard output, standard error, and the written model."""
        given, out = self.folder / "given.tflite", self.folder / "out.tflite"
        given.write_bytes(data)
        out.unlink(missing_ok=True)
        said, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
            try:
                status = offline_plan.main(["--planner", PLANNER, *options, str(given), str(out)])
            except SystemExit as exit:
                status = exit.code
        return status, said.getvalue(), errors.getvalue(), out.read_bytes() if out.exists() else None

    def planned(self, data, *options):
        status, said, errors, out = self.run_it(data, *options)
        self.assertEqual((status, errors), (0, ""))
        return said, out

    def plans_in(self, data):
        """Returns the plans of a model as lists of numbers."""
        read = tflite.Model.GetRootAs(data)
        entries = [read.Metadata(i) for i in range(read.MetadataLength())]
        found = [data_of(read, entry.Buffer()) for entry in entries if entry.Name() == NAME]
        return [list(struct.unpack(f"<{len(each) // 4}i", each)) for each in found]

    def test_a_plan_is_written_and_read_again(self):
        data = model(VALUES, STEPS, [2], [5])
        said, out = self.planned(data)
        self.assertIn("5 tensors in 912 bytes, lower bound 912; their sum is 1,328", said)
        self.assertEqual(contents(out), contents(data))
        self.assertEqual(len(self.plans_in(out)), 1)
        version, subgraphs, count, *offsets = self.plans_in(out)[0]
        self.assertEqual((version, subgraphs, count, len(offsets)), (1, 1, 8, 8))
        self.assertEqual([i for i, offset in enumerate(offsets) if offset == -1], [0, 3, 7])  # constant, variable, unused
        self.assertEqual(max(offsets[i] + SIZES[i] for i in SIZES), 912)
        for i, (begin, end) in LIVES.items():
            self.assertEqual(offsets[i] % 16, 0)
            self.assertGreaterEqual(offsets[i], 0)
            for j, (begin2, end2) in LIVES.items():
                if i < j and begin <= end2 and begin2 <= end:
                    self.assertTrue(offsets[i] + SIZES[i] <= offsets[j] or offsets[j] + SIZES[j] <= offsets[i], (i, j))

    def test_the_bytes_of_the_model_stay(self):
        data = model(VALUES, STEPS, [2], [5])
        out = self.planned(data)[1]
        self.assertTrue(out.endswith(data))
        self.assertEqual((len(out) - len(data)) % 64, 0)
        self.assertEqual(out[4:8], b"TFL3")
        read = tflite.Model.GetRootAs(out)
        plan = read.Buffers(read.BuffersLength() - 1)
        vector = plan._tab.Vector(plan._tab.Offset(4))
        self.assertEqual(vector % 16, 0)

    def test_an_older_plan_is_replaced_and_other_metadata_stay(self):
        metadata = [("min_runtime_version", b"1.5.0"), (NAME.decode(), struct.pack("<11i", 1, 1, 8, *[-1] * 8)),
                    ("OfflineMemoryAllocation2", b"other")]
        data = model(VALUES, STEPS, [2], [5], metadata)
        out = self.planned(data)[1]
        self.assertEqual(contents(out), contents(data))
        self.assertEqual(len(contents(out)["metadata"]), 2)
        self.assertEqual(len(self.plans_in(out)), 1)
        self.assertEqual(max(self.plans_in(out)[0][3:]) >= 0, True)
        again = self.planned(out)[1]
        self.assertEqual((contents(again), self.plans_in(again)), (contents(data), self.plans_in(out)))

    def test_room_for_scratch_buffers(self):
        data = model(VALUES, STEPS, [2], [5])
        # Operator 3 has 816 live bytes: 96 more fit into 912, and 97 (112) do not. 16 more in operator 1 do not, either.
        self.assertIn("in 912 bytes", self.planned(data, "--scratch", "3:96")[0])
        self.assertIn("in 928 bytes", self.planned(data, "--scratch", "3:97")[0])
        self.assertIn("in 928 bytes", self.planned(data, "--scratch", "1:5", "--scratch=3:96")[0])

    def test_errors(self):
        good = model(VALUES, STEPS, [2], [5])
        for data, options, status, reason in [
            (b"nonsense", [], 1, "this is not a TensorFlow Lite file"),
            (model(VALUES, STEPS, [2], [5], others=[([VALUES[2]], [], [0], [0])]), [], 1, "the model has 2 subgraphs"),
            (model([Value("w", [1], data=bytes(4))], [], [], []), [], 1, "the model has no tensors to plan"),
            (good, ["--scratch", "4:16"], 1, "the model has no operator 4; the last one is 3"),
            (good, ["--scratch", "16"], 2, "'16' is not STEP:BYTES"),
        ]:
            with self.subTest(reason=reason):
                found, said, errors, out = self.run_it(data, *options)
                self.assertEqual((found, said, out), (status, "", None))
                self.assertIn(reason, errors)

    def test_damaged_models_have_an_answer(self):
        data = model([Value("x", [2]), Value("y", [2])], [(ABS, [0], [1])], [0], [1])
        planner = self.folder / "planner"
        planner.write_text('#!/bin/bash\nwhile [[ $1 != --out ]]; do shift; done\n'
                           'sed "1s/$/,offset/; 2,\\$s/$/,0/" "$3" >"$2"\necho \'{"peak": 16, "lower_bound": 16}\'\n')
        planner.chmod(0o755)
        for at in range(8, len(data), 3):
            damaged = bytearray(data)
            damaged[at] ^= 0xFF
            status, _, errors, _ = self.run_it(bytes(damaged), "--planner", str(planner))
            self.assertIn((status, errors.count("\n")), [(0, 0), (1, 1)])


if __name__ == "__main__":
    PLANNER = sys.argv.pop(1)
    unittest.main()
