// CUDA for the tests in tests/unit/gpu: calls and codes beyond the table, under names that HIP's file has too.
#pragma once

#include <allot/cuda/events.hpp>
#include <allot/cuda/imported_memory.hpp>
#include <allot/cuda/memory.hpp>
#include <allot/cuda/tensor.hpp>

#include <string>

#define VENDOR "cuda"
namespace vendor = allot::cuda;

struct gpu : vendor::event_runtime {
    static constexpr const char* name = "CUDA";

    static constexpr error not_supported = cudaErrorNotSupported;
    static constexpr error busy = cudaErrorDevicesUnavailable;
    static constexpr error invalid_device = cudaErrorInvalidDevice;
    static constexpr error illegal_address = cudaErrorIllegalAddress;
    static constexpr error launch_out_of_resources = cudaErrorLaunchOutOfResources;
    static constexpr error captured_event = cudaErrorCapturedEvent;
    static constexpr error capture_isolation = cudaErrorStreamCaptureIsolation;
    static constexpr error capture_invalidated = cudaErrorStreamCaptureInvalidated;
    static constexpr error capture_implicit = cudaErrorStreamCaptureImplicit;
    static constexpr error no_driver[] = {cudaErrorInsufficientDriver, cudaErrorNoDevice};
    static constexpr error wrong_free_device = cudaErrorInvalidValue;  // for an address that free_device must reject
    static constexpr bool success_clears_the_last_error = false;

    static error peek_at_last_error() { return ::cudaPeekAtLastError(); }
    static error get_device_count(int* count) { return ::cudaGetDeviceCount(count); }
    static error device_synchronize() { return ::cudaDeviceSynchronize(); }
    static error stream_create(stream* fresh) { return ::cudaStreamCreate(fresh); }
    static error stream_destroy(stream old) { return ::cudaStreamDestroy(old); }
    static error stream_begin_capture(stream of) { return ::cudaStreamBeginCapture(of, cudaStreamCaptureModeGlobal); }
    static error stream_end_capture(stream of) {
        cudaGraph_t graph = nullptr;
        const error result = ::cudaStreamEndCapture(of, &graph);
        if (graph != nullptr) static_cast<void>(::cudaGraphDestroy(graph));
        return result;
    }
    static stream per_thread() { return cudaStreamPerThread; }
    static error memset(void* to, int value, std::size_t size) { return ::cudaMemset(to, value, size); }
    static error memcpy(void* to, const void* from, std::size_t size) {
        return ::cudaMemcpy(to, from, size, cudaMemcpyDefault);
    }
    static error mem_get_info(std::size_t* left, std::size_t* total) { return ::cudaMemGetInfo(left, total); }

    enum class memory { none, host, device, managed };
    struct place {
        gpu::memory memory = memory::none;
        int device = 0;
    };
    static error get_place(place* found, const void* address) {
        cudaPointerAttributes answer{};
        const error status = ::cudaPointerGetAttributes(&answer, address);
        found->memory = answer.type == cudaMemoryTypeHost      ? memory::host
                        : answer.type == cudaMemoryTypeDevice  ? memory::device
                        : answer.type == cudaMemoryTypeManaged ? memory::managed
                                                               : memory::none;
        found->device = answer.device;
        return status;
    }

    /// The name of the first device, or an empty string if it is unknown.
    static std::string name_and_version() {
        cudaDeviceProp about{};
        int version = 0;
        if (::cudaGetDeviceProperties(&about, 0) != cudaSuccess || ::cudaDriverGetVersion(&version) != cudaSuccess)
            return {};
        const auto number = [](int of) { return std::to_string(of); };
        return std::string{about.name} + ", CUDA " + number(version / 1000) + "." + number(version % 1000 / 10);
    }
};

static_assert(vendor::device_memory::dl_device == allot::dl_device_type::cuda);
static_assert(vendor::async_memory::dl_device == allot::dl_device_type::cuda);
static_assert(vendor::pinned::dl_device == allot::dl_device_type::cuda_host);
static_assert(vendor::managed::dl_device == allot::dl_device_type::cuda_managed);
