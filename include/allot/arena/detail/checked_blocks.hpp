// SPDX-License-Identifier: BSL-1.0
// checked_blocks: the records of an arena with `hardening::checked`, one slot of a hash table for each live block.
//
//     address ─► hash ─► bucket of 16 slots   │ address · number · check │ address · number · check │ …
//                number of the block ─► slot └ low 4 bits
//
// Internal. hardening.hpp describes the checks. Blocks of strategies with records in band have seals instead
// (sealed_blocks.hpp), and those of a pool in one region a record for each slot (slot_checks.hpp). A record does not
// move while its block is live, except when the table grows, and then it keeps its slot in the new bucket. The number
// of a block names the slot, so that a block which the arena returned is found without a search. A record whose bucket
// is full is in one of the next buckets. The table doubles when three quarters of its slots are in use.
//
// A slot has the exact address, number and metadata of its block, so that a correct call is never reported. The check
// is the size, or 32 bits of a function of the size and of the usable bytes that a strategy keeps in band. Two sizes
// that fit in 32 bits never have the same check; other sizes have it with a probability of 2^-32.
//
// Complexity: O(1) on average. O(live) for `clear_since`, for `classify`, and for a table that grows.
//
// Memory: a slot has 16 bytes with raw pointers and no metadata, and 24 if the strategy does not list its blocks. The
// table is on the host heap.
#pragma once

#include <allot/arena/misuse.hpp>
#include <allot/core/detail/compiler.hpp>

#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Records of the live blocks by address. `Model` is the address model. If `Listed`, the records have the sizes of the
/// blocks, and the numbers of allocations never repeat, so that `clear_since` is exact.
template <class Block, class Model, bool Listed>
class checked_blocks {
    using address = decltype(Block::address);
    using metadata_type = decltype(decltype(Block::metadata)::of_strategy);
    using sequence = std::conditional_t<Listed, std::uint64_t, std::uint32_t>;
    using seal_type = std::conditional_t<Listed, std::size_t, std::uint32_t>;

public:
    struct record {
        address of{};
        sequence number = 0;  // 0: the slot is empty
        seal_type check = 0;
        ALLOT_NO_UNIQUE_ADDRESS metadata_type metadata{};
    };

    checked_blocks() noexcept = default;
    checked_blocks(checked_blocks&& other) noexcept
        : records_{std::exchange(other.records_, nullptr)},
          taken_{std::exchange(other.taken_, nullptr)},
          used_{std::exchange(other.used_, 0U)},
          limit_{std::exchange(other.limit_, 0U)},
          reach_{std::exchange(other.reach_, 0U)},
          shift_{std::exchange(other.shift_, digits - 1)},
          count_{other.count_} {}
    checked_blocks& operator=(checked_blocks&&) = delete;
    ~checked_blocks() {
        delete[] records_;
        delete[] taken_;
    }

    /// Makes room for one more record. Returns false if the heap has no memory for it.
    [[nodiscard]] bool reserve() noexcept { return used_ < limit_ || grow(); }

    /// Adds a block and assigns its number. Returns false if the heap has no memory for the record.
    [[nodiscard]] bool add(Block& fresh, std::size_t room) noexcept {
        if (!reserve()) return false;
        enter(fresh, room, bucket_for(fresh.address));
        return true;
    }
    /// The same without a search. Returns false and changes nothing if the table must grow, or if the first bucket for
    /// the address is full.
    [[nodiscard]] ALLOT_INLINE bool add_at_once(Block& fresh, std::size_t room) noexcept {
        if (used_ >= limit_) [[unlikely]]
            return false;
        const std::size_t bucket = home(fresh.address);
        if (taken_[bucket] == full) [[unlikely]]
            return false;
        enter(fresh, room, bucket);
        return true;
    }

    /// Returns the record of exactly this block, or nullptr. `room()` returns its usable bytes if the strategy keeps
    /// them in band, otherwise 0; it is called only if a block is live at the address. Reports nothing.
    template <class Room>
    [[nodiscard]] ALLOT_INLINE const record* find(const Block& held, Room room) const noexcept {
        if (used_ == 0) return nullptr;
        const record* const named = find_at_once(held, room);
        if (named != nullptr) return named;
        const record* const known = search(held);
        return known != nullptr && known->check == seal(held.size, room()) ? known : nullptr;
    }
    /// The same without a search: also returns nullptr for a block that is not in the slot that its number names.
    template <class Room>
    [[nodiscard]] ALLOT_INLINE const record* find_at_once(const Block& held, Room room) const noexcept {
        if (used_ == 0) [[unlikely]]
            return nullptr;
        const record& named = records_[home(held.address) * slots + held.metadata.number % slots];
        const bool is_there = named.number != 0 && static_cast<std::uint32_t>(named.number) == held.metadata.number &&
                              named.of == held.address && named.metadata == held.metadata.of_strategy;
        return is_there && named.check == seal(held.size, room()) ? &named : nullptr;
    }

    /// Returns the misuse of a block for which `find` returns nullptr. `in_reach` is true if the block is inside a
    /// region. `intact()` returns false if the records in band around a live block at this address are damaged.
    template <class Intact>
    [[nodiscard]] ALLOT_COLD ALLOT_NOINLINE misuse classify(const Block& held, bool in_reach,
                                                            Intact intact) const noexcept {
        const record* known = nullptr;
        bool is_live = false;  // whether the number of the block is that of a live block
        for_each([&](const record& one) {
            if (one.of == held.address) known = &one;
            is_live = is_live || is_named(one, held);
        });
        if (known != nullptr && is_live)
            return !is_named(*known, held) || intact() ? misuse::wrong_size : misuse::overwritten;
        return known != nullptr || in_reach ? misuse::not_live : misuse::foreign_block;
    }

    /// Removes the record of a freed block.
    ALLOT_INLINE void remove(const record& freed) noexcept {
        const auto at = static_cast<std::size_t>(&freed - records_);
        records_[at].number = 0;
        taken_[at / slots] = static_cast<slot_set>(taken_[at / slots] & ~(1U << at % slots));
        --used_;
    }
    /// Records the size and the metadata of a resized block. Its number stays.
    void resize(const record& known, const Block& now, std::size_t room) noexcept {
        record& resized = records_[&known - records_];
        resized.check = seal(now.size, room);
        resized.metadata = now.metadata.of_strategy;
    }

    /// Returns a number that grows with each allocation, for `clear_since`.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// Returns the number of live blocks.
    [[nodiscard]] std::size_t live() const noexcept { return used_; }
    /// Returns the number of live blocks whose addition left `count()` at `since` or less.
    [[nodiscard]] std::size_t live_until(std::uint64_t since) const noexcept
        requires Listed
    {
        std::size_t live = 0;
        for_each([&](const record& one) { live += one.number < since + slots; });
        return live;
    }
    /// Removes the records of blocks that were added when `count()` was `since` or more.
    void clear_since(std::uint64_t since) noexcept
        requires Listed
    {
        for_each([&](const record& one) {
            if (one.number >= since + slots) remove(one);
        });
    }
    /// Calls `f(address, size)` for each live block.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires Listed
    {
        for_each([&](const record& one) { f(one.of, one.check); });
    }
    void clear() noexcept {
        for_each([&](const record& one) { remove(one); });
        reach_ = 0;
    }

private:
    static constexpr unsigned slots = 16, digits = std::numeric_limits<std::size_t>::digits;
    using slot_set = std::uint16_t;  // a bit for each slot of a bucket
    static constexpr slot_set full = 0xFFFF;

    [[nodiscard]] std::size_t buckets() const noexcept { return limit_ / (slots - slots / 4); }  // a power of two
    [[nodiscard]] std::size_t wrap(std::size_t at) const noexcept { return at & (buckets() - 1); }

    /// Returns the bucket for an address: the top bits of a product with the golden ratio.
    [[nodiscard]] std::size_t home(const address& of) const noexcept {
        constexpr auto golden = static_cast<std::size_t>(0x9E3779B97F4A7C15U >> (64U - digits)) | 1U;
        return (Model::position(of) * golden) >> 1U >> shift_;
    }
    [[nodiscard]] static seal_type seal(std::size_t size, [[maybe_unused]] std::size_t room) noexcept {
        if constexpr (Listed) {
            return size;
        } else {
            const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(size) >> 32U);
            return static_cast<std::uint32_t>(size) ^ high * 0x85EBCA6BU ^
                   static_cast<std::uint32_t>(room) * 0x9E3779B1U;
        }
    }
    [[nodiscard]] static bool is_named(const record& known, const Block& held) noexcept {
        return held.metadata.number == 0 || static_cast<std::uint32_t>(known.number) == held.metadata.number;
    }
    [[nodiscard]] static bool is_at(const record& known, const Block& held) noexcept {
        return known.of == held.address && is_named(known, held) && known.metadata == held.metadata.of_strategy;
    }

    /// Finds a block in all slots that can hold it.
    [[nodiscard]] ALLOT_NOINLINE const record* search(const Block& held) const noexcept {
        for (std::size_t away = 0, at = home(held.address); away <= reach_; ++away, at = wrap(at + 1))
            for (unsigned left = taken_[at]; left != 0; left &= left - 1) {
                const record& known = records_[at * slots + static_cast<unsigned>(trailing_zeros(left))];
                if (is_at(known, held)) return &known;
            }
        return nullptr;
    }
    template <class Function>
    void for_each(Function f) const noexcept {
        for (std::size_t at = 0; at != buckets(); ++at)
            for (unsigned left = taken_[at]; left != 0; left &= left - 1)
                f(records_[at * slots + static_cast<unsigned>(trailing_zeros(left))]);
    }

    /// Returns the first bucket for an address that has a free slot. Precondition: there is a free slot.
    [[nodiscard]] std::size_t bucket_for(const address& of) noexcept {
        std::size_t at = home(of);
        for (std::size_t away = 0; taken_[at] == full; at = wrap(at + 1))
            if (++away > reach_) reach_ = away;
        return at;
    }
    /// Takes the lowest free slot of a bucket. Returns the slot.
    [[nodiscard]] ALLOT_INLINE unsigned take(std::size_t bucket) noexcept {
        const unsigned taken = taken_[bucket];
        taken_[bucket] = static_cast<slot_set>(taken | (taken + 1));
        return static_cast<unsigned>(trailing_zeros(~taken));
    }
    /// Records a fresh block in a bucket with a free slot, and assigns its number.
    ALLOT_INLINE void enter(Block& fresh, std::size_t room, std::size_t bucket) noexcept {
        count_ += slots;
        if (static_cast<std::uint32_t>(count_) == 0) count_ += slots;
        const unsigned slot = take(bucket);
        const auto number = static_cast<sequence>(count_ | slot);
        fresh.metadata.number = static_cast<std::uint32_t>(number);
        records_[bucket * slots + slot] = {fresh.address, number, seal(fresh.size, room), fresh.metadata.of_strategy};
        ++used_;
    }
    [[nodiscard]] ALLOT_NOINLINE bool grow() noexcept {
        const std::size_t more = records_ == nullptr ? 1 : 2 * buckets();
        if (more > std::numeric_limits<std::size_t>::max() / slots / sizeof(record) / 2) return false;
        auto* const larger = new (std::nothrow) record[slots * more];
        auto* const taken = new (std::nothrow) slot_set[more]{};
        if (larger == nullptr || taken == nullptr) {
            delete[] larger;
            delete[] taken;
            return false;
        }
        const checked_blocks old{std::move(*this)};
        records_ = larger;
        taken_ = taken;
        used_ = old.used_;
        limit_ = more * (slots - slots / 4);
        shift_ = old.shift_ - (more == 1 ? 0 : 1);
        // Records in the first bucket for their address keep their slots, because a bucket becomes two. The others
        // follow.
        for (const bool first : {true, false})
            old.for_each([&](const record& known) {
                const auto at = static_cast<std::size_t>(&known - old.records_);
                if ((old.home(known.of) == at / slots) != first) return;
                const std::size_t bucket = first ? home(known.of) : bucket_for(known.of);
                if (first) taken_[bucket] = static_cast<slot_set>(taken_[bucket] | 1U << at % slots);
                records_[bucket * slots + (first ? at % slots : take(bucket))] = known;
            });
        return true;
    }

    record* records_ = nullptr;
    slot_set* taken_ = nullptr;
    std::size_t used_ = 0;
    std::size_t limit_ = 0;        // the number of records with which the table grows
    std::size_t reach_ = 0;        // the largest distance of a record from the first bucket for its address
    unsigned shift_ = digits - 1;  // of a product, less one
    std::uint64_t count_ = 0;      // number of the last allocation, a multiple of `slots`
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
