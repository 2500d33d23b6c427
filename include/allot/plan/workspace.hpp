// SPDX-License-Identifier: BSL-1.0
// workspace: the arrays that the planner works in. They are the caller's: nothing here asks for memory of its own.
//
//     allot::plan_heap memory{allot::greedy_space(problem)};                 // on the heap
//     static allot::plan_storage<allot::greedy_space(problem)> memory;   // in static storage, or a constant expression
//     allot::greedy_plan(problem, bound, offsets, memory, effort);
//
//     words   │ first of 32 bits │ second │ third │ … Each call cuts the arrays it needs from the front, and leaves
//     longs   │ first of 64 bits │ second │ …         nothing that a later call needs: one memory of the largest space
//     extents │ …                                     serves any number of calls, one after the other.
//
// Every call has a function beside it that says what it needs: `bound_space(problem)` for `bound_of(problem, …)`. It
// depends on how many buffers, revivals, pairs and reserved ranges there are, and on nothing else.
#pragma once

#include <allot/plan/problem.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace allot {
inline namespace v1 {

/// Bytes that are in use while a plan is made, for some steps.
struct plan_extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t from = 0;
    std::uint32_t until = 0;
    std::uint32_t buffer = 0;
};

/// How many of each a call needs.
struct plan_space {
    std::size_t words = 0;
    std::size_t longs = 0;
    std::size_t extents = 0;
    // Of a problem that a planner makes of another.
    std::size_t buffers = 0;
    std::size_t revivals = 0;
    std::size_t fixed = 0;
    std::size_t pairs = 0;

    /// What serves either call.
    friend constexpr plan_space max(plan_space a, plan_space b) noexcept {
        return {std::max(a.words, b.words),       std::max(a.longs, b.longs),       std::max(a.extents, b.extents),
                std::max(a.buffers, b.buffers), std::max(a.revivals, b.revivals), std::max(a.fixed, b.fixed),
                std::max(a.pairs, b.pairs)};
    }
    /// What serves both at once.
    friend constexpr plan_space operator+(plan_space a, plan_space b) noexcept {
        return {a.words + b.words,       a.longs + b.longs, a.extents + b.extents, a.buffers + b.buffers,
                a.revivals + b.revivals, a.fixed + b.fixed, a.pairs + b.pairs};
    }
    friend constexpr bool operator==(plan_space, plan_space) = default;
};

namespace detail {
/// The first `count` of an array, which is left with the others. Precondition: there are as many.
template <class T>
[[nodiscard]] constexpr std::span<T> cut(std::span<T>& from, std::size_t count) noexcept {
    const std::span<T> first = from.first(count);
    from = from.subspan(count);
    return first;
}
}  // namespace detail

struct plan_workspace {
    std::span<std::uint32_t> words{};
    std::span<std::uint64_t> longs{};
    std::span<plan_extent> extents{};
    std::span<plan_buffer> buffers{};
    std::span<plan_revival> revivals{};
    std::span<plan_fixed> fixed{};
    std::span<plan_pair> pairs{};

    [[nodiscard]] constexpr bool holds(plan_space space) const noexcept {
        return words.size() >= space.words && longs.size() >= space.longs && extents.size() >= space.extents &&
               buffers.size() >= space.buffers && revivals.size() >= space.revivals && fixed.size() >= space.fixed &&
               pairs.size() >= space.pairs;
    }
    /// The next `count` words. Precondition, here and below: there are as many.
    [[nodiscard]] constexpr std::uint32_t* cut_words(std::size_t count) noexcept {
        return detail::cut(words, count).data();
    }
    [[nodiscard]] constexpr std::uint64_t* cut_longs(std::size_t count) noexcept {
        return detail::cut(longs, count).data();
    }
};

/// A workspace on the heap.
class plan_heap {
public:
    explicit plan_heap(plan_space space)
        : words_(space.words),
          longs_(space.longs),
          extents_(space.extents),
          buffers_(space.buffers),
          revivals_(space.revivals),
          fixed_(space.fixed),
          pairs_(space.pairs) {}
    [[nodiscard]] operator plan_workspace() noexcept {
        return {words_, longs_, extents_, buffers_, revivals_, fixed_, pairs_};
    }

private:
    std::vector<std::uint32_t> words_;
    std::vector<std::uint64_t> longs_;
    std::vector<plan_extent> extents_;
    std::vector<plan_buffer> buffers_;
    std::vector<plan_revival> revivals_;
    std::vector<plan_fixed> fixed_;
    std::vector<plan_pair> pairs_;
};

/// A workspace in itself.
template <plan_space Space>
class plan_storage {
public:
    [[nodiscard]] constexpr operator plan_workspace() noexcept {
        return {words_, longs_, extents_, buffers_, revivals_, fixed_, pairs_};
    }

private:
    std::array<std::uint32_t, Space.words> words_{};
    std::array<std::uint64_t, Space.longs> longs_{};
    std::array<plan_extent, Space.extents> extents_{};
    std::array<plan_buffer, Space.buffers> buffers_{};
    std::array<plan_revival, Space.revivals> revivals_{};
    std::array<plan_fixed, Space.fixed> fixed_{};
    std::array<plan_pair, Space.pairs> pairs_{};
};

namespace detail {

/// Sorts `items[0, count)` by `key(item)`, 64 bits, and keeps the order of equal ones; `scratch` has room for as many.
/// By digits of 8 bits from the lowest on, but for those that all have in common: O(n) for each. No comparison that a
/// processor could mispredict, and few enough statements for the limits that compilers set constant expressions.
template <class T, class Key>
constexpr void sort_by(T* items, T* scratch, std::size_t count, Key key) noexcept {
    std::uint64_t some = 0, all = ~std::uint64_t{0};
    for (std::size_t i = 0; i != count; ++i) {
        const std::uint64_t value = key(items[i]);
        some |= value;
        all &= value;
    }
    T *source = items, *target = scratch;
    for (unsigned shift = 0; shift != 64; shift += 8) {
        if ((((some ^ all) >> shift) & 255) == 0) continue;
        std::size_t next[256]{};
        for (std::size_t i = 0; i != count; ++i) ++next[key(source[i]) >> shift & 255];
        for (std::size_t digit = 0, sum = 0; digit != 256; ++digit) {
            sum += next[digit];
            next[digit] = sum - next[digit];
        }
        for (std::size_t i = 0; i != count; ++i) target[next[key(source[i]) >> shift & 255]++] = source[i];
        T* const sorted = target;
        target = source;
        source = sorted;
    }
    if (source != items)
        for (std::size_t i = 0; i != count; ++i) items[i] = source[i];
}

/// A step as an unsigned number, in the same order.
[[nodiscard]] constexpr std::uint64_t ordered(std::int64_t step) noexcept {
    return static_cast<std::uint64_t>(step) ^ (std::uint64_t{1} << 63);
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
