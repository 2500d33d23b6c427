// SPDX-License-Identifier: BSL-1.0
// allot_torch::statistics: the counters of the allocators that allot gives to PyTorch.
//
//     allot_torch::statistics now = tensors->statistics();
//     std::printf("%zu bytes in %zu tensors, at most %zu\n", now.used, now.blocks, now.peak);
//
// When to use: to read the counters of a cpu_allocator or a device_allocator.
// When not to use: with allocators outside PyTorch, which have `counted`.
//
// Complexity: O(1).
// Memory: five words in each allocator.
// Thread safety: the counters are atomic. `statistics` reads one after the other.
#pragma once

#include <c10/util/Exception.h>

#include <allot/core/allocator.hpp>

#include <atomic>
#include <string>

namespace allot_torch {

/// Counters of an allocator. All sizes are in bytes.
struct statistics {
    std::size_t used = 0;      ///< The requested size of all live blocks.
    std::size_t peak = 0;      ///< The maximum of `used` since the start, or since `reset_peak`.
    std::size_t held = 0;      ///< The size of all regions.
    std::size_t blocks = 0;    ///< The live blocks.
    std::size_t requests = 0;  ///< The requests that succeeded.
    std::size_t refusals = 0;  ///< The requests that failed.
};

namespace detail {

class counters {
public:
    void add(std::size_t size) noexcept {
        const std::size_t now = used_ += size;
        std::size_t before = peak_;
        while (now > before && !peak_.compare_exchange_weak(before, now)) {}
        ++allocated_;
    }
    void remove(std::size_t size) noexcept {
        used_ -= size;
        ++freed_;
    }
    void reset_peak() noexcept { peak_ = used_.load(); }
    [[nodiscard]] std::size_t used() const noexcept { return used_; }
    [[nodiscard]] allot_torch::statistics read(std::size_t held) const noexcept {
        const std::size_t freed = freed_, allocated = allocated_;
        return {used_, peak_, held, allocated - freed, allocated, refusals_};
    }
    /// Counts a refusal of a tensor of `size` bytes, and throws PyTorch's exception with the reason for `wanted`.
    template <class Memory>
    [[noreturn]] void refuse(Memory& memory, std::size_t size, allot::layout wanted) {
        ++refusals_;
        const allot::diagnosis found = memory.diagnose(wanted);
        // Between both calls another thread may have freed memory.
        const char* const reason = found.reason == allot::refusal::none ? "free memory is in use" : found.what();
        C10_THROW_ERROR(OutOfMemoryError,
                        "allot: no memory for a tensor of " + std::to_string(size) + " bytes: " + reason);
    }

private:
    std::atomic<std::size_t> used_{0}, peak_{0}, allocated_{0}, freed_{0}, refusals_{0};
};

}  // namespace detail
}  // namespace allot_torch
