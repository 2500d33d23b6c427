// Arenas over Metal's memory satisfy the laws, on the fake.
#include "../../laws/adapters.hpp"
#include "../../laws/judge.hpp"
#include "machine.hpp"

#include <allot/arena/hardening.hpp>

namespace {
MTL::Device* the_device = nullptr;  // of the current test's machine
}

namespace laws {
template <>
struct ground<tests::buffer> {
    explicit ground(const variant&) {}
    [[nodiscard]] static tests::buffer device(std::size_t) {
        return tests::buffer{the_device, MTL::ResourceStorageModePrivate};
    }
};
template <>
struct ground<tests::heap> {
    explicit ground(const variant&) {}
    [[nodiscard]] static tests::heap device(std::size_t) {
        return tests::heap{the_device, MTL::ResourceStorageModePrivate};
    }
};
}  // namespace laws

namespace {

using none = allot::growth::none<>;
using fixed = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 20'000, .regions = 8}>;
using fixed_pages = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 100'000, .regions = 8}>;
constexpr allot::best_fit_options few{.records = 24}, two_ends{.large = 200};
constexpr allot::pool_options slots{.slot = 64, .count = 60, .align = 16, .store = allot::pool_store::bitmap};
constexpr allot::arena_options debug{.hardening = allot::hardening::debug};

template <class Device, class Strategy, class Growth = none, allot::arena_options Options = allot::arena_options{}>
using on = laws::arena_subject<laws::arena_over<Device, Strategy, Growth, Options>>;

using laws::make;
using tests::buffer;
constexpr laws::row table[] = {
    {"metal buffer, best fit", make<on<buffer, allot::best_fit<>>>},
    {"metal buffer, best fit, side table of 24", make<on<buffer, allot::best_fit<few>>>},
    {"metal buffer, best fit, two ends", make<on<buffer, allot::best_fit<two_ends>>>},
    {"metal buffer, best fit, debug", make<on<buffer, allot::best_fit<>, none, debug>>},
    {"metal buffer, best fit, fixed growth", make<on<buffer, allot::best_fit<>, fixed>>, true},
    {"metal buffer, bump", make<on<buffer, allot::bump<>>>},
    {"metal buffer, pool", make<on<buffer, allot::pool<slots>>>},
    {"metal heap, best fit", make<on<tests::heap, allot::best_fit<>>>, false, false},
    {"metal heap, bump, fixed growth", make<on<tests::heap, allot::bump<>, fixed_pages>>, true},
};

}  // namespace

TEST_CASE("metal: arenas satisfy the laws") {
    const tests::metal_machine machine;
    the_device = machine.device;
    laws::judge(table);
}
