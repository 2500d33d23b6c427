// Tests of dtype and shape: sub-byte elements, vectors, products that overflow, empty axes, separators.
#include "../../error_of.hpp"

#include <allot/tensor/shape.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

namespace {

using allot::byte_count;
using allot::dtype;
using allot::dtype_code;
using allot::dtype_named;
using allot::element_count;
using allot::physical_shape;
using allot::shape;
using allot::tensor_refusal;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

constexpr tensor_refusal reason(const auto& answer) { return error_of(answer).reason; }

// ── dtypes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

static_assert(*allot::int32.bytes_for(256) == 1024 && *allot::uint4.bytes_for(3) == 2 &&
              *allot::uint1.bytes_for(9) == 2);
static_assert(*dtype{dtype_code::floating, 32, 4}.bytes_for(3) == 48);
static_assert(*dtype{dtype_code::integer, 3, 3}.bytes_for(8) == 9 &&
              *dtype{dtype_code::integer, 3, 3}.bytes_for(1) == 2);
static_assert(*allot::int8.bytes_for(std::numeric_limits<std::size_t>::max()) ==
              std::numeric_limits<std::size_t>::max());
static_assert(reason(allot::int16.bytes_for(std::numeric_limits<std::size_t>::max())) == tensor_refusal::too_large);
// The product of bits would overflow; the number of bytes does not.
static_assert(*allot::uint4.bytes_for(std::numeric_limits<std::size_t>::max()) ==
              std::numeric_limits<std::size_t>::max() / 2 + 1);
static_assert(reason(dtype{dtype_code::integer, 0}.bytes_for(1)) == tensor_refusal::bad_dtype);
static_assert(reason(dtype{dtype_code::integer, 8, 0}.bytes_for(1)) == tensor_refusal::bad_dtype);
static_assert(allot::uint4.is_valid() && !allot::uint4.is_whole_bytes() && allot::float16.element_bytes() == 2);
static_assert(dtype{dtype_code::unsigned_integer, 4, 2}.is_whole_bytes());

// The floats of 8, 6 and 4 bits: DLPack's codes 7 to 17, whose elements are packed, and which allow no other width.
struct narrow_float {
    dtype type;
    const char* name;
    int code;
    std::size_t bytes_of_nine;  // elements
};
constexpr narrow_float narrow_floats[] = {{allot::float8_e3m4, "float8_e3m4", 7, 9},
                                          {allot::float8_e4m3, "float8_e4m3", 8, 9},
                                          {allot::float8_e4m3b11fnuz, "float8_e4m3b11fnuz", 9, 9},
                                          {allot::float8_e4m3fn, "float8_e4m3fn", 10, 9},
                                          {allot::float8_e4m3fnuz, "float8_e4m3fnuz", 11, 9},
                                          {allot::float8_e5m2, "float8_e5m2", 12, 9},
                                          {allot::float8_e5m2fnuz, "float8_e5m2fnuz", 13, 9},
                                          {allot::float8_e8m0fnu, "float8_e8m0fnu", 14, 9},
                                          {allot::float6_e2m3fn, "float6_e2m3fn", 15, 7},
                                          {allot::float6_e3m2fn, "float6_e3m2fn", 16, 7},
                                          {allot::float4_e2m1fn, "float4_e2m1fn", 17, 5}};
static_assert(!dtype{dtype_code::float8_e5m2, 16}.is_valid() && !dtype{dtype_code::float6_e2m3fn, 8}.is_valid() &&
              !dtype{dtype_code::float4_e2m1fn, 8}.is_valid() && !dtype{dtype_code::float4_e2m1fn, 4, 0}.is_valid());
static_assert(reason(dtype{dtype_code::float6_e3m2fn, 8}.bytes_for(1)) == tensor_refusal::bad_dtype);
static_assert(dtype{dtype_code::float4_e2m1fn, 4, 2}.is_whole_bytes() && !allot::float6_e3m2fn.is_whole_bytes());
static_assert(*byte_count({3, 4}, allot::float6_e2m3fn) == 9 && *byte_count({3, 5}, allot::float4_e2m1fn) == 8);

// ── shapes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

static_assert(*element_count({}) == 1 && *element_count({4, 64}) == 256 && *element_count({4, 0, 64}) == 0);
static_assert(*element_count({most, 0, most}) == 0);  // an empty axis makes the product 0
static_assert(reason(element_count({-1})) == tensor_refusal::bad_shape &&
              reason(element_count({0, -1})) == tensor_refusal::bad_shape);
static_assert(reason(element_count({1, 1, 1, 1, 1, 1, 1, 1, 1})) == tensor_refusal::bad_shape);
static_assert(*element_count({1, 1, 1, 1, 1, 1, 1, 1}) == 1);
static_assert(reason(element_count({most, 3})) == tensor_refusal::too_large);
static_assert(*byte_count({3, 3}, allot::uint4) == 5 && *byte_count({4, 64}, allot::int32) == 1024);
static_assert(reason(byte_count({most}, allot::int16)) == tensor_refusal::too_large);
static_assert(reason(byte_count({4}, dtype{})) == tensor_refusal::bad_dtype);

static_assert(allot::compact_strides({2, 3, 4}) == allot::strides{12, 4, 1} &&
              allot::compact_strides({}) == allot::strides{});
static_assert(allot::is_compact({2, 3}, {3, 1}) && !allot::is_compact({2, 3}, {4, 1}) &&
              !allot::is_compact({2, 3}, {1, 2}));
static_assert(allot::is_compact({1, 3}, {77, 1}) && allot::is_compact({0, 3}, {9, 9}));

// ── logical to physical ──────────────────────────────────────────────────────────────────────────────────────────────

static_assert(*physical_shape({2, 2, 8, 8}, {2}) == shape{4, 64});
static_assert(*physical_shape({2, 3, 5}, {1}) == shape{2, 15} && *physical_shape({2, 3, 5}, {1, 2}) == shape{2, 3, 5});
static_assert(*physical_shape({2, 3, 5}, {}) == shape{30} && *physical_shape({}, {}) == shape{1});
static_assert(*physical_shape({2, 0, 5}, {1}) == shape{2, 0});
static_assert(reason(physical_shape({2, 3}, {0})) == tensor_refusal::bad_separators);
static_assert(reason(physical_shape({2, 3}, {2})) == tensor_refusal::bad_separators);
static_assert(reason(physical_shape({2, 3}, {-1})) == tensor_refusal::bad_separators);
static_assert(reason(physical_shape({2, 3, 5}, {2, 1})) == tensor_refusal::bad_separators);
static_assert(reason(physical_shape({2, 3, 5}, {1, 1})) == tensor_refusal::bad_separators);
static_assert(reason(physical_shape({}, {1})) == tensor_refusal::bad_separators);
static_assert(reason(physical_shape({most, most}, {1})) == tensor_refusal::too_large);
// One group overflows, although the tensor is empty.
static_assert(reason(physical_shape({0, most, most, 2}, {1})) == tensor_refusal::too_large);
static_assert(reason(physical_shape({2, -3}, {1})) == tensor_refusal::bad_shape);
static_assert(reason(physical_shape({2, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1})) == tensor_refusal::bad_separators);

}  // namespace

TEST_CASE("dtype_named: parses the names of graph compilers") {
    CHECK(*dtype_named("int32") == allot::int32);
    CHECK(*dtype_named("uint4") == allot::uint4);
    CHECK(*dtype_named("float16x4") == dtype{dtype_code::floating, 16, 4});
    CHECK(*dtype_named("bfloat16") == allot::bfloat16);
    CHECK(*dtype_named("bool") == allot::boolean);
    CHECK(*dtype_named("boolx8") == dtype{dtype_code::boolean, 8, 8});
    CHECK(*dtype_named("handle64") == dtype{dtype_code::opaque_handle, 64});
    CHECK(*dtype_named("int255") == dtype{dtype_code::integer, 255});
    CHECK(*dtype_named("int8x65535") == dtype{dtype_code::integer, 8, 65535});
    // The characters after the view's end are ignored.
    CHECK(*dtype_named(std::string_view{"int1288"}.substr(0, 5)) == dtype{dtype_code::integer, 12});
    for (const std::string name : {"",
                                   "int",
                                   "int0",
                                   "int256",
                                   "int032",
                                   "int32x",
                                   "int32x0",
                                   "int32x65536",
                                   "int32x4x4",
                                   "Int32",
                                   "int32 ",
                                   " int32",
                                   "x4",
                                   "4",
                                   "floaty16",
                                   "int-8",
                                   "int+8",
                                   "bools",
                                   "float8_",
                                   "float8_e4m3f",
                                   "float8_e4m3fnu",
                                   "float4_e2m1",
                                   "float6_e3m2fnuz",
                                   "float8_e5m2 ",
                                   "float8_e5m2x",
                                   "float8_e5m2x0",
                                   "float4_e2m1fn_x2",
                                   "xfloat8_e5m2",
                                   "bfloat8_e5m2"}) {
        CAPTURE(name);
        CHECK(dtype_named(name).error().reason == tensor_refusal::bad_dtype);
    }
}

TEST_CASE("dtype_named: the floats of 8, 6 and 4 bits have DLPack's codes, and are packed") {
    for (const narrow_float& each : narrow_floats) {
        const std::string name = each.name;
        CAPTURE(name);
        CHECK(*dtype_named(name) == each.type);
        CHECK(static_cast<int>(each.type.code) == each.code);
        CHECK(*each.type.bytes_for(9) == each.bytes_of_nine);
        CHECK(*dtype_named(name + "x4") == dtype{each.type.code, each.type.bits, 4});
        for (const std::uint8_t bits : std::initializer_list<std::uint8_t>{3, 4, 6, 8, 16})
            CHECK(dtype{each.type.code, bits}.is_valid() == (bits == each.type.bits));
    }
}

TEST_CASE("shape: can be created from numbers known at run time") {
    const std::vector<std::int64_t> numbers{2, 3, 4};
    CHECK(shape{std::span{numbers}} == shape{2, 3, 4});
    const std::vector<std::int64_t> many(100, 1);
    CHECK_FALSE(shape{std::span{many}}.is_valid());
}
