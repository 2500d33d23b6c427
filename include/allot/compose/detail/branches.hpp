// SPDX-License-Identifier: BSL-1.0
// branches: the requirements of a segregated allocator, and the parts of the metadata of its blocks.
//
// Internal.
#pragma once

#include <allot/compose/branch.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

namespace allot {
inline namespace v1 {

namespace detail {

/// The last branch, which serves every request.
template <class Allocator>
struct last_branch {
    using allocator_type = std::remove_reference_t<Allocator>;
    static constexpr when_full full = when_full::fail;
    static constexpr bool named_by_size = true;
    [[nodiscard]] static constexpr bool takes(layout) noexcept { return true; }
    Allocator allocator;
};

template <class Part>
struct branch_from {
    static constexpr bool conditional = false;
    static constexpr std::size_t size_limit = 0;
    using type = last_branch<Part>;
};
template <std::size_t Limit, class Allocator, when_full Full>
struct branch_from<size_branch<Limit, Allocator, Full>> {
    static constexpr bool conditional = true;
    static constexpr std::size_t size_limit = Limit;
    using type = size_branch<Limit, Allocator, Full>;
};
template <std::size_t Limit, class Allocator, when_full Full>
struct branch_from<align_branch<Limit, Allocator, Full>> {
    static constexpr bool conditional = true;
    static constexpr std::size_t size_limit = 0;
    using type = align_branch<Limit, Allocator, Full>;
};
template <class Part>
using branch_for = typename branch_from<Part>::type;
/// A branch itself, or an allocator as it is passed: a reference for an lvalue.
template <class Part>
using part_for =
    std::conditional_t<branch_from<std::remove_cvref_t<Part>>::conditional, std::remove_cvref_t<Part>, Part>;

/// Returns true if the arguments of `segregated` fit together. Otherwise it does not compile.
template <class... Parts>
consteval bool branch_requirements() {
    static_assert(sizeof...(Parts) >= 2 && sizeof...(Parts) <= 256,
                  "allot: segregated needs 2 to 256 allocators: up_to<64>(small), and an allocator for the rest");
    static_assert((allocator_requirements<typename branch_for<Parts>::allocator_type>() && ...));
    constexpr std::array conditional{branch_from<Parts>::conditional...};
    constexpr bool one_rest =
        !conditional.back() && std::count(conditional.begin(), conditional.end(), true) + 1 == sizeof...(Parts);
    static_assert(one_rest,
                  "allot: the last argument of segregated is an allocator that serves all other requests, and each one "
                  "before it has a condition: up_to<N>(allocator) or aligned_up_to<N>(allocator)");
    constexpr bool growing = [] {
        std::size_t before = 0;
        bool grows = true;
        const auto next = [&](std::size_t limit) {
            if (limit == 0) return;
            grows = grows && limit > before;
            before = limit;
        };
        (next(branch_from<Parts>::size_limit), ...);
        return grows;
    }();
    static_assert(growing,
                  "allot: segregated needs growing sizes, or a branch is never used: up_to<64>, then up_to<1024>");
    using first = typename branch_for<std::tuple_element_t<0, std::tuple<Parts...>>>::allocator_type;
    constexpr bool alike =
        ((std::same_as<typename first::address_model, typename branch_for<Parts>::allocator_type::address_model> &&
          first::offsets == branch_for<Parts>::allocator_type::offsets &&
          first::dl_device == branch_for<Parts>::allocator_type::dl_device) &&
         ...);
    static_assert(alike,
                  "allot: segregated needs allocators with the same address model and the same traits offsets and "
                  "dl_device: choose between different memories in the calling code");
    return true;
}

/// The bytes of the metadata of one branch. No member if all metadata is empty.
template <std::size_t Size, std::size_t Align>
struct metadata_bytes {
    alignas(Align) std::array<std::byte, Size> bytes{};  ///< The metadata of the branch.
};
template <std::size_t Align>
struct metadata_bytes<0, Align> {};

struct branch_index {
    static constexpr bool has_index = true;
    std::uint8_t branch = 0;  ///< The number of the branch.
};
struct no_branch_index {
    static constexpr bool has_index = false;
};

}  // namespace detail

}  // namespace v1
}  // namespace allot
