// SPDX-License-Identifier: BSL-1.0
// staged: one storage in memory that the host does not access, without kernels in this program. A tensor is copied to
// the host to be read, and back after it is written, with the copy functions of the vendor.
//
//     device   │ t4 │  t0   │      t2      │ … │        every tensor at its planned offset
//                      ▲ ▼
//     host     │ as large as the largest tensor │
#pragma once

#include "storages.hpp"

#include <allot/host/heap.hpp>

#include <algorithm>

namespace demo {

/// `Copy` is the argument of copy_tensor that copies between `Device`'s memory and the host.
template <class Device, class Copy>
class staged_memory {
public:
    staged_memory(const network& net, tally& counts, Device device = Device{}, Copy copy = Copy{})
        : net_{net},
          places_{net, counts, std::move(device)},
          copy_{std::move(copy)},
          stage_{storage_in(host_, largest(net), host_align)},
          tensors_(net.tensors.size()) {}
    staged_memory(const staged_memory&) = delete;  // tensors refer to the memory by its address
    staged_memory& operator=(const staged_memory&) = delete;

    void begin(std::size_t t) { tensors_[t] = places_.take(t); }
    void end(std::size_t t) { tensors_[t] = {}; }

    void start_step() { sum_ = 0; }
    void absorb(std::size_t t, std::size_t number) { sum_ += sum_of(t, number); }
    void witness(std::size_t t) { final_ += sum_of(t, t); }
    void produce(std::size_t t, std::uint64_t salt) { write(t, mix::key_of(sum_, salt)); }
    void fill(std::size_t t, std::uint64_t salt) { write(t, mix::key_of(0, salt)); }
    [[nodiscard]] std::uint64_t digest() const { return final_; }
    [[nodiscard]] std::size_t arena_bytes() const { return places_.arena_bytes(); }

private:
    using host_memory_type = allot::naive<allot::host::heap>;

    [[nodiscard]] static std::size_t largest(const network& net) {
        std::size_t most = 1;
        for (const auto& each : net.tensors) most = std::max(most, each.size);
        return most;
    }
    template <class From, class To>
    void copy(const From& from, const To& to) {
        if (const auto copied = allot::copy_tensor(from, to, copy_); !copied)
            throw std::runtime_error{std::string{"cannot copy a tensor: "} + copied.error().what()};
    }
    [[nodiscard]] std::uint64_t sum_of(std::size_t t, std::size_t number) {
        const auto here = bytes_at(stage_, 0, net_.tensors[t].size);
        copy(tensors_[t], here);
        return mix::absorb(here.data(), net_.tensors[t].size, 0, number);
    }
    void write(std::size_t t, std::uint64_t key) {
        const auto here = bytes_at(stage_, 0, net_.tensors[t].size);
        mix::produce(here.data(), net_.tensors[t].size, 0, key);
        copy(here, tensors_[t]);
    }

    const network& net_;
    planned_places<Device> places_;
    Copy copy_;
    host_memory_type host_;
    allot::storage<host_memory_type> stage_;
    std::vector<tensor_of<Device>> tensors_;
    std::uint64_t sum_ = 0, final_ = 0;
};

}  // namespace demo
