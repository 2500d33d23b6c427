#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Runs models with an offline plan in TensorFlow Lite Micro, from its wheel: bindings/tflite_micro/run.

    interpreter_test.py PLANNER          PLANNER: the program memory_planner
"""

import importlib.util
import struct
import sys
import tempfile
import unittest
from pathlib import Path

from models import Value, model, tflite

import compare

PLANNER = ""
INT32, SLICE, MAXIMUM = tflite.TensorType.INT32, tflite.BuiltinOperator.SLICE, tflite.BuiltinOperator.MAXIMUM


def numbers(*values):
    return struct.pack(f"<{len(values)}i", *values)


# a is the front of x, b a copy of a, c 20 numbers of x from number 8; d = max(a, b), e = max(b, d), y = max(d, e); c and y are outputs.
# In bytes: x 128, a, b, d, e and y 112, c 80. In step 2, x, a, b and c are live: 432 bytes, the lower bound.
# The largest first, the last of equal ones first, in the lowest gap, is 640 bytes: x 0, y 0, e 112, d 224, b 336, a 448 (live
# with d and b; [0, 128) is x), c 560 (live with all).
VALUES = [Value("x", [32]), Value("a", [28]), Value("b", [28]), Value("c", [20]), Value("d", [28]), Value("e", [28]),
          Value("y", [28]), Value("begin", [1], INT32, numbers(0)), Value("28", [1], INT32, numbers(28)),
          Value("20", [1], INT32, numbers(20)), Value("8", [1], INT32, numbers(8))]
STEPS = [(SLICE, [0, 7, 8], [1]), (SLICE, [1, 7, 8], [2]), (SLICE, [0, 10, 9], [3]), (MAXIMUM, [1, 2], [4]),
         (MAXIMUM, [2, 4], [5]), (MAXIMUM, [4, 5], [6])]


class Interpreter(unittest.TestCase):
    def test_the_arena_is_smaller_and_the_results_are_equal(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "small.tflite"
            path.write_bytes(model(VALUES, STEPS, [0], [3, 6]))
            found = compare.compare(path, Path(folder) / "planned.tflite", PLANNER)
        self.assertEqual((found.before.head, found.after.head), (640, 432))
        self.assertEqual(found.before.tail, found.after.tail)
        self.assertTrue(found.equal)

    def test_a_model_of_wake_words(self):
        found = importlib.util.find_spec("pyopen_wakeword")
        if found is None:
            self.skipTest("the Python package pyopen-wakeword is missing")
        path = Path(found.origin).parent / "models" / "embedding_model.tflite"
        with tempfile.TemporaryDirectory() as folder:
            found = compare.compare(path, Path(folder) / "planned.tflite", PLANNER)
        self.assertIn("in 454,656 bytes, lower bound 454,656", found.plan)
        self.assertEqual((found.before.head, found.after.head), (663552, 454656))
        self.assertTrue(found.equal)

    def test_an_invalid_plan_changes_the_results(self):
        # All tensors at 0: the interpreter follows the plan, so the comparison of results detects a wrong one.
        wrong = struct.pack("<14i", 1, 1, len(VALUES), *[0] * 7, *[-1] * 4)
        with tempfile.TemporaryDirectory() as folder:
            good, bad = Path(folder) / "good.tflite", Path(folder) / "bad.tflite"
            good.write_bytes(model(VALUES, STEPS, [0], [3, 6]))
            bad.write_bytes(model(VALUES, STEPS, [0], [3, 6], [("OfflineMemoryAllocation", wrong)]))
            right, found = compare.run(good), compare.run(bad)
        self.assertEqual(found.head, 128)
        self.assertNotEqual(right.outputs, found.outputs)


if __name__ == "__main__":
    PLANNER = sys.argv.pop(1)
    unittest.main()
