// The memories of every device by scope, and the allocators that TVM's virtual machine gets over them. Loading the
// library with ctypes.CDLL registers them; allot_tvm.load() does so.
//
// Before MemoryManager creates an allocator for a device, it calls the global function "DeviceAllocator." + name. A
// null result selects TVM's own allocator. The name is "opencl" or "vulkan" for these devices and empty for every
// other, so the function for the CPU is "DeviceAllocator.", which no other code registers.
//
//     allot.use for the device        global                    other scopes
//     never                           TVM's pool                memories of allot
//     once or more                    an arena, or the choice   memories of allot
#include "adapter.hpp"
#include "images.hpp"
#include "interface.hpp"
#include "memories.hpp"

#include <allot/allot.hpp>
#include <allot/hexagon/vtcm.hpp>

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <memory/pooled_allocator.h>  // TVM's pool; its source is in the wheel

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace {

using namespace allot::literals;
using allot_tvm::AllocatorType;
using allot_tvm::Buffer;
using allot_tvm::is_global;
using allot_tvm::memory;
using allot_tvm::shortened;
using tvm::runtime::memory::Allocator;
using tvm::runtime::memory::MemoryManager;

/// TVM's pool, unchanged, for `global`. The other scopes are those of allot.
class pool : public tvm::runtime::memory::PooledAllocator {
public:
    pool() { elsewhere_.serve(allot_tvm::memory_in); }

    using PooledAllocator::Alloc;
    Buffer Alloc(DLDevice device, tvm::ffi::Shape of, DLDataType type, const std::string& scope) override {
        if (is_global(scope)) return PooledAllocator::Alloc(device, of, type, scope);
        return elsewhere_.allocate(device, of, type, scope, this->type());
    }
    void* CreateView(const Buffer& buffer, tvm::ffi::Shape of, DLDataType type, const std::string& scope) override {
        const memory* const found = elsewhere_.find(buffer);
        return found != nullptr ? allot_tvm::view_of(buffer, *found, of, type, scope)
                                : PooledAllocator::CreateView(buffer, of, type, scope);
    }
    void Free(const Buffer& buffer) override {
        if (!elsewhere_.deallocate(buffer)) free_in_global(buffer);
    }
    void Clear() override {
        PooledAllocator::Clear();
        elsewhere_.trim();
    }
    std::size_t UsedMemory() const override { return PooledAllocator::UsedMemory() + elsewhere_.used(); }

protected:
    virtual void free_in_global(const Buffer& buffer) { PooledAllocator::Free(buffer); }

private:
    allot_tvm::scoped_buffers elsewhere_;
};

/// The pool with a count of its calls to the device and of its requests.
class counting_pool final : public pool {
public:
    counting_pool(demo::tally& device, allot_tvm::served& requests) : device_{&device}, requests_{&requests} {}

    using pool::Alloc;
    Buffer Alloc(DLDevice device, std::size_t size, std::size_t align, DLDataType type) override {
        const std::lock_guard lock{mu_};
        const Buffer fresh = PooledAllocator::Alloc(device, size, align, type);
        requests_->add(fresh.size);
        return fresh;
    }

protected:
    void free_in_global(const Buffer& buffer) override {
        const std::lock_guard lock{mu_};
        requests_->live -= buffer.size;
        PooledAllocator::Free(buffer);
    }
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
    allot_tvm::served* requests_;
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

/// Heap memory in which consumers take no offset, so that each tensor of a storage has a buffer of its own.
using separate_heap = allot::separate<demo::counting<allot::host::heap>>;

/// A driver of allot::hexagon::vtcm over heap memory: the window of a Hexagon on a host without one.
class host_window {
public:
    host_window(std::size_t size, demo::tally& counts) noexcept : size_{size}, heap_{{}, counts} {}

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] void* acquire(std::size_t size) noexcept {
        const auto held = heap_.acquire({size, page});
        return held ? held->base : nullptr;
    }
    void release(void* base) noexcept { heap_.release({base, size_, page}); }

private:
    static constexpr std::size_t page = 4_KiB;
    std::size_t size_;
    demo::counting<allot::host::heap> heap_;
};

using heap = demo::counting<allot::host::heap>;
// The base of a region is aligned as tensors are, so that offsets do not depend on the heap.
template <class Growth>
using arena = allot::arena<heap, allot::best_fit<>, Growth, allot::arena_options{.align = allot_tvm::tensor_align}>;
using window = allot::arena<allot::hexagon::vtcm<host_window>,
                            allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>>;
template <class Memory>
using over = allot_tvm::memory_over<Memory>;

constexpr std::size_t vector_align = 128;       // HVX reads a vector at any other address from another one
constexpr std::size_t window_of_v66 = 256_KiB;  // the VTCM of a Hexagon V66

[[noreturn]] void reject(const std::string& text) { throw tvm::ffi::Error{"ValueError", "allot: " + text, ""}; }

std::string name_of(DLDevice device) {
    const char* const type = device.device_type == kDLCPU ? "cpu" : "device";
    return (device.device_type == kDLCPU ? type : type + std::to_string(static_cast<int>(device.device_type))) + ":" +
           std::to_string(device.device_id);
}

/// An allocator by its name, and its size in bytes; 0 for the default of the allocator.
struct choice {
    std::string allocator;
    std::size_t capacity = 0;
};

std::unique_ptr<memory> make_images(const std::string& scope, demo::tally& counts) {
    using namespace allot::scope;
    if (allot::is_named<texture>(scope)) return std::make_unique<allot_tvm::images<texture>>(counts);
    if (allot::is_named<texture_weight>(scope)) return std::make_unique<allot_tvm::images<texture_weight>>(counts);
    if (allot::is_named<texture_nhwc>(scope)) return std::make_unique<allot_tvm::images<texture_nhwc>>(counts);
    reject("the allocator images serves only global.texture, global.texture-weight and global.texture-nhwc");
}

std::unique_ptr<memory> make_memory(const std::string& scope, const choice& wanted, demo::tally& counts) {
    const auto& [name, capacity] = wanted;
    const heap device{{}, counts};
    if (name == "geometric") return std::make_unique<over<arena<allot::growth::geometric<>>>>(1, device);
    if (name == "fixed") return std::make_unique<over<arena<allot::growth::fixed<>>>>(1, device);
    if (name == "one region" && capacity == 0) reject("one region needs a size in bytes");
    if (name == "one region") return std::make_unique<over<arena<allot::growth::none<>>>>(1, device, capacity);
    if (name == "separate") return std::make_unique<over<allot::naive<separate_heap>>>(1, separate_heap{{}, counts});
    if (name == "overlapping") return std::make_unique<over<allot::naive<overlapping>>>(1);
    if (name == "images") return make_images(scope, counts);
    if (name == "window") {
        const host_window driver{capacity != 0 ? capacity : window_of_v66, counts};
        return std::make_unique<over<window>>(vector_align, allot::hexagon::vtcm<host_window>{driver});
    }
    reject("there is no allocator called " + shortened(name) +
           "; choose geometric, fixed, one region, window, separate, images or pool");
}

/// The memory of a scope, its allocator by name, and the requests to the device.
struct entry {
    choice wanted;
    std::unique_ptr<memory> made;
    demo::tally device;
    allot_tvm::served by_pool;  // of TVM's pool, which is no memory of allot
};
using scopes = std::map<std::string, entry>;

/// The memories of every device number of the CPU.
struct registry {
    std::mutex mutex;
    std::map<int, scopes> by_device;
    std::set<int> chosen;  // the devices for which a program has called allot.use

    static registry& all() {
        static auto* const only = new registry;  // never destroyed, as MemoryManager
        return *only;
    }
    scopes& of(DLDevice device) {
        if (device.device_type != kDLCPU)
            reject("scopes are served on the CPU; " + name_of(device) + " has the memories of its own allocator");
        auto& found = by_device[device.device_id];
        if (found.empty()) {
            found["global"].wanted = {"geometric"};
            found["global.vtcm"].wanted = {"window"};
            for (const char* const each : {"global.texture", "global.texture-weight", "global.texture-nhwc"})
                found[each].wanted = {"images"};
        }
        return found;
    }
    entry& find(DLDevice device, const std::string& scope) {
        scopes& known = of(device);
        const auto found = known.find(scope.empty() ? "global" : scope);
        if (found != known.end()) return found->second;
        std::string names;
        for (const auto& [name, unused] : known) names += (names.empty() ? "" : ", ") + shortened(name);
        reject(name_of(device) + " has no memory of scope " + shortened(scope) + "; its scopes are " + names +
               ". Use one of these names, or add the scope with allot_tvm.use before the program runs");
    }
};

bool has_allocator(DLDevice device) {
    try {
        MemoryManager::GetAllocator(device, tvm::runtime::memory::kPooled);
    } catch (const tvm::ffi::Error&) {
        return false;
    }
    return true;
}

}  // namespace

namespace allot_tvm {

memory& memory_in(DLDevice device, const std::string& scope) {
    const std::lock_guard lock{registry::all().mutex};
    entry& found = registry::all().find(device, scope);
    if (found.wanted.allocator == "pool")
        reject("global of " + name_of(device) + " is TVM's own pool, which has no storages of allot");
    if (!found.made) found.made = make_memory(scope, found.wanted, found.device);
    return *found.made;
}

}  // namespace allot_tvm

namespace {

/// Chooses the memory of a scope. The choice comes before the first use of the scope.
void choose(DLDevice device, const std::string& scope, const std::string& name, std::int64_t capacity) {
    const std::string text = scope.empty() ? "global" : scope;
    if (capacity < 0)
        reject("the size of " + shortened(text) + " is " + std::to_string(capacity) + ", which is negative");
    if (capacity != 0 && name != "one region" && name != "window")
        reject("the allocator " + shortened(name) + " has no size; only one region and window have one");
    if (name == "pool" && text != "global") reject("TVM's pool serves only global, not " + shortened(text));
    if (text == "global" && has_allocator(device)) {
        reject("a virtual machine of " + name_of(device) +
               " exists, and TVM keeps its allocator until the process ends; choose the allocator first, or choose "
               "another device number");
    }
    const std::lock_guard lock{registry::all().mutex};  // after MemoryManager's lock, as in `make`
    scopes& known = registry::all().of(device);
    const auto [at, is_new] = known.try_emplace(text);
    entry& made = at->second;
    if (made.made)
        reject(name_of(device) + " already has a memory of scope " + shortened(text) +
               "; choose it once, before its first use");
    const choice wanted{name, static_cast<std::size_t>(capacity)};
    try {
        if (name != "pool") made.made = make_memory(text, wanted, made.device);
    } catch (...) {
        if (is_new) known.erase(at);
        throw;
    }
    made.wanted = wanted;
    registry::all().chosen.insert(device.device_id);
}

Allocator* make(DLDevice device, AllocatorType type) {
    std::unique_lock lock{registry::all().mutex};
    if (device.device_type != kDLCPU) return nullptr;  // TVM creates its own allocator
    if (!registry::all().chosen.contains(device.device_id))
        return type == tvm::runtime::memory::kPooled ? new pool : nullptr;
    entry& global = registry::all().find(device, "global");
    if (global.wanted.allocator == "pool") return new counting_pool{global.device, global.by_pool};
    lock.unlock();
    using allot_tvm::reference_to_memory;
    auto* const made = new allot_tvm::adapter<reference_to_memory<>>{
        type, reference_to_memory<>{allot_tvm::memory_in(device, "global")}};
    made->serve_scopes(allot_tvm::memory_in);
    return made;
}

/// Returns the requests to the device, the most bytes held and the bytes held; then the requests to the memory, the
/// most bytes live and the bytes live.
tvm::ffi::Shape counts_of(DLDevice device, const std::string& scope) {
    const std::lock_guard lock{registry::all().mutex};
    const entry& found = registry::all().find(device, scope);
    const allot_tvm::served by_memory = found.made ? found.made->served() : found.by_pool;
    const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
    return {number(found.device.acquisitions), number(found.device.most), number(found.device.held),
            number(by_memory.requests),        number(by_memory.most),    number(by_memory.live)};
}

TVM_FFI_STATIC_INIT_BLOCK() {
    tvm::ffi::reflection::GlobalDef()
        .def("DeviceAllocator.",
             [](DLDevice device, int type) -> void* { return make(device, static_cast<AllocatorType>(type)); })
        .def("allot.use", [](DLDevice device, std::string scope, std::string name,
                             std::int64_t capacity) { choose(device, scope, name, capacity); })
        .def("allot.counts", [](DLDevice device, std::string scope) { return counts_of(device, scope); })
        .def("allot.has_allocator", has_allocator)
        .def("allot.ffi_versions",
             [] {
                 TVMFFIVersion found{};
                 TVMFFIGetVersion(&found);
                 return tvm::ffi::Shape{TVM_FFI_VERSION_MAJOR, TVM_FFI_VERSION_MINOR, TVM_FFI_VERSION_PATCH,
                                        found.major,           found.minor,           found.patch};
             })
        .def("allot.used", [](DLDevice device) {  // TVM's own count, which Python cannot access directly
            const Allocator* const used = MemoryManager::GetAllocator(device, tvm::runtime::memory::kPooled);
            return static_cast<std::int64_t>(used->UsedMemory());
        });
}

}  // namespace
