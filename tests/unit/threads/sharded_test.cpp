// sharded with several threads, which pass blocks to each other.
#include "exchanged.hpp"

#include <allot/allot.hpp>
#include <allot/host/current_processor.hpp>

#include <doctest/doctest.h>

#include <mutex>

namespace {

using namespace allot::literals;

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
template <class Lock>
using locked = allot::synchronized<allot::counted<arena>, Lock>;

}  // namespace

TEST_CASE_TEMPLATE("sharded: threads exchange blocks, and all memory is free at the end", Memory,
                   allot::sharded<locked<allot::spin_lock>, 3>,
                   allot::sharded<locked<std::mutex>, 2, allot::host::current_processor>) {
    Memory memory{[](std::size_t) {
        return typename Memory::inner_type{allot::counted<arena>{arena{{}, 16_KiB}}};  // less than the threads ask for
    }};
    CHECK(exchanged::play(memory, 4, 3'000, [](auto& of) -> auto& { return of; }));
    CHECK(memory.statistics().count == 0);
    CHECK(memory.statistics().requests > 10'000);
}

TEST_CASE("sharded: threads exchange blocks through caches over shards") {
    using shards = allot::sharded<locked<allot::spin_lock>, 3>;
    shards below{[](std::size_t) { return shards::inner_type{allot::counted<arena>{arena{{}, 64_KiB}}}; }};
    {
        allot::per_thread<shards&, allot::no_lock> memory{below};
        CHECK(exchanged::play(memory, 3, 3'000, [](auto& of) { return allot::thread_cache{of}; }));
    }
    CHECK(below.statistics().count == 0);
}
