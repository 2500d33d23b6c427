// SPDX-License-Identifier: BSL-1.0
// result_refusals: calls to which a program passes a device instead of an allocator, other types as policies, or a
// result instead of the storage or the tensor in it.
//
//     call           refused argument                  to pass
//     alloc_storage  a device                          naive<Device>, or an arena
//     alloc_storage  other policies                    storage_policies<…>, or a body
//     alloc_tensor   the result of alloc_storage       *made
//     view, slice    the result of alloc_tensor        *made
//     copy_tensor    either result                     *made
//
// Internal. Without these overloads, a compiler lists all overloads and the constraint that each of them fails.
//
// Complexity, memory, thread safety: no call compiles.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/core/device.hpp>
#include <allot/tensor/policies.hpp>
#include <allot/tensor/shape.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Type>
inline constexpr bool is_result = false;
template <class Value, class Error>
inline constexpr bool is_result<result<Value, Error>> = true;

template <class Type>
consteval void refuse_a_tensor_in_a_result() {
    static_assert(
        !sizeof(Type),
        "allot: alloc_tensor, view and slice return results: test a result, and pass the tensor in it: *made");
}

template <class Policies>
consteval void refuse_storage_policies() {
    if constexpr (requires { typename Policies::references; })
        static_assert(
            !sizeof(Policies),
            "allot: with references::none, the program owns the body: storage_body<Allocator, Policies> body, "
            "alloc_storage(body, memory, layout)");
    else
        static_assert(!sizeof(Policies),
                      "allot: the policies of a storage are a list: alloc_storage<storage_policies<Placement>>(memory, "
                      "layout)");
}

template <class Device>
consteval void refuse_a_device() {
    static_assert(
        !sizeof(Device),
        "allot: alloc_storage takes an allocator: use naive<Device> for a region for each storage, or an arena");
}

}  // namespace detail

/// Does not compile: the policies are not `storage_policies`, or need a body of the caller.
template <class Policies, allocator Allocator>
    requires(!requires { requires Policies::references::counted; })
tensor_result<int> alloc_storage(Allocator&, layout) noexcept {
    detail::refuse_storage_policies<Policies>();
    return tensor_result<int>::failure({});
}
/// Does not compile: the policies are not `storage_policies`, or need a body of the caller.
template <class Policies, allocator Allocator>
    requires(!requires { requires Policies::references::counted; })
tensor_result<int> alloc_storage(Allocator&, std::int64_t, std::size_t = 1) noexcept {
    detail::refuse_storage_policies<Policies>();
    return tensor_result<int>::failure({});
}
/// Does not compile: a device was passed instead of an allocator.
template <class Policies = storage_policies<>, class Device>
    requires device<std::remove_cvref_t<Device>>
tensor_result<int> alloc_storage(Device&&, layout) noexcept {
    detail::refuse_a_device<Device>();
    return tensor_result<int>::failure({});
}
/// Does not compile: a device was passed instead of an allocator.
template <class Policies = storage_policies<>, class Device>
    requires device<std::remove_cvref_t<Device>>
tensor_result<int> alloc_storage(Device&&, std::int64_t, std::size_t = 1) noexcept {
    detail::refuse_a_device<Device>();
    return tensor_result<int>::failure({});
}
/// Does not compile: the result of `alloc_storage` was passed instead of the storage in it.
template <class Value, class Error, storage_offset Offset, class... More>
tensor_result<int> alloc_tensor(const result<Value, Error>&, Offset, const shape&, dtype, More&&...) noexcept {
    static_assert(!sizeof(Value),
                  "allot: alloc_storage returns a result: test it, and pass the storage in it: "
                  "alloc_tensor(*made, offset, shape, dtype)");
    return tensor_result<int>::failure({});
}
/// Does not compile: a result was passed instead of the tensor in it.
template <class Value, class Error>
tensor_result<int> view(const result<Value, Error>&, dtype, const shape&, std::int64_t = 0) noexcept {
    detail::refuse_a_tensor_in_a_result<Value>();
    return tensor_result<int>::failure({});
}
/// Does not compile: a result was passed instead of the tensor in it.
template <class Value, class Error>
tensor_result<int> slice(const result<Value, Error>&, const shape&, const shape&) noexcept {
    detail::refuse_a_tensor_in_a_result<Value>();
    return tensor_result<int>::failure({});
}
/// Does not compile: a result was passed instead of the tensor in it.
template <class From, class To, class... Methods>
    requires(detail::is_result<From> || detail::is_result<To>)
tensor_result<int> copy_tensor(const From&, const To&, Methods&&...) noexcept {
    detail::refuse_a_tensor_in_a_result<From>();
    return tensor_result<int>::failure({});
}

}  // namespace v1
}  // namespace allot
