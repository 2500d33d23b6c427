// SPDX-License-Identifier: BSL-1.0
// process_barrier: a memory barrier of all threads of the process, for which only the rare side pays.
//
//     const auto enter = [&] {                                   // often
//         inside.store(true, std::memory_order_relaxed);
//         allot::host::process_barrier::light();                 // no instruction on Linux
//         return !stopped.load(std::memory_order_acquire);
//     };
//     const auto stop = [&] {                                    // rarely
//         stopped.store(true, std::memory_order_relaxed);
//         if (!allot::host::process_barrier::heavy()) return;    // a system call on Linux
//         while (inside.load(std::memory_order_acquire)) {}
//     };
//
// Of two threads that write, pass a barrier and then read what the other one writes, at least one reads the new value.
// On Linux, `heavy` interrupts every running thread of the process (membarrier, Linux 4.14). Elsewhere both are
// sequentially consistent fences.
//
// When to use: as the barrier of `per_thread`, or for a lock with one owner that uses it often.
// When not to use: between processes. The threads of another process are not interrupted.
//
// Complexity: `light`: O(1), no instruction on Linux. `heavy`: microseconds.
// Memory: none.
// Thread safety: all functions can be called concurrently.
#pragma once

#include <atomic>

#if defined(__linux__) && __has_include(<linux/membarrier.h>)
#define ALLOT_HAS_MEMBARRIER
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace allot {
inline namespace v1 {
namespace host {

/// A barrier with a cheap and an expensive side.
struct process_barrier {
    /// Orders the writes before it and the reads after it with respect to `heavy` of other threads.
    static void light() noexcept {
        if constexpr (interrupts) std::atomic_signal_fence(std::memory_order_seq_cst);
        else std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    /// Orders the writes before it and the reads after it with respect to `light` of other threads. Returns false if
    /// the system does not support it.
    [[nodiscard]] static bool heavy() noexcept {
        light();
        return !interrupts || interrupt_all();
    }

private:
#ifdef ALLOT_HAS_MEMBARRIER
    static constexpr bool interrupts = true;
    static bool interrupt_all() noexcept {
        return call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
               (call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && call(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
    }
    static bool call(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }
#else
    static constexpr bool interrupts = false;
    static bool interrupt_all() noexcept { return false; }
#endif
};

}  // namespace host
}  // namespace v1
}  // namespace allot

#undef ALLOT_HAS_MEMBARRIER
