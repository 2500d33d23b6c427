// types: TVM's dtypes and shapes as those of allot.
//
//     allot::alloc_tensor(storage, offset, allot_tvm::shape_of(shape), allot_tvm::dtype_of(type));
#pragma once

#include <allot/tensor/dtype.hpp>
#include <allot/tensor/shape.hpp>

#include <tvm/runtime/memory/memory_manager.h>  // DLDataType

#include <span>

namespace allot_tvm {

/// Returns allot's dtype for TVM's.
[[nodiscard]] inline allot::dtype dtype_of(DLDataType type) noexcept {
    return {static_cast<allot::dtype_code>(type.code), type.bits, type.lanes};
}

/// Returns allot's shape for TVM's.
template <class Shape>
[[nodiscard]] allot::shape shape_of(const Shape& of) noexcept {
    return allot::shape{std::span<const std::int64_t>{of.data(), static_cast<std::size_t>(of.size())}};
}

}  // namespace allot_tvm
