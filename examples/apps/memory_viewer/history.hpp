// SPDX-License-Identifier: BSL-1.0
// history: the lifetimes of the blocks of an event log, and the state of the memory over time, as the page shows them.
#pragma once

#include <allot/inspect/memory_state.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

namespace viewer {

/// A block from its allocation to its deallocation, or to the end of the log.
struct lifetime {
    std::uint64_t start, end, address, size;
    std::uint32_t tag;
};

/// A part of the address axis. Parts follow one another on the axis; large unused gaps between them are left out.
struct axis_part {
    std::uint64_t address, size, at;  // at: the position on the axis
};

/// The holes at a time.
struct sample {
    std::uint64_t time = 0, free = 0, largest_hole = 0, holes = 0;
};

/// The state at many times, by the number of the tag in `shown_tags`.
struct series {
    std::vector<std::uint64_t> times{};
    std::vector<std::uint64_t> live{}, held{};         // the maximum until the next time
    std::vector<std::vector<std::uint64_t>> by_tag{};  // live bytes
};

struct history {
    std::uint64_t start = 0, end = 0;
    allot::time_unit unit = allot::time_unit::count;
    std::vector<lifetime> blocks{};
    std::vector<axis_part> axis{};
    std::vector<std::string> tags{};  // number n of a lifetime is tags[n]
    std::vector<sample> samples{};
    series over_time{};
    std::uint64_t events = 0, unknown = 0, refusals = 0, peak = 0;
};

/// Returns the number of a size class: 0 for 1 to 64 bytes, and one more for each factor of 4.
[[nodiscard]] inline std::uint32_t size_class(std::uint64_t size) {
    std::uint32_t number = 0;
    for (std::uint64_t limit = 64; size > limit && number != 14; limit *= 4) ++number;
    return number;
}

[[nodiscard]] inline std::vector<std::string> size_classes() {
    std::vector<std::string> names;
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    for (std::uint64_t number = 0, limit = 64; number != 15; ++number, limit *= 4) {
        std::uint64_t value = limit, unit = 0;
        for (; value >= 1024; value /= 1024) ++unit;
        names.push_back((number == 14 ? "larger" : "up to " + std::to_string(value) + " " + units[unit]));
    }
    return names;
}

/// The history of a snapshot: all blocks live from time 0 to time 1.
[[nodiscard]] inline allot::event_log log_of(const allot::snapshot& from) {
    using enum allot::memory_action;
    allot::event_log log{.tags = from.tags};
    for (const allot::snapshot_range& each : from.regions)
        log.events.push_back({.address = each.address, .size = each.size, .action = acquire_region});
    for (const allot::snapshot_block& each : from.blocks)
        log.events.push_back({.address = each.address, .size = each.size, .tag = each.tag, .action = allocate});
    return log;
}

/// Collects lifetimes, the series and the samples of a log.
class historian {
public:
    explicit historian(const allot::event_log& log) : log_{log}, has_tags_{!log.tags.empty()} {
        made_.unit = log.unit;
        made_.events = log.events.size();
        if (has_tags_) name_tags();
        else made_.tags = size_classes();
        if (!log.events.empty()) {
            made_.start = log.events.front().time;
            made_.end = log.events.back().time;
        }
    }

    [[nodiscard]] history make() {
        follow();
        make_axis();
        take_samples();
        return std::move(made_);
    }

private:
    static constexpr std::size_t most_times = 4000, most_tags = 64;
    static constexpr std::uint64_t most_steps = 300'000'000;  // of all samples together

    /// Numbers the tags with the most allocated bytes. The others share one number.
    void name_tags() {
        std::vector<std::uint64_t> bytes(log_.tags.size() + 1);
        for (const allot::memory_event& event : log_.events)
            if (event.action == allot::memory_action::allocate && event.tag < bytes.size())
                bytes[event.tag] += event.size;
        std::vector<std::uint32_t> order(log_.tags.size());
        std::iota(order.begin(), order.end(), 1u);
        std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t tag) { return bytes[tag]; });
        number_of_.assign(bytes.size(), 0);
        made_.tags.emplace_back("no tag");
        for (const std::uint32_t tag : order) {
            if (made_.tags.size() < most_tags) made_.tags.push_back(log_.tags[tag - 1]);
            else if (made_.tags.size() == most_tags) made_.tags.emplace_back("other tags");
            number_of_[tag] = static_cast<std::uint32_t>(made_.tags.size() - 1);
        }
    }

    [[nodiscard]] std::uint32_t tag_of(const allot::live_block& block) const {
        if (!has_tags_) return size_class(block.size);
        return block.tag < number_of_.size() ? number_of_[block.tag] : 0;
    }

    /// Ends the life of a block that was allocated or resized by an event.
    void end_life(std::uint64_t address, const allot::live_block& block, std::uint64_t time) {
        const std::uint32_t tag = tag_of(block);
        by_tag_[tag] -= block.size;
        if (block.size != 0)
            made_.blocks.push_back(
                {log_.events[static_cast<std::size_t>(block.event)].time, time, address, block.size, tag});
    }

    /// Applies all events, and collects the lifetimes and the series.
    void follow() {
        using enum allot::memory_action;
        by_tag_.resize(made_.tags.size());
        made_.over_time.by_tag.resize(made_.tags.size());
        made_.blocks.reserve(log_.events.size() / 2);
        const std::uint64_t step = std::max<std::uint64_t>((made_.end - made_.start) / most_times, 1);
        std::uint64_t last = made_.start, live = 0, held = 0;
        for (std::size_t i = 0; i != log_.events.size(); ++i) {
            const allot::memory_event& event = log_.events[i];
            if (event.time - last >= step) {
                add_time(last, live, held);
                last = event.time;
            }
            if (event.action == reset)
                for (const auto& [address, block] : state_.blocks()) end_life(address, block, event.time);
            const allot::live_block before = state_.apply(event);
            if (before.size != 0) end_life(event.address, before, event.time);
            if (event.action == allocate) by_tag_[tag_of({event.size, i, event.tag})] += event.size;
            if (event.action == resize && before.size != 0) by_tag_[tag_of({event.size, i, before.tag})] += event.size;
            if (event.action == acquire_region || event.action == release_region) note_region(event);
            live = std::max<std::uint64_t>(live, state_.statistics().used);
            held = std::max<std::uint64_t>(held, state_.held());
        }
        add_time(last, live, held);
        add_time(made_.end, live, held);
        for (region_life& each : regions_) each.end = std::min(each.end, made_.end);
        for (const auto& [address, block] : state_.blocks()) end_life(address, block, made_.end);
        made_.unknown = state_.unknown();
        made_.refusals = state_.statistics().refusals;
        made_.peak = state_.statistics().peak;
    }

    void add_time(std::uint64_t time, std::uint64_t& live, std::uint64_t& held) {
        made_.over_time.times.push_back(time);
        made_.over_time.live.push_back(live);
        made_.over_time.held.push_back(held);
        for (std::size_t i = 0; i != by_tag_.size(); ++i) made_.over_time.by_tag[i].push_back(by_tag_[i]);
        live = state_.statistics().used;
        held = state_.held();
    }

    struct region_life {
        std::uint64_t start, end, address, size;
    };
    static constexpr std::uint64_t forever = ~std::uint64_t{0};

    void note_region(const allot::memory_event& event) {
        if (const auto at = open_regions_.find(event.address); at != open_regions_.end()) {
            regions_[at->second].end = event.time;
            open_regions_.erase(at);
        }
        if (event.action == allot::memory_action::release_region || event.size == 0) return;
        open_regions_[event.address] = regions_.size();
        regions_.push_back({event.time, forever, event.address, event.size});
    }

    /// Makes the address axis of all bytes that are in a region or, in a log without regions, in a block.
    void make_axis() {
        std::vector<allot::snapshot_range> used;
        for (const region_life& each : regions_) used.push_back({each.address, each.size});
        for (const lifetime& each : made_.blocks) used.push_back({each.address, each.size});
        std::ranges::sort(used, {}, &allot::snapshot_range::address);
        std::uint64_t bytes = 0;
        std::size_t count = 0;
        for (const allot::snapshot_range& each : used) {  // merges the ranges
            if (count != 0 && each.address <= used[count - 1].end()) {
                const std::uint64_t end = std::max(used[count - 1].end(), each.end());
                bytes += end - used[count - 1].end();
                used[count - 1].size = end - used[count - 1].address;
            } else {
                bytes += each.size;
                used[count++] = each;
            }
        }
        used.resize(count);
        const std::uint64_t longest_gap = std::max<std::uint64_t>(bytes / 16, 65'536);
        std::uint64_t at = 0;
        for (const allot::snapshot_range& each : used) {
            if (made_.axis.empty() || each.address - end_of(made_.axis.back()) > longest_gap) {
                made_.axis.push_back({each.address, each.size, at});
            } else {
                made_.axis.back().size = each.end() - made_.axis.back().address;
            }
            at = made_.axis.back().at + made_.axis.back().size;
        }
    }
    [[nodiscard]] static std::uint64_t end_of(const axis_part& part) { return part.address + part.size; }

    /// The ranges that change at each sample: those of sample s are order[first[s]] to order[first[s + 1]].
    struct schedule {
        std::vector<std::uint32_t> first, order;
    };
    template <class Lives, class At>
    [[nodiscard]] static schedule schedule_of(const Lives& lives, std::size_t samples, At at) {
        schedule made{std::vector<std::uint32_t>(samples + 2), std::vector<std::uint32_t>(lives.size())};
        for (const auto& each : lives) ++made.first[at(each) + 1];
        std::partial_sum(made.first.begin(), made.first.end(), made.first.begin());
        std::vector<std::uint32_t> next = made.first;
        for (std::uint32_t i = 0; i != lives.size(); ++i) made.order[next[at(lives[i])]++] = i;
        return made;
    }

    /// Counts how many ranges cover each piece between two neighbors of all addresses, as differences.
    class coverage {
    public:
        template <class Lives>
        coverage(const Lives& lives, const std::vector<std::uint64_t>& bounds, const std::vector<std::uint64_t>& times)
            : changes_(bounds.size() + 1) {
            const auto rank = [&](std::uint64_t address) {
                return static_cast<std::uint32_t>(std::ranges::lower_bound(bounds, address) - bounds.begin());
            };
            const auto sample_at = [&](std::uint64_t time) {
                return static_cast<std::size_t>(std::ranges::lower_bound(times, time) - times.begin());
            };
            for (const auto& each : lives) pieces_.push_back({rank(each.address), rank(each.address + each.size)});
            starts_ = schedule_of(lives, times.size(), [&](const auto& each) { return sample_at(each.start); });
            ends_ = schedule_of(lives, times.size(), [&](const auto& each) {
                return each.end == times.back() ? times.size() : sample_at(each.end);  // live at the last sample
            });
        }
        /// Goes to the next sample.
        void advance(std::size_t sample) {
            for (std::uint32_t i = starts_.first[sample]; i != starts_.first[sample + 1]; ++i) {
                const auto [from, to] = pieces_[starts_.order[i]];
                ++changes_[from], --changes_[to];
                lowest_ = std::min(lowest_, from), highest_ = std::max(highest_, to);
            }
            for (std::uint32_t i = ends_.first[sample]; i != ends_.first[sample + 1]; ++i) {
                const auto [from, to] = pieces_[ends_.order[i]];
                --changes_[from], ++changes_[to];
            }
        }
        [[nodiscard]] const std::vector<std::int32_t>& changes() const { return changes_; }
        [[nodiscard]] std::uint32_t lowest() const { return lowest_; }
        [[nodiscard]] std::uint32_t highest() const { return highest_; }

    private:
        struct piece {
            std::uint32_t from, to;
        };
        std::vector<piece> pieces_{};
        schedule starts_{}, ends_{};
        std::vector<std::int32_t> changes_;
        std::uint32_t lowest_ = ~0u, highest_ = 0;
    };

    /// Computes the holes at some times. An event costs a constant number of steps, and a sample one step for each
    /// address at which a block starts or ends, so the number of samples depends on the number of such addresses.
    void take_samples() {
        std::vector<std::uint64_t> bounds;
        const auto add_bounds = [&](const auto& lives) {
            for (const auto& each : lives) bounds.insert(bounds.end(), {each.address, each.address + each.size});
        };
        add_bounds(made_.blocks);
        add_bounds(regions_);
        std::ranges::sort(bounds);
        bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
        if (bounds.empty()) return;
        const std::uint64_t count = std::clamp<std::uint64_t>(most_steps / bounds.size(), 50, 1000);
        const std::uint64_t step = std::max<std::uint64_t>((made_.end - made_.start) / count, 1);
        std::vector<std::uint64_t> times;
        times.push_back(made_.start);
        while (made_.end - times.back() > step) times.push_back(times.back() + step);
        if (times.back() != made_.end) times.push_back(made_.end);
        coverage blocks{made_.blocks, bounds, times}, regions{regions_, bounds, times};
        for (std::size_t i = 0; i != times.size(); ++i) {
            blocks.advance(i);
            regions.advance(i);
            made_.samples.push_back(sample_of(bounds, blocks, regions));
            made_.samples.back().time = times[i];
        }
    }

    /// Adds up the gaps of at least 32 bytes between blocks; smaller gaps are records and alignment.
    [[nodiscard]] sample sample_of(const std::vector<std::uint64_t>& bounds, const coverage& blocks,
                                   const coverage& regions) const {
        const bool has_regions = !regions_.empty();
        const std::uint32_t from = std::min(blocks.lowest(), regions.lowest());
        const std::uint32_t to = std::max(blocks.highest(), regions.highest());
        sample made;
        std::int32_t live = 0, held = 0;
        std::uint64_t run = 0;
        const auto end_run = [&] {
            if (run >= 32) {
                ++made.holes;
                made.free += run;
                made.largest_hole = std::max(made.largest_hole, run);
            }
            run = 0;
        };
        for (std::uint32_t i = from; i < to; ++i) {
            live += blocks.changes()[i];
            held += regions.changes()[i];
            const std::uint64_t size = bounds[i + 1] - bounds[i];
            if (live <= 0 && (held > 0 || !has_regions)) run += size;
            else end_run();
        }
        end_run();
        return made;
    }

    const allot::event_log& log_;
    bool has_tags_;
    std::vector<std::uint32_t> number_of_{};  // in made_.tags, by the number of the tag in the log
    history made_{};
    allot::memory_state state_{};
    std::vector<region_life> regions_{};
    std::unordered_map<std::uint64_t, std::size_t> open_regions_{};  // indices by address
    std::vector<std::uint64_t> by_tag_{};
};

}  // namespace viewer
