// SPDX-License-Identifier: BSL-1.0
// Recorded steps of PyTorch on guided allocators and on best fit: guided_benchmark FILE.alev.xz...
//
// For the third step of each phase: the bytes that a guided allocator and best fit alone need for it, over the maximum
// of live bytes. First the step is played as it was recorded. Then one request of ten has another size (half to twice),
// is missing, comes after the next one, or has a short-lived one behind it; or any of these. Each row has 20 runs of
// three such passes.
#include "recorded_passes.hpp"

#include <allot/allot.hpp>
#include <allot/host/pages.hpp>
#include <allot/plan/guide.hpp>
#include <allot/plan/guided.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>

namespace {

using namespace benchmarks;

constexpr allot::best_fit_options beside{.store = allot::node_store::side_table, .granule = unit};
// No byte of it is touched, and its base has the alignment of the room.
using arena = allot::arena<allot::host::pages<>, allot::best_fit<beside>>;

/// Plays calls on an allocator. `begin()` is called for each pass. Returns the end of the highest block in front of
/// byte `room` of the memory, and adds the bytes behind it up to the end of the highest one there.
template <class Memory, class Begin>
std::uint64_t bytes_of(const played_passes& passes, Memory& memory, const std::byte* start, std::uint64_t room,
                       Begin begin) {
    std::vector<allot::block_of<Memory>> held(passes.blocks);
    std::uint64_t inside = 0, outside = 0;
    for (const played_call& call : passes.calls) {
        if (call.what == played_call::kind::begin) {
            begin();
            continue;
        }
        if (call.what == played_call::kind::deallocation) {
            memory.deallocate(std::exchange(held[call.block], {}));
            continue;
        }
        held[call.block] = memory.allocate({static_cast<std::size_t>(call.size), static_cast<std::size_t>(call.align)});
        if (!held[call.block]) throw std::runtime_error{"a request failed"};
        const auto end =
            static_cast<std::uint64_t>(static_cast<std::byte*>(held[call.block].address) - start) + call.size;
        (end <= room ? inside : outside) = std::max(end <= room ? inside : outside, end <= room ? end : end - room);
    }
    for (const auto& each : held)
        if (each) memory.deallocate(each);
    return inside + outside;
}

std::uint64_t bytes_of_best_fit(const played_passes& passes) {
    arena memory{{}, static_cast<std::size_t>(8 * passes.bound)};
    const auto* const start = static_cast<const std::byte*>(memory.regions()[0].base);
    return bytes_of(passes, memory, start, 8 * passes.bound, [] {});
}

struct guided_result {
    std::uint64_t bytes = 0;
    allot::guided_counters counters{};
};
guided_result bytes_of_guided(const played_passes& passes, const allot::guide& guide) {
    const std::uint64_t room = allot::align_up<std::uint64_t>(4 * (passes.bound + guide.peak), 4096);
    allot::guided<arena> memory{arena{{}, static_cast<std::size_t>(room + 8 * passes.bound)},
                                {.size = static_cast<std::size_t>(room), .align = 64}};
    if (!memory.use_guide(guide)) throw std::runtime_error{"the guide does not fit"};
    const auto* const start = static_cast<const std::byte*>(memory.regions()[0].base);
    guided_result found{bytes_of(passes, memory, start, room, [&] { memory.begin_pass(); })};
    found.counters = memory.counters();
    return found;
}

double ratio(std::uint64_t bytes, std::uint64_t bound) {
    return static_cast<double>(bytes) / static_cast<double>(bound);
}

struct row {
    double sum = 0, most = 0;
    void add(double value) {
        sum += value;
        most = std::max(most, value);
    }
};

void compare(const char* name, const recorded_pass& pass) {
    constexpr int runs = 20, times = 3;
    constexpr unsigned percent = 10;
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    const allot::guide lowest = allot::make_guide(pass.requests).value();
    const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
    const allot::guide robust = allot::make_guide(pass.requests, {.changes = percent}).value();
    const played_passes equal = played(pass, times, change::nothing, 0, seed);
    std::printf("\n%s, %s: %zu requests, %.1f MiB live, guide in %.2f s; bytes over live bytes\n\n", name,
                pass.phase.c_str(), pass.requests.size(), static_cast<double>(equal.bound) / (1 << 20), seconds);
    std::printf(
        "| passes | best fit | most | changes = 10 | most | runs above best fit | changes = 0 | most | above |\n");
    std::printf("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    static constexpr const char* names[] = {"equal", "other sizes", "missing", "other order", "more", "any of these"};
    for (int how = 0; how != 6; ++how) {
        row alone, careful, greedy;
        int above = 0, greedy_above = 0;
        const int count = how == 0 ? 1 : runs;
        for (int i = 0; i != count; ++i) {
            const played_passes passes =
                how == 0 ? equal
                         : played(pass, times, static_cast<change>(how), percent, seed + static_cast<unsigned>(i));
            const std::uint64_t of_best_fit = bytes_of_best_fit(passes);
            const std::uint64_t of_robust = bytes_of_guided(passes, robust).bytes;
            const std::uint64_t of_lowest = bytes_of_guided(passes, lowest).bytes;
            alone.add(ratio(of_best_fit, passes.bound));
            careful.add(ratio(of_robust, passes.bound));
            greedy.add(ratio(of_lowest, passes.bound));
            above += of_robust > of_best_fit;
            greedy_above += of_lowest > of_best_fit;
        }
        std::printf("| %s | %.4f | %.4f | %.4f | %.4f | %d of %d | %.4f | %.4f | %d |\n", names[how], alone.sum / count,
                    alone.most, careful.sum / count, careful.most, above, count, greedy.sum / count, greedy.most,
                    greedy_above);
    }
}

}  // namespace

int main(int count, char** arguments) {
    try {
        for (int i = 1; i < count; ++i) {
            const auto passes = passes_in(arguments[i]);
            std::map<std::string, int> seen;
            for (std::size_t p = 0; p + 1 < passes.size(); ++p)
                if (passes[p].phase != "start" && seen[passes[p].phase]++ == 2)
                    compare(std::filesystem::path{arguments[i]}.stem().stem().c_str(), passes[p]);
        }
        return 0;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "guided_benchmark: %s\n", problem.what());
        return 1;
    }
}
