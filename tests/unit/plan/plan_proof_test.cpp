// All claims of the planner for one memory (optimal, infeasible, bounds, plans, errors), compared with the trial of
// every offset, for small random problems with all constraints.
#include <allot/plan/plan.hpp>
#include <allot/plan/replan.hpp>
#include <allot/plan/validate.hpp>

#include "brute_force.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using allot::plan_refusal;
using allot::plan_status;
using problems::brute_force;

/// Finds the first false claim of the planner for one problem.
class claims {
public:
    explicit claims(std::uint64_t seed)
        : seed_{seed}, small_{problems::everything(seed)}, problem_{small_.view()}, truth_{problem_} {}

    [[nodiscard]] std::string false_one() {
        const auto first = allot::plan(problem_, {.effort = 0});
        if (!first) return refused(first.error());
        if (first->peak > brute_force::highest) return {};  // too large to try all offsets; see `tried`
        // The lowest height, proved by trying all lower ones. The plan itself is checked with the others below.
        lowest_ = truth_.lowest(first->peak);
        if (lowest_ > first->peak) return "the peak of a plan is below all plans";
        tried_ = true;
        plans(0, static_cast<std::size_t>(first->peak));
        plans(100, 40);
        if (seed_ % 16 == 0)
            plans(allot::plan_options{}.effort, seed_ % 256 == 0 ? allot::plan_options{}.remember : 256);
        bounds();
        searches();
        replans(*first);
        return wrong_;
    }
    [[nodiscard]] bool tried() const { return tried_; }
    [[nodiscard]] std::uint64_t lowest() const { return lowest_; }
    [[nodiscard]] std::string text() const {
        return "seed " + std::to_string(seed_) + ": " + problems::text_of(problem_);
    }

private:
    void claim(bool holds, const char* what) {
        if (!holds && wrong_.empty()) wrong_ = what;
    }
    /// An error claims that no plan exists.
    [[nodiscard]] std::string refused(allot::plan_error error) const {
        const bool says_so =
            error.reason == plan_refusal::contradiction || error.reason == plan_refusal::fixed_misaligned;
        if (!says_so) return "refused for another reason: " + std::to_string(static_cast<int>(error.reason));
        if (error.which >= problem_.buffers.size()) return "a refusal names no buffer";
        return truth_.exists(brute_force::highest) ? "refused, and there is a plan" : std::string{};
    }
    void keeps_all(const auto& places, std::uint64_t peak) {
        claim(truth_.is_plan([&](std::size_t i) { return places[i].offset; }, peak), "what is called a plan is none");
        std::uint64_t height = 0;
        offsets_.clear();
        for (const allot::plan_place& place : places) {
            offsets_.push_back(place.offset);
            if (place.size != 0) height = std::max(height, place.offset + place.size);
        }
        claim(height == peak, "the peak is not that of the places");
        allot::plan_heap workspace{allot::validate_space(problem_)};
        claim(allot::validate(problem_, offsets_, peak, workspace).kind == allot::plan_violation_kind::none,
              "the validator refuses a plan");
    }
    void says(const allot::plan_summary& made, std::uint64_t capacity) {
        claim(made.bound <= lowest_, "a bound above the lowest plan");
        switch (made.status) {
            case plan_status::optimal:
                claim(made.peak == lowest_ && made.peak <= capacity, "optimal, and it is not");
                break;
            case plan_status::feasible: claim(made.peak <= capacity, "feasible, and it does not fit"); break;
            case plan_status::infeasible: claim(lowest_ > capacity, "infeasible, and there is a plan"); break;
            case plan_status::out_of_budget:
            case plan_status::out_of_moves: claim(made.peak > capacity, "out of budget or moves, and it fits"); break;
        }
    }
    void plans(std::uint64_t effort, std::size_t remember) {
        constexpr std::uint64_t unlimited = allot::plan_options{}.capacity;
        remember = std::bit_floor(std::max<std::size_t>(remember, 1));
        const std::uint64_t capacities[]{unlimited, lowest_, lowest_ - (lowest_ != 0), lowest_ / 2, lowest_ + 3};
        for (const std::uint64_t capacity : {capacities[seed_ % 5], capacities[(seed_ + 2) % 5]}) {
            const auto made = allot::plan(problem_, {.capacity = capacity, .effort = effort, .remember = remember});
            claim(static_cast<bool>(made), "a plan, and refused with another effort or capacity");
            if (!made) return;
            keeps_all(made->places, made->peak);
            says(*made, capacity);
            if (effort > 1000 && capacity == unlimited)
                claim(made->status == plan_status::optimal, "not optimal after all effort");
        }
    }
    void bounds() {
        allot::plan_heap memory{allot::detail::merge_space(problem_)};
        allot::plan_workspace workspace = memory;
        allot::detail::plan_sizes sizes;
        const auto merged = allot::detail::merge_together(problem_, workspace, sizes);
        claim(static_cast<bool>(merged), "planned, and cannot be merged");
        if (!merged) return;
        allot::plan_heap more{allot::bound_space(problem_)};
        const auto bound = allot::bound_of(merged->problem, more, sizes);
        claim(bound && bound->bytes <= lowest_, "a bound of its own above the lowest plan");
    }
    void searches() {
        if (!problem_.together.empty()) return;  // `plan` searches these
        const auto counts = allot::detail::search_counts::of(problem_, 64);
        allot::plan_heap arrays{counts.space()};
        allot::detail::packing_search<> search{problem_, {arrays, 64}};
        claim(search.bound() <= lowest_, "the search's bound above the lowest plan");
        std::vector<std::uint64_t> offsets(problem_.buffers.size());
        for (const std::uint64_t height : {lowest_, lowest_ - (lowest_ != 0), lowest_ / 2, lowest_ + 2}) {
            const auto found = search.find(height, offsets, 100'000);
            claim(found.answer == (height >= lowest_ ? allot::detail::search_answer::found
                                                     : allot::detail::search_answer::infeasible),
                  "the search is wrong");
            claim(found.bound <= lowest_, "what the search proved is above the lowest plan");
            if (found.answer == allot::detail::search_answer::found)
                claim(found.height <= height && truth_.is_plan([&](std::size_t i) { return offsets[i]; }, found.height),
                      "the search found what is no plan");
        }
    }
    /// Returns whether a buffer may keep its place without regard to other buffers, and is not fixed.
    [[nodiscard]] bool may_stay(std::size_t i, std::uint64_t at) const {
        const allot::plan_buffer& buffer = problem_.buffers[i];
        for (const auto& each : problem_.fixed)
            if (each.buffer == i) return false;
        for (const auto& range : problem_.reserved)
            if (problems::share_bytes(at, buffer.size, range.offset, range.size)) return false;
        return at % buffer.align == 0;
    }
    /// Returns the capacity at which the planner stops, or 0 if there is no limit.
    [[nodiscard]] static std::uint64_t capacity_or_none(std::uint64_t capacity) {
        return capacity == allot::plan_options{}.capacity ? 0 : capacity;
    }
    /// Replans the problem with old places of which some are changed.
    void replans(const allot::memory_plan& before) {
        problems::random draw{seed_ + 7};
        std::vector<allot::plan_place> places = before.places;
        for (std::uint64_t changes = draw(3); changes-- != 0;) {
            allot::plan_place& place = places[draw.index(places.size())];
            switch (draw(4)) {
                case 0: place = allot::no_place; break;
                case 1: place.size += 1; break;
                case 2: place.offset = draw(16); break;
                default: places.resize(places.size() - (places.size() > 1)); break;
            }
        }
        const std::size_t at_most = draw.index(places.size() + 1);
        const std::uint64_t capacity =
            draw(2) == 0 ? allot::plan_options{}.capacity : lowest_ + draw(4) - (lowest_ != 0);
        const allot::plan_options options{.capacity = capacity, .effort = 100, .remember = 64};
        const auto made = allot::replan(problem_, places, at_most, options);
        problems::homes homes{.may_move = at_most};
        std::size_t others = 0;
        for (std::size_t i = 0; i != places.size(); ++i) {
            homes.at[i] = places[i].offset;
            homes.counts[i] = places[i].size == problem_.buffers[i].size &&
                              places[i].offset != allot::no_place.offset && may_stay(i, places[i].offset);
            others += homes.counts[i];
        }
        if (!made) {
            claim(made.error().reason == plan_refusal::too_few_moves, "not planned again, for no reason");
            homes.may_move = 0;
            claim(!truth_.exists(brute_force::highest, homes), "too few moves, and nobody has to move");
            return;
        }
        keeps_all(made->places, made->peak);
        says(*made, capacity);
        std::size_t moved = 0;
        for (std::size_t i = 0; i != places.size(); ++i)
            moved += homes.counts[i] && homes.at[i] != made->places[i].offset;
        claim(made->moved <= at_most && made->moved == moved, "more were moved than allowed, or others than did");
        if (made->status == plan_status::out_of_moves) claim(at_most < others, "out of moves that all may make");
        if (seed_ % 4 != 0) return;
        const auto more = allot::replan(problem_, places, at_most + 1, options);
        claim(more &&
                  std::max(more->peak, capacity_or_none(capacity)) <= std::max(made->peak, capacity_or_none(capacity)),
              "one more move makes a plan higher");
    }

    std::uint64_t seed_;
    problems::small_problem small_;
    allot::plan_problem problem_;
    brute_force truth_;
    std::uint64_t lowest_ = 0;
    bool tried_ = false;
    std::string wrong_;
    std::vector<std::uint64_t> offsets_;
};

}  // namespace

namespace {

/// A random problem, generated and planned in constant expressions.
template <std::uint64_t Seed, std::uint64_t Effort>
struct compiled {
    static constexpr problems::small_problem small = problems::everything(Seed);
    static constexpr allot::plan_problem problem = small.view();
    static constexpr allot::plan_options options{.effort = Effort, .remember = 16};
    struct answer {
        allot::plan_summary summary{};
        allot::plan_error error{};
        std::array<allot::plan_place, small.buffer_count> places{};
    };
    static constexpr answer made = [] {
        answer all;
        allot::plan_storage<allot::space_of_plan(problem, options)> workspace;
        const auto summary = allot::plan_into(problem, all.places, workspace, options);
        if (summary) all.summary = *summary;
        else all.error = summary.error();
        return all;
    }();

    static void check() {
        CAPTURE(Seed);
        const auto again = allot::plan(problem, options);
        REQUIRE(static_cast<bool>(again) == (made.error.reason == plan_refusal::none));
        if (!again) return;
        CHECK(static_cast<const allot::plan_summary&>(*again) == made.summary);
        CHECK(std::equal(made.places.begin(), made.places.end(), again->places.begin(), again->places.end()));
    }
};

void try_all(std::uint64_t first, std::uint64_t count) {
    std::uint64_t tried = 0, wrong = 0;
    for (std::uint64_t seed = first; seed != first + count; ++seed) {
        claims of{seed};
        const std::string false_one = of.false_one();
        tried += of.tried();
        if (false_one.empty() || ++wrong > 20) continue;
        MESSAGE(of.text(), "  ", false_one, ", lowest ", of.lowest());
    }
    CHECK(wrong == 0);
    CHECK(tried > count / 4 * 3);
}

}  // namespace

TEST_CASE("plan proof: claims agree with trying all offsets") { try_all(0, problems::is_slow ? 5'000 : 100'000); }

TEST_CASE("plan proof: results are equal at compile time and run time") {
    [&]<std::uint64_t... Seed>(std::integer_sequence<std::uint64_t, Seed...>) {
        (compiled<Seed, 0>::check(), ...);
        (compiled<Seed, 50>::check(), ...);
    }(std::make_integer_sequence<std::uint64_t, 16>{});
}

// A separate test, because it takes ten minutes with -O3. It plans ten million problems that follow those above, or the
// number in ALLOT_CLAIMS. Half of the problems have 6 buffers, the others 1 to 6. The buffers begin at 2 to 7 different
// steps. Two fifths of the problems have revivals, two fifths pairs that are together, two fifths pairs that are apart,
// a third reserved ranges, a third alignments, and a sixth fixed buffers. One buffer in eight is empty.
TEST_CASE("plan proof: millions of problems" * doctest::skip()) {
    const char* const given = std::getenv("ALLOT_CLAIMS");
    if (given == nullptr && problems::times(1) == 1) {
        std::printf("skipped: ./dev test --all plans ten million problems\n");
        return;
    }
    try_all(100'000, given != nullptr ? std::strtoull(given, nullptr, 10) : 10'000'000);
}
