// SPDX-License-Identifier: BSL-1.0
// inlining: selects between speed and code size where the compiler's optimization goal changes an implementation.
//
// Internal. Both variants return the same results, so files of one program can be compiled with different goals.
//
// A function whose body depends on `small_code` takes it as a template argument, `template <bool Small = small_code>`,
// and passes it to the helpers that depend on it. The two variants are then different functions. Otherwise the linker
// would keep only one definition, and a caller could combine it with a helper of the other variant.
//
// Small functions that run in every call are marked `ALLOT_INLINE`, because compilers stop inlining in large source
// files. With -Os (`__OPTIMIZE_SIZE__`) the compiler decides, because each inlined copy takes flash on a
// microcontroller.
#pragma once

namespace allot {
inline namespace v1 {
namespace detail {

#if defined(__OPTIMIZE_SIZE__)
#define ALLOT_INLINE
constexpr bool small_code = true;  // only the general path, without faster paths for common cases
#else
#define ALLOT_INLINE [[gnu::always_inline]]
constexpr bool small_code = false;
#endif

}  // namespace detail
}  // namespace v1
}  // namespace allot
