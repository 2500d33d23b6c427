// SPDX-License-Identifier: BSL-1.0
// section_flow: the prices of a memory's bytes in each section of time, optimal if buffers could be split.
//
//     sections      0         1         2         The bytes of the memory flow from the first node to the last. An arc
//     nodes     0 ──────► 1 ──────► 2 ──────► 3   stands for a buffer: it leads over the buffer's sections, carries at
//               └──── a ────────────┘             most its size, and gains the value of a byte. Arcs without a gain
//                         └────── b ──────────┘   lead over one section each. The flow with the highest gain is sought.
//
// The flow grows along the paths with the highest gain until it has the bytes of the memory. The height of a node is
// the highest gain on the way to it. The price of a section is the difference of the heights of its two nodes: a buffer
// that is in gains at least the prices of its sections, and a buffer that is out gains at most that.
//
// All arithmetic uses integers. Sources: Ford and Fulkerson, Flows in Networks, 1962 (the primal-dual method).
// Arkin and Silverberg, Scheduling jobs with fixed start and end times, Discrete Applied Mathematics 18, 1987.
// Complexity: O(arcs) for each change of the heights and each search for paths, up to a limit of operations.
// Memory: `space`, 36 bytes an arc and 32 a section. Not synchronized.
#pragma once

#include <allot/plan/detail/algorithms.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class section_flow {
public:
    /// `spans` is the largest number of calls of `add`.
    [[nodiscard]] static constexpr plan_space space(std::size_t sections, std::size_t spans) noexcept {
        const std::size_t nodes = sections + 1, arcs = sections + spans;
        return {.u32 = 4 * arcs + 5 * nodes + 2, .u64 = 3 * arcs + 2 * nodes};
    }
    /// Makes a network with the arcs without a gain.
    constexpr section_flow(std::uint32_t sections, std::size_t spans, plan_workspace workspace) noexcept
        : last_{sections} {
        const std::size_t nodes = std::size_t{sections} + 1, arcs = sections + spans;
        for (auto* array : {&from_, &until_, &by_begin_, &by_end_}) *array = workspace.cut_u32(arcs);
        for (auto* array : {&begins_, &ends_}) *array = workspace.cut_u32(nodes + 1);
        for (auto* array : {&next_, &is_seen_, &path_}) *array = workspace.cut_u32(nodes);
        for (auto* array : {&room_, &used_, &gain_}) *array = workspace.cut_u64(arcs);
        for (auto* array : {&height_, &fall_}) *array = workspace.cut_u64(nodes);
        for (std::uint32_t section = 0; section != sections; ++section) add(section, section + 1, unlimited, 0);
    }

    /// Adds an arc over the sections [from, until). Preconditions: these are in order and exist. The sum of all bytes
    /// and the sum of all gains are below 2^62.
    constexpr void add(std::uint32_t from, std::uint32_t until, std::uint64_t bytes, std::uint64_t gain) noexcept {
        from_[arcs_] = from;
        until_[arcs_] = until;
        room_[arcs_] = bytes;
        used_[arcs_] = 0;
        gain_[arcs_++] = gain;
    }
    /// Sends `bytes` through the network. Returns whether this took about `operations` operations at most.
    [[nodiscard]] constexpr bool run(std::uint64_t bytes, std::uint64_t operations) noexcept {
        left_ = bytes;
        operations_ = operations;
        list(by_begin_, begins_, from_);
        list(by_end_, ends_, until_);
        for (std::uint32_t node = 0; node <= last_; ++node) height_[node] = 0;
        for (std::uint32_t node = 0; node != last_; ++node)
            for (const std::uint32_t arc : leaving(node))
                height_[until_[arc]] = larger(height_[until_[arc]], height_[node] + gain_[arc]);
        while (left_ != 0 && operations_ != 0)
            if (!push()) lower();
        return left_ == 0;
    }
    /// Returns the price of a byte in a section. Precondition: `run` returned true.
    [[nodiscard]] constexpr std::uint64_t price(std::uint32_t section) const noexcept {
        return height_[section + 1] - height_[section];
    }

private:
    static constexpr std::uint64_t unlimited = std::uint64_t{1} << 63, far = ~std::uint64_t{0};
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// Sorts the arcs by node, and stores the position of the first arc of each node.
    constexpr void list(std::uint32_t* sorted, std::uint32_t* first, const std::uint32_t* node_of) noexcept {
        for (std::uint32_t node = 0; node <= last_ + 1; ++node) first[node] = 0;
        for (std::uint32_t arc = 0; arc != arcs_; ++arc) ++first[node_of[arc] + 1];
        for (std::uint32_t node = 0; node <= last_; ++node) {
            first[node + 1] += first[node];
            next_[node] = first[node];
        }
        for (std::uint32_t arc = 0; arc != arcs_; ++arc) sorted[next_[node_of[arc]]++] = arc;
    }
    [[nodiscard]] constexpr std::span<const std::uint32_t> leaving(std::uint32_t node) const noexcept {
        return {by_begin_ + begins_[node], by_begin_ + begins_[node + 1]};
    }
    [[nodiscard]] constexpr std::span<const std::uint32_t> entering(std::uint32_t node) const noexcept {
        return {by_end_ + ends_[node], by_end_ + ends_[node + 1]};
    }
    constexpr void spend(std::uint64_t operations) noexcept { operations_ -= smaller(operations, operations_); }
    /// Returns by how much the gain of an arc is below the difference of the heights. Bytes follow arcs with 0.
    [[nodiscard]] constexpr std::uint64_t shortfall(std::uint32_t arc) const noexcept {
        return height_[until_[arc]] - height_[from_[arc]] - gain_[arc];
    }

    /// Sends bytes along paths of the highest gain, depth first. A node without a path to the end is not visited again.
    /// Returns whether it found a path.
    constexpr bool push() noexcept {
        for (std::uint32_t node = 0; node <= last_; ++node) next_[node] = is_seen_[node] = 0;
        std::uint32_t depth = 0, node = 0;
        bool found = false;
        is_seen_[0] = 1;
        while (left_ != 0) {
            if (node == last_) {
                found = true;
                node = send(depth);
                continue;
            }
            const std::uint32_t step = next_step(node);
            if (step != none) {
                path_[depth++] = step;
                node = end_of(step);
                is_seen_[node] = 1;
            } else if (depth != 0) {
                node = begin_of(path_[--depth]);
                ++next_[node];
            } else {
                break;
            }
        }
        return found;
    }
    /// A step of a path is an arc, times two, and one more if the path follows it backward.
    [[nodiscard]] static constexpr bool is_forward(std::uint32_t step) noexcept { return step % 2 == 0; }
    [[nodiscard]] constexpr std::uint32_t begin_of(std::uint32_t step) const noexcept {
        return is_forward(step) ? from_[step / 2] : until_[step / 2];
    }
    [[nodiscard]] constexpr std::uint32_t end_of(std::uint32_t step) const noexcept { return begin_of(step ^ 1); }
    [[nodiscard]] constexpr std::uint64_t room_of(std::uint32_t step) const noexcept {
        return is_forward(step) ? room_[step / 2] : used_[step / 2];
    }
    /// Returns the next step to a node that was not seen, or `none`.
    [[nodiscard]] constexpr std::uint32_t next_step(std::uint32_t node) noexcept {
        const auto out = leaving(node), in = entering(node);
        for (std::uint32_t& k = next_[node]; k != out.size() + in.size(); ++k) {
            spend(1);
            const std::uint32_t step = k < out.size() ? 2 * out[k] : 2 * in[k - out.size()] + 1;
            if (room_of(step) != 0 && shortfall(step / 2) == 0 && is_seen_[end_of(step)] == 0) return step;
        }
        return none;
    }
    /// Sends as many bytes as the path has room for. Cuts the path before its first full arc, and returns the node
    /// there.
    constexpr std::uint32_t send(std::uint32_t& depth) noexcept {
        std::uint64_t bytes = left_;
        for (std::uint32_t k = 0; k != depth; ++k) bytes = smaller(bytes, room_of(path_[k]));
        std::uint32_t kept = depth;
        for (std::uint32_t k = depth; k-- != 0;) {
            const std::uint32_t arc = path_[k] / 2;
            room_[arc] = is_forward(path_[k]) ? room_[arc] - bytes : room_[arc] + bytes;
            used_[arc] = is_forward(path_[k]) ? used_[arc] + bytes : used_[arc] - bytes;
            if (room_of(path_[k]) == 0) kept = k;
        }
        left_ -= bytes;
        spend(depth);
        for (; depth != kept; --depth) is_seen_[end_of(path_[depth - 1])] = 0;
        return left_ == 0 ? last_ : begin_of(path_[kept]);
    }

    /// Lowers the heights by the least shortfall on the way to each node, at most to the last one. Visits the nodes
    /// forward and backward until no shortfall changes.
    constexpr void lower() noexcept {
        fall_[0] = 0;
        for (std::uint32_t node = 1; node <= last_; ++node) fall_[node] = far;
        for (bool changes = true; changes && operations_ != 0;) {
            changes = false;
            for (std::uint32_t node = 0; node != last_; ++node)
                for (const std::uint32_t arc : leaving(node))
                    if (room_[arc] != 0 && fall_[node] != far)
                        fall_[until_[arc]] = smaller(fall_[until_[arc]], fall_[node] + shortfall(arc));
            for (std::uint32_t node = last_; node != 0; --node)
                for (const std::uint32_t arc : entering(node)) {
                    if (used_[arc] == 0 || fall_[node] == far) continue;
                    // An arc in use gains at least the difference of the heights.
                    const std::uint64_t fall = fall_[node] + (0 - shortfall(arc));
                    if (fall >= fall_[from_[arc]]) continue;
                    fall_[from_[arc]] = fall;
                    changes = true;
                }
            spend(2 * std::uint64_t{arcs_});
        }
        for (std::uint32_t node = 0; node <= last_; ++node) height_[node] -= smaller(fall_[node], fall_[last_]);
    }

    std::uint32_t last_, arcs_ = 0;                          // the last node; number of arcs
    std::uint64_t left_ = 0, operations_ = 0;                // of which the run may still use
    std::uint32_t *from_ = nullptr, *until_ = nullptr;       // by arc: nodes
    std::uint32_t *by_begin_ = nullptr, *by_end_ = nullptr;  // arcs by the node where they begin or end
    std::uint32_t *begins_ = nullptr, *ends_ = nullptr;      // by node: position of its first arc in these lists
    std::uint32_t *next_ = nullptr, *is_seen_ = nullptr;     // by node: its next arc; 1 if the search has been there
    std::uint32_t* path_ = nullptr;                          // steps from the first node to the current one
    std::uint64_t *room_ = nullptr, *used_ = nullptr;        // by arc: bytes that it may still carry, and that it does
    std::uint64_t* gain_ = nullptr;                          // by arc: of a byte
    std::uint64_t *height_ = nullptr, *fall_ = nullptr;      // by node: highest gain; by how much it falls
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
