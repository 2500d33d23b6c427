// The `ioctl` of a program with a fake kernel. Included by one file of the program.
#pragma once

#include "fake_kernel.hpp"

#include <cstdarg>
#include <sys/syscall.h>

/// Replaces the C library's function and passes requests that the real kernel rejects to the fake kernel.
extern "C" int ioctl(int descriptor, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    const auto real = static_cast<int>(::syscall(SYS_ioctl, descriptor, request, argument));
    tests::fake_kernel* const fake = tests::fake_kernel::running;
    return real < 0 && errno == ENOTTY && fake != nullptr ? fake->answer(descriptor, request, argument) : real;
}
