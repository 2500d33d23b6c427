#include <allot/compose/on_queue.hpp>
#include <allot/compose/counted.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/object/unique_block.hpp>
#include <allot/tensor.hpp>

#include "simulated_queues.hpp"

#include <doctest/doctest.h>

namespace {

using memory_type =
    allot::ordered<allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>, simulated::timeline>;
using view = allot::on_queue<memory_type>;
static_assert(allot::allocator<view> && allot::resizable_allocator<view> && allot::measuring_allocator<view> &&
              allot::owning<view> && allot::sized_allocator<view>);

}  // namespace

TEST_CASE("on_queue: owners, wrappers and storages allocate and free on the queue") {
    simulated::queues device{2};
    memory_type memory{simulated::timeline{&device}};
    view first{memory, memory.attach(0)}, second{memory, memory.attach(1)};
    CHECK(&first.memory() == &memory);
    CHECK(first.queue() != second.queue());
    CHECK(first.size() == 4096);
    void* address = nullptr;
    {
        const auto block = allot::allocate_unique(first, {4096, 16});
        REQUIRE(block);
        address = block.get().address;
        CHECK(first.owns(block.get()));
        CHECK(first.capacity(block.get()) == 4096);
        CHECK(second.diagnose({16, 16}).reason == allot::refusal::exhausted);
        device.submit(0);
    }
    allot::counted counts{second};
    const auto block = counts.allocate({4096, 16});
    CHECK(block.address == address);
    CHECK(device.waits == 1);
    CHECK(device.is_before(0, 1, 1));
    counts.deallocate(block);
    const auto storage = allot::alloc_storage(second, 1024, 64);
    REQUIRE(storage);
    const auto tensor = allot::alloc_tensor(*storage, 0, {4, 8}, allot::float32);
    CHECK(tensor);
}
