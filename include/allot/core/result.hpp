// SPDX-License-Identifier: BSL-1.0
// result: a value or an error, for functions whose failures carry more information than an empty block.
//
//     if (auto table = allot::write_table<…>(…)) use(*table); else report(table.error().reason);
//
// Both types must be default-constructible, and cheap to store next to each other: addresses, sizes, enumerations. A
// result therefore needs no union. It works in constant expressions, and it is trivially copyable when both types are.
//
// When to use: for functions that either return a value or report an error, without exceptions.
// When not to use: for large values, or for types without a default constructor.
//
// Complexity: O(1) plus the operations of the two types.
// Memory: the value, the error and one flag.
// Thread safety: that of the two types.
#pragma once

#include <utility>

namespace allot {
inline namespace v1 {

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
    /// Returns the value, or a default-constructed one after a failure.
    [[nodiscard]] constexpr const Value& operator*() const& noexcept { return value_; }
    /// Returns the value, or a default-constructed one after a failure.
    [[nodiscard]] constexpr Value& operator*() & noexcept { return value_; }
    /// Returns the value, or a default-constructed one after a failure.
    [[nodiscard]] constexpr Value&& operator*() && noexcept { return std::move(value_); }
    /// Accesses a member of the value, or of a default-constructed one after a failure.
    [[nodiscard]] constexpr const Value* operator->() const noexcept { return &value_; }
    /// Accesses a member of the value, or of a default-constructed one after a failure.
    [[nodiscard]] constexpr Value* operator->() noexcept { return &value_; }
    /// Returns the error, or a default-constructed one when there is a value.
    [[nodiscard]] constexpr const Error& error() const noexcept { return error_; }

private:
    constexpr result(Error error, bool) noexcept : error_{std::move(error)} {}

    Value value_{};
    Error error_{};
    bool has_value_ = false;
};

}  // namespace v1
}  // namespace allot
