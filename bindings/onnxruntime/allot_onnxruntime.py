# SPDX-License-Identifier: BSL-1.0
"""ONNX Runtime's sessions with memory of allot.

    options = onnxruntime.SessionOptions()
    allot_onnxruntime.use(options)                      # before the session
    session = onnxruntime.InferenceSession("model.onnx", options)
    print(allot_onnxruntime.statistics())               # {'used': 1234, 'peak': 5678, ...}
"""

import ctypes
import os
import pathlib

_FIELDS = ("used", "peak", "held", "held_peak", "requests", "reserves", "refusals", "extensions", "trims", "largest")
_library = None


def use(options, limit=None, path=None):
    """Lets the sessions with these options use the arena of the process.

    `limit` is the maximum number of bytes that the arena holds, such as "512M". The first call sets it. `path` is the
    file of the library, by default ALLOT_ONNXRUNTIME_LIBRARY, or liballot_onnxruntime.so beside this module.
    """
    global _library
    path = path or os.environ.get("ALLOT_ONNXRUNTIME_LIBRARY")
    path = pathlib.Path(path or pathlib.Path(__file__).with_name("liballot_onnxruntime.so")).resolve()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: build it as bindings/onnxruntime/README.md describes")
    if limit is not None:
        if _library is not None:
            raise RuntimeError("the arena has a limit since the first call of use: pass `limit` there")
        os.environ["ALLOT_ONNXRUNTIME_LIMIT"] = str(limit)
    options.register_custom_ops_library(str(path))
    if _library is None:
        _library = ctypes.CDLL(str(path))
        _library.allot_onnxruntime_trim.restype = ctypes.c_size_t


def statistics():
    """Returns the counters of the arena as a dictionary; allot_onnxruntime.h describes them."""
    found = (ctypes.c_uint64 * len(_FIELDS))()
    if _library is None or _library.allot_onnxruntime_get_statistics(found) != 0:
        raise RuntimeError("no session uses the arena: call use(options) first")
    return dict(zip(_FIELDS, found))


def trim():
    """Releases the free memory at the end of the arena. Returns the number of released bytes."""
    return 0 if _library is None else _library.allot_onnxruntime_trim()
