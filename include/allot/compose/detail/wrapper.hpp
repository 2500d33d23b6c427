// SPDX-License-Identifier: BSL-1.0
// wrapper: the base of allocators that own or reference one allocator and return its blocks.
//
// Internal. The base has the traits and the functions that change nothing. A wrapper adds `allocate` and `deallocate`,
// and each of `allocate_at`, `resize`, `reset`, `mark`, `rollback` and `trim` that its allocator has.
#pragma once

#include <allot/core/allocator.hpp>

#include <concepts>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Whether the functions of an allocator can be called concurrently.
template <class Allocator>
consteval bool is_concurrent() {
    if constexpr (requires { typename Allocator::strategy_type; }) return concurrent<typename Allocator::strategy_type>;
    else if constexpr (requires { Allocator::concurrent; }) return Allocator::concurrent;
    else return requires(Allocator& of) { of.locked([](auto&) {}); };
}

/// Returns false for a block that a hardened allocator reports as misused. Any other allocator does not check.
template <class Allocator>
[[nodiscard]] bool is_freeable(const Allocator& allocator, const block_of<Allocator>& held) noexcept {
    if constexpr (requires { allocator.check(held); }) return held && allocator.check(held);
    else return static_cast<bool>(held);
}
/// Deallocates a block. Returns false if a hardened allocator reported a misuse and kept the block: it is out of order,
/// or a record next to it is damaged.
template <class Allocator>
bool give_back(Allocator& allocator, const block_of<Allocator>& held) noexcept {
    allocator.deallocate(held);
    if constexpr (requires { std::as_const(allocator).is_live(held); }) return !std::as_const(allocator).is_live(held);
    else return true;
}
/// Rolls back. Returns false if a hardened allocator reported the mark and freed nothing.
template <class Allocator, class Mark>
bool roll_back(Allocator& allocator, const Mark& mark) noexcept {
    if constexpr (std::same_as<bool, decltype(allocator.rollback(mark))>) return allocator.rollback(mark);
    else return allocator.rollback(mark), true;
}

/// An allocator inside another. If `Allocator` is a reference type, the wrapper stores a reference.
template <class Allocator>
class wrapper {
    static_assert(allocator_requirements<Allocator>());
    static_assert(!is_concurrent<std::remove_reference_t<Allocator>>(),
                  "allot: a wrapper has state that is not for concurrent calls: put the wrapper inside, as in "
                  "synchronized<counted<Arena>, Lock>, over a strategy that is not concurrent");

protected:
    using allocator_type = std::remove_reference_t<Allocator>;

public:
    using address_model = typename allocator_type::address_model;  ///< The address model of the allocator.
    using block_type = block_of<Allocator>;                        ///< The type of blocks.
    /// Whether the host can access the memory.
    static constexpr bool host_accessible = allocator_type::host_accessible;
    static constexpr offset_use offsets = allocator_type::offsets;          ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = allocator_type::dl_device;  ///< The device type in DLPack.
    static constexpr reclaim reclaims = allocator_type::reclaims;           ///< The order in which blocks become free.

    /// Constructs the allocator with its default constructor.
    wrapper() noexcept
        requires std::default_initializable<Allocator>
    = default;
    /// Stores a reference to the allocator, or moves it into this object.
    explicit wrapper(Allocator&& allocator) noexcept : inner_{std::forward<Allocator>(allocator)} {}

    /// Returns the reason for which `allocate` would fail.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept { return inner_.diagnose(wanted); }
    /// Returns the reason for which `allocate_at` would fail.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return inner_.diagnose_at(wanted);
    }
    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept
        requires measuring_allocator<allocator_type>
    {
        return inner_.capacity(held);
    }
    /// Returns true if the block is in the allocator's memory, live or not.
    [[nodiscard]] bool owns(block_type held) const noexcept
        requires owning<allocator_type>
    {
        return inner_.owns(held);
    }
    /// Returns the number of bytes in all regions.
    [[nodiscard]] std::size_t size() const noexcept
        requires sized_allocator<allocator_type>
    {
        return inner_.size();
    }
    /// Returns the device of the allocator.
    [[nodiscard]] const auto& device() const noexcept
        requires requires(const allocator_type& of) { of.device(); }
    {
        return inner_.device();
    }
    /// Returns the regions of the allocator.
    [[nodiscard]] decltype(auto) regions() const noexcept
        requires requires(const allocator_type& of) { of.regions(); }
    {
        return inner_.regions();
    }
    /// Returns whether this block is live. Misuse is reported. Only for a hardened allocator.
    [[nodiscard]] bool check(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.check(held); }
    {
        return inner_.check(held);
    }
    /// Returns true if exactly this block is live. Reports nothing. Only for a hardened allocator.
    [[nodiscard]] bool is_live(block_type held) const noexcept
        requires requires(const allocator_type& of) { of.is_live(held); }
    {
        return inner_.is_live(held);
    }
    /// Calls `f(address, size)` for every hole.
    template <class Function>
    void for_each_hole(Function f) const noexcept
        requires hole_walkable_allocator<allocator_type>
    {
        inner_.for_each_hole(f);
    }
    /// Calls `f(address, size)` for every live block.
    template <class Function>
    void for_each_block(Function f) const noexcept
        requires block_walkable_allocator<allocator_type>
    {
        inner_.for_each_block(f);
    }
    /// Returns the counters of the allocator.
    [[nodiscard]] allocator_statistics statistics() const noexcept
        requires counting_allocator<allocator_type>
    {
        return inner_.statistics();
    }
    /// Sets the peak of the counters to the bytes that are in use now.
    void restart_peak() noexcept
        requires requires(allocator_type& of) { of.restart_peak(); }
    {
        inner_.restart_peak();
    }
    /// Returns the allocator.
    [[nodiscard]] const allocator_type& inner() const noexcept { return inner_; }
    // For `report`. A wrapper that changes or refuses requests has its own `inner_request`.
    /// Returns the allocator, because `diagnose` is not const.
    [[nodiscard]] friend allocator_type& inner_of(wrapper& of) noexcept { return of.inner_; }
    /// Returns the layout that `allocate` asks of the allocator, or an empty layout if it asks nothing.
    [[nodiscard]] friend layout inner_request(wrapper&, layout wanted) noexcept { return wanted; }

protected:
    /// Returns false for a block that a hardened allocator reports as misused. Any other allocator does not check.
    [[nodiscard]] bool is_freeable(const block_of<Allocator>& held) const noexcept {
        return detail::is_freeable(inner_, held);
    }
    /// Deallocates a block. Returns false if a hardened allocator reported a misuse and kept the block.
    bool give_back(const block_of<Allocator>& held) noexcept { return detail::give_back(inner_, held); }
    /// Rolls back. Returns false if a hardened allocator reported the mark and freed nothing.
    template <class Mark>
    bool roll_back(const Mark& mark) noexcept {
        return detail::roll_back(inner_, mark);
    }

    Allocator inner_;
};

/// A value that is reset by a move, because the blocks of a moved allocator belong to the new object.
template <class Value>
struct moved_value {
    Value value{};

    moved_value() noexcept = default;
    moved_value(moved_value&& other) noexcept : value{std::exchange(other.value, Value{})} {}
    moved_value& operator=(moved_value&&) = delete;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
