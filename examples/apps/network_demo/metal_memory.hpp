// SPDX-License-Identifier: BSL-1.0
// metal: one storage in a Metal buffer shared with the host, on the device that `Open` returns. Tensors are the buffer
// and an offset; the host computes in the buffer's contents.
#pragma once

#include "storages.hpp"

#include <allot/metal/memory.hpp>

namespace demo {

template <class Device, Device* (*Open)()>
class metal_places : public planned_places<allot::metal::buffer<Device>> {
    using buffer = allot::metal::buffer<Device>;

public:
    metal_places(const network& net, tally& counts) : planned_places<buffer>{net, counts, buffer{device()}} {}

    [[nodiscard]] static void* reach(typename buffer::address at) noexcept { return allot::metal::contents(at); }

private:
    [[nodiscard]] static Device* device() {
        Device* const found = Open();
        if (found == nullptr) throw unavailable{"no Metal device"};
        return found;
    }
};

template <class Device, Device* (*Open)()>
using metal_memory = mixed_by_host<metal_places<Device, Open>>;

}  // namespace demo
