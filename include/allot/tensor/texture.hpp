// SPDX-License-Identifier: BSL-1.0
// texture: a tensor in an image of its own, which the device lays out as it likes: no address, no offset, no view.
//
//     allot::opencl::image images{context, device};                                  // a shaped device
//     auto a = *allot::alloc_texture<allot::scope::texture>(images, {1, 8, 32, 32, 4}, allot::float16);
//     allot::scope_map memories{allot::in_scope<allot::scope::texture>(images), …};
//     auto b = *allot::alloc_texture<allot::scope::texture>(memories, {8, 32, 32, 4}, allot::float16);
//
// A shaped device is asked for a shape and a dtype where other devices are asked for bytes. It gives images:
//
//     struct my_images {
//         using region = allot::texture_region<handle>;                               // or what has these members
//         using error = int;
//         allot::result<region, error> acquire(allot::texture_shape, allot::dtype) noexcept;
//         void release(region) noexcept;                                             // as it was acquired
//     };
//
// A texture is a handle: copies count references, and the last gives the image back. Without elements there is none.
// `cached_textures` keeps released images for requests of the same shape and dtype: a pool, where images cannot share
// bytes. (Where they can: opencl_texture_pool.hpp.)
//
// Complexity: the device's; O(images kept) in cached_textures. Memory: an allocation on the host heap for each texture;
// cached_textures keeps its images inside the object. Thread safety: that of the references; the device is called by
// whoever drops the last one, and has to allow that.
#pragma once

#include <allot/tensor/storage.hpp>
#include <allot/tensor/texture_shape.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// What a shaped device gives.
template <class Handle>
struct texture_region {
    Handle handle{};
    texture_shape shape{};
    allot::dtype dtype{};
    friend constexpr bool operator==(const texture_region&, const texture_region&) = default;
};

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

/// An image and where it goes back to.
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

template <shaped_device Device, class References = references::plain>
    requires(References::counted)
class texture {
    using handle_type = detail::body_handle<detail::texture_body<Device>, References>;

public:
    using device_type = Device;

    texture() noexcept = default;
    texture(handle_type to, allot::dtype type, const allot::shape& extents) noexcept
        : to_{std::move(to)}, dtype_{type}, shape_{extents} {}

    /// False for one that was killed, or never was.
    [[nodiscard]] explicit operator bool() const noexcept { return to_.get() != nullptr; }
    /// The image, as a consumer takes it; none without elements.
    [[nodiscard]] auto data() const noexcept {
        return *this ? to_.get()->held.handle : decltype(typename Device::region{}.handle){};
    }
    /// Pixels of the image; none without elements.
    [[nodiscard]] texture_shape image() const noexcept { return *this ? to_.get()->held.shape : texture_shape{}; }
    [[nodiscard]] allot::dtype dtype() const noexcept { return dtype_; }
    [[nodiscard]] const allot::shape& shape() const noexcept { return shape_; }
    [[nodiscard]] std::size_t size() const noexcept { return *element_count(shape_); }
    /// Bytes of the elements, without what the device adds.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return *byte_count(shape_, dtype_); }

    /// Drops this reference. A second time changes nothing.
    void kill() noexcept { *this = {}; }

private:
    handle_type to_;
    allot::dtype dtype_{};
    allot::shape shape_{0};
};

/// A texture of this shape and dtype, laid out as its scope says. The device outlives it.
template <texture_scope Scope, class References = references::plain, shaped_device Device>
[[nodiscard]] tensor_result<texture<Device, References>> alloc_texture(Device& from, const shape& extents,
                                                                       dtype type) noexcept {
    using answer = tensor_result<texture<Device, References>>;
    const auto image = texture_of<Scope>(extents);
    if (!image) return answer::failure(image.error());
    const auto bytes = texture_bytes(*image, type);
    if (!bytes) return answer::failure(bytes.error());
    auto handle = detail::body_handle<detail::texture_body<Device>, References>::make();
    if (handle.get() == nullptr) return answer::failure({tensor_refusal::no_host_memory});
    if (bytes->total != 0) {
        const auto held = from.acquire(*image, type);
        if (!held) {
            const auto code = static_cast<long>(held.error());
            return answer::failure({tensor_refusal::no_memory, 0, {refusal::device_refused, 0, code}});
        }
        handle.get()->from = &from;
        handle.get()->held = *held;
    }
    return texture<Device, References>{std::move(handle), type, extents};
}

/// In the memory of a scope, chosen by the compiler.
template <texture_scope Scope, std::int64_t Ordinal = 0, class References = references::plain, class... Entries>
[[nodiscard]] auto alloc_texture(const scope_map<Entries...>& memories, const shape& extents, dtype type) noexcept {
    return alloc_texture<Scope, References>(memories.template get<Scope, Ordinal>(), extents, type);
}

/// A shaped device that keeps up to `Most` released images, for requests of exactly their shape and dtype. When the
/// device below refuses, everything kept is given back to it and it is asked once more. When all places are taken, a
/// released image goes back at once.
template <shaped_device Device, std::size_t Most = 16>
class cached_textures {
    static_assert(Most > 0, "allot: cached_textures keeps at least one image");

public:
    using region = typename Device::region;
    using error = typename Device::error;

    explicit cached_textures(Device device) noexcept : device_{std::move(device)} {}
    cached_textures(cached_textures&& other) noexcept
        : device_{std::move(other.device_)}, held_{std::exchange(other.held_, 0)} {
        std::copy_n(other.kept_, held_, kept_);
    }
    cached_textures& operator=(cached_textures&&) = delete;
    ~cached_textures() { trim(); }

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
    void release(region back) noexcept {
        if (held_ == Most) return device_.release(back);
        kept_[held_++] = back;
    }

    /// Gives every image that is kept back to the device. Returns how many.
    std::size_t trim() noexcept {
        const std::size_t released = held_;
        while (held_ != 0) device_.release(kept_[--held_]);
        return released;
    }
    [[nodiscard]] const Device& device() const noexcept { return device_; }

private:
    Device device_;
    region kept_[Most]{};
    std::size_t held_ = 0;
};

}  // namespace v1
}  // namespace allot
