// memory: the memory of one scope of a device: an allot allocator, or a pool of images, behind virtual functions.
//
//     allot_tvm::memory_over<allot::arena<allot::host::heap, allot::best_fit<>>> heap{64, allot::host::heap{}, 65536};
//     void* const bytes = heap.allocate({4096, 64});
//
// TVM selects a memory by the name of its scope while a program runs, so the memories of a device have one C++ type.
// `memory_over` is the memory of an allot allocator whose blocks are pointers. If the blocks have metadata, it keeps
// the metadata in a hash table by address. TVM calls from any thread, and allot is not synchronized, so every call
// holds a lock.
//
// Complexity: that of the allocator, and one look-up if blocks have metadata. Memory: that of the allocator, and a node
// of the table for each live block with metadata. Thread safety: all functions may be called from any thread.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/allocator.hpp>
#include <allot/tensor/shape.hpp>

#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace allot_tvm {

/// The alignment of every tensor. Kernels that TVM compiles assume it and do not check it.
inline constexpr std::size_t tensor_align = 64;

/// Bytes of a memory.
using bytes = allot::region<void*>;

/// The requests that a memory has served.
struct served {
    std::size_t requests = 0;  ///< Requests that succeeded.
    std::size_t live = 0;      ///< Bytes that are allocated.
    std::size_t most = 0;      ///< The maximum of bytes allocated at one time.

    void add(std::size_t size) noexcept {
        ++requests;
        live += size;
        if (live > most) most = live;
    }
};

class memory {
public:
    memory() = default;
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    virtual ~memory() = default;

    /// Allocates bytes. Returns null on failure; `diagnose` then returns the reason.
    [[nodiscard]] virtual void* allocate(allot::layout wanted) noexcept = 0;
    /// Allocates the bytes of a tensor. A pool of images derives the size of the image from the shape.
    [[nodiscard]] virtual allot::tensor_result<bytes> allocate(const allot::shape& of, allot::dtype type) noexcept {
        using answer = allot::tensor_result<bytes>;
        const auto size = allot::byte_count(of, type);
        if (!size) return answer::failure(size.error());
        const allot::layout wanted{*size != 0 ? *size : 1, tensor_align};
        void* const fresh = allocate(wanted);
        if (fresh == nullptr)
            return answer::failure({allot::tensor_refusal::no_memory, allot::no_row, diagnose(wanted)});
        return bytes{fresh, wanted.size, wanted.align};
    }
    /// Frees what `allocate` returned.
    virtual void deallocate(void* address, std::size_t size) noexcept = 0;
    /// Returns the reason that a request would fail.
    [[nodiscard]] virtual allot::diagnosis diagnose(allot::layout wanted) noexcept = 0;
    /// Returns the requests that it has served.
    [[nodiscard]] virtual allot_tvm::served served() const noexcept = 0;
    /// Releases unused memory to the device. Returns the number of released bytes.
    virtual std::size_t trim() noexcept { return 0; }
    /// How tensors use offsets in a storage of this memory; `none` gives each tensor a buffer of its own.
    [[nodiscard]] virtual allot::offset_use offsets() const noexcept { return allot::offset_use::arithmetic; }
    /// Returns the reason that a buffer of this memory cannot have a view of this shape, or an error of `none`.
    [[nodiscard]] virtual allot::tensor_error check_view(const allot::shape&, allot::dtype) const noexcept {
        return {};
    }
    /// Whether tensors are images: they are allocated by shape and dtype, and each is a buffer of its own.
    [[nodiscard]] virtual bool has_images() const noexcept { return false; }
};

/// The memory of an allot allocator. `align` is the smallest alignment of a block.
template <allot::allocator Memory>
class memory_over : public memory {
    static_assert(std::same_as<typename Memory::address_model, allot::raw_pointer>,
                  "allot: a buffer of TVM names memory by one pointer");
    using block = allot::block_of<Memory>;
    using metadata = decltype(block::metadata);
    static constexpr bool has_metadata = !std::is_empty_v<metadata>;

public:
    template <class... Arguments>
    explicit memory_over(std::size_t align, Arguments&&... arguments)
        : align_{align}, memory_{std::forward<Arguments>(arguments)...} {}

    using memory::allocate;
    [[nodiscard]] void* allocate(allot::layout wanted) noexcept override {
        const std::lock_guard lock{mutex_};
        const block fresh = memory_.allocate(raised(wanted));
        if (!fresh) return nullptr;
        if constexpr (has_metadata) {
            try {
                metadata_.emplace(fresh.address, fresh.metadata);
            } catch (...) {
                memory_.deallocate(fresh);
                return nullptr;
            }
        }
        served_.add(fresh.size);
        return fresh.address;
    }
    void deallocate(void* address, std::size_t size) noexcept override {
        const std::lock_guard lock{mutex_};
        served_.live -= size;
        block held{address, size};
        if constexpr (has_metadata) held.metadata = metadata_.extract(address).mapped();
        memory_.deallocate(held);
    }
    [[nodiscard]] allot::diagnosis diagnose(allot::layout wanted) noexcept override {
        const std::lock_guard lock{mutex_};
        return memory_.diagnose(raised(wanted));
    }
    [[nodiscard]] allot_tvm::served served() const noexcept override {
        const std::lock_guard lock{mutex_};
        return served_;
    }
    std::size_t trim() noexcept override {
        if constexpr (allot::trimmable_allocator<Memory>) {
            const std::lock_guard lock{mutex_};
            return memory_.trim();
        }
        return 0;
    }
    [[nodiscard]] allot::offset_use offsets() const noexcept override { return Memory::offsets; }

private:
    struct nothing {};
    [[nodiscard]] allot::layout raised(allot::layout wanted) const noexcept {
        if (allot::is_alignment(wanted.align) && wanted.align < align_) wanted.align = align_;
        return wanted;
    }

    mutable std::mutex mutex_;
    allot_tvm::served served_;
    std::size_t align_;
    Memory memory_;
    [[no_unique_address]] std::conditional_t<has_metadata, std::unordered_map<void*, metadata>, nothing> metadata_{};
};

/// A memory as an allot allocator. `Offsets` states how tensors use offsets in a storage of it.
template <allot::offset_use Offsets = allot::offset_use::arithmetic>
class reference_to_memory {
public:
    using address_model = allot::raw_pointer;
    using block_type = allot::block<void*, allot::no_metadata<reference_to_memory>>;
    static constexpr bool host_accessible = true;
    static constexpr allot::offset_use offsets = Offsets;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    static constexpr allot::reclaim reclaims = allot::reclaim::any;

    explicit reference_to_memory(memory& to) noexcept : to_{&to} {}

    [[nodiscard]] block_type allocate(allot::layout wanted) noexcept {
        void* const fresh = to_->allocate(wanted);
        return fresh == nullptr ? block_type{} : block_type{fresh, wanted.size};
    }
    void deallocate(block_type held) noexcept { to_->deallocate(held.address, held.size); }
    [[nodiscard]] allot::diagnosis diagnose(allot::layout wanted) noexcept { return to_->diagnose(wanted); }
    std::size_t trim() noexcept { return to_->trim(); }

private:
    memory* to_;
};

/// Returns the measurements of a diagnosis as the end of a sentence.
[[nodiscard]] inline std::string details_of(const allot::diagnosis& found) {
    std::string text;
    if (found.largest_hole != 0) text += "; the largest hole has " + std::to_string(found.largest_hole) + " bytes";
    if (found.device_error != 0) text += "; the device's error is " + std::to_string(found.device_error);
    return text;
}

}  // namespace allot_tvm
