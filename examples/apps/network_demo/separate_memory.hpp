// SPDX-License-Identifier: BSL-1.0
// separate: each tensor has its own storage on the heap, allocated when its lifetime begins. This memory is the
// reference: without a plan, there is no error of a plan.
#pragma once

#include "storages.hpp"

#include <allot/host/heap.hpp>

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
