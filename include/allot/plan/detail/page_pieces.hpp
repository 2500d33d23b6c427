// SPDX-License-Identifier: BSL-1.0
// page_pieces: a mixed problem as a problem of contiguous buffers, in which pieces of some pages replace the buffers in
// scattered pages.
//
//     given    a: contiguous, b: 3 pages         Every plan of the pieces is a plan of the mixed problem. With one page
//     of one page    a │ b0 │ b1 │ b2            a piece, the converse holds, and so do the lower bounds. With all
//     of two pages   a │ b0 b1 │ b2              pages in one piece, a buffer in pages is contiguous.
//
// Pieces are aligned to the largest power of two that divides the page size. If the page size is not a power of two,
// the offset of a piece may therefore not be the begin of a page. Lower bounds still hold.
//
// Complexity: O(n + pieces + pairs of pieces). Memory: on the heap. Thread safety: concurrent readers are safe.
#pragma once

#include <allot/plan/detail/mixed_parts.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

/// A problem of contiguous buffers that represents a mixed problem. The buffers keep their indices, and pieces follow.
template <class Parts>
class page_pieces {
public:
    static constexpr std::size_t too_many = ~std::size_t{0};

    /// Returns the number of pieces and of pairs that are apart, or `too_many` if it exceeds `most`.
    [[nodiscard]] static std::size_t count(const Parts& parts, std::uint32_t pages_each, std::size_t most) {
        const auto pieces = [&](std::size_t i) { return pieces_of(parts, i, pages_each); };
        std::size_t sum = 0;
        const auto add = [&](std::size_t a, std::size_t b) {
            sum = sum > most || (b != 0 && a > (most - sum) / b) ? too_many : sum + a * b;
        };
        for (std::size_t i = 0; i != parts.buffers().size(); ++i) add(pieces(i), 1);
        for (const plan_revival& revival : parts.given().revivals) add(pieces(revival.buffer), 1);
        for (const plan_pair& pair : parts.given().apart)
            add(std::max<std::size_t>(pieces(pair.first), 1), std::max<std::size_t>(pieces(pair.second), 1));
        return sum;
    }

    /// If `pages_each` is 0, there are no pieces: only contiguous buffers take space. Precondition: `count` is not
    /// `too_many`.
    page_pieces(const Parts& parts, std::uint32_t pages_each) : parts_{&parts}, pages_each_{pages_each} {
        const plan_problem& given = parts.given();
        for (std::size_t i = 0; i != given.buffers.size(); ++i)
            buffers_.push_back({parts.is_scattered(i) ? 0 : parts.bytes(i), given.buffers[i].live,
                                parts.is_scattered(i) ? 1 : parts.align(i)});
        for (std::size_t i = 0; i != given.buffers.size(); ++i) {
            first_.push_back(buffers_.size());
            for (std::size_t k = 0; k != pieces(i); ++k)
                buffers_.push_back(
                    {std::min<std::uint64_t>(parts.pages(i) - k * pages_each, pages_each) * parts.page_size(),
                     given.buffers[i].live, parts.page_align()});
        }
        for (const plan_revival& revival : given.revivals) {
            revivals_.push_back(revival);
            for (std::size_t k = 0; k != pieces(revival.buffer); ++k)
                revivals_.push_back({first_[revival.buffer] + k, revival.live});
        }
        add_pairs();
    }
    [[nodiscard]] plan_problem problem() const noexcept {
        return {buffers_, revivals_, parts_->given().fixed, together_, apart_, parts_->given().reserved};
    }
    /// Returns the offset of a page of a buffer. Precondition: there are pieces.
    [[nodiscard]] std::uint64_t offset(std::span<const plan_place> places, std::size_t buffer, std::size_t page) const {
        return places[first_[buffer] + page / pages_each_].offset + page % pages_each_ * parts_->page_size();
    }
    /// Returns the buffer that a buffer of the derived problem is a piece of.
    [[nodiscard]] std::size_t given(std::size_t piece) const noexcept {
        if (piece < first_.size()) return piece;
        return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), piece) - first_.begin()) - 1;
    }

private:
    [[nodiscard]] static std::size_t pieces_of(const Parts& parts, std::size_t i, std::uint32_t pages_each) {
        if (pages_each == 0 || !parts.is_scattered(i)) return 0;
        return static_cast<std::size_t>(pages_for(parts.pages(i), pages_each));
    }
    [[nodiscard]] std::size_t pieces(std::size_t i) const { return pieces_of(*parts_, i, pages_each_); }

    void add_pairs() {
        together_.assign(parts_->given().together.begin(), parts_->given().together.end());
        if (!together_.empty()) add_groups();
        for (const plan_pair& pair : parts_->given().apart) {
            const auto [a, b] = pair;
            if (!parts_->is_scattered(a) && !parts_->is_scattered(b)) apart_.push_back(pair);
            else if (!parts_->is_scattered(a))
                for (std::size_t k = 0; k != pieces(b); ++k) apart_.push_back({a, first_[b] + k});
            else
                for (std::size_t k = 0; k != pieces(a); ++k) {
                    if (!parts_->is_scattered(b)) apart_.push_back({first_[a] + k, b});
                    for (std::size_t l = 0; l != pieces(b); ++l) apart_.push_back({first_[a] + k, first_[b] + l});
                }
        }
    }

    /// The pieces of each buffer are together with those of the longest buffer of its group.
    void add_groups() {
        std::vector<std::size_t> longest(parts_->buffers().size());
        for (std::size_t i = 0; i != longest.size(); ++i) longest[i] = i;
        for (std::size_t i = 0; i != longest.size(); ++i)
            if (std::size_t& most = longest[parts_->group(i)]; pieces(i) > pieces(most)) most = i;
        for (std::size_t i = 0; i != longest.size(); ++i)
            if (const std::size_t most = longest[parts_->group(i)]; most != i)
                for (std::size_t k = 0; k != pieces(i); ++k) together_.push_back({first_[most] + k, first_[i] + k});
    }

    const Parts* parts_;
    std::uint32_t pages_each_;
    std::vector<plan_buffer> buffers_;
    std::vector<std::size_t> first_;  // first piece, by buffer
    std::vector<plan_revival> revivals_;
    std::vector<plan_pair> together_, apart_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
