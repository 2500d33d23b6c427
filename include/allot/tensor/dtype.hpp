// SPDX-License-Identifier: BSL-1.0
// dtype: the type of one element in DLPack's terms: a kind of number, its bits, and the number of vector lanes.
//
//     allot::int32        allot::dtype{allot::dtype_code::floating, 16, 4}        allot::dtype_named("float16x4")
//
// Elements whose size is not a whole number of bytes are packed: n such elements occupy the bytes that hold
// n · bits · lanes bits.
//
// When to use: to describe elements to `alloc_tensor`, `alloc_storage` and DLPack; the constants (`int32`, `float16`,
// …) cover the common types.
// When not to use: for elements of a sub-byte type that are padded to whole bytes. Use the dtype of the padded size.
//
// Complexity: O(1); `dtype_named` is O(length of the name). Memory: 4 bytes; everything is constexpr and allocates
// nothing. Thread safety: dtypes are values.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/tensor/refusal.hpp>

#include <string_view>

namespace allot {
inline namespace v1 {

/// The kinds of element, with DLPack's codes.
enum class dtype_code : std::uint8_t {
    integer = 0,           ///< Signed integers.
    unsigned_integer = 1,  ///< Unsigned integers.
    floating = 2,          ///< IEEE 754 floating point.
    opaque_handle = 3,     ///< Handles without a number format.
    bfloat = 4,            ///< Brain floating point.
    complex = 5,           ///< Complex numbers; `bits` counts both parts.
    boolean = 6,           ///< Truth values.
};

/// The type of one element.
struct dtype {
    dtype_code code = dtype_code::integer;  ///< The kind of number.
    std::uint8_t bits = 0;                  ///< Bits of one lane.
    std::uint16_t lanes = 1;                ///< Lanes of one element.

    /// Returns whether the element has at least one bit and one lane.
    [[nodiscard]] constexpr bool is_valid() const noexcept { return bits != 0 && lanes != 0; }
    /// Returns the number of bits of one element.
    [[nodiscard]] constexpr std::size_t element_bits() const noexcept { return std::size_t{bits} * lanes; }
    /// Returns whether the size of an element is a whole number of bytes, so that every element begins at a byte.
    [[nodiscard]] constexpr bool is_whole_bytes() const noexcept { return element_bits() % 8 == 0; }
    /// Returns the number of bytes of one element. Precondition: `is_whole_bytes()`.
    [[nodiscard]] constexpr std::size_t element_bytes() const noexcept { return element_bits() / 8; }

    /// Returns the number of bytes that hold `count` contiguous elements. Fails with `bad_dtype` or `too_large`.
    [[nodiscard]] constexpr tensor_result<std::size_t> bytes_for(std::size_t count) const noexcept {
        if (!is_valid()) return tensor_result<std::size_t>::failure({tensor_refusal::bad_dtype});
        // Eight elements always fill whole bytes. Counting in groups of eight avoids the product in bits, which would
        // overflow earlier.
        std::size_t bytes = 0;
        const std::size_t rest = (count % 8 * element_bits() + 7) / 8;
        if (!checked_multiply(count / 8, element_bits(), bytes) || !checked_add(bytes, rest, bytes))
            return tensor_result<std::size_t>::failure({tensor_refusal::too_large});
        return bytes;
    }
    /// Compares kind, bits and lanes.
    friend constexpr bool operator==(const dtype&, const dtype&) = default;
};

inline constexpr dtype int4{dtype_code::integer, 4},            ///< A signed integer of 4 bits.
    int8{dtype_code::integer, 8},                               ///< A signed integer of 8 bits.
    int16{dtype_code::integer, 16},                             ///< A signed integer of 16 bits.
    int32{dtype_code::integer, 32},                             ///< A signed integer of 32 bits.
    int64{dtype_code::integer, 64};                             ///< A signed integer of 64 bits.
inline constexpr dtype uint1{dtype_code::unsigned_integer, 1},  ///< An unsigned integer of 1 bit.
    uint4{dtype_code::unsigned_integer, 4},                     ///< An unsigned integer of 4 bits.
    uint8{dtype_code::unsigned_integer, 8},                     ///< An unsigned integer of 8 bits.
    uint16{dtype_code::unsigned_integer, 16},                   ///< An unsigned integer of 16 bits.
    uint32{dtype_code::unsigned_integer, 32},                   ///< An unsigned integer of 32 bits.
    uint64{dtype_code::unsigned_integer, 64};                   ///< An unsigned integer of 64 bits.
inline constexpr dtype float16{dtype_code::floating, 16},       ///< A half-precision number.
    float32{dtype_code::floating, 32},                          ///< A single-precision number.
    float64{dtype_code::floating, 64},                          ///< A double-precision number.
    bfloat16{dtype_code::bfloat, 16},                           ///< A brain floating-point number.
    boolean{dtype_code::boolean, 8};                            ///< A truth value of 8 bits.

/// Returns the dtype for a name in the spelling of graph compilers: `int32`, `uint4`, `float16x4`, `bfloat16`, `bool`.
/// Fails with `bad_dtype` for any other name.
[[nodiscard]] constexpr tensor_result<dtype> dtype_named(std::string_view name) noexcept {
    struct kind {
        std::string_view name;
        dtype_code code;
    };
    constexpr kind kinds[] = {{"int", dtype_code::integer},     {"uint", dtype_code::unsigned_integer},
                              {"float", dtype_code::floating},  {"bfloat", dtype_code::bfloat},
                              {"complex", dtype_code::complex}, {"handle", dtype_code::opaque_handle}};
    const auto unknown = tensor_result<dtype>::failure({tensor_refusal::bad_dtype});
    // Parses a number up to `most`, without sign or leading zeros. Returns 0 when the name has no such number here.
    const auto number = [&name](std::size_t most) -> std::size_t {
        std::size_t value = 0, digits = 0;
        for (; digits != name.size() && name[digits] >= '0' && name[digits] <= '9'; ++digits) {
            if (digits == 0 && name[0] == '0') return 0;
            value = value * 10 + static_cast<std::size_t>(name[digits] - '0');
            if (value > most) return 0;
        }
        name.remove_prefix(digits);
        return value;
    };
    dtype found;
    if (name.starts_with("bool")) {
        found = boolean;
        name.remove_prefix(4);
    } else {
        for (const kind& each : kinds) {
            if (!name.starts_with(each.name)) continue;
            name.remove_prefix(each.name.size());
            found.code = each.code;
            found.bits = static_cast<std::uint8_t>(number(255));
            break;
        }
    }
    if (name.starts_with('x')) {
        name.remove_prefix(1);
        found.lanes = static_cast<std::uint16_t>(number(65535));
    }
    return found.is_valid() && name.empty() ? tensor_result<dtype>{found} : unknown;
}

}  // namespace v1
}  // namespace allot
