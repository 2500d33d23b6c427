// SPDX-License-Identifier: BSL-1.0
// guided_room: places the requests of passes by a guide, and by best fit where they differ from it. Offsets only.
//
// Internal. The room is in one of two modes:
//
//     in step    all calls of the pass were those of the guide. A request is the next call of the guide, and gets the
//                offset of its slot. Best fit is not used, and has no records.
//     loose      best fit has a record for each live block. A request is matched with a slot near the last match. If it
//                is pinned, it gets its place, and otherwise that of the guide's rule.
//
// guided_slots.hpp has the guide and the states of its slots, and guided_space.hpp the free bytes.
//
// `diverge` leaves the step: it repeats the calls of the pass on best fit. `resume` returns to it as soon as each live
// block is one that is live in the guide, at its place. A block that the guide does not expect is a stranger: it has a
// record, or its slot is late.
#pragma once

#include <allot/plan/detail/guided_blocks.hpp>
#include <allot/plan/detail/guided_cursor.hpp>
#include <allot/plan/detail/guided_slots.hpp>
#include <allot/plan/detail/guided_space.hpp>
#include <allot/plan/detail/pass_log.hpp>
#include <allot/plan/pass.hpp>

namespace allot {
inline namespace v1 {

namespace detail {

/// The offset of a block, and its reference. `inside` is false if the room has no place.
struct guided_spot {
    std::size_t offset = 0;
    guided_reference reference{};
    bool inside = false;
};

/// The granule of the rooms of `guided`.
inline constexpr std::size_t guided_granule = 16;

template <std::size_t Granule>
class guided_room : guided_slots<typename guided_space<Granule>::allocation_type> {
    using base = guided_slots<typename guided_space<Granule>::allocation_type>;
    using base::guide_, base::calls_, base::slots_, base::call_, base::epoch_, base::in_step_, base::is_pinned_;
    using base::is_waiting, base::slot_count, base::size_of, base::extent_of_slot, base::is_faithful;
    using base::requests_before, base::skip_freed, base::rule, base::follow, base::has_live_slot;
    using base::states_, base::held_, base::entries_;
    using base::waiting, base::done, base::carried, base::live, base::late;

public:
    using strategy_type = typename guided_space<Granule>::strategy_type;
    using allocation_type = typename guided_space<Granule>::allocation_type;
    using base::reserve;

    guided_room() noexcept = default;
    guided_room(guided_room&&) noexcept = default;
    guided_room& operator=(guided_room&&) noexcept = default;

    /// Sets the size and the alignment of the room, which has no live block.
    void open(std::size_t size, std::size_t align) noexcept { space_.open(size, align); }

    /// Begins a pass with a guide, or with none. The caller keeps the guide until the next call. Returns false and goes
    /// on with the last guide if the heap is exhausted.
    bool begin(const guide* by, std::uint32_t phase) noexcept {
        if (!can_adopt()) return false;
        log_.finish(phase, [this] { log_segment(); });
        ++counters_.passes;
        if (by != guide_ || !carry_over()) adopt(by);
        call_ = logged_call_ = 0;
        cursor_.rewind();
        const bool was_in_step = std::exchange(in_step_, guide_ != nullptr && can_begin_in_step());
        if (was_in_step && !in_step_) repeat();
        return true;
    }
    /// Stops the use of the guide until the next pass begins. Returns false and changes nothing if the heap is
    /// exhausted.
    [[nodiscard]] bool release_guide() noexcept {
        if (!can_adopt()) return false;
        if (log_.count() != 0) log_segment();
        adopt(nullptr);
        call_ = 0;
        if (std::exchange(in_step_, false)) repeat();
        return true;
    }

    /// Returns the offset of a new block.
    ALLOT_INLINE guided_spot allocate(layout wanted, std::uint64_t key) noexcept {
        if (in_step_) [[likely]] {
            std::uint32_t call = calls_[call_];
            while ((call & 1U) != 0 && states_[call >> 1U] < carried) [[unlikely]]
                call = calls_[++call_];
            const std::uint32_t index = call >> 1U;
            const guide_slot& slot = slots_[index];
            if ((call & 1U) == 0 && slot.key == key && slot.align >= wanted.align &&
                (slot.size == wanted.size || (key != 0 && slot.size > wanted.size && wanted.size != 0))) [[likely]] {
                if (slot.is_planned) [[likely]] {
                    ++call_;
                    states_[index] = live;
                    return {static_cast<std::size_t>(slot.offset), {index, epoch_}, true};
                }
                if (!guide_->holds_all) {
                    ++call_;
                    return {};
                }
            }
        }
        return place(wanted, key);
    }
    /// Frees a block if that is the next call of the guide. Otherwise returns false and changes nothing.
    [[nodiscard]] ALLOT_INLINE bool deallocate_in_step(guided_reference held) noexcept {
        if (!in_step_ || held.epoch != epoch_ || calls_[call_] != 2 * held.index + 1) [[unlikely]]
            return false;
        states_[held.index] = states_[held.index] == live ? done : waiting;
        ++call_;
        return true;
    }

    /// Returns the offset of a new block that is not in step. Without `matches`, it gets no slot of the guide.
    ALLOT_COLD guided_spot place(layout wanted, std::uint64_t key, bool matches = true) noexcept {
        if (in_step_) diverge();
        ++counters_.loose;
        const std::uint32_t slot =
            matches && guide_ != nullptr ? cursor_.find(*guide_, wanted, key, is_waiting()) : no_record;
        if (slot == no_record) cursor_.miss();
        else advance(slot);
        if (slot != no_record && !slots_[slot].is_planned && !guide_->holds_all) return {};
        if (wanted.align > space_.align() || !blocks_.room(1)) return {};
        allocation_type at{};
        if (slot != no_record && slots_[slot].is_pinned && wanted.size <= slots_[slot].size &&
            wanted.align <= slots_[slot].align)
            at = space_.allocate_at({extent_of_slot(slot).offset, wanted.size});
        if (at.where.size == 0) at = space_.allocate(wanted, rule());
        if (at.where.size == 0) return {};
        const std::uint64_t entry = log_.request(wanted.size, wanted.align, key);
        if (slot == no_record || !is_faithful(slot, at.where, wanted.align))
            return {at.where.offset, {blocks_.add({at, entry}), 0}, true};
        states_[slot] = slots_[slot].end < call_ && !slots_[slot].is_carried ? late : live;
        late_ += states_[slot] == late;
        held_[slot] = at;
        entries_[slot] = entry;
        const guided_spot spot{at.where.offset, {slot, epoch_}, true};
        resume();
        return spot;
    }

    /// Frees a block with an offset in the room.
    ALLOT_COLD void deallocate(guided_reference held, std::size_t offset) noexcept {
        if (in_step_ && held.epoch == epoch_) {
            skip_freed();
            // Where blocks are pinned, best fit need not see the deallocations in their order.
            if (is_pinned_ || calls_[call_] == 2 * held.index + 1) {
                states_[held.index] = states_[held.index] == live ? done : waiting;
                return;
            }
            diverge();
        }
        cursor_.free();
        if (held.epoch == epoch_) {
            const std::uint32_t i = held.index;
            log_.end(entries_[i], requests());
            late_ -= states_[i] == late;
            states_[i] = states_[i] == carried ? waiting : done;
            take(i);
            resume();
            return;
        }
        const record_index found = blocks_.of(held, offset);
        log_.end(blocks_[found].entry, requests());
        if (!in_step_) space_.deallocate(blocks_[found].at);
        blocks_.remove(found);
        if (!in_step_) resume();
    }
    /// Notes a block that the allocator of the room serves.
    [[nodiscard]] guided_reference note_outside(layout wanted, std::uint64_t key) noexcept {
        ++counters_.outside;
        if (in_step_ || !blocks_.room(1)) return {};
        return {blocks_.add({{}, log_.request(wanted.size, wanted.align, key), true}), 0};
    }
    /// Forgets a block outside.
    void forget_outside(guided_reference held) noexcept {
        if (held.index == no_record) return;
        log_.end(blocks_[held.index].entry, requests());
        blocks_.remove(held.index);
        cursor_.free();
    }

    /// Returns whether a block is in the room.
    [[nodiscard]] bool contains(guided_reference held) const noexcept {
        return held.epoch != 0 || (held.index != no_record && !blocks_[held.index].is_outside);
    }
    /// Returns the usable bytes of a block of the room.
    [[nodiscard]] std::size_t capacity(guided_reference held, std::size_t offset) const noexcept {
        if (held.epoch == epoch_) return size_of(held.index);
        return blocks_[blocks_.of(held, offset)].at.where.size;
    }
    /// Resizes a block of the room in place. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(guided_reference held, std::size_t offset, std::size_t size) noexcept {
        if (size == 0 || size <= capacity(held, offset)) return size != 0;
        if (in_step_ || held.epoch == epoch_) return false;
        allocation_type& at = blocks_[blocks_.of(held, offset)].at;
        if (!space_.resize(at, size)) return false;
        at.where.size = size;
        return true;
    }
    /// Returns the reason for which best fit has no place for a request. Leaves the step.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        if (in_step_) diverge();
        const diagnosis found = space_.diagnose(wanted);
        return found.reason == refusal::none && !blocks_.room(1) ? diagnosis{refusal::out_of_records} : found;
    }
    /// Calls `f(offset, size)` for every hole of the room. O(slots * blocks).
    template <class Function>
    void for_each_hole(Function f) const noexcept {
        std::size_t from = 0;
        while (from < space_.size()) {
            std::size_t next = space_.size(), end = space_.size();
            for_each_block([&](std::size_t offset, std::size_t size) {
                if (offset < from || offset >= next) return;
                next = offset;
                end = align_up(offset + size, Granule);
            });
            if (next > from) f(from, next - from);
            from = end;
        }
    }
    /// Calls `f(offset, size)` for every live block of the room.
    template <class Function>
    void for_each_block(Function f) const noexcept {
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] >= carried) f(static_cast<std::size_t>(slots_[i].offset), size_of(i));
        blocks_.for_each_stranger([&](const allocation_type& at) { f(at.where.offset, at.where.size); });
    }

    [[nodiscard]] std::size_t size() const noexcept { return space_.size(); }
    [[nodiscard]] bool is_in_step() const noexcept { return in_step_; }
    [[nodiscard]] const guided_counters& counters() const noexcept { return counters_; }
    [[nodiscard]] pass_log& log() noexcept { return log_; }

private:
    /// Number of requests of the pass so far.
    [[nodiscard]] std::uint32_t requests() const noexcept { return log_.count(); }

    // ── the begin of a pass ──────────────────────────────────────────────────────────────────────────────────────────

    /// Keeps the live blocks of the last pass as carried ones. Returns false if another block lives, or if there is no
    /// guide.
    [[nodiscard]] bool carry_over() noexcept {
        if (guide_ == nullptr) return false;
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] >= carried && (states_[i] != live || !slots_[i].is_carried)) return false;
        for (std::uint32_t i = 0; i != slot_count(); ++i) {
            if (states_[i] == live) log_.carry(entries_[i], requests_before(slots_[i].end));
            states_[i] = states_[i] == live ? carried : waiting;
        }
        return true;
    }
    /// Makes room for records of the blocks of all slots.
    [[nodiscard]] bool can_adopt() noexcept {
        record_index live_slots = 0;
        for (std::uint32_t i = 0; i != slot_count(); ++i) live_slots += states_[i] >= carried;
        return blocks_.room(live_slots);
    }
    /// Makes the blocks of all slots strangers, and takes another guide. Precondition: `can_adopt()`.
    void adopt(const guide* by) noexcept {
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] >= carried)
                (void)blocks_.add({in_step_ ? allocation_type{extent_of_slot(i)} : held_[i], entries_[i]});
        late_ = 0;
        follow(by);
    }
    /// Returns whether the room permits that the pass begins in step. If no block is pinned, and all blocks are in the
    /// room, the rule alone would place them as the guide does only if the same blocks live as in the recording.
    [[nodiscard]] bool can_begin_in_step() const noexcept {
        if (is_pinned_ || !guide_->holds_all) return !overlaps_residents();
        if (!blocks_.no_strangers()) return false;
        for (std::uint32_t i = 0; i != slot_count(); ++i) {
            const guide_slot& slot = slots_[i];
            if (slot.is_planned && slot.is_carried && (states_[i] != carried || size_of(i) != slot.size)) return false;
        }
        return true;
    }
    /// Returns whether a stranger has bytes of a slot.
    [[nodiscard]] bool overlaps_residents() const noexcept {
        bool found = false;
        blocks_.for_each_stranger([&](const allocation_type& at) {
            for (const guide_slot& slot : guide_->slots)
                found = found || (slot.is_planned && at.where.offset < slot.offset + slot.size &&
                                  slot.offset < at.where.offset + at.where.size);
        });
        return found;
    }

    // ── changes of the mode ──────────────────────────────────────────────────────────────────────────────────────────

    /// Leaves the step.
    ALLOT_COLD void diverge() noexcept {
        log_segment();
        repeat();
        in_step_ = false;
        ++counters_.divergences;
        cursor_.leave_step(requests_before(call_));
    }
    /// Gives the live blocks of the room to best fit, by the calls of the guide since the pass began.
    void repeat() noexcept {
        space_.clear();
        blocks_.for_each_stranger([&](allocation_type& at) { at = space_.allocate_at(at.where); });
        for (std::uint32_t i = 0; i != slot_count(); ++i) held_[i] = {};
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] == carried) held_[i] = space_.allocate_at(extent_of_slot(i));
        for (std::uint32_t c = 0; c != call_; ++c) {
            const std::uint32_t i = calls_[c] >> 1U;
            if (!slots_[i].is_planned) continue;
            if ((calls_[c] & 1U) == 0) held_[i] = space_.allocate_slot(slots_[i], rule());
            else if (states_[i] < carried) take(i);
        }
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] < carried) take(i);  // freed before its time
    }
    void take(std::uint32_t i) noexcept {
        if (held_[i].where.size != 0) space_.deallocate(held_[i]);
        held_[i] = {};
    }
    /// Returns to the step if each live block is that of the guide, and if enough requests had slots since. Without
    /// pinned blocks, the room must be empty, because the choices of best fit depend on the order of earlier calls.
    void resume() noexcept {
        if (!blocks_.no_strangers() || late_ != 0 || !cursor_.is_calm() || guide_ == nullptr) return;
        if (!is_pinned_ && has_live_slot()) return;
        in_step_ = true;
        skip_freed();
        logged_call_ = call_;
        ++counters_.resumptions;
    }

    // ── requests and deallocations that are not in step ──────────────────────────────────────────────────────────────

    /// Moves the guide's position behind a slot. Blocks that should be freed by then are late.
    void advance(std::uint32_t slot) noexcept {
        ++counters_.matched;
        if (states_[slot] == waiting) states_[slot] = done;
        const std::uint32_t end = slots_[slot].at + 1;
        for (; call_ < end; ++call_) {
            const std::uint32_t call = calls_[call_], i = call >> 1U;
            if ((call & 1U) == 0 || states_[i] < carried || states_[i] == late) continue;
            states_[i] = late;
            ++late_;
        }
        cursor_.match(slot, slot_count(), is_waiting());
    }
    /// Adds the calls in step since the last change of the mode to the log.
    void log_segment() noexcept {
        if (!in_step_ || guide_ == nullptr) return;
        for (; logged_call_ != call_; ++logged_call_) {
            const std::uint32_t call = calls_[logged_call_], i = call >> 1U;
            const guide_slot& slot = slots_[i];
            if ((call & 1U) == 0) entries_[i] = log_.request(slot.size, slot.align, slot.key);
            else if (slot.at < logged_call_) log_.end(entries_[i], requests());
        }
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] == done) log_.end_if_open(entries_[i], requests());
    }

    guided_space<Granule> space_;
    guided_blocks<allocation_type> blocks_;
    std::size_t late_ = 0;  // slots whose block should be freed
    guided_cursor cursor_;
    std::uint32_t logged_call_ = 0;
    pass_log log_;
    guided_counters counters_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
