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

#include <allot/plan/moves_problem.hpp>
#include <allot/plan/validate.hpp>

#include <tuple>

namespace allot {
inline namespace v1 {

/// Kind of a violation. `which` is `moves_violation::which`.
enum class moves_violation_kind : unsigned char {
    none,         ///< The plan is valid.
    bad_problem,  ///< The problem is invalid: `plan_moves` returns the reason.
    /// Copy or access `which` names a piece that does not exist or belongs to another buffer, or piece `which` names a
    /// buffer that does not exist. Also: the plan has `which` elements in `piece_of`, a different number than accesses.
    no_such_piece,
    not_all_pieces,  ///< Buffer `which` may not move, and lacks one place with one piece for each of its lifetimes.
    not_allowed,     ///< Piece `which` is in a memory that is not allowed, or its size differs from its buffer's.
    not_alive,       ///< Piece `which` is outside of its buffer's lifetimes, or copy or access `which` of its piece's.
    bad_place,       ///< Piece `which` overlaps another, is misaligned, above the capacity, or not at its fixed offset.
    not_in_order,    ///< Copy `which` precedes the copy before it in the list.
    no_contents,     ///< Copy `which` copies a piece without contents, or not the whole buffer.
    stale,           ///< Access `which` reads contents that are not the newest.
};

/// Returns a human-readable description of the kind.
[[nodiscard]] constexpr const char* to_string(moves_violation_kind kind) noexcept {
    switch (kind) {
        case moves_violation_kind::none: return "the plan is valid";
        case moves_violation_kind::bad_problem: return "the planning problem is invalid";
        case moves_violation_kind::no_such_piece:
            return "an element names a piece or a buffer that does not exist, or an access has no piece";
        case moves_violation_kind::not_all_pieces:
            return "a buffer that may not move lacks one place for each of its lifetimes";
        case moves_violation_kind::not_allowed:
            return "a piece is in a memory that is not allowed, or its size differs from the size of its buffer";
        case moves_violation_kind::not_alive: return "a piece, a copy or an access is outside of its lifetime";
        case moves_violation_kind::bad_place:
            return "a piece overlaps another, is misaligned, above the capacity, or not at its fixed offset";
        case moves_violation_kind::not_in_order: return "a copy precedes the copy before it in the list";
        case moves_violation_kind::no_contents:
            return "a copy reads a piece without contents, or does not copy the whole buffer";
        case moves_violation_kind::stale: return "an access reads contents that are not the newest";
    }
    return "unknown";
}

/// A violation: its kind, and the index of the element that it concerns.
struct moves_violation {
    moves_violation_kind kind = moves_violation_kind::none;  ///< Kind of the violation.
    std::size_t which = 0;                                   ///< Index that the kind refers to.

    /// Returns a human-readable description of the kind.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(kind); }
    /// Compares both members.
    friend constexpr bool operator==(moves_violation, moves_violation) = default;
};

namespace detail {

/// Implementation of `validate_moves` for a valid problem.
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

    /// Checks the buffers that may not move: buffers that are fixed, `together`, `apart`, have several lifetimes, or
    /// have no accesses.
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
        for (const plan_pair& each : given_.buffers.together)  // `validate` compares offsets but not memories
            if (plan_->pieces[pieces_of_[each.first][0]].place.memory !=
                plan_->pieces[pieces_of_[each.second][0]].place.memory)
                return {kind::bad_place, pieces_of_[each.first][0]};
        return {};
    }

    /// Validates one memory, with each of its pieces as a separate buffer.
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

    enum moment : int { copy_in, read, write, copy_out };
    struct happening {
        std::int64_t step;
        moment when;
        std::size_t which;  // copy or access
    };
    /// Version of the contents of each piece, and the newest version of each buffer. Version 0: no contents. Version 1:
    /// the contents that the buffer comes with.
    struct versions {
        std::vector<std::uint64_t> of_piece, newest;
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
    [[nodiscard]] versions first_versions() const {
        versions first{std::vector<std::uint64_t>(plan_->pieces.size()),
                       std::vector<std::uint64_t>(buffers_.size(), 1)};
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            if (pieces_of_[i].empty()) continue;
            const std::size_t piece = pieces_of_[i][0];
            if (plan_->pieces[piece].live.from == buffers_[i].live.from) first.of_piece[piece] = 1;
        }
        return first;
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
        } else if (lives_[buffer].size() == 1 && now.of_piece[piece] != now.newest[buffer]) {
            return {kind::stale, at.which};
        }
        return {};
    }
    [[nodiscard]] bool lives(std::size_t piece, std::int64_t step) const {
        return plan_->pieces[piece].live.from <= step && step < plan_->pieces[piece].live.until;
    }
    [[nodiscard]] bool is_piece(std::size_t piece, std::size_t buffer) const {
        return piece < plan_->pieces.size() && plan_->pieces[piece].buffer == buffer;
    }

    const memories_problem given_;
    std::span<const plan_buffer> buffers_;
    std::span<const plan_access> accesses_;
    const moves_plan* plan_;
    std::vector<std::vector<lifetime>> lives_;         // by buffer
    std::vector<std::vector<std::size_t>> pieces_of_;  // by buffer
};

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid. A plan with unplaced
/// buffers is not valid. Throws the exceptions of the heap, such as `std::bad_alloc`.
[[nodiscard]] inline moves_violation validate_moves(const moves_problem& problem, const moves_plan& plan) {
    if (detail::check_moves(problem).reason != plan_refusal::none) return {moves_violation_kind::bad_problem, 0};
    return detail::moves_validator{problem, plan}.run();
}

}  // namespace v1
}  // namespace allot
