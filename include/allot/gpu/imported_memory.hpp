// SPDX-License-Identifier: BSL-1.0
// gpu_imported_memory: memory of another driver in the CUDA and HIP runtimes, written once over a table of a vendor's
// calls.
//
//     region of a driver ──► external::memory ──► import_memory ──► get_mapped_buffer ──► a pointer for kernels
//
// When to use: to support another runtime whose calls have the form of CUDA's.
// When not to use: in programs for CUDA or HIP. Include cuda/imported_memory.hpp or hip/imported_memory.hpp, which fill
// in the table.
//
// The code relies on these rules, whose sources each vendor's header names:
//   - A successful import transfers the descriptor to the driver; a failed one does not. Therefore each `acquire`
//     passes a duplicate and closes it only if the import fails.
//   - An opaque descriptor belongs to the same GPU: the identifiers are equal.
//   - A mapped buffer is freed like device memory, before its external memory is destroyed.
//
// Complexity: three runtime calls and one system call for the region.
// Memory: the descriptor and two pointers.
// Thread safety: that of the runtime. `release` waits for the device.
#pragma once

#include <allot/external/crossing.hpp>
#include <allot/gpu/runtime.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace gpu {

/// A vendor's table with the calls for memory of other drivers.
template <class Runtime>
concept importing_runtime =
    runtime<Runtime> && requires(typename Runtime::external object, void* address, const external::memory& from,
                                 int descriptor, int device, std::size_t size, external::uuid found) {
        { Runtime::import_memory(&object, descriptor, from.about()) } noexcept -> std::same_as<typename Runtime::error>;
        { Runtime::get_mapped_buffer(&address, object, size) } noexcept -> std::same_as<typename Runtime::error>;
        { Runtime::destroy_external(object) } noexcept -> std::same_as<typename Runtime::error>;
        { Runtime::get_uuid(&found, device) } noexcept -> std::same_as<typename Runtime::error>;
    };

/// The device whose only region is memory of another driver, at the same offsets.
template <importing_runtime Runtime>
class imported_memory : public detail::memory_traits<Runtime, false, Runtime::dl_memory> {
public:
    using error = typename Runtime::error;  ///< The runtime's error codes.
    /// The kinds of handles that the device accepts.
    static constexpr external::handle_kinds imports{.opaque_fd = true};

    /// Keeps the memory for the GPU with this ordinal. `acquire` imports it.
    explicit imported_memory(external::memory from, int device = 0) noexcept
        : from_{std::move(from)}, device_{device} {}
    /// Moves the device with its region.
    imported_memory(imported_memory&& other) noexcept
        : from_{std::move(other.from_)}, device_{other.device_}, object_{std::exchange(other.object_, {})} {}
    imported_memory& operator=(imported_memory&&) = delete;

    /// Returns the imported memory.
    [[nodiscard]] const external::memory& source() const noexcept { return from_; }
    /// Returns the size of the memory in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return from_.about().size; }
    /// Returns the device's ordinal, as the runtime counts.
    [[nodiscard]] int device() const noexcept { return device_; }

    /// Imports all of the memory. Fails with the runtime's code for an invalid value if there is no memory, if it is
    /// not an opaque descriptor of this GPU, while the region is held, or for a layout that is invalid or exceeds the
    /// memory or its alignment of 256; with its code for exhausted memory without free descriptors; otherwise with the
    /// runtime's error.
    [[nodiscard]] acquired<imported_memory> acquire(layout wanted) noexcept {
        using answer = acquired<imported_memory>;
        const external::properties& about = from_.about();
        if (!from_ || about.kind != external::handle_kind::opaque_fd || object_ != typename Runtime::external{} ||
            !wanted.is_valid() || wanted.size > about.size || wanted.align > base_align)
            return answer::failure(Runtime::invalid_value);
        const current_device<Runtime> there{device_};
        if (there.error() != Runtime::success) return refused<imported_memory>(there.error());
        external::uuid here{};
        error status = Runtime::get_uuid(&here, device_);
        if (status != Runtime::success) return refused<imported_memory>(status);
        if (about.device != external::uuid{} && about.device != here) return answer::failure(Runtime::invalid_value);
        auto copy = from_.duplicate();
        if (!copy) return answer::failure(Runtime::out_of_memory);
        typename Runtime::external object{};
        status = Runtime::import_memory(&object, copy->descriptor(), about);
        if (status != Runtime::success) return refused<imported_memory>(status);
        static_cast<void>(copy->release());  // the driver owns the descriptor
        void* address = nullptr;
        status = Runtime::get_mapped_buffer(&address, object, about.size);
        if (status == Runtime::success && raw_pointer::position(address) % base_align != 0) {
            static_cast<void>(Runtime::free_device(address));
            status = Runtime::misaligned_address;
        }
        if (status != Runtime::success) {
            static_cast<void>(Runtime::destroy_external(object));
            return refused<imported_memory>(status);
        }
        object_ = object;
        return region<void*>{address, about.size, base_align};
    }
    /// Frees the mapped buffer, which waits for the device, and destroys the external memory.
    void release(region<void*> held) noexcept {
        const current_device<Runtime> there{device_};
        static_cast<void>(Runtime::free_device(held.base));
        static_cast<void>(Runtime::destroy_external(std::exchange(object_, {})));
    }

private:
    external::memory from_;
    int device_;
    typename Runtime::external object_{};
};

}  // namespace gpu
}  // namespace v1
}  // namespace allot
