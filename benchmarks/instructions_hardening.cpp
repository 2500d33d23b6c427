// SPDX-License-Identifier: BSL-1.0
// The same requests without hardening, with hardening::checked and with hardening::debug. These counts are not compared
// exactly, because records are in hash tables of addresses.
#include "instructions.hpp"

#include <allot/arena/hardening.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/strategy/pool.hpp>

namespace {

using namespace counting;
using allot::hardening;

template <class Strategy, hardening Hardening>
struct hardened {
    using arena_type = allot::arena<storage, Strategy, allot::growth::none<>, allot::arena_options{.hardening = Hardening}>;
    using metadata = typename arena_type::metadata_type;
    arena_type arena;
    ~hardened() {
        if constexpr (Hardening == hardening::debug) {  // live blocks are no leaks here
            std::vector<typename arena_type::block_type> all;
            arena.for_each_block([&](void* at, std::size_t size) { all.push_back({at, size, {}}); });
            for (const auto& each : all) arena.deallocate(each);
        }
    }
    auto allocate(std::size_t size) {
        const auto given = arena.allocate({size, 16});
        return block<metadata>{given.address, given.metadata};
    }
    void deallocate(block<metadata> held, std::size_t size) { arena.deallocate({held.pointer, size, held.metadata}); }
};

using in_band = allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band}>;
using slots_in_band = allot::pool<allot::pool_options{.slot = slot, .store = allot::pool_store::in_band}>;
using beside = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .records = 8192}>;

}  // namespace

std::vector<instructions_case> hardening_cases() {
    using enum hardening;
    return {
        {"hardening_pool/none", churn<hardened<slots_in_band, none>, 1024, up_to_slot>},
        {"hardening_pool/checked", churn<hardened<slots_in_band, checked>, 1024, up_to_slot>},
        {"hardening_pool/debug", churn<hardened<slots_in_band, debug>, 1024, up_to_slot>},
        {"hardening_in_band/none", churn<hardened<in_band, none>, 1024, any_size>},
        {"hardening_in_band/checked", churn<hardened<in_band, checked>, 1024, any_size>},
        {"hardening_in_band/debug", churn<hardened<in_band, debug>, 1024, any_size>},
        {"hardening_deferred/none", churn<hardened<allot::deferred<in_band>, none>, 1024, any_size>},
        {"hardening_deferred/checked", churn<hardened<allot::deferred<in_band>, checked>, 1024, any_size>},
        {"hardening_deferred/debug", churn<hardened<allot::deferred<in_band>, debug>, 1024, any_size>},
        {"hardening_side_table/none", churn<hardened<beside, none>, 1024, any_size>},
        {"hardening_side_table/checked", churn<hardened<beside, checked>, 1024, any_size>},
    };
}
