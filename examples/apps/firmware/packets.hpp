// SPDX-License-Identifier: BSL-1.0
// packets: from an interrupt to the main loop, through the slots of a pool and a mailbox.
//
//     interrupt   allocate ─► fill ─► put ─┐                   without a free slot, the packet is lost and counted
//                     ▲                    ▼
//     pool        │ slot │ slot │ …    mailbox │ · │ · │ … │
//                     ▲                    │
//     main loop   deallocate ◄─ read ◄─ take
//
// Both sides modify the pool. Its slots are in an atomic bitmap; on a core without the instructions for it, each call
// runs with interrupts disabled. The mailbox has one writer and one reader, each with its own index. It needs only
// loads and stores, which every core has. Its capacity is the number of slots.
#pragma once

#include "board/interrupts.hpp"
#include "config.hpp"

#include <allot/arena/arena.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/strategy/pool.hpp>

#include <atomic>
#include <new>

namespace firmware {

template <options Options>
class packets {
    using slots =
        allot::arena<allot::host::static_storage<Options.packets.slot * Options.packets.count, Options.packets.align>,
                     allot::pool<Options.packets>>;
    using pool = std::conditional_t<Options.packets.store == allot::pool_store::atomic_bitmap, slots,
                                    allot::synchronized<slots, board::interrupts_off>>;
    using slot = typename pool::block_type;

public:
    /// Handles one interrupt.
    void receive() noexcept {
        const slot taken = pool_.allocate({sizeof(packet), alignof(packet)});
        if (!taken) {
            lost_ = lost_ + 1;
            return;
        }
        auto* const fresh = new (taken.address) packet{next_++, {}};
        for (std::uint32_t i = 0; i != std::size(fresh->words); ++i) fresh->words[i] = word(fresh->number, i);
        mailbox_.put(taken);
    }

    /// Called by the main loop: takes all received packets and frees their slots.
    void take_all() noexcept {
        for (slot taken; (taken = mailbox_.take());) {
            const auto& given = *static_cast<const packet*>(taken.address);
            if (given.number != taken_) ++wrong_;
            for (std::uint32_t i = 0; i != std::size(given.words); ++i)
                if (given.words[i] != word(given.number, i)) ++wrong_;
            ++taken_;
            pool_.deallocate(taken);
        }
    }

    /// Numbers of packets taken, of packets lost without a free slot, and of incorrect words.
    [[nodiscard]] std::uint32_t taken() const noexcept { return taken_; }
    [[nodiscard]] std::uint32_t lost() const noexcept { return lost_; }
    [[nodiscard]] std::uint32_t wrong() const noexcept { return wrong_; }
    /// Returns whether every slot is free, by allocating all of them. Precondition: no interrupt occurs.
    [[nodiscard]] bool all_free() noexcept {
        slot all[Options.packets.count];
        bool free = true;
        for (slot& each : all) free = (each = pool_.allocate({sizeof(packet), alignof(packet)})) && free;
        free = free && !pool_.allocate({sizeof(packet), alignof(packet)});
        for (const slot& each : all)
            if (each) pool_.deallocate(each);
        return free;
    }

private:
    class mailbox {
    public:
        void put(slot given) noexcept {
            const std::uint32_t at = written_.load(std::memory_order_relaxed);
            slots_[at] = given;
            written_.store(after(at), std::memory_order_release);
        }
        [[nodiscard]] slot take() noexcept {
            const std::uint32_t at = read_.load(std::memory_order_relaxed);
            if (at == written_.load(std::memory_order_acquire)) return {};
            const slot given = slots_[at];
            read_.store(after(at), std::memory_order_release);
            return given;
        }

    private:
        static constexpr std::uint32_t room = Options.packets.count + 1;  // one more, to distinguish full from empty
        [[nodiscard]] static std::uint32_t after(std::uint32_t at) noexcept { return at + 1 == room ? 0 : at + 1; }
        slot slots_[room]{};
        std::atomic<std::uint32_t> written_{0}, read_{0};
    };

    [[nodiscard]] static std::uint32_t word(std::uint32_t number, std::uint32_t i) noexcept {
        return (number * 16 + i) * 0x9E37'79B1U;
    }

    pool pool_;
    mailbox mailbox_;
    std::uint32_t next_ = 0, taken_ = 0, wrong_ = 0;
    volatile std::uint32_t lost_ = 0;
};

}  // namespace firmware
