// SPDX-License-Identifier: BSL-1.0
// thread_caches: an allocator behind a lock, the caches of the threads that share it, and the lists through which the
// caches exchange batches.
//
// Internal. The owner of a cache is inside it while it uses it (claimable.hpp). Locks are acquired in this order: the
// one of the list of caches, a cache, the one of the allocator. So a thread that has the list of caches may wait for
// the owner of a cache, and an owner inside its cache may lock the allocator.
//
// Thread safety: threads may call all functions concurrently. A cache in an argument must be the caller's own, entered.
#pragma once

#include <allot/compose/detail/claimable.hpp>
#include <allot/compose/detail/size_lists.hpp>
#include <allot/compose/detail/thread_stock.hpp>
#include <allot/compose/detail/transfer_lists.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/core/detail/compiler.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Lock>
class held_lock {
public:
    explicit held_lock(Lock& one) noexcept : lock_{one} { lock_.lock(); }
    held_lock(const held_lock&) = delete;
    held_lock& operator=(const held_lock&) = delete;
    ~held_lock() { lock_.unlock(); }

private:
    Lock& lock_;
};

/// The limits of the caches and of the transfer lists.
struct cache_limits {
    std::size_t bytes;    // of each cache, and of the transfer lists
    std::size_t batch;    // blocks that move at once
    std::size_t batches;  // of each size in the transfer lists
};

template <class Allocator, class Lock, class Barrier, size_lists_shape Shape, cache_limits Limits>
class thread_caches {
    using allocator_type = std::remove_reference_t<Allocator>;
    using block_type = block_of<Allocator>;

public:
    using sizes = size_lists<Shape>;

    /// A kept block without its size, which that of the list implies.
    struct item {
        decltype(block_type::address) address{};
        ALLOT_NO_UNIQUE_ADDRESS decltype(block_type::metadata) metadata{};
    };

private:
    using stock_type = thread_stock<item, sizes, Limits.batch, Limits.bytes>;
    using transfers_type =
        transfer_lists<item, transfer_shape{.lists = sizes::count, .slots = Limits.batches, .batch = Limits.batch}>;

    // On a microcontroller there is one core, and no cache line moves.
    static constexpr std::size_t apart = is_microcontroller ? alignof(std::max_align_t) : 64;

public:
    /// A cache, which is in the list from `add` to `remove`.
    struct alignas(apart) cache {
        claimable<Barrier, standard_atomics> exclusion;
        stock_type stock;
        std::size_t hand = 0;  // the next list that gives up room
        cache* next = nullptr;
        cache* previous = nullptr;
    };

    thread_caches() noexcept
        requires std::default_initializable<Allocator>
    = default;
    explicit thread_caches(Allocator&& allocator) noexcept : inner_{std::forward<Allocator>(allocator)} {}
    thread_caches(const thread_caches&) = delete;
    thread_caches& operator=(const thread_caches&) = delete;
    ~thread_caches() { free_transfers(); }

    /// Calls `use` with the allocator under the lock.
    template <class Use>
    auto alone(Use&& use) noexcept(noexcept(use(std::declval<allocator_type&>()))) {
        const held_lock<Lock> lock{lock_};
        return use(static_cast<allocator_type&>(inner_));
    }
    template <class Use>
    auto alone(Use&& use) const noexcept {
        const held_lock<Lock> lock{lock_};
        return use(static_cast<const allocator_type&>(inner_));
    }

    [[nodiscard]] static block_type block_from(const item& kept, std::size_t size) noexcept {
        return {kept.address, size, kept.metadata};
    }

    void add(cache& fresh) noexcept {
        const held_lock registered{list_lock_};
        fresh.next = first_;
        if (first_ != nullptr) first_->previous = &fresh;
        first_ = &fresh;
    }
    void remove(cache& old) noexcept {
        const held_lock registered{list_lock_};
        free_all(old.stock);
        (old.previous == nullptr ? first_ : old.previous->next) = old.next;
        if (old.next != nullptr) old.next->previous = old.previous;
        if (first_ == nullptr) free_transfers();
    }

    /// Frees the blocks of all caches and of the transfer lists, and empties the list of caches. Precondition: no other
    /// call.
    void remove_all() noexcept {
        for (const held_lock registered{list_lock_}; first_ != nullptr; first_ = first_->next) free_all(first_->stock);
        free_transfers();
    }
    /// Frees the blocks of all caches and of the transfer lists. Returns true if there was one. The caller must not be
    /// inside a cache.
    bool flush() noexcept {
        const held_lock registered{list_lock_};
        bool any = false;
        if (claim_all())
            for (cache* each = first_; each != nullptr; each = each->next) any |= free_all(each->stock);
        any |= free_transfers();
        unclaim_all();
        return any;
    }
    /// Waits until no call is in progress, and makes all calls wait until `unlock`.
    void lock() noexcept {
        list_lock_.lock();
        static_cast<void>(claim_all());
        lock_.lock();
    }
    void unlock() noexcept {
        lock_.unlock();
        unclaim_all();
        list_lock_.unlock();
    }

    /// Frees the blocks of a cache. Returns true if there was one.
    bool free_all(cache& of) noexcept { return free_all(of.stock); }
    /// Keeps a block whose list is full: makes room, or frees the block.
    void keep_elsewhere(cache& in, std::size_t list, const item& freed) noexcept {
        if (!make_room(in, list) || !in.stock.push(list, freed)) free_items(list, &freed, 1);
    }
    /// Fills an empty list, and returns a block of its size.
    block_type refill(cache& in, std::size_t list) noexcept {
        stock_type& stock = in.stock;
        stock.raise(list);
        item last;
        if (stock.limit(list) >= stock_type::batch_of(list)) {
            stock.added(list, take(list, stock.items(list)));
            if (stock.pop(list, last)) return block_from(last, sizes::size_of(list));
        }
        const layout each{sizes::size_of(list), Shape.align};
        const std::size_t limit = stock.limit(list), batch = stock_type::batch_of(list);
        const std::size_t more = limit == 0 ? 0 : (limit < batch ? limit : batch) - 1;
        return alone([&](auto& inner) {
            const block_type first = inner.allocate(each);
            for (std::size_t i = 0; first && i != more; ++i) {
                const block_type next = inner.allocate(each);
                if (!next || !stock.push(list, {next.address, next.metadata})) break;
            }
            return first;
        });
    }

private:
    /// Excludes the owners of all caches. Returns false if the system lacks the barrier, so that the owners go on.
    bool claim_all() noexcept {
        for (cache* each = first_; each != nullptr; each = each->next) each->exclusion.claim();
        if (!Barrier::heavy()) return false;
        for (const cache* each = first_; each != nullptr; each = each->next) each->exclusion.wait();
        return true;
    }
    void unclaim_all() noexcept {
        for (cache* each = first_; each != nullptr; each = each->next) each->exclusion.unclaim();
    }
    /// Makes room for one item in a list that is full. Returns false if the list keeps none.
    bool make_room(cache& in, std::size_t list) noexcept {
        stock_type& stock = in.stock;
        for (std::size_t i = 0; !stock.raise(list); ++i) {
            const std::size_t count = stock.count(list), batch = stock_type::batch_of(list);
            if (count != 0 && (i != 0 || stock.is_deepest(list))) {
                give(stock, list, count < batch ? (count + 1) / 2 : batch);
                return true;
            }
            if (i == sizes::count) return false;
            lower_another(in);  // whose room this list then gets
        }
        return true;
    }
    /// Halves the limit of the next list. Its oldest items that have no room left move.
    void lower_another(cache& in) noexcept {
        const std::size_t other = in.hand++ % sizes::count, keeps = in.stock.limit(other) / 2;
        if (in.stock.count(other) > keeps) give_all(in.stock, other, in.stock.count(other) - keeps);
        in.stock.lower(other);
    }
    void free_items(std::size_t list, const item* from, std::size_t count) noexcept {
        alone([&](auto& inner) {
            for (std::size_t i = 0; i != count; ++i) inner.deallocate(block_from(from[i], sizes::size_of(list)));
        });
    }
    bool free_all(stock_type& stock) noexcept {
        bool any = false;
        for (std::size_t list = 0; list != sizes::count; ++list) {
            const std::size_t count = stock.count(list);
            if (count == 0) continue;
            free_items(list, stock.items(list), count);
            stock.removed(list, count);
            any = true;
        }
        return any;
    }
    bool free_transfers() noexcept {
        bool any = false;
        item batch[Limits.batch];
        for (std::size_t list = 0; list != sizes::count; ++list)
            while (const std::size_t count = take(list, batch)) {
                free_items(list, batch, count);
                any = true;
            }
        return any;
    }

    /// Takes a batch from the transfer lists. Returns the number of items.
    std::size_t take(std::size_t list, item* to) noexcept {
        const std::size_t count = transfers_.take(list, to);
        if (count != 0) transferred_.fetch_sub(count * sizes::size_of(list), std::memory_order_relaxed);
        return count;
    }
    /// Moves the oldest items of a list to the transfer lists, or to the allocator.
    void give(stock_type& stock, std::size_t list, std::size_t count) noexcept {
        const std::size_t bytes = count * sizes::size_of(list);
        const bool room = transferred_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= Limits.bytes;
        if (!room || !transfers_.put(list, stock.items(list), count)) {
            transferred_.fetch_sub(bytes, std::memory_order_relaxed);
            free_items(list, stock.items(list), count);
        }
        stock.removed(list, count);
    }
    void give_all(stock_type& stock, std::size_t list, std::size_t count) noexcept {
        for (std::size_t part; count != 0; count -= part) {
            part = count < stock_type::batch_of(list) ? count : stock_type::batch_of(list);
            give(stock, list, part);
        }
    }

    Allocator inner_;
    ALLOT_NO_UNIQUE_ADDRESS mutable Lock lock_{};
    spin_lock list_lock_;
    cache* first_ = nullptr;
    std::atomic<std::size_t> transferred_{0};  // bytes in the transfer lists
    transfers_type transfers_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
