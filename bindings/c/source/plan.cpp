// SPDX-License-Identifier: BSL-1.0
// plan: the planners of one memory, of several memories and of rows, and the validator, with arrays of the caller.
#include "counters.hpp"
#include "status.hpp"

#include <allot/plan/memories.hpp>
#include <allot/plan/plan.hpp>
#include <allot/plan/rows.hpp>
#include <allot/plan/validate.hpp>

namespace {

using namespace allot_c;

/// A workspace in own memory.
class workspace {
public:
    explicit workspace(const own_memory& memory) noexcept
        : u32_{memory},
          u64_{memory},
          extents_{memory},
          buffers_{memory},
          revivals_{memory},
          fixed_{memory},
          pairs_{memory} {}

    [[nodiscard]] bool create(const allot::plan_space& space) noexcept {
        return u32_.create(space.u32) && u64_.create(space.u64) && extents_.create(space.extents) &&
               buffers_.create(space.buffers) && revivals_.create(space.revivals) && fixed_.create(space.fixed) &&
               pairs_.create(space.pairs);
    }
    [[nodiscard]] allot::plan_workspace arrays() const noexcept {
        return {u32_.span(),      u64_.span(),   extents_.span(), buffers_.span(),
                revivals_.span(), fixed_.span(), pairs_.span()};
    }

private:
    own_array<std::uint32_t> u32_;
    own_array<std::uint64_t> u64_;
    own_array<allot::plan_extent> extents_;
    own_array<allot::plan_buffer> buffers_;
    own_array<allot::plan_revival> revivals_;
    own_array<allot::plan_fixed> fixed_;
    own_array<allot::plan_pair> pairs_;
};

/// Converts an array of the caller. An index beyond the address space names no buffer in either type.
template <class To, class From, class Convert>
[[nodiscard]] allot_status convert(const From* from, std::size_t count, own_array<To>& to,
                                   Convert convert_one) noexcept {
    if (from == nullptr && count != 0) return ALLOT_NULL_ARGUMENT;
    if (!to.create(count)) return ALLOT_OUT_OF_MEMORY;
    for (std::size_t i = 0; i != count; ++i) to[i] = convert_one(from[i]);
    return ALLOT_OK;
}
[[nodiscard]] allot::plan_pair pair_of(const allot_pair& from) noexcept {
    return {narrowed(from.first), narrowed(from.second)};
}

/// A problem of the planner, made of a problem of the caller.
class problem {
public:
    explicit problem(const own_memory& memory) noexcept
        : buffers_{memory}, revivals_{memory}, fixed_{memory}, together_{memory}, apart_{memory}, reserved_{memory} {}

    [[nodiscard]] allot_status read(const allot_problem* given) noexcept {
        allot_problem from;
        allot_status status = read_struct(given, from);
        const auto next = [&](auto convert_next) {
            if (status == ALLOT_OK) status = convert_next();
        };
        next([&] {
            return convert(from.buffers, from.buffer_count, buffers_, [](const allot_buffer& each) {
                return allot::plan_buffer{each.size, {each.from, each.until}, each.align};
            });
        });
        next([&] {
            return convert(from.revivals, from.revival_count, revivals_, [](const allot_revival& each) {
                return allot::plan_revival{narrowed(each.buffer), {each.from, each.until}};
            });
        });
        next([&] {
            return convert(from.fixed, from.fixed_count, fixed_, [](const allot_fixed& each) {
                return allot::plan_fixed{narrowed(each.buffer), each.offset};
            });
        });
        next([&] { return convert(from.together, from.together_count, together_, pair_of); });
        next([&] { return convert(from.apart, from.apart_count, apart_, pair_of); });
        next([&] {
            return convert(from.reserved, from.reserved_count, reserved_,
                           [](const allot_reserved& each) { return allot::plan_reserved{each.offset, each.size}; });
        });
        return status;
    }
    [[nodiscard]] allot::plan_problem views() const noexcept {
        return {buffers_.span(), revivals_.span(), fixed_.span(), together_.span(), apart_.span(), reserved_.span()};
    }
    [[nodiscard]] std::size_t size() const noexcept { return buffers_.size(); }

private:
    own_array<allot::plan_buffer> buffers_;
    own_array<allot::plan_revival> revivals_;
    own_array<allot::plan_fixed> fixed_;
    own_array<allot::plan_pair> together_;
    own_array<allot::plan_pair> apart_;
    own_array<allot::plan_reserved> reserved_;
};

/// Reads options, which may be absent.
[[nodiscard]] allot_status read_options(const allot_plan_options* given, allot_plan_options& into) noexcept {
    into = ALLOT_PLAN_OPTIONS_INIT;
    if (given == nullptr) return ALLOT_OK;
    const allot_status status = read_struct(given, into);
    return status == ALLOT_OK && !own_memory{into.callbacks}.is_valid() ? ALLOT_NULL_ARGUMENT : status;
}
/// Returns options of a planner with the effort of the caller.
template <class Options>
[[nodiscard]] Options with_effort(const allot_plan_options& wanted) noexcept {
    Options options;
    if (wanted.effort != 0) options.effort = wanted.effort == ALLOT_NO_SEARCH ? 0 : wanted.effort;
    return options;
}
[[nodiscard]] std::uint64_t capacity_of(const allot_plan_options& wanted) noexcept {
    return wanted.capacity == 0 ? std::numeric_limits<std::uint64_t>::max() : wanted.capacity;
}
[[nodiscard]] std::uint64_t best_of(const allot::plan_progress& now) noexcept { return now.peak; }
[[nodiscard]] std::uint64_t best_of(const allot::memories_progress& now) noexcept {
    return now.unplaced == 0 ? now.cost : std::numeric_limits<std::uint64_t>::max();
}
/// Returns a function that calls the one of the caller.
[[nodiscard]] auto watch_of(const allot_plan_options& options) noexcept {
    return [&options](const auto& now) {
        return options.watch != nullptr && options.watch(options.user, best_of(now), now.bound) != 0;
    };
}

/// Writes what a failed call has to say. Returns its code.
template <class Summary>
[[nodiscard]] allot_status refuse(allot::plan_error error, Summary made, Summary* summary) noexcept {
    made.which = error.which;
    write_struct(made, summary);
    return status_of(error.reason);
}

}  // namespace

allot_status allot_plan(const allot_problem* given, const allot_plan_options* options, allot_place* places,
                        allot_plan_summary* summary) {
    if (const allot_status status = clear_struct(summary); status != ALLOT_OK) return status;
    allot_plan_summary made = ALLOT_PLAN_SUMMARY_INIT;
    allot_plan_options wanted;
    if (const allot_status status = read_options(options, wanted); status != ALLOT_OK) return status;
    const own_memory memory{wanted.callbacks};
    problem from{memory};
    if (const allot_status status = from.read(given); status != ALLOT_OK) return status;
    if (places == nullptr && from.size() != 0) return ALLOT_NULL_ARGUMENT;
    if (const auto error = check_problem(from.views()); error.reason != allot::plan_refusal::none)
        return refuse(error, made, summary);

    auto effort = with_effort<allot::plan_options>(wanted);
    effort.capacity = capacity_of(wanted);
    workspace work{memory};
    own_array<allot::plan_place> found{memory};
    if (!work.create(space_of_plan(from.views(), effort)) || !found.create(from.size())) return ALLOT_OUT_OF_MEMORY;
    const auto plan = allot::plan_into(from.views(), found.span(), work.arrays(), effort, watch_of(wanted));
    if (!plan) return refuse(plan.error(), made, summary);
    for (std::size_t i = 0; i != from.size(); ++i) places[i] = {found[i].offset, 0};
    made.quality = static_cast<std::uint64_t>(plan->status);
    made.peak = plan->peak;
    made.align = plan->align;
    made.bound = plan->bound;
    made.step = plan->step;
    write_struct(made, summary);
    return ALLOT_OK;
}

namespace {

/// The memories of a problem, and what the buffers may use.
class memories {
public:
    explicit memories(const own_memory& memory) noexcept : memories_{memory}, separate_{memory} {}

    [[nodiscard]] allot_status read(const allot_memories* given, std::size_t buffers) noexcept {
        allot_memories from;
        if (const allot_status status = read_struct(given, from); status != ALLOT_OK) return status;
        if (from.uses != nullptr) uses_ = {from.uses, buffers};
        if (from.allowed != nullptr) allowed_ = {from.allowed, buffers};
        const allot_status status = convert(from.memories, from.memory_count, memories_, [](const allot_memory& each) {
            return allot::plan_memory{each.capacity, each.align, each.cost};
        });
        return status == ALLOT_OK ? convert(from.separate, from.separate_count, separate_, pair_of) : status;
    }
    [[nodiscard]] allot::memories_problem with(const problem& buffers) const noexcept {
        return {buffers.views(), memories_.span(), uses_, allowed_, separate_.span()};
    }
    [[nodiscard]] std::size_t size() const noexcept { return memories_.size(); }

private:
    own_array<allot::plan_memory> memories_;
    own_array<allot::plan_pair> separate_;
    std::span<const std::uint64_t> uses_{}, allowed_{};
};

[[nodiscard]] allot_place place_of(const allot::memory_place& place) noexcept {
    const bool placed = place.memory != allot::memory_place::nowhere;
    return placed ? allot_place{place.offset, place.memory} : allot_place{0, ALLOT_NOWHERE};
}
void write_places(const own_array<allot::memory_place>& found, allot_place* places) noexcept {
    for (std::size_t i = 0; i != found.size(); ++i) places[i] = place_of(found[i]);
}
void write_needs(const own_array<allot::memory_needs>& found, allot_need* needs) noexcept {
    for (std::size_t i = 0; i != found.size(); ++i) needs[i] = {found[i].peak, found[i].align};
}
/// Copies what the summaries of all plans in several memories have.
template <class Summary>
[[nodiscard]] Summary summary_of(const allot::memories_summary& plan, Summary made) noexcept {
    made.quality = static_cast<std::uint64_t>(plan.status);
    made.cost = plan.cost;
    made.bound = plan.bound;
    made.spilled = plan.spilled;
    made.unplaced = plan.unplaced;
    made.step = plan.step;
    made.which = plan.which;
    return made;
}

}  // namespace

allot_status allot_plan_memories(const allot_problem* given, const allot_memories* given_memories,
                                 const allot_plan_options* options, allot_place* places, allot_need* needs,
                                 allot_memories_summary* summary) {
    if (const allot_status status = clear_struct(summary); status != ALLOT_OK) return status;
    const allot_memories_summary none = ALLOT_MEMORIES_SUMMARY_INIT;
    allot_plan_options wanted;
    if (const allot_status status = read_options(options, wanted); status != ALLOT_OK) return status;
    const own_memory memory{wanted.callbacks};
    problem from{memory};
    memories in{memory};
    if (const allot_status status = from.read(given); status != ALLOT_OK) return status;
    if (const allot_status status = in.read(given_memories, from.size()); status != ALLOT_OK) return status;
    if ((places == nullptr && from.size() != 0) || (needs == nullptr && in.size() != 0)) return ALLOT_NULL_ARGUMENT;
    const allot::memories_problem all = in.with(from);
    if (const auto error = allot::detail::check_memories(all); error.reason != allot::plan_refusal::none)
        return refuse(error, none, summary);

    const auto effort = with_effort<allot::memories_options>(wanted);
    workspace work{memory};
    own_array<allot::memory_place> found{memory};
    own_array<allot::memory_needs> needed{memory};
    if (!work.create(space_of_memories(all, effort)) || !found.create(from.size()) || !needed.create(in.size()))
        return ALLOT_OUT_OF_MEMORY;
    const auto plan =
        allot::plan_memories_into(all, found.span(), needed.span(), work.arrays(), effort, watch_of(wanted));
    if (!plan) return refuse(plan.error(), none, summary);
    write_places(found, places);
    write_needs(needed, needs);
    write_struct(summary_of(*plan, none), summary);
    return ALLOT_OK;
}

allot_status allot_plan_rows(const allot_problem* given, const allot_memories* given_memories, const uint64_t* rows,
                             const allot_plan_options* options, allot_place* places, allot_need* needs,
                             allot_split* splits, allot_rows_summary* summary) {
    if (const allot_status status = clear_struct(summary); status != ALLOT_OK) return status;
    const allot_rows_summary none = ALLOT_ROWS_SUMMARY_INIT;
    allot_plan_options wanted;
    if (const allot_status status = read_options(options, wanted); status != ALLOT_OK) return status;
    const own_memory memory{wanted.callbacks};
    problem from{memory};
    memories in{memory};
    if (const allot_status status = from.read(given); status != ALLOT_OK) return status;
    if (const allot_status status = in.read(given_memories, from.size()); status != ALLOT_OK) return status;
    if (((places == nullptr || splits == nullptr) && from.size() != 0) || (needs == nullptr && in.size() != 0))
        return ALLOT_NULL_ARGUMENT;
    allot::rows_problem all{in.with(from)};
    if (rows != nullptr) all.rows = {rows, from.size()};
    if (const auto error = allot::detail::check_rows(all); error.reason != allot::plan_refusal::none)
        return refuse(error, none, summary);

    const auto effort = with_effort<allot::memories_options>(wanted);
    workspace work{memory};
    own_array<allot::memory_place> found{memory};
    own_array<allot::memory_needs> needed{memory};
    own_array<allot::row_split> divided{memory};
    if (!work.create(space_of_rows(all, effort)) || !found.create(from.size()) || !needed.create(in.size()) ||
        !divided.create(from.size()))
        return ALLOT_OUT_OF_MEMORY;
    const auto plan = allot::plan_rows_into(all, found.span(), needed.span(), divided.span(), work.arrays(), effort,
                                            watch_of(wanted));
    if (!plan) return refuse(plan.error(), none, summary);
    write_places(found, places);
    write_needs(needed, needs);
    for (std::size_t k = 0; k != plan->divided; ++k)
        splits[k] = {divided[k].buffer, divided[k].rows, place_of(divided[k].rest)};
    allot_rows_summary made = summary_of(*plan, none);
    made.divided = plan->divided;
    made.whole_cost = plan->whole_cost;
    made.whole_unplaced = plan->whole_unplaced;
    write_struct(made, summary);
    return ALLOT_OK;
}

allot_status allot_plan_validate(const allot_problem* given, const allot_plan_options* options,
                                 const allot_place* places, uint64_t which[2]) {
    if (which != nullptr) which[0] = which[1] = 0;
    allot_plan_options wanted;
    if (const allot_status status = read_options(options, wanted); status != ALLOT_OK) return status;
    const own_memory memory{wanted.callbacks};
    problem from{memory};
    if (const allot_status status = from.read(given); status != ALLOT_OK) return status;
    if (places == nullptr && from.size() != 0) return ALLOT_NULL_ARGUMENT;
    if (const auto error = check_problem(from.views()); error.reason != allot::plan_refusal::none) {
        if (which != nullptr) which[0] = error.which;
        return status_of(error.reason);
    }
    for (std::size_t i = 0; i != from.size(); ++i) {
        if (places[i].memory == 0) continue;
        if (which != nullptr) which[0] = i;
        return places[i].memory == ALLOT_NOWHERE ? ALLOT_NO_PLACE : ALLOT_NO_SUCH_MEMORY;
    }
    workspace work{memory};
    own_array<std::uint64_t> offsets{memory};
    if (!work.create(validate_space(from.views())) || !offsets.create(from.size())) return ALLOT_OUT_OF_MEMORY;
    for (std::size_t i = 0; i != from.size(); ++i) offsets[i] = places[i].offset;
    const auto found = allot::validate(from.views(), offsets.span(), capacity_of(wanted), work.arrays());
    if (which != nullptr) {
        which[0] = found.first;
        which[1] = found.second;
    }
    return status_of(found.kind);
}
