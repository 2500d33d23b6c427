// SPDX-License-Identifier: BSL-1.0
// Programs of one thread and of two threads on two processors: per_thread over best_fit, and allocators that keep
// blocks for each thread. All subjects run in one process, in turn. A measurement is the shortest of many short rounds,
// so that rounds in which another program used a processor do not count.
#include "trace_files.hpp"

#include <allot/allot.hpp>
#include <allot/compose/thread_local_caches.hpp>
#include <allot/host/current_processor.hpp>

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#ifdef ALLOT_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif
#ifdef ALLOT_MIMALLOC
#include <mimalloc.h>
#endif

namespace {

using namespace allot::literals;

// ── subjects: an object for all threads, and a `session` for each ───────────────────────────────────────────────────

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
constexpr std::size_t memory = 256_MiB;

struct per_thread {
    static constexpr const char* name = "per_thread<best_fit>";
    using shared = allot::per_thread<arena>;
    using block = shared::block_type;
    std::unique_ptr<shared> of = std::make_unique<shared>(arena{{}, memory});
    struct session {
        allot::thread_cache<shared> cache;
        explicit session(per_thread& all) : cache{*all.of} {}
        block allocate(std::size_t size, std::size_t align) { return cache.allocate({size, align}); }
        void deallocate(block held) { cache.deallocate(held); }
        static void* address(block held) { return held.address; }
    };
};
struct thread_local_caches {
    static constexpr const char* name = "thread_local_caches, best_fit";
    using shared = allot::thread_local_caches<allot::per_thread<arena>>;
    using block = shared::block_type;
    std::unique_ptr<shared> of = std::make_unique<shared>(arena{{}, memory});
    struct session {
        shared& one;
        explicit session(thread_local_caches& all) : one{*all.of} {}
        block allocate(std::size_t size, std::size_t align) { return one.allocate({size, align}); }
        void deallocate(block held) { one.deallocate(held); }
        static void* address(block held) { return held.address; }
    };
};
struct per_thread_over_shards {
    static constexpr const char* name = "per_thread<sharded<best_fit, 4>>";
    using locked = allot::synchronized<arena, allot::spin_lock>;
    using shards = allot::sharded<locked, 4, allot::host::current_processor>;
    using shared = allot::per_thread<shards&, allot::no_lock>;
    using block = shared::block_type;
    std::unique_ptr<shards> below = std::make_unique<shards>([](std::size_t) { return locked{arena{{}, memory}}; });
    std::unique_ptr<shared> of = std::make_unique<shared>(*below);
    struct session {
        allot::thread_cache<shared> cache;
        explicit session(per_thread_over_shards& all) : cache{*all.of} {}
        block allocate(std::size_t size, std::size_t align) { return cache.allocate({size, align}); }
        void deallocate(block held) { cache.deallocate(held); }
        static void* address(block held) { return held.address; }
    };
};
struct synchronized {
    static constexpr const char* name = "synchronized<best_fit, spin_lock>";
    using shared = allot::synchronized<arena, allot::spin_lock>;
    using block = shared::block_type;
    std::unique_ptr<shared> of = std::make_unique<shared>(arena{{}, memory});
    struct session {
        shared& one;
        explicit session(synchronized& all) : one{*all.of} {}
        block allocate(std::size_t size, std::size_t align) { return one.allocate({size, align}); }
        void deallocate(block held) { one.deallocate(held); }
        static void* address(block held) { return held.address; }
    };
};
template <class Functions>
struct of_library {
    static constexpr const char* name = Functions::name;
    using block = void*;
    struct session {
        explicit session(of_library&) {}
        block allocate(std::size_t size, std::size_t align) {
            return align <= alignof(std::max_align_t) ? Functions::allocate(size) : Functions::allocate(size, align);
        }
        void deallocate(block held) { Functions::deallocate(held); }
        static void* address(block held) { return held; }
    };
};
struct glibc_functions {
    static constexpr const char* name = "glibc malloc";
    static void* allocate(std::size_t size) { return std::malloc(size); }
    static void* allocate(std::size_t size, std::size_t align) { return std::aligned_alloc(align, size); }
    static void deallocate(void* held) { std::free(held); }
};
using glibc = of_library<glibc_functions>;
#ifdef ALLOT_MIMALLOC
struct mimalloc_functions {
    static constexpr const char* name = "mimalloc";
    static void* allocate(std::size_t size) { return ::mi_malloc(size); }
    static void* allocate(std::size_t size, std::size_t align) { return ::mi_malloc_aligned(size, align); }
    static void deallocate(void* held) { ::mi_free(held); }
};
using mimalloc = of_library<mimalloc_functions>;
#endif
#ifdef ALLOT_JEMALLOC
struct jemalloc_functions {
    static constexpr const char* name = "jemalloc";
    static void* allocate(std::size_t size) { return ::mallocx(size, 0); }
    static void* allocate(std::size_t size, std::size_t align) { return ::mallocx(size, MALLOCX_ALIGN(align)); }
    static void deallocate(void* held) { ::dallocx(held, 0); }
};
using jemalloc = of_library<jemalloc_functions>;
#endif

// ── programs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

using timer = std::chrono::steady_clock;
using span = std::pair<timer::time_point, timer::time_point>;

/// Waits until all threads have arrived.
class meeting {
public:
    explicit meeting(int threads) : threads_{threads} {}
    void arrive() {
        const int turn = turn_.load();
        if (waiting_.fetch_add(1) + 1 == threads_) {
            waiting_.store(0);
            turn_.fetch_add(1);
        }
        while (turn_.load() == turn) {}
    }

private:
    int threads_;
    std::atomic<int> waiting_ = 0, turn_ = 0;
};

[[noreturn]] void fail() {
    std::puts("a request failed");
    std::exit(1);
}
template <class Session>
auto new_block(Session& on, std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    const auto fresh = on.allocate(size, align);
    if (!fresh) fail();
    *static_cast<volatile char*>(Session::address(fresh)) = 1;
    return fresh;
}

/// Larson and Krishnan's server: each thread replaces random blocks of an array, and then takes over the array of
/// another thread.
template <class Subject>
struct larson {
    static constexpr std::size_t blocks = 1000, steps = 4000, hands = 8, operations = steps * hands;
    std::vector<std::vector<typename Subject::block>> arrays;
    meeting together;
    larson(Subject&, int threads, const allot::trace*) : arrays(static_cast<std::size_t>(threads)), together{threads} {}

    span run(typename Subject::session& on, std::size_t id) { return play(on, id, true); }
    span play(typename Subject::session& on, std::size_t id, bool exchanges) {
        std::minstd_rand random{static_cast<unsigned>(id) + 1};
        std::vector<std::pair<std::uint32_t, std::uint32_t>> plan(steps);
        for (auto& each : plan) each = {random() % blocks, 8 + random() % 993};
        for (std::size_t i = 0; i != blocks; ++i) arrays[id].push_back(new_block(on, 8 + random() % 993));
        together.arrive();
        const auto from = timer::now();
        for (std::size_t hand = 0; hand != hands; ++hand) {
            auto& mine = arrays[(exchanges ? id + hand : id) % arrays.size()];
            for (const auto& [which, size] : plan) {
                on.deallocate(mine[which]);
                mine[which] = new_block(on, size);
            }
            together.arrive();
        }
        const auto to = timer::now();
        for (const auto& each : arrays[id]) on.deallocate(each);
        return {from, to};
    }
};

/// Each thread replaces random blocks of its own array.
template <class Subject>
struct own_blocks : larson<Subject> {
    using larson<Subject>::larson;
    span run(typename Subject::session& on, std::size_t id) { return this->play(on, id, false); }
};

/// Lever and Boreham's xmalloc-test: one thread allocates, and the other frees. One thread alone does both.
template <class Subject>
struct xmalloc {
    static constexpr std::size_t batch = 120, batches = 240, operations = batch * batches, places = 8;
    int threads;
    meeting together;
    struct alignas(64) place {
        std::atomic<bool> full{false};
        typename Subject::block blocks[batch];
    };
    std::vector<place> ring = std::vector<place>(places);
    xmalloc(Subject&, int count, const allot::trace*) : threads{count}, together{count} {}

    void fill(typename Subject::session& on, place& to, std::minstd_rand& random) {
        while (to.full.load(std::memory_order_acquire)) {}
        for (auto& each : to.blocks) each = new_block(on, 16 + random() % 48 * 8);
        to.full.store(true, std::memory_order_release);
    }
    void empty(typename Subject::session& on, place& from) {
        while (!from.full.load(std::memory_order_acquire)) {}
        for (auto& each : from.blocks) on.deallocate(each);
        from.full.store(false, std::memory_order_release);
    }
    span run(typename Subject::session& on, std::size_t id) {
        std::minstd_rand random{1};
        together.arrive();
        const auto from = timer::now();
        for (std::size_t i = 0; i != batches; ++i) {
            if (id == 0) fill(on, ring[i % places], random);
            if (id == 1 || threads == 1) empty(on, ring[i % places]);
        }
        const auto to = timer::now();
        together.arrive();  // before the end of a thread disturbs the other
        return {from, to};
    }
};

/// A recorded program that each thread replays several times.
template <class Subject>
struct replayed {
    static constexpr std::size_t times = 5;
    const allot::trace& trace;
    meeting together;
    replayed(Subject&, int threads, const allot::trace* of) : trace{*of}, together{threads} {}
    span run(typename Subject::session& on, std::size_t) {
        std::vector<typename Subject::block> slots(trace.slots);
        together.arrive();
        const auto from = timer::now();
        for (std::size_t time = 0; time != times; ++time)
            for (const auto& each : trace.operations) {
                if (each.action == allot::trace_action::allocate)
                    slots[each.slot] = new_block(on, each.size, std::size_t{1} << each.align_log2);
                else if (each.action == allot::trace_action::deallocate) on.deallocate(slots[each.slot]);
            }
        const auto to = timer::now();
        together.arrive();  // before the end of a thread disturbs the other
        return {from, to};
    }
};

// ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Returns the bytes of this process that are in memory.
std::size_t resident() {
    std::ifstream file{"/proc/self/statm"};
    std::size_t all = 0, pages = 0;
    file >> all >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// A thread allocates 32 MiB and hands all blocks to another thread, which frees them, many times. Returns the growth
/// of the memory of this process after all hand-overs, over that after the first allocation.
template <class Subject>
double growth_of() {
    constexpr std::size_t total = 32_MiB, rounds = 20, most = 1000;
    std::vector<typename Subject::block> held;
    held.reserve(total / 16);
    const std::size_t before = resident();
    Subject subject;
    std::size_t first = 0, last = 0;
    meeting together{2};
    const auto allocate = [&](typename Subject::session& on, unsigned seed) {
        std::minstd_rand random{seed};
        for (std::size_t sum = 0; sum < total;) {
            const std::size_t size = 16 + random() % (most - 15);
            held.push_back(new_block(on, size));
            std::memset(Subject::session::address(held.back()), 1, size);
            sum += size;
        }
    };
    std::jthread one{[&] {
        typename Subject::session session{subject};
        for (unsigned round = 0; round != rounds; ++round) {
            allocate(session, round + 1);
            last = resident();
            if (round == 0) first = last;
            together.arrive();  // hands all blocks over
            together.arrive();
        }
    }};
    std::jthread other{[&] {
        typename Subject::session session{subject};
        for (unsigned round = 0; round != rounds; ++round) {
            together.arrive();
            for (const auto& each : held) session.deallocate(each);
            held.clear();
            together.arrive();
        }
    }};
    one.join();
    other.join();
    return static_cast<double>(last - before) / static_cast<double>(first - before);
}

/// Measures each subject in a process of its own.
template <class Subject>
void show_growth() {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        std::printf("| %s | %.3f |\n", Subject::name, growth_of<Subject>());
        std::fflush(nullptr);
        ::_exit(0);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) fail();
}

// ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Runs each thread on a processor of its own. Returns the nanoseconds of all.
template <template <class> class Program, class Subject>
double time_of(Subject& on, int threads, const std::vector<int>& processors, const allot::trace* trace) {
    Program<Subject> program{on, threads, trace};
    std::vector<span> spans(static_cast<std::size_t>(threads));
    {
        std::vector<std::jthread> running;
        for (std::size_t i = 0; i != spans.size(); ++i)
            running.emplace_back([&, i] {
                cpu_set_t only;
                CPU_ZERO(&only);
                CPU_SET(static_cast<std::size_t>(processors[i]), &only);
                ::pthread_setaffinity_np(::pthread_self(), sizeof only, &only);
                typename Subject::session session{on};
                spans[i] = program.run(session, i);
            });
    }
    auto from = spans[0].first, to = spans[0].second;
    for (const auto& each : spans) from = std::min(from, each.first), to = std::max(to, each.second);
    return std::chrono::duration<double, std::nano>(to - from).count();
}

struct result {
    const char* name;
    double one = std::numeric_limits<double>::infinity(), two = one;
};

template <template <class> class Program, class... Subjects>
void compare(const char* title, std::size_t operations, double work_of_two, const std::vector<int>& processors,
             std::size_t rounds, const allot::trace* trace = nullptr) {
    std::tuple<Subjects...> subjects;
    std::vector<result> results{{Subjects::name}...};
    for (std::size_t round = 0; round != rounds; ++round) {
        std::size_t i = 0;
        std::apply(
            [&](auto&... each) {
                ((results[i].one = std::min(results[i].one, time_of<Program>(each, 1, processors, trace)),
                  results[i].two = std::min(results[i].two, time_of<Program>(each, 2, processors, trace)), ++i),
                 ...);
            },
            subjects);
    }
    double one = 0, two = 0;
    for (const result& each : results)
        if (std::string{each.name} == "mimalloc") one = each.one, two = each.two;
    std::printf(
        "\n%s\n\n| | ns per pair, one thread | over mimalloc | ns per pair, two threads | over mimalloc | two "
        "threads over one |\n|---|--:|--:|--:|--:|--:|\n",
        title);
    const auto count = static_cast<double>(operations);
    for (const result& each : results)
        std::printf("| %s | %.1f | %.2f | %.1f | %.2f | %.2f |\n", each.name, each.one / count, each.one / one,
                    each.two / count, each.two / two, work_of_two * each.one / each.two);
    std::fflush(stdout);
}

template <class... Subjects>
void compare_all(const std::vector<int>& processors, const std::vector<std::string>& traces) {
    std::printf(
        "\nmemory after a thread handed 32 MiB of blocks to another one 20 times, over that after its first "
        "allocation\n\n| | growth |\n|---|--:|\n");
    (show_growth<Subjects>(), ...);
    compare<own_blocks, Subjects...>("1,000 blocks of 8 to 1,000 bytes held by each thread", larson<glibc>::operations,
                                     2, processors, 60);
    compare<larson, Subjects...>("larson: the same, and the threads exchange their blocks", larson<glibc>::operations,
                                 2, processors, 60);
    compare<xmalloc, Subjects...>("xmalloc: one thread allocates, the other one frees", xmalloc<glibc>::operations, 1,
                                  processors, 60);
    for (const std::string& each : traces) {
        allot::trace trace = benchmarks::trace_of(each).trace;
        std::vector<bool> live(trace.slots);
        std::size_t pairs = 0;
        for (const auto& one : trace.operations) {
            if (one.action == allot::trace_action::reset) continue;
            live[one.slot] = one.action == allot::trace_action::allocate;
            pairs += live[one.slot];
        }
        std::vector<allot::trace_operation> rest;
        for (std::uint32_t slot = 0; slot != trace.slots; ++slot)
            if (live[slot]) rest.push_back({.slot = slot, .action = allot::trace_action::deallocate});
        trace.operations.insert(trace.operations.end(), rest.begin(), rest.end());
        compare<replayed, Subjects...>(each.c_str(), pairs * replayed<glibc>::times, 2, processors, 30, &trace);
    }
}

}  // namespace

int main(int argc, char** argv) {
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
    compare_all<per_thread, thread_local_caches, per_thread_over_shards, synchronized, glibc
#ifdef ALLOT_MIMALLOC
                ,
                mimalloc
#endif
#ifdef ALLOT_JEMALLOC
                ,
                jemalloc
#endif
                >(processors, {argv + 1, argv + argc});
}
