// The declarations of allot/windows beside those of <windows.h>, in either order.
#include <allot/windows.hpp>

#include <doctest/doctest.h>

#if defined(_WIN32)
#include <windows.h>

#include <cstddef>

using allot::windows::detail::memory_information;
namespace kernel = allot::windows::detail;

static_assert(sizeof(memory_information) == sizeof(MEMORY_BASIC_INFORMATION));
static_assert(offsetof(memory_information, allocation_base) == offsetof(MEMORY_BASIC_INFORMATION, AllocationBase));
static_assert(offsetof(memory_information, bytes) == offsetof(MEMORY_BASIC_INFORMATION, RegionSize));
static_assert(offsetof(memory_information, state) == offsetof(MEMORY_BASIC_INFORMATION, State));
static_assert(kernel::mem_commit == MEM_COMMIT && kernel::mem_reserve == MEM_RESERVE);
static_assert(kernel::mem_decommit == MEM_DECOMMIT && kernel::mem_release == MEM_RELEASE);
static_assert(kernel::mem_large_pages == MEM_LARGE_PAGES);
static_assert(kernel::page_noaccess == PAGE_NOACCESS && kernel::page_readwrite == PAGE_READWRITE);

TEST_CASE("windows kernel: the constants are those of the system") {
    SYSTEM_INFO about{};
    ::GetSystemInfo(&about);
    CHECK(about.dwPageSize == kernel::page);
    CHECK(about.dwAllocationGranularity == kernel::address_unit);
}
#else
TEST_CASE("windows kernel: the declarations compile on a system without these functions") {
    CHECK(sizeof(allot::windows::virtual_memory) == sizeof(std::size_t));
}
#endif
