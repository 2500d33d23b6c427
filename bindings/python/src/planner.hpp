// SPDX-License-Identifier: BSL-1.0
// planner: what the bindings of all planners share: columns of numbers, constraints, deadlines, errors and pictures.
#pragma once

#include "module.hpp"

#include <examples/apps/memory_planner/picture.hpp>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <sstream>

namespace allot_python {

using numbers = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using steps = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using pairs = std::vector<std::pair<std::size_t, std::size_t>>;
using progress = std::optional<nb::typed<nb::callable, bool(std::uint64_t, std::uint64_t)>>;  // of reached, bound

/// A problem of the planner is invalid: `allot.PlanError`.
struct plan_failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns the error with the index that it concerns. `too_large`: the text for numbers that are too large.
[[nodiscard]] std::string reason_of(allot::plan_error error, const char* too_large);

/// A table of buffers and their constraints.
struct table {
    table(const numbers& sizes, const steps& lower, const steps& upper, const numbers& alignments,
          const std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>>& lives,
          const std::vector<std::pair<std::size_t, std::uint64_t>>& fixed_offsets, const pairs& together_pairs,
          const pairs& apart_pairs, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges,
          std::vector<std::string> ids);

    [[nodiscard]] allot::plan_problem problem() const { return {buffers, revivals, fixed, together, apart, reserved}; }
    /// Returns the input of a picture, without memories.
    [[nodiscard]] planner::input shown() const;

    std::vector<allot::plan_buffer> buffers;
    std::vector<allot::plan_revival> revivals;
    std::vector<allot::plan_fixed> fixed;
    std::vector<allot::plan_pair> together, apart;
    std::vector<allot::plan_reserved> reserved;
    std::vector<std::string> names;
};

/// Ends a planner at a deadline, on an exception of a signal handler such as KeyboardInterrupt, or when the callback
/// returns true or raises an exception.
class watcher {
    using clock = std::chrono::steady_clock;

public:
    watcher(std::optional<double> seconds, progress called);

    /// Called without the interpreter's lock, which it takes 20 times a second at most.
    bool operator()(allot::plan_progress now, unlocked& during) noexcept { return watch(now.peak, now.bound, during); }
    bool operator()(allot::memories_progress now, unlocked& during) noexcept {
        return watch(now.cost, now.bound, during);
    }
    void rethrow() { kept_.rethrow(); }

private:
    bool watch(std::uint64_t reached, std::uint64_t bound, unlocked& during) noexcept;
    [[nodiscard]] bool is_ended_by_call(std::uint64_t reached, std::uint64_t bound);

    progress called_;
    clock::time_point started_ = clock::now(), next_ = started_;
    std::optional<clock::time_point> deadline_{};
    kept_exception kept_{};
    bool is_done_ = false;
};

/// The result of a planner, `Made`, and what its picture needs.
template <class Made>
struct planned {
    table of;
    Made made;
    double seconds = 0;
    std::uint64_t capacity = planner::unlimited;  // of one memory
    std::vector<allot::plan_memory> memories{};   // if there are several
};

/// Calls `plan(problem, watch)` without the interpreter's lock. `watch(progress)` returns true at the end of the time.
/// `too_large`: the text of the error for numbers that are too large.
template <class Plan>
[[nodiscard]] auto run_planner(const table& of, std::optional<double> seconds, progress called, const char* too_large,
                               Plan plan) {
    using clock = std::chrono::steady_clock;
    watcher watch{seconds, std::move(called)};
    const auto begin = clock::now();
    auto answer = [&] {
        unlocked during;
        return plan(of.problem(), [&](auto now) { return watch(now, during); });
    }();
    watch.rethrow();
    if (!answer) throw plan_failure{reason_of(answer.error(), too_large)};
    using made = planned<std::remove_cvref_t<decltype(*answer)>>;
    return made{of, std::move(*answer), std::chrono::duration<double>(clock::now() - begin).count()};
}

/// Returns a picture as SVG. It has one plan for each memory of the input.
[[nodiscard]] std::string picture_of(const planner::input& shown, std::vector<allot::plan_summary> plans,
                                     planner::outcome made);

/// Defines the properties that the results of all planners have.
template <class Made>
[[nodiscard]] nb::class_<planned<Made>> bind_result(nb::module_& m, const char* name) {
    using result = planned<Made>;
    return nb::class_<result>(m, name)
        .def_prop_ro("status", [](const result& self) { return to_string(self.made.status); })
        .def_prop_ro("bound", [](const result& self) { return self.made.bound; })
        .def_ro("seconds", &result::seconds);
}

void bind_memories_planner(nb::module_& m);

}  // namespace allot_python
