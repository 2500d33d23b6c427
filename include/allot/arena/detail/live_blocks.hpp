// SPDX-License-Identifier: BSL-1.0
// live_blocks: the records that hardened allocators keep beside the memory.
//
// Internal. hardening.hpp describes the checks.
//
// Complexity: O(log live) for every function; O(live) where a function visits all records.
//
// Memory: one record on the host heap for every live block, for up to 64 freed blocks, and for every range of freed
// bytes.
#pragma once

#if !__has_include(<boost/intrusive/set.hpp>)
#error "allot: <allot/arena/hardening.hpp> needs headers of Boost.Intrusive; in CMake, link allot::boost"
#endif

#include <allot/arena/misuse.hpp>
#include <allot/core/detail/sanitizer.hpp>

#include <boost/intrusive/set.hpp>

#include <cstring>
#include <new>

namespace allot {
inline namespace v1 {
namespace detail {

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

    /// Returns the record of exactly this block, or nullptr. Reports nothing.
    [[nodiscard]] const record* find(const Block& held, std::size_t position) const noexcept {
        auto [first, last] = blocks_.equal_range(position);
        for (; first != last; ++first) {
            Block named = held;
            if (named.metadata.number == 0) named.metadata.number = first->held.metadata.number;
            if (first->held == named) return &*first;
        }
        return nullptr;
    }
    /// Returns the record of exactly this block. If it is not live, reports the misuse and returns nullptr. `in_reach`
    /// is true if the block is inside this memory.
    template <class OnMisuse>
    [[nodiscard]] const record* check(const Block& held, std::size_t position, bool in_reach) const noexcept {
        if (const record* const exact = find(held, position)) return exact;
        const record* known = nullptr;
        auto [first, last] = blocks_.equal_range(position);
        for (; first != last; ++first)
            if (first->held.address == held.address) known = &*first;
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
    /// Returns the number of live blocks.
    [[nodiscard]] std::size_t live() const noexcept { return blocks_.size(); }
    /// Returns the number of live blocks whose addition left `count()` at `since` or less.
    [[nodiscard]] std::size_t live_until(std::uint64_t since) const noexcept {
        std::size_t live = 0;
        for_each([&](const record& known) { live += known.allocated <= since; });
        return live;
    }
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

    [[nodiscard]] static unsigned char byte_at(std::size_t position) noexcept {
        const auto* const byte = reinterpret_cast<const unsigned char*>(position);
        if constexpr (sanitizer::is_on) return sanitizer::read_record<unsigned char>(byte);
        return *byte;
    }

    template <class OnMisuse>
    static void look(const run& in, std::size_t from, std::size_t to) noexcept {
        if (from < in.from) from = in.from;
        if (to > in.to) to = in.to;
        [[maybe_unused]] const sanitizer::silence during;  // bytes of a fresh block count as undefined
        for (std::size_t at = from; at < to; ++at) {
            if (byte_at(at) == value) continue;
            report<OnMisuse>(misuse::written_after_free, in.of.position, in.of.size, in.of);
            return;
        }
    }

    set runs_;
};

/// Records of an arena with `hardening::debug`. The destructor reports writes to freed bytes and, if `Leaks`, blocks
/// that are still live. A record in band takes `Word` bytes before a hole, twice as many at its start, and as many at
/// its end.
template <class Block, class OnMisuse, bool Leaks, std::size_t Word>
class debugged_blocks : public live_blocks<Block> {
public:
    debugged_blocks() noexcept = default;
    debugged_blocks(debugged_blocks&&) noexcept = default;
    ~debugged_blocks() {
        freed_.template look_at_all<OnMisuse>();
        if constexpr (Leaks)
            this->for_each([](const auto& known) {
                report<OnMisuse>(misuse::leaked, known.position, known.held.size, known.history());
            });
    }

    /// Overwrites the bytes of a freed block.
    void overwrite(const typename live_blocks<Block>::record& known) noexcept {
        std::memset(known.held.address, freed_bytes::value, known.held.size);
        const std::size_t end = known.position + known.held.size, last = known.position + known.capacity - Word;
        freed_.add(known.position + 2 * Word, end < last ? end : last, known.history());
    }
    /// Checks the freed bytes in [`from`, `to`) of a block that starts at `at` with `room` usable bytes.
    void look_at_fresh(std::size_t at, std::size_t room, std::size_t from, std::size_t to) noexcept {
        freed_.template take<OnMisuse>(at - 2 * Word, at + room + 3 * Word, from, to);
    }
    /// Checks all freed bytes and forgets them.
    void forget_freed() noexcept {
        freed_.template look_at_all<OnMisuse>();
        freed_.clear();
    }

private:
    freed_bytes freed_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
