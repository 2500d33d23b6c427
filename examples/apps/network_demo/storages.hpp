// SPDX-License-Identifier: BSL-1.0
// storages: what the memories of the demo share: a checked plan, and storages and tensors that are there or are an
// exception. A storage refuses a tensor on a byte that is taken, so that it proves the plan once more.
#pragma once

#include "counting.hpp"
#include "network.hpp"
#include "placement.hpp"
#include "run.hpp"

#include <allot/arena/naive.hpp>
#include <allot/tensor.hpp>

namespace demo {

/// What every tensor in host memory is aligned to.
inline constexpr std::size_t host_align = 64;

/// One region for each storage, straight from a device that counts.
template <class Device>
using memory_of = allot::naive<counting<Device>>;
template <class Device>
using storage_of = allot::storage<memory_of<Device>>;
template <class Device>
using tensor_of = allot::tensor_in<storage_of<Device>>;

/// A storage of `size` bytes; throws where the device does not give as many.
template <class Allocator>
[[nodiscard]] allot::storage<Allocator> storage_in(Allocator& memory, std::size_t size,
                                                   std::size_t align = alignof(std::max_align_t)) {
    auto made = allot::alloc_storage(memory, static_cast<std::int64_t>(size), align);
    if (!made)
        throw unavailable{"there is no storage of " + std::to_string(size) + " bytes: " + made.error().what() +
                          " (error " + std::to_string(made.error().memory.device_error) + ")"};
    return *std::move(made);
}

/// What was planned is not refused: the value, or an exception.
template <class Value>
[[nodiscard]] Value as_planned(allot::tensor_result<Value> made) {
    if (!made) throw std::logic_error{std::string{"a storage refuses what was planned: "} + made.error().what()};
    return *std::move(made);
}

/// A tensor of `size` bytes at its planned offset.
template <class Storage>
[[nodiscard]] allot::tensor_in<Storage> bytes_at(const Storage& in, std::size_t offset, std::size_t size) {
    return as_planned(allot::alloc_tensor(in, offset, {static_cast<std::int64_t>(size)}, allot::uint8));
}

/// Every tensor at its planned offset in one storage, which is as large as the plan's peak.
template <class Device>
class planned_places {
public:
    planned_places(const network& net, tally& counts, Device device = {}, std::size_t align = host_align)
        : net_{net},
          plan_{place_tensors(net, align)},
          memory_{{std::move(device), counts}},
          storage_{storage_in(memory_, plan_.peaks[0], align)} {}

    [[nodiscard]] tensor_of<Device> take(std::size_t t) {
        return bytes_at(storage_, plan_.places[t].offset, net_.tensors[t].size);
    }
    [[nodiscard]] std::size_t arena_bytes() const { return storage_.size(); }
    [[nodiscard]] const placement& places() const { return plan_; }
    [[nodiscard]] const Device& device() const { return memory_.device().device(); }

private:
    const network& net_;
    placement plan_;
    memory_of<Device> memory_;
    storage_of<Device> storage_;
};

}  // namespace demo
