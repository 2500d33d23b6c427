// SPDX-License-Identifier: BSL-1.0
// xrt::calls: the functions of AMD's Xilinx Runtime (XRT) that allot calls, as a table.
//
//     const allot::xrt::calls xrt = allot::xrt::installed();     // of libxrt_coreutil.so.2
//     if (!xrt) return;                                          // use other memory
//
// The signatures are those of XRT's C interface (<xrt/deprecated/xrt.h>, <experimental/xrt_bo.h>). No header of XRT is
// included and nothing is linked, because XRT is no package of most systems. A program can fill in a table of its own.
//
// When to use: to construct `xrt::buffers` and `xrt::imported_memory`.
// When not to use: for other calls of XRT, such as those that run kernels.
// Complexity: eight look-ups by name.
// Memory: eight pointers.
// Thread safety: immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>

namespace allot {
inline namespace v1 {
namespace xrt {

/// A handle of a board, `xrtDeviceHandle`.
using device_handle = void*;
/// A handle of a buffer object, `xrtBufferHandle`.
using buffer_handle = void*;

/// The functions. Each member is the function that its comment names.
struct calls {
    buffer_handle (*alloc)(device_handle, std::size_t, std::uint64_t, std::uint32_t) = nullptr;  ///< `xrtBOAlloc`
    int (*free)(buffer_handle) = nullptr;                                                        ///< `xrtBOFree`
    std::size_t (*size)(buffer_handle) = nullptr;                                                ///< `xrtBOSize`
    void* (*map)(buffer_handle) = nullptr;                                                       ///< `xrtBOMap`
    std::uint64_t (*address)(buffer_handle) = nullptr;                                           ///< `xrtBOAddress`
    int (*sync)(buffer_handle, int, std::size_t, std::size_t) = nullptr;                         ///< `xrtBOSync`
    int (*export_buffer)(buffer_handle) = nullptr;                                               ///< `xrtBOExport`
    buffer_handle (*import_buffer)(device_handle, int) = nullptr;                                ///< `xrtBOImport`

    /// The directions of `sync`, `xclBOSyncDirection`.
    enum direction : int {
        to_device = 0,   ///< Writes of the host become visible to the device.
        from_device = 1  ///< Writes of the device become visible to the host.
    };

    /// Returns whether all functions exist.
    [[nodiscard]] constexpr explicit operator bool() const noexcept {
        return alloc && free && size && map && address && sync && export_buffer && import_buffer;
    }
};

/// Opens the library and looks up the functions. The library stays open. The table is empty if the library or one of
/// the functions is missing.
[[nodiscard]] inline calls installed(const char* library = "libxrt_coreutil.so.2") noexcept {
    void* const opened = ::dlopen(library, RTLD_NOW);
    if (opened == nullptr) return {};
    calls found;
    const auto find = [opened]<class Function>(Function& to, const char* name) {
        to = reinterpret_cast<Function>(::dlsym(opened, name));
    };
    find(found.alloc, "xrtBOAlloc");
    find(found.free, "xrtBOFree");
    find(found.size, "xrtBOSize");
    find(found.map, "xrtBOMap");
    find(found.address, "xrtBOAddress");
    find(found.sync, "xrtBOSync");
    find(found.export_buffer, "xrtBOExport");
    find(found.import_buffer, "xrtBOImport");
    return found ? found : calls{};
}

}  // namespace xrt
}  // namespace v1
}  // namespace allot
