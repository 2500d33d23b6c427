// SPDX-License-Identifier: BSL-1.0
// naive: an allocator that acquires one region from the device for every block.
//
//     allot::naive<allot::host::heap> memory;
//     allot::naive<allot::cached<allot::opencl::buffer>> pooled{{{context, device}}};     // keeps released regions
//
//     allocate ──► device.acquire          deallocate ──► device.release
//
// Graph runtimes call this the naive allocator. Over a `cached` device, it is a pooled allocator.
//
// When to use: memory whose consumers take no offset, because an arena cannot divide it; otherwise few large blocks.
//
// When not to use: many or small blocks, because every one is a call to the device and a region of its granularity; a
// device with one window, such as a scratchpad, because the first block takes the whole window. Use an arena.
//
// Complexity: that of the device.
//
// Memory: the region's size and alignment in the metadata of every block. With hardening, one record for every live
// block.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/arena/misuse.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/device.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Metadata of a block: the size and alignment of its region, which may be larger than requested.
struct naive_metadata {
    std::size_t size = 0;   ///< Size of the region.
    std::size_t align = 1;  ///< Alignment of the region.
    /// Compares both members.
    friend constexpr bool operator==(naive_metadata, naive_metadata) = default;
};

/// Allocator that acquires one region for every block.
template <class Device, hardening Hardening = hardening::none, class OnMisuse = abort_on_misuse>
class naive {
    static_assert(device_requirements<Device>());
    static constexpr bool checked = Hardening != hardening::none;

public:
    using device_type = Device;                            ///< The device.
    using address_model = typename Device::address_model;  ///< Address model of the device.
    /// Metadata of a block.
    using metadata_type = std::conditional_t<checked, hardened_metadata<naive_metadata>, naive_metadata>;
    using block_type = block<typename address_model::address, metadata_type>;  ///< Result of an allocation.
    static constexpr bool host_accessible = Device::host_accessible;  ///< Whether the host may access the memory.
    static constexpr offset_use offsets = Device::offsets;            ///< How consumers of the memory use offsets.
    static constexpr dl_device_type dl_device = Device::dl_device;    ///< Device type for DLPack.
    static constexpr reclaim reclaims = reclaim::any;                 ///< Blocks are freed in any order.

    /// Constructs an allocator over a default device.
    naive() noexcept
        requires std::default_initializable<Device>
    = default;
    /// Constructs an allocator over this device.
    explicit naive(Device device) noexcept : device_{std::move(device)} {}
    /// Moves the device and the records. Blocks stay in place.
    naive(naive&& other) noexcept
        requires std::move_constructible<Device>
        : device_{std::move(other.device_)},
          refused_with_{std::exchange(other.refused_with_, {})},
          refused_{std::exchange(other.refused_, {})},
          live_{std::move(other.live_)} {}
    naive& operator=(naive&&) = delete;

    /// With hardening, releases the regions of live blocks. Without hardening, these regions are leaked.
    ~naive() {
        if constexpr (checked) {
            live_.for_each([this](const auto& known) {
                if constexpr (Hardening == hardening::debug)
                    detail::report<OnMisuse>(misuse::leaked, known.position, known.held.size, known.history());
                device_.release(region_of_block(known.held));
            });
        }
    }

    /// Allocates a block in a new region. Returns an empty block on failure; `diagnose` returns the reason.
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
        detail::check_region<Device>(*answer, whole);
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

    /// Releases a block's region. Precondition: the block is empty or is an unchanged result of this allocator that is
    /// not yet freed.
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

    /// Resizes a block in place and updates `held`: inside its region, or with a region that the device resizes.
    /// Returns false and changes nothing on failure, and for size 0.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept {
        region_of<Device> whole = region_of_block(held);
        layout wanted{size, 1};
        if (!held || size == 0 || !round_up(wanted)) return false;
        if constexpr (checked) {
            const auto* const known = known_block(held);
            if (known == nullptr || !resize_region(whole, wanted.size)) return false;
            held.size = size;
            held.metadata.of_strategy = {whole.size, whole.align};
            live_.resize(*known, held, whole.size);
        } else {
            if (!resize_region(whole, wanted.size)) return false;
            held.size = size;
            held.metadata = {whole.size, whole.align};
        }
        return true;
    }

    /// Returns the usable bytes of a block: the size of its region; with hardening, 0 for a misused block.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept {
        if constexpr (checked) return check(held) ? held.metadata.of_strategy.size : 0;
        else return held.metadata.size;
    }

    /// Returns true if exactly this block is live. Otherwise reports the misuse.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires checked
    {
        return held && known_block(held) != nullptr;
    }
    /// Returns true if exactly this block is live. Reports nothing. O(log live).
    [[nodiscard]] bool is_live(block_type held) const noexcept
        requires checked
    {
        return live_.find(held, address_model::position(held.address)) != nullptr;
    }

    /// Releases the device's spare regions. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires requires(Device device) { device.trim(); }
    {
        const std::size_t released = device_.trim();
        if (released != 0) refused_ = {};
        return released;
    }

    /// Returns the reason for which `allocate(wanted)` would fail. Does not call the device: after a failed request,
    /// every request of at least that size and alignment counts as failing, until the device provides as much memory, a
    /// block is freed or `trim` releases memory.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        if (!round_up(wanted)) return {refusal::over_limit};
        if (!was_refused(wanted)) return {};
        return {refusal::device_refused, 0, static_cast<long>(refused_with_)};
    }

    /// Returns the device.
    [[nodiscard]] const Device& device() const noexcept { return device_; }

private:
    [[nodiscard]] static region_of<Device> region_of_block(const block_type& held) noexcept {
        if constexpr (checked) return {held.address, held.metadata.of_strategy.size, held.metadata.of_strategy.align};
        else return {held.address, held.metadata.size, held.metadata.align};
    }
    [[nodiscard]] auto known_block(const block_type& held) const noexcept {
        return live_.template check<OnMisuse>(held, address_model::position(held.address), false);
    }
    /// Resizes a region to `size` bytes, a multiple of the granularity. Returns false and changes nothing if the region
    /// is smaller and the device does not extend it. If the device does not shrink the region, it stays larger.
    [[nodiscard]] bool resize_region([[maybe_unused]] region_of<Device>& whole, std::size_t size) noexcept {
        if constexpr (extensible_device<Device>) {
            if (size == whole.size) return true;
            const bool shrinks = size < whole.size;
            if (const acquired<Device> answer = device_.resize(whole, size)) {
                whole = *answer;
                if (shrinks) refused_ = {};
                return true;
            }
            return shrinks;
        } else {
            return size <= whole.size;
        }
    }
    /// Rounds a layout up to a region of the device. Returns false if the size wraps.
    [[nodiscard]] static bool round_up(layout& wanted) noexcept {
        if (wanted.align < Device::min_align) wanted.align = Device::min_align;
        return checked_align_up(wanted.size, Device::granularity, wanted.size);
    }
    [[nodiscard]] bool was_refused(layout wanted) const noexcept {
        return refused_.size != 0 && wanted.size >= refused_.size && wanted.align >= refused_.align;
    }
    struct nothing {};

    ALLOT_NO_UNIQUE_ADDRESS Device device_{};
    ALLOT_NO_UNIQUE_ADDRESS typename Device::error refused_with_{};
    layout refused_{};  // the last failed request; size 0: no request failed
    using records = std::conditional_t<checked, detail::live_blocks<block_type>, nothing>;
    static_assert(detail::records_requirements<records>());
    ALLOT_NO_UNIQUE_ADDRESS records live_{};
};

}  // namespace v1
}  // namespace allot
