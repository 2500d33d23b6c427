// Copies between every two memories of a vendor and of the host, contiguous and by rows, on the fake runtime and on a
// GPU.
#include "machine.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <array>
#include <cstring>
#include <numeric>

namespace {

using allot::copy_path;
using allot::int32;
using allot::host::heap;
using vendor::async_memory;
using vendor::device_memory;
using vendor::managed;
using vendor::pinned;
using vendor::stream_copy;

template <class Device>
using arena_of = allot::arena<Device, allot::best_fit<>>;
constexpr std::size_t room = 1 << 16;

template <class Device>
[[nodiscard]] arena_of<Device> memory() {
    if constexpr (std::same_as<Device, heap>) return arena_of<heap>{{}, room};
    else return arena_of<Device>{tests::make<Device>(), room};
}

/// A memory, and the tensors in it that the tests copy.
template <class Device>
struct place {
    arena_of<Device> of = memory<Device>();
    arena_of<heap> tables = memory<heap>();
    allot::storage<arena_of<Device>> storage = *allot::alloc_storage(of, 1 << 14, 128);
    allot::storage<arena_of<heap>> table = *allot::alloc_storage(tables, 64);

    auto whole() { return *allot::alloc_tensor(storage, 1024, {4, 64}, int32); }
    auto rows() {
        return *allot::alloc_discontiguous_tensor(table, 0, storage, {8192, 4096, 4352, 12288}, {4, 64}, int32);
    }
};

template <class From, class To>
void check(const From& from, const To& to, copy_path expected) {
    const stream_copy copy;
    arena_of<heap> host = memory<heap>();
    const auto numbers = *allot::alloc_tensor(*allot::alloc_storage(host, 1024), 0, {4, 64}, int32);
    const auto seen = *allot::alloc_tensor(*allot::alloc_storage(host, 1024), 0, {4, 64}, int32);
    static int round = 0;
    std::iota(static_cast<std::int32_t*>(numbers.data()), static_cast<std::int32_t*>(numbers.data()) + 256,
              1000 * ++round);
    std::memset(seen.data(), 0, seen.size_bytes());
    REQUIRE(allot::copy_tensor(numbers, from, copy));
    const auto path = allot::copy_tensor(from, to, copy);
    REQUIRE(path);
    CHECK(*path == expected);
    REQUIRE(allot::copy_tensor(to, seen, copy));
    CHECK(std::memcmp(numbers.data(), seen.data(), seen.size_bytes()) == 0);
}

template <class From, class To>
void check_all(copy_path expected) {
    place<From> from;
    place<To> to;
    check(from.whole(), to.whole(), expected);
    check(from.whole(), to.rows(), expected);
    check(from.rows(), to.whole(), expected);
    check(from.rows(), to.rows(), expected);
}

}  // namespace

TEST_CASE_TEMPLATE(VENDOR " copies: between device and host memory", Device, device_memory, managed, async_memory) {
    const tests::machine machine;
    check_all<heap, Device>(copy_path::to_device);
    check_all<pinned, Device>(copy_path::to_device);
    check_all<Device, heap>(copy_path::from_device);
    check_all<Device, pinned>(copy_path::from_device);
    check_all<Device, Device>(copy_path::on_device);
}

TEST_CASE(VENDOR " copies: between two kinds of memory of one device") {
    const tests::machine machine;
    check_all<device_memory, managed>(copy_path::on_device);
    check_all<managed, async_memory>(copy_path::on_device);
    check_all<async_memory, device_memory>(copy_path::on_device);
}

TEST_CASE(VENDOR " copies: pinned memory is host memory, with and without a stream") {
    const tests::machine machine;
    check_all<pinned, heap>(copy_path::host);
    check_all<heap, pinned>(copy_path::host);
    place<pinned> from, to;
    const auto path = allot::copy_tensor(from.rows(), to.whole());
    REQUIRE(path);
    CHECK(*path == copy_path::host);
}

TEST_CASE(VENDOR " copies: a write to a shared row copies it on the stream, also to another kind of memory") {
    const tests::machine machine;
    const stream_copy copy;
    place<device_memory> fast;
    place<managed> slow;
    const auto tables = *allot::alloc_storage(fast.tables, 4096);
    const auto small = *allot::alloc_storage(fast.of, {.size = 5 * 128, .align = 128});
    const allot::storage_list both{small, slow.storage};
    const auto rows = *allot::share_rows(both, tables, 20);
    auto a = *allot::alloc_discontiguous_tensor(tables, allot::anywhere, rows, allot::anywhere, {4, 32}, int32);
    std::array<std::int32_t, 4 * 32> numbers{}, seen{};
    std::iota(numbers.begin(), numbers.end(), 5);
    arena_of<heap> host = memory<heap>();
    const auto words = *allot::alloc_tensor(*allot::alloc_storage(host, 512), 0, {4, 32}, int32);
    std::memcpy(words.data(), numbers.data(), sizeof numbers);
    REQUIRE(allot::copy_tensor(words, a, copy));

    auto b = *allot::fork(a);
    CHECK(allot::copy_tensor(words, b, copy).error().reason == allot::tensor_refusal::shared_row);
    for (const std::size_t row : {1U, 3U}) {  // the second copy is in the other memory
        REQUIRE(allot::write(b, row, copy));
        CHECK(b.lease().body()->count(b.lease().piece(row)) == 1);
        const auto zeros = *allot::alloc_tensor(*allot::alloc_storage(host, 128), 0, {1, 32}, int32);
        std::memset(zeros.data(), 0, zeros.size_bytes());
        REQUIRE(allot::copy_tensor(zeros, *allot::slice(b, {static_cast<std::int64_t>(row), 0}, {1, 32}), copy));
    }
    REQUIRE(allot::copy_tensor(a, words, copy));
    CHECK(std::memcmp(words.data(), numbers.data(), sizeof numbers) == 0);
    REQUIRE(allot::copy_tensor(b, words, copy));
    for (std::size_t i = 0; i != numbers.size(); ++i) seen[i] = i / 32 % 2 == 1 ? 0 : numbers[i];
    CHECK(std::memcmp(words.data(), seen.data(), sizeof seen) == 0);
}
