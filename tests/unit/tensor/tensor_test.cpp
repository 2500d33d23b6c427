// Tests of tensor: addresses from offsets, offsets for kernels, and views of the same bytes.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include "../../error_of.hpp"
#include "../../laws/devices.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <vector>

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

template <class Memory, class... Policies>
constexpr std::size_t handle_size =
    sizeof(allot::tensor_in<allot::storage<Memory, allot::storage_policies<Policies...>>>);
using allot::as_given;
static_assert(handle_size<heap_arena> <= 64 && handle_size<heap_arena, as_given> <= 64 &&
              handle_size<heap_arena, as_given, allot::references::none> <= 64 && handle_size<handle_arena> <= 64);
using bitmap = allot::pool<allot::pool_options{.slot = 64, .count = 64, .store = allot::pool_store::bitmap}>;
static_assert(handle_size<heap_arena, allot::best_fit<>, allot::references::none> <= 64 &&
              handle_size<handle_arena, allot::best_fit<>, allot::references::none> <= 64 &&
              handle_size<heap_arena, bitmap, allot::references::none> <= 64 &&
              handle_size<heap_arena, allot::own_blocks, allot::references::none> <= 64);

/// Memory of any size that nobody accesses.
struct endless_memory : allot::traits_of<handles> {
    using error = int;
    allot::acquired<endless_memory> acquire(allot::layout wanted) noexcept {
        return allot::region<address_model::address>{{1, 0}, wanted.size, 4096};
    }
    void release(allot::region<address_model::address>) noexcept {}
};

/// Pseudorandom numbers.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_{seed} {}
    std::int64_t below(std::int64_t n) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::int64_t>((state_ >> 33 | state_ << 31) % static_cast<std::uint64_t>(n));
    }
    /// Returns a shape of this rank with up to 2^`bits` elements. Some axes have one element.
    allot::shape shape(std::size_t rank, std::int64_t bits) {
        std::vector<std::int64_t> extents(rank, 1);
        for (std::int64_t left = bits; rank != 0 && left != 0;) {
            const std::int64_t part = 1 + below(left);
            auto& extent = extents[static_cast<std::size_t>(below(static_cast<std::int64_t>(rank)))];
            if (extent == 1) extent = 1 + below(std::int64_t{1} << part);
            left -= part;
        }
        return allot::shape{std::span<const std::int64_t>{extents}};
    }

private:
    std::uint64_t state_;
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

TEST_CASE("tensor: has its shape and strides, also with many axes and large extents") {
    constexpr std::int64_t bits = sizeof(std::size_t) * 8 - 2;
    allot::naive<endless_memory> memory;
    const auto data = *allot::alloc_storage<allot::storage_policies<as_given>>(memory, std::int64_t{1} << bits, 64);
    random_numbers random{1};
    for (int round = 0; round != 2000; ++round) {
        const allot::shape extents = random.shape(static_cast<std::size_t>(round) % 9, bits);
        CAPTURE(round);
        auto whole = *allot::alloc_tensor(data, 0, extents, allot::uint8);
        REQUIRE(whole.shape() == extents);
        REQUIRE(whole.strides() == allot::compact_strides(extents));
        REQUIRE(whole.is_compact());
        REQUIRE(whole.size() == *allot::element_count(extents));
        // A slice of a slice has the strides of the whole tensor.
        auto part = whole;
        for (int depth = 0; depth != 2; ++depth) {
            allot::shape begin = part.shape(), sizes = begin;
            std::size_t skipped = 0;
            for (std::size_t axis = 0; axis != extents.rank(); ++axis) {
                const std::int64_t n = sizes[axis];
                sizes[axis] = random.below(4) == 0 ? n : 1 + random.below(n);
                begin[axis] = random.below(n - sizes[axis] + 1);
                skipped += static_cast<std::size_t>(begin[axis] * whole.strides()[axis]);
            }
            const std::size_t before = part.byte_offset();
            part = *allot::slice(part, begin, sizes);
            REQUIRE(part.shape() == sizes);
            REQUIRE(part.strides() == whole.strides());
            REQUIRE(part.byte_offset() == before + skipped);
            REQUIRE(part.is_compact() == allot::is_compact(sizes, whole.strides()));
        }
        whole.kill();
        CHECK(whole.shape() == allot::shape{0});
        CHECK(whole.strides() == allot::strides{1});
        CHECK(whole.size() == 0);
    }
}

TEST_CASE("tensor: a shape without elements has its extents, up to a limit") {
    heap_arena memory{{}, 65536};
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), wide = std::int64_t{1} << 28;
    for (const allot::shape& extents :
         {allot::shape{0}, {most, 0, most}, {0, 4, 64}, {0, wide, wide, wide, wide, 1 << 10, 1 << 10, 1 << 5}}) {
        const auto none = *allot::alloc_tensor(data, 0, extents, int32);
        CHECK(none.shape() == extents);
        CHECK(none.strides() == allot::compact_strides(extents));
        CHECK(none.size() == 0);
        CHECK(none.data() == nullptr);
        CHECK(allot::view(none, allot::uint8, extents)->shape() == extents);
    }
    const allot::shape beyond{0, most, most, most};
    CHECK(allot::alloc_tensor(data, 0, beyond, int32).error().reason == tensor_refusal::too_large);
    const auto some = *allot::alloc_tensor(data, 0, {4}, int32);
    CHECK(allot::view(some, int32, beyond).error().reason == tensor_refusal::too_large);
}

TEST_CASE("alloc_tensor: a storage that records nothing fails for the same reasons as another one") {
    heap_arena memory{{}, 65536};
    const auto given = *allot::alloc_storage<allot::storage_policies<as_given>>(memory, 4096, 64);
    const auto recorded = *allot::alloc_storage(memory, 4096, 64);
    const auto position = [](const auto& tensor, const auto& in) {
        return tensor.data() == nullptr ? -1
                                        : static_cast<std::byte*>(tensor.data()) - static_cast<std::byte*>(in.base());
    };
    constexpr allot::dtype types[] = {int32,
                                      allot::uint8,
                                      allot::uint4,
                                      allot::float8_e4m3fn,
                                      {allot::int16.code, 16, 3},
                                      allot::float4_e2m1fn,
                                      {allot::dtype_code::float8_e5m2, 16},
                                      {},
                                      {int32.code, 32, 0},
                                      {static_cast<allot::dtype_code>(200), 8}};
    constexpr std::int64_t extents[] = {0, 1, 2, 3, 4, 64, 1024, -1, std::int64_t{1} << 32, std::int64_t{1} << 62};
    constexpr std::int64_t offsets[] = {
        0, 64, 1024, 4032, 4096, 32, 4097, -64, std::numeric_limits<std::int64_t>::max()};
    constexpr std::size_t aligns[] = {0, 1, 32, 64, 128, 3};
    random_numbers random{2};
    const auto any = [&](const auto& of) {
        return of[static_cast<std::size_t>(random.below(random.below(2) == 0 ? 3 : std::ssize(of)))];
    };
    int made = 0;
    for (int round = 0; round != 20'000; ++round) {
        allot::shape shape = random.shape(static_cast<std::size_t>(random.below(10)), 0);
        for (std::size_t axis = 0; axis < std::min<std::size_t>(shape.rank(), allot::max_rank); ++axis)
            if (random.below(2) == 0) shape[axis] = any(extents);
        const allot::dtype type = any(types);
        const std::int64_t offset = any(offsets);
        const std::size_t align = any(aligns);
        CAPTURE(round);
        const auto a = allot::alloc_tensor(given, offset, shape, type, align);
        const auto b = allot::alloc_tensor(recorded, offset, shape, type, align);
        REQUIRE(error_of(a) == error_of(b));
        if (!a) continue;
        ++made;
        REQUIRE(position(*a, given) == position(*b, recorded));
        REQUIRE(a->shape() == shape);
        REQUIRE(a->dtype() == type);
        REQUIRE(a->size_bytes() == b->size_bytes());
    }
    CHECK(made > 1000);
    CHECK(made < 19'000);
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
