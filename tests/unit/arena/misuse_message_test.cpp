// The message that the default misuse handler writes to stderr before it aborts the program.
#include "../../in_child.hpp"
#include "../../texts.hpp"

#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <string>

namespace {

constexpr allot::arena_options debug{.hardening = allot::hardening::debug};
using memory = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>, debug>;

/// Returns the stderr output of a process that `misuse` aborts; a note if the process ends in another way.
template <class Misuse>
std::string last_words(Misuse misuse) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);  // without the test program's handler
        ::dup2(ends[1], 2);
        ::close(ends[0]);
        misuse();
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char part[256];
    for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;)
        text.append(part, static_cast<std::size_t>(got));
    ::close(ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "not aborted: " + text;
}

std::string hex(std::size_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%zx", value);
    return text;
}

}  // namespace

TEST_CASE("misuse: the default handler writes the misuse, the position and the block's history and aborts") {
    memory arena{{}, 4096};
    const auto first = arena.allocate({.size = 77}), second = arena.allocate({.size = 33});
    REQUIRE((first && second));
    const std::string at = hex(allot::raw_pointer::position(first.address));
    arena.deallocate(first);
    CHECK(last_words([&] { arena.deallocate(first); }) ==
          "allot: misuse: a block that is not live: already freed, or its address was changed (at " + at +
              ", size 77); known there: size 77 at " + at + ", allocated by call 1, freed by call 3\n");

    auto longer = second;
    longer.size = 35;
    const std::string there = hex(allot::raw_pointer::position(second.address));
    CHECK(last_words([&] { arena.deallocate(longer); }) ==
          "allot: misuse: a live block whose size or metadata was changed (at " + there +
              ", size 35); known there: size 33 at " + there + ", allocated by call 2\n");

    int elsewhere = 0;
    memory::block_type foreign = second;
    foreign.address = &elsewhere;
    CHECK(last_words([&] { arena.deallocate(foreign); }) ==
          "allot: misuse: a block that this allocator did not allocate (at " +
              hex(allot::raw_pointer::position(&elsewhere)) + ", size 33)\n");
    arena.deallocate(second);
}

TEST_CASE("misuse: every value has its own text") { texts::check_distinct_up_to(allot::misuse::stale_mark); }

TEST_CASE("misuse: a handler may accept the block's history") {
    struct with_history {
        void operator()(allot::misuse, std::size_t, std::size_t, const allot::block_history& known) const noexcept {
            seen() = known;
        }
        static allot::block_history& seen() {
            static allot::block_history last;
            return last;
        }
    };
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>, debug, with_history> arena{{}, 4096};
    const auto block = arena.allocate({.size = 13});
    arena.deallocate(block);
    arena.deallocate(block);
    CHECK(with_history::seen().size == 13);
    CHECK(with_history::seen().allocated == 1);
    CHECK(with_history::seen().freed == 2);
    // The bytes were allocated again meanwhile. The history is that of the last freed block there.
    for (int i = 0; i != 3; ++i) {
        const auto again = arena.allocate({.size = 13});
        REQUIRE(again.address == block.address);
        arena.deallocate(again);
    }
    arena.deallocate(decltype(block){block.address, block.size, {}});  // constructed from an address and a size
    CHECK(with_history::seen().allocated == 7);
    CHECK(with_history::seen().freed == 8);
    arena.deallocate(block);
    CHECK(with_history::seen().allocated == 1);
    CHECK(with_history::seen().freed == 2);
    const auto live = arena.allocate({.size = 13});
    REQUIRE(live.address == block.address);
    with_history::seen() = {};
    arena.deallocate(block);  // already freed, although another block is live there now
    CHECK(with_history::seen().allocated == 1);
    CHECK(with_history::seen().freed == 2);
    arena.deallocate(live);
}
