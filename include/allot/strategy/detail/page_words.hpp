// SPDX-License-Identifier: BSL-1.0
// page_words: the lock-free state of a page_tree: one bit for every page, and hints that make the search short.
//
//     slots     │ P0: word 5 │ P1: word 131 │           the word of which each processor took a page last
//                      │             │
//     subtrees  │ partly, wholly, owner │ …  │          two bits for every word, and the processor that reserved it
//                      │
//     words     │1101…│0000…│1111…│ …                   a set bit is a free page
//
// Only the words decide. A block below one word is taken by one compare-and-swap of its word, and freed by one
// fetch_or. A block of several words takes one word after the other, lowest first, and gives them back if one is in
// use. Everything else is a hint. A wrong hint costs time and nothing else, because a search that finds nothing reads
// every word before it fails. A thread that is stopped or killed at any instruction therefore blocks no other thread,
// and no page is lost except those that its unfinished call had taken.
//
// `free_some` may be set for a word without free pages, and the search that finds it clears it. `free_whole` may be set
// for a word of which pages are used while it is the last one of a processor. Each deallocation sets them. A processor
// reserves a subtree when it takes a page of it, and keeps it, so that the pages that it frees are the next ones that
// it takes. Another processor takes the subtree over if no subtree without an owner has a free block.
//
// Memory orders: a word is taken with acquire and given with release, so that the previous holder's writes happen
// before the next holder's. All hints are relaxed.
//
// Complexity: `take` of a block below one word is O(1) while the word in the slot has room. Otherwise it reads the
// hints of up to every subtree, and before it fails it reads every word. `give` is O(words of the block).
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/target.hpp>
#include <allot/strategy/detail/page_words_shape.hpp>

#include <atomic>

namespace allot {
inline namespace v1 {
namespace detail {

/// Atomics of the processor. Tests replace them by those of a model.
struct native_atomics {
    using word = std::size_t;
    template <class T>
    using deciding = std::atomic<T>;
    template <class T>
    using hint = std::atomic<T>;
};

template <page_words_shape Shape, class Atomics = native_atomics>
class page_words {
public:
    using word = typename Atomics::word;
    static constexpr unsigned word_bits = std::numeric_limits<word>::digits;
    static constexpr unsigned word_order = highest_one(std::uint64_t{word_bits});
    static constexpr std::size_t page_count = Shape.pages;

    /// Makes the pages from `first` to `end` free. Precondition: no page is free, and no call is concurrent.
    void open(std::size_t first, std::size_t end) noexcept {
        for (std::size_t w = first / word_bits; w * word_bits < end; ++w) {
            const std::size_t from = w * word_bits < first ? first % word_bits : 0;
            const std::size_t to = end - w * word_bits < word_bits ? end - w * word_bits : word_bits;
            words_[w].store(ones(to - from, from), relaxed);
            hint_free(w, load(w));
        }
    }
    /// Ends the use of all pages. Precondition: no call is concurrent.
    void close() noexcept {
        for (auto& each : words_) each.store(0, relaxed);
        for (subtree& each : subtrees_) {
            each.free_some.store(0, relaxed);
            each.free_whole.store(0, relaxed);
            each.owner.store(0, relaxed);
        }
        for (slot& each : slots_)
            for (auto& last : each.at) last.store(nowhere, relaxed);
    }
    /// Moves the pages and the hints from `other`, which has no pages afterwards. Precondition: no call is concurrent.
    void take_over(page_words& other) noexcept {
        const auto move = [](auto& to, const auto& from) { to.store(from.load(relaxed), relaxed); };
        for (std::size_t i = 0; i != word_count; ++i) move(words_[i], other.words_[i]);
        for (std::size_t i = 0; i != subtree_count; ++i) {
            move(subtrees_[i].free_some, other.subtrees_[i].free_some);
            move(subtrees_[i].free_whole, other.subtrees_[i].free_whole);
            move(subtrees_[i].owner, other.subtrees_[i].owner);
        }
        for (std::size_t i = 0; i != Shape.processors; ++i)
            for (std::size_t kind = 0; kind != 2; ++kind) move(slots_[i].at[kind], other.slots_[i].at[kind]);
        other.close();
    }

    /// Takes 2^order pages at a multiple of 2^align_order pages, on behalf of a processor. Returns false if there are
    /// none. Pages that are freed during the call may be missed. Pages that a concurrent call takes for a block of more
    /// than a word count as used, also if that call then fails. Preconditions: order <= align_order <=
    /// Shape.largest_order, processor < Shape.processors.
    ALLOT_INLINE bool take(std::size_t processor, unsigned order, unsigned align_order, std::size_t& page) noexcept {
        if (order < word_order) {
            const index last = slots_[processor].at[order != 0].load(relaxed);
            if (last != nowhere && is_start(last - 1, align_order) && take_in(last - 1, order, align_order, page))
                return true;
            return take_elsewhere(processor, order, align_order, page);
        }
        return take_words(processor, order, align_order, page);
    }
    /// Takes the 2^order pages from `page` on. Returns false if one of them is not free.
    /// Precondition: `page` is a multiple of 2^order.
    bool take_at(std::size_t page, unsigned order) noexcept {
        if (order >= word_order) return take_run(page / word_bits, words_of(order));
        const word wanted = mask(order, page % word_bits);
        word free = word_at(page).load(relaxed);
        while ((free & wanted) == wanted)
            if (word_at(page).compare_exchange_weak(free, narrow(free & ~wanted), acquire, relaxed)) return true;
        return false;
    }
    /// Frees 2^order pages that were taken together, on behalf of a processor. The processor takes the next block of
    /// the same word if the word of its slot is used up.
    ALLOT_INLINE void give(std::size_t processor, std::size_t page, unsigned order) noexcept {
        const std::size_t w = page / word_bits;
        if (order >= word_order) return give_run(w, words_of(order));
        const word given = mask(order, page % word_bits);
        words_[w].fetch_or(given, release);  // its result would cost a loop of compare-and-swap
        hint_free(w, load(w));
        if (subtrees_[w / fan].owner.load(relaxed) != processor + 1) return;
        hint<index>& last = slots_[processor].at[order != 0];
        const index current = last.load(relaxed);
        if (current == nowhere || load(current - 1) == 0) last.store(static_cast<index>(w + 1), relaxed);
    }

    /// Returns whether all of the 2^order pages from `page` on are free. Precondition: `page` is a multiple of 2^order.
    [[nodiscard]] bool is_free(std::size_t page, unsigned order) const noexcept {
        if (order >= word_order) return is_whole(page / word_bits, words_of(order));
        const word wanted = mask(order, page % word_bits);
        return (load(page / word_bits) & wanted) == wanted;
    }
    /// Returns whether 2^order free pages start at a multiple of 2^align_order pages.
    [[nodiscard]] bool has(unsigned order, unsigned align_order) const noexcept {
        for (std::size_t w = 0; w < word_count; w += step(align_order))
            if (order >= word_order ? w + words_of(order) <= word_count && is_whole(w, words_of(order))
                                    : (runs(load(w), order) & starts(align_order)) != 0)
                return true;
        return false;
    }
    /// Returns the number of free pages.
    [[nodiscard]] std::size_t count_free() const noexcept {
        std::size_t sum = 0;
        for (std::size_t w = 0; w != word_count; ++w) sum += static_cast<std::size_t>(std::popcount(load(w)));
        return sum;
    }

private:
    using index = std::uint32_t;
    using atomic_word = typename Atomics::template deciding<word>;
    template <class T>
    using hint = typename Atomics::template hint<T>;
    static constexpr auto relaxed = std::memory_order_relaxed, acquire = std::memory_order_acquire,
                          release = std::memory_order_release;

    static constexpr word all = std::numeric_limits<word>::max();
    static constexpr std::size_t word_count = divided_up<std::size_t>(Shape.pages, word_bits);
    static constexpr std::size_t fan = Shape.subtree_words;
    static constexpr std::size_t subtree_count = divided_up(word_count, fan);
    static constexpr index nowhere = 0;  // slots count words from 1, so that zeroed memory is valid
    static_assert(word_count < std::numeric_limits<index>::max());

    // On a microcontroller there is one core, and no cache line moves.
    static constexpr std::size_t apart = is_microcontroller ? alignof(word) : 64;

    struct alignas(apart) subtree {
        hint<word> free_some{};   // bit i: word i may have a free page
        hint<word> free_whole{};  // bit i: every page of word i may be free
        hint<index> owner{};      // the processor that reserved the subtree, counted from 1; 0: none
    };
    struct alignas(apart) slot {
        hint<index> at[2]{};  // the word of the last page, and that of the last larger block, counted from 1
    };

    [[nodiscard]] static constexpr word narrow(auto bits) noexcept { return static_cast<word>(bits); }
    [[nodiscard]] static constexpr word bit(std::size_t at) noexcept { return narrow(word{1} << at); }
    /// Returns `count` set bits from bit `at` on.
    [[nodiscard]] static constexpr word ones(std::size_t count, std::size_t at) noexcept {
        return narrow(narrow(all >> (word_bits - count)) << at);
    }
    [[nodiscard]] static constexpr word mask(unsigned order, std::size_t at) noexcept {
        return ones(std::size_t{1} << order, at);
    }
    /// Returns the bits at which a run of 2^order ones starts.
    [[nodiscard]] static constexpr word runs(word free, unsigned order) noexcept {
        for (unsigned i = 0; i != order; ++i) free = narrow(free & (free >> (1U << i)));
        return free;
    }
    /// Returns the bits of a word that are multiples of 2^align_order.
    [[nodiscard]] static constexpr word starts(unsigned align_order) noexcept {
        if (align_order == 0) return all;  // the most frequent case, without a division
        return align_order >= word_order ? word{1} : narrow(all / mask(align_order, 0));
    }
    /// Returns the number of words between two multiples of 2^align_order pages, at least 1.
    [[nodiscard]] static constexpr std::size_t step(unsigned align_order) noexcept {
        return align_order > word_order ? std::size_t{1} << (align_order - word_order) : 1;
    }
    [[nodiscard]] static constexpr std::size_t words_of(unsigned order) noexcept { return step(order); }
    [[nodiscard]] static constexpr bool is_start(std::size_t w, unsigned align_order) noexcept {
        return (w & (step(align_order) - 1)) == 0;
    }

    [[nodiscard]] atomic_word& word_at(std::size_t page) noexcept { return words_[page / word_bits]; }
    [[nodiscard]] word load(std::size_t w) const noexcept { return words_[w].load(relaxed); }
    [[nodiscard]] bool is_whole(std::size_t w, std::size_t count) const noexcept {
        for (std::size_t i = 0; i != count; ++i)
            if (load(w + i) != all) return false;
        return true;
    }

    // ── hints ────────────────────────────────────────────────────────────────────────────────────────────────────────

    static void set(hint<word>& hints, word bits) noexcept {
        if ((hints.load(relaxed) & bits) != bits) hints.fetch_or(bits, relaxed);
    }
    ALLOT_INLINE void hint_free(std::size_t w, word now) noexcept {
        subtree& in = subtrees_[w / fan];
        set(in.free_some, bit(w % fan));
        if (now == all) set(in.free_whole, bit(w % fan));
    }
    static void clear(hint<word>& hints, word bits) noexcept {
        if ((hints.load(relaxed) & bits) != 0) hints.fetch_and(narrow(~bits), relaxed);
    }
    /// Corrects the hint of a word that has no free page. Reads the word again afterwards, because a page may be freed
    /// in between.
    void hint_used_up(std::size_t w) noexcept {
        if (load(w) != 0) return;
        clear(subtrees_[w / fan].free_some, bit(w % fan));
        if (const word after = load(w); after != 0) hint_free(w, after);
    }

    // ── blocks below one word ────────────────────────────────────────────────────────────────────────────────────────

    /// Takes the lowest fitting block of a word.
    ALLOT_INLINE bool take_in(std::size_t w, unsigned order, unsigned align_order, std::size_t& page) noexcept {
        word free = load(w);
        while (true) {
            const word fitting = narrow(runs(free, order) & starts(align_order));
            if (fitting == 0) return false;
            const word first = alignment_of(fitting), end = narrow(first << (1U << order));
            if (words_[w].compare_exchange_weak(free, narrow(free & ~narrow(end - first)), acquire, relaxed)) {
                page = w * word_bits + lowest_one(fitting);
                return true;
            }
        }
    }
    struct request {
        std::size_t processor;
        unsigned order, align_order;
        std::size_t& page;
    };
    [[nodiscard]] hint<index>& hint_of(const request& by) noexcept { return slots_[by.processor].at[by.order != 0]; }
    /// Takes a block of a word, and remembers the word. A failure changes no hint that affects the choice of a later
    /// request.
    bool take_and_stay(const request& by, std::size_t w) noexcept {
        if (!is_start(w, by.align_order) || !take_in(w, by.order, by.align_order, by.page)) {
            hint_used_up(w);
            return false;
        }
        const index last = hint_of(by).load(relaxed);
        if (last != nowhere && load(last - 1) != all)
            clear(subtrees_[(last - 1) / fan].free_whole, bit((last - 1) % fan));
        clear(subtrees_[w / fan].free_whole, bit(w % fan));
        hint_of(by).store(static_cast<index>(w + 1), relaxed);
        return true;
    }
    /// Takes a block of a subtree: of a word that is partly used if one has room.
    bool take_below(const request& by, std::size_t t) noexcept {
        const word some = subtrees_[t].free_some.load(relaxed), whole = subtrees_[t].free_whole.load(relaxed);
        for (const word group : {narrow(some & ~whole), narrow(some & whole)})
            for (word left = group; left != 0; left = narrow(left & (left - 1)))
                if (take_and_stay(by, t * fan + lowest_one(left))) return true;
        return false;
    }
    [[nodiscard]] std::size_t subtree_for(const request& by) const noexcept {
        const index last = slots_[by.processor].at[by.order != 0].load(relaxed);
        return last != nowhere ? (last - 1) / fan : by.processor * subtree_count / Shape.processors;
    }
    /// Returns whether the last page of a processor is in a subtree.
    [[nodiscard]] bool is_in_use(std::size_t t, index owner) const noexcept {
        for (const auto& last : slots_[owner - 1].at) {
            const index at = last.load(relaxed);
            if (at != nowhere && (at - 1) / fan == t) return true;
        }
        return false;
    }
    /// The subtrees that a search visits, from the best to the worst for the processor.
    enum class visit : unsigned char {
        own,            // that the processor has reserved: no other processor writes to their cache lines
        partly_used,    // without an owner, so that whole words remain elsewhere
        without_owner,  // also those whose owner has freed all pages and works elsewhere
        any,
    };
    [[nodiscard]] bool is_visited(visit which, std::size_t t, index owner) const noexcept {
        const word some = subtrees_[t].free_some.load(relaxed);
        const index current = subtrees_[t].owner.load(relaxed);
        if (some == 0 || which == visit::any) return some != 0;
        if (which == visit::own || current == owner) return current == owner;
        const word whole = subtrees_[t].free_whole.load(relaxed);
        if (which == visit::partly_used) return current == 0 && (some & ~whole) != 0;
        return current == 0 || ((~whole & ones(fan, 0)) == 0 && !is_in_use(t, current));
    }
    /// Takes a block of a subtree, and reserves the subtree.
    bool take_in_subtrees(const request& by, std::size_t from, visit which) noexcept {
        const auto owner = static_cast<index>(by.processor + 1);
        for (std::size_t i = 0, t = from; i != subtree_count; ++i, t = t + 1 == subtree_count ? 0 : t + 1) {
            if (!is_visited(which, t, owner)) continue;
            index previous = subtrees_[t].owner.load(relaxed);
            const bool reserved =
                previous != owner && subtrees_[t].owner.compare_exchange_strong(previous, owner, relaxed, relaxed);
            if (!reserved && previous != owner && which != visit::any) continue;
            if (take_below(by, t)) return true;
            if (reserved) subtrees_[t].owner.store(previous, relaxed);
        }
        return false;
    }
    // Not inlined: the common path would save registers for it.
    ALLOT_NOINLINE bool take_elsewhere(std::size_t processor, unsigned order, unsigned align_order,
                                       std::size_t& page) noexcept {
        const request by{processor, order, align_order, page};
        const std::size_t from = subtree_for(by);
        for (const visit which : {visit::own, visit::partly_used, visit::without_owner, visit::any})
            if (take_in_subtrees(by, from, which)) return true;
        for (std::size_t w = 0; w != word_count; ++w)  // also where a hint is missing
            if (load(w) != 0 && take_and_stay(by, w)) return true;
        return false;
    }

    // ── blocks of whole words ────────────────────────────────────────────────────────────────────────────────────────

    /// Takes `count` words, lowest first: of two calls that want the same words, one succeeds.
    bool take_run(std::size_t w, std::size_t count) noexcept {
        if (!is_whole(w, count)) return false;
        for (std::size_t i = 0; i != count; ++i) {
            word expected = all;
            if (words_[w + i].compare_exchange_strong(expected, 0, acquire, relaxed)) continue;
            if (i != 0) give_run(w, i);
            return false;
        }
        subtrees_[w / fan].free_whole.fetch_and(narrow(~ones(count, w % fan)), relaxed);
        return true;
    }
    ALLOT_NOINLINE void give_run(std::size_t w, std::size_t count) noexcept {
        for (std::size_t i = 0; i != count; ++i) words_[w + i].fetch_or(all, release);
        set(subtrees_[w / fan].free_some, ones(count, w % fan));
        set(subtrees_[w / fan].free_whole, ones(count, w % fan));
    }
    bool take_words_below(std::size_t t, std::size_t count, std::size_t align, std::size_t& page) noexcept {
        const word whole = subtrees_[t].free_whole.load(relaxed);
        for (std::size_t i = 0; i + count <= fan && t * fan + i + count <= word_count; i += align) {
            if ((whole & ones(count, i)) != ones(count, i)) continue;
            if (!take_run(t * fan + i, count)) continue;
            page = (t * fan + i) * word_bits;
            return true;
        }
        return false;
    }
    ALLOT_NOINLINE bool take_words(std::size_t processor, unsigned order, unsigned align_order,
                                   std::size_t& page) noexcept {
        const std::size_t from = subtree_for({processor, order, align_order, page});
        const std::size_t count = words_of(order), align = step(align_order);
        for (const bool others : {false, true}) {  // whether also those that other processors reserved
            for (std::size_t i = 0; i != subtree_count; ++i) {
                const std::size_t t = (from + i) % subtree_count;
                const index owner = subtrees_[t].owner.load(relaxed);
                if ((others || owner == 0 || owner == processor + 1) && take_words_below(t, count, align, page))
                    return true;
            }
        }
        for (std::size_t w = 0; w + count <= word_count; w += align) {
            if (!take_run(w, count)) continue;
            page = w * word_bits;
            return true;
        }
        return false;
    }

    alignas(apart) atomic_word words_[word_count]{};
    alignas(apart) subtree subtrees_[subtree_count]{};
    slot slots_[Shape.processors]{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
