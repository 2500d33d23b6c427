// SPDX-License-Identifier: BSL-1.0
// kernel: the functions of Windows that allot calls, declared as <windows.h> declares them.
//
// Internal. <windows.h> defines thousands of macros, among them `min`, `max` and `small`. A program may include it
// before or after this header. On other systems the functions are only declared, so that the headers compile everywhere
// and tests define them.
//
// Complexity, memory and thread safety: those of Windows.
#pragma once

#include <cstddef>

#if defined(_WIN32)
#define ALLOT_WINDOWS_FUNCTION(result) __declspec(dllimport) result __stdcall
#else
#define ALLOT_WINDOWS_FUNCTION(result) result
#endif

struct _MEMORY_BASIC_INFORMATION;  // NOLINT(bugprone-reserved-identifier)
struct _LUID;                      // NOLINT(bugprone-reserved-identifier)
struct _TOKEN_PRIVILEGES;          // NOLINT(bugprone-reserved-identifier)

namespace allot {
inline namespace v1 {
namespace windows {
namespace detail {

using dword = unsigned long;  // DWORD
#if defined(_WIN32) && !defined(_WIN64)
using size = unsigned long;  // SIZE_T, which is not std::size_t
#else
using size = std::size_t;
#endif

extern "C" {
ALLOT_WINDOWS_FUNCTION(void*) VirtualAlloc(void* at, size bytes, dword type, dword protection);
ALLOT_WINDOWS_FUNCTION(int) VirtualFree(void* at, size bytes, dword type);
ALLOT_WINDOWS_FUNCTION(size) VirtualQuery(const void* at, ::_MEMORY_BASIC_INFORMATION* found, size bytes);
ALLOT_WINDOWS_FUNCTION(size) GetLargePageMinimum();
ALLOT_WINDOWS_FUNCTION(dword) GetLastError();
ALLOT_WINDOWS_FUNCTION(void*) GetCurrentProcess();
ALLOT_WINDOWS_FUNCTION(int) CloseHandle(void* handle);
ALLOT_WINDOWS_FUNCTION(int) OpenProcessToken(void* process, dword access, void** token);
ALLOT_WINDOWS_FUNCTION(int) LookupPrivilegeValueW(const wchar_t* system, const wchar_t* name, ::_LUID* found);
ALLOT_WINDOWS_FUNCTION(int)
AdjustTokenPrivileges(void* token, int none, ::_TOKEN_PRIVILEGES* wanted, dword bytes, ::_TOKEN_PRIVILEGES* before,
                      dword* bytes_before);
}

constexpr dword mem_commit = 0x1000, mem_reserve = 0x2000, mem_decommit = 0x4000, mem_release = 0x8000;
constexpr dword mem_large_pages = 0x2000'0000;
constexpr dword page_noaccess = 0x01, page_readwrite = 0x04;

// The sizes of a page and of the unit of addresses, on all processors of Windows since Vista.
constexpr std::size_t page = 4096, address_unit = 65536;

// The layout of MEMORY_BASIC_INFORMATION. A processor of 32 bits has no `partition`, and the fields stay in order.
struct memory_information {
    void *base, *allocation_base;
    dword allocation_protection;
    std::size_t bytes;  // after the partition and its padding, which the compiler adds
    dword state, protection, type;
};

// Reserves addresses, of which no page has memory. Returns null on failure.
[[nodiscard]] inline void* reserve(std::size_t bytes) noexcept {
    return VirtualAlloc(nullptr, static_cast<size>(bytes), mem_reserve, page_noaccess);
}
// Gives memory to reserved pages. They read as zero.
[[nodiscard]] inline bool commit(void* at, std::size_t bytes) noexcept {
    return VirtualAlloc(at, static_cast<size>(bytes), mem_commit, page_readwrite) != nullptr;
}
// Takes the memory of pages. Their addresses stay reserved.
[[nodiscard]] inline bool decommit(void* at, std::size_t bytes) noexcept {
    return VirtualFree(at, static_cast<size>(bytes), mem_decommit) != 0;
}
// Ends a reservation with all its pages.
inline void release(void* reserved) noexcept { VirtualFree(reserved, 0, mem_release); }

// Returns the start of the reservation that contains an address.
[[nodiscard]] inline void* reservation_of(void* at) noexcept {
    memory_information found{};
    VirtualQuery(at, reinterpret_cast<::_MEMORY_BASIC_INFORMATION*>(&found), sizeof found);
    return found.allocation_base;
}

}  // namespace detail
}  // namespace windows
}  // namespace v1
}  // namespace allot
