// Tests of hardened arenas for which the heap has no memory for a record. The strategies work over host memory of the
// arena, so that only records come from the heap.
#include "helpers.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <new>
#include <vector>

namespace {

using helpers::noted;

/// The allocations of this program that do not throw, which are those of allot.
struct heap_calls {
    static inline int left = -1;  // until all calls fail; below 0: none fails
};

template <class Allocate>
void* limited(Allocate allocate) noexcept {
    if (heap_calls::left == 0) return nullptr;
    if (heap_calls::left > 0) --heap_calls::left;
    try {
        return allocate();
    } catch (...) {
        return nullptr;
    }
}

template <class Strategy, allot::hardening Hardening>
using hardened = allot::arena<allot::host::static_storage<16384>, Strategy, allot::growth::none<>,
                              allot::arena_options{.hardening = Hardening}, noted>;

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return limited([size] { return ::operator new(size); });
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return limited([size] { return ::operator new[](size); });
}

TEST_CASE_TEMPLATE("hardening: a request without memory for its record fails, and nothing is reported", Arena,
                   hardened<allot::best_fit<>, allot::hardening::debug>,
                   hardened<allot::deferred<allot::best_fit<>>, allot::hardening::debug>,
                   hardened<allot::pool<allot::pool_options{.slot = 192}>, allot::hardening::debug>,
                   hardened<allot::bump<>, allot::hardening::debug>, hardened<allot::stack<>, allot::hardening::debug>,
                   hardened<allot::stack<>, allot::hardening::checked>,
                   hardened<allot::ring<>, allot::hardening::checked>) {
    noted::take();
    {
        Arena memory;
        using block_type = typename Arena::block_type;
        std::vector<block_type> live;
        int refused = 0;
        for (std::size_t i = 0; i != 300; ++i) {
            const allot::layout wanted{1 + i * 37 % 190, std::size_t{1} << i % 5};
            const bool fits = memory.diagnose(wanted).reason == allot::refusal::none;
            heap_calls::left = static_cast<int>(i % 4) - 1;  // no call fails; the first one fails; and so on
            const block_type given = memory.allocate(wanted);
            heap_calls::left = -1;
            refused += fits && !given;
            if (given) live.push_back(given);
            if (i % 3 == 0 || live.size() < 2) continue;
            // The newest block for a stack, the oldest one for a ring, or one between them.
            const std::size_t which = Arena::reclaims == allot::reclaim::lifo   ? live.size() - 1
                                      : Arena::reclaims == allot::reclaim::fifo ? 0
                                                                                : i % live.size();
            memory.deallocate(live[which]);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
        CHECK(refused > 0);
        while (!live.empty()) {
            const std::size_t which = Arena::reclaims == allot::reclaim::lifo ? live.size() - 1 : 0;
            memory.deallocate(live[which]);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
    }
    CHECK(noted::take().empty());
}
