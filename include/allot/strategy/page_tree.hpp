// SPDX-License-Identifier: BSL-1.0
// page_tree: a lock-free strategy that hands out pages, and blocks of 2, 4, 8 … pages, to many threads.
//
//     using frames = allot::page_tree<allot::page_tree_options{.page = 4096, .count = 1 << 20, .largest_order = 9}>;
//     static frames tree;                                       // one bit for every page: 146 KiB for 4 GiB
//     tree.insert({.offset = 0, .size = std::size_t{4} << 30});
//     auto page = tree.allocate({.size = 4096, .align = 4096});
//     auto large = tree.allocate({.size = 2 << 20, .align = 2 << 20});
//
//     processors     P0 ──────┐             P1 ──────┐
//                             ▼                      ▼
//     subtrees       │ reserved by P0 │  free  │ reserved by P1 │ …       hints: words with free pages, free words
//     words          │1101…│0000…│…   │ 1111…  │0110…│1111…│ …           a set bit is a free page
//
// A request is rounded up to 2^order pages, and its block starts at a multiple of its size: 5 pages take 8. The bytes
// above the request are unused (`capacity` includes them). Each processor allocates in subtrees that it reserved, so
// that processors seldom write to the same cache line. It takes pages from one word until that word is used up, then
// from words that are partly used, so that whole words remain for large blocks. If no subtree without an owner has a
// free block, it takes over that of another processor.
//
// `Processor` is a type whose `operator()` returns the number of the caller's processor, or any other number that
// differs between threads. It affects speed only: a wrong or outdated number is allowed. `processor_by_stack` needs no
// operating system. `host::current_processor` asks Linux.
//
// The object has no pointers. In shared memory it serves several processes, at any address in each. A thread or process
// that is killed at any instruction blocks no other one, and loses the pages that it holds and no others.
//
// When to use: pages and larger power-of-two blocks for several threads or processes, such as frames of a hypervisor,
// pages of a GPU, blocks of a key-value cache.
// When not to use: blocks smaller than a page, or sizes just above powers of two. Use best_fit for these. One size and
// few blocks: pool with `pool_store::atomic_bitmap` takes the lowest one.
//
// Complexity: `allocate` and `deallocate` take one atomic read-modify-write in the common case. A processor that needs
// another subtree reads three numbers of every subtree; a request that fails reads every word. A block of more than one
// word (64 pages) takes one atomic operation for every word.
//
// Memory: one bit for every page; 64 bytes for every subtree, which has 2048 to 4096 pages, or at most 1024 with 32-bit
// words; 64 bytes for every processor. 2^20 pages (4 GiB) take 1.14 bits each, or 1.52 with 32-bit words.
//
// Thread safety: threads, processes and interrupts may call `allocate`, `allocate_at`, `deallocate`, `diagnose` and the
// walks concurrently, also through an arena. No call waits for another one. A call may fail if pages are freed while it
// searches, or while a call for more than a word of pages is in progress, whose pages count as used.
//
// Sources: Wrenger et al., "LLFree: Scalable and Optionally-Persistent Page-Frame Allocation", USENIX ATC 2023, for bit
// fields below subtrees that processors reserve. LLFree counts free pages in every level; here only the bits decide.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>
#include <allot/strategy/detail/page_words.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Processor numbers from the address of the caller's stack, in units of 128 KiB. Stacks of threads are usually apart
/// by equal powers of two, so that an odd `page_tree_options::processors` gives neighboring threads different numbers.
struct processor_by_stack {
    /// Returns the number.
    [[nodiscard]] std::size_t operator()() const noexcept {
        return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(ALLOT_FRAME_ADDRESS()) >> 17);
    }
};

/// Lock-free strategy that divides an extent into pages and allocates blocks of 2^order pages.
template <page_tree_options Options, std::unsigned_integral Offset = std::size_t, class Processor = processor_by_stack>
class page_tree {
    static constexpr unsigned word_order = detail::page_words<detail::page_words_shape{.pages = 1}>::word_order;
    static_assert(is_alignment(Options.page), "allot: page_tree_options::page must be a power of two");
    static_assert(Options.count > 0,
                  "allot: a page_tree needs the number of pages: page_tree_options{.page = 4096, .count = 1024}");
    static_assert(Options.largest_order <= 2 * word_order,
                  "allot: page_tree_options::largest_order is at most 12 with 64-bit words, and 10 with 32-bit words");
    static_assert(Options.processors > 0, "allot: page_tree_options::processors must be at least 1");
    static_assert(std::is_nothrow_invocable_r_v<std::size_t, const Processor&> &&
                      std::is_nothrow_default_constructible_v<Processor>,
                  "allot: the third parameter of a page_tree returns the number of the caller's processor: "
                  "std::size_t operator()() const noexcept");
    static_assert(Options.count == 0 || std::atomic<std::size_t>::is_always_lock_free,
                  "allot: this core has no instructions for exclusive access (Cortex-M0, Cortex-M0+, or RISC-V without "
                  "A), which page_tree needs: use synchronized<Arena, Lock> with another strategy and a lock that "
                  "disables interrupts");

public:
    using offset_type = Offset;                                       ///< Unsigned integer type of offsets and sizes.
    using metadata_type = no_metadata<page_tree>;                     ///< Metadata of a block: none.
    using memory_type = no_memory;                                    ///< The managed memory is not accessed.
    using layout_type = basic_layout<Offset>;                         ///< Size and alignment of a request.
    using extent_type = basic_extent<Offset>;                         ///< Range of offsets.
    using allocation_type = basic_allocation<Offset, metadata_type>;  ///< Result of an allocation: its extent.
    static constexpr bool in_band = false;                            ///< Records are in the strategy.
    static constexpr bool concurrent = true;                          ///< Calls may overlap.
    static constexpr reclaim reclaims = reclaim::any;                 ///< Blocks are freed in any order.
    static constexpr bool exact = false;  ///< A run of free pages that is not aligned to its size is not used.
    static constexpr bool several_extents = false;  ///< Manages one extent.
    /// Extent alignment that `bytes_for` assumes: the size of the largest block. An extent that starts elsewhere is
    /// managed as well, and up to one largest block of `page_tree_options::count` is lost.
    static constexpr std::size_t extent_align = Options.page << Options.largest_order;

private:
    static constexpr unsigned page_log2 = detail::highest_one(std::uint64_t{Options.page});
    static_assert(page_log2 + Options.largest_order < std::numeric_limits<Offset>::digits &&
                      page_log2 + Options.largest_order < std::numeric_limits<std::size_t>::digits,
                  "allot: the largest block of a page_tree does not fit the offset type: use a smaller page or "
                  "largest_order, or a wider offset type");
    static constexpr auto page = static_cast<Offset>(Options.page);
    static constexpr auto largest = static_cast<Offset>(page << Options.largest_order);

public:
    page_tree() noexcept = default;
    /// Moves the pages. Precondition: no concurrent call uses either object. A moved-from tree has no pages.
    page_tree(page_tree&& other) noexcept { *this = std::move(other); }
    /// Moves the pages. Precondition: no concurrent call uses either object. A moved-from tree has no pages.
    page_tree& operator=(page_tree&& other) noexcept {
        if (this == &other) return *this;
        managed_ = std::exchange(other.managed_, {});
        origin_ = std::exchange(other.origin_, 0);
        words_.take_over(other.words_);
        return *this;
    }

    /// Adds the extent and divides it into as many pages as fit, at most `page_tree_options::count`. Returns false if
    /// no page fits, if the extent wraps, or if the tree manages an extent already.
    bool insert(extent_type where, memory_type = {}) noexcept {
        if (managed_ || where.size > std::numeric_limits<Offset>::max() - where.offset) return false;
        const extent_type pages = pages_in(where);
        if (!pages) return false;
        managed_ = pages;
        origin_ = align_down(pages.offset, largest);
        words_.open(index_of(pages.offset), index_of(static_cast<Offset>(pages.end() - page)) + 1);
        return true;
    }
    /// Removes the extent. Returns false and changes nothing if a page is in use. Precondition: no concurrent call.
    bool remove(extent_type inserted) noexcept {
        const extent_type pages = pages_in(inserted);
        if (!pages || pages != managed_ || words_.count_free() != static_cast<std::size_t>(pages.size / page))
            return false;
        managed_ = {};
        words_.close();
        return true;
    }

    /// Allocates a block. Returns an empty allocation if the layout is invalid, larger or more aligned than the largest
    /// block, or if no block is free.
    allocation_type allocate(layout_type wanted) noexcept {
        if (!wanted.is_valid() || wanted.size > largest || wanted.align > largest) return {};
        const unsigned order = order_of(wanted.size), align_order = order_of(wanted.align);
        std::size_t at = 0;
        if (!words_.take(caller(), order, order < align_order ? align_order : order, at)) return {};
        return {{static_cast<Offset>(origin_ + (static_cast<Offset>(at) << page_log2)), wanted.size}, {}};
    }
    /// Frees a block.
    void deallocate(allocation_type allocation) noexcept {
        words_.give(caller(), index_of(allocation.where.offset), order_of(allocation.where.size));
    }

    /// Allocates the block that starts at `wanted.offset`. Returns an empty allocation if no block of its rounded size
    /// starts there, if a page of it is in use, or if `wanted.size` is 0 or larger than the largest block.
    allocation_type allocate_at(extent_type wanted) noexcept {
        if (!is_block(wanted) || !words_.take_at(index_of(wanted.offset), order_of(wanted.size))) return {};
        return {wanted, {}};
    }
    /// Returns the reason for which `allocate_at(wanted)` would fail.
    [[nodiscard]] diagnosis diagnose_at(extent_type wanted) const noexcept {
        if (!wanted) return {refusal::empty_layout, largest_hole()};
        const bool free = is_block(wanted) && words_.is_free(index_of(wanted.offset), order_of(wanted.size));
        return {free ? refusal::none : refusal::not_free, largest_hole()};
    }

    /// Returns the usable bytes of a block: the size of its pages.
    [[nodiscard]] Offset capacity(allocation_type allocation) const noexcept { return rounded(allocation.where.size); }

    /// Returns the reason for which `allocate(wanted)` would fail. O(words).
    [[nodiscard]] diagnosis diagnose(layout_type wanted) const noexcept {
        const std::uint64_t hole = largest_hole();
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, hole};
        if (wanted.size > largest) return {refusal::over_limit, hole};
        if (wanted.align > largest) return {refusal::misaligned, hole};
        const unsigned order = order_of(wanted.size), align_order = order_of(wanted.align);
        if (words_.has(order, order < align_order ? align_order : order)) return {refusal::none, hole};
        return {words_.count_free() >> order == 0 ? refusal::exhausted : refusal::fragmented, hole};
    }

    /// Calls `f(extent)` with every free block of an inserted extent, as large as its position and neighbors allow, in
    /// ascending order.
    template <class Function>
    void for_each_hole(extent_type inserted, Function f) const noexcept {
        if (!managed_ || !inserted.contains(managed_)) return;
        const std::size_t end = index_of(static_cast<Offset>(managed_.end() - page)) + 1;
        for (std::size_t at = index_of(managed_.offset); at != end;) {
            if (!words_.is_free(at, 0)) {
                ++at;
                continue;
            }
            unsigned order = 0;
            while (order != Options.largest_order && (at >> order & 1) == 0 && (end - at) >> (order + 1) != 0 &&
                   words_.is_free(at, order + 1))
                ++order;
            f(extent_at(at, static_cast<Offset>(page << order)));
            at += std::size_t{1} << order;
        }
    }
    /// Calls `f(extent)` with every page of an inserted extent that is in use, in ascending order. Requires blocks of
    /// one page: the bits do not show where a larger block ends.
    template <class Function>
    void for_each_block(extent_type inserted, Function f) const noexcept
        requires(Options.largest_order == 0)
    {
        if (!managed_ || !inserted.contains(managed_)) return;
        for (Offset at = managed_.offset; at != managed_.end(); at = static_cast<Offset>(at + page))
            if (!words_.is_free(index_of(at), 0)) f(extent_type{at, page});
    }

    /// Returns the size of the smallest extent that holds `count` allocations of `each`; 0 if no extent does.
    /// Precondition: the extent's offset is a multiple of `extent_align`.
    [[nodiscard]] static constexpr Offset bytes_for(Offset count, layout_type each) noexcept {
        if (!each.is_valid() || count == 0 || each.size > largest || each.align > largest) return 0;
        const Offset size = rounded(each.size), apart = size < each.align ? each.align : size;
        Offset before = 0, total = 0;
        if (!checked_multiply<Offset>(apart, static_cast<Offset>(count - 1), before)) return 0;
        if (!checked_add<Offset>(before, size, total) || (total >> page_log2) > Options.count) return 0;
        return total;
    }

private:
    [[nodiscard]] static std::size_t caller() noexcept { return Processor{}() % Options.processors; }
    /// Returns the part of an extent that consists of pages, which is empty if no page fits.
    [[nodiscard]] static constexpr extent_type pages_in(extent_type where) noexcept {
        const auto skipped = static_cast<Offset>(static_cast<Offset>(0 - where.offset) & static_cast<Offset>(page - 1));
        if (skipped > where.size) return {};
        const auto first = static_cast<Offset>(where.offset + skipped);
        const auto lost = static_cast<std::size_t>((first & static_cast<Offset>(largest - 1)) >> page_log2);
        auto count = static_cast<Offset>(static_cast<Offset>(where.size - skipped) >> page_log2);
        if (lost >= Options.count) return {};
        if (count > Options.count - lost) count = static_cast<Offset>(Options.count - lost);
        return {first, static_cast<Offset>(count << page_log2)};
    }
    /// Returns the logarithm of the number of pages that a size takes. Precondition: 0 < size <= largest.
    [[nodiscard]] static constexpr unsigned order_of(Offset size) noexcept {
        const auto above = static_cast<Offset>(static_cast<Offset>(size - 1) >> page_log2);
        return above == 0 ? 0 : detail::highest_one(above) + 1;
    }
    [[nodiscard]] static constexpr Offset rounded(Offset size) noexcept {
        return static_cast<Offset>(page << order_of(size));
    }
    [[nodiscard]] constexpr std::size_t index_of(Offset at) const noexcept {
        return static_cast<std::size_t>(static_cast<Offset>(at - origin_) >> page_log2);
    }
    [[nodiscard]] constexpr extent_type extent_at(std::size_t index, Offset size) const noexcept {
        return {static_cast<Offset>(origin_ + (static_cast<Offset>(index) << page_log2)), size};
    }
    [[nodiscard]] constexpr bool is_block(extent_type wanted) const noexcept {
        if (!wanted || wanted.size > largest) return false;
        const Offset size = rounded(wanted.size);
        return wanted.offset % size == 0 && managed_.contains({wanted.offset, size});
    }
    [[nodiscard]] std::uint64_t largest_hole() const noexcept {
        for (unsigned order = Options.largest_order + 1; order-- != 0;)
            if (words_.has(order, order)) return std::uint64_t{page} << order;
        return 0;
    }

    extent_type managed_;
    Offset origin_ = 0;  // the page of bit 0: a multiple of the largest block
    detail::page_words<detail::page_words_shape::of(Options.count, Options.largest_order, Options.processors)> words_;
};

}  // namespace v1
}  // namespace allot
