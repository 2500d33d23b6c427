// Runs the test cases of a program without an operating system, one after the other.
#include <doctest/doctest.h>

#include <initializer_list>

namespace freestanding {
namespace {

unsigned checks = 0, failures = 0;

void print(unsigned number) noexcept {
    char digits[11]{};
    char* at = digits + 10;
    do *--at = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    freestanding::print(at);
}

}  // namespace

void check(bool passed, const char* what, const char* file, int line) noexcept {
    ++checks;
    if (passed) return;
    ++failures;
    for (const char* text : {file, ":"}) print(text);
    print(static_cast<unsigned>(line));
    for (const char* text : {": failed: ", what, "\n"}) print(text);
}
void stop(const char* reason) noexcept {
    for (const char* text : {"stopped: ", reason, "\n"}) print(text);
    end_program(1);
}

int run_all() noexcept {
    unsigned cases = 0;
    for (const auto* each = test_case::first; each != nullptr; each = each->next, ++cases) {
        const unsigned before = failures;
        each->run();
        if (failures == before) continue;
        for (const char* text : {"in: ", each->name, "\n"}) print(text);
    }
    print(cases);
    print(" test cases, ");
    print(checks);
    print(" checks, ");
    print(failures);
    print(" failed\n");
    return failures == 0 && cases != 0 && checks != 0 ? 0 : 1;
}

}  // namespace freestanding
