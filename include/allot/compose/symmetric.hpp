// SPDX-License-Identifier: BSL-1.0
// symmetric: an arena of which every rank has one, in the same state: a block has the same offset on all ranks, so that
// any of them reads and writes another's bytes without asking where they are.
//
//     allot::mpi::communicator ranks{MPI_COMM_WORLD};
//     allot::symmetric memory{allot::arena<allot::mpi::window, allot::best_fit<>>{ranks, 64_MiB}, ranks};
//     auto block = memory.allocate({.size = 4096});          // every rank calls this; nobody waits
//     if (!memory.agree()) return report();                  // every rank; once for many blocks
//     auto theirs = memory.on(right, block);                 // the block of the rank to the right
//     allot::mpi::window::put(bytes, *theirs, 4096);
//
//     rank 0   allocate ─► 0    allocate ─► 4096   │agree: 2 calls, 8c1f│   on(1, block)      the same calls give the
//     rank 1   allocate ─► 0    allocate ─► 4096   │       2 calls, 8c1f│   on(0, block)      same offsets: no addresses
//     rank 2   allocate ─► 0    deallocate         │       2 calls, 03d7│ ◄ diverged: refused on all three ranks
//
// Arenas are deterministic: the same calls give the same offsets (docs/design.md). So calls are only counted, into a
// rolling hash of what was asked and what was answered, refusals too; `agree` compares it over all ranks before blocks
// that were handed out since are used remotely. `on` refuses those until then.
//
// What one rank does alone:
//     asks again     a request that was just refused, asked once more, is the same call: the state is as it was, and it is
//                    counted once. A request that only some ranks make, or that only some are refused, is a divergence.
//     trims          there is nothing to trim: an arena that grows or shrinks would ask its device in a call that other
//                    ranks do not make, and is refused by the compiler. More memory is another arena, made by all ranks.
//     diagnoses      changes nothing, and is not counted.
// Ranks that diverged stay so, until all of them `reset` (a bump arena, a stack) or make another.
//
// A block may be deallocated when no rank is still reading or writing it remotely: after a barrier, for example.
//
// Complexity: a few instructions a call; `agree` is one reduction of four numbers. Memory: 48 bytes, and four bytes in
// every block. Not synchronised.
#pragma once

#include <allot/address/on_rank.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/communicator.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// What `agree` found, the same on every rank.
struct agreement {
    enum verdict : unsigned char {
        reached,
        diverged,   // the ranks' calls differ, or what else was to be the same
        elsewhere,  // what was to be agreed on is not in this memory
        failed,     // the communicator gave `error`
    };
    verdict found = failed;
    std::uint64_t fewest_calls = 0, most_calls = 0;  // of any rank, counted so far
    long error = 0;

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return found == reached; }
    /// One sentence for a person.
    [[nodiscard]] constexpr const char* what() const noexcept {
        switch (found) {
            case reached: return "all ranks made the same calls, with the same answers";
            case diverged:
                return fewest_calls == most_calls
                           ? "the ranks made as many calls, but different ones, or got different answers"
                           : "some ranks made more calls than others";
            case elsewhere: return "this is in another memory, on every rank";
            case failed: break;
        }
        return "the communicator failed";
    }
};

enum class remote_refusal : unsigned char {
    none,
    empty_block,   // there are no bytes
    not_agreed,    // handed out after the last agreement of all ranks
    no_such_rank,
};

/// One sentence for a person.
[[nodiscard]] constexpr const char* to_string(remote_refusal reason) noexcept {
    switch (reason) {
        case remote_refusal::none: return "it may be used";
        case remote_refusal::empty_block: return "an empty block has no bytes on any rank";
        case remote_refusal::not_agreed: return "the ranks have not agreed since it was handed out: all of them call agree";
        case remote_refusal::no_such_rank: return "there is no such rank";
    }
    return "unknown";
}

/// The arena's metadata, and the agreement after which the block was handed out.
template <class Ticket>
struct symmetric_metadata {
    [[no_unique_address]] Ticket of_arena{};
    std::uint32_t agreements = 0;
    friend constexpr bool operator==(const symmetric_metadata&, const symmetric_metadata&) = default;
};

/// An allocator is referred to when its type is a reference and owned otherwise. The communicator outlives it.
template <class Arena, class Ranks>
class symmetric {
    static_assert(allocator_requirements<Arena>());
    static_assert(communicator<Ranks>, "allot: the second argument of symmetric is a communicator, such as "
                                       "mpi::communicator: see core/communicator.hpp");
    using arena_type = std::remove_reference_t<Arena>;
    using arena_block = block_of<Arena>;
    using model = typename arena_type::address_model;

    static_assert(requires(typename model::address address) { address.handle; },
                  "allot: ranks have no addresses in common: a symmetric arena is one over a device that names bytes by "
                  "handle_offset");
    static_assert(!requires(arena_type& arena) { arena.trim(); },
                  "allot: a symmetric arena does not grow or shrink by itself, because other ranks would have to do the "
                  "same at once: use growth::none, and make another arena on all ranks where one is too small");

public:
    using address_model = model;
    using metadata_type = symmetric_metadata<decltype(arena_block::metadata)>;
    using block_type = block<typename model::address, metadata_type>;
    using remote_model = remote_offset<decltype(model::address::handle)>;
    using remote_address = typename remote_model::address;
    static constexpr bool host_accessible = arena_type::host_accessible;
    static constexpr offset_use offsets = arena_type::offsets;
    static constexpr dl_device_type dl_device = arena_type::dl_device;
    static constexpr reclaim reclaims = arena_type::reclaims;

    symmetric(Arena&& arena, Ranks& ranks) noexcept : arena_{std::forward<Arena>(arena)}, ranks_{&ranks} {}

    // ── every rank makes these calls, in the same order; none of them waits ─────────────────────────────────────────

    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        const arena_block given = arena_.allocate(wanted);
        if (!given) {
            if (!was_refused_ || wanted != refused_) count(call::refused, wanted.size, wanted.align);
            was_refused_ = true;
            refused_ = wanted;
            return {};
        }
        count(call::allocate, wanted.size, wanted.align);
        calls_.add(model::position(given.address));
        return {given.address, given.size, {given.metadata, agreements_}};
    }

    /// Takes a block back, as it was handed out. An empty block is fine.
    void deallocate(block_type held) noexcept {
        if (!held) return;
        count(call::deallocate, model::position(held.address), held.size);
        arena_.deallocate({held.address, held.size, held.metadata.of_arena});
    }

    /// Forgets every block at once, and every call: ranks that diverged agree again when all of them have done this.
    void reset() noexcept
        requires requires(arena_type& arena) { arena.reset(); }
    {
        arena_.reset();
        calls_ = {};
        made_ = 0;
        was_refused_ = false;
    }

    // ── every rank, and they wait for one another ───────────────────────────────────────────────────────────────────

    /// Whether all ranks made the same calls with the same answers; then blocks handed out until now can be used remotely.
    /// `also` is whatever else is to be the same on all ranks.
    [[nodiscard]] agreement agree(std::uint64_t also = 0) noexcept {
        rolling_hash all = calls_;
        all.add(also);
        const comparison of_ranks = compare_ranks(*ranks_, all.value(), made_);
        if (of_ranks.error != 0) return {agreement::failed, 0, 0, of_ranks.error};
        if (of_ranks.equal) ++agreements_;
        return {of_ranks.equal ? agreement::reached : agreement::diverged, of_ranks.least, of_ranks.greatest, 0};
    }

    // ── any rank ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// True when all ranks have agreed since the block was handed out.
    [[nodiscard]] bool is_agreed(const block_type& held) const noexcept {
        return held && held.metadata.agreements != agreements_;
    }

    /// The block of another rank, or of this one.
    [[nodiscard]] result<remote_address, remote_refusal> on(int rank, const block_type& held) const noexcept {
        using answer = result<remote_address, remote_refusal>;
        if (!held) return answer::failure(remote_refusal::empty_block);
        if (!is_agreed(held)) return answer::failure(remote_refusal::not_agreed);
        if (rank < 0 || rank >= ranks_->size()) return answer::failure(remote_refusal::no_such_rank);
        return remote_address{{held.address.handle, rank}, held.address.offset};
    }

    /// Why `allocate` would refuse.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept { return arena_.diagnose(wanted); }

    [[nodiscard]] const arena_type& arena() const noexcept { return arena_; }
    [[nodiscard]] Ranks& ranks() const noexcept { return *ranks_; }

private:
    enum class call : std::uint64_t { allocate = 1, refused, deallocate };

    void count(call what, std::size_t first, std::size_t second) noexcept {
        calls_.add(static_cast<std::uint64_t>(what));
        calls_.add(first);
        calls_.add(second);
        ++made_;
        was_refused_ = false;
    }

    Arena arena_;
    Ranks* ranks_;
    rolling_hash calls_;
    std::uint64_t made_ = 0;
    layout refused_{};
    std::uint32_t agreements_ = 0;
    bool was_refused_ = false;  // by the last call
};

template <class Arena, class Ranks>
symmetric(Arena&&, Ranks&) -> symmetric<Arena, Ranks>;

}  // namespace v1
}  // namespace allot
