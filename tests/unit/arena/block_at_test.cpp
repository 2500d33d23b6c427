// block_at: blocks by their addresses.
#include <allot/allot.hpp>
#include <allot/arena/block_at.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace {

using namespace allot::literals;
using plain = allot::arena<allot::host::static_storage<64_KiB>, allot::best_fit<>>;
using deferred = allot::arena<allot::host::static_storage<64_KiB>, allot::deferred<allot::best_fit<>>>;

static_assert(allot::finds_blocks_by_address<plain> && allot::finds_blocks_by_address<deferred>);
static_assert(!allot::finds_blocks_by_address<allot::arena<allot::host::static_storage<64_KiB>,
                                                           allot::best_fit<allot::best_fit_options{.granule = 16}>>>);

}  // namespace

TEST_CASE_TEMPLATE("block_at: an address is enough to measure, resize and free a block", Arena, plain, deferred) {
    Arena memory;
    std::vector<void*> addresses;
    for (std::size_t size = 1; size < 4000; size = size * 2 + 3) {
        const auto given = memory.allocate({.size = size});
        REQUIRE(given);
        CHECK(allot::block_at(memory, given.address).address == given.address);
        CHECK(allot::block_at(memory, given.address).size == memory.capacity(given));
        std::memset(given.address, 1, memory.capacity(given));
        addresses.push_back(given.address);
    }
    auto last = allot::block_at(memory, addresses.back());
    CHECK(memory.resize(last, 10'007));
    CHECK(allot::block_at(memory, addresses.back()).size >= 10'007);
    for (void* const each : addresses) memory.deallocate(allot::block_at(memory, each));
    CHECK(memory.allocate({.size = 64_KiB - 64}));  // all bytes are free again
}

TEST_CASE("block_at: a null pointer has an empty block") {
    plain memory;
    CHECK_FALSE(allot::block_at(memory, nullptr));
    memory.deallocate(allot::block_at(memory, nullptr));
}
