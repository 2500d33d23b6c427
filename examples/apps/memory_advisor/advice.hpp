// SPDX-License-Identifier: BSL-1.0
// advice: what each planner needs for the same buffers, in one memory and with a fast memory of some sizes.
//
//     buffers ──► every rule of rules.hpp ──┐
//             └─► allot::plan ──────────────┼─► allot::validate ──► rows: bytes, over the bound, less than the sum
//             └─► allot::plan_memories ─────┘
#pragma once

#include "../memory_planner/paging.hpp"
#include "../memory_planner/report.hpp"
#include "rules.hpp"

#include <algorithm>
#include <optional>

namespace advisor {

using planner::input, planner::input_error;

/// One planner in one memory.
struct row {
    std::string name;
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> offsets{};             // empty for the bound and for pages
    enum { theirs, ours, now, other } whose = other;  // now: without a plan
};

/// One planner with fast memories of the sizes in `advice::fast`: bytes outside the fast memory.
struct spill_row {
    std::string name;
    std::vector<std::uint64_t> outside{};
};

struct advice {
    std::uint64_t sum = 0, bound = 0;
    allot::plan_status status{};
    std::vector<row> rows;  // one memory, from the most bytes to the fewest
    std::vector<std::uint64_t> fast;
    std::vector<spill_row> spills;

    [[nodiscard]] const row& ours() const {
        return *std::find_if(rows.begin(), rows.end(), [](const row& each) { return each.whose == row::ours; });
    }
    /// Returns the row of another planner with the fewest bytes; null if there are none.
    [[nodiscard]] const row* best_of_theirs() const {
        const row* best = nullptr;
        for (const row& each : rows)
            if (each.whose == row::theirs && (best == nullptr || each.bytes < best->bytes)) best = &each;
        return best;
    }
};

/// The rules take quadratic time. For more buffers, only allot's rows remain.
inline constexpr std::size_t most_compared = 20'000;

/// Sets the least alignment of all buffers, and rounds their sizes up to it.
inline void align(input& given, std::uint64_t least) {
    std::uint64_t sum = 0;
    for (allot::plan_buffer& each : given.buffers) {
        each.align = std::max(each.align, least);
        std::uint64_t padded = 0;  // no rule needs more than the sum
        if (!allot::checked_align_up(each.size, each.align, padded) || !allot::checked_add(sum, padded, sum) ||
            sum > planner::unlimited / 4)
            throw input_error{given.path + ": the sum of the aligned sizes exceeds 62 bits"};
        each.size = allot::align_up(each.size, least);
    }
}

/// Throws if a plan is invalid.
inline void check(const input& given, const std::string& name, std::span<const std::uint64_t> offsets,
                  std::uint64_t bytes) {
    const allot::plan_problem problem{.buffers = given.buffers};
    allot::plan_heap workspace{allot::validate_space(problem)};
    const allot::plan_violation found = allot::validate(problem, offsets, bytes, workspace);
    if (found.kind != allot::plan_violation_kind::none)
        throw std::logic_error{given.path + ": the plan of \"" + name + "\" is invalid: " + found.what()};
}

inline void add_theirs(advice& made, const input& given) {
    const rules::buffers of{given.buffers};
    const auto add = [&](const char* name, rules::layout found) {
        check(given, name, found.offsets, found.peak);
        made.rows.push_back({name, found.peak, std::move(found.offsets), row::theirs});
    };
    if (of.size() > most_compared) return;
    add("TVM Relax: reused blocks", rules::tvm_relax(of));
    add("TVM USMP: greedy by size", rules::tvm_usmp_by_size(of, given.names));
    add("TVM USMP: greedy by conflicts", rules::tvm_usmp_by_conflicts(of, given.names));
    add("ONNX Runtime: memory pattern", rules::onnx_runtime(of));
    add("ExecuTorch: greedy", rules::executorch(of));
    add("TFLite Micro: greedy", rules::tflite_micro(of));
    add("greedy by size (TensorFlow Lite)", rules::tflite(of));
}

/// Adds the bytes outside a fast memory of each size in `made.fast`.
inline void add_spills(advice& made, const input& given) {
    const rules::buffers of{given.buffers};
    spill_row usmp_size{"TVM USMP: greedy by size"}, usmp_conflicts{"TVM USMP: greedy by conflicts"},
        size{"greedy by size"}, ours{"allot"}, bound{"lower bound"};
    for (const std::uint64_t capacity : made.fast) {
        if (of.size() <= most_compared) {
            const std::uint64_t capacities[] = {capacity};
            usmp_size.outside.push_back(rules::tvm_usmp_by_size(of, given.names, capacities).spilled);
            usmp_conflicts.outside.push_back(rules::tvm_usmp_by_conflicts(of, given.names, capacities).spilled);
            size.outside.push_back(rules::by_size(of, capacities).spilled);
        }
        const allot::plan_memory memories[] = {{.capacity = capacity}, {.cost = 1}};
        const auto plan = allot::plan_memories({.buffers = {.buffers = given.buffers}, .memories = memories});
        if (!plan) planner::refuse(given, plan.error());
        ours.outside.push_back(plan->spilled);
        bound.outside.push_back(plan->bound);
    }
    for (spill_row* each : {&usmp_size, &usmp_conflicts, &size, &ours, &bound})
        if (!each->outside.empty()) made.spills.push_back(std::move(*each));
}

/// Returns what the planners need. `fast`: sizes of the fast memory; default: three quarters, half and a quarter of the
/// lower bound, in whole alignments. `page`: bytes of a page, if a plan in pages is wanted.
/// `also`: further rows of one memory.
[[nodiscard]] inline advice advise(const input& given, std::vector<std::uint64_t> fast,
                                   std::optional<std::uint64_t> page, std::vector<row> also = {}) {
    advice made;
    made.fast = std::move(fast);
    const rules::layout separate = rules::separate(given.buffers);
    made.sum = separate.peak;
    made.rows.push_back({"no sharing: the sum of all buffers", made.sum, separate.offsets});
    add_theirs(made, given);
    for (row& each : also) made.rows.push_back(std::move(each));
    std::stable_sort(made.rows.begin(), made.rows.end(), [](const row& a, const row& b) { return a.bytes > b.bytes; });

    const auto plan = allot::plan({.buffers = given.buffers});
    if (!plan) planner::refuse(given, plan.error());
    made.bound = plan->bound;
    made.status = plan->status;
    row ours{std::string{"allot: "} + to_string(plan->status), plan->peak, {}, row::ours};
    for (const allot::plan_place& place : plan->places) ours.offsets.push_back(place.offset);
    check(given, ours.name, ours.offsets, ours.bytes);
    made.rows.push_back(std::move(ours));
    made.rows.push_back({"lower bound of every plan", plan->bound});
    if (page) {
        const planner::outcome paged =
            planner::in_pages(given, *page, false, [](std::size_t, allot::plan_progress) { return false; });
        if (const std::string mistake = planner::mistake_in_pages(given, paged); !mistake.empty())
            throw std::logic_error{given.path + ": the plan in pages is invalid: " + mistake};
        made.rows.push_back({"allot, in pages of " + planner::bytes(*page), paged.memories[0].plan.peak});
    }
    if (made.fast.empty())
        for (const std::uint64_t quarters : {3, 2, 1})
            if (const std::uint64_t size = made.bound / 4 * quarters / plan->align * plan->align; size != 0)
                made.fast.push_back(size);
    add_spills(made, given);
    return made;
}

}  // namespace advisor
