// SPDX-License-Identifier: BSL-1.0
// growth: the policies that determine how much memory an arena acquires when a request does not fit.
//
//     using heap = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
//
//     growth::none<>        one region, acquired by the constructor; no table of regions
//     growth::fixed<>       regions of `step` bytes each
//     growth::geometric<>   each new region is as large as all earlier ones together, and at least `step` bytes
//     growth::contiguous<>  one region that grows in place at its end by `step` bytes
//
// A new region is never smaller than the request needs. If the device cannot provide the step, the arena tries a half,
// a quarter and an eighth of it, and finally the size that the request needs. `growth::contiguous` needs a device that
// reserves addresses and maps memory on demand, such as `host::virtual_memory`.
//
// When to use: `none` for a fixed budget, `geometric` for unknown demand, `fixed` for even steps, and `contiguous` for
// one range of addresses.
// When not to use: over devices with a single window, which cannot grow.
//
// Complexity: O(1).
// Memory: the arena holds a table of `regions` regions, so growth takes memory only from the device.
// Thread safety: constants and pure functions.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/options.hpp>

namespace allot {
inline namespace v1 {

/// The options of growth policies.
struct growth_options {
    std::size_t step = 1_MiB;      ///< The size of a growth step in bytes.
    std::size_t limit = no_bound;  ///< The maximum number of bytes that the arena holds, over all regions.
    std::size_t regions = 64;      ///< The maximum number of regions, a power of two.
    /// Compares all members.
    friend constexpr bool operator==(growth_options, growth_options) = default;
};

/// A policy with the maximum number of regions, the maximum number of bytes, a flag for growth in place, and the size
/// of the next step in bytes.
template <class Growth>
concept growth_policy = requires(std::size_t held) {
    requires std::same_as<decltype(Growth::regions), const std::size_t>;
    requires std::same_as<decltype(Growth::limit), const std::size_t>;
    requires std::same_as<decltype(Growth::in_place), const bool>;
    { Growth::next(held) } noexcept -> std::same_as<std::size_t>;
};

namespace detail {

// The assertions are outside of the policies because clang++ discards the members of a class in which an assertion
// failed and then reports further errors.

/// Rejects options of a policy without growth.
template <growth_options Options>
struct none_refusals {
    static constexpr bool said = true;
    static_assert(Options == growth_options{}, "allot: growth::none does not grow: remove its growth_options");
};
/// Rejects invalid options of a policy with several regions.
template <growth_options Options>
struct regions_refusals {
    static constexpr bool said = true;
    static_assert(is_alignment(Options.regions), "allot: growth_options::regions is a power of two");
};
/// Rejects invalid options of a policy with one region that grows in place.
template <growth_options Options>
struct contiguous_refusals {
    static constexpr bool said = true;
    static_assert(Options.regions == 1 || Options.regions == growth_options{}.regions,
                  "allot: growth::contiguous has one region: remove growth_options::regions");
};

}  // namespace detail

/// The growth policies.
namespace growth {

/// One region, which does not grow. No option applies to it.
template <growth_options Options = growth_options{}>
struct none {
    static_assert(detail::none_refusals<Options>::said);
    static constexpr std::size_t regions = 1;                                      ///< The maximum number of regions.
    static constexpr std::size_t limit = std::numeric_limits<std::size_t>::max();  ///< The maximum number of bytes.
    static constexpr bool in_place = false;  ///< Whether the region grows in place.
    /// Returns the size of the next step in bytes, for an arena that holds a number of bytes.
    [[nodiscard]] static constexpr std::size_t next(std::size_t) noexcept { return 0; }
};

/// Regions of `step` bytes each.
template <growth_options Options = growth_options{}>
struct fixed {
    static_assert(detail::regions_refusals<Options>::said);
    static constexpr std::size_t regions = Options.regions;  ///< The maximum number of regions.
    static constexpr std::size_t limit = Options.limit;      ///< The maximum number of bytes.
    static constexpr bool in_place = false;                  ///< Whether the region grows in place.
    /// Returns the size of the next step in bytes, for an arena that holds a number of bytes.
    [[nodiscard]] static constexpr std::size_t next(std::size_t) noexcept { return Options.step; }
};

/// Regions that double the size of the arena. The first has `step` bytes.
template <growth_options Options = growth_options{}>
struct geometric {
    static_assert(detail::regions_refusals<Options>::said);
    static constexpr std::size_t regions = Options.regions;  ///< The maximum number of regions.
    static constexpr std::size_t limit = Options.limit;      ///< The maximum number of bytes.
    static constexpr bool in_place = false;                  ///< Whether the region grows in place.
    /// Returns the size of the next step in bytes, for an arena that holds a number of bytes.
    [[nodiscard]] static constexpr std::size_t next(std::size_t held) noexcept {
        return held < Options.step ? Options.step : held;
    }
};

/// One region that grows in place by `step` bytes. `growth_options::regions` keeps its default or is 1.
template <growth_options Options = growth_options{.regions = 1}>
struct contiguous {
    static_assert(detail::contiguous_refusals<Options>::said);
    static constexpr std::size_t regions = 1;            ///< The maximum number of regions.
    static constexpr std::size_t limit = Options.limit;  ///< The maximum number of bytes.
    static constexpr bool in_place = true;               ///< Whether the region grows in place.
    /// Returns the size of the next step in bytes, for an arena that holds a number of bytes.
    [[nodiscard]] static constexpr std::size_t next(std::size_t) noexcept { return Options.step; }
};

}  // namespace growth

static_assert(growth_policy<growth::none<>> && growth_policy<growth::fixed<>> && growth_policy<growth::geometric<>> &&
              growth_policy<growth::contiguous<>>);

}  // namespace v1
}  // namespace allot
