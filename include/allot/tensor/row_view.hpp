// SPDX-License-Identifier: BSL-1.0
// row_view: a part, a reshape or another dtype of a discontiguous tensor, over the same rows and the same table.
//
//     auto part = allot::slice(rows, {1, 16}, {2, 32}).value();          // columns 16 to 47 of rows 1 and 2
//     auto heads = allot::view(rows, allot::float16, {4, 8, 16}).value();  // (4, 128) as (4, 8, 16)
//     void* at = heads.address({3, 0, 5});                               // the byte of one element
//     auto plain = allot::as_tensor(part);                               // a tensor, if the rows are adjacent
//
//     rows, in order   │ row 0         │ row 1         │ row 2         │ row 3         │
//     part             │               │    ███████    │    ███████    │               │
//                                           ▲ byte_offset() = 1 · row bytes + 16 · element bytes
//
// `slice` and `view` treat the rows as if they followed one another, and mean the same as for a contiguous tensor
// (tensor.hpp). A kernel finds byte `n` of that order at `table[n / row_bytes] + n % row_bytes`. A view sees later
// changes of the table: it is a part of the tensor, and it keeps the rows and the table allocated. With
// `references::none` the tensor must outlive its views, and views of shared rows cannot be the target of a copy.
//
// `for_each_run` and `copy_tensor` accept views. `as_tensor` returns a tensor on the same bytes if the rows of the view
// are adjacent in memory, and fails with `not_compact` otherwise. Rows of `shared_rows` are then read-only, and a later
// `write` of the discontiguous tensor leaves the bytes of that tensor unchanged.
//
// When to use: to pass a part of a tensor to a copy, to a kernel that reads the table, or to another library.
// When not to use: to make a tensor with rows of its own; use `fork` (fork.hpp) or `copy_tensor`.
//
// Complexity: O(rank); `as_tensor` is O(rows). Memory: the handle; nothing on the heap, except for `as_tensor` of
// shared rows. Thread safety: that of the reference policy.
#pragma once

#include <allot/tensor/discontiguous.hpp>

namespace allot {
inline namespace v1 {

namespace detail {

/// The address model of bytes in row-major order: an address is a position. It is not linear, because positions do not
/// show the alignment of bytes.
struct row_major {
    using address = std::size_t;
    using base = address;
    [[nodiscard]] static constexpr address locate(address from, std::size_t n) noexcept { return from + n; }
};

/// The lease of a tensor of positions, which keeps nothing allocated.
template <class Policies>
struct row_major_lease {
    struct storage_type {
        using policies = Policies;
        using address_model = row_major;
        static constexpr bool host_accessible = false;
        static constexpr offset_use offsets = offset_use::arithmetic;
        static constexpr dl_device_type dl_device = dl_device_type::ext_dev;
    };
    bool is_alive = false;

    [[nodiscard]] explicit operator bool() const noexcept { return is_alive; }
    [[nodiscard]] static constexpr bool is_read_only() noexcept { return false; }
};

template <class Lease>
using shared_lease = decltype(share(std::declval<const Lease&>()));

/// Whether rows of a storage have counts, so that several tensors name one row.
template <class Storage>
inline constexpr bool has_counted_rows = requires { requires Storage::body_type::counts_rows; };

}  // namespace detail

/// A view of a discontiguous tensor. `slice` and `view` create it.
template <class Tensor>
class row_view {
public:
    /// The type of the discontiguous tensor.
    using tensor_type = Tensor;
    /// The type of the lease on the table.
    using table_lease = detail::shared_lease<typename Tensor::table_lease>;
    /// The type of the lease on the rows.
    using data_lease = detail::shared_lease<typename Tensor::data_lease>;
    /// The policies of the data storage.
    using policies = typename Tensor::policies;
    /// The address model of the rows.
    using address_model = typename Tensor::address_model;
    /// The address of a byte of a row.
    using address_type = typename Tensor::address_type;
    /// The address model of the table.
    using table_model = typename Tensor::table_model;
    /// The elements in row-major order: their positions instead of addresses.
    using layout_type = tensor<detail::row_major_lease<policies>>;
    /// Whether the host may read and write the rows.
    static constexpr bool host_accessible = Tensor::host_accessible;
    /// How consumers of the data storage's memory use offsets.
    static constexpr offset_use offsets = Tensor::offsets;
    /// The kind of the data storage's memory in DLPack's terms.
    static constexpr dl_device_type dl_device = Tensor::dl_device;

    /// Creates an empty handle.
    row_view() noexcept = default;
    /// Creates a view of a whole tensor, with its physical shape.
    explicit row_view(const Tensor& of) noexcept
        : table_lease_{detail::share(of.of_table())},
          data_lease_{detail::share(of.lease())},
          table_{of.table()},
          layout_{{true}, 0, detail::tensor_form{of.dtype(), of.shape()}} {}
    /// Creates a view with other elements of the same rows. `slice` and `view` call it.
    row_view(const row_view& of, const layout_type& elements) noexcept
        : table_lease_{of.table_lease_}, data_lease_{of.data_lease_}, table_{of.table_}, layout_{elements} {}

    /// Returns false for a handle that was killed or never created.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(layout_); }

    /// Returns the table of all rows of the tensor.
    [[nodiscard]] row_table<table_model> table() const noexcept { return table_; }
    /// Returns the number of bytes from the first row to the first element, in row-major order.
    [[nodiscard]] std::size_t byte_offset() const noexcept { return layout_.address(); }
    /// Returns the address of the byte with an element. Precondition: the position is inside the shape.
    [[nodiscard]] address_type address(const allot::shape& position) const noexcept {
        const allot::strides steps = strides();
        std::size_t elements = 0;
        for (std::size_t axis = 0; axis != position.rank(); ++axis)
            elements += static_cast<std::size_t>(position[axis]) * static_cast<std::size_t>(steps[axis]);
        const std::size_t bits = dtype().element_bits();
        return locate(byte_offset() + elements / 8 * bits + elements % 8 * bits / 8);
    }
    /// Returns the address of byte `n` of the rows of the tensor in row-major order.
    [[nodiscard]] address_type locate(std::size_t n) const noexcept { return table_model::locate(table_, n); }
    /// Returns the dtype.
    [[nodiscard]] allot::dtype dtype() const noexcept { return layout_.dtype(); }
    /// Returns the shape.
    [[nodiscard]] allot::shape shape() const noexcept { return layout_.shape(); }
    /// Returns the strides in elements, in row-major order.
    [[nodiscard]] allot::strides strides() const noexcept { return layout_.strides(); }
    /// Returns the number of elements.
    [[nodiscard]] std::size_t size() const noexcept { return layout_.size(); }
    /// Returns the number of bytes of the elements, without gaps.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return layout_.size_bytes(); }
    /// Returns whether the elements follow one another in row-major order.
    [[nodiscard]] bool is_compact() const noexcept { return layout_.is_compact(); }
    /// Returns whether bits of the last byte belong to other elements.
    [[nodiscard]] bool shares_last_byte() const noexcept { return layout_.shares_last_byte(); }

    /// Drops the references to table and rows. A second call has no effect; in hardened builds it is a misuse.
    void kill() noexcept {
        layout_.kill();
        layout_ = {};
        data_lease_ = {};
        table_lease_ = {};
        table_ = {};
    }

    /// Returns the lease on the rows.
    [[nodiscard]] const data_lease& lease() const noexcept { return data_lease_; }
    /// Returns the elements as a tensor of positions.
    [[nodiscard]] const layout_type& elements() const noexcept { return layout_; }

private:
    table_lease table_lease_{};
    data_lease data_lease_{};
    row_table<table_model> table_{};
    layout_type layout_{};
};

namespace detail {

template <class Tensor>
inline constexpr bool is_row_view = false;
template <class Tensor>
inline constexpr bool is_row_view<row_view<Tensor>> = true;
template <class Tensor>
inline constexpr bool is_discontiguous = false;
template <class Table, class Data, class Entry>
inline constexpr bool is_discontiguous<discontiguous_tensor<Table, Data, Entry>> = true;

template <class Tensor>
[[nodiscard]] auto view_in_rows(const Tensor& of) noexcept {
    if constexpr (is_row_view<Tensor>) return of;
    else return of ? row_view<Tensor>{of} : row_view<Tensor>{};
}

/// The positions of the first and the last byte of the elements. Precondition: there are elements.
struct byte_range {
    std::size_t first = 0, last = 0;
};
template <class Policies>
[[nodiscard]] byte_range byte_range_of(const tensor<row_major_lease<Policies>>& of) noexcept {
    std::size_t reach = 1;  // elements from the first to the last one
    const shape extents = of.shape();
    const strides steps = of.strides();
    for (std::size_t axis = 0; axis != extents.rank(); ++axis)
        reach += static_cast<std::size_t>(extents[axis] - 1) * static_cast<std::size_t>(steps[axis]);
    return {of.address(), of.address() + *of.dtype().bytes_for(reach) - 1};
}

/// Returns `no_offsets` if elements begin inside a row and consumers take no offset, or `none`.
template <class Tensor>
[[nodiscard]] tensor_refusal check_offset(const row_view<Tensor>& of) noexcept {
    const bool is_inside = of.size() != 0 && of.byte_offset() % of.table().row.bytes() != 0;
    return Tensor::offsets == offset_use::none && is_inside ? tensor_refusal::no_offsets : tensor_refusal::none;
}

/// Returns the reason that the elements of a compact view do not fit the rows: `not_compact` for an element in two
/// rows, `misaligned`, or `none`. `align` is the alignment that the tensor does not have.
template <class Tensor>
[[nodiscard]] tensor_refusal check_elements(const row_view<Tensor>& of, std::size_t align) noexcept {
    if (of.size() == 0) return tensor_refusal::none;
    const std::size_t row_bytes = of.table().row.bytes(), bits = of.dtype().element_bits();
    const byte_range bytes = byte_range_of(of.elements());
    const std::size_t first = bytes.first / row_bytes, last = bytes.last / row_bytes;
    // The number of bits may overflow.
    const auto divides = [bits](std::size_t n) { return n % bits * 8 % bits == 0; };
    if (first != last && !divides((first + 1) * row_bytes - bytes.first)) return tensor_refusal::not_compact;
    if (last - first > 1 && !divides(row_bytes)) return tensor_refusal::not_compact;
    if (bytes.first % row_bytes % align != 0 || of.lease().body()->align() % align != 0)
        return tensor_refusal::misaligned;
    return check_offset(of);
}

}  // namespace detail

/// A discontiguous tensor, or a view of one.
template <class Tensor>
concept tensor_in_rows = detail::is_discontiguous<Tensor> || detail::is_row_view<Tensor>;

/// The type of a view of a discontiguous tensor or of such a view.
template <tensor_in_rows Tensor>
using row_view_of = decltype(detail::view_in_rows(std::declval<const Tensor&>()));

/// Returns a view of a part: `sizes[i]` elements from `begin[i]` on along each axis of the physical shape, or of the
/// shape of the view. Fails as `slice` of a contiguous tensor does. Where consumers take no offset, the part must begin
/// at the first byte of a row (`no_offsets`).
template <tensor_in_rows Tensor>
[[nodiscard]] tensor_result<row_view_of<Tensor>> slice(const Tensor& of, const shape& begin,
                                                       const shape& sizes) noexcept {
    using answer = tensor_result<row_view_of<Tensor>>;
    const auto whole = detail::view_in_rows(of);
    const auto part = slice(whole.elements(), begin, sizes);
    if (!part) return answer::failure(part.error());
    row_view_of<Tensor> fresh{whole, *part};
    const tensor_refusal reason = detail::check_offset(fresh);
    return reason == tensor_refusal::none ? answer{std::move(fresh)} : answer::failure({reason});
}

/// Returns a view of the bytes from `byte_offset` on in row-major order, with another dtype and shape. Fails as `view`
/// of a contiguous tensor does. An element must be in one row (`not_compact`), and rows must be aligned for a dtype
/// with more alignment (`misaligned`). Where consumers take no offset, the view must begin at the first byte of a row
/// (`no_offsets`).
template <tensor_in_rows Tensor>
[[nodiscard]] tensor_result<row_view_of<Tensor>> view(const Tensor& of, dtype type, const shape& extents,
                                                      std::int64_t byte_offset = 0) noexcept {
    using answer = tensor_result<row_view_of<Tensor>>;
    const auto whole = detail::view_in_rows(of);
    const auto other = view(whole.elements(), type, extents, byte_offset);
    if (!other) return answer::failure(other.error());
    row_view_of<Tensor> fresh{whole, *other};
    const auto align_of = [](dtype each) {
        return each.is_whole_bytes() ? alignment_of(each.element_bytes()) : std::size_t{1};
    };
    const std::size_t align = align_of(type) > align_of(of.dtype()) ? align_of(type) : 1;
    const tensor_refusal reason = detail::check_elements(fresh, align);
    return reason == tensor_refusal::none ? answer{std::move(fresh)} : answer::failure({reason});
}

// ── adjacent rows ────────────────────────────────────────────────────────────────────────────────────────────────────

namespace detail {

/// A lease on shared rows, which must not be written.
template <class Lease>
class read_only_lease : public Lease {
public:
    [[nodiscard]] static constexpr bool is_read_only() noexcept { return true; }
};

/// Leases the rows of a view from `first` on. Rows that are shared get one more reference each.
template <class Tensor>
[[nodiscard]] auto lease_rows(const row_view<Tensor>& of, [[maybe_unused]] std::size_t first,
                              [[maybe_unused]] std::size_t count) noexcept {
    using storage = typename Tensor::data_lease::storage_type;
    if constexpr (!has_counted_rows<storage>) {
        return tensor_result<typename row_view<Tensor>::data_lease>{of.lease()};
    } else {
        static_assert(storage::policies::references::counted,
                      "allot: a tensor of references::none keeps no rows alive: copy shared rows with copy_tensor");
        using fresh = read_only_lease<typename Tensor::data_lease>;
        fresh lease;
        if (const auto reason = lease.start(of.lease().storage(), count); reason != tensor_refusal::none)
            return tensor_result<fresh>::failure({reason});
        for (std::size_t row = first; row != first + count; ++row) {
            of.lease().body()->share(of.lease().piece(row));
            lease.keep(of.lease().piece(row));
        }
        return tensor_result<fresh>{std::move(lease)};
    }
}

}  // namespace detail

/// The type of a contiguous tensor on adjacent rows.
template <tensor_in_rows Tensor>
using tensor_on_rows =
    tensor<typename decltype(detail::lease_rows(std::declval<const row_view_of<Tensor>&>(), 0, 0))::value_type>;

/// Returns a tensor on the same bytes, if the rows of the tensor or view are adjacent in memory and in order. Rows of
/// `shared_rows` are read-only. Fails with `killed`, `not_compact` or `no_host_memory`.
template <tensor_in_rows Tensor>
[[nodiscard]] tensor_result<tensor_on_rows<Tensor>> as_tensor(const Tensor& of) noexcept {
    using fresh = tensor_on_rows<Tensor>;
    using answer = tensor_result<fresh>;
    using model = typename Tensor::address_model;
    static_assert(
        !requires { requires !fresh::storage_type::is_one_kind; },
        "allot: these rows are in memories of different kinds: copy them to a tensor with copy_tensor");
    if (!of) return answer::failure({tensor_refusal::killed});
    const auto all = detail::view_in_rows(of);
    std::size_t first = 0, count = 0;
    typename fresh::address_type address{};
    if (all.size() != 0) {
        const std::size_t row_bytes = all.table().row.bytes();
        const detail::byte_range bytes = detail::byte_range_of(all.elements());
        first = bytes.first / row_bytes;
        count = bytes.last / row_bytes - first + 1;
        for (std::size_t row = first + 1; row != first + count; ++row) {
            if (all.table()[row] != model::locate(all.table()[row - 1], row_bytes))
                return answer::failure({tensor_refusal::not_compact, row});
        }
        address = all.locate(bytes.first);
    }
    auto lease = detail::lease_rows(all, first, count);
    if (!lease) return answer::failure(lease.error());
    return fresh{*std::move(lease), address, all.elements().form()};
}

}  // namespace v1
}  // namespace allot
