// SPDX-License-Identifier: BSL-1.0
// counted: an allocator with counters of its blocks and requests.
//
//     allot::counted<allot::arena<allot::host::heap, allot::best_fit<>>> memory{{{}, 16_MiB}};
//     auto block = memory.allocate({.size = 256});
//     memory.statistics().used;            // 256
//     memory.statistics().peak;            // the maximum since the start, or since restart_peak()
//
// A composition adds the counters of its parts: `fallback{counted, counted}.statistics()`.
//
// When to use: to know how much memory is used, and how close a program comes to the limit.
// When not to use: where the sizes of individual blocks are of interest. Use `tagged`.
//
// With threads, count inside the lock: `synchronized<counted<Arena>, Lock>`. With a hardened allocator, a block that
// the allocator reports and does not free does not change the counters. A moved-from object counts from 0.
//
// Complexity: that of the allocator, and on x86-64 at most 6 instructions for `allocate` and 4 for `deallocate` of a
// bump or a pool. `statistics` lists the holes: O(nodes).
// Memory: 5 words.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/compose/detail/forwarding.hpp>

namespace allot {
inline namespace v1 {

/// The mark of a counted allocator: the mark of the allocator, and the counters.
template <class Mark>
struct counted_mark {
    Mark inner;             ///< The mark of the allocator.
    std::size_t used = 0;   ///< The bytes in use.
    std::size_t count = 0;  ///< The number of live blocks.
};

/// An allocator and the counters of its calls.
template <class Allocator>
class counted : public detail::forwarding<Allocator> {
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;

public:
    using base::base;
    using typename base::block_type;

    /// Allocates a block. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept { return note(inner_.allocate(wanted)); }
    /// Allocates exactly these bytes. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return note(inner_.allocate_at(wanted));
    }
    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!this->is_freeable(held) || !this->give_back(held)) return;
        now_.value.used -= held.size;
        ++now_.value.freed;
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        const std::size_t before = held.size;
        if (!inner_.resize(held, size)) return false;
        now_.value.used += held.size - before;
        if (now_.value.used > now_.value.peak) now_.value.peak = now_.value.used;
        return true;
    }
    /// Frees every block.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        inner_.reset();
        restore(0, 0);
    }
    /// Returns a mark for `rollback`.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<allocator_type>
    {
        return counted_mark<decltype(inner_.mark())>{inner_.mark(), now_.value.used, count()};
    }
    /// Frees every block that was allocated since the mark. Precondition: the mark is from this allocator and is valid,
    /// and no block that is older than the mark was freed since. Returns false and changes nothing if a hardened
    /// allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(counted_mark<Mark> mark) noexcept {
        if (!this->roll_back(mark.inner)) return false;
        restore(mark.used, mark.count);
        return true;
    }

    /// Returns the counters, and the state of the holes if the allocator can list them. O(nodes).
    [[nodiscard]] allocator_statistics statistics() const noexcept {
        allocator_statistics now{.used = now_.value.used,
                                 .count = count(),
                                 .peak = now_.value.peak,
                                 .requests = now_.value.allocated + now_.value.refusals,
                                 .refusals = now_.value.refusals};
        if constexpr (hole_walkable_allocator<allocator_type>)
            inner_.for_each_hole([&](const auto&, std::size_t size) {
                now.free += size;
                ++now.holes;
                if (size > now.largest_hole) now.largest_hole = size;
            });
        return now;
    }
    /// Sets the peak to the bytes that are in use now.
    void restart_peak() noexcept { now_.value.peak = now_.value.used; }

private:
    [[nodiscard]] std::size_t count() const noexcept { return now_.value.allocated - now_.value.freed; }
    [[nodiscard]] block_type note(block_type fresh) noexcept {
        if (!fresh) [[unlikely]] {
            ++now_.value.refusals;
            return fresh;
        }
        const std::size_t used = now_.value.used + fresh.size;
        ++now_.value.allocated;
        now_.value.used = used;
        if (used > now_.value.peak) [[unlikely]]
            now_.value.peak = used;
        return fresh;
    }
    void restore(std::size_t used, std::size_t count) noexcept {
        now_.value.used = used;
        now_.value.freed = now_.value.allocated - count;
    }

    struct counters {
        std::size_t used = 0, peak = 0, allocated = 0, freed = 0, refusals = 0;
    };
    detail::moved_value<counters> now_;
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
counted(Allocator&&) -> counted<Allocator>;

}  // namespace v1
}  // namespace allot
