// A pool of packets: static storage for exactly four, no heap. The owner of a packet returns it to the pool.
#include <allot/object/typed_pool.hpp>

#include <cstdint>
#include <cstdio>
#include <utility>

struct packet {
    std::uint8_t bytes[120];
    std::uint16_t length = 0;
};

using packet_pool = allot::typed_pool<packet, 4>;
static packet_pool packets;

// Stand-in for a driver that keeps a plain pointer until it calls back.
static packet* sending = nullptr;
static void on_sent() { packets.destroy(std::exchange(sending, nullptr)); }

int main() {
    packet_pool::owner received[4];
    for (packet_pool::owner& each : received) {
        each = packets.make();
        if (!each) return 1;
        each->length = 20;
    }

    if (packets.make()) return 1;  // all four are in use
    std::printf("no packet: %s\n", packets.diagnose().what());

    received[0].reset();  // one is free again
    auto reply = packets.make(packet{{1, 2, 3}, 3});
    if (!reply) return 1;
    std::printf("a reply of %u bytes\n", reply->length);

    sending = reply.release();  // the driver owns it now
    on_sent();
    return packets.diagnose().reason == allot::refusal::none ? 0 : 1;
}
