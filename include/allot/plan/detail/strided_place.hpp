// SPDX-License-Identifier: BSL-1.0
// strided_place: bytes of a tensor inside another tensor whose rows are apart.
//
//     whole: rows of 3 bytes, 5 apart     012..345..678        part: rows of 1 byte, 3 apart, from byte 1 of the whole
//     part in the same bytes              .1....4....7.        is at byte 1, in rows of 1 byte, 5 apart
//
// Complexity: constant. Not synchronized.
#pragma once

#include <allot/plan/graph.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// First byte and rows of a tensor.
struct strided_place {
    std::uint64_t at = 0;
    row_layout rows{};

    /// Returns the end of a tensor of `size` bytes.
    [[nodiscard]] constexpr std::uint64_t end(std::uint64_t size) const noexcept { return at + spanned_by(size, rows); }
    /// Returns the place that begins at another byte.
    [[nodiscard]] constexpr strided_place moved(std::uint64_t to) const noexcept { return {to, rows}; }
    friend constexpr bool operator==(strided_place, strided_place) = default;
};

/// A place, or nothing if bytes in rows would lie in rows of rows.
struct found_place {
    strided_place place{};
    bool exists = false;
};

/// Returns the rows of a tensor of `size` bytes, or no rows if they are one row or without distance.
[[nodiscard]] constexpr row_layout simplified(row_layout rows, std::uint64_t size) noexcept {
    return rows.size >= size || rows.size == rows.stride ? row_layout{} : rows;
}

/// Returns the place of a tensor of `size` bytes whose place among the bytes of a tensor at `outer` is `inner`.
[[nodiscard]] constexpr found_place place_inside(strided_place outer, strided_place inner,
                                                 std::uint64_t size) noexcept {
    const auto [row, stride] = outer.rows;
    if (row == 0) return {{outer.at + inner.at, inner.rows}, true};
    const std::uint64_t column = inner.at % row, first = outer.at + inner.at / row * stride + column;
    if (inner.rows.size == 0) {
        if (column + size <= row) return {{first, {}}, true};
        return {{first, outer.rows}, column == 0 && size % row == 0};
    }
    const bool fits = column + inner.rows.size <= row && inner.rows.stride % row == 0;
    return {{first, {inner.rows.size, inner.rows.stride / row * stride}}, fits};
}

/// Calls `visit(begin, byte of a, byte of b, size)` for each run of bytes that two tensors have in common, until it
/// returns false. Returns whether all calls returned true. A tensor of no bytes has none in common.
template <class Visit>
constexpr bool each_common(strided_place a, std::uint64_t size_a, strided_place b, std::uint64_t size_b, Visit visit) {
    const std::uint64_t row_a = a.rows.size == 0 ? size_a : a.rows.size;
    const std::uint64_t row_b = b.rows.size == 0 ? size_b : b.rows.size;
    for (std::uint64_t done_a = 0, done_b = 0; done_a != size_a && done_b != size_b;) {
        const std::uint64_t begin = std::max(a.at, b.at), end = std::min(a.at + row_a, b.at + row_b);
        if (begin < end && !visit(done_a + (begin - a.at), done_b + (begin - b.at), end - begin)) return false;
        if (a.at + row_a <= b.at + row_b) {
            a.at += a.rows.stride;
            done_a += row_a;
        } else {
            b.at += b.rows.stride;
            done_b += row_b;
        }
    }
    return true;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
