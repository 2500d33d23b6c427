#!/usr/bin/python3
"""Makes the single headers and tests them with one compiler: check.py SCRATCH COMPILER

Compiles programs that include them in several orders, in one file and in three, without Boost where none is needed, and,
in the run of g++, for other targets whose compilers are installed. Compiles laws of tests/laws against them, in place of
include/, and runs these. ALLOT_LONG=1 runs all laws of one allocator, and tests of tensors, page caches and logs; otherwise
clang++ runs the laws of strategies and those in constant expressions. Compares the links of the pages with their programs.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bindings" / "single_header"))
import explore  # noqa: E402
import join  # noqa: E402

FILE_OF_FOLDER = dict.fromkeys(("core", "address", "strategy", "arena", "host", "compose", "object", "adapt"), "allot.hpp") | {
    "plan": "allot_plan.hpp", "tensor": "allot_tensor.hpp", "page_cache": "allot_page_cache.hpp", "inspect": "allot_inspect.hpp"}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
BARE = ["-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-Wno-psabi", "-mthumb"]
OTHERS = {  # compilers of other targets, with their flags
    "arm-none-eabi-g++": [["-mcpu=cortex-m0", *BARE], ["-mcpu=cortex-m4", "-mthumb", "-Wno-psabi"]],
    "s390x-linux-gnu-g++": [[]],
    "x86_64-w64-mingw32-g++": [[]],
}
HARDENED = """
int misuses = 0;
struct counted {
    void operator()(allot::misuse, std::size_t, std::size_t) const noexcept { ++misuses; }
};
int freed_twice() {
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>,
                 allot::arena_options{.hardening = allot::hardening::debug}, counted> memory{{}, 4096};
    const auto block = memory.allocate({.size = 100});
    memory.deallocate(block);
    memory.deallocate(block);
    return misuses == 1 ? 0 : 1;
}
"""
PLANNED = """
static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}},
                                                 {.size = 4096, .live = {2, 3}}};
constexpr auto layout = allot::plan<buffers>();
static_assert(layout.peak == 5120);
constexpr bool is_allocated_in_a_constant_expression() {
    allot::pool<allot::pool_options{.slot = 64, .count = 10, .store = allot::pool_store::bitmap}> slots;
    return slots.insert({0, 640}) && slots.allocate({.size = 64});
}
static_assert(is_allocated_in_a_constant_expression());
"""
ALLOCATED = """
int allocated() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1 << 16};
    auto block = memory.allocate({.size = 100, .align = 64});
    if (!block) return 1;
    memory.deallocate(block);
    return 0;
}
"""
CACHED = """
int cached() {
    using cache_type = allot::page_cache<allot::page_pool<16>>;
    const allot::page_cache_limits limits{.bytes = 16, .sequences = 2, .sequence_pages = 4};
    alignas(16) static std::byte records[4096];
    if (cache_type::bytes_for(limits) > sizeof records) return 1;
    static cache_type cache{limits, records};
    const auto begun = cache.start({});
    return begun && cache.append(begun->sequence, 40) && cache.pages(begun->sequence).size() == 3 ? 0 : 1;
}
"""
PLACED = """
int placed() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1 << 16};
    auto storage = allot::alloc_storage(memory, 4096, 64);
    if (!storage) return 1;
    auto tensor = allot::alloc_tensor(*storage, 0, {4, 64}, allot::float32);
    return tensor && tensor->shape().rank() == 2 ? 0 : 1;
}
"""


BARE_PROGRAM = """
#include "allot.hpp"
static allot::arena<allot::host::static_storage<1024>, allot::bump<>> memory;
extern "C" void _start() {
    while (memory.allocate({.size = 10})) {}
}
extern "C" void _exit(int) {
    for (;;) {}
}
"""


class Checks:
    def __init__(self, scratch, compiler):
        self.scratch, self.compiler = scratch, [compiler, "-std=c++20"]
        self.single = scratch / "single"

    def compile(self, text, *flags, compiler=None):
        """Compiles a text. Returns the messages of the compiler, or an empty string after a success."""
        done = subprocess.run([*(compiler or self.compiler), "-I", self.single, *flags, "-x", "c++", "-"], text=True,
                              input=text, cwd=self.scratch, stderr=subprocess.PIPE, check=False)
        return "" if done.returncode == 0 else done.stderr or "failed"

    def expect(self, text, *flags, compiler=None):
        """Compiles a text and ends the test if that fails."""
        messages = self.compile(text, *flags, compiler=compiler)
        if messages:
            sys.exit(f"{compiler or self.compiler} {flags}:\n{text[:300]}\n{messages[:3000]}")

    def refuse(self, text, sentence, *flags):
        """Expects that a text does not compile, with a sentence."""
        messages = self.compile(text, "-fsyntax-only", *flags)
        if sentence not in messages:
            sys.exit(f"this compiles, or fails without '{sentence}':\n{text}\n{messages[:3000]}")

    def write(self):
        """The files are the same each time, and contain each public header of their folders that needs no Boost."""
        join.main([str(self.single)])
        tree = join.Tree()
        for name in join.FILES:
            if (self.single / name).read_text(encoding="utf-8") != tree.joined(name):
                sys.exit(f"{name} is another text the second time")
        for path in (ROOT / "include" / "allot").rglob("*.hpp"):
            path = path.relative_to(ROOT / "include" / "allot")
            file = FILE_OF_FOLDER.get(str(path.parent))
            if file is not None:
                is_there = f"// ==== allot/{path}\n" in (self.single / file).read_text(encoding="utf-8")
                if is_there == tree.needs_boost(str(path)) and join.Header(str(path)).text:
                    sys.exit(f"{path}: {'needs Boost' if is_there else f'is not in {file}'}")

    def orders(self):
        """Each file compiles alone, all compile together, and files with different orders link."""
        names = list(join.FILES)
        for order in (*([name] for name in names), names[::-1]):
            self.expect("".join(f'#include "{name}"\n' for name in order), "-fsyntax-only", *WARNINGS)
        functions = ("freed_twice", "allocated", "cached", "placed")
        main = ('#include "allot_plan.hpp"\n#include "allot.hpp"\n#include "allot_boost.hpp"\n' + PLANNED
                + "".join(f"int {name}();\n" for name in functions))
        self.expect(main + f"int main() {{ return {' + '.join(f'{name}()' for name in functions)}; }}", "-c", "-o", "main.o",
                    *WARNINGS)
        self.expect('#include "allot_boost.hpp"\n#include "allot.hpp"\n' + HARDENED + ALLOCATED, "-c", "-o", "allocated.o",
                    *WARNINGS)
        self.expect('#include "allot_page_cache.hpp"\n' + CACHED, "-c", "-o", "cached.o", *WARNINGS)
        self.expect('#include "allot_tensor.hpp"\n#include "allot.hpp"\n' + PLACED, "-c", "-o", "placed.o", *WARNINGS)
        subprocess.run([self.compiler[0], "main.o", "allocated.o", "cached.o", "placed.o", "-o", "all"], cwd=self.scratch,
                       check=True)
        subprocess.run([self.scratch / "all"], check=True)

    def without_boost(self):
        """Without Boost, and without exceptions and RTTI, all but allot_boost.hpp compile."""
        missing = self.scratch / "no_boost" / "boost" / "intrusive"
        missing.mkdir(parents=True, exist_ok=True)
        for name in ("set.hpp", "list.hpp"):
            (missing / name).write_text("#error a file of Boost is included\n", encoding="utf-8")
        all_others = "".join(f'#include "{name}"\n' for name in join.FILES if name != "allot_boost.hpp") + PLANNED + ALLOCATED
        self.expect(all_others, "-fsyntax-only", "-I", "no_boost", "-fno-exceptions", "-fno-rtti", *WARNINGS)
        self.refuse('#include "allot_boost.hpp"\n', "a file of Boost is included", "-I", "no_boost")
        for compiler, targets in OTHERS.items() if self.compiler[0] == "g++" else ():
            if not shutil.which(compiler):
                print(f"skipped: the single headers are not compiled for another target: no {compiler}")
                continue
            for flags in targets:
                self.expect(all_others, "-fsyntax-only", *WARNINGS, *flags, compiler=[compiler, "-std=c++20"])
            if compiler == "arm-none-eabi-g++":  # links without an operating system, also if no section is removed
                self.expect(BARE_PROGRAM, "-Os", "-DNDEBUG", "-mcpu=cortex-m4", "-mthumb", "-fno-exceptions", "-fno-rtti",
                            "-fno-threadsafe-statics", "-nostartfiles", "--specs=nano.specs", "-o", "bare.elf",
                            compiler=[compiler, "-std=c++20"])

    def refusals(self):
        self.refuse('#include <allot/allot.hpp>\n#include "allot.hpp"\n', "include only one of them", "-I",
                    str(ROOT / "include"))
        self.refuse('#include "allot.hpp"\n', "allot needs C++20", "-std=c++17")
        self.refuse('#include "allot.hpp"\n' + HARDENED, "<allot/arena/hardening.hpp>")

    def links(self):
        """The source behind a link compiles, with the folder of the single headers in place of the address. The links of
        the pages have the contents of their programs."""
        address = "https://example.org/allot"
        for name in ("static_plan", "tensors_in_one_storage"):
            text = (ROOT / "examples" / "basic" / f"{name}.cpp").read_text(encoding="utf-8")
            shown = explore.state(explore.link(text, address))["sessions"][0]["source"]
            self.expect(shown.replace(address + "/", ""), "-fsyntax-only", *WARNINGS)
        if explore.obstacle("#include <allot/opencl.hpp>\n") != "no single header contains <allot/opencl.hpp>":
            sys.exit("a program with the header of a GPU has a link")
        for page in explore.pages():
            if explore.with_links(page) != page.read_text(encoding="utf-8"):
                sys.exit(f"{page}: a link differs from its program; write it: ./dev single --pages")
        if not any(explore.DEFINITION.search(page.read_text(encoding="utf-8")) for page in explore.pages()):
            sys.exit("no page has a link to Compiler Explorer")

    def laws(self):
        """The laws, whose includes of <allot/...> lead to the single headers."""
        if self.compiler[0] == "g++" and not os.environ.get("ALLOT_LONG"):
            return
        forwarding, tree = self.scratch / "forwarding" / "allot", join.Tree()
        for name, (_, patterns) in reversed(join.FILES.items()):
            for path in tree.chosen(patterns):
                (forwarding / path).parent.mkdir(parents=True, exist_ok=True)
                (forwarding / path).write_text(f"#include <{name}>\n", encoding="utf-8")
        names = ["strategies_without_arena", "constexpr"]
        if os.environ.get("ALLOT_LONG"):
            names += ["growing", "host", "paged", "unreachable"]
        sources = [ROOT / "tests" / "main.cpp", *(ROOT / "tests" / "laws" / f"{name}_test.cpp" for name in names)]
        if os.environ.get("ALLOT_LONG"):
            sources += [ROOT / "tests" / "unit" / f"{name}_test.cpp" for name in
                        ("tensor/tensor", "tensor/shared_rows", "page_cache/page_cache", "inspect/trace")]
        subprocess.run([*self.compiler, "-O0", "-I", forwarding.parent, "-I", self.single, *sources, "-o", "laws", "-pthread"],
                       cwd=self.scratch, check=True)
        read = subprocess.run([*self.compiler, "-I", forwarding.parent, "-I", self.single, "-M", *sources], text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        if re.search(re.escape(str(ROOT / "include")), read):
            sys.exit("the laws read a header of include/")
        subprocess.run([self.scratch / "laws"], check=True)


def main(scratch, compiler):
    if not shutil.which(compiler):
        print(f"skipped: no {compiler}")
        return 77
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    checks = Checks(scratch, compiler)
    for check in (checks.write, checks.orders, checks.without_boost, checks.refusals, checks.links, checks.laws):
        check()
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
