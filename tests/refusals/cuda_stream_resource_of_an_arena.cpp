// An arena does not know streams.
// refused: allot: a stream-ordered resource allocates and deallocates by address and stream: use indexed_ordered<ordered<Arena, cuda::events>, std::mutex>
#include <allot/allot.hpp>
#include <allot/compose/indexed_ordered.hpp>
#include <allot/cuda/events.hpp>
#include <allot/cuda/stream_ordered_resource.hpp>

using device_arena = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
#ifdef MISUSE
using memory_type = device_arena;
#else
using memory_type = allot::indexed_ordered<allot::ordered<device_arena, allot::cuda::events>>;
#endif

int main() { return sizeof(allot::cuda::stream_ordered_resource<memory_type>) == 0; }
