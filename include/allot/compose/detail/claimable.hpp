// SPDX-License-Identifier: BSL-1.0
// claimable: exclusion between the owner of an object, which uses it often, and threads that claim it rarely.
//
// Internal. The owner writes a flag, passes a light barrier and reads the flag of the claimer. The claimer writes its
// flag, passes a heavy barrier and reads the flag of the owner. At least one of both sees the other: the owner then
// waits until the claim ends, or the claimer waits until the owner has left.
//
//     owner      enter … leave                             no atomic read-modify-write
//     claimer    claim, Barrier::heavy(), wait … unclaim   one claimer at a time
//
// `Barrier` has the functions of host::process_barrier. `Atomics` is a parameter so that a model checker can replace
// the atomic types.
//
// Thread safety: as above.
#pragma once

#include <atomic>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Barrier, class Atomics>
class claimable {
public:
    /// Waits until no claim exists, and excludes claims. Only the owner calls it.
    void enter() noexcept {
        while (true) {
            inside_.store(true, std::memory_order_relaxed);
            Barrier::light();
            if (!claimed_.load(std::memory_order_acquire)) [[likely]]
                return;
            inside_.store(false, std::memory_order_release);
            while (claimed_.load(std::memory_order_relaxed)) Atomics::wait();
        }
    }
    /// Ends `enter`.
    void leave() noexcept { inside_.store(false, std::memory_order_release); }

    /// Starts a claim. It has effect after a heavy barrier and `wait`.
    void claim() noexcept { claimed_.store(true, std::memory_order_relaxed); }
    /// Waits until the owner has left.
    void wait() const noexcept {
        while (inside_.load(std::memory_order_acquire)) Atomics::wait();
    }
    /// Ends a claim.
    void unclaim() noexcept { claimed_.store(false, std::memory_order_release); }

private:
    using flag = typename Atomics::template atomic<bool>;
    flag inside_{false};
    flag claimed_{false};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
