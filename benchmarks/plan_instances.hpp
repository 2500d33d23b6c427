// SPDX-License-Identifier: BSL-1.0
// plan_instances: the instances of the planner's benchmark: generated hard instances, and instances from files.
#pragma once

#include "../examples/apps/memory_planner/csv.hpp"
#include "../examples/apps/memory_planner/network_input.hpp"

#include <allot/plan/problem.hpp>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace instances {

using buffers = std::vector<allot::plan_buffer>;

struct instance {
    std::string name;
    buffers of;
    std::uint64_t known = 0;  // lowest known height; 0 if unknown
};

inline constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

/// Cuts a rectangle of `height` bytes and `pieces` steps at random into pieces, so that a plan of that height exists
/// and almost no other. Then removes about `taken_away` thousandths of the pieces.
inline buffers cut_rectangle(std::uint32_t seed, std::size_t pieces, std::uint32_t taken_away,
                             std::uint64_t height = mebibyte) {
    constexpr std::uint64_t unit = 1024;
    struct piece {
        std::uint64_t from, until, low, high;
        [[nodiscard]] std::uint64_t area() const { return (until - from) * (high - low); }
    };
    std::mt19937 random{seed};
    std::vector<piece> all{{0, pieces, 0, height / unit}};
    while (all.size() != pieces) {
        std::size_t largest = random() % all.size();  // the largest of three, so that small pieces remain
        for (int other = 0; other != 2; ++other)
            if (const std::size_t i = random() % all.size(); all[i].area() > all[largest].area()) largest = i;
        piece &low = all[largest], high = low;
        const bool in_time = random() % 2 != 0;
        const std::uint64_t length = in_time ? low.until - low.from : low.high - low.low;
        if (length < 2) continue;
        const std::uint64_t at = 1 + random() % (length - 1);
        if (in_time) high.from = low.until = low.from + at;
        else high.low = low.high = low.low + at;
        all.push_back(high);
    }
    buffers made;
    for (const piece& each : all)
        if (random() % 1000 >= taken_away)
            made.push_back({.size = (each.high - each.low) * unit,
                            .live = {static_cast<std::int64_t>(each.from), static_cast<std::int64_t>(each.until)}});
    return made;
}

/// Five instances of each kind: complete, 5 % removed, 10 % removed.
inline std::vector<instance> cut() {
    std::vector<instance> made;
    for (const std::uint32_t taken_away : {0U, 50U, 100U})
        for (std::uint32_t seed = 1; seed <= 5; ++seed)
            made.push_back({"cut " + std::to_string(seed) + ", " + std::to_string(taken_away / 10) + " % gone",
                            cut_rectangle(seed, 100 + 50 * seed, taken_away), taken_away == 0 ? mebibyte : 0});
    return made;
}

/// Buffers of random sizes with lifetimes of up to `longest` steps, as in a large program.
inline buffers scattered(std::uint32_t seed, std::size_t count, std::uint32_t longest, std::uint32_t largest) {
    std::mt19937 random{seed};
    buffers made;
    while (made.size() != count) {
        const auto from = static_cast<std::int64_t>(random() % (2 * count));
        made.push_back(
            {.size = 1 + random() % largest, .live = {from, from + 1 + static_cast<std::int64_t>(random() % longest)}});
    }
    return made;
}

/// Fills a memory to the last byte and adds a fifth as many buffers. Spilling the added buffers is a known solution.
struct overfull {
    buffers of;
    std::uint64_t too_many = 0;  // bytes
};
inline overfull overfill(std::uint32_t seed, std::size_t pieces, std::uint64_t capacity) {
    overfull made{cut_rectangle(seed, pieces, 0, capacity)};
    std::mt19937 random{seed};
    for (std::size_t i = 0; i != pieces / 5; ++i) {
        const auto from = static_cast<std::int64_t>(random() % (pieces - pieces / 8));
        const std::uint64_t size = (1 + random() % 40) * 1024;
        made.of.push_back(
            {.size = size, .live = {from, from + 1 + static_cast<std::int64_t>(random() % (pieces / 8))}});
        made.too_many += size;
    }
    for (std::size_t i = made.of.size(); i-- > 1;) std::swap(made.of[i], made.of[random() % (i + 1)]);
    return made;
}

/// Returns the files in and below a folder whose names end with `end`, sorted.
inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, const std::string& end) {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::is_directory(folder))
        for (const auto& each : std::filesystem::recursive_directory_iterator{folder})
            if (each.is_regular_file() && each.path().filename().string().ends_with(end)) found.push_back(each.path());
    std::sort(found.begin(), found.end());
    return found;
}

/// Reads a CSV table or a network.
inline instance read(const std::filesystem::path& path) {
    const std::string name = path.string();
    const planner::input given = path.extension() == ".network" ? planner::input_of(demo::load(name), name)
                                                                : planner::csv_reader{name}.read(demo::text_of(name));
    return {path.stem().string(), given.buffers};
}

}  // namespace instances
