"""The seed's discontiguous kernels, compiled by TVM for a Hexagon with HVX and run by qemu-hexagon.

    python hexagon.py [FOLDER]                 all generated files are in FOLDER; build/tvm/hexagon without it

TVM's wheel writes the object of the two kernels. clang++ compiles hexagon_program.cpp, a program without an operating
system that takes storages, tables and tensors from allot, with the numbers of the proposal: 4096 bytes of VTCM, a
storage of 64 bytes for the tables, tables at 0, 16 and 32, because a pointer has 32 bits there. NumPy computes the
expected results. The script prints `skipped: REASON` when a tool is missing.
"""

import pathlib
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
import tvm
import tvm_ffi
from tvm.script import ir as I
from tvm.script import tirx as T

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGET = {"kind": "llvm", "mtriple": "hexagon-unknown-elf", "mcpu": "hexagonv66",
          "mattr": ["+hvxv66", "+hvx-length128b"]}
VTCM = {"a": (768, 256, 2304, 3072), "b": (1536, 1280, 3328, 2560), "c": (512, 0, 2048, 3840)}


@I.ir_module
class Kernels:
    """The kernels of the seed. A tensor in rows is its table: one address of 32 bits for each row."""

    @T.prim_func
    def compute_add_in_vtcm(a: T.Buffer((4,), "uint32", align=4), b: T.Buffer((4,), "uint32", align=4),
                            c: T.Buffer((4,), "uint32", align=4)):
        for row in range(4):
            x = T.decl_buffer((64,), "int32", data=T.reinterpret("handle", T.Cast("uint64", a[row])))
            y = T.decl_buffer((64,), "int32", data=T.reinterpret("handle", T.Cast("uint64", b[row])))
            z = T.decl_buffer((64,), "int32", data=T.reinterpret("handle", T.Cast("uint64", c[row])))
            for vector in range(2):
                for i in T.vectorized(32):
                    z[vector * 32 + i] = x[vector * 32 + i] + y[vector * 32 + i]

    @T.prim_func
    def compute_mul_in_vtcm(c: T.Buffer((4,), "uint32", align=4), d: T.Buffer((4,), "uint32", align=4),
                            e: T.Buffer((4,), "uint32", align=4)):
        for row in range(4):
            x = T.decl_buffer((64,), "int32", data=T.reinterpret("handle", T.Cast("uint64", c[row])))
            y = T.decl_buffer((64,), "int32", data=T.reinterpret("handle", T.Cast("uint64", d[row])))
            z = T.decl_buffer((64,), "int32", data=T.reinterpret("handle", T.Cast("uint64", e[row])))
            for vector in range(2):
                for i in T.vectorized(32):
                    z[vector * 32 + i] = x[vector * 32 + i] * y[vector * 32 + i]


class Missing(Exception):
    """A tool of the machine is missing; the text names it."""


def tool(*names):
    for name in names:
        if path := shutil.which(name):
            return path
    raise Missing(f"no {names[0]} (Debian: clang-14, lld-14, qemu-user, libstdc++-arm-none-eabi-newlib, libboost-dev)")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compile_kernels(target=TARGET):
    """Returns TVM's module with the kernels of the seed."""
    return tvm.tirx.build(Kernels, target=target)


def vector_instructions(assembly):
    """Returns {kernel: [HVX instructions]} of an assembly text. They load, store, add or multiply whole vectors."""
    found, kernel = {}, None
    for line in assembly.splitlines():
        if label := re.search(r"__tvm_ffi_(compute_\w+)>?:", line):
            kernel = found.setdefault(label[1], [])
        elif re.match(r"\w+:", line) or re.search(r"^[0-9a-f]+ <", line):
            kernel = None  # another function
        elif kernel is not None and re.search(r"\bvmemu?\(|\bv\d+(:\d+)?(\.\w+)? *\+?= *v", line):
            kernel.append(line.strip())
    return found


def disassemble(target_object):
    """Returns the instructions of an object by llvm-objdump."""
    return output_of(tool("llvm-objdump-14", "llvm-objdump"), "-d", "--no-show-raw-insn",
                     "--mattr=+hvxv66,+hvx-length128b", target_object)


def build_program(kernels, folder):
    """Links TVM's kernels with the program and returns its path. Raises Missing without a compiler for a Hexagon."""
    clang, linker = tool("clang++-14", "clang++"), tool("ld.lld-14", "ld.lld")
    libraries = sorted(pathlib.Path("/usr/include/newlib/c++").glob("*"))
    if not libraries or not pathlib.Path("/usr/include/boost").exists():
        raise Missing("no headers of newlib's C++ library, or none of Boost "
                      "(Debian: libstdc++-arm-none-eabi-newlib, libboost-dev)")
    if "hexagon" not in output_of(clang, "--print-targets"):
        raise Missing(f"{clang} does not compile for a Hexagon")
    folder.mkdir(parents=True, exist_ok=True)
    boost = folder / "headers" / "boost"  # a folder with nothing else: the host's C library is beside the original
    boost.parent.mkdir(exist_ok=True)
    if not boost.exists():
        boost.symlink_to("/usr/include/boost")
    kernels.write_to_file(str(folder / "kernels.o"))
    tests = ROOT / "tests/targets"
    # These are the options of tests/targets/hexagon/toolchain.cmake.
    options = ["--target=hexagon-unknown-elf", "-mcpu=hexagonv66", "-mhvx", "-mhvx-length=128B", "-G0", "-std=c++20",
               "-O1", "-fuse-init-array", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
               "-nostdinc", "-nostdinc++", "-D__IEEE_LITTLE_ENDIAN", "-Wall", "-Wextra",
               "-I", ROOT / "include", "-I", tests / "freestanding", "-isystem", boost.parent,
               "-isystem", tvm_ffi.libinfo.find_include_path(), "-isystem", tvm_ffi.libinfo.find_dlpack_include_path(),
               "-isystem", libraries[0], "-isystem", libraries[0] / "arm-none-eabi",
               "-isystem", pathlib.Path(output_of(clang, "--print-resource-dir").strip()) / "include",
               "-isystem", "/usr/include/newlib"]
    objects = []
    for source in (pathlib.Path(__file__).with_name("hexagon_program.cpp"), tests / "hexagon/runtime.cpp",
                   tests / "freestanding/c_library.cpp"):
        objects.append(folder / f"{source.stem}.o")
        own = ["-fno-builtin"] if source.stem == "c_library" else []  # it defines memcpy
        subprocess.run([clang, *options, *own, "-c", source, "-o", objects[-1]], check=True)
    program = folder / "hexagon_program"
    subprocess.run([linker, "-static", "--fatal-warnings", *objects, folder / "kernels.o", "-o", program], check=True)
    return program


def run_program(program, x, y, z):
    """Runs the program. Returns (base of the VTCM, tables of both kernels, sum, product, refusals)."""
    emulator = tool("qemu-hexagon", "qemu-hexagon-static")
    ended = subprocess.run([emulator, program], input=x.tobytes() + y.tobytes() + z.tobytes(), capture_output=True,
                           timeout=60)
    if ended.returncode != 0:
        raise RuntimeError(f"qemu-hexagon ended with {ended.returncode}: {ended.stderr.decode()}")
    layout = struct.Struct("<I24I1024s1024s")
    base, *entries, total, product = layout.unpack(ended.stdout[:layout.size])
    total, product = (np.frombuffer(data, "<i4").reshape(4, 64) for data in (total, product))
    refusals = ended.stdout[layout.size:].decode().splitlines()
    return base, (entries[:12], entries[12:]), total, product, refusals


def check_seed(program):
    """Runs the seed program on random numbers. Returns the refusals. Raises AssertionError for a wrong result."""
    random = np.random.default_rng(17)
    x, y, z = (random.integers(-2**31, 2**31, (4, 64), dtype="int32") for _ in range(3))
    base, tables, total, product, refusals = run_program(program, x, y, z)
    first, second = ([base + offset for name in names for offset in VTCM[name]] for names in ("abc", "bac"))
    assert tables[0] == first, f"the tables of compute_add_in_vtcm are {tables[0]} and not {first}"
    assert tables[1] == second, f"the tables of compute_mul_in_vtcm are {tables[1]} and not {second}"
    assert np.array_equal(total, x + y), "the sum differs from NumPy's"
    assert np.array_equal(product, (x + y) * z), "the product differs from NumPy's"
    return refusals


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/tvm/hexagon")
    kernels = compile_kernels()
    for name, lines in sorted(vector_instructions(kernels.inspect_source("asm")).items()):
        print(f"{name}: {len(lines)} HVX instructions in TVM's assembly")
    try:
        program = build_program(kernels, folder)
        for name, lines in sorted(vector_instructions(disassemble(folder / "kernels.o")).items()):
            print(f"{name}: {len(lines)} HVX instructions in the object, for example {lines[0]}")
            assert lines, f"{name} has no HVX instruction"
        refusals = check_seed(program)
    except Missing as reason:
        print(f"skipped: {reason}")
        return
    print("tables at 0, 16 and 32 of 64 bytes, rows at 768 256 2304 3072 … of 4096 bytes: results equal NumPy's")
    print(f"TVM refuses a table of 3 entries: {refusals[0]}")
    print(f"allot refuses a row that is in use: {refusals[1]}")


if __name__ == "__main__":
    main()
