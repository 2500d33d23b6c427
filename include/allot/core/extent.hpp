// SPDX-License-Identifier: BSL-1.0
// extent: a run of offset space. allocation: what a strategy gives, an extent and its metadata.
//
//     0        offset          offset + size
//     ├──────────┼───────────────┼──────────────►  offset space
//                └──── extent ───┘
//
// Offsets are plain unsigned integers and mean nothing by themselves: an arena lets them be host addresses, bytes
// from the start of a buffer or positions in several regions; a strategy used on its own may hand out bus addresses,
// disk blocks or descriptors.
#pragma once

#include <allot/core/layout.hpp>

namespace allot {
inline namespace v1 {

/// A run of `size` offsets from `offset` on; empty when `size` is 0.
template <std::unsigned_integral Offset>
struct basic_extent {
    Offset offset = 0;
    Offset size = 0;

    /// One past the last offset. Precondition: it fits, which every strategy checks in `insert`.
    [[nodiscard]] constexpr Offset end() const noexcept { return static_cast<Offset>(offset + size); }
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return size != 0; }

    /// True when `inner` lies wholly inside, also when the end of `inner` would not fit its type.
    [[nodiscard]] constexpr bool contains(basic_extent inner) const noexcept {
        return inner.offset >= offset && inner.offset - offset <= size && inner.size <= size - (inner.offset - offset);
    }
    friend constexpr bool operator==(const basic_extent&, const basic_extent&) = default;
};

using extent = basic_extent<std::size_t>;

/// The metadata of a strategy that wants nothing back. Each strategy names its own, so that two of them never meet in
/// one object: empty members of the same type must have different addresses, and a block would grow by it.
template <class Strategy>
struct no_metadata {
    friend constexpr bool operator==(no_metadata, no_metadata) = default;
};

/// What a strategy gives and takes back: `where.size` is the size that was asked for. Empty on failure.
template <std::unsigned_integral Offset, class Ticket>
struct basic_allocation {
    basic_extent<Offset> where{};
    [[no_unique_address]] Ticket metadata{};

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return where.size != 0; }
    friend constexpr bool operator==(const basic_allocation&, const basic_allocation&) = default;
};

}  // namespace v1
}  // namespace allot
