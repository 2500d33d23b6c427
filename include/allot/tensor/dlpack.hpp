// SPDX-License-Identifier: BSL-1.0
// DLPack: exports tensors to other libraries and adopts theirs. Both sides use the same bytes; nothing is copied.
//
//     allot::dlpack_pointer shared = allot::to_dlpack(t).value();  // stops if it fails
//     consumer_takes(shared.release());                            // DLManagedTensorVersioned*: theirs to delete
//
//     auto adopted = allot::from_dlpack<allot::host::heap>(allot::dlpack_pointer{producer_gives()});
//     if (!adopted) log(adopted.error().what());                       // the deleter has been called
//
//     exported    consumer ──► managed tensor ──► lease ──► storage    the deleter drops the lease
//     adopted     tensor ──► lease ──► managed tensor ──► producer     the last lease calls the deleter
//
// Types express ownership of a managed tensor. A `dlpack_pointer` calls the deleter unless it is released, and
// `from_dlpack` consumes one. In every case the deleter is called exactly once: with the last tensor or view, or before
// a failed `from_dlpack` returns.
//
// An adopted tensor is a tensor: `view`, `slice`, `copy_tensor` and `to_dlpack` accept it. `Memory` is a type with the
// traits of the expected memory: a device, an allocator or a storage. The device type must equal its `dl_device`, so
// pinned, managed and device memory are different. The lease of an adopted tensor has the device's ordinal.
//
//     convention                     data                                            byte_offset
//     edited_pointer                 the first element                               0
//     aligned_base                   the storage's base, a multiple of 256 bytes     from there to the first element
//     either, offsets are carried    the handle                                      the offset
//
// Every consumer supports an edited pointer. DLPack asks for an aligned base, but some libraries (PyTorch 1.13) ignore
// the byte offset and would read other tensors.
//
// When to use: to exchange tensors with NumPy, PyTorch, TVM and other libraries in the same process.
// When not to use: to give bytes to a consumer that takes a plain pointer; use `tensor::data()`. A tensor of
// `references::none` cannot be exported.
//
// Complexity: O(rank). Memory: one allocation on the host heap for each export and each adoption. Thread safety: that
// of the reference policy. The deleter runs in the thread where the other side drops the tensor, so a storage that is
// shared with other threads needs `references::atomic`. The allocator must outlive exported tensors. The callers wait
// for work that is queued on a device.
#pragma once

#include <allot/tensor/dlpack_abi.hpp>
#include <allot/tensor/tensor.hpp>

#include <memory>

namespace allot {
inline namespace v1 {

/// Calls the deleter of a managed tensor, if it has one.
struct dlpack_deleter {
    /// Calls the deleter.
    template <class Managed>
    void operator()(Managed* managed) const noexcept {
        if (managed->deleter != nullptr) managed->deleter(managed);
    }
};

/// The owner of a managed tensor. It calls the deleter unless it is released.
using dlpack_pointer = std::unique_ptr<DLManagedTensorVersioned, dlpack_deleter>;
/// The owner of a managed tensor without version and flags, for libraries that precede DLPack 1.0.
using dlpack_pointer_unversioned = std::unique_ptr<DLManagedTensor, dlpack_deleter>;

// ── adopting ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/// The storage type of an adopted tensor: only the traits of its memory.
template <class Memory, class Policies>
struct adopted_storage {
    /// The policies.
    using policies = Policies;
    /// The address model of the memory.
    using address_model = typename Memory::address_model;
    /// Whether the host may read and write the bytes.
    static constexpr bool host_accessible = Memory::host_accessible;
    /// How consumers of this memory use offsets.
    static constexpr offset_use offsets = Memory::offsets;
    /// The kind of memory in DLPack's terms.
    static constexpr dl_device_type dl_device = Memory::dl_device;
};

/// The owner of a managed tensor from another library. The destructor calls the deleter.
template <class Address>
class adopted_body {
public:
    /// Creates an owner of nothing.
    adopted_body() noexcept = default;
    adopted_body(const adopted_body&) = delete;
    adopted_body& operator=(const adopted_body&) = delete;
    /// Calls the deleter.
    ~adopted_body() {
        if (end_ != nullptr) end_(managed_);
    }

    /// Takes ownership of a managed tensor, its base address and its flags. Precondition: this object owns nothing.
    template <class Managed>
    void hold(std::unique_ptr<Managed, dlpack_deleter> managed, Address base, std::uint64_t flags,
              const allot::strides& steps) noexcept {
        device_id_ = managed->dl_tensor.device.device_id;
        base_ = base;
        flags_ = flags;
        strides_ = steps;
        managed_ = managed.release();
        end_ = [](void* gone) noexcept { dlpack_deleter{}(static_cast<Managed*>(gone)); };
    }
    /// Returns the address that the producer gives as `data`.
    [[nodiscard]] Address base() const noexcept { return base_; }
    /// Returns the same address as `base`.
    [[nodiscard]] Address origin() const noexcept { return base_; }
    /// Returns the flags (`dlpack_flag`).
    [[nodiscard]] std::uint64_t flags() const noexcept { return flags_; }
    /// Returns the ordinal of the device.
    [[nodiscard]] std::int32_t device_id() const noexcept { return device_id_; }
    /// Returns the strides in elements.
    [[nodiscard]] const allot::strides& strides() const noexcept { return strides_; }

private:
    void* managed_ = nullptr;
    void (*end_)(void*) noexcept = nullptr;
    Address base_{};
    std::uint64_t flags_ = 0;
    std::int32_t device_id_ = 0;
    allot::strides strides_{};
};

/// The lease of an adopted tensor: a counted reference to a managed tensor from another library.
template <class Memory, class Policies>
class adopted_lease {
public:
    /// The traits of the memory.
    using storage_type = adopted_storage<Memory, Policies>;
    /// The owner of the managed tensor.
    using body_type = adopted_body<typename Memory::address_model::address>;
    /// The handle to the owner.
    using handle_type = detail::body_handle<body_type, typename Policies::references>;
    /// False: a producer may share the same bytes more than once.
    static constexpr bool is_exclusive = false;

    /// Creates an empty lease.
    adopted_lease() noexcept = default;
    /// Creates a lease from a handle. `from_dlpack` calls it.
    explicit adopted_lease(handle_type to) noexcept : to_{std::move(to)} {}
    /// Returns whether the lease refers to a managed tensor.
    [[nodiscard]] explicit operator bool() const noexcept { return body() != nullptr; }
    /// Returns the owner of the managed tensor, or null for an empty lease.
    [[nodiscard]] body_type* body() const noexcept { return to_.get(); }
    /// Returns a pointer that is equal for leases on the same managed tensor.
    [[nodiscard]] const void* identity() const noexcept { return body(); }
    /// Returns whether the producer forbids writing.
    [[nodiscard]] bool is_read_only() const noexcept { return has(dlpack_flag::read_only); }
    /// Returns whether the producer made a copy for this consumer alone.
    [[nodiscard]] bool is_copied() const noexcept { return has(dlpack_flag::is_copied); }
    /// Returns the ordinal of the device among those of its type; 0 for an empty lease.
    [[nodiscard]] std::int32_t device_id() const noexcept { return body() == nullptr ? 0 : body()->device_id(); }
    /// Returns the strides of the managed tensor in elements. Precondition: the lease is not empty.
    [[nodiscard]] const allot::strides& strides() const noexcept { return body()->strides(); }

private:
    [[nodiscard]] bool has(std::uint64_t flag) const noexcept {
        return body() != nullptr && (body()->flags() & flag) != 0;
    }

    handle_type to_;
};

/// A tensor from another library.
template <class Memory, class Policies = storage_policies<>>
using adopted_tensor = tensor<adopted_lease<Memory, Policies>>;

namespace detail {

/// Returns the alignment that each lane of an element must have at least.
[[nodiscard]] constexpr std::size_t natural_alignment(dtype type) noexcept {
    const std::size_t bits = type.code == dtype_code::complex ? type.bits / 2U : type.bits;
    const std::size_t bytes = bits % 8 == 0 ? bits / 8 : 1;
    return std::min(bytes & (~bytes + 1), alignof(std::max_align_t));
}

/// The dtype, shape and strides of a DLTensor in allot's types, the number of bytes from its first element to its last,
/// and whether the last element ends inside a byte.
struct dlpack_form {
    allot::dtype dtype{};
    allot::shape shape{};
    allot::strides strides{};
    std::size_t extent = 0;
    bool ends_inside_a_byte = false;
};

[[nodiscard]] inline tensor_result<dlpack_form> form_of(const DLTensor& from, std::uint64_t flags) noexcept {
    const auto refuse = [](tensor_refusal reason) { return tensor_result<dlpack_form>::failure({reason}); };
    const bool is_packed = from.dtype.bits % 8 == 0 || (flags & dlpack_flag::is_padded) == 0;
    if (from.dtype.code > static_cast<std::uint8_t>(last_dtype_code) || !is_packed)
        return refuse(tensor_refusal::bad_dtype);
    if (from.ndim < 0 || (from.ndim != 0 && from.shape == nullptr)) return refuse(tensor_refusal::bad_shape);

    dlpack_form form;
    form.dtype = {static_cast<dtype_code>(from.dtype.code), from.dtype.bits, from.dtype.lanes};
    form.shape = shape{std::span<const std::int64_t>{from.shape, static_cast<std::size_t>(from.ndim)}};
    const auto bytes = byte_count(form.shape, form.dtype);
    if (!bytes) return tensor_result<dlpack_form>::failure(bytes.error());
    form.strides = compact_strides(form.shape);
    form.extent = *bytes;
    form.ends_inside_a_byte = bits_of_last_byte(form.dtype, *element_count(form.shape)) != 8;
    if (*bytes == 0 || from.strides == nullptr) return form;

    std::size_t elements = 1;
    for (std::size_t axis = 0; axis != form.shape.rank(); ++axis) {
        if (form.shape[axis] == 1) continue;  // its stride is ignored
        const std::int64_t step = from.strides[axis];
        if (step < 0) return refuse(tensor_refusal::bad_strides);
        const auto steps = static_cast<std::size_t>(form.shape[axis] - 1);
        std::size_t skipped = 0;
        if (static_cast<std::uint64_t>(step) > std::numeric_limits<std::size_t>::max() ||
            !checked_multiply(steps, static_cast<std::size_t>(step), skipped) ||
            !checked_add(elements, skipped, elements))
            return refuse(tensor_refusal::too_large);
        form.strides[axis] = step;
    }
    const auto extent = form.dtype.bytes_for(elements);
    if (!extent || *extent > std::numeric_limits<std::size_t>::max() / 2) return refuse(tensor_refusal::too_large);
    form.extent = *extent;
    form.ends_inside_a_byte = bits_of_last_byte(form.dtype, elements) != 8;
    return form;
}

/// Returns the address for the `data` of a DLTensor.
template <class Model>
[[nodiscard]] typename Model::address address_of_data(void* data) noexcept {
    if constexpr (requires(typename Model::address address) { address.handle; }) {
        using handle = decltype(Model::address::handle);
        static_assert(std::is_pointer_v<handle>,
                      "allot: DLPack identifies memory by a pointer, and this handle is not a pointer");
        return {static_cast<handle>(data), 0};
    } else {
        return data;
    }
}

}  // namespace detail

/// Adopts the tensor that another library shares. A null `strides` describes a compact tensor. When the last element
/// ends inside a byte, the rest of that byte may belong to another tensor, so the tensor may be read but not written
/// (`shares_last_byte`). On failure the deleter has been called. Fails with
/// - `killed` for a null pointer,
/// - `wrong_device` for another kind of memory,
/// - `wrong_version` for another major version of DLPack,
/// - `bad_dtype` for a dtype that allot does not support, or padded sub-byte elements,
/// - `bad_shape` for more than `max_rank` axes or a negative dimension,
/// - `bad_strides` for a negative stride,
/// - `too_large` for elements beyond the address space,
/// - `no_memory` for elements with a null `data`,
/// - `misaligned` for an address that is not aligned for the dtype, or an offset where consumers take none,
/// - `no_host_memory` when the host heap is exhausted.
template <class Memory, class Policies = storage_policies<>, class Managed>
[[nodiscard]] tensor_result<adopted_tensor<Memory, Policies>> from_dlpack(
    std::unique_ptr<Managed, dlpack_deleter> managed) noexcept {
    using model = typename Memory::address_model;
    using fresh = adopted_tensor<Memory, Policies>;
    using lease = typename fresh::lease_type;
    using answer = tensor_result<fresh>;
    static_assert(Policies::references::counted,
                  "allot: an adopted tensor counts references: use references::plain or references::atomic");
    const auto refuse = [](tensor_refusal reason) { return answer::failure({reason}); };
    if (managed == nullptr) return refuse(tensor_refusal::killed);
    std::uint64_t flags = 0;
    if constexpr (std::same_as<Managed, DLManagedTensorVersioned>) {
        if (managed->version.major != dlpack_major) return refuse(tensor_refusal::wrong_version);
        flags = managed->flags;
    }
    const DLTensor& from = managed->dl_tensor;
    if (static_cast<dl_device_type>(from.device.device_type) != Memory::dl_device)
        return refuse(tensor_refusal::wrong_device);
    const auto form = detail::form_of(from, flags);
    if (!form) return answer::failure(form.error());

    typename model::address base{}, address{};
    if (form->extent != 0) {
        if (from.data == nullptr) return refuse(tensor_refusal::no_memory);
        if (Memory::offsets == offset_use::none && from.byte_offset != 0) return refuse(tensor_refusal::misaligned);
        base = detail::address_of_data<model>(from.data);
        std::size_t end = 0;
        if (from.byte_offset > std::numeric_limits<std::size_t>::max() / 2 ||
            !checked_add(model::position(base), static_cast<std::size_t>(from.byte_offset), end) ||
            !checked_add(end, form->extent, end))
            return refuse(tensor_refusal::too_large);
        address = model::locate(base, static_cast<std::size_t>(from.byte_offset));
        if (model::position(address) % detail::natural_alignment(form->dtype) != 0)
            return refuse(tensor_refusal::misaligned);
    }
    auto handle = lease::handle_type::make();
    if (handle.get() == nullptr) return refuse(tensor_refusal::no_host_memory);
    handle.get()->hold(std::move(managed), base, flags, form->strides);
    return fresh{lease{std::move(handle)}, address, form->dtype, form->shape, form->strides, form->ends_inside_a_byte};
}

// ── exporting ────────────────────────────────────────────────────────────────────────────────────────────────────────

/// The position of a tensor in an exported `DLTensor`.
enum class dlpack_convention : unsigned char {
    edited_pointer,  ///< `data` is a pointer to the first element, and `byte_offset` is 0.
    aligned_base,    ///< `data` is aligned to 256 bytes, and `byte_offset` is the distance to the first element.
};

/// The options of an export.
struct dlpack_options {
    dlpack_convention convention = dlpack_convention::edited_pointer;  ///< The position of the tensor.
    std::int32_t device_id = 0;  ///< The device's ordinal among those of its type. Ignored for adopted tensors.
    bool read_only = false;      ///< Whether the consumer must not write. Always true for read-only tensors.
};

namespace detail {

/// The object behind an exported tensor: the managed tensor, the lease, and the arrays that it points to.
template <class Managed, class Lease>
struct dlpack_export {
    Managed managed{};
    Lease held;
    allot::shape shape;
    allot::strides strides;

    static void end(Managed* managed) noexcept { delete static_cast<dlpack_export*>(managed->manager_ctx); }
};

/// Writes `data` and `byte_offset`. Returns the reason for a failure, or `none`.
template <class Lease>
[[nodiscard]] tensor_refusal locate_data(const tensor<Lease>& of, dlpack_convention convention, DLTensor& to) noexcept {
    using model = typename tensor<Lease>::address_model;
    constexpr std::size_t alignment = 256;
    if (of.size() == 0) return tensor_refusal::none;
    if constexpr (requires { of.address().handle; }) {
        static_assert(std::is_pointer_v<decltype(of.address().handle)>,
                      "allot: DLPack identifies memory by a pointer, and this handle is not a pointer");
        to.data = of.address().handle;
        to.byte_offset = of.address().offset;
    } else {
        const auto point_to = [&to](const void* at) { to.data = const_cast<void*>(at); };  // the flag forbids writes
        point_to(of.address());
        if (convention == dlpack_convention::edited_pointer) return tensor_refusal::none;
        if constexpr (tensor<Lease>::offsets == offset_use::arithmetic && has_one_base<decltype(*of.lease().body())>) {
            point_to(of.lease().body()->origin());
            to.byte_offset = model::position(of.address()) - model::position(to.data);
        }
        if (model::position(to.data) % alignment != 0) return tensor_refusal::misaligned;
    }
    return tensor_refusal::none;
}

template <class Managed, class Lease>
[[nodiscard]] tensor_result<std::unique_ptr<Managed, dlpack_deleter>> export_tensor(const tensor<Lease>& of,
                                                                                    dlpack_options options) noexcept {
    using fresh = std::unique_ptr<Managed, dlpack_deleter>;
    using answer = tensor_result<fresh>;
    using node = dlpack_export<Managed, Lease>;
    static_assert(tensor<Lease>::policies::references::counted,
                  "allot: a consumer of DLPack holds a reference: a tensor of references::none cannot be exported");
    if (!of) return answer::failure({tensor_refusal::killed});
    DLTensor exported{};
    if (const tensor_refusal reason = locate_data(of, options.convention, exported); reason != tensor_refusal::none)
        return answer::failure({reason});
    const bool read_only = options.read_only || of.is_read_only();
    if constexpr (std::same_as<Managed, DLManagedTensor>) {
        if (read_only) return answer::failure({tensor_refusal::read_only});
    }
    auto* const made = new (std::nothrow) node{{}, of.lease(), of.shape(), of.strides()};
    if (made == nullptr) return answer::failure({tensor_refusal::no_host_memory});

    exported.device.device_type = static_cast<decltype(exported.device.device_type)>(tensor<Lease>::dl_device);
    exported.device.device_id = options.device_id;
    if constexpr (requires { of.lease().device_id(); }) exported.device.device_id = of.lease().device_id();
    exported.ndim = static_cast<std::int32_t>(of.shape().rank());
    exported.dtype = {static_cast<std::uint8_t>(of.dtype().code), of.dtype().bits, of.dtype().lanes};
    exported.shape = &made->shape[0];
    exported.strides = &made->strides[0];
    made->managed.dl_tensor = exported;
    made->managed.manager_ctx = made;
    made->managed.deleter = &node::end;
    if constexpr (std::same_as<Managed, DLManagedTensorVersioned>) {
        made->managed.version = {dlpack_major, dlpack_minor};
        made->managed.flags = read_only ? dlpack_flag::read_only : 0;
    }
    return fresh{&made->managed};
}

}  // namespace detail

/// Exports a tensor to another library, which shares the bytes until it calls the deleter. Fails with `killed`,
/// `no_host_memory`, or `misaligned` for `aligned_base` with a base that is not aligned to 256 bytes.
template <class Lease>
[[nodiscard]] tensor_result<dlpack_pointer> to_dlpack(const tensor<Lease>& of, dlpack_options options = {}) noexcept {
    return detail::export_tensor<DLManagedTensorVersioned>(of, options);
}

/// Exports a tensor to a library that precedes DLPack 1.0. That format cannot express that a tensor is read-only, so a
/// read-only export also fails with `read_only`.
template <class Lease>
[[nodiscard]] tensor_result<dlpack_pointer_unversioned> to_dlpack_unversioned(const tensor<Lease>& of,
                                                                              dlpack_options options = {}) noexcept {
    return detail::export_tensor<DLManagedTensor>(of, options);
}

}  // namespace v1
}  // namespace allot
