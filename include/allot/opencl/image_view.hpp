// SPDX-License-Identifier: BSL-1.0
// opencl::as_image: the bytes of an OpenCL buffer as an image.
//
//     auto view = allot::opencl::as_image<allot::scope::texture>(tensor, queue);
//     if (view && !view->aliases) …                        // a copy: writes do not reach the tensor
//
//     buffer   │ row 0 ······ pad │ row 1 ······ pad │ …        pitch: a multiple of CL_DEVICE_IMAGE_PITCH_ALIGNMENT,
//     image    │ row 0 ······     │ row 1 ······     │ …        which counts pixels, not bytes
//
// When to use: for kernels that read a tensor in a buffer through the texture cache.
// When not to use: for data that exists only as an image: opencl/image.hpp.
//
// An image over a buffer requires cl_khr_image2d_from_buffer or the equivalent feature of OpenCL 2.0: without it, the
// pitch alignment is 0. The image begins at a valid offset of a sub-buffer (CL_DEVICE_MEM_BASE_ADDR_ALIGN), and in
// imported host bytes also at a multiple of CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT pixels. If the tensor's bytes or the
// driver do not allow such an image (PoCL and oclgrind never do), `as_image` creates a new image, copies the bytes, and
// sets `aliases` to false. The view holds the tensor and therefore its storage, because a driver need not retain the
// buffer of an image.
//
// A tensor with padded rows is a slice of a wider tensor: `slice(wide, {0, 0, 0}, {h, 60, 4})`, if the shape of `wide`
// is {h, 64, 4}.
//
// Complexity: a few driver calls; one for each row when padded rows are copied.
// Memory: the new image, if as_image copies.
// Thread safety: that of the driver.
#pragma once

#include <allot/opencl/image.hpp>

namespace allot {
inline namespace v1 {
namespace opencl {

/// A tensor's elements as an image. Destruction and assignment release the image before the tensor, whose bytes it may
/// use.
template <class Tensor>
struct tensor_image {
    Tensor of{};           ///< The tensor, which stays alive.
    cl::Buffer over{};     ///< The sub-buffer under the image, if there is one.
    cl::Image2D image{};   ///< The image.
    bool aliases = false;  ///< True if the image has the tensor's bytes; false for an independent copy.

    /// Constructs an empty object.
    tensor_image() noexcept = default;
    /// Constructs the object from its members.
    tensor_image(Tensor tensor, cl::Buffer part, cl::Image2D made, bool same) noexcept
        : of{std::move(tensor)}, over{std::move(part)}, image{std::move(made)}, aliases{same} {}
    /// Copies the references to the tensor and the image.
    tensor_image(const tensor_image&) noexcept = default;
    /// Moves the references to the tensor and the image.
    tensor_image(tensor_image&&) noexcept = default;
    /// Assigns by swapping.
    tensor_image& operator=(tensor_image other) noexcept {
        std::swap(of, other.of);
        std::swap(over, other.over);
        std::swap(image, other.image);
        std::swap(aliases, other.aliases);
        return *this;
    }
    /// Releases the image and then the tensor.
    ~tensor_image() = default;
};

namespace detail {

// An image over bytes of a buffer, and its sub-buffer.
struct image_over {
    cl::Buffer over;
    cl::Image2D image;
};

// The pitch alignment for images over buffers in pixels, or 0 if the device does not support them.
[[nodiscard]] inline std::size_t pitch_align_of(cl_device_id device) noexcept {
    cl_uint pixels = 0;
    ::clGetDeviceInfo(device, CL_DEVICE_IMAGE_PITCH_ALIGNMENT, sizeof pixels, &pixels, nullptr);
    return pixels;
}

// Returns true if an image may begin at this offset of a buffer. Only buffers over host bytes have a restriction.
[[nodiscard]] inline bool is_image_base(const queue_target& target, cl_mem buffer, std::size_t offset,
                                        std::size_t pixel) noexcept {
    void* host = nullptr;
    cl_mem_flags flags = 0;
    cl_uint align = 0;
    ::clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof flags, &flags, nullptr);
    if ((flags & CL_MEM_USE_HOST_PTR) == 0) return true;
    ::clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof host, &host, nullptr);
    ::clGetDeviceInfo(target.device, CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, sizeof align, &align, nullptr);
    return align == 0 || (raw_pointer::position(host) + offset) % (align * pixel) == 0;
}

// Returns an image over the bytes from `at` on, with rows of `pitch` bytes. Fails with CL_INVALID_OPERATION (-59) if
// the device does not support such images; CL_INVALID_IMAGE_DESCRIPTOR (-65) for an unsuitable pitch;
// CL_MISALIGNED_SUB_BUFFER_OFFSET (-13) for an unsuitable offset; otherwise with the driver's code.
[[nodiscard]] inline cl_result<image_over> make_image_over(const queue_target& target,
                                                           handle_offset<cl_mem>::address at, texture_shape shape,
                                                           dtype type, std::size_t pitch) noexcept {
    using answer = cl_result<image_over>;
    const auto format = image_format_of(type);
    if (!format) return answer::failure(format.error());
    const std::size_t pixel = *pixel_bytes(type), pitch_align = pitch_align_of(target.device);
    if (pitch_align == 0) return answer::failure(CL_INVALID_OPERATION);
    if (pitch % (pitch_align * pixel) != 0) return answer::failure(CL_INVALID_IMAGE_DESCRIPTOR);
    if (at.offset % target.base_align != 0 || !is_image_base(target, at.handle, at.offset, pixel))
        return answer::failure(CL_MISALIGNED_SUB_BUFFER_OFFSET);
    cl_int status = CL_SUCCESS;
    image_over made;
    if (at.offset != 0) {
        const cl_buffer_region where{at.offset, pitch * shape.height};
        const cl_mem part = ::clCreateSubBuffer(at.handle, 0, CL_BUFFER_CREATE_TYPE_REGION, &where, &status);
        if (status != CL_SUCCESS) return answer::failure(status);
        made.over = cl::Buffer{part};
    }
    cl_image_desc wanted{};
    wanted.image_type = CL_MEM_OBJECT_IMAGE2D;
    wanted.image_width = shape.width;
    wanted.image_height = shape.height;
    wanted.image_row_pitch = pitch;
    wanted.buffer = at.offset != 0 ? made.over() : at.handle;
    const cl_mem image = ::clCreateImage(target.context, 0, &*format, &wanted, nullptr, &status);
    if (status != CL_SUCCESS) return answer::failure(status);
    made.image = cl::Image2D{image};
    return made;
}

}  // namespace detail

/// Returns a buffer tensor's elements as the image of a texture scope: over the same bytes if possible, otherwise a
/// copy in the order of the queue (`aliases` is false). The pixels of a row must be contiguous and the rows equally
/// spaced. Fails with the reason of the shape, or with the device's code in `memory.device_error`.
template <texture_scope Scope, class Lease>
    requires buffer_address<typename tensor<Lease>::address_type>
[[nodiscard]] tensor_result<tensor_image<tensor<Lease>>> as_image(const tensor<Lease>& of,
                                                                  const cl::CommandQueue& queue) noexcept {
    using answer = tensor_result<tensor_image<tensor<Lease>>>;
    if (!of) return answer::failure({tensor_refusal::killed});
    const auto shape = texture_of<Scope>(of.shape());
    if (!shape) return answer::failure(shape.error());
    const auto pixel = pixel_bytes(of.dtype());
    if (!pixel) return answer::failure(pixel.error());
    const auto step = texture_row_step<Scope>(of.shape(), of.strides());
    if (!step) return answer::failure(step.error());
    const auto target = detail::target_of(queue);
    if (!target) return answer::failure(detail::refused(target.error()));
    image images{cl::Context{target->context, true}, cl::Device{target->device, true}};
    if (const cl_int reason = images.check(*shape, of.dtype()); reason != CL_SUCCESS)
        return answer::failure(detail::refused(reason));
    const std::size_t pitch = *step * of.dtype().element_bytes();
    if (auto shared = detail::make_image_over(*target, of.address(), *shape, of.dtype(), pitch))
        return tensor_image<tensor<Lease>>{of, std::move(shared->over), std::move(shared->image), true};
    const auto own = images.acquire(*shape, of.dtype());
    if (!own) return answer::failure(detail::refused(own.error()));
    const cl::Image2D copy{own->handle};
    const std::size_t row = shape->width * *pixel;
    const cl_int status = detail::copy_rows(queue, of.address(), pitch, copy(), *shape, row);
    if (status != CL_SUCCESS) return answer::failure(detail::copied_by(copy_path::on_device, status).error());
    return tensor_image<tensor<Lease>>{of, {}, copy, false};
}

}  // namespace opencl
}  // namespace v1
}  // namespace allot
