// SPDX-License-Identifier: BSL-1.0
// sharded: several equal allocators, of which each thread uses one, so that threads seldom wait for each other.
//
//     using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
//     using locked = allot::synchronized<arena, allot::spin_lock>;
//     allot::sharded<locked, 4, allot::host::current_processor> memory{[](std::size_t) {
//         return locked{arena{{}, 16_MiB}};                       // one for each number from 0 to 3
//     }};
//     auto block = memory.allocate({.size = 100});                // from the arena of the processor
//     memory.deallocate(block);                                   // to the arena of the block, from any thread
//     allot::per_thread<decltype(memory)&, allot::no_lock> cached{memory};  // with a thread_cache for each thread
//
//     processors        P0   P1   P2   P3
//                       │    │    │    └──────────────┐
//     shards          [ 0 ][ 1 ][ 2 ][ 3: full ]  ◄───┘
//                       ▲               │
//                       └─ P3 steals ───┘
//
// A request goes to the shard of the caller. If that is full, it goes to the next one, and fails if all are full. A
// block records its shard, and a deallocation goes there. A request cannot use free bytes of two shards together.
//
// `Processor` is a type whose `operator()` returns the number of the caller's processor, or any other number that
// differs between threads, as for page_tree. It affects speed only. `host::current_processor` asks Linux.
// `processor_by_stack` needs no operating system, and spreads threads best over an odd number of shards.
//
// When to use: several threads whose calls of one `synchronized` allocator wait for each other, or as the allocator of
// a `per_thread`. Shards with locks cannot be moved, so a per_thread refers to them: per_thread<sharded<locked, 4>&,
// no_lock>.
// When not to use: if one request may need most of the memory. For threads that allocate and free often: per_thread.
//
// Complexity: that of the allocator. A request that fails asks all shards.
// Memory: `Count` allocators at distances of 64 bytes. Each block holds the number of its shard.
// Thread safety: that of the allocator, whose calls must be allowed to overlap.
#pragma once

#include <allot/compose/detail/wrapper.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/page_tree.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// The metadata of a block of `sharded`: the metadata of its allocator, and the number of its shard.
template <class Inner>
struct sharded_metadata {
    ALLOT_NO_UNIQUE_ADDRESS Inner inner{};  ///< The metadata of the allocator.
    std::uint32_t shard = 0;                ///< The number of the shard.
    /// Constructs the metadata of an empty block.
    constexpr sharded_metadata() noexcept = default;
    /// Constructs the metadata from its members.
    constexpr sharded_metadata(Inner of_allocator, std::uint32_t of_shard) noexcept
        : inner{of_allocator}, shard{of_shard} {}
    /// Compares both members.
    friend constexpr bool operator==(const sharded_metadata&, const sharded_metadata&) = default;
};

/// `Count` allocators that threads share.
template <class Allocator, std::size_t Count, class Processor = processor_by_stack>
class sharded {
    static_assert(allocator_requirements<Allocator>());
    static_assert(!std::is_reference_v<Allocator>,
                  "allot: sharded owns its allocators: use an allocator, not a reference");
    static_assert(Count > 0 && Count < 0x1'0000'0000,
                  "allot: sharded needs at least one allocator: sharded<Allocator, 4>");
    static_assert(detail::is_concurrent<Allocator>(),
                  "allot: the threads of a sharded allocator call each of its allocators concurrently: use "
                  "sharded<synchronized<Arena, Lock>, N>, or arenas of page_tree");
    static_assert(std::is_nothrow_invocable_r_v<std::size_t, const Processor&> &&
                      std::is_nothrow_default_constructible_v<Processor>,
                  "allot: the third parameter of sharded returns the number of the caller's processor: "
                  "std::size_t operator()() const noexcept");
    using inner_block = block_of<Allocator>;

public:
    using inner_type = Allocator;                                             ///< The allocator of a shard.
    using address_model = typename Allocator::address_model;                  ///< The address model of the allocators.
    using metadata_type = sharded_metadata<decltype(inner_block::metadata)>;  ///< The metadata of a block.
    using block_type = block<decltype(inner_block::address), metadata_type>;  ///< The type of blocks.
    static constexpr bool host_accessible = Allocator::host_accessible;  ///< Whether the host can access the memory.
    static constexpr offset_use offsets = Allocator::offsets;            ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = Allocator::dl_device;    ///< The device type in DLPack.
    static constexpr reclaim reclaims = Allocator::reclaims;             ///< The order in which blocks become free.
    static constexpr bool concurrent = true;                             ///< Calls may overlap.

    /// Constructs the allocators with their default constructors.
    sharded() noexcept
        requires std::default_initializable<Allocator>
    = default;
    /// Constructs each allocator as the result of `make(number)`.
    template <class Make>
        requires std::same_as<std::invoke_result_t<Make&, std::size_t>, Allocator>
    explicit sharded(Make make) : sharded{make, std::make_index_sequence<Count>{}} {}

    /// Allocates from the caller's shard, or from the next one that is not full. Returns an empty block if all are
    /// full.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        for (std::size_t i = 0, at = mine(); i != Count; ++i, at = next(at))
            if (const inner_block given = shards_[at].one.allocate(wanted))
                return {given.address, given.size, {given.metadata, static_cast<std::uint32_t>(at)}};
        return {};
    }
    /// Deallocates an unchanged block in its shard. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (held) of(held).deallocate(inner(held));
    }
    /// Resizes a block in place, in its shard, and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<Allocator>
    {
        inner_block own = inner(held);
        if (!held || !of(held).resize(own, size)) return false;
        held.size = own.size;
        held.metadata.inner = own.metadata;
        return true;
    }
    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(const block_type& held) const noexcept
        requires measuring_allocator<Allocator>
    {
        return of(held).capacity(inner(held));
    }
    /// Returns true if the block is in the memory of its shard, live or not.
    [[nodiscard]] bool owns(const block_type& held) const noexcept
        requires owning<Allocator>
    {
        return held.metadata.shard < Count && of(held).owns(inner(held));
    }
    /// Returns whether this block is live. Misuse is reported. Only for hardened allocators.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires requires(const Allocator& one, inner_block block) { one.check(block); }
    {
        return of(held).check(inner(held));
    }
    /// Returns true if exactly this block is live. Reports nothing. Only for hardened allocators.
    [[nodiscard]] bool is_live(block_type held) const noexcept
        requires requires(const Allocator& one, inner_block block) { one.is_live(block); }
    {
        return of(held).is_live(inner(held));
    }
    /// Returns the number of bytes in all regions. Concurrent calls can invalidate the result.
    [[nodiscard]] std::size_t size() const noexcept
        requires sized_allocator<Allocator>
    {
        std::size_t sum = 0;
        for (const shard& each : shards_) sum += each.one.size();
        return sum;
    }
    /// Releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<Allocator>
    {
        std::size_t sum = 0;
        for (shard& each : shards_) sum += each.one.trim();
        return sum;
    }
    /// Frees every block, also those of other threads.
    void reset() noexcept
        requires resettable_allocator<Allocator>
    {
        for (shard& each : shards_) each.one.reset();
    }

    /// Returns the reason for which `allocate` would fail: that of the caller's shard, with the largest hole of all.
    /// Concurrent calls can invalidate the result.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        std::size_t at = mine();  // asked once, because the thread can move to another processor
        diagnosis found = shards_[at].one.diagnose(wanted);
        for (std::size_t i = 1; i != Count && found.reason != refusal::none; ++i) {
            at = next(at);
            const diagnosis other = shards_[at].one.diagnose(wanted);
            if (other.reason == refusal::none) return other;
            if (other.largest_hole > found.largest_hole) found.largest_hole = other.largest_hole;
        }
        return found;
    }

    /// Calls `f(address, size)` for every hole of all shards.
    template <class Function>
    void for_each_hole(Function f) const noexcept
        requires hole_walkable_allocator<Allocator>
    {
        for (const shard& each : shards_) each.one.for_each_hole(f);
    }
    /// Calls `f(address, size)` for every live block of all shards.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires block_walkable_allocator<Allocator>
    {
        for (const shard& each : shards_) each.one.for_each_block(f);
    }
    /// Returns the counters of all shards, added up. A request counts in each shard that it asked.
    [[nodiscard]] allocator_statistics statistics() const noexcept
        requires counting_allocator<Allocator>
    {
        allocator_statistics all;
        for (const shard& each : shards_) all += each.one.statistics();
        return all;
    }
    /// Calls `f(allocator)` for each shard.
    template <class Function>
    void for_each_part(Function f) {
        for (shard& each : shards_) f(each.one);
    }
    /// Calls `f(allocator)` for each shard, which is const.
    template <class Function>
    void for_each_part(Function f) const {
        for (const shard& each : shards_) f(each.one);
    }

private:
    // On a microcontroller there is one core, and no cache line moves.
    static constexpr std::size_t apart = is_microcontroller ? alignof(std::max_align_t) : 64;
    struct alignas(apart) shard {
        Allocator one;
    };

    template <class Make, std::size_t... I>
    sharded(Make& make, std::index_sequence<I...>) : shards_{shard{make(I)}...} {}

    [[nodiscard]] static std::size_t mine() noexcept { return Processor{}() % Count; }
    [[nodiscard]] static std::size_t next(std::size_t shard) noexcept { return shard + 1 == Count ? 0 : shard + 1; }
    [[nodiscard]] Allocator& of(const block_type& held) noexcept { return shards_[held.metadata.shard].one; }
    [[nodiscard]] const Allocator& of(const block_type& held) const noexcept {
        return shards_[held.metadata.shard].one;
    }
    [[nodiscard]] static inner_block inner(const block_type& held) noexcept {
        return {held.address, held.size, held.metadata.inner};
    }

    shard shards_[Count]{};
};

}  // namespace v1
}  // namespace allot
