// SPDX-License-Identifier: BSL-1.0
// Pages for one thread and for two threads on two processors: the lock-free strategies of allot, and allocators that
// keep blocks for each thread. All subjects run in one process, in turn. A measurement is the shortest of many short
// rounds, so that rounds in which another program used a processor do not count.
#include <allot/host/current_processor.hpp>
#include <allot/strategy/page_tree.hpp>
#include <allot/strategy/pool.hpp>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>
#ifdef ALLOT_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif
#ifdef ALLOT_MIMALLOC
#include <mimalloc.h>
#endif

namespace {

constexpr std::size_t page = 4096, pages = 1 << 16;
constexpr allot::page_tree_options tree_options{.page = page, .count = pages, .largest_order = 9};

// ── subjects ─────────────────────────────────────────────────────────────────────────────────────────────────────────

template <class Strategy>
struct of_allot {
    using block = typename Strategy::allocation_type;
    std::unique_ptr<Strategy> strategy = std::make_unique<Strategy>();
    of_allot() {
        if (!strategy->insert({0, pages * page})) std::abort();
    }
    block allocate(std::size_t size) { return strategy->allocate({size, 1}); }
    void deallocate(block held) { strategy->deallocate(held); }
};
struct page_tree : of_allot<allot::page_tree<tree_options>> {
    static constexpr const char* name = "page_tree";
};
struct page_tree_on_linux : of_allot<allot::page_tree<tree_options, std::size_t, allot::host::current_processor>> {
    static constexpr const char* name = "page_tree, host::current_processor";
};
struct atomic_bitmap : of_allot<allot::pool<allot::pool_options{
                           .slot = page, .count = pages, .align = page, .store = allot::pool_store::atomic_bitmap}>> {
    static constexpr const char* name = "pool, atomic_bitmap";
};
struct glibc {
    static constexpr const char* name = "glibc malloc";
    using block = void*;
    block allocate(std::size_t size) { return std::malloc(size); }
    void deallocate(block held) { std::free(held); }
};
#ifdef ALLOT_MIMALLOC
struct mimalloc {
    static constexpr const char* name = "mimalloc";
    using block = void*;
    block allocate(std::size_t size) { return ::mi_malloc(size); }
    void deallocate(block held) { ::mi_free(held); }
};
#endif
#ifdef ALLOT_JEMALLOC
struct jemalloc {
    static constexpr const char* name = "jemalloc";
    using block = void*;
    block allocate(std::size_t size) { return ::mallocx(size, 0); }
    void deallocate(block held) { ::dallocx(held, 0); }
};
#endif
/// An operation that shares nothing: the most that two threads can reach on this machine.
struct nothing_shared {
    static constexpr const char* name = "two atomic additions, nothing shared";
    using block = std::size_t;
    struct alignas(128) counter {
        std::atomic<std::size_t> value;
    };
    counter counters[64];
    counter& mine() { return counters[allot::processor_by_stack{}() % 63]; }
    block allocate(std::size_t) { return mine().value.fetch_add(1, std::memory_order_acquire) + 1; }
    void deallocate(block) { mine().value.fetch_sub(1, std::memory_order_release); }
};

// ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────────

struct workload {
    const char* name;
    std::size_t held;  // blocks that each thread holds; it frees a random one and allocates another. 0: frees at once
    bool mixed;        // of 1, 2, 4 or 8 pages
};
constexpr workload workloads[] = {
    {"a page, freed at once", 0, false},
    {"1,000 pages held by each thread", 1000, false},
    {"16,000 pages held by each thread", 16'000, false},
    {"1,000 blocks of 1 to 8 pages held by each thread", 1000, true},
};
constexpr std::size_t pairs = 5'000, rounds = 150;

using timer = std::chrono::steady_clock;

/// Frees and allocates. Returns the start and the end.
template <class Subject>
std::pair<timer::time_point, timer::time_point> run(Subject& on, const workload& of, unsigned seed,
                                                    std::atomic<int>& waiting) {
    std::minstd_rand random{seed};
    const auto size = [&] { return of.mixed ? page << random() % 4 : page; };
    std::vector<typename Subject::block> held(of.held);
    for (auto& each : held) each = on.allocate(size());
    std::vector<std::uint32_t> which(pairs);
    for (auto& each : which) each = of.held == 0 ? 0 : static_cast<std::uint32_t>(random() % of.held);
    waiting.fetch_sub(1);
    while (waiting.load() != 0) {}
    const auto from = timer::now();
    bool failed = false;
    for (const std::uint32_t i : which) {
        if (of.held != 0) on.deallocate(held[i]);
        const auto fresh = on.allocate(size());
        failed |= !fresh;
        if (of.held != 0) held[i] = fresh;
        else on.deallocate(fresh);
    }
    const auto to = timer::now();
    for (const auto& each : held) on.deallocate(each);
    if (failed) std::puts("a request failed"), std::exit(1);
    return {from, to};
}

/// Runs one thread on the calling thread's first processor, or several on one processor each. Returns nanoseconds for
/// a pair of calls of each thread.
template <class Subject>
double time_of(Subject& on, const workload& of, int threads, const std::vector<int>& processors) {
    std::atomic<int> waiting = threads;
    std::vector<std::pair<timer::time_point, timer::time_point>> spans(static_cast<std::size_t>(threads));
    {
        std::vector<std::jthread> running;
        for (std::size_t i = 0; i != spans.size(); ++i)
            running.emplace_back([&, i] {
                cpu_set_t only;
                CPU_ZERO(&only);
                CPU_SET(static_cast<std::size_t>(processors[i]), &only);
                ::pthread_setaffinity_np(::pthread_self(), sizeof only, &only);
                spans[i] = run(on, of, static_cast<unsigned>(i) + 1, waiting);
            });
    }
    auto from = spans[0].first, to = spans[0].second;
    for (const auto& each : spans) from = std::min(from, each.first), to = std::max(to, each.second);
    return std::chrono::duration<double, std::nano>(to - from).count() / pairs;
}

struct result {
    double one = std::numeric_limits<double>::infinity(), two = one;
};

template <class... Subjects>
void compare(const workload& of, const std::vector<int>& processors) {
    std::tuple<Subjects...> subjects;
    result results[sizeof...(Subjects)];
    for (std::size_t round = 0; round != rounds; ++round) {
        std::size_t i = 0;
        std::apply(
            [&](auto&... each) {
                ((results[i].one = std::min(results[i].one, time_of(each, of, 1, processors)),
                  results[i].two = std::min(results[i].two, time_of(each, of, 2, processors)), ++i),
                 ...);
            },
            subjects);
    }
    std::printf("\n%s\n\n| | ns per pair, one thread | over `pool` | two threads over one |\n|---|--:|--:|--:|\n",
                of.name);
    const char* const names[]{Subjects::name...};
    double bitmap = 0;
    for (std::size_t i = 0; i != sizeof...(Subjects); ++i)
        if (std::string{names[i]} == atomic_bitmap::name) bitmap = results[i].one;
    for (std::size_t i = 0; i != sizeof...(Subjects); ++i) {
        char over[16] = "–";
        if (bitmap != 0) std::snprintf(over, sizeof over, "%.2f", results[i].one / bitmap);
        std::printf("| %s | %.1f | %s | %.2f |\n", names[i], results[i].one, over, 2 * results[i].one / results[i].two);
    }
    std::fflush(stdout);
}

}  // namespace

int main() {
    cpu_set_t allowed;
    std::vector<int> processors;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        for (int i = 0; i != CPU_SETSIZE; ++i)
            if (CPU_ISSET(static_cast<std::size_t>(i), &allowed)) processors.push_back(i);
    double load[1]{};
    if (::getloadavg(load, 1) == 1) std::printf("load average before the run: %.2f\n", load[0]);
    if (processors.size() < 2) {
        std::puts("skipped: needs two processors");
        return 77;
    }
    for (const workload& each : workloads) {
#if defined(ALLOT_MIMALLOC) && defined(ALLOT_JEMALLOC)
        if (!each.mixed)
            compare<nothing_shared, page_tree, page_tree_on_linux, atomic_bitmap, glibc, mimalloc, jemalloc>(
                each, processors);
        else compare<nothing_shared, page_tree, page_tree_on_linux, glibc, mimalloc, jemalloc>(each, processors);
#else
        if (!each.mixed) compare<nothing_shared, page_tree, page_tree_on_linux, atomic_bitmap, glibc>(each, processors);
        else compare<nothing_shared, page_tree, page_tree_on_linux, glibc>(each, processors);
#endif
    }
    return 0;
}
