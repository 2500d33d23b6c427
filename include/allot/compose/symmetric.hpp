// SPDX-License-Identifier: BSL-1.0
// symmetric: an arena that every rank keeps in the same state, so that a block has the same offset on all ranks.
//
//     allot::mpi::communicator ranks{MPI_COMM_WORLD};
//     allot::symmetric memory{allot::arena<allot::mpi::window, allot::best_fit<>>{ranks, 64_MiB}, ranks};
//     auto block = memory.allocate({.size = 4096});          // every rank calls this; no rank waits
//     if (!memory.agree()) return report();                  // every rank; once for many blocks
//     auto theirs = memory.on(right, block).value();         // the block of the rank to the right
//     allot::mpi::window::put(bytes, theirs, 4096);
//
//     rank 0   allocate ─► 0    allocate ─► 4096   │agree: 2 calls, 8c1f│   on(1, block)      the same calls return
//     rank 1   allocate ─► 0    allocate ─► 4096   │       2 calls, 8c1f│   on(0, block)      the same offsets
//     rank 2   allocate ─► 0    deallocate         │       2 calls, 03d7│ ◄ diverged: an error on all three ranks
//
// Any rank can therefore read and write the bytes of another without an exchange of addresses.
//
// Arenas are deterministic: the same calls return the same offsets (docs/design.md). Each rank adds its calls and
// their results, including failures, to a rolling hash. `agree` compares the hashes of all ranks. `on` returns an
// error for a block that was allocated after the last agreement.
//
// Calls that not all ranks make:
//
//     a repeated request    A request that fails twice in succession counts as one call, because the state is the same.
//                           A request that only some ranks make, or that fails on only some ranks, is a divergence.
//     trim                  An arena that grows or shrinks does not compile, because one rank would call its device
//                           alone. For more memory, all ranks construct another arena.
//     diagnose              It changes nothing and is not counted. An allocator that keeps freed blocks (block_cache,
//                           quarantined) frees them in `diagnose`, so that it does not compile.
//
// `allocate_at`, `resize`, `reset` and `rollback` exist if the arena has them. Every rank makes these calls, too. A
// resized block can be used remotely after the next agreement.
//
// After a divergence, agreement is possible only after all ranks `reset` (a bump arena, a stack) or construct a new
// arena.
//
// Deallocate a block only when no rank reads or writes it remotely, for example after a barrier.
//
// When to use: for one-sided communication with MPI windows or the symmetric heap of OpenSHMEM.
// When not to use: if the ranks make different allocations. Exchange addresses instead.
//
// Complexity: a few instructions for each call. `agree` is one reduction of four numbers.
// Memory: 48 bytes, and four bytes in each block.
// Thread safety: requires external synchronization on each rank.
#pragma once

#include <allot/address/on_rank.hpp>
#include <allot/compose/detail/wrapper.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/communicator.hpp>
#include <allot/core/detail/compiler.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// The result of `agree`. It is the same on every rank.
struct agreement {
    /// The kinds of results.
    enum verdict : unsigned char {
        reached,    ///< All ranks agree.
        diverged,   ///< The calls of the ranks differ, or the additional value does.
        elsewhere,  ///< The tensor to agree on is not in this memory.
        failed,     ///< The communicator returned `error`.
    };
    verdict found = failed;          ///< The kind of the result.
    std::uint64_t fewest_calls = 0;  ///< The least number of calls of any rank.
    std::uint64_t most_calls = 0;    ///< The greatest number of calls of any rank.
    long error = 0;                  ///< The error code of the communicator.

    /// Returns true if all ranks agree.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return found == reached; }
    /// Returns a human-readable description of the result.
    [[nodiscard]] constexpr const char* what() const noexcept {
        switch (found) {
            case reached: return "all ranks made the same calls, with the same results";
            case diverged:
                return fewest_calls == most_calls
                           ? "the ranks made equally many calls, but the calls or their results differ"
                           : "some ranks made more calls than others";
            case elsewhere: return "the tensor is not in this memory";
            case failed: break;
        }
        return "the communicator failed";
    }
};

/// The reason for which `on` fails.
enum class remote_refusal : unsigned char {
    none,          ///< No error.
    empty_block,   ///< The block is empty.
    not_agreed,    ///< The block was allocated after the last agreement of all ranks.
    no_such_rank,  ///< The rank does not exist.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(remote_refusal reason) noexcept {
    switch (reason) {
        case remote_refusal::none: return "the block can be used remotely";
        case remote_refusal::empty_block: return "the block is empty";
        case remote_refusal::not_agreed: return "no agreement since the block was allocated: call agree on all ranks";
        case remote_refusal::no_such_rank: return "the rank does not exist";
    }
    return "unknown";
}

/// The metadata of a symmetric block: the arena's metadata, and the number of agreements before the allocation.
template <class Metadata>
struct symmetric_metadata {
    ALLOT_NO_UNIQUE_ADDRESS Metadata of_arena{};  ///< The metadata of the arena.
    std::uint32_t agreements = 0;                 ///< The number of agreements before the allocation.
    /// Constructs the metadata of an empty block.
    constexpr symmetric_metadata() noexcept = default;
    /// Constructs the metadata from its members.
    constexpr symmetric_metadata(Metadata arena_metadata, std::uint32_t before) noexcept
        : of_arena{arena_metadata}, agreements{before} {}
    /// Compares both members.
    friend constexpr bool operator==(const symmetric_metadata&, const symmetric_metadata&) = default;
};

/// The mark of a symmetric arena: the arena's mark, and the number of calls before it.
template <class Mark>
struct symmetric_mark {
    Mark of_arena;            ///< The arena's mark.
    std::uint64_t calls = 0;  ///< The number of calls before the mark. It is equal on all ranks that agree.
};

namespace detail {
/// Returns true if an allocator, or one inside it, keeps freed blocks. Its `diagnose` frees them.
template <class Allocator>
consteval bool keeps_freed_blocks() {
    using type = std::remove_cvref_t<Allocator>;
    if constexpr (requires(type& of) { of.flush(); }) return true;
    else if constexpr (requires(const type& of) { of.inner(); })
        return keeps_freed_blocks<decltype(std::declval<const type&>().inner())>();
    else return false;
}
}  // namespace detail

/// An arena that records its calls, and a communicator that compares them. If `Arena` is a reference type, the arena
/// must outlive this object; otherwise this object owns it. The communicator must outlive this object.
template <class Arena, class Ranks>
class symmetric {
    static_assert(allocator_requirements<Arena>());
    static_assert(communicator<Ranks>,
                  "allot: the second argument of symmetric is a communicator, such as "
                  "mpi::communicator: see core/communicator.hpp");
    using arena_type = std::remove_reference_t<Arena>;
    using arena_block = block_of<Arena>;
    using model = typename arena_type::address_model;

    static_assert(
        requires(typename model::address address) { address.handle; },
        "allot: ranks share no addresses: symmetric needs an arena over a device that names bytes by "
        "handle_offset");
    static_assert(
        !requires(arena_type& arena) { arena.trim(); },
        "allot: a symmetric arena cannot grow or shrink, because all ranks would have to do so together: use "
        "growth::none<>, and construct another arena on all ranks if one is too small");
    static_assert(
        !detail::keeps_freed_blocks<arena_type>(),
        "allot: block_cache and quarantined free their blocks in diagnose, which one rank may call alone: use "
        "symmetric over the arena itself");

public:
    using address_model = model;                                                ///< The address model of the arena.
    using metadata_type = symmetric_metadata<decltype(arena_block::metadata)>;  ///< The metadata of a block.
    using block_type = block<typename model::address, metadata_type>;           ///< The type of blocks.
    using remote_model = remote_offset<decltype(model::address::handle)>;       ///< The address model of remote bytes.
    using remote_address = typename remote_model::address;                      ///< The name of a remote byte.
    static constexpr bool host_accessible = arena_type::host_accessible;  ///< Whether the host can access the memory.
    static constexpr offset_use offsets = arena_type::offsets;            ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = arena_type::dl_device;    ///< The device type in DLPack.
    static constexpr reclaim reclaims = arena_type::reclaims;             ///< The order in which blocks become free.

    /// Constructs the allocator from an arena, which is referenced or moved, and a communicator, which is referenced.
    symmetric(Arena&& arena, Ranks& ranks) noexcept : arena_{std::forward<Arena>(arena)}, ranks_{&ranks} {}

    // ── every rank makes these calls, in the same order; they do not wait ─────────────────────────────────────────

    /// Allocates a block. Returns an empty block on failure.
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

    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        const arena_block own = in_arena(held);
        if (!detail::is_freeable(arena_, own) || !detail::give_back(arena_, own)) return;
        count(call::deallocate, model::position(held.address), held.size);
    }

    /// Allocates exactly these bytes. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<arena_type>
    {
        const arena_block given = arena_.allocate_at(wanted);
        count(given ? call::allocate_at : call::not_free, wanted.offset, wanted.size);
        if (!given) return {};
        calls_.add(model::position(given.address));
        return {given.address, given.size, {given.metadata, agreements_}};
    }

    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure. Afterwards, the block
    /// can be used remotely after the next agreement.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<arena_type>
    {
        if (!held) return false;
        arena_block own = in_arena(held);
        const bool done = arena_.resize(own, size);
        count(done ? call::resize : call::not_resized, model::position(held.address), size);
        if (done) held = {own.address, own.size, {own.metadata, agreements_}};
        return done;
    }

    /// Frees all blocks and forgets all calls. Ranks that diverged can agree again after all of them reset.
    void reset() noexcept
        requires resettable_allocator<arena_type>
    {
        arena_.reset();
        calls_ = {};
        made_ = 0;
        was_refused_ = false;
    }

    /// Returns a mark for `rollback`. It changes nothing and is not counted.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<arena_type>
    {
        return symmetric_mark<decltype(arena_.mark())>{arena_.mark(), made_};
    }
    /// Frees every block that was allocated since the mark. Precondition: the mark is from this object and is valid for
    /// the arena. Returns false and frees nothing if a hardened arena reports the mark.
    template <class Mark>
        requires markable_allocator<arena_type>
    bool rollback(symmetric_mark<Mark> mark) noexcept {
        count(call::rollback, static_cast<std::size_t>(mark.calls), 0);
        return detail::roll_back(arena_, mark.of_arena);
    }

    // ── every rank makes this call, and waits ───────────────────────────────────────────────────────────────────────

    /// Compares the calls of all ranks and their results. If they agree, the blocks that were allocated until now can
    /// be used remotely. The ranks agree only if `also` is the same on all ranks, too.
    [[nodiscard]] agreement agree(std::uint64_t also = 0) noexcept {
        rolling_hash all = calls_;
        all.add(also);
        const comparison of_ranks = compare_ranks(*ranks_, all.value(), made_);
        if (of_ranks.error != 0) return {agreement::failed, 0, 0, of_ranks.error};
        if (of_ranks.equal) ++agreements_;
        return {of_ranks.equal ? agreement::reached : agreement::diverged, of_ranks.least, of_ranks.greatest, 0};
    }

    // ── any rank ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns true if the block is not empty and all ranks agreed after its allocation.
    [[nodiscard]] bool is_agreed(const block_type& held) const noexcept {
        return held && held.metadata.agreements != agreements_;
    }

    /// Returns the address of a block on a given rank, which can be this one.
    [[nodiscard]] result<remote_address, remote_refusal> on(int rank, const block_type& held) const noexcept {
        using answer = result<remote_address, remote_refusal>;
        if (!held) return answer::failure(remote_refusal::empty_block);
        if (!is_agreed(held)) return answer::failure(remote_refusal::not_agreed);
        if (rank < 0 || rank >= ranks_->size()) return answer::failure(remote_refusal::no_such_rank);
        return remote_address{{held.address.handle, rank}, held.address.offset};
    }

    /// Returns the reason for which `allocate` would fail.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept { return arena_.diagnose(wanted); }

    /// Returns the reason for which `allocate_at` would fail.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) noexcept
        requires positional_allocator<arena_type>
    {
        return arena_.diagnose_at(wanted);
    }

    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(const block_type& held) const noexcept
        requires measuring_allocator<arena_type>
    {
        return arena_.capacity(in_arena(held));
    }
    /// Returns true if the block is in this rank's memory, live or not.
    [[nodiscard]] bool owns(const block_type& held) const noexcept
        requires owning<arena_type>
    {
        return arena_.owns(in_arena(held));
    }
    /// Returns whether this block is live. Misuse is reported. Only for a hardened arena.
    [[nodiscard]] bool check(const block_type& held) const noexcept
        requires requires(const arena_type& of, arena_block own) { of.check(own); }
    {
        return arena_.check(in_arena(held));
    }
    /// Returns true if exactly this block is live. Reports nothing. Only for a hardened arena.
    [[nodiscard]] bool is_live(const block_type& held) const noexcept
        requires requires(const arena_type& of, arena_block own) { of.is_live(own); }
    {
        return arena_.is_live(in_arena(held));
    }
    /// Returns the number of bytes in the arena's region.
    [[nodiscard]] std::size_t size() const noexcept
        requires sized_allocator<arena_type>
    {
        return arena_.size();
    }

    /// Returns the arena.
    [[nodiscard]] const arena_type& arena() const noexcept { return arena_; }
    /// Returns the communicator.
    [[nodiscard]] Ranks& ranks() const noexcept { return *ranks_; }

private:
    enum class call : std::uint64_t {
        allocate = 1,
        refused,
        deallocate,
        allocate_at,
        not_free,
        resize,
        not_resized,
        rollback,
    };

    [[nodiscard]] static arena_block in_arena(const block_type& held) noexcept {
        return {held.address, held.size, held.metadata.of_arena};
    }

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
    bool was_refused_ = false;  // whether the last call was an allocation that failed
};

/// Deduces a reference for an lvalue arena and a value for an rvalue.
template <class Arena, class Ranks>
symmetric(Arena&&, Ranks&) -> symmetric<Arena, Ranks>;

}  // namespace v1
}  // namespace allot
