// SPDX-License-Identifier: BSL-1.0
// growth: how much more an arena asks of its device when a request does not fit.
//
//     growth::none        one region, acquired when the arena is made; no look-up and no field for more
//     growth::fixed       regions of `step` bytes each
//     growth::geometric   each new region as large as all before it together, `step` bytes at first
//     growth::contiguous  one region, which grows at its end by `step` bytes and never moves: for devices that reserve
//                         addresses and map memory there on demand
//
// A device that refuses is asked for a half, a quarter and an eighth of that, and at last for what the request needs.
// A region is never smaller than the request that it is acquired for needs. `regions` is how many may be held at once:
// their table lies inside the arena, so growing takes no memory but the device's.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/options.hpp>

namespace allot {
inline namespace v1 {

/// How many regions an arena may hold, how many bytes in all, whether it is the one region that grows, and how many bytes
/// the next growth is to bring.
template <class Growth>
concept growth_policy = requires(std::size_t held) {
    requires std::same_as<decltype(Growth::regions), const std::size_t>;
    requires std::same_as<decltype(Growth::limit), const std::size_t>;
    requires std::same_as<decltype(Growth::in_place), const bool>;
    { Growth::next(held) } noexcept -> std::same_as<std::size_t>;
};

namespace growth {

struct none {
    static constexpr std::size_t regions = 1;
    static constexpr std::size_t limit = std::numeric_limits<std::size_t>::max();
    static constexpr bool in_place = false;
    [[nodiscard]] static constexpr std::size_t next(std::size_t) noexcept { return 0; }
};

template <growth_options Options = growth_options{}>
struct fixed {
    static_assert(is_alignment(Options.regions), "allot: growth_options::regions is a power of two");
    static constexpr std::size_t regions = Options.regions;
    static constexpr std::size_t limit = Options.limit;
    static constexpr bool in_place = false;
    [[nodiscard]] static constexpr std::size_t next(std::size_t) noexcept { return Options.step; }
};

template <growth_options Options = growth_options{}>
struct geometric {
    static_assert(is_alignment(Options.regions), "allot: growth_options::regions is a power of two");
    static constexpr std::size_t regions = Options.regions;
    static constexpr std::size_t limit = Options.limit;
    static constexpr bool in_place = false;
    [[nodiscard]] static constexpr std::size_t next(std::size_t held) noexcept {
        return held < Options.step ? Options.step : held;
    }
};

template <growth_options Options = growth_options{.regions = 1}>
struct contiguous {
    static_assert(Options.regions == 1, "allot: growth::contiguous has one region: growth_options::regions is 1");
    static constexpr std::size_t regions = 1;
    static constexpr std::size_t limit = Options.limit;
    static constexpr bool in_place = true;
    [[nodiscard]] static constexpr std::size_t next(std::size_t) noexcept { return Options.step; }
};

}  // namespace growth

static_assert(growth_policy<growth::none> && growth_policy<growth::fixed<>> && growth_policy<growth::geometric<>> &&
              growth_policy<growth::contiguous<>>);

}  // namespace v1
}  // namespace allot
