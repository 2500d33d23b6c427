// SPDX-License-Identifier: BSL-1.0
// ring: a strategy whose blocks are freed in the order of their allocation (first in, first out).
//
//     allot::arena<allot::host::static_storage<64_KiB>, allot::ring<>> messages;
//     auto first = messages.allocate({.size = 256});
//     auto second = messages.allocate({.size = 100});
//     messages.deallocate(first);
//     messages.deallocate(second);
//
//     │ free │ oldest │ … │ newest │►  free   │       blocks are allocated after the newest block,
//     │ … │ newest │►   free   │ oldest │ … │ · │     then from the start again; · is skipped
//
// A block is contiguous and never wraps around the end of the extent. `deallocate` ignores a block that is not the
// oldest. Such a block and all newer blocks stay allocated until `reset` or `rollback`, or until the block is the
// oldest and is freed again. No other block is affected.
//
// When to use: queues of messages, packets or frames of different sizes.
//
// When not to use: blocks that are freed in any other order. Use stack for last in, first out, pool for one size, and
// best_fit otherwise.
//
// Complexity: O(1) for every operation. Measured on a Cortex-M4 at -Os in an arena: at most 44 instructions (./dev
// size).
//
// Memory: five offsets, a count and a flag, and one offset in the metadata of every block. Up to one block's size is
// skipped at the end of the extent.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>
#include <allot/strategy/detail/adjacent_blocks.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Metadata of a block of a ring.
template <std::unsigned_integral Offset>
struct ring_metadata {
    Offset from = 0;  ///< Start of the block, including the bytes that alignment skipped before it.
    /// Compares the starts.
    friend constexpr bool operator==(ring_metadata, ring_metadata) = default;
};

/// Strategy that allocates around a circular buffer and frees the oldest block first.
template <ring_options Options = ring_options{}, std::unsigned_integral Offset = std::size_t>
class ring {
public:
    using offset_type = Offset;                   ///< Unsigned integer type of offsets and sizes.
    using metadata_type = ring_metadata<Offset>;  ///< Metadata of a block.
    using memory_type = no_memory;                ///< The managed memory is not accessed.
    using layout_type = basic_layout<Offset>;     ///< Size and alignment of a request.
    using extent_type = basic_extent<Offset>;     ///< Range of offsets.
    using allocation_type =
        basic_allocation<Offset, metadata_type>;        ///< Result of an allocation: its extent and metadata.
    static constexpr bool in_band = false;              ///< No records are kept in free memory.
    static constexpr reclaim reclaims = reclaim::fifo;  ///< Blocks are freed in the order of their allocation.
    static constexpr bool exact = false;            ///< Skipped bytes are not used until the ring comes around again.
    static constexpr bool several_extents = false;  ///< One extent is managed.

    /// State for `rollback`. A mark is valid until `reset`, `rollback` to an earlier mark, or the deallocation of a
    /// block that is older than the mark.
    class mark_type {
        friend ring;
        Offset newest = 0, upper_end = 0, live = 0;
        bool wrapped = false;
    };

    /// Constructs a strategy without offsets. Every request fails until `insert`.
    constexpr ring() noexcept = default;
    /// Moves the state. A moved-from ring has no offsets.
    constexpr ring(ring&& other) noexcept : ring{std::as_const(other)} {
        other.whole_ = {};
        other.reset();
    }
    /// Moves the state. A moved-from ring has no offsets.
    constexpr ring& operator=(ring&& other) noexcept {
        const ring taken{std::move(other)};
        return *this = taken;
    }

    /// Sets the extent to manage. Returns false if an extent is already managed, or if `where` is empty or wraps.
    constexpr bool insert(extent_type where, no_memory = {}) noexcept {
        if (whole_ || !where || where.size > std::numeric_limits<Offset>::max() - where.offset) return false;
        whole_ = where;
        reset();
        return true;
    }

    /// Allocates the newest block. Returns an empty allocation if the layout is invalid or does not fit.
    constexpr allocation_type allocate(layout_type wanted) noexcept {
        if (!wanted.is_valid()) return {};
        if (wrapped_) return cut(newest_, oldest_, wanted);
        if (const allocation_type given = cut(newest_, whole_.end(), wanted)) return given;
        const Offset upper_end = newest_;
        const allocation_type given = cut(whole_.offset, oldest_, wanted);
        if (given) {
            upper_end_ = upper_end;
            wrapped_ = true;
        }
        return given;
    }

    /// Frees the oldest block. Any other block stays allocated.
    constexpr void deallocate(allocation_type allocation) noexcept {
        if (allocation.metadata.from != oldest_ || live_ == 0) return;
        if (--live_ == 0) return reset();
        oldest_ = allocation.where.end();
        if (wrapped_ && oldest_ == upper_end_) {
            oldest_ = whole_.offset;
            wrapped_ = false;
        }
    }

    /// Returns true if the block is the oldest, so that `deallocate` frees it.
    [[nodiscard]] constexpr bool takes_back(allocation_type allocation) const noexcept {
        return allocation.metadata.from == oldest_ && live_ != 0;
    }

    /// Frees every block. The extent stays.
    constexpr void reset() noexcept {
        oldest_ = newest_ = whole_.offset;
        wrapped_ = false;
        live_ = 0;
    }

    /// Returns a mark for `rollback`.
    [[nodiscard]] constexpr mark_type mark() const noexcept {
        mark_type here;
        here.newest = newest_;
        here.upper_end = upper_end_;
        here.live = live_;
        here.wrapped = wrapped_;
        return here;
    }
    /// Frees every block that was allocated since `mark`. Precondition: the mark is from this ring and is valid.
    constexpr void rollback(mark_type mark) noexcept {
        if (mark.live == 0) return reset();
        newest_ = mark.newest;
        upper_end_ = mark.upper_end;
        live_ = mark.live;
        wrapped_ = mark.wrapped;
    }

    /// Returns the usable bytes of a block: exactly its size.
    [[nodiscard]] constexpr Offset capacity(allocation_type allocation) const noexcept { return allocation.where.size; }

    /// Returns the reason for which `allocate(wanted)` would fail.
    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        const auto above = static_cast<Offset>((wrapped_ ? oldest_ : whole_.end()) - newest_);
        const auto below = static_cast<Offset>(wrapped_ ? 0 : oldest_ - whole_.offset);
        const Offset largest = above > below ? above : below;
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, largest};
        if (ring trial = *this; trial.allocate(wanted)) return {refusal::none, largest};
        return {above + below < wanted.size ? refusal::exhausted : refusal::fragmented, largest};
    }

    /// Calls `f(extent)` with the free bytes before the oldest block and after the newest, if there are any.
    template <class Function>
    constexpr void for_each_hole(extent_type, Function f) const noexcept {
        const Offset end = wrapped_ ? oldest_ : whole_.end();
        if (!wrapped_ && oldest_ != whole_.offset)
            f(extent_type{whole_.offset, static_cast<Offset>(oldest_ - whole_.offset)});
        if (newest_ != end) f(extent_type{newest_, static_cast<Offset>(end - newest_)});
    }

    /// Returns the size of the smallest extent that holds `count` allocations of `each`; 0 if no extent does.
    /// Precondition: the extent's offset is a multiple of `each.align`.
    [[nodiscard]] static constexpr Offset bytes_for(Offset count, layout_type each) noexcept {
        return detail::bytes_of_adjacent<Offset>(count, each);
    }

private:
    constexpr ring(const ring&) noexcept = default;  // `diagnose` allocates from a copy
    constexpr ring& operator=(const ring&) noexcept = default;

    /// Allocates the newest block from the start of [from, to). Returns an empty allocation if it does not fit there.
    constexpr allocation_type cut(Offset from, Offset to, layout_type wanted) noexcept {
        const Offset skipped = static_cast<Offset>(0 - from) & static_cast<Offset>(wanted.align - 1);
        const auto room = static_cast<Offset>(to - from);
        if (skipped > room || wanted.size > room - skipped) return {};
        const auto at = static_cast<Offset>(from + skipped);
        newest_ = static_cast<Offset>(at + wanted.size);
        ++live_;
        return {{at, wanted.size}, {from}};
    }

    extent_type whole_;
    Offset oldest_ = 0, newest_ = 0;
    Offset upper_end_ = 0;  // end of the blocks above `oldest_` while the ring is wrapped
    Offset live_ = 0;       // number of allocated blocks
    bool wrapped_ = false;  // whether the newest blocks are below the oldest
};

static_assert(strategy<ring<>> && markable<ring<>>);
static_assert(!positional<ring<>> && !removable<ring<>>);

}  // namespace v1
}  // namespace allot
