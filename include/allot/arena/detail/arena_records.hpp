// SPDX-License-Identifier: BSL-1.0
// arena_records: selects the records and the checks of an arena by its hardening and its strategy.
//
//     a seal after each block                sealed_blocks
//     slots of one region                    slot_checks
//     other arenas with checked, or debug    block_checks over checked_blocks, or over debugged_blocks
//     no hardening                           an empty class
//
// Internal. hardening.hpp describes the checks.
//
// Complexity and memory: none, because only types are selected.
#pragma once

#include <allot/arena/detail/block_checks.hpp>
#include <allot/arena/detail/sealed_blocks.hpp>
#include <allot/arena/detail/slot_checks.hpp>
#include <allot/core/strategy.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {
namespace detail {

/// The properties of an arena that its records depend on.
struct arena_checking {
    bool checked = false;     // any hardening
    bool debugs = false;      // hardening::debug
    bool overwrites = false;  // hardening::debug overwrites freed bytes
    bool seals = false;       // each block ends with a seal
    bool has_slots = false;   // blocks are recorded by the slots of one region
    bool numbers = false;     // the strategy is a numbered_slots
};

/// The records of an arena's blocks, with the checks. `Model` is the address model.
template <arena_checking Kind, class Regions, class Strategy, class Block, class Model, class OnMisuse>
struct arena_records {
    /// Whether the records list the live blocks.
    static constexpr bool lists = markable<Strategy> || !block_walkable<Strategy>;

private:
    struct nothing {};
    static constexpr std::size_t word = Strategy::in_band ? sizeof(typename Strategy::offset_type) : 0;
    using records =
        std::conditional_t<Kind.debugs, debugged_blocks<Block, OnMisuse, Strategy::reclaims != reclaim::never, word>,
                           std::conditional_t<Kind.checked, checked_blocks<Block, Model, lists>, nothing>>;
    static_assert(records_requirements<records>());

    // Selects the class before one is instantiated.
    static constexpr auto choose() noexcept {
        if constexpr (Kind.seals) return std::type_identity<sealed_blocks<Regions, Block, Model, OnMisuse>>{};
        else if constexpr (Kind.has_slots)
            return std::type_identity<slot_checks<Regions, Strategy, Block, Model, OnMisuse, Kind.numbers>>{};
        else if constexpr (Kind.checked)
            return std::type_identity<block_checks<records, Regions, Block, Model, OnMisuse, Kind.debugs,
                                                   Kind.overwrites, Strategy::reclaims == reclaim::never>>{};
        else return std::type_identity<nothing>{};
    }

public:
    using type = typename decltype(choose())::type;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
