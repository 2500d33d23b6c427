// Fuzz target: calls on page caches, whose tables must name the bytes of contiguous memory (tests/unit/page_cache). The
// first byte selects the shape of the cache, and each further byte is a choice.
#define DOCTEST_CONFIG_IMPLEMENT
#include "../unit/page_cache/played.hpp"

#include <allot/page_cache.hpp>

#include <cstdlib>

namespace {

using allot::page_group;
using tests::byte_copier;
using tests::played;

constexpr page_group one[] = {{.page_bytes = 12, .page_tokens = 3}};
constexpr page_group mixed[] = {{.page_bytes = 6, .page_tokens = 2},
                                {.page_bytes = 8, .page_tokens = 2, .window = 5},
                                {.page_bytes = 9, .page_tokens = 3, .window = 1, .model = 1}};

template <class Eviction, std::size_t Tiers>
void play(std::span<const unsigned char> choices, std::uint64_t bytes, std::span<const page_group> groups) {
    static constexpr std::uint64_t slower[] = {144, 360};
    using cache = allot::page_cache<allot::page_pool<64>, Eviction, byte_copier, Tiers>;
    played<cache> with{{.bytes = bytes,
                        .groups = groups,
                        .slower = std::span{slower}.first(Tiers),
                        .sequences = 5,
                        .sequence_pages = 20}};
    std::size_t at = 0;
    tests::play_calls(
        with, groups.back().model + 1, [&](std::size_t n) { return at < choices.size() ? choices[at++] % n : 0; },
        [&] { return at >= choices.size(); });
}

/// A failed assertion ends the program.
const bool fails_loudly = [] {
    static doctest::Context context;
    context.setAsDefaultForAssertsOutOfTestCases();
    context.setAssertHandler([](const doctest::AssertData& assertion) {
        if (assertion.m_failed) std::abort();
    });
    return true;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
    if (size == 0 || !fails_loudly) return 0;
    const std::span choices{bytes + 1, size - 1};
    switch (bytes[0] % 6) {
        case 0: play<allot::lru_eviction, 0>(choices, 60, one); break;
        case 1: play<allot::reuse_eviction, 1>(choices, 84, one); break;
        case 2: play<allot::s3_fifo_eviction<>, 2>(choices, 96, one); break;
        case 3: play<allot::priority_eviction<>, 0>(choices, 360, mixed); break;
        case 4: play<allot::leaf_first_eviction<allot::reuse_eviction>, 1>(choices, 216, mixed); break;
        default: play<allot::lru_eviction, 2>(choices, 288, mixed);
    }
    return 0;
}
