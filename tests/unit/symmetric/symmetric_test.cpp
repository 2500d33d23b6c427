// symmetric on real ranks: equal offsets on all ranks, remote access by offset, and divergence that all ranks detect.
#include "all_ranks.hpp"

#include <allot/allot.hpp>
#include <allot/compose/symmetric.hpp>

#include <algorithm>
#include <cstring>
#include <random>

namespace {

using namespace allot::literals;
using allot::remote_refusal;
using machine::device;
using machine::ranks;

template <class Strategy>
using symmetric_over = allot::symmetric<allot::arena<device, Strategy>, machine::ranks_type>;
using best_fit = symmetric_over<allot::best_fit<>>;

constexpr allot::pool_options slots{.slot = 512, .count = 500, .store = allot::pool_store::bitmap};

template <class Memory>
Memory make(std::size_t size) {
    return Memory{{device{ranks()}, size}, ranks()};
}

const int last = ranks().size() - 1;
const bool on_last = ranks().rank() == last;

/// Every rank writes its number into the next rank's block and checks its own block.
template <class Memory, class Block>
bool exchanges(Memory& memory, const Block& block) {
    const int right = (ranks().rank() + 1) % ranks().size(), left = (ranks().rank() + last) % ranks().size();
    const auto theirs = memory.on(right, block);
    const auto mine = memory.on(ranks().rank(), block);
    if (!on_all_ranks(theirs && mine)) return false;
    const auto handle = block.address.handle;
    std::vector<unsigned char> sent(block.size, static_cast<unsigned char>(ranks().rank() + 1)), got(block.size);
    bool fine = device::put(sent.data(), *theirs, sent.size()) == device::error{} &&
                device::flush(theirs->handle) == device::error{} &&
                device::synchronize(ranks(), handle) == device::error{};
    const auto* const here = static_cast<const unsigned char*>(device::local(block.address));
    fine = fine && std::all_of(here, here + block.size, [=](unsigned char byte) { return byte == left + 1; });
    fine = fine && device::get(*theirs, got.data(), got.size()) == device::error{} &&
           device::flush(theirs->handle) == device::error{} && got == sent;
    return on_all_ranks(fine && device::synchronize(ranks(), handle) == device::error{});
}

}  // namespace

TEST_CASE_TEMPLATE("symmetric: equal random calls give equal offsets on all ranks", Memory, best_fit,
                   symmetric_over<allot::best_fit<allot::best_fit_options{.large = 700}>>,
                   symmetric_over<allot::pool<slots>>, symmetric_over<allot::bump<>>, symmetric_over<allot::ring<>>) {
    auto memory = make<Memory>(256_KiB);
    using block = typename Memory::block_type;
    std::vector<block> live;
    std::vector<std::uint64_t> offsets;
    std::mt19937 random{42};
    for (int round = 0; round != 20; ++round) {
        for (int call = 0; call != 150; ++call) {
            const std::size_t size = 1 + random() % 512, align = std::size_t{1} << random() % 7, at = random();
            if (random() % 3 != 0) {
                const block fresh = memory.allocate({size, align});
                if (fresh) live.push_back(fresh);
                offsets.push_back(fresh ? fresh.address.offset : 1);
            } else if (!live.empty()) {
                const bool oldest_first = Memory::reclaims == allot::reclaim::fifo;
                const auto which = live.begin() + static_cast<std::ptrdiff_t>(oldest_first ? 0 : at % live.size());
                memory.deallocate(*which);
                live.erase(which);
            }
            if (ranks().rank() == call % ranks().size()) static_cast<void>(memory.diagnose({size, align}));
        }
        const auto agreed = memory.agree();
        REQUIRE_ON_ALL(static_cast<bool>(agreed));
        for (const block& each : live) CHECK(memory.is_agreed(each));
        if (!live.empty()) REQUIRE_ON_ALL(exchanges(memory, live[live.size() / 2]));
    }
    CHECK(are_equal_on_all_ranks(offsets));
    CHECK(std::count(offsets.begin(), offsets.end(), 1U) != 0);  // some requests failed
}

TEST_CASE("symmetric: a block is used remotely only after an agreement") {
    auto memory = make<best_fit>(64_KiB);
    const auto early = memory.allocate({.size = 1000, .align = 64});
    CHECK(memory.on(0, early).error() == remote_refusal::not_agreed);
    REQUIRE_ON_ALL(static_cast<bool>(memory.agree()));
    CHECK(exchanges(memory, early));
    const auto late = memory.allocate({.size = 1000, .align = 64});
    CHECK(memory.on(0, late).error() == remote_refusal::not_agreed);
    CHECK(exchanges(memory, early));  // as before
    REQUIRE_ON_ALL(static_cast<bool>(memory.agree()));
    CHECK(exchanges(memory, late));
    CHECK(memory.on(-1, late).error() == remote_refusal::no_such_rank);
    CHECK(memory.on(last + 1, late).error() == remote_refusal::no_such_rank);
    CHECK(memory.on(0, {}).error() == remote_refusal::empty_block);
}

TEST_CASE("symmetric: all ranks detect a divergence") {
    if (last == 0) return;
    auto memory = make<best_fit>(64_KiB);
    const auto before = memory.allocate({.size = 512});
    const auto other = memory.allocate({.size = 512});
    REQUIRE_ON_ALL(static_cast<bool>(memory.agree()));
    const auto diverged = [&](const char* what) {
        const auto answer = memory.agree();
        CHECK(answer.found == allot::agreement::diverged);
        CHECK(std::string{answer.what()} == what);
        const auto fresh = memory.allocate({.size = 64});
        CHECK_FALSE(memory.agree());
        CHECK(memory.on(0, fresh).error() == remote_refusal::not_agreed);
        CHECK(make<best_fit>(64_KiB).agree());  // another memory is not affected
    };
    const char* const different = "the ranks made equally many calls, but the calls or their results differ";
    const char* const more = "some ranks made more calls than others";
    SUBCASE("a different size") {
        CHECK(memory.allocate({.size = on_last ? 100U : 101U}));
        diverged(different);
    }
    SUBCASE("a different alignment at the same offset") {
        CHECK(memory.allocate({.size = 100, .align = on_last ? 32U : 16U}));
        diverged(different);
    }
    SUBCASE("one more call") {
        if (on_last) CHECK(memory.allocate({.size = 100}));
        diverged(more);
    }
    SUBCASE("one block not deallocated") {
        if (!on_last) memory.deallocate(before);
        diverged(more);
    }
    SUBCASE("deallocation in another order") {
        memory.deallocate(on_last ? before : other);
        memory.deallocate(on_last ? other : before);
        diverged(different);
    }
    SUBCASE("a failure on one rank, with another size") {
        const bool given = static_cast<bool>(memory.allocate({.size = on_last ? 1_MiB : 100}));
        CHECK(given != on_last);
        diverged(different);
    }
    SUBCASE("a failed request that other ranks do not make") {
        if (on_last) CHECK_FALSE(memory.allocate({.size = 1_MiB}));
        diverged(more);
    }
    SUBCASE("different user data") {
        CHECK(memory.agree(on_last ? 7 : 8).found == allot::agreement::diverged);
        CHECK(memory.agree(7));
        CHECK(memory.agree());
        CHECK(memory.is_agreed(before));
        memory.deallocate(other);
    }
}

TEST_CASE("symmetric: diverged ranks agree again after a reset on all") {
    auto memory = make<symmetric_over<allot::bump<>>>(4_KiB);
    static_cast<void>(memory.allocate({.size = on_last ? 100U : 200U}));
    CHECK(static_cast<bool>(memory.agree()) == (last == 0));
    if (last != 0) {
        if (!on_last) memory.reset();
        CHECK_FALSE(memory.agree());
    }
    memory.reset();
    const auto block = memory.allocate({.size = 4_KiB});
    REQUIRE_ON_ALL(memory.agree() && block);
    CHECK(exchanges(memory, block));
}

TEST_CASE("symmetric: repeated requests and queries of one rank do not diverge") {
    auto memory = make<best_fit>(64_KiB);
    CHECK_FALSE(memory.allocate({.size = 1_MiB}));
    for (int again = 0; on_last && again != 3; ++again) {
        CHECK_FALSE(memory.allocate({.size = 1_MiB}));
        CHECK(memory.diagnose({.size = 1_MiB}).reason == allot::refusal::exhausted);
        memory.deallocate({});
    }
    const auto block = memory.allocate({.size = 4096});
    const auto agreed = memory.agree();
    REQUIRE_ON_ALL(static_cast<bool>(agreed));
    CHECK(agreed.most_calls == 2);
    CHECK(exchanges(memory, block));
}

TEST_CASE("symmetric: ranks in different calls get an error and do not wait forever") {
    if (last == 0) return;
    auto memory = make<best_fit>(64_KiB);
    if (on_last) {
        CHECK(device{ranks()}.acquire({.size = 64, .align = 64}).error() == machine::not_the_same);
    } else {
        CHECK(memory.agree().found == allot::agreement::diverged);
    }
    CHECK(memory.agree());
}
