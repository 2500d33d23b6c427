// The laws of allocators on the pages and the reserved addresses of Windows.
#include "../../laws/adapters.hpp"
#include "../../laws/judge.hpp"
#include "kernel.hpp"

#include <doctest/doctest.h>

namespace {

using allocated = allot::windows::pages<>;
using reserved = allot::windows::virtual_memory;
using kept = allot::cached<laws::steady<allocated>>;

}  // namespace

namespace laws {
template <>
struct ground<allocated> {
    explicit ground(const variant&) {}
    [[nodiscard]] static allocated device(std::size_t) { return {}; }
};
template <>
struct ground<reserved> {
    explicit ground(const variant&) {}
    [[nodiscard]] static reserved device(std::size_t) { return reserved{4 << 20}; }
};
template <>
struct ground<kept> {
    explicit ground(const variant&) {}
    [[nodiscard]] static kept device(std::size_t) { return kept{laws::steady<allocated>{{}}}; }
};
}  // namespace laws

namespace {

using fixed = allot::growth::fixed<allot::growth_options{.step = 3000, .limit = 400'000, .regions = 8}>;
using in_place = allot::growth::contiguous<allot::growth_options{.step = 64 << 10, .limit = 1 << 20, .regions = 1}>;
constexpr allot::best_fit_options few{.records = 24};
using up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
template <class Device, class Strategy, class Growth = allot::growth::none<>>
using on = laws::arena_subject<laws::arena_over<Device, Strategy, Growth>>;

using laws::make;
constexpr laws::row table[] = {
    {"best fit, in band, pages", make<on<allocated, allot::best_fit<>>>, false, false},
    {"best fit, side table of 24, pages", make<on<allocated, allot::best_fit<few>>>, false, false},
    {"best fit, in band, reserved addresses", make<on<reserved, allot::best_fit<>>>, false, false},
    {"best fit, in band, reserved addresses, grows in place", make<on<reserved, allot::best_fit<>, in_place>>, true},
    {"best fit, side table of 24, reserved addresses, grows in place",
     make<on<reserved, allot::best_fit<few>, in_place>>, true},
    {"bump up, reserved addresses, grows in place", make<on<reserved, up, in_place>>, true},
    {"best fit, in band, kept pages, fixed growth", make<on<kept, allot::best_fit<>, fixed>>, true},
    {"bump down, kept pages, fixed growth", make<on<kept, allot::bump<>, fixed>>, true},
};

}  // namespace

TEST_CASE("allocator laws: arenas over pages and reserved addresses of Windows") {
    CHECK(std::size(table) == 8);
    laws::judge(table);
}
