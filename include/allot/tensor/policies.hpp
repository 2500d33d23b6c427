// SPDX-License-Identifier: BSL-1.0
// storage_policies: the placement, the reference counting and the hardening of a storage.
//
//     using on_threads = allot::storage_policies<allot::best_fit<>, allot::references::atomic>;
//     using by_planner = allot::storage_policies<allot::as_given>;
//     auto data = allot::alloc_storage<by_planner>(arena, {.size = 4096});
//
//     placement     as_given                   the caller gives every offset and is trusted; nothing is recorded
//                   a positional strategy      offsets are given or searched; live tensors never share a byte
//                   own_blocks                 each tensor, or row of one, is a separate block of the allocator
//     references    plain, atomic              handles are counted; bodies and leases are on the host heap
//                   none                       bodies belong to the caller; tensors can be moved and not copied
//     hardening     none                       no checks for misuse
//                   checked                    as_given offsets are recorded; use after kill, a second kill and leaks
//                                              are reported as misuse
//                   debug                      as checked; fresh and freed bytes are overwritten on the host
//
// When to use: the defaults (best_fit, plain counts, no hardening) suit most programs. Use `as_given` for offsets from
// a planner, `references::atomic` for several threads, `references::none` on targets without a heap, and hardening in
// tests.
// When not to use: `as_given` where offsets are not known to be disjoint; without hardening an overlap is not detected.
//
// Complexity and memory: policies are types and cost nothing; storage_body.hpp states the cost of each placement.
// Thread safety: with `references::atomic`, several threads may use handles and tensors of one storage. The thread that
// drops the last reference calls the allocator, which must allow that.
#pragma once

#include <allot/arena/misuse.hpp>
#include <allot/strategy/best_fit.hpp>

#include <atomic>

namespace allot {
inline namespace v1 {

/// The placement that trusts the caller: every tensor has a given offset, and live tensors must not overlap.
struct as_given {};

/// The placement without a common block: each tensor, and each row of a discontiguous tensor, is a separate block of
/// the allocator, such as an arena that grows. The size of the storage limits the bytes in use. Offsets are always
/// `anywhere`.
struct own_blocks {};

/// The type of `anywhere`.
struct anywhere_t {};
/// Requests a search in place of an offset.
inline constexpr anywhere_t anywhere{};

/// An offset in bytes, or `anywhere`. Offsets may be signed; negative values are rejected.
template <class Offset>
concept storage_offset = std::same_as<Offset, anywhere_t> || std::integral<Offset>;

/// The policies that count references to a storage and to leases.
namespace references {

/// Counts references without synchronization: for one thread.
struct plain {
    /// Whether references are counted.
    static constexpr bool counted = true;
    /// A reference count that starts at 1.
    class count {
    public:
        /// Adds a reference.
        void add() noexcept { ++count_; }
        /// Drops a reference and returns whether it was the last.
        [[nodiscard]] bool drop() noexcept { return --count_ == 0; }

    private:
        std::size_t count_ = 1;
    };
    /// A lock that does nothing.
    struct lock {
        /// Enters the critical section.
        void acquire() noexcept {}
        /// Leaves the critical section.
        void release() noexcept {}
    };
};

/// Counts references atomically: for several threads. The target must support atomic exchange and addition. A spin lock
/// guards the placement during each allocation and deallocation.
struct atomic {
    /// Whether references are counted.
    static constexpr bool counted = true;
    /// An atomic reference count that starts at 1.
    class count {
    public:
        /// Adds a reference.
        void add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
        /// Drops a reference and returns whether it was the last.
        [[nodiscard]] bool drop() noexcept { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    private:
        std::atomic<std::size_t> count_{1};
    };
    /// A spin lock.
    class lock {
    public:
        /// Enters the critical section.
        void acquire() noexcept {
            while (taken_.test_and_set(std::memory_order_acquire)) {}
        }
        /// Leaves the critical section.
        void release() noexcept { taken_.clear(std::memory_order_release); }

    private:
        std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
    };
};

/// Counts no references and uses no heap. The caller owns each `storage_body`, which must outlive its tensors; tensors
/// can be moved but not copied. `Rows` is the maximum number of rows of a discontiguous tensor whose pieces are
/// recorded.
template <std::size_t Rows>
struct basic_none {
    /// Whether references are counted.
    static constexpr bool counted = false;
    /// The maximum number of recorded rows of a discontiguous tensor.
    static constexpr std::size_t rows = Rows;
    /// A lock that does nothing.
    using lock = plain::lock;
};

/// Counts no references, and records the pieces of at most 16 rows.
using none = basic_none<16>;

}  // namespace references

/// The policies of a storage. `Placement` is `as_given`, `own_blocks`, or a positional strategy whose records are in a
/// side table.
/// `References` is a member of namespace `references`. `OnMisuse` handles misuse in hardened builds.
template <class Placement = best_fit<>, class References = references::plain, hardening Hardening = hardening::none,
          class OnMisuse = abort_on_misuse>
struct storage_policies {
    /// The placement in use. A hardened storage replaces `as_given` by `best_fit`, so that overlaps are detected.
    using placement =
        std::conditional_t<Hardening != hardening::none && std::same_as<Placement, as_given>, best_fit<>, Placement>;
    /// The reference policy.
    using references = References;
    /// The hardening level.
    static constexpr hardening hardened = Hardening;
    /// The handler that is called on misuse.
    using on_misuse = OnMisuse;
};

}  // namespace v1
}  // namespace allot
