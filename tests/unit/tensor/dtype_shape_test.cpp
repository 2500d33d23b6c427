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
    for (const std::string name :
         {"", "int", "int0", "int256", "int032", "int32x", "int32x0", "int32x65536", "int32x4x4", "Int32", "int32 ",
          " int32", "x4", "4", "floaty16", "int-8", "int+8", "bools"}) {
        CAPTURE(name);
        CHECK(dtype_named(name).error().reason == tensor_refusal::bad_dtype);
    }
}

TEST_CASE("shape: can be created from numbers known at run time") {
    const std::vector<std::int64_t> numbers{2, 3, 4};
    CHECK(shape{std::span{numbers}} == shape{2, 3, 4});
    const std::vector<std::int64_t> many(100, 1);
    CHECK_FALSE(shape{std::span{many}}.is_valid());
}
