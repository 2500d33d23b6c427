// Programs for `ordered` on simulated queues of a driver. Their kernels run late, in an order that the test selects:
// one writes a pattern to its block, and later ones check it. A block whose bytes are reused too early shows a wrong
// pattern.
#pragma once

#include <allot/compose/ordered.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <random>
#include <vector>

namespace tests {

/// A timeline that lost its waits, to show that the checks notice it.
template <class Timeline>
struct without_waits : Timeline {
    using queue_type = typename Timeline::queue_type;
    using point_type = typename Timeline::point_type;
    using error_type = typename Timeline::error_type;

    explicit without_waits(Timeline of) : Timeline{std::move(of)} {}
    error_type wait(queue_type, const point_type&) noexcept { return {}; }
    error_type barrier(queue_type) noexcept { return {}; }
};

/// Counts of a program.
struct late_patterns {
    unsigned wrong = 0;    // kernels that found other bytes than those of their block
    unsigned checked = 0;  // kernels that looked
    unsigned served = 0;   // blocks
    unsigned refused = 0;  // requests without a block
};

/// Plays random operations on `memory`. The driver has the functions
///
///     count()                         number of queues
///     queue(i)                        the driver's handle
///     launch(i, block, kernel, first) submits a kernel: it is called with a pointer to the bytes of the block. `first` is
///                                     true for the first kernel of a block
///     order(from, to)                 makes later work of a queue start after all work of another one so far
///     step(random)                    executes some pending work
///     finish()                        executes all pending work
///     disturb(random)                 may make the next call of the driver fail
template <class Memory, class Driver>
late_patterns play_late_patterns(Memory& memory, Driver& driver, unsigned seed, unsigned operations) {
    struct held_block {
        typename Memory::block_type block;
        unsigned queue;
        unsigned char value;
    };
    late_patterns sum;
    std::atomic<unsigned> wrong = 0, checked = 0;  // kernels may run on threads
    std::mt19937 random{seed};
    std::vector<allot::queue_id> ids;
    for (unsigned i = 0; i != driver.count(); ++i) ids.push_back(memory.attach(driver.queue(i)));
    std::vector<held_block> live;
    unsigned char values = 0;
    const auto check = [&](const held_block& one, unsigned queue) {
        driver.launch(
            queue, one.block,
            [&wrong, &checked, size = one.block.size, value = one.value](const std::byte* bytes) {
                ++checked;
                wrong += !std::all_of(bytes, bytes + size, [=](std::byte each) { return each == std::byte{value}; });
            },
            false);
    };
    for (unsigned i = 0; i != operations; ++i) {
        driver.disturb(random);
        const auto queue = static_cast<unsigned>(random() % driver.count());
        const auto other = static_cast<unsigned>(random() % driver.count());
        const std::size_t chosen = live.empty() ? 0 : random() % live.size();
        switch (random() % 9) {
            case 0:
            case 1:
            case 2: {
                const auto given = memory.allocate({1 + random() % 1500, 64}, ids[queue]);
                if (!given) {
                    ++sum.refused;
                    break;
                }
                ++sum.served;
                live.push_back({given, queue, ++values});
                driver.launch(
                    queue, given,
                    [size = given.size, value = values](std::byte* bytes) {
                        std::fill_n(bytes, size, std::byte{value});
                    },
                    true);
                break;
            }
            case 3:
            case 4: {
                if (live.empty()) break;
                const held_block one = live[chosen];
                check(one, one.queue);
                memory.deallocate(one.block, ids[one.queue]);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(chosen));
                break;
            }
            case 5: {  // a block of one queue that another one reads, too
                if (live.empty()) break;
                const held_block one = live[chosen];
                driver.order(one.queue, other);
                check(one, other);
                check(one, one.queue);
                if (i % 2 == 0) {
                    memory.deallocate(one.block, {ids[one.queue], ids[other]});
                } else {
                    memory.used_on(one.block, ids[other]);
                    memory.deallocate(one.block, ids[one.queue]);
                }
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(chosen));
                break;
            }
            case 6: {  // a block without a kernel: its queue may wait for another one all the same
                const auto given = memory.allocate({1 + random() % 1500, 64}, ids[queue]);
                if (given) memory.deallocate(given, ids[queue]);
                break;
            }
            default: driver.step(random); break;
        }
    }
    for (const held_block& one : live) {
        check(one, one.queue);
        memory.deallocate(one.block, ids[one.queue]);
    }
    for (const allot::queue_id each : ids) static_cast<void>(memory.detach(each));
    driver.finish();
    sum.wrong = wrong;
    sum.checked = checked;
    return sum;
}

/// Checks that no kernel of many programs finds wrong bytes. `run(seed)` plays one.
template <class Run>
void keeps_patterns(unsigned programs, Run&& run) {
    late_patterns sum;
    for (unsigned seed = 0; seed != programs; ++seed) {
        const late_patterns one = run(seed);
        CAPTURE(seed);
        CHECK(one.wrong == 0);
        sum.checked += one.checked;
        sum.served += one.served;
    }
    CHECK(sum.served > programs);
    CHECK(sum.checked >= sum.served);
}
/// Returns the number of wrong patterns of many programs.
template <class Run>
unsigned wrong_patterns(unsigned programs, Run&& run) {
    unsigned wrong = 0;
    for (unsigned seed = 0; seed != programs; ++seed) wrong += run(seed).wrong;
    return wrong;
}

}  // namespace tests
