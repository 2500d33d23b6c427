// SPDX-License-Identifier: BSL-1.0
// region_layout: divides the regions of a snapshot into pieces without gaps, as other formats need them.
//
//     region   ├ block ┤rec├─ block ─┤    hole    ├ block ┤rec┤
//     pieces   ├── block ──┼─ block ─┼── free ────┼── block ──┤
//
// A gap that contains a hole is free. A gap without a hole has records of the allocator or bytes for alignment, and is
// a part of the block in front of it. If the snapshot has no holes, each gap is free.
//
// Complexity: O(regions + blocks + holes).
// Memory: 24 bytes for each piece.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/snapshot.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// A part of a region: a block or free bytes.
struct region_piece {
    std::uint64_t from, end;
    const snapshot_block* block;  // null: free
};

struct region_pieces {
    snapshot_range where{};
    std::vector<region_piece> pieces{};
};

/// The regions of a snapshot, or one region around all blocks and holes. Blocks outside the regions are left out.
class region_layout {
public:
    explicit region_layout(const snapshot& from) : from_{from} {
        if (from.regions.empty()) {
            if (const snapshot_range all = hull(); all.size != 0) divide(all);
        }
        for (const snapshot_range& each : from.regions) divide(each);
    }
    [[nodiscard]] const std::vector<region_pieces>& regions() const noexcept { return regions_; }

private:
    [[nodiscard]] snapshot_range hull() const {
        std::uint64_t low = ~std::uint64_t{0}, high = 0;
        const auto add = [&](const auto& ranges) {
            if (ranges.empty()) return;
            low = std::min(low, ranges.front().address);
            high = std::max(high, ranges.back().end());
        };
        add(from_.blocks);
        add(from_.holes);
        return low < high ? snapshot_range{low, high - low} : snapshot_range{};
    }

    void divide(snapshot_range region) {
        region_pieces made{.where = region};
        std::uint64_t at = region.address;
        while (hole_ != from_.holes.size() && from_.holes[hole_].address < region.address) ++hole_;
        while (block_ != from_.blocks.size() && from_.blocks[block_].address < region.address) ++block_;
        for (; block_ != from_.blocks.size() && from_.blocks[block_].end() <= region.end(); ++block_) {
            const snapshot_block& block = from_.blocks[block_];
            add_gap(made, at, block.address);
            at = block.end();
            made.pieces.push_back({block.address, at, &block});
        }
        add_gap(made, at, region.end());
        regions_.push_back(std::move(made));
    }
    void add_gap(region_pieces& to, std::uint64_t from, std::uint64_t end) {
        bool is_free = from_.holes.empty() || to.pieces.empty();
        for (; hole_ != from_.holes.size() && from_.holes[hole_].address < end; ++hole_) is_free = true;
        if (from == end) return;
        if (is_free) to.pieces.push_back({from, end, nullptr});
        else to.pieces.back().end = end;
    }

    const snapshot& from_;
    std::vector<region_pieces> regions_{};
    std::size_t block_ = 0, hole_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
