// SPDX-License-Identifier: BSL-1.0
// separate: every tensor has a storage of its own on the heap, from when its life begins. The reference: nothing is
// planned, so nothing can be planned wrong.
#pragma once

#include "storages.hpp"

#include <allot/host/memory.hpp>

namespace demo {

class separate_places {
public:
    separate_places(const network& net, tally& counts) : net_{net}, memory_{{{}, counts}} {}

    /// The tensor keeps its storage.
    [[nodiscard]] auto take(std::size_t t) {
        const std::size_t size = net_.tensors[t].size;
        return bytes_at(storage_in(memory_, size), 0, size);
    }

private:
    const network& net_;
    memory_of<allot::host::heap> memory_;
};

using separate_memory = mixed_by_host<separate_places>;

}  // namespace demo
