#!/usr/bin/python3
"""Tests of the module allot_onnxruntime with ONNX Runtime's wheel: module_test.py LIBRARY PACKAGES MODELS"""

import os
import pathlib
import subprocess
import sys
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(program, **variables):
    """Runs a program in a process of its own, because the arena is one for each process."""
    # ORT is a preamble, and so are the models.
    preamble = """
        import sys, numpy, onnxruntime, allot_onnxruntime
        models = sys.argv[1]
        def session(options=None):
            options = options or onnxruntime.SessionOptions()
            return onnxruntime.InferenceSession(models + "/silero_vad/data/silero_vad.onnx", options)
        def run(of, batch):
            draw = numpy.random.default_rng(1)
            state = numpy.zeros((2, batch, 128), "float32")
            sound = draw.standard_normal((batch, 576), "float32")
            return of.run(None, {"input": sound, "state": state, "sr": numpy.array(16000)})
        """
    path = f"{ROOT / 'bindings' / 'onnxruntime'}:{PACKAGES}"
    environment = {**os.environ, "PYTHONPATH": path, "ALLOT_ONNXRUNTIME_LIBRARY": LIBRARY, **variables}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(preamble) + textwrap.dedent(program), MODELS],
                          env=environment, capture_output=True, text=True)


class Module(unittest.TestCase):
    def check(self, program, **variables):
        done = run(program, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)

    def fails(self, program, message, **variables):
        done = run(program, **variables)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(message, done.stderr)

    def test_outputs_are_equal_and_the_arena_serves_the_session(self):
        self.check("""
            options = onnxruntime.SessionOptions()
            allot_onnxruntime.use(options)
            ours, theirs = session(options), session()
            before = allot_onnxruntime.statistics()
            for batch in (1, 7, 3):
                for a, b in zip(run(ours, batch), run(theirs, batch)):
                    assert (a == b).all()
            now = allot_onnxruntime.statistics()
            assert now["requests"] > before["requests"]
            assert now["held"] >= now["peak"] >= now["largest"] > 0
            assert now["refusals"] == 0
            """)

    def test_trim_releases_the_memory_of_ended_sessions(self):
        self.check("""
            options = onnxruntime.SessionOptions()
            allot_onnxruntime.use(options)
            of = session(options)
            run(of, 5)
            del of
            held = allot_onnxruntime.statistics()["held"]
            assert held > 0
            assert allot_onnxruntime.trim() == held
            assert allot_onnxruntime.statistics()["used"] == allot_onnxruntime.statistics()["held"] == 0
            """)

    def test_two_sessions_share_the_arena(self):
        self.check("""
            sessions = []
            for _ in range(2):
                options = onnxruntime.SessionOptions()
                allot_onnxruntime.use(options)
                sessions.append(session(options))
            results = [run(each, 4) for each in sessions]
            assert all((a == b).all() for a, b in zip(*results))
            """)

    def test_a_limit_refuses_the_run(self):
        self.fails("""
            options = onnxruntime.SessionOptions()
            allot_onnxruntime.use(options, limit="1M")
            run(session(options), 500)
            """, "allot: no memory for ")

    def test_a_wrong_limit_is_refused(self):
        self.fails("""
            allot_onnxruntime.use(onnxruntime.SessionOptions(), limit="many")
            """, "allot: ALLOT_ONNXRUNTIME_LIMIT is a number of bytes such as 512M, not 'many'")

    def test_calls_in_the_wrong_order(self):
        self.fails("allot_onnxruntime.statistics()", "no session uses the arena: call use(options) first")
        self.fails("""
            allot_onnxruntime.use(onnxruntime.SessionOptions())
            allot_onnxruntime.use(onnxruntime.SessionOptions(), limit="1M")
            """, "the arena has a limit since the first call of use: pass `limit` there")
        self.fails("""
            allot_onnxruntime.use(onnxruntime.SessionOptions())
            """, "does not exist: build it as", ALLOT_ONNXRUNTIME_LIBRARY="/nonexistent.so")


if __name__ == "__main__":
    LIBRARY, PACKAGES, MODELS = sys.argv[1:]
    if not (pathlib.Path(PACKAGES, "onnxruntime").exists() and pathlib.Path(MODELS, "silero_vad").exists()):
        print(f"skipped: ONNX Runtime's wheel or the models are not installed in {PACKAGES} and {MODELS}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
