// The codes of Windows: their numbers, and a sentence for each. <windows.h> comes first here, and last in kernel.hpp.
#if defined(_WIN32)
#include <windows.h>
#endif

#include <allot/allot.hpp>
#include <allot/windows.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace windows = allot::windows;

TEST_CASE("windows error: each code has a sentence of its own") {
    std::set<std::string> all;
    for (const windows::error_code code :
         {windows::error_code{0}, windows::not_enough_memory, windows::not_supported, windows::invalid_parameter,
          windows::not_all_assigned, windows::privilege_not_held, windows::no_system_resources,
          windows::commitment_limit, windows::error_code{5}})
        all.insert(windows::to_string(code));
    CHECK(all.size() == 9);
    CHECK(std::string{windows::to_string(windows::privilege_not_held)}.find("allow_large_pages()") !=
          std::string::npos);
    CHECK(std::string{windows::to_string(5)} == windows::to_string(6));
}

#if defined(_WIN32)
static_assert(windows::not_enough_memory == ERROR_NOT_ENOUGH_MEMORY && windows::not_supported == ERROR_NOT_SUPPORTED);
static_assert(windows::invalid_parameter == ERROR_INVALID_PARAMETER);
static_assert(windows::not_all_assigned == ERROR_NOT_ALL_ASSIGNED);
static_assert(windows::privilege_not_held == ERROR_PRIVILEGE_NOT_HELD);
static_assert(windows::no_system_resources == ERROR_NO_SYSTEM_RESOURCES);
static_assert(windows::commitment_limit == ERROR_COMMITMENT_LIMIT);
#endif
