// SPDX-License-Identifier: BSL-1.0
// output: collects the bytes of an exporter in a buffer, and passes each full buffer to a function.
//
// Complexity: O(bytes).
// Memory: a buffer of 64 KiB.
// Thread safety: requires external synchronization.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace allot {
inline namespace v1 {
namespace detail {

/// A buffer in front of `write(std::string_view)`. Call `flush` at the end.
template <class Write>
class output {
public:
    explicit output(Write& write) : write_{write} {}

    void text(std::string_view bytes) {
        if (bytes.size() > capacity - used_) flush();
        if (bytes.size() > capacity) return static_cast<void>(write_(bytes));
        bytes.copy(buffer_.get() + used_, bytes.size());
        used_ += bytes.size();
    }
    void byte(unsigned value) {
        if (used_ == capacity) flush();
        buffer_[used_++] = static_cast<char>(value);
    }
    /// Writes a number with decimal digits.
    template <std::integral Number>
    void number(Number value) {
        if (capacity - used_ < 20) flush();
        used_ = static_cast<std::size_t>(std::to_chars(buffer_.get() + used_, buffer_.get() + capacity, value).ptr -
                                         buffer_.get());
    }
    /// Writes the low bytes of a number, low bytes first.
    void little_endian(std::uint64_t value, unsigned bytes) {
        for (; bytes != 0; --bytes, value >>= 8) byte(value & 0xFF);
    }
    void flush() {
        if (used_ != 0) write_(std::string_view{buffer_.get(), used_});
        used_ = 0;
    }

private:
    static constexpr std::size_t capacity = 65'536;
    Write& write_;
    std::unique_ptr<char[]> buffer_{new char[capacity]};
    std::size_t used_ = 0;
};

/// Returns the length of the UTF-8 sequence at the start of a text, or 0 if the bytes are not UTF-8.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) noexcept {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = at(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
    for (std::size_t i = 1; i != length; ++i)
        if ((at(i) & 0xC0) != 0x80) return 0;
    const bool is_short = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
    const bool is_outside = (first == 0xED && at(1) > 0x9F) || (first == 0xF4 && at(1) > 0x8F);
    return is_short || is_outside ? 0 : length;
}

/// Returns the text with U+FFFD in place of each byte that is not UTF-8.
[[nodiscard]] inline std::string as_utf8(std::string_view text) {
    std::string made;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        made += length == 0 ? std::string_view{"\xEF\xBF\xBD"} : text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return made;
}

/// Returns the text as a JSON string with its quotes.
[[nodiscard]] inline std::string as_json(std::string_view text) {
    std::string made = "\"";
    for (const char letter : as_utf8(text)) {
        if (letter == '"' || letter == '\\') made += '\\';
        if (static_cast<unsigned char>(letter) >= 0x20) {
            made += letter;
        } else {
            constexpr char digits[] = "0123456789abcdef";
            made += "\\u00";
            made += digits[letter / 16];
            made += digits[letter % 16];
        }
    }
    return made + '"';
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
