// The laws on memories of a host's operating system: locked, contiguous, and from outside.
#include "../laws/adapters.hpp"
#include "../laws/judge.hpp"

#include <allot/device/adopted.hpp>
#include <allot/device/pinned_pages.hpp>

#include <doctest/doctest.h>

#include <cstdio>

namespace {

/// Unmaps a mapping of which the base is not the first byte.
struct unmap {
    std::size_t before, size;
    void operator()(const void* base) const noexcept {
        CHECK(::munmap(const_cast<std::byte*>(static_cast<const std::byte*>(base)) - before, before + size) == 0);
    }
};
using pinned = allot::host::pinned_pages;
using adopted = allot::adopted<allot::host::buffer, unmap>;
using constants = allot::adopted<allot::read_only<allot::host::buffer>, unmap>;

/// A mapping of which the base is not the first byte, so that only some alignments are its own.
template <class Device, int Protection>
struct mapping {
    explicit mapping(const laws::variant& how) : phase{how.aligned ? std::size_t{0} : std::size_t{48}} {}
    [[nodiscard]] Device device(std::size_t size) const {
        void* const base = ::mmap(nullptr, size + phase, Protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return Device{static_cast<std::byte*>(base) + phase, size, unmap{phase, size}};
    }
    std::size_t phase;
};

}  // namespace

namespace laws {
template <>
struct ground<pinned> {
    explicit ground(const variant&) {}
    [[nodiscard]] static pinned device(std::size_t) { return {}; }
};
template <>
struct ground<adopted> : mapping<adopted, PROT_READ | PROT_WRITE> {
    using mapping::mapping;
};
template <>
struct ground<constants> : mapping<constants, PROT_READ> {
    using mapping::mapping;
};
}  // namespace laws

namespace {

using fixed = allot::growth::fixed<allot::growth_options{.step = 3000, .limit = 40'000, .regions = 8}>;
constexpr allot::best_fit_options few{.records = 24};
constexpr allot::pool_options slots{.slot = 64, .count = 60, .align = 16, .store = allot::pool_store::bitmap};

template <class Device, class Strategy, class Growth = allot::growth::none>
using on = laws::arena_subject<laws::arena_over<Device, Strategy, Growth>>;

using laws::make;
constexpr laws::row table[] = {
    {"best fit, in band, pinned pages", make<on<pinned, allot::best_fit<>>>, false, false},
    {"best fit, in band, pinned pages, fixed growth", make<on<pinned, allot::best_fit<>, fixed>>, true},
    {"best fit, side table of 24, pinned pages", make<on<pinned, allot::best_fit<few>>>, false, false},
    {"best fit, in band, adopted", make<on<adopted, allot::best_fit<>>>},
    {"stack, adopted", make<on<adopted, allot::stack<>>>},
    {"best fit, side table, adopted constants", make<on<constants, allot::best_fit<>>>},
    {"pool, bitmap, adopted constants", make<on<constants, allot::pool<slots>>>},
};

}  // namespace

TEST_CASE("arenas over pinned and adopted memory keep the laws") {
    CHECK(std::size(table) == 7);
    std::span<const laws::row> rows{table};
    if (const auto most = pinned{}.acquire({.size = 128 * 1024})) {
        pinned{}.release(*most);
    } else {
        std::puts("skipped: pinned pages cannot keep the laws where so little may be locked");
        rows = rows.subspan(3);
    }
    laws::judge(rows);
}
