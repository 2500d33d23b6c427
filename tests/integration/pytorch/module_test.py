#!/usr/bin/python3
"""Tests of bindings/pytorch on the fake runtime: module_test.py LIBRARY FOLDER-OF-THE-FAKE

PyTorch is replaced: the test calls the functions that allot_torch gives to it, as torch/csrc/cuda does.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
MIB = 1 << 20


class Allocator:
    """What torch.cuda.memory.CUDAPluggableAllocator keeps: the functions, by the method that sets them."""

    def __init__(self, path, malloc, free):
        library = ctypes.CDLL(path)
        self.malloc, self.free = getattr(library, malloc), getattr(library, free)
        self.malloc.restype = ctypes.c_void_p
        self.malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        self.free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        self.functions = {}

    def allocator(self):
        return self

    def __getattr__(self, name):
        if not name.startswith("set_"):
            raise AttributeError(name)
        return lambda address: self.functions.__setitem__(name, address)


class Module(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch, cls.current = types.ModuleType("torch"), []
        torch.cuda = types.SimpleNamespace(memory=types.SimpleNamespace(
            CUDAPluggableAllocator=Allocator, change_current_allocator=cls.current.append))
        sys.modules["torch"] = torch
        sys.path.insert(0, str(ROOT / "bindings" / "pytorch"))
        import allot_torch
        cls.module = allot_torch
        cls.cuda = ctypes.CDLL("libcudart.so.13")
        cls.allocator = allot_torch.install(sys.argv[1], limit="64M", first="4M")

    def stream(self):
        made = ctypes.c_void_p()
        self.assertEqual(self.cuda.cudaStreamCreate(ctypes.byref(made)), 0)
        return made

    def test_install_passes_all_functions(self):
        self.assertEqual(self.current, [self.allocator])
        self.assertEqual(sorted(self.allocator.functions), sorted(self.module._OPTIONAL))
        self.assertTrue(all(self.allocator.functions.values()))

    def test_blocks_of_streams_and_counters(self):
        first, second = self.stream(), self.stream()
        one = self.allocator.malloc(3 * MIB, 0, first)
        self.assertEqual(one % 256, 0)
        self.module.reset_peak()
        before = self.module.statistics()
        self.assertEqual((before["allocated"], before["allocated_peak"], before["blocks"]), (3 * MIB, 3 * MIB, 1))
        self.assertGreaterEqual(before["reserved"], 4 * MIB)  # ALLOT_PYTORCH_FIRST
        self.allocator.free(one, 3 * MIB, 0, first)
        again = self.allocator.malloc(3 * MIB, 0, first)
        self.assertEqual(again, one)
        other = self.allocator.malloc(1000, 0, second)
        held = self.module.snapshot()["segments"][0]["blocks"]
        live = {block["address"]: block["requested_size"] for block in held if block["state"] == "active_allocated"}
        self.assertEqual(live, {again: 3 * MIB, other: 1000})
        self.assertTrue(self.module.snapshot_bytes(0, "allot").startswith(b"ALSN1\n"))
        self.assertEqual(self.module.statistics()["allocated_peak"], 3 * MIB + 1000)
        record = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self.allocator.functions["set_record_stream_fn"])
        record(again, second)
        self.allocator.free(again, 3 * MIB, 0, first)
        self.allocator.free(other, 1000, 0, second)
        ctypes.CFUNCTYPE(None)(self.allocator.functions["set_reset_fn"])()
        after = self.module.statistics()
        self.assertEqual((after["allocated"], after["blocks"], after["unfreed"]), (0, 0, 0))

    def test_an_unknown_device_or_form(self):
        with self.assertRaisesRegex(ValueError, "no memory of CUDA device 7"):
            self.module.statistics(7)
        with self.assertRaisesRegex(ValueError, "no memory"):
            self.module.snapshot_bytes(0, "unknown")


if __name__ == "__main__":
    if os.environ.get("LD_LIBRARY_PATH") != sys.argv[2]:  # the loader reads it at the start of a process
        sys.exit(subprocess.run([sys.executable, __file__, *sys.argv[1:]],
                                env={**os.environ, "LD_LIBRARY_PATH": sys.argv[2]}, check=False).returncode)
    unittest.main(argv=sys.argv[:1])
