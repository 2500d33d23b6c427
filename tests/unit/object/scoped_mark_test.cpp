#include "../arena/helpers.hpp"

#include <allot/object/scoped_mark.hpp>

#include <doctest/doctest.h>

namespace {

using namespace allot::literals;
using growing =
    allot::arena<allot::host::heap, allot::bump<>, allot::growth::fixed<allot::growth_options{.step = 1_KiB}>>;

static_assert(!std::is_copy_constructible_v<allot::scoped_mark<growing>>);
static_assert(!std::is_move_constructible_v<allot::scoped_mark<growing>>);

template <class Arena>
void* next(Arena& memory) {
    const auto before = memory.mark();
    void* const at = memory.allocate({1, 1}).address;
    memory.rollback(before);
    return at;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "scoped_mark: frees the allocations of its scope, also when nested", Arena,
    allot::arena<allot::host::static_storage<4_KiB>, allot::bump<>>,
    allot::arena<allot::host::static_storage<4_KiB>, allot::stack<>>,
    allot::arena<allot::host::static_storage<4_KiB>, allot::bump<>, allot::growth::none<>, helpers::checked>) {
    Arena memory;
    const auto kept = memory.allocate({100});
    void* const outer_next = next(memory);
    {
        const allot::scoped_mark outer{memory};
        const auto scratch = memory.allocate({1000});
        CHECK(scratch);
        void* const inner_next = next(memory);
        {
            const allot::scoped_mark inner{memory};
            CHECK(memory.allocate({2000}));
        }
        CHECK(next(memory) == inner_next);
    }
    CHECK(next(memory) == outer_next);
    CHECK(memory.owns(kept));
}

TEST_CASE("scoped_mark: release keeps everything") {
    allot::arena<allot::host::static_storage<4_KiB>, allot::bump<>> memory;
    void* after = nullptr;
    {
        allot::scoped_mark here{memory};
        CHECK(memory.allocate({1000}));
        after = next(memory);
        here.release();
        here.release();  // no effect
    }
    CHECK(next(memory) == after);
}

TEST_CASE("scoped_mark: over an arena that grows, regions are kept for the next scope") {
    growing memory;
    std::size_t size = 0;
    for (int round = 0; round != 5; ++round) {
        const allot::scoped_mark here{memory};
        for (int i = 0; i != 10; ++i) CHECK(memory.allocate({512}));
        if (round == 0) size = memory.size();
        CHECK(memory.size() == size);
    }
}

TEST_CASE("scoped_mark: an empty scope, and one in which an allocation fails") {
    allot::arena<allot::host::static_storage<256>, allot::stack<>> memory;
    { const allot::scoped_mark here{memory}; }
    {
        const allot::scoped_mark here{memory};
        CHECK_FALSE(memory.allocate({512}));
        CHECK(memory.allocate({256, 1}));
    }
    CHECK(memory.allocate({256, 1}));
}
