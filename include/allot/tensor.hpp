// SPDX-License-Identifier: BSL-1.0
// tensor: includes the tensor layer: scopes, storages, tensors at offsets, views, rows, shared rows, runs, copies and
// tables in a device's memory.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     auto storage = allot::alloc_storage(memory, {.size = 4096, .align = 256});
//     if (!storage) log(storage.error().what());
//
// When to use: to place tensors in memory of any allocator.
// When not to use: to share tensors with other libraries only. Include <allot/tensor/dlpack.hpp>, which is not
// included here.
//
// Complexity, memory and thread safety: see the included headers.
#pragma once

#include <allot/version.hpp>

#include <allot/tensor/copy.hpp>
#include <allot/tensor/device_table.hpp>
#include <allot/tensor/discontiguous.hpp>
#include <allot/tensor/dtype.hpp>
#include <allot/tensor/fork.hpp>
#include <allot/tensor/policies.hpp>
#include <allot/tensor/row_storage.hpp>
#include <allot/tensor/row_view.hpp>
#include <allot/tensor/runs.hpp>
#include <allot/tensor/scope.hpp>
#include <allot/tensor/shape.hpp>
#include <allot/tensor/shared_rows.hpp>
#include <allot/tensor/storage.hpp>
#include <allot/tensor/storage_list.hpp>
#include <allot/tensor/tensor.hpp>
#include <allot/tensor/texture.hpp>
#include <allot/tensor/texture_shape.hpp>
