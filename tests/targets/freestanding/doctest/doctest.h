// Replacement for doctest on machines without a C++ library: the subset of macros that these tests use. A failed CHECK
// is counted, a failed REQUIRE ends the program, and the exit status reports failures.
#pragma once

namespace freestanding {

/// A test case. A static constructor adds it to a list.
struct test_case {
    const char* name;
    void (*run)();
    test_case* next;

    static inline test_case* first = nullptr;
    test_case(const char* called, void (*running)()) noexcept : name{called}, run{running}, next{first} {
        first = this;
    }
    test_case(const test_case&) = delete;
    test_case& operator=(const test_case&) = delete;
};
template <template <class> class Body, class... Types>
struct test_cases {
    test_case each[sizeof...(Types)];
    explicit test_cases(const char* name) noexcept : each{{name, &Body<Types>::run}...} {}
};

// In ../cases.cpp.
/// Counts a check and prints a failed one.
void check(bool passed, const char* what, const char* file, int line) noexcept;
[[noreturn]] void stop(const char* reason) noexcept;
/// Runs every test case. Returns the exit status of the program.
[[nodiscard]] int run_all() noexcept;

// Each machine defines these functions.
void print(const char* text) noexcept;
[[noreturn]] void end_program(int status) noexcept;

template <class Value>
[[nodiscard]] constexpr bool is_true(const Value& value) noexcept {
    return static_cast<bool>(value);
}

}  // namespace freestanding

#define FREESTANDING_JOIN_(a, b) a##b
#define FREESTANDING_JOIN(a, b) FREESTANDING_JOIN_(a, b)

#define FREESTANDING_CASE(function, title)                                                   \
    static void function();                                                                  \
    static ::freestanding::test_case FREESTANDING_JOIN(function, _listed){title, &function}; \
    static void function()
#define TEST_CASE(title) FREESTANDING_CASE(FREESTANDING_JOIN(test_case_, __LINE__), title)

#define FREESTANDING_TEMPLATE(body, title, Type, ...)                                      \
    namespace {                                                                            \
    template <class Type>                                                                  \
    struct body {                                                                          \
        static void run();                                                                 \
    };                                                                                     \
    ::freestanding::test_cases<body, __VA_ARGS__> FREESTANDING_JOIN(body, _listed){title}; \
    }                                                                                      \
    template <class Type>                                                                  \
    void body<Type>::run()
#define TEST_CASE_TEMPLATE(title, Type, ...) \
    FREESTANDING_TEMPLATE(FREESTANDING_JOIN(test_case_, __LINE__), title, Type, __VA_ARGS__)

#define CHECK(...) ::freestanding::check(::freestanding::is_true(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define CHECK_FALSE(...) \
    ::freestanding::check(!::freestanding::is_true(__VA_ARGS__), "not " #__VA_ARGS__, __FILE__, __LINE__)
#define REQUIRE(...)                                                      \
    do {                                                                  \
        const bool passed_ = ::freestanding::is_true(__VA_ARGS__);        \
        ::freestanding::check(passed_, #__VA_ARGS__, __FILE__, __LINE__); \
        if (!passed_) ::freestanding::stop("a REQUIRE failed");           \
    } while (false)
#define REQUIRE_FALSE(...) REQUIRE(!::freestanding::is_true(__VA_ARGS__))
#define FAIL_CHECK(reason) ::freestanding::check(false, reason, __FILE__, __LINE__)
#define CAPTURE(value) static_cast<void>(value)
