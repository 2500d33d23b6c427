// The wrappers that keep records, where other parts of the library use them: storages and tensors, rows, locks, and the
// interfaces of the standard library.
#include <allot/adapt/memory_resource.hpp>
#include <allot/allot.hpp>
#include <allot/object/make.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <memory_resource>
#include <string>
#include <vector>

namespace {

using beside = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
using host_arena = allot::arena<allot::host::heap, beside, allot::growth::geometric<>>;

template <class Memory>
std::size_t live_in(const Memory& memory) {
    std::size_t count = 0;
    memory.for_each_block([&](const auto&, std::size_t) { ++count; });
    return count;
}

template <class Wrapped>
void works_everywhere() {
    Wrapped memory;
    {
        const auto storage = allot::alloc_storage(memory, {.size = 4096, .align = 64}).value();
        const auto tensor = allot::alloc_tensor(storage, 1024, {3, 5}, allot::float32);
        REQUIRE(tensor);
        CHECK(live_in(memory) == 1);
    }
    CHECK(live_in(memory) == 0);
    {
        allot::memory_resource resource{memory};
        std::pmr::vector<std::pmr::string> names{&resource};
        for (int i = 0; i != 30; ++i) names.emplace_back("a name that is longer than the buffer of a short string");
        CHECK(live_in(memory) == 31);
    }
    CHECK(live_in(memory) == 0);
    {
        const auto owner = allot::make_unique<std::string>(memory, "a string");
        REQUIRE(owner);
        CHECK(live_in(memory) == 1);
    }
    {
        host_arena tables;
        allot::paged<Wrapped&, host_arena&, allot::pointer_table<64>> rows{memory, tables};
        const auto block = rows.allocate({.size = 1000});
        REQUIRE(block);
        CHECK(live_in(memory) == 16);
        rows.deallocate(block);
    }
    CHECK(live_in(memory) == 0);
    CHECK(memory.trim() != 0);
    CHECK(memory.size() == 0);
}

}  // namespace

TEST_CASE("wrappers with records: storages, tensors, rows and standard interfaces work over them") {
    works_everywhere<allot::tagged<host_arena>>();
    works_everywhere<allot::guarded<host_arena>>();
    works_everywhere<allot::quarantined<host_arena>>();
    works_everywhere<allot::block_cache<host_arena>>();
    works_everywhere<allot::indexed<host_arena>>();
    works_everywhere<
        allot::tagged<allot::guarded<allot::quarantined<allot::block_cache<allot::indexed<host_arena>>>>>>();
}
