#!/usr/bin/python3
"""Tests of the algorithm in allot_executorch.py: module_test.py LIBRARY

Stand-ins replace ExecuTorch's TensorSpec and the types of its results. export.py runs the algorithm in ExecuTorch.
"""

import pathlib
import random
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings" / "executorch"))
import allot_executorch  # noqa: E402


class Spec:
    """The members of a TensorSpec that a memory-planning algorithm reads."""

    def __init__(self, size, first, last, mem_id=None, base=None, distance=0):
        self.size, self.lifetime, self.mem_id = size, [first, last], mem_id
        self.storage_base, self.storage_base_offset, self.alignment = base, distance, 1

    def realign(self, alignment):
        self.alignment = alignment

    @property
    def allocated_memory(self):
        return self.size + -self.size % self.alignment


class Place:
    def __init__(self, mem_id, mem_obj_id, mem_offset):
        self.mem_id, self.mem_obj_id, self.mem_offset = mem_id, mem_obj_id, mem_offset


class Result:
    def __init__(self, spec_dict, bufsizes):
        self.spec_dict, self.bufsizes = spec_dict, bufsizes


def stand_in():
    names = ("executorch", "executorch.exir", "executorch.exir.memory_planning")
    modules = {name: types.ModuleType(name) for name in names}
    modules[names[-1]].MemoryAlgoResult, modules[names[-1]].SpecAllocResult = Result, Place
    sys.modules.update(modules)


class Algorithm(unittest.TestCase):
    def plan(self, specs, taken=(), padding=0, alignment=16, **options):
        graph = types.SimpleNamespace(input_mem_buffer_sizes=list(taken))
        return allot_executorch.algorithm(path=LIBRARY, **options)(alignment, specs, graph, None, padding)

    def check(self, specs, result, alignment=16):
        """All places are aligned, inside their buffers, and apart where lifetimes overlap (both ends are inclusive)."""
        self.assertEqual(set(result.spec_dict), set(specs))
        for index, spec in enumerate(specs):
            place = result.spec_dict[spec]
            self.assertEqual(place.mem_offset % alignment, 0)
            self.assertLessEqual(place.mem_offset + spec.allocated_memory, result.bufsizes[place.mem_id])
            for other in specs[:index]:
                there = result.spec_dict[other]
                if place.mem_id == there.mem_id and spec.lifetime[0] <= other.lifetime[1] \
                        and other.lifetime[0] <= spec.lifetime[1]:
                    self.assertTrue(place.mem_offset + spec.allocated_memory <= there.mem_offset or
                                    there.mem_offset + other.allocated_memory <= place.mem_offset)

    def test_a_chain_reuses_bytes(self):
        specs = [Spec(100, 0, 1), Spec(200, 1, 2), Spec(100, 2, 3)]
        reports = []
        result = self.plan(specs, reports=reports)
        self.check(specs, result)
        self.assertEqual(result.bufsizes, [0, 112 + 208])
        self.assertEqual(reports, [allot_executorch.Report(1, 3, 320, 320, 432)])

    def test_random_tensors_in_several_memories(self):
        draw = random.Random(1)
        for _ in range(30):
            specs = []
            for _ in range(draw.randrange(1, 60)):
                first = draw.randrange(40)
                last = first + draw.randrange(12)
                specs.append(Spec(draw.randrange(0, 5000), first, last, draw.choice((None, 1, 3))))
            result = self.plan(specs, effort=draw.choice((0, 2000)))
            self.check(specs, result)
            self.assertEqual(len(result.bufsizes), max(place.mem_id for place in result.spec_dict.values()) + 1)
            self.assertEqual(result.bufsizes[0], 0)

    def test_the_bytes_of_submodules_and_the_padding(self):
        specs = [Spec(100, 0, 0), Spec(10, 0, 0)]
        result = self.plan(specs, taken=(0, 40), padding=64)
        self.check(specs, result)
        self.assertEqual(result.bufsizes, [0, 48 + 112 + 16 + 64])
        self.assertGreaterEqual(min(place.mem_offset for place in result.spec_dict.values()), 48)

    def test_a_tensor_in_the_storage_of_another(self):
        base = Spec(256, 0, 5)
        middle = Spec(128, 1, 5, base=base, distance=64)
        inner = Spec(32, 2, 3, base=middle, distance=32)
        others = [Spec(256, 0, 5), Spec(300, 2, 2)]
        result = self.plan([inner, base, middle, *others])
        start = result.spec_dict[base].mem_offset
        self.assertEqual(result.spec_dict[middle].mem_offset, start + 64)
        self.assertEqual(result.spec_dict[inner].mem_offset, start + 96)
        self.check([base, *others], Result({spec: result.spec_dict[spec] for spec in (base, *others)}, result.bufsizes))
        with self.assertRaisesRegex(ValueError, "is not planned: plan inputs and outputs too"):
            self.plan([middle])

    def test_the_fast_memory_has_as_many_bytes_as_fit(self):
        specs = [Spec(100, 0, 1), Spec(300, 1, 2), Spec(200, 2, 3), Spec(50, 0, 3, mem_id=2)]
        reports = []
        result = self.plan(specs, capacities=[400, None], reports=reports)
        self.check(specs, result)
        self.assertEqual([result.spec_dict[spec].mem_id for spec in specs], [1, 2, 1, 2])
        self.assertEqual(result.bufsizes, [0, 208, 304 + 64])
        self.assertEqual([(each.mem_id, each.tensors) for each in reports], [(1, 2), (2, 2)])
        both = self.plan(specs[:3], capacities=[512, None])
        self.assertEqual(both.bufsizes, [0, 512, 0])
        self.assertEqual({place.mem_id for place in both.spec_dict.values()}, {1})

    def test_random_tensors_in_memories_with_capacities(self):
        draw = random.Random(2)
        for _ in range(20):
            specs = []
            for _ in range(draw.randrange(1, 40)):
                first = draw.randrange(20)
                last, mem_id = first + draw.randrange(6), draw.choice((None, None, 3))
                specs.append(Spec(draw.randrange(0, 999), first, last, mem_id))
            start, padding = draw.randrange(100), draw.choice((0, 64))
            result = self.plan(specs, taken=(0, start), padding=padding, capacities=[1500, 2500, None], effort=2000)
            self.check(specs, result)
            self.assertLessEqual(result.bufsizes[1], 1500)
            self.assertLessEqual(result.bufsizes[2], 2500)
            for spec in specs:
                self.assertIn(spec.mem_id, (None, result.spec_dict[spec].mem_id))

    def test_capacities_that_do_not_suffice(self):
        with self.assertRaisesRegex(ValueError, "^allot: 1 of 2 buffers fit no memory"):
            self.plan([Spec(160, 0, 1), Spec(160, 1, 2)], capacities=[160])
        with self.assertRaisesRegex(ValueError, "the mem_id 3: give one capacity for each memory"):
            self.plan([Spec(160, 0, 1, mem_id=3)], capacities=[160, None])

    def test_no_tensors_and_empty_tensors(self):
        self.assertEqual(self.plan([]).bufsizes, [0, 0])
        specs = [Spec(0, 0, 1), Spec(0, 0, 3)]
        result = self.plan(specs)
        self.check(specs, result)
        self.assertEqual(result.bufsizes, [0, 0])

    def test_wrong_input_is_refused(self):
        with self.assertRaisesRegex(ValueError, "^allot: buffer 1: "):
            self.plan([Spec(16, 0, 1), Spec(16, 5, 2)])
        with self.assertRaisesRegex(ValueError, "^allot: buffer 0: "):
            self.plan([Spec(17, 0, 1)], alignment=17)
        with self.assertRaisesRegex(FileNotFoundError, "does not exist: build it as"):
            allot_executorch.algorithm(path="/nonexistent.so")


if __name__ == "__main__":
    LIBRARY = sys.argv[1]
    stand_in()
    unittest.main(argv=sys.argv[:1])
