// Elements of a device's memory are not constructed.
// refused: allot: the elements of a unique_span are not constructed: use a trivially copyable type without const
#include <allot/allot.hpp>
#include <allot/gpu/span.hpp>

#include <string>

#ifdef MISUSE
using element = std::string;
#else
using element = float;
#endif

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    return allot::gpu::make_span<element>(memory, 10) ? 0 : 1;
}
