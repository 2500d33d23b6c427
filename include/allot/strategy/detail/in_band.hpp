// SPDX-License-Identifier: BSL-1.0
// in_band_nodes: the node store that keeps its records inside the memory, where the host can reach it.
//
//     used   │ size·flags │ what the caller uses ………………… │
//     hole   │ size·flags │ next │ prev │ ………………… │ size   │
//                                                   └ read by the neighbour above, to join
//
// A node starts one word before what its holder uses. The two low bits of its size say "in use" and "the node below is
// in use", and with words of 32 bits or more a third says "waits" (deferred); a hole repeats its size in its last word. A used word of size 0 ends every extent, so that nothing joins
// across its end. Memory: one word a block, sizes rounded up to two words, one to three words an extent; the smallest
// node is four words. A block needs no metadata. Offsets have 16 bits or more: words of one byte have no two low bits left.
// Not synchronised.
// Source: D. Knuth, The Art of Computer Programming 1, section 2.5, algorithm C ("boundary tags").
#pragma once

#include <allot/core/detail/inlining.hpp>
#include <allot/core/extent.hpp>
#include <allot/core/strategy.hpp>

#include <cstring>

namespace allot {
inline namespace v1 {
namespace detail {

/// The metadata of a block whose record is in front of it.
struct in_band_metadata {
    friend constexpr bool operator==(in_band_metadata, in_band_metadata) = default;
};

template <std::unsigned_integral Offset, class Memory>
class in_band_nodes {
    static constexpr Offset word = sizeof(Offset);

public:
    using node = Offset;  // the offset of the node's first word
    using metadata_type = in_band_metadata;
    using memory_type = Memory;
    struct cut {
        node block, hole;
    };
    static constexpr node none = std::numeric_limits<Offset>::max();
    static constexpr Offset header = word;
    static constexpr Offset granule = 2 * word;
    static constexpr Offset min_hole = 4 * word;
    static constexpr Offset tail = word;
    static constexpr unsigned extent_records = 0;

    /// Bytes of the largest node that an extent of `bytes` can have.
    [[nodiscard]] static constexpr Offset largest_node(Offset bytes) noexcept {
        return bytes < tail ? 0 : align_down<Offset>(static_cast<Offset>(bytes - tail), granule);
    }
    /// Bytes of the node that serves `size`; 0 for size 0, and for a node larger than `Largest`, which is a node's size.
    template <Offset Largest>
    [[nodiscard]] static constexpr Offset node_size(Offset size) noexcept {
        if (static_cast<Offset>(size - 1) >= Largest - header) return 0;  // size 0 too
        const Offset whole = align_up<Offset>(size + header, granule);
        return whole < min_hole ? min_hole : whole;
    }
    [[nodiscard]] static constexpr basic_extent<Offset> usable(basic_extent<Offset> where) noexcept {
        Offset first = 0;
        if (!checked_add<Offset>(where.offset, word, first) || !checked_align_up<Offset>(first, granule, first))
            return {};
        first -= word;
        const Offset last = align_down<Offset>(where.end(), granule);
        if (last < where.offset || last < first + word || last - word - first < min_hole) return {};
        return {first, static_cast<Offset>(last - word - first)};
    }

    [[nodiscard]] node insert(basic_extent<Offset> where, Memory memory) noexcept {
        memory_ = memory;
        write(where.end(), in_use | below_in_use);
        write(where.offset, where.size | below_in_use);
        return where.offset;
    }
    void remove(node) noexcept {}

    [[nodiscard]] static constexpr bool knows_end() noexcept { return true; }
    /// The hole that ends with the extent; `none` when a block does.
    [[nodiscard]] node last_hole(basic_extent<Offset> where) const noexcept { return hole_before(where.end()); }
    /// The extent is `more` longer: the hole at its end.
    [[nodiscard]] node extend(basic_extent<Offset> where, Offset more) noexcept {
        const Offset end = where.end();
        const node hole = last_hole(where);
        write(end + more, in_use | below_in_use);
        if (hole != none) {
            write(hole, read(hole) + more);
            return hole;
        }
        write(end, more | below_in_use);
        return end;
    }
    /// The extent is `less` shorter: what is left of the hole at its end, or `none`. Precondition: the hole has as much,
    /// and is not all of the extent.
    [[nodiscard]] node shorten(basic_extent<Offset> where, Offset less) noexcept {
        const node hole = last_hole(where);
        const Offset left = size(hole) - less;
        write(where.end() - less, in_use | below_in_use);
        if (left == 0) return none;
        write(hole, left | below_in_use);
        return hole;
    }

    [[nodiscard]] static constexpr bool room(unsigned) noexcept { return true; }
    [[nodiscard]] static constexpr bool has_room(unsigned) noexcept { return true; }

    [[nodiscard]] static constexpr node find(basic_allocation<Offset, metadata_type> allocation) noexcept {
        return allocation.where.offset - header;
    }
    [[nodiscard]] static constexpr metadata_type metadata(node) noexcept { return {}; }

    [[nodiscard]] static constexpr Offset offset(node of) noexcept { return of; }
    [[nodiscard]] Offset size(node of) const noexcept { return read(of) & ~flags; }
    [[nodiscard]] node next(node of) const noexcept { return read(of + word); }
    [[nodiscard]] node prev(node of) const noexcept { return read(of + 2 * word); }
    void set_next(node of, node to) noexcept { write(of + word, to); }
    void set_prev(node of, node to) noexcept { write(of + 2 * word, to); }

    [[nodiscard]] node hole_before(node of) const noexcept {
        return (read(of) & below_in_use) != 0 ? none : of - read(of - word);
    }
    [[nodiscard]] node hole_after(node of) const noexcept {
        const node above = of + size(of);
        return (read(above) & in_use) != 0 ? none : above;
    }

    // A mark of `deferred` on a block in use. Whatever changes the block's size takes it away.
    ALLOT_INLINE void set_waiting(node of) noexcept { write(of, read(of) | waits); }
    ALLOT_INLINE void clear_waiting(node of) noexcept { write(of, read(of) & ~waits); }
    /// The neighbour, when it waits; otherwise `none`.
    [[nodiscard]] node waiting_after(node of) const noexcept {
        const node above = of + size(of);
        return (read(above) & waits) != 0 ? above : none;
    }

    ALLOT_INLINE void mark_used(node of, Offset size) noexcept {
        write(of, size | in_use | (read(of) & below_in_use));
        write(of + size, read(of + size) | below_in_use);
    }
    /// What is below a hole is in use: holes join.
    ALLOT_INLINE void mark_hole(node of, Offset size) noexcept {
        const node above = of + size;
        write(of, size | below_in_use);
        write(above - word, size);
        write(above, read(above) & ~below_in_use);
    }

    /// Cuts `of` after `size`; the rest is a node of its own. Both parts have yet to be marked.
    [[nodiscard]] node split(node of, Offset size) noexcept {
        write(of + size, in_use | below_in_use);
        return of + size;
    }
    /// Cuts a block of `size` from the front of a hole; what is left is a hole, in no list.
    [[nodiscard]] ALLOT_INLINE cut cut_front(node hole, Offset size, Offset left) noexcept {
        const node rest = hole + size;
        write(hole, size | in_use | below_in_use);
        write(rest, left | below_in_use);
        write(static_cast<Offset>(rest + left - word), left);
        return {hole, rest};
    }
    /// Whether the records of a block and of the holes beside it agree, in memory of which all of `inside` may be read. Those
    /// that somebody wrote over do not, but for a chance of one in some thousand.
    [[nodiscard]] bool is_sound(node of, basic_extent<Offset> inside) const noexcept {
        const auto is_size = [](Offset s, Offset room) { return s % granule == 0 && s <= room && room - s >= word; };
        const Offset own = size(of), room = inside.end() - of;
        if ((read(of) & (in_use | waits)) != in_use || own < min_hole || !is_size(own, room)) return false;
        const node above = of + own;
        const Offset more = size(above);
        if ((read(above) & below_in_use) == 0 || !is_size(more, room - own)) return false;
        if ((read(above) & in_use) == 0 &&
            ((read(above) & waits) != 0 || more < min_hole || read(above + more - word) != more ||
             (read(above + more) & below_in_use) != 0))
            return false;
        if ((read(of) & below_in_use) != 0) return true;
        const Offset less = read(of - word);
        return less >= min_hole && less % granule == 0 && less <= of - inside.offset &&
               read(of - less) == (less | below_in_use);
    }

    /// `first` takes in `second`, which follows it, and has yet to be marked.
    static void join(node, node) noexcept {}

private:
    static constexpr Offset in_use = 1, below_in_use = 2, waits = granule > 4 ? 4 : 0, flags = 3 | waits;

    // Where offsets are addresses, words lie at multiples of a word: a core that reads them nowhere else, as a Cortex-M0, has
    // to know, or it calls a function for each.
    static constexpr std::size_t word_align = std::same_as<Memory, addressed_memory> ? word : 1;

    [[nodiscard]] Offset read(Offset at) const noexcept {
        Offset value;
        std::memcpy(&value, __builtin_assume_aligned(memory_.at(at), word_align), sizeof value);
        return value;
    }
    void write(Offset at, Offset value) noexcept {
        std::memcpy(__builtin_assume_aligned(memory_.at(at), word_align), &value, sizeof value);
    }

    [[no_unique_address]] Memory memory_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
