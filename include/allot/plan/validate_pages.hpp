// SPDX-License-Identifier: BSL-1.0
// validate_pages: checks whether an assignment of buffers to pages satisfies its problem.
//
//     static constexpr allot::plan_buffer frames[] = {{.size = 8192, .live = {0, 2}}, {.size = 4096, .live = {2, 3}}};
//     const allot::plan_problem problem{.buffers = frames};
//     const std::uint32_t first[] = {0, 2, 3}, pages[] = {0, 1, 0};        // buffer 0: pages 0 and 1; buffer 1: page 0
//     allot::plan_heap workspace{allot::validate_pages_space(problem, 2)};
//     const auto found = allot::validate_pages(problem, 4096, first, pages, 2, workspace);
//     if (found.kind != allot::pages_violation_kind::none) report(found.kind, found.first, found.second);
//
//     page                            The buffers are visited in the order in which they begin. For each page, the
//       1  │   ┌── b ──┐              validator stores the last buffer that took it. A buffer that takes a page can
//       0  ├── a ──┬── c ──┐          only overlap that buffer: any earlier one had ended when that buffer began.
//          └───┴───┴───┴───┴──► time
//                                     Here c takes page 0 from a, which has ended.
//
// It shares no code with `plan_pages` except a sort. It does not check that the number of pages is minimal: `bound_of`,
// for sizes in pages, returns that minimum.
//
// When to use: to check the result of any planner of pages, of this library or of another tool, before using it.
// When not to use: for plans with offsets (validate.hpp), or with pages beside offsets (validate_mixed.hpp).
//
// Complexity: O(n log n + pages).
// Memory: `validate_pages_space`, 8 bytes a buffer and 4 bytes a page.
// Thread safety: the functions have no state. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/check.hpp>
#include <allot/plan/workspace.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {

/// Kind of a violation. `first` and `second` are the members of `pages_violation`.
enum class pages_violation_kind : unsigned char {
    none,                 ///< The assignment is valid.
    bad_problem,          ///< The problem is invalid: `check_problem` returns the reason.
    unsupported,          ///< The page size is 0, or the problem has constraints or revivals.
    lists_missing,        ///< The list of buffer `first` has no begin or end, or exceeds `pages`.
    workspace_too_small,  ///< The workspace is smaller than `validate_pages_space`.
    misaligned,           ///< The page size is not a multiple of the alignment of buffer `first`.
    wrong_number,         ///< Buffer `first` has too many or too few pages.
    no_such_page,         ///< Buffer `first` has a page number that is not below `count`.
    twice,                ///< Buffer `first` has a page twice.
    overlap,              ///< Buffers `first` and `second` live at the same time and share a page.
};

/// Returns a human-readable description of the kind.
[[nodiscard]] constexpr const char* to_string(pages_violation_kind kind) noexcept {
    switch (kind) {
        case pages_violation_kind::none: return "the assignment is valid";
        case pages_violation_kind::bad_problem: return "the planning problem is invalid";
        case pages_violation_kind::unsupported: return "the page size is 0, or the problem has constraints or revivals";
        case pages_violation_kind::lists_missing:
            return "the list of a buffer has no begin or end, or exceeds the array of pages";
        case pages_violation_kind::workspace_too_small: return "the workspace is too small";
        case pages_violation_kind::misaligned: return "the page size is not a multiple of the alignment of a buffer";
        case pages_violation_kind::wrong_number: return "a buffer has too many or too few pages";
        case pages_violation_kind::no_such_page: return "a page number is not below the number of pages";
        case pages_violation_kind::twice: return "a buffer has a page twice";
        case pages_violation_kind::overlap: return "two buffers live at the same time and share a page";
    }
    return "unknown";
}

/// A violation: its kind, and the indices of the buffers that it concerns.
struct pages_violation {
    pages_violation_kind kind = pages_violation_kind::none;  ///< Kind of the violation.
    std::size_t first = 0;                                   ///< Index of a buffer.
    std::size_t second = 0;                                  ///< Index of a second buffer, or 0.

    /// Returns a human-readable description of the kind.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(kind); }
    /// Compares all members.
    friend constexpr bool operator==(pages_violation, pages_violation) = default;
};

/// Returns the size of the workspace that `validate_pages` needs for `count` pages.
[[nodiscard]] constexpr plan_space validate_pages_space(const plan_problem& problem, std::uint32_t count) noexcept {
    std::size_t numbers = ~std::size_t{0};  // no workspace has this size: the sum wraps
    (void)checked_add(2 * problem.buffers.size(), std::size_t{count}, numbers);
    return {numbers, 0, 0};
}

/// Returns the first violation that it finds, or a violation of kind `none` if the assignment is valid.
///
/// The pages of buffer i are `pages[first[i]]` … `pages[first[i + 1] - 1]`. All page numbers are below `count`.
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

    std::uint32_t* const order = workspace.cut_u32(buffers.size());
    std::uint32_t* const scratch = workspace.cut_u32(buffers.size());
    std::uint32_t* const taker = workspace.cut_u32(count);  // last buffer of each page
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
