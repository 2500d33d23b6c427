// SPDX-License-Identifier: BSL-1.0
// reference_guard: holds the lock of a reference policy for a scope.
//
// Internal. Complexity and memory: those of the lock; none with `references::plain` and `references::none`.
#pragma once

namespace allot {
inline namespace v1 {
namespace detail {

/// Acquires a lock, and releases it in the destructor. `Lock` is the `lock` of a reference policy.
template <class Lock>
class reference_guard {
public:
    explicit reference_guard(Lock& guarded) noexcept : guarded_{guarded} { guarded_.acquire(); }
    reference_guard(const reference_guard&) = delete;
    reference_guard& operator=(const reference_guard&) = delete;
    ~reference_guard() { guarded_.release(); }

private:
    Lock& guarded_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
