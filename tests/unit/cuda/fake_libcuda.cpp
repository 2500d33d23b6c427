#include "fake_libcuda.hpp"

#include "../../fakes/payloads.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

/// A primary context is represented by its device.
struct CUctx_st {
    int device = 0;
    std::size_t retained = 0;
};

namespace {

constexpr std::size_t page = 4096;
constexpr int most_devices = 8;

struct memory {
    std::size_t size = 0;
    int device = 0;
    std::size_t at = 0;  // offset of its bytes in the file
    bool has_handle = true;
    std::size_t mappings = 0;
    std::shared_ptr<fake::held_payload> payload{};  // in place of the file, for memory that other drivers import
    bool exportable = false;

    [[nodiscard]] int file() const;
};

struct mapping {
    std::size_t size = 0;
    CUmemGenericAllocationHandle of = 0;
    unsigned devices = 0;  // one bit for each device with access
};

struct kernel {
    int device;
    CUdeviceptr address;
    std::size_t size;
    unsigned char value;
};

struct refusal {
    std::size_t countdown = 0;
    CUresult error = CUDA_SUCCESS;

    /// Returns the result of a counted call.
    CUresult count() { return countdown != 0 && --countdown == 0 ? error : CUDA_SUCCESS; }
};

struct machine {
    fake_libcuda::settings settings;
    int file = ::memfd_create("fake_libcuda", 0);
    bool is_initialised = false;
    CUctx_st contexts[most_devices];
    std::map<CUdeviceptr, std::size_t> ranges;
    std::map<CUdeviceptr, mapping> mappings;
    std::map<CUmemGenericAllocationHandle, memory> memories;
    std::vector<kernel> kernels;
    CUmemGenericAllocationHandle next_handle = 1;
    std::size_t next_byte = 0;
    std::size_t wrong_calls = 0;
    refusal calls, unmaps;

    machine() {
        for (int i = 0; i != most_devices; ++i) contexts[i].device = i;
    }
};

machine& here() {
    static machine only;
    return only;
}
int memory::file() const { return payload ? payload->descriptor() : here().file; }
thread_local std::vector<CUcontext> current;

CUresult wrong(CUresult error) {
    ++here().wrong_calls;
    return error;
}
/// The result of every call that acquires a resource.
CUresult counted() {
    if (!here().is_initialised) return wrong(CUDA_ERROR_NOT_INITIALIZED);
    return here().calls.count();
}

bool is_device(int device) { return device >= 0 && device < here().settings.devices; }
bool is_in_granules(std::size_t number) { return number % here().settings.granularity == 0; }
void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

/// The mapping that contains an address, or the end.
std::map<CUdeviceptr, mapping>::iterator mapping_of(CUdeviceptr address) {
    auto& all = here().mappings;
    auto found = all.upper_bound(address);
    if (found == all.begin()) return all.end();
    --found;
    return address - found->first < found->second.size ? found : all.end();
}

/// The range that contains all of these addresses.
bool is_reserved(CUdeviceptr address, std::size_t size) {
    auto& all = here().ranges;
    auto found = all.upper_bound(address);
    if (found == all.begin()) return false;
    --found;
    const std::size_t inside = address - found->first;
    return inside <= found->second && size <= found->second - inside;
}

void end_when_unused(CUmemGenericAllocationHandle handle) {
    const auto found = here().memories.find(handle);
    if (found == here().memories.end() || found->second.has_handle || found->second.mappings != 0) return;
    if (!found->second.payload)
        static_cast<void>(::fallocate(here().file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                      static_cast<off_t>(found->second.at), static_cast<off_t>(found->second.size)));
    here().memories.erase(found);
}

/// Calls `use(file, byte of the file, bytes)` for each part of the range if a device can access all of it.
template <class Use>
bool access(int device, CUdeviceptr address, std::size_t size, Use&& use) {
    for (CUdeviceptr at = address; at < address + size;) {
        const auto found = mapping_of(at);
        if (found == here().mappings.end() || (found->second.devices >> device & 1) == 0) return false;
        at = found->first + found->second.size;
    }
    while (size != 0) {
        const auto found = mapping_of(address);
        const std::size_t inside = address - found->first, part = std::min(size, found->second.size - inside);
        const memory& of = here().memories.at(found->second.of);
        use(of.file(), of.at + inside, part);
        address += part;
        size -= part;
    }
    return true;
}

bool fill(int device, CUdeviceptr address, unsigned char value, std::size_t size) {
    return access(device, address, size, [value](int file, std::size_t at, std::size_t part) {
        const std::vector<unsigned char> bytes(part, value);
        if (::pwrite(file, bytes.data(), part, static_cast<off_t>(at)) != static_cast<ssize_t>(part)) std::abort();
    });
}

void run(int device) {
    for (const kernel& each : here().kernels) {
        if (each.device == device && !fill(device, each.address, each.value, each.size)) ++here().wrong_calls;
    }
    std::erase_if(here().kernels, [device](const kernel& each) { return each.device == device; });
}

}  // namespace

namespace fake_libcuda {

void start(const settings& machine_like_that) {
    machine& m = here();
    for (const auto& [address, size] : m.ranges) ::munmap(pointer(address), size);
    m.ranges.clear();
    m.mappings.clear();
    m.memories.clear();
    m.kernels.clear();
    for (int i = 0; i != most_devices; ++i) m.contexts[i] = {i, 0};
    m.settings = machine_like_that;
    m.is_initialised = false;
    m.next_byte = m.wrong_calls = 0;
    m.calls = m.unmaps = {};
    if (m.file < 0 || ::ftruncate(m.file, 0) != 0) std::abort();
    current.clear();
}

std::size_t lost_descriptors() { return fake::lost_descriptors; }
void refuse_call(std::size_t count, CUresult error) { here().calls = {count, error}; }
void refuse_unmap(std::size_t count, CUresult error) { here().unmaps = {count, error}; }
bool is_refusal_pending() { return here().calls.countdown != 0 || here().unmaps.countdown != 0; }

void launch(int device, CUdeviceptr address, std::size_t size, unsigned char value) {
    here().kernels.push_back({device, address, size, value});
}

std::size_t held() {
    std::size_t contexts = 0;
    for (const CUctx_st& each : here().contexts) contexts += each.retained;
    return here().ranges.size() + here().mappings.size() + here().memories.size() + contexts + current.size();
}
std::size_t wrong_calls() { return here().wrong_calls; }
std::size_t in_use(int device) {
    std::size_t sum = 0;
    for (const auto& [handle, each] : here().memories) {
        if (each.device == device) sum += each.size;
    }
    return sum;
}
std::size_t reserved() {
    std::size_t sum = 0;
    for (const auto& [address, size] : here().ranges) sum += size;
    return sum;
}

bool is_reserved(const void* address) {
    return ::is_reserved(static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address)), 1);
}

}  // namespace fake_libcuda

extern "C" {

CUresult cuInit(unsigned int flags) {
    if (flags != 0) return wrong(CUDA_ERROR_INVALID_VALUE);
    if (here().settings.driver != CUDA_SUCCESS) return here().settings.driver;
    here().is_initialised = true;
    return counted();
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (!is_device(device)) return wrong(CUDA_ERROR_INVALID_VALUE);
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
            return *value = here().settings.virtual_memory ? 1 : 0, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
            return *value = here().settings.descriptors ? 1 : 0, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED: return *value = here().settings.dma_buffers ? 1 : 0, CUDA_SUCCESS;
        default: return wrong(CUDA_ERROR_INVALID_VALUE);
    }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (!is_device(device)) return wrong(CUDA_ERROR_INVALID_DEVICE);
    *context = &here().contexts[device];
    ++(*context)->retained;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    if (!is_device(device) || here().contexts[device].retained == 0) return wrong(CUDA_ERROR_INVALID_CONTEXT);
    if (--here().contexts[device].retained != 0) return CUDA_SUCCESS;
    for (const auto& [address, each] : here().mappings) {
        if ((each.devices >> device & 1) != 0) return wrong(CUDA_SUCCESS);
    }
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (context == nullptr || context->retained == 0) return wrong(CUDA_ERROR_INVALID_CONTEXT);
    current.push_back(context);
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    if (current.empty()) return wrong(CUDA_ERROR_INVALID_CONTEXT);
    *context = current.back();
    current.pop_back();
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = current.empty() ? nullptr : current.back();
    return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (current.empty()) return wrong(CUDA_ERROR_INVALID_CONTEXT);
    run(current.back()->device);
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* what,
                                       CUmemAllocationGranularity_flags) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (what->type != CU_MEM_ALLOCATION_TYPE_PINNED || what->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !is_device(what->location.id))
        return wrong(CUDA_ERROR_INVALID_VALUE);
    *granularity = here().settings.granularity;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size, size_t align, CUdeviceptr, unsigned long long flags) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (size == 0 || size % page != 0 || (align & (align - 1)) != 0 || flags != 0)
        return wrong(CUDA_ERROR_INVALID_VALUE);
    align = std::max(align, page);
    if (size > (std::size_t{1} << 46) || align > (std::size_t{1} << 40)) return CUDA_ERROR_OUT_OF_MEMORY;
    // Reserves more than that, and frees the excess on both sides immediately.
    const std::size_t whole = size + align + here().settings.misalign;
    void* const taken = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (taken == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUdeviceptr from = reinterpret_cast<std::uintptr_t>(taken);
    *address = (from + align - 1) / align * align + here().settings.misalign;
    if (*address != from) ::munmap(taken, *address - from);
    if (*address + size != from + whole) ::munmap(pointer(*address + size), from + whole - *address - size);
    here().ranges.emplace(*address, size);
    return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
    const auto found = here().ranges.find(address);
    if (found == here().ranges.end() || found->second != size) return wrong(CUDA_ERROR_INVALID_VALUE);
    const auto inside = here().mappings.lower_bound(address);
    if (inside != here().mappings.end() && inside->first < address + size) return wrong(CUDA_ERROR_INVALID_VALUE);
    ::munmap(pointer(address), size);
    here().ranges.erase(found);
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* what,
                     unsigned long long flags) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (size == 0 || !is_in_granules(size) || flags != 0 || what->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        what->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return wrong(CUDA_ERROR_INVALID_VALUE);
    if (!is_device(what->location.id)) return wrong(CUDA_ERROR_INVALID_DEVICE);
    const std::size_t used = fake_libcuda::in_use(what->location.id);
    if (used > here().settings.memory || size > here().settings.memory - used) return CUDA_ERROR_OUT_OF_MEMORY;
    const bool exportable = what->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (!exportable && what->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) return wrong(CUDA_ERROR_INVALID_VALUE);
    if (exportable && !here().settings.descriptors) return wrong(CUDA_ERROR_NOT_SUPPORTED);
    *handle = here().next_handle++;
    here().memories[*handle] = {size, what->location.id, 0, true, 0};
    memory& fresh = here().memories[*handle];
    if (exportable) {
        fresh.exportable = true;
        fresh.payload = std::make_shared<fake::held_payload>(fake::make_payload(fake::opaque, size));
        return CUDA_SUCCESS;
    }
    if (::ftruncate(here().file, static_cast<off_t>(here().next_byte + size)) != 0) std::abort();
    fresh.at = here().next_byte;
    here().next_byte += size;
    return CUDA_SUCCESS;
}
CUresult cuMemExportToShareableHandle(void* to, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    const auto found = here().memories.find(handle);
    if (found == here().memories.end() || !found->second.has_handle || !found->second.exportable ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0)
        return wrong(CUDA_ERROR_INVALID_VALUE);
    *static_cast<int*>(to) = found->second.payload->share();
    return CUDA_SUCCESS;
}
CUresult cuMemGetHandleForAddressRange(void* to, CUdeviceptr address, size_t size, CUmemRangeHandleType type,
                                       unsigned long long flags) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (current.empty()) return wrong(CUDA_ERROR_INVALID_CONTEXT);
    const auto found = mapping_of(address);
    if (address % page != 0 || size == 0 || size % page != 0 || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD ||
        flags != 0 || !here().settings.dma_buffers)
        return wrong(CUDA_ERROR_NOT_SUPPORTED);
    if (found == here().mappings.end() || found->first != address || found->second.size != size)
        return wrong(CUDA_ERROR_INVALID_VALUE);  // this driver gives whole mappings only
    memory& of = here().memories.at(found->second.of);
    if (of.exportable) return wrong(CUDA_ERROR_NOT_SUPPORTED);  // its payload is not a DMA buffer here
    if (!of.payload) {
        auto fresh = std::make_shared<fake::held_payload>(fake::make_payload(fake::dma_buffer, of.size));
        if (::pread(here().file, fresh->data(), of.size, static_cast<off_t>(of.at)) != static_cast<ssize_t>(of.size))
            std::abort();
        of.payload = std::move(fresh);
        of.at = 0;
    }
    *static_cast<int*>(to) = of.payload->share();
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* id, CUdevice device) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    if (!is_device(device)) return wrong(CUDA_ERROR_INVALID_DEVICE);
    std::memset(id->bytes, 0, sizeof id->bytes);
    id->bytes[0] = static_cast<char>(device + 1);
    return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    const auto found = here().memories.find(handle);
    if (found == here().memories.end() || !found->second.has_handle) return wrong(CUDA_ERROR_INVALID_VALUE);
    found->second.has_handle = false;
    end_when_unused(handle);
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    const auto found = here().memories.find(handle);
    if (found == here().memories.end() || !found->second.has_handle || size == 0 || size > found->second.size ||
        !is_in_granules(size) || !is_in_granules(address) || offset != 0 || flags != 0 || !is_reserved(address, size))
        return wrong(CUDA_ERROR_INVALID_VALUE);
    const auto next = here().mappings.lower_bound(address);
    if (mapping_of(address) != here().mappings.end() || (next != here().mappings.end() && next->first < address + size))
        return wrong(CUDA_ERROR_INVALID_VALUE);
    here().mappings[address] = {size, handle, 0};
    ++found->second.mappings;
    return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
    if (const CUresult reason = here().unmaps.count(); reason != CUDA_SUCCESS) return reason;
    const auto found = here().mappings.find(address);
    if (found == here().mappings.end() || found->second.size != size) return wrong(CUDA_ERROR_INVALID_VALUE);
    const auto faulted = std::erase_if(here().kernels, [address, size](const kernel& each) {
        return each.address < address + size && address < each.address + each.size;
    });
    here().wrong_calls += faulted;
    const CUmemGenericAllocationHandle of = found->second.of;
    here().mappings.erase(found);
    --here().memories.at(of).mappings;
    end_when_unused(of);
    return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* whom, size_t count) {
    if (const CUresult reason = counted(); reason != CUDA_SUCCESS) return reason;
    std::vector<mapping*> all;
    CUdeviceptr at = address;
    while (at < address + size) {
        const auto found = here().mappings.find(at);
        if (found == here().mappings.end()) break;
        all.push_back(&found->second);
        at += found->second.size;
    }
    if (size == 0 || at != address + size) return wrong(CUDA_ERROR_INVALID_VALUE);
    for (std::size_t i = 0; i != count; ++i) {
        if (whom[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !is_device(whom[i].location.id))
            return wrong(CUDA_ERROR_INVALID_DEVICE);
        const unsigned bit = 1u << whom[i].location.id;
        for (mapping* const each : all) {
            if (whom[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
                each->devices |= bit;
            } else {
                each->devices &= ~bit;
            }
        }
    }
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t size) {
    if (current.empty()) return wrong(CUDA_ERROR_INVALID_CONTEXT);
    run(current.back()->device);
    return fill(current.back()->device, address, value, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr address, size_t size) {
    if (current.empty()) return wrong(CUDA_ERROR_INVALID_CONTEXT);
    run(current.back()->device);
    auto* next = static_cast<std::byte*>(to);
    const bool done =
        access(current.back()->device, address, size, [&next](int file, std::size_t at, std::size_t part) {
            if (::pread(file, next, part, static_cast<off_t>(at)) != static_cast<ssize_t>(part)) std::abort();
            next += part;
        });
    return done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int* count) {
    *count = here().settings.devices;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
    static constexpr std::string_view told = "fake driver";
    name[told.copy(name, static_cast<std::size_t>(size) - 1)] = 0;
    return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(size_t* left, size_t* total) {
    if (current.empty()) return wrong(CUDA_ERROR_INVALID_CONTEXT);
    *total = here().settings.memory;
    *left = *total - fake_libcuda::in_use(current.back()->device);
    return CUDA_SUCCESS;
}
}
