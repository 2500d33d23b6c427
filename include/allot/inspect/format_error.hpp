// SPDX-License-Identifier: BSL-1.0
// format_error: the reason for which the bytes of a trace, an event log or a snapshot are refused, and the offset of
// the first byte that is wrong.
//
//     auto read = allot::read_event_log(bytes);
//     if (!read) std::printf("%s at byte %zu\n", read.error.what(), read.error.position);
//     for (const allot::memory_event& each : read.value.events) …  // the events before the error
//
// When to use: to report a file that cannot be read, and to use the part of it that can be read.
// When not to use: for the reasons for which an allocation fails. Use `diagnosis`.
//
// Complexity: O(1).
// Memory: an error is 16 bytes.
// Thread safety: errors are plain values.
#pragma once

#include <cstddef>

namespace allot {
inline namespace v1 {

/// The reason for which bytes are refused.
enum class format_refusal : unsigned char {
    none,              ///< No error.
    other_format,      ///< The bytes do not start with the magic letters of the format.
    other_version,     ///< The format has a version that this reader does not know.
    truncated,         ///< The bytes end inside a number or a text, or before the last record.
    number_too_large,  ///< A number has more than 64 bits.
    unknown_kind,      ///< A record has a kind or a flag that the format does not define.
    unknown_tag,       ///< A record refers to a tag without a name.
    unknown_block,     ///< An event refers to a block before the first one.
    not_live,          ///< An event refers to a block that is already deallocated.
    bad_alignment,     ///< An alignment exceeds 64 bits, or a reset has a size.
    too_large,         ///< An address, a time, a count or a sum of sizes exceeds its number of bits.
    wrong_count,       ///< The number of events differs from the stated number.
    trailing_bytes,    ///< Bytes follow the last record.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(format_refusal reason) noexcept {
    switch (reason) {
        case format_refusal::none: return "no error";
        case format_refusal::other_format: return "the bytes are of another format";
        case format_refusal::other_version: return "the format has an unknown version";
        case format_refusal::truncated: return "the bytes end before the last record";
        case format_refusal::number_too_large: return "a number has more than 64 bits";
        case format_refusal::unknown_kind: return "a record has an unknown kind or flag";
        case format_refusal::unknown_tag: return "a record refers to a tag without a name";
        case format_refusal::unknown_block: return "an event refers to a block before the first one";
        case format_refusal::not_live: return "an event refers to a block that is not live";
        case format_refusal::bad_alignment: return "an alignment is too large, or a reset has a size";
        case format_refusal::too_large: return "an address, a time, a count or a sum of sizes is too large";
        case format_refusal::wrong_count: return "the number of events differs from the stated number";
        case format_refusal::trailing_bytes: return "bytes follow the last record";
    }
    return "unknown";
}

/// A refusal and its place.
struct format_error {
    format_refusal reason = format_refusal::none;  ///< The reason.
    std::size_t position = 0;                      ///< The index of the first byte of the invalid record or number.

    /// Returns a human-readable description of the reason.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(reason); }
};

/// The result of a reader: the part before the first error, and this error. It is true if all bytes were read.
template <class Value>
struct format_reading {
    Value value{};         ///< The part of the file before the error, or the whole file.
    format_error error{};  ///< The error; its reason is `none` if all bytes were read.

    /// Returns true if there was no error.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return error.reason == format_refusal::none; }
};

}  // namespace v1
}  // namespace allot
