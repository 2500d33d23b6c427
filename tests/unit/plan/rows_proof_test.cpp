// All claims of plans with divided buffers, compared with the enumeration of all plans, for small random problems. The
// enumeration shares only the types of a problem with the planner.
//
// A problem has 1 to 4 buffers of at most 6 bytes, 6 steps and 1 to 3 memories. Most buffers have rows. A third of the
// problems have alignments, a quarter revivals, a quarter fixed buffers, and some have pairs of each kind.
//
// ALLOT_LONG=1 runs ten times as many problems.
#include <allot/plan/rows.hpp>
#include <allot/plan/validate_rows.hpp>

#include "problem_text.hpp"
#include "problems.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

using allot::plan_status;

constexpr std::uint64_t unlimited = allot::plan_memory{}.capacity;
constexpr std::uint64_t steps = 6;

struct owner {
    problems::owner buffers{};
    std::vector<allot::plan_memory> memories{};
    std::vector<std::uint64_t> uses{}, allowed{}, rows{};
    std::vector<allot::plan_pair> separate{};

    [[nodiscard]] allot::rows_problem problem() const {
        return {{.buffers = buffers, .memories = memories, .uses = uses, .allowed = allowed, .separate = separate},
                rows};
    }
};

/// The text of the memories and buffers, and then the rows by buffer.
std::string text(const owner& given) {
    std::string made = problems::text(given.problem().memories) + "rows";
    for (const std::uint64_t each : given.rows) made += ' ' + std::to_string(each);
    return made;
}

/// Enumerates the divisions of all buffers among the memories, and the offsets of all parts.
class every_plan {
public:
    explicit every_plan(const owner& given) : given_{given}, all_{given.buffers.buffers} {
        for (std::size_t i = 0; i != all_.size(); ++i) {
            const auto mark = [&](allot::lifetime live) {
                for (std::int64_t t = live.from; t != live.until; ++t) lives_[i] |= 1u << t;
            };
            mark(all_[i].live);
            for (const auto& each : given.buffers.revivals)
                if (each.buffer == i) mark(each.live);
            stays_[i] = given.rows[i] < 2;
        }
        for (const auto& each : given.buffers.fixed) {
            stays_[each.buffer] = true;
            fixed_[each.buffer] = each.offset;
        }
        for (const auto* pairs : {&given.buffers.together, &given.buffers.apart, &given.separate})
            for (const auto& [a, b] : *pairs) stays_[a] = stays_[b] = true;
    }

    /// Returns the least cost, or nullopt if no plan exists.
    [[nodiscard]] std::optional<std::uint64_t> least() {
        divide(0, 0);
        return least_;
    }

private:
    using sizes = std::array<std::uint64_t, 4>;  // of the parts in one memory; ~0: none

    static constexpr std::uint64_t none = ~std::uint64_t{0};

    void divide(std::size_t i, std::uint64_t cost) {
        if (least_ && cost >= *least_) return;
        if (i == all_.size()) {
            for (const auto& [a, b] : given_.separate)
                for (std::size_t m = 0; m != given_.memories.size(); ++m)
                    if (part_[m][a] != none && part_[m][b] != none && all_[a].size != 0 && all_[b].size != 0) return;
            for (const auto& [a, b] : given_.buffers.together)
                for (std::size_t m = 0; m != given_.memories.size(); ++m)
                    if ((part_[m][a] == none) != (part_[m][b] == none)) return;
            for (std::size_t m = 0; m != given_.memories.size(); ++m)
                if (!packs(m)) return;
            least_ = cost;
            return;
        }
        const std::uint64_t rows = stays_[i] ? 1 : given_.rows[i], bytes = all_[i].size / rows;
        for (std::size_t m = 0; m != given_.memories.size(); ++m) {
            if ((given_.allowed[i] >> m & 1) == 0) continue;
            const auto price = [&](std::size_t at, std::uint64_t size) {
                return size * given_.uses[i] * given_.memories[at].cost;
            };
            part_[m][i] = all_[i].size;
            divide(i + 1, cost + price(m, all_[i].size));
            for (std::size_t other = m + 1; other != given_.memories.size(); ++other) {
                if ((given_.allowed[i] >> other & 1) == 0) continue;
                for (std::uint64_t k = 1; k < rows; ++k) {
                    part_[m][i] = k * bytes;
                    part_[other][i] = all_[i].size - k * bytes;
                    divide(i + 1, cost + price(m, part_[m][i]) + price(other, part_[other][i]));
                }
                part_[other][i] = none;
            }
            part_[m][i] = none;
        }
    }
    [[nodiscard]] bool packs(std::size_t m) {
        const auto [found, is_new] = known_[m].try_emplace(part_[m], false);
        if (is_new) found->second = place(m, 0);
        return found->second;
    }
    [[nodiscard]] bool place(std::size_t m, std::size_t i) {
        if (i == all_.size()) return true;
        if (part_[m][i] == none) return place(m, i + 1);
        const std::uint64_t align = std::max(all_[i].align, given_.memories[m].align);
        // Without a capacity, all parts fit one above the other, and above all fixed offsets.
        const std::uint64_t end = std::min<std::uint64_t>(given_.memories[m].capacity, 80);
        for (std::uint64_t offset = 0; offset + part_[m][i] <= end || part_[m][i] == 0; offset += align) {
            if (offset > 80) break;
            if (fixed_[i] && *fixed_[i] != offset) continue;
            offset_[i] = offset;
            bool fits = true;
            for (std::size_t j = 0; j != i; ++j) fits = fits && (part_[m][j] == none || agree(m, i, j));
            if (fits && place(m, i + 1)) return true;
        }
        return false;
    }
    [[nodiscard]] bool agree(std::size_t m, std::size_t i, std::size_t j) const {
        const auto is = [&](const std::vector<allot::plan_pair>& pairs) {
            for (const auto& [a, b] : pairs)
                if ((a == i && b == j) || (a == j && b == i)) return true;
            return false;
        };
        if (is(given_.buffers.together)) return offset_[i] == offset_[j];
        if ((lives_[i] & lives_[j]) == 0 && !is(given_.buffers.apart)) return true;
        return part_[m][i] == 0 || part_[m][j] == 0 || offset_[i] + part_[m][i] <= offset_[j] ||
               offset_[j] + part_[m][j] <= offset_[i];
    }

    const owner& given_;
    const std::vector<allot::plan_buffer>& all_;
    std::array<unsigned, 4> lives_{};
    std::array<bool, 4> stays_{};
    std::array<std::optional<std::uint64_t>, 4> fixed_{};
    std::array<sizes, 3> part_{sizes{none, none, none, none}, sizes{none, none, none, none},
                               sizes{none, none, none, none}};
    std::array<std::uint64_t, 4> offset_{};
    std::array<std::map<sizes, bool>, 3> known_{};
    std::optional<std::uint64_t> least_{};
};

owner draw(std::uint64_t seed) {
    problems::random random{seed};
    owner made;
    const std::size_t count = 1 + random.index(4), memories = 1 + random.index(3);
    const bool aligned = random(3) == 0;
    auto& buffers = made.buffers.buffers;
    for (std::size_t i = 0; i != count; ++i) {
        const auto from = static_cast<std::int64_t>(random(steps));
        const auto until = std::min<std::int64_t>(from + 1 + static_cast<std::int64_t>(random(4)), steps);
        const std::uint64_t rows = random(4) == 0 ? random(2) : 1 + random(6);
        const std::uint64_t size = random(12) == 0 ? 0 : rows < 2 ? 1 + random(6) : rows * (1 + random(6 / rows));
        buffers.push_back({size, {from, until}, aligned ? std::uint64_t{1} << random(3) : 1});
        made.rows.push_back(rows);
        made.uses.push_back(random(3) == 0 ? random(5) : 1);
        const std::uint64_t all = (std::uint64_t{1} << memories) - 1;
        made.allowed.push_back(random(4) == 0 ? 1 + random(all) : all);
    }
    if (random(4) == 0)
        for (std::size_t i = 0; i != count; ++i)
            if (const auto from = buffers[i].live.until + 1; from < static_cast<std::int64_t>(steps) && random(2) == 0)
                made.buffers.revivals.push_back({i, {from, from + 1}});
    std::uint64_t cost = random(2);
    const bool tight = random(2) == 0;
    for (std::size_t m = 0; m != memories; ++m) {
        const bool is_unlimited = m + 1 == memories && random(2) == 0;
        made.memories.push_back({.capacity = is_unlimited ? unlimited : random(tight ? 7 : 12),
                                 .align = aligned && random(3) == 0 ? std::uint64_t{1} << random(3) : 1,
                                 .cost = cost});
        cost += random(4);
    }
    const auto pair = [&](std::vector<allot::plan_pair>& to, std::size_t a, std::size_t b) {
        if (a < count && b < count && random(5) == 0) to.push_back({a, b});
    };
    pair(made.buffers.together, 0, 1);
    pair(made.buffers.apart, 1, 2);
    pair(made.separate, 0, 2);
    pair(made.separate, 2, 3);
    if (random(4) == 0) {
        const std::size_t i = random.index(count), m = random.index(memories);
        made.allowed[i] = std::uint64_t{1} << m;
        const std::uint64_t align = std::max(buffers[i].align, made.memories[m].align);
        made.buffers.fixed.push_back({i, random(8) / align * align});
    }
    return made;
}

struct counts {
    std::uint64_t refused = 0, optimal = 0, least = 0, complete = 0, divided = 0, proved = 0, unknown = 0;
};

std::string false_claim(const owner& given, std::uint64_t effort, counts& seen) {
    const allot::rows_problem problem = given.problem();
    const allot::memories_options options{.effort = effort, .remember = 1u << 8};
    const auto made = allot::plan_rows(problem, options);
    const auto whole = allot::plan_memories(problem.memories, options);
    const std::optional<std::uint64_t> least = every_plan{given}.least();
    if (!made) {
        ++seen.refused;
        if (whole || whole.error().reason != made.error().reason) return "refused, unlike without rows";
        return least && made.error().reason != allot::plan_refusal::fixed_in_no_one_memory ? "refused" : "";
    }
    if (!whole) return "not refused, unlike without rows";
    if (const auto found = allot::validate_rows(problem, *made); found.kind != allot::memories_violation_kind::none)
        return std::string{"the validator: "} + found.what();
    seen.divided += made->splits.size();
    if (made->whole_cost != whole->cost) return "cost without divided buffers";
    if (made->unplaced > whole->unplaced || (made->unplaced == whole->unplaced && made->cost > whole->cost))
        return "worse than without rows";
    if (least && made->bound > *least) return "bound " + std::to_string(made->bound);
    if (made->unplaced == 0) {
        ++seen.complete;
        if (!least || made->cost < *least) return "the enumeration is worse";
        seen.least += made->cost == *least;
        seen.optimal += made->status == plan_status::optimal;
        if (made->status == plan_status::optimal) return made->cost == *least ? "" : "optimal";
        return made->status == plan_status::feasible ? "" : "status";
    }
    if (made->status == plan_status::infeasible) {
        ++seen.proved;
        if (made->bound > made->cost) return "bound above the cost of the placed buffers";
        return least ? "infeasible" : "";
    }
    ++seen.unknown;
    return made->status == plan_status::out_of_budget ? "" : "status";
}

}  // namespace

TEST_CASE("rows proof: all claims agree with the enumeration of all divisions") {
    const std::uint64_t rounds = problems::times(problems::is_slow ? 500 : 10'000);
    std::uint64_t found = 0;
    for (const std::uint64_t effort : {0u, 300u, 3000u}) {
        counts seen;
        for (std::uint64_t round = 0; round != rounds; ++round) {
            const owner given = draw(round);
            const std::string claim = false_claim(given, effort, seen);
            if (claim.empty()) continue;
            if (++found <= 20) FAIL_CHECK("problem ", round, ", effort ", effort, ": ", claim, "; ", text(given));
        }
        CHECK(seen.optimal != 0);
        CHECK(seen.divided != 0);
        CHECK(seen.proved != 0);
        MESSAGE("effort ", effort, ": ", seen.complete, " complete: ", seen.optimal, " optimal, ", seen.least,
                " at the least cost; ", seen.divided, " divided buffers; ", seen.proved, " proved impossible, ",
                seen.unknown, " unknown, ", seen.refused, " refused");
    }
    CHECK(found == 0);
}
