// SPDX-License-Identifier: BSL-1.0
// contents: derives the contents of buffers over time from their accesses, and the copies that a visit requires.
//
//     accesses   w   r     r          w  r    rw     The accesses at one step are one event. A buffer that is written
//     events     0   1     2          3  4    5      but not read at an event gets new contents. The old contents are
//     values     ├────0────┤          ├───1───┤      no longer needed. Each interval is one value: from the event that
//     visit          ╞═════╡                         writes it to the last event that needs it.
//
// A visit is a run of events of one value during which the value is in a fast memory. It is copied in when the visit
// begins, unless the visit writes it first. It is copied out when the visit ends, if the visit wrote it and a later
// event needs it.
//
// Complexity: O(n log n) in accesses. Memory: on the heap, about 100 bytes an access. Not synchronized.
#pragma once

#include <allot/plan/moves_problem.hpp>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

/// Stable sort. Replaces std::stable_sort, which uses std::get_temporary_buffer in libstdc++. Some compilers report
/// that use as deprecated.
template <class T, class Before>
void sort_stably(std::vector<T>& all, Before before) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return before(all[a], all[b]) || (a < b && !before(all[b], all[a]));
    });
    std::vector<T> sorted;
    sorted.reserve(all.size());
    for (const std::size_t each : order) sorted.push_back(all[each]);
    all = std::move(sorted);
}

/// All accesses of a buffer at one step. Reads precede writes.
struct access_event {
    std::int64_t step = 0;
    std::uint64_t count = 0;  // number of accesses
    bool reads = false;
    bool writes = false;
};

/// Contents of a buffer, from the event that writes them to the last event that reads them. An event that reads and
/// writes continues the value.
struct access_value {
    std::size_t buffer = 0;
    std::size_t first = 0;  // first event
    std::size_t last = 0;   // last event
    lifetime live{};        // from the first event, or from the beginning of the buffer if given, to the last event
    bool given = false;     // whether the buffer came with these contents
};

/// Location of a value at an event.
enum class event_place : unsigned char {
    home,     // in its home
    arrives,  // begins a visit
    stays,    // continues the visit of the previous event
};

/// Events and values of a set of buffers.
template <class Access>
class buffer_contents {
public:
    buffer_contents() = default;
    /// Includes the buffers for which `counts` is true.
    buffer_contents(std::span<const plan_buffer> buffers, std::span<const Access> accesses,
                    const std::vector<bool>& counts)
        : event_of_(accesses.size()) {
        std::vector<std::size_t> order;
        for (std::size_t a = 0; a != accesses.size(); ++a)
            if (counts[accesses[a].buffer]) order.push_back(a);
        sort_stably(order, [&](std::size_t a, std::size_t b) {
            const Access &one = accesses[a], &other = accesses[b];
            return one.buffer != other.buffer ? one.buffer < other.buffer : one.step < other.step;
        });
        for (std::size_t k = 0; k != order.size();) {
            const Access& first = accesses[order[k]];
            const auto is_at_once = [&](const Access& each) {
                return each.buffer == first.buffer && each.step == first.step;
            };
            access_event event{.step = first.step};
            for (; k != order.size() && is_at_once(accesses[order[k]]); ++k) {
                ++event.count;
                (accesses[order[k]].writes ? event.writes : event.reads) = true;
                event_of_[order[k]] = events_.size();
            }
            const bool fresh = values_.empty() || values_.back().buffer != first.buffer;
            if (fresh || !event.reads) {
                const std::int64_t from = fresh && event.reads ? buffers[first.buffer].live.from : event.step;
                values_.push_back({first.buffer, events_.size(), events_.size(), {from, event.step + 1}, event.reads});
            }
            values_.back().last = events_.size();
            values_.back().live.until = event.step + 1;
            events_.push_back(event);
        }
    }

    [[nodiscard]] const std::vector<access_event>& events() const noexcept { return events_; }
    [[nodiscard]] const std::vector<access_value>& values() const noexcept { return values_; }
    /// Returns the event of an access. Precondition: the buffer of the access is included.
    [[nodiscard]] std::size_t event_of(std::size_t access) const { return event_of_[access]; }

    /// Returns the lifetime of a visit from event `first` to event `last`.
    [[nodiscard]] lifetime life_of_visit(std::size_t first, std::size_t last) const {
        return {events_[first].step, events_[last].step + 1};
    }
    /// Returns whether a visit that begins with event `first` requires a copy in.
    [[nodiscard]] bool is_copied_in(std::size_t value, std::size_t first) const {
        return first != values_[value].first || values_[value].given;
    }
    /// Returns whether a visit from event `first` to event `last` requires a copy out.
    [[nodiscard]] bool is_copied_out(std::size_t value, std::size_t first, std::size_t last) const {
        bool writes = false;
        for (std::size_t e = first; e <= last; ++e) writes = writes || events_[e].writes;
        return writes && last != values_[value].last;
    }
    /// Returns the number of copies of a visit.
    [[nodiscard]] std::uint64_t copies_of(std::size_t value, std::size_t first, std::size_t last) const {
        return std::uint64_t{is_copied_in(value, first)} + std::uint64_t{is_copied_out(value, first, last)};
    }
    /// Returns the number of accesses from event `first` to event `last`.
    [[nodiscard]] std::uint64_t accesses_of(std::size_t first, std::size_t last) const {
        std::uint64_t sum = 0;
        for (std::size_t e = first; e <= last; ++e) sum += events_[e].count;
        return sum;
    }

private:
    std::vector<access_event> events_;   // in order of buffers and steps
    std::vector<access_value> values_;   // in order of buffers and time
    std::vector<std::size_t> event_of_;  // by access
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
