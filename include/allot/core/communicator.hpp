// SPDX-License-Identifier: BSL-1.0
// communicator: ranks that call together, and how they find out whether they all did the same.
//
//     struct my_ranks {
//         int rank() const noexcept;                                    // 0 … size() - 1
//         int size() const noexcept;
//         long maximum(std::span<std::uint64_t> values) noexcept;       // collective; 0, or an error code of its own
//     };
//
// `maximum` replaces every value by the greatest that any rank gave at its place. It is all that is needed: the least is
// the complement of the greatest complement, and ranks that agree have one as both. (A communicator that only knows signed
// numbers may compare the values as such: a complement turns that order around as well.)
//
//     rank 0   │ digest │ ~digest │ number │ ~number │ ─┐
//     rank 1   │ digest │ ~digest │ number │ ~number │ ─┴─► maximum ─► equal? least, greatest
//
// Every comparison is of the same four values, whatever is compared: ranks that meet in different calls get an answer
// (their digests differ) and do not wait for one another forever.
//
// Complexity: one reduction. Memory: none. Thread safety: that of the communicator.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v1 {

template <class Ranks>
concept communicator = requires(Ranks& ranks, const Ranks& constant, std::span<std::uint64_t> values) {
    { constant.rank() } noexcept -> std::same_as<int>;
    { constant.size() } noexcept -> std::same_as<int>;
    { ranks.maximum(values) } noexcept -> std::same_as<long>;
};

/// A digest of numbers in their order, the same on every machine. It finds mistakes, not attacks.
class rolling_hash {
public:
    constexpr void add(std::uint64_t number) noexcept {
        value_ = (value_ ^ number) * 0x9E37'79B9'7F4A'7C15U;  // 2^64 divided by the golden ratio: Fibonacci hashing
        value_ ^= value_ >> 32;
    }
    [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_ = 0x9E37'79B9'7F4A'7C15U;
};

/// What all ranks said, the same on every rank.
struct comparison {
    long error = 0;       // of the communicator; nothing else is known then
    bool equal = false;   // all gave the same digest
    std::uint64_t least = 0, greatest = 0;  // of the numbers
};

/// Collective. `number` is less than 2^63.
template <communicator Ranks>
[[nodiscard]] comparison compare_ranks(Ranks& ranks, std::uint64_t digest, std::uint64_t number = 0) noexcept {
    std::uint64_t values[] = {digest, ~digest, number, ~number};
    if (const long error = ranks.maximum(values); error != 0) return {error};
    return {0, values[0] == ~values[1], ~values[3], values[2]};
}

}  // namespace v1
}  // namespace allot
