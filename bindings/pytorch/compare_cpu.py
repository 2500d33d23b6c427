#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Trains three networks with PyTorch's own CPU allocator and with allot, and compares them: compare_cpu.py [--steps N]

Each training is a process of its own with Adam, batches of changing sizes, and a thread that makes them. The losses and
the parameters must be equal, bit for bit. Resident bytes are counted from before the network exists.
"""

import argparse
import ctypes
import hashlib
import json
import pathlib
import queue
import resource
import subprocess
import sys
import threading
import time

import torch
from torch import nn

import allot_torch_cpu


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels))

    def forward(self, x):
        return torch.relu(x + self.layers(x))


class Text(nn.Module):
    def __init__(self, words=2000, width=128):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
        self.layers = nn.Sequential(nn.Embedding(words, width), nn.TransformerEncoder(layer, 3), nn.Linear(width, words))

    def forward(self, x):
        return self.layers(x).flatten(0, 1)


class Recurrent(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.layers, self.last = nn.LSTM(64, width, 2, batch_first=True), nn.Linear(width, 64)

    def forward(self, x):
        return self.last(self.layers(x)[0])


def images():
    """A residual network. The last batch of an epoch is smaller, and so are some images."""
    network = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), Residual(32), nn.MaxPool2d(2), nn.Conv2d(32, 64, 1), Residual(64),
        nn.MaxPool2d(2), nn.Conv2d(64, 128, 1), Residual(128), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))

    def batch(step, random):
        count, side = [(32, 64), (32, 64), (32, 48), (19, 64)][step % 4]
        return torch.randn(count, 3, side, side, generator=random), torch.randint(10, (count,), generator=random)
    return network, batch, nn.functional.cross_entropy


def text():
    """A transformer. Sentences have different lengths."""
    def batch(step, random):
        words = torch.randint(2000, (16, [97, 128, 33, 211, 64, 150][step % 6]), generator=random)
        return words, words.roll(1, 1).flatten()
    return Text(), batch, nn.functional.cross_entropy


def sequences():
    """A recurrent network. Sequences have different lengths."""
    def batch(step, random):
        x = torch.randn(24, [50, 120, 77, 33][step % 4], 64, generator=random)
        return x, x.roll(-1, 1)
    return Recurrent(), batch, nn.functional.mse_loss


NETWORKS = {each.__name__: each for each in (images, text, sequences)}


def step(network, optimizer, loss_of, x, y):
    optimizer.zero_grad()
    loss = loss_of(network(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def resident(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(key))


def train(name, steps, path):
    """Trains a network in this process, with allot's library at `path`, if any. Returns the results."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    small = nn.Sequential(nn.Conv2d(1, 1, 3), nn.Flatten(), nn.Linear(4, 2))  # loads PyTorch's libraries
    step(small, torch.optim.Adam(small.parameters()), nn.functional.cross_entropy, torch.ones(2, 1, 4, 4),
         torch.zeros(2, dtype=torch.int64))
    if path:
        allot_torch_cpu.install(path=path)
    before = resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # starts VmHWM again
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    network, batch, loss_of = NETWORKS[name]()
    optimizer, batches, losses, times = torch.optim.Adam(network.parameters()), queue.Queue(2), [], []

    def load():
        random = torch.Generator().manual_seed(2)
        for i in range(steps):
            batches.put(batch(i, random))
    loader = threading.Thread(target=load)
    loader.start()
    for _ in range(steps):
        x, y = batches.get()
        start = time.thread_time()
        losses.append(step(network, optimizer, loss_of, x, y))
        times.append(time.thread_time() - start)
    loader.join()
    digest = hashlib.sha256(repr(losses).encode())
    for parameter in network.parameters():
        digest.update(ctypes.string_at(parameter.data_ptr(), 4 * parameter.numel()))
    return {"digest": digest.hexdigest(), "resident": resident("VmHWM") - before, "ms": 1000 * sum(times) / steps,
            "faults": (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults) // steps,
            **(allot_torch_cpu.statistics() if path else {})}


def in_process(name, steps, path):
    """Trains a network in a process of its own."""
    child = subprocess.run([sys.executable, __file__, "--steps", str(steps), "--child", name, *([path] if path else [])],
                           stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(child.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, path = arguments.child[0], (arguments.child + [None])[1]
        print(json.dumps(train(name, arguments.steps, path)))
        return 0
    path = allot_torch_cpu.library()
    if not path.exists():
        allot_torch_cpu.build()
    print(f"PyTorch {torch.__version__}, {arguments.steps} steps; MiB, milliseconds and page faults of a step")
    print("              live    resident               time            faults")
    print("             bytes  default   allot    default   allot    default   allot")
    for name in NETWORKS:
        theirs, ours = (in_process(name, arguments.steps, each) for each in (None, str(path)))
        if theirs["digest"] != ours["digest"]:
            print(f"{name}: the losses or the parameters differ")
            return 1
        mib = [each / 2**20 for each in (ours["peak"], theirs["resident"], ours["resident"])]
        print(f"{name:10} {mib[0]:7.0f} {mib[1]:8.0f} {mib[2]:7.0f} {theirs['ms']:10.1f} {ours['ms']:7.1f} "
              f"{theirs['faults']:10} {ours['faults']:7}")
    print("losses and parameters are equal, bit for bit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
