// SPDX-License-Identifier: BSL-1.0
// replay: replays traces of real and synthetic programs on allot's strategies and on their alternatives. Reports ns per
// operation, and the needed memory relative to the peak of live bytes. Run by ./dev replay and ./dev bench.
//
//     replay [--allocator NAME] [--group bump|pool|best_fit] [TRACE…]
//     replay --count NAME TRACE      a single replay for callgrind to count; see replay_instructions.sh
//     replay --write TRACE SEED      writes a synthetic trace to standard output
//     replay --list [GROUP]          lists the names of allocators
//
// TRACE: a file, plain or compressed with xz, or the name of a synthetic trace (synthetic_traces.hpp), with another
// seed as logn1k:7. Default: all synthetic traces, and the traces of real programs in the folder traces of ALLOT_DATA
// (CONTRIBUTING.md), if there is one.
//
// Compared are: allot's bump with bump allocators (by hand, std::pmr's monotonic resource, foonathan's memory_stack);
// its pools with a free list, an index stack and a bitmap by hand, Boost.Pool, and foonathan's memory_pool; its
// best_fit in band with glibc, mimalloc, jemalloc, the pool resources of libstdc++ and Boost.Container, foonathan's
// pool collection and Boost.Interprocess; its best_fit with a side table with exact best fit in a std::set.
//
// Before the timing, every subject replays the trace once under a check that no two live blocks overlap. The check also
// counts misaligned blocks. Times are CPU time by Google Benchmark. Subjects are interleaved at random, and the time of
// the empty replay is subtracted. A subject in an arena has twice the peak of live bytes as memory, or more if needed.
//
// The tables of a trace end with advice (replay_advice.hpp). A trace with an error is replayed up to the error, with a
// warning.
#include "replay_advice.hpp"
#include "replay_allot.hpp"
#include "replay_arguments.hpp"
#include "replay_by_hand.hpp"
#include "replay_peers.hpp"
#include "replay_table.hpp"
#include "trace_files.hpp"
#ifdef ALLOT_MORE_SUBJECTS
#include ALLOT_MORE_SUBJECTS
#endif

#include <benchmark/benchmark.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

namespace {

using namespace benchmarks;

constexpr int repetitions = 7;
constexpr std::size_t least_operations = 1'000'000;  // operations of one repetition

template <class... Subjects, class Use>
void use_each(Use use) {
    (use.template operator()<Subjects>(), ...);
}

/// Visits all subjects. The first of each group is the reference of the group.
template <class Use>
void for_each_subject(Use use) {
    using store = allot::pool_store;
    use_each<bump_by_hand, allot_bump, std_pmr_monotonic>(use);
#ifdef ALLOT_FOONATHAN
    use_each<foonathan_stack>(use);
#endif
    use_each<free_list_by_hand, allot_pool, boost_segregated_storage>(use);
#ifdef ALLOT_FOONATHAN
    use_each<foonathan_pool>(use);
#endif
    use_each<index_stack_by_hand<64>, index_stack_by_hand<65'536>, allot_pool_beside<64, store::index_stack>,
             allot_pool_beside<65'536, store::index_stack>, bitmap_by_hand<64>, bitmap_by_hand<65'536>,
             allot_pool_beside<64, store::bitmap>, allot_pool_beside<65'536, store::bitmap>>(use);
    use_each<allot_in_band, allot_deferred, allot_memory_resource<false>, allot_memory_resource<true>,
             allot_deferred_std_allocator, glibc_malloc>(use);
#ifdef ALLOT_MIMALLOC
    use_each<mimalloc>(use);
#endif
#ifdef ALLOT_JEMALLOC
    use_each<jemalloc>(use);
#endif
    use_each<std_pmr_pool>(use);
#ifdef ALLOT_BOOST_CONTAINER
    use_each<boost_pmr_pool>(use);
#endif
#ifdef ALLOT_FOONATHAN
    use_each<foonathan_collection>(use);
#endif
    use_each<interprocess_best_fit>(use);
    use_each<allot_side_table, allot_side_table_granule<16, 1>, allot_side_table_granule<256, 1>,
             allot_side_table_granule<16, 2>, allot_side_table_granule<256, 2>, set_best_fit>(use);
#ifdef ALLOT_MORE_SUBJECTS
    for_each_more_subject(use);
#endif
}

/// Keeps the results of Google Benchmark by name: ns per operation of every repetition.
class keeper : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.error_occurred) throw std::runtime_error{run.run_name.function_name + ": " + run.error_message};
            if (run.run_type == Run::RT_Iteration)
                times[run.run_name.function_name].push_back(run.GetAdjustedCPUTime());
        }
    }
    std::map<std::string, std::vector<double>> times{};
};

template <class Subject>
void time(benchmark::State& state, const workload& of, std::uint64_t bytes) {
    std::vector<typename Subject::block> blocks(of.trace.slots);
    Subject on{bytes, of.trace};
    for (auto _ : state)
        if (!replay(on, of.trace, blocks.data()))
            return state.SkipWithError("an allocation failed that succeeded before");
}

template <class Subject>
void enlist(const workload& of, std::uint64_t bytes) {
    const auto rounds = static_cast<benchmark::IterationCount>(least_operations / of.trace.operations.size() + 1);
    benchmark::RegisterBenchmark(Subject::name,
                                 [&of, bytes](benchmark::State& state) { time<Subject>(state, of, bytes); })
        ->Iterations(rounds)
        ->Repetitions(repetitions)
        ->Unit(benchmark::kNanosecond);
}

/// Finds the smallest memory of several sizes in which the trace can be replayed, and returns the result of the check.
template <class Subject>
verdict checked(const workload& of, std::uint64_t& bytes) {
    verdict seen;
    for (const std::uint64_t times : {2u, 4u, 8u}) {
        bytes = (of.trace.peak * times + 4095) / 4096 * 4096 + 65'536;
        if (seen = check<Subject>(of, bytes); seen.complete) break;
    }
    if (seen.overlaps != 0) throw std::runtime_error{of.name + ": blocks of " + Subject::name + " overlap"};
    return seen;
}

std::vector<row> run(const workload& of, const replay_arguments& asked) {
    std::vector<row> rows;
    benchmark::ClearRegisteredBenchmarks();
    enlist<empty_replay>(of, 0);
    for_each_subject([&]<class Subject>() {
        if (!Subject::serves(of) || !asked.has(Subject::name, Subject::group)) return;
        std::uint64_t bytes = 0;
        rows.push_back({.trace = of.name,
                        .name = Subject::name,
                        .honours = Subject::honours,
                        .group = Subject::group,
                        .seen = checked<Subject>(of, bytes)});
        if constexpr (requires { Subject::type(); }) rows.back().type = Subject::type();
        if (!rows.back().seen.complete) return;
        if constexpr (Subject::bounded) rows.back().extent = extent_over_peak<Subject>(of);
        if constexpr (!Subject::in_memory) rows.back().records = record_bytes<Subject>(of, bytes);
        enlist<Subject>(of, bytes);
    });
    std::ranges::stable_sort(rows, {}, &row::group);
    keeper kept;
    benchmark::RunSpecifiedBenchmarks(&kept);
    const auto operations = static_cast<double>(of.trace.operations.size());
    for (auto& [name, times] : kept.times) std::ranges::sort(times);
    const std::vector<double>& empty = kept.times.at(empty_replay::name);
    for (row& each : rows) {
        if (!each.seen.complete) continue;
        const std::vector<double>& times = kept.times.at(each.name);
        each.least = (times.front() - empty.front()) / operations;
        each.median = (times[times.size() / 2] - empty[empty.size() / 2]) / operations;
    }
    return rows;
}

std::vector<std::string> all_traces() {
    std::vector<std::string> all{std::begin(synthetic_names), std::end(synthetic_names)};
    const char* const data = std::getenv("ALLOT_DATA");
    const std::filesystem::path folder = std::filesystem::path{data != nullptr ? data : ""} / "traces";
    if (data == nullptr || !std::filesystem::is_directory(folder)) {
        std::puts("skipped: traces of real programs, because $ALLOT_DATA has no traces");
        return all;
    }
    for (const char* name : {"cc1plus", "pyjson", "sqlite3", "gitlog", "dnn", "kvvar"})
        all.push_back(folder / (std::string{name} + ".altr.xz"));
    return all;
}

allot::trace read_and_warn(const std::string& name) {
    named_trace read = trace_of(name);
    if (!read.warning.empty()) std::fprintf(stderr, "replay: %s\n", read.warning.c_str());
    return std::move(read.trace);
}

int count(const std::string& name, const std::string& trace) {
    const workload of = closed(trace, read_and_warn(trace));
    const char* group = nullptr;
    const auto one = [&]<class Subject>() {
        if (group != nullptr || name != Subject::name || !Subject::serves(of)) return;
        std::vector<typename Subject::block> blocks(of.trace.slots);
        Subject on{of.trace.peak * 4 + 65'536, of.trace};
        if (replay(on, of.trace, blocks.data())) group = group_titles[static_cast<int>(Subject::group)];
    };
    use_each<empty_replay>(one);
    for_each_subject(one);
    if (group == nullptr) return 1;
    std::printf("%zu operations: %s\n", of.trace.operations.size(), group);
    return 0;
}

int write(const std::string& name, const std::string& from) {
    allot::trace_writer made;
    if (!write_synthetic(made, name, seed_of(from)))
        throw std::runtime_error{name + ": no synthetic trace of this name"};
    const auto bytes = made.bytes();
    return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() ? 0 : 1;
}

bool comes_from(void* function, std::string_view library) {
    Dl_info where{};
    return ::dladdr(function, &where) != 0 && std::string_view{where.dli_fname}.find(library) != std::string_view::npos;
}

int run(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const bool list = !arguments.empty() && arguments[0] == "--list" && arguments.size() <= 2;
    const replay_arguments listed{.group = list && arguments.size() == 2 ? arguments[1] : ""};
    std::vector<std::string> names;
    for_each_subject([&]<class Subject>() {
        if (listed.has(Subject::name, Subject::group) && std::ranges::find(names, Subject::name) == names.end())
            names.emplace_back(Subject::name);
    });
    if (list) {
        for (const std::string& name : names) std::printf("%s\n", name.c_str());
        return 0;
    }
    if (arguments.size() == 3 && arguments[0] == "--count") return count(arguments[1], arguments[2]);
    if (arguments.size() == 3 && arguments[0] == "--write") return write(arguments[1], arguments[2]);
    replay_arguments asked = parse(arguments, names);
    if (!asked.wrong.empty()) throw std::runtime_error{asked.wrong};
    if (asked.traces.empty()) asked.traces = all_traces();

    // A library that replaces these functions would be measured in their place.
    if (!comes_from(reinterpret_cast<void*>(&std::malloc), "libc.so"))
        throw std::runtime_error{"malloc is not glibc's"};
    void* (*const plain_new)(std::size_t) = &::operator new;
    if (!comes_from(reinterpret_cast<void*>(plain_new), "libstdc++.so"))
        throw std::runtime_error{"operator new is not libstdc++'s"};

    std::vector<row> rows;
    for (const std::string& name : asked.traces) {
        const workload of = closed(std::filesystem::path{name}.stem().stem(), read_and_warn(name));
        const auto found = run(of, asked);
        if (found.empty()) continue;
        print_trace(of, found);
        std::printf("%s", advisor{{of.name, of.events, of.trace.peak}, found}.text().c_str());
        rows.insert(rows.end(), found.begin(), found.end());
    }
    if (rows.empty()) throw std::runtime_error{"no selected allocator can replay the trace"};
    print_all(rows);
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    char program[] = "replay", interleave[] = "--benchmark_enable_random_interleaving=true";
    char* options[] = {program, interleave, nullptr};
    int count = 2;
    benchmark::Initialize(&count, options);
    return run(argc, argv);
} catch (const std::exception& error) {
    std::fprintf(stderr, "replay: %s\n", error.what());
    return 2;
}
