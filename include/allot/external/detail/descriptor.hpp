// SPDX-License-Identifier: BSL-1.0
// descriptor: a file descriptor that is closed on destruction.
#pragma once

#include <unistd.h>
#include <utility>

namespace allot {
inline namespace v1 {
namespace external {
namespace detail {

// File descriptor that is closed on destruction.
class descriptor {
public:
    explicit descriptor(int value = -1) noexcept : value_{value} {}
    descriptor(descriptor&& other) noexcept : value_{std::exchange(other.value_, -1)} {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    [[nodiscard]] explicit operator bool() const noexcept { return value_ >= 0; }
    [[nodiscard]] int operator*() const noexcept { return value_; }
    int release() noexcept { return std::exchange(value_, -1); }

private:
    int value_;
};

}  // namespace detail
}  // namespace external
}  // namespace v1
}  // namespace allot
