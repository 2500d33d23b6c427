// SPDX-License-Identifier: BSL-1.0
// gpu::unique_span: an owner of an uninitialized array in device memory.
//
//     allot::arena<allot::cuda::device_memory, allot::best_fit<>> memory{allot::cuda::device_memory{0}, 64_MiB};
//     auto weights = allot::cuda::make_span<float>(memory, 1000);
//     if (!weights) return complain(memory.diagnose(allot::layout{4000, 256}).what());
//     kernel<<<4, 256>>>(weights.data(), weights.size());             // the destructor frees the block
//
//     unique_span │ pointer to the allocator │ block │ number of elements │
//
// The elements are not initialized, and no byte is accessed: the host need not be able to. The first element is a
// multiple of 256, like an address of cudaMalloc, so that kernels can load vectors.
//
// When to use: for arrays on a device with one owner, like rmm::device_uvector. cuda/memory.hpp and hip/memory.hpp
// expose the functions as `cuda::make_span` and `hip::make_span`. Any allocator of raw pointers works.
// When not to use: for elements with constructors, and for arrays that grow: there is no resize.
//
// The allocator must outlive the span. Destroy the span after all work that uses it, except work in the order of its
// stream for stream-ordered memory.
//
// Complexity: that of the allocator.
// Memory: a pointer, the block and the number of elements: 32 bytes if the metadata is empty, 40 with best_fit.
// Thread safety: none for one object. Two spans may be used concurrently if their allocator may.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/object/unique_block.hpp>

#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace gpu {

/// An owning, move-only array of uninitialized elements. Empty after a failed allocation and after a move.
template <class T, class Allocator>
class [[nodiscard]] unique_span {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && !std::is_const_v<T>,
                  "allot: the elements of a unique_span are not constructed: use a trivially copyable type "
                  "without const");
    static_assert(std::same_as<decltype(block_of<Allocator>::address), void*>,
                  "allot: a unique_span has a pointer to its elements: use an allocator whose blocks have pointers");

public:
    using element_type = T;                  ///< The type of an element.
    using allocator_type = Allocator;        ///< The type of the allocator.
    using block_type = block_of<Allocator>;  ///< The type of the block.

    /// Constructs an empty span.
    unique_span() noexcept = default;
    /// Takes the elements of `other`, which becomes empty.
    unique_span(unique_span&& other) noexcept
        : memory_{std::move(other.memory_)}, size_{std::exchange(other.size_, 0)} {}
    /// Frees the current elements and takes those of `other`, which becomes empty.
    unique_span& operator=(unique_span&& other) noexcept {
        unique_span taken{std::move(other)};
        std::swap(memory_, taken.memory_);
        std::swap(size_, taken.size_);
        return *this;
    }
    /// Frees the elements.
    ~unique_span() = default;

    /// Returns true if there are elements.
    [[nodiscard]] explicit operator bool() const noexcept { return size_ != 0; }
    /// Returns the address of the first element, or null.
    [[nodiscard]] T* data() const noexcept { return static_cast<T*>(memory_.address()); }
    /// Returns the number of elements.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Returns the number of bytes.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    /// Returns the block, which stays owned.
    [[nodiscard]] const block_type& block() const noexcept { return memory_.get(); }
    /// Returns the allocator of the elements, or null.
    [[nodiscard]] Allocator* allocator() const noexcept { return memory_.allocator(); }

    /// Frees the elements. The span becomes empty.
    void reset() noexcept {
        memory_.reset();
        size_ = 0;
    }

    /// Allocates `count` elements. See `make_span`.
    [[nodiscard]] static unique_span make(Allocator& allocator, std::size_t count, std::size_t align) noexcept {
        unique_span made;
        layout wanted{0, align < alignof(T) && is_alignment(align) ? alignof(T) : align};
        if (!checked_multiply(count, sizeof(T), wanted.size)) return made;
        unique_block<Allocator> memory = allocate_unique(allocator, wanted);
        if (!memory) return made;
        made.memory_ = std::move(memory);
        made.size_ = count;
        return made;
    }

private:
    unique_block<Allocator> memory_;
    std::size_t size_ = 0;
};

/// Allocates `count` uninitialized elements, the first at a multiple of `align` and of `alignof(T)`. Returns an empty
/// span if `count` is 0, if the size in bytes overflows, or if the allocation fails; `allocator.diagnose` returns the
/// reason.
template <class T, class Allocator>
[[nodiscard]] unique_span<T, Allocator> make_span(Allocator& allocator, std::size_t count,
                                                  std::size_t align = 256) noexcept {
    return unique_span<T, Allocator>::make(allocator, count, align);
}

}  // namespace gpu
}  // namespace v1
}  // namespace allot
