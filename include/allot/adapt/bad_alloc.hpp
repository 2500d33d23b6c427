// SPDX-License-Identifier: BSL-1.0
// bad_alloc: what adaptors throw whose interface reports failure by an exception.
//
//     try { values.resize(1'000'000); }
//     catch (const allot::bad_alloc& error) { log(error.what(), error.reason().largest_hole); }   // or std::bad_alloc
//
// The text is that of the diagnosis, and static: nothing is allocated for it. Without exceptions the program is aborted,
// as the C++ library does then: an interface that promises bytes has no other way to say that there are none. Whoever
// wants to be asked first, asks the allocator: `diagnose`.
#pragma once

#include <allot/core/allocator.hpp>

#include <cstdlib>
#include <new>

namespace allot {
inline namespace v1 {

/// Why there is no memory, the device's own code included.
class bad_alloc : public std::bad_alloc {
public:
    explicit bad_alloc(diagnosis reason) noexcept : why_{reason} {}

    [[nodiscard]] const char* what() const noexcept override { return why_.what(); }
    [[nodiscard]] const diagnosis& reason() const noexcept { return why_; }

private:
    diagnosis why_;
};

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_refusal([[maybe_unused]] diagnosis reason) {
#ifdef __cpp_exceptions
    throw bad_alloc{reason};
#else
    std::abort();
#endif
}
/// Throws why `from` has refused. Apart from those that call it, so that its cost is not in their way.
template <class Allocator>
[[noreturn, gnu::cold, gnu::noinline]] void throw_refusal(Allocator& from, layout wanted) {
    throw_refusal(from.diagnose(wanted));
}
}  // namespace detail

}  // namespace v1
}  // namespace allot
