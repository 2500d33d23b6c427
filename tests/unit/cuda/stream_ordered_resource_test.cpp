// `ordered` memory as a stream-ordered resource, on the fake runtime and on a GPU.
#include "machine.hpp"
#include "streams.hpp"

#include <allot/allot.hpp>
#include <allot/compose/indexed_ordered.hpp>
#include <allot/cuda/stream_ordered_resource.hpp>

#include <algorithm>
#include <mutex>
#include <random>
#include <vector>

namespace {

using allot::cuda::device_memory;
using allot::cuda::pinned;
using allot::cuda::stream_ordered_resource;
using ::cuda::mr::device_accessible;
using ::cuda::mr::host_accessible;

#if CCCL_VERSION >= 3001000
using any_resource = ::cuda::mr::resource_ref<device_accessible>;
template <class Resource, class... Properties>
constexpr bool is_resource = ::cuda::mr::resource_with<Resource, Properties...>;
void* take(auto& from, cudaStream_t on, std::size_t size) { return from.allocate(on, size, 256); }
void give_back(auto& to, cudaStream_t on, void* bytes, std::size_t size) { to.deallocate(on, bytes, size, 256); }
void* take(auto& from, std::size_t size) { return from.allocate_sync(size, 256); }
void give_back(auto& to, void* bytes, std::size_t size) { to.deallocate_sync(bytes, size, 256); }
#else
using any_resource = ::cuda::mr::async_resource_ref<device_accessible>;
template <class Resource, class... Properties>
constexpr bool is_resource = ::cuda::mr::async_resource_with<Resource, Properties...>;
void* take(auto& from, cudaStream_t on, std::size_t size) { return from.allocate_async(size, 256, on); }
void give_back(auto& to, cudaStream_t on, void* bytes, std::size_t size) { to.deallocate_async(bytes, size, 256, on); }
void* take(auto& from, std::size_t size) { return from.allocate(size, 256); }
void give_back(auto& to, void* bytes, std::size_t size) { to.deallocate(bytes, size, 256); }
#endif

template <class Device, allot::ordered_options Options = allot::ordered_options{}>
using memory_of =
    allot::indexed_ordered<allot::ordered<allot::arena<Device, allot::best_fit<>>, allot::cuda::events, Options>,
                           std::mutex>;
using device_ordered = memory_of<device_memory>;
using one_queue = memory_of<device_memory, allot::ordered_options{.queues = 1}>;

static_assert(is_resource<stream_ordered_resource<device_ordered>, device_accessible>);
static_assert(!is_resource<stream_ordered_resource<device_ordered>, host_accessible>);
static_assert(is_resource<stream_ordered_resource<memory_of<pinned>>, device_accessible, host_accessible>);

constexpr std::size_t size = 64 * 1024;

/// Page-locked host memory, so that copies of a stream run late.
struct host_bytes {
    explicit host_bytes(std::size_t bytes) { REQUIRE(cudaMallocHost(&at, bytes) == cudaSuccess); }
    ~host_bytes() { CHECK(cudaFreeHost(at) == cudaSuccess); }
    host_bytes(const host_bytes&) = delete;
    host_bytes& operator=(const host_bytes&) = delete;
    void* at = nullptr;
};

/// Copies patterns through blocks of streams, which are freed before the copies run. Returns the number of wrong bytes.
template <class Memory>
std::size_t wrong_bytes(unsigned seed) {
    constexpr std::size_t copies = 60, most = 20'000;
    const tests::machine machine;
    const tests::two_streams streams;
    const host_bytes sent{copies * most}, read{copies * most};
    Memory memory{allot::cuda::events{0}, device_memory{0}, size};
    stream_ordered_resource resource{memory};
    any_resource any{resource};
    std::mt19937 random{seed};
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i != copies; ++i) {
        const std::size_t bytes = 1 + random() % most;
        const cudaStream_t stream = random() % 2 == 0 ? streams.first : streams.second;
        auto* const from = static_cast<unsigned char*>(sent.at) + i * most;
        std::fill_n(from, bytes, static_cast<unsigned char>(i + 1));
        void* const block = take(any, stream, bytes);
        CHECK(allot::raw_pointer::position(block) % 256 == 0);
        REQUIRE(cudaMemcpyAsync(block, from, bytes, cudaMemcpyDefault, stream) == cudaSuccess);
        void* const to = static_cast<unsigned char*>(read.at) + i * most;
        REQUIRE(cudaMemcpyAsync(to, block, bytes, cudaMemcpyDefault, stream) == cudaSuccess);
        give_back(any, stream, block, bytes);
        sizes.push_back(bytes);
    }
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i != copies; ++i) {
        const auto* const from = static_cast<const unsigned char*>(read.at) + i * most;
        wrong += static_cast<std::size_t>(
            std::count_if(from, from + sizes[i], [&](unsigned char byte) { return byte != i + 1; }));
    }
    return wrong;
}

}  // namespace

TEST_CASE("cuda stream_ordered_resource: streams keep their bytes until their work is done") {
    for (unsigned seed = 0; seed != 10; ++seed) {
        CHECK(wrong_bytes<device_ordered>(seed) == 0);
        CHECK(wrong_bytes<one_queue>(seed) == 0);  // two streams take turns
    }
}

TEST_CASE("cuda stream_ordered_resource: bytes without a stream have no pending work") {
    const tests::machine machine;
    const tests::two_streams streams;
    device_ordered memory{allot::cuda::events{0}, device_memory{0}, size};
    stream_ordered_resource resource{memory};
    any_resource any{resource};
    const host_bytes sent{size};
    std::fill_n(static_cast<unsigned char*>(sent.at), size, static_cast<unsigned char>(7));
    void* const block = take(any, streams.first, size);
    REQUIRE(cudaMemcpyAsync(block, sent.at, size, cudaMemcpyDefault, streams.first) == cudaSuccess);
    give_back(any, streams.first, block, size);
    void* const again = take(any, size);  // waits for the copy
    CHECK(again == block);
    REQUIRE(cudaMemset(again, 9, size) == cudaSuccess);
    unsigned char last = 0;
    REQUIRE(cudaMemcpy(&last, static_cast<unsigned char*>(again) + size - 1, 1, cudaMemcpyDefault) == cudaSuccess);
    CHECK(last == 9);
    give_back(any, again, size);
    void* const other = take(any, streams.second, size);
    give_back(any, streams.second, other, size);
}

TEST_CASE("cuda stream_ordered_resource: zero bytes, null pointers, failures and equality") {
    const tests::machine machine;
    const tests::two_streams streams;
    device_ordered memory{allot::cuda::events{0}, device_memory{0}, size};
    device_ordered other{allot::cuda::events{0}, device_memory{0}, size};
    const stream_ordered_resource one{memory}, same{memory}, different{other};
    CHECK(one == same);
    CHECK(one != different);
    CHECK(&one.memory() == &memory);
    stream_ordered_resource resource{memory};
    void* const none = take(resource, streams.first, 0);
    CHECK(none != nullptr);
    give_back(resource, streams.first, none, 0);
    give_back(resource, streams.first, nullptr, 100);
    give_back(resource, nullptr, 100);
    const auto reason = [&](auto&&... of_request) {
        try {
            static_cast<void>(take(resource, of_request...));
        } catch (const allot::bad_alloc& error) {
            return error.diagnosis().reason;
        }
        return allot::refusal::none;
    };
    CHECK(reason(streams.first, 2 * size) == allot::refusal::exhausted);
    CHECK(reason(2 * size) == allot::refusal::exhausted);
    // The default stream of each thread cannot identify a queue.
    CHECK(reason(cudaStreamPerThread, 2 * size) != allot::refusal::none);
}
