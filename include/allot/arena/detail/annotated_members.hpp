// SPDX-License-Identifier: BSL-1.0
// annotated_members: the members of an arena's regions, with statements to memory checkers (core/detail/sanitizer.hpp).
//
//     region acquired ─► forbidden         block allocated ─► permitted         region released ─► permitted
//     region extended ─► new end forbidden block freed     ─► forbidden         rollback        ─► holes forbidden
//
// Internal. A build without a memory checker does not use this class. The destructor permits all bytes before the base
// class releases them, because their next owner knows nothing of the arena.
//
// Blocks are forbidden before the strategy frees them. Another thread may allocate them at once.
//
// Complexity: that of core/detail/sanitizer.hpp. Memory: none.
//
// Thread safety: that of the strategy.
#pragma once

#include <allot/core/detail/sanitizer.hpp>
#include <allot/core/strategy.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Members of regions in memory with host pointers. `Fresh` is true if the bytes of a new block are undefined.
template <class Members, bool Fresh>
class annotated_members : public Members {
public:
    using Members::Members;
    annotated_members(const annotated_members&) = delete;
    annotated_members& operator=(const annotated_members&) = delete;
    ~annotated_members() {
        sanitizer::end_pool(this);  // first, because it forbids the live blocks
        for (std::size_t i = 0; i != Members::space_type::capacity; ++i) note_release(this->space_.regions[i]);
    }

protected:
    using region_type = typename Members::space_type::region_type;

    void note_move(const annotated_members& from) noexcept { sanitizer::move_pool(&from, this); }

    void note_region(const region_type& fresh) noexcept {
        if constexpr (has_pool) sanitizer::begin_pool(this);
        sanitizer::forbid(fresh.base, fresh.size);
    }
    /// States that a region goes back to the device, or its end from `kept` on.
    static void note_release(const region_type& held, std::size_t kept = 0) noexcept {
        if (held.size > kept) sanitizer::permit(bytes(held.base) + kept, held.size - kept, false);
    }
    /// States that the end of a region from `had` on is free.
    static void note_extension(const region_type& held, std::size_t had) noexcept {
        if (held.size > had) sanitizer::forbid(bytes(held.base) + had, held.size - had);
    }

    template <class Block>
    void note_block(const Block& fresh) noexcept {
        sanitizer::add_block(pool(), fresh.address, fresh.size, Fresh);
    }
    /// Returns false, after a report, if the block is not live.
    template <class Block>
    [[nodiscard]] bool is_live(const Block& held) const noexcept {
        if (!sanitizer::is_forbidden(held.address, held.size)) return true;
        sanitizer::freed_block_that_is_not_live(pool(), held.address, held.size);
        return false;
    }
    template <class Block>
    void note_freed(const Block& held, std::size_t room) noexcept {
        sanitizer::remove_block(pool(), held.address, room);
    }
    template <class Block>
    void note_resized(const Block& held, std::size_t room, std::size_t size) noexcept {
        if (room > held.size && room > size) sanitizer::forbid(bytes(held.address) + held.size, room - held.size);
        sanitizer::change_block(pool(), held.address, held.size, size, Fresh);
    }
    /// States that the caller may use all bytes of a block, because it asks for their number.
    template <class Block>
    void note_capacity(const Block& held, std::size_t room) const noexcept {
        if (room > held.size) sanitizer::change_block(pool(), held.address, held.size, room, Fresh);
    }

    /// States that no region from `first` on has a block.
    void note_unused(std::size_t first) noexcept {
        for (std::size_t i = first; i < Members::space_type::capacity; ++i)
            if (const region_type held = this->space_.regions[i]) sanitizer::forbid(held.base, held.size);
        if (first == 0) sanitizer::clear_pool(this);
    }
    /// States that the holes in a region are free, after a rollback. Offsets are addresses.
    void note_holes(std::size_t region) noexcept {
        this->strategy_.for_each_hole(this->space_.extent(region), [](const auto& hole) {
            sanitizer::forbid(addressed_memory::at(hole.offset), static_cast<std::size_t>(hole.size));
        });
    }

private:
    // Valgrind cannot forget the blocks that a rollback frees.
    static constexpr bool has_pool = !requires(Members& of) { of.strategy_.mark(); };

    [[nodiscard]] const void* pool() const noexcept { return has_pool ? this : nullptr; }
    [[nodiscard]] static const std::byte* bytes(const void* at) noexcept { return static_cast<const std::byte*>(at); }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
