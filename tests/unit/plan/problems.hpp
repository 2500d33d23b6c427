// Problems for the tests of the planners: random ones, and problems from files. Rules of a plan, checked for each pair.
#pragma once

#include <allot/plan/problem.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace problems {

/// Without optimization or with sanitizers, tests use fewer random problems.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_slow = false;
#else
inline constexpr bool is_slow = true;
#endif

/// ALLOT_LONG=1 in the environment multiplies the number of random problems by ten.
inline std::size_t times(std::size_t usual) {
    const char* const set = std::getenv("ALLOT_LONG");
    return set != nullptr && set[0] == '1' ? 10 * usual : usual;
}

/// Random numbers that are the same on every machine. Usable in constant expressions.
class random {
public:
    constexpr explicit random(std::uint64_t seed) : state_{seed * 0x9E37'79B9'7F4A'7C15 + 1} {}
    /// Returns a number from 0 to below − 1.
    constexpr std::uint64_t operator()(std::uint64_t below) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return (state_ >> 16) % below;
    }
    constexpr std::size_t index(std::size_t below) { return static_cast<std::size_t>((*this)(below)); }

private:
    std::uint64_t state_;
};

/// Returns buffers that live for up to a third of `steps`.
inline std::vector<allot::plan_buffer> random_buffers(std::mt19937& random, std::size_t count, std::int64_t steps,
                                                      std::uint64_t largest) {
    std::vector<allot::plan_buffer> buffers;
    while (buffers.size() != count) {
        const auto from = static_cast<std::int64_t>(random()) % steps;
        const auto length = 1 + static_cast<std::int64_t>(random()) % (1 + steps / 3);
        buffers.push_back({.size = 1 + random() % largest, .live = {from, from + length}});
    }
    return buffers;
}

/// A problem that owns its arrays.
struct owner {
    std::vector<allot::plan_buffer> buffers{};
    std::vector<allot::plan_revival> revivals{};
    std::vector<allot::plan_fixed> fixed{};
    std::vector<allot::plan_pair> together{};
    std::vector<allot::plan_pair> apart{};
    std::vector<allot::plan_reserved> reserved{};

    operator allot::plan_problem() const { return {buffers, revivals, fixed, together, apart, reserved}; }
};

/// Returns buffers with one lifetime each, which begins in [0, steps).
inline owner simple(std::uint64_t seed, std::size_t count, std::uint64_t steps, std::uint64_t longest,
                    std::uint64_t largest) {
    random draw{seed};
    owner made;
    for (std::size_t i = 0; i != count; ++i) {
        const auto from = static_cast<std::int64_t>(draw(steps));
        const auto length = static_cast<std::int64_t>(1 + draw(longest));
        made.buffers.push_back({draw(largest + 1), {from, from + length}, 1});
    }
    return made;
}

/// Returns a problem with all constraints except `together`. Fixed buffers and reserved ranges do not collide.
inline owner constrained(std::uint64_t seed, std::size_t count, std::uint64_t steps, std::uint64_t longest,
                         std::uint64_t largest) {
    owner made = simple(seed, count, steps, longest, largest);
    random draw{seed + 1000};
    std::uint64_t slot = 0;  // of the size of the largest buffer; each is used at most once
    const std::uint64_t slot_size = (largest + 64) & ~std::uint64_t{63};
    for (std::size_t i = 0; i != count; ++i) {
        made.buffers[i].align = std::uint64_t{1} << draw(5);
        if (draw(4) == 0) {
            const std::int64_t from = made.buffers[i].live.until + static_cast<std::int64_t>(draw(steps));
            made.revivals.push_back({i, {from, from + 1 + static_cast<std::int64_t>(draw(longest))}});
        }
        if (draw(8) == 0) made.fixed.push_back({i, slot_size * (slot += 1 + draw(3))});
        if (const std::size_t other = draw.index(count); other != i && draw(4) == 0) made.apart.push_back({i, other});
    }
    for (std::uint64_t i = draw(4); i-- != 0;)
        made.reserved.push_back({slot_size * (slot += 1 + draw(3)), draw(slot_size)});
    return made;
}

inline bool live_at_once(const allot::plan_problem& problem, std::size_t a, std::size_t b) {
    const auto lives = [&](std::size_t buffer) {
        std::vector<allot::lifetime> all{problem.buffers[buffer].live};
        for (const auto& revival : problem.revivals)
            if (revival.buffer == buffer) all.push_back(revival.live);
        return all;
    };
    for (const auto first : lives(a))
        for (const auto second : lives(b))
            if (first.overlaps(second)) return true;
    return false;
}

inline bool share_bytes(std::uint64_t a, std::uint64_t a_size, std::uint64_t b, std::uint64_t b_size) {
    return a_size != 0 && b_size != 0 && a < b + b_size && b < a + a_size;
}
inline bool share_bytes(const allot::plan_problem& problem, const std::vector<std::uint64_t>& offsets, std::size_t a,
                        std::size_t b) {
    return share_bytes(offsets[a], problem.buffers[a].size, offsets[b], problem.buffers[b].size);
}

/// Returns the transitive groups of buffers that are together.
inline std::vector<std::size_t> groups(const allot::plan_problem& problem) {
    std::vector<std::size_t> group(problem.buffers.size());
    for (std::size_t i = 0; i != group.size(); ++i) group[i] = i;
    for (const auto& pair : problem.together) {
        const std::size_t gone = group[pair.first];
        for (auto& each : group)
            if (each == gone) each = group[pair.second];
    }
    return group;
}

/// Checks every rule for each pair. Precondition: no sum wraps.
inline bool keeps_all_rules(const allot::plan_problem& problem, const std::vector<std::uint64_t>& offsets,
                            std::uint64_t capacity) {
    const std::vector<std::size_t> group = groups(problem);
    for (std::size_t i = 0; i != offsets.size(); ++i) {
        const auto& buffer = problem.buffers[i];
        if (offsets[i] % buffer.align != 0 || (buffer.size != 0 && offsets[i] + buffer.size > capacity)) return false;
        for (const auto& range : problem.reserved)
            if (share_bytes(offsets[i], buffer.size, range.offset, range.size)) return false;
        for (std::size_t j = 0; j != i; ++j)
            if (group[i] != group[j] && live_at_once(problem, i, j) && share_bytes(problem, offsets, i, j))
                return false;
    }
    for (const auto& fixed : problem.fixed)
        if (offsets[fixed.buffer] != fixed.offset) return false;
    for (const auto& pair : problem.together)
        if (offsets[pair.first] != offsets[pair.second]) return false;
    for (const auto& pair : problem.apart)
        if (share_bytes(problem, offsets, pair.first, pair.second)) return false;
    return true;
}

inline std::uint64_t height(const allot::plan_problem& problem, const std::vector<std::uint64_t>& offsets) {
    std::uint64_t highest = 0;
    for (std::size_t i = 0; i != offsets.size(); ++i)
        if (problem.buffers[i].size != 0) highest = std::max(highest, offsets[i] + problem.buffers[i].size);
    return highest;
}

/// Returns the height of the lowest plan of a few buffers. Some order of placing each as low as possible yields it.
inline std::uint64_t optimum(const allot::plan_problem& problem) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i != problem.buffers.size(); ++i) order.push_back(i);
    std::uint64_t lowest = ~std::uint64_t{0};
    do {
        std::vector<std::uint64_t> offsets(order.size());
        std::vector<bool> placed(order.size());
        for (const auto& fixed : problem.fixed) {
            offsets[fixed.buffer] = fixed.offset;
            placed[fixed.buffer] = true;
        }
        for (const std::size_t now : order) {
            if (placed[now]) continue;
            const auto collides = [&] {
                for (const auto& range : problem.reserved)
                    if (share_bytes(offsets[now], problem.buffers[now].size, range.offset, range.size)) return true;
                for (std::size_t other = 0; other != order.size(); ++other) {
                    if (!placed[other] || !share_bytes(problem, offsets, now, other)) continue;
                    if (live_at_once(problem, now, other)) return true;
                    for (const auto& pair : problem.apart)
                        if ((pair.first == now && pair.second == other) || (pair.first == other && pair.second == now))
                            return true;
                }
                return false;
            };
            while (collides()) offsets[now] += problem.buffers[now].align;
            placed[now] = true;
        }
        lowest = std::min(lowest, height(problem, offsets));
    } while (std::next_permutation(order.begin(), order.end()));
    return lowest;
}

/// Returns 454 buffers that resemble the hardest published instance. They are carved from a full memory, one cut after
/// the other. The bound is therefore reachable. Usable in constant expressions.
inline constexpr std::uint64_t carved_height = 1 << 20;
constexpr std::array<allot::plan_buffer, 454> carved() {
    std::array<allot::plan_buffer, 454> made{};
    struct rectangle {
        std::uint64_t from, until, bottom, top;
    };
    std::array<rectangle, 454> pieces{};
    pieces[0] = {0, 1024, 0, 1024};
    std::size_t count = 1;
    random draw{7};
    for (std::size_t next = 0; count != pieces.size(); next = (next + 1) % count) {
        rectangle& piece = pieces[next];
        const bool in_time = draw(2) == 0;
        std::uint64_t& end = in_time ? piece.until : piece.top;
        const std::uint64_t begin = in_time ? piece.from : piece.bottom;
        if (end - begin < 4) continue;
        const std::uint64_t cut = begin + 1 + draw(end - begin - 1);
        rectangle rest = piece;
        (in_time ? rest.from : rest.bottom) = cut;
        end = cut;
        pieces[count++] = rest;
    }
    for (std::size_t i = 0; i != count; ++i)
        made[i] = {(pieces[i].top - pieces[i].bottom) * 1024,
                   {static_cast<std::int64_t>(pieces[i].from), static_cast<std::int64_t>(pieces[i].until)},
                   1};
    return made;
}

/// Reads a file with lines 'id,lower,upper,size'. Returns no buffers if the file does not exist.
inline owner read(const std::string& path) {
    std::ifstream file{path};
    owner made;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        long long from = 0, until = 0;
        unsigned long long size = 0;
        const auto comma = line.find(',');
        if (comma == std::string::npos ||
            std::sscanf(line.c_str() + comma, ",%lld,%lld,%llu", &from, &until, &size) != 3)
            return {};
        made.buffers.push_back({size, {from, until}, 1});
    }
    return made;
}

}  // namespace problems
