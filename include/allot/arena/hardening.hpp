// SPDX-License-Identifier: BSL-1.0
// hardening: which wrong uses of blocks are caught.
//
//     none      nothing is stored and nothing is checked
//     checked   every live block is known. A block that is given back, resized or measured is reported and otherwise
//               ignored, so that nothing is corrupted, when it is foreign, freed before, of another size, or out of the
//               order of a stack or a ring. So is one beside which a record in band is damaged.
//     debug     the same; freed bytes are overwritten where the host can reach them, and checked when they are handed
//               out again or the arena ends: a write to them is reported. So are blocks that are still live then,
//               unless the strategy takes none back.
//
// A block of a hardened arena carries the number of its allocation. A copy of it that is freed again is reported even
// when another block of the same size has its address. A block that is made by hand, of an address and a size, has the
// number 0: it stands for whichever block is live there.
//
// Not caught: reads; writes past a block's end that reach neither a record in band nor freed bytes; writes to the freed
// bytes that hold records (in band: two words at the start of a freed block and one at its end, and as much around a
// block that is cut from it); writes to bytes that a reset or a rollback freed, or that the device has back; a block
// made by hand that is freed after its address was handed out again at the same size.
//
// The default handler writes one line to stderr and aborts. Without a hosted C library (-ffreestanding), it only aborts.
//
// Checked arenas take one record of about 100 bytes from the host heap per live block, for up to 64 freed ones, and in
// `debug` one per freed block until its bytes are handed out again; a heap that gives none for a live block is a
// refusal. O(log live) per call. Not synchronised.
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

enum class misuse : unsigned char {
    foreign_block,  // the block lies in no region of this arena, and was not freed lately
    not_live,       // no such block is live: freed before, or its address was changed
    wrong_size,     // such a block is live, with another size or metadata
    leaked,         // still live when the arena ended (debug), or when a storage's body did
    killed_before,  // a tensor or storage was killed or used after it was killed
    out_of_order,   // a stack's block that is not the newest of its end, or a ring's that is not the oldest
    overwritten,    // the record in front of this block, or behind it, is damaged: a write past a block's end
    written_after_free,  // a byte of this block was written after it was freed (debug)
};

/// Human-readable description.
[[nodiscard]] constexpr const char* to_string(misuse what) noexcept {
    switch (what) {
        case misuse::foreign_block: return "a block that this allocator did not hand out";
        case misuse::not_live: return "a block that is not live: freed before, or its address was changed";
        case misuse::wrong_size: return "a live block with another size or metadata than it was handed out with";
        case misuse::leaked: return "still live where its memory ends";
        case misuse::killed_before: return "a tensor or storage that was killed before";
        case misuse::out_of_order: return "freed out of order: a stack takes its newest block back, a ring its oldest";
        case misuse::overwritten: return "the record beside this block is damaged: a write past the end of a block";
        case misuse::written_after_free: return "a block was written to after it was freed";
    }
    return "unknown";
}

/// What a hardened allocator knows of the block at a position: the live one, or the one that was freed there last.
struct block_history {
    std::size_t position = 0, size = 0;
    std::uint64_t allocated = 0;  // by which call, counted from 1 over allocations and frees; 0: no block is known
    std::uint64_t freed = 0;      // by which call; 0: it is live
};

/// The default misuse handler. A handler is a type whose objects are called for every misuse with the block's position
/// (its address, or its offset beside a handle) and size, and with its history if they take it. When a handler returns,
/// the misused call has changed nothing.
struct abort_on_misuse {
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

/// The metadata of a block of a hardened arena: the strategy's, and which allocation it was. 0 stands for any.
template <class Ticket>
struct hardened_metadata {
    [[no_unique_address]] Ticket of_strategy{};
    std::uint32_t number = 0;
    friend constexpr bool operator==(const hardened_metadata&, const hardened_metadata&) = default;
};

namespace detail {

/// Whether a block can be given back without its metadata, made of an address and a size.
template <class Ticket>
inline constexpr bool is_spare_metadata = std::is_empty_v<Ticket>;
template <class Ticket>
inline constexpr bool is_spare_metadata<hardened_metadata<Ticket>> = std::is_empty_v<Ticket>;

template <class OnMisuse>
void report(misuse what, std::size_t position, std::size_t size, const block_history& known = {}) noexcept {
    if constexpr (std::is_invocable_v<OnMisuse, misuse, std::size_t, std::size_t, const block_history&>)
        OnMisuse{}(what, position, size, known);
    else
        OnMisuse{}(what, position, size);
}

/// The blocks that are live, by position, and the last ones that were.
template <class Block>
class live_blocks {
public:
    struct record : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
        Block held;  // with its number
        std::size_t position;
        std::size_t capacity;
        std::uint64_t allocated, freed = 0;
        [[nodiscard]] block_history history() const noexcept { return {position, held.size, allocated, freed}; }
    };

    live_blocks() noexcept = default;
    live_blocks(live_blocks&& other) noexcept
        : blocks_{std::move(other.blocks_)}, gone_{std::move(other.gone_)}, calls_{other.calls_} {}
    ~live_blocks() { clear(); }

    /// Adds a block and gives it its number. False when the heap gives no record.
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

    /// The record of exactly this block. When it is not live, the misuse is reported. `in_reach`: it lies in this
    /// memory.
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

    /// The live block that lies lowest above this one.
    [[nodiscard]] const record* above(const record& known) const noexcept {
        const auto next = blocks_.upper_bound(known.position);
        return next == blocks_.end() ? nullptr : &*next;
    }

    /// A block is freed.
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
    /// A block has another size now.
    void resize(const record& known, std::size_t size, std::size_t capacity) noexcept {
        auto& resized = const_cast<record&>(known);
        resized.held.size = size;
        resized.capacity = capacity;
    }

    /// How many calls there were: what `clear_since` takes.
    [[nodiscard]] std::uint64_t count() const noexcept { return calls_; }
    /// Forgets the blocks that were added when `count` was `since` or more.
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

/// The bytes of freed blocks, overwritten with one value: nobody writes there before they are handed out again.
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

    /// Remembers that all bytes from `from` to `to` have the value. They are in no run yet.
    void add(std::size_t from, std::size_t to, const block_history& of) noexcept {
        if (from >= to) return;
        auto* const fresh = new (std::nothrow) run;
        if (fresh == nullptr) return;  // without a record, these bytes are not checked
        fresh->from = from;
        fresh->to = to;
        fresh->of = of;
        runs_.insert(*fresh);
    }

    /// Forgets the bytes from `from` to `to`; those of [`looked_at`, `looked_to`) are compared before.
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
                in.from = to;  // still before the next
            } else {
                runs_.erase_and_dispose(runs_.iterator_to(in), delete_run);
            }
        }
    }

    /// Compares all of them.
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

/// What a debugging allocator knows besides. When it ends, it reports writes to freed bytes, and blocks that are live
/// still where `Leaks`.
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
