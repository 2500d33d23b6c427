// SPDX-License-Identifier: BSL-1.0
// diagnosis: the reason for which an allocator cannot serve a layout.
//
//     if (auto block = arena.allocate(wanted); !block) log(arena.diagnose(wanted).what());
//
// `diagnose` determines the reason when it is called. `allocate` does no extra work for it.
//
// When to use: after a failed allocation, for a log or to select a remedy.
// When not to use: before an allocation, to test whether it will succeed. Allocate, and test the block.
//
// Complexity: that of `diagnose` of the allocator. The texts are constants.
// Memory: a diagnosis is 24 bytes on a 64-bit machine.
// Thread safety: a diagnosis is a plain value.
#pragma once

#include <allot/core/layout.hpp>

namespace allot {
inline namespace v1 {

/// The reason for a failed allocation.
enum class refusal : unsigned char {
    none,            ///< The request succeeds.
    empty_layout,    ///< The size is 0.
    bad_alignment,   ///< The alignment is 0 or not a power of two.
    misaligned,      ///< The base of the memory does not satisfy the alignment.
    exhausted,       ///< Fewer bytes are free than the request needs.
    fragmented,      ///< Enough bytes are free, but no hole that the strategy examines fits.
    not_free,        ///< The bytes of an `allocate_at` are in use or not managed by this allocator.
    out_of_records,  ///< A hole fits, but the side table has no free record to split it.
    over_limit,      ///< The request exceeds a limit of the allocator: slot size, region count, growth limit.
    device_refused,  ///< The device failed to provide memory. Its error code is in `device_error`.
    pending,         ///< The bytes that fit are free only after work that is not yet done.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(refusal reason) noexcept {
    switch (reason) {
        case refusal::none: return "the request would be served";
        case refusal::empty_layout: return "the size is 0";
        case refusal::bad_alignment: return "the alignment is not a power of two";
        case refusal::misaligned: return "the memory's base does not satisfy the alignment";
        case refusal::exhausted: return "fewer bytes are free than were asked for";
        case refusal::fragmented: return "enough bytes are free, but no hole fits the size and alignment";
        case refusal::not_free: return "the requested bytes are not free";
        case refusal::out_of_records: return "the side table has no free record";
        case refusal::over_limit: return "the request exceeds a limit of this allocator";
        case refusal::device_refused: return "the device refused to give memory";
        case refusal::pending: return "the bytes that fit are free only after work that is not yet done";
    }
    return "unknown";
}

/// The answer of `diagnose`: a reason, and measurements that explain it.
struct diagnosis {
    refusal reason = refusal::none;  ///< The reason.
    std::uint64_t largest_hole = 0;  ///< The size of the largest hole in bytes, for any alignment.
    long device_error = 0;           ///< The error code of the device, when the reason is `device_refused`.

    /// Returns a human-readable description of the reason.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(reason); }
    /// Compares all members.
    friend constexpr bool operator==(const diagnosis&, const diagnosis&) = default;
};

/// Returns the reason for which every allocator rejects a layout, or `none` for a valid layout.
template <std::unsigned_integral Offset>
[[nodiscard]] constexpr refusal invalidity(basic_layout<Offset> wanted) noexcept {
    if (wanted.size == 0) return refusal::empty_layout;
    return is_alignment(wanted.align) ? refusal::none : refusal::bad_alignment;
}

}  // namespace v1
}  // namespace allot
