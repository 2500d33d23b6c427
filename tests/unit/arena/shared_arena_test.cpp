// One arena in several processes, at different addresses, concurrently, and with processes killed at any instruction.
#include "../../in_child.hpp"

#include <allot/allot.hpp>
#include <allot/arena/shared_arena.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <sys/ptrace.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace {

using allot::refusal;
using allot::host::shared_memory;
using wide = allot::shared_arena<>;
using narrow = allot::shared_arena<std::uint32_t>;
constexpr std::size_t KiB = 1024;

template <class Arena>
Arena make(std::size_t size) {
    auto memory = shared_memory::create(size);
    REQUIRE(memory);
    auto arena = Arena::create(std::move(*memory));
    REQUIRE(arena);
    return std::move(*arena);
}

/// Returns the same arena in another mapping.
template <class Arena>
typename Arena::made again(const Arena& arena) {
    auto memory = shared_memory::attach(::dup(arena.memory().descriptor()));
    return Arena::attach(std::move(*memory));
}

template <class Arena>
std::uint64_t largest_hole(const Arena& arena) {
    return arena.diagnose({.size = 1}).largest_hole;
}

void fill(void* at, std::size_t size, unsigned char with) { std::memset(at, with, size); }
bool is_filled(const void* at, std::size_t size, unsigned char with) {
    const auto* const bytes = static_cast<const unsigned char*>(at);
    for (std::size_t i = 0; i != size; ++i) {
        if (bytes[i] != with) return false;
    }
    return true;
}

/// Allocates, fills, checks, and frees at random. Returns false if another process wrote to one of its blocks.
template <class Arena>
bool play(Arena& arena, unsigned char mine, std::size_t calls) {
    std::minstd_rand random{mine};
    std::vector<typename Arena::block_type> held;
    bool kept = true;
    const auto free_one = [&] {
        std::swap(held[random() % held.size()], held.back());
        kept = kept && is_filled(held.back().address, held.back().size, mine);
        arena.deallocate(held.back());
        held.pop_back();
    };
    for (std::size_t i = 0; i != calls && kept; ++i) {
        if (!held.empty() && random() % 2 == 0) {
            free_one();
        } else {
            const std::size_t align = std::size_t{1} << random() % 10;
            const auto block = arena.allocate({.size = 1 + random() % 3000, .align = align});
            if (!block) continue;
            fill(block.address, block.size, mine);
            held.push_back(block);
        }
    }
    while (!held.empty()) free_one();
    return kept;
}

}  // namespace

TEST_CASE_TEMPLATE("shared arena: a block is the same block in every mapping", Arena, wide, narrow) {
    Arena here = make<Arena>(64 * KiB);
    auto there = again(here);
    REQUIRE(there);
    CHECK(here.memory().base() != there->memory().base());
    const std::uint64_t all = largest_hole(here);
    CHECK(all > 48 * KiB);
    CHECK(largest_hole(*there) == all);

    const auto a = here.allocate({.size = 1000, .align = 4096});
    REQUIRE(a);
    CHECK(allot::raw_pointer::position(a.address) % 4096 == 0);
    CHECK(here.owns(a));
    CHECK(!there->owns(a));
    const auto b = there->block_at(here.offset_of(a), 1000);
    REQUIRE(b);
    CHECK(b.address != a.address);
    CHECK(there->owns(b));
    CHECK(there->offset_of(b) == here.offset_of(a));
    CHECK(there->capacity(b) == here.capacity(a));
    CHECK(allot::raw_pointer::position(b.address) % 4096 == 0);
    fill(a.address, a.size, 1);
    CHECK(is_filled(b.address, b.size, 1));
    const auto c = there->allocate({.size = 5000});
    const auto d = here.allocate({.size = 5000});
    REQUIRE(c);
    REQUIRE(d);
    CHECK(there->offset_of(c) != here.offset_of(d));

    Arena moved{std::move(here)};
    CHECK(!here.allocate({.size = 1}));
    CHECK(here.diagnose({.size = 1}).reason == refusal::exhausted);
    here.deallocate({});
    there->deallocate(b);  // each mapping frees a block of the other
    moved.deallocate(moved.block_at(there->offset_of(c), c.size));
    there->deallocate(there->block_at(moved.offset_of(d), d.size));
    CHECK(largest_hole(moved) == all);
    CHECK(largest_hole(*there) == all);
}

TEST_CASE_TEMPLATE("shared arena: a process resizes a block of another one, and allocates at an offset", Arena, wide,
                   narrow) {
    Arena here = make<Arena>(64 * KiB);
    auto there = again(here);
    REQUIRE(there);
    auto block = here.allocate_at({32 * KiB, 1000});
    REQUIRE(block);
    CHECK(here.offset_of(block) == 32 * KiB);
    CHECK(there->diagnose_at({32 * KiB + 512, 1}).reason == refusal::not_free);
    CHECK(!there->allocate_at({32 * KiB + 512, 1}));
    fill(block.address, block.size, 7);
    auto seen = there->block_at(here.offset_of(block), block.size);
    REQUIRE(there->resize(seen, 5000));
    CHECK(seen.size == 5000);
    CHECK(is_filled(seen.address, 1000, 7));
    CHECK(here.capacity(block) >= 5000);
    block.size = 5000;  // as the other process reports
    CHECK(!here.resize(block, 0));
    CHECK(!here.resize(block, 64 * KiB));
    CHECK(!here.resize(block, static_cast<std::size_t>(-1)));
    CHECK(block.size == 5000);
    here.deallocate(block);

    CHECK(here.diagnose_at({0, 0}).reason == refusal::empty_layout);
    const allot::extent outside[] = {{0, 16},
                                     {Arena::overhead - 16, 16},
                                     {64 * KiB, 16},
                                     {64 * KiB - 16, 17},
                                     {static_cast<std::size_t>(-16), 32},
                                     {static_cast<std::size_t>(-1), static_cast<std::size_t>(-1)}};
    for (const auto& bad : outside) {
        CHECK(!here.allocate_at(bad));
        CHECK(here.diagnose_at(bad).reason == refusal::not_free);
    }
    Arena moved{std::move(here)};
    CHECK(!here.allocate_at({32 * KiB, 16}));
    CHECK(here.diagnose_at({32 * KiB, 16}).reason == refusal::not_free);
    CHECK(!here.resize(block, 16));
}

TEST_CASE_TEMPLATE("shared arena: a failed call reports the reason", Arena, wide, narrow) {
    Arena arena = make<Arena>(64 * KiB);
    CHECK(!arena.allocate({.size = 0}));
    CHECK(arena.diagnose({.size = 0}).reason == refusal::empty_layout);
    CHECK(!arena.allocate({.size = 1, .align = 3}));
    CHECK(arena.diagnose({.size = 1, .align = 3}).reason == refusal::bad_alignment);
    CHECK(!arena.allocate({.size = 1, .align = 8192}));
    CHECK(arena.diagnose({.size = 1, .align = 8192}).reason == refusal::misaligned);
    for (const std::size_t size : {64 * KiB, 1024 * 1024 * KiB, static_cast<std::size_t>(-1)}) {
        CHECK(!arena.allocate({.size = size}));
        const refusal reason = arena.diagnose({.size = size}).reason;
        CHECK((reason == refusal::exhausted || reason == refusal::over_limit));
    }
    const auto most = static_cast<typename Arena::offset_type>(-1);
    CHECK(!arena.block_at(0, 100));
    CHECK(!arena.block_at(static_cast<typename Arena::offset_type>(Arena::overhead) - 1, 100));
    CHECK(!arena.block_at(60 * KiB, 5 * KiB));
    CHECK(!arena.block_at(60 * KiB, 0));
    CHECK(!arena.block_at(60 * KiB, static_cast<std::size_t>(-1)));
    CHECK(!arena.block_at(most, 1));
    const auto block = arena.allocate({.size = 100});
    REQUIRE(block);
    arena.deallocate({});
    CHECK(arena.diagnose({.size = 100}).reason == refusal::none);
}

TEST_CASE("shared arena: create succeeds once, and attach requires the same format") {
    const auto create = [](std::size_t size) { return std::move(*shared_memory::create(size)); };
    CHECK(wide::create(shared_memory{}).error() == EINVAL);
    CHECK(wide::attach(shared_memory{}).error() == EINVAL);
    CHECK(wide::create(create(100)).error() == ENOSPC);
    CHECK(wide::create(create(wide::overhead + 8)).error() == ENOSPC);
    CHECK(wide::attach(create(100)).error() == EPROTO);
    CHECK(wide::attach(create(64 * KiB)).error() == EAGAIN);
#if SIZE_MAX > UINT32_MAX
    CHECK(narrow::create(create(5 * 1024 * 1024 * KiB)).error() == EFBIG);
    CHECK(wide::create(create(5 * 1024 * 1024 * KiB)));
#endif
    shared_memory garbage = create(64 * KiB);
    std::memset(garbage.base(), 0x5A, garbage.capacity());
    CHECK(wide::attach(std::move(garbage)).error() == EPROTO);

    const wide first = make<wide>(64 * KiB);
    CHECK(wide::create(std::move(*shared_memory::attach(::dup(first.memory().descriptor())))).error() == EEXIST);
    CHECK(narrow::attach(std::move(*shared_memory::attach(::dup(first.memory().descriptor())))).error() == EPROTO);
    CHECK(again(first));
}

TEST_CASE("shared arena: two processes allocate and free in an arena received over a socket") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    wide arena = make<wide>(256 * KiB);
    const std::uint64_t all = largest_hole(arena);
    const auto first = arena.allocate({.size = 5000});
    REQUIRE(first);
    fill(first.address, first.size, 1);
    REQUIRE(arena.memory().send(ends[0]) == 0);
    const std::uint64_t known = arena.offset_of(first);
    REQUIRE(::write(ends[0], &known, sizeof known) == sizeof known);
    CHECK(processes::in_child([&] {
              auto memory = shared_memory::receive(ends[1]);
              auto mine = wide::attach(std::move(*memory));
              std::uint64_t offset = 0;
              if (!mine || mine->memory().base() == arena.memory().base()) return 1;
              if (::read(ends[1], &offset, sizeof offset) != sizeof offset) return 2;
              const auto block = mine->block_at(offset, 5000);
              if (!block || !is_filled(block.address, block.size, 1)) return 3;
              const auto fresh = mine->allocate({.size = 3000, .align = 64});
              if (!fresh) return 4;
              fill(fresh.address, fresh.size, 2);
              mine->deallocate(block);
              offset = mine->offset_of(fresh);
              return ::write(ends[1], &offset, sizeof offset) == sizeof offset ? 0 : 5;
          }) == 0);
    std::uint64_t offset = 0;
    REQUIRE(::read(ends[0], &offset, sizeof offset) == sizeof offset);
    const auto fresh = arena.block_at(offset, 3000);
    REQUIRE(fresh);
    CHECK(is_filled(fresh.address, fresh.size, 2));
    arena.deallocate(fresh);
    CHECK(largest_hole(arena) == all);
    for (const int end : ends) ::close(end);
}

TEST_CASE_TEMPLATE("shared arena: concurrent processes never share a byte", Arena, wide, narrow) {
    Arena arena = make<Arena>(128 * KiB);
    const std::uint64_t all = largest_hole(arena);
    pid_t children[3];
    for (unsigned i = 0; i != 3; ++i) {
        children[i] = ::fork();
        REQUIRE(children[i] >= 0);
        if (children[i] == 0) {
            auto mine = again(arena);
            ::_exit(mine && play(*mine, static_cast<unsigned char>(i + 2), 5000) ? 0 : 1);
        }
    }
    CHECK(play(arena, 1, 5000));
    for (const pid_t child : children) {
        int status = -1;
        CHECK(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    CHECK(largest_hole(arena) == all);
}

namespace {

constexpr long endless = 1'000'000;

/// Runs `body` in a process instruction by instruction, calls `watch` after each, and kills the process after `steps`.
/// Returns the number of executed instructions, which is smaller if the process ended earlier, or -1 if this system
/// cannot trace a process.
template <class Body, class Watch>
long kill_after(long steps, Body&& body, Watch&& watch) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
        ::raise(SIGSTOP);
        body();
        ::_exit(0);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
    for (long done = 0; done != steps; ++done) {
        if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return -1;
        if (::waitpid(child, &status, 0) != child) return -1;
        if (!WIFSTOPPED(status)) return done;
        watch();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return steps;
}
template <class Body>
long kill_after(long steps, Body&& body) {
    return kill_after(steps, body, [] {});
}

/// An arena, a copy of its bytes at some time, and the bytes to compare: all except the lock and the journal.
template <class Offset>
class patient {
    using arena_type = allot::shared_arena<Offset>;
    using state = allot::detail::shared_state<Offset>;

public:
    using image = std::vector<std::byte>;
    arena_type arena = make<arena_type>(8 * KiB + arena_type::overhead);
    std::vector<typename arena_type::block_type> blocks;

    patient() {
        for (unsigned char i = 0; i != 12; ++i) {
            blocks.push_back(arena.allocate({.size = 100U + 40U * i, .align = i % 3 == 0 ? 256U : 16U}));
            REQUIRE(blocks.back());
            fill(blocks.back().address, blocks.back().size, static_cast<unsigned char>(i + 1));
        }
        for (std::size_t i = 1; i < 12; i += 4) arena.deallocate(blocks[i]);
        start_ = all();
    }
    void reset() { reset_to(start_); }
    void reset_to(const image& bytes) { std::memcpy(arena.memory().base(), bytes.data(), bytes.size()); }
    [[nodiscard]] image all() const { return {bytes(), bytes() + arena.size()}; }
    [[nodiscard]] image now() const { return of(bytes()); }
    [[nodiscard]] bool is_open() const { return reinterpret_cast<const state*>(bytes())->head.is_open != 0; }
    /// Returns the state that the next process would recover if every process died now. The memory is
    /// position-independent, so a copy has the same meaning.
    [[nodiscard]] image recovered() const {
        struct alignas(state) line {
            std::byte bytes[alignof(state)];
        };
        std::vector<line> copy(arena.size() / sizeof(line) + 1);
        std::memcpy(copy.data(), bytes(), arena.size());
        reinterpret_cast<state*>(copy.data())->recover();
        return of(copy.data()->bytes);
    }

private:
    [[nodiscard]] const std::byte* bytes() const { return static_cast<const std::byte*>(arena.memory().base()); }
    [[nodiscard]] image of(const std::byte* all) const {
        const auto* const strategy = reinterpret_cast<const std::byte*>(&reinterpret_cast<const state*>(all)->strategy);
        image counted{strategy, strategy + sizeof(typename state::strategy_type)};
        counted.insert(counted.end(), all + arena_type::overhead, all + arena.size());
        return counted;
    }

    image start_;
};

}  // namespace

TEST_CASE("shared arena: a call is atomic if its process is killed at any instruction") {
    using image = patient<std::uint32_t>::image;
    patient<std::uint32_t> on;
    auto& arena = on.arena;
    const auto resize = [&](std::size_t which, std::size_t size) {
        auto held = on.blocks[which];
        return arena.resize(held, size);
    };
    CHECK((resize(0, 200) && resize(10, 40) && !resize(10, 4 * KiB)));
    on.reset();
    const std::function<void()> calls[] = {
        [&] { static_cast<void>(arena.allocate({.size = 200, .align = 512})); },  // leaves a hole on either side
        [&] { static_cast<void>(arena.allocate({.size = 1000})); },
        [&] { arena.deallocate(on.blocks[4]); },                        // between two blocks
        [&] { arena.deallocate(on.blocks[2]); },                        // a hole is below
        [&] { arena.deallocate(on.blocks[0]); },                        // a hole is above
        [&] { static_cast<void>(arena.allocate({.size = 8 * KiB})); },  // fails
        [&] { static_cast<void>(arena.allocate_at({arena.size() - 1 * KiB, 200})); },
        [&] { static_cast<void>(resize(0, 200)); },       // a hole is above
        [&] { static_cast<void>(resize(10, 40)); },       // leaves a hole
        [&] { static_cast<void>(resize(10, 4 * KiB)); },  // fails
    };
    // The call of the next process that takes the lock.
    const auto look = [&] { static_cast<void>(arena.diagnose({.size = 1})); };
    long torn = 0, undone = 0, done = 0, twice = 0;
    const image before = on.now();
    for (const auto& call : calls) {
        call();
        const image after = on.now();
        on.reset();

        // After every instruction, the memory is recoverable.
        long wrong = 0, open = 0;
        const long length = kill_after(endless, call, [&] {
            const image recovered = on.recovered();
            wrong += on.is_open() ? recovered != before : recovered != before && recovered != after;
            open += on.is_open() && on.now() != before;
        });
        if (length < 0) {
            std::puts("skipped: this system cannot trace a process");
            return;
        }
        CHECK(wrong == 0);
        CHECK(on.now() == after);
        torn += open;
        if (length > 5000) {
            std::puts("skipped: instrumented code is too long for repeated kills");
            return;
        }

        // After a real death, the next process recovers the memory.
        const long stride = length / 12 + 1;
        for (long at = stride / 2; at < length; at += stride) {
            on.reset();
            REQUIRE(kill_after(at, call) == at);
            const bool was_open = on.is_open();
            if (was_open && undone++ % 4 == 0) {
                // The recovering process may also die at any instruction.
                const image as_left = on.all();
                long steps = 0, last_open = 0;
                kill_after(endless, look, [&] {
                    ++steps;
                    wrong += on.recovered() != before;
                    if (on.is_open()) last_open = steps;
                });
                CHECK(wrong == 0);
                CHECK(!on.is_open());
                for (const long before_its_end : {40, 10, 1}) {
                    on.reset_to(as_left);
                    CHECK(kill_after(last_open - before_its_end, look) == last_open - before_its_end);
                    twice += on.is_open();
                }
            }
            look();
            const image now = on.now();
            CHECK((now == before || now == after));
            if (was_open) CHECK(now == before);
            CHECK(!on.is_open());
            done += now == after && after != before;
            const auto block = arena.allocate({.size = 16});
            CHECK(block);
            arena.deallocate(block);
        }
        on.reset();
    }
    // The kills interrupted enough calls.
    CHECK(torn > 500);
    CHECK(undone > 5);
    CHECK(done > 5);
    CHECK(twice > 5);
}

TEST_CASE_TEMPLATE("shared arena: random kills leave a working arena", Arena, wide, narrow) {
    Arena arena = make<Arena>(256 * KiB);
    std::vector<typename Arena::block_type> mine;
    for (unsigned char i = 0; i != 16; ++i) {
        mine.push_back(arena.allocate({.size = 1000}));
        REQUIRE(mine.back());
        fill(mine.back().address, 1000, i);
    }
    std::minstd_rand random{1};
    std::size_t failures = 0;
    for (unsigned round = 0; round != 40; ++round) {
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            auto own = again(arena);
            // Few and small blocks, because the blocks of a dead process stay allocated.
            while (own) {
                const auto block = own->allocate({.size = 1 + random() % 500, .align = 64});
                if (block) fill(block.address, block.size, 0xEE);
                own->deallocate(block);
            }
            ::_exit(1);
        }
        for (auto i = random() % 200; i != 0; --i) {
            const auto block = arena.allocate({.size = 1 + random() % 2000});
            if (block) fill(block.address, block.size, 0xDD);
            arena.deallocate(block);
        }
        ::kill(child, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        for (unsigned char i = 0; i != 16; ++i) failures += !is_filled(mine[i].address, 1000, i);
    }
    CHECK(failures == 0);
    // At most one block for each dead process is missing, and all other bytes are free.
    for (const auto& block : mine) arena.deallocate(block);
    std::size_t free = 0;
    while (const auto block = arena.allocate({.size = 500})) free += block.size;
    CHECK(free > 256 * KiB - Arena::overhead - 40 * 1200 - 20'000);
}

TEST_CASE("shared arena: other processes see its tensors") {
    wide arena = make<wide>(64 * KiB);
    auto storage = *allot::alloc_storage(arena, 1024, 64);
    const auto tensor = *allot::alloc_tensor(storage, 256, {16}, allot::int32);
    CHECK(processes::in_child([&] {
              auto mine = again(arena);
              const std::uint64_t offset =
                  allot::raw_pointer::position(tensor.data()) - allot::raw_pointer::position(arena.memory().base());
              const auto block = mine->block_at(offset, 64);
              if (!block) return 1;
              fill(block.address, 64, 3);
              return 0;
          }) == 0);
    CHECK(is_filled(tensor.data(), 64, 3));
}
