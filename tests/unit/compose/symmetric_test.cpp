// symmetric without MPI: the ranks are threads with a small communicator, and the memory of a rank is named by a
// number. tests/unit/symmetric tests processes.
#include "../../texts.hpp"
#include "numbered.hpp"

#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/compose/symmetric.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;
using allot::agreement;
using allot::compare_ranks;
using allot::remote_refusal;

constexpr int rank_count = 3;

// The reduction that the threads share.
struct meeting {
    std::mutex guard;
    std::condition_variable changed;
    std::array<std::uint64_t, 4> greatest{}, before{};
    int here = 0, meetings = 0;

    void take(std::span<std::uint64_t> values) {
        std::unique_lock held{guard};
        if (here++ == 0) greatest = {};
        for (std::size_t i = 0; i != values.size(); ++i) greatest[i] = std::max(greatest[i], values[i]);
        if (here == rank_count) {
            here = 0;
            ++meetings;
            before = greatest;
            changed.notify_all();
        } else {
            changed.wait(held, [this, meeting = meetings] { return meetings != meeting; });
        }
        std::copy_n(before.begin(), values.size(), values.begin());
    }
};

struct thread_ranks {
    meeting* at;
    int me;
    long fails_with = 0;
    [[nodiscard]] int rank() const noexcept { return me; }
    [[nodiscard]] int size() const noexcept { return rank_count; }
    [[nodiscard]] long maximum(std::span<std::uint64_t> values) noexcept {
        if (fails_with != 0) return fails_with;
        at->take(values);
        return 0;
    }
};
static_assert(allot::communicator<thread_ranks>);
static_assert(!allot::communicator<meeting>);

using arena = allot::arena<numbered, allot::best_fit<>>;
using symmetric = allot::symmetric<arena, thread_ranks>;
static_assert(allot::allocator<symmetric>);

// Runs `body(ranks)` on every rank, and returns the results.
template <class Body>
auto on_every_rank(Body body) {
    meeting place;
    std::array<decltype(body(std::declval<thread_ranks&>())), rank_count> answers;
    std::vector<std::thread> threads;
    for (int rank = 0; rank != rank_count; ++rank)
        threads.emplace_back([&, rank] {
            thread_ranks ranks{&place, rank};
            answers[static_cast<std::size_t>(rank)] = body(ranks);
        });
    for (std::thread& each : threads) each.join();
    return answers;
}

}  // namespace

TEST_CASE("communicator: compares digests, and reports the least and the greatest number") {
    for (const auto& each : on_every_rank([](thread_ranks& ranks) {
             return std::pair{compare_ranks(ranks, 42, 10 + static_cast<std::uint64_t>(ranks.me)),
                              compare_ranks(ranks, ranks.me == 1 ? 41 : 42, 0)};
         })) {
        CHECK(each.first.equal);
        CHECK(each.first.least == 10);
        CHECK(each.first.greatest == 12);
        CHECK_FALSE(each.second.equal);
    }
    // Digests at both ends of the range, whose order differs from that of their complements.
    for (const std::uint64_t odd : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
        for (const bool equal : on_every_rank([&](thread_ranks& ranks) {
                 return compare_ranks(ranks, ranks.me == 2 ? odd : std::uint64_t{7}).equal;
             }))
            CHECK_FALSE(equal);
    }
}

TEST_CASE("rolling_hash: depends on the order of the numbers, and zeros count") {
    const auto of = [](std::initializer_list<std::uint64_t> numbers) {
        allot::rolling_hash all;
        for (const std::uint64_t each : numbers) all.add(each);
        return all.value();
    };
    CHECK(of({1, 2}) == of({1, 2}));
    CHECK(of({1, 2}) != of({2, 1}));
    CHECK(of({0}) != of({}));
    CHECK(of({0, 0}) != of({0}));
    static_assert([] {
        allot::rolling_hash one;
        one.add(1);
        return one.value() != 0;
    }());
}

TEST_CASE("symmetric: ranks with the same calls agree, and can then name blocks of other ranks") {
    const auto answers = on_every_rank([](thread_ranks& ranks) {
        symmetric memory{arena{{}, 4096}, ranks};
        const auto first = memory.allocate({.size = 100, .align = 64}),
                   second = memory.allocate({.size = 100, .align = 64});
        bool fine = memory.on(0, second).error() == remote_refusal::not_agreed && !memory.is_agreed(second);
        memory.deallocate(first);
        const agreement agreed = memory.agree();
        fine = fine && agreed && agreed.fewest_calls == 3 && agreed.most_calls == 3;
        const auto there = memory.on(2, second);
        fine = fine && there && *there == symmetric::remote_address{{5, 2}, second.address.offset};
        fine = fine && memory.on(rank_count, second).error() == remote_refusal::no_such_rank;
        const auto third = memory.allocate({.size = 100, .align = 64});  // at the offset of the first block
        fine = fine && third.address == first.address && !memory.is_agreed(third) && memory.is_agreed(second);
        return fine;
    });
    for (const bool fine : answers) CHECK(fine);
}

TEST_CASE("symmetric: every rank detects each kind of divergence of any rank") {
    using call = void (*)(symmetric&, bool);
    const call kinds[] = {
        [](symmetric& memory, bool odd) { static_cast<void>(memory.allocate({.size = odd ? 64U : 65U})); },
        [](symmetric& memory, bool odd) { static_cast<void>(memory.allocate({.size = 64, .align = odd ? 8U : 16U})); },
        [](symmetric& memory, bool odd) {
            if (odd) static_cast<void>(memory.allocate({.size = 64}));
        },
        [](symmetric& memory, bool odd) {
            if (!odd) static_cast<void>(memory.allocate({.size = 64}));
        },
        [](symmetric& memory, bool odd) { static_cast<void>(memory.allocate({.size = odd ? 1_MiB : 64})); },
        [](symmetric& memory, bool odd) {
            if (odd) static_cast<void>(memory.allocate({.size = 1_MiB}));
        },
        [](symmetric& memory, bool odd) { static_cast<void>(memory.allocate({.size = odd ? 1_MiB : 2_MiB})); },
        [](symmetric& memory, bool odd) {
            if (odd) static_cast<void>(memory.allocate({.size = 0}));
        },
        [](symmetric& memory, bool odd) {
            const auto a = memory.allocate({.size = 64}), b = memory.allocate({.size = 64});
            memory.deallocate(odd ? a : b);
            memory.deallocate(odd ? b : a);
        },
        [](symmetric& memory, bool odd) {
            const auto a = memory.allocate({.size = 64});
            if (odd) memory.deallocate(a);
        },
        [](symmetric& memory, bool odd) { static_cast<void>(memory.allocate_at({odd ? 128U : 256U, 64})); },
        [](symmetric& memory, bool odd) { static_cast<void>(memory.allocate_at({128, odd ? 64U : 65U})); },
        [](symmetric& memory, bool odd) {
            if (odd) static_cast<void>(memory.allocate_at({1_MiB, 64}));  // fails
        },
        [](symmetric& memory, bool odd) {
            auto a = memory.allocate({.size = 64});
            static_cast<void>(memory.resize(a, odd ? 128 : 129));
        },
        [](symmetric& memory, bool odd) {
            auto a = memory.allocate({.size = 64});
            if (odd) static_cast<void>(memory.resize(a, 1_MiB));  // fails
        },
    };
    for (const call& kind : kinds) {
        for (int odd = 0; odd != rank_count; ++odd) {
            for (const bool found : on_every_rank([&](thread_ranks& ranks) {
                     symmetric memory{arena{{}, 4096}, ranks};
                     kind(memory, ranks.me == odd);
                     const bool once = memory.agree().found == agreement::diverged;
                     return once && memory.agree().found == agreement::diverged;  // a divergence persists
                 }))
                CHECK(found);
        }
    }
}

TEST_CASE("symmetric: a resized block can be used remotely after the next agreement") {
    for (const bool fine : on_every_rank([](thread_ranks& ranks) {
             symmetric memory{arena{{}, 4096}, ranks};
             auto block = memory.allocate({.size = 64});
             if (!memory.agree() || !memory.is_agreed(block)) return false;
             const auto before = block;
             if (memory.resize(block, 1_MiB) || block != before || !memory.is_agreed(block)) return false;
             if (!memory.resize(block, 1000) || block.size != 1000 || block.address != before.address) return false;
             if (memory.on(0, block).error() != remote_refusal::not_agreed) return false;
             if (!memory.agree() || !memory.on(0, block)) return false;
             memory.deallocate(block);
             symmetric::block_type empty;
             return !memory.resize(empty, 10) && memory.agree() &&
                    memory.diagnose({.size = 4096}).reason == allot::refusal::none;
         }))
        CHECK(fine);
}

TEST_CASE("symmetric: a rollback on all ranks keeps the agreement, on one rank it is a divergence") {
    for (const bool odd : {false, true}) {
        for (const bool agreed : on_every_rank([odd](thread_ranks& ranks) {
                 allot::symmetric memory{allot::arena<numbered, allot::bump<>>{{}, 4096}, ranks};
                 static_cast<void>(memory.allocate({.size = 64}));
                 const auto before = memory.mark();
                 const auto block = memory.allocate({.size = 64});
                 if (!odd || ranks.me != 1) memory.rollback(before);
                 const auto again = memory.allocate({.size = 64});
                 return (again.address == block.address) == (!odd || ranks.me != 1) && memory.agree();
             }))
            CHECK(agreed == !odd);
    }
}

TEST_CASE("symmetric: a different result on one rank is a divergence") {
    for (const bool found : on_every_rank([](thread_ranks& ranks) {
             arena mine{{}, 4096};
             if (ranks.me == 1) static_cast<void>(mine.allocate({.size = 64}));  // not through `symmetric`
             allot::symmetric memory{mine, ranks};
             const bool given = static_cast<bool>(memory.allocate({.size = 64}));
             const agreement what = memory.agree();
             return given && what.found == agreement::diverged && what.fewest_calls == what.most_calls;
         }))
        CHECK(found);
}

TEST_CASE("symmetric: one rank can repeat a failed request") {
    for (const bool agreed : on_every_rank([](thread_ranks& ranks) {
             symmetric memory{arena{{}, 4096}, ranks};
             for (int again = 0; again != 1 + ranks.me; ++again) {
                 if (memory.allocate({.size = 1_MiB}) ||
                     memory.diagnose({.size = 1_MiB}).reason != allot::refusal::exhausted)
                     return false;
             }
             memory.deallocate({});
             return memory.allocate({.size = 64}) && memory.agree();
         }))
        CHECK(agreed);
    // After another call, the repeated request counts.
    for (const bool agreed : on_every_rank([](thread_ranks& ranks) {
             symmetric memory{arena{{}, 4096}, ranks};
             static_cast<void>(memory.allocate({.size = 1_MiB}));
             static_cast<void>(memory.allocate({.size = 64}));
             if (ranks.me == 0) static_cast<void>(memory.allocate({.size = 1_MiB}));
             return static_cast<bool>(memory.agree());
         }))
        CHECK_FALSE(agreed);
}

TEST_CASE("symmetric: references or owns an arena, and reports the error of a communicator") {
    thread_ranks broken{nullptr, 0, 17};
    arena mine{{}, 4096};
    allot::symmetric referring{mine, broken};
    static_assert(std::same_as<decltype(referring), allot::symmetric<arena&, thread_ranks>>);
    const auto block = referring.allocate({.size = 64});
    CHECK(mine.diagnose({.size = 4096}).reason != allot::refusal::none);
    const agreement failed = referring.agree();
    CHECK(failed.found == agreement::failed);
    CHECK(failed.error == 17);
    CHECK(std::string{failed.what()} == "the communicator failed");
    CHECK(referring.on(0, block).error() == remote_refusal::not_agreed);
    referring.deallocate(block);
    CHECK(mine.diagnose({.size = 4096}).reason == allot::refusal::none);
}

TEST_CASE("symmetric: every reason has its own text") { texts::check_distinct_up_to(remote_refusal::no_such_rank); }

namespace {
struct ignored {
    void operator()(allot::misuse, std::size_t, std::size_t) const noexcept {}
};
}  // namespace

TEST_CASE("symmetric: a block that a hardened arena refuses to free is no call") {
    using hard = allot::arena<numbered, allot::stack<>, allot::growth::none<>,
                              allot::arena_options{.hardening = allot::hardening::checked}, ignored>;
    for (const bool fine : on_every_rank([](thread_ranks& ranks) {
             allot::symmetric<hard, thread_ranks> memory{hard{{}, 4096}, ranks};
             const auto older = memory.allocate({.size = 37}), newer = memory.allocate({.size = 101});
             if (ranks.me == 1) memory.deallocate(older);  // out of order
             bool all = memory.is_live(older) && memory.agree();
             memory.deallocate(newer);
             if (ranks.me == 0) memory.deallocate(newer);  // not live
             memory.deallocate(older);
             all &= !memory.is_live(older) && memory.agree();
             return all;
         }))
        CHECK(fine);
}
