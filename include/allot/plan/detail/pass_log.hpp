// SPDX-License-Identifier: BSL-1.0
// pass_log: the requests of the current pass and of the last one, for new guides.
//
// Internal. An entry is named by the number of its pass and its index in the pass. The entries of a pass are complete
// when the next pass is over. If the heap is exhausted, the log of the pass is dropped.
#pragma once

#include <allot/plan/pass.hpp>
#include <allot/strategy/detail/record_table.hpp>

#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

class pass_log {
public:
    static constexpr std::uint64_t none = ~std::uint64_t{0};  // no entry

    /// Adds a request to the current pass and returns its entry.
    [[nodiscard]] std::uint64_t request(std::uint64_t size, std::uint64_t align, std::uint64_t key) noexcept {
        if (now_.is_lost || !now_.room()) return none;
        now_.requests[now_.count] = {size, align, key};
        return std::uint64_t{pass_} << 32U | now_.count++;
    }
    /// Notes a deallocation, after a number of requests of the current pass.
    void end(std::uint64_t entry, std::uint32_t requests) noexcept {
        const auto number = static_cast<std::uint32_t>(entry >> 32U), index = static_cast<std::uint32_t>(entry);
        if (entry == none) return;
        if (number == pass_ && index < now_.count) {
            now_.requests[index].until = requests;
            now_.requests[index].turn = deallocations_++;
        } else if (number + 1 == pass_) {
            carry(entry, requests);
        }
    }
    /// Notes the deallocation of a request of the current pass, unless it is noted.
    void end_if_open(std::uint64_t entry, std::uint32_t requests) noexcept {
        const auto index = static_cast<std::uint32_t>(entry);
        const bool is_now = entry != none && entry >> 32U == pass_ && index < now_.count;
        if (is_now && now_.requests[index].until == lives_on) end(entry, requests);
    }
    /// Notes that the pass after that of an entry frees the block. Passes of other phases do not count.
    void carry(std::uint64_t entry, std::uint32_t requests) noexcept {
        const auto index = static_cast<std::uint32_t>(entry);
        if (entry == none || static_cast<std::uint32_t>(entry >> 32U) + 1 != pass_ || index >= last_.count ||
            last_.phase != now_.phase)
            return;
        last_.requests[index].until = last_.count;
        last_.requests[index].is_carried = true;
        last_.requests[index].after = requests;
        last_.requests[index].turn = deallocations_++;
    }
    /// Ends the pass, and begins one of a phase. `complete()` adds calls that are not in the log yet.
    template <class Complete>
    void finish(std::uint32_t phase, Complete complete) noexcept {
        if (now_.count != 0) complete();
        if (last_.count != 0 && !last_.is_lost) std::swap(seen_, last_);
        std::swap(last_, now_);
        now_.count = 0;
        now_.phase = phase;
        deallocations_ = 0;
        now_.is_lost = false;
        ++pass_;
    }

    [[nodiscard]] std::uint32_t count() const noexcept { return now_.count; }
    /// Returns the complete requests of the last pass that has them, if it was of this phase, and forgets them.
    [[nodiscard]] std::vector<pass_request> take(std::uint32_t phase) {
        std::vector<pass_request> all;
        if (seen_.phase != phase) return all;
        all.reserve(seen_.count);
        for (std::uint32_t i = 0; i != seen_.count; ++i) all.push_back(seen_.requests[i]);
        seen_.count = 0;
        return all;
    }

private:
    struct pass {
        record_array<pass_request, 0> requests;
        std::uint32_t count = 0, phase = 0;
        bool is_lost = false;

        [[nodiscard]] bool room() noexcept {
            is_lost = count == requests.capacity() && !requests.grow(count + 1);
            return !is_lost;
        }
    };
    pass now_, last_, seen_;
    std::uint32_t deallocations_ = 0;  // in the current pass
    std::uint32_t pass_ = 2;           // an entry of 0 is of no pass
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
