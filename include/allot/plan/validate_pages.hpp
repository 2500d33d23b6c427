// SPDX-License-Identifier: BSL-1.0
// validate_pages: whether buffers in pages keep what their problem asks. It shares nothing with `plan_pages` but a
// sort.
//
//     page                            In the order in which buffers begin, every page remembers who took it last. Who
//       1  │   ┌── b ──┐              takes a page finds there the only one that can still be in it: whoever had it
//       0  ├── a ──┬── c ──┐          before had ended when that one began.
//          └───┴───┴───┴───┴──► time
//                                     Here c takes page 0 from a, which has ended.
//
// That there are few pages is not asked here: `bound_of`, in pages, says how many there must be.
//
// Complexity: O(n log n + pages). Memory: `validate_pages_space`, 8 bytes a buffer and 4 a page. Thread safety: pure
// but for the workspace.
#pragma once

#include <allot/plan/check.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {

enum class pages_violation_kind : unsigned char {
    none,
    bad_problem,          // `check_problem` says why
    unsupported,          // there is no page of 0 bytes, or the problem asks what pages alone do not show
    lists_missing,        // where the list of `first` begins or ends is not said, or it ends beyond the pages given
    workspace_too_small,
    misaligned,           // `first`, of whose alignment pages are no multiple
    wrong_number,         // of pages, of `first`
    no_such_page,         // `first` has a page beyond the last
    twice,                // `first` has a page twice
    overlap,              // `first` and `second` live at once and share a page
};

struct pages_violation {
    pages_violation_kind kind = pages_violation_kind::none;
    std::size_t first = 0;
    std::size_t second = 0;
    friend constexpr bool operator==(pages_violation, pages_violation) = default;
};

/// What `validate_pages` works in, where there are `count` pages.
[[nodiscard]] constexpr plan_space validate_pages_space(const plan_problem& problem, std::uint32_t count) noexcept {
    std::size_t words = ~std::size_t{0};  // more than there can be, where the sum does not fit
    (void)checked_add(2 * problem.buffers.size(), std::size_t{count}, words);
    return {words, 0, 0};
}

/// The first violation found; of kind `none` when the pages are right: those of buffer i are `pages[first[i]]` …
/// `pages[first[i + 1] - 1]`, and their names are below `count`.
[[nodiscard]] constexpr pages_violation validate_pages(const plan_problem& problem, std::uint64_t page_size,
                                                       std::span<const std::uint32_t> first,
                                                       std::span<const std::uint32_t> pages, std::uint32_t count,
                                                       plan_workspace workspace) noexcept {
    using enum pages_violation_kind;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return {bad_problem, error.which, 0};
    if (page_size == 0 || !problem.revivals.empty() || !problem.fixed.empty() || !problem.together.empty() ||
        !problem.apart.empty() || !problem.reserved.empty())
        return {unsupported, 0, 0};
    const std::span<const plan_buffer> buffers = problem.buffers;
    if (first.size() != buffers.size() + 1) return {lists_missing, std::min(first.size(), buffers.size()), 0};
    if (!workspace.holds(validate_pages_space(problem, count))) return {workspace_too_small, 0, 0};
    for (std::size_t i = 0; i != buffers.size(); ++i) {
        if (first[i] > first[i + 1] || first[i + 1] > pages.size()) return {lists_missing, i, 0};
        if (page_size % buffers[i].align != 0) return {misaligned, i, 0};
        const std::uint64_t has = first[i + 1] - first[i], size = buffers[i].size;
        if (has != size / page_size + (size % page_size == 0 ? 0 : 1)) return {wrong_number, i, 0};
    }

    std::uint32_t* const order = workspace.cut_words(buffers.size());
    std::uint32_t* const scratch = workspace.cut_words(buffers.size());
    std::uint32_t* const taker = workspace.cut_words(count);  // of each page
    const auto nobody = static_cast<std::uint32_t>(buffers.size());
    for (std::uint32_t page = 0; page != count; ++page) taker[page] = nobody;
    for (std::uint32_t i = 0; i != nobody; ++i) order[i] = i;
    detail::sort_by(order, scratch, buffers.size(),
                    [&](std::uint32_t i) { return detail::ordered(buffers[i].live.from); });
    for (std::size_t next = 0; next != buffers.size(); ++next) {
        const std::uint32_t now = order[next];
        for (std::uint32_t at = first[now]; at != first[now + 1]; ++at) {
            if (pages[at] >= count) return {no_such_page, now, 0};
            const std::uint32_t before = taker[pages[at]];
            if (before == now) return {twice, now, 0};
            if (before != nobody && buffers[before].live.until > buffers[now].live.from) return {overlap, now, before};
            taker[pages[at]] = now;
        }
    }
    return {};
}

}  // namespace v1
}  // namespace allot
