// timed: plans whose copies run at the same time as steps. A validator executes them. Times are compared with the best of
// all plans by load, which a search tries one by one.
#include <allot/plan/timed.hpp>
#include <allot/plan/validate_timed.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

using allot::moves_violation_kind;
using allot::plan_access;
using allot::plan_buffer;
using allot::plan_memory;
using allot::plan_refusal;
using allot::plan_status;
using allot::timed_plan;
using allot::timed_problem;

/// A problem that owns its arrays.
struct owner {
    std::vector<plan_buffer> buffers{};
    std::vector<plan_memory> memories{};
    std::vector<plan_access> accesses{};
    std::vector<std::uint64_t> durations{}, allowed{};
    std::uint64_t copy_cost = 0, latency = 0;

    [[nodiscard]] timed_problem problem() const {
        return {.moves = {{.buffers = {.buffers = buffers}, .memories = memories, .allowed = allowed}, accesses},
                .durations = durations,
                .copy_cost = copy_cost,
                .latency = latency};
    }
};

constexpr allot::memories_options quick{.effort = 1500};

/// Checks that the summary of a plan is correct, and that no plan without copies is shorter.
void check_plan(const timed_problem& problem, const timed_plan& made) {
    CHECK((made.unplaced == 0) == (made.status == plan_status::optimal || made.status == plan_status::feasible));
    if (made.unplaced != 0) return;
    const auto found = allot::validate_timed(problem, made);
    CAPTURE(found.which);
    CHECK(static_cast<int>(found.kind) == 0);
    CHECK(made.bound <= made.elapsed);
    CHECK((made.status == plan_status::optimal) == (made.elapsed == made.bound));
    CHECK(made.elapsed <= made.whole_elapsed);
    std::uint64_t copied = 0;
    for (const allot::timed_copy& copy : made.copies)
        copied += problem.moves.memories.buffers.buffers[copy.buffer].size;
    CHECK(made.copied == copied);
}

/// Returns a problem in which copies gain time: the fast memory is small, and accesses to the slow one take long.
owner random_problem(std::mt19937& random, std::size_t buffers, std::int64_t steps) {
    const auto below = [&](std::uint64_t n) { return random() % n; };
    owner made;
    made.memories = {{.capacity = 40 + below(60), .cost = below(2)}, {.cost = 4 + below(20)}};
    if (below(4) == 0) made.memories.insert(made.memories.begin() + 1, {.capacity = 50 + below(60), .cost = 2});
    made.copy_cost = below(4);
    made.latency = below(3) * below(40);
    for (std::int64_t s = 0; s != steps; ++s) made.durations.push_back(below(3) * below(100));
    for (std::size_t i = 0; i != buffers; ++i) {
        const auto from = static_cast<std::int64_t>(below(static_cast<std::uint64_t>(steps) / 2));
        const auto until = steps - static_cast<std::int64_t>(below(static_cast<std::uint64_t>(steps) / 3 + 1));
        made.buffers.push_back({.size = 20 + below(40), .live = {from, until}});
        for (std::int64_t s = from; s != until; ++s)
            for (std::uint64_t times = below(3) == 0 ? 1 + below(3) : 0; times != 0; --times)
                made.accesses.push_back({i, s, below(4) == 0});
        if (below(8) == 0) made.accesses.push_back({i, from, true});
    }
    return made;
}

TEST_CASE("timed: random plans are valid, not longer than without copies, and not shorter than the bound") {
    std::mt19937 random{20261123};
    for (int round = 0; round != 100; ++round) {
        CAPTURE(round);
        const std::size_t buffers = 1 + random() % 9;
        const auto steps = 2 + static_cast<std::int64_t>(random() % 14);
        owner made = random_problem(random, buffers, steps);
        if (random() % 4 == 0)
            for (std::size_t i = 0; i != made.buffers.size(); ++i) made.allowed.push_back(1 + random() % 3);
        const timed_problem problem = made.problem();
        const auto plan = allot::plan_timed(problem, quick);
        if (!plan) {
            CHECK(plan.error().reason == plan_refusal::none);
            continue;
        }
        check_plan(problem, *plan);
        const auto again = allot::plan_timed(problem, quick);
        REQUIRE(again);
        CHECK(again->elapsed == plan->elapsed);
        CHECK(again->pieces == plan->pieces);
        CHECK(again->copies == plan->copies);
    }
}

TEST_CASE("timed: the spent effort is at most a tenth above the limit, and a large problem is planned with little") {
    std::mt19937 random{24};
    const auto spent = [](const timed_problem& problem, std::uint64_t effort, std::size_t search_at_most = 2048) {
        const auto made = allot::plan_timed(problem, {.effort = effort, .search_at_most = search_at_most});
        REQUIRE(made);
        check_plan(problem, *made);
        return made->effort;
    };
    for (const std::size_t buffers : {20U, 250U}) {
        CAPTURE(buffers);
        const owner made = random_problem(random, buffers, static_cast<std::int64_t>(buffers));
        const std::uint64_t first = spent(made.problem(), 0);
        for (const std::uint64_t effort : {1'000U, 20'000U})
            CHECK(spent(made.problem(), effort) <= first + effort * 11 / 10);
    }
    // Each trial is local: the effort of a plan of 20 times as many buffers is proportional to their number.
    const auto of_chain = [&](std::size_t buffers) {
        owner made;
        made.memories = {{.capacity = 300, .cost = 1}, {.cost = 10}};
        made.copy_cost = 4;
        made.latency = 20;
        for (std::size_t i = 0; i != buffers; ++i) {
            const auto from = static_cast<std::int64_t>(i);
            made.buffers.push_back({.size = 20 + random() % 80, .live = {from, from + 12}});
            for (const std::int64_t later : {0, 1, 9}) made.accesses.push_back({i, from + later, later == 0});
        }
        made.durations.assign(buffers + 12, 700);
        return spent(made.problem(), 0, 0);
    };
    const std::uint64_t few = of_chain(200);
    CHECK(of_chain(4000) <= 30 * few);
}

// ── the best plan by load ────────────────────────────────────────────────────────────────────────────────────────────

/// A choice for one buffer: for each event, whether it is in the fast memory, and the steps of the copies in between.
struct choice {
    std::vector<allot::lifetime> fast{};  // lifetimes of its pieces there
    struct copy {
        std::int64_t begin, end;
        bool is_out;
    };
    std::vector<copy> copies{};
    std::vector<std::uint64_t> times{};  // by step: of its accesses
};

/// Lists every choice for a buffer that is read or written at a step, not both, from the definitions of the problem.
/// The contents are followed step by step: which of the two pieces exist and which of them are the newest.
class choices {
public:
    choices(const owner& of, std::size_t buffer)
        : of_{of}, buffer_{buffer}, access_(of.durations.size(), none), count_(access_.size()) {
        for (const plan_access& access : of.accesses)
            if (access.buffer == buffer) {
                access_[static_cast<std::size_t>(access.step)] = access.writes ? write : read;
                ++count_[static_cast<std::size_t>(access.step)];
            }
        first_ = last_ = -1;
        for (std::size_t s = 0; s != access_.size(); ++s)
            if (access_[s] != none) {
                if (first_ < 0) first_ = static_cast<std::int64_t>(s);
                last_ = static_cast<std::int64_t>(s);
            }
    }

    [[nodiscard]] std::vector<choice> all() {
        choice empty;
        empty.times.resize(access_.size());
        if (first_ < 0) return {empty};
        const bool given = access_[static_cast<std::size_t>(first_)] == read;
        const std::int64_t from = given ? of_.buffers[buffer_].live.from : first_;
        for (const bool in_fast : {false, true}) {
            if (!given && in_fast) continue;
            state now{.slow_newest = given && !in_fast,
                      .fast_newest = given && in_fast,
                      .fast_from = given && in_fast ? from : -1};
            go(from, now, empty);
        }
        return made_;
    }

private:
    enum use : unsigned char { none, read, write };
    struct state {
        bool slow_newest = false, fast_newest = false;
        std::int64_t fast_from = -1;  // first step of the piece in the fast memory; -1: there is none
    };

    void close(state& now, choice& so_far, std::int64_t until) const {
        if (now.fast_from >= 0 && until > now.fast_from) so_far.fast.push_back({now.fast_from, until});
        now.fast_from = -1;
        now.fast_newest = false;
    }
    /// Continues before step `s`: chooses a copy that begins there, or none, and the piece of the access at `s`.
    void go(std::int64_t s, state now, choice so_far) {
        if (s > last_) {
            close(now, so_far, s);
            made_.push_back(so_far);
            return;
        }
        act(s, now, so_far);
        for (std::int64_t end = s; end <= last_; ++end) {
            // No access of the destination, and no write of the source, before `end`.
            bool writes = false;
            for (std::int64_t t = s; t < end; ++t) {
                writes = writes || access_[static_cast<std::size_t>(t)] == write;
            }
            if (writes) break;
            if (now.slow_newest && now.fast_from < 0) {  // in: reads in between use the source
                choice next = so_far;
                next.copies.push_back({s, end, false});
                for (std::int64_t t = s; t < end; ++t) add_access(next, t, false);
                state then = now;
                then.fast_from = s;
                then.fast_newest = true;
                if (end == s) act(s, then, next);
                else go(end, then, next);
            }
            if (now.fast_newest && !now.slow_newest) {  // out
                choice next = so_far;
                next.copies.push_back({s, end, true});
                for (std::int64_t t = s; t < end; ++t) add_access(next, t, true);
                state then = now;
                then.slow_newest = true;
                if (end == s) {
                    // Both pieces live at step `s`, also if the fast one is not used again.
                    choice gone = next;
                    state without = then;
                    act(s, then, next);
                    close(without, gone, s + 1);
                    act(s, without, gone);
                } else {
                    go(end, then, next);
                    close(then, next, end);
                    go(end, then, next);
                }
            }
        }
        std::int64_t next = s;
        while (next < last_ && access_[static_cast<std::size_t>(next)] == none) ++next;
        const bool is_dead = access_[static_cast<std::size_t>(next)] == write;  // nothing reads the contents
        if (now.fast_newest && (now.slow_newest || is_dead)) {                  // the fast piece ends without a copy
            close(now, so_far, s);
            act(s, now, so_far);
        }
    }
    void add_access(choice& to, std::int64_t s, bool in_fast) const {
        if (access_[static_cast<std::size_t>(s)] == none) return;
        to.times[static_cast<std::size_t>(s)] += count_[static_cast<std::size_t>(s)] * of_.buffers[buffer_].size *
                                                 (in_fast ? of_.memories[0] : of_.memories[1]).cost;
    }
    /// Executes step `s` with each piece that the access can use.
    void act(std::int64_t s, state now, choice so_far) {
        const use what = access_[static_cast<std::size_t>(s)];
        if (what == none) return go(s + 1, now, so_far);
        for (const bool in_fast : {false, true}) {
            state then = now;
            choice next = so_far;
            if (what == read && !(in_fast ? now.fast_newest : now.slow_newest)) continue;
            if (what == write) {
                then.slow_newest = !in_fast;
                if (!in_fast) close(then, next, s);
                else if (then.fast_from < 0) then.fast_from = s;
                then.fast_newest = in_fast;
            }
            add_access(next, s, in_fast);
            go(s + 1, then, next);
        }
    }

    const owner& of_;
    std::size_t buffer_;
    std::vector<use> access_;
    std::vector<std::uint64_t> count_;
    std::int64_t first_ = -1, last_ = -1;
    std::vector<choice> made_;
};

/// Returns the time of a set of choices, with the copies in the best order that keeps their first steps.
std::uint64_t time_of(const owner& of, const std::vector<const choice*>& chosen) {
    struct queued {
        std::int64_t begin, end;
        std::uint64_t time;
        bool is_out;
        std::size_t buffer;
    };
    std::vector<queued> copies;
    std::vector<std::uint64_t> access(of.durations.size());
    for (std::size_t i = 0; i != chosen.size(); ++i) {
        for (std::size_t s = 0; s != access.size(); ++s) access[s] += chosen[i]->times[s];
        for (const auto& copy : chosen[i]->copies)
            copies.push_back({copy.begin, copy.end, of.latency + of.buffers[i].size * of.copy_cost, copy.is_out, i});
    }
    const auto before = [](const queued& a, const queued& b) { return a.begin < b.begin; };
    std::stable_sort(copies.begin(), copies.end(), before);
    std::vector<std::size_t> order(copies.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::uint64_t best = ~std::uint64_t{0};
    do {
        bool is_sorted = true;
        for (std::size_t k = 1; k < order.size(); ++k) {
            const queued &one = copies[order[k - 1]], &other = copies[order[k]];
            is_sorted = is_sorted && !before(other, one) && !(one.buffer == other.buffer && order[k] < order[k - 1]);
        }
        if (!is_sorted) continue;
        std::uint64_t now = 0, queue = 0;
        std::vector<std::uint64_t> ready(access.size());
        std::size_t next = 0;
        for (std::size_t s = 0; s != access.size(); ++s) {
            for (; next != order.size() && copies[order[next]].begin == static_cast<std::int64_t>(s); ++next) {
                const queued& copy = copies[order[next]];
                queue = std::max(queue, now) + copy.time;
                ready[static_cast<std::size_t>(copy.end)] = std::max(ready[static_cast<std::size_t>(copy.end)], queue);
            }
            now = std::max(now, ready[s]) + std::max(of.durations[s], access[s]);
        }
        best = std::min(best, std::max(now, queue));
    } while (std::next_permutation(order.begin(), order.end()));
    return best;
}

/// Returns the least time of all plans whose pieces fit the fast memory by load; 0 if there are too many to try.
std::uint64_t least_time(const owner& of) {
    std::vector<std::vector<choice>> all;
    std::size_t count = 1;
    for (std::size_t i = 0; i != of.buffers.size(); ++i) all.push_back(choices{of, i}.all());
    for (const std::vector<choice>& each : all) count *= each.size();
    if (count > 20'000) return 0;
    std::vector<const choice*> chosen(of.buffers.size());
    std::uint64_t best = ~std::uint64_t{0};
    const auto go = [&](auto self, std::size_t i, std::vector<std::uint64_t> used) -> void {
        if (i == all.size()) {
            best = std::min(best, time_of(of, chosen));
            return;
        }
        for (const choice& each : all[i]) {
            auto then = used;
            bool fits = true;
            for (const allot::lifetime& live : each.fast)
                for (std::int64_t s = std::max<std::int64_t>(live.from, 0);
                     s < live.until && s < static_cast<std::int64_t>(used.size()); ++s)
                    fits = fits && (then[static_cast<std::size_t>(s)] += of.buffers[i].size) <= of.memories[0].capacity;
            chosen[i] = &each;
            if (fits) self(self, i + 1, std::move(then));
        }
    };
    go(go, 0, std::vector<std::uint64_t>(of.durations.size()));
    return best;
}

TEST_CASE("timed: the bound and the plans of small problems against all plans by load") {
    std::mt19937 random{7};
    std::uint64_t compared = 0, best = 0, copying = 0;
    for (int round = 0; round != 120; ++round) {
        CAPTURE(round);
        const std::size_t buffers = 1 + random() % 3;
        const auto steps = 3 + static_cast<std::int64_t>(random() % 4);
        owner made = random_problem(random, buffers, steps);
        if (made.memories.size() != 2) continue;
        // All accesses of a buffer at a step are of one kind, as the search expects.
        for (plan_access& access : made.accesses)
            for (const plan_access& first : made.accesses) {
                if (first.buffer != access.buffer || first.step != access.step) continue;
                access.writes = first.writes;
                break;
            }
        const auto plan = allot::plan_timed(made.problem(), quick);
        REQUIRE(plan);
        REQUIRE(plan->unplaced == 0);
        const std::uint64_t least = least_time(made);
        if (least == 0) continue;
        CHECK(plan->bound <= least);
        CHECK(least <= plan->elapsed);
        if (plan->status == plan_status::optimal) CHECK(plan->elapsed == least);
        ++compared;
        best += plan->elapsed == least;
        copying += !plan->copies.empty();
    }
    MESSAGE(compared << " plans, " << copying << " with copies; " << best << " are as short as the best by load");
    CHECK(copying > 0);
    CHECK(best * 10 >= compared * 9);  // the best by load may have no places
}

}  // namespace
