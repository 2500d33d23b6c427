// SPDX-License-Identifier: BSL-1.0
// loss_by_value: two lower bounds on the value of the buffers that must stay out of a memory, by the values of bytes.
//
//     load      ┌──┐                 At the section with the highest load, the excess costs the value of the least
//     capacity ─┼──┼──────┬──┬─      valuable bytes there. At sections no two of which share a buffer, the sum of the
//           ┌───┤  │      │  │       excesses costs the least value of a byte anywhere. The larger bound counts.
//
// The value of a byte is an exact fraction. Complexity: O(n log n). Memory: `loss_scratch` of the caller.
// Thread safety: no state.
#pragma once

#include <allot/plan/detail/algorithms.hpp>
#include <allot/plan/detail/section_tree.hpp>

#include <span>

namespace allot {
inline namespace v1 {
namespace detail {

/// Value of a byte, as a fraction.
struct value_per_byte {
    static constexpr std::uint64_t priceless = ~std::uint64_t{0};  // value of a buffer that must not stay out

    std::uint64_t value = priceless, bytes = 1;

    /// Returns whether a byte is worth less than a byte of `other`.
    [[nodiscard]] constexpr bool operator<(value_per_byte other) const noexcept {
        value_per_byte a = *this, b = other;
        for (bool inverted = false;; inverted = !inverted) {
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
        if (checked_multiply(rest, count, product)) return whole + divided_up(product, bytes);
        return whole + rest / (bytes / count + 1);
    }
};

/// Arrays for `loss_by_value`.
struct loss_scratch {
    std::uint64_t* load;   // by section, and one more
    std::uint64_t* first;  // by section: earliest beginning of the buffers that end there or later
    std::uint64_t* over;   // by section: largest sum of excesses of sections up to it
    std::uint32_t* live;   // buffers that live in one section
};

/// Returns the least value of the buffers that must leave the section with this number of bytes above the capacity: the
/// least valuable ones that live there, the last of them in part.
template <class Size, class Value>
[[nodiscard]] constexpr std::uint64_t loss_in_section(const section_tree& where, std::span<const std::uint32_t> list,
                                                      Size size_of, Value value, std::uint32_t section,
                                                      std::uint64_t excess, std::uint32_t* live) noexcept {
    constexpr std::uint64_t priceless = value_per_byte::priceless;
    std::size_t lives = 0;
    for (const std::uint32_t buffer : list)
        if (size_of(buffer) != 0 && where.meets(buffer, section, section + 1)) live[lives++] = buffer;
    const auto worth_of = [&](std::uint32_t i) {
        return value_per_byte{value(i), value(i) == priceless ? 1 : size_of(i)};
    };
    sort(live, lives, [&](std::uint32_t a, std::uint32_t b) { return worth_of(a) < worth_of(b); });
    std::uint64_t lost = 0;
    for (std::size_t k = 0; k != lives && excess != 0 && value(live[k]) != priceless; ++k) {
        const std::uint64_t size = size_of(live[k]);
        lost += size <= excess ? value(live[k]) : worth_of(live[k]).of(excess);
        excess -= smaller(size, excess);
    }
    return lost;
}

/// Returns a lower bound on the value of the buffers of `list` that stay out of the memory. `size_of(buffer)` is the
/// size in bytes. `value(buffer)` may be `value_per_byte::priceless`. Only the sections below `sections` count.
template <class Size, class Value>
[[nodiscard]] constexpr std::uint64_t loss_by_value(const section_tree& where, std::span<const std::uint32_t> list,
                                                    Size size_of, Value value, std::uint64_t capacity,
                                                    std::uint32_t sections, loss_scratch scratch) noexcept {
    constexpr std::uint64_t priceless = value_per_byte::priceless;
    std::uint64_t *const load = scratch.load, *const first = scratch.first, *const over = scratch.over;
    for (std::uint32_t s = 0; s <= sections; ++s) load[s] = 0;
    for (std::uint32_t s = 0; s != sections; ++s) first[s] = s;
    value_per_byte least{};
    for (const std::uint32_t buffer : list) {
        const std::uint64_t size = size_of(buffer);
        if (size == 0) continue;
        std::uint32_t begin = sections, end = 0;
        where.each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            if (from >= sections) return;
            load[from] += size;
            load[until] -= size;  // may wrap; the prefix sums wrap back
            begin = smaller(begin, from);
            end = larger(end, until);
        });
        if (begin == sections) continue;
        first[end - 1] = smaller<std::uint64_t>(first[end - 1], begin);
        if (value(buffer) != priceless) least = smaller(least, value_per_byte{value(buffer), size});
    }
    std::uint32_t peak = 0;
    for (std::uint32_t s = 1; s < sections; ++s) {
        load[s] += load[s - 1];
        if (load[s] > load[peak]) peak = s;
    }
    if (sections == 0 || load[peak] <= capacity || least.value == priceless) return 0;

    for (std::uint32_t s = sections - 1; s-- != 0;) first[s] = smaller(first[s], first[s + 1]);
    for (std::uint32_t s = 0; s != sections; ++s) {
        over[s] = s == 0 ? 0 : over[s - 1];
        if (load[s] > capacity)
            over[s] = larger(over[s], load[s] - capacity + (first[s] == 0 ? 0 : over[first[s] - 1]));
    }
    const std::uint64_t everywhere = least.of(over[sections - 1]);
    return larger(everywhere, loss_in_section(where, list, size_of, value, peak, load[peak] - capacity, scratch.live));
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
