// SPDX-License-Identifier: BSL-1.0
// moves_violation: the result of a validator of plans in which buffers move between memories.
//
//     const allot::moves_violation found = allot::validate_moves(problem, plan);
//     if (found.kind != allot::moves_violation_kind::none) report(found.what(), found.which);
//
// When to use: with `validate_moves` and `validate_timed`, which return it.
// When not to use: for plans without moves (`plan_violation`, validate.hpp).
//
// Complexity: plain data. Memory: two words. Thread safety: values.
#pragma once

#include <cstddef>

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
    not_separate,    ///< Piece `which` is in one memory with a buffer that must be in another.
    not_in_order,    ///< Copy `which` precedes the copy before it in the list.
    no_contents,     ///< Copy `which` copies a piece without contents, or not the whole buffer.
    stale,           ///< Access `which` reads contents that are not the newest.
    /// Copy or access `which` uses the destination of a copy that still runs, or writes its source. Only of
    /// `validate_timed`.
    in_flight,
    wrong_time,  ///< The plan states another elapsed time. Only of `validate_timed`.
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
        case moves_violation_kind::not_separate: return "two buffers that must be in different memories are in one";
        case moves_violation_kind::not_in_order: return "a copy precedes the copy before it in the list";
        case moves_violation_kind::no_contents:
            return "a copy reads a piece without contents, or does not copy the whole buffer";
        case moves_violation_kind::stale: return "an access reads contents that are not the newest";
        case moves_violation_kind::in_flight:
            return "a copy or an access uses the destination of a copy that still runs, or writes its source";
        case moves_violation_kind::wrong_time: return "the plan states another elapsed time";
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

}  // namespace v1
}  // namespace allot
