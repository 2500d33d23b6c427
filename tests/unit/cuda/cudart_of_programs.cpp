// The part of the fake runtime that only whole programs need: a machine that is started when the library is loaded,
// names and versions, the default pool, work of the host in a stream, and copies from memory of the fake driver. The
// file of the other functions is compiled with the name fake_memcpy_async for cudaMemcpyAsync.
#undef cudaMemcpyAsync
#include "fake_libcuda.hpp"
#include "../gpu/fake_gpu.hpp"

#include <allot/cuda/virtual_memory.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

struct started {
    started() {
        fake_gpu::start({.memory = std::size_t{384} << 20});
        fake_libcuda::start({.memory = std::size_t{768} << 20});
    }
} on_loading;

/// Calls a function of the driver with the context of the first device.
template <class Call>
void with_context(Call&& call) {
    const allot::cuda::driver_functions driver;
    const allot::cuda::current_context first{driver, 0};
    if (first.error() != CUDA_SUCCESS || call() != CUDA_SUCCESS) std::abort();
}

CUdeviceptr number(const void* address) { return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address)); }

}  // namespace

extern "C" {

cudaError_t fake_memcpy_async(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream);

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
    if (!fake_libcuda::is_reserved(from)) return fake_memcpy_async(to, from, size, kind, stream);
    fake_gpu::enqueue(stream, [=] { with_context([=] { return cuMemcpyDtoH_v2(to, number(from), size); }); });
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
    const auto byte = static_cast<unsigned char>(value);
    if (fake_libcuda::is_reserved(to)) {
        fake_gpu::enqueue(stream, [=] { with_context([=] { return cuMemsetD8_v2(number(to), byte, size); }); });
    } else {
        fake_gpu::launch(stream, to, size, [=](std::byte* bytes) { std::memset(bytes, byte, size); });
    }
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    fake_gpu::enqueue(stream, [=] { function(data); });
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

// The pool itself is part of the fake: it keeps no statistics.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
    *pool = nullptr;
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {
    *static_cast<std::uint64_t*>(value) = 0;
    return cudaSuccess;
}

// PyTorch's allocator and RMM's pool, peers of the benchmark, link these functions. Most of them fail if they are
// called.
const char* cudaGetErrorName(cudaError_t) { return "an error of the fake runtime"; }
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* number) {
    *number = reinterpret_cast<std::uintptr_t>(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int, int) { return cudaStreamCreate(stream); }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) { return cudaErrorNotSupported; }
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t) { return cudaErrorNotSupported; }
cudaError_t cudaIpcCloseMemHandle(void*) { return cudaErrorNotSupported; }
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) { return cudaErrorNotSupported; }
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned int) { return cudaErrorNotSupported; }
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) { return cudaErrorNotSupported; }
cudaError_t cudaMemcpyPeerAsync(void*, int, const void*, int, size_t, cudaStream_t) { return cudaErrorNotSupported; }
#if CUDART_VERSION >= 13000
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** found, unsigned int, unsigned long long,
                                             cudaDriverEntryPointQueryResult*) {
    *found = nullptr;
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*, size_t*) {
    return cudaErrorNotSupported;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long*, cudaGraph_t*,
                                     const cudaGraphNode_t**, const cudaGraphEdgeData**, size_t*) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
#endif
}
