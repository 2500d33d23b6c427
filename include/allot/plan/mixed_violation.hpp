// SPDX-License-Identifier: BSL-1.0
// mixed_violation: the result of `validate_mixed`: the first violation that it finds, or none.
//
//     const allot::mixed_violation found = allot::validate_mixed(problem, plan, capacity);
//     if (found.kind != allot::mixed_violation_kind::none) print(found.what(), found.first, found.second);
//
// When to use: to report the violation of a plan with pages and offsets.
// When not to use: the reasons of a planner that fails are in check.hpp.
//
// Complexity: plain data. Memory: three words. Thread safety: values.
#pragma once

#include <cstddef>

namespace allot {
inline namespace v1 {

/// Kind of a violation. `first` and `second` are the members of `mixed_violation`.
enum class mixed_violation_kind : unsigned char {
    none,             ///< The plan is valid.
    bad_problem,      ///< The problem is invalid: `plan_mixed` returns the reason.
    lists_missing,    ///< The plan lacks the place or the list of buffer `first`.
    wrong_number,     ///< Buffer `first` has too many or too few pages.
    not_consecutive,  ///< Buffer `first` is fixed, or together with a contiguous or fixed one. Its pages do not follow
                      ///< one another.
    misaligned,       ///< The offset of buffer `first` is not a multiple of its alignment.
    wraps,            ///< The end of buffer `first` exceeds 64 bits.
    over_capacity,    ///< The end of buffer `first` exceeds the capacity.
    not_where_fixed,  ///< Buffer `first` does not begin at its fixed offset.
    not_together,     ///< Buffers `first` and `second` are `together`, and have different offsets or pages.
    not_apart,        ///< Buffers `first` and `second` are `apart` and share bytes.
    reserved,         ///< Buffer `first` overlaps the reserved range `second`.
    overlap,          ///< Buffers `first` and `second` live at the same time and share bytes.
    twice,            ///< Buffer `first` has a page twice.
};

/// Returns a human-readable description of the kind.
[[nodiscard]] constexpr const char* to_string(mixed_violation_kind kind) noexcept {
    switch (kind) {
        case mixed_violation_kind::none: return "the plan is valid";
        case mixed_violation_kind::bad_problem: return "the planning problem is invalid";
        case mixed_violation_kind::lists_missing: return "the place or the list of pages of a buffer is missing";
        case mixed_violation_kind::wrong_number: return "a buffer has too many or too few pages";
        case mixed_violation_kind::not_consecutive:
            return "the pages of a buffer do not follow one another, although its offset is fixed or shared";
        case mixed_violation_kind::misaligned: return "the offset of a buffer is not a multiple of its alignment";
        case mixed_violation_kind::wraps: return "the end of a buffer exceeds 64 bits";
        case mixed_violation_kind::over_capacity: return "the end of a buffer exceeds the capacity";
        case mixed_violation_kind::not_where_fixed: return "a buffer is not at its fixed offset";
        case mixed_violation_kind::not_together: return "two buffers are together and have different places";
        case mixed_violation_kind::not_apart: return "two buffers are apart and share bytes";
        case mixed_violation_kind::reserved: return "a buffer overlaps a reserved range";
        case mixed_violation_kind::overlap: return "two buffers live at the same time and share bytes";
        case mixed_violation_kind::twice: return "a buffer has a page twice";
    }
    return "unknown";
}

/// A violation: its kind, and the indices of the elements that it concerns.
struct mixed_violation {
    mixed_violation_kind kind = mixed_violation_kind::none;  ///< Kind of the violation.
    std::size_t first = 0;                                   ///< Index of a buffer.
    std::size_t second = 0;                                  ///< Index of a second element, or 0.

    /// Returns a human-readable description of the kind.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(kind); }
    /// Compares all members.
    friend constexpr bool operator==(mixed_violation, mixed_violation) = default;
};

}  // namespace v1
}  // namespace allot
