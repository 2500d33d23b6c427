// SPDX-License-Identifier: BSL-1.0
// A firmware: a network whose tensors are at offsets planned by the compiler, in a fast and a slow section of memory,
// while an interrupt passes packets to the main loop. It uses no heap and makes no placement decision at run time. It
// prints the memory map, and exits with 0 if every byte of every tensor and packet is correct.
#include "inference.hpp"
#include "memory_map.hpp"
#include "packets.hpp"

#include <allot/plan/planned.hpp>

namespace {

using firmware::options;

constexpr options config = firmware::checked<firmware::boards::FIRMWARE_BOARD>();
using layout = firmware::layout<config>;

// Two memories in sections that the linker places: bytes that the startup code does not clear.
struct alignas(layout::fast.align) fast_bytes {
    std::byte bytes[config.fast_bytes];
};
struct alignas(layout::slow.align) slow_bytes {
    std::byte bytes[config.slow_bytes];
};
[[gnu::section(".fast")]] fast_bytes fast_section;
[[gnu::section(".arena")]] slow_bytes slow_section;

allot::arena<allot::host::static_buffer<fast_section>, allot::planned<layout::fast>> fast_memory;
allot::arena<allot::host::static_buffer<slow_section>, allot::planned<layout::slow>> slow_memory;
firmware::packets<config> packets;

auto place(std::size_t t) noexcept {
    const auto fast = fast_memory.at(t), slow = slow_memory.at(t);
    struct {
        void* address;
        std::size_t size;
    } const block{fast ? fast.address : slow.address, fast ? fast.size : slow.size};
    return block;
}

void print_result(const char* what, std::uint64_t number) {
    firmware::print_number(number, 19);
    board::print("  ");
    board::print(what);
    board::print("\n");
}

}  // namespace

extern "C" void system_tick() { packets.receive(); }

int main() {
    firmware::print_sections();
    firmware::print_tensors<config>(place);

    board::start_ticks(config.tick_cycles);
    const std::uint64_t digest = firmware::infer(layout::net, place, [] { packets.take_all(); });
    while (packets.taken() < config.packets_wanted) {
        board::wait_for_interrupt();
        packets.take_all();
    }
    board::stop_ticks();
    packets.take_all();

    print_result("bytes of the packets' pool", config.packets.slot * config.packets.count);
    print_result("packets", packets.taken());
    print_result("lost because no slot was free", packets.lost());
    board::print("digest ");
    board::print(layout::net.name);
    board::print(" ");
    firmware::print_hexadecimal(digest, 16);
    board::print("\n");

    if (digest != firmware::expected<layout::net>()) board::print("error: tensors were overwritten\n");
    else if (packets.wrong() != 0) board::print("error: packets were overwritten\n");
    else if (!packets.all_free()) board::print("error: slots of the pool were not freed\n");
    else return 0;
    return 1;
}
