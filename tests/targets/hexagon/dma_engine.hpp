// A fake DMA engine with a Hexagon's linear descriptors. It rejects addresses and sizes that are not whole vectors, and
// lengths above 24 bits. It copies when the program waits for it.
#pragma once

#include <allot/address/raw_pointer.hpp>

#include <cstddef>
#include <cstring>

class dma_engine {
public:
    static constexpr std::size_t vector = 128, longest = (std::size_t{1} << 24) - 1;
    static constexpr long misaligned = -2, too_long = -3, queue_full = -4;

    struct descriptor {
        const void* from;
        void* to;
        std::size_t bytes;
    };

    /// The function that `copy_tensor` calls for each run.
    [[nodiscard]] long enqueue(const void* from, void* to, std::size_t bytes) noexcept {
        const auto position = [](const void* at) { return allot::raw_pointer::position(const_cast<void*>(at)); };
        if ((position(from) | position(to) | bytes) % vector != 0) return misaligned;
        if (bytes > longest) return too_long;
        if (count == most) return queue_full;
        queue[count++] = {from, to, bytes};
        return 0;
    }
    void wait() noexcept {
        for (std::size_t i = done; i != count; ++i) std::memcpy(queue[i].to, queue[i].from, queue[i].bytes);
        done = count;
    }

    static constexpr std::size_t most = 16;
    descriptor queue[most]{};
    std::size_t count = 0, done = 0;
};
