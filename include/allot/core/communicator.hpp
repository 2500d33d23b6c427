// SPDX-License-Identifier: BSL-1.0
// communicator: the concept of ranks that call functions together, and a comparison of values over all ranks.
//
//     struct my_ranks {
//         int rank() const noexcept;                                    // 0 … size() - 1
//         int size() const noexcept;
//         long maximum(std::span<std::uint64_t> values) noexcept;       // collective; 0 or an error code
//     };
//
// `maximum` replaces each value by the maximum over all ranks of the values at that index. This one operation
// suffices. The minimum is the complement of the maximum of the complements, and all values are equal when minimum and
// maximum are. A communicator that supports only signed integers can compare the values as such: a complement reverses
// that order, too.
//
//     rank 0   │ digest │ ~digest │ number │ ~number │ ─┐
//     rank 1   │ digest │ ~digest │ number │ ~number │ ─┴─► maximum ─► equal? least, greatest
//
// Each comparison sends the same four values. Ranks that arrive from different functions therefore do not deadlock: the
// comparison completes and reports that their digests differ.
//
// When to use: to adapt a message-passing library, so that `symmetric` and the tensor layer can compare ranks.
// When not to use: to move data between ranks. A communicator only compares.
//
// Complexity: one reduction for each comparison.
// Memory: none.
// Thread safety: that of the communicator.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v1 {

/// A group of ranks with the members `rank()`, `size()` and the collective `maximum(values)`.
template <class Ranks>
concept communicator = requires(Ranks& ranks, const Ranks& constant, std::span<std::uint64_t> values) {
    { constant.rank() } noexcept -> std::same_as<int>;
    { constant.size() } noexcept -> std::same_as<int>;
    { ranks.maximum(values) } noexcept -> std::same_as<long>;
};

/// A digest of a sequence of numbers. It is the same on every machine. It detects mistakes, not attacks.
class rolling_hash {
public:
    /// Appends a number to the sequence.
    constexpr void add(std::uint64_t number) noexcept {
        value_ = (value_ ^ number) * 0x9E37'79B9'7F4A'7C15U;  // 2^64 divided by the golden ratio: Fibonacci hashing
        value_ ^= value_ >> 32;
    }
    /// Returns the digest of the numbers so far.
    [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_ = 0x9E37'79B9'7F4A'7C15U;
};

/// The result of a comparison over all ranks. It is the same on every rank.
struct comparison {
    long error = 0;              ///< The communicator's error code; if not 0, ignore the other members.
    bool equal = false;          ///< True when all ranks passed the same digest.
    std::uint64_t least = 0;     ///< The least number of any rank.
    std::uint64_t greatest = 0;  ///< The greatest number of any rank.
};

/// Compares a digest and a number over all ranks. Collective: every rank calls it. Precondition: `number < 2^63`.
template <communicator Ranks>
[[nodiscard]] comparison compare_ranks(Ranks& ranks, std::uint64_t digest, std::uint64_t number = 0) noexcept {
    std::uint64_t values[] = {digest, ~digest, number, ~number};
    if (const long error = ranks.maximum(values); error != 0) return {error};
    return {0, values[0] == ~values[1], ~values[3], values[2]};
}

}  // namespace v1
}  // namespace allot
