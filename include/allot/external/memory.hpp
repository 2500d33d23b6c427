// SPDX-License-Identifier: BSL-1.0
// external::memory: memory of one driver that another driver can import: a file descriptor and its properties.
//
//     allot::arena<allot::dma::heap<"system">, allot::best_fit<>> frames{{}, 8_MiB};
//     auto shared = frames.device().export_memory(frames.regions()[0]);       // owns a new descriptor
//     if (!shared) return shared.error();
//     using imported = allot::vulkan::imported_memory<allot::external::handle_kind::dma_buf>;
//     allot::arena<imported, allot::best_fit<>> on_gpu{{gpu, std::move(*shared), usage}};
//
//     region of a driver ──► export_memory ──► external::memory ──► imported_memory ──► region of another driver
//                                                   │                                       │ the same bytes
//     the bytes live while one descriptor, one mapping or one driver refers to them ◄───────┘
//
// Kinds of handles:
//   - dma_buf: a DMA buffer of Linux. Any driver may import it (kernel documentation, driver-api/dma-buf). Vulkan puts
//     no restriction on the devices and drivers (specification, "External Memory Handle Types Compatibility").
//   - opaque_fd: a descriptor that only the same driver on the same device understands. Vulkan demands equal driverUUID
//     and deviceUUID there, CUDA the same GPU. Importers compare the identifiers here and refuse others.
//
// Ownership of descriptors: an import transfers the descriptor to the driver if it succeeds, and not otherwise. Vulkan
// (VkImportMemoryFdInfoKHR), OpenCL (cl_khr_external_memory, "File Descriptor Handle Types") and CUDA
// (cuImportExternalMemory) agree. Afterward the program performs no operation on it. A device that imports keeps this
// object and passes a duplicate to the driver with each `acquire`, so that no program handles the transfer.
//
// When to use: to pass memory between drivers, or to another process (SCM_RIGHTS).
// When not to use: for memory of one driver, or for bytes of the host: `vulkan::imported`, `opencl::imported`.
// Complexity: one system call to duplicate or close.
// Memory: 64 bytes, and one descriptor of the process.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/result.hpp>
#include <allot/external/detail/descriptor.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>

namespace allot {
inline namespace v1 {
namespace external {

/// The kind of object that a descriptor refers to.
enum class handle_kind : unsigned char {
    dma_buf,    ///< A DMA buffer of Linux, for any driver.
    opaque_fd,  ///< Memory that only the same driver on the same device understands.
};

/// A set of kinds, for the traits `exports` and `imports` of devices.
struct handle_kinds {
    bool dma_buf = false;    ///< Whether DMA buffers are in the set.
    bool opaque_fd = false;  ///< Whether opaque descriptors are in the set.

    /// Returns the set of one kind.
    [[nodiscard]] static constexpr handle_kinds of(handle_kind kind) noexcept {
        return {kind == handle_kind::dma_buf, kind == handle_kind::opaque_fd};
    }
    /// Returns whether the kind is in the set.
    [[nodiscard]] constexpr bool contains(handle_kind kind) const noexcept {
        return kind == handle_kind::dma_buf ? dma_buf : opaque_fd;
    }
    /// Compares both sets.
    friend constexpr bool operator==(handle_kinds, handle_kinds) = default;
};

/// The identifier of a device or a driver, as Vulkan (VkPhysicalDeviceIDProperties) and CUDA (cuDeviceGetUuid) give it.
/// All zeros: unknown.
using uuid = std::array<unsigned char, 16>;

/// Properties of the memory that importers need.
struct properties {
    handle_kind kind = handle_kind::dma_buf;  ///< The kind of the descriptor.
    std::size_t size = 0;                     ///< Size of the whole memory in bytes.
    std::uint32_t memory_type = ~0u;          ///< Vulkan's memory type of an opaque descriptor, or ~0u.
    bool dedicated = false;                   ///< Vulkan allocated it for one buffer or image.
    uuid device{};                            ///< The device of an opaque descriptor.
    uuid driver{};                            ///< Vulkan's driver of an opaque descriptor.

    /// Compares all members.
    friend constexpr bool operator==(const properties&, const properties&) = default;
};

/// Memory that a driver exported. Owns the descriptor.
class [[nodiscard]] memory {
public:
    /// Constructs an empty object.
    memory() noexcept = default;
    /// Takes ownership of a descriptor. With a negative number, the object is empty.
    memory(int descriptor, const properties& about) noexcept : descriptor_{descriptor}, about_{about} {}

    /// Returns whether there is memory.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }
    /// Returns the descriptor, which this object keeps, or -1.
    [[nodiscard]] int descriptor() const noexcept { return *descriptor_; }
    /// Returns the properties of the memory.
    [[nodiscard]] const properties& about() const noexcept { return about_; }

    /// Gives up the descriptor, which the caller must close or pass to a driver. Returns -1 if the object is empty.
    [[nodiscard]] int release() noexcept { return descriptor_.release(); }
    /// Returns a second object for the same memory, with a new descriptor. Fails with an `errno` value.
    [[nodiscard]] result<memory, int> duplicate() const noexcept {
        const int fresh = ::fcntl(*descriptor_, F_DUPFD_CLOEXEC, 0);
        return fresh < 0 ? result<memory, int>::failure(errno) : memory{fresh, about_};
    }

private:
    detail::descriptor descriptor_;
    properties about_;
};

}  // namespace external
}  // namespace v1
}  // namespace allot
