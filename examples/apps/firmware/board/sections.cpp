// SPDX-License-Identifier: BSL-1.0
#include "sections.hpp"

// From the linker script.
extern "C" {
extern const std::byte text_start[], text_end[], data_start[], data_end[], bss_start[], bss_end[];
extern const std::byte arena_start[], arena_end[], fast_start[], fast_end[], stack_top[];
}

namespace board {
namespace {

section between(const char* name, const std::byte* begin, const std::byte* end) noexcept {
    return {name, reinterpret_cast<std::uintptr_t>(begin), reinterpret_cast<std::uintptr_t>(end)};
}
const section all[] = {between(".text", text_start, text_end), between(".data", data_start, data_end),
                       between(".bss", bss_start, bss_end),    between(".arena", arena_start, arena_end),
                       between(".fast", fast_start, fast_end), between("stack", arena_end, stack_top)};

}  // namespace

std::span<const section> sections() noexcept { return all; }

}  // namespace board
