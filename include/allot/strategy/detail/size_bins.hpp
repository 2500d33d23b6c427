// SPDX-License-Identifier: BSL-1.0
// size_bins: which lists of holes are not empty, by size.
//
// Sizes below 64 have a bin each; above, every power of two is cut into 8 equal bins, so that sizes in one bin differ by
// less than an eighth. A bitmap says which bins hold something, a summary word which of its words are not zero.
//
//     size   1 2 3 … 63 │ 64 72 80 … 120 │ 128 144 …
//     bin    1 2 3 … 63 │ 64 65 66 …  71 │  72  73 …
//
// A list begins at its bin's head and ends with None. Every operation is O(1). Memory: a bit and a head for each bin, as
// many as sizes up to Largest need: 528 for all 64-bit sizes, 272 for 32-bit ones, 96 up to 1000.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/detail/inlining.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

template <std::unsigned_integral Size, class Node, Node None, Size Largest>
class size_bins {
    static_assert(Largest > 0);
    using word = std::conditional_t<(sizeof(Size) > 4), std::uint64_t, std::uint32_t>;
    static constexpr unsigned word_bits = std::numeric_limits<word>::digits;
    static constexpr unsigned octave_bits = 3, exact_bits = 6, exact = 1U << exact_bits;

public:
    using bin = unsigned;

    constexpr size_bins() noexcept {
        for (Node& head : heads_) head = None;
    }

    /// The bin of a size: less than `count` up to the largest size, perhaps not beyond. Larger sizes never have a lower bin.
    [[nodiscard]] ALLOT_INLINE static constexpr bin of(Size size) noexcept {
        if (size < exact) return static_cast<bin>(size);
        const unsigned shift = highest_one(size) - octave_bits;
        return exact + ((shift - (exact_bits - octave_bits) - 1) << octave_bits) + static_cast<bin>(size >> shift);
    }
    static constexpr bin count = of(Largest) + 1;

    /// Whether all that a bin holds is of one size.
    [[nodiscard]] static constexpr bool is_exact(bin at) noexcept { return count <= exact || at < exact; }

    // A precondition of all that follows: a bin is less than `count`.

    [[nodiscard]] constexpr Node head(bin at) const noexcept { return heads_[at]; }
    /// `node` is the head, and what was the head before is the second; or None.
    ALLOT_INLINE constexpr void push(bin at, Node node, Node second) noexcept {
        heads_[at] = node;
        if (second != None) return;
        words_[at / word_bits] |= word{1} << at % word_bits;
        summary_ |= word{1} << at / word_bits;
    }
    /// The head is gone and `next`, or None, takes its place.
    ALLOT_INLINE constexpr void pop(bin at, Node next) noexcept {
        heads_[at] = next;
        // These bits are set. `& ~` would clear them as well, but for a Hexagon clang 14 makes that a rotation by `at`
        // that it does not mask.
        if (next == None && (words_[at / word_bits] ^= word{1} << at % word_bits) == 0)
            summary_ ^= word{1} << at / word_bits;
    }

    /// The first bin at or after `from` that holds something; `count` when there is none.
    [[nodiscard]] ALLOT_INLINE constexpr bin next(bin from) const noexcept {
        bin at = from / word_bits;
        const word rest = words_[at] & ~word{0} << from % word_bits;
        if (rest != 0) return at * word_bits + static_cast<bin>(lowest_one(rest));
        const word later = summary_ & ~word{1} << at;
        if (later == 0) return count;
        at = static_cast<bin>(lowest_one(later));
        return at * word_bits + static_cast<bin>(lowest_one(words_[at]));
    }
    [[nodiscard]] ALLOT_INLINE constexpr bin after(bin at) const noexcept { return at + 1 < count ? next(at + 1) : count; }

private:
    static constexpr unsigned word_count = (count + word_bits - 1) / word_bits;
    static_assert(word_count < word_bits, "one summary word covers all");

    Node heads_[count];
    word words_[word_count]{};
    word summary_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
