// SPDX-License-Identifier: BSL-1.0
// pages: buffers in pages of one size, wherever the pages lie, in the least number of pages there can be.
//
//     page                               Lifetimes are intervals, and intervals can be coloured with as many colours as
//       2  │   ┌────┐                    overlap at once: what begins takes the pages of what has ended, and new ones
//       1  │┌──┤ b  ├────┐               only when there are none. So the peak is the lower bound, always.
//       0  ││ a│    │ c  │
//          └┴──┴────┴────┴──► time       a: pages 0 and 1. b: 2. c: 0 and 1.
//
// A buffer that has ended keeps its list, and what begins copies from the list of what ended last. So free pages need
// no list of their own.
//
// Alignments up to a page's are kept if the pages are aligned, and larger ones are refused. So is a problem with
// constraints or with buffers that live again, for which no such theorem holds. Whoever made them, `validate_pages`
// knows whether pages are right.
//
// Source: the colouring of interval graphs, e.g. Gupta, Lee and Leung, An optimal solution for the channel-assignment
// problem, IEEE Transactions on Computers 28, 1979. Complexity: O(n log n + pages handed out). Memory: `pages_space`,
// 20 bytes a buffer. Thread safety: pure but for the workspace.
#pragma once

#include <allot/plan/bound.hpp>

namespace allot {
inline namespace v1 {

/// What `plan_pages` works in.
[[nodiscard]] constexpr plan_space pages_space(const plan_problem& problem) noexcept {
    return {5 * problem.buffers.size(), 0, 0};
}

/// How many pages all buffers have together: the size of the list that `plan_pages` writes. Or why it cannot.
[[nodiscard]] constexpr result<std::size_t, plan_error> pages_in_all(const plan_problem& problem,
                                                                     std::uint64_t page_size) noexcept {
    using answer = result<std::size_t, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none) return answer::failure(error);
    if (page_size == 0 || !problem.revivals.empty() || !problem.fixed.empty() || !problem.together.empty() ||
        !problem.apart.empty() || !problem.reserved.empty())
        return answer::failure({plan_refusal::unsupported, 0});
    std::size_t sum = 0;
    for (std::size_t i = 0; i != problem.buffers.size(); ++i) {
        const plan_buffer& buffer = problem.buffers[i];
        if (page_size % buffer.align != 0) return answer::failure({plan_refusal::unsupported, i});
        const std::uint64_t pages = buffer.size / page_size + (buffer.size % page_size != 0 ? 1 : 0);
        // Pages are named by 32 bits.
        if (pages > ~std::uint32_t{0} - sum) return answer::failure({plan_refusal::too_large, i});
        sum += static_cast<std::size_t>(pages);
    }
    return sum;
}

/// Writes the pages of buffer i to `pages[first[i]]` … `pages[first[i + 1] - 1]`, and says how many pages there are:
/// their names are 0, 1, … `first` has one element more than there are buffers, and `pages` has `pages_in_all`.
[[nodiscard]] constexpr result<std::uint32_t, plan_error> plan_pages(const plan_problem& problem,
                                                                     std::uint64_t page_size,
                                                                     std::span<std::uint32_t> first,
                                                                     std::span<std::uint32_t> pages,
                                                                     plan_workspace workspace) noexcept {
    using answer = result<std::uint32_t, plan_error>;
    const auto in_all = pages_in_all(problem, page_size);
    if (!in_all) return answer::failure(in_all.error());
    const std::size_t count = problem.buffers.size();
    if (!workspace.holds(pages_space(problem)) || first.size() <= count || pages.size() < *in_all)
        return answer::failure({plan_refusal::workspace_too_small, 0});
    std::uint32_t* const starts = workspace.cut_words(count);
    std::uint32_t* const ends = workspace.cut_words(count);
    std::uint32_t* const scratch = workspace.cut_words(count);
    std::uint32_t* const ended = workspace.cut_words(count);  // a stack of buffers with pages that are free
    std::uint32_t* const next = workspace.cut_words(count);   // where the free ones of such a buffer begin
    std::uint32_t sum = 0, top = 0, used = 0;
    for (std::size_t i = 0; i != count; ++i) {
        first[i] = sum;
        const std::uint64_t size = problem.buffers[i].size;
        sum += static_cast<std::uint32_t>(size / page_size + (size % page_size != 0 ? 1 : 0));
    }
    first[count] = sum;
    detail::lifetime_sweep{problem, starts, ends, scratch}.run(
        [&](std::size_t buffer, std::int64_t) {
            for (std::uint32_t at = first[buffer]; at != first[buffer + 1]; ++at) {
                if (top == 0) {
                    pages[at] = used++;
                    continue;
                }
                const std::uint32_t from = ended[top - 1];
                pages[at] = pages[next[from]];
                if (++next[from] == first[from + 1]) --top;
            }
            return true;
        },
        [&](std::size_t buffer) {
            next[buffer] = first[buffer];
            if (first[buffer] != first[buffer + 1]) ended[top++] = static_cast<std::uint32_t>(buffer);
        });
    return used;
}

}  // namespace v1
}  // namespace allot
