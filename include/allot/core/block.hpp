// SPDX-License-Identifier: BSL-1.0
// block: what a caller gets, an address and a size. region: what a device hands up, with the alignment of its base.
//
// A block is a small value and owns nothing: give it back as it was handed out, or shrink the whole arena away.
// With a pointer for its address and an empty metadata it is 16 bytes on a 64-bit machine and travels in two registers.
#pragma once

#include <allot/core/extent.hpp>

namespace allot {
inline namespace v1 {

/// `size` is what was asked for, in bytes; 0 means that nothing was to be had. The metadata belongs to the allocator.
template <class Address, class Ticket>
struct block {
    Address address{};
    std::size_t size = 0;
    [[no_unique_address]] Ticket metadata{};

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return size != 0; }
    friend constexpr bool operator==(const block&, const block&) = default;
};

/// A run of a device's memory. `align` is what the base is a multiple of, as the device knows it: it travels with the
/// region, because no later arithmetic on an opaque handle could find it out.
template <class Address>
struct region {
    Address base{};
    std::size_t size = 0;
    std::size_t align = 1;

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return size != 0; }
    friend constexpr bool operator==(const region&, const region&) = default;
};

}  // namespace v1
}  // namespace allot
