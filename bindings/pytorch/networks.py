#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs some steps of a small network, for recordings: networks.py NAME

    ./dev record --pytorch --out text.alev bindings/pytorch/networks.py train-text

The trainings and inferences are those of compare_cpu.py, with batches of one size. The language model answers prompts: a
step of the phase `prefill`, then steps of the phase `decode`, each of which extends its key/value cache.
benchmarks/traces/pytorch has the recordings.
"""

import sys

import torch
from torch import nn

import compare_cpu
import record_torch_cpu

STEPS = 4


def train(name):
    network, batch, loss_of = compare_cpu.NETWORKS[name]()
    optimizer, random = torch.optim.Adam(network.parameters()), torch.Generator().manual_seed(2)
    for _ in range(STEPS):
        record_torch_cpu.step("train")
        compare_cpu.step(network, optimizer, loss_of, *batch(1, random))


def infer(name):
    network, batch, _ = compare_cpu.NETWORKS[name]()
    random = torch.Generator().manual_seed(2)
    network.eval()
    with torch.no_grad():
        for _ in range(STEPS):
            record_torch_cpu.step("infer")
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


def answer():
    """Answers prompts of one length, and of others at the end."""
    model = Decoder().eval()
    with torch.no_grad():
        for prompt in (96, 96, 96, 80, 120):
            cache, tokens = None, torch.ones(2, prompt, dtype=torch.int64)
            for position in range(8):
                record_torch_cpu.step("prefill" if position == 0 else "decode")
                logits, cache = model(tokens, cache)
                tokens = logits.argmax(-1, keepdim=True)


PROGRAMS = {**{f"train-{each}": lambda each=each: train(each) for each in compare_cpu.NETWORKS},
            **{f"infer-{each}": lambda each=each: infer(each) for each in ("images", "text")},
            "language-model": answer}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(f"{__doc__.splitlines()[0]}\nnames: {', '.join(PROGRAMS)}")
    torch.manual_seed(1)
    torch.set_num_threads(1)
    PROGRAMS[sys.argv[1]]()


if __name__ == "__main__":
    main()
