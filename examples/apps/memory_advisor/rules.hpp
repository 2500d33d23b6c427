// SPDX-License-Identifier: BSL-1.0
// rules: the published rules by which common planners place buffers, for comparison with allot's planner.
//
//     buffers ──► order ──► for each buffer: the first memory with room ──► an offset in it
//
//     offset                            A new buffer x looks at the placed buffers that live at the same time:
//       │   ┌───────┐
//       │   │   b   │ 3                  gap::best    the smallest gap that holds it (1 or 2), else above all (3)
//       │   └───────┘ 2                  gap::first   the lowest gap that holds it, else above all
//       │ ┌─────┐                        gap::none    above all
//       │ │  a  │     1
//       └─┴─────┴──────► time
//
// | function | rule |
// |---|---|
// | `by_size` | "greedy by size" of Pisarchyk and Lee, arXiv 2001.03288: largest first, smallest gap |
// | `tflite` | `ArenaPlanner`: the same, but buffers that live all the time come first |
// | `tflite_micro` | `GreedyMemoryPlanner`: largest first, of equal sizes the last one first; lowest gap |
// | `executorch` | `greedy` of `exir/memory_planning.py`: largest first, into objects of fixed size that lie side by
// side | | `tvm_relax` | `StaticPlanBlockMemory`: in the order of the program, into tokens that are free, of 1/16 to 16
// times the size | | `tvm_usmp_by_size`, `tvm_usmp_by_conflicts` | the algorithms of TVM's unified static memory
// planner: above all | | `onnx_runtime` | `MemPatternPlanner`: in the order of the program, smallest gap |
//
// The functions follow the rules, not the code, of these projects. Each of them plans all buffers that it is given,
// also the inputs and outputs of a network, which some of the projects leave to the caller. A buffer of size 0 is at
// offset 0.
//
// Complexity: O(n²). Memory: O(n).
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/plan/problem.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace rules {

using buffers = std::span<const allot::plan_buffer>;

/// The places of all buffers. Places in a memory are at an offset of it.
struct layout {
    std::vector<std::uint64_t> offsets;  // by buffer
    std::vector<std::size_t> memory_of;  // by buffer
    std::uint64_t peak = 0;              // bytes of the first memory
    std::uint64_t spilled = 0;           // bytes of the buffers that the first memory does not hold
};

enum class gap { best, first, none };

/// The placed buffers of one memory, from the lowest up.
class placed_buffers {
public:
    /// Returns the offset of a buffer among the placed ones.
    [[nodiscard]] std::uint64_t find(const allot::plan_buffer& wanted, gap rule) const {
        std::uint64_t above = 0, best = 0, smallest = none;
        for (const placed& other : all_) {
            if (!other.live.overlaps(wanted.live)) continue;
            const std::uint64_t begin = allot::align_up(above, wanted.align);
            const std::uint64_t room = other.begin > begin ? other.begin - begin : 0;
            if (rule != gap::none && room >= wanted.size && room < smallest) {
                smallest = room;
                best = begin;
                if (rule == gap::first) break;
            }
            above = std::max(above, other.end);
        }
        return smallest == none ? allot::align_up(above, wanted.align) : best;
    }
    void add(const allot::plan_buffer& buffer, std::uint64_t offset) {
        const auto behind = std::upper_bound(all_.begin(), all_.end(), offset,
                                             [](std::uint64_t begin, const placed& p) { return begin < p.begin; });
        all_.insert(behind, {offset, offset + buffer.size, buffer.live});
    }

private:
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    struct placed {
        std::uint64_t begin, end;
        allot::lifetime live;
    };
    std::vector<placed> all_;
};

using order = std::vector<std::size_t>;

/// Returns the indexes of the buffers, sorted stably by `before`.
template <class Before>
[[nodiscard]] order sorted(buffers of, Before before) {
    order made(of.size());
    std::iota(made.begin(), made.end(), std::size_t{0});
    std::stable_sort(made.begin(), made.end(), before);
    return made;
}

/// Places the buffers in an order, each in the first memory with room. A buffer that fits no memory is in the one after
/// the last.
[[nodiscard]] inline layout in_order(buffers of, const order& by, gap rule,
                                     std::span<const std::uint64_t> capacities = {}) {
    layout made{std::vector<std::uint64_t>(of.size()), std::vector<std::size_t>(of.size())};
    std::vector<placed_buffers> memories(capacities.size() + 1);
    for (const std::size_t i : by) {
        if (of[i].size == 0) continue;
        std::size_t m = 0;
        std::uint64_t offset = memories[0].find(of[i], rule);
        for (; m != capacities.size(); offset = memories[++m].find(of[i], rule))
            if (offset <= capacities[m] && of[i].size <= capacities[m] - offset) break;
        memories[m].add(of[i], offset);
        made.offsets[i] = offset;
        made.memory_of[i] = m;
        if (m == 0) made.peak = std::max(made.peak, offset + of[i].size);
        else made.spilled += of[i].size;
    }
    return made;
}

/// Sum of all sizes: no two buffers share bytes.
[[nodiscard]] inline layout separate(buffers of) {
    layout made{std::vector<std::uint64_t>(of.size()), std::vector<std::size_t>(of.size())};
    for (std::size_t i = 0; i != of.size(); ++i) {
        if (of[i].size == 0) continue;
        made.offsets[i] = allot::align_up(made.peak, of[i].align);
        made.peak = made.offsets[i] + of[i].size;
    }
    return made;
}

/// Whether buffer `a` is larger than `b`, or of the same size and earlier.
[[nodiscard]] inline bool larger(buffers of, std::size_t a, std::size_t b) {
    return of[a].size != of[b].size ? of[a].size > of[b].size : of[a].live.from < of[b].live.from;
}

[[nodiscard]] inline layout by_size(buffers of, std::span<const std::uint64_t> capacities = {}) {
    return in_order(of, sorted(of, [&](auto a, auto b) { return larger(of, a, b); }), gap::best, capacities);
}

/// Buffers that live from the first step to the last one come first, in their own order.
[[nodiscard]] inline layout tflite(buffers of) {
    allot::lifetime all{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    for (const allot::plan_buffer& each : of)
        all = {std::min(all.from, each.live.from), std::max(all.until, each.live.until)};
    const auto lives_always = [&](std::size_t i) {
        return of[i].live.from == all.from && of[i].live.until == all.until;
    };
    const auto before = [&](std::size_t a, std::size_t b) {
        if (lives_always(a) || lives_always(b)) return lives_always(a) && !lives_always(b);
        return larger(of, a, b);
    };
    return in_order(of, sorted(of, before), gap::best);
}

[[nodiscard]] inline layout tflite_micro(buffers of) {
    const auto before = [&](std::size_t a, std::size_t b) {
        return of[a].size != of[b].size ? of[a].size > of[b].size : a > b;
    };
    return in_order(of, sorted(of, before), gap::first);
}

[[nodiscard]] inline layout onnx_runtime(buffers of) {
    const auto before = [&](std::size_t a, std::size_t b) { return of[a].live.from < of[b].live.from; };
    return in_order(of, sorted(of, before), gap::best);
}

/// Returns for each buffer the number of other buffers that live at the same time.
[[nodiscard]] inline std::vector<std::size_t> conflicts_of(buffers of) {
    std::vector<std::int64_t> begins, ends;
    for (const allot::plan_buffer& each : of) {
        begins.push_back(each.live.from);
        ends.push_back(each.live.until);
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    std::vector<std::size_t> made;
    for (const allot::plan_buffer& each : of) {
        const auto begun = std::lower_bound(begins.begin(), begins.end(), each.live.until) - begins.begin();
        const auto ended = std::upper_bound(ends.begin(), ends.end(), each.live.from) - ends.begin();
        made.push_back(static_cast<std::size_t>(begun - ended) - 1);
    }
    return made;
}

/// Equal buffers are in descending order of their names.
[[nodiscard]] inline layout tvm_usmp_by_size(buffers of, std::span<const std::string> names,
                                             std::span<const std::uint64_t> capacities = {}) {
    const std::vector<std::size_t> conflicts = conflicts_of(of);
    const auto before = [&](std::size_t a, std::size_t b) {
        if (of[a].size != of[b].size) return of[a].size > of[b].size;
        return conflicts[a] != conflicts[b] ? conflicts[a] > conflicts[b] : names[a] > names[b];
    };
    return in_order(of, sorted(of, before), gap::none, capacities);
}

[[nodiscard]] inline layout tvm_usmp_by_conflicts(buffers of, std::span<const std::string> names,
                                                  std::span<const std::uint64_t> capacities = {}) {
    const std::vector<std::size_t> conflicts = conflicts_of(of);
    const auto before = [&](std::size_t a, std::size_t b) {
        if (conflicts[a] != conflicts[b]) return conflicts[a] > conflicts[b];
        return of[a].size != of[b].size ? of[a].size > of[b].size : names[a] > names[b];
    };
    return in_order(of, sorted(of, before), gap::none, capacities);
}

/// The objects of ExecuTorch: a buffer goes to the first object without another live buffer. If there is none, it goes
/// above the live buffers of the first object with room. If there is none, it becomes an object.
[[nodiscard]] inline layout executorch(buffers of) {
    struct object {
        std::uint64_t size;
        std::vector<std::size_t> members;
        std::uint64_t align = 1, offset = 0;
    };
    layout made{std::vector<std::uint64_t>(of.size()), std::vector<std::size_t>(of.size())};
    std::vector<object> objects;
    std::vector<std::size_t> object_of(of.size());
    const auto above = [&](const object& in, std::size_t i) {  // 0 if no member lives at the same time
        std::uint64_t end = 0;
        for (const std::size_t other : in.members)
            if (of[other].live.overlaps(of[i].live)) end = std::max(end, made.offsets[other] + of[other].size);
        return end;
    };
    const auto before = [&](std::size_t a, std::size_t b) {
        return of[a].size != of[b].size ? of[a].size > of[b].size : a > b;
    };
    for (const std::size_t i : sorted(of, before)) {
        if (of[i].size == 0) continue;
        auto found =
            std::find_if(objects.begin(), objects.end(), [&](const object& each) { return above(each, i) == 0; });
        if (found == objects.end())
            found = std::find_if(objects.begin(), objects.end(), [&](const object& each) {
                return allot::align_up(above(each, i), of[i].align) + of[i].size <= each.size;
            });
        if (found == objects.end()) found = objects.insert(found, {of[i].size, {}});
        made.offsets[i] = allot::align_up(above(*found, i), of[i].align);
        object_of[i] = static_cast<std::size_t>(found - objects.begin());
        found->members.push_back(i);
        found->align = std::max(found->align, of[i].align);
    }
    for (object& each : objects) {
        each.offset = allot::align_up(made.peak, each.align);
        made.peak = each.offset + each.size;
    }
    for (std::size_t i = 0; i != of.size(); ++i)
        if (of[i].size != 0) made.offsets[i] += objects[object_of[i]].offset;
    return made;
}

/// The tokens of TVM: a buffer takes the smallest free token of its size to 16 times its size, or else the largest
/// smaller one of at least 1/16 of its size, which grows. If there is none, it becomes a token.
[[nodiscard]] inline layout tvm_relax(buffers of) {
    constexpr std::uint64_t range = 16;
    layout made{std::vector<std::uint64_t>(of.size()), std::vector<std::size_t>(of.size())};
    std::vector<std::uint64_t> tokens, aligns;  // size and alignment of each token
    std::vector<std::size_t> token_of(of.size());
    std::multimap<std::uint64_t, std::size_t> free;  // by size
    const order begins = sorted(of, [&](auto a, auto b) { return of[a].live.from < of[b].live.from; });
    const order ends = sorted(of, [&](auto a, auto b) { return of[a].live.until < of[b].live.until; });
    auto ended = ends.begin();
    for (const std::size_t i : begins) {
        const std::uint64_t size = of[i].size;
        for (; ended != ends.end() && of[*ended].live.until <= of[i].live.from; ++ended)
            if (of[*ended].size != 0) free.emplace(tokens[token_of[*ended]], token_of[*ended]);
        if (size == 0) continue;
        auto found = free.lower_bound(size);
        if (found == free.end() || found->first / range > size ||
            (found->first / range == size && found->first % range))
            found = found == free.begin() ? free.end() : std::prev(found);
        if (found != free.end() && found->first < size / range) found = free.end();
        if (found == free.end()) {
            token_of[i] = tokens.size();
            tokens.push_back(size);
            aligns.push_back(of[i].align);
        } else {
            token_of[i] = found->second;
            free.erase(found);
            tokens[token_of[i]] = std::max(tokens[token_of[i]], size);
            aligns[token_of[i]] = std::max(aligns[token_of[i]], of[i].align);
        }
    }
    std::vector<std::uint64_t> offset_of(tokens.size());
    for (std::size_t t = 0; t != tokens.size(); ++t) {
        offset_of[t] = allot::align_up(made.peak, aligns[t]);
        made.peak = offset_of[t] + tokens[t];
    }
    for (std::size_t i = 0; i != of.size(); ++i)
        if (of[i].size != 0) made.offsets[i] = offset_of[token_of[i]];
    return made;
}

}  // namespace rules
