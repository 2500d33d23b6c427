// SPDX-License-Identifier: BSL-1.0
// host_use_list: the epochs of the uses by the host that still run, for `queue_clock`.
//
// Internal. Uses end in any order. Uses up to an epoch are done when all of the list are later.
//
// Complexity: O(uses) for `contains` and `remove`, O(1) for the others. Memory: 8 bytes for each possible use.
// Thread safety: not synchronized.
#pragma once

#include <allot/strategy/detail/pending_use.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// At most `Capacity` epochs, in ascending order.
template <unsigned Capacity>
class host_use_list {
public:
    [[nodiscard]] bool is_full() const noexcept { return count_ == Capacity; }
    /// Adds a use and returns its epoch. Precondition: the list is not full, and the epoch is later than all others.
    epoch add(epoch use) noexcept { return uses_[count_++] = use; }
    [[nodiscard]] bool contains(epoch use) const noexcept { return place_of(use) != count_; }
    /// Removes a use. Returns false if the list does not contain it.
    bool remove(epoch use) noexcept {
        unsigned at = place_of(use);
        if (at == count_) return false;
        for (--count_; at != count_; ++at) uses_[at] = uses_[at + 1];
        return true;
    }
    void clear() noexcept { count_ = 0; }
    /// Returns the epoch up to which all uses have ended.
    [[nodiscard]] epoch ended_until() const noexcept { return count_ == 0 ? end_of_time : uses_[0] - 1; }

private:
    [[nodiscard]] unsigned place_of(epoch use) const noexcept {
        unsigned at = 0;
        while (at != count_ && uses_[at] != use) ++at;
        return at;
    }

    epoch uses_[Capacity]{};
    unsigned count_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
