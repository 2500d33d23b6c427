// SPDX-License-Identifier: BSL-1.0
// validate_moves: checks whether a plan with moves satisfies its problem, and each read gets the newest contents.
//
//     static constexpr allot::plan_buffer tensors[] = {{.size = 600, .live = {0, 9}}, {.size = 800, .live = {3, 7}}};
//     static constexpr allot::plan_memory chip[] = {{.capacity = 1000}, {.cost = 1}};
//     static constexpr allot::plan_access used[] = {{0, 0, true}, {1, 3, true}, {1, 6}, {0, 8}};
//     const allot::moves_problem problem{{.buffers = {.buffers = tensors}, .memories = chip}, used};
//     const auto made = allot::plan_moves(problem);
//     if (!made) return complain(made.error());
//     const auto found = allot::validate_moves(problem, *made);
//     return found.kind == allot::moves_violation_kind::none ? 0 : complain(found.which);
//
//     pieces  ──► each is in an allowed memory, is aligned, and lives only while its buffer lives
//             ──► `validate` for each memory: no two pieces share bytes while they live
//     time    ──► copies in, reads, writes and copies out, step by step: each piece has a version of the contents of
//                 its buffer. A write creates the newest version, a copy transfers a version, and a read requires the
//                 newest.
//
// The first piece of a buffer holds the contents that the buffer comes with, if that piece begins with the buffer. A
// buffer with several lifetimes has one place, and a piece for each lifetime. If the first access of a lifetime is a
// read, the caller provides the contents, so a read of such a buffer is never stale.
//
// It shares no code with `plan_moves` except the check of the problem. It does not check the costs.
//
// When to use: to check the result of any planner with moves before copies are issued according to it.
// When not to use: for plans without moves (validate.hpp).
//
// Complexity: O(n log n) in the pieces, copies and accesses of each memory.
// Memory: on the heap, about 100 bytes a piece, copy or access.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/detail/piece_validator.hpp>
#include <allot/plan/moves_violation.hpp>

#include <algorithm>
#include <tuple>

namespace allot {
inline namespace v1 {
namespace detail {

/// Implementation of `validate_moves` for a valid problem.
template <class Plan>
class moves_validator : piece_validator<> {
public:
    moves_validator(const moves_problem& problem, const Plan& plan)
        : piece_validator<>{problem, plan.pieces}, plan_{&plan} {}

    [[nodiscard]] moves_violation run() {
        const moves_violation found = check_pieces();
        return found.kind == kind::none ? over_time() : found;
    }

private:
    enum moment : int { copy_in, read, write, copy_out };
    struct happening {
        std::int64_t step;
        moment when;
        std::size_t which;  // copy or access
    };

    /// Executes all copies and accesses in order of time.
    [[nodiscard]] moves_violation over_time() const {
        if (const moves_violation found = order_of_copies(); found.kind != kind::none) return found;
        if (plan_->piece_of.size() != accesses_.size()) return {kind::no_such_piece, plan_->piece_of.size()};
        versions now = first_versions();
        for (const happening& each : happenings()) {
            const bool copies = each.when == copy_in || each.when == copy_out;
            const moves_violation found = copies ? copy(each, now) : access(each, now);
            if (found.kind != kind::none) return found;
        }
        return {};
    }
    [[nodiscard]] moves_violation order_of_copies() const {
        const auto time_of = [&](std::size_t c) { return std::tie(plan_->copies[c].step, plan_->copies[c].after); };
        for (std::size_t c = 1; c < plan_->copies.size(); ++c)
            if (time_of(c) < time_of(c - 1)) return {kind::not_in_order, c};
        return {};
    }
    [[nodiscard]] std::vector<happening> happenings() const {
        std::vector<happening> all;
        for (std::size_t c = 0; c != plan_->copies.size(); ++c)
            all.push_back({plan_->copies[c].step, plan_->copies[c].after ? copy_out : copy_in, c});
        for (std::size_t a = 0; a != accesses_.size(); ++a)
            all.push_back({accesses_[a].step, accesses_[a].writes ? write : read, a});
        std::sort(all.begin(), all.end(), [](const happening& a, const happening& b) {
            return std::tie(a.step, a.when, a.which) < std::tie(b.step, b.when, b.which);
        });
        return all;
    }
    [[nodiscard]] moves_violation copy(const happening& at, versions& now) const {
        const plan_copy& copy = plan_->copies[at.which];
        if (copy.buffer >= buffers_.size() || !is_piece(copy.from, copy.buffer) || !is_piece(copy.to, copy.buffer))
            return {kind::no_such_piece, at.which};
        if (!lives(copy.from, at.step) || !lives(copy.to, at.step)) return {kind::not_alive, at.which};
        if (now.of_piece[copy.from] == 0 || copy.size != buffers_[copy.buffer].size)
            return {kind::no_contents, at.which};
        now.of_piece[copy.to] = now.of_piece[copy.from];
        return {};
    }
    [[nodiscard]] moves_violation access(const happening& at, versions& now) const {
        const std::size_t buffer = accesses_[at.which].buffer, piece = plan_->piece_of[at.which];
        if (!is_piece(piece, buffer)) return {kind::no_such_piece, at.which};
        if (!lives(piece, at.step)) return {kind::not_alive, at.which};
        if (at.when == write) {
            now.of_piece[piece] = ++now.newest[buffer];
        } else if (has_one_life(buffer) && now.of_piece[piece] != now.newest[buffer]) {
            return {kind::stale, at.which};
        }
        return {};
    }

    const Plan* plan_;
};

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid. A plan with unplaced
/// buffers is not valid. Throws the exceptions of the heap, such as `std::bad_alloc`.
template <class Plan = moves_plan>
[[nodiscard]] moves_violation validate_moves(const moves_problem& problem, const std::type_identity_t<Plan>& plan) {
    if (detail::check_moves(problem).reason != plan_refusal::none) return {moves_violation_kind::bad_problem, 0};
    return detail::moves_validator<Plan>{problem, plan}.run();
}

}  // namespace v1
}  // namespace allot
