// SPDX-License-Identifier: BSL-1.0
// shared_arena: an arena in shared memory, in which several processes allocate and free (Linux).
//
//     auto memory = allot::host::shared_memory::create(64_MiB).value();
//     auto arena = allot::shared_arena<>::create(std::move(memory)).value();       // in one process
//     auto block = arena.allocate({.size = 4096, .align = 64});
//     send(arena.offset_of(block));
//
//     auto arena = allot::shared_arena<>::attach(std::move(same)).value();         // in every other process
//     auto block = arena.block_at(receive(), 4096);                                // the same bytes at another address
//     arena.deallocate(block);
//
//     mapping   │ magic │ lock │ journal │ best_fit: bins │ copy of the bins │ block │ hole │ block │  hole  │
//               0 ◄───────────────────── offsets count from here ──────────────┘
//
// All state is in the shared memory, and it contains no pointer. Records are in band and linked by offsets from the
// base of the mapping. The strategy computes the base from its own address, at a fixed distance.
//
// A process may die at any instruction, also during a call and while it holds the lock. Before a call changes anything,
// it copies the bins. Before it writes a word in band, it saves the old value in the journal. When the next process
// takes the lock, the kernel reports the death of the owner (a robust mutex), and that process restores both. A call is
// therefore either complete or has no effect. A process may also die during this recovery. The blocks of a dead process
// stay allocated, because other processes may use them.
//
// When to use: processes that exchange many blocks, such as frames or tensors, without copies.
//
// When not to use: processes that do not trust each other, because every process can write to all records; or code with
// a deadline, because other processes wait while one is stopped during a call.
//
// Alignments are supported up to a page, because mappings differ beyond that. All processes must have the same ABI and
// run in the same PID namespace, because the mutex identifies its owner by thread ID.
//
// Complexity: that of best_fit, a lock, and a copy of the bins for every call that changes state.
//
// Memory: about 9 KiB, and one word for every block. With `Offset` = std::uint32_t, for less than 4 GiB: about 3 KiB,
// and 4 bytes for every block.
//
// Thread safety: threads and processes may call concurrently.
//
// Sources: pthread_mutexattr_setrobust(3), pthread_mutex_consistent(3). Undo logging is a textbook technique.
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

/// State before the strategy in the shared memory.
template <class Offset>
struct shared_head {
    static constexpr unsigned most_words = 64;  // bound on the words that one call writes; the actual number is 22

    std::atomic<std::uint64_t> magic;  // written last, after all other state
    std::uint64_t size;                // bytes of the mapping
    pthread_mutex_t lock;
    std::uint32_t is_open;  // 1 during a call, which the following entries undo
    std::uint32_t words;    // number of entries
    struct {
        Offset at, was;
    } written[most_words];
};

/// Compiler barrier. The order of memory accesses around it is the order that other processes observe if this process
/// is killed here.
inline void settle() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Memory access for a strategy that is inside the memory, at a fixed distance from its first byte. Saves every word in
/// the journal before it is written.
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
        if (head.words == head.most_words) std::abort();  // a word that cannot be restored would corrupt the arena
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
    alignas(64) std::byte copy[sizeof(strategy_type)];  // copy of the strategy from before the current call

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
    /// Undoes the incomplete call of a dead process. Idempotent, so that a process may die during recovery.
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

/// Allocator in memory that several processes map.
template <std::unsigned_integral Offset = std::uint64_t>
class shared_arena {
    using state = detail::shared_state<Offset>;
    using allocation = allocation_of<typename state::strategy_type>;
    // The strategy's first member is its node store, and the first member of that is the memory access. All three have
    // the same address.
    static_assert(std::is_standard_layout_v<typename state::strategy_type>);
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
                  "allot: shared_arena needs a lock-free std::atomic<std::uint64_t>, because processes share one");
    // Identifies the layout of the shared state: the version of the format and the sizes that depend on the ABI.
    static constexpr std::uint64_t magic =
        0x616C'6C6F'7400'0001 ^ (std::uint64_t{sizeof(state)} << 8) ^ (std::uint64_t{sizeof(Offset)} << 32);

public:
    using strategy_type = typename state::strategy_type;          ///< The strategy.
    using address_model = raw_pointer;                            ///< Blocks are addressed by pointers.
    using metadata_type = typename strategy_type::metadata_type;  ///< Metadata of a block: empty.
    using block_type = block<void*, metadata_type>;               ///< Result of an allocation.
    using offset_type = Offset;                                   ///< Unsigned integer type of offsets in the memory.
    using error = int;                                            ///< An errno value.
    using made = result<shared_arena, error>;                     ///< Result of `create` and `attach`.
    /// Whether the host may access the memory.
    static constexpr bool host_accessible = host::shared_memory::host_accessible;
    /// How consumers of the memory use offsets.
    static constexpr offset_use offsets = host::shared_memory::offsets;
    /// Device type for DLPack.
    static constexpr dl_device_type dl_device = host::shared_memory::dl_device;
    /// Blocks are freed in any order.
    static constexpr reclaim reclaims = strategy_type::reclaims;
    /// The largest supported alignment: a page.
    static constexpr std::size_t max_align = host::shared_memory::min_align;

    /// Constructs an arena without memory. Every request fails.
    shared_arena() noexcept = default;
    /// Creates the arena in zeroed memory. Errors: EEXIST if the memory contains an arena, ENOSPC if it is too small,
    /// EFBIG if its size exceeds the offset type, EINVAL if `memory` is empty, or the error of a pthread function.
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
    /// Attaches to the arena that another process created in this memory. Errors: EAGAIN if the arena is not yet
    /// created, EPROTO if the memory has other contents, another format or another size, EINVAL if `memory` is empty.
    /// To avoid EAGAIN, send the memory to the other process after `create`.
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

    /// Moves the mapping. A moved-from arena has no memory.
    shared_arena(shared_arena&& other) noexcept
        : memory_{std::move(other.memory_)}, state_{std::exchange(other.state_, nullptr)} {}
    shared_arena& operator=(shared_arena&&) = delete;

    /// Allocates a block. Returns an empty block on failure; `diagnose` returns the reason.
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

    /// Frees a block that any process allocated. Precondition: the block is empty or is live.
    void deallocate(block_type freed) noexcept {
        if (!freed || state_ == nullptr) return;
        const guard held{state_};
        if (!held) return;
        state_->begin();
        state_->strategy.deallocate(allocation_for(freed));
        state_->commit();
    }

    /// Allocates exactly these bytes, at an offset from the start of the memory. Returns an empty block if they are not
    /// free. The first `overhead` bytes are never free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept {
        if (!is_managed(wanted)) return {};
        const guard held{state_};
        if (!held) return {};
        state_->begin();
        const allocation given = state_->strategy.allocate_at(in_offsets(wanted));
        state_->commit();
        if (!given) return {};
        return {at(given.where.offset), wanted.size, given.metadata};
    }
    /// Returns the reason for which `allocate_at(wanted)` would fail. An unusable lock is reported as `device_refused`
    /// with its errno value.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) const noexcept {
        if (!wanted) return {refusal::empty_layout};
        if (!is_managed(wanted)) return {refusal::not_free};
        const guard held{state_};
        if (!held) return {refusal::device_refused, 0, held.error()};
        return state_->strategy.diagnose_at(in_offsets(wanted));
    }

    /// Resizes a block that any process allocated, in place, and updates `resized`. Returns false and changes nothing
    /// on failure. Other processes learn the new size from the caller.
    [[nodiscard]] bool resize(block_type& resized, std::size_t size) noexcept {
        if (!resized || state_ == nullptr || size > std::numeric_limits<Offset>::max()) return false;
        const guard held{state_};
        if (!held) return false;
        state_->begin();
        const bool done = state_->strategy.resize(allocation_for(resized), static_cast<Offset>(size));
        state_->commit();
        if (done) resized.size = size;
        return done;
    }

    /// Returns the usable bytes of a block: at least its size; 0 if the block is empty or the lock is unusable.
    [[nodiscard]] std::size_t capacity(block_type of) const noexcept {
        if (!of || state_ == nullptr) return 0;
        const guard held{state_};
        return held ? static_cast<std::size_t>(state_->strategy.capacity(allocation_for(of))) : 0;
    }

    /// Returns true if the block is inside this memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept {
        if (!held || state_ == nullptr) return false;
        const std::size_t from = raw_pointer::position(state_), at = raw_pointer::position(held.address);
        return at >= from && extent{sizeof(state), memory_.capacity() - sizeof(state)}.contains({at - from, held.size});
    }

    /// Returns the offset that identifies a block in every process. Precondition: the block is from this arena.
    [[nodiscard]] Offset offset_of(block_type held) const noexcept {
        return static_cast<Offset>(raw_pointer::position(held.address) - raw_pointer::position(state_));
    }
    /// Returns the block at an offset that another process sent. `size` is the size of its allocation. Returns an empty
    /// block if the offset and size are not inside the managed memory.
    [[nodiscard]] block_type block_at(Offset offset, std::size_t size) const noexcept {
        if (size == 0 || state_ == nullptr || offset > memory_.capacity()) return {};
        const block_type there{at(offset), size, {}};
        return owns(there) ? there : block_type{};
    }

    /// Returns the reason for which `allocate(wanted)` would fail. An unusable lock is reported as `device_refused`
    /// with its errno value.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        if (state_ == nullptr) return {refusal::exhausted};
        if (wanted.align > max_align) return {refusal::misaligned};
        if (wanted.size > std::numeric_limits<Offset>::max()) return {refusal::over_limit};
        const guard held{state_};
        if (!held) return {refusal::device_refused, 0, held.error()};
        return state_->strategy.diagnose({static_cast<Offset>(wanted.size), static_cast<Offset>(wanted.align)});
    }

    /// Returns the size of the memory in bytes.
    [[nodiscard]] std::size_t size() const noexcept { return memory_.capacity(); }
    /// Number of bytes at the start of the memory that the arena uses for its state.
    static constexpr std::size_t overhead = sizeof(state);
    /// Returns the shared memory.
    [[nodiscard]] const host::shared_memory& memory() const noexcept { return memory_; }

private:
    shared_arena(host::shared_memory memory, state* where) noexcept : memory_{std::move(memory)}, state_{where} {}

    /// Holds the lock. If the previous owner died, undoes its incomplete call first.
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
    [[nodiscard]] bool is_managed(extent wanted) const noexcept {
        return wanted && state_ != nullptr &&
               extent{sizeof(state), memory_.capacity() - sizeof(state)}.contains(wanted);
    }
    [[nodiscard]] static extent_of<strategy_type> in_offsets(extent wanted) noexcept {
        return {static_cast<Offset>(wanted.offset), static_cast<Offset>(wanted.size)};
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

static_assert(owning<shared_arena<>> && positional_allocator<shared_arena<>> && resizable_allocator<shared_arena<>>);

}  // namespace v1
}  // namespace allot
