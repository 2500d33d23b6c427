// SPDX-License-Identifier: BSL-1.0
// page_record: the data of a page cache about one page. The page itself is never read or written.
#pragma once

#include <allot/page_cache/page_key.hpp>

namespace allot {
inline namespace v1 {

/// The index that names no page.
inline constexpr std::uint32_t no_page = 0xFFFF'FFFFU;

namespace detail {

enum class page_state : std::uint8_t {
    free,    // no contents
    owned,   // sequences use it; its contents have no key
    listed,  // its contents have a key; sequences use it, or it is cached
};

struct page_record {
    page_key key;                         // if listed
    std::uint32_t same_bucket = no_page;  // the next page of its bucket, if listed
    std::uint32_t previous = no_page;     // in a list of its policy, or of free pages of its group
    std::uint32_t next = no_page;
    std::uint32_t count = 0;  // the number of tables that name it
    // The tree of listed pages: the page before it in a prompt, one page after it, and other pages after that parent.
    std::uint32_t parent = no_page;
    std::uint32_t child = no_page;
    std::uint32_t elder = no_page;
    std::uint32_t younger = no_page;
    std::uint32_t released_at = 0;
    page_state state = page_state::free;
    std::uint8_t pins = 0;
    std::uint8_t hits = 0;
    std::uint8_t priority : 4 = 0;
    std::uint8_t mark : 4 = 0;
};
static_assert(sizeof(page_record) == 56);

}  // namespace detail
}  // namespace v1
}  // namespace allot
