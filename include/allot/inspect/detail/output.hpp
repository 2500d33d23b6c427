// SPDX-License-Identifier: BSL-1.0
// output: collects the bytes of an exporter in a buffer, and passes each full buffer to a function.
//
// Complexity: O(bytes).
// Memory: a buffer of 64 KiB.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/detail/json_text.hpp>

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

/// Returns the text with U+FFFD in place of each byte that is not UTF-8.
[[nodiscard]] inline std::string as_utf8(std::string_view text) {
    std::string made;
    for_each_letter(text, [&](std::string_view letter) { made += letter; });
    return made;
}

/// Returns the text as a JSON string with its quotes.
[[nodiscard]] inline std::string as_json(std::string_view text) {
    std::string made;
    write_json_text(text, [&](std::string_view piece) { made += piece; });
    return made;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
