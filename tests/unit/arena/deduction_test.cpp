#include "helpers.hpp"

#include <allot/arena/deduction.hpp>
#include <allot/host/buffer.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/static_storage.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <utility>

namespace {

using namespace allot::literals;
using allot::host::buffer;
using allot::host::heap;

/// A device of 1 KiB that its type states.
struct board : buffer {
    alignas(64) static inline std::byte bytes[1_KiB];
    board() noexcept : buffer{bytes} {}
    allot::acquired<board> acquire(allot::layout wanted) noexcept {
        const auto given = buffer::acquire(wanted);
        return given ? allot::acquired<board>{*given} : allot::acquired<board>::failure(given.error());
    }
};

}  // namespace

TEST_CASE("deduction: a device and a size make an arena over best_fit") {
    allot::arena memory{heap{}, 1_MiB};
    static_assert(std::same_as<decltype(memory), allot::arena<heap, allot::best_fit<>>>);
    CHECK(memory);
    CHECK(memory.allocate({.size = 1000}));
    CHECK(memory.size() == 1_MiB);
}

TEST_CASE("deduction: use names the strategy, and the growth") {
    allot::arena scratch{heap{}, 1_MiB, allot::use<allot::bump<>>};
    static_assert(std::same_as<decltype(scratch), allot::arena<heap, allot::bump<>>>);
    CHECK(scratch.size() == 1_MiB);

    allot::arena packets{heap{}, 4_KiB, allot::use<allot::pool<allot::pool_options{.slot = 128}>>};
    CHECK(packets.capacity(packets.allocate({1})) == 128);

    allot::arena grows{heap{}, allot::use<allot::best_fit<>, allot::growth::geometric<>>};
    static_assert(std::same_as<decltype(grows), allot::arena<heap, allot::best_fit<>, allot::growth::geometric<>>>);
    CHECK(grows.size() == 0);
    CHECK(grows.allocate({100}));

    allot::arena grows_later{heap{}, 4_KiB, allot::use<allot::best_fit<>, allot::growth::geometric<>>};
    CHECK(grows_later.size() == 4_KiB);
    CHECK(grows_later.allocate({1_MiB}));
}

TEST_CASE("deduction: a device with a fixed size needs no size") {
    alignas(64) std::byte bytes[512];
    allot::arena memory{buffer{bytes}};
    static_assert(std::same_as<decltype(memory), allot::arena<buffer, allot::best_fit<>>>);
    CHECK(memory.size() == 512);

    std::byte more[256];
    buffer lvalue{more};
    allot::arena scratch{lvalue, allot::use<allot::bump<>>};
    static_assert(std::same_as<decltype(scratch), allot::arena<buffer, allot::bump<>>>);
    CHECK(scratch.allocate({256, 1}));

    allot::arena on_board{board{}};
    static_assert(std::same_as<decltype(on_board), allot::arena<board, allot::best_fit<>>>);
    CHECK(on_board.size() == 1_KiB);
}

TEST_CASE("deduction: an arena initializes an arena of the same type") {
    allot::arena first{heap{}, 1_KiB, allot::use<allot::stack<>>};
    allot::arena moved{std::move(first)};
    static_assert(std::same_as<decltype(moved), decltype(first)>);
    CHECK(moved.size() == 1_KiB);

    allot::arena<heap, allot::bump<>> written{{}, 1_KiB};  // as before
    allot::arena from_written = std::move(written);
    static_assert(std::same_as<decltype(from_written), allot::arena<heap, allot::bump<>>>);
    CHECK(from_written);
}

TEST_CASE("deduction: use costs nothing") {
    static_assert(sizeof(allot::arena{heap{}, 1_KiB, allot::use<allot::bump<>>}) ==
                  sizeof(allot::arena<heap, allot::bump<>>));
    static_assert(std::is_empty_v<std::remove_const_t<decltype(allot::use<allot::bump<>>)>>);
}

TEST_CASE("arena: bool is false when the device refused the only region") {
    CHECK(allot::arena<heap, allot::bump<>>{{}, 1_KiB});
    CHECK_FALSE(allot::arena<helpers::modest_heap, allot::bump<>>{{}, helpers::most / 2});
    CHECK_FALSE(allot::arena<heap, allot::bump<>>{{}, 0});
    CHECK_FALSE(allot::arena<buffer, allot::bump<>>{buffer{nullptr, 0}});
    const allot::arena<allot::host::static_storage<64>, allot::bump<>> embedded;
    CHECK(static_cast<bool>(embedded));
    static_assert(!std::convertible_to<allot::arena<heap, allot::bump<>>, bool>);

    allot::arena<heap, allot::bump<>> first{{}, 1_KiB};
    const auto moved = std::move(first);
    CHECK_FALSE(first);
    CHECK(moved);
}

TEST_CASE("arena: bool is true for an arena that can grow, before it holds a region") {
    CHECK(allot::arena<heap, allot::best_fit<>, allot::growth::fixed<>>{});
    helpers::supply none{.regions = 0};
    allot::arena<helpers::handles<>, allot::best_fit<>, allot::growth::geometric<>> memory{helpers::handles<>{none}};
    CHECK(memory);
    CHECK_FALSE(memory.allocate({100}));
    CHECK(memory);
    none.regions = 1;
    CHECK(memory.allocate({100}));
}
