// Static assertions of the parts of TVM that the adapter uses. ./run compiles them with the headers of TVM's wheel, and
// allot's tests compile them with the stand-in of these headers, so the signatures of both are the same.
#pragma once

#include <tvm/ffi/error.h>
#include <tvm/runtime/memory/memory_manager.h>

#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>

namespace allot_tvm::interface {

using tvm::ffi::Error;
using tvm::runtime::memory::Allocator;
using tvm::runtime::memory::AllocatorType;
using tvm::runtime::memory::Buffer;

template <class Signature>
using member = Signature Allocator::*;

static_assert(std::is_aggregate_v<Buffer>);
static_assert(std::same_as<decltype(Buffer::data), void*> && std::same_as<decltype(Buffer::size), std::size_t>);
static_assert(std::same_as<decltype(Buffer::device), DLDevice>);
static_assert(std::same_as<decltype(Buffer::alloc_type), AllocatorType>);
static_assert(tvm::runtime::memory::kNaive == 1 && tvm::runtime::memory::kPooled == 2);

static_assert(std::has_virtual_destructor_v<Allocator> && std::is_abstract_v<Allocator>);
static_assert(std::same_as<decltype(&Allocator::type), member<AllocatorType() const>>);
static_assert(std::same_as<decltype(&Allocator::Free), member<void(const Buffer&)>>);
static_assert(std::same_as<decltype(&Allocator::Clear), member<void()>>);
static_assert(std::same_as<decltype(&Allocator::UsedMemory), member<std::size_t() const>>);
static_assert(requires(member<Buffer(DLDevice, std::size_t, std::size_t, DLDataType)> flat,
                       member<Buffer(DLDevice, tvm::ffi::Shape, DLDataType, const std::string&)> shaped) {
    flat = &Allocator::Alloc;
    shaped = &Allocator::Alloc;
});

static_assert(std::same_as<decltype(&Allocator::CreateView),
                           member<void*(const Buffer&, tvm::ffi::Shape, DLDataType, const std::string&)>>);
static_assert(requires(const tvm::ffi::Shape of) {
    { of.data() } -> std::same_as<const std::int64_t*>;
    { of.size() } -> std::same_as<std::size_t>;
});

static_assert(std::derived_from<Error, std::exception> &&
              std::constructible_from<Error, std::string, std::string, std::string>);
static_assert(std::same_as<decltype(&Error::kind), std::string (Error::*)() const>);

}  // namespace allot_tvm::interface
