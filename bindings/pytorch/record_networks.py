#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Records steps of small networks: record_networks.py FOLDER [NAME...]

Each recording is a process of its own and becomes FOLDER/NAME.alev. The training of images, text and sequences is that
of compare_cpu.py, with batches of one size. The language model answers prompts: one step of the phase `prefill`, then
steps of the phase `decode`, which extend its key/value cache.
"""

import pathlib
import subprocess
import sys

import torch
from torch import nn

import compare_cpu
import record_torch_cpu

STEPS = 4


def train(name, path):
    """Trains a network of compare_cpu.py for a few steps."""
    network, batch, loss_of = compare_cpu.NETWORKS[name]()
    optimizer, random = torch.optim.Adam(network.parameters()), torch.Generator().manual_seed(2)
    with record_torch_cpu.recording(path) as run:
        network = network.to(torch.float64).to(torch.float32)  # parameters in recorded memory
        optimizer = torch.optim.Adam(network.parameters())
        for _ in range(STEPS):
            run.step("train")
            compare_cpu.step(network, optimizer, loss_of, *batch(1, random))


def infer(name, path):
    """Runs a network of compare_cpu.py forward."""
    network, batch, _ = compare_cpu.NETWORKS[name]()
    random = torch.Generator().manual_seed(2)
    network.eval()
    with record_torch_cpu.recording(path) as run, torch.no_grad():
        for _ in range(STEPS):
            run.step("infer")
            network(batch(1, random)[0])


class Decoder(nn.Module):
    """A transformer with a key/value cache, as language models have it."""

    def __init__(self, words=1000, width=128, heads=4, layers=4):
        super().__init__()
        self.heads, self.words = heads, nn.Embedding(words, width)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "first": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
            "second": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width),
        }) for _ in range(layers))
        self.last = nn.Linear(width, words)

    def forward(self, tokens, cache):
        x, kept = self.words(tokens), []
        for layer, old in zip(self.layers, cache or [None] * len(self.layers)):
            q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                       for each in layer["qkv"](layer["first"](x)).chunk(3, -1))
            if old is not None:
                k, v = torch.cat((old[0], k), 2), torch.cat((old[1], v), 2)
            kept.append((k, v))
            weights = q @ k.transpose(-1, -2) / q.shape[-1]**0.5
            if q.shape[2] > 1:
                weights = weights + torch.full(weights.shape[-2:], -torch.inf).triu(1)
            x = x + layer["out"]((weights.softmax(-1) @ v).transpose(1, 2).flatten(2))
            x = x + layer["down"](nn.functional.gelu(layer["up"](layer["second"](x))))
        return self.last(x[:, -1]), kept


def answer(path):
    """Answers prompts of one length, and of others at the end."""
    model = Decoder().eval()
    with record_torch_cpu.recording(path) as run, torch.no_grad():
        for prompt in (96, 96, 96, 80, 120):
            cache, tokens = None, torch.ones(2, prompt, dtype=torch.int64)
            for position in range(8):
                run.step("prefill" if position == 0 else "decode")
                logits, cache = model(tokens, cache)
                tokens = logits.argmax(-1, keepdim=True)


PROGRAMS = {**{f"train-{each}": lambda path, each=each: train(each, path) for each in compare_cpu.NETWORKS},
            **{f"infer-{each}": lambda path, each=each: infer(each, path) for each in ("images", "text")},
            "language-model": answer}


def main():
    if sys.argv[1:2] == ["--child"]:
        torch.manual_seed(1)
        torch.set_num_threads(1)
        PROGRAMS[sys.argv[2]](sys.argv[3])
        return 0
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= PROGRAMS.keys():
        print(f"{__doc__.splitlines()[0]}\nnames: {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or PROGRAMS:
        path = folder / f"{name}.alev"
        subprocess.run([sys.executable, __file__, "--child", name, str(path)], check=True)
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
