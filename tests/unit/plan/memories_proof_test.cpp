// All claims of plans with several memories, compared with the enumeration of all plans, for small random problems with
// all constraints. The enumeration shares only the types of a problem with the planner.
//
// A problem has 1 to 6 buffers (uniformly distributed), 8 steps and 1 to 3 memories. Half of the problems have
// alignments, a third revivals, and a third fixed buffers. A quarter have pairs that are together, a quarter pairs that
// are apart, a quarter empty buffers, and a quarter a reserved range, that is a fixed buffer that lives all the time.
// A third have pairs that must be in different memories, and an eighth equal memories. Half have uses. Most have memories that are not allowed. Each problem gets one simple plan, then more effort until
// the plan is optimal or proved impossible. Some get more effort in any case.
//
// ALLOT_LONG=1 runs a hundred times as many problems: ten minutes with -O3.
#include <allot/plan/memories.hpp>
#include <allot/plan/validate_memories.hpp>

#include "problem_text.hpp"
#include "problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace {

using allot::memory_place;
using allot::plan_memory;
using allot::plan_refusal;
using allot::plan_status;

constexpr std::uint64_t unlimited = plan_memory{}.capacity;
constexpr std::size_t most_buffers = 6, most_memories = 3, steps = 8, most_looks = steps + 4;

/// A problem that owns its arrays. Sizes, offsets and capacities are `scale` times those of the enumeration.
struct owner {
    problems::owner buffers{};
    std::vector<plan_memory> memories{};
    std::vector<std::uint64_t> uses{}, allowed{};
    std::vector<allot::plan_pair> separate{};
    std::uint64_t scale = 1;

    [[nodiscard]] allot::memories_problem problem() const {
        return {.buffers = buffers, .memories = memories, .uses = uses, .allowed = allowed, .separate = separate};
    }
};

/// All plans of a small problem. A look is a set of buffers that share no byte: one for each step, and one for each
/// pair that is apart.
class every_plan {
public:
    explicit every_plan(const owner& given) : given_{given}, all_{given.buffers.buffers}, count_{all_.size()} {
        std::array<std::size_t, most_buffers> leader{};
        for (std::size_t i = 0; i != count_; ++i) leader[i] = i;
        for (const auto& [a, b] : given.buffers.together) {
            const std::size_t gone = leader[a], stays = leader[b];
            for (std::size_t i = 0; i != count_; ++i)
                if (leader[i] == gone) leader[i] = stays;
        }
        std::array<std::size_t, most_buffers> number{};
        for (std::size_t i = 0; i != count_; ++i)
            if (leader[i] == i) number[i] = groups_++;
        for (std::size_t i = 0; i != count_; ++i) group_[i] = number[leader[i]];
        const std::uint64_t every = (std::uint64_t{1} << given.memories.size()) - 1;
        for (std::size_t g = 0; g != groups_; ++g) allowed_[g] = every;
        for (std::size_t i = 0; i != count_; ++i) {
            const std::size_t g = group_[i];
            const std::uint64_t size = all_[i].size / given.scale;
            const auto lives = [&](allot::lifetime live) {
                for (std::int64_t t = live.from; t != live.until; ++t) raise(g, static_cast<std::size_t>(t), size);
            };
            lives(all_[i].live);
            for (const auto& each : given.buffers.revivals)
                if (each.buffer == i) lives(each.live);
            align_[g] = std::max(align_[g], all_[i].align);
            weight_[g] += all_[i].size * (given.uses.empty() ? 1 : given.uses[i]);
            if (!given.allowed.empty()) allowed_[g] &= given.allowed[i];
            largest_[g] = std::max(largest_[g], size);
        }
        for (const auto& [buffer, offset] : given.buffers.fixed) {
            const std::size_t g = group_[buffer];
            if (fixed_[g] && *fixed_[g] != offset) contradictory_ = true;
            fixed_[g] = offset;
        }
        for (const auto& [a, b] : given.buffers.apart) {
            const std::uint64_t a_size = all_[a].size / given.scale, b_size = all_[b].size / given.scale;
            if (group_[a] == group_[b]) contradictory_ = contradictory_ || (a_size != 0 && b_size != 0);
            else raise(group_[a], looks_, a_size), raise(group_[b], looks_, b_size);
            ++looks_;
        }
        for (const auto& [a, b] : given.separate) {
            if (all_[a].size == 0 || all_[b].size == 0) continue;
            contradictory_ = contradictory_ || group_[a] == group_[b];
            others_[group_[a]] |= 1u << group_[b];
            others_[group_[b]] |= 1u << group_[a];
        }
    }

    /// Returns the least cost of all plans, or nullopt if no plan exists.
    [[nodiscard]] std::optional<std::uint64_t> least() {
        least_.reset();
        std::array<unsigned, most_memories> in{};
        if (!contradictory_) assign(0, 0, in);
        return least_;
    }
    /// Returns whether the group of a buffer fits a memory without other buffers.
    [[nodiscard]] bool fits_alone(std::size_t buffer) {
        const std::size_t g = group_[buffer];
        for (std::size_t m = 0; m != given_.memories.size(); ++m)
            if ((allowed_[g] >> m & 1) != 0 && packs(m, 1u << g)) return true;
        return false;
    }
    [[nodiscard]] std::size_t groups() const { return groups_; }
    [[nodiscard]] std::size_t group(std::size_t buffer) const { return group_[buffer]; }

    /// Returns the first error of the placed buffers, or an empty string. Computes the cost and the number of unplaced
    /// buffers.
    [[nodiscard]] std::string mistake(const std::vector<memory_place>& places, std::uint64_t& cost,
                                      std::uint64_t& unplaced) const {
        cost = unplaced = 0;
        unsigned seen = 0;
        std::array<memory_place, most_buffers> of{};
        for (std::size_t i = 0; i != count_; ++i) {
            const std::size_t g = group_[i];
            if (places[i].size != all_[i].size) return "size";
            if ((seen >> g & 1) != 0 && (of[g].memory != places[i].memory || of[g].offset != places[i].offset))
                return "not together";
            of[g] = places[i];
            seen |= 1u << g;
            if (places[i].memory == memory_place::nowhere) {
                ++unplaced;
                continue;
            }
            if (places[i].memory >= given_.memories.size() || (allowed_[g] >> places[i].memory & 1) == 0)
                return "not allowed";
            const plan_memory& memory = given_.memories[places[i].memory];
            if (places[i].offset % all_[i].align != 0 || places[i].offset % memory.align != 0) return "misaligned";
            if (all_[i].size != 0 &&
                (all_[i].size > memory.capacity || places[i].offset > memory.capacity - all_[i].size))
                return "over capacity";
            cost += all_[i].size * (given_.uses.empty() ? 1 : given_.uses[i]) * memory.cost;
        }
        for (std::size_t g = 0; g != groups_; ++g) {
            if (of[g].memory != memory_place::nowhere && fixed_[g] && of[g].offset != *fixed_[g])
                return "not where fixed";
            for (std::size_t h = 0; h != g; ++h)
                if ((others_[g] >> h & 1) != 0 && of[g].memory != memory_place::nowhere && of[g].memory == of[h].memory)
                    return "not separate";
            for (std::size_t h = 0; h != g; ++h)
                for (std::size_t look = 0; look != looks_ && of[g].memory == of[h].memory; ++look)
                    if (of[g].memory != memory_place::nowhere && size_[g][look] != 0 && size_[h][look] != 0 &&
                        of[g].offset < of[h].offset + size_[h][look] * given_.scale &&
                        of[h].offset < of[g].offset + size_[g][look] * given_.scale)
                        return "overlap";
        }
        return {};
    }

private:
    using bytes = std::uint64_t;

    void raise(std::size_t g, std::size_t look, std::uint64_t size) { size_[g][look] = std::max(size_[g][look], size); }

    void assign(std::size_t g, std::uint64_t cost, std::array<unsigned, most_memories>& in) {
        if (least_ && cost >= *least_) return;
        if (g == groups_) {
            least_ = cost;
            return;
        }
        for (std::size_t m = 0; m != given_.memories.size(); ++m) {
            if ((allowed_[g] >> m & 1) == 0 || (in[m] & others_[g]) != 0) continue;
            in[m] |= 1u << g;
            if (packs(m, in[m])) assign(g + 1, cost + weight_[g] * given_.memories[m].cost, in);
            in[m] &= ~(1u << g);
        }
    }
    /// Returns whether these groups fit one memory together. Caches the answer.
    [[nodiscard]] bool packs(std::size_t m, unsigned these) {
        signed char& answer = known_[m][these];
        if (answer == 0) answer = try_all(m, these) ? 1 : -1;
        return answer == 1;
    }
    [[nodiscard]] bool try_all(std::size_t m, unsigned these) {
        const std::uint64_t capacity = given_.memories[m].capacity;
        // Without a capacity, all movable buffers fit above all fixed ones.
        const bool bounded = capacity != unlimited;
        const std::uint64_t end = bounded ? capacity / given_.scale : 62;
        if (bounded)
            for (std::size_t look = 0; look != looks_; ++look) {
                std::uint64_t sum = 0;
                for (unsigned rest = these; rest != 0; rest &= rest - 1) sum += size_[first(rest)][look];
                if (sum > end) return false;
            }
        std::array<bytes, most_looks> taken{};
        unsigned free = 0;
        for (unsigned rest = these; rest != 0; rest &= rest - 1) {
            const std::size_t g = first(rest);
            if (!fixed_[g]) {
                free |= 1u << g;
                continue;
            }
            const std::uint64_t align = std::max(align_[g], given_.memories[m].align), offset = *fixed_[g];
            if (offset % align != 0 || (largest_[g] != 0 && offset / given_.scale + largest_[g] > end)) return false;
            if (!lay(taken, g, offset / given_.scale)) return false;
        }
        return !bounded || place(m, free, end, taken);
    }
    [[nodiscard]] bool place(std::size_t m, unsigned rest, std::uint64_t end,
                             const std::array<bytes, most_looks>& taken) {
        if (rest == 0) return true;
        std::size_t g = first(rest);  // the largest group has the fewest places
        for (unsigned others = rest & (rest - 1); others != 0; others &= others - 1)
            if (largest_[first(others)] > largest_[g]) g = first(others);
        const std::uint64_t align = std::max(align_[g], given_.memories[m].align);
        for (std::uint64_t offset = 0; offset + largest_[g] <= end; ++offset) {
            if (offset * given_.scale % align != 0) continue;
            std::array<bytes, most_looks> now = taken;
            if (lay(now, g, offset) && place(m, rest & ~(1u << g), end, now)) return true;
        }
        return false;
    }
    [[nodiscard]] bool lay(std::array<bytes, most_looks>& taken, std::size_t g, std::uint64_t offset) const {
        for (std::size_t look = 0; look != looks_; ++look) {
            if (size_[g][look] == 0) continue;
            const bytes mine = ((bytes{1} << size_[g][look]) - 1) << offset;
            if ((taken[look] & mine) != 0) return false;
            taken[look] |= mine;
        }
        return true;
    }
    [[nodiscard]] static std::size_t first(unsigned set) { return static_cast<std::size_t>(std::countr_zero(set)); }

    const owner& given_;
    const std::vector<allot::plan_buffer>& all_;
    std::size_t count_, groups_ = 0, looks_ = steps;
    std::array<std::size_t, most_buffers> group_{};
    std::array<std::array<std::uint64_t, most_looks>, most_buffers> size_{};  // by group and look
    std::array<std::uint64_t, most_buffers> align_{1, 1, 1, 1, 1, 1}, weight_{}, allowed_{}, largest_{};
    std::array<std::optional<std::uint64_t>, most_buffers> fixed_{};
    std::array<unsigned, most_buffers> others_{};  // by group: the groups that must be in other memories
    std::array<std::array<signed char, 1u << most_buffers>, most_memories> known_{};
    std::optional<std::uint64_t> least_{};
    bool contradictory_ = false;
};

/// Returns a random problem with random constraints.
owner draw(std::uint64_t seed) {
    problems::random random{seed};
    owner made;
    std::size_t count = 1 + random.index(most_buffers);
    const std::uint64_t largest = 3 + random(8);
    const bool aligned = random(2) == 0, empty = random(4) == 0;
    if (!aligned && random(4) == 0) made.scale = random(2) == 0 ? 1'000'003 : std::uint64_t{1} << 30;
    for (std::size_t i = 0; i != count; ++i) {
        const auto from = static_cast<std::int64_t>(random(steps));
        const auto until =
            from + 1 + static_cast<std::int64_t>(random(random(2) == 0 ? 2 : steps - static_cast<std::uint64_t>(from)));
        const std::uint64_t size = empty && random(3) == 0 ? 0 : 1 + random(largest);
        made.buffers.buffers.push_back({size * made.scale,
                                        {from, std::min<std::int64_t>(until, steps)},
                                        aligned ? std::uint64_t{1} << random(random(3) == 0 ? 5 : 3) : 1});
    }
    const auto& buffers = made.buffers.buffers;
    if (random(3) == 0)
        for (std::size_t i = 0; i != count; ++i)
            if (const auto from = buffers[i].live.until + 1; from < static_cast<std::int64_t>(steps) && random(2) == 0)
                made.buffers.revivals.push_back(
                    {i,
                     {from, from + 1 + static_cast<std::int64_t>(random(steps - static_cast<std::uint64_t>(from)))}});
    const auto pairs = [&](std::vector<allot::plan_pair>& to) {
        for (std::uint64_t k = 1 + random(2); k-- != 0;)
            if (const std::size_t a = random.index(count), b = random.index(count); a != b) to.push_back({a, b});
    };
    if (random(4) == 0) pairs(made.buffers.together);
    if (random(4) == 0) pairs(made.buffers.apart);
    const std::size_t memories = 1 + random.index(most_memories);
    std::uint64_t cost = random(3);
    const bool tight = random(2) == 0;
    for (std::size_t m = 0; m != memories; ++m) {
        const bool without_end = random(m + 1 == memories ? 2 : 8) == 0;
        made.memories.push_back({.capacity = without_end ? unlimited : random((tight ? 2 : 3) * largest) * made.scale,
                                 .align = aligned && random(3) == 0 ? std::uint64_t{1} << random(4) : 1,
                                 .cost = cost});
        cost += random(3) == 0 ? random(1000) : random(3);
    }
    // A reserved range in one of the memories.
    const bool reserved = count != most_buffers && random(4) == 0;
    if (reserved) made.buffers.buffers.push_back({(1 + random(largest)) * made.scale, {0, steps}, 1}), ++count;
    if (random(2) == 0)
        for (std::size_t i = 0; i != count; ++i) made.uses.push_back(random(4) == 0 ? random(1000) : random(4));
    const bool fixed = random(3) == 0;
    if (fixed || reserved || random(2) == 0) {
        const std::uint64_t all = (std::uint64_t{1} << memories) - 1;
        for (std::size_t i = 0; i != count; ++i)
            made.allowed.push_back(random(2) == 0 ? ~std::uint64_t{0} : random(30) == 0 ? 0 : 1 + random(all));
    }
    for (std::size_t i = 0; i != count; ++i) {
        if (!(reserved && i + 1 == count) && !(fixed && random(3) == 0)) continue;
        made.allowed[i] = std::uint64_t{1} << random(memories);
        const plan_memory& memory = made.memories[static_cast<std::size_t>(std::countr_zero(made.allowed[i]))];
        const std::uint64_t align = std::max(buffers[i].align, memory.align);
        made.buffers.fixed.push_back({i, random(3 * largest) * made.scale / align * align});
    }
    if (random(3) == 0)
        for (std::uint64_t k = 1 + random(4); k-- != 0;) pairs(made.separate);
    if (made.buffers.fixed.empty() && random(8) == 0)
        for (plan_memory& each : made.memories) each = made.memories[0];
    return made;
}

/// Numbers of problems by outcome.
struct counts {
    std::uint64_t problems = 0, refused = 0, possible = 0, nowhere = 0, optimal = 0, feasible = 0, least = 0,
                  proved = 0, unknown = 0;
};
/// Returns the first false claim, or an empty string if all are true.
std::string false_claim(const owner& given, std::uint64_t effort, every_plan& plans, std::optional<std::uint64_t> least,
                        counts& seen) {
    const auto made =
        allot::plan_memories(given.problem(), {.effort = effort, .remember = effort < 1000 ? 0u : 1u << 10});
    if (!made) {
        ++seen.refused;
        const plan_refusal reason = made.error().reason;
        if (reason == plan_refusal::fixed_in_no_one_memory || reason == plan_refusal::overlapping_lifetimes) return {};
        if (reason == plan_refusal::contradiction || reason == plan_refusal::fixed_misaligned) {
            if (!least) return {};
            // Pairs that are both together and apart are rejected, even if empty.
            for (const auto& [a, b] : given.buffers.apart)
                if (plans.group(a) == plans.group(b)) return {};
        }
        return "refused: " + std::to_string(static_cast<int>(reason));
    }
    std::uint64_t cost = 0, unplaced = 0;
    if (const std::string wrong = plans.mistake(made->places, cost, unplaced); !wrong.empty()) return "plan: " + wrong;
    if (const auto found = allot::validate_memories(given.problem(), *made);
        found.kind != allot::memories_violation_kind::none)
        return std::string{"the validator: "} + found.what();
    if (made->cost != cost) return "cost";
    if (made->unplaced != unplaced) return "unplaced";
    seen.possible += least.has_value();
    const bool complete = made->status == plan_status::optimal || made->status == plan_status::feasible;
    if (complete != (unplaced == 0)) return "status";
    if (least && made->bound > *least)
        return "bound " + std::to_string(made->bound) + " above " + std::to_string(*least);
    if (complete) {
        if (!least) return "the enumeration knows less";
        if (cost < *least) return "the enumeration is dearer";
        if (made->status == plan_status::optimal && cost != *least) return "optimal";
        ++(made->status == plan_status::optimal ? seen.optimal : seen.feasible);
        seen.least += cost == *least;
        return {};
    }
    if (made->status == plan_status::infeasible) {
        if (least) return "infeasible";
        if (made->bound > made->cost) return "bound above the cost of the placed buffers";
        ++seen.proved;
        if (made->which > given.buffers.buffers.size()) return "which";
        if (made->which == given.buffers.buffers.size()) return {};
        const bool is_alone =
            std::none_of(given.separate.begin(), given.separate.end(), [&](const allot::plan_pair& p) {
                return plans.group(p.first) == plans.group(made->which) ||
                       plans.group(p.second) == plans.group(made->which);
            });
        if (is_alone && plans.fits_alone(made->which)) return "which fits";
        return {};
    }
    if (made->status != plan_status::out_of_budget) return "status";
    ++(least ? seen.nowhere : seen.unknown);
    return {};
}

}  // namespace

TEST_CASE("memories proof: all claims agree with the enumeration of all plans") {
    const char* const named = std::getenv("ALLOT_PROBLEMS");
    const std::uint64_t rounds = named != nullptr          ? std::strtoull(named, nullptr, 10)
                                 : problems::times(1) == 1 ? 100'000
                                                           : 10'000'000;
    constexpr std::uint64_t efforts[] = {0, 60, 1000, 10'000, allot::memories_options{}.effort};
    constexpr std::uint64_t every[] = {1, 4, 40, 5000, 20'000};
    constexpr std::size_t most = std::size(efforts) - 1;
    counts seen[std::size(efforts)];
    std::uint64_t found = 0;
    for (std::uint64_t round = 0; round != rounds; ++round) {
        const owner given = draw(round);
        every_plan plans{given};
        const auto least = plans.least();
        bool decided = true;  // whether the plan is optimal or proved impossible; more effort decides it
        for (std::size_t e = 0; e != std::size(efforts); ++e) {
            if (round % every[e] != 0 && decided) continue;
            ++seen[e].problems;
            const auto undecided = [&] { return seen[e].nowhere + seen[e].feasible + seen[e].unknown; };
            const std::uint64_t before = undecided();
            const std::string claim = false_claim(given, efforts[e], plans, least, seen[e]);
            decided = undecided() == before;
            if (claim.empty()) continue;
            if (++found <= 20)
                FAIL_CHECK("problem ", round, ", effort ", efforts[e], ": ", claim, "; ",
                           problems::text(given.problem()), least ? "least " + std::to_string(*least) : "no plan");
        }
    }
    CHECK(found == 0);
    // The planner tries all choices for so few buffers.
    for (const std::size_t e : {most - 1, most}) {
        CHECK(seen[e].nowhere == 0);
        CHECK(seen[e].feasible == 0);
        CHECK(seen[e].unknown == 0);
    }
    for (std::size_t e = 0; e != std::size(efforts); ++e)
        MESSAGE("effort ", efforts[e], ": ", seen[e].problems, " problems, ", seen[e].refused, " refused, ",
                seen[e].possible, " possible: ", seen[e].optimal, " optimal, ", seen[e].feasible, " feasible, ",
                seen[e].least, " at the least cost, ", seen[e].nowhere,
                " with a buffer nowhere; impossible: ", seen[e].proved, " proved, ", seen[e].unknown, " not");
}
