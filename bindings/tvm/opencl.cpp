// A library that gives TVM's wheel an OpenCL device, with memory from allot. The wheel generates OpenCL code and has no
// run-time library for it. Loading this library with ctypes.CDLL in Python, after `import tvm`, registers the functions
// that TVM looks up by name:
//
//     device_api.opencl                   the device: separate buffers, images for texture scopes, copies, the queue
//     ffi.Module.create.opencl            kernels, from the source that TVM generates
//     ffi.Module.load_from_bytes.opencl   the same kernels, from an exported library
//     allot.opencl.alloc_storage          a storage in an arena of buffers; like vm.builtin.alloc_storage
//     allot.opencl.alloc_tensor           a tensor at an offset of such a storage
//
//     tensor of TVM:   data = cl_mem   byte_offset   ──►  kernel(__global float* data, int elem_offset, …)
//     arena            │ region: one cl_mem │  storage  │ tensor at an offset │  storage  │
//
// A cl_mem is no address, so a tensor keeps its offset next to it. A kernel takes the offset as an argument if its
// buffers have an elem_offset (allot_tvm/opencl.py). TVM's own allocators return one pointer for a buffer and cannot
// carry an offset. Therefore a buffer of `device_api.opencl` is a cl_mem of its own.
//
// Device numbers count the devices of all platforms, in the order of the ICD loader. Each device has one context and
// one in-order queue. Any thread may call; one lock guards all devices.
#include "../../examples/apps/network_demo/counting.hpp"
#include "objects.hpp"
#include "types.hpp"

#include <allot/allot.hpp>
#include <allot/opencl.hpp>
#include <allot/tensor/dlpack.hpp>

#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/vm/vm.h>

#include <pack_args.h>  // the arguments and the sizes of a launch; their source is in the wheel
#include <thread_storage_scope.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

namespace ffi = tvm::ffi;
using tvm::runtime::FunctionInfo;
using tvm::runtime::Tensor;

using buffers = demo::counting<allot::opencl::buffer>;
using separate = allot::naive<buffers>;
using reused = allot::naive<allot::cached<buffers>>;
using growing = allot::arena<buffers, allot::best_fit<>, allot::growth::geometric<>>;
using one_region = allot::arena<buffers, allot::best_fit<>>;
// The planner is trusted: a tensor may have the bytes of another one that the virtual machine still holds.
using planned = allot::storage_policies<allot::as_given>;
template <class Memory>
using storage_of = allot::storage<Memory, planned>;

// Never destroyed: tensors of Python may live until the process ends.
std::mutex& mutex = *new std::mutex;

void check(cl_int status, const char* call) {
    if (status != CL_SUCCESS)
        TVM_FFI_THROW(RuntimeError) << "allot: " << call << " failed with OpenCL's error " << status;
}

std::string why_not(std::size_t size, std::size_t align, const allot::diagnosis& found) {
    std::string text =
        "allot: no " + std::to_string(size) + " bytes aligned to " + std::to_string(align) + ": " + found.what();
    if (found.largest_hole != 0) text += "; the largest hole has " + std::to_string(found.largest_hole) + " bytes";
    if (found.device_error != 0) text += "; OpenCL's error is " + std::to_string(found.device_error);
    return text;
}

/// Images for the texture scopes. TVM's kernels take image2d_array_t, so each image is an array of one.
class images {
public:
    using region = allot::texture_region<cl_mem>;
    using error = cl_int;

    images(const cl::Context& context, const cl::Device& device, demo::tally& counts)
        : context_{context}, limits_{context, device}, counts_{&counts} {}

    [[nodiscard]] allot::opencl::cl_result<region> acquire(allot::texture_shape shape, allot::dtype type) noexcept {
        using answer = allot::opencl::cl_result<region>;
        if (const cl_int reason = limits_.check(shape, type); reason != CL_SUCCESS) return answer::failure(reason);
        const cl_image_format format = *allot::opencl::image_format_of(type);
        cl_image_desc wanted{};
        wanted.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY;
        wanted.image_width = shape.width;
        wanted.image_height = shape.height;
        wanted.image_array_size = 1;
        cl_int status = CL_SUCCESS;
        const cl_mem made = ::clCreateImage(context_(), CL_MEM_READ_WRITE, &format, &wanted, nullptr, &status);
        if (status != CL_SUCCESS) return answer::failure(status);
        ++counts_->acquisitions;
        counts_->held += bytes_of(shape, type);
        counts_->most = std::max(counts_->most, counts_->held);
        return region{made, shape, type};
    }
    void release(region held) noexcept {
        counts_->held -= bytes_of(held.shape, held.dtype);
        ::clReleaseMemObject(held.handle);
    }

private:
    static std::size_t bytes_of(allot::texture_shape shape, allot::dtype type) noexcept {
        return allot::texture_bytes(shape, type)->total;
    }

    cl::Context context_;
    allot::opencl::image limits_;
    demo::tally* counts_;
};

/// One OpenCL device: its context, its queue, the memory, and the counts of clCreateBuffer.
struct machine {
    explicit machine(cl::Device of)
        : device{std::move(of)},
          context{device},
          queue{context, device},
          way{queue},
          alone{buffers{{context, device}, alone_counts}},
          workspaces{allot::cached{buffers{{context, device}, workspace_counts}}},
          image_device{context, device, image_counts},
          memory{std::in_place_type<growing>, buffers{{context, device}, arena_counts}} {}

    cl::Device device;
    cl::Context context;
    cl::CommandQueue queue;
    allot::opencl::queue_copy way;
    demo::tally alone_counts, workspace_counts, arena_counts, image_counts;
    separate alone;
    reused workspaces;
    images image_device;
    std::unordered_map<void*, allot::block_of<separate>> held;  // by cl_mem, the data of a tensor
    std::unordered_map<void*, allot::block_of<reused>> workspaces_in_use;
    std::unordered_map<void*, allot::texture<images>> textures;
    std::variant<growing, one_region> memory;
    int storages = 0;  // live storages in `memory`
};

/// Returns all devices. A device without a working context is left out.
std::vector<std::unique_ptr<machine>>& machines() {
    static auto& all = *[] {
        auto* const found = new std::vector<std::unique_ptr<machine>>;
        std::vector<cl::Platform> platforms;
        cl::Platform::get(&platforms);
        for (const cl::Platform& platform : platforms) {
            std::vector<cl::Device> devices;
            platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
            for (cl::Device& device : devices) {
                auto fresh = std::make_unique<machine>(std::move(device));
                if (fresh->context() != nullptr && fresh->queue() != nullptr) found->push_back(std::move(fresh));
            }
        }
        return found;
    }();
    return all;
}

machine& machine_of(DLDevice device) {
    const auto number = static_cast<std::size_t>(device.device_id);
    if (device.device_type != kDLOpenCL)
        TVM_FFI_THROW(ValueError) << "allot: this storage needs an OpenCL device, and the device is of type "
                                  << device.device_type;
    if (number >= machines().size())
        TVM_FFI_THROW(ValueError) << "allot: there is no OpenCL device " << device.device_id << "; this machine has "
                                  << machines().size();
    return *machines()[number];
}

// ── storages and tensors ─────────────────────────────────────────────────────────────────────────────────────────────

/// A storage of the arena, as an object of TVM.
class storage_object : public ffi::Object {
public:
    std::variant<storage_of<growing>, storage_of<one_region>> bytes;
    DLDevice device{kDLOpenCL, 0};

    storage_object() = default;
    storage_object(const storage_object&) = delete;
    storage_object& operator=(const storage_object&) = delete;
    ~storage_object() {
        const std::lock_guard lock{mutex};
        bytes = {};
        --machine_of(device).storages;
    }

    static constexpr bool _type_mutable = true;
    TVM_FFI_DECLARE_OBJECT_INFO_FINAL("allot.opencl.Storage", storage_object, ffi::Object);
};

class storage_ref : public ffi::ObjectRef {
public:
    TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(storage_ref, ffi::ObjectRef, storage_object);
};

storage_ref alloc_storage(DLDevice on, std::int64_t size) {
    machine& there = machine_of(on);
    auto fresh = ffi::make_object<storage_object>();
    fresh->device = on;
    const std::lock_guard lock{mutex};
    ++there.storages;
    const std::size_t align = allot::opencl::buffer{there.context, there.device}.base_align();
    const auto take = [&]<class Memory>(Memory& memory) {
        auto made = allot::alloc_storage<planned>(memory, size, align);
        if (made) {
            fresh->bytes = *std::move(made);
        } else if (made.error().reason == allot::tensor_refusal::no_memory) {
            throw ffi::Error{"MemoryError", why_not(static_cast<std::size_t>(size), align, made.error().memory), ""};
        } else {
            throw ffi::Error{"ValueError",
                             "allot: no storage of " + std::to_string(size) + " bytes: " + made.error().what(), ""};
        }
    };
    std::visit(take, there.memory);
    return storage_ref{std::move(fresh)};
}

/// Has the parameters of vm.builtin.alloc_storage. The shape and the dtype give the size.
storage_ref alloc_storage_for_vm(void* context, const ffi::Shape& shape, std::int64_t index, DLDataType type,
                                 const ffi::String& scope) {
    const auto* const vm = static_cast<tvm::runtime::vm::VirtualMachine*>(context);
    if (index < 0 || static_cast<std::size_t>(index) >= vm->devices.size())
        TVM_FFI_THROW(ValueError) << "allot: the virtual machine has no device " << index;
    if (!scope.empty() && scope != "global")
        TVM_FFI_THROW(ValueError) << "allot: a storage of OpenCL buffers has the scope global, and not " << scope;
    return alloc_storage(vm->devices[static_cast<std::size_t>(index)],
                         static_cast<std::int64_t>(ffi::GetDataSize(static_cast<std::size_t>(shape.Product()), type)));
}

/// The bytes of a tensor of TVM: a tensor of allot, whose lease keeps the storage.
template <class Memory>
struct tensor_bytes {
    allot::tensor_in<storage_of<Memory>> held;

    void AllocData(DLTensor* tensor) {
        tensor->data = held.data();
        tensor->byte_offset = held.byte_offset();
    }
    void FreeData(DLTensor*) {
        const std::lock_guard lock{mutex};
        held = {};
    }
};

[[noreturn]] void refuse(std::int64_t offset, const ffi::Shape& shape, std::size_t size, const std::string& reason) {
    std::string extents;
    for (const std::int64_t extent : shape) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
    throw ffi::Error{"ValueError",
                     "allot: no tensor of shape (" + extents + ") at offset " + std::to_string(offset) +
                         " of a storage of " + std::to_string(size) + " bytes: " + reason,
                     ""};
}

/// Allocates a tensor at a byte offset of a storage, for kernels whose buffers have the offset factor `factor`.
Tensor alloc_tensor(const storage_ref& from, std::int64_t offset, const ffi::Shape& shape, DLDataType type,
                    std::int64_t factor) {
    allot_tvm::require(from, "allot.opencl.alloc_tensor", "the storage");
    const auto make = [&]<class Memory>(const storage_of<Memory>& storage) -> Tensor {
        if (factor < 1) refuse(offset, shape, storage.size(), "the offset factor is less than 1");
        const allot::dtype element = allot_tvm::dtype_of(type);
        const allot::shape extents{std::span{shape.data(), shape.size()}};
        const std::lock_guard lock{mutex};
        auto made = allot::alloc_tensor(storage, offset, extents, element, 1);
        if (!made) refuse(offset, shape, storage.size(), made.error().what());
        const auto passed = allot::kernel_offset_of(*made, static_cast<std::size_t>(factor));
        if (!passed)
            refuse(offset, shape, storage.size(),
                   std::string{passed.error().what()} + "; the factor is " + std::to_string(factor));
        if (passed->elements + made->size() > std::size_t{std::numeric_limits<std::int32_t>::max()})
            refuse(offset, shape, storage.size(), "the elements end after 2^31 - 1, the last index of a kernel of TVM");
        return ffi::Tensor::FromNDAlloc(tensor_bytes<Memory>{*std::move(made)}, shape, type, from->device);
    };
    return std::visit(make, from->bytes);
}

// ── the device ───────────────────────────────────────────────────────────────────────────────────────────────────────

thread_local DLDevice current{kDLOpenCL, 0};  // of SetDevice, for the launches of this thread

class device_api final : public tvm::runtime::DeviceAPI {
public:
    void SetDevice(DLDevice device) override {
        static_cast<void>(machine_of(device));
        current = device;
    }

    void GetAttr(DLDevice device, tvm::runtime::DeviceAttrKind kind, ffi::Any* answer) override {
        if (kind == tvm::runtime::kExist) {
            *answer = static_cast<int>(static_cast<std::size_t>(device.device_id) < machines().size());
            return;
        }
        const cl::Device& of = machine_of(device).device;
        const auto number = [](auto value) { return static_cast<std::int64_t>(value); };
        switch (kind) {
            case tvm::runtime::kMaxThreadsPerBlock:
                *answer = number(of.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>());
                break;
            case tvm::runtime::kWarpSize: *answer = 1; break;  // as in TVM's target
            case tvm::runtime::kMaxSharedMemoryPerBlock:
                *answer = number(of.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>());
                break;
            case tvm::runtime::kDeviceName: *answer = ffi::String(of.getInfo<CL_DEVICE_NAME>()); break;
            case tvm::runtime::kMaxClockRate: *answer = number(of.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>()); break;
            case tvm::runtime::kMultiProcessorCount: *answer = number(of.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()); break;
            case tvm::runtime::kDriverVersion: *answer = ffi::String(of.getInfo<CL_DRIVER_VERSION>()); break;
            case tvm::runtime::kTotalGlobalMemory: *answer = number(of.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>()); break;
            default: break;  // null: OpenCL has no such property
        }
    }

    /// Creates a buffer of its own: its data is the cl_mem.
    void* AllocDataSpace(DLDevice device, std::size_t size, std::size_t align, DLDataType) override {
        machine& there = machine_of(device);
        return take(there.alone, there.held, {std::max<std::size_t>(size, 1), align});
    }
    /// Creates an image for the texture scopes. For the scope "global" it calls the function above.
    void* AllocDataSpace(DLDevice device, int rank, const std::int64_t* extents, DLDataType type,
                         ffi::Optional<ffi::String> scope) override {
        const std::string name = scope.has_value() ? std::string{*scope} : std::string{};
        machine& there = machine_of(device);
        const allot::shape shape{std::span{extents, static_cast<std::size_t>(rank)}};
        if (name == allot::scope::texture::name) return take_image<allot::scope::texture>(there, shape, type);
        if (name == allot::scope::texture_weight::name)
            return take_image<allot::scope::texture_weight>(there, shape, type);
        if (name == allot::scope::texture_nhwc::name) return take_image<allot::scope::texture_nhwc>(there, shape, type);
        return DeviceAPI::AllocDataSpace(device, rank, extents, type, scope);
    }
    void FreeDataSpace(DLDevice device, void* data) override {
        machine& there = machine_of(device);
        if (const std::lock_guard lock{mutex}; there.textures.erase(data) != 0) return;
        give_back(there.alone, there.held, data);
    }

    /// Allocates memory that a kernel needs while it runs. Freed buffers are kept: the queue is in order, so the work
    /// that has a buffer first ends first.
    void* AllocWorkspace(DLDevice device, std::size_t size, DLDataType) override {
        machine& there = machine_of(device);
        return take(there.workspaces, there.workspaces_in_use,
                    {std::max<std::size_t>(size, 1), tvm::runtime::kTempAllocaAlignment});
    }
    void FreeWorkspace(DLDevice device, void* data) override {
        machine& there = machine_of(device);
        give_back(there.workspaces, there.workspaces_in_use, data);
    }

    void StreamSync(DLDevice device, TVMStreamHandle) override { check(machine_of(device).queue.finish(), "clFinish"); }

    void CopyDataFromTo(DLTensor* from, DLTensor* to, TVMStreamHandle stream) override {
        const bool reads = image_at(from) != nullptr;
        if (!reads && image_at(to) == nullptr) return DeviceAPI::CopyDataFromTo(from, to, stream);
        DLTensor* const other = reads ? to : from;
        machine& there = machine_of(reads ? from->device : to->device);
        const auto copy = [&]<class Memory>() {
            DLManagedTensor borrowed{*other, nullptr, nullptr};  // a tensor of allot over bytes that stay TVM's
            const auto bytes = allot::from_dlpack<Memory>(allot::dlpack_pointer_unversioned{&borrowed});
            if (!bytes) TVM_FFI_THROW(ValueError) << "allot: no copy of an image: " << bytes.error().what();
            const auto made = reads ? allot::copy_tensor(*image_at(from), *bytes, there.way)
                                    : allot::copy_tensor(*bytes, *image_at(to), there.way);
            if (!made) TVM_FFI_THROW(ValueError) << "allot: no copy of an image: " << made.error().what();
        };
        if (other->device.device_type == kDLCPU) copy.template operator()<allot::host::heap>();
        else copy.template operator()<allot::opencl::buffer>();
    }

protected:
    void CopyDataFromTo(const void* from, std::size_t from_offset, void* to, std::size_t to_offset, std::size_t size,
                        DLDevice source, DLDevice target, DLDataType, TVMStreamHandle) override {
        using host = allot::host::heap;
        using device = allot::opencl::buffer;
        const bool reads = source.device_type == kDLOpenCL, writes = target.device_type == kDLOpenCL;
        if (reads && writes && source.device_id != target.device_id)
            TVM_FFI_THROW(ValueError) << "allot: a copy between two OpenCL devices: copy to the CPU first";
        if (size == 0) return;
        const allot::opencl::queue_copy& way = machine_of(reads ? source : target).way;
        const allot::handle_offset<cl_mem>::address there{static_cast<cl_mem>(const_cast<void*>(from)), from_offset};
        const allot::handle_offset<cl_mem>::address onto{static_cast<cl_mem>(to), to_offset};
        const void* const bytes = static_cast<const std::byte*>(from) + from_offset;
        const allot::copied made = !reads ? way.copy<host, device>(bytes, onto, size)
                                   : !writes
                                       ? way.copy<device, host>(there, static_cast<std::byte*>(to) + to_offset, size)
                                       : way.copy<device, device>(there, onto, size);
        if (!made) check(static_cast<cl_int>(made.error()), "a copy");
        if (*made == allot::copy_path::none)
            TVM_FFI_THROW(ValueError) << "allot: the data of a tensor is no buffer of its OpenCL device";
        check(static_cast<cl_int>(way.finish(*made)), "clFinish");
    }

private:
    static const allot::texture<images>* image_at(const DLTensor* tensor) {
        if (tensor->device.device_type != kDLOpenCL) return nullptr;
        machine& there = machine_of(tensor->device);
        const std::lock_guard lock{mutex};
        const auto found = there.textures.find(tensor->data);
        return found == there.textures.end() ? nullptr : &found->second;
    }
    template <class Scope>
    static void* take_image(machine& there, const allot::shape& shape, DLDataType type) {
        const std::lock_guard lock{mutex};
        const allot::dtype element = allot_tvm::dtype_of(type);
        auto made = allot::alloc_texture<Scope>(there.image_device, shape, element);
        if (!made) {
            const allot::tensor_error error = made.error();
            const bool refused = error.reason == allot::tensor_refusal::no_memory;
            throw ffi::Error{refused ? "MemoryError" : "ValueError",
                             "allot: no image in the scope " + std::string{Scope::name} + ": " + error.what() +
                                 (refused ? "; OpenCL's error is " + std::to_string(error.memory.device_error) : ""),
                             ""};
        }
        void* const data = made->data();
        there.textures.emplace(data, *std::move(made));
        return data;
    }
    template <class Memory>
    static void* take(Memory& memory, std::unordered_map<void*, allot::block_of<Memory>>& into, allot::layout wanted) {
        const std::lock_guard lock{mutex};
        const auto fresh = memory.allocate(wanted);
        if (!fresh) throw ffi::Error{"MemoryError", why_not(wanted.size, wanted.align, memory.diagnose(wanted)), ""};
        into.emplace(fresh.address.handle, fresh);
        return fresh.address.handle;
    }
    template <class Memory>
    static void give_back(Memory& memory, std::unordered_map<void*, allot::block_of<Memory>>& from, void* data) {
        const std::lock_guard lock{mutex};
        memory.deallocate(from.extract(data).mapped());
    }
};

// ── kernels ──────────────────────────────────────────────────────────────────────────────────────────────────────────

std::atomic<bool> contracts{true};  // whether OpenCL may join a multiplication and an addition, as is its default

/// The kernels of a compiled module. OpenCL's compiler runs at the first launch on a device.
class kernels final : public ffi::ModuleObj {
public:
    kernels(ffi::String source, ffi::Map<ffi::String, FunctionInfo> functions)
        : source_{std::move(source)}, functions_{std::move(functions)} {}

    [[nodiscard]] const char* kind() const override { return "opencl"; }
    [[nodiscard]] int GetPropertyMask() const override {
        return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
    }
    [[nodiscard]] ffi::String InspectSource(const ffi::String&) const override { return source_; }

    ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) override {
        const auto found = functions_.find(name);
        if (found == functions_.end()) return std::nullopt;
        const FunctionInfo info = (*found).second;
        tvm::runtime::LaunchParamConfig sizes;
        sizes.Init(info->arg_types.size(), info->launch_param_tags);
        const auto launch = [this, self = ffi::GetRef<ffi::Module>(this), info, sizes](ffi::PackedArgs arguments,
                                                                                       ffi::Any*, void** addresses) {
            this->launch(info, sizes, sizes.Extract(arguments), addresses);
        };
        return tvm::runtime::PackFuncVoidAddr(launch, info->arg_types, info->arg_extra_tags);
    }

    [[nodiscard]] ffi::Bytes SaveToBytes() const override {
        ffi::json::Array functions;
        for (const auto& [name, info] : functions_) functions.push_back(info->SaveToJSON());
        ffi::json::Object all;
        all.Set("source", source_);
        all.Set("functions", functions);
        return ffi::Bytes(std::string{ffi::json::Stringify(all)});
    }
    static ffi::Module load(const ffi::Bytes& bytes) {
        const auto all = ffi::json::Parse(ffi::String(std::string{bytes})).cast<ffi::json::Object>();
        ffi::Map<ffi::String, FunctionInfo> functions;
        for (const auto& each : all.at("functions").cast<ffi::json::Array>()) {
            auto info = ffi::make_object<tvm::runtime::FunctionInfoObj>();
            info->LoadFromJSON(each.cast<ffi::json::Object>());
            const ffi::String name = info->name;
            functions.Set(name, FunctionInfo{std::move(info)});
        }
        return ffi::Module{ffi::make_object<kernels>(all.at("source").cast<ffi::String>(), std::move(functions))};
    }

private:
    void launch(const FunctionInfo& info, const tvm::runtime::LaunchParamConfig& sizes,
                const tvm::runtime::ThreadWorkLoad& load, void** addresses) {
        machine& there = machine_of(current);
        const std::lock_guard lock{mutex};
        cl::Kernel& kernel = kernel_of(there, info->name);
        for (std::size_t i = 0; i != info->arg_types.size(); ++i) {
            const DLDataType type = info->arg_types[i];
            const std::size_t size = type.code == kDLOpaqueHandle ? sizeof(cl_mem) : type.bits / 8u;
            check(::clSetKernelArg(kernel(), static_cast<cl_uint>(i), size, addresses[i]), "clSetKernelArg");
        }
        std::size_t global[3], local[3];
        for (std::size_t axis = 0; axis != 3; ++axis) {
            local[axis] = load.block_dim(axis);
            global[axis] = load.grid_dim(axis) * local[axis];
        }
        check(::clEnqueueNDRangeKernel(there.queue(), kernel(), static_cast<cl_uint>(sizes.work_dim()), nullptr, global,
                                       local, 0, nullptr, nullptr),
              "clEnqueueNDRangeKernel");
    }

    cl::Kernel& kernel_of(const machine& there, const std::string& name) {
        auto& [program, made] = built_[&there];
        if (program() == nullptr) {
            cl::Program fresh{there.context,
                              (contracts ? "" : "#pragma OPENCL FP_CONTRACT OFF\n") + std::string{source_}};
            if (fresh.build({there.device}) != CL_SUCCESS)
                TVM_FFI_THROW(RuntimeError) << "allot: OpenCL does not compile the kernels: "
                                            << fresh.getBuildInfo<CL_PROGRAM_BUILD_LOG>(there.device);
            program = fresh;
        }
        cl::Kernel& kernel = made[name];
        if (kernel() == nullptr) {
            cl_int status = CL_SUCCESS;
            kernel = cl::Kernel{program, name.c_str(), &status};
            check(status, "clCreateKernel");
        }
        return kernel;
    }

    struct built {
        cl::Program program;
        std::map<std::string, cl::Kernel> kernels;
    };

    ffi::String source_;
    ffi::Map<ffi::String, FunctionInfo> functions_;
    std::map<const machine*, built> built_;
};

/// Replaces the arena of a device by one region of `size` bytes, or by an arena that grows if `size` is 0.
void use_arena(DLDevice on, std::int64_t size) {
    if (size < 0) TVM_FFI_THROW(ValueError) << "allot: the arena has " << size << " bytes, which is negative";
    machine& there = machine_of(on);
    const std::lock_guard lock{mutex};
    if (there.storages != 0)
        TVM_FFI_THROW(ValueError) << "allot: the arena has " << there.storages
                                  << " storages in use: free them before you replace it";
    buffers from{{there.context, there.device}, there.arena_counts};
    if (size == 0) there.memory.emplace<growing>(std::move(from));
    else there.memory.emplace<one_region>(std::move(from), static_cast<std::size_t>(size));
}

/// Returns the calls of clCreateBuffer or clCreateImage, the bytes held, and the most bytes held since the last call,
/// of each memory.
ffi::Shape counts(DLDevice of) {
    machine& there = machine_of(of);
    const std::lock_guard lock{mutex};
    const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
    std::vector<std::int64_t> all;
    for (demo::tally* each : {&there.alone_counts, &there.workspace_counts, &there.arena_counts, &there.image_counts}) {
        all.insert(all.end(), {number(each->acquisitions), number(each->held), number(each->most)});
        each->most = each->held;
    }
    return ffi::Shape{all};
}

TVM_FFI_STATIC_INIT_BLOCK() {
    tvm::ffi::reflection::ObjectDef<storage_object>();
    tvm::ffi::reflection::GlobalDef()
        .def("device_api.opencl",
             []() -> void* {
                 static device_api& api = *new device_api;
                 return static_cast<tvm::runtime::DeviceAPI*>(&api);
             })
        .def("ffi.Module.create.opencl",
             [](const ffi::Bytes& source, const ffi::String&, const ffi::Map<ffi::String, FunctionInfo>& functions,
                const ffi::Map<ffi::String, ffi::String>&) {
                 return ffi::Module{ffi::make_object<kernels>(ffi::String(std::string{source}), functions)};
             })
        .def("ffi.Module.load_from_bytes.opencl", kernels::load)
        .def("allot.opencl.alloc_storage", alloc_storage_for_vm)
        .def("allot.opencl.storage", alloc_storage)
        .def("allot.opencl.alloc_tensor", alloc_tensor)
        .def("allot.opencl.alignment",
             [](DLDevice of) {
                 return static_cast<std::int64_t>(allot::opencl::buffer{{}, machine_of(of).device}.base_align());
             })
        .def("allot.opencl.use_arena", use_arena)
        .def("allot.opencl.copy_tensor",
             [](const Tensor& from, Tensor to) {
                 allot_tvm::require(from, "allot.opencl.copy_tensor", "the source");
                 allot_tvm::require(to, "allot.opencl.copy_tensor", "the target");
                 to.CopyFrom(from);
             })
        .def("allot.opencl.contract", [](bool allowed) { contracts = allowed; })
        .def("allot.opencl.counts", counts);
}

}  // namespace
