// SPDX-License-Identifier: BSL-1.0
// What CUDA's and HIP's runtimes have in common: memory on a device, pinned on the host, managed by both, and in the
// order of a stream. Programs include cuda/memory.hpp or hip/memory.hpp, which give the vendor's calls names here; the
// two vendors' headers cannot share a translation unit, and this one needs neither.
//
//     struct runtime { … static error malloc_device(void** address, std::size_t size) noexcept; … };   // a vendor's table
//     using device_memory = allot::gpu::device_memory<runtime>;
//
//     device               from                  the host may touch it    given back by
//     device_memory        malloc_device         no                       free_device, which waits for the device
//     pinned               malloc_host           yes                      free_host
//     managed              malloc_managed        yes                      free_device
//     async_memory         malloc_async          no                       free_async, in the order of its stream
//
// Rules of both that this relies on; each vendor's header says where its own are written:
//   - Every address that an allocation function returns is a multiple of 256. What comes back otherwise is refused.
//   - A greater alignment is not the runtime's to give: more is taken, and the base lies inside. How far inside is not
//     kept anywhere; a region's size says it.
//
//       the runtime's address ──►│ skipped │◄───────── size ─────────►│    skipped + size: the least multiple of `align`
//                                          └ base, a multiple of `align`  that is not below `size`
//
//   - malloc_device serves the thread's current device. A device_memory is of one device: it makes that one current, and
//     then the old one again. Where the old one is current already, nothing is switched and no context is made.
//   - A call that fails leaves its code for get_last_error to find. `acquire` takes it away again, so that nobody takes
//     it for a kernel's; `diagnose` has it. (Errors that stay, as after a fault of a kernel, stay.) `release` cannot
//     answer: what it meets is left for get_last_error.
//   - Memory in the order of a stream may be used by work on that stream after `acquire` and before `release`, and
//     elsewhere once the stream was waited for. An arena over it gives freed bytes out again at once, so all work on
//     its blocks goes to the one stream. The stream outlives the arena.
//
// Complexity: one call of the runtime's each, for device_memory at most four. Memory: none, but up to the alignment
// where that is above 256. Thread safety: the runtime's: acquire and release may be called from any thread.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

namespace allot {
inline namespace v1 {
namespace gpu {

/// A vendor's table: its calls, its codes, and what DLPack calls its memories.
template <class Runtime>
concept runtime = requires(typename Runtime::error error, typename Runtime::stream stream, void* address,
                           const void* found, int device, std::size_t size) {
    error == Runtime::success;
    error = Runtime::invalid_value;
    error = Runtime::out_of_memory;
    error = Runtime::misaligned_address;  // for an address that is no multiple of 256
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
    // For copies (gpu/tensor.hpp): from anywhere to anywhere, and where a device's address is.
    { Runtime::memcpy_async(address, found, size, stream) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::stream_synchronize(stream) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::get_device_of(found, &device) } noexcept -> std::same_as<typename Runtime::error>;
    { Runtime::can_access_peer(&device, device, device) } noexcept -> std::same_as<typename Runtime::error>;
};

/// What every address that a runtime gives is a multiple of.
inline constexpr std::size_t base_align = 256;

/// One device is the thread's current one while this lives.
template <runtime Runtime>
class current_device {
public:
    using error_type = typename Runtime::error;

    explicit current_device(int device) noexcept : error_{Runtime::get_device(&before_)} {
        if (error_ != Runtime::success || before_ == device) return;
        error_ = Runtime::set_device(device);
        switched_ = error_ == Runtime::success;
    }
    current_device(const current_device&) = delete;
    current_device& operator=(const current_device&) = delete;
    ~current_device() {
        if (switched_) static_cast<void>(Runtime::set_device(before_));
    }

    [[nodiscard]] error_type error() const noexcept { return error_; }

private:
    int before_ = 0;
    bool switched_ = false;
    error_type error_;
};

/// The failure that an error of the runtime's is, taken from where get_last_error would find it.
template <class Device>
[[nodiscard]] acquired<Device> refused(typename Device::error error) noexcept {
    static_cast<void>(Device::runtime::get_last_error());
    return acquired<Device>::failure(error);
}

/// A region of what `take(&address, size)` gives, aligned as asked. What is no multiple of 256 goes to `give_back`.
/// The device names the `runtime` that it calls.
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

/// The address that the runtime gave for a region of `acquire_by`.
[[nodiscard]] inline void* given_address(region<void*> held) noexcept {
    if (held.align == base_align) return held.base;
    return static_cast<std::byte*>(held.base) - (align_up(held.size, held.align) - held.size);
}

/// Memory of one device, by its ordinal.
template <gpu::runtime Runtime>
class device_memory {
public:
    using runtime = Runtime;
    using address_model = raw_pointer;
    using error = typename Runtime::error;
    static constexpr bool host_accessible = false;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = base_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = Runtime::dl_memory;

    explicit device_memory(int device = 0) noexcept : device_{device} {}

    [[nodiscard]] acquired<device_memory> acquire(layout wanted) noexcept {
        const current_device<Runtime> there{device_};
        if (there.error() != Runtime::success) return refused<device_memory>(there.error());
        return acquire_by<device_memory>(
            wanted, [](void** address, std::size_t size) { return Runtime::malloc_device(address, size); },
            [](void* address) { static_cast<void>(Runtime::free_device(address)); });
    }
    void release(region<void*> held) noexcept {
        const current_device<Runtime> there{device_};
        static_cast<void>(Runtime::free_device(given_address(held)));
    }

    /// The device's ordinal, as the runtime counts.
    [[nodiscard]] int device() const noexcept { return device_; }

private:
    int device_;
};

/// Memory of the host that is locked in place, so that devices copy from it and to it by themselves. Every device may
/// use it by the same address.
template <gpu::runtime Runtime>
class pinned {
public:
    using runtime = Runtime;
    using address_model = raw_pointer;
    using error = typename Runtime::error;
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = base_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = Runtime::dl_pinned;

    [[nodiscard]] acquired<pinned> acquire(layout wanted) noexcept {
        return acquire_by<pinned>(
            wanted, [](void** address, std::size_t size) { return Runtime::malloc_host(address, size); },
            [](void* address) { static_cast<void>(Runtime::free_host(address)); });
    }
    void release(region<void*> held) noexcept { static_cast<void>(Runtime::free_host(given_address(held))); }
};

/// Memory whose pages go to whoever touches them, the host or a device.
template <gpu::runtime Runtime>
class managed {
public:
    using runtime = Runtime;
    using address_model = raw_pointer;
    using error = typename Runtime::error;
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = base_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = Runtime::dl_managed;

    [[nodiscard]] acquired<managed> acquire(layout wanted) noexcept {
        return acquire_by<managed>(
            wanted, [](void** address, std::size_t size) { return Runtime::malloc_managed(address, size); },
            [](void* address) { static_cast<void>(Runtime::free_device(address)); });
    }
    void release(region<void*> held) noexcept { static_cast<void>(Runtime::free_device(given_address(held))); }
};

/// Memory of a stream's device, acquired and released in the order of that stream.
template <gpu::runtime Runtime>
class async_memory {
public:
    using runtime = Runtime;
    using address_model = raw_pointer;
    using error = typename Runtime::error;
    using stream_type = typename Runtime::stream;
    static constexpr bool host_accessible = false;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = base_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = Runtime::dl_memory;

    explicit async_memory(stream_type stream) noexcept : stream_{stream} {}

    [[nodiscard]] acquired<async_memory> acquire(layout wanted) noexcept {
        return acquire_by<async_memory>(
            wanted,
            [this](void** address, std::size_t size) { return Runtime::malloc_async(address, size, stream_); },
            [this](void* address) { static_cast<void>(Runtime::free_async(address, stream_)); });
    }
    void release(region<void*> held) noexcept {
        static_cast<void>(Runtime::free_async(given_address(held), stream_));
    }

    [[nodiscard]] stream_type stream() const noexcept { return stream_; }

private:
    stream_type stream_;
};

}  // namespace gpu
}  // namespace v1
}  // namespace allot
