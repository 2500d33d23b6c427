// The laws of a strategy without an arena: see laws.hpp.
#include "subjects.hpp"

namespace laws {
namespace {

/// A side table without an arena, over any offsets. constexpr_test.cpp covers constant expressions.
constexpr row offsets_alone[] = {
    {"alone: best fit, side table", make<alone<automatic>>},
    {"alone: best fit, side table, extents that touch", make<alone<beside_growing, touching>>},
    {"alone: best fit, side table of 24, extents that touch", make<alone<beside_fixed, touching>>},
    {"alone: best fit, side table, two ends, at the last offset", make<alone<beside_two_ends, top>>},
    {"alone: best fit, side table, 32 bits, at the last offset", make<alone<beside_narrow, top>>},
    {"alone: best fit, side table of 24, 32 bits", make<alone<beside_fixed_narrow>>},
    {"alone: best fit, side table, granules of 32, extents that touch", make<alone<beside_granules, touching>>},
    {"alone: best fit, side table, granules of 32, 32 bits, at the last offset",
     make<alone<beside_granules_narrow, top>>},
    {"alone: best fit, in band, extents that touch", make<alone<in_band, touching>>},
    {"alone: best fit, in band, two ends", make<alone<in_band_two_ends>>},
    {"alone: best fit, in band, 32 bits, extents that touch", make<alone<in_band_narrow, touching>>},
    {"alone: best fit, in band, two ends, 32 bits", make<alone<in_band_two_ends_narrow>>},
    {"alone: best fit, deferred, extents that touch", make<alone<in_band_deferred, touching>>},
    {"alone: best fit, deferred, two ends, bounded joins", make<alone<in_band_deferred_bounded>>},
    {"alone: best fit, deferred up to 100, 32 bits", make<alone<in_band_deferred_narrow>>},
    {"alone: bump up, at the last offset", make<alone<up, top>>},
    {"alone: bump down, at the last offset", make<alone<down, top>>},
    {"alone: bump up, 32 bits, at the last offset", make<alone<up_narrow, top>>},
    {"alone: bump down, 32 bits", make<alone<down_narrow>>},
    {"alone: stack, at the last offset", make<alone<stack, top>>},
    {"alone: stack, two ends", make<alone<stack_two_ends>>},
    {"alone: stack, 32 bits, at the last offset", make<alone<stack_narrow, top>>},
    {"alone: ring, at the last offset", make<alone<ring, top>>},
    {"alone: ring, 32 bits", make<alone<ring_narrow>>},
    {"alone: pool, in band, extents that touch", make<alone<pool<allot::pool_store::in_band, 0>, touching>>},
    {"alone: pool, bitmap", make<alone<pool<bitmap>>>},
    {"alone: pool, bitmap, 32 bits, at the last offset", make<alone<pool_narrow<bitmap>, top>>},
    {"alone: pool, index stack, at the last offset", make<alone<pool<index_stack>, top>>},
    {"alone: pool, atomic bitmap, 32 bits, at the last offset", make<alone<pool_narrow<atomic_bitmap>, top>>},
    {"alone: page tree", make<alone<pages_in_tree>>},
    {"alone: page tree, 32 bits, at the last offset", make<alone<narrow_pages_in_tree, top>>},
};

}  // namespace
}  // namespace laws

TEST_CASE("laws: strategies without an arena") {
    CHECK(std::size(laws::offsets_alone) == 31);
    laws::judge(laws::offsets_alone);
}
