#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Replays a trace on CuPy's memory pool, and prints the time of an operation and the memory as lines of JSON.

    gpu_benchmark --list TRACE | cupy_pool.py NAME

The operations come from the standard input. The calls come from Python, as CuPy's always do, so that the times include the
interpreter. It exits with 77 and prints `skipped: REASON` if CuPy or the device is not available.
"""

import json
import sys
import time


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def replay(operations, malloc, slots):
    for sign, slot, size in operations:
        slots[slot] = malloc(size) if sign == "+" else None


def main():
    try:
        import cupy
    except ImportError as reason:
        skip(f"CuPy is not installed ({reason})")
    try:
        if cupy.cuda.runtime.getDeviceCount() == 0:
            skip("CuPy finds no CUDA device")
    except cupy.cuda.runtime.CUDARuntimeError as reason:
        skip(f"CuPy finds no CUDA device ({reason})")
    operations = []
    for line in sys.stdin:
        sign, slot, size = line.split()
        operations.append((sign, int(slot), int(size)))
    slots = [None] * (1 + max(slot for _, slot, _ in operations))
    live = peak = 0
    for sign, _, size in operations:
        rounded = (size + 255) // 256 * 256
        live += rounded if sign == "+" else -rounded
        peak = max(peak, live)
    pool = cupy.cuda.MemoryPool()
    replay(operations, pool.malloc, slots)  # fills the pool
    reserved = pool.total_bytes()
    times = []
    for malloc in (pool.malloc, int):  # the second one is the loop alone
        start = time.perf_counter()
        replay(operations, malloc, slots)
        times.append((time.perf_counter() - start) * 1e9 / len(operations))
    name = f"CuPy {cupy.__version__}, MemoryPool, from Python"
    same = {"allocator": name, "trace": sys.argv[1], "streams": "1 stream", "peak": peak}
    print(json.dumps(same | {"measured": "trace", "operations": len(operations), "ns": round(times[0] - times[1], 1)}))
    print(json.dumps(same | {"measured": "memory", "reserved": reserved}))


if __name__ == "__main__":
    main()
