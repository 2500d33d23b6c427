// SPDX-License-Identifier: BSL-1.0
// storages: shared parts of the demo's memories: a validated plan, and functions that return storages and tensors or
// throw. A storage rejects a tensor that overlaps another, which verifies the plan a second time.
#pragma once

#include "counting.hpp"
#include "network.hpp"
#include "placement.hpp"
#include "run.hpp"

#include <allot/arena/naive.hpp>
#include <allot/tensor.hpp>

namespace demo {

/// Alignment of every tensor in host memory.
inline constexpr std::size_t host_align = 64;

/// An allocator that acquires one region for each storage from a counting device.
template <class Device>
using memory_of = allot::naive<counting<Device>>;
template <class Device>
using storage_of = allot::storage<memory_of<Device>>;
template <class Device>
using tensor_of = allot::tensor_in<storage_of<Device>>;

/// Returns a storage of `size` bytes. Throws if the device fails.
template <class Allocator>
[[nodiscard]] allot::storage<Allocator> storage_in(Allocator& memory, std::size_t size,
                                                   std::size_t align = alignof(std::max_align_t)) {
    auto made = allot::alloc_storage(memory, {.size = size, .align = align});
    if (!made)
        throw unavailable{"cannot allocate a storage of " + std::to_string(size) + " bytes: " + made.error().what() +
                          " (error " + std::to_string(made.error().memory.device_error) + ")"};
    return *std::move(made);
}

/// Returns the value. Throws if a planned allocation fails.
template <class Value>
[[nodiscard]] Value as_planned(allot::tensor_result<Value> made) {
    if (!made) throw std::logic_error{std::string{"a storage rejects a planned tensor: "} + made.error().what()};
    return *std::move(made);
}

/// Returns a tensor of `size` bytes at its planned offset.
template <class Storage>
[[nodiscard]] allot::tensor_in<Storage> bytes_at(const Storage& in, std::size_t offset, std::size_t size) {
    return as_planned(allot::alloc_tensor(in, offset, {static_cast<std::int64_t>(size)}, allot::uint8));
}

/// Places every tensor at its planned offset in one storage of the plan's peak size.
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
