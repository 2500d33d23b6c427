// placement: gives each tensor a memory and an offset, before anything runs. What stands here is a simple greedy,
// behind the interface that a real planner takes over: `plan(requests, spaces)`.
//
// Memories are given in order of preference, fast ones first. Two kinds:
//     row == 0     contiguous: a tensor has one offset, in the lowest gap among the tensors that it lives together
//                  with, or in the smallest one; whichever rule, and order of the tensors, ends best
//     row  > 0     in rows: a tensor needs as many free rows as hold it, wherever they are. Which ones is the row
//                  allocator's business when it runs, so that only their number is planned
//
// `first_mistake` is written apart from the planner and checks every plan: in capacity, aligned, and no byte shared by
// two tensors that live at the same time. Complexity: O(n² log n) in the number of tensors, for each of some orders.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace demo {

struct request {
    std::size_t size = 0, align = 1;
    std::size_t first = 0, last = 0;  // steps of its life, both included
};

struct space {
    std::size_t capacity = std::numeric_limits<std::size_t>::max();
    std::size_t align = 1;  // what its base is a multiple of
    std::size_t row = 0;    // bytes of a row, or 0 for contiguous memory
};

struct place {
    std::size_t memory = 0;  // index into the spaces
    std::size_t offset = 0;  // nothing in a memory of rows
};

struct placement {
    std::vector<place> places;       // of each request
    std::vector<std::size_t> peaks;  // of each space, the bytes it is used up to
};

namespace detail {

/// What one memory takes of some tensors, and what it leaves over.
struct filling {
    std::vector<place> places;  // of every request; those in `left_over` have none yet
    std::vector<std::size_t> left_over;
    std::size_t left_bytes = 0, peak = 0;
};

/// As many rows as a tensor needs in every step of its life, for as long as there are any.
[[nodiscard]] inline filling fill_rows(std::span<const request> wanted, const std::vector<std::size_t>& order,
                                       const space& in) {
    filling made{std::vector<place>(wanted.size()), {}};
    std::vector<std::size_t> taken;  // rows, by step
    for (const std::size_t t : order) {
        const request& mine = wanted[t];
        const std::size_t need = mine.size / in.row + (mine.size % in.row != 0), all = in.capacity / in.row;
        if (taken.size() <= mine.last) taken.resize(mine.last + 1, 0);
        const auto first = taken.begin() + static_cast<std::ptrdiff_t>(mine.first);
        const auto end = taken.begin() + static_cast<std::ptrdiff_t>(mine.last) + 1;
        if (mine.align > in.align || need > all || *std::max_element(first, end) > all - need) {
            made.left_over.push_back(t);
            continue;
        }
        std::for_each(first, end, [&](std::size_t& rows) { made.peak = std::max(made.peak, (rows += need) * in.row); });
    }
    return made;
}

/// The lowest gap that fits among those placed before that live at the same time; or the smallest one.
[[nodiscard]] inline std::optional<std::size_t> find_gap(std::span<const request> wanted, std::size_t t,
                                                         const std::vector<std::size_t>& placed,
                                                         const std::vector<place>& places, const space& in,
                                                         bool smallest) {
    const request& mine = wanted[t];
    std::vector<std::size_t> beside;
    for (const std::size_t u : placed) {
        if (wanted[u].size != 0 && wanted[u].first <= mine.last && mine.first <= wanted[u].last) beside.push_back(u);
    }
    std::sort(beside.begin(), beside.end(),
              [&](std::size_t a, std::size_t b) { return places[a].offset < places[b].offset; });
    std::optional<std::size_t> best;
    std::size_t best_gap = 0, low = 0;
    const auto consider = [&](std::size_t high) {
        const std::size_t at = (low + (mine.align - 1)) / mine.align * mine.align;
        if (at > high || mine.size > high - at || (best && (!smallest || high - low >= best_gap))) return;
        best = at;
        best_gap = high - low;
    };
    for (const std::size_t u : beside) {
        consider(places[u].offset);
        low = std::max(low, places[u].offset + wanted[u].size);
    }
    if (!best) consider(in.capacity);  // above all of them only when no gap will do
    return best;
}

[[nodiscard]] inline filling fill_gaps(std::span<const request> wanted, const std::vector<std::size_t>& order,
                                       const space& in, bool smallest) {
    filling made{std::vector<place>(wanted.size()), {}};
    std::vector<std::size_t> placed;
    for (const std::size_t t : order) {
        const auto at = wanted[t].align <= in.align ? find_gap(wanted, t, placed, made.places, in, smallest)
                                                    : std::optional<std::size_t>{};
        if (!at) {
            made.left_over.push_back(t);
            continue;
        }
        made.places[t].offset = *at;
        made.peak = std::max(made.peak, *at + wanted[t].size);
        placed.push_back(t);
    }
    return made;
}

/// The orders that are tried: the program's, and large, long-lived, large and long, and so on first.
[[nodiscard]] inline std::vector<std::vector<std::size_t>> orders_of(std::span<const request> wanted,
                                                                     const std::vector<std::size_t>& tensors) {
    const auto size = [&](std::size_t t) { return static_cast<double>(wanted[t].size); };
    const auto life = [&](std::size_t t) { return static_cast<double>(wanted[t].last - wanted[t].first + 1); };
    std::vector<std::vector<std::size_t>> orders;
    const auto most_first = [&](auto key) {
        orders.push_back(tensors);
        std::stable_sort(orders.back().begin(), orders.back().end(),
                         [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
    };
    most_first([&](std::size_t t) { return -static_cast<double>(wanted[t].first); });
    most_first([&](std::size_t t) { return size(t); });
    most_first([&](std::size_t t) { return -size(t); });
    most_first([&](std::size_t t) { return life(t); });
    most_first([&](std::size_t t) { return -life(t); });
    most_first([&](std::size_t t) { return size(t) * life(t); });
    most_first([&](std::size_t t) { return size(t) / life(t); });
    return orders;
}

}  // namespace detail

/// A place for every request; empty when one fits in none of the spaces. Each space in turn takes what leaves the
/// fewest bytes to those behind it, and then what uses the fewest bytes of it.
[[nodiscard]] inline std::optional<placement> plan(std::span<const request> wanted, std::span<const space> spaces) {
    placement made{std::vector<place>(wanted.size()), std::vector<std::size_t>(spaces.size(), 0)};
    std::vector<std::size_t> left(wanted.size());
    for (std::size_t t = 0; t != left.size(); ++t) left[t] = t;
    for (std::size_t s = 0; s != spaces.size() && !left.empty(); ++s) {
        std::optional<detail::filling> best;
        const auto keep_better = [&](detail::filling next) {
            for (const std::size_t t : next.left_over) next.left_bytes += wanted[t].size;
            if (!best || std::pair{next.left_bytes, next.peak} < std::pair{best->left_bytes, best->peak})
                best = std::move(next);
        };
        for (const auto& order : detail::orders_of(wanted, left)) {
            if (spaces[s].row != 0) {
                keep_better(detail::fill_rows(wanted, order, spaces[s]));
            } else {
                keep_better(detail::fill_gaps(wanted, order, spaces[s], false));
                keep_better(detail::fill_gaps(wanted, order, spaces[s], true));
            }
        }
        for (const std::size_t t : left) made.places[t] = {s, best->places[t].offset};
        made.peaks[s] = best->peak;
        left = std::move(best->left_over);
    }
    return left.empty() ? std::optional{std::move(made)} : std::nullopt;
}

/// What is wrong with a plan, in one sentence; empty when nothing is.
[[nodiscard]] inline std::string first_mistake(std::span<const request> wanted, std::span<const space> spaces,
                                               const placement& made) {
    const auto name = [](std::size_t t) { return "tensor " + std::to_string(t); };
    if (made.places.size() != wanted.size()) return "the plan is not of these tensors";
    for (std::size_t t = 0; t != wanted.size(); ++t) {
        const request& mine = wanted[t];
        const place at = made.places[t];
        if (mine.size == 0) continue;
        if (at.memory >= spaces.size()) return name(t) + " has no memory";
        const space& in = spaces[at.memory];
        if (in.row != 0) continue;
        if (mine.align > in.align || at.offset % mine.align != 0) return name(t) + " is not aligned";
        if (at.offset > in.capacity || mine.size > in.capacity - at.offset) return name(t) + " ends outside its memory";
        for (std::size_t u = 0; u != t; ++u) {
            const request& other = wanted[u];
            if (made.places[u].memory != at.memory || other.last < mine.first || mine.last < other.first) continue;
            const std::size_t low = std::max(at.offset, made.places[u].offset);
            const std::size_t high = std::min(at.offset + mine.size, made.places[u].offset + other.size);
            if (low < high) return name(u) + " and " + name(t) + " share bytes while both live";
        }
    }
    for (std::size_t s = 0; s != spaces.size(); ++s) {
        if (spaces[s].row == 0) continue;
        for (const request& moment : wanted) {  // the number of live rows is largest in a step where a life begins
            std::size_t rows = 0;
            for (std::size_t t = 0; t != wanted.size(); ++t) {
                if (made.places[t].memory == s && wanted[t].first <= moment.first && moment.first <= wanted[t].last)
                    rows += (wanted[t].size + spaces[s].row - 1) / spaces[s].row;
            }
            if (rows > spaces[s].capacity / spaces[s].row)
                return "more rows than there are live in step " + std::to_string(moment.first);
        }
    }
    return {};
}

}  // namespace demo
