// A problem of several queues, and what follows from its definitions alone: which buffers may share bytes, and the heaviest
// set of buffers of which no two may. It uses the types of a problem from allot, and no code that plans or checks.
#pragma once

#include <allot/plan/queued_problem.hpp>

#include "problems.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace problems {

/// A problem of several queues that owns its arrays, for at most eight buffers.
struct queued_owner {
    std::vector<allot::queued_buffer> buffers{};
    std::vector<std::size_t> queues{};
    std::vector<allot::queue_wait> waits{};
    std::vector<allot::queued_use> uses{};

    [[nodiscard]] allot::queued_problem problem() const { return {buffers, queues, waits, uses}; }
    /// Returns for each pair of operators whether the first one runs before the second one: all paths of waits and of
    /// operators of one queue.
    [[nodiscard]] std::vector<std::vector<bool>> paths() const {
        const std::size_t count = queues.size();
        std::vector<std::vector<bool>> made(count, std::vector<bool>(count));
        for (std::size_t a = 0; a != count; ++a)
            for (std::size_t b = a + 1; b != count; ++b) made[a][b] = queues[a] == queues[b];
        for (const allot::queue_wait& each : waits) made[each.earlier][each.operation] = true;
        for (std::size_t via = 0; via != count; ++via)
            for (std::size_t a = 0; a != count; ++a)
                for (std::size_t b = 0; b != count; ++b)
                    if (made[a][via] && made[via][b]) made[a][b] = true;
        return made;
    }
    [[nodiscard]] bool is_used(std::size_t buffer) const {
        return std::any_of(uses.begin(), uses.end(),
                           [&](const allot::queued_use& use) { return use.buffer == buffer; });
    }
    [[nodiscard]] bool may_share(const std::vector<std::vector<bool>>& is_before, std::size_t a, std::size_t b) const {
        bool forward = true, backward = true;
        for (const allot::queued_use& x : uses)
            for (const allot::queued_use& y : uses) {
                if (x.buffer != a || y.buffer != b) continue;
                forward = forward && is_before[x.operation][y.operation];
                backward = backward && is_before[y.operation][x.operation];
            }
        return forward || backward;
    }
    /// Returns the problem of one memory in which only buffers that may not share bytes are apart.
    [[nodiscard]] owner as_pairs() const {
        const auto order = paths();
        owner made;
        for (std::size_t i = 0; i != buffers.size(); ++i) {
            const auto step = static_cast<std::int64_t>(i);
            made.buffers.push_back({is_used(i) ? buffers[i].size : 0, {step, step + 1}, buffers[i].align});
            for (std::size_t k = 0; k != i; ++k)
                if (!may_share(order, i, k)) made.apart.push_back({i, k});
        }
        return made;
    }
    /// Returns the largest sum of sizes of buffers of which no two may share bytes.
    [[nodiscard]] std::uint64_t heaviest() const {
        const auto order = paths();
        std::uint64_t most = 0;
        for (unsigned set = 0; set != 1U << buffers.size(); ++set) {
            std::uint64_t sum = 0;
            bool is_clique = true;
            for (std::size_t i = 0; i != buffers.size(); ++i) {
                if ((set >> i & 1) == 0) continue;
                sum += is_used(i) ? buffers[i].size : 0;
                for (std::size_t k = 0; k != i; ++k)
                    if ((set >> k & 1) != 0 && may_share(order, i, k)) is_clique = false;
            }
            if (is_clique) most = std::max(most, sum);
        }
        return most;
    }
};

}  // namespace problems
