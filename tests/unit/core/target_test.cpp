#include <allot/core/options.hpp>
#include <allot/core/target.hpp>

#include <doctest/doctest.h>

TEST_CASE("target: the constant and the macro agree") {
    CHECK(allot::is_microcontroller == (ALLOT_IS_MICROCONTROLLER != 0));
}

TEST_CASE("target: a host is not a microcontroller, at any optimization") {
#if defined(__linux__) || defined(__APPLE__) || defined(_WIN32)
    static_assert(!allot::is_microcontroller);
#endif
    CHECK(allot::best_fit_options{}.prefer_size == allot::is_microcontroller);
    CHECK(allot::bump_options{}.prefer_size == allot::is_microcontroller);
}
