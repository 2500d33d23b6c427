// libamdhip64 without a GPU: HIP's names for the functions of ../gpu/fake_gpu.hpp, which enforce the rules.
// Rules of HIP alone: hipFree fails with another code, querying an unknown address is an error, and before ROCm 7 a
// successful call clears the last error. (A kernel's fault is reported as with CUDA; AMD's driver may end the program.)
#include "../gpu/fake_gpu.hpp"

#include <allot/hip/imported_memory.hpp>

using fake_gpu::answered;

extern "C" {

hipError_t hipGetLastError() { return fake_gpu::get_last_error(); }
hipError_t hipPeekAtLastError() { return fake_gpu::peek_at_last_error(); }

hipError_t hipGetDeviceCount(int* count) { return answered(fake_gpu::get_device_count(count)); }
hipError_t hipGetDevice(int* device) { return answered(fake_gpu::get_device(device)); }
hipError_t hipSetDevice(int device) { return answered(fake_gpu::set_device(device)); }

hipError_t hipMalloc(void** address, size_t size) { return answered(fake_gpu::malloc_device(address, size)); }
hipError_t hipHostMalloc(void** address, size_t size, unsigned int) {
    return answered(fake_gpu::malloc_host(address, size));
}
hipError_t hipMallocManaged(void** address, size_t size, unsigned int flags) {
    const bool right = flags == hipMemAttachGlobal || flags == hipMemAttachHost;
    return answered(fake_gpu::malloc_managed(address, size, right));
}
hipError_t hipMallocAsync(void** address, size_t size, hipStream_t stream) {
    return answered(fake_gpu::malloc_async(address, size, stream));
}
hipError_t hipFree(void* address) { return answered(fake_gpu::free_device(address)); }
hipError_t hipHostFree(void* address) { return answered(fake_gpu::free_host(address)); }
hipError_t hipFreeAsync(void* address, hipStream_t stream) { return answered(fake_gpu::free_async(address, stream)); }

hipError_t hipImportExternalMemory(hipExternalMemory_t* fresh, const hipExternalMemoryHandleDesc* from) {
    return answered(fake_gpu::import_memory(reinterpret_cast<fake_gpu::imported**>(fresh), from->handle.fd,
                                            static_cast<std::size_t>(from->size),
                                            from->type == hipExternalMemoryHandleTypeOpaqueFd && from->flags <= 1));
}
hipError_t hipExternalMemoryGetMappedBuffer(void** address, hipExternalMemory_t of,
                                            const hipExternalMemoryBufferDesc* part) {
    if (part->flags != 0) return answered(hipErrorInvalidValue);
    return answered(fake_gpu::map_imported(address, reinterpret_cast<fake_gpu::imported*>(of),
                                           static_cast<std::size_t>(part->offset),
                                           static_cast<std::size_t>(part->size)));
}
hipError_t hipDestroyExternalMemory(hipExternalMemory_t gone) {
    return answered(fake_gpu::destroy_imported(reinterpret_cast<fake_gpu::imported*>(gone)));
}
hipError_t hipDeviceGetUuid(hipUUID* id, hipDevice_t device) {
    return answered(fake_gpu::get_uuid(reinterpret_cast<unsigned char*>(id->bytes), device));
}

hipError_t hipStreamCreate(hipStream_t* stream) { return answered(fake_gpu::stream_create(stream)); }
hipError_t hipStreamSynchronize(hipStream_t stream) { return answered(fake_gpu::stream_synchronize(stream)); }
hipError_t hipStreamDestroy(hipStream_t stream) { return answered(fake_gpu::stream_destroy(stream)); }
hipError_t hipDeviceSynchronize() { return answered(fake_gpu::device_synchronize()); }

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int flags) {
    // An event that measures time is slower; allot never creates one.
    return answered(flags == hipEventDisableTiming ? fake_gpu::event_create(event) : gpu::invalid_value);
}
hipError_t hipEventDestroy(hipEvent_t event) { return answered(fake_gpu::event_destroy(event)); }
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
    return answered(fake_gpu::event_record(event, stream));
}
hipError_t hipEventQuery(hipEvent_t event) { return answered(fake_gpu::event_query(event)); }
hipError_t hipEventSynchronize(hipEvent_t event) { return answered(fake_gpu::event_synchronize(event)); }
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags) {
    return answered(flags == 0 ? fake_gpu::stream_wait_event(stream, event) : gpu::invalid_value);
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
    auto known = static_cast<fake_gpu::capture_mode>(*mode);
    const hipError_t result = answered(fake_gpu::exchange_capture_mode(&known));
    *mode = static_cast<hipStreamCaptureMode>(known);
    return result;
}
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
    return answered(fake_gpu::begin_capture(stream, static_cast<fake_gpu::capture_mode>(mode)));
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
    return answered(fake_gpu::end_capture(stream, reinterpret_cast<fake_gpu::graph_work**>(graph)));
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
    return answered(fake_gpu::destroy_graph(reinterpret_cast<fake_gpu::graph_work*>(graph)));
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
    bool active = false;
    const hipError_t result = answered(fake_gpu::is_capturing(stream, &active));
    *status = active ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
    return result;
}

hipError_t hipMemcpy(void* to, const void* from, size_t size, hipMemcpyKind) {
    return answered(fake_gpu::memcpy(to, from, size));
}
hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, hipMemcpyKind, hipStream_t stream) {
    return answered(fake_gpu::memcpy_async(to, from, size, stream));
}
hipError_t hipMemset(void* to, int value, size_t size) { return answered(fake_gpu::memset(to, value, size)); }
hipError_t hipMemGetInfo(size_t* left, size_t* total) { return answered(fake_gpu::mem_get_info(left, total)); }
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
    return answered(fake_gpu::can_access_peer(can, device, peer));
}
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* address) {
    fake_gpu::owner of;
    hipError_t error = fake_gpu::get_owner(&of, address);
    if (error == hipSuccess && !of.found) error = hipErrorInvalidValue;
    if (error != hipSuccess) return answered(error);
    *attributes = {};
    const hipMemoryType type = of.kind == fake_gpu::kind::pinned ? hipMemoryTypeHost : hipMemoryTypeDevice;
#if HIP_VERSION_MAJOR < 6
    attributes->memoryType = type;
#else
    attributes->type = type;
#endif
    attributes->isManaged = of.kind == fake_gpu::kind::managed;
    attributes->device = of.device;
    return answered(hipSuccess);
}
}
