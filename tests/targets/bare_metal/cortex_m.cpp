// The tests on a Cortex-M, on the boards of examples/firmware.
#include "semihosting.hpp"

#include <doctest/doctest.h>

void freestanding::print(const char* text) noexcept { board::print(text); }
void freestanding::end_program(int status) noexcept { board::exit(status); }

int main() { return freestanding::run_all(); }
