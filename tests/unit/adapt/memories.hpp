// Allocators of every kind that supports the standard interfaces, with a check that all memory was deallocated.
#pragma once

#include "../arena/helpers.hpp"

#include <allot/allot.hpp>

#include <boost/version.hpp>

#include <random>

namespace memories {

using namespace allot::literals;
inline constexpr std::size_t huge = 1_GiB;

// The host heap with a count of held regions. It rejects sizes that no arena here needs.
struct counted_heap : allot::host::heap {
    using base = allot::host::heap;
    static inline std::size_t out = 0;
    allot::acquired<base> acquire(allot::layout wanted) noexcept {
        if (wanted.size > 16_MiB) return allot::acquired<base>::failure(error::no_memory);
        const auto given = base::acquire(wanted);
        out += given ? 1 : 0;
        return given;
    }
    void release(allot::region<void*> held) noexcept {
        --out;
        base::release(held);
    }
};

// One region: all memory is free when the largest hole has its initial size.
template <class Strategy, allot::arena_options Options = allot::arena_options{}>
struct one_region {
    using type = allot::arena<allot::host::heap, Strategy, allot::growth::none<>, Options, helpers::noted>;
    static constexpr bool bounded = true;
    type memory{{}, 256_KiB};
    std::uint64_t free_at_first = largest();
    [[nodiscard]] bool is_all_back() { return largest() == free_at_first && helpers::noted::take().empty(); }

private:
    [[nodiscard]] std::uint64_t largest() { return memory.diagnose({.size = huge}).largest_hole; }
};

// Several regions: all memory is free when all regions can be released.
template <class Strategy>
struct growing {
    using type = allot::arena<counted_heap, Strategy, allot::growth::geometric<allot::growth_options{.step = 8_KiB}>>;
    static constexpr bool bounded = false;
    type memory{counted_heap{}};
    [[nodiscard]] bool is_all_back() {
        memory.trim();
        return memory.size() == 0 && counted_heap::out == 0;
    }
};

struct one_by_one {
    using type = allot::naive<counted_heap>;
    static constexpr bool bounded = false;
    type memory;
    [[nodiscard]] bool is_all_back() { return counted_heap::out == 0; }
};

struct two {
    using first_type = one_region<allot::best_fit<helpers::side_table>>;
    using second_type = growing<allot::best_fit<>>;
    using type = allot::fallback<first_type::type&, second_type::type&>;
    static constexpr bool bounded = false;
    first_type first;
    second_type second;
    type memory{first.memory, second.memory};
    [[nodiscard]] bool is_all_back() { return first.is_all_back() && second.is_all_back(); }
};

using in_band = one_region<allot::best_fit<>>;
using deferred = one_region<allot::deferred<allot::best_fit<>>>;
using side_table = one_region<allot::best_fit<helpers::side_table>>;
using hardened_in_band = one_region<allot::best_fit<>, helpers::debug>;
using hardened_side_table = one_region<allot::best_fit<helpers::side_table>, helpers::debug>;
using growing_in_band = growing<allot::best_fit<>>;
using growing_side_table = growing<allot::best_fit<helpers::side_table>>;

#define EVERY_MEMORY                                                                                                  \
    memories::in_band, memories::deferred, memories::side_table, memories::hardened_in_band,                          \
        memories::hardened_side_table, memories::growing_in_band, memories::growing_side_table, memories::one_by_one, \
        memories::two

// Shrinks a string of Boost with an extended allocator. In Boost 1.91 that function does not compile.
template <class Text>
bool shrink(Text& text) {
    if constexpr (BOOST_VERSION < 109100) text.shrink_to_fit();
    return BOOST_VERSION < 109100;
}

// Random numbers that are the same on every machine.
struct sequence {
    std::mt19937_64 next{1};
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
};

}  // namespace memories
