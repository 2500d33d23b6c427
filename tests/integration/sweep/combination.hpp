// Implements `machine` for one combination of options.
#pragma once

#include "machine.hpp"

#include <allot/address/handle_offset.hpp>
#include <allot/address/pointer_table.hpp>
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/compose/fallback.hpp>
#include <allot/compose/paged.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/host/pages.hpp>
#include <allot/host/tightly_coupled.hpp>
#include <allot/host/virtual_memory.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sys/mman.h>

namespace sweep {

using namespace allot;

struct count_misuse {
    void operator()(misuse, std::size_t, std::size_t) const noexcept { ++misuses; }
};

// ── test devices ─────────────────────────────────────────────────────────────────────────────────────────────────────

/// Buffers whose handle is a number.
struct handles {
    using address_model = handle_offset<std::uintptr_t>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = offset_use::carried;
    static constexpr std::size_t min_align = 64, granularity = 4;
    static constexpr auto dl_device = dl_device_type::opencl;

    acquired<handles> acquire(layout wanted) noexcept {
        if (wanted.size > most || wanted.align > 4096) return acquired<handles>::failure(7);
        return region_of<handles>{{++given(), 0}, wanted.size, wanted.align < 64 ? 64 : wanted.align};
    }
    void release(region_of<handles>) noexcept {}

    static constexpr std::size_t most = std::size_t{1} << 22;
    static std::uintptr_t& given() {
        static std::uintptr_t count = 0;
        return count;
    }
};

/// Addresses that the host must not access. An access ends the program.
struct untouchable {
    using address_model = raw_pointer;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 1, granularity = 1;
    static constexpr auto dl_device = dl_device_type::cuda;

    static constexpr std::size_t in_front = 8;  // bytes before a base, so that the base is not a page's
    acquired<untouchable> acquire(layout wanted) noexcept {
        if (wanted.size > handles::most || wanted.align > 4096) return acquired<untouchable>::failure(7);
        const std::size_t lead = wanted.align > in_front ? 0 : in_front;
        void* const base = ::mmap(nullptr, wanted.size + in_front, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED) return acquired<untouchable>::failure(8);
        return region<void*>{raw_pointer::locate(base, lead), wanted.size, lead == 0 ? 4096 : in_front};
    }
    void release(region<void*> held) noexcept {
        const std::size_t lead = raw_pointer::position(held.base) % 4096;
        ::munmap(static_cast<std::byte*>(held.base) - lead, held.size + in_front);
    }
};

/// Memory below a device.
template <class Device, std::size_t Size>
struct ground {
    static constexpr bool is_window = false;
    Device device() { return Device{}; }
};
template <std::size_t Bytes, std::size_t Align, std::size_t Size>
struct ground<host::static_storage<Bytes, Align>, Size> {
    static constexpr bool is_window = true;
};
template <class Device, std::size_t Size>
struct window_ground {
    static constexpr bool is_window = true;
    alignas(4096) std::byte bytes[Size + 24];
    Device device() { return Device{bytes + 3, Size}; }  // the worst alignment
};
template <std::size_t Size>
struct ground<host::buffer, Size> : window_ground<host::buffer, Size> {};
template <std::size_t Size>
struct ground<host::tightly_coupled, Size> : window_ground<host::tightly_coupled, Size> {};
template <std::size_t Size>
struct ground<host::virtual_memory, Size> {
    static constexpr bool is_window = false;
    host::virtual_memory device() { return host::virtual_memory{Size * 3}; }
};

// ── compositions of arenas ───────────────────────────────────────────────────────────────────────────────────────────

enum class made { alone, fallback, synchronized, paged, bare };
constexpr std::size_t row_bytes = 40;

using tables_type = arena<host::heap, best_fit<>>;

template <class Arena, made How>
struct composed {
    using type = Arena&;
    static type of(Arena& first, Arena*, tables_type*) { return first; }
};
template <class Arena>
struct composed<Arena, made::fallback> {
    using type = fallback<Arena&, Arena&>;
    static type of(Arena& first, Arena* second, tables_type*) { return type{first, *second}; }
};
template <class Arena>
struct composed<Arena, made::synchronized> {
    using type = synchronized<Arena&, no_lock>;
    static type of(Arena& first, Arena*, tables_type*) { return type{first}; }
};
template <class Arena>
struct composed<Arena, made::paged> {
    using model = typename Arena::address_model;
    using entry = std::conditional_t<model::absolute, row_pointer, row_offset<std::uint32_t>>;
    using type = paged<Arena&, tables_type&, pointer_table<row_bytes, entry, model>>;
    static type of(Arena& first, Arena*, tables_type* tables) {
        if constexpr (model::absolute) return type{first, *tables};
        else return type{first, *tables, first.regions()[0].base};
    }
};

template <class Arena>
struct no_marks {
    using type = int;
};
template <class Arena>
    requires markable<typename Arena::strategy_type>
struct no_marks<Arena> {
    using type = decltype(std::declval<const Arena&>().mark());
};

/// Granule of a strategy, from its options. It limits the bytes that a block needs in addition to its size.
template <class Strategy>
constexpr std::size_t granule_of = 1;
template <best_fit_options Options, class Offset, class Memory>
constexpr std::size_t granule_of<best_fit<Options, Offset, Memory>> = Options.granule;

template <class Strategy>
constexpr bool defers = false;
template <class Strategy, deferred_options Options>
constexpr bool defers<deferred<Strategy, Options>> = true;

template <class Device, class Strategy, class Growth, arena_options Options, made How, std::size_t Size>
class combination final : public machine {
    using arena_type = arena<Device, Strategy, Growth, Options, count_misuse>;
    using strategy = typename arena_type::strategy_type;
    using model = typename Device::address_model;
    using makes = composed<arena_type, How>;
    using block_type = typename std::remove_reference_t<typename makes::type>::block_type;
    static constexpr bool grows = Growth::regions > 1 || Growth::in_place;
    static constexpr bool alone = How == made::alone || How == made::synchronized;

    /// Always at the same distance from a page's start, so that machines of one type are alike.
    struct home {
        ground<Device, Size> under;
        alignas(4096) std::byte room[64 + sizeof(arena_type)];
        arena_type* memory;
        home() {
            void* const at = room + (alignof(arena_type) > 64 ? 0 : alignof(arena_type));
            if constexpr (!std::is_move_constructible_v<Device>) memory = ::new (at) arena_type;
            else if constexpr (ground<Device, Size>::is_window || grows) memory = ::new (at) arena_type{under.device()};
            else memory = ::new (at) arena_type{under.device(), Size};
        }
        home(const home&) = delete;
        ~home() { memory->~arena_type(); }
    };

public:
    promises what() const override {
        promises all;
        all.reclaims = std::remove_reference_t<typename makes::type>::reclaims;
        all.exact = strategy::exact && alone;
        all.grows = grows;
        all.alone = alone;
        all.in_rows = How == made::paged;
        all.trims = requires(arena_type a) { a.trim(); };
        all.resets = resettable<strategy>;
        all.resizes = alone && resizable<strategy>;
        all.claims = alone && requires(arena_type a) { a.allocate_at({}); };
        all.marks = alone && markable<strategy>;
        all.hardened = Options.hardening != hardening::none && How == made::alone;
        all.slack = strategy::in_band ? 8 * sizeof(typename strategy::offset_type) : 4 * granule_of<strategy>;
        all.size = Size;
        all.defers = defers<strategy>;
        all.reach = std::numeric_limits<typename strategy::offset_type>::max();
        if (Growth::regions > 1 && strategy::several_extents && !strategy::in_band)
            all.reach = all.reach / Growth::regions / 2;
        return all;
    }
    bool allocate(std::size_t id, layout wanted) override { return keep(id, made_.allocate(wanted)); }
    void deallocate(std::size_t id) override { made_.deallocate(blocks_[id]); }
    diagnosis diagnose(layout wanted) override { return made_.diagnose(wanted); }
    std::size_t size_of(std::size_t id) const override { return blocks_[id].size; }
    std::size_t capacity(std::size_t id) const override {
        if constexpr (alone) return homes_[0].memory->capacity(blocks_[id]);
        else return blocks_[id].size;
    }
    bool owns(std::size_t id) const override {
        if constexpr (alone) return homes_[0].memory->owns(blocks_[id]);
        else return true;
    }
    std::vector<place> places(std::size_t id) const override {
        const block_type& held = blocks_[id];
        if constexpr (How == made::paged) {
            std::vector<place> all;
            for (std::size_t row = 0; row != held.address.size(); ++row)
                all.push_back(place_of(held.address[row], row_bytes));
            return all;
        } else {
            return {place_of(held.address, capacity(id))};
        }
    }
    std::vector<place> regions() const override {
        std::vector<place> all;
        for (const home& each : homes_) {
            for (const auto& held : each.memory->regions()) {
                if (held.size == 0) continue;
                all.push_back(place_of(held.base, held.size));
                all.back().align = held.align;
            }
        }
        return all;
    }
    std::size_t size() const override {
        std::size_t sum = 0;
        for (const home& each : homes_) sum += each.memory->size();
        return sum;
    }
    bool resize(std::size_t id, std::size_t size) override {
        if constexpr (alone && resizable<strategy>) return homes_[0].memory->resize(blocks_[id], size);
        else return false;
    }
    bool allocate_at(std::size_t id, extent wanted) override {
        if constexpr (alone && requires(arena_type a) { a.allocate_at({}); })
            return keep(id, homes_[0].memory->allocate_at(wanted));
        else return false;
    }
    diagnosis diagnose_at(extent wanted) override {
        if constexpr (alone && requires(arena_type a) { a.allocate_at({}); })
            return homes_[0].memory->diagnose_at(wanted);
        else return {};
    }
    std::size_t trim() override {
        std::size_t released = 0;
        if constexpr (requires(arena_type a) { a.trim(); })
            for (home& each : homes_) released += each.memory->trim();
        return released;
    }
    void reset() override {
        if constexpr (resettable<strategy>)
            for (home& each : homes_) each.memory->reset();
    }
    void mark() override {
        if constexpr (markable<strategy>) mark_ = homes_[0].memory->mark();
    }
    void rollback() override {
        if constexpr (markable<strategy>) homes_[0].memory->rollback(mark_);
    }

private:
    template <class Address>
    static place place_of(const Address& address, std::size_t size) {
        place found;
        found.at = model::position(address);
        found.size = size;
        if constexpr (requires { address.handle; }) found.key = address.handle;
        if constexpr (Device::host_accessible && model::absolute) found.bytes = static_cast<std::byte*>(address);
        return found;
    }
    bool keep(std::size_t id, const block_type& given) {
        if (!given) return false;
        blocks_[id] = given;
        return true;
    }

    home homes_[How == made::fallback ? 2 : 1];
    struct tables {
        tables_type* memory = How == made::paged ? new tables_type{{}, 100'000} : nullptr;
        ~tables() { delete memory; }
    };
    tables tables_;
    typename makes::type made_ = makes::of(*homes_[0].memory, homes_[How == made::fallback].memory, tables_.memory);
    typename no_marks<arena_type>::type mark_{};
    block_type blocks_[most_ids];
};

// ── strategies without an arena ──────────────────────────────────────────────────────────────────────────────────────

template <class Strategy>
constexpr best_fit_options options_of{};
template <best_fit_options Options, class Offset, class Memory>
constexpr best_fit_options options_of<best_fit<Options, Offset, Memory>> = Options;

/// A best_fit with a side table over the highest offsets that its options accept.
template <class Strategy, std::size_t Size>
class bare final : public machine {
    using offset = typename Strategy::offset_type;
    using layout_type = typename Strategy::layout_type;
    using allocation = typename Strategy::allocation_type;
    using limits = std::numeric_limits<offset>;
    static constexpr best_fit_options options = options_of<Strategy>;

public:
    bare() {
        insist(!strategy_.insert({static_cast<offset>(whole_.offset + 1), whole_.size}));
        insist(strategy_.insert({whole_.offset, whole_.size / 2}));
        insist(!strategy_.resize_extent({whole_.offset, whole_.size / 2}, static_cast<offset>(whole_.size + 1)));
        insist(strategy_.resize_extent({whole_.offset, whole_.size / 2}, whole_.size));
    }

    promises what() const override {
        promises all;
        all.exact = Strategy::exact;
        all.resizes = all.claims = true;
        all.slack = 4 * options.granule;
        all.size = whole_.size;
        all.reach = limits::max();
        return all;
    }
    bool allocate(std::size_t id, layout wanted) override {
        return fits(wanted.size) && fits(wanted.align) && keep(id, strategy_.allocate(narrowed(wanted)), wanted.size);
    }
    void deallocate(std::size_t id) override { strategy_.deallocate(blocks_[id]); }
    diagnosis diagnose(layout wanted) override {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        if (!fits(wanted.size) || !fits(wanted.align)) return {refusal::exhausted};
        return strategy_.diagnose(narrowed(wanted));
    }
    std::size_t size_of(std::size_t id) const override { return blocks_[id].where.size; }
    std::size_t capacity(std::size_t id) const override { return strategy_.capacity(blocks_[id]); }
    bool owns(std::size_t) const override { return true; }
    std::vector<place> places(std::size_t id) const override {
        place found;
        found.at = blocks_[id].where.offset;
        found.size = capacity(id);
        return {found};
    }
    std::vector<place> regions() const override {
        place whole;
        whole.at = whole_.offset;
        whole.size = whole_.size;
        return {whole};
    }
    std::size_t size() const override { return whole_.size; }
    bool resize(std::size_t id, std::size_t size) override {
        if (!fits(size) || !strategy_.resize(blocks_[id], static_cast<offset>(size))) return false;
        blocks_[id].where.size = static_cast<offset>(size);
        return true;
    }
    bool allocate_at(std::size_t id, extent wanted) override {
        return is_above(wanted) && keep(id, strategy_.allocate_at(moved(wanted)), wanted.size);
    }
    diagnosis diagnose_at(extent wanted) override {
        if (!is_above(wanted)) return {refusal::not_free};
        return strategy_.diagnose_at(moved(wanted));
    }

private:
    static void insist(bool holds) {
        if (!holds) std::abort();
    }
    static bool fits(std::size_t number) { return number <= limits::max(); }
    static layout_type narrowed(layout wanted) {
        return {static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)};
    }
    /// Returns true if an extent relative to the inserted one is below the last offset.
    bool is_above(extent wanted) const { return wanted.offset + wanted.size <= limits::max() - whole_.offset; }
    typename Strategy::extent_type moved(extent wanted) const {
        return {static_cast<offset>(whole_.offset + wanted.offset), static_cast<offset>(wanted.size)};
    }
    bool keep(std::size_t id, allocation given, std::size_t size) {
        if (!given) return false;
        insist(given.where.size == size);
        blocks_[id] = given;
        return true;
    }
    static constexpr typename Strategy::extent_type highest() {
        const auto end = std::min<std::uint64_t>(limits::max(), options.largest_offset);
        const auto size = std::min({std::uint64_t{Size}, end, std::uint64_t{options.largest_extent}});
        return {static_cast<offset>(end - size), static_cast<offset>(size)};
    }

    Strategy strategy_;
    static constexpr typename Strategy::extent_type whole_ = highest();
    allocation blocks_[most_ids];
};

template <class Device, class Strategy, class Growth, hardening Hardening, made How, std::size_t Size>
machine* make() {
    if constexpr (How == made::bare) return new bare<Strategy, Size>;
    else return new combination<Device, Strategy, Growth, arena_options{.hardening = Hardening}, How, Size>;
}

}  // namespace sweep
