// Tests of texture shapes for each scope: width × height × 4, and the errors.
#include "../../error_of.hpp"

#include <allot/tensor/texture_shape.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace {

using allot::float16;
using allot::float32;
using allot::int8;
using allot::tensor_refusal;
using allot::texture_pitch;
using allot::texture_shape;
namespace scope = allot::scope;

template <class Scope>
constexpr texture_shape image(allot::shape of) {
    return *allot::texture_of<Scope>(of);
}
template <class Scope>
constexpr tensor_refusal reason(allot::shape of) {
    return error_of(allot::texture_of<Scope>(of)).reason;
}
template <class Scope>
constexpr allot::tensor_result<std::size_t> step(allot::shape of, allot::strides steps) {
    return allot::texture_row_step<Scope>(of, steps);
}

/// A user-defined scope.
struct all_but_two {
    static constexpr std::string_view name = "mine.texture";
    static constexpr std::size_t row_axes(std::size_t) noexcept { return 2; }
};

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

}  // namespace

static_assert(allot::texture_scope<scope::texture> && allot::texture_scope<scope::texture_weight>);
static_assert(allot::texture_scope<scope::texture_nhwc> && allot::texture_scope<all_but_two>);
static_assert(!allot::texture_scope<scope::global> && !allot::texture_scope<scope::vtcm>);

TEST_CASE("texture_of: computes the images of activations, weights and NHWC tensors") {
    static_assert(image<scope::texture>({1, 8, 32, 30, 4}) == texture_shape{30, 256});
    static_assert(image<scope::texture>({8, 32, 30, 4}) == texture_shape{30, 256});
    static_assert(image<scope::texture>({32, 30, 4}) == texture_shape{30, 32});
    static_assert(image<scope::texture_weight>({16, 3, 5, 7, 4}) == texture_shape{105, 16});
    static_assert(image<scope::texture_weight>({16, 3, 4}) == texture_shape{3, 16});
    static_assert(image<scope::texture_nhwc>({2, 32, 30, 4}) == texture_shape{30, 64});
    static_assert(image<scope::texture_nhwc>({2, 32, 30, 5, 4}) == texture_shape{150, 64});
    static_assert(image<scope::texture_nhwc>({32, 30, 4}) == texture_shape{30, 32});
    static_assert(image<all_but_two>({2, 3, 5, 7, 4}) == texture_shape{35, 6});
    // Up to the maximum rank.
    static_assert(image<scope::texture>({1, 2, 1, 2, 1, 3, 5, 4}) == texture_shape{5, 12});
    static_assert(image<scope::texture_weight>({1, 2, 1, 2, 1, 3, 5, 4}) == texture_shape{60, 1});
    // A tensor without elements has no pixels; that is not an error.
    static_assert(image<scope::texture>({0, 8, 32, 30, 4}) == texture_shape{30, 0});
    static_assert(image<scope::texture>({8, 32, 0, 4}) == texture_shape{0, 256});
    CHECK(image<scope::texture>({1, 8, 32, 30, 4}) == texture_shape{30, 256});
}

TEST_CASE("texture_of: ranks below three and channels other than four are rejected") {
    for (const allot::shape& small : {allot::shape{}, allot::shape{4}, allot::shape{8, 4}, allot::shape{0, 4}}) {
        CHECK(reason<scope::texture>(small) == tensor_refusal::bad_texture);
        CHECK(reason<scope::texture_weight>(small) == tensor_refusal::bad_texture);
        CHECK(reason<scope::texture_nhwc>(small) == tensor_refusal::bad_texture);
        CHECK(reason<all_but_two>(small) == tensor_refusal::bad_texture);
    }
    for (const std::int64_t channels : {0, 1, 3, 5, 8}) {
        CHECK(reason<scope::texture>({2, 3, channels}) == tensor_refusal::bad_texture);
        CHECK(reason<scope::texture_nhwc>({2, 2, 3, channels}) == tensor_refusal::bad_texture);
    }
    // A scope whose rows leave no axis for the pixels of a tensor of rank 3.
    CHECK(reason<all_but_two>({2, 3, 4}) == tensor_refusal::bad_separators);
}

TEST_CASE("texture_of: overflow in width or height is rejected") {
    CHECK(reason<scope::texture>({huge, 2, 2, 4}) == tensor_refusal::too_large);
    CHECK(reason<scope::texture>({2, huge, 4}) == tensor_refusal::too_large);
    CHECK(reason<scope::texture_weight>({1, huge, 2, 4}) == tensor_refusal::too_large);
    CHECK(reason<scope::texture_weight>({0, huge, 4, 4}) ==
          tensor_refusal::too_large);  // empty, but the width overflows
    CHECK(reason<scope::texture>({-1, 2, 2, 4}) == tensor_refusal::bad_shape);
    CHECK(reason<scope::texture>({1, 1, 1, 1, 1, 1, 1, 1, 4}) == tensor_refusal::bad_shape);
}

TEST_CASE("texture_bytes: the pitch is counted in pixels") {
    static_assert(*allot::pixel_bytes(float16) == 8 && *allot::pixel_bytes(float32) == 16);
    static_assert(*allot::pixel_bytes(int8) == 4);
    static_assert(*allot::texture_bytes({30, 256}, float16) == texture_pitch{240, 61440});
    static_assert(*allot::texture_bytes({30, 256}, float16, 64) == texture_pitch{512, 131072});
    static_assert(*allot::texture_bytes({64, 2}, float32, 64) == texture_pitch{1024, 2048});
    static_assert(*allot::texture_bytes({65, 2}, float32, 64) == texture_pitch{2048, 4096});
    static_assert(*allot::texture_bytes({65, 2}, int8, 64) == texture_pitch{512, 1024});
    static_assert(*allot::texture_bytes({0, 2}, int8, 64) == texture_pitch{0, 0});
    const auto refused = [](texture_shape of, allot::dtype type, std::size_t align) {
        return error_of(allot::texture_bytes(of, type, align)).reason;
    };
    CHECK(refused({30, 2}, float16, 0) == tensor_refusal::bad_alignment);
    CHECK(refused({30, 2}, float16, 48) == tensor_refusal::bad_alignment);
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    CHECK(refused({most, 1}, int8, 64) == tensor_refusal::too_large);
    CHECK(refused({most / 4, 1}, int8, 1) == tensor_refusal::too_large);
    CHECK(refused({most / 64, 16}, int8, 1) == tensor_refusal::too_large);
    CHECK(refused({64, most / 256}, int8, 1) == tensor_refusal::too_large);  // more than half of the address space
    CHECK(refused({64, 64}, allot::int4, 1) == tensor_refusal::bad_dtype);
    CHECK(refused({64, 64}, {allot::dtype_code::floating, 16, 4}, 1) == tensor_refusal::bad_dtype);
    CHECK(refused({64, 64}, {}, 1) == tensor_refusal::bad_dtype);
}

TEST_CASE("texture_row_step: accepts compact tensors and padded rows, rejects other strides") {
    static_assert(*step<scope::texture>({2, 8, 30, 4}, allot::compact_strides({2, 8, 30, 4})) == 120);
    static_assert(*step<scope::texture>({2, 8, 30, 4}, {8 * 128, 128, 4, 1}) == 128);  // rows of 32 pixels
    // The stride along an axis of one element is ignored.
    static_assert(*step<scope::texture>({2, 1, 30, 4}, {128, 7, 4, 1}) == 128);
    static_assert(*step<scope::texture>({1, 1, 30, 4}, {5, 7, 4, 1}) == 120);
    static_assert(*step<scope::texture_weight>({8, 2, 15, 4}, {256, 60, 4, 1}) == 256);
    const auto refused = [](auto answer) { return error_of(answer).reason; };
    CHECK(refused(step<scope::texture>({2, 8, 30, 4}, {9 * 128, 128, 4, 1})) == tensor_refusal::not_compact);
    CHECK(refused(step<scope::texture>({2, 8, 30, 4}, {8 * 128, 128, 8, 1})) == tensor_refusal::not_compact);
    CHECK(refused(step<scope::texture>({2, 8, 30, 4}, {8 * 128, 128, 4, 2})) == tensor_refusal::not_compact);
    // Rows that overlap or coincide.
    CHECK(refused(step<scope::texture>({2, 8, 30, 4}, {8 * 64, 64, 4, 1})) == tensor_refusal::not_compact);
    CHECK(refused(step<scope::texture>({2, 8, 30, 4}, {0, 0, 4, 1})) == tensor_refusal::not_compact);
    CHECK(refused(step<scope::texture>({8, 30, 4}, {-128, 4, 1})) == tensor_refusal::not_compact);
    CHECK(refused(step<scope::texture>({8, 8, 30, 4}, {huge, huge, 4, 1})) == tensor_refusal::too_large);
    CHECK(refused(step<scope::texture_weight>({8, 2, 15, 4}, {256, 64, 4, 1})) == tensor_refusal::not_compact);
    CHECK(refused(step<scope::texture>({2, 8, 30, 4}, {128, 4, 1})) == tensor_refusal::bad_strides);
    CHECK(refused(step<scope::texture>({30, 4}, {4, 1})) == tensor_refusal::bad_texture);
}
