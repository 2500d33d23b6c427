// SPDX-License-Identifier: BSL-1.0
// heap_slabs: the slabs of an address_heap. A slab is 64 KiB of small blocks of one size, without records.
//
//     reserved   │ table of slabs │ slab 0 │ slab 1 │ slab 2 │ … not committed … │
//                                  ╰ its record in the table: size of its blocks, freed blocks, live blocks, its shard
//     a shard    size  16   32   48 …     slabs with a free block, linked by number
//                       │    │
//                       ▼    ▼
//                       2    0 ─► 7       and empty slabs
//
// Internal. The address of a block gives the number of its slab, whose record gives the capacity. A shard takes four
// slabs at once, so that the system has fewer calls. It reuses an empty slab for any size. It discards the pages of an
// empty slab if more than 16 and an eighth of the others are empty.
//
// Complexity: O(1). Memory: 32 bytes for each slab, and pages that were never used are not touched.
// Thread safety: `slab_range` can be used concurrently. A shard's lock protects its slabs and their records, except the
// size and the shard of a slab with live blocks, which do not change.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/compose/address_cache.hpp>
#include <allot/core/arithmetic.hpp>

#include <atomic>

namespace allot {
inline namespace v1 {
namespace detail {

struct slab {
    static constexpr std::size_t bytes = std::size_t{1} << 16U;
    static constexpr std::uint32_t none = 0xFFFF'FFFFU;

    void* freed;                // the freed blocks
    std::uint32_t fresh, last;  // no block was at or above `fresh` yet; all blocks are below `last`
    std::uint32_t next, previous;
    std::uint16_t size, live, shard;

    [[nodiscard]] ALLOT_INLINE bool is_full() const noexcept { return freed == nullptr && fresh == last; }
    void begin(std::size_t of) noexcept {
        freed = nullptr;
        fresh = 0;
        last = static_cast<std::uint32_t>(bytes / of * of);
        size = static_cast<std::uint16_t>(of);
        live = 0;
    }
};

/// The addresses of all slabs. `Space` reserves and commits pages, as host::address_space does.
template <class Space>
class slab_range {
    static_assert(sizeof(Space*) == 8, "allot: slabs need addresses of 64 bits: use a maker without slab_space");
    static constexpr std::size_t slabs = std::size_t{1} << 20U, most = slabs * slab::bytes;
    static constexpr std::size_t table = slabs * sizeof(slab), total = table + slab::bytes + most;
    static constexpr std::size_t nowhere = ~(~std::size_t{0} >> 1U);  // no address is above it

public:
    static constexpr std::uint32_t at_once = 4;

    constexpr slab_range() noexcept = default;
    slab_range(const slab_range&) = delete;
    slab_range& operator=(const slab_range&) = delete;
    ~slab_range() {
        if (table_.load(std::memory_order_relaxed) != nullptr) Space::release(table_, total);
    }

    [[nodiscard]] ALLOT_INLINE bool contains(const void* address) const noexcept {
        return raw_pointer::position(address) - base_.load(std::memory_order_relaxed) < most;
    }
    /// Returns the number of the slab that contains an address. Precondition: `contains(address)`.
    [[nodiscard]] ALLOT_INLINE std::uint32_t number_of(const void* address) const noexcept {
        return static_cast<std::uint32_t>((raw_pointer::position(address) - base_.load(std::memory_order_relaxed)) /
                                          slab::bytes);
    }
    [[nodiscard]] ALLOT_INLINE slab& at(std::uint32_t number) const noexcept {
        return static_cast<slab*>(table_.load(std::memory_order_relaxed))[number];
    }
    [[nodiscard]] ALLOT_INLINE slab& of(const void* address) const noexcept { return at(number_of(address)); }
    [[nodiscard]] ALLOT_INLINE void* start(std::uint32_t number) const noexcept {
        void* const from = table_.load(std::memory_order_relaxed);
        return raw_pointer::locate(
            from, base_.load(std::memory_order_relaxed) - raw_pointer::position(from) + number * slab::bytes);
    }
    /// Returns true if a live block can have this address.
    [[nodiscard]] bool is_sound(const void* address) const noexcept {
        const std::uint32_t number = number_of(address);
        if (number >= taken_.load(std::memory_order_acquire)) return false;
        const slab& in = at(number);
        const std::size_t inside = raw_pointer::position(address) % slab::bytes;
        return in.live != 0 && inside < in.fresh && inside % in.size == 0;
    }
    /// Commits `at_once` slabs for a shard. Returns the number of the first one, or `none`.
    [[nodiscard]] std::uint32_t take(std::size_t shard) noexcept {
        if (!reserve()) return slab::none;
        std::uint32_t number = taken_.load(std::memory_order_relaxed);
        do
            if (number + at_once > slabs) return slab::none;
        while (!taken_.compare_exchange_weak(number, number + at_once, std::memory_order_acq_rel));
        const std::size_t page = Space::largest_align();
        std::byte* const record = reinterpret_cast<std::byte*>(&at(number));
        std::byte* const first = record - raw_pointer::position(record) % page;
        const std::size_t used = static_cast<std::size_t>(record - first) + at_once * sizeof(slab);
        if (!Space::commit(first, align_up(used, page)) || !Space::commit(start(number), at_once * slab::bytes))
            return slab::none;
        for (std::uint32_t i = 0; i != at_once; ++i) at(number + i).shard = static_cast<std::uint16_t>(shard);
        return number;
    }

private:
    /// Reserves the addresses once. Threads that do so together keep one of the ranges.
    bool reserve() noexcept {
        if (base_.load(std::memory_order_acquire) != nowhere) [[likely]]
            return true;
        if (has_failed_.load(std::memory_order_relaxed)) return false;
        void* found = nullptr;
        void* const mine = Space::reserve(total);
        if (mine == nullptr) return has_failed_.store(true, std::memory_order_relaxed), false;
        if (table_.compare_exchange_strong(found, mine)) found = mine;
        else Space::release(mine, total);
        base_.store(align_up(raw_pointer::position(found) + table, slab::bytes), std::memory_order_release);
        return true;
    }

    std::atomic<std::size_t> base_{nowhere};  // of slab 0
    std::atomic<void*> table_{nullptr};
    std::atomic<std::uint32_t> taken_{0};
    std::atomic<bool> has_failed_{false};
};

/// The slabs of a shard.
template <class Space>
class slab_lists {
    using range = slab_range<Space>;
    static constexpr std::size_t granule = 16;

public:
    static constexpr std::size_t largest = 1024;  // bytes of a block

    constexpr slab_lists() noexcept {
        for (std::uint32_t& each : partial_) each = slab::none;
    }
    /// Allocates up to `count` blocks of one slab, and calls `use(address)` with each. Returns their number.
    /// Precondition: `size` is a multiple of 16.
    template <class Use>
    std::size_t allocate_some(range& all, std::size_t shard, std::size_t size, std::size_t count, Use use) noexcept {
        const std::uint32_t number =
            partial_[size / granule] != slab::none ? partial_[size / granule] : open(all, shard, size);
        if (number == slab::none) return 0;
        slab& from = all.at(number);
        std::size_t given = 0;
        for (; given != count && !from.is_full(); ++given) {
            void* block = from.freed;
            if (block != nullptr) {
                from.freed = waiting_block::next(block);
            } else {
                block = raw_pointer::locate(all.start(number), from.fresh);
                from.fresh += from.size;
            }
            use(block);
        }
        from.live = static_cast<std::uint16_t>(from.live + given);
        live_ += given * size;
        if (from.is_full()) unlink(all, number);
        return given;
    }
    void deallocate(range& all, void* block) noexcept {
        const std::uint32_t number = all.number_of(block);
        slab& to = all.at(number);
        if (to.is_full()) link(all, number);
        waiting_block::set_next(block, to.freed);
        to.freed = block;
        live_ -= to.size;
        if (--to.live == 0) [[unlikely]]
            close(all, number);
    }
    /// Discards the pages of all empty slabs. Returns the number of bytes.
    std::size_t discard(range& all) noexcept {
        std::size_t bytes = 0;
        while (empty_ != slab::none) {
            discard(all, pop(all, empty_));
            --unused_;
            bytes += slab::bytes;
        }
        return bytes;
    }
    /// Returns the number of slabs whose pages are not discarded.
    [[nodiscard]] std::size_t count() const noexcept { return open_.load(std::memory_order_relaxed) + unused_; }
    /// Returns true if there was a slab.
    [[nodiscard]] bool is_used() const noexcept { return open_.load(std::memory_order_relaxed) != 0; }
    /// Returns the bytes of live blocks.
    [[nodiscard]] std::size_t live() const noexcept { return live_; }

private:
    std::uint32_t open(range& all, std::size_t shard, std::size_t size) noexcept {
        if (empty_ == slab::none && clean_ == slab::none) {
            const std::uint32_t first = all.take(shard);
            if (first == slab::none) return slab::none;
            for (std::uint32_t i = range::at_once; i != 0; --i) push(all, clean_, first + i - 1);
        }
        const bool is_warm = empty_ != slab::none;
        if (is_warm) --unused_;
        const std::uint32_t number = pop(all, is_warm ? empty_ : clean_);
        all.at(number).begin(size);
        link(all, number);
        open_.store(open_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return number;
    }
    /// Makes a slab without live blocks available for all sizes, unless it is the last one of its size.
    ALLOT_NOINLINE void close(range& all, std::uint32_t number) noexcept {
        slab& one = all.at(number);
        if (partial_[one.size / granule] == number && one.next == slab::none) return one.begin(one.size);
        unlink(all, number);
        const std::uint32_t left = open_.load(std::memory_order_relaxed) - 1;
        open_.store(left, std::memory_order_relaxed);
        if (unused_ > left / 8 + 16) return discard(all, number);
        ++unused_;
        push(all, empty_, number);
    }
    void discard(range& all, std::uint32_t number) noexcept {
        static_cast<void>(Space::discard(all.start(number), slab::bytes));
        push(all, clean_, number);
    }
    static void push(range& all, std::uint32_t& first, std::uint32_t number) noexcept {
        all.at(number).next = first;
        first = number;
    }
    [[nodiscard]] static std::uint32_t pop(range& all, std::uint32_t& first) noexcept {
        const std::uint32_t number = first;
        first = all.at(number).next;
        return number;
    }
    void link(range& all, std::uint32_t number) noexcept {
        slab& one = all.at(number);
        std::uint32_t& first = partial_[one.size / granule];
        one.previous = slab::none;
        if (first != slab::none) all.at(first).previous = number;
        push(all, first, number);
    }
    void unlink(range& all, std::uint32_t number) noexcept {
        const slab& one = all.at(number);
        if (one.next != slab::none) all.at(one.next).previous = one.previous;
        if (one.previous != slab::none) all.at(one.previous).next = one.next;
        else partial_[one.size / granule] = one.next;
    }

    std::uint32_t partial_[largest / granule + 1]{};
    std::uint32_t empty_ = slab::none, clean_ = slab::none;  // without live blocks: with pages, without them
    std::uint32_t unused_ = 0;                               // slabs in `empty_`
    std::atomic<std::uint32_t> open_{0};                     // slabs with a size
    std::size_t live_ = 0;
};

/// The parts that the shards of a heap share: `Make`, and the range of their slabs if it has a `slab_space`.
template <class Make>
struct heap_source {
    static constexpr bool has_slabs = false;
    struct lists {};
    ALLOT_NO_UNIQUE_ADDRESS Make make;
    constexpr explicit heap_source(Make from) noexcept : make{from} {}
};
template <class Make>
    requires requires { typename Make::slab_space; }
struct heap_source<Make> {
    static constexpr bool has_slabs = true;
    using lists = slab_lists<typename Make::slab_space>;
    ALLOT_NO_UNIQUE_ADDRESS Make make;
    slab_range<typename Make::slab_space> slabs;
    constexpr explicit heap_source(Make from) noexcept : make{from} {}
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
