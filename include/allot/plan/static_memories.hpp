// SPDX-License-Identifier: BSL-1.0
// static_memories: plans several memories in a constant expression; an arena for each memory follows the plan.
//
//     static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 9216, .live = {1, 3}}};
//     static constexpr allot::plan_memory memories[] = {{.capacity = 4_KiB}, {.capacity = 12_KiB, .cost = 1}};
//     static constexpr allot::memories_problem network{.buffers = {.buffers = buffers}, .memories = memories};
//     static constexpr auto layout = allot::plan_memories<network>();
//     static constexpr auto in_fast = layout.in(0), in_slow = layout.in(1);
//     static allot::arena<allot::host::static_storage<4_KiB>, allot::planned<in_fast>> fast;
//     static allot::arena<allot::host::static_storage<12_KiB>, allot::planned<in_slow>> slow;
//     fast.at<0>(), slow.at<1>()                               // empty if the buffer lives in another memory
//
// A plan with unplaced buffers does not compile. The template argument of `plan_shortfall<N>` in the compiler's message
// is the number of bytes by which the last memory must grow. Another message appears if no growth of the last memory
// helps, because buffers that it may not hold exceed the other memories. A last memory without a capacity is as large
// as necessary: `layout.needs.back()`.
//
// When to use: firmware with several memories and buffers that are known when it is compiled.
// When not to use: buffers are known only at run time (memories.hpp), or there is one memory (plan.hpp).
//
// Complexity: compile time only: one plan, and several if it does not fit. Compilers limit the work of one constant
// expression: clang with -fconstexpr-steps, g++ with -fconstexpr-ops-limit. A large `effort` exceeds the first limit
// soon.
// Memory: none at run time, except for a plan that the program itself reads.
// Thread safety: constants.
#pragma once

#include <allot/plan/memories.hpp>
#include <allot/plan/planned.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {

/// The part of a plan that concerns one memory, for a planned arena in it.
template <std::size_t Count>
struct static_memory_layout {
    std::array<plan_place, Count> places{};  ///< Place of each buffer. Buffers of other memories have the size 0.
    std::uint64_t peak = 0;                  ///< Bytes that the memory needs.
    std::uint64_t align = 1;                 ///< Required alignment of the memory's base, in bytes.
};

/// A plan for several memories that is computed in a constant expression.
template <std::size_t Count, std::size_t Memories>
struct static_memories_plan : memories_summary {
    std::array<memory_place, Count> places{};    ///< Place of each buffer.
    std::array<memory_needs, Memories> needs{};  ///< Requirements on each memory.

    /// Returns the layout of one memory, which `planned` accepts. Precondition: `memory < Memories`.
    [[nodiscard]] constexpr static_memory_layout<Count> in(std::size_t memory) const noexcept {
        static_memory_layout<Count> here;
        for (std::size_t i = 0; i != Count; ++i)
            if (places[i].memory == memory) here.places[i] = {places[i].offset, places[i].size};
        here.peak = needs[memory].peak;
        here.align = needs[memory].align;
        return here;
    }
};

namespace detail {

template <std::size_t Count, std::size_t Memories>
struct static_memories_answer {
    static_memories_plan<Count, Memories> plan;
    plan_error error;
};
/// Returns a plan for a last memory with `More` additional bytes.
template <const memories_problem& Problem, memories_options Options, std::uint64_t More>
[[nodiscard]] consteval auto plan_memories_statically() noexcept {
    constexpr std::size_t count = Problem.memories.size();
    static_memories_answer<Problem.buffers.buffers.size(), count> made;
    std::array<plan_memory, count> memories{};
    for (std::size_t m = 0; m != count; ++m) memories[m] = Problem.memories[m];
    if constexpr (count != 0) {
        constexpr std::uint64_t most = plan_memory{}.capacity;
        memories.back().capacity += std::min(More, most - memories.back().capacity);
    }
    memories_problem given = Problem;
    given.memories = memories;
    plan_storage<space_of_memories(Problem, Options)> workspace;
    const auto summary = plan_memories_into(given, made.plan.places, made.plan.needs, workspace, Options);
    if (summary) static_cast<memories_summary&>(made.plan) = *summary;
    else made.error = summary.error();
    return made;
}

/// Returns the least number of additional bytes of the last memory for which the planner succeeds. `Fails` bytes are
/// too few. `Fits` bytes suffice; 0 means that no sufficient number is known yet.
template <const memories_problem& Problem, memories_options Options, std::uint64_t Fails = 0, std::uint64_t Fits = 0>
[[nodiscard]] consteval std::uint64_t missing_bytes() noexcept {
    if constexpr (Fits - Fails == 1) {
        return Fits;
    } else {
        constexpr std::uint64_t next = Fits == 0 ? 2 * Fails + 1 : Fails + (Fits - Fails) / 2;
        if constexpr (plan_memories_statically<Problem, Options, next>().plan.unplaced == 0)
            return missing_bytes<Problem, Options, Fails, next>();
        else return missing_bytes<Problem, Options, next, Fits>();
    }
}

}  // namespace detail

/// Returns a plan that is computed in a constant expression.
///
/// `Problem` and all its arrays have static storage duration. The default is one simple plan. `Options` with an effort
/// search for a better one. A plan with unplaced buffers does not compile.
template <const memories_problem& Problem, memories_options Options = memories_at_compile_time>
[[nodiscard]] consteval auto plan_memories() noexcept {
    constexpr auto made = detail::plan_memories_statically<Problem, Options, 0>();
    static_assert(detail::plan_refused<made.error.reason, made.error.which>::never);
    if constexpr (made.error.reason == plan_refusal::none && made.plan.unplaced != 0) {
        constexpr auto without_end = detail::plan_memories_statically<Problem, Options, ~std::uint64_t{0}>();
        constexpr bool all_fit_alone = without_end.plan.which == Problem.buffers.buffers.size();
        static_assert(all_fit_alone,
                      "allot: a buffer fits none of its allowed memories: allow another memory, or enlarge one");
        static_assert(
            !all_fit_alone || without_end.plan.unplaced == 0,
            "allot: buffers that the last memory may not hold exceed the others: enlarge these, or plan with effort");
        if constexpr (without_end.plan.unplaced == 0)
            static_assert(plan_shortfall<detail::missing_bytes<Problem, Options>()>::none);
    }
    return made.plan;
}

}  // namespace v1
}  // namespace allot
