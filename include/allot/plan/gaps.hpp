// gaps: places buffers one by one, each in the smallest gap that is left for it; with everything that a problem says.
//
//     bytes   ┌──────┐                        c is to be placed. Of what is placed already, in order of offsets, only a, b
//       ▲     │      │ b                      and d live at once with c; between a and b, and between b and d, are gaps.
//       │   ┌─┴──────┴─┐   ◄── c ──►          The smallest that c fits in, aligned, is taken; or the room above all.
//       │   │    a     │┌─────┐ d
//       └───┴──────────┴┴─────┴────► time
//
// What is fixed or reserved is there before. A buffer that must be apart from another sees it whatever their lifetimes.
// In the order of a skyline no buffer comes to lie higher than there: the room at its place there is left here too.
//
// Source: Pisarchyk and Lee, Efficient memory management for deep neural net inference, 2020 (largest first).
// Complexity: O(placed) for a buffer, times its lifetimes where it has several. Memory: `space`, 32 bytes a lifetime and a
// reserved range, 8 more a lifetime, 16 a buffer, 8 a pair. Not synchronised.
#pragma once

#include <allot/plan/check.hpp>
#include <allot/plan/timeline.hpp>

namespace allot::inline v1::detail {

class gaps {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = buffers + problem.revivals.size();
        return {4 * (buffers + 1) + 2 * lifetimes + 2 * problem.apart.size(), 0, lifetimes + problem.reserved.size()};
    }

    gaps() = default;
    /// Writes to `offsets`, one for each buffer.
    constexpr gaps(const plan_problem& problem, const timeline& time, std::uint64_t* offsets, plan_workspace& workspace) noexcept
        : problem_{&problem}, buffers_{problem.buffers.data()}, offsets_{offsets}, placed_{workspace.extents.data()} {
        const std::size_t count = problem.buffers.size(), lifetimes = count + problem.revivals.size();
        fixed_ = workspace.cut_words(count + 1);
        partner_of_ = workspace.cut_words(count + 1);
        first_lifetime_ = workspace.cut_words(count + 1);
        first_apart_ = workspace.cut_words(count + 1);
        from_ = workspace.cut_words(lifetimes);
        until_ = workspace.cut_words(lifetimes);
        apart_ = workspace.cut_words(2 * problem.apart.size());

        // Lifetimes and partners by buffer: counted, then placed from the back.
        for (std::size_t i = 0; i <= count; ++i) {
            fixed_[i] = partner_of_[i] = first_apart_[i] = 0;
            first_lifetime_[i] = i < count ? 1 : 0;
        }
        for (const plan_fixed& fixed : problem.fixed) fixed_[fixed.buffer] = 1;
        for (const plan_revival& revival : problem.revivals) ++first_lifetime_[revival.buffer];
        for (const plan_pair& pair : problem.apart) ++first_apart_[pair.first], ++first_apart_[pair.second];
        for (std::size_t i = 1; i <= count; ++i) {
            first_lifetime_[i] += first_lifetime_[i - 1];
            first_apart_[i] += first_apart_[i - 1];
        }
        const auto add = [&](std::size_t buffer, lifetime live) {
            const std::uint32_t at = --first_lifetime_[buffer];
            from_[at] = time.rank(live.from);
            until_[at] = time.rank(live.until);
        };
        for (const plan_revival& revival : problem.revivals) add(revival.buffer, revival.live);
        for (std::size_t i = 0; i != count; ++i) add(i, buffers_[i].live);
        for (const plan_pair& pair : problem.apart) {
            apart_[--first_apart_[pair.first]] = static_cast<std::uint32_t>(pair.second);
            apart_[--first_apart_[pair.second]] = static_cast<std::uint32_t>(pair.first);
        }
    }

    /// Forgets all but what is fixed and reserved, and says which buffer cannot be where it is fixed; how many there are
    /// when all can.
    [[nodiscard]] constexpr std::size_t restart() noexcept {
        const std::size_t count = problem_->buffers.size();
        placed_count_ = 0;
        height_ = 0;
        for (std::size_t i = 0; i != count; ++i) offsets_[i] = 0;
        for (const plan_reserved& range : problem_->reserved)
            if (range.size != 0)
                insert({range.offset, range.offset + range.size, 0, ~std::uint32_t{0}, static_cast<std::uint32_t>(count)});
        for (const plan_fixed& fixed : problem_->fixed) {
            const auto buffer = static_cast<std::uint32_t>(fixed.buffer);
            if (fixed_[buffer] == 2) {  // said twice
                if (offsets_[buffer] != fixed.offset) return buffer;
                continue;
            }
            fixed_[buffer] = 2;
            if (buffers_[buffer].size != 0) {
                const std::uint64_t end = fixed.offset + buffers_[buffer].size;
                for (std::uint32_t at = 0; at != placed_count_; ++at)
                    if (placed_[at].begin < end && fixed.offset < placed_[at].end && conflicts(buffer, placed_[at])) return buffer;
            }
            put(buffer, fixed.offset);
        }
        for (const plan_fixed& fixed : problem_->fixed) fixed_[fixed.buffer] = 1;
        return count;
    }

    /// Places a buffer that is not yet, unless it is fixed. False when it does not fit 64 bits.
    [[nodiscard]] constexpr bool place(std::uint32_t buffer) noexcept {
        if (fixed_[buffer] != 0 || buffers_[buffer].size == 0) return true;
        const std::uint32_t one = first_lifetime_[buffer];
        std::uint64_t offset = 0;
        bool fits = false;
        if (first_lifetime_[buffer + 1] - one == 1 && first_apart_[buffer + 1] == first_apart_[buffer]) {
            const std::uint32_t from = from_[one], until = until_[one];
            fits = find(buffer, offset, [&](const plan_extent& other) { return other.from < until && from < other.until; });
        } else {
            fits = find(buffer, offset, [&](const plan_extent& other) { return conflicts(buffer, other); });
        }
        if (fits) put(buffer, offset);
        return fits;
    }

    [[nodiscard]] constexpr std::uint64_t height() const noexcept { return height_; }
    [[nodiscard]] constexpr std::uint32_t placed() const noexcept { return placed_count_; }

private:
    [[nodiscard]] constexpr bool conflicts(std::uint32_t buffer, const plan_extent& other) const noexcept {
        for (std::uint32_t at = first_lifetime_[buffer]; at != first_lifetime_[buffer + 1]; ++at)
            if (other.from < until_[at] && from_[at] < other.until) return true;
        return partner_of_[other.buffer] == buffer + 1;
    }

    template <class Conflicts>
    [[nodiscard]] constexpr bool find(std::uint32_t buffer, std::uint64_t& offset, Conflicts conflict) noexcept {
        for (std::uint32_t at = first_apart_[buffer]; at != first_apart_[buffer + 1]; ++at) partner_of_[apart_[at]] = buffer + 1;
        const std::uint64_t size = buffers_[buffer].size, align = buffers_[buffer].align;
        constexpr std::uint64_t none = ~std::uint64_t{0};
        std::uint64_t top = 0, smallest = none;
        for (const plan_extent *other = placed_, *const end = placed_ + placed_count_; other != end; ++other) {
            if (!conflict(*other)) continue;
            if (other->begin > top) {
                const std::uint64_t gap = other->begin - top, padding = (~top + 1) & (align - 1);
                if (gap < smallest && gap >= size && gap - size >= padding) {
                    smallest = gap;
                    offset = top + padding;
                }
            }
            if (other->end > top) top = other->end;
        }
        return smallest != none || (checked_align_up(top, align, offset) && size <= none - offset);
    }

    constexpr void put(std::uint32_t buffer, std::uint64_t offset) noexcept {
        offsets_[buffer] = offset;
        if (buffers_[buffer].size == 0) return;
        const std::uint64_t end = offset + buffers_[buffer].size;
        height_ = std::max(height_, end);
        for (std::uint32_t at = first_lifetime_[buffer]; at != first_lifetime_[buffer + 1]; ++at)
            insert({offset, end, from_[at], until_[at], buffer});
    }

    constexpr void insert(const plan_extent& extent) noexcept {
        std::uint32_t at = placed_count_++;
        for (; at != 0 && placed_[at - 1].begin > extent.begin; --at) placed_[at] = placed_[at - 1];
        placed_[at] = extent;
    }

    const plan_problem* problem_ = nullptr;
    const plan_buffer* buffers_ = nullptr;
    std::uint64_t* offsets_ = nullptr;
    plan_extent* placed_ = nullptr;  // in order of offsets
    std::uint32_t placed_count_ = 0;
    std::uint64_t height_ = 0;
    std::uint32_t *fixed_ = nullptr, *partner_of_ = nullptr;  // by buffer; the latter is, plus 1, whom it was last apart from
    std::uint32_t *first_lifetime_ = nullptr, *first_apart_ = nullptr;  // by buffer: where its own begin in what follows
    std::uint32_t *from_ = nullptr, *until_ = nullptr, *apart_ = nullptr;
};

}  // namespace allot::inline v1::detail
