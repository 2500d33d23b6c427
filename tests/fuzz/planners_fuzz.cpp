// Fuzz target: the planners with arbitrary problems. The first byte selects a planner and the range of the numbers, and
// each further byte is a choice. A problem may be invalid. Each plan must pass its validator, and its bound must not
// exceed the cost of another plan of the same problem. With small numbers, plans are compared with the lowest one, which
// a search over all offsets finds.
#include "../unit/plan/brute_force.hpp"
#include "../unit/plan/queued_owner.hpp"

#include <allot/plan/moves.hpp>
#include <allot/plan/queues.hpp>
#include <allot/plan/ranged.hpp>
#include <allot/plan/timed.hpp>
#include <allot/plan/validate.hpp>
#include <allot/plan/validate_moves.hpp>
#include <allot/plan/validate_queues.hpp>
#include <allot/plan/validate_ranged.hpp>
#include <allot/plan/validate_timed.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using allot::plan_status;

/// Ends the program if a condition does not hold.
void require(bool holds, const char* condition, int line) {
    if (holds) return;
    std::fprintf(stderr, "planners_fuzz.cpp:%d: %s\n", line, condition);
    std::abort();
}
#define REQUIRE(condition) require(static_cast<bool>(condition), #condition, __LINE__)

/// The choices of an input, then zeros.
class choices {
public:
    choices(std::span<const unsigned char> bytes, bool is_wide) : bytes_{bytes}, is_wide_{is_wide} {}

    [[nodiscard]] std::size_t below(std::size_t n) { return next() % n; }
    /// Returns a size or an offset: below `small`, or of any magnitude.
    [[nodiscard]] std::uint64_t number(std::uint64_t small) {
        if (!is_wide_) return next() % small;
        const unsigned char byte = next();
        const std::uint64_t power = std::uint64_t{1} << byte % 64;
        switch (byte / 64) {
            case 0: return byte % 64;
            case 1: return power;
            case 2: return power - 1;
            default: return 0 - power;
        }
    }
    [[nodiscard]] std::uint64_t align() {
        return is_wide_ && below(16) == 0 ? number(1) : std::uint64_t{1} << below(4);
    }
    [[nodiscard]] allot::lifetime live() {
        if (is_wide_ && below(8) == 0)
            return {static_cast<std::int64_t>(number(1)), static_cast<std::int64_t>(number(1))};
        const auto from = static_cast<std::int64_t>(below(8));
        return {from, from + 1 + static_cast<std::int64_t>(below(5)) - (below(32) == 31 ? 6 : 0)};
    }
    /// Returns an index of a list, or rarely one beyond it.
    [[nodiscard]] std::size_t index(std::size_t count) {
        const unsigned char byte = next();
        return byte == 255 ? count : count == 0 ? 0 : byte % count;
    }
    [[nodiscard]] bool is_wide() const { return is_wide_; }

private:
    [[nodiscard]] unsigned char next() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }

    std::span<const unsigned char> bytes_;
    bool is_wide_;
    std::size_t at_ = 0;
};

problems::owner any_problem(choices& draw, bool with_reserved) {
    problems::owner made;
    const std::size_t count = draw.below(7);
    for (std::size_t i = 0; i != count; ++i) made.buffers.push_back({draw.number(8), draw.live(), draw.align()});
    for (std::size_t i = draw.below(4); i-- != 0;) made.revivals.push_back({draw.index(count), draw.live()});
    for (std::size_t i = draw.below(3); i-- != 0;) made.fixed.push_back({draw.index(count), draw.number(16)});
    for (std::size_t i = draw.below(4); i-- != 0;) made.together.push_back({draw.index(count), draw.index(count)});
    for (std::size_t i = draw.below(4); i-- != 0;) made.apart.push_back({draw.index(count), draw.index(count)});
    for (std::size_t i = with_reserved ? draw.below(3) : 0; i-- != 0;)
        made.reserved.push_back({draw.number(16), draw.number(6)});
    return made;
}

[[nodiscard]] bool fits(plan_status status) {
    return status == plan_status::optimal || status == plan_status::feasible;
}

/// Checks a summary of a plan of one memory against the lowest plan, and `lowest` if that is known.
void check_summary(const allot::plan_summary& made, std::uint64_t capacity) {
    REQUIRE(made.bound <= made.peak);
    REQUIRE(fits(made.status) == (made.peak <= capacity));
    if (made.status == plan_status::infeasible) REQUIRE(made.bound > capacity);
}

void plan_one(choices draw) {
    const problems::owner given = any_problem(draw, true);
    const std::uint64_t capacity = draw.below(2) == 0 ? ~std::uint64_t{0} : draw.number(40);
    const auto made = allot::plan(given, {.capacity = capacity, .effort = 400, .remember = 64});
    const auto greedy = allot::plan(given, {.capacity = capacity, .effort = 0});
    REQUIRE(!greedy || made);
    const bool is_small = !draw.is_wide() && allot::check_problem(given).reason == allot::plan_refusal::none;
    if (!made) {
        if (is_small && made.error().reason == allot::plan_refusal::contradiction)
            REQUIRE(!problems::brute_force{given}.exists(problems::brute_force::highest));
        return;
    }
    check_summary(*made, capacity);
    std::vector<std::uint64_t> offsets;
    for (const allot::plan_place& each : made->places) offsets.push_back(each.offset);
    allot::plan_heap workspace{allot::validate_space(given)};
    REQUIRE(allot::validate(given, offsets, made->peak, workspace).kind == allot::plan_violation_kind::none);
    if (greedy) REQUIRE(made->peak <= greedy->peak && greedy->bound <= made->peak && made->bound <= greedy->peak);
    if (!is_small || made->peak > problems::brute_force::highest) return;
    const problems::brute_force all{given};
    REQUIRE(all.is_plan([&](std::size_t i) { return offsets[i]; }, made->peak));
    const std::uint64_t lowest = all.lowest(made->peak);
    REQUIRE(made->bound <= lowest);
    if (made->status == plan_status::optimal) REQUIRE(made->peak == lowest);
    if (made->status == plan_status::infeasible) REQUIRE(lowest > capacity);
}

/// A problem with moves that owns its arrays.
struct moves_owner {
    problems::owner buffers{};
    std::vector<allot::plan_memory> memories{};
    std::vector<allot::plan_access> accesses{};
    std::vector<std::uint64_t> allowed{}, durations{};

    explicit moves_owner(choices& draw) {
        if (draw.below(4) != 0) make_small_fast_memory(draw);
        else make_any(draw);
        for (std::size_t i = draw.below(32); i-- != 0;) {
            const std::size_t buffer = draw.index(buffers.buffers.size());
            const auto live = buffer < buffers.buffers.size() ? buffers.buffers[buffer].live : allot::lifetime{0, 1};
            const std::uint64_t from = static_cast<std::uint64_t>(live.from),
                                length = static_cast<std::uint64_t>(live.until) - from;
            const std::uint64_t step = draw.below(16);
            accesses.push_back(
                {buffer, static_cast<std::int64_t>(from + (length == 0 ? 0 : step % length)), draw.below(3) == 0});
        }
        for (std::size_t i = 12 + draw.below(5); i-- != 0;) durations.push_back(draw.number(50));
    }
    [[nodiscard]] allot::moves_problem problem() const {
        return {{.buffers = buffers, .memories = memories, .allowed = allowed}, accesses};
    }

private:
    /// Makes a problem in which copies save costs.
    void make_small_fast_memory(choices& draw) {
        for (std::size_t i = 1 + draw.below(6); i-- != 0;) {
            const auto from = static_cast<std::int64_t>(draw.below(4));
            buffers.buffers.push_back({1 + draw.below(8), {from, 12 - static_cast<std::int64_t>(draw.below(8))}});
        }
        memories = {{.capacity = 4 + draw.below(16), .cost = draw.below(3)}};
        if (draw.below(4) == 0) memories.push_back({.capacity = 4 + draw.below(16), .align = draw.align(), .cost = 3});
        memories.push_back({.cost = 3 + draw.number(16)});
    }
    void make_any(choices& draw) {
        buffers = any_problem(draw, draw.below(32) == 31);
        for (std::size_t i = draw.below(4); i-- != 0;)
            memories.push_back({draw.number(24), draw.align(), draw.number(4)});
        std::sort(memories.begin(), memories.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
        if (draw.below(8) != 0) memories.push_back({.cost = memories.empty() ? 1 : memories.back().cost});
        if (draw.below(4) == 0)
            for (std::size_t i = 0; i != buffers.buffers.size(); ++i) allowed.push_back(draw.below(16));
    }
};

constexpr allot::memories_options short_search{.effort = 300, .remember = 64}, no_search{.effort = 0, .remember = 0};

void plan_moves(choices draw) {
    const moves_owner given{draw};
    const allot::moves_problem problem = given.problem();
    const auto made = allot::plan_moves(problem, short_search), simple = allot::plan_moves(problem, no_search);
    REQUIRE(static_cast<bool>(made) == static_cast<bool>(simple));
    if (!made) return;
    REQUIRE(fits(made->status) == (made->unplaced == 0));
    if (made->unplaced != 0) return;
    REQUIRE(allot::validate_moves(problem, *made).kind == allot::moves_violation_kind::none);
    REQUIRE(made->bound <= made->cost);
    REQUIRE((made->status == plan_status::optimal) == (made->bound == made->cost));
    if (simple->unplaced == 0) REQUIRE(made->bound <= simple->cost && simple->bound <= made->cost);
    REQUIRE(simple->status != plan_status::infeasible);
}

void plan_timed(choices draw) {
    const moves_owner given{draw};
    const allot::timed_problem problem{.moves = given.problem(),
                                       .durations = given.durations,
                                       .copy_cost = draw.number(4),
                                       .latency = draw.number(20)};
    const auto made = allot::plan_timed(problem, short_search), simple = allot::plan_timed(problem, no_search);
    REQUIRE(static_cast<bool>(made) == static_cast<bool>(simple));
    if (!made) return;
    REQUIRE(fits(made->status) == (made->unplaced == 0));
    if (made->unplaced != 0) return;
    REQUIRE(allot::validate_timed(problem, *made).kind == allot::moves_violation_kind::none);
    REQUIRE(made->bound <= made->elapsed);
    REQUIRE(made->elapsed <= made->whole_elapsed);
    if (simple->unplaced == 0) REQUIRE(made->bound <= simple->elapsed && simple->bound <= made->elapsed);
    REQUIRE(simple->status != plan_status::infeasible);
}

void plan_queues(choices draw) {
    problems::queued_owner given;
    const std::size_t operators = draw.below(10), count = draw.below(7);
    for (std::size_t i = 0; i != operators; ++i) given.queues.push_back(draw.below(4));
    for (std::size_t i = draw.below(8); i-- != 0;) {
        const std::size_t late = draw.index(operators);
        given.waits.push_back({late, draw.index(late)});
    }
    for (std::size_t i = 0; i != count; ++i) given.buffers.push_back({draw.number(9), draw.align()});
    for (std::size_t i = draw.below(16); i-- != 0;) given.uses.push_back({draw.index(count), draw.index(operators)});
    const allot::queued_problem problem = given.problem();
    const std::uint64_t capacity = draw.below(2) == 0 ? ~std::uint64_t{0} : draw.number(40);
    const auto made = allot::plan_queues(problem, {.capacity = capacity, .effort = 400, .remember = 64});
    if (!made) return;
    check_summary(*made, capacity);
    REQUIRE(allot::validate_queues(problem, *made, made->peak).kind == allot::queued_violation_kind::none);
    if (draw.is_wide() || made->peak > problems::brute_force::highest) return;
    REQUIRE(made->bound >= given.heaviest());
    const problems::owner pairs = given.as_pairs();
    const std::uint64_t lowest = problems::brute_force{pairs}.lowest(made->peak);
    REQUIRE(made->bound <= lowest);
    if (made->status == plan_status::optimal) REQUIRE(made->peak == lowest);
    if (made->status == plan_status::infeasible) REQUIRE(lowest > capacity);
}

allot::symbolic_size any_size(choices& draw) {
    allot::symbolic_size made;
    for (std::size_t products = 1 + draw.below(2); products-- != 0;) {
        allot::symbolic_extent factors[3];
        const std::size_t count = draw.below(4);
        for (std::size_t i = 0; i != count; ++i) {
            factors[i].constant = draw.number(4);
            factors[i].factor = draw.number(3);
            factors[i].symbol = draw.index(2);
        }
        made = made + allot::symbolic_size::product_of(std::span{factors}.first(count));
    }
    return made;
}

void check_value(const allot::ranged_plan& made, const problems::owner& here, std::span<const std::uint64_t> values) {
    std::vector<allot::plan_place> places(here.buffers.size());
    const auto peak = made.place(values, places);
    const allot::ranged_piece* const piece = made.piece_of(values);
    REQUIRE(peak && piece != nullptr && *peak <= piece->peak && piece->peak <= made.peak);
    std::vector<std::uint64_t> offsets;
    for (const allot::plan_place& each : places) offsets.push_back(each.offset);
    allot::plan_heap workspace{allot::validate_space(here)};
    REQUIRE(allot::validate(here, offsets, *peak, workspace).kind == allot::plan_violation_kind::none);
    if (piece->excess == allot::ranged_piece::unproved || *peak > problems::brute_force::highest) return;
    REQUIRE(1000 * *peak <= (1000 + piece->excess) * problems::brute_force{here}.lowest(*peak));
}

void plan_ranged(choices draw) {
    std::vector<allot::symbolic_buffer> buffers;
    problems::owner given;
    const std::size_t count = draw.below(6);
    for (std::size_t i = 0; i != count; ++i) buffers.push_back({any_size(draw), draw.live(), draw.align()});
    for (std::size_t i = draw.below(3); i-- != 0;) given.revivals.push_back({draw.index(count), draw.live()});
    for (std::size_t i = draw.below(3); i-- != 0;) given.apart.push_back({draw.index(count), draw.index(count)});
    const std::uint64_t least[] = {draw.number(3), draw.number(3)};
    const std::uint64_t most[] = {least[0] + draw.number(4), least[1] + draw.number(4)};
    const allot::ranged_problem problem{
        {.buffers = buffers, .bounds = most, .revivals = given.revivals, .apart = given.apart}, least};
    const auto made = allot::plan_ranged(
        problem,
        {.tolerance = draw.below(4) * 100, .pieces_at_most = draw.below(9), .effort = 500, .each = {.effort = 100}});
    if (!made) return;
    const allot::ranged_violation_kind kind = allot::validate_ranged(problem, *made, 2000).kind;
    REQUIRE(kind == allot::ranged_violation_kind::none ||
            (draw.is_wide() && kind == allot::ranged_violation_kind::not_proved));
    const auto check = [&](std::uint64_t first, std::uint64_t second) {
        const std::uint64_t values[] = {first, second};
        given.buffers.clear();
        for (const allot::symbolic_buffer& each : buffers) {
            std::uint64_t size = 0;
            REQUIRE(each.size.bytes(values, size));
            given.buffers.push_back({size, each.live, each.align});
        }
        check_value(*made, given, values);
    };
    check(least[0], least[1]);
    check(most[0], most[1]);
    check(least[0], most[1]);
    if (draw.is_wide()) return;
    for (std::uint64_t first = least[0]; first <= most[0]; ++first)
        for (std::uint64_t second = least[1]; second <= most[1]; ++second) check(first, second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
    if (size == 0) return 0;
    const choices draw{{bytes + 1, size - 1}, bytes[0] % 2 != 0};
    switch (bytes[0] / 2 % 5) {
        case 0: plan_one(draw); break;
        case 1: plan_moves(draw); break;
        case 2: plan_timed(draw); break;
        case 3: plan_queues(draw); break;
        default: plan_ranged(draw);
    }
    return 0;
}
