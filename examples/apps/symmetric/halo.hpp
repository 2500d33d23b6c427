// SPDX-License-Identifier: BSL-1.0
// Heat in a plate: every rank has some of the rows, and a copy of one row of each neighbor, the halo.
//
//     rank 0   │ edge │ rows … │ halo │ ◄─ put ─┐        a step: write the outer rows to the neighbors' halos,
//     rank 1          ▲ put ─ │ halo │ rows … │ edge │   synchronize and compute; then swap the two tensors
//
// A neighbor's halo is a slice of the same tensor on its rank. Every rank computes a cell by the same sum, so the
// result is identical, bit for bit, for any number of ranks.
#pragma once

#include "shared.hpp"

#include <allot/tensor.hpp>
#include <allot/tensor/symmetric.hpp>

#include <algorithm>
#include <utility>

namespace example {

inline constexpr int plate_rows = 64, plate_columns = 48, heat_steps = 200;

template <class Device, class Ranks>
class plate {
    using memory_type = memory_of_ranks<Device, Ranks>;
    using storage_type = allot::storage<memory_type>;
    using tensor_type = allot::tensor_in<storage_type>;
    using everywhere = decltype(*allot::agree_on(std::declval<memory_type&>(), std::declval<tensor_type&>()));
    using symmetric = std::remove_cvref_t<everywhere>;

    memory_type& memory_;
    Ranks& ranks_;
    int rows_;
    storage_type data_;
    symmetric now_, next_;
    allot::remote_copy<Device> way_;

    [[nodiscard]] symmetric tensor() {
        auto made = allot::alloc_tensor(data_, allot::anywhere, {rows_ + 2, plate_columns}, allot::float32);
        require(static_cast<bool>(made), "a tensor of the plate cannot be allocated");
        auto agreed = allot::agree_on(memory_, *made);
        if (!agreed) require(false, agreed.error().what());
        std::fill_n(cells(*agreed), (rows_ + 2) * plate_columns, 0.0F);
        return *agreed;
    }
    [[nodiscard]] static float* cells(const symmetric& of) {
        return static_cast<float*>(Device::local(of.here().address()));
    }
    /// Returns one row of a tensor.
    template <class Tensor>
    [[nodiscard]] static auto row(const Tensor& of, int y) {
        return *allot::slice(of, {y, 0}, {1, plate_columns});
    }
    void put_row(int from, int rank, int to) {
        const auto there = now_.on(rank);
        if (!there) require(false, to_string(there.error()));
        const auto copied = allot::copy_tensor(row(now_.here(), from), row(*there, to), way_);
        require(static_cast<bool>(copied), "a row cannot be copied");
    }
    void synchronize() { require_code(Device::synchronize(ranks_, data_.base().handle), "synchronize"); }

public:
    plate(memory_type& memory, Ranks& ranks) : memory_{memory}, ranks_{ranks}, rows_{share(plate_rows, ranks.size())} {
        auto made = allot::alloc_storage(memory_, {.size = 32_KiB, .align = 64});
        require(static_cast<bool>(made), "the plate's storage cannot be allocated");
        data_ = *made;
        now_ = tensor();
        next_ = tensor();
        if (ranks_.rank() == 0) std::fill_n(cells(now_) + plate_columns, plate_columns, 100.0F);  // one edge is hot
        synchronize();
    }

    void step() {
        if (ranks_.rank() > 0) put_row(1, ranks_.rank() - 1, rows_ + 1);
        if (ranks_.rank() < ranks_.size() - 1) put_row(rows_, ranks_.rank() + 1, 0);
        synchronize();
        const float* const now = cells(now_);
        float* const next = cells(next_);
        for (int y = 1; y <= rows_; ++y) {
            for (int x = 0; x != plate_columns; ++x) {
                const int at = y * plate_columns + x;
                const float west = x > 0 ? now[at - 1] : 0.0F, east = x + 1 < plate_columns ? now[at + 1] : 0.0F;
                next[at] = 0.25F * ((now[at - plate_columns] + now[at + plate_columns]) + (west + east));
            }
        }
        std::swap(now_, next_);  // on every rank
    }

    /// Reads all cells in order from their ranks. Every rank must call it.
    [[nodiscard]] std::uint64_t sum() {
        synchronize();
        allot::arena<allot::host::heap, allot::best_fit<>> heap{{}, 64_KiB};
        auto host = *allot::alloc_storage(heap, {.size = 32_KiB, .align = 64});
        auto part = *allot::alloc_tensor(host, 0, {rows_, plate_columns}, allot::float32);
        std::uint64_t all = no_bytes;
        for (int rank = 0; rank != ranks_.size(); ++rank) {
            const auto there = *allot::slice(*now_.on(rank), {1, 0}, {rows_, plate_columns});
            require(static_cast<bool>(allot::copy_tensor(there, part, way_)), "a part of the plate cannot be copied");
            all = checksum(all, part.data(), part.size_bytes());
        }
        synchronize();
        return all;
    }
};

}  // namespace example
