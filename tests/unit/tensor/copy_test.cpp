// Tests of copy_tensor: contiguous and discontiguous tensors in every combination, slices, copy methods and errors.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace {

using allot::anywhere;
using allot::int32;
using allot::tensor_refusal;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

struct memory {
    heap_arena arena{{}, 1 << 20};
    allot::storage<heap_arena> data = *allot::alloc_storage(arena, 1 << 18, 4);
    allot::storage<heap_arena> tables = *allot::alloc_storage(arena, 1 << 14, 8);

    auto whole(allot::shape shape, allot::dtype type = int32) {
        return *allot::alloc_tensor(data, anywhere, shape, type);
    }
    auto rows(allot::row_offsets offsets, allot::shape shape) {
        return *allot::alloc_discontiguous_tensor(tables, anywhere, data, offsets, shape, int32);
    }
};

template <class Tensor>
void number(const Tensor& tensor) {
    auto* const first = static_cast<std::int32_t*>(tensor.data());
    std::iota(first, first + tensor.size(), 1);
}

/// Counts the runs of a copy and their bytes.
struct counted {
    std::vector<std::size_t>* sizes;
    long operator()(const void* from, void* to, std::size_t bytes) const noexcept {
        sizes->push_back(bytes);
        std::memcpy(to, from, bytes);
        return 0;
    }
};

}  // namespace

TEST_CASE("copy_tensor: adjacent rows on either side form one run") {
    memory it;
    const auto x = it.whole({8, 16});
    number(x);
    const auto y = it.whole({8, 16});
    std::vector<std::size_t> runs;
    const std::int64_t base = 100000;
    // Rows 0 to 2 are adjacent, 3 is separate, 5 follows 4, and 6 and 7 are in the wrong order.
    const auto a = it.rows(
        {base, base + 64, base + 128, base + 1024, base + 2048, base + 2112, base + 4160, base + 4096}, {8, 16});
    CHECK(allot::copy_tensor(x, a, counted{&runs}));
    CHECK(runs == std::vector<std::size_t>{192, 64, 128, 64, 64});
    runs.clear();
    CHECK(allot::copy_tensor(a, y, counted{&runs}));
    CHECK(runs == std::vector<std::size_t>{192, 64, 128, 64, 64});
    CHECK(std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);

    runs.clear();
    const auto b = it.rows(
        {base + 8192, base + 8256, base + 8320, base + 8384, base + 8448, base + 8512, base + 8576, base + 8640},
        {8, 16});
    CHECK(allot::copy_tensor(x, b, counted{&runs}));
    CHECK(runs == std::vector<std::size_t>{512});
    runs.clear();
    CHECK(allot::copy_tensor(a, b, counted{&runs}));
    CHECK(runs.size() == 5);
    CHECK(std::memcmp(x.data(), b.row(0), x.size_bytes()) == 0);
}

TEST_CASE("copy_tensor: a run ends where a row of either side ends") {
    memory it;
    const auto x = it.whole({6, 10});
    number(x);
    const auto wide = it.rows({100000, 104000, 101000}, {3, 20});
    const auto narrow = it.rows({120000, 110000, 130000, 130060, 112000}, {5, 12});
    CHECK(allot::copy_tensor(x, wide));
    std::vector<std::size_t> runs;
    CHECK(allot::copy_tensor(wide, narrow, counted{&runs}));
    CHECK(std::accumulate(runs.begin(), runs.end(), std::size_t{0}) == 240);
    const auto y = it.whole({60});
    CHECK(allot::copy_tensor(narrow, y));
    CHECK(std::memcmp(x.data(), y.data(), 240) == 0);
}

TEST_CASE("copy_tensor: random slices match an element-wise copy") {
    memory it;
    std::minstd_rand random{7};
    const auto from = it.whole({6, 5, 7, 4}), to = it.whole({8, 5, 9, 4});
    for (int round = 0; round != 300; ++round) {
        number(from);
        std::memset(to.data(), 0, to.size_bytes());
        allot::shape size{0, 0, 0, 0}, source{0, 0, 0, 0}, target{0, 0, 0, 0};
        for (std::size_t axis = 0; axis != 4; ++axis) {
            const auto below = [&](std::int64_t bound) { return static_cast<std::int64_t>(random()) % bound; };
            size[axis] = round % 3 == 0 ? from.shape()[axis] - (below(4) == 0) : below(from.shape()[axis] + 1);
            source[axis] = below(from.shape()[axis] - size[axis] + 1);
            target[axis] = below(to.shape()[axis] - size[axis] + 1);
        }
        const auto piece = *allot::slice(from, source, size), onto = *allot::slice(to, target, size);
        REQUIRE(allot::copy_tensor(piece, onto));

        std::vector<std::int32_t> expected(to.size());
        const auto at = [](const allot::shape& of, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
            return static_cast<std::size_t>(((a * of[1] + b) * of[2] + c) * of[3] + d);
        };
        for (std::int64_t a = 0; a != size[0]; ++a)
            for (std::int64_t b = 0; b != size[1]; ++b)
                for (std::int64_t c = 0; c != size[2]; ++c)
                    for (std::int64_t d = 0; d != size[3]; ++d)
                        expected[at(to.shape(), target[0] + a, target[1] + b, target[2] + c, target[3] + d)] =
                            static_cast<const std::int32_t*>(from.data())[at(from.shape(), source[0] + a, source[1] + b,
                                                                             source[2] + c, source[3] + d)];
        REQUIRE(std::memcmp(expected.data(), to.data(), to.size_bytes()) == 0);
    }
}

TEST_CASE("copy_tensor: invalid arguments are rejected") {
    memory it;
    const auto x = it.whole({4, 16}), y = it.whole({4, 16}, allot::float32), z = it.whole({65});
    CHECK(allot::copy_tensor(x, y).error().reason == tensor_refusal::dtype_mismatch);
    CHECK(allot::copy_tensor(x, z).error().reason == tensor_refusal::shape_mismatch);
    const auto nibbles = it.whole({4, 6}, allot::uint4), others = it.whole({2, 4}, allot::uint4);
    const auto part = *allot::slice(nibbles, {0, 0}, {2, 4});
    CHECK(allot::copy_tensor(part, others).error().reason == tensor_refusal::partial_bytes);
    CHECK(allot::copy_tensor(nibbles, nibbles));
}

TEST_CASE("copy_tensor: tensors that share bytes are rejected") {
    memory it;
    const auto x = it.whole({4, 16});
    number(x);
    const auto low = *allot::view(x, int32, {48}), high = *allot::view(x, int32, {48}, 64);
    CHECK(allot::copy_tensor(low, high).error().reason == tensor_refusal::overlapping);
    CHECK(allot::copy_tensor(high, low).error().reason == tensor_refusal::overlapping);
    CHECK(allot::copy_tensor(low, low));  // a copy onto itself succeeds without effect
    const auto nine = [&](std::int64_t at) { return *allot::view(x, allot::uint8, {9}, at); };
    CHECK(allot::copy_tensor(nine(0), nine(8)).error().reason == tensor_refusal::overlapping);  // they share one byte
    CHECK(allot::copy_tensor(nine(8), nine(0)).error().reason == tensor_refusal::overlapping);
    CHECK(allot::copy_tensor(nine(100), nine(109)));
    const auto left = *allot::slice(x, {0, 0}, {4, 8}), right = *allot::slice(x, {0, 8}, {4, 8});
    CHECK(allot::copy_tensor(left, right));  // interleaved, but without a shared byte
    CHECK(static_cast<std::int32_t*>(x.data())[8] == static_cast<std::int32_t*>(x.data())[0]);

    const auto planned = *allot::alloc_storage<allot::storage_policies<allot::as_given>>(it.arena, 4096, 4);
    const auto a = *allot::alloc_tensor(planned, 0, {2, 16}, int32);
    const auto b = *allot::alloc_discontiguous_tensor(it.tables, anywhere, planned, {512, 64}, {2, 16}, int32);
    const auto c = *allot::alloc_discontiguous_tensor(it.tables, anywhere, planned, {1024, 128}, {2, 16}, int32);
    CHECK(allot::copy_tensor(a, b).error().reason == tensor_refusal::overlapping);
    CHECK(allot::copy_tensor(b, c));
}

TEST_CASE("copy_tensor: the error contains the device's code") {
    memory it;
    const auto x = it.whole({4}), y = it.whole({4});
    const auto answer = allot::copy_tensor(x, y, [](const void*, void*, std::size_t) noexcept -> long { return -36; });
    CHECK(answer.error().reason == tensor_refusal::copy_failed);
    CHECK(answer.error().memory.device_error == -36);
}

TEST_CASE("copy_tensor: tensors without elements copy nothing, scalars copy one element") {
    memory it;
    const auto x = it.whole({0, 4}), y = it.whole({4, 0});
    std::vector<std::size_t> runs;
    CHECK(allot::copy_tensor(x, y, counted{&runs}));
    CHECK(runs.empty());
    const auto scalar = it.whole({}), other = it.whole({1, 1});
    number(scalar);
    CHECK(allot::copy_tensor(scalar, other));
    CHECK(*static_cast<std::int32_t*>(other.data()) == 1);
}

namespace {

/// A copy method that does not support runs of one size, and records its calls.
struct picky {
    std::size_t never;
    std::vector<std::size_t>* sizes;
    int* waits;
    long wait_code = 0;

    template <allot::host_memory From, allot::host_memory To>
    allot::copied copy(const void* from, void* to, std::size_t bytes) const noexcept {
        if (bytes == never) return allot::copy_path::none;
        sizes->push_back(bytes);
        std::memcpy(to, from, bytes);
        return allot::copy_path::on_device;
    }
    long finish(allot::copy_path longest) const noexcept {
        CHECK(longest == allot::copy_path::on_device);
        ++*waits;
        return wait_code;
    }
};

}  // namespace

TEST_CASE("copy_tensor: each run uses the first method that supports it, and the result is the longest path") {
    memory it;
    const auto x = it.whole({4, 16}), y = it.whole({4, 16});
    number(x);
    const auto rows = it.rows({100000, 100064, 101000, 102000}, {4, 16});  // runs of 128, 64, 64
    std::vector<std::size_t> first, second;
    int waits = 0;
    const auto both = allot::copy_tensor(x, rows, picky{64, &first, &waits}, counted{&second});
    REQUIRE(both);
    CHECK(*both == allot::copy_path::on_device);
    CHECK(first == std::vector<std::size_t>{128});
    CHECK(second == std::vector<std::size_t>{64, 64});
    CHECK(waits == 1);
    // The host copies the runs that no method supports.
    first.clear();
    const auto rest = allot::copy_tensor(rows, y, picky{128, &first, &waits});
    REQUIRE(rest);
    CHECK(*rest == allot::copy_path::on_device);
    CHECK(first == std::vector<std::size_t>{64, 64});
    CHECK(waits == 2);
    CHECK(std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
    // A method that copied nothing is not waited for.
    REQUIRE(allot::copy_tensor(x, y, picky{x.size_bytes(), &first, &waits}));
    CHECK(waits == 2);
    CHECK(*allot::copy_tensor(x, y) == allot::copy_path::host);
    CHECK(*allot::copy_tensor(x, y, counted{&second}) == allot::copy_path::function);
    CHECK(*allot::copy_tensor(x, x, counted{&second}) == allot::copy_path::none);
}

TEST_CASE("copy_tensor: a failing finish() is reported") {
    memory it;
    const auto x = it.whole({4}), y = it.whole({4});
    std::vector<std::size_t> sizes;
    int waits = 0;
    const auto answer = allot::copy_tensor(x, y, picky{0, &sizes, &waits, -5});
    CHECK(answer.error().reason == tensor_refusal::copy_failed);
    CHECK(answer.error().memory.device_error == -5);
}

TEST_CASE("staged_copy: copies in steps of the buffer's size and reports a failure of either method") {
    memory it;
    const auto x = it.whole({60}), y = it.whole({60});
    number(x);
    std::vector<std::size_t> in, out;
    std::byte bytes[100];
    const auto staged = allot::copy_tensor(x, y, allot::staged_copy{counted{&in}, counted{&out}, std::span{bytes}});
    REQUIRE(staged);
    CHECK(*staged == allot::copy_path::staged);
    CHECK(in == std::vector<std::size_t>{100, 100, 40});
    CHECK(out == in);
    CHECK(std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
    const auto broken = [](const void*, void*, std::size_t) noexcept -> long { return 7; };
    const auto first = allot::copy_tensor(x, y, allot::staged_copy{broken, counted{&out}, std::span{bytes}});
    const auto second = allot::copy_tensor(x, y, allot::staged_copy{counted{&in}, broken, std::span{bytes}});
    CHECK(first.error().memory.device_error == 7);
    CHECK(second.error().memory.device_error == 7);
    // When the first method supports no run, the second one does not write to the target.
    std::vector<std::size_t> none, written;
    int waits = 0;
    const auto unwilling =
        allot::copy_tensor(x, y, allot::staged_copy{picky{100, &none, &waits}, counted{&written}, std::span{bytes}});
    REQUIRE(unwilling);
    CHECK(*unwilling == allot::copy_path::host);
    CHECK(written.empty());
}
