// SPDX-License-Identifier: BSL-1.0
// dtype: the type of one element in DLPack's terms: a kind of number, its bits, and the number of vector lanes.
//
//     allot::int32        allot::dtype{allot::dtype_code::floating, 16, 4}        allot::dtype_named("float16x4")
//     allot::float8_e4m3fn                                                        allot::dtype_named("float4_e2m1fnx2")
//
// Elements whose size is not a whole number of bytes are packed: n such elements occupy the bytes that hold
// n · bits · lanes bits. The first element is in the lowest bits of the first byte, as in DLPack:
//
//     float4_e2m1fn   │1 1 1 1 0 0 0 0│3 3 3 3 2 2 2 2│           2 elements in a byte
//     float6_e3m2fn   │1 1 0 0 0 0 0 0│2 2 2 2 1 1 1 1│3 3 3 3 3 3 2 2│   4 elements in 3 bytes
//     bit of a byte    7             0 7             0 7             0
//
// A float of 8, 6 or 4 bits is named by its format: `e4m3` has 4 bits of exponent and 3 of mantissa, `fn` has no
// infinities, `uz` has one zero without sign, `b11` has the exponent bias 11.
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

    float8_e3m4 = 7,         ///< 8 bits: 3 of exponent, 4 of mantissa.
    float8_e4m3 = 8,         ///< 8 bits: 4 of exponent, 3 of mantissa.
    float8_e4m3b11fnuz = 9,  ///< As `float8_e4m3`, with bias 11, one zero, and no infinities.
    float8_e4m3fn = 10,      ///< As `float8_e4m3`, without infinities.
    float8_e4m3fnuz = 11,    ///< As `float8_e4m3`, with one zero and without infinities.
    float8_e5m2 = 12,        ///< 8 bits: 5 of exponent, 2 of mantissa.
    float8_e5m2fnuz = 13,    ///< As `float8_e5m2`, with one zero and without infinities.
    float8_e8m0fnu = 14,     ///< 8 bits of exponent without sign: the scale of a block of smaller floats.
    float6_e2m3fn = 15,      ///< 6 bits: 2 of exponent, 3 of mantissa, without infinities and NaN.
    float6_e3m2fn = 16,      ///< 6 bits: 3 of exponent, 2 of mantissa, without infinities and NaN.
    float4_e2m1fn = 17,      ///< 4 bits: 2 of exponent, 1 of mantissa, without infinities and NaN.
};

/// The greatest of DLPack's codes that allot knows.
inline constexpr dtype_code last_dtype_code = dtype_code::float4_e2m1fn;

/// Returns the number of bits that a kind prescribes: 8, 6 or 4 for the floats of DLPack's codes 7 to 17, or 0 for a
/// kind whose elements have any number of bits.
[[nodiscard]] constexpr std::uint8_t prescribed_bits(dtype_code code) noexcept {
    if (code < dtype_code::float8_e3m4 || code > last_dtype_code) return 0;
    return code < dtype_code::float6_e2m3fn ? 8 : code < dtype_code::float4_e2m1fn ? 6 : 4;
}

/// The type of one element.
struct dtype {
    dtype_code code = dtype_code::integer;  ///< The kind of number.
    std::uint8_t bits = 0;                  ///< Bits of one lane.
    std::uint16_t lanes = 1;                ///< Lanes of one element.

    /// Returns whether the element has at least one bit and one lane, and the number of bits that its kind prescribes.
    [[nodiscard]] constexpr bool is_valid() const noexcept {
        const std::uint8_t prescribed = prescribed_bits(code);
        return bits != 0 && lanes != 0 && (prescribed == 0 || bits == prescribed);
    }
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

namespace detail {

/// Returns the dtype for the name of a float of 8, 6 or 4 bits without lanes, or an invalid dtype.
[[nodiscard]] constexpr dtype narrow_float_named(std::string_view name) noexcept {
    constexpr std::string_view names[] = {"float8_e3m4",     "float8_e4m3",   "float8_e4m3b11fnuz", "float8_e4m3fn",
                                          "float8_e4m3fnuz", "float8_e5m2",   "float8_e5m2fnuz",    "float8_e8m0fnu",
                                          "float6_e2m3fn",   "float6_e3m2fn", "float4_e2m1fn"};
    auto code = static_cast<std::uint8_t>(dtype_code::float8_e3m4);
    for (const std::string_view each : names) {
        const auto kind = static_cast<dtype_code>(code++);
        if (name == each) return {kind, prescribed_bits(kind)};
    }
    return {};
}

}  // namespace detail

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

inline constexpr dtype float8_e3m4{dtype_code::float8_e3m4, 8};                ///< DLPack's code 7.
inline constexpr dtype float8_e4m3{dtype_code::float8_e4m3, 8};                ///< DLPack's code 8.
inline constexpr dtype float8_e4m3b11fnuz{dtype_code::float8_e4m3b11fnuz, 8};  ///< DLPack's code 9.
inline constexpr dtype float8_e4m3fn{dtype_code::float8_e4m3fn, 8};            ///< DLPack's code 10.
inline constexpr dtype float8_e4m3fnuz{dtype_code::float8_e4m3fnuz, 8};        ///< DLPack's code 11.
inline constexpr dtype float8_e5m2{dtype_code::float8_e5m2, 8};                ///< DLPack's code 12.
inline constexpr dtype float8_e5m2fnuz{dtype_code::float8_e5m2fnuz, 8};        ///< DLPack's code 13.
inline constexpr dtype float8_e8m0fnu{dtype_code::float8_e8m0fnu, 8};          ///< DLPack's code 14.
inline constexpr dtype float6_e2m3fn{dtype_code::float6_e2m3fn, 6};            ///< DLPack's code 15.
inline constexpr dtype float6_e3m2fn{dtype_code::float6_e3m2fn, 6};            ///< DLPack's code 16.
inline constexpr dtype float4_e2m1fn{dtype_code::float4_e2m1fn, 4};            ///< DLPack's code 17.

/// Returns the dtype for a name in the spelling of graph compilers: `int32`, `uint4`, `float16x4`, `bfloat16`, `bool`,
/// `float8_e4m3fn`, `float4_e2m1fnx2`. Fails with `bad_dtype` for any other name.
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
    // No name of a narrow float has an x, so the first one begins the lanes.
    const std::string_view without_lanes = name.substr(0, name.find('x'));
    dtype found = detail::narrow_float_named(without_lanes);
    if (found.is_valid()) {
        name.remove_prefix(without_lanes.size());
    } else if (name.starts_with("bool")) {
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
