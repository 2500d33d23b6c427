// SPDX-License-Identifier: BSL-1.0
// kept_placement: the placement of a body on the heap, with its first records beside it.
//
//     body on the heap ─► │ allocator, block │ placement: bins, … │ 16 records │          one allocation
//                                                                 └─ more records: a second one, which doubles
//
// A `best_fit` with a table that grows would allocate its records separately. Here it has a table in memory that the
// body gives to it. All other placements are used unchanged.
//
// Complexity: one comparison more for each allocation; growth is O(1) amortized. Memory: 16 records in the body.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/best_fit.hpp>

#include <new>

namespace allot {
inline namespace v1 {
namespace detail {

/// A best_fit whose records are in an array of its own, and later on the heap.
template <best_fit_options Options, std::unsigned_integral Offset>
class best_fit_beside_records : public best_fit<Options, Offset> {
    using strategy = best_fit<Options, Offset>;

public:
    best_fit_beside_records() noexcept {
        static_cast<void>(strategy::give_records({first_, sizeof first_}));  // cannot fail: the table has no records
    }
    best_fit_beside_records(const best_fit_beside_records&) = delete;
    best_fit_beside_records& operator=(const best_fit_beside_records&) = delete;
    ~best_fit_beside_records() { ::operator delete(more_); }

    [[nodiscard]] typename strategy::allocation_type allocate(typename strategy::layout_type wanted) noexcept {
        grow_if_full();
        return strategy::allocate(wanted);
    }
    [[nodiscard]] typename strategy::allocation_type allocate_at(typename strategy::extent_type wanted) noexcept {
        grow_if_full();
        return strategy::allocate_at(wanted);
    }

private:
    /// Moves the records to an array of twice the size if there may be too few. If the heap is exhausted, the strategy
    /// works with the records that it has.
    void grow_if_full() noexcept {
        if (!strategy::can_insert()) [[unlikely]]
            grow();
    }
    ALLOT_COLD ALLOT_NOINLINE void grow() noexcept {
        const std::size_t bytes = records_ * 2 * strategy::record_size();
        void* const larger = ::operator new(bytes, std::nothrow);
        if (larger == nullptr) return;
        if (!strategy::give_records({static_cast<std::byte*>(larger), bytes})) return ::operator delete(larger);
        ::operator delete(more_);
        more_ = larger;
        records_ *= 2;
    }

    static constexpr std::size_t first_records = 16;

    std::size_t records_ = first_records;
    void* more_ = nullptr;
    alignas(8) std::byte first_[first_records * strategy::record_size()];
};

/// The placement of a storage. `OnHeap` states whether its body is on the heap.
template <class Placement, bool OnHeap>
struct kept_placement {
    using type = Placement;
};
template <best_fit_options Options, std::unsigned_integral Offset, class Memory>
    requires(Options.records == 0 && !best_fit<Options, Offset, Memory>::in_band)
struct kept_placement<best_fit<Options, Offset, Memory>, true> {
    static constexpr best_fit_options options = [] {
        best_fit_options changed = Options;
        changed.records = given_records;
        return changed;
    }();
    using type = best_fit_beside_records<options, Offset>;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
