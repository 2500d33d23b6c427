// images: the memory of a texture scope on the host. A tensor is an image of its own, allocated by shape and dtype.
//
//     allot_tvm::images<allot::scope::texture> memory{tally};
//     auto image = memory.allocate(allot::shape{1, 8, 32, 32, 4}, allot::float32);      // 32 × 256 pixels
//
// TVM's planner requests a flat buffer for a texture, and each tensor is a view of it. Then the tensor is an image over
// the buffer.
//
// The layout is the one of allot's texture scopes (allot/tensor/texture_shape.hpp). Rows have no padding, because a
// kernel that TVM compiles for the CPU reads a texture as a compact tensor. A pool keeps released images for requests
// of the same size in pixels and dtype.
//
// Complexity: O(kept images). Memory: a node of a table for each image. Thread safety: all functions may be called from
// any thread.
#pragma once

#include "memory.hpp"

#include <allot/host/heap.hpp>
#include <allot/tensor/texture.hpp>

#include "../../examples/apps/network_demo/counting.hpp"

#include <algorithm>
#include <new>

namespace allot_tvm {

/// A shaped device over the heap.
class host_images {
public:
    using region = allot::texture_region<void*>;
    using error = allot::host::heap::error;

    explicit host_images(demo::tally& counts) noexcept : heap_{{}, counts} {}

    [[nodiscard]] allot::result<region, error> acquire(allot::texture_shape shape, allot::dtype type) noexcept {
        using answer = allot::result<region, error>;
        const auto size = allot::texture_bytes(shape, type);
        if (!size) return answer::failure(error::no_memory);
        const auto held = heap_.acquire({size->total, tensor_align});
        if (!held) return answer::failure(held.error());
        return region{held->base, shape, type};
    }
    void release(region held) noexcept {
        heap_.release({held.handle, allot::texture_bytes(held.shape, held.dtype)->total, tensor_align});
    }

private:
    demo::counting<allot::host::heap> heap_;
};

/// The memory of a texture scope.
template <allot::texture_scope Scope>
class images final : public memory {
    using pool = allot::cached_textures<host_images>;
    using image = allot::texture<pool>;

public:
    explicit images(demo::tally& counts) noexcept : heap_{{}, counts}, pool_{host_images{counts}} {}

    /// Allocates an image. A flat shape is a buffer, over which `check_view` admits images.
    [[nodiscard]] allot::tensor_result<bytes> allocate(const allot::shape& of, allot::dtype type) noexcept override {
        using answer = allot::tensor_result<bytes>;
        if (of.rank() == 1) return memory::allocate(of, type);
        const std::lock_guard lock{mutex_};
        auto fresh = allot::alloc_texture<Scope>(pool_, of, type);
        if (!fresh) return answer::failure(fresh.error());
        void* const at = fresh->data();
        if (at == nullptr) return answer::failure({allot::tensor_refusal::bad_texture});
        try {
            live_.emplace(at, *fresh);
        } catch (const std::bad_alloc&) {
            return answer::failure({allot::tensor_refusal::no_host_memory});
        }
        served_.add(fresh->size_bytes());
        return bytes{at, fresh->size_bytes(), tensor_align};
    }
    [[nodiscard]] void* allocate(allot::layout wanted) noexcept override {
        const std::lock_guard lock{mutex_};
        const auto held = heap_.acquire(wanted);
        if (!held) return nullptr;
        served_.add(wanted.size);
        return held->base;
    }
    void deallocate(void* address, std::size_t size) noexcept override {
        const std::lock_guard lock{mutex_};
        served_.live -= size;
        if (live_.erase(address) == 0) heap_.release({address, size, tensor_align});
    }
    [[nodiscard]] allot::tensor_error check_view(const allot::shape& of, allot::dtype type) const noexcept override {
        const auto image = allot::texture_of<Scope>(of);
        if (!image) return image.error();
        const auto size = allot::texture_bytes(*image, type);
        return size ? allot::tensor_error{} : size.error();
    }
    [[nodiscard]] allot::diagnosis diagnose(allot::layout) noexcept override {
        return {allot::refusal::device_refused};
    }
    [[nodiscard]] allot_tvm::served served() const noexcept override {
        const std::lock_guard lock{mutex_};
        return served_;
    }
    std::size_t trim() noexcept override {
        const std::lock_guard lock{mutex_};
        return pool_.trim();
    }
    [[nodiscard]] allot::offset_use offsets() const noexcept override { return allot::offset_use::none; }
    [[nodiscard]] bool has_images() const noexcept override { return true; }

private:
    mutable std::mutex mutex_;
    allot_tvm::served served_;
    demo::counting<allot::host::heap> heap_;
    pool pool_;
    std::unordered_map<void*, image> live_;
};

}  // namespace allot_tvm
