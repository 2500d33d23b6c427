// SPDX-License-Identifier: BSL-1.0
// validate_moves: whether a plan with moves keeps what its problem asks, and whether each access reads what was written
// last. It shares nothing with `plan_moves` but the look at a problem.
//
//     pieces  ──► each in a memory that its buffer may live in, aligned, and while its buffer lives
//             ──► memory by memory to `validate`: no two share bytes while they live
//     time    ──► copies in, reads, writes, copies out, step by step: each piece has a version of its buffer's
//                 contents, a write makes the newest, a copy hands one on, and a read asks for the newest
//
// The contents that a buffer came with are in the first of its pieces, which begins with the buffer; of a buffer that
// lives again nobody knows which life the contents are of, so that it has one place, and a piece for each life.
//
// What copies cost is not asked here. Complexity: O(n log n) in pieces, copies and accesses of each memory. Memory: on
// the heap, some 100 bytes a piece, copy or access. Thread safety: pure.
#pragma once

#include <allot/plan/moves_problem.hpp>
#include <allot/plan/validate.hpp>

#include <tuple>

namespace allot {
inline namespace v1 {

enum class moves_violation_kind : unsigned char {
    none,
    bad_problem,     // `plan_moves` says why
    no_such_piece,   // copy or access `which` names a piece that is none or of another buffer; piece `which` no buffer
    not_all_pieces,  // buffer `which`, which may not move, has not one place with a piece for each of its lives
    not_allowed,     // piece `which` is in a memory that its buffer may not live in, or has another size
    not_alive,       // piece `which` lives when its buffer does not; copy or access `which` is when a piece does not
    bad_place,       // piece `which` overlaps another, is misaligned, beyond the capacity, or not where it is fixed
    not_in_order,    // copy `which` is earlier than the one before
    no_contents,     // copy `which` copies what was never written, or not all of it
    stale,           // access `which` reads what is not the newest
};

struct moves_violation {
    moves_violation_kind kind = moves_violation_kind::none;
    std::size_t which = 0;
    friend constexpr bool operator==(moves_violation, moves_violation) = default;
};

namespace detail {

class moves_validator {
    using kind = moves_violation_kind;

public:
    moves_validator(const moves_problem& problem, const moves_plan& plan)
        : given_{problem.memories},
          buffers_{given_.buffers.buffers},
          accesses_{problem.accesses},
          plan_{&plan},
          lives_(buffers_.size()),
          pieces_of_(buffers_.size()) {
        for (std::size_t i = 0; i != buffers_.size(); ++i) lives_[i].push_back(buffers_[i].live);
        for (const plan_revival& each : given_.buffers.revivals) lives_[each.buffer].push_back(each.live);
    }

    [[nodiscard]] moves_violation run() {
        moves_violation found = each_piece();
        if (found.kind == kind::none) found = those_that_stay();
        for (std::size_t m = 0; m != given_.memories.size() && found.kind == kind::none; ++m) found = places_in(m);
        return found.kind == kind::none ? over_time() : found;
    }

private:
    [[nodiscard]] moves_violation each_piece() {
        for (std::size_t p = 0; p != plan_->pieces.size(); ++p) {
            const plan_piece& piece = plan_->pieces[p];
            if (piece.buffer >= buffers_.size()) return {kind::no_such_piece, p};
            pieces_of_[piece.buffer].push_back(p);
            if (piece.place.memory >= given_.memories.size() || piece.place.size != buffers_[piece.buffer].size ||
                (!given_.allowed.empty() && (given_.allowed[piece.buffer] >> piece.place.memory & 1) == 0))
                return {kind::not_allowed, p};
            const auto holds = [&](lifetime live) {
                return live.from <= piece.live.from && piece.live.until <= live.until;
            };
            if (piece.live.until <= piece.live.from ||
                std::none_of(lives_[piece.buffer].begin(), lives_[piece.buffer].end(), holds))
                return {kind::not_alive, p};
        }
        return {};
    }

    /// Buffers that are fixed, together, apart or live again, and those that nothing accesses.
    [[nodiscard]] moves_violation those_that_stay() const {
        std::vector<bool> stays(buffers_.size(), true);
        for (const plan_access& access : accesses_) stays[access.buffer] = false;
        for (const plan_fixed& each : given_.buffers.fixed) stays[each.buffer] = true;
        for (const plan_revival& each : given_.buffers.revivals) stays[each.buffer] = true;
        for (const auto pairs : {given_.buffers.together, given_.buffers.apart})
            for (const plan_pair& each : pairs) stays[each.first] = stays[each.second] = true;
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            if (!stays[i]) continue;
            if (pieces_of_[i].size() != lives_[i].size()) return {kind::not_all_pieces, i};
            std::vector<lifetime> missing = lives_[i];
            for (const std::size_t p : pieces_of_[i]) {
                const auto found = std::find(missing.begin(), missing.end(), plan_->pieces[p].live);
                if (found == missing.end() || plan_->pieces[p].place != plan_->pieces[pieces_of_[i][0]].place)
                    return {kind::not_all_pieces, i};
                missing.erase(found);
            }
        }
        for (const plan_pair& each : given_.buffers.together)  // an offset they share by `validate`, but the memory?
            if (plan_->pieces[pieces_of_[each.first][0]].place.memory !=
                plan_->pieces[pieces_of_[each.second][0]].place.memory)
                return {kind::bad_place, pieces_of_[each.first][0]};
        return {};
    }

    /// The pieces in a memory as buffers of their own.
    [[nodiscard]] moves_violation places_in(std::size_t memory) const {
        std::vector<plan_buffer> buffers;
        std::vector<std::uint64_t> offsets;
        std::vector<std::size_t> here;
        std::vector<std::vector<std::size_t>> numbers(buffers_.size());
        for (std::size_t p = 0; p != plan_->pieces.size(); ++p) {
            const plan_piece& piece = plan_->pieces[p];
            if (piece.place.memory != memory) continue;
            numbers[piece.buffer].push_back(buffers.size());
            const plan_buffer& of = buffers_[piece.buffer];
            buffers.push_back({of.size, piece.live, std::max(of.align, given_.memories[memory].align)});
            offsets.push_back(piece.place.offset);
            here.push_back(p);
        }
        std::vector<plan_fixed> fixed;
        for (const plan_fixed& each : given_.buffers.fixed)
            for (const std::size_t number : numbers[each.buffer]) fixed.push_back({number, each.offset});
        const auto pairs_here = [&](std::span<const plan_pair> pairs) {
            std::vector<plan_pair> made;
            for (const plan_pair& each : pairs)
                for (const std::size_t one : numbers[each.first])
                    for (const std::size_t other : numbers[each.second])
                        if (one != other) made.push_back({one, other});
            return made;
        };
        const std::vector<plan_pair> together = pairs_here(given_.buffers.together),
                                     apart = pairs_here(given_.buffers.apart);
        const plan_problem problem{.buffers = buffers, .fixed = fixed, .together = together, .apart = apart};
        plan_heap workspace{validate_space(problem)};
        const plan_violation found = validate(problem, offsets, given_.memories[memory].capacity, workspace);
        if (found.kind == plan_violation_kind::none) return {};
        return {kind::bad_place, found.first < here.size() ? here[found.first] : 0};
    }

    [[nodiscard]] moves_violation over_time() const {
        enum moment : int { copy_in, read, write, copy_out };
        struct happening {
            std::int64_t step;
            moment when;
            std::size_t which;  // copy or access
        };
        std::vector<happening> all;
        for (std::size_t c = 0; c != plan_->copies.size(); ++c) {
            const plan_copy& copy = plan_->copies[c];
            if (c != 0 &&
                std::tie(copy.step, copy.after) < std::tie(plan_->copies[c - 1].step, plan_->copies[c - 1].after))
                return {kind::not_in_order, c};
            all.push_back({copy.step, copy.after ? copy_out : copy_in, c});
        }
        if (plan_->piece_of.size() != accesses_.size()) return {kind::no_such_piece, plan_->piece_of.size()};
        for (std::size_t a = 0; a != accesses_.size(); ++a)
            all.push_back({accesses_[a].step, accesses_[a].writes ? write : read, a});
        std::sort(all.begin(), all.end(), [](const happening& a, const happening& b) {
            return std::tie(a.step, a.when, a.which) < std::tie(b.step, b.when, b.which);
        });

        // 0: nothing; 1: what it came with.
        std::vector<std::uint64_t> version(plan_->pieces.size()), newest(buffers_.size(), 1);
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            if (pieces_of_[i].empty()) continue;
            const std::size_t first = pieces_of_[i][0];
            if (plan_->pieces[first].live.from == buffers_[i].live.from) version[first] = 1;
            if (lives_[i].size() != 1)  // one place: whatever is there is what was written last
                for (const std::size_t p : pieces_of_[i]) version[p] = 1;
        }
        const auto lives = [&](std::size_t piece, std::int64_t step) {
            return plan_->pieces[piece].live.from <= step && step < plan_->pieces[piece].live.until;
        };
        const auto is_piece = [&](std::size_t piece, std::size_t buffer) {
            return piece < plan_->pieces.size() && plan_->pieces[piece].buffer == buffer;
        };
        for (const happening& now : all) {
            if (now.when == copy_in || now.when == copy_out) {
                const plan_copy& copy = plan_->copies[now.which];
                if (copy.buffer >= buffers_.size() || !is_piece(copy.from, copy.buffer) ||
                    !is_piece(copy.to, copy.buffer))
                    return {kind::no_such_piece, now.which};
                if (!lives(copy.from, now.step) || !lives(copy.to, now.step)) return {kind::not_alive, now.which};
                if (version[copy.from] == 0 || copy.size != buffers_[copy.buffer].size)
                    return {kind::no_contents, now.which};
                version[copy.to] = version[copy.from];
                continue;
            }
            const std::size_t buffer = accesses_[now.which].buffer, piece = plan_->piece_of[now.which];
            if (!is_piece(piece, buffer)) return {kind::no_such_piece, now.which};
            if (!lives(piece, now.step)) return {kind::not_alive, now.which};
            if (now.when == write) {
                version[piece] = ++newest[buffer];
                if (lives_[buffer].size() != 1)
                    for (const std::size_t p : pieces_of_[buffer]) version[p] = newest[buffer];
            } else if (version[piece] != newest[buffer]) {
                return {kind::stale, now.which};
            }
        }
        return {};
    }

    const memories_problem given_;
    std::span<const plan_buffer> buffers_;
    std::span<const plan_access> accesses_;
    const moves_plan* plan_;
    std::vector<std::vector<lifetime>> lives_;         // by buffer
    std::vector<std::vector<std::size_t>> pieces_of_;  // by buffer
};

}  // namespace detail

/// The first violation found; of kind `none` when the plan is right. A plan that leaves buffers nowhere is not.
[[nodiscard]] inline moves_violation validate_moves(const moves_problem& problem, const moves_plan& plan) {
    if (detail::check_moves(problem).reason != plan_refusal::none) return {moves_violation_kind::bad_problem, 0};
    return detail::moves_validator{problem, plan}.run();
}

}  // namespace v1
}  // namespace allot
