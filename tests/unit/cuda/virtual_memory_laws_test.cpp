// The laws on cuda::virtual_memory, over the fake driver. Any access by the host is a fault.
#include "../../laws/adapters.hpp"
#include "../../laws/judge.hpp"
#include "fake_libcuda.hpp"
#include "virtual_memory_machine.hpp"

#include <allot/arena/hardening.hpp>

namespace {

using namespace allot::literals;
using small = allot::cuda::basic_virtual_memory<4_KiB>;  // small, so that a few blocks make an arena grow
using usual = allot::cuda::virtual_memory;

}  // namespace

namespace laws {
template <std::size_t Granularity>
struct ground<allot::cuda::basic_virtual_memory<Granularity>> {
    explicit ground(const variant& how) : elsewhere{how.elsewhere} {}
    [[nodiscard]] allot::cuda::basic_virtual_memory<Granularity> device(std::size_t) const {
        return allot::cuda::basic_virtual_memory<Granularity>{16 * Granularity, elsewhere ? 1 : 0};
    }
    bool elsewhere;
};
}  // namespace laws

namespace {

using none = allot::growth::none<>;
using contiguous = allot::growth::contiguous<allot::growth_options{.step = 500, .limit = 20'000, .regions = 1}>;
using fixed = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 30'000, .regions = 8}>;
constexpr allot::best_fit_options few{.records = 24}, two_ends{.large = 200};
constexpr allot::arena_options debug{.hardening = allot::hardening::debug};
using up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;

template <class Device, class Strategy, class Growth = none, allot::arena_options Options = allot::arena_options{}>
using on = laws::arena_subject<laws::arena_over<Device, Strategy, Growth, Options>>;

using laws::make;
constexpr laws::row table[] = {
    {"best fit, contiguous growth", make<on<small, allot::best_fit<>, contiguous>>, true},
    {"best fit, side table of 24, contiguous growth", make<on<small, allot::best_fit<few>, contiguous>>, true},
    {"best fit, two ends, contiguous growth", make<on<small, allot::best_fit<two_ends>, contiguous>>, true},
    {"best fit, debug, contiguous growth", make<on<small, allot::best_fit<>, contiguous, debug>>, true},
    {"bump up, contiguous growth", make<on<small, up, contiguous>>, true},
    {"best fit, fixed growth", make<on<small, allot::best_fit<>, fixed>>, true},
    {"best fit", make<on<small, allot::best_fit<>>>, false, false},
    {"best fit, granules of 2 MiB", make<on<usual, allot::best_fit<>>>, false, false},
};

}  // namespace

TEST_CASE("cuda virtual_memory: arenas satisfy the laws") {
    CHECK(std::size(table) == 8);
    const tests::virtual_memory_machine machine;
    fake_libcuda::start({.granularity = 4_KiB});
    laws::judge(table);
}
