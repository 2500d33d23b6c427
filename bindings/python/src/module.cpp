// SPDX-License-Identifier: BSL-1.0
// The extension module allot._allot. The package allot/ gives it the interface that users see.
#include "module.hpp"

#include <allot/version.hpp>

NB_MODULE(allot_parts, m) {
    using namespace allot_python;
    m.doc() = "The parts of allot that are written in C++. Use the package allot.";
    const std::string version = std::to_string(ALLOT_VERSION_MAJOR) + "." + std::to_string(ALLOT_VERSION_MINOR) + "." +
                                std::to_string(ALLOT_VERSION_PATCH);
    m.attr("version") = nb::str(version.c_str());
    nb::exception<out_of_memory>(m, "OutOfMemory", PyExc_MemoryError).doc() =
        "A request failed. The text is the reason.";
    bind_history(m);
    bind_offsets(m);
    bind_pages(m);
    bind_planner(m);
    bind_tensors(m);
}

/// Python calls it for each interpreter. A second module would replace the state of nanobind, which also waits forever
/// for the lock of a subinterpreter.
extern "C" NB_EXPORT PyObject* PyInit__allot() {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return PyInit_allot_parts();
    PyErr_SetString(PyExc_ImportError, "allot does not support subinterpreters");
    return nullptr;
}
