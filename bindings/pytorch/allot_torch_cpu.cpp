// SPDX-License-Identifier: BSL-1.0
// liballot_torch_cpu.so: one arena of allot for all CPU tensors of a process. README.md describes the use.
#include "allot_torch_cpu.h"
#include "cpu_allocator.hpp"

#include <allot/arena/arena.hpp>
#include <allot/arena/growth.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/strategy/best_fit.hpp>

#include <mutex>

#include <pthread.h>

namespace {

using namespace allot::literals;

constexpr allot::growth_options growth{.step = 1_MiB, .regions = 1};
using arena = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<growth>>;

std::mutex calls;
/// The lock of the arena. A process that forks holds it, so that the child finds a complete arena and a free lock.
struct lock_of_calls {
    void lock() { calls.lock(); }
    void unlock() { calls.unlock(); }
};
using allocator = allot_torch::cpu_allocator<allot::synchronized<arena, lock_of_calls>>;

constexpr std::size_t most_addresses = std::size_t{1} << (sizeof(void*) == 8 ? 40 : 31);

/// The allocator, or null before allot_torch_cpu_install. Never destroyed: tensors live until the process ends.
std::atomic<allocator*> installed{nullptr};

}  // namespace

extern "C" {

int allot_torch_cpu_install(size_t limit) {
    static std::mutex once;
    const std::lock_guard alone{once};
    if (installed != nullptr) return -1;
    using allot::host::virtual_memory;
    installed = new allocator{arena{virtual_memory::up_to(limit != 0 ? limit : most_addresses)}};
    pthread_atfork([] { calls.lock(); }, [] { calls.unlock(); }, [] { calls.unlock(); });
    c10::SetCPUAllocator(installed);
    return 0;
}

int allot_torch_cpu_get_statistics(allot_torch_cpu_statistics* found) {
    const allocator* const memory = installed;
    if (memory == nullptr) return -1;
    const allot_torch::statistics now = memory->statistics();
    *found = {now.used, now.peak, now.held, now.blocks, now.requests, now.refusals};
    return 0;
}

int allot_torch_cpu_reset_peak(void) {
    allocator* const memory = installed;
    if (memory != nullptr) memory->reset_peak();
    return memory == nullptr ? -1 : 0;
}

int allot_torch_cpu_trim(size_t* released) {
    allocator* const memory = installed;
    if (memory != nullptr) *released = memory->trim();
    return memory == nullptr ? -1 : 0;
}

}  // extern "C"
