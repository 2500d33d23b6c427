// SPDX-License-Identifier: BSL-1.0
// Counts instructions one operation at a time, between two client requests to valgrind's callgrind.
//
//     start counting ─► operation, called through a pointer ─► dump "case/allocate"          once for every operation
//
// The count includes the call. An empty function is counted as "empty/case/allocate"; the difference is the cost of the
// operation.
#pragma once

#include <allot/arena/arena.hpp>
#include <allot/host/static_storage.hpp>

#include <valgrind/callgrind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

struct instructions_case {
    std::string name;
    void (*run)(const std::string&);
};

/// Each group of cases has its own file, because inlining depends on the other functions of a file.
std::vector<instructions_case> bump_cases(), pool_cases(), best_fit_cases(), plan_cases(), adapt_cases(), boost_cases(),
    allocate_at_cases(), counted_cases(), deferred_cases(), guided_cases(), ordered_cases(), regions_cases(),
    tensor_cases(), threads_cases();

namespace counting {

using namespace allot::literals;

inline constexpr std::size_t capacity = 256_KiB;
inline constexpr std::size_t slot = 64, slots = capacity / slot;
inline constexpr std::size_t any_size[] = {16, 24, 40, 64, 8, 100, 32, 48}, one_size[] = {slot},
                             up_to_slot[] = {16, 24, 40, 64, 8, 56, 32, 48};
using storage = allot::host::static_storage<capacity>;
alignas(4096) inline std::byte bytes[capacity];

/// The result of allocate and argument of deallocate: a pointer (or an offset), and the metadata if there is any.
template <class Ticket>
struct block {
    void* pointer;
    Ticket metadata;
};

template <class Block>
struct operations {
    Block (*allocate)(void*, std::size_t);
    void (*deallocate)(void*, Block, std::size_t);
};

template <class Block>
inline constexpr operations<Block> empty{[](void*, std::size_t) {
                                             if constexpr (std::same_as<Block, void*>) {
                                                 void* any;
                                                 asm volatile("" : "=r"(any));
                                                 return any;
                                             } else {
                                                 Block any;
                                                 asm volatile("" : "=r"(any.pointer), "=r"(any.metadata));
                                                 return any;
                                             }
                                         },
                                         [](void*, Block, std::size_t) {}};

/// Returns `function`, hidden from the optimizer, so that it is compiled once and never inlined.
template <class Function>
Function* unknown(Function* function) {
    asm volatile("" : "+r"(function));
    return function;
}

/// Returns the operations of a State.
template <class State>
auto operations_of() {
    using handed = decltype(std::declval<State&>().allocate(slot));
    return operations<handed>{
        unknown(+[](void* state, std::size_t size) { return static_cast<State*>(state)->allocate(size); }),
        unknown(+[](void* state, handed held, std::size_t size) {
            if constexpr (requires(State s) { s.deallocate(held, size); })
                static_cast<State*>(state)->deallocate(held, size);
        })};
}

/// Runs one operation and dumps its count under a name.
template <class Block>
Block count_allocate(const std::string& name, const operations<Block>& operation, void* state, std::size_t size) {
    CALLGRIND_ZERO_STATS;
    const Block given = operation.allocate(state, size);
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    return given;
}
template <class Block>
void count_deallocate(const std::string& name, const operations<Block>& operation, void* state, std::size_t size,
                      Block held) {
    CALLGRIND_ZERO_STATS;
    operation.deallocate(state, held, size);
    CALLGRIND_DUMP_STATS_AT(name.c_str());
}

template <class Block>
void count_empty(const std::string& name, void* state) {
    const Block given = unknown(count_allocate<Block>)("empty/" + name + "/allocate", empty<Block>, state, slot);
    unknown(count_deallocate<Block>)("empty/" + name + "/deallocate", empty<Block>, state, slot, given);
}

/// Pseudorandom numbers, the same on every machine.
struct sequence {
    std::uint64_t state = 1;
    std::size_t below(std::size_t n) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::size_t>(state >> 33) % n;
    }
};

/// Constructs the State of the running case at a fixed address, because costs may depend on the alignment of addresses.
alignas(1_MiB) inline std::byte room[1_MiB];
template <class State>
auto make_state() {
    static_assert(sizeof(State) <= sizeof(room));
    const auto destroy = [](State* state) { state->~State(); };
    return std::unique_ptr<State, decltype(destroy)>{::new (static_cast<void*>(room)) State};
}

/// Counts the first blocks. Then frees and allocates blocks in random order while `Live` blocks stay live.
template <class State, std::size_t Live, const auto& Sizes>
void churn(const std::string& name) {
    constexpr std::size_t first = 64, warm_up = 4 * Live, pairs = 256;
    const auto operation = operations_of<State>();
    using handed = decltype(operation.allocate(nullptr, slot));
    struct held {
        handed block;
        std::size_t size;
    };
    const auto state = make_state<State>();
    count_empty<handed>(name, state.get());
    std::vector<held> all;
    while (all.size() != Live) {
        const std::size_t size = Sizes[all.size() % std::size(Sizes)];
        all.push_back({all.size() < first
                           ? unknown(count_allocate<handed>)(name + "/first", operation, state.get(), size)
                           : operation.allocate(state.get(), size),
                       size});
    }
    sequence random;
    for (std::size_t i = 0; i != warm_up + pairs; ++i) {
        held& out = all[random.below(Live)];
        const std::size_t size = Sizes[random.below(std::size(Sizes))];
        if (i < warm_up) {
            operation.deallocate(state.get(), out.block, out.size);
            out = {operation.allocate(state.get(), size), size};
        } else {
            unknown(count_deallocate<handed>)(name + "/deallocate", operation, state.get(), out.size, out.block);
            out = {unknown(count_allocate<handed>)(name + "/allocate", operation, state.get(), size), size};
        }
    }
}

/// Counts bursts: frees `Burst` blocks in random order and allocates as many, while up to `Live` blocks are live.
template <class State, std::size_t Live, std::size_t Burst>
void churn_in_bursts(const std::string& name) {
    constexpr std::size_t warm_up = 4 * Live, pairs = 256;
    const auto operation = operations_of<State>();
    using handed = decltype(operation.allocate(nullptr, slot));
    const auto state = make_state<State>();
    count_empty<handed>(name, state.get());
    std::vector<handed> all;
    while (all.size() != Live) all.push_back(operation.allocate(state.get(), slot));
    sequence random;
    for (std::size_t i = 0; i < warm_up + pairs; i += Burst) {
        while (all.size() != Live - Burst) {
            std::swap(all[random.below(all.size())], all.back());
            if (i < warm_up) operation.deallocate(state.get(), all.back(), slot);
            else unknown(count_deallocate<handed>)(name + "/deallocate", operation, state.get(), slot, all.back());
            all.pop_back();
        }
        while (all.size() != Live)
            all.push_back(i < warm_up
                              ? operation.allocate(state.get(), slot)
                              : unknown(count_allocate<handed>)(name + "/allocate", operation, state.get(), slot));
    }
}

/// Allocates only.
template <class State>
void frame(const std::string& name) {
    const auto operation = operations_of<State>();
    using handed = decltype(operation.allocate(nullptr, slot));
    const auto state = make_state<State>();
    count_empty<handed>(name, state.get());
    for (std::size_t i = 0; i != 512; ++i)
        unknown(count_allocate<handed>)(name + "/allocate", operation, state.get(), any_size[i % std::size(any_size)]);
}

}  // namespace counting
