// SPDX-License-Identifier: BSL-1.0
// naive: one region for each block, straight from the device. What graph runtimes call the naive allocator.
//
//     allot::naive<allot::host::heap> memory;
//     allot::naive<allot::cached<allot::opencl::buffer>> pooled{{{context, device}}};     // released regions are kept
//
//     allocate ──► device.acquire          deallocate ──► device.release
//
// The only allocator for memory whose consumers take no offset, since an arena cannot cut it; elsewhere for the few
// and large. Over a `cached` device it is a pooled allocator.
//
// Complexity: the device's. Memory: the region's size and alignment in every block; a record of live blocks where it is
// hardened. Not synchronised.
#pragma once

#include <allot/arena/hardening.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/device.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// What the device gave beyond what was asked for.
struct naive_metadata {
    std::size_t size = 0, align = 1;
    friend constexpr bool operator==(naive_metadata, naive_metadata) = default;
};

template <class Device, hardening Hardening = hardening::none, class OnMisuse = abort_on_misuse>
class naive {
    static_assert(device_requirements<Device>());
    static constexpr bool checked = Hardening != hardening::none;

public:
    using device_type = Device;
    using address_model = typename Device::address_model;
    using metadata_type = std::conditional_t<checked, hardened_metadata<naive_metadata>, naive_metadata>;
    using block_type = block<typename address_model::address, metadata_type>;
    static constexpr bool host_accessible = Device::host_accessible;
    static constexpr offset_use offsets = Device::offsets;
    static constexpr dl_device_type dl_device = Device::dl_device;
    static constexpr reclaim reclaims = reclaim::any;

    naive() noexcept
        requires std::default_initializable<Device>
    = default;
    explicit naive(Device device) noexcept : device_{std::move(device)} {}
    naive(naive&&) noexcept = default;
    naive& operator=(naive&&) = delete;

    /// Regions that are still out when it ends are released with it where it is hardened, and lost where it is not.
    ~naive() {
        if constexpr (checked) {
            live_.for_each([this](const auto& known) {
                if constexpr (Hardening == hardening::debug)
                    detail::report<OnMisuse>(misuse::leaked, known.position, known.held.size, known.history());
                device_.release(region_of_block(known.held));
            });
        }
    }

    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        if (!wanted.is_valid()) return {};
        layout whole = wanted;
        if (!round_up(whole)) return {};
        const acquired<Device> answer = device_.acquire(whole);
        if (!answer) {
            refused_ = whole;
            refused_with_ = answer.error();
            return {};
        }
        if (was_refused(whole)) refused_ = {};
        if constexpr (checked) {
            block_type fresh{answer->base, wanted.size, {{answer->size, answer->align}}};
            if (live_.add(fresh, address_model::position(fresh.address), answer->size)) return fresh;
            device_.release(*answer);
            return {};
        } else {
            return {answer->base, wanted.size, {answer->size, answer->align}};
        }
    }

    /// Takes a block back, as it was handed out. An empty block is fine.
    void deallocate(block_type held) noexcept {
        if (!held) return;
        if constexpr (checked) {
            const auto* const known = known_block(held);
            if (known == nullptr) return;
            live_.remove(*known);
        }
        refused_ = {};
        device_.release(region_of_block(held));
    }

    /// What the holder of a block may use, in bytes: at least its size.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept {
        if constexpr (checked) return check(held) ? held.metadata.of_strategy.size : 0;
        else return held.metadata.size;
    }

    /// Whether exactly this block is live. When it is not, the misuse is reported.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires checked
    {
        return held && known_block(held) != nullptr;
    }

    /// Gives the device's spare regions back to where they came from. Returns how many bytes.
    std::size_t trim() noexcept
        requires requires(Device device) { device.trim(); }
    {
        const std::size_t released = device_.trim();
        if (released != 0) refused_ = {};
        return released;
    }

    /// Why `allocate` would refuse. Only the device knows: what it refused, it is taken to refuse again, and all that is
    /// larger and as aligned, until a block is given back.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        if (!round_up(wanted)) return {refusal::over_limit};
        if (!was_refused(wanted)) return {};
        return {refusal::device_refused, 0, static_cast<long>(refused_with_)};
    }

    [[nodiscard]] const Device& device() const noexcept { return device_; }

private:
    [[nodiscard]] static region_of<Device> region_of_block(const block_type& held) noexcept {
        if constexpr (checked) return {held.address, held.metadata.of_strategy.size, held.metadata.of_strategy.align};
        else return {held.address, held.metadata.size, held.metadata.align};
    }
    [[nodiscard]] auto known_block(const block_type& held) const noexcept {
        return live_.template check<OnMisuse>(held, address_model::position(held.address), false);
    }
    /// To a region of the device; false when that wraps.
    [[nodiscard]] static bool round_up(layout& wanted) noexcept {
        if (wanted.align < Device::min_align) wanted.align = Device::min_align;
        return checked_align_up(wanted.size, Device::granularity, wanted.size);
    }
    [[nodiscard]] bool was_refused(layout wanted) const noexcept {
        return refused_.size != 0 && wanted.size >= refused_.size && wanted.align >= refused_.align;
    }
    struct nothing {};

    [[no_unique_address]] Device device_{};
    [[no_unique_address]] typename Device::error refused_with_{};
    layout refused_{};  // of size 0 for none
    [[no_unique_address]] std::conditional_t<checked, detail::live_blocks<block_type>, nothing> live_{};
};

}  // namespace v1
}  // namespace allot
