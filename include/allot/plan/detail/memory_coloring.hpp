// SPDX-License-Identifier: BSL-1.0
// memory_coloring: restricts the memories of each buffer such that buffers which must be separate can all have one.
//
//    separate {a,b} {b,c}   a: 0 1    a ──► 0    The buffer with the fewest remaining memories takes one: the cheapest
//    memories 0 and 1       b: 0 1    b ──► 1    with room for its bytes, of equal ones the emptiest. The others of
//                           c: 0 1    c ──► 0    its pairs lose this memory. So two memories are divided without a
//                                                search.
//
// Among buffers with equally many memories, the order is by priority, then by time. If no memory remains for a buffer,
// the next attempt begins with it. Without a complete attempt, such buffers keep all of their memories. Offsets are not
// considered.
//
// Source: Brélaz, New methods to color the vertices of a graph, Communications of the ACM 22, 1979 (order).
// Complexity: O((buffers · memories + pairs) log n). Memory: `space`, 16 bytes a pair, and up to 64 bytes a section and
// memory; none without pairs. Not synchronized.
#pragma once

#include <allot/plan/detail/loads.hpp>
#include <allot/plan/detail/memory_costs.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class memory_coloring {
public:
    [[nodiscard]] static constexpr plan_space space(const memories_problem& given) noexcept {
        if (given.separate.empty()) return {};
        const std::size_t buffers = given.buffers.buffers.size(),
                          sections = most_lives(given.buffers) + given.buffers.apart.size();
        return plan_space{.u32 = 5 * buffers, .u64 = 2 * buffers + 2 * given.separate.size()} +
               section_loads::space(given.memories.size() * sections);
    }

    /// Precondition: the problem has pairs of separate buffers.
    constexpr memory_coloring(const memory_costs<>& facts, plan_workspace& workspace) noexcept
        : facts_{&facts},
          sections_{facts.sections().count()},
          load_{facts.memories().size() * sections_, workspace},
          order_{workspace.cut_u32(facts.count())},
          scratch_{workspace.cut_u32(facts.count())},
          rank_{workspace.cut_u32(facts.count())},
          failures_{workspace.cut_u32(facts.count())},
          memory_{workspace.cut_u32(facts.count())},
          open_{workspace.cut_u64(facts.count())},
          heap_{workspace.cut_u64(facts.count() + 2 * facts.given().separate.size())} {}

    /// Chooses a memory for each buffer, those of high priority first. Then `open` returns the remaining memories.
    constexpr void run(const std::uint64_t* priority) noexcept {
        constexpr int attempts = 16;
        for (std::size_t i = 0; i != facts_->count(); ++i) failures_[i] = 0;
        for (int k = 0; k != attempts && !attempt(priority); ++k)
            for (std::size_t i = 0; i != facts_->count(); ++i) failures_[i] += has_failed(i) ? 1 : 0;
        for (std::size_t i = 0; i != facts_->count(); ++i)
            if (open_[i] == 0) open_[i] = facts_->allowed()[i];
    }
    /// The memories that may hold a buffer, as bits: not those that buffers of its pairs took.
    [[nodiscard]] constexpr std::uint64_t open(std::size_t i) const noexcept { return open_[i]; }

private:
    [[nodiscard]] constexpr bool has_failed(std::size_t i) const noexcept {
        return open_[i] == 0 && facts_->allowed()[i] != 0;
    }
    /// Returns whether each buffer got a memory.
    [[nodiscard]] constexpr bool attempt(const std::uint64_t* priority) noexcept {
        const section_tree& where = facts_->sections();
        std::size_t some = 0;
        for (std::uint32_t i = 0; i != facts_->count(); ++i) {
            open_[i] = facts_->allowed()[i];
            memory_[i] = memory_place::nowhere;
            if (facts_->size(i) != 0 && open_[i] != 0) order_[some++] = i;
        }
        sort_by(order_, scratch_, some,
                [&](std::uint32_t i) { return static_cast<std::uint64_t>(where.first_span(i).from); });
        sort_by(order_, scratch_, some, [&](std::uint32_t i) { return ~priority[i]; });
        sort_by(order_, scratch_, some, [&](std::uint32_t i) { return ~std::uint64_t{failures_[i]}; });
        load_.clear();
        waits_ = 0;
        for (std::uint32_t k = 0; k != some; ++k) {
            rank_[order_[k]] = k;
            wait(order_[k]);
        }
        bool is_complete = true;
        while (waits_ != 0) {
            pop_heap(heap_, waits_, is_later);
            const std::uint64_t next = heap_[--waits_];
            const std::uint32_t i = order_[static_cast<std::uint32_t>(next)];
            if (memory_[i] != memory_place::nowhere || next != key(i)) continue;
            if (open_[i] != 0) choose(i, best_of(i));
            else is_complete = false;
        }
        return is_complete;
    }
    /// Returns whether a buffer with the key `a` waits longer than one with the key `b`.
    [[nodiscard]] static constexpr bool is_later(std::uint64_t a, std::uint64_t b) noexcept { return a > b; }
    [[nodiscard]] constexpr std::uint64_t key(std::uint32_t buffer) const noexcept {
        const int memories = failures_[buffer] != 0 ? 0 : std::popcount(open_[buffer]);
        return static_cast<std::uint64_t>(memories) << 32 | rank_[buffer];
    }
    constexpr void wait(std::uint32_t buffer) noexcept {
        heap_[waits_] = key(buffer);
        push_heap(heap_, waits_++, is_later);
    }
    constexpr void choose(std::uint32_t buffer, std::uint32_t memory) noexcept {
        memory_[buffer] = memory;
        facts_->sections().each_size(buffer, [&](std::uint32_t from, std::uint32_t until, std::uint64_t size) {
            load_.add(first_of(memory) + from, first_of(memory) + until, size, true);
        });
        for (const std::uint32_t other : facts_->separate().of(buffer)) {
            if ((open_[other] & memory_costs<>::bit(memory)) == 0) continue;
            open_[other] &= ~memory_costs<>::bit(memory);
            if (memory_[other] == memory_place::nowhere) wait(other);
        }
    }
    [[nodiscard]] constexpr std::uint32_t best_of(std::uint32_t buffer) const noexcept {
        std::uint32_t best = 0;
        std::uint64_t least = 0, best_cost = 0;
        bool has_any = false, best_has_room = false;
        for (std::uint64_t rest = open_[buffer]; rest != 0; rest &= rest - 1) {
            const auto m = static_cast<std::uint32_t>(std::countr_zero(rest));
            const plan_memory& memory = facts_->memories()[m];
            std::uint64_t load = 0;
            bool has_room = true;
            facts_->sections().each_size(buffer, [&](std::uint32_t from, std::uint32_t until, std::uint64_t size) {
                if (from == until) return;
                const std::uint64_t most = load_.most(first_of(m) + from, first_of(m) + until);
                load = larger(load, most);
                has_room = has_room && size <= memory.capacity && most <= memory.capacity - size;
            });
            const bool is_better = has_room != best_has_room  ? has_room
                                   : memory.cost != best_cost ? has_room && memory.cost < best_cost
                                                              : load < least;
            if (has_any && !is_better) continue;
            has_any = true;
            best = m;
            best_has_room = has_room;
            best_cost = memory.cost;
            least = load;
        }
        return best;
    }
    /// Index of the first section of a memory among those of all memories.
    [[nodiscard]] constexpr std::uint32_t first_of(std::uint32_t memory) const noexcept { return memory * sections_; }

    const memory_costs<>* facts_;
    std::uint32_t sections_;
    section_loads load_;
    std::uint32_t *order_, *scratch_;            // lists
    std::uint32_t *rank_, *failures_, *memory_;  // by buffer
    std::uint64_t* open_;                        // by buffer
    std::uint64_t* heap_;                        // complements of keys, the least key first; outdated ones remain
    std::size_t waits_ = 0;                      // number of keys
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
