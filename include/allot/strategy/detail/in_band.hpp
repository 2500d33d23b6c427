// SPDX-License-Identifier: BSL-1.0
// in_band_nodes: a node store that keeps its records in the managed memory, which the host can access.
//
//     used   │ size·flags │ the caller's bytes ………………………… │
//     hole   │ size·flags │ next │ prev │ ………………… │ size   │
//                                   │               └ read by the neighbor above in order to join
//                                   └ or the number of the list, in its first hole
//
// A node is a block or a hole. It starts one word before the bytes that the caller uses. The two low bits of its size
// are flags: "in use" and "the node below is in use". With words of 32 bits or more, a third flag is "waits"
// (deferred.hpp). A hole repeats its size in its last word. A used word of size 0 ends every extent, so that no hole
// joins across the end.
//
// Memory: one word for every block and one to three words for every extent. Sizes are rounded up to two words. The
// smallest node is four words. A block needs no metadata. Offsets have at least 16 bits, because a word of one byte has
// no two unused low bits.
//
// Thread safety: not synchronized, except `size_of_live` with `best_fit_options::unlocked_capacity`: the owner of a
// block can call it while other threads change the extent one after another, under a lock that the owner does not have.
//
//     thread 1 (owner of b)     thread 2, under the lock: frees or allocates the node below b
//     read b: size·?            write b: size·other flag
//
// The size of `b` is written before its owner gets the address. Until the owner frees or resizes it, others write only
// its flag "the node below is in use", and keep the size, which they read after the former write: the lock orders them.
// Both accesses are atomic, so that the owner reads one of these values. All of them have the same size, so that no
// order is needed between the two threads, and both accesses are relaxed.
//
// Source: D. Knuth, The Art of Computer Programming 1, section 2.5, algorithm C ("boundary tags").
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/detail/sanitizer.hpp>
#include <allot/core/extent.hpp>
#include <allot/core/strategy.hpp>

#include <bit>
#include <cstring>

namespace allot {
inline namespace v1 {
namespace detail {

/// Metadata of a block whose record precedes it: empty.
struct in_band_metadata {
    /// Returns true: there is one value.
    friend constexpr bool operator==(in_band_metadata, in_band_metadata) = default;
};

/// Node store with boundary tags in the managed memory. `IsRead`: owners read the sizes of their blocks at any time.
template <std::unsigned_integral Offset, class Memory, bool IsRead = false>
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
    static constexpr Offset header = word;         // bytes of a block before the caller's bytes
    static constexpr Offset granule = 2 * word;    // divides sizes, and the offsets of the caller's bytes
    static constexpr Offset min_hole = 4 * word;   // the smallest hole that can be recorded
    static constexpr Offset tail = word;           // bytes that are not used at the end of an extent
    static constexpr unsigned extent_records = 0;  // records that a new extent takes
    static constexpr unsigned block_records = 0, hole_records = 0;

    /// Returns true: no record is in a table.
    [[nodiscard]] static constexpr bool can_record(std::uint64_t, std::uint64_t) noexcept { return true; }

    /// Returns true if an alignment is one that all blocks have.
    [[nodiscard]] ALLOT_INLINE static constexpr bool is_any_alignment(Offset align) noexcept {
        // The bit of each alignment up to the granule. One test of a bit rejects 0 and the other numbers.
        constexpr Offset bits = [] {
            Offset all = 0;
            for (Offset each = 1; each <= granule; each = static_cast<Offset>(each * 2))
                all = static_cast<Offset>(all | Offset{1} << each);
            return all;
        }();
        return align <= granule && (bits >> align & 1) != 0;
    }
    /// Returns the size of the largest node in an extent of `bytes`.
    [[nodiscard]] static constexpr Offset largest_node(Offset bytes) noexcept {
        return bytes < tail ? 0 : align_down<Offset>(static_cast<Offset>(bytes - tail), granule);
    }
    /// Returns the size of the node for a block of `size` bytes; 0 if `size` is 0 or if the node is larger than
    /// `Largest`. Precondition: `Largest` is the size of a node.
    template <Offset Largest>
    [[nodiscard]] static constexpr Offset node_size(Offset size) noexcept {
        if (static_cast<Offset>(size - 1) >= Largest - header) return 0;  // size 0 wraps and is rejected as well
        const Offset whole = align_up<Offset>(size + header, granule);
        return whole < min_hole ? min_hole : whole;
    }
    /// Returns the part of an extent that nodes can fill; empty if the extent is too small.
    [[nodiscard]] static constexpr basic_extent<Offset> usable(basic_extent<Offset> where) noexcept {
        Offset first = 0;
        if (!checked_add<Offset>(where.offset, word, first) || !checked_align_up<Offset>(first, granule, first))
            return {};
        first -= word;
        const Offset last = align_down<Offset>(where.end(), granule);
        if (last < where.offset || last < first + word || last - word - first < min_hole) return {};
        return {first, static_cast<Offset>(last - word - first)};
    }

    /// Makes one hole of `where`, which is a result of `usable`.
    [[nodiscard]] node insert(basic_extent<Offset> where, Memory memory) noexcept {
        memory_ = memory;
        write(where.end(), in_use | below_in_use);
        write(where.offset, where.size | below_in_use);
        return where.offset;
    }
    void remove(node) noexcept {}

    [[nodiscard]] static constexpr bool knows_end() noexcept { return true; }
    /// Returns the hole at the end of the extent; `none` if the extent ends with a block.
    [[nodiscard]] node last_hole(basic_extent<Offset> where) const noexcept { return hole_before(where.end()); }
    /// Extends the extent by `more` bytes. Returns the hole at its end.
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
    /// Shortens the extent by `less` bytes. Returns the rest of the hole at its end, or `none`. Precondition: that hole
    /// has at least `less` bytes and does not fill the extent.
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
    /// Returns the extent of a block with its header.
    [[nodiscard]] basic_extent<Offset> block_extent(node of) const noexcept { return {offset(of), size(of)}; }
    /// Returns the size of a live block, also while other threads change flags in its first word.
    [[nodiscard]] Offset size_of_live(node of) const noexcept {
        if constexpr (is_atomic) return ALLOT_LOAD_RELAXED(shared(of)) & ~flags;
        else return size(of);
    }
    /// Returns true if the first word of a node is that of a block that does not wait, also while other threads change
    /// another flag in it.
    [[nodiscard]] bool is_live(node of) const noexcept {
        if constexpr (is_atomic) return is_allocated(ALLOT_LOAD_RELAXED(shared(of)));
        else return is_allocated(read(of));
    }
    /// Clears the first word of a freed block that joined the hole below it, so that `is_live` returns false.
    void forget_freed(node of) noexcept {
        if (is_live(of)) write(of, 0);
    }
    [[nodiscard]] node next(node of) const noexcept { return read(of + word); }
    [[nodiscard]] node prev(node of) const noexcept { return read(of + 2 * word); }
    void set_next(node of, node to) noexcept { write(of + word, to); }
    void set_prev(node of, node to) noexcept { write(of + 2 * word, to); }
    // The first hole of a list has the list's number instead of a previous hole. Nodes are even, as words are.
    [[nodiscard]] static constexpr node number_of_list(unsigned list) noexcept {
        return static_cast<node>(list * 2 + 1);
    }
    [[nodiscard]] static constexpr bool is_number_of_list(node prev) noexcept { return (prev & 1) != 0; }
    [[nodiscard]] static constexpr unsigned list_of(node number) noexcept { return static_cast<unsigned>(number / 2); }

    [[nodiscard]] node hole_before(node of) const noexcept {
        return (read(of) & below_in_use) != 0 ? none : of - read(of - word);
    }
    [[nodiscard]] node hole_after(node of) const noexcept {
        const node above = of + size(of);
        return (read(above) & in_use) != 0 ? none : above;
    }

    /// Loads the first words of a node into the cache, for a later access. `none` is permitted.
    ALLOT_INLINE void prefetch(node of) const noexcept {
        if constexpr (std::same_as<Memory, addressed_memory>) ALLOT_PREFETCH(memory_.at(of));
    }

    // The first word of a node, for callers that read it once.
    [[nodiscard]] ALLOT_INLINE Offset record(node of) const noexcept { return read(of); }
    [[nodiscard]] static constexpr Offset size_in(Offset record) noexcept { return record & ~flags; }
    [[nodiscard]] static constexpr bool is_hole(Offset record) noexcept { return (record & in_use) == 0; }
    /// Returns the size of the hole below a node. Precondition: a hole is there.
    [[nodiscard]] ALLOT_INLINE Offset size_below(node of) const noexcept { return read(of - word); }
    /// Changes the size of a hole that ends where another one ended.
    ALLOT_INLINE void grow_hole(node of, Offset size) noexcept {
        write(of, flagged(size, below_in_use));
        write(static_cast<Offset>(of + size - word), size);
    }

    // For `deferred`: the mark of a waiting block. Every change of the block's size clears the mark.
    [[nodiscard]] static constexpr Offset granules(Offset record) noexcept { return record / granule; }
    /// Returns the granules of a block that does not wait, above another block. For other records, returns at least a
    /// quarter of the offset type's range, because the flags become the highest bits.
    [[nodiscard]] static constexpr Offset granules_above_block(Offset record) noexcept {
        return std::rotr(static_cast<Offset>(record ^ (in_use | below_in_use)), std::countr_zero(granule));
    }
    [[nodiscard]] static constexpr bool is_above_hole(Offset record) noexcept { return (record & below_in_use) == 0; }
    [[nodiscard]] ALLOT_INLINE bool is_below_hole(node of, Offset record) const noexcept {
        return (read(static_cast<node>(of + (record & ~flags))) & in_use) == 0;
    }
    ALLOT_INLINE void set_waiting(node of, Offset record) noexcept { write(of, record | waits); }
    ALLOT_INLINE void clear_waiting(node of) noexcept {
        if constexpr (waits != 0) write(of, read(of) & ~waits);
    }
    /// Makes a waiting block of bytes of a block above another one.
    ALLOT_INLINE void make_waiting(node of, Offset size) noexcept {
        write(of, flagged(size, in_use | below_in_use | waits));
    }
    /// Makes a block smaller. The caller makes blocks of the bytes above.
    ALLOT_INLINE void shrink(node of, Offset size) noexcept { write(of, size | (read(of) & flags)); }
    /// Returns the neighbor above if it is marked as waiting, otherwise `none`.
    [[nodiscard]] node waiting_after(node of) const noexcept {
        const node above = of + size(of);
        return (read(above) & waits) != 0 ? above : none;
    }

    /// Marks all of a hole as used.
    ALLOT_INLINE void mark_whole_used(node hole, Offset size) noexcept {
        write(hole, flagged(size, in_use | below_in_use));
        write_flags(hole + size, read(hole + size) | below_in_use);
    }
    ALLOT_INLINE void mark_used(node of, Offset size) noexcept {
        write(of, size | in_use | (read(of) & below_in_use));
        write_flags(of + size, read(of + size) | below_in_use);
    }
    /// Records a hole. The node below a hole is in use, because adjacent holes join.
    ALLOT_INLINE void mark_hole(node of, Offset size) noexcept {
        const node above = of + size;
        write(of, flagged(size, below_in_use));
        write(above - word, size);
        write_flags(above, read(above) & ~below_in_use);
    }

    /// Records a hole in place of a block. The node below is in use.
    ALLOT_INLINE void mark_block_free(node of, Offset record) noexcept {
        const Offset size = record & ~flags;
        const node above = of + size;
        write(of, record & ~(in_use | waits));
        write(above - word, size);
        write_flags(above, read(above) & ~below_in_use);
    }

    /// Splits `of` after `size` bytes and returns the second part. The caller then marks both parts.
    [[nodiscard]] node split(node of, Offset size) noexcept {
        write(of + size, in_use | below_in_use);
        return of + size;
    }
    /// Cuts a block of `size` bytes from the front of a hole. The rest is a hole that is in no list yet.
    [[nodiscard]] ALLOT_INLINE cut cut_front(node hole, Offset size, Offset left) noexcept {
        const node rest = hole + size;
        write(hole, flagged(size, in_use | below_in_use));
        write(rest, flagged(left, below_in_use));
        write(static_cast<Offset>(rest + left - word), left);
        return {hole, rest};
    }
    /// Returns true if the records of a block and of its neighboring holes are consistent. Overwritten records are
    /// inconsistent except with a probability of about one in some thousand. Precondition: all of `inside` is readable.
    [[nodiscard]] bool is_sound(node of, basic_extent<Offset> inside) const noexcept {
        const auto room = static_cast<Offset>(inside.end() - of);
        const Offset own = size(of);
        if (own < min_hole || own > room || room - own < word) return false;
        return size(of + own) <= room - own - word && is_sound_beside(of, inside);
    }
    /// The same for a block whose size is right. Compares the sizes of holes only.
    [[nodiscard]] ALLOT_INLINE bool is_sound_beside(node of, basic_extent<Offset> inside) const noexcept {
        constexpr Offset low = granule - 1;  // no size has these bits
        const Offset head = read(of);
        if ((head & low & ~below_in_use) != in_use) return false;
        const node above = of + (head & ~low);
        const Offset next = read(above);
        if ((next & low & ~waits) != (in_use | below_in_use) && !is_hole_above(above, next, inside)) return false;
        return (head & below_in_use) != 0 || is_hole_below(of, inside);
    }

    /// Returns true if a node of at most `most` granules and the node above are blocks, and no hole is below. Stores
    /// the first word. A waiting block is one above, and not one here.
    [[nodiscard]] ALLOT_INLINE bool is_between_blocks(node of, Offset most, Offset& record) const noexcept {
        record = read(of);
        // Other flags are a large number of granules. The difference is one for no granules as well.
        if (static_cast<Offset>(granules_above_block(record) - 1) >= most) [[unlikely]]
            return false;
        if ((read(of + size_between_blocks(record)) & (granule - 1) & ~waits) != (in_use | below_in_use)) [[unlikely]]
            return false;
        return true;
    }
    /// Returns the size in such a word.
    [[nodiscard]] ALLOT_INLINE static constexpr Offset size_between_blocks(Offset record) noexcept {
        return static_cast<Offset>(record - (in_use | below_in_use));
    }

    /// Calls `f(node, is_used)` for each node of an extent in ascending order. `where` is a result of `usable`. Stops
    /// at a record that is overwritten with 0.
    template <class Function>
    void for_each(basic_extent<Offset> where, Function f) const noexcept {
        for (node n = where.offset; n < where.end() && size(n) != 0; n += size(n)) f(n, (read(n) & in_use) != 0);
    }

    /// Calls `f(node, record)` for each node of an extent in ascending order, up to the first one whose size is
    /// impossible: its record is 0 for `f`. `where` is a result of `usable`.
    template <class Function>
    void for_each_record(basic_extent<Offset> where, Function f) const noexcept {
        for (node n = where.offset; n != where.end();) {
            const Offset record = read(n), own = size_in(record), room = where.end() - n;
            const bool possible =
                own >= min_hole && own <= room && own % granule == 0 && (own == room || room - own >= min_hole);
            f(n, possible ? record : 0);
            if (!possible) return;
            n += own;
        }
    }
    /// Returns true if a record is that of a block that does not wait.
    [[nodiscard]] static constexpr bool is_allocated(Offset record) noexcept {
        return (record & (in_use | waits)) == in_use;
    }

    /// Joins `second` to `first`, which precedes it. The caller then marks `first`.
    static void join(node, node) noexcept {}

private:
    [[nodiscard]] ALLOT_NOINLINE bool is_hole_above(node above, Offset record,
                                                    basic_extent<Offset> inside) const noexcept {
        const Offset own = size_in(record), room = inside.end() - above;
        return record == (own | below_in_use) && own % granule == 0 && own >= min_hole && own < room &&
               room - own >= word && read(above + own - word) == own && (read(above + own) & below_in_use) == 0;
    }
    [[nodiscard]] ALLOT_NOINLINE bool is_hole_below(node of, basic_extent<Offset> inside) const noexcept {
        const Offset less = read(of - word);
        return less >= min_hole && less % granule == 0 && less <= of - inside.offset &&
               read(of - less) == (less | below_in_use);
    }

    static constexpr Offset in_use = 1, below_in_use = 2, waits = granule > 4 ? 4 : 0, flags = 3 | waits;

    /// Returns the first word of a node. Sizes have no bits of flags: a sum takes one instruction less than `|`.
    [[nodiscard]] ALLOT_INLINE static constexpr Offset flagged(Offset size, Offset bits) noexcept {
        return static_cast<Offset>(size + bits);
    }

    // Where offsets are addresses, every word is aligned. Without this assumption, the compiler calls a function for
    // every word on a core without unaligned access, such as a Cortex-M0.
    static constexpr std::size_t word_align = std::same_as<Memory, addressed_memory> ? word : 1;

    [[nodiscard]] Offset read(Offset at) const noexcept {
        if constexpr (sanitizer::is_on) return sanitizer::read_record<Offset>(memory_.at(at));
        Offset value;
        std::memcpy(&value, ALLOT_ASSUME_ALIGNED(memory_.at(at), word_align), sizeof value);
        return value;
    }
    void write(Offset at, Offset value) noexcept {
        if constexpr (sanitizer::is_on) return sanitizer::write_record(memory_.at(at), value);
        std::memcpy(ALLOT_ASSUME_ALIGNED(memory_.at(at), word_align), &value, sizeof value);
    }

    /// Changes flags of the node above, which can be a block whose owner reads the word (`size_of_live`).
    void write_flags(Offset at, Offset value) noexcept {
        if constexpr (is_atomic) ALLOT_STORE_RELAXED(shared(at), value);
        else write(at, value);
    }

    static constexpr bool is_atomic = IsRead && !sanitizer::is_on;
    static_assert(!is_atomic || (ALLOT_HAS_ATOMIC_WORDS && std::same_as<Memory, addressed_memory> &&
                                 sizeof(Offset) <= sizeof(void*)),
                  "allot: best_fit_options::unlocked_capacity is for records at addresses, on processors that load and "
                  "store a pointer atomically: leave it out");
    using shared_word ALLOT_ALIAS = Offset;
    [[nodiscard]] volatile shared_word* shared(Offset at) const noexcept {
        return static_cast<volatile shared_word*>(static_cast<void*>(memory_.at(at)));
    }

    ALLOT_NO_UNIQUE_ADDRESS Memory memory_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
