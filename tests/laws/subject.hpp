// A subject: whatever hands out memory, as the laws see it. Coats for arenas and strategies are in adapters.hpp.
#pragma once

#include <allot/core/diagnosis.hpp>
#include <allot/core/strategy.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace laws {

using allot::layout;
using allot::reclaim;
using allot::refusal;
using number = std::uint64_t;
using id = std::size_t;  // which block of a subject: they are counted from 0

inline constexpr id nothing = ~id{0};

struct broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Memory that a subject manages: one region, or one extent. `start` is a number whose divisibility is the alignment
/// of the first byte, up to `known_align`: beyond that nobody knows.
struct space {
    number start = 0, size = 0;
    number known_align = number{1} << 63;
    friend bool operator==(const space&, const space&) = default;
};

/// A run of one space, counted from its first byte. `bytes` is null where the host must not touch them, or where they
/// are not the holder's to write.
struct piece {
    std::size_t space = 0;
    number at = 0, size = 0;
    std::byte* bytes = nullptr;
    bool aligned = true;  // as the layout asked
    bool reused = false;  // once given back, whatever becomes of the block's other pieces
};

/// Which free bytes a strategy looks at.
enum class holes {
    anywhere,  // every run between blocks
    above,     // behind the last block
    below,     // before the first block
    between,   // behind the last small block and before the first large one: two ends
    ring,      // behind the newest block, and before the oldest where that is not behind it
    slots,     // whole slots
};

/// What a subject promises. A law asks no more than this.
/// What strategies with records cut memory into.
struct node_shape {
    number header = 0;   // bytes in front of each block
    number granule = 1;  // sizes, and places of what holders use, are multiples of it
    number least = 1;    // the size of the smallest node
    number tail = 0;     // bytes lost at the end of an extent
    number first_align = 1, end_align = 1;  // what the ends of what is used of an extent are multiples of
};

struct contract {
    reclaim reclaims = reclaim::any;
    bool exact = true;         // refuses only when none of its holes fits
    laws::holes holes = laws::holes::anywhere;
    number large = 0;          // holes::between: sizes from this on belong to the upper end
    number slot = 0, slot_align = 1, slot_count = ~number{0};  // holes::slots
    node_shape nodes;
    std::size_t records = 0;   // of a side table with a fixed number of them; 0 for any number
    bool in_order = false;     // blocks are given back in the order that is reclaimed only: others are reported
    bool gives_back = false;   // a refusal may give back what it took, or what waits: places may differ later, bytes may not
    bool grows = false;
    bool in_place = false;     // grows, by one region that changes its size
    bool one_by_one = false;   // grows, and only uses the newest region and those behind it
    bool claims = false, resizes = false, resets = false, marks = false, trims = false, removes = false;
    number largest_offset = ~number{0};
};

/// What the laws ask of a subject. Calls come only where the contract has them.
class subject {
public:
    explicit subject(const laws::contract& promised) : contract{promised} {}
    subject(const subject&) = delete;
    subject& operator=(const subject&) = delete;
    virtual ~subject() = default;

    const laws::contract contract;

    [[nodiscard]] virtual id allocate(layout wanted) = 0;  // `nothing` when refused
    virtual void deallocate(id held) = 0;
    [[nodiscard]] virtual number capacity(id held) = 0;
    [[nodiscard]] virtual allot::diagnosis diagnose(layout wanted) = 0;
    [[nodiscard]] virtual std::vector<piece> pieces(id held) = 0;  // their sizes: what the holder may use
    [[nodiscard]] virtual std::vector<space> spaces() = 0;         // one that is not held has no size

    [[nodiscard]] virtual bool honours(number) { return true; }          // can the bases be so aligned?
    [[nodiscard]] virtual bool may_grow(layout) { return false; }        // is another region within every limit?
    [[nodiscard]] virtual number largest_region() { return 0; }          // that the one region may grow to in place
    [[nodiscard]] virtual std::size_t acquisitions() { return 0; }       // tried, also those that were refused
    [[nodiscard]] virtual std::size_t device_refusals() { return 0; }
    [[nodiscard]] virtual long device_error() { return 0; }
    [[nodiscard]] virtual number held_from_device() { return 0; }        // as the device counts it
    [[nodiscard]] virtual number limit() { return ~number{0}; }
    [[nodiscard]] virtual number bytes_for(number, layout) { return 0; }
    /// The subject is moved to another object, as a user may move an arena.
    virtual void move() {}

    [[nodiscard]] virtual id allocate_at(std::size_t, number, number) { return nothing; }
    [[nodiscard]] virtual allot::diagnosis diagnose_at(std::size_t, number, number) { return {}; }
    [[nodiscard]] virtual bool resize(id, number) { return false; }
    virtual void reset() {}
    [[nodiscard]] virtual std::size_t mark() { return 0; }
    virtual void rollback(std::size_t) {}
    [[nodiscard]] virtual number trim() { return 0; }
    [[nodiscard]] virtual bool remove(std::size_t) { return false; }
    [[nodiscard]] virtual bool insert(std::size_t) { return false; }
};

/// What kind of subject a driver wants.
struct variant {
    number bytes = 0;         // of memory; 0 for as much as the row has by itself
    bool elsewhere = false;   // at other addresses, or behind other handles, of the same alignment
    bool aligned = false;     // to a whole page
    std::size_t fail_on = 0;  // the acquisition that the device refuses, counted from 1; 0 for none
};
using maker = std::function<std::unique_ptr<subject>(variant)>;

}  // namespace laws
