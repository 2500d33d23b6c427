// The memory functions of Windows over pages of this system, for tests of allot/windows. It enforces the rules of
// Windows: a call that breaks one fails with the code of Windows, and `violations` counts it.
//
//     fake_kernel::state().commit_limit = 1 << 20;     // the page file is full after 1 MiB
//     fake_kernel::state().may_lock = true;            // the account has the right to lock pages
//
// Under Windows and Wine, the tests use the functions of the system instead.
#pragma once

#include <cstddef>

namespace fake_kernel {

struct state_of_kernel {
    std::size_t reserved = 0, committed = 0;  // bytes
    std::size_t address_limit = std::size_t{1} << (sizeof(std::size_t) == 8 ? 36 : 30);
    std::size_t commit_limit = std::size_t{1} << 30;
    std::size_t large_page = std::size_t{1} << 21;
    bool may_lock = false;     // the account has the right
    bool locks_pages = false;  // the process enabled the privilege
    std::size_t open_handles = 0;
    std::size_t violations = 0;
};

[[nodiscard]] state_of_kernel& state() noexcept;

}  // namespace fake_kernel
