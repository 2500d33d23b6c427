// SPDX-License-Identifier: BSL-1.0
// forwarding: the base of wrappers that pass on every call for live blocks.
//
// Internal. The base passes on `deallocate`, `resize`, `trim`, `reset`, `mark`, `rollback`, and what undo.hpp needs. A
// wrapper adds `allocate`, `allocate_at`, and a function of the same name for each call that it does not only pass on.
#pragma once

#include <allot/compose/detail/wrapper.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// A wrapper that passes on the calls for live blocks.
template <class Allocator>
class forwarding : public wrapper<Allocator> {
    using base = wrapper<Allocator>;

protected:
    using base::inner_;
    using typename base::allocator_type;

public:
    using base::base;
    using typename base::block_type;

    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept { inner_.deallocate(held); }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        return inner_.resize(held, size);
    }
    /// Releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<allocator_type>
    {
        return inner_.trim();
    }
    /// Frees every block.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        inner_.reset();
    }
    /// Returns a mark for `rollback`. Keep it in a variable of type `auto`.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<allocator_type>
    {
        return inner_.mark();
    }
    /// Frees every block that was allocated since the mark. Precondition: the mark is from this allocator and is valid.
    /// Returns false and changes nothing if a hardened allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(Mark mark) noexcept {
        return this->roll_back(mark);
    }

    /// Returns the regions that are held now, for `shrink_to`.
    [[nodiscard]] auto held() const noexcept
        requires requires(const allocator_type& of) { of.held(); }
    {
        return inner_.held();
    }
    /// Releases the memory that was acquired since `held()`. Precondition: it has no live block, and `trim` was not
    /// called since.
    template <class Held>
        requires requires(allocator_type& of, const Held& to) { of.shrink_to(to); }
    void shrink_to(const Held& to) noexcept {
        inner_.shrink_to(to);
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
