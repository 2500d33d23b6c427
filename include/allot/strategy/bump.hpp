// bump: blocks one after the other, given back all at once.
//
//     up     │ block │ block │ block │►  free        │
//     down   │         free      ◄│ block │ block │
//
// `reset` forgets every block; a mark remembers where the cursor stands, and `rollback` returns to it. `deallocate`
// does nothing. Every operation is O(1) and a handful of instructions, downward the fewest. Memory: three offsets, and
// what alignment skips. Not synchronised.
#pragma once

#include <allot/core/strategy.hpp>

namespace allot::inline v1 {

enum class direction : unsigned char { up, down };

struct bump_options {
    allot::direction direction = allot::direction::down;
};

template <bump_options Options = bump_options{}, std::unsigned_integral Offset = std::size_t>
class bump {
    static constexpr bool up = Options.direction == direction::up;

public:
    using offset_type = Offset;
    using ticket_type = no_ticket<bump>;
    using memory_type = no_memory;
    using layout_type = basic_layout<Offset>;
    using extent_type = basic_extent<Offset>;
    using grant_type = basic_grant<Offset, ticket_type>;
    static constexpr bool in_band = false;
    static constexpr reclaim reclaims = reclaim::never;
    static constexpr bool exact = false;  // what alignment skipped is not looked at again
    static constexpr bool several_extents = false;

    /// Remembers what is allocated now. Valid until an earlier mark, or none, is returned to.
    class mark_type {
        friend bump;
        Offset cursor = 0;
    };

    /// The offsets to manage. False when there are some already, and for an extent that is empty or wraps.
    constexpr bool insert(extent_type where, no_memory = {}) noexcept {
        if (whole_ || !where || where.size > std::numeric_limits<Offset>::max() - where.offset) return false;
        whole_ = where;
        reset();
        return true;
    }

    /// Moves the end of the extent. False when that would wrap, or would leave out what is allocated.
    constexpr bool resize_extent(extent_type inserted, Offset size) noexcept
        requires up
    {
        if (inserted != whole_ || size > std::numeric_limits<Offset>::max() - whole_.offset || size < least_size(inserted))
            return false;
        whole_.size = size;
        return true;
    }
    [[nodiscard]] constexpr Offset least_size(extent_type) const noexcept
        requires up
    {
        return static_cast<Offset>(cursor_ - whole_.offset);
    }

    constexpr grant_type allocate(layout_type wanted) noexcept {
        if (!is_alignment(wanted.align)) return {};
        const auto mask = static_cast<Offset>(wanted.align - 1);
        const auto all_but_one = static_cast<Offset>(wanted.size - 1);  // size 0 wraps, and is refused with the too large
        if constexpr (up) {
            const Offset skipped = static_cast<Offset>(0 - cursor_) & mask;
            const auto room = static_cast<Offset>(whole_.end() - cursor_);
            if (skipped >= room || all_but_one >= room - skipped) return {};
            const auto at = static_cast<Offset>(cursor_ + skipped);
            cursor_ = static_cast<Offset>(at + wanted.size);
            return {{at, wanted.size}, {}};
        } else {
            if (all_but_one >= cursor_ - whole_.offset) return {};
            const auto at = static_cast<Offset>((cursor_ - wanted.size) & ~mask);
            if (at < whole_.offset) return {};
            cursor_ = at;
            return {{at, wanted.size}, {}};
        }
    }

    /// Nothing: `reset` and `rollback` give back.
    constexpr void deallocate(grant_type) noexcept {}

    constexpr void reset() noexcept { cursor_ = up ? whole_.offset : whole_.end(); }

    [[nodiscard]] constexpr mark_type mark() const noexcept {
        mark_type here;
        here.cursor = cursor_;
        return here;
    }
    /// Everything allocated since `mark` is free again. Precondition: the mark is this bump's and still valid.
    constexpr void rollback(mark_type mark) noexcept { cursor_ = mark.cursor; }

    [[nodiscard]] constexpr Offset capacity(grant_type grant) const noexcept { return grant.where.size; }

    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        const auto free = static_cast<Offset>(up ? whole_.end() - cursor_ : cursor_ - whole_.offset);
        if (const refusal why = invalidity(wanted); why != refusal::none) return {why, free};
        if (bump trial = *this; trial.allocate(wanted)) return {refusal::none, free};
        return {free < wanted.size ? refusal::exhausted : refusal::fragmented, free};
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
    extent_type whole_;
    Offset cursor_ = 0;
};

static_assert(strategy<bump<>> && markable<bump<>>);
static_assert(!claimable<bump<>> && !resizable<bump<>> && !removable<bump<>> && !extendable<bump<>>);
static_assert(extendable<bump<bump_options{.direction = direction::up}>>);

}  // namespace allot::inline v1
