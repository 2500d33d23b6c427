// SPDX-License-Identifier: BSL-1.0
// on_queue: an allocator over an `ordered` for work on one queue.
//
//     allot::on_queue compute{memory, memory.attach(stream)};                  // refers to memory
//     auto weights = allot::alloc_storage(compute, {.size = 64_MiB}).value();  // as any other allocator
//     memory.used_on(block, copies);                                           // a block of a view is one of `memory`
//
//     tensor, container ─► on_queue ─► ordered, on one queue
//
// When to use: to pass an `ordered` to tensors, storages, owners and wrappers, which name no queue.
// When not to use: if the queue differs from call to call. Call `ordered` then.
//
// An object that frees a block on this queue while another queue still uses the block must call `used_on` first.
//
// Complexity: that of `ordered`.
// Memory: a pointer and a number.
// Thread safety: that of `ordered`.
#pragma once

#include <allot/compose/ordered.hpp>
#include <allot/core/allocator.hpp>

namespace allot {
inline namespace v1 {

/// Allocator that refers to an `ordered` and to one of its queues.
template <class Ordered>
class on_queue {
    static_assert(Ordered::waits != wait_policy::hand_out,
                  "allot: on_queue cannot hand out waits: use wait_policy::insert or wait_policy::never");

public:
    using address_model = typename Ordered::address_model;              ///< Address model of the device.
    using block_type = typename Ordered::block_type;                    ///< Result of an allocation.
    static constexpr bool host_accessible = Ordered::host_accessible;   ///< Whether the host may access the memory.
    static constexpr offset_use offsets = Ordered::offsets;             ///< How consumers of the memory use offsets.
    static constexpr dl_device_type dl_device = Ordered::dl_device;     ///< Device type for DLPack.
    static constexpr reclaim reclaims = Ordered::arena_type::reclaims;  ///< Order in which blocks can be freed.

    /// Refers to `memory`, which must outlive this object, and to one of its queues or `Ordered::host`.
    on_queue(Ordered& memory, queue_id queue) noexcept : memory_{&memory}, queue_{queue} {}
    // The following constructor reports another queue at compile time.
    template <class Queue>
        requires(!std::convertible_to<Queue, queue_id>)
    on_queue(Ordered& memory, Queue&&) noexcept : on_queue{memory, queue_id{}} {
        static_assert(!sizeof(Queue),
                      "allot: on_queue takes a queue of its memory: on_queue{memory, memory.attach(queue)}, or "
                      "on_queue{memory, memory.host}");
    }

    /// Allocates a block for work on the queue. Returns an empty block on failure; `diagnose` returns the reason.
    [[nodiscard]] block_type allocate(layout wanted) noexcept { return memory_->allocate(wanted, queue_); }
    /// Frees a block. Work that was submitted to the queue before may still use it.
    void deallocate(block_type held) noexcept { memory_->deallocate(held, queue_); }
    /// Returns the reason for which `allocate(wanted)` would fail.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept { return memory_->diagnose(wanted, queue_); }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires requires(Ordered& memory, queue_id queue) { memory.resize(held, size, queue); }
    {
        return memory_->resize(held, size, queue_);
    }
    /// Returns the usable bytes of a block: at least its size.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept { return memory_->capacity(held); }
    /// Returns true if the block is inside a region of the memory.
    [[nodiscard]] bool owns(block_type held) const noexcept { return memory_->owns(held); }
    /// Returns the number of bytes in all regions.
    [[nodiscard]] std::size_t size() const noexcept { return memory_->size(); }
    /// Releases every region without a live block and without pending uses. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<typename Ordered::arena_type>
    {
        return memory_->trim();
    }

    /// Returns the memory.
    [[nodiscard]] Ordered& memory() const noexcept { return *memory_; }
    /// Returns the queue.
    [[nodiscard]] queue_id queue() const noexcept { return queue_; }

private:
    Ordered* memory_;
    queue_id queue_;
};

}  // namespace v1
}  // namespace allot
