// SPDX-License-Identifier: BSL-1.0
// heap_shard: one arena of an address_heap: its lock, its lazy construction, the blocks that threads return to it
// without the lock, and the pages that it discards.
//
//     enter() ─► lock ─► free what was returned ─► allocate, free, resize … ─► leave()
//     give_back(block)   a list without a lock, for threads that cannot enter
//
// Internal. The arena is constructed by the first call that enters. `base` and `end` are published after its first
// region exists, so that `contains` needs no lock. The region's base never moves, because nothing releases the region.
//
// Freed blocks of at least `discard_from` bytes lose their pages at once. As in glibc, this threshold then rises to
// twice the size of the block, because a program that frees such a block often allocates the next one. Smaller large
// blocks count as dirty, and all large holes lose their pages when the dirty bytes exceed sixteen times the first
// threshold, the current one, and an eighth of the arena. Slabs cannot use the holes of the arena. Before slabs use new
// pages, the large holes therefore lose theirs if the bytes of freed blocks exceed four times the first threshold and a
// sixteenth of the arena. An arena of more than 1 GiB counts as one of 1 GiB here.
//
// Thread safety: `contains`, `give_back` and the functions of the lock can be called concurrently. The others are
// called between `enter` and `leave`.
#pragma once

#include <allot/arena/block_at.hpp>
#include <allot/arena/detail/arena_access.hpp>
#include <allot/arena/detail/bursts.hpp>
#include <allot/arena/discard_holes.hpp>
#include <allot/compose/address_cache.hpp>
#include <allot/compose/detail/heap_slabs.hpp>
#include <allot/core/detail/compiler.hpp>

#include <atomic>
#include <cstring>
#include <new>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Arena, class Lock, std::size_t DiscardFrom, class Source>
class alignas(64) heap_shard {
    using device_type = typename Arena::device_type;
    using nodes = in_band_nodes<typename Arena::strategy_type::offset_type, addressed_memory, true>;
    static constexpr bool discards = discarding_device<device_type>;
    static constexpr std::size_t word = sizeof(typename Arena::strategy_type::offset_type);
    static constexpr std::size_t large = DiscardFrom / 2;  // smallest block that counts as dirty
    static constexpr std::size_t most_rest = 8 * word;     // a block has fewer bytes beyond those of its request
    static constexpr std::size_t most_dirty = 16 * DiscardFrom, most_freed = 4 * DiscardFrom;
    static constexpr std::size_t highest_threshold = std::size_t{1} << 25U;

public:
    constexpr heap_shard() noexcept : nothing_{} {}
    heap_shard(const heap_shard&) = delete;
    heap_shard& operator=(const heap_shard&) = delete;
    ~heap_shard() {
        if (made_) arena_.~Arena();
    }

    [[nodiscard]] Lock& lock() noexcept { return lock_; }
    [[nodiscard]] bool contains(const void* address) const noexcept {
        const std::size_t at = raw_pointer::position(address);
        return at >= base_.load(std::memory_order_relaxed) && at < end_.load(std::memory_order_relaxed);
    }
    /// Returns true if a region or a slab exists.
    [[nodiscard]] bool is_used() const noexcept {
        if constexpr (Source::has_slabs) {
            if (slabs_.is_used()) return true;
        }
        return end_.load(std::memory_order_acquire) != 0;
    }
    /// Returns the slabs of this shard.
    [[nodiscard]] auto& slabs() noexcept { return slabs_; }
    /// Returns the arena. Precondition: an allocation succeeded.
    [[nodiscard]] const Arena& arena() const noexcept { return arena_; }

    /// Locks the shard and frees the returned blocks. Returns false without the lock during a fork.
    [[nodiscard]] bool enter(Source& source, std::size_t number) noexcept {
        if (!lock_.lock()) return false;
        begin(source, number);
        return true;
    }
    /// The same, but also returns false if another thread has the lock.
    [[nodiscard]] bool try_enter(Source& source, std::size_t number) noexcept {
        if (!lock_.try_lock()) return false;
        begin(source, number);
        return true;
    }
    void leave() noexcept { lock_.unlock(); }

    [[nodiscard]] void* allocate(layout wanted) noexcept {
        const auto given = arena_.allocate(wanted);
        if (!given) return nullptr;
        if (end_.load(std::memory_order_relaxed) == 0) [[unlikely]]
            publish();
        note_used(given.address, wanted.size);
        reuse(wanted.size);
        if (wanted.size >= large) [[unlikely]]
            dirty_ -= wanted.size < dirty_ ? wanted.size : dirty_;
        return given.address;
    }
    /// Allocates up to `count` blocks of a slab, and calls `use(address)` with each. Returns their number.
    template <class Use>
    std::size_t allocate_in_slab(Source& source, std::size_t number, std::size_t size, std::size_t count,
                                 Use use) noexcept {
        const std::size_t before = slabs_.count();
        const std::size_t given = slabs_.allocate_some(source.slabs, number, size, count, use);
        if (slabs_.count() != before && freed_ > most_freed + counted_size() / 16) [[unlikely]]
            discard(large);
        return given;
    }
    /// Allocates at most `count` small blocks, and calls `use(address)` with each. Returns false on failure.
    template <class Use>
    [[nodiscard]] bool allocate_several(std::size_t size, std::size_t count, Use use) noexcept {
        bool any = false;
        while (count != 0) {
            void* last = nullptr;
            const std::size_t some = burst<Arena>::allocate_some(arena_, {.size = size}, count, [&](void* block) {
                last = block;
                use(block);
            });
            if (some == 0) break;
            if (end_.load(std::memory_order_relaxed) == 0) [[unlikely]]
                publish();
            note_used(last, size);
            any = true;
            count -= some;
        }
        return any;
    }
    /// Allocates zeroed bytes. Pages that were never used are not written.
    [[nodiscard]] void* allocate_zeroed(layout wanted) noexcept {
        const std::size_t fresh = fresh_;
        void* const given = allocate(wanted);
        if (given == nullptr) return nullptr;
        const std::size_t at = raw_pointer::position(given);
        std::size_t used = fresh <= at ? 0 : fresh - at;  // bytes that were ever in a block
        if (used > wanted.size || wanted.size >= discard_from_) used = wanted.size >= discard_from_ ? 0 : wanted.size;
        std::memset(given, 0, used);
        zero_by_pages(raw_pointer::locate(given, used), wanted.size - used);
        return given;
    }
    /// Returns true if the records around a block are intact and the block is in use.
    [[nodiscard]] bool is_sound(const Source& source, void* address) const noexcept {
        if constexpr (Source::has_slabs) {
            if (source.slabs.contains(address)) return source.slabs.is_sound(address);
        }
        const auto& region = arena_.regions()[0];
        const std::size_t at = raw_pointer::position(address), base = raw_pointer::position(region.base);
        const extent inside{base, region.size};
        if (at % (2 * word) != 0 || at < base + word || at >= base + region.size) return false;
        return arena_.strategy().is_sound({{at, 1}, {}}, inside);
    }
    void deallocate(Source& source, void* address) noexcept {
        if constexpr (Source::has_slabs) {
            if (source.slabs.contains(address)) return slabs_.deallocate(source.slabs, address);
        }
        const auto held = block_at(arena_, address);
        arena_.deallocate(held);
        if constexpr (discards) {
            freed_ += held.size;
            if (held.size >= large) [[unlikely]]
                discard_freed(address, held.size);
        }
    }
    /// The same for a block of which only the record is checked when it is freed again.
    void deallocate_medium(Source& source, void* address) noexcept {
        deallocate(source, address);
        nodes{}.forget_freed(raw_pointer::position(address) - nodes::header);
    }
    /// Frees small blocks, each a result of `next()` until that returns nullptr. Adjacent ones are freed by one call.
    template <class Next>
    void deallocate_several(Next next) noexcept {
        burst<Arena>::deallocate(arena_, next);
    }
    /// Resizes a block in place. The region is extended for its last block only if no hole has room for it: otherwise
    /// the region would grow again and again for a program that grows blocks and frees them.
    [[nodiscard]] bool resize(void* address, std::size_t size) noexcept {
        auto held = block_at(arena_, address);
        const std::size_t before = held.size;
        if (size <= before || !resize_held(held, size)) {
            if (size > before && has_hole(size)) return false;
            if (!arena_.resize(held, size)) return false;
        }
        note_used(address, size);
        if constexpr (discards) {
            const std::size_t after = block_at(arena_, address).size;
            if (after < before) freed_ += before - after;
            else reuse(after - before);
            if (before >= after + large)
                discard_freed(raw_pointer::locate(address, after + word), before - after - word);
        }
        return true;
    }
    /// Copies a large block that is then freed. Its pages are discarded on the way, so that few bytes are in memory
    /// twice. Needs no lock.
    void move_bytes(void* to, void* from, std::size_t size) const noexcept {
        constexpr std::size_t step = 16 * DiscardFrom;
        while (size > step) {
            std::memcpy(to, from, step);
            if constexpr (discards) static_cast<void>(discard_pages(arena_.device(), from, step));
            to = raw_pointer::locate(to, step);
            from = raw_pointer::locate(from, step);
            size -= step;
        }
        std::memcpy(to, from, size);
    }
    /// Discards the pages of holes and of empty slabs. Returns the number of bytes.
    std::size_t trim([[maybe_unused]] Source& source, std::size_t threshold) noexcept {
        std::size_t slabs = 0;
        if constexpr (Source::has_slabs) slabs = slabs_.discard(source.slabs);
        return slabs + discard(threshold);
    }

    /// Frees a block later: when a thread enters the next time.
    void give_back(void* block) noexcept {
        void* newest = returned_.load(std::memory_order_relaxed);
        do waiting_block::set_next(block, newest);
        while (!returned_.compare_exchange_weak(newest, block, std::memory_order_release, std::memory_order_relaxed));
    }

private:
    /// Resizes a block in the region as it is.
    template <class Block>
    [[nodiscard]] bool resize_held(const Block& held, std::size_t size) noexcept {
        return arena_access::strategy(arena_).resize(arena_access::allocation(arena_, held), size);
    }
    /// Returns true if a block of this size can be allocated in the region as it is.
    [[nodiscard]] bool has_hole(std::size_t size) noexcept {
        const auto given = arena_access::allocate_held(
            arena_, {.size = size}, [](auto& strategy, auto wanted) { return strategy.allocate(wanted); });
        if (given) arena_.deallocate(given);
        return static_cast<bool>(given);
    }

    std::size_t discard(std::size_t threshold) noexcept {
        dirty_ = freed_ = 0;
        if constexpr (discards) return discard_holes(arena_, threshold);
        else return 0;
    }

    ALLOT_INLINE void begin(Source& source, std::size_t number) noexcept {
        if (!made_) [[unlikely]] {
            ::new (static_cast<void*>(&arena_)) Arena{source.make(number)};
            made_ = true;
        }
        free_returned(source);
    }
    void free_returned(Source& source) noexcept {
        if (returned_.load(std::memory_order_relaxed) == nullptr) return;
        for (void* each = returned_.exchange(nullptr, std::memory_order_acquire); each != nullptr;) {
            void* const next = waiting_block::next(each);
            deallocate(source, each);
            each = next;
        }
    }
    void publish() noexcept {
        const auto& region = arena_.regions()[0];
        const std::size_t base = raw_pointer::position(region.base);
        std::size_t size = region.size;
        if constexpr (requires { arena_.device().reserve(); }) size = arena_.device().reserve();
        base_.store(base, std::memory_order_relaxed);
        end_.store(base + size, std::memory_order_release);
    }
    ALLOT_INLINE void note_used(const void* block, std::size_t size) noexcept {
        const std::size_t end = raw_pointer::position(block) + size + most_rest;
        if (end > fresh_) fresh_ = end;
    }
    /// Returns the bytes of the arena, at most 1 GiB, so that one huge block does not permanently raise other limits.
    [[nodiscard]] std::size_t counted_size() const noexcept {
        constexpr std::size_t most = std::size_t{1} << 30U;
        return arena_.size() < most ? arena_.size() : most;
    }
    ALLOT_INLINE void reuse(std::size_t bytes) noexcept { freed_ -= bytes < freed_ ? bytes : freed_; }
    void zero_by_pages(void* from, std::size_t size) noexcept {
        if constexpr (discards && device_type::discarded_is_zero) {
            const std::size_t page = arena_.device().discard_unit(), at = raw_pointer::position(from);
            const std::size_t first = align_up(at, page), end = align_down(at + size, page);
            if (first < end && size >= large &&
                arena_.device().discard(raw_pointer::locate(from, first - at), end - first)) {
                std::memset(from, 0, first - at);
                std::memset(raw_pointer::locate(from, end - at), 0, at + size - end);
                return;
            }
        }
        std::memset(from, 0, size);
    }
    ALLOT_NOINLINE void discard_freed(void* address, std::size_t size) noexcept {
        if (size >= discard_from_) {
            discard_pages(arena_.device(), raw_pointer::locate(address, 2 * word), size - 3 * word);
            if (size <= highest_threshold) discard_from_ = 2 * size;
        } else if ((dirty_ += size) > most_dirty + discard_from_ + counted_size() / 8) {
            discard(large);
        }
    }

    ALLOT_NO_UNIQUE_ADDRESS typename Source::lists slabs_;
    Lock lock_;
    bool made_ = false;
    std::atomic<void*> returned_{nullptr};
    std::atomic<std::size_t> base_{0}, end_{0};  // the addresses that the region can have
    std::size_t fresh_ = 0;                      // the pages from here on were never part of a block
    std::size_t dirty_ = 0, discard_from_ = DiscardFrom;
    std::size_t freed_ = 0;  // bytes of freed blocks that may have pages
    union {
        char nothing_;
        Arena arena_;
    };
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
