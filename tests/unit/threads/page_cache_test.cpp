// One thread changes a page cache, and others read its tables.
#include <allot/page_cache/page_cache.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace {

using cache_type = allot::page_cache<allot::page_pool<64>>;
constexpr allot::page_group group[] = {{.page_tokens = 1}};
constexpr allot::page_cache_limits limits{.bytes = 64, .groups = group, .sequences = 4, .sequence_pages = 24};

/// A sequence with the alignment of a lock-free atomic.
struct alignas(8) shared_sequence {
    cache_type::sequence_type named;
};

/// Reads the tables of all sequences until the writer ends. Returns whether every table that was read is one that
/// existed: its pages are pages of the cache, and no page is in it twice.
bool read_tables(const cache_type& cache, const std::array<std::atomic<shared_sequence>, 4>& sequences,
                 const std::atomic<bool>& ended, std::atomic<int>& reads) {
    std::array<std::uint32_t, 24> table{};
    bool right = true;
    while (!ended.load())
        for (const auto& sequence : sequences) {
            const auto count = cache.read_pages(sequence.load().named, table);
            if (!count) continue;
            ++reads;
            const auto end = table.begin() + *count;
            std::sort(table.begin(), end);
            right = right && std::adjacent_find(table.begin(), end) == end && (*count == 0 || end[-1] < 64);
        }
    return right;
}

}  // namespace

TEST_CASE("page_cache: threads read tables while another one changes them") {
    std::vector<std::byte> records(cache_type::bytes_for(limits));
    cache_type cache{limits, records};
    std::array<std::atomic<shared_sequence>, 4> sequences{};
    std::atomic<bool> ended = false;
    std::array<std::atomic<int>, 2> reads{};
    std::array<bool, 2> right{};
    std::vector<std::thread> readers;
    for (std::size_t i = 0; i != 2; ++i)
        readers.emplace_back([&, i] { right[i] = read_tables(cache, sequences, ended, reads[i]); });
    std::mt19937 random{7};
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    // At least 20,000 changes, and more until both readers read something.
    for (int change = 0; change < 20000 || reads[0] == 0 || reads[1] == 0; ++change) {
        auto& which = sequences[below(4)];
        const std::uint32_t tokens = cache.tokens(which.load().named);
        if (below(4) == 0) {
            cache.release(which.load().named);
            if (const auto begun = cache.start({})) which.store({begun->sequence});
        } else if (below(2) == 0) {
            static_cast<void>(cache.append(which.load().named, below(8)));
        } else {
            static_cast<void>(cache.truncate(which.load().named, below(tokens + 1)));
        }
        if (change % 64 == 0) std::this_thread::yield();
    }
    ended.store(true);
    for (std::thread& reader : readers) reader.join();
    CHECK(right[0]);
    CHECK(right[1]);
    CHECK_EQ(cache.check(), allot::page_cache_fault::none);
}
