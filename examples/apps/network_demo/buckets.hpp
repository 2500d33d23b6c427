// SPDX-License-Identifier: BSL-1.0
// buckets: a typical allocator of graph runtimes, for comparison. Requests are rounded up to 4 KiB. A freed region is
// kept for a request of exactly its size. Regions are neither split nor merged, and return to the device only at the
// end, or if more than 4096 are kept.
//
//     request 5000 ──► 8 KiB bucket: │ region │ region │ region │      empty? then from the device
#pragma once

#include "counting.hpp"
#include "network.hpp"

#include <allot/arena/naive.hpp>
#include <allot/compose/cached.hpp>
#include <allot/host/heap.hpp>

namespace demo {

struct heap_in_pages : allot::host::heap {
    static constexpr std::size_t granularity = 4096;
};
using buckets =
    allot::naive<allot::cached<counting<heap_in_pages>, allot::cached_options{.regions = 4096, .waste = 1}>>;

/// Replays the same lifetimes, in the program's order, through the buckets. Accesses no byte. Returns an empty result
/// if the heap is exhausted.
[[nodiscard]] inline tally through_buckets(const network& net) {
    tally counts;
    buckets pool{buckets::device_type{counting<heap_in_pages>{{}, counts}}};
    std::vector<buckets::block_type> live(net.tensors.size());
    const schedule lives{net};
    bool refused = false;
    for (std::size_t now = 0; now != net.duration() && !refused; ++now) {
        for (const std::size_t t : lives.begins[now]) {
            live[t] = pool.allocate({.size = net.tensors[t].size, .align = 64});
            refused = refused || !live[t];
        }
        for (const std::size_t t : lives.ends[now]) pool.deallocate(std::exchange(live[t], {}));
    }
    for (const auto& held : live) pool.deallocate(held);
    return refused ? tally{} : counts;
}

}  // namespace demo
