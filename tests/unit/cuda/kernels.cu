// Kernels write into blocks of arenas, and only there. Compiled by nvcc; without a GPU, the program is compiled and
// then skipped. It uses no test framework, because the headers would dominate nvcc's time. A C++ compiler without
// support for CUDA builds the same program for ./dev gpu --rehearse, where a fill by the runtime replaces the kernel.
#include <allot/allot.hpp>
#include <allot/cuda/events.hpp>
#include <allot/cuda/memory.hpp>
#include <allot/cuda/memory_resource.hpp>
#include <allot/cuda/virtual_memory.hpp>

#if __has_include(<nvtx3/nvToolsExtMem.h>)
#include <allot/cuda/nvtx.hpp>
#define HAS_NVTX
#endif

#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t block_bytes = 1000, blocks = 12, whole = 64 * 1024;

#ifdef __CUDACC__
__global__ void write(unsigned char* bytes, std::size_t size, unsigned char value) {
    for (std::size_t i = threadIdx.x; i < size; i += blockDim.x) bytes[i] = value;
}
void fill(unsigned char* bytes, std::size_t size, unsigned char value, cudaStream_t stream) {
    write<<<1, 64, 0, stream>>>(bytes, size, value);
}
__global__ void spin(long long cycles) {
    const long long from = clock64();
    while (clock64() - from < cycles) {}
}
/// Makes later work of a stream run late.
void hold(cudaStream_t stream, long long cycles) { spin<<<1, 1, 0, stream>>>(cycles); }
__global__ void count(const unsigned char* bytes, std::size_t size, unsigned char value, unsigned* wrong) {
    for (std::size_t i = threadIdx.x; i < size; i += blockDim.x)
        if (bytes[i] != value) atomicAdd(wrong, 1);
}
#else
void hold(cudaStream_t, long long) {}  // the fake runtime executes a stream when the program waits for it
void fill(unsigned char* bytes, std::size_t size, unsigned char value, cudaStream_t stream) {
    static_cast<void>(cudaMemsetAsync(bytes, value, size, stream));
}
#endif

bool failed(const char* what) {
    std::printf("failed: %s\n", what);
    return false;
}

/// Fills blocks by kernels on `stream` and checks every byte of the region.
template <class Arena>
bool writes_apart(Arena&& memory, cudaStream_t stream) {
    auto* const base = static_cast<unsigned char*>(memory.regions()[0].base);
    if (cudaMemsetAsync(base, 0xEE, whole, stream) != cudaSuccess) return failed("memset");
    std::vector<unsigned char> expected(whole, 0xEE), seen(whole);
    for (std::size_t i = 0; i != blocks; ++i) {
        const auto block = memory.allocate({block_bytes, std::size_t{1} << i});
        if (!block) return failed("allocate");
        auto* const bytes = static_cast<unsigned char*>(block.address);
        fill(bytes, block.size, static_cast<unsigned char>(i), stream);
        for (std::size_t n = 0; n != block.size; ++n)
            expected[static_cast<std::size_t>(bytes - base) + n] = static_cast<unsigned char>(i);
    }
    if (cudaMemcpyAsync(seen.data(), base, whole, cudaMemcpyDefault, stream) != cudaSuccess) return failed("copy");
    if (cudaStreamSynchronize(stream) != cudaSuccess) return failed("kernels");
    return seen == expected || failed("bytes");
}

/// A timeline that lost its waits, to show that `last_value` notices it.
struct without_waits : allot::cuda::events {
    cudaError_t wait(cudaStream_t, const point_type&) noexcept { return cudaSuccess; }
};
template <class Timeline>
using ordered = allot::ordered<allot::arena<allot::cuda::device_memory, allot::best_fit<>>, Timeline>;

/// Two streams write to the same bytes, one after the other. The first kernel runs late. Returns the value that
/// remains: 2 if the second stream waits, and -1 on failure.
template <class Timeline>
int last_value(cudaStream_t first, cudaStream_t second) {
    ordered<Timeline> memory{{}, allot::cuda::device_memory{0}, whole};
    const auto one = memory.attach(first), two = memory.attach(second);
    const auto block = memory.allocate({whole, 256}, one);
    hold(first, 50'000'000);
    if (block) fill(static_cast<unsigned char*>(block.address), whole, 1, first);
    memory.deallocate(block, one);
    const auto other = memory.allocate({whole, 256}, two);
    if (!block || !other) return -1;
    fill(static_cast<unsigned char*>(other.address), whole, 2, second);
    unsigned char last = 0;
    const bool done = cudaStreamSynchronize(second) == cudaSuccess && cudaStreamSynchronize(first) == cudaSuccess &&
                      cudaMemcpy(&last, other.address, 1, cudaMemcpyDefault) == cudaSuccess;
    memory.deallocate(other, two);
    return done ? last : -1;
}
bool reuses_in_order(cudaStream_t first, cudaStream_t second, bool kernels_overlap) {
    if (last_value<allot::cuda::events>(first, second) != 2) return failed("a block of two streams");
    if (kernels_overlap && last_value<without_waits>(first, second) != 1) return failed("the notice of a lost wait");
#ifdef __CUDACC__
    // Blocks of random sizes on two streams, whose kernels run late.
    ordered<allot::cuda::events> memory{{}, allot::cuda::device_memory{0}, whole};
    const allot::queue_id ids[] = {memory.attach(first), memory.attach(second)};
    const cudaStream_t streams[] = {first, second};
    struct held {
        decltype(memory)::block_type block;
        unsigned stream;
        unsigned char value;
    };
    std::vector<held> live;
    std::mt19937 random{1};
    unsigned* wrong = nullptr;
    if (cudaMallocManaged(&wrong, sizeof *wrong) != cudaSuccess) return failed("a counter");
    *wrong = 0;
    for (unsigned i = 0; i != 2000; ++i) {
        if (!live.empty() && random() % 2 == 0) {
            const held one = live[random() % live.size()];
            count<<<1, 64, 0, streams[one.stream]>>>(static_cast<unsigned char*>(one.block.address), one.block.size,
                                                     one.value, wrong);
            memory.deallocate(one.block, ids[one.stream]);
            std::erase_if(live, [&](const held& each) { return each.block.address == one.block.address; });
            continue;
        }
        const auto stream = static_cast<unsigned>(random() % 2);
        const auto block = memory.allocate({1 + random() % 20'000, 256}, ids[stream]);
        if (!block) continue;
        live.push_back({block, stream, static_cast<unsigned char>(i)});
        hold(streams[stream], static_cast<long long>(random() % 100'000));
        fill(static_cast<unsigned char*>(block.address), block.size, live.back().value, streams[stream]);
    }
    for (const held& one : live) memory.deallocate(one.block, ids[one.stream]);
    const bool good = cudaDeviceSynchronize() == cudaSuccess && *wrong == 0;
    return cudaFree(wrong) == cudaSuccess && good ? true : failed("late kernels of two streams");
#else
    return true;
#endif
}

#ifdef HAS_NVTX
/// Two blocks with a gap of `block_bytes` that NVTX describes to tools. A kernel fills the first one and, if `past` is
/// not 0, as many bytes behind it. They are inside the region, so only a tool that knows the blocks reports them.
bool writes_described(cudaStream_t stream, std::size_t past) {
    using memory = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
    allot::cuda::nvtx<memory> described{memory{allot::cuda::device_memory{0}, whole}};
    const auto first = described.allocate({block_bytes, 256});
    const auto gap = described.allocate({block_bytes, 256});
    const auto last = described.allocate({block_bytes, 256});
    if (!first || !gap || !last) return failed("allocate with NVTX");
    described.deallocate(gap);
    fill(static_cast<unsigned char*>(first.address), first.size + past, 1, stream);
    const bool ran = cudaStreamSynchronize(stream) == cudaSuccess;
    described.deallocate(first);
    described.deallocate(last);
    return ran || failed("a kernel with NVTX");
}
#else
bool writes_described(cudaStream_t, std::size_t) {
    std::printf("without NVTX, whose header is not found\n");
    return true;
}
#endif

}  // namespace

// kernels [past-a-block | under-a-tool]: past-a-block is the only action then, for compute-sanitizer --nvtx yes to
// report it. A tool may run kernels one after the other, which hides a lost wait: under-a-tool leaves that test out.
int main(int count, char** arguments) {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
        std::printf("skipped: compiled by nvcc, but there is no CUDA device (cudaGetDeviceCount: %d)\n",
                    static_cast<int>(status));
        return 77;
    }
    namespace cuda = allot::cuda;
    constexpr allot::best_fit_options beside{.store = allot::node_store::side_table};  // all bytes are the kernels'
    using outside = allot::best_fit<beside>;
    cudaStream_t stream = nullptr;
    bool good = cudaStreamCreate(&stream) == cudaSuccess;
    if (count == 2 && std::string_view{arguments[1]} == "past-a-block")
        return good && writes_described(stream, block_bytes) ? 0 : 1;
    good = good && writes_described(stream, 0);
    cudaStream_t other = nullptr;
    const bool kernels_overlap = count == 1;
    good = good && cudaStreamCreate(&other) == cudaSuccess && reuses_in_order(stream, other, kernels_overlap);
    good = good && cudaStreamDestroy(other) == cudaSuccess;
    good = good && writes_apart(allot::arena<cuda::device_memory, outside>{cuda::device_memory{0}, whole}, stream);
    good =
        good && writes_apart(allot::arena<cuda::device_memory, allot::bump<>>{cuda::device_memory{0}, whole}, stream);
    good = good && writes_apart(allot::arena<cuda::pinned, outside>{cuda::pinned{}, whole}, stream);
    good = good && writes_apart(allot::arena<cuda::managed, outside>{cuda::managed{}, whole}, stream);
    good = good && writes_apart(allot::arena<cuda::async_memory, outside>{cuda::async_memory{stream}, whole}, stream);
    using growing = allot::arena<cuda::virtual_memory, outside, allot::growth::contiguous<>>;
    good = good && writes_apart(growing{cuda::virtual_memory{1 << 30}, whole}, stream);

    allot::arena<cuda::device_memory, allot::bump<>> memory{cuda::device_memory{0}, whole};
    cuda::memory_resource resource{memory};
    auto* const bytes = static_cast<unsigned char*>(resource.allocate_sync(block_bytes, 256));
    fill(bytes, block_bytes, 7, stream);
    unsigned char last = 0;
    good = good && cudaStreamSynchronize(stream) == cudaSuccess;
    good = good && cudaMemcpy(&last, bytes + block_bytes - 1, 1, cudaMemcpyDefault) == cudaSuccess && last == 7;
    resource.deallocate_sync(bytes, block_bytes, 256);

    good = good && cudaStreamDestroy(stream) == cudaSuccess && cudaGetLastError() == cudaSuccess;
    return good ? 0 : 1;
}
