// SPDX-License-Identifier: BSL-1.0
// for_each_run: visits the bytes of a tensor as contiguous runs, whether the tensor is contiguous, discontiguous or a
// slice.
//
//     auto error = allot::for_each_run(tensor, [&](auto at, std::size_t n) noexcept { sum += checksum(at, n); });
//
//     tensor in rows   │ row 0 │ row 1 │      │ row 3 │ row 2 │        three runs: rows 0 and 1, row 2, row 3
//     slice            │  ███  │  ███  │  ███  │                      one for each of its rows
//
// A run is a range of contiguous bytes; the runs follow the row-major order of the elements. Adjacent rows of a
// discontiguous tensor form one run. A run of a slice covers its trailing contiguous axes. A compact tensor is one run.
//
// When to use: for code that processes bytes of any tensor: checksums, input and output, transfers.
// When not to use: to copy between tensors; use `copy_tensor` (copy.hpp), which also checks for overlap. Textures have
// no runs, because the device determines their layout.
//
// Complexity: O(rows), or O(runs) for a slice. Memory: none. Thread safety: none; the caller synchronizes access to the
// bytes.
#pragma once

#include <allot/tensor/discontiguous.hpp>
#include <allot/tensor/row_view.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {

/// A range of contiguous bytes.
template <class Address>
struct run {
    Address address{};     ///< The first byte.
    std::size_t size = 0;  ///< The number of bytes.
};

namespace detail {

/// The runs of a tensor in row-major order of its elements. Precondition: each run begins and ends at whole bytes.
template <class Lease>
class tensor_runs {
    using model = typename tensor<Lease>::address_model;

public:
    using run_type = run<typename tensor<Lease>::address_type>;

    explicit tensor_runs(const tensor<Lease>& of) noexcept
        : of_{&of}, shape_{of.shape()}, steps_{of.strides()}, left_{of.size_bytes()} {
        // The axes from `outer_` on are contiguous.
        outer_ = of.is_compact() ? 0 : shape_.rank();
        std::int64_t elements = 1;
        if (outer_ == 0) {
            run_bytes_ = left_;
            return;
        }
        while (outer_ != 0 && (shape_[outer_ - 1] == 1 || steps_[outer_ - 1] == elements)) elements *= shape_[--outer_];
        run_bytes_ = static_cast<std::size_t>(elements) * of.dtype().element_bytes();
    }
    /// Returns the next run, or an empty run at the end.
    [[nodiscard]] run_type next() noexcept {
        if (left_ == 0) return {};
        left_ -= run_bytes_;
        const run_type here{model::locate(of_->address(), skipped_ * of_->dtype().element_bytes()), run_bytes_};
        for (std::size_t axis = outer_; axis-- != 0;) {
            const auto step = static_cast<std::size_t>(steps_[axis]);
            skipped_ += step;
            if (++at_[axis] != shape_[axis]) break;
            skipped_ -= step * static_cast<std::size_t>(at_[axis]);
            at_[axis] = 0;
        }
        return here;
    }

private:
    const tensor<Lease>* of_;
    shape shape_;
    strides steps_;
    std::int64_t at_[max_rank]{};
    std::size_t outer_ = 0, run_bytes_ = 0, skipped_ = 0, left_;
};

/// The runs of a discontiguous tensor: adjacent rows form one run.
template <class Tensor>
class row_runs {
    using model = typename Tensor::address_model;

public:
    using run_type = run<typename Tensor::address_type>;

    explicit row_runs(const Tensor& of) noexcept : of_{&of} {}
    [[nodiscard]] run_type next() noexcept {
        if (row_ == of_->rows()) return {};
        run_type here{of_->row(row_++), of_->row_bytes()};
        while (row_ != of_->rows() && of_->row(row_) == model::locate(here.address, here.size)) {
            here.size += of_->row_bytes();
            ++row_;
        }
        return here;
    }

private:
    const Tensor* of_;
    std::size_t row_ = 0;
};

/// The runs of a view of a discontiguous tensor: those in row-major order, cut where the next row is not adjacent.
template <class Tensor>
class view_runs {
    using model = typename Tensor::address_model;

public:
    using run_type = run<typename Tensor::address_type>;

    explicit view_runs(const row_view<Tensor>& of) noexcept : of_{&of}, in_order_{of.elements()} {}
    [[nodiscard]] run_type next() noexcept {
        if (left_.size == 0) left_ = in_order_.next();
        if (left_.size == 0) return {};
        run_type here{of_->locate(left_.address), 0};
        do {
            const std::size_t row_bytes = of_->table().row.bytes();
            const std::size_t bytes = std::min(left_.size, row_bytes - left_.address % row_bytes);
            here.size += bytes;
            left_ = {left_.address + bytes, left_.size - bytes};
        } while (left_.size != 0 && of_->locate(left_.address) == model::locate(here.address, here.size));
        return here;
    }

private:
    const row_view<Tensor>* of_;
    tensor_runs<row_major_lease<typename Tensor::policies>> in_order_;
    run<std::size_t> left_{};  // positions
};

template <class Lease>
[[nodiscard]] tensor_runs<Lease> runs_of(const tensor<Lease>& of) noexcept {
    return tensor_runs<Lease>{of};
}
template <class Table, class Data, class Entry>
[[nodiscard]] auto runs_of(const discontiguous_tensor<Table, Data, Entry>& of) noexcept {
    return row_runs<discontiguous_tensor<Table, Data, Entry>>{of};
}
template <class Tensor>
[[nodiscard]] view_runs<Tensor> runs_of(const row_view<Tensor>& of) noexcept {
    return view_runs<Tensor>{of};
}

/// Returns whether the stride of each axis exceeds the reach of all axes with smaller strides, so that no two elements
/// share bytes.
[[nodiscard]] constexpr bool is_nested(const shape& of, const strides& steps) noexcept {
    // The distance in elements from the first element to the last one along the axes of smaller strides.
    const auto reach = [&](std::int64_t below) {
        std::int64_t last = 0;
        for (std::size_t axis = 0; axis != of.rank(); ++axis) {
            if (of[axis] > 1 && steps[axis] < below) last += (of[axis] - 1) * steps[axis];
        }
        return last;
    };
    for (std::size_t axis = 0; axis != of.rank(); ++axis) {
        if (of[axis] <= 1) continue;
        if (steps[axis] <= reach(steps[axis])) return false;
        for (std::size_t other = 0; other != axis; ++other) {
            if (of[other] > 1 && steps[other] == steps[axis]) return false;
        }
    }
    return true;
}

/// Returns the reason that a tensor cannot be read as runs of whole bytes or, with `written`, cannot be written: it is
/// read-only, shares its last byte, or has two elements that share bytes.
template <class Lease>
[[nodiscard]] tensor_refusal check_runs(const tensor<Lease>& of, bool written) noexcept {
    if (written && of.is_read_only()) return tensor_refusal::read_only;
    if (written && of.shares_last_byte()) return tensor_refusal::partial_bytes;
    if (of.is_compact()) return tensor_refusal::none;
    if (!of.dtype().is_whole_bytes()) return tensor_refusal::partial_bytes;
    return written && !is_nested(of.shape(), of.strides()) ? tensor_refusal::bad_strides : tensor_refusal::none;
}
/// Returns whether another tensor names one of these rows. Where the view does not know the counts, it returns true.
template <class Lease>
[[nodiscard]] bool has_shared_row(const Lease& rows, std::size_t first, std::size_t count) noexcept {
    if constexpr (!has_counted_rows<typename Lease::storage_type>) {
        return false;
    } else if constexpr (!requires { rows.piece(first); }) {
        return count != 0;
    } else {
        for (std::size_t row = first; row != first + count; ++row)
            if (rows.body()->count(rows.piece(row)) != 1) return true;
        return false;
    }
}
template <class Table, class Data, class Entry>
[[nodiscard]] tensor_refusal check_runs(const discontiguous_tensor<Table, Data, Entry>& of, bool written) noexcept {
    return written && has_shared_row(of.lease(), 0, of.rows()) ? tensor_refusal::shared_row : tensor_refusal::none;
}
template <class Tensor>
[[nodiscard]] tensor_refusal check_runs(const row_view<Tensor>& of, bool written) noexcept {
    if (const tensor_refusal reason = check_runs(of.elements(), written); reason != tensor_refusal::none) return reason;
    auto in_order = runs_of(of.elements());
    const std::size_t row_bytes = of.table().row.bytes();
    for (auto part = in_order.next(); written && part.size != 0; part = in_order.next()) {
        const std::size_t first = part.address / row_bytes, last = (part.address + part.size - 1) / row_bytes;
        if (has_shared_row(of.lease(), first, last - first + 1)) return tensor_refusal::shared_row;
    }
    return tensor_refusal::none;
}

template <class Lease>
[[nodiscard]] bool shares_last_byte(const tensor<Lease>& of) noexcept {
    return of.shares_last_byte();
}
template <class Table, class Data, class Entry>
[[nodiscard]] bool shares_last_byte(const discontiguous_tensor<Table, Data, Entry>&) noexcept {
    return false;  // rows are whole bytes
}
template <class Tensor>
[[nodiscard]] bool shares_last_byte(const row_view<Tensor>& of) noexcept {
    return of.shares_last_byte();
}

}  // namespace detail

/// A tensor whose bytes have addresses. Textures are excluded, because the device determines their layout.
template <class Tensor>
concept tensor_with_runs = requires(const Tensor& of) { detail::runs_of(of); };

/// Calls `use(address, bytes)` for each run, in row-major order of the elements. `use` must not throw. A tensor without
/// elements has no runs. Fails with `killed` for an empty handle, and with `partial_bytes` for a strided tensor of a
/// sub-byte dtype and for a tensor that shares its last byte.
template <tensor_with_runs Tensor, class Use>
[[nodiscard]] tensor_error for_each_run(const Tensor& of, Use&& use) noexcept {
    if (!of) return {tensor_refusal::killed};
    if (const tensor_refusal reason = detail::check_runs(of, false); reason != tensor_refusal::none) return {reason};
    if (detail::shares_last_byte(of)) return {tensor_refusal::partial_bytes};
    auto runs = detail::runs_of(of);
    for (auto run = runs.next(); run.size != 0; run = runs.next()) use(run.address, run.size);
    return {};
}

}  // namespace v1
}  // namespace allot
