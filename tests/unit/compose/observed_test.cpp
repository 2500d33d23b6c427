#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace allot::literals;
using allot::layout;
using allot::refusal;
template <class Strategy>
using grows = allot::arena<allot::host::heap, Strategy, allot::growth::geometric<>>;
using scratch = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;

/// Writes each call into a list.
struct listing {
    std::vector<std::string> calls{};
    void add(const char* what, std::size_t a = 0, std::size_t b = 0) {
        calls.push_back(std::string{what} + ' ' + std::to_string(a) + ' ' + std::to_string(b));
    }
    void on_allocate(const auto& block, layout wanted) {
        CHECK(block.size == wanted.size);
        add("allocate", wanted.size, wanted.align);
    }
    void on_refusal(layout wanted, allot::diagnosis why) {
        add("refusal", wanted.size, static_cast<std::size_t>(why.reason));
    }
    void on_deallocate(const auto& block) { add("deallocate", block.size); }
    void on_resize(const auto& before, const auto& after) {
        CHECK(before.address == after.address);
        add("resize", before.size, after.size);
    }
    void on_trim(std::size_t bytes) { add("trim", bytes); }
    void on_reset() { add("reset"); }
    void on_rollback() { add("rollback"); }
};

struct frees {
    int count = 0;
    void on_deallocate(const auto&) noexcept { ++count; }
};
struct refusals final {  // a final class can be an observer
    int count = 0;
    void on_refusal(layout, allot::diagnosis) noexcept { ++count; }
};
struct nothing {};

}  // namespace

TEST_CASE("observed: each call reaches the observer once, with its arguments and its result") {
    listing log;
    scratch arena;
    allot::observed memory{arena, log};
    auto block = memory.allocate({.size = 100, .align = 8});
    CHECK_FALSE(memory.allocate({.size = 5000, .align = 4}));
    CHECK_FALSE(memory.allocate({.size = 0, .align = 4}));
    CHECK(memory.resize(block, 120));
    CHECK_FALSE(memory.resize(block, 1_MiB));
    const auto placed = memory.allocate_at({1024, 64});
    CHECK(placed);
    CHECK_FALSE(memory.allocate_at({1024, 65}));
    memory.deallocate(block);
    memory.deallocate({});
    memory.deallocate(placed);
    const auto code = [](refusal why) { return std::to_string(static_cast<std::size_t>(why)); };
    CHECK(log.calls == std::vector<std::string>{"allocate 100 8", "refusal 5000 " + code(refusal::exhausted),
                                                "refusal 0 " + code(refusal::empty_layout), "resize 100 120",
                                                "allocate 64 1", "refusal 65 " + code(refusal::not_free),
                                                "deallocate 120 0", "deallocate 64 0"});
}

TEST_CASE("observed: reset, rollback and trim reach the observer") {
    allot::observed memory{grows<allot::bump<>>{}, listing{}};
    REQUIRE(memory.allocate({.size = 10}));
    const auto mark = memory.mark();
    memory.rollback(mark);
    memory.reset();
    const std::size_t released = memory.trim();
    CHECK(released > 0);
    CHECK(memory.observer().calls == std::vector<std::string>{"allocate 10 16", "rollback 0 0", "reset 0 0",
                                                              "trim " + std::to_string(released) + " 0"});
}

TEST_CASE("observed: functions that an observer lacks are skipped, and no diagnosis is computed for them") {
    struct diagnosed : scratch {
        int diagnoses = 0;
        allot::diagnosis diagnose(layout wanted) noexcept {
            ++diagnoses;
            return scratch::diagnose(wanted);
        }
    };
    diagnosed arena;
    allot::observed memory{arena, frees{}};
    CHECK_FALSE(memory.allocate({.size = 1_MiB}));
    CHECK(arena.diagnoses == 0);
    memory.deallocate(memory.allocate({.size = 10}));
    CHECK(memory.observer().count == 1);

    allot::observed other{arena, refusals{}};
    CHECK_FALSE(other.allocate({.size = 1_MiB}));
    CHECK(arena.diagnoses == 1);
    CHECK(other.observer().count == 1);

    allot::observed<scratch, nothing> silent;
    CHECK(silent.allocate({.size = 10}));
    static_assert(sizeof(silent) == sizeof(scratch));
}

TEST_CASE("observed: a misused block that a hardened arena reports is no deallocation") {
    static int misuses = 0;
    struct count {
        void operator()(allot::misuse, std::size_t, std::size_t) const noexcept { ++misuses; }
    };
    using hardened = allot::arena<allot::host::static_storage<1000>, allot::best_fit<>, allot::growth::none<>,
                                  allot::arena_options{.hardening = allot::hardening::checked}, count>;
    allot::observed<hardened, listing> memory;
    const auto block = memory.allocate({.size = 100});
    memory.deallocate(block);
    memory.deallocate(block);
    CHECK(misuses == 1);
    CHECK(memory.observer().calls.size() == 2);
}

TEST_CASE("observed: an undone request of a paged allocator is observed") {
    listing log;
    allot::arena<allot::host::static_storage<256>, allot::best_fit<>> rows;
    grows<allot::best_fit<>> tables;
    allot::observed seen{rows, log};
    allot::observed in_tables{tables, nothing{}};
    allot::paged<decltype(seen)&, decltype(in_tables)&, allot::pointer_table<64>> memory{seen, in_tables};
    CHECK_FALSE(memory.allocate({.size = 64 * 10}));
    std::size_t allocated = 0, freed = 0;
    for (const std::string& call : log.calls) {
        allocated += call.starts_with("allocate");
        freed += call.starts_with("deallocate");
    }
    CHECK(allocated > 0);
    CHECK(freed == allocated);
    CHECK(tables.size() == 0);  // the region of the table is released
}
