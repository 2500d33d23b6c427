// Stand-in for TVM's header of this name, with the part that bindings/tvm/adapter.hpp uses. bindings/tvm/interface.hpp
// checks the signatures of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
class Shape {
public:
    Shape(std::vector<std::int64_t> of = {}) : of_{std::move(of)} {}
    const std::int64_t* data() const { return of_.data(); }
    std::size_t size() const { return of_.size(); }

private:
    std::vector<std::int64_t> of_;
};
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
    virtual Buffer Alloc(DLDevice device, ffi::Shape of, DLDataType type, const std::string& = "") {
        std::size_t size = type.bits / 8;
        for (std::size_t i = 0; i != of.size(); ++i) size *= static_cast<std::size_t>(of.data()[i]);
        return Alloc(device, size, 64, type);
    }
    virtual void* CreateView(const Buffer& buffer, ffi::Shape, DLDataType, const std::string& = "global") {
        return buffer.data;
    }
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
