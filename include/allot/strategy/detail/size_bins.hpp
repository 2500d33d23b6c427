// SPDX-License-Identifier: BSL-1.0
// size_bins: heads of lists of holes, segregated by size, with a bitmap of the lists that are not empty.
//
// Every size below 64 has its own bin. Above, every power of two is divided into 8 equal bins, so that sizes in one bin
// differ by less than an eighth. `Fine` bins divide it by 16, and sizes below 32 have their own bin. A bitmap marks the
// bins that are not empty, and a summary word marks the words of the bitmap that are not zero. A bitmap of at most
// eight words has no summary if it is `Fine`, or if it has at least two words of 64 bits: a list changes in fewer
// instructions, and a search visits the words.
//
//     size   1 2 3 … 63 │ 64 72 80 … 120 │ 128 144 …
//     bin    1 2 3 … 63 │ 64 65 66 …  71 │  72  73 …
//
// A list starts at its bin's head and ends with `None`. The bin of a size is found without a branch if bins are `Fine`.
//
// Complexity: O(1) for every operation.
//
// Memory: one bit and one head for every bin. The number of bins depends on `Largest`: 528 for all 64-bit sizes, 272
// for all 32-bit sizes, 96 for sizes up to 1000. `Fine`: 976 and 464.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/detail/compiler.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Heads of lists of holes, segregated by size.
template <std::unsigned_integral Size, class Node, Node None, Size Largest, bool Fine = false>
class size_bins {
    static_assert(Largest > 0);
    using word = std::conditional_t<(sizeof(Size) > 4), std::uint64_t, std::uint32_t>;
    static constexpr unsigned word_bits = std::numeric_limits<word>::digits;
    static constexpr unsigned octave_bits = Fine ? 4 : 3, exact_bits = Fine ? 5 : 6, exact = 1U << exact_bits;

public:
    using bin = unsigned;

    constexpr size_bins() noexcept {
        for (Node& head : heads_) head = None;
        if constexpr (!summarized) words_[count / word_bits] = word{1} << count % word_bits;  // ends every search
    }

    /// Returns the bin of a size. The bin is less than `count` for sizes up to `Largest` and may be `>= count` for
    /// larger sizes. The bin does not decrease as the size grows.
    [[nodiscard]] ALLOT_INLINE static constexpr bin of(Size size) noexcept {
        if constexpr (Fine) {
            const unsigned halvings = highest_one(static_cast<Size>(size | exact / 2)) - octave_bits;
            return (halvings << octave_bits) + static_cast<bin>(size >> halvings);
        }
        if (size < exact) return static_cast<bin>(size);
        const unsigned shift = highest_one(size) - octave_bits;
        return exact + ((shift - (exact_bits - octave_bits) - 1) << octave_bits) + static_cast<bin>(size >> shift);
    }
    static constexpr bin count = of(Largest) + 1;
    /// The number of bins of a power of two, above the exact ones.
    static constexpr bin octave = 1U << octave_bits;

    /// The bins below this one have one size each and their bits in the first word of the bitmap.
    static constexpr bin first_word = word_bits < exact ? word_bits : exact;

    /// Returns true if all holes of a bin have the same size.
    [[nodiscard]] static constexpr bool is_exact(bin at) noexcept { return count <= exact || at < exact; }

    // Precondition of the following functions: the bin is less than `count`.

    [[nodiscard]] constexpr Node head(bin at) const noexcept { return heads_[at]; }
    /// Makes `node` the head. `second` is the previous head, or `None`.
    ALLOT_INLINE constexpr void push(bin at, Node node, Node second) noexcept {
        heads_[at] = node;
        if (second != None) return;
        words_[at / word_bits] |= word{1} << at % word_bits;
        if constexpr (summarized) summary_ |= word{1} << at / word_bits;
    }
    /// Replaces the head of a bin that is not empty.
    ALLOT_INLINE constexpr void set_head(bin at, Node node) noexcept { heads_[at] = node; }
    /// Makes `node` the head of a bin below `first_word`.
    ALLOT_INLINE constexpr void push_in_first_word(bin at, Node node) noexcept {
        heads_[at] = node;
        words_[0] |= word{1} << at;
    }
    /// Makes `node` the head, without a branch.
    ALLOT_INLINE constexpr void push(bin at, Node node) noexcept {
        heads_[at] = node;
        words_[at / word_bits] |= word{1} << at % word_bits;
        if constexpr (summarized) summary_ |= word{1} << at / word_bits;
    }
    /// Replaces the head with `next`, or with `None`, without a branch.
    ALLOT_INLINE constexpr void replace(bin at, Node next) noexcept {
        heads_[at] = next;
        const word left = words_[at / word_bits] ^ word { next == None } << at % word_bits;
        words_[at / word_bits] = left;
        if constexpr (summarized) summary_ ^= word{left == 0} << at / word_bits;
    }
    /// Replaces the head with `next`, or with `None`.
    ALLOT_INLINE constexpr void pop(bin at, Node next) noexcept {
        heads_[at] = next;
        // Both bits are set, so that `^` clears them. `& ~` would do the same, but clang 14 for Hexagon compiles it to
        // a rotation by `at` without the mask.
        if (next == None && (words_[at / word_bits] ^= word{1} << at % word_bits) == 0)
            if constexpr (summarized) summary_ ^= word{1} << at / word_bits;
    }

    /// Removes the last hole of a bin below `first_word`.
    ALLOT_INLINE constexpr void clear_in_first_word(bin at) noexcept {
        heads_[at] = None;
        words_[0] ^= word{1} << at;
    }

    /// Returns the bits of the bins from `from`, which is below `first_word`, to the last one of the first word.
    [[nodiscard]] ALLOT_INLINE constexpr word rest_of_first_word(bin from) const noexcept { return words_[0] >> from; }

    /// Returns the first bin at or after `from` that is not empty; `count` if there is no such bin.
    /// Precondition: `from <= count`.
    [[nodiscard]] ALLOT_INLINE constexpr bin next(bin from) const noexcept {
        const bin at = word_count == 1 ? 0 : from / word_bits;  // GCC warns of a second word otherwise
        const word rest = words_[at] & ~word{0} << from % word_bits;
        return rest != 0 ? at * word_bits + static_cast<bin>(lowest_one(rest)) : next_word(at);
    }
    /// Returns the first bin that is not empty in the words after the word `at`; `count` if there is no such bin.
    [[nodiscard]] ALLOT_INLINE constexpr bin next_word(bin at) const noexcept {
        if constexpr (summarized) {
            // The bit of the first word is never read, and the functions for the first word do not write it.
            const word later = summary_ & ~word{1} << at;
            if (later == 0) return count;
            at = static_cast<bin>(lowest_one(later));
        } else {
            do
                if (++at == word_count) ALLOT_UNREACHABLE();  // GCC warns of a further word otherwise
            while (words_[at] == 0);
        }
        return at * word_bits + static_cast<bin>(lowest_one(words_[at]));
    }
    /// Returns the first bin after `at` that is not empty; `count` if there is no such bin.
    [[nodiscard]] ALLOT_INLINE constexpr bin after(bin at) const noexcept {
        return at + 1 < count ? next(at + 1) : count;
    }

private:
    // Without a summary, the bit of `count` is always set. `rest_of_first_word` must not return it.
    static constexpr bool summarized = count / word_bits >= 8 || (!Fine && (word_bits < 64 || count <= word_bits));
    static constexpr unsigned word_count = (count + word_bits - (summarized ? 1 : 0)) / word_bits;
    static_assert(word_count < word_bits, "one summary word covers all");
    struct no_summary {};

    Node heads_[count];
    word words_[word_count]{};
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<summarized, word, no_summary> summary_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
