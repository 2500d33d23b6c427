// SPDX-License-Identifier: BSL-1.0
// record_memory: cuts the arrays of a page cache from one range of bytes, or counts the bytes that they need.
#pragma once

#include <allot/core/arithmetic.hpp>

#include <cstddef>
#include <new>
#include <span>

namespace allot {
inline namespace v1 {
namespace detail {

/// Cuts arrays from the bytes that a caller gave for records, or only counts them.
class record_memory {
public:
    constexpr record_memory() noexcept = default;
    constexpr explicit record_memory(std::span<std::byte> bytes) noexcept : at_{bytes.data()}, left_{bytes.size()} {}

    /// Returns an array of value-initialized elements; an empty one while counting, or if the bytes do not suffice.
    template <class Element>
    constexpr std::span<Element> take(std::size_t count) noexcept {
        std::size_t bytes = 0;
        if (!checked_multiply<std::size_t>(count, sizeof(Element), bytes) ||
            !checked_add<std::size_t>(bytes, unit - 1, bytes) ||
            !checked_add<std::size_t>(total_, bytes / unit * unit, total_))
            return total_ = no_bytes, std::span<Element>{};
        bytes = bytes / unit * unit;
        if (at_ == nullptr || bytes > left_) return {};
        auto* const first = reinterpret_cast<Element*>(at_);
        for (std::size_t i = 0; i != count; ++i) new (first + i) Element{};
        at_ += bytes;
        left_ -= bytes;
        return {first, count};
    }
    /// Returns whether arrays can start at a position.
    [[nodiscard]] static bool can_start_at(const std::byte* first) noexcept {
        return reinterpret_cast<std::uintptr_t>(first) % unit == 0;
    }
    /// Returns the product, or `no_bytes` if it exceeds the address space.
    [[nodiscard]] static constexpr std::size_t product(std::size_t a, std::size_t b) noexcept {
        std::size_t made = 0;
        return checked_multiply(a, b, made) ? made : no_bytes;
    }
    /// Returns the number of bytes that were asked for, or `no_bytes` if it exceeds the address space.
    [[nodiscard]] constexpr std::size_t total() const noexcept { return total_; }

    static constexpr std::size_t unit = 16;
    static constexpr std::size_t no_bytes = std::numeric_limits<std::size_t>::max();

private:
    std::byte* at_ = nullptr;
    std::size_t left_ = 0;
    std::size_t total_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
