// SPDX-License-Identifier: BSL-1.0
// Speed or size: what the compiler is asked for, where that changes how something is done. What it does is the same either
// way, so that files of one program may differ in it.
//
// A function whose text depends on `small_code` takes it as a template argument, `template <bool Small = small_code>`, and
// passes it on to the helpers that rely on it. The two are then different functions with closures of their own. Otherwise
// the linker would keep one of both, and a caller could meet a helper of the other kind.
//
// Small functions on the way of every call are marked `ALLOT_INLINE`: in a large source file compilers stop to inline them.
// With -Os (`__OPTIMIZE_SIZE__`) it is the compiler's choice again: on a microcontroller every copy is paid for in flash.
#pragma once

namespace allot {
inline namespace v1 {
namespace detail {

#if defined(__OPTIMIZE_SIZE__)
#define ALLOT_INLINE
constexpr bool small_code = true;  // no path beside the general one, however often it would be taken
#else
#define ALLOT_INLINE [[gnu::always_inline]]
constexpr bool small_code = false;
#endif

}  // namespace detail
}  // namespace v1
}  // namespace allot
