// SPDX-License-Identifier: BSL-1.0
// fork_lock: a lock that a process can hold while it forks, and that no thread waits for in the meantime (Linux).
//
//     allot::host::fork_lock lock;
//     if (lock.lock()) lock.unlock();                             // false: another thread forks; do without
//     const bool mine = lock.is_mine();                           // before fork, in a handler of pthread_atfork
//     if (!mine) lock.lock_for_fork();
//     fork();
//     if (!mine) lock.unlock_after_fork();                        // in both processes
//
//     word:  0 free ──► owner ──► owner | contended               the owner is the thread's pointer
//                  └──► owner | for fork                          lock() returns false instead of waiting
//
// A child has only the thread that forks. Other locks have one of two problems. If another thread holds the lock at the
// fork, it stays locked in the child. If the forking thread takes the lock first, it may wait for a lock of the C
// library whose owner waits for this one. With a fork_lock the other threads do not wait: `lock` returns false, and
// they use other memory during the fork.
//
// The owner is part of the word. A signal handler that forks sees whether its own thread has the lock (`is_mine`). The
// interrupted call then continues in both processes.
//
// When to use: for the locks of a malloc, or of memory that children of a program with threads use.
// When not to use: if nothing forks. Use std::mutex, which is smaller. In shared memory between processes.
// Complexity: one atomic operation for lock and unlock without contention, none in a process of one thread (glibc
// 2.32). A waiting thread sleeps (futex).
// Memory: 8 bytes.
// Thread safety: all functions can be called concurrently.
// Sources: futex(2); U. Drepper, "Futexes Are Tricky", 2011.
#pragma once

#include <allot/core/detail/compiler.hpp>

#include <atomic>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ALLOT_HAS_SINGLE_THREADED
#endif

namespace allot {
inline namespace v1 {
namespace host {

/// A lock for data that survive a fork.
class fork_lock {
public:
    /// Constructs a free lock.
    constexpr fork_lock() noexcept = default;
    fork_lock(const fork_lock&) = delete;
    fork_lock& operator=(const fork_lock&) = delete;

    /// Acquires the lock if it is free. Returns false otherwise.
    [[nodiscard]] bool try_lock() noexcept {
        std::uintptr_t none = 0;
        if (is_alone()) {
            if (word_.load(std::memory_order_relaxed) != 0) return false;
            word_.store(self(), std::memory_order_relaxed);
            return true;
        }
        return word_.compare_exchange_strong(none, self(), std::memory_order_acquire, std::memory_order_relaxed);
    }
    /// Waits for the lock and acquires it. Returns false without the lock while a thread holds it for a fork.
    [[nodiscard]] bool lock() noexcept { return try_lock() || lock_contended(); }
    /// Releases the lock.
    void unlock() noexcept {
        if (is_alone()) return word_.store(0, std::memory_order_relaxed);
        if ((word_.exchange(0, std::memory_order_release) & contended) != 0) wake(1);
    }
    /// Returns true if the calling thread has the lock.
    [[nodiscard]] bool is_mine() const noexcept { return (word_.load(std::memory_order_relaxed) & ~flags) == self(); }
    /// Returns true if a thread has the lock, or had it in the parent process.
    [[nodiscard]] bool is_locked() const noexcept { return word_.load(std::memory_order_relaxed) != 0; }

    /// Waits for the lock, also for other forks, and acquires it for a fork. The threads that wait in `lock` return.
    void lock_for_fork() noexcept {
        std::uintptr_t none = 0;
        while (!word_.compare_exchange_strong(none, self() | for_fork, std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
            sleep_on(none);
            none = 0;
        }
        wake(INT_MAX);
    }
    /// Releases the lock in the process that forked, and in its child.
    void unlock_after_fork() noexcept {
        word_.store(0, std::memory_order_release);
        wake(INT_MAX);
    }

    /// In a child, gives up a lock whose owner does not exist. `lock` returns false from then on.
    void lock_forever() noexcept { word_.store(for_fork, std::memory_order_relaxed); }

private:
    static constexpr std::uintptr_t contended = 1, for_fork = 2, flags = 3;

    /// Returns true if the process has one thread, as glibc knows. It cannot start another one while it has the lock.
    [[nodiscard]] ALLOT_INLINE static bool is_alone() noexcept {
#ifdef ALLOT_HAS_SINGLE_THREADED
        return __libc_single_threaded != 0;
#else
        return false;
#endif
    }
    [[nodiscard]] static std::uintptr_t self() noexcept {
        return reinterpret_cast<std::uintptr_t>(ALLOT_THREAD_POINTER());
    }
    [[nodiscard]] ALLOT_NOINLINE bool lock_contended() noexcept {
        for (unsigned spins = 64; spins != 0; --spins) {
            const std::uintptr_t seen = word_.load(std::memory_order_relaxed);
            if ((seen & for_fork) != 0) return false;
            if (seen == 0 && try_lock()) return true;
            ALLOT_PAUSE();
        }
        for (;;) {
            std::uintptr_t seen = 0;
            if (word_.compare_exchange_strong(seen, self() | contended, std::memory_order_acquire,
                                              std::memory_order_relaxed))
                return true;
            if ((seen & for_fork) != 0) return false;
            sleep_on(seen);
        }
    }
    /// Marks the lock as contended, and sleeps until its owner releases it, if it still has the value `seen`.
    void sleep_on(std::uintptr_t seen) noexcept {
        const std::uintptr_t waits = seen | contended;
        if (seen != waits && !word_.compare_exchange_strong(seen, waits, std::memory_order_relaxed)) return;
        const int before = errno;
        ::syscall(SYS_futex, futex(), FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(waits), nullptr);
        errno = before;
    }
    /// Returns the 32 bits of the word that hold the flags and the low bits of the owner. The kernel compares these.
    [[nodiscard]] std::uint32_t* futex() noexcept {
        const bool is_upper = std::endian::native == std::endian::big && sizeof(std::uintptr_t) == 8;
        return reinterpret_cast<std::uint32_t*>(&word_) + (is_upper ? 1 : 0);
    }
    void wake(int threads) noexcept {
        const int before = errno;
        ::syscall(SYS_futex, futex(), FUTEX_WAKE_PRIVATE, threads);
        errno = before;
    }

    std::atomic<std::uintptr_t> word_{0};
};

}  // namespace host
}  // namespace v1
}  // namespace allot

#undef ALLOT_HAS_SINGLE_THREADED
