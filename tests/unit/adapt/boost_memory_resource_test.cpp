// The resource of Boost.Container. Its containers are tested if libboost_container is installed, which has their
// default resource.
#include "memories.hpp"

#include <allot/adapt/boost_memory_resource.hpp>
#include <allot/adapt/memory_resource.hpp>

#ifdef ALLOT_BOOST_CONTAINER
#include <boost/container/pmr/flat_map.hpp>
#include <boost/container/pmr/list.hpp>
#include <boost/container/pmr/string.hpp>
#include <boost/container/pmr/unsynchronized_pool_resource.hpp>
#include <boost/container/pmr/vector.hpp>
#endif
#include <doctest/doctest.h>

#include <cstring>

namespace {

using namespace allot::literals;
using helpers::all_bytes;
using helpers::is_aligned;
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

}  // namespace

TEST_CASE_TEMPLATE("boost_memory_resource: random blocks do not overlap, and all are freed", Memory, memories::in_band,
                   memories::hardened_side_table, memories::growing_in_band, memories::two) {
    Memory used;
    allot::boost_memory_resource resource{used.memory};
    boost::container::pmr::memory_resource& any = resource;
    struct held {
        void* address;
        std::size_t size, align, value;
    };
    std::vector<held> live;
    memories::sequence random;
    const auto give_back = [&](std::size_t which) {
        const held gone = std::exchange(live[which], live.back());
        live.pop_back();
        if (!all_bytes(gone.address, gone.size, gone.value)) FAIL("a block was written to");
        any.deallocate(gone.address, gone.size, gone.align);
    };
    for (std::size_t i = 0; i != 3000; ++i) {
        if (live.size() > 200 || (!live.empty() && random.below(3) == 0)) {
            give_back(random.below(live.size()));
            continue;
        }
        const std::size_t size = random.below(300), align = std::size_t{1} << random.below(8);
        void* const fresh = any.allocate(size, align);
        if (!is_aligned(fresh, align)) FAIL("misaligned");
        std::memset(fresh, static_cast<int>(i % 251), size);
        live.push_back({fresh, size, align, i % 251});
    }
    while (!live.empty()) give_back(live.size() - 1);
    CHECK(used.is_all_back());
}

TEST_CASE("boost_memory_resource: throws the diagnosis") {
    heap_arena memory{{}, 1_KiB};
    allot::boost_memory_resource resource{memory};
    try {
        static_cast<void>(resource.allocate(5000));
        FAIL("there were no 5000 bytes");
    } catch (const allot::bad_alloc& error) {
        CHECK(error.diagnosis() == memory.diagnose({.size = 5000}));
    }
    CHECK_THROWS_AS(static_cast<void>(resource.allocate(8, 3)), std::bad_alloc);
}

TEST_CASE("boost_memory_resource: resources are equal if they refer to the same allocator") {
    heap_arena one{{}, 4_KiB}, other{{}, 4_KiB};
    allot::arena<allot::host::static_storage<4_KiB>, allot::bump<>> another;
    const allot::boost_memory_resource a{one}, b{other}, c{one}, d{a};
    const allot::boost_memory_resource e{another};
    using boost_resource = boost::container::pmr::memory_resource;
    CHECK(static_cast<const boost_resource&>(a) == c);
    CHECK(static_cast<const boost_resource&>(c) == d);
    CHECK(static_cast<const boost_resource&>(a) != b);
    CHECK(!a.is_equal(e));
    CHECK(&c.allocator() == &one);
}

TEST_CASE("boost_memory_resource: supports the containers of boost::container::pmr") {
#ifdef ALLOT_BOOST_CONTAINER
    namespace pmr = boost::container::pmr;
    memories::hardened_in_band used;
    {
        allot::boost_memory_resource resource{used.memory};
        pmr::vector<pmr::string> names{&resource};
        pmr::list<int> list{&resource};
        pmr::flat_map<int, pmr::string> map{&resource};
        pmr::unsynchronized_pool_resource pools{&resource};
        pmr::vector<int> pooled{&pools};
        for (int i = 0; i != 100; ++i) {
            names.emplace_back("a name that is too long for the small buffer of a string");
            list.push_back(i);
            map[i] = names.back();
            pooled.push_back(i);
        }
        CHECK(names.front().get_allocator().resource() == &resource);
        CHECK(map.at(7).get_allocator().resource() == &resource);
        CHECK(map.at(99) == names[99]);
        CHECK(list.back() == 99);
        CHECK(pooled[99] == 99);
    }
    CHECK(used.is_all_back());
#else
    MESSAGE("skipped: libboost_container is not installed");
#endif
}
