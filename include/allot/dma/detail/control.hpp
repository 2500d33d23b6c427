// SPDX-License-Identifier: BSL-1.0
// control: ioctl(2) with the type of its second parameter, which is `unsigned long` in glibc and `int` in musl.
#pragma once

#include <sys/ioctl.h>

namespace allot {
inline namespace v1 {
namespace dma {
namespace detail {

#if defined(__GLIBC__)
using request_type = unsigned long;
#else
using request_type = int;
#endif

// Calls ioctl(2).
template <class Argument>
[[nodiscard]] int control(int file, unsigned long request, Argument* argument) noexcept {
    return ::ioctl(file, static_cast<request_type>(request), argument);
}

}  // namespace detail
}  // namespace dma
}  // namespace v1
}  // namespace allot
