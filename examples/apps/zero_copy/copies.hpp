// SPDX-License-Identifier: BSL-1.0
// How copies are counted. Bytes pass from one party to the next: into the buffer, from the camera to the tensor, from
// there to the kernel, and from it back to the camera. Of each step two things are known:
//
//   what was called   every memcpy, memmove and clEnqueueReadBuffer of this program comes by here first (the linker's
//                     --wrap), and counts when it moves more than a few bytes
//   what was seen     one side changes a byte that the other has in use already, and nothing is called that could carry
//                     the change over. Who does not see it looks at a copy, whoever made that, also inside the driver
//
// Neither finds what a driver moves from one place to another and back before anyone looks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/types.h>

/// Calls of this process that moved at least the sums of a frame, up to now.
std::size_t copying_calls();

/// A step on the way of a frame: the calls that it takes, or one copy that nobody here called for.
class step {
public:
    [[nodiscard]] std::size_t copies(bool same_bytes = true) const {
        return std::max(copying_calls() - calls_before_, std::size_t{same_bytes ? 0u : 1u});
    }

private:
    std::size_t calls_before_ = copying_calls();
};

/// The physical page behind each page of these bytes, in the memory of a process: 0 where it was not touched, and none
/// at all where the kernel hides them (from all but root).
std::vector<std::uint64_t> physical_pages(pid_t process, const void* address, std::size_t size);
