// The functions of Windows for these tests: those of the system under Windows and Wine, otherwise a fake.
#pragma once

#include <allot/windows.hpp>

#if defined(_WIN32)
#include <windows.h>
#else
#include "../../fakes/windows/kernel.hpp"
#endif

#include "../../laws/device_laws.hpp"
#include "../../devices_used.hpp"

namespace kernel {

/// Returns whether the page at this address has memory.
[[nodiscard]] inline bool is_committed(const void* at) {
    allot::windows::detail::memory_information found{};
    allot::windows::detail::VirtualQuery(at, reinterpret_cast<::_MEMORY_BASIC_INFORMATION*>(&found), sizeof found);
    return found.state == allot::windows::detail::mem_commit;
}

#if defined(_WIN32)
/// The system, as Wine states it.
[[nodiscard]] inline std::string name() {
    const HMODULE library = ::GetModuleHandleA("ntdll.dll");
    const auto version =
        reinterpret_cast<const char* (*)()>(reinterpret_cast<void*>(::GetProcAddress(library, "wine_get_version")));
    return version != nullptr ? std::string{"Wine "} + version() : "Windows";
}
inline void seen(const char* device) { tests::seen(device, name()); }
using resources = laws::no_resources;  // the heap of the C library changes the number of mapped pages
/// The kernel is a real one.
inline constexpr bool is_fake = false;
#else
inline void seen(const char* device) { tests::seen_on_fake_driver(device); }
/// The bytes that the fake kernel has given out.
struct resources {
    [[nodiscard]] laws::held_resources operator()() const {
        const auto& now = fake_kernel::state();
        return {now.violations + now.open_handles, now.reserved + now.committed};
    }
};
inline constexpr bool is_fake = true;
#endif

}  // namespace kernel
