// SPDX-License-Identifier: BSL-1.0
// copied_pages: the function that copies the pages of a `page_cache`, by a copier of core/copy_path.hpp.
//
//     using device_arena = allot::arena<allot::opencl::buffer, allot::best_fit<>>;
//     using host_arena = allot::naive<allot::host::heap>;
//     using copies = allot::copied_pages<allot::opencl::queue_copy, device_arena, host_arena>;
//     allot::page_cache<allot::page_pool<4096>, allot::lru_eviction, copies, 1> cache{
//         limits, records, {allot::opencl::queue_copy{queue}, pages.address, slower_pages.address}};
//
//     tier 0   device_arena   │ page │ page │ …     at pages.address          ◄──┐ forks
//                 │  ▲                                                        ───┘
//     tier 1   host_arena     │ page │ page │ …     at slower_pages.address
//
// The first memory is that of the tables, and each further one is a slower tier. The host copies between two memories
// that it can access. The copier copies between all others, and finishes each copy before the call returns.
//
// When to use: if one copier can copy between all tiers. When not to use: for files, or to queue many copies. Write a
// function as in page_copies.hpp.
//
// Complexity: one call of the copier for each page.
// Memory: the copier, and one address for each memory.
// Thread safety: that of the copier.
#pragma once

#include <allot/core/copy_path.hpp>
#include <allot/page_cache/page_copies.hpp>

#include <cstring>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v1 {

namespace detail {

template <class Copier, class From, class To>
concept page_copier_between =
    requires(Copier& copier, typename From::address_model::address from, typename To::address_model::address to) {
        { copier.template copy<From, To>(from, to, std::size_t{}) } noexcept -> std::same_as<copied>;
    };
template <class Copier, class From, class To>
constexpr bool can_copy_pages = (host_memory<From> && host_memory<To>) || page_copier_between<Copier, From, To>;

}  // namespace detail

/// Copies pages between the first of `Memories`, which are allocators or devices, and slower ones.
template <class Copier, class... Memories>
class copied_pages {
    template <std::size_t Tier>
    using memory = std::tuple_element_t<Tier, std::tuple<Memories...>>;
    using first_memory = memory<0>;
    static_assert(
        (detail::can_copy_pages<Copier, first_memory, Memories> && ...) &&
            (detail::can_copy_pages<Copier, Memories, first_memory> && ...),
        "allot: the copier of copied_pages must copy within the first memory, and between it and each other one");

public:
    /// Constructs a function for memories that begin at these addresses.
    explicit copied_pages(Copier copier, typename Memories::address_model::base... first) noexcept
        : copier_{std::move(copier)}, first_{first...} {}

    /// Copies a page. Returns false on failure.
    bool operator()(page_place from, page_place to) noexcept {
        bool done = false;
        const auto copy_from = [&]<std::size_t From>(std::integral_constant<std::size_t, From>) {
            [&]<std::size_t... To>(std::index_sequence<To...>) {
                ((to.tier == To ? void(done = copy<From, To>(from, to)) : void()), ...);
            }(std::index_sequence_for<Memories...>{});
        };
        [&]<std::size_t... From>(std::index_sequence<From...>) {
            ((from.tier == From ? copy_from(std::integral_constant<std::size_t, From>{}) : void()), ...);
        }(std::index_sequence_for<Memories...>{});
        return done;
    }

private:
    template <std::size_t From, std::size_t To>
    [[nodiscard]] bool copy(page_place from, page_place to) noexcept {
        using source = memory<From>;
        using target = memory<To>;
        [[maybe_unused]] const auto bytes = static_cast<std::size_t>(from.bytes);
        [[maybe_unused]] const auto source_at =
            source::address_model::locate(std::get<From>(first_), static_cast<std::size_t>(from.offset));
        [[maybe_unused]] const auto target_at =
            target::address_model::locate(std::get<To>(first_), static_cast<std::size_t>(to.offset));
        if constexpr (host_memory<source> && host_memory<target>) {
            std::memcpy(target_at, source_at, bytes);
            return true;
        } else if constexpr (detail::page_copier_between<Copier, source, target>) {
            const copied answer = copier_.template copy<source, target>(source_at, target_at, bytes);
            if (!answer || *answer == copy_path::none) return false;
            if constexpr (requires { copier_.finish(*answer); }) return copier_.finish(*answer) == 0;
            else return true;
        } else {
            return false;
        }
    }

    Copier copier_;
    std::tuple<typename Memories::address_model::base...> first_;
};

}  // namespace v1
}  // namespace allot
