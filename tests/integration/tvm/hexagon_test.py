"""Tests of the kernels that TVM compiles for a Hexagon. Run by bindings/tvm/run with the Python of build/tvm."""

import pathlib
import sys
import unittest

import tvm

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/tvm/programs"))
import hexagon  # noqa: E402


class Hexagon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = ROOT / "build/tvm/hexagon_test"
        cls.kernels = hexagon.compile_kernels()

    def test_assembly_has_vector_instructions_only_with_hvx(self):
        with_hvx = hexagon.vector_instructions(self.kernels.inspect_source("asm"))
        self.assertEqual(set(with_hvx), {"compute_add_in_vtcm", "compute_mul_in_vtcm"})
        # 4 rows of 2 vectors: two loads, one operation and one store for each.
        self.assertGreaterEqual(min(map(len, with_hvx.values())), 32)
        self.assertTrue(any("vadd" in line for line in with_hvx["compute_add_in_vtcm"]))
        self.assertTrue(any("vmpy" in line for line in with_hvx["compute_mul_in_vtcm"]))
        scalar = {key: value for key, value in hexagon.TARGET.items() if key != "mattr"}
        without = hexagon.vector_instructions(hexagon.compile_kernels(scalar).inspect_source("asm"))
        self.assertEqual(without, {"compute_add_in_vtcm": [], "compute_mul_in_vtcm": []})

    def test_seed_program_runs_with_its_own_numbers(self):
        try:
            program = hexagon.build_program(self.kernels, self.folder)
            in_object = hexagon.vector_instructions(hexagon.disassemble(self.folder / "kernels.o"))
            in_program = hexagon.vector_instructions(hexagon.disassemble(program))
            refusals = hexagon.check_seed(program)
        except hexagon.Missing as reason:
            print(f"skipped: {reason}")
            self.skipTest(str(reason))
        self.assertGreaterEqual(min(map(len, in_object.values())), 32)
        self.assertEqual({name: len(lines) for name, lines in in_object.items()},
                         {name: len(lines) for name, lines in in_program.items()})
        self.assertEqual(len(refusals), 2)
        self.assertIn("Invalid a.shape[0]", refusals[0])  # TVM's own check of the table's size
        self.assertIn("overlap", refusals[1])

    def test_target_kind_hexagon_does_not_replace_kind_llvm(self):
        kind = {**hexagon.TARGET, "kind": "hexagon"}
        with self.assertRaisesRegex(RuntimeError, "Back optional access"):  # TVM reads vtcm-capacity without a check
            hexagon.compile_kernels(kind)
        compiled = hexagon.compile_kernels({**kind, "vtcm-capacity": 4096})
        # The kernels of this module are for the machine that runs TVM: a silent error.
        self.assertNotIn('target triple = "hexagon', compiled.inspect_source("ll"))
        self.assertIn('target triple = "hexagon', self.kernels.inspect_source("ll"))


if __name__ == "__main__":
    unittest.main()
