// SPDX-License-Identifier: BSL-1.0
// module: the parts of the extension module, and their common functions.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace allot_python {

namespace nb = nanobind;

/// A request failed: `allot.OutOfMemory`.
struct out_of_memory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Calls a function of Python from a function of C++ that must not throw, and keeps an exception until `rethrow`.
class kept_exception {
public:
    /// Calls `f`, which needs the interpreter's lock. Returns true on success.
    template <class Function>
    bool guard(Function f) noexcept {
        try {
            f();
            return true;
        } catch (...) {
            kept_ = std::current_exception();
            return false;
        }
    }
    [[nodiscard]] explicit operator bool() const noexcept { return kept_ != nullptr; }
    /// Throws the exception, if there is one.
    void rethrow() {
        if (kept_) std::rethrow_exception(std::exchange(kept_, nullptr));
    }

private:
    std::exception_ptr kept_{};
};

void bind_history(nb::module_& m);
void bind_offsets(nb::module_& m);
void bind_pages(nb::module_& m);
void bind_planner(nb::module_& m);
void bind_tensors(nb::module_& m);

}  // namespace allot_python
