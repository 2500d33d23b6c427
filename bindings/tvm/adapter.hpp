// adapter: TVM's allocator interface over an allot allocator whose blocks are pointers.
//
//     using growing = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::fixed<>>;
//     tvm::runtime::Allocator* storages = new allot_tvm::adapter<growing>{tvm::runtime::memory::kPooled};
//
//     Relax VM ──► MemoryManager ──► adapter ──► allocate ──► block {address, size, metadata}
//                                                Buffer {data, size, …} ◄──┘        └──► metadata, by address
//
// A buffer of TVM has no space for a block's metadata. If the allocator's blocks have metadata, the adapter keeps it in
// a hash table. TVM calls from any thread, and allot is not synchronized, so every call holds a lock.
//
// Complexity: that of the allocator, and one look-up if blocks have metadata. Memory: that of the allocator, and a node
// of the table for each live block with metadata. Thread safety: all functions may be called from any thread.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/allocator.hpp>

#include <tvm/ffi/error.h>
#include <tvm/runtime/memory/memory_manager.h>

#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace allot_tvm {

using tvm::runtime::memory::AllocatorType;
using tvm::runtime::memory::Buffer;

template <allot::allocator Memory>
class adapter : public tvm::runtime::memory::Allocator {
    static_assert(std::same_as<typename Memory::address_model, allot::raw_pointer>,
                  "allot: a buffer of TVM names memory by one pointer");
    using block = allot::block_of<Memory>;
    using metadata = decltype(block::metadata);
    static constexpr bool has_metadata = !std::is_empty_v<metadata>;

public:
    /// MemoryManager keeps an allocator for each device and `type`. A buffer stores the type, so that it returns here.
    template <class... Arguments>
    explicit adapter(AllocatorType type, Arguments&&... arguments)
        : Allocator{type}, memory_{std::forward<Arguments>(arguments)...} {}

    using Allocator::Alloc;  // the overload for shapes calls the one below

    /// Allocates a buffer. Throws tvm::ffi::Error (in Python a MemoryError) with the reason when there is no memory.
    Buffer Alloc(DLDevice device, std::size_t size, std::size_t align, DLDataType) override {
        const std::lock_guard lock{mutex_};
        const allot::layout wanted{size != 0 ? size : 1, align};
        const block fresh = memory_.allocate(wanted);
        if (!fresh) throw tvm::ffi::Error{"MemoryError", why_not(wanted), ""};
        if constexpr (has_metadata) {
            try {
                metadata_.emplace(fresh.address, fresh.metadata);
            } catch (...) {
                memory_.deallocate(fresh);
                throw;
            }
        }
        used_ += fresh.size;
        return {fresh.address, fresh.size, device, type()};
    }

    void Free(const Buffer& buffer) override {
        const std::lock_guard lock{mutex_};
        block held{buffer.data, buffer.size};
        if constexpr (has_metadata) held.metadata = metadata_.extract(buffer.data).mapped();
        memory_.deallocate(held);
        used_ -= buffer.size;
    }

    /// Releases unused memory to the device, if the allocator supports it.
    void Clear() override {
        const std::lock_guard lock{mutex_};
        if constexpr (requires { memory_.trim(); }) memory_.trim();
    }

    /// Returns the number of bytes that TVM holds.
    std::size_t UsedMemory() const override {
        const std::lock_guard lock{mutex_};
        return used_;
    }

private:
    [[nodiscard]] std::string why_not(allot::layout wanted) {
        const allot::diagnosis found = memory_.diagnose(wanted);
        std::string text = "allot: no " + std::to_string(wanted.size) + " bytes aligned to " +
                           std::to_string(wanted.align) + ": " + found.what();
        if (found.largest_hole != 0) text += "; the largest hole has " + std::to_string(found.largest_hole) + " bytes";
        if (found.device_error != 0) text += "; the device's error is " + std::to_string(found.device_error);
        return text;
    }
    struct nothing {};

    mutable std::mutex mutex_;
    Memory memory_;
    [[no_unique_address]] std::conditional_t<has_metadata, std::unordered_map<void*, metadata>, nothing> metadata_{};
    std::size_t used_ = 0;
};

}  // namespace allot_tvm
