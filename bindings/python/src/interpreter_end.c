// SPDX-License-Identifier: BSL-1.0
// interpreter_end: calls of Python from threads that can outlive the interpreter.
//
// A daemon thread that takes the interpreter's lock while the interpreter ends never gets it. In Python 3.14 it waits
// forever. Older versions call pthread_exit, which unwinds the stack with glibc. C++ functions that must not throw end
// the process then. The handlers here stop the unwinding before it reaches C++, and the thread waits forever.
#include "interpreter_end.h"

#ifdef _WIN32  // the end of a thread does not unwind its stack

void allot_take_lock(PyThreadState* state) { PyEval_RestoreThread(state); }
PyObject* allot_call(PyObject* function, PyObject* arguments) { return PyObject_CallObject(function, arguments); }

#else

#include <pthread.h>
#include <unistd.h>

static void wait_forever(void* unused) {
    (void)unused;
    for (;;) pause();
}

void allot_take_lock(PyThreadState* state) {
    pthread_cleanup_push(wait_forever, NULL);
    PyEval_RestoreThread(state);
    pthread_cleanup_pop(0);
}

PyObject* allot_call(PyObject* function, PyObject* arguments) {
    PyObject* result;
    pthread_cleanup_push(wait_forever, NULL);
    result = PyObject_CallObject(function, arguments);
    pthread_cleanup_pop(0);
    return result;
}

#endif
