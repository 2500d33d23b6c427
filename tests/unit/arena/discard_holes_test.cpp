// discard_holes: the system takes the pages inside holes, and blocks keep their bytes.
#include <allot/allot.hpp>
#include <allot/arena/discard_holes.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/host/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <sys/mman.h>
#include <vector>

namespace {

using namespace allot::literals;
using allot::host::virtual_memory, allot::host::lazy_virtual_memory;

/// Not annotated, because a test reads the bytes of holes.
template <class Device, class Strategy>
using growing = allot::arena<Device, Strategy, allot::growth::contiguous<>, allot::arena_options{.annotate = false}>;
using beside = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;

static_assert(allot::discarding_device<virtual_memory> && allot::discarding_device<lazy_virtual_memory>);
static_assert(!allot::discarding_device<allot::host::heap>);
static_assert(virtual_memory::discarded_is_zero && !lazy_virtual_memory::discarded_is_zero);

/// Returns the number of resident pages of a range.
std::size_t resident(const void* from, std::size_t size) {
    constexpr std::size_t page = 4096;
    const std::size_t at = allot::raw_pointer::position(from), first = allot::align_down(at, page);
    std::vector<unsigned char> pages((at + size - first + page - 1) / page);
    REQUIRE(::mincore(reinterpret_cast<void*>(first), at + size - first, pages.data()) == 0);
    std::size_t count = 0;
    for (const unsigned char each : pages) count += each & 1U;
    return count;
}

}  // namespace

TEST_CASE_TEMPLATE("discard_holes: large holes lose their pages, blocks and small holes keep theirs", Strategy,
                   allot::best_fit<>, allot::deferred<allot::best_fit<>>, beside) {
    growing<virtual_memory, Strategy> memory{virtual_memory{1_GiB}};
    std::vector<decltype(memory.allocate({}))> blocks;
    for (const std::size_t size : {1_MiB + 5, 10'001_B, 20'003_B, 777_B, 2_MiB + 9, 501_B}) {
        blocks.push_back(memory.allocate({.size = size}));
        REQUIRE(blocks.back());
        std::memset(blocks.back().address, 7, size);
    }
    void* const large = blocks[0].address;
    void* const larger = blocks[4].address;
    for (const int i : {0, 2, 4}) memory.deallocate(blocks[static_cast<std::size_t>(i)]);
    const std::size_t discarded = allot::discard_holes(memory, 64_KiB);
    CHECK(discarded >= 3_MiB - 4 * 4096);
    CHECK(resident(large, 1_MiB) <= 2);
    CHECK(resident(larger, 2_MiB) <= 2);
    CHECK(static_cast<const char*>(larger)[1_MiB] == 0);
    CHECK(resident(blocks[2].address, 20'003) >= 5);
    for (const int i : {1, 3, 5}) {
        const auto& block = blocks[static_cast<std::size_t>(i)];
        for (std::size_t at = 0; at != block.size; ++at) REQUIRE(static_cast<const char*>(block.address)[at] == 7);
        memory.deallocate(block);
    }
    const auto whole = memory.allocate({.size = 3_MiB});  // the records in the holes are intact
    REQUIRE(whole);
    std::memset(whole.address, 1, whole.size);
    memory.deallocate(whole);
}

TEST_CASE("discard_holes: a lazy device keeps the bytes until the system takes the pages") {
    growing<lazy_virtual_memory, allot::best_fit<>> memory{lazy_virtual_memory{1_GiB}};
    const auto block = memory.allocate({.size = 1_MiB}), wall = memory.allocate({.size = 10});
    std::memset(block.address, 7, block.size);
    memory.deallocate(block);
    CHECK(allot::discard_holes(memory, 64_KiB) >= 1_MiB - 8192);
    const auto again = memory.allocate({.size = 1_MiB});
    std::memset(again.address, 8, again.size);
    CHECK(static_cast<const char*>(again.address)[again.size / 2] == 8);
    memory.deallocate(again);
    memory.deallocate(wall);
}

TEST_CASE("discard_holes: a hole without a whole page is left alone") {
    growing<virtual_memory, allot::best_fit<>> memory{virtual_memory{1_GiB}};
    const auto hole = memory.allocate({.size = 3000}), wall = memory.allocate({.size = 10, .align = 4096});
    memory.deallocate(hole);
    CHECK(allot::discard_pages(memory.device(), hole.address, 3000) == 0);
    CHECK(allot::discard_pages(memory.device(), hole.address, 0) == 0);
    CHECK(allot::discard_holes(memory, 1_GiB) == 0);
    memory.deallocate(wall);
}

namespace {
struct counted {
    static inline int misuses = 0;
    void operator()(allot::misuse, std::size_t, std::size_t) const noexcept { ++misuses; }
};
}  // namespace

TEST_CASE("discard_holes: the zeros of discarded pages are no writes to freed blocks") {
    constexpr allot::arena_options debug{.hardening = allot::hardening::debug, .annotate = false};
    counted::misuses = 0;
    {
        allot::arena<virtual_memory, allot::best_fit<>, allot::growth::contiguous<>, debug, counted> memory{
            virtual_memory{1_GiB}};
        const auto large = memory.allocate({.size = 1_MiB}), wall = memory.allocate({.size = 10});
        memory.deallocate(large);
        CHECK(allot::discard_holes(memory, 64_KiB) >= 1_MiB - 8192);
        const auto again = memory.allocate({.size = 1_MiB});
        CHECK(again.address == large.address);
        CHECK(counted::misuses == 0);

        memory.deallocate(again);
        static_cast<char*>(again.address)[1000] ^= 1;  // before the pages are discarded
        CHECK(allot::discard_holes(memory, 64_KiB) >= 1_MiB - 8192);
        CHECK(counted::misuses == 1);
        memory.deallocate(wall);
    }
    CHECK(counted::misuses == 1);
}
