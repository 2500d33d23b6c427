// SPDX-License-Identifier: BSL-1.0
// slot_checks: the checks of an arena with `hardening::checked` over a pool in one region. Each slot has a record of 64
// bits.
//
//     address ─► index of the slot ─► │ number · size │ 2 · 0 │ number · size │ …       2 · 0: a free slot
//
// Internal. hardening.hpp describes the checks. A correct call is never reported. A wrong address, number or size is
// always detected, because a record has both values exactly. With the number 0, a block is compared by its size.
//
// Complexity: O(1), and O(slots) for a report.
//
// Memory: 8 bytes for each slot up to the highest one that was in use, and up to twice as many: a table on the host
// heap that doubles.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/arena/detail/block_checks.hpp>
#include <allot/arena/misuse.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/strategy.hpp>

#include <bit>
#include <new>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Whether a strategy divides an extent into slots whose sizes fit in a record.
template <class Strategy>
concept slotted = requires(extent_of<Strategy> where) {
    { Strategy::slots_in(where) } -> std::same_as<extent_of<Strategy>>;
    requires Strategy::slot_size <= 0xFFFF'FFFFU;
    requires std::is_empty_v<typename Strategy::metadata_type>;
};

/// Checks of blocks in the slots of one region.
template <class Regions, class Strategy, class Block, class Model, class OnMisuse>
class slot_checks {
    struct record {
        std::uint32_t number = 2;  // of no allocation, so that no block matches a free slot, also none of size 0
        std::uint32_t size = 0;    // 0: the slot is free

        [[nodiscard]] ALLOT_INLINE bool matches(const Block& held) const noexcept {
            return number == held.metadata.number && size == held.size;
        }
    };

public:
    slot_checks() noexcept = default;
    slot_checks(slot_checks&& other) noexcept
        : records_{std::exchange(other.records_, nullptr)},
          slots_{std::exchange(other.slots_, std::size_t{0})},
          first_{other.first_},
          count_{other.count_} {}
    slot_checks& operator=(slot_checks&&) = delete;
    ~slot_checks() { delete[] records_; }

    /// Assigns the number of a fresh block, and records it. Returns false and changes nothing if there is no record for
    /// its slot yet.
    template <class Allocation>
    [[nodiscard]] ALLOT_INLINE bool admit_at_once(const Regions&, Block& fresh, const Allocation&) noexcept {
        const std::size_t index = index_of(fresh);
        if (index >= slots_) [[unlikely]]
            return false;
        fresh.metadata.number = count_ += 2;
        records_[index] = {count_, static_cast<std::uint32_t>(fresh.size)};
        return true;
    }
    /// The same, and makes the record. Returns false if the heap has no memory for it.
    template <class Allocation>
    [[nodiscard]] bool admit(const Regions& in, Block& fresh, const Allocation& given) noexcept {
        const auto region = in.space().extent(0), whole = Strategy::slots_in(region);
        first_ = Model::position(in.space().regions[0].base) + static_cast<std::size_t>(whole.offset - region.offset);
        return grow(index_of(fresh) + 1, static_cast<std::size_t>(whole.size) / slot) &&
               admit_at_once(in, fresh, given);
    }

    /// Returns true if exactly this block is live. Reports nothing.
    [[nodiscard]] bool known(const Regions& in, const Block& held) const noexcept {
        const std::size_t index = index_of(held);
        if (held.size == 0 || index >= slots_ || !is_here(in, held)) return false;
        const record& there = records_[index];
        return there.matches(held) || (held.metadata.number == 0 && there.size == held.size);
    }
    /// Returns true if exactly this block is live. Otherwise reports the misuse.
    [[nodiscard]] bool check(const Regions& in, const Block& held) const noexcept {
        if (known(in, held)) return true;
        report<OnMisuse>(classify(in, held), Model::position(held.address), held.size);
        return false;
    }

    /// Records a block as freed. Returns false and changes nothing if `free` has to compare or to report.
    [[nodiscard]] ALLOT_INLINE bool free_at_once(const Regions& in, const Block& held) noexcept {
        const std::size_t index = index_of(held);
        if (index >= slots_ || !records_[index].matches(held) || !is_here(in, held)) [[unlikely]]
            return false;
        records_[index] = {};
        return true;
    }
    /// Returns true if a block may be freed, and records it as freed. Otherwise reports the misuse.
    [[nodiscard]] bool free(const Regions& in, const Block& held) noexcept {
        if (!check(in, held)) return false;
        records_[index_of(held)] = {};
        return true;
    }

    /// Calls `f(address, size)` for each live block.
    template <class Function>
    void for_each_block(const Regions& in, Function f) const noexcept {
        const auto base = in.space().regions[0].base;
        for (std::size_t i = 0; i != slots_; ++i)
            if (records_[i].size != 0)
                f(Model::locate(base, first_ - Model::position(base) + i * slot), std::size_t{records_[i].size});
    }

private:
    static constexpr std::size_t slot = static_cast<std::size_t>(Strategy::slot_size);
    static constexpr int zeros = std::countr_zero(slot);
    static constexpr std::size_t least = 32;  // records

    /// Returns the inverse of an odd number modulo 2 to the number of bits. Each step doubles the number of right bits.
    [[nodiscard]] static constexpr std::size_t inverse(std::size_t odd) noexcept {
        std::size_t made = odd;  // three bits are right
        for (int right = 3; right < std::numeric_limits<std::size_t>::digits; right *= 2) made *= 2 - odd * made;
        return made;
    }
    /// Returns the index of the slot that starts at the address of a block. Other addresses have no index below
    /// `slots_`: the product is a quotient only for multiples of a slot.
    [[nodiscard]] ALLOT_INLINE std::size_t index_of(const Block& held) const noexcept {
        return std::rotr((Model::position(held.address) - first_) * inverse(slot >> zeros), zeros);
    }
    /// Returns true if the address of a block is one of the region: a position may belong to other memory.
    [[nodiscard]] ALLOT_INLINE static bool is_here([[maybe_unused]] const Regions& in,
                                                   [[maybe_unused]] const Block& held) noexcept {
        if constexpr (Model::absolute) return true;
        const auto base = in.space().regions[0].base;
        return Model::locate(base, Model::position(held.address) - Model::position(base)) == held.address;
    }

    /// Makes at least as many records as are needed, and twice as many as before up to `most`.
    [[nodiscard]] bool grow(std::size_t needed, std::size_t most) noexcept {
        const std::size_t more = slots_ < most / 2 ? 2 * slots_ + least : most;
        const std::size_t made = needed > more ? needed : more < most ? more : most;
        auto* const larger = new (std::nothrow) record[made];
        if (larger == nullptr) return false;
        for (std::size_t i = 0; i != slots_; ++i) larger[i] = records_[i];
        delete[] std::exchange(records_, larger);
        slots_ = made;
        return true;
    }

    /// Returns the misuse of a block that is not live.
    [[nodiscard]] ALLOT_COLD ALLOT_NOINLINE misuse classify(const Regions& in, const Block& held) const noexcept {
        const std::size_t index = index_of(held);
        const bool is_used = index < slots_ && is_here(in, held) && records_[index].size != 0;
        if (is_used && is_live(held.metadata.number)) return misuse::wrong_size;
        const bool is_inside = in.space().contains(bare_block<typename Regions::block_type>(held));
        return is_used || is_inside ? misuse::not_live : misuse::foreign_block;
    }
    /// Returns true if a live block has this number, or if it is 0.
    [[nodiscard]] bool is_live(std::uint32_t number) const noexcept {
        bool is = number == 0;
        for (std::size_t i = 0; i != slots_; ++i) is = is || (records_[i].size != 0 && records_[i].number == number);
        return is;
    }

    record* records_ = nullptr;
    std::size_t slots_ = 0;      // number of records; the slots above were never in use
    std::size_t first_ = 0;      // position of the first slot
    std::uint32_t count_ = ~0U;  // number of the last allocation, which is odd
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
