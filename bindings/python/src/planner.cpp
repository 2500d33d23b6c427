// SPDX-License-Identifier: BSL-1.0
// Plans of one memory: contiguous, in pages, and updated.
#include "planner.hpp"

#include <allot/plan/mixed.hpp>
#include <allot/plan/replan_at.hpp>
#include <allot/plan/validate.hpp>

#include <algorithm>
#include <limits>

namespace allot_python {

namespace {

using plan = planned<allot::memory_plan>;
using update = planned<allot::memory_replan>;
using paged = planned<allot::mixed_plan>;
using place = std::pair<std::uint64_t, std::uint64_t>;
using places = std::vector<std::optional<place>>;

constexpr const char* too_large = "offsets exceed 64 bits";

/// Plans once, or with more and more effort until the time is up. `make(options, watch)` plans.
template <class Make, class Watch>
[[nodiscard]] auto plan_in_time(bool is_limited, const allot::plan_options& options, Watch watch, Make make) {
    const auto watched = [&](allot::plan_progress now) { return watch(now); };
    return is_limited ? planner::plan_again_and_again(make, options, watched) : make(options, watched);
}

plan plan_one(const table& of, std::uint64_t capacity, std::uint64_t effort, std::optional<double> seconds,
              progress called) {
    const allot::plan_options options{.capacity = capacity, .effort = effort};
    plan made =
        run_planner(of, seconds, std::move(called), too_large, [&](const allot::plan_problem& problem, auto watch) {
            return plan_in_time(seconds.has_value(), options, watch, [&](const allot::plan_options& chosen, auto each) {
                return allot::plan(problem, chosen, each);
            });
        });
    made.capacity = capacity;
    return made;
}

paged plan_pages(const table& of, std::uint64_t page_size, const std::vector<std::size_t>& in_pages,
                 std::uint64_t capacity, std::uint64_t effort, std::optional<double> seconds, progress called) {
    if (page_size == 0) throw plan_failure{"a page has no bytes"};
    for (const std::size_t each : in_pages) {
        const allot::plan_buffer& buffer = of.buffers.at(each);
        if (buffer.align != 0 && page_size % buffer.align != 0)
            throw plan_failure{"buffer " + std::to_string(each) + ": the page size is not a multiple of its alignment"};
        if (buffer.size != 0 && (buffer.size - 1) / page_size >= std::numeric_limits<std::uint32_t>::max())
            throw plan_failure{"buffer " + std::to_string(each) + ": it has more than 2**32 - 1 pages"};
    }
    const allot::plan_options options{.capacity = capacity, .effort = effort};
    constexpr const char* reason = "offsets exceed 64 bits, or the buffers in pages have more than 2**32 - 1 pages";
    paged made =
        run_planner(of, seconds, std::move(called), reason, [&](const allot::plan_problem& problem, auto watch) {
            return plan_in_time(seconds.has_value(), options, watch, [&](const allot::plan_options& chosen, auto each) {
                return allot::plan_mixed({problem, page_size, in_pages}, chosen, each);
            });
        });
    made.capacity = capacity;
    return made;
}

/// Updates a plan. With a step, the steps before it have run.
update replan(const table& of, const places& before, std::optional<std::uint64_t> at_most,
              std::optional<std::int64_t> step, std::uint64_t capacity, std::uint64_t effort, progress called) {
    std::vector<allot::plan_place> old;
    for (const std::optional<place>& each : before)
        old.push_back(each ? allot::plan_place{each->first, each->second} : allot::no_place);
    const allot::plan_options options{.capacity = capacity, .effort = effort};
    update made = run_planner(of, std::nullopt, std::move(called), too_large,
                              [&](const allot::plan_problem& problem, auto watch) {
                                  return step ? allot::replan_at(problem, old, *step, options, watch)
                                              : allot::replan(problem, old, at_most.value_or(0), options, watch);
                              });
    made.capacity = capacity;
    return made;
}

/// Returns the mistake in the offsets as a sentence, or nothing.
std::optional<std::string> mistake_in(const table& of, const numbers& offsets, std::uint64_t capacity) {
    const std::vector<std::uint64_t> given(offsets.data(), offsets.data() + offsets.size());
    if (given.size() != of.buffers.size()) throw std::invalid_argument{"each buffer needs one offset"};
    const unlocked during;
    const allot::plan_problem problem = of.problem();
    allot::plan_heap workspace{allot::validate_space(problem)};
    const allot::plan_violation found = allot::validate(problem, given, capacity, workspace);
    if (found.kind == allot::plan_violation_kind::none) return std::nullopt;
    const std::string what = std::string{found.what()} + ": ", first = std::to_string(found.first);
    switch (found.kind) {
        using enum allot::plan_violation_kind;
        case bad_problem: return what + reason_of(allot::check_problem(problem), too_large);
        case reserved: return what + "buffer " + first + ", range " + std::to_string(found.second);
        case not_together:
        case not_apart:
        case overlap: return what + first + " and " + std::to_string(found.second);
        default: return what + first;
    }
}

template <class Made>
std::string picture(const planned<Made>& self) {
    planner::input shown = self.of.shown();
    shown.memories = {{"memory", self.capacity, {}, self.of.reserved}};
    planner::outcome made{.seconds = self.seconds};
    for (const allot::plan_place& each : self.made.places) made.offsets.push_back(each.offset);
    if constexpr (std::is_same_v<Made, allot::mixed_plan>) {
        std::vector<std::uint32_t> different = self.made.pages;
        std::sort(different.begin(), different.end());
        const auto end = std::unique(different.begin(), different.end());
        made.pages = planner::paged_plan{self.made.page_size, static_cast<std::uint32_t>(end - different.begin()),
                                         self.made.first, self.made.pages};
    }
    return picture_of(shown, {self.made}, std::move(made));
}

/// Defines the properties of a plan in one memory.
template <class Made>
nb::class_<planned<Made>> bind_one(nb::module_& m, const char* name) {
    using result = planned<Made>;
    return bind_result<Made>(m, name)
        .def_prop_ro("peak", [](const result& self) { return self.made.peak; })
        .def_prop_ro("alignment", [](const result& self) { return self.made.align; })
        .def_prop_ro("step", [](const result& self) { return self.made.step; })
        .def_prop_ro("fits", [](const result& self) { return self.made.peak <= self.capacity; })
        .def("svg", &picture<Made>);
}
/// Defines the properties of a plan of contiguous buffers.
template <class Made>
nb::class_<planned<Made>> bind_contiguous(nb::module_& m, const char* name) {
    using result = planned<Made>;
    return bind_one<Made>(m, name)
        .def_prop_ro("offsets",
                     [](const result& self) {
                         std::vector<std::uint64_t> all;
                         for (const allot::plan_place& each : self.made.places) all.push_back(each.offset);
                         return all;
                     })
        .def_prop_ro("places", [](const result& self) {
            std::vector<place> all;
            for (const allot::plan_place& each : self.made.places) all.emplace_back(each.offset, each.size);
            return all;
        });
}

void bind_results(nb::module_& m) {
    bind_contiguous<allot::memory_plan>(m, "PlanOfOne");
    bind_contiguous<allot::memory_replan>(m, "UpdatedPlan").def_prop_ro("moved", [](const update& self) {
        return self.made.moved;
    });
    bind_one<allot::mixed_plan>(m, "PlanInPages")
        .def_prop_ro("offsets",
                     [](const paged& self) {
                         std::vector<std::optional<std::uint64_t>> all;
                         for (const allot::plan_place& each : self.made.places)
                             all.push_back(each == allot::no_place ? std::nullopt : std::optional{each.offset});
                         return all;
                     })
        .def_prop_ro("pages", [](const paged& self) {
            std::vector<std::vector<std::uint32_t>> all;
            for (std::size_t i = 0; i != self.of.buffers.size(); ++i) {
                const auto mine = self.made.pages_of(i);
                all.emplace_back(mine.begin(), mine.end());
            }
            return all;
        });
}

}  // namespace

void bind_planner(nb::module_& m) {
    nb::exception<plan_failure>(m, "PlanError", PyExc_ValueError).doc() =
        "A problem is invalid. The text is the reason.";
    nb::class_<table>(m, "Table")
        .def(nb::init<const numbers&, const steps&, const steps&, const numbers&,
                      const std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>>&,
                      const std::vector<std::pair<std::size_t, std::uint64_t>>&, const pairs&, const pairs&,
                      const std::vector<std::pair<std::uint64_t, std::uint64_t>>&, std::vector<std::string>>(),
             nb::arg("sizes"), nb::arg("lower"), nb::arg("upper"), nb::arg("alignments"), nb::arg("revivals"),
             nb::arg("fixed"), nb::arg("together"), nb::arg("apart"), nb::arg("reserved"), nb::arg("names"))
        .def("__len__", [](const table& self) { return self.buffers.size(); });
    bind_results(m);
    m.def("plan", &plan_one, nb::arg("table"), nb::arg("capacity"), nb::arg("effort"), nb::arg("seconds").none(),
          nb::arg("progress").none());
    m.def("plan_pages", &plan_pages, nb::arg("table"), nb::arg("page_size"), nb::arg("paged"), nb::arg("capacity"),
          nb::arg("effort"), nb::arg("seconds").none(), nb::arg("progress").none());
    m.def("replan", &replan, nb::arg("table"), nb::arg("before"), nb::arg("at_most").none(), nb::arg("step").none(),
          nb::arg("capacity"), nb::arg("effort"), nb::arg("progress").none());
    m.def("mistake_in", &mistake_in, nb::arg("table"), nb::arg("offsets"), nb::arg("capacity"));
    bind_memories_planner(m);
}

}  // namespace allot_python
