// SPDX-License-Identifier: BSL-1.0
// fill_candidates: the buffers that may be placed in one memory, their values, and the order in which to try them.
//
//     list     ▒▒▒▒ ▒▒▒▒▒ ▒▒ ▒▒▒▒▒▒▒ ▒▒▒▒▒       all candidates, largest first
//     share    value ÷ price of the bytes        by candidate; the order is by share, and noise varies it
//
//     sections ──┬──┬──┬──┬──┬──┬──┬──┬──►       a part to ruin: the sections around a moment in the lifetime of a
//                      └─ part ─┘                candidate that is not placed; only buffers live there are visited
//
// This class does not record the placed buffers; callers pass a predicate. All arithmetic is on integers with a fixed
// seed, so the result is the same on every machine. Complexity: ordering the k candidates of a part takes
// O(k log n). Memory: `space`, 36 bytes a buffer. Thread safety: none.
#pragma once

#include <allot/plan/detail/greedy.hpp>
#include <allot/plan/detail/section_prices.hpp>
#include <allot/plan/detail/separation.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Sections [from, until).
struct section_range {
    std::uint32_t from = 0, until = 0;
};

/// Values by buffer. The value of a mandatory buffer includes `priceless`, which exceeds the sum of all other values.
struct fill_values {
    const std::uint64_t* of = nullptr;
    std::uint64_t priceless = ~std::uint64_t{0};
};

// A template, so that only programs that use it compile it.
template <class = void>
class fill_candidates {
    static constexpr std::uint32_t widest_part = 32;  // sections on either side of a moment
    static constexpr std::uint32_t unlisted = ~std::uint32_t{0};

public:
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

    [[nodiscard]] static constexpr plan_space space(std::size_t buffers) noexcept {
        return {.u32 = 7 * buffers, .u64 = buffers};
    }

    constexpr fill_candidates(const plan_problem& problem, const section_tree& where, const separation& separate,
                              plan_workspace& workspace) noexcept
        : buffers_{problem.buffers}, where_{&where}, separate_{&separate} {
        const std::size_t buffers = problem.buffers.size();
        for (auto* array : {&list_, &order_, &scratch_, &removed_, &share_, &key_, &rank_})
            *array = workspace.cut_u32(buffers);
        fixed_ = workspace.cut_u64(buffers);
        for (std::size_t i = 0; i != buffers; ++i) fixed_[i] = nowhere;
        for (const plan_fixed& fixed : problem.fixed) fixed_[fixed.buffer] = fixed.offset;
    }

    /// Starts with the buffers of `list`, in a memory of this capacity and base alignment.
    constexpr void begin(plan_array<const std::uint32_t> list, fill_values values, std::uint64_t capacity,
                         std::uint64_t align) noexcept {
        values_ = values;
        capacity_ = capacity;
        align_ = widest_ = align;
        count_ = list.size();
        worth_ = 0;
        noise_ = {};
        for (std::size_t i = 0; i != buffers_.size(); ++i) rank_[i] = unlisted;
        for (std::size_t k = 0; k != count_; ++k) {
            list_[k] = list[k];
            worth_ += values.of[list[k]];
            widest_ = larger(widest_, buffers_[list[k]].align);
        }
        // The stable sort makes larger buffers come first where shares are equal.
        sort_by(list_, scratch_, count_, [this](std::uint32_t i) { return ~buffers_[i].size; });
        for (std::size_t k = 0; k != count_; ++k) rank_[list_[k]] = static_cast<std::uint32_t>(k);
    }

    /// Computes the prices, and returns a lower bound on the lost value.
    [[nodiscard]] constexpr std::uint64_t price(prices& price, std::uint64_t effort) noexcept {
        // Mandatory buffers come first. Their bytes have a price for the others like any other bytes.
        constexpr std::uint32_t behind = 1 << 14;
        const auto is_priceless = [this](std::uint32_t i) { return values_.of[i] >= values_.priceless; };
        const auto value = [&](std::uint32_t i) { return values_.of[i] - (is_priceless(i) ? values_.priceless : 0); };
        const std::uint64_t lost = price.run(
            list_, count_, [this](std::uint32_t i) { return where_->least_size(i); }, value, capacity_, where_->count(),
            prices::iterations(300, effort, count_));
        for (const std::uint32_t i : list())
            share_[i] = price.share(i, buffers_[i].size, value(i)) + (is_priceless(i) ? 0 : behind);
        return lost;
    }

    [[nodiscard]] constexpr plan_array<const std::uint32_t> list() const noexcept { return {list_, count_}; }
    [[nodiscard]] constexpr std::size_t count() const noexcept { return count_; }
    /// Sum of the values of all candidates.
    [[nodiscard]] constexpr std::uint64_t worth() const noexcept { return worth_; }
    /// The largest alignment of the candidates and of the memory.
    [[nodiscard]] constexpr std::uint64_t widest() const noexcept { return widest_; }
    [[nodiscard]] constexpr std::uint64_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] constexpr const section_tree& where() const noexcept { return *where_; }

    /// Returns the largest size that the buffer has in any section.
    [[nodiscard]] constexpr std::uint64_t size(std::uint32_t buffer) const noexcept { return buffers_[buffer].size; }
    /// Returns the larger of the alignments of the buffer and of the memory.
    [[nodiscard]] constexpr std::uint64_t align(std::uint32_t buffer) const noexcept {
        return larger(buffers_[buffer].align, align_);
    }
    [[nodiscard]] constexpr std::uint64_t value(std::uint32_t buffer) const noexcept { return values_.of[buffer]; }
    [[nodiscard]] constexpr std::uint64_t fixed(std::uint32_t buffer) const noexcept { return fixed_[buffer]; }
    [[nodiscard]] constexpr bool is_fixed(std::uint32_t buffer) const noexcept { return fixed_[buffer] != nowhere; }

    /// Returns the buffers that must be in another memory than `buffer`.
    [[nodiscard]] constexpr plan_array<const std::uint32_t> separate_from(std::uint32_t buffer) const noexcept {
        return separate_->of(buffer);
    }
    /// Returns whether `buffer` must be in another memory than a buffer with `these[buffer] == 1`.
    [[nodiscard]] constexpr bool is_barred(std::uint32_t buffer, const std::uint32_t* these) const noexcept {
        return separate_->any(buffer, [&](std::uint32_t other) { return these[other] != 0; });
    }

    [[nodiscard]] constexpr section_range everywhere() const noexcept { return {0, where_->count()}; }
    [[nodiscard]] constexpr section_range sections_of(std::uint32_t buffer) const noexcept {
        section_range all{~std::uint32_t{0}, 0};
        widen(all, buffer);
        return all;
    }
    constexpr void widen(section_range& all, std::uint32_t buffer) const noexcept {
        where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            all.from = smaller(all.from, from);
            all.until = larger(all.until, until);
        });
    }

    /// Returns the candidates that live in these sections and satisfy `is_out`, largest share first. Valid until the
    /// next call of `in_order` or `as_listed`.
    template <class IsOut>
    [[nodiscard]] constexpr plan_array<const std::uint32_t> in_order(section_range where, unsigned noise_bits,
                                                                     IsOut is_out) noexcept {
        std::size_t found = 0;
        const auto put = [&](std::uint32_t buffer) {
            if (rank_[buffer] == unlisted || is_out(buffer)) return;
            key_[buffer] = share_[buffer] + (noise_bits == 0 ? 0 : noise_(noise_bits));
            order_[found++] = buffer;
        };
        if (where.from == 0 && where.until == where_->count())
            for (const std::uint32_t buffer : list()) put(buffer);
        else where_->each_living(where.from, where.until, put);
        sort(order_, found, [this](std::uint32_t i) { return std::uint64_t{key_[i]}; });
        return {order_, found};
    }
    /// Returns the buffers that live in these sections and satisfy `is_wanted`, in the order of the list.
    template <class IsWanted>
    [[nodiscard]] constexpr plan_array<const std::uint32_t> as_listed(section_range where,
                                                                      IsWanted is_wanted) noexcept {
        std::size_t found = 0;
        where_->each_living(where.from, where.until, [&](std::uint32_t i) {
            if (is_wanted(i)) order_[found++] = i;
        });
        sort(order_, found, [this](std::uint32_t i) { return std::uint64_t{rank_[i]}; });
        return {order_, found};
    }
    template <class Key>
    constexpr void sort(std::uint32_t* these, std::size_t count, Key key) noexcept {
        sort_by(these, scratch_, count, key);
    }
    /// Scratch array of one element a buffer for the caller that ruins a part.
    [[nodiscard]] constexpr std::uint32_t* removed() noexcept { return removed_; }

    /// The sections around a random moment in the first lifetime of a random candidate that is out; `any` is false if
    /// there is no such candidate.
    struct part {
        section_range where;
        std::uint32_t wanted;
        bool any;
    };
    template <class IsOut>
    [[nodiscard]] constexpr part some_part(IsOut is_out) noexcept {
        const auto count = static_cast<std::uint32_t>(count_);
        const std::uint32_t start = below(count);
        for (std::uint32_t k = 0; k != count; ++k) {
            const std::uint32_t buffer = list_[(start + k) % count];
            if (!is_out(buffer)) continue;
            const lifetime span = where_->first_span(buffer);
            const auto first = static_cast<std::uint32_t>(span.from), last = static_cast<std::uint32_t>(span.until);
            const std::uint32_t moment = first + below(last - first),
                                width = below(1 + smaller(where_->count() / 8, widest_part));
            return {{moment - smaller(moment, width), smaller(moment + width + 1, where_->count())}, buffer, true};
        }
        return {{0, 0}, 0, false};
    }

    /// Returns a random number below the limit.
    [[nodiscard]] constexpr std::uint32_t below(std::uint32_t limit) noexcept { return noise_.below(limit); }
    [[nodiscard]] constexpr bool coin() noexcept { return noise_(1) != 0; }

private:
    std::span<const plan_buffer> buffers_;
    const section_tree* where_;
    const separation* separate_;
    fill_values values_{};
    std::uint64_t capacity_ = 0, align_ = 1, widest_ = 1, worth_ = 0;
    std::size_t count_ = 0;
    std::uint32_t *list_ = nullptr, *order_ = nullptr, *scratch_ = nullptr, *removed_ = nullptr;
    std::uint32_t *share_ = nullptr, *key_ = nullptr;  // by buffer: value ÷ price; with noise
    std::uint32_t* rank_ = nullptr;                    // by buffer: index in the list
    std::uint64_t* fixed_ = nullptr;                   // by buffer
    noise noise_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
