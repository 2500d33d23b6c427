// SPDX-License-Identifier: BSL-1.0
// PyTorch's caching allocator as a peer, without Python: run.py compiles it with the headers of the installed PyTorch.
#include "peer.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/headeronly/version.h>

#include <mutex>

namespace c10::cuda::_internal {
void setHasPrimaryContext(bool (*)(DeviceIndex));  // exported, but no header declares it
}

namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

void start() {
    static std::once_flag started;
    std::call_once(started, [] {
        // Otherwise libtorch_cuda answers this. The benchmark has the context of the only device that it uses.
        c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
        caching::init(c10::cuda::device_count());
    });
}

}  // namespace

extern "C" {

const char* peer_name() { return "PyTorch " TORCH_VERSION ", caching allocator"; }
void* peer_allocate(size_t bytes, cudaStream_t order) {
    start();
    try {
        return caching::raw_alloc_with_stream(bytes, order);
    } catch (const c10::Error&) {
        return nullptr;
    }
}
void peer_free(void* address, size_t, cudaStream_t) { caching::raw_delete(address); }
int peer_used_on(void* address, cudaStream_t other) {
    // The allocator finds the block by the address that a DataPtr of its own deleter holds.
    c10::DataPtr view{address, address, caching::get()->raw_deleter(),
                      c10::Device(c10::DeviceType::CUDA, c10::cuda::current_device())};
    caching::recordStream(view, c10::cuda::getStreamFromExternal(other, c10::cuda::current_device()));
    static_cast<void>(view.release_context());
    return 1;
}
void peer_reset() {
    start();
    caching::emptyCache();
    caching::resetPeakStats(c10::cuda::current_device());
}
size_t peer_reserved() {
    start();
    const auto stats = caching::getDeviceStats(c10::cuda::current_device());
    return static_cast<size_t>(stats.reserved_bytes[0].peak);
}
}
