#!/usr/bin/python3
"""ggml's scheduler and optimizer with ggml_gallocr, and with allot's plans loaded in front of ggml's library.

    scheduler_test.py PROGRAM LIBRARY GGML OTHER     scheduler.cpp, liballot_gallocr.so, libggml-base.so, other_ggml.cpp
"""

import os
import re
import subprocess
import sys
import unittest


class Scheduler(unittest.TestCase):
    def run_program(self, *preloaded):
        return subprocess.run([PROGRAM], env={**os.environ, "LD_PRELOAD": " ".join(preloaded)}, capture_output=True,
                              text=True, timeout=600)

    def play(self, *preloaded):
        """Returns the bytes and the hash of the outputs of each network."""
        done = self.run_program(*preloaded)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("allot:", done.stderr)
        return {name: (int(size), outputs) for name, size, outputs in
                re.findall(r"^(.+): (\d+) ([0-9a-f]{16})$", done.stdout, re.M)}

    def test_equal_outputs_in_fewer_bytes(self):
        expected, found = self.play(), self.play(LIBRARY, GGML)
        self.assertEqual(expected.keys(), found.keys())
        self.assertEqual(len(found), 15)
        print(f"{'KiB of compute buffers':45}    ggml   allot")
        for name, (theirs, outputs) in expected.items():
            print(f"{name:45} {theirs / 1024:7.1f} {found[name][0] / 1024:7.1f}")
            with self.subTest(name=name):
                self.assertEqual(found[name][1], outputs)
                self.assertLessEqual(found[name][0], theirs)
                if "two memories" not in name:
                    self.assertLess(found[name][0], theirs)

    def test_another_version_of_ggml_is_refused(self):
        done = self.run_program(OTHER, LIBRARY, GGML)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("allot: liballot_gallocr.so is compiled with the headers of another version", done.stderr)


if __name__ == "__main__":
    PROGRAM, LIBRARY, GGML, OTHER = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1])
