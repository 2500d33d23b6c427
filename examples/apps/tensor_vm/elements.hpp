// SPDX-License-Identifier: BSL-1.0
// elements: the element types of the machine. It computes, reads and prints int32, int64 and float32. Tensors of other
// types can be allocated, copied and viewed. Integers wrap.
#pragma once

#include "program.hpp"

#include <cstring>
#include <limits>
#include <type_traits>

namespace vm {

static_assert(sizeof(float) == 4 && std::numeric_limits<float>::is_iec559);

/// Calls `use(T{})` with the element type of a dtype. Returns false for an unsupported dtype.
template <class Use>
[[nodiscard]] bool with_element(allot::dtype type, Use&& use) {
    if (type == allot::int32) return use(std::int32_t{}), true;
    if (type == allot::int64) return use(std::int64_t{}), true;
    if (type == allot::float32) return use(float{}), true;
    return false;
}

[[nodiscard]] constexpr const char* name_of(std::int32_t) noexcept { return "int32"; }
[[nodiscard]] constexpr const char* name_of(std::int64_t) noexcept { return "int64"; }
[[nodiscard]] constexpr const char* name_of(float) noexcept { return "float32"; }

/// The unsigned types in which integers are computed, because unsigned arithmetic wraps.
template <class T>
using wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

template <class T>
[[nodiscard]] T apply(operation what, T a, T b) noexcept {
    const auto x = static_cast<wrapping<T>>(a), y = static_cast<wrapping<T>>(b);
    switch (what) {
        case operation::add: return static_cast<T>(x + y);
        case operation::subtract: return static_cast<T>(x - y);
        case operation::multiply: break;
    }
    return static_cast<T>(x * y);
}

/// Converts a number to an element. Returns a description of the error, if any.
template <class T>
[[nodiscard]] const char* convert(const number& from, T& to) noexcept {
    if constexpr (std::is_integral_v<T>) {
        if (!from.is_integer) return "an element is not an integer";
        if (!std::in_range<T>(from.integer)) return "an element is out of range for its dtype";
        to = static_cast<T>(from.integer);
    } else {
        if (std::fabs(from.real) > std::numeric_limits<T>::max()) return "an element is out of range for its dtype";
        to = static_cast<T>(from.real);
    }
    return nullptr;
}

/// The elements of a tensor, in row-major order.
template <class T>
class element_source {
public:
    /// Throws a `program_error` when these are not `count` elements of this type.
    element_source(const elements& from, std::size_t count, std::size_t line) : is_polynomial_{from.is_polynomial} {
        if (!is_polynomial_ && from.numbers.size() != count)
            throw program_error{line, "the tensor has " + std::to_string(count) + " elements, but " +
                                          std::to_string(from.numbers.size()) + " are given"};
        for (const number& each : from.numbers) {
            if (const char* const reason = convert(each, numbers_.emplace_back())) throw program_error{line, reason};
        }
    }
    [[nodiscard]] T operator[](std::size_t i) const noexcept {
        if (!is_polynomial_) return numbers_[i];
        T sum{};
        for (std::size_t n = numbers_.size(); n-- != 0;)
            sum = apply(operation::add, apply(operation::multiply, sum, static_cast<T>(i)), numbers_[n]);
        return sum;
    }

private:
    std::vector<T> numbers_;
    bool is_polynomial_;
};

/// Returns element `i` of bytes with any alignment.
template <class T>
[[nodiscard]] T load(const void* from, std::size_t i) noexcept {
    T element;
    std::memcpy(&element, static_cast<const std::byte*>(from) + i * sizeof(T), sizeof(T));
    return element;
}
template <class T>
void store(void* to, std::size_t i, T element) noexcept {
    std::memcpy(static_cast<std::byte*>(to) + i * sizeof(T), &element, sizeof(T));
}

/// Returns whether two elements are equal, or both are NaN. The bits of a NaN may differ between memories.
template <class T>
[[nodiscard]] bool is_same(T a, T b) noexcept {
    return a == b || (a != a && b != b);
}

template <class T>
[[nodiscard]] std::string shown(T element) {
    if (element != element) return "nan";
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, element).ptr};
}

[[nodiscard]] inline std::string shown(const allot::shape& of) {
    std::string text;
    for (const std::int64_t n : of) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return '(' + text + ')';
}

}  // namespace vm
