// Agreement of all ranks. Every rank runs every test. If one rank continued and another did not, they would wait for
// each other until the launcher ends them. Therefore a test asks all ranks before it continues.
#pragma once

#include <machine.hpp>

#include <vector>

/// Collective: returns true if the argument is true on every rank.
[[nodiscard]] inline bool on_all_ranks(bool here) {
    std::uint64_t wrong[] = {here ? 0U : 1U};
    return machine::ranks().maximum(wrong) == 0 && wrong[0] == 0;
}
#define REQUIRE_ON_ALL(...) REQUIRE(on_all_ranks(__VA_ARGS__))

/// Collective: returns true if all ranks have the same numbers. Does not use the library's hash.
[[nodiscard]] inline bool are_equal_on_all_ranks(const std::vector<std::uint64_t>& numbers) {
    std::vector<std::uint64_t> greatest{numbers}, least;
    for (const std::uint64_t each : numbers) least.push_back(~each);
    if (!on_all_ranks(machine::ranks().maximum(greatest) == 0 && machine::ranks().maximum(least) == 0)) return false;
    bool equal = true;
    for (std::size_t i = 0; i != numbers.size(); ++i)
        equal = equal && greatest[i] == numbers[i] && ~least[i] == numbers[i];
    return on_all_ranks(equal);
}
