// SPDX-License-Identifier: BSL-1.0
// Tests the functions of malloc by their manual pages: limits, errors, alignments, contents, threads, and fork. It runs
// with the library preloaded, and linked to it.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

int failures = 0;

#define CHECK(condition)                                                  \
    do {                                                                  \
        if (!(condition)) {                                               \
            std::printf("api.cpp:%d: CHECK(%s)\n", __LINE__, #condition); \
            ++failures;                                                   \
        }                                                                 \
    } while (false)

/// Hides a value from the compiler, which knows the functions of malloc and removes calls.
template <class Value>
Value hidden(Value value) {
    asm volatile("" : "+r"(value) : : "memory");
    return value;
}

bool is_filled(const void* block, unsigned char with, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(block);
    for (std::size_t i = 0; i != size; ++i)
        if (bytes[i] != with) return false;
    return true;
}

bool is_aligned(const void* block, std::size_t align) { return reinterpret_cast<std::uintptr_t>(block) % align == 0; }

// ── one thread ───────────────────────────────────────────────────────────────────────────────────────────────────────

void sizes() {
    for (std::size_t size = 0; size < 3'000'000; size = size * 9 / 8 + 1) {
        auto* const block = static_cast<unsigned char*>(std::malloc(hidden(size)));
        CHECK(block != nullptr);
        CHECK(is_aligned(block, alignof(std::max_align_t)));
        const std::size_t usable = malloc_usable_size(block);
        CHECK(usable >= size);
        std::memset(block, 0xA5, usable);
        auto* const other = static_cast<unsigned char*>(std::malloc(hidden(size)));
        CHECK(other != block);
        std::memset(other, 0x5A, malloc_usable_size(other));
        CHECK(is_filled(block, 0xA5, usable));
        std::free(block);
        std::free(other);
    }
    std::free(nullptr);
    CHECK(malloc_usable_size(nullptr) == 0);
}

void too_large() {
    void* const held = std::malloc(100);
    std::memset(held, 7, 100);
    const std::size_t most = PTRDIFF_MAX, sizes[] = {most, most + 1, SIZE_MAX - 4096, SIZE_MAX, std::size_t{1} << 48U};
    for (const std::size_t size : sizes) {
        errno = 0;
        CHECK(std::malloc(hidden(size)) == nullptr);
        CHECK(errno == ENOMEM);
        errno = 0;
        CHECK(std::realloc(hidden(held), hidden(size)) == nullptr);
        CHECK(errno == ENOMEM);
        errno = 0;
        CHECK(std::calloc(1, hidden(size)) == nullptr);
        CHECK(errno == ENOMEM);
        errno = 0;
        CHECK(memalign(64, hidden(size)) == nullptr);
        CHECK(errno == ENOMEM);
        errno = 0;
        CHECK(pvalloc(hidden(size)) == nullptr);
        CHECK(errno == ENOMEM);
    }
    errno = 0;
    CHECK(std::calloc(hidden(SIZE_MAX / 2), 3) == nullptr);
    CHECK(errno == ENOMEM);
    errno = 0;
    CHECK(reallocarray(hidden(held), hidden(SIZE_MAX / 2), 3) == nullptr);
    CHECK(errno == ENOMEM);
    CHECK(is_filled(held, 7, 100));  // a failed realloc changes nothing
    std::free(held);
}

void alignments() {
    for (std::size_t align = 1; align <= std::size_t{1} << 21U; align *= 2)
        for (const std::size_t size : {std::size_t{1}, std::size_t{13}, std::size_t{1000}, 3 * align + 5}) {
            void* const block = memalign(align, hidden(size));
            CHECK(block != nullptr);
            CHECK(is_aligned(block, align));
            CHECK(malloc_usable_size(block) >= size);
            std::memset(block, 1, size);
            void* other = std::aligned_alloc(align, hidden(size));
            CHECK(is_aligned(other, align));
            std::free(block);
            other = std::realloc(other, size + 4000);
            CHECK(other != nullptr);
            std::free(other);
        }
    void* block = &block;
    for (const std::size_t align : {SIZE_MAX / 2 + 1, SIZE_MAX / 2, SIZE_MAX / 4 + 2, SIZE_MAX / 2 + 2, SIZE_MAX}) {
        errno = 0;
        CHECK(memalign(hidden(align), 10) == nullptr);
        CHECK(errno == (align > SIZE_MAX / 2 + 1 ? EINVAL : ENOMEM));
    }
    for (const std::size_t align : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{24}, std::size_t{65}}) {
        errno = 5;
        CHECK(posix_memalign(&block, hidden(align), 10) == EINVAL);
        CHECK(block == &block);
        CHECK(errno == 5);
        if (align == 1 || align == 4) continue;
        CHECK(std::aligned_alloc(hidden(align), 10) == nullptr);
        CHECK(errno == EINVAL);
    }
    CHECK(posix_memalign(&block, 64, hidden(PTRDIFF_MAX)) == ENOMEM);
    CHECK(errno == ENOMEM);
    CHECK(posix_memalign(&block, 4096, 0) == 0);
    CHECK(is_aligned(block, 4096));
    std::free(block);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    block = valloc(10);
    CHECK(is_aligned(block, page));
    std::free(block);
    block = pvalloc(page + 1);
    CHECK(is_aligned(block, page));
    CHECK(malloc_usable_size(block) >= 2 * page);
    std::free(block);
}

void zeros() {
    for (int round = 0; round != 3; ++round)
        for (std::size_t size = 1; size < 9'000'000; size = size * 5 / 3 + 1) {
            void* const dirty = std::malloc(hidden(size));
            std::memset(dirty, 0xFF, hidden(malloc_usable_size(dirty)));
            if (round != 1) std::free(dirty);
            void* const block = std::calloc(hidden(size), 1);
            CHECK(block != nullptr);
            CHECK(is_filled(block, 0, size));
            std::memset(block, 0xEE, malloc_usable_size(block));
            std::free(block);
            if (round == 1) std::free(dirty);
        }
    void* const none = std::calloc(hidden(std::size_t{0}), 5);
    CHECK(none != nullptr);
    std::free(none);
}

void reallocations() {
    void* block = std::realloc(nullptr, hidden(std::size_t{10}));
    CHECK(block != nullptr);
    CHECK(std::realloc(block, hidden(std::size_t{0})) == nullptr);  // frees it, as in glibc
    for (const std::size_t first :
         {std::size_t{1}, std::size_t{24}, std::size_t{1000}, std::size_t{70'000}, std::size_t{600'000}})
        for (const std::size_t second :
             {std::size_t{1}, std::size_t{25}, std::size_t{1033}, std::size_t{70'001}, std::size_t{2'000'003}}) {
            block = std::malloc(hidden(first));
            std::memset(block, 0x3C, first);
            void* const wall = std::malloc(50);  // the block cannot always grow in place
            block = std::realloc(block, hidden(second));
            CHECK(block != nullptr);
            CHECK(malloc_usable_size(block) >= second);
            CHECK(is_filled(block, 0x3C, first < second ? first : second));
            std::memset(block, 1, second);
            std::free(wall);
            std::free(block);
        }
    block = nullptr;
    std::size_t have = 0;
    for (std::size_t size = 1; size < 500'000; size += size / 7 + 1) {
        block = reallocarray(block, hidden(size), 3);
        CHECK(is_filled(block, 0x77, have));
        have = size * 3;
        std::memset(block, 0x77, have);
    }
    std::free(block);
}

/// Blocks that grow in turn stand in each other's way. The system moves large ones without a copy.
void growth() {
    std::size_t arena = 0;
    for (int round = 0; round != 40; ++round) {
        unsigned char* blocks[3] = {};
        std::size_t have = 0;
        for (std::size_t size = 60'000; size < 5'000'000; have = size, size = size * 8 / 5)
            for (unsigned char*& each : blocks) {
                each = static_cast<unsigned char*>(std::realloc(each, hidden(size)));
                CHECK(each != nullptr);
                CHECK(is_aligned(each, alignof(std::max_align_t)));
                CHECK(malloc_usable_size(each) >= size);
                CHECK(have == 0 || (each[0] == 1 && each[have - 1] == 1 && each[have / 2] == 1));
                std::memset(each + have, 1, size - have);
            }
        const struct mallinfo2 now = mallinfo2();
        CHECK(now.hblks >= 2);
        CHECK(now.hblkhd > now.hblks * have);
        for (unsigned char* const each : blocks) CHECK(is_filled(each, 1, have));
        blocks[0] = static_cast<unsigned char*>(std::realloc(blocks[0], hidden(std::size_t{3000})));
        CHECK(is_filled(blocks[0], 1, 3000));
        for (unsigned char* const each : blocks) std::free(each);
        CHECK(mallinfo2().hblks == 0);
        if (round == 10) arena = mallinfo2().arena;
    }
    CHECK(mallinfo2().arena == arena);  // the same addresses are used again
}

void errno_is_kept() {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i != 4000; ++i) blocks.push_back(std::malloc(i * 37));
    for (void* const block : blocks) {
        errno = 4711;
        std::free(block);
        CHECK(errno == 4711);
    }
}

void counters() {
    void* const blocks[] = {hidden(std::malloc(5'000'000)), hidden(std::malloc(100'000))};
    const struct mallinfo2 before = mallinfo2();
    CHECK(before.uordblks >= 5'100'000);
    CHECK(before.arena == before.uordblks + before.fordblks);
    CHECK(mallinfo2().uordblks == before.uordblks);
    for (void* const block : blocks) {
        std::free(block);
    }
    const struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks <= before.uordblks - 5'100'000);
    CHECK(after.arena == after.uordblks + after.fordblks);
    malloc_trim(0);
    CHECK(mallinfo2().uordblks <= after.uordblks);
    CHECK(malloc_info(1, stdout) == -1);
    CHECK(errno == EINVAL);
    char text[300] = "";
    std::FILE* const file = ::fmemopen(text, sizeof text, "w");
    CHECK(malloc_info(0, file) == 0);
    std::fclose(file);
    CHECK(std::string_view{text}.starts_with("<malloc version=\"1\">"));
    malloc_stats();  // check.py reads its output
}

long resident() {  // pages
    long all = 0, found = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &all, &found) != 2) found = 0;
        std::fclose(file);
    }
    return found;
}

void memory_returns() {
    constexpr std::size_t large = std::size_t{64} << 20U;
    const long before = resident();
    void* const block = hidden(std::malloc(large));
    void* const wall = std::malloc(10);
    std::memset(block, 1, hidden(large));
    CHECK(resident() - before > 16'000);
    std::free(block);
    CHECK(resident() - before < 1000);  // large blocks lose their pages at once
    void* const zeroed = std::calloc(large, 1);
    CHECK(resident() - before < 1000);  // and calloc does not write them
    CHECK(is_filled(zeroed, 0, large));
    std::free(zeroed);
    void* shrunk = hidden(std::malloc(large));
    std::memset(shrunk, 1, hidden(large));
    shrunk = std::realloc(shrunk, hidden(std::size_t{5000}));
    CHECK(resident() - before < 1000);  // and so does the rest of a block that shrinks
    std::free(shrunk);
    std::free(wall);
    std::vector<void*> many;
    for (int i = 0; i != 4000; ++i) many.push_back(std::memset(std::malloc(8000), 1, 8000));
    void* const last = std::malloc(10);
    for (void* const each : many) std::free(each);
    malloc_trim(0);
    CHECK(resident() - before < 2000);
    std::free(last);
}

// ── threads and processes ────────────────────────────────────────────────────────────────────────────────────────────

struct slot {
    std::atomic<unsigned char*> block{nullptr};
};

/// Allocates and frees blocks of shared slots, so that threads free the blocks of each other. Each block holds its size
/// and a pattern. Returns the number of damaged ones.
int churn(slot* slots, std::size_t count, unsigned seed, int calls) {
    int damaged = 0;
    std::uint32_t random = seed * 2654435761U + 1;
    for (int i = 0; i != calls; ++i) {
        random = random * 1664525U + 1013904223U;
        const std::uint32_t most = (random >> 8U) % 64 == 0 ? 200'000 : (random >> 8U) % 8 == 1 ? 9000 : 700;
        const std::size_t size = sizeof(std::size_t) + (random >> 9U) % most;
        auto* const fresh = static_cast<unsigned char*>(std::malloc(size));
        if (fresh == nullptr) return ++damaged;
        std::memcpy(fresh, &size, sizeof size);
        std::memset(fresh + sizeof size, static_cast<int>(size & 0xFFU), size - sizeof size);
        unsigned char* const old = slots[(random >> 4U) % count].block.exchange(fresh);
        if (old == nullptr) continue;
        std::size_t of_old;
        std::memcpy(&of_old, old, sizeof of_old);
        damaged += !is_filled(old + sizeof of_old, static_cast<unsigned char>(of_old & 0xFFU), of_old - sizeof of_old);
        std::free(old);
    }
    return damaged;
}

void threads() {
    static slot slots[500];
    std::atomic<int> damaged{0};
    for (int round = 0; round != 3; ++round) {  // threads end, and others take their place
        std::vector<std::thread> all;
        for (unsigned i = 0; i != 5; ++i) all.emplace_back([&, i] { damaged += churn(slots, 500, i + 1, 15'000); });
        for (std::thread& each : all) each.join();
    }
    for (slot& each : slots) std::free(each.block.load());
    CHECK(damaged == 0);
}

void use_at_end(void*) {
    void* blocks[60];
    for (void*& each : blocks) each = std::realloc(std::calloc(1, 300), 400);
    for (void* const each : blocks) std::free(each);
}

/// Destructors of threads call malloc after the cache of their thread was freed.
void ends_of_threads() {
    pthread_key_t key;
    CHECK(::pthread_key_create(&key, use_at_end) == 0);
    std::size_t first = 0;
    for (int i = 0; i != 200; ++i) {
        std::thread{[&] { ::pthread_setspecific(key, &key); }}.join();
        if (i == 20) first = mallinfo2().uordblks;
    }
    CHECK(mallinfo2().uordblks < first + 10'000);
    ::pthread_key_delete(key);
}

/// Waits for a child, at most 60 seconds. Returns its exit status, or -1.
int status_of(pid_t child) {
    for (int i = 0; i != 6000; ++i) {
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
        ::usleep(10'000);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return -1;
}

/// Forks while threads allocate. The children allocate, also in a thread of their own and in a child.
void forks() {
    static slot slots[500];
    std::atomic<bool> stop{false};
    std::atomic<int> damaged{0};
    std::vector<std::thread> all;
    for (unsigned i = 0; i != 3; ++i)
        all.emplace_back([&, i] {
            for (unsigned round = 0; !stop; ++round) damaged += churn(slots, 500, i + 10 * round, 500);
        });
    for (unsigned i = 0; i != 25; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            static slot own[100];
            int bad = churn(own, 100, i, 3000);
            std::thread{[&] { bad += churn(own, 100, i + 1, 3000); }}.join();
            const pid_t grandchild = ::fork();
            if (grandchild == 0) ::_exit(churn(own, 100, i + 2, 1000));
            ::_exit(bad + (status_of(grandchild) == 0 ? 0 : 1));
        }
        CHECK(child > 0);
        CHECK(status_of(child) == 0);
    }
    stop = true;
    for (std::thread& each : all) each.join();
    for (slot& each : slots) std::free(each.block.load());
    CHECK(damaged == 0);
}

/// Threads write to streams, which the C library locks during a fork, and allocate while they hold these locks.
void forks_with_streams() {
    std::atomic<bool> stop{false};
    std::vector<std::thread> all;
    for (int i = 0; i != 2; ++i)
        all.emplace_back([&] {
            while (!stop) {
                std::FILE* const file = std::fopen("/dev/null", "w");
                if (file != nullptr) {
                    std::fprintf(file, "%d", 1);
                    std::fclose(file);
                }
                std::fflush(nullptr);
            }
        });
    for (int i = 0; i != 60; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::free(hidden(std::malloc(3000)));
            ::_exit(0);
        }
        CHECK(status_of(child) == 0);
    }
    stop = true;
    for (std::thread& each : all) each.join();
}

std::atomic<int> forked{0};
void fork_in_handler(int) {
    const int before = errno;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    if (child > 0 && ::waitpid(child, nullptr, 0) == child) ++forked;
    errno = before;
}

/// A signal handler forks while its thread is in malloc, as glibc's tst-mallocfork2 does.
void forks_in_handlers() {
    static slot slots[200];
    struct sigaction action {};
    action.sa_handler = fork_in_handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGUSR1, &action, nullptr);
    const pthread_t main_thread = ::pthread_self();
    std::atomic<bool> stop{false};
    std::thread sender{[&] {
        while (forked < 60 && !stop) {
            ::pthread_kill(main_thread, SIGUSR1);
            ::usleep(200);
        }
    }};
    int damaged = 0;
    for (unsigned i = 0; i != 20'000 && forked < 60; ++i) damaged += churn(slots, 200, i, 200);
    stop = true;
    sender.join();
    for (slot& each : slots) std::free(each.block.load());
    CHECK(damaged == 0);
    CHECK(forked > 0);
}

/// Ends the program by a misuse.
int misuse(std::string_view name) {
    const auto twice = [](std::size_t size) {
        void* const block = hidden(std::malloc(size));
        void* const other = hidden(std::malloc(size));
        std::free(block);
        std::free(other);
        std::free(hidden(block));
    };
    alignas(64) static char local[64];
    if (name == "small_twice") twice(50);
    if (name == "medium_twice") twice(5000);
    if (name == "large_twice") twice(50'000);
    if (name.ends_with("_twice_later") || name.ends_with("_twice_in_threads")) {
        std::vector<void*> many(1000);
        for (void*& each : many) each = std::malloc(name.starts_with("small") ? 100 : 3000);
        const auto free_all = [&] {  // the cache keeps the last ones, and a thread none at its end
            for (void* const each : many) std::free(hidden(each));
        };
        if (name.ends_with("later")) free_all();
        else std::thread{free_all}.join();
        std::free(hidden(many[10]));
    }
    if (name == "foreign") std::free(hidden<void*>(local + 24));
    if (name == "inside") std::free(static_cast<char*>(hidden(std::malloc(5000))) + 16);
    if (name == "overwritten") {
        char* const block = static_cast<char*>(hidden(std::malloc(5000)));
        void* const above = hidden(std::malloc(5000));
        std::memset(block, 0xFF, malloc_usable_size(block) + 8);
        std::free(above);
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 2) return misuse(arguments[1]);
    sizes();
    too_large();
    alignments();
    zeros();
    reallocations();
    growth();
    errno_is_kept();
    counters();
    memory_returns();
    threads();
    ends_of_threads();
    forks();
    forks_with_streams();
    forks_in_handlers();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
