// SPDX-License-Identifier: BSL-1.0
// limited: an allocator whose live blocks have at most a given number of bytes together.
//
//     allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>> shared;
//     allot::limited textures{shared, 64_MiB};                // refers to the arena
//     auto block = textures.allocate({.size = 65_MiB});       // empty, although the arena has more memory
//     textures.diagnose({.size = 65_MiB}).reason;             // refusal::over_limit
//
//     0          used()                    limit()
//     ├──────────┼─────── left() ──────────┤        the rest of the arena: for others
//
// The limit counts the requested sizes of live blocks. Alignment, records and unused bytes are not counted. The limit
// can change at any time. Below `used()` it frees no block: every request fails until enough blocks are freed.
//
// When to use: to divide the memory of one allocator between parts of a program, or to test a program with less memory.
// When not to use: to limit the regions that an arena acquires. Use `growth_options::limit`.
//
// Every ability of the allocator is passed on. A resize beyond the limit fails. The listed holes are those of the
// allocator, which can be larger than `left()`. An lvalue argument is stored as a reference and must outlive this
// object; blocks of other users of that allocator do not count. With a hardened allocator, a misused block that the
// allocator reports does not change `used()`. A moved-from object has no blocks.
// With threads, limit inside the lock: `synchronized<limited<Arena>, Lock>`.
//
// Complexity: O(1) in addition to the allocator.
// Memory: 2 words.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/compose/detail/forwarding.hpp>

namespace allot {
inline namespace v1 {

/// The mark of a limited allocator: the mark of the allocator, and the bytes in use.
template <class Mark>
struct limited_mark {
    Mark inner;            ///< The mark of the allocator.
    std::size_t used = 0;  ///< The bytes in use.
};

/// An allocator and a limit of its live bytes.
template <class Allocator>
class limited : public detail::forwarding<Allocator> {
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;

public:
    using typename base::block_type;

    /// Constructs the allocator with its default constructor.
    explicit limited(std::size_t limit) noexcept
        requires std::default_initializable<Allocator>
        : limit_{limit} {}
    /// Stores a reference to the allocator, or moves it into this object.
    limited(Allocator&& allocator, std::size_t limit) noexcept
        : base{std::forward<Allocator>(allocator)}, limit_{limit} {}

    // The following constructor reports a missing limit at compile time.
    template <class Other>
        requires std::same_as<std::remove_cvref_t<Other>, std::remove_cvref_t<Allocator>>
    explicit limited(Other&&) noexcept : limited{refused_allocator(), 0} {
        static_assert(!sizeof(Other), "allot: limited needs a limit: limited{allocator, bytes}");
    }

    /// Allocates a block. Returns an empty block on failure, and if the block would exceed the limit.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        return wanted.size <= left() ? note(inner_.allocate(wanted)) : block_type{};
    }
    /// Allocates exactly these bytes. Returns an empty block if they are not free or would exceed the limit.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return wanted.size <= left() ? note(inner_.allocate_at(wanted)) : block_type{};
    }
    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!this->is_freeable(held) || !this->give_back(held)) return;  // a misuse is reported once
        used_.value -= held.size;
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure, and if the block
    /// would exceed the limit.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        const std::size_t before = held.size;
        if (size > before && size - before > left()) return false;
        if (!inner_.resize(held, size)) return false;
        used_.value += held.size - before;
        return true;
    }
    /// Frees every block.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        inner_.reset();
        used_.value = 0;
    }
    /// Returns a mark for `rollback`.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<allocator_type>
    {
        return limited_mark<decltype(inner_.mark())>{inner_.mark(), used_.value};
    }
    /// Frees every block that was allocated since the mark. Precondition: the mark is from this allocator and is valid,
    /// and no block that is older than the mark was freed since. Returns false and changes nothing if a hardened
    /// allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(limited_mark<Mark> mark) noexcept {
        if (!this->roll_back(mark.inner)) return false;
        used_.value = mark.used;
        return true;
    }

    /// Returns the reason for which `allocate` would fail: that of the allocator if it would fail without the limit,
    /// too. For `over_limit`, the largest hole is at most `left()`.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept { return explain(inner_.diagnose(wanted), wanted.size); }
    /// Returns the reason for which `allocate_at` would fail.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return explain(inner_.diagnose_at(wanted), wanted.size);
    }

    /// Returns the limit in bytes.
    [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
    /// Sets the limit. Blocks beyond it stay live.
    void set_limit(std::size_t limit) noexcept { limit_ = limit; }
    /// Returns the requested sizes of all live blocks together.
    [[nodiscard]] std::size_t used() const noexcept { return used_.value; }
    /// Returns the number of bytes below the limit that are not in use.
    [[nodiscard]] std::size_t left() const noexcept { return used() < limit_ ? limit_ - used() : 0; }

    /// Returns the layout that `allocate` asks of the allocator, or an empty layout beyond the limit.
    [[nodiscard]] friend layout inner_request(limited& of, layout wanted) noexcept {
        return wanted.size <= of.left() ? wanted : layout{.size = 0};
    }

private:
    static Allocator&& refused_allocator();  // not defined, because its callers do not compile
    [[nodiscard]] block_type note(block_type fresh) noexcept {
        used_.value += fresh.size;
        return fresh;
    }
    [[nodiscard]] diagnosis explain(diagnosis inner, std::size_t size) const noexcept {
        if (inner.reason != refusal::none || size <= left()) return inner;
        const std::uint64_t room = left();
        return {refusal::over_limit, inner.largest_hole < room ? inner.largest_hole : room};
    }

    std::size_t limit_;
    detail::moved_value<std::size_t> used_;
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
limited(Allocator&&, std::size_t) -> limited<Allocator>;
/// Reports a missing limit at compile time.
template <class Allocator>
    requires(allocator<Allocator> && !requires(Allocator& of) { of.set_limit(0); })
limited(Allocator&&) -> limited<Allocator>;

}  // namespace v1
}  // namespace allot
