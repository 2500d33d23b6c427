// SPDX-License-Identifier: BSL-1.0
// value_range: a range of values for each symbol, and its parts.
//
// Internal. A range is divided at the middle of a symbol, or at another value.
#pragma once

#include <allot/core/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

struct value_range {
    static constexpr std::uint64_t limit = std::uint64_t{1} << 31U;
    std::vector<std::uint64_t> least, most;

    [[nodiscard]] bool is_point() const noexcept { return least == most; }
    [[nodiscard]] bool holds(std::span<const std::uint64_t> values) const noexcept {
        for (std::size_t i = 0; i != values.size(); ++i)
            if (values[i] < least[i] || values[i] > most[i]) return false;
        return true;
    }
    /// Returns the number of values, at most 2^31.
    [[nodiscard]] std::uint64_t count() const noexcept {
        std::uint64_t product = 1;
        for (std::size_t i = 0; i != least.size(); ++i) {
            const std::uint64_t other = most[i] - least[i];
            product = other >> 32U != 0 ? limit : std::min(limit, product * (other + 1));
        }
        return product;
    }
    /// Returns one of a sequence of values that are spread over the range.
    [[nodiscard]] std::vector<std::uint64_t> sample(std::uint64_t number) const {
        constexpr std::uint64_t golden = 0x9E37'79B9'7F4A'7C15U;
        std::vector<std::uint64_t> values;
        for (std::size_t i = 0; i != least.size(); ++i) {
            value_range within{{least[i]}, {most[i]}};
            std::uint64_t bits = number * golden;
            for (std::size_t k = 0; k <= i; ++k) bits = (bits ^ bits >> 29U) * golden;
            for (; !within.is_point(); bits <<= 1U)
                (bits >> 63U != 0 ? within.least : within.most)[0] = within.middle(0) + (bits >> 63U);
            values.push_back(within.least[0]);
        }
        return values;
    }
    /// Returns the middle of the values of a symbol: the arithmetic one, or a power of two times the least of a wide
    /// range. It is below the largest value.
    [[nodiscard]] std::uint64_t middle(std::size_t symbol) const noexcept {
        const std::uint64_t low = std::max<std::uint64_t>(least[symbol], 1), high = most[symbol];
        if (high / low < 4) return least[symbol] + (high - least[symbol]) / 2;
        return low << (highest_one(high / low) / 2);
    }
    /// Returns the part up to a value of a symbol, and the part above it.
    [[nodiscard]] value_range lower_part(std::size_t symbol, std::uint64_t cut) const {
        value_range part = *this;
        part.most[symbol] = cut;
        return part;
    }
    [[nodiscard]] value_range upper_part(std::size_t symbol, std::uint64_t cut) const {
        value_range part = *this;
        part.least[symbol] = cut + 1;
        return part;
    }
    [[nodiscard]] value_range lower_half(std::size_t symbol) const { return lower_part(symbol, middle(symbol)); }
    [[nodiscard]] value_range upper_half(std::size_t symbol) const { return upper_part(symbol, middle(symbol)); }
    /// Returns the symbol with the highest ratio of its largest value to its smallest one.
    [[nodiscard]] std::size_t widest() const noexcept {
        std::size_t found = 0;
        double most_ratio = 0;
        for (std::size_t i = 0; i != least.size(); ++i) {
            const double ratio = static_cast<double>(most[i] - least[i]) / static_cast<double>(least[i] + 1);
            if (ratio > most_ratio) {
                most_ratio = ratio;
                found = i;
            }
        }
        return found;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
