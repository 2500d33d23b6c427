// SPDX-License-Identifier: BSL-1.0
// shared_arena: one arena in memory that several processes map, in which all of them allocate and free (Linux).
//
//     auto memory = allot::host::shared_memory::create(64_MiB);
//     auto arena = allot::shared_arena<>::create(std::move(*memory));              // here, once
//     auto block = arena->allocate({.size = 4096, .align = 64});
//     send(arena->offset_of(block));
//
//     auto arena = allot::shared_arena<>::attach(std::move(*same));                // in every other process
//     auto block = arena->block_at(receive(), 4096);                               // the same bytes, elsewhere
//     arena->deallocate(block);
//
//     mapping   │ magic │ lock │ journal │ best_fit: bins │ copy of the bins │ block │ hole │ block │  hole  │
//               0 ◄───────────────────── offsets count from here ──────────────┘
//
// Everything that changes is in the memory itself, and no pointer is: records lie in band and are linked by offsets
// from the mapping's base, which the strategy finds as a fixed distance from itself.
//
// A process may die at any instruction, also inside of a call and with the lock held. Before a call changes anything,
// the bins are copied; before it writes a word in band, the journal gets what was there. The next process to take the
// lock is told by the kernel that its owner died (a robust mutex), and puts both back: a call either happened or it did
// not. It may die over that, too. What a dead process had allocated stays allocated, since others may use it.
// Sources: pthread_mutexattr_setrobust(3), pthread_mutex_consistent(3); undo logging is textbook material.
//
// Alignments are honoured up to a page, since mappings differ beyond that. Every process is built with the same ABI,
// runs in the same PID namespace (the mutex knows its owner by thread ID) and is trusted: what one scribbles all
// suffer, and while one is stopped in the middle of a call, the others wait.
//
// Complexity: that of best_fit, a lock, and a copy of the bins for each call that changes something. Memory:
// about 9 KiB and a word a block; with `Offset` = std::uint32_t, for up to 4 GiB, about 3 KiB and 4 bytes a block.
// Thread safety: threads and processes may call at the same time.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/host/shared_memory.hpp>
#include <allot/strategy/best_fit.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

#include <pthread.h>

namespace allot {
inline namespace v1 {

namespace detail {

/// What lies in front of the strategy.
template <class Offset>
struct shared_head {
    static constexpr unsigned most_words = 64;  // that one call writes; it is 22

    std::atomic<std::uint64_t> magic;  // written last, when everything else is there
    std::uint64_t size;                // bytes of the mapping
    pthread_mutex_t lock;
    std::uint32_t is_open;  // a call is under way, and what follows undoes it
    std::uint32_t words;
    struct {
        Offset at, was;
    } written[most_words];
};

/// Nothing moves over this: neither what is before nor what is behind, as another process would see this one killed.
inline void settle() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// The memory of a strategy that lies in it, a fixed distance behind its first byte. Words that are about to be written
/// are remembered in the journal.
template <class Offset>
class journaled_memory {
public:
    static constexpr std::size_t distance = align_up(sizeof(shared_head<Offset>), std::size_t{64});

    [[nodiscard]] const std::byte* at(Offset offset) const noexcept {
        return reinterpret_cast<const std::byte*>(first() + static_cast<std::uintptr_t>(offset));
    }
    [[nodiscard]] std::byte* at(Offset offset) noexcept {
        auto& head = *reinterpret_cast<shared_head<Offset>*>(first());
        auto* const bytes = reinterpret_cast<std::byte*>(first() + static_cast<std::uintptr_t>(offset));
        if (head.words == head.most_words) std::abort();  // a word that cannot be put back would be worse
        auto& entry = head.written[head.words];
        entry.at = offset;
        std::memcpy(&entry.was, bytes, sizeof entry.was);
        settle();
        ++head.words;
        settle();
        return bytes;
    }

private:
    [[nodiscard]] std::uintptr_t first() const noexcept { return reinterpret_cast<std::uintptr_t>(this) - distance; }
};

/// The first bytes of the mapping.
template <class Offset>
struct shared_state {
    using strategy_type = best_fit<best_fit_options{.store = node_store::in_band}, Offset, journaled_memory<Offset>>;

    shared_head<Offset> head;
    alignas(64) strategy_type strategy;
    alignas(64) std::byte copy[sizeof(strategy_type)];  // of the strategy, from before the call that is under way

    void begin() noexcept {
        std::memcpy(copy, static_cast<const void*>(&strategy), sizeof copy);
        head.words = 0;
        settle();
        head.is_open = 1;
        settle();
    }
    void commit() noexcept {
        settle();
        head.is_open = 0;
        settle();
    }
    /// Undoes what a dead process had begun. Can be done again and again.
    void recover() noexcept {
        if (head.is_open == 0) return;
        auto* const bytes = reinterpret_cast<std::byte*>(this);
        for (std::uint32_t i = head.words; i != 0; --i)
            std::memcpy(bytes + head.written[i - 1].at, &head.written[i - 1].was, sizeof(Offset));
        std::memcpy(static_cast<void*>(&strategy), copy, sizeof copy);
        commit();
    }
};

}  // namespace detail

template <std::unsigned_integral Offset = std::uint64_t>
class shared_arena {
    using state = detail::shared_state<Offset>;
    using allocation = allocation_of<typename state::strategy_type>;
    // The strategy's first member is its node store, whose first member is the memory: all have one address.
    static_assert(std::is_standard_layout_v<typename state::strategy_type>);
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "allot: the magic number is read across processes");
    // Names the layout of what is in the memory: the version of this format, and what an ABI may change.
    static constexpr std::uint64_t magic =
        0x616C'6C6F'7400'0001 ^ (std::uint64_t{sizeof(state)} << 8) ^ (std::uint64_t{sizeof(Offset)} << 32);

public:
    using strategy_type = typename state::strategy_type;
    using address_model = raw_pointer;
    using metadata_type = typename strategy_type::metadata_type;
    using block_type = block<void*, metadata_type>;
    using offset_type = Offset;
    using error = int;  // errno
    using made = result<shared_arena, error>;
    static constexpr bool host_accessible = host::shared_memory::host_accessible;
    static constexpr offset_use offsets = host::shared_memory::offsets;
    static constexpr dl_device_type dl_device = host::shared_memory::dl_device;
    static constexpr reclaim reclaims = strategy_type::reclaims;
    static constexpr std::size_t max_align = host::shared_memory::min_align;

    /// An arena without memory: every request is refused.
    shared_arena() noexcept = default;
    /// Makes the arena, in zeroed memory. Refused with errno: EEXIST when there is one in it, ENOSPC when it is too
    /// small, EFBIG when offsets do not reach its end, EINVAL when there is none.
    [[nodiscard]] static made create(host::shared_memory memory) noexcept {
        const std::size_t size = memory.capacity();
        if (size == 0) return made::failure(EINVAL);
        if (size < sizeof(state)) return made::failure(ENOSPC);
        if (size > std::numeric_limits<Offset>::max()) return made::failure(EFBIG);
        if (static_cast<state*>(memory.base())->head.magic.load(std::memory_order_acquire) != 0)
            return made::failure(EEXIST);
        auto* const fresh = ::new (memory.base()) state{};
        if (!fresh->strategy.insert(managed(size))) return made::failure(ENOSPC);
        fresh->head.size = size;
        if (const error reason = make_lock(fresh->head.lock); reason != 0) return made::failure(reason);
        fresh->head.magic.store(magic, std::memory_order_release);
        return shared_arena{std::move(memory), fresh};
    }
    /// The arena that another process made in this memory. Refused with errno: EAGAIN when it is not made yet, EPROTO
    /// when what is there is something else, or of another format, EINVAL when there is no memory.
    [[nodiscard]] static made attach(host::shared_memory memory) noexcept {
        const std::size_t size = memory.capacity();
        if (size == 0) return made::failure(EINVAL);
        if (size < sizeof(state)) return made::failure(EPROTO);
        auto* const there = static_cast<state*>(memory.base());
        const std::uint64_t found = there->head.magic.load(std::memory_order_acquire);
        if (found == 0) return made::failure(EAGAIN);
        if (found != magic || there->head.size != size) return made::failure(EPROTO);
        return shared_arena{std::move(memory), there};
    }

    shared_arena(shared_arena&& other) noexcept
        : memory_{std::move(other.memory_)}, state_{std::exchange(other.state_, nullptr)} {}
    shared_arena& operator=(shared_arena&&) = delete;

    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        if (!is_in_reach(wanted)) return {};
        const guard held{state_};
        if (!held) return {};
        state_->begin();
        const allocation given =
            state_->strategy.allocate({static_cast<Offset>(wanted.size), static_cast<Offset>(wanted.align)});
        state_->commit();
        if (!given) return {};
        return {at(given.where.offset), wanted.size, given.metadata};
    }

    /// Takes a block back, whichever process allocated it. An empty block is fine.
    void deallocate(block_type freed) noexcept {
        if (!freed || state_ == nullptr) return;
        const guard held{state_};
        if (!held) return;
        state_->begin();
        state_->strategy.deallocate(allocation_for(freed));
        state_->commit();
    }

    /// What the holder of a block may use, in bytes: at least its size.
    [[nodiscard]] std::size_t capacity(block_type of) const noexcept {
        if (!of || state_ == nullptr) return 0;
        const guard held{state_};
        return held ? static_cast<std::size_t>(state_->strategy.capacity(allocation_for(of))) : 0;
    }

    /// True when the block lies in this memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept {
        if (!held || state_ == nullptr) return false;
        const std::size_t from = raw_pointer::position(state_), at = raw_pointer::position(held.address);
        return at >= from && extent{sizeof(state), memory_.capacity() - sizeof(state)}.contains({at - from, held.size});
    }

    /// What every process knows a block by. Precondition: the block is this arena's.
    [[nodiscard]] Offset offset_of(block_type held) const noexcept {
        return static_cast<Offset>(raw_pointer::position(held.address) - raw_pointer::position(state_));
    }
    /// The block that another process knows by this offset, of the size that it was allocated with; empty when no block
    /// can lie there.
    [[nodiscard]] block_type block_at(Offset offset, std::size_t size) const noexcept {
        if (size == 0 || state_ == nullptr || offset > memory_.capacity()) return {};
        const block_type there{at(offset), size, {}};
        return owns(there) ? there : block_type{};
    }

    /// Why `allocate` would refuse. A lock that nobody can take any more is the device's refusal, with its errno.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        if (state_ == nullptr) return {refusal::exhausted};
        if (wanted.align > max_align) return {refusal::misaligned};
        if (wanted.size > std::numeric_limits<Offset>::max()) return {refusal::over_limit};
        const guard held{state_};
        if (!held) return {refusal::device_refused, 0, held.error()};
        return state_->strategy.diagnose({static_cast<Offset>(wanted.size), static_cast<Offset>(wanted.align)});
    }

    /// Bytes of the memory, and how many of its first ones are the arena's own.
    [[nodiscard]] std::size_t size() const noexcept { return memory_.capacity(); }
    static constexpr std::size_t overhead = sizeof(state);
    [[nodiscard]] const host::shared_memory& memory() const noexcept { return memory_; }

private:
    shared_arena(host::shared_memory memory, state* where) noexcept : memory_{std::move(memory)}, state_{where} {}

    /// Holds the lock, and has put right what a dead holder left behind.
    class guard {
    public:
        explicit guard(state* of) noexcept : of_{of}, error_{::pthread_mutex_lock(&of->head.lock)} {
            if (error_ == EOWNERDEAD) {
                of_->recover();
                error_ = ::pthread_mutex_consistent(&of_->head.lock);
            }
        }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;
        ~guard() {
            if (error_ == 0) ::pthread_mutex_unlock(&of_->head.lock);
        }
        explicit operator bool() const noexcept { return error_ == 0; }
        [[nodiscard]] int error() const noexcept { return error_; }

    private:
        state* of_;
        int error_;
    };

    [[nodiscard]] static error make_lock(pthread_mutex_t& lock) noexcept {
        pthread_mutexattr_t kind;
        error reason = ::pthread_mutexattr_init(&kind);
        if (reason != 0) return reason;
        reason = ::pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
        if (reason == 0) reason = ::pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
        if (reason == 0) reason = ::pthread_mutex_init(&lock, &kind);
        ::pthread_mutexattr_destroy(&kind);
        return reason;
    }

    [[nodiscard]] static extent_of<strategy_type> managed(std::size_t size) noexcept {
        return {static_cast<Offset>(sizeof(state)), static_cast<Offset>(size - sizeof(state))};
    }
    [[nodiscard]] bool is_in_reach(layout wanted) const noexcept {
        return state_ != nullptr && wanted.align <= max_align && wanted.size <= std::numeric_limits<Offset>::max();
    }
    [[nodiscard]] void* at(Offset offset) const noexcept {
        return raw_pointer::locate(memory_.base(), static_cast<std::size_t>(offset));
    }
    [[nodiscard]] allocation allocation_for(block_type held) const noexcept {
        return {{offset_of(held), static_cast<Offset>(held.size)}, held.metadata};
    }

    host::shared_memory memory_;
    state* state_ = nullptr;
};

static_assert(owning<shared_arena<>>);

}  // namespace v1
}  // namespace allot
