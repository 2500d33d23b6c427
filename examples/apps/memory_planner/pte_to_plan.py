#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Converts an ExecuTorch program to a planning problem of allot in JSON (plan.schema.json).

    pte_to_plan.py model.pte            the problem, on standard output

The buffers are the tensors that the program places in its planned memories. The steps are the instructions of the method. A
tensor lives from the first instruction that has it as an argument to the last one; an input of the method from the first
step, an output to the last. Tensors that share bytes at the same time in the program's own plan are views of one buffer:
they are one buffer here, from the first byte to the last. `own_peak` is the size of the planned memories of the program.

A method with jumps is refused, and so are a program with several methods, unless --method selects one, and a damaged file: one
sentence on standard error, exit status 1. Requires the wheel of executorch (PyPI), which has the compiler of its format and
the schema; ./dev installs it into build/tools/executorch, without its dependencies.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

WHEEL = Path(__file__).resolve().parents[3] / "build" / "tools" / "executorch" / "executorch"

# Bytes of each element type, by name in scalar_type.fbs.
ELEMENT_BYTES = {"BYTE": 1, "CHAR": 1, "SHORT": 2, "INT": 4, "LONG": 8, "HALF": 2, "FLOAT": 4, "DOUBLE": 8, "BOOL": 1,
                 "QINT8": 1, "QUINT8": 1, "QINT32": 4, "BFLOAT16": 2, "UINT16": 2, "UINT32": 4, "UINT64": 8,
                 "FLOAT8E5M2": 1, "FLOAT8E4M3FN": 1, "FLOAT8E5M2FNUZ": 1, "FLOAT8E4M3FNUZ": 1, "BITS8": 1, "BITS16": 2,
                 "COMPLEX32": 4, "COMPLEX64": 8, "COMPLEX128": 16}


class Refused(Exception):
    """The reason why a program cannot be converted, as one sentence."""


def read(path):
    """Returns the program as objects of JSON."""
    data = path.read_bytes()
    if data[4:8] != b"ET12":
        raise Refused("this is not an ExecuTorch program (ET12).")
    flatc, schema = WHEEL / "data" / "bin" / "flatc", WHEEL / "exir" / "_serialize" / "program.fbs"
    if not flatc.exists() or not schema.exists():
        raise Refused("the wheel of executorch is missing (PyPI: executorch==1.5.1, in build/tools/executorch).")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.pte").write_bytes(data)
        done = subprocess.run([flatc, "--json", "--strict-json", "--defaults-json", "-o", folder, schema, "--",
                               Path(folder) / "program.pte"], capture_output=True, text=True, check=False)
        made = Path(folder) / "program.json"
        if done.returncode != 0 or not made.exists():
            reason = " ".join((done.stdout + done.stderr).split())[:200]
            raise Refused(f"the file is damaged{': ' if reason else ''}{reason}.")
        return json.loads(made.read_text(encoding="utf-8", errors="replace"))


def method_of(program, name):
    plans = program.get("execution_plan", [])
    chosen = [plan for plan in plans if name in (None, plan.get("name"))]
    if not plans:
        raise Refused("the program has no method.")
    if len(chosen) != 1:
        names = ", ".join(str(plan.get("name")) for plan in plans)
        raise Refused(f"the program has the methods {names}; select one with --method NAME.")
    if len(chosen[0].get("chains", [])) != 1:
        raise Refused(f"the method has {len(chosen[0].get('chains', []))} chains of instructions, not one.")
    return chosen[0]


def arguments_of(instruction, index):
    """Returns the indexes of the values that an instruction has as arguments."""
    kind, given = instruction["instr_args_type"], instruction["instr_args"]
    if kind in ("KernelCall", "DelegateCall"):
        return given.get("args", [])
    if kind == "MoveCall":
        return [given["move_from"], given["move_to"]]
    if kind == "FreeCall":
        return [given["value_index"]]
    raise Refused(f"instruction {index} of the method is a {kind}: the order of execution is not that of the file.")


def flat(values, index):
    """Returns the tensors of a value: itself, or the elements of a list. The elements of a list are no lists."""
    def kind_of(number):
        return values[number].get("val_type") if 0 <= number < len(values) else None

    if kind_of(index) not in ("TensorList", "OptionalTensorList"):
        return [index] if kind_of(index) == "Tensor" else []
    items = values[index].get("val", {}).get("items", [])
    for item in items:
        if kind_of(item) in ("TensorList", "OptionalTensorList"):
            raise Refused(f"the file is damaged: value {index} is a list that contains the list {item}.")
    return [item for item in items if kind_of(item) == "Tensor"]


def lifetimes(method):
    """Returns the first and the last step of each tensor."""
    values, instructions = method["values"], method["chains"][0].get("instructions", [])
    first, last = {}, {}

    def use(index, step):
        for tensor in flat(values, index):
            first[tensor] = min(first.get(tensor, step), step)
            last[tensor] = max(last.get(tensor, step), step)

    for step, instruction in enumerate(instructions):
        for index in arguments_of(instruction, step):
            use(index, step)
    for index in method.get("inputs", []):
        use(index, 0)
    for index in method.get("outputs", []):
        use(index, max(len(instructions) - 1, 0))
    return {tensor: (first[tensor], last[tensor]) for tensor in first}


def tensors(method):
    """Returns [memory, first byte, end, first step, last step, name] of each planned tensor."""
    found = []
    for index, (begin, end) in sorted(lifetimes(method).items()):
        value = method["values"][index]["val"]
        place = value.get("allocation_info")
        if not place:
            continue
        if value.get("shape_dynamism") == "DYNAMIC_UNBOUND":
            raise Refused(f"tensor {index} has no bound of its size.")
        if value["scalar_type"] not in ELEMENT_BYTES:
            raise Refused(f"tensor {index} has the type {value['scalar_type']}, whose size is unknown.")
        size = math.prod(value.get("sizes", [])) * ELEMENT_BYTES[value["scalar_type"]]
        if not 0 <= size < 1 << 63:
            raise Refused(f"the file is damaged: tensor {index} has {size} bytes.")
        offset = place["memory_offset_low"] + (place["memory_offset_high"] << 32)
        found.append([place["memory_id"], offset, offset + size, begin, end, f"t{index}"])
    return found


def merged(found):
    """Merges tensors that share bytes at the same time, until no two of them do."""
    buffers = []
    for each in sorted(found):
        while True:
            other = next((b for b in buffers if b[0] == each[0] and b[1] < each[2] and each[1] < b[2]
                          and b[3] <= each[4] and each[3] <= b[4]), None)
            if other is None:
                break
            buffers.remove(other)
            each = [each[0], min(each[1], other[1]), max(each[2], other[2]), min(each[3], other[3]),
                    max(each[4], other[4]), f"{other[5]} {each[5]}"]
        buffers.append(each)
    return buffers


def problem_of(method):
    buffers = merged(tensors(method))
    if not buffers:
        raise Refused("the program plans no tensors.")
    used = sorted({buffer[0] for buffer in buffers})
    made = {"memories": [{"name": f"memory {number}"} for number in used], "buffers": []}
    for memory, begin, end, first, last, name in buffers:
        made["buffers"].append({"id": name, "size": end - begin, "alignment": 16, "live": [[first, last + 1]],
                                "memories": [f"memory {memory}"]})
    made["own_peak"] = sum(method["non_const_buffer_sizes"][number] for number in used)
    return made


def main():
    parser = argparse.ArgumentParser(description="Converts an ExecuTorch program to a planning problem of allot.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--method", help="the name of the method")
    options = parser.parse_args()
    try:
        json.dump(problem_of(method_of(read(options.file), options.method)), sys.stdout, indent=1)
        print()
    except (Refused, OSError) as reason:
        print(f"{options.file}: {reason}", file=sys.stderr)
        return 1
    except (KeyError, TypeError, IndexError, ValueError) as reason:
        print(f"{options.file}: the file is damaged: {reason!r}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
