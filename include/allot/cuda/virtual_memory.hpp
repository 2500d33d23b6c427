// SPDX-License-Identifier: BSL-1.0
// cuda::virtual_memory: a reserved range of GPU addresses in which device memory is mapped on demand (Linux). An arena
// grows without moving its blocks.
//
//     using memory = allot::arena<allot::cuda::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
//     memory arena{allot::cuda::virtual_memory{64_GiB}};                  // reserves addresses; memory is mapped later
//
//     reserved   │ 2 MiB │ 2 MiB │ 2 MiB │            no access            │
//                └─ base   mapped: region └─ end, moved by resize
//
// When to use: for device memory that must grow and shrink in place, with allot::growth::contiguous.
// When not to use: for memory of a fixed size, or for memory that other GPUs access: use cuda/memory.hpp.
//
// The code relies on these rules of the driver (CUDA driver API reference, "Virtual Memory Management" and "Primary
// Context Management"; the comments of <cuda.h> say the same):
//   - Sizes and addresses are multiples of cuMemGetAllocationGranularity, which is 2 MiB with NVIDIA's drivers. Each
//     `acquire` asks the driver, and fails if the driver's granularity does not divide this device's granularity.
//   - cuMemUnmap removes whole mappings only. Therefore each granule has its own memory and its own mapping, and a
//     region can end at any granule. No list of granules is stored: the region's size determines them. The handle of a
//     granule is released after mapping, because the mapping keeps the memory alive.
//   - A mapping is inaccessible before cuMemSetAccess, which is called for this device only. Other devices cannot
//     access the memory, even where peer access is enabled.
//   - cuInit comes first. The documentation of that section does not require a context, but waiting for the device
//     does. Each call makes the device's primary context current, which the runtime uses too, and retains it while a
//     region is held. Do not call cudaDeviceReset or cuDevicePrimaryCtxReset before the regions are released.
//   - cuMemUnmap waits for kernels "for most use cases" only, whereas cudaFree always waits. Therefore this device
//     waits for the work of the primary context (cuCtxSynchronize) before it unmaps memory. A program that works in
//     another context must wait for that context first. Waiting is not allowed during stream capture: meanwhile a
//     region cannot shrink, and must not be released.
//
// The driver is not linked: libcuda.so.1 is opened at run time and stays open. Only <cuda.h> and <cudaTypedefs.h> are
// needed, which the CMake target allot::cuda provides. Errors of the driver are returned unchanged: for example 2,
// CUDA_ERROR_OUT_OF_MEMORY (also for a size above the reserved one), 100, CUDA_ERROR_NO_DEVICE, and 101,
// CUDA_ERROR_INVALID_DEVICE. Further errors are:
//
//     303  CUDA_ERROR_SHARED_OBJECT_INIT_FAILED        libcuda.so.1 cannot be opened
//     302  CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND   libcuda.so.1 is too old: CUDA 11 is required
//     801  CUDA_ERROR_NOT_SUPPORTED                    the device has no virtual memory management
//       1  CUDA_ERROR_INVALID_VALUE                    invalid layout, or an unsuitable granularity of the driver
//     716  CUDA_ERROR_MISALIGNED_ADDRESS               the driver did not return a range of the requested alignment
//
// Complexity: three driver calls to map a granule and one to unmap it. For large regions, use greater granules, for
// example basic_virtual_memory<64_MiB>.
// Memory: the addresses of the driver's functions in the object; the unused end of a region's last granule.
// Thread safety: that of the driver. The object does not change after construction.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/core/literals.hpp>

#include <cudaTypedefs.h>

#include <dlfcn.h>

namespace allot {
inline namespace v1 {
namespace cuda {

/// The driver's functions, looked up by name in libcuda.so.1, each in the version that its type names. Each member is
/// the function that its comment names.
struct driver_functions {
    /// Opens libcuda.so.1 and looks up the functions. Sets `error` if the library or a function is missing.
    driver_functions() noexcept {
        void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
        if (library == nullptr) {
            error = CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
            return;
        }
        find(library, "cuInit", init);
        find(library, "cuDeviceGet", get_device);
        find(library, "cuDeviceGetAttribute", get_attribute);
        find(library, "cuDevicePrimaryCtxRetain", retain_context);
        find(library, "cuDevicePrimaryCtxRelease_v2", release_context);
        find(library, "cuCtxPushCurrent_v2", push_context);
        find(library, "cuCtxPopCurrent_v2", pop_context);
        find(library, "cuCtxSynchronize", synchronize);
        find(library, "cuMemGetAllocationGranularity", get_granularity);
        find(library, "cuMemAddressReserve", reserve);
        find(library, "cuMemAddressFree", free_range);
        find(library, "cuMemCreate", create);
        find(library, "cuMemRelease", release);
        find(library, "cuMemMap", map);
        find(library, "cuMemUnmap", unmap);
        find(library, "cuMemSetAccess", set_access);
    }

    PFN_cuInit_v2000 init = nullptr;                                     ///< `cuInit`
    PFN_cuDeviceGet_v2000 get_device = nullptr;                          ///< `cuDeviceGet`
    PFN_cuDeviceGetAttribute_v2000 get_attribute = nullptr;              ///< `cuDeviceGetAttribute`
    PFN_cuDevicePrimaryCtxRetain_v7000 retain_context = nullptr;         ///< `cuDevicePrimaryCtxRetain`
    PFN_cuDevicePrimaryCtxRelease_v11000 release_context = nullptr;      ///< `cuDevicePrimaryCtxRelease_v2`
    PFN_cuCtxPushCurrent_v4000 push_context = nullptr;                   ///< `cuCtxPushCurrent_v2`
    PFN_cuCtxPopCurrent_v4000 pop_context = nullptr;                     ///< `cuCtxPopCurrent_v2`
    PFN_cuCtxSynchronize_v2000 synchronize = nullptr;                    ///< `cuCtxSynchronize`
    PFN_cuMemGetAllocationGranularity_v10020 get_granularity = nullptr;  ///< `cuMemGetAllocationGranularity`
    PFN_cuMemAddressReserve_v10020 reserve = nullptr;                    ///< `cuMemAddressReserve`
    PFN_cuMemAddressFree_v10020 free_range = nullptr;                    ///< `cuMemAddressFree`
    PFN_cuMemCreate_v10020 create = nullptr;                             ///< `cuMemCreate`
    PFN_cuMemRelease_v10020 release = nullptr;                           ///< `cuMemRelease`
    PFN_cuMemMap_v10020 map = nullptr;                                   ///< `cuMemMap`
    PFN_cuMemUnmap_v10020 unmap = nullptr;                               ///< `cuMemUnmap`
    PFN_cuMemSetAccess_v10020 set_access = nullptr;                      ///< `cuMemSetAccess`
    CUresult error = CUDA_SUCCESS;                                       ///< The reason for a missing function.

protected:
    /// Looks up one function.
    template <class Function>
    void find(void* library, const char* name, Function& function) noexcept {
        function = reinterpret_cast<Function>(::dlsym(library, name));
        if (function == nullptr) error = CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
    }
};

/// Retains a device's primary context and makes it current for the lifetime of the object.
class current_context {
public:
    /// Retains the context of the device with this ordinal. `error` returns the result.
    current_context(const driver_functions& driver, int ordinal) noexcept : driver_{driver}, error_{driver.error} {
        CUcontext primary = nullptr;
        if (error_ == CUDA_SUCCESS) error_ = driver_.init(0);
        if (error_ == CUDA_SUCCESS) error_ = driver_.get_device(&device_, ordinal);
        if (error_ == CUDA_SUCCESS) error_ = driver_.retain_context(&primary, device_);
        if (error_ != CUDA_SUCCESS) return;
        error_ = driver_.push_context(primary);
        if (error_ != CUDA_SUCCESS) static_cast<void>(driver_.release_context(device_));
    }
    current_context(const current_context&) = delete;
    current_context& operator=(const current_context&) = delete;
    /// Restores the previous context. Releases the device's context unless `keep` was called.
    ~current_context() {
        if (error_ != CUDA_SUCCESS) return;
        CUcontext popped = nullptr;
        static_cast<void>(driver_.pop_context(&popped));
        if (!kept_) static_cast<void>(driver_.release_context(device_));
    }

    /// Leaves the context retained when the object is destroyed.
    void keep() noexcept { kept_ = true; }

    /// Returns the error of the constructor, or CUDA_SUCCESS.
    [[nodiscard]] CUresult error() const noexcept { return error_; }
    /// Returns the driver's handle of the device.
    [[nodiscard]] CUdevice device() const noexcept { return device_; }

private:
    const driver_functions& driver_;
    CUdevice device_ = 0;
    CUresult error_;
    bool kept_ = false;
};

/// Virtual memory of one GPU in units of `Granularity`, which must be a multiple of the driver's granularity.
template <std::size_t Granularity>
class basic_virtual_memory {
public:
    using address_model = raw_pointer;                                 ///< An address is a pointer.
    using error = CUresult;                                            ///< The driver's error codes.
    static constexpr bool host_accessible = false;                     ///< The host cannot access the bytes.
    static constexpr offset_use offsets = offset_use::arithmetic;      ///< An offset is added to the address.
    static constexpr std::size_t min_align = Granularity;              ///< Every base is a multiple of this.
    static constexpr std::size_t granularity = Granularity;            ///< Every size is a multiple of this.
    static constexpr dl_device_type dl_device = dl_device_type::cuda;  ///< DLPack's device type.

    /// Reserves `reserve` bytes of addresses, rounded up to the granularity, for each region of the device.
    explicit basic_virtual_memory(std::size_t reserve, int device = 0) noexcept : reserve_{reserve}, device_{device} {}

    /// Reserves a range and maps memory at its start. The bytes are not initialized.
    [[nodiscard]] acquired<basic_virtual_memory> acquire(layout wanted) noexcept {
        if (!wanted.is_valid()) return refused(CUDA_ERROR_INVALID_VALUE);
        std::size_t range = 0;
        if (!checked_align_up(reserve_, granularity, range) ||
            !checked_align_up(wanted.size, granularity, wanted.size) || wanted.size > range)
            return refused(CUDA_ERROR_OUT_OF_MEMORY);
        if (wanted.align < min_align) wanted.align = min_align;
        current_context there{driver_, device_};
        if (there.error() != CUDA_SUCCESS) return refused(there.error());
        const CUmemLocation where = location_of(there.device());
        CUdeviceptr base = 0;
        CUresult status = check_support(there.device());
        if (status == CUDA_SUCCESS) status = driver_.reserve(&base, range, wanted.align, 0, 0);
        if (status != CUDA_SUCCESS) return refused(status);
        status = base % wanted.align == 0 ? map(base, wanted.size, where) : CUDA_ERROR_MISALIGNED_ADDRESS;
        if (status != CUDA_SUCCESS) {
            static_cast<void>(driver_.free_range(base, range));
            return refused(status);
        }
        there.keep();
        return region<void*>{reinterpret_cast<void*>(static_cast<std::uintptr_t>(base)), wanted.size, wanted.align};
    }

    /// Moves the end of a region. `size` is a nonzero multiple of the granularity. Shrinking waits for the device.
    [[nodiscard]] acquired<basic_virtual_memory> resize(region<void*> held, std::size_t size) noexcept {
        if (size > align_up(reserve_, granularity)) return refused(CUDA_ERROR_OUT_OF_MEMORY);
        const current_context there{driver_, device_};
        if (there.error() != CUDA_SUCCESS) return refused(there.error());
        const CUdeviceptr base = raw_pointer::position(held.base);
        const CUmemLocation where = location_of(there.device());
        const CUresult status = size > held.size ? map(base + held.size, size - held.size, where)
                                                 : unmap_or_restore(base + size, held.size - size, where);
        if (status != CUDA_SUCCESS) return refused(status);
        held.size = size;
        return held;
    }

    /// Waits for the device and frees the region. Frees it also if waiting fails.
    void release(region<void*> held) noexcept {
        const current_context there{driver_, device_};
        const bool is_current = there.error() == CUDA_SUCCESS;
        const CUdeviceptr base = raw_pointer::position(held.base);
        if (is_current) static_cast<void>(driver_.synchronize());
        unmap(base, held.size);
        static_cast<void>(driver_.free_range(base, align_up(reserve_, granularity)));
        if (is_current) static_cast<void>(driver_.release_context(there.device()));  // retained by `acquire`
    }

    /// Returns the device's ordinal, as cuDeviceGet and cudaSetDevice count.
    [[nodiscard]] int device() const noexcept { return device_; }

private:
    [[nodiscard]] static acquired<basic_virtual_memory> refused(CUresult reason) noexcept {
        return acquired<basic_virtual_memory>::failure(reason);
    }

    [[nodiscard]] static CUmemLocation location_of(CUdevice device) noexcept {
        CUmemLocation where{};
        where.type = CU_MEM_LOCATION_TYPE_DEVICE;
        where.id = device;
        return where;
    }
    [[nodiscard]] static CUmemAllocationProp memory_at(CUmemLocation where) noexcept {
        CUmemAllocationProp memory{};
        memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        memory.location = where;
        return memory;
    }

    [[nodiscard]] CUresult check_support(CUdevice device) const noexcept {
        int supported = 0;
        const CUresult status =
            driver_.get_attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
        if (status != CUDA_SUCCESS) return status;
        if (supported == 0) return CUDA_ERROR_NOT_SUPPORTED;
        const CUmemAllocationProp memory = memory_at(location_of(device));
        std::size_t least = 0;
        if (const CUresult reason = driver_.get_granularity(&least, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
            reason != CUDA_SUCCESS)
            return reason;
        return least != 0 && granularity % least == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }

    // Maps memory that the device may read and write, granule by granule. Undoes everything on failure.
    [[nodiscard]] CUresult map(CUdeviceptr at, std::size_t size, CUmemLocation where) const noexcept {
        const CUmemAllocationProp memory = memory_at(where);
        std::size_t mapped = 0;
        CUresult status = CUDA_SUCCESS;
        while (status == CUDA_SUCCESS && mapped != size) {
            status = map_granule(at + mapped, memory);
            if (status == CUDA_SUCCESS) mapped += granularity;
        }
        if (status == CUDA_SUCCESS) {
            const CUmemAccessDesc access{where, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
            status = driver_.set_access(at, size, &access, 1);
        }
        if (status != CUDA_SUCCESS) unmap(at, mapped);
        return status;
    }

    [[nodiscard]] CUresult map_granule(CUdeviceptr at, const CUmemAllocationProp& memory) const noexcept {
        CUmemGenericAllocationHandle handle = 0;
        if (const CUresult reason = driver_.create(&handle, granularity, &memory, 0); reason != CUDA_SUCCESS)
            return reason;
        const CUresult status = driver_.map(at, granularity, 0, handle, 0);
        static_cast<void>(driver_.release(handle));
        return status;
    }

    // Unmaps a mapped range.
    void unmap(CUdeviceptr at, std::size_t size) const noexcept {
        for (std::size_t done = 0; done != size; done += granularity)
            static_cast<void>(driver_.unmap(at + done, granularity));
    }

    // Waits for the device and unmaps the range. If the driver fails halfway, maps new memory where it was unmapped.
    [[nodiscard]] CUresult unmap_or_restore(CUdeviceptr at, std::size_t size, CUmemLocation where) const noexcept {
        CUresult status = driver_.synchronize();
        std::size_t left = size;
        while (status == CUDA_SUCCESS && left != 0) {
            status = driver_.unmap(at + left - granularity, granularity);
            if (status == CUDA_SUCCESS) left -= granularity;
        }
        if (status != CUDA_SUCCESS && left != size) static_cast<void>(map(at + left, size - left, where));
        return status;
    }

    driver_functions driver_;
    std::size_t reserve_;
    int device_;
};

/// Virtual memory in units of 2 MiB, the granularity of NVIDIA's drivers.
using virtual_memory = basic_virtual_memory<2_MiB>;

static_assert(extensible_device<virtual_memory> && !bounded_device<virtual_memory>);

}  // namespace cuda
}  // namespace v1
}  // namespace allot
