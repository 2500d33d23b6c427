// SPDX-License-Identifier: BSL-1.0
// tensor: typed elements at an offset of a storage, and views of the same bytes.
//
//     auto a = allot::alloc_tensor(data, 1024, {4, 64}, allot::int32).value();               // at a planned offset
//     auto b = allot::alloc_tensor(data, allot::anywhere, {4, 64}, allot::float16).value();  // at a free offset
//     auto bits = allot::view(b, allot::uint16, {256}).value();                              // other dtype and shape
//     auto rows = allot::slice(a, {1, 0}, {2, 64}).value();                                  // a part of a
//     a.kill();                                       // drops this reference; bytes that a view uses stay allocated
//
//     memory whose offsets are    data()                       byte_offset()
//     arithmetic                  pointer to first element     0
//     carried                     the handle, unchanged        from the handle to the first byte
//     none                        the tensor's own handle      0
//
// A tensor is a handle: copies count references to the bytes, and through them to the storage. With `references::none`
// a tensor can be moved but not copied, and a view holds no reference, so the tensor must outlive its views.
//
// `kernel_offset_of` returns the offset for kernels that take an offset in elements. A kernel variant without an offset
// argument suffices whenever `is_zero` holds. In memory whose offsets are arithmetic or none, it always holds, so a
// code generator needs no other variant there.
//
// When to use: for the tensors of a runtime or an inference engine, in any memory whose addresses are linear.
// When not to use: for a tensor whose rows are scattered (discontiguous.hpp), or in an image (texture.hpp). For tensors
// of other libraries, see dlpack.hpp.
//
// Complexity: `alloc_tensor` costs as much as the storage's placement (storage_body.hpp); views and slices are O(rank).
// Memory: 40 bytes for each handle and those of its address and its lease (detail/lease.hpp): 48 where addresses are
// pointers. With `references::none`, the lease has the record: 56 with `best_fit`, 64 with other strategies and
// `own_blocks`. Thread safety: that of the reference policy.
#pragma once

#include <allot/tensor/detail/lease.hpp>
#include <allot/tensor/detail/result_refusals.hpp>
#include <allot/tensor/detail/tensor_form.hpp>

namespace allot {
inline namespace v1 {

/// A reference to the bytes of a tensor, with its dtype, shape and strides. `alloc_tensor`, `view`, `slice` and
/// `from_dlpack` create it.
template <class Lease>
class tensor {
public:
    /// The type of the lease that keeps the bytes allocated.
    using lease_type = Lease;
    /// The type of the storage.
    using storage_type = typename Lease::storage_type;
    /// The policies of the storage.
    using policies = typename storage_type::policies;
    /// The address model of the memory.
    using address_model = typename storage_type::address_model;
    /// The address of a byte.
    using address_type = typename address_model::address;
    /// Whether the host may read and write the bytes.
    static constexpr bool host_accessible = storage_type::host_accessible;
    /// How consumers of this memory use offsets.
    static constexpr offset_use offsets = storage_type::offsets;
    /// The kind of memory in DLPack's terms.
    static constexpr dl_device_type dl_device = storage_type::dl_device;

    /// Creates an empty handle.
    tensor() noexcept = default;
    /// Creates a handle from its parts. Functions that create tensors call it. Precondition: the strides are those of a
    /// compact tensor that contains this one, or those of the lease.
    tensor(Lease lease, address_type address, allot::dtype type, const allot::shape& extents,
           const allot::strides& steps, bool shares_last_byte = false) noexcept
        : tensor{std::move(lease), address, detail::tensor_form{type, extents, steps, shares_last_byte}} {}
    /// Creates a handle from its parts. Functions that create tensors call it.
    tensor(Lease lease, address_type address, const detail::tensor_form& form) noexcept
        : lease_{std::move(lease)}, form_{form}, address_{address} {}

    /// Returns false for a handle that was killed or never allocated.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(lease_); }

    /// Returns the pointer to the first element, or the handle that `byte_offset()` belongs to. Null for a tensor
    /// without elements.
    [[nodiscard]] auto data() const noexcept {
        check();
        if constexpr (requires { address_.handle; }) {
            return address_.handle;
        } else {
            return address_;
        }
    }
    /// Returns the number of bytes from `data()` to the first element: 0 where addresses are pointers.
    [[nodiscard]] std::size_t byte_offset() const noexcept {
        check();
        if constexpr (requires { address_.handle; }) {
            return address_.offset;
        } else {
            return 0;
        }
    }
    /// Returns the address of the first element in the address model.
    [[nodiscard]] address_type address() const noexcept {
        check();
        return address_;
    }
    /// Returns the dtype.
    [[nodiscard]] allot::dtype dtype() const noexcept { return form_.type(); }
    /// Returns the shape. The handle has it in fewer bytes: a loop over its axes keeps the result.
    [[nodiscard]] allot::shape shape() const noexcept { return form_.extents(); }
    /// Returns the strides in elements.
    [[nodiscard]] allot::strides strides() const noexcept {
        if constexpr (requires { lease_.strides(); }) {
            if (form_.by_lease()) return lease_.strides();
        }
        return form_.steps();
    }
    /// Returns the number of elements.
    [[nodiscard]] std::size_t size() const noexcept { return form_.size(); }
    /// Returns the number of bytes of the elements, without gaps.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return *dtype().bytes_for(size()); }
    /// Returns whether the elements are contiguous in row-major order.
    [[nodiscard]] bool is_compact() const noexcept { return form_.is_compact(); }
    /// Returns whether bits of the last byte belong, or may belong, to other elements: the tensor is a part of a tensor
    /// of a sub-byte dtype and ends inside a byte. `copy_tensor` may read such a tensor but not write it.
    [[nodiscard]] bool shares_last_byte() const noexcept { return form_.shares_last_byte(); }
    /// Returns whether the elements must not be written: adopted tensors (dlpack.hpp) can be read-only, and tensors of
    /// shared rows (row_view.hpp) and of read-only memory (const_pointer.hpp) are.
    [[nodiscard]] bool is_read_only() const noexcept {
        return std::same_as<address_type, const void*> || lease_.is_read_only();
    }

    /// Drops this reference. The bytes are freed with the last tensor or view of them. A second call has no effect; in
    /// hardened builds it is a misuse.
    void kill() noexcept {
        check();
        lease_ = {};
        address_ = {};
        form_.clear();
    }

    /// Returns the lease that keeps the bytes allocated.
    [[nodiscard]] const Lease& lease() const noexcept { return lease_; }
    /// Returns the dtype, shape and strides as the handle has them. Functions that create tensors call it.
    [[nodiscard]] const detail::tensor_form& form() const noexcept { return form_; }

private:
    void check() const noexcept { detail::check_alive<policies>(static_cast<bool>(*this)); }

    Lease lease_;
    detail::tensor_form form_{};
    address_type address_{};
};

/// The type of the tensors of a storage.
template <class Storage>
using tensor_in = tensor<detail::lease_on<Storage, 1>>;

namespace detail {
/// Allocates a tensor in any storage. Checks the conditions in the order of their documentation.
template <class Allocator, class Policies, storage_offset Offset>
[[nodiscard]] tensor_result<tensor_in<storage<Allocator, Policies>>> place_tensor(
    const storage<Allocator, Policies>& in, Offset offset, const shape& extents, dtype type,
    std::size_t align) noexcept {
    using fresh = tensor_in<storage<Allocator, Policies>>;
    using answer = tensor_result<fresh>;
    if (!in) return answer::failure({tensor_refusal::killed});
    const auto bytes = byte_count(extents, type);
    if (!bytes) return answer::failure(bytes.error());
    typename fresh::lease_type lease;
    if (const tensor_refusal reason = lease.start(in, 1); reason != tensor_refusal::none)
        return answer::failure({reason});
    typename storage<Allocator, Policies>::body_type::piece taken{};
    const auto address = in.body()->take(offset, {*bytes, align == 0 ? in.align() : align}, taken);
    if (!address) return answer::failure(address.error());
    if (*bytes != 0) lease.keep(taken);
    return fresh{std::move(lease), *address, tensor_form{type, extents}};
}
/// A shape and a dtype as values, so that a compiler that knows them needs no object for a call that rarely happens.
struct split_arguments {
    std::int64_t extents[max_rank];
    std::size_t rank;
    dtype_code code;
    std::uint8_t bits;
    std::uint16_t lanes;

    ALLOT_INLINE split_arguments(const shape& of, dtype type) noexcept
        : extents{of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7]},
          rank{of.rank()},
          code{type.code},
          bits{type.bits},
          lanes{type.lanes} {
        static_assert(max_rank == 8);
    }
};
/// Allocates a tensor that the short path of `alloc_tensor` excludes.
template <class Allocator, class Policies, storage_offset Offset>
[[nodiscard]] ALLOT_COLD ALLOT_NOINLINE tensor_result<tensor_in<storage<Allocator, Policies>>> place_other_tensor(
    const storage<Allocator, Policies>& in, Offset offset, split_arguments of, std::size_t align) noexcept {
    return place_tensor(in, offset, shape{std::span<const std::int64_t>{of.extents, of.rank}},
                        {of.code, of.bits, of.lanes}, align);
}
}  // namespace detail

/// Allocates a tensor of this shape and dtype at an offset in bytes, or at any suitable offset for `anywhere`. The
/// offset must be a multiple of `align`, a power of two up to the storage's alignment; 0 selects the storage's
/// alignment. The bytes at a given offset must be free; use `view` for an intentional alias. A storage that is
/// `as_given` and not hardened does not check that. A tensor without elements occupies no bytes. Fails with `killed`,
/// `bad_dtype`, `bad_shape`, `too_large`, `bad_alignment`, `misaligned`, `negative_offset`, `out_of_bounds`,
/// `overlapping`, `no_memory` or `no_host_memory`.
template <class Allocator, class Policies, storage_offset Offset>
[[nodiscard]] ALLOT_INLINE inline tensor_result<tensor_in<storage<Allocator, Policies>>> alloc_tensor(
    const storage<Allocator, Policies>& in, Offset offset, const shape& extents, dtype type,
    std::size_t align = 0) noexcept {
    using body = typename storage<Allocator, Policies>::body_type;
    if constexpr (body::records || body::separate || std::same_as<Offset, anywhere_t>) {
        return detail::place_tensor(in, offset, extents, type, align);
    } else {
        // The storage records nothing. What remains are comparisons, which compilers evaluate for known arguments.
        detail::tensor_form form;
        std::uint64_t bytes = 0;
        if (!form.set_plain(type, extents, bytes) || !in || !in.body()->contains(offset, bytes, align))
            return detail::place_other_tensor(in, offset, detail::split_arguments{extents, type}, align);
        return tensor_in<storage<Allocator, Policies>>{detail::storage_only_lease{in}, in.body()->locate(offset), form};
    }
}

/// The request for one tensor in a call of `alloc_tensors`.
template <storage_offset Offset = std::int64_t>
struct tensor_request {
    Offset offset{};       ///< The offset in bytes, or `anywhere`.
    allot::shape shape{};  ///< The shape.
    allot::dtype dtype{};  ///< The dtype.
};

/// Allocates all requested tensors, or none: `fresh[i]` is the tensor for `wanted[i]`. On failure, the storage is
/// unchanged and `row` of the error is the index of the failed request. Preconditions: both ranges have the same
/// length, and the tensors in `fresh` are empty.
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
/// Returns the number of bits that packed elements occupy in their last byte: 8 where they end at a byte boundary.
[[nodiscard]] constexpr std::size_t bits_of_last_byte(dtype type, std::size_t elements) noexcept {
    const std::size_t bits = elements % 8 * type.element_bits() % 8;
    return bits == 0 ? 8 : bits;
}
/// Returns a lease on the same bytes: a counted copy, or a lease without pieces where leases cannot be copied.
template <class Lease>
[[nodiscard]] auto share(const Lease& lease) noexcept {
    if constexpr (std::copy_constructible<Lease>) {
        return lease;
    } else {
        using storage_type = typename Lease::storage_type;
        detail::storage_only_lease<storage_type> fresh;
        static_cast<void>(fresh.start(lease.storage(), 1));
        return fresh;
    }
}
/// Returns whether `address` is aligned for elements of `type`, or `type` needs no more alignment than the tensor's own
/// dtype. The second rule admits slices, which may begin at any element.
template <class Lease, class Address>
[[nodiscard]] bool is_as_aligned(const tensor<Lease>& of, dtype type, const Address& address) noexcept {
    using model = typename tensor<Lease>::address_model;
    if constexpr (linear_address_model<model>) {
        const auto align = [](dtype each) {
            return each.is_whole_bytes() ? alignment_of(each.element_bytes()) : std::size_t{1};
        };
        return align(type) <= align(of.dtype()) || model::position(address) % align(type) == 0;
    } else {
        return true;
    }
}
}  // namespace detail

/// The type of a view of a tensor.
template <class Tensor>
using view_of = tensor<decltype(detail::share(std::declval<const typename Tensor::lease_type&>()))>;

/// Returns a view of the bytes from `byte_offset` on, with another dtype and shape. The tensor must be compact
/// (`not_compact`) and contain the view (`out_of_bounds`). The offset must be a multiple of the new element's size, and
/// the address must be aligned for the new dtype unless the tensor's own dtype has the same alignment or more
/// (`misaligned`). Where consumers take no offset, `byte_offset` must be 0 (`no_offsets`). The view keeps the bytes
/// allocated.
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
    const bool shares =
        *bytes != 0 &&
        (ends_with_it ? of.shares_last_byte() || bits < detail::bits_of_last_byte(of.dtype(), of.size()) : bits != 8);
    return fresh{detail::share(of.lease()), address, detail::tensor_form{type, extents, shares}};
}

/// Returns a view of a part of a tensor: `sizes[i]` elements from `begin[i]` on along each axis, with the tensor's
/// strides. The part must begin at a whole byte (`partial_bytes`) and be inside the tensor (`out_of_bounds`). Where
/// consumers take no offset, it must begin at the first byte (`no_offsets`). The view keeps the bytes allocated.
template <class Lease>
[[nodiscard]] tensor_result<view_of<tensor<Lease>>> slice(const tensor<Lease>& of, const shape& begin,
                                                          const shape& sizes) noexcept {
    using fresh = view_of<tensor<Lease>>;
    using answer = tensor_result<fresh>;
    if (!of) return answer::failure({tensor_refusal::killed});
    const shape whole = of.shape();
    const strides steps = of.strides();
    const std::size_t rank = whole.rank();
    if (!begin.is_valid() || !sizes.is_valid()) return answer::failure({tensor_refusal::bad_shape});
    if (begin.rank() != rank || sizes.rank() != rank) return answer::failure({tensor_refusal::shape_mismatch});
    std::size_t skip = 0;   // in elements; it cannot overflow in a slice with elements, which is inside the tensor
    std::size_t reach = 0;  // elements from the first to the last
    bool ends_with_it = true, is_empty = false;
    for (std::size_t axis = 0; axis != rank; ++axis) {
        if (begin[axis] > whole[axis] || sizes[axis] > whole[axis] - begin[axis])
            return answer::failure({tensor_refusal::out_of_bounds});
        const auto stride = static_cast<std::size_t>(steps[axis]);
        skip += static_cast<std::size_t>(begin[axis]) * stride;
        is_empty = is_empty || sizes[axis] == 0;
        if (sizes[axis] != 0) reach += static_cast<std::size_t>(sizes[axis] - 1) * stride;
        ends_with_it = ends_with_it && begin[axis] + sizes[axis] == whole[axis];
    }
    if (is_empty) return fresh{detail::share(of.lease()), {}, detail::tensor_form{of.dtype(), sizes}};
    const std::size_t element_bits = of.dtype().element_bits();
    if (skip % 8 * element_bits % 8 != 0) return answer::failure({tensor_refusal::partial_bytes});
    // In two parts, because the product of `skip` and `element_bits` may overflow.
    const std::size_t bytes = skip / 8 * element_bits + skip % 8 * element_bits / 8;
    if (fresh::offsets == offset_use::none && bytes != 0) return answer::failure({tensor_refusal::no_offsets});
    const bool shares = ends_with_it ? of.shares_last_byte() : detail::bits_of_last_byte(of.dtype(), reach + 1) != 8;
    return fresh{detail::share(of.lease()), fresh::address_model::locate(of.address(), bytes),
                 of.form().part(sizes, steps, shares)};
}

// ── kernels ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// The offset of a tensor as an argument of a kernel.
struct kernel_offset {
    std::size_t elements = 0;  ///< The offset from `data()` in elements.
    std::size_t factors = 0;   ///< `elements` divided by `offset_factor`.
    bool is_zero = true;       ///< Whether the kernel variant without an offset argument suffices.
    /// Compares all members.
    friend constexpr bool operator==(const kernel_offset&, const kernel_offset&) = default;
};

/// Returns the byte offset in elements, for a kernel that was generated for multiples of `offset_factor` elements.
/// Fails with `not_divisible` for any other offset, and with `partial_bytes` for a sub-byte dtype.
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
