// SPDX-License-Identifier: BSL-1.0
// capture_line: the timeline and the device of the blocks of a `graph_pool`.
//
// Internal. Work of a capture does not run, and its order among queues is not known. Therefore no point of this
// timeline passes, and no queue can wait for one: freed bytes remain with their queue. A region is a block of the
// memory below, for any use.
//
// Complexity: O(1), and that of the memory for regions.
// Thread safety: that of the memory.
#pragma once

#include <allot/compose/indexed_ordered.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Queues that capture.
template <class Queue>
struct capture_line {
    using queue_type = Queue;
    using error_type = int;
    struct point_type {};
    static constexpr error_type not_in_a_capture = 1;

    [[nodiscard]] error_type record(Queue, point_type&) noexcept { return 0; }
    [[nodiscard]] error_type wait(Queue, const point_type&) noexcept { return not_in_a_capture; }
    [[nodiscard]] error_type barrier(Queue) noexcept { return not_in_a_capture; }
    [[nodiscard]] error_type wait_on_host(const point_type&) noexcept { return not_in_a_capture; }
    [[nodiscard]] bool in_order(Queue) const noexcept { return true; }
    [[nodiscard]] point_state state(const point_type&) const noexcept { return point_state::pending; }
    void release(point_type&) noexcept {}
};

/// Device whose regions are blocks of an `indexed_ordered`.
template <class Memory>
class regions_of_memory : public traits_of<typename Memory::ordered_type::arena_type::device_type> {
    using device_type = typename Memory::ordered_type::arena_type::device_type;

public:
    using error = refusal;
    static constexpr std::size_t min_align = device_type::min_align < 256 ? device_type::min_align : 256;
    static constexpr std::size_t granularity = 1;

    explicit regions_of_memory(Memory& memory) noexcept : memory_{&memory} {}

    [[nodiscard]] acquired<regions_of_memory> acquire(layout wanted) noexcept {
        if (wanted.align < min_align) wanted.align = min_align;
        const auto given = memory_->allocate(wanted);
        if (!given) return acquired<regions_of_memory>::failure(memory_->diagnose(wanted).reason);
        return region_of<regions_of_memory>{given.address, given.size, wanted.align};
    }
    void release(region_of<regions_of_memory> held) noexcept { memory_->deallocate(held.base); }

private:
    Memory* memory_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
