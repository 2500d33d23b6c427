// SPDX-License-Identifier: BSL-1.0
// opencl::texture_pool: textures of different shapes that reuse the bytes of one arena of buffers.
//
//     allot::arena<allot::opencl::buffer, allot::best_fit<>> buffers{{context, device}, 64_MiB};
//     allot::opencl::texture_pool pool{buffers, context, device};
//     auto a = allot::alloc_texture<allot::scope::texture>(pool, {8, 32, 32, 4}, allot::float16).value();
//
//     buffer   │ a: 32 × 256 │  b: 30 × 64  │ free │        images over the buffers of an arena, which may also contain
//              └─ image ─────┴─ image ──────┘               tensors; later textures reuse the bytes
//
// When to use: for textures with varying shapes and lifetimes, on drivers that create images over buffers.
// When not to use: if the driver's own image layout is faster: opencl/image.hpp.
//
// If the driver does not create images over buffers (`shares_bytes()` is false, as on PoCL and oclgrind), the pool uses
// the driver's images. It keeps released images for requests with the same shape and dtype (cached_textures), and does
// not use the arena.
//
// The last reference to a texture returns its bytes to the arena. On one in-order queue, work that reuses the bytes
// executes later. With other queues, wait for the work before you drop the last reference.
//
// Complexity: that of the arena, plus two driver calls for each image.
// Memory: rows are padded to CL_DEVICE_IMAGE_PITCH_ALIGNMENT pixels.
// Thread safety: none.
#pragma once

#include <allot/opencl/image_view.hpp>

namespace allot {
inline namespace v1 {
namespace opencl {

/// A shaped device over an allocator of buffers, which must outlive it. `Kept` is the maximum number of cached images
/// on drivers whose images cannot share bytes.
template <allocator Buffers, std::size_t Kept = 16>
    requires buffer_address<typename Buffers::address_model::address>
class texture_pool {
public:
    /// An image and its bytes.
    struct region : texture_region<cl_mem> {
        cl_mem over{};              ///< The sub-buffer under the image, or null.
        block_of<Buffers> bytes{};  ///< The block under the image; empty for an image of the driver's.
    };
    using error = cl_int;  ///< OpenCL's error codes.

    /// Places images of `context` in `buffers`, in the formats and within the limits of `device`.
    texture_pool(Buffers& buffers, cl::Context context, const cl::Device& device) noexcept
        : buffers_{&buffers}, kept_{image{context, device}}, context_{std::move(context)} {
        target_ = {context_(), device(), detail::base_align_of(device)};
        if (target_.base_align != 0) pitch_align_ = detail::pitch_align_of(device());
    }

    /// Returns true if images of different shapes reuse the same bytes.
    [[nodiscard]] bool shares_bytes() const noexcept { return pitch_align_ != 0; }

    /// Creates an image. Fails like `image::check`; with CL_MEM_OBJECT_ALLOCATION_FAILURE (-4), or the code of the
    /// buffers' device, if the arena has no room; otherwise with the driver's code.
    [[nodiscard]] cl_result<region> acquire(texture_shape shape, dtype type) noexcept {
        using answer = cl_result<region>;
        if (!shares_bytes()) {
            const auto own = kept_.acquire(shape, type);
            return own ? answer{region{*own, {}, {}}} : answer::failure(own.error());
        }
        if (const cl_int reason = kept_.device().check(shape, type); reason != CL_SUCCESS)
            return answer::failure(reason);
        const auto pitch = texture_bytes(shape, type, pitch_align_);
        if (!pitch) return answer::failure(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        const layout wanted{pitch->total, target_.base_align};
        auto bytes = buffers_->allocate(wanted);
        if constexpr (requires { buffers_->trim(); }) {
            if (!bytes && buffers_->trim() != 0) bytes = buffers_->allocate(wanted);
        }
        if (!bytes) {
            const diagnosis found = buffers_->diagnose(wanted);
            return answer::failure(found.reason == refusal::device_refused ? static_cast<cl_int>(found.device_error)
                                                                           : CL_MEM_OBJECT_ALLOCATION_FAILURE);
        }
        auto made = detail::make_image_over(target_, bytes.address, shape, type, pitch->row);
        if (!made) {
            buffers_->deallocate(bytes);
            return answer::failure(made.error());
        }
        region fresh{{std::exchange(made->image(), nullptr), shape, type}, nullptr, bytes};
        fresh.over = std::exchange(made->over(), nullptr);
        return fresh;
    }
    /// Releases the image and returns its bytes to the arena, or keeps the image for reuse.
    void release(region held) noexcept {
        if (!held.bytes) return kept_.release(held);
        ::clReleaseMemObject(held.handle);
        if (held.over != nullptr) ::clReleaseMemObject(held.over);
        buffers_->deallocate(held.bytes);
    }

    /// Releases the cached images. Returns their number.
    std::size_t trim() noexcept { return kept_.trim(); }

private:
    Buffers* buffers_;
    cached_textures<image, Kept> kept_;
    cl::Context context_;
    detail::queue_target target_;
    std::size_t pitch_align_ = 0;
};

}  // namespace opencl
}  // namespace v1
}  // namespace allot
