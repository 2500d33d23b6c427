// SPDX-License-Identifier: BSL-1.0
// malloc of the C library over allot, as a library to preload or to link. See README.md.
//
//     malloc ─► cache of the thread ─► address_heap ─► slabs of small blocks, and arenas of best_fit
//
// All state is constant-initialized, because the program loader calls malloc before any constructor runs. Nothing here
// allocates from another heap. `free` keeps errno.
#include <allot/arena/arena.hpp>
#include <allot/compose/address_heap.hpp>
#include <allot/core/literals.hpp>
#include <allot/host/fork_lock.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/strategy/best_fit.hpp>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

namespace {

using namespace allot::literals;

struct make_arena {
    using slab_space = allot::host::address_space;
    using mapping_space = allot::host::address_space;
    using strategy = allot::best_fit<allot::best_fit_options{.unlocked_capacity = true}>;
    using arena = allot::arena<allot::host::virtual_memory, strategy,
                               allot::growth::contiguous<allot::growth_options{.step = 256_KiB, .regions = 1}>,
                               allot::arena_options{.annotate = false}>;
    arena operator()(std::size_t) const noexcept { return arena{allot::host::virtual_memory::up_to(64_GiB)}; }
};

using heap_type = allot::address_heap<make_arena, allot::host::fork_lock, allot::address_heap_options{.checks = true}>;
/// The heap is not destroyed, because programs free blocks until they end.
union immortal {
    heap_type heap{};
    ~immortal() {}
};
constinit immortal process;
constexpr heap_type& heap = process.heap;
constexpr allot::address_cache_options cache_options{.medium = 8_KiB + 8, .checks = true, .slabs = true};
constinit thread_local allot::address_cache<cache_options> cache_of_thread [[gnu::tls_model("initial-exec")]];

// ── the end of a thread ──────────────────────────────────────────────────────────────────────────────────────────────

enum class thread_state : unsigned char { unknown, registered, ended };
constinit thread_local thread_state state_of_thread [[gnu::tls_model("initial-exec")]] = thread_state::unknown;
constinit pthread_key_t end_of_thread{};
constinit std::atomic<bool> has_key{false};

void flush_at_end(void*) {
    state_of_thread = thread_state::ended;
    heap.flush(cache_of_thread);
}

/// Runs before the constructors of the program and of the libraries that need this one.
[[gnu::constructor(101)]] void prepare() {
    pthread_atfork([] { heap.before_fork(); }, [] { heap.after_fork_in_parent(); }, [] { heap.after_fork_in_child(); });
    has_key.store(pthread_key_create(&end_of_thread, flush_at_end) == 0, std::memory_order_release);
}

/// Registers the end of a thread that was not registered before. pthread_setspecific may call calloc.
void note_thread() {
    if (state_of_thread != thread_state::unknown || !has_key.load(std::memory_order_acquire)) return;
    state_of_thread = thread_state::registered;
    pthread_setspecific(end_of_thread, &state_of_thread);
}

// ── the slow paths ───────────────────────────────────────────────────────────────────────────────────────────────────

constexpr std::size_t most = PTRDIFF_MAX;

/// Frees the blocks that the end of the thread left in the cache. Destructors of other keys run after `flush_at_end`.
void flush_if_ended() {
    if (state_of_thread == thread_state::ended) heap.flush(cache_of_thread);
}

[[nodiscard]] void* or_error(void* block) {
    if (block == nullptr) errno = ENOMEM;
    return block;
}

[[gnu::noinline]] void* allocate(std::size_t size, std::size_t align) {
    note_thread();
    if (size > most) return or_error(nullptr);
    void* const given = heap.allocate(cache_of_thread, {.size = size == 0 ? 1 : size, .align = align});
    flush_if_ended();
    return or_error(given);
}

[[gnu::noinline]] void deallocate(void* block) {
    if (block == nullptr) return;
    const int before = errno;
    note_thread();
    heap.deallocate(cache_of_thread, block);
    flush_if_ended();
    errno = before;
}

[[nodiscard]] std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT void* malloc(std::size_t size) noexcept {
    void* const kept = cache_of_thread.take(size);
    return kept != nullptr ? kept : allocate(size, alignof(std::max_align_t));
}

EXPORT void free(void* block) noexcept {
    if (block == nullptr || !cache_of_thread.keep(block, heap.capacity(block))) deallocate(block);
}

EXPORT void free_sized(void* block, std::size_t) noexcept { free(block); }
EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t) noexcept { free(block); }

EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > most) return or_error(nullptr);
    if (void* const kept = cache_of_thread.take(bytes)) return std::memset(kept, 0, bytes);
    note_thread();
    void* const given = heap.allocate_zeroed(cache_of_thread, bytes == 0 ? 1 : bytes);
    flush_if_ended();
    return or_error(given);
}

EXPORT void* realloc(void* block, std::size_t size) noexcept {
    if (block == nullptr) return malloc(size);
    if (size == 0) {
        free(block);
        return nullptr;
    }
    if (size > most) return or_error(nullptr);
    note_thread();
    void* const given = heap.reallocate(cache_of_thread, block, size);
    flush_if_ended();
    return or_error(given);
}

EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) return or_error(nullptr);
    return realloc(block, bytes);
}

EXPORT void* memalign(std::size_t align, std::size_t size) noexcept {
    if (align > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return nullptr;
    }
    align = std::bit_ceil(align);  // as glibc
    return align <= alignof(std::max_align_t) ? malloc(size) : allocate(size, align);
}

EXPORT void* aligned_alloc(std::size_t align, std::size_t size) noexcept {
    if (allot::is_alignment(align)) return memalign(align, size);
    errno = EINVAL;  // as in C17
    return nullptr;
}

EXPORT int posix_memalign(void** result, std::size_t align, std::size_t size) noexcept {
    if (!allot::is_alignment(align) || align % sizeof(void*) != 0) return EINVAL;
    const int before = errno;
    void* const given = memalign(align, size);
    if (given == nullptr) return ENOMEM;  // also in errno, as in glibc
    errno = before;
    *result = given;
    return 0;
}

EXPORT void* valloc(std::size_t size) noexcept { return memalign(page_size(), size); }

EXPORT void* pvalloc(std::size_t size) noexcept {
    const std::size_t page = page_size();
    if (size > most) return or_error(nullptr);
    return memalign(page, allot::align_up(size == 0 ? 1 : size, page));
}

EXPORT std::size_t malloc_usable_size(void* block) noexcept { return block == nullptr ? 0 : heap.capacity(block); }

EXPORT int malloc_trim(std::size_t) noexcept {
    heap.flush(cache_of_thread);
    return heap.trim(64_KiB) != 0 ? 1 : 0;
}

EXPORT int mallopt(int, int) noexcept { return 1; }  // the options of glibc do not apply

EXPORT struct mallinfo2 mallinfo2() noexcept {
    const auto all = heap.statistics();
    const std::size_t kept = cache_of_thread.kept();
    struct mallinfo2 info {};
    info.arena = all.held;
    info.ordblks = all.holes;
    info.fsmblks = kept;
    info.fordblks = all.free + kept;
    info.uordblks = all.held - all.free - kept;
    info.keepcost = all.top;
    info.hblks = all.mappings;
    info.hblkhd = all.mapped;
    return info;
}

EXPORT struct mallinfo mallinfo() noexcept {
    const struct mallinfo2 wide = mallinfo2();
    struct mallinfo info {};
    info.arena = static_cast<int>(wide.arena);
    info.ordblks = static_cast<int>(wide.ordblks);
    info.fsmblks = static_cast<int>(wide.fsmblks);
    info.fordblks = static_cast<int>(wide.fordblks);
    info.uordblks = static_cast<int>(wide.uordblks);
    info.keepcost = static_cast<int>(wide.keepcost);
    info.hblks = static_cast<int>(wide.hblks);
    info.hblkhd = static_cast<int>(wide.hblkhd);
    return info;
}

EXPORT int malloc_info(int options, std::FILE* file) noexcept {
    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    const struct mallinfo2 info = mallinfo2();
    const int written = std::fprintf(file,
                                     "<malloc version=\"1\"><total type=\"rest\" count=\"%zu\" size=\"%zu\"/>"
                                     "<system type=\"current\" size=\"%zu\"/></malloc>\n",
                                     info.ordblks, info.fordblks, info.arena);
    return written < 0 ? -1 : 0;
}

EXPORT void malloc_stats() noexcept {
    const struct mallinfo2 info = mallinfo2();
    char text[200];
    const int length = std::snprintf(
        text, sizeof text,
        "allot: %zu bytes of %zu arenas, %zu in use, %zu free in %zu holes, %zu in the cache of this thread\n",
        info.arena, heap.statistics().arenas, info.uordblks, info.fordblks, info.ordblks, info.fsmblks);
    static_cast<void>(!::write(2, text, static_cast<std::size_t>(length)));
}
