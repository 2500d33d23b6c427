// SPDX-License-Identifier: BSL-1.0
// opencl::unique_buffer: an owner of bytes in an OpenCL buffer, for kernels that take a buffer and an offset, and for
// functions that take a whole cl::Buffer.
//
//     allot::arena<allot::opencl::buffer, allot::best_fit<>> memory{{context, device}, 64_MiB};
//     auto weights = allot::opencl::make_buffer(memory, 4096);
//     if (!weights) return weights.error();                         // an OpenCL code; no object is left behind
//     allot::opencl::set_arg(kernel, 0, *weights);                  // two arguments: the cl_mem and the offset
//     auto whole = weights->sub_buffer(device);                     // a cl::Buffer that begins at the first byte
//
//     cl_mem  │          │◄ weights ►│            │     the sub-buffer ends before its owner
//
// When to use: for each piece of device memory with one owner.
// When not to use: for several tensors in one storage, use opencl/tensor.hpp. For pointers, use opencl/svm.hpp.
//
// The allocator must outlive the owner. Destroy the owner after all work that uses it, and after its sub-buffers: the
// allocator reuses the bytes immediately, although OpenCL keeps a buffer alive for its sub-buffers.
//
// The code relies on a rule of the OpenCL specification (clCreateSubBuffer): the origin of a sub-buffer is a multiple
// of CL_DEVICE_MEM_BASE_ADDR_ALIGN. Therefore buffers have this alignment by default.
//
// Complexity: that of the allocator; three driver calls for a sub-buffer.
// Memory: the block and a pointer.
// Thread safety: none for one object. Two owners may be used concurrently if their allocator may.
#pragma once

#include <allot/object/unique_block.hpp>
#include <allot/opencl/buffer.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace opencl {

/// An owning, move-only piece of an OpenCL buffer. Empty after a failed call and after a move.
template <class Allocator>
class [[nodiscard]] unique_buffer {
    static_assert(allocator_requirements<Allocator>());
    static_assert(std::same_as<decltype(block_of<Allocator>::address), handle_offset<cl_mem>::address>,
                  "allot: opencl::make_buffer needs blocks of OpenCL buffers: use an arena or a naive over "
                  "opencl::buffer or opencl::imported");

public:
    using allocator_type = Allocator;                     ///< The type of the allocator.
    using block_type = block_of<Allocator>;               ///< The type of the block.
    using address_type = handle_offset<cl_mem>::address;  ///< A cl_mem and a byte offset.

    /// Constructs an empty object.
    unique_buffer() noexcept = default;
    /// Takes ownership of a block.
    explicit unique_buffer(unique_block<Allocator> memory) noexcept : memory_{std::move(memory)} {}

    /// Returns true if bytes are owned.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(memory_); }
    /// Returns the cl_mem and the offset of the first byte, for `set_arg`.
    [[nodiscard]] address_type address() const noexcept { return memory_.address(); }
    /// Returns the cl_mem, which also holds other blocks, or null.
    [[nodiscard]] cl_mem handle() const noexcept { return memory_.address().handle; }
    /// Returns the offset of the first byte in the cl_mem.
    [[nodiscard]] std::size_t offset() const noexcept { return memory_.address().offset; }
    /// Returns the number of bytes.
    [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }
    /// Returns the block, which stays owned.
    [[nodiscard]] const block_type& block() const noexcept { return memory_.get(); }

    /// Returns a buffer object with exactly these bytes. Release it before this object. Fails with
    /// CL_INVALID_MEM_OBJECT (-38) for an empty object; CL_INVALID_DEVICE (-33) if the device does not report its
    /// alignment; CL_MISALIGNED_SUB_BUFFER_OFFSET (-13) if the bytes do not have the alignment of `device`, also on
    /// drivers that would accept it; otherwise with the driver's code.
    [[nodiscard]] cl_result<cl::Buffer> sub_buffer(const cl::Device& device) const noexcept {
        if (!memory_) return cl_result<cl::Buffer>::failure(CL_INVALID_MEM_OBJECT);
        return detail::sub_buffer_of(address(), size(), device);
    }

    /// Frees the bytes. The object becomes empty.
    void reset() noexcept { memory_.reset(); }

private:
    unique_block<Allocator> memory_;
};

/// Allocates `bytes` bytes at a multiple of `align`; 0 means the alignment of the device, which sub-buffers require, or
/// 64 if the allocator has no `device()`, such as `synchronized`: pass the alignment then.
/// Fails with CL_INVALID_BUFFER_SIZE (-61) for a size of 0; the code of the device if it fails to provide memory;
/// CL_MEM_OBJECT_ALLOCATION_FAILURE (-4) otherwise.
template <class Allocator>
[[nodiscard]] cl_result<unique_buffer<Allocator>> make_buffer(Allocator& allocator, std::size_t bytes,
                                                              std::size_t align = 0) noexcept {
    using answer = cl_result<unique_buffer<Allocator>>;
    if (bytes == 0) return answer::failure(CL_INVALID_BUFFER_SIZE);
    if constexpr (requires { allocator.device().base_align(); }) {
        if (align == 0) align = allocator.device().base_align();
    }
    const layout wanted{bytes, align == 0 ? buffer::min_align : align};
    unique_buffer<Allocator> made{allocate_unique(allocator, wanted)};
    if (made) return made;
    const diagnosis cause = allocator.diagnose(wanted);
    return answer::failure(cause.reason == refusal::device_refused ? static_cast<cl_int>(cause.device_error)
                                                                   : CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

}  // namespace opencl
}  // namespace v1
}  // namespace allot
