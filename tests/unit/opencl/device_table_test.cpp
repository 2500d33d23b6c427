// Tables in OpenCL buffers, on the installed driver: a kernel gathers rows by the table. A user event holds back the
// first kernel, so that it runs after the table has changed several times.
#include "installed.hpp"

#include <allot/allot.hpp>
#include <allot/opencl/events.hpp>
#include <allot/opencl/tensor.hpp>
#include <allot/tensor/device_table.hpp>
#include <allot/tensor/discontiguous.hpp>
#include <allot/tensor/fork.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <vector>

namespace {

using allot::opencl::mapping;
using allot::opencl::queue_copy;
using tests::opencl;

using device_arena = allot::arena<allot::opencl::buffer, allot::best_fit<>>;
using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

constexpr std::size_t pages = 16, page_words = 64, entries = 37;

/// Pages of numbers in a buffer, and a kernel that copies the pages which a table names.
struct gathering {
    cl::Kernel kernel = tests::kernel(
        "kernel void gather(global uchar* pages, ulong p, global uchar* table, ulong t, global uchar* to, ulong o) {"
        "    const uint word = get_global_id(0);"
        "    const uint page = ((global const uint*)(table + t))[word / 64];"
        "    ((global uint*)(to + o))[word] = ((global const uint*)(pages + p))[page * 64 + word % 64];"
        "}",
        "gather");
    device_arena memory{{opencl().context, opencl().device}, 1 << 20};
    allot::block_of<device_arena> from = memory.allocate({pages * page_words * 4, 64});
    std::vector<std::uint32_t> words = std::vector<std::uint32_t>(pages * page_words);

    gathering() {
        std::iota(words.begin(), words.end(), 1000U);
        REQUIRE(::clEnqueueWriteBuffer(opencl().queue(), from.address.handle, CL_TRUE, from.address.offset,
                                       words.size() * 4, words.data(), 0, nullptr, nullptr) == CL_SUCCESS);
    }

    /// A launch that gathers into a block of its own.
    struct launch {
        allot::block_of<device_arena> to;
        std::vector<std::uint32_t> table;
    };
    template <class Version>
    launch start(cl_command_queue queue, const Version& version, std::span<const std::uint32_t> table,
                 cl_event after = nullptr) {
        launch made{memory.allocate({entries * page_words * 4, 64}), {table.begin(), table.end()}};
        REQUIRE(made.to);
        REQUIRE(allot::opencl::set_arg(kernel, 0, from) == CL_SUCCESS);
        REQUIRE(allot::opencl::set_arg(kernel, 2, version) == CL_SUCCESS);
        REQUIRE(allot::opencl::set_arg(kernel, 4, made.to) == CL_SUCCESS);
        constexpr std::size_t items = entries * page_words;
        REQUIRE(::clEnqueueNDRangeKernel(queue, kernel(), 1, nullptr, &items, nullptr, after != nullptr,
                                         after ? &after : nullptr, nullptr) == CL_SUCCESS);
        REQUIRE(::clFlush(queue) == CL_SUCCESS);
        return made;
    }
    /// Waits for the queue and compares the result with the pages of the table at the time of the launch.
    void check(cl_command_queue queue, const launch& done) {
        std::vector<std::uint32_t> seen(entries * page_words), expected;
        REQUIRE(::clFinish(queue) == CL_SUCCESS);
        REQUIRE(::clEnqueueReadBuffer(queue, done.to.address.handle, CL_TRUE, done.to.address.offset, seen.size() * 4,
                                      seen.data(), 0, nullptr, nullptr) == CL_SUCCESS);
        for (const std::uint32_t page : done.table)
            expected.insert(expected.end(), words.begin() + page * page_words, words.begin() + (page + 1) * page_words);
        CHECK(seen == expected);
        memory.deallocate(done.to);
    }
};

cl::CommandQueue make_queue(cl_command_queue_properties properties) {
    cl_int status = CL_SUCCESS;
    cl::CommandQueue made{opencl().context, opencl().device, properties, &status};
    REQUIRE(status == CL_SUCCESS);
    return made;
}

}  // namespace

TEST_CASE("opencl device table: a kernel that runs late keeps the table that it was given") {
    constexpr cl_command_queue_properties out_of_order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    std::vector<cl_command_queue_properties> kinds{0};
    if ((opencl().device.getInfo<CL_DEVICE_QUEUE_PROPERTIES>() & out_of_order) != 0) kinds.push_back(out_of_order);
    else MESSAGE("skipped: the device has no out-of-order queues");
    for (const cl_command_queue_properties kind : kinds) {
        gathering it;
        std::mt19937 random{3};
        const cl::CommandQueue queue = make_queue(kind), other = make_queue(0);
        allot::opencl::events line;
        auto table = *allot::alloc_device_table<std::uint32_t, allot::device_table_options{.versions = 6}>(
            it.memory, line, {.entries = entries});
        std::vector<gathering::launch> launches, of_other;
        cl::UserEvent gate{opencl().context};
        for (int i = 0; i != 5; ++i) {
            for (int change = 0; change != 4; ++change) {
                const std::size_t at = random() % entries;
                REQUIRE(table.set(at, static_cast<std::uint32_t>(random() % pages)));
            }
            const auto version = table.publish(queue(), queue_copy{queue, mapping::never});
            REQUIRE(version);
            launches.push_back(it.start(queue(), *version, table.entries(), gate()));
            if (i % 2 == 0) continue;
            const auto same = table.publish(other(), queue_copy{other, mapping::never});
            REQUIRE(same);
            CHECK(same->uploaded == 0);
            of_other.push_back(it.start(other(), *same, table.entries()));
        }
        CHECK(table.versions() == 5);
        REQUIRE(gate.setStatus(CL_COMPLETE) == CL_SUCCESS);
        for (const auto& each : launches) it.check(queue(), each);
        for (const auto& each : of_other) it.check(other(), each);
        REQUIRE(table.set(0, (table.entries()[0] + 1) % pages));
        const auto last = table.publish(queue(), queue_copy{queue, mapping::never});
        REQUIRE(last);
        CHECK(last->uploaded <= 5);
        CHECK(table.versions() == 5);
        it.check(queue(), it.start(queue(), *last, table.entries()));
    }
}

TEST_CASE("opencl device table: maps are a way, too, and buffers of another context have none") {
    gathering it;
    allot::opencl::events line;
    auto table = *allot::alloc_device_table(it.memory, line, {.entries = entries});
    REQUIRE(table.set(5, 3));
    const auto version = table.publish(opencl().queue(), queue_copy{opencl().queue});
    REQUIRE(version);
    it.check(opencl().queue(), it.start(opencl().queue(), *version, table.entries()));

    const cl::Context elsewhere{opencl().device};
    const cl::CommandQueue strange{elsewhere, opencl().device};
    REQUIRE(table.set(5, 4));
    CHECK(table.publish(opencl().queue(), queue_copy{strange}).error().reason == allot::tensor_refusal::no_way);
    const auto again = table.publish(opencl().queue(), queue_copy{opencl().queue});
    REQUIRE(again);
    it.check(opencl().queue(), it.start(opencl().queue(), *again, table.entries()));
}

TEST_CASE("opencl device table: the rows of a tensor, by 32-bit indices and by 64-bit offsets") {
    gathering it;
    host_arena host{{}, 1 << 16};
    const auto tables = *allot::alloc_storage(host, 1024);
    const auto data = *allot::alloc_storage(it.memory, 1 << 16, 64);
    const std::int64_t offsets[] = {2560, 256, 5120, 0};
    const auto by_index =
        *allot::alloc_discontiguous_tensor<allot::row_index<>>(tables, 0, data, offsets, {4, 64}, allot::int32);
    allot::opencl::events line;
    auto indices = *allot::alloc_device_table(it.memory, line, {.entries = 4});
    auto bytes = *allot::alloc_device_table<std::uint64_t>(it.memory, line, {.entries = 4});
    REQUIRE(indices.set(0, by_index.table()));
    for (std::size_t row = 0; row != 4; ++row) REQUIRE(bytes.set(row, static_cast<std::uint64_t>(offsets[row])));

    // Each kernel writes 100 · row + column to the rows, by its table.
    const auto fill = [&](const char* entry, const char* unit, const auto& version) {
        const std::string source =
            std::string{"kernel void fill(global uchar* data, ulong d, global uchar* table, ulong t) {"} +
            "const uint row = get_global_id(1), column = get_global_id(0);" +
            "global uint* at = (global uint*)(data + d + ((global const " + entry + "*)(table + t))[row] * " + unit +
            ");" + "at[column] += 100 * row + column; }";
        cl::Kernel kernel = tests::kernel(source.c_str(), "fill");
        REQUIRE(allot::opencl::set_arg(kernel, 0, data.base()) == CL_SUCCESS);
        REQUIRE(allot::opencl::set_arg(kernel, 2, version) == CL_SUCCESS);
        tests::run(kernel, cl::NDRange{64, 4});
    };
    const queue_copy copy{opencl().queue};
    const auto zeros = *allot::alloc_tensor(*allot::alloc_storage(host, 1024), 0, {4, 64}, allot::int32);
    std::memset(zeros.data(), 0, 1024);
    REQUIRE(allot::copy_tensor(zeros, by_index, copy));
    fill("uint", "256", *indices.publish(opencl().queue(), copy));
    fill("ulong", "1", *bytes.publish(opencl().queue(), copy));
    REQUIRE(allot::copy_tensor(by_index, zeros, copy));
    const auto* const seen = static_cast<const std::int32_t*>(zeros.data());
    for (int i = 0; i != 256; ++i) CHECK(seen[i] == 2 * (100 * (i / 64) + i % 64));
}

TEST_CASE("opencl shared rows: a write copies one row on the device, and other tensors keep theirs") {
    device_arena memory{{opencl().context, opencl().device}, 1 << 20};
    host_arena host{{}, 65536};
    const auto tables = *allot::alloc_storage(host, 8192);
    const auto data = *allot::alloc_storage(memory, {.size = 16 * 256, .align = 64});
    const auto rows = *allot::share_rows(data, tables, 16);
    const auto words = *allot::alloc_tensor(*allot::alloc_storage(host, 8192), 0, {5, 64}, allot::uint32);
    auto* const numbers = static_cast<std::uint32_t*>(words.data());
    std::iota(numbers, numbers + 320, 7U);
    queue_copy way{opencl().queue, mapping::never};

    const auto a = *allot::alloc_discontiguous_tensor<allot::row_index<>>(tables, allot::anywhere, rows,
                                                                          allot::anywhere, {5, 64}, allot::uint32);
    REQUIRE(allot::copy_tensor(words, a, way));
    auto b = *allot::fork(a);
    CHECK(allot::copy_tensor(words, b, way).error().reason == allot::tensor_refusal::shared_row);
    REQUIRE(allot::write(b, 2, way));
    CHECK(b.table().entries[2] != a.table().entries[2]);
    CHECK(b.table().entries[3] == a.table().entries[3]);
    const auto row = *allot::slice(b, {2, 0}, {1, 64});
    const auto part = *allot::slice(words, {0, 0}, {1, 64});
    const auto compare = [&](const auto& with, std::uint32_t third) {
        const auto seen = *allot::alloc_tensor(*allot::alloc_storage(host, 2048), 0, {5, 64}, allot::uint32);
        REQUIRE(allot::copy_tensor(with, seen, way));
        for (std::uint32_t i = 0; i != 320; ++i)
            CHECK(static_cast<const std::uint32_t*>(seen.data())[i] == (i / 64 == 2 ? third + i % 64 : 7 + i));
    };
    compare(b, 7 + 128);  // a copy of the row
    REQUIRE(allot::copy_tensor(part, row, way));
    compare(b, 7);
    compare(a, 7 + 128);
}
