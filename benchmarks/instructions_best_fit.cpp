// SPDX-License-Identifier: BSL-1.0
// Blocks of any size; and blocks of one size, for which an exact hole always exists.
#include "instructions.hpp"

#include <allot/strategy/best_fit.hpp>

#include <cstdlib>

namespace {

using namespace counting;

struct of_malloc {
    void* allocate(std::size_t size) { return std::malloc(size); }
    void deallocate(void* pointer, std::size_t) { std::free(pointer); }
};

template <allot::best_fit_options Options>
struct best_fit {
    using arena_type = allot::arena<storage, allot::best_fit<Options>>;
    using metadata = typename arena_type::metadata_type;
    arena_type arena;
    auto allocate(std::size_t size) {
        const auto given = arena.allocate({size, 16});
        if constexpr (std::is_empty_v<metadata>) return given.address;
        else return block<metadata>{given.address, given.metadata};
    }
    template <class Handed>
    void deallocate(Handed held, std::size_t size) {
        if constexpr (std::is_empty_v<metadata>) arena.deallocate({held, size});
        else arena.deallocate({held.pointer, size, held.metadata});
    }
};
using enum allot::node_store;
using best_fit_in_band = best_fit<allot::best_fit_options{.store = in_band}>;
using best_fit_beside = best_fit<allot::best_fit_options{.store = side_table, .records = 8192}>;
using best_fit_granules =
    best_fit<allot::best_fit_options{.store = side_table, .records = 8192, .granule = 16}>;  // alignment of all blocks
using best_fit_fast =
    best_fit<allot::best_fit_options{.store = side_table, .records = 8192, .granule = 16, .candidates = 1}>;

}  // namespace

std::vector<instructions_case> best_fit_cases() {
    return {
        {"best_fit/malloc", churn<of_malloc, 1024, any_size>},
        {"best_fit/allot_in_band", churn<best_fit_in_band, 1024, any_size>},
        {"best_fit/allot_side_table", churn<best_fit_beside, 1024, any_size>},
        {"best_fit/allot_side_table_granules", churn<best_fit_granules, 1024, any_size>},
        {"best_fit/allot_side_table_fast", churn<best_fit_fast, 1024, any_size>},
        {"best_fit_exact/malloc", churn<of_malloc, 1024, one_size>},
        {"best_fit_exact/allot_in_band", churn<best_fit_in_band, 1024, one_size>},
        {"best_fit_exact/allot_side_table", churn<best_fit_beside, 1024, one_size>},
    };
}
