// SPDX-License-Identifier: BSL-1.0
// vulkan::unique_resource: a VkBuffer or a VkImage with its memory, created in one call and freed by a destructor.
//
//     allot::arena<allot::vulkan::device_memory, allot::best_fit<>> memory{{gpu, type}, 64_MiB};
//     auto weights = allot::vulkan::make_buffer(memory, {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = n, …});
//     if (!weights) return weights.error();                            // a VkResult; no object is left behind
//     std::memcpy(weights->host_pointer(), from, n);                   // in host-visible memory
//     vkCmdBindVertexBuffers(…, weights->handle(), …);
//
//     make_buffer     create ──► requirements ──► allocate ──► bind        a step that fails undoes the earlier ones
//     ~unique_buffer  destroy ──► free                                     in this order, as Vulkan demands
//
// When to use: for each buffer or image with one owner. `make_dedicated_buffer` and `make_dedicated_image` give the
// resource its own VkDeviceMemory, for resources that prefer or require it (`requirements_of_buffer`).
// When not to use: for several resources over the same bytes, for sparse resources and for disjoint images. Create
// them, and bind them to blocks. For one buffer over a whole region, use vulkan/bound_buffer.hpp.
//
// The functions also check these rules of Vulkan (specification 1.3, "Resource Memory Association"; valid usage of
// vkBindBufferMemory and vkBindImageMemory), because drivers need not check them:
//   - A sparse resource is not bound by these calls, and a disjoint image is bound plane by plane.
//   - A buffer with device addresses requires memory with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT.
//   - A linear image must not share a page with optimal ones, so memory that is declared for optimal images rejects it.
//   - A resource in imported memory is created with the external handle type. The functions add the structure for it.
//
// The allocator and the logical_device must outlive the owner. Destroy the owner after all work that uses the resource.
//
// Complexity: four driver calls to create, one to destroy, and those of the allocator.
// Memory: 56 bytes with an arena over best_fit, 144 with a dedicated allocation, whose device is in the object.
// Thread safety: none for one object. Two owners may be used concurrently if their allocator may.
#pragma once

#include <allot/object/unique_block.hpp>
#include <allot/vulkan/dedicated.hpp>
#include <allot/vulkan/memory.hpp>

#include <optional>

namespace allot {
inline namespace v1 {
namespace vulkan {

namespace detail {

// The calls for one kind of resource.
struct buffer_kind {
    using handle = VkBuffer;
    using create_info = VkBufferCreateInfo;
    using external_info = VkExternalMemoryBufferCreateInfo;
    static constexpr VkStructureType external_type = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;

    [[nodiscard]] static VkResult create(const logical_device& gpu, const create_info& wanted, handle& to) noexcept {
        return gpu.calls.create_buffer(gpu.handle(), &wanted, nullptr, &to);
    }
    static void destroy(const logical_device& gpu, handle gone) noexcept {
        gpu.calls.destroy_buffer(gpu.handle(), gone, nullptr);
    }
    template <class Memory>
    [[nodiscard]] static result<layout, VkResult> layout_in(const Memory& memory, handle of) noexcept {
        return memory.buffer_layout(of);
    }
    template <class Memory, class Block>
    [[nodiscard]] static VkResult bind(const Memory& memory, handle what, const Block& to) noexcept {
        return memory.bind_buffer(what, to);
    }
    template <class Memory>
    [[nodiscard]] static bool can_be_in([[maybe_unused]] const Memory& memory,
                                        [[maybe_unused]] const create_info& wanted) noexcept {
        if constexpr (requires { memory.flags(); }) {
            if (has_address(wanted) && (memory.flags() & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT) == 0) return false;
        }
        return true;
    }
    [[nodiscard]] static bool is_bindable(const create_info& wanted) noexcept {
        return wanted.size != 0 && (wanted.flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT) == 0;
    }
    [[nodiscard]] static bool has_address(const create_info& wanted) noexcept {
        return (wanted.usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0;
    }
    [[nodiscard]] static dedicated memory_for(logical_device& gpu, handle of, const create_info& wanted,
                                              VkMemoryPropertyFlags required,
                                              VkMemoryPropertyFlags preferred) noexcept {
        const VkMemoryAllocateFlags flags = has_address(wanted) ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0;
        return dedicated::for_buffer(gpu, of, required, preferred, flags);
    }
};
struct image_kind {
    using handle = VkImage;
    using create_info = VkImageCreateInfo;
    using external_info = VkExternalMemoryImageCreateInfo;
    static constexpr VkStructureType external_type = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO;

    [[nodiscard]] static VkResult create(const logical_device& gpu, const create_info& wanted, handle& to) noexcept {
        return gpu.calls.create_image(gpu.handle(), &wanted, nullptr, &to);
    }
    static void destroy(const logical_device& gpu, handle gone) noexcept {
        gpu.calls.destroy_image(gpu.handle(), gone, nullptr);
    }
    template <class Memory>
    [[nodiscard]] static result<layout, VkResult> layout_in(const Memory& memory, handle of) noexcept {
        return memory.image_layout(of);
    }
    template <class Memory, class Block>
    [[nodiscard]] static VkResult bind(const Memory& memory, handle what, const Block& to) noexcept {
        return memory.bind_image(what, to);
    }
    template <class Memory>
    [[nodiscard]] static bool can_be_in(const Memory& memory, const create_info& wanted) noexcept {
        return wanted.tiling == VK_IMAGE_TILING_OPTIMAL || memory.holds() != resources::optimal_images;
    }
    [[nodiscard]] static bool is_bindable(const create_info& wanted) noexcept {
        return (wanted.flags & (VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_DISJOINT_BIT)) == 0;
    }
    [[nodiscard]] static dedicated memory_for(logical_device& gpu, handle of, const create_info&,
                                              VkMemoryPropertyFlags required,
                                              VkMemoryPropertyFlags preferred) noexcept {
        return dedicated::for_image(gpu, of, required, preferred);
    }
};

// The bytes of a resource: a block of an allocator, or a dedicated allocation. `free` frees them.
template <class Allocator>
struct owned_bytes {
    unique_block<Allocator> held{};

    owned_bytes() noexcept = default;
    explicit owned_bytes(Allocator& allocator) noexcept : held{allocator, {}} {}
    [[nodiscard]] const auto& memory() const noexcept { return held.allocator()->device(); }
    [[nodiscard]] auto address() const noexcept { return held.address(); }
    [[nodiscard]] std::size_t size() const noexcept { return held.size(); }
    void free() noexcept { held.reset(); }
    // Allocates. Returns the reason of a failure.
    [[nodiscard]] VkResult take(layout wanted) noexcept {
        held = allocate_unique(*held.allocator(), wanted);
        if (held) return VK_SUCCESS;
        const diagnosis cause = held.allocator()->diagnose(wanted);
        return cause.reason == refusal::device_refused ? static_cast<VkResult>(cause.device_error)
                                                       : VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
};
template <>
struct owned_bytes<dedicated> {
    using address_type = handle_offset<VkDeviceMemory>::address;
    std::optional<dedicated> from{};
    region<address_type> held{};

    owned_bytes() noexcept = default;
    explicit owned_bytes(dedicated&& memory) noexcept : from{std::move(memory)} {}
    owned_bytes(owned_bytes&& other) noexcept : from{std::move(other.from)}, held{std::exchange(other.held, {})} {}
    owned_bytes& operator=(owned_bytes&& other) noexcept {  // this object holds no bytes
        from.reset();
        if (other.from) from.emplace(std::move(*other.from));
        held = std::exchange(other.held, {});
        return *this;
    }
    ~owned_bytes() = default;
    [[nodiscard]] const dedicated& memory() const noexcept { return *from; }
    [[nodiscard]] address_type address() const noexcept { return held.base; }
    [[nodiscard]] std::size_t size() const noexcept { return held.size; }
    void free() noexcept {
        if (held) from->release(std::exchange(held, {}));
    }
    [[nodiscard]] VkResult take(layout wanted) noexcept {
        const auto answer = from->acquire(wanted);
        if (!answer) return answer.error();
        held = *answer;
        return VK_SUCCESS;
    }
};

// An arena or a naive over Vulkan memory, or a wrapper around one.
template <class Allocator>
concept bindable = requires(const Allocator& allocator, VkBuffer buffer) {
    allocator.device().gpu();
    allocator.device().buffer_layout(buffer);
};

// Returns true if a structure of this type is in a pNext chain.
[[nodiscard]] inline bool names(const void* chain, VkStructureType type) noexcept {
    const auto* next = static_cast<const VkBaseInStructure*>(chain);
    while (next != nullptr && next->sType != type) next = next->pNext;
    return next != nullptr;
}

}  // namespace detail

/// An owning, move-only buffer or image with its memory. Empty after a failed call and after a move. Use the names
/// `unique_buffer` and `unique_image`. `Source` is the type of the allocator, or `dedicated`.
template <class Kind, class Source>
class [[nodiscard]] unique_resource {
    static constexpr bool is_dedicated = std::same_as<Source, dedicated>;

public:
    using handle_type = typename Kind::handle;                     ///< VkBuffer or VkImage.
    using create_info = typename Kind::create_info;                ///< VkBufferCreateInfo or VkImageCreateInfo.
    using address_type = handle_offset<VkDeviceMemory>::address;   ///< The address of the bytes.
    using result_type = allot::result<unique_resource, VkResult>;  ///< The result of the functions that create.

    /// Constructs an empty object.
    unique_resource() noexcept = default;
    /// Takes the resource of `other`, which becomes empty.
    unique_resource(unique_resource&& other) noexcept
        : gpu_{other.gpu_}, handle_{std::exchange(other.handle_, {})}, bytes_{std::move(other.bytes_)} {}
    /// Destroys the current resource and takes that of `other`, which becomes empty.
    unique_resource& operator=(unique_resource&& other) noexcept {
        if (this == &other) return *this;
        reset();
        gpu_ = other.gpu_;
        handle_ = std::exchange(other.handle_, {});
        bytes_ = std::move(other.bytes_);
        return *this;
    }
    /// Destroys the resource, then frees its memory.
    ~unique_resource() { reset(); }

    /// Returns true if a resource is owned.
    [[nodiscard]] explicit operator bool() const noexcept { return handle_ != handle_type{}; }
    /// Returns Vulkan's handle, or VK_NULL_HANDLE if the object is empty.
    [[nodiscard]] handle_type handle() const noexcept { return handle_; }
    /// Returns the address of the first byte: a VkDeviceMemory and an offset.
    [[nodiscard]] address_type address() const noexcept { return bytes_.address(); }
    /// Returns the number of bytes of memory, which is at least the size of the resource.
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

    /// Returns a host pointer to the bytes. Returns null if the memory is not host-visible or the object is empty.
    [[nodiscard]] void* host_pointer() const noexcept {
        return *this ? bytes_.memory().host_pointer(address(), size()) : nullptr;
    }
    /// Makes the host's writes visible to work that is submitted later. Fails with VK_ERROR_MEMORY_MAP_FAILED (-5) if
    /// there is no host pointer.
    [[nodiscard]] VkResult flush() const noexcept {
        return *this ? bytes_.memory().flush(address(), size()) : VK_ERROR_MEMORY_MAP_FAILED;
    }
    /// Makes the device's writes visible to the host, after the program has waited for them. Otherwise like `flush`.
    [[nodiscard]] VkResult invalidate() const noexcept {
        return *this ? bytes_.memory().invalidate(address(), size()) : VK_ERROR_MEMORY_MAP_FAILED;
    }

    /// Destroys the resource, then frees its memory. The object becomes empty.
    void reset() noexcept {
        if (handle_ != handle_type{}) Kind::destroy(*gpu_, std::exchange(handle_, {}));
        bytes_.free();
    }

    /// Creates a resource with memory of `allocator`. See `make_buffer` and `make_image`.
    [[nodiscard]] static result_type make(Source& allocator, const create_info& wanted) noexcept
        requires(!is_dedicated)
    {
        const auto& memory = allocator.device();
        if (!memory.gpu()) return result_type::failure(VK_ERROR_INITIALIZATION_FAILED);
        if (!Kind::is_bindable(wanted) || !Kind::can_be_in(memory, wanted))
            return result_type::failure(VK_ERROR_VALIDATION_FAILED_EXT);
        unique_resource made;
        if (const VkResult status = made.create(memory.gpu(), wanted, memory.external_handles); status != VK_SUCCESS)
            return result_type::failure(status);
        const auto needs = Kind::layout_in(memory, made.handle_);
        if (!needs) return result_type::failure(needs.error());
        made.bytes_ = detail::owned_bytes<Source>{allocator};
        return finish(std::move(made), *needs);
    }
    /// Creates a resource with a dedicated allocation. See `make_dedicated_buffer` and `make_dedicated_image`.
    [[nodiscard]] static result_type make(logical_device& gpu, const create_info& wanted,
                                          VkMemoryPropertyFlags required, VkMemoryPropertyFlags preferred) noexcept
        requires is_dedicated
    {
        if (!gpu) return result_type::failure(VK_ERROR_INITIALIZATION_FAILED);
        if (!Kind::is_bindable(wanted)) return result_type::failure(VK_ERROR_VALIDATION_FAILED_EXT);
        unique_resource made;
        if (const VkResult status = made.create(gpu, wanted, 0); status != VK_SUCCESS)
            return result_type::failure(status);
        made.bytes_ = detail::owned_bytes<Source>{Kind::memory_for(gpu, made.handle_, wanted, required, preferred)};
        const std::size_t size = made.bytes_.memory().capacity();
        if (size == 0) return result_type::failure(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        return finish(std::move(made), {size, 1});
    }

private:
    [[nodiscard]] VkResult create(const logical_device& gpu, create_info wanted,
                                  VkExternalMemoryHandleTypeFlags handles) noexcept {
        typename Kind::external_info external{};
        external.sType = Kind::external_type;
        external.pNext = wanted.pNext;
        external.handleTypes = handles;
        if (handles != 0 && !detail::names(wanted.pNext, Kind::external_type)) wanted.pNext = &external;
        gpu_ = &gpu;
        return Kind::create(gpu, wanted, handle_);
    }
    [[nodiscard]] static result_type finish(unique_resource made, layout needs) noexcept {
        VkResult status = made.bytes_.take(needs);
        if (status == VK_SUCCESS) status = Kind::bind(made.bytes_.memory(), made.handle_, made.as_block());
        if (status != VK_SUCCESS) return result_type::failure(status);
        return made;
    }
    [[nodiscard]] block<address_type, no_metadata<Kind>> as_block() const noexcept { return {address(), size()}; }

    const logical_device* gpu_ = nullptr;
    handle_type handle_ = VK_NULL_HANDLE;
    detail::owned_bytes<Source> bytes_{};
};

/// A VkBuffer with memory of an allocator, or with a dedicated allocation.
template <class Source>
using unique_buffer = unique_resource<detail::buffer_kind, Source>;
/// A VkImage with memory of an allocator, or with a dedicated allocation.
template <class Source>
using unique_image = unique_resource<detail::image_kind, Source>;

/// Creates a buffer and binds it to memory of `allocator`: an arena or a naive over `device_memory` or `imported`, or a
/// wrapper around one, such as `counted`.
/// Fails with VK_ERROR_INITIALIZATION_FAILED (-3) if functions are missing; VK_ERROR_VALIDATION_FAILED_EXT
/// (-1000011001) for a size of 0, a sparse buffer, or a buffer with device addresses in memory without them;
/// VK_ERROR_FEATURE_NOT_PRESENT (-8) if the buffer does not support the memory type or requires a dedicated allocation;
/// VK_ERROR_OUT_OF_DEVICE_MEMORY (-2), or the code of the device, if the allocator has no room; otherwise with the
/// driver's code. After a failure, no object and no block is left behind.
template <class Allocator>
[[nodiscard]] result<unique_buffer<Allocator>, VkResult> make_buffer(Allocator& allocator,
                                                                     const VkBufferCreateInfo& wanted) noexcept {
    static_assert(detail::bindable<Allocator>,
                  "allot: a Vulkan resource is bound to a block of Vulkan memory: pass an arena or a naive over "
                  "vulkan::device_memory, or use make_dedicated_buffer or make_dedicated_image");
    return unique_buffer<Allocator>::make(allocator, wanted);
}
/// Creates an image that is not disjoint and binds it to memory of `allocator`. Fails like `make_buffer`; with
/// VK_ERROR_VALIDATION_FAILED_EXT also for a disjoint image, and for a linear image in memory for optimal images.
template <class Allocator>
[[nodiscard]] result<unique_image<Allocator>, VkResult> make_image(Allocator& allocator,
                                                                   const VkImageCreateInfo& wanted) noexcept {
    static_assert(detail::bindable<Allocator>,
                  "allot: a Vulkan resource is bound to a block of Vulkan memory: pass an arena or a naive over "
                  "vulkan::device_memory, or use make_dedicated_buffer or make_dedicated_image");
    return unique_image<Allocator>::make(allocator, wanted);
}
/// Creates a buffer with its own VkDeviceMemory, of the best type with the `required` properties (see `memory_type`).
/// Fails like `make_buffer` and like `logical_device::allocate`.
[[nodiscard]] inline result<unique_buffer<dedicated>, VkResult> make_dedicated_buffer(
    logical_device& gpu, const VkBufferCreateInfo& wanted, VkMemoryPropertyFlags required,
    VkMemoryPropertyFlags preferred = 0) noexcept {
    return unique_buffer<dedicated>::make(gpu, wanted, required, preferred);
}
/// Creates an image with its own VkDeviceMemory. Fails like `make_image` and like `logical_device::allocate`.
[[nodiscard]] inline result<unique_image<dedicated>, VkResult> make_dedicated_image(
    logical_device& gpu, const VkImageCreateInfo& wanted, VkMemoryPropertyFlags required,
    VkMemoryPropertyFlags preferred = 0) noexcept {
    return unique_image<dedicated>::make(gpu, wanted, required, preferred);
}

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
