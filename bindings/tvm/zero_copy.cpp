// Tensors of TVM in the application's own bytes, and the counts that show that TVM copies none of them.
//
//     allot.import_bytes(tensor) ─────────► memory ──► allot.import_tensor(memory, offset, shape, dtype) ──► tensor
//     allot.import_dma_heap(name, size) ──► memory ──► allot.import_tensor(…)
//
// A memory is a storage of allot: it checks bounds, alignment and overlap, and a tensor holds its bytes until TVM drops
// it. Kernels of TVM take 64-byte alignment for granted and check nothing, so every tensor has it.
#include "device_calls.hpp"
#include "objects.hpp"
#include "types.hpp"

#include <allot/allot.hpp>
#include <allot/dma/heap.hpp>
#include <allot/tensor.hpp>

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

using tvm::ffi::Optional;
using tvm::ffi::Shape;
using tvm::ffi::String;
using tvm::ffi::Tensor;

constexpr std::size_t alignment = tvm::runtime::kAllocAlignment;

/// Bytes in which tensors are placed.
class memory {
public:
    memory() = default;
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    virtual ~memory() = default;

    /// Returns a tensor at this offset, or at a free offset. The tensor keeps `self`, which is this object.
    [[nodiscard]] virtual Tensor place(std::shared_ptr<memory> self, Optional<std::int64_t> offset, const Shape& shape,
                                       DLDataType type) = 0;
    /// Returns the descriptor of a DMA buffer, or -1.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }

    std::optional<allot::dma::cpu_access<allot::dma::buffer_sync>> access;  ///< The period in which the CPU may use it.
};

/// The allocator of a tensor's bytes in the terms of TVM.
template <class Placed>
struct placed_bytes {
    std::shared_ptr<memory> in;
    Placed bytes;  // after `in`, so that it goes first

    void AllocData(DLTensor* tensor) { tensor->data = bytes.data(); }
    void FreeData(DLTensor*) {}
};

template <class Result>
auto value_of(Result made, const char* what) {
    if (made) return *std::move(made);
    const auto error = made.error();
    const bool is_full = error.reason == allot::tensor_refusal::no_memory;
    std::string text = std::string{"allot: "} + what + ": " + error.what();
    if (error.memory.device_error != 0)
        text += std::string{": "} + std::strerror(static_cast<int>(error.memory.device_error));
    throw tvm::ffi::Error{is_full ? "MemoryError" : "ValueError", text, ""};
}

/// One region of a device.
template <class Device>
class memory_of : public memory {
    using allocator = allot::naive<Device>;
    using policies = allot::storage_policies<allot::best_fit<>, allot::references::atomic>;

public:
    memory_of(Device device, std::size_t size)
        : allocator_{std::move(device)},
          storage_{value_of(allot::alloc_storage<policies>(allocator_, {size, alignment}), "no such storage")} {}

    [[nodiscard]] Tensor place(std::shared_ptr<memory> self, Optional<std::int64_t> offset, const Shape& shape,
                               DLDataType type) override {
        const allot::shape extents = allot_tvm::shape_of(shape);
        const allot::dtype dtype = allot_tvm::dtype_of(type);
        auto made = offset ? allot::alloc_tensor(storage_, *offset, extents, dtype)
                           : allot::alloc_tensor(storage_, allot::anywhere, extents, dtype);
        auto placed = value_of(std::move(made), "no such tensor");
        placed_bytes<decltype(placed)> bytes{std::move(self), std::move(placed)};
        return Tensor::FromNDAlloc(std::move(bytes), shape, type, DLDevice{kDLCPU, 0});
    }

protected:
    allocator allocator_;
    allot::storage<allocator, policies> storage_;
};

/// Bytes that another library owns.
class imported_bytes final : public memory_of<allot::host::buffer> {
public:
    explicit imported_bytes(const Tensor& from)
        : memory_of{{from.data_ptr(), size_of(from)}, size_of(from)}, from_{from} {}

private:
    [[nodiscard]] static std::size_t size_of(const Tensor& from) {
        return tvm::ffi::GetDataSize(static_cast<std::size_t>(from.numel()), from.dtype());
    }
    Tensor from_;
};

/// A buffer of a DMA heap.
template <class Heap>
class dma_memory final : public memory_of<Heap> {
public:
    explicit dma_memory(std::size_t size) : memory_of<Heap>{Heap{}, size} {}

    [[nodiscard]] int descriptor() const noexcept override {
        return this->allocator_.device().buffer_of(this->storage_.base()).descriptor;
    }
};

/// A memory as a value of Python.
class memory_object : public tvm::ffi::Object {
public:
    explicit memory_object(std::shared_ptr<memory> to) : to{std::move(to)} {}
    std::shared_ptr<memory> to;
    TVM_FFI_DECLARE_OBJECT_INFO_FINAL("allot.Memory", memory_object, tvm::ffi::Object);
};
class memory_reference : public tvm::ffi::ObjectRef {
public:
    explicit memory_reference(std::shared_ptr<memory> to)
        : ObjectRef{tvm::ffi::make_object<memory_object>(std::move(to))} {}
    TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(memory_reference, tvm::ffi::ObjectRef, memory_object);
};

memory_reference import_bytes(const Tensor& from) {
    allot_tvm::require(from, "allot.import_bytes", "the tensor");
    if (from.device().device_type != kDLCPU)
        TVM_FFI_THROW(ValueError) << "allot: the bytes are not in the host's memory";
    if (!from.IsContiguous()) TVM_FFI_THROW(ValueError) << "allot: the bytes are not contiguous";
    const std::size_t beyond = allot::raw_pointer::position(from.data_ptr()) % alignment;
    if (beyond != 0 || from.byte_offset() != 0)
        TVM_FFI_THROW(ValueError) << "allot: the bytes start " << beyond << " bytes after a multiple of " << alignment
                                  << ", which TVM's kernels do not check and rely on; align them, or start at a page";
    return memory_reference{std::make_shared<imported_bytes>(from)};
}

memory_reference import_dma_heap(const String& name, std::int64_t size) {
    const auto wanted = allot::detail::storage_layout(size, alignment);
    static_cast<void>(value_of(wanted, "no such storage"));
    const auto make = [&]<class Heap>() { return memory_reference{std::make_shared<dma_memory<Heap>>(wanted->size)}; };
    if (name == "system") return make.template operator()<allot::dma::heap<"system">>();
    if (name == "reserved") return make.template operator()<allot::dma::heap<"reserved", {.contiguous = true}>>();
    if (name != "default_cma_region")
        TVM_FFI_THROW(ValueError)
            << "allot: this library has the heaps system, reserved and default_cma_region, and not " << name;
    return make.template operator()<allot::dma::heap<"default_cma_region", {.contiguous = true}>>();
}

/// Returns the memory of a value of Python, which is not None.
std::shared_ptr<memory> memory_in(const memory_reference& given, const std::string& function) {
    allot_tvm::require(given, function, "the memory");
    return given->to;
}

Tensor import_tensor(const memory_reference& given, Optional<std::int64_t> offset, const Shape& shape,
                     DLDataType type) {
    const auto in = memory_in(given, "allot.import_tensor");
    if (!allot_tvm::dtype_of(type).is_whole_bytes())
        TVM_FFI_THROW(ValueError) << "allot: no such tensor: "
                                  << allot::tensor_error{allot::tensor_refusal::partial_bytes}.what();
    return in->place(in, offset, shape, type);
}

int descriptor_of(const memory& of) {
    const int descriptor = of.descriptor();
    if (descriptor < 0) TVM_FFI_THROW(ValueError) << "allot: the memory is not a DMA buffer";
    return descriptor;
}

void begin_access(memory& to, const String& use) {
    using allot::dma::cpu_use;
    if (use != "read" && use != "write" && use != "read_write")
        TVM_FFI_THROW(ValueError) << "allot: the access is read, write or read_write, and not " << use;
    if (to.access) TVM_FFI_THROW(ValueError) << "allot: an access is in progress; end it first";
    const cpu_use how = use == "read" ? cpu_use::read : use == "write" ? cpu_use::write : cpu_use::read_write;
    to.access.emplace(allot::dma::buffer_sync{descriptor_of(to), how});
    if (*to.access) return;
    const int reason = to.access->error();
    to.access.reset();
    TVM_FFI_THROW(RuntimeError) << "allot: the access does not begin: " << std::strerror(reason);
}

void end_access(memory& to) {
    if (!to.access) TVM_FFI_THROW(ValueError) << "allot: no access is in progress";
    const int reason = to.access->end();
    to.access.reset();
    if (reason != 0) TVM_FFI_THROW(RuntimeError) << "allot: the access does not end: " << std::strerror(reason);
}

TVM_FFI_STATIC_INIT_BLOCK() {
    tvm::ffi::reflection::GlobalDef()
        .def("allot.import_bytes", &import_bytes)
        .def("allot.import_dma_heap", &import_dma_heap)
        .def("allot.import_tensor", &import_tensor)
        .def("allot.import_descriptor",
             [](const memory_reference& of) { return descriptor_of(*memory_in(of, "allot.import_descriptor")); })
        .def("allot.import_begin_access",
             [](const memory_reference& to, const String& use) {
                 begin_access(*memory_in(to, "allot.import_begin_access"), use);
             })
        .def("allot.import_end_access",
             [](const memory_reference& to) { end_access(*memory_in(to, "allot.import_end_access")); })
        .def("allot.count_device_calls", &allot_tvm::count_device_calls)
        .def("allot.device_calls", [] {
            const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
            const auto& seen = allot_tvm::device_calls();
            return Shape{number(seen.copies), number(seen.copied), number(seen.allocations), number(seen.allocated),
                         number(seen.workspaces)};
        });
}

}  // namespace
