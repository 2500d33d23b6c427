// SPDX-License-Identifier: BSL-1.0
// static_memories: the compiler decides which memory each buffer lives in, and where; an arena for each memory follows.
//
//     static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 9216, .live = {1, 3}}};
//     static constexpr allot::plan_memory memories[] = {{.capacity = 4_KiB}, {.capacity = 12_KiB, .cost = 1}};
//     static constexpr allot::memories_problem network{.buffers = {.buffers = buffers}, .memories = memories};
//     static constexpr auto layout = allot::plan_memories<network>();
//     static constexpr auto in_fast = layout.in(0), in_slow = layout.in(1);
//     static allot::arena<allot::host::static_storage<4_KiB>, allot::planned<in_fast>> fast;
//     static allot::arena<allot::host::static_storage<12_KiB>, allot::planned<in_slow>> slow;
//     fast.at<0>(), slow.at<1>()                               // empty in the memory where the buffer does not live
//
// When some buffer finds no room, it does not compile, and `plan_shortfall<N>` in the message says how many more bytes
// of the last memory are enough; or that none are, since the others must hold what may not live in the last. A last
// memory without a capacity is as large as it has to be: `layout.needs.back()`.
//
// Complexity: compile time only; one plan, and some when it does not fit. Compilers limit what they compute in one
// constant expression: clang by -fconstexpr-steps, g++ by -fconstexpr-ops-limit; `effort` reaches the first limit soon.
#pragma once

#include <allot/plan/memories.hpp>
#include <allot/plan/planned.hpp>

namespace allot {
inline namespace v1 {

/// What lives in one memory, for an arena there; the others' places have no bytes.
template <std::size_t Count>
struct static_memory_layout {
    std::array<plan_place, Count> places{};
    std::uint64_t peak = 0;
    std::uint64_t align = 1;
};

/// A plan for several memories that the compiler made.
template <std::size_t Count, std::size_t Memories>
struct static_memories_plan : memories_summary {
    std::array<memory_place, Count> places{};
    std::array<memory_needs, Memories> needs{};

    /// Precondition: there is such a memory.
    [[nodiscard]] constexpr static_memory_layout<Count> in(std::size_t memory) const noexcept {
        static_memory_layout<Count> here;
        for (std::size_t i = 0; i != Count; ++i)
            if (places[i].memory == memory) here.places[i] = {places[i].offset, places[i].size};
        here.peak = needs[memory].peak;
        here.align = needs[memory].align;
        return here;
    }
};

/// What a compiler does in its ordinary limits.
inline constexpr memories_options memories_at_compile_time{.effort = 0, .remember = 0};

namespace detail {

template <std::size_t Count, std::size_t Memories>
struct static_memories_answer {
    static_memories_plan<Count, Memories> plan;
    plan_error error;
};
/// With so many bytes more in the last memory.
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
    made.error = summary.error();
    return made;
}

/// The fewest more bytes of the last memory with which there is a plan; `Fails` are too few, and `Fits` suffice when
/// they are not yet 0.
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

/// Plans in a constant expression, for a problem with static storage duration whose arrays have it too. By default it is
/// one simple plan; `Options` with an effort search for a better one.
template <const memories_problem& Problem, memories_options Options = memories_at_compile_time>
[[nodiscard]] consteval auto plan_memories() noexcept {
    constexpr auto made = detail::plan_memories_statically<Problem, Options, 0>();
    static_assert(detail::plan_refused<made.error.reason, made.error.which>::never);
    if constexpr (made.error.reason == plan_refusal::none && made.plan.unplaced != 0) {
        constexpr auto without_end = detail::plan_memories_statically<Problem, Options, ~std::uint64_t{0}>();
        constexpr bool all_fit_alone = without_end.plan.which == Problem.buffers.buffers.size();
        static_assert(
            all_fit_alone,
            "allot: a buffer is allowed in no memory that is large enough for it: allow it in another, or enlarge one");
        static_assert(
            !all_fit_alone || without_end.plan.unplaced == 0,
            "allot: what may not live in the last memory has no room in the others: enlarge them, or plan with effort");
        if constexpr (without_end.plan.unplaced == 0)
            static_assert(plan_shortfall<detail::missing_bytes<Problem, Options>()>::none);
    }
    return made.plan;
}

}  // namespace v1
}  // namespace allot
