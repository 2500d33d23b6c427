// SPDX-License-Identifier: BSL-1.0
// mixed_planner: plans a mixed problem with the planner of one memory, and chooses pages beside each of its plans.
//
//     bound ──► contiguous buffers alone ──► whole buffers ──► pieces of some pages ──► pieces of one page
//                        │                        │                   │                        │
//                        └──► page_fill           └──► page_fill      └──► page_fill           └──► page_fill
//
// Each stage yields offsets of the contiguous buffers, and the last three also pages. `page_fill` chooses other pages
// beside the same offsets. The best plan is kept. A plan at the lower bound, or within the capacity, ends the work. The
// last stage is exact: with few pages, it proves lower bounds, and finds every plan if the page size is a power of two.
//
// Complexity: see mixed.hpp. Memory: on the heap. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/page_fill.hpp>
#include <allot/plan/detail/page_pieces.hpp>
#include <allot/plan/plan.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// Implementation of `plan_mixed`.
template <class Watch, class Problem>
class mixed_planner {
    using parts = mixed_parts<Problem>;
    using pieces = page_pieces<parts>;

public:
    mixed_planner(const Problem& problem, const plan_options& options, Watch& watch)
        : parts_{problem}, options_{options}, watch_{&watch} {}

    /// Makes the best plan and returns the first error.
    [[nodiscard]] plan_error run() {
        if (const plan_error error = parts_.read(); error.reason != plan_refusal::none) return error;
        if (const plan_error error = find_bound(); error.reason != plan_refusal::none) return error;
        const std::uint64_t few = std::min<std::uint64_t>(options_.effort, 16 * parts_.buffers().size());
        if (const plan_error error = try_pieces(0, few); error.reason != plan_refusal::none) return error;
        // The other stages may fail where a plan in single pages exists.
        if (may_go_on()) static_cast<void>(try_pieces(all_pages, options_.effort));
        const std::uint32_t searched = pages_each(options_.search_at_most), least = pages_each(most_pieces);
        if (may_go_on() && searched != all_pages && searched != least)
            static_cast<void>(try_pieces(searched, effort_for(searched) / 2));
        if (may_go_on() && least != all_pages) static_cast<void>(try_pieces(least, effort_for(least)));
        if (!has_plan_) return {plan_refusal::too_large, 0};
        const bool proved = made_.peak <= made_.bound;
        made_.status = made_.peak <= options_.capacity   ? (proved ? plan_status::optimal : plan_status::feasible)
                       : made_.bound > options_.capacity ? plan_status::infeasible
                                                         : plan_status::out_of_budget;
        return {};
    }
    [[nodiscard]] mixed_plan& best() noexcept { return made_; }

private:
    static constexpr std::uint32_t all_pages = ~std::uint32_t{0};
    static constexpr std::size_t most_pieces = std::size_t{1} << 12;  // including pairs
    static constexpr std::size_t most_sorted = std::size_t{1} << 22;  // buffers in pages times contiguous buffers

    [[nodiscard]] std::uint64_t goal() const noexcept {
        return options_.capacity == plan_options{}.capacity ? made_.bound : std::max(options_.capacity, made_.bound);
    }
    [[nodiscard]] bool may_go_on() const noexcept { return made_.peak > goal() && options_.effort != 0 && !stopped_; }

    /// Finds the lower bound. It holds for buffers in pages too, because it depends only on numbers of bytes.
    [[nodiscard]] plan_error find_bound() {
        const pieces whole{parts_, all_pages};
        const plan_problem problem = whole.problem();
        plan_heap heap{merge_space(problem) + bound_space(problem)};
        plan_workspace workspace = heap;
        plan_sizes sizes;
        const auto merged = merge_together(problem, workspace, sizes);
        if (!merged) return as_given(whole, merged.error());
        const auto bound = bound_of(merged->problem, workspace, sizes);
        if (!bound) return as_given(whole, merged->as_given(bound.error()));
        made_.bound = bound->bytes;
        made_.step = bound->step;
        for (const plan_buffer& buffer : parts_.buffers()) made_.align = std::max(made_.align, buffer.align);
        return {};
    }
    [[nodiscard]] static plan_error as_given(const pieces& cut, plan_error error) noexcept {
        error.which = cut.given(error.which);
        return error;
    }
    /// Returns the least power of two of pages for which there are at most `most` pieces, or `all_pages`.
    [[nodiscard]] std::uint32_t pages_each(std::size_t most) const {
        const std::size_t own = parts_.buffers().size();
        for (std::uint32_t each = 1; each != 0 && most > own; each *= 2)
            if (pieces::count(parts_, each, most - own) != pieces::too_many) return each;
        return all_pages;
    }

    /// Returns the effort for pieces of at most `each` pages. The placement of one of many pieces takes longer, because
    /// more of them live at the same time.
    [[nodiscard]] std::uint64_t effort_for(std::uint32_t each) const {
        return options_.effort / (1 + pieces::count(parts_, each, most_pieces) / 256) + 1;
    }
    /// Plans pieces of at most `each` pages, and chooses pages beside the contiguous buffers.
    [[nodiscard]] plan_error try_pieces(std::uint32_t each, std::uint64_t effort) {
        const pieces cut{parts_, each};
        plan_options options = options_;
        options.effort = effort;
        if (each == 0) options.capacity = plan_options{}.capacity;
        const bool had_plan = has_plan_;
        const auto plan = allot::plan(cut.problem(), options, [&](const plan_progress&) {
            return stopped_ = stopped_ || (had_plan && (*watch_)(plan_progress{made_.peak, made_.bound}));
        });
        if (!plan) return as_given(cut, plan.error());
        if (each <= 1) made_.bound = std::max(made_.bound, plan->bound);
        const std::vector<plan_place>& places = plan->places;
        std::vector<std::uint64_t> offsets;
        for (std::size_t i = 0; i != parts_.buffers().size(); ++i) offsets.push_back(places[i].offset);
        if (each != 0) keep_if_lower(offsets, [&](std::size_t i, std::size_t k) { return cut.offset(places, i, k); });
        fill(offsets);
        return {};
    }
    /// Chooses pages in several ways until one is good enough.
    void fill(const std::vector<std::uint64_t>& offsets) {
        std::size_t scattered = 0;
        for (std::size_t i = 0; i != offsets.size(); ++i) scattered += parts_.is_scattered(i);
        const bool sorts = scattered == 0 || offsets.size() - scattered <= most_sorted / scattered;
        for (const page_fill_way way : {page_fill_way{sorts, false}, {sorts, true}, {false, false}, {false, true}}) {
            if (has_plan_ && made_.peak <= goal()) return;
            page_fill<parts> pages{parts_, offsets, way};
            if (pages.run() > ~std::uint64_t{0} / parts_.page_size()) continue;  // also if there are too few pages
            keep_if_lower(offsets, [&](std::size_t i, std::size_t k) { return pages.page(i, k) * parts_.page_size(); });
        }
    }
    /// Keeps a plan if it is the lowest so far. `page_offset(i, k)` is the offset of page k of the scattered buffer i.
    template <class PageOffset>
    void keep_if_lower(const std::vector<std::uint64_t>& offsets, PageOffset page_offset) {
        const std::uint64_t page_size = parts_.page_size();
        std::uint64_t peak = 0;
        for (std::size_t i = 0; i != offsets.size(); ++i) {
            if (!parts_.is_scattered(i) && parts_.bytes(i) != 0) peak = std::max(peak, offsets[i] + parts_.bytes(i));
            for (std::size_t k = 0; k != parts_.pages(i); ++k) {
                const std::uint64_t offset = parts_.is_scattered(i) ? page_offset(i, k) : offsets[i] + k * page_size;
                if (offset % page_size != 0 || offset / page_size > ~std::uint32_t{0}) return;
                peak = std::max(peak, offset + page_size);
            }
        }
        if (has_plan_ && peak >= made_.peak) return;
        has_plan_ = true;
        made_.peak = peak;
        made_.page_size = page_size;
        made_.places.clear();
        made_.pages.clear();
        made_.first.assign(1, 0);
        for (std::size_t i = 0; i != offsets.size(); ++i) {
            made_.places.push_back(parts_.is_paged(i) ? no_place : plan_place{offsets[i], parts_.bytes(i)});
            for (std::size_t k = 0; k != parts_.pages(i); ++k)
                made_.pages.push_back(static_cast<std::uint32_t>(
                    (parts_.is_scattered(i) ? page_offset(i, k) : offsets[i] + k * page_size) / page_size));
            made_.first.push_back(static_cast<std::uint32_t>(made_.pages.size()));
        }
    }

    parts parts_;
    plan_options options_;
    Watch* watch_;
    mixed_plan made_{};
    bool has_plan_ = false, stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
