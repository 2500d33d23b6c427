// SPDX-License-Identifier: BSL-1.0
// queue_id and host_use: a queue of an `ordered`, and a use of its memory by the host.
//
//     const allot::queue_id compute = memory.attach(stream);
//     const allot::host_use reading = memory.begin_host_use();
//
// When to use: to store the results of `attach` and `begin_host_use`. When not to use: with another `ordered`.
// Complexity: O(1). Memory: 4 and 8 bytes. Thread safety: that of values.
#pragma once

#include <cstdint>

namespace allot {
inline namespace v1 {

/// A queue of an `ordered`.
struct queue_id {
    unsigned index = ~0U;  ///< Number of the queue; `~0U` for no queue.
    /// Returns true if this is a queue.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return index != ~0U; }
    /// Compares the numbers.
    friend constexpr bool operator==(queue_id, queue_id) = default;
};

/// A use of a block by the host, which runs beside the queues.
struct host_use {
    std::uint64_t epoch = 0;  ///< Number of the use; 0 for none.
    /// Returns true if this is a use.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return epoch != 0; }
};

}  // namespace v1
}  // namespace allot
