// SPDX-License-Identifier: BSL-1.0
// page_sequences: the steps of which the calls of a page cache consist. They join the pages and the tables.
#pragma once

#include <allot/page_cache/detail/page_audit.hpp>
#include <allot/page_cache/detail/page_tables.hpp>
#include <allot/page_cache/detail/page_tiers.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Pages, class Eviction, class Copy, std::size_t Tiers>
class page_sequences : protected page_tiers<Pages, Eviction, Copy, Tiers> {
    using base = page_tiers<Pages, Eviction, Copy, Tiers>;

protected:
    using base::groups_, base::store_, base::slower_;
    using base::leaving, base::bring_page, base::copy_page;
    using typename base::store_type;

    explicit page_sequences(Copy copy) noexcept : base{std::move(copy)} {}

    /// Takes the arrays. Returns false if the limits are invalid or the bytes do not suffice.
    bool open(const page_cache_limits& limits, std::span<std::byte> records) noexcept {
        const page_shape shape = shape_of(limits);
        record_memory memory{records};
        for (std::uint32_t g = 0; g != shape.groups; ++g) groups_[g] = limits.groups[g];
        if (!store_.open(shape, memory) || !tables_.open(limits, shape.rows, memory)) return false;
        for (std::size_t tier = 0; tier != Tiers; ++tier)
            if (!slower_[tier].open(shape_of_tier(limits, tier), memory)) return false;
        shape_ = shape;
        return true;
    }

    // ── groups and keys ──────────────────────────────────────────────────────────────────────────────────────────────
    /// Calls `f(row, group)` for each group of a model.
    template <class Function>
    void for_each_row(std::uint32_t model, Function f) const {
        for (std::uint32_t g = shape_.first[model]; g != shape_.first[model + 1]; ++g) f(g - shape_.first[model], g);
    }
    [[nodiscard]] std::uint32_t tokens_of_page(std::uint32_t model) const noexcept {
        return groups_[shape_.first[model]].page_tokens;
    }
    [[nodiscard]] std::uint32_t pages_of(const sequence_record& of) const noexcept {
        return divided_up(of.tokens, tokens_of_page(of.model));
    }
    /// Returns the key of a page of one group. The pages of a prefix have different keys in each group.
    [[nodiscard]] static page_key key_in(std::uint32_t group, page_key key) noexcept {
        return {key.high, key.low + group * 0x9E37'79B9'7F4A'7C15U};
    }
    [[nodiscard]] static page_key key_without(std::uint32_t group, page_key key) noexcept {
        return {key.high, key.low - group * 0x9E37'79B9'7F4A'7C15U};
    }

    // ── matching ─────────────────────────────────────────────────────────────────────────────────────────────────────
    /// Returns the number of cached pages from the start of a prompt that suffice to continue it.
    /// Searches the first `tiers` slower tiers too.
    /// Calls `found(row, position, slot)` with each page, where `slot` is `no_page` if the memory does not have it.
    /// Replaces `key` by the key of the last cached page.
    template <class Found>
    [[nodiscard]] std::uint32_t match_pages(std::uint32_t model, page_key& key, std::span<const page_content> contents,
                                            std::size_t tiers, Found found) const noexcept {
        std::uint32_t runs[most_groups]{}, pages = 0, usable = 0;
        page_key chained = key;
        for (const page_content& content : contents) {
            if (pages == tables_.most_pages()) break;
            chained = chain_keys(chained, content);
            const auto found_here = [&](std::uint32_t row, std::uint32_t slot) { found(row, pages, slot); };
            if (!extend_runs(model, chained, content, runs, tiers, found_here)) break;
            ++pages;
            if (!are_usable(model, pages, runs)) continue;
            usable = pages;
            key = chained;
        }
        return usable;
    }
    /// Updates the number of last pages without a gap in each group. Returns false if a page without window is missing.
    template <class Found>
    [[nodiscard]] bool extend_runs(std::uint32_t model, page_key key, const page_content& content,
                                   std::uint32_t (&runs)[most_groups], std::size_t tiers, Found found) const noexcept {
        bool present = true;
        for_each_row(model, [&](std::uint32_t row, std::uint32_t group) {
            if (!present) return;
            const std::uint32_t slot = store_.find(key_in(group, key), content.tokens);
            found(row, slot);
            bool cached = slot != no_page;
            for (std::size_t tier = 0; tier != tiers && !cached; ++tier)
                cached = slower_[tier].find(key_in(group, key), content.tokens) != no_page;
            runs[row] = cached ? runs[row] + 1 : 0;
            if (!cached && groups_[group].window == 0) present = false;
        });
        return present;
    }
    [[nodiscard]] bool are_usable(std::uint32_t model, std::uint32_t pages,
                                  const std::uint32_t (&runs)[most_groups]) const noexcept {
        bool usable = true;
        for_each_row(model, [&](std::uint32_t row, std::uint32_t group) {
            const std::uint32_t passed = passed_pages(groups_[group], pages * groups_[group].page_tokens);
            usable = usable && runs[row] >= pages - passed;
        });
        return usable;
    }
    /// Uses the first `pages` pages that `match_pages` entered into the tables of a new sequence, without those that
    /// windows have passed. Returns whether the memory has all pages that the sequence needs.
    bool hold_pages(std::uint32_t index, std::uint32_t pages) noexcept {
        bool all = true;
        for_each_row(tables_[index].model, [&](std::uint32_t row, std::uint32_t group) {
            const auto entries = tables_.row(index, row);
            const std::uint32_t passed = passed_pages(groups_[group], pages * groups_[group].page_tokens);
            for (std::uint32_t at = 0; at != pages; ++at) {
                if (at < passed) {
                    store_shared(entries[at], no_page);
                } else if (entries[at] == no_page) {
                    all = false;
                } else {
                    store_.hold(store_.slot_of(group, entries[at]));
                }
            }
        });
        tables_[index].named = pages;
        return all;
    }
    /// Enters the cached prefix of a prompt into the tables of a new sequence. Pages of slower tiers come back; if one
    /// does not, the prefix ends before it. Returns the number of pages.
    std::uint32_t start_pages(std::uint32_t index, std::span<const page_content> contents) noexcept {
        sequence_record& of = tables_[index];
        for (std::size_t tiers = Tiers + 1; tiers-- != 0;) {
            of.key = of.root;
            const std::uint32_t pages = match_pages(
                of.model, of.key, contents, tiers, [&](std::uint32_t row, std::uint32_t at, std::uint32_t slot) {
                    const std::uint32_t group = shape_.first[of.model] + row;
                    store_shared(tables_.row(index, row)[at], slot == no_page ? no_page : store_.index_of(group, slot));
                });
            if (hold_pages(index, pages) || bring_back(index, contents, pages)) return hit_pages(index, pages), pages;
            drop_pages(index, 0, pages);
            tiers = tiers == 0 ? 0 : 1;  // the memory alone
        }
        return 0;
    }
    /// Counts a hit of each page of a new sequence. A page whose page before it was evicted follows the new one.
    void hit_pages(std::uint32_t index, std::uint32_t pages) noexcept {
        for_each_row(tables_[index].model, [&](std::uint32_t row, std::uint32_t group) {
            const auto entries = tables_.row(index, row);
            for (std::uint32_t at = 0; at != pages; ++at) {
                if (entries[at] == no_page) continue;
                const std::uint32_t slot = store_.slot_of(group, entries[at]);
                store_.hit(slot);
                store_.follow(slot, parent_of(group, entries, at));
            }
        });
    }
    /// Copies the needed pages that the tables lack from slower tiers. Returns false at the first one that fails.
    [[nodiscard]] bool bring_back(std::uint32_t index, std::span<const page_content> contents,
                                  std::uint32_t pages) noexcept {
        const sequence_record& of = tables_[index];
        page_key key = of.root;
        bool all = true;
        for (std::uint32_t at = 0; at != pages && all; ++at) {
            key = chain_keys(key, contents[at]);
            for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
                const auto entries = tables_.row(index, row);
                if (!all || entries[at] != no_page) return;
                if (at < passed_pages(groups_[group], pages * groups_[group].page_tokens)) return;
                const std::uint32_t slot = bring_page(group, key_in(group, key), contents[at].tokens, of.priority);
                all = slot != no_page;
                if (!all) return;
                store_.list(slot, key_in(group, key), contents[at].tokens, parent_of(group, entries, at));
                store_shared(entries[at], store_.index_of(group, slot));
            });
        }
        return all;
    }
    /// Enters the pages of one sequence into the tables of another one.
    void share_pages(std::uint32_t from, std::uint32_t to) noexcept {
        for_each_row(tables_[from].model, [&](std::uint32_t row, std::uint32_t group) {
            const auto old = tables_.row(from, row), made = tables_.row(to, row);
            for (std::uint32_t at = 0; at != pages_of(tables_[from]); ++at) {
                if (old[at] != no_page) store_.hold(store_.slot_of(group, old[at]));
                store_shared(made[at], old[at]);
            }
        });
    }

    // ── appending and releasing ──────────────────────────────────────────────────────────────────────────────────────
    /// Takes pages for positions `first` to `last` of all tables. Returns false and takes none on failure.
    [[nodiscard]] bool take_pages(std::uint32_t index, std::uint32_t first, std::uint32_t last) noexcept {
        const std::uint32_t model = tables_[index].model;
        for (std::uint32_t at = first; at != last; ++at) {
            bool taken = true;
            for_each_row(model, [&](std::uint32_t row, std::uint32_t group) {
                const std::uint32_t slot = taken ? store_.take(group, leaving(0)) : no_page;
                taken = slot != no_page;
                store_shared(tables_.row(index, row)[at], taken ? store_.index_of(group, slot) : no_page);
            });
            if (!taken) return drop_pages(index, first, at + 1), false;
        }
        return true;
    }
    /// Releases positions `first` to `last` of all tables, the last one first.
    void drop_pages(std::uint32_t index, std::uint32_t first, std::uint32_t last) noexcept {
        const sequence_record& of = tables_[index];
        while (last-- != first)
            for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
                const std::uint32_t entry = tables_.row(index, row)[last];
                if (entry != no_page) store_.drop(store_.slot_of(group, entry), of.priority);
            });
    }
    /// Releases the pages that all windows have passed.
    void slide_windows(std::uint32_t index) noexcept {
        const sequence_record& of = tables_[index];
        for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
            const auto entries = tables_.row(index, row);
            for (std::uint32_t at = passed_pages(groups_[group], of.tokens); at-- != 0 && entries[at] != no_page;) {
                store_.drop(store_.slot_of(group, entries[at]), of.priority);
                store_shared(entries[at], no_page);
            }
        });
    }
    /// Returns whether a sequence must not write its page at a position, because it is used elsewhere or pinned.
    [[nodiscard]] bool must_copy(std::uint32_t index, std::uint32_t row, std::uint32_t at) const noexcept {
        const std::uint32_t group = shape_.first[tables_[index].model] + row;
        const page_record& page = store_[store_.slot_of(group, tables_.row(index, row)[at])];
        return page.count != 1 || page.pins != 0;
    }
    /// Makes the page at a position writable by this sequence alone, by copies if necessary.
    [[nodiscard]] page_refusal own_page(std::uint32_t index, std::uint32_t at) noexcept {
        const sequence_record& of = tables_[index];
        page_refusal refused = page_refusal::none;
        std::uint32_t made[most_groups];
        for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
            made[row] = no_page;
            if (refused != page_refusal::none) return;
            const std::uint32_t entry = tables_.row(index, row)[at];
            if (must_copy(index, row, at)) refused = copy_page(group, entry, made[row]);
        });
        for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
            std::uint32_t& entry = tables_.row(index, row)[at];
            const std::uint32_t slot = store_.slot_of(group, entry);
            if (refused != page_refusal::none) {
                if (made[row] != no_page) store_.drop(made[row], of.priority);
            } else if (made[row] != no_page) {
                store_.drop(slot, of.priority);
                store_shared(entry, store_.index_of(group, made[row]));
            } else if (store_[slot].state == page_state::listed) {
                store_.disown(slot);
            }
        });
        return refused;
    }

    // ── naming ───────────────────────────────────────────────────────────────────────────────────────────────────────
    /// Returns false if a page has other contents already, which a sequence that shares it has given.
    [[nodiscard]] bool agree(std::uint32_t index, std::span<const page_content> contents) const noexcept {
        const sequence_record& of = tables_[index];
        page_key key = of.key;
        std::uint32_t at = of.named, chained = 0;  // keys are chained only if a page has one
        bool same = true;
        for (std::uint32_t i = 0; i != contents.size() && !of.unnamed; ++i, ++at)
            for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
                const std::uint32_t entry = tables_.row(index, row)[at];
                if (entry == no_page) return;
                const page_record& page = store_[store_.slot_of(group, entry)];
                if (page.state != page_state::listed) return;
                while (chained <= i) key = chain_keys(key, contents[chained++]);
                same = same && page.key == key_in(group, key);
            });
        return same;
    }
    /// Returns false if a page of other tokens has the key of the sequence.
    [[nodiscard]] bool can_name(const sequence_record& of, const page_content& content) const noexcept {
        bool possible = true;
        if (!store_.keeps_tokens()) return possible;
        for_each_row(of.model, [&](std::uint32_t, std::uint32_t group) {
            const page_key key = key_in(group, of.key);
            possible = possible && store_.find(key, content.tokens) == store_.find_key(key);
        });
        return possible;
    }
    /// Returns the listed page before a position, or `no_page`.
    [[nodiscard]] std::uint32_t parent_of(std::uint32_t group, std::span<const std::uint32_t> entries,
                                          std::uint32_t at) const noexcept {
        if (at == 0 || entries[at - 1] == no_page) return no_page;
        const std::uint32_t parent = store_.slot_of(group, entries[at - 1]);
        return store_[parent].state == page_state::listed ? parent : no_page;
    }
    /// Lists the pages at a position, or replaces them by cached ones. Returns the number of replaced pages.
    std::uint32_t name_page(std::uint32_t index, std::uint32_t at, const page_content& content) noexcept {
        const sequence_record& of = tables_[index];
        std::uint32_t replaced = 0;
        for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
            const auto entries = tables_.row(index, row);
            if (entries[at] == no_page) return;
            const std::uint32_t slot = store_.slot_of(group, entries[at]);
            if (store_[slot].state == page_state::listed) return;
            const page_key key = key_in(group, of.key);
            if (const std::uint32_t same = store_.find_key(key); same != no_page) {
                store_.hold(same);
                store_.follow(same, parent_of(group, entries, at));
                store_.drop(slot, of.priority);
                store_shared(entries[at], store_.index_of(group, same));
                ++replaced;
                return;
            }
            store_.list(slot, key, content.tokens, parent_of(group, entries, at));
        });
        return replaced;
    }
    /// Reduces the number of named pages. Later pages can have names again only if the key of the last one is known.
    void forget_names(std::uint32_t index, std::uint32_t pages) noexcept {
        sequence_record& of = tables_[index];
        of.named = pages;
        of.unnamed = pages != 0;
        of.key = of.root;
        for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
            const std::uint32_t entry = pages == 0 ? no_page : tables_.row(index, row)[pages - 1];
            if (entry == no_page) return;
            const page_record& page = store_[store_.slot_of(group, entry)];
            if (page.state != page_state::listed) return;
            of.key = key_without(group, page.key);
            of.unnamed = false;
        });
    }
    /// Calls `f(slot)` for each named page of a sequence that is listed.
    template <class Function>
    void for_each_named(std::uint32_t index, Function f) const noexcept {
        const sequence_record& of = tables_[index];
        for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
            for (std::uint32_t at = 0; at != of.named; ++at) {
                const std::uint32_t entry = tables_.row(index, row)[at];
                if (entry == no_page) continue;
                const std::uint32_t slot = store_.slot_of(group, entry);
                if (store_[slot].state == page_state::listed) f(slot);
            }
        });
    }

    /// Checks the pages, and that the tables name each page as often as its count says.
    [[nodiscard]] page_cache_fault find_fault() noexcept {
        for (const store_type& tier : slower_) {
            const page_audit audit{tier, groups_};
            if (!audit.has_no_references()) return page_cache_fault::references;
            if (const page_cache_fault fault = audit.find_fault(); fault != page_cache_fault::none) return fault;
        }
        const page_audit audit{store_, groups_};
        if (const page_cache_fault fault = audit.find_fault(); fault != page_cache_fault::none) return fault;
        for_each_entry([this](std::uint32_t slot) { store_.count_reference(slot, -1); });
        const bool counted = audit.has_no_references();
        for_each_entry([this](std::uint32_t slot) { store_.count_reference(slot, 1); });
        return counted ? page_cache_fault::none : page_cache_fault::references;
    }
    template <class Function>
    void for_each_entry(Function f) const noexcept {
        for (std::uint32_t index = 0; index != tables_.sequences(); ++index) {
            const sequence_record& of = tables_[index];
            if (of.generation % 2 == 0) continue;
            for_each_row(of.model, [&](std::uint32_t row, std::uint32_t group) {
                for (std::uint32_t at = 0; at != pages_of(of); ++at)
                    if (const std::uint32_t entry = tables_.row(index, row)[at]; entry != no_page)
                        f(store_.slot_of(group, entry));
            });
        }
    }

    page_shape shape_;
    page_tables tables_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
