// SPDX-License-Identifier: BSL-1.0
// guarded: an allocator that writes known bytes before and after each block, and reports a block around which they
// changed.
//
//     allot::guarded<allot::arena<allot::host::heap, allot::best_fit<>>> memory{{{}, 16_MiB}};
//     auto block = memory.allocate({.size = 100});
//     static_cast<char*>(block.address)[100] = 1;      // a write past the end
//     memory.check_all();                              // reports misuse::written_past, and so does deallocate(block)
//
//     ├── guard, 16 bytes or the alignment ──┼── block ──┼── guard, 16 bytes ──┤      one block of the allocator
//
// The guards are checked by `deallocate`, `resize`, `reset` and `rollback` for the freed blocks, by `check` for one
// block, and by `check_all` for every live block. `deallocate`, `resize` and `check` also report a block that is not
// live, or whose size was changed. If the misuse handler (arena/misuse.hpp) returns, a call for one block has changed
// nothing, and `reset` and `rollback` continue.
//
// Not detected: a stale copy of a freed block if a new block has the same address, size and record. `deallocate` then
// frees the new block. A hardened allocator inside reports it.
//
// With a sanitizer, over an arena, every access to a guard is reported at once, reads as well (docs/sanitizers.md).
//
// When to use: to find writes out of bounds without a sanitizer: in firmware, in release builds, in memory that is
// shared with a device. With a sanitizer, to separate blocks that touch each other.
// When not to use: to find accesses that skip the guards.
//
// A guarded allocator has every ability of its allocator. `capacity` returns the requested size, because the guard
// starts there. The listed holes and the largest hole of a diagnosis have no room for guards. `allocate_at` also needs
// the bytes of the guards. Counters of an allocator inside include the guards: write `counted<guarded<Arena>>`.
//
// Complexity: O(guards) for each block, in addition to the complexity of the allocator. `check_all`, `reset` and
// `rollback` are O(records at the peak).
// Memory: the guards, and about 40 bytes for each block on the heap, or inside the object if `guard_options::records`
// is a fixed number. If the table is full and cannot grow, a request fails with `refusal::out_of_records`.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/arena/misuse.hpp>
#include <allot/compose/detail/block_records.hpp>
#include <allot/compose/detail/forwarding.hpp>
#include <allot/core/detail/sanitizer.hpp>

namespace allot {
inline namespace v1 {

/// The options of `guarded`.
struct guard_options {
    /// The number of bytes before each block. More are written if the alignment of the block is larger.
    std::size_t before = 16;
    /// The number of bytes after each block.
    std::size_t after = 16;
    /// The maximum number of live blocks. 0: the table is on the heap and grows.
    std::size_t records = 0;
};

/// The mark of a guarded allocator: the mark of the allocator, and the number of the newest block.
template <class Mark>
struct guarded_mark {
    Mark inner;                ///< The mark of the allocator.
    std::uint64_t newest = 0;  ///< The number of the newest block.
};

/// An allocator with guards around its blocks. `OnMisuse` is the type that handles misuses.
template <class Allocator, guard_options Options = guard_options{}, class OnMisuse = abort_on_misuse>
class guarded : public detail::forwarding<Allocator> {
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;
    using inner_block = block_of<Allocator>;
    using conversion = detail::block_with_record<inner_block>;
    static_assert(allocator_type::host_accessible && std::same_as<typename allocator_type::address_model, raw_pointer>,
                  "allot: guarded writes bytes around each block: use an allocator of memory that the host can access "
                  "by pointers");

public:
    using base::base;
    /// Whether a memory checker learns where the guards are, because it knows the blocks of the allocator inside.
    static constexpr bool annotated = requires { requires allocator_type::annotated; };
    using block_type = typename conversion::type;          ///< The type of blocks.
    using metadata_type = decltype(block_type::metadata);  ///< The metadata of a block.

    /// Allocates a block. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        const layout whole = with_guards(wanted);
        if (whole.size == 0 || !records_.room()) return {};
        return guard(inner_.allocate(whole), front(wanted.align), wanted.size);
    }
    /// Allocates exactly these bytes. Returns an empty block if they or the bytes of the guards are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        const extent whole = with_guards(wanted);
        if (!whole || !records_.room()) return {};
        return guard(inner_.allocate_at(whole), Options.before, static_cast<std::size_t>(wanted.size));
    }
    /// Deallocates an unchanged block. Does nothing for an empty block. Reports a damaged guard, and then frees
    /// nothing.
    void deallocate(block_type held) noexcept {
        if (!held || !check(held)) return;
        const inner_block whole = whole_block(held);
        if constexpr (annotated) detail::sanitizer::permit(whole.address, whole.size, false);
        if (this->give_back(whole)) records_.remove(held.metadata.record);
        else forbid_guards(records_[held.metadata.record]);
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure. Reports a damaged
    /// guard.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        if (!held || size == 0 || !check(held)) return false;
        record& known = records_[held.metadata.record];
        std::size_t bytes = 0;
        if (!checked_add(size, known.front + Options.after, bytes)) return false;
        inner_block whole = whole_block(held);
        if constexpr (annotated) detail::sanitizer::permit(end_of(known), Options.after, false);
        if constexpr (annotated) detail::sanitizer::permit(whole.address, known.front, false);
        if (!inner_.resize(whole, bytes)) {
            forbid_guards(known);
            return false;
        }
        held.size = known.size = size;
        held.metadata.inner = whole.metadata;
        write(end_of(known), Options.after);
        forbid_guards(known);
        return true;
    }
    /// Checks the guards of every block, then frees every block.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        check_since(0);
        inner_.reset();
        forget_since(0);
    }
    /// Returns a mark for `rollback`.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<allocator_type>
    {
        return guarded_mark<decltype(inner_.mark())>{inner_.mark(), records_.last()};
    }
    /// Checks the guards of the blocks that were allocated since the mark, then frees them. Precondition: the mark is
    /// from this allocator and is valid. Returns false and frees nothing if a hardened allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(guarded_mark<Mark> mark) noexcept {
        check_since(mark.newest);
        if (!this->roll_back(mark.inner)) return false;
        forget_since(mark.newest);
        return true;
    }

    /// Returns true if this block is live and its guards are unchanged. Otherwise reports the misuse.
    [[nodiscard]] bool check(block_type held) const noexcept {
        const detail::record_index at = held.metadata.record;
        misuse found = misuse::not_live;
        if (records_.contains(at) && records_[at].address == held.address) {
            if (records_[at].size == held.size) return is_intact(records_[at], records_.number(at));
            found = misuse::wrong_size;
        }
        detail::report<OnMisuse>(found, raw_pointer::position(held.address), held.size);
        return false;
    }
    /// Returns true if exactly this block is live. Reports nothing, and checks no guard.
    [[nodiscard]] bool is_live(block_type held) const noexcept {
        const detail::record_index at = held.metadata.record;
        return records_.contains(at) && records_[at].address == held.address && records_[at].size == held.size;
    }
    /// Checks the guards of every live block and reports each damaged one. Returns the number of damaged blocks.
    std::size_t check_all() const noexcept {
        std::size_t damaged = 0;
        records_.for_each([&](const record& known, std::uint64_t number) { damaged += !is_intact(known, number); });
        return damaged;
    }

    /// Returns the usable bytes of a block: its size.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept { return held.size; }
    /// Returns true if the block is in the allocator's memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept
        requires owning<allocator_type>
    {
        const detail::record_index at = held.metadata.record;
        const bool known = records_.contains(at) && records_[at].address == held.address;
        return inner_.owns(known ? whole_block(held) : conversion::inner(held));
    }
    /// Returns the reason for which `allocate` would fail.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        const layout whole = with_guards(wanted);
        return without_guards(whole.size == 0 ? diagnosis{refusal::over_limit} : inner_.diagnose(whole));
    }
    /// Returns the reason for which `allocate_at` would fail.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        if (!wanted) return {refusal::empty_layout};
        const extent whole = with_guards(wanted);
        return without_guards(whole ? inner_.diagnose_at(whole) : diagnosis{refusal::not_free});
    }

    /// Calls `f(address, size)` for every hole, without the bytes that the guards would need.
    template <class Function>
    void for_each_hole(Function f) const noexcept
        requires hole_walkable_allocator<allocator_type>
    {
        inner_.for_each_hole([&](void* address, std::size_t size) {
            if (size > guards) f(raw_pointer::locate(address, Options.before), size - guards);
        });
    }
    /// Calls `f(address, size)` for every live block.
    template <class Function>
    void for_each_block(Function f) const noexcept {
        records_.for_each([&](const record& known, std::uint64_t) { f(known.address, known.size); });
    }

    /// Returns the layout that `allocate` asks of the allocator: with the guards.
    [[nodiscard]] friend layout inner_request(guarded&, layout wanted) noexcept { return with_guards(wanted); }

private:
    struct record {
        void* address = nullptr;
        std::size_t size = 0;
        std::size_t front = 0;
    };
    static constexpr std::size_t guards = Options.before + Options.after;

    /// Returns the number of bytes before a block.
    [[nodiscard]] static constexpr std::size_t front(std::size_t align) noexcept {
        return align_up(Options.before, align);
    }
    /// Returns the layout of a block with its guards, or an empty one on overflow and for a layout that is not valid.
    [[nodiscard]] static layout with_guards(layout wanted) noexcept {
        layout whole{0, wanted.align};
        if (!wanted.is_valid() || !checked_add(wanted.size, front(wanted.align), whole.size) ||
            !checked_add(whole.size, Options.after, whole.size))
            return {0, wanted.align};
        return whole;
    }
    /// Returns the extent of a block with its guards, or an empty one if it exceeds the offsets.
    [[nodiscard]] static extent with_guards(extent wanted) noexcept {
        if (!wanted || wanted.offset < Options.before) return {};
        extent whole{wanted.offset - Options.before, wanted.size};
        return checked_add(whole.size, decltype(whole.size){guards}, whole.size) ? whole : extent{};
    }
    [[nodiscard]] diagnosis without_guards(diagnosis found) noexcept {
        found.largest_hole -= found.largest_hole < guards ? found.largest_hole : guards;
        if (found.reason == refusal::none && !records_.room()) found.reason = refusal::out_of_records;
        return found;
    }
    [[nodiscard]] inner_block whole_block(const block_type& held) const noexcept {
        const std::size_t front = records_[held.metadata.record].front;
        return {static_cast<std::byte*>(held.address) - front, front + held.size + Options.after, held.metadata.inner};
    }

    [[nodiscard]] block_type guard(const inner_block& given, std::size_t front, std::size_t size) noexcept {
        if (!given) return {};
        const record known{raw_pointer::locate(given.address, front), size, front};
        write(given.address, front);
        write(end_of(known), Options.after);
        forbid_guards(known);
        return {known.address, size, {given.metadata, records_.add(known)}};
    }
    /// States to a memory checker that every access to the guards is an error.
    static void forbid_guards([[maybe_unused]] const record& known) noexcept {
        if constexpr (annotated) {
            detail::sanitizer::forbid(static_cast<std::byte*>(known.address) - known.front, known.front);
            detail::sanitizer::forbid(end_of(known), Options.after);
        }
    }
    [[nodiscard]] static void* end_of(const record& known) noexcept {
        return raw_pointer::locate(known.address, known.size);
    }
    /// The byte of a guard at an address. It differs from that of the next address.
    [[nodiscard]] static std::byte value_at(const std::byte* at) noexcept {
        return static_cast<std::byte>(0xB5U ^ (raw_pointer::position(at) * 31U));
    }
    [[nodiscard]] static std::byte byte_at(const std::byte* at) noexcept {
        if constexpr (annotated) return detail::sanitizer::read_record<std::byte>(at);
        return *at;
    }
    static void write(void* from, std::size_t size) noexcept {
        auto* const bytes = static_cast<std::byte*>(from);
        for (std::size_t i = 0; i != size; ++i) bytes[i] = value_at(bytes + i);
    }
    [[nodiscard]] static bool is_guard(const void* from, std::size_t size) noexcept {
        const auto* const bytes = static_cast<const std::byte*>(from);
        for (std::size_t i = 0; i != size; ++i)
            if (byte_at(bytes + i) != value_at(bytes + i)) return false;
        return true;
    }
    bool is_intact(const record& known, std::uint64_t number) const noexcept {
        const bool before = is_guard(static_cast<std::byte*>(known.address) - known.front, known.front);
        const bool after = is_guard(end_of(known), Options.after);
        if (before && after) return true;
        const std::size_t at = raw_pointer::position(known.address);
        detail::report<OnMisuse>(before ? misuse::written_past : misuse::written_before, at, known.size,
                                 {at, known.size, number, 0});
        return false;
    }
    void check_since(std::uint64_t number) const noexcept {
        records_.for_each([&](const record& known, std::uint64_t of) {
            if (of > number) is_intact(known, of);
        });
    }
    void forget_since(std::uint64_t number) noexcept {
        records_.remove_since(number, [](const record&) {});
    }

    detail::block_records<record, Options.records> records_;
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
guarded(Allocator&&) -> guarded<Allocator>;

}  // namespace v1
}  // namespace allot
