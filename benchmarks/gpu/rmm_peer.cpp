// SPDX-License-Identifier: BSL-1.0
// RMM's pool over cudaMalloc as a peer: run.py compiles it with the headers of the wheels librmm and rapids_logger.
#include "peer.h"

#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#include <rmm/version_config.hpp>

#include <cuda/stream_ref>

#include <memory>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

namespace {

rmm::mr::cuda_memory_resource upstream;
std::unique_ptr<rmm::mr::pool_memory_resource> pool;

}  // namespace

extern "C" {

const char* peer_name() { return "RMM " TEXT(RMM_VERSION_MAJOR) "." TEXT(RMM_VERSION_MINOR) ", pool"; }
void* peer_allocate(size_t bytes, cudaStream_t order) {
    try {
        return pool->allocate(cuda::stream_ref{order}, bytes, 256);
    } catch (const std::exception&) {
        return nullptr;
    }
}
void peer_free(void* address, size_t bytes, cudaStream_t order) {
    pool->deallocate(cuda::stream_ref{order}, address, bytes, 256);
}
int peer_used_on(void*, cudaStream_t) { return 0; }
void peer_reset() {
    pool.reset();
    pool = std::make_unique<rmm::mr::pool_memory_resource>(upstream, size_t{256});
}
size_t peer_reserved() { return pool->pool_size(); }
}
