// SPDX-License-Identifier: BSL-1.0
// tightly_coupled: a small, fast window of memory beside a core (VTCM, TCM, scratchpads), given by its address and
// size, or by the linker section that covers it.
//
//     allot::host::tightly_coupled tcm{reinterpret_cast<void*>(0x2000'0000), 64_KiB};           // from the data sheet
//     extern std::byte tcm_start[], tcm_end[];                                            // from the linker script
//     allot::host::tightly_coupled tcm{tcm_start, static_cast<std::size_t>(tcm_end - tcm_start)};
//
// One arena takes the whole window and keeps it; a second acquisition is refused. The base's alignment is found out
// from the address. Fast memory is too dear for records: say `.store = node_store::side_table` to keep them elsewhere,
// or use a pool, or paged rows. The bytes are whatever they were: nothing is zeroed.
// Thread safety: none.
#pragma once

#include <allot/host/memory.hpp>

namespace allot {
inline namespace v1 {
namespace host {

class tightly_coupled {
public:
    using address_model = raw_pointer;
    using error = host::window_error;
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 1;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::cpu;
    static constexpr bool self_contained = true;

    tightly_coupled(void* base, std::size_t size) noexcept : window_{base, size} {}

    [[nodiscard]] std::size_t capacity() const noexcept { return window_.capacity(); }
    [[nodiscard]] acquired<tightly_coupled> acquire(layout wanted) noexcept {
        return window_.acquire<tightly_coupled>(wanted);
    }
    void release(region<void*> held) noexcept { window_.release(held); }

private:
    host::window window_;
};

static_assert(bounded_device<tightly_coupled> && self_contained_device<tightly_coupled>);

}  // namespace host
}  // namespace v1
}  // namespace allot
