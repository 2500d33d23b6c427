// SPDX-License-Identifier: BSL-1.0
// page_store: the pages of a page cache, without sequences: which are free, owned or listed, and the table of keys.
//
//     memory   │ large page of group 0 │ large page of group 1 │  free  │ …     a large page has the size of the least
//     slots    │  0  │  1  │  2  │  3  │     4     │     6     │  …            common multiple of all page sizes
//
// A slot is the index of a record: the number of the large page times the most pages that one is cut into, plus the
// position in it. The index of a page counts pages of its group from the start of the memory, so that it is an offset
// in bytes divided by the page size. With one group, both are the index that the strategy `Pages` gives.
#pragma once

#include <allot/page_cache/detail/page_shape.hpp>
#include <allot/page_cache/detail/record_memory.hpp>
#include <allot/page_cache/eviction.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// A large page of a memory with several groups.
struct large_page {
    std::uint32_t previous = no_page;  // in the list of idle large pages
    std::uint32_t next = no_page;
    std::uint32_t idle_at = 0;  // the time at which the last page stopped being in use
    std::uint32_t present = 0;  // pages that are not free
    std::uint32_t busy = 0;     // pages that sequences use or that are pinned
    std::uint32_t group = no_page;
};

template <class Pages, class Eviction>
class page_store {
    static constexpr bool takes_words = requires(Pages pages, std::span<std::uint32_t> words) {
        Pages::words_per_page;
        pages.open(words);
    };

public:
    /// The arrays of a store.
    struct arrays {
        std::span<page_record> records;
        std::span<std::uint32_t> buckets;
        std::span<large_page> large;
        std::span<std::uint32_t> tokens;
        std::span<std::uint32_t> words[most_groups];
        std::span<std::uint32_t> pages;

        constexpr arrays(const page_shape& shape, record_memory& memory) noexcept
            : records{memory.take<page_record>(shape.slots())},
              buckets{memory.take<std::uint32_t>(buckets_for(shape.slots()))},
              large{memory.take<large_page>(shape.groups > 1 ? shape.large : 0)},
              tokens{memory.take<std::uint32_t>(record_memory::product(shape.slots(), shape.tokens))} {
            for (std::uint32_t g = 0; g != shape.groups; ++g)
                words[g] = memory.take<std::uint32_t>(record_memory::product(shape.slots(), Eviction::words_per_page));
            if constexpr (takes_words)
                pages = memory.take<std::uint32_t>(record_memory::product(shape.large, Pages::words_per_page));
        }
    };

    /// Returns whether the strategy can manage this number of pages.
    [[nodiscard]] static constexpr bool can_manage(std::uint32_t pages) noexcept {
        using offset = typename Pages::offset_type;
        return static_cast<offset>(pages) == pages && Pages::bytes_for(static_cast<offset>(pages), {1, 1}) == pages;
    }
    /// Takes the arrays. Returns false on failure.
    bool open(const page_shape& shape, record_memory& memory) noexcept {
        const arrays made{shape, memory};
        if constexpr (takes_words) pages_.open(made.pages);
        if (made.records.empty() || !pages_.insert({0, static_cast<typename Pages::offset_type>(shape.large)}))
            return false;
        shape_ = shape;
        records_ = made.records;
        buckets_ = made.buckets;
        large_ = made.large;
        tokens_ = made.tokens;
        uses_ = page_uses{records_};
        free_large_ = shape.large;
        for (std::uint32_t& bucket : buckets_) bucket = no_page;
        for (std::uint32_t g = 0; g != shape.groups; ++g) {
            policies_[g].open(made.words[g]);
        }
        return true;
    }

    // ── slots and indices ────────────────────────────────────────────────────────────────────────────────────────────
    [[nodiscard]] std::uint32_t group_of(std::uint32_t slot) const noexcept {
        return shape_.groups == 1 ? 0 : large_[slot / shape_.most_pieces].group;
    }
    [[nodiscard]] std::uint32_t slot_of(std::uint32_t group, std::uint32_t index) const noexcept {
        const std::uint32_t pieces = shape_.pieces[group], most = shape_.most_pieces;
        return pieces == most ? index : index / pieces * most + index % pieces;
    }
    [[nodiscard]] std::uint32_t index_of(std::uint32_t group, std::uint32_t slot) const noexcept {
        const std::uint32_t pieces = shape_.pieces[group], most = shape_.most_pieces;
        return pieces == most ? slot : slot / most * pieces + slot % most;
    }
    [[nodiscard]] const page_record& operator[](std::uint32_t slot) const noexcept { return records_[slot]; }

    // ── counts ───────────────────────────────────────────────────────────────────────────────────────────────────────
    [[nodiscard]] std::uint64_t free(std::uint32_t group) const noexcept {
        return std::uint64_t{free_large_} * shape_.pieces[group] + free_[group].count;
    }
    [[nodiscard]] std::uint64_t evictions() const noexcept { return evictions_; }
    [[nodiscard]] std::uint32_t used(std::uint32_t group) const noexcept { return used_[group]; }
    [[nodiscard]] std::uint32_t cached(std::uint32_t group) const noexcept { return cached_[group]; }
    /// Returns the number of pages that `take` can surely give to one group now.
    [[nodiscard]] std::uint64_t available(std::uint32_t group) const noexcept {
        return free(group) + policies_[group].count();
    }

    // ── taking and using pages ───────────────────────────────────────────────────────────────────────────────────────
    /// Returns a page without contents that one table uses, or `no_page`. Calls `leaving(slot)` before it evicts a
    /// page.
    template <class Leaving>
    [[nodiscard]] std::uint32_t take(std::uint32_t group, Leaving leaving) noexcept {
        std::uint32_t slot = take_free(group);
        if (slot == no_page) slot = take_cached(group, leaving);
        if (slot == no_page) return no_page;
        own(records_[slot]);
        records_[slot].count = 1;
        ++used_[group];
        enter_large(slot);
        return slot;
    }
    /// Adds a table to a page that is in use or cached.
    void hold(std::uint32_t slot) noexcept {
        page_record& page = records_[slot];
        if (page.count++ != 0) return;
        const std::uint32_t group = group_of(slot);
        if (page.pins == 0) policies_[group].erase(uses_, slot);
        --cached_[group];
        ++used_[group];
        if (page.pins == 0) make_busy(slot);
    }
    /// Counts a hit of a page: a sequence found it in the cache.
    void hit(std::uint32_t slot) noexcept {
        page_record& page = records_[slot];
        if (page.hits != 255) ++page.hits;
    }
    /// Removes a table from a page. Without tables, a listed page is cached, and another one is free.
    void drop(std::uint32_t slot, unsigned priority) noexcept {
        page_record& page = records_[slot];
        if (--page.count != 0) return;
        const std::uint32_t group = group_of(slot);
        --used_[group];
        page.priority = priority & 15U;
        page.released_at = ++now_;
        if (page.state == page_state::listed) {
            ++cached_[group];
            if (page.pins != 0) return;
            policies_[group].insert(uses_, slot);
            make_idle(slot);
        } else {
            make_idle(slot);
            free_page(group, slot);
        }
    }
    /// Pins a listed page that is in use.
    void pin(std::uint32_t slot) noexcept { ++records_[slot].pins; }
    /// Removes a pin of a page that is in use.
    void unpin(std::uint32_t slot) noexcept { --records_[slot].pins; }

    // ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    /// Returns the page with a key, or `no_page`. If token ids are kept and given, they are equal.
    [[nodiscard]] std::uint32_t find(page_key key, std::span<const std::uint32_t> tokens) const noexcept {
        const std::uint32_t slot = find_key(key);
        return slot == no_page || has_tokens(slot, tokens) ? slot : no_page;
    }
    [[nodiscard]] bool keeps_tokens() const noexcept { return shape_.tokens != 0; }
    [[nodiscard]] std::uint32_t find_key(page_key key) const noexcept {
        std::uint32_t slot = buckets_[bucket_of(key)];
        while (slot != no_page && records_[slot].key != key) slot = records_[slot].same_bucket;
        return slot;
    }
    /// Gives an owned page a key that no page has. `parent` is the listed page before it in the prompt, or `no_page`.
    void list(std::uint32_t slot, page_key key, std::span<const std::uint32_t> tokens, std::uint32_t parent) noexcept {
        page_record& page = records_[slot];
        page.key = key;
        page.state = page_state::listed;
        std::uint32_t& bucket = buckets_[bucket_of(key)];
        page.same_bucket = bucket;
        bucket = slot;
        page.parent = page.elder = page.child = page.younger = no_page;
        follow(slot, parent);
        for (std::size_t i = 0; i != shape_.tokens; ++i)
            tokens_[slot * std::size_t{shape_.tokens} + i] = i < tokens.size() ? tokens[i] : no_token;
    }
    /// Enters the listed page before a listed page, which may be `no_page`, unless it is entered already.
    void follow(std::uint32_t slot, std::uint32_t parent) noexcept {
        page_record& page = records_[slot];
        if (parent == no_page || page.parent != no_page) return;
        page.parent = parent;
        page.younger = records_[parent].child;
        if (page.younger != no_page) records_[page.younger].elder = slot;
        records_[parent].child = slot;
    }
    [[nodiscard]] std::span<const std::uint32_t> tokens_of(std::uint32_t slot) const noexcept {
        return tokens_.subspan(slot * std::size_t{shape_.tokens}, shape_.tokens);
    }
    /// Removes the key of a page that one table uses and that is not pinned, so that its contents may change.
    void disown(std::uint32_t slot) noexcept {
        unlist(slot);
        own(records_[slot]);
    }
    /// Removes the key of a page that is not in use and not pinned, and frees it.
    void evict(std::uint32_t slot) noexcept {
        const std::uint32_t group = group_of(slot);
        forget(group, slot);
        free_page(group, slot);
    }
    /// Evicts every page that is not in use and not pinned.
    void evict_all() noexcept {
        for (std::uint32_t g = 0; g != shape_.groups; ++g)
            for (std::uint32_t slot = 0; policies_[g].count() != 0;) {
                slot = policies_[g].victim(uses_, [](std::uint32_t) { return true; });
                evict(slot);
            }
    }

    /// For `page_audit`.
    void count_reference(std::uint32_t slot, int by) noexcept {
        records_[slot].count += static_cast<std::uint32_t>(by);
    }

private:
    static constexpr std::uint32_t no_token = 0xFFFF'FFFFU;

    [[nodiscard]] static constexpr std::size_t buckets_for(std::size_t slots) noexcept {
        return slots > record_memory::no_bytes / 2 ? record_memory::no_bytes : std::bit_ceil(slots);
    }
    [[nodiscard]] std::size_t bucket_of(page_key key) const noexcept {
        return static_cast<std::size_t>(key.low) & (buckets_.size() - 1);
    }
    [[nodiscard]] bool has_tokens(std::uint32_t slot, std::span<const std::uint32_t> tokens) const noexcept {
        if (shape_.tokens == 0) return true;
        const auto kept = tokens_of(slot);
        for (std::size_t i = 0; i != kept.size(); ++i)
            if (kept[i] != (i < tokens.size() ? tokens[i] : no_token)) return false;
        return true;
    }

    static void own(page_record& page) noexcept {
        page.state = page_state::owned;
        page.hits = 0;
        page.mark = 0;
    }
    /// Returns a free page of a group, cut from a free large page if necessary, or `no_page`.
    [[nodiscard]] std::uint32_t take_free(std::uint32_t group) noexcept {
        if (free_[group].count != 0) {
            const std::uint32_t slot = free_[group].last;
            uses_.erase(free_[group], slot);
            return slot;
        }
        const auto given = pages_.allocate({1, 1});
        if (!given) return no_page;
        --free_large_;
        const std::uint32_t first = static_cast<std::uint32_t>(given.where.offset) * shape_.most_pieces;
        if (shape_.groups != 1) {
            large_[given.where.offset] = {.group = group};
            for (std::uint32_t i = shape_.pieces[group] - 1; i != 0; --i) uses_.push_back(free_[group], first + i);
        }
        return first;
    }
    /// Evicts the oldest page of the group and returns it, or evicts an older idle large page and cuts it. Returns
    /// `no_page` without either.
    template <class Leaving>
    [[nodiscard]] std::uint32_t take_cached(std::uint32_t group, Leaving leaving) noexcept {
        const std::uint32_t own = policies_[group].victim(uses_, [](std::uint32_t) { return true; });
        const std::uint32_t idle = idle_.first;
        if (idle != no_page && large_[idle].group != group &&
            (own == no_page || is_older(large_[idle].idle_at, records_[own].released_at))) {
            const std::uint32_t first = idle * shape_.most_pieces, pieces = shape_.pieces[large_[idle].group];
            for (std::uint32_t i = pieces; i-- != 0;)
                if (records_[first + i].state == page_state::listed) {
                    leaving(first + i);
                    evict(first + i);
                }
            return take_free(group);
        }
        if (own == no_page) return no_page;
        leaving(own);
        forget(group, own);
        if (shape_.groups != 1) --large_[own / shape_.most_pieces].present;  // `take` counts it again
        return own;
    }
    /// Removes a cached page from its policy and from the table of keys.
    void forget(std::uint32_t group, std::uint32_t slot) noexcept {
        ++evictions_;
        --cached_[group];
        policies_[group].evict(uses_, slot);
        unlist(slot);
    }
    [[nodiscard]] bool is_older(std::uint32_t time, std::uint32_t than) const noexcept {
        return now_ - time > now_ - than;
    }

    void free_page(std::uint32_t group, std::uint32_t slot) noexcept {
        records_[slot].state = page_state::free;
        if (shape_.groups == 1) return give_back(slot);
        uses_.push_back(free_[group], slot);
        const std::uint32_t number = slot / shape_.most_pieces;
        large_page& large = large_[number];
        if (--large.present != 0) return;
        const std::uint32_t first = number * shape_.most_pieces;
        for (std::uint32_t i = 0; i != shape_.pieces[group]; ++i) uses_.erase(free_[group], first + i);
        if (is_idle(number)) leave_idle(number);
        large.group = no_page;
        give_back(number);
    }
    void give_back(std::uint32_t large) noexcept {
        using offset = typename Pages::offset_type;
        pages_.deallocate({{static_cast<offset>(large), 1}, {}});
        ++free_large_;
    }
    void unlist(std::uint32_t slot) noexcept {
        page_record& page = records_[slot];
        std::uint32_t* link = &buckets_[bucket_of(page.key)];
        while (*link != slot) link = &records_[*link].same_bucket;
        *link = page.same_bucket;
        if (page.elder != no_page) records_[page.elder].younger = page.younger;
        else if (page.parent != no_page) records_[page.parent].child = page.younger;
        if (page.younger != no_page) records_[page.younger].elder = page.elder;
        for (std::uint32_t child = page.child; child != no_page;) {
            page_record& orphan = records_[child];
            child = orphan.younger;
            orphan.parent = orphan.elder = orphan.younger = no_page;
        }
        page.child = no_page;
    }

    // ── large pages ──────────────────────────────────────────────────────────────────────────────────────────────────
    void enter_large(std::uint32_t slot) noexcept {
        if (shape_.groups == 1) return;
        ++large_[slot / shape_.most_pieces].present;
        make_busy(slot);
    }
    void make_busy(std::uint32_t slot) noexcept {
        if (shape_.groups == 1) return;
        const std::uint32_t number = slot / shape_.most_pieces;
        if (is_idle(number)) leave_idle(number);
        ++large_[number].busy;
    }
    void make_idle(std::uint32_t slot) noexcept {
        if (shape_.groups == 1) return;
        const std::uint32_t number = slot / shape_.most_pieces;
        large_page& large = large_[number];
        if (--large.busy != 0) return;
        large.idle_at = now_;
        large.previous = idle_.last;
        large.next = no_page;
        (idle_.last == no_page ? idle_.first : large_[idle_.last].next) = number;
        idle_.last = number;
        ++idle_.count;
    }
    [[nodiscard]] bool is_idle(std::uint32_t number) const noexcept {
        return idle_.first == number || large_[number].previous != no_page;
    }
    void leave_idle(std::uint32_t number) noexcept {
        large_page& large = large_[number];
        (large.previous == no_page ? idle_.first : large_[large.previous].next) = large.next;
        (large.next == no_page ? idle_.last : large_[large.next].previous) = large.previous;
        large.previous = large.next = no_page;
        --idle_.count;
    }

    template <class Store>
    friend class page_audit;

    page_shape shape_;
    std::uint32_t free_large_ = 0;
    std::uint32_t now_ = 0;
    std::uint64_t evictions_ = 0;
    std::span<page_record> records_;
    std::span<std::uint32_t> buckets_;
    std::span<large_page> large_;
    std::span<std::uint32_t> tokens_;
    page_uses uses_{{}};
    page_list idle_;
    std::uint32_t used_[most_groups]{};
    std::uint32_t cached_[most_groups]{};
    page_list free_[most_groups];
    Eviction policies_[most_groups];
    Pages pages_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
