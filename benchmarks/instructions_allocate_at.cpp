// SPDX-License-Identifier: BSL-1.0
// Blocks at given extents (`allocate_at`) among 10, 100 and 1,000 holes: with an index of the holes by offset, and by a
// search of the bin of the hole.
#include "instructions.hpp"

#include <allot/strategy/best_fit.hpp>

namespace {

using namespace counting;

/// Between two slots that remain in use there is one slot that is in use or free. Half of these are free.
template <bool Index, std::size_t Holes>
struct given_places {
    static constexpr std::size_t places = 2 * Holes;
    using strategy_type = allot::best_fit<allot::best_fit_options{
        .store = allot::node_store::side_table, .records = 4 * places, .offset_index = Index}>;
    using allocation_type = typename strategy_type::allocation_type;
    strategy_type strategy;
    allocation_type blocks[places];
    std::size_t free[places], first_free = 0, last_free = 0;  // in a ring: the place that is free for longest is first

    given_places() {
        static_cast<void>(strategy.insert({0, (2 * places + 1) * slot}));
        for (std::size_t i = 0; i != places + 1; ++i) static_cast<void>(strategy.allocate_at({2 * i * slot, slot}));
        sequence random;
        for (std::size_t i = 0; i != places; ++i) free[i] = i;
        for (std::size_t i = places; i != 0; --i) std::swap(free[i - 1], free[random.below(i)]);
    }
    void* allocate(std::size_t) {
        const std::size_t place = free[first_free++];
        if (first_free == places) first_free = 0;
        blocks[place] = strategy.allocate_at({(2 * place + 1) * slot, slot});
        return blocks + place;
    }
    void deallocate(void* given, std::size_t) {
        auto* const at = static_cast<allocation_type*>(given);
        strategy.deallocate(*at);
        free[last_free++] = static_cast<std::size_t>(at - blocks);
        if (last_free == places) last_free = 0;
    }
};

template <bool Index, std::size_t Holes>
constexpr auto among = churn<given_places<Index, Holes>, Holes, one_size>;

}  // namespace

std::vector<instructions_case> allocate_at_cases() {
    return {
        {"allocate_at_indexed/allot_10", among<true, 10>},     {"allocate_at_indexed/allot_100", among<true, 100>},
        {"allocate_at_indexed/allot_1000", among<true, 1000>}, {"allocate_at_searched/allot_10", among<false, 10>},
        {"allocate_at_searched/allot_100", among<false, 100>}, {"allocate_at_searched/allot_1000", among<false, 1000>},
    };
}
