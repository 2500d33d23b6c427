// PyTorch's threads call the allocator of CPU tensors, and an arena alone is not for threads.
// refused: allot: PyTorch's threads allocate and free at the same time: use synchronized<Memory, std::mutex> or thread_local_caches<per_thread<Memory>>
// alone
#include <cpu_allocator.hpp>

#include <allot/allot.hpp>

#include <mutex>

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
using memory = arena;
#else
using memory = allot::synchronized<arena, std::mutex>;
#endif

int main() {
    allot_torch::cpu_allocator<memory> tensors{arena{{}, 4096}};
    return static_cast<int>(tensors.statistics().used);
}
