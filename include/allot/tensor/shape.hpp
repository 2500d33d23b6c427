// SPDX-License-Identifier: BSL-1.0
// shape: how many elements along each axis, and strides: how many elements apart along each.
//
//     allot::shape logical{2, 2, 8, 8};
//     auto physical = allot::physical_shape(logical, {2});        // axes 0–1 and 2–3 become one each: (4, 64)
//
// Both are up to `max_rank` numbers inside the object. A shape may hold whatever a caller writes; what cannot be
// counted is refused where it is counted. Everything is constexpr; nothing allocates. Thread safety: values.
#pragma once

#include <allot/tensor/dtype.hpp>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>

namespace allot {
inline namespace v1 {

inline constexpr std::size_t max_rank = 8;

/// Up to `max_rank` signed numbers, one for each axis.
class shape {
public:
    constexpr shape() noexcept = default;
    constexpr shape(std::initializer_list<std::int64_t> extents) noexcept : shape{std::span{extents.begin(), extents.size()}} {}
    constexpr explicit shape(std::span<const std::int64_t> extents) noexcept
        : rank_{static_cast<unsigned char>(std::min(extents.size(), max_rank + 1))} {
        if (rank_ <= max_rank) std::copy(extents.begin(), extents.end(), extents_);
    }

    /// False when more than `max_rank` numbers were given, or one is negative.
    [[nodiscard]] constexpr bool is_valid() const noexcept {
        return rank_ <= max_rank && std::none_of(begin(), end(), [](std::int64_t n) { return n < 0; });
    }
    /// How many axes: 0 for a scalar. More than were kept when too many were given.
    [[nodiscard]] constexpr std::size_t rank() const noexcept { return rank_; }
    [[nodiscard]] constexpr std::int64_t& operator[](std::size_t axis) noexcept { return extents_[axis]; }
    [[nodiscard]] constexpr std::int64_t operator[](std::size_t axis) const noexcept { return extents_[axis]; }
    [[nodiscard]] constexpr const std::int64_t* begin() const noexcept { return extents_; }
    [[nodiscard]] constexpr const std::int64_t* end() const noexcept {
        return extents_ + (rank_ <= max_rank ? rank_ : 0);
    }
    [[nodiscard]] constexpr const std::int64_t* data() const noexcept { return extents_; }
    friend constexpr bool operator==(const shape& a, const shape& b) noexcept {
        return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
    }

private:
    std::int64_t extents_[max_rank]{};
    unsigned char rank_ = 0;
};

/// Elements to skip for one step along each axis.
using strides = shape;

/// The product of a shape: 1 for a scalar, 0 when any axis has no element.
[[nodiscard]] constexpr tensor_result<std::size_t> element_count(const shape& of) noexcept {
    using answer = tensor_result<std::size_t>;
    if (!of.is_valid()) return answer::failure({tensor_refusal::bad_shape});
    if (std::find(of.begin(), of.end(), 0) != of.end()) return std::size_t{0};
    std::size_t count = 1;
    for (const std::int64_t n : of) {
        if (static_cast<std::uint64_t>(n) > std::numeric_limits<std::size_t>::max() ||
            !checked_multiply(count, static_cast<std::size_t>(n), count))
            return answer::failure({tensor_refusal::too_large});
    }
    return count;
}

/// Bytes of a compact tensor.
[[nodiscard]] constexpr tensor_result<std::size_t> byte_count(const shape& of, dtype type) noexcept {
    if (!type.is_valid()) return tensor_result<std::size_t>::failure({tensor_refusal::bad_dtype});
    const auto count = element_count(of);
    if (!count) return count;
    // Addresses are also subtracted: no tensor is larger than half of what can be addressed.
    const auto bytes = type.bytes_for(*count);
    if (bytes && *bytes > std::numeric_limits<std::size_t>::max() / 2)
        return tensor_result<std::size_t>::failure({tensor_refusal::too_large});
    return bytes;
}

/// The strides of a row-major tensor without gaps. Precondition: its elements can be counted.
[[nodiscard]] constexpr strides compact_strides(const shape& of) noexcept {
    strides steps = of;
    std::uint64_t step = 1;  // unsigned: where some axis is empty, the others may multiply to anything
    for (std::size_t axis = of.rank(); axis-- != 0;) {
        steps[axis] = static_cast<std::int64_t>(step);
        if (of[axis] > 1) step *= static_cast<std::uint64_t>(of[axis]);
    }
    return steps;
}

/// Whether the elements lie side by side in row-major order. The stride along an axis of one element means nothing.
[[nodiscard]] constexpr bool is_compact(const shape& of, const strides& steps) noexcept {
    if (std::find(of.begin(), of.end(), 0) != of.end()) return true;
    const strides wanted = compact_strides(of);
    for (std::size_t axis = 0; axis != of.rank(); ++axis) {
        if (of[axis] != 1 && steps[axis] != wanted[axis]) return false;
    }
    return true;
}

/// The axes that runs of axes begin with: ascending from 1 on, below the rank.
using axis_separators = shape;

/// The shape as it lies in memory: each run of axes between two separators becomes one axis. Without separators,
/// everything becomes one.
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
        const auto size =
            element_count(shape{std::span{logical.data() + axis, logical.data() + end}});
        if (!size) return answer::failure(size.error());
        if (!std::in_range<std::int64_t>(*size)) return answer::failure({tensor_refusal::too_large});
        runs[run] = static_cast<std::int64_t>(*size);
        axis = end;
    }
    return shape{std::span<const std::int64_t>{runs, run}};
}

}  // namespace v1
}  // namespace allot
