// SPDX-License-Identifier: BSL-1.0
// hardening: detection of wrong uses of blocks (misuses) at run time.
//
//     allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>,
//                  allot::arena_options{.hardening = allot::hardening::debug}> memory{{}, 1_MiB};
//     auto block = memory.allocate({.size = 100});
//     memory.deallocate(block);
//
//     none      Nothing is stored and nothing is checked.
//     checked   Every live block has a record. A call that frees, resizes or measures a block reports a misuse and
//               otherwise does nothing, so that no state is corrupted, if the block is foreign, already freed, of
//               another size, or out of the order of a stack or a ring, or if a record in band next to it is damaged.
//     debug     In addition, freed bytes are overwritten where the host can access them. They are checked when they are
//               allocated again and when the arena is destroyed; a changed byte is reported. Blocks that are live when
//               the arena is destroyed are reported as well, unless the strategy never reuses a block.
//
// A block of a hardened arena carries the number of its allocation. A stale copy that is freed again is therefore
// reported, even if another block of the same size has the same address. A block that is constructed from an address
// and a size has the number 0, which matches every live block there.
//
// When to use: `debug` in tests and while searching for a fault; `checked` where a crash is better than corruption.
//
// When not to use: with pool_store::atomic_bitmap, because the records are not for concurrent calls.
//
// Not detected: reads; writes past the end of a block that reach neither a record in band nor freed bytes; writes to
// freed bytes that hold records (in band: two words at the start of a freed block and one at its end, and as much
// around a block that is cut from it); writes to bytes that `reset` or `rollback` freed, or that were released to the
// device; a constructed block that is freed after its address was allocated again with the same size.
//
// The default handler writes one line to stderr and aborts. Without a hosted C library (-ffreestanding), it only
// aborts.
//
// Complexity: O(log live) for every call.
//
// Memory: one record of about 100 bytes on the host heap for every live block and for up to 64 freed blocks. `debug`
// adds one for every freed block until its bytes are allocated again. If the heap has no memory for the record of a new
// block, the allocation fails.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/block.hpp>
#include <allot/core/options.hpp>

#include <boost/intrusive/set.hpp>

#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#if __STDC_HOSTED__
#include <cstdio>
#endif

namespace allot {
inline namespace v1 {

/// Misuse of a block.
enum class misuse : unsigned char {
    foreign_block,       ///< The block is in no region of this arena, and was not freed recently.
    not_live,            ///< No such block is live: it was freed before, or its address was changed.
    wrong_size,          ///< A block is live at this address, with another size or other metadata.
    leaked,              ///< The block is live at the end of its arena (debug), or of the body of a storage.
    killed_before,       ///< A tensor or storage was killed or used after it was killed.
    out_of_order,        ///< The block is not the newest of its end of a stack, or not the oldest of a ring.
    overwritten,         ///< The record before or after the block is damaged: a write past the end of a block.
    written_after_free,  ///< A byte of the block was written after the block was freed (debug).
};
/// Returns a human-readable description.
[[nodiscard]] constexpr const char* to_string(misuse what) noexcept {
    switch (what) {
        case misuse::foreign_block: return "a block that this allocator did not allocate";
        case misuse::not_live: return "a block that is not live: already freed, or its address was changed";
        case misuse::wrong_size: return "a live block whose size or metadata was changed";
        case misuse::leaked: return "a block that is still live when its memory is destroyed";
        case misuse::killed_before: return "a tensor or storage that is already killed";
        case misuse::out_of_order: return "freed out of order: a stack frees its newest block first, a ring its oldest";
        case misuse::overwritten: return "the record next to this block is damaged: a write past the end of a block";
        case misuse::written_after_free: return "a write to a block after it was freed";
    }
    return "unknown";
}

/// Record of the block at a position: the live block, or the last freed one. Calls are numbered from 1 over all
/// allocations and deallocations.
struct block_history {
    std::size_t position = 0;     ///< Position of the block.
    std::size_t size = 0;         ///< Size of the block.
    std::uint64_t allocated = 0;  ///< Number of the call that allocated the block; 0: no block is recorded.
    std::uint64_t freed = 0;      ///< Number of the call that freed the block; 0: the block is live.
};

/// Default misuse handler. A handler is a type whose objects are called for every misuse with the kind of misuse, the
/// block's position (its address, or its offset for memory with handles) and its size, and with its history if they
/// accept it. If a handler returns, the misused call has changed nothing.
struct abort_on_misuse {
    /// Writes the misuse to stderr and aborts.
    [[noreturn, gnu::cold]] void operator()([[maybe_unused]] misuse what, [[maybe_unused]] std::size_t position,
                                            [[maybe_unused]] std::size_t size,
                                            [[maybe_unused]] const block_history& known = {}) const noexcept {
#if __STDC_HOSTED__
        std::fprintf(stderr, "allot: misuse: %s (at 0x%zx, size %zu)", to_string(what), position, size);
        if (known.allocated != 0) {
            std::fprintf(stderr, "; known there: size %zu at 0x%zx, allocated by call %llu", known.size, known.position,
                         static_cast<unsigned long long>(known.allocated));
            if (known.freed != 0)
                std::fprintf(stderr, ", freed by call %llu", static_cast<unsigned long long>(known.freed));
        }
        std::fputc('\n', stderr);
#endif
        std::abort();
    }
};

/// Metadata of a block of a hardened arena.
template <class Ticket>
struct hardened_metadata {
    [[no_unique_address]] Ticket of_strategy{};  ///< The strategy's metadata.
    std::uint32_t number = 0;                    ///< Number of the allocation; 0 matches every allocation.
    /// Compares both members.
    friend constexpr bool operator==(const hardened_metadata&, const hardened_metadata&) = default;
};

namespace detail {

/// Whether a block that is constructed from an address and a size can be freed: its metadata is empty.
template <class Ticket>
inline constexpr bool is_spare_metadata = std::is_empty_v<Ticket>;
template <class Ticket>
inline constexpr bool is_spare_metadata<hardened_metadata<Ticket>> = std::is_empty_v<Ticket>;

/// Calls the handler.
template <class OnMisuse>
void report(misuse what, std::size_t position, std::size_t size, const block_history& known = {}) noexcept {
    if constexpr (std::is_invocable_v<OnMisuse, misuse, std::size_t, std::size_t, const block_history&>)
        OnMisuse{}(what, position, size, known);
    else OnMisuse{}(what, position, size);
}

/// Records of the live blocks by position, and of the last freed ones.
template <class Block>
class live_blocks {
public:
    struct record : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
        Block held;  // including its number
        std::size_t position;
        std::size_t capacity;
        std::uint64_t allocated, freed = 0;
        [[nodiscard]] block_history history() const noexcept { return {position, held.size, allocated, freed}; }
    };

    live_blocks() noexcept = default;
    live_blocks(live_blocks&& other) noexcept
        : blocks_{std::move(other.blocks_)}, gone_{std::move(other.gone_)}, calls_{other.calls_} {}
    ~live_blocks() { clear(); }

    /// Adds a block and assigns its number. Returns false if the heap has no memory for the record.
    [[nodiscard]] bool add(Block& fresh, std::size_t position, std::size_t capacity) noexcept {
        auto* const known = new (std::nothrow) record;
        if (known == nullptr) return false;
        known->allocated = ++calls_;
        fresh.metadata.number = static_cast<std::uint32_t>(calls_);
        if (fresh.metadata.number == 0) fresh.metadata.number = 1;
        known->held = fresh;
        known->position = position;
        known->capacity = capacity;
        blocks_.insert(*known);
        return true;
    }

    /// Returns the record of exactly this block. If it is not live, reports the misuse and returns nullptr. `in_reach`
    /// is true if the block is inside this memory.
    template <class OnMisuse>
    [[nodiscard]] const record* check(const Block& held, std::size_t position, bool in_reach) const noexcept {
        const record* known = nullptr;
        auto [first, last] = blocks_.equal_range(position);
        for (; first != last; ++first) {
            if (first->held.address != held.address) continue;
            known = &*first;
            Block named = held;
            if (named.metadata.number == 0) named.metadata.number = known->held.metadata.number;
            if (known->held == named) return known;
        }
        const bool stale = known != nullptr && known->held.metadata.number != held.metadata.number &&
                           held.metadata.number != 0 && !is_live(held.metadata.number);
        block_history history;
        if (known != nullptr && !stale) {
            history = known->history();
        } else if (const record* const gone = last_gone(held, position)) {
            history = gone->history();
            in_reach = true;
        }
        report<OnMisuse>(known != nullptr && !stale ? misuse::wrong_size
                         : in_reach || stale        ? misuse::not_live
                                                    : misuse::foreign_block,
                         position, held.size, history);
        return nullptr;
    }

    /// Returns the first live block above this one, or nullptr.
    [[nodiscard]] const record* above(const record& known) const noexcept {
        const auto next = blocks_.upper_bound(known.position);
        return next == blocks_.end() ? nullptr : &*next;
    }

    /// Records that a block was freed.
    void remove(const record& known) noexcept {
        auto& freed = const_cast<record&>(known);
        blocks_.erase(blocks_.iterator_to(freed));
        freed.freed = ++calls_;
        if (gone_.size() == most_gone) {
            auto oldest = gone_.begin();
            for (auto i = gone_.begin(); i != gone_.end(); ++i)
                if (i->freed < oldest->freed) oldest = i;
            gone_.erase_and_dispose(oldest, delete_record);
        }
        gone_.insert(freed);
    }
    /// Records that a block was resized.
    void resize(const record& known, std::size_t size, std::size_t capacity) noexcept {
        auto& resized = const_cast<record&>(known);
        resized.held.size = size;
        resized.capacity = capacity;
    }
    /// Records that a block was resized and has other metadata. Its number stays.
    void resize(const record& known, const Block& now, std::size_t capacity) noexcept {
        resize(known, now.size, capacity);
        const_cast<record&>(known).held.metadata.of_strategy = now.metadata.of_strategy;
    }

    /// Returns the number of calls so far, for `clear_since`.
    [[nodiscard]] std::uint64_t count() const noexcept { return calls_; }
    /// Removes the records of blocks that were added when `count()` was `since` or more.
    void clear_since(std::uint64_t since) noexcept {
        for (auto r = blocks_.begin(); r != blocks_.end();)
            r = r->allocated <= since ? ++r : blocks_.erase_and_dispose(r, delete_record);
    }
    void clear() noexcept {
        blocks_.clear_and_dispose(delete_record);
        gone_.clear_and_dispose(delete_record);
    }

    template <class Function>
    void for_each(Function&& call) const noexcept {
        for (const record& known : blocks_) call(known);
    }

private:
    struct by_position {
        using type = std::size_t;
        type operator()(const record& r) const noexcept { return r.position; }
    };
    using set = boost::intrusive::multiset<record, boost::intrusive::key_of_value<by_position>>;
    static constexpr std::size_t most_gone = 64;

    static constexpr auto delete_record = [](record* known) { delete known; };

    [[nodiscard]] bool is_live(std::uint32_t number) const noexcept {
        for (const record& known : blocks_)
            if (known.held.metadata.number == number) return true;
        return false;
    }
    [[nodiscard]] const record* last_gone(const Block& held, std::size_t position) const noexcept {
        const record* newest = nullptr;
        auto [first, last] = gone_.equal_range(position);
        for (; first != last; ++first) {
            if (first->held.address != held.address) continue;
            if (held.metadata.number != 0 && first->held.metadata.number == held.metadata.number) return &*first;
            if (newest == nullptr || first->freed > newest->freed) newest = &*first;
        }
        return newest;
    }

    set blocks_, gone_;
    std::uint64_t calls_ = 0;
};

/// Ranges of freed bytes, which are overwritten with one value until they are allocated again.
class freed_bytes {
    struct run : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
        std::size_t from, to;  // positions, which are addresses
        block_history of;
    };
    struct by_start {
        using type = std::size_t;
        type operator()(const run& r) const noexcept { return r.from; }
    };
    using set = boost::intrusive::set<run, boost::intrusive::key_of_value<by_start>>;

public:
    static constexpr unsigned char value = 0xDD;

    freed_bytes() noexcept = default;
    freed_bytes(freed_bytes&&) noexcept = default;
    ~freed_bytes() { clear(); }

    /// Records that all bytes in [`from`, `to`) have the value. Precondition: no recorded range contains one of them.
    void add(std::size_t from, std::size_t to, const block_history& of) noexcept {
        if (from >= to) return;
        auto* const fresh = new (std::nothrow) run;
        if (fresh == nullptr) return;  // bytes without a record are not checked
        fresh->from = from;
        fresh->to = to;
        fresh->of = of;
        runs_.insert(*fresh);
    }

    /// Checks the bytes in [`looked_at`, `looked_to`), then removes [`from`, `to`) from the record.
    template <class OnMisuse>
    void take(std::size_t from, std::size_t to, std::size_t looked_at, std::size_t looked_to) noexcept {
        auto i = runs_.upper_bound(from);
        if (i != runs_.begin()) --i;
        while (i != runs_.end() && i->from < to) {
            run& in = *i++;
            if (in.to <= from) continue;
            look<OnMisuse>(in, looked_at, looked_to);
            const std::size_t end = in.to;
            if (in.from < from) {
                in.to = from;
                if (to < end) add(to, end, in.of);
            } else if (to < end) {
                in.from = to;  // keeps the order of the set
            } else {
                runs_.erase_and_dispose(runs_.iterator_to(in), delete_run);
            }
        }
    }

    /// Checks all recorded bytes.
    template <class OnMisuse>
    void look_at_all() const noexcept {
        for (const run& in : runs_) look<OnMisuse>(in, in.from, in.to);
    }
    void clear() noexcept { runs_.clear_and_dispose(delete_run); }

private:
    static constexpr auto delete_run = [](run* r) { delete r; };

    template <class OnMisuse>
    static void look(const run& in, std::size_t from, std::size_t to) noexcept {
        if (from < in.from) from = in.from;
        if (to > in.to) to = in.to;
        for (std::size_t at = from; at < to; ++at) {
            if (*reinterpret_cast<const unsigned char*>(at) == value) continue;
            report<OnMisuse>(misuse::written_after_free, in.of.position, in.of.size, in.of);
            return;
        }
    }

    set runs_;
};

/// Records of an allocator with `hardening::debug`. The destructor reports writes to freed bytes and, if `Leaks`,
/// blocks that are still live.
template <class Block, class OnMisuse, bool Leaks>
struct debugged_blocks : live_blocks<Block> {
    debugged_blocks() noexcept = default;
    debugged_blocks(debugged_blocks&&) noexcept = default;
    ~debugged_blocks() {
        freed.template look_at_all<OnMisuse>();
        if constexpr (Leaks)
            this->for_each([](const auto& known) {
                report<OnMisuse>(misuse::leaked, known.position, known.held.size, known.history());
            });
    }
    freed_bytes freed;
};

}  // namespace detail

}  // namespace v1
}  // namespace allot
