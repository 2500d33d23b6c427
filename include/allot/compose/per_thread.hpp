// SPDX-License-Identifier: BSL-1.0
// per_thread: an allocator that several threads share, with a cache of freed blocks for each of them.
//
//     using shared = allot::per_thread<allot::arena<allot::host::heap, allot::best_fit<>>>;
//     shared memory{{{}, 64_MiB}};
//     std::jthread worker{[&] {
//         allot::thread_cache mine{memory};     // one for each thread; gives back its blocks at the end
//         auto block = mine.allocate({.size = 100});              // no lock, no atomic read-modify-write
//         mine.deallocate(block);                                 // also a block that another thread allocated
//     }};
//     auto block = memory.allocate({.size = 100});                // without a cache: locks the arena
//
//     thread 1:  thread_cache ──┐  batches   ┌── thread_cache  :thread 2
//       blocks by size          ▼            ▼     blocks by size
//                        transfer lists (no lock)
//                               │  batches
//                               ▼
//                      lock ─► allocator
//
// A size up to `largest` is rounded up to the size of its list. Larger sizes, and alignments above `align`, go to the
// allocator. A block of such a size is not resized to at most `largest` if its address is not a multiple of `align`.
//
// A block that a thread frees enters the cache of that thread. A cache that has too many blocks of a size
// writes a batch of the oldest ones to the transfer lists, where the thread that needs them takes the batch. Only if
// these are full or empty, it locks the allocator and moves a batch.
//
// A request fails only if the allocator refuses it after the blocks of all caches and transfer lists were freed. For
// that, a thread takes the blocks out of the caches of the others (host/process_barrier.hpp). Where the system lacks
// such a barrier, they stay in the caches of the others until these free them.
//
// The caches hold blocks by value and never access their bytes, so that memory with handles is cached as well.
//
// When to use: several threads that allocate and free often.
// When not to use: pages of one size. Use page_tree, which needs no cache. Few calls: use synchronized.
//
// `Lock` protects the allocator; no_lock if its calls may overlap. A stack and a ring do not compile, because blocks
// leave the caches in another order. Counters inside count kept blocks as live. A block that is freed twice is detected
// only by a hardened allocator, when the cache frees the block.
//
// To `fork` while other threads use the memory, hold it: std::lock_guard hold{memory}; fork(). In the child, the blocks
// in the caches of the other threads are freed like all others when a request would fail. A signal handler must not use
// the cache of its thread.
//
// Complexity: O(1) without a lock for kept blocks. Otherwise that of the allocator for each block of a batch. A request
// that the allocator refuses visits all caches.
// Memory: each cache has 2 * batch items for each list: 22.5 KiB with pointers and the default options, plus up to
// `bytes` of kept blocks. The transfer lists have batch * batches items for each list: 112.5 KiB inside the per_thread,
// plus up to `bytes` of kept blocks. The rounding adds at most 1 / steps of the size.
// Thread safety: all functions of `per_thread` can be called concurrently. A `thread_cache` belongs to one thread. It
// must be destroyed before the per_thread, by any thread.
//
// Sources: Ghemawat and Menage, "TCMalloc", 2005, for caches of threads that exchange batches; Liétar et al.,
// "snmalloc", ISMM 2019, for batches without a lock.
#pragma once

#include <allot/compose/detail/thread_caches.hpp>
#include <allot/compose/detail/wrapper.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/host/process_barrier.hpp>

namespace allot {
inline namespace v1 {

/// The options of `per_thread`.
struct per_thread_options {
    /// The size of the first list in bytes, a power of two. Smaller sizes are rounded up to it.
    std::size_t smallest = 16;
    /// The size of the last list in bytes, a power of two. Larger blocks are not kept.
    std::size_t largest = std::size_t{1} << 15U;
    /// The number of lists between a power of two and the next one: 1, 2, 4, 8 and so on.
    std::size_t steps = 4;
    /// The alignment of kept blocks. Blocks of a larger alignment are allocated from the allocator.
    std::size_t align = alignof(std::max_align_t);
    /// The largest number of bytes that each cache keeps, and that the transfer lists keep.
    std::size_t bytes = std::size_t{1} << 22U;
    /// The largest number of blocks that move at once. A cache keeps at most twice as many of each size.
    std::size_t batch = 32;
    /// The largest number of batches of each size in the transfer lists.
    std::size_t batches = 8;
};

template <class PerThread>
class thread_cache;
template <class PerThread>
class thread_local_caches;

/// An allocator with a cache for each thread.
template <class Allocator, class Lock = spin_lock, per_thread_options Options = per_thread_options{},
          class Barrier = host::process_barrier>
class per_thread {
    static_assert(allocator_requirements<Allocator>());
    static_assert(
        lock<Lock>,
        "allot: the second argument of per_thread has lock() and unlock(): use a mutex, spin_lock, or no_lock "
        "over an allocator whose calls may overlap");
    using allocator_type = std::remove_reference_t<Allocator>;
    static_assert(allocator_type::reclaims == reclaim::any || allocator_type::reclaims == reclaim::never,
                  "allot: per_thread frees blocks in another order than the program, which stack and ring do not "
                  "support: use best_fit, pool, page_tree, bump or naive");
    static_assert(
        !std::same_as<Lock, no_lock> || detail::is_concurrent<allocator_type>(),
        "allot: the threads of a per_thread call its allocator concurrently: use a mutex or spin_lock instead "
        "of no_lock");
    static constexpr detail::size_lists_shape shape{Options.smallest, Options.largest, Options.steps, Options.align};
    static_assert(shape.is_valid(),
                  "allot: the members smallest, largest, steps and align of per_thread_options must be powers of two, "
                  "with steps <= smallest <= largest");
    static_assert(
        Options.batch > 0 && Options.batch < 0x8000 && Options.batches > 0 && Options.bytes >= Options.largest,
        "allot: per_thread_options::batch is 1 to 32767, batches is at least 1, and bytes is at least largest");
    static constexpr detail::cache_limits limits{Options.bytes, Options.batch, Options.batches};
    using caches_type = detail::thread_caches<Allocator, Lock, Barrier, shape, limits>;
    using sizes = typename caches_type::sizes;

public:
    using inner_type = allocator_type;                             ///< The allocator.
    using address_model = typename allocator_type::address_model;  ///< The address model of the allocator.
    using block_type = block_of<Allocator>;                        ///< The type of blocks.
    /// Whether the host can access the memory.
    static constexpr bool host_accessible = allocator_type::host_accessible;
    static constexpr offset_use offsets = allocator_type::offsets;          ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = allocator_type::dl_device;  ///< The device type in DLPack.
    static constexpr reclaim reclaims = allocator_type::reclaims;           ///< The order in which blocks become free.

    /// Constructs the allocator with its default constructor.
    per_thread() noexcept
        requires std::default_initializable<Allocator>
    = default;
    /// Stores a reference to the allocator, or moves it into this object.
    explicit per_thread(Allocator&& allocator) noexcept : all_{std::forward<Allocator>(allocator)} {
        static_assert(std::is_reference_v<Allocator> || std::move_constructible<Allocator>,
                      "allot: per_thread moves this allocator, which has a lock or shards and cannot be moved: keep it "
                      "in a variable, and use per_thread<Allocator&, no_lock>");
    }
    per_thread(const per_thread&) = delete;
    per_thread& operator=(const per_thread&) = delete;
    /// Frees the blocks in the transfer lists. Precondition: no cache exists.
    ~per_thread() = default;

    /// Allocates a block from the allocator, after all kept blocks are freed if necessary. Returns an empty block on
    /// failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        if (!wanted.is_valid()) return {};
        const layout rounded = sizes::round_up(wanted);
        block_type given = all_.alone([&](auto& inner) { return inner.allocate(rounded); });
        if (!given && flush()) given = all_.alone([&](auto& inner) { return inner.allocate(rounded); });
        return given ? detail::with_size(given, wanted.size) : given;
    }
    /// Deallocates an unchanged block in the allocator. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        all_.alone([&](auto& inner) { inner.deallocate(sizes::whole_block(held)); });
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        if (!held || size == 0) return false;
        block_type whole = sizes::whole_block(held);
        const std::size_t rounded = sizes::round_up(size);
        const auto resize_in = [&](auto& inner) {
            return sizes::can_resize(inner, whole, rounded) && inner.resize(whole, rounded);
        };
        if (rounded != whole.size && !all_.alone(resize_in)) return false;
        held = detail::with_size(whole, size);
        return true;
    }
    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept
        requires measuring_allocator<allocator_type>
    {
        return all_.alone([&](const auto& inner) { return inner.capacity(sizes::whole_block(held)); });
    }
    /// Returns true if the block is in the allocator's memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept
        requires owning<allocator_type>
    {
        return all_.alone([&](const auto& inner) { return inner.owns(sizes::whole_block(held)); });
    }
    /// Returns the number of bytes in all regions. Concurrent calls can invalidate the result.
    [[nodiscard]] std::size_t size() const noexcept
        requires sized_allocator<allocator_type>
    {
        return all_.alone([](const auto& inner) { return inner.size(); });
    }
    /// Returns the counters of the allocator, which counts kept blocks as live.
    [[nodiscard]] allocator_statistics statistics() const noexcept
        requires counting_allocator<allocator_type>
    {
        return all_.alone([](const auto& inner) { return inner.statistics(); });
    }
    /// Returns the reason for which `allocate` would fail. Frees all kept blocks if it would fail with them. Concurrent
    /// calls can invalidate the result.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        const auto ask = [&](auto& inner) {
            diagnosis found = inner.diagnose(sizes::round_up(wanted));
            found.largest_hole = sizes::usable(inner, static_cast<std::size_t>(found.largest_hole));
            return found;
        };
        const diagnosis found = all_.alone(ask);
        return found.reason != refusal::none && flush() ? all_.alone(ask) : found;
    }
    /// Frees all kept blocks, then releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<allocator_type>
    {
        flush();
        return all_.alone([](auto& inner) { return inner.trim(); });
    }

    /// Returns whether this block is live or kept. Misuse is reported. Only for a hardened allocator.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.check(held); }
    {
        return all_.alone([&](const auto& inner) { return inner.check(sizes::whole_block(held)); });
    }
    /// Frees the blocks of all caches and of the transfer lists in the allocator. Returns true if there was one.
    bool flush() noexcept { return all_.flush(); }

    /// Waits until no call of another thread is in progress, and makes all calls wait until `unlock`. For `fork`: the
    /// child calls `unlock` as well. The caller must not use its cache in between. Where the system lacks the barrier
    /// of the process, calls that need only a cache go on.
    void lock() noexcept { all_.lock(); }
    /// Ends `lock`.
    void unlock() noexcept { all_.unlock(); }

    /// Calls `use` with the allocator while it holds the lock, and returns the result by value. Kept blocks are live.
    template <class Use>
    auto locked(Use&& use) {
        return all_.alone(std::forward<Use>(use));
    }

private:
    friend thread_cache<per_thread>;
    friend thread_local_caches<per_thread>;

    caches_type all_;
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
per_thread(Allocator&&) -> per_thread<Allocator>;

namespace detail {
template <class Allocator>
inline constexpr bool is_per_thread = false;
template <class Allocator, class Lock, per_thread_options Options, class Barrier>
inline constexpr bool is_per_thread<per_thread<Allocator, Lock, Options, Barrier>> = true;
}  // namespace detail

/// The cache of one thread. It is an allocator. The blocks that it keeps are freed when it is destroyed. The last cache
/// also frees those in the transfer lists.
template <class PerThread>
class thread_cache {
    static_assert(detail::is_per_thread<PerThread>,
                  "allot: a thread_cache needs a per_thread<Arena>: thread_cache cache{memory}");
    using caches_type = typename PerThread::caches_type;
    using sizes = typename caches_type::sizes;

public:
    using address_model = typename PerThread::address_model;  ///< The address model of the allocator.
    using block_type = typename PerThread::block_type;        ///< The type of blocks.
    /// Whether the host can access the memory.
    static constexpr bool host_accessible = PerThread::host_accessible;
    static constexpr offset_use offsets = PerThread::offsets;          ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = PerThread::dl_device;  ///< The device type in DLPack.
    static constexpr reclaim reclaims = PerThread::reclaims;           ///< The order in which blocks become free.

    /// Creates a cache of this allocator, which must outlive it.
    explicit thread_cache(PerThread& of) noexcept : of_{of} { all().add(cache_); }
    thread_cache(const thread_cache&) = delete;
    thread_cache& operator=(const thread_cache&) = delete;
    /// Frees the kept blocks.
    ~thread_cache() { all().remove(cache_); }

    /// Allocates a kept block, or a block of the allocator, after all kept blocks are freed if necessary. Returns an
    /// empty block on failure.
    [[nodiscard]] ALLOT_INLINE block_type allocate(layout wanted) noexcept {
        if (wanted.size - 1 >= PerThread::shape.largest || wanted.align > PerThread::shape.align ||
            !is_alignment(wanted.align))
            return allocate_without(wanted);
        const std::size_t list = sizes::list_of(wanted.size);
        typename caches_type::item kept;
        cache_.exclusion.enter();
        if (!cache_.stock.pop(list, kept)) [[unlikely]]
            return allocate_elsewhere(list, wanted);
        cache_.exclusion.leave();
        return caches_type::block_from(kept, wanted.size);
    }
    /// Keeps an unchanged block, or deallocates it in the allocator. Does nothing for an empty block.
    ALLOT_INLINE void deallocate(block_type held) noexcept {
        if (held.size - 1 >= PerThread::shape.largest) return deallocate_without(held);
        if constexpr (requires { of_.check(held); })
            if (!of_.check(held)) return;
        const std::size_t list = sizes::list_of(held.size);
        cache_.exclusion.enter();
        if (!cache_.stock.push(list, {held.address, held.metadata})) [[unlikely]]
            return keep_elsewhere(list, held);
        cache_.exclusion.leave();
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<PerThread>
    {
        return of_.resize(held, size);
    }
    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept
        requires measuring_allocator<PerThread>
    {
        return of_.capacity(held);
    }
    /// Returns true if the block is in the allocator's memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept
        requires owning<PerThread>
    {
        return of_.owns(held);
    }
    /// Returns the number of bytes in all regions. Concurrent calls can invalidate the result.
    [[nodiscard]] std::size_t size() const noexcept
        requires sized_allocator<PerThread>
    {
        return of_.size();
    }
    /// Frees all kept blocks, then releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<PerThread>
    {
        return of_.trim();
    }
    /// Returns the reason for which `allocate` would fail. Frees all kept blocks if it would fail with them.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept { return of_.diagnose(wanted); }
    /// Frees the blocks that this cache keeps. Call it before the thread is idle for a long time.
    void flush() noexcept {
        cache_.exclusion.enter();
        all().free_all(cache_);
        cache_.exclusion.leave();
    }

private:
    // Not inlined: the common paths would save registers for them.
    ALLOT_NOINLINE block_type allocate_without(layout wanted) noexcept { return of_.allocate(wanted); }
    ALLOT_NOINLINE void deallocate_without(block_type held) noexcept { of_.deallocate(held); }
    /// Fills the list, and ends the use of the cache.
    ALLOT_NOINLINE block_type allocate_elsewhere(std::size_t list, layout wanted) noexcept {
        const block_type given = all().refill(cache_, list);
        cache_.exclusion.leave();
        return given ? detail::with_size(given, wanted.size) : of_.allocate(wanted);
    }
    /// Makes room in the list, and ends the use of the cache.
    ALLOT_NOINLINE void keep_elsewhere(std::size_t list, block_type held) noexcept {
        all().keep_elsewhere(cache_, list, {held.address, held.metadata});
        cache_.exclusion.leave();
    }
    [[nodiscard]] caches_type& all() noexcept { return of_.all_; }

    PerThread& of_;
    typename caches_type::cache cache_;
};

/// A cache without an argument does not compile.
thread_cache() -> thread_cache<void>;

}  // namespace v1
}  // namespace allot
