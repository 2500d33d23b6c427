// SPDX-License-Identifier: BSL-1.0
// cached: device that keeps released regions and reuses them. A `naive` allocator over it is a pooling allocator.
//
//     allot::naive<allot::cached<allot::host::pages<>>> memory;
//
//     release ──► │ 64 KiB │ 4 KiB │ 1 MiB │ … ──► acquire: the smallest region with enough size and alignment,
//                                                  of at most `waste` times the requested size
//
// If the underlying device fails, `acquire` releases every kept region and asks the device again. The second result is
// final. If all places are full, `release` passes the region to the underlying device. `acquire` never returns a kept
// region that is less aligned than requested.
//
// When to use: over a device whose `acquire` is slow (system calls, drivers), if the program requests similar sizes
// again and again.
// When not to use: directly below an arena that never releases its regions. The cache then stays empty.
// Complexity: O(kept regions) for `acquire`, O(1) for `release`.
// Memory: 24 bytes for each of `regions` on a 64-bit host, inside the object. No heap allocation.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/device.hpp>
#include <allot/core/options.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// The options of the device `cached`.
struct cached_options {
    std::size_t regions = 64;  ///< The maximum number of regions that are kept.
    std::size_t waste = 2;     ///< A kept region serves requests of at least its size divided by this number.
};

/// Device that keeps up to `Options.regions` released regions of `Device`.
template <class Device, cached_options Options = cached_options{}>
class cached : public traits_of<Device> {
    static_assert(device_requirements<Device>());
    static_assert(Options.regions > 0 && Options.waste > 0, "allot: cached requires regions and waste greater than 0");
    using region_type = region_of<Device>;

public:
    using error = typename Device::error;  ///< The error of the underlying device.

    /// Creates an empty cache over a default-constructed device.
    cached() noexcept
        requires std::default_initializable<Device>
    = default;
    /// Creates an empty cache over `device`.
    explicit cached(Device device) noexcept : device_{std::move(device)} {}
    /// Moves the device and all kept regions.
    cached(cached&& other) noexcept : device_{std::move(other.device_)}, held_{std::exchange(other.held_, 0)} {
        for (std::size_t i = 0; i != held_; ++i) kept_[i] = other.kept_[i];
    }
    cached& operator=(cached&&) = delete;
    /// Releases all kept regions to the device.
    ~cached() { trim(); }

    /// Returns the smallest suitable kept region, or acquires a new one. Fails with the error of the device.
    [[nodiscard]] acquired<cached> acquire(layout wanted) noexcept {
        if (const std::size_t found = best_for(wanted); found != held_) {
            const region_type again = kept_[found];
            kept_[found] = kept_[--held_];
            return again;
        }
        acquired<Device> answer = device_.acquire(wanted);
        if (!answer && trim() != 0) answer = device_.acquire(wanted);
        return answer;
    }
    /// Keeps a region, or releases it to the device if the cache is full.
    void release(region_type back) noexcept {
        if (held_ == Options.regions) return device_.release(back);
        kept_[held_++] = back;
    }

    /// Releases every kept region to the device. Returns their size in bytes.
    std::size_t trim() noexcept {
        std::size_t released = 0;
        while (held_ != 0) {
            released += kept_[--held_].size;
            device_.release(kept_[held_]);
        }
        return released;
    }

    /// Returns the size of all kept regions in bytes.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t sum = 0;
        for (std::size_t i = 0; i != held_; ++i) sum += kept_[i].size;
        return sum;
    }
    /// Returns the underlying device.
    [[nodiscard]] const Device& device() const noexcept { return device_; }

private:
    // Returns the index of the smallest suitable region, or `held_` if no region is suitable.
    [[nodiscard]] std::size_t best_for(layout wanted) const noexcept {
        std::size_t best = held_;
        if (!wanted.is_valid()) return best;
        for (std::size_t i = 0; i != held_; ++i) {
            const bool serves = kept_[i].size >= wanted.size && kept_[i].align >= wanted.align &&
                                (kept_[i].size - 1) / Options.waste < wanted.size;
            if (serves && (best == held_ || kept_[i].size < kept_[best].size)) best = i;
        }
        return best;
    }

    ALLOT_NO_UNIQUE_ADDRESS Device device_{};
    region_type kept_[Options.regions]{};
    std::size_t held_ = 0;
};

}  // namespace v1
}  // namespace allot
