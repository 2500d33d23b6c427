// SPDX-License-Identifier: BSL-1.0
// stack: a strategy whose blocks are freed in the reverse order of their allocation (last in, first out).
//
//     allot::arena<allot::host::static_storage<64_KiB>, allot::stack<>> memory;
//     auto outer = memory.allocate({.size = 256});
//     auto inner = memory.allocate({.size = 64, .align = 16});
//     memory.deallocate(inner);
//     memory.deallocate(outer);
//
//     │ block │ block │►         free         ◄│ large block │
//
// With `stack_options::large`, blocks of that size or more form a second stack, which grows down from the top.
//
// A block's metadata is the previous position of its end of the stack, so that deallocation also frees the bytes that
// alignment skipped. `deallocate` ignores a block that is not the newest of its end. Such a block stays allocated until
// `rollback` or `reset`, and no other block is affected.
//
// When to use: nested lifetimes, such as those of function calls or of the temporary tensors of a layer.
//
// When not to use: blocks that are freed in any other order. Use ring for first in, first out, pool for one size, and
// best_fit otherwise.
//
// Complexity: O(1) for every operation. Measured on a Cortex-M4 at -Os in an arena: at most 23 instructions (./dev
// size).
//
// Memory: four offsets, and one in the metadata of every block.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>
#include <allot/strategy/detail/adjacent_blocks.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Metadata of a block of a stack.
template <std::unsigned_integral Offset>
struct stack_metadata {
    Offset before = 0;  ///< Position of the block's end of the stack before its allocation.
    /// Compares the positions.
    friend constexpr bool operator==(stack_metadata, stack_metadata) = default;
};

/// Strategy that allocates from one end of an extent, or from both, and frees blocks in reverse order.
template <stack_options Options = stack_options{}, std::unsigned_integral Offset = std::size_t>
class stack {
    static_assert(std::in_range<Offset>(Options.large),
                  "allot: stack_options::large does not fit the offset type: use a smaller size or a "
                  "wider offset type");

public:
    using offset_type = Offset;                    ///< Unsigned integer type of offsets and sizes.
    using metadata_type = stack_metadata<Offset>;  ///< Metadata of a block.
    using memory_type = no_memory;                 ///< The managed memory is not accessed.
    using layout_type = basic_layout<Offset>;      ///< Size and alignment of a request.
    using extent_type = basic_extent<Offset>;      ///< Range of offsets.
    using allocation_type =
        basic_allocation<Offset, metadata_type>;        ///< Result of an allocation: its extent and metadata.
    static constexpr bool in_band = false;              ///< No records are kept in free memory.
    static constexpr reclaim reclaims = reclaim::lifo;  ///< Blocks are freed in reverse order.
    static constexpr bool exact = false;  ///< Bytes that alignment skipped are not used until their block is freed.
    static constexpr bool several_extents = false;  ///< One extent is managed.

    /// Positions of both ends. A mark is valid until `reset`, `rollback` to an earlier mark, or the deallocation of a
    /// block that is older than the mark.
    class mark_type {
        friend stack;
        Offset low = 0, high = 0;
    };

    /// Constructs a strategy without offsets. Every request fails until `insert`.
    constexpr stack() noexcept = default;
    /// Moves the state. A moved-from stack has no offsets.
    constexpr stack(stack&& other) noexcept : stack{std::as_const(other)} {
        other.whole_ = {};
        other.reset();
    }
    /// Moves the state. A moved-from stack has no offsets.
    constexpr stack& operator=(stack&& other) noexcept {
        const stack taken{std::move(other)};
        return *this = taken;
    }

    /// Sets the extent to manage. Returns false if an extent is already managed, or if `where` is empty or wraps.
    constexpr bool insert(extent_type where, no_memory = {}) noexcept {
        if (whole_ || !where || where.size > std::numeric_limits<Offset>::max() - where.offset) return false;
        whole_ = where;
        reset();
        return true;
    }

    /// Allocates a block at one end. Returns an empty allocation if the layout is invalid or does not fit.
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

    /// Frees the newest block of its end. Any other block stays allocated.
    constexpr void deallocate(allocation_type allocation) noexcept {
        if (is_large(allocation.where.size)) {
            if (allocation.where.offset == high_) high_ = allocation.metadata.before;
        } else if (allocation.where.end() == low_) {
            low_ = allocation.metadata.before;
        }
    }

    /// Returns true if the block is the newest of its end, so that `deallocate` frees it.
    [[nodiscard]] constexpr bool takes_back(allocation_type allocation) const noexcept {
        return is_large(allocation.where.size) ? allocation.where.offset == high_ : allocation.where.end() == low_;
    }

    /// Frees every block. The extent stays.
    constexpr void reset() noexcept {
        low_ = whole_.offset;
        high_ = whole_.end();
    }
    /// Returns a mark for `rollback`.
    [[nodiscard]] constexpr mark_type mark() const noexcept {
        mark_type here;
        here.low = low_;
        here.high = high_;
        return here;
    }
    /// Frees every block that was allocated since `mark`. Precondition: the mark is from this stack and is valid.
    constexpr void rollback(mark_type mark) noexcept {
        low_ = mark.low;
        high_ = mark.high;
    }

    /// Returns the usable bytes of a block: exactly its size.
    [[nodiscard]] constexpr Offset capacity(allocation_type allocation) const noexcept { return allocation.where.size; }

    /// Returns the reason for which `allocate(wanted)` would fail.
    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        const auto free = static_cast<Offset>(high_ - low_);
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, free};
        if (stack trial = *this; trial.allocate(wanted)) return {refusal::none, free};
        return {free < wanted.size ? refusal::exhausted : refusal::fragmented, free};
    }

    /// Calls `f(extent)` with the free bytes between both ends, if there are any.
    template <class Function>
    constexpr void for_each_hole(extent_type, Function f) const noexcept {
        if (low_ != high_) f(extent_type{low_, static_cast<Offset>(high_ - low_)});
    }

    /// Returns the size of the smallest extent that holds `count` allocations of `each`; 0 if no extent does.
    /// Precondition: the extent's offset is a multiple of `each.align`.
    [[nodiscard]] static constexpr Offset bytes_for(Offset count, layout_type each) noexcept {
        return detail::bytes_of_adjacent<Offset>(count, each);
    }

private:
    constexpr stack(const stack&) noexcept = default;  // `diagnose` allocates from a copy
    constexpr stack& operator=(const stack&) noexcept = default;

    [[nodiscard]] static constexpr bool is_large(Offset size) noexcept {
        return Options.large != 0 && size >= Options.large;
    }

    extent_type whole_;
    Offset low_ = 0, high_ = 0;  // the free range
};

static_assert(strategy<stack<>> && markable<stack<>>);
static_assert(!positional<stack<>> && !removable<stack<>>);

}  // namespace v1
}  // namespace allot
