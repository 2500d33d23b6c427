// SPDX-License-Identifier: BSL-1.0
// address_heap: a heap with the calls of malloc: threads allocate, free, measure and resize blocks by address.
//
//     struct make_arena {
//         using strategy = allot::best_fit<allot::best_fit_options{.unlocked_capacity = true}>;
//         using arena = allot::arena<allot::host::virtual_memory, strategy, allot::growth::contiguous<>,
//                                    allot::arena_options{.annotate = false}>;
//         arena operator()(std::size_t) const noexcept { return arena{allot::host::virtual_memory{64_GiB}}; }
//     };
//     static constinit allot::address_heap<make_arena, allot::host::fork_lock> heap{};
//     thread_local constinit allot::address_cache<> mine;
//
//     void* block = heap.allocate(mine, {.size = 100});
//     block = heap.reallocate(mine, block, 200);                  // any thread, with its cache
//     heap.deallocate(mine, block);
//
//     thread 1: address_cache ─┐            ┌─ address_cache :thread 2
//               small blocks   ▼ batches    ▼
//                         [ arena 0 ]  [ arena 1 ] …  [ spare ]    a lock and a range of addresses for each
//
// Threads start with the first arena, and move to another one when they share theirs and often find it locked. Small
// blocks stay in the cache of the thread that frees them, and move to and from the arenas in batches. A block goes back
// to the arena whose addresses contain it. Other blocks use the arenas directly. Arenas are constructed when a thread
// first needs them.
//
// With a type `slab_space` in the maker, such as host::address_space, blocks of up to 1,024 bytes come from slabs of
// 64 KiB. A slab has blocks of one size without records, so that a program reads fewer cache lines. The caches then
// have `address_cache_options::slabs`. Other blocks come from the arenas.
//
// With a type `mapping_space` in the maker, such as host::address_space, a block of at least 128 KiB that `reallocate`
// must move gets a mapping of its own. When it grows again, the system moves its pages without a copy.
//
// Freed blocks of at least `discard` bytes lose their pages, and large holes lose them when enough became dirty
// (discard_holes.hpp). `allocate_zeroed` does not write pages that were never used.
//
// A fork: call `before_fork`, fork, and `after_fork_in_parent` or `after_fork_in_child`, as handlers of pthread_atfork
// do. No thread waits for an arena during the fork. Requests then use a spare arena, and freed blocks wait in a list
// without a lock. A signal handler may fork while its thread is in a call. In the child, the blocks in the caches of
// the other threads are lost.
//
// Checks need no heap: `address_cache_options::checks` marks freed blocks in caches and slabs, and
// `address_heap_options::checks` compares the records around a block that goes to its arena. A block that is freed
// twice, a foreign address, and a record that was overwritten are reported to `OnMisuse`.
//
// When to use: to replace malloc, or as the heap of a language's run time.
// When not to use: where callers keep blocks: an arena, per_thread or sharded need no record for the address.
//
// Complexity: O(1) for blocks in a cache. Otherwise that of the arena under its lock; O(arenas) to find the arena.
// Memory: the arenas; the caches; 32 bytes for each slab, and 65 GiB of addresses if there are slabs; the rest of a
// page for each block with its own mapping.
// Thread safety: all functions can be called concurrently, each thread with its own cache. `capacity` reads the record
// of a live block without the lock, atomically: other threads change only flags in that word (in_band.hpp).
#pragma once

#include <allot/arena/misuse.hpp>
#include <allot/compose/address_cache.hpp>
#include <allot/compose/detail/heap_arenas.hpp>
#include <allot/compose/detail/heap_mappings.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {

/// The options of `address_heap`.
struct address_heap_options {
    std::size_t arenas = 16;  ///< The number of arenas.
    std::size_t spares = 4;   ///< The number of arenas for requests during a fork.
    /// Whether blocks that go to an arena are checked when they are freed. With slabs, `address_cache_options::checks`
    /// has the same value.
    bool checks = false;
    std::size_t discard = std::size_t{1} << 17U;  ///< The smallest freed block that loses its pages, in bytes.
};

/// The counters of an `address_heap`. Blocks in caches count as used.
struct address_heap_statistics {
    std::size_t held = 0;      ///< Bytes of the regions.
    std::size_t free = 0;      ///< Bytes in holes.
    std::size_t holes = 0;     ///< The number of holes.
    std::size_t arenas = 0;    ///< The number of arenas with a region.
    std::size_t top = 0;       ///< Bytes of the largest hole.
    std::size_t mappings = 0;  ///< The number of blocks with their own mappings.
    std::size_t mapped = 0;    ///< Bytes of these mappings.
};

/// A heap of arenas that threads share. `Make` returns the arena of a number: `Arena operator()(std::size_t) const`.
/// `OnMisuse` handles misuses (arena/misuse.hpp).
template <class Make, class Lock, auto Options = address_heap_options{}, class OnMisuse = abort_on_misuse>
class address_heap {
    using arena_type = std::invoke_result_t<const Make&, std::size_t>;
    static_assert(finds_blocks_by_address<arena_type>,
                  "allot: address_heap frees by address: use arenas of best_fit in memory that the host can access, "
                  "without hardening");
    static_assert(detail::has_unlocked_capacity<typename arena_type::strategy_type>,
                  "allot: address_heap measures blocks without a lock: use "
                  "best_fit<best_fit_options{.unlocked_capacity = true}>");
    static_assert(sizeof(typename arena_type::strategy_type::offset_type) == sizeof(void*));  // as in all such arenas
    static_assert(Options.arenas > 0 && Options.arenas <= 64 && Options.spares > 0,
                  "allot: address_heap has 1 to 64 arenas, and at least one spare: address_heap_options{.arenas = 16, "
                  ".spares = 4}");
    static constexpr std::size_t own = Options.arenas, count = own + Options.spares;
    using source = detail::heap_source<Make>;
    using shard = detail::heap_shard<arena_type, Lock, Options.discard, source>;
    static constexpr std::uint32_t patience = 8;  // after that many waits a thread that shares its arena moves
    using arenas = detail::heap_arenas<shard, source, own, count, patience>;
    using nodes = detail::in_band_nodes<typename arena_type::strategy_type::offset_type, addressed_memory, true>;
    using mappings = typename detail::mapped_blocks_of<Make, nodes>::type;
    using waiting_block = detail::waiting_block;

    static constexpr std::size_t kept_align = 2 * sizeof(void*);  // of every block in a cache

    template <class Cache>
    [[nodiscard]] static consteval bool is_cache_of_heap() noexcept {
        static_assert(Cache::has_slabs == source::has_slabs,
                      "allot: a heap whose maker has a slab_space needs address_cache_options{.slabs = true}, and no "
                      "other heap does");
        static_assert(!source::has_slabs || Cache::checks == Options.checks,
                      "allot: with slabs, address_cache_options::checks must equal address_heap_options::checks: "
                      "otherwise a cache leaves the marks of freed blocks in those that it allocates");
        return true;
    }

public:
    /// Constructs a heap without arenas.
    constexpr explicit address_heap(Make make = {}) noexcept : source_{make} {}

    /// Allocates a block. Returns null on failure, or if the size is 0.
    template <class Cache>
    [[nodiscard]] void* allocate(Cache& cache, layout wanted) noexcept {
        static_assert(is_cache_of_heap<Cache>());
        if (wanted.align <= kept_align && wanted.size <= Cache::largest && wanted.size != 0) {
            void* const kept = cache.take(wanted.size);
            return kept != nullptr ? kept : refill(cache, wanted.size);
        }
        if (wanted.align <= kept_align && cache.medium_.accepts(wanted.size))
            if (void* const kept = cache.medium_.take(wanted.size)) return kept;
        return allocate_directly(cache, [&](shard& from) { return from.allocate(wanted); });
    }
    /// Allocates a block of zeros. Returns null on failure, or if the size is 0.
    template <class Cache>
    [[nodiscard]] void* allocate_zeroed(Cache& cache, std::size_t size) noexcept {
        void* given = nullptr;
        if (size <= Cache::largest) given = allocate(cache, {.size = size});
        else if (cache.medium_.accepts(size)) given = cache.medium_.take(size);
        if (given != nullptr) return std::memset(given, 0, size);
        if (size <= Cache::largest) return nullptr;
        return allocate_directly(cache, [&](shard& from) { return from.allocate_zeroed({.size = size}); });
    }
    /// Frees a block. Does nothing for a null pointer.
    template <class Cache>
    void deallocate(Cache& cache, void* address) noexcept {
        static_assert(is_cache_of_heap<Cache>());
        if (address == nullptr) return;
        const std::size_t room = capacity(address), list = Cache::list_of(room);
        // A cache with larger lists can have allocated a block of this size in a slab.
        if (cache.medium_.accepts(room) && !is_in_slab(address)) return keep_medium(cache, address, room);
        // Beside slabs, few small blocks have records. These are compared, because a foreign record can state a small
        // size.
        if (Options.checks && source::has_slabs && !is_in_slab(address)) return deallocate(address);
        if (room > Cache::largest) return deallocate(address);
        if (cache.is_suspicious(address) && is_misused(cache, address, list)) return;
        if (cache.lists_[list].room == 0 && !cache.raise(list))
            free_chain(cache.cut(list, cache.lists_[list].limit / 2));
        cache.add(cache.lists_[list], address);
    }
    /// Frees a block without a cache. Does nothing for a null pointer.
    void deallocate(void* address) noexcept {
        if (address == nullptr) return;
        const std::size_t at = find(address);
        if (at == count) return deallocate_outside(address);
        if (shards_[at].enter(source_, at)) {
            const bool sound = !Options.checks || shards_[at].is_sound(source_, address);
            if (sound) shards_[at].deallocate(source_, address);
            shards_[at].leave();
            if (!sound) detail::report<OnMisuse>(misuse::not_live, raw_pointer::position(address), 0);
        } else {
            shards_[at].give_back(address);
        }
    }
    /// Moves or resizes a block, and keeps its bytes. Returns null and keeps the block on failure. Allocates for a null
    /// pointer. Precondition: the size is not 0.
    template <class Cache>
    [[nodiscard]] void* reallocate(Cache& cache, void* address, std::size_t size) noexcept {
        if (address == nullptr) return allocate(cache, {.size = size});
        const std::size_t room = capacity(address);
        if (size <= room && size + room / 4 + 2 * sizeof(void*) >= room) return address;
        if constexpr (mappings::exist) {
            if (room >= mappings::least)
                if (void* const found = reallocate_large(address, room, size)) return found;
        }
        if ((room > Cache::largest || size > Cache::largest) && resize(address, size)) return address;
        void* const moved = allocate(cache, {.size = size});
        if (moved == nullptr) return size <= room ? address : nullptr;
        std::memcpy(moved, address, size < room ? size : room);
        deallocate(cache, address);
        return moved;
    }
    /// Resizes a block in place. Returns false and changes nothing on failure, and for a block with its own mapping.
    [[nodiscard]] bool resize(void* address, std::size_t size) noexcept {
        if (is_in_slab(address)) return size != 0 && size <= capacity(address);
        const std::size_t at = find(address);
        if (at == count || !shards_[at].enter(source_, at)) return false;
        const bool done = shards_[at].resize(address, size);
        shards_[at].leave();
        return done;
    }
    /// Returns the usable bytes of a live block.
    [[nodiscard]] ALLOT_INLINE std::size_t capacity(const void* address) const noexcept {
        if constexpr (source::has_slabs) {
            if (source_.slabs.contains(address)) return source_.slabs.of(address).size;
        }
        return block_at(shards_[0].arena(), const_cast<void*>(address)).size;
    }
    /// Returns true if the address is in the reserved addresses of the heap, live or not, or if it is that of a live
    /// block with its own mapping. Precondition: the 64 bytes before the address are readable, if the maker has a
    /// `mapping_space`.
    [[nodiscard]] bool owns(const void* address) const noexcept { return find(address) != count || is_mapped(address); }

    /// Frees the blocks of a cache in their arenas. The limits of its lists are zero again, and its thread uses the
    /// first arena. Returns true if there was a block.
    template <class Cache>
    bool flush(Cache& cache) noexcept {
        bool any = false;
        while (void* const chain = cache.medium_.cut()) {
            any = true;
            free_chain(chain, true);
        }
        for (std::size_t i = 0; i != Cache::count; ++i) {
            void* const chain = cache.cut(i, 0);
            cache.lists_[i] = {};
            any |= chain != nullptr;
            free_chain(chain);
        }
        shards_.leave_home(cache.home_);
        return any;
    }
    /// Discards the pages inside holes of at least `threshold` bytes. Returns the number of bytes.
    std::size_t trim(std::size_t threshold) noexcept {
        std::size_t bytes = 0;
        shards_.for_each_used(source_, [&](shard& each) { bytes += each.trim(source_, threshold); });
        return bytes;
    }
    /// Returns the counters. O(blocks).
    [[nodiscard]] address_heap_statistics statistics() noexcept {
        address_heap_statistics all;
        shards_.for_each_used(source_, [&](shard& each) {
            ++all.arenas;
            all.held += each.arena().size();
            if constexpr (source::has_slabs) {
                const std::size_t slabs = each.slabs().count(), bytes = slabs * detail::slab::bytes;
                all.held += bytes;
                all.free += bytes - each.slabs().live();
                all.holes += slabs;
            }
            each.arena().for_each_hole([&](const void*, std::size_t size) {
                ++all.holes;
                all.free += size;
                if (size > all.top) all.top = size;
            });
        });
        if constexpr (mappings::exist) {
            all.mappings = mappings_.count();
            all.mapped = mappings_.bytes();
        }
        return all;
    }

    /// Waits until no thread is in an arena, except the calling one, and makes the others use a spare arena.
    void before_fork() noexcept { shards_.before_fork(); }
    /// Ends `before_fork` in the process that forked.
    void after_fork_in_parent() noexcept { shards_.after_fork_in_parent(); }
    /// Ends `before_fork` in the child. A spare arena that another thread was in is not used again.
    void after_fork_in_child() noexcept { shards_.after_fork_in_child(); }

private:
    [[nodiscard]] bool is_in_slab([[maybe_unused]] const void* address) const noexcept {
        if constexpr (source::has_slabs) return source_.slabs.contains(address);
        else return false;
    }
    /// Returns the number of the arena whose addresses contain `address`, or `count`.
    [[nodiscard]] std::size_t find(const void* address) const noexcept {
        if constexpr (source::has_slabs) {
            if (source_.slabs.contains(address)) return source_.slabs.of(address).shard;
        }
        return shards_.find(address);
    }
    [[nodiscard]] bool is_mapped([[maybe_unused]] const void* address) const noexcept {
        if constexpr (mappings::exist) return mappings_.contains(address);
        else return false;
    }
    /// Frees a block outside of the arenas: one with its own mapping. Reports other addresses.
    ALLOT_NOINLINE void deallocate_outside(void* address) noexcept {
        if constexpr (mappings::exist) {
            if (is_mapped(address)) return mappings_.deallocate(address);
        }
        detail::report<OnMisuse>(misuse::foreign_block, raw_pointer::position(address), 0);
    }
    /// Resizes a block with its own mapping, or a block that grows, and then has one if it must move. Returns null and
    /// changes nothing on failure, and for other blocks.
    [[nodiscard]] ALLOT_NOINLINE void* reallocate_large(void* address, std::size_t room, std::size_t size) noexcept {
        const std::size_t at = find(address);
        if (at == count)
            return is_mapped(address) && size >= mappings::least ? mappings_.resize(address, size) : nullptr;
        if (size < room || !mappings_.accepts(room)) return nullptr;
        if (resize(address, size)) return address;
        void* const moved = mappings_.allocate(size);
        if (moved == nullptr) return nullptr;
        shards_[at].move_bytes(moved, address, room);
        deallocate(address);
        return moved;
    }
    /// Keeps a medium block, after others are freed if there is no room for it.
    template <class Cache>
    ALLOT_NOINLINE void keep_medium(Cache& cache, void* address, std::size_t room) noexcept {
        if constexpr (Options.checks) {
            const auto at = raw_pointer::position(address);
            if (at % nodes::granule != 0 || find(address) == count || !nodes{}.is_live(at - nodes::header))
                return deallocate(address);  // reports
            if (cache.medium_.is_marked(address)) return detail::report<OnMisuse>(misuse::not_live, at, 0);
        }
        while (!cache.medium_.has_room(room)) free_chain(cache.medium_.cut(), true);
        cache.medium_.keep(address, room);
    }
    /// Reports a block that a cache has, or an address that no block has. Returns false if there is no misuse.
    template <class Cache>
    [[nodiscard]] ALLOT_NOINLINE bool is_misused(const Cache& cache, void* address, std::size_t list) noexcept {
        const bool known = raw_pointer::position(address) % (2 * sizeof(void*)) == 0;
        // All blocks of slabs lose their mark when they are allocated. Other blocks can have one of a former block.
        if (known && !is_in_slab(address) && !cache.has(address, list)) return false;
        detail::report<OnMisuse>(known ? misuse::not_live : misuse::foreign_block, raw_pointer::position(address), 0);
        return true;
    }
    /// Calls `use` with the thread's arena, then with the others, until it returns an address.
    template <class Cache, class Use>
    [[nodiscard]] ALLOT_NOINLINE void* allocate_directly(Cache& cache, Use use) noexcept {
        const std::size_t at = shards_.enter(source_, cache.home_, cache.waited_);
        void* given = use(shards_[at]);
        shards_[at].leave();
        if (given != nullptr) [[likely]]
            return given;
        flush(cache);
        for (std::size_t i = 0; i != own && given == nullptr; ++i) {
            if (!shards_[i].is_used() || !shards_[i].enter(source_, i)) continue;
            given = use(shards_[i]);
            shards_[i].leave();
        }
        return given;
    }
    /// Fills an empty list. Returns a block of its size.
    template <class Cache>
    [[nodiscard]] ALLOT_NOINLINE void* refill(Cache& cache, std::size_t size) noexcept {
        const std::size_t list = Cache::list_for(size), each = Cache::capacity_of(list);
        cache.raise(list);
        void* const given = allocate_directly(cache, [&](shard& from) {
            void* first = nullptr;
            void* last = nullptr;
            auto& into = cache.lists_[list];
            const std::size_t several = into.first != nullptr || into.limit < 4 ? 1 : into.limit / 2;
            const auto take = [&](void* block) {
                if (first == nullptr) {
                    first = block;
                    return;
                }
                waiting_block::set_next(block, nullptr);
                if (last == nullptr) into.first = block;
                else waiting_block::set_next(last, block);
                last = block;
                --into.room;
            };
            if constexpr (source::has_slabs) {
                if (each <= source::lists::largest &&
                    from.allocate_in_slab(source_, shards_.number_of(from), each, several, take) != 0)
                    return first;
            }
            static_cast<void>(from.allocate_several(each, several, take));
            return first;
        });
        if (given != nullptr) Cache::clear_mark(given);
        return given;
    }
    /// Frees a list of blocks, with one lock for consecutive blocks of an arena.
    ALLOT_NOINLINE void free_chain(void* chain, bool are_medium = false) noexcept {
        while (chain != nullptr) {
            const std::size_t at = find(chain);
            const bool in_slab = is_in_slab(chain);
            const auto next = [&]() -> void* {
                void* const block = chain;
                if (block == nullptr || is_in_slab(block) != in_slab) return nullptr;
                if (in_slab ? find(block) != at : !shards_[at].contains(block)) return nullptr;
                chain = waiting_block::next(block);
                return block;
            };
            const bool entered = shards_[at].enter(source_, at);
            if (entered && are_medium)
                while (void* const block = next()) shards_[at].deallocate_medium(source_, block);
            else if (entered && in_slab)
                while (void* const block = next()) shards_[at].deallocate(source_, block);
            else if (entered) shards_[at].deallocate_several(next);
            else
                while (void* const block = next()) shards_[at].give_back(block);
            if (entered) shards_[at].leave();
        }
    }

    arenas shards_;
    source source_;
    ALLOT_NO_UNIQUE_ADDRESS mappings mappings_{};
};

}  // namespace v1
}  // namespace allot
