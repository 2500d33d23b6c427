// The contract of `acquire`: a debug build ends if a device breaks it.
#include "../../in_child.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstddef>

namespace {

alignas(4096) std::byte bytes[8192];

/// A device that returns the same region for every request.
struct same_region : allot::traits_of<allot::host::heap> {
    using error = int;
    allot::region<void*> given;
    allot::acquired<same_region> acquire(allot::layout) const noexcept { return given; }
    void release(allot::region<void*>) const noexcept {}
};
using memory_type = allot::arena<same_region, allot::best_fit<>>;

same_region device_of(allot::region<void*> given) {
    same_region made;
    made.given = given;
    return made;
}

}  // namespace

TEST_CASE("device: a region of the requested size and alignment is used, also a larger one") {
    CHECK(memory_type{device_of({bytes, 4096, 4096}), 4096});
    CHECK(memory_type{device_of({bytes, 8192, 4096}), 4096}.size() == 8192);
    allot::naive<same_region> each{device_of({bytes, 4096, 4096})};
    CHECK(each.allocate({.size = 1000, .align = 4096}).address == bytes);
}

#ifndef NDEBUG
TEST_CASE("device: a debug build ends if a region is too small or its base is not aligned") {
    const auto ends = [](allot::region<void*> given, allot::layout wanted) {
        return processes::in_child([=] {
            std::signal(SIGABRT, SIG_DFL);  // without the test program's handler
            allot::naive<same_region> each{device_of(given)};
            return each.allocate(wanted).size == wanted.size ? 0 : 1;
        });
    };
    CHECK(ends({bytes, 4096, 4096}, {.size = 4096, .align = 4096}) == 0);
    CHECK(ends({bytes, 4095, 4096}, {.size = 4096, .align = 4096}) == -1);
    CHECK(ends({bytes + 64, 4096, 4096}, {.size = 4096, .align = 4096}) == -1);
    CHECK(ends({bytes, 4096, 64}, {.size = 4096, .align = 4096}) == -1);  // an arena may reuse it by its `align`
    const auto in_arena = [](std::size_t size) {
        return processes::in_child([=] {
            std::signal(SIGABRT, SIG_DFL);
            return memory_type{device_of({bytes, size, 4096}), 4096} ? 0 : 1;
        });
    };
    CHECK(in_arena(4096) == 0);
    CHECK(in_arena(2048) == -1);
}
#endif
