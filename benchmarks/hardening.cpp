// SPDX-License-Identifier: BSL-1.0
// The time of an arena with `hardening::checked` and `hardening::debug`, as ratios to the time without hardening.
//
//     none │ checked │ debug │ none │ checked │ debug │ …      the three arenas take turns; the least time of each counts
//
// Workloads: `churn` frees a random one of 1,024 live blocks of up to 120 bytes and allocates another one. The traces are
// the arguments. Times are net of the loop alone. With `--count STRATEGY CASE` the program replays `churn` once, for
// hardening_instructions.sh.
#include "replay.hpp"
#include "trace_files.hpp"

#include <allot/arena/arena.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/host/buffer.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/strategy/pool.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace benchmarks;
using allot::hardening;

template <class Strategy, hardening Hardening>
struct hardened {
    using arena_type = allot::arena<allot::host::buffer, Strategy, allot::growth::none<>,
                                    allot::arena_options{.hardening = Hardening}>;
    using block = typename arena_type::block_type;
    arena_type arena{allot::host::buffer{host_memory(), host_bytes}};

    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        to = arena.allocate({size, align});
        return static_cast<bool>(to);
    }
    void deallocate(const block& held, const allot::trace_operation&) { arena.deallocate(held); }
};
/// The loop alone.
struct nothing {
    using block = void*;
    bool allocate(std::uint64_t size, std::size_t, block& to) {
        asm volatile("" : "=r"(to) : "r"(size));
        return true;
    }
    void deallocate(block held, const allot::trace_operation&) { asm volatile("" : : "r"(held)); }
};

workload churn() {
    constexpr std::uint32_t live = 1024, events = 200'000;
    allot::trace made{};
    std::uint32_t random = 1;
    const auto below = [&](std::uint32_t n) {
        random = random * 1664525 + 1013904223;
        return (random >> 8U) % n;
    };
    made.slots = live;
    made.largest = 120;
    made.peak = live * made.largest;
    const auto add = [&](allot::trace_action action, std::uint32_t slot) {
        made.operations.push_back({.size = 1 + below(120), .slot = slot, .action = action, .align_log2 = 3});
    };
    for (std::uint32_t slot = 0; slot != live; ++slot) add(allot::trace_action::allocate, slot);
    while (made.operations.size() < events) {
        const std::uint32_t slot = below(live);
        add(allot::trace_action::deallocate, slot);
        add(allot::trace_action::allocate, slot);
    }
    return closed("churn", std::move(made));
}

/// Returns the nanoseconds of an operation in one replay.
template <class Subject>
double once(const workload& of) {
    std::vector<typename Subject::block> blocks(of.trace.slots);
    Subject on;
    const auto start = std::chrono::steady_clock::now();
    if (!replay(on, of.trace, blocks.data())) throw std::runtime_error{of.name + ": an allocation failed"};
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(of.trace.operations.size());
}

/// Replays of a strategy: the loop alone, and each hardening.
constexpr int cases = 4;
using replays = double (*[cases])(const workload&);
struct strategy_row {
    const char* name;
    bool takes_all;  // blocks of all sizes
    replays replay;
};

void print_row(const strategy_row& row, const workload& of) {
    double least[cases];
    for (double& each : least) each = 1e9;
    for (int turn = 0; turn != 9; ++turn)
        for (int i = 0; i != cases; ++i) {
            if (i == 3 && turn >= 2) continue;  // debug is slow
            const double now = row.replay[i](of);
            if (now < least[i]) least[i] = now;
        }
    const auto net = [&](int i) { return least[i] - least[0]; };
    std::printf("| %-24s | %-16s | %6.2f ns | %8.2fx | %8.0fx |\n", row.name, of.name.c_str(), net(1), net(2) / net(1),
                net(3) / net(1));
    std::fflush(stdout);
}

using in_band = allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band}>;
using beside = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .granule = 16}>;
using slots = allot::pool<allot::pool_options{.slot = 128, .align = 16, .store = allot::pool_store::in_band}>;
using slots_beside =
    allot::pool<allot::pool_options{.slot = 128, .count = 4096, .align = 16, .store = allot::pool_store::index_stack}>;

template <class Strategy>
constexpr strategy_row row(const char* name, bool takes_all = true) {
    return {name,
            takes_all,
            {once<nothing>, once<hardened<Strategy, hardening::none>>, once<hardened<Strategy, hardening::checked>>,
             once<hardened<Strategy, hardening::debug>>}};
}
constexpr strategy_row rows[] = {row<slots>("pool in band", false), row<slots_beside>("pool, index stack", false),
                                 row<allot::deferred<in_band>>("deferred"), row<in_band>("best_fit in band"),
                                 row<beside>("best_fit, side table")};

int count(const char* strategy, const char* which) {
    for (const strategy_row& each : rows)
        if (each.name == std::string{strategy}) {
            const workload played = churn();
            each.replay[std::atoi(which) % cases](played);
            std::printf("operations: %zu\n", played.trace.operations.size());
            return 0;
        }
    throw std::runtime_error{std::string{strategy} + ": no such strategy"};
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc == 4 && argv[1] == std::string{"--count"}) return count(argv[2], argv[3]);
    std::vector<workload> traces;
    traces.push_back(churn());
    for (int i = 1; i < argc; ++i) {
        const std::string path = argv[i], name = std::filesystem::path{path}.filename().string();
        named_trace read = trace_of(path);
        if (read.trace.peak > most_in_memory) throw std::runtime_error{path + ": more than 128 MiB are live"};
        traces.push_back(closed(name.substr(0, name.find('.')), std::move(read.trace)));
    }
    std::printf("time of a call, and its ratio with hardening\n\n| %-24s | %-16s | %9s | %9s | %9s |\n", "strategy",
                "workload", "none", "checked", "debug");
    std::printf("|---|---|--:|--:|--:|\n");
    for (const workload& each : traces)
        for (const strategy_row& of : rows)
            if (of.takes_all || &each == &traces.front()) print_row(of, each);
} catch (const std::exception& wrong) {
    std::fprintf(stderr, "hardening: %s\n", wrong.what());
    return 1;
}
