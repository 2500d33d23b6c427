// SPDX-License-Identifier: BSL-1.0
// validate_rows: checks whether a plan with divided buffers satisfies its problem.
//
//     static constexpr allot::plan_buffer tensors[] = {{.size = 640, .live = {0, 4}}, {.size = 768, .live = {1, 2}}};
//     static constexpr allot::plan_memory chip[] = {{.capacity = 1024}, {.cost = 1}};
//     static constexpr std::uint64_t rows[] = {10, 12};
//     const allot::rows_problem problem{{.buffers = {.buffers = tensors}, .memories = chip}, rows};
//     const auto made = allot::plan_rows(problem);
//     if (!made) return complain(made.error());
//     const auto found = allot::validate_rows(problem, *made);
//     return found.kind == allot::memories_violation_kind::none ? 0 : complain(found.what(), found.first);
//
//     splits ──► each is of a buffer that may be divided, has rows in both parts, and its parts are in order
//            ──► `validate_memories` of the plan in which each part is a buffer of its own
//
// Unplaced buffers are no violation. The validator shares no code with `plan_rows` except the check of the problem. It
// does not check the bound, nor the cost of the plan without divided buffers.
//
// When to use: to check the result of any planner that divides buffers before using it.
// When not to use: for plans in which each buffer is whole (validate_memories.hpp).
//
// Complexity: that of `validate_memories`, for twice the buffers at most.
// Memory: on the heap, about 150 bytes a buffer.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/rows_problem.hpp>
#include <allot/plan/validate_memories.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Implementation of `validate_rows` for a valid problem. A template, so that only programs that call it compile it.
template <class Plan>
class rows_validator {
public:
    rows_validator(const rows_problem& problem, const Plan& plan)
        : given_{problem},
          plan_{&plan},
          buffers_(problem.memories.buffers.buffers.begin(), problem.memories.buffers.buffers.end()),
          uses_(problem.memories.uses.begin(), problem.memories.uses.end()),
          allowed_(problem.memories.allowed.begin(), problem.memories.allowed.end()),
          revivals_(problem.memories.buffers.revivals.begin(), problem.memories.buffers.revivals.end()) {}

    [[nodiscard]] memories_violation run() {
        const std::size_t count = buffers_.size();
        const memories_violation missing{kind::places_missing, plan_->places.size(), plan_->needs.size()};
        if (plan_->places.size() != count) return missing;
        find_what_stays();
        memories_plan parts;
        static_cast<memories_summary&>(parts) = *plan_;
        parts.places = plan_->places;
        parts.needs = plan_->needs;
        for (std::size_t k = 0; k != plan_->splits.size(); ++k) {
            const row_split& split = plan_->splits[k];
            const bool is_next = k == 0 || plan_->splits[k - 1].buffer < split.buffer;
            if (split.buffer >= count || !is_next || !is_good(split)) return {kind::bad_split, split.buffer, 0};
            divide(split);
            parts.places.push_back(split.rest);
        }
        memories_problem problem = given_.memories;
        problem.buffers.buffers = buffers_;
        problem.buffers.revivals = revivals_;
        problem.uses = uses_;
        problem.allowed = allowed_;
        memories_violation found = validate_memories(problem, parts);
        if (found.kind == kind::places_missing) return missing;
        const auto given = [&](std::size_t part) { return part < count ? part : plan_->splits[part - count].buffer; };
        if (found.kind != kind::none && found.kind != kind::wrong_needs) found.first = given(found.first);
        if (found.kind == kind::bad_place) found.second = given(found.second);
        return found;
    }

private:
    using kind = memories_violation_kind;

    void find_what_stays() {
        const plan_problem& given = given_.memories.buffers;
        stays_.assign(buffers_.size(), false);
        for (const plan_fixed& each : given.fixed) stays_[each.buffer] = true;
        for (const auto pairs : {given.together, given.apart, given_.memories.separate})
            for (const plan_pair& each : pairs) stays_[each.first] = stays_[each.second] = true;
    }
    /// Precondition: the buffer exists.
    [[nodiscard]] bool is_good(const row_split& split) const noexcept {
        if (given_.rows.empty() || stays_[split.buffer]) return false;
        const bool has_rows = split.rows != 0 && split.rows < given_.rows[split.buffer];
        return has_rows && split.rest.memory != memory_place::nowhere &&
               plan_->places[split.buffer].memory < split.rest.memory;
    }
    /// Makes a buffer of the second part.
    void divide(const row_split& split) {
        const std::size_t i = split.buffer;
        for (const plan_revival& each : given_.memories.buffers.revivals)
            if (each.buffer == i) revivals_.push_back({buffers_.size(), each.live});
        plan_buffer rest = buffers_[i];
        buffers_[i].size = split.rows * (rest.size / given_.rows[i]);
        rest.size -= buffers_[i].size;
        buffers_.push_back(rest);
        if (!uses_.empty()) uses_.push_back(uses_[i]);
        if (!allowed_.empty()) allowed_.push_back(allowed_[i]);
    }

    rows_problem given_;
    const Plan* plan_;
    std::vector<plan_buffer> buffers_;  // the first parts, and behind them the second ones
    std::vector<std::uint64_t> uses_, allowed_;
    std::vector<plan_revival> revivals_;
    std::vector<bool> stays_;
};

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid. Throws the exceptions
/// of the heap, such as `std::bad_alloc`.
template <class Plan = rows_plan>
[[nodiscard]] memories_violation validate_rows(const rows_problem& problem, const std::type_identity_t<Plan>& plan) {
    if (detail::check_rows(problem).reason != plan_refusal::none) return {memories_violation_kind::bad_problem, 0, 0};
    return detail::rows_validator<Plan>{problem, plan}.run();
}

}  // namespace v1
}  // namespace allot
