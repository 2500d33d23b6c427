// SPDX-License-Identifier: BSL-1.0
// workspace: the arrays in which the planners work. The caller provides them. The planners allocate no memory.
//
//     allot::plan_heap memory{allot::greedy_space(problem)};                 // on the heap
//     static allot::plan_storage<allot::greedy_space(problem)> memory;   // in static storage, or a constant expression
//     allot::greedy_plan(problem, bound, offsets, memory, effort);
//
//     u32     │ first of 32 bits │ second │ third │ … Each call takes its arrays from the front. A later call needs
//     u64     │ first of 64 bits │ second │ …         none of their contents. One workspace of the largest size
//     extents │ …                                     therefore serves any number of consecutive calls.
//
// Each planning function has a companion that returns the necessary size, such as `bound_space(problem)` for
// `bound_of(problem, …)`. The size depends on the options and on the numbers of buffers, revivals, fixed buffers, pairs
// and reserved ranges, not on sizes and lifetimes. Only `space_of_replan` also depends on the old plan.
//
// When to use: for `plan_into` and the other functions without a heap, in firmware and in constant expressions.
// When not to use: `plan`, `plan_memories` and `replan` create a workspace on the heap themselves.
//
// Complexity: `plan_heap` and `plan_storage` initialize all arrays, in linear time.
// Memory: the sum of the arrays. `plan_heap` allocates up to seven arrays.
// Thread safety: not synchronized. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/detail/algorithms.hpp>
#include <allot/plan/problem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {

/// A range of bytes that a planner has assigned for an interval of steps.
struct plan_extent {
    std::uint64_t begin = 0;   ///< First byte.
    std::uint64_t end = 0;     ///< First byte after the range.
    std::uint32_t from = 0;    ///< First step, as a rank.
    std::uint32_t until = 0;   ///< First step after the interval, as a rank.
    std::uint32_t buffer = 0;  ///< Index of the buffer.
};

/// Size of a workspace: the number of elements of each array.
struct plan_space {
    std::size_t u32 = 0;       ///< Numbers of 32 bits.
    std::size_t u64 = 0;       ///< Numbers of 64 bits.
    std::size_t extents = 0;   ///< Extents.
    std::size_t buffers = 0;   ///< Buffers of a derived problem.
    std::size_t revivals = 0;  ///< Revivals of a derived problem.
    std::size_t fixed = 0;     ///< Fixed buffers of a derived problem.
    std::size_t pairs = 0;     ///< Pairs of a derived problem.

    /// Returns the size that suffices for either of two calls, one after the other.
    friend constexpr plan_space max(plan_space a, plan_space b) noexcept {
        return {detail::larger(a.u32, b.u32),           detail::larger(a.u64, b.u64),
                detail::larger(a.extents, b.extents),   detail::larger(a.buffers, b.buffers),
                detail::larger(a.revivals, b.revivals), detail::larger(a.fixed, b.fixed),
                detail::larger(a.pairs, b.pairs)};
    }
    /// Returns the size that suffices for both uses at the same time.
    friend constexpr plan_space operator+(plan_space a, plan_space b) noexcept {
        return {a.u32 + b.u32,           a.u64 + b.u64,     a.extents + b.extents, a.buffers + b.buffers,
                a.revivals + b.revivals, a.fixed + b.fixed, a.pairs + b.pairs};
    }
    /// Compares all members.
    friend constexpr bool operator==(plan_space, plan_space) = default;
};

/// A view of an array. It has fewer functions than std::span, and is checked by no concept of iterators, so that it
/// takes less time to compile.
template <class T>
class plan_array {
public:
    /// Views no element.
    constexpr plan_array() noexcept = default;
    /// Views `size` elements from `data` on.
    constexpr plan_array(T* data, std::size_t size) noexcept : data_{data}, size_{size} {}
    /// Views all elements of a container that outlives the view, such as std::vector or std::array.
    template <class Container, class From = std::remove_pointer_t<decltype(std::declval<Container&>().data())>>
        requires requires(From (*from)[], T (*to)[]) { to = from; }
    constexpr plan_array(Container& from) noexcept : plan_array{from.data(), from.size()} {}
    /// Views all elements of an array.
    template <std::size_t Count>
    constexpr plan_array(T (&from)[Count]) noexcept : plan_array{from, Count} {}
    /// Views the elements of a std::span.
    template <class From, std::size_t Count>
        requires requires(From (*from)[], T (*to)[]) { to = from; }
    constexpr plan_array(std::span<From, Count> from) noexcept : plan_array{from.data(), from.size()} {}
    /// Views the same elements, as constant ones.
    template <class From>
        requires requires(From (*from)[], T (*to)[]) { to = from; }
    constexpr plan_array(plan_array<From> from) noexcept : plan_array{from.data(), from.size()} {}

    /// Returns a pointer to the first element.
    [[nodiscard]] constexpr T* data() const noexcept { return data_; }
    /// Returns the number of elements.
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
    /// Returns whether there is no element.
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    /// Returns a pointer to the first element.
    [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
    /// Returns a pointer behind the last element.
    [[nodiscard]] constexpr T* end() const noexcept { return data_ + size_; }
    /// Returns an element. Precondition: `index < size()`.
    [[nodiscard]] constexpr T& operator[](std::size_t index) const noexcept { return data_[index]; }
    /// Returns the first `count` elements. Precondition: `count <= size()`.
    [[nodiscard]] constexpr plan_array first(std::size_t count) const noexcept { return {data_, count}; }
    /// Returns the elements from `offset` on. Precondition: `offset <= size()`.
    [[nodiscard]] constexpr plan_array subspan(std::size_t offset) const noexcept {
        return {data_ + offset, size_ - offset};
    }
    /// Returns the elements as a std::span, without its test whether this class is a contiguous range.
    [[nodiscard]] constexpr std::span<T> as_span() const noexcept { return {data_, size_}; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

namespace detail {
/// Removes the first `count` elements from an array and returns them. Precondition: `from.size() >= count`.
template <class T>
[[nodiscard]] constexpr plan_array<T> cut(plan_array<T>& from, std::size_t count) noexcept {
    const plan_array<T> first = from.first(count);
    from = from.subspan(count);
    return first;
}
}  // namespace detail

/// Views of the arrays of a workspace.
struct plan_workspace {
    plan_array<std::uint32_t> u32{};      ///< Numbers of 32 bits.
    plan_array<std::uint64_t> u64{};      ///< Numbers of 64 bits.
    plan_array<plan_extent> extents{};    ///< Extents.
    plan_array<plan_buffer> buffers{};    ///< Buffers of a derived problem.
    plan_array<plan_revival> revivals{};  ///< Revivals of a derived problem.
    plan_array<plan_fixed> fixed{};       ///< Fixed buffers of a derived problem.
    plan_array<plan_pair> pairs{};        ///< Pairs of a derived problem.

    /// Returns whether each array has at least as many elements as `space`.
    [[nodiscard]] constexpr bool holds(plan_space space) const noexcept {
        return u32.size() >= space.u32 && u64.size() >= space.u64 && extents.size() >= space.extents &&
               buffers.size() >= space.buffers && revivals.size() >= space.revivals && fixed.size() >= space.fixed &&
               pairs.size() >= space.pairs;
    }
    /// Removes the first `count` numbers of 32 bits and returns a pointer to them. Precondition: `u32.size() >= count`.
    [[nodiscard]] constexpr std::uint32_t* cut_u32(std::size_t count) noexcept {
        return detail::cut(u32, count).data();
    }
    /// Removes the first `count` numbers of 64 bits and returns a pointer to them. Precondition: `u64.size() >= count`.
    [[nodiscard]] constexpr std::uint64_t* cut_u64(std::size_t count) noexcept {
        return detail::cut(u64, count).data();
    }
};

namespace detail {
/// An array on the heap. It has fewer functions than std::vector, so that it takes less time to compile.
template <class T>
class heap_array {
public:
    explicit heap_array(std::size_t count) : items_{count == 0 ? nullptr : new T[count]{}}, count_{count} {}
    heap_array(heap_array&& other) noexcept
        : items_{std::exchange(other.items_, nullptr)}, count_{std::exchange(other.count_, 0)} {}
    heap_array& operator=(heap_array&& other) noexcept {
        std::swap(items_, other.items_);
        std::swap(count_, other.count_);
        return *this;
    }
    ~heap_array() { delete[] items_; }
    [[nodiscard]] T* data() noexcept { return items_; }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    T* items_;
    std::size_t count_;
};
}  // namespace detail

/// A workspace on the heap. It can be moved, but not copied.
class plan_heap {
public:
    /// Allocates the arrays. Throws the exceptions of the heap, such as `std::bad_alloc`.
    explicit plan_heap(plan_space space)
        : u32_(space.u32),
          u64_(space.u64),
          extents_(space.extents),
          buffers_(space.buffers),
          revivals_(space.revivals),
          fixed_(space.fixed),
          pairs_(space.pairs) {}
    /// Returns views of the arrays.
    [[nodiscard]] operator plan_workspace() noexcept {
        return {u32_, u64_, extents_, buffers_, revivals_, fixed_, pairs_};
    }

private:
    detail::heap_array<std::uint32_t> u32_;
    detail::heap_array<std::uint64_t> u64_;
    detail::heap_array<plan_extent> extents_;
    detail::heap_array<plan_buffer> buffers_;
    detail::heap_array<plan_revival> revivals_;
    detail::heap_array<plan_fixed> fixed_;
    detail::heap_array<plan_pair> pairs_;
};

/// A workspace that contains its arrays, for static storage and constant expressions.
template <plan_space Space>
class plan_storage {
public:
    /// Returns views of the arrays.
    [[nodiscard]] constexpr operator plan_workspace() noexcept {
        return {u32_, u64_, extents_, buffers_, revivals_, fixed_, pairs_};
    }

private:
    std::array<std::uint32_t, Space.u32> u32_{};
    std::array<std::uint64_t, Space.u64> u64_{};
    std::array<plan_extent, Space.extents> extents_{};
    std::array<plan_buffer, Space.buffers> buffers_{};
    std::array<plan_revival, Space.revivals> revivals_{};
    std::array<plan_fixed, Space.fixed> fixed_{};
    std::array<plan_pair, Space.pairs> pairs_{};
};

}  // namespace v1
}  // namespace allot
