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
// The best such bound is kept with its prices, and so is the bound of `loss_by_value`. `run` finds prices by
// subgradients, and `run_flow` the best ones of one row by `section_flow`.
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

#include <allot/plan/detail/loss_by_value.hpp>
#include <allot/plan/detail/section_flow.hpp>
#include <allot/plan/detail/section_tree.hpp>

#include <array>
#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// Prices by section, for one capacity and one list of buffers at a time.
class prices {
    static constexpr unsigned fraction = 10;       // fractional bits of a price
    static constexpr std::size_t rows_of_few = 4;  // rows if there are not too many sections

public:
    static constexpr std::uint64_t priceless = value_per_byte::priceless;

    /// Returns the largest number of rows for that many sections.
    [[nodiscard]] static constexpr std::size_t most_rows(std::size_t sections) noexcept {
        return sections <= 4096 ? rows_of_few : 1;
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
    /// Returns the workspace of a flow, which needs an effort.
    [[nodiscard]] static constexpr plan_space flow_space(const plan_problem& problem, std::uint64_t effort) noexcept {
        return effort == 0 ? plan_space{} : section_flow<>::space(most_lives(problem), most_lives(problem));
    }

    /// Computes the prices for `count` buffers of `list` in the sections below `sections`. Returns a lower bound on the
    /// value that must be lost. `size_of(buffer)` is the size in bytes. `value(buffer)` may be `priceless`. Uses at
    /// most `rows` rows.
    template <class Size, class Value>
    [[nodiscard]] constexpr std::uint64_t run(const std::uint32_t* list, std::size_t count, Size size_of, Value value,
                                              std::uint64_t capacity, std::uint32_t sections, std::size_t iterations,
                                              std::size_t rows = 1) noexcept {
        const std::uint64_t simple = begin(list, count, size_of, value, capacity, sections, rows);
        if (const std::uint64_t highest = highest_excess(); highest != 0) {
            std::uint64_t step = first_step(list, count, size_of, value);
            for (std::size_t i = 1; i < iterations; ++i) {
                for (std::size_t row = 0; row != rows_; ++row) change_prices(row, highest, step);
                step -= step / (iterations / 7 + 1);
                try_prices(list, count, size_of, value);
            }
        }
        sum_up(best_);
        return larger(unscaled(best_bound_), simple);
    }
    /// The same with the prices of `section_flow`, which has about `operations` operations. No other prices of one row
    /// have a higher bound. Returns 0 if the operations do not suffice, or if there are sections of pairs. Then no
    /// section has a price.
    template <class Size, class Value>
    [[nodiscard]] constexpr std::uint64_t run_flow(const std::uint32_t* list, std::size_t count, Size size_of,
                                                   Value value, std::uint64_t capacity, std::uint32_t sections,
                                                   std::uint64_t operations, plan_workspace scratch) noexcept {
        const std::uint64_t simple = begin(list, count, size_of, value, capacity, sections, 1);
        if (highest_excess() == 0) return simple;
        if (sections > where_->of_time() || !price_by_flow(list, count, size_of, value, operations, scratch)) return 0;
        try_prices(list, count, size_of, value);
        sum_up(best_);
        return larger(unscaled(best_bound_), simple);
    }

    // ---- the best prices, scaled -----------------------------------------------------------------------------------

    [[nodiscard]] constexpr std::size_t rows() const noexcept { return rows_; }
    /// Returns the size that counts in a row.
    [[nodiscard]] constexpr std::uint64_t scaled_size(std::size_t row, std::uint64_t size) const noexcept {
        return row == 0 ? size >> size_shift_ : size / part_[row] * unit_[row];
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

    /// Returns the highest scaled bound whose value is at most `value`.
    [[nodiscard]] constexpr std::uint64_t highest(std::uint64_t value) const noexcept {
        const bool is_coarse = value_shift_ >= 0;
        const unsigned shift = is_coarse ? fraction : fraction + static_cast<unsigned>(-value_shift_);
        const std::uint64_t whole = is_coarse ? value >> value_shift_ : value;
        if (whole > ~std::uint64_t{0} >> shift) return ~std::uint64_t{0};
        return whole << shift | (is_coarse ? (std::uint64_t{1} << shift) - 1 : 0);
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
    /// Begins without prices, and returns a bound without them.
    template <class Size, class Value>
    [[nodiscard]] constexpr std::uint64_t begin(const std::uint32_t* list, std::size_t count, Size size_of, Value value,
                                                std::uint64_t capacity, std::uint32_t sections,
                                                std::size_t rows) noexcept {
        sections_ = sections;
        rows_ = smaller(rows, most_rows_);
        capacity_ = capacity;
        best_bound_ = 0;
        const std::uint64_t simple =
            loss_by_value(*where_, {list, count}, size_of, value, capacity, sections_, {load_, sum_, price_, live_});
        for (std::size_t s = 0; s != rows_ * sections_; ++s) price_[s] = best_[s] = 0;
        scale(list, count, size_of, value);
        try_prices(list, count, size_of, value);
        return simple;
    }
    /// Returns the largest excess of a section without prices. Precondition: `begin` was the last call.
    [[nodiscard]] constexpr std::uint64_t highest_excess() noexcept {
        std::uint64_t highest = 0;
        for (std::uint32_t s = 0; s != sections_; ++s)
            highest = larger(highest, load(0, s) > room(0) ? load(0, s) - room(0) : 0);
        return highest;
    }
    /// Computes the loads at the current prices, and keeps these if their bound is the highest.
    template <class Size, class Value>
    constexpr void try_prices(const std::uint32_t* list, std::size_t count, Size size_of, Value value) noexcept {
        const std::size_t sums = rows_ * (std::size_t{sections_} + 1);
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
        if (counts && bound > all && bound - all > best_bound_) {
            best_bound_ = bound - all;
            for (std::size_t s = 0; s != rows_ * sections_; ++s) best_[s] = price_[s];
        }
        for (std::size_t row = 0; row != rows_; ++row)
            for (std::uint32_t s = 1; s < sections_; ++s) load(row, s) += load(row, s - 1);
    }

    /// Computes the prices of the first row by a flow. Returns whether the operations suffice.
    template <class Size, class Value>
    [[nodiscard]] constexpr bool price_by_flow(const std::uint32_t* list, std::size_t count, Size size_of, Value value,
                                               std::uint64_t operations, plan_workspace scratch) noexcept {
        std::uint64_t highest = 0;
        std::size_t spans = 0;
        const auto each_arc = [&](auto visit) {
            for (std::size_t k = 0; k != count; ++k) {
                const std::uint64_t size = scaled_size(0, size_of(list[k])), worth = value(list[k]);
                const auto each_span = [&](auto span) {
                    where_->each_span(list[k], [&](std::uint32_t from, std::uint32_t until) {
                        if (size != 0 && from != until && from < sections_) span(from, until);
                    });
                };
                std::uint64_t length = 0;
                each_span([&](std::uint32_t from, std::uint32_t until) { length += until - from; });
                each_span([&](std::uint32_t from, std::uint32_t until) {
                    // A buffer with several spans divides its value among them.
                    const std::uint64_t gain = worth == priceless ? 0 : scaled(worth) / size / length * (until - from);
                    visit(from, until, size, gain, worth == priceless);
                });
            }
        };
        each_arc([&](std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t gain, bool) {
            highest = larger(highest, gain);
            ++spans;
        });
        constexpr std::uint64_t least_visits = 256;  // of each arc
        if (operations / least_visits < spans + sections_) return false;
        // A priceless buffer gains more than any path without one.
        const std::uint64_t dearest = smaller((highest + 1) * (std::uint64_t{sections_} + 1), highest_price());
        section_flow<> flow{sections_, spans, scratch};
        each_arc([&](std::uint32_t from, std::uint32_t until, std::uint64_t size, std::uint64_t gain, bool is_dear) {
            flow.add(from, until, size, is_dear ? dearest : gain);
        });
        if (!flow.run(room(0), operations)) return false;
        for (std::uint32_t s = 0; s != sections_; ++s) price_[s] = flow.price(s);
        return true;
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
        for (std::size_t row = 1; row < rows_; ++row) {
            part_[row] = capacity_ / (row + 1) + 1;
            unit_[row] = (capacity_ >> size_shift_) / row;
        }
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
    /// The same as `checked_multiply`, without its division for small numbers.
    [[nodiscard]] static constexpr bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t& product) noexcept {
        if ((a | b) >> 32 != 0) return checked_multiply(a, b, product);
        product = a * b;
        return true;
    }
    /// Computes the price of a buffer in all rows. Returns whether it fits 64 bits.
    [[nodiscard]] constexpr bool price_of(std::uint32_t buffer, std::uint64_t size, std::uint64_t& sum) const noexcept {
        sum = 0;
        for (std::size_t row = 0; row != rows_; ++row) {
            std::uint64_t paid = 0;
            const std::uint64_t bytes = scaled_size(row, size);
            if (bytes == 0) continue;
            if (!multiply(bytes, price_of_byte(row, buffer), paid) || !checked_add(sum, paid, sum)) return false;
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
    const section_tree* where_;
    std::uint32_t* live_ = nullptr;  // buffers that live in one section
    std::uint64_t *price_ = nullptr, *best_ = nullptr, *load_ = nullptr, *sum_ = nullptr;
    std::uint64_t best_bound_ = 0, capacity_ = 0;
    std::size_t most_rows_ = 1, rows_ = 1;
    // By row: a part of the capacity, and the size in the row of a buffer that is a little larger than this part.
    std::array<std::uint64_t, rows_of_few> part_{}, unit_{};
    std::uint32_t sections_ = 0;
    unsigned size_shift_ = 0;
    int value_shift_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
