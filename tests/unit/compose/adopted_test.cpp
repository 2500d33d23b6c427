#include "../../laws/devices.hpp"
#include "../../texts.hpp"

#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/compose/adopted.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace {

using namespace allot::literals;
using allot::adopted_error;
using allot::refusal;

/// Deleter that counts its calls and records the last argument.
struct counting {
    int* calls;
    const void** with = nullptr;
    void operator()(const void* base) const noexcept {
        ++*calls;
        if (with != nullptr) *with = base;
    }
};
using pointer = allot::adopted<allot::host::buffer, counting>;
using constant = allot::adopted<allot::read_only<allot::host::buffer>, counting>;

alignas(4096) std::byte bytes[8192];

/// Device of handles whose own regions are all aligned to 128. Adopted handles keep their own alignment.
using numbered = laws::handles<laws::handle_options{.min_align = 128}>;
struct closing {
    int* closed;
    void operator()(allot::handle_offset<int>::address at) const noexcept { *closed = *closed * 100 + at.handle; }
};
using handle = allot::adopted<numbered, closing>;

}  // namespace

TEST_CASE("adopted memory: the deleter runs exactly once, when the last owner ends") {
    int calls = 0;
    const void* with = nullptr;
    {
        pointer device{bytes, sizeof bytes, counting{&calls, &with}};
        pointer moved{std::move(device)};
        allot::arena<pointer, allot::best_fit<>> first{std::move(moved)};
        CHECK(first.size() == sizeof bytes);
        allot::arena<pointer, allot::best_fit<>> memory{std::move(first)};
        const auto block = memory.allocate({.size = 4000, .align = 64});
        REQUIRE(block);
        std::memset(block.address, 1, block.size);
        memory.deallocate(block);
        CHECK(calls == 0);
    }
    CHECK(calls == 1);
    CHECK(with == bytes);

    { pointer never{bytes, sizeof bytes, counting{&calls}}; }  // never acquired
    CHECK(calls == 2);
    { allot::arena<pointer, allot::bump<>> refused{pointer{bytes + 1, 10, 64, counting{&calls}}}; }
    CHECK(calls == 3);
    {  // repeated acquisition and release
        allot::naive<pointer> memory{pointer{bytes, sizeof bytes, counting{&calls}}};
        for (int i = 0; i != 3; ++i) {
            const auto all = memory.allocate({.size = 100});
            REQUIRE(all);
            CHECK(all.address == bytes);
            CHECK(!memory.allocate({.size = 100}));
            memory.deallocate(all);
        }
        CHECK(calls == 3);
    }
    CHECK(calls == 4);
    {  // a region that is never released
        allot::naive<pointer> memory{pointer{bytes, sizeof bytes, counting{&calls}}};
        CHECK(memory.allocate({.size = 100}));
    }
    CHECK(calls == 5);
    {
        allot::cached<pointer> device{pointer{bytes, sizeof bytes, counting{&calls}}};
        allot::naive<allot::cached<pointer>> memory{std::move(device)};
        memory.deallocate(memory.allocate({.size = 8000}));
    }
    CHECK(calls == 6);
}

TEST_CASE("adopted memory: a larger alignment than that of the base is an error") {
    int calls = 0;
    {
        pointer odd{bytes + 16, 1000, counting{&calls}};
        CHECK(odd.acquire({.size = 1, .align = 32}).error() == adopted_error::misaligned);
        CHECK(odd.acquire({.size = 1, .align = 3}).error() == adopted_error::misaligned);
        CHECK(odd.acquire({.size = 0}).error() == adopted_error::too_small);
        CHECK(odd.acquire({.size = 1001, .align = 1}).error() == adopted_error::too_small);
        const auto all = odd.acquire({.size = 1, .align = 16});
        REQUIRE(all);
        CHECK(*all == allot::region<void*>{bytes + 16, 1000, 16});
        CHECK(odd.acquire({.size = 1, .align = 16}).error() == adopted_error::in_use);
    }
    CHECK(calls == 1);
    pointer claims_too_much{bytes + 16, 1000, 32, counting{&calls}};
    CHECK(claims_too_much.acquire({.size = 1, .align = 1}).error() == adopted_error::misaligned);
    pointer no_power{bytes, 1000, 48, counting{&calls}};
    CHECK(no_power.acquire({.size = 1, .align = 1}).error() == adopted_error::misaligned);
    pointer null{nullptr, 1000, counting{&calls}};
    CHECK(!null.acquire({.size = 1, .align = 1}));

    // The diagnosis of an arena contains the error. Inside the region, every alignment is available.
    constexpr allot::arena_options at_a_line{.align = 64};
    allot::arena<pointer, allot::best_fit<>, allot::growth::none<>, at_a_line> strict{
        pointer{bytes + 16, 4000, counting{&calls}}};
    CHECK(strict.diagnose({.size = 1}) ==
          allot::diagnosis{refusal::device_refused, 0, static_cast<long>(adopted_error::misaligned)});
    allot::arena<pointer, allot::best_fit<>> lax{pointer{bytes + 16, 4000, counting{&calls}}};
    const auto block = lax.allocate({.size = 100, .align = 1024});
    REQUIRE(block);
    CHECK(allot::raw_pointer::position(block.address) % 1024 == 0);
}

TEST_CASE("adopted handles: the stated alignment applies, and each handle is closed once") {
    int closed = 0;
    {
        allot::arena<handle, allot::best_fit<>> first{handle{{7, 0}, 4096, 256, closing{&closed}}};
        allot::arena<handle, allot::best_fit<>> second{handle{{8, 0}, 100, 16, closing{&closed}}};
        static_assert(!decltype(first)::strategy_type::in_band);
        const auto a = first.allocate({.size = 100, .align = 256}), b = first.allocate({.size = 100, .align = 256});
        REQUIRE(a);
        REQUIRE(b);
        CHECK(a.address.handle == 7);
        CHECK((a.address.offset == 0 && b.address.offset == 256));
        CHECK(first.diagnose({.size = 1, .align = 512}).reason == refusal::misaligned);
        CHECK(second.diagnose({.size = 1, .align = 128}).reason ==
              refusal::misaligned);  // the kind's own minimum does not apply
        CHECK(second.allocate({.size = 100, .align = 16}).address.handle == 8);
    }
    CHECK(closed == 807);
    allot::arena<handle, allot::best_fit<>> unknown{handle{{9, 0}, 4096, 0, closing{&closed}}};
    CHECK(unknown.diagnose({.size = 1}).device_error == static_cast<long>(adopted_error::misaligned));
}

TEST_CASE("adopted constants: readable and never written") {
    const std::size_t size = 4096;
    void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    auto* const numbers = static_cast<std::int32_t*>(mapped);
    for (std::int32_t i = 0; i != 1024; ++i) numbers[i] = i * i;
    REQUIRE(::mprotect(mapped, size, PROT_READ) == 0);  // a later write faults

    int calls = 0;
    {
        auto unmap = [&](const void* base) noexcept {
            calls += ::munmap(const_cast<void*>(base), 4096) == 0 ? 1 : 100;
        };
        allot::adopted weights{static_cast<const void*>(mapped), size, 4096, unmap};
        constexpr allot::arena_options debug{.hardening = allot::hardening::debug};
        using arena = allot::arena<decltype(weights), allot::best_fit<>, allot::growth::none<>, debug>;
        static_assert(arena::host_accessible && !arena::strategy_type::in_band);
        static_assert(std::same_as<decltype(arena::block_type::address), const void*>);
        arena memory{std::move(weights)};
        const auto block = memory.allocate({.size = 64, .align = 64});
        REQUIRE(block);
        CHECK(block.address == mapped);
        memory.deallocate(block);

        using loud = allot::storage_policies<allot::best_fit<>, allot::references::plain, allot::hardening::debug>;
        auto constants = *allot::alloc_storage<loud>(memory, size, 64);
        const auto layer = *allot::alloc_tensor(constants, 256, {16}, allot::int32);
        allot::arena<allot::host::heap, allot::best_fit<>> heap{{}, 64_KiB};
        auto scratch = *allot::alloc_storage(heap, 64, 64);
        const auto copy = *allot::alloc_tensor(scratch, 0, {16}, allot::int32);
        CHECK(allot::copy_tensor(layer, copy));
        for (int i = 0; i != 16; ++i) CHECK(static_cast<std::int32_t*>(copy.data())[i] == (64 + i) * (64 + i));
    }
    CHECK(calls == 1);
}

TEST_CASE("adopted memory: a block of malloc is freed") {
    allot::adopted from_malloc{std::malloc(5000), 5000, [](void* p) noexcept { std::free(p); }};
    allot::arena<decltype(from_malloc), allot::best_fit<>> memory{std::move(from_malloc)};
    const auto block = memory.allocate({.size = 4000, .align = 64});
    REQUIRE(block);
    std::memset(block.address, 1, block.size);
}

TEST_CASE("adopted: every error has its own text") { texts::check_distinct_up_to(adopted_error::misaligned); }
