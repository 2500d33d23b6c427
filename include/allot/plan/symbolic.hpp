// SPDX-License-Identifier: BSL-1.0
// symbolic: a plan for sizes that depend on symbols with upper bounds. A memory for the bounds serves all values.
//
//     constexpr allot::plan_symbol batch{0}, length{1};
//     const allot::symbolic_buffer buffers[] = {{.size = {batch, length, 64, 4}, .live = {0, 2}},       // a product
//                                               {.size = {batch, 2 * length + 1, 4}, .live = {1, 3}}};
//     const std::uint64_t bounds[] = {8, 512};                          // of batch and of length
//     auto shapes = allot::plan_symbolic({.buffers = buffers, .bounds = bounds}).value();
//     auto memory = arena.allocate({.size = shapes.peak_at_bounds()});  // once
//     shapes.bind(batch, 3, 0).value();                                 // before step 0: everything is placed anew
//     run_steps(0, 1);                                                  // at shapes.places[0].offset
//     shapes.bind(length, 100, 1).value();                              // after step 0: buffer 0 stays, buffer 1 moves
//     run_steps(1, 3);
//     shapes.reset();                                                   // for the next run: the plan for the bounds
//
//     symbols ──► bind ──► sizes ──► replan_at ──► places               no buffer that lives moves
//
// A size is a sum of products of extents, in bytes: `{batch, length, 4} + {length, 8}`. An extent is a number, or
// `factor · symbol + constant`. Factors and constants are not negative, so a size is largest for the bounds. For other
// expressions, compute the sizes and call `replan_at`.
//
// Each `bind` plans the remaining steps for the known values and for the bounds of the other symbols. The peak never
// rises. The bytes of the memory above `peak` are free for other uses, for example for tensors `anywhere` in the same
// storage.
//
// When to use: for graphs with dynamic shapes, whose symbols become known while buffers live.
// When not to use: all symbols are known before the first step (ranged.hpp plans all values in advance), or sizes have
// no upper bounds (use an arena).
//
// Complexity: that of `replan_at` for each `bind`.
// Memory: about 100 bytes a buffer on the heap. Throws the exceptions of the heap.
// Thread safety: none. Concurrent runs need a copy of the plan each.
#pragma once

#include <allot/plan/replan_at.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <initializer_list>

namespace allot {
inline namespace v1 {

/// A symbol: a number that is known at run time. The index is its position in `symbolic_problem::bounds`.
struct plan_symbol {
    std::size_t index = 0;  ///< Index of the symbol.
};

/// A factor of a size: a number, or a symbol times `factor` plus `constant`.
struct symbolic_extent {
    std::uint64_t constant = 0;  ///< Constant part.
    std::uint64_t factor = 0;    ///< Factor of the symbol; 0 for a number.
    std::size_t symbol = 0;      ///< Index of the symbol.

    /// Creates the extent 0.
    constexpr symbolic_extent() noexcept = default;
    /// Creates an extent that is a number. Precondition: it is not negative.
    constexpr symbolic_extent(std::integral auto number) noexcept : constant{static_cast<std::uint64_t>(number)} {}
    /// Creates an extent that is a symbol.
    constexpr symbolic_extent(plan_symbol of) noexcept : factor{1}, symbol{of.index} {}

    /// Compares all members.
    friend constexpr bool operator==(const symbolic_extent&, const symbolic_extent&) = default;
};

/// Returns a symbol times a number. Precondition: the number is not negative.
[[nodiscard]] constexpr symbolic_extent operator*(std::integral auto number, plan_symbol of) noexcept {
    symbolic_extent made{of};
    made.factor = static_cast<std::uint64_t>(number);
    return made;
}
/// Returns an extent plus a number. Precondition: the number is not negative.
[[nodiscard]] constexpr symbolic_extent operator+(symbolic_extent of, std::integral auto number) noexcept {
    of.constant += static_cast<std::uint64_t>(number);
    return of;
}
/// Returns a symbol plus a number. Precondition: the number is not negative.
[[nodiscard]] constexpr symbolic_extent operator+(plan_symbol of, std::integral auto number) noexcept {
    return symbolic_extent{of} + number;
}

/// A size in bytes: a product of extents, or a sum of such products. It has up to eight extents.
class symbolic_size {
public:
    /// Creates the size 0.
    constexpr symbolic_size() noexcept = default;
    /// Creates a product. A list of more than eight extents makes an invalid size.
    constexpr symbolic_size(std::initializer_list<symbolic_extent> factors) noexcept
        : symbolic_size{product_of({factors.begin(), factors.size()})} {}
    /// Returns the product of a span of extents, like the constructor.
    [[nodiscard]] static constexpr symbolic_size product_of(std::span<const symbolic_extent> factors) noexcept {
        symbolic_size made;
        made.count_ = factors.size();
        if (made.is_valid()) std::copy(factors.begin(), factors.end(), made.extents_.begin());
        return made;
    }
    /// Returns the sum of two sizes, which is invalid if it has more than eight extents.
    [[nodiscard]] friend constexpr symbolic_size operator+(const symbolic_size& a, const symbolic_size& b) noexcept {
        symbolic_size sum = a;
        sum.count_ += b.count_;
        if (!sum.is_valid() || b.count_ == 0) return sum;
        std::copy_n(b.extents_.begin(), b.count_, sum.extents_.begin() + static_cast<std::ptrdiff_t>(a.count_));
        sum.begins_ |= (b.begins_ | (a.count_ == 0 ? 0U : 1U)) << a.count_;
        return sum;
    }
    /// Returns false if the size has more than eight extents.
    [[nodiscard]] constexpr bool is_valid() const noexcept { return count_ <= extents_.size(); }
    /// Returns the extents of all products. Precondition: `is_valid()`.
    [[nodiscard]] constexpr std::span<const symbolic_extent> extents() const noexcept {
        return {extents_.data(), count_};
    }
    /// Returns whether extent `i`, other than the first, begins a product.
    [[nodiscard]] constexpr bool begins_product(std::size_t i) const noexcept { return (begins_ >> i & 1) != 0; }

    /// Computes the number of bytes for the values of all symbols. Returns false if the size is invalid, names a symbol
    /// without a value, or exceeds 64 bits.
    [[nodiscard]] constexpr bool bytes(std::span<const std::uint64_t> values, std::uint64_t& to) const noexcept {
        if (!is_valid()) return false;
        std::uint64_t sum = 0, product = count_ == 0 ? 0 : 1;
        bool is_empty = count_ == 0;
        for (std::size_t i = 0; i != count_; ++i) {
            const symbolic_extent& each = extents_[i];
            if (begins_product(i)) {
                if (!checked_add(sum, is_empty ? 0 : product, sum)) return false;
                product = 1;
                is_empty = false;
            }
            std::uint64_t number = 0;
            if (each.factor != 0 && each.symbol >= values.size()) return false;
            if (!checked_multiply(each.factor, each.factor == 0 ? 0 : values[each.symbol], number) ||
                !checked_add(number, each.constant, number))
                return false;
            is_empty = is_empty || number == 0;
            if (!is_empty && !checked_multiply(product, number, product)) return false;
        }
        return checked_add(sum, is_empty ? 0 : product, to);
    }

    /// Compares the expressions, not their values.
    friend constexpr bool operator==(const symbolic_size&, const symbolic_size&) = default;

private:
    std::array<symbolic_extent, 8> extents_{};
    std::size_t count_ = 0;
    std::uint32_t begins_ = 0;  // bit i: extent i begins a product
};

/// A buffer whose size depends on symbols.
struct symbolic_buffer {
    symbolic_size size{};     ///< Size in bytes.
    lifetime live{};          ///< Steps during which the bytes are in use.
    std::uint64_t align = 1;  ///< Alignment of the offset in bytes, a power of two.
};

/// A planning problem with symbols. All members are views of arrays that must outlive the plan. The constraints are
/// those of `plan_problem`.
struct symbolic_problem {
    std::span<const symbolic_buffer> buffers;   ///< Buffers to place.
    std::span<const std::uint64_t> bounds;      ///< The largest value of each symbol.
    std::span<const plan_revival> revivals{};   ///< Additional lifetimes of buffers.
    std::span<const plan_fixed> fixed{};        ///< Buffers with prescribed offsets.
    std::span<const plan_pair> together{};      ///< Pairs that share one offset.
    std::span<const plan_pair> apart{};         ///< Pairs that share no byte.
    std::span<const plan_reserved> reserved{};  ///< Ranges that no buffer may use.
};

/// A plan that `bind` lowers as symbols become known. `plan_symbolic` creates it.
struct symbolic_plan : memory_plan {
    /// Creates an empty plan.
    symbolic_plan() = default;
    /// Creates the plan for the bounds. `plan_symbolic` calls it.
    symbolic_plan(const symbolic_problem& of, std::vector<plan_buffer> at_bounds, memory_plan made)
        : memory_plan{made}, of_{of}, at_bounds_{std::move(made)}, buffers_{at_bounds}, largest_{std::move(at_bounds)} {
        values_.assign(of.bounds.begin(), of.bounds.end());
    }

    /// Sets the value of a symbol before step `before` runs, and plans the steps from there on. Steps do not decrease
    /// between calls. A symbol can be set again to a smaller value. Fails like `replan_at`, with `above_bound` for a
    /// value above the last one, or with `no_such_buffer` for an unknown symbol; the plan is unchanged then.
    // A template, so that only programs that call it compile the planner.
    template <class Symbol = plan_symbol>
    result<replan_summary, plan_error> bind(std::type_identity_t<Symbol> symbol, std::uint64_t value,
                                            std::int64_t before, const plan_options& options = {});
    /// Returns to the plan for the bounds, for the next run. No buffer lives.
    void reset() {
        static_cast<memory_plan&>(*this) = at_bounds_;
        values_.assign(of_.bounds.begin(), of_.bounds.end());
        buffers_ = largest_;
    }

    /// Returns the peak of the plan for the bounds: a memory of this size serves all values.
    [[nodiscard]] std::uint64_t peak_at_bounds() const noexcept { return at_bounds_.peak; }
    /// Returns the value of each symbol, or its bound if it is not bound.
    [[nodiscard]] std::span<const std::uint64_t> values() const noexcept { return values_; }
    /// Returns the problem for the current values. It views this object and the caller's arrays.
    [[nodiscard]] plan_problem problem() const noexcept { return problem_of(of_, buffers_); }

    /// Returns a problem with these buffers and the constraints of `of`.
    [[nodiscard]] static plan_problem problem_of(const symbolic_problem& of,
                                                 std::span<const plan_buffer> buffers) noexcept {
        return {buffers, of.revivals, of.fixed, of.together, of.apart, of.reserved};
    }

private:
    symbolic_problem of_{};
    memory_plan at_bounds_{};
    std::vector<plan_buffer> buffers_, largest_;
    std::vector<std::uint64_t> values_;
};

template <class Symbol>
result<replan_summary, plan_error> symbolic_plan::bind(std::type_identity_t<Symbol> symbol, std::uint64_t value,
                                                       std::int64_t before, const plan_options& options) {
    using answer = result<replan_summary, plan_error>;
    if (symbol.index >= values_.size()) return answer::failure({plan_refusal::no_such_buffer, symbol.index});
    if (value > values_[symbol.index]) return answer::failure({plan_refusal::above_bound, symbol.index});
    std::vector<std::uint64_t> values = values_;
    values[symbol.index] = value;
    std::vector<plan_buffer> sized = buffers_;
    for (std::size_t i = 0; i != sized.size(); ++i)  // cannot fail: it did not for larger values
        static_cast<void>(of_.buffers[i].size.bytes(values, sized[i].size));
    auto made = replan_at(problem_of(of_, sized), places, before, options);
    if (!made) return answer::failure(made.error());
    const replan_summary summary{*made, made->moved};
    static_cast<memory_plan&>(*this) = std::move(*made);
    values_ = std::move(values);
    buffers_ = std::move(sized);
    return summary;
}

/// Returns a plan for the bounds of all symbols. Fails like `plan`, or with `too_large` for a size that is invalid for
/// the bounds.
template <class Watch = unwatched>
[[nodiscard]] result<symbolic_plan, plan_error> plan_symbolic(const symbolic_problem& of,
                                                              const plan_options& options = {}, Watch watch = {}) {
    using answer = result<symbolic_plan, plan_error>;
    std::vector<plan_buffer> buffers(of.buffers.size());
    for (std::size_t i = 0; i != buffers.size(); ++i) {
        buffers[i] = {0, of.buffers[i].live, of.buffers[i].align};
        if (!of.buffers[i].size.bytes(of.bounds, buffers[i].size)) return answer::failure({plan_refusal::too_large, i});
    }
    auto made = plan(symbolic_plan::problem_of(of, buffers), options, watch);
    if (!made) return answer::failure(made.error());
    return symbolic_plan{of, std::move(buffers), *std::move(made)};
}

#if defined(ALLOT_PLAN_ONCE)
ALLOT_PLAN_ONCE result<replan_summary, plan_error> symbolic_plan::bind<plan_symbol>(plan_symbol, std::uint64_t,
                                                                                    std::int64_t, const plan_options&);
ALLOT_PLAN_ONCE result<symbolic_plan, plan_error> plan_symbolic<unwatched>(const symbolic_problem&, const plan_options&,
                                                                           unwatched);
#endif

}  // namespace v1
}  // namespace allot
