// SPDX-License-Identifier: BSL-1.0
// stack: blocks given back in the opposite order, each at once reusable. With `large`, a second stack grows down from
// the top for sizes from that on.
//
//     │ block │ block │►         free         ◄│ large block │
//
// A block's metadata is where its end stood before, so that what alignment skipped comes back too. A block that is not
// the newest of its end is not taken back: it stays until `rollback` or `reset`, and nothing is corrupted. Every
// operation is O(1); measured on a Cortex-M4, -Os, in an arena: at most 23 instructions (./dev size). Memory: four offsets,
// and one in every metadata. Not synchronised.
#pragma once

#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Where the end of the stack stood before this block.
template <std::unsigned_integral Offset>
struct stack_metadata {
    Offset before = 0;
    friend constexpr bool operator==(stack_metadata, stack_metadata) = default;
};

template <stack_options Options = stack_options{}, std::unsigned_integral Offset = std::size_t>
class stack {
    static_assert(std::in_range<Offset>(Options.large),
                  "allot: stack_options::large does not fit the offset type: no size would be stacked from the top");

public:
    using offset_type = Offset;
    using metadata_type = stack_metadata<Offset>;
    using memory_type = no_memory;
    using layout_type = basic_layout<Offset>;
    using extent_type = basic_extent<Offset>;
    using allocation_type = basic_allocation<Offset, metadata_type>;
    static constexpr bool in_band = false;
    static constexpr reclaim reclaims = reclaim::lifo;
    static constexpr bool exact = false;  // what alignment skipped is not looked at until its block is gone
    static constexpr bool several_extents = false;

    /// Remembers what is allocated now. Valid until an earlier mark, or an older block, is returned to.
    class mark_type {
        friend stack;
        Offset low = 0, high = 0;
    };

    constexpr stack() noexcept = default;
    /// A moved-from stack has no offsets.
    constexpr stack(stack&& other) noexcept : stack{std::as_const(other)} {
        other.whole_ = {};
        other.reset();
    }
    constexpr stack& operator=(stack&& other) noexcept {
        const stack taken{std::move(other)};
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
        if (!wanted.is_valid() || wanted.size > high_ - low_) return {};
        const auto mask = static_cast<Offset>(wanted.align - 1);
        if (is_large(wanted.size)) {
            const auto at = static_cast<Offset>((high_ - wanted.size) & ~mask);
            if (at < low_) return {};
            return {{at, wanted.size}, {std::exchange(high_, at)}};
        }
        const Offset skipped = static_cast<Offset>(0 - low_) & mask;
        if (skipped > high_ - low_ - wanted.size) return {};
        const auto at = static_cast<Offset>(low_ + skipped);
        return {{at, wanted.size}, {std::exchange(low_, static_cast<Offset>(at + wanted.size))}};
    }

    /// Takes the newest block of its end back; any other is left where it is.
    constexpr void deallocate(allocation_type allocation) noexcept {
        if (is_large(allocation.where.size)) {
            if (allocation.where.offset == high_) high_ = allocation.metadata.before;
        } else if (allocation.where.end() == low_) {
            low_ = allocation.metadata.before;
        }
    }

    /// Whether a block is the newest of its end, which is taken back.
    [[nodiscard]] constexpr bool takes_back(allocation_type allocation) const noexcept {
        return is_large(allocation.where.size) ? allocation.where.offset == high_ : allocation.where.end() == low_;
    }

    constexpr void reset() noexcept {
        low_ = whole_.offset;
        high_ = whole_.end();
    }
    [[nodiscard]] constexpr mark_type mark() const noexcept {
        mark_type here;
        here.low = low_;
        here.high = high_;
        return here;
    }
    /// Everything allocated since `mark` is free again. Precondition: the mark is this stack's and still valid.
    constexpr void rollback(mark_type mark) noexcept {
        low_ = mark.low;
        high_ = mark.high;
    }

    [[nodiscard]] constexpr Offset capacity(allocation_type allocation) const noexcept { return allocation.where.size; }

    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        const auto free = static_cast<Offset>(high_ - low_);
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, free};
        if (stack trial = *this; trial.allocate(wanted)) return {refusal::none, free};
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
    constexpr stack(const stack&) noexcept = default;  // for a trial
    constexpr stack& operator=(const stack&) noexcept = default;

    [[nodiscard]] static constexpr bool is_large(Offset size) noexcept {
        return Options.large != 0 && size >= Options.large;
    }

    extent_type whole_;
    Offset low_ = 0, high_ = 0;
};

static_assert(strategy<stack<>> && markable<stack<>>);
static_assert(!positional<stack<>> && !removable<stack<>>);

}  // namespace v1
}  // namespace allot
