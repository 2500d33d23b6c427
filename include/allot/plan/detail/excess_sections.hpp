// SPDX-License-Identifier: BSL-1.0
// excess_sections: the sections whose load exceeds a capacity, and the buffers that live there.
//
//     load         ┌──┐                  The load is that of all buffers of a list. Sections within the capacity permit
//     capacity ────┼──┼──┬──┬──          every choice of buffers, and are left out. The others are numbered anew, and
//             ┌────┤  │  │  ├──          the spans of buffers refer to the new numbers.
//     excess       0     1
//
// Buffers are listed in the order of their beginnings, larger ones first. A position is an index of that list.
//
// Complexity: O(n log n + sections), and O(buffers²) for twins. Memory: `space`, 32 bytes a buffer and 44 a span.
// Thread safety: none.
#pragma once

#include <allot/plan/detail/section_prices.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class excess_sections {
public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    [[nodiscard]] static constexpr std::size_t most_spans(const plan_problem& problem) noexcept {
        return most_lives(problem) + 2 * problem.apart.size();
    }
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size(), spans = most_spans(problem);
        return {.u32 = 4 * buffers + 8 * spans + 1, .u64 = 2 * buffers + spans};
    }

    constexpr excess_sections(const section_tree& where, const plan_problem& problem,
                              plan_workspace& workspace) noexcept
        : where_{&where} {
        const std::size_t buffers = problem.buffers.size(), spans = most_spans(problem);
        for (auto* array : {&order_, &twin_, &first_, &last_}) *array = workspace.cut_u32(buffers);
        for (auto* array : {&of_span_, &from_, &until_, &begins_, &ends_, &scratch_, &priced_})
            *array = workspace.cut_u32(spans);
        before_ = workspace.cut_u32(spans + 1);
        size_ = workspace.cut_u64(buffers);
        value_ = workspace.cut_u64(buffers);
        excess_ = workspace.cut_u64(spans);
    }

    /// Lists the buffers of `list` that live in sections with an excess. `size_of(buffer)` is the size in bytes.
    /// `value(buffer)` may be `prices::priceless`. Only the sections below `sections` count.
    template <class Size, class Value>
    constexpr void read(plan_array<const std::uint32_t> list, Size size_of, Value value, std::uint64_t capacity,
                        std::uint32_t sections) noexcept {
        number(list, size_of, capacity, sections);
        buffers_ = spans_ = 0;
        granule_ = 0;
        for (const std::uint32_t i : list)
            if (size_of(i) != 0 && range(i, sections).from != none) order_[buffers_++] = i;
        sort_by(order_, first_, buffers_, [&](std::uint32_t i) { return ~size_of(i); });
        sort_by(order_, first_, buffers_, [&](std::uint32_t i) { return std::uint64_t{range(i, sections).from}; });
        for (std::uint32_t k = 0; k != buffers_; ++k) {
            const reach all = range(order_[k], sections);
            first_[k] = all.from;
            last_[k] = all.until;
            size_[k] = size_of(order_[k]);
            value_[k] = value(order_[k]);
            if (value_[k] != prices::priceless) granule_ = common_divisor(granule_, value_[k]);
            each_excess(order_[k], sections, [&](std::uint32_t from, std::uint32_t until) {
                of_span_[spans_] = k;
                from_[spans_] = from;
                until_[spans_] = until;
                begins_[spans_] = ends_[spans_] = spans_;
                ++spans_;
            });
            twin_[k] = none;
            for (std::uint32_t j = k; all.spans == 1 && j-- != 0 && twin_[k] == none;)
                if (size_[j] == size_[k] && last_[j] == last_[k] && range(order_[j], sections).spans == 1) twin_[k] = j;
        }
        sort_by(begins_, scratch_, spans_, [&](std::uint32_t span) { return std::uint64_t{from_[span]}; });
        sort_by(ends_, scratch_, spans_, [&](std::uint32_t span) { return std::uint64_t{until_[span]}; });
    }

    /// Number of sections with an excess.
    [[nodiscard]] constexpr std::uint32_t count() const noexcept { return sections_; }
    [[nodiscard]] constexpr std::uint64_t excess(std::uint32_t section) const noexcept { return excess_[section]; }
    /// Returns the number that a section had before sections were left out.
    [[nodiscard]] constexpr std::uint32_t original(std::uint32_t section) const noexcept { return priced_[section]; }
    /// Number of buffers.
    [[nodiscard]] constexpr std::uint32_t buffers() const noexcept { return buffers_; }
    [[nodiscard]] constexpr std::uint32_t buffer(std::uint32_t position) const noexcept { return order_[position]; }
    [[nodiscard]] constexpr std::uint64_t size(std::uint32_t position) const noexcept { return size_[position]; }
    [[nodiscard]] constexpr std::uint64_t value(std::uint32_t position) const noexcept { return value_[position]; }
    /// Returns the first section of a buffer.
    [[nodiscard]] constexpr std::uint32_t first(std::uint32_t position) const noexcept { return first_[position]; }
    /// Returns the section after the last one of a buffer.
    [[nodiscard]] constexpr std::uint32_t last(std::uint32_t position) const noexcept { return last_[position]; }
    /// Returns an earlier position of a buffer of the same size that ends with this one, or `none`.
    [[nodiscard]] constexpr std::uint32_t twin(std::uint32_t position) const noexcept { return twin_[position]; }
    /// Greatest common divisor of the values; 0 if all are priceless.
    [[nodiscard]] constexpr std::uint64_t granule() const noexcept { return granule_; }

    /// Calls `visit(position, from, until)` for each span, in ascending order of positions.
    template <class Visit>
    constexpr void each_span(Visit visit) const noexcept {
        for (std::uint32_t at = 0; at != spans_; ++at) visit(of_span_[at], from_[at], until_[at]);
    }
    /// Calls `visit(position)` for each span that begins in `section`. `next` is 0 before the first section.
    template <class Visit>
    constexpr void each_beginning(std::uint32_t section, std::size_t& next, Visit visit) const noexcept {
        for (; next != spans_ && from_[begins_[next]] == section; ++next) visit(of_span_[begins_[next]]);
    }
    /// Calls `visit(position)` for each span that ends before `section`. `next` is 0 before the first section.
    template <class Visit>
    constexpr void each_end(std::uint32_t section, std::size_t& next, Visit visit) const noexcept {
        for (; next != spans_ && until_[ends_[next]] == section; ++next) visit(of_span_[ends_[next]]);
    }

private:
    struct reach {
        std::uint32_t from = none, until = 0, spans = 0;
    };

    /// Computes the load in each section, and numbers the sections with an excess.
    template <class Size>
    constexpr void number(plan_array<const std::uint32_t> list, Size size_of, std::uint64_t capacity,
                          std::uint32_t sections) noexcept {
        std::uint64_t* const load = excess_;
        for (std::uint32_t s = 0; s != sections; ++s) load[s] = 0;
        for (const std::uint32_t i : list)
            where_->each_span(i, [&](std::uint32_t from, std::uint32_t until) {
                if (from >= sections || from == until) return;
                load[from] += size_of(i);
                if (until != sections) load[until] -= size_of(i);  // may wrap; the prefix sums wrap back
            });
        before_[0] = 0;
        std::uint64_t sum = 0;
        for (std::uint32_t s = 0; s != sections; ++s) {
            sum += load[s];
            before_[s + 1] = before_[s] + (sum > capacity ? 1 : 0);
            if (sum <= capacity) continue;
            excess_[before_[s]] = sum - capacity;  // overwrites no load that is still to be read
            priced_[before_[s]] = s;
        }
        sections_ = before_[sections];
    }
    /// Calls `visit(from, until)` for each range of sections with an excess.
    template <class Visit>
    constexpr void each_excess(std::uint32_t buffer, std::uint32_t sections, Visit visit) const noexcept {
        where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            if (from < sections && before_[from] != before_[until]) visit(before_[from], before_[until]);
        });
    }
    [[nodiscard]] constexpr reach range(std::uint32_t buffer, std::uint32_t sections) const noexcept {
        reach all;
        each_excess(buffer, sections, [&](std::uint32_t from, std::uint32_t until) {
            all.from = smaller(all.from, from);
            all.until = larger(all.until, until);
            ++all.spans;
        });
        return all;
    }

    const section_tree* where_;
    std::uint64_t granule_ = 0;
    std::uint32_t buffers_ = 0, spans_ = 0, sections_ = 0;
    std::uint32_t *order_ = nullptr, *twin_ = nullptr, *first_ = nullptr, *last_ = nullptr;       // by position
    std::uint32_t *of_span_ = nullptr, *from_ = nullptr, *until_ = nullptr, *scratch_ = nullptr;  // by span
    std::uint32_t *begins_ = nullptr, *ends_ = nullptr;  // spans in order of their beginnings and of their ends
    std::uint32_t* before_ = nullptr;                    // by original section: number of earlier ones with an excess
    std::uint32_t* priced_ = nullptr;                    // by section: original number
    std::uint64_t *size_ = nullptr, *value_ = nullptr;   // by position
    std::uint64_t* excess_ = nullptr;                    // by section
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
