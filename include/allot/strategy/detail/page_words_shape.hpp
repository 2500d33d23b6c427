// SPDX-License-Identifier: BSL-1.0
// page_words_shape: the constants of a page_words: its pages, its largest block, its processors, and its subtrees.
//
// Internal. Complexity and memory: none, because the shape is a template argument.
#pragma once

#include <allot/core/arithmetic.hpp>

#include <limits>

namespace allot {
inline namespace v1 {
namespace detail {

/// The constants of a page_words.
struct page_words_shape {
    std::size_t pages = 0;
    unsigned largest_order = 0;     // of a block: 2^order pages
    std::size_t processors = 1;     // number of slots
    std::size_t subtree_words = 1;  // a power of two, at most the bits of a word

    /// Returns the shape with as large subtrees as leave two for every processor, but not less than four cache lines or
    /// a block.
    [[nodiscard]] static constexpr page_words_shape of(std::size_t pages, unsigned largest_order,
                                                       std::size_t processors) noexcept {
        constexpr std::size_t bits = std::numeric_limits<std::size_t>::digits, lines = 32;
        constexpr unsigned word_order = highest_one(bits);
        const std::size_t block = largest_order > word_order ? std::size_t{1} << (largest_order - word_order) : 1;
        const std::size_t least = block > lines ? block : lines, words = divided_up(pages, bits);
        std::size_t each = bits;
        while (each > least && words / each / 2 < processors) each /= 2;
        return {pages, largest_order, processors, each};
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
