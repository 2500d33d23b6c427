// Tests of storage: sizes, alignments, lifetime and deallocation.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include "../../error_of.hpp"
#include "../../laws/devices.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace {

using allot::int32;
using allot::refusal;
using allot::tensor_refusal;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
constexpr std::int64_t most = std::numeric_limits<std::ptrdiff_t>::max();  // the largest size of an object

/// A device with a journal, and the naive allocator (one device block for each request) over it.
struct watched_heap {
    std::shared_ptr<laws::journal> journal = std::make_shared<laws::journal>();
    allot::naive<laws::watched<allot::host::heap>> memory{laws::watched<allot::host::heap>{{}, journal}};
};

struct told {
    static inline std::vector<allot::misuse> all;
    void operator()(allot::misuse what, std::size_t, std::size_t) const noexcept { all.push_back(what); }
};
using checked = allot::storage_policies<allot::best_fit<>, allot::references::plain, allot::hardening::checked, told>;

}  // namespace

TEST_CASE("storage: invalid sizes and alignments are rejected") {
    heap_arena memory{{}, 4096};
    CHECK(allot::alloc_storage(memory, -1).error().reason == tensor_refusal::negative_size);
    CHECK(allot::alloc_storage(memory, std::numeric_limits<std::int64_t>::min()).error().reason ==
          tensor_refusal::negative_size);
    CHECK(allot::alloc_storage(memory, 64, 0).error().reason == tensor_refusal::bad_alignment);
    CHECK(allot::alloc_storage(memory, 64, 48).error().reason == tensor_refusal::bad_alignment);
    const auto huge = allot::alloc_storage(memory, most);
    CHECK(huge.error().reason == tensor_refusal::no_memory);
    CHECK(huge.error().memory.reason == refusal::exhausted);
    CHECK(std::string{huge.error().what()} == "fewer bytes are free than were asked for");
    CHECK(std::string{allot::tensor_error{tensor_refusal::no_memory}.what()} ==
          allot::to_string(tensor_refusal::no_memory));
    CHECK(allot::alloc_storage(memory, {most, 2}, int32).error().reason == tensor_refusal::too_large);
    CHECK(allot::alloc_storage(memory, {-4}, int32).error().reason == tensor_refusal::bad_shape);
}

TEST_CASE("storage: the requested alignment applies to every tensor") {
    for (std::size_t align = 1; align <= 65536; align *= 2) {
        CAPTURE(align);
        heap_arena memory{{}, 1 << 20};
        const auto data = *allot::alloc_storage(memory, 200000, align);
        CHECK(reinterpret_cast<std::uintptr_t>(data.base()) % align == 0);
        const auto first = allot::alloc_tensor(data, allot::anywhere, {3}, allot::int8);
        const auto second = allot::alloc_tensor(data, allot::anywhere, {5}, allot::int8);
        REQUIRE(second);
        CHECK(reinterpret_cast<std::uintptr_t>(first->data()) % align == 0);
        CHECK(reinterpret_cast<std::uintptr_t>(second->data()) % align == 0);
        if (align == 1) continue;
        const auto between = static_cast<std::int64_t>(131072 + align / 2);
        CHECK(allot::alloc_tensor(data, between, {5}, allot::int8).error().reason == tensor_refusal::misaligned);
        CHECK(allot::alloc_tensor(data, between, {5}, allot::int8, align / 2));
        CHECK(allot::alloc_tensor(data, 0, {5}, allot::int8, 2 * align).error().reason == tensor_refusal::misaligned);
        CHECK(allot::alloc_tensor(data, 0, {5}, allot::int8, 3).error().reason == tensor_refusal::bad_alignment);
    }
}

TEST_CASE("alloc_storage: a layout with named fields means the same as the positional size and alignment") {
    watched_heap over;
    for (const std::size_t align : {1U, 64U, 4096U}) {
        const auto named = *allot::alloc_storage(over.memory, {.size = 1000, .align = align});
        const auto positional = *allot::alloc_storage(over.memory, 1000, align);
        CHECK(named.size() == positional.size());
        CHECK(named.align() == positional.align());
        CHECK(named.align() == align);
    }
    const auto by_default = *allot::alloc_storage(over.memory, {.size = 1000});
    CHECK(by_default.align() == alignof(std::max_align_t));
    const allot::layout wanted{.size = 96, .align = 32};
    CHECK(allot::alloc_storage(over.memory, wanted)->size() == 96);
    CHECK(allot::alloc_storage(over.memory, allot::layout_of<std::max_align_t>));
    const auto empty = *allot::alloc_storage(over.memory, {.size = 0, .align = 8});
    CHECK((empty && empty.size() == 0 && empty.align() == 8));

    const auto reason = [&](allot::layout bad) { return allot::alloc_storage(over.memory, bad).error().reason; };
    constexpr std::size_t top = std::numeric_limits<std::size_t>::max();
    CHECK(reason({.size = 16, .align = 0}) == tensor_refusal::bad_alignment);
    CHECK(reason({.size = 16, .align = 3}) == tensor_refusal::bad_alignment);
    CHECK(reason({.size = top}) == tensor_refusal::too_large);
    CHECK(reason({.size = top / 2 + 1}) == tensor_refusal::too_large);
    CHECK(reason({.size = top / 2}) == tensor_refusal::no_memory);

    const allot::scope_map memories{allot::in_scope<allot::scope::global>(over.memory)};
    CHECK(allot::alloc_storage<allot::scope::global>(memories, {.size = 64, .align = 32})->align() == 32);
    using uncounted = allot::storage_policies<allot::best_fit<>, allot::references::none>;
    allot::storage_body<decltype(over.memory), uncounted> body;
    const auto held = *allot::alloc_storage(body, over.memory, {.size = 64, .align = 32});
    CHECK((held.size() == 64 && held.align() == 32));
    CHECK(allot::alloc_storage(body, over.memory, {.size = 64}).error().reason == tensor_refusal::in_use);
}

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wbraced-scalar-init"
#endif
TEST_CASE("alloc_storage: calls with braces and without names keep their meaning") {
    watched_heap over;
    // One number in braces is the size of the positional form, and no number is 0: a negative size reaches the check.
    CHECK(allot::alloc_storage(over.memory, {96})->size() == 96);
    CHECK(allot::alloc_storage(over.memory, {})->size() == 0);
    CHECK(allot::alloc_storage(over.memory, {-1}).error().reason == tensor_refusal::negative_size);
    CHECK(allot::alloc_storage(over.memory, -1).error().reason == tensor_refusal::negative_size);
    CHECK(allot::alloc_storage(over.memory, {96}, 32)->align() == 32);
    CHECK(allot::alloc_storage(over.memory, {96}, {32})->align() == 32);
    // Numbers in braces and a dtype are a shape.
    CHECK(allot::alloc_storage(over.memory, {4, 64}, int32)->size() == 1024);
    CHECK(allot::alloc_storage(over.memory, {96}, int32)->size() == 384);
    CHECK(allot::alloc_storage(over.memory, {4, 64}, int32, 256)->align() == 256);
    // Two numbers in braces without a dtype are a layout.
    const auto layout = *allot::alloc_storage(over.memory, {4096, 256});
    CHECK((layout.size() == 4096 && layout.align() == 256));
    const allot::scope_map memories{allot::in_scope<allot::scope::global>(over.memory)};
    CHECK(allot::alloc_storage<allot::scope::global>(memories, {96})->size() == 96);
    CHECK(allot::alloc_storage<allot::scope::global>(memories, {4, 64}, int32)->size() == 1024);
}

#ifdef __clang__
#pragma clang diagnostic pop
#endif

TEST_CASE("storage: a tensor keeps its storage alive, in any order of kill") {
    watched_heap over;
    auto data = *allot::alloc_storage(over.memory, 4096);
    auto tensor = *allot::alloc_tensor(data, 1024, {4, 64}, int32);
    data.kill();
    CHECK_FALSE(data);
    CHECK(data.size() == 0);
    CHECK(over.journal->bytes_out == 4096);
    static_cast<std::int32_t*>(tensor.data())[255] = 7;
    auto again = tensor;
    tensor.kill();
    CHECK_FALSE(tensor);
    CHECK(tensor.data() == nullptr);
    CHECK(over.journal->bytes_out == 4096);
    CHECK(static_cast<std::int32_t*>(again.data())[255] == 7);
    again.kill();
    CHECK(over.journal->bytes_out == 0);
    CHECK_FALSE(over.journal->wrong);
}

TEST_CASE("storage: bytes stay allocated until the last view is gone, despite kill and trim") {
    using pages = laws::watched<laws::pages<laws::page_options{}>>;
    const auto journal = std::make_shared<laws::journal>();
    const auto outlives = [&](auto& memory) {
        auto data = *allot::alloc_storage(memory, 4096);
        auto tensor = *allot::alloc_tensor(data, 1024, {4, 64}, int32);
        auto view = *allot::view(tensor, allot::uint8, {512}, 256);
        auto slice = *allot::slice(tensor, {2, 0}, {1, 64});
        auto* const bytes = static_cast<unsigned char*>(view.data());
        std::memset(bytes, 0x5A, 512);
        tensor.kill();
        data.kill();
        static_cast<void>(memory.trim());  // memory in use is not released
        const std::size_t out = journal->bytes_out;
        CHECK(out >= 4096);
        auto other = *allot::alloc_storage(memory, 4096);  // in other memory
        std::memset((*allot::alloc_tensor(other, 0, {4096}, allot::uint8)).data(), 0, 4096);
        other.kill();
        static_cast<void>(memory.trim());
        CHECK(journal->bytes_out == out);
        for (std::size_t i = 0; i != 512; ++i) REQUIRE(bytes[i] == 0x5A);
        view.kill();
        CHECK(slice.data() != nullptr);
        static_cast<void>(memory.trim());
        CHECK(journal->bytes_out == out);
        CHECK(*static_cast<const unsigned char*>(slice.data()) == 0x5A);
        slice.kill();
        CHECK(memory.trim() == out);
        CHECK(journal->bytes_out == 0);
        CHECK_FALSE(journal->wrong);
    };
    const auto make = [&] { return pages{laws::pages<laws::page_options{}>{false}, journal}; };
    allot::arena<pages, allot::best_fit<>, allot::growth::fixed<allot::growth_options{.step = 8192, .regions = 4}>>
        arena{make()};
    outlives(arena);
    allot::naive<allot::cached<pages>> pooled{allot::cached<pages>{make()}};
    outlives(pooled);
}

TEST_CASE("storage: calls on killed handles are rejected") {
    heap_arena memory{{}, 4096};
    auto data = *allot::alloc_storage(memory, 1024);
    auto tensor = *allot::alloc_tensor(data, 0, {4}, int32);
    const auto other = *allot::alloc_tensor(data, 64, {4}, int32);
    tensor.kill();
    tensor.kill();  // without hardening, this has no effect
    CHECK(allot::view(tensor, int32, {4}).error().reason == tensor_refusal::killed);
    CHECK(allot::slice(tensor, {0}, {4}).error().reason == tensor_refusal::killed);
    CHECK(allot::kernel_offset_of(tensor).error().reason == tensor_refusal::killed);
    CHECK(allot::copy_tensor(tensor, other).error().reason == tensor_refusal::killed);
    CHECK(allot::copy_tensor(other, tensor).error().reason == tensor_refusal::killed);
    data.kill();
    CHECK(allot::alloc_tensor(data, 0, {4}, int32).error().reason == tensor_refusal::killed);
    CHECK(allot::alloc_discontiguous_tensor(data, 0, data, {0}, {1, 4}, int32).error().reason ==
          tensor_refusal::killed);
}

TEST_CASE("storage: checked builds report double kill and use after kill") {
    told::all.clear();
    heap_arena memory{{}, 65536};
    auto data = *allot::alloc_storage<checked>(memory, 4096);
    auto tensor = *allot::alloc_tensor(data, 0, {4}, int32);
    auto rows = *allot::alloc_discontiguous_tensor(data, 1024, data, {64, 128}, {2, 4}, int32);
    tensor.kill();
    CHECK(told::all.empty());
    tensor.kill();
    CHECK(told::all == std::vector{allot::misuse::killed_before});
    CHECK(tensor.data() == nullptr);
    CHECK(told::all.size() == 2);
    rows.kill();
    rows.kill();
    CHECK(rows.table().entries == nullptr);
    CHECK(told::all.size() == 4);
    data.kill();
    data.kill();
    CHECK(told::all == std::vector(5, allot::misuse::killed_before));
}

TEST_CASE("storage: as_given trusts the caller, checked builds do not") {
    heap_arena memory{{}, 65536};
    const auto trusted = *allot::alloc_storage<allot::storage_policies<allot::as_given>>(memory, 4096);
    const auto a = allot::alloc_tensor(trusted, 0, {4, 64}, int32);
    const auto b = allot::alloc_tensor(trusted, 1020, {4, 64}, int32, 4);
    CHECK(a);
    CHECK(b);
    using distrusted = allot::storage_policies<allot::as_given, allot::references::plain, allot::hardening::checked>;
    const auto watched = *allot::alloc_storage<distrusted>(memory, 4096);
    auto c = allot::alloc_tensor(watched, 0, {4, 64}, int32);
    CHECK(c);
    CHECK(allot::alloc_tensor(watched, 1020, {4, 64}, int32, 4).error().reason == tensor_refusal::overlapping);
    auto view = *allot::view(*c, allot::uint8, {1024});  // an intentional alias
    CHECK(view.data() == c->data());
}

TEST_CASE("storage: offsets out of bounds are rejected for every integer type") {
    heap_arena memory{{}, 65536};
    const auto data = *allot::alloc_storage(memory, 4096, 1);
    const auto at = [&](auto offset, std::int64_t bytes) {
        return error_of(allot::alloc_tensor(data, offset, {bytes}, allot::uint8)).reason;
    };
    CHECK(at(-1, 1) == tensor_refusal::negative_offset);
    CHECK(at(std::numeric_limits<std::int64_t>::min(), 1) == tensor_refusal::negative_offset);
    CHECK(at(4096, 1) == tensor_refusal::out_of_bounds);
    CHECK(at(4095, 2) == tensor_refusal::out_of_bounds);
    CHECK(at(4095, 1) == tensor_refusal::none);
    CHECK(at(1, 4096) == tensor_refusal::out_of_bounds);
    CHECK(at(most, most) == tensor_refusal::out_of_bounds);
    // offset + size overflows 64 bits and wraps to a small number
    CHECK(at(std::numeric_limits<std::uint64_t>::max() - 15, 32) == tensor_refusal::out_of_bounds);
}

TEST_CASE("storage: tensors without elements occupy no bytes, also at the end") {
    heap_arena memory{{}, 65536};
    auto data = *allot::alloc_storage(memory, 64);
    const auto all = allot::alloc_tensor(data, 0, {16}, int32);
    REQUIRE(all);
    for (const std::int64_t offset : {0, 32, 64}) {
        const auto none = allot::alloc_tensor(data, offset, {4, 0, 2}, int32);
        REQUIRE(none);
        CHECK(none->data() == nullptr);
        CHECK(none->size_bytes() == 0);
        CHECK(static_cast<bool>(*none));
    }
    CHECK(allot::alloc_tensor(data, 80, {0}, int32).error().reason == tensor_refusal::out_of_bounds);
    CHECK(allot::alloc_tensor(data, 4, {0}, int32).error().reason == tensor_refusal::misaligned);
    const auto nothing = allot::alloc_storage(memory, 0);
    REQUIRE(nothing);
    CHECK(allot::alloc_tensor(*nothing, 0, {0}, int32));
    CHECK(allot::alloc_tensor(*nothing, allot::anywhere, {0}, int32));
    CHECK(allot::alloc_tensor(*nothing, 0, {1}, int32).error().reason == tensor_refusal::out_of_bounds);
    CHECK(allot::alloc_tensor(*nothing, allot::anywhere, {1}, int32).error().memory.reason == refusal::exhausted);
}

TEST_CASE("alloc_tensors: allocates all tensors or none") {
    heap_arena memory{{}, 65536};
    const auto data = *allot::alloc_storage(memory, 1024);
    using request = allot::tensor_request<>;
    std::vector<allot::tensor_in<std::remove_const_t<decltype(data)>>> fresh(3);
    const std::vector<request> wrong{{0, {64}, int32}, {256, {64}, int32}, {496, {64}, int32}};
    const auto error = allot::alloc_tensors(data, std::span{wrong}, std::span{fresh});
    CHECK(error.reason == tensor_refusal::overlapping);
    CHECK(error.row == 2);
    for (const auto& each : fresh) CHECK_FALSE(each);
    CHECK(data.diagnose({1024, 16}).reason == refusal::none);
    const std::vector<request> right{{0, {64}, int32}, {256, {64}, int32}, {512, {64}, int32}};
    CHECK(allot::alloc_tensors(data, std::span{right}, std::span{fresh}).reason == tensor_refusal::none);
    CHECK(fresh[2].data() == static_cast<std::byte*>(data.base()) + 512);
}

TEST_CASE("storage: with atomic references, threads free each byte once") {
    using policies = allot::storage_policies<allot::best_fit<>, allot::references::atomic>;
    heap_arena memory{{}, 1 << 20};
    {
        const auto data = *allot::alloc_storage<policies>(memory, 1 << 16, 64);
        auto shared = *allot::alloc_tensor(data, 0, {64}, allot::uint8);
        std::vector<std::thread> threads;
        for (int t = 0; t != 4; ++t) {
            threads.emplace_back([data, shared] {
                for (int i = 0; i != 2000; ++i) {
                    auto mine = allot::alloc_tensor(data, allot::anywhere, {100}, allot::uint8);
                    auto copy = shared;
                    if (mine) static_cast<std::uint8_t*>(mine->data())[99] = 1;
                }
            });
        }
        for (auto& each : threads) each.join();
        shared.kill();
        CHECK(data.diagnose({1 << 16, 64}).reason == refusal::none);  // the memory is one hole again
    }
    CHECK(memory.diagnose({(1 << 20) - 64, 16}).reason == refusal::none);
}

TEST_CASE("references::none: the caller owns the body, tensors can be moved, views hold no reference") {
    using policies = allot::storage_policies<allot::best_fit<allot::best_fit_options{.records = 16}, std::uint16_t>,
                                             allot::references::basic_none<4>, allot::hardening::debug, told>;
    constexpr allot::arena_options unseen{.annotate = false};  // the test reads freed bytes
    using static_arena =
        allot::arena<allot::host::static_storage<8192, 64>, allot::bump<>, allot::growth::none<>, unseen>;
    told::all.clear();
    static_arena memory;
    {
        allot::storage_body<static_arena, policies> body;
        const auto data = *allot::alloc_storage(body, memory, 4096, 64);
        CHECK(allot::alloc_storage(body, memory, 16).error().reason == tensor_refusal::in_use);
        using tensor = allot::tensor_in<std::remove_const_t<decltype(data)>>;
        static_assert(std::movable<tensor> && !std::copy_constructible<tensor>);
        auto a = *allot::alloc_tensor(data, 0, {4, 64}, int32);
        CHECK(*static_cast<unsigned char*>(a.data()) == 0xCD);  // exposes kernels that rely on zeroed memory
        CHECK(allot::alloc_tensor(data, 512, {4}, int32).error().reason == tensor_refusal::overlapping);
        auto moved = std::move(a);
        CHECK_FALSE(a);
        const auto halves = *allot::view(moved, allot::float16, {512});
        CHECK(halves.data() == moved.data());
        const auto* const bytes = static_cast<const unsigned char*>(moved.data());
        moved.kill();
        CHECK(bytes[1023] == 0xDD);
        auto rows = allot::alloc_discontiguous_tensor<allot::row_offset<std::uint16_t>>(
            data, 0, data, {1024, 512, 2048}, {3, 64}, int32);
        REQUIRE(rows);
        CHECK(rows->row(1) == static_cast<std::byte*>(data.base()) + 512);
        const auto five = allot::alloc_discontiguous_tensor<allot::row_offset<std::uint16_t>>(
            data, 64, data, allot::anywhere, {5, 4}, int32);
        CHECK(five.error().reason == tensor_refusal::too_many_rows);
        rows->kill();
        CHECK(data.diagnose({4096, 64}).reason == refusal::none);
        CHECK(told::all.empty());

        alignas(tensor) std::byte room[sizeof(tensor)];
        ::new (static_cast<void*>(room)) tensor{*allot::alloc_tensor(data, 0, {4}, int32)};  // which is never killed
    }
    CHECK(told::all == std::vector{allot::misuse::leaked});
}

TEST_CASE("storage: nothing is held after any acquisition fails") {
    for (std::size_t n = 1;; ++n) {
        watched_heap over;
        over.journal->fail_on = n;
        {
            const auto data = allot::alloc_storage(over.memory, 4096);
            const auto table = allot::alloc_storage(over.memory, 64);
            if (data && table) {
                CHECK(allot::alloc_discontiguous_tensor(*table, 0, *data, {0, 512}, {2, 64}, int32));
            } else {
                const auto& reason = data ? table.error() : data.error();
                CHECK(reason.memory.reason == refusal::device_refused);
                CHECK(reason.memory.device_error == laws::journal::injected);
            }
        }
        CHECK(over.journal->bytes_out == 0);
        if (over.journal->refusals == 0) break;
    }
}

TEST_CASE("storage: an allocator that can trim does so before the storage fails") {
    auto journal = std::make_shared<laws::journal>();
    using growing =
        allot::arena<laws::watched<laws::pages<laws::page_options{}>>, allot::best_fit<>,
                     allot::growth::fixed<allot::growth_options{.step = 4096, .limit = 8192, .regions = 4}>>;
    growing memory{laws::watched<laws::pages<laws::page_options{}>>{laws::pages<laws::page_options{}>{false}, journal}};
    auto a = *allot::alloc_storage(memory, 3000);
    auto b = *allot::alloc_storage(memory, 3000);
    CHECK(allot::alloc_storage(memory, 6000).error().memory.reason == refusal::over_limit);
    a.kill();
    b.kill();
    CHECK(memory.size() == 8192);
    CHECK(allot::alloc_storage(memory, 6000));  // succeeds only after both regions are released
}

TEST_CASE("storage: an alignment above the placement's largest offset is satisfied only at the first byte") {
    using tiny = allot::storage_policies<allot::best_fit<allot::best_fit_options{.records = 16}, std::uint16_t>>;
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1 << 20};
    const auto data = *allot::alloc_storage<tiny>(memory, 5000, 1 << 17);
    const auto asked = [&](std::size_t align) {
        return allot::alloc_tensor(data, allot::anywhere, {100}, allot::int8, align);
    };
    CHECK(data.diagnose({100, 1 << 16}).reason == allot::refusal::none);
    const auto first = asked(1 << 16);
    REQUIRE(first);
    CHECK(first->data() == data.base());
    CHECK(data.diagnose({100, 1 << 16}).reason != allot::refusal::none);
    CHECK(asked(1 << 17).error().reason == allot::tensor_refusal::no_memory);
    CHECK(asked(1 << 12));
    const auto whole = *allot::alloc_storage<tiny>(memory, 5000, 1 << 17);
    const auto all = allot::alloc_tensor(whole, allot::anywhere, {5000}, allot::int8, 1 << 16);
    REQUIRE(all);
    CHECK(all->data() == whole.base());
    CHECK_FALSE(allot::alloc_tensor(whole, allot::anywhere, {1}, allot::int8, 1 << 16));
    const auto free = *allot::alloc_storage<tiny>(memory, 5000, 1 << 17);
    CHECK_FALSE(
        allot::alloc_tensor(free, allot::anywhere, {65'636}, allot::int8, 1 << 16));  // the size exceeds 16 bits
}
