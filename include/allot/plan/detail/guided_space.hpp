// SPDX-License-Identifier: BSL-1.0
// guided_space: the free bytes of a guided room, and the rules that choose among them.
//
//     guide_rule::best_fit     the smallest hole that fits
//     guide_rule::first_fit    the hole at the lowest offset
//
// Internal. Both rules take holes from one `best_fit`. `guided_room` does not use them while it is in step.
//
// Complexity: that of `best_fit` for best fit, O(records) for first fit.
// Memory: that of `best_fit` with a side table. Thread safety: not synchronized.
#pragma once

#include <allot/plan/pass.hpp>
#include <allot/strategy/best_fit.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Offsets from 0 to a size. Offsets of blocks are multiples of the granule.
template <std::size_t Granule>
class guided_space {
public:
    using strategy_type = best_fit<best_fit_options{.store = node_store::side_table, .granule = Granule}>;
    using allocation_type = allocation_of<strategy_type>;
    using extent_type = basic_extent<std::size_t>;

    /// Sets the size and the alignment of the first offset, and frees all bytes.
    void open(std::size_t size, std::size_t align) noexcept {
        size_ = size;
        align_ = align;
        clear();
    }
    /// Frees all bytes.
    void clear() noexcept {
        strategy_ = strategy_type{};
        if (size_ != 0) (void)strategy_.insert({0, size_});
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t align() const noexcept { return align_; }

    /// Allocates by a rule.
    [[nodiscard]] allocation_type allocate(layout wanted, guide_rule rule) noexcept {
        if (rule == guide_rule::best_fit) return strategy_.allocate({wanted.size, wanted.align});
        if (wanted.size == 0) return {};
        const std::size_t align = wanted.align < Granule ? Granule : wanted.align;
        std::size_t lowest = size_;
        strategy_.for_each_hole({0, size_}, [&](extent_type hole) {
            const std::size_t start = align_up(hole.offset, align);
            if (start < lowest && start < hole.end() && hole.end() - start >= wanted.size) lowest = start;
        });
        return lowest == size_ ? allocation_type{} : strategy_.allocate_at({lowest, wanted.size});
    }
    /// Allocates the place of a slot as best fit did, if it did.
    [[nodiscard]] allocation_type allocate_slot(const guide_slot& slot, guide_rule rule) noexcept {
        const extent_type where{static_cast<std::size_t>(slot.offset), static_cast<std::size_t>(slot.size)};
        if (!slot.is_pinned && rule == guide_rule::best_fit) {
            const allocation_type at = strategy_.allocate({where.size, static_cast<std::size_t>(slot.align)});
            if (at.where.size != 0 && at.where.offset == where.offset) return at;
            if (at.where.size != 0) strategy_.deallocate(at);
        }
        return strategy_.allocate_at(where);
    }
    /// Allocates exactly these bytes. Returns an empty allocation if they are not free.
    [[nodiscard]] allocation_type allocate_at(extent_type where) noexcept { return strategy_.allocate_at(where); }
    void deallocate(const allocation_type& at) noexcept { strategy_.deallocate(at); }
    /// Resizes an allocation in place. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(const allocation_type& at, std::size_t size) noexcept {
        return strategy_.resize(at, size);
    }
    /// Returns the reason for which best fit has no place for a request.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        return wanted.align > align_ ? diagnosis{refusal::misaligned} : strategy_.diagnose(wanted);
    }

private:
    std::size_t size_ = 0, align_ = 1;
    strategy_type strategy_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
