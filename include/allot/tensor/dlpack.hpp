// SPDX-License-Identifier: BSL-1.0
// DLPack: tensors that other libraries read and write where they are, and theirs as ours. Nothing is copied.
//
//     allot::dlpack_pointer shared = *allot::to_dlpack(t);             // null when refused
//     consumer_takes(shared.release());                                // DLManagedTensorVersioned*: theirs to delete
//
//     auto adopted = allot::from_dlpack<allot::host::heap>(allot::dlpack_pointer{producer_gives()});
//     if (!adopted) log(adopted.error().what());                       // the deleter has been called
//
//     exported    consumer ──► managed tensor ──► claim ──► storage    the deleter drops the claim
//     adopted     tensor ──► claim ──► managed tensor ──► producer     the last claim calls the deleter
//
// Whose a managed tensor is, its type says: a `dlpack_pointer` calls the deleter unless it is released, and
// `from_dlpack` takes one for good. Whatever it answers, the deleter is called exactly once: with the last tensor or
// view, or before a refusal returns.
//
// An adopted tensor is a tensor: `view`, `slice`, `copy_tensor` and `to_dlpack` take it. `Memory` is whatever has the
// traits of the memory that is expected, a device, an allocator or a storage; the device type has to be exactly its
// `dl_device`, so that pinned, managed and device memory are told apart. `t.lease()` knows the device's ordinal.
//
//     convention                     data                                            byte_offset
//     edited_pointer                 the first element                               0
//     aligned_base                   the storage's base, a multiple of 256 bytes     from there to the first element
//     either, offsets are carried    the handle                                      the offset
//
// An edited pointer is understood everywhere; an aligned base is what DLPack asks for, but some libraries (PyTorch 1.13)
// ignore the byte offset and would read other tensors.
//
// Complexity: O(rank). Memory: one allocation on the host heap for each export and each adoption. Thread safety: that
// of the references; a deleter runs in whatever thread the other side drops the tensor, so that storages shared with
// threads count by references::atomic. The allocator outlives what was exported. Work queued on a device is for the
// callers to wait for.
#pragma once

#include <allot/tensor/dlpack_abi.hpp>
#include <allot/tensor/tensor.hpp>

#include <memory>

namespace allot {
inline namespace v1 {

/// Ends a managed tensor as its producer asks.
struct dlpack_deleter {
    template <class Managed>
    void operator()(Managed* managed) const noexcept {
        if (managed->deleter != nullptr) managed->deleter(managed);
    }
};

/// A managed tensor that is yours until you release it.
using dlpack_pointer = std::unique_ptr<DLManagedTensorVersioned, dlpack_deleter>;
/// The same without version and flags, for libraries from before DLPack 1.0.
using dlpack_pointer_unversioned = std::unique_ptr<DLManagedTensor, dlpack_deleter>;

// ── adopting ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/// What an adopted tensor has in place of a storage: the traits of its memory.
template <class Memory, class Policies>
struct adopted_storage {
    using policies = Policies;
    using address_model = typename Memory::address_model;
    static constexpr bool host_accessible = Memory::host_accessible;
    static constexpr offset_use offsets = Memory::offsets;
    static constexpr dl_device_type dl_device = Memory::dl_device;
};

/// A managed tensor of another library: ended with this.
template <class Address>
class adopted_body {
public:
    adopted_body() noexcept = default;
    adopted_body(const adopted_body&) = delete;
    adopted_body& operator=(const adopted_body&) = delete;
    ~adopted_body() {
        if (end_ != nullptr) end_(managed_);
    }

    template <class Managed>
    void hold(std::unique_ptr<Managed, dlpack_deleter> managed, Address base, std::uint64_t flags) noexcept {
        device_id_ = managed->dl_tensor.device.device_id;
        base_ = base;
        flags_ = flags;
        managed_ = managed.release();
        end_ = [](void* gone) noexcept { dlpack_deleter{}(static_cast<Managed*>(gone)); };
    }
    /// What the producer calls `data`.
    [[nodiscard]] Address base() const noexcept { return base_; }
    [[nodiscard]] std::uint64_t flags() const noexcept { return flags_; }
    [[nodiscard]] std::int32_t device_id() const noexcept { return device_id_; }

private:
    void* managed_ = nullptr;
    void (*end_)(void*) noexcept = nullptr;
    Address base_{};
    std::uint64_t flags_ = 0;
    std::int32_t device_id_ = 0;
};

/// A counted reference to a managed tensor of another library.
template <class Memory, class Policies>
class adopted_lease {
public:
    using storage_type = adopted_storage<Memory, Policies>;
    using body_type = adopted_body<typename Memory::address_model::address>;
    using handle_type = detail::body_handle<body_type, typename Policies::references>;
    /// A producer may share the same bytes twice.
    static constexpr bool is_exclusive = false;

    adopted_lease() noexcept = default;
    explicit adopted_lease(handle_type to) noexcept : to_{std::move(to)} {}
    [[nodiscard]] explicit operator bool() const noexcept { return body() != nullptr; }
    [[nodiscard]] body_type* body() const noexcept { return to_.get(); }
    [[nodiscard]] const void* identity() const noexcept { return body(); }
    [[nodiscard]] bool is_read_only() const noexcept { return has(dlpack_flag::read_only); }
    /// Whether the producer made a copy, which nobody else uses.
    [[nodiscard]] bool is_copied() const noexcept { return has(dlpack_flag::is_copied); }
    /// Which of the devices of its type.
    [[nodiscard]] std::int32_t device_id() const noexcept { return body() == nullptr ? 0 : body()->device_id(); }

private:
    [[nodiscard]] bool has(std::uint64_t flag) const noexcept {
        return body() != nullptr && (body()->flags() & flag) != 0;
    }

    handle_type to_;
};

/// A tensor of another library.
template <class Memory, class Policies = storage_policies<>>
using adopted_tensor = tensor<adopted_lease<Memory, Policies>>;

namespace detail {

/// What an element's lanes are aligned to at least, wherever they come from.
[[nodiscard]] constexpr std::size_t natural_alignment(dtype type) noexcept {
    const std::size_t bits = type.code == dtype_code::complex ? type.bits / 2U : type.bits;
    const std::size_t bytes = bits % 8 == 0 ? bits / 8 : 1;
    return std::min(bytes & (~bytes + 1), alignof(std::max_align_t));
}

/// Dtype, shape and strides of a DLTensor as allot has them, the bytes from its first element to its last, and whether
/// that one ends inside a byte.
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
    if (from.dtype.code > static_cast<std::uint8_t>(dtype_code::boolean) || !is_packed)
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
        if (form.shape[axis] == 1) continue;  // its stride means nothing
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

/// The address that a DLTensor calls `data`.
template <class Model>
[[nodiscard]] typename Model::address address_of_data(void* data) noexcept {
    if constexpr (requires(typename Model::address address) { address.handle; }) {
        using handle = decltype(Model::address::handle);
        static_assert(std::is_pointer_v<handle>, "allot: DLPack names memory by a pointer, and this handle is none");
        return {static_cast<handle>(data), 0};
    } else {
        return data;
    }
}

}  // namespace detail

/// The tensor that another library shares. Refused: another kind of memory (wrong_device), another major version
/// (wrong_version), a dtype that allot has no name for or whose elements are padded (bad_dtype), more than `max_rank`
/// axes (bad_shape), negative strides (bad_strides), elements that no address reaches (too_large), or that lie in no
/// memory (no_memory), or not as the dtype asks or, where consumers take no offset, behind one (misaligned). No strides
/// are those of a compact tensor. The rest of a byte that the last element ends inside may be another tensor's: such a
/// tensor is read and not written (`shares_last_byte`).
template <class Memory, class Policies = storage_policies<>, class Managed>
[[nodiscard]] tensor_result<adopted_tensor<Memory, Policies>> from_dlpack(
    std::unique_ptr<Managed, dlpack_deleter> managed) noexcept {
    using model = typename Memory::address_model;
    using fresh = adopted_tensor<Memory, Policies>;
    using lease = typename fresh::lease_type;
    using answer = tensor_result<fresh>;
    static_assert(Policies::references::counted,
                  "allot: an adopted tensor counts references: give it references::plain or references::atomic");
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
    handle.get()->hold(std::move(managed), base, flags);
    return fresh{lease{std::move(handle)}, address, form->dtype, form->shape, form->strides, form->ends_inside_a_byte};
}

// ── exporting ────────────────────────────────────────────────────────────────────────────────────────────────────────

enum class dlpack_convention : unsigned char {
    edited_pointer,  // the pointer to the first element
    aligned_base,    // an aligned pointer, and bytes from there on
};

struct dlpack_options {
    dlpack_convention convention = dlpack_convention::edited_pointer;
    std::int32_t device_id = 0;  // which of the devices of its type; an adopted tensor knows its own
    bool read_only = false;      // the consumer may not write; always so for a tensor that was adopted as that
};

namespace detail {

/// What a consumer is given: the managed tensor, and what it needs.
template <class Managed, class Lease>
struct dlpack_export {
    Managed managed{};
    Lease held;
    allot::shape shape;
    allot::strides strides;

    static void end(Managed* managed) noexcept { delete static_cast<dlpack_export*>(managed->manager_ctx); }
};

/// `data` and `byte_offset`.
template <class Lease>
[[nodiscard]] tensor_refusal locate_data(const tensor<Lease>& of, dlpack_convention convention, DLTensor& to) noexcept {
    using model = typename tensor<Lease>::address_model;
    constexpr std::size_t alignment = 256;
    if (of.size() == 0) return tensor_refusal::none;
    if constexpr (requires { of.address().handle; }) {
        static_assert(std::is_pointer_v<decltype(of.address().handle)>,
                      "allot: DLPack names memory by a pointer, and this handle is none");
        to.data = of.address().handle;
        to.byte_offset = of.address().offset;
    } else {
        to.data = of.address();
        if (convention == dlpack_convention::edited_pointer) return tensor_refusal::none;
        if constexpr (tensor<Lease>::offsets == offset_use::arithmetic) {
            to.data = of.lease().body()->base();
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

/// A tensor for another library, which shares the bytes until it calls the deleter. Refused: a base that is not aligned
/// to 256 bytes where `aligned_base` is asked for (misaligned).
template <class Lease>
[[nodiscard]] tensor_result<dlpack_pointer> to_dlpack(const tensor<Lease>& of, dlpack_options options = {}) noexcept {
    return detail::export_tensor<DLManagedTensorVersioned>(of, options);
}

/// The same for libraries from before DLPack 1.0, which cannot be told that a tensor is read-only: that is refused.
template <class Lease>
[[nodiscard]] tensor_result<dlpack_pointer_unversioned> to_dlpack_unversioned(const tensor<Lease>& of,
                                                                              dlpack_options options = {}) noexcept {
    return detail::export_tensor<DLManagedTensor>(of, options);
}

}  // namespace v1
}  // namespace allot
