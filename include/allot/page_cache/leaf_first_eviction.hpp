// SPDX-License-Identifier: BSL-1.0
// leaf_first_eviction: evicts only pages that no cached page follows, in the order of another policy.
//
//     using policy = allot::leaf_first_eviction<allot::priority_eviction<>>;
//     allot::page_cache<allot::page_pool<4096>, policy> cache{limits, records};
//
//     page 0 ──► page 1 ──► page 2        page 1 is useless without page 0: page 2 is evicted first, then page 1
//                  └──────► page 3
//
// With LRU the order is already that of the tree, because a sequence releases its last page first. Other policies may
// select a page in the middle of a prompt, and the pages after it are then never found.
//
// When to use: around `s3_fifo_eviction`, `priority_eviction` or a policy of your own. When not to use: around LRU, and
// for windows only, where the last pages of a prompt are of use without the first ones.
//
// Complexity: that of the policy for each page that it skips. At most `Probes` pages are skipped for an eviction; then
// the page that the policy selects is evicted with pages after it.
// Memory: that of the policy.
// Thread safety: not synchronized.
#pragma once

#include <allot/page_cache/eviction.hpp>

namespace allot {
inline namespace v1 {

/// Evicts the first leaf that `Policy` selects.
template <page_eviction Policy, std::uint32_t Probes = 64>
class leaf_first_eviction : public Policy {
public:
    /// Returns the accepted page without a cached successor that the policy selects. Returns any accepted page after
    /// `Probes` others, and `no_page` if no page is accepted.
    template <class Accept>
    [[nodiscard]] constexpr std::uint32_t victim(page_uses& uses, Accept accept) noexcept {
        std::uint32_t skipped = 0;
        const std::uint32_t leaf = Policy::victim(
            uses, [&](std::uint32_t page) { return accept(page) && (uses.is_leaf(page) || ++skipped > Probes); });
        return leaf != no_page ? leaf : Policy::victim(uses, accept);
    }
};

static_assert(page_eviction<leaf_first_eviction<lru_eviction>>);

}  // namespace v1
}  // namespace allot
