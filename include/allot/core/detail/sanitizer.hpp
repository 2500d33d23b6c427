// SPDX-License-Identifier: BSL-1.0
// sanitizer: statements to memory checkers about the bytes of an arena: AddressSanitizer, MemorySanitizer, Valgrind.
//
//     forbid(at, size);                   the bytes are free: every access is an error
//     permit(at, size, fresh);            the bytes are a block
//     write_record(at, word);             the allocator's own access to bytes that are free
//
//     region   │ forbidden │ block │ forbidden │ block │ forbidden │
//                    └ records in band, which only read_record and write_record access
//
// Internal. AddressSanitizer and MemorySanitizer are detected. `ALLOT_VALGRIND=1` selects Valgrind, which works in
// every build. `ALLOT_NO_SANITIZER` selects none. Without a tool, every function is empty and `is_on` is false.
//
// Complexity: O(size) for `forbid` and `permit`, in the tool's own memory. Memory: none.
//
// Thread safety: calls for different bytes may run concurrently.
#pragma once

#include <allot/core/detail/compiler.hpp>

#include <cstddef>

#if !defined(ALLOT_NO_SANITIZER)
#if defined(__SANITIZE_ADDRESS__)
#define ALLOT_HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ALLOT_HAS_ADDRESS_SANITIZER 1
#elif __has_feature(memory_sanitizer)
#define ALLOT_HAS_MEMORY_SANITIZER 1
#endif
#endif
#if defined(ALLOT_VALGRIND) && ALLOT_VALGRIND
#define ALLOT_HAS_VALGRIND 1
#endif
#endif

#if defined(ALLOT_HAS_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#define ALLOT_UNCHECKED ALLOT_NO_SANITIZE("address")
#elif defined(ALLOT_HAS_MEMORY_SANITIZER)
#include <sanitizer/msan_interface.h>
#define ALLOT_UNCHECKED ALLOT_NO_SANITIZE("memory")
#else
#define ALLOT_UNCHECKED
#endif

#if defined(ALLOT_HAS_VALGRIND)
#if !__has_include(<valgrind/memcheck.h>)
#error "allot: ALLOT_VALGRIND=1 needs the header valgrind/memcheck.h: install valgrind (Debian: valgrind)"
#endif
#include <valgrind/memcheck.h>
#endif

#if defined(ALLOT_HAS_ADDRESS_SANITIZER) || defined(ALLOT_HAS_MEMORY_SANITIZER) || defined(ALLOT_HAS_VALGRIND)
#define ALLOT_HAS_SANITIZER 1
#if __STDC_HOSTED__
#include <cstdio>
#endif
#else
#define ALLOT_HAS_SANITIZER 0
#endif

namespace allot {
inline namespace v1 {
namespace detail {
namespace sanitizer {

/// Whether this build has a memory checker.
inline constexpr bool is_on = ALLOT_HAS_SANITIZER != 0;

/// A value at any address, in bytes of any type.
template <class T>
struct ALLOT_PACKED_ALIAS record {
    T value;
};

/// While one exists, Valgrind reports no error of this thread.
class [[maybe_unused]] silence {
public:
    silence(const silence&) = delete;
    silence& operator=(const silence&) = delete;
#if defined(ALLOT_HAS_VALGRIND)
    silence() noexcept { VALGRIND_DISABLE_ERROR_REPORTING; }
    ~silence() { VALGRIND_ENABLE_ERROR_REPORTING; }
#else
    silence() noexcept {}
#endif
};

/// Reads a record in bytes that may be forbidden.
template <class T>
[[nodiscard]] ALLOT_UNCHECKED T read_record(const void* at) noexcept {
    const silence during;
    return static_cast<const record<T>*>(at)->value;
}

/// Writes a record in bytes that may be forbidden, and that stay so.
template <class T>
ALLOT_UNCHECKED void write_record(void* at, T value) noexcept {
    const silence during;
    static_cast<record<T>*>(at)->value = value;
#if defined(ALLOT_HAS_MEMORY_SANITIZER)
    __msan_poison(at, sizeof(T));
#endif
}

/// States that the bytes are free. Every access to them is an error.
inline void forbid([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t size) noexcept {
#if defined(ALLOT_HAS_ADDRESS_SANITIZER)
    __asan_poison_memory_region(at, size);
#elif defined(ALLOT_HAS_MEMORY_SANITIZER)
    __msan_poison(at, size);
#endif
#if defined(ALLOT_HAS_VALGRIND)
    static_cast<void>(VALGRIND_MAKE_MEM_NOACCESS(at, size));
#endif
}

/// States that the bytes are in use. If `fresh`, their values are undefined.
inline void permit([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t size,
                   [[maybe_unused]] bool fresh) noexcept {
#if defined(ALLOT_HAS_ADDRESS_SANITIZER)
    __asan_unpoison_memory_region(at, size);
#elif defined(ALLOT_HAS_MEMORY_SANITIZER)
    if (fresh) __msan_allocated_memory(at, size);
    else __msan_unpoison(at, size);
#endif
#if defined(ALLOT_HAS_VALGRIND)
    if (fresh) static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(at, size));
    else static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(at, size));
#endif
}

/// Returns true if a byte is forbidden. MemorySanitizer does not know that.
[[nodiscard]] inline bool is_forbidden([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t size) noexcept {
#if defined(ALLOT_HAS_ADDRESS_SANITIZER)
    if (__asan_region_is_poisoned(const_cast<void*>(at), size) != nullptr) return true;
#endif
#if defined(ALLOT_HAS_VALGRIND)
    const silence during;
    if (VALGRIND_CHECK_MEM_IS_ADDRESSABLE(at, size) != 0) return true;
#endif
    return false;
}

/// Writes one line to stderr, then lets the tool report the first forbidden byte of a block. The name of this function
/// is in the tool's report. With MemorySanitizer, does nothing.
ALLOT_NOINLINE inline void freed_block_that_is_not_live([[maybe_unused]] const void* pool,
                                                        [[maybe_unused]] const void* at,
                                                        [[maybe_unused]] std::size_t size) noexcept {
#if ALLOT_HAS_SANITIZER && __STDC_HOSTED__
    std::fprintf(stderr,
                 "allot: misuse: a block that is not live: already freed, or its address was changed (at %p, "
                 "size %zu)\n",
                 at, size);
#endif
#if defined(ALLOT_HAS_ADDRESS_SANITIZER)
    static_cast<void>(*static_cast<const volatile char*>(__asan_region_is_poisoned(const_cast<void*>(at), size)));
#endif
#if defined(ALLOT_HAS_VALGRIND)
    if (pool != nullptr) VALGRIND_MEMPOOL_FREE(pool, at);  // an invalid free, reported with the stacks of the block
    else static_cast<void>(*static_cast<const volatile char*>(at));
#endif
}

// A pool groups the blocks of an arena for Valgrind, which then reports where a block was allocated and freed. The
// address of the arena's regions names the pool; null: the arena has no pool.

/// Starts a pool unless it exists.
inline void begin_pool([[maybe_unused]] const void* pool) noexcept {
#if defined(ALLOT_HAS_VALGRIND)
    if (!VALGRIND_MEMPOOL_EXISTS(pool)) VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
#endif
}
/// Ends a pool and its blocks.
inline void end_pool([[maybe_unused]] const void* pool) noexcept {
#if defined(ALLOT_HAS_VALGRIND)
    if (VALGRIND_MEMPOOL_EXISTS(pool)) VALGRIND_DESTROY_MEMPOOL(pool);
#endif
}
/// Moves the blocks of a pool to a new one.
inline void move_pool([[maybe_unused]] const void* from, [[maybe_unused]] const void* to) noexcept {
#if defined(ALLOT_HAS_VALGRIND)
    if (VALGRIND_MEMPOOL_EXISTS(from)) VALGRIND_MOVE_MEMPOOL(from, to);
#endif
}
/// Ends all blocks of a pool.
inline void clear_pool([[maybe_unused]] const void* pool) noexcept {
#if defined(ALLOT_HAS_VALGRIND)
    if (VALGRIND_MEMPOOL_EXISTS(pool)) VALGRIND_MEMPOOL_TRIM(pool, nullptr, 0);
#endif
}

/// States that a block was allocated.
inline void add_block([[maybe_unused]] const void* pool, const void* at, std::size_t size, bool fresh) noexcept {
#if defined(ALLOT_HAS_VALGRIND)
    if (pool != nullptr) VALGRIND_MEMPOOL_ALLOC(pool, at, size);
#endif
    permit(at, size, fresh);
}
/// States that a block was freed. `room` is the number of its usable bytes.
inline void remove_block([[maybe_unused]] const void* pool, const void* at, std::size_t room) noexcept {
#if defined(ALLOT_HAS_VALGRIND)
    if (pool != nullptr) VALGRIND_MEMPOOL_FREE(pool, at);
#endif
    forbid(at, room);
}
/// States that a block has another size.
inline void change_block([[maybe_unused]] const void* pool, const void* at, std::size_t had, std::size_t size,
                         bool fresh) noexcept {
#if defined(ALLOT_HAS_VALGRIND)
    if (pool != nullptr) VALGRIND_MEMPOOL_CHANGE(pool, at, at, size);
#endif
    const auto* const bytes = static_cast<const std::byte*>(at);
    if (size > had) permit(bytes + had, size - had, fresh);
    else forbid(bytes + size, had - size);
}

}  // namespace sanitizer
}  // namespace detail
}  // namespace v1
}  // namespace allot
