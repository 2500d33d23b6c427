// SPDX-License-Identifier: BSL-1.0
// page_cache: pages of a key/value cache, which sequences of tokens share by their prefixes and which are evicted late.
//
//     const allot::page_cache_limits limits{.bytes = 4096, .sequences = 64};     // 4096 pages of 16 tokens
//     using cache_type = allot::page_cache<allot::page_pool<4096>>;
//     std::vector<std::byte> records(cache_type::bytes_for(limits));
//     cache_type cache{limits, records};
//
//     auto begun = cache.start({.contents = prompt});      // finds begun->tokens tokens in the cache
//     cache.append(begun->sequence, rest);                 // pages for the other tokens of the prompt
//     run_kernels(cache.pages(begun->sequence));           // a table of 32-bit page indices
//     cache.name(begun->sequence, contents_of_new_pages);  // others may use these pages from now on
//     cache.release(begun->sequence);                      // the pages stay, until the memory is needed
//
//     sequence A ──► │ 7 │ 2 │ 9 │          page 7: 2 references        free ──append──► used ──release──► cached
//     sequence B ──► │ 7 │ 2 │ 4 │          page 9: 1 reference          ▲                 ▲                 │
//                      │                                                 │                 └─────start───────┤
//     keys    h0 ──► 7 ┘  h0 h1 ──► 2                                    └──────────────eviction─────────────┘
//
// The cache counts pages and never reads or writes their memory, so that the memory may be on any device. A page is an
// index: its offset is the index times the page size. A full page has a key, which is a hash of its contents and of all
// contents before it. `start` finds the longest prefix whose pages are cached. A page is used while a table names it. A
// page that is not used stays cached until the policy of eviction selects it. No call takes the index of a page, so
// that a program cannot free a page twice or free one that another sequence uses.
//
// When to use: for the key/value caches of language models, and for other caches of prefixes in pages of equal size.
// When not to use: for values without prefixes; use a hash table and a pool. For tensors in pages, use `paged`.
//
// Complexity: O(pages) for `start`, `append`, `name`, `truncate`, `fork` and `release`, with one look-up in a hash
// table for every named page. An eviction is O(1) with the policies of allot, apart from pages that a policy must skip.
//
// Memory: `bytes_for`: 60 to 64 bytes for every page and 4 bytes for every entry of the tables, given by the caller.
// The object itself contains the strategy `Pages`.
//
// Thread safety: one thread changes the cache. Other threads may call `read_pages` at any time, which waits for
// nothing. All other functions, also const ones, belong to the thread that changes the cache.
//
// Sources: Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023,
// for pages named by the hash of a prefix; Zhang et al., SOSP 2025, for large pages (page_limits.hpp).
#pragma once

#include <allot/core/result.hpp>
#include <allot/core/strategy.hpp>
#include <allot/page_cache/detail/page_sequences.hpp>
#include <allot/strategy/pool.hpp>

namespace allot {
inline namespace v1 {

/// A strategy that hands out the indices of up to `Count` pages. Any strategy of units of size 1 can replace it.
template <std::size_t Count>
using page_pool =
    pool<pool_options{.slot = 1, .count = Count, .align = 1, .store = pool_store::index_stack}, std::uint32_t>;

/// A request for a sequence.
struct page_request {
    /// The contents of the first full pages.
    std::span<const page_content> contents{};
    /// The model, as in `page_group::model`.
    std::uint32_t model = 0;
    /// The priority of the pages for the policy of eviction, 0 to 15. A higher one is worth more; above 15 it is 15.
    std::uint32_t priority = 0;
    /// A hash of all that changes the pages apart from the tokens, such as a user or an adapter of the model.
    page_key salt{};
};

/// The cached prefix of a request.
struct page_match {
    std::uint32_t pages = 0;   ///< The number of pages of each group, of which windows need the last ones.
    std::uint32_t tokens = 0;  ///< The number of tokens in these pages.
};

/// The numbers of pages of one group.
struct page_counts {
    std::uint64_t free = 0;    ///< Pages without contents, with all those that free large pages can be cut into.
    std::uint64_t cached = 0;  ///< Pages with contents that no sequence uses.
    std::uint64_t used = 0;    ///< Pages that sequences use.
};

/// A cache of pages.
template <class Pages, class Eviction = lru_eviction, class Copy = no_page_copies, std::size_t Tiers = 0>
class page_cache : detail::page_sequences<Pages, Eviction, Copy, Tiers> {
    using base = detail::page_sequences<Pages, Eviction, Copy, Tiers>;
    using base::groups_, base::shape_, base::slower_, base::store_, base::tables_;
    using typename base::store_type;

public:
    /// A sequence of tokens and its pages. It is valid until `release`.
    class sequence_type {
    public:
        constexpr sequence_type() noexcept = default;
        /// Compares the identities of two sequences of one cache.
        friend constexpr bool operator==(const sequence_type&, const sequence_type&) = default;

    private:
        friend page_cache;
        constexpr sequence_type(std::uint32_t index, std::uint32_t generation) noexcept
            : index_{index}, generation_{generation} {}
        std::uint32_t index_ = no_page;
        std::uint32_t generation_ = 0;
    };
    /// A sequence and its cached tokens.
    struct started {
        sequence_type sequence;    ///< The sequence.
        std::uint32_t tokens = 0;  ///< The number of tokens whose pages were cached.
    };

    /// Returns the number of bytes of records for these limits, or 0 if the limits are invalid.
    [[nodiscard]] static constexpr std::size_t bytes_for(const page_cache_limits& limits) noexcept {
        const detail::page_shape shape = detail::shape_of(limits);
        if (shape.large == 0 || !store_type::can_manage(shape.large)) return 0;
        detail::record_memory counting;
        static_cast<void>(typename store_type::arrays{shape, counting});
        static_cast<void>(detail::page_tables::arrays{limits, shape.rows, counting});
        if (limits.slower.size() != Tiers) return 0;
        for (std::size_t tier = 0; tier != Tiers; ++tier) {
            const detail::page_shape slower = detail::shape_of_tier(limits, tier);
            if (slower.large == 0 || !store_type::can_manage(slower.large)) return 0;
            static_cast<void>(typename store_type::arrays{slower, counting});
        }
        return counting.total() == detail::record_memory::no_bytes ? 0 : counting.total();
    }

    /// Constructs a cache without contents. The records must outlive the cache and be aligned to 16 bytes. The cache is
    /// false if the limits are invalid or the records have less than `bytes_for(limits)` bytes.
    page_cache(const page_cache_limits& limits, std::span<std::byte> records, Copy copy = {}) noexcept
        : base{std::move(copy)} {
        const std::size_t needed = bytes_for(limits);
        if (needed != 0 && records.size() >= needed && detail::record_memory::can_start_at(records.data()))
            base::open(limits, records);
    }
    page_cache(const page_cache&) = delete;
    page_cache& operator=(const page_cache&) = delete;

    /// Returns true if the cache has pages.
    [[nodiscard]] explicit operator bool() const noexcept { return shape_.large != 0; }

    /// Returns the longest prefix of a request that is cached, in any tier.
    [[nodiscard]] page_match match(const page_request& request) const noexcept {
        if (request.model >= shape_.models) return {};
        page_key key = detail::root_key(request.model, request.salt);
        const std::uint32_t pages = base::match_pages(request.model, key, request.contents, Tiers,
                                                      [](std::uint32_t, std::uint32_t, std::uint32_t) {});
        return {pages, pages * base::tokens_of_page(request.model)};
    }

    /// Starts a sequence with the longest cached prefix of a request. Its pages in slower tiers come back, if there is
    /// room for them.
    [[nodiscard]] result<started, page_refusal> start(const page_request& request) noexcept {
        using answer = result<started, page_refusal>;
        if (!*this) return answer::failure(page_refusal::bad_limits);
        if (request.model >= shape_.models) return answer::failure(page_refusal::not_a_model);
        const std::uint32_t index = tables_.take();
        if (index == no_page) return answer::failure(page_refusal::out_of_sequences);
        detail::sequence_record& of = tables_[index];
        const detail::table_change change{of};
        detail::store_shared(of.model, request.model);
        of.priority = request.priority < 15 ? request.priority : 15;
        of.root = of.key = detail::root_key(request.model, request.salt);
        const std::uint32_t tokens = base::start_pages(index, request.contents) * base::tokens_of_page(request.model);
        detail::store_shared(of.tokens, tokens);
        return started{{index, of.generation}, tokens};
    }

    /// Adds pages for `count` more tokens, after pages behind windows are released, also if it fails. Returns the
    /// number of added pages in all groups. If other sequences use the last page and it is not full, this sequence gets
    /// a copy of it.
    [[nodiscard]] result<std::uint32_t, page_refusal> append(sequence_type sequence, std::uint32_t count) noexcept {
        using answer = result<std::uint32_t, page_refusal>;
        if (!exists(sequence)) return answer::failure(page_refusal::not_a_sequence);
        const std::uint32_t index = sequence.index_;
        detail::sequence_record& of = tables_[index];
        const std::uint32_t each = base::tokens_of_page(of.model), first = base::pages_of(of);
        if (count > no_page - of.tokens) return answer::failure(page_refusal::too_long);
        const std::uint32_t all = of.tokens + count, last = detail::divided_up(all, each);
        if (last > tables_.most_pages()) return answer::failure(page_refusal::too_long);
        const detail::table_change change{of};
        base::slide_windows(index);
        const bool continues = count != 0 && of.tokens % each != 0;
        const std::uint64_t copies = continues && shape_.groups == 1 && base::must_copy(index, 0, first - 1) ? 1 : 0;
        if (shape_.groups == 1 && last - first + copies > store_.available(0))
            return answer::failure(page_refusal::out_of_pages);
        if (!base::take_pages(index, first, last)) return answer::failure(page_refusal::out_of_pages);
        if (const page_refusal refused = continues ? base::own_page(index, first - 1) : page_refusal::none;
            refused != page_refusal::none) {
            base::drop_pages(index, first, last);
            return answer::failure(refused);
        }
        detail::store_shared(of.tokens, all);
        return (last - first) * (shape_.first[of.model + 1] - shape_.first[of.model]);
    }

    /// Gives the contents of the next full pages of a sequence, so that other sequences find them. Returns the number
    /// of entries of the tables that changed, because a cached page has the same contents already.
    [[nodiscard]] result<std::uint32_t, page_refusal> name(sequence_type sequence,
                                                           std::span<const page_content> contents) noexcept {
        using answer = result<std::uint32_t, page_refusal>;
        if (!exists(sequence)) return answer::failure(page_refusal::not_a_sequence);
        detail::sequence_record& of = tables_[sequence.index_];
        if (contents.size() > of.tokens / base::tokens_of_page(of.model) - of.named)
            return answer::failure(page_refusal::not_full);
        if (!base::agree(sequence.index_, contents)) return answer::failure(page_refusal::other_contents);
        const detail::table_change change{of};
        std::uint32_t replaced = 0;
        for (const page_content& content : contents) {
            of.key = detail::chain_keys(of.key, content);
            if (!of.unnamed && !base::can_name(of, content)) of.unnamed = true;
            if (!of.unnamed) replaced += base::name_page(sequence.index_, of.named, content);
            ++of.named;
        }
        return replaced;
    }

    /// Starts a sequence with all tokens and pages of another one. The sequence that first writes a shared page that is
    /// not full gets a copy of it.
    [[nodiscard]] result<sequence_type, page_refusal> fork(sequence_type sequence) noexcept {
        static_assert(!std::is_same_v<Copy, no_page_copies>,
                      "allot: two sequences after a fork write one page, so the cache must copy it: give page_cache a "
                      "function that copies pages as its third parameter");
        using answer = result<sequence_type, page_refusal>;
        if (!exists(sequence)) return answer::failure(page_refusal::not_a_sequence);
        const std::uint32_t index = tables_.take();
        if (index == no_page) return answer::failure(page_refusal::out_of_sequences);
        const detail::sequence_record& from = tables_[sequence.index_];
        detail::sequence_record& of = tables_[index];
        const detail::table_change change{of};
        of.root = from.root;
        of.key = from.key;
        of.named = from.named;
        of.unnamed = from.unnamed;
        of.priority = from.priority;
        detail::store_shared(of.model, from.model);
        base::share_pages(sequence.index_, index);
        detail::store_shared(of.tokens, from.tokens);
        return sequence_type{index, of.generation};
    }

    /// Removes the last tokens of a sequence, so that `tokens` remain. Pages without tokens are released.
    [[nodiscard]] page_refusal truncate(sequence_type sequence, std::uint32_t tokens) noexcept {
        if (!exists(sequence)) return page_refusal::not_a_sequence;
        const std::uint32_t index = sequence.index_;
        detail::sequence_record& of = tables_[index];
        if (tokens >= of.tokens) return tokens == of.tokens ? page_refusal::none : page_refusal::not_full;
        const std::uint32_t each = base::tokens_of_page(of.model), last = base::pages_of(of);
        const std::uint32_t pages = detail::divided_up(tokens, each);
        bool present = true;
        base::for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
            for (std::uint32_t at = detail::passed_pages(groups_[group], tokens); at < pages; ++at)
                present = present && tables_.row(index, row)[at] != no_page;
        });
        if (!present) return page_refusal::behind_window;
        const detail::table_change change{of};
        if (tokens / each < of.named) base::forget_names(index, tokens / each);
        detail::store_shared(of.tokens, tokens);
        base::drop_pages(index, pages, last);
        return page_refusal::none;
    }

    /// Ends a sequence. Its named pages are cached, and its other pages are free, unless other sequences use them.
    page_refusal release(sequence_type sequence) noexcept {
        if (!exists(sequence)) return page_refusal::not_a_sequence;
        detail::sequence_record& of = tables_[sequence.index_];
        const detail::table_change change{of};
        base::drop_pages(sequence.index_, 0, base::pages_of(of));
        tables_.end(sequence.index_);
        return page_refusal::none;
    }

    /// Pins the named pages of a sequence: they stay in the cache after `release`, until as many calls of `unpin`.
    [[nodiscard]] page_refusal pin(sequence_type sequence) noexcept {
        if (!exists(sequence)) return page_refusal::not_a_sequence;
        bool refused = false;
        base::for_each_named(sequence.index_,
                             [&](std::uint32_t slot) { refused = refused || store_[slot].pins == 255; });
        if (refused) return page_refusal::pinned_too_often;
        base::for_each_named(sequence.index_, [&](std::uint32_t slot) { store_.pin(slot); });
        return page_refusal::none;
    }
    /// Removes one pin of each named page of a sequence. To unpin pages later, start a sequence with their contents.
    [[nodiscard]] page_refusal unpin(sequence_type sequence) noexcept {
        if (!exists(sequence)) return page_refusal::not_a_sequence;
        bool refused = false;
        base::for_each_named(sequence.index_, [&](std::uint32_t slot) { refused = refused || store_[slot].pins == 0; });
        if (refused) return page_refusal::not_pinned;
        base::for_each_named(sequence.index_, [&](std::uint32_t slot) { store_.unpin(slot); });
        return page_refusal::none;
    }

    /// Evicts all pages that no sequence uses and that are not pinned, from all tiers.
    void clear() noexcept {
        store_.evict_all();
        for (store_type& tier : slower_) tier.evict_all();
    }

    /// Returns the number of tokens of a sequence, or 0 if it does not exist.
    [[nodiscard]] std::uint32_t tokens(sequence_type sequence) const noexcept {
        return exists(sequence) ? tables_[sequence.index_].tokens : 0;
    }
    /// Returns the table of a sequence in one group: an index for every page, or `no_page` for a page that a window has
    /// passed. It is empty if the sequence does not exist or has no pages in the group. It is valid until the next call
    /// that changes the sequence.
    [[nodiscard]] std::span<const std::uint32_t> pages(sequence_type sequence, std::uint32_t group = 0) const noexcept {
        if (!exists(sequence)) return {};
        const detail::sequence_record& of = tables_[sequence.index_];
        const std::uint32_t first = shape_.first[of.model];
        if (group < first || group >= shape_.first[of.model + 1]) return {};
        return tables_.row(sequence.index_, group - first).first(base::pages_of(of));
    }
    /// Copies the table of a sequence in one group, from any thread. Returns the number of entries. Fails if `into` is
    /// too short, if the sequence does not exist, or if its table changes during the call.
    [[nodiscard]] result<std::uint32_t, page_refusal> read_pages(sequence_type sequence, std::span<std::uint32_t> into,
                                                                 std::uint32_t group = 0) const noexcept {
        using answer = result<std::uint32_t, page_refusal>;
        if (sequence.index_ >= tables_.sequences()) return answer::failure(page_refusal::not_a_sequence);
        const detail::sequence_record& of = tables_[sequence.index_];
        const std::uint32_t before = detail::load_shared(of.version);
        if (before % 2 != 0) return answer::failure(page_refusal::changing);
        if (detail::load_shared(of.generation) != sequence.generation_)
            return answer::failure(page_refusal::not_a_sequence);
        const std::uint32_t model = detail::load_shared(of.model), first = shape_.first[model];
        const std::uint32_t each = base::tokens_of_page(model), tokens = detail::load_shared(of.tokens);
        const std::uint32_t count = detail::divided_up(tokens, each);
        if (group < first || group >= shape_.first[model + 1]) return answer::failure(page_refusal::not_a_model);
        if (count > into.size()) return answer::failure(page_refusal::too_long);
        const auto entries = tables_.row(sequence.index_, group - first);
        for (std::uint32_t at = 0; at != count; ++at) into[at] = detail::load_shared(entries[at]);
        if (detail::load_shared(of.version) != before) return answer::failure(page_refusal::changing);
        return count;
    }

    /// Returns the numbers of pages of a group, in the memory or in a slower tier, counted from 1.
    [[nodiscard]] page_counts counts(std::uint32_t group = 0, std::size_t tier = 0) const noexcept {
        if (group >= shape_.groups || tier > Tiers) return {};
        const store_type& of = tier == 0 ? store_ : slower_[tier - 1];
        return {of.free(group), of.cached(group), of.used(group)};
    }
    /// Returns the number of pages that were evicted since the start.
    [[nodiscard]] std::uint64_t evictions() const noexcept { return store_.evictions(); }
    /// Checks all invariants: free, cached and used pages are all pages, the counts of references are right, and no
    /// page is in two lists. O(pages + entries of all tables). For tests and for idle times.
    [[nodiscard]] page_cache_fault check() noexcept { return *this ? base::find_fault() : page_cache_fault::none; }

private:
    [[nodiscard]] bool exists(sequence_type sequence) const noexcept {
        return sequence.index_ < tables_.sequences() && tables_[sequence.index_].generation == sequence.generation_;
    }
};

}  // namespace v1
}  // namespace allot
