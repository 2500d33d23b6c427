// Images over the bytes of buffers, on a driver that creates them and is as strict as the specification allows: see
// driver.hpp.
#include "driver.hpp"

#include <allot/allot.hpp>
#include <allot/opencl/imported.hpp>
#include <allot/opencl/texture_pool.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

using allot::float16;
using allot::float32;
using allot::refusal;
using allot::tensor_refusal;
using allot::uint16;
using allot::opencl::as_image;
using allot::opencl::queue_copy;
namespace scope = allot::scope;

using buffers = allot::opencl::buffer;
using arena = allot::arena<buffers, allot::best_fit<>>;
using numbers = std::vector<std::uint16_t>;

buffers device() { return {fake::context(), fake::device()}; }

/// Every case begins with a fresh driver and ends without live objects.
struct strict {
    strict() { fake::start(); }
    strict(const strict&) = delete;
    strict& operator=(const strict&) = delete;
    ~strict() {
        CHECK(fake::book().violations.empty());
        CHECK(fake::book().buffers == 0);
        CHECK(fake::book().images == 0);
        CHECK(fake::book().refused_over == 0);  // the library checks before it calls the driver
    }
};

numbers counted(std::size_t count, std::uint16_t from) {
    numbers fresh(count);
    std::iota(fresh.begin(), fresh.end(), from);
    return fresh;
}
template <class Tensor>
void write(const Tensor& to, const numbers& what) {
    REQUIRE(fake::queue().enqueueWriteBuffer(cl::Buffer{to.data(), true}, CL_TRUE, to.byte_offset(), what.size() * 2,
                                             what.data()) == CL_SUCCESS);
}
template <class Tensor>
numbers read(const Tensor& from, std::size_t count) {
    numbers what(count);
    REQUIRE(fake::queue().enqueueReadBuffer(cl::Buffer{from.data(), true}, CL_TRUE, from.byte_offset(), count * 2,
                                            what.data()) == CL_SUCCESS);
    return what;
}
numbers read(const cl::Image2D& from, std::size_t width, std::size_t height) {
    numbers what(width * height * 4);
    REQUIRE(fake::queue().enqueueReadImage(from, CL_TRUE, {0, 0, 0}, {width, height, 1}, 0, 0, what.data()) ==
            CL_SUCCESS);
    return what;
}
void write(const cl::Image2D& to, std::size_t width, std::size_t height, const numbers& what) {
    REQUIRE(fake::queue().enqueueWriteImage(to, CL_TRUE, {0, 0, 0}, {width, height, 1}, 0, 0, what.data()) ==
            CL_SUCCESS);
}

}  // namespace

TEST_CASE("fake OpenCL driver: reports a buffer that ends before an image over it, and its use") {
    fake::start();
    const cl::Context context = fake::context();
    cl_int status = CL_SUCCESS;
    const cl_mem buffer = ::clCreateBuffer(context(), CL_MEM_READ_WRITE, 4096, nullptr, &status);
    const cl_image_format format{CL_RGBA, CL_HALF_FLOAT};
    cl_image_desc wanted{};
    wanted.image_type = CL_MEM_OBJECT_IMAGE2D;
    wanted.image_width = 60;
    wanted.image_height = 4;
    wanted.image_row_pitch = 512;
    wanted.buffer = buffer;
    const cl_mem image = ::clCreateImage(context(), 0, &format, &wanted, nullptr, &status);
    REQUIRE(status == CL_SUCCESS);
    wanted.image_row_pitch = 480;  // 480 is not a multiple of 64 pixels
    CHECK(::clCreateImage(context(), 0, &format, &wanted, nullptr, &status) == nullptr);
    CHECK(status == CL_INVALID_IMAGE_DESCRIPTOR);
    ::clReleaseMemObject(buffer);
    CHECK(fake::book().violations.size() == 1);
    CHECK(::clRetainMemObject(image) == CL_INVALID_MEM_OBJECT);
    CHECK(fake::book().violations.size() == 2);
}

TEST_CASE("image over a buffer: has the tensor's bytes in both directions, at every offset") {
    const strict driver;
    arena memory{device(), 1 << 16};
    const auto data = *allot::alloc_storage(memory, 1 << 15, 128);
    for (const std::int64_t offset : {0, 128, 4096}) {
        const auto tensor = *allot::alloc_tensor(data, offset, {2, 3, 64, 4}, float16);
        write(tensor, counted(1536, 7));
        const auto view = as_image<scope::texture>(tensor, fake::queue());
        REQUIRE(view);
        CHECK(view->aliases);
        CHECK(read(view->image, 64, 6) == counted(1536, 7));
        write(view->image, 64, 6, counted(1536, 500));
        CHECK(read(tensor, 1536) == counted(1536, 500));
    }
    CHECK(fake::book().made_over == 3);
    CHECK(fake::book().images == 0);
}

TEST_CASE("image over a buffer: the row pitch counts pixels; a pitch aligned in bytes only is copied") {
    const strict driver;
    arena memory{device(), 1 << 16};
    const auto data = *allot::alloc_storage(memory, 1 << 15, 128);
    // 32 pixels of 8 bytes are 256 bytes, a multiple of 64 bytes but not of 64 pixels.
    const auto narrow = *allot::alloc_tensor(data, 0, {8, 32, 4}, float16);
    write(narrow, counted(1024, 1));
    const auto copy = as_image<scope::texture>(narrow, fake::queue());
    REQUIRE(copy);
    CHECK_FALSE(copy->aliases);
    CHECK(read(copy->image, 32, 8) == counted(1024, 1));
    write(copy->image, 32, 8, counted(1024, 900));
    CHECK(read(narrow, 1024) == counted(1024, 1));
    CHECK(fake::book().made_over == 0);
    // The same bytes with twice as many pixels per row.
    const auto wide = *allot::view(narrow, float16, {4, 64, 4});
    const auto same = as_image<scope::texture>(wide, fake::queue());
    REQUIRE(same);
    CHECK(same->aliases);
    CHECK(read(same->image, 64, 4) == counted(1024, 1));
}

TEST_CASE("image over a buffer: a slice of a wider tensor is an image with a pitch") {
    const strict driver;
    arena memory{device(), 1 << 16};
    const auto data = *allot::alloc_storage(memory, 1 << 15, 128);
    const auto wide = *allot::alloc_tensor(data, 1024, {8, 64, 4}, uint16);
    write(wide, counted(2048, 0));
    const auto view = as_image<scope::texture>(*allot::slice(wide, {0, 0, 0}, {8, 60, 4}), fake::queue());
    REQUIRE(view);
    CHECK(view->aliases);
    const auto pixels = read(view->image, 60, 8);
    for (std::size_t i = 0; i != pixels.size(); ++i) REQUIRE(pixels[i] == i / 240 * 256 + i % 240);
    write(view->image, 60, 8, numbers(1920, 0xAAAA));
    const auto after = read(wide, 2048);
    for (std::size_t i = 0; i != after.size(); ++i) REQUIRE(after[i] == (i % 256 < 240 ? 0xAAAA : i));
    // Three rows later the slice begins at a multiple of the base alignment; one pixel later it does not.
    const auto lower = as_image<scope::texture>(*allot::slice(wide, {3, 0, 0}, {5, 60, 4}), fake::queue());
    const auto right = as_image<scope::texture>(*allot::slice(wide, {0, 1, 0}, {7, 60, 4}), fake::queue());
    REQUIRE((lower && right));
    CHECK(lower->aliases);
    CHECK_FALSE(right->aliases);
    CHECK(read(right->image, 60, 7)[0] == 0xAAAA);
    CHECK(read(right->image, 60, 7)[4 * 59] == 4 * 60);
}

TEST_CASE("image over a buffer: begins at a valid sub-buffer offset, also on tolerant drivers") {
    const strict driver;
    fake::rule().any_origin = true;
    arena memory{device(), 1 << 16};
    const auto data = *allot::alloc_storage(memory, 1 << 15, 64);
    const auto tensor = *allot::alloc_tensor(data, 64, {8, 64, 4}, uint16);
    write(tensor, counted(2048, 3));
    const auto copy = as_image<scope::texture>(tensor, fake::queue());
    REQUIRE(copy);
    CHECK_FALSE(copy->aliases);
    CHECK(read(copy->image, 64, 8) == counted(2048, 3));
}

TEST_CASE("image over a buffer: outlives its tensor and storage") {
    const strict driver;
    SUBCASE("killed tensor, view and storage: the image keeps the buffer") {
        allot::naive<buffers> memory{device()};
        auto data = *allot::alloc_storage(memory, 1 << 14, 128);
        auto tensor = *allot::alloc_tensor(data, 512, {8, 64, 4}, uint16);
        write(tensor, counted(2048, 3));
        auto view = as_image<scope::texture>(tensor, fake::queue());
        REQUIRE((view && view->aliases));
        tensor.kill();
        data.kill();
        CHECK(fake::book().buffers == 2);  // the storage's buffer, and the sub-buffer under the image
        CHECK(read(view->image, 64, 8) == counted(2048, 3));
        auto moved = *std::move(view);
        view = allot::tensor_result<decltype(moved)>::failure({});
        CHECK(read(moved.image, 64, 8) == counted(2048, 3));
        moved = {};
        CHECK(fake::book().buffers == 0);
    }
    SUBCASE("in an arena, the bytes are not reused before") {
        arena memory{device(), 8192};
        auto data = *allot::alloc_storage(memory, 8192, 128);
        auto tensor = *allot::alloc_tensor(data, 0, {8, 64, 4}, uint16);
        write(tensor, counted(2048, 3));
        {
            const auto view = as_image<scope::texture>(tensor, fake::queue());
            REQUIRE((view && view->aliases));
            tensor.kill();
            CHECK(allot::alloc_tensor(data, 0, {1}, uint16).error().reason == tensor_refusal::overlapping);
            data.kill();
            CHECK(allot::alloc_storage(memory, 1).error().reason == tensor_refusal::no_memory);
            CHECK(read(view->image, 64, 8) == counted(2048, 3));
        }
        CHECK(allot::alloc_storage(memory, 8192));
    }
}

TEST_CASE("image over imported bytes: the base alignment counts pixels, too") {
    const strict driver;
    alignas(4096) std::byte bytes[1 << 15];
    allot::arena<allot::opencl::imported, allot::best_fit<>> memory{
        {fake::context(), fake::device(), bytes, sizeof bytes}};
    const auto data = *allot::alloc_storage(memory, 1 << 14, 128);
    const auto aligned = *allot::alloc_tensor(data, 1024, {4, 64, 4}, uint16);
    const auto between = *allot::alloc_tensor(data, 4096 + 128, {4, 64, 4}, uint16);  // 128 bytes are not 64 pixels
    const auto same = as_image<scope::texture>(aligned, fake::queue());
    const auto copy = as_image<scope::texture>(between, fake::queue());
    REQUIRE((same && copy));
    CHECK(same->aliases);
    CHECK_FALSE(copy->aliases);
    write(same->image, 64, 4, counted(1024, 9));
    CHECK(std::memcmp(bytes + aligned.byte_offset(), counted(1024, 9).data(), 2048) == 0);
}

TEST_CASE("as_image: reports a copy where the driver creates no image over a buffer") {
    const strict driver;
    arena memory{device(), 1 << 16};
    const auto data = *allot::alloc_storage(memory, 1 << 15, 128);
    const auto tensor = *allot::alloc_tensor(data, 1024, {8, 64, 4}, uint16);
    write(tensor, counted(2048, 11));
    const auto copies = [&] {
        const auto view = as_image<scope::texture>(tensor, fake::queue());
        REQUIRE(view);
        CHECK_FALSE(view->aliases);
        CHECK(read(view->image, 64, 8) == counted(2048, 11));
        write(view->image, 64, 8, counted(2048, 77));
        CHECK(read(tensor, 2048) == counted(2048, 11));
    };
    fake::rule().pitch_align = 0;
    copies();
    fake::rule().pitch_align = 64;
    fake::rule().refuse_image_over = CL_INVALID_OPERATION;
    copies();
    CHECK(fake::book().made_over == 0);
}

TEST_CASE("as_image: aliases a sub-buffer from its start, and copies elsewhere") {
    const strict driver;
    const cl::Context context = fake::context();
    cl_int status = CL_SUCCESS;
    const cl::Buffer whole{::clCreateBuffer(context(), CL_MEM_READ_WRITE, 1 << 15, nullptr, &status)};
    /// Sub-buffers of one buffer, as a driver's suballocator returns them.
    struct windows : allot::traits_of<buffers> {
        using error = cl_int;
        cl_mem parent;

        explicit windows(cl_mem of) : parent{of} {}
        allot::acquired<windows> acquire(allot::layout wanted) noexcept {
            cl_int code = CL_SUCCESS;
            const cl_buffer_region where{128, wanted.size};
            const cl_mem made = ::clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &where, &code);
            if (code != CL_SUCCESS) return allot::acquired<windows>::failure(code);
            return allot::region<address_model::address>{{made, 0}, wanted.size, 128};
        }
        void release(allot::region<address_model::address> held) noexcept { ::clReleaseMemObject(held.base.handle); }
    };
    allot::arena<windows, allot::best_fit<>> memory{windows{whole()}, 1 << 14};
    const auto data = *allot::alloc_storage(memory, 1 << 14, 128);
    const auto first = *allot::alloc_tensor(data, 0, {4, 64, 4}, uint16);
    const auto second = *allot::alloc_tensor(data, 4096, {4, 64, 4}, uint16);
    CHECK(as_image<scope::texture>(first, fake::queue())->aliases);
    write(second, counted(1024, 5));
    const auto copy = as_image<scope::texture>(second, fake::queue());
    CHECK_FALSE(copy->aliases);
    CHECK(read(copy->image, 64, 4) == counted(1024, 5));
}

TEST_CASE("as_image: unsupported formats and sizes are rejected, with and without aliasing") {
    const strict driver;
    arena memory{device(), 1 << 20};
    const auto data = *allot::alloc_storage(memory, 1 << 19, 128);
    const auto reason = [&](std::int64_t offset, const allot::shape& shape, allot::dtype type) {
        const auto tensor = *allot::alloc_tensor(data, offset, shape, type);
        return as_image<scope::texture>(tensor, fake::queue()).error().memory.device_error;
    };
    CHECK(reason(0, {4, 64, 4}, allot::int8) == CL_IMAGE_FORMAT_NOT_SUPPORTED);      // not supported by this driver
    CHECK(reason(4096, {4, 64, 4}, allot::int64) == CL_IMAGE_FORMAT_NOT_SUPPORTED);  // not supported by any driver
    CHECK(reason(0, {4097, 1, 4}, uint16) == CL_INVALID_IMAGE_SIZE);
    CHECK(reason(0, {1, 4160, 4}, uint16) == CL_INVALID_IMAGE_SIZE);
}

// ── the pool ─────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("texture pool: images of other shapes and dtypes reuse the bytes") {
    const strict driver;
    arena memory{device(), 8192};
    allot::opencl::texture_pool pool{memory, fake::context(), fake::device()};
    CHECK(pool.shares_bytes());
    const auto alloc = [&](const allot::shape& shape, allot::dtype type) {
        return allot::alloc_texture<scope::texture>(pool, shape, type);
    };
    auto all = alloc({8, 100, 4}, uint16);  // 8 rows of 128 pixels of 8 bytes
    REQUIRE(all);
    CHECK(fake::book().buffers == 1);
    CHECK(alloc({1, 1, 4}, uint16).error().memory.device_error == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    all->kill();
    {
        const auto first = alloc({4, 64, 4}, float32), second = alloc({8, 3, 4}, float16);
        REQUIRE((first && second));
        CHECK(fake::book().images == 2);
        CHECK(alloc({1, 1, 4}, uint16).error().memory.device_error == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    }
    CHECK(fake::book().images == 0);
    CHECK(fake::book().buffers == 1);                 // all the time: the arena's
    const auto bytes = memory.allocate({8192, 128});  // the bytes are available to tensors
    CHECK(bytes);
    memory.deallocate(bytes);
}

TEST_CASE("texture pool: live textures share no byte, in any order of release") {
    const strict driver;
    arena memory{device(), 1 << 16};
    allot::opencl::texture_pool pool{memory, fake::context(), fake::device()};
    using texture = decltype(allot::alloc_texture<scope::texture>(pool, {1, 1, 4}, uint16))::value_type;
    struct held {
        texture image;
        std::uint16_t from;
    };
    std::vector<held> live;
    std::mt19937 engine{1};
    const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
    allot::arena<allot::host::heap, allot::best_fit<>> host{{}, 1 << 16};
    const auto io = *allot::alloc_storage(host, 1 << 15);
    std::size_t served = 0, refused = 0;
    for (int step = 0; step != 2000; ++step) {
        if (random() % 5 < 3) {
            const allot::shape shape{std::int64_t{1} + random() % 12, std::int64_t{1} + random() % 140, 4};
            auto fresh = allot::alloc_texture<scope::texture>(pool, shape, uint16);
            if (!fresh) {
                ++refused;
                REQUIRE(fresh.error().memory.device_error == CL_MEM_OBJECT_ALLOCATION_FAILURE);
                continue;
            }
            ++served;
            live.push_back({*fresh, static_cast<std::uint16_t>(random())});
            const auto in = *allot::alloc_tensor(io, allot::anywhere, shape, uint16);
            const auto what = counted(in.size(), live.back().from);
            std::copy(what.begin(), what.end(), static_cast<std::uint16_t*>(in.data()));
            REQUIRE(allot::copy_tensor(in, *fresh, queue_copy{fake::queue()}));
        } else if (!live.empty()) {
            const std::size_t which = random() % live.size();
            const held gone = live[which];
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
            const auto out = *allot::alloc_tensor(io, allot::anywhere, gone.image.shape(), uint16);
            REQUIRE(allot::copy_tensor(gone.image, out, queue_copy{fake::queue()}));
            const auto* const first = static_cast<const std::uint16_t*>(out.data());
            REQUIRE(numbers(first, first + out.size()) == counted(out.size(), gone.from));
        }
    }
    CHECK(served > 500);
    CHECK(refused > 50);
    live.clear();
    CHECK(memory.allocate({1 << 16, 128}));
}

TEST_CASE("texture pool: errors of the driver and the buffers keep their codes and take nothing") {
    const strict driver;
    arena memory{device(), 8192};
    allot::opencl::texture_pool pool{memory, fake::context(), fake::device()};
    fake::rule().refuse_image_over = CL_OUT_OF_RESOURCES;
    CHECK(pool.acquire({64, 8}, uint16).error() == CL_OUT_OF_RESOURCES);
    fake::rule().refuse_image_over = CL_SUCCESS;
    fake::rule().buffers_left = 0;
    const auto whole = pool.acquire({128, 8}, uint16);  // nothing is cached, and no buffer is needed
    REQUIRE(whole);
    pool.release(*whole);

    using growing = allot::arena<buffers, allot::best_fit<>, allot::growth::fixed<allot::growth_options{.step = 8192}>>;
    growing more{device()};
    allot::opencl::texture_pool second{more, fake::context(), fake::device()};  // two pools
    CHECK(second.acquire({64, 8}, uint16).error() == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    fake::rule().buffers_left = 1;
    const auto image = second.acquire({64, 8}, uint16);
    const auto other = pool.acquire({64, 8}, uint16);
    REQUIRE((image && other));
    second.release(*image);
    pool.release(*other);
    CHECK(second.acquire({64, 8}, allot::int8).error() == CL_IMAGE_FORMAT_NOT_SUPPORTED);
    CHECK(second.acquire({4097, 8}, uint16).error() == CL_INVALID_IMAGE_SIZE);
    CHECK(second.acquire({4096, 4096}, float32).error() == CL_MEM_OBJECT_ALLOCATION_FAILURE);  // above a buffer's limit
}

TEST_CASE("texture pool: retries after a trim of its buffers") {
    const strict driver;
    /// One buffer at a time.
    struct few : allot::traits_of<buffers> {
        using error = cl_int;
        buffers device{fake::context(), fake::device()};
        int left = 1;

        allot::acquired<few> acquire(allot::layout wanted) noexcept {
            if (left == 0) return allot::acquired<few>::failure(CL_OUT_OF_RESOURCES);
            const auto answer = device.acquire(wanted);
            if (!answer) return allot::acquired<few>::failure(answer.error());
            --left;
            return *answer;
        }
        void release(allot::region<address_model::address> held) noexcept {
            ++left;
            device.release(held);
        }
    };
    using growth = allot::growth::fixed<allot::growth_options{.step = 4096, .regions = 4}>;
    allot::arena<few, allot::best_fit<>, growth> memory{few{}};
    allot::opencl::texture_pool pool{memory, fake::context(), fake::device()};
    const auto small = pool.acquire({64, 8}, uint16);
    REQUIRE(small);
    CHECK(pool.acquire({64, 64}, uint16).error() == CL_OUT_OF_RESOURCES);
    pool.release(*small);
    const auto large = pool.acquire({64, 64}, uint16);  // the empty small buffer was released
    REQUIRE(large);
    pool.release(*large);
}

TEST_CASE("texture pool: without images over buffers, caches images of the same shape") {
    const strict driver;
    fake::rule().pitch_align = 0;
    arena memory{device(), 8192};
    allot::opencl::texture_pool<arena, 2> pool{memory, fake::context(), fake::device()};
    CHECK_FALSE(pool.shares_bytes());
    const auto a = *pool.acquire({64, 8}, uint16), b = *pool.acquire({64, 8}, uint16),
               c = *pool.acquire({32, 8}, uint16);
    CHECK(fake::book().images == 3);
    CHECK(memory.allocate({8192, 128}));  // untouched
    pool.release(a);
    const auto higher = *pool.acquire({64, 9}, uint16), other = *pool.acquire({64, 8}, float16);
    CHECK(higher.handle != a.handle);
    CHECK(other.handle != a.handle);
    CHECK(fake::book().images == 5);
    const auto again = *pool.acquire({64, 8}, uint16);
    CHECK(again.handle == a.handle);
    for (const auto& each : {again, b, c, higher, other}) pool.release(each);
    CHECK(fake::book().images == 2);  // the maximum number of cached images
    CHECK(pool.trim() == 2);
}
