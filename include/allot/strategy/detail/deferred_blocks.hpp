// SPDX-License-Identifier: BSL-1.0
// deferred_blocks: the blocks that `deferred` takes from its lists and from the strategy, and how waiting blocks join.
//
//     allocate ──► recent list ──► old list ──► cut several blocks ──► strategy         the first that has a block
//     deallocate ──► recent list, or the strategy     join ──► old lists ──► strategy   while too many wait
//
// Internal. The calls of other functions are the last statements of the common paths, so that these save no registers.
//
// Complexity: O(1) if a block of the size waits, otherwise that of the strategy and of a bounded number of joins.
// Memory: that of `deferred`. Thread safety: not synchronized.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>
#include <allot/strategy/detail/waiting_amounts.hpp>
#include <allot/strategy/detail/waiting_blocks.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// The strategy, the lists of waiting blocks and their amounts.
template <class Strategy, deferred_options Options>
class deferred_blocks {
protected:
    using offset_type = typename Strategy::offset_type;
    using layout_type = layout_for<Strategy>;
    using extent_type = extent_of<Strategy>;
    using allocation_type = allocation_of<Strategy>;
    using blocks = waiting_blocks<Strategy>;
    using record = typename blocks::record;

    // Lengths count granules of two words, with the record before a block. All blocks of a list have its length.
    static constexpr offset_type word = sizeof(offset_type), granule = 2 * word;
    static constexpr offset_type none = std::numeric_limits<offset_type>::max();
    static_assert(Options.largest <= none / 2,
                  "allot: deferred_options::largest must be at most half of the offset type's range");
    static_assert(Options.joins > 0, "allot: deferred_options::joins must be at least 1");
    static constexpr auto largest = static_cast<offset_type>(Options.largest);
    // A block of at least this length beside a hole does not wait: its record above is not read for smaller ones.
    static constexpr std::size_t looks_above = 256 / granule;
    // The number of blocks that one call cuts from a hole, and that a deallocation joins.
    static constexpr std::size_t most_at_once = 16;
    // The number of blocks that a request joins. As an extent fills, the spare part becomes a surplus.
    static constexpr std::size_t most_for_request = std::min<std::size_t>(Options.spare == 0 ? 2 : 8, Options.joins);
    // The number of lists that `join_old` visits.
    static constexpr std::size_t most_visits = Options.joins == all_blocks ? 8 : 2;
    /// Called before every access to the memory, so that this assertion is reported first.
    static consteval bool is_in_band() {
        // Checked here and not in the class, because `deferred<Strategy>` is named before an arena selects the node
        // store.
        static_assert(Strategy::in_band && Strategy::reclaims == reclaim::any,
                      "allot: deferred needs a strategy with records in band whose blocks are freed in any order: use "
                      "best_fit, in memory that the host can access");
        return true;
    }
    /// Returns the granules of a block of at least `size` bytes and its record. The smallest block has one more.
    [[nodiscard]] static constexpr std::size_t granules_for(offset_type size) noexcept {
        return static_cast<std::size_t>((size + word + granule - 1) / granule);
    }
    /// Returns the list whose blocks all have a capacity of at least `size`.
    [[nodiscard]] static constexpr std::size_t list_for(offset_type size) noexcept {
        const std::size_t list = granules_for(size);
        return list + (list < 2 ? 1 : 0);
    }

    static constexpr std::size_t first_list = 2, last = list_for(largest);
    // The usable bytes of the blocks in the last list of one size.
    static constexpr auto largest_listed = static_cast<offset_type>(last * granule - word);
    using amounts = waiting_amounts<offset_type, last, Options.share, Options.spare>;
    using credit_type = typename amounts::credit_type;

    // Blocks that are too large for these lists wait while memory is ample after a peak. Each eighth of a power of two
    // has a list of them.
    static constexpr std::size_t longest = 4095;
    static constexpr bool keeps_large = amounts::has_spare && last >= 15 && last < longest;
    /// Returns the list of a block of so many granules.
    [[nodiscard]] static constexpr std::size_t list_of(std::size_t length) noexcept {
        return length <= last ? length : list_of_large(length);
    }
    /// Does the same for more than `last` granules.
    [[nodiscard]] static constexpr std::size_t list_of_large(std::size_t length) noexcept {
        constexpr auto first_octave = static_cast<std::size_t>(highest_one(last + 1));
        const auto octave = static_cast<std::size_t>(highest_one(length));
        return last + 1 - (first_octave + 1) * 8 + octave * 8 + (length >> (octave - 3));
    }
    static constexpr std::size_t last_list = keeps_large ? list_of(longest) : last;

    deferred_blocks() noexcept = default;
    deferred_blocks(deferred_blocks&& other) noexcept
        : waiting_{std::exchange(other.waiting_, {})},
          amounts_{std::exchange(other.amounts_, {})},
          strategy_{std::move(other.strategy_)},
          next_{std::exchange(other.next_, first_list)},
          cut_{std::exchange(other.cut_, {})} {}
    deferred_blocks& operator=(deferred_blocks&& other) noexcept {
        strategy_ = std::move(other.strategy_);
        waiting_ = std::exchange(other.waiting_, {});
        amounts_ = std::exchange(other.amounts_, {});
        next_ = std::exchange(other.next_, first_list);
        cut_ = std::exchange(other.cut_, {});
        return *this;
    }

    /// Returns true if the request is served from the lists.
    [[nodiscard]] ALLOT_INLINE static constexpr bool is_small(const layout_type& wanted) noexcept {
        return static_cast<offset_type>(wanted.size - 1) < largest && blocks::is_any_alignment(wanted.align);
    }
    /// Counts the bytes of an extent before and after a change.
    void count_room(offset_type before, offset_type after) noexcept {
        amounts_.count_room(static_cast<offset_type>(before / granule), static_cast<offset_type>(after / granule));
    }
    /// Returns the number of granules of a block.
    [[nodiscard]] std::size_t length_of(offset_type block) const noexcept {
        static_assert(is_in_band());
        return record{strategy_, block}.length();
    }

    /// Adds a block that is not above a hole to the recent blocks of its size.
    ALLOT_INLINE void add_waiting(offset_type freed, const record& of) noexcept {
        const auto list = static_cast<std::size_t>(of.length_above_block());
        of.set_waiting(strategy_);
        blocks::set_next(strategy_, freed, waiting_.recent[list]);
        waiting_.recent[list] = freed;
        if (!amounts_.add(list)) join_surplus();
    }
    /// Removes the first block of a list, and loads the next one into the cache: often, the memory of a block that
    /// waits was last accessed long ago.
    ALLOT_INLINE void pop(offset_type& list, offset_type first) const noexcept {
        list = blocks::next(strategy_, first);
        blocks::prefetch(strategy_, list);
    }
    /// Returns a block that was removed from its list as allocated.
    ALLOT_INLINE allocation_type use(offset_type block, offset_type size, std::size_t list) noexcept {
        blocks::clear_waiting(strategy_, block);
        amounts_.remove(list);
        return {{block, size}, {}};
    }
    /// Allocates a small block without the list of recently freed blocks, which is empty.
    ALLOT_NOINLINE allocation_type refill(offset_type size, std::size_t list) noexcept {
        if (const offset_type first = waiting_.old[list]; first != none) {
            pop(waiting_.recent[list], first);
            waiting_.old[list] = none;
            return use(first, size, list);
        }
        return take_bytes(size, list);
    }
    /// Allocates a small block from the strategy, because both lists of its size are empty. A separate function, so
    /// that `refill` saves no registers for it.
    ALLOT_NOINLINE allocation_type take_bytes(offset_type size, std::size_t list) noexcept {
        amounts_.renew_for_request();
        if (const credit_type keeps = amounts_.request_keeps(); amounts_.credit() < keeps) {
            join_old(keeps, most_for_request);
            if constexpr (Options.joins != all_blocks) return counted(strategy_.allocate({size, 1}));
        } else if constexpr (Options.joins == all_blocks && blocks::cuts_several) {
            const std::size_t count = blocks_in(static_cast<offset_type>(amounts_.credit() - keeps) / 8, list);
            if (count > 1 && blocks::cuts(size)) {
                const auto given = cut(size, list, count);
                return given ? given : allocate_after_joining(size, 1);
            }
        }
        return allocate_joined(size, 1);
    }
    /// Returns the number of blocks of a list in so many granules, at most `most_at_once`.
    [[nodiscard]] static constexpr std::size_t blocks_in(offset_type granules, std::size_t list) noexcept {
        // A division of short numbers, and only of these, because that of long ones takes many cycles.
        if (granules >= most_at_once * list) return most_at_once;
        return static_cast<std::uint32_t>(granules) / static_cast<std::uint32_t>(list);
    }
    /// Allocates up to `count` blocks from one hole, all of which but the first wait, in the order of their offsets.
    /// Precondition: no block waits in the lists of this size.
    allocation_type cut(offset_type size, std::size_t list, std::size_t count) noexcept {
        const auto given =
            blocks::cut(strategy_, size, static_cast<offset_type>(count), cut_.size, waiting_.recent[list]);
        cut_.offset = given.where.offset;
        amounts_.add_new(static_cast<offset_type>(cut_.size / granule));
        return counted(given);
    }
    /// Allocates a block that is too large for the lists of one size: a waiting one, or a block of the strategy.
    ALLOT_NOINLINE allocation_type allocate_large(offset_type size, offset_type align) noexcept {
        if constexpr (keeps_large) {
            if (amounts_.large() != 0) return allocate_from_lists(size, align);
            amounts_.note_peak_of_large();
        }
        return allocate_joined(size, align);
    }
    /// Does the same while large blocks wait.
    ALLOT_NOINLINE allocation_type allocate_from_lists(offset_type size, offset_type align) noexcept {
        const std::size_t length = granules_for(size);
        if (length > last && length <= longest && blocks::is_any_alignment(align)) {
            const std::size_t list = list_of_large(length);
            if (const offset_type first = first_of(list); first != none && record{strategy_, first}.length() >= length)
                return use_large(first, size, list);
            // All blocks of the next list are long enough.
            if (list != last_list)
                if (const offset_type first = first_of(list + 1); first != none)
                    return use_large(first, size, list + 1);
        }
        return allocate_unlisted(size, align);
    }
    /// Allocates a block that no list has from the strategy, and joins waiting ones if they are too many.
    ALLOT_NOINLINE allocation_type allocate_unlisted(offset_type size, offset_type align) noexcept {
        amounts_.note_peak_of_large();
        if (amounts_.large() > amounts_.below_passed_peak()) join_old(amounts::all, most_for_request);
        return allocate_joined(size, align);
    }
    /// Returns the first block of a list, or `none`. Old blocks become recent if no other ones are.
    [[nodiscard]] offset_type first_of(std::size_t list) noexcept {
        if (waiting_.recent[list] == none) std::swap(waiting_.recent[list], waiting_.old[list]);
        return waiting_.recent[list];
    }
    /// Returns the first block of a list of large ones as allocated.
    allocation_type use_large(offset_type first, offset_type size, std::size_t list) noexcept {
        const std::size_t length = length_of(first);
        pop(waiting_.recent[list], first);
        amounts_.remove_large(length);
        return use(first, size, length);
    }
    /// Frees a block that is large or beside a hole. It waits while memory is ample after a peak.
    ALLOT_NOINLINE void deallocate_unlisted(offset_type freed) noexcept {
        if constexpr (keeps_large)
            if (amounts_.is_below_passed_peak()) return add_waiting_or_join(freed);
        deallocate_joined(freed);
    }
    /// Adds any block to a list. Frees it in the strategy if too many wait.
    ALLOT_NOINLINE void add_waiting_or_join(offset_type freed) noexcept {
        const record of{strategy_, freed};
        const std::size_t length = of.length();
        if (length > longest || !amounts_.may_wait_after_peak(length)) return deallocate_joined(freed);
        offset_type& list = waiting_.recent[list_of(length)];
        of.set_waiting(strategy_);
        blocks::set_next(strategy_, freed, list);
        list = freed;
        if (length > last) amounts_.add_large(length);
        if (!amounts_.add(length)) join_surplus();
    }
    ALLOT_NOINLINE allocation_type allocate_joined(offset_type size, offset_type align) noexcept {
        const allocation_type given = strategy_.allocate({size, align});
        if (!given) [[unlikely]]
            return allocate_after_joining(size, align);
        return counted(given);
    }
    /// Joins waiting blocks for a request that the strategy refused, and tries again.
    ALLOT_NOINLINE allocation_type allocate_after_joining(offset_type size, offset_type align) noexcept {
        if (!join_waiting()) return {};
        return counted(strategy_.allocate({size, align}));
    }
    /// Counts a block that the strategy allocated.
    allocation_type counted(allocation_type given) noexcept {
        if (given) amounts_.count_in(length_of(given.where.offset));
        return given;
    }
    /// Frees a block in the strategy, which knows its size.
    ALLOT_NOINLINE void deallocate_joined(offset_type freed) const noexcept {
        amounts_.count_out(length_of(freed));
        strategy_.deallocate({{freed, 0}, {}});
    }

    /// Joins the first block of a list. Precondition: the list is not empty.
    void join_first(offset_type& first, std::size_t list) const noexcept {
        const offset_type taken = first;
        pop(first, taken);
        const std::size_t length = keeps_large ? length_of(taken) : list;
        amounts_.remove(length);
        if constexpr (keeps_large)
            if (list > last) amounts_.remove_large(length);
        deallocate_joined(taken);
    }
    /// Joins old blocks if more wait than deallocations keep.
    ALLOT_NOINLINE void join_surplus() noexcept {
        amounts_.renew();
        if (amounts_.credit() < 0)
            join_old(amounts_.deallocation_keeps(), Options.joins < most_at_once ? Options.joins : most_at_once);
    }
    /// Joins up to `joins` old blocks while the credit is below `keeps`, and makes the recent blocks of the visited
    /// lists old. Visits a few lists, and continues there the next time.
    void join_old(credit_type keeps, std::size_t joins) noexcept {
        for (std::size_t steps = most_visits; steps != 0 && amounts_.credit() < keeps; --steps) {
            for (; waiting_.old[next_] != none; --joins) {
                if (joins == 0 || amounts_.credit() >= keeps) return;
                join_first(waiting_.old[next_], next_);
            }
            waiting_.old[next_] = std::exchange(waiting_.recent[next_], none);
            next_ = next_ >= (amounts_.large() == 0 ? last : last_list) ? first_list : next_ + 1;
        }
    }
    /// Joins one waiting block. Its lists are searched up to 32 blocks deep, or `joins`. If it is deeper, blocks before
    /// it are joined as well, so that no call visits them again. Returns false if it is not reached within the bound.
    bool join(offset_type block) noexcept {
        const std::size_t list = list_of(length_of(block));
        offset_type* const both[] = {&waiting_.recent[list], &waiting_.old[list]};
        for (offset_type* const first : both) {
            offset_type before = none, each = *first;
            for (std::size_t left = Options.joins < 32 ? Options.joins : 32; left != 0 && each != none && each != block;
                 --left)
                each = blocks::next(strategy_, before = each);
            if (each != block) continue;
            if (before == none) return join_first(*first, list), true;
            join_first(each, list);
            return blocks::set_next(strategy_, before, each), true;
        }
        std::size_t left = Options.joins;
        for (offset_type* const first : both)
            while (*first != none && left-- != 0) {
                const offset_type joined = *first;
                join_first(*first, list);
                if (joined == block) return true;
            }
        return false;
    }
    /// Joins all waiting blocks, or `joins` of them. Returns false if none waits.
    bool join_waiting() noexcept {
        if (amounts_.waits() == 0) return false;
        if constexpr (Options.joins == all_blocks) join_all();
        else join_old(amounts::all, Options.joins);
        return true;
    }
    ALLOT_NOINLINE void join_all() const noexcept {
        for (std::size_t list = first_list; list <= last_list; ++list)
            for (offset_type* const first : {&waiting_.recent[list], &waiting_.old[list]})
                while (*first != none) join_first(*first, list);
    }

    // Mutable, because joining waiting blocks, which are free already, changes no result of a const function.
    // The lists are first, so that their addresses need no addition.
    mutable waiting_lists<offset_type, last_list> waiting_;
    mutable amounts amounts_;
    mutable Strategy strategy_;
    std::size_t next_ = first_list;  // the list that `join_old` visits next
    extent_type cut_{};              // the block below those that were cut last, and their bytes
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
