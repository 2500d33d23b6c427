#!/usr/bin/python3
"""Exports networks with ExecuTorch's greedy memory planning and with allot's, and runs both programs.

    export.py [NETWORK...]      compares the outputs bit for bit, and prints a table of the planned bytes: of one
                                memory, and of two, of which the fast one has half of these bytes
    export.py --write FOLDER    writes the three programs of the network `keywords`, which the tests of the runtime load

The weights are random, because they do not change the plan. Requires the packages of
bindings/executorch/requirements.txt, and ALLOT_PLANNER_LIBRARY. bindings/executorch/run calls it.
"""

import functools
import pathlib
import sys

import torch
import torchvision
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings" / "executorch"))
import allot_executorch  # noqa: E402


class Keywords(torch.nn.Module):
    """A small network of depthwise-separable blocks with residuals, for 12 words in a spectrogram of 49 by 10."""

    def __init__(self, channels=24):
        super().__init__()
        self.first = torch.nn.Conv2d(1, channels, (10, 4), 2, (5, 1))
        self.blocks = torch.nn.ModuleList(torch.nn.Sequential(
            torch.nn.Conv2d(channels, 2 * channels, 1), torch.nn.Hardswish(),
            torch.nn.Conv2d(2 * channels, 2 * channels, 3, 1, 1, groups=2 * channels), torch.nn.Hardswish(),
            torch.nn.Conv2d(2 * channels, channels, 1)) for _ in range(3))
        self.last = torch.nn.Linear(channels, 12)

    def forward(self, sound):
        now = self.first(sound)
        for block in self.blocks:
            now = now + block(now)
        return torch.softmax(self.last(now.mean((2, 3))), 1)


class Encoder(torch.nn.Module):
    """Four layers of a transformer's encoder, 64 tokens of 128 elements."""

    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)

    def forward(self, tokens):
        return self.layers(tokens)


VISION = torchvision.models
IMAGE = (1, 3, 224, 224)
NETWORKS = {
    "keywords": (Keywords, (1, 1, 49, 10)),
    "encoder": (Encoder, (1, 64, 128)),
    "mobilenet_v2": (VISION.mobilenet_v2, IMAGE),
    "mobilenet_v3_small": (VISION.mobilenet_v3_small, IMAGE),
    "mnasnet0_5": (VISION.mnasnet0_5, IMAGE),
    "shufflenet_v2": (VISION.shufflenet_v2_x1_0, IMAGE),
    "efficientnet_b0": (VISION.efficientnet_b0, IMAGE),
    "googlenet": (functools.partial(VISION.googlenet, init_weights=False, aux_logits=False), IMAGE),
    "resnet18": (VISION.resnet18, IMAGE),
    "squeezenet1_1": (VISION.squeezenet1_1, IMAGE),
}


def exported(name):
    """Returns the network, its input, and a function that returns a program for a memory-planning pass."""
    make, shape = NETWORKS[name]
    torch.manual_seed(1)
    network, given = make().eval(), torch.randn(shape)
    graph = torch.export.export(network, (given,), strict=False)

    def program(planning):
        edge = to_edge(graph, compile_config=EdgeCompileConfig(_check_ir_validity=False))
        return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))

    return network, given, program


def sizes(program):
    return program.executorch_program.execution_plan[0].non_const_buffer_sizes


def planned(program):
    return sum(sizes(program))


def run(program, given):
    return Runtime.get().load_program(program.buffer).load_method("forward").execute([given])[0].clone()


def compare(name):
    """Prints one line of the table. Returns whether both programs compute the same bits, and allot's is not larger."""
    network, given, program = exported(name)
    reports = []
    theirs = program(MemoryPlanningPass())
    ours = program(allot_executorch.memory_planning_pass(reports=reports))
    fast = planned(ours) // 2
    parts = program(allot_executorch.memory_planning_pass(capacities=[fast, None]))
    results = [run(each, given) for each in (theirs, ours, parts)]
    tensors, total, bound = (sum(getattr(each, field) for each in reports) for field in ("tensors", "sum", "bound"))
    change = 100 * (planned(ours) / planned(theirs) - 1)
    print(f"{name:20}{tensors:8}{total:12}{planned(theirs):12}{planned(ours):12}{bound:12}{change:7.1f} %"
          f"{sizes(parts)[1]:12}{sizes(parts)[2]:12}", flush=True)
    is_right = torch.allclose(results[0], network(given), atol=1e-4)
    is_equal = torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])
    is_small = planned(ours) == sum(each.peak for each in reports) <= planned(theirs) and sizes(parts)[1] <= fast
    return is_right and is_equal and is_small


def write(folder):
    _, _, program = exported("keywords")
    for name, planning in (("greedy", MemoryPlanningPass()), ("allot", allot_executorch.memory_planning_pass()),
                           ("two", allot_executorch.memory_planning_pass(capacities=[48 << 10, None]))):
        pathlib.Path(folder, f"keywords_{name}.pte").write_bytes(program(planning).buffer)


def main(arguments):
    if arguments[:1] == ["--write"]:
        return write(arguments[1])
    print(f"{'network':20}{'tensors':>8}{'sum':>12}{'greedy':>12}{'allot':>12}{'bound':>12}{'change':>9}"
          f"{'fast':>12}{'slow':>12}")
    failed = [name for name in arguments or NETWORKS if not compare(name)]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
