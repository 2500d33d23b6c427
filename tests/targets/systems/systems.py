#!/usr/bin/env python3
"""Compiles the headers and the laws with other compilers and for other systems, runs the laws, and writes the table.

    systems.py BUILD TOOLS [--headers] [CELL...]
                                         compile and run all cells, or those that are named; --headers: only the headers
    systems.py --list                    print the names of the cells
    systems.py --table README.md BUILD   write the table of the README from the results in BUILD

A cell is a compiler, a standard library and a system. Every header that needs no SDK is compiled for it, with each C++
standard that the compiler has; on other systems than Linux, without the headers of Linux. All laws (tests/laws) are
then compiled and run: natively, under Wine, QEMU or wasmtime. For Windows, the tests of windows::pages and
windows::virtual_memory run as well. BUILD/results.json keeps the results of all cells. TOOLS holds ziglang, wasmtime and
libc++, which ./dev installs. A cell whose compiler or emulator is missing is skipped, with the reason.
"""

import concurrent.futures
import dataclasses
import datetime
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HEADERS = ROOT / "include" / "allot"
STANDARDS = {"C++20": "c++20", "C++23": "c++2b", "C++26": "c++2c"}  # the names that old compilers have as well
SDK = {"cuda", "gpu", "hip", "mpi", "opencl", "shmem", "vulkan"}
THREADS = {"host/job_queue.hpp"}  # needs std::mutex, which a system without threads lacks
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]
MSVC = ["-fms-extensions", "-fms-compatibility", "-fms-compatibility-version=19.40", "-fgnuc-version=4.2.1",
        "-D__STRICT_ANSI__"]
# The layout of classes is a property of the target. Its C library is that of MinGW, because MSVC's cannot be had.
MSVC_LAYOUT = ["-target", "x86_64-pc-windows-msvc", "-U_MSC_VER", "-D__MINGW32__", "-D__MINGW64__", "-fgnuc-version=4.2.1",
               "-fms-extensions", "-nostdinc++", "-isystem", "TOOLS/libcxx-19/usr/lib/llvm-19/include/c++/v1", "-isystem",
               "TOOLS/ziglang/lib/python3*/site-packages/ziglang/lib/libc/include/any-windows-any"]
M32 = ["-m32", "-idirafter", "/usr/include/x86_64-linux-gnu"]  # asm/ of Debian, without the package g++-multilib
EMPTY_MEMBERS = """
struct probe {
    ALLOT_NO_UNIQUE_ADDRESS allot::no_error first;
    int second;
};
static_assert(sizeof(probe) == sizeof(int), "an empty member takes no bytes");
"""
HEADING = "## Compilers and systems"
LAWS_TIME, HEADERS_TIME = 7200, 1800  # seconds


@dataclasses.dataclass
class Cell:
    """A row of the table. TOOLS in a command is replaced by the folder of the tools."""
    name: str
    compiler: str
    library: str
    system: str
    command: typing.List[str]
    standards: typing.Tuple[str, ...] = ("C++20", "C++23")
    family: str = "linux"  # linux, windows, macos or wasi
    launch: typing.Optional[typing.List[str]] = dataclasses.field(default_factory=list)  # None: cannot run here
    how: str = ""  # the emulator
    flags: typing.List[str] = dataclasses.field(default_factory=list)  # of the laws
    laws: bool = True


def debian_clang(version, standards):
    return Cell(f"clang-{version}", f"Clang {version}", "libstdc++ 12", "x86-64 Linux", [f"clang++-{version}"], standards)


def libcxx(version, standards):
    lib = f"TOOLS/libcxx-{version}/usr/lib/llvm-{version}"
    return Cell(f"clang-{version}-libcxx", f"Clang {version}", f"libc++ {version}", "x86-64 Linux",
                [f"clang++-{version}", "-stdlib++-isystem", f"{lib}/include/c++/v1"], standards,
                flags=["-stdlib=libc++", f"-L{lib}/lib", f"-Wl,-rpath,{lib}/lib", f"-Wl,-rpath,TOOLS/libcxx-{version}/usr/lib/x86_64-linux-gnu",
                       f"-LTOOLS/libcxx-{version}/usr/lib/x86_64-linux-gnu"])


def zig(name, target, system, **rest):
    command = ["TOOLS/ziglang/bin/python", "-m", "ziglang", "c++", "-target", target, "-Wno-unused-command-line-argument"]
    return Cell(f"zig-{name}", "Clang 22 (ziglang)", "libc++ 22", system, command, tuple(STANDARDS), **rest)


TWO, THREE = ("C++20", "C++23"), tuple(STANDARDS)
WASI = [sys.executable, str(Path(__file__).with_name("run_wasi.py")), "TOOLS/ziglang"]
CELLS = [
    Cell("gcc-11", "GCC 11", "libstdc++ 11", "x86-64 Linux", ["g++-11"], TWO),
    Cell("gcc-12", "GCC 12", "libstdc++ 12", "x86-64 Linux", ["g++-12"], TWO),
    Cell("gcc-12-m32", "GCC 12", "libstdc++ 12", "32-bit x86 Linux (-m32)", ["g++-12", *M32], TWO),
    debian_clang(14, TWO),
    debian_clang(15, TWO),
    debian_clang(16, TWO),
    debian_clang(19, THREE),
    libcxx(16, TWO),
    libcxx(19, THREE),
    Cell("clang-19-m32", "Clang 19", "libstdc++ 12", "32-bit x86 Linux (-m32)", ["clang++-19", *M32], THREE),
    Cell("clang-19-ms", "Clang 19 with the options of MSVC", "libstdc++ 12", "x86-64 Linux", ["clang++-19", *MSVC], THREE,
         laws=False),
    Cell("clang-19-ms-layout", "Clang 19 with MSVC's layout of classes", "libc++ 19", "x86-64 Windows",
         ["clang++-19", *MSVC_LAYOUT], THREE, family="windows", launch=None, laws=False),
    zig("linux", "x86_64-linux-gnu", "x86-64 Linux"),
    zig("windows", "x86_64-windows-gnu", "x86-64 Windows", family="windows", launch=["wine"], how="Wine"),
    zig("macos", "aarch64-macos", "AArch64 macOS", family="macos", launch=None),
    zig("musl", "aarch64-linux-musl", "AArch64 Linux (musl)", launch=["qemu-aarch64"], how="QEMU", flags=["-static"]),
    zig("s390x", "s390x-linux-gnu", "s390x Linux, big-endian", launch=["qemu-s390x", "-L", "/usr/s390x-linux-gnu"], how="QEMU"),
    zig("wasi", "wasm32-wasi", "WebAssembly (WASI)", family="wasi", launch=WASI, how="wasmtime",
        flags=["-fno-exceptions", "-D_WASI_EMULATED_SIGNAL", "-lwasi-emulated-signal", "-Wl,-z,stack-size=8388608",
               "-D_LIBCPP_HAS_FILESYSTEM=1", "-Wno-macro-redefined", "-DDOCTEST_CONFIG_NO_POSIX_SIGNALS",
               "-DDOCTEST_CONFIG_NO_MULTITHREADING", "-DDOCTEST_CONFIG_NO_EXCEPTIONS_BUT_WITH_ALL_ASSERTS"]),
    Cell("mingw", "GCC 12 (MinGW-w64)", "libstdc++ 12", "x86-64 Windows", ["x86_64-w64-mingw32-g++-posix"], TWO,
         family="windows", launch=["wine"], how="Wine", flags=["-static"]),
]


# ── headers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

def includes(path):
    """The includes of a header. Those of other projects count only outside of #if, where every build needs them."""
    depth, found = 0, []
    for line in path.read_text(encoding="utf-8").splitlines():
        depth += bool(re.match(r"#\s*if", line)) - bool(re.match(r"#\s*endif", line))
        match = re.match(r"#\s*include <([^>]+)>", line)
        if match and (depth == 0 or match[1].startswith("allot/")):
            found.append(match[1])
    return found


def needs(name, done):
    """What a header of allot includes, also through other headers of allot."""
    if name not in done:
        done[name] = set()
        for each in includes(HEADERS / name):
            done[name] |= needs(each[6:], done) if each.startswith("allot/") else {each}
    return done[name]


def is_of_a_system(include):
    return not include.startswith("boost/") and ("/" in include or include.endswith(".h"))


def headers_for(family):
    """The headers that need no SDK, and that the system has everything for."""
    done, chosen = {}, []
    for path in sorted(HEADERS.rglob("*.hpp")):
        name = path.relative_to(HEADERS).as_posix()
        found = needs(name, done)
        if name.split("/")[0].removesuffix(".hpp") in SDK:
            continue
        if family != "linux" and any(map(is_of_a_system, found)):
            continue
        if family == "wasi" and name in THREADS:
            continue
        chosen.append(name)
    return chosen


# ── one cell ─────────────────────────────────────────────────────────────────────────────────────────────────────────

class Failure(Exception):
    pass


def call(command, seconds, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=seconds, **options)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}\nexit status {done.returncode}\n{done.stdout[-8000:]}")
    return done.stdout


def in_tools(argument, tools):
    """The argument with the folder of the tools. A pattern is replaced by the path that matches it."""
    argument = argument.replace("TOOLS", str(tools))
    return next(iter(glob.glob(argument)), argument) if "*" in argument else argument


class Run:
    """The compilations and the program of one cell."""

    def __init__(self, cell, build, tools, pool):
        self.cell, self.pool = cell, pool
        self.folder = build / cell.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.command, self.flags, self.launch = ([in_tools(each, tools) for each in some or []]
                                                 for some in (cell.command, cell.flags, cell.launch))
        self.common = [f"-I{ROOT}/include", "-isystem", str(isolated(build))]
        self.environment = {**os.environ, "WINEPREFIX": str(build / "wine"), "WINEDEBUG": "-all",
                            "WINEDLLOVERRIDES": "mscoree,mshtml=", "ZIG_GLOBAL_CACHE_DIR": str(build / "zig")}
        self.environment.pop("ALLOT_LONG", None)  # the long tests would take hours in an emulator

    def missing(self):
        """The first program that is not installed, or an empty string."""
        programs = [self.command[0], *self.launch[:1]]
        folders = [after for each, after in zip(self.command, self.command[1:]) if each.endswith("-isystem")]
        return next((each for each in programs if not shutil.which(each)), "") or \
            next((each for each in folders if not os.path.isdir(each)), "")

    def compile_headers(self, standard):
        source = self.folder / f"headers_{standard.replace('+', 'x')}.cpp"
        source.write_text("".join(f"#include <allot/{each}>\n" for each in headers_for(self.cell.family)) + EMPTY_MEMBERS)
        target = ["-c", "-o", str(source.with_suffix(".o"))]
        call([*self.command, f"-std={STANDARDS[standard]}", *WARNINGS, *self.common, *target, str(source)], HEADERS_TIME,
             env=self.environment)

    def sources(self):
        laws = sorted((ROOT / "tests" / "laws").rglob("*_test.cpp"))
        if self.cell.family == "windows":
            laws += sorted((ROOT / "tests" / "unit" / "windows").glob("*_test.cpp"))
        if self.cell.family == "wasi":
            laws.append(Path(__file__).with_name("wasi.cpp"))
        return [ROOT / "tests" / "main.cpp", *laws]

    def compile_laws(self):
        """Compiles all files at once, and links them."""
        def one(source):
            target = self.folder / f"{source.parent.name}_{source.stem}.o"
            call([*self.command, "-std=c++20", "-O1", *self.common, *self.compile_flags(), "-c", "-o", str(target),
                  str(source)], LAWS_TIME, env=self.environment)
            return str(target)
        objects = list(self.pool.map(one, self.sources()))
        call([*self.command, *objects, *self.flags, "-o", str(self.program())], LAWS_TIME, env=self.environment)

    def compile_flags(self):
        return [each for each in self.flags if not each.startswith(("-L", "-l", "-Wl", "-static", "-stdlib"))]

    def program(self):
        return self.folder / {"windows": "laws.exe", "wasi": "laws.wasm"}.get(self.cell.family, "laws")

    def run_laws(self):
        output = call([*self.launch, str(self.program())], LAWS_TIME, env=self.environment)
        (self.folder / "laws.log").write_text(output)
        if not re.search(r"test cases: +[1-9]\d* +\| +[1-9]\d* passed", output) or "SUCCESS" not in output:
            raise Failure(f"the laws did not run:\n{output[-2000:]}")

    def judge(self, result, headers_only):
        """Adds the result of each column. Raises a failure."""
        for standard in self.cell.standards:
            self.compile_headers(standard)
            result[standard] = "compiles"
        if self.cell.laws and not headers_only:
            self.compile_laws()
            result["laws"] = "compile and link"
            if self.cell.launch is not None:
                self.run_laws()
                result["laws"] = f"hold ({self.cell.how})" if self.cell.how else "hold"


def isolated(build):
    """A folder with the headers of Boost and doctest alone: their folder also has those of the C library."""
    folder = build / "headers"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("boost", "doctest"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(Path("/usr/include") / name)
    return folder


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────

def row(cell, result):
    columns = [result.get(each, "not run") if each in cell.standards else "–" for each in STANDARDS]
    laws = result.get("laws", "not run") if cell.laws else "–"
    return f"| {cell.compiler} | {cell.library} | {cell.system} | " + " | ".join([*columns, laws]) + " |"


def table(results, before):
    """The table. A cell without results keeps its row in the text `before`."""
    lines = ["| compiler | standard library | system | C++20 | C++23 | C++26 | laws |", "|---|---|---|---|---|---|---|"]
    for each in CELLS:
        fresh = row(each, results.get(each.name, {}))
        kept = [line for line in before.splitlines() if line.split(" | ")[:3] == fresh.split(" | ")[:3]]
        lines.append(kept[0] if kept and not results.get(each.name) else fresh)
    return "\n".join([*lines, "| MSVC | Microsoft's | Windows | not run | not run | not run | not run |"])


def with_table(readme, results):
    """The README with the table under its heading."""
    before, after = readme.split(HEADING + "\n", 1)
    return before + HEADING + "\n" + re.sub(r"^\| compiler \|.*?\n(?!\|)", lambda old: table(results, old[0]) + "\n", after, count=1,
                                            flags=re.S | re.M)


def load(build):
    path = build / "results.json"
    return json.loads(path.read_text()) if path.exists() else {}


def save(build, name, result):
    """Replaces the result of a cell. Another process may have written those of other cells."""
    (build / "results.json").write_text(json.dumps(load(build) | {name: result}, indent=1))


# ── main ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

def judge_all(build, tools, names, headers_only):
    unknown = set(names) - {each.name for each in CELLS}
    if unknown:
        sys.exit(f"unknown cells: {', '.join(sorted(unknown))}; --list prints all")
    failed, skipped = [], []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for cell in CELLS:
            if names and cell.name not in names:
                continue
            run = Run(cell, build, tools, pool)
            if run.missing():
                print(f"skipped: {cell.name}: {run.missing()} is not installed", flush=True)
                skipped.append(cell.name)
                continue
            started = datetime.datetime.now()
            before, result = load(build).get(cell.name, {}), {}
            save(build, cell.name, {})
            try:
                run.judge(result, headers_only)
                save(build, cell.name, before | result if headers_only else result)
                print(f"{cell.name}: {'laws ' + result['laws'] if 'laws' in result else 'headers compile'}, "
                      f"{(datetime.datetime.now() - started).seconds} s", flush=True)
            except (Failure, subprocess.TimeoutExpired) as error:
                failed.append(cell.name)
                print(f"{cell.name}: FAILED\n{error}", flush=True)
    ran = len(names or CELLS) - len(failed) - len(skipped)
    print(f"systems: {ran} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed else 0 if ran else 77


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(each.name for each in CELLS))
        return 0
    if arguments[:1] == ["--table"] and len(arguments) == 3:
        page = Path(arguments[1])
        page.write_text(with_table(page.read_text(encoding="utf-8"), load(Path(arguments[2]))), encoding="utf-8")
        return 0
    if len(arguments) < 2 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    build, tools = Path(arguments[0]).resolve(), Path(arguments[1]).resolve()
    names = [each for each in arguments[2:] if each != "--headers"]
    return judge_all(build, tools, names, "--headers" in arguments[2:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
