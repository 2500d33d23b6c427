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
// 24 bytes a region. Not synchronised.
#pragma once

#include <allot/arena_requirements.hpp>
#include <allot/core/allocator.hpp>
#include <allot/hardening.hpp>
#include <allot/offset_space.hpp>

#include <cstring>
#include <utility>

namespace allot::inline v1 {

struct arena_options {
    allot::hardening hardening = allot::hardening::none;
    std::size_t align = 1;  // what every region's base is asked to be aligned to, at least
};

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
    static constexpr memory_traits where{
        .host_pointers = requires { requires Device::host_accessible; } &&
                         requires { requires std::same_as<typename Device::address_model, raw_pointer>; },
        .grows = requires { requires Growth::regions > 1; }};

public:
    using device_type = Device;
    using strategy_type = typename strategy_in<Strategy, where>::type;

private:
    static_assert(arena_requirements<Device, strategy_type, Growth>());
    static_assert(is_alignment(Options.align), "allot: arena_options::align is a power of two");

    using space = offset_space<Device, strategy_type, Growth>;
    using model = typename Device::address_model;
    using offset = typename strategy_type::offset_type;
    using grant = grant_of<strategy_type>;

    static constexpr bool one_region = space::order == region_order::one_region;
    static constexpr bool one_by_one = space::order == region_order::one_by_one;
    static constexpr bool in_place = requires { requires Growth::in_place; };
    static constexpr bool checked = Options.hardening != hardening::none;

    template <int>
    struct nothing {};
    struct growth_state {
        std::size_t base_align = 0;              // of every base, where only the device knows it
        std::size_t current = Growth::regions;   // the region in use, where they are used one by one
    };

public:
    using address_model = model;
    using region_type = typename space::region_type;
    using ticket_type = typename space::ticket_type;
    using block_type = typename space::block_type;
    static constexpr bool host_accessible = Device::host_accessible;
    static constexpr offset_use offsets = Device::offsets;
    static constexpr dl_device_type dl_device = Device::dl_device;

    /// Over a device with a window, the arena takes all of it; an arena that grows acquires nothing before it is needed.
    arena() noexcept
        requires std::default_initializable<Device>
    {
        acquire_window();
    }
    explicit arena(Device device) noexcept : device_{std::move(device)} { acquire_window(); }

    /// Acquires a first region of at least `size` bytes at once. When the device refuses, the arena holds nothing, and
    /// `diagnose` has the device's code.
    arena(Device device, std::size_t size) noexcept : device_{std::move(device)} {
        static_cast<void>(acquire({size, Options.align}));
    }

    arena(arena&& other) noexcept
        : device_{std::move(other.device_)},
          strategy_{std::exchange(other.strategy_, strategy_type{})},
          refused_with_{other.refused_with_},
          growth_{std::exchange(other.growth_, {})},
          space_{std::exchange(other.space_, {})},
          live_{std::move(other.live_)} {}
    arena& operator=(arena&&) = delete;

    ~arena() {
        if constexpr (Options.hardening == hardening::debug) {
            live_.for_each([](const block_type& held, std::size_t position) {
                OnMisuse{}(misuse::leaked, position, held.size);
            });
        }
        for (const region_type& held : space_.regions) {
            if (held) device_.release(held);
        }
    }

    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        if (!is_honoured(wanted.align)) return {};
        grant given = ask(wanted);
        if constexpr (!one_region || in_place) {
            if (!given && grow_for(wanted)) given = ask(wanted);
        }
        return admit(given);
    }

    /// Takes a block back, as it was handed out. An empty block is fine.
    void deallocate(block_type held) noexcept {
        if (!held || !is_live(held)) return;
        if constexpr (checked) live_.remove(held, model::position(held.address));
        if constexpr (Options.hardening == hardening::debug && where.host_pointers)
            std::memset(held.address, freed_byte, held.size);
        strategy_.deallocate(space_.grant_for(held));
    }

    /// Gives exactly these bytes, counted from the region's base, if they are free.
    [[nodiscard]] block_type claim(extent wanted) noexcept
        requires one_region && claimable<strategy_type>
    {
        const auto bytes = in_offsets(wanted);
        return bytes ? admit(strategy_.claim(bytes)) : block_type{};
    }

    /// Why `claim` would refuse.
    [[nodiscard]] diagnosis diagnose_claim(extent wanted) const noexcept
        requires one_region && claimable<strategy_type>
    {
        if (!wanted) return {refusal::empty_layout};
        const auto bytes = in_offsets(wanted);
        return bytes ? strategy_.diagnose_claim(bytes) : diagnosis{refusal::not_free};
    }

    /// Grows or shrinks a block where it stands; false, and nothing changed, when it cannot.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable<strategy_type>
    {
        if (!held || size > space::last_offset || !is_live(held)) return false;
        if (!strategy_.resize(space_.grant_for(held), static_cast<offset>(size))) return false;
        if constexpr (checked) live_.resize(held, model::position(held.address), size);
        held.size = size;
        return true;
    }

    /// What the holder of a block may use, in bytes: at least its size.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept {
        return held ? static_cast<std::size_t>(strategy_.capacity(space_.grant_for(held))) : 0;
    }

    /// True when the block lies in a region of this arena, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept {
        return held && space_.contains(held);
    }

    /// Forgets every block at once and keeps the regions.
    void reset() noexcept
        requires resettable<strategy_type>
    {
        if constexpr (one_by_one) {
            use_region(Growth::regions);  // none: the next request starts with the first
        } else {
            strategy_.reset();
        }
        if constexpr (checked) live_.clear();
    }

    /// Remembers what is allocated now, for `rollback`.
    [[nodiscard]] auto mark() const noexcept
        requires markable<strategy_type>
    {
        arena_mark<decltype(strategy_.mark())> here{strategy_.mark()};
        if constexpr (one_by_one) here.region = growth_.current;
        if constexpr (in_place) here.region = model::position(space_.regions[0].base);
        if constexpr (checked) here.count = live_.count();
        return here;
    }
    /// Everything allocated since is free again. Precondition: no earlier mark, and no reset, was returned to before.
    template <class Mark>
    void rollback(arena_mark<Mark> mark) noexcept
        requires markable<strategy_type>
    {
        if constexpr (one_by_one) {
            if (mark.region != growth_.current) use_region(mark.region);
        }
        if (in_place && mark.region != model::position(space_.regions[0].base)) {
            strategy_.reset();  // nothing was allocated when that region was given up, or before there was one
        } else {
            strategy_.rollback(mark.of_strategy);
        }
        if constexpr (checked) live_.clear_since(mark.count);
    }

    /// Gives the device back every region in which nothing is live, or the end of the one region that grows in place.
    /// Returns how many bytes.
    std::size_t trim() noexcept
        requires(in_place || one_by_one || (!one_region && removable<strategy_type>))
    {
        if constexpr (in_place) {
            return trim_end();
        } else {
            std::size_t released = 0;
            for (std::size_t i = 0; i != Growth::regions; ++i) {
                region_type& held = space_.regions[i];
                if (!held || !give_up(i)) continue;
                released += held.size;
                device_.release(std::exchange(held, {}));
            }
            return released;
        }
    }

    /// Why `allocate` would refuse. An arena that would have to grow says what its device answered last.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        if (const refusal why = invalidity(wanted); why != refusal::none) return {why};
        if (one_region && !in_place && !space_.regions[0]) {
            const long code = static_cast<long>(refused_with_);  // 0 when the region was too small to be cut at all
            return {code != 0 ? refusal::device_refused : refusal::exhausted, 0, code};
        }
        if (!is_honoured(wanted.align)) return {refusal::misaligned};
        if (wanted.size > space::last_offset) return {refusal::over_limit};
        diagnosis answer = why_not(wanted);
        if ((one_region && !in_place) || answer.why == refusal::none) return answer;
        if constexpr (one_by_one) {
            if (spare_region_for(wanted) != Growth::regions) return {refusal::none, answer.largest_hole};
        }
        if (is_out_of_records(wanted)) {
            answer.why = refusal::out_of_records;
        } else if (growth_for(wanted).size == 0) {
            answer.why = refusal::over_limit;
        } else if (static_cast<long>(refused_with_) != 0) {
            answer.why = refusal::device_refused;
            answer.device_error = static_cast<long>(refused_with_);
        } else {
            answer.why = refusal::none;
        }
        return answer;
    }

    /// Bytes held from the device, over all regions.
    [[nodiscard]] std::size_t size() const noexcept { return space_.size(); }

    /// The regions, in the order in which they are used; one that is not held is empty.
    [[nodiscard]] const region_type (&regions() const noexcept)[Growth::regions] { return space_.regions; }

    [[nodiscard]] const Device& device() const noexcept { return device_; }
    [[nodiscard]] const strategy_type& strategy() const noexcept { return strategy_; }

private:
    static constexpr int freed_byte = 0xDD;

    [[nodiscard]] grant ask(layout wanted) noexcept {
        if constexpr (sizeof(offset) < sizeof(std::size_t)) {
            if (wanted.size > space::last_offset || wanted.align > space::last_offset) return {};
        }
        return strategy_.allocate({static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
    }

    /// An extent of the one region as the strategy counts it; empty when it does not lie inside.
    [[nodiscard]] auto in_offsets(extent wanted) const noexcept {
        basic_extent<offset> inside;
        if (!extent{0, space_.regions[0].size}.contains(wanted)) return inside;
        const std::size_t at = static_cast<std::size_t>(space_.extent(0).offset) + wanted.offset;
        if (at <= space::last_offset && wanted.size <= space::last_offset)
            inside = {static_cast<offset>(at), static_cast<offset>(wanted.size)};
        return inside;
    }

    [[nodiscard]] diagnosis why_not(layout wanted) const noexcept {
        return strategy_.diagnose({static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
    }

    /// True when no region would help, because the strategy could not keep records of it.
    [[nodiscard]] bool is_out_of_records(layout wanted) const noexcept {
        if constexpr (strategy_type::several_extents) {
            if (!strategy_.can_insert()) return true;
        }
        return why_not(wanted).why == refusal::out_of_records;
    }

    /// The one place where an alignment that the base cannot honour is refused. Where positions are addresses, any can
    /// be: the strategy skips to it. A segment's offsets are its addresses modulo half a segment, and no further.
    [[nodiscard]] bool is_honoured(std::size_t align) const noexcept {
        if constexpr (model::absolute) {
            return space::order != region_order::segments || align - 1 <= space::largest_region;
        } else if constexpr (one_region) {
            return align <= Device::min_align || align <= space_.regions[0].align || (in_place && !space_.regions[0]);
        } else {
            return align <= Device::min_align || growth_.base_align == 0 || align <= growth_.base_align;
        }
    }

    [[nodiscard]] block_type admit(grant given) noexcept {
        if (!given) return {};
        const block_type fresh = space_.block_for(given, current_region());
        if constexpr (checked) {
            if (!live_.add(fresh, model::position(fresh.address))) {
                strategy_.deallocate(given);
                return {};
            }
        }
        return fresh;
    }

    [[nodiscard]] bool is_live(const block_type& held) const noexcept {
        if constexpr (checked)
            return live_.template check<OnMisuse>(held, model::position(held.address), owns(held));
        else
            return true;
    }

    // ── acquiring ────────────────────────────────────────────────────────────────────────────────────────────────

    void acquire_window() noexcept {
        static_assert(!one_region || in_place || bounded_device<Device>,
                      "allot: this device has no fixed capacity: make the arena with a device and a size in bytes");
        if constexpr (one_region && !in_place) static_cast<void>(acquire({1, Options.align}));
    }

    /// A region for the strategy in a free slot; false, and nothing changed, when there is none to be had.
    [[nodiscard]] bool acquire(layout wanted) noexcept {
        const std::size_t slot = space_.free_region();
        if (slot == Growth::regions) return false;
        if (wanted.align < Device::min_align) wanted.align = Device::min_align;
        if constexpr (!one_region) {
            if (wanted.align < growth_.base_align) wanted.align = growth_.base_align;
        }
        if (!checked_align_up(wanted.size, Device::granularity, wanted.size)) return false;
        const acquired<Device> answer = device_.acquire(wanted);
        if (!answer) {
            refused_with_ = answer.error();
            return false;
        }
        refused_with_ = {};
        space_.regions[slot] = *answer;
        if (!start_using(slot)) {
            device_.release(std::exchange(space_.regions[slot], {}));
            return false;
        }
        if constexpr (!one_region && !model::absolute) {
            if (growth_.base_align == 0) growth_.base_align = answer->align;
        }
        return true;
    }

    [[nodiscard]] bool start_using(std::size_t slot) noexcept {
        if constexpr (one_by_one) {
            use_next(slot);
            return true;
        } else {
            return strategy_.insert(space_.extent(slot), {});
        }
    }

    /// A region that the request is sure to fit, at least as large as asked for; size 0 when there is none.
    [[nodiscard]] static constexpr layout region_for(layout wanted) noexcept {
        if (!wanted.is_valid() || wanted.size > space::last_offset) return {0, 1};
        // A base aligned to what records in band need too, so that `bytes_for` holds.
        if (strategy_type::in_band && wanted.align < alignof(std::max_align_t)) wanted.align = alignof(std::max_align_t);
        const auto need = static_cast<std::size_t>(
            strategy_type::bytes_for(1, {static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)}));
        return {need <= space::largest_region ? need : 0, wanted.align};
    }

    /// What to acquire, or to grow by, so that the request fits; size 0 when a limit forbids it.
    [[nodiscard]] layout growth_for(layout wanted) const noexcept {
        layout more = region_for(wanted);
        const std::size_t held = size();
        std::size_t left = held < Growth::limit ? align_down(Growth::limit - held, Device::granularity) : 0;
        if constexpr (in_place) {
            // The new bytes begin wherever the region ends, and where positions are addresses the first may, too: the
            // alignment is reached by skipping.
            if (more.size != 0 && (model::absolute || held != 0)) {
                if (!checked_add(more.size, more.align, more.size)) return {0, 1};
                if (more.align > Device::min_align) more.align = Device::min_align;
            }
            const std::size_t reach = align_down(space::largest_region, Device::granularity);
            if (left > reach - held) left = reach - held;
        } else if (space_.free_region() == Growth::regions) {
            return {0, 1};
        }
        if (more.size == 0 || more.size > left) return {0, 1};
        const std::size_t next = Growth::next(held);
        if (more.size < next) more.size = next < left ? next : left;
        if (more.align < Options.align) more.align = Options.align;
        return more;
    }

    [[nodiscard]] bool grow_for(layout wanted) noexcept {
        if (is_out_of_records(wanted)) return false;  // more memory would not help
        if constexpr (one_by_one) {
            if (const std::size_t spare = spare_region_for(wanted); spare != Growth::regions) {
                use_next(spare);
                return true;
            }
        }
        const layout more = growth_for(wanted);
        if (more.size == 0) return false;
        if constexpr (in_place) {
            if (space_.regions[0]) return extend(align_up(more.size, Device::granularity));
        }
        return acquire(more);
    }

    // ── one region that grows in place ───────────────────────────────────────────────────────────────────────────

    /// Moves the region's end up; false, and nothing changed, when the device or the strategy refuses.
    [[nodiscard]] bool extend(std::size_t more) noexcept {
        region_type& held = space_.regions[0];
        const auto had = space_.extent(0);
        const acquired<Device> answer = device_.resize(held, held.size + more);
        if (!answer) {
            refused_with_ = answer.error();
            return false;
        }
        refused_with_ = {};
        const region_type before = std::exchange(held, *answer);
        if (strategy_.resize_extent(had, space_.extent(0).size)) return true;
        if (const acquired<Device> undone = device_.resize(held, before.size)) held = *undone;
        return false;
    }

    /// Moves the region's end down to the last block, or gives up a region without one. Returns how many bytes.
    std::size_t trim_end() noexcept {
        region_type& held = space_.regions[0];
        if (!held) return 0;
        const auto had = space_.extent(0);
        const auto least = align_up(static_cast<std::size_t>(strategy_.least_size(had)), Device::granularity);
        const region_type before = held;
        if (least == 0) {
            strategy_ = strategy_type{};
            device_.release(std::exchange(held, {}));
            return before.size;
        }
        if (least >= held.size || !strategy_.resize_extent(had, static_cast<offset>(least))) return 0;
        const acquired<Device> answer = device_.resize(held, least);
        if (!answer) {
            held.size = least;  // as the strategy has it, until it grows again
            static_cast<void>(strategy_.resize_extent(space_.extent(0), static_cast<offset>(before.size)));
            held = before;
            return 0;
        }
        held = *answer;
        return before.size - held.size;
    }

    // ── one region after the other ───────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] std::size_t current_region() const noexcept {
        if constexpr (one_by_one) return growth_.current;
        return 0;
    }

    /// A region after the one in use that the request fits, left from before a reset or rollback.
    [[nodiscard]] std::size_t spare_region_for(layout wanted) const noexcept {
        const layout needed = region_for(wanted);
        std::size_t spare = needed.size == 0 ? Growth::regions : next_region();
        while (spare != Growth::regions &&
               (space_.regions[spare].size < needed.size || space_.regions[spare].align < needed.align))
            ++spare;
        return spare;
    }

    [[nodiscard]] std::size_t next_region() const noexcept {
        return growth_.current == Growth::regions ? 0 : growth_.current + 1;
    }

    /// Goes on in a spare region. Those that it overtakes stay behind it, spare still.
    void use_next(std::size_t spare) noexcept {
        const std::size_t next = next_region();
        std::swap(space_.regions[spare], space_.regions[next]);
        use_region(next);
    }

    void use_region(std::size_t index) noexcept {
        growth_.current = index;
        strategy_ = strategy_type{};
        if (index < Growth::regions && space_.regions[index])
            static_cast<void>(strategy_.insert(space_.extent(index), {}));
    }

    /// Takes a region out of use; false when something in it is live.
    [[nodiscard]] bool give_up(std::size_t index) noexcept {
        if constexpr (one_by_one) {
            return growth_.current == Growth::regions || index > growth_.current;
        } else {
            return strategy_.remove(space_.extent(index));
        }
    }

    [[no_unique_address]] Device device_{};
    strategy_type strategy_{};
    [[no_unique_address]] typename Device::error refused_with_{};
    [[no_unique_address]] std::conditional_t<one_region, nothing<0>, growth_state> growth_{};
    space space_{};
    [[no_unique_address]] std::conditional_t<checked, live_blocks<block_type>, nothing<1>> live_{};
};

}  // namespace allot::inline v1
