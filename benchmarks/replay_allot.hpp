// SPDX-License-Identifier: BSL-1.0
// The subjects of a replay that use allot.
#pragma once

#include "replay.hpp"

#include <allot/adapt/memory_resource.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>

namespace benchmarks {

/// An arena over host memory: blocks are pointers.
template <class Strategy, subject_group Group>
struct allot_arena {
    using arena = allot::arena<allot::host::buffer, Strategy>;
    using block = typename arena::block_type;
    static constexpr subject_group group = Group;
    static constexpr const char* honours = "as asked";
    static constexpr bool bounded = true, in_memory = true;
    allot_arena(std::uint64_t bytes, const allot::trace&) : on_{allot::host::buffer{host_memory(), bytes}} {}
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = on_.allocate({size, align});
        return static_cast<bool>(to);
    }
    void deallocate(const block& held, const allot::trace_operation&) { on_.deallocate(held); }
    static std::uint64_t position(const block& held) { return reinterpret_cast<std::uintptr_t>(held.address); }

protected:
    arena on_;
};

/// A strategy without an arena: blocks are offsets, and no memory is accessed.
template <class Strategy, subject_group Group>
struct allot_offsets {
    using block = allot::allocation_of<Strategy>;
    static constexpr subject_group group = Group;
    static constexpr const char* honours = "as asked";
    static constexpr bool bounded = true, in_memory = false;
    allot_offsets(std::uint64_t bytes, const allot::trace&) { on_.insert({0, bytes}); }
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = on_.allocate({size, align});
        return static_cast<bool>(to);
    }
    void deallocate(const block& held, const allot::trace_operation&) { on_.deallocate(held); }
    static std::uint64_t position(const block& held) { return held.where.offset; }

private:
    Strategy on_;
};

struct allot_bump : allot_arena<allot::bump<>, subject_group::bump> {
    static constexpr const char* name = "allot_bump";
    ALLOT_TYPE_TEXT(arena, allot::arena<allot::host::buffer, allot::bump<>>)
    static bool serves(const workload& of) { return of.drops; }
    using allot_arena::allot_arena;
    void reset() { on_.reset(); }
};

/// Pools need their slot size at compile time: the fixed sizes of the traces.
inline constexpr std::size_t most_slots = 65'536;

struct allot_pool : allot_arena<allot::pool<allot::pool_options{.slot = 64}>, subject_group::pool> {
    static constexpr const char* name = "allot_pool_in_band";
    ALLOT_TYPE_TEXT(arena, allot::arena<allot::host::buffer, allot::pool<allot::pool_options{.slot = 64}>>)
    static bool serves(const workload& of) { return of.size == 64; }
    using allot_arena::allot_arena;
};
template <std::size_t Slot, allot::pool_store Store>
struct allot_pool_beside
    : allot_offsets<allot::pool<allot::pool_options{.slot = Slot, .count = most_slots, .store = Store}, std::uint64_t>,
                    subject_group::pool_beside> {
    static constexpr const char* name =
        Store == allot::pool_store::bitmap ? "allot_pool_bitmap" : "allot_pool_index_stack";
    static std::string type() {
        return "allot::pool<allot::pool_options{.slot = " + std::to_string(Slot) +
               ", .count = " + std::to_string(most_slots) +
               ", .store = allot::pool_store::" + (Store == allot::pool_store::bitmap ? "bitmap" : "index_stack") +
               "}, std::uint64_t>";
    }
    static bool serves(const workload& of) { return of.size == Slot && of.trace.slots <= most_slots; }
    using allot_pool_beside::allot_offsets::allot_offsets;
};

struct allot_in_band : allot_arena<allot::best_fit<>, subject_group::best_fit> {
    static constexpr const char* name = "allot_in_band";
    ALLOT_TYPE_TEXT(arena, allot::arena<allot::host::buffer, allot::best_fit<>>)
    static bool serves(const workload& of) { return of.trace.peak <= most_in_memory; }
    using allot_arena::allot_arena;
};

struct allot_deferred : allot_arena<allot::deferred<allot::best_fit<>>, subject_group::best_fit> {
    static constexpr const char* name = "allot_deferred";
    ALLOT_TYPE_TEXT(arena, allot::arena<allot::host::buffer, allot::deferred<allot::best_fit<>>>)
    static bool serves(const workload& of) { return of.trace.peak <= most_in_memory; }
    using allot_arena::allot_arena;
};

/// Adaptors over an arena that grows, as a replacement of a pool resource.
template <bool Deferred>
struct allot_memory_resource : resource_subject<std::pmr::memory_resource> {
    static constexpr const char* name = Deferred ? "allot_deferred_memory_resource" : "allot_memory_resource";
    static std::string type() {
        return std::string{"allot::memory_resource<allot::arena<allot::host::heap, "} +
               (Deferred ? "allot::deferred<allot::best_fit<>>" : "allot::best_fit<>") +
               ", allot::growth::geometric<>>>";
    }
    allot_memory_resource(std::uint64_t, const allot::trace&) { call(resource_); }

private:
    using strategy = std::conditional_t<Deferred, allot::deferred<allot::best_fit<>>, allot::best_fit<>>;
    using growing_arena = allot::arena<allot::host::heap, strategy, allot::growth::geometric<>>;
    growing_arena memory_;
    allot::memory_resource<growing_arena> resource_{memory_};
};
/// Allocates units of 16 bytes, as a container does.
struct allot_deferred_std_allocator : heap_subject {
    struct alignas(16) unit {
        std::byte bytes[16];
    };
    static constexpr const char* name = "allot_deferred_std_allocator";
    static constexpr const char* honours = "16";
    static bool serves(const workload& of) { return heap_subject::serves(of) && of.trace.most_align <= 16; }
    static std::string type() {
        return "allot::std_allocator<T, allot::arena<allot::host::heap, allot::deferred<allot::best_fit<>>, "
               "allot::growth::geometric<>>>";
    }
    allot_deferred_std_allocator(std::uint64_t, const allot::trace&) {}
    bool allocate(std::uint64_t size, std::size_t, block& to) {
        to = from_.allocate(units(size));
        return true;
    }
    void deallocate(block held, const allot::trace_operation& of) {
        from_.deallocate(static_cast<unit*>(held), units(of.size));
    }

private:
    using growing_arena =
        allot::arena<allot::host::heap, allot::deferred<allot::best_fit<>>, allot::growth::geometric<>>;
    static constexpr std::size_t units(std::uint64_t size) { return (size + 15) / 16; }
    growing_arena memory_;
    allot::std_allocator<unit, growing_arena> from_{memory_};
};

struct allot_side_table
    : allot_offsets<allot::best_fit<allot::best_fit_options{}, std::uint64_t>, subject_group::best_fit_beside> {
    static constexpr const char* name = "allot_side_table";
    static std::string type() { return "allot::best_fit<allot::best_fit_options{}, std::uint64_t>"; }
    static bool serves(const workload&) { return true; }
    using allot_offsets::allot_offsets;
};
/// Sizes and offsets are multiples of the trace's least alignment. Two candidates pack tighter. The bound of offsets is
/// that of allocators with 32-bit offsets.
template <std::size_t Granule>
inline constexpr std::size_t four_bytes_of_granules = Granule * 0xFFFF'FFFFU;
template <std::size_t Granule, unsigned Candidates>
struct allot_side_table_granule
    : allot_offsets<allot::best_fit<allot::best_fit_options{.granule = Granule,
                                                            .candidates = Candidates,
                                                            .largest_offset = four_bytes_of_granules<Granule>},
                                    std::uint64_t>,
                    subject_group::best_fit_beside> {
    static constexpr const char* name = Candidates == 1 ? "allot_side_table_fast" : "allot_side_table_tight";
    static std::string type() {
        return "allot::best_fit<allot::best_fit_options{.granule = " + std::to_string(Granule) +
               ", .candidates = " + std::to_string(Candidates) +
               ", .largest_offset = " + std::to_string(four_bytes_of_granules<Granule>) + "}, std::uint64_t>";
    }
    static bool serves(const workload& of) { return Granule == (of.trace.least_align >= 256 ? 256 : 16); }
    using allot_side_table_granule::allot_offsets::allot_offsets;
};

}  // namespace benchmarks
