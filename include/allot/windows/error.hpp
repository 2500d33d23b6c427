// SPDX-License-Identifier: BSL-1.0
// error: the error codes of Windows that the devices of this folder return, and a sentence for each.
//
//     const auto region = device.acquire({.size = 8_MiB});
//     if (!region) std::puts(allot::windows::to_string(region.error()));
//
// A code is that of GetLastError. A device passes every code of the system on, and it returns the codes below for
// requests that it refuses itself.
//
// When to use: to test for a code, or to report it, without <windows.h>.
// When not to use: for codes that are not listed. FormatMessage of Windows describes all of them.
//
// Complexity: O(1).
// Memory: none.
// Thread safety: pure functions.
#pragma once

namespace allot {
inline namespace v1 {
namespace windows {

/// An error code of Windows, `DWORD`.
using error_code = unsigned long;

/// The system lacks memory, or the request is larger than the device allows: ERROR_NOT_ENOUGH_MEMORY.
inline constexpr error_code not_enough_memory = 8;
/// Large pages are missing or have another size: ERROR_NOT_SUPPORTED.
inline constexpr error_code not_supported = 50;
/// The size or the alignment is invalid: ERROR_INVALID_PARAMETER.
inline constexpr error_code invalid_parameter = 87;
/// The account lacks the right to lock pages: ERROR_NOT_ALL_ASSIGNED.
inline constexpr error_code not_all_assigned = 1300;
/// The process did not enable the privilege to lock pages: ERROR_PRIVILEGE_NOT_HELD.
inline constexpr error_code privilege_not_held = 1314;
/// No contiguous large pages are free: ERROR_NO_SYSTEM_RESOURCES.
inline constexpr error_code no_system_resources = 1450;
/// The page file is too small: ERROR_COMMITMENT_LIMIT.
inline constexpr error_code commitment_limit = 1455;

/// Returns a sentence that describes a code and says what to do.
[[nodiscard]] constexpr const char* to_string(error_code code) noexcept {
    switch (code) {
        case 0: return "no error";
        case not_enough_memory: return "not enough memory or addresses, or more than the device reserves";
        case not_supported: return "large pages of this size do not exist: compare GetLargePageMinimum()";
        case invalid_parameter: return "the size or the alignment is invalid";
        case not_all_assigned:
            return "the account lacks the right \"Lock pages in memory\": add it in the local security policy, then "
                   "log "
                   "in again";
        case privilege_not_held:
            return "large pages need the privilege SeLockMemoryPrivilege: call allow_large_pages() first";
        case no_system_resources:
            return "no contiguous large pages are free: acquire them soon after the system starts";
        case commitment_limit: return "the page file is too small for this request";
        default: return "an error of Windows: see FormatMessage";
    }
}

}  // namespace windows
}  // namespace v1
}  // namespace allot
