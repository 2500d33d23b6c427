// SPDX-License-Identifier: BSL-1.0
// size_lists: the sizes of the lists in which wrappers keep freed blocks.
//
// Internal. The first list has the smallest size. Between a power of two and the next one are `steps` lists at equal
// distances:
//
//     smallest = 64, steps = 4:   64   80   96   112   128   160   192   224   256   320  …  largest
//
// Complexity: O(1), except for `usable`, which is O(lists).
//
// Thread safety: pure functions.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/core/detail/aligned_in_place.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The parameters of the lists. `smallest`, `largest`, `steps` and `align` are powers of two.
struct size_lists_shape {
    std::size_t smallest, largest, steps;
    std::size_t align;  // of every kept block
    friend constexpr bool operator==(const size_lists_shape&, const size_lists_shape&) = default;

    [[nodiscard]] constexpr bool is_valid() const noexcept {
        return is_alignment(smallest) && is_alignment(largest) && is_alignment(steps) && is_alignment(align) &&
               steps <= smallest && smallest <= largest;
    }
};

template <class Block>
[[nodiscard]] constexpr Block with_size(Block of, std::size_t size) noexcept {
    of.size = size;
    return of;
}

template <size_lists_shape Shape>
struct size_lists {
private:
    /// Returns the binary logarithm, rounded down. Precondition: `number != 0`.
    static constexpr unsigned log2(std::size_t number) noexcept { return highest_one(number); }
    static constexpr unsigned first_power = log2(Shape.smallest), last_power = log2(Shape.largest);
    static constexpr unsigned step_bits = log2(Shape.steps);
    /// Returns the logarithm of the power of two below a size, which must be larger than `smallest`.
    [[nodiscard]] static constexpr unsigned power_below(std::size_t size) noexcept { return log2(size - 1); }

public:
    static constexpr std::size_t count = (last_power - first_power) * Shape.steps + 1;

    /// Returns the size of the list of a size, or the size itself if it has no list.
    [[nodiscard]] static constexpr std::size_t round_up(std::size_t size) noexcept {
        if (size > Shape.largest) return size;
        if (size <= Shape.smallest) return Shape.smallest;
        return align_up(size, std::size_t{1} << (power_below(size) - step_bits));
    }
    [[nodiscard]] static constexpr layout round_up(layout wanted) noexcept {
        if (wanted.size > Shape.largest) return wanted;
        return {round_up(wanted.size), wanted.align < Shape.align ? Shape.align : wanted.align};
    }
    /// Returns the size of the largest list up to a size, or 0. Larger sizes without a list are unchanged.
    [[nodiscard]] static constexpr std::size_t round_down(std::size_t size) noexcept {
        if (size > Shape.largest) return size;
        if (size < Shape.smallest) return 0;
        return align_down(size, std::size_t{1} << (log2(size) - step_bits));
    }
    /// Returns the number of the list of a size. Precondition: it has one.
    [[nodiscard]] static constexpr std::size_t list_of(std::size_t size) noexcept {
        if (size <= Shape.smallest) return 0;
        const unsigned power = power_below(size);
        const std::size_t steps = (size - 1) >> (power - step_bits);  // from Shape.steps on
        return (power - first_power) * Shape.steps + steps - Shape.steps + 1;
    }
    static_assert(list_of(Shape.largest) == count - 1);
    /// Returns the size of a list.
    [[nodiscard]] static constexpr std::size_t size_of(std::size_t list) noexcept {
        if (list == 0) return Shape.smallest;
        const std::size_t power = first_power + (list - 1) / Shape.steps, step = (list - 1) % Shape.steps + 1;
        return (std::size_t{1} << power) + (step << (power - step_bits));
    }
    static_assert(size_of(count - 1) == Shape.largest);

    /// Returns a block with the size of its list.
    template <class Block>
    [[nodiscard]] static constexpr Block whole_block(const Block& held) noexcept {
        return held ? with_size(held, round_up(held.size)) : held;
    }
    /// Returns whether a block can get a size. If it enters the lists by that, it needs their alignment, which a
    /// request without a list does not have.
    template <class Allocator>
    [[nodiscard]] static bool can_resize(Allocator& of, const block_of<Allocator>& held, std::size_t size) noexcept {
        return held.size <= Shape.largest || size > Shape.largest || is_aligned_in_place(of, held, Shape.align);
    }
    /// Returns the size that one request can get from a hole of an allocator, whose address is not known.
    template <class Allocator>
    [[nodiscard]] static std::size_t usable(Allocator& of, std::size_t hole) noexcept {
        std::size_t size = round_down(hole);
        while (size != 0 && size <= Shape.largest && of.diagnose({size, Shape.align}).reason != refusal::none)
            size = round_down(size - 1);
        return size;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
