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
// Complexity: a few nanoseconds; no system call on common machines.
// Memory: none.
// Thread safety: concurrent calls are allowed.
#pragma once

#include <cstddef>

#include <sched.h>

namespace allot {
inline namespace v1 {
namespace host {

/// Processor numbers from Linux.
struct current_processor {
    /// Returns the number; 0 if the kernel does not report one.
    [[nodiscard]] std::size_t operator()() const noexcept {
        const int number = ::sched_getcpu();
        return number < 0 ? 0 : static_cast<std::size_t>(number);
    }
};

}  // namespace host
}  // namespace v1
}  // namespace allot
