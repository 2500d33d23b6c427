// SPDX-License-Identifier: BSL-1.0
// bad_alloc: the exception of adapters whose interfaces report failures by exceptions.
//
//     try { values.resize(1'000'000); }
//     catch (const allot::bad_alloc& error) { log(error.what(), error.diagnosis().largest_hole); }
//
// `what()` returns the static text of the diagnosis, so the exception allocates nothing. If exceptions are disabled,
// the program is aborted, as in the C++ library: an interface that promises memory has no other way to report a
// failure.
//
// When to use: to catch failures of `memory_resource`, `std_allocator` and `cuda::memory_resource` with their reasons.
// When not to use: to test whether a request would fail. Call `allocate` or `diagnose` of the allocator.
//
// Complexity: O(1).
// Memory: a diagnosis in each exception.
// Thread safety: as for any exception object.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/core/detail/compiler.hpp>

#include <cstdlib>
#include <new>

namespace allot {
inline namespace v1 {

/// A failed allocation, with its diagnosis and the error code of the device.
class bad_alloc : public std::bad_alloc {
public:
    /// Constructs the exception from a diagnosis.
    explicit bad_alloc(allot::diagnosis found) noexcept : diagnosis_{found} {}

    /// Returns a human-readable description of the reason.
    [[nodiscard]] const char* what() const noexcept override { return diagnosis_.what(); }
    /// Returns the diagnosis.
    [[nodiscard]] const allot::diagnosis& diagnosis() const noexcept { return diagnosis_; }

private:
    allot::diagnosis diagnosis_;
};

namespace detail {
/// Throws `bad_alloc`, or aborts if exceptions are disabled.
[[noreturn]] ALLOT_COLD ALLOT_NOINLINE inline void throw_refusal([[maybe_unused]] diagnosis found) {
#ifdef __cpp_exceptions
    throw bad_alloc{found};
#else
    std::abort();
#endif
}
/// Throws the reason for which `from` failed. Not inlined, so that callers stay small.
template <class Allocator>
[[noreturn]] ALLOT_COLD ALLOT_NOINLINE void throw_refusal(Allocator& from, layout wanted) {
    throw_refusal(from.diagnose(wanted));
}
}  // namespace detail

}  // namespace v1
}  // namespace allot
