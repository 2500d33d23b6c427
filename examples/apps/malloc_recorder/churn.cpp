// SPDX-License-Identifier: BSL-1.0
// A program to record: threads that allocate, resize and free blocks, also those of each other. Sizes are drawn from a
// seed. It prints the numbers of its calls, for the test to compare with the trace.
//
//     churn THREADS CALLS [fork | killed | tight]
//
// fork: a child continues with the blocks of its parent. killed: the process ends by SIGKILL. tight: one thread
// allocates and frees one block at a time, which is the worst case of a recorder.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

// The sizes of this program; the run-time libraries do not ask for them.
constexpr std::size_t least_size = 10'007, size_step = 16, sizes = 256;
constexpr std::size_t slots = 1024;

struct counts {
    std::uint64_t allocations = 0, deallocations = 0, resizes = 0, bytes = 0;
};

/// All threads exchange blocks here.
std::atomic<void*> shared[slots];
std::atomic<std::uint64_t> allocations, deallocations, resizes, bytes;

void check(const void* block) {
    if (block == nullptr) std::abort();
}

void churn(std::uint32_t seed, std::uint64_t calls) {
    counts own;
    std::uint32_t draw = seed * 2'654'435'761u + 1;
    const auto next = [&] { return draw = draw * 1'664'525u + 1'013'904'223u, draw >> 8; };
    for (std::uint64_t done = 0; done < calls; ++done) {
        const std::size_t size = least_size + next() % sizes * size_step;
        std::atomic<void*>& slot = shared[next() % slots];
        void* taken = slot.exchange(nullptr);
        if (taken != nullptr && next() % 8 == 0) {
            taken = std::realloc(taken, size);
            check(taken);
            ++own.resizes;
            own.bytes += size;
        } else if (taken != nullptr) {
            std::free(taken);
            ++own.deallocations;
            continue;
        } else {
            taken = next() % 16 == 0 ? std::aligned_alloc(64, size) : std::malloc(size);
            check(taken);
            ++own.allocations;
            own.bytes += size;
        }
        std::memset(taken, 1, 16);
        if (void* const other = slot.exchange(taken); other != nullptr) {
            std::free(other);
            ++own.deallocations;
        }
    }
    allocations += own.allocations;
    deallocations += own.deallocations;
    resizes += own.resizes;
    bytes += own.bytes;
}

void run(unsigned count, std::uint64_t calls, std::uint32_t seed) {
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < count; ++i) threads.emplace_back(churn, seed + i, calls / count);
    churn(seed, calls / count);
    for (std::thread& each : threads) each.join();
}

void tight(std::uint64_t calls) {
    for (std::uint64_t done = 0; done != calls / 2; ++done) {
        void* volatile block = std::malloc(least_size);
        std::free(block);
    }
    allocations = deallocations = calls / 2;
    bytes = calls / 2 * least_size;
}

void print(const char* name) {
    std::printf("%s %llu %llu %llu %llu\n", name, static_cast<unsigned long long>(allocations.exchange(0)),
                static_cast<unsigned long long>(deallocations.exchange(0)),
                static_cast<unsigned long long>(resizes.exchange(0)),
                static_cast<unsigned long long>(bytes.exchange(0)));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const auto threads = static_cast<unsigned>(std::atoi(argv[1]));
    const auto calls = static_cast<std::uint64_t>(std::atoll(argv[2]));
    const std::string_view mode = argc > 3 ? argv[3] : "";
    if (mode == "tight") tight(calls);
    else run(threads, calls, 1);
    if (mode == "fork") {
        const pid_t child = ::fork();
        if (child == 0) allocations = deallocations = resizes = bytes = 0;
        run(threads, calls, child == 0 ? 100 : 200);
        if (child != 0) ::waitpid(child, nullptr, 0);
        print(child == 0 ? "child" : "parent");
    } else {
        print("parent");
    }
    if (mode == "killed") ::raise(SIGKILL);
}
