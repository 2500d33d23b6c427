// SPDX-License-Identifier: BSL-1.0
// claim: what a tensor holds so that its bytes stay its own: a reference to the storage, and the pieces taken of it.
//
//     tensor ─┐                      ┌──► storage
//     view   ─┴─► claim ─────────────┤
//                                    └──► pieces: one for a tensor, one for each row of a discontiguous tensor
//
// Copies of a claim, and so views, count as references to the same pieces, which go back with the last. Where nothing is
// recorded (`as_given`), a claim is the storage's handle and nothing else. Where references are not counted, the pieces
// lie in the claim itself, which can be moved but not copied.
//
// Complexity: O(1) beside the storage's. Memory: where pieces are counted, one allocation on the host heap for each
// claim. Thread safety: that of the references.
#pragma once

#include <allot/tensor/storage.hpp>

#include <new>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {


/// Pieces of one storage, behind a count.
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
    static void destroy(counted_pieces* gone) noexcept {
        while (gone->taken != 0) gone->storage.body()->give_back(gone->pieces()[--gone->taken]);
        gone->~counted_pieces();
        ::operator delete(gone);
    }
};

/// Nothing is recorded: the storage itself. Also what a view of a sole claim holds, whose tensor outlives it.
template <class Storage>
class storage_only_lease {
public:
    using storage_type = Storage;
    /// Whether no other claim on the storage can share a byte with this one.
    static constexpr bool is_exclusive = false;

    [[nodiscard]] tensor_refusal start(const Storage& in, std::size_t) noexcept {
        storage_ = in;
        return tensor_refusal::none;
    }
    void keep(const typename Storage::body_type::piece&) noexcept {}
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(storage_); }
    [[nodiscard]] typename Storage::body_type* body() const noexcept { return storage_.body(); }
    /// The same for claims that may share bytes.
    [[nodiscard]] const void* identity() const noexcept { return storage_.body(); }
    [[nodiscard]] static constexpr bool is_read_only() noexcept { return false; }

private:
    Storage storage_;
};

/// Pieces on the heap, counted.
template <class Storage, std::size_t Most>
class counted_lease {
    using pieces = detail::counted_pieces<Storage>;

public:
    using storage_type = Storage;
    /// Whether no other claim on the storage can share a byte with this one.
    static constexpr bool is_exclusive = Storage::body_type::records;

    [[nodiscard]] tensor_refusal start(const Storage& in, std::size_t most) noexcept {
        to_ = detail::counted_pointer<pieces>{pieces::make(in, most)};
        return to_.get() == nullptr ? tensor_refusal::no_host_memory : tensor_refusal::none;
    }
    void keep(const typename Storage::body_type::piece& taken) noexcept {
        ::new (static_cast<void*>(to_.get()->pieces() + to_.get()->taken++)) typename pieces::piece{taken};
    }
    [[nodiscard]] explicit operator bool() const noexcept { return to_.get() != nullptr; }
    [[nodiscard]] typename Storage::body_type* body() const noexcept {
        return to_.get() == nullptr ? nullptr : to_.get()->storage.body();
    }
    [[nodiscard]] const typename pieces::piece& piece(std::size_t i) const noexcept { return to_.get()->pieces()[i]; }
    [[nodiscard]] const void* identity() const noexcept { return to_.get(); }
    [[nodiscard]] static constexpr bool is_read_only() noexcept { return false; }

private:
    detail::counted_pointer<pieces> to_;
};

/// Pieces inside the claim, which is their only owner.
template <class Storage, std::size_t Most>
class sole_lease {
    using piece_type = typename Storage::body_type::piece;

public:
    using storage_type = Storage;
    /// Whether no other claim on the storage can share a byte with this one.
    static constexpr bool is_exclusive = Storage::body_type::records;

    sole_lease() noexcept = default;
    sole_lease(sole_lease&& other) noexcept { *this = std::move(other); }
    sole_lease& operator=(sole_lease&& other) noexcept {
        if (this == &other) return *this;
        give_back();
        storage_ = std::exchange(other.storage_, {});
        for (taken_ = 0; taken_ != other.taken_; ++taken_) pieces_[taken_] = other.pieces_[taken_];
        other.taken_ = 0;
        return *this;
    }
    ~sole_lease() { give_back(); }

    [[nodiscard]] tensor_refusal start(const Storage& in, std::size_t most) noexcept {
        if (most > Most) return tensor_refusal::too_many_rows;
        storage_ = in;
        return tensor_refusal::none;
    }
    void keep(const piece_type& taken) noexcept { pieces_[taken_++] = taken; }
    [[nodiscard]] const piece_type& piece(std::size_t i) const noexcept { return pieces_[i]; }
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(storage_); }
    [[nodiscard]] typename Storage::body_type* body() const noexcept { return storage_.body(); }
    [[nodiscard]] const void* identity() const noexcept { return taken_ == 0 ? nullptr : this; }
    [[nodiscard]] static constexpr bool is_read_only() noexcept { return false; }

private:
    void give_back() noexcept {
        while (taken_ != 0) storage_.body()->give_back(pieces_[--taken_]);
    }

    Storage storage_;
    piece_type pieces_[Most]{};
    std::size_t taken_ = 0;
};

/// The claim on up to `Most` pieces of a storage.
template <class Storage, std::size_t Most>
using lease_on = std::conditional_t<
    !Storage::body_type::records && !Storage::body_type::separate, storage_only_lease<Storage>,
    std::conditional_t<Storage::policies::references::counted, counted_lease<Storage, Most>, sole_lease<Storage, Most>>>;

}  // namespace detail
}  // namespace v1
}  // namespace allot
