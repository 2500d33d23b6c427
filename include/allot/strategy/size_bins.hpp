// size_bins: which lists of holes are not empty, by size.
//
// Sizes below 8 have a bin each; above, every power of two is cut into 8 equal bins, so that sizes in one bin differ by
// less than an eighth. A bitmap says which bins hold something, a summary word which of its words are not zero.
//
//     size   1 2 3 4 5 6 7 │ 8 9 10 … 15 │ 16 18 20 … 30 │ 32 36 …
//     bin    1 2 3 4 5 6 7 │ 8 9 10 … 15 │ 16 17 18 … 23 │ 24 25 …
//
// Every operation is O(1). Memory: 496 bins for 64-bit sizes, 240 for 32-bit ones, a bit and a head each.
#pragma once

#include <allot/core/arithmetic.hpp>

namespace allot::inline v1 {

template <std::unsigned_integral Size, class Node, Node None>
class size_bins {
    static constexpr unsigned bits = std::numeric_limits<Size>::digits;
    static constexpr unsigned word_bits = 32;

public:
    using bin = unsigned;
    static constexpr bin count = (bits - 2) * 8;

    constexpr size_bins() noexcept {
        for (Node& head : heads_) head = None;
    }

    /// The bin of a size. Larger sizes never have a lower bin.
    [[nodiscard]] static constexpr bin of(Size size) noexcept {
        if (size < 8) return static_cast<bin>(size);
        const auto octave = static_cast<unsigned>(std::bit_width(size)) - 4;  // 0 for 8 … 15
        return octave * 8 + static_cast<bin>(size >> octave);
    }

    [[nodiscard]] constexpr Node head(bin at) const noexcept { return heads_[at]; }
    constexpr void set_head(bin at, Node node) noexcept {
        heads_[at] = node;
        const std::uint32_t bit = std::uint32_t{1} << at % word_bits;
        const std::uint32_t word_bit = std::uint32_t{1} << at / word_bits;
        if (node != None) {
            words_[at / word_bits] |= bit;
            summary_ |= word_bit;
        } else if ((words_[at / word_bits] &= ~bit) == 0) {
            summary_ &= ~word_bit;
        }
    }

    /// The first bin at or after `from` that holds something; `count` when there is none.
    [[nodiscard]] constexpr bin next(bin from) const noexcept {
        if (from >= count) return count;
        bin word = from / word_bits;
        const std::uint32_t rest = words_[word] & ~std::uint32_t{0} << from % word_bits;
        if (rest != 0) return word * word_bits + static_cast<bin>(std::countr_zero(rest));
        const std::uint32_t later = word + 1 < word_bits ? summary_ & ~std::uint32_t{0} << (word + 1) : 0;
        if (later == 0) return count;
        word = static_cast<bin>(std::countr_zero(later));
        return word * word_bits + static_cast<bin>(std::countr_zero(words_[word]));
    }

private:
    static constexpr unsigned word_count = (count + word_bits - 1) / word_bits;
    static_assert(word_count <= word_bits, "one summary word covers all");

    Node heads_[count];
    std::uint32_t words_[word_count]{};
    std::uint32_t summary_ = 0;
};

}  // namespace allot::inline v1
