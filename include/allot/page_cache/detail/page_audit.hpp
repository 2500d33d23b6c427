// SPDX-License-Identifier: BSL-1.0
// page_audit: compares the records of a page store with its counters, its lists, its table of keys and its strategy.
#pragma once

#include <allot/page_cache/detail/page_store.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Store>
class page_audit {
public:
    page_audit(const Store& of, const page_group* groups) noexcept : of_{of}, groups_{groups} {}

    [[nodiscard]] page_cache_fault find_fault() const noexcept {
        if (!are_counts_right() || !are_large_pages_right()) return page_cache_fault::counts;
        if (!are_lists_right()) return page_cache_fault::lists;
        if (!are_keys_right()) return page_cache_fault::keys;
        if (!is_tree_right()) return page_cache_fault::tree;
        return is_strategy_right() ? page_cache_fault::none : page_cache_fault::strategy;
    }
    [[nodiscard]] bool has_no_references() const noexcept {
        for (const page_record& page : of_.records_)
            if (page.count != 0) return false;
        return true;
    }

private:
    [[nodiscard]] bool is_cut(std::uint32_t slot) const noexcept {
        return of_.shape_.groups == 1 ||
               (of_.group_of(slot) != no_page && slot % of_.shape_.most_pieces < of_.shape_.pieces[of_.group_of(slot)]);
    }
    [[nodiscard]] static bool is_busy(const page_record& page) noexcept { return page.count != 0 || page.pins != 0; }
    [[nodiscard]] bool are_counts_right() const noexcept {
        std::uint64_t used[most_groups]{}, cached[most_groups]{}, bytes = of_.free_large_ * of_.shape_.large_bytes;
        for (std::uint32_t slot = 0; slot != of_.records_.size(); ++slot) {
            const page_record& page = of_.records_[slot];
            const bool free = page.state == page_state::free;
            if (free && is_busy(page)) return false;
            if (!is_cut(slot)) {
                if (!free) return false;
                continue;
            }
            if (page.state == page_state::owned && (page.count == 0 || page.pins != 0)) return false;
            const std::uint32_t group = of_.group_of(slot);
            if (!free) ++(page.count != 0 ? used : cached)[group];
        }
        for (std::uint32_t g = 0; g != of_.shape_.groups; ++g) {
            if (used[g] != of_.used_[g] || cached[g] != of_.cached_[g]) return false;
            bytes += (used[g] + cached[g] + of_.free_[g].count) * groups_[g].page_bytes;
        }
        return bytes == of_.shape_.large * of_.shape_.large_bytes;
    }
    [[nodiscard]] bool are_large_pages_right() const noexcept {
        std::uint32_t idle = 0;
        for (std::uint32_t number = 0; number != of_.large_.size(); ++number) {
            const large_page& large = of_.large_[number];
            std::uint32_t present = 0, busy = 0;
            for (std::uint32_t i = 0; i != of_.shape_.most_pieces; ++i) {
                const page_record& page = of_.records_[number * of_.shape_.most_pieces + i];
                present += page.state != page_state::free ? 1 : 0;
                busy += is_busy(page) ? 1 : 0;
            }
            if ((large.group == no_page) != (present == 0)) return false;
            if (large.group == no_page) continue;
            if (present != large.present || busy != large.busy || of_.is_idle(number) != (busy == 0)) return false;
            idle += busy == 0 ? 1 : 0;
        }
        return idle == of_.idle_.count;
    }
    /// Returns whether a list has `count` pages with right links, and `belongs(slot)` is true for each.
    template <class Belongs>
    [[nodiscard]] bool is_list_right(const page_list& list, Belongs belongs) const noexcept {
        std::uint32_t before = no_page, left = list.count;
        for (std::uint32_t slot = list.first; slot != no_page; slot = of_.records_[slot].next) {
            if (left-- == 0 || of_.records_[slot].previous != before || !belongs(slot)) return false;
            before = slot;
        }
        return left == 0 && list.last == before;
    }
    [[nodiscard]] bool are_lists_right() const noexcept {
        for (std::uint32_t g = 0; g != of_.shape_.groups; ++g) {
            std::uint32_t cached = 0, listed = 0;
            bool right = is_list_right(of_.free_[g], [&](std::uint32_t slot) {
                return of_.records_[slot].state == page_state::free && is_cut(slot) && of_.group_of(slot) == g;
            });
            of_.policies_[g].for_each(of_.uses_, [&](std::uint32_t slot) {
                right = right && of_.records_[slot].state == page_state::listed && !is_busy(of_.records_[slot]) &&
                        of_.group_of(slot) == g && ++cached <= of_.policies_[g].count();
            });
            for (std::uint32_t slot = 0; slot != of_.records_.size(); ++slot)
                listed += of_.records_[slot].state == page_state::listed && !is_busy(of_.records_[slot]) &&
                          of_.group_of(slot) == g;
            if (!right || cached != of_.policies_[g].count() || cached != listed) return false;
        }
        return true;
    }
    [[nodiscard]] bool are_keys_right() const noexcept {
        std::size_t listed = 0, found = 0;
        for (std::uint32_t slot = 0; slot != of_.records_.size(); ++slot) {
            if (of_.records_[slot].state != page_state::listed) continue;
            ++listed;
            if (of_.find_key(of_.records_[slot].key) != slot) return false;
        }
        for (std::uint32_t slot : of_.buckets_)
            for (; slot != no_page && found <= listed; slot = of_.records_[slot].same_bucket) ++found;
        return found == listed;
    }
    [[nodiscard]] bool is_tree_right() const noexcept {
        for (std::uint32_t slot = 0; slot != of_.records_.size(); ++slot) {
            const page_record& page = of_.records_[slot];
            if (page.state != page_state::listed) continue;
            if (page.child != no_page &&
                (of_.records_[page.child].parent != slot || of_.records_[page.child].elder != no_page))
                return false;
            if (page.younger != no_page && of_.records_[page.younger].elder != slot) return false;
            if (page.parent == no_page) continue;
            if (of_.records_[page.parent].state != page_state::listed) return false;
            if ((page.elder == no_page ? of_.records_[page.parent].child : of_.records_[page.elder].younger) != slot)
                return false;
        }
        return true;
    }
    [[nodiscard]] bool is_strategy_right() const noexcept {
        using offset = typename decltype(of_.pages_)::offset_type;
        std::uint32_t free = 0;
        bool right = true;
        of_.pages_.for_each_hole({0, static_cast<offset>(of_.shape_.large)}, [&](auto hole) {
            for (auto at = hole.offset; at != hole.end(); ++at) {
                const auto number = static_cast<std::uint32_t>(at);
                right = right && (of_.shape_.groups == 1 ? of_.records_[number].state == page_state::free
                                                         : of_.large_[number].group == no_page);
                ++free;
            }
        });
        return right && free == of_.free_large_;
    }

    const Store& of_;
    const page_group* groups_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
