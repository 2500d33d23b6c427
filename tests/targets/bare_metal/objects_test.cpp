// Objects in blocks: pools of packets, scratch memory of a frame, arrays, and blocks with an owner.
#include <allot/arena/arena.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/object.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>

#include <doctest/doctest.h>

namespace {

using allot::host::static_storage;

struct packet {
    std::uint8_t bytes[60];
    std::uint16_t length = 0;
};

}  // namespace

TEST_CASE("typed_pool: three packets and no more, and a released one returns") {
    allot::typed_pool<packet, 3> packets;
    auto first = packets.make();
    const auto second = packets.make(packet{{1}, 1});
    const auto third = packets.make();
    CHECK(first);
    CHECK(second);
    CHECK(third);
    CHECK_FALSE(packets.make());
    CHECK(packets.diagnose().reason == allot::refusal::exhausted);
    packets.destroy(first.release());
    CHECK(packets.make());
}

TEST_CASE("scoped_mark: objects and arrays of a frame") {
    allot::arena<static_storage<768, 64>, allot::bump<>> scratch;
    for (int frame = 0; frame != 10; ++frame) {
        const allot::scoped_mark here{scratch};
        const auto* const number = allot::make<int>(scratch, frame);
        const auto samples = allot::make_array<std::uint32_t>(scratch, 100);
        REQUIRE(number != nullptr);
        CHECK(*number == frame);
        CHECK(samples.size() == 100);
        CHECK(samples[99] == 0);
        CHECK_FALSE(allot::make_array<std::uint32_t>(scratch, std::size_t{0} - 1));
    }
}

TEST_CASE("reallocate: a block that moves, and its owner") {
    allot::arena<static_storage<768, 64>, allot::best_fit<>> general;
    auto block = allot::allocate_zeroed(general, {.size = 100});
    const auto number = allot::make_unique<int>(general, 7);
    REQUIRE(number != nullptr);
    CHECK(allot::reallocate(general, block, {.size = 300}));
    CHECK(static_cast<const unsigned char*>(block.address)[99] == 0);
    const allot::unique_block owner{general, block};
    CHECK(owner.size() == 300);
    CHECK(*number == 7);
}
