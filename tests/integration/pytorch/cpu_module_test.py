#!/usr/bin/python3
"""Tests of allot_torch_cpu with the PyTorch of this Python: cpu_module_test.py"""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

BINDING = pathlib.Path(__file__).resolve().parents[3] / "bindings" / "pytorch"
sys.path.insert(0, str(BINDING))


def run(program):
    """Runs a program in a process of its own, because the allocator is one for each process."""
    preamble = "import sys, torch, allot_torch_cpu as allot\nlibrary = sys.argv[1]\n"
    environment = {**os.environ, "PYTHONPATH": str(BINDING)}
    return subprocess.run([sys.executable, "-c", preamble + textwrap.dedent(program), LIBRARY],
                          env=environment, capture_output=True, text=True)


class Module(unittest.TestCase):
    def check(self, program):
        done = run(program)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_training_gives_equal_losses_and_parameters(self):
        import compare_cpu
        theirs, ours = (compare_cpu.in_process("images", 2, each) for each in (None, LIBRARY))
        self.assertEqual(theirs["digest"], ours["digest"])
        self.assertGreater(ours["requests"], 100)
        self.assertEqual(ours["refusals"], 0)
        self.assertGreaterEqual(ours["held"], ours["peak"])
        self.assertLess(ours["held"], 1.3 * ours["peak"])

    def test_counters_follow_the_tensors(self):
        self.check("""
            before = torch.ones(1000)                 # PyTorch's own allocator
            allot.install(path=library)
            assert allot.statistics()["requests"] == 0
            tensors = [torch.ones(size) for size in (1, 15, 16, 17, 100003)]
            assert all(each.data_ptr() % 64 == 0 for each in tensors)
            now = allot.statistics()
            assert (now["used"], now["blocks"]) == (4 * 100052, 5), now
            copy = before.clone()
            del before                                # each tensor returns to its own allocator
            assert allot.statistics()["used"] == now["used"] + 4000
            part = tensors.pop()[5:]                  # keeps the memory
            assert allot.statistics()["blocks"] == 6 and part[-1] == 1
            del part, tensors, copy
            now = allot.statistics()
            assert now["used"] == now["blocks"] == 0 and now["peak"] >= 4 * 101052
            allot.reset_peak()
            assert allot.statistics()["peak"] == 0
            assert allot.trim() == now["held"] and allot.statistics()["held"] == 0
            assert torch.ones(10).sum() == 10
            """)

    def test_threads_free_tensors_of_other_threads(self):
        self.check("""
            import queue, threading
            allot.install(path=library)
            made = queue.Queue(8)
            def make():
                for i in range(500):
                    made.put(torch.full((i * 37 % 20011 + 1,), i))
            makers = [threading.Thread(target=make) for _ in range(2)]
            for each in makers:
                each.start()
            for _ in range(1000):
                tensor = made.get()
                assert (tensor == tensor[0]).all()
            for each in makers:
                each.join()
            del tensor
            assert allot.statistics()["used"] == 0, allot.statistics()
            """)

    def test_backward_of_a_network_frees_its_activations(self):
        self.check("""
            allot.install(path=library)
            layers = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)])
            for layer in layers.parameters():
                layer.grad = torch.zeros_like(layer)
            before = allot.statistics()["used"]
            layers(torch.ones(100, 64)).sum().backward()
            now = allot.statistics()
            assert now["used"] == before and now["peak"] > before + 8 * 100 * 64 * 4, now
            """)

    def test_forks_while_a_thread_allocates(self):
        self.check("""
            import os, threading
            torch.set_num_threads(1)
            allot.install(path=library)
            shared, done = torch.arange(1000), False
            def work():
                while not done:
                    torch.empty(5000)
            thread = threading.Thread(target=work)
            thread.start()
            for _ in range(50):
                child = os.fork()
                if child == 0:
                    mine = shared + 1                 # in memory of the child
                    os._exit(0 if mine[999] == 1000 else 1)
                assert os.waitpid(child, 0)[1] == 0
            done = True
            thread.join()
            assert shared[999] == 999
            """)

    def test_a_request_beyond_the_limit_fails_and_others_go_on(self):
        self.check("""
            allot.install(limit="16M", path=library)
            first = torch.ones(1 << 20)
            for size in (1 << 22, 1 << 50):
                try:
                    torch.empty(size)
                    raise AssertionError("no exception")
                except RuntimeError as why:
                    assert type(why).__name__ == "OutOfMemoryError", type(why)
                    assert f"allot: no memory for a tensor of {4 * size} bytes: " in str(why), why
            assert (first + 1).sum() == 2 << 20
            assert allot.statistics()["refusals"] == 2 and allot.statistics()["held"] <= 16 << 20
            """)

    def test_a_limit_above_the_addresses_of_the_system_is_lowered(self):
        self.check(f"""
            allot.install(limit="{200 << 10}G", path=library)
            assert torch.ones(1000).sum() == 1000
            """)

    def test_a_tensor_that_leaves_no_room_for_its_prefix_is_refused_with_the_reason(self):
        self.check("""
            allot.install(limit="1M", path=library)
            try:
                torch.empty((1 << 20) - 16, dtype=torch.uint8)
                raise AssertionError("no exception")
            except RuntimeError as why:
                assert "no memory for a tensor of 1048560 bytes: " in str(why) and "in use" not in str(why), why
            """)

    def test_the_profiler_counts_the_bytes(self):
        self.check("""
            allot.install(path=library)
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
                tensor = torch.empty(100003)
            events = [each for each in profile.key_averages() if each.key == "aten::empty"]
            assert events[0].self_cpu_memory_usage == 400012, events
            """)

    def test_a_recording_has_the_tensors_with_their_operators_and_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text(textwrap.dedent("""
                import sys, torch, record_torch_cpu
                assert sys.argv[1:] == ["--size", "70001"]
                for phase in "first", "second":
                    record_torch_cpu.step(phase)
                    tensor = torch.ones(70001, requires_grad=True)
                    (tensor * 2).sum().backward()
                sys.exit(3)
                """))
            recorder = (f"import sys, allot_torch_cpu, record_torch_cpu as recorder; "
                        f"source = recorder._HERE / 'record_torch_cpu.cpp'; "
                        f"recorder.library = lambda: allot_torch_cpu.build('{folder}/recorder.so', ('-O0',), source); "
                        f"sys.exit(recorder.main(['--out', '{folder}/log', '{program}', '--size', '70001']))")
            done = subprocess.run([sys.executable, "-c", recorder], env={**os.environ, "PYTHONPATH": str(BINDING)},
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, done.stderr)
            events, tags = self.read(pathlib.Path(folder, "log").read_bytes())
            for time, phase in (1, "first"), (2, "second"):
                found = {tags[tag] for kind, at, size, tag in events if kind == 1 and at == time and size == 4 * 70001}
                self.assertLessEqual({f"{phase}:aten.ones", f"{phase}:aten.mul"}, found)
            self.assertEqual(sum(kind == 1 for kind, *_ in events), sum(kind == 2 for kind, *_ in events))

    @staticmethod
    def read(log):
        """Reads an event log: the kind, time, size and tag of each event, and the tags."""
        def number():
            nonlocal at
            value = shift = 0
            while True:
                at += 1
                value |= (log[at - 1] & 127) << shift
                shift += 7
                if log[at - 1] < 128:
                    return value
        events, tags, at, time = [], [""], len(b"ALEV1\n"), 0
        number()
        while (head := log[at]) != 0:
            at += 1
            if head == 8:
                length = number()
                tags.append(log[at:at + length].decode())
                at += length
                continue
            time += number()
            number()
            events.append((head & 15, time, number(), number() if head & 16 else 0))
            at += bool(head & 32)
        return events, tags

    def test_wrong_calls_are_refused_with_a_sentence(self):
        self.check("""
            def fails(call, message):
                try:
                    call()
                    raise AssertionError("no exception: " + message)
                except (FileNotFoundError, RuntimeError, ValueError) as why:
                    assert message in str(why), why
            first = "the allocator is not installed: call install() first"
            for call in (allot.statistics, allot.reset_peak, allot.trim):
                fails(call, first)
            fails(lambda: allot.install(path="/none.so"), "/none.so does not exist: build it with `python ")
            for limit in ("many", "0", "-1", "1.5G", "M", "", -5, "8GB", f"{1 << 33}G", f"{1 << 34}G"):
                fails(lambda: allot.install(limit, library),
                      f"a limit is a number of bytes such as 512M, with K, M or G at its end, not '{limit}'")
            allot.install("1G", library)
            fails(lambda: allot.install(path=library), "the allocator is installed: call install once")
            """)


if __name__ == "__main__":
    try:
        import allot_torch_cpu
        import torch
    except ImportError:
        print("skipped: this Python has no PyTorch")
        sys.exit(77)
    includes = pathlib.Path("/usr"), pathlib.Path(torch.__file__).parent
    if not any((each / "include" / "c10" / "core" / "CPUAllocator.h").exists() for each in includes):
        print("skipped: the headers of PyTorch are not installed (Debian: libtorch-dev)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        LIBRARY = str(allot_torch_cpu.build(f"{folder}/library.so"))
        unittest.main(verbosity=2)
