// SPDX-License-Identifier: BSL-1.0
// waiting_amounts: the bytes of `deferred` that are allocated, that wait, and that may wait.
//
//     small blocks   │ in use ………………………… │ waiting ………… │        their sum may reach the peak and a share of `taken`
//                                          peak of the blocks in use ─┘
//
// Internal. All amounts count granules. Small blocks are those that may wait. The room is that of all extents.
//
// The bytes of small blocks that were in use at the peak are spent: blocks that were freed since then may wait in them.
// Each request for new bytes lowers the peak by a part of the difference, so that bytes return to other sizes if the
// program does not use them again.
//
//     room  │ taken ………………………… │ three quarters of it ………… │ spare │
//
// While the room is ample, a part of it is spare, and as many more blocks may wait. Joins would only keep memory free
// that no request needs. As the room fills, the spare part shrinks to nothing.
//
//     room  │ in use ……… │ may wait …………………………… │ beyond │
//                   peak of all blocks in use ─┘    └ five quarters of it
//
// The peak of all blocks counts once less than a quarter of it is in use, in a room of at least one and a half times
// the peak. Then as many blocks may wait as are below five quarters of it, up to the granules beyond. This part is used
// instead of the spare one if it is larger.
//
// Complexity: O(1). Memory: nine words, five without a spare part. Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>

namespace allot {
inline namespace v1 {
namespace detail {

/// Amounts of all blocks and of those whose length is at most `Last`. `Share` is a divisor; 0: no bound. `Spare` is the
/// divisor of the largest spare part; 0: none.
template <std::unsigned_integral Offset, std::size_t Last, std::size_t Share, std::size_t Spare>
class waiting_amounts {
    static constexpr Offset unbounded = std::numeric_limits<Offset>::max() / 2;
    static constexpr Offset least = 32;                                   // granules that may wait in any case
    static constexpr Offset decay = 128;                                  // a request lowers the peak by this part
    static constexpr std::size_t most_share = Share < 4 ? 1 : Share / 4;  // of the blocks that deallocations keep
    struct no_room {};

public:
    static constexpr bool has_spare = Share != 0 && Spare != 0;
    using credit_type = std::make_signed_t<Offset>;
    static constexpr credit_type all = std::numeric_limits<credit_type>::max();

    /// Counts a block that waits. Returns false if more blocks wait than deallocations keep.
    ALLOT_INLINE bool add(std::size_t length) noexcept {
        credit_ = static_cast<credit_type>(credit_ - static_cast<credit_type>(length));
        return credit_ >= 0;
    }
    /// Counts blocks of at most `Last` granules each that the strategy allocated and that wait.
    ALLOT_INLINE void add_new(Offset lengths) noexcept {
        credit_ = static_cast<credit_type>(credit_ - static_cast<credit_type>(lengths));
        taken_ = static_cast<Offset>(taken_ + lengths);
        small_ = static_cast<Offset>(small_ + lengths);
    }
    /// Counts a block that waits no more.
    ALLOT_INLINE void remove(std::size_t length) noexcept {
        credit_ = static_cast<credit_type>(credit_ + static_cast<credit_type>(length));
    }
    [[nodiscard]] ALLOT_INLINE Offset waits() const noexcept {
        return static_cast<Offset>(bound_ - static_cast<Offset>(credit_));
    }
    /// Returns the granules that may still wait, as of the last call of `renew`.
    [[nodiscard]] credit_type credit() const noexcept { return credit_; }

    /// Counts a block that the strategy allocated.
    void count_in(std::size_t length) noexcept {
        taken_ = static_cast<Offset>(taken_ + length);
        small_ = static_cast<Offset>(small_ + small_part(length));
    }
    /// Counts a block that the strategy frees. Callers that cut blocks of a block (arena/detail/bursts.hpp) free others
    /// than were counted.
    void count_out(std::size_t length) noexcept {
        taken_ = less(taken_, static_cast<Offset>(length));
        small_ = less(small_, small_part(length));
    }

    /// Counts a waiting block of more than `Last` granules, after `add` or before `remove`.
    void add_large(std::size_t length) noexcept { ample_.large = static_cast<Offset>(ample_.large + length); }
    void remove_large(std::size_t length) noexcept { ample_.large = static_cast<Offset>(ample_.large - length); }
    /// Returns the granules of these blocks.
    [[nodiscard]] Offset large() const noexcept {
        if constexpr (has_spare) return ample_.large;
        else return 0;
    }
    /// Returns true if fewer granules are allocated or wait than may after a peak of all blocks that has passed.
    [[nodiscard]] ALLOT_INLINE bool is_below_passed_peak() const noexcept {
        if constexpr (has_spare) return taken_ < ample_.most;
        else return false;
    }
    /// Returns the granules that may wait for this reason. None in a room that is not ample for the peak.
    [[nodiscard]] Offset below_passed_peak() const noexcept {
        return std::min(less(ample_.room, ample_.most), less(ample_.most, in_use()));
    }
    /// Returns true if a block of `length` granules may wait for this reason. Precondition: `is_below_passed_peak()`.
    [[nodiscard]] bool may_wait_after_peak(std::size_t length) const noexcept {
        return length <= ample_.most - taken_ && waits() + length <= less(ample_.room, ample_.most);
    }
    /// Notes the blocks in use if they can be at a new peak, or below a quarter of it for the first time.
    void note_peak_of_large() noexcept {
        if (taken_ > ample_.peak || (ample_.most < ample_.peak && taken_ < ample_.peak / 4)) note_peak();
    }

    /// Counts the bytes of an extent before and after a change. An extent that is not inserted has none.
    void count_room([[maybe_unused]] Offset before, [[maybe_unused]] Offset after) noexcept {
        if constexpr (has_spare) ample_.room = static_cast<Offset>(less(ample_.room, before) + after);
    }

    /// Computes the credit again for the blocks that are in use now.
    void renew() noexcept {
        if constexpr (Share == 0) return renew_to(unbounded);
        note_peak();
        const Offset used = small_in_use();
        if (used > peak_) peak_ = used;
        renew_to(static_cast<Offset>(taken_ / most_share + least + (peak_ - used) + spare()));
    }
    /// Does the same for a request that takes new bytes. Lowers the peak.
    void renew_for_request() noexcept {
        renew();
        if constexpr (Share != 0) peak_ = static_cast<Offset>(peak_ - (peak_ - small_in_use()) / decay);
    }
    /// Returns the credit below which a request joins blocks.
    [[nodiscard]] credit_type request_keeps() const noexcept {
        if constexpr (Share == 0) return 0;
        else return static_cast<credit_type>(taken_ / most_share - taken_ / Share);
    }
    /// Returns the credit up to which a deallocation joins blocks, once it is negative.
    [[nodiscard]] credit_type deallocation_keeps() const noexcept {
        return static_cast<credit_type>(taken_ / (most_share * 32));
    }

private:
    void note_peak() noexcept {
        if constexpr (has_spare) {
            const Offset used = in_use();
            if (used > ample_.peak) ample_.peak = used;
            else if (used < ample_.peak / 4 && ample_.room / 3 >= ample_.peak / 2)
                ample_.most = static_cast<Offset>(ample_.peak + ample_.peak / 4);
        }
    }
    // Without a branch, which would depend on sizes that a processor does not predict.
    [[nodiscard]] ALLOT_INLINE static constexpr Offset small_part(std::size_t length) noexcept {
        return static_cast<Offset>(length & (std::size_t{0} - static_cast<std::size_t>(length <= Last)));
    }
    [[nodiscard]] Offset in_use() const noexcept { return less(taken_, waits()); }
    [[nodiscard]] Offset small_in_use() const noexcept { return less(small_, static_cast<Offset>(waits() - large())); }
    [[nodiscard]] static constexpr Offset less(Offset from, Offset by) noexcept {
        const auto left = static_cast<Offset>(from - by);
        return left > from ? Offset{0} : left;  // compilers use the carry of the subtraction
    }
    /// Returns the granules that may wait because the room is ample.
    [[nodiscard]] Offset spare() const noexcept {
        if constexpr (!has_spare) return 0;
        else {
            const Offset beyond = less(ample_.room, static_cast<Offset>(taken_ + taken_ * 3 / 4));
            const Offset growing = std::min(beyond, static_cast<Offset>(taken_ / Spare));
            return is_below_passed_peak() ? std::max(growing, below_passed_peak()) : growing;
        }
    }
    void renew_to(Offset bound) noexcept {
        if (bound > unbounded) bound = unbounded;
        credit_ = static_cast<credit_type>(bound - waits());
        bound_ = bound;
    }

    credit_type credit_ = 0;  // `bound_` without the blocks that wait
    Offset bound_ = 0;        // the blocks that deallocations keep
    Offset taken_ = 0;        // blocks that the strategy allocated
    Offset peak_ = 0;         // of the small blocks that are in use
    Offset small_ = 0;        // blocks of at most `Last` granules that the strategy allocated
    struct ample {
        Offset room = 0;   // all extents
        Offset peak = 0;   // of all blocks that are in use
        Offset most = 0;   // five quarters of the peak, once less than a quarter of it was in use in an ample room
        Offset large = 0;  // waiting blocks of more than `Last` granules
    };
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<has_spare, ample, no_room> ample_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
