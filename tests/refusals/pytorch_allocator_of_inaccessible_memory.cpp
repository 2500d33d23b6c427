// PyTorch's kernels for the processor read and write the bytes.
// refused: allot: PyTorch reads and writes CPU tensors: use a device of host memory
#include <cpu_allocator.hpp>

#include <allot/allot.hpp>

#include <mutex>

struct remote : allot::host::heap {
    static constexpr bool host_accessible = false;
};
#ifdef MISUSE
using device = remote;
#else
using device = allot::host::heap;
#endif
using arena = allot::arena<device, allot::best_fit<>>;

int main() {
    allot_torch::cpu_allocator<allot::synchronized<arena, std::mutex>> tensors{arena{{}, 4096}};
    return static_cast<int>(tensors.statistics().used);
}
