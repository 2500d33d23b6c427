#!/usr/bin/python3
"""Turns every C++ sample of the Markdown files given into a program: samples.py OUTPUT_DIR FILE.md...

A sample is a block fenced as ```cpp. One with a main is a program as it stands; of any other, the #include lines stay on
top and the rest becomes the body of main. Samples that include OpenCL go to opencl_*.cpp and end with 77, skipped, when
there is no platform. Files are only written when they change, so that nothing is compiled twice.
"""

import pathlib
import re
import sys

PREFACE = "#include <allot/allot.hpp>\n"
PLATFORM = """    std::vector<cl::Platform> platforms;
    if (cl::Platform::get(&platforms) != CL_SUCCESS || platforms.empty()) {
        std::puts("skipped: no OpenCL platform");
        return 77;
    }
"""


def program(sample: str, opencl: bool) -> str:
    if "int main(" in sample:
        return sample
    lines = sample.splitlines()
    includes = [line for line in lines if line.startswith("#include")]
    body = ["    " + line for line in lines if not line.startswith("#include")]
    head = PREFACE + "\n".join(includes) + ("\n#include <cstdio>\n#include <vector>\n" if opencl else "\n")
    return head + "using namespace allot::literals;\nint main() {\n" + (PLATFORM if opencl else "") + "\n".join(body) + "\n}\n"


def main() -> None:
    output = pathlib.Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        for number, sample in enumerate(re.findall(r"^```cpp\n(.*?)^```", path.read_text(), re.S | re.M), 1):
            opencl = "device/opencl.hpp" in sample
            stem = f"{'opencl_' if opencl else ''}{path.stem}_{number}".replace("-", "_").lower()
            target = output / f"{stem}.cpp"
            text = program(sample, opencl)
            if not target.exists() or target.read_text() != text:
                target.write_text(text)
            print(stem)


main()
