// SPDX-License-Identifier: BSL-1.0
// gpu_benchmark: the cost and the memory of allocators of device memory, on the installed GPU or on a fake runtime.
//
//     gpu_benchmark [--scale N] [--operations N] [--peer LIBRARY]... TRACE...
//     gpu_benchmark --list TRACE          prints the operations of a trace, for benchmarks in other languages
//
// A trace is a file or the name of a synthetic trace (synthetic_traces.hpp). `--scale` divides all sizes. `--operations`
// limits the length. Each result is a line of JSON. Times are those of the calls and of the loop around them, on one
// thread of the host. The GPU has no work meanwhile. A second run gives it work: a copy of a pattern into each block,
// late on one stream. It counts the blocks whose pattern was overwritten, and the bytes that were held from the driver.
#include "../replay.hpp"
#include "../trace_files.hpp"
#include "subjects.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace benchmarks {
namespace {

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) throw std::runtime_error{std::string{what} + ": " + cudaGetErrorString(status)};
}

struct options {
    std::uint64_t scale = 1;
    std::size_t operations = SIZE_MAX;
    bool list = false;
    std::vector<std::string> traces, peers;
};

/// A trace that frees all its blocks, and the peak of its live bytes in units of the alignment.
struct gpu_trace {
    std::string name;
    std::vector<allot::trace_operation> operations;
    std::size_t slots = 0, peak = 0;
};

gpu_trace prepared(const std::string& name, const options& chosen) {
    allot::trace read = trace_of(name).trace;
    auto& all = read.operations;
    if (all.size() > chosen.operations) all.resize(chosen.operations);
    std::erase_if(all, [](const auto& each) { return each.action == allot::trace_action::reset; });
    for (allot::trace_operation& each : all) each.size = std::max<std::uint64_t>(each.size / chosen.scale, 1);
    const workload whole = closed(name, std::move(read));
    gpu_trace made{name.substr(name.rfind('/') + 1), whole.trace.operations, whole.trace.slots};
    made.operations.pop_back();  // the reset of a closed trace
    std::size_t live = 0;
    for (const allot::trace_operation& each : made.operations) {
        const std::size_t bytes = allot::align_up(static_cast<std::size_t>(each.size), gpu_align);
        live = each.action == allot::trace_action::allocate ? live + bytes : live - bytes;
        made.peak = std::max(made.peak, live);
    }
    return made;
}

class gpu_streams {
public:
    explicit gpu_streams(std::size_t count) : all_(count) {
        for (cudaStream_t& each : all_) check(cudaStreamCreate(&each), "a stream");
    }
    gpu_streams(const gpu_streams&) = delete;
    gpu_streams& operator=(const gpu_streams&) = delete;
    ~gpu_streams() {
        for (const cudaStream_t each : all_) static_cast<void>(cudaStreamDestroy(each));
    }
    /// The stream of a slot: neighbors in time are often on different streams.
    cudaStream_t of(std::size_t slot) const { return all_[slot % all_.size()]; }
    void synchronize() const {
        for (const cudaStream_t each : all_) check(cudaStreamSynchronize(each), "the work of a stream");
    }

private:
    std::vector<cudaStream_t> all_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> of) {
    std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
    return of[of.size() / 2];
}

// ── measurements ─────────────────────────────────────────────────────────────────────────────────────────────────────

/// Returns the nanoseconds of an allocation and a free of one size, on one stream. 0: the memory does not suffice.
template <class Subject>
double pair_time(Subject& on, std::size_t bytes) {
    const gpu_streams streams{1};
    const cudaStream_t order = streams.of(0);
    std::vector<double> rounds;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t count = 1; rounds.size() < 7 || (seconds_since(start) < 0.05 && rounds.size() < 1000);) {
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i != count; ++i) {
            const auto block = on.allocate(bytes, order);
            if (!block) return 0;
            on.free(block, bytes, order);
        }
        const double taken = seconds_since(begin);
        if (taken < 1e-4 && count < 100'000) count *= 2;  // too short for the clock
        else rounds.push_back(taken * 1e9 / static_cast<double>(count));
        streams.synchronize();
    }
    return median(rounds);
}

/// Returns false if the memory does not suffice; all blocks are free then.
template <class Subject>
bool replay_on(Subject& on, const gpu_trace& of, const gpu_streams& streams,
               std::vector<typename Subject::block>& blocks) {
    for (const allot::trace_operation& each : of.operations) {
        auto& block = blocks[each.slot];
        if (each.action == allot::trace_action::allocate) {
            block = on.allocate(static_cast<std::size_t>(each.size), streams.of(each.slot));
            if (!block) return false;
        } else {
            on.free(block, static_cast<std::size_t>(each.size), streams.of(each.slot));
        }
    }
    return true;
}

/// Returns the nanoseconds of an operation of a trace, after one run that fills the caches. 0: a request failed.
template <class Subject>
double trace_time(Subject& on, const gpu_trace& of, std::size_t count) {
    const gpu_streams streams{count};
    std::vector<typename Subject::block> blocks(of.slots);
    std::vector<double> rounds;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t round = 0; round < 2 || (round != 8 && seconds_since(start) < 1); ++round) {
        const auto begin = std::chrono::steady_clock::now();
        if (!replay_on(on, of, streams, blocks)) return 0;
        if (round != 0) rounds.push_back(seconds_since(begin) * 1e9 / static_cast<double>(of.operations.size()));
        streams.synchronize();
    }
    return median(rounds);
}

void CUDART_CB sleep_a_little(void*) {
    const auto start = std::chrono::steady_clock::now();
    while (seconds_since(start) < 2e-4) {}
}

/// Bytes of the host that the GPU writes to.
class pinned_bytes {
public:
    explicit pinned_bytes(std::size_t size) {
        void* given = nullptr;
        check(cudaMallocHost(&given, size), "pinned memory");
        bytes_ = static_cast<unsigned char*>(given);
    }
    pinned_bytes(const pinned_bytes&) = delete;
    pinned_bytes& operator=(const pinned_bytes&) = delete;
    ~pinned_bytes() { static_cast<void>(cudaFreeHost(bytes_)); }
    unsigned char* at(std::size_t index) const { return bytes_ + index; }

private:
    unsigned char* bytes_ = nullptr;
};

/// Replays a trace whose blocks are filled by their streams, one of which is late. Returns the blocks that did not keep
/// their pattern, or nothing if a request failed.
template <class Subject>
std::optional<std::size_t> overwritten(Subject& on, const gpu_trace& of, std::size_t count) {
    const gpu_streams streams{count};
    std::vector<typename Subject::block> blocks(of.slots);
    std::vector<unsigned char> tags(of.slots);
    std::vector<std::array<unsigned char, 2>> expected;
    const pinned_bytes seen{of.operations.size() * 2 + 2};
    std::size_t number = 0;
    for (const allot::trace_operation& each : of.operations) {
        const cudaStream_t order = streams.of(each.slot);
        auto& block = blocks[each.slot];
        const auto bytes = static_cast<std::size_t>(each.size);
        if (++number % 512 == 0) check(cudaLaunchHostFunc(streams.of(0), sleep_a_little, nullptr), "a late stream");
        if (each.action == allot::trace_action::allocate) {
            block = on.allocate(bytes, order);
            if (!block) return {};
            tags[each.slot] = static_cast<unsigned char>(number % 251 + 1);
            check(cudaMemsetAsync(Subject::address(block), tags[each.slot], bytes, order), "the pattern");
            continue;
        }
        const auto* const held = static_cast<const unsigned char*>(Subject::address(block));
        const std::size_t index = expected.size() * 2;
        check(cudaMemcpyAsync(seen.at(index), held, 1, cudaMemcpyDeviceToHost, order), "the first byte");
        check(cudaMemcpyAsync(seen.at(index + 1), held + bytes - 1, 1, cudaMemcpyDeviceToHost, order), "the last byte");
        expected.push_back({tags[each.slot], tags[each.slot]});
        on.free(block, bytes, order);
    }
    streams.synchronize();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i != expected.size(); ++i)
        wrong += *seen.at(i * 2) != expected[i][0] || *seen.at(i * 2 + 1) != expected[i][1] ? 1 : 0;
    return wrong;
}

// ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────

void print_pair(const char* name, std::size_t bytes, double nanoseconds) {
    std::printf(R"({"allocator": "%s", "measured": "pair", "bytes": %zu, "ns": %.1f})"
                "\n",
                name, bytes, nanoseconds);
    std::fflush(stdout);
}

void print_trace(const char* name, const gpu_trace& of, std::size_t streams, double nanoseconds) {
    std::printf(R"({"allocator": "%s", "measured": "trace", "trace": "%s", "operations": %zu, "peak": %zu, )"
                R"("streams": %zu, "ns": %.1f})"
                "\n",
                name, of.name.c_str(), of.operations.size(), of.peak, streams, nanoseconds);
    std::fflush(stdout);
}

void print_memory(const char* name, const gpu_trace& of, std::size_t streams, std::size_t reserved,
                  std::optional<std::size_t> wrong) {
    std::printf(R"({"allocator": "%s", "measured": "memory", "trace": "%s", "streams": %zu, "peak": %zu, )", name,
                of.name.c_str(), streams, of.peak);
    if (wrong) std::printf("\"reserved\": %zu, \"overwritten\": %zu}\n", reserved, *wrong);
    else std::printf("\"failed\": true}\n");
    std::fflush(stdout);
}

/// Measures one allocator. `make(bytes)` returns a new one with room for that many bytes.
template <class Make>
void measure(const std::vector<gpu_trace>& traces, std::uint64_t scale, Make make) {
    using subject = typename decltype(make(std::size_t{}))::element_type;
    std::string name;
    {
        const auto on = make(std::size_t{128} << 20);
        name = on->name;
        for (const std::size_t bytes : {std::size_t{512}, std::size_t{1} << 20, std::size_t{64} << 20}) {
            const std::size_t scaled = std::max<std::size_t>(bytes / scale, 1);
            print_pair(on->name, scaled, pair_time(*on, scaled));
        }
    }
    if constexpr (std::is_same_v<subject, cuda_malloc>) return;  // waits for the device with each free
    for (const gpu_trace& each : traces) {
        for (const std::size_t streams : {1, 2, 4}) {
            if (streams != 1 && !subject::streams) continue;
            const auto timed = make(each.peak * 2);
            print_trace(name.c_str(), each, streams, trace_time(*timed, each, streams));
        }
        for (const std::size_t streams : {1, 2, 4}) {
            if (streams != 1 && !subject::streams) continue;
            const auto checked = make(each.peak * 2);
            const auto wrong = overwritten(*checked, each, streams);
            print_memory(name.c_str(), each, streams, checked->reserved(), wrong);
        }
    }
}

template <class Subject>
void measure(const std::vector<gpu_trace>& traces, std::uint64_t scale) {
    try {
        measure(traces, scale, [](std::size_t bytes) { return std::make_unique<Subject>(bytes); });
    } catch (const std::exception& reason) {
        static_cast<void>(cudaGetLastError());
        std::printf("{\"allocator\": \"%s\", \"error\": \"%s\"}\n", Subject::name, reason.what());
    }
}

void measure_peer(const std::vector<gpu_trace>& traces, std::uint64_t scale, const std::string& path) {
    try {
        const peer_library library{path};
        measure(traces, scale, [&](std::size_t) { return std::make_unique<peer>(library); });
    } catch (const std::exception& reason) {
        static_cast<void>(cudaGetLastError());
        std::printf("{\"allocator\": \"%s\", \"error\": \"%s\"}\n", path.c_str(), reason.what());
    }
}

void list(const std::string& name, const options& chosen) {
    for (const allot::trace_operation& each : prepared(name, chosen).operations)
        std::printf("%c %u %" PRIu64 "\n", each.action == allot::trace_action::allocate ? '+' : '-', each.slot,
                    each.size);
}

options parse(int count, char** texts) {
    options chosen;
    for (int i = 1; i < count; ++i) {
        const std::string text = texts[i];
        const bool has_value = i + 1 < count;
        if (text == "--list") chosen.list = true;
        else if (text == "--scale" && has_value) chosen.scale = std::max<std::uint64_t>(seed_of(texts[++i]), 1);
        else if (text == "--operations" && has_value) chosen.operations = seed_of(texts[++i]);
        else if (text == "--peer" && has_value) chosen.peers.emplace_back(texts[++i]);
        else if (text.starts_with("-")) throw std::runtime_error{"unknown option " + text};
        else chosen.traces.push_back(text);
    }
    if (chosen.traces.empty()) throw std::runtime_error{"no trace is given"};
    return chosen;
}

int run(const options& chosen) {
    if (chosen.list) {
        for (const std::string& each : chosen.traces) list(each, chosen);
        return 0;
    }
    int devices = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess || devices == 0) {
        std::printf("skipped: no CUDA device (cudaGetDeviceCount: %d)\n", static_cast<int>(status));
        return 77;
    }
    check(cudaFree(nullptr), "the context of the device");
    std::vector<gpu_trace> traces;
    for (const std::string& each : chosen.traces) traces.push_back(prepared(each, chosen));
    measure<allot_arena>(traces, chosen.scale);
    measure<allot_growing>(traces, chosen.scale);
    measure<allot_indexed>(traces, chosen.scale);
    measure<cuda_malloc_async>(traces, chosen.scale);
    for (const std::string& each : chosen.peers) measure_peer(traces, chosen.scale, each);
    measure<cuda_malloc>(traces, chosen.scale);
    return 0;
}

}  // namespace
}  // namespace benchmarks

int main(int count, char** texts) {
    try {
        return benchmarks::run(benchmarks::parse(count, texts));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpu_benchmark: %s\n", error.what());
        return 2;
    }
}
