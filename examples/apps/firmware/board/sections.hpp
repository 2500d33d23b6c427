// SPDX-License-Identifier: BSL-1.0
// What the linker made of a program, by section.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace board {

struct section {
    const char* name;
    std::uintptr_t begin, end;
};

/// Empty where the operating system decides.
[[nodiscard]] std::span<const section> sections() noexcept;

}  // namespace board
