// A buffer: existing bytes of every kind of range, and a null base.
#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

using allot::host::buffer;

namespace {

template <class Bytes>
void check_whole(Bytes& bytes) {
    CHECK(buffer{bytes}.capacity() == std::size(bytes));
    const allot::arena<buffer, allot::bump<>> memory{buffer{bytes}};
    REQUIRE(memory);
    CHECK(memory.regions()[0].base == static_cast<void*>(std::data(bytes)));
    CHECK(memory.size() == std::size(bytes));
}

}  // namespace

TEST_CASE("buffer: arrays, standard arrays, vectors and spans of bytes are whole windows") {
    alignas(16) std::byte array[256];
    alignas(16) unsigned char characters[256];
    alignas(16) std::array<std::byte, 256> standard_array;
    alignas(16) std::array<std::uint8_t, 256> numbers;
    std::vector<std::byte> vector(256);
    const std::span<std::byte> half = std::span{vector}.first(128);
    check_whole(array);
    check_whole(characters);
    check_whole(standard_array);
    check_whole(numbers);
    check_whole(vector);
    check_whole(half);
}

TEST_CASE("buffer: only writable bytes that outlive the expression are accepted") {
    static_assert(!std::is_constructible_v<buffer, const std::byte(&)[16]>);
    static_assert(!std::is_constructible_v<buffer, const std::vector<std::byte>&>);
    static_assert(!std::is_constructible_v<buffer, std::vector<std::byte>>);
    static_assert(!std::is_constructible_v<buffer, std::array<int, 4>&>);
    static_assert(!std::is_convertible_v<std::span<std::byte>, buffer>);
}

TEST_CASE("buffer: a null base has no bytes") {
    CHECK(buffer{nullptr, 4096}.capacity() == 0);
    CHECK(buffer{nullptr, 4096}.acquire({.size = 1, .align = 1}).error() == allot::host::window_error::too_small);

    allot::arena<buffer, allot::best_fit<>> memory{buffer{nullptr, 4096}};
    CHECK_FALSE(memory);
    CHECK_FALSE(memory.allocate({.size = 16}));
    const allot::diagnosis reason = memory.diagnose({.size = 16});
    CHECK(reason.reason == allot::refusal::device_refused);
    CHECK(reason.device_error == static_cast<std::int64_t>(allot::host::window_error::too_small));
}
