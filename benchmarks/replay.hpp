// SPDX-License-Identifier: BSL-1.0
// A trace replayed on an allocator: as a loop to be timed or counted, checked, and in the smallest memory that suffices.
//
// An allocator under test is a subject, a class with
//
//     block                                what it is given back by
//     name, group, honours                 of them a table is made; the alignment that it keeps is also checked
//     Subject(bytes, trace)                empty, with so much memory where it is bounded
//     allocate(size, align, block)         false when it refuses
//     deallocate(block, operation)
//     position(block)                      its offset or address
//     bounded                              whether it lives in the bytes that it was given
//     in_memory                            whether blocks are memory, which the check writes to
//     serves(trace)                        whether it can replay such a trace
#pragma once

#include <allot/inspect/trace.hpp>

#include <malloc.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>

namespace benchmarks {

/// Subjects are compared with the first of their group.
enum class subject_group { nothing, bump, pool, pool_beside, best_fit, best_fit_beside };
inline constexpr const char* group_titles[] = {"the loop alone", "bump", "pool, in memory", "pool, offsets only",
                                               "general, in memory", "general, offsets only"};

struct workload {
    std::string name;
    std::size_t events = 0;  // operations of the trace
    bool drops = false;      // whether everything is dropped at times
    std::uint64_t size = 0;  // of every block, where all have the same
    allot::trace trace{};
};

/// The trace, and at its end everything is given back: it can be replayed again and again.
inline workload closed(std::string name, allot::trace of) {
    workload made{.name = std::move(name), .events = of.operations.size(), .size = of.largest};
    std::map<std::uint32_t, allot::trace_operation> live;
    for (const allot::trace_operation& each : of.operations) {
        if (each.action == allot::trace_action::allocate) live[each.slot] = each;
        if (each.action == allot::trace_action::deallocate) live.erase(each.slot);
        if (each.action == allot::trace_action::reset)
            made.drops = true;
        else if (each.size != of.largest)
            made.size = 0;
    }
    for (auto [slot, each] : live) {
        each.action = allot::trace_action::deallocate;
        of.operations.push_back(each);
    }
    of.operations.push_back({.action = allot::trace_action::reset});
    made.trace = std::move(of);
    return made;
}

/// Memory for the subjects that live in it, one after the other. Those are only asked for what fits.
inline constexpr std::uint64_t host_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t most_in_memory = host_bytes / 8;
inline std::byte* host_memory() {
    static void* const memory = ::mmap(nullptr, host_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    return static_cast<std::byte*>(memory);
}

/// What many subjects have in common: blocks are pointers.
struct pointer_subject {
    using block = void*;
    static constexpr bool in_memory = true;
    static std::uint64_t position(block held) { return reinterpret_cast<std::uintptr_t>(held); }
};
/// A general one that takes its memory from the system.
struct heap_subject : pointer_subject {
    static constexpr subject_group group = subject_group::best_fit;
    static constexpr const char* honours = "as asked";
    static constexpr bool bounded = false;
    static bool serves(const workload& of) { return of.trace.peak <= most_in_memory; }
};

/// A memory resource: called through its base class, as its users do.
template <class Interface>
struct resource_subject : heap_subject {
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = through_->allocate(size, align);
        return true;
    }
    void deallocate(block held, const allot::trace_operation& of) { through_->deallocate(held, of.size, of.align()); }

protected:
    void call(Interface& resource) {
        through_ = &resource;
        asm volatile("" : "+r"(through_));  // the compiler does not know to what it points
    }

private:
    Interface* through_ = nullptr;
};

/// False when the subject refuses. Not inlined: callgrind counts what happens inside.
template <class Subject>
[[gnu::noinline]] bool replay(Subject& on, const allot::trace& of, typename Subject::block* blocks) {
    for (const allot::trace_operation& each : of.operations) {
        if (each.action == allot::trace_action::allocate) {
            if (!on.allocate(each.size, std::size_t{1} << each.align_log2, blocks[each.slot])) [[unlikely]] return false;
        } else if (each.action == allot::trace_action::deallocate) {
            on.deallocate(blocks[each.slot], each);
        } else if constexpr (requires { on.reset(); }) {
            on.reset();
        }
    }
    return true;
}

template <class Subject>
bool fits(const workload& of, std::uint64_t bytes) {
    std::vector<typename Subject::block> blocks(of.trace.slots);
    Subject on{bytes, of.trace};
    return replay(on, of.trace, blocks.data());
}

struct verdict {
    bool complete = false;       // nothing was refused
    std::size_t overlaps = 0;    // blocks on bytes of another, or whose bytes changed while they lived
    std::size_t misaligned = 0;  // blocks
};

/// Replays and looks at every block. Live blocks are kept in an ordered map; those in memory are also filled with a byte.
template <class Subject>
verdict check(const workload& of, std::uint64_t bytes) {
    std::vector<typename Subject::block> blocks(of.trace.slots);
    std::map<std::uint64_t, std::uint64_t> live;  // ends by beginning
    std::vector<std::uint64_t> begins(of.trace.slots);
    verdict seen;
    Subject on{bytes, of.trace};
    for (const allot::trace_operation& each : of.trace.operations) {
        auto& block = blocks[each.slot];
        const int tag = static_cast<int>(each.slot % 251);
        if (each.action == allot::trace_action::allocate) {
            if (!on.allocate(each.size, std::size_t{1} << each.align_log2, block)) return seen;
            const std::uint64_t begin = begins[each.slot] = Subject::position(block);
            const auto [at, fresh] = live.emplace(begin, begin + each.size);
            if (!fresh || (std::next(at) != live.end() && std::next(at)->first < begin + each.size) ||
                (at != live.begin() && std::prev(at)->second > begin))
                ++seen.overlaps;
            if (begin % each.align() != 0) ++seen.misaligned;
            if constexpr (Subject::in_memory) std::memset(reinterpret_cast<void*>(begin), tag, static_cast<std::size_t>(each.size));
        } else if (each.action == allot::trace_action::deallocate) {
            const std::uint64_t begin = begins[each.slot];
            if constexpr (Subject::in_memory) {
                const auto* const held = reinterpret_cast<const unsigned char*>(begin);
                if (!std::all_of(held, held + each.size, [&](unsigned char byte) { return byte == tag; })) ++seen.overlaps;
            }
            live.erase(begin);
            on.deallocate(block, each);
        } else if constexpr (requires { on.reset(); }) {
            on.reset();
        }
    }
    seen.complete = true;
    return seen;
}

/// The most bytes that a subject with records beside the memory takes, of those looked at: its own, and those from the heap.
template <class Subject>
std::size_t record_bytes(const workload& of, std::uint64_t bytes) {
    const auto taken = [] {
        const auto now = ::mallinfo2();
        return now.uordblks + now.hblkhd;
    };
    const std::size_t looks = 256;
    std::size_t most = 0;
    // A thread of its own keeps no freed memory from before, which counts as taken.
    std::thread{[&] {
        std::vector<typename Subject::block> blocks(of.trace.slots);
        const std::size_t before = taken();
        Subject on{bytes, of.trace};
        std::size_t at = 0;
        for (const allot::trace_operation& each : of.trace.operations) {
            if (each.action == allot::trace_action::allocate) {
                if (!on.allocate(each.size, each.align(), blocks[each.slot])) break;
            } else if (each.action == allot::trace_action::deallocate) {
                on.deallocate(blocks[each.slot], each);
            }
            if (at++ % (of.trace.operations.size() / looks + 1) == 0) most = std::max(most, taken() - before);
        }
        most += sizeof on;
    }}.join();
    return most;
}

/// The smallest memory, within a thousandth, in which the trace can be replayed, over the most bytes that live; by
/// bisection. 0 when sixteen times as much does not suffice.
template <class Subject>
double extent_over_peak(const workload& of) {
    const std::uint64_t unit = std::max<std::uint64_t>(of.trace.most_align, 256), peak = of.trace.peak;
    std::uint64_t fails = peak / unit, enough = fails + fails / 4 + 1;
    for (; !fits<Subject>(of, enough * unit); enough += enough / 2) {
        if (enough * unit > 16 * peak + 4096 || (Subject::in_memory && enough * unit * 3 / 2 > host_bytes)) return 0;
        fails = enough;
    }
    while (enough - fails > enough / 1000 + 1) {
        const std::uint64_t middle = fails + (enough - fails) / 2;
        (fits<Subject>(of, middle * unit) ? enough : fails) = middle;
    }
    return static_cast<double>(enough * unit) / static_cast<double>(peak);
}

}  // namespace benchmarks
