// SPDX-License-Identifier: BSL-1.0
// indexed_ordered: an `ordered` that is used by addresses and by the driver's queues, for interfaces of libraries.
//
//     using device_arena = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
//     using memory_type = allot::indexed_ordered<allot::ordered<device_arena, allot::cuda::events>, std::mutex>;
//     memory_type memory{allot::cuda::events{0}, allot::cuda::device_memory{0}, 1_GiB};
//     void* const bytes = memory.allocate({.size = 4096, .align = 256}, stream).address;
//     if (!memory.used_on(bytes, other_stream)) return 1;        // not live, or the stream cannot be attached
//     memory.deallocate(bytes, stream);
//
//     address ──► index ──► block ───┐
//                                    ├──► ordered
//     queue ──► number of a queue ───┘
//
// A queue is attached when it is first named. If `ordered_options::queues` are attached, the new queue gets the number
// of the queue that was named least recently (`ordered::replace`): its later work waits for the earlier work of that
// queue, on the device. A queue that `used_on` named for a live block keeps its number until that block is freed. If
// all queues have such blocks, requests of other queues fail with `refusal::over_limit`, and other queues still free
// blocks.
//
// When to use: below an interface that passes an address and a queue, such as `cuda::stream_ordered_resource` and
// PyTorch's pluggable allocator.
// When not to use: where blocks and the numbers of queues can be kept. `ordered` needs no index then.
//
// Before a queue of the driver is destroyed, call `detach`. A driver may give its handle to a new queue.
//
// Complexity: that of `ordered`, O(1) on average for the index, and O(queues) to find a queue that is not the last one.
// `block_containing` is O(distance from the start of the block / 64), and at most O(blocks).
// Memory: that of `ordered`, and about 56 bytes for each block on the heap.
// Thread safety: each call holds `Lock`, for example std::mutex or `spin_lock`. `no_lock` needs external
// synchronization.
#pragma once

#include <allot/compose/detail/address_index.hpp>
#include <allot/compose/ordered.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/core/detail/compiler.hpp>

#include <mutex>

namespace allot {
inline namespace v1 {

/// An `ordered`, an index of its live blocks, and its attached queues.
template <class Ordered, class Lock = no_lock>
class indexed_ordered {
    static_assert(
        requires { Ordered::max_queues; },
        "allot: the first argument of indexed_ordered is an ordered: "
        "indexed_ordered<ordered<Arena, Timeline>, std::mutex>");
    static_assert(lock<Lock>,
                  "allot: the second argument of indexed_ordered has lock() and unlock(): use std::mutex, spin_lock or "
                  "no_lock");
    static_assert(Ordered::waits != wait_policy::hand_out,
                  "allot: indexed_ordered cannot hand out waits: use wait_policy::insert or wait_policy::never");
    static_assert(std::equality_comparable<typename Ordered::native_queue>,
                  "allot: indexed_ordered finds queues by comparison: the timeline's queue_type needs operator==");
    static_assert(
        linear_address_model<typename Ordered::address_model>,
        "allot: indexed_ordered finds a block by the position of an address: use an ordered of pointers or of "
        "handles with offsets");

public:
    using ordered_type = Ordered;                                      ///< The allocator in the order of queues.
    using native_queue = typename Ordered::native_queue;               ///< The driver's handle of a queue.
    using error_type = typename Ordered::error_type;                   ///< The driver's error.
    using address_model = typename Ordered::address_model;             ///< Address model of the device.
    using address_type = typename address_model::address;              ///< The type of addresses.
    using metadata_type = no_metadata<indexed_ordered>;                ///< The metadata of a block: none.
    using block_type = block<address_type, metadata_type>;             ///< The type of blocks.
    static constexpr bool host_accessible = Ordered::host_accessible;  ///< Whether the host may access the memory.
    static constexpr dl_device_type dl_device = Ordered::dl_device;    ///< Device type for DLPack.

    /// Constructs the `ordered` from a timeline and `arguments`: a device, and a size if the arena needs one.
    template <class... Arguments>
        requires std::constructible_from<Ordered, typename Ordered::timeline_type, Arguments...>
    explicit indexed_ordered(typename Ordered::timeline_type from, Arguments&&... arguments) noexcept
        : memory_(std::move(from), std::forward<Arguments>(arguments)...) {}

    /// Allocates a block for work on a queue. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted, native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        return allocate_for(wanted, attach(queue));
    }
    /// Allocates a block for any use: no work uses its bytes. Waits for such work if no other bytes fit.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        const std::lock_guard alone{lock_};
        return allocate_for(wanted, Ordered::host);
    }
    /// Frees the block at an address, which work on a queue used. Returns false and changes nothing if no block is live
    /// there, or if the driver cannot name a point on the queue.
    bool deallocate(address_type at, native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        const entry* const known = index_.find(at);
        if (known == nullptr) return false;
        if (const queue_id number = attach(queue)) memory_.deallocate(known->held, number);
        else if (!free_behind_point(known->held, queue)) return false;
        remove(*known);
        return true;
    }
    /// Frees the block at an address. All work with the block is done, except for work of `used_on`. Returns false if
    /// no block is live there.
    bool deallocate(address_type at) noexcept {
        const std::lock_guard alone{lock_};
        const entry* const known = index_.find(at);
        if (known == nullptr) return false;
        memory_.deallocate(known->held, Ordered::host);
        remove(*known);
        return true;
    }
    /// States that work on another queue uses the block at an address. When the block is freed, its bytes also wait for
    /// that queue. Returns false and changes nothing if no block is live there, or if the queue cannot be attached.
    [[nodiscard]] bool used_on(address_type at, native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        const entry* const known = index_.find(at);
        const queue_id number = known == nullptr ? queue_id{} : attach(queue);
        if (!number) return false;
        const detail::queue_set bit = detail::queue_set{1} << number.index;
        if ((known->held.uses & bit) != 0) return true;
        record noted = known->held;
        noted.uses |= bit;
        index_.resize(*known, noted);
        ++slots_[number.index].uses;
        memory_.used_on(noted, number);
        return true;
    }

    /// Removes a queue, before the driver's queue is destroyed. On failure, the queue remains attached.
    [[nodiscard]] error_type detach(native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        const queue_id number = find(queue);
        if (!number) return {};
        const error_type error = memory_.detach(number);
        if (error == error_type{}) slots_[number.index].is_attached = false;
        return error;
    }
    /// Removes all queues and treats all pending work as done.
    void abandon() noexcept {
        const std::lock_guard alone{lock_};
        memory_.abandon();
        for (unsigned at = 0; at != Ordered::max_queues; ++at)
            if (std::exchange(slots_[at].is_attached, false)) memory_.abandon(queue_id{at});
    }
    /// Records a point on each queue with pending uses, before one of them captures a graph.
    void cover() noexcept {
        const std::lock_guard alone{lock_};
        memory_.cover();
    }
    /// Blocks the calling thread until the work with all freed blocks is done.
    error_type synchronize() noexcept {
        const std::lock_guard alone{lock_};
        return memory_.synchronize();
    }
    /// Releases every region without a live block and without pending uses. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires requires(Ordered& of) { of.trim(); }
    {
        const std::lock_guard alone{lock_};
        return memory_.trim();
    }

    /// Returns the reason for which `allocate(wanted, queue)` would fail.
    [[nodiscard]] diagnosis diagnose(layout wanted, native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        return diagnose_for(wanted, attach(queue));
    }
    /// Returns the reason for which `allocate(wanted)` would fail.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        const std::lock_guard alone{lock_};
        return diagnose_for(wanted, Ordered::host);
    }
    /// Returns the live block at an address, or an empty block.
    [[nodiscard]] block_type block_at(address_type at) const noexcept {
        const std::lock_guard alone{lock_};
        return outer(index_.find(at));
    }
    /// Returns the live block that contains an address, or an empty block.
    [[nodiscard]] block_type block_containing(address_type at) const noexcept {
        const std::lock_guard alone{lock_};
        return outer(index_.find_around(at));
    }
    /// Returns the number of bytes in all regions.
    [[nodiscard]] std::size_t size() const noexcept {
        const std::lock_guard alone{lock_};
        return memory_.size();
    }
    /// Calls `use` with the `ordered` while it holds the lock, and returns the result by value.
    template <class Use>
    auto locked(Use&& use) {
        const std::lock_guard alone{lock_};
        return std::forward<Use>(use)(memory_);
    }
    /// Calls `f(address, size)` for every live block while it holds the lock. `f` must not call this allocator.
    template <class Function>
    void for_each_block(Function f) const noexcept {
        const std::lock_guard alone{lock_};
        index_.for_each([&](const entry& known) { f(known.held.address, known.held.size); });
    }

private:
    struct record : Ordered::block_type {
        detail::queue_set uses = 0;  // the queues of `used_on`
    };
    using index_type = detail::address_index<address_model, record, 0>;
    using entry = typename index_type::entry;

    struct slot {
        native_queue native{};
        std::uint64_t last_use = 0;
        std::size_t uses = 0;  // live blocks that `used_on` names with this queue
        bool is_attached = false;
    };

    [[nodiscard]] static block_type outer(const entry* known) noexcept {
        return known == nullptr ? block_type{} : block_type{known->held.address, known->held.size, {}};
    }
    [[nodiscard]] block_type allocate_for(layout wanted, queue_id queue) noexcept {
        if (!queue || !index_.room()) return {};
        const auto given = memory_.allocate(wanted, queue);
        if (!given) return {};
        index_.add(record{given});
        return {given.address, given.size, {}};
    }
    [[nodiscard]] diagnosis diagnose_for(layout wanted, queue_id queue) noexcept {
        diagnosis found = memory_.diagnose(wanted, queue);
        if (found.reason == refusal::none && !index_.room()) found.reason = refusal::out_of_records;
        return found;
    }
    void remove(const entry& known) noexcept {
        detail::for_each_queue(known.held.uses, [&](unsigned at) { --slots_[at].uses; });
        index_.remove(known);
    }
    /// Frees a block whose queue has no number.
    [[nodiscard]] bool free_behind_point(const record& held, native_queue queue) noexcept {
        typename Ordered::point_type until{};
        if (memory_.timeline().record(queue, until) != error_type{}) return false;
        if (memory_.deallocate(held, until)) return true;
        const error_type error = memory_.timeline().wait_on_host(until);
        memory_.timeline().release(until);
        if (error == error_type{}) memory_.deallocate(held, Ordered::host);
        return error == error_type{};
    }

    [[nodiscard]] queue_id find(const native_queue& queue) const noexcept {
        if (slots_[recent_].is_attached && slots_[recent_].native == queue) [[likely]]
            return {recent_};
        for (unsigned at = 0; at != Ordered::max_queues; ++at)
            if (slots_[at].is_attached && slots_[at].native == queue) return {at};
        return {};
    }
    /// Returns the number of a queue. Attaches the queue if it has none. Returns no number if this fails.
    [[nodiscard]] queue_id attach(const native_queue& queue) noexcept {
        queue_id number = find(queue);
        if (!number) number = memory_.attach(queue);
        if (!number) number = replace_oldest(queue);
        if (!number) return {};
        slot& taken = slots_[number.index];
        taken.native = queue;
        taken.is_attached = true;
        taken.last_use = ++uses_;
        recent_ = number.index;
        return number;
    }
    [[nodiscard]] queue_id replace_oldest(const native_queue& queue) noexcept {
        detail::queue_set tried = 0;
        for (;;) {
            unsigned oldest = Ordered::max_queues;
            for (unsigned at = 0; at != Ordered::max_queues; ++at) {
                if (!slots_[at].is_attached || slots_[at].uses != 0 || (tried >> at & 1U) != 0) continue;
                if (oldest == Ordered::max_queues || slots_[at].last_use < slots_[oldest].last_use) oldest = at;
            }
            if (oldest == Ordered::max_queues) return {};
            if (memory_.replace(queue_id{oldest}, queue) == error_type{}) return {oldest};
            tried |= detail::queue_set{1} << oldest;
        }
    }

    Ordered memory_;
    index_type index_;
    slot slots_[Ordered::max_queues];
    unsigned recent_ = 0;
    std::uint64_t uses_ = 0;
    ALLOT_NO_UNIQUE_ADDRESS mutable Lock lock_{};
};

}  // namespace v1
}  // namespace allot
