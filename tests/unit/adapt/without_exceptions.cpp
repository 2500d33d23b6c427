// A program without exceptions and RTTI: allocation works, a failure aborts, and a resource is equal only to itself.
#include <allot/adapt/memory_resource.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using arena = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::_Exit(1);
}

}  // namespace

int main() {
    arena memory;
    allot::memory_resource resource{memory}, same{memory};
    std::pmr::vector<int> values{{1, 2, 3}, &resource};
    std::vector<int, allot::std_allocator<int, arena>> others{{4, 5}, memory};
    if (values[2] != 3 || others[1] != 5) fail("values differ from those that were written");
    if (resource != resource || resource == same) fail("without RTTI a resource equals itself, and no other");

    std::signal(SIGABRT, [](int) { std::_Exit(0); });
    values.resize(10'000);
    fail("an allocation of 40000 bytes did not fail");
}
