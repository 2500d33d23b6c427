#!/usr/bin/python3
"""Models in llama.cpp, with ggml_gallocr and with allot's plans loaded in front of ggml: equal outputs in fewer bytes.

    llama_test.py PROGRAM LIBRARY GGML     llama_run.cpp, liballot_gallocr.so and libggml-base.so

The models have random weights and the layers of Llama, Mixtral and Mamba. bindings/ggml/run builds llama.cpp.
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

VOCABULARY, LENGTH = 2000, 512
F32, Q8_0 = 0, 8


class Model:
    """Writes a file in the format GGUF."""

    def __init__(self, architecture, **numbers):
        self.random = numpy.random.default_rng(7)
        self.numbers = {"general.architecture": architecture, "tokenizer.ggml.model": "no_vocab"}
        numbers |= {"vocab_size": VOCABULARY, "context_length": LENGTH, "attention.layer_norm_rms_epsilon": 1e-5}
        self.numbers |= {f"{architecture}.{name.replace('__', '.')}": value for name, value in numbers.items()}
        self.tensors = []

    def add(self, name, *shape, kind=F32):
        count = int(numpy.prod(shape))
        if kind == F32:
            values = self.random.uniform(-1, 1, count).astype("<f4") / numpy.float32(shape[0] ** 0.5)
        else:  # blocks of 32 numbers with a scale of 16 bits
            blocks = numpy.zeros(count // 32, dtype=[("scale", "<f2"), ("values", "i1", 32)])
            blocks["scale"] = 1 / (127 * shape[0] ** 0.5)
            blocks["values"] = self.random.integers(-127, 127, (count // 32, 32))
            values = blocks
        self.tensors.append((name, shape, kind, values.tobytes()))

    def write(self, path):
        def text(value):
            return struct.pack("<Q", len(value)) + value.encode()

        kinds = {int: ("I", 4), float: ("f", 6)}
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.numbers))
        for name, value in self.numbers.items():
            if isinstance(value, str):
                head += text(name) + struct.pack("<I", 8) + text(value)
            else:
                letter, kind = kinds[type(value)]
                head += text(name) + struct.pack(f"<I{letter}", kind, value)
        body = b""
        for name, shape, kind, data in self.tensors:
            head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(body))
            body += data + bytes(-len(data) % 32)
        path.write_bytes(head + bytes(-len(head) % 32) + body)


def decoder(layers=3, width=256, heads=8, key_heads=4, hidden=704, experts=0):
    numbers = {"embedding_length": width, "block_count": layers, "feed_forward_length": hidden,
               "attention__head_count": heads, "attention__head_count_kv": key_heads,
               "rope__dimension_count": width // heads}
    if experts:
        numbers |= {"expert_count": experts, "expert_used_count": 2}
    model = Model("llama", **numbers)
    model.add("token_embd.weight", width, VOCABULARY, kind=Q8_0)
    model.add("output_norm.weight", width)
    model.add("output.weight", width, VOCABULARY, kind=Q8_0)
    for layer in range(layers):
        block = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            model.add(f"{block}{norm}.weight", width)
        for name, to in ("q", width), ("k", width // heads * key_heads), ("v", width // heads * key_heads), ("output", width):
            model.add(f"{block}attn_{name}.weight", width, to, kind=Q8_0)
        suffix, each = ("_exps", (experts,)) if experts else ("", ())
        if experts:
            model.add(f"{block}ffn_gate_inp.weight", width, experts)
        for name, shape in ("gate", (width, hidden)), ("up", (width, hidden)), ("down", (hidden, width)):
            model.add(f"{block}ffn_{name}{suffix}.weight", *shape, *each, kind=Q8_0)
    return model


def mamba(layers=3, width=192, inner=384, state=16, kernel=4, rank=12):
    model = Model("mamba", embedding_length=width, block_count=layers, feed_forward_length=0, attention__head_count=0,
                  ssm__conv_kernel=kernel, ssm__inner_size=inner, ssm__state_size=state, ssm__time_step_rank=rank)
    model.add("token_embd.weight", width, VOCABULARY, kind=Q8_0)
    model.add("output_norm.weight", width)
    for layer in range(layers):
        block = f"blk.{layer}."
        model.add(f"{block}attn_norm.weight", width)
        for name, *shape in (("in.weight", width, 2 * inner), ("conv1d.weight", kernel, inner), ("conv1d.bias", inner),
                             ("x.weight", inner, rank + 2 * state), ("dt.weight", rank, inner), ("dt.bias", inner),
                             ("a", state, inner), ("d", inner), ("out.weight", inner, width)):
            model.add(f"{block}ssm_{name}", *shape)
    return model


class Llama(unittest.TestCase):
    def play(self, path, flash, *preloaded):
        """Returns the hash of the outputs and the size of the compute buffers in MiB."""
        done = subprocess.run([PROGRAM, path, str(flash)], env={**os.environ, "LD_PRELOAD": " ".join(preloaded)},
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("allot:", done.stderr)
        self.assertNotIn("does not match expectation", done.stderr)  # llama.cpp compares its first measurement
        sizes = re.findall(r"compute buffer size is +([\d.]+) MiB", done.stderr)
        self.assertTrue(sizes, done.stderr)
        return re.search(r"^outputs (\w+)$", done.stdout, re.M)[1], sum(map(float, sizes))

    def test_models_have_equal_outputs_in_fewer_bytes(self):
        print("MiB of compute buffers          ggml_gallocr   allot")
        with tempfile.TemporaryDirectory() as folder:
            for name, model, flash in (("Llama", decoder(), 0), ("Llama, flash attention", decoder(), 1),
                                       ("Mixtral, flash attention", decoder(experts=8), 1), ("Mamba", mamba(), 0)):
                with self.subTest(model=name):
                    path = Path(folder) / "model.gguf"
                    model.write(path)
                    expected, theirs = self.play(str(path), flash)
                    found, ours = self.play(str(path), flash, LIBRARY, GGML)
                    print(f"{name:32} {theirs:11.3f} {ours:7.3f}")
                    self.assertEqual(found, expected)
                    self.assertLess(ours, theirs)


if __name__ == "__main__":
    PROGRAM, LIBRARY, GGML = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
