// Storages and tensors of allot for TVM's Relax virtual machine, by functions with names of their own: nothing of TVM
// is replaced, and a program that runs without this library fails with the name of the missing function.
//
//     allot.alloc_storage(vm, shape, device index, dtype, scope)         R.call_builtin_with_ctx
//     allot.alloc_storage_on(device, shape, dtype, scope)                from Python, without a virtual machine
//     allot.alloc_tensor(storage, offset, shape, dtype)                  R.call_packed
//     allot.alloc_discontiguous_tensor(table storage, table offset, data storage, offsets of the rows, shape, dtype)
//     allot.copy_tensor(from, to)                                        allot.copy_counts() → (calls, bytes)
//
//     tensor of TVM ──► tensor of allot ──► lease ──► storage of allot ──► memory of the scope
//          └─ data: the first element; byte_offset: 0, because kernels require it
//
// R.vm.kill_object drops a register. The bytes of a tensor are free when the last register and view has dropped them,
// and only then another tensor can have them. A storage lives as long as its last tensor.
//
// A discontiguous tensor is TVM's tensor of its pointer table: shape (rows,), dtype uint64. TVM has no type for rows,
// and checks this type, so a kernel for contiguous tensors does not accept it by mistake.
#include "adapter.hpp"
#include "memories.hpp"
#include "objects.hpp"

#include <allot/host/heap.hpp>
#include <allot/tensor.hpp>
#include <allot/tensor/dlpack.hpp>

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/vm/vm.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace {

namespace ffi = tvm::ffi;
using allot_tvm::dtype_of;
using allot_tvm::memory;
using allot_tvm::reference_to_memory;
using allot_tvm::shape_of;
using allot_tvm::text_of;
using tvm::runtime::Tensor;
using tvm::runtime::vm::VirtualMachine;

// TVM drops tensors in any thread.
using policies = allot::storage_policies<allot::best_fit<>, allot::references::atomic>;
using pointers = reference_to_memory<allot::offset_use::arithmetic>;
using separates = reference_to_memory<allot::offset_use::none>;

/// An allocator of nothing: a storage of images is a budget of bytes, and each tensor is an image of its own.
class budget : public separates {
public:
    using block_type = allot::block<void*, allot::no_metadata<budget>>;
    using separates::separates;
    [[nodiscard]] block_type allocate(allot::layout wanted) noexcept { return {this, wanted.size}; }
    void deallocate(block_type) noexcept {}
    std::size_t trim() noexcept { return 0; }
};

template <class Allocator>
using storage_of = allot::storage<Allocator, policies>;
template <class Allocator>
using tensor_of = allot::tensor_in<storage_of<Allocator>>;
using rows = allot::discontiguous_tensor<storage_of<pointers>, storage_of<pointers>>;

/// The object that a register of the virtual machine holds for a storage.
struct storage_object : ffi::Object {
    storage_object(memory& from, DLDevice device, std::string scope)
        : from{&from},
          device{device},
          scope{allot_tvm::shortened(scope)},
          with_pointers{from},
          with_buffers{from},
          with_images{from} {}

    /// Allocates the bytes.
    [[nodiscard]] allot::tensor_error allocate(std::size_t size) {
        if (from->has_images()) return allocate_from(with_images, size);
        return from->offsets() == allot::offset_use::none ? allocate_from(with_buffers, size)
                                                          : allocate_from(with_pointers, size);
    }
    [[nodiscard]] std::size_t size() const noexcept {
        return std::visit([](const auto& each) { return each.size(); }, bytes);
    }

    memory* from;
    DLDevice device;
    std::string scope;
    pointers with_pointers;  // the storage uses one of these until it ends
    separates with_buffers;
    budget with_images;
    std::variant<storage_of<pointers>, storage_of<separates>, storage_of<budget>> bytes;

    static constexpr bool _type_mutable = true;
    TVM_FFI_DECLARE_OBJECT_INFO_FINAL("allot.Storage", storage_object, ffi::Object);

private:
    template <class Allocator>
    [[nodiscard]] allot::tensor_error allocate_from(Allocator& allocator, std::size_t size) {
        auto fresh = allot::alloc_storage<policies>(allocator, allot::layout{size, allot_tvm::tensor_align});
        if (!fresh) return fresh.error();
        bytes = *std::move(fresh);
        return {};
    }
};

/// A reference to a storage.
class storage_ref : public ffi::ObjectRef {
public:
    TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(storage_ref, ffi::ObjectRef, storage_object);
};

// ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Returns what to do about a refusal, as a sentence.
std::string remedy_for(allot::tensor_refusal reason) {
    using enum allot::tensor_refusal;
    switch (reason) {
        case misaligned:
            return "Choose a multiple of " + std::to_string(allot_tvm::tensor_align) +
                   ", because compiled kernels assume this alignment and do not check it.";
        case negative_offset: return "Choose an offset of 0 or more.";
        case out_of_bounds: return "Choose a smaller offset, or allocate a larger storage.";
        case overlapping: return "Kill the tensor that has these bytes first, or choose another offset.";
        case wrong_row_count: return "Give one offset for each row of the physical shape.";
        case partial_bytes:
        case bad_dtype: return "Choose a dtype whose elements are whole bytes.";
        case bad_texture: return "Add axes, or split the last axis into groups of four.";
        case bad_shape: return "Choose a shape with at most eight axes, none of them negative; rows need at least two.";
        case too_large: return "Choose a smaller shape.";
        case dtype_mismatch: return "Give both tensors the same dtype.";
        case shape_mismatch: return "Give both tensors the same number of elements.";
        case killed: return "Allocate it before its first use, and kill it after its last.";
        case no_memory: return allot_tvm::remedy_when_full;
        case no_host_memory: return "Free memory of the process.";
        case no_offsets: return "Choose a scope whose tensors have pointers, such as global or global.vtcm.";
        case read_only: return "Choose another target.";
        case wrong_device: return "Use storages and tensors of the CPU.";
        default: return "Make a compact copy of the tensor first.";  // strides and alignment of a tensor of others
    }
}

/// Throws a ValueError or a MemoryError: the request, the reason, the remedy.
[[noreturn]] void refuse(const allot::tensor_error& why, const std::string& asked, const std::string& remedy) {
    std::string text = asked + " is refused: " + why.what() + allot_tvm::details_of(why.memory);
    if (why.row != allot::no_row) text += "; the row is " + std::to_string(why.row);
    allot_tvm::refuse(why, text + ". " + remedy);
}
[[noreturn]] void refuse(const allot::tensor_error& why, const std::string& asked) {
    refuse(why, asked, remedy_for(why.reason));
}

std::string name_of(DLDataType type) { return std::string{ffi::DLDataTypeToString(type)}; }

std::string text_of_tensor(const allot::shape& of, DLDataType type) {
    return "a tensor of shape " + text_of(of) + " and " + name_of(type);
}

std::string text_of_storage(const storage_object& in) {
    return "a storage of " + std::to_string(in.size()) + " bytes in " + in.scope;
}

/// Returns the storage in a register. Throws a ValueError for anything else.
storage_ref storage_in(const ffi::AnyView& given, const std::string& function) {
    allot_tvm::require(given != nullptr, function, "the storage");
    if (auto found = given.as<storage_ref>()) return *std::move(found);
    throw ffi::Error{"ValueError",
                     function + " is refused: it needs a storage from allot.alloc_storage and is given " +
                         given.GetTypeKey() + ". Allocate the storage with allot_tvm.alloc_storage.",
                     ""};
}

// ── storages ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/// The memory of an allocator of TVM for a device without scopes of allot, such as OpenCL's or CUDA's. Where an address
/// of the device is no pointer, each tensor of a storage is a buffer of its own.
class memory_of_tvm final : public memory {
public:
    memory_of_tvm(tvm::runtime::Allocator& from, DLDevice device) : from_{&from}, device_{device} {}

    using memory::allocate;
    [[nodiscard]] void* allocate(allot::layout wanted) noexcept override {
        try {
            const std::lock_guard lock{mutex_};
            const allot_tvm::Buffer fresh = from_->Alloc(device_, wanted.size, wanted.align, DLDataType{kDLUInt, 8, 1});
            live_.emplace(fresh.data, fresh);
            served_.add(wanted.size);
            return fresh.data;
        } catch (...) {
            return nullptr;  // `diagnose` states that the device refused
        }
    }
    void deallocate(void* address, std::size_t size) noexcept override {
        const std::lock_guard lock{mutex_};
        from_->Free(live_.extract(address).mapped());
        served_.live -= size;
    }
    [[nodiscard]] allot::diagnosis diagnose(allot::layout) noexcept override {
        return {allot::refusal::device_refused};
    }
    [[nodiscard]] allot_tvm::served served() const noexcept override {
        const std::lock_guard lock{mutex_};
        return served_;
    }
    [[nodiscard]] allot::offset_use offsets() const noexcept override {
        return ffi::IsDirectAddressDevice(device_) ? allot::offset_use::arithmetic : allot::offset_use::none;
    }

private:
    mutable std::mutex mutex_;
    tvm::runtime::Allocator* from_;
    DLDevice device_;
    std::map<void*, allot_tvm::Buffer> live_;
    allot_tvm::served served_;
};

/// Returns the memory of an allocator of TVM. As the allocators, it is never destroyed.
memory& memory_behind(tvm::runtime::Allocator& from, DLDevice device) {
    static auto* const all = new std::map<tvm::runtime::Allocator*, memory_of_tvm>;
    static std::mutex mutex;
    const std::lock_guard lock{mutex};
    return all->try_emplace(&from, from, device).first->second;
}

storage_ref make_storage(memory& from, DLDevice device, const ffi::Shape& of, DLDataType type,
                         const std::string& scope) {
    const allot::shape shape = shape_of(of);
    const std::string asked = "allot.alloc_storage: a storage of shape " + text_of(shape) + " and " + name_of(type) +
                              " in " + allot_tvm::shortened(scope);
    const auto size = allot::byte_count(shape, dtype_of(type));
    if (!size) refuse(size.error(), asked);
    auto fresh = ffi::make_object<storage_object>(from, device, scope);
    if (const auto why = fresh->allocate(*size); why.reason != allot::tensor_refusal::none) refuse(why, asked);
    return storage_ref{std::move(fresh)};
}

storage_ref alloc_storage_on(DLDevice device, const ffi::Shape& of, DLDataType type, const std::string& scope) {
    const std::string name = scope.empty() ? "global" : scope;
    return make_storage(allot_tvm::memory_in(device, name), device, of, type, name);
}

/// Returns the index of a device of the virtual machine; -1 is the host, which is the last device.
std::size_t index_in(const VirtualMachine& vm, std::int64_t index) {
    const auto count = static_cast<std::int64_t>(vm.devices.size());
    if (index < -1 || index >= count)
        throw ffi::Error{"ValueError",
                         "allot.alloc_storage is refused: device " + std::to_string(index) +
                             " does not exist. Choose one below " + std::to_string(count) + ", or -1 for the host.",
                         ""};
    return static_cast<std::size_t>(index == -1 ? count - 1 : index);
}

storage_ref alloc_storage(void* given, ffi::Shape of, std::int64_t index, DLDataType type, ffi::String scope) {
    if (given == nullptr)
        throw ffi::Error{"ValueError",
                         "allot.alloc_storage is refused: it needs a virtual machine and is given None. Call it by "
                         "R.call_builtin_with_ctx, or call allot.alloc_storage_on.",
                         ""};
    const auto& vm = *static_cast<VirtualMachine*>(given);
    const std::size_t at = index_in(vm, index);
    const DLDevice device = vm.devices[at];
    if (device.device_type == kDLCPU || !allot_tvm::is_global(std::string{scope}))
        return alloc_storage_on(device, of, type, scope);
    return make_storage(memory_behind(*vm.allocators[at], device), device, of, type, "global");
}

// ── tensors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// The allocator of TVM's tensors. It holds the storage, and the tensor of allot in it.
template <class Held>
struct placed {
    storage_ref storage;
    Held held;

    void AllocData(DLTensor* tensor, void* data) const noexcept { tensor->data = data; }
    void FreeData(DLTensor*) const noexcept {}
};

/// An image, and the bytes of the budget that it takes.
struct own_image {
    tensor_of<budget> taken;
    std::shared_ptr<void> image;
};

Tensor alloc_image(const storage_ref& in, const tensor_of<budget>& taken, ffi::Shape of, DLDataType type,
                   const std::string& asked) {
    memory& from = *in->from;
    const auto fresh = from.allocate(shape_of(of), dtype_of(type));
    if (!fresh) refuse(fresh.error(), asked);
    std::shared_ptr<void> image{fresh->base, [&from, size = fresh->size](void* gone) { from.deallocate(gone, size); }};
    return Tensor::FromNDAlloc(placed<own_image>{in, {taken, std::move(image)}}, of, type, in->device, fresh->base);
}

Tensor alloc_tensor(ffi::AnyView given, std::int64_t offset, ffi::Shape of, DLDataType type) {
    const auto in = storage_in(given, "allot.alloc_tensor");
    const allot::shape shape = shape_of(of);
    const std::string asked = "allot.alloc_tensor: " + text_of_tensor(shape, type) + " at offset " +
                              std::to_string(offset) + " of " + text_of_storage(*in.get());
    if (!dtype_of(type).is_whole_bytes()) refuse({allot::tensor_refusal::partial_bytes}, asked);
    return std::visit(
        [&]<class Allocator>(const storage_of<Allocator>& bytes) -> Tensor {
            auto fresh = allot::alloc_tensor(bytes, offset, shape, dtype_of(type), allot_tvm::tensor_align);
            if (!fresh) refuse(fresh.error(), asked);
            if constexpr (std::same_as<Allocator, budget>) {
                return alloc_image(in, *fresh, of, type, asked);
            } else {
                void* const data = fresh->data();
                return Tensor::FromNDAlloc(placed<tensor_of<Allocator>>{in, *std::move(fresh)}, of, type, in->device,
                                           data);
            }
        },
        in->bytes);
}

// ── discontiguous tensors ────────────────────────────────────────────────────────────────────────────────────────────

/// The live discontiguous tensors by the address of their table, which no other tensor has. TVM's tensor of a table
/// does not state the rows, so copies look them up here.
class live_rows {
public:
    static live_rows& all() {
        static auto* const only = new live_rows;  // never destroyed, because TVM may drop tensors after main
        return *only;
    }
    void add(const void* table, const rows& of) {
        const std::lock_guard lock{mutex_};
        by_table_.emplace(table, of);
    }
    void remove(const void* table) {
        rows gone;  // dropped after the lock, because that may free a storage
        const std::lock_guard lock{mutex_};
        const auto found = by_table_.find(table);
        if (found == by_table_.end()) return;
        gone = std::move(found->second);
        by_table_.erase(found);
    }
    [[nodiscard]] std::optional<rows> find(const void* table) {
        const std::lock_guard lock{mutex_};
        const auto found = by_table_.find(table);
        return found == by_table_.end() ? std::nullopt : std::optional{found->second};
    }

private:
    std::mutex mutex_;
    std::map<const void*, rows> by_table_;
};

/// The allocator of TVM's tensor of a table. It holds both storages; the live rows hold the tensor of allot.
struct placed_rows {
    storage_ref table, data;

    void AllocData(DLTensor* tensor, const rows& of) const {
        tensor->data = const_cast<void**>(of.table().entries);
        if (of.rows() != 0) live_rows::all().add(tensor->data, of);
    }
    void FreeData(DLTensor* tensor) const noexcept { live_rows::all().remove(tensor->data); }
};

Tensor alloc_discontiguous_tensor(ffi::AnyView given_table, std::int64_t table_offset, ffi::AnyView given_data,
                                  ffi::Shape offsets, ffi::Shape of, DLDataType type) {
    const auto table = storage_in(given_table, "allot.alloc_discontiguous_tensor");
    const auto data = storage_in(given_data, "allot.alloc_discontiguous_tensor");
    const allot::shape shape = shape_of(of);
    const std::string asked = "allot.alloc_discontiguous_tensor: " + text_of_tensor(shape, type) +
                              " with its table at offset " + std::to_string(table_offset) + " of " +
                              text_of_storage(*table.get()) + " and " + std::to_string(offsets.size()) + " rows in " +
                              text_of_storage(*data.get());
    const auto* const in_table = std::get_if<storage_of<pointers>>(&table->bytes);
    const auto* const in_data = std::get_if<storage_of<pointers>>(&data->bytes);
    if (in_table == nullptr || in_data == nullptr) refuse({allot::tensor_refusal::no_offsets}, asked);
    for (const storage_ref& each : {table, data}) {  // the host writes the table, and copies rows
        if (each->device.device_type != kDLCPU) refuse({allot::tensor_refusal::wrong_device}, asked);
    }
    const allot::row_offsets at{offsets.data(), offsets.size()};
    const auto fresh = allot::alloc_discontiguous_tensor(*in_table, table_offset, *in_data, at, shape, dtype_of(type));
    if (!fresh) {
        const allot::tensor_error why = fresh.error();
        if (why.reason == allot::tensor_refusal::misaligned && why.row == allot::no_row)
            refuse(why, asked, "Choose a multiple of 8 for the table, the size of a pointer.");
        refuse(why, asked);
    }
    const ffi::Shape entries({static_cast<std::int64_t>(fresh->rows())});
    return Tensor::FromNDAlloc(placed_rows{table, data}, entries, DLDataType{kDLUInt, 64, 1}, table->device, *fresh);
}

// ── copies ───────────────────────────────────────────────────────────────────────────────────────────────────────────

std::atomic<std::int64_t> copied_calls = 0, copied_bytes = 0;

using adopted = allot::adopted_tensor<allot::host::heap, policies>;

/// Calls `use` with the tensor of allot for a tensor of TVM: the rows of a table, or contiguous elements.
template <class Use>
auto with_tensor(const Tensor& of, const std::string& asked, Use&& use) {
    const bool may_be_table = of->ndim == 1 && of->dtype.code == kDLUInt && of->dtype.bits == 64;
    if (const auto found = may_be_table ? live_rows::all().find(of->data) : std::nullopt) return use(*found);
    const auto contiguous = allot::from_dlpack<allot::host::heap, policies>(
        allot::dlpack_pointer{const_cast<Tensor&>(of).ToDLPackVersioned()});
    if (!contiguous) refuse(contiguous.error(), asked);
    return use(*contiguous);
}

void count_copy(std::size_t size) {
    ++copied_calls;
    copied_bytes += static_cast<std::int64_t>(size);
}

/// Copies contiguous tensors with another device than the CPU by TVM's copy of that device.
void copy_by_device(const Tensor& from, Tensor& to, const std::string& asked) {
    const auto size = allot::byte_count(shape_of(from.shape()), dtype_of(from->dtype));
    if (dtype_of(from->dtype) != dtype_of(to->dtype)) refuse({allot::tensor_refusal::dtype_mismatch}, asked);
    if (shape_of(from.shape()) != shape_of(to.shape())) refuse({allot::tensor_refusal::shape_mismatch}, asked);
    to.CopyFrom(from);
    count_copy(*size);
}

void copy_tensor(Tensor from, Tensor to) {
    allot_tvm::require(from, "allot.copy_tensor", "the source");
    allot_tvm::require(to, "allot.copy_tensor", "the target");
    const auto text = [](const Tensor& each) { return text_of_tensor(shape_of(each.shape()), each->dtype); };
    const std::string asked = "allot.copy_tensor: a copy of " + text(from) + " to " + text(to);
    if (from->device.device_type != kDLCPU || to->device.device_type != kDLCPU) return copy_by_device(from, to, asked);
    with_tensor(from, asked, [&](const auto& source) {
        with_tensor(to, asked, [&](const auto& target) {
            const auto done = allot::copy_tensor(source, target);
            if (!done) {
                if (done.error().reason == allot::tensor_refusal::overlapping)
                    refuse(done.error(), asked, "Copy between tensors that share no bytes.");
                refuse(done.error(), asked);
            }
            count_copy(source.size_bytes());
        });
    });
}

// ── TVM's own names, as an option ────────────────────────────────────────────────────────────────────────────────────

/// Copies a tensor to a device and a scope: a tensor of allot in a storage of its own.
Tensor copy_to_scope(const Tensor& from, DLDevice device, const std::string& scope) {
    allot_tvm::require(from, "vm.builtin.to_device", "the tensor");
    const auto whole = alloc_storage_on(device, ffi::Shape(from.shape()), from->dtype, scope);
    Tensor fresh = alloc_tensor(whole, 0, ffi::Shape(from.shape()), from->dtype);
    copy_tensor(from, fresh);
    return fresh;
}

/// Replaces the functions of TVM's virtual machine, for programs with R.vm.alloc_storage, R.vm.alloc_tensor and
/// R.to_vdevice. Devices other than the CPU, and tensors in storages of TVM, keep TVM's functions.
void replace_builtins() {
    const auto replace = [](const char* name, auto make) {
        ffi::Function::SetGlobal(name, make(ffi::Function::GetGlobalRequired(name)), true);
    };
    replace("vm.builtin.alloc_storage", [](const ffi::Function& before) {
        return ffi::Function::FromTyped(
            [before](void* vm, ffi::Shape of, std::int64_t index, DLDataType type, ffi::String scope) -> ffi::Any {
                const auto& machine = *static_cast<VirtualMachine*>(vm);
                if (machine.devices[index_in(machine, index)].device_type == kDLCPU)
                    return alloc_storage(vm, of, index, type, scope);
                return before(vm, of, index, type, scope);
            });
    });
    replace("vm.builtin.alloc_tensor", [](const ffi::Function& before) {
        return ffi::Function::FromPacked([before](ffi::PackedArgs given, ffi::Any* result) {
            if (given[0].as<storage_ref>()) {
                *result = alloc_tensor(given[0], given[1].cast<std::int64_t>(), given[2].cast<ffi::Shape>(),
                                       given[3].cast<DLDataType>());
            } else {
                before.CallPacked(given, result);
            }
        });
    });
    replace("vm.builtin.to_device", [](const ffi::Function& before) {
        return ffi::Function::FromPacked([before](ffi::PackedArgs given, ffi::Any* result) {
            const DLDevice device{static_cast<DLDeviceType>(given[1].cast<int>()), given[2].cast<int>()};
            const ffi::String scope = given.size() == 4 ? given[3].cast<ffi::String>() : ffi::String{"global"};
            if (device.device_type == kDLCPU && !allot_tvm::is_global(std::string{scope})) {
                *result = copy_to_scope(given[0].cast<Tensor>(), device, scope);
            } else {
                before.CallPacked(given, result);
            }
        });
    });
    ffi::Function::SetGlobal("vm.builtin.copy_tensor", ffi::Function::FromTyped(copy_tensor), true);
}

TVM_FFI_STATIC_INIT_BLOCK() {
    tvm::ffi::reflection::GlobalDef()
        .def("allot.alloc_storage", alloc_storage)
        .def("allot.alloc_storage_on", alloc_storage_on)
        .def("allot.alloc_tensor", alloc_tensor)
        .def("allot.alloc_discontiguous_tensor", alloc_discontiguous_tensor)
        .def("allot.copy_tensor", copy_tensor)
        .def("allot.replace_builtins", replace_builtins)
        .def("allot.copy_counts", [] { return ffi::Shape{copied_calls.load(), copied_bytes.load()}; })
        .def("allot.reset_copy_counts", [] { copied_calls = copied_bytes = 0; });
}

}  // namespace
