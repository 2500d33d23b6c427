// SPDX-License-Identifier: BSL-1.0
// explain: why a plan does not fit, and the changes that would make it fit.
//
//     at step 7, 3 buffers of 90 bytes are live, 10 more than the capacity: a (40 bytes), b (30), c (20)
//     it fits if c overwrites b in place at step 7
//     it fits if a is not in memory at step 7 (40 bytes)
//     it fits if a has 30 bytes or less instead of 40
//
// Each change is tried: the planner makes a plan of the changed buffers within the capacity, and the validator checks
// it. A change that is not sufficient alone is not reported. If none is, several buffers at once are tried.
//
// Complexity: up to 60 plans with a small effort; the number of buffers that are tried falls with the number of all.
#pragma once

#include "paging.hpp"
#include "report.hpp"

#include <allot/plan/rows.hpp>
#include <allot/plan/validate_rows.hpp>

#include <algorithm>

namespace planner {

/// A change after which a plan fits.
struct change {
    std::string kind;                  // in_place, rows, absent, smaller, pages, elsewhere or capacity
    std::vector<std::size_t> buffers;  // that change
    std::int64_t from = 0, until = 0;  // steps, of in_place and absent
    std::uint64_t bytes = 0;  // that are shared, absent, fewer, of a row or a page, elsewhere, or of the new capacity
    std::string text;
};

struct explanation {
    std::string memory, why;
    std::vector<change> changes;
};

class explainer {
public:
    /// For one memory of an input whose plan has this summary.
    explainer(const input& given, std::size_t memory, const allot::plan_summary& plan)
        : given_{given}, memory_{memory}, capacity_{given.memories[memory].capacity}, step_{plan.step}, plan_{plan} {
        collect();
    }
    /// For a choice among all memories, of which not all buffers have one.
    explainer(const input& given, std::int64_t step) : given_{given}, is_choice_{true}, step_{step} {
        capacity_ = 0;
        for (const memory& each : given.memories)
            if (!allot::checked_add(capacity_, each.capacity, capacity_)) capacity_ = unlimited;
        collect();
    }

    [[nodiscard]] explanation explain() {
        explanation made{is_choice_ ? "" : given_.memories[memory_].name, why(), {}};
        // Each kind once, then further buffers.
        const std::vector<change> kinds[] = {in_place(), by_rows(),   absent(),       smaller(),
                                             paged(),    elsewhere(), larger_memory()};
        for (std::size_t rank = 0; rank != most_changes; ++rank)
            for (const std::vector<change>& kind : kinds)
                if (rank < kind.size() && made.changes.size() < most_changes) made.changes.push_back(kind[rank]);
        return made;
    }

private:
    static constexpr std::size_t most_changes = 3;

    /// Finds the buffers that are live at the critical step, the largest one first.
    void collect() {
        const auto is_live = [&](allot::lifetime live) { return live.from <= step_ && step_ < live.until; };
        std::vector<bool> is_here(given_.buffers.size());
        for (std::size_t i = 0; i != given_.buffers.size(); ++i) is_here[i] = is_live(given_.buffers[i].live);
        for (const allot::plan_revival& each : given_.revivals)
            if (is_live(each.live)) is_here[each.buffer] = true;
        for (std::size_t i = 0; i != is_here.size(); ++i) {
            if (!is_here[i] || (!is_choice_ && given_.memory_of[i] != memory_)) continue;
            live_.push_back(i);
        }
        std::stable_sort(live_.begin(), live_.end(),
                         [&](std::size_t a, std::size_t b) { return given_.buffers[a].size > given_.buffers[b].size; });
        sum_ = live_bytes(given_, live_);
        tried_ = std::clamp<std::size_t>(40'000 / std::max<std::size_t>(given_.buffers.size(), 1), 1, 8);
    }
    [[nodiscard]] std::string size_text(std::size_t buffer) const {
        return given_.names[buffer] + " (" + bytes(given_.buffers[buffer].size) + " bytes)";
    }
    [[nodiscard]] std::string capacity_text() const {
        return std::string{is_choice_ ? "all memories together have" : "the capacity is"} + ' ' + bytes(capacity_);
    }

    [[nodiscard]] std::string why() const {
        const std::string most = "at step " + std::to_string(step_) + ", " + std::to_string(live_.size()) +
                                 (live_.size() == 1 ? " buffer of " : " buffers of ") + bytes(sum_) + " bytes " +
                                 (live_.size() == 1 ? "is" : "are") + " live";
        if (sum_ > capacity_) {
            std::string text = most + ", " + bytes(sum_ - capacity_) + " more than fit (" + capacity_text() + "): ";
            const std::size_t shown = std::min<std::size_t>(live_.size(), 4);
            for (std::size_t i = 0; i != shown; ++i) text += (i == 0 ? "" : ", ") + size_text(live_[i]);
            return shown == live_.size() ? text : text + ", and " + std::to_string(live_.size() - shown) + " more";
        }
        if (is_choice_ && !given_.separate.empty()) {
            input changed = given_;
            changed.separate.clear();
            if (fits(changed))
                return "all buffers fit, except that those of " + std::to_string(given_.separate.size()) +
                       " pairs must be in different memories";
        }
        if (!is_choice_ && plan_.bound > capacity_)
            return "alignments, required offsets, reserved bytes and pairs need at least " + bytes(plan_.bound) +
                   " bytes, and " + capacity_text();
        return "no step has more live bytes than fit (" + most + ", and " + capacity_text() + "), but " +
               (plan_.status == allot::plan_status::infeasible ? "no arrangement of the buffers fits"
                                                               : "the search found no arrangement that fits");
    }

    /// Whether a changed input fits: a plan exists, and the validator accepts it.
    [[nodiscard]] bool fits(const input& changed) const {
        if (is_choice_) return choice_of(changed).unplaced == 0;
        const part mine{changed, memory_};
        const auto made = allot::plan(mine.problem(), {.capacity = capacity_, .effort = effort()});
        if (!made || made->peak > capacity_) return false;
        std::vector<std::uint64_t> offsets;
        for (const allot::plan_place& each : made->places) offsets.push_back(each.offset);
        allot::plan_heap workspace{allot::validate_space(mine.problem())};
        return allot::validate(mine.problem(), offsets, capacity_, workspace).kind == allot::plan_violation_kind::none;
    }
    [[nodiscard]] static bool is_valid(allot::memories_violation found) {
        return found.kind == allot::memories_violation_kind::none;
    }
    [[nodiscard]] allot::memories_plan choice_of(const input& changed) const {
        const std::vector<allot::plan_memory> memories = costs_of(changed.memories);
        const allot::memories_problem problem = choice_in(changed, memories);
        if (has_rows(changed)) {
            const allot::rows_problem divided{problem, changed.row_counts};
            if (auto made = allot::plan_rows(divided, {.effort = effort()});
                made && is_valid(allot::validate_rows(divided, *made)))
                return *std::move(made);
        } else if (auto made = allot::plan_memories(problem, {.effort = effort()});
                   made && is_valid(allot::validate_memories(problem, *made))) {
            return *std::move(made);
        }
        allot::memories_plan none;
        none.unplaced = given_.buffers.size();
        return none;
    }
    /// Placements of a plan. Many plans are made, so that large inputs have one greedy plan for each change.
    [[nodiscard]] std::uint64_t effort() const { return given_.buffers.size() > 5'000 ? 0 : 30'000; }

    /// A buffer that begins in the last step of another one may overwrite it.
    [[nodiscard]] std::vector<change> in_place() const {
        std::vector<change> found;
        std::size_t tries = 0;
        for (const std::size_t old : live_)
            for (const std::size_t fresh : live_) {
                const allot::lifetime before = given_.buffers[old].live, after = given_.buffers[fresh].live;
                if (before.until - 1 != after.from || before.from >= after.from || !is_free(old) || !is_free(fresh))
                    continue;
                if (++tries > tried_) return found;
                input changed = given_;
                changed.together.push_back({old, fresh});
                if (!fits(changed)) continue;
                const std::uint64_t saved = std::min(given_.buffers[old].size, given_.buffers[fresh].size);
                found.push_back({"in_place",
                                 {old, fresh},
                                 after.from,
                                 after.from + 1,
                                 saved,
                                 given_.names[fresh] + " overwrites " + given_.names[old] + " in place at step " +
                                     std::to_string(after.from) + " (" + bytes(saved) + " bytes)"});
            }
        return found;
    }
    /// Whether a buffer has one lifetime and is in no pair.
    [[nodiscard]] bool is_free(std::size_t buffer) const {
        const auto has = [&](const allot::plan_pair& each) { return each.first == buffer || each.second == buffer; };
        return std::none_of(given_.revivals.begin(), given_.revivals.end(),
                            [&](const allot::plan_revival& each) { return each.buffer == buffer; }) &&
               std::none_of(given_.together.begin(), given_.together.end(), has) &&
               std::none_of(given_.apart.begin(), given_.apart.end(), has);
    }

    /// Buffers whose rows may lie in two memories.
    [[nodiscard]] std::vector<change> by_rows() const {
        if (!is_choice_ || sum_ > capacity_) return {};
        constexpr std::uint64_t most_rows = 64;
        std::vector<change> found;
        for (std::size_t k = 0; k != std::min(tried_, live_.size()) && found.size() != most_changes; ++k) {
            const std::size_t buffer = live_[k];
            const std::uint64_t size = given_.buffers[buffer].size;
            std::uint64_t rows = std::min(most_rows, size);
            while (rows > 1 && size % rows != 0) --rows;
            input changed = given_;
            changed.row_counts.resize(given_.buffers.size(), 1);
            if (rows < 2 || changed.row_counts[buffer] > 1) continue;
            changed.row_counts[buffer] = rows;
            if (!fits(changed)) continue;
            found.push_back({"rows",
                             {buffer},
                             0,
                             0,
                             size / rows,
                             given_.names[buffer] + " may lie in two memories, divided into rows of " +
                                 bytes(size / rows) + " bytes"});
        }
        return found;
    }

    /// Removes the steps of a gap from the lifetime of a buffer.
    static void remove(input& changed, std::size_t buffer, allot::lifetime gap) {
        const allot::lifetime live = changed.buffers[buffer].live;
        if (live.from < gap.from) {
            changed.buffers[buffer].live.until = gap.from;
            if (gap.until < live.until) changed.revivals.push_back({buffer, {gap.until, live.until}});
        } else if (gap.until < live.until) {
            changed.buffers[buffer].live.from = gap.until;
        } else {
            changed.buffers[buffer].size = 0;
        }
    }
    /// Returns the steps around the critical one in which more bytes are live than fit.
    [[nodiscard]] allot::lifetime crowded() const {
        std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // step, and bytes that begin or end
        const auto add = [&](std::size_t i, allot::lifetime live) {
            if (!is_choice_ && given_.memory_of[i] != memory_) return;
            changes.push_back({live.from, static_cast<std::int64_t>(given_.buffers[i].size)});
            changes.push_back({live.until, -static_cast<std::int64_t>(given_.buffers[i].size)});
        };
        for (std::size_t i = 0; i != given_.buffers.size(); ++i) add(i, given_.buffers[i].live);
        for (const allot::plan_revival& each : given_.revivals) add(each.buffer, each.live);
        std::sort(changes.begin(), changes.end());
        allot::lifetime found{step_, step_ + 1};
        std::uint64_t now = 0;
        std::int64_t begin = step_;
        bool is_above = false;
        for (std::size_t i = 0; i != changes.size();) {
            const std::int64_t at = changes[i].first;
            for (; i != changes.size() && changes[i].first == at; ++i)
                now += static_cast<std::uint64_t>(changes[i].second);
            if (std::exchange(is_above, now > capacity_) == is_above) continue;
            if (is_above) begin = at;
            else if (begin <= step_ && step_ < at) found = {begin, at};
        }
        return found;
    }

    /// Buffers that are elsewhere for some steps: in another memory, or computed again.
    [[nodiscard]] std::vector<change> absent() const {
        std::vector<change> found;
        const allot::lifetime wide = crowded();
        for (std::size_t i = std::min(tried_, live_.size()); i-- != 0;) {  // the smallest of them first
            const std::size_t buffer = live_[i];
            if (!is_free(buffer)) continue;
            for (const allot::lifetime gap : {allot::lifetime{step_, step_ + 1}, wide}) {
                input changed = given_;
                remove(changed, buffer, gap);
                if (!fits(changed)) continue;
                found.push_back(absence({buffer}, gap));
                break;
            }
        }
        if (!found.empty()) return found;
        input changed = given_;  // several at once
        std::vector<std::size_t> together;
        for (const std::size_t buffer : live_) {
            if (together.size() == 2 * tried_) break;
            if (!is_free(buffer)) continue;
            remove(changed, buffer, wide);
            together.push_back(buffer);
            if (together.size() < 2 || !fits(changed)) continue;
            found.push_back(absence(together, wide));
            break;
        }
        return found;
    }
    /// Returns the first names, the number of the others, and the verb.
    [[nodiscard]] std::string names_of(const std::vector<std::size_t>& buffers) const {
        const std::size_t shown = buffers.size() > 5 ? 4 : buffers.size();
        std::string names;
        for (std::size_t i = 0; i != shown; ++i)
            names += (i == 0 ? "" : i + 1 == buffers.size() ? " and " : ", ") + given_.names[buffers[i]];
        if (shown != buffers.size()) names += " and " + std::to_string(buffers.size() - shown) + " more";
        return names + (buffers.size() == 1 ? " is" : " are");
    }
    [[nodiscard]] std::uint64_t sum_of_sizes(const std::vector<std::size_t>& buffers) const {
        std::uint64_t sum = 0;
        for (const std::size_t each : buffers) sum += given_.buffers[each].size;
        return sum;
    }
    [[nodiscard]] change absence(const std::vector<std::size_t>& buffers, allot::lifetime gap) const {
        const std::uint64_t sum = sum_of_sizes(buffers);
        const std::string steps = gap.until - gap.from == 1 ? "at step " + std::to_string(gap.from)
                                                            : "in the steps " + std::to_string(gap.from) + " to " +
                                                                  std::to_string(gap.until - 1);
        return {"absent",
                buffers,
                gap.from,
                gap.until,
                sum,
                names_of(buffers) + " not in memory " + steps + " (" + bytes(sum) +
                    " bytes: copied elsewhere, or computed again)"};
    }

    /// The live bytes must fall by the excess: if that much is sufficient, no smaller change of one buffer is.
    [[nodiscard]] std::vector<change> smaller() const {
        std::vector<change> found;
        const std::uint64_t excess = sum_ > capacity_ ? sum_ - capacity_ : 1;
        for (std::size_t i = 0; i != std::min(tried_, live_.size()) && found.size() != most_changes; ++i) {
            const std::size_t buffer = live_[i];
            const std::uint64_t size = given_.buffers[buffer].size, unit = row_of(buffer), units = size / unit;
            if (size <= excess) break;
            std::uint64_t fewer = (excess - 1) / unit + 1, too_few = fewer - 1;  // in units
            while (fewer < units && !fits_smaller(buffer, size - fewer * unit)) {
                too_few = fewer;
                fewer = fewer > units / 4 ? units : 4 * fewer;
            }
            if (fewer >= units) continue;
            for (int turn = 0; turn != 6 && too_few + 1 < fewer; ++turn) {
                const std::uint64_t middle = too_few + (fewer - too_few) / 2;
                (fits_smaller(buffer, size - middle * unit) ? fewer : too_few) = middle;
            }
            fewer *= unit;
            found.push_back({"smaller",
                             {buffer},
                             0,
                             0,
                             fewer,
                             given_.names[buffer] + " has " + bytes(size - fewer) + " bytes or less instead of " +
                                 bytes(size) + " (" + bytes(fewer) + " fewer)"});
        }
        std::stable_sort(found.begin(), found.end(),
                         [](const change& a, const change& b) { return a.bytes < b.bytes; });
        return found;
    }
    [[nodiscard]] bool fits_smaller(std::size_t buffer, std::uint64_t size) const {
        input changed = given_;
        if (is_divisible(buffer)) changed.row_counts[buffer] = size / row_of(buffer);
        changed.buffers[buffer].size = size;
        return fits(changed);
    }
    [[nodiscard]] bool is_divisible(std::size_t buffer) const {
        return is_choice_ && !given_.row_counts.empty() && given_.row_counts[buffer] > 1 &&
               given_.buffers[buffer].size != 0;
    }
    /// Returns the bytes of a row of a buffer that may be divided; otherwise 1.
    [[nodiscard]] std::uint64_t row_of(std::size_t buffer) const {
        return is_divisible(buffer) ? given_.buffers[buffer].size / given_.row_counts[buffer] : 1;
    }

    /// Pages need no contiguous bytes.
    [[nodiscard]] std::vector<change> paged() const {
        if (is_choice_ || given_.memories.size() != 1 || !is_plain(given_)) return {};
        std::uint64_t align = 1, most = 0;
        for (const allot::plan_buffer& each : given_.buffers) {
            align = std::max(align, each.align);
            most = std::max(most, each.size);
        }
        for (std::uint64_t page_size : {65'536u, 4'096u, 256u}) {
            page_size = std::max(page_size, align);
            if (page_size > capacity_ || most / page_size > 1'000'000) continue;
            const outcome made = all_in_pages(given_, page_size);
            if (made.memories[0].plan.peak > capacity_ || !mistake_in_pages(given_, made).empty()) continue;
            return {{"pages",
                     {},
                     0,
                     0,
                     page_size,
                     "all buffers may lie in pages of " + bytes(page_size) + " bytes (" +
                         bytes(made.memories[0].plan.peak) + " bytes)"}};
        }
        return {};
    }
    /// The buffers that cost least in a second memory. Each further choice does without the largest one of those
    /// before.
    [[nodiscard]] std::vector<change> elsewhere() const {
        if (is_choice_ || !given_.memories[memory_].reserved.empty()) return {};
        const part mine{given_, memory_};
        const allot::plan_memory memories[] = {{.capacity = capacity_}, {.cost = 1}};
        std::vector<std::uint64_t> allowed(mine.members().size(), 3);
        for (const allot::plan_fixed& each : mine.problem().fixed) allowed[each.buffer] = 1;
        std::vector<change> found;
        while (found.size() != most_changes) {
            const auto made = allot::plan_memories({mine.problem(), memories, {}, allowed}, {.effort = effort()});
            if (!made || made->unplaced != 0) break;
            std::vector<std::size_t> others;  // in this memory's numbers
            for (std::size_t i = 0; i != made->places.size(); ++i)
                if (made->places[i].memory == 1) others.push_back(i);
            if (others.empty()) break;
            std::stable_sort(others.begin(), others.end(), [&](std::size_t x, std::size_t y) {
                return mine.problem().buffers[x].size > mine.problem().buffers[y].size;
            });
            allowed[others[0]] = 1;
            for (std::size_t& each : others) each = mine.members()[each];
            const std::uint64_t sum = sum_of_sizes(others);
            found.push_back({"elsewhere", others, 0, 0, sum,
                             names_of(others) + " in another memory (" + bytes(sum) + " bytes in all)"});
        }
        return found;
    }

    [[nodiscard]] std::vector<change> larger_memory() const {
        std::uint64_t needed = unlimited;
        const std::size_t which = is_choice_ ? given_.memories.size() - 1 : memory_;
        if (is_choice_) {
            input changed = given_;
            changed.memories[which].capacity = unlimited;
            if (const allot::memories_plan made = choice_of(changed); made.unplaced == 0)
                needed = made.needs[which].peak;
            // The search may need more room than its plan without a capacity.
            const std::uint64_t own = given_.memories[which].capacity;
            for (int turn = 0; turn != 6 && needed != unlimited && needed > own; ++turn) {
                changed.memories[which].capacity = needed;
                if (fits(changed)) break;
                const std::uint64_t more = (needed - own) / 2 + 1;
                needed = turn == 5 || unlimited - needed <= more ? unlimited : needed + more;
            }
        } else if (const auto made = allot::plan(part{given_, memory_}.problem(), {.effort = effort()}); made) {
            needed = made->peak;
        }
        if (needed == unlimited || needed <= given_.memories[which].capacity) return {};
        return {{"capacity",
                 {},
                 0,
                 0,
                 needed,
                 given_.memories[which].name + " has " + bytes(needed) + " bytes (" +
                     bytes(needed - given_.memories[which].capacity) + " more)"}};
    }

    const input& given_;
    bool is_choice_ = false;
    std::size_t memory_ = 0;
    std::uint64_t capacity_ = 0;
    std::int64_t step_ = 0;
    allot::plan_summary plan_{};
    std::vector<std::size_t> live_;  // at the critical step
    std::uint64_t sum_ = 0;          // bytes of them
    std::size_t tried_ = 1;
};

/// Explains each memory of a plan that does not fit.
[[nodiscard]] inline std::vector<explanation> explanations_of(const input& given, const outcome& made) {
    std::vector<explanation> found;
    if (made.pages || made.moves) return found;  // pages fit up to the bound, which the line states
    for (std::size_t m = 0; m != made.memories.size(); ++m)
        if (const allot::plan_summary& plan = made.memories[m].plan;
            plan.status == allot::plan_status::infeasible || plan.status == allot::plan_status::out_of_budget)
            found.push_back(explainer{given, m, plan}.explain());
    return found;
}

inline void write_explanations(std::ostream& out, const std::vector<explanation>& all) {
    for (const explanation& each : all) {
        out << (all.size() > 1 ? each.memory + ": " : "") << each.why << '\n';
        for (const change& one : each.changes) out << "  it fits if " << one.text << '\n';
    }
}
inline void write_explanations_json(std::ostream& out, const input& given, const std::vector<explanation>& all) {
    out << "[";
    for (const explanation& each : all) {
        out << (&each == all.data() ? "" : ", ") << "{\"memory\": " << demo::quoted(each.memory)
            << ", \"why\": " << demo::quoted(each.why) << ", \"fits_if\": [";
        for (const change& one : each.changes) {
            out << (&one == each.changes.data() ? "" : ", ") << "{\"kind\": \"" << one.kind << "\", \"buffers\": [";
            for (std::size_t i = 0; i != one.buffers.size(); ++i)
                out << (i == 0 ? "" : ", ") << demo::quoted(given.names[one.buffers[i]]);
            out << "], \"from\": " << one.from << ", \"until\": " << one.until << ", \"bytes\": " << one.bytes
                << ", \"text\": " << demo::quoted(one.text) << "}";
        }
        out << "]}";
    }
    out << "]";
}

}  // namespace planner
