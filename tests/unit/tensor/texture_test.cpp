// Tests of textures over a shaped device of the test, and of cached_textures.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

using allot::float32;
using allot::int32;
using allot::refusal;
using allot::tensor_refusal;
namespace scope = allot::scope;

/// Images that are numbers; at most three exist at a time.
struct few {
    using region = allot::texture_region<int>;
    using error = int;
    std::vector<int>* out;
    int next = 1;

    allot::result<region, int> acquire(allot::texture_shape shape, allot::dtype type) noexcept {
        if (out->size() == 3) return allot::result<region, int>::failure(-4);
        out->push_back(next);
        return region{next++, shape, type};
    }
    void release(region held) noexcept { std::erase(*out, held.handle); }
};

struct counted_misuse {
    static inline int killed = 0;
    void operator()(allot::misuse what, std::size_t, std::size_t) const noexcept {
        killed += what == allot::misuse::killed_before;
    }
};

struct gives_no_images {
    using region = allot::texture_region<int>;
    using error = int;
    void release(region) noexcept {}
};

}  // namespace

static_assert(allot::shaped_device<few> && allot::shaped_device<allot::cached_textures<few>>);
static_assert(!allot::shaped_device<gives_no_images> && !allot::shaped_device<allot::host::heap>);

TEST_CASE("alloc_texture: acquires an image, and the last reference releases it") {
    std::vector<int> out;
    few device{&out};
    auto a = *allot::alloc_texture<scope::texture>(device, {2, 8, 6, 4}, int32);
    CHECK(a.image() == allot::texture_shape{6, 16});
    CHECK(a.shape() == allot::shape{2, 8, 6, 4});
    CHECK(a.dtype() == int32);
    CHECK(a.size() == 384);
    CHECK(a.size_bytes() == 1536);
    CHECK(a.data() == 1);
    {
        const auto b = a, c = *allot::alloc_texture<scope::texture_weight>(device, {2, 8, 6, 4}, float32);
        CHECK(c.image() == allot::texture_shape{48, 2});
        a.kill();
        CHECK(a.data() == 0);
        CHECK(out == std::vector<int>{1, 2});
    }
    CHECK(out.empty());
    a.kill();
}

TEST_CASE("alloc_texture: the error contains the device's code, and invalid shapes never reach the device") {
    std::vector<int> out;
    few device{&out};
    const auto alloc = [&](const allot::shape& shape, allot::dtype type) {
        return allot::alloc_texture<scope::texture>(device, shape, type);
    };
    CHECK(alloc({8, 6, 3}, int32).error().reason == tensor_refusal::bad_texture);
    CHECK(alloc({8, 6, 4}, allot::uint1).error().reason == tensor_refusal::bad_dtype);
    CHECK(alloc({std::int64_t{1} << 40, std::int64_t{1} << 40, 4}, int32).error().reason == tensor_refusal::too_large);
    const auto empty = alloc({8, 0, 4}, int32);
    CHECK((empty && *empty && empty->size() == 0));
    CHECK(out.empty());
    const auto a = *alloc({8, 6, 4}, int32), b = *alloc({8, 6, 4}, int32), c = *alloc({8, 6, 4}, int32);
    const auto fourth = alloc({8, 6, 4}, int32);
    CHECK(fourth.error().reason == tensor_refusal::no_memory);
    CHECK(fourth.error().memory.reason == refusal::device_refused);
    CHECK(fourth.error().memory.device_error == -4);
    CHECK(fourth.error().row == allot::no_row);  // no single row failed
}

TEST_CASE("texture: in hardened builds, a second kill and a use after kill are misuses") {
    using hardened =
        allot::storage_policies<allot::as_given, allot::references::plain, allot::hardening::checked, counted_misuse>;
    std::vector<int> out;
    few device{&out};
    auto a = *allot::alloc_texture<scope::texture, hardened>(device, {8, 6, 4}, int32);
    static_assert(sizeof(a) == sizeof(allot::texture<few>));
    auto b = a;
    a.kill();
    b.kill();
    CHECK(out.empty());
    CHECK(counted_misuse::killed == 0);
    a.kill();
    CHECK(counted_misuse::killed == 1);
    CHECK(b.data() == 0);
    CHECK(counted_misuse::killed == 2);
    decltype(a) never;
    never.kill();
    CHECK(counted_misuse::killed == 3);
    auto unchecked = *allot::alloc_texture<scope::texture>(device, {8, 6, 4}, int32);
    unchecked.kill();
    unchecked.kill();
    CHECK(counted_misuse::killed == 3);
    CHECK(out.empty());
}

TEST_CASE("alloc_texture: a scope map selects the device by scope and ordinal at compile time") {
    std::vector<int> first, second;
    few one{&first}, two{&second};
    allot::arena<allot::host::heap, allot::best_fit<>> host{{}, 4096};
    const allot::scope_map memories{allot::in_scope<scope::global>(host), allot::in_scope<scope::texture>(one),
                                    allot::in_scope<scope::texture, 1>(two)};
    const auto a = *allot::alloc_texture<scope::texture, 1>(memories, {8, 6, 4}, int32);
    CHECK(first.empty());
    CHECK(second.size() == 1);
    CHECK(allot::alloc_storage<scope::global>(memories, 64));
}

TEST_CASE("cached_textures: reuses images of the same shape and dtype, and retries once after a trim") {
    std::vector<int> out;
    {
        allot::cached_textures<few, 2> memory{few{&out}};
        const auto acquire = [&](std::size_t width, allot::dtype type) { return memory.acquire({width, 4}, type); };
        const auto a = *acquire(8, int32), b = *acquire(9, int32), c = *acquire(8, float32);
        CHECK(acquire(8, int32).error() == -4);
        memory.release(a);
        CHECK(acquire(8, int32)->handle == a.handle);
        memory.release(a);
        CHECK(acquire(8, float32)->dtype == float32);  // the image of `a` was released first
        CHECK(out == std::vector<int>{2, 3, 4});
        memory.release(b);
        memory.release(c);
        CHECK(out.size() == 3);
        memory.release({4, {8, 4}, float32});  // the pool is full
        CHECK(out == std::vector<int>{2, 3});
        auto moved = std::move(memory);
        CHECK(moved.acquire({9, 4}, int32)->handle == b.handle);
        CHECK(moved.trim() == 1);
        moved.release(b);
    }
    CHECK(out.empty());
}
