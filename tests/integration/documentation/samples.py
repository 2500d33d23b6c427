#!/usr/bin/python3
"""Compiles and runs every C++ sample of Markdown files, unchanged:

    samples.py SCRATCH COMPILER [FLAG...] -- FILE.md...

A sample is a block fenced as ```cpp. A sample with a main function is a complete program. In any other, the #include lines
and using-directives stay at the top and the rest becomes the body of main. Nothing else is added. Each sample is
compiled with warnings as errors and must exit with 0. A sample that includes a backend's header is compiled with the
flags of its SDK, which BACKENDS lists, and may exit with 77 if there is no device. Without the SDK it is not compiled.
The script prints 'skipped: ' with the reason for each sample that was not run. With clang++ it needs ALLOT_LONG=1.

g++ reads the headers that most samples include first from a precompiled file, which it finds in place of the header. It
is the same text, and a second header of a sample is parsed, so that a missing include is an error as before.
"""

import ctypes
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bindings" / "single_header"))
import explore  # noqa: E402

PRECOMPILED = ["allot/allot.hpp", "allot/plan.hpp"]  # the first header of nine of ten samples
FLAGS = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]


def samples(path):
    """Yields the line and the text of each sample."""
    text = path.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(?:cpp|c\+\+)\n(.*?)^```", text, re.S | re.M):
        yield text.count("\n", 0, match.start()) + 2, match.group(1)


def opencl_platforms():
    try:
        library, count = ctypes.CDLL("libOpenCL.so.1"), ctypes.c_uint(0)
        return count.value if library.clGetPlatformIDs(0, None, ctypes.byref(count)) == 0 else 0
    except OSError:
        return 0


def flags_of(wrapper, question):
    """Returns the flags that a compiler wrapper of Open MPI adds, or an empty list."""
    if not shutil.which(wrapper):
        return []
    done = subprocess.run([wrapper, question], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.replace("-I", "-isystem").split() if done.returncode == 0 else []


@dataclasses.dataclass
class Backend:
    """The SDK of the headers in a folder of include/allot."""
    header: str  # found if the SDK is installed
    compile: typing.List[str] = dataclasses.field(default_factory=list)
    link: typing.List[str] = dataclasses.field(default_factory=list)
    launch: typing.List[str] = dataclasses.field(default_factory=list)
    has_device: typing.Callable[[], bool] = lambda: True


CUDA = os.environ.get("CUDAToolkit_ROOT", "/usr/local/cuda")
ROCM = os.environ.get("ROCM_PATH", "/opt/rocm")
MPI_FLAGS = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", *flags_of("mpicxx", "--showme:compile")]
BACKENDS = {
    "opencl": Backend("CL/opencl.hpp", ["-DCL_HPP_MINIMUM_OPENCL_VERSION=200", "-DCL_HPP_TARGET_OPENCL_VERSION=300"],
                      ["-lOpenCL"], has_device=lambda: opencl_platforms() != 0),
    "vulkan": Backend("vulkan/vulkan.h", [], ["-lvulkan"]),
    "cuda": Backend("cuda_runtime_api.h", ["-isystem", f"{CUDA}/include"],
                    [f"-L{CUDA}/lib64", f"-Wl,-rpath,{CUDA}/lib64", "-lcudart"]),
    "hip": Backend("hip/hip_runtime_api.h", ["-D__HIP_PLATFORM_AMD__=1", "-isystem", f"{ROCM}/include"],
                   [f"-L{ROCM}/lib", "-lamdhip64"]),
    # Without Metal-cpp, the fake of the tests.
    "metal": Backend("metal_cpp.hpp", [f"-I{ROOT}/tests/unit/metal"]),
    # Everywhere but on Windows, the fake kernel of the tests.
    "windows": Backend("cstddef", [], [f"{ROOT}/tests/fakes/windows/kernel.cpp", f"-I{ROOT}/include"]),
    "mpi": Backend("mpi.h", MPI_FLAGS, flags_of("mpicxx", "--showme:link"), ["mpirun", "-n", "2"]),
    "shmem": Backend("shmem.h", MPI_FLAGS, flags_of("oshc++", "--showme:link"), ["oshrun", "-n", "2"]),
}
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl": "^uct", "MPIEXEC_TIMEOUT": "300",
}


def backend_of(sample):
    """Returns the name and the backend whose headers the sample includes, or None."""
    for folder in re.findall(r"#include <allot/(\w+)[/.]", sample):
        if folder in BACKENDS:
            return folder, BACKENDS[folder]
    return None, None


def run(command, **options):
    """Returns the exit status, and a description of a failure or an empty string."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **options)
    return done.returncode, f"exit status {done.returncode}\n{done.stdout}" if done.returncode else ""


def precompile(folder, compiler):
    """Precompiles headers for g++, which finds FOLDER/NAME.gch for the first include of <NAME>. Returns the new compiler."""
    for name in PRECOMPILED:
        target = folder / f"{name}.gch"
        target.parent.mkdir(parents=True, exist_ok=True)
        source = folder / name.replace("/", "_")
        source.write_text(f"#include <{name}>\n", encoding="utf-8")
        _, wrong = run([*compiler, *FLAGS, "-x", "c++-header", str(source), "-o", str(target)])
        if wrong:
            sys.exit(f"{name}: {wrong}")
    return [compiler[0], f"-I{folder}", *compiler[1:]]


def judge(scratch, compiler, path, line, sample):
    """Returns a description of the failure, or an empty string, and 'run' or the reason why the sample was not run."""
    if re.search(r"^import allot;", sample, re.M):
        return "", "skipped: ./dev module --test compiles it"
    name, backend = backend_of(sample)
    source = scratch / f"{path.parent.name}_{path.stem}_{line}.cpp"
    source.write_text(explore.program(sample), encoding="utf-8")
    flags, link, launch = [], [], []
    if backend:
        flags, link, launch = backend.compile, backend.link, backend.launch
        found, _ = run([*compiler, *FLAGS, *flags, "-E", "-include", backend.header, "-x", "c++", "/dev/null"])
        if found:
            return "", f"skipped: {backend.header} of {name} is not found"
        if launch and not shutil.which(launch[0]):
            return "", f"skipped: {launch[0]} is not found"
    target = source.with_suffix("")
    _, wrong = run([*compiler, *FLAGS, *flags, str(source), "-o", str(target), *link])
    if wrong or (backend and not backend.has_device()):
        return wrong, f"skipped: compiled, but not run: no platform of {name} is found"
    # Runs in a separate directory, because a sample may write files. The OpenCL driver keeps its caches there too.
    directory = target.with_suffix(".run")
    directory.mkdir(exist_ok=True)
    environment = {**os.environ, "POCL_CACHE_DIR": str(directory.resolve()), "XDG_CACHE_HOME": str(directory.resolve())}
    if launch:
        environment.update(MPI_ENVIRONMENT)
    status, wrong = run([*launch, str(target.resolve())], cwd=directory, env=environment)
    if backend and status == 77:
        return "", f"skipped: compiled, but not run: no device of {name} is found"
    return wrong, "run"


def main(arguments):
    scratch, at = pathlib.Path(arguments[0]), arguments.index("--")
    scratch.mkdir(parents=True, exist_ok=True)
    compiler, wrong, seen = arguments[1:at], 0, 0
    if compiler[0] == "clang++" and os.environ.get("ALLOT_LONG") != "1":
        print("skipped: ./dev test --all compiles the samples of the documents with clang++")
        return 77
    if compiler[0] == "g++":
        compiler = precompile(scratch / "precompiled", compiler)
    for path in map(pathlib.Path, arguments[at + 1:]):
        for line, sample in samples(path):
            complaint, what = judge(scratch, compiler, path, line, sample)
            seen += 1
            wrong += bool(complaint)
            if complaint or what != "run":
                print(f"{path}:{line}: {complaint or what}")
    print(f"{wrong} of {seen} samples failed with {' '.join(compiler)}")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
