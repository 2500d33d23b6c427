// SPDX-License-Identifier: BSL-1.0
// ordered_refusals: the arguments that `ordered` refuses, each with a sentence.
//
// Internal. Compile time only.
#pragma once

#include <allot/compose/detail/ordered_arena.hpp>
#include <allot/compose/detail/queue_clock.hpp>
#include <allot/compose/queue_id.hpp>

#include <concepts>
#include <type_traits>

namespace allot {
inline namespace v1 {
namespace detail {

/// Stands for a missing second argument of `ordered`.
struct no_timeline {};

/// Whether arguments are not a timeline and those of the arena of an `ordered`.
template <class Ordered, class Timeline, class First, class... Rest>
concept not_for_ordered =
    !std::same_as<std::remove_cvref_t<First>, Ordered> &&
    !(std::convertible_to<First, Timeline> && std::constructible_from<typename Ordered::arena_type, Rest...>);

/// A driver's handle or a number, instead of the result of `attach`.
template <class Type, class Timeline>
concept bare_queue =
    !std::convertible_to<Type, queue_id> && !std::same_as<std::remove_cvref_t<Type>, typename Timeline::point_type> &&
    (std::convertible_to<Type, typename Timeline::queue_type> || std::integral<std::remove_cvref_t<Type>>);

/// Calls of an `ordered` that do not compile.
template <class Arena, class Timeline, ordered_options Options>
class ordered_refusals {
    static_assert(allot::timeline<Timeline>,
                  "allot: the second argument of ordered is a timeline, such as cuda::events, opencl::events or "
                  "vulkan::timeline_semaphores: core/timeline.hpp lists its functions");
    static_assert(Options.queues >= 1 && Options.queues <= 30, "allot: ordered_options::queues must be 1 to 30");
    static_assert(Options.points >= 1, "allot: ordered_options::points must be at least 1");
    static_assert(Options.external >= 1, "allot: ordered_options::external must be at least 1");
    using native_queue = typename Timeline::queue_type;
    using block_type = typename ordered_arena<Arena, queue_clock<Timeline, Options>::columns>::type::block_type;

protected:
    static no_timeline& refused();  // not defined, because its callers do not compile

public:
    template <class Queue>
        requires(std::is_pointer_v<native_queue> && std::convertible_to<Queue*, native_queue>)
    queue_id attach(Queue&) noexcept {
        static_assert(!sizeof(Queue), "allot: attach takes a pointer to the queue: attach(&queue)");
        return {};
    }
    block_type allocate(layout) noexcept {
        static_assert(!sizeof(Arena),
                      "allot: ordered allocates for a queue, the result of attach, or for the host: "
                      "allocate(layout, queue), allocate(layout, memory.host), or use on_queue{memory, queue}");
        return {};
    }
    template <bare_queue<Timeline> Queue, class... More>
    block_type allocate(layout, Queue&&, More&&...) noexcept {
        static_assert(!sizeof(Queue), "allot: the queue of a call of ordered is the result of attach, or its `host`");
        return {};
    }
    template <class Queue>
        requires(Options.waits == wait_policy::hand_out && std::convertible_to<Queue, queue_id>)
    block_type allocate(layout, Queue&&) noexcept {
        static_assert(!sizeof(Arena),
                      "allot: with wait_policy::hand_out, a request has a function that takes the points to wait for: "
                      "allocate(layout, queue, wait_for)");
        return {};
    }
    block_type allocate(layout, queue_id, wait_policy) noexcept {
        static_assert(!sizeof(Arena),
                      "allot: the wait policy is an option of the type, not an argument of a call: "
                      "ordered<Arena, Timeline, ordered_options{.waits = wait_policy::never}>");
        return {};
    }
    void deallocate(block_type) noexcept {
        static_assert(!sizeof(Arena),
                      "allot: ordered frees a block after the work of a queue, the result of attach, or at once: "
                      "deallocate(block, queue), deallocate(block, memory.host), or use on_queue{memory, queue}");
    }
    template <bare_queue<Timeline> Queue>
    void deallocate(block_type, Queue&&) noexcept {
        static_assert(!sizeof(Arena), "allot: the queue of a call of ordered is the result of attach, or its `host`");
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
