#include <allot/adapt/memory_resource.hpp>
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include <doctest/doctest.h>

#include <memory_resource>
#include <mutex>
#include <random>
#include <vector>

namespace {

using namespace allot::literals;
using allot::refusal;
using scratch = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
using grows = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;

}  // namespace

TEST_CASE("limited: the live bytes of random calls never exceed a limit that changes") {
    allot::limited<scratch> memory{1500};
    using block = decltype(memory)::block_type;
    std::mt19937 random{3};
    std::vector<block> live;
    std::size_t used = 0, refused = 0, refused_resizes = 0;
    for (int step = 0; step != 5000; ++step) {
        const std::size_t size = random() % 300;
        switch (random() % 5) {
            case 0:
            case 1: {
                const std::size_t left = used < memory.limit() ? memory.limit() - used : 0;
                CHECK(memory.left() == left);
                const allot::diagnosis expected = memory.diagnose({.size = size, .align = 8});
                const block fresh = memory.allocate({.size = size, .align = 8});
                CHECK((expected.reason == refusal::none) == static_cast<bool>(fresh));
                if (size > left) CHECK_FALSE(fresh);
                CHECK((expected.reason == refusal::over_limit) ==
                      (size > left && memory.inner().diagnose({.size = size, .align = 8}).reason == refusal::none));
                if (expected.reason == refusal::over_limit) {
                    CHECK(expected.largest_hole <= left);
                    ++refused;
                }
                if (!fresh) break;
                used += size;
                live.push_back(fresh);
                break;
            }
            case 2:
                if (live.empty()) break;
                std::swap(live[random() % live.size()], live.back());
                used -= live.back().size;
                memory.deallocate(live.back());
                live.pop_back();
                break;
            case 3: {
                if (live.empty()) break;
                const std::size_t before = live.back().size;
                const bool done = memory.resize(live.back(), size);
                if (size > before && used - before + size > memory.limit()) {
                    CHECK_FALSE(done);
                    ++refused_resizes;
                }
                if (done) used = used - before + size;
                CHECK(live.back().size == (done ? size : before));
                break;
            }
            default: memory.set_limit(500 + random() % 2000);
        }
        CHECK(memory.used() == used);
    }
    CHECK(refused > 50);
    CHECK(refused_resizes > 50);
    memory.deallocate({});
    CHECK(memory.used() == used);
}

TEST_CASE("limited: exactly the limit is available, and the allocator's own reasons are kept") {
    scratch arena;
    allot::limited memory{arena, 1000};
    const auto all = memory.allocate({.size = 1000});
    REQUIRE(all);
    CHECK(memory.left() == 0);
    CHECK_FALSE(memory.allocate({.size = 1}));
    CHECK(memory.diagnose({.size = 1}).reason == refusal::over_limit);
    CHECK(memory.diagnose({.size = 1}).largest_hole == 0);
    CHECK(memory.diagnose({.size = 0}).reason == refusal::empty_layout);
    memory.deallocate(all);
    CHECK(memory.diagnose({.size = 8, .align = 3}).reason == refusal::bad_alignment);
    CHECK(memory.diagnose({.size = 8000}).reason == refusal::exhausted);  // a higher limit does not help
    memory.set_limit(1_MiB);
    CHECK(memory.diagnose({.size = 8000}).reason == refusal::exhausted);
    CHECK(memory.diagnose({.size = 8000}) == arena.diagnose({.size = 8000}));

    const auto placed = memory.allocate_at({1024, 100});
    REQUIRE(placed);
    memory.set_limit(150);
    CHECK_FALSE(memory.allocate_at({2048, 100}));
    CHECK(memory.diagnose_at({2048, 100}).reason == refusal::over_limit);
    CHECK(memory.diagnose_at({1024, 10}).reason == refusal::not_free);
    CHECK(memory.allocate_at({2048, 48}).address == static_cast<std::byte*>(placed.address) + 1024);
}

TEST_CASE("limited: reset and rollback free bytes, and a limit below the live bytes frees none") {
    allot::limited<allot::arena<allot::host::static_storage<1000>, allot::stack<>>> memory{500};
    REQUIRE(memory.allocate({.size = 100, .align = 1}));
    const auto mark = memory.mark();
    REQUIRE(memory.allocate({.size = 333, .align = 1}));
    memory.set_limit(50);
    CHECK(memory.used() == 433);
    CHECK(memory.left() == 0);
    CHECK_FALSE(memory.allocate({.size = 1, .align = 1}));
    memory.set_limit(500);
    memory.rollback(mark);
    CHECK(memory.used() == 100);
    CHECK(memory.allocate({.size = 400, .align = 1}));
    memory.reset();
    CHECK(memory.left() == 500);
}

TEST_CASE("limited: two parts share an arena, each below its own limit, also behind a fallback, a lock and std::pmr") {
    grows arena;
    allot::limited textures{arena, 1_KiB}, meshes{arena, 2_KiB};
    REQUIRE(textures.allocate({.size = 1_KiB}));
    CHECK_FALSE(textures.allocate({.size = 1}));
    CHECK(meshes.allocate({.size = 2_KiB}));

    allot::limited little{grows{}, 100};
    allot::fallback both{little, arena};
    CHECK(both.is_from_first(both.allocate({.size = 60})));
    CHECK_FALSE(both.is_from_first(both.allocate({.size = 60})));

    allot::synchronized<allot::limited<grows>, std::mutex> shared{allot::limited{grows{}, 10}};
    CHECK(shared.allocate({.size = 10}));
    CHECK_FALSE(shared.allocate({.size = 1}));

    allot::limited few{grows{}, 100};
    allot::memory_resource resource{few};
    std::pmr::vector<char> bytes{&resource};
    bytes.reserve(100);
    CHECK(few.left() == 0);
}

TEST_CASE("limited: a moved-from object has no live bytes, and the new one has them") {
    allot::limited from{grows{}, 100};
    const auto block = from.allocate({.size = 70});
    auto to = std::move(from);
    CHECK(to.used() == 70);
    CHECK(from.used() == 0);
    to.deallocate(block);
    CHECK(to.used() == 0);
    CHECK(from.allocate({.size = 100}));  // an arena that grows starts again
}

TEST_CASE("limited: a misused block that a hardened arena reports does not change the live bytes") {
    static int misuses = 0;
    struct count {
        void operator()(allot::misuse, std::size_t, std::size_t) const noexcept { ++misuses; }
    };
    using hardened = allot::arena<allot::host::static_storage<1000>, allot::best_fit<>, allot::growth::none<>,
                                  allot::arena_options{.hardening = allot::hardening::checked}, count>;
    allot::limited<hardened> memory{500};
    const auto kept = memory.allocate({.size = 30}), block = memory.allocate({.size = 100});
    memory.deallocate(block);
    CHECK(misuses == 0);
    memory.deallocate(block);
    CHECK(misuses == 1);
    CHECK(memory.used() == 30);
    memory.deallocate(kept);

    using stack = allot::arena<allot::host::static_storage<1000>, allot::stack<>, allot::growth::none<>,
                               allot::arena_options{.hardening = allot::hardening::checked}, count>;
    allot::limited<stack> ordered{500};
    const auto older = ordered.allocate({.size = 10}), newer = ordered.allocate({.size = 20});
    ordered.deallocate(older);  // out of order: the stack reports it and keeps the block
    CHECK(misuses == 2);
    CHECK(ordered.used() == 30);
    ordered.deallocate(newer);
    ordered.deallocate(older);
    CHECK(ordered.used() == 0);
}
