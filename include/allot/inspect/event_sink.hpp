// SPDX-License-Identifier: BSL-1.0
// event_sink: writes the calls of a `recorded` allocator to an event log.
//
//     heap_arena arena{{}, 1_MiB};
//     allot::event_log_writer log;
//     allot::recorded memory{arena, allot::event_sink{log}};
//     auto block = memory.allocate({.size = 256});
//     const auto file = log.bytes();                    // for ./dev view
//
// Each call is one event. The time is the number of the event, or the result of a clock that the program passes:
// `event_sink{log, [] { return nanoseconds_since_start(); }}`, with a log in nanoseconds. The number of a block is its
// address. Memory behind several handles has one address for each handle and offset only if the offsets differ.
//
// When to use: to draw the memory of an allocator over time.
// When not to use: to compare allocators. Pass a `trace_writer` to `recorded` instead.
//
// Complexity: O(1) for each event. Memory: usually 6 to 14 bytes in the log for each event.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/inspect/event_log.hpp>

#include <bit>

namespace allot {
inline namespace v1 {

/// A clock that counts its calls.
struct event_counter {
    std::uint64_t count = 0;  ///< The number of calls.
    /// Returns the number of earlier calls.
    constexpr std::uint64_t operator()() noexcept { return count++; }
};

/// A sink of `recorded` that adds the calls to an event log.
template <class Clock = event_counter>
class event_sink {
public:
    /// Adds events to `log`, which must outlive the sink.
    explicit event_sink(event_log_writer& log, Clock clock = {}) : log_{&log}, clock_{std::move(clock)} {}

    /// Sets the tag of the next allocations and refusals: 0, or a result of `event_log_writer::tag`.
    void set_tag(std::uint32_t tag) noexcept { tag_ = tag; }

    /// Adds an allocation and returns the address, which is the number of the block.
    std::uint64_t allocate(std::uint64_t size, std::uint64_t align, std::uint64_t address) {
        add(memory_action::allocate, address, size, align);
        return address;
    }
    /// Adds a deallocation.
    void deallocate(std::uint64_t address) { add(memory_action::deallocate, address, 0, 1); }
    /// Adds a resize and returns the address.
    std::uint64_t resize(std::uint64_t address, std::uint64_t size) {
        add(memory_action::resize, address, size, 1);
        return address;
    }
    /// Adds a refusal. An alignment that is not a power of two is written as 1.
    void refuse(std::uint64_t size, std::uint64_t align) { add(memory_action::refuse, 0, size, align); }
    /// Adds a reset.
    void reset() { add(memory_action::reset, 0, 0, 1); }

private:
    void add(memory_action action, std::uint64_t address, std::uint64_t size, std::uint64_t align) {
        const bool tagged = action == memory_action::allocate || action == memory_action::refuse;
        log_->add({.time = clock_(),
                   .address = address,
                   .size = size,
                   .tag = tagged ? tag_ : 0,
                   .action = action,
                   .align_log2 = std::has_single_bit(align) ? static_cast<std::uint8_t>(std::countr_zero(align))
                                                            : std::uint8_t{}});
    }

    event_log_writer* log_;
    ALLOT_NO_UNIQUE_ADDRESS Clock clock_;
    std::uint32_t tag_ = 0;
};

}  // namespace v1
}  // namespace allot
