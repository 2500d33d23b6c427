// SPDX-License-Identifier: BSL-1.0
// The worst operation of `deferred` with bounded joins and probes. In memory that is often full, blocks of many sizes
// join, and requests are refused. In ample memory, large blocks wait.
#include "instructions.hpp"

#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/deferred.hpp>

namespace {

using namespace counting;

struct bounded {
    using strategy = allot::deferred<allot::best_fit<allot::best_fit_options{.candidates = 1, .probes = 1}>,
                                     allot::deferred_options{.joins = 1}>;
    using arena_type = allot::arena<allot::host::buffer, strategy>;
    arena_type arena{allot::host::buffer{bytes}};
    std::size_t align = 16;
    void* allocate(std::size_t size) { return arena.allocate({size, align}).address; }
    void deallocate(void* pointer, std::size_t size) {
        if (pointer != nullptr) arena.deallocate({pointer, size, {}});
    }
};

/// Memory that is ample for a peak that has passed, so that large blocks wait.
struct bounded_after_peak : bounded {
    bounded_after_peak() {
        for (int i = 0; i != 2; ++i) {
            decltype(arena.allocate({1500, align})) blocks[64]{};
            for (auto& block : blocks) block = arena.allocate({1500, align});
            for (auto& block : blocks) arena.deallocate(block);
        }
    }
};

/// 512 blocks of these sizes need more memory than there is.
inline constexpr std::size_t wide_sizes[] = {16, 24, 40, 480, 100, 1500, 3000, 200},
                             small_sizes[] = {500, 490, 470, 450, 300, 520, 510, 480};

}  // namespace

std::vector<instructions_case> deferred_cases() {
    return {
        {"deferred_bounded/wide", churn<bounded, 512, wide_sizes>},
        {"deferred_bounded/small", churn<bounded, 600, small_sizes>},
        {"deferred_bounded/few", churn<bounded, 64, wide_sizes>},
        {"deferred_bounded/after_peak", churn<bounded_after_peak, 128, wide_sizes>},
    };
}
