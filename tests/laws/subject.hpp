// A subject: an object that allocates memory, as the laws use it. adapters.hpp has adapters for arenas and strategies.
#pragma once

#include <allot/core/diagnosis.hpp>
#include <allot/core/strategy.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace laws {

using allot::layout;
using allot::reclaim;
using allot::refusal;
using number = std::uint64_t;
using id = std::size_t;  // number of a block of a subject, counted from 0

inline constexpr id nothing = ~id{0};

/// A law that does not hold, with the calls that led to it.
struct broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// Throws `broken`. Without exceptions, prints the law and ends the program.
[[noreturn]] inline void break_law(const std::string& law) {
#if defined(__cpp_exceptions)
    throw broken{law};
#else
    std::fprintf(stderr, "a law does not hold: %s\n", law.c_str());
    std::abort();
#endif
}
/// Calls a function and passes the text of a broken law on.
template <class Function, class Report>
void with_laws(Function&& function, [[maybe_unused]] Report&& report) {
#if defined(__cpp_exceptions)
    try {
        function();
    } catch (const broken& law) {
        report(std::string{law.what()});
    }
#else
    function();
#endif
}

/// Memory that a subject manages: one region or one extent. `start` is a number with the alignment of the first byte,
/// up to `known_align`. Larger alignments are unknown.
struct space {
    number start = 0, size = 0;
    number known_align = number{1} << 63;
    friend bool operator==(const space&, const space&) = default;
};

/// A range of one space, counted from its first byte. `bytes` is null where the host must not access the bytes, or
/// where they are not the caller's to write.
struct piece {
    std::size_t space = 0;
    number at = 0, size = 0;
    std::byte* bytes = nullptr;
    bool aligned = true;  // as the layout requests
    bool reused = false;  // after its deallocation, independently of the block's other pieces
};

/// The free bytes that a strategy uses.
enum class holes {
    anywhere,  // every range between blocks
    above,     // after the last block
    below,     // before the first block
    between,   // between the last small block and the first large one: two ends
    ring,      // after the newest block, and before the oldest if that is not after the newest
    slots,     // whole slots
};

/// Shape of the nodes of a strategy with records.
struct node_shape {
    number header = 0;                      // bytes before each block
    number granule = 1;                     // divides sizes, and the positions of the caller's bytes
    number least = 1;                       // size of the smallest node
    number behind = 0;                      // bytes after each block: the seal of a hardened arena
    number tail = 0;                        // bytes that are not used at the end of an extent
    number first_align = 1, end_align = 1;  // divide the ends of the used part of an extent
};

/// Properties of a subject. A law checks no others.
struct contract {
    reclaim reclaims = reclaim::any;
    bool exact = true;  // a request fails only if none of its holes fits
    laws::holes holes = laws::holes::anywhere;
    number large = 0;  // holes::between: sizes from this one on use the upper end
    number slot = 0, slot_align = 1, slot_count = ~number{0};  // holes::slots
    node_shape nodes;
    std::size_t records = 0;  // of a side table with a fixed number of them; 0 for any number
    bool in_order = false;    // blocks are freed only in the order of reuse; any other order is reported
    bool gives_back = false;  // a failure may free memory: later offsets may differ, contents may not
    bool releases = false;    // a failure may release regions without blocks
    bool grows = false;
    bool in_place = false;    // grows by one region that changes its size
    bool one_by_one = false;  // grows, and uses only the newest region and later ones
    bool claims = false, resizes = false, resets = false, marks = false, trims = false, removes = false;
    number largest_offset = ~number{0};
};

/// The calls of the laws to a subject. A call is made only if the contract permits it.
class subject {
public:
    explicit subject(const laws::contract& promised) : contract{promised} {}
    subject(const subject&) = delete;
    subject& operator=(const subject&) = delete;
    virtual ~subject() = default;

    const laws::contract contract;

    [[nodiscard]] virtual id allocate(layout wanted) = 0;  // `nothing` on failure
    virtual void deallocate(id held) = 0;
    [[nodiscard]] virtual number capacity(id held) = 0;
    [[nodiscard]] virtual allot::diagnosis diagnose(layout wanted) = 0;
    [[nodiscard]] virtual std::vector<piece> pieces(id held) = 0;  // with usable sizes
    [[nodiscard]] virtual std::vector<space> spaces() = 0;         // a space that is not held has size 0

    [[nodiscard]] virtual bool honours(number) { return true; }     // whether the bases support this alignment
    [[nodiscard]] virtual bool may_grow(layout) { return false; }   // whether another region is within every limit
    [[nodiscard]] virtual number largest_region() { return 0; }     // bound for the region that grows in place
    [[nodiscard]] virtual std::size_t acquisitions() { return 0; }  // attempts, including failed ones
    [[nodiscard]] virtual std::size_t device_refusals() { return 0; }
    [[nodiscard]] virtual long device_error() { return 0; }
    [[nodiscard]] virtual number held_from_device() { return 0; }  // as the device counts it
    [[nodiscard]] virtual number limit() { return ~number{0}; }
    [[nodiscard]] virtual number bytes_for(number, layout) { return 0; }
    /// Moves the subject to another object, as a user may move an arena.
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

/// Properties of a subject that a driver requests.
struct variant {
    number bytes = 0;         // of memory; 0 for the default of the row
    bool elsewhere = false;   // at other addresses, or in other handles, of the same alignment
    bool aligned = false;     // to a whole page
    std::size_t fail_on = 0;  // number of the acquisition that fails, counted from 1; 0 for none
};
using maker = std::function<std::unique_ptr<subject>(variant)>;

}  // namespace laws
