// Tests of tensor: addresses from offsets, offsets for kernels, and views of the same bytes.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include "../../error_of.hpp"
#include "../../laws/devices.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <numeric>

namespace {

using allot::int32;
using allot::refusal;
using allot::tensor_refusal;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using handles = laws::handles<laws::handle_options{}>;
using handle_arena = allot::arena<handles, allot::best_fit<>>;

/// Buffers whose consumers take no offset, limited in number.
class buffers_without_offsets : public allot::traits_of<handles> {
public:
    using error = int;
    static constexpr auto offsets = allot::offset_use::none;
    static constexpr int too_many = 11, too_large = 12;
    int left = 1000, out = 0;
    std::size_t largest = 1 << 20;

    allot::acquired<buffers_without_offsets> acquire(allot::layout wanted) noexcept {
        if (wanted.size > largest) return allot::acquired<buffers_without_offsets>::failure(too_large);
        if (left == 0) return allot::acquired<buffers_without_offsets>::failure(too_many);
        --left;
        ++out;
        return allot::region<address_model::address>{{++made_, 0}, wanted.size, 4096};
    }
    void release(allot::region<address_model::address>) noexcept {
        ++left;
        --out;
    }

private:
    int made_ = 0;
};

}  // namespace

TEST_CASE("tensor: with arithmetic offsets, data() is the first element and the offset is 0") {
    heap_arena memory{{}, 65536};
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto a = *allot::alloc_tensor(data, 1024, {4, 64}, int32);
    static_assert(std::same_as<decltype(a.data()), void*>);
    CHECK(a.data() == static_cast<std::byte*>(data.base()) + 1024);
    CHECK(a.byte_offset() == 0);
    CHECK(*allot::kernel_offset_of(a, 64) == allot::kernel_offset{0, 0, true});
}

TEST_CASE("tensor: with carried offsets, data() is the handle and the kernel takes the offset") {
    handle_arena memory{handles{false}, 65536};
    const auto first = *allot::alloc_storage(memory, 4096, 64);
    const auto second = *allot::alloc_storage(memory, 4096, 64);
    const auto a = *allot::alloc_tensor(second, 1024, {4, 64}, int32);
    static_assert(std::same_as<decltype(a.data()), int>);
    CHECK(a.data() == first.base().handle);
    CHECK(a.data() == second.base().handle);
    const std::size_t base = second.base().offset;
    CHECK(base != first.base().offset);
    CHECK(a.byte_offset() == base + 1024);  // from the handle, not from the storage
    CHECK(*allot::kernel_offset_of(a) == allot::kernel_offset{(base + 1024) / 4, (base + 1024) / 4, false});
    CHECK(*allot::kernel_offset_of(a, 16) == allot::kernel_offset{(base + 1024) / 4, (base + 1024) / 64, false});
}

TEST_CASE("kernel_offset_of: an offset that is not a multiple of the factor is rejected") {
    handle_arena memory{handles{false}, 65536};
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    REQUIRE(data.base().offset == 0);
    const auto reason = [&](std::int64_t offset, allot::dtype type, std::size_t factor) {
        const auto a = *allot::alloc_tensor(data, offset, {4}, type, 1);
        return error_of(allot::kernel_offset_of(a, factor)).reason;
    };
    CHECK(reason(8, int32, 1) == tensor_refusal::none);
    CHECK(reason(8, int32, 2) == tensor_refusal::none);
    CHECK(reason(8, int32, 4) == tensor_refusal::not_divisible);  // element 2, in factors of 4
    CHECK(reason(6, int32, 1) == tensor_refusal::not_divisible);  // in the middle of an element
    CHECK(reason(8, int32, 0) == tensor_refusal::not_divisible);
    CHECK(reason(8, allot::uint4, 1) == tensor_refusal::partial_bytes);
    CHECK(reason(24, {allot::dtype_code::floating, 32, 3}, 1) == tensor_refusal::none);
    CHECK(reason(16, {allot::dtype_code::floating, 32, 3}, 1) == tensor_refusal::not_divisible);
}

TEST_CASE("tensor: without offsets, each tensor has a separate buffer") {
    allot::naive<buffers_without_offsets> memory;
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    CHECK(memory.device().out == 0);  // the storage is a budget and has no buffer
    auto a = *allot::alloc_tensor(data, 0, {4, 64}, int32);
    auto b = *allot::alloc_tensor(data, 1024, {4, 64}, int32);
    CHECK(memory.device().out == 2);
    CHECK(a.data() != b.data());
    CHECK(a.byte_offset() == 0);
    CHECK(b.byte_offset() == 0);
    CHECK(allot::kernel_offset_of(b)->is_zero);
    // Offsets are checked as in other memory.
    CHECK(allot::alloc_tensor(data, 1024, {1}, int32).error().reason == tensor_refusal::overlapping);
    CHECK(allot::alloc_tensor(data, 4000, {4, 64}, int32, 1).error().reason == tensor_refusal::out_of_bounds);
    const auto c = *allot::alloc_tensor(data, allot::anywhere, {8, 64}, int32);
    CHECK(allot::alloc_tensor(data, allot::anywhere, {1}, int32).error().memory.reason == refusal::exhausted);
    CHECK(memory.device().out == 3);
    // Consumers cannot address a view that begins after the first byte.
    CHECK(allot::view(a, allot::uint8, {1024})->data() == a.data());
    CHECK(allot::view(a, allot::uint8, {4}, 4).error().reason == tensor_refusal::no_offsets);
    CHECK(allot::slice(a, {0, 0}, {4, 8})->data() == a.data());
    CHECK(allot::slice(a, {1, 0}, {1, 8}).error().reason == tensor_refusal::no_offsets);
    a.kill();
    b.kill();
    CHECK(memory.device().out == 1);
}

TEST_CASE("tensor: without offsets, a failure frees the buffers that were allocated") {
    for (int left = 0; left != 4; ++left) {
        buffers_without_offsets device;
        device.left = left;
        allot::naive<buffers_without_offsets> memory{device};
        const auto data = *allot::alloc_storage(memory, 4096, 64);
        const std::vector<allot::tensor_request<>> wanted{
            {0, {256}, int32}, {1024, {256}, int32}, {2048, {256}, int32}};
        std::vector<allot::tensor_in<std::remove_const_t<decltype(data)>>> fresh(3);
        const auto error = allot::alloc_tensors(data, std::span{wanted}, std::span{fresh});
        if (left == 3) {
            CHECK(error.reason == tensor_refusal::none);
            CHECK(memory.device().out == 3);
            continue;
        }
        CHECK(error.row == static_cast<std::size_t>(left));
        CHECK(error.reason == tensor_refusal::no_memory);
        CHECK(error.memory.device_error == buffers_without_offsets::too_many);
        CHECK(memory.device().out == 0);
        CHECK(data.diagnose({4096, 64}).reason == refusal::none);
    }
    buffers_without_offsets device;
    device.largest = 512;
    allot::naive<buffers_without_offsets> memory{device};
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto large = allot::alloc_tensor(data, 0, {256}, int32);
    CHECK(large.error().memory.device_error == buffers_without_offsets::too_large);
    CHECK(allot::alloc_tensor(data, 0, {128}, int32));
}

TEST_CASE("view: refers to the same bytes with another dtype and shape") {
    heap_arena memory{{}, 65536};
    auto data = *allot::alloc_storage(memory, 4096, 64);
    auto a = *allot::alloc_tensor(data, 64, {4, 64}, int32);
    auto bytes = *allot::view(a, allot::uint8, {1024});
    auto part = *allot::view(a, allot::int16, {2, 4}, 512);
    CHECK(bytes.data() == a.data());
    CHECK(part.data() == static_cast<std::byte*>(a.data()) + 512);
    a.kill();
    data.kill();
    CHECK(memory.diagnose({65536 - 64, 16}).reason != refusal::none);  // the views keep the bytes allocated
    static_cast<unsigned char*>(bytes.data())[512] = 0x12;
    static_cast<unsigned char*>(bytes.data())[513] = 0x12;
    CHECK(*static_cast<std::int16_t*>(part.data()) == 0x1212);
    bytes.kill();
    part.kill();
    CHECK(memory.diagnose({65536 - 64, 16}).reason == refusal::none);
}

TEST_CASE("view: must be inside its tensor and begin at a whole element") {
    handle_arena memory{handles{false}, 65536};
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto a = *allot::alloc_tensor(data, 64, {4, 64}, int32);
    const auto reason = [&](allot::dtype type, allot::shape shape, std::int64_t offset) {
        return error_of(allot::view(a, type, shape, offset)).reason;
    };
    CHECK(reason(allot::uint8, {1024}, 0) == tensor_refusal::none);
    CHECK(reason(allot::uint8, {1025}, 0) == tensor_refusal::out_of_bounds);
    CHECK(reason(allot::uint8, {1}, 1024) == tensor_refusal::out_of_bounds);
    CHECK(reason(allot::uint8, {0}, 1024) == tensor_refusal::none);
    CHECK(reason(allot::uint8, {1}, -1) == tensor_refusal::negative_offset);
    CHECK(reason(allot::uint8, {1}, std::numeric_limits<std::int64_t>::max()) == tensor_refusal::out_of_bounds);
    CHECK(reason(allot::int16, {4}, 3) == tensor_refusal::misaligned);
    CHECK(reason(allot::int16, {-4}, 0) == tensor_refusal::bad_shape);
    CHECK(reason({}, {4}, 0) == tensor_refusal::bad_dtype);
    CHECK(reason(allot::uint4, {2048}, 0) == tensor_refusal::none);
    CHECK(reason(allot::uint4, {2049}, 0) == tensor_refusal::out_of_bounds);
    CHECK(allot::view(a, allot::uint8, {4}, 100)->byte_offset() == 164);  // the view's own offset is added
}

TEST_CASE("view: another dtype must be aligned in a slice too, for addresses and for offsets") {
    const auto views = [](auto& memory) {
        const auto data = *allot::alloc_storage(memory, 4096, 64);
        const auto bytes = *allot::alloc_tensor(data, 64, {32}, allot::uint8);
        for (std::int64_t begin = 0; begin != 9; ++begin) {
            const auto part = *allot::slice(bytes, {begin}, {16});
            for (std::int64_t skip = 0; skip != 9; ++skip) {
                const bool is_aligned = skip % 4 == 0 && (begin + skip) % 4 == 0;
                CHECK(error_of(allot::view(part, int32, {1}, skip)).reason ==
                      (is_aligned ? tensor_refusal::none : tensor_refusal::misaligned));
                CHECK(allot::view(part, allot::uint8, {1}, skip));
                CHECK(allot::view(part, allot::uint4, {2}, skip));
            }
            CHECK(allot::view(part, int32, {0}, 0));
        }
        const auto pairs = *allot::alloc_tensor(data, 128, {4}, allot::dtype{allot::int16.code, 16, 2});
        const auto second = *allot::slice(pairs, {1}, {3});
        CHECK(allot::view(second, int32, {3}, 0));  // both dtypes have four bytes
    };
    heap_arena on_the_host{{}, 65536};
    views(on_the_host);
    handle_arena behind_a_handle{handles{false}, 65536};
    views(behind_a_handle);
}

TEST_CASE("view: a misaligned tensor can be viewed with its own dtype") {
    heap_arena memory{{}, 65536};
    const auto data = *allot::alloc_storage(memory, 4096, 2);
    const auto odd = *allot::alloc_tensor(data, 2, {4}, int32);
    CHECK(allot::view(odd, int32, {3}, 4));
    CHECK(allot::view(odd, allot::float32, {4}, 0));
    CHECK(allot::view(odd, allot::int64, {2}, 0).error().reason == tensor_refusal::misaligned);
}

TEST_CASE("slice: has the strides of its tensor") {
    heap_arena memory{{}, 65536};
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto a = *allot::alloc_tensor(data, 0, {4, 8, 2}, int32);
    std::iota(static_cast<std::int32_t*>(a.data()), static_cast<std::int32_t*>(a.data()) + 64, 0);
    const auto part = *allot::slice(a, {1, 2, 0}, {2, 3, 1});
    CHECK(part.strides() == allot::strides{16, 2, 1});
    CHECK_FALSE(part.is_compact());
    CHECK(*static_cast<std::int32_t*>(part.data()) == 20);
    const auto inner = *allot::slice(part, {1, 1, 0}, {1, 2, 1});
    CHECK(*static_cast<std::int32_t*>(inner.data()) == 38);
    CHECK(allot::view(part, int32, {6}).error().reason == tensor_refusal::not_compact);
    CHECK(allot::slice(a, {2, 0, 0}, {2, 8, 2})->is_compact());

    const auto reason = [&](allot::shape begin, allot::shape sizes) {
        return error_of(allot::slice(a, begin, sizes)).reason;
    };
    CHECK(reason({0, 0}, {1, 1}) == tensor_refusal::shape_mismatch);
    CHECK(reason({4, 0, 0}, {1, 1, 1}) == tensor_refusal::out_of_bounds);
    CHECK(reason({3, 0, 0}, {2, 1, 1}) == tensor_refusal::out_of_bounds);
    CHECK(reason({3, 0, 0}, {std::numeric_limits<std::int64_t>::max(), 1, 1}) == tensor_refusal::out_of_bounds);
    CHECK(reason({-1, 0, 0}, {1, 1, 1}) == tensor_refusal::bad_shape);
    CHECK(reason({4, 8, 2}, {0, 0, 0}) == tensor_refusal::none);

    const auto nibbles = *allot::alloc_tensor(data, 1024, {2, 3}, allot::uint4);
    CHECK(allot::slice(nibbles, {0, 1}, {1, 1}).error().reason == tensor_refusal::partial_bytes);
    CHECK(allot::slice(nibbles, {0, 2}, {1, 1})->data() == static_cast<std::byte*>(nibbles.data()) + 1);
}
