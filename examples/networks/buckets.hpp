// buckets: what a graph runtime does today, written for the comparison. Requests are rounded up to 4 KiB; a block that
// is given back waits in the bucket of exactly its size for a request of exactly that size. Nothing is split, nothing
// is joined, and nothing goes back to the device before the end.
//
//     request 5000 ──► 8 KiB bucket: │ block │ block │      empty? then from the device
#pragma once

#include "counting.hpp"
#include "network.hpp"

#include <allot/device/host.hpp>

#include <map>

namespace demo {

class buckets {
public:
    explicit buckets(tally& counts) : device_{{}, counts} {}
    buckets(const buckets&) = delete;
    buckets& operator=(const buckets&) = delete;
    ~buckets() {
        for (auto& [size, waiting] : waiting_) {
            for (const auto& held : waiting) device_.release(held);
        }
    }

    /// Empty when the device gives nothing.
    [[nodiscard]] allot::region<void*> allocate(std::size_t size) {
        constexpr std::size_t page = 4096;
        const std::size_t rounded = (size + page - 1) / page * page;
        auto& waiting = waiting_[rounded];
        if (waiting.empty()) {
            const auto answer = device_.acquire({.size = rounded, .align = 64});
            return answer ? *answer : allot::region<void*>{};
        }
        const auto reused = waiting.back();
        waiting.pop_back();
        return reused;
    }
    void deallocate(allot::region<void*> held) { waiting_[held.size].push_back(held); }

private:
    counting<allot::host::heap> device_;
    std::map<std::size_t, std::vector<allot::region<void*>>> waiting_;
};

/// The same lives, in the program's order, through the buckets. No byte is touched. Empty when the heap gives out.
[[nodiscard]] inline tally through_buckets(const network& net) {
    tally counts;
    buckets pool{counts};
    std::vector<allot::region<void*>> live(net.tensors.size());
    const schedule lives{net};
    bool refused = false;
    for (std::size_t now = 0; now != net.duration() && !refused; ++now) {
        for (const std::size_t t : lives.begins[now]) {
            live[t] = pool.allocate(net.tensors[t].size);
            refused = refused || !live[t];
        }
        for (const std::size_t t : lives.ends[now]) {
            if (live[t]) pool.deallocate(std::exchange(live[t], {}));
        }
    }
    const tally result = counts;
    for (const auto& held : live) {
        if (held) pool.deallocate(held);
    }
    return refused ? tally{} : result;
}

}  // namespace demo
