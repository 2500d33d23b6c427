// SPDX-License-Identifier: BSL-1.0
// page_cache: includes the cache of pages for key/value caches, and the policies by which it evicts pages.
//
//     allot::page_cache<allot::page_pool<4096>> cache{{.bytes = 4096}, records};
//
// When to use: for prefixes of token sequences that share pages. docs/page-cache.md is the guide.
// When not to use: for other caches. Include <allot/allot.hpp>.
//
// Complexity, memory and thread safety: see the included headers.
#pragma once

#include <allot/version.hpp>

#include <allot/page_cache/copied_pages.hpp>
#include <allot/page_cache/eviction.hpp>
#include <allot/page_cache/leaf_first_eviction.hpp>
#include <allot/page_cache/page_cache.hpp>
#include <allot/page_cache/page_copies.hpp>
#include <allot/page_cache/page_key.hpp>
#include <allot/page_cache/page_limits.hpp>
#include <allot/page_cache/page_stack.hpp>
#include <allot/page_cache/priority_eviction.hpp>
#include <allot/page_cache/reuse_eviction.hpp>
#include <allot/page_cache/s3_fifo_eviction.hpp>
