// SPDX-License-Identifier: BSL-1.0
// paging: plans the single memory of an input in pages of one size, and validates the plan.
//
//     all buffers in pages, no constraints ──► allot::plan_pages ──► allot::validate_pages
//     otherwise                            ──► allot::plan_mixed ──► allot::validate_mixed
//
// In the first case there is no search: the number of pages always equals the lower bound.
#pragma once

#include "planning.hpp"

#include <allot/plan/mixed.hpp>
#include <allot/plan/pages.hpp>
#include <allot/plan/validate_mixed.hpp>
#include <allot/plan/validate_pages.hpp>

#include <algorithm>

namespace planner {

/// Returns the buffers that may lie in pages.
[[nodiscard]] inline std::vector<std::size_t> paged_buffers(const input& given) {
    if (given.paged) return *given.paged;
    std::vector<std::size_t> all(given.buffers.size());
    for (std::size_t i = 0; i != all.size(); ++i) all[i] = i;
    return all;
}
/// Throws an `input_error` for buffers that pages cannot hold, and for too many pages.
inline void refuse_what_pages_cannot_hold(const input& given, std::uint64_t page_size, std::uint64_t most) {
    if (given.memories.size() != 1) throw input_error{given.path + ": pages require a single memory"};
    std::uint64_t pages = 0;
    for (const std::size_t i : paged_buffers(given)) {
        const auto [size, live, align] = given.buffers[i];
        if (page_size % align != 0)
            throw input_error{given.path + ": buffer " + given.names[i] + ": pages do not support the alignment " +
                              std::to_string(align) + ", because " + std::to_string(page_size) +
                              " bytes are not a multiple of it"};
        const std::uint64_t more = size / page_size + (size % page_size != 0);
        if (more > most - pages)
            throw input_error{given.path + ": the buffers have more than " + std::to_string(most) + " pages of " +
                              std::to_string(page_size) + " bytes"};
        pages += more;
    }
}

/// Plans an input without constraints, with all buffers in pages.
[[nodiscard]] inline outcome all_in_pages(const input& given, std::uint64_t page_size) {
    refuse_what_pages_cannot_hold(given, page_size, std::uint64_t{1} << 27);  // half a GiB of page numbers
    const allot::plan_problem problem{.buffers = given.buffers};
    const auto in_all = allot::pages_in_all(problem, page_size);
    if (!in_all) refuse(given, in_all.error());
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
    made.memories.push_back({paged_buffers(given), plan});
    made.pages = std::move(pages);
    return made;
}

/// Plans an input with constraints, or with contiguous buffers beside those in pages.
template <class Watch>
[[nodiscard]] outcome some_in_pages(const input& given, std::uint64_t page_size, bool again_and_again, Watch watch) {
    refuse_what_pages_cannot_hold(given, page_size, std::uint64_t{1} << 24);  // about 200 bytes each
    const part all{given, 0};
    const std::vector<std::size_t> paged = paged_buffers(given);
    const allot::mixed_problem problem{all.problem(), page_size, paged};
    const plan_watch watched = [&](allot::plan_progress now) { return watch(0, now); };
    const auto make = [&](const allot::plan_options& chosen, auto watching) {
        return allot::plan_mixed(problem, chosen, watching);
    };
    const allot::plan_options options{.capacity = given.memories[0].capacity};
    auto plan = again_and_again ? plan_again_and_again(make, options, watched) : make(options, watched);
    if (!plan) refuse(given, plan.error());

    outcome made;
    for (const allot::plan_place& place : plan->places) made.offsets.push_back(place.offset);
    std::vector<std::uint32_t> different = plan->pages;
    std::sort(different.begin(), different.end());
    different.erase(std::unique(different.begin(), different.end()), different.end());
    made.memories.push_back({all.members(), *plan});
    made.pages = paged_plan{page_size, static_cast<std::uint32_t>(different.size()), std::move(plan->first),
                            std::move(plan->pages)};
    return made;
}

/// Whether all buffers of one memory may lie in pages, without constraints.
[[nodiscard]] inline bool is_plain(const input& given) {
    return !given.paged && given.revivals.empty() && given.fixed.empty() && given.together.empty() &&
           given.apart.empty() && given.memories.size() == 1 && given.memories[0].reserved.empty();
}

/// Plans an input in pages. `watch(memory, allot::plan_progress)` ends the search by returning true.
template <class Watch>
[[nodiscard]] outcome in_pages(const input& given, std::uint64_t page_size, bool again_and_again, Watch watch) {
    return is_plain(given) ? all_in_pages(given, page_size) : some_in_pages(given, page_size, again_and_again, watch);
}

/// Returns the mistake in the plan as a sentence; empty if it is valid.
[[nodiscard]] inline std::string mistake_in_pages(const input& given, const outcome& made) {
    const paged_plan& pages = *made.pages;
    const allot::plan_summary& plan = made.memories[0].plan;
    const auto mistake = [&](const auto& found) -> std::string {
        if (found == std::remove_cvref_t<decltype(found)>{}) return {};
        const auto name = [&](std::size_t i) { return i < given.names.size() ? given.names[i] : std::to_string(i); };
        return std::string{found.what()} + ": " + name(found.first) + " and " + name(found.second);
    };
    if (made.offsets.empty()) {
        if (plan.peak != plan.bound) return "the number of pages exceeds the lower bound";
        const allot::plan_problem problem{.buffers = given.buffers};
        allot::plan_heap workspace{allot::validate_pages_space(problem, pages.count)};
        return mistake(
            allot::validate_pages(problem, pages.page_size, pages.first, pages.names, pages.count, workspace));
    }
    const part all{given, 0};
    const std::vector<std::size_t> paged = paged_buffers(given);
    allot::mixed_plan written{plan, pages.page_size, {}, pages.names, pages.first};
    for (std::size_t i = 0; i != made.offsets.size(); ++i)
        written.places.push_back(made.is_paged(i) ? allot::no_place
                                                  : allot::plan_place{made.offsets[i], given.buffers[i].size});
    return mistake(allot::validate_mixed({all.problem(), pages.page_size, paged}, written,
                                         made.fits() ? std::min(plan.peak, given.memories[0].capacity) : plan.peak));
}

}  // namespace planner
