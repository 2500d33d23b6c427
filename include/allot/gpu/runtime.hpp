// SPDX-License-Identifier: BSL-1.0
// gpu::runtime: memory of the CUDA and HIP runtimes, written once over a table of a vendor's calls.
//
//     struct runtime { … static error malloc_device(void** base, std::size_t size) noexcept; … };  // a vendor's table
//     using device_memory = allot::gpu::device_memory<runtime>;
//
//     device               allocates with        host access    frees with
//     device_memory        malloc_device         no             free_device, which waits for the device
//     pinned               malloc_host           yes            free_host
//     managed              malloc_managed        yes            free_device
//     async_memory         malloc_async          no             free_async, in the order of its stream
//
// When to use: to support another runtime whose calls have the form of CUDA's.
// When not to use: in programs for CUDA or HIP. Include cuda/memory.hpp or hip/memory.hpp, which fill in the table. The
// two vendors' headers cannot share a translation unit; this header includes neither.
//
// The code relies on these rules of both runtimes. Each vendor's header names the sources.
//   - Every address that an allocation function returns is a multiple of 256. `acquire` rejects any other address.
//   - The runtime does not support greater alignments. For these, `acquire` allocates more bytes and the base is inside
//     the allocation. The distance is not stored: it follows from the size of the region.
//
//       the runtime's address ──►│ skipped │◄───────── size ─────────►│    skipped + size == align_up(size, align)
//                                          └ base, a multiple of `align`
//
//   - malloc_device allocates on the thread's current device. A device_memory belongs to one device: it makes that
//     device current for the call and then restores the previous one. If the device is already current, nothing is
//     switched and no context is created.
//   - A call that fails leaves its code for get_last_error. `acquire` clears that code, so that the program does not
//     take it for the error of a kernel; `diagnose` reports it. Sticky errors, for example after a fault in a kernel,
//     remain. `release` cannot return an error: its errors remain for get_last_error.
//   - Stream-ordered memory may be used by work on its stream between `acquire` and `release`, and by other work after
//     the program has waited for the stream. An arena over such memory reuses freed bytes immediately. Therefore all
//     work on its blocks must be on that one stream, and the stream must outlive the arena.
//
// Complexity: one runtime call for each `acquire` and `release`; at most four for device_memory.
// Memory: no overhead up to an alignment of 256; above that, less than twice the alignment for each region.
// Thread safety: that of the runtime. Any thread may call `acquire` and `release`.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

namespace allot {
inline namespace v1 {
namespace gpu {

/// A vendor's table: the runtime's functions, its error codes, and DLPack's numbers for its kinds of memory.
template <class Runtime>
concept runtime = requires(typename Runtime::error error, typename Runtime::stream stream, void* address,
                           const void* found, int device, std::size_t size) {
    error == Runtime::success;
    error = Runtime::invalid_value;
    error = Runtime::out_of_memory;
    error = Runtime::misaligned_address;  // for an address that is not a multiple of 256
    requires std::same_as<decltype(Runtime::dl_memory), const dl_device_type>;
    requires std::same_as<decltype(Runtime::dl_pinned), const dl_device_type>;
    requires std::same_as<decltype(Runtime::dl_managed), const dl_device_type>;
    { Runtime::get_last_error() } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::get_device(&device) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::set_device(device) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::malloc_device(&address, size) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::malloc_host(&address, size) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::malloc_managed(&address, size) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::malloc_async(&address, size, stream) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::free_device(address) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::free_host(address) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::free_async(address, stream) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::get_memory_info(&size, &size) } noexcept -> std::same_as<typename Runtime::error>;  // free and total
    // For copies (gpu/tensor.hpp): a copy between any two kinds of memory, and the device of an address.
    { Runtime::memcpy_async(address, found, size, stream) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::stream_synchronize(stream) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::get_device_of(found, &device) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::can_access_peer(&device, device, device) } noexcept -> std::same_as<typename Runtime::error>;
};

/// Every address that a runtime returns is a multiple of this.
inline constexpr std::size_t base_align = 256;

/// Makes one device the thread's current device for the lifetime of the object.
template <runtime Runtime>
class current_device {
public:
    /// The runtime's error type.
    using error_type = typename Runtime::error;

    /// Makes `device` current. `error` returns the result.
    explicit current_device(int device) noexcept : error_{Runtime::get_device(&before_)} {
        if (error_ != Runtime::success || before_ == device) return;
        error_ = Runtime::set_device(device);
        switched_ = error_ == Runtime::success;
    }
    current_device(const current_device&) = delete;
    current_device& operator=(const current_device&) = delete;
    /// Restores the previous device.
    ~current_device() {
        if (switched_) static_cast<void>(Runtime::set_device(before_));
    }

    /// Returns the error of the constructor, or `success`.
    [[nodiscard]] error_type error() const noexcept { return error_; }

private:
    int before_ = 0;
    bool switched_ = false;
    error_type error_;
};

/// Returns `error` as a failure and clears the runtime's last error.
template <class Device>
[[nodiscard]] acquired<Device> refused(typename Device::error error) noexcept {
    static_cast<void>(Device::runtime::get_last_error());
    return acquired<Device>::failure(error);
}

/// Calls `take(&address, size)` and returns a region of its memory with the requested alignment. Passes an address that
/// is not a multiple of 256 to `give_back`, and fails. `Device::runtime` names the runtime.
template <class Device, class Take, class GiveBack>
[[nodiscard]] acquired<Device> acquire_by(layout wanted, Take&& take, GiveBack&& give_back) noexcept {
    using runtime = typename Device::runtime;
    if (!wanted.is_valid()) return acquired<Device>::failure(runtime::invalid_value);
    const std::size_t align = wanted.align < base_align ? base_align : wanted.align;
    std::size_t whole = wanted.size;
    if (align > base_align && !(checked_add(whole, align - base_align, whole) && checked_align_up(whole, align, whole)))
        return acquired<Device>::failure(runtime::out_of_memory);
    void* address = nullptr;
    if (const auto error = take(&address, whole); error != runtime::success) return refused<Device>(error);
    const std::size_t from = raw_pointer::position(address);
    if (from % base_align != 0) {
        give_back(address);
        return acquired<Device>::failure(runtime::misaligned_address);
    }
    const std::size_t skipped = (std::size_t{0} - from) & (align - 1);
    return region<void*>{raw_pointer::locate(address, skipped), whole - skipped, align};
}

/// Returns the address that the runtime returned for a region of `acquire_by`.
[[nodiscard]] inline void* given_address(region<void*> held) noexcept {
    if (held.align == base_align) return held.base;
    return static_cast<std::byte*>(held.base) - (align_up(held.size, held.align) - held.size);
}

namespace detail {

// The traits that all memory of a runtime shares. Host access and DLPack's number differ.
template <gpu::runtime Runtime, bool HostAccessible, dl_device_type DlDevice>
struct memory_traits {
    using runtime = Runtime;                                       ///< The table of the runtime.
    using address_model = raw_pointer;                             ///< An address is a pointer.
    using error = typename Runtime::error;                         ///< The runtime's error codes.
    static constexpr bool host_accessible = HostAccessible;        ///< Whether the host can access the bytes.
    static constexpr offset_use offsets = offset_use::arithmetic;  ///< An offset is added to the address.
    static constexpr std::size_t min_align = base_align;           ///< Every base is a multiple of this.
    static constexpr std::size_t granularity = 1;                  ///< Every size is a multiple of this.
    static constexpr dl_device_type dl_device = DlDevice;          ///< DLPack's device type.
};

// Memory that two functions of the runtime allocate and free.
template <class Traits, auto Take, auto Free>
struct stateless_memory : Traits {
    /// Allocates memory. Fails with the runtime's error.
    [[nodiscard]] acquired<Traits> acquire(layout wanted) noexcept {
        return acquire_by<Traits>(
            wanted, [](void** address, std::size_t size) { return Take(address, size); },
            [](void* address) { static_cast<void>(Free(address)); });
    }
    /// Frees a region of `acquire`.
    void release(region<void*> held) noexcept { static_cast<void>(Free(given_address(held))); }
};

}  // namespace detail

/// Device memory of one GPU, identified by its ordinal.
template <gpu::runtime Runtime>
class device_memory : public detail::memory_traits<Runtime, false, Runtime::dl_memory> {
public:
    using error = typename Runtime::error;  ///< The runtime's error codes.

    /// Selects the GPU with this ordinal.
    explicit device_memory(int device = 0) noexcept : device_{device} {}

    /// Allocates device memory. Fails with the runtime's error.
    [[nodiscard]] acquired<device_memory> acquire(layout wanted) noexcept {
        const current_device<Runtime> there{device_};
        if (there.error() != Runtime::success) return refused<device_memory>(there.error());
        return acquire_by<device_memory>(
            wanted, [](void** address, std::size_t size) { return Runtime::malloc_device(address, size); },
            [](void* address) { static_cast<void>(Runtime::free_device(address)); });
    }
    /// Frees a region of `acquire`. Waits for the device.
    void release(region<void*> held) noexcept {
        const current_device<Runtime> there{device_};
        static_cast<void>(Runtime::free_device(given_address(held)));
    }

    /// Returns the bytes of the GPU that all processes use, and its total memory. Fails with the runtime's error.
    [[nodiscard]] result<memory_budget, error> budget() const noexcept {
        using answer = result<memory_budget, error>;
        const current_device<Runtime> there{device_};
        std::size_t free = 0, total = 0;
        const error status =
            there.error() != Runtime::success ? there.error() : Runtime::get_memory_info(&free, &total);
        if (status == Runtime::success) return memory_budget{total - free, total};
        static_cast<void>(Runtime::get_last_error());
        return answer::failure(status);
    }

    /// Returns the device's ordinal, as the runtime counts.
    [[nodiscard]] int device() const noexcept { return device_; }

private:
    int device_;
};

/// Page-locked host memory, which GPUs copy from and to directly. Every GPU can access it, at the same address.
template <gpu::runtime Runtime>
class pinned : public detail::stateless_memory<detail::memory_traits<Runtime, true, Runtime::dl_pinned>,
                                               &Runtime::malloc_host, &Runtime::free_host> {};

/// Managed memory: pages migrate to the processor that touches them, the host or a GPU.
template <gpu::runtime Runtime>
class managed : public detail::stateless_memory<detail::memory_traits<Runtime, true, Runtime::dl_managed>,
                                                &Runtime::malloc_managed, &Runtime::free_device> {};

/// Stream-ordered memory of a stream's device: allocated and freed in the order of that stream.
template <gpu::runtime Runtime>
class async_memory : public detail::memory_traits<Runtime, false, Runtime::dl_memory> {
public:
    /// The runtime's stream type.
    using stream_type = typename Runtime::stream;

    /// Selects the stream. The stream must outlive the object and all its regions.
    explicit async_memory(stream_type stream) noexcept : stream_{stream} {}

    /// Allocates memory in the order of the stream. Fails with the runtime's error.
    [[nodiscard]] acquired<async_memory> acquire(layout wanted) noexcept {
        return acquire_by<async_memory>(
            wanted, [this](void** address, std::size_t size) { return Runtime::malloc_async(address, size, stream_); },
            [this](void* address) { static_cast<void>(Runtime::free_async(address, stream_)); });
    }
    /// Frees a region of `acquire` in the order of the stream.
    void release(region<void*> held) noexcept { static_cast<void>(Runtime::free_async(given_address(held), stream_)); }

    /// Returns the stream.
    [[nodiscard]] stream_type stream() const noexcept { return stream_; }

private:
    stream_type stream_;
};

}  // namespace gpu
}  // namespace v1
}  // namespace allot
