// SPDX-License-Identifier: BSL-1.0
// opencl::image: OpenCL images as textures, in the driver's layout.
//
//     allot::opencl::image images{context, device};                                          // a shaped device
//     auto a = allot::alloc_texture<allot::scope::texture>(images, {8, 32, 32, 4}, allot::float16).value();
//     auto copied = allot::copy_tensor(host_tensor, a, allot::opencl::queue_copy{queue});
//     allot::opencl::set_arg(kernel, 0, a);                          // kernel void f(read_only image2d_t a, …)
//
// When to use: for kernels that read through the texture cache, in the fastest layout of the driver.
// When not to use: for many textures with short lifetimes, which share bytes in opencl/texture_pool.hpp; for
// bytes that are already in a buffer, use opencl/image_view.hpp.
//
// Formats have four channels (CL_RGBA) of float16, float32, or signed or unsigned integers of 8, 16 or 32 bits, if the
// driver lists them (clGetSupportedImageFormats). `acquire` checks formats and sizes before it calls the driver,
// because drivers' codes do not distinguish the two: PoCL returns -59 for both.
//
// Complexity: one driver call for each image, and several for the device object.
// Memory: that of the images.
// Thread safety: that of the driver. Any thread may call `acquire` and `release`.
#pragma once

#include <allot/opencl/tensor.hpp>
#include <allot/tensor/texture.hpp>

#include <memory>
#include <new>

namespace allot {
inline namespace v1 {
namespace opencl {

/// Returns the image format with four channels of a dtype. Fails with CL_IMAGE_FORMAT_NOT_SUPPORTED (-10) if OpenCL has
/// no such format.
[[nodiscard]] constexpr cl_result<cl_image_format> image_format_of(dtype type) noexcept {
    struct known {
        dtype type;
        cl_channel_type channel;
    };
    constexpr known all[] = {{float16, CL_HALF_FLOAT},    {float32, CL_FLOAT},        {int8, CL_SIGNED_INT8},
                             {int16, CL_SIGNED_INT16},    {int32, CL_SIGNED_INT32},   {uint8, CL_UNSIGNED_INT8},
                             {uint16, CL_UNSIGNED_INT16}, {uint32, CL_UNSIGNED_INT32}};
    for (const known& each : all) {
        if (each.type == type) return cl_image_format{CL_RGBA, each.channel};
    }
    return cl_result<cl_image_format>::failure(CL_IMAGE_FORMAT_NOT_SUPPORTED);
}

/// A shaped device whose regions are images in the driver's layout.
class image {
public:
    using region = texture_region<cl_mem>;  ///< An image with its shape and dtype.
    using error = cl_int;                   ///< OpenCL's error codes.

    /// Creates images of `context`, in the formats and within the limits of `device`.
    image(cl::Context context, const cl::Device& device, cl_mem_flags flags = CL_MEM_READ_WRITE) noexcept
        : context_{std::move(context)}, flags_{flags} {
        cl_bool has_images = CL_FALSE;
        ::clGetDeviceInfo(device(), CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, nullptr);
        if (has_images == CL_FALSE) return;
        ::clGetDeviceInfo(device(), CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof most_.width, &most_.width, nullptr);
        ::clGetDeviceInfo(device(), CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof most_.height, &most_.height, nullptr);
        ::clGetDeviceInfo(device(), CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest_, &largest_, nullptr);
        cl_uint count = 0;
        ::clGetSupportedImageFormats(context_(), flags, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count);
        const std::unique_ptr<cl_image_format[]> formats{new (std::nothrow) cl_image_format[count + 1]};
        if (formats == nullptr) return;
        ::clGetSupportedImageFormats(context_(), flags, CL_MEM_OBJECT_IMAGE2D, count, formats.get(), nullptr);
        for (cl_uint i = 0; i != count; ++i) {
            if (formats[i].image_channel_order == CL_RGBA) channels_ |= bit_of(formats[i]);
        }
    }

    /// Checks whether an image can be created. Returns CL_SUCCESS; CL_INVALID_OPERATION (-59) for a device without
    /// images; CL_IMAGE_FORMAT_NOT_SUPPORTED (-10); CL_INVALID_IMAGE_SIZE (-40) for an empty shape or one above
    /// `largest()`; or CL_MEM_OBJECT_ALLOCATION_FAILURE (-4) above the device's limit for one allocation.
    [[nodiscard]] cl_int check(texture_shape shape, dtype type) const noexcept {
        if (most_.width == 0) return CL_INVALID_OPERATION;
        const auto format = image_format_of(type);
        if (!format || (channels_ & bit_of(*format)) == 0) return CL_IMAGE_FORMAT_NOT_SUPPORTED;
        if (shape.width == 0 || shape.height == 0 || shape.width > most_.width || shape.height > most_.height)
            return CL_INVALID_IMAGE_SIZE;
        const auto bytes = texture_bytes(shape, type);
        return bytes && bytes->total <= largest_ ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }

    /// Creates an image. Fails like `check`, or with the driver's code.
    [[nodiscard]] cl_result<region> acquire(texture_shape shape, dtype type) noexcept {
        if (const cl_int reason = check(shape, type); reason != CL_SUCCESS) return cl_result<region>::failure(reason);
        const cl_image_format format = *image_format_of(type);
        cl_image_desc wanted{};
        wanted.image_type = CL_MEM_OBJECT_IMAGE2D;
        wanted.image_width = shape.width;
        wanted.image_height = shape.height;
        cl_int status = CL_SUCCESS;
        const cl_mem made = ::clCreateImage(context_(), flags_, &format, &wanted, nullptr, &status);
        if (status != CL_SUCCESS) return cl_result<region>::failure(status);
        return region{made, shape, type};
    }
    /// Releases the image.
    void release(region held) noexcept { ::clReleaseMemObject(held.handle); }

    /// Returns the greatest width and height in pixels, or zeros for a device without images.
    [[nodiscard]] texture_shape largest() const noexcept { return most_; }

private:
    // The channel types are fewer than 32 consecutive numbers.
    [[nodiscard]] static std::uint32_t bit_of(cl_image_format format) noexcept {
        return std::uint32_t{1} << ((format.image_channel_data_type - CL_SNORM_INT8) % 32);
    }

    cl::Context context_;
    cl_mem_flags flags_;
    texture_shape most_{};
    cl_ulong largest_ = 0;
    std::uint32_t channels_ = 0;
};

static_assert(shaped_device<image> && shaped_device<cached_textures<image>>);

/// Sets a kernel argument to a texture's image. Returns OpenCL's code.
template <class Device, class Policies>
    requires std::same_as<decltype(typename Device::region{}.handle), cl_mem>
[[nodiscard]] cl_int set_arg(cl::Kernel& kernel, cl_uint index, const texture<Device, Policies>& image) noexcept {
    const cl_mem handle = image.data();
    return ::clSetKernelArg(kernel(), index, sizeof handle, &handle);
}

// ── copies ───────────────────────────────────────────────────────────────────────────────────────────────────────────

namespace detail {

constexpr std::size_t origin[3] = {0, 0, 0};

// Copies rows that are `pitch` bytes apart, in host memory or a buffer, to an image.
[[nodiscard]] inline cl_int copy_rows(const cl::CommandQueue& queue, const void* from, std::size_t pitch, cl_mem to,
                                      texture_shape shape, std::size_t) noexcept {
    const std::size_t region[3] = {shape.width, shape.height, 1};
    return ::clEnqueueWriteImage(queue(), to, CL_TRUE, origin, region, pitch, 0, from, 0, nullptr, nullptr);
}
[[nodiscard]] inline cl_int copy_rows(const cl::CommandQueue& queue, handle_offset<cl_mem>::address from,
                                      std::size_t pitch, cl_mem to, texture_shape shape, std::size_t row) noexcept {
    // The call has no pitch parameter: padded rows are copied one by one.
    const std::size_t at_once = pitch == row ? shape.height : 1;
    const std::size_t region[3] = {shape.width, at_once, 1};
    for (std::size_t y = 0; y != shape.height; y += at_once) {
        const std::size_t onto[3] = {0, y, 0};
        const cl_int status = ::clEnqueueCopyBufferToImage(queue(), from.handle, to, from.offset + y * pitch, onto,
                                                           region, 0, nullptr, nullptr);
        if (status != CL_SUCCESS) return status;
    }
    return CL_SUCCESS;
}

// Returns the reason why a tensor and a texture cannot be copied to each other.
template <class Tensor, class Texture>
[[nodiscard]] tensor_refusal check_copy(const Tensor& one, const Texture& other) noexcept {
    if (!one || !other) return tensor_refusal::killed;
    if (one.dtype() != other.dtype()) return tensor_refusal::dtype_mismatch;
    if (one.size() != other.size()) return tensor_refusal::shape_mismatch;
    return one.is_compact() ? tensor_refusal::none : tensor_refusal::not_compact;
}
[[nodiscard]] inline tensor_result<copy_path> copied_by(copy_path path, cl_int status) noexcept {
    if (status == CL_SUCCESS) return path;
    return tensor_result<copy_path>::failure(
        {tensor_refusal::copy_failed, no_row, {refusal::device_refused, 0, status}});
}
[[nodiscard]] inline tensor_error refused(cl_int status) noexcept {
    return {tensor_refusal::no_memory, 0, {refusal::device_refused, 0, status}};
}

}  // namespace detail

}  // namespace opencl
}  // namespace v1
}  // namespace allot

namespace allot {
inline namespace v1 {

/// Copies the elements of a compact tensor, in host memory or a buffer, to a texture of the same dtype and number of
/// elements. Waits for a copy from the host; enqueues a copy from a buffer.
template <class Lease, class Device, class Policies>
    requires(host_memory<tensor<Lease>> || opencl::buffer_memory<tensor<Lease>>)
[[nodiscard]] tensor_result<copy_path> copy_tensor(const tensor<Lease>& from, const texture<Device, Policies>& to,
                                                   const opencl::queue_copy& way) noexcept {
    namespace detail = opencl::detail;
    if (const auto reason = detail::check_copy(from, to); reason != tensor_refusal::none)
        return tensor_result<copy_path>::failure({reason});
    if (from.size() == 0) return copy_path::none;
    const std::size_t row = to.image().width * *pixel_bytes(to.dtype());
    constexpr auto path = host_memory<tensor<Lease>> ? copy_path::to_device : copy_path::on_device;
    return detail::copied_by(path, detail::copy_rows(way.queue(), from.address(), row, to.data(), to.image(), row));
}

/// Copies the elements of a texture to a compact, writable tensor of the same dtype and number of elements, in host
/// memory or a buffer. Waits for a copy to the host; enqueues a copy to a buffer.
template <class Device, class Policies, class Lease>
    requires(host_memory<tensor<Lease>> || opencl::buffer_memory<tensor<Lease>>)
[[nodiscard]] tensor_result<copy_path> copy_tensor(const texture<Device, Policies>& from, const tensor<Lease>& to,
                                                   const opencl::queue_copy& way) noexcept {
    namespace detail = opencl::detail;
    if (const auto reason = detail::check_copy(to, from); reason != tensor_refusal::none)
        return tensor_result<copy_path>::failure({reason});
    if (to.is_read_only()) return tensor_result<copy_path>::failure({tensor_refusal::read_only});
    if (to.size() == 0) return copy_path::none;
    const std::size_t region[3] = {from.image().width, from.image().height, 1};
    if constexpr (opencl::buffer_memory<tensor<Lease>>) {
        return detail::copied_by(copy_path::on_device,
                                 ::clEnqueueCopyImageToBuffer(way.queue()(), from.data(), to.data(), detail::origin,
                                                              region, to.byte_offset(), 0, nullptr, nullptr));
    } else {
        return detail::copied_by(copy_path::from_device,
                                 ::clEnqueueReadImage(way.queue()(), from.data(), CL_TRUE, detail::origin, region, 0, 0,
                                                      to.data(), 0, nullptr, nullptr));
    }
}

}  // namespace v1
}  // namespace allot
