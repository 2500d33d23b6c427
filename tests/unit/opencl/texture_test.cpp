// Textures on the installed OpenCL driver: images, images over buffers or reported copies, and the pool.
// tests/fakes/opencl tests features that need a driver with images over buffers.
#include <allot/allot.hpp>
#include <allot/opencl/texture_pool.hpp>
#include <allot/tensor.hpp>
#include <allot/tensor/dlpack.hpp>

#include "../../error_of.hpp"
#include "installed.hpp"
#include "../../devices_used.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <numeric>
#include <vector>

namespace {

using allot::float32;
using allot::int32;
using allot::refusal;
using allot::tensor_refusal;
using allot::opencl::image;
using allot::opencl::queue_copy;
using tests::opencl;
namespace scope = allot::scope;

using buffer_arena = allot::arena<allot::opencl::buffer, allot::best_fit<>>;
using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

image images() { return {opencl().context, opencl().device}; }

bool has_no_images() {
    if (images().largest().width != 0) return false;
    std::puts("skipped: the OpenCL device has no images");
    return true;
}

/// Doubles every channel of a texture into another texture.
cl::Kernel twice() {
    return tests::kernel(R"(
        kernel void twice(read_only image2d_t from, write_only image2d_t to) {
            const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
            const int2 at = (int2)(get_global_id(0), get_global_id(1));
            write_imagei(to, at, 2 * read_imagei(from, nearest, at));
        })",
                         "twice");
}
void run(const cl::Kernel& with_arguments, allot::texture_shape over) {
    tests::run(with_arguments, cl::NDRange{over.width, over.height});
}

struct memories {
    host_arena host{{}, 1 << 20};
    buffer_arena device{allot::opencl::buffer{opencl().context, opencl().device}, 1 << 20};
    allot::storage<host_arena> io = *allot::alloc_storage(host, 1 << 18);
    allot::storage<buffer_arena> data = *allot::alloc_storage(device, 1 << 18, 64);
    image own = images();

    auto numbers(const allot::shape& extents, std::int32_t from) {
        const auto fresh = *allot::alloc_tensor(io, allot::anywhere, extents, int32);
        auto* const first = static_cast<std::int32_t*>(fresh.data());
        std::iota(first, first + fresh.size(), from);
        return fresh;
    }
    template <class Tensor>
    static std::vector<std::int32_t> values(const Tensor& of) {
        const auto* const first = static_cast<const std::int32_t*>(of.data());
        return {first, first + of.size()};
    }
};

}  // namespace

TEST_CASE("opencl textures: copies from the host, through a kernel and back, in every scope") {
    if (has_no_images()) return;
    memories it;
    const auto memory =
        allot::scope_map{allot::in_scope<scope::global>(it.host), allot::in_scope<scope::texture>(it.own),
                         allot::in_scope<scope::texture_weight>(it.own), allot::in_scope<scope::texture_nhwc>(it.own)};
    const auto through = [&](auto from, auto to, allot::texture_shape pixels) {
        REQUIRE((from && to));
        CHECK(from->image() == pixels);
        const auto in = it.numbers(from->shape(), 100), out = it.numbers(to->shape(), 0);
        REQUIRE(allot::copy_tensor(in, *from, queue_copy{opencl().queue}));
        auto kernel = twice();
        REQUIRE(allot::opencl::set_arg(kernel, 0, *from) == CL_SUCCESS);
        REQUIRE(allot::opencl::set_arg(kernel, 1, *to) == CL_SUCCESS);
        run(kernel, pixels);
        REQUIRE(allot::copy_tensor(*to, out, queue_copy{opencl().queue}));
        const auto seen = memories::values(out);
        for (std::size_t i = 0; i != seen.size(); ++i) REQUIRE(seen[i] == 2 * (100 + static_cast<int>(i)));
    };
    const allot::shape shape{2, 3, 5, 7, 4};
    through(allot::alloc_texture<scope::texture>(memory, shape, int32),
            allot::alloc_texture<scope::texture>(memory, shape, int32), {7, 30});
    through(allot::alloc_texture<scope::texture_weight>(memory, shape, int32),
            allot::alloc_texture<scope::texture_weight>(memory, shape, int32), {105, 2});
    through(allot::alloc_texture<scope::texture_nhwc>(memory, shape, int32),
            allot::alloc_texture<scope::texture_nhwc>(memory, shape, int32), {35, 6});
    tests::seen("opencl::image", opencl().name());
}

TEST_CASE("opencl textures: copies to and from a buffer tensor") {
    if (has_no_images()) return;
    memories it;
    const allot::shape shape{8, 6, 4};
    const auto in = it.numbers(shape, 5), out = it.numbers(shape, 0);
    const auto a = *allot::alloc_tensor(it.data, 1024, shape, int32);
    const auto b = *allot::alloc_tensor(it.data, 4096, shape, int32);
    const auto texture = *allot::alloc_texture<scope::texture>(it.own, shape, int32);
    const allot::opencl::queue_copy copy{opencl().queue};
    REQUIRE(allot::copy_tensor(in, a, copy));
    REQUIRE(allot::copy_tensor(a, texture, queue_copy{opencl().queue}));
    REQUIRE(allot::copy_tensor(texture, b, queue_copy{opencl().queue}));
    REQUIRE(allot::copy_tensor(b, out, copy));
    CHECK(memories::values(out) == memories::values(in));
}

TEST_CASE("opencl textures: impossible copies are rejected") {
    if (has_no_images()) return;
    memories it;
    auto texture = *allot::alloc_texture<scope::texture>(it.own, {8, 6, 4}, int32);
    const queue_copy copy{opencl().queue};
    const auto reason = [&](const auto& tensor) { return error_of(allot::copy_tensor(tensor, texture, copy)).reason; };
    CHECK(reason(*allot::alloc_tensor(it.io, allot::anywhere, {8, 6, 4}, float32)) == tensor_refusal::dtype_mismatch);
    CHECK(reason(*allot::alloc_tensor(it.io, allot::anywhere, {8, 5, 4}, int32)) == tensor_refusal::shape_mismatch);
    CHECK(reason(*allot::slice(it.numbers({8, 8, 4}, 0), {0, 0, 0}, {8, 6, 4})) == tensor_refusal::not_compact);
    CHECK(reason(it.numbers({192}, 0)) == tensor_refusal::none);  // equal number of elements, in any shape
    const auto floats = *allot::alloc_tensor(it.io, allot::anywhere, {8, 6, 4}, float32);
    CHECK(allot::copy_tensor(texture, floats, copy).error().reason == tensor_refusal::dtype_mismatch);
    const auto constants =
        *allot::from_dlpack<allot::host::heap>(*allot::to_dlpack(it.numbers({8, 6, 4}, 0), {.read_only = true}));
    CHECK(allot::copy_tensor(texture, constants, copy).error().reason == tensor_refusal::read_only);
    texture.kill();
    CHECK_FALSE(texture);
    CHECK(reason(it.numbers({8, 6, 4}, 0)) == tensor_refusal::killed);
    texture.kill();
}

TEST_CASE("opencl textures: invalid, too large and unsupported textures fail with a reason") {
    if (has_no_images()) return;
    memories it;
    const auto reason = [&](const allot::shape& shape, allot::dtype type) {
        return error_of(allot::alloc_texture<scope::texture>(it.own, shape, type));
    };
    CHECK(reason({8, 6, 3}, int32).reason == tensor_refusal::bad_texture);
    CHECK(reason({6, 4}, int32).reason == tensor_refusal::bad_texture);
    CHECK(reason({8, 6, 4}, allot::int4).reason == tensor_refusal::bad_dtype);
    for (const allot::dtype type : {allot::int64, allot::float64, allot::bfloat16, allot::boolean}) {
        CHECK(reason({8, 6, 4}, type).reason == tensor_refusal::no_memory);
        CHECK(reason({8, 6, 4}, type).memory.reason == refusal::device_refused);
        CHECK(reason({8, 6, 4}, type).memory.device_error == CL_IMAGE_FORMAT_NOT_SUPPORTED);
    }
    const auto most = it.own.largest();
    const auto wide = static_cast<std::int64_t>(most.width), high = static_cast<std::int64_t>(most.height);
    CHECK(reason({1, wide + 1, 4}, int32).memory.device_error == CL_INVALID_IMAGE_SIZE);
    CHECK(reason({high + 1, 1, 4}, int32).memory.device_error == CL_INVALID_IMAGE_SIZE);
    CHECK(reason({std::int64_t{1} << 40, 1, 4}, int32).memory.device_error == CL_INVALID_IMAGE_SIZE);
    CHECK(allot::alloc_texture<scope::texture>(it.own, {1, wide, 4}, int32));
    CHECK(allot::alloc_texture<scope::texture>(it.own, {high, 1, 4}, int32));
    CHECK(it.own.acquire({0, 8}, int32).error() == CL_INVALID_IMAGE_SIZE);
    CHECK(it.own.acquire({8, 0}, int32).error() == CL_INVALID_IMAGE_SIZE);

    const auto empty = *allot::alloc_texture<scope::texture>(it.own, {8, 0, 4}, int32);
    CHECK(empty);
    CHECK(empty.data() == nullptr);
    CHECK(empty.size() == 0);
    CHECK(allot::copy_tensor(*allot::alloc_tensor(it.io, 0, {0}, int32), empty, queue_copy{opencl().queue}));
}

TEST_CASE("opencl textures: formats exist for dtypes with four channels") {
    using allot::opencl::image_format_of;
    static_assert(image_format_of(allot::float16)->image_channel_data_type == CL_HALF_FLOAT);
    static_assert(image_format_of(allot::uint8)->image_channel_data_type == CL_UNSIGNED_INT8);
    static_assert(image_format_of(allot::uint8)->image_channel_order == CL_RGBA);
    static_assert(image_format_of(allot::int64).error() == CL_IMAGE_FORMAT_NOT_SUPPORTED);
    static_assert(image_format_of({allot::dtype_code::floating, 32, 4}).error() == CL_IMAGE_FORMAT_NOT_SUPPORTED);
    if (has_no_images()) return;
    memories it;
    for (const allot::dtype type :
         {allot::float16, float32, allot::int8, allot::int16, int32, allot::uint8, allot::uint16, allot::uint32}) {
        const auto texture = allot::alloc_texture<scope::texture>(it.own, {3, 5, 4}, type);
        REQUIRE(texture);
        std::size_t element = 0;
        REQUIRE(::clGetImageInfo(texture->data(), CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, nullptr) ==
                CL_SUCCESS);
        CHECK(element == 4 * type.element_bytes());
    }
}

TEST_CASE("opencl textures: the last reference releases the image") {
    if (has_no_images()) return;
    memories it;
    auto a = *allot::alloc_texture<scope::texture>(it.own, {8, 6, 4}, int32);
    auto b = a;
    const cl_mem handle = a.data();
    ::clRetainMemObject(handle);
    const auto references = [handle] {
        cl_uint count = 0;
        REQUIRE(::clGetMemObjectInfo(handle, CL_MEM_REFERENCE_COUNT, sizeof count, &count, nullptr) == CL_SUCCESS);
        return count;
    };
    CHECK(references() == 2);
    a.kill();
    CHECK(references() == 2);
    CHECK(b.data() == handle);
    b = {};
    CHECK(references() == 1);
    ::clReleaseMemObject(handle);
}

TEST_CASE("opencl textures: two devices and two pools, released in any order") {
    if (has_no_images()) return;
    memories it;
    const auto take_turns = [&](auto& one, auto& other) {
        using device = std::remove_reference_t<decltype(one)>;
        struct held {
            allot::texture<device> image;
            std::int32_t from;
        };
        std::vector<held> live;
        for (std::int32_t step = 0; step != 24; ++step) {
            if (live.size() == 6) live.erase(live.begin() + step * 5 % 6);
            const allot::shape shape{3 + step % 4, 5 + step % 3, 4};
            const auto fresh = allot::alloc_texture<scope::texture>(step % 2 == 0 ? one : other, shape, int32);
            REQUIRE(fresh);
            live.push_back({*fresh, 1000 * step});
            REQUIRE(allot::copy_tensor(it.numbers(shape, 1000 * step), *fresh, queue_copy{opencl().queue}));
            for (const held& each : live) {
                const auto out = it.numbers(each.image.shape(), -1);
                REQUIRE(allot::copy_tensor(each.image, out, queue_copy{opencl().queue}));
                REQUIRE(memories::values(out) == memories::values(it.numbers(each.image.shape(), each.from)));
            }
        }
    };
    image first = images(), second = images();
    take_turns(first, second);
    using pool = allot::opencl::texture_pool<buffer_arena, 2>;
    pool one{it.device, opencl().context, opencl().device}, other{it.device, opencl().context, opencl().device};
    take_turns(one, other);
    REQUIRE(opencl().queue.finish() == CL_SUCCESS);
}

TEST_CASE("opencl textures: as_image aliases a buffer tensor or reports a copy") {
    if (has_no_images()) return;
    memories it;
    const allot::opencl::queue_copy copy{opencl().queue};
    const auto in = it.numbers({8, 8, 4}, 7);
    const auto wide = *allot::alloc_tensor(it.data, 1024, {8, 8, 4}, int32);
    REQUIRE(allot::copy_tensor(in, wide, copy));
    const auto padded = *allot::slice(wide, {0, 1, 0}, {8, 6, 4});  // rows of six pixels, eight pixels apart
    auto view = allot::opencl::as_image<scope::texture>(padded, opencl().queue);
    REQUIRE(view);
    std::vector<std::int32_t> seen(192);
    REQUIRE(opencl().queue.enqueueReadImage(view->image, CL_TRUE, {0, 0, 0}, {6, 8, 1}, 0, 0, seen.data()) ==
            CL_SUCCESS);
    for (int i = 0; i != 192; ++i) REQUIRE(seen[static_cast<std::size_t>(i)] == 7 + i / 24 * 32 + 4 + i % 24);
    if (!view->aliases) {
        const std::vector<std::int32_t> zeros(192);
        REQUIRE(opencl().queue.enqueueWriteImage(view->image, CL_TRUE, {0, 0, 0}, {6, 8, 1}, 0, 0, zeros.data()) ==
                CL_SUCCESS);
        const auto after = it.numbers({8, 8, 4}, 0);
        REQUIRE(allot::copy_tensor(wide, after, copy));
        CHECK(memories::values(after) == memories::values(in));  // the tensor is independent
    }
    const auto compact = allot::opencl::as_image<scope::texture_weight>(wide, opencl().queue);
    REQUIRE(compact);
    REQUIRE(opencl().queue.enqueueReadImage(compact->image, CL_TRUE, {0, 0, 0}, {6, 8, 1}, 0, 0, seen.data()) ==
            CL_SUCCESS);
    CHECK(seen[24] == 7 + 32);
}

TEST_CASE("opencl textures: tensors that cannot be images fail with the reason") {
    if (has_no_images()) return;
    memories it;
    const auto reason = [&](const auto& tensor) {
        return error_of(allot::opencl::as_image<scope::texture>(tensor, opencl().queue));
    };
    CHECK(reason(*allot::alloc_tensor(it.data, 0, {16, 4}, int32)).reason == tensor_refusal::bad_texture);
    CHECK(reason(*allot::alloc_tensor(it.data, 256, {4, 4, 8}, int32)).reason == tensor_refusal::bad_texture);
    CHECK(reason(*allot::alloc_tensor(it.data, 1024, {4, 4, 4}, allot::int64)).memory.device_error ==
          CL_IMAGE_FORMAT_NOT_SUPPORTED);
    CHECK(reason(*allot::alloc_tensor(it.data, 2048, {4, 4, 4}, allot::int4)).reason == tensor_refusal::bad_dtype);
    CHECK(reason(*allot::alloc_tensor(it.data, 0, {4, 0, 4}, int32)).memory.device_error == CL_INVALID_IMAGE_SIZE);
    const auto deep = *allot::alloc_tensor(it.data, 4096, {4, 8, 8, 4}, int32);
    CHECK(reason(*allot::slice(deep, {0, 0, 0, 0}, {4, 6, 8, 4})).reason == tensor_refusal::not_compact);
    auto killed = deep;
    killed.kill();
    CHECK(reason(killed).reason == tensor_refusal::killed);
}

TEST_CASE("opencl textures: the pool works with every driver") {
    if (has_no_images()) return;
    memories it;
    allot::opencl::texture_pool<buffer_arena, 2> pool{it.device, opencl().context, opencl().device};
    const auto alloc = [&](const allot::shape& shape) {
        return *allot::alloc_texture<scope::texture>(pool, shape, int32);
    };
    const allot::shape one{8, 6, 4}, two{5, 9, 4}, three{7, 7, 4};
    const auto holds = [&](const auto& texture, std::int32_t from) {
        const auto out = it.numbers(texture.shape(), 0), expected = it.numbers(texture.shape(), from);
        REQUIRE(allot::copy_tensor(texture, out, queue_copy{opencl().queue}));
        CHECK(memories::values(out) == memories::values(expected));
    };
    const auto fill = [&](const auto& texture, std::int32_t from) {
        REQUIRE(allot::copy_tensor(it.numbers(texture.shape(), from), texture, queue_copy{opencl().queue}));
    };
    auto a = alloc(one), b = alloc(two), c = alloc(one);
    fill(a, 1);
    fill(b, 1000);
    fill(c, 5000);
    holds(a, 1);
    holds(b, 1000);
    holds(c, 5000);
    tests::seen("opencl::texture_pool", opencl().name());
    const cl_mem kept = a.data();
    a.kill();
    auto d = alloc(three), e = alloc(one);
    if (!pool.shares_bytes()) {
        CHECK(e.data() == kept);  // of exactly that shape
        CHECK(d.data() != kept);
    }
    fill(d, 20000);
    fill(e, 30000);
    holds(b, 1000);
    holds(c, 5000);
    holds(d, 20000);
    holds(e, 30000);
    for (auto* each : {&b, &c, &d, &e}) each->kill();
    if (!pool.shares_bytes()) CHECK(pool.trim() == 2);  // the maximum number of cached images
    CHECK(pool.acquire({0, 1}, int32).error() == CL_INVALID_IMAGE_SIZE);
    CHECK(pool.acquire({1, 1}, allot::float64).error() == CL_IMAGE_FORMAT_NOT_SUPPORTED);
    REQUIRE(opencl().queue.finish() == CL_SUCCESS);
}
