// Without a queue there is nothing to wait for.
// refused: allot: timeline_semaphores_options::queues must be at least 1
#include <allot/vulkan/timeline_semaphores.hpp>

#ifdef MISUSE
constexpr allot::vulkan::timeline_semaphores_options options{.queues = 0};
#else
constexpr allot::vulkan::timeline_semaphores_options options{};
#endif

int main() { return sizeof(allot::vulkan::timeline_semaphores<allot::vulkan::unlocked_submit, options>) == 0; }
