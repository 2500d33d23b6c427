#include "fake_cudart.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

/// A stream is the work that waits in it.
struct CUstream_st {
    int device = 0;
    std::deque<std::function<void()>> work;
};

namespace {

constexpr std::size_t page = 4096, address_bytes = std::size_t{1} << 30, unit = 512;
constexpr int host = -1;

enum class kind { device, pinned, managed, async };

struct allocation {
    std::size_t size = 0;
    int device = host;
    enum kind kind = kind::device;
    cudaStream_t freed_on = nullptr;  // async: where its free was asked for
    bool held = true;                 // by the program; an async one that is not waits for its free to happen
    bool there = true;                // for kernels
    std::size_t generation = 0;       // how often it was handed out
};

struct machine {
    fake_cuda::settings settings;
    std::byte* front = nullptr;  // what programs see
    std::byte* back = nullptr;   // the same pages, for kernels
    std::map<std::uintptr_t, allocation> all;
    std::map<int, std::size_t> used;
    std::vector<CUstream_st*> streams;
    CUstream_st null_stream;
    cudaError_t refusal = cudaSuccess, fault = cudaSuccess;
    std::size_t wrong_frees = 0;
    std::uint64_t contexts = 0;

    machine() {
        const int file = ::memfd_create("fake_cudart", 0);
        if (file < 0 || ::ftruncate(file, static_cast<off_t>(address_bytes)) != 0) std::abort();
        front = map(file, PROT_NONE);
        back = map(file, PROT_READ | PROT_WRITE);
        ::close(file);
    }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
    ~machine() {
        ::munmap(front, address_bytes);
        ::munmap(back, address_bytes);
    }
    static std::byte* map(int file, int access) {
        void* const at = ::mmap(nullptr, address_bytes, access, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (at == MAP_FAILED) std::abort();
        return static_cast<std::byte*>(at);
    }
};

machine& here() {
    static machine only;
    return only;
}
thread_local cudaError_t last_error = cudaSuccess;
thread_local int current = 0;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }
std::byte* kernel_side(std::uintptr_t at) { return here().back + (at - number(here().front)); }

cudaError_t answer(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}
/// What is wrong with the machine, whatever is asked of it.
cudaError_t trouble() { return here().settings.driver != cudaSuccess ? here().settings.driver : here().fault; }

CUstream_st& stream_of(cudaStream_t stream) { return stream == nullptr ? here().null_stream : *stream; }

void run(CUstream_st& stream) {
    while (!stream.work.empty()) {
        const auto next = std::move(stream.work.front());
        stream.work.pop_front();
        if (here().fault == cudaSuccess) next();
    }
}
void run_all() {
    run(here().null_stream);
    for (CUstream_st* const stream : here().streams) run(*stream);
}

/// The allocation in which all of these bytes lie.
allocation* holder(std::uintptr_t at, std::size_t size) {
    auto& all = here().all;
    auto found = all.upper_bound(at);
    if (found == all.begin()) return nullptr;
    --found;
    const std::size_t inside = at - found->first;
    return inside <= found->second.size && size <= found->second.size - inside ? &found->second : nullptr;
}

void protect(std::uintptr_t at, const allocation& what, int access) {
    const std::uintptr_t first = at / page * page;
    const std::size_t pages = (at - first + what.size + page - 1) / page;
    if (::mprotect(here().front + (first - number(here().front)), pages * page, access) != 0) std::abort();
}

bool is_for_the_host(kind what) { return what == kind::pinned || what == kind::managed; }
std::size_t charged(std::size_t size) { return (size + unit - 1) / unit * unit; }

/// The first room between two others, a page apart from either.
cudaError_t take(void** address, std::size_t size, int device, kind what) {
    machine& m = here();
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    if (device != host) m.contexts |= std::uint64_t{1} << device;
    if (m.refusal != cudaSuccess) return answer(std::exchange(m.refusal, cudaSuccess));
    if (size == 0) {
        *address = nullptr;
        return cudaSuccess;
    }
    std::size_t& used = m.used[device];
    if (size > m.settings.memory || charged(size) > m.settings.memory - used) return answer(cudaErrorMemoryAllocation);
    std::uintptr_t at = number(m.front) + page + m.settings.phase;
    for (const auto& [start, other] : m.all) {
        if (start >= at && start - at >= size + 2 * page) break;
        at = (start + other.size) / page * page + 2 * page + m.settings.phase;
    }
    if (at + size + page > number(m.front) + address_bytes) return answer(cudaErrorMemoryAllocation);
    allocation fresh;
    fresh.size = size;
    fresh.device = device;
    fresh.kind = what;
    if (is_for_the_host(what)) protect(at, fresh, PROT_READ | PROT_WRITE);
    m.all.emplace(at, fresh);
    used += charged(size);
    *address = m.front + (at - number(m.front));
    return cudaSuccess;
}

void give_up(std::map<std::uintptr_t, allocation>::iterator what) {
    if (is_for_the_host(what->second.kind)) protect(what->first, what->second, PROT_NONE);
    here().used[what->second.device] -= charged(what->second.size);
    here().all.erase(what);
}

template <class Allowed>
cudaError_t free_now(void* address, Allowed&& allowed) {
    machine& m = here();
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    if (address == nullptr) return cudaSuccess;
    run_all();
    const auto found = m.all.find(number(address));
    if (found == m.all.end() || !found->second.held || !allowed(found->second.kind)) {
        ++m.wrong_frees;
        return answer(cudaErrorInvalidValue);
    }
    give_up(found);
    return cudaSuccess;
}

/// Bytes to copy from or to, where the host reaches them: its own, or those of an allocation.
std::byte* copy_side(const void* address, std::size_t size) {
    const std::uintptr_t at = number(address);
    if (at < number(here().front) || at >= number(here().front) + address_bytes)
        return static_cast<std::byte*>(const_cast<void*>(address));
    const allocation* const found = holder(at, size);
    return found != nullptr && found->held ? kernel_side(at) : nullptr;
}

}  // namespace

namespace fake_cuda {

void start(const settings& machine_like_that) {
    machine& m = here();
    m.null_stream.work.clear();
    for (CUstream_st* const stream : m.streams) stream->work.clear();
    while (!m.all.empty()) give_up(m.all.begin());
    m.used.clear();
    m.settings = machine_like_that;
    m.refusal = m.fault = last_error = cudaSuccess;
    m.wrong_frees = 0;
    m.contexts = 0;
    current = 0;
}

void refuse_next(cudaError_t error) { here().refusal = error; }

void launch(cudaStream_t stream, void* address, std::size_t size, std::function<void(std::byte*)> kernel) {
    stream_of(stream).work.push_back([at = number(address), size, run_on = std::move(kernel)] {
        const allocation* const found = holder(at, size);
        if (found == nullptr || !found->there) {
            here().fault = cudaErrorIllegalAddress;
            return;
        }
        run_on(kernel_side(at));
    });
}

std::size_t live() {
    std::size_t count = 0;
    for (const auto& [at, each] : here().all) count += each.held;
    return count;
}
std::size_t wrong_frees() { return here().wrong_frees; }
std::size_t in_use(int device) { return here().used[device]; }
bool has_context(int device) { return (here().contexts >> device & 1) != 0; }

}  // namespace fake_cuda

extern "C" {

cudaError_t cudaGetLastError() {
    if (trouble() != cudaSuccess) return trouble();
    return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() { return trouble() != cudaSuccess ? trouble() : last_error; }

cudaError_t cudaGetDeviceCount(int* count) {
    if (here().settings.driver != cudaSuccess) return answer(here().settings.driver);
    *count = here().settings.devices;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    if (here().settings.driver != cudaSuccess) return answer(here().settings.driver);
    *device = current;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (here().settings.driver != cudaSuccess) return answer(here().settings.driver);
    if (device < 0 || device >= here().settings.devices) return answer(cudaErrorInvalidDevice);
    here().contexts |= std::uint64_t{1} << device;
    current = device;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** address, size_t size) { return take(address, size, current, kind::device); }
cudaError_t cudaMallocHost(void** address, size_t size) { return take(address, size, host, kind::pinned); }
cudaError_t cudaMallocManaged(void** address, size_t size, unsigned int flags) {
    if (trouble() == cudaSuccess && (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)))
        return answer(cudaErrorInvalidValue);
    return take(address, size, host, kind::managed);
}
cudaError_t cudaFree(void* address) {
    return free_now(address, [](kind what) { return what != kind::pinned; });
}
cudaError_t cudaFreeHost(void* address) {
    return free_now(address, [](kind what) { return what == kind::pinned; });
}

cudaError_t cudaMallocAsync(void** address, size_t size, cudaStream_t stream) {
    machine& m = here();
    if (trouble() == cudaSuccess && m.refusal == cudaSuccess && size != 0) {
        for (auto& [at, each] : m.all) {
            if (each.held || each.freed_on != stream || each.size < size) continue;
            each.held = true;
            ++each.generation;
            stream_of(stream).work.push_back([at = at] { here().all.at(at).there = true; });
            *address = m.front + (at - number(m.front));
            return cudaSuccess;
        }
    }
    const cudaError_t error = take(address, size, stream_of(stream).device, kind::async);
    if (error != cudaSuccess) return error;
    if (*address == nullptr) return cudaSuccess;
    m.all.at(number(*address)).there = false;
    stream_of(stream).work.push_back([at = number(*address)] {
        if (const auto found = here().all.find(at); found != here().all.end()) found->second.there = true;
    });
    return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
    machine& m = here();
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    if (address == nullptr) return cudaSuccess;
    const auto found = m.all.find(number(address));
    if (found == m.all.end() || !found->second.held || found->second.kind != kind::async) {
        ++m.wrong_frees;
        return answer(cudaErrorInvalidValue);
    }
    found->second.held = false;
    found->second.freed_on = stream;
    stream_of(stream).work.push_back([at = found->first, generation = found->second.generation] {
        const auto freed = here().all.find(at);
        freed->second.there = false;
        if (!freed->second.held && freed->second.generation == generation) give_up(freed);
    });
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    *stream = new CUstream_st{current, {}};
    here().streams.push_back(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    run(stream_of(stream));
    return answer(here().fault);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    run(*stream);
    std::erase(here().streams, stream);
    delete stream;
    return answer(trouble());
}
cudaError_t cudaDeviceSynchronize() {
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    run_all();
    return answer(here().fault);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) return error;
    std::byte* const target = copy_side(to, size);
    const std::byte* const source = copy_side(from, size);
    if (target == nullptr || source == nullptr) return answer(cudaErrorInvalidValue);
    std::memmove(target, source, size);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t stream) {
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    if (here().refusal != cudaSuccess) return answer(std::exchange(here().refusal, cudaSuccess));
    if (copy_side(to, size) == nullptr || copy_side(from, size) == nullptr) return answer(cudaErrorInvalidValue);
    stream_of(stream).work.push_back([to, from, size] {
        std::byte* const target = copy_side(to, size);
        const std::byte* const source = copy_side(from, size);
        if (target == nullptr || source == nullptr) here().fault = cudaErrorIllegalAddress;
        else std::memmove(target, source, size);
    });
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    const auto is_device = [](int ordinal) { return ordinal >= 0 && ordinal < here().settings.devices; };
    if (!is_device(device) || !is_device(peer)) return answer(cudaErrorInvalidDevice);
    *can = device != peer && here().settings.peers ? 1 : 0;
    return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t size) {
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) return error;
    std::byte* const target = copy_side(to, size);
    if (target == nullptr) return answer(cudaErrorInvalidValue);
    std::memset(target, value, size);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    *total = here().settings.memory;
    *free_bytes = here().settings.memory - here().used[current];
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
    if (const cudaError_t error = trouble(); error != cudaSuccess) return answer(error);
    *attributes = {};
    attributes->type = cudaMemoryTypeUnregistered;
    const allocation* const found = holder(number(address), 1);
    if (found == nullptr) return cudaSuccess;
    attributes->type = found->kind == kind::pinned    ? cudaMemoryTypeHost
                       : found->kind == kind::managed ? cudaMemoryTypeManaged
                                                      : cudaMemoryTypeDevice;
    attributes->device = found->device == host ? current : found->device;
    return cudaSuccess;
}
}
