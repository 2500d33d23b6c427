// SPDX-License-Identifier: BSL-1.0
// lease: the reference by which a tensor keeps its bytes allocated.
//
//     tensor ─┐                      ┌──► storage
//     view   ─┴─► lease ─────────────┤
//                                    └──► pieces: one for a tensor, one for each row of a discontiguous tensor
//
// A lease refers to a storage and to the pieces that were allocated from it. A policy of the storage selects its form:
//
//     counted_lease       default                 pieces on the host heap behind a reference count
//     sole_lease          references::none        pieces inside the lease, which can be moved but not copied
//     storage_only_lease  placement as_given      a handle to the storage; no pieces are recorded. Not used for memory
//                                                 without offsets, where each piece is a block.
//
// Copies of a counted lease, and the views that hold them, refer to the same pieces. The last copy frees the pieces.
//
// When to use: `tensor::lease()` returns one; generic code uses `identity()` and `is_exclusive` to decide whether two
// tensors can share bytes.
// When not to use: to allocate. `alloc_tensor` and `alloc_discontiguous_tensor` create leases.
//
// Complexity: O(1) plus the cost of the storage's placement. Memory: one allocation on the host heap for each counted
// lease; none for the other forms. Thread safety: that of the reference policy.
#pragma once

#include <allot/tensor/storage.hpp>

#include <new>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Whether all bytes of a storage are in one block, so that they have offsets from its base.
template <class Body>
inline constexpr bool has_one_base =
    requires(Body body) { body.origin(); } && !requires { requires !std::remove_reference_t<Body>::is_one_block; };

/// A reference count, followed in memory by the pieces of one storage.
template <class Storage>
struct counted_pieces {
    using piece = typename Storage::body_type::piece;

    Storage storage;
    typename Storage::policies::references::count count{};
    std::size_t taken = 0;

    [[nodiscard]] piece* pieces() noexcept { return reinterpret_cast<piece*>(this + 1); }

    [[nodiscard]] static counted_pieces* make(const Storage& in, std::size_t most) noexcept {
        static_assert(alignof(piece) <= alignof(std::max_align_t) && sizeof(counted_pieces) % alignof(piece) == 0);
        std::size_t bytes = 0;
        if (!checked_multiply(most, sizeof(piece), bytes) || !checked_add(bytes, sizeof(counted_pieces), bytes))
            return nullptr;
        void* const room = ::operator new(bytes, std::nothrow);
        return room == nullptr ? nullptr : ::new (room) counted_pieces{in};
    }
    // Not inline, for the same reason as `counted_body::destroy`.
    ALLOT_NOINLINE static void destroy(counted_pieces* gone) noexcept {
        while (gone->taken != 0) gone->storage.body()->give_back(gone->pieces()[--gone->taken]);
        gone->~counted_pieces();
        ::operator delete(gone);
    }
};

/// A lease without pieces: a handle to the storage. A view of a tensor with a `sole_lease` also holds one, and the
/// tensor must outlive that view.
template <class Storage>
class storage_only_lease {
public:
    /// The type of the storage.
    using storage_type = Storage;
    /// Whether no other lease on the storage can share a byte with this one.
    static constexpr bool is_exclusive = false;

    /// Creates an empty lease.
    storage_only_lease() noexcept = default;
    /// Refers to the storage.
    explicit storage_only_lease(const Storage& in) noexcept : storage_{in} {}

    /// Refers to the storage, with space for `most` pieces. Returns `none` or the reason for a failure.
    [[nodiscard]] tensor_refusal start(const Storage& in, std::size_t) noexcept {
        storage_ = in;
        return tensor_refusal::none;
    }
    /// Does nothing: pieces are not recorded.
    void keep(const typename Storage::body_type::piece&) noexcept {}
    /// Returns whether the lease refers to a storage.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(storage_); }
    /// Returns the storage.
    [[nodiscard]] const Storage& storage() const noexcept { return storage_; }
    /// Returns the body of the storage, or null for an empty lease.
    [[nodiscard]] typename Storage::body_type* body() const noexcept { return storage_.body(); }
    /// Returns a pointer that is equal for leases that may share bytes: here, for all leases of one storage.
    [[nodiscard]] const void* identity() const noexcept { return storage_.body(); }
    /// Returns false: memory of a storage is writable.
    [[nodiscard]] static constexpr bool is_read_only() noexcept { return false; }

private:
    Storage storage_;
};

/// A lease whose pieces are on the host heap behind a reference count. `Most` is not used.
template <class Storage, std::size_t Most>
class counted_lease {
    using pieces = detail::counted_pieces<Storage>;

public:
    /// The type of the storage.
    using storage_type = Storage;
    /// Whether no other lease on the storage can share a byte with this one.
    static constexpr bool is_exclusive = Storage::body_type::is_exclusive;

    /// Refers to the storage, with space for `most` pieces. Returns `none` or the reason for a failure.
    [[nodiscard]] tensor_refusal start(const Storage& in, std::size_t most) noexcept {
        to_ = detail::counted_pointer<pieces>{pieces::make(in, most)};
        return to_.get() == nullptr ? tensor_refusal::no_host_memory : tensor_refusal::none;
    }
    /// Takes ownership of a piece. Precondition: `start` succeeded and fewer than `most` pieces are held.
    void keep(const typename Storage::body_type::piece& taken) noexcept {
        ::new (static_cast<void*>(to_.get()->pieces() + to_.get()->taken++)) typename pieces::piece{taken};
    }
    /// Returns whether the lease refers to a storage.
    [[nodiscard]] explicit operator bool() const noexcept { return to_.get() != nullptr; }
    /// Returns the storage. Precondition: the lease is not empty.
    [[nodiscard]] const Storage& storage() const noexcept { return to_.get()->storage; }
    /// Returns the body of the storage, or null for an empty lease.
    [[nodiscard]] typename Storage::body_type* body() const noexcept {
        return to_.get() == nullptr ? nullptr : to_.get()->storage.body();
    }
    /// Returns piece `i`. Precondition: `keep` was called more than `i` times.
    [[nodiscard]] const typename pieces::piece& piece(std::size_t i) const noexcept { return to_.get()->pieces()[i]; }
    /// Replaces piece `i` in all copies of this lease. The caller owns the old piece. Precondition: as for `piece`.
    void replace(std::size_t i, const typename pieces::piece& taken) noexcept { to_.get()->pieces()[i] = taken; }
    /// Returns a pointer that is equal for leases that may share bytes: copies of this lease.
    [[nodiscard]] const void* identity() const noexcept { return to_.get(); }
    /// Returns false: memory of a storage is writable.
    [[nodiscard]] static constexpr bool is_read_only() noexcept { return false; }

private:
    detail::counted_pointer<pieces> to_;
};

/// Up to `Most` pieces of a body.
template <class Body, std::size_t Most>
class sole_pieces {
    using piece_type = typename Body::piece;

public:
    [[nodiscard]] std::size_t count() const noexcept { return taken_; }
    [[nodiscard]] const piece_type& get(const Body*, std::size_t i) const noexcept { return pieces_[i]; }
    void add(const piece_type& taken) noexcept { pieces_[taken_++] = taken; }
    void replace(std::size_t i, const piece_type& taken) noexcept { pieces_[i] = taken; }
    void clear() noexcept { taken_ = 0; }
    void take_all(sole_pieces& other) noexcept {
        for (taken_ = 0; taken_ != other.taken_; ++taken_) pieces_[taken_] = other.pieces_[taken_];
        other.clear();
    }

private:
    piece_type pieces_[Most]{};
    std::size_t taken_ = 0;
};

/// At most one piece. Its metadata suffice where the body finds the piece by them.
template <class Body>
    requires std::constructible_from<bool, const typename Body::piece&>
class sole_pieces<Body, 1> {
    using piece_type = typename Body::piece;
    static constexpr bool has_metadata = requires { requires Body::finds_pieces; };
    static auto kept_of(const piece_type& taken) noexcept {
        if constexpr (has_metadata) return taken.allocation.metadata;
        else return taken;
    }
    using kept_type = decltype(kept_of({}));

public:
    [[nodiscard]] std::size_t count() const noexcept {
        if constexpr (has_metadata) return kept_ == kept_type{} ? 0 : 1;
        else return kept_ ? 1 : 0;
    }
    [[nodiscard]] piece_type get(const Body* in, std::size_t) const noexcept {
        if constexpr (has_metadata) return in->piece_with(kept_);
        else return kept_;
    }
    void add(const piece_type& taken) noexcept { kept_ = kept_of(taken); }
    void replace(std::size_t, const piece_type& taken) noexcept { kept_ = kept_of(taken); }
    void clear() noexcept { kept_ = {}; }
    void take_all(sole_pieces& other) noexcept { kept_ = std::exchange(other.kept_, {}); }

private:
    kept_type kept_{};
};

/// A lease that contains up to `Most` pieces and is their only owner. It can be moved but not copied.
template <class Storage, std::size_t Most>
class sole_lease {
    using piece_type = typename Storage::body_type::piece;

public:
    /// The type of the storage.
    using storage_type = Storage;
    /// Whether no other lease on the storage can share a byte with this one.
    static constexpr bool is_exclusive = Storage::body_type::is_exclusive;

    /// Creates an empty lease.
    sole_lease() noexcept = default;
    /// Moves the pieces. `other` is empty afterwards.
    sole_lease(sole_lease&& other) noexcept { *this = std::move(other); }
    /// Frees the pieces that this lease holds, then moves those of `other`.
    sole_lease& operator=(sole_lease&& other) noexcept {
        if (this == &other) return *this;
        give_back();
        storage_ = std::exchange(other.storage_, {});
        pieces_.take_all(other.pieces_);
        return *this;
    }
    /// Frees the pieces.
    ~sole_lease() { give_back(); }

    /// Refers to the storage, with space for `most` pieces. Returns `none` or the reason for a failure.
    [[nodiscard]] tensor_refusal start(const Storage& in, std::size_t most) noexcept {
        if (most > Most) return tensor_refusal::too_many_rows;
        storage_ = in;
        return tensor_refusal::none;
    }
    /// Takes ownership of a piece. Precondition: `start` succeeded and fewer than `most` pieces are held.
    void keep(const piece_type& taken) noexcept { pieces_.add(taken); }
    /// Returns piece `i`. Precondition: `keep` was called more than `i` times.
    [[nodiscard]] decltype(auto) piece(std::size_t i) const noexcept { return pieces_.get(storage_.body(), i); }
    /// Replaces piece `i`. The caller owns the old piece. Precondition: as for `piece`.
    void replace(std::size_t i, const piece_type& taken) noexcept { pieces_.replace(i, taken); }
    /// Returns whether the lease refers to a storage.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(storage_); }
    /// Returns the storage.
    [[nodiscard]] const Storage& storage() const noexcept { return storage_; }
    /// Returns the body of the storage, or null for an empty lease.
    [[nodiscard]] typename Storage::body_type* body() const noexcept { return storage_.body(); }
    /// Returns a pointer that identifies the lease, or null when it has no pieces.
    [[nodiscard]] const void* identity() const noexcept { return pieces_.count() == 0 ? nullptr : this; }
    /// Returns false: memory of a storage is writable.
    [[nodiscard]] static constexpr bool is_read_only() noexcept { return false; }

private:
    void give_back() noexcept {
        // `count() <= Most` always holds. Without it, g++ 12 -O3 warns of an iteration that does not happen.
        const std::size_t count = pieces_.count() <= Most ? pieces_.count() : 0;
        for (std::size_t i = count; i-- != 0;) storage_.body()->give_back(piece(i));
        pieces_.clear();
    }

    Storage storage_;
    sole_pieces<typename Storage::body_type, Most> pieces_{};
};

/// The type of a lease on up to `Most` pieces of a storage.
template <class Storage, std::size_t Most>
using lease_on =
    std::conditional_t<!Storage::body_type::records && !Storage::body_type::separate, storage_only_lease<Storage>,
                       std::conditional_t<Storage::policies::references::counted, counted_lease<Storage, Most>,
                                          sole_lease<Storage, Most>>>;

}  // namespace detail
}  // namespace v1
}  // namespace allot
