// SPDX-License-Identifier: BSL-1.0
// cached: a device that keeps released regions and hands them out again. Over it, `naive` is a pooled allocator.
//
//     allot::naive<allot::cached<allot::host::pages<>>> memory;
//
//     release ──► │ 64 KiB │ 4 KiB │ 1 MiB │ … ──► acquire: the smallest that is large and aligned enough,
//                                                  and not more than `waste` times as large as asked for
//
// When the device below refuses, everything kept is given back to it and it is asked once more; its answer then stands.
// A kept region never serves a request for a greater alignment than it has. Full places are given back at once.
//
// Complexity: O(regions kept) to acquire, O(1) to release. Memory: 24 bytes for each of `regions`, inside the object; no
// heap. Not synchronised.
#pragma once

#include <allot/core/device.hpp>
#include <allot/core/options.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

template <device Device, cached_options Options = cached_options{}>
class cached : public traits_of<Device> {
    static_assert(Options.regions > 0 && Options.waste > 0, "allot: cached keeps at least one region, and wastes 1 or more");
    using region_type = region_of<Device>;

public:
    using error = typename Device::error;

    cached() noexcept
        requires std::default_initializable<Device>
    = default;
    explicit cached(Device device) noexcept : device_{std::move(device)} {}
    cached(cached&& other) noexcept
        : device_{std::move(other.device_)}, held_{std::exchange(other.held_, 0)} {
        for (std::size_t i = 0; i != held_; ++i) kept_[i] = other.kept_[i];
    }
    cached& operator=(cached&&) = delete;
    ~cached() { trim(); }

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
    void release(region_type back) noexcept {
        if (held_ == Options.regions) return device_.release(back);
        kept_[held_++] = back;
    }

    /// Gives every region that is kept back to the device. Returns how many bytes.
    std::size_t trim() noexcept {
        std::size_t released = 0;
        while (held_ != 0) {
            released += kept_[--held_].size;
            device_.release(kept_[held_]);
        }
        return released;
    }

    /// Bytes kept and not handed out.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t sum = 0;
        for (std::size_t i = 0; i != held_; ++i) sum += kept_[i].size;
        return sum;
    }
    [[nodiscard]] const Device& device() const noexcept { return device_; }

private:
    /// The smallest region that will do; `held_` when there is none.
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

    [[no_unique_address]] Device device_{};
    region_type kept_[Options.regions]{};
    std::size_t held_ = 0;
};

}  // namespace v1
}  // namespace allot
