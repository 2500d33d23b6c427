// SPDX-License-Identifier: BSL-1.0
// tightly_coupled: a small, fast window of memory near a core (TCM, VTCM, scratchpad), named by its address and size.
//
//     allot::host::tightly_coupled tcm{reinterpret_cast<void*>(0x2000'0000), 64_KiB};           // from the data sheet
//     extern std::byte tcm_start[], tcm_end[];                                            // from the linker script
//     allot::host::tightly_coupled tcm{tcm_start, static_cast<std::size_t>(tcm_end - tcm_start)};
//
// One arena acquires the whole window and keeps it. A second acquisition fails. The device derives the alignment from
// the base address. It does not initialize the bytes.
//
// When to use: for hot data on cores with fast local memory. To keep records out of the window, set `.store` to
// `node_store::side_table`, or use a `pool` or a `paged` composition.
// When not to use: for ordinary memory. `buffer` has the same behavior and states a more general intent.
// Complexity: O(1).
// Memory: an address, a size, and a flag.
// Thread safety: not synchronized.
#pragma once

#include <allot/host/buffer.hpp>

namespace allot {
inline namespace v1 {
namespace host {

/// Device over a fixed window of fast memory.
class tightly_coupled : public traits_of<buffer> {
public:
    using error = host::window_error;             ///< Reason for a failed `acquire`.
    static constexpr bool self_contained = true;  ///< All state is in the object.

    /// Refers to `size` bytes at `base`.
    tightly_coupled(void* base, std::size_t size) noexcept : window_{base, size} {}

    /// Returns the size of the window in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return window_.capacity(); }
    /// Acquires the whole window from its first suitably aligned byte on. Fails with `host::window_error`.
    [[nodiscard]] acquired<tightly_coupled> acquire(layout wanted) noexcept {
        return window_.acquire<tightly_coupled>(wanted);
    }
    /// Makes the window available again.
    void release(region<void*> held) noexcept { window_.release(held); }

private:
    host::window window_;
};

static_assert(bounded_device<tightly_coupled> && self_contained_device<tightly_coupled>);

}  // namespace host
}  // namespace v1
}  // namespace allot
