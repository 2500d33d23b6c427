// SPDX-License-Identifier: BSL-1.0
// shape: the number of elements along each axis; strides: the distance in elements along each axis.
//
//     allot::shape logical{2, 2, 8, 8};
//     auto physical = allot::physical_shape(logical, {2});        // axes 0–1 and 2–3 become one each: (4, 64)
//
// Both types hold up to `max_rank` numbers inside the object. The constructors accept any numbers; the functions that
// count elements reject invalid shapes.
//
// When to use: to describe tensors, slices, strides and axis separators.
// When not to use: for more than `max_rank` axes. Such a shape is invalid; merge axes first.
//
// Complexity: O(rank). Memory: 72 bytes inside the object; everything is constexpr and allocates nothing.
// Thread safety: shapes are values.
#pragma once

#include <allot/tensor/dtype.hpp>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <span>
#include <utility>

namespace allot {
inline namespace v1 {

namespace detail {
class tensor_form;
}

/// The maximum number of axes.
inline constexpr std::size_t max_rank = 8;

/// A list of up to `max_rank` signed numbers, one for each axis.
class shape {
public:
    /// Creates the shape of a scalar: no axes.
    constexpr shape() noexcept = default;
    /// Creates a shape from a list. A list of more than `max_rank` numbers makes an invalid shape.
    constexpr shape(std::initializer_list<std::int64_t> extents) noexcept
        : shape{std::span{extents.begin(), extents.size()}} {}
    /// Creates a shape from a range. A range of more than `max_rank` numbers makes an invalid shape.
    constexpr explicit shape(std::span<const std::int64_t> extents) noexcept
        : rank_{static_cast<unsigned char>(std::min(extents.size(), max_rank + 1))} {
        if (rank_ <= max_rank) std::copy(extents.begin(), extents.end(), extents_);
    }

    /// Returns false when more than `max_rank` numbers were given, or one is negative.
    [[nodiscard]] constexpr bool is_valid() const noexcept {
        return rank_ <= max_rank && std::none_of(begin(), end(), [](std::int64_t n) { return n < 0; });
    }
    /// Returns the number of axes: 0 for a scalar, `max_rank + 1` for a shape with too many axes.
    [[nodiscard]] constexpr std::size_t rank() const noexcept { return rank_; }
    /// Returns the number of an axis. Precondition: `axis < max_rank`.
    [[nodiscard]] constexpr std::int64_t& operator[](std::size_t axis) noexcept { return extents_[axis]; }
    /// Returns the number of an axis. Precondition: `axis < max_rank`.
    [[nodiscard]] constexpr std::int64_t operator[](std::size_t axis) const noexcept { return extents_[axis]; }
    /// Returns the beginning of the numbers.
    [[nodiscard]] constexpr const std::int64_t* begin() const noexcept { return extents_; }
    /// Returns the end of the numbers; equal to `begin()` for a shape with too many axes.
    [[nodiscard]] constexpr const std::int64_t* end() const noexcept {
        return extents_ + (rank_ <= max_rank ? rank_ : 0);
    }
    /// Returns a pointer to the first number.
    [[nodiscard]] constexpr const std::int64_t* data() const noexcept { return extents_; }
    /// Returns whether both shapes have the same rank and numbers.
    friend constexpr bool operator==(const shape& a, const shape& b) noexcept {
        return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
    }

private:
    friend class detail::tensor_form;  // has extents in fewer bytes

    std::int64_t extents_[max_rank]{};
    unsigned char rank_ = 0;
};

/// The distance in elements of one step along each axis.
using strides = shape;

/// The maximum number of bits of all extents of a shape together. A shape with elements never has more than 71.
inline constexpr std::size_t max_extent_bits = 144;

/// Returns the number of elements: 1 for a scalar, 0 when any axis is empty. Fails with `bad_shape` or `too_large`. A
/// shape without elements is too large if its extents have more than `max_extent_bits` together.
[[nodiscard]] constexpr tensor_result<std::size_t> element_count(const shape& of) noexcept {
    using answer = tensor_result<std::size_t>;
    if (!of.is_valid()) return answer::failure({tensor_refusal::bad_shape});
    if (std::find(of.begin(), of.end(), 0) != of.end()) {
        std::size_t bits = 0;
        for (const std::int64_t n : of) bits += static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n)));
        return bits <= max_extent_bits ? answer{std::size_t{0}} : answer::failure({tensor_refusal::too_large});
    }
    std::size_t count = 1;
    for (const std::int64_t n : of) {
        if (static_cast<std::uint64_t>(n) > std::numeric_limits<std::size_t>::max() ||
            !checked_multiply(count, static_cast<std::size_t>(n), count))
            return answer::failure({tensor_refusal::too_large});
    }
    return count;
}

/// Returns the number of bytes of a compact tensor. Fails with `bad_dtype`, `bad_shape` or `too_large`; more than half
/// the address space is too large.
[[nodiscard]] constexpr tensor_result<std::size_t> byte_count(const shape& of, dtype type) noexcept {
    if (!type.is_valid()) return tensor_result<std::size_t>::failure({tensor_refusal::bad_dtype});
    const auto count = element_count(of);
    if (!count) return count;
    // Differences of addresses must be representable, so a tensor is at most half of the address space.
    const auto bytes = type.bytes_for(*count);
    if (bytes && *bytes > std::numeric_limits<std::size_t>::max() / 2)
        return tensor_result<std::size_t>::failure({tensor_refusal::too_large});
    return bytes;
}

/// Returns the strides of a row-major tensor without gaps. Precondition: `element_count(of)` succeeds.
[[nodiscard]] constexpr strides compact_strides(const shape& of) noexcept {
    strides steps = of;
    std::uint64_t step = 1;  // unsigned: when one axis is empty, the product of the others may overflow
    for (std::size_t axis = of.rank(); axis-- != 0;) {
        steps[axis] = static_cast<std::int64_t>(step);
        if (of[axis] > 1) step *= static_cast<std::uint64_t>(of[axis]);
    }
    return steps;
}

/// Returns whether the elements are contiguous in row-major order. The stride along an axis of one element is ignored.
[[nodiscard]] constexpr bool is_compact(const shape& of, const strides& steps) noexcept {
    if (std::find(of.begin(), of.end(), 0) != of.end()) return true;
    std::uint64_t wanted = 1;  // unsigned: an invalid shape may overflow
    for (std::size_t axis = of.rank(); axis-- != 0;) {
        if (of[axis] == 1) continue;
        if (static_cast<std::uint64_t>(steps[axis]) != wanted) return false;
        wanted *= static_cast<std::uint64_t>(of[axis]);
    }
    return true;
}

/// Positions that split a shape into groups of axes. They ascend from 1 on and are below the rank; each one is the
/// first axis of a group.
using axis_separators = shape;

/// Returns the shape in memory: the axes of each group between two separators merge into one axis. Without separators,
/// all axes merge into one. Fails with `bad_separators`, `bad_shape` or `too_large`.
[[nodiscard]] constexpr tensor_result<shape> physical_shape(const shape& logical,
                                                            const axis_separators& separators) noexcept {
    using answer = tensor_result<shape>;
    if (const auto count = element_count(logical); !count) return answer::failure(count.error());
    const auto rank = static_cast<std::int64_t>(logical.rank());
    if (separators.rank() > max_rank) return answer::failure({tensor_refusal::bad_separators});
    std::int64_t runs[max_rank + 1]{};
    std::size_t run = 0;
    for (std::int64_t axis = 0; run <= separators.rank(); ++run) {
        const bool is_last = run == separators.rank();
        const std::int64_t end = is_last ? rank : separators[run];
        if (!is_last && (end <= axis || end >= rank)) return answer::failure({tensor_refusal::bad_separators});
        const auto size = element_count(shape{std::span{logical.data() + axis, logical.data() + end}});
        if (!size) return answer::failure(size.error());
        if (!std::in_range<std::int64_t>(*size)) return answer::failure({tensor_refusal::too_large});
        runs[run] = static_cast<std::int64_t>(*size);
        axis = end;
    }
    return shape{std::span<const std::int64_t>{runs, run}};
}

}  // namespace v1
}  // namespace allot
