// SPDX-License-Identifier: BSL-1.0
// section_prices: Lagrangian prices of a memory's bytes in each section of time, and a lower bound on the lost value.
//
//     load      ┌──┐                 A section whose load exceeds the capacity gets a higher price, and a section with
//     capacity ─┼──┼───┬──┬─         room to spare a lower one. A buffer whose value is below the price of its bytes
//           ┌───┤  │   │  │          stays out. The prices converge to those that keep the load at the capacity.
//     price  0    3  0  1
//
// For any prices, no choice of buffers loses less value than
//     the sum over all buffers of min(value, price of its bytes), minus the price of the capacity.
// The best such bound is kept with its prices. Two bounds without prices are kept as well. The first considers the
// section with the highest load: the excess, at the least valuable bytes there. The second considers sections no two of
// which share a buffer: the sum of their excesses, at the least value of a byte anywhere.
//
// Further rows strengthen the bound. In row r, a size counts as the number of times that it contains a byte more than
// the (r + 1)th part of the capacity: at most one buffer above a half fits, at most two above a third, and so on. Each
// row has its own prices.
//
// All arithmetic uses integers. They are scaled such that no sum exceeds 64 bits, and rounded such that the bound
// remains valid.
// Source: Lagrangian relaxation by subgradients, Held, Wolfe and Crowder, Mathematical Programming 6, 1974.
// Complexity: O(n log n), and O(buffers + sections) an iteration and row. Memory: `space`, 32 bytes a section and row,
// and 4 a buffer. Not synchronized.
#pragma once

#include <allot/plan/detail/section_tree.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// Prices by section, for one capacity and one list of buffers at a time.
class prices {
    static constexpr unsigned fraction = 10;  // fractional bits of a price

public:
    static constexpr std::uint64_t priceless = ~std::uint64_t{0};  // value of a buffer that must not stay out

    /// Returns the largest number of rows for that many sections.
    [[nodiscard]] static constexpr std::size_t most_rows(std::size_t sections) noexcept {
        return sections <= 4096 ? 4 : 1;
    }
    [[nodiscard]] static constexpr plan_space space(std::size_t sections, std::size_t buffers) noexcept {
        return {buffers, most_rows(sections) * (4 * sections + 2), 0};
    }

    constexpr prices(const section_tree& where, std::size_t most_sections, std::size_t buffers,
                     plan_workspace& workspace) noexcept
        : where_{&where}, live_{workspace.cut_u32(buffers)} {
        most_rows_ = most_rows(most_sections);
        price_ = workspace.cut_u64(most_rows_ * most_sections);
        best_ = workspace.cut_u64(most_rows_ * most_sections);
        load_ = workspace.cut_u64(most_rows_ * (most_sections + 1));
        sum_ = workspace.cut_u64(most_rows_ * (most_sections + 1));
    }

    /// Returns a number of iterations of at most `most` that is proportionate to `effort` placements of `buffers`.
    [[nodiscard]] static constexpr std::size_t iterations(std::size_t most, std::uint64_t effort,
                                                          std::size_t buffers) noexcept {
        return static_cast<std::size_t>(smaller<std::uint64_t>(most, 30 + effort / (buffers / 4 + 1)));
    }

    /// Computes the prices for `count` buffers of `list` in the sections below `sections`. Returns a lower bound on the
    /// value that must be lost. `size_of(buffer)` is the size in bytes. `value(buffer)` may be `priceless`. Uses at
    /// most `rows` rows.
    template <class Size, class Value>
    [[nodiscard]] constexpr std::uint64_t run(const std::uint32_t* list, std::size_t count, Size size_of, Value value,
                                              std::uint64_t capacity, std::uint32_t sections, std::size_t iterations,
                                              std::size_t rows = 1) noexcept {
        sections_ = sections;
        rows_ = smaller(rows, most_rows_);
        capacity_ = capacity;
        const std::uint64_t simple = without_prices(list, count, size_of, value, capacity);
        const std::size_t all_prices = rows_ * sections, sums = rows_ * (std::size_t{sections} + 1);
        for (std::size_t s = 0; s != all_prices; ++s) price_[s] = best_[s] = 0;
        scale(list, count, size_of, value);
        std::uint64_t most = 0, step = 0;
        std::uint64_t highest = 0;  // overload
        for (std::size_t i = 0; i != iterations; ++i) {
            sum_up(price_);
            std::uint64_t bound = 0;
            bool counts = true;
            for (std::size_t s = 0; s != sums; ++s) load_[s] = 0;
            for (std::size_t k = 0; k != count; ++k) {
                const std::uint32_t buffer = list[k];
                const std::uint64_t size = size_of(buffer), worth = value(buffer);
                std::uint64_t paid = 0;
                const bool is_finite = price_of(buffer, size, paid);
                const bool in = worth == priceless || (is_finite && paid <= scaled(worth));
                counts = (is_finite || !in) && counts;
                counts = checked_add(bound, in ? paid : scaled(worth), bound) && counts;
                if (in) add_loads(buffer, size);
            }
            std::uint64_t all = 0;
            counts = price_of_capacity(all) && counts;
            if (counts && bound > all && bound - all > most) {
                most = bound - all;
                for (std::size_t s = 0; s != all_prices; ++s) best_[s] = price_[s];
            }
            for (std::size_t row = 0; row != rows_; ++row)
                for (std::uint32_t s = 1; s < sections; ++s) load(row, s) += load(row, s - 1);
            if (i == 0) {
                for (std::uint32_t s = 0; s != sections; ++s)
                    highest = larger(highest, load(0, s) > room(0) ? load(0, s) - room(0) : 0);
                if (highest == 0) break;
                step = first_step(list, count, size_of, value);
            }
            for (std::size_t row = 0; row != rows_; ++row) change_prices(row, highest, step);
            step -= step / (iterations / 7 + 1);
        }
        sum_up(best_);
        best_bound_ = most;
        return larger(unscaled(most), simple);
    }

    // ---- the best prices, scaled -----------------------------------------------------------------------------------

    [[nodiscard]] constexpr std::size_t rows() const noexcept { return rows_; }
    /// Returns the size that counts in a row.
    [[nodiscard]] constexpr std::uint64_t scaled_size(std::size_t row, std::uint64_t size) const noexcept {
        return row == 0 ? size >> size_shift_ : size / part(row) * unit(row);
    }
    /// Returns the largest sum of sizes in a row.
    [[nodiscard]] constexpr std::uint64_t room(std::size_t row) const noexcept { return scaled_size(row, capacity_); }
    /// Returns the bound of the best prices.
    [[nodiscard]] constexpr std::uint64_t best() const noexcept { return best_bound_; }
    [[nodiscard]] constexpr std::uint64_t of_section(std::size_t row, std::uint32_t section) const noexcept {
        return best_[row * sections_ + section];
    }
    /// Computes the price of a buffer in one section. Returns whether it fits 64 bits.
    [[nodiscard]] constexpr bool price_in(std::uint32_t section, std::uint64_t size,
                                          std::uint64_t& sum) const noexcept {
        sum = 0;
        for (std::size_t row = 0; row != rows_; ++row) {
            std::uint64_t paid = 0;
            if (!checked_multiply(scaled_size(row, size), of_section(row, section), paid) ||
                !checked_add(sum, paid, sum))
                return false;
        }
        return true;
    }
    /// How much the bound of the best prices rises if a buffer is in the memory, and if it is not.
    struct reduced_cost {
        std::uint64_t in, out;
    };
    [[nodiscard]] constexpr reduced_cost reduced(std::uint32_t buffer, std::uint64_t size,
                                                 std::uint64_t value) const noexcept {
        std::uint64_t paid = 0;
        if (!price_of(buffer, size, paid)) paid = ~std::uint64_t{0};
        if (value == priceless) return {0, 0};
        const std::uint64_t worth = scaled(value), least = smaller(paid, worth);
        return {paid - least, worth - least};
    }
    [[nodiscard]] constexpr std::uint64_t scaled(std::uint64_t value) const noexcept {
        return (value_shift_ < 0 ? value << -value_shift_ : value >> value_shift_) << fraction;
    }
    /// Returns the value of a scaled bound.
    [[nodiscard]] constexpr std::uint64_t unscaled(std::uint64_t bound) const noexcept {
        if (value_shift_ >= 0) return (bound >> fraction) << value_shift_;
        const unsigned shift = fraction + static_cast<unsigned>(-value_shift_);
        // Rounds up, because a loss is an integer.
        return (bound >> shift) + ((bound & ((std::uint64_t{1} << shift) - 1)) != 0 ? 1 : 0);
    }

    /// Returns the price of a buffer's bytes in 1024ths of its value, at most 4096.
    [[nodiscard]] constexpr std::uint32_t share(std::uint32_t buffer, std::uint64_t size,
                                                std::uint64_t value) const noexcept {
        size >>= size_shift_;
        const std::uint64_t price = price_of_byte(0, buffer);
        const std::uint64_t worth = size == 0 ? ~std::uint64_t{0} : scaled(value) / size;
        return static_cast<std::uint32_t>(smaller<std::uint64_t>(4096, price / (worth / 1024 + 1)));
    }

private:
    /// Value per byte, as a fraction.
    struct share_of_value {
        std::uint64_t value = priceless, bytes = 1;

        /// Returns whether a byte is worth less than a byte of `other`.
        [[nodiscard]] constexpr bool operator<(share_of_value other) const noexcept {
            share_of_value a = *this, b = other;
            for (bool inverted = false;; inverted = !inverted) {  // compares continued fractions
                const std::uint64_t one = a.value / a.bytes, another = b.value / b.bytes;
                if (one != another) return (one < another) != inverted;
                a = {a.bytes, a.value % a.bytes};
                b = {b.bytes, b.value % b.bytes};
                if (a.bytes == 0 || b.bytes == 0) return a.bytes != b.bytes && (inverted ? b.bytes : a.bytes) == 0;
            }
        }
        /// Returns a lower bound on the value of `count` such bytes, rounded up because a loss is an integer.
        [[nodiscard]] constexpr std::uint64_t of(std::uint64_t count) const noexcept {
            const std::uint64_t whole = value / bytes * count, rest = value % bytes;
            std::uint64_t product = 0;
            if (checked_multiply(rest, count, product)) return whole + product / bytes + (product % bytes != 0 ? 1 : 0);
            return whole + rest / (bytes / count + 1);
        }
    };

    /// Returns the better one of the two bounds without prices.
    template <class Size, class Value>
    [[nodiscard]] constexpr std::uint64_t without_prices(const std::uint32_t* list, std::size_t count, Size size_of,
                                                         Value value, std::uint64_t capacity) noexcept {
        for (std::uint32_t s = 0; s <= sections_; ++s) load_[s] = 0;
        std::uint64_t* const first = sum_;  // by section: earliest beginning of the buffers that end there or later
        for (std::uint32_t s = 0; s != sections_; ++s) first[s] = s;
        share_of_value least{};
        for (std::size_t k = 0; k != count; ++k) {
            const std::uint32_t buffer = list[k];
            const std::uint64_t size = size_of(buffer);
            if (size == 0) continue;
            std::uint32_t begin = sections_, end = 0;
            where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
                if (from >= sections_) return;
                load_[from] += size;
                load_[until] -= size;  // may wrap; the prefix sums wrap back
                begin = smaller(begin, from);
                end = larger(end, until);
            });
            if (begin == sections_) continue;
            first[end - 1] = smaller<std::uint64_t>(first[end - 1], begin);
            if (value(buffer) != priceless) least = smaller(least, share_of_value{value(buffer), size});
        }
        std::uint32_t peak = 0;
        for (std::uint32_t s = 1; s < sections_; ++s) {
            load_[s] += load_[s - 1];
            if (load_[s] > load_[peak]) peak = s;
        }
        if (sections_ == 0 || load_[peak] <= capacity || least.value == priceless) return 0;

        std::uint64_t* const over = price_;  // by section: largest sum of excesses of sections up to it
        for (std::uint32_t s = sections_ - 1; s-- != 0;) first[s] = smaller(first[s], first[s + 1]);
        for (std::uint32_t s = 0; s != sections_; ++s) {
            over[s] = s == 0 ? 0 : over[s - 1];
            if (load_[s] > capacity)
                over[s] = larger(over[s], load_[s] - capacity + (first[s] == 0 ? 0 : over[first[s] - 1]));
        }
        const std::uint64_t everywhere = least.of(over[sections_ - 1]);

        std::size_t lives = 0;
        for (std::size_t k = 0; k != count; ++k)
            if (size_of(list[k]) != 0 && where_->meets(list[k], peak, peak + 1)) live_[lives++] = list[k];
        const auto worth_of = [&](std::uint32_t i) {
            return share_of_value{value(i), value(i) == priceless ? 1 : size_of(i)};
        };
        sort(live_, lives, [&](std::uint32_t a, std::uint32_t b) { return worth_of(a) < worth_of(b); });
        std::uint64_t lost = 0, more = load_[peak] - capacity;
        for (std::size_t k = 0; k != lives && more != 0 && value(live_[k]) != priceless; ++k) {
            const std::uint64_t size = size_of(live_[k]);
            lost += size <= more ? value(live_[k]) : worth_of(live_[k]).of(more);
            more -= smaller(size, more);
        }
        return larger(everywhere, lost);
    }

    template <class Size, class Value>
    constexpr void scale(const std::uint32_t* list, std::size_t count, Size size_of, Value value) noexcept {
        std::uint64_t size = 1, worth = 1;
        for (std::size_t k = 0; k != count; ++k) {
            size = larger(size, size_of(list[k]));
            if (value(list[k]) != priceless) worth = larger(worth, value(list[k]));
        }
        const auto width = [](std::uint64_t most) { return static_cast<int>(std::bit_width(most)); };
        const int bits = width(count);
        size_shift_ = static_cast<unsigned>(larger(width(size) + bits - 31, 0));
        value_shift_ = width(worth) + bits - 32;
    }
    [[nodiscard]] constexpr std::uint64_t highest_price() const noexcept {
        return (std::uint64_t{1} << 62) / (std::uint64_t{sections_} + 1);
    }
    /// Returns half of the price at which a buffer of average value and length is not worth its bytes.
    template <class Size, class Value>
    [[nodiscard]] constexpr std::uint64_t first_step(const std::uint32_t* list, std::size_t count, Size size_of,
                                                     Value value) const noexcept {
        std::uint64_t worth = 0, length = 0;
        for (std::size_t k = 0; k != count; ++k) {
            if (value(list[k]) != priceless)
                worth += scaled(value(list[k])) / larger<std::uint64_t>(size_of(list[k]) >> size_shift_, 1) / count;
            where_->each_span(list[k], [&](std::uint32_t from, std::uint32_t until) { length += until - from; });
        }
        return smaller(worth / (length / count + 1), std::uint64_t{1} << 42) / 2 + 1;
    }
    constexpr void sum_up(const std::uint64_t* price) noexcept {
        for (std::size_t row = 0; row != rows_; ++row) {
            std::uint64_t* const sum = sum_ + row * (std::size_t{sections_} + 1);
            sum[0] = 0;
            for (std::uint32_t s = 0; s != sections_; ++s) sum[s + 1] = sum[s] + price[row * sections_ + s];
        }
    }
    [[nodiscard]] constexpr std::uint64_t price_of_byte(std::size_t row, std::uint32_t buffer) const noexcept {
        const std::uint64_t* const sum = sum_ + row * (std::size_t{sections_} + 1);
        std::uint64_t price = 0;
        where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            if (from < sections_) price += sum[until] - sum[from];
        });
        return price;
    }
    /// Computes the price of a buffer in all rows. Returns whether it fits 64 bits.
    [[nodiscard]] constexpr bool price_of(std::uint32_t buffer, std::uint64_t size, std::uint64_t& sum) const noexcept {
        sum = 0;
        for (std::size_t row = 0; row != rows_; ++row) {
            std::uint64_t paid = 0;
            const std::uint64_t bytes = scaled_size(row, size);
            if (bytes == 0) continue;
            if (!checked_multiply(bytes, price_of_byte(row, buffer), paid) || !checked_add(sum, paid, sum))
                return false;
        }
        return true;
    }
    [[nodiscard]] constexpr bool price_of_capacity(std::uint64_t& sum) const noexcept {
        sum = 0;
        for (std::size_t row = 0; row != rows_; ++row) {
            std::uint64_t paid = 0;
            const std::uint64_t all = sum_[row * (std::size_t{sections_} + 1) + sections_];
            if (!checked_multiply(room(row), all, paid) || !checked_add(sum, paid, sum)) return false;
        }
        return true;
    }
    [[nodiscard]] constexpr std::uint64_t& load(std::size_t row, std::uint32_t section) noexcept {
        return load_[row * (std::size_t{sections_} + 1) + section];
    }
    constexpr void add_loads(std::uint32_t buffer, std::uint64_t size) noexcept {
        for (std::size_t row = 0; row != rows_; ++row)
            if (const std::uint64_t bytes = scaled_size(row, size); bytes != 0)
                where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
                    if (from >= sections_) return;
                    load(row, from) += bytes;
                    load(row, until) -= bytes;  // may wrap; the prefix sums wrap back
                });
    }
    /// Raises the prices of sections above the capacity, and lowers the others. `highest`: largest excess of row 0.
    constexpr void change_prices(std::size_t row, std::uint64_t highest, std::uint64_t step) noexcept {
        const std::uint64_t most = room(row);
        for (std::uint32_t s = 0; s != sections_; ++s) {
            std::uint64_t& price = price_[row * sections_ + s];
            const bool over = load(row, s) > most;
            const std::uint64_t off = smaller(over ? load(row, s) - most : most - load(row, s), highest);
            const std::uint64_t change = ((off << 20) / highest * step) >> 20;
            price = over ? smaller(price + change, highest_price()) : price - smaller(change, price);
        }
    }
    [[nodiscard]] constexpr std::uint64_t part(std::size_t row) const noexcept { return capacity_ / (row + 1) + 1; }
    /// Returns the size in a row of a buffer that is a little larger than a part.
    [[nodiscard]] constexpr std::uint64_t unit(std::size_t row) const noexcept {
        return (capacity_ >> size_shift_) / row;
    }

    const section_tree* where_;
    std::uint32_t* live_ = nullptr;  // buffers that live in one section
    std::uint64_t *price_ = nullptr, *best_ = nullptr, *load_ = nullptr, *sum_ = nullptr;
    std::uint64_t best_bound_ = 0, capacity_ = 0;
    std::size_t most_rows_ = 1, rows_ = 1;
    std::uint32_t sections_ = 0;
    unsigned size_shift_ = 0;
    int value_shift_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
