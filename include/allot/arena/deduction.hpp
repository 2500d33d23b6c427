// SPDX-License-Identifier: BSL-1.0
// deduction: arenas whose type the compiler deduces from the constructor's arguments.
//
//     alignas(64) static std::byte bytes[4096];
//     allot::arena general{allot::host::heap{}, 1_MiB};                                // arena<host::heap, best_fit<>>
//     allot::arena scratch{allot::host::heap{}, 1_MiB, allot::use<allot::bump<>>};     // arena<host::heap, bump<>>
//     allot::arena in_bytes{allot::host::buffer{bytes}};                               // a device with a fixed size
//     allot::arena grows{allot::host::heap{}, allot::use<allot::best_fit<>, allot::growth::geometric<>>};
//
// The strategy is best_fit<> by default. An arena is still initialized from an arena by a move of the same type.
//
// When to use: for local arenas, and for arenas whose type is never written.
// When not to use: for devices that contain their memory (static_storage), which cannot be moved, and for arenas with
// arena_options. Write the arena's type there.
// Complexity, memory, thread safety: those of the arena. Deduction costs nothing at run time.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/arena/arena.hpp>
#include <allot/strategy/best_fit.hpp>

namespace allot {
inline namespace v1 {

/// Names the strategy and the growth of an arena whose type is deduced. `use` is the value.
template <class Strategy, class Growth>
struct use_policies {};

/// Selects the strategy and the growth of an arena whose type is deduced.
template <class Strategy, class Growth = growth::none<>>
inline constexpr use_policies<Strategy, Growth> use{};

/// Without a strategy, an arena is over best_fit<>.
template <device Device>
arena(Device) -> arena<Device, best_fit<>>;
/// Without a strategy, an arena is over best_fit<>.
template <device Device>
arena(Device, std::size_t) -> arena<Device, best_fit<>>;

namespace detail {
/// The device of an arena that is made of a size only. That constructor does not compile.
struct no_device : pointer_memory_traits<no_device> {
    using error = int;
    static constexpr std::size_t min_align = 1;
    static constexpr std::size_t granularity = 1;
    [[nodiscard]] acquired<no_device> acquire(layout) noexcept { return acquired<no_device>::failure(1); }
    void release(region<void*>) noexcept {}
};
}  // namespace detail
/// An arena of a size only does not compile: it needs a device.
template <std::integral Size>
arena(Size) -> arena<detail::no_device, best_fit<>>;

}  // namespace v1
}  // namespace allot
