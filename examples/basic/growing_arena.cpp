// An arena that starts empty, acquires regions from the heap when it needs them, and returns free ones by `trim`.
#include <allot/allot.hpp>

#include <cstdio>
#include <vector>

using namespace allot::literals;

int main() {
    // The first region is 64 KiB; each further region is as large as all regions before it together.
    constexpr allot::growth_options growth{.step = 64_KiB, .limit = 8_MiB};
    allot::arena memory{allot::host::heap{}, allot::use<allot::best_fit<>, allot::growth::geometric<growth>>};
    std::printf("at first:     %8zu bytes\n", memory.size());

    std::vector<decltype(memory)::block_type> blocks;
    for (int i = 0; i != 1000; ++i) {
        const auto block = memory.allocate({.size = 1000, .align = 64});
        if (!block) {
            std::printf("%s\n", memory.diagnose({.size = 1000, .align = 64}).what());
            return 1;
        }
        blocks.push_back(block);
    }
    std::printf("1000 blocks:  %8zu bytes\n", memory.size());
    if (memory.size() < 1'000'000) return 1;

    // A request above the limit fails, and the reason is known.
    if (memory.allocate({.size = 8_MiB})) return 1;
    std::printf("8 MiB more:   %s\n", memory.diagnose({.size = 8_MiB}).what());

    for (const auto& block : blocks) memory.deallocate(block);
    const std::size_t returned = memory.trim();
    std::printf("trimmed:      %8zu bytes, %zu left\n", returned, memory.size());
    return memory.size() == 0 ? 0 : 1;
}
