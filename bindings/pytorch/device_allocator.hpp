// SPDX-License-Identifier: BSL-1.0
// allot_torch::device_allocator: an allot allocator as the c10::Allocator of an accelerator outside PyTorch.
//
//     struct my_memory : allot::pointer_memory_traits<my_memory, false> { … };   // acquires regions from your driver
//     using arena = allot::arena<my_memory, allot::best_fit<>, allot::growth::geometric<>>;
//     using memory = allot::synchronized<arena, std::mutex>;
//     auto* const tensors = new allot_torch::device_allocator<memory>{
//         device_count(), [](c10::DeviceIndex i) { return memory{arena{my_memory{i}}}; }};
//     c10::SetAllocator(c10::DeviceType::PrivateUse1, tensors, 1);                // in place of the one of priority 0
//
//     tensor ──► allocate(n) ──► memory of the current device ──► region of the driver
//            ◄── DataPtr{data, record{owner, block}, deleter}     (never accessed by the host)
//
// PyTorch gives backends of other repositories the device type PrivateUse1. The current device comes from the guard
// that such a backend registers. The host accesses no byte of the memory: the block of a tensor is in a record on the
// heap.
//
// A request that fails throws c10::OutOfMemoryError. The profiler of PyTorch counts the bytes.
//
// When to use: for a backend whose driver gives memory in large or page-sized pieces, or takes long for each.
// When not to use: for CPU tensors (cpu_allocator.hpp) and for CUDA (allot_pytorch.cpp). Where a freed block may still
// be in use by another stream: a block is reused at once, as by the host. `raw_deleter` is absent, and so are the
// functions of `torch.accelerator.memory`, which need a c10::DeviceAllocator.
//
// The allocator must outlive all tensors that it has served.
//
// Complexity: that of the allocator, six atomic operations, and a record from the heap.
// Memory: that of the allocator, and a record for each tensor.
// Thread safety: all functions may be called from any thread.
#pragma once

#include "allocator_counters.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/alignment.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <allot/address/raw_pointer.hpp>
#include <allot/compose/detail/wrapper.hpp>

#include <memory>
#include <vector>

namespace allot_torch {

/// The interface of PyTorch over one allot allocator for each device, whose calls may overlap. `Alignment` is that of
/// each tensor, in bytes.
template <allot::sized_allocator Memory, std::size_t Alignment = c10::gAlignment>
class device_allocator : public c10::Allocator {
    static_assert(std::same_as<typename Memory::address_model, allot::raw_pointer>,
                  "allot: PyTorch identifies a tensor by a pointer: use a device whose addresses are pointers");
    static_assert(allot::detail::is_concurrent<Memory>(),
                  "allot: PyTorch's threads allocate and free at the same time: use synchronized<Memory, std::mutex> "
                  "or thread_local_caches<per_thread<Memory>>");

public:
    /// Creates the memory of each device by `make(index)`.
    template <class Make>
        requires std::same_as<std::invoke_result_t<Make&, c10::DeviceIndex>, Memory>
    device_allocator(c10::DeviceIndex devices, Make make) {
        for (c10::DeviceIndex i = 0; i < devices; ++i)
            devices_.push_back(std::unique_ptr<of_device>{new of_device{make(i), {}}});
    }
    device_allocator(const device_allocator&) = delete;
    device_allocator& operator=(const device_allocator&) = delete;

    // PyTorch 2.4 removed the const of `allocate` and later added `copy_data`. So one of the following two functions
    // overrides that of the base class, and the keyword `override` would fail with one of the versions.
    /// Returns memory of the current device. Throws c10::OutOfMemoryError if there is none.
    c10::DataPtr allocate(std::size_t size) const { return give(size); }
    /// Returns memory of the current device. Throws c10::OutOfMemoryError if there is none.
    c10::DataPtr allocate(std::size_t size) { return give(size); }
    /// Throws: only the backend can copy its memory. PyTorch calls it for allocators with `raw_deleter`.
    void copy_data(void*, const void*, std::size_t) const {
        C10_THROW_ERROR(NotImplementedError, "allot: copy tensors by the operators of the backend");
    }

    /// Returns the counters of a device.
    [[nodiscard]] allot_torch::statistics statistics(c10::DeviceIndex device) const {
        const of_device& one = at(device);
        return one.counters.read(one.memory.size());
    }
    /// Sets the peak of a device to the bytes that are in use now.
    void reset_peak(c10::DeviceIndex device) { at(device).counters.reset_peak(); }
    /// Releases memory of a device without live blocks. Returns the number of released bytes.
    std::size_t trim(c10::DeviceIndex device)
        requires allot::trimmable_allocator<Memory>
    {
        return at(device).memory.trim();
    }

private:
    using block_type = allot::block_of<Memory>;
    static constexpr auto type = c10::DeviceType::PrivateUse1;
    struct of_device {
        Memory memory;
        detail::counters counters;
    };
    struct record {
        of_device* owner;
        c10::Device device;
        block_type block;
    };

    /// A number of bytes for the profiler, whose type depends on the version of PyTorch.
    struct total {
        std::size_t bytes;
        operator std::size_t() const noexcept { return bytes; }
        operator std::int64_t() const noexcept { return static_cast<std::int64_t>(bytes); }
    };

    [[nodiscard]] of_device& at(c10::DeviceIndex device) const {
        if (device < 0 || static_cast<std::size_t>(device) >= devices_.size())
            C10_THROW_ERROR(IndexError, "allot: there is no device " + std::to_string(device));
        return *devices_[static_cast<std::size_t>(device)];
    }
    [[nodiscard]] c10::DataPtr give(std::size_t size) const {
        const c10::Device device{type, c10::impl::getDeviceGuardImpl(type)->getDevice().index()};
        if (size == 0) return {nullptr, device};
        of_device& one = at(device.index());
        auto known = std::make_unique<record>(record{&one, device, {}});
        known->block = one.memory.allocate({size, Alignment});
        if (!known->block) one.counters.refuse(one.memory, size, {size, Alignment});
        one.counters.add(size);
        tell(*known, static_cast<std::int64_t>(size));
        void* const data = known->block.address;
        return {data, known.release(), &take, device};
    }
    static void take(void* context) {
        const std::unique_ptr<record> known{static_cast<record*>(context)};
        const std::size_t size = known->block.size;
        known->owner->counters.remove(size);
        tell(*known, -static_cast<std::int64_t>(size));
        known->owner->memory.deallocate(known->block);
    }
    /// Tells the profiler of PyTorch that the bytes of a device have changed.
    static void tell(const record& of, std::int64_t change) {
        if (c10::memoryProfilingEnabled())
            c10::reportMemoryUsageToProfiler(of.block.address, change, total{of.owner->counters.used()},
                                             total{of.owner->memory.size()}, of.device);
    }

    std::vector<std::unique_ptr<of_device>> devices_;
};

}  // namespace allot_torch
