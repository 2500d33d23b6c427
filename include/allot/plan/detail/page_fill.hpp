// SPDX-License-Identifier: BSL-1.0
// page_fill: chooses pages for the scattered buffers of a mixed problem beside contiguous buffers with known offsets.
//
//     pages              The ends of contiguous buffers divide the memory into segments. Pages of a segment are free
//       ▲ ├────┐         at the same times, apart from other buffers in pages. A sweep over time takes the pages of a
//       │ │ a  ├────┐    buffer that begins from segments without a contiguous buffer during its lifetimes. Ended
//       │ ├────┤ b  │    buffers return their pages to a stack of the segment, which creates a page only if the stack
//       └─┴────┴────┴►   is empty. Without contiguous buffers and constraints, the number of pages is minimal.
//
// The sweep takes a buffer's pages from the lowest segments, or from the segments in which a contiguous buffer begins
// soonest after its end. It runs from the first step to the last, or backward.
//
// Complexity: O(n log n + pages), plus for each buffer in pages the number of segments and of contiguous buffers that
// begin during its lifetimes; for each buffer that begins soonest, of all later ones. Memory: on the heap, 16 bytes a
// page and a segment, and 40 bytes a lifetime. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/mixed_parts.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

/// A way of choosing pages.
struct page_fill_way {
    bool soonest = false;   // prefer segments in which a contiguous buffer begins soonest
    bool backward = false;  // from the last step to the first
};

/// Chooses pages. The result has one list for each group of buffers.
template <class Parts>
class page_fill {
public:
    static constexpr std::uint64_t no_height = ~std::uint64_t{0};

    /// `offsets` has the offset of each buffer that is not scattered.
    page_fill(const Parts& parts, std::span<const std::uint64_t> offsets, page_fill_way way)
        : parts_{&parts}, way_{way}, lists_(parts.buffers().size()) {
        list_lives();
        list_ranges(offsets);
        list_pairs();
    }

    /// Chooses all pages. Returns the number of the highest page plus 1, or `no_height` if numbers exceed 32 bits.
    [[nodiscard]] std::uint64_t run() {
        std::size_t ended = 0, range_ended = 0;
        for (const life& now : lives_) {
            while (next_range_ != ranges_.size() && ranges_[next_range_].live.from <= now.live.from) {
                end_ranges(range_ended, ranges_[next_range_].live.from);
                add_to_segments(ranges_[next_range_++], 1);
            }
            end_ranges(range_ended, now.live.from);
            for (; by_end_[ended]->live.until <= now.live.from; ++ended) release(*by_end_[ended]);
            if (!begin(now)) return no_height;
        }
        return height_;
    }
    /// Returns the page of a buffer, in the order of its bytes.
    [[nodiscard]] std::uint32_t page(std::size_t buffer, std::size_t i) const noexcept {
        return slots_[lists_[parts_->group(buffer)][i]].page;
    }

private:
    /// A lifetime of a buffer in scattered pages.
    struct life {
        lifetime live{};
        std::uint32_t buffer = 0;
    };
    /// Pages that are unavailable during a lifetime, as a range of segments.
    struct range {
        lifetime live{};
        std::uint64_t first = 0, last = 0;  // pages, then segments; half open
    };
    /// A run of pages between two ends of contiguous buffers.
    struct segment {
        std::uint64_t first = 0, length = 0;
        std::uint64_t used = 0;           // pages that exist
        std::uint32_t taken = 0;          // contiguous buffers that live now
        std::uint32_t blocked = 0;        // number of the last buffer for which the segment is unavailable
        std::uint64_t next = 0;           // rank of the contiguous buffer that begins next
        std::vector<std::uint32_t> free;  // slots
    };
    /// A page that exists, because some buffer has it.
    struct slot {
        std::uint32_t page = 0, segment = 0;
        std::uint32_t at = 0;       // position in `segment::free`
        std::uint32_t users = 0;    // lifetimes that have the page now
        std::uint32_t blocked = 0;  // number of the last buffer for which the page is unavailable
    };

    [[nodiscard]] lifetime seen(lifetime live) const noexcept {
        return way_.backward ? lifetime{~live.until, ~live.from} : live;
    }

    void list_lives() {
        const plan_problem& given = parts_->given();
        const auto add = [&](std::size_t buffer, lifetime live) {
            if (parts_->is_scattered(buffer) && parts_->pages(buffer) != 0)
                lives_.push_back({seen(live), static_cast<std::uint32_t>(buffer)});
        };
        for (std::size_t i = 0; i != given.buffers.size(); ++i) add(i, given.buffers[i].live);
        for (const plan_revival& revival : given.revivals) add(revival.buffer, revival.live);
        std::sort(lives_.begin(), lives_.end(), [](const life& a, const life& b) {
            if (a.live.from != b.live.from) return a.live.from < b.live.from;
            if (a.live.until != b.live.until) return a.live.until > b.live.until;
            return a.buffer < b.buffer;
        });
        of_group_.resize(lists_.size());
        for (const life& each : lives_) {
            by_end_.push_back(&each);
            of_group_[parts_->group(each.buffer)].push_back(&each);
        }
        std::sort(by_end_.begin(), by_end_.end(), [](const life* a, const life* b) {
            return a->live.until != b->live.until ? a->live.until < b->live.until : a < b;
        });
        for (std::uint32_t group = 0; group != lists_.size(); ++group)
            if (of_group_[group].size() > 1) lasting_.push_back(group);
    }
    /// Lists the pages that contiguous buffers and reserved ranges take, and divides the memory into segments.
    void list_ranges(std::span<const std::uint64_t> offsets) {
        const plan_problem& given = parts_->given();
        const std::uint64_t page = parts_->page_size();
        constexpr lifetime always{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
        const auto add = [&](std::uint64_t offset, std::uint64_t size, lifetime live) {
            if (size != 0) ranges_.push_back({live, offset / page, pages_for(offset + size, page)});
        };
        const auto add_life = [&](std::size_t i, lifetime live) {
            if (!parts_->is_scattered(i)) add(offsets[i], parts_->bytes(i), seen(live));
        };
        for (std::size_t i = 0; i != given.buffers.size(); ++i) add_life(i, given.buffers[i].live);
        for (const plan_revival& revival : given.revivals) add_life(revival.buffer, revival.live);
        for (const plan_reserved& reserved : given.reserved) add(reserved.offset, reserved.size, always);
        std::sort(ranges_.begin(), ranges_.end(), [](const range& a, const range& b) {
            return std::tuple{a.live.from, a.live.until, a.first, a.last} <
                   std::tuple{b.live.from, b.live.until, b.first, b.last};
        });
        for (std::size_t i = 0; i != ranges_.size(); ++i) range_ends_.push_back(i);
        std::sort(range_ends_.begin(), range_ends_.end(), [&](std::size_t a, std::size_t b) {
            return std::pair{ranges_[a].live.until, a} < std::pair{ranges_[b].live.until, b};
        });
        divide();
        where_.assign(offsets.size(), {});
        for (std::size_t i = 0; i != offsets.size(); ++i)
            if (!parts_->is_scattered(i) && parts_->bytes(i) != 0)
                where_[i] = {
                    {}, segment_of(offsets[i] / page), segment_of(pages_for(offsets[i] + parts_->bytes(i), page))};
    }
    void divide() {
        std::vector<std::uint64_t> ends{0};
        for (const range& each : ranges_) {
            ends.push_back(each.first);
            ends.push_back(each.last);
        }
        std::sort(ends.begin(), ends.end());
        ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
        constexpr std::uint64_t most = std::uint64_t{1} << 32;
        for (std::size_t i = 0; i != ends.size(); ++i) {
            const std::uint64_t end = i + 1 == ends.size() ? most : std::min(ends[i + 1], most);
            segments_.push_back({.first = ends[i], .length = end - std::min(ends[i], end), .free = {}});
        }
        for (range& each : ranges_) {
            each.first = segment_of(each.first);
            each.last = segment_of(each.last);
        }
    }
    [[nodiscard]] std::uint64_t segment_of(std::uint64_t page) const noexcept {
        const auto found = std::lower_bound(segments_.begin(), segments_.end(), page,
                                            [](const segment& each, std::uint64_t at) { return each.first < at; });
        return static_cast<std::uint64_t>(found - segments_.begin());
    }
    /// Lists the pairs that are apart, by group.
    void list_pairs() {
        apart_.resize(lists_.size());
        for (const plan_pair& pair : parts_->given().apart) {
            if (parts_->is_scattered(pair.first)) apart_[parts_->group(pair.first)].push_back(pair);
            if (parts_->is_scattered(pair.second))
                apart_[parts_->group(pair.second)].push_back({pair.second, pair.first});
        }
    }

    // ---- the sweep -------------------------------------------------------------------------------------------------

    [[nodiscard]] std::span<segment> segments_of(const range& each) noexcept {
        return std::span{segments_}.subspan(static_cast<std::size_t>(each.first),
                                            static_cast<std::size_t>(each.last - each.first));
    }
    void add_to_segments(const range& each, std::uint32_t by) noexcept {
        for (segment& s : segments_of(each)) s.taken += by;
    }
    void end_ranges(std::size_t& ended, std::int64_t now) noexcept {
        for (; ended != ranges_.size() && ranges_[range_ends_[ended]].live.until <= now; ++ended)
            add_to_segments(ranges_[range_ends_[ended]], ~std::uint32_t{0});
    }
    void release(const life& each) {
        const std::vector<std::uint32_t>& list = lists_[parts_->group(each.buffer)];
        for (std::uint32_t i = parts_->pages(each.buffer); i-- != 0;) {
            slot& its = slots_[list[i]];
            if (--its.users != 0) continue;
            its.at = static_cast<std::uint32_t>(segments_[its.segment].free.size());
            segments_[its.segment].free.push_back(list[i]);
        }
    }
    /// Takes the pages that the buffer's group already has, and chooses the others.
    [[nodiscard]] bool begin(const life& now) {
        const std::uint32_t group = parts_->group(now.buffer), wanted = parts_->pages(now.buffer);
        std::vector<std::uint32_t>& list = lists_[group];
        const std::size_t had = std::min<std::size_t>(list.size(), wanted);
        for (std::size_t i = 0; i != had; ++i)
            if (slots_[list[i]].users++ == 0) take(list[i]);
        if (list.size() >= wanted) return true;
        ++number_;
        block_segments(group, list.size(), now.live.from);
        block_pages(group, list.size(), now.live.from);
        return choose(list, wanted, now);
    }
    void take(std::uint32_t which) noexcept {
        std::vector<std::uint32_t>& free = segments_[slots_[which].segment].free;
        const std::uint32_t last = free.back();
        free[slots_[which].at] = last;
        slots_[last].at = slots_[which].at;
        free.pop_back();
    }
    /// Blocks the segments in which a contiguous buffer begins while the group needs more than `had` pages, or from
    /// which the group is apart.
    void block_segments(std::uint32_t group, std::size_t had, std::int64_t now) noexcept {
        for (const life* each : of_group_[group]) {
            if (parts_->pages(each->buffer) <= had || each->live.until <= now) continue;
            for (std::size_t r = next_range_; r != ranges_.size() && ranges_[r].live.from < each->live.until; ++r)
                if (ranges_[r].live.until > each->live.from) block(ranges_[r]);
        }
        for (const plan_pair& pair : apart_[group])
            if (parts_->pages(pair.first) > had && !parts_->is_scattered(pair.second)) block(where_[pair.second]);
    }
    void block(const range& each) noexcept {
        for (segment& s : segments_of(each)) s.blocked = number_;
    }
    /// Blocks the pages of groups that live again while this group needs more than `had` pages, or that are apart.
    void block_pages(std::uint32_t group, std::size_t had, std::int64_t now) noexcept {
        const auto block_list = [&](std::uint32_t other, std::size_t count) {
            const std::vector<std::uint32_t>& list = lists_[other];
            for (std::size_t i = 0; i != std::min(count, list.size()); ++i) slots_[list[i]].blocked = number_;
        };
        const auto meets = [&](const life& its) {
            return std::any_of(of_group_[group].begin(), of_group_[group].end(), [&](const life* mine) {
                return parts_->pages(mine->buffer) > had && mine->live.until > now && mine->live.overlaps(its.live);
            });
        };
        for (const std::uint32_t other : lasting_) {
            if (lists_[other].empty() || other == group) continue;
            for (const life* its : of_group_[other])
                if (its->live.from >= now && meets(*its)) block_list(other, parts_->pages(its->buffer));
        }
        for (const plan_pair& pair : apart_[group])
            if (parts_->pages(pair.first) > had && parts_->is_scattered(pair.second))
                block_list(parts_->group(pair.second), parts_->pages(pair.second));
    }
    /// Extends a list of pages to `wanted` pages.
    [[nodiscard]] bool choose(std::vector<std::uint32_t>& list, std::uint32_t wanted, const life& now) {
        const auto choose_from = [&](std::uint32_t s) {
            segment& from = segments_[s];
            if (from.taken != 0 || from.blocked == number_) return;
            for (std::size_t i = from.free.size(); i-- != 0 && list.size() != wanted;) {
                const std::uint32_t which = from.free[i];
                if (slots_[which].blocked == number_) continue;
                take(which);
                slots_[which].users = 1;
                list.push_back(which);
            }
            for (; from.used != from.length && list.size() != wanted; ++from.used) {
                list.push_back(static_cast<std::uint32_t>(slots_.size()));
                slots_.push_back(
                    {.page = static_cast<std::uint32_t>(from.first + from.used), .segment = s, .users = 1});
                height_ = std::max(height_, from.first + from.used + 1);
            }
        };
        const auto count = static_cast<std::uint32_t>(segments_.size());
        if (way_.soonest) {
            sort_segments(now);
            for (std::uint32_t i = 0; i != count && list.size() != wanted; ++i) choose_from(order_[i]);
        } else {
            for (std::uint32_t s = 0; s != count && list.size() != wanted; ++s) choose_from(s);
        }
        return list.size() == wanted;
    }
    /// Sorts the segments by the beginning of the next contiguous buffer after the lifetime.
    void sort_segments(const life& now) {
        for (segment& each : segments_) each.next = ranges_.size();
        for (std::size_t r = ranges_.size(); r-- != next_range_ && ranges_[r].live.from >= now.live.until;)
            for (segment& s : segments_of(ranges_[r])) s.next = r;
        order_.resize(segments_.size());
        for (std::size_t i = 0; i != order_.size(); ++i) order_[i] = static_cast<std::uint32_t>(i);
        std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
            return std::pair{segments_[a].next, a} < std::pair{segments_[b].next, b};
        });
    }

    const Parts* parts_;
    page_fill_way way_;
    std::vector<std::vector<std::uint32_t>> lists_;  // slots, by group
    std::vector<life> lives_;                        // in order of time
    std::vector<const life*> by_end_;
    std::vector<std::vector<const life*>> of_group_;
    std::vector<std::uint32_t> lasting_;   // groups with several lifetimes
    std::vector<range> ranges_, where_;    // in order of time; by buffer
    std::vector<std::size_t> range_ends_;  // indices of ranges
    std::vector<segment> segments_;
    std::vector<std::uint32_t> order_;  // segments
    std::vector<slot> slots_;
    std::vector<std::vector<plan_pair>> apart_;  // by group; the first buffer is a member
    std::size_t next_range_ = 0;
    std::uint32_t number_ = 0;  // of the group that chooses pages
    std::uint64_t height_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
