// live_sections: where in time it can matter what is live, as numbers 0, 1, …; and which of them each buffer lives in.
//
//     a  ██████████            Between a beginning and the next end all that is live grows, so that it is most just before
//     b     ████████           the first end: one section for each such place. Two buffers live at once when they have a
//     c             █████      section in common, and the bytes of a section's buffers lie side by side.
//          ^      ^
//          0      1            Two buffers that are kept apart have a section of their own, after those of time.
//
// Complexity: O(n log n). Memory: `space`, 16 bytes a lifetime more than what is kept, which is 12 a lifetime, 16 a pair and
// 4 a buffer. Not synchronised.
#pragma once

#include <allot/plan/timeline.hpp>

namespace allot::inline v1::detail {

class live_sections {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t lifetimes = problem.buffers.size() + problem.revivals.size();
        plan_space all = timeline::space(lifetimes);
        all.words += lifetimes + 1 + problem.buffers.size() + 1 + 2 * (lifetimes + 2 * problem.apart.size());
        return all;
    }

    /// Of a problem without pairs that are together, that was checked.
    constexpr live_sections(const plan_problem& problem, plan_workspace& workspace) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = buffers + problem.revivals.size();
        const timeline time{problem, workspace};
        const std::uint32_t ranks = time.ranks();
        std::uint32_t* const before = workspace.cut_words(lifetimes + 1);  // by rank: the sections before it
        first_ = workspace.cut_words(buffers + 1);
        from_ = workspace.cut_words(lifetimes + 2 * problem.apart.size());
        until_ = workspace.cut_words(lifetimes + 2 * problem.apart.size());

        for (std::uint32_t rank = 0; rank <= ranks; ++rank) before[rank] = 0;
        for (const plan_buffer& buffer : problem.buffers) before[time.rank(buffer.live.until)] = 1;
        for (const plan_revival& revival : problem.revivals) before[time.rank(revival.live.until)] = 1;
        for (std::uint32_t rank = 1; rank <= ranks; ++rank) before[rank] += before[rank - 1];
        of_time_ = before[ranks];
        count_ = of_time_ + static_cast<std::uint32_t>(problem.apart.size());

        for (std::size_t i = 0; i != buffers; ++i) first_[i] = 1;
        first_[buffers] = 0;
        for (const plan_revival& revival : problem.revivals) ++first_[revival.buffer];
        for (const plan_pair& pair : problem.apart) ++first_[pair.first], ++first_[pair.second];
        for (std::size_t i = 1; i <= buffers; ++i) first_[i] += first_[i - 1];
        const auto add = [&](std::size_t buffer, std::uint32_t from, std::uint32_t until) {
            const std::uint32_t at = --first_[buffer];
            from_[at] = from;
            until_[at] = until;
        };
        std::uint32_t next = of_time_;
        for (const plan_pair& pair : problem.apart) {
            add(pair.first, next, next + 1);
            add(pair.second, next, next + 1);
            ++next;
        }
        const auto add_life = [&](std::size_t buffer, lifetime live) {
            add(buffer, before[time.rank(live.from)], before[time.rank(live.until)]);
        };
        for (const plan_revival& revival : problem.revivals) add_life(revival.buffer, revival.live);
        for (std::size_t i = 0; i != buffers; ++i) add_life(i, problem.buffers[i].live);
    }

    [[nodiscard]] constexpr std::uint32_t count() const noexcept { return count_; }
    /// Those before are of time, those from here on of pairs.
    [[nodiscard]] constexpr std::uint32_t of_time() const noexcept { return of_time_; }

    /// Calls `span(from, until)` for each run of sections that the buffer lives in; the first is that of its first lifetime.
    template <class Span>
    constexpr void each_span(std::uint32_t buffer, Span span) const noexcept {
        for (std::uint32_t at = first_[buffer]; at != first_[buffer + 1]; ++at) span(from_[at], until_[at]);
    }
    /// Whether the buffer lives in any of the sections [from, until).
    [[nodiscard]] constexpr bool meets(std::uint32_t buffer, std::uint32_t from, std::uint32_t until) const noexcept {
        for (std::uint32_t at = first_[buffer]; at != first_[buffer + 1]; ++at)
            if (from_[at] < until && from < until_[at]) return true;
        return false;
    }
    /// Whether two buffers may share no byte.
    [[nodiscard]] constexpr bool conflict(std::uint32_t a, std::uint32_t b) const noexcept {
        for (std::uint32_t at = first_[a]; at != first_[a + 1]; ++at)
            if (meets(b, from_[at], until_[at])) return true;
        return false;
    }
    [[nodiscard]] constexpr lifetime first_span(std::uint32_t buffer) const noexcept {
        return {from_[first_[buffer]], until_[first_[buffer]]};
    }

private:
    std::uint32_t *first_ = nullptr, *from_ = nullptr, *until_ = nullptr;  // by buffer; by span
    std::uint32_t of_time_ = 0, count_ = 0;
};

}  // namespace allot::inline v1::detail
