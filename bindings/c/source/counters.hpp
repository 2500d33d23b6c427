// SPDX-License-Identifier: BSL-1.0
// counters: the counters of a handle, and its snapshot.
#pragma once

#include "own_memory.hpp"
#include "structs.hpp"

#include <allot/inspect/snapshot.hpp>

#include <limits>
#include <string_view>

namespace allot_c {

/// The counters that calls change.
class counters {
public:
    void allocated(std::uint64_t size) noexcept {
        ++requests_;
        ++blocks_;
        changed(0, size);
    }
    void refused() noexcept {
        ++requests_;
        ++refusals_;
    }
    void freed(std::uint64_t size) noexcept {
        --blocks_;
        used_ -= size;
    }
    void changed(std::uint64_t from, std::uint64_t to) noexcept {
        used_ += to - from;
        if (used_ > peak_) peak_ = used_;
    }
    void reset() noexcept { used_ = blocks_ = 0; }
    [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_; }

    /// Returns all counters. `walk(f)` calls `f(extent)` with every hole.
    template <class Walk>
    [[nodiscard]] allot_statistics with_holes(std::uint64_t size, Walk walk) const noexcept {
        allot_statistics now = ALLOT_STATISTICS_INIT;
        now.size = size;
        now.used = used_;
        now.blocks = blocks_;
        now.peak = peak_;
        now.requests = requests_;
        now.refusals = refusals_;
        walk([&](auto hole) {
            now.free += hole.size;
            ++now.holes;
            if (hole.size > now.largest_hole) now.largest_hole = hole.size;
        });
        return now;
    }

private:
    std::uint64_t used_ = 0, blocks_ = 0, peak_ = 0, requests_ = 0, refusals_ = 0;
};

/// Bytes on their way to the caller, in pieces.
class written_bytes {
public:
    written_bytes(allot_write write, void* user) noexcept : write_{write}, user_{user} {}
    void push_back(std::byte next) noexcept {
        if (count_ == sizeof bytes_) flush();
        bytes_[count_++] = next;
    }
    void flush() noexcept {
        if (!stopped_ && count_ != 0) stopped_ = write_(user_, bytes_, count_) != 0;
        count_ = 0;
    }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

private:
    allot_write write_;
    void* user_;
    bool stopped_ = false;
    std::size_t count_ = 0;
    std::byte bytes_[1024];
};

/// The members of an `allot::snapshot`, in memory of the library.
struct state {
    explicit state(const own_memory& memory) noexcept : own_blocks{memory}, own_holes{memory} {}

    own_array<allot::snapshot_block> own_blocks;
    own_array<allot::snapshot_range> own_holes;
    std::string_view allocator{};
    std::span<const std::string_view> tags{};
    allot::allocator_statistics statistics{};
    allot::snapshot_range regions[1]{};
    std::span<const allot::snapshot_block> blocks{};
    std::span<const allot::snapshot_range> holes{};
};

[[nodiscard]] constexpr std::size_t narrowed(std::uint64_t value) noexcept {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return value > most ? most : static_cast<std::size_t>(value);
}

/// Writes a snapshot. `walk_blocks(f)` and `walk_holes(f)` call `f(extent)` in ascending order.
template <class Blocks, class Holes>
[[nodiscard]] allot_status write_state(const own_memory& memory, const char* name, allot::snapshot_range region,
                                       const allot_statistics& now, Blocks walk_blocks, Holes walk_holes,
                                       allot_write write, void* user) noexcept {
    if (write == nullptr) return ALLOT_NULL_ARGUMENT;
    state made{memory};
    if (!made.own_blocks.create(narrowed(now.blocks)) || !made.own_holes.create(narrowed(now.holes)))
        return ALLOT_OUT_OF_MEMORY;
    std::size_t blocks = 0, holes = 0;
    walk_blocks([&](auto at) { made.own_blocks[blocks++] = {at.offset, at.size, 0}; });
    walk_holes([&](auto at) { made.own_holes[holes++] = {at.offset, at.size}; });
    made.allocator = name == nullptr ? "" : name;
    made.statistics = {narrowed(now.used),     narrowed(now.blocks), narrowed(now.peak),         narrowed(now.requests),
                       narrowed(now.refusals), narrowed(now.free),   narrowed(now.largest_hole), narrowed(now.holes)};
    made.regions[0] = region;
    made.blocks = made.own_blocks.span();
    made.holes = made.own_holes.span();
    written_bytes bytes{write, user};
    allot::detail::append_snapshot(made, bytes);
    bytes.flush();
    return bytes.stopped() ? ALLOT_STOPPED : ALLOT_OK;
}

}  // namespace allot_c
