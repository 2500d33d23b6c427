// SPDX-License-Identifier: BSL-1.0
// paging: plans the single memory of an input in pages of one size, and validates the plan.
//
//     input ──► allot::plan_pages ──► allot::validate_pages
//
// There is no search: the number of pages always equals the lower bound.
#pragma once

#include "planning.hpp"

#include <allot/plan/pages.hpp>
#include <allot/plan/validate_pages.hpp>

namespace planner {

/// Throws an `input_error` for features that pages do not support; see `pages_in_all`.
inline void refuse_what_pages_cannot_keep(const input& given, std::uint64_t page_size) {
    const auto refuse = [&](const std::string& what) { throw input_error{given.path + ": " + what}; };
    if (given.memories.size() != 1) refuse("pages require a single memory");
    if (!given.memories[0].reserved.empty()) refuse("pages do not support reserved ranges");
    const auto refuse_buffer = [&](std::size_t i, const std::string& what) {
        refuse("buffer " + given.names[i] + ": pages do not support " + what);
    };
    if (!given.revivals.empty()) refuse_buffer(given.revivals[0].buffer, "several lifetimes");
    if (!given.fixed.empty()) refuse_buffer(given.fixed[0].buffer, "fixed offsets");
    if (!given.together.empty()) refuse_buffer(given.together[0].first, "buffers that share an offset");
    if (!given.apart.empty()) refuse_buffer(given.apart[0].first, "pairs of buffers that are kept apart");
    for (std::size_t i = 0; i != given.buffers.size(); ++i)
        if (const std::uint64_t align = given.buffers[i].align; page_size % align != 0)
            refuse_buffer(i, "the alignment " + std::to_string(align) + ", because " + std::to_string(page_size) +
                                 " bytes are not a multiple of it");
}

[[nodiscard]] inline outcome in_pages(const input& given, std::uint64_t page_size) {
    refuse_what_pages_cannot_keep(given, page_size);
    constexpr std::size_t most_pages = std::size_t{1} << 27;  // half a GiB of page numbers
    const allot::plan_problem problem{.buffers = given.buffers};
    const auto in_all = allot::pages_in_all(problem, page_size);
    if (!in_all || *in_all > most_pages)
        throw input_error{given.path + ": the buffers have more than " + std::to_string(most_pages) + " pages of " +
                          std::to_string(page_size) + " bytes"};

    paged_plan pages{page_size, 0, std::vector<std::uint32_t>(given.buffers.size() + 1),
                     std::vector<std::uint32_t>(*in_all)};
    allot::plan_heap workspace{max(allot::pages_space(problem), allot::bound_space(problem))};
    const auto count = allot::plan_pages(problem, page_size, pages.first, pages.names, workspace);
    std::vector<allot::plan_buffer> buffers = given.buffers;  // in pages instead of bytes
    for (std::size_t i = 0; i != buffers.size(); ++i)
        buffers[i] = {.size = pages.of(i).size(), .live = buffers[i].live};
    const auto bound = allot::bound_of({.buffers = buffers}, workspace);
    if (!count || !bound) throw std::logic_error{"the buffers cannot be planned in pages"};
    pages.count = *count;
    allot::plan_summary plan{.align = page_size, .step = bound->step};
    if (!allot::checked_multiply(page_size, std::uint64_t{*count}, plan.peak))
        throw input_error{given.path + ": the pages that live at the same time exceed 64 bits of addresses"};
    plan.bound = bound->bytes * page_size;
    plan.status =
        plan.bound > given.memories[0].capacity ? allot::plan_status::infeasible : allot::plan_status::optimal;

    outcome made;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i != given.buffers.size(); ++i) all.push_back(i);
    made.memories.push_back({std::move(all), plan});
    made.pages = std::move(pages);
    return made;
}

/// Returns the mistake in the pages as a sentence; empty if they are valid.
[[nodiscard]] inline std::string mistake_in_pages(const input& given, const outcome& made) {
    const paged_plan& pages = *made.pages;
    const allot::plan_summary& plan = made.memories[0].plan;
    if (plan.peak != plan.bound) return "the number of pages exceeds the lower bound";
    const allot::plan_problem problem{.buffers = given.buffers};
    allot::plan_heap workspace{allot::validate_pages_space(problem, pages.count)};
    const allot::pages_violation found =
        allot::validate_pages(problem, pages.page_size, pages.first, pages.names, pages.count, workspace);
    if (found.kind == allot::pages_violation_kind::none) return {};
    const auto name = [&](std::size_t i) { return i < given.names.size() ? given.names[i] : std::to_string(i); };
    return std::string{found.what()} + ": " + name(found.first) + " and " + name(found.second);
}

}  // namespace planner
