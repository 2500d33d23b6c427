// SPDX-License-Identifier: BSL-1.0
// current_processor: the number of the processor on which the caller runs, for a page_tree (Linux).
//
//     using frames = allot::page_tree<allot::page_tree_options{.count = 4096}, std::size_t,
//                                    allot::host::current_processor>;
//
// The kernel may move the thread at any time. The number is then outdated, which page_tree allows.
//
// When to use: more threads than `page_tree_options::processors`, or threads whose stacks are irregular.
// When not to use: outside Linux, or in code without an operating system. `processor_by_stack` needs none.
//
// Complexity: one load from a line of the thread's own, which the kernel updates (restartable sequences: glibc 2.35 and
// newer, Linux 4.18 and newer). Otherwise a few nanoseconds, without a system call on common machines.
// Memory: none.
// Thread safety: concurrent calls are allowed.
#pragma once

#include <allot/core/detail/compiler.hpp>

#include <cstddef>
#include <cstdint>

#include <sched.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

namespace allot {
inline namespace v1 {
namespace host {

/// Processor numbers from Linux.
struct current_processor {
    /// Returns the number; 0 if the kernel does not report one.
    [[nodiscard]] std::size_t operator()() const noexcept {
#ifdef RSEQ_SIG  // the C library registers the area with the kernel; the number in it is negative if that failed
        const auto* const area = static_cast<const char*>(ALLOT_THREAD_POINTER()) + __rseq_offset;
        const volatile auto& current = reinterpret_cast<const struct rseq*>(area)->cpu_id;
        if (const auto known = static_cast<std::int32_t>(current); known >= 0) return static_cast<std::size_t>(known);
#endif
        const int number = ::sched_getcpu();
        return number < 0 ? 0 : static_cast<std::size_t>(number);
    }
};

}  // namespace host
}  // namespace v1
}  // namespace allot
