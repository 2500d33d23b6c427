// SPDX-License-Identifier: BSL-1.0
// The sections of the linked program.
#pragma once

#include <cstdint>
#include <span>

namespace board {

struct section {
    const char* name;
    std::uintptr_t begin, end;
};

/// Empty if the operating system places sections.
[[nodiscard]] std::span<const section> sections() noexcept;

}  // namespace board
