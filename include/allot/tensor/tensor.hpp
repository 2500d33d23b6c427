// SPDX-License-Identifier: BSL-1.0
// tensor: typed bytes at an offset of a storage, and views of the same bytes.
//
//     auto a = *allot::alloc_tensor(data, 1024, {4, 64}, allot::int32);                  // a planner said where
//     auto b = *allot::alloc_tensor(data, allot::anywhere, {4, 64}, allot::float16);     // wherever there is room
//     auto bits = *allot::view(b, allot::uint16, {256});                                 // other dtype and shape
//     auto rows = *allot::slice(a, {1, 0}, {2, 64});                                     // a part, with a's strides
//     a.kill();                                       // drops this reference; never frees what a view still uses
//
//     memory whose offsets are    data()                       byte_offset()
//     arithmetic                  pointer, moved               0
//     carried                     handle, as it is             from the handle to the first byte
//     none                        the tensor's own handle      0
//
// A tensor is a handle: copies count references to the claimed bytes, and with them to the storage. Where references
// are not counted it can only be moved, and a view holds nothing.
//
// Kernels that take an element offset: `kernel_offset_of`. A generator may use the variant without an offset whenever
// `is_zero` holds, which in memory with arithmetic or without offsets is always, and need not generate another for it.
//
// Complexity: the claim's (storage.hpp). Memory: about 180 bytes a handle. Thread safety: that of the references.
#pragma once

#include <allot/tensor/detail/lease.hpp>

namespace allot {
inline namespace v1 {

template <class Lease>
class tensor {
public:
    using lease_type = Lease;
    using storage_type = typename Lease::storage_type;
    using policies = typename storage_type::policies;
    using address_model = typename storage_type::address_model;
    using address_type = typename address_model::address;
    static constexpr bool host_accessible = storage_type::host_accessible;
    static constexpr offset_use offsets = storage_type::offsets;
    static constexpr dl_device_type dl_device = storage_type::dl_device;

    tensor() noexcept = default;
    tensor(Lease lease, address_type address, allot::dtype type, const allot::shape& extents,
           const allot::strides& steps, bool shares_last_byte = false) noexcept
        : lease_{std::move(lease)},
          address_{address},
          dtype_{type},
          shares_last_byte_{shares_last_byte},
          shape_{extents},
          strides_{steps} {}

    /// False for one that was killed, or never was.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(lease_); }

    /// What a consumer is given: a pointer to the first element, or the handle beside `byte_offset`. Null without
    /// elements.
    [[nodiscard]] auto data() const noexcept {
        check();
        if constexpr (requires { address_.handle; }) {
            return address_.handle;
        } else {
            return address_;
        }
    }
    /// Bytes from `data()` to the first element: 0 where addresses are arithmetic.
    [[nodiscard]] std::size_t byte_offset() const noexcept {
        check();
        if constexpr (requires { address_.handle; }) {
            return address_.offset;
        } else {
            return 0;
        }
    }
    /// The first element, as the address model names it.
    [[nodiscard]] address_type address() const noexcept {
        check();
        return address_;
    }
    [[nodiscard]] allot::dtype dtype() const noexcept { return dtype_; }
    [[nodiscard]] const allot::shape& shape() const noexcept { return shape_; }
    /// In elements.
    [[nodiscard]] const allot::strides& strides() const noexcept { return strides_; }
    [[nodiscard]] std::size_t size() const noexcept { return *element_count(shape_); }
    /// Bytes of the elements, without gaps.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return *byte_count(shape_, dtype_); }
    [[nodiscard]] bool is_compact() const noexcept { return allot::is_compact(shape_, strides_); }
    /// Whether bits of the last byte belong to other elements, or may: a part of a tensor of elements smaller than a byte,
    /// which ends inside one. A copy may read it and not write it.
    [[nodiscard]] bool shares_last_byte() const noexcept { return shares_last_byte_; }
    /// Whether nobody may write to it, as only adopted memory says; a view of it is no better.
    [[nodiscard]] bool is_read_only() const noexcept { return lease_.is_read_only(); }

    /// Drops this reference; the bytes go when no view needs them any more. In hardened builds a second time is a
    /// misuse; otherwise it changes nothing.
    void kill() noexcept {
        check();
        lease_ = {};
        address_ = {};
        shares_last_byte_ = false;
        shape_ = allot::shape{0};
        strides_ = allot::strides{1};
    }

    [[nodiscard]] const Lease& lease() const noexcept { return lease_; }

private:
    void check() const noexcept { detail::check_alive<policies>(static_cast<bool>(*this)); }

    Lease lease_;
    address_type address_{};
    allot::dtype dtype_{};
    bool shares_last_byte_ = false;
    allot::shape shape_{0};
    allot::strides strides_{1};
};

/// The tensors of a storage.
template <class Storage>
using tensor_in = tensor<detail::lease_on<Storage, 1>>;

/// A tensor of this dtype and shape at an offset in bytes, or `anywhere`. The offset is a multiple of `align`, a power of
/// two that the storage's own alignment honours; 0 is the storage's own. A tensor without elements takes no bytes. With an
/// offset the bytes must be free: a deliberate alias is a view. (Unless the storage is `as_given` and not hardened, where
/// the planner is trusted.)
template <class Allocator, class Policies, storage_offset Offset>
[[nodiscard]] tensor_result<tensor_in<storage<Allocator, Policies>>> alloc_tensor(
    const storage<Allocator, Policies>& in, Offset offset, const shape& extents, dtype type,
    std::size_t align = 0) noexcept {
    using fresh = tensor_in<storage<Allocator, Policies>>;
    using answer = tensor_result<fresh>;
    if (!in) return answer::failure({tensor_refusal::killed});
    const auto bytes = byte_count(extents, type);
    if (!bytes) return answer::failure(bytes.error());
    typename fresh::lease_type lease;
    if (const tensor_refusal reason = lease.start(in, 1); reason != tensor_refusal::none) return answer::failure({reason});
    typename storage<Allocator, Policies>::body_type::piece taken{};
    const auto address = in.body()->take(offset, {*bytes, align == 0 ? in.align() : align}, taken);
    if (!address) return answer::failure(address.error());
    if (*bytes != 0) lease.keep(taken);
    return fresh{std::move(lease), *address, type, extents, compact_strides(extents)};
}

/// One of several tensors to allocate.
template <storage_offset Offset = std::int64_t>
struct tensor_request {
    Offset offset{};
    allot::shape shape{};
    allot::dtype dtype{};
};

/// All of them or none: `fresh[i]` answers `wanted[i]`. On refusal the storage is as before, and the error's row says which
/// request was refused. Preconditions: the two are of the same length, and the tensors of `fresh` are empty.
template <class Allocator, class Policies, storage_offset Offset>
[[nodiscard]] tensor_error alloc_tensors(const storage<Allocator, Policies>& in,
                                         std::span<const tensor_request<Offset>> wanted,
                                         std::span<tensor_in<storage<Allocator, Policies>>> fresh) noexcept {
    for (std::size_t i = 0; i != wanted.size(); ++i) {
        auto made = alloc_tensor(in, wanted[i].offset, wanted[i].shape, wanted[i].dtype);
        if (made) {
            fresh[i] = *std::move(made);
            continue;
        }
        tensor_error error = made.error();
        error.row = i;
        while (i != 0) fresh[--i] = {};
        return error;
    }
    return {};
}

// ── views ────────────────────────────────────────────────────────────────────────────────────────────────────────────

namespace detail {
/// How many bits of their last byte so many packed elements take: 8 where they end with it.
[[nodiscard]] constexpr std::size_t bits_of_last_byte(dtype type, std::size_t elements) noexcept {
    const std::size_t bits = elements % 8 * type.element_bits() % 8;
    return bits == 0 ? 8 : bits;
}
/// The same bytes once more: counted where that is possible.
template <class Lease>
[[nodiscard]] auto share(const Lease& lease) noexcept {
    if constexpr (std::copy_constructible<Lease>) {
        return lease;
    } else {
        using storage_type = typename Lease::storage_type;
        detail::storage_only_lease<storage_type> fresh;
        static_cast<void>(fresh.start(storage_type{typename storage_type::handle_type{*lease.body()}}, 1));
        return fresh;
    }
}
/// Whether elements of `type` are aligned at `address`, or need not be aligned more than the tensor's own: a slice begins at
/// any of those.
template <class Lease, class Address>
[[nodiscard]] bool is_as_aligned(const tensor<Lease>& of, dtype type, const Address& address) noexcept {
    using model = typename tensor<Lease>::address_model;
    if constexpr (linear_address_model<model>) {
        const auto align = [](dtype each) { return each.is_whole_bytes() ? alignment_of(each.element_bytes()) : std::size_t{1}; };
        return align(type) <= align(of.dtype()) || model::position(address) % align(type) == 0;
    } else {
        return true;
    }
}
}  // namespace detail

/// The type of a view of a tensor.
template <class Tensor>
using view_of = tensor<decltype(detail::share(std::declval<const typename Tensor::lease_type&>()))>;

/// The same bytes with another dtype and shape, `byte_offset` behind the first. Inside the tensor, which has to be
/// compact; at a multiple of the new element's size, and aligned for it unless the tensor's own elements are as large; at
/// the first byte where consumers take no offset. The view keeps the bytes alive.
template <class Lease>
[[nodiscard]] tensor_result<view_of<tensor<Lease>>> view(const tensor<Lease>& of, dtype type, const shape& extents,
                                                         std::int64_t byte_offset = 0) noexcept {
    using fresh = view_of<tensor<Lease>>;
    using answer = tensor_result<fresh>;
    if (!of) return answer::failure({tensor_refusal::killed});
    const auto bytes = byte_count(extents, type);
    if (!bytes) return answer::failure(bytes.error());
    if (!of.is_compact()) return answer::failure({tensor_refusal::not_compact});
    if (byte_offset < 0) return answer::failure({tensor_refusal::negative_offset});
    const auto skip = static_cast<std::uint64_t>(byte_offset);
    if (skip > of.size_bytes() || *bytes > of.size_bytes() - static_cast<std::size_t>(skip))
        return answer::failure({tensor_refusal::out_of_bounds});
    if (type.is_whole_bytes() && skip % type.element_bytes() != 0) return answer::failure({tensor_refusal::misaligned});
    if (fresh::offsets == offset_use::none && skip != 0) return answer::failure({tensor_refusal::no_offsets});
    const auto address = *bytes == 0 ? typename fresh::address_type{}
                                     : fresh::address_model::locate(of.address(), static_cast<std::size_t>(skip));
    if (*bytes != 0 && !detail::is_as_aligned(of, type, address)) return answer::failure({tensor_refusal::misaligned});
    const std::size_t bits = detail::bits_of_last_byte(type, *element_count(extents));
    const bool ends_with_it = skip + *bytes == of.size_bytes();
    const bool shares = *bytes != 0 && (ends_with_it ? of.shares_last_byte() ||
                                                           bits < detail::bits_of_last_byte(of.dtype(), of.size())
                                                     : bits != 8);
    return fresh{detail::share(of.lease()), address, type, extents, compact_strides(extents), shares};
}

/// A part of a tensor: `sizes[i]` elements from `begin[i]` on along each axis, with the tensor's strides. It begins at a
/// whole byte, and at the first one where consumers take no offset. The view keeps the bytes alive.
template <class Lease>
[[nodiscard]] tensor_result<view_of<tensor<Lease>>> slice(const tensor<Lease>& of, const shape& begin,
                                                          const shape& sizes) noexcept {
    using fresh = view_of<tensor<Lease>>;
    using answer = tensor_result<fresh>;
    if (!of) return answer::failure({tensor_refusal::killed});
    const std::size_t rank = of.shape().rank();
    if (!begin.is_valid() || !sizes.is_valid()) return answer::failure({tensor_refusal::bad_shape});
    if (begin.rank() != rank || sizes.rank() != rank) return answer::failure({tensor_refusal::shape_mismatch});
    std::size_t skip = 0;  // in elements; where there are any, it stays inside a tensor that exists
    std::size_t reach = 0;  // from the first element to the last
    bool ends_with_it = true;
    for (std::size_t axis = 0; axis != rank; ++axis) {
        if (begin[axis] > of.shape()[axis] || sizes[axis] > of.shape()[axis] - begin[axis])
            return answer::failure({tensor_refusal::out_of_bounds});
        const auto stride = static_cast<std::size_t>(of.strides()[axis]);
        skip += static_cast<std::size_t>(begin[axis]) * stride;
        if (sizes[axis] != 0) reach += static_cast<std::size_t>(sizes[axis] - 1) * stride;
        ends_with_it = ends_with_it && begin[axis] + sizes[axis] == of.shape()[axis];
    }
    if (*element_count(sizes) == 0) return fresh{detail::share(of.lease()), {}, of.dtype(), sizes, compact_strides(sizes)};
    const std::size_t element_bits = of.dtype().element_bits();
    if (skip % 8 * element_bits % 8 != 0) return answer::failure({tensor_refusal::partial_bytes});
    const std::size_t bytes = skip / 8 * element_bits + skip % 8 * element_bits / 8;  // all its bits need not be countable
    if (fresh::offsets == offset_use::none && bytes != 0) return answer::failure({tensor_refusal::no_offsets});
    const bool shares = ends_with_it ? of.shares_last_byte() : detail::bits_of_last_byte(of.dtype(), reach + 1) != 8;
    return fresh{detail::share(of.lease()), fresh::address_model::locate(of.address(), bytes), of.dtype(), sizes,
                 of.strides(), shares};
}

// ── kernels ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Where a tensor begins, as a kernel takes it.
struct kernel_offset {
    std::size_t elements = 0;  // from `data()` on
    std::size_t factors = 0;   // elements = factors · offset_factor
    bool is_zero = true;       // the kernel without an offset argument will do
    friend constexpr bool operator==(const kernel_offset&, const kernel_offset&) = default;
};

/// The byte offset in elements, for a kernel generated for multiples of `offset_factor` elements. Refused when it is no
/// such multiple: nothing is rounded.
template <class Lease>
[[nodiscard]] tensor_result<kernel_offset> kernel_offset_of(const tensor<Lease>& of,
                                                            std::size_t offset_factor = 1) noexcept {
    using answer = tensor_result<kernel_offset>;
    if (!of) return answer::failure({tensor_refusal::killed});
    if (!of.dtype().is_whole_bytes()) return answer::failure({tensor_refusal::partial_bytes});
    const std::size_t bytes = of.byte_offset(), element = of.dtype().element_bytes();
    if (offset_factor == 0 || bytes % element != 0 || bytes / element % offset_factor != 0)
        return answer::failure({tensor_refusal::not_divisible});
    return kernel_offset{bytes / element, bytes / element / offset_factor, bytes == 0};
}

}  // namespace v1
}  // namespace allot
