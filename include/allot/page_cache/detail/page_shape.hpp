// SPDX-License-Identifier: BSL-1.0
// page_shape: how the memory of a page cache is divided, computed from its limits.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/page_cache/detail/page_record.hpp>
#include <allot/page_cache/page_limits.hpp>

#include <numeric>

namespace allot {
inline namespace v1 {
namespace detail {

inline constexpr std::uint32_t most_groups = 8;

struct page_shape {
    std::uint64_t large_bytes = 1;  // the least common multiple of the page sizes
    std::uint32_t large = 0;        // large pages in the memory; 0 if the limits are invalid
    std::uint32_t groups = 0;       // page sizes
    std::uint32_t models = 0;
    std::uint32_t rows = 0;                  // the most groups of a model
    std::uint32_t most_pieces = 1;           // the most pages of a large page
    std::uint32_t tokens = 0;                // token ids that are kept for a page
    std::uint32_t pieces[most_groups]{};     // pages of each group in a large page
    std::uint32_t first[most_groups + 1]{};  // the first group of each model

    [[nodiscard]] constexpr std::size_t slots() const noexcept { return std::size_t{large} * most_pieces; }
};

/// Divides the groups into models. Returns false if they are not in order.
[[nodiscard]] constexpr bool find_models(std::span<const page_group> groups, page_shape& shape) noexcept {
    for (std::uint32_t g = 0; g != groups.size(); ++g) {
        const page_group& group = groups[g];
        const bool same = g != 0 && group.model == groups[g - 1].model;
        if (same && group.page_tokens != groups[g - 1].page_tokens) return false;
        if (!same && group.model != shape.models) return false;
        if (!same) shape.first[shape.models++] = g;
        const std::uint32_t rows = g + 1 - shape.first[shape.models - 1];
        if (rows > shape.rows) shape.rows = rows;
    }
    shape.first[shape.models] = shape.groups;
    return true;
}

/// Returns the shape, with no large pages if the limits are invalid.
[[nodiscard]] constexpr page_shape shape_of(const page_cache_limits& limits) noexcept {
    page_shape shape;
    if (limits.groups.empty() || limits.groups.size() > most_groups || limits.sequences == 0 ||
        limits.sequences == no_page || limits.sequence_pages == 0)
        return {};
    shape.groups = static_cast<std::uint32_t>(limits.groups.size());
    for (const page_group& group : limits.groups) {
        if (group.page_bytes == 0 || group.page_tokens == 0) return {};
        const std::uint64_t each = group.page_bytes / std::gcd(shape.large_bytes, std::uint64_t{group.page_bytes});
        if (!checked_multiply(shape.large_bytes, each, shape.large_bytes)) return {};
        if (limits.compare_tokens && group.page_tokens > shape.tokens) shape.tokens = group.page_tokens;
    }
    const std::uint64_t large = limits.bytes / shape.large_bytes;
    for (std::uint32_t g = 0; g != shape.groups; ++g) {
        const std::uint64_t pieces = shape.large_bytes / limits.groups[g].page_bytes;
        if (pieces >= no_page || large >= no_page / pieces) return {};  // page indices have 32 bits
        shape.pieces[g] = static_cast<std::uint32_t>(pieces);
        if (shape.pieces[g] > shape.most_pieces) shape.most_pieces = shape.pieces[g];
    }
    if (!find_models(limits.groups, shape)) return {};
    shape.large = static_cast<std::uint32_t>(large);
    return shape;
}

/// Returns the shape of a slower tier, with no large pages if it is invalid.
[[nodiscard]] constexpr page_shape shape_of_tier(const page_cache_limits& limits, std::size_t tier) noexcept {
    page_cache_limits slower = limits;
    slower.bytes = limits.slower[tier];
    return shape_of(slower);
}

/// Returns the number of first pages that a window does not need to compute the token after `tokens` tokens.
[[nodiscard]] constexpr std::uint32_t passed_pages(const page_group& group, std::uint32_t tokens) noexcept {
    return group.window == 0 || tokens < group.window ? 0 : (tokens - group.window + 1) / group.page_tokens;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
