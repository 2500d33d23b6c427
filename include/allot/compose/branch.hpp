// SPDX-License-Identifier: BSL-1.0
// branch: an allocator of a `segregated` allocator, and the condition under which it is used.
//
//     heap_arena small{{}, 64_KiB}, large{{}, 1_MiB};
//     allot::segregated memory{allot::up_to<64>(small), large};
//
// When to use: as the arguments of `segregated` before the last one.
// When not to use: for the last argument, which is an allocator without a condition.
//
// Complexity: O(1) for every function. Memory: the allocator, or a reference.
// Thread safety: that of the allocator.
#pragma once

#include <allot/core/allocator.hpp>

#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {

/// The behavior of a branch whose allocator fails.
enum class when_full : unsigned char {
    fail,  ///< The request fails.
    next,  ///< The following branches are tried.
};

/// A branch for requests of at most `Limit` bytes. `up_to` makes one.
template <std::size_t Limit, class Allocator, when_full Full = when_full::fail>
struct size_branch {
    using allocator_type = std::remove_reference_t<Allocator>;      ///< The allocator.
    static constexpr when_full full = Full;                         ///< The behavior if the allocator fails.
    static constexpr std::size_t size_limit = Limit;                ///< The largest size.
    static constexpr bool named_by_size = Full == when_full::fail;  ///< Whether a size is enough to find the branch.
    /// Returns true if the branch serves a request.
    [[nodiscard]] static constexpr bool takes(layout wanted) noexcept { return wanted.size <= Limit; }
    Allocator allocator;  ///< The allocator, or a reference to it.
};

/// A branch for requests with an alignment of at most `Limit` bytes. `aligned_up_to` makes one.
template <std::size_t Limit, class Allocator, when_full Full = when_full::fail>
struct align_branch {
    using allocator_type = std::remove_reference_t<Allocator>;  ///< The allocator.
    static constexpr when_full full = Full;                     ///< The behavior if the allocator fails.
    static constexpr bool named_by_size = false;                ///< A block does not record its alignment.
    /// Returns true if the branch serves a request.
    [[nodiscard]] static constexpr bool takes(layout wanted) noexcept { return wanted.align <= Limit; }
    Allocator allocator;  ///< The allocator, or a reference to it.
};

/// Returns a branch for requests of at most `Limit` bytes. `Full` selects the behavior if the allocator fails.
template <std::size_t Limit, when_full Full = when_full::fail, class Allocator>
[[nodiscard]] constexpr auto up_to(Allocator&& allocator) noexcept {
    return size_branch<Limit, Allocator, Full>{std::forward<Allocator>(allocator)};
}
/// Returns a branch for requests with an alignment of at most `Limit` bytes.
template <std::size_t Limit, when_full Full = when_full::fail, class Allocator>
[[nodiscard]] constexpr auto aligned_up_to(Allocator&& allocator) noexcept {
    return align_branch<Limit, Allocator, Full>{std::forward<Allocator>(allocator)};
}

}  // namespace v1
}  // namespace allot
