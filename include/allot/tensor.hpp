// SPDX-License-Identifier: BSL-1.0
// All of the tensor layer, over any allocator: scopes, storages, tensors at offsets, views, rows, runs, copies.
// Sharing tensors with other libraries costs includes of its own: <allot/tensor/dlpack.hpp>.
#pragma once

#include <allot/tensor/copy.hpp>
#include <allot/tensor/discontiguous.hpp>
#include <allot/tensor/dtype.hpp>
#include <allot/tensor/policies.hpp>
#include <allot/tensor/runs.hpp>
#include <allot/tensor/scope.hpp>
#include <allot/tensor/shape.hpp>
#include <allot/tensor/storage.hpp>
#include <allot/tensor/tensor.hpp>
#include <allot/tensor/texture.hpp>
#include <allot/tensor/texture_shape.hpp>
