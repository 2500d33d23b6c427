// SPDX-License-Identifier: BSL-1.0
// block_as_pointer: converts blocks to pointers for the interfaces of the standard library.
//
//     no metadata   │ usable bytes │                          the block, unchanged
//     metadata      │ … │ metadata │ usable bytes │           padded at the front, so that the usable bytes are aligned
//                   └──── front ────┘
//
// Internal: shared by memory_resource.hpp and std_allocator.hpp. Those interfaces pass an address, a size and an
// alignment to the deallocation. The size of the front part follows from the alignment, so it is not stored.
//
// Complexity: that of the allocator.
// Memory: none if the metadata is empty (bump, pool, in-band records). Otherwise each block holds the metadata,
// rounded up to the alignment.
// Thread safety: that of the allocator.
#pragma once

#include <allot/adapt/bad_alloc.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/core/allocator.hpp>

#include <cstring>
#include <type_traits>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns true if the blocks of an allocator can be converted. Otherwise it does not compile, and a `static_assert`
/// states the remedy.
template <class Allocator>
consteval bool pointer_requirements() {
    if constexpr (!allocator<Allocator>) {
        return allocator_requirements<Allocator>();
    } else if constexpr (!std::same_as<typename Allocator::address_model, raw_pointer>) {
        static_assert(!sizeof(Allocator),
                      "allot: standard allocators return pointers: use an allocator of memory "
                      "that has addresses");
    } else if constexpr (!Allocator::host_accessible) {
        static_assert(!sizeof(Allocator),
                      "allot: standard allocators require host-writable memory: use an "
                      "allocator of memory that the host can access");
    } else if constexpr (Allocator::reclaims == reclaim::lifo || Allocator::reclaims == reclaim::fifo) {
        static_assert(!sizeof(Allocator),
                      "allot: containers deallocate in any order, which stack and ring do not "
                      "support: use best_fit or pool, or bump, which reclaims only by reset");
    }
    return true;
}

/// The conversion for one type of allocator.
template <class Allocator>
class block_as_pointer {
    using block_type = block_of<Allocator>;
    using metadata_type = decltype(block_type::metadata);
    static constexpr bool has_metadata = !is_spare_metadata<metadata_type>;

public:
    /// Returns at least `wanted.size` bytes. A size of 0 is treated as 1. Throws allot::bad_alloc.
    [[nodiscard]] static void* allocate(Allocator& from, layout wanted) {
        const layout whole = with_front(wanted);
        const block_type given = from.allocate(whole);
        if (!given) throw_refusal(from, whole);
        if constexpr (has_metadata) {
            auto* const bytes = static_cast<std::byte*>(given.address) + front(wanted.align);
            std::memcpy(bytes - sizeof(metadata_type), &given.metadata, sizeof(metadata_type));
            return bytes;
        } else {
            return given.address;
        }
    }

    /// Deallocates bytes that were allocated with the same layout. Does nothing for a null pointer.
    static void deallocate(Allocator& to, void* address, layout held) noexcept {
        if (address == nullptr) return;
        block_type whole{address, with_front(held).size, {}};
        if constexpr (has_metadata) {
            auto* const bytes = static_cast<std::byte*>(address);
            std::memcpy(&whole.metadata, bytes - sizeof(metadata_type), sizeof(metadata_type));
            whole.address = bytes - front(held.align);
        }
        to.deallocate(whole);
    }

private:
    /// Returns the number of bytes before the usable bytes.
    [[nodiscard]] static constexpr std::size_t front(std::size_t align) noexcept {
        return align_up(sizeof(metadata_type), align);
    }
    /// Returns the layout of the whole block. On overflow the size becomes the maximum, which no allocator can serve.
    [[nodiscard]] static constexpr layout with_front(layout wanted) noexcept {
        if (wanted.size == 0) wanted.size = 1;
        if constexpr (has_metadata) {
            if (!checked_add(wanted.size, front(wanted.align), wanted.size))
                wanted.size = std::numeric_limits<std::size_t>::max();
        }
        return wanted;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
