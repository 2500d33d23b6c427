// Copies of tensors in Vulkan's memory, contiguous and by rows, on the installed driver: the copied bytes, and the
// reported path.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>
#include <allot/vulkan/tensor.hpp>

#include "commands.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <numeric>

namespace {

using allot::copy_path;
using allot::int32;
using allot::tensor_refusal;
using allot::vulkan::command_copy;
using allot::vulkan::device_memory;
using allot::vulkan::mapped_copy;

using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using device_arena = allot::arena<device_memory, allot::best_fit<>>;

constexpr std::size_t count = 4 * 64;

/// A memory, and the tensors in it that the tests copy.
template <class Arena>
struct place {
    Arena& memory;
    host_arena& tables;
    allot::storage<Arena> storage = *allot::alloc_storage(memory, 1 << 14, 256);
    allot::storage<host_arena> table = *allot::alloc_storage(tables, 64);

    auto whole() { return *allot::alloc_tensor(storage, 1024, {4, 64}, int32); }
    auto rows() {
        return *allot::alloc_discontiguous_tensor<allot::row_offset<>>(table, 0, storage, {8192, 4096, 4352, 12288},
                                                                       {4, 64}, int32);
    }
};

struct memories : tests::validated {
    host_arena host{{}, 1 << 18};
    device_arena one{{*gpu, type()}, 1 << 16}, two{{*gpu, type()}, 1 << 16};
    std::array<allot::vulkan::bound_buffer, 2> buffers{over(one), over(two)};

    template <class Arena>
    static allot::vulkan::bound_buffer over(const Arena& memory) {
        const auto& all = memory.regions()[0];
        auto made = allot::vulkan::buffer_over(memory.device(), all.base, all.size, tests::every_use);
        REQUIRE(made);
        return *std::move(made);
    }
    template <class Arena>
    place<Arena> in(Arena& arena) {
        return {arena, host};
    }
    /// Different numbers at every call.
    auto numbers() {
        static int round = 0;
        const auto made = *allot::alloc_tensor(*allot::alloc_storage(host, 4096, 128), 0, {4, 64}, int32);
        auto* const first = static_cast<std::int32_t*>(made.data());
        std::iota(first, first + count, 1000 * ++round);
        return made;
    }
    template <class Tensor>
    static bool same(const Tensor& a, const Tensor& b) {
        return std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
    }
};

/// Calls `check(remote tensor, local tensor)` for contiguous tensors and for rows.
template <class From, class To, class Check>
void each_kind(place<From> from, place<To> to, Check&& check) {
    check(from.whole(), to.whole());
    check(from.whole(), to.rows());
    check(from.rows(), to.whole());
    check(from.rows(), to.rows());
}

}  // namespace

TEST_CASE_FIXTURE(memories, "vulkan copies: by the host in mapped memory") {
    const mapped_copy by_host{one.device()};
    each_kind(in(host), in(one), [&](const auto& from, const auto& to) {
        const auto sent = numbers(), seen = numbers();
        REQUIRE(allot::copy_tensor(sent, from));
        const auto there = allot::copy_tensor(from, to, by_host);
        REQUIRE(there);
        CHECK(*there == copy_path::mapped);
        const auto back = allot::copy_tensor(to, seen, by_host);
        REQUIRE(back);
        CHECK(*back == copy_path::mapped);
        CHECK(same(sent, seen));
    });
    CHECK(allot::copy_tensor(numbers(), in(two).whole(), by_host).error().reason == tensor_refusal::no_way);
    CHECK(allot::copy_tensor(in(two).whole(), numbers(), by_host).error().reason == tensor_refusal::no_way);
}

TEST_CASE_FIXTURE(memories, "vulkan copies: by recorded commands, between memories and within one") {
    const mapped_copy of_one{one.device()}, of_two{two.device()};
    const auto check = [&](const auto& from, const auto& to) {
        const auto sent = numbers(), seen = numbers();
        REQUIRE(allot::copy_tensor(sent, from, of_one, of_two));
        tests::run(vulkan, [&](VkCommandBuffer commands) {
            const auto recorded = allot::copy_tensor(from, to, command_copy{*gpu, commands, buffers});
            REQUIRE(recorded);
            CHECK(*recorded == copy_path::on_device);
            REQUIRE(allot::copy_tensor(to, seen, of_one, of_two));
            CHECK_FALSE(same(sent, seen));  // nothing is copied yet
        });
        REQUIRE(allot::copy_tensor(to, seen, of_one, of_two));
        CHECK(same(sent, seen));
    };
    each_kind(in(one), in(two), check);
    each_kind(in(one), in(one), check);
    tests::run(vulkan, [&](VkCommandBuffer commands) {
        const command_copy only_one{*gpu, commands, std::span{buffers}.first(1)};
        CHECK(allot::copy_tensor(in(one).whole(), in(two).whole(), only_one).error().reason == tensor_refusal::no_way);
        CHECK(allot::copy_tensor(in(two).whole(), in(one).whole(), only_one).error().reason == tensor_refusal::no_way);
    });
}
