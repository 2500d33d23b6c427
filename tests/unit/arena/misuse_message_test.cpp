// The message of the default misuse handler, on stderr before the program is aborted.
#include "../../in_child.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <string_view>

namespace {

constexpr allot::arena_options checked{.hardening = allot::hardening::checked};
using memory = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none, checked>;

/// What a process that is aborted over `misuse` writes to stderr; a note when it ends in another way.
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
    for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
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

TEST_CASE("misuse: the default handler says what happened, where, and which block lies there, before it aborts") {
    memory arena{{}, 4096};
    const auto first = arena.allocate({.size = 77}), second = arena.allocate({.size = 33});
    REQUIRE((first && second));
    const std::string at = hex(allot::raw_pointer::position(first.address));
    arena.deallocate(first);
    CHECK(last_words([&] { arena.deallocate(first); }) ==
          "allot: misuse: a block that is not live: freed before, or its address was changed (at " + at +
              ", size 77); known there: size 77 at " + at + ", allocated by call 1, freed by call 3\n");

    auto longer = second;
    longer.size = 35;
    const std::string there = hex(allot::raw_pointer::position(second.address));
    CHECK(last_words([&] { arena.deallocate(longer); }) ==
          "allot: misuse: a live block with another size or metadata than it was handed out with (at " + there +
              ", size 35); known there: size 33 at " + there + ", allocated by call 2\n");

    int elsewhere = 0;
    memory::block_type foreign = second;
    foreign.address = &elsewhere;
    CHECK(last_words([&] { arena.deallocate(foreign); }) ==
          "allot: misuse: a block that this allocator did not hand out (at " +
              hex(allot::raw_pointer::position(&elsewhere)) + ", size 33)\n");
}

TEST_CASE("misuse: each has a text of its own") {
    using allot::misuse;
    const misuse all[] = {misuse::foreign_block, misuse::not_live,     misuse::wrong_size,  misuse::leaked,
                          misuse::killed_before, misuse::out_of_order, misuse::overwritten, misuse::written_after_free};
    for (const misuse a : all) {
        CHECK(std::string_view{allot::to_string(a)} != "unknown");
        for (const misuse b : all) CHECK((a == b || std::string_view{allot::to_string(a)} != allot::to_string(b)));
    }
}

TEST_CASE("misuse: a handler may take the block's history, or not") {
    struct with_history {
        void operator()(allot::misuse, std::size_t, std::size_t, const allot::block_history& known) const noexcept {
            seen() = known;
        }
        static allot::block_history& seen() {
            static allot::block_history last;
            return last;
        }
    };
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none, checked, with_history> arena{{}, 4096};
    const auto block = arena.allocate({.size = 13});
    arena.deallocate(block);
    arena.deallocate(block);
    CHECK(with_history::seen().size == 13);
    CHECK(with_history::seen().allocated == 1);
    CHECK(with_history::seen().freed == 2);
    // Its bytes were handed out again meanwhile: known is the one that was freed there last.
    for (int i = 0; i != 3; ++i) {
        const auto again = arena.allocate({.size = 13});
        REQUIRE(again.address == block.address);
        arena.deallocate(again);
    }
    arena.deallocate(decltype(block){block.address, block.size, {}});  // made of an address and a size
    CHECK(with_history::seen().allocated == 7);
    CHECK(with_history::seen().freed == 8);
    arena.deallocate(block);
    CHECK(with_history::seen().allocated == 1);
    CHECK(with_history::seen().freed == 2);
    const auto live = arena.allocate({.size = 13});
    REQUIRE(live.address == block.address);
    with_history::seen() = {};
    arena.deallocate(block);  // freed before, whoever lives there now
    CHECK(with_history::seen().allocated == 1);
    CHECK(with_history::seen().freed == 2);
}
