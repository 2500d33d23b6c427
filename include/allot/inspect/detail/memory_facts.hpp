// SPDX-License-Identifier: BSL-1.0
// memory_facts: the facts that the abilities of an allocator provide for reports and snapshots.
//
// Internal. An allocator that is made of several ones has `for_each_part(f)`, and a wrapper has `inner()`. The
// parts are not constant if they receive the requests of the whole: those of a paged allocator receive others.
// The friends `inner_of(wrapper)` and `inner_request(wrapper, layout)` of the wrappers of this library return the
// wrapped allocator, and the layout that a wrapper asks of it.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/core/arithmetic.hpp>

#include <iterator>
#include <type_traits>
#include <utility>

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

/// Returns the allocator that a wrapper wraps, as a constant one unless the wrapper is from this library.
template <class Wrapper>
decltype(auto) next_of(Wrapper& of) {
    if constexpr (requires { inner_of(of); }) return inner_of(of);
    else return of.inner();
}
template <class Wrapper>
using next_type = std::remove_cvref_t<decltype(next_of(std::declval<Wrapper&>()))>;

/// Calls `f` with each part of the allocator or of the next wrapped one that has parts, if any.
template <class Allocator, class Function>
void with_its_parts(Allocator& of, Function f) {
    if constexpr (with_parts<Allocator>) of.for_each_part(f);
    else if constexpr (with_inner<Allocator>) with_its_parts(next_of(of), f);
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
    else if constexpr (with_inner<Allocator>) return has_tags<next_type<Allocator>>();
    else return false;
}
template <class Allocator>
consteval bool has_parts() {
    if constexpr (with_parts<Allocator>) return true;
    else if constexpr (with_inner<Allocator>) return has_parts<next_type<Allocator>>();
    else return false;
}
/// Returns true and the diagnosis of a part that receives the requests of its composition. A constant part does not.
template <class Allocator>
bool diagnose_part(Allocator& of, layout wanted, diagnosis& found) {
    if constexpr (!std::is_const_v<Allocator>) found = of.diagnose(wanted);
    return !std::is_const_v<Allocator>;
}

/// Calls `f(description)` for every live block of the allocator, or of the next wrapped ones or parts, that has a tag.
template <class Allocator, class Function>
void for_tagged_blocks(const Allocator& of, Function f) {
    if constexpr (with_tags<Allocator>) of.for_each_block(f);
    else if constexpr (with_inner<Allocator>) for_tagged_blocks(of.inner(), f);
    else if constexpr (with_parts<Allocator>) of.for_each_part([&](const auto& part) { for_tagged_blocks(part, f); });
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

/// The holes of one region after compaction: they are one hole.
struct compaction {
    bool known = false;       ///< Whether compaction merges holes, and the regions are known.
    std::size_t largest = 0;  ///< The size of the largest hole.
    bool enough = false;      ///< Whether the request is served then.
};

/// Whether an allocator, without its wrappers, has one strategy that serves requests of any size and merges holes. The
/// strategies that can resize blocks in place do. A pool does not: its slots keep their places.
template <class Allocator>
consteval bool merges_holes() {
    if constexpr (with_inner<Allocator>) return merges_holes<next_type<Allocator>>();
    else return hole_walkable_allocator<Allocator> && resizable_allocator<Allocator> && with_regions<Allocator>;
}
/// Returns the most free bytes in one region.
template <class Allocator>
std::size_t most_free(const Allocator& of) {
    std::size_t most = 0;
    for (const auto& region : of.regions()) {
        const std::size_t free = region ? holes_in(of, region).free : 0;
        if (free > most) most = free;
    }
    return most;
}
/// The alignment of every block.
template <class Allocator>
consteval std::size_t block_align() {
    if constexpr (requires { typename Allocator::strategy_type; })
        return extent_align<typename Allocator::strategy_type>();
    else return 1;
}
/// Returns true if the allocator serves the request after compaction for certain. Each wrapper states its own request.
template <class Allocator>
bool fits_after_compaction(Allocator& of, layout wanted) {
    if (wanted.size == 0) return false;
    if constexpr (requires { inner_request(of, wanted); }) {
        return fits_after_compaction(inner_of(of), inner_request(of, wanted));
    } else if constexpr (with_inner<Allocator>) {
        return false;  // the request of a foreign wrapper is not known
    } else {
        const refusal reason = of.diagnose(wanted).reason;
        if (reason == refusal::none) return true;
        const bool is_too_full = reason == refusal::exhausted || reason == refusal::fragmented ||
                                 reason == refusal::over_limit || reason == refusal::device_refused;
        constexpr std::size_t align = block_align<Allocator>();
        std::size_t most = wanted.size;
        if (wanted.align > align && !checked_add(most, wanted.align - align, most)) return false;
        return is_too_full && most <= most_free(of);
    }
}
/// Returns what is known of the memory after compaction. `is_served`: whether the request is served before.
template <class Allocator>
compaction after_compaction(Allocator& of, layout wanted, bool is_served) {
    compaction found;
    if constexpr (merges_holes<Allocator>() && hole_walkable_allocator<Allocator> && with_regions<Allocator>) {
        found.known = true;
        found.largest = most_free(of);
        found.enough = is_served || (wanted.size <= found.largest && fits_after_compaction(of, wanted));
    }
    return found;
}

/// The totals of an allocator. A part that is not known is marked as such.
struct memory_facts {
    bool has_size = false, has_holes = false, has_blocks = false, has_counters = false;
    std::size_t size = 0;
    std::size_t regions = 0;  // 0: not known
    hole_facts holes{};
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
    if constexpr (with_regions<Allocator>)
        for (const auto& region : of.regions()) facts.regions += static_cast<bool>(region);
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
