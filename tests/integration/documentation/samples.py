#!/usr/bin/python3
"""Compiles and runs every C++ sample of Markdown files, unchanged:

    samples.py SCRATCH COMPILER [FLAG...] -- FILE.md...

A sample is a block fenced as ```cpp. A sample with a main function is a complete program. In any other, the #include lines
and using-directives stay at the top and the rest becomes the body of main. Nothing else is added. Each sample is compiled
with warnings as errors and must exit with 0. Samples that include OpenCL are linked with it; on a machine without an OpenCL
platform they are only compiled.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys

FLAGS = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]
OPENCL_FLAGS = ["-DCL_HPP_MINIMUM_OPENCL_VERSION=200", "-DCL_HPP_TARGET_OPENCL_VERSION=300"]
ON_TOP = re.compile(r"#include\b|using namespace\b")


def program(sample):
    if "int main(" in sample:
        return sample
    lines = sample.splitlines()
    top = [line for line in lines if ON_TOP.match(line)]
    body = [line for line in lines if not ON_TOP.match(line)]
    return "\n".join([*top, "int main() {", *body, "}", ""])


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


def run(command, **options):
    """Returns an empty string on success, or a description of the failure."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **options)
    return f"exit status {done.returncode}\n{done.stdout}" if done.returncode else ""


def judge(scratch, compiler, path, line, sample):
    """Returns a description of the failure, or an empty string, and whether the sample was run."""
    opencl = "allot/opencl/buffer.hpp" in sample
    source = scratch / f"{path.parent.name}_{path.stem}_{line}.cpp"
    source.write_text(program(sample), encoding="utf-8")
    if opencl and run([*compiler, *FLAGS, "-E", "-include", "CL/opencl.hpp", *OPENCL_FLAGS, "-x", "c++", "/dev/null"]):
        return "", "not compiled: OpenCL headers were not found"
    target = source.with_suffix("")
    arguments = [*FLAGS, *(OPENCL_FLAGS if opencl else []), str(source), "-o", str(target)]
    wrong = run([*compiler, *arguments, *(["-lOpenCL"] if opencl else [])])
    if wrong or (opencl and not opencl_platforms()):
        return wrong, "not run: no OpenCL platform was found"
    # Runs in a separate directory, because a sample may write files. The OpenCL driver keeps its caches there too.
    directory = target.with_suffix(".run")
    directory.mkdir(exist_ok=True)
    environment = {**os.environ, "POCL_CACHE_DIR": str(directory), "XDG_CACHE_HOME": str(directory)}
    return run([str(target.resolve())], cwd=directory, env=environment), "run"


def main(arguments):
    scratch, at = pathlib.Path(arguments[0]), arguments.index("--")
    scratch.mkdir(parents=True, exist_ok=True)
    compiler, wrong, seen = arguments[1:at], 0, 0
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
