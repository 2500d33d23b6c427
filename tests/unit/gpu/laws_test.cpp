// The laws on CUDA's and HIP's memories, over the fake runtime. Any access by the host to device memory is a fault.
#include "../../laws/adapters.hpp"
#include "../../laws/judge.hpp"
#include "fake_gpu.hpp"
#include "machine.hpp"

#include <allot/arena/hardening.hpp>

namespace laws {
template <>
struct ground<vendor::device_memory> {
    explicit ground(const variant& how) : elsewhere{how.elsewhere} {}
    [[nodiscard]] vendor::device_memory device(std::size_t) const { return vendor::device_memory{elsewhere ? 1 : 0}; }
    bool elsewhere;
};
template <>
struct ground<vendor::async_memory> {
    explicit ground(const variant&) {}
    [[nodiscard]] static vendor::async_memory device(std::size_t) { return vendor::async_memory{nullptr}; }
};
template <>
struct ground<vendor::pinned> {
    explicit ground(const variant&) {}
    [[nodiscard]] static vendor::pinned device(std::size_t) { return {}; }
};
template <>
struct ground<vendor::managed> {
    explicit ground(const variant&) {}
    [[nodiscard]] static vendor::managed device(std::size_t) { return {}; }
};
}  // namespace laws

namespace {

using vendor::async_memory;
using vendor::device_memory;
using vendor::managed;
using vendor::pinned;

using none = allot::growth::none<>;
using fixed = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 20'000, .regions = 8}>;
constexpr allot::best_fit_options few{.records = 24}, two_ends{.large = 200};
constexpr allot::pool_options slots{.slot = 64, .count = 60, .align = 16, .store = allot::pool_store::bitmap};
constexpr allot::arena_options at_a_page{.align = 4096}, debug{.hardening = allot::hardening::debug};

template <class Device, class Strategy, class Growth = none, allot::arena_options Options = allot::arena_options{}>
using on = laws::arena_subject<laws::arena_over<Device, Strategy, Growth, Options>>;

using laws::make;
constexpr laws::row table[] = {
    {"device memory, best fit", make<on<device_memory, allot::best_fit<>>>},
    {"device memory, best fit, side table of 24", make<on<device_memory, allot::best_fit<few>>>},
    {"device memory, best fit, two ends", make<on<device_memory, allot::best_fit<two_ends>>>},
    {"device memory, best fit, debug", make<on<device_memory, allot::best_fit<>, none, debug>>},
    {"device memory, best fit, fixed growth", make<on<device_memory, allot::best_fit<>, fixed>>, true},
    {"device memory at a page, best fit", make<on<device_memory, allot::best_fit<>, none, at_a_page>>, false, false},
    {"device memory, bump", make<on<device_memory, allot::bump<>>>},
    {"device memory, bump, fixed growth", make<on<device_memory, allot::bump<>, fixed>>, true},
    {"device memory, stack", make<on<device_memory, allot::stack<>>>},
    {"device memory, ring", make<on<device_memory, allot::ring<>>>},
    {"device memory, pool", make<on<device_memory, allot::pool<slots>>>},
    {"memory of a stream, best fit", make<on<async_memory, allot::best_fit<>>>},
    {"memory of a stream, best fit, fixed growth", make<on<async_memory, allot::best_fit<>, fixed>>, true},
    {"pinned memory, best fit", make<on<pinned, allot::best_fit<>>>},
    {"pinned memory, best fit, fixed growth", make<on<pinned, allot::best_fit<>, fixed>>, true},
    {"managed memory, best fit", make<on<managed, allot::best_fit<>>>},
    {"managed memory at a page, bump", make<on<managed, allot::bump<>, none, at_a_page>>, false, false},
};

}  // namespace

TEST_CASE(VENDOR ": arenas satisfy the laws") {
    CHECK(std::size(table) == 17);
    const tests::machine machine;
    laws::judge(table);
}

TEST_CASE(VENDOR ": arenas satisfy the laws when bases are not aligned to pages") {
    const tests::machine machine;
    fake_gpu::start({.phase = 768});
    laws::judge(table);
}
