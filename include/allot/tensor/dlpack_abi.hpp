// SPDX-License-Identifier: BSL-1.0
// dlpack_abi: the structures of DLPack 1, by which libraries share tensors.
//
//     DLManagedTensorVersioned   version · manager_ctx · deleter · flags · dl_tensor         since 1.0
//     DLManagedTensor            dl_tensor · manager_ctx · deleter                           before 1.0; widespread
//     DLTensor                   data · device · ndim · dtype · shape · strides · byte_offset
//
// Where <dlpack/dlpack.h> of version 1 is found, these names are its types. Elsewhere (Debian 12 has 0.6) this header
// declares them in allot's namespace. A cast of the pointer then converts to the types of that header. The static
// assertions below check the size and offset of every field in both cases, so the cast is sound.
//
// Rules of DLPack that the structures do not show:
// - Strides count elements, and are never null from version 1.2 on.
// - A tensor without elements has a null `data`.
// - Sub-byte elements are packed, the first in the lowest bits, unless the flag `is_padded` is set.
// - A null deleter need not be called.
// - In a managed tensor of another major version, only the deleter may be used.
//
// When to use: in code that produces or consumes managed tensors directly.
// When not to use: to export or adopt tensors of allot; use dlpack.hpp.
//
// Complexity and memory: declarations only. Thread safety: the structures are plain data.
#pragma once

#include <allot/core/device.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif

namespace allot {
inline namespace v1 {

#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION == 1
using ::DLDataType;
using ::DLDevice;
using ::DLManagedTensor;
using ::DLManagedTensorVersioned;
using ::DLPackVersion;
using ::DLTensor;
#else
/// The version of DLPack.
struct DLPackVersion {
    std::uint32_t major;  ///< The structures differ between major versions.
    std::uint32_t minor;  ///< Minor versions add codes.
};

/// The memory of a tensor.
struct DLDevice {
    dl_device_type device_type;  ///< The kind of memory.
    std::int32_t device_id;      ///< The ordinal of the device.
};

/// The type of an element.
struct DLDataType {
    std::uint8_t code;    ///< A `dtype_code`.
    std::uint8_t bits;    ///< Bits of one lane.
    std::uint16_t lanes;  ///< Lanes of one element.
};

/// A tensor, without ownership.
struct DLTensor {
    void* data;                 ///< A pointer, or the handle of a buffer.
    DLDevice device;            ///< The memory.
    std::int32_t ndim;          ///< The number of axes.
    DLDataType dtype;           ///< The type of an element.
    std::int64_t* shape;        ///< Elements along each axis.
    std::int64_t* strides;      ///< Distance in elements along each axis.
    std::uint64_t byte_offset;  ///< Bytes from `data` to the first element.
};

/// A tensor with its owner, before DLPack 1.0.
struct DLManagedTensor {
    DLTensor dl_tensor;                 ///< The tensor.
    void* manager_ctx;                  ///< The producer's own data.
    void (*deleter)(DLManagedTensor*);  ///< Ends the sharing; may be null.
};

/// A tensor with its owner, from DLPack 1.0 on.
struct DLManagedTensorVersioned {
    DLPackVersion version;                       ///< The version of the structure.
    void* manager_ctx;                           ///< The producer's own data.
    void (*deleter)(DLManagedTensorVersioned*);  ///< Ends the sharing; may be null.
    std::uint64_t flags;                         ///< A combination of `dlpack_flag`.
    DLTensor dl_tensor;                          ///< The tensor.
};
#endif

// Minor versions only add codes; 1.2 is the first that guarantees strides.
inline constexpr std::uint32_t dlpack_major = 1,  ///< The major version of exported and adopted tensors.
    dlpack_minor = 2;                             ///< The minor version of exported tensors.

/// The bits of `DLManagedTensorVersioned::flags`.
namespace dlpack_flag {
inline constexpr std::uint64_t read_only = 1;  ///< The elements must not be written.
inline constexpr std::uint64_t is_copied = 2;  ///< The tensor is a copy for this consumer alone.
inline constexpr std::uint64_t is_padded = 4;  ///< Each element of a sub-byte dtype is padded to whole bytes.
}  // namespace dlpack_flag

static_assert(std::is_standard_layout_v<DLManagedTensor> && std::is_standard_layout_v<DLManagedTensorVersioned>);
static_assert(sizeof(DLPackVersion) == 8 && offsetof(DLPackVersion, major) == 0 && offsetof(DLPackVersion, minor) == 4);
static_assert(sizeof(DLDevice) == 8 && offsetof(DLDevice, device_type) == 0 && offsetof(DLDevice, device_id) == 4 &&
              sizeof(DLDevice::device_type) == 4 && sizeof(DLDevice::device_id) == 4);
static_assert(sizeof(DLDataType) == 4 && offsetof(DLDataType, code) == 0 && offsetof(DLDataType, bits) == 1 &&
              offsetof(DLDataType, lanes) == 2 && sizeof(DLDataType::lanes) == 2);
static_assert(sizeof(DLTensor::ndim) == 4 && std::is_same_v<decltype(DLTensor::byte_offset), std::uint64_t> &&
              std::is_same_v<decltype(DLTensor::shape), std::int64_t*> &&
              std::is_same_v<decltype(DLTensor::strides), std::int64_t*>);
static_assert(sizeof(void*) != 8 ||
              (sizeof(DLTensor) == 48 && alignof(DLTensor) == 8 && offsetof(DLTensor, data) == 0 &&
               offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 && offsetof(DLTensor, dtype) == 20 &&
               offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, strides) == 32 &&
               offsetof(DLTensor, byte_offset) == 40));
static_assert(sizeof(void*) != 8 ||
              (sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, dl_tensor) == 0 &&
               offsetof(DLManagedTensor, manager_ctx) == 48 && offsetof(DLManagedTensor, deleter) == 56));
static_assert(sizeof(void*) != 8 ||
              (sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, version) == 0 &&
               offsetof(DLManagedTensorVersioned, manager_ctx) == 8 &&
               offsetof(DLManagedTensorVersioned, deleter) == 16 && offsetof(DLManagedTensorVersioned, flags) == 24 &&
               offsetof(DLManagedTensorVersioned, dl_tensor) == 32));

}  // namespace v1
}  // namespace allot
