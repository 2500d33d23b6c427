// SPDX-License-Identifier: BSL-1.0
// numbered_slots: the strategy of a checked arena over a pool in one region that takes the newest free slot first. The
// list of free slots is in the records of the checks.
//
//     records   │ number · size │ number · next │ number · next │ number · size │       live, free, free, live
//                                     │    ▲          ▲
//                                     └────┼──────────┘
//                                newest ───┘
//
// Internal. An arena uses it in place of the pool. It returns the same slots in the same order, and blocks have their
// numbers from it. Free slots are not accessed.
//
// Complexity: O(1). A request that takes a slot without a record is O(slots), and doubles the records.
//
// Memory: that of slot_records.hpp. Thread safety: not synchronized.
#pragma once

#include <allot/arena/detail/slot_records.hpp>
#include <allot/arena/misuse.hpp>
#include <allot/core/strategy.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Whether a strategy divides an extent into slots whose sizes fit in a record.
template <class Strategy>
concept slotted = requires(extent_of<Strategy> where) {
    { Strategy::slots_in(where) } -> std::same_as<extent_of<Strategy>>;
    requires Strategy::slot_size <= 0x7FFF'FFFFU;
    requires std::is_empty_v<typename Strategy::metadata_type>;
};

/// Strategy with the slots of `Pool`.
template <class Pool>
class numbered_slots {
public:
    using records_type = slot_records<static_cast<std::size_t>(Pool::slot_size), Pool::in_band ? 0 : Pool::most_slots>;
    using offset_type = typename Pool::offset_type;
    using metadata_type = hardened_metadata<typename Pool::metadata_type>;
    using memory_type = no_memory;
    using layout_type = layout_for<Pool>;
    using extent_type = extent_of<Pool>;
    using allocation_type = basic_allocation<offset_type, metadata_type>;
    static constexpr bool in_band = false;
    static constexpr reclaim reclaims = Pool::reclaims;
    static constexpr bool exact = Pool::exact;
    static constexpr bool several_extents = false;
    static constexpr std::size_t extent_align = Pool::extent_align;
    static constexpr offset_type slot_size = Pool::slot_size;

    numbered_slots() noexcept = default;
    /// Moves the slots. A moved-from strategy has none.
    numbered_slots(numbered_slots&& other) noexcept { *this = std::move(other); }
    numbered_slots& operator=(numbered_slots&& other) noexcept {
        records_ = std::move(other.records_);
        most_ = std::exchange(other.most_, std::size_t{0});
        newest_ = std::exchange(other.newest_, std::size_t{0});
        return *this;
    }

    bool insert(extent_type where, memory_type = {}) noexcept {
        static_assert(Pool::pool_requirements());
        const extent_type slots =
            where.size > std::numeric_limits<offset_type>::max() - where.offset ? extent_type{} : Pool::slots_in(where);
        if (!slots || most_ != 0) return false;
        const auto count = static_cast<std::size_t>(slots.size / slot_size);
        records_.begin_at(static_cast<std::size_t>(slots.offset));
        most_ = count < records_type::most ? count : records_type::most;
        return true;
    }

    allocation_type allocate(layout_type wanted) noexcept {
        if (!Pool::suits(wanted)) [[unlikely]]
            return {};
        // The list ends with the slot after those that have records.
        if (newest_ == records_.count() && !grow()) [[unlikely]]
            return {};
        const std::size_t index = newest_;
        newest_ = records_.next(index);
        const std::uint32_t number = records_.enter(index, static_cast<std::size_t>(wanted.size));
        return {{static_cast<offset_type>(records_.offset_of(index)), wanted.size}, {{}, number}};
    }
    void deallocate(allocation_type allocation) noexcept {
        const std::size_t index = records_.index_of(static_cast<std::size_t>(allocation.where.offset));
        records_.leave(index, std::exchange(newest_, index));
    }
    [[nodiscard]] offset_type capacity(allocation_type) const noexcept { return slot_size; }
    [[nodiscard]] diagnosis diagnose(layout_type wanted) const noexcept {
        return Pool::diagnose(wanted, newest_ == most_);
    }
    template <class Function>
    void for_each_hole(extent_type, Function f) const noexcept {
        const auto each = [&](std::size_t i) {
            f(extent_type{static_cast<offset_type>(records_.offset_of(i)), slot_size});
        };
        for (std::size_t i = newest_; i != records_.count(); i = records_.next(i)) each(i);
        for (std::size_t i = records_.count(); i != most_; ++i) each(i);
    }
    [[nodiscard]] static constexpr offset_type bytes_for(offset_type count, layout_type each) noexcept {
        return Pool::bytes_for(count, each);
    }

    [[nodiscard]] const records_type& records() const noexcept { return records_; }

private:
    [[nodiscard]] ALLOT_NOINLINE bool grow() noexcept {
        return records_.count() != most_ && records_.grow(records_.count() + 1, most_);
    }

    records_type records_;
    std::size_t most_ = 0;    // number of slots
    std::size_t newest_ = 0;  // index of the first free slot of the list
};

/// The strategy that an arena uses in place of another one, in memory with these traits. `Checked` is true with
/// `hardening::checked`.
template <class Strategy, memory_traits Where, bool Checked>
struct checked_strategy {
    using type = Strategy;
};
template <slotted Strategy, memory_traits Where>
    requires(Strategy::newest_first && !Where.grows && !Where.extends && (!Strategy::in_band || Where.host_pointers))
struct checked_strategy<Strategy, Where, true> {
    using type = numbered_slots<Strategy>;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
