// SPDX-License-Identifier: BSL-1.0
// guide_maker: computes three layouts of a pass, rehearses them, and selects one.
//
// Internal. guide.hpp describes the rule.
#pragma once

#include <allot/plan/detail/guided_room.hpp>
#include <allot/plan/plan.hpp>

#include <algorithm>
#include <numeric>

namespace allot {
inline namespace v1 {

/// The options of `make_guide`.
struct guide_options {
    /// Effort of `plan` for the layout in which all blocks are pinned.
    plan_options plan{};
    /// The share of requests, in percent, that differ from pass to pass. 0: all passes are equal.
    unsigned changes = 0;
    /// Number of passes that are played to find blocks to pin.
    std::size_t trials = 20'000;
    /// Number of passes with changed requests that select the layout.
    std::size_t rehearsals = 24;
};

namespace detail {

/// A call of a rehearsal: a request, or the deallocation of the block of a request.
struct rehearsed_call {
    std::uint32_t request = 0;
    bool is_deallocation = false;
    std::size_t size = 0;
};

/// A template, so that only programs that make guides compile it.
template <class Request, class Room = guided_room<guided_granule>>
class guide_maker {
    static constexpr std::size_t granule = guided_granule;
    using room = Room;
    using strategy = typename Room::strategy_type;
    using allocation = typename Room::allocation_type;

public:
    static constexpr std::size_t everything = std::numeric_limits<std::size_t>::max() / 2;

    guide_maker(std::span<const Request> seen, const guide_options& options) : seen_{seen}, options_{options} {}

    [[nodiscard]] result<guide, plan_error> run() {
        using answer = result<guide, plan_error>;
        if (const plan_error error = check(); error.reason != plan_refusal::none) return answer::failure(error);
        list_calls();
        guide planned = base_;
        if (const plan_error error = plan_all(planned); error.reason != plan_refusal::none)
            return answer::failure(error);
        base_.bound = planned.bound;
        play_best_fit(base_, {});
        base_.best_fit_peak = planned.best_fit_peak = base_.peak;
        if (!is_settled(base_)) return planned;
        guide pinned = base_;
        pin_single(pinned);
        guide* const all[] = {&base_, &pinned, &planned};
        return std::move(*select(all));
    }

private:
    [[nodiscard]] plan_error check() const noexcept {
        if (seen_.size() >= lives_on / 4) return {plan_refusal::too_many, 0};
        for (std::size_t i = 0; i != seen_.size(); ++i) {
            const Request& each = seen_[i];
            if (!is_alignment(each.align)) return {plan_refusal::not_an_alignment, i};
            if (each.size == 0 || each.size > std::numeric_limits<std::size_t>::max() / 4)
                return {plan_refusal::too_large, i};
            if (each.is_carried ? each.until != seen_.size()
                                : each.until != lives_on && (each.until <= i || each.until > seen_.size()))
                return {plan_refusal::empty_lifetime, i};
        }
        return {};
    }

    // ── the calls of the pass ────────────────────────────────────────────────────────────────────────────────────────

    void list_calls() {
        const auto count = static_cast<std::uint32_t>(seen_.size());
        std::vector<std::vector<std::uint32_t>> ending(count + 1);
        for (std::uint32_t i = 0; i != count; ++i) {
            const Request& each = seen_[i];
            guide_slot slot{.size = each.size, .align = each.align, .key = each.key};
            slot.is_carried = each.is_carried;
            slot.is_planned = each.until != lives_on && (!slot.is_carried || each.after <= i);
            base_.align = std::max(base_.align, each.align);
            base_.slots.push_back(slot);
            if (slot.is_planned) ending[slot.is_carried ? each.after : each.until].push_back(i);
        }
        for (std::uint32_t i = 0; i <= count; ++i) {
            // std::stable_sort of libstdc++ uses a deprecated function, which Clang 19 reports.
            std::sort(ending[i].begin(), ending[i].end(), [&](std::uint32_t a, std::uint32_t b) {
                return seen_[a].turn == seen_[b].turn ? a < b : seen_[a].turn < seen_[b].turn;
            });
            for (const std::uint32_t ended : ending[i]) {
                base_.slots[ended].end = static_cast<std::uint32_t>(base_.calls.size());
                base_.calls.push_back(2 * ended + 1);
            }
            if (i == count) break;
            base_.slots[i].at = static_cast<std::uint32_t>(base_.calls.size());
            base_.calls.push_back(2 * i);
        }
        base_.slots.push_back({.align = 0});  // serves no request
        base_.calls.push_back(2 * count);
    }

    // ── layouts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Plans all blocks and pins them.
    [[nodiscard]] plan_error plan_all(guide& made) const {
        std::vector<plan_buffer> buffers;
        std::vector<plan_revival> revivals;
        std::vector<std::uint32_t> slots;
        for (std::uint32_t i = 0; i != seen_.size(); ++i) {
            if (!base_.slots[i].is_planned) continue;
            const Request& each = seen_[i];
            if (base_.slots[i].is_carried && each.after != 0) revivals.push_back({buffers.size(), {0, each.after}});
            buffers.push_back({.size = align_up<std::uint64_t>(each.size, granule),
                               .live = {i, each.until},
                               .align = std::max<std::uint64_t>(each.align, granule)});
            slots.push_back(i);
        }
        const auto plan = allot::plan({.buffers = buffers, .revivals = revivals}, options_.plan);
        if (!plan) return plan.error();
        for (std::size_t i = 0; i != slots.size(); ++i) {
            made.slots[slots[i]].offset = plan->places[i].offset;
            made.slots[slots[i]].is_pinned = true;
        }
        made.peak = align_up<std::uint64_t>(plan->peak, granule);
        made.bound = plan->bound;
        return {};
    }

    /// Where one block goes other than best fit says.
    enum class rule : unsigned char { best_fit, at_end_of_hole, lowest, behind, largest, second };

    /// Plays the pass with best fit, where `rules[i]`, if there are any, applies to request i. Writes the places and
    /// the peak to `made`. Returns by how much the ends of the blocks exceed the goal together. Stops at an excess of
    /// `stop`.
    std::uint64_t play_best_fit(guide& made, std::span<const rule> rules,
                                std::uint64_t stop = std::numeric_limits<std::uint64_t>::max()) const {
        strategy space;
        (void)space.insert({0, everything});
        std::vector<allocation> held(seen_.size());
        const std::uint64_t goal = made.bound + made.bound / 256;
        std::uint64_t excess = 0;
        made.peak = 0;
        // Twice: the first pass finds the places of the blocks that the next pass frees.
        for (int pass = 0; pass != (carries() ? 2 : 1); ++pass) {
            for (const std::uint32_t call : made.calls) {
                const std::uint32_t i = call >> 1U;
                if (!is_planned(i)) continue;
                if ((call & 1U) != 0) {
                    if (held[i].where.size != 0) space.deallocate(std::exchange(held[i], {}));
                    continue;
                }
                held[i] = put(space, i, rules.empty() ? rule::best_fit : rules[i], made.peak);
                const std::uint64_t end = align_up<std::uint64_t>(held[i].where.end(), granule);
                made.slots[i].offset = held[i].where.offset;
                made.slots[i].is_pinned = !rules.empty() && rules[i] != rule::best_fit;
                made.peak = std::max(made.peak, end);
                excess += end > goal ? end - goal : 0;
                if (excess >= stop) return excess;
            }
        }
        return excess;
    }
    [[nodiscard]] bool is_planned(std::uint32_t i) const noexcept { return base_.slots[i].is_planned; }
    [[nodiscard]] bool carries() const noexcept {
        return std::any_of(base_.slots.begin(), base_.slots.end(),
                           [](const guide_slot& slot) { return slot.is_planned && slot.is_carried; });
    }
    [[nodiscard]] allocation put(strategy& space, std::uint32_t i, rule by, std::uint64_t peak) const {
        const auto size = static_cast<std::size_t>(seen_[i].size), align = static_cast<std::size_t>(seen_[i].align);
        const layout wanted{size, align};
        if (by != rule::best_fit) {
            const std::size_t at = other_place(space, wanted, by, static_cast<std::size_t>(peak));
            const auto given = space.allocate_at({at, size});
            if (given.where.size != 0) return given;
        }
        return space.allocate(wanted);
    }
    /// Returns the offset that a rule selects. All bytes behind the peak are one hole, which is used last.
    [[nodiscard]] static std::size_t other_place(const strategy& space, layout wanted, rule by, std::size_t peak) {
        const std::size_t align = std::max(wanted.align, granule);
        basic_extent<std::size_t> best{}, second{}, last{};
        space.for_each_hole({0, everything}, [&](basic_extent<std::size_t> hole) {
            last = hole;
            const std::size_t start = align_up(hole.offset, align);
            if (start >= peak || start + wanted.size > hole.end()) return;
            const bool better = best.size == 0 || (by == rule::largest  ? hole.size > best.size
                                                   : by == rule::lowest ? false
                                                                        : hole.size < best.size);
            if (better) second = std::exchange(best, hole);
            else if (second.size == 0 || hole.size < second.size) second = hole;
        });
        if (by == rule::behind || best.size == 0) best = last;
        if (by == rule::second && second.size != 0) best = second;
        if (by == rule::at_end_of_hole) {
            const std::size_t end = std::min(best.end(), std::max(peak, best.offset));
            const std::size_t from = end >= wanted.size ? (end - wanted.size) & ~(align - 1) : 0;
            if (from >= best.offset) return from;
        }
        return align_up(best.offset, align);
    }
    /// Whether the blocks that the next pass frees are where the pass places them again.
    [[nodiscard]] bool is_settled(const guide& made) const {
        if (!carries()) return true;
        guide again = made;
        strategy space;
        (void)space.insert({0, everything});
        std::vector<allocation> held(seen_.size());
        for (std::uint32_t i = 0; i != seen_.size(); ++i) {
            const guide_slot& slot = made.slots[i];
            if (slot.is_planned && slot.is_carried)
                held[i] =
                    space.allocate_at({static_cast<std::size_t>(slot.offset), static_cast<std::size_t>(slot.size)});
        }
        for (const std::uint32_t call : made.calls) {
            const std::uint32_t i = call >> 1U;
            if (!is_planned(i)) continue;
            if ((call & 1U) != 0) {
                if (held[i].where.size != 0) space.deallocate(std::exchange(held[i], {}));
            } else if (held[i] = space.allocate_at({static_cast<std::size_t>(made.slots[i].offset),
                                                    static_cast<std::size_t>(made.slots[i].size)});
                       held[i].where.size == 0) {
                return false;
            }
        }
        return true;
    }

    /// Pins one block after the other, each time the one that lowers the excess most, as long as one does.
    void pin_single(guide& made) const {
        std::vector<rule> rules(seen_.size(), rule::best_fit);
        guide trial = made;
        std::size_t trials = 0;
        for (std::uint64_t excess = play_best_fit(trial, {}); excess != 0;) {
            std::size_t which = seen_.size();
            rule how = rule::best_fit;
            for (std::uint32_t i = 0; i != seen_.size() && trials < options_.trials; ++i) {
                if (rules[i] != rule::best_fit || !is_planned(i)) continue;
                for (const rule each :
                     {rule::at_end_of_hole, rule::lowest, rule::behind, rule::largest, rule::second}) {
                    ++trials;
                    rules[i] = each;
                    const std::uint64_t left = play_best_fit(trial, rules, excess);
                    if (left >= excess) continue;
                    excess = left;
                    which = i;
                    how = each;
                }
                rules[i] = rule::best_fit;
            }
            if (which == seen_.size()) return;
            rules[which] = how;
            play_best_fit(trial, rules);
            if (!is_settled(trial)) return;
            if (trial.peak < made.peak) made = trial;
        }
    }

    // ── the selection ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the lowest layout if all passes are equal. Otherwise returns the one that is lowest in the rehearsals,
    /// among those that are never above the first one, which is that of best fit, and lower than it by 1.6 % on the
    /// average.
    [[nodiscard]] guide* select(std::span<guide* const> all) const {
        guide* best = all[0];
        if (options_.changes == 0) {
            for (guide* const each : all)
                if (each->peak < best->peak) best = each;
            return best;
        }
        const auto sum = [](const std::vector<std::uint64_t>& of) {
            return std::accumulate(of.begin(), of.end(), std::uint64_t{});
        };
        const auto is_at_most = [](const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
            for (std::size_t i = 0; i != a.size(); ++i)
                if (a[i] > b[i]) return false;
            return true;
        };
        const std::vector<std::uint64_t> limits = rehearse(*all[0]);
        std::uint64_t least = sum(limits) - sum(limits) / 64;
        for (guide* const each : all.subspan(1)) {
            const std::vector<std::uint64_t> peaks = rehearse(*each);
            if (!is_at_most(peaks, limits) || sum(peaks) >= least) continue;
            best = each;
            least = sum(peaks);
        }
        return best;
    }
    /// Returns the peaks of the pass with changed requests.
    [[nodiscard]] std::vector<std::uint64_t> rehearse(const guide& of) const {
        std::vector<std::uint64_t> peaks;
        std::uint64_t random = 1;
        while (peaks.size() != options_.rehearsals) peaks.push_back(peak_of(of, changed_pass(random)));
        return peaks;
    }
    static std::uint64_t next(std::uint64_t& random) noexcept {  // xorshift
        random ^= random << 13U;
        random ^= random >> 7U;
        return random ^= random << 17U;
    }
    /// Returns the calls of the pass with some requests changed: another size, missing, or later.
    [[nodiscard]] std::vector<rehearsed_call> changed_pass(std::uint64_t& random) const {
        std::vector<rehearsed_call> made;
        std::vector<bool> is_missing(seen_.size());
        for (const std::uint32_t call : base_.calls) {
            const std::uint32_t i = call >> 1U;
            if (!is_planned(i) || is_missing[i]) continue;
            auto size = static_cast<std::size_t>(seen_[i].size);
            const bool is_changed = (call & 1U) == 0 && next(random) % 100 < options_.changes;
            const std::uint64_t draw = is_changed ? next(random) % 3 : 3;
            is_missing[i] = draw == 0;
            if (draw == 1) size = size / 2 + static_cast<std::size_t>(next(random) % (size + 1)) + 1;
            if (!is_missing[i]) made.push_back({i, (call & 1U) != 0, size});
            const std::size_t count = made.size();
            if (draw == 2 && count > 1 && !made[count - 2].is_deallocation) std::swap(made[count - 1], made[count - 2]);
        }
        return made;
    }
    [[nodiscard]] std::uint64_t peak_of(const guide& of, const std::vector<rehearsed_call>& calls) const {
        room place;
        if (!place.reserve(of.slots.size())) return std::numeric_limits<std::uint64_t>::max() / 1024;
        place.open(everything, static_cast<std::size_t>(of.align));
        std::uint64_t peak = 0;
        std::vector<guided_spot> held(seen_.size());
        for (int pass = 0; pass != 2; ++pass) {
            (void)place.begin(&of, 0);
            for (const rehearsed_call& call : calls) {
                const std::uint32_t i = call.request;
                if (call.is_deallocation) {
                    if (held[i].inside && !place.deallocate_in_step(held[i].reference))
                        place.deallocate(held[i].reference, held[i].offset);
                    held[i] = {};
                    continue;
                }
                held[i] = place.allocate({call.size, static_cast<std::size_t>(seen_[i].align)}, seen_[i].key);
                if (held[i].inside) peak = std::max<std::uint64_t>(peak, held[i].offset + call.size);
            }
        }
        return peak;
    }

    std::span<const Request> seen_;
    guide_options options_;
    guide base_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
