// SPDX-License-Identifier: BSL-1.0
// spill: plans several memories when the fast ones cannot hold all buffers.
//
//     // fast; slow and unbounded
//     allot::plan_memory memories[] = {{.capacity = 768_KiB, .align = 128, .cost = 0}, {.cost = 1}};
//     auto made = allot::plan_memories({.buffers = {.buffers = buffers}, .memories = memories});
//     if (!made) …                                            // the problem is invalid: made.error()
//     made->places[1].memory; made->places[1].offset; made->cost; made->spilled; made->status;
//
//     memory 0 ┌─────┬────────┐     A buffer that is not in memory 0 spills to memory 1, from there to memory 2, and so
//              │  a  │   c    │     on. Each memory keeps the buffers that are most expensive to spill, as far as it
//     memory 1 └─────┴───┬────┴──┐  can pack them. The planner combines choice and packing: it packs each choice
//              ┌─────────┤   d   │  exactly and makes another choice if that fails (fill.hpp).
//              │    b    │       │
//              └─────────┴───────┴──► time
//
// Quality: `bound` is a proved lower bound on the cost. It is often below the least cost, because it lets memories
// share the bytes of a buffer and treats the first memories as one. It counts at least the bytes that live at the same
// time and exceed the first memory, at the cost of the second. The status is `optimal` only if the cost equals the
// bound. The planner minimizes the number of unplaced buffers first, and the cost second.
//
// Exhaustive choice: the planner tries each choice of memories (assign.hpp) if there are at most 64 buffers, each fits
// an allowed memory, and the number of choices is at most half of the effort and at most 75,000. The result is then
// optimal or proved infeasible, unless the search exceeds that effort.
//
// Otherwise, the planner fills one memory after the other. With two memories, each choice accounts for all
// consequences. With more, each memory is filled as if the next slower one had room for the rest. If that memory lacks
// room, the planner repeats the plan several times with the resulting costs, and returns the best plan.
//
// The result is deterministic: the same input yields the same plan on every machine, at run time and in constant
// expressions.
//
// When to use: memories differ in speed, and each buffer stays in one of them. An example is a microcontroller with
// tightly coupled memory and external RAM.
// When not to use: there is one memory (plan.hpp), or copies between the memories pay off (moves.hpp).
//
// Complexity: for each memory, the time of a greedy plan and O(n log n), plus the work that `effort` allows. With up to
// `search_at_most` buffers, also the number of pairs that live at the same time.
// Memory: `space_of_memories`.
// Thread safety: the functions have no state. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/detail/assign.hpp>
#include <allot/plan/detail/fill.hpp>
#include <allot/plan/memories_problem.hpp>

namespace allot {
inline namespace v1 {

/// Options of `plan_memories` and `plan_moves`.
struct memories_options {
    /// Limit on the number of buffer placements, summed over all attempts. The default takes about a fifth of a second,
    /// in addition to the first plan. 0 makes one simple plan.
    std::uint64_t effort = 150'000;
    std::size_t search_at_most = 2048;  ///< Largest number of buffers that are packed by search.
    std::size_t remember = 1 << 10;     ///< Number of failed search states to remember: 0 or a power of two.
};

namespace detail {

/// Implementation of `plan_memories_into` for a merged problem.
class memory_planner {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem,
                                                    const memories_options& options) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = most_lives(problem);
        plan_space own;
        own.words = 3 * buffers;
        own.longs = 6 * buffers;
        plan_space work = max(plan_space{.words = 3 * std::max(lifetimes, problem.fixed.size())} +
                                  detail::section_loads::space(lifetimes + problem.apart.size()),
                              detail::memory_fill::space(problem, is_searched(problem, options), options.remember));
        if (buffers <= most_assigned) work = max(work, detail::memory_assignment::space(problem, options.remember));
        return own + detail::live_sections::space(problem) + prices::space(lifetimes + problem.apart.size(), buffers) +
               work;
    }

    constexpr memory_planner(const detail::merged_problem& merged, const detail::plan_sizes& sizes,
                             const memories_problem& given, const memories_options& options,
                             plan_workspace& workspace) noexcept
        : merged_{&merged},
          sizes_{sizes},
          given_{&given},
          options_{options},
          buffers_{merged.problem.buffers.data()},
          count_{merged.problem.buffers.size()},
          memories_{given.memories},
          where_{merged.problem, sizes, workspace},
          price_{where_, lives() + merged.problem.apart.size(), count_, workspace} {
        list_ = workspace.cut_words(count_);
        memory_ = workspace.cut_words(count_);
        best_memory_ = workspace.cut_words(count_);
        weight_ = workspace.cut_longs(count_);
        allowed_ = workspace.cut_longs(count_);
        value_ = workspace.cut_longs(count_);
        paid_ = workspace.cut_longs(count_);
        offset_ = workspace.cut_longs(count_);
        best_offset_ = workspace.cut_longs(count_);
        workspace_ = workspace;
    }

    /// Reads weights and allowed memories, and returns the first error of the problem.
    [[nodiscard]] constexpr plan_error read() noexcept {
        const std::uint64_t all =
            memories_.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << memories_.size()) - 1;
        for (std::size_t i = 0; i != count_; ++i) {
            weight_[i] = 0;
            allowed_[i] = all;
        }
        for (std::size_t given = 0; given != given_->buffers.buffers.size(); ++given) {
            const std::size_t i = (*merged_)[given];
            std::uint64_t weight = 0;
            if (!checked_multiply(given_->buffers.buffers[given].size, given_->uses.empty() ? 1 : given_->uses[given],
                                  weight) ||
                !checked_add(weight_[i], weight, weight_[i]))
                return {plan_refusal::too_large, given};
            if (!given_->allowed.empty()) allowed_[i] &= given_->allowed[given];
        }
        for (const plan_fixed& fixed : merged_->problem.fixed) {
            const std::uint64_t only = allowed_[fixed.buffer];
            if (!std::has_single_bit(only)) return {plan_refusal::fixed_in_no_one_memory, original(fixed.buffer)};
            if (fixed.offset % memories_[static_cast<std::size_t>(std::countr_zero(only))].align != 0)
                return {plan_refusal::fixed_misaligned, original(fixed.buffer)};
        }
        if (const plan_error error = check_fixed(); error.reason != plan_refusal::none) return error;

        // Ensures that no sum of costs wraps, and no sum of the values of buffers in a memory.
        if (!checked_multiply(std::max<std::uint64_t>(memories_.back().cost, 1), std::uint64_t{64}, highest_cost_))
            return {plan_refusal::too_large, 0};
        nowhere_cost_ = highest_cost_ / 16;
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i != count_; ++i) {
            std::uint64_t most = 0;
            if (!checked_multiply(std::max(weight_[i], buffers_[i].size) | 1, highest_cost_, most) ||
                !checked_add(sum, most, sum))
                return {plan_refusal::too_large, original(i)};
            for (std::size_t m = 0; m != memories_.size(); ++m)
                if (buffers_[i].size > memories_[m].capacity) allowed_[i] &= ~(bit(m));
            paid_[i] = 0;
        }
        for (const plan_fixed& fixed : merged_->problem.fixed)
            if (const std::uint64_t only = allowed_[fixed.buffer];
                only != 0 && buffers_[fixed.buffer].size != 0 &&
                fixed.offset >
                    memories_[static_cast<std::size_t>(std::countr_zero(only))].capacity - buffers_[fixed.buffer].size)
                allowed_[fixed.buffer] = 0;
        return {};
    }

    /// Returns a lower bound on the cost of every plan. For each k, it treats the first k memories as one and lets
    /// several memories share the bytes of a buffer. Buffers that are `together` count with their least size.
    [[nodiscard]] constexpr std::uint64_t bound() noexcept {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i != count_; ++i)
            if (allowed_[i] != 0) sum += weight_[i] * memories_[0].cost;
        std::uint64_t capacity = 0, mask = 0;
        for (std::size_t m = 0; m + 1 < memories_.size(); ++m) {
            if (!checked_add(capacity, memories_[m].capacity, capacity)) capacity = ~std::uint64_t{0};
            mask |= bit(m);
            // Additional cost of a byte that is in none of the first m + 1 memories.
            const std::uint64_t more = memories_[m + 1].cost - memories_[m].cost;
            if (more == 0) continue;
            std::size_t some = 0;
            for (std::size_t i = 0; i != count_; ++i)
                if ((allowed_[i] & mask) != 0) list_[some++] = static_cast<std::uint32_t>(i);
                else if (allowed_[i] != 0) sum += weight_[i] * more;
            // Two buffers that are apart may have the same offsets in different memories.
            const std::uint32_t sections = m == 0 ? where_.count() : where_.of_time();
            sum += price_.run(
                list_, some, [&](std::uint32_t i) { return where_.least_size(i); },
                [&](std::uint32_t i) { return (allowed_[i] & ~mask) == 0 ? prices::priceless : weight_[i] * more; },
                capacity, sections, prices::iterations(1000, options_.effort, some));
        }
        return sum;
    }

    /// Returns whether the buffers that live at one step exceed all memories, or exceed the one memory that they all
    /// must live in, and stores that step. Each buffer counts with its size rounded up to its alignment, because no
    /// buffer may be split between memories.
    [[nodiscard]] constexpr bool is_crowded(std::int64_t& step) const noexcept {
        plan_workspace workspace = workspace_;
        const std::size_t lifetimes = lives();
        std::uint32_t* const starts = workspace.cut_words(lifetimes);
        std::uint32_t* const ends = workspace.cut_words(lifetimes);
        std::uint32_t* const scratch = workspace.cut_words(lifetimes);
        const lifetime_sweep sweep{merged_->problem, starts, ends, scratch};
        std::uint64_t least_align = memories_[0].align, alignments = 0;
        for (const plan_memory& memory : memories_) least_align = std::min(least_align, memory.align);
        const auto align_of = [&](std::size_t i) { return std::max(buffers_[i].align, least_align); };
        for (std::size_t i = 0; i != count_; ++i) alignments |= align_of(i);
        for (; alignments != 0; alignments &= alignments - 1)
            for (std::size_t m = 0; m <= memories_.size(); ++m) {
                const std::uint64_t align = alignment_of(alignments);
                const std::uint64_t mask = m == memories_.size() ? ~std::uint64_t{0} : bit(m);
                std::uint64_t room = 0, here = 0, sum = 0;
                bool ends_somewhere = true, crowded = false;
                for (std::size_t k = 0; k != memories_.size(); ++k)
                    if ((mask >> k & 1) != 0)
                        ends_somewhere = ends_somewhere && checked_align_up(memories_[k].capacity, align, here) &&
                                         checked_add(room, here, room);
                if (!ends_somewhere) continue;
                const auto size_of = [&](std::size_t life) {
                    const std::size_t i = sweep.buffer(life);
                    const bool counts = align_of(i) >= align && allowed_[i] != 0 && (allowed_[i] & ~mask) == 0;
                    // The sum does not wrap, because the buffer fits a memory.
                    return counts ? align_up(sizes_.of_life(merged_->problem, life), align) : 0;
                };
                sweep.run(
                    [&](std::size_t life, std::int64_t now) {
                        crowded = !checked_add(sum, size_of(life), sum) || sum > room;
                        if (crowded) step = now;
                        return !crowded;
                    },
                    [&](std::size_t life) { sum -= size_of(life); });
                if (crowded) return true;
            }
        return false;
    }

    template <class Watch>
    constexpr void run(memories_summary& made, Watch& watch) noexcept {
        std::uint64_t spent = 0;
        bool stopped = false, first = true;
        const auto stop = [&] {
            return stopped = stopped || (!first && watch(memories_progress{made.cost, made.unplaced, made.bound}));
        };
        const auto keep_best = [&] {
            const memories_summary now = counted();
            if (first || now.unplaced < made.unplaced || (now.unplaced == made.unplaced && now.cost < made.cost)) {
                made.cost = now.cost;
                made.spilled = now.spilled;
                made.unplaced = now.unplaced;
                for (std::size_t i = 0; i != count_; ++i) {
                    best_memory_[i] = memory_[i];
                    best_offset_[i] = offset_[i];
                }
            }
            first = false;
        };
        const auto fill_all = [&](std::uint64_t effort) {
            plan_workspace workspace = workspace_;
            // The workspace was sized for the given problem. The merged problem may have fewer buffers.
            const bool searched = is_searched(given_->buffers, options_);
            detail::memory_fill fill{merged_->problem, sizes_, where_, price_, workspace, searched, options_.remember};
            spent += cascade(fill, effort, stop);
            keep_best();
        };
        const auto is_done = [&] {
            return (made.cost <= made.bound && made.unplaced == 0) || spent >= options_.effort || stop();
        };
        fill_all(0);
        const std::size_t all = given_->buffers.buffers.size();
        if (!is_done() && all <= most_assigned && unholdable() == all)
            spent += assign(made, std::min((options_.effort - spent) / 2, most_choices), keep_best, stop);
        // If the next memory has room for all buffers, another round cannot learn anything.
        const bool once = memories_.size() <= 2 && memories_.back().capacity == plan_memory{}.capacity;
        while (!is_impossible_ && !is_done()) {
            fill_all(once ? options_.effort - spent : (options_.effort - spent) / 2 + 1);
            if (once || !learn()) break;
        }
    }
    /// Returns whether each choice of memories was tried without finding one that places all buffers.
    [[nodiscard]] constexpr bool is_impossible() const noexcept { return is_impossible_; }

    [[nodiscard]] constexpr std::uint32_t memory(std::size_t i) const noexcept { return best_memory_[i]; }
    [[nodiscard]] constexpr std::uint64_t offset(std::size_t i) const noexcept { return best_offset_[i]; }
    /// Returns the first of the given buffers that fits no allowed memory, or the number of buffers.
    [[nodiscard]] constexpr std::size_t unholdable() const noexcept {
        for (std::size_t given = 0; given != given_->buffers.buffers.size(); ++given)
            if (allowed_[(*merged_)[given]] == 0) return given;
        return given_->buffers.buffers.size();
    }

private:
    static constexpr std::size_t most_assigned = 64;       // largest number of buffers for the exhaustive choice
    static constexpr std::uint64_t most_choices = 75'000;  // leaves effort for the other methods

    [[nodiscard]] static constexpr bool is_searched(const plan_problem& problem,
                                                    const memories_options& options) noexcept {
        return problem.buffers.size() <= options.search_at_most;
    }
    static constexpr std::uint64_t bit(std::size_t memory) noexcept { return std::uint64_t{1} << memory; }
    [[nodiscard]] constexpr std::size_t lives() const noexcept { return count_ + merged_->problem.revivals.size(); }
    [[nodiscard]] constexpr std::size_t original(std::size_t merged) const noexcept {
        std::size_t given = 0;
        while ((*merged_)[given] != merged) ++given;
        return given;
    }

    /// Returns an error if two fixed buffers collide in one memory. A sweep over the offsets counts the buffers in each
    /// section of time.
    [[nodiscard]] constexpr plan_error check_fixed() noexcept {
        plan_workspace workspace = workspace_;
        const auto fixed = merged_->problem.fixed;
        std::uint32_t* const begins = workspace.cut_words(fixed.size());
        std::uint32_t* const ends = workspace.cut_words(fixed.size());
        std::uint32_t* const scratch = workspace.cut_words(fixed.size());
        detail::section_loads taken{where_.count(), workspace};
        std::uint64_t *const is_fixed = value_, memories = 0;
        std::size_t count = 0;
        for (std::size_t i = 0; i != count_; ++i) is_fixed[i] = 0;
        for (const plan_fixed& each : fixed) {
            const auto i = static_cast<std::uint32_t>(each.buffer);
            if (is_fixed[i] != 0 && offset_[i] != each.offset) return {plan_refusal::contradiction, original(i)};
            const bool known = is_fixed[i] != 0;
            is_fixed[i] = 1;
            offset_[i] = each.offset;
            if (known || buffers_[i].size == 0) continue;
            memories |= allowed_[i];
            begins[count] = ends[count] = i;
            ++count;
        }
        sort_by(begins, scratch, count, [this](std::uint32_t i) { return offset_[i]; });
        sort_by(ends, scratch, count, [this](std::uint32_t i) { return offset_[i] + buffers_[i].size; });
        for (; memories != 0; memories &= memories - 1) {
            const std::uint64_t memory = memories & (~memories + 1);
            taken.clear();
            const auto take = [&](std::uint32_t i, bool in) {
                where_.each_span(i, [&](std::uint32_t from, std::uint32_t until) { taken.add(from, until, 1, in); });
            };
            for (std::size_t next = 0, first = 0; next != count; ++next) {
                const std::uint32_t i = begins[next];
                for (; offset_[ends[first]] + buffers_[ends[first]].size <= offset_[i]; ++first)
                    if (allowed_[ends[first]] == memory) take(ends[first], false);
                if (allowed_[i] != memory) continue;
                bool collides = false;
                where_.each_span(i, [&](std::uint32_t from, std::uint32_t until) {
                    collides = collides || taken.most(from, until) != 0;
                });
                if (collides && !given_->buffers.together.empty()) return check_fixed_together(is_fixed);
                if (collides) return {plan_refusal::contradiction, original(i)};
                take(i, true);
            }
        }
        return {};
    }
    /// The same check for each pair of given buffers. A merged buffer may be larger than the members that live.
    [[nodiscard]] constexpr plan_error check_fixed_together(const std::uint64_t* is_fixed) const noexcept {
        const plan_problem& given = given_->buffers;
        const auto lives_with = [&](std::size_t a, lifetime live) {
            bool meets = given.buffers[a].live.overlaps(live);
            for (const plan_revival& each : given.revivals)
                meets = meets || (each.buffer == a && each.live.overlaps(live));
            return meets;
        };
        const auto conflict = [&](std::size_t a, std::size_t b) {
            bool meets = lives_with(a, given.buffers[b].live);
            for (const plan_revival& each : given.revivals)
                meets = meets || (each.buffer == b && lives_with(a, each.live));
            for (const plan_pair& each : given.apart)
                meets = meets || (each.first == a && each.second == b) || (each.first == b && each.second == a);
            return meets;
        };
        for (std::size_t a = 0; a != given.buffers.size(); ++a)
            for (std::size_t b = 0; b != a && is_fixed[(*merged_)[a]] != 0; ++b) {
                const std::size_t one = (*merged_)[a], other = (*merged_)[b];
                const std::uint64_t a_size = given.buffers[a].size, b_size = given.buffers[b].size;
                if (is_fixed[other] != 0 && one != other && allowed_[one] == allowed_[other] && a_size != 0 &&
                    b_size != 0 && offset_[one] < offset_[other] + b_size && offset_[other] < offset_[one] + a_size &&
                    conflict(a, b))
                    return {plan_refusal::contradiction, a};
            }
        return {};
    }

    /// Tries each choice of memories if there are at most `effort` choices. Returns the spent effort.
    template <class Keep, class Stop>
    constexpr std::uint64_t assign(memories_summary& made, std::uint64_t effort, Keep keep, Stop& stop) noexcept {
        detail::memory_assignment choice{merged_->problem,  sizes_,    memories_, {allowed_, weight_},
                                         options_.remember, workspace_};
        if (choice.choices(effort + 1) > effort) return 0;
        const std::uint64_t none = ~std::uint64_t{0};
        const auto keep_choice = [&](std::uint64_t) {
            for (std::uint32_t i = 0; i != count_; ++i) {
                if (buffers_[i].size == 0) continue;
                memory_[i] = choice.memory(i);
                offset_[i] = choice.offset(i);
            }
            keep();
        };
        const std::uint64_t spent = choice.run(made.unplaced == 0 ? made.cost : none, effort, keep_choice, stop);
        if (choice.proved()) {
            if (made.unplaced == 0) made.bound = made.cost;
            else is_impossible_ = true;
        }
        return spent;
    }

    /// Fills one memory after the other with the remaining buffers. A buffer that fits no later memory, or remained
    /// unplaced in an earlier round, has a higher value than all other buffers together.
    template <class Stop>
    constexpr std::uint64_t cascade(detail::memory_fill& fill, std::uint64_t effort, Stop& stop) noexcept {
        std::uint64_t spent = 0;
        for (std::size_t i = 0; i != count_; ++i) {
            // A buffer without bytes fits every allowed memory.
            const bool empty = buffers_[i].size == 0 && allowed_[i] != 0;
            memory_[i] = empty ? static_cast<std::uint32_t>(std::countr_zero(allowed_[i])) : memory_place::nowhere;
            offset_[i] = 0;
        }
        for (const plan_fixed& fixed : merged_->problem.fixed) offset_[fixed.buffer] = fixed.offset;
        for (std::size_t m = 0; m != memories_.size(); ++m) {
            std::size_t some = 0;
            std::uint64_t worth = 0;
            const auto is_priceless = [&](std::uint32_t i) {
                return m == 63 || allowed_[i] >> (m + 1) == 0 || paid_[i] >= nowhere_cost_;
            };
            for (std::size_t k = 0; k != count_; ++k) {
                if (memory_[k] != memory_place::nowhere || (allowed_[k] & bit(m)) == 0) continue;
                const auto i = static_cast<std::uint32_t>(k);
                list_[some++] = i;
                const std::uint64_t later = m == 63 ? 0 : allowed_[i] >> (m + 1);
                const std::uint64_t next =
                    later == 0 ? nowhere_cost_
                               : memories_[m + 1 + static_cast<std::size_t>(std::countr_zero(later))].cost;
                const std::uint64_t weight = is_priceless(i) ? std::max(weight_[i], buffers_[i].size) : weight_[i];
                value_[i] = std::max<std::uint64_t>(weight * (std::max(next, paid_[i]) - memories_[m].cost), 1);
                worth += value_[i];
            }
            // Scales the values such that their sum fits 64 bits.
            unsigned shift = 0;
            while ((worth >> shift) + some >= ~std::uint64_t{0} / (some + 1)) ++shift;
            const std::uint64_t priceless = (worth >> shift) + some + 1;
            for (std::size_t k = 0; k != some; ++k) {
                std::uint64_t& value = value_[list_[k]];
                value = std::max<std::uint64_t>(value >> shift, 1) + (is_priceless(list_[k]) ? priceless : 0);
            }
            const std::uint64_t left = effort - std::min(spent, effort);
            const std::uint64_t share = m + 2 >= memories_.size() ? left : left / 2;
            spent +=
                fill.run({list_, some}, {value_, priceless}, memories_[m].capacity, memories_[m].align, share, stop);
            for (std::size_t k = 0; k != some; ++k)
                if (const std::uint32_t i = list_[k]; fill.placed(i)) {
                    memory_[i] = static_cast<std::uint32_t>(m);
                    offset_[i] = fill.offset(i);
                }
        }
        return spent;
    }

    [[nodiscard]] constexpr memories_summary counted() const noexcept {
        memories_summary now;
        for (std::size_t i = 0; i != count_; ++i) {
            if (memory_[i] == memory_place::nowhere) ++now.unplaced;
            else now.cost += weight_[i] * memories_[memory_[i]].cost;
            if (memory_[i] != 0 && memory_[i] != memory_place::nowhere) now.spilled += buffers_[i].size;
        }
        return now;
    }
    /// Records the costs of buffers that did not get the expected memory, and an increasing cost for unplaced buffers.
    /// Returns whether any cost rose.
    constexpr bool learn() noexcept {
        bool news = false;
        for (std::size_t i = 0; i != count_; ++i) {
            const std::uint64_t unplaced = std::min(2 * std::max(paid_[i], nowhere_cost_ / 2), highest_cost_);
            const std::uint64_t paid = memory_[i] == memory_place::nowhere ? unplaced : memories_[memory_[i]].cost;
            if (paid <= paid_[i]) continue;
            paid_[i] = paid;
            news = true;
        }
        return news;
    }

    const detail::merged_problem* merged_;
    detail::plan_sizes sizes_;
    const memories_problem* given_;
    memories_options options_;
    const plan_buffer* buffers_;
    std::size_t count_;
    std::span<const plan_memory> memories_;
    detail::live_sections where_;
    prices price_;
    std::uint32_t *list_ = nullptr, *memory_ = nullptr, *best_memory_ = nullptr;
    std::uint64_t *weight_ = nullptr, *allowed_ = nullptr, *value_ = nullptr, *paid_ = nullptr;
    std::uint64_t *offset_ = nullptr, *best_offset_ = nullptr;
    std::uint64_t nowhere_cost_ = 0, highest_cost_ = 0;
    plan_workspace workspace_{};
    bool is_impossible_ = false;
};

}  // namespace detail

namespace detail {
/// Returns a lower bound on the cost of every plan of a problem without pairs; 0 if the problem is invalid.
[[nodiscard]] inline std::uint64_t least_cost_of(const memories_problem& problem, const memories_options& options) {
    plan_heap heap{memory_planner::space(problem.buffers, options)};
    plan_workspace workspace = heap;
    const detail::merged_problem merged{problem.buffers, {}};
    memory_planner planner{merged, {}, problem, options, workspace};
    return planner.read().reason == plan_refusal::none ? planner.bound() : 0;
}
}  // namespace detail

/// Returns the size of the workspace that `plan_memories_into` needs.
[[nodiscard]] constexpr plan_space space_of_memories(const memories_problem& problem,
                                                     const memories_options& options = {}) noexcept {
    return detail::merge_space(problem.buffers) +
           max(bound_space(problem.buffers), detail::memory_planner::space(problem.buffers, options));
}

/// Plans without a heap. Writes one element for each buffer to `places` and one for each memory to `needs`.
///
/// The planner calls `watch(memories_progress)` from time to time after it has a first plan. If `watch` returns true,
/// the planner stops and returns the best plan so far. Fails if the problem is invalid, if an array or the workspace is
/// too small, if lifetimes of one buffer overlap, if fixed buffers collide, or if the sum of all costs, times 64,
/// exceeds 64 bits.
template <class Watch = unwatched>
[[nodiscard]] constexpr result<memories_summary, plan_error> plan_memories_into(
    const memories_problem& problem, std::span<memory_place> places, std::span<memory_needs> needs,
    plan_workspace workspace, const memories_options& options = {}, Watch watch = {}) noexcept {
    using answer = result<memories_summary, plan_error>;
    const std::size_t all = problem.buffers.buffers.size();
    if (const plan_error error = detail::check_memories(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (!workspace.holds(space_of_memories(problem, options)) || places.size() < all ||
        needs.size() < problem.memories.size())
        return answer::failure({plan_refusal::workspace_too_small, 0});
    detail::plan_sizes sizes;
    const auto merged = detail::merge_together(problem.buffers, workspace, sizes);
    if (!merged) return answer::failure(merged.error());
    const auto most = bound_of(merged->problem, workspace, sizes);
    if (!most) return answer::failure(merged->as_given(most.error()));
    detail::memory_planner planner{*merged, sizes, problem, options, workspace};
    if (const plan_error error = planner.read(); error.reason != plan_refusal::none) return answer::failure(error);

    memories_summary made;
    made.bound = planner.bound();
    made.step = most->step;
    made.which = planner.unholdable();
    planner.run(made, watch);

    for (std::size_t m = 0; m != problem.memories.size(); ++m) needs[m] = {0, 1};
    for (std::size_t given = 0; given != all; ++given) {
        const std::size_t i = (*merged)[given];
        const plan_buffer& buffer = problem.buffers.buffers[given];
        places[given] = {planner.memory(i), planner.offset(i), buffer.size};
        if (planner.memory(i) == memory_place::nowhere) continue;
        memory_needs& need = needs[planner.memory(i)];
        if (buffer.size != 0) need.peak = std::max(need.peak, planner.offset(i) + buffer.size);
        need.align = std::max({need.align, buffer.align, problem.memories[planner.memory(i)].align});
    }
    if (made.unplaced == 0) made.status = made.cost <= made.bound ? plan_status::optimal : plan_status::feasible;
    else
        made.status = made.which != all || planner.is_crowded(made.step) || planner.is_impossible()
                          ? plan_status::infeasible
                          : plan_status::out_of_budget;
    return made;
}

/// Returns a plan for `problem`, with the places and the workspace on the heap.
///
/// Throws the exceptions of the heap, such as `std::bad_alloc`. Fails under the same conditions as
/// `plan_memories_into`.
template <class Watch = unwatched>
[[nodiscard]] result<memories_plan, plan_error> plan_memories(const memories_problem& problem,
                                                              const memories_options& options = {}, Watch watch = {}) {
    using answer = result<memories_plan, plan_error>;
    if (const plan_error error = detail::check_memories(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    plan_heap workspace{space_of_memories(problem, options)};
    memories_plan made;
    made.places.resize(problem.buffers.buffers.size());
    made.needs.resize(problem.memories.size());
    const auto summary = plan_memories_into(problem, made.places, made.needs, workspace, options, watch);
    if (!summary) return answer::failure(summary.error());
    static_cast<memories_summary&>(made) = *summary;
    return made;
}

}  // namespace v1
}  // namespace allot
