// SPDX-License-Identifier: BSL-1.0
// offset_space: the mapping between an arena's regions and its strategy's offsets.
//
//     one_region          An offset is an address, or counts from the base where offsets are not addresses.
//     addresses           Several regions, records in band: an offset is an address.
//     segments            Several regions, side table: every region has a segment; the metadata contains its index.
//     one_by_one          Several regions, a strategy for one extent: offsets are those of the region in use.
//
//     segments   │ region 0 │      │  region 1  │    │         │       top bits of an offset: the region
//                └ congruent to the region's address, so that an aligned offset is an aligned address
//
// Complexity: O(1) for every translation, with one look-up of the region's entry. `contains`, `holds`, `free_region`
// and `size` are O(regions).
//
// Memory: 24 bytes for every region.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/arena/growth.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/device.hpp>
#include <allot/core/strategy.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Metadata of a block in a segment.
template <class Metadata>
struct segment_metadata {
    ALLOT_NO_UNIQUE_ADDRESS Metadata of_strategy{};  ///< The strategy's metadata.
    std::uint32_t region = 0;                        ///< Index of the region.
    /// Constructs the metadata of an empty block.
    constexpr segment_metadata() noexcept = default;
    /// Constructs the metadata from its members.
    constexpr segment_metadata(Metadata strategy_metadata, std::uint32_t index) noexcept
        : of_strategy{strategy_metadata}, region{index} {}
    /// Compares both members.
    friend constexpr bool operator==(const segment_metadata&, const segment_metadata&) = default;
};

/// Mapping between regions and offsets; the opening comment describes the values.
enum class region_order : unsigned char { one_region, addresses, segments, one_by_one };

/// The region of a device that contains its memory or whose type names it. The compiler knows the region, so that it is
/// not stored.
template <class Device>
struct embedded_region {
    Device device{};
    [[nodiscard]] region_of<Device> operator[](std::size_t) const noexcept {
        return {device.base(), Device::capacity(), Device::min_align};
    }
};

/// Presents a single region as a range of one element. Elements are returned by value, because the range may be a
/// temporary.
template <class Region>
struct known_region {
    Region only;
    [[nodiscard]] Region operator[](std::size_t) const noexcept { return only; }
    [[nodiscard]] const Region* begin() const noexcept { return &only; }
    [[nodiscard]] const Region* end() const noexcept { return &only + 1; }
    [[nodiscard]] static constexpr std::size_t size() noexcept { return 1; }
};

/// The regions of an arena, with translations between blocks and allocations. If `Embedded`, the device is a member and
/// its region is not stored.
template <class Device, class Strategy, class Growth, bool Embedded = false>
class offset_space {
    using model = typename Device::address_model;
    using offset = typename Strategy::offset_type;
    using allocation = allocation_of<Strategy>;
    static constexpr unsigned segment_bits = static_cast<unsigned>(std::bit_width(Growth::regions) - 1);
    static constexpr unsigned segment_shift = std::numeric_limits<offset>::digits - segment_bits;

public:
    static constexpr region_order order = Growth::regions == 1         ? region_order::one_region
                                          : !Strategy::several_extents ? region_order::one_by_one
                                          : Strategy::in_band          ? region_order::addresses
                                                                       : region_order::segments;
    using region_type = region_of<Device>;
    using metadata_type =
        std::conditional_t<order == region_order::segments, segment_metadata<typename Strategy::metadata_type>,
                           typename Strategy::metadata_type>;
    using block_type = block<typename model::address, metadata_type>;
    static constexpr std::size_t capacity = Growth::regions;
    /// Whether offsets of the region are converted to pointers directly. This takes the fewest bytes of code, and an
    /// empty allocation becomes an empty block.
    static constexpr bool offset_is_pointer =
        Embedded && order == region_order::one_region && std::same_as<model, raw_pointer>;

    /// The regions. A region that is not held is empty.
    std::conditional_t<Embedded, embedded_region<Device>, region_type[capacity]> regions{};

    /// The largest offset that fits a `std::size_t`.
    static constexpr auto last_offset = static_cast<std::size_t>(std::numeric_limits<offset>::max());
    /// The largest size of a region that offsets can cover.
    static constexpr std::size_t largest_region = static_cast<std::size_t>(
        std::numeric_limits<offset>::max() >> (order == region_order::segments ? segment_bits + 1 : 0));
    /// The largest size of an extent at offset 0 that ends at a multiple of the device's granularity.
    static constexpr std::size_t largest_extent =
        order == region_order::segments ? largest_region : align_down(largest_region, Device::granularity);

    /// Returns the extent of region `index`, as far as offsets reach. A device may return a larger region than
    /// requested. Bytes beyond the growth's limit are not used, because strategies rely on that limit.
    [[nodiscard]] extent_of<Strategy> extent(std::size_t index) const noexcept {
        constexpr std::size_t limit = align_down(Growth::limit, Device::granularity);
        const region_type held = regions[index];
        const std::size_t at = model::position(held.base), size = held.size < limit ? held.size : limit;
        if constexpr (order == region_order::segments) {
            const std::size_t phase = model::absolute ? at & largest_region : 0;
            return {static_cast<offset>((static_cast<offset>(index) << segment_shift) | static_cast<offset>(phase)),
                    static_cast<offset>(size < largest_region ? size : largest_region)};
        }
        const std::size_t start = model::absolute ? at : 0;
        if (start > largest_region) return {};
        const std::size_t reach = align_down(largest_region - start, Device::granularity);
        return {static_cast<offset>(start), static_cast<offset>(size < reach ? size : reach)};
    }

    /// Translates an extent of the only region to the strategy's offsets; empty if it is not inside the region.
    [[nodiscard]] extent_of<Strategy> in_offsets(allot::extent wanted) const noexcept {
        extent_of<Strategy> inside;
        if (!allot::extent{0, regions[0].size}.contains(wanted)) return inside;
        const std::size_t at = static_cast<std::size_t>(extent(0).offset) + wanted.offset;
        if (at <= last_offset && wanted.size <= last_offset)
            inside = {static_cast<offset>(at), static_cast<offset>(wanted.size)};
        return inside;
    }

    /// Returns the block of an allocation. `current` is the index of the region in use.
    [[nodiscard]] block_type block_for(allocation given, std::size_t current) const noexcept {
        const auto at = static_cast<std::size_t>(given.where.offset);
        const auto size = static_cast<std::size_t>(given.where.size);
        if constexpr (order == region_order::segments) {
            const auto index = static_cast<std::uint32_t>(given.where.offset >> segment_shift);
            const auto inside = static_cast<std::size_t>(given.where.offset - extent(index).offset);
            return {model::locate(regions[index].base, inside), size, {given.metadata, index}};
        } else if constexpr (order == region_order::addresses || offset_is_pointer) {
            return {addressed_memory::at(at), size, given.metadata};
        } else {
            const auto base = regions[current].base;
            return {model::locate(base, model::absolute ? at - model::position(base) : at), size, given.metadata};
        }
    }

    /// Returns the allocation of a block.
    [[nodiscard]] allocation allocation_for(const block_type& held) const noexcept {
        const std::size_t position = model::position(held.address);
        const auto size = static_cast<offset>(held.size);
        if constexpr (order == region_order::segments) {
            const std::size_t index = held.metadata.region;
            const std::size_t inside = position - model::position(regions[index].base);
            return {{static_cast<offset>(extent(index).offset + inside), size}, held.metadata.of_strategy};
        } else {
            const std::size_t start = model::absolute ? 0 : model::position(regions[0].base);
            return {{static_cast<offset>(position - start), size}, held.metadata};
        }
    }

    /// Returns true if all of the block is inside one region.
    [[nodiscard]] bool contains(const block_type& held) const noexcept {
        const std::size_t at = model::position(held.address);
        for (std::size_t i = 0; i != capacity; ++i) {
            const region_type in = regions[i];
            const std::size_t from = model::position(in.base);
            if (in && at >= from && allot::extent{0, in.size}.contains({at - from, held.size}) &&
                model::locate(in.base, at - from) == held.address)
                return true;
        }
        return false;
    }

    /// Returns true if this is one of the regions.
    [[nodiscard]] bool holds(const region_type& held) const noexcept {
        for (const region_type& each : regions)
            if (each && each.base == held.base) return true;
        return false;
    }

    /// Returns the index of the first region that is not held; `capacity` if all are held.
    [[nodiscard]] std::size_t free_region() const noexcept {
        std::size_t index = 0;
        while (index != capacity && regions[index]) ++index;
        return index;
    }

    /// Returns the total size of the regions.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t sum = 0;
        for (std::size_t i = 0; i != capacity; ++i) sum += regions[i].size;
        return sum;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
