// SPDX-License-Identifier: BSL-1.0
// version: the version of allot, as macros.
//
//     #if ALLOT_VERSION >= 200  // 0.2.0 or later
//
// `ALLOT_VERSION` is 10000 * major + 100 * minor + patch. docs/versioning.md describes how the numbers change, and the
// inline namespace `v1`.
#pragma once

#if __cplusplus < 202002L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#error "allot needs C++20: compile with -std=c++20, or with /std:c++20"
#define ALLOT_NEEDS_CXX20 "allot needs C++20"
#include ALLOT_NEEDS_CXX20  // no such file: the compiler stops here instead of after thousands of errors
#endif

/// The major version.
#define ALLOT_VERSION_MAJOR 0
/// The minor version.
#define ALLOT_VERSION_MINOR 1
/// The patch level.
#define ALLOT_VERSION_PATCH 0
/// The version as one number.
#define ALLOT_VERSION (10000 * ALLOT_VERSION_MAJOR + 100 * ALLOT_VERSION_MINOR + ALLOT_VERSION_PATCH)
