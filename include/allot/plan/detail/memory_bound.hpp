// SPDX-License-Identifier: BSL-1.0
// memory_bound: a lower bound on the cost of every plan with several memories.
//
//     first k memories as one  ████████████        For each k, bytes in excess lie outside. They cost the difference to
//     live at a step           ████████████████    the next memory at least: `prices`, and `least_loss` for whole ones.
//
//     pairs {a,b} {a,c} {b,c}  ███ ██│██           Of buffers that must all be in different memories, all but k lie
//                               a  b │ c           outside. This holds for any room. The cheapest ones count.
//
// A clique of pairs adds the cost of its cheapest buffers outside. In the bound of the bytes, each of its buffers then
// counts with its cost less that of the most expensive one that surely lies outside. So no cost counts twice: this is
// the dual of the rule that at most k buffers of the clique are inside.
//
// Complexity: O(n log n) for each memory, times at most 1000 for the prices; with pairs twice that, and the cliques.
// Memory: `scratch_space`. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/least_loss.hpp>
#include <allot/plan/detail/memory_costs.hpp>
#include <allot/plan/detail/separate_cliques.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class memory_bound {
public:
    /// Workspace of each function, for at most this effort. `run_by_choices` needs `is_searched`.
    [[nodiscard]] static constexpr plan_space scratch_space(const memories_problem& given, std::uint64_t effort,
                                                            bool is_searched) noexcept {
        const std::size_t buffers = given.buffers.buffers.size(), paired = given.separate.empty() ? 0 : buffers;
        const auto limits = is_searched ? least_loss<>::limits::of(effort, buffers) : least_loss<>::limits{};
        return plan_space{.u32 = buffers + 2 * paired, .u64 = paired} + separate_cliques<>::space(given) +
               least_loss<>::space(given.buffers, limits) + prices::flow_space(given.buffers, effort);
    }

    constexpr memory_bound(memory_costs<>& facts, std::uint64_t effort) noexcept : facts_{&facts}, effort_{effort} {}

    /// Returns a lower bound on the cost of every plan. For each k, it treats the first k memories as one and lets
    /// several memories share the bytes of a buffer. Buffers that are `together` count with their least size.
    [[nodiscard]] constexpr std::uint64_t run(plan_workspace scratch) const noexcept {
        choices each{.list = scratch.cut_u32(facts_->count())};
        std::uint64_t sum = unavoidable_cost();
        for (memory_choice of; next(each, of, sum);) sum += with_pairs(of, scratch);
        return sum;
    }
    /// Returns a lower bound on the cost of every plan, at most `most`, in which no buffer is split. `known` is the
    /// result of `run`. With two memories, calls `keep(least_loss)` if it finds a choice of buffers by the loads.
    /// Precondition: `least_loss::limits::of` permits states.
    template <class Keep>
    [[nodiscard]] constexpr std::uint64_t run_by_choices(std::uint64_t known, std::uint64_t most,
                                                         plan_workspace scratch, Keep keep) const noexcept {
        choices each{.list = scratch.cut_u32(facts_->count())};
        const plan_problem& given = facts_->given().buffers;
        const auto limits = least_loss<>::limits::of(effort_, given.buffers.size());
        std::uint64_t sum = unavoidable_cost();
        for (memory_choice of; next(each, of, sum);) {
            plan_workspace workspace = scratch;
            const std::uint64_t split = with_pairs(of, scratch), others = known - smaller(split, known);
            const std::uint64_t whole = larger(price_of(of, prices::most_rows(0)), split);
            least_loss<> loss{facts_->sections(), facts_->price(), given, limits, workspace};
            std::uint64_t limit = most == least_loss<>::unlimited ? most : most - smaller(most, others), least = 0;
            loss.prepare(of, limit);
            if (split == whole) static_cast<void>(best_price_of(of, workspace));
            for (const bool is_proof : {false, true}) {
                if (is_proof) loss.tighten(limit);
                least = larger(least, loss.run(limit, is_proof));
                if (!loss.found()) continue;
                limit = loss.lost();  // no choice has to lose more
                if (facts_->memories().size() == 2) keep(loss);
            }
            sum += least == least_loss<>::unlimited ? whole : larger(whole, least);
        }
        return sum;
    }

private:
    struct least_size {
        const section_tree* where;
        [[nodiscard]] constexpr std::uint64_t operator()(std::uint32_t i) const noexcept {
            return where->least_size(i);
        }
    };
    /// Additional cost of a buffer that is outside of the memories of `mask`, less what counts already.
    struct cost_outside {
        const memory_costs<>* of;
        std::uint64_t mask, more;
        const std::uint64_t* counted;  // by buffer, or null
        [[nodiscard]] constexpr std::uint64_t operator()(std::uint32_t i) const noexcept {
            if ((of->allowed()[i] & ~mask) == 0) return prices::priceless;
            return of->weights()[i] * more - (counted == nullptr ? 0 : counted[i]);
        }
    };
    using memory_choice = least_loss<>::choice<least_size, cost_outside>;
    /// The choices that `next` makes: for each memory but the last, the buffers in it or in an earlier one.
    struct choices {
        std::uint32_t* list;
        std::size_t memory = 0;
        std::uint64_t capacity = 0, mask = 0;
    };

    /// Returns what all buffers cost in the first memory.
    [[nodiscard]] constexpr std::uint64_t unavoidable_cost() const noexcept {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i != facts_->count(); ++i)
            if (facts_->allowed()[i] != 0) sum += facts_->weights()[i] * facts_->memories()[0].cost;
        return sum;
    }
    /// Makes the next choice, and adds the additional cost of buffers without a choice. Returns false at the end.
    [[nodiscard]] constexpr bool next(choices& each, memory_choice& of, std::uint64_t& sum) const noexcept {
        const auto memories = facts_->memories();
        const section_tree& where = facts_->sections();
        for (; each.memory + 1 < memories.size();) {
            const std::size_t m = each.memory++;
            if (!checked_add(each.capacity, memories[m].capacity, each.capacity)) each.capacity = ~std::uint64_t{0};
            each.mask |= memory_costs<>::bit(m);
            // Additional cost of a byte that is in none of the first m + 1 memories.
            const std::uint64_t more = memories[m + 1].cost - memories[m].cost;
            if (more == 0) continue;
            std::size_t some = 0;
            for (std::size_t i = 0; i != facts_->count(); ++i)
                if ((facts_->allowed()[i] & each.mask) != 0) each.list[some++] = static_cast<std::uint32_t>(i);
                else if (facts_->allowed()[i] != 0) sum += facts_->weights()[i] * more;
            // Two buffers that are apart may have the same offsets in different memories.
            of = {{each.list, some},
                  {&where},
                  {facts_, each.mask, more, nullptr},
                  each.capacity,
                  m == 0 ? where.count() : where.of_time()};
            return true;
        }
        return false;
    }
    /// Returns the bound by the prices of a flow; 0 if that takes too long for the effort.
    [[nodiscard]] constexpr std::uint64_t flow_price_of(const memory_choice& of,
                                                        plan_workspace scratch) const noexcept {
        constexpr std::uint64_t operations_a_placement = 64, most = ~std::uint64_t{0} / operations_a_placement;
        if (effort_ == 0) return 0;
        return facts_->price().run_flow(of.list.data(), of.list.size(), of.size_of, of.value, of.capacity, of.sections,
                                        smaller(effort_, most) * operations_a_placement, scratch);
    }
    /// Returns the bound by prices.
    [[nodiscard]] constexpr std::uint64_t price_of(const memory_choice& of, std::size_t rows = 1) const noexcept {
        return facts_->price().run(of.list.data(), of.list.size(), of.size_of, of.value, of.capacity, of.sections,
                                   prices::iterations(1000, effort_, of.list.size()), rows);
    }
    /// Returns the bound by the best prices of one row.
    [[nodiscard]] constexpr std::uint64_t best_price_of(const memory_choice& of,
                                                        plan_workspace scratch) const noexcept {
        const std::uint64_t by_flow = flow_price_of(of, scratch);
        return by_flow != 0 ? by_flow : price_of(of);
    }
    /// Returns the bound by prices, or with the cost that cliques of pairs cause, if that is higher.
    [[nodiscard]] constexpr std::uint64_t with_pairs(memory_choice of, plan_workspace scratch) const noexcept {
        const std::uint64_t by_bytes = best_price_of(of, scratch);
        if (facts_->separate().is_empty()) return by_bytes;
        const std::size_t count = of.list.size();
        std::uint32_t *const dearest_first = scratch.cut_u32(count), *const sorted = scratch.cut_u32(count);
        std::uint64_t* const counted = scratch.cut_u64(facts_->count());
        separate_cliques<> cliques{facts_->separate(), facts_->count(), scratch};
        for (std::size_t k = 0; k != count; ++k) dearest_first[k] = of.list[k];
        cliques.sort_by_pairs(dearest_first, sorted, count);
        sort_by(dearest_first, sorted, count, [&](std::uint32_t i) { return ~of.value(i); });
        for (std::size_t i = 0; i != facts_->count(); ++i) counted[i] = 0;
        std::uint64_t outside = 0;
        cliques.each({dearest_first, count}, [&](plan_array<const std::uint32_t> clique) {
            std::uint64_t possible = 0;
            for (const std::uint32_t i : clique) possible |= facts_->allowed()[i] & of.value.mask;
            const auto inside = static_cast<std::size_t>(std::popcount(possible));
            if (clique.size() <= inside || of.value(clique[inside]) == prices::priceless) return false;
            const std::uint64_t most = of.value(clique[inside]);
            for (const std::uint32_t i : clique.subspan(inside)) outside += of.value(i);
            for (const std::uint32_t i : clique) counted[i] = smaller(of.value(i), most);
            return true;
        });
        if (outside == 0) return by_bytes;
        of.value.counted = counted;
        return larger(by_bytes, outside + best_price_of(of, scratch));
    }

    memory_costs<>* facts_;
    std::uint64_t effort_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
