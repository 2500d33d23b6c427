// HIP for the tests in tests/unit/gpu: calls and codes beyond the table, under names that CUDA's file has too.
#pragma once

#include <allot/hip/events.hpp>
#include <allot/hip/imported_memory.hpp>
#include <allot/hip/memory.hpp>
#include <allot/hip/tensor.hpp>

#include <string>

#define VENDOR "hip"
namespace vendor = allot::hip;

struct gpu : vendor::event_runtime {
    static constexpr const char* name = "HIP";

    static constexpr error not_supported = hipErrorNotSupported;
    static constexpr error busy = hipErrorNotReady;
    static constexpr error invalid_device = hipErrorInvalidDevice;
    static constexpr error illegal_address = hipErrorIllegalAddress;
    static constexpr error launch_out_of_resources = hipErrorLaunchOutOfResources;
    static constexpr error captured_event = hipErrorCapturedEvent;
    static constexpr error capture_isolation = hipErrorStreamCaptureIsolation;
    static constexpr error capture_invalidated = hipErrorStreamCaptureInvalidated;
    static constexpr error capture_implicit = hipErrorStreamCaptureImplicit;
    static constexpr error no_driver[] = {hipErrorNoDevice, hipErrorInvalidDevice};
    static constexpr error wrong_free_device = hipErrorInvalidDevicePointer;  // for an address of another kind
    static constexpr bool success_clears_the_last_error = HIP_VERSION_MAJOR < 7;

    static error peek_at_last_error() { return ::hipPeekAtLastError(); }
    static error get_device_count(int* count) { return ::hipGetDeviceCount(count); }
    static error device_synchronize() { return ::hipDeviceSynchronize(); }
    static error stream_create(stream* fresh) { return ::hipStreamCreate(fresh); }
    static error stream_destroy(stream old) { return ::hipStreamDestroy(old); }
    static error stream_begin_capture(stream of) { return ::hipStreamBeginCapture(of, hipStreamCaptureModeGlobal); }
    static error stream_end_capture(stream of) {
        hipGraph_t graph = nullptr;
        const error result = ::hipStreamEndCapture(of, &graph);
        if (graph != nullptr) static_cast<void>(::hipGraphDestroy(graph));
        return result;
    }
    static stream per_thread() { return hipStreamPerThread; }
    static error memset(void* to, int value, std::size_t size) { return ::hipMemset(to, value, size); }
    static error memcpy(void* to, const void* from, std::size_t size) {
        return ::hipMemcpy(to, from, size, hipMemcpyDefault);
    }
    static error mem_get_info(std::size_t* left, std::size_t* total) { return ::hipMemGetInfo(left, total); }

    enum class memory { none, host, device, managed };
    struct place {
        gpu::memory memory = memory::none;
        int device = 0;
    };
    static error get_place(place* found, const void* address) {
        hipPointerAttribute_t answer{};
        const error status = ::hipPointerGetAttributes(&answer, address);
        if (status != hipSuccess) return status;
#if HIP_VERSION_MAJOR < 6
        const hipMemoryType type = answer.memoryType;
#else
        const hipMemoryType type = answer.type;
#endif
        found->memory = answer.isManaged != 0         ? memory::managed
                        : type == hipMemoryTypeHost   ? memory::host
                        : type == hipMemoryTypeDevice ? memory::device
                                                      : memory::none;
        found->device = answer.device;
        return status;
    }

    /// The name of the first device, or an empty string if it is unknown.
    static std::string name_and_version() {
        hipDeviceProp_t about{};
        int version = 0;
        if (::hipGetDeviceProperties(&about, 0) != hipSuccess || ::hipRuntimeGetVersion(&version) != hipSuccess)
            return {};
        const auto number = [](int of) { return std::to_string(of); };
        return std::string{about.name} + ", HIP " + number(version / 10'000'000) + "." +
               number(version / 100'000 % 100);
    }
};

static_assert(vendor::device_memory::dl_device == allot::dl_device_type::rocm);
static_assert(vendor::async_memory::dl_device == allot::dl_device_type::rocm);
static_assert(vendor::pinned::dl_device == allot::dl_device_type::rocm_host);
static_assert(vendor::managed::dl_device == allot::dl_device_type::rocm);  // DLPack has no other number
