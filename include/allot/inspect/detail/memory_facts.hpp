// SPDX-License-Identifier: BSL-1.0
// memory_facts: the facts that the abilities of an allocator provide for a report.
//
// Internal. An allocator that is made of several ones has `for_each_part(f)`, and a wrapper has `inner()`.
#pragma once

#include <allot/core/allocator.hpp>

#include <iterator>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Allocator>
concept with_inner = requires(const Allocator& of) { of.inner(); };
template <class Allocator>
concept with_parts = requires(const Allocator& of) { of.for_each_part([](const auto&) {}); };
template <class Allocator>
concept with_tags = requires(const Allocator& of) { of.for_each_tag([](const auto&, const allocator_statistics&) {}); };
template <class Allocator>
concept with_regions = linear_address_model<typename Allocator::address_model> &&
                       requires(const Allocator& of) { std::begin(of.regions())->base; };

/// Calls `f` with the allocator or the next wrapped one that has parts, if any.
template <class Allocator, class Function>
void with_its_parts(const Allocator& of, Function f) {
    if constexpr (with_parts<Allocator>) of.for_each_part(f);
    else if constexpr (with_inner<Allocator>) with_its_parts(of.inner(), f);
}
/// Calls `f(tag, counters)` for every tag of the allocator or of the next wrapped one that has tags.
template <class Allocator, class Function>
void for_tags(const Allocator& of, Function f) {
    if constexpr (with_tags<Allocator>) of.for_each_tag(f);
    else if constexpr (with_inner<Allocator>) for_tags(of.inner(), f);
}
template <class Allocator>
consteval bool has_tags() {
    if constexpr (with_tags<Allocator>) return true;
    else if constexpr (with_inner<Allocator>)
        return has_tags<std::remove_cvref_t<decltype(std::declval<const Allocator&>().inner())>>();
    else return false;
}
template <class Allocator>
consteval bool has_parts() {
    if constexpr (with_parts<Allocator>) return true;
    else if constexpr (with_inner<Allocator>)
        return has_parts<std::remove_cvref_t<decltype(std::declval<const Allocator&>().inner())>>();
    else return false;
}
/// Returns true and the diagnosis if the allocator, or the next wrapped one, can diagnose a request without a change.
template <class Allocator>
bool diagnose_part(const Allocator& of, layout wanted, diagnosis& found) {
    if constexpr (requires { of.diagnose(wanted); }) {
        found = of.diagnose(wanted);
        return true;
    } else if constexpr (with_inner<Allocator>) {
        return diagnose_part(of.inner(), wanted, found);
    } else {
        return false;
    }
}

/// Sizes of holes.
struct hole_facts {
    std::size_t free = 0, largest = 0, count = 0;
    void add(std::size_t size) noexcept {
        free += size;
        ++count;
        if (size > largest) largest = size;
    }
};

/// The holes of one region.
template <class Allocator, class Region>
hole_facts holes_in(const Allocator& of, const Region& region) {
    using model = typename Allocator::address_model;
    hole_facts found;
    of.for_each_hole([&](const auto& address, std::size_t size) {
        const std::size_t start = model::position(region.base), at = model::position(address);
        if (at < start || at - start >= region.size) return;
        if (model::locate(region.base, at - start) == address) found.add(size);  // the same handle
    });
    return found;
}

/// The totals of an allocator. A part that is not known is marked as such.
struct memory_facts {
    bool has_size = false, has_holes = false, has_blocks = false, has_counters = false, has_compacted = false;
    std::size_t size = 0;
    std::size_t regions = 0;  // 0: not known
    hole_facts holes{};
    std::size_t compacted = 0;  // the largest hole if all holes of each region were one
    allocator_statistics counters{};
};

template <class Allocator>
memory_facts facts_of(const Allocator& of) {
    memory_facts facts;
    if constexpr (sized_allocator<Allocator>) {
        facts.has_size = true;
        facts.size = of.size();
    }
    if constexpr (hole_walkable_allocator<Allocator>) {
        facts.has_holes = true;
        of.for_each_hole([&](const auto&, std::size_t size) { facts.holes.add(size); });
    }
    if constexpr (with_regions<Allocator>) {
        facts.has_compacted = facts.has_holes;
        for (const auto& region : of.regions()) {
            if (!region) continue;
            ++facts.regions;
            if constexpr (hole_walkable_allocator<Allocator>) {
                const std::size_t free = holes_in(of, region).free;
                if (free > facts.compacted) facts.compacted = free;
            }
        }
    }
    if constexpr (has_parts<Allocator>()) {
        with_its_parts(of, [&](const auto& part) {
            const memory_facts found = facts_of(part);
            if (found.compacted > facts.compacted) facts.compacted = found.compacted;
            facts.has_compacted = facts.has_compacted || found.has_compacted;
        });
    }
    if constexpr (counting_allocator<Allocator>) {
        facts.has_blocks = facts.has_counters = true;
        facts.counters = of.statistics();
    } else if constexpr (block_walkable_allocator<Allocator>) {
        facts.has_blocks = true;
        of.for_each_block([&](const auto&, std::size_t size) {
            facts.counters.used += size;
            ++facts.counters.count;
        });
    }
    return facts;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
