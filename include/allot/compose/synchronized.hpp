// SPDX-License-Identifier: BSL-1.0
// synchronized: an allocator that several threads, cores or an interrupt share, one call at a time.
//
//     allot::synchronized<allot::arena<allot::host::static_storage<64_KiB>, allot::best_fit<>>, allot::spin_lock> memory;
//     auto block = memory.allocate({.size = 256});                                  // locked around each call
//     auto grown = memory.locked([&](auto& arena) { return arena.resize(block, 512); });  // and whatever else it can do
//
// What excludes the others is a type with lock() and unlock():
//
//     no_lock              nothing does: the same program for one thread
//     spin_lock            waits in a loop: between cores, or threads that run at once. Never with an interrupt of the same
//                          core, which would wait for what it interrupted
//     std::mutex           between threads of an operating system
//     a critical section   yours, between a core and its interrupts. On a Cortex-M:
//
//         class interrupts_off {
//             std::uint32_t before_ = 0;                                            // written while they are off
//         public:
//             void lock() noexcept {
//                 std::uint32_t mask;
//                 asm volatile("mrs %0, primask\n cpsid i" : "=r"(mask) : : "memory");
//                 before_ = mask;
//             }
//             void unlock() noexcept { asm volatile("msr primask, %0" : : "r"(before_) : "memory"); }
//         };
//
// How long others wait, or interrupts stay off, is the allocator's longest call: bump, stack, ring and pool are O(1), best_fit
// is bounded by its option `probes`. A pool with pool_store::atomic_bitmap needs no lock at all.
//
// An lvalue is referred to and outlives this; everything else is owned. Complexity and memory: those of the two. A lock() that
// throws ends the program, but in `locked`.
#pragma once

#include <allot/core/allocator.hpp>

#include <atomic>
#include <utility>

namespace allot {
inline namespace v1 {

template <class Lock>
concept lock = requires(Lock one) {
    one.lock();
    one.unlock();
};

struct no_lock {
    void lock() noexcept {}
    void unlock() noexcept {}
};

/// Between cores, or threads that run at once. Fair to nobody.
class spin_lock {
public:
    template <class Flag = std::atomic<bool>>  // so that nothing is asked of a core where nobody locks
    void lock() noexcept {
        static_assert(Flag::is_always_lock_free, "allot: this core has no instructions for exclusive access, which spin_lock "
                                                 "needs: use a critical section");
        while (held_.exchange(true, std::memory_order_acquire))
            while (held_.load(std::memory_order_relaxed)) {}
    }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};

template <class Allocator, class Lock>
class synchronized {
    static_assert(allocator_requirements<Allocator>());
    static_assert(lock<Lock>, "allot: what synchronizes has lock() and unlock(): a mutex, spin_lock, or a critical section");
    using allocator_type = std::remove_reference_t<Allocator>;

public:
    using address_model = typename allocator_type::address_model;
    using block_type = block_of<Allocator>;
    static constexpr bool host_accessible = allocator_type::host_accessible;
    static constexpr offset_use offsets = allocator_type::offsets;
    static constexpr dl_device_type dl_device = allocator_type::dl_device;
    static constexpr reclaim reclaims = allocator_type::reclaims;

    synchronized() noexcept
        requires std::default_initializable<Allocator>
    = default;
    explicit synchronized(Allocator&& allocator) noexcept : allocator_{std::forward<Allocator>(allocator)} {}

    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        const guard alone{lock_};
        return allocator_.allocate(wanted);
    }
    /// Takes a block back, as it was handed out. An empty block is fine.
    void deallocate(block_type held) noexcept {
        const guard alone{lock_};
        allocator_.deallocate(held);
    }
    /// Why `allocate` would refuse; others may change that as soon as it is said.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        const guard alone{lock_};
        return allocator_.diagnose(wanted);
    }

    /// Whether exactly this block is live, of a hardened allocator. A misuse is reported.
    [[nodiscard]] bool check(block_type held) noexcept
        requires requires(const allocator_type& of) { of.check(held); }
    {
        const guard alone{lock_};
        return allocator_.check(held);
    }

    /// Calls `use` with the allocator, and nobody else uses it meanwhile. What comes of it is returned by value.
    template <class Use>
    auto locked(Use&& use) {
        const guard alone{lock_};
        return std::forward<Use>(use)(static_cast<allocator_type&>(allocator_));
    }

private:
    class guard {
    public:
        explicit guard(Lock& one) noexcept : lock_{one} { lock_.lock(); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;
        ~guard() { lock_.unlock(); }

    private:
        Lock& lock_;
    };

    Allocator allocator_;
    [[no_unique_address]] Lock lock_{};
};

}  // namespace v1
}  // namespace allot
