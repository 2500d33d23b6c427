// SPDX-License-Identifier: BSL-1.0
// page_limits: the sizes of a `page_cache`, and the reasons for which it refuses a call.
//
//     constexpr allot::page_group groups[] = {{.page_bytes = 32768, .page_tokens = 16},                  // all tokens
//                                             {.page_bytes = 24576, .page_tokens = 16, .window = 4096}};
//     const allot::page_cache_limits limits{.bytes = 8_GiB, .groups = groups, .sequence_pages = 2048};
//
// A group is a set of layers whose pages have one size. The memory is divided into large pages, whose size is the least
// common multiple of the page sizes. A large page is cut into pages of one group, and becomes whole again when all of
// them are free.
//
// When to use: to construct a `page_cache`. When not to use: for one size, leave `groups` as it is.
//
// Complexity: the texts are constants.
// Memory: plain values.
// Thread safety: plain values.
//
// Source: Zhang et al., "Jenga: Effective Memory Management for Serving LLM with Heterogeneity", SOSP 2025, for large
// pages of the least common multiple.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v1 {

/// Layers of one model whose pages have one size.
struct page_group {
    /// The size of a page in bytes. With 1, `page_cache_limits::bytes` is the number of pages.
    std::size_t page_bytes = 1;
    /// The number of tokens in a page. It is equal in all groups of a model.
    std::uint32_t page_tokens = 16;
    /// The number of last tokens that the layers read to compute the next one, including that one. 0: all tokens.
    std::uint32_t window = 0;
    /// The number of the model. The groups of one model follow each other, and the models count from 0.
    std::uint32_t model = 0;
};

/// The group of `page_cache_limits::groups` by default: pages are counted, and hold 16 tokens.
inline constexpr page_group one_page_group[] = {page_group{}};

/// The sizes of a `page_cache`.
struct page_cache_limits {
    /// The size of the memory in bytes.
    std::uint64_t bytes = 0;
    /// The page sizes, 1 to 8.
    std::span<const page_group> groups = one_page_group;
    /// The sizes of slower memories in bytes, the fastest first: one for each of the tiers of the type of the cache.
    std::span<const std::uint64_t> slower{};
    /// The largest number of sequences that exist at once.
    std::uint32_t sequences = 256;
    /// The largest number of pages of a sequence in one group.
    std::uint32_t sequence_pages = 1024;
    /// Whether the cache keeps the token ids of each page and compares them, so that equal hashes are no match.
    bool compare_tokens = false;
};

/// The reason for which a call of a `page_cache` fails.
enum class page_refusal : unsigned char {
    none,              ///< The call succeeded.
    bad_limits,        ///< The limits are invalid, or there is too little memory for records.
    not_a_sequence,    ///< The sequence was released, or it is of another cache.
    not_a_model,       ///< No group has this model.
    out_of_sequences,  ///< `page_cache_limits::sequences` exist.
    out_of_pages,      ///< Too many pages are in use or pinned.
    too_long,          ///< The sequence would exceed `page_cache_limits::sequence_pages`, or 2^32 - 1 tokens.
    not_full,          ///< The contents name a page that is not full.
    other_contents,    ///< The page has other contents already, given by a sequence that shares it.
    behind_window,     ///< The sequence would need pages that a window has passed.
    not_copied,        ///< The page must be copied, and no function copied it.
    pinned_too_often,  ///< A page has 255 pins.
    not_pinned,        ///< There is a page without a pin.
    changing,          ///< Another thread changes the sequence at this moment.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(page_refusal reason) noexcept {
    switch (reason) {
        case page_refusal::none: return "the call succeeded";
        case page_refusal::bad_limits: return "the limits are invalid, or there is too little memory for records";
        case page_refusal::not_a_sequence: return "the sequence was released, or it is of another cache";
        case page_refusal::not_a_model: return "no group of pages has this model";
        case page_refusal::out_of_sequences: return "too many sequences exist";
        case page_refusal::out_of_pages: return "too many pages are in use or pinned";
        case page_refusal::too_long: return "the sequence would have too many pages";
        case page_refusal::not_full: return "the contents name a page that is not full";
        case page_refusal::other_contents: return "the page has other contents already";
        case page_refusal::behind_window: return "the sequence would need pages that a window has passed";
        case page_refusal::not_copied: return "the page must be copied, and was not";
        case page_refusal::pinned_too_often: return "a page has 255 pins";
        case page_refusal::not_pinned: return "a page has no pin";
        case page_refusal::changing: return "another thread changes the sequence";
    }
    return "unknown";
}

/// A broken invariant of a `page_cache`: its records are damaged.
enum class page_cache_fault : unsigned char {
    none,        ///< The cache is consistent.
    counts,      ///< Free, cached and used pages are not all pages, or a counter is wrong.
    lists,       ///< A page is in a list that does not suit its state, in two lists, or in none.
    keys,        ///< A named page is not found by its key, or a page without name is.
    tree,        ///< A page and the page before it do not agree about each other.
    strategy,    ///< The strategy counts a used page as free, or the reverse.
    references,  ///< The tables name a page more or less often than its count says.
};

/// Returns a human-readable description of the fault.
[[nodiscard]] constexpr const char* to_string(page_cache_fault fault) noexcept {
    switch (fault) {
        case page_cache_fault::none: return "the cache is consistent";
        case page_cache_fault::counts: return "free, cached and used pages are not all pages";
        case page_cache_fault::lists: return "a page is not in the list of its state";
        case page_cache_fault::keys: return "a page is not found by its key";
        case page_cache_fault::tree: return "a page and the page before it do not agree";
        case page_cache_fault::strategy: return "the strategy and the cache do not agree about free pages";
        case page_cache_fault::references: return "the tables do not name a page as often as its count says";
    }
    return "unknown";
}

}  // namespace v1
}  // namespace allot
