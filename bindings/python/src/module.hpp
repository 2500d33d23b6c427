// SPDX-License-Identifier: BSL-1.0
// module: the parts of the extension module, and their common functions.
#pragma once

#include "interpreter_end.h"

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace allot_python {

namespace nb = nanobind;

/// A request failed: `allot.OutOfMemory`.
struct out_of_memory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns a text of Python. Throws UnicodeEncodeError if it has a part of a surrogate pair.
[[nodiscard]] inline std::string text_of(const nb::str& given) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
    if (text == nullptr) throw nb::python_error{};
    return {text, static_cast<std::size_t>(size)};
}

/// Returns an integer of Python that is at least 0. Throws TypeError or ValueError with the value for any other object.
template <class Number>
[[nodiscard]] Number natural_of(nb::handle given) {
    if (!PyIndex_Check(given.ptr())) throw nb::type_error((text_of(nb::repr(given)) + " is not an integer").c_str());
    const nb::object number = nb::steal(PyNumber_Index(given.ptr()));
    if (!number.is_valid()) throw nb::python_error{};
    Number value{};
    if (nb::try_cast<Number>(number, value, false) && value >= Number{}) return value;
    throw std::invalid_argument{text_of(nb::str(number)) + " is not from 0 to 2**" +
                                std::to_string(std::numeric_limits<Number>::digits) + " - 1"};
}

/// An argument of a function of Python: `natural_of` the object.
template <class Number>
struct natural {
    Number value;
    operator Number() const noexcept { return value; }
};

/// Releases the interpreter's lock for its lifetime. Unlike nb::gil_scoped_release, it can be used in a daemon thread
/// when the interpreter ends: the thread then waits forever.
class unlocked {
public:
    unlocked() noexcept : state_{PyEval_SaveThread()} {}
    unlocked(const unlocked&) = delete;
    unlocked& operator=(const unlocked&) = delete;
    ~unlocked() { allot_take_lock(state_); }

    /// Calls `f` with the lock.
    template <class Function>
    void with_lock(Function f) noexcept {
        allot_take_lock(state_);
        f();
        state_ = PyEval_SaveThread();
    }

private:
    PyThreadState* state_;
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

/// Keeps the object, because only the conversion operator may throw.
template <class Number>
struct nanobind::detail::type_caster<allot_python::natural<Number>> {
    static constexpr auto Name = const_name("int");
    template <class>
    using Cast = allot_python::natural<Number>;
    template <class>
    static constexpr bool can_cast() noexcept {
        return true;
    }

    bool from_python(handle from, std::uint32_t, cleanup_list*) noexcept {
        given = from;
        return true;
    }
    explicit operator allot_python::natural<Number>() const { return {allot_python::natural_of<Number>(given)}; }

    handle given{};
};
