// SPDX-License-Identifier: BSL-1.0
// texture_shape: the layout of a tensor of any rank in a 2-D image with four channels a pixel.
//
//     constexpr auto image = allot::texture_of<allot::scope::texture>({1, 8, 32, 30, 4}).value();  // 30 × 256 pixels
//     auto bytes = allot::texture_bytes(image, allot::float16, 64);                                // rows of 64 pixels
//
//                       rows              pixels of a row     channels
//     texture           a₀ · … · aₙ₋₃     aₙ₋₂                aₙ₋₁ = 4        activations: (n, c, h, w, 4)
//     texture_weight    a₀                a₁ · … · aₙ₋₂       aₙ₋₁ = 4        weights: (o, i, h, w, 4)
//     texture_nhwc      a₀ · a₁           a₂ · … · aₙ₋₂       aₙ₋₁ = 4        (n, h, w, …, 4); of rank 3: a₀ rows
//
// A scope states the number of axes that form its rows in `row_axes`; user-defined scopes do the same. Rows, pixels and
// channels each take at least one axis, so the rank must be at least 3.
//
// The pitch of an image over a buffer is counted in pixels, as OpenCL's CL_DEVICE_IMAGE_PITCH_ALIGNMENT is.
//
// When to use: to compute the size of images for a planner or for images over buffers.
// When not to use: to allocate a texture; `alloc_texture` (texture.hpp) calls these functions.
//
// Complexity: O(rank). Memory: everything is constexpr and allocates nothing. Sums and products are checked for
// overflow.
// Thread safety: shapes are values.
#pragma once

#include <allot/tensor/scope.hpp>
#include <allot/tensor/shape.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// The number of channels of a pixel: red, green, blue and alpha, or four elements of the last axis.
inline constexpr std::size_t texture_channels = 4;

/// The size of an image in pixels.
struct texture_shape {
    std::size_t width = 0,  ///< Pixels of a row.
        height = 0;         ///< The number of rows.
    /// Compares width and height.
    friend constexpr bool operator==(const texture_shape&, const texture_shape&) = default;
};

/// Returns the size of the image for a tensor of this shape. Fails with `bad_texture`, `bad_shape` or `too_large`.
template <texture_scope Scope>
[[nodiscard]] constexpr tensor_result<texture_shape> texture_of(const shape& of) noexcept {
    using answer = tensor_result<texture_shape>;
    if (const auto count = element_count(of); !count) return answer::failure(count.error());
    if (of.rank() < 3 || of[of.rank() - 1] != std::int64_t{texture_channels})
        return answer::failure({tensor_refusal::bad_texture});
    const auto channels = static_cast<std::int64_t>(of.rank() - 1);
    const auto image = physical_shape(of, {static_cast<std::int64_t>(Scope::row_axes(of.rank())), channels});
    if (!image) return answer::failure(image.error());
    return texture_shape{static_cast<std::size_t>((*image)[1]), static_cast<std::size_t>((*image)[0])};
}

/// Returns the number of bytes of one pixel. Fails with `bad_dtype` for a dtype with several lanes or partial bytes.
[[nodiscard]] constexpr tensor_result<std::size_t> pixel_bytes(dtype type) noexcept {
    if (!type.is_valid() || type.lanes != 1 || !type.is_whole_bytes())
        return tensor_result<std::size_t>::failure({tensor_refusal::bad_dtype});
    return texture_channels * type.element_bytes();
}

/// The layout of an image in a buffer.
struct texture_pitch {
    std::size_t row = 0;    ///< Bytes from one row to the next.
    std::size_t total = 0;  ///< Bytes of all rows.
    /// Compares both members.
    friend constexpr bool operator==(const texture_pitch&, const texture_pitch&) = default;
};

/// Returns the layout of an image whose rows begin at multiples of `pitch_align` pixels, a power of two. Fails with
/// `bad_dtype`, `bad_alignment` or `too_large`.
[[nodiscard]] constexpr tensor_result<texture_pitch> texture_bytes(texture_shape image, dtype type,
                                                                   std::size_t pitch_align = 1) noexcept {
    using answer = tensor_result<texture_pitch>;
    const auto pixel = pixel_bytes(type);
    if (!pixel) return answer::failure(pixel.error());
    if (!is_alignment(pitch_align)) return answer::failure({tensor_refusal::bad_alignment});
    texture_pitch bytes;
    if (!checked_align_up(image.width, pitch_align, bytes.row) || !checked_multiply(bytes.row, *pixel, bytes.row) ||
        !checked_multiply(bytes.row, image.height, bytes.total) ||
        bytes.total > std::numeric_limits<std::size_t>::max() / 2)
        return answer::failure({tensor_refusal::too_large});
    return bytes;
}

/// Returns the distance in elements between the rows of an image over the bytes of a tensor with strides. Fails with
/// `not_compact` unless the pixels of each row are contiguous and the rows are equally far apart.
template <texture_scope Scope>
[[nodiscard]] constexpr tensor_result<std::size_t> texture_row_step(const shape& of, const strides& steps) noexcept {
    using answer = tensor_result<std::size_t>;
    const auto image = texture_of<Scope>(of);
    if (!image) return answer::failure(image.error());
    if (steps.rank() != of.rank()) return answer::failure({tensor_refusal::bad_strides});
    const std::size_t rows = Scope::row_axes(of.rank());
    std::size_t row = 0;
    if (!checked_multiply(image->width, texture_channels, row)) return answer::failure({tensor_refusal::too_large});
    std::uint64_t expected = 1, step = row;
    bool is_first = true;  // whether the next row axis is the innermost one with more than one row
    for (std::size_t axis = of.rank(); axis-- != 0;) {
        if (of[axis] <= 1) continue;
        const auto found = static_cast<std::uint64_t>(steps[axis]);
        if (axis < rows && std::exchange(is_first, false)) {
            if (steps[axis] < 0 || found < row) return answer::failure({tensor_refusal::not_compact});
            expected = step = found;
        }
        if (found != expected) return answer::failure({tensor_refusal::not_compact});
        if (!checked_multiply(expected, static_cast<std::uint64_t>(of[axis]), expected))
            return answer::failure({tensor_refusal::too_large});
    }
    return static_cast<std::size_t>(step);
}

}  // namespace v1
}  // namespace allot
