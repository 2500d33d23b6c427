// SPDX-License-Identifier: BSL-1.0
// pages: assigns buffers to pages of one size that need not be adjacent, with the smallest number of pages.
//
//     static constexpr allot::plan_buffer frames[] = {{.size = 8192, .live = {0, 2}}, {.size = 4096, .live = {1, 3}}};
//     const allot::plan_problem problem{.buffers = frames};
//     std::vector<std::uint32_t> first(problem.buffers.size() + 1), pages(allot::pages_in_all(problem, 4096).value());
//     allot::plan_heap workspace{allot::pages_space(problem)};
//     const auto count = allot::plan_pages(problem, 4096, first, pages, workspace);    // pages needed: 3
//     pages[first[1]];                                                                 // first page of buffer 1
//
//     page                               Lifetimes are intervals. An interval graph can be colored with as many colors
//       2  │   ┌────┐                    as intervals overlap at one point: a buffer that begins takes the pages of
//       1  │┌──┤ b  ├────┐               ended buffers, and new pages only if no page is free. The number of pages
//       0  ││ a│    │ c  │               therefore always equals the lower bound.
//          └┴──┴────┴────┴──► time       a: pages 0 and 1. b: 2. c: 0 and 1.
//
// An ended buffer keeps its list of pages. A buffer that begins copies pages from the list of the buffer that ended
// last. Free pages need no list.
//
// Alignments up to the page size are supported if the pages themselves are aligned. Larger alignments are rejected, and
// so are constraints and buffers with several lifetimes: the theorem does not hold for them. `plan_mixed` plans them.
// `validate_pages` checks results of this and of other planners.
//
// When to use: an address translation or a table of pointers makes scattered pages usable, as with virtual memory,
// paged attention caches or `paged` tensors.
// When not to use: buffers must be contiguous (plan.hpp), or some of them must, or buffers have constraints or several
// lifetimes (mixed.hpp).
//
// Source: the coloring of interval graphs, for example Gupta, Lee and Leung, An optimal solution for the
// channel-assignment problem, IEEE Transactions on Computers 28, 1979.
// Complexity: O(n log n + pages assigned to all buffers).
// Memory: `pages_space`, 20 bytes a buffer.
// Thread safety: the functions have no state. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/bound.hpp>

namespace allot {
inline namespace v1 {

/// Returns the size of the workspace that `plan_pages` needs.
[[nodiscard]] constexpr plan_space pages_space(const plan_problem& problem) noexcept {
    return {5 * problem.buffers.size(), 0, 0};
}

/// Returns the sum of the pages of all buffers: the length of the list that `plan_pages` writes.
///
/// Fails if `check_problem` rejects the problem. Fails with `unsupported` if `page_size` is 0 or not a multiple of an
/// alignment, or if the problem has constraints or revivals. Fails with `too_large` if the sum exceeds 32 bits.
[[nodiscard]] constexpr result<std::size_t, plan_error> pages_in_all(const plan_problem& problem,
                                                                     std::uint64_t page_size) noexcept {
    using answer = result<std::size_t, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (page_size == 0 || !problem.revivals.empty() || !problem.fixed.empty() || !problem.together.empty() ||
        !problem.apart.empty() || !problem.reserved.empty())
        return answer::failure({plan_refusal::unsupported, 0});
    std::size_t sum = 0;
    for (std::size_t i = 0; i != problem.buffers.size(); ++i) {
        const plan_buffer& buffer = problem.buffers[i];
        if (page_size % buffer.align != 0) return answer::failure({plan_refusal::unsupported, i});
        const std::uint64_t pages = detail::divided_up(buffer.size, page_size);
        // Page numbers have 32 bits.
        if (pages > ~std::uint32_t{0} - sum) return answer::failure({plan_refusal::too_large, i});
        sum += static_cast<std::size_t>(pages);
    }
    return sum;
}

/// Assigns pages to all buffers and returns the number of pages, which are numbered from 0.
///
/// Writes the pages of buffer i to `pages[first[i]]` … `pages[first[i + 1] - 1]`. `first` has one element more than
/// there are buffers. `pages` has at least `pages_in_all` elements. Fails under the same conditions as `pages_in_all`,
/// and with `workspace_too_small` if an array or the workspace is too small.
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
    std::uint32_t* const starts = workspace.cut_u32(count);
    std::uint32_t* const ends = workspace.cut_u32(count);
    std::uint32_t* const scratch = workspace.cut_u32(count);
    std::uint32_t* const ended = workspace.cut_u32(count);  // stack of ended buffers with free pages
    std::uint32_t* const next = workspace.cut_u32(count);   // first free page in the list of such a buffer
    std::uint32_t sum = 0, top = 0, used = 0;
    for (std::size_t i = 0; i != count; ++i) {
        first[i] = sum;
        const std::uint64_t size = problem.buffers[i].size;
        sum += static_cast<std::uint32_t>(detail::divided_up(size, page_size));
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
