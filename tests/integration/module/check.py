#!/usr/bin/python3
"""Compiles the module and tests with `import allot;`: check.py SCRATCH COMPILER [LIBCXX]

LIBCXX is the folder of a libc++; without it, the compiler uses libstdc++. A test is a file of tests/laws or
tests/unit whose includes of allot are replaced by the import. The program runs them. With Clang 19 and libstdc++,
ALLOT_LONG=1 takes all files that only need what the module exports. Otherwise they are one or two of each folder:
Clang 16 finds differences between equal definitions of the standard library in some files, and some sizes in tests are
those of libstdc++.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODULE = ROOT / "bindings" / "module" / "allot.cppm"
PAGE = ROOT / "docs" / "modules.md"
TESTS = ROOT / "tests"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
FEW = ["laws/constexpr", "unit/core/values", "unit/arena/deduction", "unit/compose/fallback", "unit/strategy/bump",
       "unit/object/typed_pool", "unit/host/pages", "unit/plan/planned", "unit/page_cache/copied_pages",
       "unit/tensor/scope", "unit/inspect/memory_state", "unit/address/models", "unit/plan/symbolic"]
# Folders whose tests need an SDK or a fake driver.
DRIVERS = {"cuda", "gpu", "hexagon", "hip", "opencl", "symmetric", "vulkan", "windows"}
# A file that the module alone is not enough for: private names, macros, headers of Boost, an SDK or a system.
UNSUITED = re.compile(r"\bdetail::|detail/|boost/|\bALLOT_[A-Z]|\bhardening\b|socketpair|"
                      r"allot/(opencl|vulkan|cuda|hip|gpu|mpi|shmem|compose/recorded)")
HARDENED = """
#include <allot/arena/hardening.hpp>

#include <cstddef>

import allot;

int misuses = 0;
struct counted {
    void operator()(allot::misuse, std::size_t, std::size_t) const noexcept { ++misuses; }
};
int main() {
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>,
                 allot::arena_options{.hardening = allot::hardening::debug}, counted> memory{{}, 4096};
    const auto block = memory.allocate({.size = 100});
    memory.deallocate(block);
    memory.deallocate(block);
    return misuses == 1 ? 0 : 1;
}
"""
INCLUDE = re.compile(r'^#include ("[^"]+"|<[^>]+>)\n', re.M)


def closure(path, found):
    """Adds a file of the tests and the files that it includes."""
    if path in found:
        return
    found[path] = path.read_text(encoding="utf-8")
    for name in re.findall(r'^ *#include "([^"]+)"', found[path], re.M):
        inner = next((each for each in (path.parent / name, TESTS / name) if each.exists()), path)
        closure(inner.resolve(), found)


def suited():
    """The tests that the module is enough for."""
    for path in sorted([*TESTS.glob("laws/*_test.cpp"), *TESTS.glob("unit/*/*_test.cpp")]):
        found = {}
        closure(path, found)
        if path.parent.name not in DRIVERS and not any(UNSUITED.search(text) for text in found.values()):
            yield path


def chosen(takes_all):
    if takes_all:
        return list(suited())
    return [TESTS / f"{name}_test.cpp" for name in FEW]


def standard_headers():
    """The headers of the standard library that allot includes. A program that includes allot includes them as well."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "include" / "allot").rglob("*.hpp"))
    return sorted(set(re.findall(r"^#include <([a-z_]+)>", text, re.M)))


def write_importing(path, folder):
    """Writes a test and what it includes into a folder, with the import in place of includes of allot. Other headers
    come first, because some compilers do not merge a header that follows an import."""
    found = {}
    closure(path, found)
    others = []
    for each, text in found.items():
        others += [name for name in INCLUDE.findall(text) if name.startswith("<") and not name.startswith("<allot/")]
        copy = folder / each.relative_to(TESTS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = re.sub(r"^ *#include <allot/.+>\n", "", text, flags=re.M)
        if each == path:
            names = dict.fromkeys([*(f"<{name}>" for name in standard_headers()), *others])
            first = "".join(f"#include {name}\n" for name in names)
            text = f'{first}import allot;\n#line 1 "{path}"\n{text}'
        copy.write_text(text, encoding="utf-8")
    return folder / path.relative_to(TESTS)


class Checks:
    def __init__(self, scratch, compiler, libcxx):
        self.scratch, self.command, self.flags = scratch, [compiler, "-std=c++20"], []
        self.takes_all = os.environ.get("ALLOT_LONG") and compiler == "clang++-19" and not libcxx
        if libcxx:
            llvm = f"llvm-{re.search(r'[0-9]+', libcxx.name)[0]}"
            lib = libcxx / "usr" / "lib"
            self.command += ["-stdlib++-isystem", str(lib / llvm / "include" / "c++" / "v1")]
            folders = lib / llvm / "lib", lib / "x86_64-linux-gnu"
            self.flags += ["-stdlib=libc++", *(f"{flag}{folder}" for folder in folders for flag in ("-L", "-Wl,-rpath,"))]

    def call(self, *arguments):
        command = [*self.command, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.scratch, text=True, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr[:6000]}")

    def module(self):
        """Compiles the module: its interface, and its object file."""
        self.call(*WARNINGS, "-I", ROOT / "include", "--precompile", MODULE, "-o", "allot.pcm")
        self.call("-c", "allot.pcm", "-o", "allot.o")

    def compile(self, source):
        target = self.scratch / (re.sub(r"\W", "_", str(source.relative_to(self.scratch))) + ".o")
        self.call("-fmodule-file=allot=allot.pcm", "-O0", "-I", self.scratch / "tests", "-c", source, "-o", target)
        return target

    def programs(self):
        """The samples of docs/modules.md, and a file that includes a header outside of the module and imports allot."""
        samples = re.findall(r"^```cpp\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
        for number, text in enumerate([*samples, HARDENED]):
            source, program = self.scratch / f"program_{number}.cpp", self.scratch / f"program_{number}"
            source.write_text(text, encoding="utf-8")
            self.call(*WARNINGS, "-fmodule-file=allot=allot.pcm", "-isystem", ROOT / "include", source, "allot.o",
                      *self.flags, "-o", program)
            subprocess.run([program], cwd=self.scratch, check=True)

    def tests(self):
        """Tests through the import."""
        sources = [write_importing(path, self.scratch / "tests") for path in chosen(self.takes_all)]
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("ALLOT_JOBS", os.cpu_count() or 1))) as pool:
            objects = list(pool.map(self.compile, sources))
        self.call("-c", "-O0", TESTS / "main.cpp", "-o", "main.o")
        self.call(*objects, "main.o", "allot.o", *self.flags, "-pthread", "-o", "tests_of_module")
        subprocess.run([self.scratch / "tests_of_module"], cwd=self.scratch, check=True)


def main(scratch, compiler, libcxx=None):
    if not shutil.which(compiler):
        print(f"skipped: no {compiler}")
        return 77
    scratch = pathlib.Path(scratch).resolve()
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    checks = Checks(scratch, compiler, libcxx and pathlib.Path(libcxx))
    checks.module()
    checks.programs()
    checks.tests()
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
