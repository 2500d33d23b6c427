// SPDX-License-Identifier: BSL-1.0
// page_key: the name of the contents of a page and of everything before it, for `page_cache`.
//
//     const allot::page_content pages[] = {{.hash = {1, 2}}, {.hash = {3, 4}, .tokens = tokens}};
//
//     contents   hash 0 ──► hash 1 ──► hash 2
//                  │          │          │
//     keys       key 0 ───► key 1 ───► key 2        key n = chain(key n-1, hash n, tokens n)
//
// A caller hashes the contents of each page. The cache chains the hashes, so that two pages have one key only if all
// pages before them have equal hashes too.
//
// When to use: to describe a prompt to a `page_cache`. When not to use: as a hash against an attacker. The chain adds
// no strength: hash with a keyed cryptographic function if users of one cache must not learn about each other.
//
// Complexity: O(1) for a page, plus O(tokens) if token ids are given.
// Memory: 16 bytes for a key.
// Thread safety: plain values.
//
// Source of the mixing function: Appleby, MurmurHash3, the finalizer of 64 bits.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v1 {

/// A hash of 128 bits.
struct page_key {
    std::uint64_t high = 0;  ///< The upper 64 bits.
    std::uint64_t low = 0;   ///< The lower 64 bits.
    /// Compares all bits.
    friend constexpr bool operator==(const page_key&, const page_key&) = default;
};

/// The contents of one full page.
struct page_content {
    /// A hash of the contents of this page. It need not include the pages before.
    page_key hash;
    /// The token ids of the page, or none. They become part of the key, so give them always or never. A cache with
    /// `page_cache_limits::compare_tokens` also keeps and compares them.
    std::span<const std::uint32_t> tokens{};
};

namespace detail {

[[nodiscard]] constexpr std::uint64_t mix_bits(std::uint64_t bits) noexcept {
    bits = (bits ^ (bits >> 33U)) * 0xFF51'AFD7'ED55'8CCDU;
    bits = (bits ^ (bits >> 33U)) * 0xC4CE'B9FE'1A85'EC53U;
    return bits ^ (bits >> 33U);
}

/// Returns `before` changed by `added`. For one `before`, different `added` give different results.
[[nodiscard]] constexpr page_key chain_keys(page_key before, page_key added) noexcept {
    const std::uint64_t low = mix_bits(added.low ^ (before.low * 0x9E37'79B9'7F4A'7C15U + 1));
    const std::uint64_t high = added.high ^ (before.high * 0xD1B5'4A32'D192'ED03U + std::rotl(before.low, 32));
    const std::uint64_t mixed = mix_bits(high + low);
    return {mixed, low + mixed};
}

[[nodiscard]] constexpr page_key chain_keys(page_key before, const page_content& content) noexcept {
    page_key key = chain_keys(before, content.hash);
    for (const std::uint32_t token : content.tokens) key = chain_keys(key, page_key{token, token});
    return key;
}

/// Returns the key before the first page. Without the 1, model 0 with the salt {0, 1} has the key 0, and a first page
/// with the hash {0, n} has the key before the first page of model 0 with the salt {0, n}.
[[nodiscard]] constexpr page_key root_key(std::uint32_t model, page_key salt) noexcept {
    return chain_keys(page_key{model, 1}, salt);
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
