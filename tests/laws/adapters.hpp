// Subjects of the laws: an arena, a strategy without an arena, and allocators that are made of two arenas.
#pragma once

#include "devices.hpp"
#include "laws.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#if defined(__linux__)
#include <allot/host/pages.hpp>
#endif

namespace laws {

// ── contracts ────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Properties of a strategy's options beyond its traits. For a strategy without a specialization, only its traits are
/// checked.
template <class Strategy>
struct known {
    static void refine(contract&) {}
};
template <allot::bump_options Options, class Offset>
struct known<allot::bump<Options, Offset>> {
    static void refine(contract& c) {
        const bool up = Options.direction == allot::direction::up;
        c.holes = up ? holes::above : holes::below;
        (up ? c.nodes.end_align : c.nodes.first_align) = Options.limit_align;
    }
};
template <allot::best_fit_options Options, class Offset, class Memory>
struct known<allot::best_fit<Options, Offset, Memory>> {
    static void refine(contract& c) {
        c.records = Options.records;
        if (c.nodes.header == 0) c.nodes.granule = c.nodes.least = Options.granule;
    }
};
template <class Strategy, allot::deferred_options Options>
struct known<allot::deferred<Strategy, Options>> {
    static void refine(contract& c) {
        known<Strategy>::refine(c);
        c.gives_back = true;
    }
};
// The next three strategies state that they are inexact, because they do not use every hole. The holes that they use
// are known.
template <allot::stack_options Options, class Offset>
struct known<allot::stack<Options, Offset>> {
    static void refine(contract& c) {
        c.exact = true;
        c.holes = holes::between;
        c.large = Options.large == 0 ? ~number{0} : Options.large;
    }
};
template <allot::ring_options Options, class Offset>
struct known<allot::ring<Options, Offset>> {
    static void refine(contract& c) {
        c.exact = true;
        c.holes = holes::ring;
    }
};
template <allot::pool_options Options, class Offset>
struct known<allot::pool<Options, Offset>> {
    static void refine(contract& c) {
        c.exact = true;
        c.holes = holes::slots;
        c.nodes = {};  // a slot in use has no header
        c.slot = allot::align_up(Options.slot, Options.align);
        c.slot_align = Options.align;
        if (Options.count != 0) c.slot_count = Options.count;
    }
};
template <class Pool>  // with hardening
struct known<allot::detail::numbered_slots<Pool>> : known<Pool> {};
template <allot::page_tree_options Options, class Offset, class Processor>
struct known<allot::page_tree<Options, Offset, Processor>> {
    static_assert(Options.largest_order == 0, "unit/strategy/page_tree_test.cpp has a model of larger blocks");
    static void refine(contract& c) {
        c.exact = true;
        c.holes = holes::slots;
        c.slot = c.slot_align = Options.page;
        c.slot_count = Options.count;
    }
};

template <class Strategy>
[[nodiscard]] contract contract_of() {
    contract c;
    c.reclaims = Strategy::reclaims;
    c.exact = Strategy::exact;
    if constexpr (Strategy::in_band) {
        constexpr number word = sizeof(typename Strategy::offset_type);
        c.nodes = {.header = word, .granule = 2 * word, .least = 4 * word, .tail = word};
    }
    c.resizes = allot::resizable<Strategy>;
    c.claims = allot::positional<Strategy>;
    c.resets = allot::resettable<Strategy>;
    c.marks = allot::markable<Strategy>;
    c.removes = allot::removable<Strategy>;
    c.largest_offset = std::numeric_limits<typename Strategy::offset_type>::max();
    known<Strategy>::refine(c);
    return c;
}

// ── memory for a subject ─────────────────────────────────────────────────────────────────────────────────────────────

/// Constructs a device for a variant, and owns the memory under it. Specialized for every kind of device.
template <class Device>
struct ground {  // pages and handles
    explicit ground(const variant& how) : elsewhere{how.elsewhere}, aligned{how.aligned} {}
    [[nodiscard]] Device device(std::size_t) { return Device{elsewhere, aligned}; }
    bool elsewhere, aligned;
};
template <std::size_t Size, std::size_t Align>
struct ground<allot::host::static_storage<Size, Align>> {
    explicit ground(const variant&) {}
};
template <>
struct ground<allot::host::heap> {
    explicit ground(const variant&) {}
    [[nodiscard]] static allot::host::heap device(std::size_t) { return {}; }
};
#if defined(__linux__)
template <allot::host::pages_options Options>
struct ground<allot::host::pages<Options>> {
    explicit ground(const variant&) {}
    [[nodiscard]] static allot::host::pages<Options> device(std::size_t) { return {}; }
};
#endif
template <class Device>
struct ground<steady<Device>> : ground<Device> {
    using ground<Device>::ground;
    [[nodiscard]] steady<Device> device(std::size_t size) { return steady<Device>{ground<Device>::device(size)}; }
};
/// Windows: bytes of this process, whose base is 24 bytes after a page boundary.
template <class Device>
struct window_ground {
    explicit window_ground(const variant& how) : phase{how.aligned ? std::size_t{0} : std::size_t{24}} {}
    [[nodiscard]] Device device(std::size_t size) {
        bytes.reset(static_cast<std::byte*>(::operator new(size + phase, std::align_val_t{4096})));
        return Device{bytes.get() + phase, size};
    }
    struct release {
        void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{4096}); }
    };
    std::unique_ptr<std::byte, release> bytes;
    std::size_t phase;
};
template <>
struct ground<allot::host::buffer> : window_ground<allot::host::buffer> {
    using window_ground::window_ground;
};
template <>
struct ground<allot::host::tightly_coupled> : window_ground<allot::host::tightly_coupled> {
    using window_ground::window_ground;
};

/// No call of the laws is a misuse. Some blocks are still live when a debug arena is destroyed, which it may report.
struct never_misused {
    void operator()(allot::misuse what, std::size_t, std::size_t) const noexcept {
        if (what != allot::misuse::leaked) FAIL_CHECK("a correct call is not reported as a misuse");
    }
};

/// An arena of a row and the memory under it. `size` is the size of an arena with one region.
template <class Device, class Strategy, class Growth = allot::growth::none<>,
          allot::arena_options Options = allot::arena_options{}, std::size_t Size = 6000>
class arena_over {
public:
    static constexpr bool movable = std::is_move_constructible_v<Device>;
    using device = std::conditional_t<movable, watched<Device>, Device>;  // inner storage is not watched
    using arena = allot::arena<device, Strategy, Growth, Options, never_misused>;
    using plain = arena;  // the arena that decides which abilities there are
    using strategy = typename arena::strategy_type;
    using growth = Growth;
    static constexpr allot::arena_options options = Options;

    explicit arena_over(const variant& how) : ground_{how} {
        journal_->fail_on = how.fail_on;
        const std::size_t size = how.bytes != 0 ? static_cast<std::size_t>(how.bytes) : Size;
        if constexpr (!movable) {
            arena_ = std::make_unique<arena>();
        } else if constexpr (allot::bounded_device<device> || Growth::regions > 1 || Growth::in_place) {
            arena_ = std::make_unique<arena>(device{ground_.device(size), journal_});
        } else {
            arena_ = std::make_unique<arena>(device{ground_.device(size), journal_}, size);
        }
    }
    arena_over(const arena_over&) = delete;
    arena_over& operator=(const arena_over&) = delete;
    ~arena_over() {
        arena_.reset();
        if (journal_->wrong) FAIL_CHECK("a region was released that was not held");
        if (journal_->bytes_out != 0) FAIL_CHECK("a region was never released");
        if (journal_->damage && *journal_->damage) FAIL_CHECK("bytes outside of a region were written");
    }

    [[nodiscard]] arena& operator*() { return *arena_; }
    [[nodiscard]] arena* operator->() { return arena_.get(); }
    [[nodiscard]] laws::journal& journal() { return *journal_; }
    void move() {
        if constexpr (movable) arena_ = std::make_unique<arena>(std::move(*arena_));
    }

    /// Region `i` of the arena is space `i`.
    void list(std::vector<space>& into) {
        for (const auto& held : arena_->regions()) {
            using model = typename Device::address_model;
            space each{model::position(held.base), held.size};
            if (!model::absolute) each.known_align = held.align;
            if (held.size == 0) each = {0, 0};
            into.push_back(each);
        }
    }
    template <class Address>
    [[nodiscard]] piece locate(const Address& address, number size) {
        using model = typename Device::address_model;
        std::size_t i = 0;
        for (const auto& held : arena_->regions()) {
            const std::size_t from = model::position(held.base), at = model::position(address);
            if (held.size != 0 && at >= from && at - from < held.size &&
                model::locate(held.base, at - from) == address) {
                piece found{i, at - from, size};
                if constexpr (Device::host_accessible && std::convertible_to<Address, void*>)
                    found.bytes = static_cast<std::byte*>(address);
                return found;
            }
            ++i;
        }
        return {nothing, 0, size};
    }

private:
    ground<Device> ground_;
    std::shared_ptr<laws::journal> journal_ = std::make_shared<laws::journal>();
    std::unique_ptr<arena> arena_;
};

// ── an arena ─────────────────────────────────────────────────────────────────────────────────────────────────────────

template <class Over>
class arena_subject final : public subject {
    using arena = typename Over::arena;
    using strategy = typename Over::strategy;
    using model = typename arena::address_model;
    static constexpr bool in_place = Over::growth::in_place;
    static constexpr bool grows = Over::growth::regions > 1 || in_place;
    static constexpr bool tries_to_reset = requires(arena a) { a.try_reset(); };  // any_allocator

    [[nodiscard]] static laws::contract promised() {
        laws::contract c = contract_of<strategy>();
        c.grows = grows;
        c.in_place = in_place;
        c.one_by_one = grows && !in_place && !strategy::several_extents;
        c.resizes = allot::resizable_allocator<arena> && allot::resizable_allocator<typename Over::plain>;
        c.claims = allot::positional_allocator<arena> && allot::positional_allocator<typename Over::plain>;
        c.resets =
            (allot::resettable_allocator<arena> || tries_to_reset) && allot::resettable_allocator<typename Over::plain>;
        c.marks = allot::markable_allocator<arena> && allot::markable_allocator<typename Over::plain>;
        c.trims = allot::trimmable_allocator<arena> && allot::trimmable_allocator<typename Over::plain>;
        c.removes = false;
        c.in_order = Over::options.hardening != allot::hardening::none;
        if (Over::options.hardening == allot::hardening::checked && c.nodes.header != 0) c.nodes.behind = 8;
        if constexpr (requires { Over::refine(c); }) Over::refine(c);
        return c;
    }

public:
    explicit arena_subject(const variant& how) : subject{promised()}, over_{how} {}

    id allocate(layout wanted) override { return keep(over_->allocate(wanted)); }
    void deallocate(id held) override { over_->deallocate(blocks_[held]); }
    number capacity(id held) override { return over_->capacity(blocks_[held]); }
    allot::diagnosis diagnose(layout wanted) override { return over_->diagnose(wanted); }
    std::vector<piece> pieces(id held) override {
        if (!over_->owns(blocks_[held])) break_law("an arena owns its blocks");
        return {over_.locate(blocks_[held].address, capacity(held))};
    }
    std::vector<space> spaces() override {
        std::vector<space> all;
        over_.list(all);
        if (base_align_ == 0 && all[0].size != 0) base_align_ = all[0].known_align;
        return all;
    }
    /// An arena over handles supports the alignment of its first base; an arena over segments supports half a segment.
    bool honours(number align) override {
        static_cast<void>(spaces());
        if (model::absolute) return align <= segment();
        return (base_align_ == 0 && grows) || align <= base_align_;
    }
    bool may_grow(layout wanted) override {
        if constexpr (grows) {
            using offset = typename strategy::offset_type;
            if (wanted.size > contract.largest_offset - contract.nodes.behind || wanted.align > contract.largest_offset)
                return false;
            const auto align =
                static_cast<std::size_t>(std::max({number{wanted.align}, contract.nodes.granule, contract.slot_align}));
            number held = 0, need = strategy::bytes_for(1, {static_cast<offset>(wanted.size + contract.nodes.behind),
                                                            static_cast<offset>(align)});
            if (need == 0 || need > segment() || need > ~number{0} - Over::device::granularity) return false;
            bool slot = in_place;
            for (const space& each : spaces()) {
                held += each.size;
                slot = slot || each.size == 0;
            }
            if (in_place && align > Over::device::min_align && !allot::checked_add(need, number{align}, need))
                return false;
            if (need > ~number{0} - Over::device::granularity) return false;
            need = allot::align_up(need, number{Over::device::granularity});
            return slot && held <= limit() && need <= limit() - held;
        }
        return false;
    }
    number largest_region() override {
        return allot::align_down(number{Over::growth::limit}, number{Over::device::granularity});
    }
    std::size_t acquisitions() override { return over_.journal().attempts; }
    std::size_t device_refusals() override { return over_.journal().refusals; }
    long device_error() override { return over_.journal().last_error; }
    number held_from_device() override { return over_.journal().bytes_out; }
    number limit() override { return Over::growth::limit; }
    number bytes_for(number count, layout each) override {
        using offset = typename strategy::offset_type;
        return strategy::bytes_for(static_cast<offset>(count), {static_cast<offset>(each.size + contract.nodes.behind),
                                                                static_cast<offset>(each.align)});
    }
    void move() override { over_.move(); }

    id allocate_at(std::size_t, number at, number size) override {
        if constexpr (allot::positional_allocator<arena>)
            return keep(over_->allocate_at({static_cast<std::size_t>(at), static_cast<std::size_t>(size)}));
        return nothing;
    }
    allot::diagnosis diagnose_at(std::size_t, number at, number size) override {
        if constexpr (allot::positional_allocator<arena>)
            return over_->diagnose_at({static_cast<std::size_t>(at), static_cast<std::size_t>(size)});
        return {};
    }
    bool resize(id held, number size) override {
        if constexpr (allot::resizable_allocator<arena>)
            return over_->resize(blocks_[held], static_cast<std::size_t>(size));
        return false;
    }
    void reset() override {
        if constexpr (allot::resettable_allocator<arena>) over_->reset();
        else if constexpr (tries_to_reset) CHECK(over_->try_reset() == contract.resets);
    }
    std::size_t mark() override {
        if constexpr (allot::markable_allocator<arena>) marks_.push_back(over_->mark());
        return marks_.size() - 1;
    }
    void rollback(std::size_t to) override {
        if constexpr (allot::markable_allocator<arena>) {
            over_->rollback(marks_[to]);
            marks_.resize(to + 1, marks_[to]);
        }
    }
    number trim() override {
        if constexpr (allot::trimmable_allocator<arena>) return over_->trim();
        return 0;
    }

private:
    struct no_mark {};
    template <class A>
    struct mark_of {
        using type = no_mark;
    };
    template <class A>
        requires allot::markable_allocator<A>
    struct mark_of<A> {
        using type = decltype(std::declval<A&>().mark());
    };

    /// Returns the largest region that fits the offset space, which regions share where records are in a side table.
    [[nodiscard]] static constexpr number segment() {
        if (!grows || strategy::in_band || !strategy::several_extents) return ~number{0};
        return (std::numeric_limits<typename strategy::offset_type>::max() / Over::growth::regions + 1) / 2;
    }
    id keep(typename arena::block_type given) {
        if (!given) return nothing;
        blocks_.push_back(given);
        return blocks_.size() - 1;
    }

    Over over_;
    std::vector<typename arena::block_type> blocks_;
    std::vector<typename mark_of<arena>::type> marks_;
    number base_align_ = 0;
};

// ── a strategy without an arena ──────────────────────────────────────────────────────────────────────────────────────

/// A window of bytes, counted from 0, for an in-band store with 32-bit offsets.
template <class Offset>
struct window_memory {
    std::byte* base = nullptr;
    [[nodiscard]] std::byte* at(Offset offset) const noexcept { return base + offset; }
};

enum class whereabouts : unsigned char {
    low,       // from offset 8 on
    top,       // up to the last offset
    touching,  // three adjacent extents, across which no hole may join
};

template <class Strategy, whereabouts Where = whereabouts::low, std::size_t Size = 6000>
class strategy_subject final : public subject {
    using offset = typename Strategy::offset_type;
    using allocation = allot::allocation_of<Strategy>;
    using memory = typename Strategy::memory_type;
    static constexpr bool reaches_memory = !std::is_empty_v<memory> || Strategy::in_band;
    static constexpr std::size_t lead = 8;

public:
    explicit strategy_subject(const variant& how) : subject{contract_of<Strategy>()} {
        const std::size_t size = how.bytes != 0 ? static_cast<std::size_t>(how.bytes) : Size;
        std::vector<std::size_t> sizes{size};
        if constexpr (Where == whereabouts::touching) {
            if (how.bytes == 0) sizes = {size / 3 - 5, size / 2, size / 7 + 1};
        }
        std::size_t sum = 0;
        for (const std::size_t each : sizes) sum += each;
        number start = how.aligned ? 0 : lead;
        if constexpr (Where == whereabouts::top) {
            if (!how.aligned) start = std::numeric_limits<offset>::max() - sum;
        }
        if constexpr (reaches_memory) {
            bytes_.reset(static_cast<std::byte*>(::operator new(sum + lead, std::align_val_t{4096})));
            memory_ = memory_at(bytes_.get());
            if constexpr (std::is_empty_v<memory>) start += reinterpret_cast<std::uintptr_t>(bytes_.get());
        }
        for (const std::size_t each : sizes) {
            spaces_.push_back({start, each});
            if (!insert(spaces_.size() - 1)) spaces_.back().size = 0;
            start += each;
        }
    }

    id allocate(layout wanted) override { return keep(strategy_->allocate(narrow(wanted))); }
    void deallocate(id held) override { strategy_->deallocate(allocations_[held]); }
    number capacity(id held) override { return strategy_->capacity(allocations_[held]); }
    allot::diagnosis diagnose(layout wanted) override { return strategy_->diagnose(narrow(wanted)); }
    std::vector<piece> pieces(id held) override {
        const number at = allocations_[held].where.offset;
        for (std::size_t i = 0; i != spaces_.size(); ++i) {
            if (at < spaces_[i].start || at - spaces_[i].start >= spaces_[i].size) continue;
            piece found{i, at - spaces_[i].start, capacity(held)};
            if constexpr (reaches_memory) found.bytes = memory_.at(allocations_[held].where.offset);
            return {found};
        }
        return {};
    }
    std::vector<space> spaces() override {
        std::vector<space> held = spaces_;
        for (std::size_t i = 0; i != held.size(); ++i) {
            if (i == removed_) held[i].size = 0;
        }
        return held;
    }
    number bytes_for(number count, layout each) override {
        return Strategy::bytes_for(static_cast<offset>(count), narrow(each));
    }
    void move() override {
        strategy_ = std::make_unique<Strategy>(std::move(*strategy_));
        Strategy other;
        other = std::move(*strategy_);
        *strategy_ = std::move(other);
    }
    id allocate_at(std::size_t where, number at, number size) override {
        if constexpr (allot::positional<Strategy>) {
            if (at > contract.largest_offset - spaces_[where].start || size > contract.largest_offset) return nothing;
            return keep(
                strategy_->allocate_at({static_cast<offset>(spaces_[where].start + at), static_cast<offset>(size)}));
        }
        return nothing;
    }
    allot::diagnosis diagnose_at(std::size_t where, number at, number size) override {
        if constexpr (allot::positional<Strategy>) {
            if (at > contract.largest_offset - spaces_[where].start || size > contract.largest_offset)
                return {allot::refusal::not_free};
            return strategy_->diagnose_at({static_cast<offset>(spaces_[where].start + at), static_cast<offset>(size)});
        }
        return {};
    }
    bool resize(id held, number size) override {
        if constexpr (allot::resizable<Strategy>) {
            if (size > contract.largest_offset) return false;
            if (!strategy_->resize(allocations_[held], static_cast<offset>(size))) return false;
            allocations_[held].where.size = static_cast<offset>(size);
            return true;
        }
        return false;
    }
    void reset() override {
        if constexpr (allot::resettable<Strategy>) strategy_->reset();
    }
    std::size_t mark() override {
        if constexpr (allot::markable<Strategy>) marks_.push_back(strategy_->mark());
        return marks_.size() - 1;
    }
    void rollback(std::size_t to) override {
        if constexpr (allot::markable<Strategy>) {
            strategy_->rollback(marks_[to]);
            marks_.resize(to + 1, marks_[to]);
        }
    }
    bool remove(std::size_t where) override {
        if constexpr (allot::removable<Strategy>) {
            if (!strategy_->remove(extent(where))) return false;
            removed_ = where;
            return true;
        }
        return false;
    }
    bool insert(std::size_t where) override {
        if (!strategy_->insert(extent(where), memory_)) return false;
        removed_ = nothing;
        return true;
    }

private:
    struct no_mark {};
    template <class S>
    struct mark_of {
        using type = no_mark;
    };
    template <allot::markable S>
    struct mark_of<S> {
        using type = decltype(std::declval<const S&>().mark());
    };
    struct release {
        void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{4096}); }
    };

    [[nodiscard]] static memory memory_at(std::byte* base) {
        if constexpr (std::is_empty_v<memory>) {
            return {};
        } else {
            return {base};
        }
    }
    [[nodiscard]] allot::extent_of<Strategy> extent(std::size_t where) const {
        return {static_cast<offset>(spaces_[where].start), static_cast<offset>(spaces_[where].size)};
    }
    /// Replaces a size or an alignment that does not fit the offset space with the largest one that does.
    [[nodiscard]] static allot::layout_for<Strategy> narrow(layout wanted) {
        const auto most = std::numeric_limits<offset>::max();
        const bool aligned = allot::is_alignment(wanted.align);
        return {
            wanted.size > most ? most : static_cast<offset>(wanted.size),
            wanted.align <= most ? static_cast<offset>(wanted.align) : static_cast<offset>(aligned ? most / 2 + 1 : 3)};
    }
    id keep(allocation given) {
        if (!given) return nothing;
        allocations_.push_back(given);
        return allocations_.size() - 1;
    }

    std::unique_ptr<std::byte, release> bytes_;
    memory memory_{};
    std::unique_ptr<Strategy> strategy_ = std::make_unique<Strategy>();
    std::vector<space> spaces_;
    std::size_t removed_ = nothing;
    std::vector<allocation> allocations_;
    std::vector<typename mark_of<Strategy>::type> marks_;
};

// ── allocators made of two arenas ────────────────────────────────────────────────────────────────────────────────────

/// A paged arena: every row is a piece, and so is the table. The spaces are those of the row arena, then those of the
/// table arena.
template <class Rows, class Tables, class Table>
class paged_subject final : public subject {
    using row_arena = typename Rows::arena;
    using paged = allot::paged<row_arena&, typename Tables::arena&, Table>;

    [[nodiscard]] static laws::contract promised() {
        laws::contract c;
        c.exact = false;
        c.gives_back = true;
        constexpr reclaim rows = row_arena::strategy_type::reclaims, tables = Tables::arena::strategy_type::reclaims;
        // The stricter order. A stack and a ring have no common order.
        c.reclaims = rows == reclaim::any ? tables : tables == reclaim::any || tables == rows ? rows : reclaim::never;
        c.resets = true;
        return c;
    }

public:
    explicit paged_subject(const variant& how)
        : subject{promised()}, rows_{how}, tables_{with_bytes(how, 0)}, paged_{*rows_, *tables_, origin(*rows_)} {}

    id allocate(layout wanted) override {
        const auto given = paged_.allocate(wanted);
        if (!given) return nothing;
        blocks_.push_back(given);
        return blocks_.size() - 1;
    }
    void deallocate(id held) override { paged_.deallocate(std::exchange(blocks_[held], {})); }
    number capacity(id held) override { return blocks_[held].address.count * Table::row_bytes; }
    allot::diagnosis diagnose(layout wanted) override { return paged_.diagnose(wanted); }
    std::vector<piece> pieces(id held) override {
        std::vector<piece> all;
        const auto& block = blocks_[held];
        for (std::size_t row = 0; row != block.address.count; ++row) {
            const auto byte = Table::locate(block.address, row * Table::row_bytes);
            all.push_back(rows_.locate(byte, Table::row_bytes));
            all.back().reused = row_arena::strategy_type::reclaims == reclaim::any;
        }
        piece table = tables_.locate(block.metadata.address, block.metadata.size);
        table.space = table.space == nothing ? nothing : table.space + std::size(rows_->regions());
        table.bytes = nullptr;  // the caller does not write it
        table.aligned = false;  // aligned for its entries, not as the rows
        table.reused = Tables::arena::strategy_type::reclaims == reclaim::any;
        all.push_back(table);
        return all;
    }
    std::vector<space> spaces() override {
        std::vector<space> all;
        rows_.list(all);
        tables_.list(all);
        return all;
    }
    bool honours(number align) override {
        return Rows::arena::address_model::absolute || align <= spaces()[0].known_align;
    }
    /// A paged arena has no reset. Resets its arenas where these free no blocks one by one.
    void reset() override {
        for (auto& held : blocks_) paged_.deallocate(std::exchange(held, {}));
        if constexpr (requires { rows_->reset(); }) rows_->reset();
        if constexpr (requires { tables_->reset(); }) tables_->reset();
    }

private:
    [[nodiscard]] static variant with_bytes(variant how, number bytes) {
        how.bytes = bytes;
        return how;
    }
    [[nodiscard]] static auto origin(row_arena& rows) { return rows.regions()[0].base; }

    Rows rows_;
    Tables tables_;
    paged paged_;
    std::vector<typename paged::block_type> blocks_;
};

/// A fallback: a block records its allocator.
struct in_fallback {
    template <class A, class B>
    using type = allot::fallback<A&, B&>;
    template <class A, class B>
    [[nodiscard]] static auto around(A& first, B& second) {
        return type<A, B>{first, second};
    }
    [[nodiscard]] static bool is_from_first(const auto& block) { return !block.metadata.from_second; }
};
/// A segregated allocator: blocks of up to 64 bytes from the first allocator.
template <allot::when_full Full>
struct in_segregated {
    template <class A, class B>
    using type = allot::segregated<allot::size_branch<64, A&, Full>, B&>;
    template <class A, class B>
    [[nodiscard]] static auto around(A& first, B& second) {
        return type<A, B>{allot::up_to<64, Full>(first), second};
    }
    template <class Block>
    [[nodiscard]] static bool is_from_first(const Block& block) {
        if constexpr (Full == allot::when_full::next) return block.metadata.branch == 0;
        else return block.size <= 64;
    }
};

/// Two shards, of which the first one is always the caller's.
struct in_shards {
    struct first_processor {
        [[nodiscard]] std::size_t operator()() const noexcept { return 0; }
    };
    template <class A, class B>
    using type = allot::sharded<allot::synchronized<A&, allot::no_lock>, 2, first_processor>;
    template <class A>
    [[nodiscard]] static auto around(A& first, A& second) {
        return type<A, A>{
            [&](std::size_t shard) { return allot::synchronized<A&, allot::no_lock>{shard == 0 ? first : second}; }};
    }
    [[nodiscard]] static bool is_from_first(const auto& block) { return block.metadata.shard == 0; }
};

/// A composition of two arenas: the spaces are those of the first arena, then those of the second.
template <class Composition, class First, class Second>
class composed_subject final : public subject {
    using composed = typename Composition::template type<typename First::arena, typename Second::arena>;

    [[nodiscard]] static laws::contract promised() {
        laws::contract c;
        c.exact = false;
        return c;
    }

public:
    explicit composed_subject(const variant& how) : subject{promised()}, first_{how}, second_{how} {}

    id allocate(layout wanted) override {
        const auto given = composed_.allocate(wanted);
        if (!given) return nothing;
        blocks_.push_back(given);
        return blocks_.size() - 1;
    }
    void deallocate(id held) override { composed_.deallocate(blocks_[held]); }
    number capacity(id held) override { return composed_.capacity(blocks_[held]); }
    allot::diagnosis diagnose(layout wanted) override { return composed_.diagnose(wanted); }
    std::vector<piece> pieces(id held) override {
        const auto& block = blocks_[held];
        if (Composition::is_from_first(block)) return {first_.locate(block.address, capacity(held))};
        piece found = second_.locate(block.address, capacity(held));
        found.space = found.space == nothing ? nothing : found.space + std::size(first_->regions());
        return {found};
    }
    std::vector<space> spaces() override {
        std::vector<space> all;
        first_.list(all);
        second_.list(all);
        return all;
    }

private:
    First first_;
    Second second_;
    composed composed_ = Composition::around(*first_, *second_);
    std::vector<typename composed::block_type> blocks_;
};

}  // namespace laws
