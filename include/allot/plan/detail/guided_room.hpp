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
// `guide::rule` is best fit or first fit. Both take holes from one table, a `best_fit`.
//
// `diverge` leaves the step: it repeats the calls of the pass on best fit. `resume` returns to it as soon as each live
// block is one that is live in the guide, at its place. A block that the guide does not expect is a stranger: it has a
// record, or its slot is late.
#pragma once

#include <allot/plan/detail/guided_blocks.hpp>
#include <allot/plan/detail/guided_cursor.hpp>
#include <allot/plan/detail/pass_log.hpp>
#include <allot/plan/pass.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/detail/record_table.hpp>

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
class guided_room {
public:
    using strategy_type = best_fit<best_fit_options{.store = node_store::side_table, .granule = Granule}>;
    using allocation_type = allocation_of<strategy_type>;

    guided_room() noexcept = default;
    guided_room(guided_room&&) noexcept = default;
    guided_room& operator=(guided_room&&) noexcept = default;

    /// Sets the size and the alignment of the room, which has no live block.
    void open(std::size_t size, std::size_t align) noexcept {
        size_ = size;
        align_ = align;
        fill();
    }

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
        if (wanted.align > align_ || !blocks_.room(1)) return {};
        allocation_type at{};
        if (slot != no_record && slots_[slot].is_pinned && wanted.size <= slots_[slot].size &&
            wanted.align <= slots_[slot].align)
            at = space_.allocate_at({static_cast<std::size_t>(slots_[slot].offset), wanted.size});
        if (at.where.size == 0) at = by_rule(wanted);
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
        if (wanted.align > align_) return {refusal::misaligned};
        const diagnosis found = space_.diagnose(wanted);
        return found.reason == refusal::none && !blocks_.room(1) ? diagnosis{refusal::out_of_records} : found;
    }
    /// Calls `f(offset, size)` for every hole of the room. O(slots * blocks).
    template <class Function>
    void for_each_hole(Function f) const noexcept {
        std::size_t from = 0;
        while (from < size_) {
            std::size_t next = size_, end = size_;
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

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool is_in_step() const noexcept { return in_step_; }
    [[nodiscard]] const guided_counters& counters() const noexcept { return counters_; }
    [[nodiscard]] pass_log& log() noexcept { return log_; }
    /// Makes arrays for a guide. Returns false if the heap is exhausted.
    [[nodiscard]] bool reserve(std::size_t slots) noexcept {
        const auto count = static_cast<record_index>(slots);
        return (states_.capacity() >= count || states_.grow(count)) &&
               (held_.capacity() >= count || held_.grow(count)) &&
               (entries_.capacity() >= count || entries_.grow(count));
    }

private:
    // States of a slot. From `carried` on, it has a live block.
    enum state : std::uint8_t { waiting, done, carried, live, late };

    /// Returns a function that returns whether a slot waits for its request.
    [[nodiscard]] auto is_waiting() const noexcept {
        return [this](std::uint32_t slot) { return states_[slot] == waiting; };
    }
    [[nodiscard]] std::uint32_t slot_count() const noexcept {
        return guide_ == nullptr ? 0 : static_cast<std::uint32_t>(guide_->slots.size() - 1);
    }
    [[nodiscard]] std::size_t size_of(std::uint32_t slot) const noexcept {
        return in_step_ ? static_cast<std::size_t>(slots_[slot].size) : held_[slot].where.size;
    }
    /// Number of requests of the pass so far.
    [[nodiscard]] std::uint32_t requests() const noexcept { return log_.count(); }

    void fill() noexcept {
        space_ = strategy_type{};
        if (size_ != 0) (void)space_.insert({0, size_});
    }

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
        guide_ = by;
        calls_ = by == nullptr ? nullptr : by->calls.data();
        slots_ = by == nullptr ? nullptr : by->slots.data();
        ++epoch_;
        is_pinned_ = false;
        for (std::uint32_t i = 0; i != slot_count(); ++i) is_pinned_ = is_pinned_ || slots_[i].is_pinned;
        for (std::uint32_t i = 0; i != slot_count(); ++i) states_[i] = waiting;
    }
    [[nodiscard]] bool is_empty() const noexcept {
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] >= carried) return false;
        return blocks_.no_strangers();
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

    /// Moves the position behind deallocations of blocks that are freed.
    void skip_freed() noexcept {
        while ((calls_[call_] & 1U) != 0 && states_[calls_[call_] >> 1U] < carried) ++call_;
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
        fill();
        blocks_.for_each_stranger([&](allocation_type& at) { at = space_.allocate_at(at.where); });
        for (std::uint32_t i = 0; i != slot_count(); ++i) held_[i] = {};
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] == carried) held_[i] = space_.allocate_at(extent_of_slot(i));
        for (std::uint32_t c = 0; c != call_; ++c) {
            const std::uint32_t i = calls_[c] >> 1U;
            if (!slots_[i].is_planned) continue;
            if ((calls_[c] & 1U) == 0) held_[i] = put(i);
            else if (states_[i] < carried) take(i);
        }
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] < carried) take(i);  // freed before its time
    }
    [[nodiscard]] basic_extent<std::size_t> extent_of_slot(std::uint32_t i) const noexcept {
        return {static_cast<std::size_t>(slots_[i].offset), static_cast<std::size_t>(slots_[i].size)};
    }
    /// Allocates by the rule of the guide. Without a guide, that is best fit.
    [[nodiscard]] allocation_type by_rule(layout wanted) noexcept {
        if (!is_first_fit()) return space_.allocate({wanted.size, wanted.align});
        if (wanted.size == 0) return {};
        const std::size_t align = wanted.align < Granule ? Granule : wanted.align;
        std::size_t lowest = size_;
        space_.for_each_hole({0, size_}, [&](basic_extent<std::size_t> hole) {
            const std::size_t start = align_up(hole.offset, align);
            if (start < lowest && start < hole.end() && hole.end() - start >= wanted.size) lowest = start;
        });
        return lowest == size_ ? allocation_type{} : space_.allocate_at({lowest, wanted.size});
    }
    [[nodiscard]] bool is_first_fit() const noexcept {
        return guide_ != nullptr && guide_->rule == guide_rule::first_fit;
    }
    /// Allocates the place of a slot as best fit did, if it did.
    [[nodiscard]] allocation_type put(std::uint32_t i) noexcept {
        const guide_slot& slot = slots_[i];
        if (!slot.is_pinned && !is_first_fit()) {
            const allocation_type at =
                space_.allocate({static_cast<std::size_t>(slot.size), static_cast<std::size_t>(slot.align)});
            if (at.where.size != 0 && at.where.offset == slot.offset) return at;
            if (at.where.size != 0) space_.deallocate(at);
        }
        return space_.allocate_at(extent_of_slot(i));
    }
    void take(std::uint32_t i) noexcept {
        if (held_[i].where.size != 0) space_.deallocate(held_[i]);
        held_[i] = {};
    }
    /// Returns to the step if each live block is that of the guide, and if enough requests had slots since. Without
    /// pinned blocks, the room must be empty, because the choices of best fit depend on the order of earlier calls.
    void resume() noexcept {
        if (!blocks_.no_strangers() || late_ != 0 || !cursor_.is_calm() || guide_ == nullptr) return;
        if (!is_pinned_ && !is_empty()) return;
        in_step_ = true;
        skip_freed();
        logged_call_ = call_;
        ++counters_.resumptions;
    }

    // ── requests and deallocations that are not in step ──────────────────────────────────────────────────────────────

    /// Returns whether a block is at the place of a slot.
    [[nodiscard]] bool is_faithful(std::uint32_t i, basic_extent<std::size_t> where, std::size_t align) const noexcept {
        const guide_slot& slot = slots_[i];
        return slot.is_planned && where.offset == slot.offset && where.size <= slot.size && align <= slot.align;
    }

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
    /// Returns the number of requests of the guide before a call.
    [[nodiscard]] std::uint32_t requests_before(std::uint32_t call) const noexcept {
        std::uint32_t low = 0, high = slot_count();
        while (low != high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (slots_[middle].at < call) low = middle + 1;
            else high = middle;
        }
        return low;
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

    const guide* guide_ = nullptr;
    const std::uint32_t* calls_ = nullptr;
    const guide_slot* slots_ = nullptr;
    std::uint32_t call_ = 0;  // index of the guide's next call
    std::uint32_t epoch_ = 1;
    bool in_step_ = false;
    bool is_pinned_ = false;         // a slot of the guide is
    record_array<state, 0> states_;  // index: slot, as in the next two
    record_array<allocation_type, 0> held_;
    record_array<std::uint64_t, 0> entries_;  // in the log
    std::size_t size_ = 0, align_ = 1;
    strategy_type space_{};
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
