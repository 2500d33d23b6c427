// SPDX-License-Identifier: BSL-1.0
// guide_rehearsal: plays passes that differ from a recorded one, to compare guides before they are used.
//
// Internal. In a rehearsal, a share of the requests has another size (half to twice), is missing, is swapped with the
// request before it, or has a short-lived request of another size behind it. The pass is played twice.
//
// Complexity: that of the requests on a guided room. Memory: 40 bytes for each request. Not synchronized.
#pragma once

#include <allot/plan/detail/guided_room.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Request, class Room>
class guide_rehearsal {
public:
    /// `recorded` has the calls of the requests `seen`. `changes` is the share of changed requests in percent.
    guide_rehearsal(std::span<const Request> seen, const guide& recorded, unsigned changes)
        : seen_{seen}, recorded_{recorded}, changes_{changes} {
        for (std::uint32_t i = 0; i != seen_.size(); ++i)
            if (seen_[i].is_carried && !recorded_.slots[i].is_planned) grown_.push_back({seen_[i].after, i});
        std::sort(grown_.begin(), grown_.end());
    }

    /// Returns the bytes that a guide needs in a rehearsal. The same number names the same calls.
    [[nodiscard]] std::uint64_t peak_of(const guide& of, std::uint64_t number) {
        list_calls(number);
        Room place;
        if (!place.reserve(of.slots.size())) return everything / 1024;
        place.open(static_cast<std::size_t>(everything), static_cast<std::size_t>(of.align));
        std::uint64_t peak = 0;
        std::vector<guided_spot> now(2 * seen_.size()), last(2 * seen_.size());
        for (int pass = 0; pass != 2; ++pass) {
            (void)place.begin(&of, 0);
            for (const call& each : calls_) {
                guided_spot& held = (each.of_last_pass ? last : now)[each.block];
                if (each.size == 0) {
                    free(place, held);
                    continue;
                }
                const Request& wanted = seen_[each.block % seen_.size()];
                const layout asked{static_cast<std::size_t>(each.size), static_cast<std::size_t>(wanted.align)};
                held = place.allocate(asked, wanted.key);
                if (held.inside) peak = std::max<std::uint64_t>(peak, held.offset + each.size);
            }
            for (guided_spot& each : last) free(place, each);
            std::swap(now, last);
        }
        return peak;
    }

private:
    static constexpr std::uint64_t everything = std::numeric_limits<std::size_t>::max() / 2;
    /// A request, or a deallocation if the size is 0. The block behind request i is i + the number of requests.
    struct call {
        std::size_t block = 0;
        std::uint64_t size = 0;
        bool of_last_pass = false;
    };
    enum class change { size, missing, order, more, none };

    static void free(Room& place, guided_spot& held) {
        if (held.inside && !place.deallocate_in_step(held.reference)) place.deallocate(held.reference, held.offset);
        held = {};
    }
    static std::uint64_t next(std::uint64_t& random) noexcept {  // xorshift
        random ^= random << 13U;
        random ^= random >> 7U;
        return random ^= random << 17U;
    }

    /// Lists the calls of the pass with some requests changed.
    void list_calls(std::uint64_t number) {
        std::uint64_t random = (number + 1) * 0x9E37'79B9'7F4A'7C15U;
        const auto count = seen_.size();
        std::vector<bool> is_missing(count);
        std::size_t more = 0;  // behind the block of the short-lived request that lives; 0: none
        auto grown = grown_.begin();
        calls_.clear();
        for (const std::uint32_t recorded : recorded_.calls) {
            const std::uint32_t i = recorded >> 1U;
            if (i == count || is_missing[i]) continue;
            if ((recorded & 1U) != 0) {
                calls_.push_back({i, 0, recorded_.slots[i].is_carried});
                continue;
            }
            for (; grown != grown_.end() && grown->first == i; ++grown) calls_.push_back({grown->second, 0, true});
            const bool is_changed = next(random) % 100 < changes_;
            const change how = is_changed ? static_cast<change>(next(random) % 4) : change::none;
            is_missing[i] = how == change::missing;
            if (is_missing[i]) continue;
            std::uint64_t size = seen_[i].size;
            if (how == change::size) size = size / 2 + next(random) % (size + size / 2 + 1) + 1;
            calls_.push_back({i, size});
            const std::size_t last = calls_.size() - 1;
            if (how == change::order && last != 0 && calls_[last - 1].size != 0)
                std::swap(calls_[last], calls_[last - 1]);
            if (more != 0 && next(random) % 2 == 0) calls_.push_back({std::exchange(more, 0) - 1});
            if (how != change::more || more != 0) continue;
            calls_.push_back({count + i, seen_[static_cast<std::size_t>(next(random) % count)].size});
            more = count + i + 1;
        }
        if (more != 0) calls_.push_back({more - 1});
    }
    std::span<const Request> seen_;
    const guide& recorded_;
    unsigned changes_;
    /// Blocks without a place that the next pass frees, such as growing ones: requests before it, request.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> grown_;
    std::vector<call> calls_;  // of the last rehearsal
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
