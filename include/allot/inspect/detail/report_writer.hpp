// SPDX-License-Identifier: BSL-1.0
// report_writer: writes the parts of a report as text or as JSON.
//
// Internal. A sink is any function that accepts a std::string_view. The writer passes short pieces to it, stores no
// text and allocates nothing.
#pragma once

#include <allot/core/diagnosis.hpp>
#include <allot/inspect/detail/json_text.hpp>

#include <charconv>
#include <string_view>

namespace allot {
inline namespace v1 {
namespace detail {

/// The name of a reason in JSON: that of the enumerator.
[[nodiscard]] constexpr std::string_view name_of(refusal reason) noexcept {
    switch (reason) {
        case refusal::none: return "none";
        case refusal::empty_layout: return "empty_layout";
        case refusal::bad_alignment: return "bad_alignment";
        case refusal::misaligned: return "misaligned";
        case refusal::exhausted: return "exhausted";
        case refusal::fragmented: return "fragmented";
        case refusal::not_free: return "not_free";
        case refusal::out_of_records: return "out_of_records";
        case refusal::over_limit: return "over_limit";
        case refusal::device_refused: return "device_refused";
        case refusal::pending: return "pending";
    }
    return "unknown";
}

/// A sink that fills a buffer and counts the characters that do not fit.
class buffer_sink {
public:
    buffer_sink(char* buffer, std::size_t size) noexcept : buffer_{buffer}, size_{size} {}
    void operator()(std::string_view text) noexcept {
        for (const char each : text) {
            if (length_ + 1 < size_) buffer_[length_] = each;
            ++length_;
        }
    }
    /// Ends the text with a zero. Returns the length of the whole text.
    std::size_t finish() noexcept {
        if (size_ != 0) buffer_[length_ < size_ ? length_ : size_ - 1] = 0;
        return length_;
    }

private:
    char* buffer_;
    std::size_t size_;
    std::size_t length_ = 0;
};

/// Writes text with indented lines, and JSON with one object per `open`.
template <class Sink>
class report_writer {
public:
    report_writer(Sink& sink, bool json) noexcept : sink_{sink}, json_{json} {}

    [[nodiscard]] bool json() const noexcept { return json_; }

    // ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    report_writer& line() {
        for (unsigned i = 0; i != depth_; ++i) sink_(std::string_view{"  "});
        return *this;
    }
    report_writer& text(std::string_view words) {
        sink_(words);
        return *this;
    }
    report_writer& number(std::uint64_t value, int base = 10) {
        char digits[24];
        const auto end = std::to_chars(digits, digits + sizeof digits, value, base).ptr;
        return text({digits, static_cast<std::size_t>(end - digits)});
    }
    report_writer& signed_number(long value) {
        char digits[24];
        const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
        return text({digits, static_cast<std::size_t>(end - digits)});
    }
    void indent() noexcept { ++depth_; }
    void outdent() noexcept { --depth_; }

    // ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    void key(std::string_view name) {
        if (comma_) sink_(std::string_view{","});
        comma_ = false;
        if (name.empty()) return;
        quoted(name);
        sink_(std::string_view{":"});
    }
    void open(std::string_view name, std::string_view bracket) {
        key(name);
        sink_(bracket);
        comma_ = false;
    }
    void close(std::string_view bracket) {
        sink_(bracket);
        comma_ = true;
    }
    void field(std::string_view name, std::uint64_t value) {
        key(name);
        number(value);
        comma_ = true;
    }
    void field(std::string_view name, std::string_view value) {
        key(name);
        quoted(value);
        comma_ = true;
    }
    void signed_field(std::string_view name, long value) {
        key(name);
        signed_number(value);
        comma_ = true;
    }
    void flag(std::string_view name, bool value) {
        key(name);
        text(value ? "true" : "false");
        comma_ = true;
    }

private:
    void quoted(std::string_view words) { write_json_text(words, sink_); }

    Sink& sink_;
    bool json_;
    bool comma_ = false;
    unsigned depth_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
