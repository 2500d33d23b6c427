// SPDX-License-Identifier: BSL-1.0
// allot's allocator for PyTorch (bindings/pytorch) as a peer: the calls that PyTorch makes.
#include "peer.h"

#include <allot_pytorch.h>

extern "C" {

const char* peer_name() { return "allot: liballot_pytorch.so"; }
void* peer_allocate(size_t bytes, cudaStream_t order) {
    try {
        return allot_malloc(static_cast<ptrdiff_t>(bytes), 0, order);
    } catch (const std::exception&) {
        return nullptr;
    }
}
void peer_free(void* address, size_t bytes, cudaStream_t order) {
    allot_free(address, static_cast<ptrdiff_t>(bytes), 0, order);
}
int peer_used_on(void* address, cudaStream_t other) {
    allot_record_stream(address, other);
    return 1;
}
void peer_reset() {
    allot_empty_cache();
    static_cast<void>(allot_reset_peak(0));
}
size_t peer_reserved() {
    allot_pytorch_statistics now{};
    return allot_get_statistics(0, &now) == 0 ? now.reserved_peak : 0;
}
}
