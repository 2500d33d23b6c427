// moves: where each buffer lives when there are several memories, and a buffer may leave the fast one and come back.
//
//     allot::plan_memory memories[] = {{.capacity = 768_KiB}, {.cost = 1}};                 // fast; slow, unbounded
//     allot::plan_access accesses[] = {{.buffer = 0, .step = 0, .writes = true}, {.buffer = 0, .step = 9}, …};
//     auto made = allot::plan_moves({{.buffers = {.buffers = buffers}, .memories = memories}, accesses});
//     for (const allot::plan_copy& copy : made->copies) …     // from made->pieces[copy.from] to made->pieces[copy.to]
//     made->piece_of[1];                                      // where accesses[1] finds its buffer
//
//     accesses   w  r                r  r       A buffer is one piece for its life; or it has a home in a slower memory, and
//     fast       ████                ████       visits to a faster one around some of its accesses. It is copied in where a
//     home          ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒          visit begins, unless it is written there first, and out where one ends, if
//                  out              in          it was written there and is read again. A home lasts from the first copy out,
//                                               or from where the buffer came with contents, to the last copy in or access.
//
// An access is a use of the whole buffer at a step of its life. One that writes replaces all contents; what is changed in
// part is read and written at that step. Reads come before writes at a step. A buffer that is read before it was written came
// with contents: they are expected in the first of its pieces. What has to be there at the end is read there.
//
// An access costs the buffer's size times the cost of the memory where it happens; a copy costs it times the sum of both
// memories' costs. A copy happens before or after the accesses of its step, and both pieces live throughout that step: copies
// of one step, before or after, may be done in any order, and at once.
//
// Buffers that are fixed, together, apart or live again stay where `plan_memories` puts them, and so do those that nothing
// accesses. All others live only from the first access to the last, and not while their contents are of no use.
//
//     plan_memories ──► prices of bytes ──► visits ──► plan_memories: which of them, and where ──► plan_memories: homes, and
//     whole lives          ▲                                                                  │    all that has no place yet
//                          └────────────── other prices; the best plan so far is kept ◄───────┘
//
// Never worse than whole lives. The same input gives the same plan on every machine. Complexity: rounds of `plan_memories`
// with an eighth of the effort each, in all about five times the effort. On the heap only: how many pieces and copies there
// are is known when they are made. Thread safety: pure.
#pragma once

#include <allot/plan/spill.hpp>
#include <allot/plan/visits.hpp>

#include <numeric>

namespace allot::inline v1 {

struct plan_access {
    std::size_t buffer = 0;
    std::int64_t step = 0;
    bool writes = false;
};

struct moves_problem {
    memories_problem memories;               // without uses: those are the accesses
    std::span<const plan_access> accesses{}; // in any order
};

/// A buffer for some time in one place.
struct plan_piece {
    std::size_t buffer = 0;
    lifetime live{};
    memory_place place{};
    friend constexpr bool operator==(const plan_piece&, const plan_piece&) = default;
};

/// All bytes of a buffer, from one of its pieces to another.
struct plan_copy {
    std::size_t buffer = 0;
    std::int64_t step = 0;
    bool after = false;  // the accesses of that step; or before them
    std::size_t from = 0;
    std::size_t to = 0;
    std::uint64_t size = 0;
    friend constexpr bool operator==(const plan_copy&, const plan_copy&) = default;
};

/// A plan, but for its pieces and copies. Where it is infeasible or out of budget, some buffers are nowhere: they cost nothing
/// here, and nothing is moved.
struct moves_summary {
    plan_status status = plan_status::optimal;
    std::uint64_t cost = 0;        // of accesses and copies
    std::uint64_t bound = 0;       // no plan costs less
    std::uint64_t whole_cost = 0;  // of the plan in which each buffer stays where it is all of its life
    std::uint64_t copied = 0;      // bytes, of all copies
    std::uint64_t spilled = 0;     // bytes of buffers that are not always in the first memory
    std::uint64_t homeless = 0;    // buffers that are nowhere
    std::size_t which = 0;         // infeasible: a buffer that fits no memory that is allowed; otherwise how many there are
    friend constexpr bool operator==(const moves_summary&, const moves_summary&) = default;
};

struct moves_plan : moves_summary {
    std::vector<plan_piece> pieces;      // by buffer, and the first of each is where its first contents are
    std::vector<plan_copy> copies;       // in order of time
    std::vector<std::size_t> piece_of;   // for each access
    std::vector<memory_needs> needs;     // of each memory
};

namespace detail {

/// Keeps the best plan it knows, beginning with whole lives.
template <class Watch>
class move_planner {
public:
    move_planner(const moves_problem& problem, const memories_options& options, Watch& watch)
        : given_{problem.memories}, accesses_{problem.accesses}, options_{options}, watch_{&watch}, buffers_{given_.buffers.buffers},
          uses_(buffers_.size()), moves_(buffers_.size()), allowed_(buffers_.size()) {
        for (const plan_access& access : accesses_) ++uses_[access.buffer];
    }

    [[nodiscard]] plan_error run() {
        memories_problem whole = given_;
        whole.uses = uses_;
        const auto made = plan_memories(whole, options_, [this](const memories_progress& now) {
            return stopped_ = stopped_ || (*watch_)(now);
        });
        if (!made) return made.error();
        begin_with(*made);
        if (best_.cost <= best_.bound && best_.homeless == 0) return {};
        if (!read_accesses(*made)) return {};
        if (!stopped_) solve(decided_);  // those alone whose contents are of no use at times
        for (std::uint32_t fast = 0; fast + 1 < given_.memories.size() && !stopped_; ++fast) improve(fast);
        return {};
    }
    [[nodiscard]] moves_plan& best() noexcept { return best_; }

private:
    static constexpr std::uint64_t bit(std::size_t memory) noexcept { return std::uint64_t{1} << memory; }
    [[nodiscard]] const plan_memory& memory(std::size_t m) const { return given_.memories[m]; }

    /// What was decided: which events are visits, and where. What is nowhere yet gets a place when all is planned.
    struct decision {
        std::vector<event_place> how;     // by event
        std::vector<memory_place> visit;  // by event: of the visit that begins there
        std::vector<memory_place> home;   // by value
    };

    // ---- whole lives -----------------------------------------------------------------------------------------------

    void begin_with(const memories_plan& made) {
        best_.cost = best_.whole_cost = made.cost;
        best_.homeless = made.homeless;
        best_.which = made.which;
        best_.needs = made.needs;
        const std::uint64_t all = given_.memories.size() == 64 ? ~std::uint64_t{0} : bit(given_.memories.size()) - 1;
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            allowed_[i] = given_.allowed.empty() ? all : given_.allowed[i] & all;
            std::uint64_t fits = 0;
            for (std::size_t m = given_.memories.size(); m-- != 0;)
                if ((allowed_[i] & bit(m)) != 0 && buffers_[i].size <= memory(m).capacity) fits |= bit(m);
            allowed_[i] = fits;
            if (fits != 0) best_.bound += buffers_[i].size * uses_[i] * memory(static_cast<std::size_t>(std::countr_zero(fits))).cost;
        }
        std::vector<plan_piece>& pieces = best_.pieces;
        for (std::size_t i = 0; i != buffers_.size(); ++i) pieces.push_back({i, buffers_[i].live, made.places[i]});
        for (const plan_revival& revival : given_.buffers.revivals) pieces.push_back({revival.buffer, revival.live, made.places[revival.buffer]});
        put_in_order(pieces);
        for (const plan_access& access : accesses_) best_.piece_of.push_back(piece_at(pieces, access));
        sum_up(best_);
    }
    static void put_in_order(std::vector<plan_piece>& pieces) {
        std::stable_sort(pieces.begin(), pieces.end(), [](const plan_piece& a, const plan_piece& b) {
            return a.buffer != b.buffer ? a.buffer < b.buffer : a.live.from < b.live.from;
        });
    }
    /// The last piece of its buffer that begins at or before its step.
    static std::size_t piece_at(const std::vector<plan_piece>& pieces, const plan_access& access) {
        const auto behind = std::partition_point(pieces.begin(), pieces.end(), [&](const plan_piece& piece) {
            return piece.buffer != access.buffer ? piece.buffer < access.buffer : piece.live.from <= access.step;
        });
        return static_cast<std::size_t>(behind - pieces.begin()) - 1;
    }

    // ---- events and values -----------------------------------------------------------------------------------------

    /// Whether there is anything that can be moved.
    [[nodiscard]] bool read_accesses(const memories_plan& whole) {
        if (given_.memories.size() > 63) return false;  // one more stands for the homes
        for (std::size_t i = 0; i != buffers_.size(); ++i) moves_[i] = buffers_[i].size != 0 && uses_[i] != 0 && allowed_[i] != 0;
        for (const plan_revival& each : given_.buffers.revivals) moves_[each.buffer] = false;
        for (const plan_fixed& each : given_.buffers.fixed) moves_[each.buffer] = false;
        for (const auto pairs : {given_.buffers.together, given_.buffers.apart})
            for (const plan_pair& each : pairs) moves_[each.first] = moves_[each.second] = false;
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            if (!moves_[i] && whole.places[i].memory == memory_place::nowhere) return false;
            whole_.push_back(whole.places[i]);
        }

        std::vector<std::size_t> order;
        for (std::size_t a = 0; a != accesses_.size(); ++a)
            if (moves_[accesses_[a].buffer]) order.push_back(a);
        std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
            return accesses_[a].buffer != accesses_[b].buffer ? accesses_[a].buffer < accesses_[b].buffer : accesses_[a].step < accesses_[b].step;
        });
        event_of_.resize(accesses_.size());
        for (std::size_t k = 0; k != order.size();) {
            const plan_access& first = accesses_[order[k]];
            const bool fresh = values_.empty() || values_.back().buffer != first.buffer;
            access_event event{.step = first.step};
            for (; k != order.size() && accesses_[order[k]].buffer == first.buffer && accesses_[order[k]].step == first.step; ++k) {
                ++event.count;
                (accesses_[order[k]].writes ? event.writes : event.reads) = true;
                event_of_[order[k]] = events_.size();
            }
            if (fresh || !event.reads) {
                const lifetime live{fresh && event.reads ? buffers_[first.buffer].live.from : event.step, event.step + 1};
                values_.push_back({first.buffer, events_.size(), events_.size(), live, event.reads});
            }
            values_.back().last = events_.size();
            values_.back().live.until = event.step + 1;
            events_.push_back(event);
        }
        decided_ = {std::vector(events_.size(), event_place::home), std::vector<memory_place>(events_.size()),
                    std::vector<memory_place>(values_.size())};
        return !values_.empty();
    }

    // ---- visits to one memory ----------------------------------------------------------------------------------------

    void improve(std::uint32_t fast) {
        // What prices say is little more than what there is room for; with lower ones there is more to choose from. What was
        // not chosen is asked again for shorter visits.
        struct share {
            std::int64_t numerator, denominator;
        };
        constexpr share rounds[]{{1, 1}, {3, 4}, {1, 2}, {5, 4}, {1, 4}}, leftovers[]{{1, 1}, {2, 1}, {4, 1}, {8, 1}};
        std::vector<std::size_t> values;
        std::vector<visit_costs> costs(values_.size());
        for (std::size_t v = 0; v != values_.size(); ++v) {
            const std::size_t buffer = values_[v].buffer;
            if ((allowed_[buffer] & bit(fast)) == 0 || is_placed(decided_, v)) continue;
            const std::size_t home = home_of(buffer, fast);
            costs[v] = {memory(fast).cost, home != fast ? memory(home).cost : std::max<std::uint64_t>(given_.memories.back().cost, 1)};
            if (costs[v].home > costs[v].fast) values.push_back(v);
        }
        if (values.empty()) return;
        visit_prices prices{events_, values_};
        prices.scale_to(given_.memories.back().cost);
        const decision before = decided_;
        const auto try_from = [&](decision trial, share prices_now) {
            for (const share& left : leftovers)
                if (!choose(trial, prices, values, costs, fast, prices_now.numerator * left.numerator, prices_now.denominator * left.denominator) ||
                    !goes_on())
                    break;
            if (!stopped_ && solve(trial)) decided_ = std::move(trial);
        };
        for (const share& now : rounds) {
            prices.run(values, {buffers_.begin(), buffers_.end()}, costs, memory(fast).capacity, options_.effort == 0 ? 30 : 60);
            try_from(before, now);
            if (!goes_on()) return;
            if (&now != rounds) continue;
            decision whole = before;  // whole lives, and visits in the holes that they leave
            for (const std::size_t v : values)
                if (whole_[values_[v].buffer].memory == fast) whole.home[v] = whole_[values_[v].buffer];
            try_from(whole, {1, 2});
            if (!goes_on()) return;
        }
    }
    [[nodiscard]] bool goes_on() const noexcept { return !stopped_ && spent_ / 5 < options_.effort && best_.cost > best_.bound; }
    [[nodiscard]] bool is_placed(const decision& of, std::size_t v) const {
        if (of.home[v].memory != memory_place::nowhere) return true;
        for (std::size_t e = values_[v].first; e <= values_[v].last; ++e)
            if (of.how[e] == event_place::arrives) return true;
        return false;
    }
    /// The memory that a buffer would be at home in, if `fast` were for visits: where it was, or the next that it fits;
    /// `fast` where there is none.
    [[nodiscard]] std::size_t home_of(std::size_t buffer, std::uint32_t fast) const {
        if (const std::uint32_t was = whole_[buffer].memory; was != memory_place::nowhere && was > fast) return was;
        const std::uint64_t slower = allowed_[buffer] >> (fast + 1);
        return slower == 0 ? fast : fast + 1 + static_cast<std::size_t>(std::countr_zero(slower));
    }

    struct candidate {
        std::size_t value, first, last;  // events
        bool whole;
    };
    /// Which of the cheapest visits there is room for, and where; whether for any. What was chosen before stays.
    [[nodiscard]] bool choose(decision& trial, visit_prices& prices, const std::vector<std::size_t>& values,
                              const std::vector<visit_costs>& costs, std::uint32_t fast, std::int64_t numerator, std::int64_t denominator) {
        parts mine;
        keep_whole(mine, [&](std::size_t i) { return whole_[i].memory == fast; });
        for (std::size_t v = 0; v != values_.size(); ++v) {
            const plan_buffer& buffer = buffers_[values_[v].buffer];
            if (trial.home[v].memory == fast) mine.add(buffer, values_[v].live, 1, 1, trial.home[v].offset);
            for (std::size_t e = values_[v].first; e <= values_[v].last; ++e)
                if (trial.how[e] == event_place::arrives && trial.visit[e].memory == fast)
                    mine.add(buffer, visit_life(e, last_of(trial, v, e)), 1, 1, trial.visit[e].offset);
        }
        for (std::uint64_t& allowed : mine.allowed) allowed = 1;
        const std::size_t known = mine.buffers.size();
        std::vector<candidate> candidates;
        for (const std::size_t v : values) {
            if (is_placed(trial, v)) continue;
            const std::size_t buffer = values_[v].buffer;
            const bool must = home_of(buffer, fast) == fast;
            const auto add = [&](std::size_t first, std::size_t last, bool whole) {
                std::uint64_t saved = 0;
                for (std::size_t e = first; e <= last; ++e) saved += events_[e].count * (costs[v].home - costs[v].fast);
                const std::uint64_t copies = (whole ? 0 : copies_of(v, first, last)) * costs[v].copy();
                if (saved <= copies) return;
                candidates.push_back({v, first, last, whole});
                mine.add(buffers_[buffer], whole ? values_[v].live : visit_life(first, last), saved - copies, must ? 1 : 3);
            };
            prices.choose(v, costs[v], numerator, denominator);
            if (must || prices.is_whole(v)) add(values_[v].first, values_[v].last, true);
            else prices.each_visit(v, [&](std::size_t first, std::size_t last) { add(first, last, false); });
        }
        if (candidates.empty()) return false;
        const plan_memory memories[]{{.capacity = memory(fast).capacity, .align = memory(fast).align}, {.cost = 1}};
        const auto made = plan_parts(mine, memories);
        if (!made) return false;
        bool any = false;
        for (std::size_t k = 0; k != candidates.size(); ++k) {
            memory_place place = made->places[known + k];
            if (place.memory != 0) continue;
            any = true;
            place.memory = fast;
            const auto [v, first, last, whole] = candidates[k];
            if (whole) trial.home[v] = place;
            else trial.visit[first] = place;
            for (std::size_t e = first; !whole && e <= last; ++e) trial.how[e] = e == first ? event_place::arrives : event_place::stays;
        }
        return any;
    }
    [[nodiscard]] lifetime visit_life(std::size_t first, std::size_t last) const { return {events_[first].step, events_[last].step + 1}; }
    [[nodiscard]] std::size_t last_of(const decision& of, std::size_t v, std::size_t first) const {
        std::size_t last = first;
        while (last != values_[v].last && of.how[last + 1] == event_place::stays) ++last;
        return last;
    }
    [[nodiscard]] bool is_copied_in(std::size_t v, std::size_t first) const { return first != values_[v].first || values_[v].given; }
    [[nodiscard]] bool is_copied_out(std::size_t v, std::size_t first, std::size_t last) const {
        bool writes = false;
        for (std::size_t e = first; e <= last; ++e) writes = writes || events_[e].writes;
        return writes && last != values_[v].last;
    }
    [[nodiscard]] std::uint64_t copies_of(std::size_t v, std::size_t first, std::size_t last) const {
        return std::uint64_t{is_copied_in(v, first)} + std::uint64_t{is_copied_out(v, first, last)};
    }

    // ---- all pieces ----------------------------------------------------------------------------------------------------

    /// Plans what a decision leaves open, and keeps that where it is the best plan; whether it is.
    bool solve(const decision& decided) {
        constexpr std::size_t none = ~std::size_t{0};
        parts mine;
        moves_plan made;
        keep_whole(mine, [](std::size_t) { return true; });
        for (std::size_t i = 0; i != buffers_.size(); ++i)
            if (!moves_[i]) made.pieces.push_back({i, buffers_[i].live, {}});
        std::vector<std::size_t> piece(events_.size());
        const auto add = [&](std::size_t buffer, lifetime live, std::uint64_t uses, std::uint64_t allowed, const memory_place& place) {
            made.pieces.push_back({buffer, live, {}});
            if (place.memory == memory_place::nowhere) mine.add(buffers_[buffer], live, uses, allowed);
            else mine.add(buffers_[buffer], live, uses, bit(place.memory), place.offset);
            return made.pieces.size() - 1;
        };
        for (std::size_t v = 0; v != values_.size(); ++v) {
            const access_value& value = values_[v];
            // A home: from when there is something in it, to when that is needed for the last time.
            constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
            lifetime live{value.given ? value.live.from : latest, value.live.from};
            std::uint64_t uses = 0, faster = 0;
            const auto needed = [&](std::int64_t step) { live = {std::min(live.from, step), std::max(live.until, step + 1)}; };
            for (std::size_t e = value.first; e <= value.last; ++e) {
                if (decided.how[e] == event_place::home) {
                    uses += events_[e].count;
                    needed(events_[e].step);
                } else if (decided.how[e] == event_place::arrives) {
                    const std::size_t last = last_of(decided, v, e);
                    uses += copies_of(v, e, last);
                    faster |= 2 * bit(decided.visit[e].memory) - 1;
                    if (is_copied_in(v, e)) needed(events_[e].step);
                    if (is_copied_out(v, e, last)) needed(events_[last].step);
                }
            }
            const std::uint64_t slower = allowed_[value.buffer] & ~faster;
            const std::size_t home = uses == 0 ? none : add(value.buffer, live, uses, slower != 0 ? slower : allowed_[value.buffer], decided.home[v]);
            for (std::size_t e = value.first; e <= value.last; ++e) {
                if (decided.how[e] == event_place::home) piece[e] = home;
                if (decided.how[e] != event_place::arrives) continue;
                const std::size_t last = last_of(decided, v, e);
                const std::uint64_t copies = copies_of(v, e, last);
                std::uint64_t accesses = 0;
                for (std::size_t each = e; each <= last; ++each) accesses += events_[each].count;
                const std::size_t visit = add(value.buffer, visit_life(e, last), accesses + copies, 0, decided.visit[e]);
                for (std::size_t each = e; each <= last; ++each) piece[each] = visit;
                const std::uint64_t size = buffers_[value.buffer].size;
                if (is_copied_in(v, e)) made.copies.push_back({value.buffer, events_[e].step, false, home, visit, size});
                if (is_copied_out(v, e, last)) made.copies.push_back({value.buffer, events_[last].step, true, visit, home, size});
            }
        }
        const auto plan = plan_parts(mine, given_.memories);
        if (!plan || plan->homeless != 0 || (best_.homeless == 0 && plan->cost >= best_.cost)) return false;

        for (std::size_t p = 0; p != made.pieces.size(); ++p) made.pieces[p].place = plan->places[p];
        for (std::size_t i = 0, p = 0; i != buffers_.size(); ++i) {
            if (moves_[i]) continue;
            for (const plan_revival& each : given_.buffers.revivals)
                if (each.buffer == i) made.pieces.push_back({i, each.live, plan->places[p]});
            ++p;
        }
        finish(made, piece);
        static_cast<moves_summary&>(made) = best_;
        made.cost = plan->cost;
        made.homeless = 0;
        made.needs = plan->needs;
        sum_up(made);
        best_ = std::move(made);
        return true;
    }

    // ---- pieces as a problem of their own ----------------------------------------------------------------------------

    struct parts {
        std::vector<plan_buffer> buffers{};
        std::vector<plan_revival> revivals{};
        std::vector<plan_fixed> fixed{};
        std::vector<std::uint64_t> uses{}, allowed{};
        std::vector<plan_pair> together{};

        void add(const plan_buffer& of, lifetime live, std::uint64_t use, std::uint64_t allow) {
            buffers.push_back({of.size, live, of.align});
            uses.push_back(use);
            allowed.push_back(allow);
        }
        void add(const plan_buffer& of, lifetime live, std::uint64_t use, std::uint64_t allow, std::uint64_t offset) {
            fixed.push_back({buffers.size(), offset});
            add(of, live, use, allow);
        }
    };
    /// Buffers that are not moved, and for which `is_wanted` says so, fixed where they are.
    template <class IsWanted>
    void keep_whole(parts& mine, IsWanted is_wanted) const {
        std::vector<std::size_t> number(buffers_.size(), buffers_.size());
        for (std::size_t i = 0; i != buffers_.size(); ++i) {
            if (moves_[i] || !is_wanted(i)) continue;
            number[i] = mine.buffers.size();
            mine.add(buffers_[i], buffers_[i].live, uses_[i], bit(whole_[i].memory), whole_[i].offset);
        }
        for (const plan_revival& each : given_.buffers.revivals)
            if (number[each.buffer] != buffers_.size()) mine.revivals.push_back({number[each.buffer], each.live});
        for (const plan_pair& each : given_.buffers.together)
            if (number[each.first] != buffers_.size()) mine.together.push_back({number[each.first], number[each.second]});
    }
    [[nodiscard]] auto plan_parts(const parts& mine, std::span<const plan_memory> memories) {
        memories_options options = options_;
        options.effort /= 8;
        spent_ += options.effort + mine.buffers.size() * mine.buffers.size() / 1000;  // the steps that take no trying too
        return plan_memories({{mine.buffers, mine.revivals, mine.fixed, mine.together}, memories, mine.uses, mine.allowed}, options,
                             [this](const memories_progress&) {
                                 return stopped_ = stopped_ || (*watch_)(memories_progress{best_.cost, best_.homeless, best_.bound});
                             });
    }

    /// Pieces and copies in order, and the piece of each access. `piece`: of each event.
    void finish(moves_plan& made, const std::vector<std::size_t>& piece) const {
        std::vector<std::size_t> order(made.pieces.size()), became(made.pieces.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const plan_piece &one = made.pieces[a], &other = made.pieces[b];
            return one.buffer != other.buffer ? one.buffer < other.buffer : one.live.from < other.live.from;
        });
        std::vector<plan_piece> pieces;
        for (const std::size_t each : order) {
            became[each] = pieces.size();
            pieces.push_back(made.pieces[each]);
        }
        made.pieces = std::move(pieces);
        for (plan_copy& copy : made.copies) {
            copy.from = became[copy.from];
            copy.to = became[copy.to];
        }
        std::stable_sort(made.copies.begin(), made.copies.end(), [](const plan_copy& a, const plan_copy& b) {
            return a.step != b.step ? a.step < b.step : a.after < b.after;
        });
        for (std::size_t a = 0; a != accesses_.size(); ++a)
            made.piece_of.push_back(moves_[accesses_[a].buffer] ? became[piece[event_of_[a]]] : piece_at(made.pieces, accesses_[a]));
    }
    void sum_up(moves_plan& made) const {
        made.copied = made.spilled = 0;
        for (const plan_copy& copy : made.copies) made.copied += copy.size;
        std::vector<bool> counted(buffers_.size());
        for (const plan_piece& piece : made.pieces) {
            if (piece.place.memory == 0 || piece.place.memory == memory_place::nowhere || counted[piece.buffer]) continue;
            counted[piece.buffer] = true;
            made.spilled += piece.place.size;
        }
    }

    const memories_problem given_;
    std::span<const plan_access> accesses_;
    memories_options options_;
    Watch* watch_;
    std::span<const plan_buffer> buffers_;
    std::vector<std::uint64_t> uses_;           // by buffer
    std::vector<bool> moves_;                   // by buffer: whether it may
    std::vector<std::uint64_t> allowed_;        // by buffer: memories that it fits
    std::vector<memory_place> whole_;           // by buffer: of the plan of whole lives
    std::vector<access_event> events_;
    std::vector<access_value> values_;
    std::vector<std::size_t> event_of_;         // by access
    decision decided_;
    moves_plan best_;
    std::uint64_t spent_ = 0;                   // of the effort
    bool stopped_ = false;
};

[[nodiscard]] constexpr plan_error check_moves(const moves_problem& problem) noexcept {
    const memories_problem& given = problem.memories;
    if (const plan_error error = check_memories(given); error.why != plan_refusal::none) return error;
    if (!given.uses.empty()) return {plan_refusal::unsupported, 0};
    for (std::size_t a = 0; a != problem.accesses.size(); ++a) {
        const plan_access& access = problem.accesses[a];
        if (access.buffer >= given.buffers.buffers.size()) return {plan_refusal::no_such_buffer, access.buffer};
        const auto is_in = [&](lifetime live) { return live.from <= access.step && access.step < live.until; };
        bool lives = is_in(given.buffers.buffers[access.buffer].live);
        for (std::size_t r = 0; !lives && r != given.buffers.revivals.size(); ++r)
            lives = given.buffers.revivals[r].buffer == access.buffer && is_in(given.buffers.revivals[r].live);
        if (!lives) return {plan_refusal::outside_lifetime, a};
    }
    return {};
}

}  // namespace detail

/// Plans on the heap, and throws what the heap throws. `watch(memories_progress)` is called now and then once there is a plan,
/// and ends the work by true. Refused as `plan_memories` is, for accesses outside of their buffer's life, and for uses.
template <class Watch = unwatched>
[[nodiscard]] result<moves_plan, plan_error> plan_moves(const moves_problem& problem, const memories_options& options = {}, Watch watch = {}) {
    using answer = result<moves_plan, plan_error>;
    if (const plan_error error = detail::check_moves(problem); error.why != plan_refusal::none) return answer::failure(error);
    detail::move_planner<Watch> planner{problem, options, watch};
    if (const plan_error error = planner.run(); error.why != plan_refusal::none) return answer::failure(error);
    moves_plan& made = planner.best();
    if (made.homeless == 0) made.status = made.cost <= made.bound ? plan_status::optimal : plan_status::feasible;
    else made.status = made.which != problem.memories.buffers.buffers.size() ? plan_status::infeasible : plan_status::out_of_budget;
    return std::move(made);
}

}  // namespace allot::inline v1
