// SPDX-License-Identifier: BSL-1.0
// compiler: the attributes and builtin functions of compilers, under one name for all compilers.
//
//     struct pair {
//         ALLOT_NO_UNIQUE_ADDRESS allot::no_error first;  // an empty member takes no bytes
//         int second;
//     };
//     static_assert(allot::detail::trailing_zeros(40U) == 3);
//
// Internal. No other header uses a builtin function or an attribute of one compiler. A test checks that. GCC and Clang
// share one set of definitions, also Clang with the options of MSVC. The definitions for MSVC follow its documentation.
// They were never compiled by it. ALLOT_NO_UNIQUE_ADDRESS decides the sizes of classes. The other macros change no type
// and no result.
//
// Complexity: that of the expression itself, in each build. Memory: none.
//
// Thread safety: that of the expression itself.
#pragma once

#include <allot/core/target.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

// MSVC accepts the standard attribute and ignores it. Clang does the same if it lays out classes as MSVC does. A class
// with such a member, of which objects are such members, has constructors: for an aggregate, Clang 15 and 16 generate
// wrong code.
#if __has_cpp_attribute(msvc::no_unique_address)
#define ALLOT_NO_UNIQUE_ADDRESS [[msvc::no_unique_address]]
#else
#define ALLOT_NO_UNIQUE_ADDRESS [[no_unique_address]]
#endif

#if defined(__GNUC__) || defined(__clang__)

#define ALLOT_NOINLINE [[gnu::noinline]]
#define ALLOT_COLD [[gnu::cold]]
#define ALLOT_PACKED_ALIAS [[gnu::packed, gnu::may_alias]]
#define ALLOT_NO_SANITIZE(tool) __attribute__((no_sanitize(tool), noinline))
#define ALLOT_UNREACHABLE() __builtin_unreachable()
#define ALLOT_TRAP() __builtin_trap()
#define ALLOT_ASSUME_ALIGNED(pointer, align) __builtin_assume_aligned(pointer, align)
#define ALLOT_PREFETCH(pointer) __builtin_prefetch(pointer, 1)
#define ALLOT_FRAME_ADDRESS() __builtin_frame_address(0)
#define ALLOT_THREAD_POINTER() __builtin_thread_pointer()  // Linux
// For libraries without std::atomic_ref. MSVC has it.
#define ALLOT_LOAD_ACQUIRE(from) __atomic_load_n(&(from), __ATOMIC_ACQUIRE)
#define ALLOT_STORE_RELEASE(to, value) __atomic_store_n(&(to), value, __ATOMIC_RELEASE)
// An aligned word of any type that several threads access, where the processor has such instructions.
#define ALLOT_HAS_ATOMIC_WORDS (__GCC_ATOMIC_POINTER_LOCK_FREE == 2)
#define ALLOT_ALIAS [[gnu::may_alias]]
#define ALLOT_LOAD_RELAXED(from) __atomic_load_n(from, __ATOMIC_RELAXED)
#define ALLOT_STORE_RELAXED(to, value) __atomic_store_n(to, value, __ATOMIC_RELAXED)
#if defined(__x86_64__) || defined(__i386__)
#define ALLOT_PAUSE() __builtin_ia32_pause()
#else
#define ALLOT_PAUSE() static_cast<void>(0)
#endif

#elif defined(_MSC_VER)

#include <intrin.h>

#define ALLOT_NOINLINE [[msvc::noinline]]
#define ALLOT_COLD
#define ALLOT_PACKED_ALIAS  // its processors read at every address, and it assumes nothing about aliases
#define ALLOT_HAS_ATOMIC_WORDS 1
#define ALLOT_ALIAS
#define ALLOT_LOAD_RELAXED(from) (*(from))  // through a pointer to volatile, which it does not divide
#define ALLOT_STORE_RELAXED(to, value) static_cast<void>(*(to) = (value))
#define ALLOT_NO_SANITIZE(tool) __declspec(no_sanitize_address) __declspec(noinline)
#define ALLOT_UNREACHABLE() __assume(false)
#define ALLOT_TRAP() __fastfail(7)
#define ALLOT_ASSUME_ALIGNED(pointer, align) (pointer)
#define ALLOT_FRAME_ADDRESS() _AddressOfReturnAddress()
#if defined(_M_ARM64)
#define ALLOT_PAUSE() __yield()
#define ALLOT_PREFETCH(pointer) __prefetch(pointer)
#else
#define ALLOT_PREFETCH(pointer) _mm_prefetch(reinterpret_cast<const char*>(pointer), _MM_HINT_T0)
#define ALLOT_PAUSE() _mm_pause()
#endif

#else
#error "allot: this compiler is unknown: add its attributes and builtin functions to allot/core/detail/compiler.hpp"
#endif

// Marks small functions that run in every call, because compilers stop inlining in large source files. On a
// microcontroller the compiler decides, because each inlined copy takes flash.
#if ALLOT_IS_MICROCONTROLLER
#define ALLOT_INLINE
#elif defined(__GNUC__) || defined(__clang__)
#define ALLOT_INLINE [[gnu::always_inline]]
#else
#define ALLOT_INLINE [[msvc::forceinline]]
#endif

// The file and the line of a call, as default arguments. All three compilers have these functions.
#define ALLOT_CALLER_FILE() __builtin_FILE()
#define ALLOT_CALLER_LINE() __builtin_LINE()

namespace allot {
inline namespace v1 {
namespace detail {

// The number of zeros below the lowest one, or above the highest one. Precondition: `bits != 0`. On processors without
// such an instruction, the functions of <bit> add a test for 0.
#if defined(__GNUC__) || defined(__clang__)
[[nodiscard]] ALLOT_INLINE constexpr int trailing_zeros(std::uint64_t bits) noexcept { return __builtin_ctzll(bits); }
[[nodiscard]] ALLOT_INLINE constexpr int trailing_zeros(unsigned bits) noexcept { return __builtin_ctz(bits); }
[[nodiscard]] ALLOT_INLINE constexpr int leading_zeros(std::uint64_t bits) noexcept { return __builtin_clzll(bits); }
[[nodiscard]] ALLOT_INLINE constexpr int leading_zeros(unsigned bits) noexcept { return __builtin_clz(bits); }
#else
[[nodiscard]] constexpr int trailing_zeros(std::uint64_t bits) noexcept { return std::countr_zero(bits); }
[[nodiscard]] constexpr int trailing_zeros(unsigned bits) noexcept { return std::countr_zero(bits); }
[[nodiscard]] constexpr int leading_zeros(std::uint64_t bits) noexcept { return std::countl_zero(bits); }
[[nodiscard]] constexpr int leading_zeros(unsigned bits) noexcept { return std::countl_zero(bits); }
#endif

}  // namespace detail
}  // namespace v1
}  // namespace allot
