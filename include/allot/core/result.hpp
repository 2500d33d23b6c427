// SPDX-License-Identifier: BSL-1.0
// result: a value, or the reason why there is none. For calls with more to say than an empty block.
//
//     if (auto table = allot::write_table<…>(…)) use(*table); else report(table.error().reason);
//
// Both types must be default-constructible and cheap to keep side by side (addresses, sizes, enumerations): then a
// result needs no union, works in constant expressions and is trivially copyable when they are.
#pragma once

#include <utility>

namespace allot {
inline namespace v1 {

template <class Value, class Error>
class [[nodiscard]] result {
public:
    using value_type = Value;
    using error_type = Error;

    constexpr result(Value value) noexcept : value_{std::move(value)}, has_value_{true} {}
    /// The reason why there is no value.
    [[nodiscard]] static constexpr result failure(Error error) noexcept { return result{error, false}; }

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return has_value_; }
    /// The value; a default-constructed one when there is none.
    [[nodiscard]] constexpr const Value& operator*() const& noexcept { return value_; }
    [[nodiscard]] constexpr Value& operator*() & noexcept { return value_; }
    [[nodiscard]] constexpr Value&& operator*() && noexcept { return std::move(value_); }
    [[nodiscard]] constexpr const Value* operator->() const noexcept { return &value_; }
    [[nodiscard]] constexpr Value* operator->() noexcept { return &value_; }
    /// The reason; a default-constructed one when there is a value.
    [[nodiscard]] constexpr const Error& error() const noexcept { return error_; }

private:
    constexpr result(Error error, bool) noexcept : error_{std::move(error)} {}

    Value value_{};
    Error error_{};
    bool has_value_ = false;
};

}  // namespace v1
}  // namespace allot
