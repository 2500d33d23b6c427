// SPDX-License-Identifier: BSL-1.0
// misuse: wrong uses of blocks, and the handler that is called for each.
//
//     struct logged {
//         void operator()(allot::misuse what, std::size_t at, std::size_t size) const noexcept { log(what, at, size); }
//     };
//     heap_arena arena{{}, 1_MiB};
//     allot::guarded<heap_arena&, allot::guard_options{}, logged> memory{arena};
//
// When to use: to replace the handler of a hardened arena, of `guarded`, `quarantined`, `indexed`, or of tensors.
//
// When not to use: to detect misuses. Use `arena_options::hardening` (arena/hardening.hpp), or one of these
// compositions.
//
// The default handler writes one line to stderr and aborts. Without a hosted C library (-ffreestanding), it only
// aborts.
//
// Complexity: O(1).
//
// Memory: none.
//
// Thread safety: a handler is called on the thread that misused the block.
#pragma once

#include <allot/core/block.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/options.hpp>

#include <cstdlib>
#include <type_traits>

#if __STDC_HOSTED__
#include <cstdio>
#endif

namespace allot {
inline namespace v1 {

/// Misuse of a block.
enum class misuse : unsigned char {
    foreign_block,       ///< The block is in no region of this arena; with `debug`, it was not freed recently either.
    not_live,            ///< No such block is live: it was freed before, or its address was changed.
    wrong_size,          ///< A block is live at this address, with another size or other metadata.
    leaked,              ///< The block is live at the end of its arena (debug), or of the body of a storage.
    killed_before,       ///< A tensor or storage was killed or used after it was killed.
    out_of_order,        ///< The block is not the newest of its end of a stack, or not the oldest of a ring.
    overwritten,         ///< The record before or after the block is damaged: a write past the end of a block.
    written_after_free,  ///< A byte of the block was written after the block was freed (debug).
    written_before,      ///< A guard before the block changed (`guarded`).
    written_past,        ///< A guard after the block changed (`guarded`).
    stale_mark,          ///< A rollback to a mark that is no longer valid; position and size are 0.
};
/// Returns a human-readable description.
[[nodiscard]] constexpr const char* to_string(misuse what) noexcept {
    switch (what) {
        case misuse::foreign_block: return "a block that this allocator did not allocate";
        case misuse::not_live: return "a block that is not live: already freed, or its address was changed";
        case misuse::wrong_size: return "a live block whose size or metadata was changed";
        case misuse::leaked: return "a block that is still live when its memory is destroyed";
        case misuse::killed_before: return "a tensor or storage that is already killed";
        case misuse::out_of_order: return "freed out of order: a stack frees its newest block first, a ring its oldest";
        case misuse::overwritten: return "the record next to this block is damaged: a write past the end of a block";
        case misuse::written_after_free: return "a write to a block after it was freed";
        case misuse::written_before: return "a write before the start of a block";
        case misuse::written_past: return "a write past the end of a block";
        case misuse::stale_mark: return "a rollback to a mark that is no longer valid";
    }
    return "unknown";
}

/// Record of the block at a position: the live block, or the last freed one. Calls are numbered from 1 over all
/// allocations and deallocations.
struct block_history {
    std::size_t position = 0;     ///< Position of the block.
    std::size_t size = 0;         ///< Size of the block.
    std::uint64_t allocated = 0;  ///< Number of the call that allocated the block; 0: no block is recorded.
    std::uint64_t freed = 0;      ///< Number of the call that freed the block; 0: the block is live.
};

/// Default misuse handler. A handler is a type whose objects are called for every misuse. The arguments are the kind of
/// misuse, the block's position (its address, or its offset for memory with handles), its size (0 if blocks are freed
/// by their address only), and its history if the handler accepts it. If a handler returns, the misused call has
/// changed nothing in the arena, and the compositions over it keep their records of the block. `observed`, `paged` and
/// `quarantined` state their exceptions.
struct abort_on_misuse {
    /// Writes the misuse to stderr and aborts.
    [[noreturn]] ALLOT_COLD void operator()([[maybe_unused]] misuse what, [[maybe_unused]] std::size_t position,
                                            [[maybe_unused]] std::size_t size,
                                            [[maybe_unused]] const block_history& known = {}) const noexcept {
#if __STDC_HOSTED__
        std::fprintf(stderr, "allot: misuse: %s (at 0x%zx", to_string(what), position);
        if (size != 0) std::fprintf(stderr, ", size %zu", size);
        std::fputc(')', stderr);
        if (known.allocated != 0) {
            std::fprintf(stderr, "; known there: size %zu at 0x%zx, allocated by call %llu", known.size, known.position,
                         static_cast<unsigned long long>(known.allocated));
            if (known.freed != 0)
                std::fprintf(stderr, ", freed by call %llu", static_cast<unsigned long long>(known.freed));
        }
        std::fputc('\n', stderr);
#endif
        std::abort();
    }
};

/// Metadata of a block of a hardened arena.
template <class Metadata>
struct hardened_metadata {
    ALLOT_NO_UNIQUE_ADDRESS Metadata of_strategy{};  ///< The strategy's metadata.
    std::uint32_t number = 0;                        ///< Number of the allocation; 0 matches every allocation.
    /// Constructs the metadata of an empty block.
    constexpr hardened_metadata() noexcept = default;
    /// Constructs the metadata from its members.
    constexpr hardened_metadata(Metadata strategy_metadata, std::uint32_t allocation = 0) noexcept
        : of_strategy{strategy_metadata}, number{allocation} {}
    /// Compares both members.
    friend constexpr bool operator==(const hardened_metadata&, const hardened_metadata&) = default;
};

namespace detail {

/// Whether a block that is constructed from an address and a size can be freed: its metadata is empty.
template <class Metadata>
inline constexpr bool is_spare_metadata = std::is_empty_v<Metadata>;
template <class Metadata>
inline constexpr bool is_spare_metadata<hardened_metadata<Metadata>> = std::is_empty_v<Metadata>;

/// Calls the handler.
template <class OnMisuse>
void report(misuse what, std::size_t position, std::size_t size, const block_history& known = {}) noexcept {
    if constexpr (std::is_invocable_v<OnMisuse, misuse, std::size_t, std::size_t, const block_history&>)
        OnMisuse{}(what, position, size, known);
    else OnMisuse{}(what, position, size);
}

/// The records of an arena with `hardening::debug` and of a hardened `naive`, which hardening.hpp defines.
template <class Block>
class live_blocks;
template <class Block, class OnMisuse, bool Leaks, std::size_t Word>
class debugged_blocks;

/// Requires the class of an allocator's records, which hardening.hpp defines.
template <class Records>
consteval bool records_requirements() {
    static_assert(
        requires { sizeof(Records); },
        "allot: hardening::debug, and any hardening of naive, keep a record of each live block in a tree of "
        "Boost.Intrusive: include <allot/arena/hardening.hpp>, which needs the headers of Boost");
    return true;
}

}  // namespace detail

}  // namespace v1
}  // namespace allot
