// Memory without a heap: arenas inside static objects, over an array, and over an object at a linker's address.
#include <allot/allot.hpp>

#include <cstdio>

using namespace allot::literals;

// 64 KiB in .bss. The compiler knows address, size, and alignment.
static allot::arena<allot::host::static_storage<64_KiB, 64>, allot::best_fit<>> general;

// Existing bytes, such as an array or a mapping.
alignas(64) static std::byte array[4_KiB];

// An object that a linker script may place: [[gnu::section(".slow")]]. The arena itself is in ordinary memory.
struct alignas(32) slow_bytes {
    std::byte bytes[48_KiB];
};
static slow_bytes slow;
static allot::arena<allot::host::static_buffer<slow>, allot::bump<>> in_slow;

int main() {
    allot::arena in_array{allot::host::buffer{array}, allot::use<allot::pool<allot::pool_options{.slot = 128}>>};

    const auto tensor = general.allocate({.size = 10'000, .align = 64});
    const auto message = in_array.allocate({.size = 100});
    const auto table = in_slow.allocate({.size = 40'000, .align = 32});
    if (!tensor || !message || !table) return 1;

    std::printf("general:  %zu bytes, block of %zu\n", general.size(), general.capacity(tensor));
    std::printf("in_array: %zu bytes, block of %zu\n", in_array.size(), in_array.capacity(message));
    std::printf("in_slow:  %zu bytes, block of %zu\n", in_slow.size(), in_slow.capacity(table));

    const auto* const first = static_cast<const std::byte*>(message.address);
    const bool inside = first >= array && first < array + sizeof array;
    general.deallocate(tensor);
    in_array.deallocate(message);
    return inside && general.allocate({.size = 60'000}) ? 0 : 1;
}
