// SPDX-License-Identifier: BSL-1.0
// symmetric: tensors in symmetric memory (compose/symmetric.hpp), the tensors of other ranks, and copies between ranks.
//
//     auto data = allot::alloc_storage(memory, 1_MiB).value();                        // every rank
//     auto field = allot::alloc_tensor(data, allot::anywhere, {64, 64}, allot::float32).value();
//     auto everywhere = allot::agree_on(memory, field).value();                       // every rank; waits for all
//     auto right = everywhere.on(1).value();                                          // the field of rank 1
//     auto halo = allot::slice(right, {0, 0}, {1, 64}).value();
//     auto copied = allot::copy_tensor(border, halo, allot::remote_copy<allot::mpi::window>{});
//
//     rank 0   storage │   field   │          a tensor of another rank is a tensor whose address is a memory, a rank
//     rank 1   storage │   field   │          and an offset: it has slices and views, and copy_tensor accepts it
//
// When to use: for tensors that all ranks allocate at the same offset and exchange by one-sided copies.
// When not to use: for tensors of one rank alone; agree_on is collective.
//
// Allocating a tensor in a storage involves no other rank. Therefore ranks agree on tensors explicitly: agree_on
// compares the offset, dtype, shape and strides on all ranks, and the earlier calls to the memory.
//
// A tensor of another rank keeps the local storage alive, but not the storage of that rank: no rank may free its
// storage while other ranks use it.
//
// Complexity: one reduction for agree_on; one put or get for each contiguous run of a copy, and one wait for the copy.
// Memory: no overhead.
// Thread safety: none.
#pragma once

#include <allot/compose/symmetric.hpp>
#include <allot/tensor/copy.hpp>

#include <cstring>
#include <optional>
#include <utility>

namespace allot {
inline namespace v1 {

/// The lease of a tensor of another rank. It holds this rank's lease on the same bytes.
template <class Lease>
class lease_on_rank {
    struct remote_storage {
        using policies = typename Lease::storage_type::policies;
        using address_model = remote_offset<decltype(Lease::storage_type::address_model::address::handle)>;
        static constexpr bool host_accessible = false;
        static constexpr offset_use offsets = offset_use::carried;
        static constexpr dl_device_type dl_device = Lease::storage_type::dl_device;
    };

public:
    /// The storage as the tensor sees it: its addresses contain a rank.
    using storage_type = remote_storage;

    /// Constructs an empty lease.
    lease_on_rank() noexcept = default;
    /// Holds this rank's lease.
    explicit lease_on_rank(Lease lease) noexcept : lease_{std::move(lease)} {}
    /// Returns true if the lease is not empty.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(lease_); }
    /// Returns true if the bytes must not be written.
    [[nodiscard]] bool is_read_only() const noexcept { return lease_.is_read_only(); }

private:
    Lease lease_;
};

/// A tensor that all ranks have at the same offset. `agree_on` returns it.
template <class Lease>
class symmetric_tensor {
public:
    /// The tensor type of this rank.
    using tensor_type = tensor<Lease>;
    /// The tensor type of other ranks.
    using remote_type = tensor<lease_on_rank<Lease>>;

    /// Constructs an empty symmetric tensor.
    symmetric_tensor() noexcept = default;
    /// Constructs a symmetric tensor from this rank's tensor and the number of ranks.
    symmetric_tensor(tensor_type here, int ranks) noexcept : here_{std::move(here)}, ranks_{ranks} {}

    /// Returns this rank's tensor.
    [[nodiscard]] const tensor_type& here() const noexcept { return here_; }

    /// Returns the tensor of any rank, also of this one, under its remote address. Fails with empty_block for a killed
    /// or empty tensor, and with no_such_rank.
    [[nodiscard]] result<remote_type, remote_refusal> on(int rank) const noexcept {
        using answer = result<remote_type, remote_refusal>;
        if (!here_ || here_.size() == 0) return answer::failure(remote_refusal::empty_block);
        if (rank < 0 || rank >= ranks_) return answer::failure(remote_refusal::no_such_rank);
        const auto at = here_.address();
        return remote_type{lease_on_rank<Lease>{here_.lease()}, {{at.handle, rank}, at.offset}, here_.form()};
    }

private:
    tensor_type here_;
    int ranks_ = 0;
};

namespace detail {
// A hash of a tensor's offset, dtype, shape and strides.
template <class Lease>
[[nodiscard]] std::uint64_t place_of(const tensor<Lease>& of) noexcept {
    rolling_hash place;
    if (!of) return place.value();
    place.add(of.address().offset);
    place.add(static_cast<std::uint64_t>(of.dtype().code));
    place.add(of.dtype().bits);
    place.add(of.dtype().lanes);
    const shape extents = of.shape();
    const strides steps = of.strides();
    place.add(extents.rank());
    for (std::size_t axis = 0; axis != extents.rank(); ++axis) {
        place.add(static_cast<std::uint64_t>(extents[axis]));
        place.add(static_cast<std::uint64_t>(steps[axis]));
    }
    return place.value();
}
}  // namespace detail

/// Compares the tensor, and the earlier calls to the memory, on all ranks. Collective. Returns the symmetric tensor, or
/// the difference. A tensor that was killed on every rank yields an empty symmetric tensor.
template <class Arena, class Ranks, class Lease>
[[nodiscard]] auto agree_on(symmetric<Arena, Ranks>& memory, const tensor<Lease>& of) noexcept {
    static_assert(std::same_as<decltype(of.lease().body()->allocator()), symmetric<Arena, Ranks>&>,
                  "allot: call agree_on with the symmetric memory of the tensor: its memory has another type");
    using shared = std::remove_cvref_t<decltype(detail::share(of.lease()))>;
    using answer = result<symmetric_tensor<shared>, agreement>;
    const bool is_here = !of || &of.lease().body()->allocator() == &memory;
    rolling_hash seen;
    seen.add(detail::place_of(of));
    seen.add(is_here ? 1 : 0);
    agreement of_ranks = memory.agree(seen.value());
    if (of_ranks && !is_here) of_ranks.found = agreement::elsewhere;
    if (!of_ranks) return answer::failure(of_ranks);
    if (!of) return answer{symmetric_tensor<shared>{}};
    return answer{
        symmetric_tensor<shared>{{detail::share(of.lease()), of.address(), of.form()}, memory.ranks().size()}};
}

/// A copy method for `copy_tensor` between ranks, and between the host and this rank's own part. `Device` is
/// `mpi::window`, `shmem::heap`, or a type with the same `local`, `put`, `get` and `flush`. When copy_tensor returns,
/// the copy is complete. Another rank sees the bytes after both ranks have synchronized (`synchronize` of the device).
template <class Device>
class remote_copy {
    using own = typename Device::address_model;
    using handle = decltype(Device::address_model::address::handle);
    template <class Memory>
    static constexpr bool is_own = std::same_as<typename Memory::address_model, own>;
    template <class Memory>
    static constexpr bool is_remote = std::same_as<typename Memory::address_model, remote_offset<handle>>;
    template <class Memory>
    static constexpr bool is_here = is_own<Memory> || host_memory<Memory>;

public:
    /// Starts a put or a get, or copies on the host if both sides are local. Returns the path, or the device's error.
    template <class From, class To>
        requires(is_here<From> && is_here<To> && (is_own<From> || is_own<To>)) || (is_here<From> && is_remote<To>) ||
                (is_remote<From> && is_here<To>)
    [[nodiscard]] copied copy(typename From::address_model::address from, typename To::address_model::address to,
                              std::size_t bytes) noexcept {
        if constexpr (is_remote<To>) {
            return begun(Device::put(pointer<From>(from), to, bytes), to.handle);
        } else if constexpr (is_remote<From>) {
            return begun(Device::get(from, pointer<To>(to), bytes), from.handle);
        } else {
            std::memcpy(pointer<To>(to), pointer<From>(from), bytes);
            return copy_path::host;
        }
    }
    /// Waits for the copies that were started. Returns 0 or the device's error.
    [[nodiscard]] long finish(copy_path) const noexcept { return part_ ? static_cast<long>(Device::flush(*part_)) : 0; }

private:
    template <class Memory>
    [[nodiscard]] static auto pointer(typename Memory::address_model::address at) noexcept {
        if constexpr (is_own<Memory>) return Device::local(at);
        else return at;
    }
    [[nodiscard]] copied begun(typename Device::error code, on_rank<handle> part) noexcept {
        if (static_cast<long>(code) != 0) return copied::failure(static_cast<long>(code));
        part_ = part;
        return copy_path::peer;
    }

    std::optional<on_rank<handle>> part_;  // the remote part of the last copy; one copy_tensor has one remote part
};

}  // namespace v1
}  // namespace allot
