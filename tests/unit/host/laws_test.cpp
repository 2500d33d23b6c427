// The laws of allocators on host memory that is locked, reserved, shared, contiguous, or adopted, and on a VTCM window.
#include "../../laws/adapters.hpp"
#include "../../laws/judge.hpp"
#include "huge_pages.hpp"

#include <allot/compose/adopted.hpp>
#include <allot/hexagon/vtcm.hpp>
#include <allot/host/contiguous_pages.hpp>
#include <allot/host/pinned_pages.hpp>
#include <allot/host/shared_memory.hpp>
#include <allot/host/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <cstdio>

namespace {

/// Unmaps a mapping that begins `before` bytes below the base.
struct unmap {
    std::size_t before, size;
    void operator()(const void* base) const noexcept {
        CHECK(::munmap(const_cast<std::byte*>(static_cast<const std::byte*>(base)) - before, before + size) == 0);
    }
};
using pinned = allot::host::pinned_pages;
using reserved = allot::host::virtual_memory;
using kept = allot::cached<laws::steady<allot::host::pages<>>>;
using shared = allot::host::shared_memory;
using huge = allot::host::pages<allot::host::pages_options{.huge = allot::host::huge_pages::required}>;
using contiguous = allot::host::contiguous_pages<>;
using adopted = allot::adopted<allot::host::buffer, unmap>;
using constants = allot::adopted<allot::read_only<allot::host::buffer>, unmap>;

/// VTCM driver over pages of this host.
struct mapped_window {
    std::size_t before = 0, bytes = 0;
    [[nodiscard]] std::size_t size() const noexcept { return bytes; }
    [[nodiscard]] void* acquire(std::size_t all) const noexcept {
        void* const base = ::mmap(nullptr, before + all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base) + before;
    }
    void release(void* base) const noexcept { unmap{before, bytes}(base); }
};
using vtcm = allot::hexagon::vtcm<mapped_window>;

/// A mapping that begins below the base, so that the base has only some alignments.
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
struct ground<reserved> {
    explicit ground(const variant&) {}
    [[nodiscard]] static reserved device(std::size_t) { return reserved{4 << 20}; }
};
template <>
struct ground<shared> {
    explicit ground(const variant&) {}
    [[nodiscard]] static shared device(std::size_t size) { return std::move(*shared::create(size)); }
};
template <>
struct ground<contiguous> {
    explicit ground(const variant&) {}
    [[nodiscard]] static contiguous device(std::size_t) { return contiguous{}; }
};
template <class Device>
struct ground<allot::cached<Device>> : ground<Device> {
    using ground<Device>::ground;
    [[nodiscard]] allot::cached<Device> device(std::size_t size) {
        return allot::cached<Device>{ground<Device>::device(size)};
    }
};
template <>
struct ground<adopted> : mapping<adopted, PROT_READ | PROT_WRITE> {
    using mapping::mapping;
};
template <>
struct ground<constants> : mapping<constants, PROT_READ> {
    using mapping::mapping;
};
template <>
struct ground<vtcm> {
    explicit ground(const variant& how) : before{how.aligned ? std::size_t{0} : std::size_t{2048}} {}
    [[nodiscard]] vtcm device(std::size_t size) const { return vtcm{mapped_window{before, size}}; }
    std::size_t before;
};
}  // namespace laws

namespace {

using fixed = allot::growth::fixed<allot::growth_options{.step = 3000, .limit = 40'000, .regions = 8}>;
using by_huge_pages = allot::growth::fixed<allot::growth_options{.step = 2 << 20, .limit = 8 << 20, .regions = 4}>;
using in_place = allot::growth::contiguous<allot::growth_options{.step = 64 << 10, .limit = 1 << 20, .regions = 1}>;
constexpr allot::best_fit_options few{.records = 24};
constexpr allot::best_fit_options few_two_ends{.records = 24, .large = 200};
constexpr allot::pool_options slots{.slot = 64, .count = 60, .align = 16, .store = allot::pool_store::bitmap};

using up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
template <class Device, class Strategy, class Growth = allot::growth::none<>>
using on = laws::arena_subject<laws::arena_over<Device, Strategy, Growth>>;

using laws::make;
constexpr laws::row pinned_table[] = {
    {"best fit, in band, pinned pages", make<on<pinned, allot::best_fit<>>>, false, false},
    {"best fit, in band, pinned pages, fixed growth", make<on<pinned, allot::best_fit<>, fixed>>, true},
    {"best fit, side table of 24, pinned pages", make<on<pinned, allot::best_fit<few>>>, false, false},
};
constexpr laws::row table[] = {
    {"best fit, in band, adopted", make<on<adopted, allot::best_fit<>>>},
    {"stack, adopted", make<on<adopted, allot::stack<>>>},
    {"best fit, side table, adopted constants", make<on<constants, allot::best_fit<>>>},
    {"best fit, in band, VTCM", make<on<vtcm, allot::best_fit<>>>},
    {"best fit, side table of 24, two ends, VTCM", make<on<vtcm, allot::best_fit<few_two_ends>>>},
    {"pool, bitmap, VTCM", make<on<vtcm, allot::pool<slots>>>},
    {"pool, bitmap, adopted constants", make<on<constants, allot::pool<slots>>>},
    {"best fit, in band, reserved addresses", make<on<reserved, allot::best_fit<>>>, false, false},
    {"best fit, in band, reserved addresses, grows in place", make<on<reserved, allot::best_fit<>, in_place>>, true},
    {"best fit, side table of 24, reserved addresses, grows in place",
     make<on<reserved, allot::best_fit<few>, in_place>>, true},
    {"bump up, reserved addresses, grows in place", make<on<reserved, up, in_place>>, true},
    {"best fit, in band, shared memory", make<on<shared, allot::best_fit<>>>},
    {"best fit, side table of 24, shared memory", make<on<shared, allot::best_fit<few>>>},
    {"ring, shared memory", make<on<shared, allot::ring<>>>},
    {"best fit, in band, kept pages, fixed growth", make<on<kept, allot::best_fit<>, fixed>>, true},
    {"bump down, kept pages, fixed growth", make<on<kept, allot::bump<>, fixed>>, true},
};
constexpr laws::row huge_table[] = {
    {"best fit, in band, huge pages, fixed growth", make<on<huge, allot::best_fit<>, by_huge_pages>>, true},
    {"best fit, in band, contiguous pages", make<on<contiguous, allot::best_fit<>>>, false, false},
    {"best fit, side table of 24, contiguous pages, fixed growth",
     make<on<contiguous, allot::best_fit<few>, by_huge_pages>>, true},
    {"bump down, contiguous pages that are kept, fixed growth",
     make<on<allot::cached<contiguous>, allot::bump<>, by_huge_pages>>, true},
};

}  // namespace

TEST_CASE("allocator laws: arenas over pinned pages") {
    CHECK(std::size(pinned_table) == 3);
    if (const auto most = pinned{}.acquire({.size = 128 * 1024})) {
        pinned{}.release(*most);
        laws::judge(pinned_table);
    } else {
        std::puts("skipped: this process may lock too little memory for the laws");
    }
}

TEST_CASE("allocator laws: arenas over adopted, reserved, shared, and cached memory") {
    CHECK(std::size(table) == 16);
    laws::judge(table);
}

TEST_CASE("allocator laws: arenas over huge and contiguous pages") {
    CHECK(std::size(huge_table) == 4);
    const huge_pages::reserve pages{24};
    if (pages) laws::judge(huge_table);
}
