// SPDX-License-Identifier: BSL-1.0
// gpu_benchmark: the cost and the memory of allocators of device memory, on the installed GPU or on a fake runtime.
//
//     gpu_benchmark [--scale N] [--operations N] [--peer LIBRARY]... TRACE...
//     gpu_benchmark --list TRACE          prints the operations of a trace, for benchmarks in other languages
//
// A trace is a file or the name of a synthetic trace (synthetic_traces.hpp). `--scale` divides all sizes, and
// `--operations` limits the length. Each result is a line of JSON. Times are those of the calls and of the loop around
// them, on one thread of the host. The GPU has no work meanwhile. A second run gives it work: it fills each block with
// a pattern, late on one stream, and reads the pattern back before the free. This run counts the bytes that were
// overwritten, and those that were held from the driver.
#include "../replay.hpp"
#include "../trace_files.hpp"
#include "subjects.hpp"

#include <algorithm>
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

/// The streams of all measurements. They outlive the allocators, which know them.
class gpu_streams {
public:
    gpu_streams() {
        for (cudaStream_t& each : all_) check(cudaStreamCreate(&each), "a stream");
    }
    gpu_streams(const gpu_streams&) = delete;
    gpu_streams& operator=(const gpu_streams&) = delete;
    ~gpu_streams() {
        for (const cudaStream_t each : all_) static_cast<void>(cudaStreamDestroy(each));
    }
    cudaStream_t operator[](std::size_t index) const { return all_[index % std::size(all_)]; }
    void synchronize() const {
        for (const cudaStream_t each : all_) check(cudaStreamSynchronize(each), "the work of a stream");
    }

private:
    cudaStream_t all_[4] = {};
};

/// How a trace uses streams. The block of a slot is allocated and freed on the stream of its number.
struct stream_use {
    std::size_t count = 1;
    bool shared = false;  // whether the next stream uses every fourth block, too
    cudaStream_t of(const gpu_streams& all, std::size_t slot) const { return all[slot % count]; }
    bool is_shared(std::size_t slot) const { return shared && slot % 4 == 0; }
};
constexpr stream_use stream_uses[] = {{1}, {2}, {4}, {4, true}};

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
double pair_time(Subject& on, const gpu_streams& streams, std::size_t bytes) {
    const cudaStream_t order = streams[0];
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

/// Frees a block on its stream, and says if another one has used it.
template <class Subject>
void free_block(Subject& on, const typename Subject::block& held, const allot::trace_operation& of,
                const gpu_streams& streams, stream_use use) {
    const auto bytes = static_cast<std::size_t>(of.size);
    if constexpr (Subject::streams) {
        if (use.is_shared(of.slot)) return on.free(held, bytes, use.of(streams, of.slot), use.of(streams, of.slot + 1));
    }
    on.free(held, bytes, use.of(streams, of.slot));
}

/// Frees the blocks that are live when a request has failed. The pools of some subjects belong to the process.
template <class Subject>
void free_all(Subject& on, std::vector<typename Subject::block>& blocks, const gpu_trace& of,
              const gpu_streams& streams, stream_use use) {
    for (const allot::trace_operation& each : of.operations) {
        if (each.action != allot::trace_action::deallocate || !blocks[each.slot]) continue;
        free_block(on, blocks[each.slot], each, streams, use);
        blocks[each.slot] = {};
    }
    static_cast<void>(cudaGetLastError());
}

/// Returns false if the memory does not suffice.
template <class Subject>
bool replay_on(Subject& on, const gpu_trace& of, const gpu_streams& streams, stream_use use,
               std::vector<typename Subject::block>& blocks) {
    for (const allot::trace_operation& each : of.operations) {
        auto& block = blocks[each.slot];
        if (each.action == allot::trace_action::allocate) {
            block = on.allocate(static_cast<std::size_t>(each.size), use.of(streams, each.slot));
            if (!block) return free_all(on, blocks, of, streams, use), false;
        } else {
            free_block(on, block, each, streams, use);
            block = {};
        }
    }
    return true;
}

/// Returns the nanoseconds of an operation of a trace, after one run that fills the caches. 0: a request failed.
template <class Subject>
double trace_time(Subject& on, const gpu_trace& of, const gpu_streams& streams, stream_use use) {
    std::vector<typename Subject::block> blocks(of.slots);
    std::vector<double> rounds;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t round = 0; round < 2 || (round != 8 && seconds_since(start) < 0.3); ++round) {
        const auto begin = std::chrono::steady_clock::now();
        if (!replay_on(on, of, streams, use, blocks)) return 0;
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

/// Fills the block of each slot with a pattern on its stream, and reads the pattern back before the block is freed.
class patterns {
public:
    explicit patterns(const gpu_trace& of) : tags_(of.slots), seen_{of.operations.size() * 2 + 2} {}
    void write(void* block, std::size_t bytes, std::size_t slot, cudaStream_t order) {
        tags_[slot] = static_cast<unsigned char>(++number_ % 251 + 1);
        check(cudaMemsetAsync(block, tags_[slot], bytes, order), "the pattern");
    }
    void read(const void* block, std::size_t bytes, std::size_t slot, cudaStream_t order) {
        const auto* const first = static_cast<const unsigned char*>(block);
        for (const unsigned char* const byte : {first, first + bytes - 1}) {
            check(cudaMemcpyAsync(seen_.at(expected_.size()), byte, 1, cudaMemcpyDeviceToHost, order), "a byte");
            expected_.push_back(tags_[slot]);
        }
    }
    /// Returns the bytes that did not have the pattern. Precondition: all streams are done.
    std::size_t wrong() const {
        std::size_t count = 0;
        for (std::size_t i = 0; i != expected_.size(); ++i) count += *seen_.at(i) != expected_[i] ? 1 : 0;
        return count;
    }

private:
    std::vector<unsigned char> tags_, expected_;
    pinned_bytes seen_;
    std::size_t number_ = 0;
};

/// Replays a trace whose blocks are filled by their streams, one of which is late. Returns the bytes that did not keep
/// their pattern, or nothing if a request failed.
template <class Subject>
std::optional<std::size_t> overwritten(Subject& on, const gpu_trace& of, const gpu_streams& streams, stream_use use) {
    std::vector<typename Subject::block> blocks(of.slots);
    patterns bytes{of};
    const wait_for_user wait;
    std::size_t number = 0;
    for (const allot::trace_operation& each : of.operations) {
        const cudaStream_t order = use.of(streams, each.slot);
        auto& block = blocks[each.slot];
        const auto size = static_cast<std::size_t>(each.size);
        if (++number % 512 == 0) check(cudaLaunchHostFunc(streams[0], sleep_a_little, nullptr), "a late stream");
        if (each.action == allot::trace_action::allocate) {
            block = on.allocate(size, order);
            if (!block) return free_all(on, blocks, of, streams, use), std::nullopt;
            bytes.write(Subject::address(block), size, each.slot, order);
            if (use.is_shared(each.slot)) wait(use.of(streams, each.slot + 1), order);
        } else {
            bytes.read(Subject::address(block), size, each.slot,
                       use.of(streams, each.slot + (use.is_shared(each.slot) ? 1 : 0)));
            free_block(on, block, each, streams, use);
            block = {};
        }
    }
    streams.synchronize();
    return bytes.wrong();
}

// ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────

void print_pair(const char* name, std::size_t bytes, double nanoseconds) {
    std::printf(R"({"allocator": "%s", "measured": "pair", "bytes": %zu, "ns": %.1f})"
                "\n",
                name, bytes, nanoseconds);
    std::fflush(stdout);
}

std::string text_of(stream_use use) {
    if (use.count == 1) return "1 stream";
    return std::to_string(use.count) + " streams" + (use.shared ? ", shared blocks" : "");
}

void print_trace(const char* name, const gpu_trace& of, stream_use use, double nanoseconds) {
    std::printf(R"({"allocator": "%s", "measured": "trace", "trace": "%s", "operations": %zu, "peak": %zu, )"
                R"("streams": "%s", "ns": %.1f})"
                "\n",
                name, of.name.c_str(), of.operations.size(), of.peak, text_of(use).c_str(), nanoseconds);
    std::fflush(stdout);
}

void print_memory(const char* name, const gpu_trace& of, stream_use use, std::size_t reserved,
                  std::optional<std::size_t> wrong) {
    std::printf(R"({"allocator": "%s", "measured": "memory", "trace": "%s", "streams": "%s", "peak": %zu, )", name,
                of.name.c_str(), text_of(use).c_str(), of.peak);
    if (wrong) std::printf("\"reserved\": %zu, \"overwritten\": %zu}\n", reserved, *wrong);
    else std::printf("\"failed\": true}\n");
    std::fflush(stdout);
}

/// What all allocators are measured with.
struct setting {
    std::uint64_t scale = 1;
    std::vector<gpu_trace> traces{};
    gpu_streams streams{};
};

/// Measures one allocator. `make(bytes)` returns a new one with room for that many bytes.
template <class Make>
void measure(const setting& with, Make make) {
    using subject = typename decltype(make(std::size_t{}))::element_type;
    std::string name;
    {
        const auto on = make(std::size_t{128} << 20);
        name = on->name;
        for (const std::size_t bytes : {std::size_t{512}, std::size_t{1} << 20, std::size_t{64} << 20}) {
            const std::size_t scaled = std::max<std::size_t>(bytes / with.scale, 1);
            print_pair(on->name, scaled, pair_time(*on, with.streams, scaled));
        }
    }
    if constexpr (std::is_same_v<subject, cuda_malloc>) return;  // waits for the device with each free
    for (const gpu_trace& each : with.traces) {
        for (const stream_use use : stream_uses) {
            if (use.count != 1 && !subject::streams) continue;
            const auto timed = make(each.peak * 2);
            print_trace(name.c_str(), each, use, trace_time(*timed, each, with.streams, use));
        }
        for (const stream_use use : stream_uses) {
            if (use.count != 1 && !subject::streams) continue;
            const auto checked = make(each.peak * 2);
            const auto wrong = overwritten(*checked, each, with.streams, use);
            print_memory(name.c_str(), each, use, checked->reserved(), wrong);
        }
    }
}

/// Calls `measurement`, and prints the reason if the allocator cannot be measured.
template <class Measurement>
void attempt(const char* name, Measurement measurement) {
    try {
        measurement();
    } catch (const std::exception& reason) {
        static_cast<void>(cudaGetLastError());
        std::string text = reason.what();
        text.resize(std::min(text.find('\n'), text.size()));
        std::ranges::replace_if(text, [](char letter) { return letter == '"' || letter == '\\'; }, '\'');
        std::printf("{\"allocator\": \"%s\", \"error\": \"%s\"}\n", name, text.c_str());
    }
}

template <class Subject>
void measure(const setting& with) {
    attempt(Subject::name, [&] { measure(with, [](std::size_t bytes) { return std::make_unique<Subject>(bytes); }); });
}

void measure_peer(const setting& with, const std::string& path) {
    attempt(path.c_str(), [&] {
        const peer_library library{path};
        measure(with, [&](std::size_t) { return std::make_unique<peer>(library); });
    });
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
    setting with{.scale = chosen.scale};
    for (const std::string& each : chosen.traces) with.traces.push_back(prepared(each, chosen));
    measure<allot_arena>(with);
    measure<allot_growing>(with);
    measure<allot_indexed>(with);
    measure<allot_ordered<allot_arena::arena>>(with);
    measure<allot_ordered<allot_growing::arena>>(with);
    measure<allot_by_address>(with);
    measure<cuda_malloc_async>(with);
    for (const std::string& each : chosen.peers) measure_peer(with, each);
    measure<cuda_malloc>(with);
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
