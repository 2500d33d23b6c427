// See kernel.hpp. One mapping of this system is one reservation.
#include "kernel.hpp"

#include <allot/core/arithmetic.hpp>
#include <allot/windows/detail/kernel.hpp>
#include <allot/windows/error.hpp>

#include <cstdint>
#include <cstring>
#include <cwchar>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <vector>

namespace {

namespace windows = allot::windows;
using windows::detail::dword;

struct reservation {
    std::size_t bytes = 0;
    std::vector<bool> committed;  // for each page
    bool locked = false;          // of large pages
};

fake_kernel::state_of_kernel now;
std::map<std::uintptr_t, reservation> all;
std::recursive_mutex lock;
thread_local dword last_error = 0;
using guard = std::lock_guard<std::recursive_mutex>;
constexpr std::size_t page = 4096, unit = 65536;

std::nullptr_t fail(dword code) {
    last_error = code;
    return nullptr;
}
std::nullptr_t violate() {
    ++now.violations;
    return fail(windows::invalid_parameter);
}

auto find(const void* at) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    auto found = all.upper_bound(address);
    if (found == all.begin()) return all.end();
    --found;
    return address < found->first + found->second.bytes ? found : all.end();
}

/// Changes the pages of a range, which must be in one reservation.
bool change(void* at, std::size_t bytes, bool commit) {
    const auto found = find(at);
    const std::size_t from = reinterpret_cast<std::uintptr_t>(at) % page;
    if (found == all.end() || bytes == 0) return false;
    const std::size_t first = (reinterpret_cast<std::uintptr_t>(at) - found->first) / page;
    const std::size_t last = first + (from + bytes + page - 1) / page;
    if (last * page > found->second.bytes || found->second.locked) return false;
    std::size_t changed = 0;
    for (std::size_t i = first; i != last; ++i) changed += found->second.committed[i] != commit;
    if (commit && now.committed + changed * page > now.commit_limit) {
        last_error = windows::commitment_limit;
        return false;
    }
    for (std::size_t i = first; i != last; ++i) found->second.committed[i] = commit;
    now.committed = commit ? now.committed + changed * page : now.committed - changed * page;
    auto* const start = reinterpret_cast<void*>(found->first + first * page);
    if (!commit) ::madvise(start, (last - first) * page, MADV_DONTNEED);
    return ::mprotect(start, (last - first) * page, commit ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

/// Reserves addresses at a multiple of `align`.
void* map(std::size_t bytes, std::size_t align) {
    std::size_t all_bytes = 0;
    if (!allot::checked_align_up(bytes, unit, bytes) || !allot::checked_add(bytes, align, all_bytes) ||
        all_bytes > now.address_limit)
        return fail(windows::not_enough_memory);
    void* const raw = ::mmap(nullptr, all_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) return fail(windows::not_enough_memory);
    const auto from = reinterpret_cast<std::uintptr_t>(raw), base = allot::align_up(from, std::uintptr_t{align});
    if (base != from) ::munmap(raw, base - from);
    ::munmap(reinterpret_cast<void*>(base + bytes), from + all_bytes - (base + bytes));
    all[base] = {bytes, std::vector<bool>(bytes / page), false};
    now.reserved += bytes;
    return reinterpret_cast<void*>(base);
}

void* reserve_large(std::size_t bytes) {
    if (!now.locks_pages) return fail(windows::privilege_not_held);
    if (bytes % now.large_page != 0) return violate();
    void* const base = map(bytes, now.large_page);
    if (base == nullptr) return nullptr;
    if (!change(base, bytes, true)) {
        windows::detail::VirtualFree(base, 0, windows::detail::mem_release);
        return fail(windows::no_system_resources);
    }
    all[reinterpret_cast<std::uintptr_t>(base)].locked = true;
    return base;
}

}  // namespace

fake_kernel::state_of_kernel& fake_kernel::state() noexcept { return now; }

namespace allot {
inline namespace v1 {
namespace windows {
namespace detail {

extern "C" {

void* VirtualAlloc(void* at, size bytes, dword type, dword protection) {
    const guard during{lock};
    const bool reserves = (type & mem_reserve) != 0, commits = (type & mem_commit) != 0;
    if (bytes == 0 || (!reserves && !commits) || (at != nullptr && reserves)) return violate();
    if (protection != (commits ? page_readwrite : page_noaccess)) return violate();
    if ((type & mem_large_pages) != 0) return reserves && commits ? reserve_large(bytes) : violate();
    if (!reserves) {
        last_error = 0;
        if (change(at, bytes, true)) return at;
        return last_error == commitment_limit ? nullptr : violate();
    }
    void* const base = map(bytes, unit);
    if (base == nullptr || !commits || change(base, bytes, true)) return base;
    VirtualFree(base, 0, mem_release);
    return fail(commitment_limit);
}

int VirtualFree(void* at, size bytes, dword type) {
    const guard during{lock};
    if (type == mem_decommit) return bytes != 0 && change(at, bytes, false) ? 1 : (violate(), 0);
    const auto found = all.find(reinterpret_cast<std::uintptr_t>(at));
    if (type != mem_release || bytes != 0 || found == all.end()) return violate(), 0;
    found->second.locked = false;
    change(at, found->second.bytes, false);
    now.reserved -= found->second.bytes;
    ::munmap(at, found->second.bytes);
    all.erase(found);
    return 1;
}

size VirtualQuery(const void* at, ::_MEMORY_BASIC_INFORMATION* to, size bytes) {
    const guard during{lock};
    const auto found = find(at);
    if (bytes < sizeof(memory_information)) return violate(), 0;
    memory_information information{};
    if (found != all.end()) {
        information.allocation_base = reinterpret_cast<void*>(found->first);
        const auto index = (reinterpret_cast<std::uintptr_t>(at) - found->first) / page;
        information.state = found->second.committed[index] ? mem_commit : mem_reserve;
    }
    std::memcpy(static_cast<void*>(to), &information, sizeof information);
    return sizeof information;
}

size GetLargePageMinimum() { return now.large_page; }
dword GetLastError() { return last_error; }

void* GetCurrentProcess() { return &now; }
int CloseHandle(void* handle) {
    if (handle != &last_error || now.open_handles == 0) return violate(), 0;
    --now.open_handles;
    return 1;
}
int OpenProcessToken(void* process, dword, void** token) {
    if (process != &now) return violate(), 0;
    ++now.open_handles;
    *token = &last_error;
    return 1;
}
int LookupPrivilegeValueW(const wchar_t* system, const wchar_t* name, ::_LUID* found) {
    if (system != nullptr || std::wcscmp(name, L"SeLockMemoryPrivilege") != 0) {
        last_error = 1313;  // ERROR_NO_SUCH_PRIVILEGE
        return 0;
    }
    *reinterpret_cast<dword*>(found) = 4;
    return 1;
}
int AdjustTokenPrivileges(void* token, int none, ::_TOKEN_PRIVILEGES* wanted, dword, ::_TOKEN_PRIVILEGES*, dword*) {
    const auto* const words = reinterpret_cast<const dword*>(wanted);  // the count, and the low part of the number
    if (token != &last_error || none != 0 || words[0] != 1 || words[1] != 4) return violate(), 0;
    now.locks_pages = now.may_lock;
    last_error = now.may_lock ? 0 : not_all_assigned;
    return 1;
}

}  // extern "C"

}  // namespace detail
}  // namespace windows
}  // namespace v1
}  // namespace allot
