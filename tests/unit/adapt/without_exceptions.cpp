// A program without exceptions and RTTI: allocation works, a failure aborts, and a resource is equal only to itself.
#include <allot/adapt/boost_allocator.hpp>
#include <allot/adapt/boost_memory_resource.hpp>
#include <allot/adapt/memory_resource.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>

#include <boost/container/list.hpp>
#include <boost/container/vector.hpp>

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
    allot::boost_memory_resource boost_resource{memory}, same_for_boost{memory};
    boost::container::vector<int, allot::boost_allocator<int, arena>> grown{{6, 7}, memory};
    boost::container::list<int, allot::boost_allocator<int, arena>> list{{8, 9}, memory};
    grown.resize(100);
    if (grown[1] != 7 || list.back() != 9) fail("values differ from those that were written");
    std::size_t count = 10'000;
    int* reuse = grown.data();
    const auto extend = boost::container::expand_fwd | boost::container::nothrow_allocation;
    if (grown.get_stored_allocator().allocation_command(extend, count, count, reuse) != nullptr)
        fail("a block of 400 bytes grew to 40000 in 4096");
    if (boost_resource.is_equal(same_for_boost)) fail("without RTTI a resource equals itself, and no other");
    if (resource != resource || resource == same) fail("without RTTI a resource equals itself, and no other");

    std::signal(SIGABRT, [](int) { std::_Exit(0); });
    values.resize(10'000);
    fail("an allocation of 40000 bytes did not fail");
}
