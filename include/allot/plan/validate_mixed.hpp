// SPDX-License-Identifier: BSL-1.0
// validate_mixed: checks whether a plan with pages beside contiguous buffers satisfies its problem.
//
//     static constexpr allot::plan_buffer buffers[] = {{.size = 9'999, .live = {0, 4}}, {.size = 99, .live = {1, 3}}};
//     static constexpr std::size_t caches[] = {1};
//     const allot::mixed_problem problem{.buffers = {.buffers = buffers}, .page_size = 4096, .paged = caches};
//     const auto made = allot::plan_mixed(problem);
//     if (!made) return complain(made.error());
//     const auto found = allot::validate_mixed(problem, *made, made->peak);
//     if (found.kind != allot::mixed_violation_kind::none) complain(found.kind, found.first, found.second);
//
//     plan   ──► numbers of pages, fixed first pages, consecutive pages, pages that are together or apart
//            ──► each page becomes a buffer at the offset of the page ──► `validate`: nothing live shares a byte, no
//                reserved byte is used, contiguous buffers keep all their rules
//
// It shares no code with `plan_mixed` except the check of the buffers and a sort. It does not check the bound.
//
// When to use: to check the result of any planner of pages beside contiguous buffers, of this library or of another
// tool, before using it.
// When not to use: for plans without pages (validate.hpp), and for pages alone (validate_pages.hpp, without a heap).
//
// Complexity: O(n log n) in buffers and pages, plus the pages of buffers that are apart.
// Memory: on the heap, about 100 bytes a buffer and a page.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/mixed_problem.hpp>
#include <allot/plan/mixed_violation.hpp>
#include <allot/plan/validate.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {

namespace detail {

/// Implementation of `validate_mixed`.
template <class Plan>
class mixed_validator {
    using kind = mixed_violation_kind;

public:
    mixed_validator(const mixed_problem& problem, const Plan& plan)
        : problem_{&problem.buffers}, page_size_{problem.page_size}, plan_{&plan}, count_{problem_->buffers.size()} {
        in_pages_.assign(count_, false);
        for (const std::size_t i : problem.paged)
            if (i < count_) in_pages_[i] = true;
            else is_bad_ = true;
    }

    [[nodiscard]] mixed_violation run(std::uint64_t capacity) {
        if (const plan_error error = check_problem(*problem_); error.reason != plan_refusal::none)
            return {kind::bad_problem, error.which, 0};
        if (is_bad_ || page_size_ == 0) return {kind::bad_problem, 0, 0};
        mixed_violation found = each_list();
        if (found.kind == kind::none) found = each_run();
        if (found.kind == kind::none) found = each_pair();
        return found.kind == kind::none ? over_time(capacity) : found;
    }

private:
    [[nodiscard]] std::uint64_t size(std::size_t i) const { return problem_->buffers[i].size; }
    [[nodiscard]] std::span<const std::uint32_t> pages(std::size_t i) const { return plan_->pages_of(i); }
    /// Precondition: the buffer has a place.
    [[nodiscard]] std::uint64_t begin(std::size_t i) const {
        return in_pages_[i] ? pages(i)[0] * page_size_ : plan_->places[i].offset;
    }

    [[nodiscard]] mixed_violation each_list() const {
        if (plan_->page_size != page_size_) return {kind::lists_missing, 0, 0};
        if (plan_->places.size() != count_) return {kind::lists_missing, std::min(plan_->places.size(), count_), 0};
        if (plan_->first.size() != count_ + 1) return {kind::lists_missing, std::min(plan_->first.size(), count_), 0};
        for (std::size_t i = 0; i != count_; ++i) {
            const std::uint64_t from = plan_->first[i], to = plan_->first[i + 1];
            if (from > to || to > plan_->pages.size()) return {kind::lists_missing, i, 0};
            const std::uint64_t align = problem_->buffers[i].align;
            if (!in_pages_[i]) {
                if (from != to) return {kind::wrong_number, i, 0};
                if (plan_->places[i].size != size(i)) return {kind::lists_missing, i, 0};
                continue;
            }
            if (page_size_ % align != 0) return {kind::misaligned, i, 0};
            if (to - from != size(i) / page_size_ + (size(i) % page_size_ != 0)) return {kind::wrong_number, i, 0};
            for (const std::uint32_t page : pages(i))
                if (page >= ~std::uint64_t{0} / page_size_) return {kind::wraps, i, 0};
        }
        return {};
    }

    /// Finds the groups of buffers that are together, and whether the pages of a group must follow one another. Checks
    /// that they do, and fixed offsets.
    [[nodiscard]] mixed_violation each_run() {
        find_groups();
        for (std::size_t i = 0; i != count_; ++i)
            for (std::size_t k = 1; is_run(i) && k < pages(i).size(); ++k)
                if (pages(i)[k] != pages(i)[0] + k) return {kind::not_consecutive, i, 0};
        for (const plan_fixed& fixed : problem_->fixed) {
            // A buffer without pages fixes the offset of its group.
            const std::size_t placed = has_place(fixed.buffer) ? fixed.buffer : longest_[group_[fixed.buffer]];
            if (has_place(placed) && begin(placed) != fixed.offset) return {kind::not_where_fixed, fixed.buffer, 0};
        }
        return {};
    }
    void find_groups() {
        std::vector<std::vector<std::size_t>> beside(count_);
        for (const plan_pair& pair : problem_->together) {
            beside[pair.first].push_back(pair.second);
            beside[pair.second].push_back(pair.first);
        }
        std::vector<bool> is_fixed(count_);
        for (const plan_fixed& fixed : problem_->fixed) is_fixed[fixed.buffer] = true;
        group_.assign(count_, count_);
        is_run_.assign(count_, false);
        longest_.assign(count_, 0);
        std::vector<std::size_t> members;
        for (std::size_t i = 0; i != count_; ++i) {
            if (group_[i] != count_) continue;
            members.assign(1, i);
            group_[i] = i;
            longest_[i] = i;
            for (std::size_t at = 0; at != members.size(); ++at) {
                const std::size_t now = members[at];
                if (!in_pages_[now] || is_fixed[now]) is_run_[i] = true;
                if (!has_place(longest_[i]) || pages(now).size() > pages(longest_[i]).size()) longest_[i] = now;
                for (const std::size_t next : beside[now]) {
                    if (group_[next] != count_) continue;
                    group_[next] = i;
                    members.push_back(next);
                }
            }
        }
    }
    /// Returns whether the pages of a buffer have one range of bytes, as contiguous buffers have.
    [[nodiscard]] bool is_run(std::size_t i) const { return is_run_[group_[i]]; }
    [[nodiscard]] bool has_place(std::size_t i) const { return !in_pages_[i] || !pages(i).empty(); }

    [[nodiscard]] mixed_violation each_pair() const {
        for (std::size_t i = 0; i != count_; ++i)
            if (const std::size_t other = longest_[group_[i]]; !are_together(i, other))
                return {kind::not_together, i, other};
        for (const plan_pair& pair : problem_->apart)
            if (share(pair.first, pair.second)) return {kind::not_apart, pair.first, pair.second};
        return {};
    }
    /// Compares a buffer with the longest one of its group.
    [[nodiscard]] bool are_together(std::size_t i, std::size_t longest) const {
        if (!has_place(i)) return true;
        if (is_run(i)) return begin(i) == begin(longest);
        return std::equal(pages(i).begin(), pages(i).end(), pages(longest).begin());
    }
    /// Returns the ranges of bytes of a buffer, sorted.
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges(std::size_t i) const {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> made;
        if (!in_pages_[i] && size(i) != 0) made.emplace_back(begin(i), begin(i) + size(i));
        for (const std::uint32_t page : pages(i)) made.emplace_back(page * page_size_, (page + 1) * page_size_);
        std::sort(made.begin(), made.end());
        return made;
    }
    [[nodiscard]] bool share(std::size_t a, std::size_t b) const {
        const auto some = ranges(a), others = ranges(b);
        for (std::size_t i = 0, k = 0; i != some.size() && k != others.size();) {
            if (some[i].second <= others[k].first) ++i;
            else if (others[k].second <= some[i].first) ++k;
            else return true;
        }
        return false;
    }

    /// Makes each range of bytes a buffer, and validates them. Pairs that are apart have been checked.
    [[nodiscard]] mixed_violation over_time(std::uint64_t capacity) const {
        std::vector<plan_buffer> buffers;
        std::vector<std::uint64_t> offsets;
        std::vector<std::size_t> owner, first;
        for (std::size_t i = 0; i != count_; ++i) {
            first.push_back(buffers.size());
            plan_buffer buffer = problem_->buffers[i];
            if (in_pages_[i]) buffer.size = is_run(i) ? pages(i).size() * page_size_ : page_size_;
            const std::size_t ranges = is_run(i) ? has_place(i) : pages(i).size();
            for (std::size_t k = 0; k != ranges; ++k) {
                buffers.push_back(buffer);
                offsets.push_back(k == 0 ? begin(i) : pages(i)[k] * page_size_);
                owner.push_back(i);
            }
        }
        first.push_back(buffers.size());
        std::vector<plan_revival> revivals;
        for (const plan_revival& each : problem_->revivals)
            for (std::size_t k = first[each.buffer]; k != first[each.buffer + 1]; ++k)
                revivals.push_back({k, each.live});
        std::vector<plan_pair> together;
        for (std::size_t i = 0; i != count_; ++i)
            if (const std::size_t longest = longest_[group_[i]]; longest != i)
                for (std::size_t k = first[i]; k != first[i + 1]; ++k)
                    together.push_back({k, first[longest] + k - first[i]});
        const plan_problem all{
            .buffers = buffers, .revivals = revivals, .together = together, .reserved = problem_->reserved};
        plan_heap workspace{validate_space(all)};
        return as_given(validate(all, offsets, capacity, workspace), owner);
    }
    [[nodiscard]] static mixed_violation as_given(const plan_violation& found, const std::vector<std::size_t>& owner) {
        const auto of = [&](std::size_t i) { return i < owner.size() ? owner[i] : 0; };
        const std::size_t first = of(found.first);
        switch (found.kind) {
            case plan_violation_kind::none: return {};
            case plan_violation_kind::misaligned: return {kind::misaligned, first, 0};
            case plan_violation_kind::wraps: return {kind::wraps, first, 0};
            case plan_violation_kind::over_capacity: return {kind::over_capacity, first, 0};
            case plan_violation_kind::reserved: return {kind::reserved, first, found.second};
            case plan_violation_kind::overlap:
                if (first == of(found.second)) return {kind::twice, first, 0};
                return {kind::overlap, first, of(found.second)};
            default: return {kind::bad_problem, first, 0};
        }
    }

    const plan_problem* problem_;
    std::uint64_t page_size_;
    const Plan* plan_;
    std::size_t count_;
    std::vector<bool> in_pages_;
    std::vector<std::size_t> group_;    // by buffer: the first buffer of its group
    std::vector<bool> is_run_;          // by group
    std::vector<std::size_t> longest_;  // by group: the buffer with the most pages, or else one with an offset
    bool is_bad_ = false;
};

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid.
///
/// No buffer and no page may end above `capacity`. Throws the exceptions of the heap.
template <class Plan = mixed_plan>
[[nodiscard]] mixed_violation validate_mixed(const mixed_problem& problem, const std::type_identity_t<Plan>& plan,
                                             std::uint64_t capacity) {
    return detail::mixed_validator<Plan>{problem, plan}.run(capacity);
}

}  // namespace v1
}  // namespace allot
