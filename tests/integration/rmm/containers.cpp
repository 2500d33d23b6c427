// A container of RMM 26.06 and the resource of a device take `ordered` memory. Compiled only: RMM's library needs a
// GPU.
#include <allot/allot.hpp>
#include <allot/compose/indexed_ordered.hpp>
#include <allot/cuda/events.hpp>
#include <allot/cuda/stream_ordered_resource.hpp>

#include <rmm/device_uvector.hpp>
#include <rmm/mr/per_device_resource.hpp>

#include <mutex>

using device_arena = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
using memory_type = allot::indexed_ordered<allot::ordered<device_arena, allot::cuda::events>, std::mutex>;

rmm::device_uvector<int> numbers_in(memory_type& memory, rmm::cuda_stream_view stream) {
    const allot::cuda::stream_ordered_resource resource{memory};
    rmm::mr::set_current_device_resource(resource);
    return rmm::device_uvector<int>{1000, stream, resource};
}
