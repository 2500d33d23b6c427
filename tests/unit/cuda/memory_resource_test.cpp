// Arenas as CUDA memory resources, on the fake runtime and on a GPU.
#include "machine.hpp"

#include <allot/allot.hpp>
#include <allot/cuda/memory_resource.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kib = 1024;
using allot::cuda::device_memory;
using allot::cuda::managed;
using allot::cuda::memory_resource;
using allot::cuda::pinned;
using ::cuda::mr::device_accessible;
using ::cuda::mr::host_accessible;

#if CCCL_VERSION >= 3001000
template <class... Properties>
using any_resource = ::cuda::mr::synchronous_resource_ref<Properties...>;
template <class Resource, class... Properties>
constexpr bool is_resource = ::cuda::mr::synchronous_resource_with<Resource, Properties...>;
void* take(auto& from, std::size_t size, std::size_t align) { return from.allocate_sync(size, align); }
void give_back(auto& to, void* bytes, std::size_t size, std::size_t align) { to.deallocate_sync(bytes, size, align); }
#else
template <class... Properties>
using any_resource = ::cuda::mr::resource_ref<Properties...>;
template <class Resource, class... Properties>
constexpr bool is_resource = ::cuda::mr::resource_with<Resource, Properties...>;
void* take(auto& from, std::size_t size, std::size_t align) { return from.allocate(size, align); }
void give_back(auto& to, void* bytes, std::size_t size, std::size_t align) { to.deallocate(bytes, size, align); }
#endif

constexpr allot::pool_options slots{.slot = 1024, .count = 16, .align = 256};
using device_pool = allot::arena<device_memory, allot::pool<slots>>;
using device_bump = allot::arena<device_memory, allot::bump<>>;
using pinned_arena = allot::arena<pinned, allot::best_fit<>>;
using managed_arena = allot::arena<managed, allot::best_fit<>>;
using device_arena = allot::indexed<allot::arena<device_memory, allot::best_fit<>>>;
using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

static_assert(is_resource<memory_resource<device_pool>, device_accessible>);
static_assert(is_resource<memory_resource<device_bump>, device_accessible>);
static_assert(is_resource<memory_resource<pinned_arena>, device_accessible, host_accessible>);
static_assert(is_resource<memory_resource<managed_arena>, device_accessible, host_accessible>);
static_assert(is_resource<memory_resource<host_arena>, host_accessible>);
static_assert(is_resource<memory_resource<device_arena>, device_accessible>);
static_assert(!is_resource<memory_resource<device_arena>, host_accessible>);
// A resource has only the properties of its memory.
static_assert(!is_resource<memory_resource<device_pool>, host_accessible>);
static_assert(!is_resource<memory_resource<host_arena>, device_accessible>);

}  // namespace

TEST_CASE("cuda memory_resource: a pool of device memory") {
    const tests::machine machine;
    device_pool memory{device_memory{0}, 16 * kib};
    memory_resource resource{memory};
    any_resource<device_accessible> any{resource};
    std::vector<void*> held;
    for (int i = 0; i != 16; ++i) {
        held.push_back(take(any, 1000, 256));
        CHECK(allot::raw_pointer::position(held.back()) % 256 == 0);
        REQUIRE(cudaMemset(held.back(), i, 1000) == cudaSuccess);
    }
    CHECK_THROWS_AS(static_cast<void>(take(any, 1000, 256)), std::bad_alloc);
    for (int i = 0; i != 16; ++i) {
        unsigned char bytes[1000] = {};
        void* const from = held[static_cast<std::size_t>(i)];
        REQUIRE(cudaMemcpy(bytes, from, sizeof bytes, cudaMemcpyDefault) == cudaSuccess);
        CHECK(bytes[0] == i);
        CHECK(bytes[999] == i);
        give_back(any, from, 1000, 256);
    }
    void* const again = take(any, 1000, 256);
    CHECK(std::find(held.begin(), held.end(), again) != held.end());
    give_back(any, again, 1000, 256);
}

TEST_CASE_TEMPLATE("cuda memory_resource: best fit in memory of host and device", Arena, pinned_arena, managed_arena) {
    const tests::machine machine;
    Arena memory{typename Arena::device_type{}, 64 * kib};
    memory_resource<Arena> resource{memory};
    any_resource<device_accessible, host_accessible> any{resource};
    std::vector<std::pair<void*, std::size_t>> held;
    for (std::size_t i = 0; i != 20; ++i) {
        held.emplace_back(take(any, 500 + 100 * i, 64), 500 + 100 * i);
        std::memset(held.back().first, static_cast<int>(i), held.back().second);
    }
    for (std::size_t i = 0; i != 20; ++i) {
        const auto* const bytes = static_cast<const unsigned char*>(held[i].first);
        CHECK(bytes[0] == i);
        CHECK(bytes[held[i].second - 1] == i);
        give_back(any, held[i].first, held[i].second, 64);
    }
    // All memory is free: the arena serves the same request as an empty one.
    const std::size_t most = memory.diagnose({1024 * kib, 16}).largest_hole;
    void* const whole = take(any, most, 16);
    give_back(any, whole, most, 16);
}

TEST_CASE("cuda memory_resource: best fit of device memory, with an index of its blocks") {
    const tests::machine machine;
    device_arena memory{allot::arena<device_memory, allot::best_fit<>>{device_memory{0}, 256 * kib}};
    memory_resource resource{memory};
    any_resource<device_accessible> any{resource};
    const std::size_t most = memory.diagnose({1024 * kib, 256}).largest_hole;
    std::vector<std::pair<void*, std::size_t>> held;
    for (std::size_t i = 0; i != 60; ++i) {
        if (i % 3 == 2) {  // leaves holes of several sizes
            give_back(any, held[i / 3].first, held[i / 3].second, 256);
            held[i / 3].first = nullptr;
        }
        held.emplace_back(take(any, 1000 + 100 * i, 256), 1000 + 100 * i);
        CHECK(allot::raw_pointer::position(held.back().first) % 256 == 0);
        REQUIRE(cudaMemset(held.back().first, static_cast<int>(i), held.back().second) == cudaSuccess);
    }
    for (std::size_t i = 0; i != held.size(); ++i) {
        const auto [from, size] = held[i];
        if (from == nullptr) continue;
        CHECK(memory.size_of(from) == size);
        CHECK(memory.block_containing(static_cast<char*>(from) + size - 1).address == from);
        std::vector<unsigned char> bytes(size);
        REQUIRE(cudaMemcpy(bytes.data(), from, size, cudaMemcpyDefault) == cudaSuccess);
        CHECK(std::all_of(bytes.begin(), bytes.end(), [&](unsigned char each) { return each == i; }));
        give_back(any, from, size, 256);
    }
    void* const whole = take(any, most, 256);  // all memory is free again
    give_back(any, whole, most, 256);
}

TEST_CASE("cuda memory_resource: without memory, throws with the text of diagnose") {
    const tests::machine machine;
    device_bump memory{device_memory{0}, 4 * kib};
    memory_resource resource{memory};
    const auto thrown = [](auto& from, std::size_t size, std::size_t align) -> allot::diagnosis {
        try {
            static_cast<void>(take(from, size, align));
        } catch (const allot::bad_alloc& error) {
            CHECK(std::string{error.what()} == error.diagnosis().what());
            return error.diagnosis();
        }
        return {};
    };
    CHECK(thrown(resource, 8 * kib, 16) == memory.diagnose({8 * kib, 16}));
    CHECK(thrown(resource, 8 * kib, 16).reason == allot::refusal::exhausted);
    CHECK(thrown(resource, 100, 3).reason == allot::refusal::bad_alignment);

    device_bump none{device_memory{12345}, 4 * kib};
    memory_resource empty{none};
    CHECK(thrown(empty, 100, 16) == allot::diagnosis{allot::refusal::device_refused, 0, cudaErrorInvalidDevice});
}

TEST_CASE("cuda memory_resource: zero bytes and null pointers follow the requirements") {
    const tests::machine machine;
    device_pool memory{device_memory{0}, 16 * kib};
    memory_resource resource{memory};
    std::vector<void*> held;
    for (int i = 0; i != 16; ++i) held.push_back(take(resource, 0, 1));
    CHECK(held[0] != held[1]);
    give_back(resource, nullptr, 100, 16);
    CHECK_THROWS_AS(static_cast<void>(take(resource, 0, 1)), allot::bad_alloc);
    for (void* const each : held) give_back(resource, each, 0, 1);
    for (int i = 0; i != 16; ++i) CHECK(take(resource, 1024, 256) != nullptr);
}

TEST_CASE("cuda memory_resource: resources of one arena, and copies, are equal") {
    const tests::machine machine;
    device_bump one{device_memory{0}, 4 * kib}, two{device_memory{0}, 4 * kib};
    const memory_resource a{one}, b{two}, c{a};
    CHECK(a == c);
    CHECK(a != b);
    CHECK(&c.allocator() == &one);
}
