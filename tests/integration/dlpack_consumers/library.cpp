// C functions for consumers.py: tensors in an arena, and tensors adopted from other libraries. Functions that return
// null set `reason` to a description of the error.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>
#include <allot/tensor/dlpack.hpp>

#include <span>
#include <variant>

namespace {

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using policies = allot::storage_policies<allot::best_fit<>, allot::references::atomic>;  // Python has threads
using own = allot::tensor_in<allot::storage<arena, policies>>;
using foreign = allot::adopted_tensor<allot::host::heap, policies>;

struct memory {
    arena from{{}, 1 << 20};
    allot::storage<arena, policies> storage = *allot::alloc_storage<policies>(from, 1 << 16, 256);
};

using any_tensor = std::variant<own, foreign>;

template <class Tensor>
any_tensor* answer(allot::tensor_result<Tensor> made, const char** reason) {
    if (made) return new any_tensor{*std::move(made)};
    *reason = made.error().what();
    return nullptr;
}

template <class Managed>
void* answer(allot::tensor_result<std::unique_ptr<Managed, allot::dlpack_deleter>> made, const char** reason) {
    if (made) return (*std::move(made)).release();
    *reason = made.error().what();
    return nullptr;
}

allot::shape shape_of(const std::int64_t* extents, std::size_t rank) { return allot::shape{std::span{extents, rank}}; }

}  // namespace

extern "C" {

memory* memory_create() { return new memory; }
void memory_destroy(memory* gone) { delete gone; }
bool memory_is_free(memory* of, std::int64_t offset) {
    return static_cast<bool>(allot::alloc_tensor(of->storage, offset, {1}, allot::uint8, 1));
}

any_tensor* tensor_create(memory* in, std::int64_t offset, std::uint8_t code, std::uint8_t bits, std::size_t rank,
                          const std::int64_t* extents, const char** reason) {
    const allot::dtype type{static_cast<allot::dtype_code>(code), bits};
    return answer(allot::alloc_tensor(in->storage, offset, shape_of(extents, rank), type), reason);
}
any_tensor* tensor_slice(const any_tensor* of, const std::int64_t* begin, const std::int64_t* sizes,
                         const char** reason) {
    const auto part = [&](const auto& t) {
        return answer(allot::slice(t, shape_of(begin, t.shape().rank()), shape_of(sizes, t.shape().rank())), reason);
    };
    return std::visit(part, *of);
}
void tensor_destroy(any_tensor* gone) { delete gone; }

void* tensor_data(const any_tensor* of) {
    return std::visit([](const auto& t) { return t.data(); }, *of);
}
std::size_t tensor_size_bytes(const any_tensor* of) {
    return std::visit([](const auto& t) { return t.size_bytes(); }, *of);
}
bool tensor_is_read_only(const any_tensor* of) {
    return std::visit([](const auto& t) { return t.is_read_only(); }, *of);
}
bool tensor_is_copied(const any_tensor* of) { return std::get<foreign>(*of).lease().is_copied(); }
/// Returns a description of the error, or null on success.
const char* tensor_copy(const any_tensor* from, const any_tensor* to) {
    const auto copied = std::visit([](const auto& a, const auto& b) { return allot::copy_tensor(a, b); }, *from, *to);
    return copied ? nullptr : copied.error().what();
}

void* tensor_export(const any_tensor* of, bool versioned, bool aligned_base, bool read_only, const char** reason) {
    allot::dlpack_options options{.read_only = read_only};
    if (aligned_base) options.convention = allot::dlpack_convention::aligned_base;
    const auto share = [&](const auto& t) {
        return versioned ? answer(allot::to_dlpack(t, options), reason)
                         : answer(allot::to_dlpack_unversioned(t, options), reason);
    };
    return std::visit(share, *of);
}
void managed_delete(void* managed, bool versioned) {
    if (versioned) allot::dlpack_pointer{static_cast<allot::DLManagedTensorVersioned*>(managed)}.reset();
    else allot::dlpack_pointer_unversioned{static_cast<allot::DLManagedTensor*>(managed)}.reset();
}
any_tensor* tensor_adopt(void* managed, bool versioned, const char** reason) {
    using allot::host::heap;
    if (versioned) {
        allot::dlpack_pointer taken{static_cast<allot::DLManagedTensorVersioned*>(managed)};
        return answer(allot::from_dlpack<heap, policies>(std::move(taken)), reason);
    }
    allot::dlpack_pointer_unversioned taken{static_cast<allot::DLManagedTensor*>(managed)};
    return answer(allot::from_dlpack<heap, policies>(std::move(taken)), reason);
}

}  // extern "C"
