// SPDX-License-Identifier: BSL-1.0
// ring: blocks given back in the order in which they were allocated, as in a queue of messages or frames.
//
//     │ free │ oldest │ … │ newest │►  free   │       the newest end runs ahead of the oldest,
//     │ … │ newest │►   free   │ oldest │ … │ · │     and starts again below it; · is skipped
//
// A block is never split over the end. A block that is not the oldest is not taken back: it stays, with all newer ones,
// until `reset`, and nothing is corrupted. Every operation is O(1); measured on a Cortex-M4, -Os, in an arena: at most 44
// instructions (./dev size). Memory: five offsets and a count; up to one block's size is skipped at the end of the extent.
// Not synchronised.
#pragma once

#include <allot/core/strategy.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Where the block's own room begins, with what alignment skipped before it: what must be the oldest to be taken back.
template <std::unsigned_integral Offset>
struct ring_metadata {
    Offset from = 0;
    friend constexpr bool operator==(ring_metadata, ring_metadata) = default;
};

template <std::unsigned_integral Offset = std::size_t>
class ring {
public:
    using offset_type = Offset;
    using metadata_type = ring_metadata<Offset>;
    using memory_type = no_memory;
    using layout_type = basic_layout<Offset>;
    using extent_type = basic_extent<Offset>;
    using allocation_type = basic_allocation<Offset, metadata_type>;
    static constexpr bool in_band = false;
    static constexpr reclaim reclaims = reclaim::fifo;
    static constexpr bool exact = false;  // what alignment and the end skipped is not looked at until it comes round
    static constexpr bool several_extents = false;

    /// Remembers what is allocated now. Valid until an earlier mark is returned to, or an older block is given back.
    class mark_type {
        friend ring;
        Offset newest = 0, upper_end = 0, live = 0;
        bool wrapped = false;
    };

    constexpr ring() noexcept = default;
    /// A moved-from ring has no offsets.
    constexpr ring(ring&& other) noexcept : ring{std::as_const(other)} {
        other.whole_ = {};
        other.reset();
    }
    constexpr ring& operator=(ring&& other) noexcept {
        const ring taken{std::move(other)};
        return *this = taken;
    }

    /// The offsets to manage. False when there are some already, and for an extent that is empty or wraps.
    constexpr bool insert(extent_type where, no_memory = {}) noexcept {
        if (whole_ || !where || where.size > std::numeric_limits<Offset>::max() - where.offset) return false;
        whole_ = where;
        reset();
        return true;
    }

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

    /// Takes the oldest block back; any other is left where it is.
    constexpr void deallocate(allocation_type allocation) noexcept {
        if (allocation.metadata.from != oldest_ || live_ == 0) return;
        if (--live_ == 0) return reset();
        oldest_ = allocation.where.end();
        if (wrapped_ && oldest_ == upper_end_) {
            oldest_ = whole_.offset;
            wrapped_ = false;
        }
    }

    /// Whether a block is the oldest, which is taken back.
    [[nodiscard]] constexpr bool takes_back(allocation_type allocation) const noexcept {
        return allocation.metadata.from == oldest_ && live_ != 0;
    }

    /// Forgets every block at once.
    constexpr void reset() noexcept {
        oldest_ = newest_ = whole_.offset;
        wrapped_ = false;
        live_ = 0;
    }

    [[nodiscard]] constexpr mark_type mark() const noexcept {
        mark_type here;
        here.newest = newest_;
        here.upper_end = upper_end_;
        here.live = live_;
        here.wrapped = wrapped_;
        return here;
    }
    /// Everything allocated since `mark` is free again. Precondition: the mark is this ring's and still valid.
    constexpr void rollback(mark_type mark) noexcept {
        if (mark.live == 0) return reset();
        newest_ = mark.newest;
        upper_end_ = mark.upper_end;
        live_ = mark.live;
        wrapped_ = mark.wrapped;
    }

    [[nodiscard]] constexpr Offset capacity(allocation_type allocation) const noexcept { return allocation.where.size; }

    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        const auto above = static_cast<Offset>((wrapped_ ? oldest_ : whole_.end()) - newest_);
        const auto below = static_cast<Offset>(wrapped_ ? 0 : oldest_ - whole_.offset);
        const Offset largest = above > below ? above : below;
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, largest};
        if (ring trial = *this; trial.allocate(wanted)) return {refusal::none, largest};
        return {above + below < wanted.size ? refusal::exhausted : refusal::fragmented, largest};
    }

    /// The size of the smallest extent, aligned as the layout, that holds `count` such allocations; 0 when none does.
    [[nodiscard]] static constexpr Offset bytes_for(Offset count, layout_type each) noexcept {
        Offset stride = 0, total = 0;
        if (!each.is_valid() || count == 0 || !checked_align_up(each.size, each.align, stride)) return 0;
        if (!checked_multiply<Offset>(stride, count - 1, total) || !checked_add<Offset>(total, each.size, total))
            return 0;
        return total;
    }

private:
    constexpr ring(const ring&) noexcept = default;  // for a trial
    constexpr ring& operator=(const ring&) noexcept = default;

    /// The newest block, cut from the start of [from, to).
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
    Offset upper_end_ = 0;  // where the upper part ends while the ring is wrapped
    Offset live_ = 0;
    bool wrapped_ = false;
};

static_assert(strategy<ring<>> && markable<ring<>>);
static_assert(!positional<ring<>> && !removable<ring<>>);

}  // namespace v1
}  // namespace allot
