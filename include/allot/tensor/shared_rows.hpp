// SPDX-License-Identifier: BSL-1.0
// shared_rows: rows that several tensors name, counted, and copied when one of the tensors writes.
//
//     auto rows = allot::share_rows(data, tables, 1000).value();                   // up to 1000 rows of `data`
//     auto a = allot::alloc_discontiguous_tensor(tables, allot::anywhere, rows, allot::anywhere, {4, 64},
//                                                allot::int32).value();
//     auto b = allot::fork(a).value();                                             // names the rows of `a`
//     void* row = allot::write(b, 3).value();                                      // row 3 of `b` is a copy now
//
//     table of a   │ 0 │ 1 │ 2 │ 3 │             rows 0 to 2 have two references, and each row 3 has one
//                    │   │   │   └──► row 3
//     table of b   │ 0 │ 1 │ 2 │ 3 │
//                                └──────────► copy of row 3
//
// A `shared_rows` is a storage for discontiguous tensors, over another storage that places the rows. `fork` makes a
// tensor with a table of its own and the same rows, and `write` gives a tensor a row of its own (fork.hpp). A row is
// free when the last tensor that names it ends. Two tensors can also name one row by its offset: an offset that is not
// free is accepted if a row of the same size is there.
//
// The records of the rows are in memory of the caller: in a storage that the host can access, or in a span.
//
// When to use: for a common prefix of several tensors, such as the prompt of several answers, or for versions of a
// tensor that differ in a few rows.
// When not to use: for rows with one owner. For a key/value cache with eviction, use `page_cache`.
//
// Complexity: O(1) for each row, and that of the storage for a new row.
// Memory: one record for each row: 56 bytes over a `best_fit` on a 64-bit machine. A tensor takes 4 bytes a row.
// Thread safety: that of the reference policy. With `references::atomic`, tensors of several threads share rows.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/tensor/detail/lease.hpp>
#include <allot/tensor/detail/reference_guard.hpp>
#include <allot/tensor/detail/row_counts.hpp>

#include <memory>

namespace allot {
inline namespace v1 {

namespace detail {
/// The lease on records that the caller keeps.
struct caller_records {};
}  // namespace detail

/// The owner of the records of shared rows. Users name it only with `references::none`.
template <class Storage, class Records = detail::caller_records>
class shared_rows_body {
    using inner = typename Storage::body_type;
    using lock = typename Storage::policies::references::lock;
    using guard = detail::reference_guard<lock>;

public:
    /// The address model of the rows.
    using address_model = typename Storage::address_model;
    /// The address of a byte.
    using address_type = typename address_model::address;
    /// The number of the record of a row.
    using piece = detail::row_number;
    /// Whether rows are recorded.
    static constexpr bool records = true;
    /// Whether each row has a separate block.
    static constexpr bool separate = inner::separate;
    /// Whether all rows are in one block.
    static constexpr bool is_one_block = inner::is_one_block;
    /// False: several tensors name one row.
    static constexpr bool is_exclusive = false;
    /// True: rows have counts.
    static constexpr bool counts_rows = true;

    static_assert(inner::is_exclusive,
                  "allot: shared rows need a storage that records them: use a placement other than as_given");
    static_assert(
        requires(inner& in, layout wanted, typename inner::piece& taken) { in.take(anywhere, wanted, taken); },
        "allot: a storage in rows has its rows already: share the rows of alloc_storage(memory, size, align)");

    /// Creates a body without records.
    shared_rows_body() noexcept = default;
    shared_rows_body(const shared_rows_body&) = delete;
    shared_rows_body& operator=(const shared_rows_body&) = delete;

    /// Uses a storage and records. Fails with `killed` or `in_use`.
    [[nodiscard]] tensor_error open(const Storage& in, std::span<shared_row<Storage>> rows,
                                    Records held = {}) noexcept {
        if (!in) return {tensor_refusal::killed};
        if (in_) return {tensor_refusal::in_use};
        in_ = in;
        held_ = std::move(held);
        rows_ = detail::row_counts<Storage>{rows};
        return {};
    }

    /// Returns the number of bytes of the storage.
    [[nodiscard]] std::size_t size() const noexcept { return in_.size(); }
    /// Returns the alignment of the rows.
    [[nodiscard]] std::size_t align() const noexcept { return in_.align(); }
    /// Returns the address from which entries count.
    [[nodiscard]] address_type origin() const noexcept { return in_.body()->origin(); }

    /// Allocates a row, or adds a reference to the row at a given offset. Fails with `too_many_rows` when no record is
    /// free, and like the storage.
    template <storage_offset Offset>
    [[nodiscard]] tensor_result<address_type> take(Offset offset, layout wanted, piece& taken) noexcept {
        using answer = tensor_result<address_type>;
        const guard held{lock_};
        tensor_error error{tensor_refusal::too_many_rows};
        if (!rows_.is_full()) {
            typename inner::piece fresh{};
            const auto at = in_.body()->take(offset, wanted, fresh);
            if (at) {
                taken = rows_.add(fresh, *at, wanted.size);
                return at;
            }
            error = at.error();
        }
        if constexpr (requires { in_.body()->locate(offset); }) {
            if (std::cmp_greater_equal(offset, 0) && std::cmp_less(offset, size())) {
                const address_type at = in_.body()->locate(offset);
                if (auto* const row = rows_.find(at, wanted.size, taken)) {
                    ++row->count;
                    return at;
                }
            }
        }
        return answer::failure(error);
    }
    /// Adds a reference to a row.
    void share(piece row) noexcept {
        const guard held{lock_};
        ++rows_[row].count;
    }
    /// Returns the number of tensors that name a row.
    [[nodiscard]] std::size_t count(piece row) const noexcept {
        const guard held{lock_};
        return rows_[row].count;
    }
    /// Returns the address of a row.
    [[nodiscard]] address_type address_of(piece row) const noexcept {
        const guard held{lock_};
        return rows_[row].first;
    }
    /// Drops a reference to a row, and frees the row with the last one. Returns false for a row that is free, and
    /// changes nothing; in hardened builds that is a misuse.
    bool give_back(piece row) noexcept {
        const guard held{lock_};
        auto& record = rows_[row];
        if (record.count == 0) {
            if constexpr (Storage::policies::hardened != hardening::none)
                typename Storage::policies::on_misuse{}(misuse::not_live, 0, row.index);
            return false;
        }
        if (--record.count != 0) return true;
        in_.body()->give_back(record.of);
        rows_.remove(row);
        return true;
    }

private:
    Storage in_{};
    ALLOT_NO_UNIQUE_ADDRESS Records held_{};
    detail::row_counts<Storage> rows_{};
    ALLOT_NO_UNIQUE_ADDRESS mutable lock lock_{};
};

/// A handle to the records of shared rows: a storage for discontiguous tensors. `share_rows` creates it.
template <class Storage, class Records = detail::caller_records>
class shared_rows {
public:
    /// The policies of the storage.
    using policies = typename Storage::policies;
    /// The object that owns the records.
    using body_type = shared_rows_body<Storage, Records>;
    /// The handle to the body.
    using handle_type = detail::body_handle<body_type, typename policies::references>;
    /// The address model of the rows.
    using address_model = typename Storage::address_model;
    /// Whether the host may read and write the rows.
    static constexpr bool host_accessible = Storage::host_accessible;
    /// How consumers of this memory use offsets.
    static constexpr offset_use offsets = Storage::offsets;
    /// The kind of memory in DLPack's terms.
    static constexpr dl_device_type dl_device = Storage::dl_device;
    /// Whether all rows have the same kind of memory.
    static constexpr bool is_one_kind = !requires { requires !Storage::is_one_kind; };

    /// Creates an empty handle.
    shared_rows() noexcept = default;
    /// Creates a handle to an existing body. `share_rows` calls it.
    explicit shared_rows(handle_type to) noexcept : to_{std::move(to)} {}

    /// Returns false for a handle that was killed or never refers to a body.
    [[nodiscard]] explicit operator bool() const noexcept { return to_.get() != nullptr; }
    /// Returns the number of bytes of the storage.
    [[nodiscard]] std::size_t size() const noexcept { return body() == nullptr ? 0 : body()->size(); }
    /// Returns the alignment of the rows.
    [[nodiscard]] std::size_t align() const noexcept { return body() == nullptr ? 1 : body()->align(); }
    /// Drops this reference. A second call has no effect; in hardened builds it is a misuse.
    void kill() noexcept {
        detail::check_alive<policies>(static_cast<bool>(*this));
        to_ = {};
    }
    /// Returns the body, for the tensors in it; null after `kill`.
    [[nodiscard]] body_type* body() const noexcept { return to_.get(); }

private:
    handle_type to_;
};

/// Makes rows of a storage shareable, with records in memory of the caller, which must outlive the rows. Each record
/// is for one row. Fails with `killed` or `no_host_memory`.
template <class Storage>
    requires(Storage::policies::references::counted)
[[nodiscard]] tensor_result<shared_rows<Storage>> share_rows(const Storage& data,
                                                             std::span<shared_row<Storage>> records) noexcept {
    using fresh = shared_rows<Storage>;
    using answer = tensor_result<fresh>;
    auto handle = fresh::handle_type::make();
    if (handle.get() == nullptr) return answer::failure({tensor_refusal::no_host_memory});
    const tensor_error error = handle.get()->open(data, records);
    return error.reason == tensor_refusal::none ? answer{fresh{std::move(handle)}} : answer::failure(error);
}
/// Makes rows of a storage shareable, with a body and records of the caller, for `references::none`. Both must outlive
/// the rows. Also fails with `in_use` if the body is in use.
template <class Storage>
    requires(!Storage::policies::references::counted)
[[nodiscard]] tensor_result<shared_rows<Storage>> share_rows(shared_rows_body<Storage>& body, const Storage& data,
                                                             std::span<shared_row<Storage>> records) noexcept {
    using fresh = shared_rows<Storage>;
    using answer = tensor_result<fresh>;
    const tensor_error error = body.open(data, records);
    return error.reason == tensor_refusal::none ? answer{fresh{typename fresh::handle_type{body}}}
                                                : answer::failure(error);
}
/// Makes up to `most` rows of a storage shareable, with records in another storage that the host can access. Also fails
/// with `too_large`, `misaligned` or `no_memory`.
template <class Storage, class TableStorage>
    requires(Storage::policies::references::counted)
[[nodiscard]] auto share_rows(const Storage& data, const TableStorage& in, std::size_t most) noexcept {
    using lease = detail::lease_on<TableStorage, 1>;
    using fresh = shared_rows<Storage, lease>;
    using answer = tensor_result<fresh>;
    using record = shared_row<Storage>;
    static_assert(TableStorage::host_accessible && std::same_as<typename TableStorage::address_model, raw_pointer>,
                  "allot: the host writes the records of shared rows: give share_rows a storage for them that the "
                  "host can access");
    if (!in) return answer::failure({tensor_refusal::killed});
    std::size_t bytes = 0;
    if (!checked_multiply(most, sizeof(record), bytes) || most > std::numeric_limits<std::uint32_t>::max() - 1)
        return answer::failure({tensor_refusal::too_large});
    auto handle = fresh::handle_type::make();
    lease held;
    if (handle.get() == nullptr || held.start(in, 1) != tensor_refusal::none)
        return answer::failure({tensor_refusal::no_host_memory});
    typename TableStorage::body_type::piece piece{};
    const auto at = in.body()->take(anywhere, {bytes, alignof(record)}, piece);
    if (!at) return answer::failure(at.error());
    if (bytes != 0) held.keep(piece);
    auto* const records = static_cast<record*>(*at);
    std::uninitialized_default_construct_n(records, most);
    const tensor_error error = handle.get()->open(data, {records, most}, std::move(held));
    return error.reason == tensor_refusal::none ? answer{fresh{std::move(handle)}} : answer::failure(error);
}

}  // namespace v1
}  // namespace allot
