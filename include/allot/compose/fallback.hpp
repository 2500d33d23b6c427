// SPDX-License-Identifier: BSL-1.0
// fallback: allocates from a first allocator, and from a second allocator when the first one fails.
//
//     allot::fallback memory{tightly_coupled, ddr};       // refers to both allocators
//     auto block = memory.allocate({.size = 4096});       // the block records its allocator
//
// An lvalue argument is stored as a reference and must outlive the fallback. An rvalue argument is moved into the
// fallback. Both allocators need the same address model, because a block does not record the kind of its address.
//
// When to use: to prefer fast memory over slow memory, or to serve bursts that a fixed arena cannot hold.
// When not to use: for memories that are used differently, such as host memory and a GPU buffer. Choose at the point
// of use.
//
// A fallback passes a call for one block (`owns`, `capacity`, `resize`) to the allocator of the block, so that a resize
// never moves a block. `size`, `reset`, `mark` and `rollback` apply to both allocators. These functions exist if both
// allocators have them; `trim` exists if one of them has it. `allocate_at` is missing, because an offset does not name
// the allocator.
//
// Complexity: that of both allocators.
// Memory: each block holds a flag and the metadata of both allocators.
// Thread safety: that of both allocators.
#pragma once

#include <allot/compose/detail/undo.hpp>
#include <allot/compose/detail/wrapper.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/detail/compiler.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// The metadata of a fallback: the allocator that a block came from, and that allocator's metadata.
template <class First, class Second>
struct fallback_metadata {
    ALLOT_NO_UNIQUE_ADDRESS First first{};    ///< The metadata of the first allocator.
    bool from_second = false;                 ///< Whether the block came from the second allocator.
    ALLOT_NO_UNIQUE_ADDRESS Second second{};  ///< The metadata of the second allocator.
    // The flag separates `first` and `second`, because empty members of the same type cannot share an address.
    /// Constructs the metadata of an empty block.
    constexpr fallback_metadata() noexcept = default;
    /// Constructs the metadata from its members.
    constexpr fallback_metadata(First of_first, bool second_serves = false, Second of_second = {}) noexcept
        : first{of_first}, from_second{second_serves}, second{of_second} {}
    /// Compares all members.
    friend constexpr bool operator==(const fallback_metadata&, const fallback_metadata&) = default;
};

/// The mark of a fallback: the marks of both allocators.
template <class First, class Second>
struct fallback_mark {
    First first;    ///< The mark of the first allocator.
    Second second;  ///< The mark of the second allocator.
};

/// An allocator that combines two allocators.
template <class First, class Second>
class fallback {
    static_assert(allocator_requirements<First>() && allocator_requirements<Second>());
    using first_type = std::remove_reference_t<First>;
    using second_type = std::remove_reference_t<Second>;
    using first_block = block_of<First>;
    using second_block = block_of<Second>;
    static_assert(std::same_as<typename first_type::address_model, typename second_type::address_model>,
                  "allot: fallback needs two allocators with the same address model: choose between memories with "
                  "different address models in the calling code");
    static_assert(first_type::offsets == second_type::offsets && first_type::dl_device == second_type::dl_device,
                  "allot: fallback needs two allocators with the same traits offsets and dl_device");

public:
    using address_model = typename first_type::address_model;  ///< The address model of both allocators.
    /// The metadata of a block.
    using metadata_type = fallback_metadata<decltype(first_block::metadata), decltype(second_block::metadata)>;
    using block_type = block<decltype(first_block::address), metadata_type>;  ///< The type of blocks.
    /// Whether the host can access the memory of both allocators.
    static constexpr bool host_accessible = first_type::host_accessible && second_type::host_accessible;
    static constexpr offset_use offsets = first_type::offsets;          ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = first_type::dl_device;  ///< The device type in DLPack.
    /// The order in which blocks become free. The stricter order applies. If one allocator reclaims nothing, the order
    /// of the other applies. A stack and a ring together reclaim in no reliable order.
    static constexpr reclaim reclaims = detail::reclaim_of_parts(first_type::reclaims, second_type::reclaims);

    /// Constructs a fallback from two allocators, which are referenced or moved.
    constexpr fallback(First&& first, Second&& second) noexcept
        : first_{std::forward<First>(first)}, second_{std::forward<Second>(second)} {}

    /// Allocates from the first allocator, or from the second if the first fails. Returns an empty block if both fail.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        if (const first_block given = first_.allocate(wanted)) return {given.address, given.size, {given.metadata}};
        const second_block given = second_.allocate(wanted);
        return {given.address, given.size, {{}, true, given.metadata}};
    }

    /// Deallocates an unchanged block in the allocator that it came from. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!held) return;
        if (held.metadata.from_second) {
            second_.deallocate(in_second(held));
        } else {
            first_.deallocate(in_first(held));
        }
    }

    /// Resizes a block in place, in the allocator that it came from, and updates `held`. Returns false and changes
    /// nothing on failure. A block never moves to the other allocator.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires(resizable_allocator<first_type> && resizable_allocator<second_type>)
    {
        if (held.metadata.from_second) {
            second_block own = in_second(held);
            if (!second_.resize(own, size)) return false;
            held.size = own.size;
            held.metadata.second = own.metadata;
        } else {
            first_block own = in_first(held);
            if (!first_.resize(own, size)) return false;
            held.size = own.size;
            held.metadata.first = own.metadata;
        }
        return true;
    }

    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(const block_type& held) const noexcept
        requires(measuring_allocator<first_type> && measuring_allocator<second_type>)
    {
        return held.metadata.from_second ? second_.capacity(in_second(held)) : first_.capacity(in_first(held));
    }

    /// Returns true if the block is in the memory of the allocator that it came from, live or not.
    [[nodiscard]] bool owns(const block_type& held) const noexcept
        requires(owning<first_type> && owning<second_type>)
    {
        return held.metadata.from_second ? second_.owns(in_second(held)) : first_.owns(in_first(held));
    }

    /// Returns the number of bytes in all regions of both allocators.
    [[nodiscard]] std::size_t size() const noexcept
        requires(sized_allocator<first_type> && sized_allocator<second_type>)
    {
        return first_.size() + second_.size();
    }

    /// Releases memory without live blocks, in each allocator that can. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires(trimmable_allocator<first_type> || trimmable_allocator<second_type>)
    {
        std::size_t released = 0;
        if constexpr (trimmable_allocator<first_type>) released += first_.trim();
        if constexpr (trimmable_allocator<second_type>) released += second_.trim();
        return released;
    }

    /// Frees every block of both allocators.
    void reset() noexcept
        requires(resettable_allocator<first_type> && resettable_allocator<second_type>)
    {
        first_.reset();
        second_.reset();
    }

    /// Returns a mark for `rollback`.
    [[nodiscard]] auto mark() noexcept
        requires(markable_allocator<first_type> && markable_allocator<second_type>)
    {
        return fallback_mark<decltype(first_.mark()), decltype(second_.mark())>{first_.mark(), second_.mark()};
    }
    /// Frees every block of both allocators that was allocated since the mark. Precondition: the mark is from this
    /// fallback and is valid for both allocators. Returns false if a hardened allocator reports its mark and frees
    /// nothing.
    template <class FirstMark, class SecondMark>
        requires(markable_allocator<first_type> && markable_allocator<second_type>)
    bool rollback(fallback_mark<FirstMark, SecondMark> mark) noexcept {
        const bool first = detail::roll_back(first_, mark.first);
        return detail::roll_back(second_, mark.second) && first;
    }

    /// Returns whether this block is live, if the allocator that it came from checks that; otherwise true. Misuse is
    /// reported.
    [[nodiscard]] bool check(block_type held) const noexcept {
        if (held.metadata.from_second) {
            if constexpr (requires { second_.check(second_block{}); }) return second_.check(in_second(held));
        } else {
            if constexpr (requires { first_.check(first_block{}); }) return first_.check(in_first(held));
        }
        return true;
    }

    /// Returns true if exactly this block is live. Reports nothing. Returns false if the allocator that it came from
    /// does not record its blocks.
    [[nodiscard]] bool is_live(block_type held) const noexcept {
        if (held.metadata.from_second) {
            if constexpr (requires { second_.is_live(second_block{}); }) return second_.is_live(in_second(held));
        } else {
            if constexpr (requires { first_.is_live(first_block{}); }) return first_.is_live(in_first(held));
        }
        return false;
    }

    /// Returns true if the block is not empty and came from the first allocator.
    [[nodiscard]] static constexpr bool is_from_first(const block_type& held) noexcept {
        return held && !held.metadata.from_second;
    }

    /// Returns the reason for which `allocate` would fail: that of the second allocator, with the largest hole of both.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        const diagnosis first = first_.diagnose(wanted);
        if (first.reason == refusal::none) return first;
        diagnosis second = second_.diagnose(wanted);
        if (first.largest_hole > second.largest_hole) second.largest_hole = first.largest_hole;
        return second;
    }

    /// Calls `f(allocator)` for both allocators.
    template <class Function>
    void for_each_part(Function f) {
        f(first_);
        f(second_);
    }
    /// Calls `f(allocator)` for both allocators, which are const.
    template <class Function>
    void for_each_part(Function f) const {
        f(static_cast<const first_type&>(first_));
        f(static_cast<const second_type&>(second_));
    }
    /// Calls `f(address, size)` for every hole of both allocators.
    template <class Function>
    void for_each_hole(Function f) const noexcept
        requires(hole_walkable_allocator<first_type> && hole_walkable_allocator<second_type>)
    {
        first_.for_each_hole(f);
        second_.for_each_hole(f);
    }
    /// Calls `f(address, size)` for every live block of both allocators.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires(block_walkable_allocator<first_type> && block_walkable_allocator<second_type>)
    {
        first_.for_each_block(f);
        second_.for_each_block(f);
    }
    /// Returns the counters of both allocators, added up. A request that the first allocator fails counts in both.
    [[nodiscard]] allocator_statistics statistics() const noexcept
        requires(counting_allocator<first_type> && counting_allocator<second_type>)
    {
        allocator_statistics both = first_.statistics();
        return both += second_.statistics();
    }

private:
    friend detail::undo_point<fallback>;

    [[nodiscard]] static constexpr first_block in_first(const block_type& held) noexcept {
        return {held.address, held.size, held.metadata.first};
    }
    [[nodiscard]] static constexpr second_block in_second(const block_type& held) noexcept {
        return {held.address, held.size, held.metadata.second};
    }

    First first_;
    Second second_;
};

/// Deduces references for lvalues and values for rvalues.
template <class First, class Second>
fallback(First&&, Second&&) -> fallback<First, Second>;

namespace detail {
template <class First, class Second>
class undo_point<fallback<First, Second>> {
    using allocator_type = fallback<First, Second>;
    using first_point = undo_point<std::remove_reference_t<First>>;
    using second_point = undo_point<std::remove_reference_t<Second>>;

public:
    static constexpr bool possible = first_point::possible && second_point::possible;

    explicit undo_point(allocator_type& of) noexcept : first_{of.first_}, second_{of.second_} {}
    void take_back(allocator_type& to, block_of<allocator_type> held) const noexcept {
        if (held.metadata.from_second) {
            second_.take_back(to.second_, allocator_type::in_second(held));
        } else {
            first_.take_back(to.first_, allocator_type::in_first(held));
        }
    }
    void finish(allocator_type& of) const noexcept {
        first_.finish(of.first_);
        second_.finish(of.second_);
    }

private:
    first_point first_;
    second_point second_;
};
}  // namespace detail

}  // namespace v1
}  // namespace allot
