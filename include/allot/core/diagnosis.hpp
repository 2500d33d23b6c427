// SPDX-License-Identifier: BSL-1.0
// diagnosis: why an allocator would refuse a layout, worked out when asked and never on the way.
//
//     if (auto block = arena.allocate(wanted); !block) log(arena.diagnose(wanted).what());
#pragma once

#include <allot/core/layout.hpp>

namespace allot {
inline namespace v1 {

enum class refusal : unsigned char {
    none,            // it would be served
    empty_layout,    // size 0
    bad_alignment,   // an alignment that is 0 or no power of two
    misaligned,      // the base cannot honour the alignment
    exhausted,       // fewer bytes are free than asked for
    fragmented,      // enough bytes are free, but no hole fits, or none of those that the strategy looks at
    not_free,        // the bytes that were claimed are in use, or not managed here
    out_of_records,  // a hole fits, but the side table has no record left to cut it
    over_limit,      // more than this allocator may ever give: slot size, region count, growth limit
    device_refused,  // the device gave no memory; its own code is in `device_error`
};

/// One sentence for a person.
[[nodiscard]] constexpr const char* to_string(refusal reason) noexcept {
    switch (reason) {
        case refusal::none: return "the request would be served";
        case refusal::empty_layout: return "a size of 0 was asked for";
        case refusal::bad_alignment: return "the alignment is not a power of two";
        case refusal::misaligned: return "the memory's base cannot honour the alignment";
        case refusal::exhausted: return "fewer bytes are free than were asked for";
        case refusal::fragmented: return "enough bytes are free, but no hole fits the size and alignment";
        case refusal::not_free: return "the bytes that were claimed are not free";
        case refusal::out_of_records: return "the side table has no record left";
        case refusal::over_limit: return "the request is over this allocator's limit";
        case refusal::device_refused: return "the device refused to give memory";
    }
    return "unknown";
}

struct diagnosis {
    refusal reason = refusal::none;
    std::uint64_t largest_hole = 0;  // bytes of the largest hole, whatever its alignment
    long device_error = 0;           // the device's own code when `reason` is `device_refused`

    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(reason); }
    friend constexpr bool operator==(const diagnosis&, const diagnosis&) = default;
};

/// What is wrong with a layout by itself, whoever is asked; `none` for a valid one.
template <std::unsigned_integral Offset>
[[nodiscard]] constexpr refusal invalidity(basic_layout<Offset> wanted) noexcept {
    if (wanted.size == 0) return refusal::empty_layout;
    return is_alignment(wanted.align) ? refusal::none : refusal::bad_alignment;
}

}  // namespace v1
}  // namespace allot
