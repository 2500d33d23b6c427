// SPDX-License-Identifier: BSL-1.0
// plan_peers: a known algorithm in a few lines, for comparison with the planner.
//
// Greedy by size, as in the arena planner of TensorFlow Lite: buffers are placed largest first, each in the smallest
// gap between the placed buffers that live at the same time, or above them. O(n²). A buffer that would end above the
// capacity is not placed.
#pragma once

#include <allot/plan/problem.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace peers {

struct greedy_answer {
    std::uint64_t height = 0;
    std::uint64_t spilled = 0;  // bytes of the buffers that are not placed
};

inline greedy_answer greedy_by_size(const std::vector<allot::plan_buffer>& of,
                                    std::uint64_t capacity = ~std::uint64_t{0}) {
    std::vector<std::size_t> order(of.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return of[a].size > of[b].size; });
    struct placed {
        std::uint64_t begin, end;
        allot::lifetime live;
    };
    std::vector<placed> all;  // from the lowest up
    greedy_answer made;
    for (const std::size_t i : order) {
        std::uint64_t above = 0, best = 0, smallest = ~std::uint64_t{0};
        for (const placed& other : all) {
            if (!other.live.overlaps(of[i].live)) continue;
            if (other.begin > above && other.begin - above >= of[i].size && other.begin - above < smallest) {
                smallest = other.begin - above;
                best = above;
            }
            above = std::max(above, other.end);
        }
        const placed mine{smallest == ~std::uint64_t{0} ? above : best, 0, of[i].live};
        const std::uint64_t end = mine.begin + of[i].size;
        if (end > capacity) {
            made.spilled += of[i].size;
            continue;
        }
        made.height = std::max(made.height, end);
        const auto behind = std::upper_bound(all.begin(), all.end(), mine.begin,
                                             [](std::uint64_t begin, const placed& p) { return begin < p.begin; });
        all.insert(behind, {mine.begin, end, mine.live});
    }
    return made;
}

}  // namespace peers
