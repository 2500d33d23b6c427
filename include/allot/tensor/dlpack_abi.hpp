// SPDX-License-Identifier: BSL-1.0
// The structures of DLPack 1: what libraries hand each other to share a tensor.
//
//     DLManagedTensorVersioned   version · manager_ctx · deleter · flags · dl_tensor         since 1.0
//     DLManagedTensor            dl_tensor · manager_ctx · deleter                           before; still widespread
//     DLTensor                   data · device · ndim · dtype · shape · strides · byte_offset
//
// Where <dlpack/dlpack.h> of version 1 is found, the names here are its types. Elsewhere (Debian 12 has 0.6) they are
// declared here, in allot's namespace; a pointer is then cast for code that knows the header, which is sound: the size
// and offset of every field are checked below, whichever declaration is used.
//
// Facts that the structures do not show: strides count elements, and are always given from 1.2 on; a tensor without
// elements has a null pointer; sub-byte elements are packed, the first in the lowest bits, unless a flag says padded; a
// null deleter is one that need not be called; of another major version nothing but the deleter may be used.
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
struct DLPackVersion {
    std::uint32_t major;
    std::uint32_t minor;
};

struct DLDevice {
    dl_device_type device_type;
    std::int32_t device_id;
};

struct DLDataType {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
};

struct DLTensor {
    void* data;
    DLDevice device;
    std::int32_t ndim;
    DLDataType dtype;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
};

struct DLManagedTensor {
    DLTensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(DLManagedTensor*);
};

struct DLManagedTensorVersioned {
    DLPackVersion version;
    void* manager_ctx;
    void (*deleter)(DLManagedTensorVersioned*);
    std::uint64_t flags;
    DLTensor dl_tensor;
};
#endif

/// The version that allot speaks. Minor versions only add codes; 1.2 is the first that promises strides.
inline constexpr std::uint32_t dlpack_major = 1, dlpack_minor = 2;

/// The bits of `DLManagedTensorVersioned::flags`.
namespace dlpack_flag {
inline constexpr std::uint64_t read_only = 1;    // nobody may write to the elements
inline constexpr std::uint64_t is_copied = 2;    // made for the consumer, who is the only one to use it
inline constexpr std::uint64_t is_padded = 4;    // each element of a sub-byte dtype has bytes of its own
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
