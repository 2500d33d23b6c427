// SPDX-License-Identifier: BSL-1.0
// storage_policies: how a storage places its tensors, how references to it are counted, and how far misuse is caught.
//
//     using on_threads = allot::storage_policies<allot::best_fit<>, allot::references::atomic>;
//     using by_planner = allot::storage_policies<allot::as_given>;
//     auto data = allot::alloc_storage<by_planner>(arena, 4096);
//
//     placement     as_given                   the caller gives every offset and is trusted; nothing is recorded
//                   a positional strategy       given or searched; two live tensors never share a byte
//     references    plain, atomic              handles are counted; bodies and claims are on the host heap
//                   none                       bodies are the caller's; tensors can be moved and not copied
//     hardening     none, checked, debug       checked: given offsets too;  use after kill and double kill are told
//                                              debug: and fresh and freed bytes are overwritten where the host can
//
// Memory and time: none by themselves. Thread safety: with `atomic`, handles and tensors of one storage may be used from
// several threads; their allocator has to allow that, because whoever drops the last reference calls it.
#pragma once

#include <allot/arena/hardening.hpp>
#include <allot/strategy/best_fit.hpp>

#include <atomic>

namespace allot {
inline namespace v1 {

/// Placement: the caller gives every offset, and is trusted not to let live tensors overlap.
struct as_given {};

/// In place of an offset: wherever there is room.
struct anywhere_t {};
inline constexpr anywhere_t anywhere{};

/// An offset in bytes, signed so that a negative one is seen, or `anywhere`.
template <class Offset>
concept storage_offset = std::same_as<Offset, anywhere_t> || std::integral<Offset>;

/// How handles of one storage are counted.
namespace references {

struct plain {
    static constexpr bool counted = true;
    class count {
    public:
        void add() noexcept { ++count_; }
        [[nodiscard]] bool drop() noexcept { return --count_ == 0; }

    private:
        std::size_t count_ = 1;
    };
    struct lock {
        void acquire() noexcept {}
        void release() noexcept {}
    };
};

/// Needs atomic exchange and addition. A spin lock guards the placement, for the time of one claim.
struct atomic {
    static constexpr bool counted = true;
    class count {
    public:
        void add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
        [[nodiscard]] bool drop() noexcept { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    private:
        std::atomic<std::size_t> count_{1};
    };
    class lock {
    public:
        void acquire() noexcept {
            while (taken_.test_and_set(std::memory_order_acquire)) {}
        }
        void release() noexcept { taken_.clear(std::memory_order_release); }

    private:
        std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
    };
};

/// No heap and no counting: bodies are the caller's objects and outlive their tensors, tensors can be moved but not
/// copied. `Rows` is how many rows a discontiguous tensor may have where its claims are recorded.
template <std::size_t Rows = 16>
struct none {
    static constexpr bool counted = false;
    static constexpr std::size_t rows = Rows;
    using lock = plain::lock;
};

}  // namespace references

/// Placement is `as_given` or a positional strategy that keeps its records beside the memory.
template <class Placement = best_fit<>, class References = references::plain,
          hardening Hardening = hardening::none, class OnMisuse = abort_on_misuse>
struct storage_policies {
    // A hardened build records what a planner places, so that it can refuse to let live tensors overlap.
    using placement =
        std::conditional_t<Hardening != hardening::none && std::same_as<Placement, as_given>, best_fit<>, Placement>;
    using references = References;
    static constexpr hardening hardened = Hardening;
    using on_misuse = OnMisuse;
};

}  // namespace v1
}  // namespace allot
