#!/usr/bin/python3
"""The file of the C interface: its symbols, what it needs, its header in C and C++, its samples, and dlopen.

    library_test.py LIBRARY        liballot_c.so, built without sanitizers
    library_test.py --write-abi    writes allot_c.abi, after functions, members or codes are added

The file allot_c.abi is the interface that was released last. abidiff compares the header with it.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BINDING = ROOT / "bindings" / "c"
EXAMPLES = BINDING / "examples"
HEADER = (BINDING / "allot.h").read_text(encoding="utf-8")
ABI = Path(__file__).with_name("allot_c.abi")
LIBRARY = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 and sys.argv[1] != "--write-abi" else None
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def output_of(*command, **more):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, **more)
    if done.returncode:
        raise AssertionError(f"{command} exits with {done.returncode}:\n{done.stdout}")
    return done.stdout


def run_sample(program):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(LIBRARY.parent))
    text = output_of(program, env=environment)
    for line in ("tensor at ", "again: a block that is not live"):
        if line not in text:
            raise AssertionError(f"{program} prints no '{line}':\n{text}")


def write_abi(folder, to):
    """Writes the interface of the header: that of a library in C with a definition for each function."""
    source, library = Path(folder) / "stub.c", Path(folder) / "liballot_c.so.1"
    functions = re.findall(r"^ALLOT_API ([^;]*?)(\w+)(\([^;]*\));", HEADER, re.M)
    source.write_text("#include <allot.h>\n" + "".join(
        f"{returns}{name}{arguments} {{ {'return 0; ' if returns.strip() != 'void' else ''}}}\n"
        for returns, name, arguments in functions))
    output_of("gcc", "-std=c11", "-g", "-fPIC", "-shared", f"-I{BINDING}", "-Wl,-soname,liballot_c.so.1",
              f"-Wl,--version-script={BINDING}/allot_c.map", source, "-o", library)
    to.write_text(output_of("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", library))


def zig():
    """The command of Zig: installed, or from PyPI."""
    if shutil.which("zig"):
        return ["zig"]
    for python in (ROOT / "build/tools/ziglang/bin/python", sys.executable):
        if Path(python).exists() and not subprocess.run([python, "-m", "ziglang", "version"], capture_output=True).returncode:
            return [python, "-m", "ziglang"]
    return None


BYTES = ctypes.create_string_buffer(1024 * 1024)


def memory_of(handle, *options):
    """Returns how many bytes of its own a new handle takes. `options` are the members before `callbacks`."""
    library = ctypes.CDLL(str(LIBRARY))
    c, blocks = ctypes.CDLL(None), {}
    c.malloc.restype = ctypes.c_void_p

    def allocate(_, size, align):
        made = c.malloc(ctypes.c_size_t(size))
        blocks[made] = size
        return made

    def release(_, memory, size, align):
        if blocks.pop(memory) != size:
            raise AssertionError("the size of a block changed")
        c.free(ctypes.c_void_p(memory))

    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    functions = ctypes.CFUNCTYPE(pointer, pointer, size, size)(allocate), \
        ctypes.CFUNCTYPE(None, pointer, pointer, size, size)(release)
    callbacks = (pointer * 3)(*(ctypes.cast(function, pointer) for function in functions), None)
    members = (ctypes.c_uint64 * (len(options) + 2))(8 * (len(options) + 2), *options, ctypes.addressof(callbacks))
    made = pointer()
    status = getattr(library, f"{handle}_create")(members, ctypes.byref(made))
    if status:
        raise AssertionError(f"{handle}_create returns {status}")
    taken = sum(blocks.values())
    getattr(library, f"{handle}_destroy")(made)
    if blocks:
        raise AssertionError(f"{handle}_destroy keeps blocks")
    return taken


class Library(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compile(self, compiler, standard, source, *more):
        if not shutil.which(compiler):
            self.skip(f"{compiler} is not installed")
        program = self.folder / f"{compiler}_{source.name}"
        output_of(compiler, f"-std={standard}", *STRICT, f"-I{BINDING}", source, f"-L{LIBRARY.parent}", "-lallot_c", "-o",
                  program, *more)
        return program

    def skip(self, reason):
        print(f"skipped: {reason}")
        self.skipTest(reason)

    def test_symbols(self):
        declared = set(re.findall(r"^ALLOT_API [^(]*?\b(allot_\w+)\(", HEADER, re.M))
        listed = set(re.findall(r"^\s+(allot_\w+);", (BINDING / "allot_c.map").read_text(encoding="utf-8"), re.M))
        lines = output_of("nm", "-D", "--defined-only", "--with-symbol-versions", LIBRARY).splitlines()
        symbols = {line.split()[-1] for line in lines if line.split()[-2] != "A"}  # A: the versions
        self.assertEqual(declared, listed)
        self.assertEqual(symbols, {f"{name}@@ALLOT_C_1" for name in listed})
        self.assertLessEqual(len(listed), 45)

    def test_needs_only_the_c_library(self):
        dynamic = output_of("readelf", "-d", LIBRARY)
        self.assertIn("[liballot_c.so.1]", dynamic)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        self.assertFalse({name for name in needed if not re.match(r"(libc|ld-linux[\w-]*)\.so", name)}, needed)

    def test_header(self):
        include = self.folder / "twice.c"
        include.write_text("#include <allot.h>\n#include <allot.h>\nint main(void) { return allot_version() == 0; }\n")
        compilers = [name for name in ("gcc", "clang", "g++", "clang++") if shutil.which(name)]
        for compiler in compilers:
            for standard in ("c11", "c17") if compiler in ("gcc", "clang") else ("c++11", "c++20"):
                with self.subTest(compiler=compiler, standard=standard):
                    language = ["-x", "c++" if "++" in compiler else "c"]
                    output_of(compiler, *language, f"-std={standard}", *STRICT, "-Wconversion", "-Wshadow", f"-I{BINDING}",
                              "-fsyntax-only", include)
        self.assertTrue(compilers)

    def test_sample_in_c(self):
        run_sample(self.compile("gcc", "c11", EXAMPLES / "tensors.c"))

    def test_samples_of_the_guide(self):
        samples = re.findall(r"^```c\n(.*?)^```", (ROOT / "docs" / "c.md").read_text(encoding="utf-8"), re.S | re.M)
        self.assertGreater(len(samples), 1)
        for number, text in enumerate(samples):
            source = self.folder / f"sample{number}.c"
            source.write_text(text)
            with self.subTest(sample=number):
                program = self.compile("gcc", "c11", source)
                output_of(program, env=dict(os.environ, LD_LIBRARY_PATH=str(LIBRARY.parent)), cwd=self.folder)

    def test_sample_in_cpp(self):
        run_sample(self.compile("g++", "c++11", EXAMPLES / "tensors.cpp"))

    def test_sample_in_rust(self):
        if not shutil.which("rustc"):
            self.skip("rustc is not installed (Debian: rustc)")
        program = self.folder / "tensors_rs"
        output_of("rustc", "-D", "warnings", "-L", LIBRARY.parent, EXAMPLES / "tensors.rs", "-o", program)
        run_sample(program)

    def test_sample_in_zig(self):
        command = zig()
        if not command:
            self.skip("Zig is not installed (PyPI: ziglang)")
        program = self.folder / "tensors_zig"
        output_of(*command, "build-exe", EXAMPLES / "tensors.zig", "-lc", f"-L{LIBRARY.parent}", "-lallot_c",
                  f"-femit-bin={program}", "--cache-dir", self.folder / "cache", "--global-cache-dir", self.folder / "global")
        run_sample(program)

    def test_dlopen(self):
        library = ctypes.CDLL(str(LIBRARY))
        library.allot_status_text.restype = ctypes.c_char_p
        self.assertEqual(library.allot_status_text(4), b"fewer bytes are free than were asked for")
        self.assertGreaterEqual(library.allot_version(), 100)
        options = (ctypes.c_uint64 * 4)(32, 1000, 0, 0)  # struct_size, size, blocks, callbacks
        arena = ctypes.c_void_p()
        self.assertEqual(library.allot_offsets_create(options, ctypes.byref(arena)), 0)
        block = (ctypes.c_uint64 * 3)()
        self.assertEqual(library.allot_offsets_allocate(arena, ctypes.c_uint64(10), ctypes.c_uint64(1), block), 0)
        self.assertEqual((block[0], block[1]), (0, 10))
        library.allot_offsets_destroy(arena)

    def test_memory_of_the_guide(self):
        guide = (ROOT / "docs" / "c.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(allot_\w+)` \|[^|]*\| ([\d.]+) (KB|bytes), and (.*) \|$", guide, re.M)
        said = {name: (f"{number} {unit}", rest) for name, number, unit, rest in rows}
        self.assertEqual(set(said), {"allot_arena", "allot_offsets", "allot_pool"})
        if ctypes.sizeof(ctypes.c_void_p) != 8:
            self.skip("the sizes of the guide are those of 64-bit machines")

        def text(size):
            return f"{size / 1000:.1f} KB" if size >= 1000 else f"{size} bytes"

        first, last = 64 * 1024, 1024 * 1024
        one, two = (memory_of("allot_arena", ctypes.addressof(BYTES), size) for size in (first, last))
        self.assertEqual(two - one, (last - first) // 128)
        self.assertEqual(said["allot_arena"], (text(one - first // 128), "1/128 of the bytes"))
        one, two = (memory_of("allot_offsets", last, blocks) for blocks in (0, 1000))
        self.assertEqual(said["allot_offsets"], (text(one), f"{(two - one) // 1000} bytes for each block"))
        one, two = (memory_of("allot_pool", 0, 16 * slots, 16, 16) for slots in (1, 1001))
        each = (two - one) // 1000
        self.assertEqual(said["allot_pool"], (text(one - each), f"{each} for each slot"))

    def test_interface_is_the_released_one(self):
        if not shutil.which("abidiff"):
            self.skip("abidiff is not installed (Debian: abigail-tools)")
        if os.uname().machine != "x86_64":
            self.skip("allot_c.abi is of x86-64")
        write_abi(self.folder, self.folder / "now.abi")
        output_of("abidiff", ABI, self.folder / "now.abi")  # any change needs a decision: see docs/versioning.md


if __name__ == "__main__":
    if "--write-abi" in sys.argv:
        with tempfile.TemporaryDirectory() as scratch:
            write_abi(scratch, ABI)
    elif LIBRARY is None:
        sys.exit(__doc__)
    else:
        unittest.main()
