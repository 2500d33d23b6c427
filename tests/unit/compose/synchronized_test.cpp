#include <allot/allot.hpp>

#include <doctest/doctest.h>

namespace {

using namespace allot::literals;
using memory = allot::arena<allot::host::static_storage<4_KiB>, allot::best_fit<>>;

// Counts calls, and detects wrong uses.
struct counting_lock {
    static inline int times = 0, wrong = 0;
    static inline bool held = false;
    void lock() noexcept {
        wrong += held;
        held = true;
        ++times;
    }
    void unlock() noexcept {
        wrong += !held;
        held = false;
    }
};

// Counts calls without the lock.
struct watching : memory {
    static inline int unlocked = 0;
    [[nodiscard]] block_type allocate(allot::layout wanted) noexcept {
        unlocked += !counting_lock::held;
        return memory::allocate(wanted);
    }
    void deallocate(block_type held) noexcept {
        unlocked += !counting_lock::held;
        memory::deallocate(held);
    }
    [[nodiscard]] allot::diagnosis diagnose(allot::layout wanted) const noexcept {
        unlocked += !counting_lock::held;
        return memory::diagnose(wanted);
    }
};

}  // namespace

TEST_CASE("synchronized: holds the lock once during each call") {
    using shared_memory = allot::synchronized<watching, counting_lock>;
    static_assert(allot::allocator<shared_memory>);
    shared_memory shared;
    const auto block = shared.allocate({.size = 100});
    REQUIRE(block);
    CHECK(shared.diagnose({.size = 5000}).reason == allot::refusal::exhausted);
    CHECK(shared.locked([&](watching& inside) {
        CHECK(counting_lock::held);
        return inside.owns(block) && inside.resize(const_cast<watching::block_type&>(block), 200);
    }));
    shared.deallocate(block);
    shared.locked([](watching& inside) { CHECK(inside.allocate({.size = 4000})); });
    CHECK_FALSE(counting_lock::held);
    CHECK(counting_lock::times == 5);
    CHECK(counting_lock::wrong == 0);
    CHECK(watching::unlocked == 0);
}

TEST_CASE("synchronized: an empty lock takes no space, and an lvalue is referenced") {
    static_assert(sizeof(allot::synchronized<memory, allot::no_lock>) == sizeof(memory));
    memory outside;
    allot::synchronized<memory&, allot::spin_lock> shared{outside};
    const auto block = shared.allocate({.size = 100});
    CHECK(outside.owns(block));
    shared.deallocate(block);
    CHECK(outside.allocate({.size = 4000}));
}

TEST_CASE("synchronized: is an allocator, for example the first one of a fallback") {
    using fast = allot::synchronized<allot::arena<allot::host::static_storage<256>, allot::bump<>>, allot::spin_lock>;
    fast first;
    memory second;
    allot::fallback both{first, second};
    CHECK(both.is_from_first(both.allocate({.size = 200})));
    CHECK_FALSE(both.is_from_first(both.allocate({.size = 200})));
}
