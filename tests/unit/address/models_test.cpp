// raw_pointer and handle_offset: the position follows from the address.
#include <allot/address/handle_offset.hpp>
#include <allot/address/raw_pointer.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using handle = allot::handle_offset<int>;

static_assert(handle::locate({7, 64}, 16) == handle::address{7, 80});
static_assert(handle::position(handle::locate({7, 64}, 16)) == 80 && handle::position({7, 0}) == 0);
static_assert(handle::address{7, 64} != handle::address{8, 64} && handle::address{7, 64} != handle::address{7, 65});
static_assert(!handle::absolute && allot::raw_pointer::absolute);
static_assert(sizeof(allot::handle_offset<void*>::address) == 2 * sizeof(void*));
static_assert(std::is_trivially_copyable_v<handle::address>);

template <class A>
concept adds = requires(A a, std::size_t n) { a + n; };
template <class A>
concept subtracts = requires(A a) { a - a; };
template <class A>
concept advances = requires(A a, std::size_t n) { a += n; };
template <class A>
concept dereferences = requires(A a) { *a; };
static_assert(!adds<handle::address> && !subtracts<handle::address> && !advances<handle::address>);
static_assert(!dereferences<handle::address> && !std::is_convertible_v<handle::address, std::size_t>);

// pointer_memory_traits: the traits of pointers, in a separate base class for each device.
struct first_device : allot::pointer_memory_traits<first_device> {};
struct second_device : allot::pointer_memory_traits<second_device, false> {};
struct both_devices {
    [[no_unique_address]] first_device first;
    [[no_unique_address]] second_device second;
};
static_assert(std::same_as<first_device::address_model, allot::raw_pointer>);
static_assert(first_device::host_accessible && !second_device::host_accessible);
static_assert(first_device::offsets == allot::offset_use::arithmetic &&
              second_device::offsets == first_device::offsets);
static_assert(first_device::dl_device == allot::dl_device_type::cpu);
static_assert(second_device::dl_device == allot::dl_device_type::ext_dev);
static_assert(sizeof(both_devices) == 1);     // both are at the same address
static_assert(!allot::device<first_device>);  // it adds error, min_align, granularity, acquire and release

}  // namespace

TEST_CASE("raw_pointer: position reverses locate") {
    std::byte bytes[64] = {};
    const std::size_t base = allot::raw_pointer::position(bytes);
    for (std::size_t n = 0; n <= 64; ++n) {
        void* const byte = allot::raw_pointer::locate(bytes, n);
        CHECK(byte == bytes + n);
        CHECK(allot::raw_pointer::position(byte) == base + n);
    }
}

TEST_CASE("handle_offset: position reverses locate") {
    const handle::address base{7, 1000};
    for (std::size_t n = 0; n <= 64; ++n) {
        CHECK(handle::locate(base, n).handle == 7);
        CHECK(handle::position(handle::locate(base, n)) == handle::position(base) + n);
    }
}
