// SPDX-License-Identifier: BSL-1.0
// memory_state: the live blocks and the regions of an allocator after some events of a log.
//
//     allot::event_log log;
//     allot::memory_state state;
//     for (const allot::memory_event& each : log.events) state.apply(each);
//     const allot::snapshot at_the_end = allot::snapshot_of(state, log.tags);
//
// A log may start after the program, and a file may be damaged. The state accepts any events: the deallocation of an
// unknown block is counted and changes nothing, and a second allocation at an address replaces the first one.
//
// When to use: to compute the state at a time of a log, or to match a deallocation with its allocation.
// When not to use: for a live allocator. Use `take_snapshot`.
//
// Complexity: O(1) for an event on average. `snapshot_of` is O(blocks · log blocks).
// Memory: about 56 bytes for each live block.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/event_log.hpp>
#include <allot/inspect/snapshot.hpp>

#include <map>
#include <unordered_map>

namespace allot {
inline namespace v1 {

/// A live block of a `memory_state`.
struct live_block {
    std::uint64_t size = 0;   ///< The size in bytes; 0 if the block is unknown.
    std::uint64_t event = 0;  ///< The number of the event that allocated it or resized it last.
    std::uint32_t tag = 0;    ///< The number of the tag; 0 for no tag.
};

/// The live blocks and the regions after some events.
class memory_state {
public:
    /// Applies an event. Returns the block at its address before the event, for a deallocation, a resize, and an
    /// allocation at a used address. Returns an unknown block for other events, and if there was no block.
    live_block apply(const memory_event& event) {
        const std::uint64_t number = events_++;
        switch (event.action) {
            case memory_action::allocate: {
                const auto [at, fresh] = blocks_.try_emplace(event.address);
                const live_block before = at->second;
                if (!fresh) forget(before);
                at->second = {event.size, number, event.tag};
                remember(event);
                return before;
            }
            case memory_action::deallocate: return free(event.address);
            case memory_action::resize: return resize(event, number);
            case memory_action::refuse: ++statistics_.refusals, ++statistics_.requests; break;
            case memory_action::acquire_region: acquire(event); break;
            case memory_action::release_region: release(event.address); break;
            case memory_action::reset: clear(); break;
        }
        return {};
    }

    /// Returns the live blocks by their addresses.
    [[nodiscard]] const std::unordered_map<std::uint64_t, live_block>& blocks() const noexcept { return blocks_; }
    /// Returns the sizes of the regions by their addresses. A log without regions has one region, which starts at the
    /// lowest block and ends with the highest block so far.
    [[nodiscard]] std::map<std::uint64_t, std::uint64_t> regions() const {
        if (!regions_.empty() || acquired_ || lowest_ >= highest_) return regions_;
        return {{lowest_, highest_ - lowest_}};
    }
    /// Returns the size of the acquired region at an address; 0 if there is no such region.
    [[nodiscard]] std::uint64_t region_at(std::uint64_t address) const {
        const auto at = regions_.find(address);
        return at == regions_.end() ? 0 : at->second;
    }
    /// Returns the number of bytes in all regions.
    [[nodiscard]] std::uint64_t held() const noexcept {
        return acquired_ ? held_ : lowest_ < highest_ ? highest_ - lowest_ : 0;
    }
    /// Returns the counters. The state of the holes is 0.
    [[nodiscard]] allocator_statistics statistics() const noexcept {
        allocator_statistics now = statistics_;
        now.count = blocks_.size();
        return now;
    }
    /// Returns the number of deallocations and resizes of unknown blocks.
    [[nodiscard]] std::uint64_t unknown() const noexcept { return unknown_; }

private:
    void remember(const memory_event& event) {
        ++statistics_.requests;
        use(event.size);
        lowest_ = std::min(lowest_, event.address);
        highest_ = std::max(highest_, event.address + event.size);
    }
    void use(std::uint64_t size) noexcept {
        statistics_.used += static_cast<std::size_t>(size);
        statistics_.peak = std::max(statistics_.peak, statistics_.used);
    }
    void forget(const live_block& block) noexcept { statistics_.used -= static_cast<std::size_t>(block.size); }
    live_block free(std::uint64_t address) {
        const auto at = blocks_.find(address);
        if (at == blocks_.end()) {
            ++unknown_;
            return {};
        }
        const live_block before = at->second;
        forget(before);
        blocks_.erase(at);
        return before;
    }
    live_block resize(const memory_event& event, std::uint64_t number) {
        const auto at = blocks_.find(event.address);
        if (at == blocks_.end()) {
            ++unknown_;
            return {};
        }
        const live_block before = at->second;
        forget(before);
        use(event.size);
        at->second = {event.size, number, before.tag};
        highest_ = std::max(highest_, event.address + event.size);
        return before;
    }
    void acquire(const memory_event& event) {
        acquired_ = true;
        std::uint64_t& size = regions_[event.address];
        held_ += event.size - size;  // an extended region has a new size
        size = event.size;
    }
    void release(std::uint64_t address) {
        const auto at = regions_.find(address);
        if (at == regions_.end()) return;
        held_ -= at->second;
        regions_.erase(at);
    }
    void clear() noexcept {
        blocks_.clear();
        statistics_.used = 0;
    }

    std::unordered_map<std::uint64_t, live_block> blocks_{};
    std::map<std::uint64_t, std::uint64_t> regions_{};
    allocator_statistics statistics_{};
    std::uint64_t events_ = 0, unknown_ = 0, held_ = 0;
    std::uint64_t lowest_ = std::numeric_limits<std::uint64_t>::max(), highest_ = 0;
    bool acquired_ = false;
};

namespace detail {

/// Appends the gaps of a region between blocks that are at least `least` bytes large.
inline void append_holes(snapshot& to, snapshot_range region, std::size_t& block, std::uint64_t least) {
    const auto add = [&](std::uint64_t from, std::uint64_t end) {
        if (end < from || end - from < least) return;
        to.holes.push_back({from, end - from});
        const auto size = static_cast<std::size_t>(end - from);
        to.statistics.free += size;
        to.statistics.largest_hole = std::max(to.statistics.largest_hole, size);
        ++to.statistics.holes;
    };
    std::uint64_t from = region.address;
    if (block != 0) from = std::max(from, to.blocks[block - 1].end());  // this block may end inside the region
    for (; block != to.blocks.size() && to.blocks[block].address < region.end(); ++block) {
        if (to.blocks[block].address > from) add(from, to.blocks[block].address);
        from = std::max(from, to.blocks[block].end());
    }
    add(from, region.end());
}

}  // namespace detail

/// Returns the state as a snapshot. Gaps between blocks of at least `least_hole` bytes are holes; smaller gaps are
/// taken for records of the allocator and for alignment. A block or region that overlaps one at a lower address is left
/// out.
[[nodiscard]] inline snapshot snapshot_of(const memory_state& state, const std::vector<std::string>& tags,
                                          std::uint64_t least_hole = 32) {
    snapshot made{.tags = tags, .statistics = state.statistics()};
    std::uint64_t end = 0;
    for (const auto& [address, size] : state.regions()) {
        if (address < end || size == 0) continue;
        made.regions.push_back({address, size});
        end = address + size;
    }
    made.blocks.reserve(state.blocks().size());
    for (const auto& [address, block] : state.blocks())
        if (block.size != 0) made.blocks.push_back({address, block.size, block.tag});
    detail::sort_ranges(made.blocks);
    std::size_t kept = 0;
    end = 0;
    for (const snapshot_block& each : made.blocks) {
        if (each.address < end) continue;
        end = each.end();
        made.blocks[kept++] = each;
    }
    made.blocks.resize(kept);
    std::size_t block = 0;
    for (const snapshot_range region : made.regions) detail::append_holes(made, region, block, least_hole);
    return made;
}

/// Returns the state after the first `events` events of a log.
[[nodiscard]] inline snapshot snapshot_at(const event_log& log, std::size_t events) {
    memory_state state;
    for (std::size_t i = 0; i != std::min(events, log.events.size()); ++i) state.apply(log.events[i]);
    return snapshot_of(state, log.tags);
}

/// Returns the number of events after which the most bytes are live for the first time.
[[nodiscard]] inline std::size_t peak_of(const event_log& log) {
    memory_state state;
    std::size_t peak = 0, at = 0;
    for (std::size_t i = 0; i != log.events.size(); ++i) {
        state.apply(log.events[i]);
        if (state.statistics().peak == peak) continue;
        peak = state.statistics().peak;
        at = i + 1;
    }
    return at;
}

}  // namespace v1
}  // namespace allot
