// SPDX-License-Identifier: BSL-1.0
// symbolic_problem: the input and the result of `plan_symbolic`: sizes that depend on symbols, and a plan that `bind`
// lowers.
//
//     constexpr allot::plan_symbol batch{0}, length{1};
//     const allot::symbolic_buffer buffers[] = {{.size = {batch, length, 64, 4}, .live = {0, 2}},
//                                               {.size = {batch, 2 * length + 1, 4}, .live = {1, 3}}};
//     const std::uint64_t bounds[] = {8, 512};                         // the largest values of batch and of length
//     const allot::symbolic_problem problem{.buffers = buffers, .bounds = bounds};
//
// When to use: as the input of `plan_symbolic`. symbolic.hpp describes sizes and symbols.
// When not to use: all sizes are known. Use `plan_problem`.
//
// Complexity: `symbolic_size::bytes` is linear in the number of extents.
// Memory: about 220 bytes a buffer. The arrays of a problem belong to the caller. A plan stores its places on the heap.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/plan/check.hpp>
#include <allot/plan/memory_plan.hpp>
#include <allot/plan/options.hpp>

#include <array>
#include <concepts>
#include <initializer_list>
#include <type_traits>
#include <utility>

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
        for (std::size_t i = 0; made.is_valid() && i != factors.size(); ++i) made.extents_[i] = factors[i];
        return made;
    }
    /// Returns the sum of two sizes, which is invalid if it has more than eight extents.
    [[nodiscard]] friend constexpr symbolic_size operator+(const symbolic_size& a, const symbolic_size& b) noexcept {
        symbolic_size sum = a;
        sum.count_ += b.count_;
        if (!sum.is_valid() || b.count_ == 0) return sum;
        for (std::size_t i = 0; i != b.count_; ++i) sum.extents_[a.count_ + i] = b.extents_[i];
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
// Some members are templates, so that only programs that call them compile them and the planner.
struct symbolic_plan : memory_plan {
    /// Creates an empty plan.
    symbolic_plan() = default;
    /// Creates the plan for the bounds. `plan_symbolic` calls it.
    template <std::same_as<symbolic_problem> Problem>
    symbolic_plan(const Problem& of, std::vector<plan_buffer> at_bounds, memory_plan made)
        : memory_plan{made}, of_{of}, at_bounds_{std::move(made)}, buffers_{at_bounds}, largest_{std::move(at_bounds)} {
        values_.assign(of.bounds.begin(), of.bounds.end());
    }

    /// Sets the value of a symbol before step `before` runs, and plans the steps from there on. Steps do not decrease
    /// between calls. A symbol can be set again to a smaller value. Fails like `replan_at`, with `above_bound` for a
    /// value above the last one, or with `no_such_buffer` for an unknown symbol; the plan is unchanged then.
    template <class Symbol = plan_symbol>
    result<replan_summary, plan_error> bind(std::type_identity_t<Symbol> symbol, std::uint64_t value,
                                            std::int64_t before, const plan_options& options = {});
    /// Returns to the plan for the bounds, for the next run. No buffer lives.
    template <class Symbol = plan_symbol>
    void reset() {
        static_cast<memory_plan&>(*this) = at_bounds_;
        values_.assign(of_.bounds.begin(), of_.bounds.end());
        buffers_ = largest_;
    }

    /// Returns the peak of the plan for the bounds: a memory of this size serves all values.
    [[nodiscard]] std::uint64_t peak_at_bounds() const noexcept { return at_bounds_.peak; }
    /// Returns the value of each symbol, or its bound if it is not bound.
    [[nodiscard]] std::span<const std::uint64_t> values() const noexcept { return {values_.data(), values_.size()}; }
    /// Returns the problem for the current values. It views this object and the caller's arrays.
    [[nodiscard]] plan_problem problem() const noexcept { return problem_of(of_, {buffers_.data(), buffers_.size()}); }

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

}  // namespace v1
}  // namespace allot
