// Stand-in for TVM's header of this name, with the part that bindings/tvm/adapter.hpp uses. bindings/tvm/interface.hpp
// checks the signatures of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

enum DLDeviceType { kDLCPU = 1 };
struct DLDevice {
    DLDeviceType device_type;
    std::int32_t device_id;
};
struct DLDataType {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};

namespace tvm::ffi {
struct Shape {};
}  // namespace tvm::ffi

namespace tvm::runtime::memory {

enum AllocatorType { kNaive = 1, kPooled };

struct Buffer {
    void* data{nullptr};
    std::size_t size{0};
    DLDevice device;
    AllocatorType alloc_type;
};

class Allocator {
public:
    explicit Allocator(AllocatorType type) : type_{type} {}
    virtual ~Allocator() = default;
    AllocatorType type() const { return type_; }
    virtual Buffer Alloc(DLDevice, std::size_t, std::size_t, DLDataType) = 0;
    virtual Buffer Alloc(DLDevice, ffi::Shape, DLDataType, const std::string& = "") { return {}; }
    virtual void Free(const Buffer&) = 0;
    virtual void Clear() {}
    virtual std::size_t UsedMemory() const = 0;

private:
    AllocatorType type_;
};

}  // namespace tvm::runtime::memory

namespace tvm::runtime {
using memory::Allocator;
}
