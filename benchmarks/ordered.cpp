// SPDX-License-Identifier: BSL-1.0
// The memory that several queues need: the smallest memory that serves a trace whose blocks belong to one, two or four
// queues, beside separate memory for each queue.
//
//     trace, in runs of 32 requests     queue 0 │ queue 1 │ queue 0 │ queue 1 …     every eighth block is used on both
//
// Two tables. In the first one, `less_memory` is set and no point ever passes: a queue knows another one only by a
// wait. In the second one, the options are the defaults, and a point passes after 32 requests.
#include "trace_files.hpp"

#include <allot/compose/ordered.hpp>
#include <allot/host/buffer.hpp>

#include <cstdio>
#include <vector>

namespace {

constexpr unsigned most_queues = 4;
constexpr std::size_t run_length = 32, shared_every = 8;

/// Queues whose points never pass by themselves.
struct late_queues {
    using queue_type = unsigned;
    using error_type = int;
    struct point_type {
        std::size_t after = 0;
    };
    std::size_t *records, *waits, *now;
    std::size_t late;
    int record(unsigned, point_type& point) const noexcept { return point.after = *now, ++*records, 0; }
    int wait(unsigned, const point_type&) const noexcept { return ++*waits, 0; }
    static int barrier(unsigned) noexcept { return 0; }
    static int wait_on_host(const point_type&) noexcept { return 0; }
    static bool in_order(unsigned) noexcept { return true; }
    [[nodiscard]] allot::point_state state(const point_type& point) const noexcept {
        return *now - point.after > late ? allot::point_state::passed : allot::point_state::pending;
    }
    static void release(point_type&) noexcept {}
};

using offsets =
    allot::arena<allot::host::buffer,
                 allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .granule = 16}>>;
constexpr allot::ordered_options saving{.queues = most_queues, .less_memory = true}, usual{.queues = most_queues};

struct outcome {
    bool served = true;
    std::size_t records = 0, waits = 0, requests = 0;
};

/// Replays the blocks of the queues from `first` to `last` in one memory. Bytes are never accessed. Points pass after
/// `late` requests.
template <allot::ordered_options Options>
outcome replay(const allot::trace& from, std::size_t bytes, unsigned queues, unsigned first, unsigned last,
               std::size_t late) {
    using memory_type = allot::ordered<offsets, late_queues, Options>;
    outcome answer;
    std::size_t request = 0;
    memory_type memory{late_queues{&answer.records, &answer.waits, &request, late},
                       allot::host::buffer{reinterpret_cast<void*>(std::uintptr_t{4096}), bytes}};
    allot::queue_id ids[most_queues];
    for (unsigned i = 0; i != queues; ++i) ids[i] = memory.attach(i);
    struct one {
        typename memory_type::block_type held;
        unsigned queue = most_queues;
    };
    std::vector<one> live(from.slots);
    for (const allot::trace_operation& each : from.operations) {
        one& slot = live[each.slot];
        if (each.action == allot::trace_action::allocate) {
            slot = {{}, static_cast<unsigned>(request / run_length % queues)};
            if (slot.queue < first || slot.queue > last) {
                ++request;
                continue;
            }
            slot.held = memory.allocate({each.size, each.align()}, ids[slot.queue]);
            if (!slot.held) return answer.served = false, answer;
            if (queues > 1 && request % shared_every == 0) memory.used_on(slot.held, ids[(slot.queue + 1) % queues]);
            ++request;
            ++answer.requests;
        } else if (each.action == allot::trace_action::deallocate && slot.held) {
            memory.deallocate(std::exchange(slot.held, {}), ids[slot.queue]);
        }
    }
    return answer;
}

/// Returns the smallest memory, to one part in a thousand, that serves the blocks of these queues.
template <allot::ordered_options Options>
std::size_t smallest(const allot::trace& from, unsigned queues, unsigned first, unsigned last, std::size_t late) {
    std::size_t low = 0, high = 16 * from.peak;
    while (high - low > from.peak / 1000 + 16) {
        const std::size_t middle = low + (high - low) / 2;
        (replay<Options>(from, middle, queues, first, last, late).served ? high : low) = middle;
    }
    return high;
}

double share(std::size_t part, std::size_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

template <allot::ordered_options Options>
void print_table(const char* title, const std::vector<std::string>& names, std::size_t late) {
    std::printf("\n%s\n\n| %-14s | %12s | %7s | %7s | %9s | %10s | %18s | %19s |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
                title, "trace", "one queue, B", "two", "four", "two apart", "four apart", "waits in 1000, two",
                "waits in 1000, four");
    for (const std::string& name : names) {
        const allot::trace from = benchmarks::trace_of(name).trace;
        const std::size_t one = smallest<Options>(from, 1, 0, 0, late);
        std::printf("| %-14s | %12zu", name.c_str() + name.rfind('/') + 1, one);
        std::size_t together[2], apart[2] = {};
        double waits[2];
        for (unsigned at = 0, queues = 2; at != 2; ++at, queues *= 2) {
            together[at] = smallest<Options>(from, queues, 0, queues - 1, late);
            for (unsigned queue = 0; queue != queues; ++queue)
                apart[at] += smallest<Options>(from, queues, queue, queue, late);
            const outcome answer = replay<Options>(from, together[at], queues, 0, queues - 1, late);
            waits[at] = 1000 * share(answer.waits, answer.requests);
        }
        std::printf(" | %6.3fx | %6.3fx | %8.3fx | %9.3fx | %18.2f | %19.2f |\n", share(together[0], one),
                    share(together[1], one), share(apart[0], one), share(apart[1], one), waits[0], waits[1]);
    }
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> names(argv + 1, argv + argc);
    print_table<saving>("smallest memory with less_memory; no point passes", names, std::size_t{1} << 60);
    print_table<usual>("smallest memory with the default options; points pass after 32 requests", names, 32);
} catch (const std::exception& wrong) {
    std::fprintf(stderr, "ordered: %s\n", wrong.what());
    return 1;
}
