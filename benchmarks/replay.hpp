// SPDX-License-Identifier: BSL-1.0
// Replays a trace on an allocator: in a loop to time or count, under a check, and in the smallest sufficient memory.
//
// An allocator under test is a subject, a class with these members:
//
//     block                                a type: the handle to deallocate a block with
//     name, group, honours                 texts and group for the tables; `honours` is the supported alignment
//     Subject(bytes, trace)                constructs an empty subject, with `bytes` of memory if it is bounded
//     allocate(size, align, block)         returns false if it fails
//     deallocate(block, operation)
//     position(block)                      returns the offset or address of a block
//     bounded                              whether it uses only the given bytes
//     in_memory                            whether blocks are memory; the check then writes to them
//     serves(trace)                        returns whether it can replay the trace
//     type()                               optional: the C++ type as a text, for the advice
#pragma once

#include <allot/inspect/trace.hpp>

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <type_traits>

namespace benchmarks {

/// Defines `type` as the text of a type, which has to be the type under test.
#define ALLOT_TYPE_TEXT(tested, ...)                    \
    static_assert(std::is_same_v<tested, __VA_ARGS__>); \
    static std::string type() { return #__VA_ARGS__; }

/// Each subject is compared with the first of its group.
enum class subject_group { nothing, bump, pool, pool_beside, best_fit, best_fit_beside };
inline constexpr const char* group_titles[] = {
    "the loop alone", "bump", "pool, in memory", "pool, offsets only", "general, in memory", "general, offsets only"};

struct workload {
    std::string name;
    std::size_t events = 0;  // operations of the trace
    bool drops = false;      // whether the trace resets
    std::uint64_t size = 0;  // size of every block; 0 if sizes differ
    allot::trace trace{};
};

/// Returns the trace with deallocations of all live blocks appended, so that it can be replayed repeatedly.
inline workload closed(std::string name, allot::trace of) {
    workload made{.name = std::move(name), .events = of.operations.size(), .size = of.largest};
    std::map<std::uint32_t, allot::trace_operation> live;
    for (const allot::trace_operation& each : of.operations) {
        if (each.action == allot::trace_action::allocate) live[each.slot] = each;
        if (each.action == allot::trace_action::deallocate) live.erase(each.slot);
        if (each.action == allot::trace_action::reset) made.drops = true;
        else if (each.size != of.largest) made.size = 0;
    }
    for (auto [slot, each] : live) {
        each.action = allot::trace_action::deallocate;
        of.operations.push_back(each);
    }
    of.operations.push_back({.action = allot::trace_action::reset});
    made.trace = std::move(of);
    return made;
}

/// Memory for the subjects that are in memory, used by one subject at a time. They only replay traces that fit.
inline constexpr std::uint64_t host_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t most_in_memory = host_bytes / 8;
inline std::byte* host_memory() {
    static void* const memory =
        ::mmap(nullptr, host_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    return static_cast<std::byte*>(memory);
}

/// Base class of subjects whose blocks are pointers.
struct pointer_subject {
    using block = void*;
    static constexpr bool in_memory = true;
    static std::uint64_t position(block held) { return reinterpret_cast<std::uintptr_t>(held); }
};
/// Base class of general allocators that take their memory from the system.
struct heap_subject : pointer_subject {
    static constexpr subject_group group = subject_group::best_fit;
    static constexpr const char* honours = "as asked";
    static constexpr bool bounded = false;
    static bool serves(const workload& of) { return of.trace.peak <= most_in_memory; }
};

/// Base class of memory resources. Calls are virtual, as in programs.
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
        asm volatile("" : "+r"(through_));  // hides the dynamic type from the optimizer
    }

private:
    Interface* through_ = nullptr;
};

/// Returns false if an allocation fails. Not inlined, because callgrind counts the instructions inside.
template <class Subject>
[[gnu::noinline]] bool replay(Subject& on, const allot::trace& of, typename Subject::block* blocks) {
    for (const allot::trace_operation& each : of.operations) {
        if (each.action == allot::trace_action::allocate) {
            if (!on.allocate(each.size, std::size_t{1} << each.align_log2, blocks[each.slot])) [[unlikely]]
                return false;
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
    bool complete = false;       // no allocation failed
    std::size_t overlaps = 0;    // blocks that overlap another, or whose bytes changed while they were live
    std::size_t misaligned = 0;  // misaligned blocks
};

/// Replays a trace and checks every block against an ordered map of live blocks. Fills blocks in memory with a pattern.
template <class Subject>
verdict check(const workload& of, std::uint64_t bytes) {
    std::vector<typename Subject::block> blocks(of.trace.slots);
    std::map<std::uint64_t, std::uint64_t> live;  // end of each live block, by its beginning
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
            if constexpr (Subject::in_memory)
                std::memset(reinterpret_cast<void*>(begin), tag, static_cast<std::size_t>(each.size));
        } else if (each.action == allot::trace_action::deallocate) {
            const std::uint64_t begin = begins[each.slot];
            if constexpr (Subject::in_memory) {
                const auto* const held = reinterpret_cast<const unsigned char*>(begin);
                if (!std::all_of(held, held + each.size, [&](unsigned char byte) { return byte == tag; }))
                    ++seen.overlaps;
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

/// Returns the maximum, over samples, of the bytes of a subject's side tables: the object itself and its heap memory.
template <class Subject>
std::size_t record_bytes(const workload& of, std::uint64_t bytes) {
    const auto taken = [] {
        const auto now = ::mallinfo2();
        return now.uordblks + now.hblkhd;
    };
    const std::size_t looks = 256;
    std::size_t most = 0;
    // A new thread has no freed memory of earlier work, which would count as taken.
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

/// Returns the smallest memory that suffices for the trace, divided by its peak of live bytes, to within a thousandth
/// by bisection. Returns 0 if 16 times the peak does not suffice.
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
