// SPDX-License-Identifier: BSL-1.0
// dtype: what one element is, in DLPack's terms: a kind of number, its bits, and how many lanes make a vector.
//
//     allot::int32        allot::dtype{allot::dtype_code::floating, 16, 4}        allot::dtype_named("float16x4")
//
// Elements of fewer bits than a byte, or of an odd number, are packed: a run of n of them takes the bytes that hold
// n · bits · lanes bits. Everything is constexpr; nothing allocates. Thread safety: values.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/tensor/refusal.hpp>

#include <string_view>

namespace allot {
inline namespace v1 {

/// DLPack's numbers for the kinds of element.
enum class dtype_code : std::uint8_t {
    integer = 0,
    unsigned_integer = 1,
    floating = 2,
    opaque_handle = 3,
    bfloat = 4,
    complex = 5,
    boolean = 6,
};

struct dtype {
    dtype_code code = dtype_code::integer;
    std::uint8_t bits = 0;    // of one lane
    std::uint16_t lanes = 1;  // of one element

    [[nodiscard]] constexpr bool is_valid() const noexcept { return bits != 0 && lanes != 0; }
    [[nodiscard]] constexpr std::size_t element_bits() const noexcept { return std::size_t{bits} * lanes; }
    /// Whether every element begins at a byte of its own.
    [[nodiscard]] constexpr bool is_whole_bytes() const noexcept { return element_bits() % 8 == 0; }
    /// Bytes of one element. Precondition: whole bytes.
    [[nodiscard]] constexpr std::size_t element_bytes() const noexcept { return element_bits() / 8; }

    /// Bytes that hold `count` elements side by side.
    [[nodiscard]] constexpr tensor_result<std::size_t> bytes_for(std::size_t count) const noexcept {
        if (!is_valid()) return tensor_result<std::size_t>::failure({tensor_refusal::bad_dtype});
        // Eight elements are always whole bytes, so that no product of bits is needed that would overflow earlier.
        std::size_t bytes = 0;
        const std::size_t rest = (count % 8 * element_bits() + 7) / 8;
        if (!checked_multiply(count / 8, element_bits(), bytes) || !checked_add(bytes, rest, bytes))
            return tensor_result<std::size_t>::failure({tensor_refusal::too_large});
        return bytes;
    }
    friend constexpr bool operator==(const dtype&, const dtype&) = default;
};

inline constexpr dtype int4{dtype_code::integer, 4}, int8{dtype_code::integer, 8}, int16{dtype_code::integer, 16},
    int32{dtype_code::integer, 32}, int64{dtype_code::integer, 64};
inline constexpr dtype uint1{dtype_code::unsigned_integer, 1}, uint4{dtype_code::unsigned_integer, 4},
    uint8{dtype_code::unsigned_integer, 8}, uint16{dtype_code::unsigned_integer, 16},
    uint32{dtype_code::unsigned_integer, 32}, uint64{dtype_code::unsigned_integer, 64};
inline constexpr dtype float16{dtype_code::floating, 16}, float32{dtype_code::floating, 32},
    float64{dtype_code::floating, 64}, bfloat16{dtype_code::bfloat, 16}, boolean{dtype_code::boolean, 8};

/// The dtype of a name as graph compilers write it: `int32`, `uint4`, `float16x4`, `bfloat16`, `bool`.
[[nodiscard]] constexpr tensor_result<dtype> dtype_named(std::string_view name) noexcept {
    struct kind {
        std::string_view name;
        dtype_code code;
    };
    constexpr kind kinds[] = {{"int", dtype_code::integer},    {"uint", dtype_code::unsigned_integer},
                              {"float", dtype_code::floating}, {"bfloat", dtype_code::bfloat},
                              {"complex", dtype_code::complex}, {"handle", dtype_code::opaque_handle}};
    const auto unknown = tensor_result<dtype>::failure({tensor_refusal::bad_dtype});
    // A number without a sign and without zeros in front, up to `most`; 0 when there is none.
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
