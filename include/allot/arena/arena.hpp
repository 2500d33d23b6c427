// SPDX-License-Identifier: BSL-1.0
// arena: one device + one strategy + one growth, the allocator that most users name.
//
//     allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> scratch;
//     auto block = scratch.allocate({.size = 256, .align = 32});
//
//     layout ─► arena ─► strategy ─► extent ─► address model ─► block
//                 └────► device: a region, rarely
//
// The device gives regions, the strategy cuts them, and the device's address model names what was cut; offset_space.hpp
// says how regions lie in the strategy's offsets.
//
// Complexity: the strategy's; a few instructions more where regions are several. Memory: the strategy, the device, and
// 24 bytes a region. As synchronised as the strategy: not at all, but with pool_store::atomic_bitmap.
//
// An arena moves when its device does, and its blocks stay where they are. A moved-from arena has no blocks and no regions.
// It is destroyed or, where it grows and its device still gives memory (host::heap), used as a new one.
#pragma once

#include <allot/arena/detail/regions.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/options.hpp>

#include <cstring>
#include <utility>

namespace allot {
inline namespace v1 {

/// What an arena remembers in a mark.
template <class Mark>
struct arena_mark {
    Mark of_strategy;
    std::size_t region = 0;  // which, where they are used one by one; its position, where it grows in place
    std::uint64_t count = 0;
};

template <class Device, class Strategy, class Growth = growth::none, arena_options Options = arena_options{},
          class OnMisuse = abort_on_misuse>
class arena {
    static_assert(detail::arena_order<Device, Strategy>());  // first, so that its sentence is
    static constexpr memory_traits where = detail::region_traits<Device, Growth>(Options.align);

public:
    using device_type = Device;
    using strategy_type = typename strategy_in<Strategy, where>::type;

private:
    static_assert(is_alignment(Options.align), "allot: arena_options::align is a power of two");
    static_assert(!concurrent<strategy_type> || Options.hardening == hardening::none,
                  "allot: what a hardened arena knows of its blocks is not for several threads at once: use hardening::none, or "
                  "synchronized over a pool with another store");

    using regions_type = detail::arena_regions<Device, strategy_type, Growth, Options.align>;
    using space = typename regions_type::space_type;
    using model = typename Device::address_model;
    using offset = typename strategy_type::offset_type;
    using allocation = allocation_of<strategy_type>;

    static constexpr bool one_region = regions_type::one_region;
    static constexpr bool checked = Options.hardening != hardening::none;

    struct nothing {};

public:
    using address_model = model;
    using region_type = typename space::region_type;
    using metadata_type =
        std::conditional_t<checked, hardened_metadata<typename space::metadata_type>, typename space::metadata_type>;
    using block_type = block<typename model::address, metadata_type>;
    static constexpr bool host_accessible = Device::host_accessible;
    static constexpr offset_use offsets = Device::offsets;
    static constexpr dl_device_type dl_device = Device::dl_device;
    static constexpr reclaim reclaims = strategy_type::reclaims;

    /// Over a device with a window, the arena takes all of it; an arena that grows acquires nothing before it is needed.
    arena() noexcept
        requires std::default_initializable<Device>
    {
        regions_.acquire_window();
    }
    explicit arena(Device device) noexcept : regions_{std::move(device)} { regions_.acquire_window(); }

    /// Acquires a first region of at least `size` bytes at once. When the device refuses, the arena holds nothing, and
    /// `diagnose` has the device's code.
    arena(Device device, std::size_t size) noexcept : regions_{std::move(device)} { regions_.acquire_first(size); }

    /// For the sentence: a size alone, or nothing, makes no device.
    template <std::integral Size>
        requires(!std::convertible_to<Size, Device>)
    explicit arena(Size) : arena{refused_device()} {
        static_assert(!sizeof(Size), "allot: an arena is made with a device, before any size: arena{{}, size} for a device "
                                     "without arguments, arena{device} for one that knows its own");
    }
    template <class D = Device>
        requires(!std::default_initializable<D>)
    arena(nothing = {}) : arena{refused_device()} {  // {} and {{}}
        static_assert(!sizeof(D), "allot: this arena's device needs arguments: arena{device}, such as "
                                  "arena{host::virtual_memory{64_GiB}}");
    }

    arena(arena&&) noexcept = default;
    arena& operator=(arena&&) = delete;

    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        if constexpr (checked && markable<strategy_type>) {
            const auto before = mark();
            const allocation given = regions_.allocate(wanted);
            const block_type fresh = admit(given);
            if (given && !fresh) rollback(before);
            return fresh;
        } else {
            return admit(regions_.allocate(wanted));
        }
    }

    /// Takes a block back, as it was handed out. An empty block is fine.
    void deallocate(block_type held) noexcept {
        if (!held || !is_freed(held)) return;
        regions_.strategy().deallocate(regions_.space().allocation_for(bare(held)));
    }

    /// Gives exactly these bytes, counted from the region's base, if they are free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires one_region && positional<strategy_type>
    {
        const auto bytes = in_offsets(wanted);
        return bytes ? admit(regions_.strategy().allocate_at(bytes)) : block_type{};
    }

    /// Why `allocate_at` would refuse.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) const noexcept
        requires one_region && positional<strategy_type>
    {
        if (!wanted) return {refusal::empty_layout};
        const auto bytes = in_offsets(wanted);
        return bytes ? regions_.strategy().diagnose_at(bytes) : diagnosis{refusal::not_free};
    }

    /// Grows or shrinks a block where it stands; false, and nothing changed, when it cannot. Where the region grows in
    /// place, it does so for its last block.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable<strategy_type>
    {
        if (!held || size > space::last_offset) return false;
        if constexpr (checked) {
            const auto* const known = known_block(held);
            if (known == nullptr || !is_sound(*known, regions_.space().allocation_for(bare(held)))) return false;
            if (!resize_allocation(held, size)) return false;
            block_type resized = held;
            resized.size = size;
            const std::size_t room = capacity_of(regions_.space().allocation_for(bare(resized)));
            if constexpr (overwrites)
                look_at_fresh(known->position, room, known->position + held.size, known->position + size);
            live_.resize(*known, size, room);
        } else {
            if (!resize_allocation(held, size)) return false;
        }
        held.size = size;
        return true;
    }

    /// What the holder of a block may use, in bytes: at least its size; 0 for one that a hardened arena knows not to be
    /// live.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept {
        if (!held) return 0;
        if constexpr (checked) {
            if (!check(held)) return 0;
        }
        return capacity_of(regions_.space().allocation_for(bare(held)));
    }

    /// Whether exactly this block is live. When it is not, the misuse is reported.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires checked
    {
        return known_block(held) != nullptr;
    }

    /// True when the block lies in a region of this arena, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept {
        return held && regions_.space().contains(bare(held));
    }

    /// Forgets every block at once and keeps the regions.
    void reset() noexcept
        requires resettable<strategy_type>
    {
        if constexpr (regions_type::one_by_one) {
            regions_.use_region(Growth::regions);  // none: the next request starts with the first
        } else {
            regions_.strategy().reset();
        }
        if constexpr (checked) live_.clear();
    }

    /// Remembers what is allocated now, for `rollback`.
    [[nodiscard]] auto mark() const noexcept
        requires markable<strategy_type>
    {
        arena_mark<decltype(regions_.strategy().mark())> here{regions_.strategy().mark()};
        if constexpr (regions_type::one_by_one) here.region = regions_.current_region();
        if constexpr (regions_type::in_place) here.region = model::position(regions_.space().regions[0].base);
        if constexpr (checked) here.count = live_.count();
        return here;
    }
    template <class S = strategy_type>
        requires(!markable<S>)
    void mark() const noexcept {
        static_assert(!sizeof(S), "allot: this strategy has no marks: use bump or stack for mark and rollback, or give "
                                  "blocks back one by one");
    }
    /// Everything allocated since is free again. Precondition: no earlier mark, and no reset, was returned to before.
    template <class Mark>
    void rollback(arena_mark<Mark> mark) noexcept
        requires markable<strategy_type>
    {
        if constexpr (regions_type::one_by_one) {
            if (mark.region != regions_.current_region()) regions_.use_region(mark.region);
        }
        if (regions_type::in_place && mark.region != model::position(regions_.space().regions[0].base)) {
            regions_.strategy().reset();  // nothing was allocated when that region was given up, or before there was one
        } else {
            regions_.strategy().rollback(mark.of_strategy);
        }
        if constexpr (checked) live_.clear_since(mark.count);
    }

    /// Gives the device back every region in which nothing is live, or the end of the one region that grows in place. A
    /// device that keeps regions (cached) gives back all that it keeps, too. Returns how many bytes.
    std::size_t trim() noexcept
        requires regions_type::can_trim
    {
        forget_freed();
        return regions_.trim();
    }

    /// Remembers which regions are held, for `shrink_to`.
    [[nodiscard]] auto held() const noexcept
        requires regions_type::can_trim
    {
        return regions_.space();
    }
    /// Gives the device back what was acquired since. Precondition: nothing lives there, and nothing was trimmed since.
    void shrink_to(const decltype(std::declval<const regions_type&>().space())& held) noexcept
        requires regions_type::can_trim
    {
        if (regions_.space().size() == held.size()) return;
        forget_freed();
        regions_.shrink_to(held);
    }

    /// Why `allocate` would refuse. Only the device knows whether an arena can grow: what it refused, it is taken to refuse
    /// again, and all that is larger and as aligned, until it gives as much, or `trim` gives something back.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept { return regions_.diagnose(wanted); }

    /// Bytes held from the device, over all regions.
    [[nodiscard]] std::size_t size() const noexcept { return regions_.space().size(); }

    /// The regions, in the order in which they are used; one that is not held is empty. A reference to an array of
    /// Growth::regions; but an array of one, where the region is not kept because the compiler knows it.
    [[nodiscard]] decltype(auto) regions() const noexcept {
        if constexpr (regions_type::embedded) return detail::known_region<region_type>{regions_.space().regions[0]};
        else return (regions_.space().regions);
    }

    [[nodiscard]] const Device& device() const noexcept { return regions_.device(); }
    [[nodiscard]] const strategy_type& strategy() const noexcept { return regions_.strategy(); }

private:
    static constexpr bool overwrites = Options.hardening == hardening::debug && where.host_pointers;

    /// The block as the strategy's arena knows it.
    [[nodiscard]] static decltype(auto) bare(const block_type& held) noexcept {
        if constexpr (checked) return typename space::block_type{held.address, held.size, held.metadata.of_strategy};
        else return (held);
    }
    [[nodiscard]] std::size_t capacity_of(allocation given) const noexcept {
        return static_cast<std::size_t>(regions_.strategy().capacity(given));
    }
    [[nodiscard]] bool resize_allocation(const block_type& held, std::size_t size) noexcept {
        return regions_.resize(regions_.space().allocation_for(bare(held)), static_cast<offset>(size));
    }

    static Device refused_device();  // not defined: its callers do not compile

    /// An extent of the one region as the strategy counts it; empty when it does not lie inside.
    [[nodiscard]] auto in_offsets(extent wanted) const noexcept {
        basic_extent<offset> inside;
        if (!extent{0, regions_.space().regions[0].size}.contains(wanted)) return inside;
        const std::size_t at = static_cast<std::size_t>(regions_.space().extent(0).offset) + wanted.offset;
        if (at <= space::last_offset && wanted.size <= space::last_offset)
            inside = {static_cast<offset>(at), static_cast<offset>(wanted.size)};
        return inside;
    }

    [[nodiscard]] block_type admit(allocation given) noexcept {
        if constexpr (checked || !regions_type::space_type::offset_is_pointer)  // otherwise its block is empty, too
            if (!given) return {};
        const typename space::block_type fresh = regions_.space().block_for(given, regions_.current_region());
        if constexpr (checked) return register_block(fresh, given);
        else return fresh;
    }

    // ── hardening ────────────────────────────────────────────────────────────────────────────────────────────────

    using plain_blocks = detail::live_blocks<block_type>;

    [[nodiscard]] block_type register_block(const typename space::block_type& plain, allocation given) noexcept {
        block_type fresh{plain.address, plain.size, {plain.metadata}};
        const std::size_t at = model::position(fresh.address), room = capacity_of(given);
        if (!live_.add(fresh, at, room)) {
            regions_.strategy().deallocate(given);
            return {};
        }
        if constexpr (overwrites) look_at_fresh(at, room, at, at + fresh.size);
        return fresh;
    }

    /// Whether a block may be given back; then it is not live any more.
    [[nodiscard]] bool is_freed([[maybe_unused]] const block_type& held) noexcept {
        if constexpr (checked) {
            const auto* const known = known_block(held);
            if (known == nullptr) return false;
            const allocation given = regions_.space().allocation_for(bare(held));
            if (!is_in_order(*known, given) || !is_sound(*known, given)) return false;
            live_.remove(*known);
            if constexpr (overwrites) overwrite(*known);
        }
        return true;
    }

    /// What is known of a live block; nullptr when it is none, which is reported.
    [[nodiscard]] auto known_block(const block_type& held) const noexcept {
        return live_.template check<OnMisuse>(held, model::position(held.address), owns(held));
    }

    template <class Known>
    static bool report(misuse what, const Known& known) noexcept {
        detail::report<OnMisuse>(what, known.position, known.held.size, known.history());
        return false;
    }

    template <class Known>
    [[nodiscard]] bool is_in_order([[maybe_unused]] const Known& known, [[maybe_unused]] allocation given) const noexcept {
        if constexpr (requires(const strategy_type strategy) { strategy.takes_back(given); })
            return regions_.strategy().takes_back(given) || report(misuse::out_of_order, known);
        else
            return true;
    }

    /// Whether the records in band around a block are as they were written.
    template <class Known>
    [[nodiscard]] bool is_sound([[maybe_unused]] const Known& known, [[maybe_unused]] allocation given) const noexcept {
        if constexpr (requires(const strategy_type strategy) { strategy.is_sound(given, given.where); }) {
            const auto as_known = [this](const auto& one) {
                return capacity_of(regions_.space().allocation_for(bare(one.held))) == one.capacity;
            };
            const auto* const above = live_.above(known);
            for (std::size_t i = 0; i != regions_type::space_type::capacity; ++i) {
                const auto inside = regions_.space().extent(i);
                if (!inside.contains(given.where)) continue;
                if (as_known(known) && (above == nullptr || as_known(*above)) &&
                    regions_.strategy().is_sound(given, inside))
                    return true;
            }
            return report(misuse::overwritten, known);
        } else {
            return true;
        }
    }

    // In band, a hole's record is in two words at its start, in its last word, and in the word in front of it.
    static constexpr std::size_t word = strategy_type::in_band ? sizeof(offset) : 0;

    /// Before some of it is elsewhere.
    void forget_freed() noexcept {
        if constexpr (overwrites) {
            live_.freed.template look_at_all<OnMisuse>();
            live_.freed.clear();
        }
    }
    template <class Known>
    void overwrite(const Known& known) noexcept {
        std::memset(known.held.address, detail::freed_bytes::value, known.held.size);
        const std::size_t end = known.position + known.held.size, last = known.position + known.capacity - word;
        live_.freed.add(known.position + 2 * word, end < last ? end : last, known.history());
    }
    /// A block begins at `at` and may use `room` bytes: those of [`from`, `to`) are compared.
    void look_at_fresh(std::size_t at, std::size_t room, std::size_t from, std::size_t to) noexcept {
        live_.freed.template take<OnMisuse>(at - 2 * word, at + room + 3 * word, from, to);
    }

    regions_type regions_;
    [[no_unique_address]] std::conditional_t<
        Options.hardening == hardening::debug,
        detail::debugged_blocks<block_type, OnMisuse, strategy_type::reclaims != reclaim::never>,
        std::conditional_t<checked, plain_blocks, nothing>> live_{};
};

}  // namespace v1
}  // namespace allot
