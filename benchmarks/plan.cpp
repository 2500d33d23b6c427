// plan: how low the planner places buffers, and how long that takes, as a table. Run by ./dev bench plan.
//
//     plan [FILE.csv...]            rows of id,lower,upper,size
//
// The hard instances are made here: a rectangle of 1 MiB and as many steps as pieces is cut at random, again and again, so
// that a plan of height 1 MiB exists and hardly another; then some of the pieces are taken away. Files come after them.
//
//     fits      from the question whether 1 MiB is enough to the answer
//     lowest    the lowest plan that the default effort finds, and the bound that no plan is below
#include "../examples/plan/csv.hpp"

#include <allot/plan.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace {

using buffers = std::vector<allot::plan_buffer>;
constexpr std::uint64_t capacity = std::uint64_t{1} << 20, unit = 1024;

/// A rectangle cut into `pieces`, of which some thousandths are taken away.
buffers cut_rectangle(std::uint32_t seed, std::size_t pieces, std::uint32_t taken_away) {
    struct piece {
        std::uint64_t from, until, low, high;
        [[nodiscard]] std::uint64_t area() const { return (until - from) * (high - low); }
    };
    std::mt19937 random{seed};
    std::vector<piece> all{{0, pieces, 0, capacity / unit}};
    while (all.size() != pieces) {
        std::size_t largest = random() % all.size();  // of three, so that there are small ones too
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

struct timed {
    allot::memory_plan plan;
    double milliseconds;
};
timed plan(const buffers& of, const allot::plan_options& options) {
    const auto begin = std::chrono::steady_clock::now();
    auto made = allot::plan({.buffers = of}, options);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (!made) throw std::runtime_error{"that cannot be planned"};
    std::vector<std::uint64_t> offsets;
    for (const allot::plan_place& place : made->places) offsets.push_back(place.offset);
    allot::plan_heap workspace{allot::validate_space({.buffers = of})};
    if (allot::validate({.buffers = of}, offsets, made->peak, workspace).kind != allot::plan_violation_kind::none)
        throw std::logic_error{"the planner made a mistake"};
    return {*std::move(made), time.count()};
}

void row(const char* name, const buffers& of, bool ask_whether_it_fits) {
    const timed lowest = plan(of, {});
    char fits[64] = "-";
    if (ask_whether_it_fits) {
        const timed answer = plan(of, {.capacity = capacity});
        std::snprintf(fits, sizeof fits, "%.1f ms%s", answer.milliseconds, answer.plan.peak <= capacity ? "" : ", not found");
    }
    std::printf("| %s | %zu | %s | %llu | %llu | %.4f | %s | %.1f ms |\n", name, of.size(), fits,
                static_cast<unsigned long long>(lowest.plan.bound), static_cast<unsigned long long>(lowest.plan.peak),
                static_cast<double>(lowest.plan.peak) / static_cast<double>(lowest.plan.bound), to_string(lowest.plan.status),
                lowest.milliseconds);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
    std::printf("| instance | buffers | fits 1 MiB | bound | lowest | ratio | status | time |\n|---|--:|--:|--:|--:|--:|---|--:|\n");
    for (const std::uint32_t taken_away : {0U, 50U, 100U}) {
        for (std::uint32_t seed = 1; seed <= 5; ++seed) {
            const std::string name = "cut " + std::to_string(seed) + ", " + std::to_string(taken_away / 10) + " % gone";
            row(name.c_str(), cut_rectangle(seed, 100 + 50 * seed, taken_away), true);
        }
    }
    for (int i = 1; i < argc; ++i) {
        std::ifstream file{argv[i]};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        const planner::input read = planner::csv_reader{argv[i]}.read(text);
        const bool of_minimalloc = std::filesystem::path{argv[i]}.stem().extension() == ".1048576";
        row(std::filesystem::path{argv[i]}.stem().c_str(), read.buffers, of_minimalloc);
    }
    return 0;
} catch (const std::exception& why) {
    std::fprintf(stderr, "plan: %s\n", why.what());
    return 2;
}
