// SPDX-License-Identifier: BSL-1.0
// mlir_types: the bytes of a memref type of MLIR, as its lowering to LLVM has them.
//
//     memref<4x?xf32, strided<[8, 1]>, 3>      4 × ? elements of 4 bytes, a layout, a memory space
//
// Elements have a power of two of bytes: i1 has 1, i24 has 4, vector<3xf32> has 16. Throws an `input_error` for other
// types, and for dimensions that are neither in the type nor among the given constants.
#pragma once

#include "input.hpp"

#include <bit>
#include <span>

namespace planner {

/// Returns the text without spaces at its ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

class memref_type {
public:
    /// `text` is what stands between memref< and >. `dynamic` are the values of the dimensions that are `?`, in order.
    memref_type(const place& where, std::string_view text, std::span<const std::uint64_t> dynamic)
        : where_{where}, dynamic_{dynamic} {
        const std::vector<std::string_view> parts = split(text);
        std::string_view shape = parts[0];
        bytes_ = 1;
        while (true) {
            const std::size_t digits = std::min(shape.find_first_not_of("0123456789?"), shape.size());
            if (digits == 0 || digits == shape.size() || shape[digits] != 'x') break;
            multiply(extent(shape.substr(0, digits)));
            shape.remove_prefix(digits + 1);
        }
        if (used_ != dynamic.size()) where_.refuse("the number of sizes is not that of the dimensions \"?\"");
        multiply(element(shape));
        for (std::size_t i = 1; i != parts.size(); ++i) {
            if (parts[i].starts_with("strided<") || parts[i].starts_with("affine_map<"))
                where_.refuse("the layout " + std::string{parts[i]} +
                              " of an allocation is not supported; use the identity layout");
            space_ = parts[i];
        }
    }

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// The memory space as text; empty for the default.
    [[nodiscard]] std::string_view space() const { return space_; }

private:
    /// Splits at commas outside of brackets.
    static std::vector<std::string_view> split(std::string_view text) {
        std::vector<std::string_view> parts;
        int depth = 0;
        std::size_t begin = 0;
        for (std::size_t i = 0; i != text.size(); ++i) {
            if (text[i] == '<' || text[i] == '[' || text[i] == '(') ++depth;
            if ((text[i] == '>' && (i == 0 || text[i - 1] != '-')) || text[i] == ']' || text[i] == ')') --depth;
            if (text[i] != ',' || depth != 0) continue;
            parts.push_back(trimmed(text.substr(begin, i - begin)));
            begin = i + 1;
        }
        parts.push_back(trimmed(text.substr(begin)));
        return parts;
    }

    [[nodiscard]] std::uint64_t extent(std::string_view text) {
        if (text != "?") return number_of<std::uint64_t>(where_, "a dimension", text);
        if (used_ == dynamic_.size()) where_.refuse("the number of sizes is not that of the dimensions \"?\"");
        return dynamic_[used_++];
    }
    void multiply(std::uint64_t factor) {
        if (!allot::checked_multiply(bytes_, factor, bytes_)) where_.refuse("the size of the buffer exceeds 64 bits");
    }

    [[nodiscard]] std::uint64_t element(std::string_view type) const {
        if (type == "index") return 8;
        if (type == "bf16" || type == "f16") return 2;
        if (type == "tf32" || type == "f32") return 4;
        if (type == "f64") return 8;
        if (type == "f80" || type == "f128") return 16;
        if (type.starts_with("f8E") || type.starts_with("f6E") || type.starts_with("f4E")) return 1;
        for (const std::string_view prefix : {"si", "ui", "i"}) {
            if (!type.starts_with(prefix)) continue;
            const std::string_view digits = type.substr(prefix.size());
            if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) break;
            const auto bits = number_of<std::uint64_t>(where_, "the bits of an integer", digits);
            if (bits == 0 || bits >= 1u << 24) break;
            return std::bit_ceil((bits + 7) / 8);
        }
        if (type.starts_with("complex<") && type.ends_with(">")) return 2 * nested(type.substr(8, type.size() - 9));
        if (type.starts_with("vector<") && type.ends_with(">")) return vector(type.substr(7, type.size() - 8));
        where_.refuse("the element type \"" + std::string{type} + "\" has an unknown size");
    }
    /// The elements of a complex or a vector are numbers.
    [[nodiscard]] std::uint64_t nested(std::string_view type) const {
        if (type.find('<') != std::string_view::npos)
            where_.refuse("the element type \"" + std::string{type} + "\" has an unknown size");
        return element(type);
    }
    /// 2x3xf32: the last dimension is rounded up to a power of two of bytes.
    [[nodiscard]] std::uint64_t vector(std::string_view shape) const {
        std::uint64_t outer = 1, last = 1;
        while (true) {
            const std::size_t digits = std::min(shape.find_first_not_of("0123456789"), shape.size());
            if (digits == 0 || digits == shape.size() || shape[digits] != 'x') break;
            if (!allot::checked_multiply(outer, last, outer)) where_.refuse("the size of a vector exceeds 64 bits");
            last = number_of<std::uint64_t>(where_, "a dimension", shape.substr(0, digits));
            shape.remove_prefix(digits + 1);
        }
        if (!allot::checked_multiply(last, nested(shape), last) || last > std::uint64_t{1} << 62 ||
            !allot::checked_multiply(outer, std::bit_ceil(last), outer))
            where_.refuse("the size of a vector exceeds 64 bits");
        return outer;
    }

    const place& where_;
    std::span<const std::uint64_t> dynamic_;
    std::size_t used_ = 0;
    std::uint64_t bytes_ = 0;
    std::string_view space_;
};

}  // namespace planner
