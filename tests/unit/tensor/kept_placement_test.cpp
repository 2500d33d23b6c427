// Tests of the heap that storages take: one allocation for a body with its first records, and growth behind it.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include "../../error_of.hpp"

#include <doctest/doctest.h>

#include <new>
#include <vector>

namespace {

/// The allocations of this program that do not throw, which are those of allot.
struct heap_calls {
    static inline int made = 0;
    static inline int left = -1;  // until a call fails; below 0: none fails
};

/// Calls `allocate`, which throws, unless this call is to fail.
template <class Allocate>
void* counted(Allocate allocate) noexcept {
    if (heap_calls::left == 0) return nullptr;
    if (heap_calls::left > 0) --heap_calls::left;
    ++heap_calls::made;
    try {
        return allocate();
    } catch (...) {
        return nullptr;
    }
}

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using allot::tensor_refusal;

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted([size] { return ::operator new(size); });
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return counted([size] { return ::operator new[](size); });
}

TEST_CASE_TEMPLATE("storage: takes one allocation from the heap, and a tensor at most one", Policies,
                   allot::storage_policies<>, allot::storage_policies<allot::as_given>,
                   allot::storage_policies<allot::best_fit<allot::best_fit_options{}, std::uint32_t>>,
                   allot::storage_policies<allot::best_fit<>, allot::references::atomic, allot::hardening::checked>) {
    arena memory{{}, 65536};
    heap_calls::made = 0;
    const auto data = *allot::alloc_storage<Policies>(memory, 4096, 64);
    CHECK(heap_calls::made == 1);
    for (int i = 0; i != 6; ++i) {
        heap_calls::made = 0;
        REQUIRE(allot::alloc_tensor(data, 512 * i, {16}, allot::int32));
        CHECK(heap_calls::made <= 1);
    }
}

TEST_CASE("storage: the body has at most 256 bytes beside its placement") {
    using allot::storage_policies, allot::storage_body, allot::as_given;
    static_assert(sizeof(storage_body<arena, storage_policies<as_given>>) <= 256);
    static_assert(sizeof(storage_body<arena, storage_policies<as_given, allot::references::none>>) <= 256);
    using fixed = allot::best_fit<allot::best_fit_options{.records = 16}>;
    static_assert(sizeof(storage_body<arena, storage_policies<fixed>>) <= sizeof(fixed) + 256);
}

TEST_CASE("storage: more records than those in the body") {
    arena memory{{}, 1 << 20};
    const auto data = *allot::alloc_storage(memory, 1 << 18, 16);
    using tensor = allot::tensor_in<std::remove_const_t<decltype(data)>>;
    for (int round = 0; round != 2; ++round) {
        std::vector<tensor> all;
        for (int i = 0; i != 1000; ++i) {
            auto made = allot::alloc_tensor(data, allot::anywhere, {1 + i % 50}, allot::int32);
            REQUIRE(made);
            *static_cast<int*>(made->data()) = i;
            all.push_back(*std::move(made));
        }
        for (std::size_t i = 0; i != all.size(); i += 2) all[i].kill();
        for (std::size_t i = 1; i < all.size(); i += 2)
            REQUIRE(*static_cast<int*>(all[i].data()) == static_cast<int>(i));
        all.clear();
        CHECK(data.diagnose({1 << 18, 16}).reason == allot::refusal::none);
    }
}

TEST_CASE("storage: fails without heap, and keeps its tensors when records cannot grow") {
    arena memory{{}, 1 << 20};
    heap_calls::left = 0;
    CHECK(error_of(allot::alloc_storage(memory, 4096)).reason == tensor_refusal::no_host_memory);
    heap_calls::left = -1;
    const auto data = *allot::alloc_storage(memory, 1 << 16, 16);
    std::vector<allot::tensor_in<std::remove_const_t<decltype(data)>>> all;
    tensor_refusal reason = tensor_refusal::none;
    while (reason == tensor_refusal::none) {
        heap_calls::left = 1;  // for the lease, and not for records
        auto made = allot::alloc_tensor(data, allot::anywhere, {4}, allot::int32);
        reason = error_of(made).reason;
        if (made) all.push_back(*std::move(made));
    }
    heap_calls::left = -1;
    CHECK(reason == tensor_refusal::no_memory);
    CHECK(all.size() > 8);
    CHECK(all.size() < 16);
    const auto next = allot::alloc_tensor(data, allot::anywhere, {4}, allot::int32);
    REQUIRE(next);
    for (const auto& each : all) CHECK(each.data() != next->data());
}
