// A library that provides storage from allot to TVM's Relax VM, and counts calls and bytes. Loading it with ctypes.CDLL
// in Python activates it.
//
// Before MemoryManager creates an allocator for a device, it calls the global function "DeviceAllocator." + name. A
// null result selects TVM's own allocator. The name is "opencl" or "vulkan" for these devices and empty for every
// other, so the function for the CPU is "DeviceAllocator.", which no other code registers.
#include "../../examples/apps/network_demo/counting.hpp"
#include "adapter.hpp"
#include "interface.hpp"

#include <allot/allot.hpp>

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <memory/pooled_allocator.h>  // TVM's pool; its source is in the wheel

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace {

using namespace allot::literals;
using allot_tvm::AllocatorType;
using allot_tvm::Buffer;
using tvm::runtime::memory::Allocator;
using tvm::runtime::memory::MemoryManager;

/// The requests to one allocator, and its requests to the device.
struct counts {
    demo::tally device, vm;
};

/// Counts the requests of the VM to any allocator. Here, the VM uses one thread.
template <class Base>
class counted final : public Base {
public:
    template <class... Arguments>
    explicit counted(counts& into, Arguments&&... arguments)
        : Base{std::forward<Arguments>(arguments)...}, vm_{&into.vm} {}

    using Base::Alloc;
    Buffer Alloc(DLDevice device, std::size_t size, std::size_t align, DLDataType type) override {
        const Buffer fresh = Base::Alloc(device, size, align, type);
        ++vm_->acquisitions;
        vm_->held += fresh.size;
        vm_->most = std::max(vm_->most, vm_->held);
        return fresh;
    }
    void Free(const Buffer& buffer) override {
        vm_->held -= buffer.size;
        Base::Free(buffer);
    }

private:
    demo::tally* vm_;
};

/// TVM's pool, unchanged, with a count of its calls to the device. It releases memory only as a whole.
class pool : public tvm::runtime::memory::PooledAllocator {
public:
    explicit pool(demo::tally& device) : device_{&device} {}

protected:
    void* DeviceAllocDataSpace(DLDevice device, std::size_t size, std::size_t align, DLDataType type) override {
        void* const fresh = PooledAllocator::DeviceAllocDataSpace(device, size, align, type);
        ++device_->acquisitions;
        device_->held += size;
        device_->most = std::max(device_->most, device_->held);
        return fresh;
    }
    void ReleaseAll() override {
        PooledAllocator::ReleaseAll();
        device_->held = used_memory_;
    }

private:
    demo::tally* device_;
};

/// A heap in which blocks of more than a page overlap. The comparison of results must detect that. Small blocks do not
/// overlap, because the VM keeps shapes in them and would abort with wrong shapes.
class overlapping : public allot::traits_of<allot::host::heap> {
public:
    using error = allot::host::heap::error;
    [[nodiscard]] allot::acquired<overlapping> acquire(allot::layout wanted) noexcept {
        if (wanted.size <= 4_KiB) return heap_.acquire(wanted);
        if (!place_) {
            const auto answer = heap_.acquire({64_MiB, 64});
            if (!answer) return answer;
            place_ = *answer;
        }
        next_ = (next_ + 64) % 1_MiB;  // so that no two blocks have the same address
        if (wanted.size > place_.size - next_) return allot::acquired<overlapping>::failure(error::no_memory);
        return allot::region<void*>{static_cast<std::byte*>(place_.base) + next_, wanted.size, 64};
    }
    void release(allot::region<void*> held) noexcept {
        if (held.size <= 4_KiB) heap_.release(held);
    }

private:
    allot::host::heap heap_;
    allot::region<void*> place_;  // never released: MemoryManager lives as long as the process
    std::size_t next_ = 0;
};

using heap = demo::counting<allot::host::heap>;
template <class Growth>
using arena = allot_tvm::adapter<allot::arena<heap, allot::best_fit<>, Growth>>;

struct choice {
    std::string name;
    std::size_t capacity = 0;
};
// The allocators by device number. The CPU accepts any number, and MemoryManager keeps an allocator for each.
std::map<int, choice> chosen;
std::map<int, counts> counted_by;

Allocator* make(DLDevice device, AllocatorType type) {
    const auto found = chosen.find(device.device_id);
    if (device.device_type != kDLCPU || found == chosen.end()) return nullptr;  // TVM creates its own allocator
    const auto& [name, capacity] = found->second;
    counts& into = counted_by[device.device_id];
    const heap memory{{}, into.device};
    if (name == "pool") return new counted<pool>{into, into.device};
    if (name == "geometric") return new counted<arena<allot::growth::geometric<>>>{into, type, memory};
    if (name == "fixed") return new counted<arena<allot::growth::fixed<>>>{into, type, memory};
    if (name == "one region") return new counted<arena<allot::growth::none<>>>{into, type, memory, capacity};
    if (name == "overlapping") return new counted<allot_tvm::adapter<allot::naive<overlapping>>>{into, type};
    TVM_FFI_THROW(ValueError) << "there is no allocator called " << name;
}

TVM_FFI_STATIC_INIT_BLOCK() {
    tvm::ffi::reflection::GlobalDef()
        .def("DeviceAllocator.",
             [](DLDevice device, int type) -> void* { return make(device, static_cast<AllocatorType>(type)); })
        .def("allot.use",
             [](DLDevice device, std::string name, std::int64_t capacity) {
                 chosen[device.device_id] = {std::move(name), static_cast<std::size_t>(capacity)};
             })
        .def("allot.counts",
             [](DLDevice device) {
                 const auto& [from, vm] = counted_by[device.device_id];
                 const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
                 return tvm::ffi::Shape{number(from.acquisitions), number(from.most), number(from.held),
                                        number(vm.acquisitions), number(vm.most)};
             })
        .def("allot.used", [](DLDevice device) {  // TVM's own count, which Python cannot access directly
            const Allocator* const used = MemoryManager::GetAllocator(device, tvm::runtime::memory::kPooled);
            return static_cast<std::int64_t>(used->UsedMemory());
        });
}

}  // namespace
