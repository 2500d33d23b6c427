// The laws of arenas, over a rank's own part. They run on one rank, because a broken law ends the test on that rank
// while the others would wait.
#include "../../laws/adapters.hpp"
#include "../../laws/judge.hpp"
#include "all_ranks.hpp"

namespace laws {
template <>
struct ground<machine::device> {
    explicit ground(const variant&) {}
    [[nodiscard]] static machine::device device(std::size_t) { return {machine::ranks()}; }
};
}  // namespace laws

namespace {

using fixed = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 20'000, .regions = 8}>;
constexpr allot::pool_options slots{.slot = 64, .count = 60, .align = 16, .store = allot::pool_store::bitmap};

template <class Strategy, class Growth = allot::growth::none<>>
using on = laws::arena_subject<laws::arena_over<machine::device, Strategy, Growth>>;
using laws::make;
constexpr laws::row table[] = {
    {"best fit", make<on<allot::best_fit<>>>}, {"best fit, fixed growth", make<on<allot::best_fit<>, fixed>>, true},
    {"bump down", make<on<allot::bump<>>>},    {"stack", make<on<allot::stack<>>>},
    {"ring", make<on<allot::ring<>>>},         {"pool, bitmap", make<on<allot::pool<slots>>>},
};

}  // namespace

TEST_CASE("symmetric device: arenas satisfy the laws") {
    if (machine::ranks().size() != 1) return;
    laws::judge(table);
}
