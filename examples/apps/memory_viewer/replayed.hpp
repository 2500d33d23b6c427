// SPDX-License-Identifier: BSL-1.0
// replayed: replays a trace, which has sizes only, on an allocator, and returns the events with their addresses.
#pragma once

#include <allot/allot.hpp>
#include <allot/inspect/event_log.hpp>
#include <allot/inspect/trace.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace viewer {

/// A strategy in host memory, for records in band.
template <class Strategy>
class in_memory {
    using arena = allot::arena<allot::host::heap, Strategy>;

public:
    using block = typename arena::block_type;
    explicit in_memory(std::size_t bytes) : arena_{{}, bytes} {}
    [[nodiscard]] block allocate(allot::layout wanted) { return arena_.allocate(wanted); }
    void deallocate(block held) { arena_.deallocate(held); }
    void reset() {
        if constexpr (allot::resettable<Strategy>) arena_.reset();
    }
    [[nodiscard]] std::size_t position(const block& held) const { return position(held.address) - start(); }
    [[nodiscard]] std::size_t size() const { return arena_.size(); }

private:
    [[nodiscard]] static std::size_t position(const void* address) { return allot::raw_pointer::position(address); }
    [[nodiscard]] std::size_t start() const { return position(arena_.regions()[0].base); }
    arena arena_;
};

/// A strategy with a side table: no memory is used.
template <class Strategy>
class in_offsets {
public:
    using block = allot::allocation_of<Strategy>;
    explicit in_offsets(std::size_t bytes) : size_{bytes} { strategy_.insert({0, bytes}); }
    [[nodiscard]] block allocate(allot::layout wanted) { return strategy_.allocate({wanted.size, wanted.align}); }
    void deallocate(block held) { strategy_.deallocate(held); }
    void reset() {}
    [[nodiscard]] std::size_t position(const block& held) const { return held.where.offset; }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    Strategy strategy_{};
    std::size_t size_;
};

/// Replays a trace in so many bytes. Returns no log if a request fails.
template <class Memory>
[[nodiscard]] std::optional<allot::event_log> replay_in(const allot::trace& of, std::size_t bytes) {
    using enum allot::memory_action;
    Memory memory{bytes};
    allot::event_log log;
    log.events.reserve(of.operations.size() + 1);
    log.events.push_back({.size = memory.size(), .action = acquire_region});
    std::vector<typename Memory::block> slots(of.slots);
    std::uint64_t time = 0;
    for (const allot::trace_operation& each : of.operations) {
        allot::memory_event event{.time = ++time, .size = each.size};
        if (each.action == allot::trace_action::reset) {
            memory.reset();
            event.action = reset;
        } else if (each.action == allot::trace_action::allocate) {
            slots[each.slot] =
                memory.allocate({static_cast<std::size_t>(each.size), static_cast<std::size_t>(each.align())});
            if (!slots[each.slot]) return std::nullopt;
            event.address = memory.position(slots[each.slot]);
            event.align_log2 = each.align_log2;
        } else {
            event.address = memory.position(slots[each.slot]);
            event.action = deallocate;
            memory.deallocate(slots[each.slot]);
        }
        log.events.push_back(event);
    }
    return log;
}

struct allocator_entry {
    std::string_view name;
    std::optional<allot::event_log> (*replay)(const allot::trace&, std::size_t bytes);
};

inline constexpr allocator_entry allocators[] = {
    {"best_fit", &replay_in<in_memory<allot::best_fit<>>>},
    {"best_fit_side_table", &replay_in<in_offsets<allot::best_fit<allot::best_fit_options{}, std::size_t>>>},
    {"deferred", &replay_in<in_memory<allot::deferred<allot::best_fit<>>>>},
    {"bump", &replay_in<in_memory<allot::bump<>>>},
};

/// Replays a trace on an allocator, in the smallest of some sizes that suffices: the peak of live bytes and an eighth,
/// a quarter, a half, and so on.
[[nodiscard]] inline allot::event_log replayed(const allot::trace& of, std::string_view allocator) {
    for (const allocator_entry& each : allocators) {
        if (each.name != allocator) continue;
        for (const std::uint64_t eighths : {9u, 10u, 12u, 16u, 24u, 32u, 64u}) {
            const auto bytes = static_cast<std::size_t>((of.peak / 8 + 1) * eighths + 4096) / 4096 * 4096;
            if (auto made = each.replay(of, bytes)) return *std::move(made);
        }
        throw std::runtime_error{"the trace does not fit " + std::string{allocator} +
                                 " in eight times the peak of its live bytes; choose another allocator"};
    }
    std::string names;
    for (const allocator_entry& each : allocators) (names += ' ') += each.name;
    throw std::runtime_error{"unknown allocator " + std::string{allocator} + "; the allocators are:" + names};
}

}  // namespace viewer
