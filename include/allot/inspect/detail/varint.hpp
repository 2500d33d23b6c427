// SPDX-License-Identifier: BSL-1.0
// varint: reads and writes unsigned LEB128 numbers: seven bits in each byte, low bits first, and the top bit set in all
// bytes except the last.
//
// Complexity: O(1) for a number.
// Memory: a reader is 32 bytes.
// Thread safety: requires external synchronization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

/// Reads numbers from bytes. `Refusal` has the values `none`, `truncated` and `number_too_large`.
template <class Refusal>
class varint_reader {
public:
    constexpr explicit varint_reader(std::span<const std::byte> bytes) noexcept : bytes_{bytes} {}

    /// Returns false and records the reason.
    constexpr bool refuse(Refusal reason) noexcept {
        reason_ = reason;
        return false;
    }
    /// Makes the next byte the first byte of the current record.
    constexpr void begin_record() noexcept { begin_ = at_; }
    /// Skips bytes. Precondition: `n <= left()`.
    constexpr void skip(std::size_t n) noexcept { at_ += n; }

    [[nodiscard]] constexpr Refusal reason() const noexcept { return reason_; }
    [[nodiscard]] constexpr std::size_t begin() const noexcept { return begin_; }
    [[nodiscard]] constexpr std::size_t left() const noexcept { return bytes_.size() - at_; }
    /// Returns the bytes that are not read.
    [[nodiscard]] constexpr std::span<const std::byte> rest() const noexcept { return bytes_.subspan(at_); }

    /// Reads a byte. Returns false at the end.
    [[nodiscard]] constexpr bool byte(std::uint8_t& value) noexcept {
        if (at_ == bytes_.size()) return refuse(Refusal::truncated);
        value = std::to_integer<std::uint8_t>(bytes_[at_++]);
        return true;
    }
    /// Reads a number. Returns false at the end, and for a number of more than 64 bits.
    [[nodiscard]] constexpr bool number(std::uint64_t& value) noexcept {
        std::uint8_t digit = 0x80;
        value = 0;
        for (unsigned shift = 0; digit >= 0x80; shift += 7) {
            if (!byte(digit)) return false;
            if (shift > 63 || (shift == 63 && (digit & 0x7F) > 1)) return refuse(Refusal::number_too_large);
            value |= static_cast<std::uint64_t>(digit & 0x7F) << shift;
        }
        return true;
    }

private:
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0, begin_ = 0;  // the next byte, and the first byte of the current record
    Refusal reason_ = Refusal::none;
};

/// Appends a number.
constexpr void append_varint(std::uint64_t value, std::vector<std::byte>& to) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
    to.push_back(static_cast<std::byte>(value));
}

/// Appends the bytes of a text.
constexpr void append_text(std::string_view text, std::vector<std::byte>& to) {
    for (const char letter : text) to.push_back(static_cast<std::byte>(letter));
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
