// Memory that the linker places: a named section as a window, and an arena in a named section.
#include <allot/allot.hpp>

#include <doctest/doctest.h>

// The linker defines these symbols for a section whose name is an identifier.
extern "C" std::byte __start_allot_tcm[], __stop_allot_tcm[];

namespace {

using namespace allot::literals;

alignas(128) __attribute__((section("allot_tcm"), used)) std::byte reserved[4096];

using scratch_arena = allot::arena<allot::host::static_storage<1_KiB>, allot::bump<>>;
__attribute__((section("allot_scratch"))) scratch_arena scratch;
extern "C" std::byte __start_allot_scratch[], __stop_allot_scratch[];

}  // namespace

TEST_CASE("linker section: the section is the window of a tightly_coupled device") {
    const auto size = static_cast<std::size_t>(__stop_allot_tcm - __start_allot_tcm);
    REQUIRE(size >= sizeof reserved);
    allot::arena<allot::host::tightly_coupled, allot::pool<allot::pool_options{.slot = 128, .align = 128}>> tcm{
        {__start_allot_tcm, size}};
    const auto block = tcm.allocate({.size = 128, .align = 128});
    REQUIRE(block);
    CHECK(static_cast<std::byte*>(block.address) >= __start_allot_tcm);
    CHECK(static_cast<std::byte*>(block.address) + 128 <= __stop_allot_tcm);
}

TEST_CASE("linker section: an arena with static storage is in the section of its attribute") {
    const auto block = scratch.allocate({.size = 1_KiB, .align = 16});
    REQUIRE(block);
    CHECK(static_cast<std::byte*>(block.address) >= __start_allot_scratch);
    CHECK(static_cast<std::byte*>(block.address) + block.size <= __stop_allot_scratch);
    scratch.reset();
}
