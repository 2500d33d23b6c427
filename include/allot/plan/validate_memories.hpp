// SPDX-License-Identifier: BSL-1.0
// validate_memories: checks whether a plan with several memories satisfies its problem.
//
//     static constexpr allot::plan_buffer operands[] = {{.size = 64, .live = {0, 2}}, {.size = 64, .live = {1, 3}}};
//     static constexpr allot::plan_memory banks[] = {{.capacity = 64}, {.capacity = 64}};
//     static constexpr allot::plan_pair both[] = {{0, 1}};
//     const allot::memories_problem problem{.buffers = {.buffers = operands}, .memories = banks, .separate = both};
//     const auto made = allot::plan_memories(problem);
//     if (!made) return complain(made.error());
//     const auto found = allot::validate_memories(problem, *made);
//     return found.kind == allot::memories_violation_kind::none ? 0 : complain(found.what(), found.first);
//
//     places  ──► each buffer is in an allowed memory or nowhere; `together` and `separate` hold
//             ──► `validate` for each memory: no two buffers share bytes while they live
//     sums    ──► needs of each memory, cost, spilled bytes and number of unplaced buffers
//
// Unplaced buffers are no violation. The validator shares no code with `plan_memories` except the check of the problem.
// It does not check the bound.
//
// When to use: to check the result of any planner with several memories before using it.
// When not to use: for plans with moves (validate_moves.hpp, validate_timed.hpp) or rows (validate_rows.hpp).
//
// Complexity: O(n log n + n · memories + constraints · memories).
// Memory: on the heap, about 100 bytes a buffer.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/memories_problem.hpp>
#include <allot/plan/validate.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {

/// Kind of a violation. `first` and `second` are the members of `memories_violation`.
enum class memories_violation_kind : unsigned char {
    none,            ///< The plan is valid.
    bad_problem,     ///< The problem is invalid: `plan_memories` returns the reason.
    places_missing,  ///< The plan has `first` places or `second` needs, a different number than buffers and memories.
    wrong_size,      ///< The place of buffer `first` states another size.
    not_allowed,     ///< Buffer `first` is in memory `second`, which does not exist or is not allowed.
    not_together,    ///< Buffers `first` and `second` are `together`, and are in different memories.
    not_separate,    ///< Buffers `first` and `second` are `separate`, and are in one memory.
    bad_place,    ///< The place of buffer `first` conflicts with buffer `second`, or with the memory or a constraint.
    wrong_needs,  ///< The plan states other needs of memory `first`.
    wrong_sum,    ///< The plan states another cost, number of spilled bytes, or number of unplaced buffers.
    /// Of `validate_rows`: buffer `first` does not exist or must not be divided, is divided twice or out of order, has
    /// no rows in a part, or its second part is in no later memory than its first one.
    bad_split,
};

/// Returns a human-readable description of the kind.
[[nodiscard]] constexpr const char* to_string(memories_violation_kind kind) noexcept {
    switch (kind) {
        case memories_violation_kind::none: return "the plan is valid";
        case memories_violation_kind::bad_problem: return "the planning problem is invalid";
        case memories_violation_kind::places_missing: return "the plan lacks places of buffers or needs of memories";
        case memories_violation_kind::wrong_size: return "a place states another size than its buffer";
        case memories_violation_kind::not_allowed: return "a buffer is in a memory that is not allowed";
        case memories_violation_kind::not_together: return "two buffers that are together are in different memories";
        case memories_violation_kind::not_separate: return "two buffers that must be in different memories are in one";
        case memories_violation_kind::bad_place:
            return "a buffer overlaps another, is misaligned, above the capacity, or violates a constraint";
        case memories_violation_kind::wrong_needs: return "the plan states other needs of a memory";
        case memories_violation_kind::wrong_sum: return "the plan states another cost or number of buffers or bytes";
        case memories_violation_kind::bad_split: return "a buffer is divided in a way that is not allowed";
    }
    return "unknown";
}

/// A violation: its kind, and the indices of the elements that it concerns.
struct memories_violation {
    memories_violation_kind kind = memories_violation_kind::none;  ///< Kind of the violation.
    std::size_t first = 0;                                         ///< Index that the kind refers to.
    std::size_t second = 0;                                        ///< Second index that the kind refers to, or 0.

    /// Returns a human-readable description of the kind.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(kind); }
    /// Compares all members.
    friend constexpr bool operator==(memories_violation, memories_violation) = default;
};

namespace detail {

/// Implementation of `validate_memories` for a valid problem. A template, so that only programs that call it compile
/// it.
template <class Plan>
class memories_validator {
public:
    memories_validator(const memories_problem& problem, const Plan& plan)
        : given_{problem}, buffers_{problem.buffers.buffers}, plan_{&plan} {}

    [[nodiscard]] memories_violation run() const {
        if (plan_->places.size() != buffers_.size() || plan_->needs.size() != given_.memories.size())
            return {kind::places_missing, plan_->places.size(), plan_->needs.size()};
        memories_violation found = each_buffer();
        if (found.kind == kind::none) found = each_pair();
        for (std::size_t m = 0; m != given_.memories.size() && found.kind == kind::none; ++m) found = places_in(m);
        return found.kind == kind::none ? sums() : found;
    }

private:
    using kind = memories_violation_kind;

    [[nodiscard]] std::uint32_t memory(std::size_t buffer) const { return plan_->places[buffer].memory; }
    [[nodiscard]] bool is_placed(std::size_t buffer) const { return memory(buffer) != memory_place::nowhere; }

    [[nodiscard]] memories_violation each_buffer() const {
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            if (plan_->places[i].size != buffers_[i].size) return {kind::wrong_size, i, 0};
            if (!is_placed(i)) continue;
            if (memory(i) >= given_.memories.size() ||
                (!given_.allowed.empty() && (given_.allowed[i] >> memory(i) & 1) == 0))
                return {kind::not_allowed, i, memory(i)};
        }
        return {};
    }
    [[nodiscard]] memories_violation each_pair() const {
        for (const plan_pair& each : given_.buffers.together)
            if (memory(each.first) != memory(each.second)) return {kind::not_together, each.first, each.second};
        for (const plan_pair& each : given_.separate) {
            const bool have_bytes = buffers_[each.first].size != 0 && buffers_[each.second].size != 0;
            if (have_bytes && is_placed(each.first) && memory(each.first) == memory(each.second))
                return {kind::not_separate, each.first, each.second};
        }
        return {};
    }

    /// Validates the buffers of one memory, and its needs.
    [[nodiscard]] memories_violation places_in(std::size_t m) const {
        constexpr std::uint32_t elsewhere = ~std::uint32_t{0};
        const plan_memory& of = given_.memories[m];
        const plan_problem& all = given_.buffers;
        plan_heap heap{{.u32 = 2 * buffers_.size(),
                        .u64 = buffers_.size(),
                        .buffers = buffers_.size(),
                        .revivals = all.revivals.size(),
                        .fixed = all.fixed.size(),
                        .pairs = all.together.size() + all.apart.size()}};
        plan_workspace arrays = heap;
        std::uint32_t *const here = arrays.cut_u32(buffers_.size()), *const number = arrays.cut_u32(buffers_.size());
        std::uint32_t count = 0;
        memory_needs needs;
        for (std::uint32_t i = 0; i != buffers_.size(); ++i) {
            number[i] = elsewhere;
            if (memory(i) != m) continue;
            number[i] = count;
            here[count] = i;
            const std::uint64_t align = larger(buffers_[i].align, of.align), offset = plan_->places[i].offset;
            arrays.buffers[count] = {buffers_[i].size, buffers_[i].live, align};
            arrays.u64[count++] = offset;
            needs.align = larger(needs.align, align);
            // A sum that wraps is a violation that `validate` finds.
            if (buffers_[i].size != 0) needs.peak = larger(needs.peak, offset + buffers_[i].size);
        }
        std::size_t revivals = 0, fixed = 0;
        for (const plan_revival& each : all.revivals)
            if (number[each.buffer] != elsewhere) arrays.revivals[revivals++] = {number[each.buffer], each.live};
        for (const plan_fixed& each : all.fixed)
            if (number[each.buffer] != elsewhere) arrays.fixed[fixed++] = {number[each.buffer], each.offset};
        const auto pairs_here = [&](std::span<const plan_pair> pairs) {
            const plan_array<plan_pair> made = detail::cut(arrays.pairs, pairs.size());
            std::size_t some = 0;
            for (const plan_pair& each : pairs)
                if (number[each.first] != elsewhere && number[each.second] != elsewhere)
                    made[some++] = {number[each.first], number[each.second]};
            return made.first(some).as_span();
        };
        const plan_problem problem{.buffers = arrays.buffers.first(count).as_span(),
                                   .revivals = arrays.revivals.first(revivals).as_span(),
                                   .fixed = arrays.fixed.first(fixed).as_span(),
                                   .together = pairs_here(all.together),
                                   .apart = pairs_here(all.apart)};
        plan_heap workspace{validate_space(problem)};
        const plan_violation found = validate(problem, arrays.u64.first(count).as_span(), of.capacity, workspace);
        const auto given = [&](std::size_t i) -> std::size_t { return i < count ? here[i] : 0; };
        if (found.kind != plan_violation_kind::none) return {kind::bad_place, given(found.first), given(found.second)};
        return needs == plan_->needs[m] ? memories_violation{} : memories_violation{kind::wrong_needs, m, 0};
    }

    [[nodiscard]] memories_violation sums() const {
        std::uint64_t cost = 0, spilled = 0, unplaced = 0;
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            if (!is_placed(i)) {
                ++unplaced;
                continue;
            }
            cost += buffers_[i].size * (given_.uses.empty() ? 1 : given_.uses[i]) * given_.memories[memory(i)].cost;
            if (memory(i) != 0) spilled += buffers_[i].size;
        }
        const bool is_right = plan_->cost == cost && plan_->spilled == spilled && plan_->unplaced == unplaced;
        return is_right ? memories_violation{} : memories_violation{kind::wrong_sum, 0, 0};
    }

    memories_problem given_;
    std::span<const plan_buffer> buffers_;
    const Plan* plan_;
};

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid. Throws the exceptions
/// of the heap, such as `std::bad_alloc`.
template <class Plan = memories_plan>
[[nodiscard]] memories_violation validate_memories(const memories_problem& problem,
                                                   const std::type_identity_t<Plan>& plan) {
    if (detail::check_memories(problem).reason != plan_refusal::none)
        return {memories_violation_kind::bad_problem, 0, 0};
    return detail::memories_validator<Plan>{problem, plan}.run();
}

}  // namespace v1
}  // namespace allot
