// SPDX-License-Identifier: BSL-1.0
// allot_torch::cpu_allocator: an allot allocator as the c10::Allocator of PyTorch's CPU tensors.
//
//     using arena = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
//     using memory = allot::synchronized<arena, std::mutex>;
//     auto* const tensors = new allot_torch::cpu_allocator<memory>{arena{allot::host::virtual_memory{64_GiB}}};
//     c10::SetCPUAllocator(tensors);              // before the first tensor; never destroyed
//     …
//     tensors->statistics().peak;                 // the maximum of bytes in live tensors
//
//     tensor ──► allocate(n) ──► your allocator ──►  │ prefix: block, owner │ n bytes of the tensor │
//            ◄── DataPtr{data, deleter}                                     └─ data, a multiple of 64
//
// PyTorch frees by the pointer alone, from any thread. The prefix of 64 bytes has the block, so the deleter needs no
// index and no global variable, and PyTorch's raw interface works (`raw_deleter`). Tensors of several allocators exist
// side by side.
//
// A request that fails throws c10::OutOfMemoryError, in Python a RuntimeError: torch.OutOfMemoryError where PyTorch has
// it. The profiler of PyTorch counts the bytes as those of its own allocator (`profile_memory=True`).
//
// When to use: to hold fewer bytes than malloc does, to limit the tensors, to count them, or to put them into memory of
// your own, such as huge pages.
// When not to use: for tensors of a GPU (allot_pytorch.cpp), and for pinned memory, which PyTorch gets elsewhere.
//
// The allocator must outlive all tensors that it has served. PyTorch requires one that lives as long as the process.
// The header compiles with the headers of PyTorch 1.13 and newer. Link libc10 of the same version.
//
// Complexity: that of the allocator, and six atomic operations.
// Memory: that of the allocator, and 64 bytes for each tensor.
// Thread safety: all functions may be called from any thread. A process that forks must hold the lock during the call,
// or a child that allocates can wait forever: allot_torch_cpu.cpp does so with pthread_atfork.
#pragma once

#include "allocator_counters.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>

#include <allot/address/raw_pointer.hpp>
#include <allot/compose/detail/wrapper.hpp>
#include <allot/core/arithmetic.hpp>

#include <cstring>
#include <new>
#include <utility>

namespace allot_torch {

/// The interface of PyTorch over an allot allocator of host memory that several threads may call at once.
template <allot::sized_allocator Memory>
class cpu_allocator : public c10::Allocator {
    static_assert(std::same_as<typename Memory::address_model, allot::raw_pointer> && Memory::host_accessible,
                  "allot: PyTorch reads and writes CPU tensors: use a device of host memory");
    static_assert(
        allot::detail::is_concurrent<Memory>(),
        "allot: PyTorch's threads allocate and free at the same time: use synchronized<Memory, std::mutex> or "
        "thread_local_caches<per_thread<Memory>>");

public:
    /// Constructs the allocator from the arguments.
    template <class... Arguments>
        requires std::constructible_from<Memory, Arguments&&...>
    explicit cpu_allocator(Arguments&&... arguments) : memory_(std::forward<Arguments>(arguments)...) {}
    cpu_allocator(const cpu_allocator&) = delete;
    cpu_allocator& operator=(const cpu_allocator&) = delete;

    // PyTorch 2.4 removed the const of `allocate` and later added `copy_data`. So one of the following two functions
    // overrides that of the base class, and the keyword `override` would fail with one of the versions.
    /// Returns memory for a tensor. Throws c10::OutOfMemoryError if there is none.
    c10::DataPtr allocate(std::size_t size) const { return give(size); }
    /// Returns memory for a tensor. Throws c10::OutOfMemoryError if there is none.
    c10::DataPtr allocate(std::size_t size) { return give(size); }
    /// Copies bytes between blocks of this allocator.
    void copy_data(void* to, const void* from, std::size_t count) const { std::memcpy(to, from, count); }
    /// Returns the function that frees a block by its pointer.
    c10::DeleterFnPtr raw_deleter() const { return &take; }

    /// Returns the counters. Concurrent calls can invalidate the result.
    [[nodiscard]] allot_torch::statistics statistics() const noexcept { return counters_.read(memory_.size()); }
    /// Sets the peak to the bytes that are in use now.
    void reset_peak() noexcept { counters_.reset_peak(); }
    /// Releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires allot::trimmable_allocator<Memory>
    {
        return memory_.trim();
    }

private:
    using block_type = allot::block_of<Memory>;
    struct prefix {
        const cpu_allocator* owner;
        block_type block;
    };
    static constexpr std::size_t ahead = allot::align_up(sizeof(prefix), c10::gAlignment);

    [[nodiscard]] c10::DataPtr give(std::size_t size) const {
        void* data = nullptr;
        if (size != 0) {
            const allot::layout wanted{size <= SIZE_MAX - ahead ? size + ahead : SIZE_MAX, c10::gAlignment};
            const block_type fresh = memory_.allocate(wanted);
            if (!fresh) {
                c10::profiledCPUMemoryReporter().OutOfMemory(size);
                counters_.refuse(memory_, size, wanted);
            }
            ::new (fresh.address) prefix{this, fresh};
            data = static_cast<std::byte*>(fresh.address) + ahead;
            counters_.add(size);
            c10::profiledCPUMemoryReporter().New(data, size);
        }
        return {data, data, &take, c10::Device{c10::DeviceType::CPU}};
    }
    static void take(void* data) {
        if (data == nullptr) return;
        c10::profiledCPUMemoryReporter().Delete(data);
        const prefix known = *std::launder(reinterpret_cast<prefix*>(static_cast<std::byte*>(data) - ahead));
        known.owner->counters_.remove(known.block.size - ahead);
        known.owner->memory_.deallocate(known.block);
    }
    mutable Memory memory_;  // PyTorch 1.13 allocates from a constant object
    mutable detail::counters counters_;
};

}  // namespace allot_torch
