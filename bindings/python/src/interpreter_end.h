// SPDX-License-Identifier: BSL-1.0
// interpreter_end: calls of Python from threads that can outlive the interpreter. They never return when it ends.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Takes the interpreter's lock with a result of PyEval_SaveThread.
void allot_take_lock(PyThreadState* state);
/// Calls a function of Python with a tuple of arguments. Returns null with an exception set on failure. The caller has
/// the interpreter's lock.
PyObject* allot_call(PyObject* function, PyObject* arguments);

#ifdef __cplusplus
}
#endif
