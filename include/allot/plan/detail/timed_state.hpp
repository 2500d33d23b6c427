// SPDX-License-Identifier: BSL-1.0
// timed_state: the visits of the first memory that are chosen so far, and the time that steps and copies take with
// them.
//
// Internal. A visit is a stay of a value in the first memory, for a run of its events (contents.hpp). It is whole if it
// is the whole life of the value, which then needs no home and no copies. The room counts bytes by step, without
// offsets: timed_planner.hpp looks for the places.
//
//     steps      │   3   │   4   │   5   │   6   │     For each step, the state has the time until the next step begins
//     queue      ████████████████████████              and the lag: the time until the queue of copies is empty. Both
//     lag        └─ of step 3 ──────────┘              are relative to the beginning of the step.
//
// After a change, only the steps from the change to the first one with the lag of before are simulated: the lag
// determines when the copies in flight end. If the queue was idle in between, the earlier copies have ended.
//
// Complexity: O(steps of the visit) to add or remove a visit; O(steps until the lag is that of before) to simulate.
// Memory: on the heap, about 100 bytes a step, and 40 an event, a visit and a copy. Thread safety: not synchronized.
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
    std::uint64_t time = 0;
    std::size_t first = 0;  // event of the visit
    bool is_out = false;

    /// Returns the lifetime that both pieces need.
    [[nodiscard]] lifetime live() const noexcept { return {begin, std::max(end, begin + 1)}; }
    /// Orders the queue. A copy out precedes a copy in, which may read its result.
    [[nodiscard]] bool precedes(const copy_window& other) const noexcept {
        if (begin != other.begin) return begin < other.begin;
        if (is_out != other.is_out) return is_out;
        return end != other.end ? end < other.end : first < other.first;
    }
};

/// A visit from event `first` to event `last` of a value.
struct timed_visit {
    std::size_t value = 0, first = 0, last = 0;
    bool is_whole = false, has_in = false, has_out = false;
    copy_window in{}, out{};
    lifetime live{};
};

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
          advance_(problem.durations.size()),
          lag_(problem.durations.size() + 1),
          copies_(problem.durations.size()),
          visit_of_(contents.events().size(), no_visit) {
        for (std::size_t v = 0; v != values().size(); ++v)
            for (std::size_t e = values()[v].first; e <= values()[v].last; ++e)
                access_[step_of(e)] += contents.events()[e].count * size(v) * home_costs_[v];
        touch(0, steps());
    }

    /// Adds the accesses of a buffer that does not move.
    void add_access(std::int64_t step, std::uint64_t time) { access_[static_cast<std::size_t>(step)] += time; }
    /// Adds bytes of the first memory that a buffer that does not move uses.
    void add_use(lifetime live, std::uint64_t bytes) {
        each_step(live, [&](std::size_t s) { used_[s] += bytes; });
    }

    [[nodiscard]] const std::vector<access_value>& values() const noexcept { return contents_->values(); }
    [[nodiscard]] const std::vector<timed_visit>& visits() const noexcept { return visits_; }
    /// Returns the copies in the order of the queue.
    [[nodiscard]] std::vector<copy_window> copies() const {
        std::vector<copy_window> all;
        for (const std::vector<copy_window>& each : copies_) all.insert(all.end(), each.begin(), each.end());
        return all;
    }
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
    /// Adds a visit for which `fit` returned true, or that was removed from the same state.
    void add(const timed_visit& visit) {
        for (std::size_t e = visit.first; e <= visit.last; ++e) {
            visit_of_[e] = visits_.size();
            access_[step_of(e)] -= contents_->events()[e].count * saving(visit.value);
        }
        add_use(visit.live, size(visit.value));
        if (visit.has_in) enqueue(visit.in);
        if (visit.has_out) enqueue(visit.out);
        touch(visit);
        visits_.push_back(visit);
    }
    /// Removes a visit. The last one gets its number.
    timed_visit remove(std::size_t at) {
        const timed_visit gone = visits_[at];
        for (std::size_t e = gone.first; e <= gone.last; ++e) {
            visit_of_[e] = no_visit;
            access_[step_of(e)] += contents_->events()[e].count * saving(gone.value);
        }
        each_step(gone.live, [&](std::size_t s) { used_[s] -= size(gone.value); });
        if (gone.has_in) dequeue(gone.in);
        if (gone.has_out) dequeue(gone.out);
        touch(gone);
        if (at + 1 != visits_.size()) {
            visits_[at] = visits_.back();
            for (std::size_t e = visits_[at].first; e <= visits_[at].last; ++e) visit_of_[e] = at;
        }
        visits_.pop_back();
        return gone;
    }

    /// Returns the time of all steps and copies. Simulates the steps that changes since the last call affect.
    [[nodiscard]] std::uint64_t elapsed() {
        undo_.clear();
        if (changed_from_ < changed_until_) simulate();
        changed_from_ = steps();
        changed_until_ = 0;
        return elapsed_;
    }
    /// Adds a visit if the elapsed time becomes shorter, and returns whether it does. Call `elapsed` before.
    bool add_if_shorter(const timed_visit& visit) {
        const std::uint64_t before = elapsed_;
        add(visit);
        if (elapsed() < before) return true;
        (void)remove(visits_.size() - 1);
        for (const step_times& each : undo_) {
            lag_[each.step] = each.lag;
            if (each.step != steps()) advance_[each.step] = each.advance;
        }
        elapsed_ = before;
        changed_from_ = steps();
        changed_until_ = 0;
        return false;
    }
    /// Returns the number of steps and copies that were simulated so far.
    [[nodiscard]] std::uint64_t simulated() const noexcept { return simulated_; }

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
        std::vector<copy_window>& at = copies_[static_cast<std::size_t>(copy.begin)];
        at.insert(
            std::partition_point(at.begin(), at.end(), [&](const copy_window& each) { return each.precedes(copy); }),
            copy);
    }
    void dequeue(const copy_window& copy) {
        std::vector<copy_window>& at = copies_[static_cast<std::size_t>(copy.begin)];
        at.erase(
            std::partition_point(at.begin(), at.end(), [&](const copy_window& each) { return each.precedes(copy); }));
    }

    // ---- the time --------------------------------------------------------------------------------------------------

    struct step_times {
        std::size_t step;
        std::uint64_t lag, advance;
    };

    /// Notes that the times of steps in [from, until) changed.
    void touch(std::size_t from, std::size_t until) {
        changed_from_ = std::min(changed_from_, from);
        changed_until_ = std::max(changed_until_, until);
    }
    void touch(const timed_visit& visit) {
        touch(step_of(visit.first), step_of(visit.last) + 1);
        for (const copy_window* copy : {visit.has_in ? &visit.in : nullptr, visit.has_out ? &visit.out : nullptr})
            if (copy != nullptr) touch(static_cast<std::size_t>(copy->begin), static_cast<std::size_t>(copy->end) + 1);
    }
    /// Sets `ready_` for the copies in flight at the beginning of a step, relative to it.
    void begin_at(std::size_t first) {
        std::uint64_t left = lag_[first];
        for (std::size_t s = first; left != 0 && s-- != 0;) {
            simulated_ += 1 + copies_[s].size();
            for (std::size_t c = copies_[s].size(); left != 0 && c-- != 0;) {
                const copy_window& copy = copies_[s][c];
                if (static_cast<std::size_t>(copy.end) >= first) wait_for(copy, left);
                left -= std::min(left, copy.time);
            }
        }
    }
    void wait_for(const copy_window& copy, std::uint64_t until) {
        std::uint64_t& ready = ready_[static_cast<std::size_t>(copy.end)];
        ready = std::max(ready, until);
        latest_ = std::max(latest_, static_cast<std::size_t>(copy.end));
    }
    /// Simulates the steps from `changed_from_` on. Ends behind `changed_until_` when the lag is that of before.
    void simulate() {
        std::size_t s = changed_from_;
        latest_ = s;
        begin_at(s);
        std::uint64_t clock = 0, lag = lag_[s];
        for (; s != steps(); ++s) {
            if (s >= changed_until_ && lag == lag_[s]) break;
            simulated_ += 1 + copies_[s].size();
            const std::uint64_t begins_with = lag;
            for (const copy_window& copy : copies_[s]) wait_for(copy, clock + (lag += copy.time));
            const std::uint64_t waits = ready_[s] - std::min(ready_[s], clock), advance = waits + time_of_step(s);
            ready_[s] = 0;
            undo_.push_back({s, lag_[s], advance_[s]});
            elapsed_ = elapsed_ - advance_[s] + advance;
            lag_[s] = begins_with;
            advance_[s] = advance;
            clock += advance;
            lag -= std::min(lag, advance);
        }
        if (s == steps()) {
            undo_.push_back({s, lag_[s], 0});
            elapsed_ = elapsed_ - lag_[s] + lag;
            lag_[s] = lag;
        }
        for (; s <= latest_ && s != steps(); ++s) ready_[s] = 0;
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
        trial.in = {begin, step(trial.first), wanted, trial.first, false};
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
        trial.out = {begin, end, wanted, trial.first, true};
        trial.live.until = trial.out.live().until;
        return true;
    }

    const timed_problem* problem_ = nullptr;
    const buffer_contents<plan_access>* contents_ = nullptr;
    std::vector<std::uint64_t> home_costs_;     // by value
    std::vector<std::uint64_t> access_, used_;  // by step: time of its accesses; bytes of the first memory
    std::vector<std::uint64_t> ready_;    // by step, while steps are simulated: when the copies that it waits for end
    std::vector<std::uint64_t> advance_;  // by step: its time, with the time that it waits
    std::vector<std::uint64_t> lag_;      // by step: of the queue when the step could begin
    std::vector<std::vector<copy_window>> copies_;  // by first step, in the order of the queue
    std::vector<std::size_t> visit_of_;             // by event
    std::vector<timed_visit> visits_;
    std::vector<step_times> undo_;  // of the last call of `elapsed`
    std::uint64_t elapsed_ = 0, simulated_ = 0;
    std::size_t latest_ = 0, changed_from_ = 0, changed_until_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
