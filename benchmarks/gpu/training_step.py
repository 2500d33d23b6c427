#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Trains two small models in PyTorch under one allocator, and prints the time and the peak memory as a line of JSON.

    training_step.py [--device cuda|cpu] [--steps N] [--small] ALLOCATOR

ALLOCATOR is `native` (the caching allocator), `expandable` (its expandable segments), `async` (cudaMallocAsync), or the path
of liballot_pytorch.so (bindings/pytorch).

The first model is a transformer. Its sequences have another length in each step, as texts have. The second one is a network
of convolutions whose images have several sizes. The peak is the memory that the process takes from the driver, without the
context. It exits with 77 and prints `skipped: REASON` if PyTorch or the device is not available.
"""

import argparse
import json
import os
import pathlib
import random
import sys
import time

BINDING = pathlib.Path(__file__).resolve().parents[2] / "bindings" / "pytorch"
PLAIN = {"native": "", "expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync"}


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


class Memory:
    """The memory of the device that the process has taken since the start."""

    def __init__(self, torch, device):
        self.torch = torch if device == "cuda" else None
        self.start = self.least = self.free()

    def free(self):
        return self.torch.cuda.mem_get_info()[0] if self.torch else 0

    def sample(self):
        self.least = min(self.least, self.free())

    def peak(self):
        return self.start - self.least


def transformer(torch, device, small):
    """Returns a function that makes one step of training and returns the loss."""
    nn = torch.nn
    width, depth, heads, words, longest, batch = (32, 2, 2, 100, 24, 2) if small else (1024, 12, 16, 32_000, 1024, 8)
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Embedding(words, width), nn.TransformerEncoder(layer, depth), nn.Linear(width, words)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    lengths = random.Random(1)

    def step(sample):
        text = torch.randint(words, (batch, lengths.randint(longest // 4, longest)), device=device)
        loss = nn.functional.cross_entropy(model(text).flatten(0, 1), text.flatten())
        sample()
        loss.backward()
        sample()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        sample()
        return float(loss.detach())

    return step


def convolutions(torch, device, small):
    """Returns a function that makes one step of training and returns the loss."""
    nn = torch.nn
    width, blocks, classes, batch, sizes = (8, 2, 10, 2, (16, 24)) if small else (64, 8, 1000, 32, (160, 192, 224, 256))

    class Block(nn.Module):
        def __init__(self, channels, out, stride):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
                nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
            self.short = nn.Conv2d(channels, out, 1, stride, bias=False)

        def forward(self, image):
            return torch.relu(self.body(image) + self.short(image))

    layers, channels = [nn.Conv2d(3, width, 7, 2, 3)], width
    for number in range(blocks):
        grows = number % 2 == 1
        layers.append(Block(channels, channels * (1 + grows), 1 + grows))
        channels *= 1 + grows
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    draw = random.Random(2)

    def step(sample):
        size = draw.choice(sizes)
        image, label = torch.randn(batch, 3, size, size, device=device), torch.randint(classes, (batch,), device=device)
        loss = nn.functional.cross_entropy(model(image), label)
        sample()
        loss.backward()
        sample()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        sample()
        return float(loss.detach())

    return step


def timed(torch, step, memory, count, device):
    """Returns the median time of a step in ms after three steps that fill the caches, and the last loss."""
    times, loss = [], 0.0
    for number in range(count):
        start = time.perf_counter()
        loss = step(memory.sample)
        if device == "cuda":
            torch.cuda.synchronize()
        if number >= min(3, count - 1):
            times.append((time.perf_counter() - start) * 1000)
    return sorted(times)[len(times) // 2], loss


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("allocator")
    chosen = parser.parse_args()
    if PLAIN.get(chosen.allocator):
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = PLAIN[chosen.allocator]
    try:
        import torch
    except ImportError as reason:
        skip(f"PyTorch is not installed ({reason})")
    if chosen.device == "cuda" and not torch.cuda.is_available():
        skip(f"PyTorch {torch.__version__} finds no CUDA device")
    if chosen.allocator not in PLAIN:
        if chosen.device != "cuda":
            skip("an allocator of device memory needs a CUDA device")
        sys.path.insert(0, str(BINDING))
        import allot_torch
        allot_torch.install(chosen.allocator)
    torch.manual_seed(0)
    if chosen.small:
        torch.set_num_threads(1)
    if chosen.device == "cuda":
        torch.cuda.mem_get_info()  # creates the context, which does not count
    memory = Memory(torch, chosen.device)
    found = {"allocator": chosen.allocator, "torch": torch.__version__, "device": chosen.device}
    for name, model in (("transformer", transformer), ("convolutions", convolutions)):
        step_ms, loss = timed(torch, model(torch, chosen.device, chosen.small), memory, chosen.steps, chosen.device)
        found[name] = {"step_ms": round(step_ms, 3), "loss": round(loss, 4), "peak": memory.peak()}
    if chosen.device == "cuda" and chosen.allocator in PLAIN:
        found["tensors"] = torch.cuda.max_memory_allocated()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
