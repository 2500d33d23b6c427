// SPDX-License-Identifier: BSL-1.0
// queues: plans an input whose operators run on several queues.
//
//     input ──► allot::plan_queues ──► allot::validate_queues
//
// The lifetimes of the input are the steps of the submission. They serve pictures and reports: the plan follows the
// order of the operators.
#pragma once

#include "explain.hpp"
#include "options.hpp"

#include <allot/plan/queues.hpp>
#include <allot/plan/validate_queues.hpp>

namespace planner {

/// The operators of an input as a problem. The problem is a view of this object.
class queued {
public:
    explicit queued(const input& given) : given_{given} {
        for (const allot::plan_buffer& each : given.buffers) buffers_.push_back({each.size, each.align});
    }
    queued(const queued&) = delete;
    queued& operator=(const queued&) = delete;

    [[nodiscard]] allot::queued_problem problem() const {
        return {buffers_, given_.submitted->queues, given_.submitted->waits, given_.submitted->uses};
    }

private:
    const input& given_;
    std::vector<allot::queued_buffer> buffers_;
};

inline void check_queues(const input& given, const options& chosen) {
    if (given.memories.size() > 1 || chosen.pages || chosen.moves || !chosen.certificate.empty() ||
        chosen.out.ends_with(".json"))
        throw usage_error{given.path +
                          " has several queues; --pages, --moves, --certificate, several memories and a "
                          "plan in JSON cannot be used with it"};
}

/// Plans for all orders in which the queues can run.
template <class Watch>
[[nodiscard]] outcome plan_on_queues(const input& given, bool again_and_again, Watch watch) {
    const queued of{given};
    const plan_watch watched = [&](allot::plan_progress now) { return watch(std::size_t{0}, now); };
    const auto make = [&](const allot::plan_options& chosen, auto each) {
        return allot::plan_queues(of.problem(), chosen, each);
    };
    const allot::plan_options options{.capacity = given.memories[0].capacity};
    auto plan = again_and_again ? plan_again_and_again(make, options, watched) : make(options, watched);
    if (!plan) throw input_error{given.path + ": " + plan.error().what()};
    outcome made;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i != given.buffers.size(); ++i) {
        made.offsets.push_back(plan->places[i].offset);
        all.push_back(i);
    }
    made.memories.push_back({std::move(all), *plan});
    made.at_once = plan->heaviest;
    return made;
}

/// Returns the mistake in the plan as a sentence; empty if it is valid.
[[nodiscard]] inline std::string mistake_on_queues(const input& given, const outcome& made) {
    const queued of{given};
    allot::queued_plan plan;
    const allot::plan_summary& sum = made.memories[0].plan;
    for (std::size_t i = 0; i != given.buffers.size(); ++i)
        plan.places.push_back({.offset = made.offsets[i], .size = given.buffers[i].size});
    plan.heaviest = made.at_once;
    const allot::queued_violation found = allot::validate_queues(
        of.problem(), plan, made.fits() ? std::min(sum.peak, given.memories[0].capacity) : sum.peak);
    if (found.kind == allot::queued_violation_kind::none) return {};
    const auto name = [&](std::size_t i) { return i < given.names.size() ? given.names[i] : std::to_string(i); };
    return std::string{found.what()} + ": " + name(found.first) + " and " + name(found.second);
}

/// Returns why a plan does not fit.
[[nodiscard]] inline std::vector<explanation> explanations_on_queues(const input& given, const outcome& made) {
    if (made.fits()) return {};
    const allot::plan_summary& plan = made.memories[0].plan;
    const std::uint64_t capacity = given.memories[0].capacity;
    std::string why = "the search found no arrangement that fits the capacity of " + bytes(capacity) + " bytes";
    if (plan.bound > capacity) {
        why = "these buffers can be in use at the same time, and have " + bytes(plan.bound - capacity) +
              " bytes more than the capacity of " + bytes(capacity) + ":";
        for (std::size_t k = 0; k != made.at_once.size() && k != 8; ++k)
            why += (k == 0 ? " " : ", ") + given.names[made.at_once[k]] + " (" +
                   bytes(given.buffers[made.at_once[k]].size) + " bytes)";
        if (made.at_once.size() > 8) why += ", and " + std::to_string(made.at_once.size() - 8) + " more";
    }
    return {{given.memories[0].name, std::move(why), {}}};
}

}  // namespace planner
