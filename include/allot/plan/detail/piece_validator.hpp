// SPDX-License-Identifier: BSL-1.0
// piece_validator: checks the pieces of a plan in which buffers move, and follows the versions of their contents.
//
// Internal. The base class of the validators of such plans. It shares no code with the planners.
//
// Complexity: O(n log n) in the pieces of each memory. Memory: on the heap, about 100 bytes a piece.
// Thread safety: not synchronized.
#pragma once

#include <allot/plan/moves_problem.hpp>
#include <allot/plan/moves_violation.hpp>
#include <allot/plan/validate.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class piece_validator {
protected:
    using kind = moves_violation_kind;

    /// Precondition: the problem is valid, and the pieces outlive this object.
    piece_validator(const moves_problem& problem, const std::vector<plan_piece>& pieces)
        : given_{problem.memories},
          buffers_{given_.buffers.buffers},
          accesses_{problem.accesses},
          pieces_{pieces},
          lives_(buffers_.size()),
          pieces_of_(buffers_.size()) {
        for (std::size_t i = 0; i != buffers_.size(); ++i) lives_[i].push_back(buffers_[i].live);
        for (const plan_revival& each : given_.buffers.revivals) lives_[each.buffer].push_back(each.live);
    }

    /// Checks the memory, the place and the lifetime of each piece.
    [[nodiscard]] moves_violation check_pieces() {
        moves_violation found = each_piece();
        if (found.kind == kind::none) found = those_that_stay();
        for (std::size_t m = 0; m != given_.memories.size() && found.kind == kind::none; ++m) found = places_in(m);
        return found;
    }

    /// Version of the contents of each piece, and the newest version of each buffer. Version 0: no contents. Version 1:
    /// the contents that the buffer comes with.
    struct versions {
        std::vector<std::uint64_t> of_piece, newest;
    };
    [[nodiscard]] versions first_versions() const {
        versions first{std::vector<std::uint64_t>(pieces_.size()), std::vector<std::uint64_t>(buffers_.size(), 1)};
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            if (pieces_of_[i].empty()) continue;
            const std::size_t piece = pieces_of_[i][0];
            if (pieces_[piece].live.from == buffers_[i].live.from) first.of_piece[piece] = 1;
        }
        return first;
    }
    [[nodiscard]] bool lives(std::size_t piece, std::int64_t step) const {
        return pieces_[piece].live.from <= step && step < pieces_[piece].live.until;
    }
    [[nodiscard]] bool is_piece(std::size_t piece, std::size_t buffer) const {
        return piece < pieces_.size() && pieces_[piece].buffer == buffer;
    }

    const memories_problem given_;
    std::span<const plan_buffer> buffers_;
    std::span<const plan_access> accesses_;
    std::span<const plan_piece> pieces_;

    /// Whether a buffer has one lifetime, so that a read needs the newest version of its contents.
    [[nodiscard]] bool has_one_life(std::size_t buffer) const { return lives_[buffer].size() == 1; }

private:
    [[nodiscard]] moves_violation each_piece() {
        for (std::size_t p = 0; p != pieces_.size(); ++p) {
            const plan_piece& piece = pieces_[p];
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

    /// Checks the buffers that may not move: buffers that are fixed, `together`, `apart`, `separate`, have several
    /// lifetimes, or have no accesses.
    [[nodiscard]] moves_violation those_that_stay() const {
        std::vector<bool> stays(buffers_.size(), true);
        for (const plan_access& access : accesses_) stays[access.buffer] = false;
        for (const plan_fixed& each : given_.buffers.fixed) stays[each.buffer] = true;
        for (const plan_revival& each : given_.buffers.revivals) stays[each.buffer] = true;
        for (const auto pairs : {given_.buffers.together, given_.buffers.apart, given_.separate})
            for (const plan_pair& each : pairs) stays[each.first] = stays[each.second] = true;
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            if (!stays[i]) continue;
            if (pieces_of_[i].size() != lives_[i].size()) return {kind::not_all_pieces, i};
            std::vector<lifetime> missing = lives_[i];
            for (const std::size_t p : pieces_of_[i]) {
                const auto found = std::find(missing.begin(), missing.end(), pieces_[p].live);
                if (found == missing.end() || pieces_[p].place != pieces_[pieces_of_[i][0]].place)
                    return {kind::not_all_pieces, i};
                missing.erase(found);
            }
        }
        const auto are_in_one_memory = [&](const plan_pair& each) {
            return pieces_[pieces_of_[each.first][0]].place.memory == pieces_[pieces_of_[each.second][0]].place.memory;
        };
        for (const plan_pair& each : given_.buffers.together)  // `validate` compares offsets but not memories
            if (!are_in_one_memory(each)) return {kind::bad_place, pieces_of_[each.first][0]};
        for (const plan_pair& each : given_.separate)
            if (buffers_[each.first].size != 0 && buffers_[each.second].size != 0 && are_in_one_memory(each))
                return {kind::not_separate, pieces_of_[each.first][0]};
        return {};
    }

    /// Validates one memory, with each of its pieces as a separate buffer.
    [[nodiscard]] moves_violation places_in(std::size_t memory) const {
        std::vector<plan_buffer> buffers;
        std::vector<std::uint64_t> offsets;
        std::vector<std::size_t> here;
        std::vector<std::vector<std::size_t>> numbers(buffers_.size());
        for (std::size_t p = 0; p != pieces_.size(); ++p) {
            const plan_piece& piece = pieces_[p];
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

    std::vector<std::vector<lifetime>> lives_;         // by buffer
    std::vector<std::vector<std::size_t>> pieces_of_;  // by buffer
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
