// SPDX-License-Identifier: BSL-1.0
// sealed_blocks: the checks of an arena with `hardening::checked` whose strategy keeps its records in band. Each live
// block has a seal of 64 bits at its end.
//
//     │ record │ the caller's bytes ……………………… │ seal │ record │ the caller's bytes ……… │ seal │
//         └──── the usable bytes, in front of ────┘
//
//     seal = ((number << 32) + size) ^ address of the block * hash(first address of the arena)
//
// Internal. hardening.hpp describes the checks. A block is live if the seal that its record leads to has its number and
// its size. Only live blocks have a seal: a deallocation overwrites it. No address outside the regions is read.
//
// A correct call is never reported. A wrong number or a wrong size is always detected. Other bytes are a seal by chance
// with a probability of 2^-64. With the number 0 it is n / 2^64 after n allocations, because each assigned number is
// right. A write past the end of a block changes its seal before it reaches the next record.
//
// A block with a damaged seal stays live. Each deallocation of it reports `overwritten` until the seal is repaired.
//
// Not detected: a block of an earlier arena over the same bytes that was live at the end of that arena. The hash is no
// protection against code that reads the memory on purpose.
//
// Complexity: O(1), and O(regions) for a block outside the region of the last deallocation. O(blocks) for a report, and
// for `is_live` of a block that was freed earlier than the last one.
//
// Memory: 8 bytes for each live block, in the managed memory.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/arena/misuse.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/detail/sanitizer.hpp>
#include <allot/core/strategy.hpp>

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Bytes of a seal.
inline constexpr std::size_t seal_bytes = sizeof(std::uint64_t);

/// Whether a strategy keeps records in band that lead to the end of each block.
template <class Strategy>
concept sealable = Strategy::in_band && sizeof(typename Strategy::offset_type) >= sizeof(std::uint32_t) &&
                   requires(const Strategy strategy, allocation_of<Strategy> given) {
                       strategy.is_sound_beside(given, given.where);
                       strategy.is_between_blocks(given, given.where.offset, given.where.size);
                       strategy.for_each_record(given.where, [](extent_of<Strategy>, bool) {});
                   };

/// Checks of blocks with seals. Offsets are addresses. `Regions` keeps `seal_bytes` behind each block.
template <class Regions, class Block, class Model, class OnMisuse>
class sealed_blocks {
    using allocation = decltype(std::declval<const Regions&>().space().allocation_for({}));
    using extent_type = decltype(allocation::where);
    using offset = decltype(extent_type::offset);
    using word = std::uint64_t;

public:
    sealed_blocks() noexcept = default;
    sealed_blocks(sealed_blocks&& other) noexcept
        : where_{std::exchange(other.where_, {})}, key_{other.key_}, count_{other.count_}, freed_{other.freed_} {}
    sealed_blocks& operator=(sealed_blocks&&) = delete;

    /// Assigns the number of a fresh block, and seals it.
    template <class Allocation>
    [[nodiscard]] ALLOT_INLINE bool admit_at_once(const Regions& in, Block& fresh, const Allocation& given) noexcept {
        fresh.metadata.number = count_ += 2;
        const offset at = given.where.offset;
        write_seal(at, in.strategy().capacity(given), content(fresh, count_) ^ hash(at));
        return true;
    }
    /// Is not called: no seal needs a search.
    template <class Allocation>
    [[nodiscard]] static constexpr bool admit(const Regions&, Block&, const Allocation&) noexcept {
        return true;
    }

    /// Returns true if this block is live, also if its seal is damaged. Reports nothing.
    [[nodiscard]] bool known(const Regions& in, const Block& held) const noexcept {
        if (is_sealed(in, held, where_) || is_sealed(in, held, reach_of(in, position(held)))) return true;
        return held.metadata.number != freed_ && has_damaged_seal(in, held);
    }
    /// The same, and reports the misuse of a block that is not live.
    [[nodiscard]] bool check(const Regions& in, const Block& held) const noexcept {
        return known(in, held) || report_unknown(in, held);
    }

    /// Breaks the seal of a block that may be freed, and stores the record in front of it. Returns false and changes
    /// nothing for a block beside a hole, for one with the number 0, for one in another region than the last one, for
    /// one that is larger than `most_at_once` granules or close to the end of its region, and where `free` has to
    /// report.
    [[nodiscard]] ALLOT_INLINE bool free_at_once(const Regions& in, const Block& held, offset& record) noexcept {
        const offset at = position(held), index = where_.index_of(at);
        if (index >= where_.at_once) [[unlikely]]
            return false;
        const offset above = most_at_once != 0 ? most_at_once : static_cast<offset>(where_.granules - index);
        if (!in.strategy().is_between_blocks(allocation_for(in, held), above, record)) [[unlikely]]
            return false;
        const offset room = in.strategy().capacity_between_blocks(record);
        if ((read_seal(at, room) ^ hash(at)) - held.size != word{held.metadata.number} << 32U) [[unlikely]]
            return false;
        write_seal(at, room, 0);
        freed_ = held.metadata.number;
        return true;
    }
    /// The same for each block, and reports the misuse.
    [[nodiscard]] bool free(const Regions& in, const Block& held) noexcept {
        const offset at = position(held);
        if (!is_sealed(in, held, where_) || !is_sound(in, held, where_)) [[unlikely]] {
            where_ = reach_of(in, at);  // the region may have grown
            if (!is_sealed(in, held, where_)) return report_unknown(in, held);
            if (!is_sound(in, held, where_)) return report_overwritten(held);
        }
        const offset room = room_of(in, held);
        freed_ = static_cast<std::uint32_t>((read_seal(at, room) ^ hash(at)) >> 32U);
        write_seal(at, room, 0);
        return true;
    }

    /// Resizes a block by `resize()`, which returns false on failure. Reports a misuse, and then does not call it.
    template <class Resize>
    [[nodiscard]] bool resize(const Regions& in, const Block& held, std::size_t size, Resize resize) noexcept {
        const offset at = position(held);
        const reach inside = reach_of(in, at);
        if (!is_sealed(in, held, inside)) return report_unknown(in, held);
        if (!is_sound(in, held, inside)) return report_overwritten(held);
        const offset before = room_of(in, held);
        const word number = (read_seal(at, before) ^ hash(at)) - held.size;
        write_seal(at, before, 0);
        const bool done = resize();
        write_seal(at, room_of(in, held), (number + (done ? size : held.size)) ^ hash(at));
        return done;
    }

    /// States that regions may have been released.
    void forget_regions() noexcept { where_ = {}; }

private:
    static constexpr offset header = sizeof(offset);  // in_band.hpp
    static constexpr offset granule = 2 * header;
    static constexpr word golden = 0x9E3779B97F4A7C15U;
    // The largest number of granules of a block that `free_at_once` frees; 0: any. A constant needs no bound for each
    // position.
    static constexpr offset most_at_once = [] {
        using strategy = std::remove_cvref_t<decltype(std::declval<const Regions&>().strategy())>;
        if constexpr (requires { strategy::most_between_blocks(); }) return strategy::most_between_blocks();
        else return offset{0};
    }();

    [[nodiscard]] static offset position(const Block& held) noexcept {
        return static_cast<offset>(Model::position(held.address));
    }
    [[nodiscard]] static allocation allocation_for(const Regions& in, const Block& held) noexcept {
        return in.space().allocation_for({held.address, held.size, held.metadata.of_strategy});
    }
    [[nodiscard]] static offset room_of(const Regions& in, const Block& held) noexcept {
        return in.strategy().capacity(allocation_for(in, held));
    }

    // ── regions ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// The positions in a region at which a block can start.
    struct reach {
        offset first = 0, granules = 0;
        offset end = 0;      // of the region
        offset at_once = 0;  // the positions with `most_at_once` granules above them

        /// Returns the index of a position at which a block can start. Others have no index below `granules`.
        [[nodiscard]] ALLOT_INLINE offset index_of(offset at) const noexcept {
            return std::rotr(static_cast<offset>(at - first), std::countr_zero(granule));
        }
    };
    [[nodiscard]] static extent_type region_of(const Regions& in, offset at) noexcept {
        for (std::size_t i = 0; i != Regions::space_type::capacity; ++i)
            if (const extent_type region = in.space().extent(i); region.contains({at, 1})) return region;
        return {};
    }
    [[nodiscard]] ALLOT_NOINLINE static reach reach_of(const Regions& in, offset at) noexcept {
        const extent_type region = region_of(in, at);
        if (region.size <= 2 * granule) return {};
        const auto first = align_up<offset>(static_cast<offset>(region.offset + header), granule);
        const auto granules = static_cast<offset>((region.end() - first) / granule);
        constexpr offset least = most_at_once == 0 ? 1 : most_at_once;
        const offset at_once = granules < least ? 0 : static_cast<offset>(granules - least + 1);
        return {first, granules, region.end(), at_once};
    }

    // ── seals ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Two arenas have different hashes of a position, unless it is a multiple of a large power of two.
    [[nodiscard]] ALLOT_INLINE word hash(offset at) const noexcept { return word{at} * key_; }
    [[nodiscard]] ALLOT_INLINE static word content(const Block& held, std::uint32_t number) noexcept {
        return (word{number} << 32U) + held.size;
    }

    [[nodiscard]] static std::byte* seal_at(offset at, offset room) noexcept {
        return addressed_memory::at(static_cast<offset>(at + room - seal_bytes));
    }
    [[nodiscard]] ALLOT_INLINE static word read_seal(offset at, offset room) noexcept {
        if constexpr (sanitizer::is_on) return sanitizer::read_record<word>(seal_at(at, room));
        word value;
        std::memcpy(&value, ALLOT_ASSUME_ALIGNED(seal_at(at, room), header), sizeof value);
        return value;
    }
    ALLOT_INLINE static void write_seal(offset at, offset room, word value) noexcept {
        if constexpr (sanitizer::is_on) return sanitizer::write_record(seal_at(at, room), value);
        std::memcpy(ALLOT_ASSUME_ALIGNED(seal_at(at, room), header), &value, sizeof value);
    }

    /// Returns true if the record in front of a block leads to its seal. `room` is the number of bytes in this record.
    [[nodiscard]] ALLOT_INLINE bool has_seal(offset at, offset room, const Block& held,
                                             const reach& inside) const noexcept {
        if (room > static_cast<offset>(inside.end - at)) [[unlikely]]
            return false;
        const word number = (read_seal(at, room) ^ hash(at)) - held.size;
        return number == word{held.metadata.number} << 32U || (held.metadata.number == 0 && is_assigned(number));
    }
    /// Returns true if a number of a block, in the upper half of a word, was assigned.
    [[nodiscard]] ALLOT_INLINE bool is_assigned(word number) const noexcept {
        return static_cast<std::uint32_t>(number) == 0 && (number >> 32U) % 2 != 0 && number >> 32U <= count_;
    }
    [[nodiscard]] ALLOT_INLINE static bool is_sound(const Regions& in, const Block& held,
                                                    const reach& inside) noexcept {
        const auto low = static_cast<offset>(inside.first - header);
        return in.strategy().is_sound_beside(allocation_for(in, held), {low, static_cast<offset>(inside.end - low)});
    }
    /// Returns true if this block is in a region and has its seal.
    [[nodiscard]] ALLOT_INLINE bool is_sealed(const Regions& in, const Block& held,
                                              const reach& inside) const noexcept {
        const offset at = position(held);
        return inside.index_of(at) < inside.granules && has_seal(at, room_of(in, held), held, inside);
    }
    /// Returns true if the records list this block, and its seal is that of no block. A write past the end causes this.
    [[nodiscard]] ALLOT_NOINLINE bool has_damaged_seal(const Regions& in, const Block& held) const noexcept {
        const offset at = position(held);
        bool is = false;
        in.strategy().for_each_record(region_of(in, at), [&](const extent_type& each, bool is_allocated) {
            if (each.offset != at || !is_allocated || each.size < seal_bytes) return;
            is = held.size <= each.size - seal_bytes && number_of(at, each.size) == 0;
        });
        return is;
    }

    // ── reports ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// The content of an address.
    enum class found : unsigned char { nothing, free, damaged, allocated };

    /// Reports the misuse of a block that is not live. Returns false.
    ALLOT_COLD ALLOT_NOINLINE bool report_unknown(const Regions& in, const Block& held) const noexcept {
        report<OnMisuse>(classify(in, held), Model::position(held.address), held.size);
        return false;
    }
    /// Reports a damaged record beside a block. Returns false.
    ALLOT_COLD ALLOT_NOINLINE static bool report_overwritten(const Block& held) noexcept {
        report<OnMisuse>(misuse::overwritten, Model::position(held.address), held.size);
        return false;
    }
    /// Returns the misuse of a block that has no seal with its number and size.
    [[nodiscard]] misuse classify(const Regions& in, const Block& held) const noexcept {
        const offset at = position(held);
        found there = found::nothing;
        offset room = 0;
        in.strategy().for_each_record(region_of(in, at), [&](const extent_type& each, bool is_allocated) {
            if (each.offset != at) return;
            room = each.size;
            there = room == 0 ? found::damaged : is_allocated ? found::allocated : found::free;
        });
        if (there == found::damaged) return misuse::overwritten;
        if (there != found::allocated)
            return in.space().contains({held.address, held.size, {}}) ? misuse::not_live : misuse::foreign_block;
        const std::uint32_t number = number_of(at, room), wanted = held.metadata.number;
        if (number == 0) return misuse::overwritten;
        return wanted == 0 || wanted == number || is_live(in, wanted) ? misuse::wrong_size : misuse::not_live;
    }
    /// Returns the number in the seal of an allocated block; 0 if the seal is damaged.
    [[nodiscard]] std::uint32_t number_of(offset at, offset room) const noexcept {
        const word content = read_seal(at, room) ^ hash(at), most{static_cast<offset>(room - seal_bytes)};
        // The size is at most 4 GiB less than the room.
        const word size = most - static_cast<std::uint32_t>(most - content), number = content - size;
        return size - 1 < most && is_assigned(number) ? static_cast<std::uint32_t>(number >> 32U) : 0;
    }
    /// Returns true if a live block has this number.
    [[nodiscard]] bool is_live(const Regions& in, std::uint32_t number) const noexcept {
        bool is = false;
        for (std::size_t i = 0; i != Regions::space_type::capacity; ++i)
            in.strategy().for_each_record(in.space().extent(i), [&](const extent_type& each, bool is_allocated) {
                is = is || (is_allocated && each.size != 0 && number_of(each.offset, each.size) == number);
            });
        return is;
    }

    reach where_;  // in the region of the block that was freed last
    // An odd number that differs from that of every other arena that exists.
    word key_ = (word{reinterpret_cast<std::uintptr_t>(this)} | 1) * golden;
    std::uint32_t count_ = ~0U;  // number of the last allocation, which is odd
    std::uint32_t freed_ = 2;    // number of the block that was freed last; 2 is no number
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
