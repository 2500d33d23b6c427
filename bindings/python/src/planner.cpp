// SPDX-License-Identifier: BSL-1.0
// Plans. The package converts tables of buffers to arrays of numbers. The planner runs without the interpreter's lock.
#include "module.hpp"

#include <examples/apps/memory_planner/picture.hpp>

#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <functional>
#include <optional>
#include <sstream>

namespace allot_python {

namespace {

using numbers = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using steps = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using pairs = std::vector<std::pair<std::size_t, std::size_t>>;
using progress = std::function<bool(std::uint64_t, std::uint64_t)>;

/// A problem of the planner is invalid: `allot.PlanError`.
struct plan_failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] void refuse(allot::plan_error error) {
    const char* const of = [&] {
        using enum allot::plan_refusal;
        switch (error.reason) {
            case empty_lifetime:
            case overlapping_lifetimes:
            case not_an_alignment:
            case no_such_buffer:
            case fixed_misaligned:
            case contradiction:
            case fixed_in_no_one_memory: return "buffer ";
            case not_a_memory: return "memory ";
            default: return "";
        }
    }();
    throw plan_failure{*of == '\0' ? error.what() : of + std::to_string(error.which) + ": " + error.what()};
}

/// The constraints of a problem.
struct constraints {
    std::vector<allot::plan_revival> revivals{};
    std::vector<allot::plan_fixed> fixed{};
    std::vector<allot::plan_pair> together{}, apart{};
    std::vector<allot::plan_reserved> reserved{};

    [[nodiscard]] allot::plan_problem of(const std::vector<allot::plan_buffer>& buffers) const {
        return {buffers, revivals, fixed, together, apart, reserved};
    }
};

/// Ends a planner at a deadline, on an exception of a signal handler such as KeyboardInterrupt, or when the callback
/// returns true or raises an exception.
class watcher {
    using clock = std::chrono::steady_clock;

public:
    watcher(std::optional<double> seconds, progress called) : called_{std::move(called)} {
        if (!seconds) return;
        const auto longest = std::chrono::duration<double>{std::chrono::hours{24 * 365}};
        deadline_ = started_ + std::chrono::duration_cast<clock::duration>(
                                   std::min(std::chrono::duration<double>{*seconds}, longest));
    }

    /// Called without the interpreter's lock, which it takes 20 times a second at most.
    bool operator()(allot::plan_progress now) noexcept { return watch(now.peak, now.bound); }
    bool operator()(allot::memories_progress now) noexcept { return watch(now.cost, now.bound); }
    void rethrow() { kept_.rethrow(); }

private:
    bool watch(std::uint64_t reached, std::uint64_t bound) noexcept {
        if (is_done_) return true;
        const auto time = clock::now();
        if (deadline_ && time >= *deadline_) return is_done_ = true;
        if (time < next_) return false;
        next_ = time + std::chrono::milliseconds{50};
        const nb::gil_scoped_acquire lock;
        is_done_ = !kept_.guard([&] {
            if (PyErr_CheckSignals() != 0) throw nb::python_error{};
            if (called_ && called_(reached, bound)) is_done_ = true;
        }) || is_done_;
        return is_done_;
    }

    progress called_;
    clock::time_point started_ = clock::now(), next_ = started_;
    std::optional<clock::time_point> deadline_{};
    kept_exception kept_{};
    bool is_done_ = false;
};

std::vector<allot::plan_buffer> buffers_of(const numbers& sizes, const steps& lower, const steps& upper,
                                           const numbers& alignments) {
    std::vector<allot::plan_buffer> made(sizes.size());
    if (lower.size() != made.size() || upper.size() != made.size() || alignments.size() != made.size())
        throw std::invalid_argument{"the columns have different lengths"};
    for (std::size_t i = 0; i != made.size(); ++i) made[i] = {sizes(i), {lower(i), upper(i)}, alignments(i)};
    return made;
}

/// A plan for one memory, and what its picture needs.
struct plan {
    std::vector<allot::plan_buffer> buffers;
    constraints with;
    std::uint64_t capacity;
    allot::memory_plan made;
    double seconds = 0;

    [[nodiscard]] bool fits() const { return made.peak <= capacity; }
    [[nodiscard]] std::vector<std::uint64_t> offsets() const {
        std::vector<std::uint64_t> all;
        for (const allot::plan_place& place : made.places) all.push_back(place.offset);
        return all;
    }
};

/// A plan for several memories.
struct memories_plan {
    std::vector<allot::plan_buffer> buffers;
    constraints with;
    std::vector<allot::plan_memory> memories;
    allot::memories_plan made;
    double seconds = 0;
};

/// Returns the picture of buffers in memories as SVG.
std::string picture_of(const std::vector<allot::plan_buffer>& buffers, const constraints& with,
                       const std::vector<std::string>& names, std::vector<planner::memory> memories,
                       std::vector<std::size_t> memory_of, std::vector<std::uint64_t> offsets,
                       std::vector<allot::plan_summary> plans, double seconds) {
    planner::input given{.path = "Plan", .buffers = buffers, .names = names, .memory_of = std::move(memory_of)};
    given.revivals = with.revivals;
    given.memories = std::move(memories);
    for (std::size_t i = names.size(); i < buffers.size(); ++i) given.names.push_back(std::to_string(i));
    planner::outcome made{.offsets = std::move(offsets), .seconds = seconds};
    for (const allot::plan_summary& each : plans) made.memories.push_back({{}, each});
    for (std::size_t i = 0; i != buffers.size(); ++i) made.memories[given.memory_of[i]].buffers.push_back(i);
    std::ostringstream out;
    planner::picture{given, made}.write(out);
    return std::move(out).str();
}

std::string picture(const plan& of, const std::vector<std::string>& names) {
    if (of.buffers.empty()) throw std::invalid_argument{"the plan has no buffers"};
    const nb::gil_scoped_release unlocked;
    return picture_of(of.buffers, of.with, names, {{"memory", of.capacity, {}, of.with.reserved}},
                      std::vector<std::size_t>(of.buffers.size()), of.offsets(), {of.made}, of.seconds);
}

std::string picture_of_memories(const memories_plan& of, const std::vector<std::string>& names) {
    if (of.buffers.empty()) throw std::invalid_argument{"the plan has no buffers"};
    if (of.made.unplaced != 0) throw std::invalid_argument{"the plan has unplaced buffers"};
    const nb::gil_scoped_release unlocked;
    std::vector<planner::memory> memories;
    std::vector<allot::plan_summary> plans;
    for (std::size_t m = 0; m != of.memories.size(); ++m) {
        memories.push_back({"memory " + std::to_string(m), of.memories[m].capacity, of.memories[m].cost});
        plans.push_back({.status = of.made.status, .peak = of.made.needs[m].peak, .align = of.made.needs[m].align});
    }
    std::vector<std::size_t> memory_of;
    std::vector<std::uint64_t> offsets;
    for (const allot::memory_place& place : of.made.places) {
        memory_of.push_back(place.memory);
        offsets.push_back(place.offset);
    }
    return picture_of(of.buffers, of.with, names, std::move(memories), std::move(memory_of), std::move(offsets),
                      std::move(plans), of.seconds);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

constraints constraints_of(const std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>>& revivals,
                           const std::vector<std::pair<std::size_t, std::uint64_t>>& fixed, const pairs& together,
                           const pairs& apart, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& reserved) {
    constraints made;
    for (const auto& [buffer, lower, upper] : revivals) made.revivals.push_back({buffer, {lower, upper}});
    for (const auto& [buffer, offset] : fixed) made.fixed.push_back({buffer, offset});
    for (const auto& [first, second] : together) made.together.push_back({first, second});
    for (const auto& [first, second] : apart) made.apart.push_back({first, second});
    for (const auto& [offset, size] : reserved) made.reserved.push_back({offset, size});
    return made;
}

plan plan_one(const numbers& sizes, const steps& lower, const steps& upper, const numbers& alignments,
              const constraints& with, std::uint64_t capacity, std::uint64_t effort, std::optional<double> seconds,
              progress called) {
    plan made{buffers_of(sizes, lower, upper, alignments), with, capacity, {}};
    watcher watch{seconds, std::move(called)};
    const allot::plan_options options{.capacity = capacity, .effort = effort};
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = [&] {
        const nb::gil_scoped_release unlocked;
        const auto problem = made.with.of(made.buffers);
        const auto watched = [&](allot::plan_progress now) { return watch(now); };
        if (!seconds) return allot::plan(problem, options, watched);
        return planner::plan_again_and_again(
            [&](const allot::plan_options& chosen, auto each) { return allot::plan(problem, chosen, each); }, options,
            watched);
    }();
    watch.rethrow();
    if (!answer) refuse(answer.error());
    made.made = *answer;
    made.seconds = seconds_since(begin);
    return made;
}

memories_plan plan_several(const numbers& sizes, const steps& lower, const steps& upper, const numbers& alignments,
                           const constraints& with,
                           const std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>& memories,
                           const std::vector<std::uint64_t>& uses, const std::vector<std::uint64_t>& allowed,
                           std::uint64_t effort, std::optional<double> seconds, progress called) {
    memories_plan made{buffers_of(sizes, lower, upper, alignments), with, {}, {}};
    for (const auto& [capacity, align, cost] : memories) made.memories.push_back({capacity, align, cost});
    watcher watch{seconds, std::move(called)};
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = [&] {
        const nb::gil_scoped_release unlocked;
        return allot::plan_memories({made.with.of(made.buffers), made.memories, uses, allowed}, {.effort = effort},
                                    [&](allot::memories_progress now) { return watch(now); });
    }();
    watch.rethrow();
    if (!answer) refuse(answer.error());
    made.made = *answer;
    made.seconds = seconds_since(begin);
    return made;
}

/// Returns the mistake in the offsets as a sentence, or nothing.
std::optional<std::string> mistake_in(const numbers& sizes, const steps& lower, const steps& upper,
                                      const numbers& alignments, const constraints& with, const numbers& offsets,
                                      std::uint64_t capacity) {
    const std::vector<allot::plan_buffer> buffers = buffers_of(sizes, lower, upper, alignments);
    const std::vector<std::uint64_t> given(offsets.data(), offsets.data() + offsets.size());
    if (given.size() != buffers.size()) throw std::invalid_argument{"each buffer needs one offset"};
    const nb::gil_scoped_release unlocked;
    const allot::plan_problem problem = with.of(buffers);
    allot::plan_heap workspace{allot::validate_space(problem)};
    const allot::plan_violation found = allot::validate(problem, given, capacity, workspace);
    if (found.kind == allot::plan_violation_kind::none) return std::nullopt;
    return std::string{found.what()} + ": " + std::to_string(found.first) + " and " + std::to_string(found.second);
}

void bind_results(nb::module_& m) {
    const auto status = [](const auto& of) { return to_string(of.made.status); };
    nb::class_<plan>(m, "PlanOfOne")
        .def_prop_ro("offsets", &plan::offsets)
        .def_prop_ro("peak", [](const plan& of) { return of.made.peak; })
        .def_prop_ro("bound", [](const plan& of) { return of.made.bound; })
        .def_prop_ro("alignment", [](const plan& of) { return of.made.align; })
        .def_prop_ro("step", [](const plan& of) { return of.made.step; })
        .def_prop_ro("status", [status](const plan& of) { return status(of); })
        .def_prop_ro("fits", &plan::fits)
        .def_ro("seconds", &plan::seconds)
        .def("svg", &picture, nb::arg("names"));
    nb::class_<memories_plan>(m, "PlanOfSeveral")
        .def_prop_ro("offsets",
                     [](const memories_plan& of) {
                         std::vector<std::optional<std::uint64_t>> all;
                         for (const allot::memory_place& place : of.made.places)
                             all.push_back(place.memory == allot::memory_place::nowhere ? std::nullopt
                                                                                        : std::optional{place.offset});
                         return all;
                     })
        .def_prop_ro("memories",
                     [](const memories_plan& of) {
                         std::vector<std::optional<std::uint32_t>> all;
                         for (const allot::memory_place& place : of.made.places)
                             all.push_back(place.memory == allot::memory_place::nowhere ? std::nullopt
                                                                                        : std::optional{place.memory});
                         return all;
                     })
        .def_prop_ro("peaks",
                     [](const memories_plan& of) {
                         std::vector<std::uint64_t> all;
                         for (const allot::memory_needs& each : of.made.needs) all.push_back(each.peak);
                         return all;
                     })
        .def_prop_ro("alignments",
                     [](const memories_plan& of) {
                         std::vector<std::uint64_t> all;
                         for (const allot::memory_needs& each : of.made.needs) all.push_back(each.align);
                         return all;
                     })
        .def_prop_ro("cost", [](const memories_plan& of) { return of.made.cost; })
        .def_prop_ro("bound", [](const memories_plan& of) { return of.made.bound; })
        .def_prop_ro("spilled", [](const memories_plan& of) { return of.made.spilled; })
        .def_prop_ro("unplaced", [](const memories_plan& of) { return of.made.unplaced; })
        .def_prop_ro("step", [](const memories_plan& of) { return of.made.step; })
        .def_prop_ro("status", [status](const memories_plan& of) { return status(of); })
        .def_prop_ro("fits", [](const memories_plan& of) { return of.made.unplaced == 0; })
        .def_ro("seconds", &memories_plan::seconds)
        .def("svg", &picture_of_memories, nb::arg("names"));
}

}  // namespace

void bind_planner(nb::module_& m) {
    nb::exception<plan_failure>(m, "PlanError", PyExc_ValueError).doc() =
        "A problem is invalid. The text is the reason.";
    nb::class_<constraints>(m, "Constraints")
        .def(
            "__init__",
            [](constraints* made, const std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>>& revivals,
               const std::vector<std::pair<std::size_t, std::uint64_t>>& fixed, const pairs& together,
               const pairs& apart, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& reserved) {
                new (made) constraints{constraints_of(revivals, fixed, together, apart, reserved)};
            },
            nb::arg("revivals"), nb::arg("fixed"), nb::arg("together"), nb::arg("apart"), nb::arg("reserved"));
    bind_results(m);
    m.def("plan", &plan_one, nb::arg("sizes"), nb::arg("lower"), nb::arg("upper"), nb::arg("alignments"),
          nb::arg("constraints"), nb::arg("capacity"), nb::arg("effort"), nb::arg("seconds").none(),
          nb::arg("progress").none());
    m.def("plan_memories", &plan_several, nb::arg("sizes"), nb::arg("lower"), nb::arg("upper"), nb::arg("alignments"),
          nb::arg("constraints"), nb::arg("memories"), nb::arg("uses"), nb::arg("allowed"), nb::arg("effort"),
          nb::arg("seconds").none(), nb::arg("progress").none());
    m.def("mistake_in", &mistake_in, nb::arg("sizes"), nb::arg("lower"), nb::arg("upper"), nb::arg("alignments"),
          nb::arg("constraints"), nb::arg("offsets"), nb::arg("capacity"));
}

}  // namespace allot_python
