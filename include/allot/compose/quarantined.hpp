// SPDX-License-Identifier: BSL-1.0
// quarantined: an allocator that frees blocks later, so that a use of a freed block does not reach a new block.
//
//     allot::quarantined<allot::arena<allot::host::heap, allot::best_fit<>>> memory{{{}, 16_MiB}};
//     auto block = memory.allocate({.size = 100});
//     memory.deallocate(block);                        // the block waits
//     static_cast<char*>(block.address)[5] = 1;        // reported when the block is freed: misuse::written_after_free
//
//     deallocate ──► ├ newest │ … │ oldest ┤ ──► allocator     at most quarantine_options::bytes wait
//
// A block waits until newer freed blocks exceed the limit. All waiting blocks are freed, oldest first, if a request
// fails (the request is then repeated), and by `flush`, `trim`, `mark`, `rollback` and the destructor. `reset` frees
// them with all others.
//
// If the host can access the memory, a waiting block is filled with the byte 0xDD. A byte that changed until the block
// is freed is reported to the misuse handler (arena/misuse.hpp); if the handler returns, the block is freed.
//
// When to use: to find writes to freed blocks in a test or a release build, and to make such bugs harmless more often.
// When not to use: to find reads of freed blocks. Use a sanitizer. With little memory: freed bytes stay in use.
//
// A quarantined allocator has every ability of its allocator. A stack frees its newest block first, so it does not
// compile. Counters of an allocator inside count waiting blocks as live: write `counted<quarantined<Arena>>`.
// `diagnose` frees the waiting blocks if a request would fail with them. A hardened allocator reports a block that is
// freed twice when the block leaves the quarantine for the second time. A block that it reports and does not free,
// because it is out of order in a ring or a record next to it is damaged, waits as the newest block, and is tried
// again.
//
// Complexity: O(size of the block) for `deallocate` if it fills the block, O(1) otherwise, in addition to the
// complexity of the allocator. `for_each_block` is O(live * waiting).
// Memory: about 32 bytes for each waiting block, on the heap, or inside the object if `quarantine_options::blocks` is a
// fixed number. If the table is full, the oldest block is freed.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/arena/misuse.hpp>
#include <allot/compose/detail/forwarding.hpp>
#include <allot/compose/detail/kept_blocks.hpp>
#include <allot/core/detail/sanitizer.hpp>

#include <cstring>

namespace allot {
inline namespace v1 {

/// The options of `quarantined`.
struct quarantine_options {
    /// The largest number of bytes that wait.
    std::size_t bytes = std::size_t{1} << 18U;
    /// The largest number of blocks that wait. 0: limited by `bytes` only; the table is on the heap.
    std::size_t blocks = 0;
    /// Whether waiting blocks are filled and checked, where the host can access them.
    bool fill = true;
};

/// An allocator whose freed blocks wait. `OnMisuse` is the type that handles misuses.
template <class Allocator, quarantine_options Options = quarantine_options{}, class OnMisuse = abort_on_misuse>
class quarantined : public detail::forwarding<Allocator> {
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;
    static_assert(allocator_type::reclaims != reclaim::lifo,
                  "allot: quarantined frees the oldest block first, which a stack does not support: use best_fit, pool "
                  "or ring");

public:
    using base::base;
    using typename base::block_type;

    /// Moves the allocator and the waiting blocks.
    quarantined(quarantined&&) noexcept = default;
    quarantined& operator=(quarantined&&) = delete;
    /// Frees the waiting blocks.
    ~quarantined() { flush(); }

    /// Allocates a block, after all waiting blocks are freed if necessary. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        const block_type given = inner_.allocate(wanted);
        return given || !flush() ? given : inner_.allocate(wanted);
    }
    /// Allocates exactly these bytes, after all waiting blocks are freed if necessary. Returns an empty block if they
    /// are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        const block_type given = inner_.allocate_at(wanted);
        return given || !flush() ? given : inner_.allocate_at(wanted);
    }
    /// Lets an unchanged block wait, and frees the oldest blocks above the limit. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!this->is_freeable(held)) return;
        if (!kept_.room() && !waiting_.is_empty()) release_oldest();
        if (!kept_.room()) return inner_.deallocate(held);  // the heap is exhausted, or the allocator keeps the oldest
        wait(held);
        release_above(Options.bytes);
    }
    /// Frees all waiting blocks, then releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<allocator_type>
    {
        flush();
        return inner_.trim();
    }
    /// Frees every block, including the waiting ones.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        while (!waiting_.is_empty()) take_oldest();
        inner_.reset();
    }
    /// Frees all waiting blocks and returns a mark for `rollback`. Keep it in a variable of type `auto`.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<allocator_type>
    {
        flush();
        return inner_.mark();
    }
    /// Frees every block that was allocated since the mark, and all waiting blocks. Precondition: the mark is from this
    /// allocator and is valid. Returns false and frees only waiting blocks if a hardened allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(Mark mark) noexcept {
        flush();
        if (!this->roll_back(mark)) return false;
        forget_freed();
        return true;
    }
    /// Releases the memory that was acquired since `held()`, after all waiting blocks are freed.
    template <class Held>
        requires requires(allocator_type& of, const Held& to) { of.shrink_to(to); }
    void shrink_to(const Held& to) noexcept {
        flush();
        inner_.shrink_to(to);
    }

    /// Frees all waiting blocks, oldest first. Returns true if a block waited.
    bool flush() noexcept {
        if (waiting_.is_empty()) return false;
        release_above(0);
        return true;
    }
    /// Returns the number of bytes that wait.
    [[nodiscard]] std::size_t waiting() const noexcept { return bytes_.value; }

    /// Returns true if exactly this block is live and does not wait. Reports nothing. Only for a hardened allocator.
    [[nodiscard]] bool is_live(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.is_live(held); }
    {
        if (!waiting_.is_empty() && kept_.back(waiting_).address == held.address) return false;  // the newest
        return inner_.is_live(held) && !kept_.contains(held.address);
    }
    /// Returns the reason for which `allocate` would fail. Frees all waiting blocks if it would fail with them.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        const diagnosis found = inner_.diagnose(wanted);
        return found.reason == refusal::none || !flush() ? found : inner_.diagnose(wanted);
    }
    /// Returns the reason for which `allocate_at` would fail. Frees all waiting blocks if it would fail with them.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        const diagnosis found = inner_.diagnose_at(wanted);
        return found.reason == refusal::none || !flush() ? found : inner_.diagnose_at(wanted);
    }
    /// Calls `f(address, size)` for every live block, without the waiting ones.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires block_walkable_allocator<allocator_type>
    {
        inner_.for_each_block([&](const auto& address, std::size_t size) {
            if (!kept_.contains(address)) f(address, size);
        });
    }

private:
    /// Whether a memory checker learns which bytes wait, because it knows those of the allocator inside.
    static constexpr bool annotated = requires { requires allocator_type::annotated; };
    static constexpr unsigned char filling = 0xDD;
    static constexpr bool fills = Options.fill && allocator_type::host_accessible &&
                                  std::same_as<typename allocator_type::address_model, raw_pointer>;

    /// Removes the oldest block from the list, checks its bytes and returns it. Returns an empty block if the allocator
    /// reports that the block is not live. Precondition: a block waits.
    block_type take_oldest() noexcept {
        const block_type held = kept_.pop_front(waiting_);
        bytes_.value -= held.size;
        if constexpr (annotated) detail::sanitizer::permit(held.address, held.size, false);
        if (!this->is_freeable(held)) return {};
        if constexpr (fills) {
            const auto* const bytes = static_cast<const unsigned char*>(held.address);
            std::size_t same = 0;
            while (same != held.size && bytes[same] == filling) ++same;
            if (same != held.size)
                detail::report<OnMisuse>(misuse::written_after_free, raw_pointer::position(held.address), held.size);
        }
        return held;
    }
    /// Frees the oldest block. Returns false if a hardened allocator reports a misuse and keeps the block. The block
    /// then waits as the newest.
    bool release_oldest() noexcept {
        const block_type held = take_oldest();
        if (!held || this->give_back(held)) return true;
        wait(held);
        return false;
    }
    /// Frees the oldest blocks until at most `limit` bytes wait. Blocks that the allocator keeps are tried again after
    /// another block was freed, because a ring frees them in its order.
    void release_above(std::size_t limit) noexcept {
        std::size_t refused = 0;  // bytes that were tried since a block was freed
        while (bytes_.value > limit && refused < bytes_.value) {
            const std::size_t size = kept_.front(waiting_).size;
            refused = release_oldest() ? 0 : refused + size;
        }
    }
    /// Removes the blocks that `rollback` freed. Only a hardened allocator can have kept blocks.
    void forget_freed() noexcept {
        if constexpr (requires(const allocator_type& of, block_type held) { of.is_live(held); }) {
            for (std::size_t left = bytes_.value; left != 0;) {
                const block_type held = kept_.pop_front(waiting_);
                bytes_.value -= held.size;
                left -= held.size;
                if (inner_.is_live(held)) {
                    kept_.push_back(waiting_, held);
                    bytes_.value += held.size;
                }
            }
        }
    }
    void wait(const block_type& held) noexcept {
        if constexpr (fills) std::memset(held.address, filling, held.size);
        if constexpr (annotated) detail::sanitizer::forbid(held.address, held.size);
        kept_.push_back(waiting_, held);
        bytes_.value += held.size;
    }

    detail::kept_blocks<block_type, Options.blocks> kept_;
    detail::kept_list waiting_;
    detail::moved_value<std::size_t> bytes_;
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
quarantined(Allocator&&) -> quarantined<Allocator>;

}  // namespace v1
}  // namespace allot
