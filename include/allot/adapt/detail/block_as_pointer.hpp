// SPDX-License-Identifier: BSL-1.0
// block_as_pointer: converts blocks to pointers for the interfaces of the standard library and Boost.Container.
//
//     no metadata   │ usable bytes │                          the block, unchanged
//     metadata      │ … │ metadata │ usable bytes │           padded at the front, so that the usable bytes are aligned
//                   └──── front ────┘
//
// Internal: shared by memory_resource.hpp, std_allocator.hpp and their counterparts for Boost. Those interfaces pass an
// address, a size and an alignment to the deallocation. The size of the front part follows from the alignment, so it is
// not stored. A resize has no such size: `kept_size` keeps the size of each block next to its metadata.
//
// Complexity: that of the allocator.
// Memory: none if the metadata is empty (bump, pool, in-band records). Otherwise each block holds the metadata,
// rounded up to the alignment. The same holds for a kept size.
// Thread safety: that of the allocator.
#pragma once

#include <allot/adapt/bad_alloc.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/arena/misuse.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/detail/compiler.hpp>

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

/// Whether a pointer suffices to find the size of its block.
enum class kept_size : bool { no, yes };

/// The conversion for one type of allocator.
template <class Allocator, kept_size Size = kept_size::no>
class block_as_pointer {
    using block_type = block_of<Allocator>;
    using metadata_type = decltype(block_type::metadata);
    static constexpr bool has_size = Size == kept_size::yes;
    static constexpr bool has_metadata = !is_spare_metadata<metadata_type>;

public:
    /// The bytes before the usable bytes, for one alignment.
    [[nodiscard]] static constexpr std::size_t front(std::size_t align) noexcept { return align_up(kept_bytes, align); }

    /// Returns at least `wanted.size` bytes. A size of 0 is treated as 1. Throws allot::bad_alloc.
    [[nodiscard]] static void* allocate(Allocator& from, layout wanted) {
        const layout whole = with_front(wanted);
        const block_type given = from.allocate(whole);
        if (!given) throw_refusal(from, whole);
        return usable(given, wanted.align);
    }
    /// Returns at least `wanted.size` bytes, or nullptr.
    [[nodiscard]] static void* try_allocate(Allocator& from, layout wanted) noexcept {
        const block_type given = from.allocate(with_front(wanted));
        return given ? usable(given, wanted.align) : nullptr;
    }
    /// Returns the reason for which `try_allocate(from, wanted)` would fail.
    [[nodiscard]] static diagnosis diagnose(Allocator& from, layout wanted) noexcept {
        return from.diagnose(with_front(wanted));
    }

    /// Deallocates bytes that were allocated with the same layout. A kept size replaces that of the layout. Does
    /// nothing for a null pointer.
    static void deallocate(Allocator& to, void* address, layout held) noexcept {
        if (address == nullptr) return;
        to.deallocate(whole_block(address, held));
    }

    /// Returns the size of bytes that were allocated with a kept size.
    [[nodiscard]] static std::size_t size(void* address, std::size_t align) noexcept
        requires has_size
    {
        return kept_at(address).size - front(align);
    }
    /// Resizes bytes in place. Returns false and changes nothing on failure.
    [[nodiscard]] static bool resize(Allocator& of, void* address, layout wanted) noexcept
        requires has_size
    {
        block_type whole = whole_block(address, wanted);
        std::size_t bytes = 0;
        if (!checked_add(wanted.size, front(wanted.align), bytes) || !of.resize(whole, bytes)) return false;
        keep(whole, address);
        return true;
    }

private:
    /// Nothing to keep.
    struct nothing {};
    /// The metadata and the size of a block.
    struct kept {
        ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<has_metadata, metadata_type, nothing> metadata;
        std::size_t size;
    };
    static constexpr std::size_t kept_bytes = has_size ? sizeof(kept) : has_metadata ? sizeof(metadata_type) : 0;

    /// Returns the layout of the whole block. On overflow the size becomes the maximum, which no allocator can serve.
    [[nodiscard]] static constexpr layout with_front(layout wanted) noexcept {
        if (wanted.size == 0) wanted.size = 1;
        if constexpr (kept_bytes != 0) {
            if (!checked_add(wanted.size, front(wanted.align), wanted.size))
                wanted.size = std::numeric_limits<std::size_t>::max();
        }
        return wanted;
    }
    /// Returns the address of the usable bytes of a new block.
    [[nodiscard]] static void* usable(const block_type& given, std::size_t align) noexcept {
        if constexpr (kept_bytes != 0) {
            auto* const bytes = static_cast<std::byte*>(given.address) + front(align);
            keep(given, bytes);
            return bytes;
        } else {
            return given.address;
        }
    }
    /// Stores the metadata and the size of a block before its usable bytes.
    static void keep(const block_type& whole, void* address) noexcept {
        auto* const end = static_cast<std::byte*>(address);
        if constexpr (has_size) {
            kept values{{}, whole.size};
            if constexpr (has_metadata) values.metadata = whole.metadata;
            std::memcpy(end - sizeof(kept), &values, sizeof(kept));
        } else {
            std::memcpy(end - sizeof(metadata_type), &whole.metadata, sizeof(metadata_type));
        }
    }
    [[nodiscard]] static kept kept_at(void* address) noexcept {
        kept values;
        std::memcpy(&values, static_cast<std::byte*>(address) - sizeof(kept), sizeof(kept));
        return values;
    }
    /// Returns the block whose usable bytes begin at an address.
    [[nodiscard]] static block_type whole_block(void* address, layout held) noexcept {
        block_type whole{address, with_front(held).size, {}};
        if constexpr (kept_bytes != 0) whole.address = static_cast<std::byte*>(address) - front(held.align);
        if constexpr (has_size) {
            const kept values = kept_at(address);
            whole.size = values.size;
            if constexpr (has_metadata) whole.metadata = values.metadata;
        } else if constexpr (has_metadata) {
            const auto* const bytes = static_cast<const std::byte*>(address);
            std::memcpy(&whole.metadata, bytes - sizeof(metadata_type), sizeof(metadata_type));
        }
        return whole;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
