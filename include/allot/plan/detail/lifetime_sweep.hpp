// SPDX-License-Identifier: BSL-1.0
// lifetime_sweep: calls functions at both ends of every lifetime, in order of time.
//
//     a  ██████████         begin(a)  begin(b)  end(a)  end(b)  begin(c)  …
//     b     █████████
//     c              ████   b ends at the step at which c begins: the end comes first.
//
// Complexity: O(n log n) to construct; O(n) for a sweep. Memory: three arrays of 4 bytes a lifetime, of the caller.
// Thread safety: concurrent sweeps are safe.
#pragma once

#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Both ends of every lifetime, in order of time.
class lifetime_sweep {
public:
    constexpr lifetime_sweep(const plan_problem& problem, std::uint32_t* starts, std::uint32_t* ends,
                             std::uint32_t* scratch) noexcept
        : buffers_{problem.buffers.data()},
          revivals_{problem.revivals.data()},
          buffer_count_{problem.buffers.size()},
          count_{problem.buffers.size() + problem.revivals.size()},
          starts_{starts},
          ends_{ends} {
        for (std::size_t i = 0; i != count_; ++i) starts[i] = ends[i] = static_cast<std::uint32_t>(i);
        sort_by(starts, scratch, count_, [this](std::uint32_t i) { return ordered(live(i).from); });
        sort_by(ends, scratch, count_, [this](std::uint32_t i) { return ordered(live(i).until); });
    }
    /// Calls `begin(life, step)` and `end(life)` in order of time, until `begin` returns false. A life is an index:
    /// buffers first, then revivals. Lifetimes that end at a step end before others begin at it.
    template <class Begin, class End>
    constexpr void run(Begin begin, End end) const noexcept {
        for (std::size_t next = 0, first = 0; next != count_; ++next) {
            const std::int64_t step = live(starts_[next]).from;
            for (; live(ends_[first]).until <= step; ++first) end(ends_[first]);
            if (!begin(starts_[next], step)) return;
        }
    }
    /// Returns the buffer of a life.
    [[nodiscard]] constexpr std::size_t buffer(std::size_t i) const noexcept {
        return i < buffer_count_ ? i : revivals_[i - buffer_count_].buffer;
    }

private:
    [[nodiscard]] constexpr const lifetime& live(std::size_t i) const noexcept {
        return i < buffer_count_ ? buffers_[i].live : revivals_[i - buffer_count_].live;
    }
    const plan_buffer* buffers_;
    const plan_revival* revivals_;
    std::size_t buffer_count_, count_;
    std::uint32_t *starts_, *ends_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
