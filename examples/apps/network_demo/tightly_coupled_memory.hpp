// SPDX-License-Identifier: BSL-1.0
// tightly_coupled: a window of 2 MiB whose tensors are in rows of 2048 bytes, at any free positions, with a table of
// pointers for each tensor. Tensors without planned rows are spilled to a storage in host memory.
//
//     tables  (host)     │ t0: 0 1 2 │ t3: 5 3 │
//     window  (fast)     │ row 0 │ row 1 │ row 2 │ row 3 │ free  │ row 5 │ … 1024 rows
//     spilled (host)     │    t1    │        t2        │
//
// This machine has no such memory. The window is an array on the heap in its place (VTCM on a Hexagon, TCM on a
// microcontroller). The fixed capacity, the rows, the tables and the spilling are real.
#pragma once

#include "storages.hpp"

#include <allot/arena/arena.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/tightly_coupled.hpp>

#include <memory>

namespace demo {

inline constexpr std::size_t row_bytes = 2048;
inline constexpr std::size_t window_bytes = std::size_t{2} << 20;

class tightly_coupled_places {
    struct alignas(row_bytes) window {
        std::byte bytes[window_bytes];
    };
    using tables = allot::arena<counting<allot::host::heap>, allot::best_fit<>, allot::growth::geometric<>>;
    using in_rows = allot::discontiguous_tensor<allot::storage<tables>, storage_of<allot::host::tightly_coupled>>;

public:
    tightly_coupled_places(const network& net, tally& counts)
        : net_{net},
          plan_{place_tensors(net, host_align, row_bytes, window_bytes / row_bytes)},
          fast_memory_{{{window_->bytes, window_bytes}, counts}},
          fast_{storage_in(fast_memory_, window_bytes, row_bytes)},
          tables_{{{}, counts}},
          slow_memory_{{{}, counts}},
          slow_{storage_in(slow_memory_, plan_.peaks[1], host_align)},
          runs_(net.tensors.size()) {}

    [[nodiscard]] std::variant<in_rows, tensor_of<allot::host::heap>> take(std::size_t t) {
        if (is_fast(t)) return rows_for(t);
        return bytes_at(slow_, plan_.places[t].offset, net_.tensors[t].size);
    }

    [[nodiscard]] bool is_fast(std::size_t t) const { return plan_.places[t].memory == 0; }
    [[nodiscard]] std::size_t peak_fast() const { return plan_.peaks[0]; }
    [[nodiscard]] std::size_t arena_bytes() const { return peak_fast() + slow_.size(); }
    [[nodiscard]] const placement& places() const { return plan_; }
    /// The positions of each tensor in the window, for the picture.
    [[nodiscard]] const std::vector<std::vector<allot::extent>>& runs() const { return runs_; }

private:
    /// The tensor keeps the storage of its table alive.
    [[nodiscard]] in_rows rows_for(std::size_t t) {
        const std::size_t rows = (net_.tensors[t].size + (row_bytes - 1)) / row_bytes;
        auto fresh = as_planned(allot::alloc_discontiguous_tensor(
            storage_in(tables_, rows * sizeof(void*)), fast_,
            allot::discontiguous_tensor_request<allot::anywhere_t>{
                .shape = {static_cast<std::int64_t>(rows), row_bytes}, .dtype = allot::uint8}));
        for_pieces(fresh, fresh.size_bytes(), [&](void* at, std::size_t bytes, std::size_t) {
            runs_[t].push_back({static_cast<std::size_t>(static_cast<std::byte*>(at) - window_->bytes), bytes});
        });
        return fresh;
    }

    const network& net_;
    placement plan_;
    std::unique_ptr<window> window_ = std::make_unique<window>();
    memory_of<allot::host::tightly_coupled> fast_memory_;
    storage_of<allot::host::tightly_coupled> fast_;
    tables tables_;
    memory_of<allot::host::heap> slow_memory_;
    storage_of<allot::host::heap> slow_;
    std::vector<std::vector<allot::extent>> runs_;
};

using tightly_coupled_memory = mixed_by_host<tightly_coupled_places>;

}  // namespace demo
