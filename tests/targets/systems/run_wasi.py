"""Runs a program for WASI by wasmtime's Python package, and exits with its status: run_wasi.py TOOLS PROGRAM"""

import glob
import sys

sys.path[:0] = glob.glob(f"{sys.argv[1]}/lib/python3*/site-packages")
import wasmtime  # noqa: E402

engine = wasmtime.Engine()
linker, store, wasi = wasmtime.Linker(engine), wasmtime.Store(engine), wasmtime.WasiConfig()
linker.define_wasi()
wasi.argv = [sys.argv[2]]
wasi.inherit_stdout()
wasi.inherit_stderr()
store.set_wasi(wasi)
program = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[2]))
try:
    program.exports(store)["_start"](store)
except wasmtime.ExitTrap as end:
    sys.exit(end.code)
