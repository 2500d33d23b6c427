// SPDX-License-Identifier: BSL-1.0
// The counting of copies. Bytes pass from one party to the next: into the buffer, from the camera to the tensor, from
// the tensor to the kernel, and from the kernel back to the camera. Each step is checked in two ways:
//
//   calls     the linker's --wrap routes every memcpy, memmove and clEnqueueReadBuffer of this program through this
//             code, which counts calls that move more than a few bytes
//   changes   one side changes a byte that the other side already uses, without a call that could transfer the change.
//             A side that does not see the change has a copy, even if the driver made it
//
// Neither check finds bytes that a driver moves away and back between two accesses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/types.h>

/// Returns the number of calls so far in this process that moved at least as many bytes as the sums of a frame.
std::size_t copying_calls();

/// The copies of one step of a frame: the counted calls, or one detected copy without a counted call.
class step {
public:
    [[nodiscard]] std::size_t copies(bool same_bytes = true) const {
        return std::max(copying_calls() - calls_before_, std::size_t{same_bytes ? 0u : 1u});
    }

private:
    std::size_t calls_before_ = copying_calls();
};

/// Returns the physical page behind each page of these bytes in a process: 0 for an untouched page. Returns an empty
/// list where the kernel hides the numbers, as it does from every user except root.
std::vector<std::uint64_t> physical_pages(pid_t process, const void* address, std::size_t size);
