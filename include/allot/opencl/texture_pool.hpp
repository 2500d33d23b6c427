// SPDX-License-Identifier: BSL-1.0
// texture_pool: one pool for all textures, whose bytes are reused by images of other shapes.
//
//     allot::arena<allot::opencl::buffer, allot::best_fit<>> buffers{{context, device}, 64_MiB};
//     allot::opencl::texture_pool pool{buffers, context, device};
//     auto a = *allot::alloc_texture<allot::scope::texture>(pool, {8, 32, 32, 4}, allot::float16);
//
//     buffer   │ a: 32 × 256 │  b: 30 × 64  │ free │        images over the buffers of an arena, which anything
//              └─ image ─────┴─ image ──────┘               else may share: tensors, and textures after them
//
// Where the driver makes no image over a buffer (`shares_bytes()` is false, as on PoCL and oclgrind), images are the
// driver's own, and released ones are kept for requests of exactly their shape and dtype (cached_textures); the arena is
// not touched then.
//
// Bytes go back to the arena with the last reference to a texture: on one in-order queue whatever reuses them comes
// after; otherwise wait before that.
//
// Complexity: the arena's, and two driver calls an image. Memory: rows are padded to CL_DEVICE_IMAGE_PITCH_ALIGNMENT
// pixels. Thread safety: none.
#pragma once

#include <allot/opencl/image_view.hpp>

namespace allot {
inline namespace v1 {
namespace opencl {

/// A shaped device over an allocator of buffers, which outlives it. `Kept`: how many images are kept at most, where
/// they cannot share bytes.
template <allocator Buffers, std::size_t Kept = 16>
    requires buffer_address<typename Buffers::address_model::address>
class texture_pool {
public:
    /// An image, and the bytes it lies in: none where the driver keeps them.
    struct region : texture_region<cl_mem> {
        cl_mem over{};
        block_of<Buffers> bytes{};
    };
    using error = cl_int;

    texture_pool(Buffers& buffers, cl::Context context, const cl::Device& device) noexcept
        : buffers_{&buffers}, kept_{image{context, device}}, context_{std::move(context)} {
        cl_uint bits = 0;
        ::clGetDeviceInfo(device(), CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, nullptr);
        target_ = {context_(), device(), bits / 8};
        pitch_align_ = detail::pitch_align_of(device());
    }

    /// Whether images of one shape reuse bytes of another.
    [[nodiscard]] bool shares_bytes() const noexcept { return pitch_align_ != 0; }

    /// Refused as `image::check` says; with CL_MEM_OBJECT_ALLOCATION_FAILURE (-4), or their device's code, where the
    /// buffers have no room; and with the driver's code.
    [[nodiscard]] cl_result<region> acquire(texture_shape shape, dtype type) noexcept {
        using answer = cl_result<region>;
        if (!shares_bytes()) {
            const auto own = kept_.acquire(shape, type);
            return own ? answer{region{*own, {}, {}}} : answer::failure(own.error());
        }
        if (const cl_int reason = kept_.device().check(shape, type); reason != CL_SUCCESS) return answer::failure(reason);
        const auto pitch = texture_bytes(shape, type, pitch_align_);
        if (!pitch) return answer::failure(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        const layout wanted{pitch->total, target_.base_align};
        auto bytes = buffers_->allocate(wanted);
        if constexpr (requires { buffers_->trim(); }) {
            if (!bytes && buffers_->trim() != 0) bytes = buffers_->allocate(wanted);
        }
        if (!bytes) {
            const diagnosis error = buffers_->diagnose(wanted);
            return answer::failure(error.reason == refusal::device_refused ? static_cast<cl_int>(error.device_error)
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
    void release(region held) noexcept {
        if (!held.bytes) return kept_.release(held);
        ::clReleaseMemObject(held.handle);
        if (held.over != nullptr) ::clReleaseMemObject(held.over);
        buffers_->deallocate(held.bytes);
    }

    /// Gives images that are kept back to the driver. Returns how many.
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
