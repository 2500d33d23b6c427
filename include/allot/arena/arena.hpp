// SPDX-License-Identifier: BSL-1.0
// arena: an allocator that is made of a device, a strategy and a growth.
//
//     allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> scratch;
//     auto block = scratch.allocate({.size = 256, .align = 32});
//
//     layout ─► arena ─► strategy ─► extent ─► address model ─► block
//                 └────► device: a region, rarely
//
// The device provides regions, the strategy divides them, and the device's address model forms the address of a block.
// offset_space.hpp describes the mapping between regions and the strategy's offsets.
//
// When to use: in almost every case. An arena is the allocator that containers, storages and tensors use.
// When not to use: for memory whose consumers take no offset, or where every block is a region. Use naive there.
// Complexity: that of the strategy; a few instructions more with several regions.
// Memory: the strategy, the device, and 24 bytes for every region.
// Thread safety: that of the strategy: not synchronized, except with pool_store::atomic_bitmap.
//
// An arena is movable if its device is, and its blocks stay in place. Owners, containers and wrappers hold the arena's
// address: do not move it while one of them refers to it. A moved-from arena has no blocks and no regions. It can be
// destroyed, or used as a new arena if it grows and its device still provides memory (host::heap).
#pragma once

#include <allot/arena/detail/requirements.hpp>  // first, so that few lines precede its sentences

#include <allot/arena/detail/arena_records.hpp>
#include <allot/arena/detail/mark.hpp>
#include <allot/arena/detail/regions.hpp>
#include <allot/arena/misuse.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/options.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

template <class Strategy, class Growth>
struct use_policies;

/// Allocator over the regions of a device. `Options` sets the hardening and the alignment of regions; `OnMisuse` is the
/// type that handles misuses (misuse.hpp). `hardening::debug` needs <allot/arena/hardening.hpp>.
template <class Device, class Strategy, class Growth = growth::none<>, arena_options Options = arena_options{},
          class OnMisuse = abort_on_misuse>
class arena {
    static_assert(detail::arena_order<Device, Strategy>());  // first, so that it is reported first
    static constexpr memory_traits where = detail::region_traits<Device, Growth>(Options.align);
    static constexpr bool checked = Options.hardening != hardening::none;
    static constexpr bool debugs = Options.hardening == hardening::debug;
    using strategy_adapted = typename strategy_in<Strategy, where>::type;

public:
    using device_type = Device;  ///< The device.
    /// The strategy, adapted to the device and to the hardening.
    using strategy_type = typename detail::checked_strategy<strategy_adapted, where, checked && !debugs>::type;
    /// Whether a memory checker learns which bytes are free (docs/sanitizers.md).
    static constexpr bool annotated = Options.annotate && detail::sanitizer::is_on && where.host_pointers;

private:
    static_assert(is_alignment(Options.align), "allot: arena_options::align must be a power of two");
    static_assert(!concurrent<strategy_type> || Options.hardening == hardening::none,
                  "allot: the records of a hardened arena are not for concurrent calls: use hardening::none, or "
                  "synchronized<Arena, Lock> over a pool with another store");

    static constexpr bool seals = checked && !debugs && where.host_pointers && detail::sealable<strategy_type>;
    using regions_type =
        detail::arena_regions<Device, strategy_type, Growth, Options.align, annotated, seals ? detail::seal_bytes : 0>;
    using space = typename regions_type::space_type;
    using model = typename Device::address_model;
    using offset = typename strategy_type::offset_type;
    using allocation = allocation_of<strategy_type>;

    static constexpr bool one_region = regions_type::one_region;
    static constexpr bool numbers = !std::same_as<strategy_type, strategy_adapted>;  // the strategy assigns them
    static constexpr bool has_slots = numbers || (checked && !debugs && one_region && detail::slotted<strategy_type>);

    using records_mark = std::conditional_t<checked, detail::records_mark, detail::no_records_mark>;
    struct nothing {};

public:
    using address_model = model;                      ///< Address model of the device.
    using region_type = typename space::region_type;  ///< Region of the device.
    /// Metadata of a block.
    using metadata_type = std::conditional_t<checked && !numbers, hardened_metadata<typename space::metadata_type>,
                                             typename space::metadata_type>;
    using block_type = block<typename model::address, metadata_type>;  ///< Result of an allocation.
    static constexpr bool host_accessible = Device::host_accessible;   ///< Whether the host may access the memory.
    static constexpr offset_use offsets = Device::offsets;             ///< How consumers of the memory use offsets.
    static constexpr dl_device_type dl_device = Device::dl_device;     ///< Device type for DLPack.
    static constexpr reclaim reclaims = strategy_type::reclaims;       ///< Order in which blocks can be freed.

    /// Acquires the whole window of a device that has one. An arena that grows acquires nothing before the first
    /// request.
    arena() noexcept
        requires std::default_initializable<Device>
    {
        regions_.acquire_window();
    }
    /// Moves the device in. Acquires the same memory as the default constructor.
    explicit arena(Device device) noexcept : regions_{std::move(device)} {
        static_assert(detail::moves_into_arena<Device>());
        regions_.acquire_window();
    }

    /// Acquires a first region of at least `size` bytes. If the device fails, the arena has no region, and `diagnose`
    /// returns the device's error. A size above the growth's limit, or unsuited to the strategy, acquires nothing, and
    /// neither does 0 if the arena grows.
    arena(Device device, std::size_t size) noexcept : regions_{std::move(device)} {
        static_assert(detail::moves_into_arena<Device>());
        regions_.acquire_first(size);
    }

    /// Deduces the strategy and the growth from the last argument (deduction.hpp).
    arena(Device device, use_policies<Strategy, Growth>) noexcept : arena{std::move(device)} {
        static_assert(detail::moves_into_arena<Device>());
    }
    /// Deduces the strategy and the growth from the last argument (deduction.hpp).
    arena(Device device, std::size_t size, use_policies<Strategy, Growth>) noexcept : arena{std::move(device), size} {}

    // The following constructors report a missing device at compile time.
    template <std::integral Size>
        requires(!std::convertible_to<Size, Device>)
    explicit arena(Size) : arena{refused_device()} {
        static_assert(!sizeof(Size),
                      "allot: an arena is made with a device, before any size: arena{{}, size} for a device "
                      "without arguments, arena{device} for one that knows its own");
    }
    /// Does not compile: the device has no default, and none is passed.
    template <class D = Device>
        requires(!std::default_initializable<D>)
    arena(nothing = {}) : arena{refused_device()} {  // {} and {{}}
        detail::refuse_empty_braces<D>();
    }
    /// Does not compile: the device has no default, and none is passed.
    template <class D = Device>
        requires(!std::default_initializable<D>)
    arena(nothing, std::size_t size) : arena{refused_device(), size} {  // {{}, size}
        detail::refuse_empty_braces<D>();
    }

    /// Moves the device, the regions and the strategy. Blocks stay in place.
    arena(arena&&) noexcept = default;
    arena& operator=(arena&&) = delete;  // live blocks would lose their memory: use std::optional and emplace

    /// Allocates a block, after growth if necessary. Returns an empty block on failure; `diagnose` returns the reason.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        if constexpr (checked && !debugs && markable<strategy_type>) {
            return live_.reserve() ? admit(regions_.allocate(wanted)) : block_type{};
        } else if constexpr (debugs && markable<strategy_type>) {
            const auto before = mark();
            const allocation given = regions_.allocate(wanted);
            const block_type fresh = admit(given);
            if (given && !fresh) rollback(before);
            return fresh;
        } else {
            return admit(regions_.allocate(wanted));
        }
    }

    /// Frees a block. Precondition: the block is empty or is an unchanged result of this arena that is not yet freed.
    void deallocate(block_type held) noexcept {
        if constexpr (checked) {
            if constexpr (seals) {
                offset record = 0;
                if (!live_.free_at_once(regions_, held, record))
                    return free_after_search(held.address, held.size, held.metadata);
                if constexpr (!annotated)
                    return regions_.strategy().deallocate_between_blocks(regions_.space().allocation_for(bare(held)),
                                                                         record);
            } else if (!live_.free_at_once(regions_, held)) {
                return free_after_search(held.address, held.size, held.metadata);
            }
        } else if (!held) {
            return;
        }
        if constexpr (annotated) regions_.deallocate(bare(held));
        else regions_.strategy().deallocate(regions_.space().allocation_for(bare(held)));
    }

    /// Allocates exactly these bytes, at an offset from the region's base. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires one_region && positional<strategy_type>
    {
        wanted.size = regions_type::with_own(wanted.size);
        const auto bytes = regions_.space().in_offsets(wanted);
        return bytes ? admit(regions_.strategy().allocate_at(bytes)) : block_type{};
    }

    /// Returns the reason for which `allocate_at(wanted)` would fail.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) const noexcept
        requires one_region && positional<strategy_type>
    {
        if (!wanted) return {refusal::empty_layout};
        wanted.size = regions_type::with_own(wanted.size);
        const auto bytes = regions_.space().in_offsets(wanted);
        return bytes ? regions_.strategy().diagnose_at(bytes) : diagnosis{refusal::not_free};
    }

    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure. A region that grows
    /// in place is extended for its last block.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable<strategy_type>
    {
        if (!held || size > space::last_offset) return false;
        if constexpr (checked) {
            if (!live_.resize(regions_, held, size, [&] { return resize_allocation(held, size); })) return false;
        } else {
            if (!resize_allocation(held, size)) return false;
        }
        held.size = size;
        return true;
    }

    /// Returns the usable bytes of a block: at least its size; 0 for an empty block, or a misused one in a hardened
    /// arena.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept {
        if (!held) return 0;
        if constexpr (checked) {
            if (!check(held)) return 0;
        }
        return regions_.capacity(bare(held));
    }

    /// Returns true if exactly this block is live. Otherwise reports the misuse.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires checked
    {
        return live_.check(regions_, held);
    }
    /// Returns true if exactly this block is live. Reports nothing. O(1) on average, and with `debug` O(log live). With
    /// records in band, O(blocks) for a block that is not live, except a copy of the one that was freed last.
    [[nodiscard]] bool is_live(block_type held) const noexcept
        requires checked
    {
        return live_.known(regions_, held);
    }

    /// Returns true if the block is inside a region of this arena, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept { return held && regions_.space().contains(bare(held)); }

    /// Frees every block and keeps the regions.
    void reset() noexcept
        requires resettable<strategy_type>
    {
        regions_.reset();
        if constexpr (checked) live_.clear();
    }

    /// Returns a mark for `rollback`. Keep it in a variable of type `auto`.
    [[nodiscard]] auto mark() const noexcept
        requires markable<strategy_type>
    {
        detail::arena_mark<decltype(regions_.strategy().mark()), records_mark> here{regions_.strategy().mark()};
        if constexpr (regions_type::one_by_one) here.region = regions_.current_region();
        if constexpr (regions_type::in_place) here.region = model::position(regions_.space().regions[0].base);
        if constexpr (checked) here.of_records = live_.mark();
        return here;
    }
    template <class S = strategy_type>
        requires(!markable<S>)
    void mark() const noexcept {
        static_assert(!sizeof(S),
                      "allot: this strategy has no marks: use bump, stack or ring for mark and "
                      "rollback, or free blocks one by one");
    }
    /// Frees every block that was allocated since the mark. Precondition: the mark is from this arena, and neither
    /// `reset` nor `rollback` to an earlier mark was called since. Over a stack or a ring, no block that is older than
    /// the mark was freed since. Returns true. A hardened arena returns false and changes nothing if it reports the
    /// mark.
    template <class Mark>
    bool rollback(detail::arena_mark<Mark, records_mark> mark) noexcept
        requires markable<strategy_type>
    {
        if constexpr (checked) {
            if (!live_.check(mark.of_records)) return false;
        }
        regions_.rollback(mark.of_strategy, mark.region);
        if constexpr (checked) live_.rollback(mark.of_records);
        return true;
    }

    /// Releases every region without a live block, or the free end of the region that grows in place. A device that
    /// keeps regions (cached) releases all of them as well. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires regions_type::can_trim
    {
        forget_released();
        return regions_.trim();
    }

    /// Returns the regions that are held now, for `shrink_to`.
    [[nodiscard]] auto held() const noexcept
        requires regions_type::can_trim
    {
        return regions_.space();
    }
    /// Releases the memory that was acquired since `held()`. Precondition: it has no live block, and `trim` was not
    /// called since.
    void shrink_to(const decltype(std::declval<const regions_type&>().space())& held) noexcept
        requires regions_type::can_trim
    {
        if (regions_.space().size() == held.size()) return;
        forget_released();
        regions_.shrink_to(held);
    }

    /// Returns the reason for which `allocate(wanted)` would fail. Does not call the device: after a failed request to
    /// the device, every request of at least that size and alignment counts as failing, until the device provides as
    /// much memory or `trim` releases some.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept { return regions_.diagnose(wanted); }

    /// Calls `f(address, size)` for every hole. The size is the number of bytes that one request can get from the hole.
    template <class Function>
    void for_each_hole(Function f) const noexcept
        requires hole_walkable<strategy_type>
    {
        regions_.for_each_hole(f);
    }
    /// Calls `f(address, size)` for every live block. The size is the usable size. It is the requested size with
    /// `hardening::debug`, and with `hardening::checked` over a strategy that does not list its blocks.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires(checked || block_walkable<strategy_type>)
    {
        if constexpr (debugs) live_.for_each([&](const auto& known) { f(known.held.address, known.held.size); });
        else if constexpr (has_slots && records::lists) live_.for_each_block(regions_, f);
        else if constexpr (checked && records::lists) live_.for_each_block(f);
        else regions_.for_each_block(f);
    }

    /// Returns true if the arena holds a region or can grow. Returns false if the device refused the only region, or if
    /// the strategy cannot manage a region of its size.
    [[nodiscard]] explicit operator bool() const noexcept { return regions_type::grows || size() != 0; }

    /// Returns the number of bytes in all regions.
    [[nodiscard]] std::size_t size() const noexcept { return regions_.space().size(); }

    /// Returns the regions in the order of their use; a region that is not held is empty. The result is a reference to
    /// an array of `Growth::regions`, or a range of one region by value if the region is a constant that is not stored.
    [[nodiscard]] decltype(auto) regions() const noexcept {
        if constexpr (regions_type::embedded) return detail::known_region<region_type>{regions_.space().regions[0]};
        else return (regions_.space().regions);
    }

    /// Returns the device.
    [[nodiscard]] const Device& device() const noexcept { return regions_.device(); }
    /// Returns the strategy.
    [[nodiscard]] const strategy_type& strategy() const noexcept { return regions_.strategy(); }

private:
    friend struct detail::arena_access;
    static constexpr bool overwrites = debugs && where.host_pointers;
    static constexpr detail::arena_checking checking{checked, debugs, overwrites, seals, has_slots, numbers};
    using records = detail::arena_records<checking, regions_type, strategy_type, block_type, model, OnMisuse>;
    /// Returns the block without the hardening's number.
    [[nodiscard]] static decltype(auto) bare(const block_type& held) noexcept {
        if constexpr (checked && !numbers) return detail::bare_block<typename space::block_type>(held);
        else return (held);
    }
    [[nodiscard]] bool resize_allocation(const block_type& held, std::size_t size) noexcept {
        return regions_.resize(bare(held), size);
    }
    /// States that a region may go back to the device.
    void forget_released() noexcept {
        if constexpr (overwrites) live_.forget_freed();
        if constexpr (seals) live_.forget_regions();
    }
    static Device refused_device();  // not defined, because its callers do not compile
    [[nodiscard]] block_type admit(allocation given) noexcept {
        if constexpr (checked || !regions_type::space_type::offset_is_pointer)  // otherwise its block is empty as well
            if (!given) return {};
        const typename space::block_type fresh = regions_.block_for(given);
        if constexpr (checked && !numbers) return register_block(fresh, given);
        else return fresh;
    }
    [[nodiscard]] block_type register_block(const typename space::block_type& plain, allocation given) noexcept {
        block_type fresh{plain.address, plain.size, {plain.metadata}};
        if (!live_.admit_at_once(regions_, fresh, given)) [[unlikely]] {
            fresh.metadata.number = register_after_search(plain, given);
            if (fresh.metadata.number == 0) return {};
        }
        return fresh;
    }
    /// Returns the number of a fresh block. Frees the block and returns 0 if the heap has no memory for its record.
    [[nodiscard]] ALLOT_NOINLINE std::uint32_t register_after_search(const typename space::block_type plain,
                                                                     allocation given) noexcept {
        block_type fresh{plain.address, plain.size, {plain.metadata}};
        if (live_.admit(regions_, fresh, given)) return fresh.metadata.number;
        if constexpr (annotated) regions_.deallocate(plain);
        else regions_.strategy().deallocate(given);
        return 0;
    }
    ALLOT_NOINLINE void free_after_search(decltype(block_type::address) address, std::size_t size,
                                          metadata_type metadata) noexcept {
        const block_type held{address, size, metadata};
        if (!held || !live_.free(regions_, held)) return;
        if constexpr (annotated) regions_.deallocate(bare(held));
        else regions_.strategy().deallocate(regions_.space().allocation_for(bare(held)));
    }
    regions_type regions_;
    ALLOT_NO_UNIQUE_ADDRESS typename records::type live_{};
};

}  // namespace v1
}  // namespace allot
