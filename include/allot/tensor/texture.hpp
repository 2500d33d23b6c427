// SPDX-License-Identifier: BSL-1.0
// texture: a tensor in a separate image whose layout the device determines. It has no address, no offset and no view.
//
//     allot::opencl::image images{context, device};                                  // a shaped device
//     auto a = allot::alloc_texture<allot::scope::texture>(images, {1, 8, 32, 32, 4}, allot::float16).value();
//     allot::scope_map memories{allot::in_scope<allot::scope::texture>(images), …};
//     auto b = allot::alloc_texture<allot::scope::texture>(memories, {8, 32, 32, 4}, allot::float16).value();
//
// A shaped device acquires images by shape and dtype, where other devices acquire regions by size:
//
//     struct my_images {
//         using region = allot::texture_region<handle>;                               // or a type with these members
//         using error = int;
//         allot::result<region, error> acquire(allot::texture_shape, allot::dtype) noexcept;
//         void release(region) noexcept;                                             // unchanged
//     };
//
// A texture is a handle: copies count references, and the last reference releases the image. A texture without elements
// has no image. `cached_textures` is a pool: it keeps released images for later requests of the same shape and dtype.
//
// When to use: for tensors that kernels read through a GPU's texture units.
// When not to use: where images can share memory over time; use opencl/texture_pool.hpp. For tensors that need an
// address or views, use tensor.hpp.
//
// Complexity: that of the device; O(kept images) in `cached_textures`. Memory: one allocation on the host heap for each
// texture; `cached_textures` keeps its images inside the object. Thread safety: that of the reference policy. The
// thread that drops the last reference calls the device, which must allow that. The policies (policies.hpp) are those
// of storages; their placement has no effect.
#pragma once

#include <allot/tensor/storage.hpp>
#include <allot/tensor/texture_shape.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// An image from a shaped device.
template <class Handle>
struct texture_region {
    Handle handle{};        ///< The image.
    texture_shape shape{};  ///< Its size in pixels.
    allot::dtype dtype{};   ///< The type of one channel.
    /// Compares handle, shape and dtype.
    friend constexpr bool operator==(const texture_region&, const texture_region&) = default;
};

/// A device that acquires images by shape and dtype.
template <class Device>
concept shaped_device = requires(Device device, texture_shape shape, dtype type, typename Device::region held) {
    static_cast<long>(typename Device::error{});
    { held.handle };
    { held.shape } -> std::convertible_to<texture_shape>;
    { held.dtype } -> std::convertible_to<dtype>;
    { device.acquire(shape, type) } noexcept -> std::same_as<result<typename Device::region, typename Device::error>>;
    { device.release(held) } noexcept;
};

namespace detail {

/// An image and the device that it is released to.
template <class Device>
struct texture_body {
    Device* from = nullptr;
    typename Device::region held{};

    texture_body() noexcept = default;
    texture_body(const texture_body&) = delete;
    texture_body& operator=(const texture_body&) = delete;
    ~texture_body() {
        if (from != nullptr) from->release(held);
    }
};

}  // namespace detail

/// A reference to an image that holds a tensor. `alloc_texture` creates it.
template <shaped_device Device, class Policies = storage_policies<>>
    requires(Policies::references::counted)
class texture {
    using handle_type = detail::body_handle<detail::texture_body<Device>, typename Policies::references>;

public:
    /// The shaped device.
    using device_type = Device;
    /// The policies. A texture has no placement.
    using policies = Policies;

    /// Creates an empty handle.
    texture() noexcept = default;
    /// Creates a handle to an existing image. `alloc_texture` calls it.
    texture(handle_type to, allot::dtype type, const allot::shape& extents) noexcept
        : to_{std::move(to)}, dtype_{type}, shape_{extents} {}

    /// Returns false for a handle that was killed or never allocated.
    [[nodiscard]] explicit operator bool() const noexcept { return to_.get() != nullptr; }
    /// Returns the handle of the image for a consumer; an empty handle for a texture without elements.
    [[nodiscard]] auto data() const noexcept {
        check();
        return *this ? to_.get()->held.handle : decltype(typename Device::region{}.handle){};
    }
    /// Returns the size of the image in pixels; zero for a texture without elements.
    [[nodiscard]] texture_shape image() const noexcept { return *this ? to_.get()->held.shape : texture_shape{}; }
    /// Returns the dtype.
    [[nodiscard]] allot::dtype dtype() const noexcept { return dtype_; }
    /// Returns the shape of the tensor.
    [[nodiscard]] const allot::shape& shape() const noexcept { return shape_; }
    /// Returns the number of elements.
    [[nodiscard]] std::size_t size() const noexcept { return *element_count(shape_); }
    /// Returns the number of bytes of the elements, without padding by the device.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return *byte_count(shape_, dtype_); }

    /// Drops this reference. The last reference releases the image. A second call has no effect; in hardened builds it
    /// is a misuse.
    void kill() noexcept {
        check();
        *this = {};
    }

private:
    void check() const noexcept { detail::check_alive<Policies>(static_cast<bool>(*this)); }

    handle_type to_;
    allot::dtype dtype_{};
    allot::shape shape_{0};
};

/// Allocates a texture of this shape and dtype, with the layout of the scope. The device must outlive the texture.
/// Fails with `bad_texture`, `bad_shape`, `bad_dtype`, `too_large`, `no_memory` or `no_host_memory`.
template <texture_scope Scope, class Policies = storage_policies<>, shaped_device Device>
[[nodiscard]] tensor_result<texture<Device, Policies>> alloc_texture(Device& from, const shape& extents,
                                                                     dtype type) noexcept {
    using answer = tensor_result<texture<Device, Policies>>;
    const auto image = texture_of<Scope>(extents);
    if (!image) return answer::failure(image.error());
    const auto bytes = texture_bytes(*image, type);
    if (!bytes) return answer::failure(bytes.error());
    auto handle = detail::body_handle<detail::texture_body<Device>, typename Policies::references>::make();
    if (handle.get() == nullptr) return answer::failure({tensor_refusal::no_host_memory});
    if (bytes->total != 0) {
        const auto held = from.acquire(*image, type);
        if (!held) {
            const auto code = static_cast<long>(held.error());
            return answer::failure({tensor_refusal::no_memory, no_row, {refusal::device_refused, 0, code}});
        }
        handle.get()->from = &from;
        handle.get()->held = *held;
    }
    return texture<Device, Policies>{std::move(handle), type, extents};
}

/// Allocates a texture in the memory of a scope, selected at compile time.
template <texture_scope Scope, std::int64_t Ordinal = 0, class Policies = storage_policies<>, class... Entries>
[[nodiscard]] auto alloc_texture(const scope_map<Entries...>& memories, const shape& extents, dtype type) noexcept {
    return alloc_texture<Scope, Policies>(memories.template get<Scope, Ordinal>(), extents, type);
}

/// A shaped device that keeps up to `Most` released images and reuses them for requests of exactly the same shape and
/// dtype. When the underlying device fails, all kept images are released to it and the request is repeated once. While
/// `Most` images are kept, a further released image is released to the device immediately.
template <shaped_device Device, std::size_t Most = 16>
class cached_textures {
    static_assert(Most > 0, "allot: cached_textures must keep at least one image");

public:
    /// The region type of the device.
    using region = typename Device::region;
    /// The error type of the device.
    using error = typename Device::error;

    /// Creates an empty pool over a device.
    explicit cached_textures(Device device) noexcept : device_{std::move(device)} {}
    /// Moves the device and the kept images.
    cached_textures(cached_textures&& other) noexcept
        : device_{std::move(other.device_)}, held_{std::exchange(other.held_, 0)} {
        std::copy_n(other.kept_, held_, kept_);
    }
    cached_textures& operator=(cached_textures&&) = delete;
    /// Releases all kept images.
    ~cached_textures() { trim(); }

    /// Returns a kept image of this shape and dtype, or acquires one from the device.
    [[nodiscard]] result<region, error> acquire(texture_shape shape, dtype type) noexcept {
        for (std::size_t i = 0; i != held_; ++i) {
            if (kept_[i].shape == shape && kept_[i].dtype == type) {
                const region again = kept_[i];
                kept_[i] = kept_[--held_];
                return again;
            }
        }
        auto answer = device_.acquire(shape, type);
        if (!answer && trim() != 0) answer = device_.acquire(shape, type);
        return answer;
    }
    /// Keeps an image, or releases it when `Most` images are kept.
    void release(region back) noexcept {
        if (held_ == Most) return device_.release(back);
        kept_[held_++] = back;
    }

    /// Releases all kept images to the device. Returns their number.
    std::size_t trim() noexcept {
        const std::size_t released = held_;
        while (held_ != 0) device_.release(kept_[--held_]);
        return released;
    }
    /// Returns the underlying device.
    [[nodiscard]] const Device& device() const noexcept { return device_; }

private:
    Device device_;
    region kept_[Most]{};
    std::size_t held_ = 0;
};

}  // namespace v1
}  // namespace allot
