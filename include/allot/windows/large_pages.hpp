// SPDX-License-Identifier: BSL-1.0
// large_pages: enables the privilege that large pages need (Windows).
//
//     if (const auto refused = allot::windows::allow_large_pages()) std::puts(allot::windows::to_string(refused));
//     allot::windows::pages<allot::windows::pages_options{.huge = allot::windows::huge_pages::required}> device;
//
// Two steps lead to large pages. An administrator gives the account the right "Lock pages in memory"
// (SeLockMemoryPrivilege). Then each process enables this privilege, which the function does.
//
// When to use: once, before the first large page.
// When not to use: for ordinary pages. In libraries, because the privilege belongs to the process: let the program
// decide.
//
// Complexity: five system calls.
// Memory: none.
// Thread safety: concurrent calls are safe. The privilege is a property of the process.
// Linking: advapi32, which MSVC and MinGW link by default.
#pragma once

#include <allot/windows/detail/kernel.hpp>
#include <allot/windows/error.hpp>

namespace allot {
inline namespace v1 {
namespace windows {

/// Enables SeLockMemoryPrivilege for this process. Returns 0, `not_all_assigned` if the account lacks the right, or
/// another code of the system.
[[nodiscard]] inline error_code allow_large_pages() noexcept {
    constexpr detail::dword adjust_privileges = 0x20, query = 0x08, enabled = 2;
    struct {
        detail::dword count, low;
        long high;
        detail::dword attributes;
    } wanted{1, 0, 0, enabled};  // TOKEN_PRIVILEGES, with one LUID
    void* token = nullptr;
    if (!detail::OpenProcessToken(detail::GetCurrentProcess(), adjust_privileges | query, &token))
        return detail::GetLastError();
    if (detail::LookupPrivilegeValueW(nullptr, L"SeLockMemoryPrivilege", reinterpret_cast<::_LUID*>(&wanted.low)))
        detail::AdjustTokenPrivileges(token, 0, reinterpret_cast<::_TOKEN_PRIVILEGES*>(&wanted), 0, nullptr, nullptr);
    const error_code refused = detail::GetLastError();  // a successful adjustment states whether it gave the privilege
    detail::CloseHandle(token);
    return refused;
}

}  // namespace windows
}  // namespace v1
}  // namespace allot
