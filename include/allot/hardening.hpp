// hardening: how far a wrong deallocation is caught.
//
//     none      nothing is stored and nothing is checked
//     checked   every live block is known: a block that is foreign, freed before or of another size is reported and
//               otherwise ignored, so that nothing is corrupted
//     debug     the same; freed bytes are overwritten where the host can reach them, and blocks that are still live
//               when the arena ends are reported
//
// Checked arenas take one record of about 64 bytes from the host heap per live block, and O(log live) per call; a heap
// that gives none is a refusal. Not synchronised.
#pragma once

#include <allot/core/block.hpp>
#include <allot/core/options.hpp>

#include <boost/intrusive/set.hpp>

#include <cstdlib>
#include <new>
#include <utility>

namespace allot::inline v1 {

enum class misuse : unsigned char {
    foreign_block,  // the block lies in no region of this arena
    not_live,       // it lies in one, but no such block is live: freed before, or its address was changed
    wrong_size,     // such a block is live, with another size or ticket
    leaked,         // still live when the arena ended (debug), or when a storage's body did
    killed_before,  // a tensor or storage was killed or used after it was killed
};

/// The default misuse handler. A handler is a type whose objects are called for every misuse with the block's position
/// (its address, or its offset beside a handle) and size. When it returns, the misused call has changed nothing.
struct abort_on_misuse {
    [[noreturn]] void operator()(misuse, std::size_t, std::size_t) const noexcept { std::abort(); }
};

/// The blocks that are live, by position.
template <class Block>
class live_blocks {
    struct record : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
        Block held;
        std::size_t position;
        std::uint64_t order;  // which allocation it was, counted from the first
    };
    struct by_position {
        using type = std::size_t;
        type operator()(const record& r) const noexcept { return r.position; }
    };
    using set = boost::intrusive::multiset<record, boost::intrusive::key_of_value<by_position>>;

public:
    live_blocks() noexcept = default;
    live_blocks(live_blocks&&) noexcept = default;
    ~live_blocks() { clear(); }

    /// False when the heap gives no record.
    [[nodiscard]] bool add(const Block& held, std::size_t position) noexcept {
        auto* const fresh = new (std::nothrow) record;
        if (fresh == nullptr) return false;
        fresh->held = held;
        fresh->position = position;
        fresh->order = count_++;
        blocks_.insert(*fresh);
        return true;
    }

    enum class answer : unsigned char { live, other_size, unknown };

    /// Whether exactly this block is live, or one at the same address.
    [[nodiscard]] answer find(const Block& held, std::size_t position) const noexcept {
        auto [first, last] = blocks_.equal_range(position);
        answer best = answer::unknown;
        for (; first != last; ++first) {
            if (first->held == held) return answer::live;
            if (first->held.address == held.address) best = answer::other_size;
        }
        return best;
    }

    /// True when exactly this block is live; otherwise the misuse is reported. `in_reach`: it lies in this memory.
    template <class OnMisuse>
    [[nodiscard]] bool check(const Block& held, std::size_t position, bool in_reach) const noexcept {
        const answer known = find(held, position);
        if (known == answer::live) return true;
        OnMisuse{}(known == answer::other_size ? misuse::wrong_size
                   : in_reach                  ? misuse::not_live
                                               : misuse::foreign_block,
                   position, held.size);
        return false;
    }

    /// Forgets a block. Precondition: it is live.
    void remove(const Block& held, std::size_t position) noexcept {
        auto [first, last] = blocks_.equal_range(position);
        while (first->held != held) ++first;
        blocks_.erase_and_dispose(first, [](record* r) { delete r; });
    }
    /// A block has another size now. Precondition: it is live.
    void resize(const Block& held, std::size_t position, std::size_t size) noexcept {
        auto first = blocks_.equal_range(position).first;
        while (first->held != held) ++first;
        first->held.size = size;
    }

    /// How many blocks were ever added: what `clear_since` takes.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// Forgets the blocks that were added when `count` was `since` or more.
    void clear_since(std::uint64_t since) noexcept {
        for (auto r = blocks_.begin(); r != blocks_.end();)
            r = r->order < since ? ++r : blocks_.erase_and_dispose(r, [](record* gone) { delete gone; });
    }
    void clear() noexcept {
        blocks_.clear_and_dispose([](record* r) { delete r; });
    }

    template <class Function>
    void for_each(Function&& call) const noexcept {
        for (const record& r : blocks_) call(r.held, r.position);
    }

private:
    set blocks_;
    std::uint64_t count_ = 0;
};

}  // namespace allot::inline v1
