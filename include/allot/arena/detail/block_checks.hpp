// SPDX-License-Identifier: BSL-1.0
// block_checks: the checks of a hardened arena, over its records and its regions.
//
//     deallocate ─► record of exactly this block? ─► in the order of the strategy? ─► records in band intact? ─► freed
//
// Internal. hardening.hpp describes the checks. slot_checks.hpp and sealed_blocks.hpp have their own. The records are
// `checked_blocks`, or `debugged_blocks` of live_blocks.hpp.
//
// Complexity and memory: those of the records.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/arena/detail/checked_blocks.hpp>
#include <allot/arena/detail/mark.hpp>
#include <allot/arena/misuse.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/strategy.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns a block without the number of a hardened arena. `Plain` is the type of the result.
template <class Plain, class Block>
[[nodiscard]] Plain bare_block(const Block& held) noexcept {
    return {held.address, held.size, held.metadata.of_strategy};
}

/// Checks of an arena whose records are `Records`. `Model` is the address model. `Debugs` is true with
/// `hardening::debug`, and `Overwrites` if the bytes of freed blocks are overwritten as well. `Keeps` is true if the
/// strategy never makes a freed block reusable, so that a mark stays valid when an older block is freed.
template <class Records, class Regions, class Block, class Model, class OnMisuse, bool Debugs, bool Overwrites,
          bool Keeps>
class block_checks : public Records {
    using plain = typename Regions::block_type;

public:
    using record = typename Records::record;

    /// Records a fresh block and assigns its number. Returns false if the heap has no memory for the record.
    template <class Allocation>
    [[nodiscard]] bool admit(const Regions& in, Block& fresh, Allocation given) noexcept {
        const auto room = static_cast<std::size_t>(in.strategy().capacity(given));
        if constexpr (Debugs) {
            const std::size_t at = Model::position(fresh.address);
            const bool recorded = this->add(fresh, at, room);
            // Also without a record: the strategy has written to these bytes.
            if constexpr (Overwrites) this->look_at_fresh(at, room + written_above(in, given), at, at + fresh.size);
            return recorded;
        } else {
            return this->add(fresh, Regions::checks_records ? room : 0);
        }
    }

    /// The same without a search. Returns false and changes nothing if `admit` has to search or to allocate.
    template <class Allocation>
    [[nodiscard]] ALLOT_INLINE bool admit_at_once(const Regions& in, Block& fresh, Allocation given) noexcept {
        if constexpr (Debugs) return false;
        else if constexpr (!Regions::checks_records) return this->add_at_once(fresh, 0);
        else return this->add_at_once(fresh, static_cast<std::size_t>(in.strategy().capacity(given)));
    }

    /// Returns true if exactly this block is live. Reports nothing.
    [[nodiscard]] bool known(const Regions& in, const Block& held) const noexcept {
        return find_record(in, held) != nullptr;
    }
    /// Returns true if exactly this block is live. Otherwise reports the misuse.
    [[nodiscard]] bool check(const Regions& in, const Block& held) const noexcept {
        return checked_record(in, held) != nullptr;
    }

    /// Records a block as freed, without a search. Returns false and changes nothing if `free` has to search or to
    /// report.
    [[nodiscard]] ALLOT_INLINE bool free_at_once(const Regions& in, const Block& held) noexcept {
        if constexpr (Debugs) {
            return false;
        } else {
            const record* const found =
                this->find_at_once(held, [&] { return Regions::checks_records ? room_of(in, held) : 0; });
            if (found == nullptr) return false;
            if constexpr (requires { in.strategy().takes_back(allocation(in, held)); })
                if (!in.strategy().takes_back(allocation(in, held))) return false;
            if constexpr (Regions::checks_records)
                if (!in.is_sound(allocation(in, held))) return false;
            remove(*found);
            return true;
        }
    }
    /// Returns true if a block may be freed, and records it as freed. Otherwise reports the misuse.
    [[nodiscard]] bool free(const Regions& in, const Block& held) noexcept {
        const record* const found = checked_record(in, held);
        if (found == nullptr || !is_in_order(in, held, *found) || !is_sound(in, held, *found)) return false;
        remove(*found);
        if constexpr (Overwrites) this->overwrite(*found);
        return true;
    }

    /// Resizes a block by `resize()`, which returns false on failure. Reports a misuse, and then does not call it.
    template <class Resize>
    [[nodiscard]] bool resize(const Regions& in, const Block& held, std::size_t size, Resize resize) noexcept {
        const record* const found = checked_record(in, held);
        if (found == nullptr || !is_sound(in, held, *found) || !resize()) return false;
        Block now = held;
        now.size = size;
        const std::size_t room = room_of(in, now);
        if constexpr (Overwrites)
            this->look_at_fresh(found->position, room, found->position + held.size, found->position + size);
        Records::resize(*found, now, Debugs || Regions::checks_records ? room : 0);
        return true;
    }

    /// Records that all blocks were freed together.
    void clear() noexcept {
        Records::clear();
        ++resets_;
    }
    /// Returns a mark for `rollback`.
    [[nodiscard]] records_mark mark() const noexcept { return {this->count(), this->live(), resets_, freed_}; }
    /// Returns true if a mark is valid: the blocks that were live are still live, or were freed one by one if the
    /// strategy keeps them. Otherwise reports the misuse.
    [[nodiscard]] bool check(const records_mark& mark) const noexcept {
        const bool valid = mark.resets == resets_ && mark.live - this->live_until(mark.count) <= freed_ - mark.freed;
        if (!valid) report<OnMisuse>(misuse::stale_mark, 0, 0);
        return valid;
    }
    /// Records that the blocks since a valid mark were freed together.
    void rollback(const records_mark& mark) noexcept { this->clear_since(mark.count); }

private:
    ALLOT_INLINE void remove(const record& freed) noexcept {
        Records::remove(freed);
        if constexpr (Keeps) ++freed_;
    }
    /// Returns the record of exactly this block, or nullptr. Reports nothing.
    [[nodiscard]] const record* find_record(const Regions& in, const Block& held) const noexcept {
        if constexpr (Debugs) return this->find(held, Model::position(held.address));
        else return this->find(held, [&] { return Regions::checks_records ? room_of(in, held) : 0; });
    }
    /// Returns the record of a live block. Otherwise reports the misuse and returns nullptr.
    [[nodiscard]] const record* checked_record(const Regions& in, const Block& held) const noexcept {
        if constexpr (Debugs) {
            return Records::template check<OnMisuse>(held, Model::position(held.address), is_inside(in, held));
        } else {
            const record* const found = find_record(in, held);
            if (found == nullptr) report_unknown(in, held);
            return found;
        }
    }
    /// Returns true if the records in band around a live block are intact. Otherwise reports the misuse.
    [[nodiscard]] bool is_sound([[maybe_unused]] const Regions& in, [[maybe_unused]] const Block& held,
                                [[maybe_unused]] const record& found) const noexcept {
        if constexpr (Regions::checks_records) {
            bool sound = true;
            if constexpr (Debugs) {
                const auto as_recorded = [&](const record& one) { return room_of(in, one.held) == one.capacity; };
                const record* const above = this->above(found);
                sound = as_recorded(found) && (above == nullptr || as_recorded(*above));
            }
            if (!sound || !in.is_sound(allocation(in, held))) return report_known(misuse::overwritten, held, found);
        }
        return true;
    }

    [[nodiscard]] static auto allocation(const Regions& in, const Block& held) noexcept {
        return in.space().allocation_for(bare_block<plain>(held));
    }
    [[nodiscard]] static std::size_t room_of(const Regions& in, const Block& held) noexcept {
        return static_cast<std::size_t>(in.strategy().capacity(allocation(in, held)));
    }
    [[nodiscard]] static bool is_inside(const Regions& in, const Block& held) noexcept {
        return in.space().contains(bare_block<plain>(held));
    }
    template <class Allocation>
    [[nodiscard]] static std::size_t written_above([[maybe_unused]] const Regions& in,
                                                   [[maybe_unused]] Allocation given) noexcept {
        if constexpr (requires { in.strategy().cut_above(given); }) return in.strategy().cut_above(given);
        else return 0;
    }
    [[nodiscard]] static bool is_in_order([[maybe_unused]] const Regions& in, [[maybe_unused]] const Block& held,
                                          [[maybe_unused]] const record& found) noexcept {
        if constexpr (requires { in.strategy().takes_back(allocation(in, held)); })
            return in.strategy().takes_back(allocation(in, held)) || report_known(misuse::out_of_order, held, found);
        else return true;
    }

    ALLOT_COLD ALLOT_NOINLINE void report_unknown(const Regions& in, const Block& held) const noexcept {
        const auto intact = [&] {
            if constexpr (Regions::checks_records) {
                Block there = held;
                there.size = 1;  // the size is not known
                return in.is_sound(allocation(in, there));
            }
            return true;
        };
        report<OnMisuse>(this->classify(held, is_inside(in, held), intact), Model::position(held.address), held.size);
    }
    static bool report_known(misuse what, const Block& held, [[maybe_unused]] const record& found) noexcept {
        block_history history;
        if constexpr (Debugs) history = found.history();
        report<OnMisuse>(what, Model::position(held.address), held.size, history);
        return false;
    }

    std::uint64_t resets_ = 0, freed_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
