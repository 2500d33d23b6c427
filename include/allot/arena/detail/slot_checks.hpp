// SPDX-License-Identifier: BSL-1.0
// slot_checks: the checks of an arena with `hardening::checked` over a pool in one region.
//
//     address ─► index of the slot ─► record: number and size ─► those of the block?
//
// Internal. hardening.hpp describes the checks. A correct call is never reported. A wrong address, number or size is
// always detected, because a record has both values exactly. With the number 0, a block is compared by its size.
//
// The records are those of the strategy (numbered_slots.hpp). A pool with a bitmap keeps its order of slots and has its
// records here.
//
// Complexity: O(1), and O(slots) for a report.
//
// Memory: that of slot_records.hpp.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/arena/detail/numbered_slots.hpp>
#include <allot/arena/misuse.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/strategy.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Checks of blocks in the slots of one region. `Numbered` is true if the strategy is a `numbered_slots`.
template <class Regions, class Strategy, class Block, class Model, class OnMisuse, bool Numbered>
class slot_checks {
    static constexpr auto choose_records() noexcept {
        if constexpr (Numbered) return std::type_identity<typename Strategy::records_type>{};
        else return std::type_identity<slot_records<static_cast<std::size_t>(Strategy::slot_size), 0>>{};
    }
    using records_type = typename decltype(choose_records())::type;

public:
    /// Assigns the number of a fresh block, and records it. Returns false and changes nothing if there is no record for
    /// its slot yet.
    template <class Allocation>
    [[nodiscard]] ALLOT_INLINE bool admit_at_once(const Regions& in, Block& fresh, const Allocation&) noexcept {
        const std::size_t index = own_.index_of(offset_of(in, fresh));
        if (index >= own_.count()) [[unlikely]]
            return false;
        fresh.metadata.number = own_.enter(index, fresh.size);
        return true;
    }
    /// The same, and makes the record. Returns false if the heap has no memory for it.
    template <class Allocation>
    [[nodiscard]] bool admit(const Regions& in, Block& fresh, const Allocation& given) noexcept {
        const auto slots = Strategy::slots_in(in.space().extent(0));
        if (own_.count() == 0) own_.begin_at(static_cast<std::size_t>(slots.offset));
        return own_.grow(own_.index_of(offset_of(in, fresh)) + 1,
                         static_cast<std::size_t>(slots.size / Strategy::slot_size)) &&
               admit_at_once(in, fresh, given);
    }

    /// Returns true if exactly this block is live. Reports nothing.
    [[nodiscard]] bool known(const Regions& in, const Block& held) const noexcept {
        const records_type& records = records_in(in);
        const std::size_t index = records.index_of(offset_of(in, held));
        if (!records.is_used(index) || !is_here(in, held)) return false;
        return records.size(index) == held.size &&
               (held.metadata.number == 0 || held.metadata.number == records.number(index));
    }
    /// Returns true if exactly this block is live. Otherwise reports the misuse.
    [[nodiscard]] bool check(const Regions& in, const Block& held) const noexcept {
        if (known(in, held)) return true;
        report<OnMisuse>(classify(in, held), Model::position(held.address), held.size);
        return false;
    }

    /// Records a block as freed. Returns false and changes nothing if `free` has to compare or to report.
    [[nodiscard]] ALLOT_INLINE bool free_at_once(const Regions& in, const Block& held) noexcept {
        const records_type& records = records_in(in);
        const std::size_t index = records.index_of(offset_of(in, held));
        if (!records.has(index, held.size, held.metadata.number) || !is_here(in, held)) [[unlikely]]
            return false;
        leave(index);
        return true;
    }
    /// Returns true if a block may be freed, and records it as freed. Otherwise reports the misuse.
    [[nodiscard]] bool free(const Regions& in, const Block& held) noexcept {
        if (!check(in, held)) return false;
        leave(records_in(in).index_of(offset_of(in, held)));
        return true;
    }

    /// Calls `f(address, size)` for each live block.
    template <class Function>
    void for_each_block(const Regions& in, Function f) const noexcept {
        const records_type& records = records_in(in);
        const auto base = in.space().regions[0].base;
        for (std::size_t i = 0; i != records.count(); ++i)
            if (records.is_used(i))
                f(Model::locate(base, records.offset_of(i) - static_cast<std::size_t>(in.space().extent(0).offset)),
                  std::size_t{records.size(i)});
    }

private:
    [[nodiscard]] const records_type& records_in([[maybe_unused]] const Regions& in) const noexcept {
        if constexpr (Numbered) return in.strategy().records();
        else return own_;
    }
    /// Records in the class that a block is freed. A `numbered_slots` does this itself.
    ALLOT_INLINE void leave([[maybe_unused]] std::size_t index) noexcept {
        if constexpr (!Numbered) own_.leave(index, 0);
    }

    /// Returns the offset of a block for the strategy, in the width of a position.
    [[nodiscard]] ALLOT_INLINE static std::size_t offset_of([[maybe_unused]] const Regions& in,
                                                            const Block& held) noexcept {
        const std::size_t at = Model::position(held.address);
        if constexpr (Model::absolute) return at;
        else return at - Model::position(in.space().regions[0].base);
    }
    /// Returns true if the address of a block is one of the region: a position may belong to other memory.
    [[nodiscard]] ALLOT_INLINE static bool is_here([[maybe_unused]] const Regions& in,
                                                   [[maybe_unused]] const Block& held) noexcept {
        if constexpr (Model::absolute) return true;
        else return Model::locate(in.space().regions[0].base, offset_of(in, held)) == held.address;
    }

    /// Returns the misuse of a block that is not live.
    [[nodiscard]] ALLOT_COLD ALLOT_NOINLINE misuse classify(const Regions& in, const Block& held) const noexcept {
        const records_type& records = records_in(in);
        const std::size_t index = records.index_of(offset_of(in, held));
        const std::uint32_t number = held.metadata.number;
        const bool is_used = records.is_used(index) && is_here(in, held);
        if (is_used && (number == 0 || (!records.is_stale(index, number) && is_live(records, number))))
            return misuse::wrong_size;
        const bool is_inside = in.space().contains({held.address, held.size, {}});
        return is_used || is_inside ? misuse::not_live : misuse::foreign_block;
    }
    /// Returns true if a live block has this number.
    [[nodiscard]] static bool is_live(const records_type& records, std::uint32_t number) noexcept {
        bool is = false;
        for (std::size_t i = 0; i != records.count(); ++i)
            is = is || (records.is_used(i) && records.number(i) == number);
        return is;
    }

    struct nothing {};
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<Numbered, nothing, records_type> own_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
