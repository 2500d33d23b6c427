// SPDX-License-Identifier: BSL-1.0
// row_storage: a storage whose rows are separate blocks of an allocator, with a table
// of the rows. `alloc_storage` with a second allocator, for the table, and a shape of several axes returns one.
//
//     auto data = allot::alloc_storage(memory, tables, {8, 64}, allot::int32, 128).value();   // 8 rows of 256 bytes
//     auto a = allot::alloc_tensor(data, 0, {4, 64}, allot::int32).value();                   // rows 0 to 3
//     auto b = allot::alloc_tensor(data, allot::anywhere, {2, 2, 32}, allot::int32).value();  // halves of rows 4 to 7
//
//     table    │ 0 │ 1 │ 2 │ 3 │ …        allocated by `tables`
//                │   └────────────────┐
//                └──────────┐         │
//     memory      │ row 1 │ │ row 0 │ …   a block of `memory` for each row: in an arena, or a region of its own
//
// The last axis of the shape is a row; the others number the rows in row-major order. With axis separators, the shape
// is a logical one. A tensor has consecutive rows of the storage, and is a discontiguous_tensor over a part of the
// storage's table. Its rows may be shorter than those of the storage, except with entries that are indices of rows. Its
// offset counts bytes in row-major order and is a multiple of `row_bytes()`.
//
// When to use: for n-dimensional memory, such as that of graph compilers for processors whose tightly coupled memory
// has separate rows, and where no hole fits the whole storage.
// When not to use: for rows at offsets that a planner selects, use `alloc_discontiguous_tensor`. For blocks of varying
// sizes in rows of one size, use `paged`.
//
// Complexity: one allocation for each row and one for the table. `alloc_tensor` is one search in the placement.
// Memory: on the host heap, a body, and a block for each row. Thread safety: that of the reference policy.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/tensor/detail/allocate_or_trim.hpp>
#include <allot/tensor/discontiguous.hpp>

#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace allot {
inline namespace v1 {

namespace detail {

/// The entries of a row storage's table, unless the caller selects others: pointers where addresses are pointers.
template <class Model>
using default_entry = std::conditional_t<std::same_as<Model, raw_pointer>, row_pointer, row_offset<>>;

template <class Entry>
inline constexpr bool counts_rows = false;
template <class Integer>
inline constexpr bool counts_rows<row_index<Integer>> = true;

/// The table storage of a tensor whose storage contains the table: a lease on it holds nothing.
struct no_table_storage {
    using policies = storage_policies<>;
    struct body_type {
        struct piece {};
        static constexpr bool records = false, separate = false;
    };
    [[nodiscard]] explicit operator bool() const noexcept { return false; }
    [[nodiscard]] static body_type* body() noexcept { return nullptr; }
};

}  // namespace detail

/// The owner of the rows and the table of a row storage.
template <allocator Rows, allocator Tables, class Entry, class Policies>
class row_storage_body {
    using model = typename Rows::address_model;
    using placement = typename Policies::placement;
    using table_type = pointer_table<std::dynamic_extent, Entry, model>;
    using value = typename table_type::value;

public:
    /// Whether rows are recorded, so that live tensors cannot overlap.
    static constexpr bool records = !std::same_as<placement, as_given>;
    /// Whether each tensor has a separate block: false, because the rows are allocated with the storage.
    static constexpr bool separate = false;
    /// Whether no two live tensors share a byte.
    static constexpr bool is_exclusive = records;
    /// The rows of one tensor.
    using piece = detail::storage_piece<placement, void>;

    static_assert(linear_address_model<model>, "allot: the rows of a storage are contiguous: use an arena or naive");
    static_assert(
        Tables::host_accessible && std::same_as<typename Tables::address_model, raw_pointer>,
        "allot: the host writes the table of a storage in rows: use a table allocator of memory that the host "
        "can access");
    static_assert(!records || positional<placement>,
                  "allot: the placement of a storage must be allot::as_given or a positional strategy, such as "
                  "best_fit");

    /// Creates a body without memory.
    row_storage_body() noexcept = default;
    row_storage_body(const row_storage_body&) = delete;
    row_storage_body& operator=(const row_storage_body&) = delete;
    /// Frees the rows and the table. In hardened builds, a live tensor is a misuse (`leaked`).
    ~row_storage_body() {
        if constexpr (Policies::hardened != hardening::none) {
            if (live_ != 0) typename Policies::on_misuse{}(misuse::leaked, 0, live_);
        }
        free_rows(rows_);
    }

    /// Allocates the table and all rows, or nothing. Returns the error, or an error of `none`.
    [[nodiscard]] tensor_error acquire(Rows& from, Tables& tables, std::size_t rows, std::size_t row_bytes,
                                       std::size_t align) noexcept {
        from_ = &from;
        tables_ = &tables;
        row_bytes_ = row_bytes;
        align_ = align;
        if (rows == 0) return {};
        std::size_t table_bytes = 0;
        if (!checked_multiply(rows, sizeof(value), table_bytes) || !fits_placement(rows))
            return {tensor_refusal::too_large};
        const layout for_table{table_bytes, alignof(value)};
        blocks_.reset(new (std::nothrow) block_of<Rows>[rows]);
        if (blocks_ == nullptr) return {tensor_refusal::no_host_memory};
        table_ = detail::allocate_or_trim(tables, for_table);
        if (!table_) return {tensor_refusal::no_memory, no_row, tables.diagnose(for_table)};
        for (; rows_ != rows; ++rows_) {
            blocks_[rows_] = detail::allocate_or_trim(from, {row_bytes, align});
            if (!blocks_[rows_]) return {tensor_refusal::no_memory, rows_, from.diagnose({row_bytes, align})};
        }
        if constexpr (records) {
            using offset = typename placement::offset_type;
            if (!placement_.insert({0, static_cast<offset>(rows * unit)}, {})) return {tensor_refusal::no_host_memory};
        }
        return write();
    }

    /// Returns the number of rows.
    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    /// Returns the number of bytes of a row.
    [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
    /// Returns the alignment of each row.
    [[nodiscard]] std::size_t align() const noexcept { return align_; }
    /// Returns a view of the table.
    [[nodiscard]] row_table<table_type> table() const noexcept {
        return {static_cast<const value*>(table_.address), rows_, origin_, row_bytes_};
    }

    /// Allocates consecutive rows at an offset in bytes, or by a search for `anywhere`, and returns the first one.
    template <storage_offset Offset>
    [[nodiscard]] tensor_result<std::size_t> take(Offset offset, std::size_t count, piece& taken) noexcept {
        using answer = tensor_result<std::size_t>;
        std::size_t first = 0;
        if constexpr (!std::same_as<Offset, anywhere_t>) {
            if (std::cmp_less(offset, 0)) return answer::failure({tensor_refusal::negative_offset});
            const auto wide = static_cast<std::uint64_t>(offset);
            if (row_bytes_ != 0 && wide % row_bytes_ != 0) return answer::failure({tensor_refusal::misaligned});
            const std::uint64_t row = row_bytes_ == 0 ? 0 : wide / row_bytes_;
            if (row > rows_ || count > rows_ - static_cast<std::size_t>(row))
                return answer::failure({tensor_refusal::out_of_bounds});
            first = static_cast<std::size_t>(row);
        } else {
            static_assert(records,
                          "allot: a storage whose placement is as_given cannot be searched: give an offset, or give "
                          "the storage a strategy");
        }
        if (count == 0) return std::size_t{0};
        if constexpr (records) {
            const tensor_error error = place(offset, first, count, taken);
            if (error.reason != tensor_refusal::none) return answer::failure(error);
            first = static_cast<std::size_t>(taken.allocation.where.offset) / unit;
        }
        fill(first, count, fresh_byte);
        return first;
    }
    /// Frees the rows of a tensor. Precondition: `take` returned them.
    void give_back([[maybe_unused]] const piece& taken) noexcept {
        if constexpr (records) {
            const auto where = taken.allocation.where;
            fill(static_cast<std::size_t>(where.offset) / unit, static_cast<std::size_t>(where.size) / unit,
                 freed_byte);
            lock_.acquire();
            placement_.deallocate(taken.allocation);
            if constexpr (Policies::hardened != hardening::none) --live_;
            lock_.release();
        }
    }

private:
    static constexpr int fresh_byte = 0xCD, freed_byte = 0xDD;
    /// The number of offsets of the placement for each row: its granule.
    static constexpr std::size_t unit = [] {
        if constexpr (requires { placement::extent_align; }) return std::size_t{placement::extent_align};
        else return std::size_t{1};
    }();

    [[nodiscard]] static bool fits_placement(std::size_t rows) noexcept {
        if constexpr (records) return rows <= std::numeric_limits<typename placement::offset_type>::max() / unit;
        else return true;
    }
    template <storage_offset Offset>
    [[nodiscard]] tensor_error place(Offset, std::size_t first, std::size_t count, piece& taken) noexcept {
        using offset = typename placement::offset_type;
        const auto size = static_cast<offset>(count * unit);
        if (count > rows_) return {tensor_refusal::no_memory, no_row, {refusal::exhausted}};
        diagnosis error{};
        lock_.acquire();
        if constexpr (std::same_as<Offset, anywhere_t>) {
            const layout_for<placement> wanted{size, static_cast<offset>(unit)};
            taken.allocation = placement_.allocate(wanted);
            if (!taken.allocation) error = placement_.diagnose(wanted);
        } else {
            const basic_extent<offset> where{static_cast<offset>(first * unit), size};
            taken.allocation = placement_.allocate_at(where);
            if (!taken.allocation) error = placement_.diagnose_at(where);
        }
        if constexpr (Policies::hardened != hardening::none) live_ += taken.allocation ? 1 : 0;
        lock_.release();
        if (error.reason == refusal::not_free) return {tensor_refusal::overlapping, no_row, error};
        return taken.allocation ? tensor_error{} : tensor_error{tensor_refusal::no_memory, no_row, error};
    }
    /// Writes the table. Entries count from the row at the lowest position.
    [[nodiscard]] tensor_error write() noexcept {
        origin_ = blocks_[0].address;
        for (std::size_t row = 1; row != rows_; ++row)
            if (model::position(blocks_[row].address) < model::position(origin_)) origin_ = blocks_[row].address;
        for (std::size_t row = 0; row != rows_; ++row) {
            value* const entry = ::new (static_cast<void*>(static_cast<value*>(table_.address) + row)) value{};
            if (!table_type::entry::encode(origin_, blocks_[row].address, row_bytes_, *entry))
                return {tensor_refusal::entry_too_narrow, row};
        }
        return {};
    }
    void free_rows(std::size_t count) noexcept {
        for (std::size_t i = 0; i != count; ++i)
            from_->deallocate(blocks_[Rows::reclaims == reclaim::fifo ? i : count - 1 - i]);
        if (table_) tables_->deallocate(table_);
    }
    void fill([[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t count,
              [[maybe_unused]] int byte) const noexcept {
        if constexpr (Policies::hardened == hardening::debug && Rows::host_accessible &&
                      std::same_as<model, raw_pointer>)
            for (std::size_t row = first; row != first + count; ++row)
                std::memset(blocks_[row].address, byte, row_bytes_);
    }

    Rows* from_ = nullptr;
    Tables* tables_ = nullptr;
    std::unique_ptr<block_of<Rows>[]> blocks_;
    block_of<Tables> table_{};
    typename model::address origin_{};
    std::size_t rows_ = 0, row_bytes_ = 0, align_ = 1, live_ = 0;
    ALLOT_NO_UNIQUE_ADDRESS placement placement_{};
    ALLOT_NO_UNIQUE_ADDRESS typename Policies::references::lock lock_{};
};

/// A handle to a storage in rows. `alloc_storage` with two allocators creates it.
template <allocator Rows, allocator Tables, class Entry = detail::default_entry<typename Rows::address_model>,
          class Policies = storage_policies<>>
class row_storage {
    static_assert(Policies::references::counted,
                  "allot: a storage in rows counts references: use references::plain or references::atomic");

public:
    /// The policies.
    using policies = Policies;
    /// The object that owns the rows.
    using body_type = row_storage_body<Rows, Tables, Entry, Policies>;
    /// The handle to the body.
    using handle_type = detail::body_handle<body_type, typename Policies::references>;
    /// The address model of the rows.
    using address_model = typename Rows::address_model;
    /// The address model of the table.
    using table_model = pointer_table<std::dynamic_extent, Entry, address_model>;
    /// The type of the tensors in the storage.
    using tensor_type = discontiguous_tensor<detail::no_table_storage, row_storage, Entry>;
    /// Whether the host may read and write the rows.
    static constexpr bool host_accessible = Rows::host_accessible;
    /// How consumers of the rows use offsets.
    static constexpr offset_use offsets = Rows::offsets;
    /// The kind of the rows' memory in DLPack's terms.
    static constexpr dl_device_type dl_device = Rows::dl_device;

    /// Creates an empty handle.
    row_storage() noexcept = default;
    /// Creates a handle to an existing body. `alloc_storage` calls it.
    explicit row_storage(handle_type to) noexcept : to_{std::move(to)} {}

    /// Returns false for a handle that was killed or never refers to a body.
    [[nodiscard]] explicit operator bool() const noexcept { return to_.get() != nullptr; }
    /// Returns the number of rows.
    [[nodiscard]] std::size_t rows() const noexcept { return body() == nullptr ? 0 : body()->rows(); }
    /// Returns the number of bytes of a row.
    [[nodiscard]] std::size_t row_bytes() const noexcept { return body() == nullptr ? 0 : body()->row_bytes(); }
    /// Returns the number of bytes of all rows.
    [[nodiscard]] std::size_t size() const noexcept { return rows() * row_bytes(); }
    /// Returns the alignment of each row.
    [[nodiscard]] std::size_t align() const noexcept { return body() == nullptr ? 1 : body()->align(); }
    /// Returns the table of all rows. Precondition: the handle is not empty.
    [[nodiscard]] row_table<table_model> table() const noexcept { return body()->table(); }

    /// Drops this reference. The rows are freed with the last reference of a storage or tensor. A second call has no
    /// effect; in hardened builds it is a misuse.
    void kill() noexcept {
        detail::check_alive<Policies>(static_cast<bool>(*this));
        to_ = {};
    }
    /// Returns the body, for the tensors in it; null after `kill`.
    [[nodiscard]] body_type* body() const noexcept { return to_.get(); }
    /// Returns whether both handles refer to the same body.
    friend bool operator==(const row_storage& a, const row_storage& b) noexcept { return a.body() == b.body(); }

private:
    handle_type to_;
};

namespace detail {

/// Returns the physical shape: the shape itself without separators.
[[nodiscard]] constexpr tensor_result<shape> physical_or_same(const shape& of,
                                                              const axis_separators& separators) noexcept {
    return separators.rank() == 0 ? tensor_result<shape>{of} : physical_shape(of, separators);
}

}  // namespace detail

/// Allocates a storage in rows: a block of `rows` for each row of the shape, aligned to `align`, and a table of them in
/// `tables`. The last axis of the shape is a row. With separators, the shape is a logical one that they convert. The
/// allocators must outlive the storage. Fails with `bad_shape` for fewer than two axes, `bad_separators`, `bad_dtype`,
/// `too_large`, `partial_bytes`, `bad_alignment`, `no_memory`, `no_host_memory`, or `entry_too_narrow` if the entries
/// cannot represent a row. `row` of the error is the row that failed. A failed call frees all rows.
template <class Policies = storage_policies<>, class Entry = void, allocator Rows, allocator Tables>
    requires requires { typename Policies::placement; }
[[nodiscard]] auto alloc_storage(Rows& rows, Tables& tables, const shape& of, dtype type,
                                 std::size_t align = alignof(std::max_align_t),
                                 const axis_separators& separators = {}) noexcept {
    using entry = std::conditional_t<std::is_void_v<Entry>, detail::default_entry<typename Rows::address_model>, Entry>;
    using fresh = row_storage<Rows, Tables, entry, Policies>;
    using answer = tensor_result<fresh>;
    const auto physical = detail::physical_or_same(of, separators);
    if (!physical) return answer::failure(physical.error());
    const auto form = detail::rows_of(*physical, type);
    if (!form) return answer::failure(form.error());
    if (form->ends_inside_a_byte) return answer::failure({tensor_refusal::partial_bytes});
    if (!is_alignment(align)) return answer::failure({tensor_refusal::bad_alignment});
    auto handle = fresh::handle_type::make();
    if (handle.get() == nullptr) return answer::failure({tensor_refusal::no_host_memory});
    const tensor_error error = handle.get()->acquire(rows, tables, form->rows, form->row_bytes, align);
    return error.reason == tensor_refusal::none ? answer{fresh{std::move(handle)}} : answer::failure(error);
}
/// Allocates a storage in rows in the memory of a scope, with its table in `tables`.
template <memory_scope Scope, std::int64_t Ordinal = 0, class Policies = storage_policies<>, class Entry = void,
          class... Entries, allocator Tables>
[[nodiscard]] auto alloc_storage(const scope_map<Entries...>& memories, Tables& tables, const shape& of, dtype type,
                                 std::size_t align = alignof(std::max_align_t),
                                 const axis_separators& separators = {}) noexcept {
    return alloc_storage<Policies, Entry>(detail::storage_memory<Scope, Ordinal>(memories), tables, of, type, align,
                                          separators);
}

/// Allocates a tensor in consecutive rows of a storage, at an offset in bytes that is a multiple of `row_bytes()`, or
/// `anywhere`. The last axis of the shape is a row. With separators, the shape is a logical one. Fails with `killed`,
/// `bad_shape`, `bad_separators`, `bad_dtype`, `too_large`, `partial_bytes`, `negative_offset`, `misaligned`,
/// `out_of_bounds` for rows that are longer than those of the storage or behind its end, `shape_mismatch` for shorter
/// rows with entries that are indices of rows, `overlapping`, `no_memory` or `no_host_memory`.
template <class Rows, class Tables, class Entry, class Policies, storage_offset Offset>
[[nodiscard]] tensor_result<typename row_storage<Rows, Tables, Entry, Policies>::tensor_type> alloc_tensor(
    const row_storage<Rows, Tables, Entry, Policies>& in, Offset offset, const shape& extents, dtype type,
    const axis_separators& separators = {}) noexcept {
    using fresh = typename row_storage<Rows, Tables, Entry, Policies>::tensor_type;
    using answer = tensor_result<fresh>;
    const auto refuse = [](tensor_refusal reason) { return answer::failure({reason}); };
    if (!in) return refuse(tensor_refusal::killed);
    const auto physical = detail::physical_or_same(extents, separators);
    if (!physical) return answer::failure(physical.error());
    const auto form = detail::rows_of(*physical, type);
    if (!form) return answer::failure(form.error());
    if (form->ends_inside_a_byte) return refuse(tensor_refusal::partial_bytes);
    if (form->rows != 0 && form->row_bytes > in.row_bytes()) return refuse(tensor_refusal::out_of_bounds);
    if (detail::counts_rows<Entry> && form->rows != 0 && form->row_bytes != in.row_bytes())
        return refuse(tensor_refusal::shape_mismatch);
    typename fresh::data_lease lease;
    if (const tensor_refusal reason = lease.start(in, 1); reason != tensor_refusal::none) return refuse(reason);
    typename row_storage<Rows, Tables, Entry, Policies>::body_type::piece taken{};
    const auto first = in.body()->take(offset, form->rows, taken);
    if (!first) return answer::failure(first.error());
    if (form->rows != 0) lease.keep(taken);
    const auto all = in.table();
    const decltype(in.table()) rows{all.entries + *first, form->rows, all.origin, form->row_bytes};
    return fresh{{}, std::move(lease), rows, type, *physical, extents};
}

}  // namespace v1
}  // namespace allot
