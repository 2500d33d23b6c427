// SPDX-License-Identifier: BSL-1.0
// Tensors in symmetric memory (compose/symmetric.hpp): those of other ranks, and copies to and from them.
//
//     auto data = *allot::alloc_storage(memory, 1_MiB);                               // every rank
//     auto field = *allot::alloc_tensor(data, allot::anywhere, {64, 64}, allot::float32);
//     auto everywhere = allot::agree_on(memory, field);                               // every rank, and they wait
//     auto right = *everywhere->on(1);                                                // the field of rank 1
//     auto halo = *allot::slice(right, {0, 0}, {1, 64});
//     auto copied = allot::copy_tensor(border, halo, allot::remote_copy<allot::mpi::window>{});
//
//     rank 0   storage │   field   │          a tensor of another rank is a tensor whose bytes are named by memory, rank
//     rank 1   storage │   field   │          and offset: it has slices and views, and copy_tensor knows it
//
// Where a tensor lies in its storage is the storage's business, which no other rank hears of. So tensors are agreed on by
// name: their offset, dtype, shape and strides are compared, together with the memory's calls so far.
//
// Complexity: an agreement is one reduction; a copy is one put or get for each run, and is waited for once. Memory: none.
// A tensor of another rank keeps this rank's storage alive, and says nothing about the other's: no rank gives its own back
// while others use it.
// Thread safety: none.
#pragma once

#include <allot/compose/symmetric.hpp>
#include <allot/tensor/copy.hpp>

#include <cstring>
#include <optional>
#include <utility>

namespace allot {
inline namespace v1 {

/// What a tensor of another rank holds: this rank's claim on the same bytes.
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
    using storage_type = remote_storage;

    lease_on_rank() noexcept = default;
    explicit lease_on_rank(Lease lease) noexcept : lease_{std::move(lease)} {}
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(lease_); }
    [[nodiscard]] bool is_read_only() const noexcept { return lease_.is_read_only(); }

private:
    Lease lease_;
};

/// A tensor that all ranks have at the same place. `agree_on` makes it.
template <class Lease>
class symmetric_tensor {
public:
    using tensor_type = tensor<Lease>;
    using remote_type = tensor<lease_on_rank<Lease>>;

    symmetric_tensor() noexcept = default;
    symmetric_tensor(tensor_type here, int ranks) noexcept : here_{std::move(here)}, ranks_{ranks} {}

    /// This rank's.
    [[nodiscard]] const tensor_type& here() const noexcept { return here_; }

    /// The tensor of another rank, or of this one as others see it.
    [[nodiscard]] result<remote_type, remote_refusal> on(int rank) const noexcept {
        using answer = result<remote_type, remote_refusal>;
        if (!here_ || here_.size() == 0) return answer::failure(remote_refusal::empty_block);
        if (rank < 0 || rank >= ranks_) return answer::failure(remote_refusal::no_such_rank);
        const auto at = here_.address();
        return remote_type{lease_on_rank<Lease>{here_.lease()}, {{at.handle, rank}, at.offset}, here_.dtype(),
                           here_.shape(), here_.strides(), here_.shares_last_byte()};
    }

private:
    tensor_type here_;
    int ranks_ = 0;
};

namespace detail {
/// Where a tensor lies and what is in it, as a number.
template <class Lease>
[[nodiscard]] std::uint64_t place_of(const tensor<Lease>& of) noexcept {
    rolling_hash place;
    if (!of) return place.value();
    place.add(of.address().offset);
    place.add(static_cast<std::uint64_t>(of.dtype().code));
    place.add(of.dtype().bits);
    place.add(of.dtype().lanes);
    place.add(of.shape().rank());
    for (std::size_t axis = 0; axis != of.shape().rank(); ++axis) {
        place.add(static_cast<std::uint64_t>(of.shape()[axis]));
        place.add(static_cast<std::uint64_t>(of.strides()[axis]));
    }
    return place.value();
}
}  // namespace detail

/// Collective: compares the calls to the memory so far, and the tensor. A tensor that was killed on every rank has no
/// bytes on any.
template <class Arena, class Ranks, class Lease>
[[nodiscard]] auto agree_on(symmetric<Arena, Ranks>& memory, const tensor<Lease>& of) noexcept {
    static_assert(std::same_as<decltype(of.lease().body()->allocator()), symmetric<Arena, Ranks>&>,
                  "allot: the tensor is in another kind of memory than the one whose ranks are to agree on it");
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
    return answer{symmetric_tensor<shared>{{detail::share(of.lease()), of.address(), of.dtype(), of.shape(), of.strides(),
                                            of.shares_last_byte()},
                                           memory.ranks().size()}};
}

/// Copies for `copy_tensor` between ranks, and between the host and this rank's own part: of `mpi::window` or
/// `shmem::heap`, or whatever has their `local`, `put`, `get` and `flush`. When copy_tensor returns, the bytes are where
/// they belong; another rank finds them there after it has met this one (`synchronize` of the device).
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
    [[nodiscard]] long finish(copy_path) const noexcept {
        return part_ ? static_cast<long>(Device::flush(*part_)) : 0;
    }

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

    std::optional<on_rank<handle>> part_;  // that bytes were last copied to or from: one copy_tensor has one
};

}  // namespace v1
}  // namespace allot
