// SPDX-License-Identifier: BSL-1.0
// block_cache: an allocator that keeps freed blocks in lists by size, and allocates from these lists first.
//
//     allot::block_cache memory{allot::naive{allot::cuda::device_memory{0}}};   // cudaMalloc takes microseconds
//     auto block = memory.allocate({.size = 1'000'000});
//     memory.deallocate(block);                                    // stays allocated in the device
//     auto again = memory.allocate({.size = 1'000'000});           // the same memory, without a call of the driver
//
//     sizes (.smallest = 64, .steps = 4):   64   80   96   112   128   160   192   224   256   320  …  .largest
//                                           │         │
//                                           ▼         ▼
//                                         newest    newest      the last block that was freed is allocated first
//                                         oldest
//
// A size up to `largest` is rounded up to the size of its list. An alignment up to `align` is rounded up to `align`.
// All other requests, and requests without a kept block, go to the allocator. If the allocator refuses a request, all
// kept blocks are freed and the request is repeated. A request whose rounded size does not fit fails. `flush`, `trim`,
// `mark`, `rollback` and the destructor free them, too. A block above `largest` is not resized to a size of a list if
// its address is not a multiple of `align`. A resize to the size of a larger list fails if that size does not fit, also
// if `capacity` is enough for the request.
//
// When to use: over an allocator with slow calls, such as `naive` over a driver, where sizes repeat.
// When not to use: over `best_fit` on memory that the host can access. `deferred<best_fit<>>` keeps blocks without a
// table. To keep the regions of a device: `cached`.
//
// A block cache has every ability of its allocator except `allocate_at`, because its blocks have the sizes of the
// lists. A stack and a ring do not compile, because blocks leave the lists in another order. Over a bump, the lists are
// the only reuse before `reset`. Counters of an allocator inside count kept blocks as live: write
// `counted<block_cache<…>>`. `diagnose` frees the kept blocks if a request would fail with them. A block that is freed
// twice is not detected. A block that a hardened allocator reports and does not free stays in its list.
//
// Complexity: O(1), in addition to the complexity of the allocator if it is called. `for_each_block` is O(live * kept).
// Memory: 8 bytes for each list, and about 32 bytes for each kept block on the heap, or inside the object if
// `block_cache_options::blocks` is a fixed number. If a limit is reached, a freed block goes to the allocator. The
// rounding adds at most 1 / steps of the size.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/compose/detail/forwarding.hpp>
#include <allot/compose/detail/kept_blocks.hpp>
#include <allot/compose/detail/size_lists.hpp>
#include <allot/core/options.hpp>

namespace allot {
inline namespace v1 {

/// The options of `block_cache`.
struct block_cache_options {
    /// The size of the first list in bytes, a power of two. Smaller sizes are rounded up to it.
    std::size_t smallest = 64;
    /// The size of the last list in bytes, a power of two. Larger blocks are not kept.
    std::size_t largest = std::size_t{1} << 26U;
    /// The number of lists between a power of two and the next one: 1, 2, 4, 8 and so on.
    std::size_t steps = 4;
    /// The alignment of kept blocks. Blocks of a larger alignment are allocated from the allocator unless the address
    /// of a kept block satisfies it.
    std::size_t align = alignof(std::max_align_t);
    /// The largest number of bytes that are kept.
    std::size_t bytes = no_bound;
    /// The largest number of blocks that are kept. 0: no limit; the table is on the heap.
    std::size_t blocks = 0;
};

/// An allocator that keeps freed blocks.
template <class Allocator, block_cache_options Options = block_cache_options{}>
class block_cache : public detail::forwarding<Allocator> {
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;
    static_assert(allocator_type::reclaims == reclaim::any || allocator_type::reclaims == reclaim::never,
                  "allot: block_cache frees blocks in another order than the program, which stack and ring do not "
                  "support: use best_fit, pool, bump or naive");
    static constexpr detail::size_lists_shape shape{Options.smallest, Options.largest, Options.steps, Options.align};
    static_assert(shape.is_valid(),
                  "allot: the members smallest, largest, steps and align of block_cache_options must be powers of two, "
                  "with steps <= smallest <= largest");
    using sizes = detail::size_lists<shape>;

public:
    using base::base;
    using typename base::block_type;

    /// Moves the allocator and the kept blocks.
    block_cache(block_cache&&) noexcept = default;
    block_cache& operator=(block_cache&&) = delete;
    /// Frees the kept blocks.
    ~block_cache() { flush(); }

    /// Allocates a kept block, or a block of the allocator, after all kept blocks are freed if necessary. Returns an
    /// empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        if (!wanted.is_valid()) return {};
        if (has_kept(wanted)) {
            const block_type again = kept_.pop_front(lists_[sizes::list_of(wanted.size)]);
            bytes_.value -= again.size;
            return detail::with_size(again, wanted.size);
        }
        const layout rounded = sizes::round_up(wanted);
        block_type given = inner_.allocate(rounded);
        if (!given && flush()) given = inner_.allocate(rounded);
        return given ? detail::with_size(given, wanted.size) : given;
    }
    /// Keeps an unchanged block, or deallocates it in the allocator. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        const block_type whole = sizes::whole_block(held);
        if (!this->is_freeable(whole)) return;
        if (held.size > Options.largest || whole.size > Options.bytes - bytes_.value || !kept_.room())
            return inner_.deallocate(whole);
        kept_.push_front(lists_[sizes::list_of(held.size)], whole);
        bytes_.value += whole.size;
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        if (!held || size == 0) return false;
        block_type whole = sizes::whole_block(held);
        if (const std::size_t rounded = sizes::round_up(size); rounded == whole.size) {
            if (!this->is_freeable(whole)) return false;
        } else if (!sizes::can_resize(inner_, whole, rounded) || !inner_.resize(whole, rounded)) {
            return false;
        }
        held = detail::with_size(whole, size);
        return true;
    }
    /// Frees all kept blocks, then releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<allocator_type>
    {
        flush();
        return inner_.trim();
    }
    /// Frees every block, including the kept ones.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        forget();
        inner_.reset();
    }
    /// Frees all kept blocks and returns a mark for `rollback`. Keep it in a variable of type `auto`.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<allocator_type>
    {
        flush();
        return inner_.mark();
    }
    /// Frees every block that was allocated since the mark, and all kept blocks. Precondition: the mark is from this
    /// allocator and is valid. Returns false and frees only kept blocks if a hardened allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(Mark mark) noexcept {
        flush();
        if (!this->roll_back(mark)) return false;
        keep_if([this](const block_type& held) { return is_still_live(held); });
        return true;
    }
    /// Releases the memory that was acquired since `held()`, after all kept blocks are freed.
    template <class Held>
        requires requires(allocator_type& of, const Held& to) { of.shrink_to(to); }
    void shrink_to(const Held& to) noexcept {
        flush();
        inner_.shrink_to(to);
    }

    /// Frees all kept blocks in the allocator. A block that a hardened allocator reports as misused stays in its list.
    /// Returns true if a block was freed.
    bool flush() noexcept {
        return keep_if([this](const block_type& held) { return !this->give_back(held); });
    }
    /// Returns the number of kept bytes.
    [[nodiscard]] std::size_t kept() const noexcept { return bytes_.value; }

    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept
        requires measuring_allocator<allocator_type>
    {
        return inner_.capacity(sizes::whole_block(held));
    }
    /// Returns true if the block is in the allocator's memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept
        requires owning<allocator_type>
    {
        return inner_.owns(sizes::whole_block(held));
    }
    /// Returns whether this block is live or kept. Misuse is reported. Only for a hardened allocator.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.check(held); }
    {
        return inner_.check(sizes::whole_block(held));
    }
    /// Returns true if exactly this block is live and not kept. Reports nothing. Only for a hardened allocator.
    [[nodiscard]] bool is_live(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.is_live(held); }
    {
        if (held && held.size <= Options.largest) {
            const detail::kept_list& list = lists_[sizes::list_of(held.size)];
            if (!list.is_empty() && kept_.front(list).address == held.address) return false;  // the newest of its size
        }
        return inner_.is_live(sizes::whole_block(held)) && !kept_.contains(held.address);
    }
    /// Returns the reason for which `allocate` would fail. Frees all kept blocks if it would fail with them. Otherwise
    /// the largest hole is that of the allocator, or the kept block that would be allocated.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        const layout rounded = sizes::round_up(wanted);
        const bool kept = has_kept(wanted);
        diagnosis found = inner_.diagnose(rounded);
        if (!kept && found.reason != refusal::none && flush()) found = inner_.diagnose(rounded);
        const std::size_t hole = sizes::usable(inner_, static_cast<std::size_t>(found.largest_hole));
        if (kept) return {refusal::none, hole < rounded.size ? rounded.size : hole};
        found.largest_hole = hole;
        return found;
    }
    /// Calls `f(address, size)` for every hole, without the bytes that the sizes of the lists leave over.
    template <class Function>
    void for_each_hole(Function f) const noexcept
        requires hole_walkable_allocator<allocator_type>
    {
        inner_.for_each_hole([&](const auto& address, std::size_t size) {
            const std::size_t skipped = size > Options.largest ? 0 : unaligned_bytes(address);
            if (size <= skipped) return;
            if (const std::size_t rounded = sizes::round_down(size - skipped); rounded != 0)
                f(base::address_model::locate(address, skipped), rounded);
        });
    }
    /// Calls `f(address, size)` for every live block, without the kept ones. The sizes are those of the lists, or of
    /// the allocator.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires block_walkable_allocator<allocator_type>
    {
        inner_.for_each_block([&](const auto& address, std::size_t size) {
            if (!kept_.contains(address)) f(address, size);
        });
    }

    /// Returns the layout that `allocate` asks of the allocator: with the size of its list.
    [[nodiscard]] friend layout inner_request(block_cache&, layout wanted) noexcept { return sizes::round_up(wanted); }

private:
    /// Returns the number of bytes in front of the first address that has the alignment of the lists.
    template <class Address>
    [[nodiscard]] static std::size_t unaligned_bytes(const Address& address) noexcept {
        return align_up(base::address_model::position(address), Options.align) - base::address_model::position(address);
    }
    [[nodiscard]] static bool suits([[maybe_unused]] const block_type& kept, std::size_t align) noexcept {
        if (align <= Options.align) return true;
        using model = typename base::address_model;
        if constexpr (requires { requires model::absolute; }) return model::position(kept.address) % align == 0;
        else return false;
    }
    /// Returns whether the newest kept block of a size can be allocated.
    [[nodiscard]] bool has_kept(layout wanted) const noexcept {
        if (wanted.size > Options.largest) return false;
        const detail::kept_list& list = lists_[sizes::list_of(wanted.size)];
        return !list.is_empty() && suits(kept_.front(list), wanted.align);
    }
    void forget() noexcept {
        keep_if([](const block_type&) { return false; });
    }
    /// Returns whether a kept block is live after `rollback`. Only a hardened allocator can have refused to free one.
    [[nodiscard]] bool is_still_live([[maybe_unused]] const block_type& held) const noexcept {
        if constexpr (requires(const allocator_type& of) { of.is_live(held); }) return inner_.is_live(held);
        else return false;
    }
    /// Removes the kept blocks for which `f(block)` returns false. Returns true if there was one.
    template <class Function>
    bool keep_if(Function f) noexcept {
        bool any = false;
        for (detail::kept_list& list : lists_) {
            detail::kept_list stay;
            while (!list.is_empty()) {
                const block_type held = kept_.pop_front(list);
                if (f(held)) {
                    kept_.push_back(stay, held);
                } else {
                    bytes_.value -= held.size;
                    any = true;
                }
            }
            list = std::move(stay);
        }
        return any;
    }

    detail::kept_blocks<block_type, Options.blocks> kept_;
    detail::kept_list lists_[sizes::count];
    detail::moved_value<std::size_t> bytes_;
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
block_cache(Allocator&&) -> block_cache<Allocator>;

}  // namespace v1
}  // namespace allot
