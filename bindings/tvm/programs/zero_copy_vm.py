"""zero_copy.py with DMA buffers of the kernel, in the virtual machine of tests/targets/vm.

    python zero_copy_vm.py [FOLDER]      all generated files are in FOLDER; build/tvm/zero_copy without it

The virtual machine is emulated. It has the heaps `system` and `reserved` (contiguous memory) of /dev/dma_heap. Python,
NumPy and TVM's run-time library run in it. TVM's compiler stays outside, because its library has 259 MB. The script
prints `skipped: REASON` when the virtual machine cannot run.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = os.environ.get("ALLOT_TVM_LIBRARY", str(ROOT / "build/tvm/liballot_tvm.so"))
HEAPS = ("system", "reserved")


class Missing(Exception):
    """The virtual machine cannot run; the text is the reason."""


def used_files():
    """Returns every file that this process has loaded: modules of Python with their compiled form, and libraries."""
    found = set()
    for module in list(sys.modules.values()):
        if source := getattr(module, "__file__", None):
            found.add(source)
            cached = importlib.util.cache_from_source(source) if source.endswith(".py") else source
            found.update(path for path in [cached] if os.path.exists(path))
    with open("/proc/self/maps") as maps:
        mapped = {line.split(None, 5)[5].strip() for line in maps if len(line.split(None, 5)) == 6}
    for path in mapped:  # the loader looks for the name in the program, which is often a link
        name, is_library, _ = os.path.basename(path).partition(".so")
        links = pathlib.Path(path).parent.glob(f"{name}.so*") if is_library else []
        found.update([path, *(str(link) for link in links if os.path.realpath(link) == path)])
    return sorted(path for path in found if os.path.isfile(path) and not path.startswith("/dev"))


def list_files(folder, into):
    """Loads the modules that the program loads in the virtual machine, and writes the list of their files."""
    import zero_copy
    import traceback  # noqa: F401  (for a readable failure there)
    import tvm
    import tvm_ffi
    from tvm.runtime.vm import VirtualMachine

    zero_copy.load()
    VirtualMachine(tvm.runtime.load_module(str(folder / "model.so")), tvm.cpu())
    zero_copy.np.load(folder / "expected.npy")
    zero_copy.show_control()
    packages = pathlib.Path(tvm_ffi.__file__).parents[1]
    names = [str(path) for path in packages.glob("apache_tvm*.dist-info/*") if path.is_file()]  # read for the versions
    script = pathlib.Path(zero_copy.__file__)
    files = {*used_files(), *names, str(script), str(folder / "expected.npy"), str(folder / "model.so")}
    pathlib.Path(into).write_text("".join(f"{path}\n" for path in sorted(files)))


def run(folder):
    """Runs zero_copy.py with both heaps in the virtual machine and returns its output. Raises Missing."""
    own = pathlib.Path(__file__).resolve()
    packages = os.path.realpath(pathlib.Path(importlib.util.find_spec("tvm_ffi").origin).parents[1])
    environment = {**os.environ, "TVM_USE_RUNTIME_LIB": "1", "ALLOT_TVM_LIBRARY": LIBRARY, "PYTHONPATH": packages}
    program = own.with_name("zero_copy.py")
    subprocess.run([sys.executable, program, "--export", folder], check=True)
    subprocess.run([sys.executable, own, folder, "--list", folder / "files"], check=True, env=environment,
                   stdout=subprocess.DEVNULL)
    environment |= {"VM_NAME": "zero_copy", "VM_FILES": str(folder / "files"), "VM_MEMORY": "1024",
                    "VM_ENVIRONMENT": f"PYTHONPATH={packages} ALLOT_TVM_LIBRARY={LIBRARY} TVM_USE_RUNTIME_LIB=1 "
                                      "TVM_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1"}
    ended = subprocess.run([ROOT / "tests/targets/vm/run.sh", os.path.realpath(sys.executable), "-S", "-B", program,
                            "--dma", folder, *HEAPS], env=environment, capture_output=True, text=True)
    if ended.returncode == 77:
        raise Missing(ended.stdout.strip().removeprefix("skipped: "))
    if ended.returncode != 0:
        raise RuntimeError(f"the virtual machine ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended.stdout


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/tvm/zero_copy").resolve()
    if sys.argv[2:3] == ["--list"]:
        list_files(folder, sys.argv[3])
        return
    start = time.monotonic()
    try:
        print(run(folder), end="")
    except Missing as reason:
        print(f"skipped: {reason}")
        return
    print(f"{time.monotonic() - start:.0f} s, with the start of the virtual machine")


if __name__ == "__main__":
    main()
