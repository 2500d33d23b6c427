// SPDX-License-Identifier: BSL-1.0
// counting: a device that forwards to another device and counts the acquired regions.
#pragma once

#include <allot/core/device.hpp>

#include <utility>

namespace demo {

/// The counts. They must outlive the devices that update them.
struct tally {
    std::size_t acquisitions = 0;  // regions that the device returned
    std::size_t held = 0;          // bytes currently held
    std::size_t most = 0;          // maximum bytes held at the same time
};

template <allot::device Device>
class counting : public allot::traits_of<Device> {
public:
    using error = typename Device::error;

    counting(Device device, tally& counts) : device_{std::move(device)}, counts_{&counts} {}

    [[nodiscard]] std::size_t capacity() const noexcept
        requires allot::bounded_device<Device>
    {
        return device_.capacity();
    }
    [[nodiscard]] allot::acquired<counting> acquire(allot::layout wanted) noexcept {
        const auto answer = device_.acquire(wanted);
        if (answer) {
            ++counts_->acquisitions;
            counts_->held += answer->size;
            if (counts_->held > counts_->most) counts_->most = counts_->held;
        }
        return answer;
    }
    void release(allot::region_of<Device> held) noexcept {
        counts_->held -= held.size;
        device_.release(held);
    }

    /// The wrapped device.
    [[nodiscard]] const Device& device() const noexcept { return device_; }

private:
    Device device_;
    tally* counts_;
};

}  // namespace demo
