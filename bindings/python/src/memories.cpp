// SPDX-License-Identifier: BSL-1.0
// Plans of several memories, without and with moves between them.
#include "planner.hpp"

#include <allot/plan/moves.hpp>
#include <allot/plan/rows.hpp>
#include <allot/plan/timed.hpp>

namespace allot_python {

namespace {

using spread = planned<allot::memories_plan>;
using divided = planned<allot::rows_plan>;
using moves = planned<allot::moves_plan>;
using timed = planned<allot::timed_plan>;
using memory = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

constexpr const char* too_large = "the sum of the sizes or of the costs exceeds 58 bits";

std::vector<allot::plan_memory> memories_of(const std::vector<memory>& given) {
    std::vector<allot::plan_memory> made;
    for (const auto& [capacity, align, cost] : given) made.push_back({capacity, align, cost});
    return made;
}

std::vector<allot::plan_pair> pairs_of(const pairs& given) {
    std::vector<allot::plan_pair> made;
    for (const auto& [first, second] : given) made.push_back({first, second});
    return made;
}

spread plan_memories(const table& of, const std::vector<memory>& given, const std::vector<std::uint64_t>& uses,
                     const std::vector<std::uint64_t>& allowed, const pairs& separate_pairs, std::uint64_t effort,
                     std::optional<double> seconds, progress called) {
    std::vector<allot::plan_memory> memories = memories_of(given);
    const std::vector<allot::plan_pair> separate = pairs_of(separate_pairs);
    spread made =
        run_planner(of, seconds, std::move(called), too_large, [&](const allot::plan_problem& problem, auto watch) {
            return allot::plan_memories({problem, memories, uses, allowed, separate}, {.effort = effort}, watch);
        });
    made.memories = std::move(memories);
    return made;
}

std::uint64_t cost_of(const allot::memories_plan& made) { return made.cost; }
std::uint64_t cost_of(const allot::moves_plan& made) { return made.cost; }
std::uint64_t cost_of(const allot::timed_plan& made) { return made.elapsed; }

/// Plans with `plan(options)` once, or with more and more effort until the time is up.
template <class Plan, class Watch>
auto plan_in_time(std::uint64_t effort, bool is_limited, Watch watch, Plan plan) {
    constexpr std::uint64_t most_effort = std::uint64_t{1} << 60;
    auto best = plan(allot::memories_options{.effort = effort});
    if (!best) return best;
    const auto is_proved = [&] {
        return best->status == allot::plan_status::optimal || best->status == allot::plan_status::infeasible;
    };
    for (; is_limited && !is_proved() && effort < most_effort; effort *= 4) {
        if (watch(allot::memories_progress{cost_of(*best), best->unplaced, best->bound})) break;
        auto next = plan(allot::memories_options{.effort = effort * 4});
        if (!next) break;
        if (std::pair{next->unplaced, cost_of(*next)} < std::pair{best->unplaced, cost_of(*best)})
            best = std::move(next);
    }
    return best;
}

divided plan_rows(const table& of, const std::vector<std::uint64_t>& rows, const std::vector<memory>& given,
                  const std::vector<std::uint64_t>& uses, const std::vector<std::uint64_t>& allowed,
                  const pairs& separate_pairs, std::uint64_t effort, std::optional<double> seconds, progress called) {
    std::vector<allot::plan_memory> memories = memories_of(given);
    const std::vector<allot::plan_pair> separate = pairs_of(separate_pairs);
    divided made =
        run_planner(of, seconds, std::move(called), too_large, [&](const allot::plan_problem& problem, auto watch) {
            const allot::rows_problem all{{problem, memories, uses, allowed, separate}, rows};
            return plan_in_time(effort, seconds.has_value(), watch, [&](const allot::memories_options& options) {
                return allot::plan_rows(all, options, watch);
            });
        });
    made.memories = std::move(memories);
    return made;
}

using access_list = std::vector<std::tuple<std::size_t, std::int64_t, bool>>;

std::vector<allot::plan_access> accesses_of(const access_list& used) {
    std::vector<allot::plan_access> made;
    for (const auto& [buffer, step, writes] : used) made.push_back({buffer, step, writes});
    return made;
}

moves plan_moves(const table& of, const access_list& used, const std::vector<memory>& given,
                 const std::vector<std::uint64_t>& allowed, const pairs& separate_pairs, std::uint64_t effort,
                 std::optional<double> seconds, progress called) {
    std::vector<allot::plan_memory> memories = memories_of(given);
    const std::vector<allot::plan_pair> separate = pairs_of(separate_pairs);
    const std::vector<allot::plan_access> accesses = accesses_of(used);
    moves made =
        run_planner(of, seconds, std::move(called), too_large, [&](const allot::plan_problem& problem, auto watch) {
            const allot::moves_problem all{{problem, memories, {}, allowed, separate}, accesses};
            return plan_in_time(effort, seconds.has_value(), watch, [&](const allot::memories_options& options) {
                return allot::plan_moves(all, options, watch);
            });
        });
    made.memories = std::move(memories);
    return made;
}

timed plan_timed(const table& of, const access_list& used, const std::vector<memory>& given,
                 const std::vector<std::uint64_t>& durations, std::uint64_t copy_cost, std::uint64_t latency,
                 const std::vector<std::uint64_t>& allowed, const pairs& separate_pairs, std::uint64_t effort,
                 std::optional<double> seconds, progress called) {
    std::vector<allot::plan_memory> memories = memories_of(given);
    const std::vector<allot::plan_pair> separate = pairs_of(separate_pairs);
    const std::vector<allot::plan_access> accesses = accesses_of(used);
    timed made =
        run_planner(of, seconds, std::move(called), too_large, [&](const allot::plan_problem& problem, auto watch) {
            const allot::timed_problem all{
                {{problem, memories, {}, allowed, separate}, accesses}, durations, copy_cost, latency};
            return plan_in_time(effort, seconds.has_value(), watch, [&](const allot::memories_options& options) {
                return allot::plan_timed(all, options, watch);
            });
        });
    made.memories = std::move(memories);
    return made;
}

/// Returns the picture of buffers or pieces, whose places are the elements of `places`.
template <class Made>
std::string picture_in(const planned<Made>& self, planner::input shown,
                       const std::vector<allot::memory_place>& places) {
    if (self.made.unplaced != 0) throw std::invalid_argument{"the plan has unplaced buffers"};
    std::vector<allot::plan_summary> plans;
    for (std::size_t m = 0; m != self.memories.size(); ++m) {
        shown.memories.push_back({"memory " + std::to_string(m), self.memories[m].capacity, self.memories[m].cost});
        const allot::memory_needs& needs = self.made.needs[m];
        plans.push_back({.status = self.made.status, .peak = needs.peak, .align = needs.align});
    }
    planner::outcome made{.seconds = self.seconds};
    for (std::size_t i = 0; i != places.size(); ++i) {
        shown.memory_of[i] = places[i].memory;
        made.offsets.push_back(places[i].offset);
    }
    made.cost = planner::spread_cost{cost_of(self.made), self.made.bound};
    return picture_of(shown, std::move(plans), std::move(made));
}
std::string picture(const spread& self) { return picture_in(self, self.of.shown(), self.made.places); }
template <class Made>
std::string picture_of_pieces(const planned<Made>& self) {
    const planner::input all = self.of.shown();
    planner::input shown{.path = all.path};
    shown.memories.clear();
    std::vector<allot::memory_place> places;
    for (const allot::plan_piece& piece : self.made.pieces) {
        const allot::plan_buffer& buffer = all.buffers[piece.buffer];
        shown.buffers.push_back({buffer.size, piece.live, buffer.align});
        shown.names.push_back(all.names[piece.buffer]);
        places.push_back(piece.place);
    }
    shown.memory_of.resize(places.size());
    return picture_in(self, std::move(shown), places);
}

/// The rows of a buffer in one memory: buffer, first row, row after the last one, and their place.
using row_part = std::tuple<std::size_t, std::uint64_t, std::uint64_t, allot::memory_place>;

/// Returns the parts in the order of buffers. `rows` has the number of rows of each buffer, or is empty.
std::vector<row_part> parts_of(const allot::rows_plan& plan, const std::vector<std::uint64_t>& rows) {
    if (!rows.empty() && rows.size() != plan.places.size())
        throw std::invalid_argument{"the plan has another number of buffers than rows"};
    std::vector<row_part> parts;
    std::size_t next = 0;
    for (std::size_t i = 0; i != plan.places.size(); ++i) {
        const std::uint64_t all = rows.empty() ? 1 : std::max<std::uint64_t>(rows[i], 1);
        const bool is_divided = next != plan.splits.size() && plan.splits[next].buffer == i;
        parts.push_back({i, 0, is_divided ? plan.splits[next].rows : all, plan.places[i]});
        if (!is_divided) continue;
        parts.push_back({i, plan.splits[next].rows, all, plan.splits[next].rest});
        ++next;
    }
    return parts;
}
std::string picture_of_parts(const divided& self) {
    const planner::input all = self.of.shown();
    planner::input shown{.path = all.path};
    shown.memories.clear();
    std::vector<allot::memory_place> places;
    const auto add = [&](std::size_t i, const allot::memory_place& place) {
        shown.buffers.push_back({place.size, all.buffers[i].live, all.buffers[i].align});
        for (const allot::plan_revival& each : all.revivals)
            if (each.buffer == i) shown.revivals.push_back({places.size(), each.live});
        shown.names.push_back(all.names[i]);
        places.push_back(place);
    };
    for (std::size_t i = 0; i != self.made.places.size(); ++i) add(i, self.made.places[i]);
    for (const allot::row_split& each : self.made.splits) {
        shown.part_of.push_back(each.buffer);
        add(each.buffer, each.rest);
    }
    shown.memory_of.resize(places.size());
    return picture_in(self, std::move(shown), places);
}

/// Returns the memory and the offset of a place, or nothing.
std::optional<std::uint32_t> memory_in(const allot::memory_place& place) {
    return place.memory == allot::memory_place::nowhere ? std::nullopt : std::optional{place.memory};
}
std::optional<std::uint64_t> offset_in(const allot::memory_place& place) {
    return place.memory == allot::memory_place::nowhere ? std::nullopt : std::optional{place.offset};
}
/// Returns a property that lists `value(element)` for each element.
template <class Result, class Elements, class Value>
auto list_of(Elements elements, Value value) {
    return [elements, value](const Result& self) {
        std::vector<decltype(value(*elements(self).begin()))> all;
        for (const auto& each : elements(self)) all.push_back(value(each));
        return all;
    };
}

/// Defines the properties of a plan in several memories.
template <class Made>
nb::class_<planned<Made>> bind_several(nb::module_& m, const char* name) {
    using result = planned<Made>;
    const auto needs = [](const result& self) -> auto& { return self.made.needs; };
    return bind_result<Made>(m, name)
        .def_prop_ro("peaks", list_of<result>(needs, [](const allot::memory_needs& each) { return each.peak; }))
        .def_prop_ro("alignments", list_of<result>(needs, [](const allot::memory_needs& each) { return each.align; }))
        .def_prop_ro("cost", [](const result& self) { return cost_of(self.made); })
        .def_prop_ro("unplaced", [](const result& self) { return self.made.unplaced; })
        .def_prop_ro("fits", [](const result& self) { return self.made.unplaced == 0; });
}

/// Defines the properties of a plan with pieces and copies. `copy(element)` returns the values of a copy.
template <class Made, class Copy>
nb::class_<planned<Made>> bind_pieces(nb::module_& m, const char* name, Copy copy) {
    using result = planned<Made>;
    const auto pieces = [](const result& self) -> auto& { return self.made.pieces; };
    const auto copies = [](const result& self) -> auto& { return self.made.copies; };
    return bind_several<Made>(m, name)
        .def_prop_ro("pieces", list_of<result>(pieces,
                                               [](const allot::plan_piece& each) {
                                                   return std::tuple{each.buffer, each.live.from, each.live.until,
                                                                     memory_in(each.place), offset_in(each.place)};
                                               }))
        .def_prop_ro("copies", list_of<result>(copies, copy))
        .def_prop_ro("piece_of", [](const result& self) { return self.made.piece_of; })
        .def_prop_ro("copied", [](const result& self) { return self.made.copied; })
        .def("svg", &picture_of_pieces<Made>);
}

}  // namespace

void bind_memories_planner(nb::module_& m) {
    const auto places = [](const spread& self) -> auto& { return self.made.places; };
    bind_several<allot::memories_plan>(m, "PlanOfSeveral")
        .def_prop_ro("offsets", list_of<spread>(places, offset_in))
        .def_prop_ro("memories", list_of<spread>(places, memory_in))
        .def_prop_ro("spilled", [](const spread& self) { return self.made.spilled; })
        .def_prop_ro("step", [](const spread& self) { return self.made.step; })
        .def("svg", &picture);
    bind_several<allot::rows_plan>(m, "PlanInRows")
        .def("parts",
             [](const divided& self, const std::vector<std::uint64_t>& rows) {
                 std::vector<std::tuple<std::size_t, std::uint64_t, std::uint64_t, std::optional<std::uint32_t>,
                                        std::optional<std::uint64_t>, std::uint64_t>>
                     all;
                 for (const auto& [buffer, begin, end, place] : parts_of(self.made, rows))
                     all.push_back({buffer, begin, end, memory_in(place), offset_in(place), place.size});
                 return all;
             })
        .def_prop_ro("divided", [](const divided& self) { return self.made.splits.size(); })
        .def_prop_ro("spilled", [](const divided& self) { return self.made.spilled; })
        .def_prop_ro("step", [](const divided& self) { return self.made.step; })
        .def_prop_ro("whole_cost",
                     [](const divided& self) {
                         return self.made.whole_unplaced == 0 ? std::optional{self.made.whole_cost} : std::nullopt;
                     })
        .def("svg", &picture_of_parts);
    bind_pieces<allot::moves_plan>(m, "PlanWithMoves", [](const allot::plan_copy& each) {
        return std::tuple{each.buffer, each.step, each.after, each.from, each.to, each.size};
    }).def_prop_ro("spilled", [](const moves& self) {
          return self.made.spilled;
      }).def_prop_ro("whole_cost", [](const moves& self) { return self.made.whole_cost; });
    bind_pieces<allot::timed_plan>(m, "PlanInTime", [](const allot::timed_copy& each) {
        return std::tuple{each.buffer, each.begin, each.end, each.from, each.to};
    }).def_prop_ro("waited", [](const timed& self) {
          return self.made.waited;
      }).def_prop_ro("whole_elapsed", [](const timed& self) { return self.made.whole_elapsed; });
    m.def("plan_memories", &plan_memories, nb::arg("table"), nb::arg("memories"), nb::arg("uses"), nb::arg("allowed"),
          nb::arg("separate"), nb::arg("effort"), nb::arg("seconds").none(), nb::arg("progress").none());
    m.def("plan_rows", &plan_rows, nb::arg("table"), nb::arg("rows"), nb::arg("memories"), nb::arg("uses"),
          nb::arg("allowed"), nb::arg("separate"), nb::arg("effort"), nb::arg("seconds").none(),
          nb::arg("progress").none());
    m.def("plan_moves", &plan_moves, nb::arg("table"), nb::arg("accesses"), nb::arg("memories"), nb::arg("allowed"),
          nb::arg("separate"), nb::arg("effort"), nb::arg("seconds").none(), nb::arg("progress").none());
    m.def("plan_timed", &plan_timed, nb::arg("table"), nb::arg("accesses"), nb::arg("memories"), nb::arg("durations"),
          nb::arg("copy_cost"), nb::arg("latency"), nb::arg("allowed"), nb::arg("separate"), nb::arg("effort"),
          nb::arg("seconds").none(), nb::arg("progress").none());
}

}  // namespace allot_python
