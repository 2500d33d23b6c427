// SPDX-License-Identifier: BSL-1.0
// deferred: a strategy in band whose small blocks join later: what is given back waits as it is for the next of its size.
//
//     using fast = allot::arena<allot::host::heap, allot::deferred<allot::best_fit<>>>;
//
//     lists by size     24   40   56   72 …                    given back: in front of its list
//                        │         │                            allocated: the first of the list
//                        ▼         ▼
//                      block     block ─► block                 all go to the strategy when that refuses, once
//
// Programs ask again for the sizes that they gave back, so that most calls cut and join nothing. Nothing is lost by
// waiting: before a request is refused, all that waits has joined, and the strategy was asked again; `exact` stays true.
// So do functions that ask what is free: they join first. A `resize` joins the blocks that wait right above, one by one
// until it succeeds, and no other; with offsets of 16 bits, whose records in band have no bit for it, none.
//
// Complexity: O(1) where a block of the size waits, otherwise the strategy's; a refusal gives back what waits, each block
// once. Which is why its worst call has no bound: not for an interrupt. Memory: one offset for each multiple of two words
// up to `largest`. Not synchronised, const functions neither.
// Source: C. Weinstock, W. Wulf, "An Efficient Algorithm for Heap Storage Allocation", SIGPLAN Notices 23 (10), 1988
// ("Quick Fit").
#pragma once

#include <allot/core/detail/inlining.hpp>
#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>

#include <cstring>
#include <utility>

namespace allot {
inline namespace v1 {

template <class Strategy, deferred_options Options = deferred_options{}>
class deferred {
public:
    using offset_type = typename Strategy::offset_type;
    using metadata_type = typename Strategy::metadata_type;
    using memory_type = typename Strategy::memory_type;
    using layout_type = layout_for<Strategy>;
    using extent_type = extent_of<Strategy>;
    using allocation_type = allocation_of<Strategy>;
    static constexpr bool in_band = Strategy::in_band;
    static constexpr reclaim reclaims = reclaim::any;
    static constexpr bool exact = Strategy::exact;
    static constexpr bool several_extents = Strategy::several_extents;

    deferred() noexcept = default;
    deferred(deferred&& other) noexcept
        : strategy_{std::move(other.strategy_)}, waiting_{std::exchange(other.waiting_, {})}, memory_{other.memory_} {}
    deferred& operator=(deferred&& other) noexcept {
        strategy_ = std::move(other.strategy_);
        waiting_ = std::exchange(other.waiting_, {});
        memory_ = other.memory_;
        return *this;
    }

    bool insert(extent_type where, memory_type memory = {}) noexcept {
        require_in_band();
        memory_ = memory;
        return strategy_.insert(where, memory);
    }
    [[nodiscard]] bool can_insert() const noexcept
        requires several_extents
    {
        return strategy_.can_insert();
    }
    bool remove(extent_type inserted) noexcept
        requires removable<Strategy>
    {
        join_all();
        return strategy_.remove(inserted);
    }
    bool resize_extent(extent_type inserted, offset_type size) noexcept
        requires extendable<Strategy>
    {
        join_all();
        return strategy_.resize_extent(inserted, size);
    }
    [[nodiscard]] offset_type least_size(extent_type inserted) const noexcept
        requires extendable<Strategy>
    {
        join_all();
        return strategy_.least_size(inserted);
    }

    [[nodiscard]] offset_type size_for(extent_type inserted, layout_type wanted) const noexcept
        requires extendable<Strategy>
    {
        join_all();
        return strategy_.size_for(inserted, wanted);
    }
    [[nodiscard]] bool can_extend(extent_type inserted, layout_type wanted) const noexcept
        requires extendable<Strategy> && several_extents
    {
        return strategy_.can_extend(inserted, wanted);
    }
    [[nodiscard]] offset_type size_for(extent_type inserted, allocation_type allocation, offset_type size) const noexcept
        requires extendable<Strategy> && resizable<Strategy>
    {
        return strategy_.size_for(inserted, allocation, size);
    }

    allocation_type allocate(layout_type wanted) noexcept {
        if (wanted.is_valid() && wanted.align <= granule && wanted.size <= largest) {
            offset_type& first = waiting_.first[list_for(wanted.size)];
            if (first != none) {
                const allocation_type given{{take(first), wanted.size}, {}};
                if constexpr (marks) strategy_.clear_waiting(given);
                return given;
            }
        }
        return or_joined([&] { return strategy_.allocate(wanted); });
    }
    void deallocate(allocation_type allocation) noexcept {
        const offset_type size = strategy_.capacity(allocation);
        if (size > largest) return strategy_.deallocate(allocation);
        offset_type& first = waiting_.first[(size + word) / granule];
        if constexpr (marks) strategy_.set_waiting(allocation);
        std::memcpy(at(allocation.where.offset), &first, sizeof first);
        first = allocation.where.offset;
    }

    allocation_type allocate_at(extent_type wanted) noexcept
        requires positional<Strategy>
    {
        return or_joined([&] { return strategy_.allocate_at(wanted); });
    }
    [[nodiscard]] diagnosis diagnose_at(extent_type wanted) const noexcept
        requires positional<Strategy>
    {
        join_all();
        return strategy_.diagnose_at(wanted);
    }
    bool resize(allocation_type allocation, offset_type size) noexcept
        requires resizable<Strategy>
    {
        bool done = strategy_.resize(allocation, size);
        if constexpr (marks) {
            for (allocation_type above; !done && (above = strategy_.waiting_above(allocation)); done = strategy_.resize(allocation, size))
                join(above);
        }
        return done;
    }
    [[nodiscard]] offset_type capacity(allocation_type allocation) const noexcept { return strategy_.capacity(allocation); }
    [[nodiscard]] bool is_sound(allocation_type allocation, extent_type inside) const noexcept
        requires requires(const Strategy strategy) { strategy.is_sound(allocation, inside); }
    {
        return strategy_.is_sound(allocation, inside);
    }
    [[nodiscard]] diagnosis diagnose(layout_type wanted) const noexcept {
        join_all();
        return strategy_.diagnose(wanted);
    }
    [[nodiscard]] static constexpr offset_type bytes_for(offset_type count, layout_type each) noexcept {
        return Strategy::bytes_for(count, each);
    }

private:
    // A block in band begins one word behind a multiple of two, and ends there: sizes are told apart no finer.
    static constexpr offset_type word = sizeof(offset_type), granule = 2 * word;
    static constexpr offset_type none = std::numeric_limits<offset_type>::max();
    static_assert(Options.largest <= none / 2, "allot: deferred_options::largest is more than half of all offsets");
    static constexpr auto largest = static_cast<offset_type>(Options.largest);

    /// Called before every access to the memory, so that its error is the first.
    ALLOT_INLINE static constexpr void require_in_band() noexcept {
        // Not in the class: it must be nameable before an arena settles where the strategy keeps its records.
        static_assert(Strategy::in_band && Strategy::reclaims == reclaim::any,
                      "allot: deferred links waiting blocks through their bytes, and so needs a strategy in band, whose "
                      "blocks come back in any order: best_fit, where the host can reach the memory");
    }
    [[nodiscard]] ALLOT_INLINE std::byte* at(offset_type offset) const noexcept {
        require_in_band();
        if constexpr (in_band) return memory_.at(offset);
        else return nullptr;
    }

    /// The list whose blocks all serve `size`. Where a strategy's smallest blocks are larger, the first lists stay empty.
    [[nodiscard]] static constexpr std::size_t list_for(offset_type size) noexcept {
        return size <= word ? 2 : static_cast<std::size_t>((size + word + granule - 1) / granule);
    }

    /// Whether a block above that waits is told from one in use.
    static constexpr bool marks = resizable<Strategy> && requires(const Strategy strategy, allocation_type allocation) {
        { strategy.waiting_above(allocation) } -> std::same_as<allocation_type>;
    };

    /// Takes the block out of a list that follows another one there.
    offset_type take_after(offset_type before) noexcept {
        offset_type next;
        std::memcpy(&next, at(before), sizeof next);
        const offset_type taken = take(next);
        std::memcpy(at(before), &next, sizeof next);
        return taken;
    }
    /// Takes the first block out of a list that has one.
    offset_type take(offset_type& first) const noexcept {
        const offset_type taken = first;
        std::memcpy(&first, at(taken), sizeof first);
        return taken;
    }

    /// Gives one block that waits to the strategy. It is soon found among the last that came back; those in front of one
    /// that lies deeper in its list join with it, so that no block is passed again and again.
    void join(allocation_type waits) noexcept {
        offset_type& first = waiting_.first[(waits.where.size + word) / granule];
        offset_type before = none, each = first;
        for (unsigned left = 32; left != 0 && each != waits.where.offset; --left) {
            before = each;
            std::memcpy(&each, at(before), sizeof each);
        }
        if (each != waits.where.offset)
            while (first != waits.where.offset) strategy_.deallocate({{take(first), 0}, {}});
        else if (before != none)
            return strategy_.deallocate({{take_after(before), 0}, {}});
        strategy_.deallocate({{take(first), 0}, {}});
    }

    /// What `ask` answers; when it refuses, once more with all joined.
    template <class Ask>
    auto or_joined(Ask ask) noexcept {
        auto answer = ask();
        if (!answer && join_all()) answer = ask();
        return answer;
    }
    /// Gives all that waits to the strategy. Whether anything did. In band, a block's record tells its size.
    bool join_all() const noexcept {
        bool any = false;
        for (offset_type& first : waiting_.first) {
            while (first != none) {
                strategy_.deallocate({{take(first), 0}, {}});
                any = true;
            }
        }
        return any;
    }

    struct lists {
        offset_type first[list_for(largest) + 1];
        lists() noexcept {
            for (offset_type& each : first) each = none;
        }
    };

    // What waits is free already: to join it changes nothing that is told.
    mutable Strategy strategy_;
    mutable lists waiting_;
    [[no_unique_address]] memory_type memory_{};
};

/// What defers is what the strategy becomes in such memory.
template <class Strategy, deferred_options Options, memory_traits Where>
struct strategy_in<deferred<Strategy, Options>, Where> {
    using type = deferred<typename strategy_in<Strategy, Where>::type, Options>;
};

}  // namespace v1
}  // namespace allot
