// result: the value and the error, and the use of one where the other exists.
#include <allot/core/diagnosis.hpp>
#include <allot/core/result.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using allot::refusal;
using number = allot::result<int, refusal>;

constexpr number seven = 7;
constexpr number failed = number::failure(refusal::exhausted);
static_assert(seven && *seven == 7 && seven.value() == 7 && !failed && failed.error() == refusal::exhausted);
static_assert(noexcept(seven.value()) && noexcept(*seven) && noexcept(failed.error()));

/// Returns true if `body` ends the process with SIGABRT.
template <class Body>
[[nodiscard]] bool aborts(Body body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
        body();
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

int seen = 0;

/// An error of several words, which a result with a value omits.
struct report {
    std::size_t line = 1, column = 2, length = 3;
    friend constexpr bool operator==(const report&, const report&) = default;
};
using parsed = allot::result<int, report>;
static_assert(sizeof(parsed) <= sizeof(report) + 2 * sizeof(std::size_t) && std::is_trivially_copyable_v<parsed>);
constexpr parsed wrong = parsed::failure({.line = 7}), copied = wrong, right = 4;
static_assert(!copied && copied.error() == report{7, 2, 3} && right && *right == 4);

}  // namespace

TEST_CASE("result: the value is accessible, and can be moved out") {
    allot::result<std::unique_ptr<int>, int> made{std::make_unique<int>(3)};
    REQUIRE(made);
    CHECK(**made == 3);
    CHECK(*made->get() == 3);
    CHECK(*made.value() == 3);
    const std::unique_ptr<int> moved = std::move(made).value();
    CHECK(*moved == 3);
    number changed = 1;
    changed.value() = 2;
    CHECK(*changed == 2);
}

TEST_CASE("result: a value and an error of several words replace each other") {
    parsed made = 5;
    made = parsed::failure({.column = 9});
    REQUIRE_FALSE(made);
    CHECK(made.error() == report{1, 9, 3});
    const parsed copy = made;
    CHECK(copy.error() == report{1, 9, 3});
    made = 6;
    REQUIRE(made);
    CHECK(*made == 6);
    made = copy;
    CHECK(made.error() == report{1, 9, 3});
    parsed all[] = {parsed::failure({}), 1, parsed::failure({.length = 5})};
    std::swap(all[0], all[1]);
    std::swap(all[1], all[2]);
    CHECK(*all[0] == 1);
    CHECK(all[1].error().length == 5);
    CHECK(all[2].error() == report{});
}

TEST_CASE("result: value stops the program if there is no value, in every build") {
    CHECK(aborts([] { seen = number{failed}.value(); }));
    CHECK(aborts([] { seen = failed.value(); }));
    CHECK(aborts([] {
        number made = failed;
        seen = made.value();
    }));
    CHECK_FALSE(aborts([] { seen = seven.value(); }));
}

#ifdef NDEBUG
TEST_CASE("result: with NDEBUG, a missing value or error is default-constructed and not checked") {
    const number made = failed, other = seven;
    CHECK(*made == 0);
    CHECK(other.error() == refusal::none);
    const parsed large = 3;
    CHECK(large.error() == report{});
}
#else
TEST_CASE("result: without NDEBUG, the use of a missing value or error stops the program") {
    CHECK(aborts([] { seen = *number{failed}; }));
    CHECK(aborts([] {
        const number made = failed;
        seen = *made;
    }));
    CHECK(aborts([] {
        number made = failed;
        seen = *made;
    }));
    using found = allot::result<allot::diagnosis, int>;
    CHECK(aborts([] {
        const found made = found::failure(1);
        seen = static_cast<int>(made->device_error);
    }));
    CHECK(aborts([] {
        found made = found::failure(1);
        made->device_error = 1;
    }));
    CHECK(aborts([] {
        const number made = seven;
        seen = static_cast<int>(made.error());
    }));
    CHECK(aborts([] { seen = static_cast<int>(right.error().line); }));
    CHECK_FALSE(aborts([] { seen = *seven + static_cast<int>(failed.error()); }));
}
#endif
