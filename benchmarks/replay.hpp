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

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <new>
#include <string>

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
            if constexpr (Subject::in_memory) std::memset(reinterpret_cast<void*>(begin), tag, each.size);
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
