// SPDX-License-Identifier: BSL-1.0
// fallback: one allocator first, another when it refuses. Fast memory, then slow.
//
//     allot::fallback memory{tightly_coupled, ddr};       // refers to both
//     auto block = memory.allocate({.size = 4096});       // the block knows where it came from
//
// Lvalues are referred to and outlive the fallback; rvalues are moved in and owned. Both must name bytes in the same
// way, since a block does not say which kind of address it holds. Complexity: that of the two. Memory: one byte and
// both metadata in every block. As synchronised as the two.
#pragma once

#include <allot/compose/detail/undo.hpp>
#include <allot/core/allocator.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Which allocator a block came from, and that one's metadata.
template <class First, class Second>
struct fallback_metadata {
    [[no_unique_address]] First first{};
    bool from_second = false;
    [[no_unique_address]] Second second{};  // apart from `first`: empty ones of the same type do not share an address
    friend constexpr bool operator==(const fallback_metadata&, const fallback_metadata&) = default;
};

template <class First, class Second>
class fallback {
    static_assert(allocator_requirements<First>() && allocator_requirements<Second>());
    using first_type = std::remove_reference_t<First>;
    using second_type = std::remove_reference_t<Second>;
    using first_block = block_of<First>;
    using second_block = block_of<Second>;
    static_assert(std::same_as<typename first_type::address_model, typename second_type::address_model>,
                  "allot: fallback needs two allocators with the same address model: choose between memories with "
                  "different addresses where the block is used, not where it is allocated");
    static_assert(first_type::offsets == second_type::offsets && first_type::dl_device == second_type::dl_device,
                  "allot: fallback needs two allocators whose memories are used alike: the same offsets and dl_device");

public:
    using address_model = typename first_type::address_model;
    using metadata_type = fallback_metadata<decltype(first_block::metadata), decltype(second_block::metadata)>;
    using block_type = block<decltype(first_block::address), metadata_type>;
    static constexpr bool host_accessible = first_type::host_accessible && second_type::host_accessible;
    static constexpr offset_use offsets = first_type::offsets;
    static constexpr dl_device_type dl_device = first_type::dl_device;
    /// In the order of the one that needs an order; beside one that takes nothing back, as the other. A stack and a ring
    /// together reclaim in no order that could be relied on.
    static constexpr reclaim reclaims =
        first_type::reclaims == reclaim::never    ? second_type::reclaims
        : second_type::reclaims == reclaim::never ? first_type::reclaims
                                                  : detail::reclaim_of_both(first_type::reclaims, second_type::reclaims);

    constexpr fallback(First&& first, Second&& second) noexcept
        : first_{std::forward<First>(first)}, second_{std::forward<Second>(second)} {}

    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        if (const first_block given = first_.allocate(wanted)) return {given.address, given.size, {given.metadata}};
        const second_block given = second_.allocate(wanted);
        return {given.address, given.size, {{}, true, given.metadata}};
    }

    /// Takes a block back to where it came from. An empty block is fine.
    void deallocate(block_type held) noexcept {
        if (!held) return;
        if (held.metadata.from_second) {
            second_.deallocate({held.address, held.size, held.metadata.second});
        } else {
            first_.deallocate({held.address, held.size, held.metadata.first});
        }
    }

    /// Whether exactly this block is live, as far as the one that it came from checks. A misuse is reported.
    [[nodiscard]] bool check(block_type held) const noexcept {
        if (held.metadata.from_second) {
            if constexpr (requires { second_.check(second_block{}); })
                return second_.check({held.address, held.size, held.metadata.second});
        } else {
            if constexpr (requires { first_.check(first_block{}); })
                return first_.check({held.address, held.size, held.metadata.first});
        }
        return true;
    }

    /// True when the block came from the first allocator.
    [[nodiscard]] static constexpr bool is_from_first(const block_type& held) noexcept {
        return held && !held.metadata.from_second;
    }

    /// Why both would refuse: the second one's answer, with the largest hole of either.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        const diagnosis first = first_.diagnose(wanted);
        if (first.reason == refusal::none) return first;
        diagnosis second = second_.diagnose(wanted);
        if (first.largest_hole > second.largest_hole) second.largest_hole = first.largest_hole;
        return second;
    }

private:
    friend detail::undo_point<fallback>;

    First first_;
    Second second_;
};

template <class First, class Second>
fallback(First&&, Second&&) -> fallback<First, Second>;

namespace detail {
template <class First, class Second>
class undo_point<fallback<First, Second>> {
    using allocator_type = fallback<First, Second>;
    using first_point = undo_point<std::remove_reference_t<First>>;
    using second_point = undo_point<std::remove_reference_t<Second>>;

public:
    static constexpr bool possible = first_point::possible && second_point::possible;

    explicit undo_point(allocator_type& of) noexcept : first_{of.first_}, second_{of.second_} {}
    void take_back(allocator_type& to, block_of<allocator_type> held) const noexcept {
        if (held.metadata.from_second) {
            second_.take_back(to.second_, {held.address, held.size, held.metadata.second});
        } else {
            first_.take_back(to.first_, {held.address, held.size, held.metadata.first});
        }
    }
    void finish(allocator_type& of) const noexcept {
        first_.finish(of.first_);
        second_.finish(of.second_);
    }

private:
    first_point first_;
    second_point second_;
};
}  // namespace detail

}  // namespace v1
}  // namespace allot
