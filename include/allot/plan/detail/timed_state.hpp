// SPDX-License-Identifier: BSL-1.0
// timed_state: the visits of the first memory that are chosen so far, and the time that steps and copies take with
// them.
//
// Internal. A visit is a stay of a value in the first memory, for a run of its events (contents.hpp). It is whole if it
// is the whole life of the value, which then needs no home and no copies. The room counts bytes by step, without
// offsets: timed_planner.hpp looks for the places.
//
// Complexity: O(steps of the visit + copies) to add or remove a visit, O(steps + copies) to simulate.
// Memory: on the heap, about 40 bytes a step, an event and a visit. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/contents.hpp>
#include <allot/plan/timed_problem.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// The steps in which a copy may run, and its place in the queue.
struct copy_window {
    std::int64_t begin = 0, end = 0;
    std::size_t visit = 0;
    bool is_out = false;

    /// Returns the lifetime that both pieces need.
    [[nodiscard]] lifetime live() const noexcept { return {begin, std::max(end, begin + 1)}; }
    /// Orders the queue. A copy out precedes a copy in, which may read its result.
    [[nodiscard]] bool precedes(const copy_window& other) const noexcept {
        if (begin != other.begin) return begin < other.begin;
        if (is_out != other.is_out) return is_out;
        return end != other.end ? end < other.end : visit < other.visit;
    }
};

/// A visit from event `first` to event `last` of a value.
struct timed_visit {
    std::size_t value = 0, first = 0, last = 0;
    bool is_whole = false, has_in = false, has_out = false;
    copy_window in{}, out{};
    lifetime live{};
};

/// The elapsed time of a trial, and the time that steps wait for copies in it.
struct timed_result {
    std::uint64_t elapsed = 0, waited = 0;
};

/// Returns the time of steps and of copies in the order of their queue. `ready` has an element for each step.
template <class Copies, class TimeOfCopy, class TimeOfStep>
[[nodiscard]] timed_result run_steps(const Copies& copies, TimeOfCopy time_of_copy, TimeOfStep time_of_step,
                                     std::vector<std::uint64_t>& ready) {
    timed_result result;
    std::uint64_t now = 0, queue = 0;
    std::fill(ready.begin(), ready.end(), std::uint64_t{0});  // when the copies that a step waits for end
    auto next = copies.begin();
    for (std::size_t s = 0; s != ready.size(); ++s) {
        for (; next != copies.end() && next->begin == static_cast<std::int64_t>(s); ++next) {
            queue = std::max(queue, now) + time_of_copy(*next);
            ready[static_cast<std::size_t>(next->end)] = queue;
        }
        if (ready[s] > now) {
            result.waited += ready[s] - now;
            now = ready[s];
        }
        now += time_of_step(s);
    }
    result.elapsed = std::max(now, queue);
    return result;
}

class timed_state {
public:
    static constexpr std::size_t no_visit = ~std::size_t{0};

    timed_state() = default;
    /// Starts with no visits. `home_costs` has the cost of a byte in the home of each value.
    timed_state(const timed_problem& problem, const buffer_contents<plan_access>& contents,
                std::vector<std::uint64_t> home_costs)
        : problem_{&problem},
          contents_{&contents},
          home_costs_{std::move(home_costs)},
          access_(problem.durations.size()),
          used_(problem.durations.size()),
          ready_(problem.durations.size()),
          visit_of_(contents.events().size(), no_visit) {
        for (std::size_t v = 0; v != values().size(); ++v)
            for (std::size_t e = values()[v].first; e <= values()[v].last; ++e)
                access_[step_of(e)] += contents.events()[e].count * size(v) * home_costs_[v];
    }

    /// Adds the accesses of a buffer that does not move.
    void add_access(std::int64_t step, std::uint64_t time) { access_[static_cast<std::size_t>(step)] += time; }
    /// Adds bytes of the first memory that a buffer that does not move uses.
    void add_use(lifetime live, std::uint64_t bytes) {
        each_step(live, [&](std::size_t s) { used_[s] += bytes; });
    }

    [[nodiscard]] const std::vector<access_value>& values() const noexcept { return contents_->values(); }
    [[nodiscard]] const std::vector<timed_visit>& visits() const noexcept { return visits_; }
    [[nodiscard]] const std::vector<copy_window>& copies() const noexcept { return copies_; }
    /// Returns the visit of an event, or `no_visit`.
    [[nodiscard]] std::size_t visit_of(std::size_t event) const { return visit_of_[event]; }
    [[nodiscard]] std::uint64_t size(std::size_t value) const {
        return problem_->moves.memories.buffers.buffers[values()[value].buffer].size;
    }
    [[nodiscard]] std::uint64_t time_of_copy(std::size_t value) const {
        return problem_->latency + size(value) * problem_->copy_cost;
    }
    /// Returns the time of a step, without waiting.
    [[nodiscard]] std::uint64_t time_of_step(std::size_t s) const {
        return std::max(problem_->durations[s], access_[s]);
    }
    /// Returns the time by which the accesses of a step exceed its duration.
    [[nodiscard]] std::uint64_t excess_of_step(std::size_t s) const { return time_of_step(s) - problem_->durations[s]; }
    [[nodiscard]] std::size_t steps() const noexcept { return access_.size(); }

    /// Returns the time that the accesses of the steps become shorter by a visit, without its copies.
    [[nodiscard]] std::uint64_t gain(std::size_t v, std::size_t first, std::size_t last) const {
        std::uint64_t sum = 0;
        for (std::size_t e = first; e <= last; ++e)
            sum += std::min(excess_of_step(step_of(e)), contents_->events()[e].count * saving(v));
        return sum;
    }
    /// Returns whether a visit can be added: its events are at home, and the first memory has room. Sets its windows.
    [[nodiscard]] bool fit(timed_visit& trial) const {
        const access_value& value = values()[trial.value];
        for (std::size_t e = trial.first; e <= trial.last; ++e)
            if (visit_of_[e] != no_visit) return false;
        trial.live = {step(trial.first), step(trial.last) + 1};
        if (trial.is_whole) trial.live = value.live;
        if (!has_room(trial.live, size(trial.value))) return false;
        if (trial.is_whole) return true;
        trial.has_in = contents_->is_copied_in(trial.value, trial.first);
        trial.has_out = contents_->is_copied_out(trial.value, trial.first, trial.last);
        if (trial.has_in) set_in(trial);
        return !trial.has_out || set_out(trial);
    }
    /// Adds a visit for which `fit` returned true.
    void add(timed_visit visit) {
        const std::size_t at = visits_.size();
        visit.in.visit = visit.out.visit = at;
        visit.out.is_out = true;
        for (std::size_t e = visit.first; e <= visit.last; ++e) {
            visit_of_[e] = at;
            access_[step_of(e)] -= contents_->events()[e].count * saving(visit.value);
        }
        add_use(visit.live, size(visit.value));
        if (visit.has_in) enqueue(visit.in);
        if (visit.has_out) enqueue(visit.out);
        visits_.push_back(visit);
    }
    /// Removes a visit. The last one gets its number.
    void remove(std::size_t at) {
        const timed_visit gone = visits_[at];
        for (std::size_t e = gone.first; e <= gone.last; ++e) {
            visit_of_[e] = no_visit;
            access_[step_of(e)] += contents_->events()[e].count * saving(gone.value);
        }
        each_step(gone.live, [&](std::size_t s) { used_[s] -= size(gone.value); });
        std::erase_if(copies_, [&](const copy_window& copy) { return copy.visit == at; });
        const std::size_t moved = visits_.size() - 1;
        if (at != moved) {
            visits_[at] = visits_[moved];
            visits_[at].in.visit = visits_[at].out.visit = at;
            for (std::size_t e = visits_[at].first; e <= visits_[at].last; ++e) visit_of_[e] = at;
            std::erase_if(copies_, [&](const copy_window& copy) { return copy.visit == moved; });
            if (visits_[at].has_in) enqueue(visits_[at].in);
            if (visits_[at].has_out) enqueue(visits_[at].out);
        }
        visits_.pop_back();
    }

    /// Returns the time of all steps and copies.
    [[nodiscard]] timed_result simulate() {
        const auto time_of = [this](const copy_window& copy) { return time_of_copy(visits_[copy.visit].value); };
        return run_steps(copies_, time_of, [this](std::size_t s) { return time_of_step(s); }, ready_);
    }

private:
    [[nodiscard]] std::int64_t step(std::size_t e) const { return contents_->events()[e].step; }
    [[nodiscard]] std::size_t step_of(std::size_t e) const { return static_cast<std::size_t>(step(e)); }
    [[nodiscard]] const plan_memory& fast() const { return problem_->moves.memories.memories.front(); }
    /// Returns the time that an access saves in the first memory.
    [[nodiscard]] std::uint64_t saving(std::size_t v) const { return size(v) * (home_costs_[v] - fast().cost); }
    template <class Function>
    void each_step(lifetime live, Function f) const {
        const auto end = static_cast<std::int64_t>(steps());
        for (std::int64_t s = std::max<std::int64_t>(live.from, 0); s < std::min(live.until, end); ++s)
            f(static_cast<std::size_t>(s));
    }
    [[nodiscard]] bool has_room(lifetime live, std::uint64_t bytes) const {
        bool has = bytes <= fast().capacity;
        each_step(live, [&](std::size_t s) { has = has && used_[s] <= fast().capacity - bytes; });
        return has;
    }
    void enqueue(const copy_window& copy) {
        const auto behind = std::partition_point(copies_.begin(), copies_.end(),
                                                 [&](const copy_window& each) { return each.precedes(copy); });
        copies_.insert(behind, copy);
    }

    /// Sets the window of the copy in: as early as the home has the contents and the memory has room, until the steps
    /// in between are as long as the copy.
    void set_in(timed_visit& trial) const {
        const access_value& value = values()[trial.value];
        std::int64_t lowest = std::max<std::int64_t>(value.live.from, 0);
        if (trial.first != value.first) {
            const std::size_t before = visit_of_[trial.first - 1];
            lowest = step(trial.first - 1) + 1;
            if (before != no_visit && visits_[before].has_out) lowest = visits_[before].out.end;
        }
        const std::uint64_t bytes = size(trial.value), wanted = time_of_copy(trial.value);
        std::int64_t begin = step(trial.first);
        for (std::uint64_t time = 0; begin > lowest && time < wanted && has_room({begin - 1, begin}, bytes);) {
            --begin;
            time += time_of_step(static_cast<std::size_t>(begin));
        }
        trial.in = {begin, step(trial.first)};
        trial.live.from = begin;
    }
    /// Sets the window of the copy out. Returns false if the memory has no room for its first step.
    [[nodiscard]] bool set_out(timed_visit& trial) const {
        const std::int64_t begin = step(trial.last) + 1;
        const std::size_t after = visit_of_[trial.last + 1];
        const std::int64_t latest = after == no_visit ? step(trial.last + 1) : visits_[after].in.begin;
        const std::uint64_t bytes = size(trial.value), wanted = time_of_copy(trial.value);
        if (begin > latest || !has_room({begin, begin + 1}, bytes)) return false;
        std::int64_t end = begin;
        for (std::uint64_t time = 0; end < latest && time < wanted && has_room({end, end + 1}, bytes); ++end)
            time += time_of_step(static_cast<std::size_t>(end));
        trial.out = {begin, end};
        trial.live.until = trial.out.live().until;
        return true;
    }

    const timed_problem* problem_ = nullptr;
    const buffer_contents<plan_access>* contents_ = nullptr;
    std::vector<std::uint64_t> home_costs_;     // by value
    std::vector<std::uint64_t> access_, used_;  // by step: time of its accesses; bytes of the first memory
    std::vector<std::uint64_t> ready_;          // by step, for run_steps
    std::vector<std::size_t> visit_of_;         // by event
    std::vector<timed_visit> visits_;
    std::vector<copy_window> copies_;  // in the order of the queue
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
