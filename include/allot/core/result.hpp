// SPDX-License-Identifier: BSL-1.0
// result: a value or an error, for functions whose failures carry more information than an empty block.
//
//     if (auto table = allot::write_table<…>(…)) use(*table); else report(table.error().reason);
//
// Both types must be default-constructible, and cheap to store next to each other: addresses, sizes, enumerations. A
// result therefore needs no union. It works in constant expressions, and it is trivially copyable when both types are.
//
//     call                  of a result without it
//     *made, made->…        an assertion fails; with NDEBUG, the object is default-constructed and nothing is checked
//     made.error()          the same
//     made.value()          the program stops, also with NDEBUG
//
// In a constant expression, each of these calls is an error, with and without NDEBUG.
//
// When to use: for functions that either return a value or report an error, without exceptions.
// When not to use: for large values, or for types without a default constructor.
//
// Complexity: O(1) plus the operations of the two types.
// Memory: the value, the error and one flag. A result with a value does not write an error of more than two words.
// Thread safety: that of the two types.
#pragma once

#include <allot/core/detail/compiler.hpp>

#include <cstdlib>
#include <type_traits>
#include <utility>

#if __STDC_HOSTED__ && !defined(NDEBUG)
#include <cassert>
#endif

namespace allot {
inline namespace v1 {

namespace detail {

#ifdef NDEBUG
constexpr bool checks_results = false;
#else
constexpr bool checks_results = true;
#endif

// Ends the program. A freestanding program has no std::abort to rely on, so it traps.
[[noreturn]] inline void stop_program() noexcept {
#if __STDC_HOSTED__
    std::abort();
#else
    ALLOT_TRAP();
#endif
}

// These two functions are not constexpr. A constant expression that calls one of them is an error.
[[noreturn]] ALLOT_COLD ALLOT_NOINLINE inline void value_of_a_failed_result() noexcept {
#if __STDC_HOSTED__ && !defined(NDEBUG)
    assert(false && "allot: this result has no value: test the result before you use its value");
#endif
    stop_program();
}
[[noreturn]] ALLOT_COLD ALLOT_NOINLINE inline void error_of_a_successful_result() noexcept {
#if __STDC_HOSTED__ && !defined(NDEBUG)
    assert(false && "allot: this result has no error: test the result before you use its error");
#endif
    stop_program();
}

/// Whether a result with a value contains no error. An error of several words takes an instruction for each of them.
template <class Error>
inline constexpr bool is_error_omitted =
    sizeof(Error) > 2 * sizeof(void*) &&
    std::is_trivially_copyable_v<Error>&& std::is_trivially_destructible_v<Error>&& requires {
        typename std::bool_constant<(static_cast<void>(Error{}), true)>;
    };
/// The error of a result, or nothing.
template <class Error, bool Omitted = is_error_omitted<Error>>
class error_of_result {
public:
    constexpr error_of_result() noexcept = default;
    constexpr explicit error_of_result(Error error) noexcept : error_{std::move(error)} {}
    [[nodiscard]] constexpr const Error& get(bool) const noexcept { return error_; }

private:
    Error error_{};
};
template <class Error>
class error_of_result<Error, true> {
public:
    constexpr error_of_result() noexcept : nothing_{} {}
    constexpr explicit error_of_result(Error error) noexcept : error_{error} {}
    [[nodiscard]] constexpr const Error& get(bool is_there) const noexcept { return is_there ? error_ : none; }

private:
    static constexpr Error none{};
    struct nothing {};
    union {
        nothing nothing_;
        Error error_;
    };
};

}  // namespace detail

/// A `Value`, or an `Error` that explains its absence. It is true when it has a value.
template <class Value, class Error>
class [[nodiscard]] result {
public:
    using value_type = Value;  ///< The type of the value.
    using error_type = Error;  ///< The type of the error.

    /// Constructs a result that has a value.
    constexpr result(Value value) noexcept : value_{std::move(value)}, has_value_{true} {}
    /// Returns a result that has an error and no value.
    [[nodiscard]] static constexpr result failure(Error error) noexcept { return result{error, false}; }

    /// Returns true when there is a value.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return has_value_; }
    /// Returns the value. Precondition: there is a value.
    [[nodiscard]] constexpr const Value& operator*() const& noexcept {
        expect_value();
        return value_;
    }
    /// Returns the value. Precondition: there is a value.
    [[nodiscard]] constexpr Value& operator*() & noexcept {
        expect_value();
        return value_;
    }
    /// Returns the value. Precondition: there is a value.
    [[nodiscard]] constexpr Value&& operator*() && noexcept {
        expect_value();
        return std::move(value_);
    }
    /// Accesses a member of the value. Precondition: there is a value.
    [[nodiscard]] constexpr const Value* operator->() const noexcept {
        expect_value();
        return &value_;
    }
    /// Accesses a member of the value. Precondition: there is a value.
    [[nodiscard]] constexpr Value* operator->() noexcept {
        expect_value();
        return &value_;
    }

    /// Returns the value. If there is no value, the program stops, also with NDEBUG.
    [[nodiscard]] constexpr const Value& value() const& noexcept {
        if (!has_value_) detail::value_of_a_failed_result();
        return value_;
    }
    /// Returns the value. If there is no value, the program stops, also with NDEBUG.
    [[nodiscard]] constexpr Value& value() & noexcept {
        if (!has_value_) detail::value_of_a_failed_result();
        return value_;
    }
    /// Returns the value. If there is no value, the program stops, also with NDEBUG.
    [[nodiscard]] constexpr Value&& value() && noexcept {
        if (!has_value_) detail::value_of_a_failed_result();
        return std::move(value_);
    }

    /// Returns the error. Precondition: there is no value.
    [[nodiscard]] constexpr const Error& error() const noexcept {
        if ((detail::checks_results || std::is_constant_evaluated()) && has_value_)
            detail::error_of_a_successful_result();
        return error_.get(!has_value_);
    }

private:
    constexpr result(Error error, bool) noexcept : error_{std::move(error)} {}

    constexpr void expect_value() const noexcept {
        if ((detail::checks_results || std::is_constant_evaluated()) && !has_value_) detail::value_of_a_failed_result();
    }

    Value value_{};
    detail::error_of_result<Error> error_{};
    bool has_value_ = false;
};

}  // namespace v1
}  // namespace allot
