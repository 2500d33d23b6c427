// SPDX-License-Identifier: BSL-1.0
// A library that records the calls of malloc and its relatives of the program into which it is preloaded. ./dev record
// sets LD_PRELOAD and ALLOT_RECORD, the prefix of the files that it writes: one per process, named PREFIX.PID.NUMBER.
// It calls the next allocator in the order of symbols, which is that of the program. See recording.hpp for the format.
//
// It uses no heap, keeps no file open, and preserves errno. A thread writes to its own window of the file without
// locks. The state is in memory that the kernel clears in a child of fork, so that a child opens a file of its own.
#include "recording.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace recording;

constexpr std::size_t most_threads = 65'536, default_align = 16;
constexpr unsigned events_per_tick = 256;
constexpr std::size_t last_entries = std::size_t{1} << 20;

/// The state of a thread that records. All zero: the thread has not recorded since the process exists.
struct alignas(64) recorder {
    word* cursor;
    word* limit;  // a long event, an event of a signal handler and the last 0 fit after it
    word time, base, thread;
    unit* window;
    recorder* next;  // in the list of recorders without a thread
    unsigned until_tick, index;
    bool busy;
};

/// The state of the process. All zero: no call has been recorded.
struct process {
    std::atomic<int> lock;
    bool started;
    header* file;  // null: nothing can be recorded
    recorder* spare;
    std::size_t recorders;
    char path[1024];
};

struct memory {
    process shared;
    recorder recorders[most_threads];
    // The address and the recorder of the last event, by a hash of the address.
    std::atomic<word> last_of[last_entries];
};

struct functions {
    decltype(&::malloc) malloc;
    decltype(&::free) free;
    decltype(&::calloc) calloc;
    decltype(&::realloc) realloc;
    decltype(&::aligned_alloc) aligned_alloc;
    decltype(&::posix_memalign) posix_memalign;
    decltype(&::memalign) memalign;
    decltype(&::valloc) valloc;
    decltype(&::pvalloc) pvalloc;
    decltype(&::malloc_usable_size) malloc_usable_size;
};

constinit functions real{};
constinit memory* state = nullptr;
constinit bool resolving = false;
constinit pthread_key_t at_exit{};
alignas(64) constinit std::atomic<word> clock_count{1};
// Before a fork: its time and the file of the parent. The child inherits them.
constinit word forked_at = 0;
constinit char forked_from[sizeof(process::path)]{};
constinit thread_local recorder* mine [[gnu::tls_model("initial-exec")]] = nullptr;
constinit thread_local bool acquiring [[gnu::tls_model("initial-exec")]] = false;

// dlsym may allocate before the real functions are known. These blocks are never reused.
constinit std::size_t early_used = 0;
alignas(default_align) constinit unsigned char early[16'384]{};

bool is_early(const void* block) {
    return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(early) < sizeof early;
}
/// The size is in front of the block.
void* early_allocate(std::size_t size) {
    const std::size_t whole = (size + 2 * default_align - 1) / default_align * default_align;
    if (size > sizeof early || whole > sizeof early - early_used) return nullptr;
    unsigned char* const at = early + early_used;
    early_used += whole;
    std::memcpy(at, &size, sizeof size);
    return at + default_align;
}
std::size_t early_size(const void* block) {
    std::size_t size = 0;
    std::memcpy(&size, static_cast<const unsigned char*>(block) - default_align, sizeof size);
    return size;
}

/// Returns the time of an event with an address. See recording.hpp.
inline word now(recorder& of, word address) {
    std::atomic_thread_fence(std::memory_order_acquire);  // after the call of the allocator
    if (__libc_single_threaded == 0) {
        std::atomic<word>& last = state->last_of[(address >> 4 ^ address >> 26) % last_entries];
        const word own = address << 16 | of.index;
        if (last.load(std::memory_order_relaxed) != own) {
            last.store(own, std::memory_order_relaxed);
            return clock_count.fetch_add(1) + 1;
        }
    }
    if (--of.until_tick == 0) [[unlikely]] {
        of.until_tick = events_per_tick;
        return clock_count.fetch_add(1) + 1;
    }
    return clock_count.load(std::memory_order_acquire);
}

struct locked {
    explicit locked(process& of) : of_{of} {
        while (of_.lock.exchange(1, std::memory_order_acquire) != 0) ::sched_yield();
    }
    ~locked() { of_.lock.store(0, std::memory_order_release); }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

private:
    process& of_;
};

/// Opens the file for one call, because a program may close descriptors that it does not know.
struct opened {
    opened(const char* path, int flags) : descriptor{::open(path, flags | O_CLOEXEC, 0600)} {}
    ~opened() {
        if (descriptor >= 0) ::close(descriptor);
    }
    opened(const opened&) = delete;
    opened& operator=(const opened&) = delete;
    const int descriptor;
};

bool write_unit(int descriptor, const void* from, word at) {
    std::size_t done = 0;
    while (done != unit_bytes) {
        const ssize_t wrote = ::pwrite(descriptor, static_cast<const char*>(from) + done, unit_bytes - done,
                                       static_cast<off_t>(at + done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        done += static_cast<std::size_t>(wrote);
    }
    return true;
}

/// Maps a unit of zeros. They are written first: a hole in the file would end the process if the disk were full.
void* map_zeros(int descriptor, word at) {
    static constinit unsigned char zeros[unit_bytes]{};
    if (descriptor < 0 || !write_unit(descriptor, zeros, at)) return nullptr;
    void* const window = ::mmap(nullptr, unit_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor,
                                static_cast<off_t>(at));
    return window == MAP_FAILED ? nullptr : window;
}

void complain(const char* path) {
    char text[1200];
    const int length = std::snprintf(text, sizeof text, "malloc_recorder: cannot write %s: %s; not recording\n", path,
                                     strerrordesc_np(errno));
    [[maybe_unused]] const auto wrote = ::write(STDERR_FILENO, text, static_cast<std::size_t>(length));
}

/// Creates the file of the process. Under the lock.
void start(process& of) {
    of.started = true;
    const char* const prefix = ::secure_getenv("ALLOT_RECORD");
    if (prefix == nullptr) return;
    for (unsigned number = 0; number != 10'000; ++number) {  // exec keeps the identifier of the process
        const int length = std::snprintf(of.path, sizeof of.path, "%s.%d.%u", prefix, ::getpid(), number);
        if (length < 0 || static_cast<std::size_t>(length) >= sizeof of.path) return;
        const opened file{of.path, O_RDWR | O_CREAT | O_EXCL};
        if (file.descriptor < 0 && errno == EEXIST) continue;
        of.file = static_cast<header*>(map_zeros(file.descriptor, 0));
        if (of.file == nullptr) return complain(of.path);
        break;
    }
    if (of.file == nullptr) return;
    header& made = *of.file;
    made.version = version;
    made.pid = static_cast<word>(::getpid());
    made.end = unit_bytes;
    made.parent = forked_from[0] != '\0' ? 1 : 0;
    made.forked_at = forked_at;
    std::memcpy(made.parent_file, forked_from, sizeof forked_from);
    if (::readlink("/proc/self/exe", made.program, sizeof made.program - 1) < 0) made.program[0] = '\0';
    made.magic = file_magic;  // last: a file without it is not a recording
}

void write_long(recorder& to, long_kind what, word time, word address, word size, word align_log2 = 4) {
    word* const at = to.cursor;
    at[1] = time;
    at[2] = address;
    at[3] = size;
    std::atomic_signal_fence(std::memory_order_release);  // a process that is killed leaves no half of an event
    at[0] = static_cast<word>(kind::long_event) | static_cast<word>(what) << long_kind_at | align_log2 << align_at;
    to.cursor = at + long_words;
    to.time = time;
    if (what != long_kind::thread && address != 0) to.base = address;
}

void begin_unit(recorder& of) {
    of.window->time = of.time;
    of.window->base = of.base;
    of.window->thread = of.thread;
    of.cursor = of.window->events;
    of.limit = of.window->events + unit::words - 3 * long_words - 1;
}

/// Copies the full window to the end of the file and clears it. Returns false if the disk is full.
bool flush(process& of, recorder& full) {
    const opened file{of.path, O_WRONLY};
    unit& window = *full.window;
    if (file.descriptor < 0 || !write_unit(file.descriptor, &window, of.file->end.fetch_add(unit_bytes))) return false;
    std::memset(window.events, 0, sizeof window.events);
    ++window.sequence;
    begin_unit(full);
    return true;
}

/// Gives a recorder without a thread to this one, or maps a window for a new recorder. Under the lock.
recorder* give(memory& of) {
    process& shared = of.shared;
    if (shared.file == nullptr) return nullptr;
    const word thread = shared.file->threads.fetch_add(1);
    recorder* given = shared.spare;
    if (given != nullptr) {
        shared.spare = given->next;
    } else {
        if (shared.recorders == most_threads) return nullptr;
        const opened file{shared.path, O_RDWR};
        const word at = shared.file->end.fetch_add(unit_bytes);
        void* const window = map_zeros(file.descriptor, at);
        if (window == nullptr) return nullptr;
        given = &of.recorders[shared.recorders];
        given->index = static_cast<unsigned>(shared.recorders++);
        given->window = static_cast<unit*>(window);
        given->window->window = at;
        begin_unit(*given);
        given->window->magic = unit_magic;
    }
    given->thread = thread;
    given->until_tick = events_per_tick;
    write_long(*given, long_kind::thread, clock_count.fetch_add(1) + 1, thread, 0);
    return given;
}

/// Finds the recorder of this thread with room for an event, or returns null, which counts the event as lost.
[[gnu::noinline, gnu::cold]] recorder* acquire() {
    if (state == nullptr || acquiring) return nullptr;
    if (state->shared.started && state->shared.file == nullptr) return nullptr;
    const int error = errno;
    acquiring = true;
    process& shared = state->shared;
    if (mine != nullptr && mine->window == nullptr) mine = nullptr;  // cleared: this is a child of fork
    if (mine == nullptr) {
        {
            const locked hold{shared};
            if (!shared.started) start(shared);
            mine = give(*state);
        }
        if (mine != nullptr) ::pthread_setspecific(at_exit, mine);
    }
    recorder* found = mine;
    if (found != nullptr && found->cursor >= found->limit && !flush(shared, *found)) found = nullptr;
    if (found == nullptr && shared.file != nullptr) ++shared.file->lost;
    acquiring = false;
    errno = error;
    return found;
}

/// Returns a recorder that is marked as busy, or null. A signal handler finds its thread busy, and its event is lost.
inline recorder* enter() {
    recorder* of = mine;
    if (of == nullptr || of->cursor >= of->limit) [[unlikely]] {
        if (of != nullptr && of->busy) return nullptr;
        of = acquire();
        if (of == nullptr) return nullptr;
    }
    if (of->busy) [[unlikely]] {
        ++state->shared.file->lost;
        return nullptr;
    }
    of->busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return of;
}
inline void leave(recorder& of) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    of.busy = false;
}

/// Writes a short event if the numbers fit, and a long one otherwise.
inline void write(recorder& to, kind what, long_kind otherwise, word address, word size) {
    const word time = now(to, address), passed = time - to.time, distance = address - to.base + address_bias;
    constexpr word low = (word{1} << address_unit_log2) - 1;
    if ((passed >> time_bits | distance >> (address_bits + address_unit_log2) | ((address | distance) & low) |
         size >> size_bits) != 0) [[unlikely]]
        return write_long(to, otherwise, time, address, size);
    *to.cursor++ =
        static_cast<word>(what) | passed << time_at | distance >> address_unit_log2 << address_at | size << size_at;
    to.time = time;
}

inline void allocated(void* block, std::size_t size) {
    recorder* const to = enter();
    if (to == nullptr) return;
    if (block == nullptr) [[unlikely]]
        ++state->shared.file->failed;
    else write(*to, kind::allocate, long_kind::allocate, reinterpret_cast<std::uintptr_t>(block), size);
    leave(*to);
}
void allocated_at(void* block, std::size_t size, std::size_t align) {
    if (align <= default_align) return allocated(block, size);
    recorder* const to = enter();
    if (to == nullptr) return;
    const word address = reinterpret_cast<std::uintptr_t>(block);
    if (block == nullptr) ++state->shared.file->failed;
    else
        write_long(*to, long_kind::allocate, now(*to, address), address, size,
                   static_cast<word>(std::countr_zero(align)));
    leave(*to);
}
inline void deallocating(void* block) {
    recorder* const to = enter();
    if (to == nullptr) return;
    write(*to, kind::deallocate, long_kind::deallocate, reinterpret_cast<std::uintptr_t>(block), 0);
    leave(*to);
}
void resized(long_kind what, void* block, std::size_t size) {
    recorder* const to = enter();
    if (to == nullptr) return;
    const bool ends = what == long_kind::resize_end;
    if (ends && block == nullptr && size != 0) ++state->shared.file->failed;
    const word address = reinterpret_cast<std::uintptr_t>(block);
    write_long(*to, what, now(*to, address), address, size);
    leave(*to);
}

/// A thread ends: another one may use its window.
void end_thread(void* of) {
    recorder* const ended = static_cast<recorder*>(of);
    if (ended != mine || ended->window == nullptr) return;
    mine = nullptr;
    const locked hold{state->shared};
    ended->next = state->shared.spare;
    state->shared.spare = ended;
}

void before_fork() {
    if (!state->shared.started) return;  // its own parent has the earlier events
    std::memcpy(forked_from, state->shared.path, sizeof forked_from);
    forked_at = clock_count.fetch_add(1) + 1;
}
/// For kernels that do not clear the memory.
void in_child() {
    std::memset(static_cast<void*>(&state->shared), 0, sizeof state->shared);
    if (mine != nullptr) std::memset(static_cast<void*>(mine), 0, sizeof *mine);
    mine = nullptr;
}

template <class Function>
void find(Function& to, const char* name) {
    to = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// Finds the real functions. The first call of the process makes it, before there are other threads.
[[gnu::noinline, gnu::cold]] void resolve() {
    resolving = true;
    find(real.free, "free");
    find(real.calloc, "calloc");
    find(real.realloc, "realloc");
    find(real.aligned_alloc, "aligned_alloc");
    find(real.posix_memalign, "posix_memalign");
    find(real.memalign, "memalign");
    find(real.valloc, "valloc");
    find(real.pvalloc, "pvalloc");
    find(real.malloc_usable_size, "malloc_usable_size");
    find(real.malloc, "malloc");  // last: it tells that the functions are known
    void* const space =
        ::mmap(nullptr, sizeof(memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space != MAP_FAILED && ::pthread_key_create(&at_exit, end_thread) == 0) {
        const bool clears = ::madvise(space, sizeof(memory), MADV_WIPEONFORK) == 0;
        ::pthread_atfork(before_fork, nullptr, clears ? nullptr : in_child);
        state = static_cast<memory*>(space);  // last: nothing is recorded without it
    }
    resolving = false;
}
/// Returns false while the real functions are not known.
inline bool ready() {
    if (real.malloc != nullptr) [[likely]]
        return true;
    if (resolving) return false;
    resolve();
    return real.malloc != nullptr;
}

}  // namespace

#define ALLOT_EXPORT extern "C" [[gnu::visibility("default")]]

ALLOT_EXPORT void* malloc(std::size_t size) noexcept {
    if (!ready()) [[unlikely]]
        return early_allocate(size);
    void* const block = real.malloc(size);
    allocated(block, size);
    return block;
}

ALLOT_EXPORT void free(void* block) noexcept {
    if (block == nullptr || is_early(block) || !ready()) return;
    deallocating(block);
    real.free(block);
}

ALLOT_EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
    std::size_t whole = 0;
    const bool overflows = __builtin_mul_overflow(count, size, &whole);
    if (!ready()) [[unlikely]]
        return overflows ? nullptr : early_allocate(whole);
    void* const block = real.calloc(count, size);
    allocated(block, whole);
    return block;
}

ALLOT_EXPORT void* realloc(void* block, std::size_t size) noexcept {
    if (block == nullptr) return malloc(size);
    if (is_early(block) || !ready()) [[unlikely]] {
        void* const moved = malloc(size);
        if (moved != nullptr) std::memcpy(moved, block, std::min(size, early_size(block)));
        return moved;
    }
    resized(long_kind::resize_begin, block, 0);
    void* const moved = real.realloc(block, size);
    // After a failure the size only states whether the block is kept: it can be larger than an event can hold.
    resized(long_kind::resize_end, moved, moved == nullptr && size != 0 ? 1 : size);
    return moved;
}

ALLOT_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
    std::size_t whole = 0;
    if (!__builtin_mul_overflow(count, size, &whole)) return realloc(block, whole);
    errno = ENOMEM;
    return nullptr;
}

ALLOT_EXPORT void* aligned_alloc(std::size_t align, std::size_t size) noexcept {
    if (!ready()) return nullptr;
    void* const block = real.aligned_alloc(align, size);
    allocated_at(block, size, align);
    return block;
}

ALLOT_EXPORT void* memalign(std::size_t align, std::size_t size) noexcept {
    if (!ready()) return nullptr;
    void* const block = real.memalign(align, size);
    allocated_at(block, size, std::bit_ceil(align));
    return block;
}

ALLOT_EXPORT int posix_memalign(void** to, std::size_t align, std::size_t size) noexcept {
    if (!ready()) return ENOMEM;
    const int error = real.posix_memalign(to, align, size);
    allocated_at(error == 0 ? *to : nullptr, size, align);
    return error;
}

ALLOT_EXPORT void* valloc(std::size_t size) noexcept {
    if (!ready()) return nullptr;
    void* const block = real.valloc(size);
    allocated_at(block, size, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
    return block;
}

ALLOT_EXPORT void* pvalloc(std::size_t size) noexcept {
    if (!ready()) return nullptr;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const block = real.pvalloc(size);
    allocated_at(block, (size + page - 1) / page * page, page);
    return block;
}

ALLOT_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
    if (is_early(block)) return early_size(block);
    return block != nullptr && ready() ? real.malloc_usable_size(block) : 0;
}

// C23. free is valid for these blocks.
ALLOT_EXPORT void free_sized(void* block, std::size_t) noexcept { free(block); }
ALLOT_EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t) noexcept { free(block); }
