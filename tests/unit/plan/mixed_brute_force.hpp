// Finds the lowest plan of a few contiguous buffers and buffers in pages by trying every offset and every page. It uses
// the types of a problem from allot, and no code that plans or checks.
//
//     unit    A group of buffers with one offset, or one page of a group in scattered pages. Units are placed one after
//             the other. Two units collide if a member of one and a member of the other may share no byte and do.
#pragma once

#include "problems.hpp"

#include <allot/plan/mixed_problem.hpp>

#include <algorithm>
#include <vector>

namespace problems {

class mixed_brute_force {
public:
    explicit mixed_brute_force(const allot::mixed_problem& problem)
        : given_{problem.buffers}, page_size_{problem.page_size}, group_{groups(given_)} {
        const std::size_t count = given_.buffers.size();
        paged_.assign(count, false);
        for (const std::size_t i : problem.paged) paged_[i] = true;
        std::vector<bool> is_run(count);
        for (std::size_t i = 0; i != count; ++i)
            if (!paged_[i]) is_run[group_[i]] = true;
        for (const auto& fixed : given_.fixed) is_run[group_[fixed.buffer]] = true;
        for (std::size_t group = 0; group != count; ++group)
            if (is_run[group]) add_run(group);
        for (std::size_t group = 0; group != count; ++group)
            if (!is_run[group]) add_pages(group);
        collide_.assign(count, std::vector<bool>(count));
        for (std::size_t i = 0; i != count; ++i)
            for (std::size_t j = 0; j != count; ++j) collide_[i][j] = must_not_share(i, j);
        for (const auto& pair : given_.apart)
            if (group_[pair.first] == group_[pair.second] && bytes(pair.first) != 0 && bytes(pair.second) != 0)
                none_ = true;
    }

    /// Returns whether a plan within `height` exists.
    [[nodiscard]] bool exists(std::uint64_t height) const {
        std::vector<std::uint64_t> at(units_.size());
        return !none_ && !is_crowded(height) && place(at, 0, height);
    }
    /// Returns whether these places are a plan within `height`. `begin(i)` is the offset of a contiguous buffer, and
    /// `page(i, k)` the number of page k of buffer i.
    template <class Begin, class Page>
    [[nodiscard]] bool is_plan(Begin begin, Page page, std::uint64_t height) const {
        std::vector<std::uint64_t> at;
        for (const unit& each : units_) {
            for (const auto& [buffer, size] : each.members) {
                const std::uint64_t here =
                    paged_[buffer] ? (pages(buffer) == 0 ? 0 : page(buffer, each.index) * page_size_) : begin(buffer);
                if (!has_place(buffer)) continue;
                if (at.size() == static_cast<std::size_t>(&each - units_.data())) at.push_back(here);
                if (at.back() != here) return false;
                for (std::uint64_t k = 1; each.is_run && k < pages(buffer); ++k)
                    if (page(buffer, k) != page(buffer, 0) + k) return false;
            }
            if (at.size() == static_cast<std::size_t>(&each - units_.data())) at.push_back(fixed_offset(each));
        }
        for (std::size_t u = 0; u != units_.size(); ++u)
            if (!fits(at, u, height)) return false;
        return !none_;
    }

private:
    struct member {
        std::size_t buffer;
        std::uint64_t size;
    };
    struct unit {
        std::vector<member> members;
        bool is_run = false;
        std::uint64_t index = 0;  // of the page
        std::uint64_t align = 1;
    };

    [[nodiscard]] std::uint64_t pages(std::size_t i) const {
        return paged_[i] ? (given_.buffers[i].size + page_size_ - 1) / page_size_ : 0;
    }
    [[nodiscard]] std::uint64_t bytes(std::size_t i) const {
        return paged_[i] ? pages(i) * page_size_ : given_.buffers[i].size;
    }
    [[nodiscard]] bool has_place(std::size_t i) const { return !paged_[i] || pages(i) != 0; }
    /// Returns the fixed offset of a unit, or 0.
    [[nodiscard]] std::uint64_t fixed_offset(const unit& of) const {
        for (const auto& fixed : given_.fixed)
            for (const auto& each : of.members)
                if (each.buffer == fixed.buffer) return fixed.offset;
        return 0;
    }
    void add_run(std::size_t group) {
        unit made{.members = {}, .is_run = true};
        for (std::size_t i = 0; i != paged_.size(); ++i) {
            if (group_[i] != group) continue;
            made.members.push_back({i, bytes(i)});
            made.align = std::max(made.align, given_.buffers[i].align);
        }
        units_.push_back(made);
    }
    void add_pages(std::size_t group) {
        for (std::uint64_t k = 0;; ++k) {
            unit made{.members = {}, .index = k};
            for (std::size_t i = 0; i != paged_.size(); ++i)
                if (group_[i] == group && pages(i) > k) made.members.push_back({i, page_size_});
            if (made.members.empty()) return;
            units_.push_back(made);
        }
    }
    /// Returns whether unit `u` keeps all rules, beside the units before it.
    [[nodiscard]] bool fits(const std::vector<std::uint64_t>& at, std::size_t u, std::uint64_t height) const {
        const unit& mine = units_[u];
        for (const auto& [i, size] : mine.members) {
            for (const auto& fixed : given_.fixed)
                if (fixed.buffer == i && fixed.offset != at[u]) return false;
            if (!has_place(i)) continue;
            if (at[u] % (paged_[i] ? page_size_ : given_.buffers[i].align) != 0) return false;
            if (size != 0 && at[u] + size > height) return false;
            for (const auto& range : given_.reserved)
                if (share_bytes(at[u], size, range.offset, range.size)) return false;
        }
        for (std::size_t v = 0; v != u; ++v)
            for (const auto& [i, i_size] : mine.members)
                for (const auto& [j, j_size] : units_[v].members)
                    if (share_bytes(at[u], i_size, at[v], j_size) && collide_[i][j]) return false;
        return true;
    }
    [[nodiscard]] bool must_not_share(std::size_t i, std::size_t j) const {
        for (const auto& pair : given_.apart)
            if ((pair.first == i && pair.second == j) || (pair.first == j && pair.second == i)) return true;
        return i == j || (group_[i] != group_[j] && live_at_once(given_, i, j));
    }
    /// Returns whether more than `height` bytes live at the beginning of a lifetime.
    [[nodiscard]] bool is_crowded(std::uint64_t height) const {
        const auto crowded_at = [&](std::int64_t step) {
            std::vector<std::uint64_t> living(group_.size());  // bytes by group
            const auto count = [&](std::size_t i, allot::lifetime live) {
                if (live.from <= step && step < live.until) living[group_[i]] = std::max(living[group_[i]], bytes(i));
            };
            for (std::size_t i = 0; i != group_.size(); ++i) count(i, given_.buffers[i].live);
            for (const auto& revival : given_.revivals) count(revival.buffer, revival.live);
            std::uint64_t sum = 0;
            for (const std::uint64_t each : living) sum += each;
            return sum > height;
        };
        for (const auto& buffer : given_.buffers)
            if (crowded_at(buffer.live.from)) return true;
        for (const auto& revival : given_.revivals)
            if (crowded_at(revival.live.from)) return true;
        return false;
    }
    [[nodiscard]] bool place(std::vector<std::uint64_t>& at, std::size_t u, std::uint64_t height) const {
        if (u == units_.size()) return true;
        const unit& mine = units_[u];
        const std::uint64_t step = mine.is_run ? mine.align : page_size_;
        at[u] = 0;
        // Pages of the same members are interchangeable.
        if (u != 0 && !mine.is_run && mine.index != 0 && units_[u - 1].members.size() == mine.members.size())
            at[u] = at[u - 1] + step;
        // A buffer without bytes may have a fixed offset above the height.
        const bool is_empty =
            std::all_of(mine.members.begin(), mine.members.end(), [](const member& each) { return each.size == 0; });
        for (; at[u] <= (is_empty ? 63 : height); at[u] += step)
            if (fits(at, u, height) && place(at, u + 1, height)) return true;
        return false;
    }

    allot::plan_problem given_;
    std::uint64_t page_size_;
    std::vector<std::size_t> group_;
    std::vector<bool> paged_;
    std::vector<unit> units_;                 // those with an offset first
    std::vector<std::vector<bool>> collide_;  // by buffer: whether two must not share a byte
    bool none_ = false;                       // whether a pair is both together and apart
};

}  // namespace problems
