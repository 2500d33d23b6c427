// SPDX-License-Identifier: BSL-1.0
// block_as_pointer: blocks as the standard's interfaces pass them, which know an address, a size and an alignment, and
// nothing more. What memory_resource.hpp and std_allocator.hpp share.
//
//     no metadata   │ what the caller uses │                     the block, as it is
//     metadata      │ … │ metadata │ what the caller uses │        in front; filled up so that the rest is aligned as asked
//                 └──── front ────┘
//
// How much lies in front follows from the alignment, which comes back with the pointer: nothing else is stored.
//
// Complexity: the allocator's. Memory: nothing where the metadata is empty (bump, pool, records in band); otherwise the
// metadata, rounded up to the alignment, in every block. Thread safety: the allocator's.
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

/// True when blocks can be passed so. Otherwise it does not compile, and one sentence says what to change.
template <class Allocator>
consteval bool pointer_requirements() {
    if constexpr (!allocator<Allocator>) {
        return allocator_requirements<Allocator>();
    } else if constexpr (!std::same_as<typename Allocator::address_model, raw_pointer>) {
        static_assert(!sizeof(Allocator), "allot: the standard's interfaces hand out pointers: use an allocator of memory "
                                          "that has addresses");
    } else if constexpr (!Allocator::host_accessible) {
        static_assert(!sizeof(Allocator), "allot: who asks through the standard's interfaces writes to what it gets: use "
                                          "an allocator of memory that the host can touch");
    } else if constexpr (Allocator::reclaims == reclaim::lifo || Allocator::reclaims == reclaim::fifo) {
        static_assert(!sizeof(Allocator), "allot: containers give blocks back in any order, which a stack or a ring does "
                                          "not take: use best_fit or pool, or bump, which takes none back before its reset");
    }
    return true;
}

template <class Allocator>
class block_as_pointer {
    using block_type = block_of<Allocator>;
    using metadata_type = decltype(block_type::metadata);
    static constexpr bool has_metadata = !is_spare_metadata<metadata_type>;

public:
    /// At least `wanted.size` bytes; a size of 0 is served as 1. Throws allot::bad_alloc.
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

    /// Takes back what was asked for with this layout. A null pointer is fine.
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
    /// Bytes in front of what the caller uses.
    [[nodiscard]] static constexpr std::size_t front(std::size_t align) noexcept {
        return align_up(sizeof(metadata_type), align);
    }
    /// What the allocator is asked for. A size that does not fit becomes one that no allocator has.
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
