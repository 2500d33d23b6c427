// Tests of sub-byte elements: a copy writes only the elements of its target, or fails.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>
#include <allot/tensor/dlpack.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

namespace {

using allot::anywhere;
using allot::dtype;
using allot::int4;
using allot::tensor_refusal;
using allot::uint8;

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;

struct memory {
    arena heap{{}, 1 << 18};
    allot::storage<arena> data = *allot::alloc_storage(heap, 1 << 16, 4);

    auto whole(allot::shape of, dtype type) { return *allot::alloc_tensor(data, anywhere, of, type); }
};

template <class Tensor>
std::byte* bytes_of(const Tensor& of) {
    return static_cast<std::byte*>(of.data());
}
template <class Tensor>
void fill(const Tensor& of, int byte) {
    std::memset(of.data(), byte, of.size_bytes());
}
/// Returns bit `n` of packed elements. The low bits of a byte come first.
bool bit(const std::byte* of, std::size_t n) { return (std::to_integer<unsigned>(of[n / 8]) >> n % 8 & 1U) != 0; }

/// Copies by a function, as a device's copy engine does.
long engine(const void* from, void* to, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
    return 0;
}

}  // namespace

TEST_CASE("packed elements: a copy to one row does not change the next row") {
    memory it;
    const auto rows = it.whole({2, 3}, int4), row = it.whole({3}, int4);
    fill(rows, 0);
    fill(row, 0xFF);
    const auto first = *allot::slice(rows, {0, 0}, {1, 3});
    CHECK(first.shares_last_byte());
    CHECK(allot::copy_tensor(row, first).error().reason == tensor_refusal::partial_bytes);
    CHECK(allot::copy_tensor(row, first, engine).error().reason == tensor_refusal::partial_bytes);
    CHECK(allot::copy_tensor(row, *allot::view(rows, int4, {3})).error().reason == tensor_refusal::partial_bytes);
    for (std::size_t i = 0; i != 3; ++i) CHECK(bytes_of(rows)[i] == std::byte{0});
    // A part that ends at a byte boundary or with its tensor can be written. The rest of the last byte is unused.
    const auto pair = *allot::slice(row, {0}, {2}), three = it.whole({3}, int4);
    CHECK(allot::copy_tensor(pair, *allot::slice(rows, {0, 0}, {1, 2})));
    CHECK(bytes_of(rows)[0] == std::byte{0xFF});
    CHECK(bytes_of(rows)[1] == std::byte{0});
    CHECK_FALSE(three.shares_last_byte());
    CHECK(allot::copy_tensor(first, three));  // as a source it is accepted
    CHECK(allot::copy_tensor(row, *allot::slice(three, {0}, {3})));
    CHECK(allot::copy_tensor(*allot::slice(row, {2}, {1}), *allot::slice(three, {2}, {1})));
}

TEST_CASE("packed elements: a view of a shared byte also shares it, for every dtype") {
    memory it;
    const auto rows = it.whole({2, 5}, int4);
    const auto first = *allot::slice(rows, {0, 0}, {1, 5});
    const auto bytes = *allot::view(first, uint8, {3}), low = *allot::view(first, uint8, {2});
    const auto other = it.whole({3}, uint8), two = it.whole({2}, uint8);
    CHECK(allot::copy_tensor(other, bytes).error().reason == tensor_refusal::partial_bytes);
    CHECK(allot::copy_tensor(*allot::slice(other, {2}, {1}), *allot::slice(bytes, {2}, {1})).error().reason ==
          tensor_refusal::partial_bytes);
    CHECK(allot::copy_tensor(two, low));
    CHECK(allot::copy_tensor(two, *allot::slice(bytes, {0}, {2})));
    CHECK_FALSE(allot::view(first, uint8, {0}, 3)->shares_last_byte());
    auto killed = first;
    killed.kill();
    CHECK_FALSE(killed.shares_last_byte());
}

TEST_CASE("packed elements: for_each_run rejects a tensor that shares its last byte") {
    memory it;
    const auto rows = it.whole({2, 3}, int4);
    const auto never = [](void*, std::size_t) noexcept { FAIL_CHECK("nothing is a run"); };
    CHECK(allot::for_each_run(*allot::slice(rows, {0, 0}, {1, 3}), never).reason == tensor_refusal::partial_bytes);
    CHECK(allot::for_each_run(*allot::slice(rows, {0, 0}, {1, 2}), [](void*, std::size_t) noexcept {}).reason ==
          tensor_refusal::none);
}

TEST_CASE("packed elements: a copy changes only the bits of its target, for every dtype") {
    memory it;
    std::minstd_rand random{5};
    const auto below = [&](std::int64_t bound) { return static_cast<std::int64_t>(random()) % bound; };
    constexpr dtype types[] = {{allot::dtype_code::unsigned_integer, 1},
                               {allot::dtype_code::unsigned_integer, 2},
                               {allot::dtype_code::unsigned_integer, 3},
                               int4,
                               {allot::dtype_code::integer, 4, 3},
                               allot::float6_e3m2fn,
                               allot::float4_e2m1fn,
                               {allot::dtype_code::floating, 12},
                               uint8};
    int copied = 0, refused = 0;
    for (int round = 0; round != 15'000; ++round) {
        const dtype type = types[below(std::size(types))];
        const std::size_t width = type.element_bits();
        const allot::shape extents{1 + below(4), 1 + below(7)};
        const auto to = it.whole(extents, type), from = it.whole(extents, type);
        for (std::size_t i = 0; i != to.size_bytes(); ++i) {
            bytes_of(to)[i] = static_cast<std::byte>(random());
            bytes_of(from)[i] = static_cast<std::byte>(random());
        }
        const std::vector<std::byte> before{bytes_of(to), bytes_of(to) + to.size_bytes()};
        const auto part = [&](allot::shape& begin, allot::shape& sizes) {
            for (std::size_t axis = 0; axis != 2; ++axis) {
                begin[axis] = below(extents[axis] + 1);
                sizes[axis] = below(extents[axis] - begin[axis] + 1);
            }
        };
        allot::shape begin{0, 0}, sizes{0, 0}, source{0, 0};
        part(begin, sizes);
        for (std::size_t axis = 0; axis != 2; ++axis) source[axis] = below(extents[axis] - sizes[axis] + 1);
        const auto onto = allot::slice(to, begin, sizes);
        const auto piece = allot::slice(from, source, sizes);
        if (!onto || !piece) {
            REQUIRE((onto ? piece : onto).error().reason == tensor_refusal::partial_bytes);
            continue;
        }
        const auto answer = allot::copy_tensor(*piece, *onto);
        std::vector<bool> elements(to.size() * width);
        for (std::size_t i = 0; i != elements.size(); ++i) elements[i] = bit(before.data(), i);
        if (answer) {
            ++copied;
            for (std::int64_t row = 0; row != sizes[0]; ++row) {
                for (std::int64_t column = 0; column != sizes[1]; ++column) {
                    const auto at = [&](const allot::shape& of) {
                        return static_cast<std::size_t>((of[0] + row) * extents[1] + of[1] + column) * width;
                    };
                    for (std::size_t i = 0; i != width; ++i)
                        elements[at(begin) + i] = bit(bytes_of(from), at(source) + i);
                }
            }
        } else {
            ++refused;
            REQUIRE(answer.error().reason == tensor_refusal::partial_bytes);
            REQUIRE_FALSE(type.is_whole_bytes());
        }
        for (std::size_t i = 0; i != elements.size(); ++i) REQUIRE(bit(bytes_of(to), i) == elements[i]);
    }
    CHECK(copied > 4000);
    CHECK(refused > 300);
}

TEST_CASE("packed elements: an adopted tensor that ends inside a byte can be read but not written") {
    memory it;
    const auto rows = it.whole({2, 3}, int4), row = it.whole({3}, int4);
    fill(rows, 0);
    fill(row, 0xFF);
    const auto adopted = [](const auto& of) { return *allot::from_dlpack<allot::host::heap>(*allot::to_dlpack(of)); };
    const auto first = adopted(*allot::slice(rows, {0, 0}, {1, 3}));
    CHECK(allot::copy_tensor(row, first).error().reason == tensor_refusal::partial_bytes);
    CHECK(bytes_of(rows)[1] == std::byte{0});
    CHECK(allot::copy_tensor(first, row));
    fill(row, 0xFF);
    CHECK(allot::copy_tensor(*allot::slice(row, {0}, {2}), adopted(*allot::slice(rows, {0, 0}, {1, 2}))));
    CHECK(bytes_of(rows)[0] == std::byte{0xFF});
    // With strides, the last element decides.
    std::int64_t shape[] = {2, 3}, strides[] = {4, 1};
    auto shared = *allot::to_dlpack(it.whole({8}, int4));
    shared->dl_tensor.ndim = 2;
    shared->dl_tensor.shape = shape;
    shared->dl_tensor.strides = strides;
    const auto apart = *allot::from_dlpack<allot::host::heap>(std::move(shared));
    CHECK(apart.shares_last_byte());
    CHECK(allot::copy_tensor(row, *allot::slice(apart, {1, 0}, {1, 3})).error().reason ==
          tensor_refusal::partial_bytes);
    CHECK(allot::copy_tensor(*allot::slice(row, {0}, {2}), *allot::slice(apart, {1, 0}, {1, 2})));
}

TEST_CASE("packed elements: a copy to a slice of a slice changes only its elements, or is rejected") {
    memory it;
    const std::int64_t rows = 3, columns = 5;
    std::size_t written = 0, refused = 0;
    const auto check = [&](const auto& whole, const auto& target) {
        fill(whole, 0xFF);
        const auto from = it.whole(target.shape(), int4);
        fill(from, 0);
        if (!allot::copy_tensor(from, target)) return ++refused, void();
        ++written;
        std::size_t cleared = 0;
        for (std::size_t i = 0; i != whole.size(); ++i) cleared += bit(bytes_of(whole), 4 * i) ? 0U : 1U;
        CHECK(cleared == target.size());
    };
    const auto ranges = [](std::int64_t size, auto use) {
        for (std::int64_t from = 0; from != size; ++from) {
            for (std::int64_t count = 1; count <= size - from; ++count) use(from, count);
        }
    };
    const auto whole = it.whole({rows, columns}, int4);
    const auto each = [&](const auto& of, auto use) {
        ranges(of.shape()[0], [&](std::int64_t row, std::int64_t height) {
            ranges(of.shape()[1], [&](std::int64_t column, std::int64_t width) {
                if (const auto part = allot::slice(of, {row, column}, {height, width})) use(*part);
            });
        });
    };
    each(whole, [&](const auto& outer) {
        check(whole, outer);
        each(outer, [&](const auto& inner) { check(whole, inner); });
    });
    CHECK(written > 100);
    CHECK(refused > 100);
}
