// SPDX-License-Identifier: BSL-1.0
// tensor_form: the dtype, the shape and the strides of a tensor in 32 bytes.
//
// The strides of a slice are those of the tensor that contains it, and follow from the extents of that tensor. A form
// therefore has one or two lists of extents: those of the tensor, and those of the compact tensor around it. The lists
// are in 192 bits, in the first of these units that has room for them:
//
//     unit     lists together
//     word     6 extents of 32 bits
//     half     12 extents of 16 bits
//     packed   first the number of bits of each axis, 6 bits each, then all extents in as many bits
//
// A tensor with elements has at most 2^64 of them. Two lists of eight extents then have at most 2 · (64 + 7) bits, and
// the packed unit always suffices. For a shape without elements, `element_count` has a limit (`max_extent_bits`).
// Tensors of other libraries can have strides that no compact tensor has. These remain in the lease (dlpack.hpp).
//
// Complexity: O(rank). Memory: 32 bytes. Thread safety: forms are values.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/tensor/shape.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// The dtype, shape and strides of a tensor.
class tensor_form {
public:
    /// Creates the form of an empty handle: the shape {0}.
    constexpr tensor_form() noexcept = default;
    /// Creates the form of a compact tensor. Precondition: `element_count(extents)` succeeds.
    constexpr tensor_form(dtype type, const shape& extents, bool shares_last_byte = false) noexcept : dtype_{type} {
        rest_ = {static_cast<unsigned char>(extents.rank()), unit::word, 0, shares_last_byte};
        bool fits = extents.rank() <= words;
        for (std::size_t axis = 0; fits && axis != extents.rank(); ++axis) {
            words_[axis] = static_cast<std::uint32_t>(extents[axis]);
            fits = static_cast<std::uint64_t>(extents[axis]) >> 32 == 0;
        }
        if (!fits) set_lists(extents, nullptr);
    }
    /// Creates the form of a tensor with strides. Strides that no compact tensor around this one has must be in the
    /// lease. Precondition: as above, and both have the same rank.
    constexpr tensor_form(dtype type, const shape& extents, const strides& steps, bool shares_last_byte) noexcept
        : tensor_form{type, extents, shares_last_byte} {
        if (steps == compact_strides(extents)) return;
        shape around = extents;
        if (find_around(extents, steps, around)) set_lists(extents, &around);
        else rest_.flags = by_lease_flag;
        if (!allot::is_compact(extents, steps)) rest_.flags |= gaps;
    }

    /// Sets the dtype and the shape of a compact tensor and counts its bytes, if both are valid, elements are whole
    /// bytes, and no extent and no row has 2^32 bytes or more. Returns false for other tensors.
    [[nodiscard]] ALLOT_INLINE constexpr bool set_plain(dtype type, const shape& extents,
                                                        std::uint64_t& bytes) noexcept {
        const std::size_t rank = extents.rank();
        if (rank > words || !type.is_whole_bytes()) return false;
        if (type.code >= dtype_code::float8_e3m4 && (type.code >= dtype_code::float6_e2m3fn || type.bits != 8))
            return false;
        bytes = type.element_bytes();  // 0 without bits or lanes
        for (std::size_t axis = rank; axis-- != 0;) {
            const auto n = static_cast<std::uint64_t>(extents[axis]);
            if ((n | bytes) >> 32 != 0) return false;  // the product of smaller numbers fits
            bytes *= n;
            words_[axis] = static_cast<std::uint32_t>(n);
        }
        dtype_ = type;
        rest_ = {static_cast<unsigned char>(rank), unit::word};
        return true;
    }
    /// Returns the form of a part with the same strides. Precondition: the part has elements and is inside the tensor.
    [[nodiscard]] constexpr tensor_form part(const shape& sizes, const strides& steps,
                                             bool shares_last_byte) const noexcept {
        tensor_form fresh{dtype_, sizes, shares_last_byte};
        const std::size_t rank = rest_.rank, first = has_around() ? rank : 0;
        if (by_lease()) {
            fresh.rest_.flags = by_lease_flag;
        } else if (rest_.kind == unit::word && 2 * rank <= words) {
            fresh.rest_.flags = around_flag;
            for (std::size_t axis = 0; axis != rank; ++axis) fresh.words_[rank + axis] = words_[first + axis];
        } else {
            const shape around = list(first);
            fresh.set_lists(sizes, &around);
        }
        if (!allot::is_compact(sizes, steps)) fresh.rest_.flags |= gaps;
        return fresh;
    }
    /// Removes all elements. The dtype remains.
    constexpr void clear() noexcept { rest_ = {}; }

    [[nodiscard]] constexpr dtype type() const noexcept { return dtype_; }
    [[nodiscard]] constexpr bool shares_last_byte() const noexcept { return rest_.shares_last_byte; }
    /// Returns whether the lease has the strides.
    [[nodiscard]] constexpr bool by_lease() const noexcept { return (rest_.flags & by_lease_flag) != 0; }
    [[nodiscard]] constexpr bool is_compact() const noexcept { return (rest_.flags & gaps) == 0; }

    [[nodiscard]] constexpr shape extents() const noexcept { return list(0); }
    /// Returns the strides. Precondition: `!by_lease()`.
    [[nodiscard]] constexpr strides steps() const noexcept {
        const shape extents = list(has_around() ? rest_.rank : 0);
        strides found;
        found.rank_ = rest_.rank;
        std::uint64_t step = 1;  // as in `compact_strides`
        for (std::size_t axis = rest_.rank; axis-- != 0;) {
            found[axis] = static_cast<std::int64_t>(step);
            if (extents[axis] > 1) step *= static_cast<std::uint64_t>(extents[axis]);
        }
        return found;
    }
    [[nodiscard]] constexpr std::size_t size() const noexcept {
        if (rest_.kind != unit::word) return *element_count(extents());
        std::size_t count = 1;
        for (std::size_t axis = 0; axis != rest_.rank; ++axis) count *= words_[axis];
        return count;
    }

private:
    enum class unit : unsigned char { none, word, half, packed };  // none: the shape {0}

    // There is a second list; the lease has the strides; the elements are not contiguous.
    static constexpr unsigned char around_flag = 1, by_lease_flag = 2, gaps = 4;

    static constexpr std::size_t words = 6;
    static constexpr unsigned width_bits = 6;  // of the number of bits of an extent, up to 63

    [[nodiscard]] constexpr bool has_around() const noexcept { return (rest_.flags & around_flag) != 0; }
    /// Returns the list that begins with this number.
    [[nodiscard]] constexpr shape list(std::size_t first) const noexcept {
        shape found;
        found.rank_ = rest_.rank;
        switch (rest_.kind) {
            case unit::word:
                for (std::size_t axis = 0; axis != rest_.rank; ++axis) found[axis] = words_[first + axis];
                break;
            case unit::half:
                for (std::size_t axis = 0; axis != rest_.rank; ++axis)
                    found[axis] = words_[(first + axis) / 2] >> (first + axis) % 2 * 16 & 0xFFFF;
                break;
            case unit::packed: unpack(first, found); break;
            case unit::none: break;
        }
        return found;
    }
    /// Sets the extents and, unless it is null, the list of the compact tensor around them.
    constexpr void set_lists(const shape& extents, const shape* around) noexcept {
        const std::size_t rank = extents.rank(), count = rank * (around == nullptr ? 1 : 2);
        const auto at = [&](std::size_t i) {
            return static_cast<std::uint64_t>(i < rank ? extents[i] : (*around)[i - rank]);
        };
        if (around != nullptr) rest_.flags = around_flag;
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i != count; ++i) bits |= at(i);
        if (count <= words && bits >> 32 == 0) {
            for (std::size_t i = 0; i != count; ++i) words_[i] = static_cast<std::uint32_t>(at(i));
        } else if (count <= 2 * words && bits >> 16 == 0) {
            rest_.kind = unit::half;
            for (std::size_t i = 0; i < count; i += 2)
                words_[i / 2] = static_cast<std::uint32_t>(at(i) | (i + 1 == count ? 0 : at(i + 1)) << 16);
        } else {
            pack(extents, around);
        }
    }
    /// Computes the extents of a compact tensor with these strides. Returns false if no such tensor exists, or if both
    /// lists do not fit. Precondition: there is an axis.
    [[nodiscard]] static constexpr bool find_around(const shape& extents, const strides& steps,
                                                    shape& around) noexcept {
        if (steps[steps.rank() - 1] != 1) return false;
        std::size_t bits = 0;
        for (std::size_t axis = extents.rank(); axis-- != 0;) {
            if (axis != 0) {
                if (steps[axis - 1] < steps[axis] || steps[axis - 1] % steps[axis] != 0) return false;
                around[axis] = steps[axis - 1] / steps[axis];
            }
            bits += width_bits + 2 * width_of(extents[axis], around[axis]);
        }
        return bits <= words * 32;
    }
    [[nodiscard]] static constexpr unsigned width_of(std::int64_t a, std::int64_t b) noexcept {
        return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b)));
    }

    ALLOT_COLD constexpr void pack(const shape& extents, const shape* around) noexcept {
        for (std::uint32_t& word : words_) word = 0;
        rest_.kind = unit::packed;
        std::size_t at = 0;
        for (std::size_t axis = 0; axis != rest_.rank; ++axis)
            put(at, width_bits, width_of(extents[axis], around == nullptr ? 0 : (*around)[axis]));
        for (const shape* each : {&extents, around}) {
            for (std::size_t axis = 0; each != nullptr && axis != rest_.rank; ++axis)
                put(at, width(axis), static_cast<std::uint64_t>((*each)[axis]));
        }
    }
    ALLOT_COLD constexpr void unpack(std::size_t first, shape& found) const noexcept {
        std::size_t at = width_bits * std::size_t{rest_.rank};
        for (std::size_t each = 0; each <= first; each += std::size_t{rest_.rank}) {
            for (std::size_t axis = 0; axis != rest_.rank; ++axis) {
                found[axis] = static_cast<std::int64_t>(get(at, width(axis)));
                at += width(axis);
            }
        }
    }
    [[nodiscard]] constexpr unsigned width(std::size_t axis) const noexcept {
        return static_cast<unsigned>(get(axis * width_bits, width_bits));
    }
    constexpr void put(std::size_t& at, unsigned width, std::uint64_t value) noexcept {
        for (unsigned done = 0; done != width;) {
            const auto shift = static_cast<unsigned>(at % 32), part = std::min(32 - shift, width - done);
            const std::uint64_t bits = value >> done & ((std::uint64_t{1} << part) - 1);
            words_[at / 32] |= static_cast<std::uint32_t>(bits << shift);
            at += part;
            done += part;
        }
    }
    [[nodiscard]] constexpr std::uint64_t get(std::size_t at, unsigned width) const noexcept {
        std::uint64_t value = 0;
        for (unsigned done = 0; done != width;) {
            const auto shift = static_cast<unsigned>(at % 32), part = std::min(32 - shift, width - done);
            value |= (words_[at / 32] >> shift & ((std::uint64_t{1} << part) - 1)) << done;
            at += part;
            done += part;
        }
        return value;
    }

    std::uint32_t words_[words]{};
    allot::dtype dtype_{};
    struct rest {
        unsigned char rank = 1;
        unit kind = unit::none;
        unsigned char flags = 0;
        bool shares_last_byte = false;
    };
    rest rest_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
