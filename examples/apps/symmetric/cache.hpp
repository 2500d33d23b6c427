// SPDX-License-Identifier: BSL-1.0
// A key/value cache whose pages are on several ranks.
//
//     directory   key ──► table │ rank 2, row 7 │ rank 0, row 1 │     every rank has the same directory, because
//                                    │               │              all make the same calls to it
//     pages       rank 0 │ 0 │ ▓ │…  ◄───────────────┘
//                 rank 2 │ … │ 7 │   ◄── written by the rank that computed the value, read by the rank that requests it
//
// The pages are one block, with the same offset on every rank. A pool for each rank's part records its free rows.
// `paged` creates tables of rows from all ranks in turn. The ranks exchange no addresses and no messages: the sequence
// of calls determines the position of every page. The ranks compare a checksum of their directories in `agree`.
//
// Requests arrive in rounds of distinct keys. The rank whose turn it is reads a value from the cache, or computes and
// writes it. Evictions happen between rounds, when no rank reads.
#pragma once

#include "shared.hpp"

#include <allot/compose/adopted.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace example {

inline constexpr std::size_t page_bytes = 256, all_pages = 256, most_pages = 6;
inline constexpr int cache_rounds = 100, requests_a_round = 8, all_keys = 120;

/// Allocates pages of all ranks in turn.
template <class Device>
class pages_of_ranks {
    using remote = allot::remote_offset<decltype(Device::address::handle)>;
    struct kind : allot::traits_of<Device> {
        using address_model = remote;
    };
    struct nothing_to_do {
        void operator()(typename remote::address) const noexcept {}
    };
    static constexpr allot::pool_options slots{
        .slot = page_bytes, .count = all_pages, .align = 64, .store = allot::pool_store::bitmap};
    using part = allot::arena<allot::adopted<kind, nothing_to_do>, allot::pool<slots>>;

    std::vector<part> parts_;
    std::size_t next_ = 0;

public:
    using address_model = remote;
    using block_type = allot::block_of<part>;
    static constexpr bool host_accessible = Device::host_accessible;
    static constexpr allot::offset_use offsets = Device::offsets;
    static constexpr allot::dl_device_type dl_device = Device::dl_device;
    static constexpr allot::reclaim reclaims = allot::reclaim::any;

    /// `starts` has the first page of each rank.
    explicit pages_of_ranks(const std::vector<typename remote::address>& starts) {
        const std::size_t bytes =
            page_bytes * static_cast<std::size_t>(share(all_pages, static_cast<int>(starts.size())));
        for (const auto& start : starts) parts_.emplace_back(allot::adopted<kind, nothing_to_do>{start, bytes, 64, {}});
    }
    [[nodiscard]] block_type allocate(allot::layout wanted) noexcept {
        for (std::size_t tried = 0; tried != parts_.size(); ++tried) {
            next_ = (next_ + 1) % parts_.size();
            if (const block_type given = parts_[next_].allocate(wanted)) return given;
        }
        return {};
    }
    void deallocate(block_type held) noexcept {
        parts_[static_cast<std::size_t>(held.address.handle.rank)].deallocate(held);
    }
    [[nodiscard]] allot::diagnosis diagnose(allot::layout wanted) const noexcept { return parts_[0].diagnose(wanted); }
};

/// The statistics of the directory, which are the same on every rank.
struct cache_counts {
    int hits = 0, misses = 0, evictions = 0;
};

template <class Device, class Ranks>
class cache {
    using memory_type = memory_of_ranks<Device, Ranks>;
    using pages = pages_of_ranks<Device>;
    using table = allot::pointer_table<page_bytes, allot::ranked_row<>, typename pages::address_model>;
    using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
    using values = allot::paged<pages, heap_arena, table>;
    using value = typename values::block_type;
    using block = typename memory_type::block_type;

    struct entry {
        value where;
        int last_used = 0;
    };

    memory_type& memory_;
    Ranks& ranks_;
    block pages_, sums_;
    values values_;
    std::map<int, entry> directory_;
    std::size_t free_pages_ = all_pages;
    int round_ = 0;
    cache_counts counts_;
    std::uint64_t sum_ = 0;  // over the values that this rank read

    [[nodiscard]] block everywhere(allot::layout wanted) const {
        const block made = memory_.allocate(wanted);
        require(static_cast<bool>(made), "the cache's memory cannot be allocated");
        const allot::agreement agreed = memory_.agree();
        require(static_cast<bool>(agreed), agreed.what());
        return made;
    }
    [[nodiscard]] std::vector<typename memory_type::remote_address> starts() const {
        std::vector<typename memory_type::remote_address> all;
        for (int rank = 0; rank != ranks_.size(); ++rank) all.push_back(*memory_.on(rank, pages_));
        return all;
    }
    void synchronize() { require_code(Device::synchronize(ranks_, pages_.address.handle), "synchronize"); }

    /// Returns the value for a key: numbers that are computed from the key.
    [[nodiscard]] static std::vector<std::uint32_t> computed(int key) {
        std::minstd_rand numbers{static_cast<unsigned>(key) + 1};
        std::vector<std::uint32_t> made(1 + numbers() % (most_pages * page_bytes / sizeof(std::uint32_t)));
        for (std::uint32_t& each : made) each = static_cast<std::uint32_t>(numbers());
        return made;
    }
    /// Calls `transfer(bytes, page, count)` for every page of a value.
    template <class Bytes, class Transfer>
    static void for_each_page(const value& of, Bytes* bytes, Transfer transfer) {
        for (std::size_t at = 0; at < of.size; at += page_bytes) {
            const std::size_t count = std::min(page_bytes, of.size - at);
            require_code(transfer(bytes + at, table::locate(of.address, at), count), "a transfer");
        }
        for (std::size_t at = 0; at < of.size; at += page_bytes)
            require_code(Device::flush(table::locate(of.address, at).handle), "a flush");
    }

    void put(const value& where, int key) {
        const auto made = computed(key);
        for_each_page(
            where, reinterpret_cast<const std::byte*>(made.data()),
            [](const std::byte* bytes, auto page, std::size_t count) { return Device::put(bytes, page, count); });
    }
    void get(const value& where, int key) {
        std::vector<std::uint32_t> got(where.size / sizeof(std::uint32_t));
        for_each_page(where, reinterpret_cast<std::byte*>(got.data()),
                      [](std::byte* bytes, auto page, std::size_t count) { return Device::get(page, bytes, count); });
        require(got == computed(key), "the cache returned a wrong value for key " + std::to_string(key));
        sum_ += checksum(no_bytes, got.data(), where.size);
    }

    /// Evicts the least recently used values until a whole round fits.
    void make_room() {
        while (free_pages_ < requests_a_round * most_pages) {
            const auto oldest =
                std::min_element(directory_.begin(), directory_.end(),
                                 [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; });
            free_pages_ += oldest->second.where.address.size();
            values_.deallocate(oldest->second.where);
            directory_.erase(oldest);
            ++counts_.evictions;
        }
    }
    /// Returns a checksum of keys, tables and times of last use.
    [[nodiscard]] std::uint64_t directory_sum() const {
        std::uint64_t sum = no_bytes;
        for (const auto& [key, each] : directory_) {
            sum = checksum(sum, &key, sizeof key);
            sum = checksum(sum, &each.last_used, sizeof each.last_used);
            sum = checksum(sum, each.where.address.entries, each.where.address.count * sizeof(typename table::value));
        }
        return sum;
    }

public:
    cache(memory_type& memory, Ranks& ranks)
        : memory_{memory},
          ranks_{ranks},
          pages_{everywhere({page_bytes * static_cast<std::size_t>(share(all_pages, ranks.size())), 64})},
          sums_{everywhere({sizeof sum_, 64})},
          values_{pages{starts()}, heap_arena{{}, 64_KiB}, *memory_.on(0, pages_)} {}

    /// Serves a round. Every rank receives all requests and serves its own. Precondition: the keys are distinct.
    void serve(const std::vector<int>& keys) {
        ++round_;
        make_room();
        int turn = round_;  // the rank whose turn it is
        for (const int key : keys) {
            const bool is_mine = turn++ % ranks_.size() == ranks_.rank();
            if (const auto found = directory_.find(key); found != directory_.end()) {
                ++counts_.hits;
                found->second.last_used = round_;
                if (is_mine) get(found->second.where, key);
                continue;
            }
            ++counts_.misses;
            const std::size_t bytes = computed(key).size() * sizeof(std::uint32_t);
            const value fresh = values_.allocate({bytes, 64});
            require(static_cast<bool>(fresh), "a value does not fit the cache");
            free_pages_ -= fresh.address.size();
            directory_[key] = {fresh, round_};
            if (is_mine) put(fresh, key);
        }
        synchronize();
        const allot::agreement agreed = memory_.agree(directory_sum());
        require(static_cast<bool>(agreed), agreed.what());
    }

    [[nodiscard]] const cache_counts& counts() const { return counts_; }

    /// Returns the sum over the values that all ranks read. Every rank must call it.
    [[nodiscard]] std::uint64_t sum() {
        std::memcpy(Device::local(sums_.address), &sum_, sizeof sum_);
        synchronize();
        std::uint64_t all = 0;
        for (int rank = 0; rank != ranks_.size(); ++rank) {
            std::uint64_t part = 0;
            const auto there = *memory_.on(rank, sums_);
            require_code(Device::get(there, &part, sizeof part), "a transfer");
            require_code(Device::flush(there.handle), "a flush");
            all += part;
        }
        synchronize();
        return all;
    }
};

/// Runs rounds of requests, in which some keys are more frequent than others.
template <class Device, class Ranks>
void serve_all(cache<Device, Ranks>& of) {
    std::minstd_rand random{7};
    for (int round = 0; round != cache_rounds; ++round) {
        std::vector<int> keys;
        while (keys.size() != requests_a_round) {
            const int key = static_cast<int>(std::min({random(), random(), random()}) % all_keys);
            if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
        }
        of.serve(keys);
    }
}

}  // namespace example
