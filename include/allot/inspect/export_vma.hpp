// SPDX-License-Identifier: BSL-1.0
// export_vma: writes a snapshot as the JSON of the Vulkan Memory Allocator (VMA), as vmaBuildStatsString returns it
// with a detailed map.
//
//     std::string text;
//     allot::export_vma(allot::snapshot{}, [&](std::string_view part) { text += part; });
//
//     snapshot                                VMA
//     region                                  block of the default pool of memory type 0
//     block                                   suballocation of type UNKNOWN, with the name of its tag
//     hole, and memory without a block        suballocation of type FREE
//     gap without a hole, such as a record    part of the previous suballocation
//
// The suballocations of a block cover it without gaps, because GpuMemDumpVis.py of VMA adds up their sizes. A block
// that is in no region is left out. A snapshot without regions has one region around its blocks and holes.
//
// When to use: to draw a snapshot with GpuMemDumpVis.py, or to compare it with a dump of VMA.
// When not to use: for events. The format has a single state.
//
// Complexity: O(regions + blocks + holes).
// Memory: 64 KiB.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/detail/output.hpp>
#include <allot/inspect/detail/region_layout.hpp>
#include <allot/inspect/snapshot.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The statistics that VMA prints for a group of blocks.
struct vma_totals {
    std::uint64_t regions = 0, bytes = 0, blocks = 0, used = 0, holes = 0;
    std::uint64_t least_block = ~std::uint64_t{0}, most_block = 0, least_hole = ~std::uint64_t{0}, most_hole = 0;

    void add(const region_pieces& region) noexcept {
        ++regions;
        bytes += region.where.size;
        for (const region_piece& each : region.pieces) {
            const std::uint64_t size = each.end - each.from;
            if (each.block != nullptr) {
                ++blocks;
                used += size;
                least_block = std::min(least_block, size);
                most_block = std::max(most_block, size);
            } else {
                ++holes;
                least_hole = std::min(least_hole, size);
                most_hole = std::max(most_hole, size);
            }
        }
    }
};

template <class Out>
class vma_writer {
public:
    vma_writer(const snapshot& from, Out& out) : from_{from}, out_{out} {}

    void write() {
        const region_layout layout{from_};
        vma_totals totals;
        for (const region_pieces& each : layout.regions()) totals.add(each);
        out_.text("{\"General\":{\"API\":\"Vulkan\",\"GPU\":");
        out_.text(as_json(from_.allocator));
        out_.text("},\n\"Total\":");
        stats(totals);
        out_.text(",\n\"MemoryInfo\":{\"Heap 0\":{\"Flags\":[],\"Size\":");
        out_.number(totals.bytes);
        member(",\"Budget\":{\"BudgetBytes\":", totals.bytes);
        member(",\"UsageBytes\":", totals.bytes);
        out_.text("},\"Stats\":");
        stats(totals);
        out_.text(",\"MemoryPools\":{\"Type 0\":{\"Flags\":[],\"Stats\":");
        stats(totals);
        out_.text("}}}},\n\"DefaultPools\":{\"Type 0\":{\"PreferredBlockSize\":");
        std::uint64_t largest = 0;
        for (const region_pieces& each : layout.regions()) largest = std::max(largest, each.where.size);
        out_.number(largest);
        out_.text(",\"Blocks\":{");
        for (std::size_t i = 0; i != layout.regions().size(); ++i) region(i, layout.regions()[i]);
        out_.text("},\"DedicatedAllocations\":[]}},\n\"CustomPools\":{}}\n");
    }

private:
    void member(std::string_view name, std::uint64_t value) {
        out_.text(name);
        out_.number(value);
    }
    void stats(const vma_totals& of) {
        member("{\"BlockCount\":", of.regions);
        member(",\"BlockBytes\":", of.bytes);
        member(",\"AllocationCount\":", of.blocks);
        member(",\"AllocationBytes\":", of.used);
        member(",\"UnusedRangeCount\":", of.holes);
        if (of.blocks > 1) {
            member(",\"AllocationSizeMin\":", of.least_block);
            member(",\"AllocationSizeMax\":", of.most_block);
        }
        if (of.holes > 1) {
            member(",\"UnusedRangeSizeMin\":", of.least_hole);
            member(",\"UnusedRangeSizeMax\":", of.most_hole);
        }
        out_.byte('}');
    }
    void region(std::size_t index, const region_pieces& of) {
        vma_totals totals;
        totals.add(of);
        out_.text(index == 0 ? "\n\"" : ",\n\"");
        out_.number(index);
        member("\":{\"TotalBytes\":", of.where.size);
        member(",\"UnusedBytes\":", totals.bytes - totals.used);
        member(",\"Allocations\":", totals.blocks);
        member(",\"UnusedRanges\":", totals.holes);
        out_.text(",\"Suballocations\":[");
        bool first = true;
        for (const region_piece& each : of.pieces) {
            member(first ? "\n{\"Offset\":" : ",\n{\"Offset\":", each.from - of.where.address);
            first = false;
            out_.text(each.block == nullptr ? ",\"Type\":\"FREE\"" : ",\"Type\":\"UNKNOWN\"");
            member(",\"Size\":", each.end - each.from);
            if (each.block != nullptr) {
                out_.text(",\"Usage\":0");
                if (each.block->tag != 0) {
                    out_.text(",\"Name\":");
                    out_.text(as_json(from_.name_of(each.block->tag)));
                }
            }
            out_.byte('}');
        }
        out_.text("]}");
    }

    const snapshot& from_;
    Out& out_;
};

}  // namespace detail

/// Writes a snapshot as JSON of VMA. `write(std::string_view)` receives the parts of the text in their order.
template <class Write>
void export_vma(const snapshot& from, Write&& write) {
    detail::output out{write};
    detail::vma_writer{from, out}.write();
    out.flush();
}

}  // namespace v1
}  // namespace allot
