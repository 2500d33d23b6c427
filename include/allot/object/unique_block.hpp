// SPDX-License-Identifier: BSL-1.0
// unique_block: owner of one block, which deallocates the block when the owner ends.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     auto frame = allot::allocate_unique(memory, {.size = 4096, .align = 64});
//     if (!frame) log(memory.diagnose({.size = 4096, .align = 64}).what());
//     auto moved = std::move(frame);                                               // frame is empty now
//
//     unique_block │ pointer to the allocator │ block: address, size, metadata │
//
// Works with every allocator, also for memory without pointers (OpenCL buffers, rows behind a table) and for blocks
// with metadata. The allocator must outlive the owner, at the same address. No call throws.
//
// When to use: for bytes with one owner, on any device.
// When not to use: for objects (use make_unique) and for blocks that end together (use scoped_mark or `reset`).
// Complexity: that of the allocator. Memory: one pointer and the block.
// Thread safety: an owner is not synchronized. Two owners may be used concurrently if their allocator may.
#pragma once

#include <allot/core/allocator.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Owner of a block of `Allocator`. Move-only. Empty if it owns no block.
template <class Allocator>
class [[nodiscard]] unique_block {
    static_assert(allocator_requirements<Allocator>());

public:
    using allocator_type = Allocator;                    ///< Type of the allocator.
    using block_type = block_of<Allocator>;              ///< Type of the block.
    using address_type = decltype(block_type::address);  ///< Type of the block's address.

    /// Owns no block.
    constexpr unique_block() noexcept = default;
    /// Takes ownership of `held`, a live block of `allocator` or an empty block.
    constexpr unique_block(Allocator& allocator, block_type held) noexcept : allocator_{&allocator}, held_{held} {}
    /// Takes the block of `other`, which is empty afterwards.
    constexpr unique_block(unique_block&& other) noexcept : allocator_{other.allocator_}, held_{other.release()} {}
    /// Deallocates the current block and takes the block of `other`, which is empty afterwards.
    constexpr unique_block& operator=(unique_block&& other) noexcept {
        unique_block taken{std::move(other)};
        std::swap(allocator_, taken.allocator_);
        std::swap(held_, taken.held_);
        return *this;
    }
    /// Deallocates the block.
    constexpr ~unique_block() { reset(); }

    /// Returns true if a block is owned.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return static_cast<bool>(held_); }
    /// Returns the block, which stays owned.
    [[nodiscard]] constexpr const block_type& get() const noexcept { return held_; }
    /// Returns the address of the block.
    [[nodiscard]] constexpr address_type address() const noexcept { return held_.address; }
    /// Returns the size of the block in bytes; 0 if no block is owned.
    [[nodiscard]] constexpr std::size_t size() const noexcept { return held_.size; }
    /// Returns the allocator of the block; nullptr if none was given.
    [[nodiscard]] constexpr Allocator* allocator() const noexcept { return allocator_; }

    /// Returns the block and gives up its ownership: the caller deallocates it.
    [[nodiscard]] constexpr block_type release() noexcept { return std::exchange(held_, block_type{}); }
    /// Deallocates the block. The owner is empty afterwards.
    constexpr void reset() noexcept {
        if (held_) allocator_->deallocate(release());
    }

private:
    Allocator* allocator_ = nullptr;
    block_type held_{};
};

/// Allocates a block and returns its owner, which is empty if the allocation failed; `allocator.diagnose(wanted)`
/// reports the reason.
template <class Allocator>
[[nodiscard]] constexpr unique_block<Allocator> allocate_unique(Allocator& allocator, layout wanted) noexcept {
    static_assert(allocator_requirements<Allocator>());
    return unique_block<Allocator>{allocator, allocator.allocate(wanted)};
}

}  // namespace v1
}  // namespace allot
