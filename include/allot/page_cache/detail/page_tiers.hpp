// SPDX-License-Identifier: BSL-1.0
// page_tiers: the pages of the memory and of slower tiers, and the copies that move pages between them.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/strategy.hpp>
#include <allot/page_cache/detail/page_store.hpp>
#include <allot/page_cache/page_copies.hpp>

#include <array>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Tier 0 is the memory. `slower_` has the other tiers, from the fastest to the slowest.
template <class Pages, class Eviction, class Copy, std::size_t Tiers>
class page_tiers {
    static_assert(
        requires { requires strategy<Pages> && Pages::reclaims == reclaim::any && !Pages::in_band; },
        "allot: the first parameter of a page_cache is a strategy without records in its memory, whose blocks "
        "are freed in any order, such as page_pool<4096>");
    static_assert(
        !strategy<Pages> || requires { requires Pages::bytes_for(1, {1, 1}) == 1; },
        "allot: the pages of a page_cache are indices, so its strategy counts in units of 1: use "
        "page_pool<4096>, or a page_tree with page = 1");
    static_assert(page_eviction<Eviction>,
                  "allot: the second parameter of a page_cache is a policy of eviction, such as lru_eviction");
    static_assert(page_copier<Copy>,
                  "allot: page_cache calls its function that copies pages as bool f(page_place from, page_place to) "
                  "noexcept");
    static_assert(
        Tiers == 0 || !std::is_same_v<Copy, no_page_copies>,
        "allot: pages are copied to slower tiers and back: give page_cache a function that copies pages as its "
        "third parameter");

protected:
    using store_type = page_store<Pages, Eviction>;

    explicit page_tiers(Copy copy) noexcept : copy_{std::move(copy)} {}

    /// Copies a page from the fastest slower tier that has it. Returns `no_page` if that fails, or if a page of other
    /// tokens has the key.
    [[nodiscard]] std::uint32_t bring_page(std::uint32_t group, page_key key, std::span<const std::uint32_t> tokens,
                                           std::uint32_t priority) noexcept {
        if (store_.find_key(key) != no_page) return no_page;
        for (std::uint32_t tier = 0; tier != Tiers; ++tier) {
            const std::uint32_t from = slower_[tier].find(key, tokens);
            if (from == no_page) continue;
            slower_[tier].hold(from);  // not evicted while other pages leave the memory
            slower_[tier].hit(from);
            std::uint32_t made = store_.take(group, leaving(0));
            if (made != no_page && !copy(group, tier + 1, from, 0, made)) {
                store_.drop(made, priority);
                made = no_page;
            }
            slower_[tier].drop(from, priority);
            return made;
        }
        return no_page;
    }
    /// Returns a function that copies a page which leaves a tier to the next slower one.
    [[nodiscard]] auto leaving([[maybe_unused]] std::uint32_t tier) noexcept {
        if constexpr (Tiers == 0) return [](std::uint32_t) {};
        else return [this, tier](std::uint32_t slot) { move_down(tier, slot); };
    }
    /// Copies the page with index `from` of a group to a new slot, `made`. On failure, `made` may have a page.
    [[nodiscard]] page_refusal copy_page([[maybe_unused]] std::uint32_t group, [[maybe_unused]] std::uint32_t from,
                                         [[maybe_unused]] std::uint32_t& made) noexcept {
        if constexpr (std::is_same_v<Copy, no_page_copies>) {
            return page_refusal::not_copied;
        } else {
            made = store_.take(group, leaving(0));
            if (made == no_page) return page_refusal::out_of_pages;
            return copy(group, 0, store_.slot_of(group, from), 0, made) ? page_refusal::none : page_refusal::not_copied;
        }
    }

    page_group groups_[most_groups];
    store_type store_;
    ALLOT_NO_UNIQUE_ADDRESS std::array<store_type, Tiers> slower_;

private:
    /// Copies a page which leaves a tier to the next slower one, if that has or gets a slot.
    void move_down(std::uint32_t tier, std::uint32_t slot) noexcept {
        if (tier == Tiers) return;
        const store_type& from = tier == 0 ? store_ : slower_[tier - 1];
        store_type& to = slower_[tier];
        const std::uint32_t group = from.group_of(slot), priority = from[slot].priority;
        std::uint32_t made = to.find_key(from[slot].key);
        if (made != no_page) {
            to.hold(made);  // released again, it is the newest page
        } else {
            made = to.take(group, leaving(tier + 1));
            if (made == no_page) return;
            if (copy(group, tier, slot, tier + 1, made)) to.list(made, from[slot].key, from.tokens_of(slot), no_page);
        }
        to.drop(made, priority);
    }
    /// Copies a page from a slot of one tier to a slot of another.
    [[nodiscard]] bool copy([[maybe_unused]] std::uint32_t group, [[maybe_unused]] std::uint32_t from_tier,
                            [[maybe_unused]] std::uint32_t from, [[maybe_unused]] std::uint32_t to_tier,
                            [[maybe_unused]] std::uint32_t to) noexcept {
        if constexpr (std::is_same_v<Copy, no_page_copies>) return false;
        else
            return copy_(place_of(group, store_.index_of(group, from), from_tier),
                         place_of(group, store_.index_of(group, to), to_tier));
    }
    [[nodiscard]] page_place place_of(std::uint32_t group, std::uint32_t page, std::uint32_t tier) const noexcept {
        const std::uint64_t bytes = groups_[group].page_bytes;
        return {.tier = tier, .group = group, .page = page, .offset = page * bytes, .bytes = bytes};
    }

    ALLOT_NO_UNIQUE_ADDRESS Copy copy_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
