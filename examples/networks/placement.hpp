// placement: gives each tensor a memory and an offset, before anything runs. What stands here is a simple greedy, behind
// the interface that a real planner takes over: `plan(requests, spaces)`.
//
// Memories are given in order of preference, fast ones first. Two kinds:
//     row == 0     contiguous: a tensor has one offset. The lowest gap among the tensors it lives together with, or the
//                  smallest gap, whichever order and rule ends best.
//     row  > 0     in rows: a tensor needs as many free rows as hold it, wherever they are. Which ones is the row
//                  allocator's business when it runs, so only their number is planned.
//
// `first_mistake` is written apart from the planner and checks every plan: in capacity, aligned, and no byte shared by
// two tensors that live at the same time. O(n²) in the number of tensors, a few times over.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
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

[[nodiscard]] inline bool together(const request& a, const request& b) { return a.first <= b.last && b.first <= a.last; }
[[nodiscard]] inline std::size_t rows_of(std::size_t size, std::size_t row) { return size / row + (size % row != 0); }

/// One pass of the greedy, in a given order of the tensors.
class greedy {
public:
    greedy(std::span<const request> wanted, std::span<const space> spaces) : wanted_{wanted}, spaces_{spaces} {}

    /// Empty when a tensor fits nowhere.
    [[nodiscard]] std::optional<placement> run(std::vector<std::size_t> order, bool smallest_gap) {
        placement made{std::vector<place>(wanted_.size()), std::vector<std::size_t>(spaces_.size(), 0)};
        for (std::size_t s = 0; s != spaces_.size(); ++s) {
            std::vector<std::size_t> left_over, placed, rows;
            for (const std::size_t t : order) {
                std::optional<std::size_t> at;
                if (wanted_[t].align <= spaces_[s].align)
                    at = spaces_[s].row != 0 ? in_rows(rows, wanted_[t], spaces_[s])
                                             : in_gap(placed, made.places, wanted_[t], spaces_[s], smallest_gap);
                if (at) {
                    made.places[t] = {s, *at};
                    placed.push_back(t);
                    if (spaces_[s].row == 0) made.peaks[s] = std::max(made.peaks[s], *at + wanted_[t].size);
                } else {
                    left_over.push_back(t);
                }
            }
            if (!rows.empty()) made.peaks[s] = *std::max_element(rows.begin(), rows.end()) * spaces_[s].row;
            order = std::move(left_over);
        }
        if (!order.empty()) return {};
        return made;
    }

private:
    /// `rows` is how many are taken in each step. Gives 0 when there are enough in every step of the life.
    [[nodiscard]] std::optional<std::size_t> in_rows(std::vector<std::size_t>& rows, const request& t,
                                                     const space& in) const {
        const std::size_t need = rows_of(t.size, in.row), all = in.capacity / in.row;
        if (rows.size() <= t.last) rows.resize(t.last + 1, 0);
        for (std::size_t now = t.first; now <= t.last; ++now) {
            if (need > all - rows[now]) return {};
        }
        for (std::size_t now = t.first; now <= t.last; ++now) rows[now] += need;
        return 0;
    }

    [[nodiscard]] std::optional<std::size_t> in_gap(const std::vector<std::size_t>& placed,
                                                    const std::vector<place>& places, const request& t, const space& in,
                                                    bool smallest) const {
        std::vector<std::size_t> beside;
        for (const std::size_t other : placed) {
            if (wanted_[other].size != 0 && together(wanted_[other], t)) beside.push_back(other);
        }
        std::sort(beside.begin(), beside.end(),
                  [&](std::size_t a, std::size_t b) { return places[a].offset < places[b].offset; });
        std::optional<std::size_t> best;
        std::size_t best_gap = std::numeric_limits<std::size_t>::max(), low = 0;
        const auto offer = [&](std::size_t high) {
            const std::size_t at = (low + (t.align - 1)) / t.align * t.align;
            if (at > high || t.size > high - at || high - low >= best_gap) return false;
            best = at;
            best_gap = high - low;
            return !smallest;
        };
        for (const std::size_t other : beside) {
            if (offer(places[other].offset)) return best;
            low = std::max(low, places[other].offset + wanted_[other].size);
        }
        if (!best) offer(in.capacity);  // on top only when no gap will do
        return best;
    }

    std::span<const request> wanted_;
    std::span<const space> spaces_;
};

}  // namespace detail

/// A place for every request; empty when one fits in none of the spaces.
/// Best is the plan with the fewest bytes outside the first space, and among those the one that uses the fewest bytes.
[[nodiscard]] inline std::optional<placement> plan(std::span<const request> wanted, std::span<const space> spaces) {
    const auto life = [](const request& t) { return t.last - t.first + 1; };
    const auto by = [&](auto key) {
        std::vector<std::size_t> order(wanted.size());
        for (std::size_t t = 0; t != order.size(); ++t) order[t] = t;
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return key(wanted[a]) > key(wanted[b]); });
        return order;
    };
    const std::vector<std::size_t> orders[] = {
        by([](const request& t) { return t.size; }),
        by([&](const request& t) { return static_cast<double>(t.size) * static_cast<double>(life(t)); }),
        by([&](const request& t) { return life(t); }),
        by([&](const request& t) { return static_cast<double>(t.size) / static_cast<double>(life(t)); }),
        by([](const request& t) { return std::numeric_limits<std::size_t>::max() - t.size; }),
        by([](const request& t) { return std::numeric_limits<std::size_t>::max() - t.first; }),
    };
    std::optional<placement> best;
    std::pair<std::size_t, std::size_t> best_cost;
    for (const auto& order : orders) {
        for (const bool smallest_gap : {false, true}) {
            auto made = detail::greedy{wanted, spaces}.run(order, smallest_gap);
            if (!made) continue;
            std::pair<std::size_t, std::size_t> cost{0, 0};
            for (std::size_t t = 0; t != wanted.size(); ++t) {
                if (made->places[t].memory != 0) cost.first += wanted[t].size;
            }
            for (const std::size_t peak : made->peaks) cost.second += peak;
            if (best && cost >= best_cost) continue;
            best = std::move(made);
            best_cost = cost;
        }
    }
    return best;
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
