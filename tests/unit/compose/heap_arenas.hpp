// Arenas for address_heap, in reserved addresses.
#pragma once

#include <allot/arena/arena.hpp>
#include <allot/core/literals.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/strategy/best_fit.hpp>

namespace heap_arenas {

using namespace allot::literals;

using best = allot::best_fit<allot::best_fit_options{.unlocked_capacity = true}>;

template <class Strategy>
struct make {
    using arena = allot::arena<allot::host::virtual_memory, Strategy,
                               allot::growth::contiguous<allot::growth_options{.step = 64_KiB, .regions = 1}>,
                               allot::arena_options{.annotate = false}>;
    std::size_t reserve = 1_GiB;
    arena operator()(std::size_t) const noexcept { return arena{allot::host::virtual_memory{reserve}}; }
};

}  // namespace heap_arenas
