// SPDX-License-Identifier: BSL-1.0
// thread_local_caches: a per_thread with the cache of each thread in thread-local storage.
//
//     using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
//     allot::thread_local_caches<allot::per_thread<arena>> memory{arena{{}, 64_MiB}};
//     auto block = memory.allocate({.size = 100});                // any thread; the first call creates its cache
//     memory.deallocate(block);                                   // any thread
//
//     thread 1:  last used ──┐                                thread 2:  last used ──┐
//                            ▼                                                       ▼
//     caches of memory A ◄─[ A ][ B ]─► caches of memory B                         [ A ]
//
// The cache of a thread ends with the thread, and its blocks are freed. A call after that, for example in the
// destructor of another thread-local object, uses no cache. A cache is on the heap. If the heap is exhausted, calls use
// none.
//
// An allocator may be destroyed before the threads that used it. It frees the blocks in all of their caches.
//
// When to use: in programs whose functions do not pass a thread_cache on.
// When not to use: where a `thread_cache` can be passed: it saves a thread-local lookup. Without thread-local storage,
// as on many microcontrollers, use thread_cache.
//
// Complexity: that of thread_cache, and one thread-local comparison if the thread used the same allocator last.
// Otherwise O(allocators that the thread has used).
// Memory: that of per_thread. The memory of a cache is kept until its thread ends, or creates another one after the
// allocator was destroyed.
// Thread safety: all functions can be called concurrently. The destructor must not overlap with other calls. It may
// overlap with the end of a thread.
#pragma once

#include <allot/compose/per_thread.hpp>
#include <allot/core/detail/compiler.hpp>

#include <new>

namespace allot {
inline namespace v1 {
namespace detail {

/// Whether an allocator exists, for the threads that have a cache of it.
struct allocator_life {
    spin_lock lock{};
    bool exists = true;  // protected by the lock
    std::atomic<std::size_t> references{1};

    void drop() noexcept {
        if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
};

/// A cache of a thread.
struct local_cache {
    allocator_life* of;
    local_cache* next;
    bool (*end)(local_cache*, bool) noexcept;  // deletes it, or only if its allocator does not exist; returns whether
};

/// The cache that a thread used last.
struct last_cache {
    const allocator_life* of = nullptr;
    local_cache* cache = nullptr;
    bool ended = false;  // whether the thread has ended its caches
};
inline constinit thread_local last_cache last_used{};

/// The caches of a thread.
class local_caches {
public:
    local_caches() noexcept = default;
    local_caches(const local_caches&) = delete;
    local_caches& operator=(const local_caches&) = delete;
    ~local_caches() {
        last_used = {.ended = true};
        while (first_ != nullptr) {
            local_cache* const next = first_->next;
            first_->end(first_, true);
            first_ = next;
        }
    }
    [[nodiscard]] local_cache* find(const allocator_life* of) const noexcept {
        local_cache* each = first_;
        while (each != nullptr && each->of != of) each = each->next;
        return each;
    }
    /// Adds a cache, and deletes those whose allocators do not exist.
    void add(local_cache* fresh) noexcept {
        for (local_cache** each = &first_; *each != nullptr;) {
            local_cache* const next = (*each)->next;
            if ((*each)->end(*each, false)) *each = next;
            else each = &(*each)->next;
        }
        fresh->next = first_;
        first_ = fresh;
    }

private:
    local_cache* first_ = nullptr;
};
inline thread_local local_caches caches_of_thread;

}  // namespace detail

/// A `per_thread` whose calls use the cache of the calling thread.
template <class PerThread>
class thread_local_caches : public PerThread {
    static_assert(detail::is_per_thread<PerThread>,
                  "allot: thread_local_caches needs a per_thread: thread_local_caches<per_thread<Arena>>");

public:
    using typename PerThread::block_type;

    /// Constructs the allocator with its default constructor.
    thread_local_caches() noexcept
        requires std::default_initializable<PerThread>
    = default;
    /// Constructs the allocator from an argument of `PerThread`.
    template <class Allocator>
        requires std::constructible_from<PerThread, Allocator&&>
    explicit thread_local_caches(Allocator&& allocator) noexcept : PerThread{std::forward<Allocator>(allocator)} {}
    thread_local_caches(const thread_local_caches&) = delete;
    thread_local_caches& operator=(const thread_local_caches&) = delete;
    /// Frees the kept blocks of all threads.
    ~thread_local_caches() {
        if (life_ == nullptr) return;
        {
            const detail::held_lock alone{life_->lock};
            life_->exists = false;
            this->all_.remove_all();
        }
        life_->drop();
    }

    /// Allocates a block that the cache of the thread keeps, or a block of the allocator, after all kept blocks are
    /// freed if necessary. Returns an empty block on failure.
    [[nodiscard]] ALLOT_INLINE block_type allocate(layout wanted) noexcept {
        cache_type* const cache = mine();
        return cache != nullptr ? cache->allocate(wanted) : PerThread::allocate(wanted);
    }
    /// Keeps an unchanged block in the cache of the thread, or deallocates it in the allocator. Does nothing for an
    /// empty block.
    ALLOT_INLINE void deallocate(block_type held) noexcept {
        cache_type* const cache = mine();
        if (cache != nullptr) cache->deallocate(held);
        else PerThread::deallocate(held);
    }

private:
    using cache_type = thread_cache<PerThread>;
    /// A cache on the heap. The destructor does not destroy `cache`, which only its allocator does.
    struct node : detail::local_cache {
        union {
            cache_type cache;
        };
        explicit node(detail::allocator_life* life, PerThread& memory) noexcept
            : detail::local_cache{life, nullptr, &end_node}, cache{memory} {}
        node(const node&) = delete;
        node& operator=(const node&) = delete;
        ~node() {}
    };
    static bool end_node(detail::local_cache* base, bool always) noexcept {
        detail::allocator_life* const life = base->of;
        {
            const detail::held_lock alone{life->lock};
            if (life->exists) {
                if (!always) return false;
                static_cast<node*>(base)->cache.~cache_type();
            }
        }
        delete static_cast<node*>(base);
        life->drop();
        return true;
    }

    /// Returns the cache of the calling thread, or null if it has none.
    [[nodiscard]] ALLOT_INLINE cache_type* mine() noexcept {
        detail::local_cache* found = detail::last_used.cache;
        if (detail::last_used.of != life_) [[unlikely]]
            found = find();
        return found != nullptr ? &static_cast<node*>(found)->cache : nullptr;
    }
    [[nodiscard]] ALLOT_NOINLINE detail::local_cache* find() noexcept {
        if (detail::last_used.ended || life_ == nullptr) return nullptr;
        detail::local_cache* found = detail::caches_of_thread.find(life_);
        if (found == nullptr) {
            found = ::new (std::nothrow) node{life_, *this};
            if (found == nullptr) return nullptr;
            life_->references.fetch_add(1, std::memory_order_relaxed);
            detail::caches_of_thread.add(found);
        }
        detail::last_used = {.of = life_, .cache = found};
        return found;
    }

    detail::allocator_life* life_ = ::new (std::nothrow) detail::allocator_life{};
};

}  // namespace v1
}  // namespace allot
