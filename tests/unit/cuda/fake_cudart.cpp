// libcudart without a GPU: CUDA's names for the functions of ../gpu/fake_gpu.hpp, which enforce the rules.
// Rules of CUDA alone: querying an unknown address is not an error, and an error stays until it is cleared.
#include "../gpu/fake_gpu.hpp"

#include <allot/cuda/imported_memory.hpp>

#include <cstring>

using fake_gpu::answered;

extern "C" {

cudaError_t cudaGetLastError() { return fake_gpu::get_last_error(); }
const char* cudaGetErrorString(cudaError_t) { return "an error of the fake runtime"; }
cudaError_t cudaPeekAtLastError() { return fake_gpu::peek_at_last_error(); }

cudaError_t cudaGetDeviceCount(int* count) { return answered(fake_gpu::get_device_count(count)); }
cudaError_t cudaGetDevice(int* device) { return answered(fake_gpu::get_device(device)); }
cudaError_t cudaSetDevice(int device) { return answered(fake_gpu::set_device(device)); }

cudaError_t cudaMalloc(void** address, size_t size) { return answered(fake_gpu::malloc_device(address, size)); }
cudaError_t cudaMallocHost(void** address, size_t size) { return answered(fake_gpu::malloc_host(address, size)); }
cudaError_t cudaMallocManaged(void** address, size_t size, unsigned int flags) {
    const bool right = flags == cudaMemAttachGlobal || flags == cudaMemAttachHost;
    return answered(fake_gpu::malloc_managed(address, size, right));
}
cudaError_t cudaMallocAsync(void** address, size_t size, cudaStream_t stream) {
    return answered(fake_gpu::malloc_async(address, size, stream));
}
cudaError_t cudaFree(void* address) { return answered(fake_gpu::free_device(address)); }
cudaError_t cudaFreeHost(void* address) { return answered(fake_gpu::free_host(address)); }
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
    return answered(fake_gpu::free_async(address, stream));
}

cudaError_t cudaImportExternalMemory(cudaExternalMemory_t* fresh, const cudaExternalMemoryHandleDesc* from) {
    const bool right = from->type == cudaExternalMemoryHandleTypeOpaqueFd &&
                       (from->flags == 0 || from->flags == cudaExternalMemoryDedicated);
    return answered(fake_gpu::import_memory(reinterpret_cast<fake_gpu::imported**>(fresh), from->handle.fd,
                                            static_cast<std::size_t>(from->size), right));
}
cudaError_t cudaExternalMemoryGetMappedBuffer(void** address, cudaExternalMemory_t of,
                                              const cudaExternalMemoryBufferDesc* part) {
    if (part->flags != 0) return answered(cudaErrorInvalidValue);
    return answered(fake_gpu::map_imported(address, reinterpret_cast<fake_gpu::imported*>(of),
                                           static_cast<std::size_t>(part->offset),
                                           static_cast<std::size_t>(part->size)));
}
cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t gone) {
    return answered(fake_gpu::destroy_imported(reinterpret_cast<fake_gpu::imported*>(gone)));
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* about, int device) {
    *about = {};
    std::strcpy(about->name, "fake runtime");
    return answered(fake_gpu::get_uuid(reinterpret_cast<unsigned char*>(about->uuid.bytes), device));
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return answered(fake_gpu::stream_create(stream)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return answered(fake_gpu::stream_synchronize(stream)); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return answered(fake_gpu::stream_destroy(stream)); }
cudaError_t cudaDeviceSynchronize() { return answered(fake_gpu::device_synchronize()); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    // An event that measures time is slower; allot never creates one.
    return answered(flags == cudaEventDisableTiming ? fake_gpu::event_create(event) : gpu::invalid_value);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return answered(fake_gpu::event_destroy(event)); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return answered(fake_gpu::event_record(event, stream));
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return answered(fake_gpu::event_query(event)); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return answered(fake_gpu::event_synchronize(event)); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    return answered(flags == 0 ? fake_gpu::stream_wait_event(stream, event) : gpu::invalid_value);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    auto known = static_cast<fake_gpu::capture_mode>(*mode);
    const cudaError_t result = answered(fake_gpu::exchange_capture_mode(&known));
    *mode = static_cast<cudaStreamCaptureMode>(known);
    return result;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return answered(fake_gpu::begin_capture(stream, static_cast<fake_gpu::capture_mode>(mode)));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return answered(fake_gpu::end_capture(stream, reinterpret_cast<fake_gpu::graph_work**>(graph)));
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return answered(fake_gpu::destroy_graph(reinterpret_cast<fake_gpu::graph_work*>(graph)));
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
    return answered(fake_gpu::copy_graph(reinterpret_cast<fake_gpu::graph_work**>(executable),
                                         reinterpret_cast<const fake_gpu::graph_work*>(graph)));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return answered(fake_gpu::destroy_graph(reinterpret_cast<fake_gpu::graph_work*>(executable)));
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    return answered(fake_gpu::launch_graph(reinterpret_cast<const fake_gpu::graph_work*>(executable), stream));
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    bool active = false;
    const cudaError_t result = answered(fake_gpu::is_capturing(stream, &active));
    *status = active ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return result;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
    return answered(fake_gpu::memcpy(to, from, size));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t stream) {
    return answered(fake_gpu::memcpy_async(to, from, size, stream));
}
cudaError_t cudaMemset(void* to, int value, size_t size) { return answered(fake_gpu::memset(to, value, size)); }
cudaError_t cudaMemGetInfo(size_t* left, size_t* total) { return answered(fake_gpu::mem_get_info(left, total)); }
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    return answered(fake_gpu::can_access_peer(can, device, peer));
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
    fake_gpu::owner of;
    if (const cudaError_t error = fake_gpu::get_owner(&of, address); error != cudaSuccess) return answered(error);
    *attributes = {};
    attributes->type = !of.found                            ? cudaMemoryTypeUnregistered
                       : of.kind == fake_gpu::kind::pinned  ? cudaMemoryTypeHost
                       : of.kind == fake_gpu::kind::managed ? cudaMemoryTypeManaged
                                                            : cudaMemoryTypeDevice;
    attributes->device = of.device;
    return answered(cudaSuccess);
}
}
