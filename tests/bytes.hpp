// Compares many bytes by the C library, which is fast without optimization, too.
#pragma once

#include <cstddef>
#include <cstring>

namespace tests {

/// Returns whether each of the `size` bytes from `first` has the value.
[[nodiscard]] inline bool have_value(const void* first, std::size_t size, unsigned char value) {
    const auto* const bytes = static_cast<const unsigned char*>(first);
    return size == 0 || (bytes[0] == value && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

}  // namespace tests
