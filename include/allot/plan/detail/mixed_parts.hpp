// SPDX-License-Identifier: BSL-1.0
// mixed_parts: reads a mixed problem: which buffers may have scattered pages, and which buffers share them.
//
//     given        │ a: contiguous │ b: pages │ c: pages │ d: pages, together with a │ e: pages, fixed │
//     scattered    │               │    b     │    c     │                           │                 │  any pages
//     extent       │       a       │          │          │ d, in whole pages         │ e, whole pages  │  one range
//
// Complexity: O(n log n). Memory: on the heap, about 30 bytes a buffer. Thread safety: concurrent readers are safe.
#pragma once

#include <allot/core/result.hpp>
#include <allot/plan/detail/together_groups.hpp>
#include <allot/plan/mixed_problem.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// The facts about a mixed problem that planning needs.
template <class Problem>
class mixed_parts {
public:
    explicit mixed_parts(const Problem& problem) : problem_{&problem} {}

    /// Reads the problem and returns its first error.
    [[nodiscard]] plan_error read() {
        const std::size_t count = buffers().size();
        if (const plan_error error = check_problem(given()); error.reason != plan_refusal::none) return error;
        if (problem_->page_size == 0) return {plan_refusal::unsupported, 0};
        is_paged_.assign(count, 0);
        for (const std::size_t i : problem_->paged) {
            if (i >= count) return {plan_refusal::no_such_buffer, i};
            is_paged_[i] = 1;
        }
        if (const plan_error error = count_pages(); error.reason != plan_refusal::none) return error;
        find_groups();
        return check_consecutive();
    }

    [[nodiscard]] const plan_problem& given() const noexcept { return problem_->buffers; }
    [[nodiscard]] std::span<const plan_buffer> buffers() const noexcept { return problem_->buffers.buffers; }
    [[nodiscard]] std::uint64_t page_size() const noexcept { return problem_->page_size; }
    /// Largest power of two that divides the page size.
    [[nodiscard]] std::uint64_t page_align() const noexcept {
        return std::uint64_t{1} << std::countr_zero(page_size());
    }

    /// Returns whether a buffer lies in pages.
    [[nodiscard]] bool is_paged(std::size_t i) const noexcept { return is_paged_[i] != 0; }
    /// Returns whether the pages of a buffer may have any positions.
    [[nodiscard]] bool is_scattered(std::size_t i) const noexcept { return is_paged(i) && !is_whole_[group_[i]]; }
    /// Returns the number of pages of a buffer; 0 for a contiguous buffer.
    [[nodiscard]] std::uint32_t pages(std::size_t i) const noexcept { return pages_[i]; }
    /// Returns the number of bytes of a buffer; for a buffer in pages, those of whole pages.
    [[nodiscard]] std::uint64_t bytes(std::size_t i) const noexcept {
        return is_paged(i) ? pages_[i] * page_size() : buffers()[i].size;
    }
    /// Returns the alignment of a buffer; for a buffer with pages, a power of two that divides the page size.
    [[nodiscard]] std::uint64_t align(std::size_t i) const noexcept {
        return pages_[i] != 0 ? page_align() : buffers()[i].align;
    }
    /// Returns the representative of the buffers that are together with a buffer.
    [[nodiscard]] std::uint32_t group(std::size_t i) const noexcept { return group_[i]; }
    /// Returns the sum of the pages of all buffers.
    [[nodiscard]] std::uint32_t pages_in_all() const noexcept { return in_all_; }

private:
    [[nodiscard]] plan_error count_pages() {
        pages_.assign(buffers().size(), 0);
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            if (!is_paged(i)) continue;
            if (page_size() % buffers()[i].align != 0) return {plan_refusal::unsupported, i};
            const std::uint64_t pages = pages_for(buffers()[i].size, page_size());
            // Page numbers have 32 bits.
            if (pages > ~std::uint32_t{0} - in_all_ || pages > ~std::uint64_t{0} / page_size())
                return {plan_refusal::too_large, i};
            pages_[i] = static_cast<std::uint32_t>(pages);
            in_all_ += pages_[i];
        }
        return {};
    }
    /// Finds the groups of buffers that are together, and those whose pages follow one another.
    void find_groups() {
        const std::size_t count = buffers().size();
        group_.resize(count);
        find_groups_together(group_, given().together);
        is_whole_.assign(count, 0);
        for (std::size_t i = 0; i != count; ++i)
            if (!is_paged(i)) is_whole_[group_[i]] = 1;
        for (const plan_fixed& fixed : given().fixed) is_whole_[group_[fixed.buffer]] = 1;
    }
    /// Checks that consecutive pages can begin at the offset of their group.
    [[nodiscard]] plan_error check_consecutive() const {
        std::vector<char> is_placed(buffers().size());
        for (const plan_fixed& fixed : given().fixed) is_placed[group_[fixed.buffer]] = 1;
        std::vector<char> has_pages(buffers().size());
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            if (pages_[i] == 0) continue;
            has_pages[group_[i]] = 1;
            if (!is_scattered(i) && !is_placed[group_[i]] && page_size() != page_align())
                return {plan_refusal::unsupported, i};
        }
        for (const plan_fixed& fixed : given().fixed)
            if (has_pages[group_[fixed.buffer]] && fixed.offset % page_size() != 0)
                return {plan_refusal::fixed_misaligned, fixed.buffer};
        return {};
    }

    const Problem* problem_;
    std::vector<char> is_paged_, is_whole_;  // by buffer; by group: whether pages follow one another
    std::vector<std::uint32_t> pages_, group_;
    std::uint32_t in_all_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
