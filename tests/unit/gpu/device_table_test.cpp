// Tables in the memory of a GPU runtime, on the fake runtime and on a GPU. Copies to the host stand for kernels: on the
// fake, they and the uploads run only when the program waits for them.
#include "machine.hpp"
#include "streams.hpp"

#include <allot/allot.hpp>
#include <allot/tensor/device_table.hpp>
#include <allot/tensor/discontiguous.hpp>

#include <algorithm>
#include <deque>
#include <random>
#include <span>
#include <vector>

namespace {

using tests::two_streams;
using vendor::stream_copy;
using device_arena = allot::arena<vendor::device_memory, allot::best_fit<>>;

constexpr std::size_t entries = 100;

/// Results of "kernels" in host memory, and the entries that they must have.
template <class Value>
class results {
public:
    void launch(gpu::stream stream, const void* table, std::span<const Value> expected) {
        all_.push_back({std::vector<Value>(expected.size()), {expected.begin(), expected.end()}});
        REQUIRE(gpu::memcpy_async(all_.back().seen.data(), table, expected.size_bytes(), stream) == gpu::success);
    }
    void check() {
        REQUIRE(gpu::device_synchronize() == gpu::success);
        for (const result& each : all_) CHECK(each.seen == each.expected);
    }

private:
    struct result {
        std::vector<Value> seen, expected;
    };
    std::deque<result> all_;
};

/// Changes the table and launches work with it on two streams, more often than there are versions.
template <class Table>
void play(Table& table, const two_streams& streams) {
    results<std::uint32_t> work;
    std::mt19937 random{11};
    for (std::uint32_t i = 1; i != 40; ++i) {
        const std::size_t at = random() % entries;
        REQUIRE(table.set(at, i));
        const gpu::stream stream = random() % 3 == 0 ? streams.second : streams.first;
        const auto version = table.publish(stream, stream_copy{stream});
        REQUIRE(version);
        CHECK(version->uploaded >= 1);
        CHECK(version->number == i);
        work.launch(stream, version->address, table.entries());
        const auto same = table.publish(streams.second, stream_copy{streams.second});
        REQUIRE(same);
        CHECK(same->address == version->address);
        CHECK(same->uploaded == 0);
        work.launch(streams.second, same->address, table.entries());
    }
    CHECK(table.versions() == 3);
    work.check();
    REQUIRE(table.set(7, 100));
    CHECK(table.publish(streams.first, stream_copy{streams.first})->uploaded <= 4);  // of at most three changes before
}

}  // namespace

TEST_CASE(VENDOR " device table: work that runs late keeps the table that it was given") {
    const tests::machine machine;
    const two_streams streams;
    vendor::events line;
    device_arena memory{vendor::device_memory{}, 1 << 16};
    SUBCASE("staged on the heap") {
        auto table = *allot::alloc_device_table(memory, line, {.entries = entries});
        play(table, streams);
    }
    SUBCASE("staged in pinned memory") {
        allot::arena<vendor::pinned, allot::best_fit<>> staging{vendor::pinned{}, 1 << 16};
        auto table = *allot::alloc_device_table(memory, staging, line, {.entries = entries});
        play(table, streams);
    }
}

TEST_CASE(VENDOR " device table: entries of the table can be moved up and down in it") {
    const tests::machine machine;
    const two_streams streams;
    vendor::events line;
    device_arena memory{vendor::device_memory{}, 1 << 16};
    auto table = *allot::alloc_device_table(memory, line, {.entries = 6});
    const std::uint32_t numbers[] = {1, 2, 3, 4, 5, 6};
    REQUIRE(table.set(0, numbers));
    const auto holds = [&](std::vector<std::uint32_t> expected) {
        return std::ranges::equal(table.entries(), expected);
    };
    REQUIRE(table.set(2, table.entries().first(4)));
    CHECK(holds({1, 2, 1, 2, 3, 4}));
    REQUIRE(table.set(0, table.entries().subspan(1)));
    CHECK(holds({2, 1, 2, 3, 4, 4}));
    results<std::uint32_t> work;
    work.launch(streams.first, table.publish(streams.first, stream_copy{streams.first})->address, table.entries());
    work.check();
}

TEST_CASE(VENDOR " device table: the addresses of a tensor's rows, in 64 bits") {
    const tests::machine machine;
    const two_streams streams;
    vendor::events line;
    device_arena memory{vendor::device_memory{}, 1 << 16};
    allot::arena<allot::host::heap, allot::best_fit<>> host{{}, 1 << 16};
    const auto tables = *allot::alloc_storage(host, 256);
    const auto data = *allot::alloc_storage(memory, 8192, 256);
    const auto rows =
        *allot::alloc_discontiguous_tensor(tables, 0, data, {768, 256, 2304, 3072}, {4, 64}, allot::int32);
    auto table = *allot::alloc_device_table<void*>(memory, line, {.entries = 4});
    REQUIRE(table.set(0, rows.table()));
    results<void*> work;
    work.launch(streams.first, table.publish(streams.first, stream_copy{streams.first})->address, table.entries());
    work.check();
    CHECK(table.entries()[2] == static_cast<std::byte*>(data.base()) + 2304);
}

TEST_CASE(VENDOR " device table: outlives a stream that was detached") {
    const tests::machine machine;
    const two_streams streams;
    vendor::events line;
    device_arena memory{vendor::device_memory{}, 1 << 16};
    auto table = *allot::alloc_device_table(memory, line, {.entries = entries});
    gpu::stream gone{};
    REQUIRE(gpu::stream_create(&gone) == gpu::success);
    results<std::uint32_t> work;
    REQUIRE(table.set(3, 5));
    work.launch(gone, table.publish(gone, stream_copy{gone})->address, table.entries());
    CHECK(table.detach(gone) == gpu::success);
    CHECK(gpu::stream_destroy(gone) == gpu::success);
    for (std::uint32_t i = 0; i != 5; ++i) {
        const auto version = table.publish(streams.first, stream_copy{streams.first});
        REQUIRE(version);
        work.launch(streams.first, version->address, table.entries());
        REQUIRE(table.set(i, i + 9));
    }
    work.check();
}
