// The tests under an emulator of Linux's system calls: another word size and byte order. The operating system only
// prints.
#include <doctest/doctest.h>

#include <cstring>

#include <unistd.h>

void freestanding::print(const char* text) noexcept {
    if (::write(1, text, std::strlen(text)) < 0) end_program(1);
}
void freestanding::end_program(int status) noexcept { ::_exit(status); }

int main() { return freestanding::run_all(); }
