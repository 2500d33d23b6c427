// reserving_device: each failure of the system is returned, and nothing stays reserved.
#include <allot/address/reserving_device.hpp>

#include <doctest/doctest.h>

#include "reserving_device_cases.hpp"

#include <cstdlib>

namespace {

using namespace allot::literals;

/// A system in a part of the heap. It counts its ranges and committed bytes, and fails where a test asks for it.
struct small_system {
    enum class error : int { none, invalid, out_of_memory, no_addresses, no_pages, not_returned };
    static constexpr error invalid = error::invalid, out_of_memory = error::out_of_memory;
    static constexpr std::size_t min_align = 4096;
    static inline error fails = error::none;
    static inline std::size_t ranges = 0, committed = 0;

    static std::size_t largest_align() noexcept { return 4096; }
    static void* reserve(std::size_t size) noexcept {
        if (fails == error::no_addresses) return nullptr;
        ++ranges;
        return std::aligned_alloc(4096, size);
    }
    static bool commit(void* from, std::size_t size) noexcept {
        if (fails == error::no_pages) return false;
        std::memset(from, 0, size);
        committed += size;
        return true;
    }
    static bool decommit(void*, std::size_t size) noexcept {
        if (fails == error::not_returned) return false;
        committed -= size;
        return true;
    }
    static void release(void* base, std::size_t) noexcept {
        --ranges;
        std::free(base);
    }
    static error last_error() noexcept { return fails; }
};
using device = allot::reserving_device<small_system>;
using error = small_system::error;
static_assert(allot::extensible_device<device> && !allot::bounded_device<device> && allot::host_written_device<device>);

struct failing {
    explicit failing(error with) { small_system::fails = with; }
    ~failing() { small_system::fails = error::none; }
};

}  // namespace

TEST_CASE("reserving device: a failed acquire returns the error of the system and reserves nothing") {
    device memory{1_MiB};
    for (const error each : {error::no_addresses, error::no_pages}) {
        const failing now{each};
        CHECK(memory.acquire({.size = 1}).error() == each);
    }
    CHECK(memory.acquire({.size = 1_MiB + 1}).error() == error::out_of_memory);
    CHECK(memory.acquire({.size = 1, .align = 3}).error() == error::invalid);
    CHECK(memory.acquire({.size = 1, .align = 8192}).error() == error::invalid);
    CHECK(small_system::ranges == 0);
}

TEST_CASE("reserving device: a failed resize leaves the region as it is") {
    device memory{1_MiB};
    small_system::committed = 0;
    const auto held = *memory.acquire({.size = 100'000});
    CHECK(held.size == 128_KiB);
    CHECK(small_system::committed == 128_KiB);
    {
        const failing now{error::no_pages};
        CHECK(memory.resize(held, 256_KiB).error() == error::no_pages);
        CHECK(memory.resize(held, 128_KiB)->size == 128_KiB);
    }
    {
        const failing now{error::not_returned};
        CHECK(memory.resize(held, 64_KiB).error() == error::not_returned);
    }
    CHECK(small_system::committed == 128_KiB);
    const auto larger = *memory.resize(held, 1_MiB);
    CHECK(larger.base == held.base);
    CHECK(small_system::committed == 1_MiB);
    const auto less = *memory.resize(larger, 64_KiB);
    CHECK(small_system::committed == 64_KiB);
    CHECK(memory.resize(less, 1_MiB + 64_KiB).error() == error::out_of_memory);
    memory.release(less);
    CHECK(small_system::ranges == 0);
}

TEST_CASE("reserving device: up_to reserves a half or a quarter where the system has fewer addresses") {
    CHECK(device::up_to(1_MiB).reserve() == 1_MiB);
    const failing now{error::no_addresses};
    CHECK(device::up_to(1_MiB, 256_KiB).reserve() == 256_KiB);
    CHECK(small_system::ranges == 0);
}

TEST_CASE_TEMPLATE("reserving device: arenas grow in place", Strategy, reserving_device_cases::in_band,
                   reserving_device_cases::up) {
    reserving_device_cases::blocks_keep_their_addresses<device, Strategy>(100);
    reserving_device_cases::only_the_last_block_grows_the_region<device, reserving_device_cases::beside>();
    reserving_device_cases::all_of_the_reserve_is_used<device>();
    CHECK(small_system::ranges == 0);
}
