// SPDX-License-Identifier: BSL-1.0
// counting: a device that passes everything on to another and counts what is really acquired from it.
#pragma once

#include <allot/core/device.hpp>

#include <utility>

namespace demo {

/// Outlives the devices that count into it.
struct tally {
    std::size_t acquisitions = 0;  // regions that a device gave
    std::size_t held = 0;          // bytes held now
    std::size_t most = 0;          // bytes held at once at most
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

    /// What is counted.
    [[nodiscard]] const Device& device() const noexcept { return device_; }

private:
    Device device_;
    tally* counts_;
};

}  // namespace demo
