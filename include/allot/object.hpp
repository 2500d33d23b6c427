// SPDX-License-Identifier: BSL-1.0
// Owners of blocks, and objects in memory of an allocator: unique_block, make, make_unique, make_array, typed_pool,
// reallocate, scoped_mark.
#pragma once

#include <allot/version.hpp>

#include <allot/object/make.hpp>
#include <allot/object/reallocate.hpp>
#include <allot/object/scoped_mark.hpp>
#include <allot/object/typed_pool.hpp>
#include <allot/object/unique_array.hpp>
#include <allot/object/unique_block.hpp>
