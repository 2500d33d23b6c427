// SPDX-License-Identifier: BSL-1.0
// storage_list: several storages as one, so that the rows of a tensor can be in more than one memory.
//
//     allot::storage_list both{fast, slow};                                        // in the order of preference
//     auto t = allot::alloc_discontiguous_tensor(table, 0, both, allot::anywhere, {64, 256}, allot::float16);
//     auto at_1 = t.value().lease().piece(7).storage();                            // 1: row 7 is in `slow`
//
//     table    │ 0 │ 1 │ 2 │ 3 │ 4 │
//                │   │   │   └───┼───────────┐
//     fast     │ row 0 │ row 1 │ row 2 │     │      a row goes to the first storage that has room
//     slow     │          │ row 4 │   │ row 3 │
//
// `anywhere` searches the storages in their order. A given offset counts through the storages: byte `fast.size() + 512`
// is byte 512 of `slow`. A row is in one storage as a whole. The alignment is the smallest of all storages. Each
// storage records the rows in it, also against its own tensors.
//
// Rows of different memories need one address model. Entries that are pointers or `row_address` name a row in any
// memory. Offsets and indexes count from the lowest first byte of the storages, or from the first storage where
// addresses are handles, and the allocation fails with `entry_too_narrow` where they cannot name a row.
//
// When to use: for tensors that are larger than the fast memory, or than the largest storage.
// When not to use: for memory that grows. Use one storage with `own_blocks` over an arena that grows.
//
// Complexity: that of the storages, one after another. Memory: the handles; nothing on the heap. Thread safety: that of
// the reference policy, which is the same for all storages.
#pragma once

#include <allot/tensor/storage.hpp>

#include <algorithm>
#include <tuple>
#include <variant>

namespace allot {
inline namespace v1 {

namespace detail {

/// The part of a list of storages that one row occupies.
template <class... Pieces>
class piece_of_list {
public:
    constexpr piece_of_list() noexcept = default;
    template <std::size_t I, class Piece>
    constexpr piece_of_list(std::in_place_index_t<I> at, const Piece& of) noexcept : of_{at, of} {}
    /// Returns the index of the storage in the list.
    [[nodiscard]] constexpr std::size_t storage() const noexcept { return of_.index(); }
    /// Returns the piece of storage `I`. Precondition: `I == storage()`.
    template <std::size_t I>
    [[nodiscard]] constexpr const auto& get() const noexcept {
        return *std::get_if<I>(&of_);
    }

private:
    std::variant<Pieces...> of_{};
};

/// Places rows in several storages.
template <class First, class... Others>
class body_of_list {
    using storages = std::tuple<First, Others...>;
    static constexpr std::size_t count = 1 + sizeof...(Others);

public:
    using address_model = typename First::address_model;
    using address_type = typename address_model::address;
    using piece = piece_of_list<typename First::body_type::piece, typename Others::body_type::piece...>;
    static constexpr bool records = true;
    static constexpr bool separate = First::body_type::separate || (Others::body_type::separate || ...);
    static constexpr bool is_one_block = false;
    static constexpr bool is_exclusive = First::body_type::is_exclusive && (Others::body_type::is_exclusive && ...);

    body_of_list() noexcept = default;
    body_of_list(const First& first, const Others&... others) noexcept : in_{first, others...} {}

    [[nodiscard]] std::size_t size() const noexcept {
        return std::apply([](const auto&... each) { return (each.size() + ...); }, in_);
    }
    [[nodiscard]] std::size_t align() const noexcept {
        return std::apply([](const auto&... each) { return std::min({each.align()...}); }, in_);
    }
    [[nodiscard]] address_type origin() const noexcept {
        return std::apply(
            [](const auto& first, const auto&... others) {
                address_type lowest = first.body()->origin();
                const auto compare = [&lowest](address_type at) {
                    if (address_model::absolute && address_model::position(at) < address_model::position(lowest))
                        lowest = at;
                };
                (compare(others.body()->origin()), ...);
                return lowest;
            },
            in_);
    }
    [[nodiscard]] bool is_alive() const noexcept {
        return std::apply([](const auto&... each) { return (static_cast<bool>(each) && ...); }, in_);
    }

    template <storage_offset Offset>
    [[nodiscard]] tensor_result<address_type> take(Offset offset, layout wanted, piece& taken) noexcept {
        return take_from<0>(offset, wanted, taken);
    }
    [[nodiscard]] address_type address_of(const piece& taken) const noexcept {
        address_type at{};
        visit(taken, [&at](auto& body, const auto& piece_in) { at = body.address_of(piece_in); });
        return at;
    }
    [[nodiscard]] address_type locate(std::integral auto offset) const noexcept
        requires(!separate)
    {
        return locate_in<0>(static_cast<std::uint64_t>(offset));
    }
    void give_back(const piece& taken) noexcept {
        visit(taken, [](auto& body, const auto& piece_in) { body.give_back(piece_in); });
    }

private:
    /// Tries storage `I` and the ones after it. Returns the error of the last one.
    template <std::size_t I, class Offset>
    [[nodiscard]] tensor_result<address_type> take_from(Offset offset, layout wanted, piece& taken) noexcept {
        auto& body = *std::get<I>(in_).body();
        if constexpr (!std::same_as<Offset, anywhere_t> && I + 1 != count) {
            const bool in_later = std::cmp_greater_equal(offset, body.size());
            if (in_later) return take_from<I + 1>(static_cast<std::uint64_t>(offset) - body.size(), wanted, taken);
        }
        typename std::remove_reference_t<decltype(body)>::piece fresh{};
        const auto at = body.take(offset, wanted, fresh);
        if (at) {
            taken = piece{std::in_place_index<I>, fresh};
            return at;
        }
        if constexpr (std::same_as<Offset, anywhere_t> && I + 1 != count)
            return take_from<I + 1>(offset, wanted, taken);
        return at;
    }
    template <std::size_t I>
    [[nodiscard]] address_type locate_in(std::uint64_t offset) const noexcept {
        const auto& body = *std::get<I>(in_).body();
        if constexpr (I + 1 != count) {
            if (offset >= body.size()) return locate_in<I + 1>(offset - body.size());
        }
        return body.locate(offset);
    }
    template <std::size_t I = 0, class Use>
    void visit(const piece& taken, Use use) const noexcept {
        if (taken.storage() == I) return use(*std::get<I>(in_).body(), taken.template get<I>());
        if constexpr (I + 1 != count) visit<I + 1>(taken, use);
    }

    storages in_{};
};

}  // namespace detail

/// Several storages as one, for the rows of discontiguous tensors. It holds a reference to each.
template <class First, class... Others>
class storage_list {
    static_assert((std::same_as<typename First::address_model, typename Others::address_model> && ...),
                  "allot: the storages of a list need one address model, because one table names the rows of all");
    static_assert((std::same_as<typename First::policies::references, typename Others::policies::references> && ...),
                  "allot: the storages of a list need one reference policy");
    static_assert(First::body_type::is_exclusive && (Others::body_type::is_exclusive && ...),
                  "allot: the storages of a list record their rows: use a placement other than as_given");

public:
    /// The policies of the first storage.
    using policies = typename First::policies;
    /// The object that places rows.
    using body_type = detail::body_of_list<First, Others...>;
    /// The address model of the rows.
    using address_model = typename First::address_model;
    /// Whether the host may read and write all bytes.
    static constexpr bool host_accessible = First::host_accessible && (Others::host_accessible && ...);
    /// How consumers of this memory use offsets.
    static constexpr offset_use offsets = First::offsets;
    /// The kind of the first storage's memory in DLPack's terms.
    static constexpr dl_device_type dl_device = First::dl_device;
    /// Whether all storages have the same kind of memory.
    static constexpr bool is_one_kind = ((First::dl_device == Others::dl_device) && ...);

    /// Creates an empty list.
    storage_list() noexcept = default;
    /// Lists storages in the order of preference.
    explicit storage_list(const First& first, const Others&... others) noexcept : in_{first, others...} {}

    /// Returns false if a storage is killed or empty.
    [[nodiscard]] explicit operator bool() const noexcept { return in_.is_alive(); }
    /// Returns the number of bytes of all storages.
    [[nodiscard]] std::size_t size() const noexcept { return *this ? in_.size() : 0; }
    /// Returns the smallest alignment of all storages, which is that of the rows.
    [[nodiscard]] std::size_t align() const noexcept { return *this ? in_.align() : 1; }
    /// Drops the references to the storages.
    void kill() noexcept { in_ = {}; }
    /// Returns the body, for the tensors in it; null if a storage is killed or empty.
    [[nodiscard]] body_type* body() const noexcept { return *this ? &in_ : nullptr; }

private:
    mutable body_type in_;
};

}  // namespace v1
}  // namespace allot
