// SPDX-License-Identifier: BSL-1.0
// synchronized: an allocator that locks around each call, for use by several threads, cores or interrupts.
//
//     using shared_memory = allot::arena<allot::host::static_storage<64_KiB>, allot::best_fit<>>;
//     allot::synchronized<shared_memory, allot::spin_lock> memory;
//     auto block = memory.allocate({.size = 256});                                  // locks during the call
//     auto grown = memory.resize(block, 512);                                       // if the arena has `resize`
//     auto region = memory.locked([](auto& arena) { return arena.regions()[0]; });  // any other function
//
// The allocator's `size`, `owns`, `capacity`, `resize`, `trim`, `reset`, `allocate_at` and `diagnose_at` lock in the
// same way. `mark` and `rollback` are missing, because a rollback frees the blocks of other threads, too.
//
// The lock is a type with lock() and unlock():
//
//     no_lock              no exclusion, for programs with one thread
//     spin_lock            waits in a loop, for several cores or concurrent threads. An interrupt handler must not
//                          share it with code of its core, because it would wait forever for the interrupted code
//     std::mutex           for threads of an operating system
//     a critical section   your own type, for a core and its interrupts. On a Cortex-M:
//
//         class interrupts_off {
//             std::uint32_t before_ = 0;                                            // written while interrupts are off
//         public:
//             void lock() noexcept {
//                 std::uint32_t mask;
//                 asm volatile("mrs %0, primask\n cpsid i" : "=r"(mask) : : "memory");
//                 before_ = mask;
//             }
//             void unlock() noexcept { asm volatile("msr primask, %0" : : "r"(before_) : "memory"); }
//         };
//
// The longest call of the allocator bounds the waiting time, or the time without interrupts. bump, stack, ring and
// pool are O(1). The option `probes` bounds best_fit.
//
// If `Allocator` is a reference type, the referenced allocator must outlive this object. Otherwise this object owns the
// allocator. If lock() throws, the program is terminated, except in `locked`, which propagates the exception.
//
// When to use: to share an allocator between threads, cores or interrupts.
// When not to use: with a pool that has pool_store::atomic_bitmap, which needs no lock; or for the parts of `paged`,
// which must be synchronized as a whole.
//
// Complexity: that of the allocator and the lock.
// Memory: the allocator and the lock.
// Thread safety: all member functions can be called concurrently, as far as the lock supports that.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/core/detail/compiler.hpp>

#include <atomic>
#include <utility>

namespace allot {
inline namespace v1 {

/// A type with `lock()` and `unlock()`.
template <class Lock>
concept lock = requires(Lock one) {
    one.lock();
    one.unlock();
};

/// A lock without effect, for programs with one thread.
struct no_lock {
    /// Does nothing.
    void lock() noexcept {}
    /// Does nothing.
    void unlock() noexcept {}
};

/// A lock that waits in a loop, for several cores or concurrent threads. It does not guarantee fairness.
class spin_lock {
public:
    /// Waits until the lock is free, and acquires it.
    template <class Flag = std::atomic<bool>>  // a template: the requirement applies only to callers
    void lock() noexcept {
        static_assert(Flag::is_always_lock_free,
                      "allot: spin_lock needs instructions for exclusive access, which this "
                      "core lacks: use a critical section");
        while (held_.exchange(true, std::memory_order_acquire))
            while (held_.load(std::memory_order_relaxed)) {}
    }
    /// Releases the lock.
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};

/// An allocator and a lock that protects it.
template <class Allocator, class Lock>
class synchronized {
    static_assert(allocator_requirements<Allocator>());
    static_assert(lock<Lock>,
                  "allot: the second argument of synchronized has lock() and unlock(): "
                  "use a mutex, spin_lock, or a critical section");
    using allocator_type = std::remove_reference_t<Allocator>;

public:
    using address_model = typename allocator_type::address_model;  ///< The address model of the allocator.
    using block_type = block_of<Allocator>;                        ///< The type of blocks.
    /// Whether the host can access the memory.
    static constexpr bool host_accessible = allocator_type::host_accessible;
    static constexpr offset_use offsets = allocator_type::offsets;          ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = allocator_type::dl_device;  ///< The device type in DLPack.
    static constexpr reclaim reclaims = allocator_type::reclaims;           ///< The order in which blocks become free.

    /// Constructs the allocator with its default constructor.
    synchronized() noexcept
        requires std::default_initializable<Allocator>
    = default;
    /// Stores a reference to the allocator, or moves it into this object.
    explicit synchronized(Allocator&& allocator) noexcept : allocator_{std::forward<Allocator>(allocator)} {}

    /// Allocates a block. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        const guard alone{lock_};
        return allocator_.allocate(wanted);
    }
    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        const guard alone{lock_};
        allocator_.deallocate(held);
    }
    /// Returns the reason for which `allocate` would fail. Concurrent calls can invalidate the result.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        const guard alone{lock_};
        return allocator_.diagnose(wanted);
    }

    /// Allocates exactly these bytes. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        const guard alone{lock_};
        return allocator_.allocate_at(wanted);
    }
    /// Returns the reason for which `allocate_at` would fail. Concurrent calls can invalidate the result.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        const guard alone{lock_};
        return allocator_.diagnose_at(wanted);
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        const guard alone{lock_};
        return allocator_.resize(held, size);
    }
    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept
        requires measuring_allocator<allocator_type>
    {
        const guard alone{lock_};
        return allocator_.capacity(held);
    }
    /// Returns true if the block is in the allocator's memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept
        requires owning<allocator_type>
    {
        const guard alone{lock_};
        return allocator_.owns(held);
    }
    /// Returns the number of bytes in all regions. Concurrent calls can invalidate the result.
    [[nodiscard]] std::size_t size() const noexcept
        requires sized_allocator<allocator_type>
    {
        const guard alone{lock_};
        return allocator_.size();
    }
    /// Releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<allocator_type>
    {
        const guard alone{lock_};
        return allocator_.trim();
    }
    /// Frees every block, also those of other threads.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        const guard alone{lock_};
        allocator_.reset();
    }

    /// Returns whether this block is live. Misuse is reported. Only for a hardened allocator.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.check(held); }
    {
        const guard alone{lock_};
        return allocator_.check(held);
    }
    /// Returns true if exactly this block is live. Reports nothing. Only for a hardened allocator.
    [[nodiscard]] bool is_live(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.is_live(held); }
    {
        const guard alone{lock_};
        return allocator_.is_live(held);
    }

    /// Calls `f(address, size)` for every hole while it holds the lock. `f` must not call this allocator.
    template <class Function>
    void for_each_hole(Function f) const noexcept
        requires hole_walkable_allocator<allocator_type>
    {
        const guard alone{lock_};
        allocator_.for_each_hole(f);
    }
    /// Calls `f(address, size)` for every live block while it holds the lock. `f` must not call this allocator.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires block_walkable_allocator<allocator_type>
    {
        const guard alone{lock_};
        allocator_.for_each_block(f);
    }
    /// Returns the counters of the allocator.
    [[nodiscard]] allocator_statistics statistics() const noexcept
        requires counting_allocator<allocator_type>
    {
        const guard alone{lock_};
        return allocator_.statistics();
    }

    /// Calls `use` with the allocator while it holds the lock, and returns the result by value.
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
    ALLOT_NO_UNIQUE_ADDRESS mutable Lock lock_{};
};

}  // namespace v1
}  // namespace allot
