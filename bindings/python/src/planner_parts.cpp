// SPDX-License-Identifier: BSL-1.0
// What the bindings of all planners share. The planners run without the interpreter's lock.
#include "planner.hpp"

namespace allot_python {

std::string reason_of(allot::plan_error error, const char* too_large) {
    if (error.reason == allot::plan_refusal::too_large) return too_large;
    const char* const of = [&] {
        using enum allot::plan_refusal;
        switch (error.reason) {
            case empty_lifetime:
            case overlapping_lifetimes:
            case not_an_alignment:
            case no_such_buffer:
            case fixed_misaligned:
            case contradiction:
            case too_few_moves:
            case above_bound:
            case indivisible:
            case fixed_in_no_one_memory: return "buffer ";
            case outside_lifetime: return "access ";
            case not_a_memory: return "memory ";
            default: return "";
        }
    }();
    return *of == '\0' ? error.what() : of + std::to_string(error.which) + ": " + error.what();
}

table::table(const numbers& sizes, const steps& lower, const steps& upper, const numbers& alignments,
             const std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>>& lives,
             const std::vector<std::pair<std::size_t, std::uint64_t>>& fixed_offsets, const pairs& together_pairs,
             const pairs& apart_pairs, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges,
             std::vector<std::string> ids)
    : buffers(sizes.size()), names{std::move(ids)} {
    if (lower.size() != buffers.size() || upper.size() != buffers.size() || alignments.size() != buffers.size())
        throw std::invalid_argument{"the columns have different lengths"};
    for (std::size_t i = 0; i != buffers.size(); ++i) buffers[i] = {sizes(i), {lower(i), upper(i)}, alignments(i)};
    for (const auto& [buffer, from, until] : lives) revivals.push_back({buffer, {from, until}});
    for (const auto& [buffer, offset] : fixed_offsets) fixed.push_back({buffer, offset});
    for (const auto& [first, second] : together_pairs) together.push_back({first, second});
    for (const auto& [first, second] : apart_pairs) apart.push_back({first, second});
    for (const auto& [offset, size] : ranges) reserved.push_back({offset, size});
}

planner::input table::shown() const {
    planner::input made{.path = "Plan", .buffers = buffers, .names = names};
    made.memory_of.resize(buffers.size());
    made.revivals = revivals;
    made.memories.clear();
    for (std::size_t i = names.size(); i < buffers.size(); ++i) made.names.push_back(std::to_string(i));
    return made;
}

watcher::watcher(std::optional<double> seconds, progress called) : called_{std::move(called)} {
    if (!seconds) return;
    const auto longest = std::chrono::duration<double>{std::chrono::hours{24 * 365}};
    deadline_ = started_ +
                std::chrono::duration_cast<clock::duration>(std::min(std::chrono::duration<double>{*seconds}, longest));
}

bool watcher::watch(std::uint64_t reached, std::uint64_t bound, unlocked& during) noexcept {
    if (is_done_) return true;
    const auto time = clock::now();
    if (deadline_ && time >= *deadline_) return is_done_ = true;
    if (time < next_) return false;
    next_ = time + std::chrono::milliseconds{50};
    during.with_lock([&] {
        is_done_ = !kept_.guard([&] {
            if (PyErr_CheckSignals() != 0) throw nb::python_error{};
            if (called_ && is_ended_by_call(reached, bound)) is_done_ = true;
        }) || is_done_;
    });
    return is_done_;
}

bool watcher::is_ended_by_call(std::uint64_t reached, std::uint64_t bound) {
    const nb::tuple arguments = nb::make_tuple(reached, bound);
    const nb::object result = nb::steal(allot_call(called_->ptr(), arguments.ptr()));
    if (!result.is_valid()) throw nb::python_error{};
    return nb::cast<bool>(result);
}

std::string picture_of(const planner::input& shown, std::vector<allot::plan_summary> plans, planner::outcome made) {
    const unlocked during;
    for (const allot::plan_summary& each : plans) made.memories.push_back({{}, each});
    for (std::size_t i = 0; i != shown.buffers.size(); ++i) made.memories[shown.memory_of[i]].buffers.push_back(i);
    std::ostringstream out;
    planner::picture{shown, made}.write(out);
    return std::move(out).str();
}

}  // namespace allot_python
