// The tests on a bare 64-bit RISC-V: the code from reset to the first test, and QEMU's "virt" board. Its serial port
// prints, and its test device ends the emulator with an exit code.
#include <doctest/doctest.h>

#include <cstdint>

namespace {

template <class Register>
volatile Register* device(std::uintptr_t address) noexcept {
    return reinterpret_cast<volatile Register*>(address);
}

}  // namespace

void freestanding::print(const char* text) noexcept {
    for (; *text != '\0'; ++text) *device<char>(0x1000'0000) = *text;
}
void freestanding::end_program(int status) noexcept {
    constexpr std::uint32_t pass = 0x5555, fail = 0x3333;
    for (;;) *device<std::uint32_t>(0x10'0000) = status == 0 ? pass : static_cast<std::uint32_t>(status) << 16 | fail;
}

// QEMU loads the program at its run address, so nothing is copied, and all other memory is zero.
asm(".section .reset, \"ax\"\n"
    ".globl reset\n"
    "reset:\n"
    "    .option push\n"
    "    .option norelax\n"
    "    la gp, __global_pointer$\n"
    "    .option pop\n"
    "    la sp, stack_top\n"
    "    la t0, fault\n"
    "    csrw mtvec, t0\n"
    "    call start\n");

extern "C" {

using constructor = void (*)();
extern const constructor init_array_start[], init_array_end[];

[[noreturn]] void start() {
    for (const constructor* each = init_array_start; each != init_array_end; ++each) (*each)();
    freestanding::end_program(freestanding::run_all());
}
[[noreturn, gnu::aligned(4)]] void fault() { freestanding::stop("an exception of the processor"); }
}
