// SPDX-License-Identifier: BSL-1.0
// snapshot: the state of an allocator at one time: regions, blocks, holes, tags and statistics, and its file format.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     auto block = memory.allocate({.size = 256});
//     const allot::snapshot now = allot::take_snapshot(memory, "frame memory");
//     const std::vector<std::byte> file = allot::write_snapshot(now);
//     memory.deallocate(block);
//
//     address   ├────────────── region ──────────────┤     ├──── region ────┤
//               ├ block ┤ hole ├─ block ─┤   hole    │     ├ block ┤  hole  │
//
// The format is ALSN1. All numbers are unsigned LEB128 varints, as in ALTR1 (trace.hpp). A text is a length and bytes.
//
//     "ALSN1\n"   name   tags    statistics   regions   blocks   holes
//                 text   count   8 numbers    count     count    count
//                        text…   in order     range…    block…   range…
//
//     range   gap   size         the gap is the distance to the end of the previous range of the list
//     block   gap   size   tag   0 for no tag
//
// The ranges of a list are therefore in ascending order and do not overlap.
//
// When to use: to look at fragmentation, or at the owners of the memory. ./dev view draws a snapshot, and the headers
// export_*.hpp convert it.
// When not to use: to see how a state came about. Record an event log.
//
// Complexity: O(regions + blocks · log blocks + holes), and O(regions) for each block if addresses are handles.
// Memory: 24 bytes for each block, 16 bytes for each region and hole.
// Thread safety: requires external synchronization with the calls of the allocator. Take the snapshot of a
// `synchronized` allocator inside `locked`.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/core/arithmetic.hpp>
#include <allot/inspect/detail/format_reader.hpp>
#include <allot/inspect/detail/memory_facts.hpp>
#include <allot/inspect/detail/varint.hpp>
#include <allot/inspect/format_error.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {

/// A region or a hole.
struct snapshot_range {
    std::uint64_t address = 0;  ///< The address of the first byte.
    std::uint64_t size = 0;     ///< The size in bytes.

    /// Returns one past the last address.
    [[nodiscard]] constexpr std::uint64_t end() const noexcept { return address + size; }
    /// Compares all members.
    friend constexpr bool operator==(const snapshot_range&, const snapshot_range&) = default;
};

/// A live block.
struct snapshot_block {
    std::uint64_t address = 0;  ///< The address of the first byte.
    std::uint64_t size = 0;     ///< The size in bytes.
    std::uint32_t tag = 0;      ///< The number of the tag; 0 for no tag.

    /// Returns one past the last address.
    [[nodiscard]] constexpr std::uint64_t end() const noexcept { return address + size; }
    /// Compares all members.
    friend constexpr bool operator==(const snapshot_block&, const snapshot_block&) = default;
};

/// The state of an allocator at one time. The ranges of each list are in ascending order and do not overlap.
struct snapshot {
    std::string allocator{};                ///< The name of the allocator.
    std::vector<std::string> tags{};        ///< The names of the tags: tag number n is `tags[n - 1]`.
    allocator_statistics statistics{};      ///< The counters, as far as the allocator has them.
    std::vector<snapshot_range> regions{};  ///< The regions.
    std::vector<snapshot_block> blocks{};   ///< The live blocks.
    std::vector<snapshot_range> holes{};    ///< The holes.

    /// Returns the name of a tag; an empty text for number 0 and for a number without a name.
    [[nodiscard]] std::string_view name_of(std::uint32_t tag) const noexcept {
        return tag == 0 || tag > tags.size() ? std::string_view{} : std::string_view{tags[tag - 1]};
    }
    /// Compares all members.
    friend bool operator==(const snapshot&, const snapshot&) = default;
};

namespace detail {

struct snapshot_format {
    static constexpr std::string_view magic = "ALSN1\n";
    static constexpr std::size_t allocator_statistics::*counters[] = {
        &allocator_statistics::used,         &allocator_statistics::count,    &allocator_statistics::peak,
        &allocator_statistics::requests,     &allocator_statistics::refusals, &allocator_statistics::free,
        &allocator_statistics::largest_hole, &allocator_statistics::holes};
};

class snapshot_reader : format_reader {
public:
    explicit snapshot_reader(std::span<const std::byte> bytes) noexcept : format_reader{bytes} {}

    [[nodiscard]] format_reading<snapshot> read() {
        const auto tag = [this](snapshot_block& block) {
            std::uint64_t value = 0;
            if (!number(value)) return false;
            if (value > made_.tags.size()) return refuse(format_refusal::unknown_tag);
            block.tag = static_cast<std::uint32_t>(value);
            return true;
        };
        const auto no_more = [](snapshot_range&) { return true; };
        if (magic(snapshot_format::magic) && name() && tags() && statistics() && ranges(made_.regions, no_more) &&
            ranges(made_.blocks, tag) && ranges(made_.holes, no_more)) {
            begin_record();
            if (left() != 0) refuse(format_refusal::trailing_bytes);
        }
        return {std::move(made_), {reason(), begin()}};
    }

private:
    bool name() {
        begin_record();
        return text(made_.allocator);
    }
    bool tags() {
        begin_record();
        std::uint64_t count = 0;
        if (!number(count)) return false;
        if (count > std::numeric_limits<std::uint32_t>::max()) return refuse(format_refusal::too_large);
        for (std::string tag; count != 0; --count) {
            begin_record();
            if (!text(tag)) return false;
            made_.tags.push_back(tag);
        }
        return true;
    }
    bool statistics() {
        for (const auto counter : snapshot_format::counters) {
            begin_record();
            std::uint64_t value = 0;
            if (!number(value)) return false;
            if (value > std::numeric_limits<std::size_t>::max()) return refuse(format_refusal::too_large);
            made_.statistics.*counter = static_cast<std::size_t>(value);
        }
        return true;
    }
    template <class Range, class More>
    bool ranges(std::vector<Range>& into, More more) {
        begin_record();
        std::uint64_t count = 0, end = 0;
        if (!number(count)) return false;
        // A range takes at least two bytes, so a false count cannot reserve too much memory.
        into.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(count, left() / 2)));
        for (; count != 0; --count) {
            begin_record();
            Range range;
            std::uint64_t gap = 0;
            if (!number(gap) || !number(range.size) || !more(range)) return false;
            if (!checked_add(end, gap, range.address) || !checked_add(range.address, range.size, end))
                return refuse(format_refusal::too_large);
            into.push_back(range);
        }
        return true;
    }

    snapshot made_{};
};

template <class Ranges, class Bytes>
void append_ranges(const Ranges& ranges, Bytes& to) {
    append_varint(std::size(ranges), to);
    std::uint64_t end = 0;
    for (const auto& each : ranges) {
        append_varint(each.address - end, to);
        append_varint(each.size, to);
        if constexpr (requires { each.tag; }) append_varint(each.tag, to);
        end = each.end();
    }
}

/// Appends the file of a snapshot, or of an object with the same members, to a container of bytes.
template <class Snapshot, class Bytes>
void append_snapshot(const Snapshot& from, Bytes& to) {
    const auto text = [&](std::string_view each) {
        append_varint(each.size(), to);
        append_text(each, to);
    };
    append_text(snapshot_format::magic, to);
    text(from.allocator);
    append_varint(from.tags.size(), to);
    for (const auto& tag : from.tags) text(tag);
    for (const auto counter : snapshot_format::counters) append_varint(from.statistics.*counter, to);
    append_ranges(from.regions, to);
    append_ranges(from.blocks, to);
    append_ranges(from.holes, to);
}

/// The regions of an allocator, with integers for their addresses. Where addresses are handles, the regions follow one
/// another, and each starts at a multiple of 4 KiB.
template <class Allocator>
class snapshot_regions {
    using model = typename Allocator::address_model;

public:
    explicit snapshot_regions(const Allocator& memory) {
        static_assert(
            model::absolute || requires { memory.regions(); },
            "allot: a snapshot of memory with handles needs the regions of the allocator: take a snapshot of "
            "each arena");
        if constexpr (requires { memory.regions(); }) {
            std::uint64_t next = 0;
            for (const auto& each : memory.regions()) {
                if (!each) continue;
                held_.push_back({each, model::absolute ? model::position(each.base) : next});
                next = align_up<std::uint64_t>(next + each.size, 4096);
            }
        }
    }

    /// Returns the ranges of the regions.
    [[nodiscard]] std::vector<snapshot_range> ranges() const {
        std::vector<snapshot_range> all;
        for (const auto& [from, start] : held_) all.push_back({start, from.size});
        return all;
    }
    /// Returns the integer for an address.
    [[nodiscard]] std::uint64_t position(typename model::address address) const noexcept {
        if constexpr (!model::absolute) {
            for (const auto& [from, start] : held_) {
                const std::size_t inside = model::position(address) - model::position(from.base);
                if (inside < from.size && model::locate(from.base, inside) == address) return start + inside;
            }
        }
        return model::position(address);
    }

private:
    struct held {
        region<typename model::base> from;
        std::uint64_t start;
    };
    std::vector<held> held_{};
};

template <class Range>
void sort_ranges(std::vector<Range>& ranges) {
    std::ranges::sort(ranges, {}, &Range::address);
}

/// Adds blocks to a snapshot. The tag of a block is that of the `tagged` block around it, which is larger if the block
/// has guards. A `tagged` allocator may be wrapped or a part.
template <class Allocator>
class block_lister {
public:
    block_lister(snapshot& to, const Allocator& memory, const snapshot_regions<Allocator>& regions)
        : to_{&to}, regions_{&regions} {
        for_tagged_blocks(memory, [&](const auto& block) {
            if (block.tag) tagged_.push_back({regions.position(block.address), block.size, number_of(block.tag)});
        });
        sort_ranges(tagged_);
    }

    template <class Address>
    void operator()(const Address& address, std::size_t size) {
        const std::uint64_t at = regions_->position(address);
        add(at, size, tag_at(at));
    }
    template <class Description>
        requires requires(const Description& block) { block.tag.name; }
    void operator()(const Description& block) {
        add(regions_->position(block.address), block.size, block.tag ? number_of(block.tag) : 0);
    }

private:
    void add(std::uint64_t address, std::size_t size, std::uint32_t tag) {
        to_->blocks.push_back({address, size, tag});
        to_->statistics.used += size;
        ++to_->statistics.count;
    }
    [[nodiscard]] std::uint32_t tag_at(std::uint64_t address) const noexcept {
        const auto next = std::ranges::upper_bound(tagged_, address, {}, &snapshot_block::address);
        return next == tagged_.begin() || address >= next[-1].end() ? 0 : next[-1].tag;
    }
    template <class Tag>
    std::uint32_t number_of(const Tag& tag) {
        std::string name = tag.name;
        if (tag.line != 0) name += ':' + std::to_string(tag.line);
        const auto [at, fresh] = numbers_.try_emplace(std::move(name), static_cast<std::uint32_t>(numbers_.size() + 1));
        if (fresh) to_->tags.push_back(at->first);
        return at->second;
    }

    snapshot* to_;
    const snapshot_regions<Allocator>* regions_;
    std::vector<snapshot_block> tagged_{};
    std::map<std::string, std::uint32_t> numbers_{};
};

}  // namespace detail

/// Returns the state of an allocator that lists its blocks or holes. The list that it cannot produce is empty. Counters
/// that it does not keep are computed from the lists, if possible. A wrapped `tagged` allocator gives the tags. The
/// name of a tag that is a location ends with the line. If the heap is exhausted, the program ends.
template <allocator Allocator>
[[nodiscard]] snapshot take_snapshot(const Allocator& memory, std::string_view name = {}) {
    static_assert(hole_walkable_allocator<Allocator> || block_walkable_allocator<Allocator>,
                  "allot: a snapshot needs an allocator that lists its blocks or its holes, such as an arena");
    snapshot made{.allocator = std::string{name}};
    const detail::snapshot_regions<Allocator> regions{memory};
    made.regions = regions.ranges();
    if constexpr (block_walkable_allocator<Allocator>) {
        detail::block_lister<Allocator> lister{made, memory, regions};
        memory.for_each_block([&]<class... Block>(const Block&... block)
                                  requires std::is_invocable_v<decltype(lister)&, const Block&...>
                              { lister(block...); });
    }
    if constexpr (hole_walkable_allocator<Allocator>) {
        memory.for_each_hole([&](const auto& address, std::size_t size) {
            made.holes.push_back({regions.position(address), size});
            made.statistics.free += size;
            made.statistics.largest_hole = std::max(made.statistics.largest_hole, size);
        });
        made.statistics.holes = made.holes.size();
    }
    if constexpr (counting_allocator<Allocator>) made.statistics = memory.statistics();
    detail::sort_ranges(made.regions);
    detail::sort_ranges(made.blocks);
    detail::sort_ranges(made.holes);
    return made;
}

/// Reads a snapshot. If the bytes are invalid, the result has the parts before the error.
[[nodiscard]] inline format_reading<snapshot> read_snapshot(std::span<const std::byte> bytes) {
    return detail::snapshot_reader{bytes}.read();
}

/// Writes a snapshot. Precondition: the ranges of each list are in ascending order and do not overlap.
[[nodiscard]] inline std::vector<std::byte> write_snapshot(const snapshot& from) {
    std::vector<std::byte> bytes;
    detail::append_snapshot(from, bytes);
    return bytes;
}

}  // namespace v1
}  // namespace allot
