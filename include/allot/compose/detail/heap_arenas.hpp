// SPDX-License-Identifier: BSL-1.0
// heap_arenas: the arenas of an address_heap: which one a thread enters, which one has an address, and forks.
//
//     own: 0 1 2 … │ spare: n n+1 …        a thread enters its own arena, and during a fork the spare one
//
// Internal. All threads start with the first arena. A thread that often finds its arena locked moves to the arena with
// the fewest threads, but only if it shares its own: other threads also lock an arena to free its blocks, and a thread
// that moved for that reason would use one arena after another. Only threads that waited often are counted. A program
// thus uses at most as many arenas as it has threads.
//
// Complexity: O(1) to enter an arena that is free, O(arenas) to find one.
// Thread safety: all functions can be called concurrently. `before_fork` and its ends are called by the thread that
// forks.
#pragma once

#include <allot/compose/detail/heap_shard.hpp>

#include <atomic>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Shard, class Source, std::size_t Own, std::size_t Count, std::uint32_t Patience>
class heap_arenas {
public:
    static constexpr std::size_t own = Own, count = Count;

    constexpr heap_arenas() noexcept = default;

    [[nodiscard]] ALLOT_INLINE Shard& operator[](std::size_t at) noexcept { return shards_[at]; }
    [[nodiscard]] ALLOT_INLINE const Shard& operator[](std::size_t at) const noexcept { return shards_[at]; }
    [[nodiscard]] std::size_t number_of(const Shard& one) const noexcept {
        return static_cast<std::size_t>(&one - shards_);
    }
    /// Returns the number of the arena whose addresses contain `address`, or `count`.
    [[nodiscard]] std::size_t find(const void* address) const noexcept {
        std::size_t at = 0;
        while (at != count && !shards_[at].contains(address)) ++at;
        return at;
    }
    /// Enters the thread's arena, and during a fork the spare one. Returns its number.
    [[nodiscard]] std::size_t enter(Source& source, std::uint32_t& home_of_thread, std::uint32_t& waited) noexcept {
        std::size_t home = number_in(home_of_thread);
        if (shards_[home].try_enter(source, home)) [[likely]]
            return home;
        if (++waited == Patience) {
            waited = 0;
            home = moved_from(home_of_thread);
        }
        for (;;) {
            if (shards_[home].enter(source, home)) return home;
            const std::size_t spare = spare_.load(std::memory_order_relaxed);
            if (shards_[spare].enter(source, spare)) return spare;
        }
    }
    /// Ends the use of an arena by a thread. Its next one is the first arena.
    void leave_home(std::uint32_t& home_of_thread) noexcept {
        if ((home_of_thread & counted) != 0) remove_from(number_in(home_of_thread));
        home_of_thread = 0;
    }
    /// Calls `use` with each arena that has a region or a slab.
    template <class Use>
    void for_each_used(Source& source, Use use) noexcept {
        for (std::size_t i = 0; i != count; ++i) {
            if (!shards_[i].is_used() || !shards_[i].enter(source, i)) continue;
            use(shards_[i]);
            shards_[i].leave();
        }
    }

    // Forks: see address_heap.
    void before_fork() noexcept {
        forker_is_inside_ = 0;
        for (std::size_t i = 0; i != own; ++i) {
            if (shards_[i].lock().is_mine()) forker_is_inside_ |= std::uint64_t{1} << i;
            else shards_[i].lock().lock_for_fork();
        }
    }
    void after_fork_in_parent() noexcept {
        for (std::size_t i = 0; i != own; ++i)
            if ((forker_is_inside_ >> i & 1U) == 0) shards_[i].lock().unlock_after_fork();
    }
    void after_fork_in_child() noexcept {
        const std::size_t at = spare_.load(std::memory_order_relaxed);
        if (at + 1 < count && shards_[at].lock().is_locked() && !shards_[at].lock().is_mine()) {
            shards_[at].lock().lock_forever();
            spare_.store(at + 1, std::memory_order_relaxed);
        }
        for (auto& each : threads_) each.store(0, std::memory_order_relaxed);
        after_fork_in_parent();
    }

private:
    static constexpr std::uint32_t counted = std::uint32_t{1} << 31U;  // in the home of a thread that was counted

    [[nodiscard]] ALLOT_INLINE static std::size_t number_in(std::uint32_t home_of_thread) noexcept {
        return (home_of_thread & ~counted) % own;
    }
    /// Counts a thread, and moves it if it shares its arena. Returns the number of its arena.
    [[nodiscard]] std::size_t moved_from(std::uint32_t& home_of_thread) noexcept {
        const std::size_t home = number_in(home_of_thread);
        if ((home_of_thread & counted) == 0) threads_[home].fetch_add(1, std::memory_order_relaxed);
        std::size_t to = 0;
        for (std::size_t i = 1; i != own; ++i)
            if (threads_in(i) < threads_in(to)) to = i;
        if (threads_in(home) < threads_in(to) + 2) {
            to = home;
        } else {
            remove_from(home);
            threads_[to].fetch_add(1, std::memory_order_relaxed);
        }
        home_of_thread = static_cast<std::uint32_t>(to) | counted;
        return to;
    }
    [[nodiscard]] std::uint32_t threads_in(std::size_t at) const noexcept {
        return threads_[at].load(std::memory_order_relaxed);
    }
    void remove_from(std::size_t home) noexcept {
        std::uint32_t before = threads_in(home);  // 0 for a thread that was counted before a fork
        while (before != 0 && !threads_[home].compare_exchange_weak(before, before - 1, std::memory_order_relaxed));
    }

    Shard shards_[count]{};
    std::atomic<std::uint32_t> threads_[own]{};  // that waited often, by arena
    std::atomic<std::size_t> spare_{own};
    std::uint64_t forker_is_inside_ = 0;  // protected by the locks
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
